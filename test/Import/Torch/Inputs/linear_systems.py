"""Linear algebra where it is hard: a kernel matrix near to singular, and half precision.

Prints what differs by more than f32 explains."""
import torch

import mpt.torch


def train(model, x, precision="f32"):
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    step = mpt.torch.TrainStep(model, lambda model, x: model(x), precision=precision,
                               optimizer=optimizer, example=(x,))
    return float(step(x).loss)


class Likelihood(torch.nn.Module):
    """The log determinant of a squared exponential kernel of 100 and 150 points (two blocks
    of rows, and three) with a jitter of 1e-5: its condition is about 1e7."""

    def __init__(self):
        super().__init__()
        self.length = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        kernel = torch.exp(-((x - x.T) / self.length) ** 2 / 2) + 1e-5 * torch.eye(len(x))
        return torch.linalg.cholesky(kernel.to(x.dtype)).diagonal().log().sum()


class DoubleLikelihood(Likelihood):
    """The same in f64 inside of a model of f32, by LU, with a jitter of 1e-9: in f32 it has no
    digits."""

    def forward(self, x):
        x = x.double()
        kernel = torch.exp(-((x - x.T) / self.length.double()) ** 2 / 2)
        return torch.linalg.slogdet(kernel + 1e-9 * torch.eye(len(x), dtype=x.dtype))[1].float()


class Orthogonal(torch.nn.Module):
    """How far Q^T Q is from I, for a product of reflections."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.tau = torch.geqrf(torch.randn(20, 7))
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        q = torch.linalg.householder_product(self.a * self.scale, self.tau)
        return ((q ** 2).sum(0) - 1).abs().max() + 0 * x.sum()


for count in (100, 150):
    x = torch.linspace(-3, 3, count)[:, None]
    expected = float(Likelihood().double()(x.double()))
    # Of each eigenvalue, at least the jitter, f32 changes 1e-7 times the largest, about n.
    allowed = count * count * 2.0 ** -24 / 1e-5 / 2
    found = train(Likelihood(), x)
    if not abs(found - expected) <= allowed:
        print(f"{count} points: {found}, expected {expected} within {allowed}")
x = torch.linspace(-3, 3, 80)[:, None]
reference = DoubleLikelihood()
expected = reference(x)
expected.backward()
model = DoubleLikelihood()
step = mpt.torch.TrainStep(model, lambda model, x: model(x), precision="bf16",
                           optimizer=torch.optim.SGD(model.parameters(), 1.0), example=(x,))
result = step(x)
step.sync_to(model)
gradient = 1 - float(model.length)
# Of each eigenvalue, at least the jitter, f64 changes 1e-16 times the largest, about n; the
# derivative of one is as far from its own.
allowed = 80 * 80 * 2.0 ** -53 / 1e-9 / 2
if not abs(float(result.loss) - float(expected)) <= allowed * 80 + 1e-7 * abs(float(expected)):
    print(f"points in f64: {float(result.loss)}, expected {float(expected)}")
if not abs(gradient - float(reference.length.grad)) <= 1e-4 * abs(gradient):
    print(f"points in f64: gradient {gradient}, expected {float(reference.length.grad)}")
for precision in ("f32", "bf16", "f16"):
    error = train(Orthogonal(), torch.zeros(2), precision)
    if not error <= 20 * 7 * 2.0 ** -23:
        print(f"reflections in {precision}: columns differ from length 1 by {error}")
print("done")
