"""Steps of networks that MPT was not tuned for, MPT beside PyTorch on the CPU.

    PYTHONPATH=BUILD_DIR/python other_networks.py [--only NAMES] [--rounds 2] [--steps 2]

    convnext   depthwise 7x7, layer norm over channels, 4 times wider; 8 images of 96x96
    mobile     inverted residuals, hardswish, squeeze and excitation; 16 images of 96x96
    unet128    32 wide and 3 levels deep; 4 images of 128x128
    mixer      6 layers of an MLP-Mixer, 196 patches of width 384; 8 images of 224x224
    tabular    256 numbers to 3 layers of 2048, batches of 1024
    llama      6 layers of width 512, 8 heads on 2 of keys, rotary positions, SwiGLU; 2 x 256 tokens
    deeplab    DeepLabV3 on MobileNetV3 of torchvision, dilations of 2 to 36; 4 images of 256x256
    video      a ResNet-18 of 3-D convolutions of torchvision; 2 clips of 8 images of 112x112
    audio      1-D convolutions on 8 clips of 16,000 samples
    recognizer a bidirectional LSTM of width 128 over 100 steps, CTC loss; 8 clips of 200 frames
    egnn       messages along all edges of 8 graphs of 12 nodes, width 32
    experts    2 layers of width 256 as transformers' Qwen3-MoE, 4 of 32 experts of width 256; 4 x 128 tokens
    deltanet   24 steps of the delta rule on states of 4 x 4 x 16 x 16, one after the other
    seq2seq    a GRU and a GRU cell with attention, width 64; 16 x 20 tokens
    mamba2     2 layers of a scan of which chunks of 16 are matmuls, width 64, 8 heads; 4 x 64 tokens

and, in varied_networks.py:

    rwkv       2 blocks of width 64 whose channels decay over 24 steps, one after the other
    tcn        5 causal dilated convolutions of width 32 over 128 steps, group norms
    flow       6 affine couplings of 16 numbers, batches of 128
    sets       5 layers of attention of width 64, 4 of them to or from 8 induced points; 8 sets of 64
    hyper      weights of 2 to 24 to 24 to 1 that a network makes for each of 16 examples; 50 points each
    tagger     a GRU of width 48 and a conditional random field of 9 tags; 8 x 20 tokens

Each is a torch.nn.Module, trained with AdamW by PyTorch (eager, images in channels_last, bf16 by
autocast) and, imported by mpt.torch.TrainStep, by MPT. Times are processor time of one thread in ms a step: the least
step, after two to warm up, of rounds in turns. Losses are those of the third step.
"""

import argparse
import math
import time

import torch
from torch import nn
import torch.nn.functional as F

import mpt.torch
import varied_networks


class ConvNeXt(nn.Module):
    def __init__(self, widths=(64, 128, 256), depth=2):
        super().__init__()
        layers, inputs, patch = [], 3, 4
        for width in widths:
            layers.append(nn.Conv2d(inputs, width, patch, patch))
            layers += [self.Block(width) for _ in range(depth)]
            inputs, patch = width, 2
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(inputs, 100)

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.conv = nn.Conv2d(width, width, 7, padding=3, groups=width)
            self.norm = nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            y = self.norm(self.conv(x).permute(0, 2, 3, 1))
            return x + self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(x).mean((2, 3))).float(), y)


class Mobile(nn.Module):
    def __init__(self):
        super().__init__()
        layers, inputs = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish()], 16
        for width, stride, count in ((24, 2, 2), (40, 2, 3), (112, 2, 3), (160, 2, 2)):
            for i in range(count):
                layers.append(self.Block(inputs, width, stride if i == 0 else 1))
                inputs = width
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(inputs, 100)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            wide = 4 * inputs
            self.expand = nn.Sequential(nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide),
                                        nn.Hardswish(),
                                        nn.Conv2d(wide, wide, 5, stride, 2, groups=wide, bias=False),
                                        nn.BatchNorm2d(wide), nn.Hardswish())
            self.down, self.up = nn.Conv2d(wide, wide // 4, 1), nn.Conv2d(wide // 4, wide, 1)
            self.project = nn.Sequential(nn.Conv2d(wide, outputs, 1, bias=False),
                                         nn.BatchNorm2d(outputs))
            self.isResidual = inputs == outputs and stride == 1

        def forward(self, x):
            y = self.expand(x)
            y = y * F.hardsigmoid(self.up(F.relu(self.down(y.mean((2, 3), keepdim=True)))))
            y = self.project(y)
            return x + y if self.isResidual else y

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(x).mean((2, 3))).float(), y)


