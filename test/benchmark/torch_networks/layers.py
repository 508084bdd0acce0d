"""Layers that networks share."""

from torch import nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, bias=True):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


def mlp(width, hidden, activation):
    return nn.Sequential(nn.Linear(width, hidden), activation, nn.Linear(hidden, width))
