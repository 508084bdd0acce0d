# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant tensors whose values decide about the graph of a loss.

A traced tensor has no values, so x[mask], nonzero() and int(index.max()) have no shape. Some
tensors are constants of the graph, however: those in a closure or an attribute of a module,
and buffers with persistent=False. `FoldConstants` computes what is made of these alone beside the
trace. Where a value is asked for, it answers, and what is made of the answers is a constant, too.
"""
from __future__ import annotations

import warnings
from typing import Any, Optional

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.weak import WeakTensorKeyDictionary

from mpt._export.errors import ExportError, note_error
from mpt._export.value_checks import answer_of_check, is_asked_by_model, place_of_call

# Functions whose result, or its shape, depends on values.
_ASKS = {"item", "tolist", "nonzero", "argwhere", "masked_select", "bincount", "_unique2",
         "unique", "unique_consecutive", "unique_dim", "equal", "is_nonzero", "allclose",
         "__bool__", "__int__", "__float__", "__index__", "__contains__"}
_VALUES = {"__bool__", "__index__", "is_nonzero", "item", "tolist"}  # What Python decides by.
_CHANGES = {"__setitem__", *(f"__i{name}__" for name in (
    "add", "and", "div", "floordiv", "lshift", "mod", "mul", "or", "pow", "rshift", "sub",
    "truediv", "xor"))}
_RANDOM = ("bernoulli", "dropout", "exponential", "multinomial", "normal", "poisson", "rand",
           "uniform")
# What makes constants of no tensor.
_FACTORIES = {torch.arange, torch.eye, torch.full, torch.linspace, torch.ones, torch.tensor,
              torch.zeros}
# Comparisons of a random number from [0, 1) with another: whether they are true where that is 1 or
# more, and false where it is 0 or less. That the first one is 0 itself, once in 2^24 times, counts
# as never.
_IS_TRUE_ABOVE = {"lt": True, "le": True, "gt": False, "ge": False}
# Whether values are finite, each of them, and all.
_FINITE = {"isfinite": True, "isnan": False, "isinf": False}
_JOINS = {"all", "any", "logical_and", "logical_or", "__and__", "__or__"}
_MATMULS = {"mm", "mv", "spmm", "matmul", "__matmul__", "sparse_mm", "_sparse_mm"}
# Constants of more elements are not computed for the case that someone asks.
_MANY = 1 << 22


def changes_in_place(name: str, kwargs: "dict[str, Any]") -> bool:
    """Whether a function of PyTorch of this name changes its first operand, or `out`."""
    return name in _CHANGES or name.endswith("_") and not name.endswith("__") \
        or kwargs.get("out") is not None


def _is_bool(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in (torch.bool, torch.uint8)


def _is_sparse(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is not torch.strided


def _multiply_sparse(matrix: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    """Rows of `dense` [K, N], or elements of [K], weighted and added up by a sparse matrix."""
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        entries = matrix.detach().cpu().to_sparse_coo().coalesce()
        rows, columns, values = (t.clone() for t in (*entries.indices(), entries.values()))
        count = entries.shape[0]
    found = values.reshape([-1] + [1] * (dense.dim() - 1)) * dense[columns]
    return found.new_zeros([count, *dense.shape[1:]]).index_add(0, rows, found)


def _make_tensor(data: Any, *, dtype=None, device=None, requires_grad=False,
                 pin_memory=False) -> torch.Tensor:
    """torch.tensor of lists with tensors of one element, which has the values alone."""
    def stack(part):
        if isinstance(part, (list, tuple)):
            return torch.stack([stack(p) for p in part])
        if not isinstance(part, torch.Tensor):
            return torch.tensor(part)
        return part.detach().reshape([]) if isinstance(data, (list, tuple)) else part.detach()

    leaves = pytree.tree_leaves(data)
    if dtype is None and isinstance(data, (list, tuple)) and any(
            part.is_floating_point() if isinstance(part, torch.Tensor) else
            isinstance(part, float) for part in leaves):
        dtype = torch.get_default_dtype()
    found = stack(data)
    return found.clone() if dtype is None else found.to(dtype, copy=True)


def _asks(name: str, args: tuple) -> bool:
    if name == "__getitem__":
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        return any(map(_is_bool, index))
    if name == "repeat_interleave":
        return any(isinstance(a, torch.Tensor) for a in args[1:]) or len(args) == 1
    return name in _ASKS or name == "where" and len(args) == 1


class FoldConstants(TorchFunctionMode):
    """While it lasts, functions of constants answer where a traced tensor could not.

    `constants` are traced tensors and their values. Tensors that are not traced are constants
    by themselves.
    """

    def __init__(self, constants: "dict[torch.Tensor, torch.Tensor]"):
        super().__init__()
        self.values = WeakTensorKeyDictionary()  # of traced tensors
        self.folded = WeakTensorKeyDictionary()  # what stands for traced tensors
        self.copies = WeakTensorKeyDictionary()  # of others that are not traced
        # What holds of tensors until they change in place, with their versions: random numbers
        # from [0, 1), and what depends on one of them.
        self.uniform = WeakTensorKeyDictionary()
        self.drawn = WeakTensorKeyDictionary()
        # Whether values are finite, and what follows from it: what it is if they are.
        self.finite = WeakTensorKeyDictionary()
        for tensor, value in constants.items():
            self.values[tensor] = value

    def find(self, tensor: torch.Tensor) -> "Optional[torch.Tensor]":
        """The values of a constant."""
        if tensor in self.values:
            return self.values[tensor]
        is_plain = type(tensor) is torch.Tensor and not tensor.requires_grad \
            and not torch._is_functional_tensor(tensor) \
            and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        if not is_plain or tensor in self.folded:
            return tensor if is_plain else None
        # What changes a view of it here leaves the user's own alone.
        if tensor not in self.copies:
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                self.copies[tensor] = tensor.detach().cpu().clone()
        return self.copies[tensor]

    def index_by_numbers(self, index: Any) -> Any:
        """An index without masks that are constants."""
        parts = []
        for part in index if isinstance(index, tuple) else (index,):
            mask = self.find(part) if _is_bool(part) else None
            if mask is None:
                parts.append(part)
            else:
                with _disable_current_modes(), torch._C.DisableTorchFunction():
                    parts += [self.keep(i) for i in mask.bool().nonzero(as_tuple=True)]
        return tuple(parts)

    def keep(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            self.folded[value] = True
        return value

    def compute(self, func, args, kwargs) -> Any:
        args, kwargs = pytree.tree_map_only(
            torch.Tensor, self.find, (args, kwargs))
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            return func(*args, **kwargs)

    def repeat_rows(self, x: torch.Tensor, repeats: torch.Tensor, dim: "Optional[int]" = None,
                    output_size: "Optional[int]" = None) -> torch.Tensor:
        """torch.repeat_interleave by numbers that are constants."""
        if dim is None:
            x, dim = x.reshape(-1), 0
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            places = torch.arange(x.shape[dim]).repeat_interleave(self.find(repeats))
        return x.index_select(dim, places)

    def call_sparse(self, func, name: str, args: tuple, kwargs, known: bool) -> Any:
        """Of sparse matrices, which are constants."""
        if known:
            return pytree.tree_map(self.keep, self.compute(func, args, kwargs))
        operands = [a for a in args if isinstance(a, torch.Tensor)]
        if name in _MATMULS and len(operands) == len(args) == 2 and not kwargs \
                and _is_sparse(args[0]) and self.find(args[0]) is not None \
                and not _is_sparse(args[1]) and args[0].dim() == 2 and args[1].dim() in (1, 2):
            return _multiply_sparse(self.find(args[0]), args[1])
        raise ExportError(
            f"the loss function calls {name} of a sparse tensor, which cannot be exported: a "
            "sparse matrix may be multiplied by a dense one, as in torch.sparse.mm(a, x), where it is a "
            "constant, such as a tensor in a closure or an attribute of a module; else pass "
            "a.to_dense(), or its indices and values")

    def compare_drawn(self, name: str, args: tuple, result: torch.Tensor) -> torch.Tensor:
        """Whether random numbers are below or above one that Python knows, as layers do that are
        left out with a probability. With that of 0 or 1 it is a constant."""
        if result.numel() != 1:
            return result  # No decision.
        if 0 < args[1] < 1:
            self.note(self.drawn, result, True)
            return result
        answer = (args[1] >= 1) == _IS_TRUE_ABOVE[name]
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            return self.keep(torch.full(list(result.shape), answer))

    def note(self, notes: WeakTensorKeyDictionary, tensor: torch.Tensor, what: bool) -> None:
        notes[tensor] = what, tensor._version

    def noted(self, notes: WeakTensorKeyDictionary, tensor: Any) -> "Optional[bool]":
        """What was noted of a tensor that has not changed in place since, nor a view of it."""
        what, version = notes.get(tensor, (None, None)) \
            if isinstance(tensor, torch.Tensor) else (None, None)
        return what if what is not None and tensor._version == version else None

    def note_finite(self, name: str, args: tuple, result: Any) -> Any:
        """A result of `isfinite`, or of such results."""
        if isinstance(result, torch.Tensor):
            known = [known for a in args if (known := self.noted(self.finite, a)) is not None]
            if name in _FINITE:
                self.note(self.finite, result, _FINITE[name])
            elif name in ("logical_not", "__invert__", "bitwise_not") and known:
                self.note(self.finite, result, not known[0])
            elif name in _JOINS and known and len(known) == sum(
                    isinstance(a, torch.Tensor) for a in args) and len(set(known)) == 1:
                self.note(self.finite, result, known[0])
        return result

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        order = name.strip("_")
        if order in _IS_TRUE_ABOVE and len(args) == 2 and self.noted(self.uniform, args[0]) \
                and isinstance(args[1], (int, float)):
            return self.compare_drawn(order, args, func(*args, **kwargs))
        if name in ("rand", "rand_like"):
            result = func(*args, **kwargs)
            self.note(self.uniform, result, True)
            return result
        asks = name in ("__bool__", "item", "is_nonzero") and isinstance(args[0], torch.Tensor)
        finite = self.noted(self.finite, args[0]) if asks else None
        if finite is not None and self.find(args[0]) is None:
            answer = answer_of_check()
            if answer is not None:
                return answer
            warnings.warn(
                "the loss function decides by whether values are finite; a step is the one for "
                "finite values" + place_of_call(), stacklevel=2)
            return finite
        if asks and self.noted(self.drawn, args[0]):
            raise ExportError(
                "the loss function decides by a random number, which a step would do once for "
                "all batches: set the probability to 0 (that of layers left out is called "
                "layerdrop or drop_path), or multiply by a mask, as (torch.rand(()) < p) * "
                "layer(x)")
        if name in ("__get__", "__set__"):  # shape, device, grad and the like
            return func(*args, **kwargs)
        leaves = pytree.tree_leaves((args, kwargs))
        tensors = [t for t in leaves if isinstance(t, torch.Tensor)]
        known = all(self.find(t) is not None for t in tensors) \
            and (bool(tensors) or func in _FACTORIES) \
            and not any(word in name for word in _RANDOM) \
            and not any(isinstance(n, (torch.SymInt, torch.SymFloat, torch.SymBool))
                        for n in leaves)
        changes = changes_in_place(name, kwargs)
        folds = any(t in self.folded for t in tensors)
        if changes:
            target = args[0] if kwargs.get("out") is None else kwargs["out"]
            if not known or target not in self.values and target not in self.folded:
                known = False
                # Views of what it changes are constants no more.
                if target in self.values:
                    self.values.clear()
        if func is torch.tensor and tensors:
            return self.keep(self.compute(func, args, kwargs)) if known \
                else _make_tensor(*args, **kwargs)
        if any(map(_is_sparse, tensors)):
            return self.call_sparse(func, name, args, kwargs, known and not changes)
        if not known:
            if name in ("__float__", "__int__") and isinstance(args[0], torch.Tensor):
                raise ExportError(
                    f"the loss function takes {name.strip('_')}() of a tensor, which Python needs the "
                    "value for: compute with the tensor itself, or with .item(), which stands for the "
                    "number in arithmetic; neither may be a size or an index")
            if name in ("__bool__", "is_nonzero") or name == "item" and _is_bool(args[0]):
                answer = answer_of_check()
                if answer is not None:
                    return answer
            if name == "__getitem__" and any(map(_is_bool, pytree.tree_leaves(args[1]))):
                args = (args[0], self.index_by_numbers(args[1]))
            elif name == "repeat_interleave" and len(args) > 1 \
                    and isinstance(args[1], torch.Tensor) and self.find(args[1]) is not None:
                return self.repeat_rows(*args, **kwargs)
            elif name == "masked_select" and len(args) == 2 and self.find(args[1]) is not None \
                    and args[0].shape == args[1].shape:
                return args[0][self.index_by_numbers(args[1])]
            try:
                return self.note_finite(name, args, func(*args, **kwargs))
            except Exception as error:
                if name in _VALUES and is_asked_by_model():
                    note_error(error)
                raise
        if _asks(name, args) or folds and not changes:
            return pytree.tree_map(self.keep, self.compute(func, args, kwargs))
        if changes and target in self.folded:
            return pytree.tree_map(self.keep, self.compute(func, args, kwargs))
        result = func(*args, **kwargs)
        traced = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
        if changes or all(t.numel() <= _MANY for t in traced):
            computed = self.compute(func, args, kwargs)
            self.values.update((one, other) for one, other in zip(
                traced, (t for t in pytree.tree_leaves(computed) if isinstance(t, torch.Tensor))))
        return result
