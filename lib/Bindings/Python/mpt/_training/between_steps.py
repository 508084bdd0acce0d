# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a script changes in its model and optimizer between two steps.

A step has copies. Eager PyTorch would go on with what is changed, so a step does so, too, or
says that it cannot.
"""
from __future__ import annotations

import operator
from typing import Any

import torch

from mpt._diagnostics import Error

_version = operator.attrgetter("_version")
_training = operator.attrgetter("training")
_requires_grad = operator.attrgetter("requires_grad")
_NEW_STEP = ("make a new TrainStep, after step.sync_to(model) and "
             "optimizer.load_state_dict(step.optimizer_state_dict())")


class ScriptChanges:
    """Watches the model and the optimizer of a step.

    What has changed in the model since the step was made, or since sync_to(), is taken over if
    no step has run in between: otherwise the values changed are old ones. So is state that the
    optimizer has loaded.
    """

    def __init__(self, step):
        self.step = step
        named = dict(step.model.named_parameters())
        # Inference tensors have no versions.
        self.names = [n for n, p in named.items() if not p.is_inference()]
        self.parameters = [named[n] for n in self.names]
        self.flags = [p.requires_grad for p in self.parameters]
        self.modules = list(step.model.modules())
        self.buffers = [(prefix, m._buffers, m._non_persistent_buffers_set)
                        for prefix, m in step.model.named_modules() if m._buffers]
        self.outside: "dict[int, tuple[Any, int]]" = {}
        self.see_model()
        self.see_optimizer()

    def see_model(self, is_ahead: bool = False) -> None:
        """The model has the step's values, or older ones."""
        self.is_ahead = is_ahead
        # What `.data` changes has no new version.
        self.compares = not is_ahead and not self.step._is_sharded
        self.versions = list(map(_version, self.parameters))
        self.values = [b for _, own, _ in self.buffers for b in own.values()]
        self.buffer_versions = [b._version for b in self.values if b is not None]

    def see_optimizer(self) -> None:
        """The step has the optimizer's state, or newer one."""
        self.states = [part.state for part in self.step._called]
        self.marks = list(map(_mark, self.states))

    def see_outside(self, tensors) -> None:
        """Tensors that a loss function reads from elsewhere, by weak references."""
        for reference in tensors:
            tensor = reference()
            if tensor is not None and not tensor.is_inference():
                self.outside.setdefault(id(tensor), (reference, tensor._version))

    def follow(self) -> None:
        """Before a step."""
        if list(map(_requires_grad, self.parameters)) != self.flags:
            name = next(n for n, p, flag in zip(self.names, self.parameters, self.flags)
                        if p.requires_grad != flag)
            raise Error(f"model: requires_grad of {name} has changed since the step was made, "
                        f"which has gradients of what had it then; {_NEW_STEP}")
        if self.has_model_changed():
            self.take_model()
        if self.has_optimizer_changed():
            self.take_optimizer()
        for reference, version in self.outside.values():
            tensor = reference()
            if tensor is not None and tensor._version != version:
                raise Error(
                    f"a tensor of shape {list(tensor.shape)} has changed that the loss function "
                    "reads and that is no part of the model, so that it is a constant of the "
                    "step; make its module a part of the model, or it a buffer of the model or "
                    "a tensor of the batch")
        self.is_ahead = True

    def absorb(self) -> None:
        """Takes over what the next step would, before the step's values are read."""
        if not self.is_ahead and self.has_model_changed():
            self.take_model()
        if self.has_optimizer_changed():
            self.take_optimizer()

    def has_model_changed(self) -> bool:
        values = [b for _, own, _ in self.buffers for b in own.values()]
        return self.compares or list(map(_version, self.parameters)) != self.versions \
            or not all(map(operator.is_, values, self.values)) \
            or [b._version for b in values if b is not None] != self.buffer_versions

    def has_optimizer_changed(self) -> bool:
        return not all(part.state is state for part, state in
                       zip(self.step._called, self.states)) \
            or list(map(_mark, self.states)) != self.marks

    def changed(self) -> "list[str]":
        """Names of what is not as `see_model` has seen it."""
        found = [n for n, p, version in zip(self.names, self.parameters, self.versions)
                 if p._version != version]
        old = iter(self.values)
        versions = iter(self.buffer_versions)
        for prefix, own, _ in self.buffers:
            for name, value in own.items():
                before = next(old, None)
                version = next(versions, None) if before is not None else None
                if value is not before or value is not None and value._version != version:
                    found.append(f"{prefix}.{name}".lstrip("."))
        return found

    def take_model(self) -> None:
        """Takes over what the model has."""
        changed = self.changed()
        constants = [f"{prefix}.{name}".lstrip(".") for prefix, _, names in self.buffers
                     for name in names]
        for name in changed:
            if name in constants:
                raise Error(f"model: the buffer {name} has changed, which is not persistent and "
                            "so a constant of the step; register it with persistent=True")
        if not self.step._is_sharded:
            found = self.step._different()
            if not found or not self.is_ahead:
                if found:
                    self.step.load_state_dict(found, strict=False)
                self.see_model(self.is_ahead)
                self.compares = False
                return
            changed = [name for name in changed if name in found] or list(found)
        some = ", ".join(changed[:3]) + (", .." if len(changed) > 3 else "")
        raise Error(
            f"model: {some} changed while the step had newer values; call step.sync_to(model) "
            "before the change, or step.load_state_dict(model.state_dict()) after it for all "
            "values of the model")

    def take_optimizer(self) -> None:
        """Takes over the state that the optimizer has loaded, or lost."""
        step = self.step
        if step.optimizer not in step._called:
            step.optimizer.collect()
        step._is_compared = False
        step._write_optimizer_state(step.optimizer.state_dict())
        self.see_optimizer()

    def modes(self) -> "list[bool]":
        return list(map(_training, self.modules))


def _mark(state) -> Any:
    """A value that is another one once an optimizer has loaded state, or taken a step."""
    first = next(iter(state.values()), None)
    return len(state), sum(v._version for v in first.values() if isinstance(v, torch.Tensor)) \
        if first else 0
