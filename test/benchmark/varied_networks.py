"""Small networks of further kinds, for other_networks.py."""

import math

import torch
from torch import nn
import torch.nn.functional as F


class RWKV(nn.Module):
    """Two blocks whose channels decay over time, one step after the other (Peng et al. 2023)."""

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.mix = nn.Parameter(torch.full((5, width), .5))
            self.key, self.value, self.gate, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.decay, self.first = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))
            self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
            self.receive = nn.Linear(width, width, bias=False)

        def forward(self, x):
            z = self.norms[0](x)
            before = F.pad(z, (0, 0, 1, -1))
            k, v, r = (f(torch.lerp(before, z, m.to(z.dtype)))
                       for f, m in zip((self.key, self.value, self.gate), self.mix))
            decay, weights = torch.exp(-torch.exp(self.decay)), torch.exp(k.float().clamp(max=20))
            above = below = torch.zeros_like(weights[:, 0])
            read = []
            for t in range(x.shape[1]):
                now = weights[:, t] * v[:, t]
                first = torch.exp(self.first)
                read.append((above + first * now) / (below + first * weights[:, t] + 1e-6))
                above, below = decay * above + now, decay * below + weights[:, t]
            x = x + self.out(torch.sigmoid(r) * torch.stack(read, 1))
            z = self.norms[1](x)
            before = F.pad(z, (0, 0, 1, -1))
            k, r = (torch.lerp(before, z, m.to(z.dtype)) for m in self.mix[3:])
            return x + torch.sigmoid(self.receive(r)) * self.down(F.relu(self.up(k)).square())

    def __init__(self, words=64, width=64):
        super().__init__()
        self.words, self.head = nn.Embedding(words, width), nn.Linear(width, words)
        self.blocks = nn.Sequential(self.Block(width), self.Block(width))

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.blocks(self.words(x))).flatten(0, 1).float(), y.flatten())


class TemporalConvolutions(nn.Module):
    """Causal dilated convolutions with residuals (TCN, Bai et al. 2018)."""

    def __init__(self, inputs=4, width=32):
        super().__init__()
        self.stem = nn.Conv1d(inputs, width, 1)
        self.layers = nn.ModuleList([nn.Conv1d(width, width, 3, dilation=1 << i) for i in range(5)])
        self.norms = nn.ModuleList([nn.GroupNorm(4, width) for _ in range(5)])
        self.head = nn.Conv1d(width, 1, 1)

    def forward(self, x, y):
        h = self.stem(x)
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms)):
            h = h + F.gelu(norm(layer(F.pad(h, (2 << i, 0)))))
        return F.smooth_l1_loss(self.head(h).float(), y)


class Flow(nn.Module):
    """Six affine couplings of 16 numbers (RealNVP, Dinh et al. 2017)."""

    def __init__(self, size=16, width=64):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(size // 2, width), nn.ReLU(), nn.Linear(width, width),
                                                   nn.ReLU(), nn.Linear(width, size)) for _ in range(6)])

    def forward(self, x):
        left, right = x.chunk(2, 1)
        volume = torch.zeros(x.shape[0])
        for layer in self.layers:
            scale, shift = layer(left).float().chunk(2, 1)
            scale = torch.tanh(scale)
            left, right = right * torch.exp(scale) + shift, left
            volume = volume + scale.sum(1)
        return (.5 * (left.square() + right.square()).sum(1) - volume).mean()


class SetTransformer(nn.Module):
    """Attention to 8 induced points, and pooling by attention (Lee et al. 2019)."""

    class Attention(nn.Module):
        def __init__(self, width, heads=4):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

        def forward(self, x, y):
            q, k, v = (f(z).unflatten(2, (self.heads, -1)).transpose(1, 2)
                       for f, z in ((self.q, x), (self.k, y), (self.v, y)))
            h = x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            h = self.norms[0](h)
            return self.norms[1](h + F.relu(self.out(h)))

    def __init__(self, width=64):
        super().__init__()
        self.up, self.head = nn.Linear(3, width), nn.Linear(width, 10)
        self.points = nn.ParameterList([torch.randn(8, width) * .1 for _ in range(2)])
        self.layers = nn.ModuleList([self.Attention(width) for _ in range(5)])
        self.seed = nn.Parameter(torch.randn(1, width) * .1)

    def forward(self, x, y):
        h = self.up(x)
        for i, points in enumerate(self.points):
            points = points.expand(x.shape[0], -1, -1)
            h = self.layers[2 * i + 1](h, self.layers[2 * i](points, h))
        h = self.layers[4](self.seed.expand(x.shape[0], -1, -1), h)
        return F.cross_entropy(self.head(h.squeeze(1)).float(), y)


class HyperNetwork(nn.Module):
    """A network makes the weights of another one for each example (Ha et al. 2017)."""

    def __init__(self, context=8, width=24):
        super().__init__()
        self.sizes = (2 * width, width, width * width, width, width, 1)
        self.width = width
        self.make = nn.Sequential(nn.Linear(context, 64), nn.SiLU(), nn.Linear(64, sum(self.sizes)))

    def forward(self, context, x, y):
        b, w = context.shape[0], self.width
        w0, b0, w1, b1, w2, b2 = self.make(context).split(self.sizes, 1)
        h = torch.tanh(torch.bmm(x, w0.view(b, 2, w)) + b0[:, None])
        h = torch.tanh(torch.bmm(h, w1.view(b, w, w) / math.sqrt(w)) + b1[:, None])
        z = torch.bmm(h, w2.view(b, w, 1)) + b2[:, None]
        return F.mse_loss(z.float(), y)


class Tagger(nn.Module):
    """A GRU whose tags a conditional random field scores (Lample et al. 2016)."""

    def __init__(self, words=100, width=48, tags=9):
        super().__init__()
        self.words, self.read = nn.Embedding(words, width), nn.GRU(width, width, batch_first=True)
        self.head, self.moves = nn.Linear(width, tags), nn.Parameter(torch.randn(tags, tags) * .1)

    def forward(self, x, y):
        scores = self.head(self.read(self.words(x))[0]).float()
        hot = F.one_hot(y, scores.shape[2]).float()
        chosen = (scores * hot).sum((1, 2))
        chosen = chosen + torch.einsum("bti,ij,btj->b", hot[:, :-1], self.moves, hot[:, 1:])
        total = scores[:, 0]
        for t in range(1, x.shape[1]):
            total = torch.logsumexp(total[:, :, None] + self.moves, 1) + scores[:, t]
        return (torch.logsumexp(total, 1) - chosen).mean()


def integers(most, *shape):
    return torch.randint(0, most, shape)


NETWORKS = {
    "rwkv": (RWKV, lambda: (integers(64, 4, 24), integers(64, 4, 24))),
    "tcn": (TemporalConvolutions, lambda: (torch.randn(8, 4, 128), torch.randn(8, 1, 128))),
    "flow": (Flow, lambda: (torch.randn(128, 16),)),
    "sets": (SetTransformer, lambda: (torch.randn(8, 64, 3), integers(10, 8))),
    "hyper": (HyperNetwork, lambda: (torch.randn(16, 8), torch.randn(16, 50, 2), torch.randn(16, 50, 1))),
    "tagger": (Tagger, lambda: (integers(100, 8, 20), integers(9, 8, 20))),
}
