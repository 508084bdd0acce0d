"""How far MPT and XLA in f32 are from XLA in f64, and how much of it is ReLUs' signs.

    check_signs.py BUILD [FILE=STATE..] [--steps=20]

FILE holds a step in generic form, whose first STATE arguments are updated by its first STATE
results and whose last result is the loss; without one, a small ResNet is lowered here.

A number near 0 may have one sign in f32 and another in f64, or in two sums of another order.
ReLU's gradient is then another, by no small part, and networks with batch norm go apart. So
the step runs twice: as it is, and with the results of its comparisons of tensors (ReLUs')
taken from the run in f64. What remains in the second is the rounding of sums.
"""
import argparse
import os
import re
import struct
import sys

import numpy

import programs
import jax

import check_steps
from mpt._stablehlo import inline_calls

COMPARE = re.compile(r'^ *(%\S+) = "stablehlo\.compare"\(.*comparison_direction GT.*'
                     r'-> (tensor<\d+x\d+x[\dx]*i1>).*$', re.M)


def widen(text):
    """The same step in f64."""
    def number(match):
        value, = struct.unpack(">f", bytes.fromhex(match[1]))
        return "dense<0x" + struct.pack(">d", value).hex().upper() + "> : tensor<f32>"

    def numbers(match):
        values = numpy.frombuffer(bytes.fromhex(match[1]), "<f4").astype("<f8")
        return 'dense<"0x' + values.tobytes().hex().upper() + '"> : tensor<' + match[2] + "f32>"

    text = re.sub(r"dense<0x([0-9A-Fa-f]{8})> : tensor<f32>", number, text)
    text = re.sub(r'dense<"0x([0-9A-Fa-f]+)"> : tensor<([\dx]*)f32>', numbers, text)
    return re.sub(r"\bf32\b|(?<=x)f32\b", "f64", text)


def add_types(text, types, where):
    """The signature of @main with more inputs or results of `types`."""
    signature = re.search(r"function_type = \((.*?)\) -> \(?(.*?)\)?(?=, res_attrs|, sym_name)", text)
    inputs, results = signature[1], signature[2]
    if where == "inputs":
        inputs += "".join(", " + each for each in types)
    else:
        results += "".join(", " + each for each in types)
    text = (text[:signature.start()] + f"function_type = ({inputs}) -> ({results})" +
            text[signature.end():])
    return re.sub(r'(arg|res)_attrs = \[(?:"[^"]*"|[^"\]])*\](, )?', "", text)


def tell(text):
    """The step whose comparisons are results, too."""
    found = COMPARE.findall(text)
    names, types = zip(*found)
    head, tail = text.rsplit('"func.return"(', 1)
    operands, rest = tail.split(") : (", 1)
    text = (f'{head}"func.return"({operands}, {", ".join(names)}) : '
            f'({", ".join(types)}, {rest}')
    # Types in the order of the operands.
    kept, end = rest.split(") -> ()", 1)
    text = (f'{head}"func.return"({operands}, {", ".join(names)}) : '
            f'({kept}, {", ".join(types)}) -> (){end}')
    return add_types(text, types, "results")


def take(text):
    """The step whose comparisons are arguments."""
    found = COMPARE.findall(text)
    text = COMPARE.sub("", text)
    block = re.search(r"\^bb0\((.*?)\):", text)
    more = "".join(f", {name}: {type}" for name, type in found)
    text = text[:block.end(1)] + more + text[block.end(1):]
    return add_types(text, [type for _, type in found], "inputs")


