"""Trains the networks that scan.py wrote on the stand-in for CUDA.

  scan_cuda.py WORK_DIRECTORY PRECISION LIBRARY NETWORK...

All networks have the same losses but for rounding (sums over iterations have other
orders), and the CPU's. Measuring each launch changes no bit of losses and state.
"""

import json
import os
import subprocess
import sys

import numpy as np

work, precision, library, *networks = sys.argv[1:]
os.chdir(work)


def train(name, *options):
    """The losses of 4 steps, and the state as bytes after its header."""
    label = f"{name}.{precision}.gpu"
    subprocess.run(["mpt-run", f"{name}.mlir", "--data", "x=x.npy", "--data", "y=y.npy", "--optimizer=adam",
                    "--lr=0.05", "--steps=4", f"--precision={precision}", f"--checkpoint={label}.safetensors",
                    f"--metrics={label}.jsonl", "--progress=none", *options], check=True, stdout=subprocess.DEVNULL)
    data = open(f"{label}.safetensors", "rb").read()
    losses = [json.loads(line)["loss"] for line in open(f"{label}.jsonl") if '"loss"' in line]
    return losses, data[8 + int.from_bytes(data[:8], "little"):]


gpu = ["--device=cuda", "--emulated-kernels", f"--cudart={library}", f"--cublaslt={library}"]
first = train(networks[0], *gpu)
bound = {"f32": 1e-5, "bf16": 2e-2, "f16": 4e-3}[precision]
for name in networks[1:]:
    losses, _ = train(name, *gpu)
    assert np.allclose(losses, first[0], rtol=bound), (name, losses, first[0])
assert train(networks[0], *gpu, "--profile") == first
cpu, _ = train(networks[0])
assert np.allclose(first[0], cpu, rtol=bound), (first[0], cpu)
print(f"{precision}: {len(networks)} networks have the same losses on the GPU")
