"""Recurrent layers are exported as one op: in as much work for long sequences as for short ones,
without warnings, and as before where a layer is not exported."""
import warnings

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import mpt.torch

calls = 0
dispatch = FakeTensorMode.__torch_dispatch__


def count(*arguments, **named):
    global calls
    calls += 1
    return dispatch(*arguments, **named)


FakeTensorMode.__torch_dispatch__ = count
warnings.simplefilter("error")
for op, make in (("lstm", lambda: nn.LSTM(4, 3, 2, bidirectional=True, dropout=0.1)),
                 ("lstm", lambda: nn.LSTM(4, 3, batch_first=True, bias=False)),
                 ("gru", lambda: nn.GRU(4, 3)), ("rnn_tanh", lambda: nn.RNN(4, 3)),
                 ("rnn_relu", lambda: nn.RNN(4, 3, nonlinearity="relu"))):
    model, work = make(), []
    for length in 2, 200:
        x = torch.randn(length, length, 4)
        calls = 0
        text = mpt.torch.export(model, lambda m, x: m(x)[0].sum(), (x,)).text
        work.append(calls)
    again = model(torch.randn(2, 2, 4))[0].requires_grad  # PyTorch's own layer is back.
    print(op, text.count(f'"torch.aten.{op}.input"'), work[0] == work[1] > 0, again)
