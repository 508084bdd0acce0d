"""Training scripts as users write them, beside eager PyTorch. The first argument is a folder."""
import os
import sys
import types

import torch
from torch import nn, optim
from torch.nn import functional as F

from eager import compare, draw, refused, sgd
import mpt.torch

generator = torch.Generator().manual_seed(1)
batches = draw(5, generator)


def network():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def loss(model, x, y):
    return F.cross_entropy(model(x), y)


# A teacher that follows (Grill et al., 2020), moved in the loss function: frozen parameters.
class Following(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.target = network(), network().requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            for mean, value in zip(self.target.parameters(), self.online.parameters()):
                mean.data.mul_(0.9).add_(value.data, alpha=0.1)
            target = self.target(1.1 * x)
        return 1 - F.cosine_similarity(self.online(x), target).mean()


compare("teacher", Following, lambda model, x, _: model(x), batches,
        lambda model: optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1))


class Clamping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x):
        with torch.no_grad():
            self.layer.weight.clamp_(-0.1, 0.1)
        return self.layer(x)


compare("clamping", Clamping, loss, batches, sgd)


# Sparse gradients of embeddings: other rows have none.
class Words(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rows = kind(12, 3, sparse=True)

    def forward(self, x):
        found = self.rows(x)
        return found.mean(1) if found.dim() == 3 else found


words = [(torch.randint(0, 12, (8, 4), generator=generator), y) for _, y in batches]
compare("sparse, SGD", lambda: Words(nn.Embedding), loss, words, sgd)
compare("sparse, Adagrad", lambda: Words(nn.EmbeddingBag), loss, words,
        lambda model: optim.Adagrad(model.parameters(), 0.1))
refused("sparse, SparseAdam", lambda: mpt.torch.TrainStep(
    model := Words(nn.Embedding), loss, optim.SparseAdam(list(model.parameters())), words[0]))


# Foret et al., 2021: the gradient where the loss is largest nearby.
def sharpness(model, x, y):
    values = dict(model.named_parameters())
    gradients = torch.autograd.grad(loss(model, x, y), list(values.values()))
    norm = torch.stack([g.square().sum() for g in gradients]).sum().sqrt()
    moved = {name: value + 0.05 * g / (norm + 1e-12)
             for (name, value), g in zip(values.items(), gradients)}
    return F.cross_entropy(torch.func.functional_call(model, moved, (x,)), y)


compare("sharpness", network, sharpness, batches, sgd)


# A step that an instance has.
def sign_step(self, closure=None):
    with torch.no_grad():
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad.sign(), alpha=min(group["lr"], 0.05))


def own_step(model):
    optimizer = optim.SGD(model.parameters(), 0.1)
    optimizer.step = types.MethodType(sign_step, optimizer)
    optimizer.scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    return optimizer


compare("step of an instance", network, loss, batches, own_step,
        lambda number, model, optimizer: number and optimizer.scheduler.step())
model = network()
optimizer = optim.SGD(model.parameters(), 0.1)
step = mpt.torch.TrainStep(model, loss, optimizer, batches[0])
optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
print("scheduler later:", step(*batches[0]).did_step)
optimizer.step = types.MethodType(sign_step, optimizer)
refused("step later", step, *batches[0])
whole = optimizer.step
optimizer.step = lambda closure=None: whole()
refused("no method", mpt.torch.TrainStep, model, loss, optimizer, batches[0])

# Schedulers that change the momentum, too.
def with_scheduler(make, schedule):
    def build(model):
        optimizer = make(model)
        optimizer.scheduler = schedule(optimizer)
        return optimizer
    return build


def advance(number, model, optimizer):
    if number:
        optimizer.scheduler.step()


def one_cycle(optimizer):
    return optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=8)


def cyclic(optimizer):
    return optim.lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, step_size_up=2)


for schedule in one_cycle, cyclic:
    for name, make in (
            ("SGD", sgd),
            ("SGD with all", lambda m: optim.SGD(m.parameters(), 0.1, momentum=0.9, nesterov=True,
                                                 weight_decay=0.1, maximize=True)),
            ("groups", lambda m: optim.AdamW([
                {"params": m[0].parameters()},
                {"params": m[2].parameters(), "weight_decay": 0.1}], 0.01)),
            ("NAdam", lambda m: optim.NAdam(m.parameters(), 0.01)),
            # It decides by the momentum.
            ("RMSprop", lambda m: optim.RMSprop(m.parameters(), 0.01, momentum=0.1))):
        compare(f"{schedule.__name__}, {name}", network, loss, batches,
                with_scheduler(make, schedule), advance)
model = network()
optimizer = sgd(model)
step = mpt.torch.TrainStep(model, loss, optimizer, batches[0])
one_cycle(optimizer)
refused("scheduler later", step, *batches[0])

# Models that are no plain modules.
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{os.path.join(sys.argv[1], 'store')}", rank=0, world_size=1)


def refused_model(name, model, optimized=None):
    refused(name, mpt.torch.TrainStep, model, loss, sgd(optimized or model), batches[0])


refused_model("distributed", nn.parallel.DistributedDataParallel(network()))
from torch.distributed.fsdp import fully_shard  # noqa: E402
refused_model("sharded", fully_shard(network()))
refused_model("scripted", torch.jit.script(network()))
refused_model("meta", network().to("meta"))
lazy = nn.Sequential(nn.LazyLinear(3))
refused_model("lazy", lazy)
shared = network()
shared.weights = nn.Parameter(shared[0].weight.detach()[2:])
refused_model("shared memory", shared)
for name, wrap in ("compiled", lambda m: torch.compile(m, backend="eager")), \
        ("data parallel", nn.DataParallel):
    torch.manual_seed(0)
    compare(name, lambda: wrap(network()), loss, batches, sgd)
