"""Bytes that training steps plan, in f32, bf16 and f16.

    planned_memory.py BUILD_DIR [--threads 2] [NAME...]

For networks of networks.py and docs/examples, each with a batch and an optimizer of its own:
the arena in MB (1e6 bytes), and the state, results and constants, which are the same in each
precision. Nothing is run. f16 has a dynamic loss scale, which must see all gradients before the
first update, and so stands next to f32 with --clip-norm, which must, too. Exits with 1 if bf16
takes more than f32, or if the arena of f16 is more than 5 % larger than that.
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


def plan(build, name, path, precision, threads):
    """The arena, and the rest, in bytes. Gradients of `clipped` are clipped, in f32."""
    batch, optimizer = STEPS[name]
    if precision == "clipped":
        precision, optimizer = "f32", optimizer + " clip-norm=1"
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
    print("| network, batch | f32 | bf16 | bf16 / f32 | f32, clipped | f16 | f16 / clipped | state |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
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
            sizes = {precision: plan(arguments.build, name, path, precision, arguments.threads)
                     for precision in ("f32", "bf16", "clipped", "f16")}
            row = [f"{name}, {STEPS[name][0] or 'all'}"]
            for wide, half in (("f32", "bf16"), ("clipped", "f16")):
                arenas = [sizes[precision][0] for precision in (wide, half)]
                row += [f"{arena / 1e6:.2f}" for arena in arenas]
                row.append(f"{arenas[1] / arenas[0]:.2f}")
                if arenas[1] > arenas[0] * (1.05 if half == "f16" else 1):
                    larger.append(f"{name} in {half}")
            print("|", " | ".join(row), f"| {sizes['f32'][1] / 1e6:.2f} |")
    if larger:
        sys.exit("more memory than in f32: " + ", ".join(larger))


if __name__ == "__main__":
    main()
