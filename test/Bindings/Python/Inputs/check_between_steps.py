"""What a script changes in its model and optimizer between two steps: it trains as in eager
PyTorch, or is an error."""
import copy
import warnings

import torch
from torch import nn, optim
from torch.nn import functional as F

from eager import compare, draw, refused, sgd
import mpt.torch

generator = torch.Generator().manual_seed(1)
batches = draw(6, generator)


def network():
    return nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(),
                         nn.Linear(8, 3))


def loss(model, x, y):
    return F.cross_entropy(model(x), y)


def at(which, change):
    return lambda number, model, optimizer: change(model, optimizer) if number == which else None


# train() and eval(), of the model or a part of it.
compare("eval", network, loss, batches, sgd, at(3, lambda m, _: m.eval()))
compare("eval of a part", network, loss, batches, sgd, at(2, lambda m, _: m[1].eval()))


def switch(number, model, optimizer):
    model.train(number % 2 == 1)


compare("eval, train, eval", network, loss, batches, sgd, switch)
model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3)).eval()
step = mpt.torch.TrainStep(model, loss, optim.SGD(model.parameters(), 0.0), batches[0])
losses = [step(*batches[0]).loss for _ in range(2)]
model.train()
dropped = [step(*batches[0]).loss for _ in range(2)]
print("dropout:", losses[0] == losses[1], losses[0] != dropped[0] != dropped[1])


# Values of the model change before the first step, and after sync_to().
def scale(model, optimizer):
    with torch.no_grad():
        model[0].weight.mul_(0.5)
        model[1].running_mean.add_(1)
    model[3].weight.data.mul_(0.5)


compare("before the first step", network, loss, batches, sgd, at(0, scale))


class Clipped:
    """Weights are clipped after each step (Arjovsky et al., 2017)."""
    step = None

    def __call__(self, number, model, optimizer):
        if number and self.step:
            self.step.sync_to()
        for parameter in model.parameters():
            parameter.data.clamp_(-0.3, 0.3)


