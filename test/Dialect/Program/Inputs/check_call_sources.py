#!/usr/bin/env python3
# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds code that handles library calls in ways that a new call would slip through.

    check_call_sources.py FOLDER...

Reports: a `default:` in a switch over calls; calls' attributes as lists of numbers
(`ints`, `floats` of an instruction); numbers turned into a call's id or an id compared
with a number outside of the table's reader and writer; notes (`mpt.` attributes) read
from or written to ops, in files that work on the ops of programs; and attributes of a
step's arguments and results that are read past StepView.
"""

import pathlib
import re
import sys

# Reads and writes the table.
CODEC = "lib/ProgramABI/ProgramFormat.cpp"
SWITCH = re.compile(r"\bswitch \([^;{]*(?:CallId|getId\(|\bkind\b|\.id\b)[^;{]*\) \{")
NUMBERS = re.compile(r"(?:instruction|call|product|made|wrong)\w*(?:\.|->|\(\)\.)(?:ints|floats)\b"
                     r"|\b(?:ints|floats)\[\d+\]")
IDS = re.compile(r"static_cast<(?:rt::)?CallId>|static_cast<u?int\d+_t>\((?:rt::)?(?:CallId::"
                 r"|getId\()")

NOTES = re.compile(r"(?:->|\.)(?:set|get|has|remove)\w*Attr\w*(?:<[^>]*>)?\("
                   r"\s*(?:k[A-Z]\w*Attr\b|\"mpt\.)")
# Read the attributes of steps: the dialect itself.
STEP_READERS = "lib/Dialect/MPT/IR/"
STEP_NOTES = re.compile(r"get(?:Arg|Result)Attr\w*(?:<[^>]*>)?\([^;]*?\bk(?:Name|Role|Init|Updates|Master"
                        r"|LowOf)Attr\b|getAs<StringAttr>\(k(?:Name|Role|Updates|Master|LowOf)Attr\b")


def body_of(text, start):
    """The text from the brace before `start` to the one that closes it."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]


def check(path, text):
    def report(at, what):
        print("%s:%d: %s" % (path, text.count("\n", 0, at) + 1, what))
        return 1

    problems = 0
    if re.search(r"\bCallId\b|LibraryCall", text):
        for found in SWITCH.finditer(text):
            if re.search(r"\bdefault:", body_of(text, found.end())):
                problems += report(found.start(), "a switch over library calls has a default")
    for found in NUMBERS.finditer(text):
        problems += report(found.start(), "an attribute of a call is read as a number of a list")
    if not str(path).endswith(CODEC):
        for found in IDS.finditer(text):
            problems += report(found.start(), "a call's id is converted outside of the codec")
    if re.search(r"\bprogram::\w+Op\b", text):
        for found in NOTES.finditer(text):
            problems += report(found.start(), "a program says something by a note")
    if STEP_READERS not in str(path):
        for found in STEP_NOTES.finditer(text):
            problems += report(found.start(), "an attribute of a step is read past StepView")
    return problems


def main():
    files = problems = 0
    for folder in sys.argv[1:]:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.suffix in (".cpp", ".h") and path.is_file():
                files += 1
                problems += check(path, path.read_text())
    print("%d files, %d problems" % (files, problems))
    sys.exit(problems != 0)


if __name__ == "__main__":
    main()
