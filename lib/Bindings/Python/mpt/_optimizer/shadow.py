# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of optimizers, and what optimizers keep."""
from __future__ import annotations

import collections
import copy
from typing import Any, Sequence

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

from mpt._optimizer.options import copy_optimizer, scheduled_options, set_option

# Attributes of optimizers that are not copied with their contents.
KEPT = {"param_groups", "state", "defaults", "parts", "step"} | {
    name for name in vars(torch.optim.SGD([torch.zeros(1)], 0.1)) if name.startswith("_")}


def is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def rate_of(group) -> float:
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


def find_mentions(value, parameter, path: str = "") -> "list[str]":
    """Where containers hold a parameter or its id, and what a dictionary has for it."""
    if value is parameter or type(value) is int and value == id(parameter):
        return [path]
    if isinstance(value, dict):
        found = []
        for key, item in value.items():
            if key is parameter or type(key) is int and key == id(parameter):
                found.append(f"{path}: {describe(item)}")
            else:
                name = key if isinstance(key, str) else "key"
                found += find_mentions(item, parameter, f"{path}.{name}")
        return found
    if isinstance(value, (list, tuple, set, frozenset)):
        return [place for item in value for place in find_mentions(item, parameter, path + "[]")]
    return []


def describe(value, depth: int = 4):
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
        return {id(k) if isinstance(k, torch.Tensor) else str(k): describe(v, depth - 1)
                for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        return [describe(v, depth - 1) for v in value]
    if isinstance(getattr(value, "__dict__", None), dict) and not callable(value):
        return {k: describe(v, depth - 1) for k, v in value.__dict__.items()}
    return type(value).__name__


class Shadow:
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
                if name not in KEPT:
                    copied.__dict__[name] = _rename_ids(copy.deepcopy(value, copies), ids)
            groups = [{**{k: _rename_ids(_copy_option(v), ids) for k, v in group.items()
                          if k not in ("params", "lr")}, "lr": rate_of(group)}
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
