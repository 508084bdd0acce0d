"""Final losses and accuracies of f32 and mixed precision over seeds.

    seed_spread.py BUILD_DIR NETWORK... [--seeds 5] [--mixed-seeds 5]
                   [--modes f32,bf16,f16-static,f16] [--steps N] [--threads 1] [--svg FOLDER]

NETWORK is a folder of docs/examples, or `all`. Trains it once per seed and mode
with the options of docs/examples/README.md; the metrics of a run are kept in
BUILD_DIR/benchmark, and what is there is not run again, so that an interrupted
measurement goes on. Prints a table: of each mode the final loss (mean of the last
20 steps') and the held-out accuracy, both as mean and range over the seeds, the
largest difference of a loss from that of f32 with the same seed, and whether its means lie within the ranges of f32, or beyond them on the better or the
worse side. Fails if one is worse. `--svg` draws the loss curves.
Results do not depend on the number of threads.
"""

import argparse
import json
import math
import os
import subprocess
import sys

import spread_plot

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
LAST = 20

MODES = {"f32": ["--precision=f32"],
         "bf16": ["--precision=bf16"],
         "f16-static": ["--precision=f16", "--loss-scale=static init-scale=1024"],
         "f16": ["--precision=f16"]}


def evaluation(*names):
    """Held-out data of @eval: files test_NAME.npy."""
    options = ["--function=loss", "--eval-function=eval"]
    for name in names:
        options += ["--eval-data", f"{name}=test_{name}.npy"]
    return options


# Data and options of each network, as in docs/examples/README.md.
RUNS = {
    "sincos": (["x=x.npy", "sin=sin.npy", "cos=cos.npy"],
               ["--optimizer=adam", "--lr=0.01", "--steps=100", "--lr-schedule=cosine"]),
    "digits": (["x=train_x.npy", "y=train_y.npy"],
               ["--batch=32", "--epochs=30", "--lr=0.004",
                "--optimizer=adamw weight-decay=0.1", "--lr-schedule=cosine"]
               + evaluation("x", "y")),
    "resnet": (["x=train_x.npy", "y=train_y.npy"],
               ["--batch=64", "--epochs=6", "--lr=0.003", "--optimizer=adamw weight-decay=0.05",
                "--lr-schedule=cosine"] + evaluation("x", "y")),
    "unet": (["x=x.npy", "y=y.npy"],
             ["--batch=16", "--epochs=4", "--lr=0.005", "--lr-schedule=cosine"]
             + evaluation("x", "y")),
    "tabular": (["x=x.npy", "v=v.npy", "y=y.npy"],
                ["--batch=128", "--epochs=10", "--lr=0.003", "--optimizer=adamw weight-decay=0.01",
                 "--lr-schedule=cosine"] + evaluation("x", "v", "y")),
    "lstm": (["x=x.npy", "y=y.npy"],
             ["--batch=32", "--steps=400", "--lr=0.005", "--optimizer=adamw clip-norm=1",
              "--lr-schedule=cosine"] + evaluation("x", "y")),
    "bert": (["x=x.npy", "y=y.npy"],
             ["--batch=64", "--steps=1000", "--lr=0.004", "--warmup=30",
              "--optimizer=adamw weight-decay=0.01 clip-norm=1", "--lr-schedule=cosine"]
             + evaluation("x", "y")),
    "gpt": (["x=x.npy", "y=y.npy"],
            ["--batch=16", "--steps=300", "--optimizer=adamw weight-decay=0.1 clip-norm=1",
             "--lr=1e-3", "--warmup=50", "--lr-schedule=cosine", "--lr-final=0.1"]
            + evaluation("x", "y")),
}


