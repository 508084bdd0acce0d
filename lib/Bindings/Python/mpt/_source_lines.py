# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines of Python that errors and ops name: those of a model or a loss."""
from __future__ import annotations

import os
import re
import sysconfig
import traceback
from typing import Optional

import torch

# Whose lines say nothing about a model. With a separator: torchvision is not PyTorch.
_OWN_FOLDERS = tuple(os.path.join(folder, "") for folder in (
    os.path.dirname(torch.__file__), os.path.dirname(os.path.abspath(__file__))))
_PYTHON_FOLDER = os.path.join(sysconfig.get_path("stdlib"), "")


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
