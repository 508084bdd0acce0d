# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StableHLO in jaxlib's MLIR."""
from __future__ import annotations


MOST_INLINED = 1 << 20


def walk(operation):
    """All ops in `operation`, in order."""
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation
                yield from walk(op.operation)


def inline_calls(module, ir, names=("func.call",)) -> None:
    """Replaces each call, of the ops of these names, by the body of its function: MLIR verifies
    no call in an op that it does not know. ValueError without @main, and where calls do not end, or become too many."""
    functions = {ir.StringAttr(op.attributes["sym_name"]).value: op.operation
                 for op in module.body.operations if op.operation.name == "func.func"}
    if "main" not in functions:
        raise ValueError("expected a function @main, whose calls to inline")
    # What a composite computes stays beside it.
    kept, moved = ["main"], 0
    for kept_name in kept:
        function = functions[kept_name]
        while calls := [op for op in walk(function) if op.name in names]:
            for call in calls:
                symbol = "callee" if call.name == "func.call" else "decomposition"
                callee = functions[ir.FlatSymbolRefAttr(call.attributes[symbol]).value]
                clone = callee.clone(ip=ir.InsertionPoint.at_block_begin(module.body))
                block = clone.regions[0].blocks[0]
                for argument, operand in zip(block.arguments, call.operands):
                    argument.replace_all_uses_with(operand)
                body = [op.operation for op in block.operations]
                moved += len(body)
                if moved > MOST_INLINED:
                    raise ValueError(f"calls become more than {MOST_INLINED} ops, or never end")
                for op in body[:-1]:
                    op.move_before(call)
                for result, value in zip(call.results, body[-1].operands):
                    result.replace_all_uses_with(value)
                call.erase()
                clone.erase()
        for op in walk(function):
            if op.name == "stablehlo.composite":
                name = ir.FlatSymbolRefAttr(op.attributes["decomposition"]).value
                if name not in kept:
                    kept.append(name)
    for name, function in functions.items():
        if name not in kept:
            function.erase()
