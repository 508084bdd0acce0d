# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Among rows that a mask has chosen: those that a mask of them chooses, and one element of each, as
in `x[mask, column]`.
"""
from __future__ import annotations

from typing import Optional

import torch
import torch.fx

from mpt._export.masked_rows.row_graph import RowGraph, Rows

_aten = torch.ops.aten


def is_within(graph: RowGraph, value, mask) -> bool:
    """Whether a mask of chosen rows chooses among them."""
    return mask in graph.rows and value in graph.rows and graph.rank(mask) == 1 \
        and graph.rows[mask] is graph.rows[value]


def choose_within(graph: RowGraph, mask: torch.fx.Node, symbol: "Optional[str]" = None) -> Rows:
    """Those of the chosen rows that a mask of them chooses."""
    outer = graph.rows[mask]
    key = outer.mask, graph.describe(mask)
    if key not in graph.chosen:
        graph.chosen[key] = Rows(
            graph.call(_aten.logical_and.default, outer.mask, mask), outer.size)
    rows = graph.chosen[key]
    if symbol:
        graph.note(symbol, rows)
    return rows


def write_within(graph: RowGraph, node) -> bool:
    """y[mask] = value, of chosen rows and a mask of them."""
    base, indices, value = node.args[:3]
    if len(indices) != 1 or indices[0] is None or not is_within(graph, base, indices[0]) \
            or indices[0].meta["val"].dtype != torch.bool \
            or len(node.args) > 3 and node.args[3]:
        return False
    rows = choose_within(graph, indices[0])
    if value in graph.rows:
        if graph.rows[value] is not rows or graph.rank(value) != graph.rank(base):
            return False
    elif graph.rank(value) >= graph.rank(base):
        return False
    found = graph.call(_aten.where.self, graph.column(rows, graph.rank(base)), value, base)
    if node.target.overloadpacket is _aten.index_put_:
        found = graph.call(_aten.copy_.default, base, found)
    graph.replace(node, found, graph.rows[base])
    return True


def _rows_of_elements(graph: RowGraph, node) -> "Optional[Rows]":
    """The rows of x[mask, column], of a column for each chosen row."""
    base, indices = node.args[:2]
    if len(indices) != 2 or None in indices or base in graph.rows or indices[0] in graph.rows \
            or indices[1] not in graph.rows or graph.rank(indices[1]) != 1:
        return None
    rows, mask = graph.rows[indices[1]], indices[0].meta["val"]
    if mask.dtype != torch.bool or not 0 < mask.dim() < graph.rank(base) \
            or graph.chosen.get(graph.describe(indices[0])) is not rows:
        return None
    return rows


def _with_rows(graph: RowGraph, node, rows) -> torch.fx.Node:
    """What x[mask, column] reads or writes, with all rows in dimension 0."""
    base, depth = node.args[0], graph.rank(node.args[1][0])
    return base if depth == 1 else graph.call(
        _aten.reshape.default, base, [rows.size, *base.meta["val"].shape[depth:]])


def read_elements(graph: RowGraph, node) -> bool:
    rows = _rows_of_elements(graph, node)
    if rows is None:
        return False
    found = graph.call(_aten.index.Tensor, _with_rows(graph, node, rows), [
        graph.call(_aten.arange.default, rows.size), node.args[1][1]])
    graph.replace(node, graph.fill(rows, found), rows)
    return True


def write_elements(graph: RowGraph, node) -> bool:
    rows = _rows_of_elements(graph, node)
    base, indices, value = node.args[:3]
    if rows is None or graph.rank(base) != graph.rank(indices[0]) + 1 \
            or len(node.args) > 3 and node.args[3] \
            or graph.rank(value) != (value in graph.rows) \
            or graph.rows.get(value, rows) is not rows:
        return False
    matrix = _with_rows(graph, node, rows)
    columns = graph.call(_aten.arange.default, matrix.meta["val"].shape[1])
    place = graph.call(_aten.eq.Tensor,
                       graph.call(_aten.unsqueeze.default, indices[1], 1), columns)
    place = graph.call(_aten.logical_and.default, place, graph.column(rows, 2))
    if value in graph.rows:
        value = graph.call(_aten.unsqueeze.default, value, 1)
    found = graph.call(_aten.where.self, place, value, matrix)
    if matrix is not base:
        found = graph.call(_aten.reshape.default, found, list(base.meta["val"].shape))
    if node.target.overloadpacket is _aten.index_put_:
        found = graph.call(_aten.copy_.default, base, found)
    graph.replace(node, found)
    return True
