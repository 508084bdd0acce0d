# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the training steps of PyTorch and of JAX share."""
from __future__ import annotations

import os
import re
import tempfile
import warnings
from typing import Any

from mpt import Module
from mpt._diagnostics import Error, Explanation, MemoryReport, StepProfile

PRECISIONS = ("f32", "f16", "bf16")
# Results that a step has of itself.
SCALARS = {"loss", "grad_norm", "did_step", "loss_scale", "found_inf"}


class StepResult:
    """What one step gave.

    `loss` and `grad_norm` (the L2 norm of all gradients, before clipping) are floats.
    `did_step` is false where a gradient was infinite or NaN, so that nothing was updated;
    `loss_scale` is the factor that the next step's loss gets. What else the loss function's
    dictionary holds is read by name: `r["accuracy"]`.
    """

    __slots__ = ("loss", "grad_norm", "did_step", "loss_scale", "outputs")

    def __init__(self, loss, grad_norm, did_step, loss_scale, outputs):
        self.loss: float = loss
        self.grad_norm: float = grad_norm
        self.did_step: bool = did_step
        self.loss_scale: float = loss_scale
        self.outputs: "dict[str, Any]" = outputs

    def __getitem__(self, name: str) -> Any:
        return self.outputs[name]

    def __repr__(self) -> str:
        return (f"StepResult(loss={self.loss:.6g}, grad_norm={self.grad_norm:.6g}, "
                f"did_step={self.did_step}, loss_scale={self.loss_scale:g})")


class LateResult(StepResult):
    """What a step on a GPU gave: reading it waits for that step, and for no later one."""

    __slots__ = ("_read",)

    def __init__(self, read):
        # Returns the arguments of StepResult.
        self._read = read

    def __getattr__(self, name: str) -> Any:
        # Of what is not there yet.
        if name not in StepResult.__slots__:
            raise AttributeError(name)
        self.wait()
        return getattr(self, name)

    def __reduce__(self):
        self.wait()
        return StepResult, tuple(getattr(self, name) for name in StepResult.__slots__)

    def wait(self) -> None:
        """Reads what is not there yet."""
        read = self._read
        if read is not None:
            super().__init__(*read())
            self._read = None


class ScalarReader:
    """Reads the scalars of a program where it keeps them. `from_dlpack` makes an array
    with `item()` of those that Python's buffers have no format for."""

    def __init__(self, program, from_dlpack):
        self.program = program
        self.from_dlpack = from_dlpack
        types = {t.name: t.type for t in program.tensors if t.name in SCALARS}
        self.names = set(types)
        # Those of a GPU, and of 16 bits, are copied.
        self.views = {} if program.target.startswith("cuda") else {
            name: memoryview(program.view(name)) for name, type in types.items()
            if type not in ("f16", "bf16")}

    def read(self, name: str, otherwise):
        view = self.views.get(name)
        if view is not None:
            return view[()]
        if name not in self.names:
            return otherwise
        return self.from_dlpack(self.program.read(name)).item()

    def keep(self, others: "list[str]") -> None:
        """Has runs keep the scalars and `others` for `read_kept`."""
        self.program.keep([*sorted(self.names), *others])

    def read_kept(self, name: str, run: int, otherwise):
        """As it was after run `run`."""
        if name not in self.names:
            return otherwise
        return self.from_dlpack(self.program.read_result(name, run)).item()

    def clear(self):
        self.views.clear()


def check_memory_budget(value) -> None:
    """What is not a string is refused here, other words where the budget is read."""
    if not isinstance(value, (str, type(None))):
        raise Error("memory_budget: expected a string such as \"512MB\", \"0.5x\" or "
                    f"\"min\", found {value!r}")


def spell_loss_scale(value, precision) -> str:
    """Options of --mpt-loss-scale; empty: none."""
    if value is None:
        return "mode=dynamic" if precision == "f16" else ""
    if isinstance(value, (int, float)):
        return f"mode=static init-scale={float(value)!r}"
    mode, _, options = str(value).strip().partition(" ")
    if mode not in ("dynamic", "static", "amax", "none"):
        raise Error("loss_scale: expected dynamic, static, amax, none or a number, found "
                    f"{value!r}")
    if mode == "none":
        return ""
    return " ".join(filter(None, (f"mode={mode}", f"type={precision}" if mode == "amax" else "",
                                  options)))


