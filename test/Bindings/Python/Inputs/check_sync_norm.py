"""Two ranks with synchronized batch norm train as PyTorch does with the whole batch."""
import copy

import torch
from torch import nn
from torch.nn import functional as F

import mpt
import mpt.torch

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                      nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                      nn.Flatten(), nn.Linear(8 * 6 * 6, 4))
other = copy.deepcopy(model)
batches = [(3 + torch.randn(12, 3, 6, 6), torch.randint(0, 4, (12,))) for _ in range(4)]
ranks = mpt.Ranks.connect()


def part(batch):
    return [t.chunk(ranks.count)[ranks.rank].contiguous() for t in batch]


def loss(m, x, y):
    return F.cross_entropy(m(x), y)


step = mpt.torch.TrainStep(model, loss, torch.optim.SGD(model.parameters(), 0.05, momentum=0.9),
                           part(batches[0]), precision="f32", threads=1,
                           parallel="data  batch-norm=synchronized", parallel_timeout=600)
optimizer = torch.optim.SGD(other.parameters(), 0.05, momentum=0.9)
for batch in batches:
    found = step(*part(batch)).loss
    optimizer.zero_grad()
    expected = loss(other, *batch)
    expected.backward()
    optimizer.step()
    # A step's roundings grow with the steps after it: about 2^-24 for each of some 40 sums.
    assert abs(found - expected.item()) < 1e-4 * abs(expected.item()), (found, expected)
state, want = step.state_dict(), other.state_dict()
for name, value in want.items():
    if name.endswith("num_batches_tracked"):
        assert int(state[name]) == int(value), (name, state[name], value)
        continue
    difference = (state[name] - value).abs().max() / value.abs().max()
    assert difference < 1e-3, (name, difference)
if ranks.rank == 0:
    print(f"{ranks.count} ranks train as one process: loss {found:.4f}")
