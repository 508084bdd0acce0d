"""Losses of 8-bit training by blocks beside bf16's, over seeds.

    fp8_vs_bf16.py BUILD_DIR NETWORK... [--seeds 3] [--steps 100] [--threads 1]
                   [--recipes deepseek,mxfp8]

NETWORK is a folder of docs/examples. Trains it in bf16 and with `--mpt-fp8`, whose matmuls
that stay as they are run in bf16 too, with the options of seed_spread.py and the same
initial values and batches. Prints for each recipe the mean over seeds of (its loss - bf16's)
/ bf16's, of the mean loss of the last 20 steps, with its 95 % interval (Student's t). Metrics
are kept in BUILD_DIR/benchmark, and what is there is not run again.
"""

import argparse
import math
import os

import seed_spread

# Two-sided 95 % of Student's t, by the number of seeds.
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}


def precision_options(recipe, arguments):
    """The pipeline of --precision=bf16 with the optimizer of `arguments`, and --mpt-fp8."""
    optimizer = next((a for a in arguments if a.startswith("--optimizer=")), "--optimizer=adamw")
    name, *options = optimizer[len("--optimizer="):].split()
    step = " ".join([f"optimizer={name}", *options])
    return [f"--pipeline=mpt-autodiff,mpt-train-step{{{step}}},mpt-fp8{{recipe={recipe}}},"
            "mpt-autocast{type=bf16},canonicalize"]


def interval(values):
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return mean, STUDENT[len(values)] * deviation / math.sqrt(len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--seeds", type=int, default=3, choices=sorted(STUDENT))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--recipes", default="deepseek,mxfp8")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    recipes = options.recipes.split(",")
    print("network | recipe | bf16's loss | difference | 95 % interval")
    for network in options.networks:
        arguments = seed_spread.RUNS[network][1]
        for recipe in recipes:
            seed_spread.MODES[recipe] = precision_options(recipe, arguments)
        losses = {}
        for mode in ["bf16"] + recipes:
            records = [seed_spread.read(seed_spread.train(options.build, network, mode, seed, options))[0]
                       for seed in range(options.seeds)]
            losses[mode] = [sum(record[-seed_spread.LAST:]) / seed_spread.LAST for record in records]
        reference = sum(losses["bf16"]) / options.seeds
        for recipe in recipes:
            mean, half = interval([(a - b) / b for a, b in zip(losses[recipe], losses["bf16"])])
            print(f"{network} | {recipe} | {reference:.4f} | {100 * mean:+.3f} % | "
                  f"{100 * (mean - half):+.3f} to {100 * (mean + half):+.3f} %")


if __name__ == "__main__":
    main()
