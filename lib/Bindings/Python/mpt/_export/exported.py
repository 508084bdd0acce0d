# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an export gives."""
from __future__ import annotations

import os
import weakref
from typing import Any, Callable, Collection, Optional, Sequence

import torch

from mpt._export.errors import ExportError


class Exported:
    """A loss function as text, and the values of its parameters and buffers.

    `text` is an MLIR module. `weights` maps the `mpt.name` of each parameter and buffer
    to its tensor. That is its name in `model.state_dict()`, with a `_` if MPT keeps that
    name for itself (`lr_`, `mpt_.weight`). Files, and programs, have a complex tensor as one
    of its real and imaginary parts, in a last dimension (`torch.view_as_real`). `names` are the `mpt.name`s of the batch,
    in order. `results` maps the `mpt.name` of each result of the loss function to its key
    there. `trained` are the names in `weights` of parameters that have a gradient, and `written`
    of those among them that the loss function changes. `outside` are weak references to tensors
    that the loss function reads and that are no part of the model: constants of the text.
    """

    def __init__(self, text: str, weights: "dict[str, torch.Tensor]",
                 names: "Sequence[str]" = (), results: "Optional[dict[str, str]]" = None,
                 trained: "Collection[str]" = (),
                 outside: "Sequence[weakref.ref[torch.Tensor]]" = (),
                 written: "Collection[str]" = ()):
        self.text = text
        self.weights = weights
        self.names = list(names)
        self.results = dict(results or {})
        self.trained = frozenset(trained)
        self.outside = list(outside)
        self.written = frozenset(written)

    def save(self, path: str, weights: Optional[str] = None) -> None:
        """Writes the text to `path` and the values to `weights`, a .safetensors file."""
        _write(path, lambda name: open(name, "w", encoding="utf-8").write(self.text))
        if weights is not None:
            try:
                from safetensors.torch import save_file
            except ImportError as error:
                raise ExportError("writing weights needs the package safetensors: "
                                  "pip install safetensors") from error
            tensors = {name: real_view(tensor.detach()).cpu().clone().contiguous()
                       for name, tensor in self.weights.items()}
            _write(weights, lambda name: save_file(tensors, name))


def _write(path: str, write: Callable[[str], Any]) -> None:
    """Nothing half-written stays under `path`."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def real_view(tensor: torch.Tensor) -> torch.Tensor:
    """What programs hold of a tensor: of a complex one the real and imaginary parts, in a last
    dimension."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def restore(value: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """What a program holds of a tensor, as one of the type of `like`."""
    if like.is_complex():
        value = torch.view_as_complex(value.to(like.real.dtype).contiguous())
    return value.to(like.dtype)
