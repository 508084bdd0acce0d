"""Trains networks with mpt.scan and compares losses and state.

  scan.py WORK_DIRECTORY PRECISION [STEPS [TRAINED]]

The same network with its iterations one after the other, and with iterations computed
again in the backward pass, has the same bits; the oracle's losses are the same but for
rounding. Scans of 16 time steps are unrolled and longer ones are loops, also as loops in
loops where groups of iterations are computed again. Which matmuls leave a loop differs from
form to form, and with it the order of the sums over iterations: longer scans have the same
bits with hoist-from-scans=false, and else the same losses but for rounding.
"""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

work, precision = Path(sys.argv[1]), sys.argv[2]
work.mkdir(parents=True, exist_ok=True)
os.chdir(work)
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 8
TRAINED = int(sys.argv[4]) if len(sys.argv) > 4 else 20
BATCH, HIDDEN = 16, 8

rng = np.random.default_rng(3)
x = rng.standard_normal((BATCH, STEPS), np.float32)
np.save("x.npy", x)
# The sum of the rest of the row, which a scan from its end can know.
np.save("y.npy", np.cumsum(x[:, ::-1], axis=1)[:, ::-1].copy())

MODEL = """
func.func @loss(
    %w: tensor<1x{H4}xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %u: tensor<{H}x{H4}xf32> {mpt.name = "u", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %b: tensor<{H4}xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %h0: tensor<{H}xf32> {mpt.name = "h0", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.5}},
    %v: tensor<{H}x1xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %x: tensor<{B}x{T}xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<{B}x{T}xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %zero = mpt.constant dense<0.0> : tensor<{B}x{H}xf32>
  %first = mpt.broadcast %h0 : (tensor<{H}xf32>) -> tensor<{B}x{H}xf32>
  %turned = mpt.transpose %x {permutation = array<i64: 1, 0>} : (tensor<{B}x{T}xf32>) -> tensor<{T}x{B}xf32>
  %xs = mpt.reshape %turned : (tensor<{T}x{B}xf32>) -> tensor<{T}x{B}x1xf32>
  %h, %c, %hs = mpt.scan {T} reverse carry(%first, %zero : tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>) over(%xs : tensor<{T}x{B}x1xf32>) {
  ^bb0(%hi: tensor<{B}x{H}xf32>, %ci: tensor<{B}x{H}xf32>, %e: tensor<{B}x1xf32>):
    BEGIN
    %s = mpt.sin %e : (tensor<{B}x1xf32>) -> tensor<{B}x1xf32>
    %hn, %cn, %g = mpt.lstm_cell %s, %hi, %ci, %w, %u, %b : (tensor<{B}x1xf32>, tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>, tensor<1x{H4}xf32>, tensor<{H}x{H4}xf32>, tensor<{H4}xf32>) -> (tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>, tensor<{B}x{H4}xf32>)
    END
  } ATTRIBUTES : tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>, tensor<{T}x{B}x{H}xf32>
  %p = mpt.matmul %hs, %v : (tensor<{T}x{B}x{H}xf32>, tensor<{H}x1xf32>) -> tensor<{T}x{B}x1xf32>
  %q = mpt.reshape %p : (tensor<{T}x{B}x1xf32>) -> tensor<{T}x{B}xf32>
  %r = mpt.transpose %q {permutation = array<i64: 1, 0>} : (tensor<{T}x{B}xf32>) -> tensor<{B}x{T}xf32>
  %mean = mpt.mse_loss %r, %y : (tensor<{B}x{T}xf32>, tensor<{B}x{T}xf32>) -> tensor<f32>
  %last = mpt.reduce %h {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<{B}x{H}xf32>) -> tensor<f32>
  %small = mpt.constant dense<0.01> : tensor<f32>
  %extra = mpt.mul %last, %small : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = mpt.add %mean, %extra : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
"""
PLAIN = ("", "mpt.yield %hn, %cn, %hn : tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>")
AGAIN = ("%o:2 = mpt.checkpoint {",
         "mpt.yield %hn, %cn : tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>\n    } : tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>\n"
         "    mpt.yield %o#0, %o#1, %o#0 : tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>, tensor<{B}x{H}xf32>")


