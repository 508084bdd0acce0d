# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers losses that MPT differentiates."""
from __future__ import annotations

import os
import sys
import warnings

import jax

from mpt._diagnostics import Error
from mpt._jax.checkpoints import evaluate, is_saved, saves_all, saves_inside
from mpt._jax.derivative_rules import follow_rule, keep_rule, solve_linear
from mpt._jax.marks import pass_backward
from mpt._jax.replacements import make_replacements


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
    modules = [jax, sys.modules.get("optax.losses")]  # What is not imported is not called.
    libraries = tuple(os.path.join(os.path.dirname(os.path.abspath(module.__file__)), "")
                      for module in modules if module is not None)
    mark = jax.lax.composite(lambda x: x, name="mpt.stop_gradient")

    def custom_jvp(*values, call_jaxpr, **params):
        name, _, file = (call_jaxpr.jaxpr.debug_info.func_src_info or "").partition(" at ")
        # Those of libraries, as relu's and logaddexp's, are the functions' derivatives, but
        # not where the function divides by 0 or iterates.
        if file.startswith(libraries) and name not in ("_det", "_custom_root", "_pinv"):
            return jaxpr_as_fun(call_jaxpr)(*values)
        return follow_rule(custom_jvp_call_p, False, *values, call_jaxpr=call_jaxpr, **params)

    def custom_vjp(*values, call_jaxpr, **params):
        if params["bwd"] is pass_backward:
            return jaxpr_as_fun(call_jaxpr)(*values)
        return follow_rule(custom_vjp_call_p, True, *values, call_jaxpr=call_jaxpr, **params)

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
             (custom_jvp_call_p, lower_fun(custom_jvp, multiple_results=True)),
             (custom_vjp_call_p, lower_fun(custom_vjp, multiple_results=True)),
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
