"""A loop of accelerate, whose optimizer and scheduler hold PyTorch's."""
import accelerate
import torch
from torch import nn, optim
from torch.nn import functional as F

import mpt.torch

torch.manual_seed(0)
x, y = torch.randn(5, 8, 6), torch.randint(0, 3, (5, 8))


def loss(model, x, y):
    return F.cross_entropy(model(x), y)


def build():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = optim.AdamW(model.parameters(), 1e-2)
    return accelerate.Accelerator(cpu=True).prepare(
        model, optimizer, optim.lr_scheduler.StepLR(optimizer, 2, 0.5))


model, optimizer, scheduler = build()
expected = []
for batch in zip(x, y):
    optimizer.zero_grad()
    value = loss(model, *batch)
    value.backward()
    optimizer.step()
    scheduler.step()
    expected.append(value.item())
model, optimizer, scheduler = build()
step = mpt.torch.TrainStep(model, loss, optimizer, example=(x[0], y[0]))
found = []
for batch in zip(x, y):
    found.append(step(*batch).loss)
    optimizer.step()
    scheduler.step()
print("accelerate:", torch.allclose(torch.tensor(found), torch.tensor(expected), rtol=1e-5))
step.sync_to(model)
torch.testing.assert_close(loss(model, x[0], y[0]).item(), step(x[0], y[0]).loss)
