"""Three steps of mpt.torch.TrainStep compared with PyTorch's: check_steps.py IMPORT_INPUTS MODEL..

The optimizers are SGD with momentum, Adam, and AdamW with two groups and clipping.
Parameters, buffers, losses and norms of gradients must be as near to PyTorch's in f64 as
PyTorch's own in f32 are, times 8.
"""
import copy
import sys
import warnings

import numpy
import torch

sys.path.insert(0, sys.argv[1])
import models
import mpt.torch
import steps

STEPS = 3


def groups(model):
    """Matrices decay, at another rate than the rest."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1},
            {"params": [p for p in parameters if p.dim() <= 1], "lr": 3e-4,
             "weight_decay": 0.0}]


CASES = {
    "sgd": (lambda m: torch.optim.SGD(m.parameters(), 0.05, momentum=0.9, nesterov=True,
                                      weight_decay=1e-3), None),
    "adam": (lambda m: torch.optim.Adam(m.parameters(), 1e-3, betas=(0.8, 0.99), eps=1e-7,
                                        weight_decay=1e-2), None),
    "adamw": (lambda m: torch.optim.AdamW(groups(m), 1e-3), 0.5),
}


def train(model, loss, batch, make, clip_norm):
    """PyTorch's own loop, its rate halved after each step."""
    optimizer = make(model)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    history = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss(model, *batch)
        value = value["loss"] if isinstance(value, dict) else value
        value.backward()
        trained = [p for p in model.parameters() if p.requires_grad]
        norm = torch.nn.utils.clip_grad_norm_(trained, clip_norm or float("inf"))
        history.append((value.item(), norm.item()))
        optimizer.step()
        schedule.step()
    return model.state_dict(), history


def check(name, case):
    make, clip_norm = CASES[case]
    torch.manual_seed(0)
    model, loss, batch = models.MODELS[name]()
    model.train()
    exact, expected = train(copy.deepcopy(model).double(), loss, steps.to_double(batch), make,
                            clip_norm)
    theirs, seen = train(copy.deepcopy(model), loss, batch, make, clip_norm)
    optimizer = make(model)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    step = mpt.torch.TrainStep(model, loss, optimizer=optimizer, example=batch,
                               clip_norm=clip_norm)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    history = []
    for _ in range(STEPS):
        result = step(*batch)
        history.append((result.loss, result.grad_norm))
        schedule.step()
    # The model changes with sync_to, not before.
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    step.sync_to(model)
    mine = model.state_dict()
    worst, which = 0.0, ""
    for key, reference in exact.items():
        reference = steps.to_numpy(reference)
        error, allowed = steps.measure(steps.to_numpy(mine[key]), steps.to_numpy(theirs[key]),
                                       reference)
        # Where a gradient is noise, Adam makes a step of lr of it in any direction.
        allowed = 8 * allowed + 1e-6 * float(numpy.linalg.norm(reference)) + 1e-7
        if not error / allowed <= worst:
            worst, which = error / allowed, f"{key} ({error:.1e})"
    history, seen, expected = map(numpy.array, (history, seen, expected))
    near = (abs(history - expected)
            <= 8 * abs(seen - expected) + 1e-5 * abs(expected) + 1e-6).all()
    frozen = all(torch.equal(p, before[n]) for n, p in model.named_parameters()
                 if not p.requires_grad)
    print(f"{name} {case}: {'equal' if worst <= 1 and near and frozen else 'DIFFERS'}: "
          f"{worst:.2f} of the bound at {which}, losses and norms "
          f"{abs(history - expected).max():.1e}, PyTorch's {abs(seen - expected).max():.1e}",
          flush=True)


def main():
    torch.set_num_threads(2)
    # Schedulers warn where they see no optimizer's step.
    warnings.filterwarnings("error", message=".*optimizer.step")
    for name in sys.argv[2:]:
        for case in CASES:
            try:
                check(name, case)
            except ImportError as error:
                print(f"{name} {case}: skipped, {error}")


if __name__ == "__main__":
    main()