class Keeping(mpt.torch.TrainStep):
    """Tells `clipped` that it is there."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        clipped.step = self


clipped, plain = Clipped(), mpt.torch.TrainStep
mpt.torch.TrainStep = Keeping
compare("clipped weights", network, loss, batches, sgd, clipped)
mpt.torch.TrainStep = plain

model = network()
optimizer = sgd(model)
step = mpt.torch.TrainStep(model, loss, optimizer, batches[0])
step(*batches[0])
scale(model, optimizer)
refused("old values", step, *batches[0])
values = copy.deepcopy(model.state_dict())
step.load_state_dict(model.state_dict())
step(*batches[0])
# In the other order, as scripts load a checkpoint into both.
step.load_state_dict(values)
model.load_state_dict(values)
print("loaded:", step(*batches[0]).did_step)


# An optimizer's state that is loaded, as that of a checkpoint, counts.
def checkpoint(make):
    """Goes back from step 4 to step 2."""
    kept = {}

    def change(number, model, optimizer):
        own = kept.setdefault(id(model), {})
        step = clipped.step if getattr(clipped.step, "model", None) is model else None
        if number == 2:
            if step:
                step.sync_to()
            own["model"] = copy.deepcopy(model.state_dict())
            own["optimizer"] = copy.deepcopy(step.optimizer_state_dict() if step
                                             else optimizer.state_dict())
        if number == 4:
            if step:
                step.sync_to()
            model.load_state_dict(own["model"])
            optimizer.load_state_dict(own["optimizer"])

    mpt.torch.TrainStep = Keeping
    compare(f"checkpoint, {make(network()).__class__.__name__}", network, loss, batches, make,
            change)
    mpt.torch.TrainStep = plain


checkpoint(sgd)
checkpoint(lambda model: optim.AdamW(model.parameters(), 1e-2))
checkpoint(lambda model: optim.NAdam(model.parameters(), 1e-2))

# The same for one of several optimizers, whose rate counts after that, too.
model = network()
parts = [optim.SGD(model[:2].parameters(), 0.1, momentum=0.9), optim.SGD(model[3].parameters(), 0.1)]
step = mpt.torch.TrainStep(model, loss, parts, batches[0])
step(*batches[0])
state = copy.deepcopy(step.optimizer_state_dict()[0])
state["param_groups"][0]["lr"] = 0.0
parts[0].load_state_dict(state)
before = step.state_dict()
step(*batches[0])
print("several:", torch.equal(step.state_dict()["0.weight"], before["0.weight"]),
      not torch.equal(step.state_dict()["3.weight"], before["3.weight"]))


# Two networks in turns (Goodfellow et al., 2014), as two steps over one module.
class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.make = nn.Sequential(nn.Linear(2, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(),
                                  nn.Linear(8, 6))
        self.judge = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))


def judge(model, x, z):
    return F.softplus(-model.judge(x)).mean() + F.softplus(model.judge(model.make(z).detach())).mean()


def make(model, z):
    return F.softplus(-model.judge(model.make(z))).mean()


noise = [torch.randn(8, 2, generator=generator) for _ in batches]


def eager(dtype):
    torch.manual_seed(0)
    model = Gan().to(dtype)
    own = [optim.Adam(part.parameters(), 1e-2) for part in (model.judge, model.make)]
    losses = []
    for (x, _), z in zip(batches, noise):
        for function, batch, optimizer in ((judge, (x.to(dtype), z.to(dtype)), own[0]),
                                           (make, (z.to(dtype),), own[1])):
            model.zero_grad()
            value = function(model, *batch)
            value.backward()
            optimizer.step()
            losses.append(value.detach().double())
    return torch.stack(losses)


torch.manual_seed(0)
model = Gan()
steps = [mpt.torch.TrainStep(model, function, optim.Adam(part.parameters(), 1e-2), batch)
         for function, part, batch in (
             (judge, model.judge, (batches[0][0], noise[0])), (make, model.make, (noise[0],)))]
found = []
for (x, _), z in zip(batches, noise):
    for step, batch in zip(steps, ((x, z), (z,))):
        found.append(step(*batch).loss)
        step.sync_to(model)
exact, single = eager(torch.float64), eager(torch.float32)
bound = 8 * ((exact - single).abs().max() + 2 ** -23 * exact.abs().max())
print("two networks:", (torch.tensor(found).double() - exact).abs().max() <= bound)
steps[0](batches[0][0], noise[0])
steps[1](noise[0])
steps[1].sync_to(model)
refused("two networks", steps[0], batches[0][0], noise[0])


# What cannot be followed.
def trained(loss=loss, make=sgd):
    model = network()
    optimizer = make(model)
    step = mpt.torch.TrainStep(model, loss, optimizer, batches[0])
    step(*batches[0])
    return model, optimizer, step


model, _, step = trained()
model[3].bias.requires_grad_(False)
refused("frozen", step, *batches[0])
model[3].bias.requires_grad_(True)
print("unfrozen:", step(*batches[0]).did_step)
_, optimizer, step = trained()
optimizer.param_groups[0]["params"].append(nn.Parameter(torch.zeros(3)))
refused("appended", step, *batches[0])
weight = torch.ones(3)
_, _, step = trained(lambda model, x, y: F.cross_entropy(model(x), y, weight))
weight[0] = 2
refused("outside", step, *batches[0])
model = network()
model.register_buffer("scale", torch.ones(3), persistent=False)
step = mpt.torch.TrainStep(model, lambda model, x, y: F.cross_entropy(model(x) * model.scale, y),
                           sgd(model), batches[0])
model.scale = torch.zeros(3)
refused("not persistent", step, *batches[0])
centers = nn.Parameter(torch.zeros(3, 3))
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    trained(lambda model, x, y: (model(x) - centers[y]).square().mean())
print("warned:", *(w.message for w in found if "requires_grad" in str(w.message)))
