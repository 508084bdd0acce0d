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

import builtins
import contextlib
import math
import operator
from typing import Any, Callable, NamedTuple, Optional

import torch
import torch.fx
from torch.utils._sympy.symbol import SymT, symbol_is_type

from mpt._export.custom_ops import STOP_GRADIENT
from mpt._export.traced_numbers import ARITHMETIC, TO_INTEGER, overload_of_tensors

_aten = torch.ops.aten


def _packets(names: str) -> "set[Any]":
    return {getattr(_aten, name) for name in names.split() if hasattr(_aten, name)}


# Row by row in their first operand, a batch in dimension 0; the others are the same for all rows.
_OF_BATCHES = _packets("""linear mm matmul layer_norm native_layer_norm rms_norm group_norm
    conv1d conv2d conv3d glu one_hot""")
# With a dimension, or a list of some, as argument `dim`.
_ALONG = _packets("""softmax log_softmax _softmax _log_softmax cumsum cumprod sort argsort topk
    gather select slice squeeze unsqueeze narrow flip argmax argmin split split_with_sizes chunk
    unbind logsumexp sum mean amax amin prod norm linalg_vector_norm max min any all var std cat
    stack""")
# Elementwise, whatever their tags say.
_EVERYWHERE = _packets("""clone detach alias contiguous to _to_copy type_as dropout zeros_like
    ones_like full_like empty_like fill fill_ zero zero_ copy copy_ masked_fill masked_fill_ where
    broadcast_tensors lift_fresh_copy lift_fresh nan_to_num __and__ __or__ __xor__""")
# Of each reduction over rows: what others hold meanwhile.
_NEUTRAL = {_aten.sum: 0, _aten.mean: 0, _aten.prod: 1, _aten.amax: -math.inf, _aten.amin: math.inf,
            _aten.max: -math.inf, _aten.min: math.inf, _aten.logsumexp: -math.inf,
            _aten.count_nonzero: 0, _aten.norm: 0, _aten.linalg_vector_norm: 0}
_COLUMNS = ("columns that a mask has chosen, as in x[:, mask], whose number depends on values: "
            "compute with all columns, and choose by torch.where, or weigh their sum by the mask, or "
            "let it be a constant: of tensors in a closure, or of buffers with persistent=False")
_ELEMENTWISE_LOSSES = _packets("""mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss
    binary_cross_entropy binary_cross_entropy_with_logits kl_div""")
_ITEM = ("a number that .item() takes out of a tensor, which the next batch changes: compute with "
         "the tensor itself")
# Whose sizes may be the number of chosen rows.
_SIZED = _packets("view reshape expand zeros ones full new_zeros new_ones new_full")
_REMEDY = ("rows that a mask has chosen, whose number depends on values: compute with all rows, "
           "and choose by torch.where, or weigh their sum by the mask")


class _Rows(NamedTuple):
    """Rows of which some are chosen: which, [size] of bool, and how many there are in all."""
    mask: torch.fx.Node
    size: int


class _Name(str):
    """What stands for a node in the description of another."""

    def __repr__(self):
        return str(self)


def _may_be_view(node: torch.fx.Node) -> bool:
    """Whether the result may lie where the first operand lies."""
    schema = getattr(node.target, "_schema", None)
    return schema is None or any(result.alias_info is not None for result in schema.returns)


