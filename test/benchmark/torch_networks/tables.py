"""Networks of rows of numbers and of categories."""

import math

import torch
from torch import nn
import torch.nn.functional as F

from .batches import integers


class Tabular(nn.Module):
    """256 numbers to 3 layers of 2048, batches of 1024."""

    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.ModuleList(), nn.Linear(2048, 1)
        for inputs in (256, 2048, 2048):
            self.layers.append(nn.Sequential(nn.Linear(inputs, 2048), nn.BatchNorm1d(2048), nn.ReLU()))

    def forward(self, x, y):
        for layer in self.layers:
            x = layer(x)
        return F.mse_loss(self.head(x).float(), y)


class Ranking(nn.Module):
    """Embedding bags of up to 20,011 rows and their products, as DLRM has them."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(n, 16, mode="sum") for n in (1000, 50, 20011)])
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(22, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x, a, b, c, y):
        x = self.bottom(x)
        rows = torch.stack([x.float()] + [bag(i) for bag, i in zip(self.bags, (a, b, c))], 1)
        products = torch.bmm(rows, rows.transpose(1, 2))
        i, j = torch.tensor([1, 2, 2, 3, 3, 3]), torch.tensor([0, 0, 1, 0, 1, 2])
        z = self.top(torch.cat([x, products[:, i, j].to(x.dtype)], 1)).squeeze(1)
        return F.binary_cross_entropy_with_logits(z.float(), y)


class WideAndDeep(nn.Module):
    """Embeddings beside a linear model of the same words (Cheng et al. 2016)."""

    def __init__(self, words=(3000, 700, 90, 11), width=16):
        super().__init__()
        self.wide = nn.ModuleList([nn.Embedding(n, 1) for n in words])
        self.deep = nn.ModuleList([nn.Embedding(n, width) for n in words])
        self.layers = nn.Sequential(nn.Linear(width * len(words) + 7, 128), nn.ReLU(),
                                    nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x, words, y):
        columns = words.unbind(1)
        wide = sum(table(i) for table, i in zip(self.wide, columns))
        deep = torch.cat([table(i) for table, i in zip(self.deep, columns)] + [x], 1)
        z = (wide + self.layers(deep)).squeeze(1).float()
        return F.binary_cross_entropy_with_logits(z, y)


class Quantiles(nn.Module):
    """Two hidden layers of 33 with SELU and softplus, 257 rows."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(9, 33), nn.SELU(), nn.Linear(33, 33), nn.Softplus(),
                                    nn.Linear(33, 3))

    def forward(self, x, y):
        error, q = y - self.layers(x).float(), torch.tensor([.1, .5, .9])
        return torch.maximum(q * error, (q - 1) * error).mean()


class Splines(nn.Module):
    """Two layers of cubic B-splines on edges (KAN, Liu et al. 2024)."""

    class Layer(nn.Module):
        def __init__(self, inputs, outputs, parts=5, order=3):
            super().__init__()
            self.order = order
            at = (torch.arange(-order, parts + order + 1) / parts * 2 - 1).expand(inputs, -1)
            self.register_buffer("at", at.contiguous())
            self.base = nn.Linear(inputs, outputs, bias=False)
            self.spline = nn.Parameter(torch.randn(outputs, inputs * (parts + order)) * .05)

        def forward(self, x):
            z, at = x.float()[..., None], self.at
            b = ((z >= at[:, :-1]) & (z < at[:, 1:])).float()
            for k in range(1, self.order + 1):
                b = ((z - at[:, :-k - 1]) / (at[:, k:-1] - at[:, :-k - 1]) * b[..., :-1]
                     + (at[:, k + 1:] - z) / (at[:, k + 1:] - at[:, 1:-k]) * b[..., 1:])
            return self.base(F.silu(x)) + F.linear(b.flatten(1), self.spline)

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(self.Layer(12, 24), self.Layer(24, 5))

    def forward(self, x, y):
        return F.cross_entropy(self.layers(x).float(), y)


