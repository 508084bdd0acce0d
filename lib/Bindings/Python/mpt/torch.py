# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch models as text that `mpt-opt --mpt-convert-torch` reads.

`export` traces a model and its loss with `torch.export` and prints the graph as ops in
torch-mlir's spelling, `"torch.aten.relu"(%0) : (!torch.vtensor<[2,3],f32>) -> ..`, in
MLIR's generic form. It knows no op but `detach`: which ones have a counterpart in the `mpt` dialect is
decided by the conversion. In-place ops and views are made functional by
`ExportedProgram.run_decompositions({})`, which decomposes nothing else.
"""
from __future__ import annotations

import contextlib
import inspect
import itertools
import json
import logging
import math
import operator
import os
import re
import sys
import sysconfig
import threading
import traceback
import types
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Collection, Optional, Sequence

import torch
import torch.fx.traceback
import torch.utils.checkpoint
from torch.export.graph_signature import InputKind, OutputKind

from mpt import _formulas, _inner_gradients
from mpt._constants import FoldConstants
from mpt._model_changes import ModelChanges
from mpt._names import RESULT_NAMES, STEP_NAMES, rename
from mpt._patches import export_lock, patched

if TYPE_CHECKING:
    from mpt._train_step import StepResult, TrainStep, supports

__all__ = ["Exported", "ExportError", "StepResult", "TrainStep", "export", "supports"]

_ELEMENT_TYPES = {
    torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.float64: "f64", torch.int64: "si64", torch.int32: "si32", torch.int16: "si16",
    torch.int8: "si8", torch.uint8: "ui8", torch.bool: "i1",
    torch.complex64: "complex<f32>", torch.complex128: "complex<f64>"}
# c10::ScalarType, the number by which a graph spells a dtype.
_SCALAR_TYPES = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4,
    torch.float16: 5, torch.float32: 6, torch.float64: 7, torch.complex64: 9,
    torch.complex128: 10, torch.bool: 11, torch.bfloat16: 15}
_MEMORY_FORMATS = {
    torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2,
    torch.channels_last_3d: 3}
# Arithmetic on sizes, in the names that torch-mlir has for it.
_SIZE_OPS = {
    operator.add: "torch.aten.add.int", operator.sub: "torch.aten.sub.int",
    operator.mul: "torch.aten.mul.int", operator.floordiv: "torch.aten.floordiv.int"}
# What a graph says about its sizes and values.
_ASSERTIONS = {
    torch.ops.aten._assert_scalar.default, torch.ops.aten._assert_async.msg,
    torch.ops.aten._assert_async.default, torch.ops.aten._assert_tensor_metadata.default,
    torch.ops.aten.sym_constrain_range.default,
    torch.ops.aten.sym_constrain_range_for_size.default}
# What moves elements and computes nothing, by names without overloads.
_MOVES = {
    "aten." + name for name in (
        "alias", "cat", "clone", "contiguous", "expand", "flip", "index", "index_select",
        "permute", "reshape", "roll", "select", "slice", "squeeze", "stack", "t", "transpose",
        "_unsafe_view", "unsqueeze", "view")}
# Their strides mean the memory of their operand.
_STRIDED = {torch.ops.aten.as_strided.default, torch.ops.aten.as_strided_scatter.default}
# Of a node: the call of torch.utils.checkpoint that it belongs to.
_CHECKPOINT = "mpt_checkpoint"
# Whose lines say nothing about a model. With a separator: torchvision is not PyTorch.
_OWN_FOLDERS = tuple(os.path.join(folder, "") for folder in (
    os.path.dirname(torch.__file__), os.path.dirname(os.path.abspath(__file__))))
_PYTHON_FOLDER = os.path.join(sysconfig.get_path("stdlib"), "")
_TARGET_NAMES = {"target", "targets", "label", "labels", "y"}


# The identity that no gradient passes. Making a graph functional forgets `detach` and
# regions without gradients, which only autograd sees; an op that it does not know stays.
_library = torch.library.Library("mpt", "DEF")
_library.define("stop_gradient(Tensor x) -> Tensor")
_library.impl("stop_gradient", lambda x: x.clone(), "CompositeExplicitAutograd")

# Recurrent layers that are traced as one op. PyTorch traces its own step by step to find the
# shapes, which takes minutes for long sequences.
_LAYER = ("Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
          "bool bidirectional, bool batch_first")
_RECURRENT = {"lstm": 2, "gru": 1, "rnn_tanh": 1, "rnn_relu": 1}  # and how many states each has


def _recurrent_shapes(input, states, *options):
    """Tensors like the results of a recurrent layer."""
    bidirectional = options[-2]
    width = states[0].shape[-1] * (2 if bidirectional else 1)
    return (input.new_empty((*input.shape[:-1], width)), *(torch.empty_like(s) for s in states))


for _name, _count in _RECURRENT.items():
    if _count == 1:
        _library.define(f"{_name}(Tensor input, Tensor hx, {_LAYER}) -> (Tensor, Tensor)")
        _library.impl(_name, lambda input, hx, *options: _recurrent_shapes(
            input, [hx], *options), "CompositeExplicitAutograd")
    else:
        _library.define(
            f"{_name}(Tensor input, Tensor[] hx, {_LAYER}) -> (Tensor, Tensor, Tensor)")
        _library.impl(_name, _recurrent_shapes, "CompositeExplicitAutograd")


# PyTorch's own looks at the values of lengths while it is traced.
_library.define("ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
                "target_lengths, int blank, bool zero_infinity) -> (Tensor, Tensor)")
_library.impl("ctc_loss", lambda log_probs, *_: (
    log_probs.new_empty(log_probs.shape[1]), log_probs.new_empty(0)),
    "CompositeExplicitAutograd")


class ExportError(RuntimeError):
    """A model that cannot be exported. The message says why, and what to change."""


class Exported:
    """A loss function as text, and the values of its parameters and buffers.

    `text` is an MLIR module. `weights` maps the `mpt.name` of each parameter and buffer
    to its tensor. That is its name in `model.state_dict()`, with a `_` if MPT keeps that
    name for itself (`lr_`, `mpt_.weight`). Files, and programs, have a complex tensor as one
    of its real and imaginary parts, in a last dimension (`torch.view_as_real`). `names` are the `mpt.name`s of the batch,
    in order. `results` maps the `mpt.name` of each result of the loss function to its key
    there. `trained` are the names in `weights` of parameters that have a gradient. `outside`
    are weak references to tensors that the loss function reads and that are no part of the
    model: constants of the text.
    """

    def __init__(self, text: str, weights: "dict[str, torch.Tensor]",
                 names: "Sequence[str]" = (), results: "Optional[dict[str, str]]" = None,
                 trained: "Collection[str]" = (),
                 outside: "Sequence[weakref.ref[torch.Tensor]]" = ()):
        self.text = text
        self.weights = weights
        self.names = list(names)
        self.results = dict(results or {})
        self.trained = frozenset(trained)
        self.outside = list(outside)

    def save(self, path: str, weights: Optional[str] = None) -> None:
        """Writes the text to `path` and the values to `weights`, a .safetensors file."""
        _write(path, lambda name: open(name, "w", encoding="utf-8").write(self.text))
        if weights is not None:
            try:
                from safetensors.torch import save_file
            except ImportError as error:
                raise ExportError("writing weights needs the package safetensors: "
                                  "pip install safetensors") from error
            tensors = {name: real_view(tensor.detach()).cpu().clone().contiguous()
                       for name, tensor in self.weights.items()}
            _write(weights, lambda name: save_file(tensors, name))


def _write(path: str, write: Callable[[str], Any]) -> None:
    """Nothing half-written stays under `path`."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


