"""One timed training step of PyTorch: torch_models.py MODEL MODE BATCH ROUNDS DEVICE.

The networks that gpu-check times, with the same shapes, and AdamW. MODE is eager-f32,
eager-amp (bf16 autocast), compile or reduce-overhead (both with bf16 autocast). Prints
a JSON line: the median over ROUNDS of a step's milliseconds, by CUDA events, the mean of that
many steps one after the other, and the most memory that PyTorch's allocator held.
"""

import json
import statistics
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F


class SinCos(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.ModuleList([nn.Linear(1, 150), nn.Linear(150, 150), nn.Linear(150, 150)])
        self.heads = nn.ModuleList(
            [nn.Sequential(nn.Linear(150, 150), nn.ReLU(), nn.Linear(150, 1)) for _ in range(2)])

    def forward(self, x, sin, cos):
        for layer in self.trunk:
            x = F.relu(layer(x))
        return F.mse_loss(self.heads[0](x).float(), sin) + F.mse_loss(self.heads[1](x).float(), cos)

    @staticmethod
    def data(batch):
        return [torch.randn(batch, 1) for _ in range(3)]


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.n0, self.n1 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.proj = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = (part(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for part in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        if self.causal:  # Norms come first, as in GPT-2.
            x = x + self.attend(self.n0(x))
            return x + self.down(F.gelu(self.up(self.n1(x)), approximate="tanh"))
        x = self.n0(x + F.dropout(self.attend(x), 0.1))
        return self.n1(x + F.dropout(self.down(F.gelu(self.up(x))), 0.1))


class GPT2(nn.Module):
    context, vocabulary, causal = 1024, 50304, True

    def __init__(self, layers=12, width=768, heads=12):
        super().__init__()
        self.tokens = nn.Embedding(self.vocabulary, width)
        self.positions = nn.Parameter(torch.zeros(self.context, width))
        self.blocks = nn.ModuleList([Block(width, heads, self.causal) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, self.vocabulary)

    def forward(self, x, y):
        x = self.tokens(x) + self.positions
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), y.flatten())

    @classmethod
    def data(cls, batch):
        return [torch.randint(0, 1000, (batch, cls.context)) for _ in range(2)]


class BertBase(GPT2):
    context, vocabulary, causal = 512, 30528, False


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(channels, width, 1, bias=False),
                                    nn.Conv2d(width, width, 3, stride, 1, bias=False),
                                    nn.Conv2d(width, 4 * width, 1, bias=False)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(width), nn.BatchNorm2d(width), nn.BatchNorm2d(4 * width)])
        self.short = None
        if stride != 1 or channels != 4 * width:
            self.short = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False),
                                       nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.norms[0](self.convs[0](x)))
        y = F.relu(self.norms[1](self.convs[1](y)))
        y = self.norms[2](self.convs[2](y))
        return F.relu(y + (self.short(x) if self.short else x))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        blocks, channels = [], 64
        for stage, (count, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
            for i in range(count):
                blocks.append(Bottleneck(channels, width, 2 if stage and i == 0 else 1))
                channels = 4 * width
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(2048, 1000)

    def forward(self, x, y):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        x = self.blocks(x).mean((2, 3))
        return F.cross_entropy(self.head(x), y)

    @staticmethod
    def data(batch):
        return [torch.randn(batch, 3, 224, 224).to(memory_format=torch.channels_last),
                torch.randint(0, 10, (batch,))]


class ViT(nn.Module):
    """ViT-B/16 (Dosovitskiy et al. 2021)."""

    class Block(Block):
        def __init__(self, width, heads):
            super().__init__(width, heads, False)
            # One matmul, as in torchvision.
            del self.q, self.k, self.v
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x):
            b, t, c = x.shape
            parts = self.qkv(self.n0(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(*parts.unbind(0))
            x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
            return x + self.down(F.gelu(self.up(self.n1(x))))

    def __init__(self, layers=12, width=768, heads=12, size=224):
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, width, 16, 16), nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros((size // 16) ** 2 + 1, width))
        self.blocks = nn.ModuleList([self.Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x, y):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)[:, 0]), y)

    data = ResNet50.data


class Llama(nn.Module):
    """The shape of TinyLlama 1.1B: grouped-query attention, rotary positions, SwiGLU."""
    context = 2048

    class Block(nn.Module):
        def __init__(self, width, heads, groups, inner):
            super().__init__()
            linear = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
            self.size = width // heads
            self.n0, self.n1 = nn.RMSNorm(width), nn.RMSNorm(width)
            self.q, self.out = linear(width, width), linear(width, width)
            self.k, self.v = (linear(width, groups * self.size) for _ in range(2))
            self.gate, self.up, self.down = linear(width, inner), linear(width, inner), linear(inner, width)

        def forward(self, x, cos, sin):
            def rotate(part):
                a, b = part.chunk(2, -1)
                return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

            y = self.n0(x)
            q, k, v = (part(y).unflatten(-1, (-1, self.size)).transpose(1, 2) for part in (self.q, self.k, self.v))
            q, k = rotate(q).to(v.dtype), rotate(k).to(v.dtype)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + self.out(y.transpose(1, 2).flatten(2))
            y = self.n1(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def __init__(self, layers=22, width=2048, heads=32, groups=4, inner=5632, vocabulary=32000):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList([self.Block(width, heads, groups, inner) for _ in range(layers)])
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, vocabulary, bias=False)
        half = width // heads // 2
        angles = torch.outer(torch.arange(self.context), 10000.0 ** (-torch.arange(half) / half))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, y):
        x = self.tokens(x)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), y.flatten())

    @classmethod
    def data(cls, batch):
        return [torch.randint(0, 1000, (batch, cls.context)) for _ in range(2)]


MODELS = {"sincos": SinCos, "gpt2": GPT2, "bert_base": BertBase, "resnet50": ResNet50, "vit": ViT, "llama": Llama}


def main(name, mode, batch, rounds, device):
    torch.manual_seed(0)
    on_gpu = device == "cuda"
    if on_gpu:
        # eager-f32 is f32, as MPT's.
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    model = MODELS[name]().to(device)
    if name in ("resnet50", "vit"):
        model = model.to(memory_format=torch.channels_last)
    data = [tensor.to(device) for tensor in MODELS[name].data(batch)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=on_gpu or None)
    forward = model
    if mode == "compile":
        forward = torch.compile(model)
    elif mode == "reduce-overhead":
        forward = torch.compile(model, mode="reduce-overhead")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=mode != "eager-f32"):
            loss = forward(*data)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(5):
        step()
    times = []
    for _ in range(rounds):
        if on_gpu:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            step()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        else:
            begin = time.perf_counter()
            step()
            times.append(1000 * (time.perf_counter() - begin))
    # One after the other, with no wait between them.
    begin = time.perf_counter()
    for _ in range(rounds):
        last = step()
    float(last.detach())
    together = 1000 * (time.perf_counter() - begin) / rounds
    found = {"ms": statistics.median(times), "fastest_ms": min(times), "together_ms": together, "torch_version": torch.__version__,
             "loss": float(step().detach())}
    if on_gpu:
        found["memory"] = torch.cuda.max_memory_allocated()
        found["device"] = torch.cuda.get_device_name()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
