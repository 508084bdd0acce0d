"""Networks of graphs, points and sets."""

import torch
from torch import nn
import torch.nn.functional as F

from .batches import integers
from .layers import mlp


class GraphAttention(nn.Module):
    """Attention over the 301 edges of a graph of 50 nodes."""

    def __init__(self):
        super().__init__()
        self.project, self.head = nn.Linear(16, 32, bias=False), nn.Linear(32, 5)
        self.score = nn.Parameter(torch.randn(4, 16) * .1)

    def forward(self, x, source, target, y):
        nodes = x.shape[0]
        h = self.project(x).view(-1, 4, 8)
        scores = F.leaky_relu((torch.cat([h[source], h[target]], -1) * self.score).sum(-1), .2)
        most = torch.full((nodes, 4), -1e30).scatter_reduce(
            0, target[:, None].expand(-1, 4), scores, "amax")
        scores = torch.exp(scores - most[target].detach())
        sums = torch.zeros(nodes, 4).index_add(0, target, scores)
        weights = scores / (sums[target] + 1e-16)
        h = torch.zeros(nodes, 4, 8).index_add(0, target, weights[..., None] * h[source])
        return F.cross_entropy(self.head(h.flatten(1)), y)


class Citations(nn.Module):
    """Two layers of attention along the 10,556 edges of 2,708 papers with 1,433 words."""

    def __init__(self, words=1433, heads=8, width=8, classes=7):
        super().__init__()
        self.heads, self.first = heads, nn.Linear(words, heads * width, bias=False)
        self.second = nn.Linear(heads * width, classes, bias=False)
        self.of_first = nn.Parameter(torch.randn(2, heads, width) * .1)
        self.of_second = nn.Parameter(torch.randn(2, 1, classes) * .1)

    @staticmethod
    def attend(h, weights, source, target):
        nodes, heads = h.shape[:2]
        scores = F.leaky_relu((h * weights[0]).sum(-1)[source] + (h * weights[1]).sum(-1)[target], .2)
        most = torch.full((nodes, heads), -1e30).scatter_reduce(
            0, target[:, None].expand(-1, heads), scores, "amax")
        scores = torch.exp(scores - most[target].detach())
        sums = torch.zeros(nodes, heads).index_add(0, target, scores)
        shares = scores / (sums[target] + 1e-16)
        return torch.zeros(h.shape).index_add(0, target, shares[..., None] * h[source])

    def forward(self, x, source, target, y):
        h = self.first(x).float().view(x.shape[0], self.heads, -1)
        h = F.elu(self.attend(h, self.of_first, source, target).flatten(1))
        h = self.second(h).float().view(x.shape[0], 1, -1)
        return F.cross_entropy(self.attend(h, self.of_second, source, target).squeeze(1), y)


class EGNN(nn.Module):
    """Messages along all edges of 8 graphs of 12 nodes, width 32."""

    class Layer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.edge = nn.Sequential(nn.Linear(2 * width + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
            self.shift = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1, bias=False))
            self.node = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))

        def forward(self, h, x):
            n, width = h.shape[1:]
            difference = x[:, :, None] - x[:, None]
            distance = difference.square().sum(-1, keepdim=True)
            pairs = h[:, :, None].expand(-1, n, n, width), h[:, None].expand(-1, n, n, width)
            message = self.edge(torch.cat([*pairs, distance], -1))
            x = x + (difference * self.shift(message)).mean(2)
            return h + self.node(torch.cat([h, message.sum(2)], -1)), x

    def __init__(self, width=32):
        super().__init__()
        self.embed, self.head = nn.Linear(5, width), nn.Linear(width, 1)
        self.layers = nn.ModuleList([self.Layer(width) for _ in range(3)])

    def forward(self, x, y):
        h, x = self.embed(x[..., :5]), x[..., 5:]
        for layer in self.layers:
            h, x = layer(h, x)
        return F.mse_loss(self.head(h.mean(1)).float(), y)


