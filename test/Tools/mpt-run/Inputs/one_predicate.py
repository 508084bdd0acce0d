"""Steps one by one, some with numbers that are none: one_predicate.py MPT_RUN."""

import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../Reference/Inputs"))
from storage import load  # noqa: E402

STEPS, ROWS = 7, 8
# What goes on whether a step is taken or not.
ADVANCES = {"attempt", "loss_scale", "loss_scale.growth_tracker"}
FLAGS = ["fd", "fl", "fg"]
random = np.random.RandomState(1)
np.save("x.npy", random.randn(ROWS, 3).astype(np.float32))


def run_step(step, options):
    command = [sys.argv[1], "model.mlir", f"--steps={step}", "--checkpoint=s.safetensors", "--metrics=m.jsonl",
               "--progress=none", "--lr=0.05", "--lr-schedule=step", "--lr-step=1", "--lr-gamma=0.75", "--loss-scale=dynamic init-scale=1024 growth-interval=2"] + options
    if step > 1:
        command.append("--resume")
    for name in ["x"] + FLAGS:
        command += ["--data", f"{name}={name}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return load("s.safetensors"), json.loads(open("m.jsonl").read().splitlines()[-1])


def check(label, options, first):
    # The flags that are 0 in one row of the first, the middle and the last step.
    bad = {1: FLAGS[first], 4: FLAGS[(first + 1) % 3], STEPS: FLAGS[(first + 2) % 3]}
    before, scale, good, rates = None, 1024.0, 0, []
    for step in range(1, STEPS + 1):
        for name in FLAGS:
            flags = np.ones((ROWS, 1), np.float32)
            if bad.get(step) == name:
                flags[random.randint(ROWS)] = 0
            np.save(name + ".npy", flags)
        after, line = run_step(step, options)
        assert line["found_inf"] == (step in bad) and line["did_step"] == (step not in bad), (label, line)
        assert isinstance(line["grad_norm"], float) == (step not in bad), line
        # The schedule follows the steps taken.
        rates.append(line["learning_rate"])
        assert step == 1 or (rates[-1] == rates[-2]) == (step - 1 in bad), (label, rates)
        assert after["attempt"] == step
        scale, good = (scale / 2, 0) if step in bad else (scale, good + 1)
        if good == 2:
            scale, good = scale * 2, 0
        assert after["loss_scale"] == scale == line["loss_scale"], (label, step, line, scale)
        assert after["loss_scale.growth_tracker"] == good
        if before is None:
            states = [name for name in after if name.endswith((".exp_avg", ".momentum_buffer", ".ema"))]
            assert "w.ema" in states and all(not after[name].any() for name in states)
            assert after["step"] == 0 and not after["mean"].any() and np.all(after["var"] == 1)
        else:
            changed = {name for name in after if after[name].tobytes() != before[name].tobytes()}
            if step in bad:
                assert changed <= ADVANCES, (label, step, changed)
            else:
                assert {"step", "mean", "var", "attempt", "w.ema"} <= changed, (label, step, changed)
                assert changed & {"w", "w.low", "w.compensation"}, (label, step, changed)
        before = after
    print(f"{label}: {len(bad)} bad steps of {STEPS} keep all state", flush=True)


def check_all():
    optimizers = [name + " ema-decay=0.9" for name in ("adamw clip-norm=1", "momentum", "adam", "sgd clip-norm=1")]
    kinds = ["f32", "bf16-stochastic-rounding", "bf16-kahan", "split16"]
    for first in range(3):
        for i, kind in enumerate(kinds):
            optimizer = optimizers[(i + first) % 4]
            precision = ["f32", "bf16", "f16"][(i + first) % 3]
            check(f"{kind} {optimizer} {precision}",
                  [f"--master-weights={kind}", f"--optimizer={optimizer}", f"--precision={precision}"], first)
        check("accumulate", ["--accumulate=2", "--master-weights=split16", "--optimizer=adamw ema-decay=0.9"], first)


check_all()
