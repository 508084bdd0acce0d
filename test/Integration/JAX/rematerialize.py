"""A JAX training step through mpt-opt --mpt-rematerialize and back into XLA.

    rematerialize.py --mpt-opt=PATH [--budget=0.5x] [--client=xla-cpu]

Lowers a residual network's step to generic StableHLO, fits it into the budget with
clones behind stablehlo.optimization_barrier, or as --client plans it, compiles both by
XLA for the CPU, and compares what XLA says of its temporary memory, and the losses. Exits
with 1 and says what failed.
"""

import argparse
import os
import subprocess
import sys

from round_trip import Program, Report, lower  # sets up JAX

# XLA's CPU compiler expands barriers before it merges equal computations, and its
# scheduler for concurrency runs what it can at once, however much that keeps alive. A plan
# for this client needs no flags.
if not any(argument.startswith("--client") for argument in sys.argv):
    os.environ["XLA_FLAGS"] += (" --xla_disable_hlo_passes=cse"
                                " --xla_cpu_enable_concurrency_optimized_scheduler=false")

import jax
import jax.numpy as jnp
import numpy as np

LAYERS, WIDTH, ROWS = 16, 64, 2048


def normalize(x):
    mean = x.mean(axis=-1, keepdims=True)
    centered = x - mean
    return centered * jax.lax.rsqrt((centered * centered).mean(axis=-1, keepdims=True) + 1e-5)


def network(parameters, x):
    for p in parameters:
        x = x + jax.nn.gelu(normalize(x) @ p["up"]) @ p["down"]
    return x


def step(state, batch):
    def loss(parameters):
        return ((network(parameters, batch[0]) - batch[1]) ** 2).mean()

    value, gradients = jax.value_and_grad(loss)(state)
    return jax.tree.map(lambda p, g: p - 0.05 * g, state, gradients), value


def initial():
    rng = np.random.default_rng(0)
    scale = 0.5 / WIDTH ** 0.5
    return [{"up": (scale * rng.normal(size=(WIDTH, 2 * WIDTH))).astype(np.float32),
             "down": (scale * rng.normal(size=(2 * WIDTH, WIDTH))).astype(np.float32)}
            for _ in range(LAYERS)]


def batch(number):
    rng = np.random.default_rng(number)
    x = rng.normal(size=(ROWS, WIDTH)).astype(np.float32)
    return x, np.sin(x[:, ::-1].copy())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--budget", default="0.5x")
    parser.add_argument("--client")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    report = Report()
    text = lower(step, initial(), batch(0))

    def rematerialize(form):
        return subprocess.run(
            [options.mpt_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic",
             f"--mpt-rematerialize=budget={options.budget} {form}"],
            input=text, stdout=subprocess.PIPE, text=True, check=True).stdout

    form = (f"client={options.client}" if options.client else
            "barrier=stablehlo.optimization_barrier")
    texts = {"plain": text, "planned": rematerialize(form)}
    if not options.client:
        texts["marks"] = rematerialize("")
    programs = {name: Program(source) for name, source in texts.items()}
    temp = {name: program.executable.get_compiled_memory_stats().temp_size_in_bytes
            for name, program in programs.items()}
    print("XLA's temporary bytes: " + ", ".join(f"{name} {size:,}" for name, size in temp.items()))
    if not options.client:
        report(texts["marks"].count("mpt.remat") > 0, "ops are cloned")
    report(temp["planned"] < 0.75 * temp["plain"],
           f"temporary memory falls to {temp['planned'] / temp['plain']:.3f}")
    batches = [[jax.device_put(jax.tree.leaves(batch(number)))] for number in range(options.steps)]
    losses = {name: program.train(initial(), [b[0] for b in batches])[0]
              for name, program in programs.items()}
    report(losses["plain"][-1] < losses["plain"][0], f"the step learns: {losses['plain']}")
    # XLA may fuse what is computed again in another way.
    worst = np.abs(losses["planned"] / losses["plain"] - 1).max()
    report(worst == 0 if not options.client else worst < 1e-5, f"equal losses ({worst:.1e})")
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
