# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a mask chooses, as in `x[mask]`, whose number depends on values.

A step has the same shapes for all batches. So what is computed of chosen rows is computed of all
rows, and where rows meet, in sums, losses and writes, the others count as nothing. Rows that are
not chosen hold a copy of the first that is, without its gradient: they are finite where the chosen
ones are, so that zero times their derivative is zero.
"""
from __future__ import annotations

import operator
from typing import Callable

import torch
import torch.fx

from mpt._export.masked_rows.by_mask import find_places, read_by_mask, write_one_row
from mpt._export.masked_rows.columns import compute_columns
from mpt._export.masked_rows.inner_rows import read_elements, write_elements, write_within
from mpt._export.masked_rows.numbers import ITEM, count_rows, take_item, use_count
from mpt._export.masked_rows.reductions import spread_targets, sum_rows
from mpt._export.masked_rows.regions import enter_region, return_rows, take_number, take_rows
from mpt._export.masked_rows.row_graph import EVERYWHERE, REMEDY, RowGraph, packets

_aten = torch.ops.aten
# Row by row in their first operand, a batch in dimension 0; the others are the same for all rows.
_OF_BATCHES = packets("""linear mm matmul layer_norm native_layer_norm rms_norm group_norm
    conv1d conv2d conv3d glu one_hot""")
# With a dimension, or a list of some, as argument `dim`.
_ALONG = packets("""softmax log_softmax _softmax _log_softmax cumsum cumprod sort argsort topk
    gather select slice squeeze unsqueeze narrow flip argmax argmin split split_with_sizes chunk
    unbind logsumexp sum mean amax amin prod norm linalg_vector_norm max min any all var std cat
    stack""")
# Of the first operand they read the type alone.
_NEW = packets("new_empty new_full new_ones new_zeros")


def _rewrite(graph: RowGraph, node: torch.fx.Node) -> None:
    graph.node, target = node, node.target
    if isinstance(target, torch._ops.OpOverload):
        packet = target.overloadpacket
        if packet is _aten.index and node.args[1] and all(
                i is not None and i.meta["val"].dtype == torch.bool for i in node.args[1]) \
                and len(node.args[1]) == 1 and read_by_mask(graph, node, node.args[0],
                                                            node.args[1][0]):
            return
        if packet in (_aten.index_put, _aten.index_put_) and (
                write_one_row(graph, node) or write_elements(graph, node)
                or write_within(graph, node)):
            return
        if packet is _aten.index and read_elements(graph, node):
            return
        if packet is _aten.masked_select and not any(n in graph.rows for n in node.args):
            value, mask = graph.broadcast(*node.args)
            if read_by_mask(graph, node, value, mask):
                return
        if packet in (_aten.nonzero, _aten.nonzero_numpy) or packet is _aten.where \
                and len(node.args) == 1:
            if find_places(graph, node, node.args[0]):
                return
    if isinstance(target, torch._ops.HigherOrderOperator):
        enter_region(graph, node)
    if graph.moved.keys() & set(node.all_input_nodes) or isinstance(
            target, torch._ops.OpOverload) and target.overloadpacket is _aten.index:
        if compute_columns(graph, node, _rewrite):
            return
    if target in (_aten.item.default, _aten._local_scalar_dense.default):
        take_item(graph, node, node.args[0])
        return
    given = [n for n in node.all_input_nodes if n in graph.rows]
    counted = [n for n in node.all_input_nodes if n in graph.counts]
    if not given and not counted and not (
            target is operator.getitem and node.args[0] in graph.regions) \
            or node.op != "call_function":
        if node.op == "output" and graph.is_region and (given or counted):
            return_rows(graph, node)
        elif node.op == "placeholder" and graph.is_region:
            take_number(graph, node)
        elif given or any(graph.counts[n] is not n for n in counted):
            what = ITEM if graph.items.intersection(counted) and not given else REMEDY
            graph.fail((given + counted)[0], f"the loss function returns {what}")
        return
    if "assert" in str(target) or "constrain" in str(target):
        graph.fx_graph.erase_node(node)
    elif target is operator.getitem and node.args[0] in graph.regions:
        take_rows(graph, node)
    elif target is operator.getitem and given:
        node.meta["val"] = given[0].meta["val"][node.args[1]]
        graph.rows[node] = graph.rows[given[0]]
    elif target is torch.ops.mpt.ctc_loss.default and given == [node.args[1]]:
        spread_targets(graph, node, given[0])
    elif count_rows(graph, node, given, counted) or sum_rows(graph, node, given):
        return
    else:
        _compute_rows(graph, node, given)


def _keeps_rows(graph: RowGraph, node: torch.fx.Node, given: "list[torch.fx.Node]") -> bool:
    """Whether an op computes each row of its result from that row of its operands alone."""
    packet = node.target.overloadpacket
    others = [n for n in graph.tensors(node) if n not in graph.rows]
    rank = max(graph.rank(n) for n in given)
    if packet in EVERYWHERE or torch.Tag.pointwise in node.target.tags:
        return all(graph.rank(n) == rank for n in given) and all(
            graph.rank(n) < rank or graph.rank(n) == rank and n.meta["val"].shape[0] == 1
            for n in others)
    if packet in _OF_BATCHES:
        least = {_aten.linear: 2, _aten.matmul: 2, _aten.mm: 2, _aten.conv1d: 3,
                 _aten.conv2d: 4, _aten.conv3d: 5, _aten.glu: 2}.get(packet, 1)
        shape = graph.argument(node, "normalized_shape", ())
        return given == [node.args[0]] and graph.rank(given[0]) >= least \
            and graph.rank(given[0]) > len(shape) \
            and (packet not in (_aten.matmul, _aten.mm) or graph.rank(node.args[1]) <= 2) \
            and (packet is not _aten.glu or graph.argument(node, "dim", -1) % rank != 0)
    if packet is _aten.embedding:
        return given == [node.args[1]]
    if packet is _aten.index_select and given == [node.args[2]]:
        return node.args[1] % graph.rank(node.args[0]) == 0
    if packet in _ALONG:
        dims = graph.argument(node, "dim", 0 if packet in (_aten.cat, _aten.stack) else None)
        if dims is None or dims == []:
            return False
        added = packet in (_aten.unsqueeze, _aten.stack)
        dims = dims if isinstance(dims, (list, tuple)) else [dims]
        return not others and all(graph.rank(n) == rank for n in given) \
            and all(d % (rank + added) != 0 for d in dims)
    if packet in (_aten.view, _aten.reshape, _aten.unflatten, _aten.flatten, _aten.expand,
                  _aten._unsafe_view, _aten.expand_as, _aten.view_as, _aten.reshape_as):
        return True  # The shape of the result says so.
    if packet in (_aten.transpose, _aten.swapaxes):
        return all(d % rank != 0 for d in node.args[1:3])
    if packet is _aten.permute:
        return node.args[1][0] % rank == 0
    if packet is _aten.index:  # Of a tensor, by rows of numbers.
        return node.args[0] not in graph.rows and all(
            i in graph.rows and graph.rank(i) == 1 for i in node.args[1])
    return False


def _compute_rows(graph: RowGraph, node, given) -> None:
    """An op of all rows."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        graph.fail(node, f"{target} of {REMEDY}")
    for number in [n for n in node.all_input_nodes if n in graph.counts]:
        use_count(graph, node, number)
        if node._erased:
            return
    if not given or target.overloadpacket in _NEW:
        known = node.meta["val"]
        rows = graph.symbols.get(graph.symbol_of(known))
        if rows is None and isinstance(known, torch.Tensor) \
                and any(not isinstance(s, int) for s in known.shape):
            graph.fail(node, f"{target} of the number of {REMEDY}")
        graph.evaluate(node)
        if rows is not None:
            graph.rows[node] = rows
        return
    if target.overloadpacket is _aten.cat and _join_rows(graph, node, given):
        return
    rows = graph.rows[given[0]]
    before = node.meta["val"]
    first = before[0] if isinstance(before, (tuple, list)) else before
    if any(graph.rows[n].mask is not rows.mask for n in given) \
            or graph.symbols.get(graph.symbol_of(first)) is not rows \
            or not _keeps_rows(graph, node, given):
        graph.fail(node, f"{target} of {REMEDY}")
    graph.evaluate(node)
    after = node.meta["val"]
    if any(t.shape[0] != rows.size for t in
           (after if isinstance(after, (tuple, list)) else [after])):
        graph.fail(node, f"{target} of {REMEDY}")
    graph.rows[node] = rows


