"""Small networks of many kinds, for memory_vs_pytorch.py."""

import math

import torch
from torch import nn
import torch.nn.functional as F


class Involution(nn.Module):
    """Kernels of 7x7 that each pixel computes for itself (Li et al. 2021)."""

    def __init__(self, width=32, groups=4, kernel=7):
        super().__init__()
        self.groups, self.kernel = groups, kernel
        self.stem, self.norm = nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width)
        self.reduce, self.span = nn.Conv2d(width, 8, 1), nn.Conv2d(8, kernel ** 2 * groups, 1)
        self.head = nn.Linear(width, 10)

    def forward(self, x, y):
        x = F.relu(self.norm(self.stem(x)))
        b, c, h, w = x.shape
        weights = self.span(F.relu(self.reduce(x))).view(b, self.groups, 1, -1, h, w)
        patches = F.unfold(x, self.kernel, padding=self.kernel // 2)
        patches = patches.view(b, self.groups, c // self.groups, -1, h, w)
        x = x + (weights * patches).sum(3).view(b, c, h, w)
        return F.cross_entropy(self.head(x.mean((2, 3))).float(), y)


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


class SpatialTransformer(nn.Module):
    """Images turned by a transform that they compute (Jaderberg et al. 2015)."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(),
                                  nn.Conv2d(8, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
                                  nn.Linear(90, 32), nn.ReLU(), nn.Linear(32, 6))
        self.layers = nn.Sequential(nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(),
                                    nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
                                    nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10))

    def forward(self, x, y):
        turn = self.look(x).float().view(-1, 2, 3) + torch.eye(2, 3)
        x = F.grid_sample(x, F.affine_grid(turn, list(x.shape), align_corners=False),
                          align_corners=False)
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


class Triplets(nn.Module):
    """One network for anchors, and for what is like and unlike them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(100, 256), nn.BatchNorm1d(256), nn.PReLU(),
                                    nn.Linear(256, 256), nn.PReLU(), nn.Linear(256, 64))

    def forward(self, anchor, like, unlike):
        a, b, c = (F.normalize(self.layers(x).float(), dim=-1) for x in (anchor, like, unlike))
        return F.triplet_margin_loss(a, b, c, margin=.3)


class Proximal(nn.Module):
    """Policy and value of PPO, with the clipped loss and an entropy (Schulman et al. 2017)."""

    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(17, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.mean, self.value = nn.Linear(width, 6), nn.Linear(width, 1)
        self.scale = nn.Parameter(torch.zeros(6))

    def forward(self, x, action, before, advantage, gain):
        h = self.body(x)
        mean, value = self.mean(h).float(), self.value(h).float().squeeze(1)
        chosen = -.5 * (((action - mean) / self.scale.exp()) ** 2).sum(1) - self.scale.sum()
        ratio = (chosen - before).exp()
        policy = torch.minimum(ratio * advantage, ratio.clamp(.8, 1.2) * advantage).mean()
        return .5 * F.mse_loss(value, gain) - policy - .01 * self.scale.sum()


class Rainbow(nn.Module):
    """Dueling heads over a distribution of returns, with noisy layers (Hessel et al. 2018)."""

    class Noisy(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.linear = nn.Linear(inputs, outputs)
            self.weight = nn.Parameter(torch.full((outputs, inputs), .01))
            self.bias = nn.Parameter(torch.full((outputs,), .01))

        def forward(self, x, noise):
            left, right = noise[:self.bias.shape[0]], noise[-x.shape[1]:]
            return F.linear(x, self.linear.weight + self.weight * torch.outer(left, right),
                            self.linear.bias + self.bias * left)

    def __init__(self, actions=6, atoms=51):
        super().__init__()
        self.shape = actions, atoms
        self.layers = nn.Sequential(nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2),
                                    nn.ReLU(), nn.Flatten())
        self.v0, self.v1 = self.Noisy(512, 128), self.Noisy(128, atoms)
        self.a0, self.a1 = self.Noisy(512, 128), self.Noisy(128, actions * atoms)

    def forward(self, x, action, target, noise):
        h = self.layers(x)
        value = self.v1(F.relu(self.v0(h, noise)), noise).unsqueeze(1)
        gain = self.a1(F.relu(self.a0(h, noise)), noise).view(-1, *self.shape)
        logs = F.log_softmax((value + gain - gain.mean(1, keepdim=True)).float(), -1)
        logs = logs.gather(1, action[:, None, None].expand(-1, 1, self.shape[1])).squeeze(1)
        return -(target * logs).sum(1).mean()


class Capsules(nn.Module):
    """Capsules with three rounds of routing by agreement (Sabour et al. 2017)."""

    def __init__(self):
        super().__init__()
        self.stem, self.first = nn.Conv2d(1, 32, 9, 2), nn.Conv2d(32, 64, 5, 2)
        self.weights = nn.Parameter(torch.randn(72, 10, 8, 8) * .05)

    @staticmethod
    def squash(x):
        square = (x * x).sum(-1, keepdim=True)
        return x * square / (1 + square) / torch.sqrt(square + 1e-8)

    def forward(self, x, y):
        h = self.first(F.relu(self.stem(x)))
        h = self.squash(h.float().view(h.shape[0], 72, 8))
        votes = torch.einsum("bic,ijcd->bijd", h, self.weights)
        logits = torch.zeros(h.shape[0], 72, 10)
        for _ in range(3):
            z = self.squash((logits.softmax(2)[..., None] * votes).sum(1).float())
            logits = logits + (votes * z[:, None]).sum(-1)
        lengths, hot = torch.sqrt((z * z).sum(-1) + 1e-8), F.one_hot(y, 10).float()
        return (hot * F.relu(.9 - lengths) ** 2
                + .5 * (1 - hot) * F.relu(lengths - .1) ** 2).sum(1).mean()


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


class StateSpace(nn.Module):
    """A diagonal state space model as a convolution by FFT's sums (S4D, Gu et al. 2022)."""

    def __init__(self, width=32, states=16):
        super().__init__()
        self.up, self.mix, self.head = nn.Linear(3, width), nn.Linear(width, 2 * width), nn.Linear(width, 10)
        self.decay = nn.Parameter(torch.rand(width, states))
        self.turn = nn.Parameter(math.pi * torch.arange(states).float().repeat(width, 1))
        self.weight = nn.Parameter(torch.randn(width, states) * .1)
        self.direct = nn.Parameter(torch.ones(width))

    def forward(self, x, y):
        x = self.up(x).transpose(1, 2)
        length = x.shape[2]
        time = torch.arange(length).float() / length
        kernel = (self.weight[..., None] * torch.exp(-self.decay.exp()[..., None] * time)
                  * torch.cos(self.turn[..., None] * time)).sum(1)
        conv = F.conv1d(F.pad(x, (length - 1, 0)), kernel.flip(1)[:, None], groups=x.shape[1])
        z = F.gelu(conv + x * self.direct[:, None]).transpose(1, 2)
        return F.cross_entropy(self.head(F.glu(self.mix(z)).mean(1)).float(), y)


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


class SmallConvNeXt(nn.Module):
    """A stage of ConvNeXt with scales of its layers (Liu et al. 2022)."""

    def __init__(self, width=48, depth=2):
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, width, 4, 4), nn.Linear(width, 10)
        self.blocks = nn.ModuleList([nn.ModuleDict(dict(
            conv=nn.Conv2d(width, width, 7, padding=3, groups=width), norm=nn.LayerNorm(width),
            up=nn.Linear(width, 4 * width), down=nn.Linear(4 * width, width)))
            for _ in range(depth)])
        self.scales = nn.ParameterList([torch.full((width,), 1e-2) for _ in range(depth)])

    def forward(self, x, y):
        x = self.stem(x)
        for block, scale in zip(self.blocks, self.scales):
            z = block["norm"](block["conv"](x).permute(0, 2, 3, 1))
            z = scale * block["down"](F.gelu(block["up"](z)))
            x = x + z.permute(0, 3, 1, 2)
        return F.cross_entropy(self.head(x.mean((2, 3))).float(), y)


class Perceptron(nn.Module):
    """Three layers whose weights are most of the memory."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                                    nn.Linear(256, 10))

    def forward(self, x, y):
        return F.cross_entropy(self.layers(x).float(), y)


def integers(high, *shape):
    return torch.randint(0, high, shape)


NETWORKS = {
    "involution": (Involution, lambda: (torch.randn(8, 3, 32, 32), integers(10, 8))),
    "widedeep": (WideAndDeep, lambda: (
        torch.randn(128, 7), torch.stack([integers(n, 128) for n in (3000, 700, 90, 11)], 1),
        torch.rand(128).round())),
    "stn": (SpatialTransformer, lambda: (torch.randn(16, 1, 28, 28), integers(10, 16))),
    "hopfield": (Hopfield, lambda: (torch.randn(64, 24), integers(10, 64))),
    "triplet": (Triplets, lambda: tuple(torch.randn(64, 100) for _ in range(3))),
    "ppo": (Proximal, lambda: (torch.randn(256, 17), torch.randn(256, 6), torch.randn(256) - 6,
                               torch.randn(256), torch.randn(256))),
    "rainbow": (Rainbow, lambda: (torch.rand(16, 4, 44, 44), integers(6, 16),
                                  torch.rand(16, 51).softmax(1), torch.randn(512))),
    "capsule": (Capsules, lambda: (torch.rand(16, 1, 28, 28), integers(10, 16))),
    "ode": (NeuralODE, lambda: (torch.randn(128, 8), torch.randn(128, 8))),
    "s4d": (StateSpace, lambda: (torch.randn(8, 128, 3), integers(10, 8))),
    "kan": (Splines, lambda: (torch.rand(128, 12) * 2 - 1, integers(5, 128))),
    "next": (SmallConvNeXt, lambda: (torch.randn(4, 3, 64, 64), integers(10, 4))),
    "mlp": (Perceptron, lambda: (torch.randn(64, 256), integers(10, 64))),
}
