# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of a JAX loss, compiled by MPT. Names are public in mpt.jax."""
from __future__ import annotations

import collections
import contextlib
import inspect
import os
import tempfile
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import jax
import numpy

from mpt import Module
from mpt._diagnostics import Error, StepProfile
from mpt._jax.derivative_rules import unscale_rules
from mpt._jax.leaves import (describe_array, is_key, name_leaves, spell_array, spell_path,
                             strip_keys, to_array, widen)
from mpt._jax.lower_forward import lower_forward, lower_whole
from mpt._jax.marks import gradients, make_seed
from mpt._jax.mlir import import_mlir
from mpt._stablehlo import inline_calls
from mpt._step import (PRECISIONS, Fp8, Reports, ScalarReader, StepResult, check_memory_budget,
                       run_passes, spell_loss_scale, spell_optimizer_state)

_FLOATS = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_OPTIMIZERS = ("sgd", "momentum", "adam", "adamw")
# The function that an optimizer of optax becomes, and where its state is.
_OPTIMIZER = "optimizer"


class _Compiled:
    def __init__(self, module, program):
        self.module = module
        self.program = program
        self.scalars = ScalarReader(program, jax.dlpack.from_dlpack)
        self.types = {t.name: t.type for t in program.tensors}


class TrainStep(Reports):
    """A training step of a JAX loss, compiled by MPT. Made by `train_step`.

    `step(x, y)` does what `jax.value_and_grad`, clipping and the optimizer's update do, and
    returns a StepResult. The step holds the parameters: `params` are copies.
    """

    _maker = "train_step"

    def __init__(self, loss, params, batch, optimizer, *, state, lr, precision, fp8,
                 gradients, optimizer_state, memory_budget, clip_norm, ema, seed, loss_scale,
                 threads, max_programs):
        if precision not in PRECISIONS:
            raise Error(f"precision: expected {', '.join(PRECISIONS)}, found {precision!r}")
        if max_programs < 1:
            raise Error(f"max_programs: expected at least 1, found {max_programs}")
        if gradients not in ("mpt", "jax"):
            raise Error(f"gradients: expected 'mpt' or 'jax', found {gradients!r}")
        self._gradients = gradients
        # One of optax's transformations, or None.
        self._transform = optimizer if all(
            callable(getattr(optimizer, name, None)) for name in ("init", "update")) else None
        if self._transform is None and (
                not isinstance(optimizer, str) or optimizer.split()[:1] == []
                or optimizer.split()[0] not in _OPTIMIZERS):
            raise Error(f"optimizer: expected {', '.join(_OPTIMIZERS)}, with options of "
                        "mpt-train-step such as \"adamw weight-decay=0.01\", or a "
                        f"GradientTransformation of optax, found {optimizer!r}")
        if self._transform and lr is not None:
            raise Error("lr: the optimizer has its own learning rate, which may be a schedule "
                        "of optax; leave out lr")
        check_memory_budget(memory_budget)
        self._loss, self._precision, self._has_state = loss, precision, state is not None
        self._optimizer = [f"@{_OPTIMIZER}"] if self._transform else optimizer.split()
        self._memory_budget, self._clip_norm, self._ema = memory_budget, clip_norm, ema
        self._loss_scale = spell_loss_scale(loss_scale, precision)
        self._fp8 = Fp8(fp8)
        self._optimizer_state = spell_optimizer_state(optimizer_state)
        if self._transform and self._optimizer_state:
            raise Error(f"optimizer_state: expected f32, found {optimizer_state!r}: only the "
                        f"moments of {', '.join(_OPTIMIZERS)} are stored in less, not the state "
                        "of an optimizer of optax")
        self._threads, self._max_programs, self._seed = threads, max_programs, seed
        self._lr, self._count, self._skipped = 1e-3 if lr is None else lr, 0, 0
        if self._transform:
            self._lr = None  # Not changed.
        self._named = list(batch) if isinstance(batch, Mapping) else None
        batch = self._order(batch if isinstance(batch, Mapping) else None,
                            () if isinstance(batch, Mapping) else batch)
        leaves, self._tree = jax.tree.flatten((params, state if self._has_state else ()))
        self._kinds = [jax.random.key_impl(x) if is_key(x) else None for x in leaves]
        leaves = strip_keys(leaves)
        if not jax.tree.leaves(params):
            raise Error("params: expected a tree of arrays, found none")
        self._num_params = len(jax.tree.leaves(params))
        taken: "set[str]" = set()
        self._names = name_leaves(params, "", taken) + name_leaves(
            state if self._has_state else (), "state", taken)
        self._values = [to_array(value) for value in leaves]
        for name, value in zip(self._names[:self._num_params], self._values):
            if value.dtype.kind != "f" and value.dtype.name != "bfloat16":
                raise Error(f"params: {name}: expected floating-point numbers, found "
                            f"{value.dtype}; leave out of `params` what does not train")
        labels = self._named
        if labels is None:
            skipped = 2 if self._has_state else 1
            try:
                labels = [p.name for p in inspect.signature(loss).parameters.values()
                          if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][skipped:]
            except (TypeError, ValueError):
                labels = []
            labels += [f"batch{i}" for i in range(len(labels), len(batch))]
        self._inputs = [name for label, value in zip(labels, batch)
                        for name in name_leaves(strip_keys(value), label, taken)]
        parts = self._flatten(batch)
        self._dtypes = [part.dtype for part in parts]
        self._profile: Optional[StepProfile] = None
        self._programs: "collections.OrderedDict[Any, _Compiled]" = collections.OrderedDict()
        self._first: Optional[_Compiled] = None
        self._make_moments(params, taken)
        self._first = self._find(parts, batch)
        for name, value in zip(self._names + self._moment_names, self._values + self._moments):
            self._write(name, value)
        if "seed" in self._first.types:
            self._first.program.write("seed", numpy.array(
                seed, dtype=numpy.asarray(self._read("seed")).dtype))

    # Batches.

    def _order(self, named, values):
        if self._named is None:
            if named:
                raise Error("expected the batch in order, as in the example, found the names "
                            f"{', '.join(map(str, named))}")
            return tuple(values) if isinstance(values, (tuple, list)) else (values,)
        given = dict(values[0]) if values else {}
        given.update(named or {})
        if set(given) != set(self._named):
            raise Error(f"expected a batch of {', '.join(self._named)}, found "
                        f"{', '.join(map(str, given)) or 'nothing'}")
        return tuple(given[name] for name in self._named)

    @staticmethod
    def _flatten(batch):
        return [to_array(value) for value in jax.tree.leaves(strip_keys(batch))]

    def _unflatten(self, leaves):
        """The parameters and the state from their numbers: random keys as they came."""
        return jax.tree.unflatten(self._tree, [
            leaf if kind is None else jax.random.wrap_key_data(leaf, impl=kind)
            for leaf, kind in zip(leaves, self._kinds)])

    # Compilation.

    def _make_moments(self, params, taken) -> None:
        """The state of an optimizer of optax."""
        self._moment_names, self._moments, self._update = [], [], ""
        self._rate_name = None if self._transform else "lr"
        self._param_tree = jax.tree.structure(params)
        if not self._transform:
            return
        try:
            moments = self._transform.init(jax.tree.map(widen, params))
        except Exception as error:
            raise Error(f"optimizer: its init(params) fails: {error}") from error
        leaves, self._moment_tree = jax.tree.flatten(moments)
        self._moment_kinds = [jax.random.key_impl(x) if is_key(x) else None for x in leaves]
        self._moment_names = name_leaves(moments, _OPTIMIZER, taken)
        self._moments = [to_array(x) for x in strip_keys(leaves)]
        # What optax.inject_hyperparams keeps, unless a schedule gives it.
        ends = [tuple(spell_path([entry]) for entry in path)
                for path, _ in jax.tree_util.tree_flatten_with_path(moments)[0]]
        found = [name for name, end in zip(self._moment_names, ends)
                 if end[-2:] == ("hyperparams", "learning_rate")]
        if len(found) == 1 and not any(
                pair == ("hyperparams_states", "learning_rate")
                for end in ends for pair in zip(end, end[1:])):
            self._rate_name = found[0]

    def _lower_optimizer(self, loss) -> None:
        """An optimizer of optax as the function @optimizer. loss: its shape and type."""
        ir, _ = import_mlir()

        def value_fn(*_, **__):
            raise Error("optimizer: its update computes the loss for other parameters "
                        "(value_fn), as optax's line searches do, but a step has one forward "
                        "pass; optax.lbfgs(0.1, linesearch=None) does with one")

        def update(params, gradients, moments, loss):
            params, gradients = (jax.tree.unflatten(self._param_tree, x)
                                 for x in (params, gradients))
            more = {"value": loss, "grad": gradients, "value_fn": value_fn}
            changes, new = self._transform.update(
                gradients, self._join_moments(moments), params,
                **{name: more[name] for name in more if self._takes(name)})
            if jax.tree.structure(new) != self._moment_tree:
                raise Error("optimizer: its update gives state of another structure than its "
                            f"init, {jax.tree.structure(new)}")
            params = jax.tree.map(lambda p, u: p if u is None else (p + u).astype(p.dtype), params,
                                  changes, is_leaf=lambda x: x is None)
            return jax.tree.leaves(params), strip_keys(jax.tree.leaves(new))

        values = [widen(value) for value in self._values[:self._num_params]]
        names = self._names[:self._num_params]
        try:
            lowered = jax.jit(update, keep_unused=True).lower(values, values, self._moments, loss)
        except Error:
            raise
        except Exception as error:
            raise Error(f"optimizer: its update(gradients, state, params) fails: {error}") from error
        module = lowered.compiler_ir("stablehlo")
        with module.context as context, ir.Location.unknown():
            context.allow_unregistered_dialects = True
            inline_calls(module, ir, ("func.call", "stablehlo.composite"))
            main = next(op for op in module.body.operations
                        if ir.StringAttr(op.attributes["sym_name"]).value == "main")

            def attributes(**values):
                return ir.DictAttr.get({f"mpt.{key}": ir.StringAttr.get(value)
                                        for key, value in values.items()})

            main.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [attributes(name=name, role="parameter") for name in names]
                + [attributes(name=f"grad.{name}", role="input") for name in names]
                + [attributes(name=name, role="optimizer_state") for name in self._moment_names]
                + [attributes(name="loss", role="input")])
            main.attributes["res_attrs"] = ir.ArrayAttr.get(
                [attributes(updates=name) for name in names + self._moment_names])
            main.attributes["sym_name"] = ir.StringAttr.get(_OPTIMIZER)
            self._update = main.get_asm(print_generic_op_form=True, enable_debug_info=False)

    def _takes(self, name) -> bool:
        """Whether `update` has an argument of this name, as optax's
        GradientTransformationExtraArgs has all."""
        parameters = inspect.signature(self._transform.update).parameters
        return name in parameters or any(p.kind == p.VAR_KEYWORD for p in parameters.values())

    def _join_moments(self, leaves):
        return jax.tree.unflatten(self._moment_tree, [
            leaf if kind is None else jax.random.wrap_key_data(leaf, impl=kind)
            for leaf, kind in zip(leaves, self._moment_kinds)])

    def _lower(self, batch) -> str:
        """The loss as MLIR, with the names and roles that MPT reads."""
        ir, _ = import_mlir()
        labels = self._named

        def flat(leaves, *batch):
            held = self._unflatten(leaves)
            first = held if self._has_state else held[:1]
            found = self._loss(*first, **dict(zip(labels, batch))) if labels is not None \
                else self._loss(*first, *batch)
            new, outputs = (), {}
            if self._has_state:
                if not isinstance(found, tuple) or len(found) != 2:
                    raise Error("the loss: expected (loss, new state), as there is `state`, "
                                f"found {type(found).__name__}")
                found, new = found
                if jax.tree.structure(new) != jax.tree.structure(first[1]):
                    raise Error("the loss: expected a new state of the structure "
                                f"{jax.tree.structure(first[1])}, found {jax.tree.structure(new)}")
            elif isinstance(found, tuple):
                if len(found) != 2 or not isinstance(found[1], Mapping):
                    raise Error("the loss: expected a scalar, or (scalar, dictionary)")
                found, outputs = found[0], dict(found[1])
            if jax.numpy.ndim(found) != 0 or not jax.numpy.issubdtype(
                    jax.numpy.result_type(found), jax.numpy.floating):
                raise Error("the loss: expected a floating-point scalar, found "
                            f"{jax.numpy.result_type(found)} of shape {jax.numpy.shape(found)}; "
                            "reduce it, for instance by .mean()")
            return found, strip_keys(new), outputs

        def differentiated(leaves, *batch):
            def of_params(params):
                found = flat([*params, *leaves[self._num_params:]], *batch)
                return found[0], found

            seed = make_seed()
            with unscale_rules(seed) if self._loss_scale else contextlib.nullcontext():
                loss, pull_back, found = jax.vjp(of_params, leaves[:self._num_params], has_aux=True)
            slopes, = pull_back(seed.astype(loss.dtype))
            return (*found, gradients(slopes))

        if self._gradients == "jax":
            lowered = lower_whole(jax.jit(differentiated, keep_unused=True), self._values, *batch)
        else:
            lowered = lower_forward(jax.jit(flat, keep_unused=True), self._values, *batch)
        shapes = lowered.out_info
        if self._transform and not self._update:
            self._lower_optimizer(jax.ShapeDtypeStruct(shapes[0].shape, shapes[0].dtype))
        outputs = name_leaves(shapes[2], "outputs", set())
        module = lowered.compiler_ir("stablehlo")
        with module.context as context, ir.Location.unknown():
            context.allow_unregistered_dialects = True
            main = next(op for op in module.body.operations
                        if ir.StringAttr(op.attributes["sym_name"]).value == "main")

            def attributes(**values):
                return ir.DictAttr.get({f"mpt.{key}": ir.StringAttr.get(value)
                                        for key, value in values.items()})

            roles = ["parameter"] * self._num_params
            roles += ["running_stat"] * (len(self._names) - len(roles))
            main.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [attributes(name=name, role=role) for name, role in zip(self._names, roles)]
                + [attributes(name=name, role="input") for name in self._inputs])
            updated = self._names[self._num_params:]
            main.attributes["res_attrs"] = ir.ArrayAttr.get(
                [attributes(name="loss")]
                + [attributes(name=f"{name}.next", updates=name) for name in updated]
                + [attributes(name=name) for name in outputs]
                + [attributes(name=f"grad.{name}") for name in self._names[:self._num_params]
                   if self._gradients == "jax"])
            main.attributes["sym_name"] = ir.StringAttr.get("loss")
            if self._memory_budget is not None:
                main.attributes["mpt.memory_budget"] = ir.StringAttr.get(self._memory_budget)
            if self._update:
                module.body.append(ir.Operation.parse(self._update, context=context))
            return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)

    def _passes(self) -> "list[str]":
        options = [f"optimizer={self._optimizer[0]}", *self._optimizer[1:], "grad-norm=true"]
        if not self._transform:
            rate = float(self._lr(0) if callable(self._lr) else self._lr)
            options.append(f"lr={rate!r}")
        if self._clip_norm is not None:
            options.append(f"clip-norm={float(self._clip_norm)!r}")
        if self._ema is not None:
            options.append(f"ema-decay={float(self._ema)!r}")
        is_done = self._gradients == "jax"
        passes = [*["mpt-mark-stablehlo-step"][:is_done], "mpt-convert-stablehlo", "canonicalize",
                  "cse", *["mpt-autodiff"][is_done:], f"mpt-train-step{{{' '.join(options)}}}", *self._fp8.before_scaling]
        if self._optimizer_state:
            passes.append(f"mpt-optimizer-state{{{self._optimizer_state}}}")
        passes.append("mpt-master-weights")
        if self._loss_scale:
            passes.append(f"mpt-loss-scale{{{self._loss_scale}}}")
        return passes + ["mpt-validate-loss-scale"]

    def _find(self, parts, batch) -> _Compiled:
        key = tuple(part.shape for part in parts)
        compiled = self._programs.get(key)
        if compiled is not None:
            self._programs.move_to_end(key)
            return compiled
        text = self._lower(batch)
        if self._first is None:
            self._text = text
        module = Module(text, "loss")
        passes = self._passes()
        if self._precision != "f32":
            passes.append(f"mpt-autocast{{type={self._precision}}}")
        passes += self._fp8.after_autocast
        run_passes(module, passes)
        compiled = _Compiled(module, module.program(
            "loss", threads=self._threads,
            share=self._first.program if self._first else None))
        if len(self._programs) >= self._max_programs:
            self._programs.popitem(last=False)
        self._programs[key] = compiled
        if self._profile:
            self._profile.add(compiled.program)
        return compiled

    # Training.

    def __call__(self, *batch, **named) -> StepResult:
        """One step of training on a batch."""
        batch = self._order(named, batch)
        parts = self._flatten(batch)
        if len(parts) != len(self._inputs):
            raise Error(f"expected {len(self._inputs)} arrays ({', '.join(self._inputs)}), found "
                        f"{len(parts)}")
        compiled = self._find(parts, batch)
        program = compiled.program
        for name, part, dtype in zip(self._inputs, parts, self._dtypes):
            if part.dtype != dtype:
                raise Error(f"'{name}': expected elements of {dtype} as in the example, found "
                            f"{part.dtype}; convert them with .astype({dtype.name!r})")
            if name in compiled.types:
                array = spell_array(part)
                program.bind_address(name, array.ctypes.data, array.nbytes, array)
        if callable(self._lr):
            self._write_rate(self._lr(self._count))
        elif self._count == 0:
            self._write_rate(self._lr)
        program.run()
        self._count += 1
        did_step = bool(compiled.scalars.read("did_step", True))
        self._skipped += not did_step
        outputs = {t.name[len("outputs."):]: jax.dlpack.from_dlpack(program.read(t.name))
                   for t in program.tensors
                   if t.role == "output" and t.name.startswith("outputs.")}
        return StepResult(compiled.scalars.read("loss", None),
                          compiled.scalars.read("grad_norm", None), did_step,
                          compiled.scalars.read("loss_scale", 1.0), outputs)

    def _write_rate(self, rate) -> None:
        if rate is not None and self._rate_name is not None:
            self._write(self._rate_name, numpy.asarray(float(rate), "float32"))

    @property
    def lr(self) -> float:
        """The learning rate. If it is a function of the number of the step, its value for
        the next one. Of an optimizer of optax, the one that optax.inject_hyperparams keeps."""
        self._check_has_rate()
        if self._lr is None:
            return float(self._read(self._rate_name))
        return float(self._lr(self._count) if callable(self._lr) else self._lr)

    @lr.setter
    def lr(self, value: "Union[float, Callable[[int], float]]") -> None:
        self._check_has_rate()
        # A number is part of optax's state.
        self._lr = value if callable(value) or not self._transform else None
        if not callable(value):
            self._write_rate(value)

    def _check_has_rate(self) -> None:
        if self._rate_name is None:
            raise Error("lr: the optimizer of optax has its own learning rate, or several; "
                        "step.lr is one that optax.inject_hyperparams keeps, as in "
                        "optax.inject_hyperparams(optax.adam)(learning_rate=0.1)")

    # State.

    def _read(self, name):
        return jax.dlpack.from_dlpack(self._first.program.read(name))

    def _write(self, name, value) -> None:
        if name in self._first.types:
            # Parameters of 16 bits have masters of 32. NumPy hands over no bf16.
            kept = _FLOATS.get(self._first.types[name], value.dtype)
            self._first.program.write(name, jax.numpy.asarray(spell_array(value.astype(kept))))

    def _held(self, suffix=""):
        leaves = []
        for name, value in zip(self._names, self._values):
            present = name + suffix if name + suffix in self._first.types else name
            if present not in self._first.types:
                leaves.append(jax.numpy.asarray(value))
                continue
            array = self._read(present)
            leaves.append(array.view(value.dtype) if value.dtype.kind == "u"
                          else array.astype(value.dtype))
        return self._unflatten(leaves)

    @property
    def params(self) -> Any:
        """Copies of the parameters, as training has left them, in the tree that they came
        in."""
        return self._held()[0]

    @property
    def state(self) -> Any:
        """As `params`, what the loss carries besides, such as statistics of batch norm."""
        return self._held()[1] if self._has_state else None

    @property
    def opt_state(self) -> Any:
        """As `params`, the state of an optimizer of optax."""
        if not self._transform:
            raise Error("opt_state: expected an optimizer of optax, found "
                        f"{self._optimizer[0]!r}, whose state `save` writes")
        leaves = []
        for name, value in zip(self._moment_names, self._moments):
            array = self._read(name)
            leaves.append(array.view(value.dtype) if value.dtype.kind == "u"
                          else array.astype(value.dtype))
        return self._join_moments(leaves)

    @opt_state.setter
    def opt_state(self, value: Any) -> None:
        if not self._transform:
            raise Error("opt_state: expected an optimizer of optax, found "
                        f"{self._optimizer[0]!r}, whose state `load` reads")
        leaves, tree = jax.tree.flatten(value)
        if tree != self._moment_tree:
            raise Error(f"opt_state: expected the tree {self._moment_tree}, found {tree}; restore "
                        "checkpoints into the tree that step.opt_state gives")
        # Of parameters of 16 bits optax's own has 16, too.
        arrays = [widen(leaf) if own.dtype == "float32" else to_array(leaf)
                  for leaf, own in zip(strip_keys(leaves), self._moments)]
        for name, leaf, array, kind, own in zip(
                self._moment_names, leaves, arrays, self._moment_kinds, self._moments):
            impl = jax.random.key_impl(leaf) if is_key(leaf) else None
            if (impl, array.shape, array.dtype) != (kind, own.shape, own.dtype):
                raise Error(f"opt_state: {name}: expected {describe_array(kind, own)}, found "
                            f"{describe_array(impl, array)}")
        for name, leaf in zip(self._moment_names, arrays):
            self._write(name, leaf)

    @property
    def ema_params(self) -> Any:
        """The averages of the parameters that `ema=` keeps."""
        if self._ema is None:
            raise Error("ema_params: no averages are kept; give train_step ema=0.999")
        return self._held(".ema")[0]

    # Files.

    def save(self, path: "Union[str, os.PathLike]") -> None:
        """Writes all state, the optimizer's too, to a .safetensors file that `load`
        and mpt-run read."""
        self._first.program.save(os.fspath(path), attempt=self._count, skipped=self._skipped,
                                 seed=self._seed)

    def load(self, path: "Union[str, os.PathLike]") -> None:
        """Goes on from what `save` wrote: the same step, or an error."""
        position = self._first.program.load(os.fspath(path))
        self._skipped, self._count = position["skipped"], position["attempt"]
        if not callable(self._lr):
            self._write_rate(self._lr)

    def export(self, path: "Union[str, os.PathLike]", options: "Sequence[str]" = ()) -> str:
        """Writes the step with its present state as one file that runs without Python: by
        mpt-run, from C, or as mpt.Program. `options` are mpt-compile's."""
        path = os.fspath(path)
        with tempfile.TemporaryDirectory() as folder:
            self._write_rate(self._lr(self._count) if callable(self._lr) else self._lr)
            values = os.path.join(folder, "state.safetensors")
            self.save(values)
            self._first.module.compile(
                path, ["--function=loss", f"--state={values}", *options])
        return path

    def _before_autocast(self):
        return self._text, self._passes()

    def close(self) -> None:
        """Frees the programs and their state."""
        for compiled in [self._first, *self._programs.values()]:
            compiled.scalars.clear()
            compiled.program.close()
        self._programs.clear()


