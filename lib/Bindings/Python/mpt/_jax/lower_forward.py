# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers losses that MPT differentiates."""
from __future__ import annotations

import functools
import os
import warnings

import jax

from mpt._diagnostics import Error
from mpt._jax.checkpoints import evaluate, is_saved, saves_all, saves_inside
from mpt._jax.derivative_rules import follow_rule, keep_rule, replace_rule, solve_linear
from mpt._jax.marks import pass_backward
from mpt._jax.replacements import make_replacements


# Functions of JAX with a rule of jax.custom_jvp that is what MPT derives from the function, some
# as ops of their own. Others choose, iterate or move bits, so that only the rule has a derivative.
_OWN_DERIVATIVES = ("relu", "relu6", "_softmax", "logaddexp", "logaddexp2", "logit",
                    "_slogdet_small", "_slogdet_lu", "_slogdet_qr")


def refuse_outer(kind, source, rule):
    """`rule`, of lowering a function whose rule may not read what the function around it
    computes: that is traced already, and no constant."""
    def lower(*arguments, **params):
        try:
            return rule(*arguments, **params)
        except (RecursionError, TypeError, jax.errors.UnexpectedTracerError) as error:
            raise Error(
                f"the loss: {source or 'a function at an unknown place'} has a {kind} whose rule reads "
                "what is computed outside of it, for which MPT has no word. Give train_step "
                "gradients=\"jax\", or pass the value as an argument that has a derivative") from error
    return lower


def lower_forward(jitted, *arguments):
    """A function that MPT will differentiate, as StableHLO, which has no word for what JAX
    knows of gradients. `stop_gradient` and `jax.checkpoint` become composites, which
    --mpt-convert-stablehlo knows; functions with rules of derivatives that are not JAX's own,
    others that have the rules' derivatives."""
    try:
        from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
        from jax.extend.core.primitives import (custom_jvp_call_p, custom_vjp_call_p,
                                                remat_p, stop_gradient_p)
        from jax.extend.core.primitives import (igamma_p, igammac_p, random_gamma_p,
                                                regularized_incomplete_beta_p)
        from jax.interpreters.mlir import LoweringParameters, lower_fun
        from jax.extend.core.primitives import linear_solve_p
    except ImportError as error:
        raise Error(f"jax {jax.__version__}: expected its primitives and rules of lowering "
                    f"({error}); MPT knows jax 0.10") from error
    traced = jitted.trace(*arguments)
    library = os.path.join(os.path.dirname(os.path.abspath(jax.__file__)), "")
    mark = jax.lax.composite(lambda x: x, name="mpt.stop_gradient")

    def evaluate_plainly(*values, call_jaxpr, **_):
        return jaxpr_as_fun(call_jaxpr)(*values)

    def lower_jvp(followed):
        """Follows rules of jax.custom_jvp. Of those in `followed`, which the rules call, only the
        values are read."""
        plain = lower_fun(evaluate_plainly, multiple_results=True)
        follow = lower_fun(functools.partial(follow_rule, custom_jvp_call_p, False),
                           multiple_results=True)

        def lower(ctx, *values, call_jaxpr, **params):
            source = call_jaxpr.jaxpr.debug_info.func_src_info or ""
            name, _, file = source.partition(" at ")
            if source in followed or (name in _OWN_DERIVATIVES and file.startswith(library)):
                return plain(ctx, *values, call_jaxpr=call_jaxpr, **params)
            inner = replace_rule(ctx, custom_jvp_call_p,
                                 lower_jvp({*followed, source} if source else followed))
            return refuse_outer("jax.custom_jvp", source, follow)(
                inner, *values, call_jaxpr=call_jaxpr, **params)
        return lower

    def lower_vjp(ctx, *values, call_jaxpr, **params):
        if params["bwd"] is pass_backward:
            rule = lower_fun(evaluate_plainly, multiple_results=True)
        else:
            rule = refuse_outer("jax.custom_vjp", call_jaxpr.jaxpr.debug_info.func_src_info,
                                lower_fun(functools.partial(follow_rule, custom_vjp_call_p, True),
                                          multiple_results=True))
        return rule(ctx, *values, call_jaxpr=call_jaxpr, **params)

    def checkpoint(*values, jaxpr, policy, **_):
        def as_function(jaxpr):
            return jaxpr_as_fun(ClosedJaxpr(jaxpr, ()))

        policy = policy or jax.checkpoint_policies.nothing_saveable
        if jaxpr.eqns and saves_all(policy, jaxpr):
            return as_function(jaxpr)(*values)
        for equation in jaxpr.eqns:
            if equation.primitive.name in ("scan", "while", "cond") \
                    and saves_inside(policy, equation):
                warnings.warn(
                    f"the loss: jax.checkpoint of {jaxpr.debug_info.func_src_info or 'a function'}:"
                    " its policy keeps values inside of a loop or branch, which MPT computes "
                    "again; put jax.checkpoint around the loop's body", stacklevel=2)
                break
        # What leaves an mpt.checkpoint is kept.
        def function(*values):
            kept = []
            found = evaluate(jaxpr, (), values, policy, kept, as_function)
            return [*found, *kept]

        if not any(is_saved(policy, equation) or saves_inside(policy, equation)
                   for equation in jaxpr.eqns):
            function = as_function(jaxpr)
        found = jax.lax.composite(function, name="mpt.checkpoint")(*values)
        return list(found)[:len(jaxpr.outvars)]

    rules = ((stop_gradient_p, lower_fun(mark, multiple_results=False)),
             (custom_jvp_call_p, lower_jvp(frozenset())),
             (custom_vjp_call_p, lower_vjp),
             (remat_p, lower_fun(checkpoint, multiple_results=True)),
             (linear_solve_p, lower_fun(solve_linear, multiple_results=True)),
             *make_replacements(),
             *(keep_rule(primitive, lower_fun)
               for primitive in (igamma_p, igammac_p, random_gamma_p)),
             # JAX has no gradient of a and b either.
             keep_rule(regularized_incomplete_beta_p, lower_fun, [2]))
    return traced.lower(_private_parameters=LoweringParameters(override_lowering_rules=rules))


def lower_whole(jitted, *arguments):
    """A function with gradients of JAX, as StableHLO."""
    try:
        from jax.interpreters.mlir import LoweringParameters
        rules = make_replacements()
    except ImportError as error:
        raise Error(f"jax {jax.__version__}: expected its primitives and rules of lowering "
                    f"({error}); MPT knows jax 0.10") from error
    return jitted.trace(*arguments).lower(
        _private_parameters=LoweringParameters(override_lowering_rules=rules))
