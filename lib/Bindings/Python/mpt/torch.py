# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch models as text that `mpt-opt --mpt-convert-torch` reads.

`export` traces a model and its loss with `torch.export` and prints the graph as ops in
torch-mlir's spelling, `"torch.aten.relu"(%0) : (!torch.vtensor<[2,3],f32>) -> ..`, in
MLIR's generic form. Which ones have a counterpart in the `mpt` dialect is decided by
the conversion. In-place ops and views are made functional by
`ExportedProgram.run_decompositions({})`, which decomposes nothing else.
"""
from __future__ import annotations

import contextlib
import inspect
import re
from typing import TYPE_CHECKING, Any, Callable, Collection, Optional, Sequence

import torch

from mpt._export import formulas, inner_gradients
from mpt._export.activation_checkpoints import mark_checkpoints
from mpt._export.errors import (ExportError, fail_at, raised_at, remedy_of, short_message,
                                without_logs)
from mpt._export.exported import Exported
from mpt._export.graph_passes import drop_assertions, join_tied, order_strided
from mpt._export.loss_module import LossModule
from mpt._export.masked_rows import spread_masked_rows
from mpt._export.program_printer import ProgramPrinter
from mpt._export.refusals import (refuse_hooks, refuse_kinds, refuse_own_gradients,
                                  refuse_what_tracing_loses)
from mpt._export.stopped_gradients import mark_stopped_gradients
from mpt._export.traceable_functions import (drop_checks_of_values, keep_recurrent_layers,
                                             name_modules_once, trace_cumulative_averages)
from mpt._names import STEP_NAMES, rename
from mpt._patches import export_lock

if TYPE_CHECKING:
    from mpt._step import StepResult
    from mpt._training.supports import supports
    from mpt._training.train_step import TrainStep

__all__ = ["Exported", "ExportError", "StepResult", "TrainStep", "export", "supports"]

_TARGET_NAMES = {"target", "targets", "label", "labels", "y"}


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
        if tensor.layout is not torch.strided or tensor.is_nested:
            raise ExportError(f"example[{index}]: expected a dense tensor, found one of "
                              f"{tensor.layout}; pass .to_dense(), or a padded tensor, or give a "
                              "sparse matrix that is the same for all batches to the loss function "
                              "in a closure")
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
    module = LossModule(model, loss, is_loss)
    module.training = model.training
    try:
        refuse_kinds(model)
        if is_loss:
            refuse_hooks(model)
        with (export_lock, mark_checkpoints(), refuse_what_tracing_loses(),
              refuse_own_gradients(model) if is_loss else contextlib.nullcontext(),
              keep_recurrent_layers(), trace_cumulative_averages(), drop_checks_of_values(),
              name_modules_once(), without_logs()):
            program = torch.export.export(module, example, strict=False,
                                          dynamic_shapes=shapes)
            join_tied(program)
            spread_masked_rows(program.graph_module, fail_at)
            formulas.refuse_without_formula(program.graph_module, fail_at)
            mark_stopped_gradients(program)
            program = program.run_decompositions(
                {**inner_gradients.decompositions(), **formulas.formulas(program)})
        inner_gradients.expand(program, fail_at)
        drop_assertions(program.graph_module)
        order_strided(program.graph_module)
    except ExportError as error:
        place = raised_at(error)
        if place and not re.match(r"\S+:\d+: ", str(error)):
            raise ExportError(f"{error}{place}") from error
        raise
    except Exception as error:  # torch raises many types.
        raise ExportError(f"torch.export refuses the model: {short_message(error)}"
                          f"{raised_at(error)}{remedy_of(error)}") from error
    if trainable is None:
        trainable = {id(p) for p in model.parameters() if p.requires_grad}
    return ProgramPrinter(
        program, module, names, targets, trainable, like, is_loss, renamed).print()


def _argument_names(loss, count):
    try:
        parameters = list(inspect.signature(loss).parameters.values())[1:]
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters
             if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return names if len(names) == count else [f"input{i}" for i in range(count)]


def __getattr__(name):
    # On first use: exporting needs no library.
    if name in ("StepResult", "TrainStep"):
        from mpt._training import train_step
        return getattr(train_step, name)
    if name == "supports":
        from mpt._training.supports import supports
        return supports
    raise AttributeError(f"module 'mpt.torch' has no attribute '{name}'")