def train(build, network, mode, seed, options):
    """Trains, unless that is done; returns the metrics file."""
    folder = os.path.join(build, "benchmark", network)
    length = f"-{options.steps}" if options.steps else ""
    metrics = os.path.join(folder, f"{mode}-{seed}{length}.jsonl")
    if os.path.exists(metrics):
        return metrics
    if not os.path.exists(os.path.join(folder, "made")):
        maker = os.path.join(EXAMPLES, network, "make_data.py")
        subprocess.run([sys.executable, maker, folder], check=True)
        open(os.path.join(folder, "made"), "w").close()
    data, arguments = RUNS[network]
    if options.steps:
        arguments = [a for a in arguments if not a.startswith(("--steps", "--epochs"))]
        arguments.append(f"--steps={options.steps}")
    if any(option.startswith("--pipeline=") for option in MODES[mode]):
        arguments = [a for a in arguments if not a.startswith("--optimizer=")]
    command = [os.path.join(build, "bin", "mpt-run"),
               os.path.join(EXAMPLES, network, network + ".mlir"), *MODES[mode], *arguments,
               f"--seed={seed}", f"--threads={options.threads}", "--progress=none",
               "--metrics=" + metrics + ".part"]
    for item in data:
        command += ["--data", item]
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    os.rename(metrics + ".part", metrics)
    return metrics


def read(metrics):
    """The losses of all steps, the last evaluation's accuracy, skipped steps."""
    losses, accuracy, skipped = [], None, 0
    with open(metrics) as file:
        for record in map(json.loads, file):
            if "loss" in record:
                losses.append(float(record["loss"]))
                skipped += not record.get("did_step", True)
            accuracy = record.get("eval.accuracy", accuracy)
    return losses, accuracy, skipped


def summarize(values, form):
    mean = sum(values) / len(values)
    return mean, f"{mean:{form}} | {min(values):{form}} to {max(values):{form}}"


def report(network, runs):
    """Prints the rows of one network; whether no mean is worse than f32's ranges."""
    inside, ranges, f32 = True, {}, []
    for mode, records in runs.items():
        losses = [sum(record[0][-LAST:]) / LAST for record in records]
        columns = [(losses, "#.4g")]
        if records[0][1] is not None:
            columns.append(([100 * record[1] for record in records], ".2f"))
        texts, better, worse = [], [], []
        for name, (values, form) in zip(("loss", "accuracy"), columns):
            mean, text = summarize(values, form)
            texts.append(text)
            if mode == "f32":
                ranges[name] = min(values), max(values)
            elif "f32" in runs and not ranges[name][0] <= mean <= ranges[name][1]:
                falls = mean < ranges[name][0]
                (better if falls == (name == "loss") else worse).append(name)
        if len(columns) == 1:
            texts.append("| ")
        f32 = losses if mode == "f32" else f32
        apart = max((abs(a - b) for a, b in zip(losses, f32)), default=math.nan)
        verdict = "WORSE: " + ", ".join(worse) if worse else (
            "better: " + ", ".join(better) if better else "within")
        inside &= not worse
        print(f"| {network if mode == 'f32' else ''} | {mode} | {len(losses)} | "
              f"{' | '.join(texts)} | {'' if mode == 'f32' else f'{apart:.2g}'} | "
              f"{sum(record[2] for record in records)} | "
              f"{'' if mode == 'f32' else verdict} |", flush=True)
    return inside


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("networks", nargs="+", choices=[*RUNS, "all"], metavar="NETWORK",
                        help=", ".join([*RUNS, "all"]))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--mixed-seeds", type=int, help="seeds of the modes but f32 (default: all)")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--svg", metavar="FOLDER")
    options = parser.parse_args()
    modes = options.modes.split(",")
    if unknown := set(modes) - set(MODES):
        parser.error(f"expected modes of {', '.join(MODES)}, found {', '.join(unknown)}")
    build = os.path.abspath(options.build)
    inside = True
    print("| network | | seeds | loss | range | accuracy | range | same seed | skipped | |")
    print("| --- | --- | ---: | ---: | --- | ---: | --- | ---: | ---: | --- |", flush=True)
    for network in RUNS if "all" in options.networks else options.networks:
        runs = {mode: [] for mode in modes}
        for seed in range(options.seeds):
            for mode in modes:
                if mode != "f32" and options.mixed_seeds is not None and seed >= options.mixed_seeds:
                    continue
                runs[mode].append(read(train(build, network, mode, seed, options)))
        inside &= report(network, runs)
        if options.svg:
            os.makedirs(options.svg, exist_ok=True)
            with open(os.path.join(options.svg, network + ".svg"), "w") as file:
                file.write(spread_plot.draw(network, {
                    mode: [record[0] for record in records] for mode, records in runs.items()}))
    return 0 if inside else 1


if __name__ == "__main__":
    sys.exit(main())
