# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a model cannot be exported."""
from __future__ import annotations

import re

import torch

from mpt._source_lines import line_of


class ExportError(RuntimeError):
    """A model that cannot be exported. The message says why, and what to change."""


def fail_at(node: torch.fx.Node, message: str) -> None:
    """An error at the line of a node."""
    place = line_of(node)
    raise ExportError(f"{place[0]}:{place[1]}: {message}" if place else message)


def short_message(error: BaseException) -> str:
    """PyTorch's message without its advice about logs and about other ways of exporting."""
    return re.split(r"\n\s*\n|\n(?:Caused by:|For more information, run with)",
                    str(error).strip(), maxsplit=1)[0] or type(error).__name__


def remedy_of(error: BaseException) -> str:
    """What to change in the model, where PyTorch's message does not say it."""
    text, kind = str(error), type(error).__name__
    if "data-dependent" in text or kind.startswith(("DataDependent", "DynamicOutputShape")):
        return ("\nThe graph of a step is the same for all batches: where Python decides by "
                "the values of tensors (if, .item(), x[mask], nonzero), use torch.where, or "
                "decide outside of the loss function, or by tensors that are constants: those "
                "in a closure, and buffers with persistent=False")
    if "higher order operator" in text:
        return ("\nHigher-order ops, such as torch.cond, scan and while_loop, have no counterpart: "
                "for torch.cond compute both and choose by torch.where, for scan write a loop of "
                "Python")
    if kind == "UnsupportedOperatorException":
        return "\nPyTorch cannot trace this op; write the loss without it"
    return ""
