# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A batch of a training step, as it is passed."""
from __future__ import annotations

from typing import Mapping, Sequence

import torch

from mpt._diagnostics import Error


class Batch:
    """Names, types and ranks of a batch, given as tensors in order or by name."""

    def __init__(self, loss, example):
        self.keys = None
        self.loss = loss
        if isinstance(example, Mapping):
            self.keys = keys = [str(k) for k in example]
            self.loss = lambda model, *values: loss(model, **dict(zip(keys, values)))
            example = tuple(example.values())
        elif isinstance(example, torch.Tensor) or not isinstance(example, Sequence):
            example = (example,)
        self.example = tuple(to_tensor(value, f"example[{index}]")
                             for index, value in enumerate(example))
        if not self.example:
            raise Error("example: expected one batch, found no tensor")
        self.names: "list[str]" = []
        self.dtypes = [t.dtype for t in self.example]
        self.ranks = [t.dim() for t in self.example]

    def values(self, arguments, named):
        """The tensors of a call in order."""
        if self.keys is None:
            if named:
                raise Error(f"expected tensors in the order {', '.join(self.names)}, found "
                            f"the names {', '.join(named)}; to pass them by name, give "
                            "TrainStep a dictionary as example")
            values = arguments
        else:
            given = dict(arguments[0]) if arguments else {}
            given.update(named)
            if set(given) != set(self.keys):
                raise Error(f"expected a batch of {', '.join(self.keys)}, found "
                            f"{', '.join(map(str, given)) or 'nothing'}")
            values = [given[key] for key in self.keys]
        if len(values) != len(self.dtypes):
            raise Error(f"expected {len(self.dtypes)} tensors ({', '.join(self.names)}), "
                        f"found {len(values)}")
        return values


def to_tensor(value, what: str) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value
    if hasattr(value, "__array_interface__"):
        return torch.tensor(in_order(value))
    if hasattr(value, "__dlpack__"):
        return torch.from_dlpack(value)
    raise Error(f"{what}: expected a tensor, or an array with __dlpack__, found "
                f"{type(value).__name__}")


def in_order(array):
    """An array with __array_interface__, or a copy whose elements lie in row-major order."""
    if array.__array_interface__.get("strides") is None:
        return array
    import numpy
    return numpy.ascontiguousarray(array)
