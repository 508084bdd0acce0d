# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function of a model, compiled over the state of its training step."""
from __future__ import annotations

import collections
from typing import Any

import torch
from torch.utils import _pytree

from mpt import Module
from mpt._diagnostics import Error
from mpt._export.exported import real_view
from mpt._export.graph_printer import quote
from mpt._training.batch import to_tensor
from mpt._training.compiled import CONVERT, TYPES
from mpt.torch import export


def _spell_parameter(name):
    return f'mpt.name = {quote(name)}, mpt.role = "parameter"'


class Evaluator:
    """Made by `TrainStep.evaluator`: `evaluator(x)` is `function(model, x)` with the
    step's present parameters and buffers, and the model in evaluation mode."""

    def __init__(self, step, function, weights="parameters"):
        if weights not in ("parameters", "ema"):
            raise Error(f"weights: expected parameters or ema, found {weights!r}")
        if weights == "ema" and step._ema is None:
            raise Error("weights=\"ema\": no averages are kept; give TrainStep ema=0.999")
        self._step = step
        self._function = function
        self._averages = weights == "ema"
        self._programs: "collections.OrderedDict[Any, Any]" = collections.OrderedDict()

    def _compile(self, batch):
        step, spec = self._step, []

        def flat(model, *values):
            leaves, tree = _pytree.tree_flatten(self._function(model, *values))
            spec[:] = [tree]
            return {f"output{i}": leaf for i, leaf in enumerate(leaves)}

        names = [f"input{i}" for i in range(len(batch))]
        modes = [(m, m.training) for m in step.model.modules()]
        step.model.eval()
        try:
            exported = export(step.model, flat, batch, names=names, is_loss=False,
                              trainable=step._trainable)
        finally:
            for module, training in modes:
                module.training = training
        text = exported.text
        if self._averages:
            for name in exported.weights:
                if f"{name}.ema" in step._state:
                    text = text.replace(_spell_parameter(name), _spell_parameter(name + ".ema"))
        module = Module(text, "evaluator")
        passes = [CONVERT]
        if step._precision != "f32":
            passes.append(f"mpt-autocast{{type={step._precision}}}")
        module.run(",".join(passes))
        # On a GPU state is copied to the evaluator before each run.
        shares = step._device == "cpu"
        program = module.program("loss", threads=step._threads, device=step._device,
                                 cuda=step._cuda, ranks=step._ranks,
                                 share=step._first.program if shares else None)
        copied = []
        for tensor in program.tensors:
            name, known = tensor.name, step._state.get(tensor.name)
            if tensor.role in ("input", "target", "output"):
                continue
            if known is None:
                # What training does not read stays as it is.
                value = exported.weights.get(name, torch.zeros(tensor.shape))
                program.write(name, real_view(value.detach()).to(TYPES[tensor.type]).contiguous())
            elif not shares or (known.type, known.shape) != (tensor.type, tensor.shape):
                copied.append((name, TYPES[tensor.type]))
        bytes_of = {t.name: t.bytes for t in program.tensors if t.role in ("input", "target")}
        inputs = [(name, index, bytes_of[name]) for index, name in enumerate(exported.names)
                  if name in bytes_of]
        by_label = {label: name for name, label in exported.results.items()}
        outputs = [by_label[f"output{i}"] for i in range(spec[0].num_leaves)]
        return program, inputs, outputs, copied, spec[0]

    def __call__(self, *batch):
        try:
            key = tuple([(v.shape, v.dtype) for v in batch])
        except AttributeError:
            for index, value in enumerate(batch):
                to_tensor(value, f"argument {index}")
            raise
        found = self._programs.get(key)
        if found is None:
            found = self._compile(tuple(to_tensor(v, f"argument {i}")
                                        for i, v in enumerate(batch)))
            if len(self._programs) >= self._step._max_programs:
                self._programs.popitem(last=False)
            self._programs[key] = found
        program, inputs, outputs, copied, spec = found
        for name, type in copied:
            program.write(name, self._step._read(name).to(type).contiguous())
        for name, index, size in inputs:
            value = batch[index]
            self._step._bind(program, name, size, value, value.dtype)
        program.run()
        return _pytree.tree_unflatten(
            [torch.from_dlpack(program.read(name)) for name in outputs], spec)
