# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a mask of the first dimensions chooses: read by it and written by it."""
from __future__ import annotations

import torch
import torch.fx

from mpt._export.masked_rows.inner_rows import choose_within, is_within
from mpt._export.masked_rows.row_graph import RowGraph, Rows

_aten = torch.ops.aten


def read_by_mask(graph: RowGraph, node, value, mask) -> bool:
    """x[mask], whose mask is of the first dimensions."""
    symbol = graph.symbol_of(node.meta["val"])
    if symbol is not None and is_within(graph, value, mask):
        rows = choose_within(graph, mask, symbol)
        graph.replace(node, graph.fill(rows, value), rows)
        return True
    if symbol is None or value in graph.rows or mask in graph.rows:
        return False
    rows = graph.choose(mask, symbol)
    rest = list(value.meta["val"].shape[mask.meta["val"].dim():])
    if not all(isinstance(s, int) for s in rest):
        return False
    graph.replace(node, graph.fill(
        rows, graph.call(_aten.reshape.default, value, [rows.size, *rest])), rows)
    return True


def find_places(graph: RowGraph, node, mask) -> bool:
    """nonzero(mask): the places of the chosen, [rows, dimensions], or one list for each."""
    result = node.meta["val"]
    is_list = isinstance(result, (tuple, list))
    symbol = graph.symbol_of(result[0] if is_list else result)
    if symbol is None or mask in graph.rows or not mask.meta["val"].dim():
        return False
    if mask.meta["val"].dtype != torch.bool:
        mask = graph.call(_aten.ne.Scalar, mask, 0)
    rows = graph.choose(mask, symbol)
    place = graph.fill(rows, graph.call(_aten.arange.default, rows.size))
    parts = []
    for size in reversed(mask.meta["val"].shape):
        parts.append(graph.call(_aten.remainder.Scalar, place, size))
        place = graph.call(_aten.div.Tensor_mode, place, size, rounding_mode="floor")
    parts.reverse()
    if is_list:
        for user in list(node.users):
            graph.replace(user, parts[user.args[1]], rows)
        graph.fx_graph.erase_node(node)
    else:
        graph.replace(node, graph.call(_aten.stack.default, parts, 1), rows)
    return True


def write_one_row(graph: RowGraph, node) -> bool:
    """y[mask] = value, of a value that is the same for all rows."""
    base, indices, value = node.args[:3]
    if len(indices) != 1 or indices[0] is None or len(node.args) > 3 and node.args[3]:
        return False
    known, mask, given = (n.meta["val"] for n in (base, indices[0], value))
    shape = [*mask.shape, *[1] * (known.dim() - mask.dim())]
    rest = known.dim() - mask.dim()
    if mask.dtype != torch.bool or {base, indices[0], value} & graph.rows.keys() or not (
            0 < given.dim() <= rest or given.dim() == rest + 1 and given.shape[0] == 1) \
            or mask.shape != known.shape[:mask.dim()]:
        return False
    if given.dim() > rest:
        value = graph.call(_aten.squeeze.dim, value, 0)
    found = graph.call(_aten.where.self, graph.call(_aten.reshape.default, indices[0], shape),
                       value, base)
    if node.target.overloadpacket is _aten.index_put_:
        found = graph.call(_aten.copy_.default, base, found)
    graph.replace(node, found)
    return True


def write_rows(graph: RowGraph, node, rows) -> bool:
    """y[mask] = rows, or y[places] = rows."""
    base, (index,), value = node.args[:3]
    return _write(graph, node, rows, base, index, value, len(node.args) > 3 and node.args[3])


def copy_rows(graph: RowGraph, node, rows) -> bool:
    """y.index_copy(0, places, rows)."""
    base, dim, index, value = node.args
    return dim % graph.rank(base) == 0 and index in graph.rows \
        and _write(graph, node, rows, base, index, value, accumulates=False)


def _write(graph: RowGraph, node, rows, base, index, value, accumulates) -> bool:
    known = base.meta["val"]
    if index in graph.rows:
        if value not in graph.rows:
            return False
        if graph.rank(index) != 1 or graph.rank(value) != known.dim():
            return False
        found = graph.call(_aten.index_add.default, base, 0, index, graph.select(
            rows, value, 0)) if accumulates else _write_last(graph, base, index, value, rows)
    else:
        if index.meta["val"].dtype != torch.bool or index.meta["val"].numel() != rows.size \
                or graph.chosen.get(graph.describe(index)) is not rows:
            return False
        depth = index.meta["val"].dim()
        mask = graph.call(_aten.reshape.default, index, list(index.meta["val"].shape)
                          + [1] * (known.dim() - depth))
        value = graph.call(_aten.reshape.default, graph.call(
            _aten.expand.default, value, [rows.size, *known.shape[depth:]]), list(known.shape))
        found = graph.call(_aten.where.self, mask, graph.call(
            _aten.add.Tensor, base, value) if accumulates else value, base)
    if node.target.overloadpacket.__name__.endswith("_"):
        found = graph.call(_aten.copy_.default, base, found)
    graph.replace(node, found)
    return True


def _write_last(graph: RowGraph, base, index, value, rows) -> torch.fx.Node:
    """y[places] = rows, of which the last is kept where several have one place."""
    size = base.meta["val"].shape[0]
    order = graph.select(rows, graph.call(_aten.arange.default, rows.size), -1)
    last = graph.call(_aten.scatter_reduce.two, graph.call(
        _aten.full.default, [size], -1, dtype=torch.int64), 0, index, order, "amax")
    found = graph.call(_aten.index_select.default, value, 0,
                       graph.call(_aten.clamp.default, last, 0))
    written = graph.call(_aten.reshape.default, graph.call(_aten.ge.Scalar, last, 0),
                         [size] + [1] * (graph.rank(base) - 1))
    return graph.call(_aten.where.self, written, found, base)
