# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is computed in place of primitives of JAX that MPT has no op for."""
from __future__ import annotations

import functools

import jax
import numpy

from mpt._diagnostics import Error


def _in_f32(function):
    """`function`, which autocast leaves alone."""
    from jax.experimental.xla_metadata import set_xla_metadata

    def call(*values, **params):
        with set_xla_metadata(**{"mpt.precision": "f32"}):
            return function(*values, **params)
    return call


def _take_top(operand, *, k, reduction_dimension, is_max_k, **_):
    """`jax.lax.approx_max_k` and `approx_min_k`, which are exact here, as in XLA on CPUs."""
    moved = jax.numpy.moveaxis(operand, reduction_dimension, -1)
    values, places = jax.lax.top_k(moved if is_max_k else -moved, k)
    return [jax.numpy.moveaxis(x, -1, reduction_dimension)
            for x in (values if is_max_k else -values, places)]


# B_2k / (2k)! of Bernoulli's numbers.
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
              1 / 74724249600)


def _zeta(x, q):
    """Hurwitz' zeta, the sum of (q + k)^-x, by Euler's and Maclaurin's formula (DLMF 25.11.5);
    NaN where q is not above 0, or x below 1, where the sum has no limit."""
    known = (q > 0) & (x >= 1)
    q = jax.numpy.where(known, q, 1)
    a = q + 8
    total = sum((q + k) ** -x for k in range(8)) + a ** (1 - x) / (x - 1) + 0.5 * a ** -x
    rising, power = x, a ** (-x - 1)
    for k, number in enumerate(_BERNOULLI):
        total = total + number * rising * power
        rising, power = rising * (x + 2 * k + 1) * (x + 2 * k + 2), power / (a * a)
    return jax.numpy.where(known, total, jax.numpy.nan)


def _polygamma(n, x):
    """The derivative of order n of digamma; NaN where x is not above 0 and n is not 0."""
    order = jax.numpy.where(n == 0, 1, n)
    sign = 1 - 2 * ((order + 1) % 2)
    return jax.numpy.where(n == 0, jax.lax.digamma(x), sign * jax.numpy.exp(
        jax.lax.lgamma(order + 1)) * _zeta(order + 1, x))


@functools.cache
def _expand_i1e():
    """The exponentially scaled Bessel function i1e(x) / x up to 8, and sqrt(x) i1e(x) of 16 / x - 1
    beyond, in Chebyshev polynomials: Clenshaw's expansions, which Cephes has, too."""
    from numpy.polynomial import chebyshev
    import scipy.special
    near = chebyshev.chebinterpolate(
        lambda t: scipy.special.i1e(4 * (t + 1) + 1e-300) / (4 * (t + 1) + 1e-300), 24)
    far = chebyshev.chebinterpolate(
        lambda t: numpy.sqrt(16 / (t + 1 + 1e-9)) * scipy.special.i1e(16 / (t + 1 + 1e-9)), 8)
    return near, far


def _i1e(x):
    def sum_up(coefficients, t):
        # Clenshaw's recurrence.
        first = second = jax.numpy.zeros_like(t)
        for number in reversed(coefficients[1:].tolist()):
            first, second = 2 * t * first - second + number, first
        return t * first - second + float(coefficients[0])

    near, far = _expand_i1e()
    size = jax.numpy.abs(x)
    beyond = jax.numpy.maximum(size, 8)
    return jax.numpy.where(
        size <= 8, x * sum_up(near, jax.numpy.minimum(size, 8) / 4 - 1),
        jax.numpy.sign(x) * sum_up(far, 16 / beyond - 1) / jax.numpy.sqrt(beyond))


def _solve_tridiagonal(lower, diagonal, upper, right, *, perturb_singular=False, **_):
    """Thomas's algorithm, without pivots, as JAX has it on TPUs."""
    if perturb_singular:
        raise Error("the loss: tridiagonal_solve with perturb_singular=True chooses pivots, for "
                    "which MPT has no word; leave it out")

    def solve(lower, diagonal, upper, right):
        def eliminate(before, row):
            lower, diagonal, upper, right = row
            pivot = diagonal - lower * before[0]
            now = upper / pivot, (right - lower * before[1]) / pivot
            return now, now

        def substitute(after, row):
            x = row[1] - row[0] * after
            return x, x

        zero = jax.numpy.zeros_like(right[0])
        _, rows = jax.lax.scan(eliminate, (jax.numpy.zeros_like(diagonal[0]), zero),
                               (lower, diagonal, upper, right))
        return jax.lax.scan(substitute, zero, rows, reverse=True)[1]

    for _ in range(diagonal.ndim - 1):
        solve = jax.vmap(solve)
    return solve(lower, diagonal, upper, right)


def make_replacements():
    """Rules of lowering."""
    from jax.extend.core.primitives import (approx_top_k_p, bessel_i1e_p, polygamma_p,
                                            tridiagonal_solve_p, zeta_p)
    from jax.interpreters.mlir import lower_fun
    return ((approx_top_k_p, lower_fun(_take_top, multiple_results=True)),
            *((primitive, lower_fun(_in_f32(function), multiple_results=False))
              for primitive, function in ((zeta_p, _zeta), (polygamma_p, _polygamma),
                                          (bessel_i1e_p, _i1e),
                                          (tridiagonal_solve_p, _solve_tridiagonal))))
