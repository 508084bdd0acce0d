#!/usr/bin/env python3
# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times a step whose optimizer computes inverse roots of matrices in each tenth step, as Shampoo
does: with branches that run if they are taken, with branches that are computed in any case
(--mpt-select-branches), and in JAX. In turns, on one thread.

    PYTHONPATH=build/python build/venv/bin/python test/benchmark/branches.py [--sizes 32 64]
"""
import argparse
import os
import time
import warnings

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import jax
import jax.numpy as jnp
import numpy
import optax

import mpt.jax

parser = argparse.ArgumentParser()
parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64])
parser.add_argument("--rounds", type=int, default=5)
arguments = parser.parse_args()
warnings.filterwarnings("ignore")
EVERY = 10


def shampoo(rate):
    def each(function, tree):
        return jax.tree.map(function, tree)

    def init(params):
        left = each(lambda x: jnp.eye(x.shape[0]), params)
        right = each(lambda x: jnp.eye(x.shape[1]), params)
        return {"count": jnp.zeros((), jnp.int32), "sums": (left, right), "roots": (left, right)}

    def find_root(matrix):
        values, vectors = jnp.linalg.eigh(matrix)
        return (vectors * jnp.maximum(values, 1e-6) ** -0.25) @ vectors.T

    def update(gradients, state, params=None):
        left = jax.tree.map(lambda m, g: 0.95 * m + 0.05 * g @ g.T, state["sums"][0], gradients)
        right = jax.tree.map(lambda m, g: 0.95 * m + 0.05 * g.T @ g, state["sums"][1], gradients)
        roots = jax.lax.cond(state["count"] % EVERY == 0,
                             lambda: each(find_root, (left, right)), lambda: state["roots"])
        updates = jax.tree.map(lambda a, g, b: -rate * a @ g @ b, roots[0], gradients, roots[1])
        return updates, {"count": state["count"] + 1, "sums": (left, right), "roots": roots}

    return optax.GradientTransformation(init, update)


class Both(mpt.jax.TrainStep):
    """Computes all branches."""

    def _passes(self):
        return [*super()._passes(), "mpt-select-branches"]


def loss(params, x, y):
    return jnp.mean((jnp.tanh(x @ params["a"]) @ params["b"] - y) ** 2)


def compare(size):
    random = numpy.random.default_rng(0)
    params = {name: random.standard_normal((size, size)).astype("f") * 0.1 for name in "ab"}
    batch = [random.standard_normal((64, size)).astype("f") for _ in range(2)]
    optimizer = shampoo(0.01)
    kept, mpt.jax.TrainStep = mpt.jax.TrainStep, Both
    both = mpt.jax.train_step(loss, params, batch, optimizer, threads=1)
    mpt.jax.TrainStep = kept
    taken = mpt.jax.train_step(loss, params, batch, optimizer, threads=1)

    @jax.jit
    def step(params, state, x, y):
        gradients = jax.grad(loss)(params, x, y)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state

    held = [jax.tree.map(jnp.asarray, params), optimizer.init(params)]

    def run_jax():
        for _ in range(EVERY):
            held[:] = step(*held, *batch)
        jax.block_until_ready(held)

    runs = {"taken": lambda: [taken(*batch) for _ in range(EVERY)],
            "both": lambda: [both(*batch) for _ in range(EVERY)], "JAX": run_jax}
    best = {}
    for run in runs.values():
        run()
    for _ in range(arguments.rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            spent = (time.process_time() - start) / EVERY * 1e3
            best[name] = min(best.get(name, spent), spent)
    print(size, *(f"{name} {value:.2f} ms" for name, value in best.items()))


for size in arguments.sizes:
    compare(size)
