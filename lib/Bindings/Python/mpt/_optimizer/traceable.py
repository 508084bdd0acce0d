# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of optimizers as code that can be traced: what would ask a tensor for its value does not."""
from __future__ import annotations

import contextlib
import inspect
import math
import operator
import types
from typing import Any, Callable, Optional, Sequence

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from mpt._optimizer.options import own_step, parts_of
from mpt._patches import in_this_thread, patched


_COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}


class Counts:
    """Which steps the numbers of a traced step stand for: the first one, or all others, and
    what it hears where it decides by other values.

    is_first: which of both is traced.
    answers: to its first questions; it hears True to others.
    decides: whether the step has decided by that, as by `if step == 1`.
    conditions: what it has asked for, with the answers.
    """

    def __init__(self, is_first: bool = False, answers: "Sequence[bool]" = ()):
        self.is_first, self.decides = is_first, False
        self.given, self.conditions = answers, []
        # By what a question was computed from: the answer, and numbers of what nodes compute.
        self.heard: "dict[int, bool]" = {}
        self.origins: "dict[torch.fx.Node, int]" = {}
        self.numbers: "dict[Any, int]" = {}
        # Of counts: in the first step, and the least in others; None for what is the same in all.
        self.values = WeakTensorKeyDictionary()
        self.answers = WeakTensorKeyDictionary()

    def add(self, count: torch.Tensor) -> None:
        """The number of steps that were taken before."""
        self.values[count] = (0, 1)

    def follow(self, name: str, args: tuple, result: Any) -> None:
        """Counts and comparisons of counts."""
        if not isinstance(result, torch.Tensor):
            return
        base = name.strip("_")
        if base in ("zeros", "tensor") and not result.dim():
            value = args[0] if base == "tensor" and args else 0
            if isinstance(value, (int, float)):
                self.values[result] = (value, None)
        known = self.values.get(args[0]) if args and isinstance(args[0], torch.Tensor) else None
        if known is None or name == "__get__":
            return
        number = args[1] if len(args) == 2 and isinstance(args[1], (int, float)) else None
        if base in ("clone", "detach", "to", "item", "float") and len(args) == 1:
            self.values[result] = known
        elif number is not None and base in ("add", "iadd", "radd", "sub", "isub"):
            number = -number if "sub" in base else number
            self.values[result] = (known[0] + number, None if known[1] is None
                                   else known[1] + number)
        elif number is not None and base in _COMPARISONS:
            compare, (first, least) = _COMPARISONS[base], known
            answer = compare(first, number)
            if least is not None and not self.is_first:
                # The same for all steps after the first one, or unknown.
                later = {compare(value, number) for value in (least, least + 1, 2 ** 60)}
                later |= {base == "ne"} if base in ("eq", "ne") and number >= least else set()
                if base in ("eq", "ne") and number >= least or len(later) > 1:
                    return
                answer = later.pop()
            self.answers[result] = answer
        elif result is args[0]:
            self.values.pop(result, None)

    def answer(self, value: torch.Tensor) -> bool:
        if value in self.answers:
            self.decides = True
            return self.answers[value]
        key = self.origin(value)
        if key in self.heard:
            return self.heard[key]
        place = len(self.conditions)
        answer = self.given[place] if place < len(self.given) else True
        self.conditions.append((value.detach().reshape([]) != 0, answer))
        if key is not None:
            self.heard[key] = answer
        return answer

    def origin(self, value: torch.Tensor) -> "Optional[int]":
        """A number for what a traced tensor is computed from, the same where several parameters ask
        for what depends on the step alone. None if nothing is known of it."""
        mode = get_proxy_mode()
        slot = get_proxy_slot(value, mode.tracer, None) if mode is not None else None
        if slot is None:
            return None
        for node in mode.tracer.graph.nodes:
            if node in self.origins:
                continue
            key: Any = node
            if node.op == "get_attr":
                tensor = getattr(mode.tracer.root, node.target, None)
                if isinstance(tensor, torch.Tensor) and tensor.numel() == 1 \
                        and not isinstance(tensor, FakeTensor):
                    key = repr(tensor.tolist())
            elif node.op != "placeholder" and torch.Tag.nondeterministic_seeded not in getattr(
                    node.target, "tags", ()):
                args = torch.fx.map_arg((node.args, node.kwargs), lambda n: f"%{self.origins[n]}")
                key = repr((str(node.target), args))
            self.origins[node] = self.numbers.setdefault(key, len(self.numbers))
        return self.origins[slot.proxy.node]


class _Tensors(TorchFunctionMode):
    """Scalars of ops may be tensors, whose values a trace does not know."""

    def __init__(self, counts: Counts):
        super().__init__()
        self.counts = counts

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name == "__bool__" and isinstance(args[0], FakeTensor) and args[0].numel() == 1:
            return self.counts.answer(args[0])
        result = self.call(function, args, kwargs)
        self.counts.follow(name, args, result)
        return result

    def call(self, function, args, kwargs):
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
    classes = [c for part in parts_of(optimizer) for c in type(part).__mro__ if c is not object]
    own = [f for f in map(own_step, parts_of(optimizer)) if f]
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
def traceable(optimizer, counts: "Optional[Counts]" = None):
    """While an optimizer is traced, what would ask a tensor for its value does not, in this
    thread. `counts` are tensors that hold numbers of steps."""
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
            with _Tensors(counts or Counts()):
                yield
        finally:
            for names, name, value in changed:
                if value is absent:
                    names.pop(name, None)
                else:
                    names[name] = value
