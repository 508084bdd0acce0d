"""torch.utils.checkpoint in a model: less memory, the same bits."""
import functools
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import mpt.torch


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.wide = nn.Linear(32, 256)
        self.narrow = nn.Linear(256, 32)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        h = self.dropout(F.gelu(self.wide(self.norm(x))))
        # In place, and two results of which one is read outside.
        h.mul_(2.0)
        largest, _ = h.max(-1, keepdim=True)
        return x + self.narrow(h) + largest


class Net(nn.Module):
    def __init__(self, run):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(6))
        self.run = run

    def forward(self, x):
        for block in self.blocks:
            x = self.run(block, x)
        return x


def nested(block, x):
    return checkpoint(lambda y: checkpoint(block, y, use_reentrant=False), x,
                      use_reentrant=False)


RUNS = {
    "plain": lambda block, x: block(x),
    "checkpoint": functools.partial(checkpoint, use_reentrant=False),
    "reentrant": functools.partial(checkpoint, use_reentrant=True),
    "nested": nested,
}


def train(name, precision):
    torch.manual_seed(0)
    model = Net(RUNS[name]).train()
    x = torch.randn(128, 32)
    step = mpt.torch.TrainStep(model, lambda model, x: model(x).square().mean(), (
        torch.optim.Adam(model.parameters(), 1e-3)), example=(x,), precision=precision)
    losses = [step(x).loss for _ in range(3)]
    return losses, step.arena_bytes, step._first.exported.text


for precision in sys.argv[1:]:
    plain, whole, _ = train("plain", precision)
    for name in list(RUNS)[1:]:
        losses, arena, text = train(name, precision)
        print(f"{precision} {name}: {text.count('torch.checkpoint')} ops, equal "
              f"{losses == plain}, memory below two thirds {arena < whole * 2 / 3}")
        print(f"{precision} {name}: {whole} -> {arena} bytes", file=sys.stderr)
