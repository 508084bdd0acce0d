"""Steps that combine what training knows, one by one: combinations.py MPT_RUN CASE...,
in a directory with one.mlir, two.mlir and half.mlir.

Each case is trained in one go, and again step by step, each from the checkpoint of the
one before: both must end with the same bytes. Every step is compared with its definition
in f64, computed from the state before it. The gradient of the networks is data, c mean(a),
and `of_a` is its mean, so that nothing but the step itself is computed here.
"""

import json
import math
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../Reference/Inputs"))
from storage import TYPES, load  # noqa: E402

STEPS, LR, DECAY = 9, 0.0625, 0.75
# Whose gradients overflow, and whose are a spike.
BAD, SPIKE = 3, 7
C = np.array([1.0, -2.0, 0.5, 4.0, -0.25])
SPIKES = "skip-spikes=4 spike-warmup=3 spike-patience=5 spike-alpha=0.9"
ADAM = "adamw weight-decay=0.1"
EMA = "ema-decay=0.75"
SCALE = ["--loss-scale=dynamic init-scale=1024 growth-interval=2"]
KINDS = ["f32", "bf16-stochastic-rounding", "bf16-kahan", "split16"]
SCHEDULE = f"lr-schedule=cosine warmup=2 lr-final=0.25 total-steps={STEPS}"

# name: model, optimizer, micro-batches, options of mpt-run.
CASES = {}
for kind in KINDS:
    masters = [f"--master-weights={kind}"]
    CASES[f"ema-{kind}"] = ("one", f"sgd {EMA}", 1, SCALE + masters)
    CASES[f"all-{kind}"] = ("two", f"{ADAM} {EMA} {SPIKES} {SCHEDULE}", 3, SCALE + masters)
    for level in "O0", "O1", "O2":
        CASES[f"apex-{level}-{kind}"] = ("one", f"sgd {EMA}", 2, [f"--apex={level}"] + masters)
CASES["losses-accumulate"] = ("two", ADAM, 3, SCALE)
CASES["ema-accumulate"] = ("one", f"{ADAM} {EMA}", 3, SCALE)
CASES["schedule-accumulate"] = ("one", f"sgd {SCHEDULE}", 3, SCALE)
CASES["spikes-accumulate"] = ("one", f"sgd {SPIKES}", 3, SCALE)
CASES["half-none"] = ("half", f"sgd {EMA}", 1, SCALE)
for kind in "f32", "split16":
    CASES[f"half-{kind}"] = ("half", f"sgd {EMA}", 1, SCALE + [f"--master-weights={kind}"])
CASES["apex-O3"] = ("one", f"sgd {EMA}", 2, ["--apex=O3 loss-scale=64"])
# Rows in the order in which steps read them, by rows of a step.
orders = {}
# What is stored in less than f32 without a master.
NARROW = {"half-none": "bf16", "apex-O3": "f16"}


def make_data(batch):
    """Rows for the steps of one epoch, eighths, so that their sums are exact in f16."""
    count = STEPS * batch
    if batch not in orders:
        np.save("a.npy", np.arange(count, dtype=np.float32)[:, None])
        CASES["order"] = ("one", "sgd", 1, [])
        run("order", count, 1, "order", False)
        orders[batch] = [int(line["of_a"]) for line in read_lines("order")]
    order = np.array(orders[batch]).reshape(STEPS, batch)
    random = np.random.RandomState(7)
    for name in "ab":
        rows = (random.randint(4, 16, (count, 1)) / 8).astype(np.float32)
        rows[order[SPIKE - 1]] *= 64
        if name == "a":
            rows[order[BAD - 1]] = 3e38
        np.save(name + ".npy", rows)