class _LossModule(torch.nn.Module):
    def __init__(self, model, loss, is_loss):
        super().__init__()
        self.model = model
        self.loss = loss
        self.is_loss = is_loss
        # Of the last call. torch.export restores attributes, but not what is in this one.
        self.found = types.SimpleNamespace(outside=[])
        # Of buffers that are constants, by name.
        self.constants = {
            name: buffer.detach().cpu().clone() for prefix, part in model.named_modules()
            for name, buffer in ((f"{prefix}.{n}".lstrip("."), part._buffers[n])
                                 for n in part._non_persistent_buffers_set)
            if buffer is not None}

    def forward(self, *batch):
        buffers = dict(self.model.named_buffers())
        constants = FoldConstants({buffers[name]: value for name, value in self.constants.items()
                                   if name in buffers})
        changes = ModelChanges(self.model, constants, ExportError)
        with constants:
            with changes:
                result = self.loss(self.model, *batch)
            changes.finish()
        self.found.outside = list(changes.outside.values())
        if self.is_loss:
            _refuse_functions(result.get("loss") if isinstance(result, dict) else result)
        return result


def export(model: torch.nn.Module, loss: Callable[..., Any], example: Sequence[torch.Tensor],
           *, names: Optional[Sequence[str]] = None,
           targets: Optional[Sequence[str]] = None, dynamic_batch: bool = False,
           trainable: "Optional[Collection[int]]" = None,
           like: Optional[Exported] = None, is_loss: bool = True) -> Exported:
    """Exports `loss(model, *example)`, a scalar or a dictionary with the scalar "loss".

    model: the module, in training or evaluation mode as it is. Parameters with
        requires_grad become parameters; others, and buffers, are state without a gradient.
        So is a parameter that the loss does not depend on: PyTorch gives it no gradient, and
        its optimizers leave it as it is.
    loss: called as loss(model, *batch). Any PyTorch expression.
    example: one batch. Its tensors give shapes and types.
    names: what the tensors of a batch are called (`mpt.name`); by default the names of
        the loss function's arguments. One that a parameter or buffer has, or that MPT
        keeps for itself, gets a `_`.
    targets: those of `names` whose role is `target`; by default y, label(s), target(s).
    dynamic_batch: dimension 0 stays open (`?`) in each tensor of the batch that has as many
        rows as the first.
    trainable: the `id`s of parameters that train; by default all with requires_grad.
    like: an export for batches of other shapes. The same parameters train, also those that
        this loss does not depend on; if it depends on more of them, that is an error.
    is_loss: whether there must be a scalar "loss". Otherwise the function is one to
        evaluate, with a tensor or a dictionary of any tensors.
    """
    example = tuple(example)
    for index, tensor in enumerate(example):
        if not isinstance(tensor, torch.Tensor):
            raise ExportError(f"example[{index}]: expected a tensor, found "
                              f"{type(tensor).__name__}; pass other values inside `loss`")
    names = list(names) if names is not None else _argument_names(loss, len(example))
    if len(names) != len(example):
        raise ExportError(f"names: expected {len(example)}, one for each tensor of the "
                          f"example, found {len(names)}")
    targets = set(_TARGET_NAMES if targets is None else targets)
    # Names of the state are those of the checkpoint: those of the batch give way.
    keys = dict.fromkeys([*model.state_dict(), *(n for n, _ in model.named_parameters()),
                          *(n for n, _ in model.named_buffers())])
    taken = set(keys)
    renamed = {}
    for key in keys:
        if STEP_NAMES.fullmatch(key):
            renamed[key] = rename(key, taken)
            taken.add(renamed[key])
    for index, name in enumerate(names):
        names[index] = rename(name, taken, state={*keys, *renamed.values()})
        if name in targets:
            targets.add(names[index])
        taken.add(names[index])
    shapes = None
    if dynamic_batch:
        batch = torch.export.Dim("batch", min=2)
        rows = next((t.shape[0] for t in example if t.dim()), None)
        shapes = {"batch": tuple({0: batch} if t.dim() and t.shape[0] == rows else {}
                                 for t in example)}
    # Otherwise PyTorch remembers lines of functions called `forward` only.
    anchor = getattr(torch.fx.proxy, "_register_stack_trace_anchor", None)
    if anchor is not None:
        anchor(loss)
    module = _LossModule(model, loss, is_loss)
    module.training = model.training
    try:
        _refuse_kinds(model)
        if is_loss:
            _refuse_hooks(model)
        with (export_lock, _mark_checkpoints(), _refuse_what_tracing_loses(),
              _refuse_own_gradients() if is_loss else contextlib.nullcontext(),
              _keep_recurrent_layers(), _trace_cumulative_averages(), _drop_checks_of_values(),
              _name_modules_once(), _without_logs()):
            program = torch.export.export(module, example, strict=False,
                                          dynamic_shapes=shapes)
            _mark_stopped_gradients(program)
            program = program.run_decompositions(
                {**_inner_gradients.decompositions(), **_formulas.formulas(program)})
        _inner_gradients.expand(program, _fail_at)
        _drop_assertions(program.graph_module)
        _order_strided(program.graph_module)
    except ExportError:
        raise
    except Exception as error:  # torch raises many types.
        raise ExportError(f"torch.export refuses the model: {_shorten(error)}"
                          f"{_raised_at(error)}{_remedy(error)}") from error
    if trainable is None:
        trainable = {id(p) for p in model.parameters() if p.requires_grad}
    return _Printer(program, module, names, targets, trainable, like, is_loss, renamed).print()


@contextlib.contextmanager
def _mark_checkpoints():
    """While it lasts, `torch.utils.checkpoint` calls its function, and nodes that are
    traced meanwhile have the number of the call in their metadata. PyTorch's own way of
    recomputing is for autograd, and would be traced without what it means."""
    module, trace = torch.utils.checkpoint, torch.fx.traceback
    numbers, depth = itertools.count(), 0

    @contextlib.contextmanager
    def mark():
        nonlocal depth
        depth += 1
        try:
            if depth > 1:  # Of nested calls the outermost counts.
                yield
                return
            if not hasattr(trace, "annotate"):
                warnings.warn("torch.utils.checkpoint is exported as if it was not there: it "
                              "needs PyTorch 2.9 or newer", stacklevel=2)
                yield
                return
            with trace.annotate({_CHECKPOINT: next(numbers)}):
                yield
        finally:
            depth -= 1

    def reentrant(function, preserve_rng_state, *arguments):
        with mark():
            return function(*arguments)

    def without_reentrant(*arguments, **named):
        # Advanced before and after the function is called.
        with mark():
            yield

    # What checkpoint() looks up when it is called, however it was imported.
    patches = [(getattr(module, "CheckpointFunction", None), "apply", reentrant),
               (module, "_checkpoint_without_reentrant_generator_impl", without_reentrant),
               (module, "_checkpoint_without_reentrant_generator", without_reentrant)]
    with patched([patch for patch in patches if hasattr(*patch[:2])]), trace.preserve_node_meta():
        yield


