"""The checks of module_checks.py find what they are for: steps made wrong on purpose.

    checks_fail.py

A step whose every float op is in bf16, with converts at @main's arguments and results, has the
right interface and trains most nets; every float result must be found. One whose update alone
is in bf16 too.
"""

import sys

from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir

import module_checks as checks
import round_trip
import train_steps
from mpt._stablehlo import walk


def in_half(text, chosen):
    """The step with the chosen ops of @main's top level (and what they hold) in bf16."""
    module = ir.Module.parse(text)
    half = ir.BF16Type.get()

    def retyped(value):
        return ir.RankedTensorType.get(ir.RankedTensorType(value.type).shape, half)

    for op in [op.operation for op in checks.main_function(module).regions[0].blocks[0]]:
        if not chosen(op):
            continue
        for i, operand in enumerate(op.operands):
            if checks.element(operand) == "f32":
                op.operands[i] = ir.Operation.create("stablehlo.convert", [retyped(operand)],
                                                     [operand], ip=ir.InsertionPoint(op)).result
        inner = [value for o in walk(op) for value in o.results]
        inner += [value for region in op.regions for block in region for value in block.arguments]
        for value in inner:
            if checks.element(value) == "f32":
                value.set_type(retyped(value))
        for result in op.results:
            if checks.element(result) == "f32":
                wide = result.type
                result.set_type(retyped(result))
                convert = ir.Operation.create("stablehlo.convert", [wide], [result],
                                              ip=ir.InsertionPoint.after(op))
                result.replace_all_uses_except(convert.result, [convert])
    module.operation.verify()
    return module


def main():
    example = train_steps.mlp()
    text = round_trip.lower(example.step, example.state(0), example.batch(0, 0))
    ends = ("func.return", "stablehlo.constant")
    with mlir.make_ir_context(), ir.Location.unknown():
        step = ir.Module.parse(text)
        operations = checks.main_function(step).regions[0].blocks[0].operations
        returned = operations[len(operations) - 1].operands
        results = sum(checks.is_float(value) for value in returned)
        assert not checks.results_in_half(step) and not checks.state_in_half(step)
        everything = in_half(text, lambda op: op.name not in ends)
        assert checks.interface(everything) == checks.interface(step)
        assert len(checks.results_in_half(everything)) == results
        assert checks.state_in_half(everything)
        # Moments decay in half; the sum that is returned is in f32.
        decay = in_half(text, lambda op: op.name == "stablehlo.multiply")
        assert checks.state_in_half(decay)
        products = in_half(text, lambda op: op.name in checks.PRODUCTS)
        assert not checks.results_in_half(products) and not checks.state_in_half(products)
        low, total = checks.low_flops(products)
        assert low == total > 0
    print("ok")


if __name__ == "__main__":
    sys.exit(main())
