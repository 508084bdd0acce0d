"""A JAX training step through mpt-opt --mpt-rematerialize and into IREE.

    rematerialize_iree.py --mpt-opt=PATH --work=FOLDER [--budget=0.5x]

Compiles the step of rematerialize.py as it is and as planned with client=iree, for the CPU, runs
both once, and compares the results and what IREE says of its peak of memory. Exits with 1 and says
what failed.
"""

import argparse
import os
import re
import subprocess
import sys

import rematerialize  # sets up JAX
from round_trip import Report, lower

import jax
import numpy as np

TOOLS = os.path.dirname(sys.executable)


def run(text, leaves, count, name):
    """The results, and the peak of bytes that IREE allocates."""
    with open(f"{name}.mlir", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([f"{TOOLS}/iree-compile", "--iree-input-type=stablehlo",
                    "--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host",
                    f"{name}.mlir", "-o", f"{name}.vmfb"], check=True)
    for index, leaf in enumerate(leaves):
        np.save(f"input{index}.npy", leaf)
    done = subprocess.run(
        [f"{TOOLS}/iree-run-module", "--device=local-sync", f"--module={name}.vmfb",
         "--function=main", "--print_statistics=true",
         *(f"--input=@input{index}.npy" for index in range(len(leaves))),
         *(f"--output=@{name}{index}.npy" for index in range(count))],
        capture_output=True, text=True, check=True)
    peak = int(re.search(r"DEVICE_LOCAL: *(\d+)B peak", done.stdout + done.stderr)[1])
    return [np.load(f"{name}{index}.npy") for index in range(count)], peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--budget", default="0.5x")
    options = parser.parse_args()
    rematerialize.LAYERS = 4
    os.chdir(options.work)
    state, batch = rematerialize.initial(), rematerialize.batch(0)
    text = lower(rematerialize.step, state, batch)
    planned = subprocess.run(
        [options.mpt_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic",
         f"--mpt-rematerialize=budget={options.budget} client=iree"],
        input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    report = Report()
    report("stablehlo.optimization_barrier" in planned, "segments are behind barriers")
    leaves, count = jax.tree.leaves((state, batch)), len(jax.tree.leaves(state)) + 1
    expected, before = run(text, leaves, count, "plain")
    found, after = run(planned, leaves, count, "planned")
    report(after < 0.75 * before, f"IREE's peak falls from {before:,} to {after:,} bytes")
    # What is computed again may be fused in another way: sums of at most 2,048 terms.
    worst = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, expected))
    report(worst < 2048 * 2.0 ** -24, f"equal results ({worst:.1e})")
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
