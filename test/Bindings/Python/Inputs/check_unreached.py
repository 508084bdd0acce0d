"""Parameters that the loss does not depend on, beside PyTorch's optimizer."""
import copy

import torch
from torch import nn

import mpt
import mpt.torch


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused, self.detached, self.without, self.ranked = \
            (nn.Linear(4, 4) for _ in range(5))

    def forward(self, x):
        with torch.no_grad():
            shift = self.without(x)
        index = self.ranked(x).argmax(1)
        # `auxiliary` is a result, and not the loss.
        return self.used(x) + self.detached(x).detach() + shift + index[:, None], \
            self.unused(x).sum()


def loss(model, x):
    value, auxiliary = model(x)
    return {"loss": value.square().mean(), "auxiliary": auxiliary}


torch.manual_seed(0)
x, net = torch.randn(3, 4), Net()
tied = Net()
tied.unused.weight = tied.used.weight
for model in (net, tied):
    for names in (("used", "unused"), ("unused", "used")):
        groups = [{"params": getattr(model, name).parameters(), "weight_decay": decay}
                  for name, decay in zip(names, (0.5, 0.25))] if model is net \
            else [{"params": model.parameters(), "weight_decay": 0.5}]
        rest = [p for name in ("detached", "without", "ranked")
                for p in getattr(net, name).parameters()]
        if model is net:
            groups.append({"params": rest, "lr": 0.3})
        step = mpt.torch.TrainStep(model, loss, torch.optim.AdamW(groups, lr=0.1), (x,))
        twin = copy.deepcopy(model)
        by_name = dict(twin.named_parameters())
        names_of = {id(p): n for n, p in model.named_parameters()}
        optimizer = torch.optim.AdamW(
            [{**g, "params": [by_name[names_of[id(p)]] for p in g["params"]]}
             for g in step.optimizer.param_groups])
        for _ in range(3):
            optimizer.zero_grad()
            loss(twin, x)["loss"].backward()
            optimizer.step()
            step(x)
        kept = step.state_dict()
        print("as PyTorch:", all(torch.allclose(kept[n], v, atol=1e-6)
                                 for n, v in twin.state_dict().items()),
              "unchanged:", all(torch.equal(kept[n], v) for n, v in model.state_dict().items()
                                if not n.startswith("used") and n != "unused.weight"),
              "state:", sorted(step.optimizer_state_dict()["state"])
              == sorted(optimizer.state_dict()["state"]))
try:
    mpt.torch.TrainStep(net, loss, torch.optim.SGD(net.unused.parameters(), lr=0.1), (x,))
except mpt.Error as error:
    print("refused:", error)


class Long(nn.Module):
    """Has a layer for long sequences, or for short ones."""

    def __init__(self, is_long):
        super().__init__()
        self.always, self.sometimes, self.is_long = nn.Linear(4, 4), nn.Linear(4, 4), is_long

    def forward(self, x):
        return self.always(self.sometimes(x) if (len(x) > 5) == self.is_long else x)


for is_long in (True, False):
    net = Long(is_long)
    step = mpt.torch.TrainStep(net, lambda net, x: net(x).square().mean(),
                               torch.optim.SGD(net.parameters(), lr=0.1), (torch.randn(3, 4),))
    try:
        step(torch.randn(8, 4))
        print("other shape: equal", torch.equal(step.state_dict()["sometimes.weight"],
                                                net.sometimes.weight))
    except mpt.torch.ExportError as error:
        print("refused:", error)
