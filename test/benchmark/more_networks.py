"""More networks for memory_vs_pytorch.py: attention, convolutions and experts of newer kinds."""

import math

import torch
from torch import nn
import torch.nn.functional as F


class Adversaries(nn.Module):
    """A generator against a discriminator of 32x32 images (DCGAN, Radford et al. 2016)."""

    def __init__(self, width=32):
        super().__init__()
        up = lambda i, o: [nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU()]
        self.make = nn.Sequential(
            nn.ConvTranspose2d(64, 4 * width, 4, bias=False), nn.BatchNorm2d(4 * width), nn.ReLU(),
            *up(4 * width, 2 * width), *up(2 * width, width), nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())
        self.judge = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(.2), nn.Conv2d(width, 2 * width, 4, 2, 1),
            nn.BatchNorm2d(2 * width), nn.LeakyReLU(.2), nn.Conv2d(2 * width, 4 * width, 4, 2, 1),
            nn.BatchNorm2d(4 * width), nn.LeakyReLU(.2), nn.Conv2d(4 * width, 1, 4), nn.Flatten(0))

    def forward(self, real, noise):
        made = self.judge(self.make(noise)).float()
        true = self.judge(real).float()
        return F.softplus(-true).mean() + F.softplus(made).mean()


class Block(nn.Module):
    """Attention and an MLP, each after a norm, with what is added to queries and keys."""

    def __init__(self, width, heads, attend):
        super().__init__()
        self.heads, self.attend = heads, attend
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).transpose(-4, -2).unbind(-3)
        x = x + self.out(self.attend(q, k, v).transpose(-3, -2).flatten(-2))
        return x + self.layers(self.norms[1](x))


class LinearAttention(nn.Module):
    """Attention without a softmax over positions (Katharopoulos et al. 2020)."""

    def __init__(self, width=96, depth=3):
        super().__init__()
        self.words = nn.Embedding(256, width)
        self.layers = nn.Sequential(*[Block(width, 4, self.attend) for _ in range(depth)])
        self.head = nn.Linear(width, 256)

    @staticmethod
    def attend(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        sums = q @ (k.transpose(-1, -2) @ v)
        return sums / (q @ k.sum(-2)[..., None] + 1e-6)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(self.words(x))).flatten(0, 1).float(), y.flatten())


class Spectral(nn.Module):
    """Sums over the lowest waves of a field (FNO, Li et al. 2021), by matmuls with cosines."""

    def __init__(self, width=32, waves=12, size=128, depth=3):
        super().__init__()
        angles = torch.outer(torch.arange(size), torch.arange(waves)) * (2 * math.pi / size)
        self.register_buffer("waves", torch.cat([angles.cos(), angles.sin()], 1) / math.sqrt(size))
        self.lift, self.project = nn.Linear(2, width), nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, 1))
        self.mix = nn.ParameterList([torch.randn(2 * waves, width, width) / width for _ in range(depth)])
        self.pass_by = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x, y):
        h = self.lift(x)
        waves = self.waves.to(h.dtype)
        for mix, pass_by in zip(self.mix, self.pass_by):
            spectrum = torch.einsum("bsc,sw->wbc", h, waves)
            spectrum = torch.bmm(spectrum, mix)
            h = F.gelu(torch.einsum("wbc,sw->bsc", spectrum, waves.to(spectrum.dtype)) + pass_by(h))
        return F.mse_loss(self.project(h).float(), y)


