# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph, what is known of chosen rows in it, and how ops of all rows are put in."""
from __future__ import annotations

import contextlib
import math
import operator
from typing import Any, Callable, NamedTuple, Optional, Sequence

import torch
import torch.fx
from torch.utils._sympy.symbol import SymT, symbol_is_type

from mpt._export.custom_ops import STOP_GRADIENT

_aten = torch.ops.aten


def packets(names: str) -> "set[Any]":
    return {getattr(_aten, name) for name in names.split() if hasattr(_aten, name)}


# Elementwise, whatever their tags say.
EVERYWHERE = packets("""clone detach alias contiguous to _to_copy type_as dropout zeros_like
    ones_like full_like empty_like fill fill_ zero zero_ copy copy_ masked_fill masked_fill_ where
    broadcast_tensors lift_fresh_copy lift_fresh nan_to_num __and__ __or__ __xor__""")
REMEDY = ("rows that a mask has chosen, whose number depends on values: compute with all rows, "
           "and choose by torch.where, or weigh their sum by the mask")


class Rows(NamedTuple):
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


def unbacked(size) -> "set[Any]":
    """The symbols in a number that depends on values."""
    return {s for s in size.node.expr.free_symbols
            if symbol_is_type(s, (SymT.UNBACKED_INT, SymT.UNBACKED_FLOAT))}


def _find_changed(graph: torch.fx.Graph) -> "set[torch.fx.Node]":
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


class RowGraph:
    """One graph, which may be that of a region without gradients or of autocast."""

    def __init__(self, graph: torch.fx.Graph, is_region: bool,
                 fail: Callable[[torch.fx.Node, str], None]):
        self.fx_graph, self.is_region, self.fail = graph, is_region, fail
        # Values that have all rows in dimension 0, and numbers of chosen rows as tensors.
        self.rows: "dict[torch.fx.Node, Rows]" = {}
        self.counts: "dict[torch.fx.Node, torch.fx.Node]" = {}
        # Values whose chosen rows are in another dimension: the same with them in dimension 0, and
        # which it is.
        self.moved: "dict[torch.fx.Node, tuple[torch.fx.Node, int]]" = {}
        self.items: "set[torch.fx.Node]" = set()  # of these, those that .item() returns
        self.symbols: "dict[str, Rows]" = {}  # by the number of chosen rows
        self.chosen: "dict[Any, Rows]" = {}  # by their masks
        self.sources: "dict[torch.fx.Node, Rows]" = {}  # the masks
        self.described: "dict[torch.fx.Node, Any]" = {}
        # Regions in this graph by name, where they are called, and of a region itself: results
        # that have all rows, with the place of the mask among its inputs, or its results.
        self.bodies: "dict[str, RowGraph]" = {}
        self.regions: "dict[torch.fx.Node, tuple[RowGraph, Any]]" = {}
        self.returned: "dict[int, tuple[bool, int]]" = {}
        self.numbers: "set[int]" = set()  # results of a region that numbers of Python were
        self.changed = _find_changed(graph)
        self.mode = next((n.meta["val"].fake_mode for n in graph.nodes
                          if hasattr(n.meta.get("val"), "fake_mode")), contextlib.nullcontext())

    # Making nodes.

    def call(self, target, *args, **kwargs) -> torch.fx.Node:
        node = self.fx_graph.call_function(target, args, kwargs)
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

    def column(self, rows: Rows, rank: int) -> torch.fx.Node:
        """The mask as [size, 1, ..]."""
        return self.call(_aten.reshape.default, rows.mask, [rows.size] + [1] * (rank - 1))

    def select(self, rows: Rows, value: torch.fx.Node, other) -> torch.fx.Node:
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

    def fill(self, rows: Rows, value: torch.fx.Node) -> torch.fx.Node:
        """Rows that are not chosen become a copy of the first that is. Integers, which may be places
        in a table, are 0 if none is."""
        place = self.call(_aten.argmax.default,
                          self.call(_aten.to.dtype, rows.mask, torch.float32), 0, True)
        first = self.call(_aten.index_select.default, value, 0, place)
        if value.meta["val"].is_floating_point():
            first = self.call(STOP_GRADIENT, first)
        else:
            found = Rows(self.call(_aten.index_select.default, rows.mask, 0, place), 1)
            first = self.select(found, first, 0)
        return self.select(rows, value, first)

    # What is chosen.

    def symbol_of(self, value) -> "Optional[str]":
        """The number of chosen rows, if it is the size of dimension 0."""
        if not isinstance(value, torch.Tensor) or not value.dim():
            return None
        sizes = [s for s in value.shape if not isinstance(s, int)]
        if len(sizes) != 1 or isinstance(value.shape[0], int) or \
                not sizes[0].node.expr.free_symbols <= unbacked(sizes[0]):
            return None
        return str(sizes[0].node.expr)

    def choose(self, mask: torch.fx.Node, symbol: str) -> Rows:
        key = self.describe(mask)
        if key not in self.chosen:
            size = mask.meta["val"].numel()
            if not isinstance(size, int):
                self.fail(self.node, f"{self.node.target} by a mask of open size: of {REMEDY}")
            self.chosen[key] = self.sources[mask] = Rows(
                self.call(_aten.reshape.default, mask, [size]), size)
        self.note(symbol, self.chosen[key])
        return self.chosen[key]

    def join(self, values: "Sequence[torch.fx.Node]", symbol: str) -> Rows:
        """The rows of values one after another, all of those in which none are chosen."""
        key = "cat", *(self.rows[v].mask if v in self.rows else v.meta["val"].shape[0]
                       for v in values)
        if key not in self.chosen:
            masks = [self.rows[v].mask if v in self.rows else self.call(
                _aten.full.default, [v.meta["val"].shape[0]], True, dtype=torch.bool)
                for v in values]
            self.chosen[key] = Rows(self.call(_aten.cat.default, masks),
                                    sum(v.meta["val"].shape[0] for v in values))
        self.note(symbol, self.chosen[key])
        return self.chosen[key]

    def note(self, symbol: str, rows: Rows) -> None:
        """That as many rows are chosen as a symbol of the graph says."""
        if self.symbols.setdefault(symbol, rows) is not rows:
            self.fail(self.node, f"two masks that choose as many rows: of {REMEDY}")

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

    def replace(self, node: torch.fx.Node, value: torch.fx.Node,
                rows: "Optional[Rows]" = None) -> None:
        node.replace_all_uses_with(value)
        self.fx_graph.erase_node(node)
        if rows is not None:
            self.rows[value] = rows

    # Looking at nodes.

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

    def converted(self, value, dtype) -> torch.fx.Node:
        return value if value.meta["val"].dtype == dtype \
            else self.call(_aten.to.dtype, value, dtype)

    def broadcast(self, *values) -> "list[torch.fx.Node]":
        """Values of one shape."""
        shape = torch.broadcast_shapes(*(v.meta["val"].shape for v in values))
        return [v if v.meta["val"].shape == shape else self.call(
            _aten.expand.default, v, list(shape)) for v in values]
