"""Bytes that training steps plan, in f32, bf16 and f16.

    planned_memory.py BUILD_DIR [--threads 2] [NAME...]

For networks of networks.py and docs/examples, each with a batch and an optimizer of its own:
the arena in MB (1e6 bytes), with gradients as they are and clipped to a norm of 1, and the state,
results and constants, which are the same in each precision. Nothing is run. f16 has a dynamic
loss scale. Exits with 1 if bf16 or f16 takes more than f32, or more than 2 % more where gradients
are clipped: there they weigh most, in f32 in each precision.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import networks

# Rows of a batch, unless the network says, and the optimizer.
STEPS = {
    "mnist": (64, "sgd"), "mlp": (256, "sgd"), "resnet18-32": (64, "momentum"),
    "resnet50-32": (32, "momentum"), "densenet121-32": (32, "momentum"),
    "mobilenet-v3": (8, "momentum"), "gpt256": (4, "adamw"), "gpt2": (1, "adamw"),
    "bert-base": (4, "adamw"), "vit-b16": (4, "adamw"), "lstm512": (64, "adamw"),
    "unet64": (16, "adamw"),
    "bert": (64, "adamw"), "digits": (64, "adamw"), "gpt": (16, "adamw"),
    "lstm": (64, "adamw"), "resnet": (64, "momentum"), "sincos": (None, "adamw"),
    "tabular": (256, "adamw"), "unet": (16, "adamw"),
}


def plan(build, name, path, precision, clips, threads):
    """The arena, and the rest, in bytes."""
    batch, optimizer = STEPS[name]
    if clips:
        optimizer += " clip-norm=1"
    passes = [f"--mpt-specialize=batch={batch}"] if batch else []
    if precision == "f32":
        passes += ["--mpt-autodiff=function=loss",
                   f"--mpt-train-step=function=loss optimizer={optimizer}"]
    else:
        passes.append(f"--mpt-mixed-precision=function=loss type={precision} "
                      f"optimizer={optimizer}")
    report = path + ".json"
    passes.append(f"--mpt-memory-report=function=loss format=json output={report} "
                  f"max-threads={threads}")
    subprocess.run([os.path.join(build, "bin", "mpt-opt"), path, *passes, "-o", os.devnull],
                   check=True)
    with open(report) as file:
        step = json.load(file)["functions"][0]
    return step["arena"], step["state"] + step["results"] + step["constants"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(STEPS))
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in STEPS:
            parser.error(f"unknown network {name}, expected one of {', '.join(STEPS)}")
    examples = os.path.join(networks.ROOT, "docs", "examples")
    larger = []
    heads = ["f32", "bf16", "/ f32", "f16", "/ f32"]
    print("| network, batch |", " | ".join(heads), "|",
          " | ".join(["f32, clipped", *heads[1:]]), "| state |")
    print("| --- |", " | ".join(["---:"] * 11), "|")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or STEPS:
            path = os.path.join(folder, name + ".mlir")
            source = os.path.join(examples, name, name + ".mlir")
            if not os.path.exists(source):
                source = None
            with open(path, "w") as file:
                if source:
                    with open(source) as text:
                        file.write(text.read())
                else:
                    script = os.path.abspath(networks.__file__)
                    subprocess.run([sys.executable, script, name], check=True, stdout=file)
            row = [f"{name}, {STEPS[name][0] or 'all'}"]
            for clips in (False, True):
                wide, rest = plan(arguments.build, name, path, "f32", clips, arguments.threads)
                row.append(f"{wide / 1e6:.2f}")
                for precision in ("bf16", "f16"):
                    half, _ = plan(arguments.build, name, path, precision, clips,
                                   arguments.threads)
                    row += [f"{half / 1e6:.2f}", f"{half / wide:.2f}"]
                    if half > wide * (1.02 if clips else 1):
                        larger.append(f"{name} in {precision}" + (", clipped" if clips else ""))
            print("|", " | ".join(row), f"| {rest / 1e6:.2f} |", flush=True)
    if larger:
        sys.exit("more memory than in f32: " + ", ".join(larger))


if __name__ == "__main__":
    main()
