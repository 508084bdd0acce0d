"""Numbers that Python takes out of tensors by .item(), beside eager PyTorch."""
import logging
import math
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from eager import compare, draw, layer, refused, sgd
import mpt.torch

batches = draw(3)


def check(loss, make=layer):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        compare(loss.__name__, make, loss, batches, sgd)
    for one in sorted({str(w.message).replace("\n ", "") for w in found
                       if ".item()" in str(w.message)}):
        print("warned:", one)


def arithmetic(model, x, y):
    value, count = x.square().mean().item(), y.sum().item()
    factor = abs(-value) ** 2 + (-count) // 2 + count % 3 + count ** 2 * 0.01 + value // 0.25 \
        + value % 0.3 + 2 ** value + value ** value + 1 / (count + 1) - +value
    return F.cross_entropy(model(x), y) * factor * 0.1


def rounded(model, x, y):
    value = x.square().sum().item()
    return model(x).square().mean() * (round(value) + math.floor(value) + math.ceil(value)
                                       + math.trunc(-value) + round(value, 1)) * 0.01


def functions(model, x, y):
    value = x.square().mean().item()
    return model(x).square().mean() * (math.sqrt(value) + math.exp(-value) + math.sqrt(4)
                                       + math.log(2) + math.exp(1))


def extremes(model, x, y):
    value, count = x.square().mean().item(), y.sum().item()
    return model(x).square().sum() / max(1, count) * max(value, 0.1, 0.2) * min(0.5, value) \
        + max(1, 2) * min([3, 4]) * max(x.detach().sum(), x.sum().detach() + 1) * 0


def operands(model, x, y):
    z, value = model(x), x.square().mean().item()
    z = z.clamp(max=x.max().item()) + z.clamp(x.min().item(), 3.0)
    z = z.masked_fill(x[:, :3] > value, value) + torch.full((8, 3), value, dtype=x.dtype)
    z = torch.where(x[:, :3] > 0, z, value) + torch.tensor([value, 1.0, 2.0], dtype=x.dtype)
    z = torch.add(z, x[:, :3], alpha=value) + (z > value) * z.abs().pow(value)
    z = z * 1
    z *= value
    z -= 2 * y.sum().item()
    return z.square().mean() * 0.1


def of_chosen_rows(model, x, y):
    z = model(x)[y > 0]
    z = (z * x.max().item() - y.sum().item()).clamp(min=x.min().item(), max=3.0)
    return z.sum() + (z > x.mean().item()).to(x.dtype).mul(z).mean()


def regions(model, x, y):
    value, count = x.mean().item(), model(x)[y > 0].shape[0]
    with torch.no_grad():
        count = max(y.ne(0).sum().item(), 1) + count
        weights = torch.full((3,), 1.0 / count, dtype=x.dtype)
        weights[1] = 2.0
        total = model(x).sum().item() * value + count
    return (model(x) * weights).square().mean() * total + value


def returned(model, x, y):
    z = model(x)
    return F.cross_entropy(z, y) * (x.double().mean().item() + 2)


for loss in (arithmetic, rounded, functions, extremes, operands, of_chosen_rows, regions,
             returned):
    check(loss)



def with_results(model, x, y):
    with torch.no_grad():
        mean = x.mean().item()
    return {"loss": model(x).mean(), "mean": mean, "count": y.sum().item()}


model = layer()
step = mpt.torch.TrainStep(model, with_results, sgd(model), batches[0])
for x, y in batches:
    result = step(x, y)
    print("results:", abs(float(result["mean"]) - x.mean().item()) < 1e-6,
          int(result["count"]) == y.sum().item())


def written(model, x, y):
    loss = F.cross_entropy(model(x), y)
    text = f"{loss.item():.3f}" + str(y.sum().item()) + repr(x.sum().item())
    assert len(text) > 3
    return loss


def logged(model, x, y):
    logging.getLogger("none").setLevel(logging.CRITICAL)
    logging.getLogger("none").info("%s", x.sum().item())  # No text is made.
    return model(x).sum()


class Keeps(nn.Linear):
    def __init__(self):
        super().__init__(6, 3)
        self.history, self.last = [], 0.0

    def forward(self, x):
        z = super().forward(x)
        self.history.append(z.mean().item())
        self.last = z.sum().item()
        return z


def kept(model, x, y):
    return F.cross_entropy(model(x), y)


check(written)
check(logged)
check(kept, Keeps)
keeps = Keeps()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    mpt.torch.export(keeps, kept, batches[0])
print("left behind:", keeps.history, keeps.last)

for name, loss in (
        ("format", lambda model, x, y: model(x).sum() * len("%.3f" % x.mean().item())),
        ("int", lambda model, x, y: model(x).sum() * int(x.mean().item())),
        ("float of a tensor", lambda model, x, y: model(x).sum() * float(x.mean())),
        ("int of a tensor", lambda model, x, y: model(x).sum() * int(y.sum())),
        ("logarithm", lambda model, x, y: model(x).sum() * math.log(x.square().mean().item())),
        ("key", lambda model, x, y: {y.sum().item(): model(x).sum()}[0]),
        ("size", lambda model, x, y: model(x).sum() * torch.ones(y.sum().item()).sum()),
        ("slice", lambda model, x, y: model(x)[:y.sum().item() % 8].sum()),
        ("slope", lambda model, x, y: F.leaky_relu(model(x), x.mean().item()).sum()),
        ("decision", lambda model, x, y: model(x).sum() * (2 if x.mean().item() > 1 else 3))):
    refused(name, mpt.torch.TrainStep, model, loss, sgd(model), batches[0])