class VisionTransformer(nn.Module):
    def __init__(self, width=192, depth=4, patch=16, size=128):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.places = nn.Parameter(torch.randn((size // patch) ** 2 + 1, width) * .02)
        self.one = nn.Parameter(torch.zeros(1, 1, width))
        self.layers = nn.Sequential(*[Block(width, 3, F.scaled_dot_product_attention) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 100)

    def forward(self, x, y):
        h = self.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.one.expand(x.shape[0], -1, -1).to(h.dtype), h], 1) + self.places
        return F.cross_entropy(self.head(self.norm(self.layers(h))[:, 0]).float(), y)


class Windows(nn.Module):
    """Attention in windows of 7x7, every other block shifted by 3 (Swin, Liu et al. 2021)."""

    def __init__(self, width=64, heads=4, window=7, size=28):
        super().__init__()
        self.window, self.patches = window, nn.Conv2d(3, width, 4, 4)
        self.bias = nn.Parameter(torch.randn(heads, window ** 2, window ** 2) * .02)
        attend = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, self.bias.to(q.dtype))
        self.first = nn.ModuleList([Block(width, heads, attend) for _ in range(2)])
        self.merge = nn.Linear(4 * width, 2 * width, bias=False)
        self.norm = nn.LayerNorm(2 * width)
        self.second = nn.Sequential(*[Block(2 * width, heads, F.scaled_dot_product_attention) for _ in range(2)])
        self.head = nn.Linear(2 * width, 50)

    def forward(self, x, y):
        h = self.patches(x).permute(0, 2, 3, 1)
        b, n, _, c = h.shape
        w = self.window
        for i, block in enumerate(self.first):
            h = torch.roll(h, (-3 * i, -3 * i), (1, 2))
            parts = h.view(b, n // w, w, n // w, w, c).transpose(2, 3).reshape(-1, w * w, c)
            h = block(parts).view(b, n // w, n // w, w, w, c).transpose(2, 3).reshape(b, n, n, c)
            h = torch.roll(h, (3 * i, 3 * i), (1, 2))
        h = h.view(b, n // 2, 2, n // 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, n * n // 4, 4 * c)
        h = self.second(self.merge(h))
        return F.cross_entropy(self.head(self.norm(h).mean(1)).float(), y)


class Speech(nn.Module):
    """Spectra to words by an encoder and a decoder (Whisper, Radford et al. 2022)."""

    def __init__(self, width=96, words=300, depth=2):
        super().__init__()
        self.listen = nn.Sequential(nn.Conv1d(80, width, 3, padding=1), nn.GELU(),
                                    nn.Conv1d(width, width, 3, 2, 1), nn.GELU())
        self.sounds = nn.Parameter(torch.randn(150, width) * .02)
        self.places = nn.Parameter(torch.randn(48, width) * .02)
        self.encode = nn.Sequential(*[Block(width, 4, F.scaled_dot_product_attention) for _ in range(depth)])
        self.words = nn.Embedding(words, width)
        self.decode = nn.ModuleList([nn.TransformerDecoderLayer(
            width, 4, 4 * width, dropout=0., activation="gelu", batch_first=True, norm_first=True)
            for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, spectrum, words, y):
        h = self.encode(self.listen(spectrum).transpose(1, 2) + self.sounds)
        z = self.words(words) + self.places
        n = words.shape[1]
        later = torch.full((n, n), -math.inf).triu(1)
        for layer in self.decode:
            z = layer(z, h, tgt_mask=later)
        z = F.linear(self.norm(z), self.words.weight)
        return F.cross_entropy(z.flatten(0, 1).float(), y.flatten())


class Diffusion(nn.Module):
    """The noise of an image at a time, by residual blocks and attention (DDPM, Ho et al. 2020)."""

    class Residual(nn.Module):
        def __init__(self, inputs, outputs, time=64):
            super().__init__()
            self.first = nn.Sequential(nn.GroupNorm(8, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
            self.time = nn.Linear(time, outputs)
            self.second = nn.Sequential(nn.GroupNorm(8, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1))
            self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

        def forward(self, x, t):
            h = self.first(x) + self.time(t)[:, :, None, None]
            return self.skip(x) + self.second(h)

    class Attention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = nn.GroupNorm(8, width)
            self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x)).view(b, 3, 1, c, h * w).transpose(3, 4).unbind(1)
            y = F.scaled_dot_product_attention(q, k, v)
            return x + self.out(y.transpose(2, 3).reshape(b, c, h, w))

    def __init__(self, width=32):
        super().__init__()
        R = self.Residual
        self.time = nn.Sequential(nn.Linear(width, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList([R(width, width), R(width, 2 * width)])
        self.halve = nn.ModuleList([nn.Conv2d(width, width, 3, 2, 1), nn.Conv2d(2 * width, 2 * width, 3, 2, 1)])
        self.middle, self.attention = R(2 * width, 2 * width), self.Attention(2 * width)
        self.up = nn.ModuleList([R(4 * width, width), R(2 * width, width)])
        self.head = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))
        self.width = width

    def forward(self, image, noise, time):
        share = torch.cos(time * (math.pi / 2))[:, None, None, None]
        x = share * image + torch.sqrt(1 - share ** 2) * noise
        angles = time[:, None] * 10 ** torch.linspace(0, 3, self.width // 2)
        t = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        h, kept = self.stem(x), []
        for block, halve in zip(self.down, self.halve):
            h = block(h, t)
            kept.append(h)
            h = halve(h)
        h = self.attention(self.middle(h, t))
        for block in self.up:
            h = F.interpolate(h, scale_factor=2.)
            h = block(torch.cat([h, kept.pop()], 1), t)
        return F.mse_loss(self.head(h).float(), noise)


class Experts(nn.Module):
    """Each word weighs two of four MLPs, all of which are computed (Shazeer et al. 2017)."""

    def __init__(self, words=200, width=64, experts=4, depth=2):
        super().__init__()
        self.words, self.head = nn.Embedding(words, width), nn.Linear(width, words)
        self.mix = nn.ModuleList([nn.MultiheadAttention(width, 4, batch_first=True) for _ in range(depth)])
        self.gates = nn.ModuleList([nn.Linear(width, experts, bias=False) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2 * depth)])
        self.up = nn.ParameterList([torch.randn(experts, width, 2 * width) * .1 for _ in range(depth)])
        self.down = nn.ParameterList([torch.randn(experts, 2 * width, width) * .1 for _ in range(depth)])

    def forward(self, x, y):
        h = self.words(x)
        for i, (mix, gate) in enumerate(zip(self.mix, self.gates)):
            z = self.norms[2 * i](h)
            h = h + mix(z, z, z, need_weights=False)[0]
            z = self.norms[2 * i + 1](h)
            scores = gate(z).float()
            best = scores.topk(2, -1)[0][..., -1:]
            shares = torch.where(scores >= best, scores, -1e30).softmax(-1)
            made = torch.einsum("btw,ewf->ebtf", z, self.up[i])
            made = torch.einsum("ebtf,efw->ebtw", F.silu(made), self.down[i])
            h = h + (made * shares.permute(2, 0, 1)[..., None].to(made.dtype)).sum(0)
        return F.cross_entropy(self.head(h).flatten(0, 1).float(), y.flatten())


def integers(most, *shape):
    return torch.randint(0, most, shape)


NETWORKS = {
    "gan": (Adversaries, lambda: (torch.rand(16, 3, 32, 32) * 2 - 1, torch.randn(16, 64, 1, 1))),
    "linattn": (LinearAttention, lambda: (integers(256, 4, 128), integers(256, 4, 128))),
    "spectral": (Spectral, lambda: (torch.randn(16, 128, 2), torch.randn(16, 128, 1))),
    "vit": (VisionTransformer, lambda: (torch.randn(8, 3, 128, 128), integers(100, 8))),
    "swin": (Windows, lambda: (torch.randn(4, 3, 112, 112), integers(50, 4))),
    "speech": (Speech, lambda: (torch.randn(2, 80, 300), integers(300, 2, 48), integers(300, 2, 48))),
    "diffusion": (Diffusion, lambda: (torch.randn(4, 3, 32, 32), torch.randn(4, 3, 32, 32), torch.rand(4))),
    "experts": (Experts, lambda: (integers(200, 4, 64), integers(200, 4, 64))),
}
