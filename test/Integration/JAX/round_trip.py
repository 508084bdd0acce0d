"""A JAX training step through mpt-opt --mpt-autocast and back into XLA.

    round_trip.py STEP --mpt-opt=PATH [--type=bf16] [--steps=100] [--options="..."]

Lowers STEP of train_steps.py to generic StableHLO text with calls inlined, runs
the pass, parses the result with jaxlib's MLIR, verifies and compiles it for the
CPU with every convert honoured, trains, and compares with the step as it was
and with the step with converts around its products only. Every comparison is
computed here; exits with 1 and says what failed.
"""

import argparse
import os
import subprocess
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = ("--xla_allow_excess_precision=false "
                           "--xla_backend_optimization_level=0 "  # compiles in a third of the time
                           "--xla_cpu_multi_thread_eigen=false")

import jax
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

import module_checks as checks
import train_steps
from mpt._stablehlo import inline_calls

# How much farther from f32 than converts around products alone a step may be: the pass
# also rounds what lies between products.
GAP_FACTOR = 4.0
SEEDS = 5
TAIL = 10  # losses whose mean is "the final loss"


def lower(step, state, batch):
    leaves, tree = jax.tree.flatten((state, batch))
    flat = jax.jit(lambda *values: jax.tree.leaves(step(*jax.tree.unflatten(tree, values))),
                   keep_unused=True)
    module = flat.lower(*leaves).compiler_ir("stablehlo")
    with module.context, ir.Location.unknown():
        inline_calls(module, ir)
        module.operation.verify()
        return module.operation.get_asm(print_generic_op_form=True)


def converts_around_products(text, half):
    """The step with its products, and nothing else, in `half`."""
    module = ir.Module.parse(text)
    low = {"bf16": ir.BF16Type, "f16": ir.F16Type}[half].get()

    def retyped(value, kind):
        return ir.RankedTensorType.get(ir.RankedTensorType(value.type).shape, kind)

    for op in checks.products(module):
        at = ir.InsertionPoint(op)
        operands = [ir.Operation.create("stablehlo.convert", [retyped(value, low)], [value],
                                        ip=at).result for value in op.operands]
        product = ir.Operation.create(
            op.name, [retyped(op.results[0], low)], operands,
            {name: op.attributes[name] for name in op.attributes}, ip=at)
        widened = ir.Operation.create("stablehlo.convert", [op.results[0].type],
                                      [product.result], ip=at)
        op.results[0].replace_all_uses_with(widened.result)
        op.erase()
    module.operation.verify()
    return str(module.operation.get_asm(print_generic_op_form=True))


class Program:
    """A step's text, compiled by XLA for the CPU."""

    def __init__(self, text):
        with mlir.make_ir_context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            device = jax.devices("cpu")[0]
            self.executable = device.client.compile_and_load(
                module, xla_client.DeviceList((device,)), xla_client.CompileOptions())

    def __call__(self, leaves):
        results = self.executable.execute_sharded(leaves)
        return [shards[0] for shards in results.disassemble_into_single_device_arrays()]

    def train(self, state, batches):
        """The losses, and the state before each step and after the last."""
        states, losses = [jax.device_put(jax.tree.leaves(state))], []
        for batch in batches:
            *state, loss = self(states[-1] + batch)
            losses.append(loss)
            states.append(state)
        return np.array([float(loss) for loss in losses]), states


def update_error(program, states, batches):
    """Of single steps from `states`, a reference's run: |update - its update| / |its update|."""
    errors = []
    for before, batch, after in list(zip(states, batches, states[1:]))[1::len(batches) // 10]:
        difference = size = 0.0
        for value, expected, old in zip(program(before + batch), after, before):
            if expected.dtype == np.float32 and expected.ndim:
                old, expected = np.asarray(old, np.float64), np.asarray(expected, np.float64)
                difference += np.sum((np.asarray(value) - expected) ** 2)
                size += np.sum((expected - old) ** 2)
        errors.append((difference / size) ** 0.5)
    return np.mean(errors)


class Report:
    def __init__(self):
        self.failures = 0

    def __call__(self, holds, text):
        print(("ok      " if holds else "FAILED  ") + text, flush=True)
        self.failures += not holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=train_steps.STEPS)
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--type", choices=checks.HALF, default="bf16")
    parser.add_argument("--steps", type=int, default=100)
    # XLA's CPU client refuses some bf16 x bf16 -> f32 products when they run.
    parser.add_argument("--options", default="mixed-results=false")
    options = parser.parse_args()
    example = train_steps.STEPS[options.step]()
    text = lower(example.step, example.state(0), example.batch(0, 0))

    def autocast(text):
        return subprocess.run(
            [options.mpt_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic",
             f"--mpt-autocast=type={options.type} {options.options}"],
            input=text, stdout=subprocess.PIPE, text=True, check=True).stdout

    low_text = autocast(text)
    report = Report()
    report(autocast(low_text) == low_text, "a second run changes nothing")
    with mlir.make_ir_context(), ir.Location.unknown():
        before, after = ir.Module.parse(text), ir.Module.parse(low_text)
        after.operation.verify()
        around_text = converts_around_products(text, options.type)
        report(checks.interface(before) == checks.interface(after), "the interface is unchanged")
        low, total = checks.low_flops(after)
        report(low >= 0.9 * total, f"{low} of {total} FLOPs of products in {options.type}")
        converts = len(checks.float_converts(after)) - len(checks.float_converts(before))
        bound = len(checks.product_values(before))
        report(0 < converts < bound,
               f"{converts} converts; {bound} distinct operands and results of products")
        half = checks.results_in_half(after)
        report(not half, "no result is computed in half" + "".join(f"\n    {v}" for v in half))
        half = checks.state_in_half(after)
        report(not half, "no state passes through half" + "".join(f"\n    {v}" for v in half))

    names = ("f32", "autocast", "around")
    programs = dict(zip(names, map(Program, (text, low_text, around_text))))
    batches = [[jax.device_put(jax.tree.leaves(example.batch(seed, number)))
                for number in range(options.steps)] for seed in range(SEEDS)]
    losses = {name: [program.train(example.state(seed), batches[seed])[0]
                     for seed in range(SEEDS)] for name, program in programs.items()}
    final = {name: [run[-TAIL:].mean() for run in runs] for name, runs in losses.items()}
    report(np.isfinite(losses["autocast"]).all(), "every loss is finite")
    report(max(final["f32"]) < 0.7 * np.mean([run[0] for run in losses["f32"]]),
           "the step in f32 learns: " + ", ".join(f"{value:.4g}" for value in final["f32"]))
    mean = np.mean(final["autocast"])
    report(min(final["f32"]) <= mean <= max(final["f32"]),
           f"final loss {mean:.4g}, within f32's over {SEEDS} seeds: "
           f"{min(final['f32']):.4g} to {max(final['f32']):.4g}")
    gap = {name: np.mean([np.abs(a - b) for a, b in zip(losses[name], losses["f32"])])
           for name in ("autocast", "around")}
    report(gap["autocast"] <= GAP_FACTOR * gap["around"],
           f"mean gap per step to f32: {gap['autocast']:.3g}; converts around products: "
           f"{gap['around']:.3g}")
    _, states = programs["f32"].train(example.state(0), batches[0])
    error = {name: update_error(programs[name], states, batches[0])
             for name in ("autocast", "around")}
    report(error["autocast"] <= GAP_FACTOR * error["around"],
           f"relative error of one update: {error['autocast']:.3g}; converts around products: "
           f"{error['around']:.3g}")
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
