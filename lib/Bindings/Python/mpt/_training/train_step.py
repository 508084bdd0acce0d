# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A PyTorch model's training step, compiled by MPT. Names are public in mpt.torch."""
from __future__ import annotations

import collections
import contextlib
import ctypes
import hashlib
import math
import os
import re
import tempfile
import warnings
import weakref
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

import torch

from mpt import Module, Ranks, version
from mpt._diagnostics import Error, StepProfile
from mpt._export.exported import Exported, real_view, restore
from mpt._export.graph_printer import quote
from mpt._optimizer.options import OptimizerList, OptimizerReader, unwrap
from mpt._step import (PRECISIONS, Fp8, LateResult, Reports, StepResult, check_memory_budget,
                       run_passes, spell_loss_scale, spell_optimizer_state)
from mpt._training.batch import Batch, in_order, to_tensor
from mpt._training.between_steps import ScriptChanges
from mpt._training.blockwise import dequantize_blockwise, quantize_blockwise
from mpt._training.compiled import CONVERT, TYPES, Compiled
from mpt.torch import export

# The stages of ZeRO, by what parallel= calls them.
_ZERO_STAGES = {"zero1": 1, "zero2": 2, "zero3": 3}
# Options of --mpt-shard-parameters; all others are those of --mpt-data-parallel.
_SHARD_OPTIONS = ("unit-bytes", "prefetch", "keep-bytes")
# Of --mpt-data-parallel: what changes the values of a step, and what each is by default. How many
# ranks there are, and how their exchanges are cut, changes the order of sums at most.
_VALUE_OPTIONS = ("batch-norm", "order", "wire")
_VALUE_DEFAULTS = ("batch-norm=own", "order=rank")
# Seconds that ranks wait for each other while they compile, if the user asks for no more.
_SET_UP_DEADLINE = 600