def write(name, body=PLAIN, attributes=""):
    text = MODEL.replace("BEGIN", body[0]).replace("END", body[1]).replace("ATTRIBUTES", attributes)
    for key, value in {"T": STEPS, "B": BATCH, "H4": 4 * HIDDEN, "H": HIDDEN}.items():
        text = text.replace("{%s}" % key, str(value))
    Path(f"{name}.mlir").write_text(text)


def read(path):
    """Tensors as bytes."""
    data = Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    begin = 8 + length
    return {name: data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


def run(label, file, *options):
    """The state after the last step, and all losses."""
    subprocess.run(["mpt-run", file, "--data", "x=x.npy", "--data", "y=y.npy", "--lr=0.05",
                    f"--steps={TRAINED}", f"--checkpoint={label}.safetensors", f"--metrics={label}.jsonl",
                    "--progress=none", *options], check=True)
    losses = [json.loads(line)["loss"] for line in open(f"{label}.jsonl") if '"loss"' in line]
    return read(f"{label}.safetensors"), losses


def train(name, *options):
    return run(name + "".join(options), f"{name}.mlir", "--optimizer=adam", f"--precision={precision}", *options)


def train_in_loops(name):
    """With all matmuls where they are."""
    passes = ["mpt-autodiff{function=loss}", "mpt-train-step{optimizer=adam function=loss}"]
    if precision != "f32":
        passes += ["mpt-master-weights", *["mpt-loss-scale{type=f16 mode=dynamic}"][:precision == "f16"],
                   f"mpt-autocast{{type={precision}}}"]
    passes.append("mpt-plan-step{hoist-from-scans=false}")
    subprocess.run(["mpt-opt", f"{name}.mlir", f"--pass-pipeline=builtin.module({','.join(passes)})",
                    "-o", f"{name}.planned.mlir"], check=True)
    subprocess.run(["mpt-compile", f"{name}.planned.mlir", "-o", f"{name}.so"], check=True)
    return run(f"{name}.loops", f"{name}.so")


write("plain")
plain, losses = train("plain")
assert losses[-1] < losses[0] / (1.5 if TRAINED >= 20 else 1), losses
write("again", AGAIN)
runs = {"again": train("again")}
# 340 = 17 * 20: loops in loops.
for every in [every for every in (1, 2, 4, 8, 20, 40, 340) if STEPS % every == 0][-5:]:
    write(f"every{every}", PLAIN, "{checkpoint_every = %d : i64}" % every)
    runs[f"every{every}"] = train(f"every{every}")
if STEPS <= 16:
    runs["budget"] = train("plain", "--memory-budget=0.8x")
if precision == "f32" and STEPS <= 64:
    # Autocast decides for each iteration by itself once they are apart.
    subprocess.run(["mpt-opt", "plain.mlir", "--mpt-unroll-scan", "-o", "unrolled.mlir"], check=True)
    assert "mpt.scan" not in Path("unrolled.mlir").read_text()
    runs["unrolled"] = train("unrolled")
in_loops = train_in_loops("plain") if STEPS > 16 else None
for name, (state, others) in runs.items():
    expected, same = plain, losses
    if STEPS > 16:
        bound = {"f32": 1e-5, "bf16": 2e-2, "f16": 4e-3}[precision]
        assert np.allclose(others[:4], losses[:4], rtol=bound), (name, others, losses)
        (expected, same), (state, others) = in_loops, train_in_loops(name)
    assert others == same, (name, others, same)
    assert state == expected, (name, [key for key in expected if expected[key] != state.get(key)])
_, oracle = train("plain", "--engine=reference")
bound = {"f32": 1e-5, "bf16": 5e-2, "f16": 1e-2}[precision]
assert np.allclose(losses, oracle, rtol=bound), (losses, oracle)
print(f"{precision}: {len(runs)} networks have the same bits")
