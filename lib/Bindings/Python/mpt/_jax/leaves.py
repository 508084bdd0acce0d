# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leaves of trees: their names, and arrays and random keys as MPT keeps them."""
from __future__ import annotations

import jax
import numpy

from mpt._names import rename


def spell_path(path) -> str:
    """A leaf's place in a tree as a name: ("dense", 0, "kernel") is dense.0.kernel."""
    parts = []
    for entry in path:
        for attribute in ("key", "idx", "name"):
            if hasattr(entry, attribute):
                parts.append(str(getattr(entry, attribute)))
                break
        else:
            parts.append(str(entry))
    return ".".join(parts)


def name_leaves(tree, prefix: str, taken) -> "list[str]":
    names = []
    for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]:
        # Parameters may be one array.
        name = rename(".".join(filter(None, (prefix, spell_path(path)))) or "params", taken)
        taken.add(name)
        names.append(name)
    return names


def widen(value):
    """Parameters of 16 bits as optimizers see them: in f32, as their masters are."""
    value = to_array(value)
    return value.astype("float32") if value.dtype.itemsize == 2 else value


def to_array(value) -> numpy.ndarray:
    """With the type that JAX gives it: without jax_enable_x64 numbers have 32 bits."""
    array = numpy.asarray(value)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)


def spell_array(array: numpy.ndarray) -> numpy.ndarray:
    """In C order, unsigned integers as the signless ones that MPT has."""
    shape = array.shape
    array = numpy.ascontiguousarray(array)
    if array.dtype.kind == "u":
        array = array.view(f"i{array.dtype.itemsize}")
    return array.reshape(shape)


def is_key(value) -> bool:
    return isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype,
                                                                  jax.dtypes.prng_key)


def strip_keys(tree):
    """Typed random keys as the integers that they hold."""
    return jax.tree.map(lambda x: jax.random.key_data(x) if is_key(x) else x, tree)


def describe_array(kind, array: numpy.ndarray) -> str:
    """A random key, or an array."""
    return f"a random key of {kind}" if kind is not None \
        else f"{array.dtype} of shape {array.shape}"
