# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A loss or a step, compiled."""
from __future__ import annotations

import functools

import torch

from mpt import Module, Program
from mpt._export.exported import Exported
from mpt._step import SCALARS, ScalarReader

TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
         "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
         "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "i1": torch.bool}
CONVERT = "mpt-convert-torch,canonicalize,cse"


class Compiled:
    """A program, the module that it was compiled from, and where its results lie."""

    def __init__(self, exported: Exported, module: Module, program: Program):
        self.exported = exported
        self.module = module
        self.program = program
        self.tensors = {t.name: t for t in reversed(program.tensors)}
        self.inputs = [(name, self.tensors[name].bytes) for name in exported.names]
        outputs = [t.name for t in program.tensors if t.role == "output"]
        # What users call their results comes last: it wins.
        self.others = {n: n for n in outputs if n not in exported.results
                       and n not in SCALARS and not n.startswith("grad_norm.")}
        self.others.update((n, key) for n, key in exported.results.items()
                           if n in outputs and n not in SCALARS)
        self.scalars = ScalarReader(program, torch.from_dlpack)
        # On a GPU results are read while the next step runs.
        self.is_late = program.target.startswith("cuda")
        if self.is_late:
            self.scalars.keep(list(self.others))

    def read(self, run: int):
        """What StepResult is made of, after run `run`: the last one, or on a GPU the one
        before it."""
        if self.is_late:
            read = functools.partial(self.scalars.read_kept, run=run)
            others = {key: torch.from_dlpack(self.program.read_result(name, run))
                      for name, key in self.others.items()}
        else:
            read = self.scalars.read
            others = {key: torch.from_dlpack(self.program.read(name))
                      for name, key in self.others.items()} if self.others else {}
        return (read("loss", otherwise=None), read("grad_norm", otherwise=None),
                read("did_step", otherwise=True), read("loss_scale", otherwise=1.0), others)
