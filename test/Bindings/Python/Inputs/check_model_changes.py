"""What a model changes in itself when it is called, beside eager PyTorch."""
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from eager import compare, refused
import mpt.torch

warnings.filterwarnings("ignore", message="The tensor attribute")
generator = torch.Generator().manual_seed(1)
batches = [(torch.randn(8, 6, generator=generator),
            torch.randint(0, 3, (8,), generator=generator)) for _ in range(5)]


def sgd(model):
    return torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)


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


for change in (assign, assign_without_gradient, assign_directly, assign_from_each_other, exchange, data, data_is_assigned, part_of_data,
               data_without_gradient, detached):
    check(change.__name__, change)


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
    model.state, model.calls, model.is_begun = [torch.zeros(6)], 0, False
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
    self.layer.weight.data.clamp_(-0.1, 0.1)


def attribute(self, x):
    self.state[0] = self.state[0] + x.mean(0)


for change in (with_gradient, of_other_shape, of_other_type, data_of_other_shape, activation,
               attribute):
    check_refused(change.__name__, change)


def counted(self, x):
    self.calls += 1


def begun(self, x):
    if not self.is_begun:
        self.mean, self.is_begun = x.mean(0), True


for change, attribute in ((counted, "calls"), (begun, "is_begun")):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        check_refused(change.__name__, change)
    print("warned:", *(w.message for w in found if attribute in str(w.message)))
