"""Losses of 8-bit training beside bf16's, over seeds.

    fp8_vs_bf16.py BUILD_DIR [NETWORK...] [--modes deepseek,mxfp8] [--folder FOLDER]

Trains each network in bf16 and in each of the modes, with the same initial values and batches.
Prints for each the mean over seeds of (its loss - bf16's) / bf16's, of the mean loss of the
last tenth of the steps, with its 95 % interval (Student's t). Metrics are kept in FOLDER
(BUILD_DIR/benchmark/fp8), and what is there is not run again.

Networks (all without NETWORK):

    gpt     the character GPT of docs/examples: 4 layers of width 256
    bert    the encoder of docs/examples: 2 layers of width 128
    lstm    a character LSTM of width 128 whose cell is made of linear layers
    resnet  bottlenecks whose 1x1 convolutions are linear layers
    vit     4 layers of width 128 on patches of 2x2

The last two learn the digits of docs/examples with a label smoothing of 0.1: networks of this
size learn all 1,437 pictures by heart, and a loss of almost zero has no meaningful fraction.

Modes: `deepseek` and `mxfp8` are recipes of --mpt-fp8, all else bf16.
"""

import argparse
import json
import math
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
sys.path.insert(0, EXAMPLES)
import network

# Two-sided 95 % of Student's t, by the number of seeds.
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}

MODES = {"bf16": [], "deepseek": ["mpt-fp8{recipe=deepseek}"], "mxfp8": ["mpt-fp8{recipe=mxfp8}"]}


SMOOTHING = "label_smoothing = 0.1 : f64"


def load_example(name):
    """The module make_model of an example."""
    namespace = {"__file__": os.path.join(EXAMPLES, name, "make_model.py"), "__name__": name}
    with open(namespace["__file__"]) as file:
        exec(compile(file.read(), namespace["__file__"], "exec"), namespace)
    return namespace


def gpt(net):
    return load_example("gpt")["forward"](net, layers=4, width=256, heads=4, context=32, vocabulary=96)


def bert(net):
    return load_example("bert")["forward"](net, layers=2, width=128, heads=4)


def lstm(net, context=16, vocabulary=96, width=128):
    tokens = net.input("x", (None, context), "i32")
    labels = net.target("y", (None, context))
    x = net.gather(net.parameter("embeddings", (vocabulary, width), network.normal(0.1)), tokens)
    w = net.parameter("cell_w", (width, 4 * width), network.kaiming_uniform(width))
    u = net.parameter("cell_u", (width, 4 * width), network.kaiming_uniform(width))
    b = net.parameter("cell_b", (4 * width,), network.ZEROS)
    h = c = net.op("broadcast", [net.constant(0.0, (1, width))], ((None, width), "f32"))
    outputs = []
    for t in range(context):
        xt = net.reshape(net.slice(x, 1, t, 1), None, width)
        gates = net.op("linear", [xt, w, b], ((None, 4 * width), "f32"))
        gates = net.pointwise("add", gates, net.op("matmul", [h, u], (gates.shape, "f32")))
        i, f, g, o = (net.slice(gates, 1, part * width, width) for part in range(4))
        # The bias of the forget gate starts at one.
        f = net.pointwise("sigmoid", net.pointwise("add", f, net.constant(1.0)))
        c = net.pointwise("add", net.pointwise("mul", f, c), net.pointwise(
            "mul", net.pointwise("sigmoid", i), net.pointwise("tanh", g)))
        h = net.pointwise("mul", net.pointwise("sigmoid", o), net.pointwise("tanh", c))
        outputs.append(net.reshape(h, None, 1, width))
    logits = net.linear(net.concat(outputs, 1), "head", vocabulary)
    return net.results(net.cross_entropy(logits, labels))


