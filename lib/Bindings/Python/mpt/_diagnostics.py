# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors, diagnostics, and reports that notebooks show as HTML."""
from __future__ import annotations

import html
import json
from typing import Any, Callable, Iterator, NamedTuple, Sequence


class Diagnostic(NamedTuple):
    """One message of the compiler.

    `severity` is error, warning, remark or note. `line` and `column` count from 1, and are
    0 where no place in a file is known; `file` is empty then.
    """
    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file else ""
        return f"{place}{self.severity}: {self.message}"


class Error(RuntimeError):
    """What MPT refuses, and why. `diagnostics` holds each message with its place."""

    def __init__(self, text: str, diagnostics: Sequence[Diagnostic] = ()):
        super().__init__(text)
        self.diagnostics = list(diagnostics)


class Explanation(Sequence):
    """Remarks, with the lines of Python that they are about."""

    def __init__(self, remarks: Sequence[Diagnostic], pattern: str = ""):
        self._remarks = list(remarks)
        self._pattern = pattern

    def __getitem__(self, index):
        return self._remarks[index]

    def __len__(self) -> int:
        return len(self._remarks)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._remarks)

    def __str__(self) -> str:
        return "\n".join(str(remark) for remark in self._remarks) or (
            f"no op whose name, function or place matches '{self._pattern}'")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{html.escape(r.file)}:{r.line}</code></td>"
            f"<td>{html.escape(r.message)}</td></tr>" for r in self._remarks)
        return f"<table><tr><th>line</th><th>decision</th></tr>{rows}</table>"


class MemoryReport:
    """What a step keeps in memory, when, and why.

    `text` is the report for people, `data` the same as numbers (docs/Memory.md), `html` a
    page with a picture.
    """

    def __init__(self, text: str, data: str, page: str):
        self.text = text
        self.data: "dict[str, Any]" = json.loads(data)
        self.html = page

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        # The page brings its own style, which must not reach the notebook.
        return (f'<iframe srcdoc="{html.escape(self.html)}" '
                'style="width: 100%; height: 32em; border: 0"></iframe>')


class StepProfile:
    """Where steps spend their time: a context in which each library call and kernel is measured.

    After it, `text` holds tables by call and by line of the model, `data` the same as numbers
    with every instruction (docs/Training.md), and `html` a page. They are means of the steps of
    the batch shape of which there were most, the first one left out if there are more.
    """

    def __init__(self, find_programs: "Callable[[], Sequence[Any]]", title: str):
        self._find_programs = find_programs
        # Those that are measured. A step that lets one go has its memory back afterwards.
        self._programs: "list[Any]" = []
        self._title = title
        self._is_measuring = False
        self._measured: Any = None

    def add(self, program) -> None:
        """Another program of the step, which was compiled for a batch of another shape."""
        if self._is_measuring:
            self._programs.append(program)
            program.set_profiling(True)

    def __enter__(self) -> "StepProfile":
        self._programs = list(self._find_programs())
        for program in self._programs:
            program.set_profiling(True)
        self._is_measuring = True
        return self

    def __exit__(self, *error) -> None:
        self._is_measuring = False
        programs = [program for program in self._programs if not program.closed]
        self._programs = []
        for program in programs:
            program.set_profiling(False)
        most = max(programs, key=lambda program: program.profiled_runs, default=None)
        if most and most.profiled_runs:
            self._measured = [most.profile(form, self._title)
                              for form in ("text", "json", "html")]

    def _read(self, index: int) -> str:
        if self._measured is None:
            raise Error("profile: no step was measured: call the step within `with "
                        "step.profile() as profile:`, and read the profile after it")
        return self._measured[index]

    @property
    def text(self) -> str:
        return self._read(0)

    @property
    def data(self) -> "dict[str, Any]":
        return json.loads(self._read(1))

    @property
    def html(self) -> str:
        return self._read(2)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        # The page brings its own style, which must not reach the notebook.
        return (f'<iframe srcdoc="{html.escape(self.html)}" '
                'style="width: 100%; height: 32em; border: 0"></iframe>')
