# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of values, as `assert (x > 0).all()` and `if x.isnan().any(): raise ..`.

A traced tensor has no value to answer with. Where one of both answers does nothing but raise an
error, the other one is what the graph of a step is made of.
"""
from __future__ import annotations

import ast
import bisect
import builtins
import contextlib
import dis
import functools
import inspect
import linecache
import os
import sys
import types
from typing import Any, NamedTuple, Optional

import torch

from mpt._export.errors import is_of_model

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


class _Place(NamedTuple):
    """A function that runs, or one that may run: as much of a frame as is read here."""
    f_code: types.CodeType
    f_globals: "dict[str, Any]"
    f_locals: "dict[str, Any]"


def _is_caught(frame: "types.FrameType | _Place", offset: int) -> bool:
    """Whether the function itself may catch an error."""
    code = frame.f_code
    found, places = _instructions(code)
    entries = getattr(dis.Bytecode(code), "exception_entries", None)
    if entries is None:  # Before Python 3.11 there is no such table.
        return any(one.opname == "SETUP_FINALLY" for one in found)
    for entry in entries:
        if entry.start <= offset < entry.end:
            first, second = [one.opname for one in found[places[entry.target]:][:2]]
            catches = first == "PUSH_EXC_INFO" and (
                _manager_swallows(frame, [
                    one for one in found[:places[min(
                        e.start for e in entries if e.target == entry.target)]]
                    if one.opname not in _SKIPPED])
                if second == "WITH_EXCEPT_START" else _catches(code, entry.target))
            # What a `with` or `finally` raises again goes to what surrounds it.
            if catches or _is_caught(frame, entry.target):
                return True
    return False


def _manager_swallows(frame: "types.FrameType | _Place",
                      before: "list[dis.Instruction]") -> bool:
    """Whether what a `with` has entered by the last of `before` may swallow an error. What cannot
    be found out counts as yes."""
    # What is entered is what the instruction before that has made.
    last = next(i for i in reversed(range(len(before))) if before[i].opname in (
        "BEFORE_WITH", "LOAD_SPECIAL"))
    while last and before[last].opname in ("BEFORE_WITH", "LOAD_SPECIAL", "COPY", "SWAP"):
        last -= 1
    place = before[last].positions
    lines = linecache.getlines(frame.f_code.co_filename)[place.lineno - 1:place.end_lineno] \
        if place and place.lineno and place.end_lineno else []
    if not lines:
        return True
    lines = [line.encode() for line in lines]
    lines[-1] = lines[-1][:place.end_col_offset]
    lines[0] = lines[0][place.col_offset:]
    try:
        tree = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
        call = isinstance(tree, ast.Call)
        value = _look_up(tree.func if call else tree, frame)
    except (SyntaxError, AttributeError, KeyError):  # It is neither a name nor a call of one.
        return True
    return _call_swallows(value) if call else _exit_swallows(type(value), value)


def _look_up(tree: ast.AST, frame: "types.FrameType | _Place") -> Any:
    """What a name or an attribute is."""
    if isinstance(tree, ast.Attribute):
        return getattr(_look_up(tree.value, frame), tree.attr)
    if not isinstance(tree, ast.Name):
        raise KeyError(type(tree).__name__)
    for names in (frame.f_locals, frame.f_globals):
        if tree.id in names:
            return names[tree.id]
    return vars(builtins)[tree.id]


def _call_swallows(function: Any, depth: int = 3) -> bool:
    """Whether a call gives a manager that may swallow an error. `depth` is that of functions that
    call each other."""
    if isinstance(function, type):
        return _exit_swallows(function)
    while hasattr(function, "__wrapped__") or hasattr(function, "func"):
        function = function.__wrapped__ if hasattr(function, "__wrapped__") else function.func
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType) or _is_of_torch(function):
        return not _is_of_torch(function)
    place = _Place(function.__code__, function.__globals__, {})
    if inspect.isgeneratorfunction(function):
        return any(one.opname == "YIELD_VALUE" and _is_caught(place, one.offset)
                   for one in _instructions(function.__code__)[0])
    # It returns one that it makes.
    known = [place.f_globals[name] for name in function.__code__.co_names
             if name in place.f_globals]
    return depth > 0 and any(_call_swallows(other, depth - 1) for other in known
                             if isinstance(other, (type, types.FunctionType)))


def _is_of_torch(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] == "torch"


def _exit_swallows(kind: type, value: Any = None) -> bool:
    """Whether __exit__ returns anything but None and False."""
    leave = getattr(kind, "__exit__", None)
    if isinstance(value, contextlib._GeneratorContextManager):
        return _call_swallows(value.func)
    if not isinstance(leave, types.FunctionType) or _is_of_torch(kind):
        return False
    found, _ = _instructions(leave.__code__)
    found = [one for one in found if one.opname not in _SKIPPED]
    for before, one in zip([None, *found], found):
        if one.opname == "RETURN_CONST" and one.argval or one.opname == "RETURN_VALUE" and not (
                before.opname == "LOAD_CONST" and not before.argval):
            return True
    return False


def _is_caught_by(frame: types.FrameType) -> bool:
    """Whether a function may catch an error, or one that calls it up to the loss function.
    PyTorch's own raise what they catch."""
    is_first = True
    while frame is not None and frame.f_code.co_filename != _LOSS:
        path = frame.f_code.co_filename
        if (is_first or not path.startswith((_OWN, _TORCH))) \
                and _is_caught(frame, frame.f_lasti):
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


def is_asked_by_model() -> bool:
    """Whether the line that calls a function of PyTorch is of the model or the loss."""
    frame = _find_caller()
    return frame is not None and is_of_model(frame.f_code.co_filename)


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
