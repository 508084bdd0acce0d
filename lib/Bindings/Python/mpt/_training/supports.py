# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether MPT can train a model, without compiling it."""
from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

import torch

from mpt import Module
from mpt._diagnostics import Error
from mpt._export.errors import ExportError
from mpt._training.batch import Batch
from mpt._training.compiled import CONVERT
from mpt.torch import export


class Support:
    """Whether MPT has all ops of a model. True or false; as text, what is missing."""

    def __init__(self, problem: str = ""):
        self.problem = problem

    def __bool__(self) -> bool:
        return not self.problem

    def __str__(self) -> str:
        return self.problem or "supported"

    __repr__ = __str__


def supports(model: torch.nn.Module, example: Any = None,
             loss: Optional[Callable[..., Any]] = None) -> Support:
    """Whether a training step can be made of `model`: exports and converts it, and
    compiles nothing. Without `example` that of the model is taken: `dummy_inputs`, as
    models of transformers have it, or Lightning's `example_input_array`. Without `loss`,
    the sum of all floating-point tensors that the model returns is differentiated."""
    def total(model, *batch):
        leaves = torch.utils._pytree.tree_leaves(model(*batch))
        return sum(t.sum() for t in leaves
                   if isinstance(t, torch.Tensor) and t.is_floating_point())

    def total_by_name(model, **batch):
        return total(lambda: model(**batch))

    for name in ("dummy_inputs", "example_input_array"):
        if example is None:
            example = getattr(model, name, None)
    if example is None:
        raise Error("supports: expected an example, one batch of tensors: the model has "
                    "neither dummy_inputs nor example_input_array")
    if loss is None:
        loss = total_by_name if isinstance(example, Mapping) else total
    batch = Batch(loss, example)
    try:
        exported = export(model, batch.loss, batch.example, names=batch.keys)
        Module(exported.text, "loss").run(f"{CONVERT},mpt-autodiff")
    except (ExportError, Error) as error:
        return Support(str(error))
    return Support()