class TrainStep(Reports):
    """Trains a PyTorch model: `step(x, y)` does what forward, backward, clipping,
    `optimizer.step()` and the gradient scaler do.

    model: the module, in the mode and with the `requires_grad` flags that it has now. Its
        parameters and buffers are copied; `sync_to` copies them back.
    loss: `loss(model, *batch)`, or `loss(model, **batch)` where `example` is a dictionary.
        Returns a scalar, or a dictionary of tensors with the scalar "loss".
    optimizer: of torch.optim or another package, or a list of some. Its options and groups are compiled in;
        the learning rates are read at each step, so that torch's schedulers work. Its own
        `step` is not called: SGD, Adam and AdamW are ops of MPT, that of others is traced
        (docs/Python.md, "Optimizers and schedulers").
    example: one batch, as it will be passed to the step. Other shapes are compiled when
        they come; types and ranks stay.
    precision: f32, f16 or bf16: the type of the heavy arithmetic. Parameters stay as they
        are.
    fp8: "delayed", "current", "deepseek" or "mxfp8": matmuls of linear layers read 8-bit
        floats by this recipe, with options of mpt-fp8 after it, as "deepseek keep=router"
        (docs/FP8.md). All else has the type that `precision` says.
    memory_budget: "512MB", "4GiB", "0.5x" or "min": what temporary values may take, by
        computing some of them again (docs/Rematerialization.md). If they cannot fit
        otherwise, recurrent layers compute groups of iterations again.
    device: "cpu", "cuda" or "cuda:N", or a torch.device. With `parallel`, "cuda" is a GPU
        of its own for each process.
    parallel: "data" in processes that mpirun started, or torchrun with device="cuda": each
        passes its own part of a batch, and all train by the mean gradient (docs/Python.md, "Several processes"). "zero1" and
        "zero2" cut parameters and the optimizer's state between them, too; with "zero3"
        parameters are whole only while a step needs them. Options of --mpt-data-parallel
        may follow, as in "data batch-norm=synchronized", with "zero3" also those of
        --mpt-shard-parameters.
    parallel_timeout: seconds after which a process that does not answer is an error.
    accumulate: cut each batch into so many parts, and update by the mean gradient.
    clip_norm: clip gradients to this global L2 norm.
    ema: keep averages of the parameters with this decay (`ema_state_dict`).
    optimizer_state: what the optimizer's moments are stored as: "f32", "bf16" or "block8" (8
        bits, and a scale for each block), with options of mpt-optimizer-state after it, as
        "block8 groups=head=f32"; or a list with one of the three for each group of the
        optimizer (docs/OptimizerState.md).
    seed: of dropout, and of stochastic rounding.
    loss_scale: "dynamic" (the default with f16), "none", a number, or options of
        mpt-loss-scale after its mode, as "dynamic init-scale=1024".
    threads: of the CPU; 0: as many as the machine has. Results do not depend on them.
    max_programs: how many shapes of batches stay compiled.
    cuda: where CUDA's libraries and compiler are, if not where they are looked for: as in
        Module.program.
    """

    def __init__(self, model: torch.nn.Module, loss: Callable[..., Any],
                 optimizer: "Union[torch.optim.Optimizer, Sequence[torch.optim.Optimizer]]",
                 example: Any, *, precision: str = "f32",
                 fp8: Optional[str] = None, memory_budget: Optional[str] = None,
                 device: "Union[str, torch.device]" = "cpu",
                 parallel: Optional[str] = None, parallel_timeout: float = 60,
                 accumulate: int = 1,
                 clip_norm: Optional[float] = None, ema: Optional[float] = None,
                 optimizer_state: "Union[str, Sequence[str]]" = "f32",
                 seed: int = 0, loss_scale: "Union[None, str, float]" = None,
                 threads: int = 0, max_programs: int = 8,
                 cuda: "Optional[Mapping[str, Any]]" = None):
        if precision not in PRECISIONS:
            raise Error(f"precision: expected {', '.join(PRECISIONS)}, found {precision!r}")
        # A kind, and options of --mpt-data-parallel.
        words = ["data"] if parallel is None else str(parallel).split() or [""]
        kind, self._parallel_options = words[0], words[1:]
        if kind not in ("data", *_ZERO_STAGES):
            raise Error("parallel: expected None, 'data', 'zero1', 'zero2' or 'zero3', "
                        f"found {parallel!r}")
        self._zero_stage = _ZERO_STAGES.get(kind)
        for word in self._parallel_options:
            if word.split("=")[0] in ("size", "function"):
                raise Error(f"parallel: {word!r} is not for the user to set; leave it out")
            if kind == "zero3" and word.split("=")[0] == "bucket-bytes":
                raise Error(f"parallel: {word!r} is set by unit-bytes; leave it out")
        self._shard_options = []
        if kind == "zero3":
            self._shard_options = [word for word in self._parallel_options
                                   if word.split("=")[0] in _SHARD_OPTIONS]
            self._parallel_options = [word for word in self._parallel_options
                                      if word not in self._shard_options]
        for word in self._shard_options:
            if not re.fullmatch("[a-z-]+=-?[0-9]+", word):
                raise Error(f"parallel: expected a number of bytes or units, found {word!r}")
        if not parallel_timeout > 0:
            raise Error("parallel_timeout: expected a number of seconds above 0, found "
                        f"{parallel_timeout!r}")
        if accumulate < 1:
            raise Error(f"accumulate: expected at least 1, found {accumulate}")
        if max_programs < 1:
            raise Error(f"max_programs: expected at least 1, found {max_programs}")
        if not isinstance(seed, int) or not -2**63 <= seed < 2**63:
            raise Error(f"seed: expected an integer of 64 bits, found {seed!r}")
        if not isinstance(model, torch.nn.Module):
            raise Error(f"model: expected a torch.nn.Module, found {type(model).__name__}")
        if isinstance(loss, torch.nn.Module):
            raise Error(f"loss: expected a function loss(model, *batch), found the module "
                        f"{type(loss).__name__}; pass lambda model, x, y: "
                        "criterion(model(x), y)")
        check_memory_budget(memory_budget)
        self.model = model
        optimizer = OptimizerList([unwrap(part) for part in optimizer]) \
            if isinstance(optimizer, (list, tuple)) else unwrap(optimizer)
        self.optimizer = optimizer
        # For torch's schedulers, which warn if they are stepped before an optimizer.
        self._called = getattr(optimizer, "parts", [optimizer])
        self._batch = Batch(loss, example)
        self._precision = precision
        self._fp8 = Fp8(fp8)
        self._memory_budget = memory_budget
        self._device = str(device)
        self._cuda = dict(cuda or {})
        self._accumulate = accumulate
        self._clip_norm = clip_norm
        self._ema = ema
        self._loss_scale = spell_loss_scale(loss_scale, precision)
        self._parallel = parallel
        self._timeout = parallel_timeout
        self._ranks = Ranks.connect(max(parallel_timeout, _SET_UP_DEADLINE),
                                    device=self._device) if parallel else None
        if self._ranks and threads == 0:
            threads = max(1, min(len(os.sched_getaffinity(0)),
                                 (os.cpu_count() or 1) // self._ranks.neighbors))
        self._threads = threads
        # Whether state has come from outside since the ranks last compared it.
        self._is_compared = True
        # Checksums of what was written into state that no rank has all of.
        self._sums: "dict[str, str]" = {}
        self._max_programs = max_programs
        self._modes = [(m, m.training) for m in model.modules()]
        # Those of the next step.
        self._training = [training for _, training in self._modes]
        self._mode = tuple(self._training)
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise Error("optimizer: expected a torch.optim.Optimizer, found "
                        f"{type(optimizer).__name__}")
        in_groups = {id(p) for g in optimizer.param_groups for p in g["params"]}
        self._trainable = {id(p) for p in model.parameters()
                           if p.requires_grad and id(p) in in_groups}
        self._first: Optional[Compiled] = None
        exported = self._export(self._batch.example)
        for name in sorted(exported.written):
            why = f"the loss function changes the parameter {name} without a gradient, "
            if exported.weights[name].dtype in (torch.float16, torch.bfloat16):
                raise Error(f"{why}which is of {str(exported.weights[name].dtype)[6:]} and follows a "
                            "float32 copy that the optimizer updates: call model.float(); "
                            "TrainStep's precision rounds it where it is read")
            if parallel is not None:
                raise Error(f"parallel={parallel!r}: {why}which each process would do by its own part "
                            "of the batch: train in one process, or change it between steps, after "
                            "step.sync_to(model)")
        # Of tied parameters the program has one, under one of their names.
        self._ids = {id(value): name for name, value in exported.weights.items()}
        for name, parameter in model.named_parameters():
            self._ids.setdefault(id(parameter), name)
        # Each entry of state_dict() by the name of the state that has its value.
        self._keys = {key: self._ids.get(id(value), key)
                      for key, value in model.state_dict(keep_vars=True).items()
                      if isinstance(value, torch.Tensor)}
        self._reader = OptimizerReader(optimizer, self._ids, exported.trained)
        self._optimizer_state = spell_optimizer_state(optimizer_state, self._reader)
        if self._reader.traced and self._optimizer_state:
            raise Error("optimizer_state: expected f32, found "
                        f"{optimizer_state!r}: only the moments of SGD, Adam and AdamW of "
                        f"torch.optim are stored in less, not the state of "
                        f"{type(optimizer).__qualname__}")
        given = re.search(r"\bblock-size=(\d+)", self._optimizer_state)
        self._block_size = int(given.group(1)) if given else 256
        for name, parameter in model.named_parameters():
            if parameter.dtype in (torch.float64, torch.complex128):
                raise Error(f"model: expected parameters of float32, float16, bfloat16 or "
                            f"complex64, found {name} of {str(parameter.dtype)[6:]}; convert "
                            "the model before the optimizer is made, and the batches: "
                            "model.float(), x.float()")
        self._rates = self._reader.rate_names()
        self._written: "list[Optional[float]]" = [None] * len(self._rates)
        self._skipped = 0
        # Waits for what is written in the background; once there has been such a thing.
        self._saving: Optional[weakref.finalize] = None
        # The result of the last step, and the last one that has been read.
        self._last: Optional[StepResult] = None
        self._known: Optional[StepResult] = None
        self._seed = seed
        self._profile: Optional[StepProfile] = None
        self._programs: "collections.OrderedDict[Any, Compiled]" = collections.OrderedDict()
        first = self._compile_first(exported)
        self._first = first
        self._programs[self._mode, tuple(t.shape for t in self._batch.example)] = first
        self._state = {t.name: t for t in first.program.tensors
                       if t.role not in ("input", "target", "output")}
        trains = {n for members in self._reader.groups for n in members}
        # What trains, and the optimizer's state of that shape for it.
        self._cut = {n for n, t in self._state.items()
                     if n in trains or (t.role == "optimizer_state"
                                        and (p := n.rpartition(".")[0]) in trains
                                        and t.shape == self._state[p].shape)}
        for name, value in first.exported.weights.items():
            if name in self._state:
                self._write(name, value)
        if self._reader.traced:
            for name, value in self._reader.traced.state.items():
                self._write(name, value)
        if "seed" in self._state:
            self._write("seed", torch.tensor(seed))
        if optimizer.state:
            self._write_optimizer_state(optimizer.state_dict())
        self._changes = ScriptChanges(self)
        self._changes.see_outside(exported.outside)
        # The example has served its purpose.
        self._shapes = [tuple(t.shape) for t in self._batch.example]
        self._batch.example = ()
        self._has_whole_digest = False
        if self._ranks:
            # Now, while ranks wait for each other as long as compiling takes.
            self._set_whole_digest()
            self._compare_steps()

    # Compilation.

    @contextlib.contextmanager
    def _as_constructed(self):
        """The model in the mode that it had."""
        now = [(m, m.training) for m, _ in self._modes]
        try:
            for module, training in self._modes:
                module.training = training
            yield
        finally:
            for module, training in now:
                module.training = training

    def _pipeline(self, names, batch) -> "list[str]":
        """Passes from the exported loss to a step in f32, with its loss scale."""
        passes = [CONVERT, "mpt-autodiff"]
        if self._accumulate > 1:
            rows = batch[0].shape[0]
            shared = [n for n, t in zip(names, batch) if not t.dim() or t.shape[0] != rows]
            passes.append(f"mpt-accumulate{{steps={self._accumulate}"
                          + (f" shared={','.join(shared)}" if shared else "") + "}")
        # One rank changes nothing, but reads the options.
        if self.num_ranks > 1 or self._parallel_options:
            options = " ".join([f"size={self.num_ranks}", *self._parallel_options])
            passes.append(f"mpt-data-parallel{{{options}}}")
        if self._is_sharded:
            groups = ",".join(self._reader.patterns())
            options = [f"groups={groups}"] if groups else []
            if self._reader.traced:
                options.append(f"optimizer=@{self._reader.traced.FUNCTION}")
            if self._zero_stage == 3:
                options += self._shard_options
                passes.append(f"mpt-shard-parameters{{{' '.join(options)}}}")
            else:
                options.insert(0, f"stage={self._zero_stage}")
                passes.append(f"mpt-shard-optimizer{{{' '.join(options)}}}")
        options = self._reader.pass_options() + ["grad-norm=true"]
        if self._clip_norm is not None:
            options.append(f"clip-norm={float(self._clip_norm)!r}")
        if self._ema is not None:
            options.append(f"ema-decay={float(self._ema)!r}")
        passes += [f"mpt-train-step{{{' '.join(options)}}}", *self._fp8.before_scaling,
                   "mpt-master-weights"]
        if self._optimizer_state:
            passes.append(f"mpt-optimizer-state{{{self._optimizer_state}}}")
        if self._loss_scale:
            passes.append(f"mpt-loss-scale{{{self._loss_scale}}}")
        return passes + ["mpt-validate-loss-scale"]

    def _set_whole_digest(self) -> None:
        """Gives the program a digest of what does not depend on how batches are cut for ranks
        or micro-batches, nor on their rows, so that checkpoints go on with others of them: the
        loss for any number of rows, the state, and the options. A loss that is not exported
        so has none: its checkpoints go on with the same step alone."""
        if self._has_whole_digest:
            return
        self._has_whole_digest = True
        rows = next((shape[0] for shape in self._shapes if shape), 0)
        part = max(2, rows // self._accumulate)
        while any(shape and shape[0] == part != rows for shape in self._shapes):
            part += 1  # Only what has rows stays open.
        example = tuple(torch.zeros((part, *shape[1:]) if shape and shape[0] == rows else shape,
                                    dtype=dtype)
                        for shape, dtype in zip(self._shapes, self._batch.dtypes))
        try:
            with self._as_constructed(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # They came with the first export.
                whole = export(self.model, self._batch.loss, example, names=self._batch.keys,
                               trainable=self._trainable, dynamic_batch=True).text
        except Exception:  # Open shapes may end in any error of PyTorch's.
            return
        # Without the version and the places in files.
        whole = re.sub(r' loc\("[^"]*"(:\d+:\d+)?\)', "", whole[whole.index("func.func"):])
        state = sorted((t.name, t.role, t.type, tuple(t.shape)) for t in self._state.values())
        traced = [self._reader.traced.text] if self._reader.traced else []
        text = repr([version, whole, state, self._reader.pass_options() + traced,
                     self._optimizer_state,
                     self._clip_norm, self._ema, self._loss_scale, self._precision,
                     self._fp8.options,
                     sorted(word for word in self._parallel_options
                            if word.split("=")[0] in _VALUE_OPTIONS
                            and word not in _VALUE_DEFAULTS)])
        digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        self._first.program.set_whole_digest(f"torch-{digest}")

    def _export(self, batch) -> Exported:
        if not any(t.numel() for t in batch):
            raise Error(f"expected a batch with elements, found tensors of the shapes "
                        f"{[list(t.shape) for t in batch]}: the mean loss of nothing is NaN; "
                        "leave out batches without rows")
        part = batch
        if self._accumulate > 1:
            rows = batch[0].shape[0] if batch[0].dim() else 0
            if not rows or rows % self._accumulate:
                raise Error(f"accumulate={self._accumulate}: expected a batch whose rows can "
                            f"be cut into {self._accumulate} equal parts, found {rows} rows")
            size = rows // self._accumulate
            part = tuple(t[:size] if t.dim() and t.shape[0] == rows else t for t in batch)
        return export(self.model, self._batch.loss, part, names=self._batch.keys,
                      trainable=self._trainable,
                      like=self._first.exported if self._first else None)

    def _compile_first(self, exported) -> Compiled:
        """The program for batches of the example's shape."""
        try:
            return self._compile(exported, self._batch.example)
        except Error as error:
            # numpy's numbers are doubles unless one says otherwise.
            doubles = [index for index, tensor in enumerate(self._batch.example)
                       if tensor.dtype == torch.float64]
            if not doubles or "element type" not in str(error):
                raise
            raise Error(f"{error}; example[{doubles[0]}] is float64: pass "
                        ".astype(numpy.float32) of an array, .float() of a tensor",
                        error.diagnostics) from None

    def _compile(self, exported: Exported, batch) -> Compiled:
        self._batch.names = exported.names
        budget = self._memory_budget
        if budget is None or not re.search(r'"torch\.aten\.(lstm|gru|rnn_\w+)\.input"',
                                           exported.text):
            return self._build(exported, batch, budget)
        if budget.strip() != "min":
            try:
                return self._build(exported, batch, budget)
            except Error as error:
                if not _is_too_large(error):
                    raise
            # Planning repeats a loop as a whole or not at all, so its iterations are grouped
            # before. A part of the whole means that of the loop as it was.
            part = re.fullmatch(r"\s*([\d.]+)\s*(x|%)\s*", budget)
            if part:
                whole = self._build(exported, batch, None).program.arena_bytes
                scale = 1 if part[2] == "x" else 100
                budget = str(int(whole * float(part[1]) / scale))
        try:
            return self._build(exported, batch, budget, checkpoint_scans=True)
        except Error as error:
            if not _is_too_large(error):
                raise
            raise Error(f"{error}\nThe backward pass of recurrent layers computes groups of "
                        "iterations again already: raise memory_budget, or pass shorter "
                        "sequences or smaller batches", error.diagnostics) from None

    def _build(self, exported: Exported, batch, budget: Optional[str],
               checkpoint_scans: bool = False) -> Compiled:
        attributes = ["torch.checkpoint_scans"] if checkpoint_scans else []
        if budget is not None:
            attributes.append(f"mpt.memory_budget = {quote(budget)}")
        text = exported.text
        if attributes:
            text = text.replace(") {\n", f") attributes {{{', '.join(attributes)}}} {{\n", 1)
        if self._reader.traced:
            text += self._reader.traced.text
        module = Module(text, "loss")
        passes = self._pipeline(exported.names, batch)
        if self._precision != "f32":
            passes.append(f"mpt-autocast{{type={self._precision}}}")
        passes += self._fp8.after_autocast
        if self._is_sharded and self._zero_stage < 3:
            passes.append("mpt-join-after-update")
        run_passes(module, passes)
        program = module.program(
            "loss", threads=self._threads, device=self._device, cuda=self._cuda,
            share=self._first.program if self._first else None, ranks=self._ranks)
        return Compiled(exported, module, program)

    def _find(self, values) -> Compiled:
        """The program for a batch of these shapes."""
        try:
            key = self._mode, tuple([v.shape for v in values])
        except AttributeError:
            for name, value in zip(self._batch.names, values):
                to_tensor(value, f"'{name}'")
            raise
        compiled = self._programs.get(key)
        if compiled is None:
            batch = tuple(to_tensor(v, n) for v, n in zip(values, self._batch.names))
            for name, tensor, dtype, rank in zip(self._batch.names, batch,
                                                 self._batch.dtypes, self._batch.ranks):
                if tensor.dtype != dtype or tensor.dim() != rank:
                    raise Error(f"'{name}': expected {rank} dimensions of {dtype} as in the "
                                f"example, found {tensor.dim()} of {tensor.dtype}")
            batch = tuple(t.detach().cpu() for t in batch)
            exported = self._export(batch)
            compiled = self._compile(exported, batch)
            self._changes.see_outside(exported.outside)
            if "seed" in compiled.tensors and "seed" not in self._state:
                # In evaluation mode the first program has no dropout.
                compiled.program.write("seed", torch.tensor(self._seed))
            if self._ranks:
                self._wait_for_ranks()
            if len(self._programs) >= self._max_programs:
                old, _ = self._programs.popitem(last=False)
                warnings.warn(
                    f"a batch of another shape took the place of the program for "
                    f"{[tuple(s) for s in old[1]]}: more than max_programs="
                    f"{self._max_programs} shapes occur, and each is compiled again when it "
                    "comes back; give the batches fewer shapes, or raise max_programs",
                    stacklevel=3)
            self._programs[key] = compiled
            if self._profile:
                self._profile.add(compiled.program)
        elif len(self._programs) > 1:
            self._programs.move_to_end(key)
        return compiled

    # Training.

    def __call__(self, *batch, **named) -> StepResult:
        """One step of training on a batch. On a GPU this returns before the step is done,
        when the one before it is; reading the result waits."""
        values = self._batch.values(batch, named)
        self._changes.follow()
        if (training := self._changes.modes()) != self._training:
            self._training, self._mode = training, tuple(training)
        if self._ranks:
            self._compare_calls(values)
        compiled = self._find(values)
        program = compiled.program
        for (name, size), value, dtype in zip(compiled.inputs, values, self._batch.dtypes):
            self._bind(program, name, size, value, dtype)
        self._reader.check_constants()
        for index, group in enumerate(self.optimizer.param_groups):
            rate = group["lr"]
            if rate is not self._written[index]:
                self._write_rate(index, rate)
        for name, value in self._reader.scheduled():
            self._write(name, torch.tensor(value))
        program.run()
        for part in self._called:
            part._opt_called = True
        if not compiled.is_late:
            self._last = self._known = StepResult(*compiled.read(0))
            self._skipped += not self._last.did_step
            return self._last
        # The step before this one is done, or nearly: the GPU has work meanwhile.
        before, run = self._last, program.runs
        self._last = result = LateResult(lambda: self._read_late(compiled, run, result))
        if before is not None:
            before.wait()
        return result

    def _read_late(self, compiled: Compiled, run: int, result: LateResult):
        values = compiled.read(run)
        self._skipped += not values[2]
        self._known = result
        return values

    def _wait(self) -> None:
        """Until the last step is done and its result is read."""
        if isinstance(self._last, LateResult):
            self._last.wait()

    def _bind(self, program, name, size, value, dtype):
        """Binds what the caller passed as `name`, or a copy of it where it is not contiguous or
        of uint8, which programs read as int16."""
        is_bytes = dtype == torch.uint8
        if is_bytes:
            value = to_tensor(value, f"'{name}'")
        if not isinstance(value, torch.Tensor):
            program.bind(name, in_order(value) if hasattr(value, "__array_interface__")
                         else value)
            return
        on_device = value.is_cuda and self._device != "cpu"
        if value.dtype != dtype or value.layout is not torch.strided \
                or not (value.is_cpu or on_device):
            _refuse(name, value, dtype)
        if is_bytes:
            value = value.to(torch.int16)
        value = real_view(value)
        if not value.is_contiguous():
            value = value.detach().contiguous()
        if on_device:
            self._bind_device(program, name, value)
        else:
            program.bind_address(name, value.data_ptr(), size, value)

    @staticmethod
    def _bind_device(program, name, value):
        # Refuses a tensor of another GPU, whose stream must not become the program's.
        program.bind(name, value.detach())
        program.set_stream(torch.cuda.current_stream(value.device).cuda_stream)

    def _write_rate(self, index, rate):
        value = _to_rate(rate, f"optimizer.param_groups[{index}]: lr")
        if self._rates[index]:
            self._write(self._rates[index], torch.tensor(value))
        # Tensors, which schedulers change in place, are written each time.
        self._written[index] = None if isinstance(rate, torch.Tensor) else rate

    @property
    def lr(self) -> float:
        """The learning rate, of the first group; setting it sets all groups'."""
        return float(self.optimizer.param_groups[0]["lr"])

    @lr.setter
    def lr(self, value: float) -> None:
        value = _to_rate(value, "lr")
        for group in self.optimizer.param_groups:
            group["lr"] = value

    def progress(self, batches: "Iterable[Any]", **options) -> "Iterator[Any]":
        """What `batches` yields, under a bar of tqdm that shows the last step's loss, the
        loss scale if there is one, and how many steps were skipped; on a GPU, those of the
        last step that is done. `options` are tqdm's."""
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise Error("progress: expected the package tqdm; run `pip install tqdm`") from error
        if self.rank:
            options["disable"] = True
        return self._show_progress(tqdm(batches, **options))

    def _show_progress(self, bar):
        with bar:
            for batch in bar:
                yield batch
                self._show_result(bar)
            # The last step of a GPU is not read yet.
            self._wait()
            self._show_result(bar)

    def _show_result(self, bar):
        if self._known is None:
            return
        shown = {"loss": f"{self._known.loss:.4g}"}
        if self._known.loss_scale != 1.0:
            shown["loss_scale"] = f"{self._known.loss_scale:g}"
        if self._skipped:
            shown["skipped"] = self._skipped
        bar.set_postfix(shown, refresh=False)

    # Several processes.

    @property
    def rank(self) -> int:
        """The number of this process among those that train together, from 0."""
        return self._ranks.rank if self._ranks else 0

    @property
    def num_ranks(self) -> int:
        """How many processes train together."""
        return self._ranks.count if self._ranks else 1

    @property
    def _is_sharded(self) -> bool:
        """Whether processes hold parameters together."""
        return self._zero_stage is not None and self.num_ranks > 1

    def _is_cut(self, name: str) -> bool:
        """Whether no process has all of state `name`."""
        return self._is_sharded and name in self._cut

    def _describe_state(self) -> str:
        """A line for each tensor of the state, with a checksum."""
        return "\n".join(
            f"{name} " + (self._sums.get(name, "") if self._is_cut(name)
                          else _checksum(self._read(name)))
            for name in self._state)

    def _compare_steps(self):
        """Raises, on every rank, unless all have the same step in the same state."""
        self._ranks.check_same("step and batch shapes",
                               "\n".join([f"the step {self._first.program.digest}",
                                          f"parallel_timeout={self._timeout}"]))
        try:
            self._ranks.check_same("state", self._describe_state())
        except Error as error:
            raise Error(f"{error}; make the model alike on every rank: call "
                        "torch.manual_seed with one seed before, or load one file") from None
        self._ranks.set_deadline(self._timeout)

    def _compare_calls(self, values):
        """Raises, on every rank, unless all are about to do the same step."""
        shapes = ", ".join(str(list(getattr(v, "shape", ()))) for v in values)
        rates = ", ".join(repr(float(g["lr"])) for g in self.optimizer.param_groups)
        text = f"a batch of {shapes}\nlr {rates}"
        if self._mode != tuple(training for _, training in self._modes):
            text += f"\ntrain() and eval() {self._mode}"
        if not self._is_compared:
            text += f"\n{self._describe_state()}"
        # One number for each step, and the text only where it differs.
        number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        if not self._ranks.is_same(number):
            self._ranks.check_same("batch shapes, learning rates and loaded state", text)
        self._is_compared = True

    def _wait_for_ranks(self):
        """Until all have compiled what they are about to run."""
        self._ranks.set_deadline(max(self._timeout, _SET_UP_DEADLINE))
        self._ranks.is_same(0)
        self._ranks.set_deadline(self._timeout)

    # State.

    def _write(self, name: str, value: torch.Tensor) -> None:
        tensor = self._state[name]
        value = real_view(value.detach()).to("cpu", TYPES[tensor.type]).contiguous()
        if self._is_cut(name):
            self._sums[name] = _checksum(value)
        self._first.program.write(name, value)

    def _read(self, name: str) -> torch.Tensor:
        return torch.from_dlpack(self._first.program.read(name))

    def _write_moment(self, name: str, value: torch.Tensor) -> None:
        """Rounded to the type that it is stored in."""
        if f"{name}.absmax" not in self._state:
            return self._write(name, value)
        codes, absmax = quantize_blockwise(real_view(value).to("cpu"), self._block_size,
                                           name.endswith(".exp_avg_sq"))
        self._write(name, codes)
        self._write(f"{name}.absmax", absmax)

    def _read_moment(self, name: str) -> torch.Tensor:
        """In f32, whatever type it is stored in; of a traced optimizer in its own."""
        value = self._read(name)
        if self._reader.traced:
            return value
        if f"{name}.absmax" not in self._state:
            return value.to(torch.float32)
        return dequantize_blockwise(value, self._read(f"{name}.absmax"), self._block_size,
                                    name.endswith(".exp_avg_sq"))

    def state_dict(self) -> "dict[str, torch.Tensor]":
        """Copies of what `model.state_dict()` holds, as training has left it. With
        parallel="zero1", "zero2" or "zero3" every process calls it."""
        self._changes.absorb()
        result = collections.OrderedDict()
        for key, value in self.model.state_dict(keep_vars=True).items():
            name = self._keys.get(key)
            if name in self._state:
                result[key] = restore(self._read(name), value)
            else:
                result[key] = value.detach().clone() if isinstance(value, torch.Tensor) \
                    else value
        return result

    def load_state_dict(self, state_dict: "Mapping[str, Any]", strict: bool = True) -> None:
        """Takes parameters and buffers from a model's `state_dict()`."""
        missing = [k for k in self._keys if k not in state_dict]
        unexpected = [k for k in state_dict
                      if k not in self._keys and not k.endswith("_extra_state")]
        if strict and (missing or unexpected):
            raise Error("load_state_dict: "
                        + "; ".join(f"{what} {', '.join(keys)}" for what, keys in
                                    (("missing", missing), ("unexpected", unexpected)) if keys))
        for key, value in state_dict.items():
            name = self._keys.get(key)
            shape = list(real_view(value).shape) if name in self._state else []
            if name in self._state and shape != list(self._state[name].shape):
                raise Error(f"load_state_dict: {key}: expected the shape "
                            f"{list(self._state[name].shape)}, found {shape}")
        self._is_compared = False
        for key, value in state_dict.items():
            if self._keys.get(key) in self._state:
                self._write(self._keys[key], value)
        self._changes.see_model(is_ahead=True)

    def _different(self) -> "dict[str, torch.Tensor]":
        """What of the model's `state_dict()` is not what the step has."""
        found = {}
        for key, value in self.model.state_dict(keep_vars=True).items():
            if self._keys.get(key) not in self._state:
                continue
            own, value = restore(self._read(self._keys[key]), value), value.detach().cpu()
            if not bool(((own == value) | (own != own) & (value != value)).all()):
                found[key] = value
        return found

    def ema_state_dict(self) -> "dict[str, torch.Tensor]":
        """As `state_dict()`, with the averages of the parameters that `ema=` keeps."""
        if self._ema is None:
            raise Error("ema_state_dict: no averages are kept; give TrainStep ema=0.999")
        result = self.state_dict()
        for key, value in result.items():
            average = f"{self._keys.get(key)}.ema"
            if average in self._state:
                result[key] = restore(self._read(average), value)
        return result

    def optimizer_state_dict(self) -> "Union[dict[str, Any], list[dict[str, Any]]]":
        """The optimizer's state, in the form of its own `state_dict()`; of several optimizers
        a list. Moments are f32, and state of optimizers that are traced has its own types;
        `save` keeps the bits of those that are stored in less."""
        self._changes.absorb()
        result = self.optimizer.state_dict()
        result["state"] = {}
        steps = self._read("step").to(torch.float32)

        def read(state):
            return {key: kind(v) if kind in (int, float) else v for key, kind, v in (
                (key, kind, steps.clone() if name == "step" else self._read_moment(name))
                for key, (name, kind) in state.items())}

        index = 0
        trains = {n for members in self._reader.groups for n in members}
        for number, group in enumerate(self.optimizer.param_groups):
            result["param_groups"][number].update(read(self._reader.state_of_group(number)))
            for parameter in group["params"]:
                name = self._ids[id(parameter)]
                if name in trains:
                    state = read(self._reader.state_of(name))
                    if parameter.is_complex():
                        state = {s: v if s == "step" else torch.view_as_complex(v)
                                 for s, v in state.items()}
                    if state:
                        result["state"][index] = state
                index += 1
        return self.optimizer.split(result) if isinstance(self.optimizer, OptimizerList) \
            else result

    def load_optimizer_state_dict(
            self, state_dict: "Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]") -> None:
        """Goes on from the `state_dict()` of an optimizer of the same kind and groups, or from
        a list of those of several.
        Moments are rounded to the nearest of the type that they are stored in."""
        self._is_compared = False
        self.optimizer.load_state_dict(state_dict)
        try:
            self._write_optimizer_state(self.optimizer.state_dict())
        finally:
            self.optimizer.state.clear()
            self._changes.see_optimizer()

    def _write_optimizer_state(self, state_dict) -> None:
        order = [self._ids[id(p)] for g in self.optimizer.param_groups for p in g["params"]]
        trains = {n for members in self._reader.groups for n in members}
        states = {order[i]: state for i, state in state_dict["state"].items()
                  if order[i] in trains}
        # Before anything is written: one count of steps is that of all.
        counted = [n for n in trains if self._reader.state_of(n).get("step", ("",))[0] == "step"]
        steps = {int(states[n]["step"]) for n in counted if "step" in states.get(n, {})}
        late = [n for n in counted if "step" not in states.get(n, {})]
        if len(steps) > 1 or steps and late:
            raise Error("the optimizer's state: expected one count of steps for all "
                        f"parameters, found {', '.join(map(str, sorted(steps)))}"
                        + (f", and none for {late[0]}" if late else "")
                        + "; make a new TrainStep of an optimizer that has loaded it")
        for number, group in enumerate(state_dict["param_groups"]):
            for key, (name, _) in self._reader.state_of_group(number).items():
                if group.get(key) is not None:
                    self._write(name, torch.as_tensor(group[key], dtype=torch.float32))
        for parameter in trains:
            state = states.get(parameter, {})
            for key, (name, _) in self._reader.state_of(parameter).items():
                if name != "step" and name in self._state:
                    value = state.get(key)
                    self._write_moment(name, self._reader.first_value(name, self._state[parameter])
                                       if value is None else torch.as_tensor(value))
        if self._reader.is_first in self._state:
            self._write(self._reader.is_first, torch.tensor(0.0 if any(states.values()) else 1.0))
        if steps or counted:
            self._write("step", torch.tensor(steps.pop() if steps else 0))

    def sync_to(self, model: Optional[torch.nn.Module] = None) -> None:
        """Copies parameters and buffers into `model`, by default that of the step."""
        model = self.model if model is None else model
        model.load_state_dict(self.state_dict())
        if model is self.model:
            self._changes.see_model()

    # Files.

    def save(self, path: "Union[str, os.PathLike]", background: bool = False) -> None:
        """Writes all state, the optimizer's too, to a .safetensors file that `load`
        and mpt-run read. Of several processes, rank 0 writes; with parallel="zero1",
        "zero2" or "zero3" all call it, and each writes its part to a file beside.

        With `background` this returns once the state is copied, and a thread writes the
        file while training goes on. `wait`, `close`, `load` and the next `save` wait for it,
        and raise what went wrong."""
        self._changes.absorb()
        if self.rank and not self._is_sharded:
            return
        self._set_whole_digest()
        self._wait()
        if background and not self._is_sharded and not self._saving:
            # At the end of the process, or when the step is collected.
            self._saving = weakref.finalize(self, self._first.program.finish_save)
        self._first.program.save(os.fspath(path), attempt=int(self._read("attempt")),
                                 skipped=self._skipped, seed=self._seed,
                                 background=background)

    def wait(self) -> None:
        """Until the last step is done, and the checkpoint of save(background=True) is
        written. With parallel="zero1", "zero2" or "zero3" every process calls it, and the
        checkpoint is there once they have."""
        self._wait()
        self._first.program.finish_save()

    def load(self, path: "Union[str, os.PathLike]") -> None:
        """Goes on from what `save` wrote: the same step, or an error."""
        self._is_compared = False
        self._set_whole_digest()
        self._wait()
        position = self._first.program.load(os.fspath(path))
        self._changes.see_model(is_ahead=True)
        self._skipped = position["skipped"]
        # The checkpoint's rates are as old as it is; those of the optimizer count.
        self._written = [None] * len(self._rates)

    def export(self, path: "Union[str, os.PathLike]", options: "Sequence[str]" = (),
               state: bool = True) -> str:
        """Writes the step for batches of the example's shape as one file that runs
        without Python: by mpt-run, from C, or as mpt.Program. It holds the present state,
        and its first run is the step that would be next here. `options` are
        mpt-compile's. Without `state` the file has none; `save` writes it. Of several
        processes, rank 0 writes. Returns the path."""
        path = os.fspath(path)
        if self._is_sharded:
            raise Error(f"export: with parallel={self._parallel!r} no process has all of the "
                        "state; give TrainStep parallel=\"data\", or export the step of one "
                        "process")
        if self.rank:
            return path
        options = ["--function=loss", *self._target_options(options), *options]
        with tempfile.TemporaryDirectory() as folder:
            if state:
                for index, group in enumerate(self.optimizer.param_groups):
                    self._write_rate(index, group["lr"])
                values = os.path.join(folder, "state.safetensors")
                self.save(values)
                options.append(f"--state={values}")
            self._first.module.compile(path, options)
        return path

    def _target_options(self, given) -> "list[str]":
        """Of mpt-compile: the step's GPU, unless a target is given."""
        machine, *chips = self._first.program.target.split()
        if machine != "cuda" or any(o.lstrip("-").startswith("target") for o in given):
            return []
        options = ["--target=cuda", *(f"--chip={chip}" for chip in chips)]
        if self._cuda.get("toolkit"):
            options.append(f"--cuda-toolkit={self._cuda['toolkit']}")
        if self._cuda.get("emulated_kernels"):
            options.append("--emulated-kernels")
        if self._cuda.get("attention_variant") == "auto" and "sm_90" in chips:
            options.append("--attention-variant=auto")
        return options

    # Reports.

    def evaluator(self, function: Callable[..., Any], weights: str = "parameters"):
        """`function(model, *batch)` compiled in evaluation mode over the step's present
        state. Returns what `function` does: a tensor, or a tuple or dictionary of some.
        `weights="ema"` takes the averages in place of the parameters."""
        if self._is_sharded:
            raise Error(f"evaluator: with parallel={self._parallel!r} no process has all "
                        "parameters; call sync_to(model) in all of them, and evaluate the "
                        "model")
        from mpt._training.evaluator import Evaluator
        return Evaluator(self, function, weights)

    def _before_autocast(self):
        text = self._first.exported.text
        if self._reader.traced:
            text += self._reader.traced.text
        return text, self._pipeline(self._batch.names, self._shapes_of_first())

    def _shapes_of_first(self):
        return tuple(torch.empty(t.shape, device="meta")
                     for t in self._first.program.tensors if t.role in ("input", "target"))

    def close(self) -> None:
        """Frees the programs and their state, after what save(background=True) writes."""
        if self._saving:
            self._saving.detach()
        try:
            if not self._first.program.closed:
                self._first.program.finish_save()
        finally:
            self._free()

    def _free(self) -> None:
        for compiled in [self._first, *self._programs.values()]:
            compiled.scalars.clear()
            compiled.program.close()
        self._programs.clear()

    @property
    def notes(self) -> str:
        """On a GPU: lines about what was decided for it, as a memory budget where more does
        not fit, and after the first step what CUDA's libraries refused and what runs instead."""
        return self._first.program.notes


def _to_rate(value, what: str) -> float:
    try:
        rate = float(value)
    except (TypeError, ValueError):
        rate = math.nan
    if not 0 <= rate < math.inf:
        raise Error(f"{what}: expected a finite number of at least 0, found {value!r}")
    return rate


def _checksum(value: torch.Tensor) -> str:
    """Of the bytes of a tensor on the CPU, one after another."""
    size = value.numel() * value.element_size()
    data = (ctypes.c_char * size).from_address(value.data_ptr()) if size else b""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _is_too_large(error: Error) -> bool:
    """Whether the step does not fit its memory budget."""
    return any(d.message.startswith("mpt-rematerialize: ") for d in error.diagnostics)


def _refuse(name, value, dtype):
    if value.dtype != dtype:
        raise Error(f"'{name}': expected {dtype} as in the example, found {value.dtype}; "
                    f"convert it with .to({dtype})")
    if value.layout is not torch.strided:
        raise Error(f"'{name}': expected a dense tensor, found {value.layout}; pass "
                    ".to_dense()")
    raise Error(f"'{name}': expected a tensor on the CPU, found one on {value.device}; "
                "copy it with .cpu()")
