"""Compares models with PyTorch: check_models.py BUILD gradients|steps MODEL..

gradients: the loss and every gradient of one batch. steps: the parameters after three
steps of AdamW. A model whose library is missing is a line that says so.
"""
import copy
import sys

import numpy
import torch

import models
import mpt.torch
import steps

STEPS = 3


def check_gradients(model, loss, batch):
    mine, theirs, ratio, which, statistics = steps.compare_gradients(model, loss, batch)
    close = abs(mine - theirs) <= 1e-5 * abs(theirs) and ratio <= 1 and statistics <= 1e-5
    return close, (f"loss {mine:.7g}, PyTorch {theirs:.7g}; {ratio:.2f} of the bound at "
                   f"{which}; statistics {statistics:.1e}")


def train(model, loss, batch, **options):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad],
                                  **options)
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss(model, *batch)
        (value["loss"] if isinstance(value, dict) else value).backward()
        optimizer.step()
    return {n: steps.to_numpy(p) for n, p in model.named_parameters() if p.requires_grad}


def check_steps(model, loss, batch):
    options = dict(lr=1e-3, weight_decay=0.01)
    exported = mpt.torch.export(model, loss, batch)
    program = steps.open_step(
        exported, "--mpt-autodiff",
        "--mpt-train-step=optimizer=adamw lr=1e-3 weight-decay=0.01 decay=all")
    inputs = steps.batch_names(exported, batch)
    for _ in range(STEPS):
        program.run(inputs)
    exact = train(copy.deepcopy(model).double(), loss, steps.to_double(batch), **options)
    theirs = train(model, loss, batch, **options)
    worst, which = 0.0, ""
    for name, reference in exact.items():
        error, allowed = steps.measure(program.read(name), theirs[name], reference)
        # Where a gradient is noise, Adam makes a step of lr of it in any direction.
        allowed = 8 * allowed + 1e-6 * float(numpy.linalg.norm(reference)) + 1e-7
        if not error / allowed <= worst:
            worst, which = error / allowed, f"{name} ({error:.1e})"
    return worst <= 1, f"{worst:.2f} of the bound at {which}"


def main():
    build, kind, *names = sys.argv[1:]
    steps.use(build)
    torch.set_num_threads(2)
    failed = False
    for name in names or list(models.MODELS):
        torch.manual_seed(0)
        try:
            model, loss, batch = models.MODELS[name]()
        except ImportError as error:
            print(f"{name}: skipped, {error}")
            continue
        model.train()
        check = {"gradients": check_gradients, "steps": check_steps}[kind]
        try:
            close, text = check(model, loss, batch)
        except (steps.Refused, mpt.torch.ExportError) as error:
            close, text = False, str(error)
        failed |= not close
        print(f"{name}: {'equal' if close else 'DIFFERS'}: {text}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
