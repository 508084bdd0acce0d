# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of chosen rows, and those that `.item()` takes out of tensors: tensors in the step."""
from __future__ import annotations

import builtins
import math
import operator
from typing import Optional

import torch
import torch.fx

from mpt._export.custom_ops import STOP_GRADIENT
from mpt._export.masked_rows.row_graph import REMEDY, RowGraph, packets
from mpt._export.traced_numbers import ARITHMETIC, TO_INTEGER, overload_of_tensors

_aten = torch.ops.aten
ITEM = ("a number that .item() takes out of a tensor, which the next batch changes: compute with "
         "the tensor itself")
# Whose sizes may be the number of chosen rows.
_SIZED = packets("view reshape expand zeros ones full new_zeros new_ones new_full")


def take_item(graph: RowGraph, node, value) -> None:
    """x.item(), which is the tensor itself where it is computed with."""
    if value in graph.rows:
        graph.fail(node, f".item() of {REMEDY}")
    known = value.meta["val"]
    if known.dim():
        value = graph.call(_aten.reshape.default, value, [])
    if known.is_floating_point():
        value = graph.call(STOP_GRADIENT, value)
        # Numbers of Python have more digits than those of 16 bits.
        value = graph.converted(value, torch.promote_types(known.dtype, torch.float32))
    elif known.dtype == torch.bool:
        value = graph.call(_aten.to.dtype, value, torch.int64)
    graph.counts[node] = value
    graph.items.add(node)


def _origin(graph: RowGraph, counted) -> str:
    """What numbers are, for a message."""
    return ITEM if graph.items.intersection(counted) else f"the number of {REMEDY}"


def count_rows(graph: RowGraph, node, given, counted) -> bool:
    """Numbers of chosen rows, and arithmetic with them."""
    target = node.target
    if target in (_aten.sym_size.int, _aten.sym_numel.default) and given:
        if target is _aten.sym_size.int and node.args[1] != 0:
            _replace_by_number(graph, node, given[0].meta["val"].shape[node.args[1]])
            return True
        rows = graph.rows[given[0]]
        each = 1 if target is _aten.sym_size.int else given[0].meta["val"].numel() // rows.size
        number = graph.call(_aten.sum.default, rows.mask)
        graph.counts[node] = number if each == 1 else graph.call(_aten.mul.Scalar, number, each)
        return True
    if not counted:
        return False
    if not isinstance(target, torch._ops.OpOverload):
        if graph.items.intersection(counted):
            graph.items.add(node)
        if _calculate(graph, node):
            return True
        if target is torch.sym_float:
            graph.counts[node] = graph.call(_aten.to.dtype, graph.counts[node.args[0]],
                                            torch.float32)
            return True
        if isinstance(node.meta.get("val"), torch.SymBool):
            graph.counts[node] = graph.counts[counted[0]]  # Asserted, and dropped.
            return True
        graph.fail(node, f"{getattr(target, '__name__', target)} of {_origin(graph, counted)}")
    return False


def _calculate(graph: RowGraph, node) -> bool:
    """Arithmetic of Python with numbers that are tensors."""
    target = node.target
    values = [graph.counts.get(a, a) for a in node.args if a is not None]
    if target not in ARITHMETIC or not all(
            isinstance(v, (int, float, torch.fx.Node)) for v in values):
        return False
    is_rounded = target is builtins.round and len(values) == 2
    if is_rounded:
        found = graph.call(_aten.round.decimals, values[0], decimals=values[1])
    elif target is operator.pow and not isinstance(values[1], torch.fx.Node):
        found = graph.call(_aten.pow.Tensor_Scalar, *values)
    elif target is operator.pow and values[0] == math.e:
        found = graph.call(_aten.exp.default, values[1])
    else:
        packet = ARITHMETIC[target]
        overload = next(getattr(packet, n) for n in ("Tensor", "Tensor_Tensor", "default")
                        if hasattr(packet, n))
        found = graph.call(overload, *(_as_tensor(graph, v) for v in values))
    if target in TO_INTEGER and not is_rounded:
        found = graph.call(_aten.to.dtype, found, torch.int64)
    graph.counts[node] = found
    return True


