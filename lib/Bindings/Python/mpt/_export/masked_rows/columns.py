# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks of another dimension than the first, as in `x[:, mask]`."""
from __future__ import annotations

from typing import Callable, Optional

import torch
import torch.fx

from mpt._export.masked_rows.row_graph import EVERYWHERE, RowGraph, packets

_aten = torch.ops.aten
_ELEMENTWISE_LOSSES = packets("""mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss
    binary_cross_entropy binary_cross_entropy_with_logits kl_div""")
_COLUMNS = ("columns that a mask has chosen, as in x[:, mask], whose number depends on values: "
            "compute with all columns, and choose by torch.where, or weigh their sum by the mask, "
            "or let it be a constant: of tensors in a closure, or of buffers with persistent=False")


def compute_columns(graph: RowGraph, node,
                    rewrite: "Callable[[RowGraph, torch.fx.Node], None]") -> bool:
    """Computes with chosen rows in dimension 0, and notes where they belong."""
    target = node.target
    packet = getattr(target, "overloadpacket", None)
    given = [n for n in node.all_input_nodes if n in graph.moved]
    if not given:
        return _read_columns(graph, node)
    depth = graph.moved[given[0]][1]
    rows = graph.rows[graph.moved[given[0]][0]]
    rank = graph.rank(given[0])
    if packet in (_aten.index_put, _aten.index_put_) and given == [node.args[2]] \
            and _write_columns(graph, node, rows, depth):
        return True
    others = [n for n in graph.tensors(node) if n not in graph.moved]
    if target is _aten.sym_size.int:
        place = node.args[1] % rank
        inner = 0 if place == depth else place + (place < depth)
        _put_moved(graph, node, _moved_op(
            graph, node, {given[0]: graph.moved[given[0]][0]}, (inner,)), rewrite)
        return True
    if not isinstance(target, torch._ops.OpOverload) or any(
            graph.moved[n][1] != depth or graph.rank(n) != rank
            or graph.rows[graph.moved[n][0]] is not rows for n in given):
        graph.fail(node, f"{target} of {_COLUMNS}")
    if packet is _aten.broadcast_tensors and not others and len(
            {graph.moved[n][0].meta["val"].shape for n in given}) == 1:
        for user in list(node.users):  # There is nothing to broadcast.
            graph.replace(user, node.args[0][user.args[1]])
        graph.fx_graph.erase_node(node)
        return True
    inner = {n: graph.moved[n][0] for n in given}
    reduction = graph.argument(node, "reduction")
    if reduction is not None and packet in _ELEMENTWISE_LOSSES and not others:
        _put_moved(graph, node, _moved_op(graph, node, inner), rewrite)
        return True
    if packet in EVERYWHERE or torch.Tag.pointwise in target.tags:
        for other in others:
            if graph.rank(other) >= rank - depth:
                if graph.rank(other) != rank or other.meta["val"].shape[depth] != 1:
                    graph.fail(node, f"{target} of {_COLUMNS}")
                inner[other] = graph.call(_aten.movedim.int, other, depth, 0)
        _keep_moved(graph, node, _moved_op(graph, node, inner), depth)
        return True
    if packet is _aten.cat and graph.argument(node, "dim", 0) % rank == depth:
        parts = [graph.call(_aten.movedim.int, n, depth, 0) if n in others else inner[n]
                 for n in node.args[0]]
        found = graph.call(_aten.cat.default, parts)
        graph.rows[found] = graph.join(parts, str(node.meta["val"].shape[depth].node.expr))
        graph.moved[node] = found, depth
        return True
    if packet is _aten.unbind and _dimension(graph, node) != depth:
        for user in list(node.users):
            with graph.fx_graph.inserting_before(user):
                part = graph.fx_graph.call_function(
                    _aten.select.int, (given[0], _dimension(graph, node), user.args[1]))
                part.meta = dict(user.meta)
            graph.replace(user, part)
            with graph.fx_graph.inserting_before(part):
                rewrite(graph, part)
        graph.fx_graph.erase_node(node)
        return True
    if packet in (_aten.select, _aten.slice) and not others \
            and _dimension(graph, node) != depth:
        dim = _dimension(graph, node)
        found = _moved_op(graph, node, inner, dim=dim + (dim < depth))
        left = depth - (packet is _aten.select and dim < depth)
        if left:
            _keep_moved(graph, node, found, left)
        else:
            _put_moved(graph, node, found, rewrite)
        return True
    if packet in (_aten.sum, _aten.mean, _aten.amax, _aten.amin, _aten.prod, _aten.var,
                  _aten.std, _aten.norm, _aten.linalg_vector_norm) and len(given) == 1:
        dims = graph.argument(node, "dim")
        if not dims and dims != 0:
            _put_moved(graph, node, _moved_op(graph, node, inner), rewrite)
            return True
        dims = [d % rank for d in (dims if isinstance(dims, (list, tuple)) else [dims])]
        keep = graph.argument(node, "keepdim", False)
        if depth in dims and not keep or depth not in dims:
            places = [0 if d == depth else d + (d < depth) for d in dims]
            is_list = isinstance(graph.argument(node, "dim"), (list, tuple))
            found = _moved_op(graph, node, inner, dim=places if is_list else places[0])
            if depth in dims:
                _put_moved(graph, node, found, rewrite)
            else:
                _keep_moved(graph, node, found,
                            depth - (0 if keep else sum(d < depth for d in dims)))
            return True
    graph.fail(node, f"{target} of {_COLUMNS}")
    return False


