"""Training in f16 and bf16 compared with f32, and dropout.

    check_training.py IMPORT_INPUTS MODEL...
    check_training.py IMPORT_INPUTS --spread [--autocast] [--steps=100] [--threads=1] MODEL...

With --spread, the mean distance of the losses in low precision to those in f32 is compared with
that of three runs in f32, from other initial values and batches, to each other, which counts as
at least 1 % and at most 10 % of what the loss falls by. A skipped step is tried again. `all`
stands for every model of NAMED. Where low precision is further away, the distance of another run
in f32 is printed, from the same initial values rounded to bf16: a network that takes its own way
after such a change shows nothing about arithmetic. --autocast prints how far PyTorch's own
autocast and GradScaler are from PyTorch in f32, for the same model and batches.
"""
import copy
import itertools
import sys

import numpy
import torch
from torch import nn

sys.path.insert(0, sys.argv[1])
import models
import mpt.torch

STEPS = 100
THREADS = 0

# Images of torchvision's networks, enough of them that batch normalization has at least 16
# elements for each mean.
IMAGES = {
    **{name: lambda name=name: models.vision(name, 32, 16) for name in ("resnet18", "resnet50")},
    "mobilenet_v3_small": lambda: models.vision("mobilenet_v3_small", 32, 16, dropout=0.0),
    "efficientnet_b0": lambda: models.vision("efficientnet_b0", 32, 16, dropout=0.0,
                                             stochastic_depth_prob=0.0),
    "convnext_tiny": lambda: models.vision("convnext_tiny", 32, 16, stochastic_depth_prob=0.0),
    "vgg11": lambda: models.vision("vgg11", 32, 16, dropout=0.0),
    "fcn_resnet50": lambda: models.segmentation("fcn_resnet50", 32, 4),
    "vit_b_16": lambda: models.vision("vit_b_16", 32, 16, image_size=32),
}
NAMED = ["encoder", "lstm", "gru", "unet", "graph", "experts", "gpt2", "bert", "llama", "t5",
         "vit", "mobilenet_v3_small", "efficientnet_b0", "resnet18", "resnet50",
         "convnext_tiny", "fcn_resnet50", "vgg11", "vit_b_16"]


def train(model, loss, batches, precision, steps=STEPS, again=False, rate=3e-3):
    """Losses, skipped steps and loss scale; with `again` a skipped step is tried again with its
    batch, so that its loss counts once."""
    model = copy.deepcopy(model)
    step = mpt.torch.TrainStep(model, loss, optimizer=torch.optim.AdamW(model.parameters(), rate),
                               example=batches[0], precision=precision, clip_norm=1.0,
                               threads=THREADS)
    results, skipped = [], 0
    while len(results) < steps:
        result = step(*batches[len(results) % len(batches)])
        skipped += not result.did_step
        if result.did_step or not again or skipped > 20:
            results.append(result)
    return numpy.array([r.loss for r in results]), skipped, results[-1].loss_scale


def train_in_pytorch(model, loss, batches, dtype, steps, rate):
    """The losses of PyTorch's autocast, of f32 without a dtype."""
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    scaler = torch.amp.GradScaler("cpu", enabled=dtype == torch.float16)
    losses, attempts = [], 0
    while len(losses) < steps:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype, enabled=dtype is not None):
            value = loss(model, *batches[len(losses) % len(batches)])
        scaler.scale(value).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        attempts += 1
        if scaler.get_scale() >= before or attempts > steps + 20:
            losses.append(value.item())
    return numpy.array(losses)


def compare_autocast(name, steps, rate):
    whole, bf16, f16 = (train_in_pytorch(*make(name, 0), dtype, steps, rate)
                        for dtype in (None, torch.bfloat16, torch.float16))
    print(f"{name} PyTorch's autocast: apart in bf16 {abs(bf16 - whole).mean():.2g}, in f16 "
          f"{abs(f16 - whole).mean():.2g}", flush=True)


def compare(name):
    torch.manual_seed(0)
    model, loss, _ = models.MODELS[name]()
    model.train()
    batches = []
    for seed in range(4):
        torch.manual_seed(seed)
        batches.append(models.MODELS[name]()[2])
    whole, _, _ = train(model, loss, batches, "f32")
    fell = whole[:4].mean() - whole[-4:].mean()
    for precision in ("bf16", "f16"):
        low, skipped, scale = train(model, loss, batches, precision)
        # The same course: nowhere further apart than a twentieth of what the loss falls by.
        apart = numpy.abs(low - whole).max() / fell
        end = abs(low[-4:].mean() - whole[-4:].mean()) / fell
        fine = fell > 0.3 * whole[0] and apart < 0.05 and end < 0.01 and skipped <= 5 \
            and (scale > 1) == (precision == "f16") and not numpy.array_equal(low, whole)
        print(f"{name} {precision}: {'as f32' if fine else 'DIFFERS'}: from {whole[0]:.4f} to "
              f"{whole[-1]:.4f}, {low[-1]:.4f}; apart {apart:.3f}, at the end {end:.4f} of the "
              f"fall, {skipped} skipped", flush=True)