def run(case, steps, batch, name, resume):
    model, optimizer, accumulate, options = CASES[case]
    command = [sys.argv[1], model + ".mlir", f"--steps={steps}", f"--batch={batch}", f"--lr={LR}",
               f"--optimizer={optimizer}", f"--checkpoint={name}.safetensors",
               f"--metrics={name}.jsonl", "--progress=none", "--threads=1"] + options
    if accumulate > 1:
        command.append(f"--accumulate={accumulate}")
    if resume:
        command.append("--resume")
    for data in "ab" if model == "two" else "a":
        command += ["--data", f"{data}={data}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def read_lines(name):
    lines = [json.loads(line) for line in open(name + ".jsonl")]
    for line in lines:
        del line["ms"]
    return lines


class Spikes:
    """zclip.py with skip_update_on_spike, without its cure for many spikes in a row."""

    def __init__(self):
        self.norms, self.mean, self.variance = [], None, None

    def is_spike(self, norm):
        if self.mean is None:
            self.norms.append(norm)
            if len(self.norms) == 3:
                self.mean, self.variance = np.mean(self.norms), np.var(self.norms)
        elif (norm - self.mean) / (self.variance**0.5 + 1e-6) > 4:
            return True
        else:
            self.mean = 0.9 * self.mean + 0.1 * norm
            self.variance = 0.9 * self.variance + 0.1 * (norm - self.mean) ** 2
        return False


def get_master(state):
    """What the optimizer starts from."""
    w = state["w"]
    if "w.compensation" in state:
        return w + state["w.compensation"]
    if "w.low" in state:
        bits = w.astype(np.float32).view(np.uint32).astype(np.int64) + state["w.low"]
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    return w


def get_rate(optimizer, taken):
    if SCHEDULE not in optimizer:
        return LR
    if taken < 2:
        return LR * (taken + 1) / 2
    p = min(1.0, (taken - 2) / (STEPS - 2))
    return LR * (0.25 + 0.75 * (1 + math.cos(math.pi * p)) / 2)


def close(found, expected, largest=1.0):
    # A dozen roundings to f32 of numbers of this size.
    return np.all(np.abs(found - expected) <= 12 * 2.0**-24 * np.maximum(np.abs(expected), largest))


def update(before, gradient, rate, step, isAdam):
    """The next parameters in f64, and the moments."""
    w = get_master(before)
    if not isAdam:
        return w - rate * gradient, {}
    m = 0.9 * before["w.exp_avg"] + 0.1 * gradient
    v = 0.999 * before["w.exp_avg_sq"] + 0.001 * gradient**2
    # Weight decay is for matrices; w is none.
    new = w - rate / (1 - 0.9**step) * m / (np.sqrt(v) / math.sqrt(1 - 0.999**step) + 1e-8)
    return new, {"w.exp_avg": m, "w.exp_avg_sq": v}


def check_stored(case, before, after, new):
    """What the state keeps of the optimizer's result."""
    bf16 = TYPES["bf16"]
    w = after["w"]
    if "stochastic" in case:
        error = np.abs(w - new)
        assert np.all(bf16.round(w) == w) and np.all(error <= bf16.ulp(new) * (1 + 1e-4)), (w, new)
    elif "w.low" in after:
        assert close(get_master(after), new), (get_master(after), new)
    elif "w.compensation" in after:
        # Rounded to nearest, but where the two ways to compute fall on a tie's two sides.
        assert np.all(np.abs(w - new) <= bf16.ulp(new) / 2 * (1 + 1e-4)), (w, new)
        assert np.all(np.abs(get_master(after) - new) <= 2.0**-8 * np.abs(w - new) + 1e-6)
    elif case in NARROW:
        assert np.all(np.abs(w - new) <= TYPES[NARROW[case]].ulp(new) / 2 * (1 + 1e-4)), (w, new)
    else:
        assert close(w, new), (w, new)


def check_step(case, before, after, line, spikes):
    model, optimizer, _, options = CASES[case]
    taken = int(before["step"])
    if line["found_inf"]:
        is_taken = False
        assert not isinstance(line["grad_norm"], float), (case, line)
    else:
        gradient = C * (line["of_a"] + (line["of_b"] if model == "two" else 0.0))
        norm = float(np.float32(line["grad_norm"]))
        expected = math.sqrt(np.sum(gradient**2))
        assert abs(norm - expected) <= 1e-6 * expected, (case, line, expected)
        is_taken = "skip-spikes" not in optimizer or not spikes.is_spike(norm)
    assert line["did_step"] == is_taken, (case, line)
    if not line["found_inf"]:  # else the norm is no number, which is a spike, too
        assert line.get("is_spike", False) != is_taken or "skip-spikes" not in optimizer, (case, line)
    assert int(after["attempt"]) == line["step"]
    if not is_taken:
        changed = {name for name in after if after[name].tobytes() != before[name].tobytes()}
        changed = {name for name in changed if not name.startswith("loss_scale")}
        assert changed <= {"attempt", "grad_norm.spikes"}, (case, line, changed)
        return
    assert int(after["step"]) == taken + 1
    rate = get_rate(optimizer, taken)
    assert abs(line.get("learning_rate", LR) - rate) <= 1e-6 * rate, (case, line, rate)
    new, moments = update(before, gradient, rate, taken + 1, "adam" in optimizer)
    for name, value in moments.items():
        assert close(after[name], value), (case, name, after[name], value)
    check_stored(case, before, after, new)
    if "ema-decay" in optimizer:
        # Of what the optimizer gives; a master of 16 bits keeps less of it.
        result = after["w"] if case in NARROW else new
        average = DECAY * before["w.ema"] + (1 - DECAY) * result if taken else result
        assert close(after["w.ema"], average), (case, line, after["w.ema"], average)


def check(case):
    _, optimizer, accumulate, options = CASES[case]
    batch = 4 * accumulate
    make_data(batch)
    run(case, STEPS, batch, "whole", False)
    spikes, before, skipped, spiked = Spikes(), None, 0, 0
    for step in range(1, STEPS + 1):
        run(case, step, batch, "parts", step > 1)
        after = load("parts.safetensors")
        line = read_lines("parts")[-1]
        if before is not None:
            check_step(case, before, after, line, spikes)
        else:
            # The first values are ones; its state is not known, but its norm is.
            if line["did_step"] and "skip-spikes" in optimizer:
                spikes.is_spike(float(np.float32(line["grad_norm"])))
        skipped += line["found_inf"]
        spiked += line.get("is_spike", False) and not line["found_inf"]
        before = after
    assert read_lines("parts") == read_lines("whole"), case
    with open("parts.safetensors", "rb") as parts, open("whole.safetensors", "rb") as whole:
        assert parts.read() == whole.read(), case
    assert skipped >= 1 and skipped + spiked < STEPS - 2, (case, skipped, spiked)
    assert (spiked >= 1) == ("skip-spikes" in optimizer), (case, spiked)
    print(f"{case}: {STEPS} steps, {skipped} overflow, {spiked} spikes: as defined, resumed bit for bit", flush=True)


for name in sys.argv[2:]:
    check(name)
