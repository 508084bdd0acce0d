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
for precision in ("f32", "bf16", "f16"):
    error = train(Orthogonal(), torch.zeros(2), precision)
    if not error <= 20 * 7 * 2.0 ** -23:
        print(f"reflections in {precision}: columns differ from length 1 by {error}")
print("done")