class UNet(nn.Module):
    def __init__(self, width=32, levels=3):
        super().__init__()
        self.down, self.up, self.merge = (nn.ModuleList() for _ in range(3))
        inputs = 3
        for level in range(levels):
            self.down.append(self.convolutions(inputs, width << level))
            inputs = width << level
            self.up.append(nn.ConvTranspose2d(2 * inputs, inputs, 2, 2))
            self.merge.append(self.convolutions(2 * inputs, inputs))
        self.bottom, self.head = self.convolutions(inputs, 2 * inputs), nn.Conv2d(width, 4, 1)

    @staticmethod
    def convolutions(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                             nn.GroupNorm(8, outputs), nn.SiLU(),
                             nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
                             nn.GroupNorm(8, outputs), nn.SiLU())

    def forward(self, x, y):
        kept = []
        for down in self.down:
            kept.append(down(x))
            x = F.max_pool2d(kept[-1], 2)
        x = self.bottom(x)
        for up, merge, before in reversed(list(zip(self.up, self.merge, kept))):
            x = merge(torch.cat([up(x), before], 1))
        return F.cross_entropy(self.head(x).float(), y)


class Mixer(nn.Module):
    def __init__(self, width=384, patches=196, layers=6):
        super().__init__()
        self.patch, self.head = nn.Conv2d(3, width, 16, 16), nn.Linear(width, 100)
        self.blocks = nn.ModuleList([nn.ModuleList([
            nn.LayerNorm(width), nn.Linear(patches, 256), nn.Linear(256, patches),
            nn.LayerNorm(width), nn.Linear(width, 1536), nn.Linear(1536, width)])
            for _ in range(layers)])

    def forward(self, x, y):
        x = self.patch(x).flatten(2).transpose(1, 2)
        for n0, a, b, n1, c, d in self.blocks:
            x = x + b(F.gelu(a(n0(x).transpose(1, 2)))).transpose(1, 2)
            x = x + d(F.gelu(c(n1(x))))
        return F.cross_entropy(self.head(x.mean(1)).float(), y)


class Tabular(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.ModuleList(), nn.Linear(2048, 1)
        for inputs in (256, 2048, 2048):
            self.layers.append(nn.Sequential(nn.Linear(inputs, 2048), nn.BatchNorm1d(2048), nn.ReLU()))

    def forward(self, x, y):
        for layer in self.layers:
            x = layer(x)
        return F.mse_loss(self.head(x).float(), y)


class Llama(nn.Module):
    def __init__(self, layers=6, width=512, heads=8, groups=2, vocabulary=4096):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.tokens, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)
        self.last, hidden = nn.RMSNorm(width), 1408

        def linear(inputs, outputs):
            return nn.Linear(inputs, outputs, bias=False)
        self.blocks = nn.ModuleList([nn.ModuleDict(dict(
            n0=nn.RMSNorm(width), q=linear(width, width), k=linear(width, groups * self.size),
            v=linear(width, groups * self.size), o=linear(width, width), n1=nn.RMSNorm(width),
            gate=linear(width, hidden), up=linear(width, hidden), down=linear(hidden, width)))
            for _ in range(layers)])

    def forward(self, x, y):
        b, t = x.shape
        angles = torch.outer(torch.arange(t).float(),
                             10000 ** (-torch.arange(0, self.size, 2).float() / self.size))
        cos, sin = (torch.cat([f, f], 1) for f in (angles.cos(), angles.sin()))

        def rotate(z):
            left, right = z.chunk(2, -1)
            return z * cos + torch.cat([-right, left], -1) * sin
        h = self.tokens(x)
        for block in self.blocks:
            z = block["n0"](h)
            q, k, v = (block[name](z).view(b, t, -1, self.size).transpose(1, 2) for name in "qkv")
            z = F.scaled_dot_product_attention(rotate(q).to(v.dtype), rotate(k).to(v.dtype), v,
                                               is_causal=True, enable_gqa=True)
            h = h + block["o"](z.transpose(1, 2).reshape(b, t, -1))
            z = block["n1"](h)
            h = h + block["down"](F.silu(block["gate"](z)) * block["up"](z))
        return F.cross_entropy(self.head(self.last(h)).flatten(0, 1).float(), y.flatten())


class DeepLab(nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision
        self.model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
            weights=None, weights_backbone=None, num_classes=21)
        for module in self.model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0

    def forward(self, x, y):
        return F.cross_entropy(self.model(x)["out"].float(), y)


