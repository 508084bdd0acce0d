"""An export is not noticed by other threads: while a loss is traced, one trains, and one waits
to export a loss of its own. What the export replaces in PyTorch is put back."""
import threading

import torch
import torch.utils.checkpoint

import mpt.torch

model, x = torch.nn.Linear(4, 3), torch.ones(2, 4)
backward, layer = torch.Tensor.backward, torch.nn.LSTM(4, 3)
other = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 3))
entered, done, trained, exported = threading.Event(), threading.Event(), [], []


def train():
    loss = torch.tensor(0.0)
    for use_reentrant in True, False:
        loss = loss + torch.utils.checkpoint.checkpoint(
            other, x.clone().requires_grad_(), use_reentrant=use_reentrant).sum()
    loss = loss + layer(x)[0].sum()
    loss.backward()
    trained.append(float(other[1].bias.grad.sum()))


def export():
    def loss(model, x):
        entered.set()
        done.wait(60)
        return model(x).sum()
    exported.append(mpt.torch.export(other, loss, (x,)))


threads = [threading.Thread(target=train), threading.Thread(target=export)]


def loss(model, x):
    threads[0].start()
    threads[0].join()
    threads[1].start()
    print("two at once:", entered.wait(0.5))
    x.sum().backward()
    return model(x).sum()


try:
    mpt.torch.export(model, loss, (x,))
except mpt.torch.ExportError:
    print("refused here")
done.set()
threads[1].join()
print("trained:", trained, "exported:", len(exported))
model(x).sum().backward()
print("put back:", torch.Tensor.backward is backward, "lstm" not in vars(torch._VF),
      "apply" not in vars(torch.utils.checkpoint.CheckpointFunction))
