# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that `.item()` takes out of traced tensors.

PyTorch traces them as symbols, which Python computes with as with numbers. A step has the tensor
instead. Python cannot make a number or a text of a symbol; that is an error or a warning here.
"""
from __future__ import annotations

import builtins
import contextlib
import math
import operator
import sys
import warnings
from typing import Any, Callable, Optional

import torch

from mpt._export.errors import ExportError, is_of_model, note_error
from mpt._patches import patched

_aten = torch.ops.aten
NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool)
# Arithmetic of numbers, as ops of tensors.
ARITHMETIC: "dict[Callable, Any]" = {
    operator.mul: _aten.mul, operator.add: _aten.add, operator.sub: _aten.sub,
    operator.truediv: _aten.div, operator.floordiv: _aten.floor_divide,
    operator.mod: _aten.remainder, operator.pow: _aten.pow, operator.neg: _aten.neg,
    operator.abs: _aten.abs, operator.pos: _aten.clone, torch.sym_max: _aten.maximum,
    torch.sym_min: _aten.minimum, builtins.round: _aten.round, math.floor: _aten.floor,
    math.ceil: _aten.ceil, math.trunc: _aten.trunc}
if hasattr(torch, "_sym_sqrt"):
    ARITHMETIC[torch._sym_sqrt] = _aten.sqrt
# Functions of module math that have no symbol.
_FUNCTIONS = ("cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log", "log2",
              "log10", "log1p", "erf")
# Of these a float becomes an integer.
TO_INTEGER = {math.floor, math.ceil, math.trunc, builtins.round}
# Overloads whose operands are all tensors.
_OF_TENSORS = ("Tensor", "Tensor_Tensor", "Tensor_mode", "self", "default")


def overload_of_tensors(target: torch._ops.OpOverload, names: "set[str]") \
        -> "Optional[torch._ops.OpOverload]":
    """The overload of the same op that takes tensors for `names`, where `target` takes numbers."""
    given = [a.name for a in target._schema.arguments]
    for name in _OF_TENSORS:
        found = getattr(target.overloadpacket, name, None)
        if found is None or found is target and name == "default":
            continue
        kinds = {a.name: str(a.type) for a in found._schema.arguments}
        if list(kinds) == given and all(kinds[n] in ("Tensor", "Optional[Tensor]") for n in names):
            return found
    return None


def _asking_frame():
    """The frame of the model's code that asks for a value, or None if other code does. Frames of
    Python's `logging` and `string` are passed over."""
    frame = sys._getframe(2)
    while frame is not None and "mpt" in frame.f_globals.get("__name__", "").split(".")[:1]:
        frame = frame.f_back
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
            "logging", "string"):
        frame = frame.f_back
    return frame if frame is not None and is_of_model(frame.f_code.co_filename) else None


@contextlib.contextmanager
def watch_numbers():
    """Meanwhile, making a text of a symbol is a warning. Making a Python number of one is an error,
    even where the model catches it."""
    warned = set()

    def as_text(original):
        def text(self, *form):
            frame = _asking_frame()
            if frame is None:
                return original(self, *form)
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            if place not in warned:
                warned.add(place)
                warnings.warn(
                    "the loss function makes a text of a number that .item() takes out of a tensor, "
                    "which happens once, when the step is made, where the number has no value: "
                    "return the tensor in the loss function's dictionary, and write it after "
                    f"the step\n  at {place}", stacklevel=2)
            return "(a number of the batch)"
        return text

    def refuse(what, original):
        def convert(self):
            if _asking_frame() is None:
                return original(self)
            raise ExportError(
                f"the loss function makes {what} of a number that .item() takes out of a tensor, "
                "as math's functions and \"%f\" do, too: compute with the number, or with "
                "the tensor by functions of torch")
        return convert

    def sqrt(value):
        return torch._sym_sqrt(torch.sym_float(value)) if isinstance(value, NUMBERS) \
            else math_sqrt(value)

    def noting(original):
        def decide(self):
            try:
                return original(self)
            except Exception as error:
                if _asking_frame() is not None:
                    note_error(error)
                raise
        return decide

    def refuse_function(name, original):
        def call(*values):
            if not isinstance(values[0], NUMBERS):
                return original(*values)
            raise ExportError(f"the loss function calls math.{name} of a number that .item() takes "
                              f"out of a tensor: call torch.{name} of the tensor")
        return call

    def exp(value):
        return math.e ** torch.sym_float(value) if isinstance(value, NUMBERS) else math_exp(value)

    def choose(python, symbolic):
        def call(*values, **named):
            if len(values) < 2 or named or not any(isinstance(v, NUMBERS) for v in values) \
                    or not all(isinstance(v, (int, float, *NUMBERS)) for v in values):
                return python(*values, **named)
            found = values[0]
            for value in values[1:]:
                found = symbolic(found, value)
            return found
        return call

    math_sqrt, math_exp = math.sqrt, math.exp
    patches = [(kind, name, as_text(getattr(kind, name)))
               for kind in (torch.SymInt, torch.SymFloat)
               for name in ("__repr__", "__str__", "__format__")]
    patches += [(torch.SymFloat, "__float__", refuse("a float", torch.SymFloat.__float__)),
                (torch.SymFloat, "__int__", refuse("an int", torch.SymFloat.__int__)),
                *((kind, name, noting(getattr(kind, name))) for kind, name in (
                    (torch.SymBool, "__bool__"), (torch.SymInt, "__int__"),
                    (torch.SymInt, "__index__"))),
                (builtins, "max", choose(builtins.max, torch.sym_max)),
                (builtins, "min", choose(builtins.min, torch.sym_min)),
                (math, "exp", exp)]
    patches += [(math, name, refuse_function(name, getattr(math, name))) for name in _FUNCTIONS]
    if hasattr(torch, "_sym_sqrt"):
        patches.append((math, "sqrt", sqrt))
    with patched(patches):
        yield
