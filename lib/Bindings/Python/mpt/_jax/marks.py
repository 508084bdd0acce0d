# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a step of JAX has its loss and its gradients, for `--mpt-loss-scale`."""
from __future__ import annotations

from typing import Any

import jax

from mpt._diagnostics import Error


@jax.custom_vjp
def _pass(loss):
    return loss


def pass_backward(_, gradient):
    mark = jax.lax.composite(lambda gradient: gradient, name="mpt.grad_seed")
    return (mark(gradient),)


_pass.defvjp(lambda loss: (loss, None), pass_backward)


def grad_seed(loss: Any) -> Any:
    """`loss`, a scalar that is differentiated: where its gradient begins, `--mpt-loss-scale`
    multiplies by the loss scale. Without that pass it changes nothing."""
    if jax.typeof(loss).shape != ():
        raise Error(f"grad_seed: expected one number, found {jax.typeof(loss)}")
    return _pass(loss)


def make_seed() -> Any:
    """The gradient of a loss with respect to itself: 1, or the loss scale."""
    return jax.lax.composite(lambda one: one, name="mpt.grad_seed")(jax.numpy.float32(1))


def gradients(gradients: Any) -> Any:
    """`gradients`, a tree with the gradients of all parameters, before anything reads them:
    `--mpt-loss-scale` divides them by the loss scale here. Without that pass it changes
    nothing."""
    leaves, tree = jax.tree.flatten(gradients)
    mark = jax.lax.composite(lambda *leaves: list(leaves), name="mpt.gradients")
    return jax.tree.unflatten(tree, mark(*leaves))
