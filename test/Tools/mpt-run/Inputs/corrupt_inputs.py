"""corrupt_inputs.py [--seed=N] [--count=N] DIRECTORY: damaged files of every kind that
mpt-run reads. Each is taken, or refused in one line and by exit code 1."""

import argparse
import collections
import os
import pathlib
import random
import subprocess
import sys

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("directory", type=pathlib.Path)
parser.add_argument("--mpt-run", default="mpt-run")
parser.add_argument("--mpt-opt", default="mpt-opt")
parser.add_argument("--mpt-compile", default="mpt-compile")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--count", type=int, default=500)
args = parser.parse_args()
rng = random.Random(args.seed)
inputs = pathlib.Path(__file__).resolve().parent
args.directory.mkdir(parents=True, exist_ok=True)
os.chdir(args.directory)

# --- the whole files ---------------------------------------------------------------

POLICY = """policy: mine
extends: mpt
types: [f16, bf16]
strategy: promote
keep: ['head.*']
f16-reduction-limit: 64
moves:
- {class: deny, ops: [mpt.tanh]}
- {class: allow, in: 'loss', ops: ['mpt.lin*']}
"""
RULES = """dialect: acme
policy: mpt
rules:
- {ops: [dot, conv], class: allow, results: wide}
- {ops: [exp, "log[1]"], class: deny}
products:
- {ops: [dot], macs: "r0 * o0[1]"}
"""

numbers = np.random.default_rng(0)
x = numbers.random((12, 2), dtype=np.float32)
y = x @ np.float32([[1], [2]])
np.save("y.npy", y)
np.save("x.npy", x)
np.savez("x.npz", x=x, other=y)
np.savez_compressed("packed.npz", x=x)
header = b'{"x":{"dtype":"F32","shape":[12,2],"data_offsets":[0,96]}}'
pathlib.Path("x.safetensors").write_bytes(
    len(header).to_bytes(8, "little") + header + x.tobytes())
pathlib.Path("policy.yaml").write_text(POLICY)
pathlib.Path("rules.yaml").write_text(RULES)
module = (inputs / "fit.mlir").read_text()
module = module[module.index("func.func"):]  # a changed comment is nothing
pathlib.Path("model.mlir").write_text(module)


def call(tool, *words):
    done = subprocess.run([tool, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=120)
    return done.returncode, done.stderr


def must(tool, *words):
    status, error = call(tool, *words)
    assert status == 0, (words, error)


def train(*words):
    return [*words, "--steps=2", "--batch=4", "--threads=1", "--progress=none",
            "--memory-limit=1GB"]


DATA = ["--data", "x=x.npy", "--data", "y=y.npy"]
must(args.mpt_run, *train("model.mlir", *DATA, "--checkpoint=state.safetensors",
                          "--ranges=ranges.jsonl"))
must(args.mpt_opt, "--mpt-autodiff", "--mpt-train-step=optimizer=sgd",
     str(inputs / "../../mpt-compile/Inputs/loss.mlir"), "-o", "step.mlir")
must(args.mpt_compile, "step.mlir", "-o", "step.so")
np.save("rows.npy", numbers.random((40, 2), dtype=np.float32))
np.save("results.npy", numbers.random((40, 1), dtype=np.float32))
ROWS = ["--data", "x=rows.npy", "--data", "y=results.npy", "--lr=0.1"]
RUN_STEP = ["--steps=1", "--threads=1", "--progress=none"]
must(args.mpt_run, "step.so", *ROWS, *RUN_STEP, "--checkpoint=step.safetensors")


def use_data(path):
    return train("model.mlir", "--data", f"x={path}", "--data", "y=y.npy",
                 "--engine=reference")


def use_autocast(option):
    return lambda path: train("model.mlir", *DATA, "--precision=f16", "--engine=reference",
                              f"--autocast={option}={path}")


# What reads each of them.
KINDS = [
    ("x.npy", use_data),
    ("x.npz", lambda path: use_data(path + ":x")),
    ("packed.npz", use_data),
    ("x.safetensors", lambda path: use_data(path + ":x")),
    ("state.safetensors", lambda path: train("model.mlir", *DATA, f"--init={path}",
                                             "--engine=reference")),
    ("state.safetensors", lambda path: train("model.mlir", *DATA, f"--resume={path}",
                                             "--engine=reference")),
    ("step.safetensors", lambda path: ["step.so", *ROWS, *RUN_STEP, f"--resume={path}"]),
    ("model.mlir", lambda path: train(path, *DATA)),
    ("policy.yaml", use_autocast("policy")),
    ("rules.yaml", use_autocast("rules")),
    ("ranges.jsonl", use_autocast("profile")),
    ("step.so", lambda path: [path, *ROWS, *RUN_STEP]),
]
WHOLE = {name: pathlib.Path(name).read_bytes() for name, _ in KINDS}
for name, use in KINDS:
    must(args.mpt_run, *use(name))

# --- damage ------------------------------------------------------------------------


def damage(data):
    """`data` with something that is wrong in it."""
    data = bytearray(data)
    # Headers are at the start; the rest is often numbers, of which any will do.
    end = len(data) if rng.random() < 0.5 else min(len(data), 200)
    at = rng.randrange(end)
    length = min(1 + int(rng.expovariate(0.1)), len(data) - at)
    kind = rng.randrange(8)
    if kind == 0:
        del data[at:]
    elif kind == 1:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data[at] = rng.choice(b"\x00\xff0129-[]{}\"':,.%\n")
    elif kind == 3:
        del data[at:at + length]
    elif kind == 4:
        data[at:at] = data[at:at + length] * rng.choice([1, 1, 2, 100])
    elif kind == 5:
        data[at:at + length] = rng.randbytes(length)
    elif kind == 6:
        other = WHOLE[rng.choice(sorted(WHOLE))]
        start = rng.randrange(len(other))
        data[at:at + length] = other[start:start + length]
    else:
        words = [i for i in range(len(data)) if data[i:i + 1].isdigit()] or [at]
        data[rng.choice(words)] = rng.choice(b"0123456789")
    return bytes(data)


def get_fault(status, error):
    """What is wrong with how mpt-run ended, or None."""
    lines = error.splitlines()
    if status == 0:
        return None
    if status != 1:
        return f"exit code {status}"
    if len(lines) != 1 or not lines[0].startswith("mpt-run: "):
        return f"{len(lines)} lines"
    return None


ends = collections.Counter()
for number in range(args.count):
    name, use = KINDS[number % len(KINDS)]
    damaged = WHOLE[name]
    while damaged == WHOLE[name]:
        damaged = damage(damaged)
    path = pathlib.Path(f"damaged{pathlib.Path(name).suffix}")
    path.write_bytes(damaged)
    words = use(str(path))
    try:
        status, error = call(args.mpt_run, *words)
        fault = get_fault(status, error)
    except subprocess.TimeoutExpired:
        status, error, fault = None, "", "does not end"
    if fault:
        kept = f"bad{number}{path.suffix}"
        path.rename(kept)
        print(f"{kept}: {fault}: mpt-run {' '.join(words)}\n{error[:2000]}")
    ends["bad" if fault else "taken" if status == 0 else "refused"] += 1
print(f"{args.count} damaged inputs: {ends['taken']} taken, {ends['refused']} refused, "
      f"{ends['bad']} bad")
sys.exit(ends["bad"] != 0)