class Video(nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision
        self.model = torchvision.models.video.r3d_18(num_classes=400)

    def forward(self, x, y):
        return F.cross_entropy(self.model(x).float(), y)


class Audio(nn.Module):
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


class EGNN(nn.Module):
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


class DeltaNet(nn.Module):
    def __init__(self, vocabulary=64, width=64, heads=4):
        super().__init__()
        self.heads, self.tokens, self.norm = heads, nn.Embedding(vocabulary, width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.rate, self.head = nn.Linear(width, heads), nn.Linear(width, vocabulary)

    def forward(self, x, y):
        x = self.tokens(x)
        z, size = self.norm(x), x.shape[2] // self.heads
        q, k, v = (f(z).unflatten(2, (self.heads, size)).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, rate = F.normalize(k, dim=-1), self.rate(z).sigmoid().transpose(1, 2)
        state, read = torch.zeros(x.shape[0], self.heads, size, size), []
        for t in range(x.shape[1]):
            known = torch.einsum("bhk,bhkv->bhv", k[:, :, t], state)
            state = state + torch.einsum("bhk,bhv->bhkv", k[:, :, t], (v[:, :, t] - known) * rate[:, :, t, None])
            read.append(torch.einsum("bhk,bhkv->bhv", q[:, :, t], state))
        read = torch.stack(read, 2).transpose(1, 2).flatten(2)
        return F.cross_entropy(self.head(x + self.out(read)).flatten(0, 1).float(), y.flatten())


class Mamba2(nn.Module):
    """Layers of a scan of which chunks are matmuls, as its paper's listing has it (Dao & Gu 2024)."""

    class Layer(nn.Module):
        def __init__(self, width, heads, states, chunk):
            super().__init__()
            self.heads, self.states, self.chunk, inner = heads, states, chunk, 2 * width
            self.sizes = inner, inner + 2 * states, heads
            self.norm, self.inner_norm = nn.LayerNorm(width), nn.LayerNorm(inner)
            self.up = nn.Linear(width, sum(self.sizes), bias=False)
            self.conv = nn.Conv1d(self.sizes[1], self.sizes[1], 4, groups=self.sizes[1], padding=3)
            self.rate, self.decay = nn.Parameter(torch.zeros(heads)), nn.Parameter(torch.zeros(heads))
            self.skip, self.down = nn.Parameter(torch.ones(heads)), nn.Linear(inner, width, bias=False)

        @staticmethod
        def sums(x):
            """Sums of the terms after each one up to each other; minus infinity above the diagonal."""
            size, ends = x.shape[-1], x.cumsum(-1)
            below = torch.ones(size, size, dtype=torch.bool).tril()
            return (ends[..., :, None] - ends[..., None, :]).masked_fill(~below, -math.inf)

        def scan(self, x, a, b, c):
            x, b, c = (z.unflatten(1, (-1, self.chunk)) for z in (x, b, c))
            a = a.unflatten(1, (-1, self.chunk)).permute(0, 3, 1, 2)
            ends = a.cumsum(-1)
            inside = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", c, b, self.sums(a).exp(), x)
            states = torch.einsum("bcln,bhcl,bclhp->bchpn", b, (ends[..., -1:] - ends).exp(), x)
            states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
            between = self.sums(F.pad(ends[..., -1], (1, 0))).exp()
            states = torch.einsum("bhzc,bchpn->bzhpn", between, states)[:, :-1]
            return (inside + torch.einsum("bcln,bchpn,bhcl->bclhp", c, states, ends.exp())).flatten(1, 2)

        def forward(self, x):
            gate, z, step = self.up(self.norm(x)).split(self.sizes, -1)
            z = F.silu(self.conv(z.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
            z, b, c = z.split((self.sizes[0], self.states, self.states), -1)
            z, step = z.unflatten(2, (self.heads, -1)), F.softplus(step + self.rate)
            y = self.scan(z * step[..., None], -self.decay.exp() * step, b, c) + self.skip[:, None] * z
            return x + self.down(self.inner_norm(y.flatten(2) * F.silu(gate)))

    def __init__(self, vocabulary=64, width=64, heads=8, states=16, chunk=16):
        super().__init__()
        self.tokens, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary)
        self.layers = nn.Sequential(*(self.Layer(width, heads, states, chunk) for _ in range(2)))

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(self.tokens(x))).flatten(0, 1).float(), y.flatten())


class Translator(nn.Module):
    """A GRU that reads, and a GRU cell that writes with attention to what was read (Luong et al. 2015)."""

    def __init__(self, vocabulary=64, width=64):
        super().__init__()
        self.source, self.target = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width)
        self.read, self.write = nn.GRU(width, width, batch_first=True), nn.GRUCell(2 * width, width)
        self.score, self.head = nn.Linear(width, width, bias=False), nn.Linear(2 * width, vocabulary)

    def forward(self, x, y):
        known, h = self.read(self.source(x))
        h, words, outputs = h[0], self.target(y), []
        seen = torch.zeros_like(h)
        for t in range(y.shape[1] - 1):
            h = self.write(torch.cat([words[:, t], seen], 1), h)
            weights = torch.einsum("btk,bk->bt", known, self.score(h)).softmax(1)
            seen = torch.einsum("bt,btk->bk", weights, known)
            outputs.append(torch.cat([h, seen], 1))
        z = self.head(torch.stack(outputs, 1)).float()
        return F.cross_entropy(z.flatten(0, 1), y[:, 1:].flatten())


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        import transformers
        self.model = transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(
            vocab_size=2000, hidden_size=256, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2,
            head_dim=32, intermediate_size=768, moe_intermediate_size=256, num_experts=32,
            num_experts_per_tok=4, use_cache=False))

    def forward(self, x, y):
        return self.model(input_ids=x, labels=y).loss


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(40, 128, 5, 2, 2)
        self.lstm, self.head = nn.LSTM(128, 128, bidirectional=True, batch_first=True), nn.Linear(256, 30)

    def forward(self, x, y):
        h = self.lstm(F.relu(self.conv(x)).transpose(1, 2))[0]
        scores = self.head(h).float().log_softmax(-1).transpose(0, 1)
        return F.ctc_loss(scores, y, torch.full((len(y),), len(scores)), torch.full((len(y),), y.shape[1]))


