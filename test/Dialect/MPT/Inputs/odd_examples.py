#!/usr/bin/env python3
# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes odd modules from good ones: each type becomes one of another rank, with
open, empty or enormous sizes or of another kind, and each integer a negative,
zero or enormous one.

    odd_examples.py good.mlir odd.mlir odd-losses.mlir

In odd-losses.mlir the float operands are parameters, and the sum of the first
result is the loss. Modules are separated as --split-input-file wants them.
Most of them do not verify; none may crash anything.
"""

import re
import sys

SEPARATOR = "\n// -----\n"
ODD_TYPES = [
    "<f32>",
    "<*xf32>",
    "<0xf32>",
    "<1x1x1x1xf64>",
    "<4x0xbf16>",
    "<?x?xf32>",
    "<2x3x?x0xf16>",
    "<9223372036854775807x4xf32>",
    "<i32>",
    "<4xi1>",
]
ODD_INTEGERS = ["-9223372036854775808", "-1", "0", "9223372036854775807"]
FLOAT_TENSOR = re.compile(r"tensor<([0-9?x]*x)?(f64|f32|f16|bf16|f8E4M3FN|f8E5M2)>")


def mutate(module):
    for kind in ("tensor", "memref"):
        for name in sorted(set(re.findall(kind + "<[^>]*>", module))):
            for odd in ODD_TYPES:
                yield module.replace(name, kind + odd)
    for odd in ODD_TYPES:
        yield re.sub("tensor<[^>]*>", "tensor" + odd, module)
    for array in re.finditer(r"array<i64: ([^>]*)>", module):
        values = array.group(1).split(", ")
        lists = [[]] + [
            values[:i] + [odd] + values[i + 1 :]
            for i in range(len(values))
            for odd in ODD_INTEGERS
        ]
        for odd in lists:
            text = "array<i64: " + ", ".join(odd) + ">" if odd else "array<i64>"
            yield module[: array.start()] + text + module[array.end() :]
    for number in re.finditer(r"-?\d+(?= : i64)", module):
        for odd in ODD_INTEGERS:
            yield module[: number.start()] + odd + module[number.end() :]


def differentiate(module):
    """A loss from an example, or None if it has no float operand or result."""
    parts = re.search(r"@example\((.*?)\) \{\n(.*)\nreturn", module, re.DOTALL)
    if not parts:
        return None
    arguments, body = parts.groups()
    result = re.search(r"(%\w+)(?:, %\w+)*(:\d+)? = ", body)
    types = re.search(r"(?:->|:)\s*\(?(tensor<[^>]*>)[^>:]*(?:>[^>:]*)*$", body)
    loss_type = types and FLOAT_TENSOR.fullmatch(types.group(1))
    if not result or not loss_type or not FLOAT_TENSOR.search(arguments):
        return None
    value = result.group(1) + ("#0" if result.group(2) else "")
    rank = (loss_type.group(1) or "").count("x")
    axes = ": " + ", ".join(map(str, range(rank))) if rank else ""
    scalar = f"tensor<{loss_type.group(2)}>"
    names = iter(range(100))
    parameters = FLOAT_TENSOR.sub(
        lambda match: f'{match.group(0)} {{mpt.name = "p{next(names)}", '
        'mpt.role = "parameter"}',
        arguments,
    )
    return (
        f'func.func @loss({parameters}) -> ({scalar} {{mpt.name = "loss"}}) {{\n{body}\n'
        f"%loss = mpt.reduce {value} {{kind = #mpt.reduce_kind<sum>, "
        f"axes = array<i64{axes}>}} : ({loss_type.group(0)}) -> {scalar}\n"
        f"return %loss : {scalar}\n}}"
    )


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        good = file.read().split(SEPARATOR)
    odd = sorted({text for module in good for text in mutate(module)})
    losses = [text for text in map(differentiate, good + odd) if text]
    for path, modules in zip(sys.argv[2:], (odd, losses)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(SEPARATOR.join(modules))
    print(f"{len(odd)} odd modules, {len(losses)} losses")


if __name__ == "__main__":
    main()
