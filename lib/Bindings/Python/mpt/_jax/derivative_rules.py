# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions with rules of derivatives, of which StableHLO has no word, in forms whose derivatives
are those."""
from __future__ import annotations

import dataclasses
from typing import Optional

import jax
import numpy

from mpt._diagnostics import Error
from mpt._jax.jaxprs import inner_jaxprs, is_float


def solve_linear(*arguments, const_lengths, jaxprs):
    """What `jax.lax.custom_linear_solve` computes, as jnp.linalg.solve does, in a form whose
    derivative is that of the solution, x + S(b - A x), where x = S(b) and what S reads of A
    are constants. JAX has a rule instead, which StableHLO has no word for."""
    from jax.extend.core import jaxpr_as_fun
    constants, at = [], 0
    for length in const_lengths:
        constants.append(arguments[at:at + length])
        at += length
    right = arguments[at:]
    matvec, _, solve, _ = constants
    solve = [jax.lax.stop_gradient(value) for value in solve]
    first = jaxpr_as_fun(jaxprs.solve)(*solve, *right)
    x = [jax.lax.stop_gradient(value) for value in first[:len(right)]]
    rest = [b - y for b, y in zip(right, jaxpr_as_fun(jaxprs.matvec)(*matvec, *x))]
    change = jaxpr_as_fun(jaxprs.solve)(*solve, *rest)
    return [a + b for a, b in zip(x, change)] + [
        jax.lax.stop_gradient(value) for value in first[len(right):]]


def _find_constant(jaxpr, linear, zeros) -> Optional[str]:
    """The primitive that makes a jaxpr no linear function of the variables `linear`, for
    adding what does not depend on them; None if it adds but `zeros`."""
    def is_zero(atom):
        return not numpy.any(atom.val) if hasattr(atom, "val") else atom in zeros

    linear, zeros = set(linear), set(zeros)
    for equation in jaxpr.eqns:
        name, values = equation.primitive.name, list(equation.invars)
        is_linear = [not hasattr(x, "val") and x in linear for x in values]
        if not any(is_linear):
            if name in ("broadcast_in_dim", "reshape", "convert_element_type", "squeeze",
                        "transpose", "neg", "copy") and is_zero(values[0]):
                zeros.update(equation.outvars)
            continue
        summands = {"add": slice(None), "sub": slice(None), "add_any": slice(None),
                    "concatenate": slice(None), "pad": slice(None), "select_n": slice(1, None),
                    "dynamic_update_slice": slice(2), "scatter": slice(0, None, 2),
                    "scatter-add": slice(0, None, 2)}.get(name, slice(0))
        if not all(a or is_zero(x) for a, x in zip(is_linear[summands], values[summands])):
            return name
        for inner in inner_jaxprs(equation) if name in ("jit", "custom_jvp_call") else ():
            found = _find_constant(inner, *(
                [to for x, to in zip(values, inner.invars) if keep(x)]
                for keep in (lambda x: not hasattr(x, "val") and x in linear, is_zero)))
            if found:
                return found
        linear.update(equation.outvars)
    return None


def _transpose_rule(function, values, changes):
    """What `function` returns, and J times `changes`, J^T being what its rule of jax.custom_vjp
    multiplies gradients by."""
    found, pull_back = jax.vjp(function, *values)
    floats = [i for i, y in enumerate(found) if is_float(y)]

    def back(*gradients):
        all = [numpy.zeros(y.shape, jax.dtypes.float0) for y in found]
        for i, gradient in zip(floats, gradients):
            all[i] = gradient
        return pull_back(all)

    zeros = [jax.numpy.zeros(found[i].shape, found[i].dtype) for i in floats]
    closed = jax.make_jaxpr(back)(*zeros)
    constants = [v for v, c in zip(closed.jaxpr.constvars, closed.consts)
                 if not isinstance(c, jax.core.Tracer) and not numpy.any(c)]
    adds = _find_constant(closed.jaxpr, closed.jaxpr.invars, constants)
    if adds:
        raise ValueError(f"{adds} of the gradient and of what does not depend on it")
    moved = iter(jax.linear_transpose(back, *zeros)(tuple(changes)))
    return found, [next(moved) if i in floats else None for i in range(len(found))]


def follow_rule(primitive, is_vjp, *values, call_jaxpr, **params):
    """A function with a rule of derivatives in a form whose derivative is the rule's: f(x) +
    J (x - x), where all but the first x are constants."""
    params["call_jaxpr"] = call_jaxpr
    stop = jax.lax.stop_gradient
    floats = [i for i, x in enumerate(values) if is_float(x)]

    def function(*given):
        all = [stop(x) for x in values]
        for i, x in zip(floats, given):
            all[i] = x
        return primitive.bind(*all, **primitive.get_bind_params(params))

    given, changes = [], []
    for i in floats:
        given.append(stop(values[i]))
        # Infinity minus infinity is no zero.
        finite = jax.numpy.where(jax.numpy.isfinite(values[i]), values[i], 0)
        changes.append(finite - stop(finite))
    if is_vjp:
        try:
            found, moved = _transpose_rule(function, given, changes)
        except Exception as error:
            place = call_jaxpr.jaxpr.debug_info.func_src_info or "a function at an unknown place"
            raise Error(f"the loss: {place} has a jax.custom_vjp that does more with a gradient "
                        "than to multiply it by what does not depend on it, for which MPT has no "
                        f"word ({str(error).splitlines()[0] if str(error) else 'no linear function'}"
                        "). Give train_step gradients=\"jax\", or leave the rule out") from error
    else:
        found, moved = jax.jvp(function, given, changes) if floats else (function(), [])
        moved = list(moved) or [None] * len(found)
    return [stop(y) + dy if is_float(y) else y for y, dy in zip(found, moved)]


def keep_rule(primitive, lower_fun, places=None):
    """A rule of lowering for a primitive that JAX computes by loops whose derivatives are not
    the primitive's. places: the operands for which it has one, if not all floats."""
    def lower(ctx, *values, **params):
        # What is inside is lowered as JAX lowers it.
        module = ctx.module_context
        inner = module.replace(
            lowering_parameters=dataclasses.replace(
                module.lowering_parameters, override_lowering_rules=tuple(
                    rule for rule in module.lowering_parameters.override_lowering_rules
                    if rule[0] is not primitive)),
            lowering_cache={}, cached_primitive_lowerings={})

        def function(*given):
            return _add_derivative(lambda *all: [primitive.bind(*all, **params)], given,
                                   places)

        return lower_fun(function, multiple_results=True)(ctx.replace(module_context=inner),
                                                          *values)

    return primitive, lower


def _add_derivative(function, values, places=None):
    """What a function computes of constants, with the derivative that JAX knows: f(x) +
    J (x - x), where all but the first x are constants."""
    stop = jax.lax.stop_gradient
    floats = places or [i for i, x in enumerate(values) if is_float(x)]

    def of_floats(*given):
        all = list(values)
        for i, x in zip(floats, given):
            all[i] = x
        return function(*all)

    changes = []
    for i in floats:
        # Infinity minus infinity is no zero.
        finite = jax.numpy.where(jax.numpy.isfinite(values[i]), values[i], 0)
        changes.append(finite - stop(finite))
    found, moved = jax.jvp(of_floats, [stop(values[i]) for i in floats], changes)
    return [y + dy for y, dy in zip(found, moved)]
