"""Peak memory of a training step, MPT beside PyTorch on the CPU.

    PYTHONPATH=BUILD_DIR/python memory_vs_pytorch.py [--only NAMES] [--precisions f32,bf16,f16]
        [--budget SIZE] [--part 0.7]

    graph      attention over the 301 edges of a graph of 50 nodes
    vae        a variational autoencoder of 32 images of 28x28, with transposed convolutions
    segment    dilated convolutions, bilinear upsampling, and a dice and a focal loss
    quantile   two hidden layers of 33 with SELU and softplus, 257 rows
    points     shared layers over 8 clouds of 500 points, as PointNet has them
    volume     3-D convolutions, pooling and norms over 4 volumes of 16x24x24
    ranking    embedding bags of up to 20,011 rows and their products, as DLRM has them
    detect     4 layers of attention between 180 pixels and 20 queries, as DETR has them
    pairs      images and texts in one space, as CLIP has them
    citations  two layers of attention along the 10,556 edges of 2,708 papers with 1,433 words
    inverted   inverted residuals with squeeze and excitation; 8 images of 64x64

those of small_networks.py, more_networks.py and other_networks.py, and timm's as timm/NAME, with 4 images of 224x224
(timm/vit_tiny_patch16_224), which are not among the default ones. The optimizer is AdamW. MPT's bytes are the arena, the
state and the parameters; PyTorch's the most that torch.profiler sees allocated in the second step,
with the parameters, in a process of its own. --part adds what parts of PyTorch's bytes the state,
the step as it is and the least that a budget reaches take, and, where the step as it is takes more
than this part of them, the step within it: whether its losses have the same bits, and
processor time of one thread in ms a step, without and with the budget: the least of rounds in turns.
"""

import argparse
import json
import math
import multiprocessing
import os
import re
import tempfile
import time

import torch
from torch import nn
import torch.nn.functional as F

import more_networks
import other_networks
import small_networks


class GraphAttention(nn.Module):
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


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1),
                                    nn.ReLU(), nn.Flatten())
        self.mean, self.scale = nn.Linear(1568, 20), nn.Linear(1568, 20)
        self.decode = nn.Sequential(
            nn.Linear(20, 1568), nn.ReLU(), nn.Unflatten(1, (32, 7, 7)),
            nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1))

    def forward(self, x, noise):
        h = self.encode(x)
        mean, scale = self.mean(h), self.scale(h)
        y = torch.sigmoid(self.decode(mean + noise * torch.exp(.5 * scale)).float())
        loss = F.binary_cross_entropy(y, x, reduction="sum")
        return (loss - .5 * (1 + scale - mean.pow(2) - scale.exp()).sum()) / x.shape[0]


class Segmentation(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.Hardswish())
        self.branches = nn.ModuleList([nn.Conv2d(32, 16, 3, padding=r, dilation=r) for r in (1, 3, 6)])
        self.pooled, self.head = nn.Conv2d(32, 16, 1), nn.Conv2d(64, 5, 1)

    def forward(self, x, y):
        h = self.stem(x)
        pooled = F.interpolate(self.pooled(F.adaptive_avg_pool2d(h, 1)), size=h.shape[2:],
                               mode="bilinear", align_corners=False)
        h = self.head(torch.cat([branch(h) for branch in self.branches] + [pooled], 1))
        z = F.interpolate(h, size=x.shape[2:], mode="bilinear", align_corners=True).float()
        p, hot = z.softmax(1), F.one_hot(y.clamp(max=4), 5).permute(0, 3, 1, 2).float()
        dice = 1 - (2 * (p * hot).sum((2, 3)) + 1) / ((p + hot).sum((2, 3)) + 1)
        sure = torch.exp(-F.cross_entropy(z, y, ignore_index=255, reduction="none"))
        focal = (1 - sure) ** 2 * -torch.log(sure + 1e-8)
        return F.cross_entropy(z, y, ignore_index=255) + dice.mean() + focal.mean()


class Quantiles(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(9, 33), nn.SELU(), nn.Linear(33, 33), nn.Softplus(),
                                    nn.Linear(33, 3))

    def forward(self, x, y):
        error, q = y - self.layers(x).float(), torch.tensor([.1, .5, .9])
        return torch.maximum(q * error, (q - 1) * error).mean()