def _shorten(error: BaseException) -> str:
    """PyTorch's message without its advice about logs and about other ways of exporting."""
    return re.split(r"\n\s*\n|\n(?:Caused by:|For more information, run with)",
                    str(error).strip(), maxsplit=1)[0] or type(error).__name__


def _is_of_model(file: str) -> bool:
    """Whether a file is neither PyTorch's nor MPT's own nor of Python's library."""
    if file.startswith(_PYTHON_FOLDER):
        # Packages may be installed there.
        return "site-packages" in file or "dist-packages" in file
    return not file.startswith((*_OWN_FOLDERS, "<"))


def _raised_at(error: BaseException) -> str:
    """The innermost line of the model or the loss that was running."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_of_model(f.filename)]
    return "\n  at {0.filename}:{0.lineno}: {0.line}".format(frames[-1]) if frames else ""


def _remedy(error: BaseException) -> str:
    """What to change in the model, where PyTorch's message does not say it."""
    text, kind = str(error), type(error).__name__
    if "data-dependent" in text or kind.startswith(("DataDependent", "DynamicOutputShape")):
        return ("\nThe graph of a step is the same for all batches: where Python decides by "
                "the values of tensors (if, .item(), x[mask], nonzero), use torch.where, or "
                "decide outside of the loss function, or by tensors that are constants: those "
                "in a closure, and buffers with persistent=False")
    if "higher order operator" in text:
        return ("\nHigher-order ops, such as torch.cond, scan and while_loop, have no counterpart: "
                "for torch.cond compute both and choose by torch.where, for scan write a loop of "
                "Python")
    if kind == "UnsupportedOperatorException":
        return "\nPyTorch cannot trace this op; write the loss without it"
    return ""


@contextlib.contextmanager
def _keep_recurrent_layers():
    """While it lasts, recurrent layers over padded sequences are traced as one op."""
    def keep(name):
        original, op = getattr(torch._VF, name), getattr(torch.ops.mpt, name).default

        def call(*arguments):
            # Packed sequences have other arguments.
            is_packed = not isinstance(arguments[3], bool)
            return original(*arguments) if is_packed else op(*arguments)
        return torch._VF, name, call

    with patched([keep(name) for name in _RECURRENT]), warnings.catch_warnings():
        # PyTorch's own modules put their parameters there.
        warnings.filterwarnings(
            "ignore", r"The tensor attributes? (self\.[\w.]+\._flat_weights\[\d+\](, )?)+ "
            "(was|were) assigned during export")
        yield


@contextlib.contextmanager
def _trace_cumulative_averages():
    """While it lasts, batch normalization with `momentum=None` divides by its number of
    batches in the graph. PyTorch's own takes that number out of a tensor, which cannot be
    traced."""
    norm = torch.nn.modules.batchnorm._BatchNorm
    original = norm.forward

    def forward(self, input):
        if self.momentum is not None or not self.training or self.running_mean is None:
            return original(self, input)
        self._check_input_dim(input)
        with torch.no_grad():
            self.num_batches_tracked.add_(1)
            variance, mean = torch.var_mean(input, [0, *range(2, input.dim())])
            for running, value in (self.running_mean, mean), (self.running_var, variance):
                running.add_((value - running) / self.num_batches_tracked)
        return torch.nn.functional.batch_norm(input, None, None, self.weight, self.bias, True,
                                              0.0, self.eps)

    with patched([(norm, "forward", forward)]):
        yield


def _gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """PyTorch's, without the question whether a variance is below 0: it asks for values, which
    a traced graph does not have."""
    if isinstance(var, float):
        var = var * torch.ones_like(input)
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or \
                [b for a, b in zip(input.size(), var.size()) if a != b] != [1]:
            raise ValueError("var is of incorrect size")
    # PyTorch raises variances in place without gradients, so theirs pass on.
    var = var + (var.clamp(min=eps) - var).detach()
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1,
              zero_infinity=False):
    """torch.ctc_loss around one op for the losses of all sequences."""
    is_batch = log_probs.dim() == 3
    if not is_batch:
        log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
    if targets.dim() == 1 and not isinstance(target_lengths, torch.Tensor):
        # One after another.
        parts, size = targets.split(list(target_lengths)), max(target_lengths)
        targets = torch.stack([torch.nn.functional.pad(p, (0, size - len(p))) for p in parts])
    lengths = [torch.as_tensor(values).reshape(-1) for values in (input_lengths, target_lengths)]
    losses = torch.ops.mpt.ctc_loss(log_probs, targets, *lengths, blank, zero_infinity)[0]
    if zero_infinity:
        losses = torch.where(losses == math.inf, 0.0, losses)
    if reduction == 1:
        return (losses / lengths[1].clamp(min=1)).mean()
    return losses.sum() if reduction == 2 else losses if is_batch else losses[0]


@contextlib.contextmanager
def _drop_checks_of_values():
    def is_causal(mask, is_causal=None, size=None):
        """Of nn.Transformer's masks, which it compares with a causal one to take a shorter
        way. A mask that is not said to be causal is added as it is."""
        return is_causal is True

    patches = [(torch.nn.functional, "gaussian_nll_loss", _gaussian_nll_loss),
               (torch, "ctc_loss", _ctc_loss), (torch.linalg, "lstsq", _formulas.lstsq),
               (torch.nn.modules.transformer, "_detect_is_causal_mask", is_causal)]
    with patched([patch for patch in patches if hasattr(*patch[:2])]):
        yield


@contextlib.contextmanager
def _name_modules_once():
    """While it lasts, a module that a model has in two places has the names of the first one.
    torch.export refuses a buffer that changes under two names."""
    def name_once(kind):
        def named(self, prefix="", recurse=True, remove_duplicate=True):
            seen = set()
            for path, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
                for name, value in getattr(module, kind).items():
                    if value is None or remove_duplicate and id(value) in seen:
                        continue
                    seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value
        return named

    with patched([(torch.nn.Module, "named_parameters", name_once("_parameters")),
                   (torch.nn.Module, "named_buffers", name_once("_buffers"))]):
        yield


