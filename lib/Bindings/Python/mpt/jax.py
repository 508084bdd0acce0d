# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX and MPT.

`train_step` trains a loss written in JAX on MPT. `autocast` gives a JAX function back in
mixed precision, for XLA. `generic` prints StableHLO as MPT's tools read it, as does
`python -m mpt.jax FILE`.
"""
from __future__ import annotations

import os
import pathlib
import sys
from typing import Union

import jax

from mpt._diagnostics import Error
from mpt._jax.autocast import autocast
from mpt._jax.marks import grad_seed, gradients
from mpt._jax.mlir import import_mlir
from mpt._jax.train_step import TrainStep, train_step
from mpt._stablehlo import inline_calls
from mpt._step import StepResult

__all__ = ["StepResult", "TrainStep", "autocast", "generic", "grad_seed", "gradients",
           "train_step"]


def generic(source: Union[str, bytes, "os.PathLike[str]"], *, inline: bool = False) -> str:
    """StableHLO in MLIR's generic form, which mpt-opt reads.

    source: a module's text, the bytes of a portable artifact (`jax.export`'s
        `mlir_module_serialized`), or the path of a file with either: a path object, or a string
        of one line that names a file. Text may be StableHLO's own syntax, as `as_text()` prints
        it, or VHLO's. jaxlib reads it, and upgrades artifacts of older versions.
    inline: calls of private functions become what they call, as --mpt-rematerialize needs it.
    """
    ir, dialects = import_mlir()
    name = "the module"
    if isinstance(source, os.PathLike) or isinstance(source, str) and "\n" not in source \
            and os.path.isfile(source):
        name = os.fspath(source)
        with open(name, "rb") as file:
            source = file.read()
    if isinstance(source, str):
        source = source.encode()
    # A context of JAX has the dialects that its modules use.
    context = jax.jit(lambda: 0).lower().compiler_ir("stablehlo").context
    for dialect in dialects:
        dialect.register_dialect(context)
    # Bytecode says after its magic number and version who wrote it.
    portable = source[5:].startswith(b"StableHLO_") if source.startswith(b"ML\xefR") \
        else b"vhlo." in source
    with context, ir.Location.unknown():
        try:
            module = dialects[-1].deserialize_portable_artifact(context, source) if portable \
                else ir.Module.parse(source)
        except Exception as error:
            raise Error(f"{name}: jaxlib cannot read it: {error}") from error
        if inline:
            try:
                inline_calls(module, ir)
            except ValueError as error:
                raise Error(f"{name}: {error}") from error
        return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    inlined = given[:1] == ["--inline"]
    if len(given) != 1 + inlined or given[-1].startswith("-"):
        sys.exit("usage: python -m mpt.jax [--inline] FILE: prints the StableHLO in FILE in MLIR's "
                 "generic form, with --inline without calls")
    try:
        print(generic(pathlib.Path(given[-1]), inline=inlined))
    except (Error, OSError) as error:
        sys.exit(f"mpt.jax: {error}")