def images(batch, size, classes=100):
    return torch.randn(batch, 3, size, size), torch.randint(0, classes, (batch,))


NETWORKS = {
    "convnext": (ConvNeXt, lambda: images(8, 96)),
    "mobile": (Mobile, lambda: images(16, 96)),
    "unet128": (UNet, lambda: (images(4, 128)[0], torch.randint(0, 4, (4, 128, 128)))),
    "mixer": (Mixer, lambda: images(8, 224)),
    "tabular": (Tabular, lambda: (torch.randn(1024, 256), torch.randn(1024, 1))),
    "llama": (Llama, lambda: (torch.randint(0, 4096, (2, 256)), torch.randint(0, 4096, (2, 256)))),
    "deeplab": (DeepLab, lambda: (images(4, 256)[0], torch.randint(0, 21, (4, 256, 256)))),
    "video": (Video, lambda: (torch.randn(2, 3, 8, 112, 112), torch.randint(0, 400, (2,)))),
    "audio": (Audio, lambda: (torch.randn(8, 1, 16000), torch.randint(0, 35, (8,)))),
    "experts": (Experts, lambda: (words := torch.randint(3, 2000, (4, 128)), words)),
    "recognizer": (Recognizer, lambda: (torch.randn(8, 40, 200), torch.randint(1, 30, (8, 20)))),
    "egnn": (EGNN, lambda: (torch.randn(8, 12, 8), torch.randn(8, 1))),
    "seq2seq": (Translator, lambda: (torch.randint(0, 64, (16, 20)), torch.randint(0, 64, (16, 20)))),
    "mamba2": (Mamba2, lambda: (torch.randint(0, 64, (4, 64)), torch.randint(0, 64, (4, 64)))),
    "deltanet": (DeltaNet, lambda: (torch.randint(0, 64, (4, 24)), torch.randint(0, 64, (4, 24)))),
    **varied_networks.NETWORKS,
}


def make(name, channels_last):
    torch.manual_seed(0)
    network, batch = NETWORKS[name]
    model, batch = network(), batch()
    if channels_last and batch[0].dim() == 4:
        model.to(memory_format=torch.channels_last)
        batch = (batch[0].to(memory_format=torch.channels_last), *batch[1:])
    return model, torch.optim.AdamW(model.parameters(), 1e-3, fused=True), batch


def torch_step(name, precision):
    model, optimizer, batch = make(name, channels_last=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = model(*batch)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def mpt_step(name, precision):
    model, optimizer, batch = make(name, channels_last=False)
    step = mpt.torch.TrainStep(model, lambda model, *batch: model(*batch), optimizer=optimizer,
                               example=batch, threads=1, precision=precision)
    return lambda: float(step(*batch).loss)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(NETWORKS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("network   type   PyTorch     MPT  PyTorch / MPT  losses")
    for name in options.only.split(","):
        steps = {("torch", p): torch_step(name, p) for p in ("f32", "bf16")}
        steps.update({("mpt", p): mpt_step(name, p) for p in ("f32", "bf16", "f16")})
        losses = {key: [step() for _ in range(3)][-1] for key, step in steps.items()}
        times = {}
        for _ in range(options.rounds):
            for key, step in steps.items():
                for _ in range(options.steps):
                    begin = time.process_time()
                    step()
                    spent = 1e3 * (time.process_time() - begin)
                    times[key] = min(times.get(key, spent), spent)
        for precision in ("f32", "bf16", "f16"):
            ours, theirs = times["mpt", precision], times.get(("torch", precision))
            print(f"{name:9} {precision:4} {f'{theirs:9.2f}' if theirs else 9 * ' '} {ours:8.2f}"
                  f" {f'{theirs / ours:14.2f}' if theirs else 14 * ' '}  "
                  + ", ".join(f"{losses[owner, precision]:.4f}" for owner in ("torch", "mpt")
                              if (owner, precision) in losses), flush=True)


if __name__ == "__main__":
    main()
