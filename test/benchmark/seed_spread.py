"""Final losses of f32 and mixed precision over seeds.

    seed_spread.py BUILD_DIR sincos|digits|gpt [--seeds 5] [--mixed-seeds 5]
                   [--steps N] [--threads 1]

Trains the example once per seed and precision with the options of
docs/examples/README.md. Prints each final loss (mean of the last 20 steps'),
each precision's range over the seeds, and whether the means of f16 and bf16
lie within the range of f32. Results do not depend on the number of threads.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
LAST = 20

RUNS = {
    "sincos": (["x=x.npy", "sin=sin.npy", "cos=cos.npy"],
               ["--optimizer=adam", "--lr=0.01", "--steps=1000"]),
    "digits": (["x=train_x.npy", "y=train_y.npy"],
               ["--function=loss", "--batch=32", "--epochs=30", "--lr=0.004",
                "--optimizer=adamw weight-decay=0.1", "--lr-schedule=cosine",
                "--eval-function=eval", "--eval-data", "x=test_x.npy",
                "--eval-data", "y=test_y.npy"]),
    "gpt": (["x=x.npy", "y=y.npy"],
            ["--batch=16", "--steps=1000", "--optimizer=adamw weight-decay=0.1 clip-norm=1",
             "--lr=1e-3", "--warmup=50", "--lr-schedule=cosine", "--lr-final=0.1"]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("network", choices=RUNS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--mixed-seeds", type=int, help="seeds of f16 and bf16 (default: all)")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    folder = os.path.join(build, "benchmark", options.network)
    example = os.path.join(EXAMPLES, options.network)
    subprocess.run([sys.executable, os.path.join(example, "make_data.py"), folder], check=True)
    data, arguments = RUNS[options.network]
    if options.steps:
        arguments = [a for a in arguments if not a.startswith(("--steps", "--epochs"))]
        arguments.append(f"--steps={options.steps}")
    losses = {}
    for seed in range(options.seeds):
        mixed = options.mixed_seeds is None or seed < options.mixed_seeds
        for precision in ("f32", "f16", "bf16") if mixed else ("f32",):
            command = [os.path.join(build, "bin", "mpt-run"),
                       os.path.join(example, options.network + ".mlir")]
            for item in data:
                command += ["--data", item]
            command += arguments + [f"--seed={seed}", f"--precision={precision}",
                                    f"--threads={options.threads}", "--metrics=metrics.jsonl", "--progress=none"]
            output = subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
            with open(os.path.join(folder, "metrics.jsonl")) as file:
                steps = [r["loss"] for r in map(json.loads, file) if "loss" in r]
            loss = sum(steps[-LAST:]) / LAST
            losses.setdefault(precision, []).append(loss)
            evaluation = [l for l in output.stdout.splitlines() if l.startswith("evaluation")]
            print(f"seed {seed} {precision:5} {loss:.6g}  {' '.join(evaluation)}", flush=True)
    low, high = min(losses["f32"]), max(losses["f32"])
    inside = True
    for precision, values in losses.items():
        mean = sum(values) / len(values)
        ok = low <= mean <= high
        inside &= ok
        print(f"{precision:5} mean {mean:.6g}  range {min(values):.6g} to {max(values):.6g}"
              + ("" if precision == "f32" else f"  {'within' if ok else 'OUTSIDE'} f32's range"))
    return 0 if inside else 1


if __name__ == "__main__":
    sys.exit(main())