def small_resnet():
    """The generic text of a step and the number of its arguments that are state."""
    import jax.numpy as jnp
    from jax import lax
    widths = (3, 8, 16, 16)

    def norm(h, scale):
        mean, variance = h.mean((0, 1, 2)), h.var((0, 1, 2))
        return (h - mean) * lax.rsqrt(variance + 1e-5) * scale

    def conv(h, w, stride=1):
        return lax.conv_general_dilated(h, w, (stride, stride), "SAME",
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(params, x, y):
        for block in params["blocks"]:
            z = jax.nn.relu(norm(conv(x, block["a"], 2), block["g"]))
            z = norm(conv(z, block["b"]), block["h"])
            x = jax.nn.relu(z + conv(x, block["skip"], 2))
        logits = x.mean((1, 2)) @ params["head"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

    def step(state, x, y):
        params, slots = state
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        slots = jax.tree.map(lambda m, g: 0.9 * m + g, slots, gradients)
        return (jax.tree.map(lambda p, m: p - 0.05 * m, params, slots), slots), value

    params = {"blocks": [{
        "a": numpy.zeros((3, 3, i, o), "f"), "b": numpy.zeros((3, 3, o, o), "f"),
        "skip": numpy.zeros((1, 1, i, o), "f"), "g": numpy.zeros(o, "f"),
        "h": numpy.zeros(o, "f")} for i, o in zip(widths, widths[1:])],
        "head": numpy.zeros((widths[-1], 5), "f")}
    state = params, params
    leaves, tree = jax.tree.flatten(state)

    def flat(*values):
        state, loss = step(jax.tree.unflatten(tree, values[:len(leaves)]), *values[len(leaves):])
        return (*jax.tree.leaves(state), loss)

    module = jax.jit(flat).lower(*leaves, numpy.zeros((8, 16, 16, 3), "f"),
                                 numpy.zeros(8, "i")).compiler_ir("stablehlo")
    with module.context, programs.ir.Location.unknown():
        inline_calls(module, programs.ir)
        text = module.operation.get_asm(print_generic_op_form=True)
    values = []
    rng = numpy.random.default_rng(0)
    for index, leaf in enumerate(leaves):
        is_slot = index >= len(leaves) // 2
        value = rng.normal(size=leaf.shape) * (2 / max(numpy.prod(leaf.shape[:-1]), 1)) ** 0.5
        value = numpy.ones(leaf.shape) if leaf.ndim == 1 else value
        values.append((value * (not is_slot)).astype("f"))
    return text, len(leaves), values


def inlined(path):
    module_text = open(path, encoding="utf-8").read()
    with programs.mlir.make_ir_context(), programs.ir.Location.unknown():
        module = programs.ir.Module.parse(module_text)
        inline_calls(module, programs.ir)
        return module.operation.get_asm(print_generic_op_form=True)


def wide(values):
    return [value.astype("d") if value.dtype == numpy.float32 else value for value in values]


def distance(values, exact):
    """The norm of the difference of all floats, relative to that of `exact`."""
    pairs = [(numpy.asarray(a, "d"), numpy.asarray(b)) for a, b in zip(values, exact)
             if numpy.asarray(b).dtype.kind == "f"]
    gap = sum(numpy.sum((a - b) ** 2) for a, b in pairs)
    return (gap / sum(numpy.sum(b ** 2) for _, b in pairs)) ** 0.5


def check(name, text, state, first, batch, steps):
    convert = lambda source: programs.Program(programs.convert(source, options=f"state={state}"))
    exact, mine, theirs = programs.XLA(widen(tell(text))), convert(text), programs.XLA(text)
    mine_told, theirs_told = convert(take(text)), programs.XLA(take(text))
    runs = {"MPT": mine, "XLA": theirs, "MPT, equal signs": mine_told, "XLA, equal signs": theirs_told}
    states = {run: first for run in runs}
    reference = wide(first)
    for step in range(steps):
        data = batch(step)
        results = exact(*reference, *wide(data))
        reference, loss = results[:state], results[state]
        signs = results[state + 1:]
        for run, program in runs.items():
            told = signs if "signs" in run else []
            *states[run], _ = program(*states[run], *data, *told)
    found = {run: distance(values, reference) for run, values in states.items()}
    print(f"{name}: loss {float(loss):.6g}; state after {steps} steps beside f64: " +
          ", ".join(f"{run} {value:.1e}" for run, value in found.items()), flush=True)
    # A sum in f32 of n numbers is off by some sqrt(n) 2^-24, and a step by some such sums.
    bound = 1e-5 * max(steps, 1)
    rounds = found["MPT, equal signs"] < bound
    alike = found["MPT"] < 20 * max(found["XLA"], bound)
    print(f"{name}: with equal signs {'within rounding' if rounds else 'NOT WITHIN ROUNDING'}, "
          f"without {'as near as XLA' if alike else 'FURTHER THAN XLA'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    programs.use(arguments.build)
    jax.config.update("jax_enable_x64", False)
    sources = []
    for item in arguments.files:
        path, _, state = item.rpartition("=")
        text, state = inlined(path), int(state)
        source = open(path, encoding="utf-8").read()
        sources.append((path.split("/")[-1].removesuffix(".mlir"), text, state,
                        check_steps.first_values(source, state, 0)[:state],
                        lambda n, s=source, k=state: check_steps.first_values(s, k, n + 1)[k:]))
    if not sources:
        text, state, first = small_resnet()

        def batch(number):
            rng = numpy.random.default_rng(number + 1)
            y = rng.integers(5, size=8).astype("i")
            return [(rng.normal(size=(8, 16, 16, 3)) + 0.3 * y[:, None, None, None]).astype("f"), y]
        sources.append(("resnet", text, state, first, batch))
    jax.config.update("jax_enable_x64", True)
    for source in sources:
        check(*source, arguments.steps)


if __name__ == "__main__":
    main()
