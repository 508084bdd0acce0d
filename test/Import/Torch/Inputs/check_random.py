"""Holds random numbers of converted ops to the mean and variance of their distributions.

check_random.py BUILD: N numbers are drawn of each. The mean must be within 5 of its standard
deviations, sqrt(variance / N), and so must the share of numbers below the median.
"""
import math
import sys
import unittest.mock

import torch

import mpt.torch
from mpt._export import formulas
import steps

N = 1 << 16
# Of the weights 1, 3 and 4: how probable each is as the second of two that are drawn.
SECOND = [sum(first / 8 * weight / (8 - first) for first in (1, 3, 4) if first != weight)
          for weight in (1, 3, 4)]


def draw(x):
    """Name: (numbers, mean, variance, median, smallest, largest)."""
    aten, inf = torch.ops.aten, math.inf
    p = torch.full_like(x, 0.3)
    log2 = math.log(2)
    uniform = (0.5, 1 / 12, 0.5, 0, 1 - 2.0 ** -24)
    normal = (0, 1, 0, -inf, inf)
    return {
        "rand": (torch.rand(N), *uniform),
        "rand_like": (torch.rand_like(x), *uniform),
        "uniform": (x.clone().uniform_(-1, 3), 1, 16 / 12, 1, -1, 3),
        "randn": (torch.randn(N), *normal),
        "randn_like": (torch.randn_like(x), *normal),
        "normal": (x.clone().normal_(2, 3), 2, 9, 2, -inf, inf),
        "exponential": (x.clone().exponential_(2), 0.5, 0.25, log2 / 2, 0, inf),
        "bernoulli": (torch.bernoulli(p), 0.3, 0.21, None, 0, 1),
        "randint": (torch.randint(2, 12, (N,)).float(), 6.5, 99 / 12, 6.5, 2, 11),
        "randint_like": (torch.randint_like(x, 10), 4.5, 99 / 12, 4.5, 0, 9),
        "multinomial": (torch.multinomial(torch.tensor([1.0, 3.0, 0.0, 4.0]).repeat(N, 1),
                                          1)[:, 0].float(), 15 / 8, 39 / 8 - (15 / 8) ** 2,
                        None, 0, 3),
        # The second of two: 0 is first in 1/8 of the cases, then 1 and 3 by 3 to 4, and so on.
        "multinomial, second": (
            torch.multinomial(torch.tensor([1.0, 3.0, 4.0]).repeat(N, 1), 2)[:, 1].float(),
            SECOND[1] + 2 * SECOND[2],
            SECOND[1] + 4 * SECOND[2] - (SECOND[1] + 2 * SECOND[2]) ** 2, None, 0, 2),
        "multinomial, replaced": (
            torch.multinomial(torch.tensor([[1.0, 3.0]]).repeat(N // 4, 1), 4,
                              replacement=True).flatten().float(), 0.75, 3 / 16, None, 0, 1),
        "dropout": (torch.dropout(x, 0.4, True), 1, 0.4 / 0.6, None, 0, 1 / 0.6 + 1e-6),
        # One key, whose probability is 1.
        "attention": (torch.nn.functional.scaled_dot_product_attention(
            x.reshape(1, 1, N, 1), *[x[:1].reshape(1, 1, 1, 1)] * 2, dropout_p=0.4).flatten(),
            1, 0.4 / 0.6, None, 0, 1 / 0.6 + 1e-6),
        # Mean 0 and variance 1 of the input stay.
        "alpha_dropout": (torch.alpha_dropout(torch.randn(N), 0.2, True), 0, 1, None, -inf, inf),
    }


def loss(model, x):
    return {"loss": model.w.sum(), **{name: row[0] for name, row in draw(x).items()}}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(1))


def main():
    steps.use(sys.argv[1])
    x = torch.ones(N)
    exported = mpt.torch.export(Model(), loss, (x,))
    program = steps.open_step(exported, "--mpt-autodiff")
    program.run(steps.batch_names(exported, (x,)))
    failed = False
    seen = set()
    for name, (_, mean, variance, median, low, high) in draw(x).items():
        mine = torch.tensor(program.read(name), dtype=torch.float64)
        allowed = 5 * math.sqrt(variance / N)
        ok = abs(mine.mean().item() - mean) <= allowed
        # The variance of a variance is at most (kurtosis - 1) variance^2 / N; 9 is that of
        # the exponential distribution.
        ok &= abs(mine.var().item() - variance) <= 5 * variance * math.sqrt(8 / N)
        if median is not None:
            ok &= abs((mine < median).double().mean().item() - 0.5) <= 5 * 0.5 / math.sqrt(N)
        ok &= low <= mine.min().item() and mine.max().item() <= high
        # Numbers next to each other, and other ops' numbers, are independent.
        centered = mine - mine.mean()
        ok &= abs((centered[1:] * centered[:-1]).mean().item()) <= 5 * variance / math.sqrt(N)
        key = tuple(mine[:16].tolist())
        ok &= len(set(key)) <= 2 or key not in seen
        seen.add(key)
        print(f"{name}: {'as expected' if ok else 'DIFFERS'}: mean {mine.mean():.4f} of "
              f"{mean:.4f}, variance {mine.var():.4f} of {variance:.4f}")
        failed |= not ok
    # A random 0, which is one number of 2^24, does not choose what has probability 0.
    with unittest.mock.patch("torch.rand_like", torch.zeros_like):
        for dtype in (torch.float32, torch.float16):
            chosen = formulas.multinomial(torch.tensor([0.0, 1.0], dtype=dtype), 1).item()
            print(f"multinomial of 0 in {dtype}: {'as expected' if chosen == 1 else 'DIFFERS'}")
            failed |= chosen != 1
    sys.exit(failed)


if __name__ == "__main__":
    main()
