"""A parameter that the loss function changes, in several processes."""
import torch
from torch import nn

import mpt
import mpt.torch


def loss(model, x):
    with torch.no_grad():
        model.weight.clamp_(-0.3, 0.3)
    return model(x).square().mean()


ranks = mpt.Ranks.connect()
for kind in ("data", "zero3"):
    model = nn.Linear(6, 3)
    try:
        mpt.torch.TrainStep(model, loss, torch.optim.SGD(model.parameters(), 0.1),
                            (torch.randn(4, 6),), parallel=kind)
        print("not refused")
    except mpt.Error as error:
        if ranks.rank == 0:
            print("refused:", error)
