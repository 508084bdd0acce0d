# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MPT from Python.

`mpt.torch.TrainStep` trains a PyTorch model; `mpt.torch.export` writes it for mpt-opt and
mpt-run, and needs no more than the sources. `Module` is a module of MLIR that passes run
on, `Program` a compiled function with its state.
"""
from typing import TYPE_CHECKING

from mpt._diagnostics import Diagnostic, Error

if TYPE_CHECKING:
    from mpt._core import Module, Program, Ranks, TensorInfo, version

__all__ = ["Diagnostic", "Error", "Module", "Program", "Ranks", "TensorInfo", "version"]


def __getattr__(name):
    # On first use: export works without the library.
    if name in ("Module", "Program", "Ranks", "TensorInfo", "version"):
        try:
            from mpt import _core
        except ImportError as error:
            raise ImportError(
                "mpt's library is not here: build MPT with nanobind and put build/python on "
                f"PYTHONPATH, or pip install lib/Bindings/Python ({error})") from error
        return getattr(_core, name)
    raise AttributeError(f"module 'mpt' has no attribute '{name}'")
