"""What a model changes in itself when it is called, beside eager PyTorch."""
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from eager import compare, draw, refused, sgd
import mpt.torch

warnings.filterwarnings("ignore", message="The tensor attribute")
generator = torch.Generator().manual_seed(1)
batches = draw(5, generator)


def loss(model, x, y):
    return F.cross_entropy(model(x), y)


class Mean(nn.Module):
    """A mean that is a buffer, changed by `change`."""

    def __init__(self, change):
        super().__init__()
        self.layer, self.change = nn.Linear(6, 3), change
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("last", torch.ones(6))

    def forward(self, x):
        self.change(self, x)
        return self.layer(x - self.mean) / (1 + self.count)


def check(name, change):
    compare(name, lambda: Mean(change), loss, batches, sgd)


def assign(self, x):
    self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
    self.count = self.count + 1


def assign_without_gradient(self, x):
    with torch.no_grad():
        self.mean = torch.lerp(self.mean, self.layer.weight.sum(0), 0.1)
        self.mean.add_(0.01)


def assign_directly(self, x):
    self._buffers["mean"] = 0.9 * self.mean + self.layer(x).detach().mean()


def assign_from_each_other(self, x):
    self.mean, self.last = 0.5 * self.last, self.mean
    self.last = self.last + x.mean(0)


def exchange(self, x):
    self.mean, self.last = self.last, self.mean


def data(self, x):
    self.mean.data.mul_(0.9).add_(self.layer.weight.sum(0), alpha=0.1)
    self.count.data += 1


def data_is_assigned(self, x):
    self.mean.data = 0.9 * self.mean + self.layer(x).mean()


def part_of_data(self, x):
    self.mean.data[:3] = x.mean(0)[:3]


def data_without_gradient(self, x):
    with torch.no_grad():
        self.mean.data.mul_(0.9).add_(self.layer.weight.sum(0), alpha=0.1)


def detached(self, x):
    self.mean.detach().copy_(0.9 * self.mean + self.layer.weight.sum(0).detach())


def assigned_after_in_place(self, x):
    with torch.no_grad():
        self.mean.mul_(0.9).add_(self.layer(x).mean())
    self.mean = self.mean + 0.1 * x.mean(0)


def in_place_twice(self, x):
    with torch.no_grad():
        self.mean.mul_(0.9).add_(self.layer(x).mean())
    self.mean += 0.1
    with torch.no_grad():
        self.mean.mul_(0.9)


for change in (assign, assign_without_gradient, assign_directly, assign_from_each_other, exchange,
               data, data_is_assigned, part_of_data, assigned_after_in_place, in_place_twice,
               data_without_gradient, detached):
    check(change.__name__, change)


def teacher(model, x, y):
    with torch.inference_mode():
        target = model(x).softmax(-1)
        with torch.inference_mode(False):  # It has a gradient.
            mean = model(x).square().mean()
    target = target.clone()
    return loss(model, x, y) + (model(x).softmax(-1) - target).square().sum() \
        + (target * model(x)).mean() + mean


compare("teacher in inference mode", lambda: nn.Linear(6, 3), teacher, batches, sgd)


# Parameters that train, which the rest of the call reads with their gradient.


def clamped(self, x):
    self.layer.weight.data.clamp_(-0.1, 0.1)


def clamped_without_gradient(self, x):
    with torch.no_grad():
        self.layer.weight.clamp_(-0.1, 0.1)


def normed(self, x):
    self.layer.weight.data = torch.renorm(self.layer.weight.data, 2, 0, 0.2)


def part_of_parameter(self, x):
    self.layer.weight.data[0].mul_(0.5)
    with torch.no_grad():
        self.layer.weight[:, 1] = 0.1


def view_of_parameter(self, x):
    """Views of views, of which the last one is written."""
    with torch.no_grad():
        self.layer.weight[0].mul_(0.5)
        first, second = self.layer.weight.t().reshape(2, 3, 3)
        second[1:].clamp_(max=0.1)
        self.layer.weight.T[0].add_(first.sum() * 0.1)


def lists(self, x):
    with torch.no_grad():
        torch._foreach_mul_([self.layer.weight, self.layer.bias], 0.9)
        torch._foreach_add_([self.layer.weight, self.mean], [self.layer.weight, x.mean(0)])
        torch._foreach_maximum_([self.layer.bias, self.mean], [0 * self.layer.bias, -x.mean(0)])
        torch._foreach_addcdiv_([self.layer.weight], [self.layer.weight],
                                [self.layer.weight.square() + 1], [0.5])


