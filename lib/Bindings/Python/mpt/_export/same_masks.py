# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks that a model computes twice, as in `F.mse_loss(z[y > 0], t[y > 0])`.

Each traced mask chooses a number of rows of its own, and PyTorch refuses to compare two of them.
"""
from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

_COMPARISONS = {
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__or__", "__xor__",
    "__invert__", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isfinite", "isinf", "logical_and",
    "logical_or", "logical_not", "logical_xor", "bool"}
# What is read twice is the same, too.
_READS = {"__getitem__", "abs", "contiguous", "detach", "flatten", "max", "mean", "min", "narrow",
          "permute", "ravel", "reshape", "select", "squeeze", "sum", "t", "to", "transpose",
          "unsqueeze", "view"}
_CHOICES = {"__getitem__", "masked_select", "nonzero", "argwhere", "where"}


class SameMasks(TorchFunctionMode):
    """While it lasts, rows are chosen by the first of the masks that are computed alike."""

    def __init__(self):
        super().__init__()
        # By id: a mask or what one is made of, how often it had been changed, and what it was
        # computed from.
        self.masks: "dict[int, tuple[torch.Tensor, int, Any]]" = {}
        self.first: "dict[Any, torch.Tensor]" = {}
        self.kept: "list[torch.Tensor]" = []  # No other tensor gets their id.

    def describe(self, value: Any) -> Any:
        if isinstance(value, slice):
            return str(value)
        if not isinstance(value, torch.Tensor):
            return value
        _, version, key = self.masks.get(id(value), (None, None, None))
        if version == value._version:
            return key
        self.kept.append(value)
        return id(value), value._version

    def find(self, value: Any) -> Any:
        """The first mask like this one, unless one of both has been changed."""
        if isinstance(value, torch.Tensor) and id(value) in self.masks:
            first = self.first.get(self.masks[id(value)][2], value)
            if all(t._version == self.masks[id(t)][1] for t in (value, first)):
                return first
        return value

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _CHOICES and self.masks:
            args, kwargs = pytree.tree_map_only(torch.Tensor, self.find, (args, kwargs))
        result = func(*args, **kwargs)
        is_read = name in _READS
        if (is_read or name in _COMPARISONS) and isinstance(result, torch.Tensor) \
                and (is_read or result.dtype == torch.bool) and kwargs.get("out") is None:
            leaves, spec = pytree.tree_flatten((args, kwargs))
            if all(isinstance(v, (torch.Tensor, int, float, bool, slice, torch.dtype, type(...)))
                   for v in leaves):
                key = name, str(spec), *map(self.describe, leaves)
                self.masks[id(result)] = result, result._version, key
                if result.dtype == torch.bool:
                    self.first.setdefault(key, result)
        return result