def resnet(net, width=32):
    images, labels = net.input("x", (None, 8, 8, 1)), net.target("y", (None,))

    def point(x, name, outputs):
        weight = net.parameter(name + "_w", (x.shape[-1], outputs),
                               network.kaiming_normal(x.shape[-1]))
        return net.op("linear", [x, weight], (x.shape[:-1] + (outputs,), "f32"))

    def norm_relu(x, name):
        return net.pointwise("relu", net.batch_norm(x, name))

    x = norm_relu(net.conv(images, "stem", 2 * width), "stem_norm")
    for stage in range(2):
        for i in range(2):
            name, inner = f"s{stage}b{i}", width << stage
            stride = 2 if stage and i == 0 else 1
            y = norm_relu(point(x, name + "_conv0", inner), name + "_norm0")
            y = norm_relu(net.conv(y, name + "_conv1", inner, stride=stride), name + "_norm1")
            y = net.batch_norm(point(y, name + "_conv2", 4 * inner), name + "_norm2", network.ZEROS)
            if stride != 1:
                sizes = [-1, x.shape[1] // 2, x.shape[2] // 2, -1]
                x = net.op("slice", [x], ((None, sizes[1], sizes[2], x.shape[3]), "f32"),
                           attributes=f"offsets = {network.array([0] * 4)}, "
                                      f"sizes = {network.array(sizes)}, "
                                      f"strides = {network.array([1, 2, 2, 1])}")
            if x.shape[-1] != 4 * inner:
                x = net.batch_norm(point(x, name + "_short", 4 * inner), name + "_short_norm")
            x = net.pointwise("relu", net.pointwise("add", y, x))
    logits = net.linear(net.reduce(x, "mean", 1, 2), "head", 10)
    return net.results(net.cross_entropy(logits, labels, SMOOTHING))


def vit(net, layers=4, width=128, heads=4, patch=2):
    images, labels = net.input("x", (None, 8, 8, 1)), net.target("y", (None,))
    side = 8 // patch
    filters = net.parameter("patch_w", (patch, patch, 1, width), network.normal(0.1))
    x = net.op("conv2d", [images, filters], ((None, side, side, width), "f32"),
               attributes=f"strides = {network.array([patch] * 2)}")
    x = net.reshape(x, None, side * side, width)
    x = net.pointwise("add", x, net.parameter("positions", (side * side, width), network.normal(0.1)))

    def dense(x, name, outputs):
        return net.linear(x, name, outputs, network.normal(0.02), network.ZEROS)

    for layer in range(layers):
        name = f"l{layer}"
        y = dense(net.layer_norm(x, name + "_n0"), name + "_qkv", 3 * width)
        y = net.attention(*[net.slice(y, 2, i * width, width) for i in range(3)], heads)
        x = net.pointwise("add", x, dense(y, name + "_out", width))
        y = dense(net.layer_norm(x, name + "_n1"), name + "_up", 4 * width)
        x = net.pointwise("add", x, dense(net.pointwise("gelu", y), name + "_down", width))
    x = net.reduce(net.layer_norm(x, "last"), "mean", 1)
    return net.results(net.cross_entropy(net.linear(x, "head", 10), labels, SMOOTHING))


# How each is made: its function, its data, seeds, --mpt-train-step's and mpt-run's options.
NETWORKS = {
    "gpt": (gpt, ["gpt", "--context=32"], 3, "weight-decay=0.1 clip-norm=1",
            ["--batch=8", "--steps=2000", "--lr=5e-4", "--warmup=100", "--lr-schedule=cosine",
             "--lr-final=0.1"]),
    "bert": (bert, ["bert"], 3, "weight-decay=0.01 clip-norm=1",
             ["--batch=32", "--steps=1000", "--lr=0.002", "--warmup=30", "--lr-schedule=cosine"]),
    "lstm": (lstm, ["gpt", "--context=16"], 3, "clip-norm=1",
             ["--batch=16", "--steps=1000", "--lr=0.004", "--lr-schedule=cosine"]),
    "resnet": (resnet, ["digits"], 5, "weight-decay=0.05",
               ["--batch=32", "--steps=400", "--lr=0.002", "--lr-schedule=cosine"]),
    "vit": (vit, ["digits"], 5, "weight-decay=0.05",
            ["--batch=32", "--steps=400", "--lr=0.001", "--warmup=30", "--lr-schedule=cosine"]),
}


def write_network(name, folder):
    """The network and its data, in `folder`."""
    if os.path.exists(os.path.join(folder, "made")):
        return
    maker, *options = NETWORKS[name][1]
    subprocess.run([sys.executable, os.path.join(EXAMPLES, maker, "make_data.py"), folder, *options],
                   check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, name + ".mlir"), "w") as file:
        text = subprocess.run([sys.executable, os.path.abspath(__file__), "--print", name], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        file.write(text)
    open(os.path.join(folder, "made"), "w").close()


def train(options, name, mode, seed):
    """Trains, unless that is done. Returns the loss of the last tenth of the steps."""
    folder = os.path.join(options.folder, name)
    metrics = os.path.join(folder, f"{mode}-{seed}.jsonl")
    *_, step, arguments = NETWORKS[name]
    prefix = "train_" if NETWORKS[name][1] == ["digits"] else ""
    if not os.path.exists(metrics):
        write_network(name, folder)
        passes = ["mpt-autodiff", f"mpt-train-step{{optimizer=adamw {step}}}", *MODES[mode],
                  "mpt-autocast{type=bf16}", "canonicalize"]
        subprocess.run([os.path.join(options.build, "bin", "mpt-run"), name + ".mlir",
                        "--data", f"x={prefix}x.npy", "--data", f"y={prefix}y.npy",
                        "--pipeline=" + ",".join(passes), *arguments, f"--seed={seed}",
                        "--threads=1", "--progress=none", "--metrics=" + metrics + ".part"],
                       check=True, cwd=folder, stdout=subprocess.DEVNULL)
        os.rename(metrics + ".part", metrics)
    with open(metrics) as file:
        losses = [float(record["loss"]) for record in map(json.loads, file) if "loss" in record]
    last = losses[-len(losses) // 10:]
    return sum(last) / len(last)


def interval(values):
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return mean, STUDENT[len(values)] * deviation / math.sqrt(len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--modes", default="deepseek,mxfp8")
    parser.add_argument("--folder")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.folder = options.folder or os.path.join(options.build, "benchmark", "fp8")
    print("network | mode | bf16's loss | difference | 95 % interval", flush=True)
    for name in options.networks:
        seeds = range(NETWORKS[name][2])
        reference = [train(options, name, "bf16", seed) for seed in seeds]
        for mode in options.modes.split(","):
            losses = [train(options, name, mode, seed) for seed in seeds]
            mean, half = interval([(a - b) / b for a, b in zip(losses, reference)])
            print(f"{name} | {mode} | {sum(reference) / len(reference):.4f} | {100 * mean:+.3f} % | "
                  f"{100 * (mean - half):+.3f} to {100 * (mean + half):+.3f} %", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--print"]:
        network.print_function("loss", NETWORKS[sys.argv[2]][0], True)
    else:
        main()
