# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX's programs."""
from __future__ import annotations

import jax


def inner_jaxprs(equation):
    """The jaxprs that an equation holds."""
    for value in equation.params.values():
        for inner in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                yield getattr(inner, "jaxpr", inner)


def is_float(value) -> bool:
    return jax.numpy.issubdtype(jax.typeof(value).dtype, jax.numpy.floating)
