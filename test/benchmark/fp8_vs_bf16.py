"""Losses of 8-bit training beside bf16's, over seeds.

    fp8_vs_bf16.py BUILD_DIR [NETWORK...] [--modes deepseek,mxfp8,block8] [--seeds N]
                   [--folder FOLDER] [--memory ROWS,..]

Trains each network in bf16 and in each of the modes, with the same initial values and batches.
Prints for each the mean over seeds of (its loss - bf16's) / bf16's with its 95 % interval
(Student's t), of two losses:

    held out    of the averaged parameters (ema-decay=0.99), in f32, on data that no step saw,
                after the last step
    training    the mean of the last tenth of the steps

Averages and a learning rate that ends at zero take out most of what two runs differ in by
chance: a change of one bit leads to another path through the same valley.
Metrics are kept in FOLDER (BUILD_DIR/benchmark/fp8), and what is there is not run again.

With --memory nothing is trained: it prints bytes a parameter, of state, and for batches of each
number of rows what the backward pass finds kept, and the arena (--mpt-memory-report).

Networks (all without NETWORK):

    gpt     the character GPT of docs/examples: 4 layers of width 256
    bert    the encoder of docs/examples: 2 layers of width 128
    lstm    a character LSTM of width 128 whose cell is made of linear layers
    resnet  bottlenecks whose 1x1 convolutions are linear layers
    vit     4 layers of width 128 on patches of 2x2

The last two read digits of scikit-learn, shifted and with noise, each picture once, of which a
fifth has a random label: their loss does not go to zero, relative to which any difference is
large.

Modes: `deepseek` and `mxfp8` are recipes of --mpt-fp8, `block8` and, with stochastic rounding,
`stochastic8` are --mpt-optimizer-state's; all else is bf16. `deepseek-bf16` and `deepseek-block8` are
both, the moments' kind after the recipe; `deepseek-again` computes norms again.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
sys.path.insert(0, EXAMPLES)
import network

# Two-sided 95 % of Student's t, by the number of seeds.
STUDENT = dict(enumerate((
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
    2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
    2.045, 2.042, 2.040), 2))

AUTOCAST = "mpt-autocast{type=bf16}"
MODES = {"bf16": [AUTOCAST], "deepseek": [AUTOCAST, "mpt-fp8{recipe=deepseek}"],
         "mxfp8": [AUTOCAST, "mpt-fp8{recipe=mxfp8}"],
         "block8": ["mpt-optimizer-state{kind=block8}", AUTOCAST],
         "stochastic8": ["mpt-optimizer-state{kind=block8 rounding=stochastic}", AUTOCAST]}
for recipe in "deepseek", "mxfp8":
    for kind in "bf16", "block8":
        MODES[f"{recipe}-{kind}"] = [f"mpt-optimizer-state{{kind={kind}}}", *MODES[recipe]]
MODES["deepseek-again"] = [AUTOCAST, "mpt-fp8{recipe=deepseek recompute=norms,swiglu}"]


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
    return net.results(net.cross_entropy(logits, labels))


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
    return net.results(net.cross_entropy(net.linear(x, "head", 10), labels))


def digits(folder, rows=16384, held_out=4096):
    """Pictures made of those of docs/examples/digits: shifted, with noise and wrong labels."""
    import numpy
    random = numpy.random.RandomState(0)
    for part, count in (("train", rows), ("test", held_out)):
        images, labels = (numpy.load(os.path.join(folder, f"{part}_{name}.npy")) for name in "xy")
        chosen = random.randint(len(labels), size=count)
        x = numpy.empty((count,) + images.shape[1:], numpy.float32)
        for i, shift in enumerate(random.randint(-1, 2, size=(count, 2))):
            x[i] = numpy.roll(images[chosen[i]], shift, (0, 1))
        x += random.normal(scale=0.25, size=x.shape)
        wrong = random.uniform(size=count) < 0.2
        y = numpy.where(wrong, random.randint(10, size=count), labels[chosen]).astype(numpy.int32)
        prefix = "" if part == "train" else "test_"
        numpy.save(os.path.join(folder, prefix + "x.npy"), x)
        numpy.save(os.path.join(folder, prefix + "y.npy"), y)


def hold_out(folder, rows):
    """Moves rows from the training data until `rows` are held out, or leaves as many."""
    import numpy
    for name in "xy":
        train = numpy.load(os.path.join(folder, name + ".npy"))
        test = numpy.load(os.path.join(folder, f"test_{name}.npy"))
        missing = max(0, rows - len(test))
        test = numpy.concatenate([test, train[:missing]])
        numpy.save(os.path.join(folder, name + ".npy"), train[missing:])
        numpy.save(os.path.join(folder, f"test_{name}.npy"), test[::len(test) // rows][:rows])


# How each is made: its function, its data, rows held out, seeds, --mpt-train-step's and
# mpt-run's options.
NETWORKS = {
    "gpt": (gpt, ["gpt", "--context=32"], 1024, 3, "weight-decay=0.1 clip-norm=1",
            ["--batch=8", "--steps=2000", "--lr=5e-4", "--warmup=100"]),
    "bert": (bert, ["bert"], 4096, 5, "weight-decay=0.01 clip-norm=1",
             ["--batch=32", "--steps=600", "--lr=0.002", "--warmup=30"]),
    "lstm": (lstm, ["gpt", "--context=16"], 2048, 5, "clip-norm=1",
             ["--batch=16", "--steps=1000", "--lr=0.004", "--warmup=20"]),
    "resnet": (resnet, ["digits"], 4096, 5, "weight-decay=0.05",
               ["--batch=64", "--steps=256", "--lr=0.002", "--warmup=20"]),
    "vit": (vit, ["digits"], 4096, 5, "weight-decay=0.05",
            ["--batch=64", "--steps=256", "--lr=0.001", "--warmup=20"]),
}
DECAY = 0.99


def write_network(name, folder):
    """The network and its data, in `folder`."""
    if os.path.exists(os.path.join(folder, "made")):
        return
    maker, *options = NETWORKS[name][1]
    subprocess.run([sys.executable, os.path.join(EXAMPLES, maker, "make_data.py"), folder, *options],
                   check=True, stdout=subprocess.DEVNULL)
    if maker == "digits":
        digits(folder)
    hold_out(folder, NETWORKS[name][2])
    with open(os.path.join(folder, name + ".mlir"), "w") as file:
        text = subprocess.run([sys.executable, os.path.abspath(__file__), "--print", name], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        file.write(text)
    open(os.path.join(folder, "made"), "w").close()


def get_passes(mode, step):
    return ["mpt-autodiff{function=loss}", f"mpt-train-step{{function=loss optimizer=adamw {step}}}",
            *MODES[mode], "canonicalize"]


def plan_memory(options, name, mode, rows):
    """Bytes a parameter: state, what is kept for the backward pass, and the arena."""
    folder = os.path.join(options.folder, name)
    write_network(name, folder)
    report = os.path.join(folder, "memory.json")
    passes = [f"mpt-specialize{{batch={rows}}}", *get_passes(mode, NETWORKS[name][-2]),
              f"mpt-memory-report{{function=loss format=json output={report}}}"]
    subprocess.run([os.path.join(options.build, "bin", "mpt-opt"), name + ".mlir", "-o", os.devnull,
                    f"--pass-pipeline=builtin.module({','.join(passes)})"], check=True, cwd=folder)
    with open(os.path.join(folder, name + ".mlir")) as file:
        lines = file.read().split("func.func @eval")[0].splitlines()
    parameters = sum(math.prod(int(size) for size in re.findall(r"(\d+)x", line.split("tensor<")[1]))
                     for line in lines if 'mpt.role = "parameter"' in line)
    loss = next(str(i) for i, line in enumerate(lines, 1) if "mpt.cross_entropy" in line)
    with open(report) as file:
        plan = json.load(file)["functions"][0]
    # The forward pass ends at the ops that stand for the loss's line.
    ends = [i for i, op in enumerate(plan["ops"]) if loss in re.split(r"[:, ]+", op["location"])[1:]]
    kept = max(sum(buffer["bytes"] for buffer in plan["buffers"]
                   if buffer["first"] < end < buffer["last"] and not buffer["in_place"])
               for end in ends)
    return [number / parameters for number in (plan["state"], kept, plan["arena"])]


def print_memory(options, modes):
    rows = [int(text) for text in options.memory.split(",")]
    print("network | mode | state | " + " | ".join(f"kept, {n} rows | arena, {n} rows" for n in rows))
    for name in options.networks:
        for mode in ["bf16", *modes]:
            plans = [plan_memory(options, name, mode, n) for n in rows]
            print(f"{name} | {mode} | {plans[0][0]:.1f} | "
                  + " | ".join(f"{kept:.1f} | {arena:.1f}" for _, kept, arena in plans), flush=True)


def train(options, name, mode, seed):
    """Trains, unless that is done. Returns the two losses."""
    folder = os.path.join(options.folder, name)
    metrics = os.path.join(folder, f"{mode}-{seed}.jsonl")
    *_, step, arguments = NETWORKS[name]
    if not os.path.exists(metrics):
        write_network(name, folder)
        passes = get_passes(mode, f"ema-decay={DECAY} {step}")
        subprocess.run([os.path.join(options.build, "bin", "mpt-run"), name + ".mlir",
                        "--function=loss", "--data", "x=x.npy", "--data", "y=y.npy",
                        "--pipeline=" + ",".join(passes), *arguments, "--lr-schedule=cosine",
                        "--eval-function=eval", "--eval-data", "x=test_x.npy",
                        "--eval-data", "y=test_y.npy", "--eval-batch=128", "--eval-weights=ema",
                        f"--seed={seed}", "--threads=1", "--progress=none",
                        "--metrics=" + metrics + ".part"],
                       check=True, cwd=folder, stdout=subprocess.DEVNULL)
        os.rename(metrics + ".part", metrics)
        print(f"trained {name}, {mode}, seed {seed}", file=sys.stderr, flush=True)
    with open(metrics) as file:
        records = [json.loads(line) for line in file]
    losses = [float(record["loss"]) for record in records if "loss" in record]
    last = losses[-(len(losses) // 10):]
    held_out = [float(record["eval.loss"]) for record in records if "eval.loss" in record]
    return held_out[-1], sum(last) / len(last)


def interval(values):
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return mean, STUDENT[len(values)] * deviation / math.sqrt(len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--modes", default="deepseek,mxfp8,block8")
    parser.add_argument("--seeds", type=int, help="instead of the network's own number")
    parser.add_argument("--folder")
    parser.add_argument("--memory", help="rows of batches, to print memory instead")
    options = parser.parse_intermixed_args()
    options.build = os.path.abspath(options.build)
    options.folder = os.path.abspath(options.folder or os.path.join(options.build, "benchmark", "fp8"))
    if options.memory:
        return print_memory(options, options.modes.split(","))
    print("network | mode | loss | seeds | bf16's | difference | 95 % interval", flush=True)
    for name in options.networks:
        seeds = range(options.seeds or NETWORKS[name][3])
        modes = options.modes.split(",")
        runs = {(mode, seed): train(options, name, mode, seed)
                for seed in seeds for mode in ["bf16", *modes]}
        for mode in modes:
            for i, kind in enumerate(("held out", "training")):
                reference = [runs["bf16", seed][i] for seed in seeds]
                mean, half = interval([(runs[mode, seed][i] - loss) / loss
                                       for seed, loss in zip(seeds, reference)])
                print(f"{name} | {mode} | {kind} | {len(seeds)} | "
                      f"{sum(reference) / len(reference):.4f} | {100 * mean:+.3f} % | "
                      f"{100 * (mean - half):+.3f} to {100 * (mean + half):+.3f} %", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--print"]:
        network.print_module(f"The network {sys.argv[2]!r} of fp8_vs_bf16.py.", NETWORKS[sys.argv[2]][0])
    else:
        main()
