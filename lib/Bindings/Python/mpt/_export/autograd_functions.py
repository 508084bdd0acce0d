# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions with a gradient of their own, torch.autograd.Function, while a loss is traced."""
from __future__ import annotations

import contextlib
import inspect
import sys
import types
from typing import Any, Iterator

import torch
from torch.utils import _pytree as pytree

from mpt._export.errors import is_of_model
from mpt._export.inner_gradients import with_rows


class _Context:
    """What a torch.autograd.Function's forward() and backward() see as `ctx`. What it holds are
    constants."""

    def __init__(self, needed: "tuple[bool, ...]"):
        self.needs_input_grad = needed
        self.saved_tensors = ()
        self.plain: "list[torch.Tensor]" = []
        self.materializes = True

    def __setattr__(self, name, value):
        object.__setattr__(self, name, pytree.tree_map_only(
            torch.Tensor, torch.Tensor.detach, value) if name != "plain" else value)

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    save_for_forward = save_for_backward

    def mark_non_differentiable(self, *tensors):
        self.plain = list(tensors)

    def set_materialize_grads(self, value):
        self.materializes = value

    def mark_dirty(self, *tensors):
        raise RuntimeError("forward() of a torch.autograd.Function changes its operand in place; "
                           "let it return a new tensor")


def _has_setup(cls: type) -> bool:
    return cls.setup_context is not torch.autograd.Function.setup_context


def apply_function(cls: type, arguments: tuple, named: dict):
    """What a torch.autograd.Function computes, with the gradient of its backward(), which is
    linear in the gradients g of the results: with J g for it, the results are plus the
    transpose of J times x - x.detach(), which is zero and has the gradient J g."""
    if named:
        bound = inspect.signature(cls.forward).bind(
            *(() if _has_setup(cls) else (None,)), *arguments, **named)
        bound.apply_defaults()
        if bound.kwargs:
            raise RuntimeError(f"forward() of the torch.autograd.Function {cls.__name__} has "
                               "arguments that have names only; pass them by position")
        arguments = bound.args if _has_setup(cls) else bound.args[1:]
    context = _Context(tuple(isinstance(x, torch.Tensor) and x.requires_grad for x in arguments))
    with torch.no_grad():
        if _has_setup(cls):
            results = cls.forward(*arguments)
            cls.setup_context(context, arguments, results)
        else:
            results = cls.forward(context, *arguments)
    leaves = list(results) if isinstance(results, (tuple, list)) else [results]
    # Also of one that is an operand, or a view of it, none of the operand's gradient.
    leaves = [y.detach() if isinstance(y, torch.Tensor) else y for y in leaves]
    whole = list(results) if isinstance(results, (tuple, list)) else [results]
    plain = [not isinstance(y, torch.Tensor) or not y.is_floating_point()
             or any(y is other for other in context.plain) for y in whole]
    seeds = [None if isPlain else torch.ops.mpt.independent.default(
        with_rows(torch.zeros_like(y))) for y, isPlain in zip(leaves, plain)]
    # once_differentiable() and the like say nothing here.
    found = inspect.unwrap(cls.backward)(context, *(
        torch.zeros_like(y) if seed is None and context.materializes
        and isinstance(y, torch.Tensor) else seed for y, seed in zip(leaves, seeds)))
    found = found if isinstance(found, (tuple, list)) else (found,)
    pairs = [(g, x - x.detach()) for g, x, needed in zip(
        found, arguments, context.needs_input_grad) if needed and g is not None]
    if pairs:
        changes = iter(torch.ops.mpt.of_backward.default(
            [g for g, _ in pairs], [seed for seed in seeds if seed is not None],
            [change for _, change in pairs], cls.__name__))
        leaves = [y if seed is None else y + next(changes) for y, seed in zip(leaves, seeds)]
    return tuple(leaves) if isinstance(results, (tuple, list)) else leaves[0]


def _is_bound_apply(value: Any) -> bool:
    """Whether a value is the `apply` of a torch.autograd.Function, looked up before."""
    if not isinstance(value, (types.BuiltinMethodType, types.MethodType)) \
            or value.__name__ != "apply" or not isinstance(value.__self__, type):
        return False
    owner = value.__self__
    return issubclass(owner, torch.autograd.Function) and not owner.__module__.startswith("torch.")


@contextlib.contextmanager
def replace_bound_applies(modules: "list[torch.nn.Module]") -> "Iterator[None]":
    """While it lasts, `swish = Swish.apply` at the level of a module of Python, or as an attribute
    of `modules`, looks `apply` up when it is called."""
    spaces = [vars(module) for module in list(sys.modules.values())
              if is_of_model(getattr(module, "__file__", None) or "<")
              or getattr(module, "__name__", "") == "__main__"]
    found = []
    for space in [*spaces, *map(vars, modules)]:
        found += [(space, name, value) for name, value in list(space.items())
                  if _is_bound_apply(value)]
    try:
        for space, name, value in found:
            space[name] = _late_apply(value.__self__)
        yield
    finally:
        for space, name, value in found:
            space[name] = value


def _late_apply(cls: type):
    return lambda *arguments, **named: cls.apply(*arguments, **named)
