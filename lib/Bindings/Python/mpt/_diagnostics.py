# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors, diagnostics, and reports that notebooks show as HTML."""
from __future__ import annotations

import html
import json
from typing import Any, Iterator, NamedTuple, Sequence


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
