"""How far losses and gradients in half precision are from f64, beside eager autocast.

    gradients_vs_pytorch.py MODEL... [--type=bf16] [--seeds=3] [--worst=0]

MODEL is one of test/Import/Torch/Inputs/other_models.py, or timm:NAME or torchvision:NAME, with
6 images of 64 x 64. For each seed, with its weights and batch: the relative error of the loss,
and the geometric mean over the parameters of |g - g64| / |g64|, by eager PyTorch under autocast
and by MPT. Parameters whose gradient is zero but for rounding are left out. The last column is
the geometric mean of the parameters' ratios, MPT's error to eager's, over all seeds, and its
range over the seeds: one seed proves nothing. --worst=N names the N parameters of the first seed
with the largest ratios.

MPT's gradients are taken from one step of SGD whose rate is so large that what is left of the
parameter is the gradient.
"""
import argparse
import copy
import math
import os
import sys
import warnings

import torch
from torch.nn import functional

import mpt.torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../Import/Torch/Inputs"))
import other_models

warnings.filterwarnings("ignore")
RATE = 2.0 ** 20
# Errors below this are none: some losses have gradients that half precision holds.
LEAST = 1e-5


def make(name):
    library, _, model = name.rpartition(":")
    if not library:
        return other_models.MODELS[name]()
    if library == "timm":
        import timm
        network = timm.create_model(model, num_classes=10)
    else:
        import torchvision
        network = getattr(torchvision.models, model)(num_classes=10)
    return (other_models.without_dropout(network),
            lambda model, x, y: functional.cross_entropy(model(x), y),
            (torch.randn(6, 3, 64, 64), torch.randint(0, 10, (6,))))


def eager(model, loss, batch, low=None):
    """PyTorch's loss and gradients, in f64 without `low`."""
    model = copy.deepcopy(model)
    if low is None:
        model = model.double()
        batch = tuple(t.double() if t.is_floating_point() else t for t in batch)
    with torch.autocast("cpu", low, enabled=low is not None):
        value = loss(model, *batch)
    scale = 2.0 ** 16 if low == torch.float16 else 1.0
    while True:
        model.zero_grad()
        (value * scale).backward(retain_graph=True)
        grads = {name: p.grad.double() / scale for name, p in model.named_parameters()
                 if p.grad is not None}
        if scale <= 1 or all(g.isfinite().all() for g in grads.values()):
            return value.item(), grads
        scale /= 2


class Step:
    """MPT's loss and gradients."""

    def __init__(self, model, loss, batch, precision):
        model = copy.deepcopy(model)
        self.step = mpt.torch.TrainStep(
            model, loss, torch.optim.SGD(model.parameters(), RATE), batch,
            precision=precision, threads=1)

    def __call__(self, model, batch):
        before = {name: value.clone() for name, value in model.state_dict().items()}
        while True:
            self.step.load_state_dict(before)
            result = self.step(*batch)
            if result.did_step:  # Else the loss scale has become smaller.
                break
        after = self.step.state_dict()
        return float(result.loss), {
            name: (before[name].double() - after[name].double()) / RATE
            for name, _ in model.named_parameters() if name in after}


def mean(values):
    """The geometric mean."""
    return math.exp(sum(math.log(max(v, LEAST)) for v in values) / len(values))


def compare(name, precision, seeds, worst):
    low = {"bf16": torch.bfloat16, "f16": torch.float16}[precision]
    step, losses, errors, ratios = None, ([], []), ([], []), []
    for seed in range(seeds):
        torch.manual_seed(seed)
        model, loss, batch = make(name)
        model.train()
        exact, exact_grads = eager(model, loss, batch)
        step = step or Step(model, loss, batch, precision)
        norms = {n: g.norm().item() for n, g in exact_grads.items()}
        checked = [n for n, norm in norms.items() if norm > 1e-6 * max(norms.values())]
        distances = []
        for i, (value, grads) in enumerate((eager(model, loss, batch, low), step(model, batch))):
            losses[i].append(abs(value - exact) / abs(exact))
            distances.append({n: max((grads[n] - exact_grads[n]).norm().item() / norms[n], LEAST)
                              for n in checked})
            errors[i].append(mean(distances[i].values()))
        each = {n: distances[1][n] / distances[0][n] for n in checked}
        ratios.append(mean(each.values()))
        if seed == 0:
            worst_names = sorted(each, key=each.get, reverse=True)[:worst]
            named = [(each[n], n) for n in worst_names]
    print(f"| {name} | {mean(losses[0]):.1e} | {mean(losses[1]):.1e} | {mean(errors[0]):.1e} | "
          f"{mean(errors[1]):.1e} | {mean(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |",
          flush=True)
    for ratio, parameter in named:
        print(f"    {ratio:.2f} {parameter}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--type", choices=("bf16", "f16"), default="bf16")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--worst", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| model | loss, eager | loss, MPT | gradients, eager | gradients, MPT | ratio | "
          "over the seeds |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for name in args.models:
        compare(name, args.type, args.seeds, args.worst)


if __name__ == "__main__":
    main()
