"""What a step's StableHLO says about precision: read from a module in jaxlib's MLIR."""

import math
import re

from jax._src.lib.mlir import ir

from mpt._stablehlo import walk

HALF = ("bf16", "f16")
PRODUCTS = ("stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution")
# Ops that move elements, and the operands that hold them.
MOVES = {f"stablehlo.{name}": operands for name, operands in {
    "reshape": (0,), "transpose": (0,), "broadcast_in_dim": (0,), "slice": (0,), "reverse": (0,),
    "dynamic_slice": (0,), "dynamic_update_slice": (0, 1), "gather": (0,), "pad": (0, 1),
    "concatenate": None, "select": (1, 2), "optimization_barrier": None, "convert": (0,)}.items()}
ELEMENTWISE = {f"stablehlo.{name}" for name in (
    "add", "subtract", "multiply", "divide", "sqrt", "rsqrt", "power", "negate", "maximum",
    "minimum", "abs", "sign", "exponential", "log", "tanh", "logistic")} | {"chlo.square"}


def element(value):
    return str(ir.RankedTensorType(value.type).element_type)


def is_half(value):
    return element(value) in HALF


def is_float(value):
    return element(value) in HALF + ("f32", "f64")


def main_function(module):
    return next(op.operation for op in module.body.operations
                if op.operation.name == "func.func" and op.attributes["sym_name"].value == "main")


def interface(module):
    attributes = main_function(module).attributes
    return {name: str(attributes[name]) for name in ("function_type", "arg_attrs", "res_attrs")
            if name in attributes}


def products(module):
    return [op for op in walk(module.operation) if op.name in PRODUCTS]


def flops(op):
    """Two per multiply and add, for a product."""
    result, left, right = (math.prod(ir.RankedTensorType(value.type).shape)
                           for value in (op.results[0], *op.operands))
    if op.name == "stablehlo.convolution":
        kernel = ir.RankedTensorType(op.operands[1].type).shape
        layout = str(op.attributes["dimension_numbers"]).split("x")[1].split("]->")[0].strip("[")
        return 2 * result * right // kernel[layout.split(", ").index("o")]
    # left = B M K, right = B K N, result = B M N.
    batching = re.search(r"lhs_batching_dimensions = \[([^]]*)\]",
                         str(op.attributes["dot_dimension_numbers"]))
    shape = ir.RankedTensorType(op.operands[0].type).shape
    batch = math.prod(shape[int(i)] for i in batching[1].split(",")) if batching else 1
    return 2 * math.isqrt(result * left * right // batch)


def low_flops(module):
    """FLOPs of products with half operands, and of all, as written (loops count once)."""
    counts = [(flops(op), all(is_half(value) for value in op.operands)) for op in products(module)]
    return sum(count for count, low in counts if low), sum(count for count, _ in counts)


def float_converts(module):
    return [op for op in walk(module.operation)
            if op.name == "stablehlo.convert" and is_float(op.operands[0])
            and is_float(op.results[0])]


def product_values(module):
    """Distinct float operands and results of products."""
    values = {value for op in products(module) for value in (*op.operands, *op.results)}
    return [value for value in values if is_float(value)]


def definition(value):
    return value.owner.operation if hasattr(value.owner, "operation") else value.owner


def sources(value):
    """The values that `value` is moved from; None if `value` is computed where it is."""
    if isinstance(value.owner, ir.Block):
        argument = ir.BlockArgument(value)
        parent = value.owner.owner.operation
        if parent.name != "stablehlo.while":
            return []
        body = parent.regions[1].blocks[0]
        return [parent.operands[argument.arg_number],
                body.operations[len(body.operations) - 1].operands[argument.arg_number]]
    op = definition(value)
    number = ir.OpResult(value).result_number
    if op.name in ("stablehlo.while", "stablehlo.case", "stablehlo.if"):
        regions = op.regions if op.name != "stablehlo.while" else [op.regions[1]]
        ends = [region.blocks[0].operations[len(region.blocks[0].operations) - 1]
                for region in regions]
        start = [op.operands[number]] if op.name == "stablehlo.while" else []
        return start + [end.operands[number] for end in ends]
    if op.name == "stablehlo.optimization_barrier":
        return [op.operands[number]]
    if op.name in MOVES:
        which = MOVES[op.name]
        return [op.operands[i] for i in which] if which else list(op.operands)
    return None


def results_in_half(module):
    """Results of @main that somewhere on the way were, or were computed from, half values.

    Every result is followed back through ops that only move elements: neither these nor the
    op that computes it may hold a half value.
    """
    function = main_function(module)
    block = function.regions[0].blocks[0]
    found = []
    for number, result in enumerate(block.operations[len(block.operations) - 1].operands):
        stack, seen = [result], set()
        while stack:
            value = stack.pop()
            if value in seen or not is_float(value):
                continue
            seen.add(value)
            before = sources(value)
            values = [value]
            if before is None:
                op = definition(value)
                values += [operand for operand in op.operands if is_float(operand)]
            else:
                stack += before
            if any(is_half(v) for v in values):
                found.append(f"result {number}: {value}")
                break
    return found


def state_in_half(module):
    """Half values between a float argument of @main and a result, elementwise all the way.

    Such a value holds a parameter, a moment or a running statistic on its way from the old
    state to the new.
    """
    function = main_function(module)
    block = function.regions[0].blocks[0]
    carries = MOVES.keys() | ELEMENTWISE
    from_state = {value for value in block.arguments if is_float(value)}
    body = [op.operation for op in block.operations]
    for op in body:
        if op.name in carries and any(value in from_state for value in op.operands):
            from_state |= {value for value in op.results if is_float(value)}
    to_state = {value for value in body[-1].operands}
    for op in reversed(body):
        if op.name in carries and any(value in to_state for value in op.results):
            to_state |= set(op.operands)
    return [str(value) for value in from_state & to_state if is_half(value)]
