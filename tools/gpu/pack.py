"""Fills a folder with what tools/gpu-check.sh needs on a machine with a GPU.

    pack.py BUILD_DIR FOLDER [--only sincos,digits] [--precision f32,bf16,f16]
            [--no-time] [--chips sm_90,sm_100] [--emulated] [--pack-limit 45]

For each network of docs/examples and each precision: the step compiled for GPUs, its
first state, and what MPT's oracle (`mpt-run --engine=reference`, which shares no code
with the compiled path) makes of some steps on one batch; data to train on, and how far
the CPU gets on it. Networks of EIGHT_BIT also have the recipes of 8-bit floats, each for
every chip that has it. Then larger steps that are only timed. What does not compile is
named in manifest.json with the reason. Needs numpy, and what make_data.py needs.
`--emulated` makes programs that run on the stand-in for CUDA, too.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import numpy

import check

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
STEPS = 3  # that the oracle makes
TRAIN_STEPS = 60

# name: rows of a batch, options of the optimizer, learning rate, files of the data
NETWORKS = {
    "sincos": (256, "optimizer=adam", 0.01, {"x": "x.npy", "sin": "sin.npy", "cos": "cos.npy"}),
    "digits": (32, "optimizer=adamw weight-decay=0.1", 0.004, {"x": "train_x.npy", "y": "train_y.npy"}),
    "tabular": (128, "optimizer=adamw weight-decay=0.01", 0.003, {"x": "x.npy", "v": "v.npy", "y": "y.npy"}),
    "lstm": (16, "optimizer=adamw clip-norm=1", 0.005, {"x": "x.npy", "y": "y.npy"}),
    "unet": (8, "optimizer=adamw", 0.005, {"x": "x.npy", "y": "y.npy"}),
    "resnet": (16, "optimizer=adamw weight-decay=0.05", 0.003, {"x": "train_x.npy", "y": "train_y.npy"}),
    "bert": (8, "optimizer=adamw weight-decay=0.01 clip-norm=1", 0.001, {"x": "x.npy", "y": "y.npy"}),
    "gpt": (8, "optimizer=adamw weight-decay=0.1 clip-norm=1", 0.003, {"x": "x.npy", "y": "y.npy"}),
}

# Recipes of 8-bit floats, whose other ops are bf16: from which chip on there is one, and
# whether the chips have it in common.
RECIPES = {"current": (89, True), "deepseek": (90, False), "mxfp8": (100, False)}
# Networks that have them, and rows of a batch: the oracle rounds each block.
EIGHT_BIT = {"gpt": 2}

# Steps that are timed next to PyTorch's, by the model of torch_models.py: how the text
# is made, rows of a batch, precisions.
TIMED = {
    "sincos": (["docs/examples/sincos/sincos.mlir"], 512, ("f32", "f16", "bf16")),
    "gpt2": (["docs/examples/gpt/make_model.py", "--layers", "12", "--width", "768", "--heads", "12",
              "--context", "1024", "--vocabulary", "50304"], 64, ("bf16",)),
    "bert_base": (["tools/gpu/make_models.py", "bert_base"], 32, ("f32", "bf16")),
    "resnet50": (["tools/gpu/make_models.py", "resnet50"], 128, ("f32", "bf16")),
    "vit": (["test/benchmark/networks.py", "vit-b16"], 64, ("bf16",)),
    "llama": (["test/benchmark/networks.py", "llama-1b"], 4, ("bf16",)),
}
# Networks that are timed with each way of attention: options of mpt-compile, by name.
ATTENTION = {"mma": ["--attention-variant=mma"], "auto": ["--attention-variant=auto"],
             "cudnn": ["--attention-variant=auto", "--attention=cudnn"]}
ATTENDING = ("gpt2", "bert_base")
# What --report-chip calls the GPUs of a chip.
GPUS = {"sm_80": ("a100",), "sm_90": ("h100", "h200"), "sm_100": ("b200",)}
# Of a rank of the steps that exchange.
RANK_ROWS = 64
# Of one rank each exchange gives what it takes: the result is the mean of the numbers.
ONE_RANK = """module attributes {mpt.mesh = #mpt.mesh<data = 1>} {
func.func @loss(%x: tensor<64x32xf32> {mpt.name = "exchanged", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.all_reduce %x {axis = "data", order = #mpt.collective_order<library>} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = mpt.all_to_all %0 {axis = "data"} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = mpt.all_gather %1 {axis = "data"} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = mpt.reduce %2 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<64x32xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
}
"""
# Of a timed network that tells classes apart: how many.
CLASSES = {"gpt2": 50304, "bert_base": 30528, "resnet50": 1000, "llama": 32000}
# Whose first loss is computed on the CPU: that of a regression, and of logits that are far from zero, as behind norms.
COMPUTED = ("sincos", "resnet50")
# Networks that convolve, which run with cuDNN and without.
CONVOLVING = ("resnet", "resnet50")
FLOATS = {"f64": ("F64", "<f8"), "f32": ("F32", "<f4"), "f16": ("F16", "<f2"), "bf16": ("BF16", None),
          "i64": ("I64", "<i8"), "i32": ("I32", "<i4"), "i8": ("I8", "<i1"), "i1": ("BOOL", "?")}


class Failure(Exception):
    pass


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        # Past an error come notes, as the whole operation.
        text = (done.stderr or done.stdout).strip()
        lines = [line for line in text.splitlines() if "error:" in line or line.startswith("mpt-")]
        raise Failure((lines or text.splitlines() or ["no message"])[0][:300])
    return done.stdout


def to_bytes(kind, values):
    if kind == "bf16":
        bits = numpy.asarray(values, "<f4").view("<u4")
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
    return numpy.asarray(values).astype(FLOATS[kind][1]).tobytes()


def write_safetensors(path, tensors):
    """`tensors`: name -> (kind, shape, bytes)."""
    header, offset = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": FLOATS[kind][0], "shape": list(shape),
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, _, data in tensors.values():
            file.write(data)


def read_safetensors(path):
    """name -> (entry of the header, bytes)."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        body = file.read()
    return {name: (entry, body[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def pack_safetensors(tensors, target):
    """What read_safetensors gives, compressed."""
    kept, parts, offset = {}, [], 0
    for name, (entry, part) in tensors.items():
        kept[name] = {**entry, "data_offsets": [offset, offset + len(part)]}
        parts.append(part)
        offset += len(part)
    text = json.dumps(kept).encode()
    with gzip.open(target, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def read_arguments(step, function):
    """The arguments of a step: (name, role, kind, shape, init) in order."""
    text = open(step).read()
    start = text.index(f"func.func @{function}(")
    text = text[start:text.index("->", start)]
    found = []
    for piece in re.split(r"%[\w]+: ", text)[1:]:
        type_ = re.match(r"tensor<([^>]*)>", piece).group(1).split("x")
        get = lambda key: re.search(key + r' = "([^"]*)"', piece)
        init = re.search(r"mpt\.init = \{([^}]*)\}", piece)
        numbers = dict(re.findall(r"(\w+) = ([-+\w.]+)", init.group(1))) if init else {}
        kind = re.search(r'kind = "(\w+)"', init.group(1)).group(1) if init else None
        numbers.pop("kind", None)
        found.append((get(r"mpt\.name").group(1), get(r"mpt\.role").group(1) if get(r"mpt\.role") else "input",
                      type_[-1], [int(d) for d in type_[:-1]], kind, {k: float(v) for k, v in numbers.items()}))
    return found


def initial(name, kind, shape, numbers, random):
    if kind == "zeros" and name.endswith("gamma"):
        # A residual branch that ends in a scale of zeros has no gradients inside.
        return random.uniform(-0.1, 0.1, shape)
    if kind in (None, "zeros"):
        return numpy.zeros(shape)
    if kind == "ones":
        return numpy.ones(shape)
    if kind == "constant":
        return numpy.full(shape, numbers["value"])
    if kind == "uniform":
        return random.uniform(numbers["low"], numbers["high"], shape)
    if kind in ("normal", "trunc_normal"):
        return random.normal(numbers["mean"], numbers["std"], shape).clip(
            numbers["mean"] - 2 * numbers["std"], numbers["mean"] + 2 * numbers["std"])
    bound = {"kaiming_uniform": lambda n: (1 / n["fan_in"]) ** 0.5,
             "xavier_uniform": lambda n: (6 / (n["fan_in"] + n["fan_out"])) ** 0.5}[kind](numbers)
    return random.uniform(-bound, bound, shape)


def read_losses(metrics):
    return [step["loss"] for step in map(json.loads, open(metrics)) if "loss" in step]


class Packer:
    def __init__(self, build, folder, options):
        self.bin, self.lib, self.folder, self.options = os.path.join(build, "bin"), os.path.join(build, "lib"), folder, options
        self.work = os.path.join(folder, "..", os.path.basename(folder) + ".work")
        os.makedirs(self.work, exist_ok=True)
        # Of each network: the file of the first state packed, and its tensors.
        self.states = {}

    def tool(self, name):
        return os.path.join(self.bin, name)

    def make_step(self, model, name, precision, batch, optimizer, lr, ranks=""):
        """A step of static shapes, in the work folder. `ranks`: a pass that cuts batches."""
        text = open(model).read()
        # The sin/cos network has its points in its types.
        text = text.replace("20000x", f"{batch}x")
        source, step = (os.path.join(self.work, f"{name}.{precision}.{end}") for end in ("model.mlir", "mlir"))
        open(source, "w").write(text)
        passes = [f"--mpt-autodiff=function=loss", *filter(None, [ranks]), f"--mpt-train-step=function=loss {optimizer} lr={lr}"]
        if precision in RECIPES:
            recipe, autocast = f"--mpt-fp8=recipe={precision} function=loss", "--mpt-autocast=type=bf16"
            # As mpt-run has them: scales that are state come before autocast.
            passes += [recipe, autocast] if precision == "current" else [autocast, recipe]
        elif precision != "f32":
            passes = [f"--mpt-mixed-precision=type={precision} function=loss {optimizer} lr={lr}"]
        run(self.tool("mpt-opt"), source, f"--mpt-specialize=batch={batch}", *passes, "-o", step)
        return step

    def compile(self, step, program, emulated, chips, *more):
        chips = [f"--chip={chip}" for chip in chips]
        run(self.tool("mpt-compile"), step, "--function=loss", "--target=cuda", *chips,
            *(["--emulated-kernels"] if emulated else []), *more, "-o", os.path.join(self.work, program[:-3]))
        with open(os.path.join(self.work, program[:-3]), "rb") as file, \
                gzip.open(os.path.join(self.folder, program), "wb") as packed:
            shutil.copyfileobj(file, packed)

    def targets(self, name, precision):
        """The chips of each program of a network."""
        chips = self.options.chips.split(",")
        if precision not in RECIPES:
            return [chips]
        least, are_together = RECIPES[precision]
        fit = [chip for chip in chips if int(re.sub(r"\D", "", chip)) >= least] if name in EIGHT_BIT else []
        return [fit] * bool(fit) if are_together else [[chip] for chip in fit]

    def convolutions(self, name):
        return ["--convolutions=cudnn"] if name in CONVOLVING else []

    def data(self, name):
        folder = os.path.join(self.work, "data." + name)
        if not os.path.exists(folder):
            run(sys.executable, os.path.join(EXAMPLES, name, "make_data.py"), folder)
        return folder

    def check(self, name, precision, chips):
        batch, optimizer, lr, files = NETWORKS[name]
        entry = {"network": name, "precision": precision, "batch": batch, "program": f"{name}.{precision}.so.gz",
                 "cudnn": name in CONVOLVING}
        if precision in RECIPES:
            entry.update(batch=EIGHT_BIT[name], chips=chips, program=f"{name}.{precision}.{'.'.join(chips)}.so.gz")
            batch = entry["batch"]
        try:
            step = self.make_step(os.path.join(EXAMPLES, name, name + ".mlir"), name, precision, batch, optimizer, lr)
            self.compile(step, entry["program"], self.options.emulated, chips, *self.convolutions(name))
        except Failure as failure:
            return {**entry, "program": None, "why": str(failure)}
        random = numpy.random.RandomState(7)
        arguments = read_arguments(step, "loss")
        state = {argument: (kind, shape, to_bytes(kind, initial(argument, init, shape, numbers, random)))
                 for argument, role, kind, shape, init, numbers in arguments if role not in ("input", "target")}
        base = os.path.join(self.work, f"{name}.{precision}")
        write_safetensors(base + ".init.safetensors", state)
        data, train = {}, {}
        for argument, role, kind, shape, _, _ in arguments:
            if role in ("input", "target"):
                array = numpy.load(os.path.join(self.data(name), files[argument]))
                rows = numpy.arange(batch * 24) % len(array)
                numpy.save(f"{base}.{argument}.npy", array[rows[:batch]])
                train["data." + argument] = (kind, (len(rows), *shape[1:]), to_bytes(kind, array[rows]))
                data[argument] = f"{base}.{argument}.npy"
        flags = [flag for argument, path in data.items() for flag in ("--data", f"{argument}={path}")]
        common = [step, "--function=loss", *flags, f"--batch={batch}", f"--init={base}.init.safetensors",
                  f"--lr={lr}", "--progress=none"]
        metrics = base + ".jsonl"
        # The state is kept after the first step, the losses of all.
        oracle = ["--engine=reference", f"--checkpoint={base}.after.safetensors"]
        run(self.tool("mpt-run"), *common, *oracle, "--steps=1", f"--metrics={metrics}")
        after = read_safetensors(f"{base}.after.safetensors")
        run(self.tool("mpt-run"), *common, *oracle, f"--steps={STEPS}", "--resume", f"--metrics={metrics}")
        entry["losses"] = read_losses(metrics)
        # Parameters are the same in all precisions: later files hold what is not in the
        # first. Most of the rest of a state is zeros.
        entry["init"] = [f"{name}.{precision}.init.safetensors.gz"]
        tensors = read_safetensors(f"{base}.init.safetensors")
        file, known = self.states.setdefault(name, (entry["init"][0], tensors))
        if file not in entry["init"] and known.keys() <= tensors.keys():
            entry["init"].insert(0, file)
            tensors = {tensor: value for tensor, value in tensors.items()
                       if tensor not in known or known[tensor][1] != value[1]}
        pack_safetensors(tensors, os.path.join(self.folder, entry["init"][-1]))
        # Of what comes out only first moments are compared: gradients, but for a factor.
        pack_safetensors({tensor: value for tensor, value in after.items() if tensor.endswith(".exp_avg")},
                         os.path.join(self.folder, f"{name}.{precision}.after.safetensors.gz"))
        if not os.path.exists(os.path.join(self.folder, f"{name}.data.safetensors")):
            write_safetensors(os.path.join(self.folder, f"{name}.data.safetensors"), train)
        # How far the CPU gets, on the same rows in another order.
        for argument in data:
            array = numpy.load(os.path.join(self.data(name), files[argument]))
            numpy.save(data[argument], array[numpy.arange(batch * 24) % len(array)])
        run(self.tool("mpt-run"), *common, f"--steps={TRAIN_STEPS}", f"--metrics={metrics}")
        losses = read_losses(metrics)
        entry["train"] = {"steps": TRAIN_STEPS, "first": losses[0], "last": sum(losses[-6:]) / 6}
        return entry

    def ranks(self):
        """What exchanges by NCCL: on one rank, and a step of two beside one that accumulates."""
        _, optimizer, lr, _ = NETWORKS["sincos"]
        alone = os.path.join(self.work, "ranks.one.mlir")
        open(alone, "w").write(ONE_RANK)
        entry = {"network": "sincos", "precision": "f32", "batch": RANK_ROWS, "programs": {}}
        for way, cut in (("one", None), ("two", "--mpt-data-parallel=size=2"),
                         ("accumulated", "--mpt-accumulate=steps=2")):
            program = f"ranks.{way}.so.gz"
            try:
                step = alone if way == "one" else self.make_step(
                    os.path.join(EXAMPLES, "sincos", "sincos.mlir"), "ranks." + way, "f32", RANK_ROWS, optimizer, lr, cut)
                self.compile(step, program, self.options.emulated, self.options.chips.split(","))
            except Failure as failure:
                return {**entry, "programs": None, "why": str(failure)}
            entry["programs"][way] = program
        arguments = read_arguments(step, "loss")
        random = numpy.random.RandomState(7)
        write_safetensors(os.path.join(self.work, "ranks.init.safetensors"), {
            argument: (kind, shape, to_bytes(kind, initial(argument, init, shape, numbers, random)))
            for argument, role, kind, shape, init, numbers in arguments if role not in ("input", "target")})
        pack_safetensors(read_safetensors(os.path.join(self.work, "ranks.init.safetensors")),
                         os.path.join(self.folder, "ranks.init.safetensors.gz"))
        write_safetensors(os.path.join(self.folder, "ranks.data.safetensors"), {
            "data." + argument: (kind, shape, to_bytes(kind, random.uniform(-1, 1, shape)))
            for argument, role, kind, shape, _, _ in [*arguments, *read_arguments(alone, "loss")]
            if role in ("input", "target")})
        return entry

    def ways(self, name, precision):
        """The ways of attention that a timed step is compiled for; None: the default."""
        has = name in ATTENDING and precision != "f32" and "sm_90" in self.options.chips.split(",")
        return list(ATTENTION) if has else [None]

    def time(self, name, precision, attention):
        source, batch, _ = TIMED[name]
        words = [name, precision, *([attention] if attention else [])]
        entry = {"network": name, "precision": precision, "batch": batch, "program": f"time.{'.'.join(words)}.so.gz",
                 "cudnn": name in CONVOLVING, "classes": CLASSES.get(name)}
        if attention:
            entry["attention"] = attention
        try:
            model = os.path.join(ROOT, source[0])
            if model.endswith(".py"):
                text = run(sys.executable, model, *source[1:])
                model = os.path.join(self.work, f"time.{name}.model.mlir")
                open(model, "w").write(text)
            step = self.make_step(model, "time." + name, precision, batch, "optimizer=adamw weight-decay=0.01", 1e-4)
            # Biases as PyTorch's autocast rounds them. AdamW, and f16's dynamic scaling,
            # are in the step.
            self.compile(step, entry["program"], self.options.emulated, self.options.chips.split(","),
                         *([] if precision == "f32" else ["--low-biases"]),
                         *ATTENTION.get(attention, []), *self.convolutions(name))
            entry["estimate"] = self.estimate(entry["program"])
        except Failure as failure:
            return {**entry, "program": None, "why": str(failure)}
        entry["arguments"] = [[argument, role, kind, shape, init, numbers]
                              for argument, role, kind, shape, init, numbers in read_arguments(step, "loss")]
        if name in COMPUTED:
            model = os.path.join(self.work, f"time.{name}.{precision}.model.mlir")
            entry["first_loss"] = self.compute_first_loss(model, entry)
        return entry

    def estimate(self, program):
        """What each launch and call of a timed step costs by `mpt-compile --report`, on each GPU of the chips."""
        found = {}
        report = os.path.join(self.work, program + ".report.json")
        for gpu in (gpu for chip in self.options.chips.split(",") for gpu in GPUS.get(chip, ())):
            run(self.tool("mpt-compile"), os.path.join(self.work, program[:-3]), f"--report={report}", f"--report-chip={gpu}")
            with open(report) as file:
                costs = json.load(file)
            for one in costs["instructions"] + costs["alternatives"]:
                kept = found.setdefault(one["number"], {
                    "kernel": one.get("kernel", ""), "bytes": round(one["bytes_read"] + one["bytes_written"]),
                    "flops": round(one.get("tensor_flops", 0) + one["float_flops"] + one["double_flops"]), "on": {}})
                kept["on"][gpu] = [one["ms"], one["bound"]]
        name = program.replace(".so.gz", ".estimate.json.gz")
        with gzip.open(os.path.join(self.folder, name), "wt") as file:
            json.dump(found, file)
        return name

    def compute_first_loss(self, model, entry):
        """The loss of a timed step's first batch: in f32, and forward alone, which takes little memory."""
        forward = os.path.join(self.work, f"first.{entry['network']}.so")
        run(self.tool("mpt-opt"), model, f"--mpt-specialize=batch={entry['batch']}", "-o", forward + ".mlir")
        run(self.tool("mpt-compile"), forward + ".mlir", "--function=loss", "-o", forward)
        with check.Program(check.Runtime(os.path.join(self.lib, "libMPTRuntime.so")), forward) as program:
            check.give(program, entry)
            program.run()
            return program.loss()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--only", default=",".join(NETWORKS))
    parser.add_argument("--only-timed", default=",".join(TIMED))
    parser.add_argument("--precision", default=",".join(["f32", "bf16", "f16", *RECIPES]))
    parser.add_argument("--chips", default="sm_90")
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--emulated", action="store_true")
    parser.add_argument("--pack-limit", type=float, default=45, help="most MiB of the folder")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    packer = Packer(os.path.abspath(options.build), folder, options)
    runtime = shutil.copy(os.path.join(options.build, "lib", "libMPTRuntimeCuda.so"), folder)
    for script in ("check.py", "torch_models.py", "jax_models.py"):
        shutil.copy(os.path.join(HERE, script), folder)
    shutil.copy(os.path.join(ROOT, "tools", "gpu-check.sh"), folder)
    manifest = {"chips": options.chips, "steps": STEPS, "runtime_bytes": os.path.getsize(runtime), "check": [], "time": [],
                "ranks": [packer.ranks()]}
    print(f"ranks: {manifest['ranks'][0].get('why', 'compiled')}", flush=True)
    for name in options.only.split(","):
        for precision in options.precision.split(","):
            for chips in packer.targets(name, precision):
                entry = packer.check(name, precision, chips)
                manifest["check"].append(entry)
                words = [name, precision, *entry.get("chips", [])]
                print(f"{' '.join(words)}: {entry.get('why', entry.get('losses'))}", flush=True)
    if not options.no_time:
        for name in options.only_timed.split(","):
            for precision in TIMED[name][2]:
                for attention in packer.ways(name, precision):
                    entry = packer.time(name, precision, attention)
                    manifest["time"].append(entry)
                    words = [name, precision, *([attention] if attention else [])]
                    print(f"time {' '.join(words)}: {entry.get('why', 'compiled')}", flush=True)
    with open(os.path.join(folder, "manifest.json"), "w") as file:
        json.dump(manifest, file)
    size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    print(f"{folder}: {size / (1 << 20):.1f} MiB")
    if size > options.pack_limit * (1 << 20):
        sys.exit(f"pack.py: more than {options.pack_limit:g} MiB (--pack-limit); leave some networks out with --only")


if __name__ == "__main__":
    main()