@contextlib.contextmanager
def _without_logs():
    """While it lasts, PyTorch writes neither tracebacks nor the graph of a model that it
    refuses: the error says why. Whoever asked for logs (TORCH_LOGS) gets them."""
    exporting = threading.get_ident()

    def printing(*values, file=None, **named):
        if file is not sys.stderr or threading.get_ident() != exporting:
            print(*values, file=file, **named)

    loggers = [logging.getLogger(name) for name in (
        "torch.export._trace", "torch.fx.experimental.symbolic_shapes",
        "torch._subclasses.fake_tensor")]
    loggers = [(logger, logger.level) for logger in loggers
               if logger.getEffectiveLevel() >= logging.WARNING]
    try:
        import torch.export._trace as trace
    except ImportError:  # Other releases of PyTorch may have no such module.
        trace = None
    try:
        for logger, _ in loggers:
            logger.setLevel(logging.CRITICAL)
        if trace is not None:
            trace.print = printing  # Hides the built-in one from this module of PyTorch's.
        yield
    finally:
        for logger, level in loggers:
            logger.setLevel(level)
        if trace is not None:
            vars(trace).pop("print", None)


@contextlib.contextmanager
def _refuse_what_tracing_loses():
    """While it lasts, calls that a traced graph does not show are errors."""
    def refuse(what, remedy):
        def call(*arguments, **named):
            raise ExportError(f"the loss function calls {what}, which cannot be exported: "
                              f"{remedy}")
        return call

    refuse_backward = refuse("backward()", "MPT differentiates the loss itself; for gradients "
                             "inside of it call torch.autograd.grad")
    patches = [*_inner_gradients.patches(refuse_backward),
               (torch.Tensor, "backward", refuse_backward),
               (torch._VF, "_pack_padded_sequence",
                refuse("pack_padded_sequence", "run the layer over the padded tensor, and mask "
                       "what comes after each sequence's end")),
               (torch, "embedding_renorm_",
                refuse("an embedding with max_norm, which changes its weight in place",
                       "scale the rows that are looked up, as in rows * (max_norm / "
                       "rows.norm(dim=-1, keepdim=True)).clamp(max=1)"))]
    with patched(patches):
        yield


def _refuse_function(function: type) -> None:
    """A torch.autograd.Function that is not PyTorch's is an error where its gradient is lost."""
    if not function.__module__.startswith("torch."):
        raise ExportError(
            f"the loss function calls the torch.autograd.Function {function.__name__} by an "
            "`apply` that was looked up before, which loses its backward(): call "
            f"{function.__name__}.apply(...)")


def _refuse_functions(loss: Any) -> None:
    """Also finds those whose `apply` was looked up before the export."""
    node = loss.grad_fn if isinstance(loss, torch.Tensor) else None
    waiting, seen = [node], {None, node}
    while waiting:
        node = waiting.pop()
        if node is None:
            continue
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            _refuse_function(node._forward_cls)
        following = {n for n, _ in node.next_functions} - seen
        seen |= following
        waiting += following


@contextlib.contextmanager
def _refuse_own_gradients():
    """While it lasts, what gives a value another gradient than its formula has is an error. A
    traced graph has the formula only."""
    exporting = threading.get_ident()
    own = inspect.getattr_static(torch.autograd.Function, "apply")

    def apply(cls, *arguments, **named):
        if threading.get_ident() == exporting and torch.is_grad_enabled() \
                and not cls.__module__.startswith("torch.") \
                and any(isinstance(a, torch.Tensor) and a.requires_grad
                        for a in [*arguments, *named.values()]):
            return _inner_gradients.apply_function(cls, arguments, named)
        return own.__get__(None, cls)(*arguments, **named)

    def refuse(*arguments, **named):
        raise ExportError("the loss function calls register_hook of a tensor, which cannot be "
                          "exported: write what the gradient shall be as a formula with "
                          ".detach(), as in `s * x + ((1 - s) * x).detach()` for s times the "
                          "gradient of x")

    with patched([(torch.Tensor, "register_hook", refuse)]):
        torch.autograd.Function.apply = classmethod(apply)
        try:
            yield
        finally:
            torch.autograd.Function.apply = own


def _refuse_kinds(model: torch.nn.Module) -> None:
    """Models that torch.export refuses without saying what to do, or traces as something else."""
    kinds = {c.__name__ for c in type(model).__mro__}
    for kind, remedy in (
            ("DistributedDataParallel",
             "pass model.module, and TrainStep parallel=\"data\", which averages gradients"),
            ("FullyShardedDataParallel", "pass the model before it is sharded, and TrainStep "
             "parallel=\"zero3\", which cuts it between processes"),
            ("FSDPModule", "pass the model before fully_shard, and TrainStep "
             "parallel=\"zero3\", which cuts it between processes"),
            ("ScriptModule", "pass the module that it was made of")):
        if kind in kinds and "TopLevelTracedModule" not in kinds:
            raise ExportError(f"the model is a {kind}, which cannot be exported: {remedy}")
    lying: "list[tuple[int, int, str, torch.Tensor]]" = []
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if isinstance(tensor, (torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer)):
            raise ExportError(f"{name} has no shape yet: call the model once before the optimizer "
                              "is made")
        if tensor.is_meta:
            raise ExportError(f"{name} is on the device meta and has no values: call "
                              "model.to_empty(device=\"cpu\") and load or initialize them")
        if tensor.layout is torch.strided and tensor.numel() and tensor.is_contiguous() \
                and type(tensor) in (torch.Tensor, torch.nn.Parameter):
            start = tensor.data_ptr()
            lying.append((start, start + tensor.numel() * tensor.element_size(), name, tensor))
    lying.sort(key=lambda entry: entry[:2])
    for (_, end, name, tensor), (start, _, other, second) in zip(lying, lying[1:]):
        if start < end and (tensor.requires_grad or second.requires_grad):
            raise ExportError(f"{name} and {other} lie in the same memory, and would be two "
                              "tensors: make them one parameter, or copy one by .clone()")


def _refuse_hooks(model: torch.nn.Module) -> None:
    """Hooks that see or change gradients are errors: none of them would be called."""
    for name, parameter in model.named_parameters():
        for attribute, register in (
                ("_backward_hooks", "register_hook"),
                ("_post_accumulate_grad_hooks", "register_post_accumulate_grad_hook")):
            if parameter.requires_grad and getattr(parameter, attribute, None):
                raise ExportError(f"the parameter {name} has a hook ({register}) that would not "
                                  "be called; remove it")
    for name, module in model.named_modules():
        for attribute, register in (("_backward_hooks", "register_full_backward_hook"),
                                    ("_backward_pre_hooks", "register_full_backward_pre_hook")):
            if getattr(module, attribute, None):
                raise ExportError(f"the module {name or type(module).__name__} has a hook "
                                  f"({register}) that would not be called; remove it")


def _order_strided(module: torch.fx.GraphModule) -> None:
    """`as_strided` counts elements as they lie in memory: it gets tensors whose dimensions are in
    another order, but have no gaps, in that order."""
    for node in module.graph.nodes:
        if node.target is not torch.ops.aten.as_strided.default:
            continue
        value = node.args[0].meta["val"]
        if value.is_contiguous() or not all(isinstance(n, int) for n in value.shape):
            continue
        order = sorted(range(value.dim()), key=lambda dim: (-value.stride(dim), dim))
        if value.permute(order).is_contiguous():
            with module.graph.inserting_before(node):
                ordered = module.graph.call_function(
                    torch.ops.aten.permute.default, (node.args[0], order))
            ordered.meta.update(node.meta, val=value.permute(order))
            node.replace_input_with(node.args[0], ordered)


