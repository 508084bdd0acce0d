# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where chosen rows meet: sums, means, extremes, norms, and losses."""
from __future__ import annotations

import math

import torch
import torch.fx

from mpt._export.masked_rows.by_mask import copy_rows, write_rows
from mpt._export.masked_rows.row_graph import REMEDY, RowGraph

_aten = torch.ops.aten
# Of each reduction over rows: what others hold meanwhile.
_NEUTRAL = {_aten.sum: 0, _aten.mean: 0, _aten.prod: 1, _aten.amax: -math.inf, _aten.amin: math.inf,
            _aten.max: -math.inf, _aten.min: math.inf, _aten.logsumexp: -math.inf,
            _aten.count_nonzero: 0, _aten.norm: 0, _aten.linalg_vector_norm: 0}
# The same for `scatter_reduce`. A mean would count them.
_NEUTRAL_AT_PLACES = {"sum": 0, "prod": 1, "amax": -math.inf, "amin": math.inf}


def sum_rows(graph: RowGraph, node, given) -> bool:
    """Where rows meet: reductions, losses, and writes."""
    target = node.target
    if not given or not isinstance(target, torch._ops.OpOverload):
        return False
    packet, rows = target.overloadpacket, graph.rows[given[0]]
    reduction = graph.argument(node, "reduction")
    if reduction is not None and packet not in (_aten.scatter_reduce, _aten.index_reduce):
        if any(graph.rows[n].mask is not rows.mask for n in given):
            return False
        targets = node.args[1] if len(node.args) > 1 else None
        if packet in (_aten.cross_entropy_loss, _aten.nll_loss_nd) and reduction \
                and targets in graph.rows and not targets.meta["val"].is_floating_point():
            ignored = graph.argument(node, "ignore_index", -100)
            node.update_arg(1, graph.select(rows, targets, ignored))
            graph.evaluate(node)
            return True
        if reduction:
            graph.set_argument(node, "reduction", 0)
            _compute_losses(graph, node, given)
            with graph.fx_graph.inserting_before(node.next):
                users = list(node.users)
                total = _reduce_rows(graph, _aten.mean if reduction == 1 else _aten.sum, node, rows)
            for user in users:
                user.replace_input_with(node, total)
            return True
        _compute_losses(graph, node, given)
        return True
    if packet in _NEUTRAL and len(given) == 1 and given[0] is node.args[0]:
        dims = graph.argument(node, "dim")
        rank = graph.rank(given[0])
        order = graph.argument(node, "p", graph.argument(node, "ord"))
        # Places of extremes would be those among all rows.
        if packet in (_aten.max, _aten.min) and target not in (
                _aten.max.default, _aten.min.default) \
                or isinstance(order, (int, float)) and order < 0 \
                or packet is _aten.mean and graph.argument(node, "dtype") is not None:
            return False
        dims = [] if dims is None else dims if isinstance(dims, (list, tuple)) else [dims]
        if dims and all(d % rank != 0 for d in dims):
            return False
        if packet is _aten.mean:
            keep = graph.argument(node, "keepdim", False)
            graph.replace(node, _reduce_rows(graph, _aten.mean, given[0], rows, dims, keep))
            return True
        node.update_arg(0, graph.select(rows, given[0], _NEUTRAL[packet]))
        graph.evaluate(node)
        return True
    if packet in (_aten.var, _aten.std) and len(given) == 1:
        return _variance(graph, node, given[0], rows)
    name = packet.__name__.rstrip("_")
    if name in ("index_add", "scatter_add") and node.args[0] not in graph.rows \
            and node.args[1] % graph.rank(node.args[0]) == 0 \
            and node.args[2] in graph.rows and node.args[3] in graph.rows:
        node.update_arg(3, graph.select(graph.rows[node.args[3]], node.args[3], 0))
        graph.evaluate(node)
        return True
    if name == "scatter_reduce" and node.args[0] not in graph.rows:
        return _reduce_at_places(graph, node)
    if name == "index_put" and node.args[0] not in graph.rows and len(node.args[1]) == 1:
        return write_rows(graph, node, rows)
    if name == "index_copy" and node.args[0] not in graph.rows:
        return copy_rows(graph, node, rows)
    return False


def _reduce_at_places(graph: RowGraph, node) -> bool:
    """Sums, products and extremes of chosen rows, each at a place of its own."""
    base, dim, index, value, how = node.args[:5]
    if how not in _NEUTRAL_AT_PLACES or dim % graph.rank(base) != 0 \
            or index not in graph.rows or value not in graph.rows \
            or not value.meta["val"].is_floating_point() \
            or graph.rows[index].mask is not graph.rows[value].mask:
        return False
    rows, neutral = graph.rows[value], _NEUTRAL_AT_PLACES[how]
    value = graph.select(rows, value, neutral)
    if graph.argument(node, "include_self"):
        node.update_arg(3, value)
        graph.evaluate(node)
        return True
    found = graph.call(_aten.scatter_reduce.two, graph.call(
        _aten.full_like.default, base, neutral), dim, index, value, how)
    number = graph.call(_aten.scatter_add.default, graph.call(_aten.zeros_like.default, base), dim,
                        index, graph.select(rows, graph.call(_aten.ones_like.default, value), 0))
    found = graph.call(_aten.where.self, graph.call(_aten.gt.Scalar, number, 0), found, base)
    if node.target.overloadpacket is _aten.scatter_reduce_:
        found = graph.call(_aten.copy_.default, base, found)
    graph.replace(node, found)
    return True


