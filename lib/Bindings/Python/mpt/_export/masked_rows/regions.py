# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chosen rows that go into and out of regions, as those of `torch.no_grad` and `torch.autocast`."""
from __future__ import annotations

import operator

import torch
import torch.fx

from mpt._export.masked_rows.row_graph import REMEDY, RowGraph, unbacked


def take_number(graph: RowGraph, node: torch.fx.Node) -> None:
    """What is passed to a region as a number of Python is a tensor."""
    known = node.meta.get("val")
    if isinstance(known, (torch.SymInt, torch.SymFloat)) and unbacked(known):
        with graph.mode:
            node.meta["val"] = torch.empty([], dtype=torch.int64 if isinstance(
                known, torch.SymInt) else torch.float32)
        graph.counts[node] = node
        graph.items.add(node)


def return_rows(graph: RowGraph, output: torch.fx.Node) -> None:
    """A region returns all rows, and the mask if it has made it."""
    results = list(output.args[0])
    for place, value in enumerate(results):
        if value in graph.counts:
            results[place] = graph.counts[value]
            graph.numbers.add(place)
        if value not in graph.rows:
            continue
        mask = next((m for m, r in graph.sources.items() if r is graph.rows[value]), None)
        if mask is None:
            graph.fail(value, f"torch.no_grad or torch.autocast returns {REMEDY}")
        inputs = graph.fx_graph.find_nodes(op="placeholder")
        if mask not in inputs and mask not in results:
            results.append(mask)
        graph.returned[place] = (True, list(inputs).index(mask)) if mask in inputs \
            else (False, results.index(mask))
    output.args = (type(output.args[0])(results),)


def enter_region(graph: RowGraph, node: torch.fx.Node) -> None:
    body = next((a for a in node.args if isinstance(a, torch.fx.Node) and a.op == "get_attr"),
                None)
    found = graph.bodies.get(body.target if body else None)
    if found:
        for number in [n for n in node.all_input_nodes if n in graph.counts]:
            node.replace_input_with(number, graph.counts[number])
    if found and (found.returned or found.numbers):
        graph.regions[node] = found, node.args[node.args.index(body) + 1:]
        node.meta["val"] = tuple(v.meta["val"] for v in next(
            n for n in found.fx_graph.nodes if n.op == "output").args[0])


def take_rows(graph: RowGraph, node: torch.fx.Node) -> None:
    """A result of a region, which may have all rows."""
    region, place = node.args
    found, inputs = graph.regions[region]
    if place in found.numbers:
        node.meta["val"] = region.meta["val"][place]
        node.meta.pop("unbacked_bindings", None)
        graph.counts[node] = node
        graph.items.add(node)
    if place not in found.returned:
        return
    is_input, number = found.returned[place]
    mask = inputs[number] if is_input else graph.call(operator.getitem, region, number)
    symbol = graph.symbol_of(node.meta["val"])
    node.meta["val"] = region.meta["val"][place]
    graph.rows[node] = graph.choose(mask, symbol)
