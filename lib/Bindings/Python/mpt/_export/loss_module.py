# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A loss function as the module that torch.export traces."""
from __future__ import annotations

import random
import sys
import types
import warnings

import torch

from mpt._export.constants import FoldConstants
from mpt._export.errors import ExportError, raise_what_is_caught
from mpt._export.model_changes import ModelChanges
from mpt._export.refusals import refuse_functions
from mpt._export.same_masks import SameMasks
from mpt._export.traced_numbers import NUMBERS, watch_numbers


def _random_states() -> "list[str]":
    """Of the generators that are no tensors' own."""
    numpy = sys.modules.get("numpy")
    return [repr(random.getstate()), repr(numpy.random.get_state()) if numpy else ""]


class LossModule(torch.nn.Module):
    """Calls `loss(model, *batch)`, and finds what the model changes in itself."""

    def __init__(self, model, loss, is_loss):
        super().__init__()
        self.model = model
        self.loss = loss
        self.is_loss = is_loss
        # Of the last call. torch.export restores attributes, but not what is in this one.
        self.found = types.SimpleNamespace(outside=[], written=set())
        # Of buffers that are constants, by name.
        self.constants = {
            name: buffer.detach().cpu().clone() for prefix, part in model.named_modules()
            for name, buffer in ((f"{prefix}.{n}".lstrip("."), part._buffers[n])
                                 for n in part._non_persistent_buffers_set)
            if buffer is not None}

    def forward(self, *batch):
        buffers = dict(self.model.named_buffers())
        constants = FoldConstants({buffers[name]: value for name, value in self.constants.items()
                                   if name in buffers})
        changes = ModelChanges(self.model, constants, ExportError)
        with constants:
            with SameMasks(), changes, changes.watch():
                states = _random_states()
                with watch_numbers(), raise_what_is_caught():
                    result = self.loss(self.model, *batch)
                if self.is_loss and isinstance(result, dict):
                    result = {k: torch.scalar_tensor(v, dtype=torch.float32 if isinstance(
                        v, torch.SymFloat) else torch.int64) if isinstance(v, NUMBERS[:2]) else v
                        for k, v in result.items()}
                if _random_states() != states:
                    warnings.warn(
                        "the loss function draws random numbers by Python's `random` or by numpy, "
                        "which happens once, when the step is made: each step computes with the "
                        "same numbers; draw them by torch.rand, or pass them in the batch",
                        stacklevel=2)
            changes.finish()
        self.found.outside = list(changes.outside.values())
        self.found.written = changes.parameters.written
        if self.is_loss:
            refuse_functions(result.get("loss") if isinstance(result, dict) else result)
        return result