def _compute_losses(graph: RowGraph, node, given) -> None:
    """One value for each element, or row."""
    graph.evaluate(node)
    rows = graph.rows[given[0]]
    if not node.meta["val"].dim() or node.meta["val"].shape[0] != rows.size:
        graph.fail(node, f"{node.target} of {REMEDY}")
    graph.rows[node] = rows


def _reduce_rows(graph: RowGraph, packet, value, rows, dims=(), keepdim=False) -> torch.fx.Node:
    """A sum or mean over chosen rows, and over `dims` among which rows are."""
    chosen = graph.select(rows, value, 0)
    total = graph.call(_aten.sum.dim_IntList, chosen, list(dims), keepdim) if dims \
        else graph.call(_aten.sum.default, chosen)
    if packet is _aten.sum:
        return total
    return graph.call(_aten.div.Tensor, total, _number_of_elements(graph, value, rows, dims))


def _number_of_elements(graph: RowGraph, value, rows, dims) -> torch.fx.Node:
    """Of the elements that a mean is of, in the type of `value`."""
    shape = value.meta["val"].shape
    each = math.prod(s for i, s in enumerate(shape)
                     if i and (not dims or i in [d % len(shape) for d in dims]))
    number = graph.call(_aten.to.dtype, graph.call(_aten.sum.default, rows.mask),
                        value.meta["val"].dtype)
    return graph.call(_aten.mul.Scalar, number, each)


def _variance(graph: RowGraph, node, value, rows) -> bool:
    """Variance and standard deviation over rows."""
    dims, keep = graph.argument(node, "dim"), graph.argument(node, "keepdim", False)
    dims = [] if dims is None else dims if isinstance(dims, (list, tuple)) else [dims]
    rank = graph.rank(value)
    if dims and all(d % rank != 0 for d in dims) or keep and not dims:
        return False
    correction = graph.argument(node, "correction")
    if correction is None:
        correction = 1 if graph.argument(node, "unbiased", True) else 0
    mean = _reduce_rows(graph, _aten.mean, value, rows, dims, True)
    apart = graph.call(_aten.sub.Tensor, value, mean)
    total = _reduce_rows(graph, _aten.sum, graph.call(_aten.mul.Tensor, apart, apart), rows, dims,
                         keep)
    found = graph.call(_aten.div.Tensor, total, graph.call(
        _aten.clamp.default, graph.call(
            _aten.sub.Scalar, _number_of_elements(graph, value, rows, dims), correction), 0))
    if node.target.overloadpacket is _aten.std:
        found = graph.call(_aten.sqrt.default, found)
    graph.replace(node, found)
    return True


def spread_targets(graph: RowGraph, node, targets) -> None:
    """The targets of a CTC loss one after another, as [N, S] with gaps after the ends."""
    rows, lengths = graph.rows[targets], node.args[3]
    if graph.rank(targets) != 1 or not isinstance(lengths.meta["val"].shape[0], int):
        graph.fail(node, f"{node.target} of {REMEDY}")
    # No sequence is longer than a row of the mask, if the lengths are sums of its rows.
    mask = next((m for m, r in graph.sources.items() if r is rows), None)
    longest, source = rows.size, lengths
    while source.target in (_aten.view.default, _aten.reshape.default, _aten.to.dtype,
                            _aten.detach.default, _aten._to_copy.default):
        source = source.args[0]
    if mask is not None and source.target is _aten.sum.dim_IntList and graph.rank(mask) == 2 \
            and graph.describe(source.args[0]) == graph.describe(mask) \
            and [d % 2 for d in source.args[1]] == [1]:
        longest = mask.meta["val"].shape[1]
    # Those chosen first, in their order.
    whole = graph.call(_aten.to.dtype, rows.mask, torch.int64)
    place = graph.call(_aten.sub.Tensor, graph.call(_aten.cumsum.default, whole, 0), 1)
    first = graph.call(_aten.index_add.default, graph.call(_aten.zeros_like.default, targets), 0,
                       graph.select(rows, place, 0), graph.select(rows, targets, 0))
    begin = graph.call(_aten.sub.Tensor,
                       graph.call(_aten.cumsum.default, lengths, 0), lengths)
    place = graph.call(_aten.add.Tensor, graph.call(_aten.unsqueeze.default, begin, 1),
                       graph.call(_aten.arange.default, longest))
    place = graph.call(_aten.clamp.default, place, 0, rows.size - 1)
    node.update_arg(1, graph.call(_aten.index.Tensor, first, [place]))
    graph.evaluate(node)
