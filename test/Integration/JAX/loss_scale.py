"""A whole JAX training step in f16 with a loss scale, run by XLA.

    loss_scale.py --mpt-opt=PATH [--steps=60]

The step marks its loss and its gradients with composites, as mpt.jax.grad_seed and mpt.jax.gradients
do. Through --mpt-mark-stablehlo-step, --mpt-loss-scale, --mpt-autocast and --mpt-convert-to-stablehlo
it goes back into XLA and trains from a scale that is far too large, and with one batch that
overflows. Checks each step that is skipped, the scale by PyTorch's rule, written here again, and the
losses. Exits with 1 and says what failed.
"""

import argparse
import subprocess
import sys

from round_trip import Program, Report  # sets up JAX

import jax
import jax.numpy as jnp
import numpy as np

ROWS, INPUTS, WIDTH, OUTPUTS = 64, 16, 64, 4
INTERVAL = 20


@jax.custom_vjp
def grad_seed(loss):
    return loss


def backward(_, gradient):
    return (jax.lax.composite(lambda gradient: gradient, name="mpt.grad_seed")(gradient),)


grad_seed.defvjp(lambda loss: (loss, None), backward)


def mark(gradients):
    leaves, tree = jax.tree.flatten(gradients)
    composite = jax.lax.composite(lambda *leaves: list(leaves), name="mpt.gradients")
    return jax.tree.unflatten(tree, composite(*leaves))


def step(state, x, y):
    parameters, momentum, count = state

    def loss(p):
        h = jnp.tanh(x @ p["w1"] + p["b1"])
        # So small that without a scale f16 would lose the gradients.
        return grad_seed(1e-4 * ((h @ p["w2"] - y) ** 2).mean())

    value, gradients = jax.value_and_grad(loss)(parameters)
    gradients = mark(gradients)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + 1e4 * g, momentum, gradients)
    parameters = jax.tree.map(lambda p, m: p - 0.05 * m, parameters, momentum)
    return (parameters, momentum, count + 1), value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    report = Report()

    rng = np.random.default_rng(0)
    draw = lambda *shape: (rng.normal(size=shape) / shape[0] ** 0.5).astype(np.float32)
    parameters = {"w1": draw(INPUTS, WIDTH), "b1": np.zeros(WIDTH, np.float32),
                  "w2": draw(WIDTH, OUTPUTS)}
    state = parameters, jax.tree.map(np.zeros_like, parameters), np.int32(0)
    x = rng.normal(size=(ROWS, INPUTS)).astype(np.float32)
    y = np.sin(x[:, :OUTPUTS])

    lowered = jax.jit(step, donate_argnums=0).lower(state, x, y).compiler_ir("stablehlo")
    text = lowered.operation.get_asm(print_generic_op_form=True)

    def run(passes):
        return subprocess.run(
            [options.mpt_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic",
             f"--pass-pipeline=builtin.module({passes})"],
            input=text, stdout=subprocess.PIPE, text=True, check=True).stdout

    low = run(f"mpt-mark-stablehlo-step, mpt-loss-scale{{init-scale=1e12 growth-interval={INTERVAL}}}, "
              "mpt-autocast{type=f16 client=xla-cpu}, mpt-convert-to-stablehlo{function=main}")
    report("xf16>" in low and '"mpt.' not in low and " mpt." not in low, "the step is StableHLO in f16")
    program, plain = Program(low), Program(text)

    leaves = jax.device_put(jax.tree.leaves(state))
    kept = len(leaves)
    scaler = [jax.device_put(np.float32(1e12)), jax.device_put(np.int32(0))]
    # Each donates its own.
    reference = jax.device_put([np.array(leaf) for leaf in leaves])
    losses, exact, skipped, scales = [], [], [], []
    bad = options.steps // 2
    for number in range(options.steps):
        # One batch holds a number whose square f16 does not hold.
        rows = np.where(np.arange(ROWS)[:, None] == 0, 1e6, y) if number == bad else y
        batch = [jax.device_put(x), jax.device_put(rows.astype(np.float32))]
        scales.append(float(scaler[0]))
        before = [np.asarray(leaf).copy() for leaf in leaves]
        results = program(leaves + batch + scaler)
        leaves, loss, rest = results[:kept], results[kept], results[kept + 1:]
        # found_inf, the next scale and its count of good steps, the norm of the gradients.
        found_inf = next(bool(v) for v in rest if v.dtype == np.bool_)
        scaler = [next(v for v in rest if v.shape == () and v.dtype == np.float32),
                  next(v for v in rest if v.dtype == np.int32)]
        skipped.append(found_inf)
        losses.append(float(loss))
        if found_inf:
            report(all((np.asarray(a) == b).all() for a, b in zip(leaves, before)),
                   f"step {number} is skipped at scale {scales[-1]:g}, with every bit of the state")
        else:
            *reference, value = plain(reference + batch)
            exact.append(float(value))

    expected, good = 1e12, 0
    for number, bad_step in enumerate(skipped):
        report.failures += not np.float32(expected) == scales[number]
        good = 0 if bad_step else good + 1
        if bad_step:
            expected = float(np.float32(expected * 0.5))
        elif good == INTERVAL:
            expected, good = float(np.float32(expected * 2)), 0
    print(f"scale: {scales[0]:g} .. {min(scales):g} .. {scales[-1]:g}; "
          f"{sum(skipped)} of {len(skipped)} steps are skipped")
    report(skipped[0] and skipped[bad], "the first step and the one with a bad batch are skipped")
    report(sum(skipped) < options.steps // 2, "most are not")
    taken = [loss for loss, bad_step in zip(losses, skipped) if not bad_step]
    report(taken[-1] < 0.3 * taken[0], f"the step learns: {taken[0]:.3g} .. {taken[-1]:.3g}")
    report(np.allclose(taken, exact, rtol=0.03), "its losses are those of f32 within 3 %")
    report(int(leaves[-1]) == len(taken), "skipped steps do not count")
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