def _line_of(node: torch.fx.Node) -> "Optional[tuple[str, str]]":
    """File and number of the innermost line of the model or the loss."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    if not frames:
        return None
    return next((f for f in reversed(frames) if _is_of_model(f[0])), frames[-1])


def _fail_at(node: torch.fx.Node, message: str) -> None:
    place = _line_of(node)
    raise ExportError(f"{place[0]}:{place[1]}: {message}" if place else message)


def _writes(node: torch.fx.Node, value: torch.fx.Node) -> bool:
    """Whether `node` changes `value` in place."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable and any(
        argument.alias_info is not None and argument.alias_info.is_write and operand is value
        for argument, operand in
        [*zip(schema.arguments, node.args),
         *((a, node.kwargs.get(a.name)) for a in schema.arguments)])


def _is_view(node: torch.fx.Node, value: torch.fx.Node) -> bool:
    """Whether the result of `node` may lie where `value` lies."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(
        operand is value and argument.alias_info is not None
        for argument, operand in zip(schema.arguments, node.args)) \
        and any(result.alias_info is not None for result in schema.returns)


def _is_written(value: torch.fx.Node) -> bool:
    """Whether a user of `value` changes it in place, or a view of it."""
    return any(_writes(user, value) or _is_view(user, value) and _is_written(user)
               for user in value.users)


def _find_views(value: torch.fx.Node) -> "list[torch.fx.Node]":
    """`value` and what lies where it lies."""
    found = [value]
    for node in found:
        found += [user for user in node.users if _is_view(user, node) and user not in found]
    return found


def _follows_from(node: torch.fx.Node, sources: "Collection[torch.fx.Node]",
                  ends: Callable[[torch.fx.Node], bool]) -> bool:
    """Whether `node` is computed from one of `sources`, on a way past none that `ends`."""
    waiting, seen = [node], {node}
    while waiting:
        node = waiting.pop()
        if node in sources:
            return True
        if not ends(node):
            waiting += [n for n in node.all_input_nodes if n not in seen]
            seen.update(node.all_input_nodes)
    return False


def _mark_stopped_gradients(program: torch.export.ExportedProgram) -> None:
    """Puts `mpt::stop_gradient` where autograd would stop."""
    stop = torch.ops.mpt.stop_gradient.default
    parameters = program.graph_signature.inputs_to_parameters
    trained = {n for n in program.graph_module.graph.find_nodes(op="placeholder")
               if n.name in parameters
               and program.state_dict[parameters[n.name]].requires_grad}
    for module in program.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue

        def body_of(node):
            """The body of a region without gradients."""
            if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled \
                    and not node.args[0]:
                return getattr(module, node.args[1].target)
            return None

        def is_changed_by(value, node):
            body = body_of(node)
            return body is not None and any(
                operand is value and _is_written(inner)
                for operand, inner in
                zip(node.args[2:], body.graph.find_nodes(op="placeholder")))

        def has_gradient(node):
            return _follows_from(node, trained, lambda n: _stops_gradient(n) or body_of(n))

        def write_through(node):
            """Makes a view without a gradient that is changed in place change what it is a view
            of, which has no gradient then, either."""
            if has_gradient(node.args[0]):
                raise ExportError(
                    "%s:%s: a value that has a gradient is changed in place by .detach() or "
                    ".data; write `y = y + (f(y) - y).detach()` for `y.data = f(y)`"
                    % (_line_of(node) or (node.name, 0)))
            views = _find_views(node)
            for writer in {u for v in views for u in v.users if any(_writes(u, w) for w in views)}:
                for value in writer.all_input_nodes:
                    if value not in views and has_gradient(value):
                        with module.graph.inserting_before(writer):
                            stopped = module.graph.call_function(stop, (value,))
                        stopped.meta = dict(value.meta)
                        writer.replace_input_with(value, stopped)

        for node in list(module.graph.nodes):
            if node.target in (torch.ops.aten.detach.default, torch.ops.aten.detach_.default):
                if _is_written(node):
                    write_through(node)
                else:
                    node.target = stop
            body = body_of(node)
            if body is None:
                continue
            for value in node.args[2:]:
                # PyTorch goes on with the gradient of what the value was.
                if isinstance(value, torch.fx.Node) and value not in trained \
                        and is_changed_by(value, node) and _follows_from(
                            value, trained, lambda n: n.target is stop or body_of(n)):
                    raise ExportError(
                        "%s:%s: torch.no_grad() changes a value in place that has a gradient; "
                        "write `y = y + (f(y) - y).detach()` for `y = f(y)`"
                        % (_line_of(value) or (value.name, 0)))
            inputs = list(body.graph.find_nodes(op="placeholder"))
            if any(map(_is_written, inputs)):
                # What is written there has no gradient outside.
                for value, inner in zip(node.args[2:], inputs):
                    if isinstance(value, torch.fx.Node) and not _is_written(inner) \
                            and has_gradient(value):
                        with body.graph.inserting_after(inner):
                            stopped = body.graph.call_function(stop, (inner,))
                        stopped.meta = dict(inner.meta)
                        inner.replace_all_uses_with(stopped, lambda user: user is not stopped)
            output = next(n for n in body.graph.nodes if n.op == "output")
            # What a later region changes in place, as spectral_norm does when its module is
            # called again, may be a buffer: the others that read it get a copy instead.
            shared = set()
            for result in list(node.users):
                value = output.args[0][result.args[1]]
                is_state = isinstance(value, torch.fx.Node) and any(
                    _writes(value, inner) for inner in value.all_input_nodes
                    if inner.op == "placeholder")
                is_changed = any(is_changed_by(result, user) for user in result.users)
                for user in list(result.users):
                    if (is_state or is_changed) and _writes(user, result):
                        raise ExportError(
                            "%s:%s: what torch.no_grad() has changed in place is changed in "
                            "place again outside of it; write `y = y + z` for `y += z`"
                            % (_line_of(user) or (user.name, 0)))
                    if is_changed and body_of(user) is None:
                        with module.graph.inserting_before(user):
                            copy = module.graph.call_function(stop, (result,))
                        copy.meta = dict(result.meta)
                        user.replace_input_with(result, copy)
                if is_changed:
                    shared.add(result.args[1])
            with body.graph.inserting_before(output):
                results = []
                for index, value in enumerate(output.args[0]):
                    if isinstance(value, torch.fx.Node) and index not in shared:
                        source, value = value, body.graph.call_function(stop, (value,))
                        value.meta = dict(source.meta)
                    results.append(value)
            output.args = (type(output.args[0])(results),)
            body.recompile()
        module.recompile()


def _drop_assertions(graph_module: torch.fx.GraphModule) -> None:
    """Removes what the graph asserts about its values, and what is computed for that."""
    for module in graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in reversed(list(module.graph.nodes)):
            value = node.meta.get("val")
            if node.op == "call_function" and not node.users and (
                    node.target in _ASSERTIONS
                    or isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))):
                module.graph.erase_node(node)
        module.recompile()


def _argument_names(loss, count):
    try:
        parameters = list(inspect.signature(loss).parameters.values())[1:]
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters
             if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return names if len(names) == count else [f"input{i}" for i in range(count)]


def _quote(text: str) -> str:
    return '"' + "".join(
        c if " " <= c <= "~" and c not in '"\\' else "".join(f"\\{b:02X}" for b in c.encode())
        for c in text) + '"'


def _spell_float(value: float) -> str:
    if math.isfinite(value):
        return f"{value:.17e}"
    return "0x%016X" % {math.inf: 0x7FF << 52, -math.inf: 0xFFF << 52}.get(value, 0x7FF8 << 48)


def real_view(tensor: torch.Tensor) -> torch.Tensor:
    """What programs hold of a tensor: of a complex one the real and imaginary parts, in a last
    dimension."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _widen(type: str) -> str:
    """The type in which a batch's tensor of uint8 is read: mpt has signed integers only."""
    return type[:-len("ui8>")] + "si16>" if type.endswith(",ui8>") else type


