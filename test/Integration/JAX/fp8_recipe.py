"""A whole JAX training step with 8-bit matmuls, scaled by blocks, run by XLA.

    fp8_recipe.py --mpt-opt=PATH [--recipe=deepseek] [--steps=30]

Takes a perceptron's step with its optimizer from JAX through --mpt-convert-stablehlo, --mpt-fp8 and
--mpt-convert-to-stablehlo back into XLA, trains it, and compares its losses with those of the same
network in JAX whose matmuls quantize by a second implementation, written here from the papers. Prints
whether XLA's own text has the conversions in fused loops. Exits with 1 and says what failed.
"""

import argparse
import re
import subprocess
import sys

from round_trip import Program, Report  # sets up JAX

import jax
import jax.numpy as jnp
import numpy as np

ROWS, INPUTS, WIDTH, OUTPUTS = 96, 160, 256, 16
RATE, MOMENTUM = 0.05, 0.9
FORMAT, LARGEST = jnp.float8_e4m3fn, 448.0


def quantize(x, block, floor=-126):
    """Numbers of f8E4M3FN, and for each element the power of two that scales its block."""
    rows, columns = (min(b, s) for b, s in zip(block, x.shape))
    padded = jnp.pad(x, [(0, -x.shape[0] % rows), (0, -x.shape[1] % columns)])
    blocks = jnp.abs(padded).reshape(padded.shape[0] // rows, rows, -1, columns)
    amax = blocks.max(axis=(1, 3))
    # The least power of two with which nothing saturates.
    fraction, exponent = jnp.frexp(amax / LARGEST)
    scale = jnp.where(fraction == 0.5, exponent - 1, exponent)
    scale = jnp.where(amax == 0, 1.0, jnp.exp2(jnp.maximum(scale, floor).astype(jnp.float32)))
    scale = jnp.repeat(jnp.repeat(scale, rows, 0), columns, 1)[:x.shape[0], :x.shape[1]]
    return (x / scale).clip(-LARGEST, LARGEST).astype(FORMAT).astype(jnp.float32), scale


def near(x, block):
    q, scale = quantize(x, block)
    return q * scale


def make_linear(recipe):
    """x @ w with the recipe's rounding in all three matmuls; sums in f32."""
    if recipe == "deepseek":
        row, column, weight, weight_back = (1, 128), (128, 1), (128, 128), (128, 128)
    else:
        row, column, weight, weight_back = (1, 32), (32, 1), (32, 1), (1, 32)

    @jax.custom_vjp
    def linear(x, w):
        return near(x, row) @ near(w, weight)

    def forward(x, w):
        return linear(x, w), (near(x, row) if recipe == "deepseek" else x, w)

    def backward(saved, g):
        x, w = saved
        return near(g, row) @ near(w, weight_back).T, near(x, column).T @ near(g, column)

    linear.defvjp(forward, backward)
    return linear


def make_step(linear):
    def loss(p, x, y):
        h = jnp.tanh(linear(x, p["w1"]) + p["b1"])
        h = jnp.tanh(linear(h, p["w2"]) + p["b2"])
        return ((h @ p["head"] - y) ** 2).mean()

    def step(state, x, y):
        parameters, momentum = state
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        momentum = jax.tree.map(lambda m, g: MOMENTUM * m + g, momentum, gradients)
        return (jax.tree.map(lambda p, m: p - RATE * m, parameters, momentum), momentum), value

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--recipe", default="deepseek", choices=["deepseek", "mxfp8"])
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    report = Report()

    rng = np.random.default_rng(0)
    draw = lambda *shape: (rng.normal(size=shape) / shape[0] ** 0.5).astype(np.float32)
    parameters = {"w1": draw(INPUTS, WIDTH), "b1": np.zeros(WIDTH, np.float32),
                  "w2": draw(WIDTH, WIDTH), "b2": np.zeros(WIDTH, np.float32),
                  "head": draw(WIDTH, OUTPUTS)}
    state = parameters, jax.tree.map(np.zeros_like, parameters)
    x = rng.normal(size=(ROWS, INPUTS)).astype(np.float32)
    # An input far larger than the others costs the digits of its own blocks alone.
    x[:, 7] *= 100
    y = np.tanh(x[:, 20:20 + OUTPUTS])

    plain = make_step(lambda x, w: x @ w)
    module = jax.jit(plain, donate_argnums=0).lower(state, x, y).compiler_ir("stablehlo")
    count = len(parameters)
    text = subprocess.run(
        [options.mpt_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic",
         "--pass-pipeline=builtin.module("
         f"mpt-convert-stablehlo{{parameters={count}}}, "
         f"mpt-fp8{{recipe={options.recipe} function=main}}, "
         "mpt-convert-to-stablehlo{function=main})"],
        input=module.operation.get_asm(print_generic_op_form=True), stdout=subprocess.PIPE,
        text=True, check=True).stdout
    # Forward, input and weight gradient of the second layer; the first has no input gradient.
    report(text.count("f8E4M3FN") > 0, "the step has 8-bit floats")

    program = Program(text)
    second = jax.jit(make_step(make_linear(options.recipe)))
    plain = jax.jit(plain)

    def train(step):
        current, found = state, []
        for _ in range(options.steps):
            current, value = step(current, x, y)
            found.append(float(value))
        return found

    def run(current, x, y):
        # The state is donated.
        *leaves, loss = program([jax.device_put(np.array(leaf))
                                 for leaf in jax.tree.leaves((current, x, y))])
        return jax.tree.unflatten(jax.tree.structure(current), leaves), loss

    losses, expected, exact = train(run), train(second), train(plain)
    print(f"losses: {losses[0]:.6f} .. {losses[-1]:.6f}, by the second implementation "
          f"{expected[0]:.6f} .. {expected[-1]:.6f}, in f32 {exact[0]:.6f} .. {exact[-1]:.6f}")
    report(losses[-1] < 0.8 * losses[0], "the step learns")

    # Each step from one state, since steps go apart after the first number that falls on the other
    # side of a rounding. Sums in another order differ by 2^-20 or so; steps of 8 bits are 2^-4 wide.
    # So of the 10^5 numbers of a step few are rounded otherwise. One such number changes one of
    # 256 products, or one row of a gradient's 96 or more, by at most 2^-4.
    def update(before, after):
        return np.concatenate([np.ravel(np.asarray(new, "d") - np.asarray(old, "d")) for old, new in
                               zip(jax.tree.leaves(before[0]), jax.tree.leaves(after[0]))])

    current, worst, nearest = state, [0.0, 0.0], [np.inf, np.inf]
    for _ in range(options.steps):
        after, value = second(current, x, y)
        step = update(current, after)

        def distance(other):
            found, loss = other(current, x, y)
            gap = np.linalg.norm(update(current, found) - step) / np.linalg.norm(step)
            return abs(float(loss) / float(value) - 1), gap

        worst = [max(pair) for pair in zip(worst, distance(run))]
        nearest = [min(pair) for pair in zip(nearest, distance(plain))]
        current = after
    text = "{} from the second implementation's: losses by {:.1e}, updates by {:.1e}"
    report(worst[0] < 2.0 ** -4 / 256 and worst[1] < 4 * 2.0 ** -4 / 96,
           text.format("steps from equal states differ", *worst))
    report(nearest[1] > 4 * 2.0 ** -4 / 96,
           text.format("f32's steps differ at least", *nearest))

    hlo = program.executable.hlo_modules()[0].to_string()
    entry = hlo[hlo.index("ENTRY"):]
    fused = len(re.findall(r"f8e4m3fn\[[^]]*\]\S* convert\(", hlo[:hlo.index("ENTRY")]))
    alone = len(re.findall(r"f8e4m3fn\[[^]]*\]\S* convert\(", entry))
    print(f"conversions to 8 bits in XLA's text: {fused} in fused loops, {alone} by themselves")
    report(fused > 0 and alone == 0, "conversions are fused")
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
