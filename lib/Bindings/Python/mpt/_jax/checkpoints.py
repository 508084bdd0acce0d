# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `jax.checkpoint` and its policies keep."""
from __future__ import annotations

from mpt._jax.jaxprs import inner_jaxprs


def is_saved(policy, equation) -> bool:
    """Whether a policy of jax.checkpoint keeps what an equation computes. What it moves to
    the host's memory is kept: there is no other."""
    if list(inner_jaxprs(equation)):
        return False  # It is asked about what is inside.
    found = policy(equation.primitive, *[x.aval for x in equation.invars], **equation.params)
    return found if isinstance(found, bool) else type(found).__name__ != "RecomputeType"


def saves_inside(policy, equation) -> bool:
    return any(is_saved(policy, inner) or saves_inside(policy, inner)
               for jaxpr in inner_jaxprs(equation) for inner in jaxpr.eqns)


def saves_all(policy, jaxpr) -> bool:
    return all(all(saves_all(policy, inner) for inner in inner_jaxprs(equation))
               if list(inner_jaxprs(equation)) else is_saved(policy, equation)
               for equation in jaxpr.eqns)


def evaluate(jaxpr, constants, values, policy, kept, as_function):
    """Computes a jaxpr, equation by equation. What `policy` keeps is appended to `kept`."""
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *values]))

    def read(atom):
        return atom.val if hasattr(atom, "val") else known[atom]

    for equation in jaxpr.eqns:
        variables = list(dict.fromkeys(x for x in equation.invars if not hasattr(x, "val")))
        if equation.primitive.name in ("jit", "custom_jvp_call", "closed_call") \
                and saves_inside(policy, equation):
            inner = next(x for x in equation.params.values() if hasattr(x, "jaxpr"))
            found = evaluate(inner.jaxpr, inner.consts, list(map(read, equation.invars)),
                              policy, kept, as_function)
        else:
            # This equation alone, at its place.
            found = as_function(jaxpr.replace(
                constvars=[], invars=variables, outvars=list(equation.outvars),
                eqns=[equation]))(*map(read, variables))
            if is_saved(policy, equation):
                kept.extend(found)
        known.update(zip(equation.outvars, found))
    return list(map(read, jaxpr.outvars))