def spell_optimizer_state(value, reader=None) -> str:
    """Options of --mpt-optimizer-state; empty: moments in f32. With `reader`, which knows the
    optimizer's groups, a list has one kind for each."""
    kinds = ("f32", "bf16", "block8")
    if isinstance(value, str) and value.strip().partition(" ")[0] in kinds:
        kind, _, options = value.strip().partition(" ")
        return "" if kind == "f32" and not options else f"kind={kind} {options}".strip()
    expected = f"optimizer_state: expected {', '.join(kinds)}"
    if reader is None:
        raise Error(f"{expected}, found {value!r}")
    if isinstance(value, str):
        raise Error(f"{expected}, or a list with one of these for each group of parameters, "
                    f"found {value!r}")
    if not isinstance(value, (list, tuple)) or len(value) != len(reader.groups):
        raise Error(f"{expected}, or a list with one of these for each of "
                    f"{len(reader.groups)} groups of parameters, found {value!r}")
    for kind in value:
        if kind not in kinds:
            raise Error(f"{expected} for each group of parameters, found {kind!r}")
    groups = [f"{reader.pattern(i)}={kind}" for i, kind in enumerate(value)
              if reader.groups[i] and kind != "f32"]
    return f"groups={','.join(groups)}" if groups else ""


class Fp8:
    """What `fp8` asks for: a recipe of --mpt-fp8, and options after it."""

    RECIPES = ("delayed", "current", "deepseek", "mxfp8")

    def __init__(self, value):
        recipe, _, options = value.strip().partition(" ") if isinstance(value, str) \
            else ("", "", "")
        if value is not None and recipe not in self.RECIPES:
            raise Error(f"fp8: expected {', '.join(self.RECIPES)} or None, found {value!r}")
        if re.search(r"\b(recipe|function)=", options):
            raise Error(f"fp8: expected the recipe as the first word and no function, found "
                        f"{value!r}")
        self.options = f"recipe={recipe} {options}".strip() if value is not None else ""
        passes = [f"mpt-fp8{{{self.options}}}"] if self.options else []
        # Scales of blocks are no state, so these recipes may follow autocast, which then stores
        # in half precision what is kept between their matmuls.
        is_last = recipe in ("deepseek", "mxfp8")
        self.before_scaling = [] if is_last else passes
        self.after_autocast = passes if is_last else []


def run_passes(module, passes: "list[str]") -> None:
    """Runs passes on a module, and gives their warnings as Python's."""
    for note in module.run(",".join(passes)):
        if note.severity == "warning":
            warnings.warn(str(note), stacklevel=2)


class Reports:
    """What a training step says of itself. It has `_precision`, `_threads`, `_programs` by the shapes
    of batches and the `_first` of them, and `_before_autocast()`."""

    # What a user calls to make one.
    _maker = "TrainStep"

    def _before_autocast(self) -> "tuple[str, list[str]]":
        """The step's loss as text, and the passes that precede autocast."""
        raise NotImplementedError

    def explain(self, pattern: str = ".*") -> Explanation:
        """Why ops have the precision that they have: remarks on those whose name or place
        matches the regular expression."""
        if self._precision == "f32":
            raise Error(f"explain: everything is computed in f32; give {self._maker} "
                        "precision=\"f16\" or \"bf16\"")
        text, passes = self._before_autocast()
        module = Module(text, "loss")
        module.run(",".join(passes))
        notes = module.run(f"mpt-explain{{match='{pattern}' type={self._precision}}}")
        return Explanation([n for n in notes if n.severity == "remark"], pattern)

    def memory_report(self) -> MemoryReport:
        """What the step keeps in memory, when, and why."""
        threads = self._threads or len(os.sched_getaffinity(0))
        forms = []
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report")
            for form in ("text", "json", "html"):
                self._first.module.clone().run(
                    f"mpt-memory-report{{function=loss format={form} output={path} "
                    f"max-threads={threads}}}")
                with open(path, encoding="utf-8") as file:
                    forms.append(file.read())
        return MemoryReport(*forms)

    def profile(self) -> StepProfile:
        """Measures each library call and kernel of the steps in its `with` block, after which
        it prints where they spent their time. These are ordinary steps of training; on a GPU
        they are slower than others, since their launches run one by one."""
        self._profile = StepProfile(
            lambda: [compiled.program for compiled in self._programs.values()],
            f"profile of {self._precision}")
        return self._profile

    @property
    def arena_bytes(self) -> int:
        """Memory of a run's temporary values, for batches of the example's shape."""
        return self._first.program.arena_bytes

    @property
    def state_bytes(self) -> int:
        """Memory of parameters, of what else the step carries, and of the optimizer's state."""
        return self._first.program.state_bytes
