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

import collections
import contextlib
import copy
import inspect
import math
import types
import warnings
from typing import Any, Callable, Optional, Sequence

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, make_fx
from torch.overrides import TorchFunctionMode

from mpt._diagnostics import Error
from mpt._optimizers import (copy_optimizer, has_own_counts, own_step, run_step,
                             scheduled_options, set_option)
from mpt._patches import export_lock, in_this_thread, patched
from mpt.torch import ExportError, _Printer, _quote

# Its name in the module.
FUNCTION = "optimizer"
# Largest size of a dimension of the parameters on which a trace is checked.
_CHECKED_SIZE = 3
_CHECKED_STEPS = 3
# Of state that the first step makes of other than constants: that step is another one.
_FIRST = "first"
# State, and its place: whether a step is the first one for such state, 1 or 0.
IS_FIRST = f"{FUNCTION}.is_first"
_FLAG = (0, None, IS_FIRST)
# Attributes of optimizers that are not copied with their contents.
_KEPT = {"param_groups", "state", "defaults", "parts", "step"} | {
    name for name in vars(torch.optim.SGD([torch.zeros(1)], 0.1)) if name.startswith("_")}


class _Tensors(TorchFunctionMode):
    """Scalars of ops may be tensors, whose values a trace does not know."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if getattr(function, "__name__", "").startswith("_foreach_"):
            return self.for_each(function.__name__[len("_foreach_"):], args, kwargs)
        name = getattr(function, "__name__", "").rstrip("_")
        if name == "lerp" and len(args) == 3 and isinstance(args[2], torch.Tensor):
            args = (*args[:2], args[2].to(args[0].dtype))
        scale = kwargs.get("alpha", kwargs.get("value"))
        if isinstance(scale, torch.Tensor):
            kwargs.pop("alpha", None), kwargs.pop("value", None)
            in_place = getattr(function, "__name__", "").endswith("_")
            if name in ("add", "sub") and len(args) == 2:
                amount = args[1] * scale
                amount = -amount if name == "sub" else amount
            elif name in ("addcmul", "addcdiv") and len(args) == 3:
                amount = (args[1] * args[2] if name == "addcmul" else args[1] / args[2]) * scale
            else:
                kwargs["alpha" if "alpha" in kwargs else "value"] = scale
                return function(*args, **kwargs)
            return args[0].add_(amount) if in_place else args[0].add(amount)
        return function(*args, **kwargs)

    @staticmethod
    def for_each(name, args, kwargs):
        """The ops that a call on lists stands for."""
        lists = [a if isinstance(a, (list, tuple)) else [a] * len(args[0]) for a in args]
        results = [getattr(torch.Tensor, name)(*each, **kwargs) for each in zip(*lists)]
        return None if name.endswith("_") else tuple(results)


def _choose(python: Callable, of_tensors: Callable) -> Callable:
    """min or max, of tensors, too."""
    def choose(*values, **options):
        if len(values) < 2 or options or not any(isinstance(v, torch.Tensor) for v in values):
            return python(*values, **options)
        result = values[0]
        for value in values[1:]:
            like = result if isinstance(result, torch.Tensor) else value
            if not isinstance(like, torch.Tensor):
                result = python(result, value)
                continue
            a, b = (v if isinstance(v, torch.Tensor) else torch.full_like(like, v)
                    for v in (result, value))
            result = of_tensors(a, b)
        return result
    return choose


class _Math(types.ModuleType):
    """The module math, for tensors, too."""

    def __getattr__(self, name):
        python = getattr(math, name)
        if not callable(python):
            return python

        def call(*values):
            if not any(isinstance(v, torch.Tensor) for v in values):
                return python(*values)
            return getattr(torch, name)(*values)
        return call


def _globals_of(optimizer) -> "list[dict[str, Any]]":
    """The names that the code of an optimizer sees, and the functions of its package that it
    calls."""
    classes = [c for part in _parts(optimizer) for c in type(part).__mro__ if c is not object]
    own = [f for f in map(own_step, _parts(optimizer)) if f]
    packages = tuple({c.__module__.rpartition(".")[0] or c.__module__ for c in [*classes, *own]})
    found: "dict[int, dict[str, Any]]" = {}
    functions = own + [f for c in classes for f in vars(c).values()]
    while functions:
        function = functions.pop()
        function = inspect.unwrap(function) if inspect.isroutine(function) else function
        names = getattr(function, "__globals__", None)
        if names is None or id(names) in found or \
                not str(names.get("__name__")).startswith(packages):
            continue
        found[id(names)] = names
        functions += [value for value in names.values() if inspect.isfunction(value)]
    return list(found.values())


@contextlib.contextmanager
def _traceable(optimizer):
    """While an optimizer is traced, what would ask a tensor for its value does not, in this
    thread."""
    item = torch.Tensor.item
    shims = {"min": (_choose(min, torch.minimum), min), "max": (_choose(max, torch.maximum), max)}
    absent, changed = object(), []
    with torch.no_grad(), patched([
            (torch.compiler, "is_compiling", lambda: True),
            (torch.Tensor, "item",
             lambda self: self if isinstance(self, FakeTensor) else item(self)),
            # Wrapped steps, such as super().step(), have one.
            (torch.autograd.profiler, "record_function",
             lambda *_: contextlib.nullcontext())]):
        try:
            for names in _globals_of(optimizer):
                devices = names.get("_get_capturable_supported_devices")
                found = dict(shims) if devices is None else {
                    **shims,
                    "_get_capturable_supported_devices": (lambda *_, **__: ["cpu"], devices)}
                values = {name: in_this_thread(*pair) for name, pair in found.items()}
                if names.get("math") is math:
                    values["math"] = _Math("math")
                for name, value in values.items():
                    changed.append((names, name, names.get(name, absent)))
                    names[name] = value
            with _Tensors():
                yield
        finally:
            for names, name, value in changed:
                if value is absent:
                    names.pop(name, None)
                else:
                    names[name] = value


def _parts(optimizer) -> "list[torch.optim.Optimizer]":
    """The optimizers of a list of some, or the one that there is."""
    return getattr(optimizer, "parts", [optimizer])


def _name(optimizer) -> str:
    return ", ".join(f"{type(part).__module__}.{type(part).__qualname__}"
                     for part in _parts(optimizer))


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _rate_of(group) -> float:
    """A learning rate to trace with. Schedules may begin with zero, which would hide what a
    step does."""
    return float(group["lr"]) or 1e-3


def _copy_option(value):
    """A group's option: tensors of one number as numbers."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.dim() == 0 else value
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_copy_option(v) for v in value)
    return copy.deepcopy(value)