def make(name, seed):
    create = IMAGES.get(name) or models.MODELS[name]
    torch.manual_seed(seed)
    model, loss, _ = create()
    batches = []
    for i in range(4):
        torch.manual_seed(1000 * seed + i)
        batches.append(create()[2])
    return model.train(), loss, batches


def compare_with_spread(name, steps, autocast):
    rate = 3e-4 if name in IMAGES else 3e-3
    if autocast:
        compare_autocast(name, steps, rate)
    runs = [train(*make(name, seed), "f32", steps, rate=rate)[0] for seed in range(3)]
    whole = runs[0]
    # Several batches are taken in turn, and some are harder than others.
    fall = whole[:4].mean() - whole[-4:].mean()
    spread = numpy.mean([abs(a - b).mean() for a, b in itertools.combinations(runs, 2)])
    bound = min(max(spread, 0.01 * fall), 0.1 * fall)
    all_fine = True
    for precision in ("bf16", "f16"):
        low, skipped, _ = train(*make(name, 0), precision, steps, again=True, rate=rate)
        apart = abs(low - whole).mean()
        all_fine &= apart <= bound
        fine = fall > 0 and apart <= bound and skipped <= 5 and not numpy.array_equal(low, whole)
        print(f"{name} {precision}: {'as f32' if fine else 'DIFFERS'}: from {whole[0]:.4f} to "
              f"{whole[-1]:.4f}, {low[-1]:.4f}; apart {apart:.2g} of {bound:.2g} (seeds "
              f"{spread:.2g}), {skipped} skipped", flush=True)
    if not all_fine:
        model, loss, batches = make(name, 0)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.bfloat16())
        low, _, _ = train(model, loss, batches, "f32", steps, rate=rate)
        print(f"{name} f32 from rounded initial values: apart {abs(low - whole).mean():.2g}",
              flush=True)


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4096))
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        return self.drop(x * self.weight)


def drop():
    def masks(seed):
        torch.manual_seed(0)
        model = Dropped().train()
        step = mpt.torch.TrainStep(
            model, lambda m, x: (lambda y: {"loss": y.mean(), "y": y})(m(x)), seed=seed,
            optimizer=torch.optim.SGD(model.parameters(), 0.0), example=torch.ones(4096))
        return [step(torch.ones(4096))["y"] for _ in range(8)], step

    first, step = masks(0)
    kept = numpy.array([(y != 0).float().mean().item() for y in first])
    # Binomial: 4096 elements, 8 steps; four standard deviations.
    print("kept:", abs(kept.mean() - 0.7) < 4 * (0.21 / 4096 / 8) ** 0.5,
          "scaled:", all(numpy.isclose(y[y != 0], 1 / 0.7).all() for y in first))
    together = numpy.mean([((first[i] != 0) & (first[i + 1] != 0)).float().mean().item()
                           for i in range(7)])
    print("independent steps:", abs(together - 0.49) < 0.01)
    print("same seed:", all(torch.equal(a, b) for a, b in zip(first, masks(0)[0])),
          "other seed:", any(torch.equal(a, b) for a, b in zip(first, masks(1)[0])))
    evaluate = step.evaluator(lambda m, x: m(x))
    print("evaluated:", torch.equal(evaluate(torch.ones(4096)), torch.ones(4096)))


def main():
    global THREADS
    arguments = sys.argv[2:]
    spreads = "--spread" in arguments
    steps = next((int(a[8:]) for a in arguments if a.startswith("--steps=")), STEPS)
    THREADS = next((int(a[10:]) for a in arguments if a.startswith("--threads=")), THREADS)
    torch.set_num_threads(THREADS or 2)
    names = [a for a in arguments if not a.startswith("--")]
    if not spreads:
        drop()
    for name in (NAMED if spreads else models.MODELS) if names == ["all"] else names:
        try:
            if spreads:
                compare_with_spread(name, steps, "--autocast" in arguments)
            else:
                compare(name)
        except ImportError as error:
            print(f"{name}: skipped, {error}")


if __name__ == "__main__":
    main()
