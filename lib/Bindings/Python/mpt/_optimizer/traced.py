# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers of PyTorch for which MPT has no op, as functions of a step.

One `optimizer.step()` is traced as a function of parameters, gradients, learning rates, state
and the number of the step, which `--mpt-train-step=optimizer=@optimizer` makes part of the step.
Numbers that the optimizer keeps in Python and changes become scalars of the state. Before
that, three steps of the traced function are compared with three of the optimizer, on
parameters of a few elements: what a trace cannot follow is an error, not a wrong step.
"""
from __future__ import annotations

import contextlib
from typing import Any, Sequence

import torch

from mpt._export.errors import ExportError
from mpt._export.graph_printer import GraphPrinter, quote
from mpt._optimizer.options import has_own_counts, name_of, parts_of
from mpt._optimizer.shadow import KEPT, describe, find_mentions
from mpt._optimizer.trace import (FIRST, FLAG, FUNCTION, IS_FIRST, PATHS_OF_MANY, ByShape,
                                  ManyPaths, Mismatch, Trace, choose_few, in_f32, optimizer_error,
                                  outputs)
from mpt._patches import export_lock


class TracedOptimizer:
    """A step of an optimizer as text.

    `text` is the function @optimizer. `state` maps each state's name to its value before the
    first step, `first` to that of an optimizer that has taken no step. `keys` has for each
    parameter's name, by keys of `optimizer.state`, names of the step's state and the types of
    the values there, tensors or numbers; `group_keys` has the same for each of `param_groups`,
    of what a step changes there.

    names: the `mpt.name`s of the parameters that train, for each group.
    rates: the name of the learning rate of each group, empty for one without such parameters.
    """

    FUNCTION = FUNCTION
    IS_FIRST = IS_FIRST
    keys: "dict[str, dict[str, tuple[str, type]]]"
    group_keys: "list[dict[str, tuple[str, type]]]"
    # For each group: names of state by what schedulers change beside the rate.
    scheduled: "list[dict[str, str]]"

    def __init__(self, optimizer: torch.optim.Optimizer,
                 parameters: "Sequence[Sequence[torch.Tensor]]",
                 names: "Sequence[Sequence[str]]", rates: "Sequence[str]"):
        self._optimizer, self._rates = optimizer, rates
        for group, members in zip(names, parameters):
            for name, parameter in zip(group, members):
                if parameter.dtype not in (torch.float32, torch.float16, torch.bfloat16):
                    raise optimizer_error(
                        optimizer, "expected parameters of float32, float16 or bfloat16, found "
                        f"{name} of {str(parameter.dtype)[6:]}; call model.float(), TrainStep's "
                        "precision rounds them where they are read")
        # The random numbers of training are those that other optimizers leave.
        with export_lock, torch.random.fork_rng(devices=[]), _without_gradients(parameters), \
                _uncompiled():
            torch.manual_seed(0)
            try:
                self._make(parameters, names)
            except ByShape:  # It may be that of a few elements.
                self._make(parameters, names, is_whole=True)

    def _make(self, parameters, names, is_whole=False) -> None:
        self._types: "dict[Any, dict]" = {}
        is_separate = self._try(parameters, names, is_whole)
        self.keys = {n: {} for group in names for n in group}
        self.group_keys = [{} for _ in names]
        self.scheduled: "list[dict[str, str]]" = [{} for _ in names]
        for g, m, key in (p for p in self._all.initial if self._all.is_count(p)):
            self.keys[names[g][m]][key] = ("step", self._all.kinds[g, m, key])
        self.state: "dict[str, torch.Tensor]" = {}
        self.first: "dict[str, torch.Tensor]" = {}
        self.text = self._print(self._trace_each() if is_separate else
                                [self._trace(self._all)])

    def _try(self, parameters, names, is_whole) -> bool:
        """Tries steps, and says whether parameters are updated one by one."""
        self._all = Trace(self._optimizer, parameters, names, {}, {},
                          has_own_counts(self._optimizer, parameters), is_whole)
        self._all.find_initial()
        # These say what all do.
        most = 2

        def check():
            nonlocal most
            try:
                sample = self._all.take([choose_few(group, most) for group in parameters])
                sample.paths = PATHS_OF_MANY if most > 1 else sample.paths
                return sample, sample.check()
            except ManyPaths:
                if most == 1:
                    raise
                most = 1
                return check()

        try:
            sample, graph = check()
        except Mismatch:
            # The first step may be the one that finds no state at all.
            if self._all.has_state:
                raise
            constants = [place for place, value in self._all.initial.items()
                         if place[1] is not None and not self._all.is_count(place)]
            if not constants:
                raise
            self._all.initial.update(dict.fromkeys(constants, FIRST))
            sample, graph = check()
        return sample.is_separate(graph)

    def _trace_each(self):
        """Traces one parameter of each group, shape and attributes for all."""
        traced: "dict[Any, torch.fx.GraphModule]" = {}
        for g, group in enumerate(self._all.parameters):
            for i, parameter in enumerate(group):
                part = self._all.take([[i] if g == other else []
                                       for other in range(len(self._all.parameters))])
                mentions = [place for item in self._holders(g)
                            for place in find_mentions(item, parameter)]
                key = (g, parameter.shape, repr(describe(parameter.__dict__)), *mentions, tuple(
                    (p[2], initial is None, initial == FIRST)
                    for p, initial in part.initial.items()))
                part, graph, names = self._trace(part, traced.get(key))
                traced[key] = graph
                yield part, graph, names

    def _holders(self, g: int) -> "list[dict[str, Any]]":
        """What an optimizer keeps beside state, where parameters may be told apart."""
        own = [vars(part) for part in parts_of(self._optimizer)]
        group = self._optimizer.param_groups[g]
        return [{k: v for k, v in holder.items() if k not in (*KEPT, "params")}
                for holder in (*own, group)]

    def _trace(self, part: Trace, graph=None):
        """A trace of `part`, its graph, and the names of its state."""
        key = tuple(tuple(p.shape for p in group) for group in part.parameters), \
            tuple(part.initial.items())
        if key not in self._types:
            self._types[key] = part.find_types(part.parameters)
        state = part.make_state(part.parameters, self._types[key], is_real=True)
        if not isinstance(graph, torch.fx.GraphModule):
            graph = part.make_graph(part.parameters, state)
        names = []
        for (g, m, key), value in zip(part.places, state):
            if (g, m, key) == FLAG:
                names.append(IS_FIRST)
                self.state[IS_FIRST] = value
                continue
            keys = self.group_keys[g] if m is None else self.keys[part.names[g][m]]
            name = f"{FUNCTION}.group{g}.{key}" if m is None else f"{part.names[g][m]}.{key}"
            if (g, m, key) in part.scheduled():
                name = f"{FUNCTION}.group{g}.{key.partition('[')[0]}"
                self.scheduled[g][key] = name
            else:
                keys[key] = (name, part.kinds[g, m, key])
            names.append(name)
            self.state[name] = value
            known = part.initial[g, m, key]
            self.first[name] = torch.tensor(known if isinstance(known, float) else 0.0,
                                            dtype=value.dtype).expand(value.shape)
        return part, graph, names

    def _print(self, parts) -> str:
        parts = list(parts)
        printer = GraphPrinter()
        arguments, values = [], {}

        def add(name, role, like):
            if name and name not in values:
                values[name] = f"%arg{len(arguments)}", printer.type_of(like)
                arguments.append(f"    {values[name][0]}: {values[name][1]} "
                                 f"{{mpt.name = {quote(name)}, mpt.role = {quote(role)}}} "
                                 f"loc({quote(name)})")

        flat = [pair for names, group in zip(self._all.names, self._all.parameters)
                for pair in zip(names, group)]
        for name, parameter in flat:
            add(name, "parameter", in_f32(parameter))
        for name, parameter in flat:
            add(f"grad.{name}", "input", in_f32(parameter))
        for name in self._rates:
            add(name, "schedule", torch.empty(()))
        add("step", "schedule", torch.empty((), dtype=torch.int64))
        for name, value in self.state.items():
            add(name, "optimizer_state", value)
        results, updated = [], set()
        for part, graph, state_names in parts:
            own = [n for group in part.names for n in group]
            given = iter([*own, *(f"grad.{n}" for n in own), *self._rates, "step", *state_names])
            env = {}
            for node in graph.graph.nodes:
                if node.op == "placeholder":
                    env[node] = values.get(next(given))
                elif node.op == "get_attr":
                    env[node] = printer.literal(getattr(graph, node.target),
                                                f"loc({quote(FUNCTION)})")
            try:
                printer.print_nodes(list(graph.graph.nodes), env, graph)
            except ExportError as error:
                raise optimizer_error(self._optimizer, str(error)) from error
            # What parts share, none changes.
            updates = dict(zip(own + state_names, outputs(graph)))
            results += [(env[v], f"{{mpt.updates = {quote(name)}}}")
                        for name, v in updates.items() if name not in updated]
            updated |= updates.keys()
        types = ", ".join(f"{v[1]} {a}" for v, a in results)
        return "\n".join(
            [f"// A step of {name_of(self._optimizer)}, traced by mpt.torch.",
             f"func.func private @{FUNCTION}(", ",\n".join(arguments) + ")",
             f"    -> ({types}) {{"]
            + printer.constant_lines + printer.lines
            + [f"  return {', '.join(v[0] for v, _ in results)} : "
               f"{', '.join(v[1] for v, _ in results)}", "}", ""])


def _uncompiled():
    """While it lasts, what torch.compile has made of a function is that function."""
    stance = getattr(torch.compiler, "set_stance", None)
    return stance("force_eager") if stance else contextlib.nullcontext()


@contextlib.contextmanager
def _without_gradients(parameters):
    """A step that reaches the model's parameters by other ways finds no gradients."""
    flat = [p for group in parameters for p in group]
    gradients = [p.grad for p in flat]
    try:
        for parameter in flat:
            parameter.grad = None
        yield
    finally:
        for parameter, gradient in zip(flat, gradients):
            parameter.grad = gradient
