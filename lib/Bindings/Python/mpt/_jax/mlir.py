# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jaxlib's MLIR."""
from __future__ import annotations

import jax

from mpt._diagnostics import Error


def import_mlir():
    """jaxlib's MLIR, in which JAX's programs are."""
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import chlo, sdy, stablehlo
        stablehlo.serialize_portable_artifact
        stablehlo.deserialize_portable_artifact
    except (ImportError, AttributeError) as error:
        raise Error(f"jax {jax.__version__}: its jaxlib has no MLIR in Python as MPT expects it "
                    f"({error}); MPT knows jax 0.10") from error
    return ir, (chlo, sdy, stablehlo)
