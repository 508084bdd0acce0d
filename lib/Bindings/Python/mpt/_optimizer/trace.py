# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of an optimizer as a graph, compared with its own steps."""
from __future__ import annotations

import collections
import contextlib
import warnings
from typing import Any, Optional, Sequence

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from mpt._diagnostics import Error
from mpt._export.errors import raised_at
from mpt._optimizer.options import name_of, run_step, scheduled_options
from mpt._optimizer.shadow import KEPT, Shadow, describe, is_number, rate_of
from mpt._optimizer.traceable import Counts, traceable

# Its name in the module.
FUNCTION = "optimizer"
# Largest size of a dimension of the parameters on which a trace is checked.
_CHECKED_SIZE = 3
_CHECKED_STEPS = 3
# Most ways that a step may take by its decisions, and those of several parameters of each rank.
_PATHS, PATHS_OF_MANY = 64, 8
# Of state that the first step makes of other than constants: that step is another one.
FIRST = "first"
# State, and its place: whether a step is the first one for such state, 1 or 0.
IS_FIRST = f"{FUNCTION}.is_first"
FLAG = (0, None, IS_FIRST)


def in_f32(value: torch.Tensor) -> torch.Tensor:
    """`value`, or a tensor of its shape, as optimizers see those of 16 bits: their master."""
    return value if value.dtype == torch.float32 else torch.empty(value.shape)


def optimizer_error(optimizer, why: str, kind: type = Error) -> Error:
    return kind(f"optimizer: {name_of(optimizer)}: {why}")


def outputs(graph: torch.fx.GraphModule) -> "list[torch.fx.Node]":
    """The results of a graph: next parameters, next state."""
    output = next(n for n in graph.graph.nodes if n.op == "output")
    return torch.utils._pytree.tree_leaves(output.args[0])


def _is_narrow(graph: torch.fx.GraphModule) -> bool:
    """Whether some of it is computed in 16 bits."""
    return any(getattr(n.meta.get("val"), "dtype", None) in (torch.bfloat16, torch.float16)
               for n in graph.graph.nodes)


def _join_equal(graph: torch.fx.GraphModule) -> None:
    """What ways of a step compute alike is computed once, and a choice between one and the same is
    that."""
    first: "dict[Any, torch.fx.Node]" = {}
    for node in list(graph.graph.nodes):
        if node.op == "get_attr":
            value = getattr(graph, node.target)
            key = str(value.dtype), repr(value.tolist()) \
                if isinstance(value, torch.Tensor) and value.numel() == 1 else node.target
        elif node.op != "call_function" or torch.Tag.nondeterministic_seeded in getattr(
                node.target, "tags", ()):
            continue
        else:
            key = repr((str(node.target), node.args, node.kwargs))
        same = first.setdefault(key, node)
        if node.target is torch.ops.aten.where.self and node.args[1] is node.args[2]:
            same = node.args[1]
        if same is not node:
            node.replace_all_uses_with(same)
            graph.graph.erase_node(node)
    graph.graph.eliminate_dead_code()
    graph.recompile()


def choose_few(group: "Sequence[torch.Tensor]", most: int = 2) -> "list[int]":
    """Places of at most `most` parameters of each rank, and of the last one."""
    found: "dict[int, list[int]]" = collections.defaultdict(list)
    for i, parameter in enumerate(group):
        if len(found[parameter.dim()]) < most:
            found[parameter.dim()].append(i)
    return sorted({i for places in found.values() for i in places} | {*range(len(group))[-1:]})


def _drop_state(shadow, g, i) -> None:
    """As before the first step: many an optimizer asks whether there is state at all."""
    if i is not None:
        shadow.optimizer.state[shadow.members[g][i]].clear()


class Mismatch(Error):
    """What is traced of a step is another one."""


class ByShape(Error):
    """A step that treats shapes of parameters differently."""


class ManyPaths(Error):
    """A step that decides too often."""