def _dimension(graph: RowGraph, node) -> int:
    return graph.argument(node, "dim") % graph.rank(node.args[0])


def _read_columns(graph: RowGraph, node) -> bool:
    value, mask = node.args[0], _column_of(node.args[1])
    known = node.meta["val"]
    if mask is None or value in graph.rows or mask in graph.rows:
        return False
    depth = len(node.args[1]) - 1
    if any(not isinstance(s, int) for i, s in enumerate(known.shape) if i != depth) \
            or isinstance(known.shape[depth], int):
        return False
    rows = graph.choose(mask, str(known.shape[depth].node.expr))
    found = graph.fill(rows, graph.call(_aten.movedim.int, value, depth, 0))
    graph.rows[found] = rows
    graph.moved[node] = found, depth
    return True


def _write_columns(graph: RowGraph, node, rows, depth) -> bool:
    """y[:, mask] = columns."""
    base, indices, value = node.args[:3]
    mask = _column_of(indices)
    if mask is None or len(indices) - 1 != depth or len(node.args) > 3 and node.args[3] \
            or graph.chosen.get(graph.describe(mask)) is not rows \
            or graph.rank(value) != graph.rank(base) or base in graph.rows:
        return False
    shape = [1] * graph.rank(base)
    shape[depth] = rows.size
    found = graph.call(_aten.where.self, graph.call(_aten.reshape.default, mask, shape),
                       graph.call(_aten.movedim.int, graph.moved[value][0], 0, depth), base)
    if node.target.overloadpacket is _aten.index_put_:
        found = graph.call(_aten.copy_.default, base, found)
    graph.replace(node, found)
    return True


def _column_of(indices) -> "Optional[torch.fx.Node]":
    """The mask of x[:, .., mask]."""
    mask = indices[-1] if len(indices) > 1 else None
    if mask is None or any(i is not None for i in indices[:-1]) \
            or mask.meta["val"].dtype != torch.bool or mask.meta["val"].dim() != 1:
        return None
    return mask


def _moved_op(graph: RowGraph, node, inner, rest=None, **changed) -> torch.fx.Node:
    """The op of `node` of other operands."""
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: inner.get(n, n))
    found = graph.fx_graph.call_function(
        node.target, args if rest is None else (args[0], *rest), kwargs)
    found.meta = dict(node.meta)
    for name, value in changed.items():
        graph.set_argument(found, name, value)
    return found


def _keep_moved(graph: RowGraph, node, found, depth) -> None:
    """`found` has the rows of `node` in dimension 0."""
    graph.evaluate(found)
    graph.rows[found] = graph.rows[next(n for n in found.all_input_nodes if n in graph.rows)]
    graph.moved[node] = found, depth


def _put_moved(graph: RowGraph, node, found, rewrite) -> None:
    """`found` takes the place of `node`, in whose result the rows have met."""
    node.replace_all_uses_with(found)
    graph.fx_graph.erase_node(node)
    with graph.fx_graph.inserting_before(found):
        rewrite(graph, found)
