# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch that are others while a model or an optimizer is traced, in one thread."""
from __future__ import annotations

import contextlib
import threading

# One thread at a time replaces functions.
export_lock = threading.RLock()


def in_this_thread(patch, original):
    """A function that is `patch` in this thread, and `original` in others."""
    exporting = threading.get_ident()

    def call(*arguments, **named):
        function = patch if threading.get_ident() == exporting else original
        return function(*arguments, **named)
    return call


@contextlib.contextmanager
def patched(patches):
    """While it lasts, `patches`, of an owner, a name and a function each, are in the place of
    the owners' functions, for this thread."""
    absent = object()  # Of what an owner inherits.
    own = [(owner, name, vars(owner).get(name, absent)) for owner, name, _ in patches]
    try:
        for owner, name, patch in patches:
            setattr(owner, name, in_this_thread(patch, getattr(owner, name)))
        yield
    finally:
        for owner, name, value in own:
            if value is not absent:
                setattr(owner, name, value)
            elif name in vars(owner):
                delattr(owner, name)
