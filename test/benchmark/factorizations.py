#!/usr/bin/env python3
# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorizations of JAX's matrices on MPT and by LAPACK, which JAX calls: processor time of one thread,
the least of several rounds in turns, and errors beside numpy in f64, in units of 2^-24 of the largest
value: of values, of what they rebuild, and of vectors that should be orthogonal.

    PYTHONPATH=build/python build/venv/bin/python test/benchmark/factorizations.py
"""
import argparse
import os
import time

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy

import mpt.jax

parser = argparse.ArgumentParser()
parser.add_argument("--sizes", type=int, nargs="+", default=[8, 32, 64, 128])
parser.add_argument("--rounds", type=int, default=3)
arguments = parser.parse_args()
rng = numpy.random.default_rng(0)


def measure(run):
    run()
    began, count = time.process_time(), 0
    while (spent := time.process_time() - began) < 0.2:
        run()
        count += 1
    return spent / count * 1e3


def find_errors(name, matrix, parts):
    wide = matrix.astype("d")
    parts = [numpy.asarray(part, "d") for part in parts]
    if name == "qr":
        values, rebuilt, vectors = parts[1], parts[0] @ parts[1], parts[0]
        expected = numpy.linalg.qr(wide)[1]
    elif name == "eigh":
        values, vectors = parts
        rebuilt, expected = (vectors * values) @ vectors.T, numpy.linalg.eigvalsh(wide)
    else:
        vectors, values, right = parts
        rebuilt, expected = (vectors * values) @ right, numpy.linalg.svd(wide, compute_uv=False)
    identity = numpy.eye(len(matrix))
    return [2.0 ** 24 * numpy.linalg.norm(gap, 2) / scale for gap, scale in (
        ((values - expected).reshape(len(values), -1), numpy.linalg.norm(expected, 2)),
        (rebuilt - wide, numpy.linalg.norm(wide, 2)), (vectors.T @ vectors - identity, 1))]


print("| | MPT | LAPACK | errors of MPT | of LAPACK |\n| --- | ---: | ---: | ---: | ---: |")
for name, function in (("qr", jnp.linalg.qr), ("eigh", jnp.linalg.eigh), ("svd", jnp.linalg.svd)):
    for size in arguments.sizes:
        matrix = rng.normal(size=(size, size)).astype("f")
        matrix = (matrix + matrix.T) / 2 if name == "eigh" else matrix

        def outputs(params, a):
            return params["w"].sum(), dict(zip("abc", function(a)))

        step = mpt.jax.train_step(outputs, {"w": numpy.zeros(1, "f")}, (matrix,), "sgd", threads=1)
        mine = step(matrix)
        program = step._first.program
        compiled, given = jax.jit(function), jax.device_put(matrix)
        theirs = compiled(given)
        times = [min(measure(run) for _ in range(arguments.rounds)) for run in (
            program.run, lambda: jax.block_until_ready(compiled(given)))]
        errors = [", ".join(f"{error:.1f}" for error in find_errors(name, matrix, parts)) for parts in (
            [mine[key] for key in "abc"[:len(theirs)]], theirs)]
        print(f"| {name} {size} | {times[0]:.3f} | {times[1]:.3f} | {errors[0]} | {errors[1]} |", flush=True)
