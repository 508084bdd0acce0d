# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model changes in itself when it is called.

A traced graph has what is changed in place, as in `self.count += 1`. It has nothing of
assignments, as in `self.mean = 0.9 * self.mean + 0.1 * x.mean()`: the next step would compute
with what was there when the model was traced. Nor has it what an attribute that was None becomes.
"""
from __future__ import annotations

import contextlib
import warnings
import weakref
from typing import Any, Iterator

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from mpt._export.absent_attributes import AbsentAttributes
from mpt._export.constants import FoldConstants
from mpt._export.traced_numbers import NUMBERS
from mpt._export.written_parameters import WrittenParameters
from mpt._patches import patched

_OWN = frozenset(vars(torch.nn.Module()))  # What each module has.


class ModelChanges(TorchFunctionMode):
    """While a model is traced: what is assigned to a buffer is written into it, and `.data` is
    the tensor without its gradient.

    error: makes an exception of a message.
    constants: those of the trace; this mode is entered inside of it.
    """

    def __init__(self, model: torch.nn.Module, constants: FoldConstants, error):
        super().__init__()
        self.constants, self.error = constants, error
        self.modules = list(model.named_modules())
        self.buffers = [(prefix, module, name, buffer) for prefix, module in self.modules
                        for name, buffer in module._buffers.items() if buffer is not None]
        self.attributes = self.read_attributes()
        self.tensors = {id(value): False for value in self.attributes.values()
                        if isinstance(value, torch.Tensor)}  # id -> whether it is read
        # Tensors that are not traced, by id, and shapes of parameters among them.
        self.outside: "dict[int, weakref.ref[torch.Tensor]]" = {}
        self.lost: "list[list[int]]" = []
        self.given = [dict(module._parameters) for _, module in self.modules]
        self.own = {id(t) for t in [*model.parameters(), *model.buffers()]}
        self.parameters = WrittenParameters(model)
        self.absent = AbsentAttributes(self.modules)

    @contextlib.contextmanager
    def watch(self) -> "Iterator[None]":
        """To be entered with this mode."""
        give_memory = torch.Tensor.set_

        def set_(tensor, *source):  # No mode sees it.
            if id(tensor) not in self.own:
                return give_memory(tensor, *source)
            if len(source) != 1 or not isinstance(source[0], torch.Tensor) \
                    or source[0].shape != tensor.shape or source[0].dtype != tensor.dtype:
                raise self.error(
                    f"the loss function gives a tensor of the model, of {list(tensor.shape)}, other "
                    "memory by set_(), where a tensor keeps its shape and type: change its "
                    "values, as in `with torch.no_grad(): weight.copy_(new)`")
            if self.parameters.is_one(tensor):
                self.parameters.write(tensor, source[0])
            else:
                tensor.detach().copy_(source[0])
            return tensor

        with self.absent.watch(), patched([(torch.Tensor, "set_", set_)]):
            yield

    def read_attributes(self) -> "dict[str, Any]":
        """Tensors, numbers and flags that are attributes, also in lists and dictionaries."""
        found = {}
        for prefix, module in self.modules:
            own = {k: v for k, v in vars(module).items() if k not in _OWN}
            for path, value in pytree.tree_flatten_with_path(own)[0]:
                if isinstance(value, (torch.Tensor, int, float, *NUMBERS)):
                    name = str(path[0].key) + pytree.keystr(path[1:])
                    found[f"{prefix}.{name}".lstrip(".")] = value
        return found

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func == torch.Tensor.data.__get__ and not self.parameters.is_one(args[0]):
            return args[0].detach()
        if func == torch.Tensor.data.__set__:
            old, new = args
            if old.shape != new.shape or old.dtype != new.dtype:
                raise self.error(
                    f"the loss function assigns to .data of a tensor of {list(old.shape)} of "
                    f"{str(old.dtype)[6:]} one of {list(new.shape)} of {str(new.dtype)[6:]}; a "
                    "tensor keeps its shape and type")
            if self.parameters.is_one(old):
                self.parameters.write(old, new)
            else:
                old.detach().copy_(new)
            return None
        if getattr(func, "__name__", "") != "__get__":  # Of shape, device and the like.
            for value in pytree.tree_leaves((args, kwargs)):
                self.see(value)
        return self.parameters.call(func, args, kwargs or {})

    def see(self, value) -> None:
        """An operand."""
        if id(value) in self.tensors:
            self.tensors[id(value)] = True
        if type(value) not in (torch.Tensor, torch.nn.Parameter) or id(value) in self.outside \
                or torch._is_functional_tensor(value) \
                or torch._C._functorch.is_functorch_wrapped_tensor(value):
            return
        self.outside[id(value)] = weakref.ref(value)
        if isinstance(value, torch.nn.Parameter) and value.requires_grad \
                and torch.is_grad_enabled():
            self.lost.append(list(value.shape))

    def finish(self) -> None:
        """After the call: writes buffers, and refuses what the next call would not see."""
        if self.lost:
            warnings.warn(
                f"the loss function depends on {len(self.lost)} parameters with requires_grad "
                f"that are no part of the model, such as one of shape {self.lost[0]}: they are "
                "constants of the step and get no gradient; put their module into the model, or "
                "call its requires_grad_(False)", stacklevel=2)
        self.parameters.finish()
        for (prefix, module), old in zip(self.modules, self.given):
            new = dict(module._parameters)
            module._parameters.clear()
            module._parameters.update(old)
            for name, value in new.items():
                if value is not old.get(name) and (name in old or id(value) not in self.own):
                    raise self.error(
                        f"the loss function assigns to the parameter {prefix}.{name}".replace(
                            " .", " ") + ", which would be another one in each step: make it "
                        "before the optimizer, and change its values, as in `with "
                        "torch.no_grad(): weight.copy_(new)`")
        for name, value in self.absent.filled():
            if any(isinstance(t, torch.Tensor) and id(t) not in self.own
                   and self.constants.find(t) is None for t in pytree.tree_leaves(value)):
                raise self.error(
                    f"the loss function finds nothing in the model's attribute {name} and assigns "
                    "a tensor to it, which the next step would not find: call the model once "
                    "before the step is made, or register a buffer that is there from the start")
        self.refuse_parted_buffers()
        writes = []
        for prefix, module, name, old in self.buffers:
            new = module._buffers.get(name)
            if new is old:
                continue
            module._buffers[name] = old
            label = f"{prefix}.{name}".lstrip(".")
            if new is None or new.shape != old.shape or new.dtype != old.dtype:
                found = "None" if new is None else f"{list(new.shape)} of {str(new.dtype)[6:]}"
                raise self.error(
                    f"the loss function assigns to the buffer {label}: expected a tensor of "
                    f"{list(old.shape)} of {str(old.dtype)[6:]}, as it was, found {found}; a "
                    "buffer keeps its shape and type")
            if new.requires_grad:
                raise self.error(f"the loss function assigns to the buffer {label} what has a "
                                 "gradient, which the next step could not follow: assign "
                                 "value.detach()")
            if not self.is_same(old, new):
                writes.append((old, new.detach()))
        # What one buffer gets may be what another one was.
        for old, new in [(old, new.clone() if len(writes) > 1 else new) for old, new in writes]:
            old.copy_(new)
        for name, new in self.read_attributes().items():
            old = self.attributes.get(name)
            if isinstance(old, torch.Tensor):
                if new is not old and self.tensors[id(old)] and not self.is_same(old, new):
                    raise self.error(
                        f"the loss function reads the model's attribute {name} and assigns to "
                        "it, which the next step would not see: register it as a buffer")
            elif old is None and isinstance(new, NUMBERS):
                warnings.warn(f"the loss function keeps a number that .item() takes out of a tensor "
                              f"in the model's attribute {name}, where neither the next step nor "
                              "the caller finds it: return the tensor in the loss function's "
                              "dictionary, or keep numbers that change in a buffer", stacklevel=2)
            elif old is not None and not isinstance(new, torch.Tensor) and (
                    isinstance(new, NUMBERS) or new != old):
                if isinstance(new, NUMBERS):
                    new = "a number that .item() takes out of a tensor"
                remedy = "call the model once before" if isinstance(old, bool) else \
                    "keep numbers that change in a buffer"
                warnings.warn(f"the loss function changes the model's attribute {name} from {old} "
                              f"to {new}: each step computes with {old}; {remedy}", stacklevel=2)

    def refuse_parted_buffers(self) -> None:
        """One buffer of two modules becomes two if one module assigns to it."""
        found: "dict[int, tuple[str, Any]]" = {}
        for prefix, module, name, old in self.buffers:
            label, new = f"{prefix}.{name}".lstrip("."), module._buffers.get(name)
            other, value = found.setdefault(id(old), (label, new))
            if value is not new:
                raise self.error(
                    f"the loss function assigns to one of the buffers {other} and {label}, which "
                    "are one tensor and would be two after it: change its values, as in "
                    "`self.mean.copy_(new)`, or assign to both")

    def is_same(self, old, new) -> bool:
        """Whether both are constants of one value, as in `self.mask = self.mask.to(x.device)`."""
        values = [self.constants.find(t) if isinstance(t, torch.Tensor) else None
                  for t in (old, new)]
        return all(v is not None for v in values) and torch.equal(*values)
