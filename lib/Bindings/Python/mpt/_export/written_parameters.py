# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters that a model changes without a gradient when it is called, as an embedding with
`max_norm` does, or `self.weight.data = torch.renorm(self.weight.data, ..)`."""
from __future__ import annotations

import inspect
from typing import Any, Callable

import torch
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from mpt._export import formulas
from mpt._export.constants import changes_in_place

# Properties of a tensor that are its elements in another order.
_VIEWS = {"T", "mT", "H", "mH"}
# Functions whose results may lie where their first operand lies.
_PARTS = {"__getitem__", "as_strided", "chunk", "diagonal", "expand", "expand_as", "flatten",
          "movedim", "moveaxis", "narrow", "permute", "ravel", "reshape", "reshape_as", "select",
          "split", "split_with_sizes", "squeeze", "swapaxes", "swapdims", "t", "tensor_split",
          "transpose", "unbind", "unflatten", "unsqueeze", "view", "view_as"}
# In the form of what changes a tensor in place.
_FLAGS = {"requires_grad_", "share_memory_", "rename_"}


class WrittenParameters:
    """While a model is traced: the values that its parameters have, of those that train.

    A parameter is written once, when the call is over. Until then, calls read what it would
    hold, which has the gradient of the parameter, as in eager PyTorch.
    """

    def __init__(self, model: torch.nn.Module):
        self.names = {id(p): name for name, p in model.named_parameters() if p.requires_grad}
        self.parameters = {id(p): p for p in model.parameters() if p.requires_grad}
        # What they would hold by now, and the same with a gradient.
        self.values: "dict[int, torch.Tensor]" = {}
        self.trained: "dict[int, torch.Tensor]" = {}
        # What `.data` gave: the parameter's id, a copy, and how often it had been changed.
        self.copies: "list[list[Any]]" = []

    @property
    def written(self) -> "set[str]":
        """The names of those that the call has written."""
        return {self.names[number] for number in self.values}

    def is_one(self, value: Any) -> bool:
        return self.parameters.get(id(value)) is value and value is not None

    def call(self, func: Callable, args: tuple, kwargs: "dict[str, Any]") -> Any:
        """A function of PyTorch, which may read and write parameters."""
        name = getattr(func, "__name__", "")
        if func in (torch.Tensor.data.__get__, torch.Tensor.detach) and self.is_one(args[0]):
            return self.copy(args[0])
        if name == "__get__" and getattr(func.__self__, "__name__", "") not in _VIEWS:
            return func(*args, **kwargs)
        if name.startswith("_foreach_"):
            return self.for_each(name[len("_foreach_"):], args, kwargs)
        target = kwargs.get("out", args[0] if args else None)
        if not torch.is_grad_enabled() and self.is_one(target) and (
                name in _PARTS or name == "__get__"):
            # What is changed in a part of it is changed in it.
            return self.call(func, (self.copy(target), *args[1:]), kwargs)
        if self.is_one(target) and not torch.is_grad_enabled() and name not in _FLAGS \
                and changes_in_place(name, kwargs):
            copy = self.copy(target)
            if "out" in kwargs:
                kwargs = {**kwargs, "out": copy}
            else:
                args = (copy, *args[1:])
            self.call(func, args, kwargs)
            return target
        if func in (F.embedding, F.embedding_bag):
            args, kwargs = self.limit_rows(func, args, kwargs)
        if self.values:
            args, kwargs = pytree.tree_map_only(torch.nn.Parameter, self.read, (args, kwargs))
        result = func(*args, **kwargs)
        self.find_written()
        return result

    def for_each(self, name: str, args: tuple, kwargs: "dict[str, Any]") -> Any:
        """The calls that one on lists stands for, as `torch._foreach_mul_` for `mul_`."""
        lists = [a if isinstance(a, (list, tuple)) else [a] * len(args[0]) for a in args]
        results = []
        for each in zip(*lists):
            named = kwargs
            if len(each) == 4:  # Of addcmul and addcdiv, which have a factor by name.
                each, named = each[:3], {**kwargs, "value": each[3]}
            if hasattr(torch.Tensor, name):
                results.append(self.call(getattr(torch.Tensor, name), each, named))
            else:  # As maximum_.
                value = self.call(getattr(torch.Tensor, name[:-1]), each, named)
                results.append(self.call(torch.Tensor.copy_, (each[0], value), {}))
        return None if name.endswith("_") else tuple(results)

    def find_written(self) -> None:
        """What `.data` gave may have been changed in place."""
        for entry in self.copies:
            number, copy, version = entry
            if copy._version != version:
                self.write(self.parameters[number], copy)

    def read(self, parameter: torch.nn.Parameter) -> torch.Tensor:
        """What the parameter would hold, with its gradient."""
        number = id(parameter)
        if number not in self.values or not torch.is_grad_enabled():
            return self.values.get(number, parameter)
        if number not in self.trained:
            # The gradient is that of what is added, which is zero.
            self.trained[number] = self.values[number] + (parameter - parameter.detach())
        return self.trained[number]

    def limit_rows(self, func: Callable, args: tuple, kwargs: "dict[str, Any]"):
        """The arguments of an embedding whose rows have been limited to `max_norm`."""
        bound = inspect.signature(func).bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        if given["max_norm"] is not None:
            weight = given["weight"]
            copy = self.copy(weight) if self.is_one(weight) else weight.detach()
            copy.copy_(formulas.renorm_rows(copy, given["input"], given["max_norm"],
                                             given["norm_type"]))
            self.find_written()
            given["max_norm"] = None
        return bound.args, bound.kwargs

    def copy(self, parameter: torch.nn.Parameter) -> torch.Tensor:
        copy = self.values.get(id(parameter), parameter).detach().clone()
        self.copies.append([id(parameter), copy, copy._version])
        return copy

    def write(self, parameter: torch.nn.Parameter, value: torch.Tensor) -> None:
        """The parameter, and what `.data` gave of it, hold `value` from now on."""
        value = value.detach().clone()
        self.values[id(parameter)] = value
        self.trained.pop(id(parameter), None)
        for entry in self.copies:
            if entry[0] == id(parameter):
                entry[1].copy_(value)
                entry[2] = entry[1]._version

    def finish(self) -> None:
        """Writes the parameters, when the call is over."""
        with torch.no_grad():
            for number, value in self.values.items():
                self.parameters[number].copy_(value)
