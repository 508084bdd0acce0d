"""Trains with every kind of master weights: masters.py MPT_RUN CHECK..., in a directory
with model.mlir, steady.mlir, x.npy and y.npy."""

import json
import struct
import subprocess
import sys

import numpy as np

TYPES = {"F32": "<f4", "BF16": "<u2", "F16": "<f2", "I16": "<i2", "I32": "<i4", "I64": "<i8", "BOOL": "u1"}


def load(path):
    """{name: array}; bf16 as f32."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, info in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = info["data_offsets"]
        array = np.frombuffer(data[8 + length + begin : 8 + length + end], TYPES[info["dtype"]])
        if info["dtype"] == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = array.reshape(info["shape"])
    return tensors


def join(state):
    """The state with both halves of a parameter as one, as an f32 master has it."""
    joined = {}
    for name, value in state.items():
        if name.endswith(".low"):
            continue
        low = state.get(name + ".low")
        if low is not None:
            value = (value.view(np.uint32) + low.astype(np.int64)).astype(np.uint32).view(np.float32)
        joined[name] = value
    return joined


def same(a, b):
    assert a.keys() == b.keys(), (sorted(a), sorted(b))
    for name in a:
        if a[name].tobytes() != b[name].tobytes() or a[name].dtype != b[name].dtype:
            return name
    return None


def run(kind, *options, model="model.mlir", steps=25, data=("x", "y"), checkpoint="s.safetensors", batch=16):
    command = [mpt_run, model, f"--steps={steps}", f"--checkpoint={checkpoint}", "--metrics=m.jsonl", "--progress=none"]
    if batch:
        command.append(f"--batch={batch}")
    for name in data:
        command += ["--data", f"{name}={name}.npy"]
    if kind:
        command.append(f"--master-weights={kind}")
    subprocess.run(command + list(options), check=True, stdout=subprocess.DEVNULL)
    lines = [json.loads(line) for line in open("m.jsonl")]
    for line in lines:
        line.pop("ms", None)
    return load(checkpoint), lines


def check_split(engine):
    """State and metrics of split16 are those of f32 masters, bit for bit."""
    for precision, scale in ("f32", "none"), ("bf16", "none"), ("f16", "dynamic init-scale=16777216 growth-interval=3"):
        optimizers = ["momentum", "adamw weight-decay=0.1 clip-norm=0.5"]
        for optimizer in optimizers + (["sgd", "adam"] if engine == "cpu" else []):
            options = [f"--engine={engine}", f"--precision={precision}", f"--loss-scale={scale}",
                       f"--optimizer={optimizer}", "--lr=0.01"]
            wide, wide_lines = run(None, *options)
            halves, lines = run("split16", *options)
            assert halves["w1.low"].any(), "the lower halves hold nothing"
            assert same(wide, join(halves)) is None, (precision, optimizer, same(wide, join(halves)))
            assert lines == wide_lines, (precision, optimizer)
            if precision == "f16":
                assert any(line["found_inf"] for line in lines), "no step was skipped"
            # The upper half alone is the nearest bf16.
            assert np.all(np.abs(wide["w1"] - halves["w1"]) <= np.abs(halves["w1"]) * 2.0**-8)
    # A model that declares bf16 reads the same low copy.
    options = [f"--engine={engine}", "--optimizer=adamw", "--lr=0.01", "--precision=bf16"]
    wide, wide_lines = run("f32", *options, model="low.mlir")
    halves, lines = run("split16", *options, model="low.mlir")
    assert same(wide, join(halves)) is None and lines == wide_lines
    print(f"{engine}: split16 equals f32 masters")


def check_repeats(kind):
    """The same bits again, on other numbers of threads and after a resume."""
    options = ["--optimizer=adamw", "--lr=0.01", "--precision=bf16"]
    state, lines = run(kind, *options, "--threads=1")
    again, _ = run(kind, *options, "--threads=3")
    assert same(state, again) is None, same(state, again)
    run(kind, *options, steps=11)
    resumed, _ = run(kind, *options, "--resume")
    assert same(state, resumed) is None, same(state, resumed)
    other, _ = run(kind, *options, "--seed=1")
    assert same(state, other), "the seed changes nothing"
    # The evaluation reads what training stores, in the type that it declares.
    _, lines = run(kind, *options, "--eval-function=eval", "--eval-data", "x=x.npy", "--eval-data", "y=y.npy")
    assert np.isfinite(lines[-1]["eval.loss"])
    print(f"{kind}: repeats")


def steady(kind, steps):
    """65,536 parameters at 1, all of which get an update of -2^-12 in every step."""
    state, _ = run(kind, "--optimizer=sgd", f"--lr={2.0**-12}", model="steady.mlir", data=("one",), steps=steps, batch=0)
    return state


def check_means():
    """Updates below half a unit in the last place add up."""
    steps, count, unit = 64, 65536, 2.0**-8
    want = 1 - steps * 2.0**-12
    # Rounding to nearest loses them all.
    assert np.all(steady("none", steps)["w"] == 1)
    rounded = steady("bf16-stochastic-rounding", steps)["w"].astype(np.float64)
    # A draw between neighbours `unit` apart has a deviation of at most unit / 2; draws
    # are independent, so five deviations of the mean of all are:
    bound = 5 * (unit / 2) * np.sqrt(steps / count)
    assert abs(rounded.mean() - want) < bound, (rounded.mean(), want, bound)
    assert rounded.std() > unit / 8, "all parameters drew the same"
    assert bound < (1 - want) / 20, "the bound says nothing"
    # The compensation is at most half a unit and rounded to 8 bits in every step.
    kahan = steady("bf16-kahan", steps)
    total = kahan["w"].astype(np.float64) + kahan["w.compensation"]
    assert np.all(np.abs(total - want) <= steps * (unit / 2) * 2.0**-9), (total[0], want)
    print("means: kept")


def check_init():
    """First values in f32 fill both halves; those of a split16 checkpoint come back."""
    options = ["--optimizer=sgd", "--lr=0"]
    wide, _ = run(None, *options, steps=1, checkpoint="wide.safetensors")
    first, _ = run("split16", *options, "--seed=7", "--init=wide.safetensors", steps=1)
    assert same({"w1": wide["w1"]}, {"w1": join(first)["w1"]}) is None
    first, _ = run("split16", *options, "--seed=8", "--init=s.safetensors", steps=1, checkpoint="t.safetensors")
    assert same({"w1": wide["w1"]}, {"w1": join(first)["w1"]}) is None
    for kind in "bf16-kahan", "bf16-stochastic-rounding":
        low, _ = run(kind, *options, "--seed=7", "--init=wide.safetensors", steps=1)
        bits = wide["w1"].view(np.uint32).astype(np.uint64)
        nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
        assert np.array_equal(low["w1"], nearest), kind
    print("init: exact")


mpt_run = sys.argv[1]
for check in sys.argv[2:]:
    if check.startswith("split:"):
        check_split(check[6:])
    elif check.startswith("repeats:"):
        check_repeats(check[8:])
    else:
        globals()["check_" + check]()
