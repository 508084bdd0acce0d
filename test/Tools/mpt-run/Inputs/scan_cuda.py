"""Trains the networks that scan.py wrote on the stand-in for CUDA.

  scan_cuda.py WORK_DIRECTORY PRECISION LIBRARY NETWORK...

With hoist-from-scans=false all networks have the same losses and the same state, bit by bit.
With matmuls moved out of loops, whose sums have other orders, losses are the same but for
rounding, and the CPU's. Measuring each launch changes no bit of losses and state.
"""

import json
import os
import subprocess
import sys

import numpy as np

work, precision, library, *networks = sys.argv[1:]
os.chdir(work)


def run(name, file, *options):
    """The losses of 4 steps, and the state as bytes after its header."""
    label = f"{name}.{precision}.gpu"
    subprocess.run(["mpt-run", file, "--data", "x=x.npy", "--data", "y=y.npy", "--lr=0.05", "--steps=4",
                    f"--checkpoint={label}.safetensors", f"--metrics={label}.jsonl", "--progress=none",
                    *options], check=True, stdout=subprocess.DEVNULL)
    data = open(f"{label}.safetensors", "rb").read()
    losses = [json.loads(line)["loss"] for line in open(f"{label}.jsonl") if '"loss"' in line]
    return losses, data[8 + int.from_bytes(data[:8], "little"):]


def train(name, *options):
    return run(name, f"{name}.mlir", "--optimizer=adam", f"--precision={precision}", *options)


def train_in_loops(name):
    """With all matmuls where they are."""
    passes = ["mpt-autodiff{function=loss}", "mpt-train-step{optimizer=adam function=loss}"]
    if precision != "f32":
        passes += ["mpt-master-weights", *["mpt-loss-scale{type=f16 mode=dynamic}"][:precision == "f16"],
                   f"mpt-autocast{{type={precision}}}"]
    passes.append("mpt-plan-step{hoist-from-scans=false target='cuda sm_90'}")
    subprocess.run(["mpt-opt", f"{name}.mlir", f"--pass-pipeline=builtin.module({','.join(passes)})",
                    "-o", f"{name}.planned.mlir"], check=True)
    subprocess.run(["mpt-compile", f"{name}.planned.mlir", "--target=cuda", "--chip=sm_90", "--emulated-kernels",
                    "-o", f"{name}.gpu.so"], check=True)
    return run(name, f"{name}.gpu.so", *libraries)


libraries = [f"--cudart={library}", f"--cublaslt={library}"]
gpu = ["--device=cuda", "--emulated-kernels", *libraries]
first = train(networks[0], *gpu)
bound = {"f32": 1e-5, "bf16": 2e-2, "f16": 4e-3}[precision]
for name in networks[1:]:
    losses, _ = train(name, *gpu)
    assert np.allclose(losses, first[0], rtol=bound), (name, losses, first[0])
in_loops = train_in_loops(networks[0])
for name in networks[1:]:
    found = train_in_loops(name)
    assert found == in_loops, (name, found[0], in_loops[0])
assert train(networks[0], *gpu, "--profile") == first
cpu, _ = train(networks[0])
assert np.allclose(first[0], cpu, rtol=bound), (first[0], cpu)
print(f"{precision}: {len(networks)} networks have the same bits on the GPU")
