# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a model cannot be exported, at which line of it, and what PyTorch writes beside that."""
from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import sysconfig
import threading
import traceback
from typing import Optional

import torch

# Whose lines say nothing about a model. With a separator: torchvision is not PyTorch.
_OWN_FOLDERS = tuple(os.path.join(folder, "") for folder in (
    os.path.dirname(torch.__file__),
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_PYTHON_FOLDER = os.path.join(sysconfig.get_path("stdlib"), "")


# What goes wrong while a loss function runs, which may catch it: by thread.
_noted: "dict[int, list[BaseException]]" = {}


class ExportError(RuntimeError):
    """A model that cannot be exported. The message says why, and what to change."""

    def __init__(self, *message):
        super().__init__(*message)
        note_error(self)


def note_error(error: BaseException) -> None:
    _noted.get(threading.get_ident(), []).append(error)


@contextlib.contextmanager
def raise_what_is_caught():
    """At the end, raises the first error that was noted meanwhile: code that catches it goes on as if
    a value had been the reason."""
    own = threading.get_ident()
    before, _noted[own] = _noted.get(own), []
    try:
        yield
        if _noted[own]:
            raise _noted[own][0]
    finally:
        del _noted[own]
        if before is not None:
            _noted[own] = before


def is_of_model(file: str) -> bool:
    """Whether a file is neither PyTorch's nor MPT's own nor of Python's library."""
    if file.startswith(_PYTHON_FOLDER):
        # Packages may be installed there.
        return "site-packages" in file or "dist-packages" in file
    return not file.startswith((*_OWN_FOLDERS, "<"))


def line_of(node: torch.fx.Node) -> "Optional[tuple[str, str]]":
    """File and number of the innermost line of the model or the loss."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    if not frames:
        return None
    return next((f for f in reversed(frames) if is_of_model(f[0])), frames[-1])


def raised_at(error: BaseException) -> str:
    """The innermost line of the model or the loss that was running."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if is_of_model(f.filename)]
    return "\n  at {0.filename}:{0.lineno}: {0.line}".format(frames[-1]) if frames else ""


def fail_at(node: torch.fx.Node, message: str) -> None:
    """An error at the line of a node."""
    place = line_of(node)
    raise ExportError(f"{place[0]}:{place[1]}: {message}" if place else message)


def short_message(error: BaseException) -> str:
    """PyTorch's message without its advice about logs and about other ways of exporting."""
    return re.split(r"\n\s*\n|\n(?:Caused by:|For more information, run with)",
                    str(error).strip(), maxsplit=1)[0] or type(error).__name__


# A line that may ask whether a mask chooses any row.
_ASKS_FOR_ANY = re.compile(r"\bif\b.*(\.any\(\)|\.numel\(\)|\.sum\(\)|\.shape\[0\])")


def remedy_of(error: BaseException) -> str:
    """What to change in the model, where PyTorch's message does not say it."""
    text, kind = str(error), type(error).__name__
    if "specialized integer" in text:
        return ("\nint(), float(), len() and range() want numbers of Python, which the graph of a step "
                "has not: compute with the tensor, or with x.shape[0] in place of len(x)")
    if "unhashable type" in text and "Sym" in text:
        return ("\nA number that .item() takes out of a tensor has no value while the graph is made, "
                "and is no key of a dictionary or set: let constants be the keys")
    if "data-dependent" in text or kind.startswith(("DataDependent", "DynamicOutputShape")):
        return ("\nThe graph of a step is the same for all batches: where Python decides by "
                "the values of tensors (if, .item(), tolist), use torch.where, or "
                "decide outside of the loss function, or by tensors that are constants: those "
                "in a closure, and buffers with persistent=False"
                + ("\nWhether a mask chooses any row need not be asked: x[mask] of none adds nothing "
                   "to sums and writes" if _ASKS_FOR_ANY.search(raised_at(error)) else ""))
    if "higher order operator" in text:
        return ("\nHigher-order ops, such as torch.cond, scan and while_loop, have no counterpart: "
                "for torch.cond compute both and choose by torch.where, for scan write a loop of "
                "Python")
    if ".numpy()" in text:
        return ("\nnumpy and scipy cannot read traced tensors: compute outside of the loss function "
                "what they find, such as a matching by linear_sum_assignment, and pass it in the batch")
    if "'NoneType' object" in text and "/transformers/" in raised_at(error).replace(os.sep, "/"):
        return ("\ntransformers leaves out masks that are None while a model is traced: pass "
                "attention_mask, and decoder_attention_mask where there is a decoder")
    if kind == "UnsupportedOperatorException":
        return "\nPyTorch cannot trace this op; write the loss without it"
    return ""


@contextlib.contextmanager
def without_logs():
    """While it lasts, PyTorch writes neither tracebacks nor the graph of a model that it
    refuses: the error says why. Whoever asked for logs (TORCH_LOGS) gets them."""
    exporting = threading.get_ident()

    def printing(*values, file=None, **named):
        if file is not sys.stderr or threading.get_ident() != exporting:
            print(*values, file=file, **named)

    loggers = [logging.getLogger(name) for name in (
        "torch.export._trace", "torch.fx.experimental.symbolic_shapes",
        "torch._subclasses.fake_tensor")]
    loggers = [(logger, logger.level) for logger in loggers
               if logger.getEffectiveLevel() >= logging.WARNING]
    try:
        import torch.export._trace as trace
    except ImportError:  # Other releases of PyTorch may have no such module.
        trace = None
    try:
        for logger, _ in loggers:
            logger.setLevel(logging.CRITICAL)
        if trace is not None:
            trace.print = printing  # Hides the built-in one from this module of PyTorch's.
        yield
    finally:
        for logger, level in loggers:
            logger.setLevel(level)
        if trace is not None:
            vars(trace).pop("print", None)