class Trace:
    """A step of an optimizer for some of its parameters, those of each group in a list.

    initial: the state before the first step by (group, place in the group, key): a number,
        None for what the optimizer has already, or FIRST.
    kinds: types of state after a step, of which numbers are int or float.
    has_own_counts: whether parameters have taken different numbers of steps.
    is_whole: whether steps are tried on parameters of their own size, not on a few elements."""

    def __init__(self, optimizer, parameters, names, initial, kinds, has_own_counts=False,
                 is_whole=False):
        self.optimizer, self.parameters, self.names = optimizer, parameters, names
        self.initial, self.kinds = initial, kinds
        self.has_own_counts, self.is_whole = has_own_counts, is_whole
        self.paths = _PATHS

    def small(self, shape: "Sequence[int]") -> "tuple[int, ...]":
        """The shape of a parameter that stands for one in trials."""
        return tuple(shape) if self.is_whole else tuple(min(n, _CHECKED_SIZE) for n in shape)

    def is_count(self, place) -> bool:
        """Whether the state is the number of steps: torch.optim's `step`."""
        return place[1] is not None and place[2] == "step" and not self.has_own_counts

    def take(self, chosen: "Sequence[Sequence[int]]") -> "Trace":
        """Of the chosen places in each group."""
        places = {(g, i): new for g, group in enumerate(chosen) for new, i in enumerate(group)}

        def keep(state):
            return {(g, i if i is None else places[g, i], key): value
                    for (g, i, key), value in state.items() if i is None or (g, i) in places}
        return Trace(self.optimizer,
                     [[self.parameters[g][i] for i in group] for g, group in enumerate(chosen)],
                     [[self.names[g][i] for i in group] for g, group in enumerate(chosen)],
                     keep(self.initial), keep(self.kinds), self.has_own_counts, self.is_whole)

    def error(self, why: str, kind: type = Error) -> Error:
        return optimizer_error(self.optimizer, why, kind)

    def find_initial(self) -> None:
        """Fills in `initial` and `kinds`."""
        first, second = self.try_step(), self.try_step()
        for place, value in self.scheduled().items():
            self.initial[place], self.kinds[place] = value, float
        for place, (value, kind) in first.items():
            # What the first gradient has made is no constant.
            self.initial[place] = value if second.get(place) == (value, kind) else FIRST
            self.kinds[place] = kind
        # Numbers of groups that a step changes now and then.
        sample = self.take([choose_few(group) for group in self.parameters])
        for place, (shape, dtype) in sample.find_types(
                [[torch.rand(self.small(p.shape)) for p in group] for group in sample.parameters],
                are_all_known=False).items():
            g, i, key = place
            old = self.optimizer.param_groups[g].get(key)
            if i is None and place not in self.initial and dtype and is_number(old):
                self.initial[place], self.kinds[place] = float(old), type(old)

    def scheduled(self) -> "dict[tuple[Any, ...], float]":
        """What schedulers change in groups beside their rates. Steps leave it as it is."""
        return {(g, None, key): value for g, group in enumerate(self.optimizer.param_groups)
                for key, value in scheduled_options(group).items()}

    def try_step(self) -> "dict[tuple[Any, ...], tuple[Any, type]]":
        """Steps on parameters of a few elements: what state there was before, and the types
        of that after."""
        created: "dict[int, torch.Tensor]" = {}
        kept = []

        class Creations(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                # What Python made is seen where it is read first.
                for value in args:
                    self.see(value)
                result = function(*args, **(kwargs or {}))
                for value in result if isinstance(result, (tuple, list)) else (result,):
                    self.see(value)
                return result

            def see(self, value):
                if isinstance(value, torch.Tensor):
                    place = value.untyped_storage()._cdata
                    if place not in created:
                        created[place] = value.detach().clone()
                        kept.append(value)

        def run(has_state):
            members = [[torch.nn.Parameter(torch.rand(self.small(p.shape))) for p in group]
                       for group in self.parameters]
            shadow = self.shadow(members, has_state)
            for group in shadow.optimizer.param_groups:
                group.update({k: False for k in ("foreach", "fused") if k in group})
            old = [p.detach().clone() for group in members for p in group]
            for group in members:
                for parameter in group:
                    parameter.grad = torch.rand_like(parameter) + 0.1
            before, own = shadow.read(), self.describe(shadow)
            with Creations():
                run_step(shadow.optimizer)
            new = [p.detach().clone() for group in members for p in group]
            is_idle = all(map(torch.equal, old, new))
            if is_idle:  # The first step may make state alone, as ADOPT's.
                after = shadow.read()
                run_step(shadow.optimizer)
                is_idle = all(map(torch.equal, new, (p for group in members for p in group)))
                numbers = {place: value for place, value in after.items() if is_number(value)}
                shadow.write(numbers)
            return shadow, before, own, is_idle

        try:
            try:
                shadow, before, own, is_idle = run(has_state=False)
            except Exception:  # Some make their state when they are made.
                if not any(self.optimizer.state.get(p) for group in self.parameters
                           for p in group):
                    raise
                shadow, before, own, is_idle = run(has_state=True)
        except Exception as error:
            why = f"a step fails: {error}"
            if "closure" in str(error) or "'NoneType' object is not callable" in str(error):
                why += ("; a compiled step has one gradient and calls no closure: take an optimizer "
                        "without one. SAM is a loss function that takes torch.autograd.grad of "
                        "another (docs/Python.md)")
            raise self.error(why) from error
        if is_idle:
            raise self.error("a step changes no parameter; it has to update those in its "
                             "param_groups")
        for name, value in self.describe(shadow).items():
            if own.get(name) != value:
                if isinstance(getattr(self.optimizer, name, None), torch.optim.Optimizer):
                    raise self.error(
                        f"it holds another optimizer, its attribute {name!r}, whose state a compiled "
                        "step would not see: give TrainStep that one, and its ema for averages "
                        "of weights")
                raise self.error(f"a step changes its attribute {name!r}; keep what changes in "
                                 "optimizer.state or as a number in param_groups")
        members = {id(p) for group in shadow.members for p in group}
        if any(id(key) not in members and value
               for key, value in shadow.optimizer.state.items()):
            raise self.error("its state has keys that are no parameters; keep such state with a "
                             "parameter or as a number in param_groups")
        initial: "dict[tuple[Any, ...], tuple[Any, type]]" = {}
        for (g, i, key), value in shadow.read().items():
            place = (g, i, key)
            if value is None or isinstance(value, (bool, str)):
                continue
            if i is None:
                # Options, and numbers that a step changes.
                old = before.get(place)
                if is_number(value) and value != old or \
                        isinstance(value, torch.Tensor) and value is not old:
                    initial[place] = FIRST if old is None else float(old), type(value)
            elif place in before:
                initial[place] = None, type(value)
            elif isinstance(value, torch.Tensor):
                first = created.get(value.untyped_storage()._cdata, value).flatten()
                is_one = first.numel() and bool((first == first[0]).all())
                initial[place] = float(first[0]) if is_one else FIRST, type(value)
            elif is_number(value):
                initial[place] = 0.0 if key == "step" else FIRST, type(value)
            else:
                raise self.error(f"its state {key!r} is a {type(value).__name__}; expected "
                                 "a tensor or a number")
        return initial

    @staticmethod
    def describe(shadow) -> "dict[str, Any]":
        """The attributes of an optimizer that a step should not change."""
        return {name: describe(value) for name, value in shadow.optimizer.__dict__.items()
                if name not in KEPT}

    @property
    def places(self) -> "list[tuple[Any, ...]]":
        """Of the state that is passed from step to step."""
        places = [p for p in self.initial if not self.is_count(p)]
        return places + ([FLAG] if FIRST in self.initial.values() else [])

    @property
    def inputs(self) -> "list[Any]":
        """What each input of the graph belongs to: (group, place), None for all."""
        parameters = [(g, i) for g, group in enumerate(self.names) for i in range(len(group))]
        return parameters + parameters + [None] * (len(self.names) + 1) \
            + [None if p in self.scheduled() else p[:2] for p in self.places]

    def function(self, members):
        """A function of (parameters, gradients, rates, step, state), lists of tensors, that
        returns the next parameters and state."""
        places = self.places

        def run(parameters, gradients, rates, step, state, counts):
            is_first = counts.is_first
            values, grads = iter(parameters), iter(gradients)
            copies = [[next(values).clone() for _ in group] for group in members]
            shadow = Shadow(self.optimizer, copies, traced=True, parameters=self.parameters)
            for group, rate in zip(shadow.optimizer.param_groups, rates):
                group["lr"] = rate
            for group in copies:
                for value in group:
                    value.grad = next(grads).clone()
            count = (step - 1).to(torch.float64)
            own = {p: count.clone() for p in self.initial if self.is_count(p)}
            for value in own.values():
                counts.add(value)
            shadow.write(own)
            shadow.write({p: v.clone() for p, v in zip(places, state)
                          if p != FLAG and not (is_first and self.initial[p] == FIRST)})
            if is_first:
                for g, i, _ in (p for p in places if self.initial.get(p) == FIRST):
                    _drop_state(shadow, g, i)
            with traceable(self.optimizer, counts):
                run_step(shadow.optimizer)
            after = shadow.read()
            results = [v for group in copies for v in group]
            for place, old in zip(places, state):
                new = 0.0 if place == FLAG else after[place]
                results.append(new.to(old.dtype) if isinstance(new, torch.Tensor)
                               else torch.full_like(old, new))
            return results

        def function(parameters, gradients, rates, step, state):
            arguments = (parameters, gradients, rates, step, state)
            paths = 0

            def follow(is_first, answers=()):
                """The results for all answers after those given, and whether the step has asked
                whether it is the first one."""
                nonlocal paths
                paths += 1
                if paths > self.paths:
                    raise self.error(
                        f"its step decides by values of tensors in more than {self.paths} ways: choose "
                        "with torch.where, or decide for each parameter by itself", ManyPaths)
                counts = Counts(is_first, answers)
                results, decides = run(*arguments, counts), counts.decides
                taken = [answer for _, answer in counts.conditions]
                for i in reversed(range(len(answers), len(taken))):
                    others, also = follow(is_first, [*taken[:i], False])
                    results = [torch.where(counts.conditions[i][0], a, b)
                               for a, b in zip(results, others)]
                    decides |= also
                return results, decides

            results, decides = follow(False)
            if FLAG in places or decides:
                is_first = state[places.index(FLAG)] > 0.5 if FLAG in places else step <= 1
                results = [torch.where(is_first, a, b)
                           for a, b in zip(follow(True)[0], results)]
            return results[:len(parameters)], results[len(parameters):]
        return function

    def count(self) -> int:
        """Of the steps that the optimizer has taken, if its state is what is known."""
        counts = [self.given(p) for p in self.initial
                  if self.is_count(p) and self.initial[p] is None]
        return int(counts[0]) if counts else 0

    def given(self, place):
        """State that the optimizer has already."""
        g, i, key = place
        value = self.optimizer.state[self.parameters[g][i]][key]
        return value.detach() if isinstance(value, torch.Tensor) else torch.tensor(float(value))

    def shadow(self, members, has_state=False) -> Shadow:
        """A copy for parameters of a few elements, perhaps with as much of the state."""
        shadow = Shadow(self.optimizer, members, traced=False, parameters=self.parameters)
        for g, group in enumerate(self.parameters if has_state else ()):
            for i, parameter in enumerate(group):
                for key, value in self.optimizer.state.get(parameter, {}).items():
                    if isinstance(value, torch.Tensor):
                        value = value.detach()[tuple(
                            slice(n) for n in self.small(value.shape))].clone()
                    shadow.write({(g, i, key): value})
        return shadow

    @property
    def has_state(self) -> bool:
        """Whether what is known of the state is what the optimizer has."""
        return None in self.initial.values()

    def make_state(self, members, types=None, is_real=False) -> "list[torch.Tensor]":
        """What the state of such parameters is before the first step; with `is_real`, that
        which the optimizer has. Constants take no memory."""
        state, types = [], types or self.find_types(members)
        is_first = not is_real or not any(
            self.optimizer.state.get(p) for group in self.parameters for p in group)
        for place in self.places:
            if place == FLAG:
                state.append(torch.tensor(1.0 if is_first else 0.0))
                continue
            if place not in types:
                raise self.error(f"whether it has the state {place[2]!r} is not the same for "
                                 "each parameter of some shape or in each step", ByShape)
            initial, (shape, dtype) = self.initial[place], types[place]
            if initial is None or is_real and self.is_given(place):
                value = self.given(place).to(dtype)
                state.append(value[tuple(slice(size) for size in shape)])
            else:
                state.append(torch.tensor(0.0 if initial == FIRST else initial,
                                          dtype=dtype).expand(shape))
        return state

    def is_given(self, place) -> bool:
        g, i, key = place
        return i is not None and key in self.optimizer.state.get(self.parameters[g][i], {})

    def find_types(self, members, are_all_known=True) \
            -> "dict[tuple[Any, ...], tuple[tuple[int, ...], Optional[torch.dtype]]]":
        """Shapes and types of the state of such parameters. Numbers are f32, options that are
        no tensors have no type."""
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            fakes = [[mode.from_tensor(torch.empty(p.shape, device="meta")).new_empty(
                p.shape, device="cpu") for p in group] for group in members]
            shadow = Shadow(self.optimizer, fakes, traced=True, parameters=self.parameters)
            for group in fakes:
                for parameter in group:
                    parameter.grad = torch.empty_like(parameter)
            shadow.write({p: torch.zeros(()) for p, initial in self.initial.items()
                          if p[1] is None and initial != FIRST})
            own = {p: torch.zeros((), dtype=torch.float64) for p in self.initial
                   if self.is_count(p)} if self.has_state else {}
            counts = Counts(is_first=not own)
            for value in own.values():
                counts.add(value)
            shadow.write(own)
            for place, initial in self.initial.items():
                if initial is None and not self.is_count(place):
                    value = self.given(place)
                    shape, dtype = value.shape, value.dtype
                    if fakes[place[0]][place[1]].shape != self.parameters[place[0]][place[1]].shape:
                        shape = self.small(shape)
                    shadow.write({place: torch.zeros(shape, dtype=dtype)})
            with self.named_errors(), traceable(self.optimizer, counts):
                run_step(shadow.optimizer)
            found = {}
            for place, value in shadow.read().items():
                g, i, key = place
                is_state = value is not None and not isinstance(value, (bool, str))
                if are_all_known and i is not None and is_state and place not in self.initial:
                    raise self.error(f"whether it has the state {key!r} is not the same for each "
                                     "shape of a parameter", ByShape)
                if isinstance(value, torch.Tensor) and self.kinds.get(place) not in (int, float):
                    found[place] = tuple(value.shape), value.dtype
                elif place in self.initial:
                    found[place] = (), torch.float32
            return found

    @contextlib.contextmanager
    def named_errors(self):
        """What goes wrong while a step is traced has many types."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except Error:
            raise
        except Exception as error:
            why = (str(error) or type(error).__name__).splitlines()[0]
            if "_local_scalar_dense" in why:
                why = "it takes the value of a tensor, as .item() and float() do"
            place = raised_at(error)
            place += "\n" if place else "; "
            raise self.error(
                f"its step cannot be traced: {why}{place}a step may not decide by values of tensors: "
                "keep numbers that change in tensors, and choose with torch.where") from error

    def make_graph(self, members, state) -> torch.fx.GraphModule:
        function = self.function(members)
        rates = [torch.tensor(rate_of(g)) for g in self.optimizer.param_groups]
        parameters = [in_f32(p.detach()) for group in members for p in group]
        arguments = (parameters, [torch.empty_like(p) for p in parameters], rates,
                     torch.tensor(1), state)
        with self.named_errors():
            graph = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*arguments)
            graph = make_fx(torch.func.functionalize(graph, remove="mutations"),
                            tracing_mode="fake", _allow_non_fake_inputs=True)(*arguments)
        _join_equal(graph)
        return graph

    def check(self) -> torch.fx.GraphModule:
        """Compares steps of the traced function with those of the optimizer, on parameters
        of a few elements."""
        small = [[torch.rand(self.small(p.shape)) for p in group] for group in self.parameters]
        state = self.make_state(small)
        graph = self.make_graph(small, state)
        members = [[torch.nn.Parameter(p.clone()) for p in group] for group in small]
        shadow = self.shadow(members, self.has_state)
        first = self.count()
        # Of the change: rounding to 16 bits, and sums in another order, but no other number.
        tolerance = 1e-2 if _is_narrow(graph) else 1e-3
        parameters = [p.clone() for group in small for p in group]
        for number in range(1, _CHECKED_STEPS + 1):
            gradients = [torch.randn_like(p) for p in parameters]
            for place, value in self.scheduled().items():
                value *= 1 - number / 16
                shadow.write({place: value})
                state[self.places.index(place)] = torch.tensor(value)
            expected = [p for group in members for p in group]
            for parameter, value in zip(expected, gradients):
                parameter.grad = value.clone()
            run_step(shadow.optimizer)
            before = parameters
            parameters, state = graph(
                parameters, gradients,
                [torch.tensor(rate_of(g)) for g in self.optimizer.param_groups],
                torch.tensor(first + number), state)
            for name, a, b, old in zip([n for group in self.names for n in group], parameters,
                                       expected, before):
                change = float((b - old).detach().abs().max()) if b.numel() else 0.0
                if not torch.allclose(a, b, rtol=2e-6, atol=tolerance * change, equal_nan=True):
                    raise self.error(
                        f"what is traced of its step is not its step: after {number} of them "
                        f"{name} differs by {float((a - b).abs().max()):.3g}; a step may depend "
                        "on tensors, and on numbers in the optimizer's state and groups, but "
                        "not on other values that change", Mismatch)
        return graph

    def is_separate(self, graph: torch.fx.GraphModule) -> bool:
        """Whether no parameter is updated by what belongs to another."""
        scheduled = self.scheduled()
        if any(p[1] is None and p not in scheduled for p in self.places):
            return False
        inputs = iter(self.inputs)
        owners: "dict[torch.fx.Node, set]" = {}
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                owner = next(inputs)
                owners[node] = set() if owner is None else {owner}
            else:
                owners[node] = set().union(*(owners[n] for n in node.all_input_nodes))
        results = [owners[v] for v in outputs(graph)]
        own = [(g, i) for g, group in enumerate(self.names) for i in range(len(group))]
        own += [p[:2] for p in self.places]
        return all(found <= {owner} for found, owner in zip(results, own)) \
            and all(self.is_same_alone(graph, g, i) for g, group in enumerate(self.names)
                    for i in sorted({0, len(group) - 1}) if group)

    def is_same_alone(self, graph: torch.fx.GraphModule, g: int, i: int) -> bool:
        """Whether a parameter is updated as if it were the only one. It is not where a step
        counts parameters, or their places."""
        small = [[torch.rand(self.small(p.shape)) for p in group] for group in self.parameters]
        chosen = [[i] if g == other else [] for other in range(len(self.parameters))]
        part = self.take(chosen)
        alone = [[small[other][i] for i in group] for other, group in enumerate(chosen)]
        first = part.make_state(alone)
        rates = [torch.tensor(rate_of(group)) for group in self.optimizer.param_groups]
        step = torch.tensor(self.count() + 1)
        flat = [p for group in small for p in group]
        place = next(i for i, p in enumerate(flat) if p is alone[g][0])
        gradients = [torch.randn_like(p) for p in flat]
        expected = graph(flat, gradients, rates, step, self.make_state(small))[0][place]
        found = part.make_graph(alone, first)([flat[place]], [gradients[place]], rates, step,
                                              first)[0][0]
        return torch.allclose(found, expected, rtol=1e-6, atol=1e-8, equal_nan=True)
