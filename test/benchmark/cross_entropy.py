"""Time of the kernels of a cross-entropy, its gradient included, beside a copy, on the CPU.

    PYTHONPATH=BUILD_DIR/python cross_entropy.py [--rounds 4] [--steps 10]

512 rows of logits come from a linear layer of width 8. Times are by step.profile() on one thread: of the
kernels on the loss's line, ms, the least mean of the rounds, which go through all rows in turns. The copy is
one of as many bytes as reading the logits once and writing their gradient once, in processor time.
"""

import argparse
import time

import torch
from torch import nn
import torch.nn.functional as F

import mpt.torch

ROWS, WIDTH = 512, 8
CASES = {"50,304": (50304, {}), "8,192": (8192, {}),
         "30,522, ignore_index, smoothing": (30522, dict(ignore_index=-100, label_smoothing=0.1))}


def make(classes, options, precision):
    torch.manual_seed(0)
    y = torch.randint(0, classes, (ROWS,))
    if options:
        y[::5] = options["ignore_index"]
    batch = torch.randn(ROWS, WIDTH), y

    def loss(model, x, y):
        logits = model(x)
        return F.cross_entropy(logits, y, **options)

    model = nn.Linear(WIDTH, classes, bias=False)
    step = mpt.torch.TrainStep(model, loss, optimizer=torch.optim.SGD(model.parameters(), 1e-3),
                               example=batch, threads=1, precision=precision)
    step(*batch)
    line = str(loss.__code__.co_firstlineno + 2)
    return step, batch, line


def measure(step, batch, line, steps):
    with step.profile() as profile:
        for _ in range(steps + 1):
            step(*batch)
    times = [i["ms"] for i in profile.data["instructions"]
             if i["call"] == "kernel" and f":{line}:" in i["source"]]
    assert times, "no kernel is on the loss's line"
    return sum(times)


def copy_ms(elements, size):
    source, target = (torch.ones(elements * size, dtype=torch.uint8) for _ in range(2))
    best = float("inf")
    for _ in range(10):
        begin = time.process_time()
        target.copy_(source)
        best = min(best, 1e3 * (time.process_time() - begin))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| classes | | ms | copy | ms / copy |\n| --- | --- | ---: | ---: | ---: |")
    for name, case in CASES.items():
        steps = {precision: make(*case, precision) for precision in ("f32", "bf16", "f16")}
        best = dict.fromkeys(steps, float("inf"))
        for _ in range(options.rounds):
            for precision, step in steps.items():
                best[precision] = min(best[precision], measure(*step, options.steps))
        for precision, ms in best.items():
            copied = copy_ms(ROWS * case[0], 4 if precision == "f32" else 2)
            print(f"| {name} | {precision} | {ms:.2f} | {copied:.2f} | {ms / copied:.2f} |", flush=True)


if __name__ == "__main__":
    main()