def _as_tensor(graph: RowGraph, value) -> torch.fx.Node:
    """A number of Python, or one that is a tensor."""
    if isinstance(value, torch.fx.Node):
        return graph.counts.get(value, value)
    return graph.call(_aten.full.default, [], value, dtype=torch.bool if isinstance(value, bool)
                      else torch.int64 if isinstance(value, int) else torch.float32)


def _replace_by_number(graph: RowGraph, node, number) -> None:
    for user in list(node.users):
        user.args = torch.fx.map_arg(user.args, lambda n: number if n is node else n)
        user.kwargs = torch.fx.map_arg(user.kwargs, lambda n: number if n is node else n)
    graph.fx_graph.erase_node(node)


def use_count(graph: RowGraph, node, number) -> None:
    """A number of chosen rows as an operand, or as the size of a result."""
    packet = node.target.overloadpacket
    rows = None if number in graph.items else \
        graph.symbols.get(str(number.meta["val"].node.expr))
    if rows is not None and packet in _SIZED:
        node.args = torch.fx.map_arg(node.args, lambda n: rows.size if n is number else n)
    elif not _fill_by_number(graph, node, number) and not _take_operand(graph, node, number):
        what = _origin(graph, [number])
        if packet in (_aten.slice, _aten.narrow) and number in graph.items:
            what = ("a number that .item() takes out of a tensor, where a step has the same shapes "
                    "for all batches: compute with all, and weigh by a mask, as torch.arange(n) "
                    "< length")
        graph.fail(node, f"{node.target} of {what}")


def _fill_by_number(graph: RowGraph, node, number) -> bool:
    """New tensors that hold a number, as `torch.full((n,), v)`."""
    name, known = node.target.overloadpacket.__name__, node.meta["val"]
    if name not in ("full", "full_like", "new_full", "scalar_tensor", "fill") \
            or not all(isinstance(s, int) for s in known.shape):
        return False
    value = graph.converted(graph.counts[number], known.dtype)
    graph.replace(node, value if name == "scalar_tensor" else graph.call(
        _aten.add.Tensor, graph.call(_aten.full.default, list(known.shape), 0,
                                     dtype=known.dtype), value)
        if known.dtype != torch.bool else
        graph.call(_aten.expand.default, value, list(known.shape)))
    return True


def _take_operand(graph: RowGraph, node, number) -> bool:
    """A number as an operand of an op that has an overload for tensors."""
    arguments = node.target._schema.arguments
    given = {a.name: node.args[i] if i < len(node.args) else node.kwargs.get(a.name)
             for i, a in enumerate(arguments)}
    if given.get("alpha") is number and node.target.overloadpacket.__name__.rstrip("_") in (
            "add", "sub"):
        other = given["other"]
        scaled = graph.call(_aten.mul.Tensor, other, graph.counts[number])
        if other in graph.rows:
            graph.rows[scaled] = graph.rows[other]
        node.update_arg(1, scaled)
        node.kwargs = {k: v for k, v in node.kwargs.items() if k != "alpha"}
        return True
    # Numbers become tensors together, as the bounds of clamp do.
    names = {a.name for a in arguments if given[a.name] is not None
             and (given[a.name] is number or str(a.type) in ("number", "Optional[number]")
                  and a.name not in ("alpha", "beta"))}
    overload = overload_of_tensors(node.target, names)
    if overload is None:
        return False
    known = node.meta["val"]
    for name in names:
        value = _as_tensor(graph, given[name])
        likes = [known, *(n.meta["val"] for n in graph.tensors(node))]
        like = next((t.dtype for t in likes if t.dtype.is_floating_point), None)
        if name == "value" or like is not None and value.meta["val"].dtype == torch.float64 \
                or like is not None and name in ("min", "max"):
            value = graph.converted(value, known.dtype if name == "value" else like)
        graph.set_argument(node, name, value)
    node.target = overload
    return True