class _Rewriter:
    """Of one graph, which may be that of a region without gradients or of autocast."""

    def __init__(self, graph: torch.fx.Graph, is_region: bool,
                 fail: Callable[[torch.fx.Node, str], None]):
        self.graph, self.is_region, self.fail = graph, is_region, fail
        # Values that have all rows in dimension 0, and numbers of chosen rows as tensors.
        self.rows: "dict[torch.fx.Node, _Rows]" = {}
        self.counts: "dict[torch.fx.Node, torch.fx.Node]" = {}
        # Values whose chosen rows are in another dimension: the same with them in dimension 0, and
        # which it is.
        self.moved: "dict[torch.fx.Node, tuple[torch.fx.Node, int]]" = {}
        self.items: "set[torch.fx.Node]" = set()  # of these, those that .item() returns
        self.symbols: "dict[str, _Rows]" = {}  # by the number of chosen rows
        self.chosen: "dict[Any, _Rows]" = {}  # by their masks
        self.sources: "dict[torch.fx.Node, _Rows]" = {}  # the masks
        self.described: "dict[torch.fx.Node, Any]" = {}
        # Regions in this graph by name, where they are called, and of a region itself: results
        # that have all rows, with the place of the mask among its inputs, or its results.
        self.bodies: "dict[str, _Rewriter]" = {}
        self.regions: "dict[torch.fx.Node, tuple[_Rewriter, Any]]" = {}
        self.returned: "dict[int, tuple[bool, int]]" = {}
        self.numbers: "set[int]" = set()  # results of a region that numbers of Python were
        self.changed = self.find_changed(graph)
        self.mode = next((n.meta["val"].fake_mode for n in graph.nodes
                          if hasattr(n.meta.get("val"), "fake_mode")), contextlib.nullcontext())

    # Making nodes.

    def call(self, target, *args, **kwargs) -> torch.fx.Node:
        node = self.graph.call_function(target, args, kwargs)
        node.meta = {k: v for k, v in self.node.meta.items()
                     if k in ("stack_trace", "custom", "nn_module_stack")}
        self.evaluate(node)
        return node

    def evaluate(self, node: torch.fx.Node) -> None:
        """Gives a node its new shape."""
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
        with torch.no_grad(), self.mode:
            node.meta["val"] = node.target(*args, **kwargs)
        node.meta.pop("unbacked_bindings", None)

    def column(self, rows: _Rows, rank: int) -> torch.fx.Node:
        """The mask as [size, 1, ..]."""
        return self.call(_aten.reshape.default, rows.mask, [rows.size] + [1] * (rank - 1))

    def select(self, rows: _Rows, value: torch.fx.Node, other) -> torch.fx.Node:
        """`value` in rows that are chosen, `other` elsewhere."""
        known = value.meta["val"]
        if not isinstance(other, torch.fx.Node):
            if known.dtype == torch.bool:
                other = bool(other)
            elif math.isinf(other) and not known.is_floating_point():
                limits = torch.iinfo(known.dtype)
                other = limits.max if other > 0 else limits.min
            other = self.call(_aten.full.default, [], other, dtype=known.dtype)
        return self.call(_aten.where.self, self.column(rows, known.dim()), value, other)

    def fill(self, rows: _Rows, value: torch.fx.Node) -> torch.fx.Node:
        """Rows that are not chosen become a copy of the first that is."""
        first = self.call(_aten.argmax.default,
                          self.call(_aten.to.dtype, rows.mask, torch.float32), 0, True)
        return self.select(rows, value, self.call(
            STOP_GRADIENT, self.call(_aten.index_select.default, value, 0, first))
            if value.meta["val"].is_floating_point()
            else self.call(_aten.index_select.default, value, 0, first))

    # Where rows are chosen.

    def symbol_of(self, value) -> "Optional[str]":
        """The number of chosen rows, if it is the size of dimension 0."""
        if not isinstance(value, torch.Tensor) or not value.dim():
            return None
        sizes = [s for s in value.shape if not isinstance(s, int)]
        if len(sizes) != 1 or isinstance(value.shape[0], int) or \
                not sizes[0].node.expr.free_symbols <= self.unbacked(sizes[0]):
            return None
        return str(sizes[0].node.expr)

    @staticmethod
    def unbacked(size) -> "set[Any]":
        return {s for s in size.node.expr.free_symbols
                if symbol_is_type(s, (SymT.UNBACKED_INT, SymT.UNBACKED_FLOAT))}

    def choose(self, mask: torch.fx.Node, symbol: str) -> _Rows:
        key = self.describe(mask)
        if key not in self.chosen:
            size = mask.meta["val"].numel()
            if not isinstance(size, int):
                self.fail(self.node, f"{self.node.target} by a mask of open size: of {_REMEDY}")
            self.chosen[key] = self.sources[mask] = _Rows(
                self.call(_aten.reshape.default, mask, [size]), size)
        if self.symbols.setdefault(symbol, self.chosen[key]) is not self.chosen[key]:
            self.fail(self.node, f"two masks that choose as many rows: of {_REMEDY}")
        return self.chosen[key]

    # Masks of other dimensions than the first, as in x[:, mask].

    def move(self, node) -> bool:
        """Computes with chosen rows in dimension 0, and notes where they belong."""
        target = node.target
        packet = getattr(target, "overloadpacket", None)
        given = [n for n in node.all_input_nodes if n in self.moved]
        if not given:
            return self.read_columns(node)
        depth = self.moved[given[0]][1]
        rows = self.rows[self.moved[given[0]][0]]
        rank = self.rank(given[0])
        if packet in (_aten.index_put, _aten.index_put_) and given == [node.args[2]] \
                and self.write_columns(node, rows, depth):
            return True
        others = [n for n in self.tensors(node) if n not in self.moved]
        if target is _aten.sym_size.int:
            place = node.args[1] % rank
            inner = 0 if place == depth else place + (place < depth)
            self.compute_moved(node, {given[0]: self.moved[given[0]][0]}, (inner,))
            return True
        if not isinstance(target, torch._ops.OpOverload) or any(
                self.moved[n][1] != depth or self.rank(n) != rank
                or self.rows[self.moved[n][0]] is not rows for n in given):
            self.fail(node, f"{target} of {_COLUMNS}")
        if packet is _aten.broadcast_tensors and not others and len(
                {self.moved[n][0].meta["val"].shape for n in given}) == 1:
            for user in list(node.users):  # There is nothing to broadcast.
                self.replace(user, node.args[0][user.args[1]])
            self.graph.erase_node(node)
            return True
        inner = {n: self.moved[n][0] for n in given}
        reduction = self.argument(node, "reduction")
        if reduction is not None and packet in _ELEMENTWISE_LOSSES and not others:
            self.compute_moved(node, inner)
            return True
        if packet in _EVERYWHERE or torch.Tag.pointwise in target.tags:
            for other in others:
                if self.rank(other) >= rank - depth:
                    if self.rank(other) != rank or other.meta["val"].shape[depth] != 1:
                        self.fail(node, f"{target} of {_COLUMNS}")
                    inner[other] = self.call(_aten.movedim.int, other, depth, 0)
            self.moved[node] = self.compute_moved(node, inner, is_kept=True), depth
            return True
        if packet in (_aten.sum, _aten.mean, _aten.amax, _aten.amin, _aten.prod, _aten.var,
                      _aten.std, _aten.norm, _aten.linalg_vector_norm) and len(given) == 1:
            dims = self.argument(node, "dim")
            if not dims and dims != 0:
                self.compute_moved(node, inner)
                return True
            dims = [d % rank for d in (dims if isinstance(dims, (list, tuple)) else [dims])]
            keep = self.argument(node, "keepdim", False)
            if depth in dims and not keep or depth not in dims:
                places = [0 if d == depth else d + (d < depth) for d in dims]
                is_list = isinstance(self.argument(node, "dim"), (list, tuple))
                found = self.compute_moved(node, inner, is_kept=depth not in dims,
                                           dim=places if is_list else places[0])
                if depth not in dims:
                    self.moved[node] = found, depth - (
                        0 if keep else sum(d < depth for d in dims))
                return True
        self.fail(node, f"{target} of {_COLUMNS}")
        return False

    def compute_moved(self, node, inner, rest=None, is_kept=False, **changed):
        """`node` of other operands. It takes the place of `node`, unless that is kept."""
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: inner.get(n, n))
        found = self.graph.call_function(
            node.target, args if rest is None else (args[0], *rest), kwargs)
        found.meta = dict(node.meta)
        for name, value in changed.items():
            self.set_argument(found, name, value)
        if is_kept:
            self.evaluate(found)
            self.rows[found] = self.rows[next(n for n in found.all_input_nodes
                                              if n in self.rows)]
            return found
        node.replace_all_uses_with(found)
        self.graph.erase_node(node)
        with self.graph.inserting_before(found):
            self.rewrite(found)
        return found

    def column_of(self, indices) -> "Optional[torch.fx.Node]":
        """The mask of x[:, .., mask]."""
        mask = indices[-1] if len(indices) > 1 else None
        if mask is None or any(i is not None for i in indices[:-1]) \
                or mask.meta["val"].dtype != torch.bool or mask.meta["val"].dim() != 1:
            return None
        return mask

    def read_columns(self, node) -> bool:
        value, mask = node.args[0], self.column_of(node.args[1])
        known = node.meta["val"]
        if mask is None or value in self.rows or mask in self.rows:
            return False
        depth = len(node.args[1]) - 1
        if any(not isinstance(s, int) for i, s in enumerate(known.shape) if i != depth) \
                or isinstance(known.shape[depth], int):
            return False
        rows = self.choose(mask, str(known.shape[depth].node.expr))
        found = self.fill(rows, self.call(_aten.movedim.int, value, depth, 0))
        self.rows[found] = rows
        self.moved[node] = found, depth
        return True

    def write_columns(self, node, rows, depth) -> bool:
        """y[:, mask] = columns."""
        base, indices, value = node.args[:3]
        mask = self.column_of(indices)
        if mask is None or len(indices) - 1 != depth or len(node.args) > 3 and node.args[3] \
                or self.chosen.get(self.describe(mask)) is not rows \
                or self.rank(value) != self.rank(base) or base in self.rows:
            return False
        shape = [1] * self.rank(base)
        shape[depth] = rows.size
        found = self.call(_aten.where.self, self.call(_aten.reshape.default, mask, shape),
                          self.call(_aten.movedim.int, self.moved[value][0], 0, depth), base)
        if node.target.overloadpacket is _aten.index_put_:
            found = self.call(_aten.copy_.default, base, found)
        self.replace(node, found)
        return True

    def is_within(self, value, mask) -> bool:
        """Whether a mask of chosen rows chooses among them."""
        return mask in self.rows and value in self.rows and self.rank(mask) == 1 \
            and self.rows[mask] is self.rows[value]

    def choose_within(self, mask: torch.fx.Node, symbol: "Optional[str]" = None) -> _Rows:
        """Those of the chosen rows that a mask of them chooses."""
        outer = self.rows[mask]
        key = outer.mask, self.describe(mask)
        if key not in self.chosen:
            self.chosen[key] = _Rows(
                self.call(_aten.logical_and.default, outer.mask, mask), outer.size)
        rows = self.chosen[key]
        if symbol and self.symbols.setdefault(symbol, rows) is not rows:
            self.fail(self.node, f"two masks that choose as many rows: of {_REMEDY}")
        return rows

    def write_within(self, node) -> bool:
        """y[mask] = value, of chosen rows and a mask of them."""
        base, indices, value = node.args[:3]
        if len(indices) != 1 or indices[0] is None or not self.is_within(base, indices[0]) \
                or indices[0].meta["val"].dtype != torch.bool \
                or len(node.args) > 3 and node.args[3]:
            return False
        rows = self.choose_within(indices[0])
        if value in self.rows:
            if self.rows[value] is not rows or self.rank(value) != self.rank(base):
                return False
        elif self.rank(value) >= self.rank(base):
            return False
        found = self.call(_aten.where.self, self.column(rows, self.rank(base)), value, base)
        if node.target.overloadpacket is _aten.index_put_:
            found = self.call(_aten.copy_.default, base, found)
        self.replace(node, found, self.rows[base])
        return True

    def describe(self, node):
        """The same for masks that are computed twice, as in z[y > 0] and x[y > 0]."""
        if node in self.described:
            return self.described[node]
        inner = {n: self.describe(n) for n in node.all_input_nodes}
        if any(n in self.changed for n in inner):
            self.changed.add(node)  # It may be a view.
        found = node
        if node not in self.changed and (node.target is operator.getitem or isinstance(
                node.target, torch._ops.OpOverload) and
                torch.Tag.nondeterministic_seeded not in node.target.tags):
            found = repr((str(node.target), torch.fx.map_arg(
                (node.args, node.kwargs), lambda n: _Name(inner[n]))))
        self.described[node] = found
        return found

    @staticmethod
    def find_changed(graph: torch.fx.Graph) -> "set[torch.fx.Node]":
        """What is changed in place, and what that is a view of."""
        changed = set()
        for node in graph.nodes:
            schema = getattr(node.target, "_schema", None)
            if schema is not None and schema.is_mutable:
                changed.add(node)
                while node.all_input_nodes and _may_be_view(node):
                    node = node.all_input_nodes[0]
                    changed.add(node)
        return changed

    def read_by_mask(self, node, value, mask) -> bool:
        """x[mask], whose mask is of the first dimensions."""
        symbol = self.symbol_of(node.meta["val"])
        if symbol is not None and self.is_within(value, mask):
            rows = self.choose_within(mask, symbol)
            self.replace(node, self.fill(rows, value), rows)
            return True
        if symbol is None or value in self.rows or mask in self.rows:
            return False
        rows = self.choose(mask, symbol)
        rest = list(value.meta["val"].shape[mask.meta["val"].dim():])
        if not all(isinstance(s, int) for s in rest):
            return False
        self.replace(node, self.fill(
            rows, self.call(_aten.reshape.default, value, [rows.size, *rest])), rows)
        return True

    def broadcast(self, *values) -> "list[torch.fx.Node]":
        """Values of one shape."""
        shape = torch.broadcast_shapes(*(v.meta["val"].shape for v in values))
        return [v if v.meta["val"].shape == shape else self.call(
            _aten.expand.default, v, list(shape)) for v in values]

    def find_places(self, node, mask) -> bool:
        """nonzero(mask): the places of the chosen, [rows, dimensions], or one list for each."""
        result = node.meta["val"]
        is_list = isinstance(result, (tuple, list))
        symbol = self.symbol_of(result[0] if is_list else result)
        if symbol is None or mask in self.rows or not mask.meta["val"].dim():
            return False
        if mask.meta["val"].dtype != torch.bool:
            mask = self.call(_aten.ne.Scalar, mask, 0)
        rows = self.choose(mask, symbol)
        place = self.fill(rows, self.call(_aten.arange.default, rows.size))
        parts = []
        for size in reversed(mask.meta["val"].shape):
            parts.append(self.call(_aten.remainder.Scalar, place, size))
            place = self.call(_aten.div.Tensor_mode, place, size, rounding_mode="floor")
        parts.reverse()
        if is_list:
            for user in list(node.users):
                self.replace(user, parts[user.args[1]], rows)
            self.graph.erase_node(node)
        else:
            self.replace(node, self.call(_aten.stack.default, parts, 1), rows)
        return True

    def replace(self, node: torch.fx.Node, value: torch.fx.Node,
                rows: "Optional[_Rows]" = None) -> None:
        node.replace_all_uses_with(value)
        self.graph.erase_node(node)
        if rows is not None:
            self.rows[value] = rows

    # Regions.

    def take_number(self, node: torch.fx.Node) -> None:
        """What is passed to a region as a number of Python is a tensor."""
        known = node.meta.get("val")
        if isinstance(known, (torch.SymInt, torch.SymFloat)) and self.unbacked(known):
            with self.mode:
                node.meta["val"] = torch.empty([], dtype=torch.int64 if isinstance(
                    known, torch.SymInt) else torch.float32)
            self.counts[node] = node
            self.items.add(node)

    def return_rows(self, output: torch.fx.Node) -> None:
        """A region returns all rows, and the mask if it has made it."""
        results = list(output.args[0])
        for place, value in enumerate(results):
            if value in self.counts:
                results[place] = self.counts[value]
                self.numbers.add(place)
            if value not in self.rows:
                continue
            mask = next((m for m, r in self.sources.items() if r is self.rows[value]), None)
            if mask is None:
                self.fail(value, f"torch.no_grad or torch.autocast returns {_REMEDY}")
            inputs = self.graph.find_nodes(op="placeholder")
            if mask not in inputs and mask not in results:
                results.append(mask)
            self.returned[place] = (True, list(inputs).index(mask)) if mask in inputs \
                else (False, results.index(mask))
        output.args = (type(output.args[0])(results),)

    def enter_region(self, node: torch.fx.Node) -> None:
        body = next((a for a in node.args if isinstance(a, torch.fx.Node) and a.op == "get_attr"),
                    None)
        found = self.bodies.get(body.target if body else None)
        if found:
            for number in [n for n in node.all_input_nodes if n in self.counts]:
                node.replace_input_with(number, self.counts[number])
        if found and (found.returned or found.numbers):
            self.regions[node] = found, node.args[node.args.index(body) + 1:]
            node.meta["val"] = tuple(v.meta["val"] for v in next(
                n for n in found.graph.nodes if n.op == "output").args[0])

    def take_rows(self, node: torch.fx.Node) -> None:
        """A result of a region, which may have all rows."""
        region, place = node.args
        found, inputs = self.regions[region]
        if place in found.numbers:
            node.meta["val"] = region.meta["val"][place]
            node.meta.pop("unbacked_bindings", None)
            self.counts[node] = node
            self.items.add(node)
        if place not in found.returned:
            return
        is_input, number = found.returned[place]
        mask = inputs[number] if is_input else self.call(operator.getitem, region, number)
        symbol = self.symbol_of(node.meta["val"])
        node.meta["val"] = region.meta["val"][place]
        self.rows[node] = self.choose(mask, symbol)

    # What is computed of them.

    def rank(self, node) -> int:
        return node.meta["val"].dim()

    def argument(self, node, name: str, default=None):
        for place, argument in enumerate(node.target._schema.arguments):
            if argument.name == name:
                if name in node.kwargs:
                    return node.kwargs[name]
                return node.args[place] if place < len(node.args) else argument.default_value
        return default

    def set_argument(self, node, name: str, value) -> None:
        for place, argument in enumerate(node.target._schema.arguments):
            if argument.name == name:
                if place < len(node.args):
                    node.update_arg(place, value)
                else:
                    node.update_kwarg(name, value)

    def tensors(self, node) -> "list[torch.fx.Node]":
        return [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]

    def keeps_rows(self, node: torch.fx.Node, given: "list[torch.fx.Node]") -> bool:
        """Whether an op computes each row of its result from that row of its operands alone."""
        packet = node.target.overloadpacket
        others = [n for n in self.tensors(node) if n not in self.rows]
        rank = max(self.rank(n) for n in given)
        if packet in _EVERYWHERE or torch.Tag.pointwise in node.target.tags:
            return all(self.rank(n) == rank for n in given) and all(
                self.rank(n) < rank or self.rank(n) == rank and n.meta["val"].shape[0] == 1
                for n in others)
        if packet in _OF_BATCHES:
            least = {_aten.linear: 2, _aten.matmul: 2, _aten.mm: 2, _aten.conv1d: 3,
                     _aten.conv2d: 4, _aten.conv3d: 5, _aten.glu: 2}.get(packet, 1)
            shape = self.argument(node, "normalized_shape", ())
            return given == [node.args[0]] and self.rank(given[0]) >= least \
                and self.rank(given[0]) > len(shape) \
                and (packet not in (_aten.matmul, _aten.mm) or self.rank(node.args[1]) <= 2) \
                and (packet is not _aten.glu or self.argument(node, "dim", -1) % rank != 0)
        if packet is _aten.embedding:
            return given == [node.args[1]]
        if packet is _aten.index_select and given == [node.args[2]]:
            return node.args[1] == 0
        if packet in _ALONG:
            dims = self.argument(node, "dim", 0 if packet in (_aten.cat, _aten.stack) else None)
            if dims is None or dims == []:
                return False
            added = packet in (_aten.unsqueeze, _aten.stack)
            dims = dims if isinstance(dims, (list, tuple)) else [dims]
            return not others and all(self.rank(n) == rank for n in given) \
                and all(d % (rank + added) != 0 for d in dims)
        if packet in (_aten.view, _aten.reshape, _aten.unflatten, _aten.flatten, _aten.expand,
                      _aten._unsafe_view):
            return True  # The shape of the result says so.
        if packet in (_aten.transpose, _aten.swapaxes):
            return all(d % rank != 0 for d in node.args[1:3])
        if packet is _aten.permute:
            return node.args[1][0] % rank == 0
        if packet is _aten.index:  # Of a tensor, by rows of numbers.
            return node.args[0] not in self.rows and all(
                i in self.rows and self.rank(i) == 1 for i in node.args[1])
        return False

    def rewrite(self, node: torch.fx.Node) -> None:
        self.node, target = node, node.target
        if isinstance(target, torch._ops.OpOverload):
            packet = target.overloadpacket
            if packet is _aten.index and node.args[1] and all(
                    i is not None and i.meta["val"].dtype == torch.bool for i in node.args[1]) \
                    and len(node.args[1]) == 1 and self.read_by_mask(node, node.args[0],
                                                                     node.args[1][0]):
                return
            if packet in (_aten.index_put, _aten.index_put_) and (
                    self.write_one_row(node) or self.write_elements(node)
                    or self.write_within(node)):
                return
            if packet is _aten.index and self.read_elements(node):
                return
            if packet is _aten.masked_select and not any(n in self.rows for n in node.args):
                value, mask = self.broadcast(*node.args)
                if self.read_by_mask(node, value, mask):
                    return
            if packet in (_aten.nonzero, _aten.nonzero_numpy) or packet is _aten.where \
                    and len(node.args) == 1:
                if self.find_places(node, node.args[0]):
                    return
        if isinstance(target, torch._ops.HigherOrderOperator):
            self.enter_region(node)
        if self.moved.keys() & set(node.all_input_nodes) or isinstance(
                target, torch._ops.OpOverload) and target.overloadpacket is _aten.index:
            if self.move(node):
                return
        if target in (_aten.item.default, _aten._local_scalar_dense.default):
            self.take_item(node, node.args[0])
            return
        given = [n for n in node.all_input_nodes if n in self.rows]
        counted = [n for n in node.all_input_nodes if n in self.counts]
        if not given and not counted and not (
                target is operator.getitem and node.args[0] in self.regions) \
                or node.op != "call_function":
            if node.op == "output" and self.is_region and (given or counted):
                self.return_rows(node)
            elif node.op == "placeholder" and self.is_region:
                self.take_number(node)
            elif given or any(self.counts[n] is not n for n in counted):
                what = _ITEM if self.items.intersection(counted) and not given else _REMEDY
                self.fail((given + counted)[0], f"the loss function returns {what}")
            return
        if "assert" in str(target) or "constrain" in str(target):
            self.graph.erase_node(node)
        elif target is operator.getitem and node.args[0] in self.regions:
            self.take_rows(node)
        elif target is operator.getitem and given:
            node.meta["val"] = given[0].meta["val"][node.args[1]]
            self.rows[node] = self.rows[given[0]]
        elif target is torch.ops.mpt.ctc_loss.default and given == [node.args[1]]:
            self.spread_targets(node, given[0])
        elif self.count(node, given, counted) or self.sum_rows(node, given):
            return
        else:
            self.compute(node, given)

    def take_item(self, node, value) -> None:
        """x.item(), which is the tensor itself where it is computed with."""
        if value in self.rows:
            self.fail(node, f".item() of {_REMEDY}")
        known = value.meta["val"]
        if known.dim():
            value = self.call(_aten.reshape.default, value, [])
        if known.is_floating_point():
            value = self.call(STOP_GRADIENT, value)
            # Numbers of Python have more digits than those of 16 bits.
            value = self.converted(value, torch.promote_types(known.dtype, torch.float32))
        elif known.dtype == torch.bool:
            value = self.call(_aten.to.dtype, value, torch.int64)
        self.counts[node] = value
        self.items.add(node)

    def origin(self, counted) -> str:
        """What numbers are, for a message."""
        return _ITEM if self.items.intersection(counted) else f"the number of {_REMEDY}"

    def count(self, node, given, counted) -> bool:
        """Numbers of chosen rows, and arithmetic with them."""
        target = node.target
        if target in (_aten.sym_size.int, _aten.sym_numel.default) and given:
            if target is _aten.sym_size.int and node.args[1] != 0:
                self.replace_by_number(node, given[0].meta["val"].shape[node.args[1]])
                return True
            rows = self.rows[given[0]]
            each = 1 if target is _aten.sym_size.int else given[0].meta["val"].numel() // rows.size
            number = self.call(_aten.sum.default, rows.mask)
            self.counts[node] = number if each == 1 else self.call(_aten.mul.Scalar, number, each)
            return True
        if not counted:
            return False
        if not isinstance(target, torch._ops.OpOverload):
            if self.items.intersection(counted):
                self.items.add(node)
            if self.calculate(node):
                return True
            if target is torch.sym_float:
                self.counts[node] = self.call(_aten.to.dtype, self.counts[node.args[0]],
                                              torch.float32)
                return True
            if isinstance(node.meta.get("val"), torch.SymBool):
                self.counts[node] = self.counts[counted[0]]  # Asserted, and dropped.
                return True
            self.fail(node, f"{getattr(target, '__name__', target)} of {self.origin(counted)}")
        return False

    def calculate(self, node) -> bool:
        """Arithmetic of Python with numbers that are tensors."""
        target = node.target
        values = [self.counts.get(a, a) for a in node.args if a is not None]
        if target not in ARITHMETIC or not all(
                isinstance(v, (int, float, torch.fx.Node)) for v in values):
            return False
        is_rounded = target is builtins.round and len(values) == 2
        if is_rounded:
            found = self.call(_aten.round.decimals, values[0], decimals=values[1])
        elif target is operator.pow and not isinstance(values[1], torch.fx.Node):
            found = self.call(_aten.pow.Tensor_Scalar, *values)
        elif target is operator.pow and values[0] == math.e:
            found = self.call(_aten.exp.default, values[1])
        else:
            packet = ARITHMETIC[target]
            overload = next(getattr(packet, n) for n in ("Tensor", "Tensor_Tensor", "default")
                            if hasattr(packet, n))
            found = self.call(overload, *map(self.as_tensor, values))
        if target in TO_INTEGER and not is_rounded:
            found = self.call(_aten.to.dtype, found, torch.int64)
        self.counts[node] = found
        return True

    def as_tensor(self, value) -> torch.fx.Node:
        """A number of Python, or one that is a tensor."""
        if isinstance(value, torch.fx.Node):
            return self.counts.get(value, value)
        return self.call(_aten.full.default, [], value, dtype=torch.bool if isinstance(value, bool)
                         else torch.int64 if isinstance(value, int) else torch.float32)

    def replace_by_number(self, node, number) -> None:
        for user in list(node.users):
            user.args = torch.fx.map_arg(user.args, lambda n: number if n is node else n)
            user.kwargs = torch.fx.map_arg(user.kwargs, lambda n: number if n is node else n)
        self.graph.erase_node(node)

    def sum_rows(self, node, given) -> bool:
        """Where rows meet: reductions, losses, and writes."""
        target = node.target
        if not given or not isinstance(target, torch._ops.OpOverload):
            return False
        packet, rows = target.overloadpacket, self.rows[given[0]]
        reduction = self.argument(node, "reduction")
        if reduction is not None and packet not in (_aten.scatter_reduce, _aten.index_reduce):
            if any(self.rows[n].mask is not rows.mask for n in given):
                return False
            targets = node.args[1] if len(node.args) > 1 else None
            if packet in (_aten.cross_entropy_loss, _aten.nll_loss_nd) and reduction \
                    and targets in self.rows and not targets.meta["val"].is_floating_point():
                ignored = self.argument(node, "ignore_index", -100)
                node.update_arg(1, self.select(rows, targets, ignored))
                self.evaluate(node)
                return True
            if reduction:
                self.set_argument(node, "reduction", 0)
                self.compute_losses(node, given)
                with self.graph.inserting_before(node.next):
                    users = list(node.users)
                    total = self.reduce(_aten.mean if reduction == 1 else _aten.sum, node, rows)
                for user in users:
                    user.replace_input_with(node, total)
                return True
            self.compute_losses(node, given)
            return True
        if packet in _NEUTRAL and len(given) == 1 and given[0] is node.args[0]:
            dims = self.argument(node, "dim")
            rank = self.rank(given[0])
            order = self.argument(node, "p", self.argument(node, "ord"))
            # Places of extremes would be those among all rows.
            if packet in (_aten.max, _aten.min) and target not in (
                    _aten.max.default, _aten.min.default) \
                    or isinstance(order, (int, float)) and order < 0 \
                    or packet is _aten.mean and self.argument(node, "dtype") is not None:
                return False
            dims = [] if dims is None else dims if isinstance(dims, (list, tuple)) else [dims]
            if dims and all(d % rank != 0 for d in dims):
                return False
            if packet is _aten.mean:
                keep = self.argument(node, "keepdim", False)
                self.replace(node, self.reduce(_aten.mean, given[0], rows, dims, keep))
                return True
            node.update_arg(0, self.select(rows, given[0], _NEUTRAL[packet]))
            self.evaluate(node)
            return True
        if packet in (_aten.var, _aten.std) and len(given) == 1:
            return self.vary(node, given[0], rows)
        name = packet.__name__.rstrip("_")
        if name == "index_add" and node.args[1] == 0 and node.args[0] not in self.rows \
                and node.args[2] in self.rows and node.args[3] in self.rows:
            node.update_arg(3, self.select(self.rows[node.args[3]], node.args[3], 0))
            self.evaluate(node)
            return True
        if name == "index_put" and node.args[0] not in self.rows and len(node.args[1]) == 1:
            return self.write_rows(node, rows)
        return False

    def write_one_row(self, node) -> bool:
        """y[mask] = value, of a value that is the same for all rows."""
        base, indices, value = node.args[:3]
        if len(indices) != 1 or indices[0] is None or len(node.args) > 3 and node.args[3]:
            return False
        known, mask, given = (n.meta["val"] for n in (base, indices[0], value))
        shape = [*mask.shape, *[1] * (known.dim() - mask.dim())]
        rest = known.dim() - mask.dim()
        if mask.dtype != torch.bool or {base, indices[0], value} & self.rows.keys() or not (
                0 < given.dim() <= rest or given.dim() == rest + 1 and given.shape[0] == 1) \
                or mask.shape != known.shape[:mask.dim()]:
            return False
        if given.dim() > rest:
            value = self.call(_aten.squeeze.dim, value, 0)
        found = self.call(_aten.where.self, self.call(_aten.reshape.default, indices[0], shape),
                          value, base)
        if node.target.overloadpacket is _aten.index_put_:
            found = self.call(_aten.copy_.default, base, found)
        self.replace(node, found)
        return True

    def rows_of_elements(self, node) -> "Optional[_Rows]":
        """The rows of x[mask, column], of a column for each chosen row."""
        base, indices = node.args[:2]
        if len(indices) != 2 or None in indices or base in self.rows or indices[0] in self.rows \
                or indices[1] not in self.rows or self.rank(indices[1]) != 1:
            return None
        rows, mask = self.rows[indices[1]], indices[0].meta["val"]
        if mask.dtype != torch.bool or not 0 < mask.dim() < self.rank(base) \
                or self.chosen.get(self.describe(indices[0])) is not rows:
            return None
        return rows

    def with_rows(self, node, rows) -> torch.fx.Node:
        """What x[mask, column] reads or writes, with all rows in dimension 0."""
        base, depth = node.args[0], self.rank(node.args[1][0])
        return base if depth == 1 else self.call(
            _aten.reshape.default, base, [rows.size, *base.meta["val"].shape[depth:]])

    def read_elements(self, node) -> bool:
        rows = self.rows_of_elements(node)
        if rows is None:
            return False
        found = self.call(_aten.index.Tensor, self.with_rows(node, rows), [
            self.call(_aten.arange.default, rows.size), node.args[1][1]])
        self.replace(node, self.fill(rows, found), rows)
        return True

    def write_elements(self, node) -> bool:
        rows = self.rows_of_elements(node)
        base, indices, value = node.args[:3]
        if rows is None or self.rank(base) != self.rank(indices[0]) + 1 \
                or len(node.args) > 3 and node.args[3] \
                or self.rank(value) != (value in self.rows) \
                or self.rows.get(value, rows) is not rows:
            return False
        matrix = self.with_rows(node, rows)
        columns = self.call(_aten.arange.default, matrix.meta["val"].shape[1])
        place = self.call(_aten.eq.Tensor,
                          self.call(_aten.unsqueeze.default, indices[1], 1), columns)
        place = self.call(_aten.logical_and.default, place, self.column(rows, 2))
        if value in self.rows:
            value = self.call(_aten.unsqueeze.default, value, 1)
        found = self.call(_aten.where.self, place, value, matrix)
        if matrix is not base:
            found = self.call(_aten.reshape.default, found, list(base.meta["val"].shape))
        if node.target.overloadpacket is _aten.index_put_:
            found = self.call(_aten.copy_.default, base, found)
        self.replace(node, found)
        return True

    def compute_losses(self, node, given) -> None:
        """One value for each element, or row."""
        self.evaluate(node)
        rows = self.rows[given[0]]
        if not node.meta["val"].dim() or node.meta["val"].shape[0] != rows.size:
            self.fail(node, f"{node.target} of {_REMEDY}")
        self.rows[node] = rows

    def reduce(self, packet, value, rows, dims=(), keepdim=False) -> torch.fx.Node:
        """A sum or mean over chosen rows, and over `dims` among which rows are."""
        chosen = self.select(rows, value, 0)
        total = self.call(_aten.sum.dim_IntList, chosen, list(dims), keepdim) if dims \
            else self.call(_aten.sum.default, chosen)
        if packet is _aten.sum:
            return total
        return self.call(_aten.div.Tensor, total, self.number(value, rows, dims))

    def number(self, value, rows, dims) -> torch.fx.Node:
        """Of the elements that a mean is of, in the type of `value`."""
        shape = value.meta["val"].shape
        each = math.prod(s for i, s in enumerate(shape)
                         if i and (not dims or i in [d % len(shape) for d in dims]))
        number = self.call(_aten.to.dtype, self.call(_aten.sum.default, rows.mask),
                           value.meta["val"].dtype)
        return self.call(_aten.mul.Scalar, number, each)

    def vary(self, node, value, rows) -> bool:
        """Variance and standard deviation over rows."""
        dims, keep = self.argument(node, "dim"), self.argument(node, "keepdim", False)
        dims = [] if dims is None else dims if isinstance(dims, (list, tuple)) else [dims]
        rank = self.rank(value)
        if dims and all(d % rank != 0 for d in dims) or keep and not dims:
            return False
        correction = self.argument(node, "correction")
        if correction is None:
            correction = 1 if self.argument(node, "unbiased", True) else 0
        mean = self.reduce(_aten.mean, value, rows, dims, True)
        apart = self.call(_aten.sub.Tensor, value, mean)
        total = self.reduce(_aten.sum, self.call(_aten.mul.Tensor, apart, apart), rows, dims, keep)
        found = self.call(_aten.div.Tensor, total, self.call(
            _aten.clamp.default, self.call(
                _aten.sub.Scalar, self.number(value, rows, dims), correction), 0))
        if node.target.overloadpacket is _aten.std:
            found = self.call(_aten.sqrt.default, found)
        self.replace(node, found)
        return True

    def write_rows(self, node, rows) -> bool:
        """y[mask] = rows, or y[places] = rows."""
        base, (index,), value = node.args[:3]
        accumulates = len(node.args) > 3 and node.args[3]
        known = base.meta["val"]
        if index in self.rows:
            if value not in self.rows:
                return False
            if self.rank(index) != 1 or self.rank(value) != known.dim():
                return False
            found = self.call(_aten.index_add.default, base, 0, index, self.select(
                rows, value, 0)) if accumulates else self.write_last(base, index, value, rows)
        else:
            if index.meta["val"].dtype != torch.bool or index.meta["val"].numel() != rows.size \
                    or self.chosen.get(self.describe(index)) is not rows:
                return False
            depth = index.meta["val"].dim()
            mask = self.call(_aten.reshape.default, index, list(index.meta["val"].shape)
                             + [1] * (known.dim() - depth))
            value = self.call(_aten.reshape.default, self.call(
                _aten.expand.default, value, [rows.size, *known.shape[depth:]]), list(known.shape))
            found = self.call(_aten.where.self, mask, self.call(
                _aten.add.Tensor, base, value) if accumulates else value, base)
        if node.target.overloadpacket.__name__.endswith("_"):
            found = self.call(_aten.copy_.default, base, found)
        self.replace(node, found)
        return True

    def write_last(self, base, index, value, rows) -> torch.fx.Node:
        """y[places] = rows, of which the last is kept where several have one place."""
        size = base.meta["val"].shape[0]
        order = self.select(rows, self.call(_aten.arange.default, rows.size), -1)
        last = self.call(_aten.scatter_reduce.two, self.call(
            _aten.full.default, [size], -1, dtype=torch.int64), 0, index, order, "amax")
        found = self.call(_aten.index_select.default, value, 0,
                          self.call(_aten.clamp.default, last, 0))
        written = self.call(_aten.reshape.default, self.call(_aten.ge.Scalar, last, 0),
                            [size] + [1] * (self.rank(base) - 1))
        return self.call(_aten.where.self, written, found, base)

    def spread_targets(self, node, targets) -> None:
        """The targets of a CTC loss one after another, as [N, S] with gaps after the ends."""
        rows, lengths = self.rows[targets], node.args[3]
        if self.rank(targets) != 1 or not isinstance(lengths.meta["val"].shape[0], int):
            self.fail(node, f"{node.target} of {_REMEDY}")
        # No sequence is longer than a row of the mask, if the lengths are sums of its rows.
        mask = next((m for m, r in self.sources.items() if r is rows), None)
        longest, source = rows.size, lengths
        while source.target in (_aten.view.default, _aten.reshape.default, _aten.to.dtype,
                                _aten.detach.default, _aten._to_copy.default):
            source = source.args[0]
        if mask is not None and source.target is _aten.sum.dim_IntList and self.rank(mask) == 2 \
                and self.describe(source.args[0]) == self.describe(mask) \
                and [d % 2 for d in source.args[1]] == [1]:
            longest = mask.meta["val"].shape[1]
        # Those chosen first, in their order.
        whole = self.call(_aten.to.dtype, rows.mask, torch.int64)
        place = self.call(_aten.sub.Tensor, self.call(_aten.cumsum.default, whole, 0), 1)
        first = self.call(_aten.index_add.default, self.call(_aten.zeros_like.default, targets), 0,
                          self.select(rows, place, 0), self.select(rows, targets, 0))
        begin = self.call(_aten.sub.Tensor,
                          self.call(_aten.cumsum.default, lengths, 0), lengths)
        place = self.call(_aten.add.Tensor, self.call(_aten.unsqueeze.default, begin, 1),
                          self.call(_aten.arange.default, longest))
        place = self.call(_aten.clamp.default, place, 0, rows.size - 1)
        node.update_arg(1, self.call(_aten.index.Tensor, first, [place]))
        self.evaluate(node)

    def compute(self, node, given) -> None:
        """An op of all rows."""
        target = node.target
        if not isinstance(target, torch._ops.OpOverload):
            self.fail(node, f"{target} of {_REMEDY}")
        for number in [n for n in node.all_input_nodes if n in self.counts]:
            self.use_count(node, number)
            if node._erased:
                return
        if not given:
            rows = self.symbols.get(self.symbol_of(node.meta["val"]))
            self.evaluate(node)
            if rows is not None:
                self.rows[node] = rows
            return
        if target.overloadpacket is _aten.cat and self.join(node, given):
            return
        rows = self.rows[given[0]]
        before = node.meta["val"]
        first = before[0] if isinstance(before, (tuple, list)) else before
        if any(self.rows[n].mask is not rows.mask for n in given) \
                or self.symbols.get(self.symbol_of(first)) is not rows \
                or not self.keeps_rows(node, given):
            self.fail(node, f"{target} of {_REMEDY}")
        self.evaluate(node)
        after = node.meta["val"]
        if any(t.shape[0] != rows.size for t in
               (after if isinstance(after, (tuple, list)) else [after])):
            self.fail(node, f"{target} of {_REMEDY}")
        self.rows[node] = rows

    def use_count(self, node, number) -> None:
        """A number of chosen rows as an operand, or as the size of a result."""
        packet = node.target.overloadpacket
        rows = None if number in self.items else \
            self.symbols.get(str(number.meta["val"].node.expr))
        if rows is not None and packet in _SIZED:
            node.args = torch.fx.map_arg(node.args, lambda n: rows.size if n is number else n)
        elif not self.fill_by_number(node, number) and not self.take_operand(node, number):
            what = self.origin([number])
            if packet in (_aten.slice, _aten.narrow) and number in self.items:
                what = ("a number that .item() takes out of a tensor, where a step has the same shapes "
                        "for all batches: compute with all, and weigh by a mask, as torch.arange(n) "
                        "< length")
            self.fail(node, f"{node.target} of {what}")

    def converted(self, value, dtype) -> torch.fx.Node:
        return value if value.meta["val"].dtype == dtype \
            else self.call(_aten.to.dtype, value, dtype)

    def fill_by_number(self, node, number) -> bool:
        """New tensors that hold a number, as `torch.full((n,), v)`."""
        name, known = node.target.overloadpacket.__name__, node.meta["val"]
        if name not in ("full", "full_like", "new_full", "scalar_tensor", "fill") \
                or not all(isinstance(s, int) for s in known.shape):
            return False
        value = self.converted(self.counts[number], known.dtype)
        self.replace(node, value if name == "scalar_tensor" else self.call(
            _aten.add.Tensor, self.call(_aten.full.default, list(known.shape), 0,
                                        dtype=known.dtype), value)
            if known.dtype != torch.bool else
            self.call(_aten.expand.default, value, list(known.shape)))
        return True

    def take_operand(self, node, number) -> bool:
        """A number as an operand of an op that has an overload for tensors."""
        arguments = node.target._schema.arguments
        given = {a.name: node.args[i] if i < len(node.args) else node.kwargs.get(a.name)
                 for i, a in enumerate(arguments)}
        if given.get("alpha") is number and node.target.overloadpacket.__name__.rstrip("_") in (
                "add", "sub"):
            other = given["other"]
            scaled = self.call(_aten.mul.Tensor, other, self.counts[number])
            if other in self.rows:
                self.rows[scaled] = self.rows[other]
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
            value = self.as_tensor(given[name])
            likes = [known, *(n.meta["val"] for n in self.tensors(node))]
            like = next((t.dtype for t in likes if t.dtype.is_floating_point), None)
            if name == "value" or like is not None and value.meta["val"].dtype == torch.float64 \
                    or like is not None and name in ("min", "max"):
                value = self.converted(value, known.dtype if name == "value" else like)
            self.set_argument(node, name, value)
        node.target = overload
        return True

    def join(self, node, given) -> bool:
        """Rows after others, of which some are chosen."""
        symbol = self.symbol_of(node.meta["val"])
        if symbol is None or self.argument(node, "dim", 0) % self.rank(given[0]) != 0:
            return False
        masks = [self.rows[n].mask if n in self.rows else self.call(
            _aten.full.default, [n.meta["val"].shape[0]], True, dtype=torch.bool)
            for n in node.args[0]]
        self.evaluate(node)
        rows = _Rows(self.call(_aten.cat.default, masks), node.meta["val"].shape[0])
        self.rows[node] = self.symbols.setdefault(symbol, rows)
        return True


def spread_masked_rows(module: torch.fx.GraphModule,
                       fail: Callable[[torch.fx.Node, str], None]) -> None:
    """Computes what is read by masks with all rows. `fail(node, message)` raises."""
    made: "dict[torch.fx.GraphModule, _Rewriter]" = {}
    # What regions return is known before they are called.
    for part in reversed([m for m in module.modules() if isinstance(m, torch.fx.GraphModule)]):
        rewriter = made[part] = _Rewriter(part.graph, part is not module, fail)
        rewriter.bodies = {name: made[body] for name, body in part.named_children()
                           if body in made}
        for node in list(part.graph.nodes):
            if not node._erased:
                with part.graph.inserting_before(node):
                    rewriter.rewrite(node)
        if rewriter.symbols or rewriter.counts:
            for node in reversed(list(part.graph.nodes)):
                if (node in rewriter.counts or node in rewriter.moved) and not node.users:
                    part.graph.erase_node(node)
            part.recompile()
