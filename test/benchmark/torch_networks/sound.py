"""Networks of sound and other signals."""

import math

import torch
from torch import nn
import torch.nn.functional as F

from .batches import integers
from .layers import Attention, Block, mlp


class Audio(nn.Module):
    """1-D convolutions on 8 clips of 16,000 samples."""

    def __init__(self):
        super().__init__()
        layers, inputs = [], 1
        for width, kernel, stride in ((64, 80, 4), (64, 3, 1), (128, 3, 1), (256, 3, 1)):
            layers += [nn.Conv1d(inputs, width, kernel, stride), nn.BatchNorm1d(width), nn.ReLU(),
                       nn.MaxPool1d(4)]
            inputs = width
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(inputs, 35)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(x).mean(2)).float(), y)


class Recognizer(nn.Module):
    """A bidirectional LSTM of width 128 over 100 steps, CTC loss; 8 clips of 200 frames."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(40, 128, 5, 2, 2)
        self.lstm, self.head = nn.LSTM(128, 128, bidirectional=True, batch_first=True), nn.Linear(256, 30)

    def forward(self, x, y):
        h = self.lstm(F.relu(self.conv(x)).transpose(1, 2))[0]
        scores = self.head(h).float().log_softmax(-1).transpose(0, 1)
        return F.ctc_loss(scores, y, torch.full((len(y),), len(scores)), torch.full((len(y),), y.shape[1]))


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


class Conformer(nn.Module):
    """Two blocks of attention and depthwise convolutions between half MLPs (Gulati et al. 2020)."""

    class Block(nn.Module):
        def __init__(self, width, heads, kernel):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(5)])
            self.first, self.second = (mlp(width, 4 * width, nn.SiLU()) for _ in range(2))
            self.attention = Attention(width, heads)
            self.enter, self.leave = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 1)
            self.depthwise = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width)
            self.batch = nn.BatchNorm1d(width)

        def forward(self, x):
            x = x + .5 * self.first(self.norms[0](x))
            x = x + self.attention(self.norms[1](x))
            z = F.glu(self.enter(self.norms[2](x).transpose(1, 2)), 1)
            x = x + self.leave(F.silu(self.batch(self.depthwise(z)))).transpose(1, 2)
            return self.norms[4](x + .5 * self.second(self.norms[3](x)))

    def __init__(self, width=144):
        super().__init__()
        self.sample = nn.Sequential(nn.Conv2d(1, width // 4, 3, 2), nn.ReLU(),
                                    nn.Conv2d(width // 4, width // 4, 3, 2), nn.ReLU())
        self.enter, self.head = nn.Linear(width // 4 * 19, width), nn.Linear(width, 200)
        self.blocks = nn.Sequential(*[self.Block(width, 4, 15) for _ in range(2)])

    def forward(self, x, y):
        z = self.enter(self.sample(x[:, None]).transpose(1, 2).flatten(2))
        return F.cross_entropy(self.head(self.blocks(z)).float().flatten(0, 1), y.flatten())


class WaveNet(nn.Module):
    """Ten causal dilated convolutions with gates (van den Oord et al. 2016)."""

    def __init__(self, width=64, skips=128, layers=10):
        super().__init__()
        self.enter = nn.Conv1d(1, width, 1)
        self.gates = nn.ModuleList([nn.Conv1d(width, 2 * width, 2, dilation=2 ** i) for i in range(layers)])
        self.stay, self.skip = (nn.ModuleList([nn.Conv1d(width, n, 1) for _ in range(layers)])
                                for n in (width, skips))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(skips, skips, 1), nn.ReLU(), nn.Conv1d(skips, 256, 1))

    def forward(self, x, y):
        z, total = self.enter(x), 0
        for gates, stay, skip in zip(self.gates, self.stay, self.skip):
            a, b = gates(F.pad(z, (gates.dilation[0], 0))).chunk(2, 1)
            passed = torch.tanh(a) * torch.sigmoid(b)
            z, total = z + stay(passed), total + skip(passed)
        return F.cross_entropy(self.head(total).float(), y)


NETWORKS = {
    "audio": (Audio, lambda: (torch.randn(8, 1, 16000), torch.randint(0, 35, (8,)))),
    "recognizer": (Recognizer, lambda: (torch.randn(8, 40, 200), torch.randint(1, 30, (8, 20)))),
    "speech": (Speech, lambda: (torch.randn(2, 80, 300), integers(300, 2, 48), integers(300, 2, 48))),
    "tcn": (TemporalConvolutions, lambda: (torch.randn(8, 4, 128), torch.randn(8, 1, 128))),
    "spectral": (Spectral, lambda: (torch.randn(16, 128, 2), torch.randn(16, 128, 1))),
    "conformer": (Conformer, lambda: (torch.randn(4, 200, 80), integers(200, 4, 49))),
    "wavenet": (WaveNet, lambda: (torch.randn(2, 1, 4000), integers(256, 2, 4000))),
}