class Perceptron(nn.Module):
    """Three layers whose weights are most of the memory."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                                    nn.Linear(256, 10))

    def forward(self, x, y):
        return F.cross_entropy(self.layers(x).float(), y)


class Hopfield(nn.Module):
    """Patterns retrieved in two updates of a modern Hopfield network (Ramsauer et al. 2020)."""

    def __init__(self, width=48, patterns=96):
        super().__init__()
        self.patterns = nn.Parameter(torch.randn(patterns, width) * .1)
        self.query, self.key = nn.Linear(24, width), nn.Linear(width, width, bias=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x, y):
        state, keys = self.query(x), self.key(self.patterns)
        for _ in range(2):
            state = F.softmax(state @ keys.T / math.sqrt(keys.shape[1]), -1) @ keys
        return F.cross_entropy(self.head(self.norm(state)).float(), y)


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


class NeuralODE(nn.Module):
    """Six steps of Runge and Kutta's method with one network (Chen et al. 2018)."""

    def __init__(self, width=64):
        super().__init__()
        self.up, self.down = nn.Linear(8, width), nn.Linear(width, 8)

    def forward(self, x, y):
        def f(x):
            return self.down(torch.tanh(self.up(x)))
        for _ in range(6):
            a = f(x)
            b = f(x + a / 12)
            c = f(x + b / 12)
            x = x + (a + 2 * b + 2 * c + f(x + c / 6)) / 36
        return F.mse_loss(x.float(), y)


class Pairs(nn.Module):
    """Images and texts in one space, as CLIP has them."""

    def __init__(self):
        super().__init__()
        self.patches, self.words = nn.Conv2d(3, 64, 8, 8), nn.Embedding(200, 48)
        self.text = nn.TransformerEncoderLayer(48, 4, 96, dropout=0., batch_first=True)
        self.of_image, self.of_text = nn.Linear(64, 32, bias=False), nn.Linear(48, 32, bias=False)
        self.scale = nn.Parameter(torch.tensor(2.6))

    def forward(self, image, text):
        a = F.normalize(self.of_image(self.patches(image).mean((2, 3))).float(), dim=-1)
        b = F.normalize(self.of_text(self.text(self.words(text)).mean(1)).float(), dim=-1)
        scores, own = self.scale.exp() * a @ b.T, torch.arange(image.shape[0])
        return (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2


class Triplets(nn.Module):
    """One network for anchors, and for what is like and unlike them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(100, 256), nn.BatchNorm1d(256), nn.PReLU(),
                                    nn.Linear(256, 256), nn.PReLU(), nn.Linear(256, 64))

    def forward(self, anchor, like, unlike):
        a, b, c = (F.normalize(self.layers(x).float(), dim=-1) for x in (anchor, like, unlike))
        return F.triplet_margin_loss(a, b, c, margin=.3)


NETWORKS = {
    "tabular": (Tabular, lambda: (torch.randn(1024, 256), torch.randn(1024, 1))),
    "ranking": (Ranking, lambda: (torch.randn(128, 13), integers(1000, 128, 5), integers(50, 128, 1),
                                  integers(20011, 128, 20), torch.rand(128).round())),
    "widedeep": (WideAndDeep, lambda: (
        torch.randn(128, 7), torch.stack([integers(n, 128) for n in (3000, 700, 90, 11)], 1),
        torch.rand(128).round())),
    "quantile": (Quantiles, lambda: (torch.randn(257, 9), torch.randn(257, 1))),
    "kan": (Splines, lambda: (torch.rand(128, 12) * 2 - 1, integers(5, 128))),
    "mlp": (Perceptron, lambda: (torch.randn(64, 256), integers(10, 64))),
    "hopfield": (Hopfield, lambda: (torch.randn(64, 24), integers(10, 64))),
    "hyper": (HyperNetwork, lambda: (torch.randn(16, 8), torch.randn(16, 50, 2), torch.randn(16, 50, 1))),
    "flow": (Flow, lambda: (torch.randn(128, 16),)),
    "ode": (NeuralODE, lambda: (torch.randn(128, 8), torch.randn(128, 8))),
    "pairs": (Pairs, lambda: (torch.randn(16, 3, 32, 32), integers(200, 16, 20))),
    "triplet": (Triplets, lambda: tuple(torch.randn(64, 100) for _ in range(3))),
}
