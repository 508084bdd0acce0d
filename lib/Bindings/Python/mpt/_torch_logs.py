# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PyTorch writes while it exports a model."""
from __future__ import annotations

import contextlib
import logging
import sys
import threading


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
