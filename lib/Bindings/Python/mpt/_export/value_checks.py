# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of values, as `assert (x > 0).all()` and `if x.isnan().any(): raise ..`.

A traced tensor has no value to answer with. Where one of both answers does nothing but raise an
error, the other one is what the graph of a step is made of.
"""
from __future__ import annotations

import bisect
import dis
import functools
import os
import sys
import types
from typing import Optional

import torch

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LOSS = os.path.join(_OWN, "_export", "loss_module.py")
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_SKIPPED = {"CACHE", "EXTENDED_ARG", "NOT_TAKEN", "NOP", "PRECALL", "TO_BOOL"}
# What may follow a jump without leaving the way to an error.
_ENDS = ("JUMP", "POP_JUMP", "RETURN", "STORE", "DELETE", "YIELD", "FOR_ITER", "RERAISE", "SEND")


@functools.lru_cache(maxsize=64)
def _instructions(code: types.CodeType):
    found = list(dis.get_instructions(code))
    return found, {one.offset: place for place, one in enumerate(found)}


def _raises(code: types.CodeType, offset: int) -> bool:
    """Whether an error is all that comes from `offset` on: `raise`, or torch._assert(False, ..)."""
    found, places = _instructions(code)
    is_assertion = False
    for one in found[places[offset]:]:
        if one.opname == "RAISE_VARARGS" or is_assertion and one.opname == "LOAD_CONST" \
                and one.argval is False:
            return True
        if one.opname.startswith(_ENDS) and one.opname != "STORE_FAST":
            return False
        if one.opname not in _SKIPPED and one.opname != "PUSH_NULL":
            is_assertion = one.argval == "_assert"
    return False


def _catches(code: types.CodeType, offset: int) -> bool:
    """Whether what handles errors from `offset` on may go on after one: `finally` and handlers
    that raise another error do not."""
    found, places = _instructions(code)
    reached, waiting = set(), [places[offset]]
    while waiting:
        place = waiting.pop()
        if place in reached or place >= len(found):
            continue
        reached.add(place)
        name = found[place].opname
        if name == "POP_EXCEPT":
            return True
        if name in ("RAISE_VARARGS", "RERAISE") or name.startswith("RETURN"):
            continue
        if "JUMP" in name or name in ("FOR_ITER", "SEND"):
            waiting.append(places[found[place].argval])
        if not name.startswith("JUMP"):
            waiting.append(place + 1)
    return False


def _is_caught(code: types.CodeType, offset: int) -> bool:
    """Whether the function itself may catch an error."""
    found, places = _instructions(code)
    entries = getattr(dis.Bytecode(code), "exception_entries", None)
    if entries is None:  # Before Python 3.11 there is no such table.
        return any(one.opname == "SETUP_FINALLY" for one in found)
    for entry in entries:
        if entry.start <= offset < entry.end:
            first, second = [one.opname for one in found[places[entry.target]:][:2]]
            catches = first == "PUSH_EXC_INFO" and (
                any(one.argval == "suppress" for one in found)
                if second == "WITH_EXCEPT_START" else _catches(code, entry.target))
            # What a `with` or `finally` raises again goes to what surrounds it.
            if catches or _is_caught(code, entry.target):
                return True
    return False


def _is_caught_by(frame: types.FrameType) -> bool:
    """Whether a function may catch an error, or one that calls it up to the loss function.
    PyTorch's own raise what they catch."""
    is_first = True
    while frame is not None and frame.f_code.co_filename != _LOSS:
        path = frame.f_code.co_filename
        if (is_first or not path.startswith((_OWN, _TORCH))) \
                and _is_caught(frame.f_code, frame.f_lasti):
            return True
        frame, is_first = frame.f_back, False
    return False


def _find_caller() -> "Optional[types.FrameType]":
    """Of a function of PyTorch, past what stands between."""
    frame = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(_OWN)
                                 or frame.f_code.co_name == "__torch_function__"):
        frame = frame.f_back
    return frame


def place_of_call() -> str:
    """Where it is, for a message."""
    frame = _find_caller()
    return f"\n  at {frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def answer_of_check() -> "Optional[bool]":
    """What the line that asks for a truth value wants to hear, if it raises an error otherwise."""
    frame = _find_caller()
    if frame is None:
        return None
    code = frame.f_code
    found, places = _instructions(code)
    # What follows an instruction in memory, for the interpreter itself, is part of it.
    place, negated = bisect.bisect_right(list(places), frame.f_lasti) - 1, False
    if found[place].opname.startswith("CALL"):
        place += 1
    while place < len(found) and (found[place].opname in _SKIPPED
                                  or found[place].opname == "UNARY_NOT"):
        negated ^= found[place].opname == "UNARY_NOT"
        place += 1
    if place + 1 >= len(found) or not found[place].opname.startswith("POP_JUMP") \
            or not found[place].opname.endswith(("IF_TRUE", "IF_FALSE")):
        return None
    jumps_if = found[place].opname.endswith("IF_TRUE")
    jump, stay = (_raises(code, offset)
                  for offset in (found[place].argval, found[place + 1].offset))
    if jump == stay or _is_caught_by(frame):
        return None
    return (jumps_if if stay else not jumps_if) != negated
