# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions with rules of derivatives, of which StableHLO has no word, in forms whose derivatives
are those."""
from __future__ import annotations

import contextlib
import dataclasses
import inspect
from typing import Optional

import jax
import numpy

from mpt._diagnostics import Error
from mpt._jax.jaxprs import inner_jaxprs, is_float
from mpt._patches import patched


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


def replace_rule(ctx, primitive, *rules):
    """A context of lowering with `rules`, or JAX's own, for a primitive."""
    module = ctx.module_context
    return ctx.replace(module_context=module.replace(
        lowering_parameters=dataclasses.replace(
            module.lowering_parameters, override_lowering_rules=tuple(
                rule for rule in module.lowering_parameters.override_lowering_rules
                if rule[0] is not primitive) + tuple((primitive, rule) for rule in rules)),
        lowering_cache={}, cached_primitive_lowerings={}))


def keep_rule(primitive, lower_fun, places=None):
    """A rule of lowering for a primitive that JAX computes by loops whose derivatives are not
    the primitive's. places: the operands for which it has one, if not all floats."""
    def lower(ctx, *values, **params):
        # What is inside is lowered as JAX lowers it.
        inner = replace_rule(ctx, primitive)

        def function(*given):
            return _add_derivative(lambda *all: [primitive.bind(*all, **params)], given,
                                   places)

        return lower_fun(function, multiple_results=True)(inner, *values)

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


def _multiplies_gradients(function, arguments) -> bool:
    """Whether the rule of a function with a jax.custom_vjp is linear in gradients."""
    own = set(function.nondiff_argnums)
    leaves, tree = jax.tree.flatten([x for i, x in enumerate(arguments) if i not in own])
    floats = [i for i, x in enumerate(leaves) if is_float(x)]
    call = jax.custom_vjp.__call__

    def of_floats(*given):
        all = list(leaves)
        for i, x in zip(floats, given):
            all[i] = x
        rest = iter(jax.tree.unflatten(tree, all))
        return jax.tree.leaves(call(function, *(
            x if i in own else next(rest) for i, x in enumerate(arguments))))

    given = [jax.lax.stop_gradient(leaves[i]) for i in floats]
    try:
        _transpose_rule(of_floats, given, [jax.numpy.zeros_like(x) for x in given])
        return True
    except Exception:
        return False


# Whose rules get gradients without the loss scale: an object of its own for each step, None for
# JAX's own rules. What JAX has traced (jit, checkpoint, scan) it keeps for each value.
_unscaled_for = jax.make_user_context(default_value=None)


@contextlib.contextmanager
def _with_calls(call, owner):
    with patched([(jax.custom_vjp, "__call__", call)]), _unscaled_for(owner):
        yield


def _unscale_rule(function, scale, arguments):
    """`function`, with a rule that gets gradients divided by `scale`, and gives them times it.
    All of it is f32: gradients without their scale are too small for f16, and the scale too
    large."""
    from jax.custom_derivatives import CustomVJPPrimal
    from jax.experimental.xla_metadata import set_xla_metadata

    def multiply(tree, factor):
        return jax.tree.map(
            lambda x: x * factor.astype(x.dtype) if isinstance(x, jax.Array) and is_float(x) else x,
            tree)

    # What a rule calls gets gradients that have no scale any more, whenever JAX asks for it.
    call = jax.custom_vjp.__call__

    def forward(scale, *arguments):
        with _with_calls(call, None):
            found, kept = function.fwd(*arguments)
        return found, (kept, scale.value if isinstance(scale, CustomVJPPrimal) else scale)

    def backward(*given):
        *own, (kept, scale), gradients = given
        with set_xla_metadata(**{"mpt.precision": "f32"}), _with_calls(call, None):
            found = function.bwd(*own, kept, multiply(gradients, 1 / scale))
            return (jax.numpy.zeros_like(scale), *multiply(tuple(found), scale))

    scaled = jax.custom_vjp(lambda scale, *arguments: function.fun(*arguments),
                            nondiff_argnums=tuple(i + 1 for i in function.nondiff_argnums))
    scaled.defvjp(forward, backward, symbolic_zeros=function.symbolic_zeros)
    return scaled(scale, *arguments)


def _is_of_inner_gradient(function, arguments) -> bool:
    """Whether a rule is for a gradient that the loss takes itself, which has no loss scale. Names
    the traces of JAX from that of each argument on, a LinearizeTrace for each gradient."""
    is_unknown = False
    for leaf in jax.tree.leaves(arguments):
        names, trace = [], getattr(leaf, "_trace", None)
        while trace is not None:
            names.append(type(trace).__name__)
            trace = getattr(trace, "parent_trace", None)
        if names.count("LinearizeTrace") > 1:
            if names[0] == "LinearizeTrace":
                return True
            is_unknown = True
    if is_unknown:
        place = getattr(function.fun, "__qualname__", "a function")
        raise Error(
            f"the loss: {place} has a jax.custom_vjp that does more with a gradient than to multiply "
            "it, in a jit, scan, vmap, branch or checkpoint of which the loss takes a gradient itself: "
            "nothing says whether what it gets has the loss scale. Call it outside of those, or give "
            "train_step loss_scale=\"none\"")
    return False


@contextlib.contextmanager
def unscale_rules(scale):
    """While it lasts, rules of jax.custom_vjp that do more with a gradient than multiply it, as
    clipping does, get gradients without the loss scale `scale`."""
    call = jax.custom_vjp.__call__

    def unscaled(function, *arguments, **named):
        with _with_calls(call, None):
            if getattr(function, "bwd", None) is not None:
                bound = inspect.signature(function.fun).bind(*arguments, **named)
                bound.apply_defaults()
                if not bound.kwargs and not _multiplies_gradients(function, bound.args) \
                        and not _is_of_inner_gradient(function, bound.args):
                    return _unscale_rule(function, scale, bound.args)
            return call(function, *arguments, **named)

    with _with_calls(unscaled, object()):
        yield