class Points(nn.Module):
    """Shared layers over 8 clouds of 500 points, as PointNet has them."""

    def __init__(self):
        super().__init__()
        self.turn, self.turned = self.shared(3, 32, 64, 128), nn.Linear(128, 9)
        self.layers = nn.Sequential(self.shared(3, 64, 64), self.shared(64, 64, 128, 256))
        self.head = nn.Sequential(nn.Linear(256, 128), nn.BatchNorm1d(128), nn.ReLU(),
                                  nn.Linear(128, 40))

    @staticmethod
    def shared(*widths):
        layers = []
        for inputs, outputs in zip(widths, widths[1:]):
            layers += [nn.Conv1d(inputs, outputs, 1), nn.BatchNorm1d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    def forward(self, x, y):
        turn = self.turned(self.turn(x).max(-1)[0]).view(-1, 3, 3) + torch.eye(3)
        x = torch.bmm(x.transpose(1, 2), turn.to(x.dtype)).transpose(1, 2)
        return F.cross_entropy(self.head(self.layers(x).amax(-1)).float(), y)


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


class GraphTransformer(nn.Module):
    """Three layers of attention along edges, which have features (Dwivedi and Bresson 2021)."""

    class Layer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.qkv, self.edge, self.out = (nn.Linear(width, n * width) for n in (3, 1, 1))
            self.norms = nn.ModuleList([nn.BatchNorm1d(width), nn.BatchNorm1d(width)])
            self.layers = mlp(width, 2 * width, nn.ReLU())

        def forward(self, x, edges, source, target):
            q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(1)
            scores = (q[target] * k[source] * self.edge(edges).unflatten(-1, (self.heads, -1))).sum(-1)
            weights = torch.exp((scores * q.shape[-1] ** -.5).float().clamp(-5, 5))
            values = torch.zeros(q.shape).index_add(0, target, weights[..., None] * v[source].float())
            sums = torch.zeros(q.shape[:2]).index_add(0, target, weights)
            x = self.norms[0](x + self.out((values / (sums[..., None] + 1e-6)).flatten(1)))
            return self.norms[1](x + self.layers(x))

    def __init__(self, width=64, heads=8):
        super().__init__()
        self.nodes, self.edges, self.head = nn.Linear(16, width), nn.Linear(8, width), nn.Linear(width, 1)
        self.layers = nn.ModuleList([self.Layer(width, heads) for _ in range(3)])

    def forward(self, x, edges, source, target, y):
        x, edges = self.nodes(x), self.edges(edges)
        for layer in self.layers:
            x = layer(x, edges, source, target)
        return F.mse_loss(self.head(x).float(), y)


class MaxSage(nn.Module):
    """Two layers that take the largest of what edges bring (GraphSAGE, Hamilton et al. 2017)."""

    def __init__(self, width=128):
        super().__init__()
        self.near, self.own = (nn.ModuleList([nn.Linear(width, width) for _ in range(2)]) for _ in range(2))
        self.head = nn.Linear(width, 10)

    def forward(self, x, source, target, y):
        for near, own in zip(self.near, self.own):
            largest = torch.zeros_like(x).scatter_reduce(
                0, target[:, None].expand(-1, x.shape[1]), x[source], "amax", include_self=False)
            x = F.relu(near(largest) + own(x))
        return F.cross_entropy(self.head(x).float(), y)


NETWORKS = {
    "graph": (GraphAttention, lambda: (torch.randn(50, 16), integers(50, 301), integers(50, 301),
                                       integers(5, 50))),
    "citations": (Citations, lambda: ((torch.rand(2708, 1433) < .013).float(), integers(2708, 10556),
                                      integers(2708, 10556), integers(7, 2708))),
    "egnn": (EGNN, lambda: (torch.randn(8, 12, 8), torch.randn(8, 1))),
    "points": (Points, lambda: (torch.randn(8, 3, 500), integers(40, 8))),
    "sets": (SetTransformer, lambda: (torch.randn(8, 64, 3), integers(10, 8))),
    "graphformer": (GraphTransformer, lambda: (torch.randn(800, 16), torch.randn(6000, 8), integers(800, 6000),
                                               integers(800, 6000), torch.randn(800, 1))),
    "sage": (MaxSage, lambda: (torch.randn(2000, 128), integers(2000, 16000), integers(2000, 16000),
                               integers(10, 2000))),
}