def _stops_gradient(node: torch.fx.Node) -> bool:
    """Whether no gradient passes the node."""
    if node.target is torch.ops.mpt.stop_gradient.default:
        return True
    if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled and not node.args[0]:
        return True
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) \
        and not (value.dtype.is_floating_point or value.dtype.is_complex)


class _Printer:
    """Prints one exported program."""

    def __init__(self, program, module, names, targets, trainable, like, is_loss, renamed):
        self.program = program
        self.module = module
        self.names = names
        self.targets = targets
        self.trainable = trainable
        self.like = like
        self.is_loss = is_loss
        self.renamed = renamed  # keys of state_dict() that are not the mpt.name
        self.lines: "list[str]" = []
        self.constants: "dict[str, str]" = {}  # op -> name
        self.constant_lines: "list[str]" = []
        self.weights: "dict[str, torch.Tensor]" = {}
        self.count = 0
        self.indent = "  "

    # Types and names.

    def type_of(self, value) -> str:
        if isinstance(value, torch.Tensor):
            if value.dtype not in _ELEMENT_TYPES:
                raise ExportError(f"tensors of {value.dtype} have no counterpart")
            dims = ",".join(str(d) if isinstance(d, int) else "?" for d in value.shape)
            return f"!torch.vtensor<[{dims}],{_ELEMENT_TYPES[value.dtype]}>"
        if isinstance(value, (bool, torch.SymBool)):
            return "!torch.bool"
        if isinstance(value, (int, torch.SymInt)):
            return "!torch.int"
        if isinstance(value, (float, torch.SymFloat)):
            return "!torch.float"
        if value is None:
            return "!torch.none"
        raise ExportError(f"a value of type {type(value).__name__} in the graph has no "
                          "counterpart")

    def fresh(self) -> str:
        self.count += 1
        return f"%{self.count - 1}"

    def constant(self, kind: str, value: str, type: str, result: Optional[str] = None) -> str:
        """The name of a constant, of which the function has one."""
        attribute = f"<{{value = {value}}}>" if value else ""
        op = f'"torch.constant.{kind}"() {attribute}: () -> {result or "!torch." + type}'
        if op not in self.constants:
            self.constants[op] = f"%c{len(self.constants)}"
            self.constant_lines.append(f"  {self.constants[op]} = {op}")
        return self.constants[op]

    # Operands.

    def operand(self, value, schema: str, env, location) -> "tuple[str, str]":
        """(name, type) of an operand whose type in the schema is `schema`."""
        if isinstance(value, torch.fx.Node):
            return env[value]
        if value is None:
            return self.constant("none", "", "none"), "!torch.none"
        if isinstance(value, bool):
            return self.constant("bool", str(value).lower(), "bool"), "!torch.bool"
        if isinstance(value, int) and not schema.startswith("float"):
            return self.constant("int", f"{value} : i64", "int"), "!torch.int"
        if isinstance(value, (int, float)):
            spelled = _spell_float(float(value))
            return self.constant("float", f"{spelled} : f64", "float"), "!torch.float"
        if isinstance(value, complex):
            return self.literal(torch.tensor(value, dtype=torch.complex128), location)
        if isinstance(value, str):
            return self.constant("str", _quote(value), "str"), "!torch.str"
        if isinstance(value, torch.dtype):
            if value not in _SCALAR_TYPES:
                raise ExportError(f"tensors of {value} have no counterpart")
            return self.operand(_SCALAR_TYPES[value], "int", env, location)
        if isinstance(value, torch.memory_format):
            return self.operand(_MEMORY_FORMATS[value], "int", env, location)
        if isinstance(value, torch.layout):
            return self.operand(0, "int", env, location)
        if isinstance(value, torch.device):
            return self.constant("device", _quote(str(value)), "Device"), "!torch.Device"
        if isinstance(value, (list, tuple)):
            item = re.sub(r"\[\d*\].*$", "", schema)
            parts = [self.operand(v, item, env, location) for v in value]
            type = {"Tensor": "vtensor", "Tensor?": "optional<vtensor>", "float": "float",
                    "bool": "bool"}.get(item, "int")
            if type == "int" and any(t == "!torch.float" for _, t in parts):
                type = "float"
            type = f"!torch.list<{type}>"
            return self.emit("torch.prim.ListConstruct", parts, [type], location)[0]
        raise ExportError(f"an operand of type {type(value).__name__} has no counterpart")

    def emit(self, name, operands, types, location, attributes="", region=""):
        """Prints one op and returns its results, (name, type) each."""
        results = [(self.fresh(), t) for t in types]
        left = ", ".join(n for n, _ in results) + " = " if results else ""
        right = types[0] if len(types) == 1 else "(" + ", ".join(types) + ")"
        self.lines.append(
            f'{self.indent}{left}"{name}"({", ".join(n for n, _ in operands)}){region}'
            f'{attributes} : ({", ".join(t for _, t in operands)}) -> {right} {location}')
        return results

    def location(self, node) -> str:
        found = _line_of(node)
        if found is None:
            return f"loc({_quote(node.name)})"
        return f"loc({_quote(found[0])}:{found[1]}:1)"

    # The graph.

    def print_node(self, node, env, module):
        location = self.location(node)
        target = node.target
        if target is operator.getitem:
            env[node] = env[node.args[0]][node.args[1]]
            return
        if isinstance(target, torch._ops.HigherOrderOperator):
            env[node] = self.print_higher_order(node, env, module, location)
            return
        if isinstance(target, torch._ops.OpOverload):
            name = "torch." + target.name().replace("::", ".")
            name = name[:-len(".default")] if name.endswith(".default") else name
            name = {"torch.aten.sym_size.int": "torch.aten.size.int",
                    "torch.mpt.stop_gradient": "torch.aten.detach",
                    "torch.mpt.ctc_loss": "torch.aten._ctc_loss.Tensor",
                    **{f"torch.mpt.{n}": f"torch.aten.{n}.input" for n in _RECURRENT},
                    # What transformers calls where PyTorch's op lacks a kernel.
                    "torch.transformers.grouped_mm_fallback": "torch.aten._grouped_mm",
                    }.get(name, name)
            if target in _STRIDED and not node.args[0].meta["val"].is_contiguous():
                raise ExportError(f"{location}: {target} of a tensor that is not contiguous: "
                                  "call .contiguous() before it")
            operands = []
            for index, argument in enumerate(target._schema.arguments):
                if index < len(node.args):
                    value = node.args[index]
                else:
                    value = node.kwargs.get(argument.name, argument.default_value)
                operands.append(self.operand(value, str(argument.type).replace(
                    "Optional[Tensor]", "Tensor?").replace("List[Tensor?]", "Tensor?[]")
                    .replace("List[Tensor]", "Tensor[]").replace("List[bool]", "bool[]")
                    .replace("List[float]", "float[]").replace("Optional[float]", "float"),
                    env, location))
        elif target in _SIZE_OPS:
            name = _SIZE_OPS[target]
            operands = [self.operand(v, "int", env, location) for v in node.args]
        else:
            name = f"torch.{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}"
            operands = [self.operand(v, "", env, location) for v in node.args]
        value = node.meta.get("val")
        if isinstance(value, list):  # Tensor[]: a list, then its elements.
            parts = self.emit(name, operands, ["!torch.list<vtensor>"], location)
            env[node] = self.emit("torch.prim.ListUnpack", parts,
                                  [self.type_of(v) for v in value], location)
        elif isinstance(value, tuple):
            env[node] = self.emit(name, operands, [self.type_of(v) for v in value], location)
        elif value is None:
            self.emit(name, operands, [], location)
            env[node] = (self.constant("none", "", "none"), "!torch.none")
        else:
            type = self.type_of(value)
            if isinstance(value, torch.Tensor) and value.dtype == torch.uint8:
                if str(target).rpartition(".")[0] not in _MOVES:
                    raise ExportError(f"{location}: {target} has a result of uint8, in which MPT "
                                      "does not compute: convert its operands, as in x.float()")
                type = _widen(type)
            env[node] = self.emit(name, operands, [type], location)[0]

    def print_higher_order(self, node, env, module, location):
        """Regions are printed in place."""
        name = node.target.name()
        arguments = list(node.args)
        if name == "wrap_with_set_grad_enabled":
            enabled, body, *inputs = arguments
            results = self.print_body(body, inputs, env, module)
            if enabled:
                return results
            # What is computed without gradients has none outside.
            return [self.emit("torch.aten.detach", [r], [r[1]], location)[0] for r in results]
        if name == "tag_activation_checkpoint":
            body, *inputs = arguments
            return self.print_checkpoint(
                lambda: self.print_body(body, inputs, env, module), location)
        remedy = ("; remove the autocast region, MPT chooses precision itself"
                  if "autocast" in name else "")
        raise ExportError(f"{location}: the higher-order op {name} has no counterpart{remedy}")

    def print_checkpoint(self, body, location):
        """Prints what `body` prints as a region, which gives what `body` returns."""
        outer, self.lines = self.lines, []
        self.indent += "  "
        results = body()
        self.emit("torch.checkpoint.yield", results, [], location)
        self.indent = self.indent[:-2]
        lines, self.lines = self.lines, outer
        region = " ({\n" + "\n".join(lines) + "\n" + self.indent + "})"
        return self.emit("torch.checkpoint", [], [t for _, t in results], location,
                         region=region)

    def print_nodes(self, nodes, env, module):
        """Prints calls; those of one torch.utils.checkpoint as a region."""
        calls = [n for n in nodes if n.op == "call_function"]
        for number, group in itertools.groupby(
                calls, key=lambda n: (n.meta.get("custom") or {}).get(_CHECKPOINT)):
            group = list(group)
            if number is None:
                for node in group:
                    self.print_node(node, env, module)
            else:
                self.print_marked(group, env, module)

    def print_marked(self, group, env, module):
        members, used = set(group), []

        def body():
            for node in group:
                self.print_node(node, env, module)
            used.extend(n for n in group if any(u not in members for u in n.users))
            results = [r for n in used
                       for r in (env[n] if isinstance(env[n], list) else [env[n]])]
            if any("vtensor" not in type for _, type in results):
                raise ExportError(
                    f"{self.location(group[-1])}: torch.utils.checkpoint: a size that is "
                    "computed inside is used outside; compute it before the call")
            return results

        results = iter(self.print_checkpoint(body, self.location(group[-1])))
        for node in used:
            env[node] = [next(results) for _ in env[node]] \
                if isinstance(env[node], list) else next(results)

    def print_body(self, body, inputs, env, module):
        graph_module = getattr(module, body.target)
        nodes = list(graph_module.graph.nodes)
        values = iter(inputs)
        inner = {n: self.operand(next(values), "", env, "")
                 for n in nodes if n.op == "placeholder"}
        self.print_nodes(nodes, inner, graph_module)
        output = next(n for n in nodes if n.op == "output")
        return [inner[v] for v in output.args[0]]

    def literal(self, tensor: torch.Tensor, location: str) -> "tuple[str, str]":
        """A tensor that is part of the text."""
        tensor = tensor.detach().cpu().contiguous()
        if tensor.is_complex():
            return self.emit("torch.aten.view_as_complex",
                             [self.literal(real_view(tensor), location)],
                             [self.type_of(tensor)], location)[0]
        type = self.type_of(tensor)
        element = _ELEMENT_TYPES[tensor.dtype]
        builtin = f"tensor<{''.join(f'{d}x' for d in tensor.shape)}{element}>"
        if tensor.dtype == torch.bool:
            value = json.dumps(tensor.tolist())
        else:
            value = '"0x' + tensor.reshape(-1).view(torch.uint8).numpy().tobytes().hex().upper() + '"'
        if tensor.numel() == 0:
            value = ""
        return self.emit("torch.vtensor.literal", [], [type], location,
                         attributes=f" <{{value = dense<{value}> : {builtin}}}>")[0]

    def print(self) -> Exported:
        program, env = self.program, {}
        arguments, results = [], []
        specs = {s.arg.name: s for s in program.graph_signature.input_specs}
        tensors = dict(self.module.named_parameters(remove_duplicate=False))
        first: "dict[int, tuple[str, str]]" = {}  # by identity: tied parameters are one
        names = iter(self.names)
        owner: "dict[str, str]" = {}  # state's name in the program -> mpt.name
        trained: "list[str]" = []
        placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
        reached = self.find_reached(specs, tensors)
        for node in placeholders:
            spec, value = specs[node.name], node.meta["val"]
            if spec.kind == InputKind.USER_INPUT:
                if not isinstance(value, torch.Tensor):
                    raise ExportError(f"input {node.name}: expected a tensor, found "
                                      f"{type(value).__name__}")
                name = next(names)
                role = "target" if name in self.targets else "input"
            elif spec.kind == InputKind.PARAMETER or (
                    spec.kind == InputKind.BUFFER and spec.persistent):
                name = spec.target[len("model."):] if spec.target.startswith("model.") \
                    else spec.target
                name = self.renamed.get(name, name)
                tensor = tensors.get(spec.target)
                if tensor is None:
                    tensor = program.state_dict[spec.target]
                if id(tensor) in first:
                    env[node] = first[id(tensor)]
                    continue
                trains = spec.kind == InputKind.PARAMETER and id(tensor) in self.trainable \
                    and id(tensor) in reached
                if self.like is not None:
                    if trains and name not in self.like.trained:
                        raise ExportError(
                            f"the loss of this batch depends on {name}, that of the example "
                            "does not: give an example whose loss depends on all parameters "
                            "that train")
                    trains = name in self.like.trained
                if trains:
                    trained.append(name)
                role = "parameter" if trains else "running_stat"
                owner[spec.target] = name
                self.weights[name] = tensor
            else:
                tensor = program.constants[spec.target]
                env[node] = self.literal(tensor, f"loc({_quote(spec.target)})")
                continue
            argument = f"%arg{len(arguments)}"
            type = self.type_of(value)
            env[node] = argument, type if spec.kind != InputKind.USER_INPUT else _widen(type)
            if spec.kind != InputKind.USER_INPUT:
                first[id(tensor)] = env[node]
            arguments.append(f"    {argument}: {env[node][1]} {{mpt.name = {_quote(name)}, "
                             f"mpt.role = {_quote(role)}}} loc({_quote(name)})")
        nodes = list(program.graph.nodes)
        self.print_nodes(nodes, env, program.graph_module)
        output = next(n for n in nodes if n.op == "output")
        values = list(zip(output.args[0], program.graph_signature.output_specs))
        user = [(v, s) for v, s in values if s.kind == OutputKind.USER_OUTPUT]
        state = [(v, s) for v, s in values if s.kind == OutputKind.BUFFER_MUTATION]
        written = [(v, s) for v, s in values if s.kind.name == "PARAMETER_MUTATION"]
        changed = [owner[s.target] for _, s in written if id(tensors[s.target]) in self.trainable]
        if changed:
            raise ExportError(
                f"the function changes {len(changed)} of the model's parameters that train in "
                f"place ({', '.join(changed[:3])}{', ..' if len(changed) > 3 else ''}); change "
                "them between steps, after step.sync_to(model)")
        # The others are state, as buffers are.
        state += written
        given = dict(zip((n for n, s in specs.items() if s.kind == InputKind.USER_INPUT),
                         self.names))
        for _, spec in values:
            if spec.kind.name not in ("USER_OUTPUT", "BUFFER_MUTATION", "PARAMETER_MUTATION"):
                name = given.get(spec.target, spec.target)
                raise ExportError(f"the function changes its input {name} in place; pass it a "
                                  f"copy, {name}.clone()")
        labels = self.output_names(len(user))
        stateful = set(owner.values())
        taken = {*self.names, *stateful}
        result_names: "dict[str, str]" = {}  # mpt.name -> label
        for label in labels:
            name = label
            if label != "loss":
                name = rename(label, taken, RESULT_NAMES, stateful)
            taken.add(name)
            result_names[name] = label
        spelled = list(result_names)
        order = sorted(range(len(user)), key=lambda i: labels[i] != "loss")
        for index in order:
            value, _ = user[index]
            if not isinstance(value, torch.fx.Node):
                raise ExportError(f"result {labels[index]}: expected a tensor, found "
                                  f"{type(value).__name__}")
            if labels[index] == "loss" and self.is_loss:
                found = value.meta["val"]
                if found.dim() != 0 or not found.dtype.is_floating_point:
                    raise ExportError(
                        "the loss: expected a floating-point scalar, found a tensor of "
                        f"shape {list(found.shape)} and {found.dtype}; reduce it, for "
                        "instance by .mean()")
            results.append((env[value], f"{{mpt.name = {_quote(spelled[index])}}}"))
        for value, spec in state:
            if spec.target not in owner:
                raise ExportError(f"the function changes the buffer {spec.target}, which is "
                                  "not persistent; register it with persistent=True")
            name = owner[spec.target]
            results.append((env[value], f"{{mpt.name = {_quote(name + '.next')}, "
                                        f"mpt.updates = {_quote(name)}}}"))
        types = ", ".join(f"{v[1]} {a}" for v, a in results)
        text = "\n".join(
            ["// PyTorch " + torch.__version__ + ", exported by mpt.torch.",
             *(f"// {_quote(key)} is called {_quote(name)} here: MPT keeps the name for itself."
               for key, name in self.renamed.items() if name in self.weights),
             "func.func @loss(", ",\n".join(arguments) + ")", f"    -> ({types}) {{"]
            + self.constant_lines + self.lines
            + [f"  return {', '.join(v[0] for v, _ in results)} : "
               f"{', '.join(v[1] for v, _ in results)}", "}", ""])
        return Exported(text, self.weights, self.names, result_names, trained,
                        self.module.found.outside)

    def find_reached(self, specs, tensors) -> "set[int]":
        """The `id`s of parameters that the loss has a gradient for; of a function that is no
        loss, those of all."""
        if not self.is_loss:
            return {id(tensor) for tensor in tensors.values()}
        output = next(n for n in self.program.graph.nodes if n.op == "output")
        user = [value for value, spec in zip(output.args[0],
                                             self.program.graph_signature.output_specs)
                if spec.kind == OutputKind.USER_OUTPUT]
        loss = user[self.output_names(len(user)).index("loss")]
        seen, rest = set(), [loss]
        while rest:
            node = rest.pop()
            if node in seen or not isinstance(node, torch.fx.Node) or _stops_gradient(node):
                continue
            seen.add(node)
            rest += node.all_input_nodes
        return {id(tensors[specs[node.name].target]) for node in seen
                if node.op == "placeholder" and specs[node.name].target in tensors}

    def output_names(self, count):
        """What the loss function's results are called."""
        spec = self.program.call_spec.out_spec
        if spec is not None and spec.type is dict:
            keys = [str(k) for k in spec.context]
            nested = [key for key, child in zip(keys, spec.children()) if not child.is_leaf()]
            if nested or len(keys) != count:
                raise ExportError("the loss function's dictionary: expected tensors only"
                                  + (f", found more under {', '.join(nested)}" if nested else ""))
            if self.is_loss and "loss" not in keys:
                raise ExportError("the loss function's dictionary: expected the key \"loss\", "
                                  f"found {', '.join(keys)}")
            return keys
        if count != 1:
            raise ExportError(f"the loss function: expected a scalar or a dictionary with "
                              f"\"loss\", found {count} results")
        return ["loss"]


def __getattr__(name):
    # On first use: exporting needs no library.
    if name in ("StepResult", "TrainStep", "supports"):
        from mpt import _train_step
        return getattr(_train_step, name)
    raise AttributeError(f"module 'mpt.torch' has no attribute '{name}'")
