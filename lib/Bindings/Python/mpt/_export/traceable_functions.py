# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch that others stand for while a model is traced, since a traced graph cannot
follow their own code."""
from __future__ import annotations

import contextlib
import math
import sys
import warnings

import torch

from mpt._export import formulas
from mpt._export.custom_ops import RECURRENT
from mpt._export.errors import ExportError
from mpt._export.value_checks import answer_of_check
from mpt._patches import patched


@contextlib.contextmanager
def keep_recurrent_layers():
    """While it lasts, recurrent layers over padded sequences are traced as one op."""
    def keep(name):
        original, op = getattr(torch._VF, name), getattr(torch.ops.mpt, name).default

        def call(*arguments):
            # Packed sequences have other arguments.
            is_packed = not isinstance(arguments[3], bool)
            return original(*arguments) if is_packed else op(*arguments)
        return torch._VF, name, call

    with patched([keep(name) for name in RECURRENT]), warnings.catch_warnings():
        # PyTorch's own modules put their parameters there.
        warnings.filterwarnings(
            "ignore", r"The tensor attributes? (self\.[\w.]+\._flat_weights\[\d+\](, )?)+ "
            "(was|were) assigned during export")
        yield


@contextlib.contextmanager
def trace_cumulative_averages():
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


def _adaptive_log_softmax(self, input, target):
    """torch.nn.AdaptiveLogSoftmaxWithLoss, which chooses the rows of each cluster by values: each
    cluster is computed of all rows here, and counts for its own."""
    is_batch = target.dim() > 0
    if target.dim() > 1 or input.dim() != target.dim() + 1 \
            or is_batch and input.shape[0] != target.shape[0]:
        raise RuntimeError(f"AdaptiveLogSoftmaxWithLoss: expected an input of [N, features] and "
                           f"targets of [N], found {list(input.shape)} and {list(target.shape)}")
    input, target = (t if is_batch else t.unsqueeze(0) for t in (input, target))
    head = torch.log_softmax(self.head(input), 1)
    # A target out of range is an error when the step runs: gather would count negative ones from
    # the end.
    place, found = torch.where(target < 0, head.shape[1], target), 0
    for index, cluster in enumerate(self.tail):
        low, high = self.cutoffs[index:index + 2]
        inside = (target >= low) & (target < high)
        place = torch.where(inside, self.shortlist_size + index, place)
        own = (target - low).clamp(0, high - low - 1).unsqueeze(1)
        found = found + torch.where(
            inside, torch.log_softmax(cluster(input), 1).gather(1, own).squeeze(1), 0.0)
    output = found + head.gather(1, place.unsqueeze(1)).squeeze(1)
    return torch.nn.modules.adaptive._ASMoutput(
        output if is_batch else output.squeeze(0), -output.mean())


def _enter_inference(self):
    """torch.inference_mode is torch.no_grad: a traced graph has regions of that one only, and
    the values of such a region may go on in others. With mode=False gradients are on again."""
    self._inference_mode_context = torch.set_grad_enabled(not self.mode)


def _leave_inference(self, *error):
    self._inference_mode_context.__exit__(*error)


def _convert(self, *arguments, **named):
    """torch.nn.Module.to, where it changes nothing."""
    device, dtype, *_ = torch._C._nn._parse_to(*arguments, **named)
    for name, value in [*self.named_parameters(), *self.named_buffers()]:
        if dtype is not None and value.dtype != dtype and (
                value.is_floating_point() or value.is_complex()) \
                or device is not None and value.device.type != device.type:
            raise ExportError(
                f"the loss function converts the module {type(self).__name__}, whose {name} is of "
                f"{str(value.dtype)[6:]} on {value.device}, by to(): convert it before the "
                "optimizer is made, or its input and output in each call")
    return self


def _is_positive_definite(self, value):
    """Of a constraint of torch.distributions, which decides by values before it raises an error."""
    return torch.ones(value.shape[:-2], dtype=torch.bool, device=value.device)


def _choose_size():
    """Detectors of torchvision draw one of several sizes for images, also where there is one."""
    transform = sys.modules.get("torchvision.models.detection.transform")
    if transform is None:
        return []

    def choose(self, sizes):
        if len(sizes) > 1:
            raise ExportError(
                f"the detector draws one of the sizes {list(sizes)} for each image, where a step "
                "has one shape: give it one min_size, and resize images before they are passed")
        return sizes[0]
    return [(transform.GeneralizedRCNNTransform, "torch_choice", choose)]


def _leave_out_masks():
    """transformers makes masks that hide nothing while a model is exported, for sequences of other
    lengths; a step has one. Padding masks are computed as before."""
    masking = sys.modules.get("transformers.masking_utils")
    return [(masking, "is_torchdynamo_exporting", lambda: False)] if masking else []


@contextlib.contextmanager
def drop_checks_of_values():
    def is_causal(mask, is_causal=None, size=None):
        """Of nn.Transformer's masks, which it compares with a causal one to take a shorter
        way. A mask that is not said to be causal is added as it is."""
        return is_causal is True

    decide = torch.SymBool.__bool__

    def is_true(self):
        """Of numbers that tensors hold."""
        answer = answer_of_check()
        return decide(self) if answer is None else answer

    patches = [(torch.SymBool, "__bool__", is_true),
               (torch.nn.functional, "gaussian_nll_loss", _gaussian_nll_loss),
               (torch, "ctc_loss", _ctc_loss), (torch.linalg, "lstsq", formulas.lstsq),
               (torch.nn.AdaptiveLogSoftmaxWithLoss, "forward", _adaptive_log_softmax),
               (torch.nn.Module, "to", _convert),
               (torch.distributions.constraints._PositiveDefinite, "check",
                _is_positive_definite),
               (torch.distributions.constraints._PositiveSemidefinite, "check",
                _is_positive_definite),
               (torch.inference_mode, "__enter__", _enter_inference),
               (torch.inference_mode, "__exit__", _leave_inference),
               (torch, "cov", formulas.cov), (torch.Tensor, "cov", formulas.cov),
               (torch, "corrcoef", formulas.corrcoef),
               (torch.Tensor, "corrcoef", formulas.corrcoef),
               (torch.nn.modules.transformer, "_detect_is_causal_mask", is_causal),
               *_choose_size(), *_leave_out_masks()]
    with patched([patch for patch in patches if hasattr(*patch[:2])]):
        yield


@contextlib.contextmanager
def name_modules_once():
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