class Points(nn.Module):
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


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv3d(1, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2),
            nn.Conv3d(16, 32, 3, padding=1, stride=(1, 2, 2)), nn.InstanceNorm3d(32, affine=True),
            nn.LeakyReLU(.1), nn.AvgPool3d(2), nn.ConvTranspose3d(32, 16, 2, 2), nn.ELU(),
            nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 5))

    def forward(self, x, y):
        return F.cross_entropy(self.layers(x).float(), y)


class Ranking(nn.Module):
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


class Detection(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 4, 1), nn.ReLU(), nn.Conv2d(32, width, 3, 2, 1))
        self.places = nn.Parameter(torch.randn(180, 1, width) * .1)
        self.queries = nn.Parameter(torch.randn(20, 1, width) * .1)
        self.layers = nn.Transformer(width, 4, 2, 2, 128, dropout=0.)
        self.head = nn.Linear(width, 10)

    def forward(self, x, y):
        h = self.stem(x).flatten(2).permute(2, 0, 1) + self.places
        z = self.layers(h, self.queries.expand(-1, x.shape[0], -1))
        return F.cross_entropy(self.head(z).flatten(0, 1).float(), y.flatten())


class Pairs(nn.Module):
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


class Inverted(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1, bias=False), nn.BatchNorm2d(24), nn.SiLU())
        self.blocks = nn.ModuleList([self.Block(24, 24, 4, 3, 1), self.Block(24, 40, 4, 5, 2),
                                     self.Block(40, 40, 6, 5, 1), self.Block(40, 80, 6, 3, 2)])
        self.head = nn.Linear(80, 37)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, times, kernel, stride):
            super().__init__()
            wide = inputs * times
            self.up = nn.Sequential(nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide),
                                    nn.SiLU(),
                                    nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide,
                                              bias=False), nn.BatchNorm2d(wide), nn.SiLU())
            self.squeeze, self.excite = nn.Conv2d(wide, inputs // 4, 1), nn.Conv2d(inputs // 4, wide, 1)
            self.down = nn.Sequential(nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
            self.isResidual = inputs == outputs and stride == 1

        def forward(self, x):
            y = self.up(x)
            y = y * torch.sigmoid(self.excite(F.silu(self.squeeze(y.mean((2, 3), keepdim=True)))))
            y = self.down(y)
            return x + y if self.isResidual else y

    def forward(self, x, y):
        h = self.stem(x)
        for block in self.blocks:
            h = block(h)
        return F.cross_entropy(self.head(h.mean((2, 3))).float(), y)


class Citations(nn.Module):
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


class Classifier(nn.Module):
    """A network of timm with its loss."""

    def __init__(self, name):
        super().__init__()
        import timm
        self.model = timm.create_model(name)

    def forward(self, x, y):
        return F.cross_entropy(self.model(x).float(), y)


integers = small_networks.integers

NETWORKS = {
    "graph": (GraphAttention, lambda: (torch.randn(50, 16), integers(50, 301), integers(50, 301),
                                       integers(5, 50))),
    "vae": (Autoencoder, lambda: (torch.rand(32, 1, 28, 28), torch.randn(32, 20))),
    "segment": (Segmentation, lambda: (torch.randn(3, 3, 65, 47), integers(5, 3, 65, 47))),
    "quantile": (Quantiles, lambda: (torch.randn(257, 9), torch.randn(257, 1))),
    "points": (Points, lambda: (torch.randn(8, 3, 500), integers(40, 8))),
    "volume": (Volume, lambda: (torch.randn(4, 1, 16, 24, 24), integers(5, 4))),
    "ranking": (Ranking, lambda: (torch.randn(128, 13), integers(1000, 128, 5), integers(50, 128, 1),
                                  integers(20011, 128, 20), torch.rand(128).round())),
    "detect": (Detection, lambda: (torch.randn(2, 3, 96, 120), integers(10, 20, 2))),
    "pairs": (Pairs, lambda: (torch.randn(16, 3, 32, 32), integers(200, 16, 20))),
    "citations": (Citations, lambda: ((torch.rand(2708, 1433) < .013).float(), integers(2708, 10556),
                                      integers(2708, 10556), integers(7, 2708))),
    "inverted": (Inverted, lambda: (torch.randn(8, 3, 64, 64), integers(37, 8))),
    **small_networks.NETWORKS,
    **more_networks.NETWORKS,
    **other_networks.NETWORKS,
}


TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


def make(name):
    torch.manual_seed(0)
    if name.startswith("timm/"):
        model, batch = Classifier(name[len("timm/"):]), (torch.randn(4, 3, 224, 224), integers(1000, 4))
    else:
        network, batch = NETWORKS[name]
        model, batch = network(), batch()
    return model, torch.optim.AdamW(model.parameters(), 1e-3, fused=True), batch


def torch_bytes(name, precision):
    torch.set_num_threads(1)
    with torch.profiler.profile(profile_memory=True) as profile:
        model, optimizer, batch = make(name)
        scaler = torch.amp.GradScaler("cpu", enabled=precision == "f16")
        for _ in range(2):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", TYPES.get(precision), enabled=precision in TYPES):
                loss = model(*batch)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    return max(e["args"]["Total Allocated"] for e in events if e.get("name") == "[memory]")


def mpt_step(name, precision, budget=None):
    """A step of MPT, and the batch that it takes."""
    import mpt.torch
    model, optimizer, batch = make(name)
    step = mpt.torch.TrainStep(model, lambda model, *batch: model(*batch), optimizer, example=batch,
                               threads=1, precision=precision, memory_budget=budget)
    return step, batch


def mpt_bytes(name, precision, budget):
    step, _ = mpt_step(name, precision, budget)
    return step.arena_bytes + step.state_bytes


def least_times(steps, batch, rounds=6, least_seconds=.1):
    """Milliseconds of each step: the least of the rounds' means, in turns."""
    times = [math.inf] * len(steps)
    for _ in range(rounds):
        for i, step in enumerate(steps):
            begin, count = time.process_time(), 0
            while count < 2 or time.process_time() - begin < least_seconds:
                step(*batch)
                count += 1
            times[i] = min(times[i], 1e3 * (time.process_time() - begin) / count)
    return times


def describe_part(name, precision, theirs, part):
    """What the step takes of `theirs`, PyTorch's bytes, as it is and within `part` of them."""
    import mpt
    plain, batch = mpt_step(name, precision)
    state = plain.state_bytes
    least, _ = mpt_step(name, precision, "min")
    shares = [bytes / theirs for bytes in (state, state + plain.arena_bytes,
                                           state + least.arena_bytes)]
    text = "".join(f"{share:7.2f}" for share in shares)
    if shares[1] <= part:
        return text + "  as it is"
    if shares[2] > part:
        return text + "  not reached"
    try:
        inside, _ = mpt_step(name, precision, str(int(part * theirs) - state))
    except mpt.Error as error:
        found = re.search("cannot run in.*|no plan found.*", str(error))
        return f"{text}  {found[0] if found else error}"
    losses = [[float(step(*batch).loss) for _ in range(3)] for step in (plain, inside)]
    times = least_times((plain, inside), batch)
    return (f"{text}{(state + inside.arena_bytes) / theirs:7.3f}  "
            f"{'same' if losses[0] == losses[1] else 'OTHER'} losses"
            f"{times[0]:9.2f}{times[1]:9.2f}{times[1] / times[0]:6.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(NETWORKS))
    parser.add_argument("--precisions", default="f32,bf16,f16")
    parser.add_argument("--budget", help="of MPT's arena, such as min or 512KB")
    parser.add_argument("--part", type=float, help="of PyTorch's bytes, such as 0.7")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ratios = {}
    print("network    type     PyTorch  state  as is  least inside              ms in budget ratio"
          if options.part else "network    type     PyTorch         MPT  MPT / PyTorch")
    for name in options.only.split(","):
        for precision in options.precisions.split(","):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                theirs = pool.apply(torch_bytes, (name, precision))
            if options.part:
                row = describe_part(name, precision, theirs, options.part)
                print(f"{name:10} {precision:4} {theirs:11,}{row}", flush=True)
                continue
            ours = mpt_bytes(name, precision, options.budget)
            ratios.setdefault(precision, []).append(ours / theirs)
            print(f"{name:10} {precision:4} {theirs:11,} {ours:11,} {ours / theirs:14.2f}", flush=True)
    for precision, values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"{precision}: {mean:.3f} in the geometric mean of {len(values)}, "
              f"above 1 in {sum(value > 1 for value in values)}")


if __name__ == "__main__":
    main()
