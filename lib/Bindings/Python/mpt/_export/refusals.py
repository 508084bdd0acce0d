# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models and calls that are refused, since tracing would lose what they mean."""
from __future__ import annotations

import contextlib
import inspect
import threading
from typing import Any

import torch

from mpt._export import inner_gradients
from mpt._export.autograd_functions import apply_function, replace_bound_applies
from mpt._export.errors import ExportError
from mpt._patches import patched


@contextlib.contextmanager
def refuse_what_tracing_loses():
    """While it lasts, calls that a traced graph does not show are errors."""
    def refuse(what, remedy):
        def call(*arguments, **named):
            raise ExportError(f"the loss function calls {what}, which cannot be exported: "
                              f"{remedy}")
        return call

    refuse_backward = refuse("backward()", "MPT differentiates the loss itself; for gradients "
                             "inside of it call torch.autograd.grad")
    refuse_nested = refuse("torch.nested", "pad the sequences, as torch.nn.utils.rnn.pad_sequence "
                           "does, and mask what comes after each one's end")
    patches = [*inner_gradients.patches(refuse_backward),
               (torch.Tensor, "backward", refuse_backward),
               (torch._VF, "_pack_padded_sequence",
                refuse("pack_padded_sequence", "run the layer over the padded tensor, and mask "
                       "what comes after each sequence's end")),
               *((torch.nested, name, refuse_nested) for name in (
                   "nested_tensor", "as_nested_tensor", "nested_tensor_from_jagged")
                 if hasattr(torch.nested, name))]
    with patched(patches):
        yield


def _refuse_function(function: type) -> None:
    """A torch.autograd.Function that is not PyTorch's is an error where its gradient is lost."""
    if not function.__module__.startswith("torch."):
        raise ExportError(
            f"the loss function calls the torch.autograd.Function {function.__name__} by an "
            "`apply` that was looked up before, which loses its backward(): call "
            f"{function.__name__}.apply(...)")


def refuse_functions(loss: Any) -> None:
    """Also finds those whose `apply` was looked up before the export."""
    node = loss.grad_fn if isinstance(loss, torch.Tensor) else None
    waiting, seen = [node], {None, node}
    while waiting:
        node = waiting.pop()
        if node is None:
            continue
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            _refuse_function(node._forward_cls)
        following = {n for n, _ in node.next_functions} - seen
        seen |= following
        waiting += following


@contextlib.contextmanager
def refuse_own_gradients(model: torch.nn.Module):
    """While it lasts, what gives a value another gradient than its formula has is an error. A
    traced graph has the formula only."""
    exporting = threading.get_ident()
    own = inspect.getattr_static(torch.autograd.Function, "apply")

    def apply(cls, *arguments, **named):
        if threading.get_ident() == exporting and torch.is_grad_enabled() \
                and not cls.__module__.startswith("torch.") \
                and any(isinstance(a, torch.Tensor) and a.requires_grad
                        for a in [*arguments, *named.values()]):
            return apply_function(cls, arguments, named)
        return own.__get__(None, cls)(*arguments, **named)

    def refuse(*arguments, **named):
        raise ExportError("the loss function calls register_hook of a tensor, which cannot be "
                          "exported: write what the gradient shall be as a formula with "
                          ".detach(), as in `s * x + ((1 - s) * x).detach()` for s times the "
                          "gradient of x")

    with patched([(torch.Tensor, "register_hook", refuse)]):
        torch.autograd.Function.apply = classmethod(apply)
        try:
            with replace_bound_applies(list(model.modules())):
                yield
        finally:
            torch.autograd.Function.apply = own


def refuse_kinds(model: torch.nn.Module) -> None:
    """Models that torch.export refuses without saying what to do, or traces as something else."""
    kinds = {c.__name__ for c in type(model).__mro__}
    for kind, remedy in (
            ("DistributedDataParallel",
             "pass model.module, and TrainStep parallel=\"data\", which averages gradients"),
            ("FullyShardedDataParallel", "pass the model before it is sharded, and TrainStep "
             "parallel=\"zero3\", which cuts it between processes"),
            ("FSDPModule", "pass the model before fully_shard, and TrainStep "
             "parallel=\"zero3\", which cuts it between processes"),
            ("ScriptModule", "pass the module that it was made of")):
        if kind in kinds and "TopLevelTracedModule" not in kinds:
            raise ExportError(f"the model is a {kind}, which cannot be exported: {remedy}")
    lying: "list[tuple[int, int, str, torch.Tensor]]" = []
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if isinstance(tensor, (torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer)):
            raise ExportError(f"{name} has no shape yet: call the model once before the optimizer "
                              "is made")
        if tensor.is_meta:
            raise ExportError(f"{name} is on the device meta and has no values: call "
                              "model.to_empty(device=\"cpu\") and load or initialize them")
        if tensor.layout is not torch.strided:
            raise ExportError(f"{name} is no dense tensor but of {tensor.layout}: keep a sparse "
                              "matrix as an attribute that is no buffer, which makes it a constant")
        if tensor.numel() and tensor.is_contiguous() \
                and type(tensor) in (torch.Tensor, torch.nn.Parameter):
            start = tensor.data_ptr()
            lying.append((start, start + tensor.numel() * tensor.element_size(), name, tensor))
    lying.sort(key=lambda entry: entry[:2])
    for (_, end, name, tensor), (start, _, other, second) in zip(lying, lying[1:]):
        if start < end and (tensor.requires_grad or second.requires_grad):
            raise ExportError(f"{name} and {other} lie in the same memory, and would be two "
                              "tensors: make them one parameter, or copy one by .clone()")


def refuse_hooks(model: torch.nn.Module) -> None:
    """Hooks that see or change gradients are errors: none of them would be called."""
    for name, parameter in model.named_parameters():
        for attribute, register in (
                ("_backward_hooks", "register_hook"),
                ("_post_accumulate_grad_hooks", "register_post_accumulate_grad_hook")):
            if parameter.requires_grad and getattr(parameter, attribute, None):
                raise ExportError(f"the parameter {name} has a hook ({register}) that would not "
                                  "be called; remove it")
    for name, module in model.named_modules():
        for attribute, register in (("_backward_hooks", "register_full_backward_hook"),
                                    ("_backward_pre_hooks", "register_full_backward_pre_hook")):
            if getattr(module, attribute, None):
                raise ExportError(f"the module {name or type(module).__name__} has a hook "
                                  f"({register}) that would not be called; remove it")