def memory(self, x):
    with torch.no_grad():
        self.layer.weight.set_(0.9 * self.layer.weight)
        self.mean.set_(x.mean(0))


def inference(self, x):
    """What inference mode computes has no gradient."""
    with torch.inference_mode():
        self.layer.weight.clamp_(-0.1, 0.1)
        self.mean.mul_(0.9).add_(self.layer(x).mean())
        target = self.layer(x).sum(1).clone()
    self.mean = self.mean + target.mean()


def data_that_is_read(self, x):
    """Changes nothing."""
    self.mean = self.mean + self.layer.weight.data.abs().sum(0)


def filled_each_time(self, x):
    """An attribute that is None before it is assigned in this call says nothing of the next."""
    self.sum = None
    for part in x.split(4):
        self.sum = part.mean(0) if self.sum is None else self.sum + part.mean(0)
    self.mean = self.sum.detach()


def filled_with_a_constant(self, x):
    if not hasattr(self, "first"):
        self.first = torch.linspace(0, 1, 6)
    self.mean = self.first


for change in (clamped, clamped_without_gradient, normed, part_of_parameter, view_of_parameter,
               lists, memory, inference, data_that_is_read, filled_each_time,
               filled_with_a_constant):
    check(change.__name__, change)


class Rows(nn.Module):
    """Rows that are looked up twice."""

    def __init__(self, kind, **options):
        super().__init__()
        self.rows, self.layer = kind(12, 5, max_norm=0.8, **options), nn.Linear(5, 3)

    def forward(self, x):
        rows = self.rows(x), self.rows(x.flip(0)[:, :2])
        rows = [r.mean(1) if r.dim() == 3 else r for r in rows]
        return self.layer(rows[0] + 2 * rows[1] + self.rows.weight.mean(0))


numbers = [(torch.randint(0, 12, (8, 4), generator=generator), y) for _, y in batches]
for name, make in (("rows", lambda: Rows(nn.Embedding)),
                   ("rows in L1", lambda: Rows(nn.Embedding, norm_type=1.0, padding_idx=0)),
                   ("bags of rows", lambda: Rows(nn.EmbeddingBag))):
    compare(name, make, loss, numbers, sgd)
compare("rows, NAdam", lambda: Rows(nn.Embedding), loss, numbers,
        lambda model: torch.optim.NAdam(model.parameters(), 0.1))


def frozen_rows():
    model = Rows(nn.Embedding)
    model.rows.weight.requires_grad_(False)
    return model


compare("frozen rows", frozen_rows, loss, numbers, lambda model: sgd(model.layer))


class Shared(nn.Module):
    """Two modules with one buffer."""

    def __init__(self, change):
        super().__init__()
        self.first, self.second, self.change = nn.Linear(6, 3), nn.Linear(6, 3), change
        self.first.register_buffer("mean", torch.zeros(6))
        self.second.register_buffer("mean", self.first.mean)

    def forward(self, x):
        self.change(self.first, self.second, x)
        return self.first(x - self.first.mean) + self.second(x - self.second.mean)


def in_place(first, second, x):
    first.mean.mul_(0.9).add_(x.mean(0))


def both(first, second, x):
    first.mean = second.mean = 0.9 * first.mean + x.mean(0)


def one(first, second, x):
    second.mean = 0.9 * first.mean + x.mean(0)


for change in (in_place, both):
    compare(f"shared: {change.__name__}", lambda: Shared(change), loss, batches, sgd)
model = Shared(one)
refused("shared: one", mpt.torch.TrainStep, model, loss, sgd(model), batches[0])


