# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of JAX in mixed precision, run by XLA."""
from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable

import jax
import jax.export

from mpt import Module
from mpt._diagnostics import Error
from mpt._jax.mlir import import_mlir
from mpt._stablehlo import inline_calls, walk
from mpt._step import PRECISIONS


def _cast(exported: "jax.export.Exported", passes: str) -> "jax.export.Exported":
    """The same function, after `passes`."""
    ir, dialects = import_mlir()
    stablehlo = dialects[-1]
    context = ir.Context()
    for dialect in dialects:
        dialect.register_dialect(context)
    with context, ir.Location.unknown():
        module = stablehlo.deserialize_portable_artifact(
            context, exported.mlir_module_serialized)
        inline_calls(module, ir)
        low = Module(module.operation.get_asm(print_generic_op_form=True), exported.fun_name)
        low.run(passes)
        module = ir.Module.parse(str(low), context)
        # The pass's notes for a second run.
        for op in [module.operation, *walk(module.operation)]:
            for name in list(op.attributes):
                if name.startswith("mpt."):
                    del op.attributes[name]
        module.operation.verify()
        artifact = stablehlo.serialize_portable_artifact(
            module, stablehlo.get_current_version(), allow_other_dialects=True)
    changes = {"mlir_module_serialized": artifact}
    # Its gradient would be that of the function as it was.
    if any(field.name == "_get_vjp" for field in dataclasses.fields(exported)):
        changes["_get_vjp"] = None
    return dataclasses.replace(exported, **changes)


def autocast(function: Callable[..., Any], type: str = "bf16", *,
             options: str = "") -> Callable[..., Any]:
    """`function` with its heavy arithmetic in `type` (f16 or bf16), for XLA.

    function: a whole training step, or another function of JAX, jitted or not. It is traced
        once for each shape of its arguments. What it donates is donated, and arguments keep
        their shardings. All arguments are arrays, or trees of them. The result is not
        differentiable: have jax.grad inside.
    options: more options of mpt-autocast, as "policy=apex-O1" with type "f16".

    Parameters, moments and losses stay f32, as docs/Precision.md says. Set
    `XLA_FLAGS=--xla_allow_excess_precision=false`; otherwise XLA may leave out the rounding.
    """
    if type not in PRECISIONS[1:]:
        raise Error(f"type: expected {' or '.join(PRECISIONS[1:])}, found {type!r}")
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    compiled: "dict[Any, Any]" = {}

    def describe(leaf):
        aval = jax.typeof(leaf)
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype) \
            if isinstance(leaf, jax.core.Tracer) else leaf

    def get_key(leaf):
        aval = jax.typeof(leaf)
        return aval.shape, aval.dtype, aval.weak_type, getattr(leaf, "sharding", None)

    def compile(args, kwargs, tree):
        try:
            exported = jax.export.export(jitted)(*args, **kwargs)
        except NotImplementedError as error:  # Of jax.export.
            if "callback" not in str(error):
                raise
            raise Error(f"autocast: {error}: leave out what calls Python while the function "
                        "runs, as jax.debug.print, jax.debug.callback and jax.pure_callback "
                        "do") from error
        if exported.in_tree != tree:
            raise Error("autocast: expected arrays as arguments, found static ones; bind them "
                        "with functools.partial before jax.jit")
        client = "xla-gpu" if any(p != "cpu" for p in exported.platforms) else "xla-cpu"
        cast = _cast(exported, f"mpt-autocast{{type={type} client={client} {options}}}")
        lowered = jitted.lower(*args, **kwargs)
        infos = jax.tree.leaves(lowered.args_info,
                                is_leaf=lambda info: hasattr(info, "donated"))
        donated = [i for i, info in enumerate(infos) if info.donated]
        # Arguments that are not placed go where the function wants them.
        wanted = {}
        placed = max((len(leaf.sharding.device_set) for leaf in jax.tree.leaves((args, kwargs))
                      if isinstance(leaf, jax.Array)), default=0)
        if exported.nr_devices > max(placed, 1):
            shardings = lowered.compile().input_shardings
            wanted["in_shardings"] = tuple(tree.flatten_up_to(shardings))

        def call(*leaves):
            args, kwargs = jax.tree.unflatten(tree, leaves)
            return cast.call(*args, **kwargs)

        return jax.jit(call, donate_argnums=donated, **wanted)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        leaves, tree = jax.tree.flatten((args, kwargs))
        key = tree, tuple(get_key(leaf) for leaf in leaves)
        if key not in compiled:
            given = jax.tree.unflatten(tree, [describe(leaf) for leaf in leaves])
            compiled[key] = compile(*given, tree)
        return compiled[key](*leaves)

    return wrapper