def _rename_ids(value, ids: "dict[int, int]"):
    """Containers of numbers, as `{id(p) for p in parameters}`, with other ids."""
    if isinstance(value, int):
        return ids.get(value, value)
    if type(value) is dict:
        return {_rename_ids(k, ids): _rename_ids(v, ids) for k, v in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(_rename_ids(v, ids) for v in value)
    return value


def _find_mentions(value, parameter, path: str = "") -> "list[str]":
    """Where containers hold a parameter or its id, and what a dictionary has for it."""
    if value is parameter or type(value) is int and value == id(parameter):
        return [path]
    if isinstance(value, dict):
        found = []
        for key, item in value.items():
            if key is parameter or type(key) is int and key == id(parameter):
                found.append(f"{path}: {_describe(item)}")
            else:
                name = key if isinstance(key, str) else "key"
                found += _find_mentions(item, parameter, f"{path}.{name}")
        return found
    if isinstance(value, (list, tuple, set, frozenset)):
        return [place for item in value for place in _find_mentions(item, parameter, path + "[]")]
    return []


def _describe(value, depth: int = 4):
    """What `value` holds, to be compared: numbers, texts and tensors in containers and
    objects."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.detach().cpu().double().sum().item() \
            if value.numel() and not value.is_complex() else 0.0
    if depth == 0:
        return type(value).__name__
    if isinstance(value, dict):
        return {id(k) if isinstance(k, torch.Tensor) else str(k): _describe(v, depth - 1)
                for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        return [_describe(v, depth - 1) for v in value]
    if isinstance(getattr(value, "__dict__", None), dict) and not callable(value):
        return {k: _describe(v, depth - 1) for k, v in value.__dict__.items()}
    return type(value).__name__


class _Shadow:
    """A copy of an optimizer, for other parameters, whose state can be read and written.

    members: these parameters, for each group.
    traced: whether the copy is traced, so that it takes the paths of tensors.
    parameters: those of the optimizer, whose attributes `members` get.
    """

    def __init__(self, optimizer, members: "Sequence[Sequence[torch.Tensor]]", *, traced: bool,
                 parameters: "Sequence[Sequence[torch.Tensor]]" = ()):
        self.members = members
        copied = copy_optimizer(optimizer)
        # What it keeps of its parameters elsewhere are the copies, too.
        copies = {id(p): copied for group, own in zip(parameters, members)
                  for p, copied in zip(group, own)}
        ids = {number: id(other) for number, other in copies.items()}
        for group, own in zip(parameters, members):
            for parameter, other in zip(group, own):
                other.__dict__.update(parameter.__dict__)
        # Tensors that it keeps are constants of a trace.
        with unset_fake_temporarily(), disable_proxy_modes_tracing():
            for name, value in copied.__dict__.items():
                if name not in _KEPT:
                    copied.__dict__[name] = _rename_ids(copy.deepcopy(value, copies), ids)
            groups = [{**{k: _rename_ids(_copy_option(v), ids) for k, v in group.items()
                          if k not in ("params", "lr")}, "lr": _rate_of(group)}
                      for group in optimizer.param_groups]
        self.scheduled = optimizer.param_groups
        copied.param_groups = []
        copied.state = collections.defaultdict(dict)
        for group, own in zip(groups, members):
            group["params"] = list(own)
            if traced:
                group.update({k: v for k, v in (("foreach", False), ("fused", None),
                                                ("capturable", True)) if k in group})
            copied.param_groups.append(group)
        self.optimizer = copied

    def read(self) -> "dict[tuple[Any, ...], Any]":
        """All state by (group, place in the group, key), and (group, None, key)."""
        found = {}
        for g, parameters in enumerate(self.members):
            for i, parameter in enumerate(parameters):
                for key, value in self.optimizer.state[parameter].items():
                    found[g, i, key] = value
            for key, value in self.optimizer.param_groups[g].items():
                if key not in ("params", "lr"):
                    found[g, None, key] = value
            for key in scheduled_options(self.scheduled[g]):
                found[g, None, key] = self.optimizer.param_groups[g]["betas"][0] \
                    if key not in self.optimizer.param_groups[g] \
                    else self.optimizer.param_groups[g][key]
        return found

    def write(self, state: "dict[tuple[Any, ...], Any]") -> None:
        for (g, i, key), value in state.items():
            if i is None:
                set_option(self.optimizer.param_groups[g], key, value)
            else:
                self.optimizer.state[self.members[g][i]][key] = value


def _in_f32(value: torch.Tensor) -> torch.Tensor:
    """`value`, or a tensor of its shape, as optimizers see those of 16 bits: their master."""
    return value if value.dtype == torch.float32 else torch.empty(value.shape)


def _small(shape: "Sequence[int]") -> "tuple[int, ...]":
    return tuple(min(size, _CHECKED_SIZE) for size in shape)


class _Trace:
    """A step of an optimizer for some of its parameters, those of each group in a list.

    initial: the state before the first step by (group, place in the group, key): a number,
        None for what the optimizer has already, or _FIRST.
    kinds: types of state after a step, of which numbers are int or float.
    has_own_counts: whether parameters have taken different numbers of steps."""

    def __init__(self, optimizer, parameters, names, initial, kinds, has_own_counts=False):
        self.optimizer, self.parameters, self.names = optimizer, parameters, names
        self.initial, self.kinds = initial, kinds
        self.has_own_counts = has_own_counts

    def is_count(self, place) -> bool:
        """Whether the state is the number of steps: torch.optim's `step`."""
        return place[1] is not None and place[2] == "step" and not self.has_own_counts

    def take(self, chosen: "Sequence[Sequence[int]]") -> "_Trace":
        """Of the chosen places in each group."""
        places = {(g, i): new for g, group in enumerate(chosen) for new, i in enumerate(group)}

        def keep(state):
            return {(g, i if i is None else places[g, i], key): value
                    for (g, i, key), value in state.items() if i is None or (g, i) in places}
        return _Trace(self.optimizer,
                      [[self.parameters[g][i] for i in group] for g, group in enumerate(chosen)],
                      [[self.names[g][i] for i in group] for g, group in enumerate(chosen)],
                      keep(self.initial), keep(self.kinds), self.has_own_counts)

    def error(self, why: str) -> Error:
        return _error(self.optimizer, why)

    def find_initial(self) -> None:
        """Fills in `initial` and `kinds`."""
        first, second = self.try_step(), self.try_step()
        for place, value in self.scheduled().items():
            self.initial[place], self.kinds[place] = value, float
        for place, (value, kind) in first.items():
            # What the first gradient has made is no constant.
            self.initial[place] = value if second.get(place) == (value, kind) else _FIRST
            self.kinds[place] = kind
        # Numbers of groups that a step changes now and then.
        sample = self.take([_choose_two(group) for group in self.parameters])
        for place, (shape, dtype) in sample.find_types(
                [[torch.rand(_small(p.shape)) for p in group] for group in sample.parameters],
                are_all_known=False).items():
            g, i, key = place
            old = self.optimizer.param_groups[g].get(key)
            if i is None and place not in self.initial and dtype and _is_number(old):
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
            members = [[torch.nn.Parameter(torch.rand(_small(p.shape))) for p in group]
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
            new = [p.detach() for group in members for p in group]
            return shadow, before, own, all(map(torch.equal, old, new))

        try:
            try:
                shadow, before, own, is_idle = run(has_state=False)
            except Exception:  # Some make their state when they are made.
                if not any(self.optimizer.state.get(p) for group in self.parameters
                           for p in group):
                    raise
                shadow, before, own, is_idle = run(has_state=True)
        except Exception as error:
            raise self.error(f"a step fails: {error}") from error
        if is_idle:
            raise self.error("a step changes no parameter; it has to update those in its "
                             "param_groups")
        for name, value in self.describe(shadow).items():
            if own.get(name) != value:
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
                if _is_number(value) and value != old or \
                        isinstance(value, torch.Tensor) and value is not old:
                    initial[place] = _FIRST if old is None else float(old), type(value)
            elif place in before:
                initial[place] = None, type(value)
            elif isinstance(value, torch.Tensor):
                first = created.get(value.untyped_storage()._cdata, value).flatten()
                is_one = first.numel() and bool((first == first[0]).all())
                initial[place] = float(first[0]) if is_one else _FIRST, type(value)
            elif _is_number(value):
                initial[place] = 0.0 if key == "step" else _FIRST, type(value)
            else:
                raise self.error(f"its state {key!r} is a {type(value).__name__}; expected "
                                 "a tensor or a number")
        return initial

    @staticmethod
    def describe(shadow) -> "dict[str, Any]":
        """The attributes of an optimizer that a step should not change."""
        return {name: _describe(value) for name, value in shadow.optimizer.__dict__.items()
                if name not in _KEPT}

    @property
    def places(self) -> "list[tuple[Any, ...]]":
        """Of the state that is passed from step to step."""
        places = [p for p in self.initial if not self.is_count(p)]
        return places + ([_FLAG] if _FIRST in self.initial.values() else [])

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

        def run(parameters, gradients, rates, step, state, is_first):
            values, grads = iter(parameters), iter(gradients)
            copies = [[next(values).clone() for _ in group] for group in members]
            shadow = _Shadow(self.optimizer, copies, traced=True, parameters=self.parameters)
            for group, rate in zip(shadow.optimizer.param_groups, rates):
                group["lr"] = rate
            for group in copies:
                for value in group:
                    value.grad = next(grads).clone()
            count = (step - 1).to(torch.float64)
            shadow.write({p: count.clone() for p in self.initial if self.is_count(p)})
            shadow.write({p: v.clone() for p, v in zip(places, state)
                          if p != _FLAG and not (is_first and self.initial[p] == _FIRST)})
            if is_first:
                for g, i, _ in (p for p in places if self.initial.get(p) == _FIRST):
                    _drop_state(shadow, g, i)
            with _traceable(self.optimizer):
                run_step(shadow.optimizer)
            after = shadow.read()
            results = [v for group in copies for v in group]
            for place, old in zip(places, state):
                new = 0.0 if place == _FLAG else after[place]
                results.append(new.to(old.dtype) if isinstance(new, torch.Tensor)
                               else torch.full_like(old, new))
            return results

        def function(parameters, gradients, rates, step, state):
            arguments = (parameters, gradients, rates, step, state)
            results = run(*arguments, is_first=False)
            if _FLAG in places:
                is_first = state[places.index(_FLAG)] > 0.5
                results = [torch.where(is_first, a, b) for a, b in
                           zip(run(*arguments, is_first=True), results)]
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

    def shadow(self, members, has_state=False) -> _Shadow:
        """A copy for parameters of a few elements, perhaps with as much of the state."""
        shadow = _Shadow(self.optimizer, members, traced=False, parameters=self.parameters)
        for g, group in enumerate(self.parameters if has_state else ()):
            for i, parameter in enumerate(group):
                for key, value in self.optimizer.state.get(parameter, {}).items():
                    if isinstance(value, torch.Tensor):
                        value = value.detach()[tuple(
                            slice(_CHECKED_SIZE) for _ in value.shape)].clone()
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
            if place == _FLAG:
                state.append(torch.tensor(1.0 if is_first else 0.0))
                continue
            if place not in types:
                raise self.error(f"whether it has the state {place[2]!r} is not the same for "
                                  "each parameter of some shape or in each step")
            initial, (shape, dtype) = self.initial[place], types[place]
            if initial is None or is_real and self.is_given(place):
                value = self.given(place).to(dtype)
                state.append(value[tuple(slice(size) for size in shape)])
            else:
                state.append(torch.tensor(0.0 if initial == _FIRST else initial,
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
            shadow = _Shadow(self.optimizer, fakes, traced=True, parameters=self.parameters)
            for group in fakes:
                for parameter in group:
                    parameter.grad = torch.empty_like(parameter)
            shadow.write({p: torch.zeros(()) for p, initial in self.initial.items()
                          if p[1] is None and initial != _FIRST})
            shadow.write({p: torch.zeros((), dtype=torch.float64) for p in self.initial
                          if self.is_count(p)} if self.has_state else {})
            for place, initial in self.initial.items():
                if initial is None and not self.is_count(place):
                    value = self.given(place)
                    shape, dtype = value.shape, value.dtype
                    if fakes[place[0]][place[1]].shape != self.parameters[place[0]][place[1]].shape:
                        shape = _small(shape)
                    shadow.write({place: torch.zeros(shape, dtype=dtype)})
            with self.named_errors(), _traceable(self.optimizer):
                run_step(shadow.optimizer)
            found = {}
            for place, value in shadow.read().items():
                g, i, key = place
                is_state = value is not None and not isinstance(value, (bool, str))
                if are_all_known and i is not None and is_state and place not in self.initial:
                    raise self.error(f"whether it has the state {key!r} is not the same for each "
                                     "shape of a parameter")
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
            raise self.error(
                f"its step cannot be traced: {why}; a step may not decide by values of tensors: "
                "keep numbers that change in tensors, and choose with torch.where"
                + (", or give the scheduler cycle_momentum=False" if self.scheduled() else "")
            ) from error

    def make_graph(self, members, state) -> torch.fx.GraphModule:
        function = self.function(members)
        rates = [torch.tensor(_rate_of(g)) for g in self.optimizer.param_groups]
        parameters = [_in_f32(p.detach()) for group in members for p in group]
        arguments = (parameters, [torch.empty_like(p) for p in parameters], rates,
                     torch.tensor(1), state)
        with self.named_errors():
            graph = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*arguments)
            return make_fx(torch.func.functionalize(graph, remove="mutations"),
                           tracing_mode="fake", _allow_non_fake_inputs=True)(*arguments)

    def check(self) -> torch.fx.GraphModule:
        """Compares steps of the traced function with those of the optimizer, on parameters
        of a few elements."""
        small = [[torch.rand(_small(p.shape)) for p in group] for group in self.parameters]
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
                [torch.tensor(_rate_of(g)) for g in self.optimizer.param_groups],
                torch.tensor(first + number), state)
            for name, a, b, old in zip([n for group in self.names for n in group], parameters,
                                       expected, before):
                change = float((b - old).detach().abs().max()) if b.numel() else 0.0
                if not torch.allclose(a, b, rtol=2e-6, atol=tolerance * change, equal_nan=True):
                    raise self.error(
                        f"what is traced of its step is not its step: after {number} of them "
                        f"{name} differs by {float((a - b).abs().max()):.3g}; a step may depend "
                        "on tensors, and on numbers in the optimizer's state and groups, but "
                        "not on other values that change")
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
        results = [owners[v] for v in _outputs(graph)]
        own = [(g, i) for g, group in enumerate(self.names) for i in range(len(group))]
        own += [p[:2] for p in self.places]
        return all(found <= {owner} for found, owner in zip(results, own)) \
            and all(self.is_same_alone(graph, g, i) for g, group in enumerate(self.names)
                    for i in sorted({0, len(group) - 1}) if group)

    def is_same_alone(self, graph: torch.fx.GraphModule, g: int, i: int) -> bool:
        """Whether a parameter is updated as if it were the only one. It is not where a step
        counts parameters, or their places."""
        small = [[torch.rand(_small(p.shape)) for p in group] for group in self.parameters]
        chosen = [[i] if g == other else [] for other in range(len(self.parameters))]
        part = self.take(chosen)
        alone = [[small[other][i] for i in group] for other, group in enumerate(chosen)]
        first = part.make_state(alone)
        rates = [torch.tensor(_rate_of(group)) for group in self.optimizer.param_groups]
        step = torch.tensor(self.count() + 1)
        flat = [p for group in small for p in group]
        place = next(i for i, p in enumerate(flat) if p is alone[g][0])
        gradients = [torch.randn_like(p) for p in flat]
        expected = graph(flat, gradients, rates, step, self.make_state(small))[0][place]
        found = part.make_graph(alone, first)([flat[place]], [gradients[place]], rates, step,
                                              first)[0][0]
        return torch.allclose(found, expected, rtol=1e-6, atol=1e-8, equal_nan=True)


def _outputs(graph: torch.fx.GraphModule) -> "list[torch.fx.Node]":
    """The results of a graph: next parameters, next state."""
    output = next(n for n in graph.graph.nodes if n.op == "output")
    return torch.utils._pytree.tree_leaves(output.args[0])


def _is_narrow(graph: torch.fx.GraphModule) -> bool:
    """Whether some of it is computed in 16 bits."""
    return any(getattr(n.meta.get("val"), "dtype", None) in (torch.bfloat16, torch.float16)
               for n in graph.graph.nodes)


def _error(optimizer, why: str) -> Error:
    return Error(f"optimizer: {_name(optimizer)}: {why}")


def _drop_state(shadow, g, i) -> None:
    """As before the first step: many an optimizer asks whether there is state at all."""
    if i is not None:
        shadow.optimizer.state[shadow.members[g][i]].clear()


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
                    raise _error(optimizer, "expected parameters of float32, float16 or "
                                 f"bfloat16, found {name} of {str(parameter.dtype)[6:]}; call "
                                 "model.float(), TrainStep's precision rounds them where they "
                                 "are read")
        # The random numbers of training are those that other optimizers leave.
        with export_lock, torch.random.fork_rng(devices=[]), _without_gradients(parameters):
            torch.manual_seed(0)
            self._make(parameters, names)

    def _make(self, parameters, names) -> None:
        self._all = _Trace(self._optimizer, parameters, names, {}, {},
                           has_own_counts(self._optimizer, parameters))
        self._all.find_initial()
        self._types: "dict[Any, dict]" = {}
        # These say what all do.
        sample = self._all.take([_choose_two(group) for group in parameters])
        is_separate = sample.is_separate(sample.check())
        self.keys = {n: {} for group in names for n in group}
        self.group_keys = [{} for _ in names]
        self.scheduled: "list[dict[str, str]]" = [{} for _ in names]
        for g, m, key in (p for p in self._all.initial if self._all.is_count(p)):
            self.keys[names[g][m]][key] = ("step", self._all.kinds[g, m, key])
        self.state: "dict[str, torch.Tensor]" = {}
        self.first: "dict[str, torch.Tensor]" = {}
        self.text = self._print(self._trace_each() if is_separate else
                                [self._trace(self._all)])

    def _trace_each(self):
        """Traces one parameter of each group, shape and attributes for all."""
        traced: "dict[Any, torch.fx.GraphModule]" = {}
        for g, group in enumerate(self._all.parameters):
            for i, parameter in enumerate(group):
                part = self._all.take([[i] if g == other else []
                                       for other in range(len(self._all.parameters))])
                mentions = [place for item in self._holders(g)
                            for place in _find_mentions(item, parameter)]
                key = (g, parameter.shape, repr(_describe(parameter.__dict__)), *mentions, tuple(
                    (p[2], initial is None, initial == _FIRST)
                    for p, initial in part.initial.items()))
                part, graph, names = self._trace(part, traced.get(key))
                traced[key] = graph
                yield part, graph, names

    def _holders(self, g: int) -> "list[dict[str, Any]]":
        """What an optimizer keeps beside state, where parameters may be told apart."""
        own = [vars(part) for part in _parts(self._optimizer)]
        group = self._optimizer.param_groups[g]
        return [{k: v for k, v in holder.items() if k not in (*_KEPT, "params")}
                for holder in (*own, group)]

    def _trace(self, part: _Trace, graph=None):
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
            if (g, m, key) == _FLAG:
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
        printer = _Printer(None, None, [], set(), set(), None, False, {})
        arguments, values = [], {}

        def add(name, role, like):
            if name and name not in values:
                values[name] = f"%arg{len(arguments)}", printer.type_of(like)
                arguments.append(f"    {values[name][0]}: {values[name][1]} "
                                 f"{{mpt.name = {_quote(name)}, mpt.role = {_quote(role)}}} "
                                 f"loc({_quote(name)})")

        flat = [pair for names, group in zip(self._all.names, self._all.parameters)
                for pair in zip(names, group)]
        for name, parameter in flat:
            add(name, "parameter", _in_f32(parameter))
        for name, parameter in flat:
            add(f"grad.{name}", "input", _in_f32(parameter))
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
                                                f"loc({_quote(FUNCTION)})")
            try:
                printer.print_nodes(list(graph.graph.nodes), env, graph)
            except ExportError as error:
                raise _error(self._optimizer, str(error)) from error
            # What parts share, none changes.
            updates = dict(zip(own + state_names, _outputs(graph)))
            results += [(env[v], f"{{mpt.updates = {_quote(name)}}}")
                        for name, v in updates.items() if name not in updated]
            updated |= updates.keys()
        types = ", ".join(f"{v[1]} {a}" for v, a in results)
        return "\n".join(
            [f"// A step of {_name(self._optimizer)}, traced by mpt.torch.",
             f"func.func private @{FUNCTION}(", ",\n".join(arguments) + ")",
             f"    -> ({types}) {{"]
            + printer.constant_lines + printer.lines
            + [f"  return {', '.join(v[0] for v, _ in results)} : "
               f"{', '.join(v[1] for v, _ in results)}", "}", ""])


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


def _choose_two(group: "Sequence[torch.Tensor]") -> "list[int]":
    """Places of at most two parameters of each rank, and of the last one."""
    found: "dict[int, list[int]]" = collections.defaultdict(list)
    for i, parameter in enumerate(group):
        if len(found[parameter.dim()]) < 2:
            found[parameter.dim()].append(i)
    return sorted({i for places in found.values() for i in places} | {*range(len(group))[-1:]})
