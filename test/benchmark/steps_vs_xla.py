"""Training steps on MPT's CPU and in XLA, and the time to convert them.

    steps_vs_xla.py BUILD [--files FILE=STATE..] [--networks NAME..] [--rounds 5] [--seconds 1]
        [--threads=1]
    steps_vs_xla.py BUILD --conversion

files: whole steps in generic StableHLO, whose first STATE arguments are updated by its first
STATE results. networks: forward losses of flax_models.py, which MPT differentiates and trains
with AdamW in f32 and bf16, beside JAX's value_and_grad and optax's AdamW in f32, jitted with
the state donated. Processor time of one thread, in turns; the figures are the least of all
rounds. With --threads=2 or more, which needs an idle machine, they are elapsed times, and XLA
takes as many threads as there are CPUs. Needs jax, flax and optax from PyPI.

conversion: processor time of --mpt-convert-stablehlo for GPTs of flax with more and more layers,
in microseconds for each op, without parsing and printing.
"""

import argparse
import os
import re
import resource
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test/Import/StableHLO/Inputs"))

import programs  # before jax

if next((a for a in sys.argv if a.startswith("--threads")), "--threads=1") == "--threads=1":
    os.environ["XLA_FLAGS"] += " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import numpy
import optax

import check_steps
import flax_models

STEP = ("--mpt-autodiff", "--mpt-train-step=optimizer=adamw", "--mpt-master-weights",
        "--mpt-validate-loss-scale")


def compare(name, candidates, rounds, seconds, clock):
    """Prints the least ms of each, and XLA's divided by it."""
    least = {}
    for _ in range(rounds):
        for key, run in candidates.items():
            run()
            start, count = clock(), 0
            while clock() - start < seconds or count < 2:
                begin = clock()
                run()
                least[key] = min(least.get(key, 1e9), clock() - begin)
                count += 1
    line = ", ".join(f"{key} {1e3 * value:.2f} ms" +
                     ("" if key == "XLA" else f" ({least['XLA'] / value:.2f} times as fast)")
                     for key, value in least.items())
    print(f"{name}: {line}", flush=True)


def mine(text, values, threads):
    program = programs.Program(text, threads=threads)
    for argument, value in values.items():
        program.write(argument, value)
    return lambda: program.call("run")


def file_step(item, threads):
    path, _, state = item.rpartition("=")
    text = open(path, encoding="utf-8").read()
    converted = programs.convert(text, options=f"state={state}")
    values = check_steps.first_values(text, int(state), 0)
    # Donated arguments would be gone after one run.
    kept = re.sub(r'arg_attrs = \[(?:"[^"]*"|[^"\]])*\](, )?', "", text)
    theirs = programs.XLA(kept).executable
    leaves = [jax.device_put(value) for value in values]

    def run():
        for shards in theirs.execute_sharded(leaves).disassemble_into_single_device_arrays():
            shards[0].block_until_ready()

    names = re.findall(r'mpt\.name = "([^"]*)"',
                       re.search(r"func\.func @.*", converted)[0].split(") -> ")[0])
    return path.split("/")[-1], {
        "XLA": run, "MPT": mine(converted, dict(zip(names, values)), threads)}


def network_step(name, threads):
    loss, params, batch = flax_models.loss_of(name)
    text = programs.lower(loss, params, *batch)
    values = {}
    for low in (), ("--mpt-autocast=type=bf16",):
        converted = programs.convert(text, *STEP, *low)
        names = re.findall(r'mpt\.name = "([^"]*)"',
                           re.search(r"func\.func @.*", converted)[0].split(") -> ")[0])
        arrays = dict(zip(names, jax.tree.leaves(params)))
        arrays |= {"x": batch[0], "y": batch[1]}
        if "lr" in names:
            arrays["lr"] = numpy.float32(1e-4)
        values["MPT bf16" if low else "MPT f32"] = mine(converted, arrays, threads)
    optimizer = optax.adamw(1e-4)
    state = jax.device_put((params, optimizer.init(params)))
    data = jax.device_put(batch)

    def step(state, x, y):
        params, slots = state
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        updates, slots = optimizer.update(gradients, slots, params)
        return (optax.apply_updates(params, updates), slots), value

    step = jax.jit(step, donate_argnums=0)

    def run():
        nonlocal state
        state, value = step(state, *data)
        value.block_until_ready()

    return name, {"XLA": run, **values}


def conversion():
    for layers in (2, 4, 8, 16):
        model = flax_models.GPT(layers=layers, width=32, vocabulary=64, positions=16)
        loss, params, batch = flax_models.trained(model, flax_models.words(64, 2, 16), 64)
        text = programs.lower(jax.value_and_grad(loss), params, *batch)
        ops = text.count('"stablehlo.') + text.count('"chlo.')
        least = 1e9
        for _ in range(5):
            begin, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            report = programs.subprocess.run(
                [os.path.join(programs.tools, "mpt-opt"), "-", "--allow-unregistered-dialect",
                 "--mpt-convert-stablehlo", "--mlir-disable-threading", "--mlir-timing", "--mlir-timing-display=list",
                 "-o", os.devnull], input=text, text=True, capture_output=True, check=True).stderr
            found = re.search(r"([\d.]+) \([^)]*\)  ConvertStableHLOPass", report)
            # The part of the clock that the process ran, on a busy machine.
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            part = (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime) / (
                time.perf_counter() - begin)
            least = min(least, float(found[1]) * min(part, 1))
        print(f"{layers} layers: {ops} ops, {1e6 * least / ops:.1f} us an op", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--files", nargs="*", default=[])
    parser.add_argument("--networks", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--conversion", action="store_true")
    options = parser.parse_args()
    programs.use(options.build)
    for make, names in (file_step, options.files), (network_step, options.networks):
        for name in names:
            compare(*make(name, options.threads), options.rounds, options.seconds,
                    time.perf_counter if options.threads > 1 else time.process_time)
    if options.conversion:
        conversion()


if __name__ == "__main__":
    main()
