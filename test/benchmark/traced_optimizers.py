"""Steps of mpt.torch with optimizers that are traced, beside those that are ops, and PyTorch.

    PYTHONPATH=BUILD_DIR/python traced_optimizers.py [--rounds 4] [--threads 1]

A ResNet-18 of torchvision on 16 images of 64x64, f32. For each optimizer: seconds from the
model to a step that can run, of which tracing the optimizer; processor time of a step of MPT and
of PyTorch eager, in turns, the least of the rounds; bytes of temporary values and of state.
"""
import argparse
import copy
import time
import warnings

import torch
import torchvision
from torch import optim
from torch.nn.functional import cross_entropy

import mpt.torch
from mpt import _traced_optimizer

OPTIMIZERS = {
    "AdamW": lambda p: optim.AdamW(p, 1e-3),
    "AdamW amsgrad": lambda p: optim.AdamW(p, 1e-3, amsgrad=True),
    "SGD momentum": lambda p: optim.SGD(p, 1e-3, momentum=0.9),
    "RMSprop momentum": lambda p: optim.RMSprop(p, 1e-3, momentum=0.9),
    "NAdam": lambda p: optim.NAdam(p, 1e-3),
    "Adafactor": lambda p: optim.Adafactor(p),
}


def measure(run):
    start = time.process_time()
    run()
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    x, y = torch.randn(16, 3, 64, 64), torch.randint(0, 10, (16,))
    model = torchvision.models.resnet18(num_classes=10)
    make = _traced_optimizer.TracedOptimizer._make
    print("| optimizer | compile s | tracing s | MPT ms | PyTorch ms | arena MB | state MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, build in OPTIMIZERS.items():
        tracing = [0.0]

        def timed(self, *arguments):
            start = time.process_time()
            make(self, *arguments)
            tracing[0] = time.process_time() - start

        _traced_optimizer.TracedOptimizer._make = timed
        ours, theirs = copy.deepcopy(model), copy.deepcopy(model)
        start = time.process_time()
        step = mpt.torch.TrainStep(ours, lambda m, x, y: cross_entropy(m(x), y),
                                   build(ours.parameters()), (x, y), threads=options.threads)
        compiling = time.process_time() - start
        optimizer = build(theirs.parameters())

        def eager():
            optimizer.zero_grad(set_to_none=True)
            loss = cross_entropy(theirs(x), y)
            loss.backward()
            optimizer.step()
            return float(loss)

        float(step(x, y).loss), eager()
        least = [float("inf")] * 2
        for _ in range(options.rounds):
            for i, run in enumerate((lambda: float(step(x, y).loss), eager)):
                least[i] = min(least[i], measure(run))
        print(f"| {name} | {compiling:.1f} | {tracing[0]:.1f} | {least[0] * 1e3:.1f} | "
              f"{least[1] * 1e3:.1f} | {step.arena_bytes / 1e6:.1f} | "
              f"{step.state_bytes / 1e6:.1f} |", flush=True)
        step.close()


if __name__ == "__main__":
    main()