def _join_rows(graph: RowGraph, node, given) -> bool:
    """Rows after others, of which some are chosen."""
    symbol = graph.symbol_of(node.meta["val"])
    if symbol is None or graph.argument(node, "dim", 0) % graph.rank(given[0]) != 0:
        return False
    graph.rows[node] = graph.join(node.args[0], symbol)
    graph.evaluate(node)
    return True


def spread_masked_rows(module: torch.fx.GraphModule,
                       fail: Callable[[torch.fx.Node, str], None]) -> None:
    """Computes what is read by masks with all rows. `fail(node, message)` raises."""
    made: "dict[torch.fx.GraphModule, RowGraph]" = {}
    # What regions return is known before they are called.
    for part in reversed([m for m in module.modules() if isinstance(m, torch.fx.GraphModule)]):
        graph = made[part] = RowGraph(part.graph, part is not module, fail)
        graph.bodies = {name: made[body] for name, body in part.named_children() if body in made}
        for node in list(part.graph.nodes):
            if not node._erased:
                with part.graph.inserting_before(node):
                    _rewrite(graph, node)
        if graph.symbols or graph.counts:
            for node in reversed(list(part.graph.nodes)):
                if (node in graph.counts or node in graph.moved) and not node.users:
                    part.graph.erase_node(node)
            part.recompile()