def train_step(loss: Callable[..., Any], params: Any, batch: Any,
               optimizer: Any = "adamw", precision: str = "f32", *, state: Any = None,
               lr: "Union[None, float, Callable[[int], float]]" = None,
               gradients: str = "mpt", fp8: Optional[str] = None, optimizer_state: str = "f32",
               memory_budget: Optional[str] = None, clip_norm: Optional[float] = None,
               ema: Optional[float] = None, seed: int = 0,
               loss_scale: "Union[None, str, float]" = None, threads: int = 0,
               max_programs: int = 8) -> TrainStep:
    """A training step of a JAX loss that runs on MPT, on the CPU.

    loss: `loss(params, *batch)`. Returns a scalar, or (scalar, dictionary of arrays), whose
        arrays the step's result has by name. With `state`, `loss(params, state, *batch)`
        returns (scalar, new state).
    params: any tree of floating-point arrays (flax's, haiku's, your own). They are copied;
        `step.params` gives them back.
    batch: one batch, as it will be passed to the step: a tuple of trees of arrays, or a
        dictionary, which is passed by name. Other shapes are compiled when they come.
    optimizer: sgd, momentum, adam or adamw, then options of mpt-train-step such as
        "adamw weight-decay=0.01 beta2=0.95". Or an optimizer of optax, whose `update` becomes
        part of the step; `step.opt_state` gives its state back.
    precision: f32, f16 or bf16: the type of the heavy arithmetic. Parameters stay as they
        are.
    state: a tree of arrays that the loss changes, such as flax's batch_stats.
    lr: the learning rate (1e-3), or a function of the number of the step, such as optax's
        schedules. An optimizer of optax has its own.
    gradients: "mpt", or "jax": JAX differentiates the loss, so that whatever has a gradient
        there has it here, as a jax.custom_vjp of any form. The backward pass is then the one
        that JAX writes, which mostly takes somewhat more time and memory.
    optimizer_state: "f32", "bf16" or "block8", with options of mpt-optimizer-state after it.
    fp8, memory_budget, clip_norm, ema, seed, loss_scale, threads, max_programs: as in
        mpt.torch.TrainStep.
    """
    return TrainStep(loss, params, batch, optimizer, state=state, lr=lr, precision=precision,
                     fp8=fp8, gradients=gradients, optimizer_state=optimizer_state,
                     memory_budget=memory_budget, clip_norm=clip_norm, ema=ema, seed=seed,
                     loss_scale=loss_scale, threads=threads, max_programs=max_programs)
