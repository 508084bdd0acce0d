# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes that a call of a model finds absent, or None, before it assigns them."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

import torch

from mpt._patches import patched


class AbsentAttributes:
    """Notes which attributes of a model's modules a call finds None or not there at all, and
    which it has not assigned itself before. A cache that is filled when it is empty is one."""

    def __init__(self, modules: "list[tuple[str, torch.nn.Module]]"):
        self.prefixes = {id(module): prefix for prefix, module in modules}
        self.modules = modules
        # By module and name: whether it was read, and not assigned, first.
        self.found: "dict[tuple[int, str], bool]" = {}

    @contextlib.contextmanager
    def watch(self) -> "Iterator[None]":
        """While it lasts, attributes of modules are watched."""
        own, missing, assign = object.__getattribute__, torch.nn.Module.__getattr__, \
            torch.nn.Module.__setattr__

        def note(module, name, is_read):
            if id(module) in self.prefixes:
                self.found.setdefault((id(module), name), is_read)

        def get(module, name):
            value = own(module, name)
            if value is None:
                note(module, name, True)
            return value

        def get_missing(module, name):
            try:
                value = missing(module, name)
            except AttributeError:
                note(module, name, True)
                raise
            if value is None:
                note(module, name, True)
            return value

        def set_value(module, name, value):
            note(module, name, False)
            assign(module, name, value)

        with patched([(torch.nn.Module, "__getattribute__", get),
                      (torch.nn.Module, "__getattr__", get_missing),
                      (torch.nn.Module, "__setattr__", set_value)]):
            yield

    def filled(self) -> "Iterator[tuple[str, Any]]":
        """Names and values of the attributes that were read first, and are there now. Buffers
        among them are None again."""
        modules = {id(module): module for _, module in self.modules}
        for (number, name), is_read in self.found.items():
            module = modules[number]
            value = vars(module).get(name)
            if is_read and value is None and module._buffers.get(name) is not None:
                value, module._buffers[name] = module._buffers[name], None
            if is_read and value is not None:
                yield f"{self.prefixes[number]}.{name}".lstrip("."), value
