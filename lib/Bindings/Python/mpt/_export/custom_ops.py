# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that stand in a traced graph for what PyTorch's own would not keep."""
from __future__ import annotations

import torch

# The identity that no gradient passes. Making a graph functional forgets `detach` and
# regions without gradients, which only autograd sees; an op that it does not know stays.
_library = torch.library.Library("mpt", "DEF")
_library.define("stop_gradient(Tensor x) -> Tensor")
_library.impl("stop_gradient", lambda x: x.clone(), "CompositeExplicitAutograd")
STOP_GRADIENT = torch.ops.mpt.stop_gradient.default

# Recurrent layers that are traced as one op. PyTorch traces its own step by step to find the
# shapes, which takes minutes for long sequences.
_LAYER = ("Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
          "bool bidirectional, bool batch_first")
RECURRENT = {"lstm": 2, "gru": 1, "rnn_tanh": 1, "rnn_relu": 1}  # and how many states each has


def _recurrent_shapes(input, states, *options):
    """Tensors like the results of a recurrent layer."""
    bidirectional = options[-2]
    width = states[0].shape[-1] * (2 if bidirectional else 1)
    return (input.new_empty((*input.shape[:-1], width)), *(torch.empty_like(s) for s in states))


for _layer, _count in RECURRENT.items():
    if _count == 1:
        _library.define(f"{_layer}(Tensor input, Tensor hx, {_LAYER}) -> (Tensor, Tensor)")
        _library.impl(_layer, lambda input, hx, *options: _recurrent_shapes(
            input, [hx], *options), "CompositeExplicitAutograd")
    else:
        _library.define(
            f"{_layer}(Tensor input, Tensor[] hx, {_LAYER}) -> (Tensor, Tensor, Tensor)")
        _library.impl(_layer, _recurrent_shapes, "CompositeExplicitAutograd")

# PyTorch's own looks at the values of lengths while it is traced.
_library.define("ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
                "target_lengths, int blank, bool zero_infinity) -> (Tensor, Tensor)")
_library.impl("ctc_loss", lambda log_probs, *_: (
    log_probs.new_empty(log_probs.shape[1]), log_probs.new_empty(0)),
    "CompositeExplicitAutograd")
