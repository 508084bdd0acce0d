"""The networks of networks.py in PyTorch: name -> (model, loss(model, x, y), (x, y))."""

import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional as F

import mpt.torch

PASSES = "mpt-convert-torch,canonicalize,cse"


def classify(model, x, y):
    return F.cross_entropy(model(x), y)


def images(size, batch):
    return torch.randn(batch, 3, size, size), torch.randint(0, 1000, (batch,))


def gpt(layers, width, heads, context, vocabulary, positions, batch):
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=layers, n_embd=width, n_head=heads, n_positions=positions, vocab_size=vocabulary,
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, use_cache=False))

    def loss(model, x, y):
        return F.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())
    tokens = (torch.randint(0, vocabulary, (batch, context)) for _ in range(2))
    return model, loss, tuple(tokens)


def bert():
    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    return (model, lambda model, x, y: F.cross_entropy(model(x).logits, y),
            (torch.randint(0, 30522, (4, 128)), torch.randint(0, 2, (4,))))


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(512, 512, 2, batch_first=True)
        self.head = nn.Linear(512, 10)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


def mlp():
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                         nn.Linear(1024, 10))


MODELS = {
    "mlp": lambda: (mlp(), classify, (torch.randn(64, 784), torch.randint(0, 10, (64,)))),
    "lstm512": lambda: (LSTM(), classify,
                        (torch.randn(64, 64, 512), torch.randint(0, 10, (64,)))),
    "gpt256": lambda: gpt(4, 256, 4, 256, 8192, 256, 4),
    "resnet50-32": lambda: (torchvision.models.resnet50(), classify, images(32, 32)),
    "resnet18-32": lambda: (torchvision.models.resnet18(), classify, images(32, 64)),
    "densenet121-32": lambda: (torchvision.models.densenet121(), classify, images(32, 32)),
    "mobilenet-v3": lambda: (torchvision.models.mobilenet_v3_small(dropout=0.0), classify,
                             images(224, 8)),
    "vit-b16": lambda: (torchvision.models.vit_b_16(), classify, images(224, 4)),
    "bert-base": bert,
    "gpt2": lambda: gpt(12, 768, 12, 512, 50257, 1024, 1),
}


def load(name):
    """The loss as text, the batch, and what saves the weights."""
    torch.manual_seed(0)
    model, loss, batch = MODELS[name]()
    exported = mpt.torch.export(model.train(), loss, batch)
    return exported.text, [tensor.numpy() for tensor in batch], exported
