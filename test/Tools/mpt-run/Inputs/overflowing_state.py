"""A number in the data of step 2 of 4 that makes state overflow, but no gradient:
overflowing_state.py MPT_RUN."""

import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../Reference/Inputs"))
from storage import load  # noqa: E402

random = np.random.RandomState(3)
X = random.randn(4, 8, 4).astype(np.float32)
Y = random.randn(4, 8, 1).astype(np.float32)
# The variance of a column overflows f32; the square of a gradient does.
CASES = {"statistic": ("x", 1e25), "norm": ("y", 1e22)}
MODES = [["--precision=f16"], ["--precision=bf16", "--loss-scale=static init-scale=1"],
         ["--precision=f32", "--loss-scale=dynamic init-scale=4"],
         ["--precision=bf16", "--loss-scale=amax", "--optimizer=adamw clip-norm=1"]]

for model, (name, number) in CASES.items():
    for mode in MODES:
        if not any(option.startswith("--optimizer") for option in mode):
            mode = mode + ["--optimizer=adamw"]
        before = None
        if os.path.exists("s.safetensors"):
            os.remove("s.safetensors")
        for step in range(1, 5):
            data = {"x": X[step - 1].copy(), "y": Y[step - 1].copy()}
            if step == 2:
                data[name][3, 0] = number
            for each, values in data.items():
                np.save(each + ".npy", values)
            subprocess.run([sys.argv[1], model + ".mlir", "--data", "x=x.npy", "--data", "y=y.npy",
                            f"--steps={step}", "--batch=8", "--lr=0.01", "--checkpoint=s.safetensors",
                            "--metrics=m.jsonl", "--progress=none"] + mode +
                           (["--resume"] if step > 1 else []), check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            line = json.loads(open("m.jsonl").read().splitlines()[-1])
            after = load("s.safetensors")
            assert line["did_step"] == (step != 2) and line["found_inf"] == (step == 2), (model, mode, line)
            if step == 2:
                changed = {key for key in after if after[key].tobytes() != before[key].tobytes()}
                assert changed <= {"attempt", "loss_scale", "loss_scale.growth_tracker"}, (model, mode, changed)
            for key, values in after.items():
                if np.asarray(values).dtype.kind == "f":
                    assert np.isfinite(values).all(), (model, mode, key)
            before = after
        print(f"{model} {mode[0][12:]}: step 2 of 4 is skipped and keeps all state", flush=True)
