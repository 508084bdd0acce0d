"""How the time of each pass grows with the depth of a network.

    depth_time.py BUILD_DIR [--networks transformer,resnet,rnn,densenet] [--rounds 3] [--passes 12]

Transformers of 6 to 192 layers, ResNets of 18 to 152, an RNN unrolled over 64 to 1024 steps and
DenseNets of 121 to 264, small in all but depth. Runs mpt-opt from the forward function to the
LLVM dialect with one thread and --mlir-timing. Prints seconds of each pass, the least of the
rounds, and by which power of the number of planned instructions they grow between the last two
depths, and over all. Passes are timed by the clock: use it on a machine with nothing else to do,
or with `chrt --rr 1` before it.
"""

import argparse
import contextlib
import io
import math
import os
import re
import subprocess
import tempfile

import networks
import networks as n


def rnn(net, steps, width=32):
    x, labels = net.input("x", (None, steps, width)), net.target("y", (None,))
    weights = [net.parameter(f"w{i}", (width, width), n.network.kaiming_uniform(width))
               for i in range(2)]
    bias = net.parameter("b", (width,), n.network.ZEROS)
    state = (None, width), "f32"
    h = net.reduce(x, "mean", 1)
    for step in range(steps):
        at = net.reshape(net.slice(x, 1, step, 1), None, width)
        gate, new = (net.pointwise("add", net.op("matmul", [h, weight], state), bias)
                     for weight in weights)
        gate = net.pointwise("sigmoid", gate)
        new = net.pointwise("tanh", net.pointwise("add", new, at))
        h = net.pointwise("add", h, net.pointwise("mul", gate, net.pointwise("sub", new, h)))
    return {"loss": net.cross_entropy(net.linear(h, "head", 10), labels)}


RESNETS = {18: (n.basic, (2, 2, 2, 2)), 34: (n.basic, (3, 4, 6, 3)),
           50: (n.bottleneck, (3, 4, 6, 3)), 101: (n.bottleneck, (3, 4, 23, 3)),
           152: (n.bottleneck, (3, 8, 36, 3))}
DENSENETS = {121: (6, 12, 24, 16), 169: (6, 12, 32, 32), 201: (6, 12, 48, 32),
             264: (6, 12, 64, 48)}
NETWORKS = {
    "transformer": {layers: lambda net, layers=layers: n.gpt(net, layers, 64, 4, 64, 256, 64)
                    for layers in (6, 12, 24, 48, 96, 192)},
    "resnet": {depth: lambda net, depth=depth: n.resnet(net, *RESNETS[depth], 32)
               for depth in RESNETS},
    "rnn": {steps: lambda net, steps=steps: rnn(net, steps)
            for steps in (64, 128, 256, 512, 1024)},
    "densenet": {depth: lambda net, depth=depth: n.densenet(net, 32, blocks=DENSENETS[depth])
                 for depth in DENSENETS},
}
TO_STEP = ("builtin.module(mpt-specialize{batch=4},mpt-autodiff{function=loss},"
           "mpt-train-step{optimizer=adamw},mpt-master-weights{kind=f32})")
PLAN = "--mpt-plan-step=max-threads=1"


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}: {result.stderr}")
    return result


def measure(mpt_opt, forward, rounds):
    """Planned instructions, and seconds by pass."""
    with tempfile.TemporaryDirectory() as folder:
        model, step = os.path.join(folder, "model.mlir"), os.path.join(folder, "step.mlir")
        with open(model, "w") as file, contextlib.redirect_stdout(file):
            networks.network.print_function("loss", forward, True)
        run([mpt_opt, model, f"--pass-pipeline={TO_STEP}", "-o", step])
        planned = run([mpt_opt, step, PLAN]).stdout
        count = len(re.findall(r"^ {4,}mpt_program\.(?!buffer)\w+ ", planned, re.MULTILINE))
        seconds = {}
        for _ in range(rounds):
            timing = run([mpt_opt, step, PLAN, "--mpt-program-to-llvm", "--mlir-disable-threading",
                          "--mlir-timing", "--mlir-timing-display=list", "-o", os.devnull]).stderr
            found = {}
            for line in timing.splitlines():
                match = re.match(r" +([\d.]+) \( *[\d.]+%\) +(.*)", line)
                if match:
                    found[match[2]] = found.get(match[2], 0) + float(match[1])
            for name, value in found.items():
                seconds[name] = min(seconds.get(name, math.inf), value)
    return count, seconds


def power(counts, seconds, first, last):
    if min(seconds[first], seconds[last]) <= 0:
        return ""
    return f"{math.log(seconds[last] / seconds[first]) / math.log(counts[last] / counts[first]):.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--passes", type=int, default=12, help="those that take longest")
    options = parser.parse_args()
    mpt_opt = os.path.join(options.build, "bin", "mpt-opt")
    for name in options.networks.split(","):
        found = [measure(mpt_opt, forward, options.rounds) for forward in NETWORKS[name].values()]
        counts = [count for count, _ in found]
        print(f"| {name} | " + " | ".join(map(str, NETWORKS[name])) + " | last | all |")
        print("| --- |" + " ---: |" * (len(found) + 2))
        print("| instructions | " + " | ".join(map(str, counts)) + " | | |")
        deepest = found[-1][1]
        for label in sorted(deepest, key=lambda label: -deepest[label])[:options.passes]:
            seconds = [times.get(label, 0) for _, times in found]
            print(f"| {label} | " + " | ".join(f"{value:.3f}" for value in seconds)
                  + f" | {power(counts, seconds, -2, -1)} | {power(counts, seconds, 0, -1)} |")
        print(flush=True)


if __name__ == "__main__":
    main()