class TiedLayers(nn.Module):
    """Two layers with one weight, which the second one limits."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.second.weight = self.first.weight

    def forward(self, x):
        x = torch.tanh(self.first(x))
        with torch.no_grad():
            self.second.weight.clamp_(-0.2, 0.2)
        return self.head(self.second(x))


compare("tied weight", TiedLayers, loss, batches, sgd)


class Codebook(nn.Module):
    """van den Oord et al., 2017, with moving averages, as many write it."""

    def __init__(self, assigns):
        super().__init__()
        self.assigns = assigns
        self.encode, self.decode = nn.Linear(6, 4), nn.Linear(4, 3)
        self.register_buffer("codes", torch.randn(5, 4))
        self.register_buffer("counts", torch.ones(5))
        self.register_buffer("sums", self.codes.clone())

    def forward(self, x):
        z = self.encode(x)
        index = torch.cdist(z, self.codes).argmin(1)
        code = self.codes[index]
        found = F.one_hot(index, 5).to(z.dtype)
        if self.assigns:
            self.counts = 0.9 * self.counts + 0.1 * found.sum(0)
            self.sums = 0.9 * self.sums + 0.1 * (found.T @ z).detach()
            self.codes = self.sums / self.counts[:, None]
        else:
            self.counts.data.mul_(0.9).add_(found.sum(0), alpha=0.1)
            self.sums.data.mul_(0.9).add_(found.T @ z, alpha=0.1)
            self.codes.data.copy_(self.sums / self.counts[:, None])
        self.commitment = F.mse_loss(z, code.detach())
        return self.decode(z + (code - z).detach())


for assigns in (True, False):
    compare(f"codebook, {'assigned' if assigns else 'in place'}", lambda: Codebook(assigns),
            lambda model, x, y: loss(model, x, y) + model.commitment, batches, sgd)


class Twice(nn.Module):
    """A module with buffers in two places."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8))
        self.all = nn.Sequential(self.first, nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x):
        return self.all(x) + self.first(2 * x)[:, :3]


compare("module in two places", Twice, loss, batches, sgd)


def in_both_modes(model, x, y):
    first = loss(model.train(), x, y)
    second = loss(model.eval(), 2 * x, y)
    model.train()
    return first + second


compare("train, then eval", lambda: Twice().train(), in_both_modes, batches, sgd)


class Moved(nn.Module):
    """Assigns what is the same."""

    def __init__(self):
        super().__init__()
        self.layer, self.shift = nn.Linear(6, 3), torch.ones(3)
        self.register_buffer("scale", torch.full((3,), 2.0), persistent=False)

    def forward(self, x):
        self.shift, self.scale = self.shift.to(x.dtype), self.scale.to(x.device)
        self.last = self.layer(x) * self.scale + self.shift
        return self.last


model = Moved()
model(batches[0][0])
step = mpt.torch.TrainStep(model, loss, sgd(model), batches[0])
print("moved:", torch.allclose(torch.tensor(step(*batches[0]).loss), loss(model, *batches[0])))


def check_refused(name, change):
    model = Mean(change)
    model.state, model.calls, model.is_begun, model.cache = [torch.zeros(6)], 0, False, None
    model.average = 1.0
    refused(name, mpt.torch.TrainStep, model, loss, sgd(model), batches[0])


def with_gradient(self, x):
    self.mean = self.layer.weight.mean(0)


def of_other_shape(self, x):
    self.mean = x.detach()


def of_other_type(self, x):
    self.count = self.count + 0.5


def data_of_other_shape(self, x):
    self.mean.data = x


def activation(self, x):
    self.layer(x).data.clamp_(-0.1, 0.1)


def view_with_gradient(self, x):
    row = self.layer.weight[0]
    with torch.no_grad():
        row.mul_(0.5)


def memory_of_other_shape(self, x):
    self.mean.set_(x)


def new_parameter(self, x):
    self.layer.weight = nn.Parameter(0.9 * self.layer.weight.data)


def attribute(self, x):
    self.state[0] = self.state[0] + x.mean(0)


def cache(self, x):
    if self.cache is None:
        self.cache = x.mean(0)


def cache_that_is_absent(self, x):
    if not hasattr(self, "first"):
        self.first = x.mean(0), 1


for change in (with_gradient, of_other_shape, of_other_type, data_of_other_shape, activation,
               view_with_gradient, memory_of_other_shape, new_parameter, attribute, cache,
               cache_that_is_absent):
    check_refused(change.__name__, change)


model = Mean(lambda self, x: self.layer.weight.data.clamp_(-0.3, 0.3)).bfloat16()
refused("of 16 bits", mpt.torch.TrainStep, model, loss, sgd(model),
        tuple(t.bfloat16() if t.is_floating_point() else t for t in batches[0]))


def counted(self, x):
    self.calls += 1


def averaged(self, x):
    self.average = 0.5 * self.average + 0.5 * x.mean().item()


def begun(self, x):
    if not self.is_begun:
        self.mean, self.is_begun = x.mean(0), True


for change, attribute in ((counted, "calls"), (averaged, "average"), (begun, "is_begun")):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        check_refused(change.__name__, change)
    print("warned:", *(w.message for w in found if attribute in str(w.message)))
