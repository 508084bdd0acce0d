"""Time of single torch ops with their gradients on the CPU, MPT beside PyTorch eager.

    ops_vs_pytorch.py BUILD_DIR [--only REGEX] [--rounds 5]

A step is one op on a parameter, the sum of its result times random weights, the gradient and
SGD's update, in f32, through mpt.torch.TrainStep and in PyTorch. Each cell is processor time
of one thread in ms a step, the least of rounds in turns.
"""

import argparse
import copy
import os
import re
import sys
import time

import torch
import torch.nn.functional as F

GENERATOR = torch.Generator().manual_seed(0)


def normal(*shape):
    return torch.randn(shape, generator=GENERATOR)


def ints(end, *shape):
    return torch.randint(0, end, shape, generator=GENERATOR)


# Name: shape of the parameter, op, further tensors.
OPS = {
    "sort 1000": ((1000,), lambda x: x.sort()[0]),
    "sort 64x1000": ((64, 1000), lambda x: x.sort(-1)[0]),
    "sort 100000": ((100000,), lambda x: x.sort()[0]),
    "median 1000": ((1000,), lambda x: x.median() * 1),
    "median 64x1000": ((64, 1000), lambda x: x.median(-1)[0]),
    "median 100000": ((100000,), lambda x: x.median() * 1),
    "kthvalue 64x1000": ((64, 1000), lambda x: x.kthvalue(77, -1)[0]),
    "topk 5 64x1000": ((64, 1000), lambda x: x.topk(5, -1)[0]),
    "topk 32 64x1000": ((64, 1000), lambda x: x.topk(32, -1)[0]),
    "topk 10 100000": ((100000,), lambda x: x.topk(10)[0]),
    "topk 2 4096x8": ((4096, 8), lambda x: x.topk(2)[0]),
    "max 256x1000": ((256, 1000), lambda x: x.max(1)[0]),
    "max dim 0 1000x256": ((1000, 256), lambda x: x.max(0)[0]),
    "cummax 64x200": ((64, 200), lambda x: x.cummax(1)[0]),
    "cumsum 64x1000": ((64, 1000), lambda x: x.cumsum(1)),
    "cumsum dim 0 1000x64": ((1000, 64), lambda x: x.cumsum(0)),
    "cumsum 1000000": ((1000000,), lambda x: x.cumsum(0)),
    "cumprod 64x100": ((64, 100), lambda x: (x * 0.01 + 1).cumprod(1)),
    "logcumsumexp 64x200": ((64, 200), lambda x: x.logcumsumexp(1)),
    "softmax 512x256": ((512, 256), lambda x: x.softmax(-1)),
    "softmax dim 1 64x32x256": ((64, 32, 256), lambda x: x.softmax(1)),
    "log_softmax dim 1 16x20x32x32": ((16, 20, 32, 32), lambda x: x.log_softmax(1)),
    "logsumexp dim 0 512x256": ((512, 256), lambda x: x.logsumexp(0)),
    "cdist 100x16 200x16": ((100, 16), torch.cdist, normal(200, 16)),
    "cdist 500x64 500x64": ((500, 64), torch.cdist, normal(500, 64)),
    "scatter_add dim 1 64x1000": ((64, 1000), lambda x, i: torch.zeros(64, 50).scatter_add(1, i, x),
                                  ints(50, 64, 1000)),
    "scatter_add dim 0 1000x64": ((1000, 64), lambda x, i: torch.zeros(50, 64).scatter_add(0, i, x),
                                  ints(50, 1000, 64)),
    "gather dim 1 64x500": ((64, 1000), lambda x, i: x.gather(1, i), ints(1000, 64, 500)),
    "index_select 2000x64": ((1000, 64), lambda x, i: x.index_select(0, i), ints(1000, 2000)),
    "index_add 1000x64": ((1000, 64), lambda x, i: torch.zeros(100, 64).index_add(0, i, x), ints(100, 1000)),
    "embedding 1024x64": ((5000, 64), lambda x, i: F.embedding(i, x), ints(5000, 1024)),
    "embedding_bag 128x8": ((5000, 64), lambda x, i: F.embedding_bag(i, x, mode="sum"), ints(5000, 128, 8)),
    "exp 100000": ((100000,), torch.exp),
    "tanh 100000": ((100000,), torch.tanh),
    "gelu 100000": ((100000,), F.gelu),
    "mish 100000": ((100000,), F.mish),
    "pow 100000": ((100000,), lambda x: x.abs().pow(2.5)),
    "lgamma 10000": ((10000,), lambda x: (x.abs() + 1).lgamma()),
    "digamma 10000": ((10000,), lambda x: (x.abs() + 1).digamma()),
    "sum dim 0 1000x1000": ((1000, 1000), lambda x: x.sum(0)),
    "mean dim 1 64x100x64": ((64, 100, 64), lambda x: x.mean(1)),
    "var 512x256": ((512, 256), lambda x: x.var(-1)),
    "layer_norm 512x256": ((512, 256), lambda x: F.layer_norm(x, (256,))),
    "group_norm 8x32x16x16": ((8, 32, 16, 16), lambda x: F.group_norm(x, 8)),
    "transpose 500x500": ((500, 500), lambda x: x.t().contiguous() * 2),
    "permute 16x32x20x20": ((16, 32, 20, 20), lambda x: x.permute(0, 2, 3, 1).contiguous() * 2),
    "flip 300x300": ((300, 300), lambda x: x.flip(1)),
    "roll 300x300": ((300, 300), lambda x: x.roll(7, 1)),
    "cat 300x900": ((300, 300), lambda x: torch.cat((x, x * 2, x), 1)),
    "pixel_shuffle 4x32x16x16": ((4, 32, 16, 16), lambda x: F.pixel_shuffle(x, 2)),
    "unfold 8x8x24x24": ((8, 8, 24, 24), lambda x: F.unfold(x, 3, padding=1)),
    "grid_sample 4x8x32x32": ((4, 8, 32, 32), lambda x, g: F.grid_sample(x, g), normal(4, 32, 32, 2).tanh()),
    "bmm 16x64x64": ((16, 64, 64), lambda x: x @ x),
    "mm 256x256": ((256, 256), lambda x: x @ x),
    "mv 500x500": ((500, 500), lambda x, v: x @ v, normal(500)),
    "conv3d 2x8x10x10x10": ((2, 8, 10, 10, 10), lambda x, w: F.conv3d(x, w, padding=1), normal(8, 8, 3, 3, 3)),
    "conv_transpose3d 2x8x8x8x8": ((2, 8, 8, 8, 8), lambda x, w: F.conv_transpose3d(x, w, stride=2),
                                   normal(8, 8, 3, 3, 3)),
    "avg_pool3d 2x8x16x16x16": ((2, 8, 16, 16, 16), lambda x: F.avg_pool3d(x, 2)),
    "cross_entropy 256x1000": ((256, 1000), F.cross_entropy, ints(1000, 256)),
    "cross_entropy 4x10x32x32": ((4, 10, 32, 32), F.cross_entropy, ints(10, 4, 32, 32)),
    "batch_norm eval 16x32x16x16": ((16, 32, 16, 16), lambda x, m, v: F.batch_norm(x, m, v), normal(32),
                                    normal(32).abs() + 0.5),
    "batch_norm 16x32x16x16": ((16, 32, 16, 16), lambda x: F.batch_norm(x, None, None, training=True)),
    "instance_norm 8x32x16x16": ((8, 32, 16, 16), F.instance_norm),
    "normalize 512x256": ((512, 256), lambda x: F.normalize(x, dim=-1)),
    "normalize dim 1 8x32x16x16": ((8, 32, 16, 16), lambda x: F.normalize(x, dim=1)),
    "vector_norm p=3 512x256": ((512, 256), lambda x: torch.linalg.vector_norm(x, 3, -1)),
    "norm 512x256": ((512, 256), lambda x: x.norm() * 1),
    "cosine_similarity 512x256": ((512, 256), lambda x, y: F.cosine_similarity(x, y), normal(512, 256)),
    "avg_pool2d 8x16x32x32": ((8, 16, 32, 32), lambda x: F.avg_pool2d(x, 2)),
    "adaptive_avg_pool2d 8x16x32x32": ((8, 16, 32, 32), lambda x: F.adaptive_avg_pool2d(x, 7)),
    "max_pool2d 8x16x32x32": ((8, 16, 32, 32), lambda x: F.max_pool2d(x, 3, 2, 1)),
    "lp_pool2d 8x16x32x32": ((8, 16, 32, 32), lambda x: F.lp_pool2d(x, 2, 2)),
    "interpolate nearest 4x16x16x16": ((4, 16, 16, 16), lambda x: F.interpolate(x, scale_factor=2)),
    "interpolate bilinear 4x16x16x16": ((4, 16, 16, 16), lambda x: F.interpolate(
        x, scale_factor=2, mode="bilinear", align_corners=False)),
    "interpolate bicubic 4x16x16x16": ((4, 16, 16, 16), lambda x: F.interpolate(
        x, scale_factor=2, mode="bicubic", align_corners=False)),
    "fold 4x72x576": ((4, 72, 576), lambda x: F.fold(x, 24, 3, padding=1)),
    "pad constant 8x16x32x32": ((8, 16, 32, 32), lambda x: F.pad(x, (1, 2, 1, 2))),
    "pad reflect 8x16x32x32": ((8, 16, 32, 32), lambda x: F.pad(x, (2, 2, 2, 2), mode="reflect")),
    "pad replicate 8x16x32x32": ((8, 16, 32, 32), lambda x: F.pad(x, (2, 2, 2, 2), mode="replicate")),
    "pad circular 8x16x32x32": ((8, 16, 32, 32), lambda x: F.pad(x, (2, 2, 2, 2), mode="circular")),
    "flip dim 0 300x300": ((300, 300), lambda x: x.flip(0)),
    "index_put accumulate 1000x64": ((1000, 64), lambda x, i: torch.zeros(100, 64).index_put((i,), x, accumulate=True),
                                     ints(100, 1000)),
    "scatter_reduce amax 1000x64": ((1000, 64), lambda x, i: torch.zeros(100, 64).scatter_reduce(
        0, i, x, "amax", include_self=False), ints(100, 1000, 1).expand(1000, 64).contiguous()),
    "embedding_bag mean 128x8": ((5000, 64), lambda x, i: F.embedding_bag(i, x), ints(5000, 128, 8)),
    "masked_fill 512x256": ((512, 256), lambda x, m: x.masked_fill(m > 0, -1.0), normal(512, 256)),
    "where 512x256": ((512, 256), lambda x, m: torch.where(m > 0, x, x * 2), normal(512, 256)),
    "tril 16x64x64": ((16, 64, 64), lambda x: x.tril() * 2),
    "triu 500x500": ((500, 500), lambda x: x.triu(1) * 2),
    "silu 100000": ((100000,), F.silu),
    "softplus 100000": ((100000,), F.softplus),
    "elu 100000": ((100000,), F.elu),
    "erf 100000": ((100000,), torch.erf),
    "log1p 100000": ((100000,), lambda x: x.abs().log1p()),
    "sin 100000": ((100000,), torch.sin),
    "atan2 100000": ((100000,), lambda x, y: torch.atan2(x, y), normal(100000)),
    "glu 512x256": ((512, 256), F.glu),
    "prelu 8x32x16x16": ((8, 32, 16, 16), lambda x, w: F.prelu(x, w), normal(32)),
    "huber_loss 512x256": ((512, 256), lambda x, y: F.huber_loss(x, y), normal(512, 256)),
    "kl_div 512x256": ((512, 256), lambda x, y: F.kl_div(x.log_softmax(-1), y, reduction="batchmean"),
                       normal(512, 256).softmax(-1)),
    "bce_with_logits 512x256": ((512, 256), lambda x, y: F.binary_cross_entropy_with_logits(x, y),
                                normal(512, 256).sigmoid()),
    "ctc_loss 50x8x20": ((50, 8, 20), lambda x, y: F.ctc_loss(x.log_softmax(-1), y, torch.full((8,), 50),
                                                             torch.full((8,), 10)), ints(19, 8, 10) + 1),
    "triplet_margin_loss 512x256": ((512, 256), lambda x, a, b: F.triplet_margin_loss(x, a, b), normal(512, 256),
                                    normal(512, 256)),
    "bmm broadcast 16x64x64": ((16, 64, 64), lambda x, y: x @ y, normal(64, 64)),
    "baddbmm 16x64x64": ((16, 64, 64), lambda x, y: torch.baddbmm(x, y, x), normal(16, 64, 64)),
    "einsum bqhd,bkhd->bhqk 4x64x4x32": ((4, 64, 4, 32), lambda x: torch.einsum("bqhd,bkhd->bhqk", x, x)),
    "einsum bi,bj,ijk->bk 64x32": ((64, 32), lambda x, w: torch.einsum("bi,bj,ijk->bk", x, x, w),
                                   normal(32, 32, 16)),
    "outer sum 300x400": ((300,), lambda x, y: x[:, None] + y, normal(400)),
    "diff 64x1000": ((64, 1000), lambda x: x.diff()),
    "std dim 1 8x32x256": ((8, 32, 256), lambda x: x.std(1)),
    "amax dim 1 8x32x256": ((8, 32, 256), lambda x: x.amax(1)),
    "prod 512x64": ((512, 64), lambda x: x.prod(-1)),
    "conv1d 8x16x256": ((8, 16, 256), lambda x, w: F.conv1d(x, w, padding=2), normal(32, 16, 5)),
    "depthwise conv2d 8x32x16x16": ((8, 32, 16, 16), lambda x, w: F.conv2d(x, w, padding=1, groups=32),
                                    normal(32, 1, 3, 3)),
    "conv_transpose2d 4x32x16x16": ((4, 32, 16, 16), lambda x, w: F.conv_transpose2d(x, w, stride=2),
                                    normal(32, 16, 2, 2)),
    "repeat_interleave 512x64": ((512, 64), lambda x: x.repeat_interleave(3, 0)),
    "repeat 64x1000": ((64, 1000), lambda x: x.repeat(3, 2)),
    "stack 300x300": ((300, 300), lambda x: torch.stack((x, x * 2), -1)),
    "chunk 512x300": ((512, 300), lambda x: torch.cat(x.chunk(3, -1)[::-1], -1)),
    "lstm_cell 64x128": ((64, 128), lambda x, h, w, u: torch.lstm_cell(x, (h, h), w, u)[0], normal(64, 128),
                         normal(512, 128) * 0.1, normal(512, 128) * 0.1),
    "gru_cell 64x128": ((64, 128), lambda x, h, w, u: torch.gru_cell(x, h, w, u), normal(64, 128),
                        normal(384, 128) * 0.1, normal(384, 128) * 0.1),
    "multi_head_attention 64x4x128": ((64, 4, 128), lambda x, w, o: F.multi_head_attention_forward(
        x, x, x, 128, 4, w, None, None, None, False, 0.0, o, None, need_weights=False)[0],
        normal(384, 128) * 0.1, normal(128, 128) * 0.1),
    "attention 4x4x64x32": ((4, 4, 64, 32), lambda x: F.scaled_dot_product_attention(x, x, x)),
}


class Holder(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.x = torch.nn.Parameter(normal(*shape))


def measure(mpt_torch, shape, op, extra, rounds):
    theirs = Holder(shape)
    weights = normal(*op(theirs.x.detach(), *extra).shape)

    def loss(module, weights, *extra):
        return (op(module.x, *extra) * weights).sum()

    ours = copy.deepcopy(theirs)
    step = mpt_torch.TrainStep(ours, loss, torch.optim.SGD(ours.parameters(), 1e-6), example=(weights, *extra),
                               threads=1, precision="f32")
    optimizer = torch.optim.SGD(theirs.parameters(), 1e-6, fused=True)

    def eager():
        optimizer.zero_grad(set_to_none=True)
        loss(theirs, weights, *extra).backward()
        optimizer.step()

    contestants, best = (eager, lambda: step(weights, *extra)), [float("inf")] * 2
    for run in contestants:
        run()
    begin = time.process_time()
    eager()
    count = max(2, min(300, int(0.04 / max(1e-5, time.process_time() - begin))))
    for _ in range(rounds):
        for i, run in enumerate(contestants):
            begin = time.process_time()
            for _ in range(count):
                run()
            best[i] = min(best[i], (time.process_time() - begin) / count * 1e3)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    sys.path.insert(0, os.path.join(os.path.abspath(options.build), "python"))
    import mpt.torch
    torch.set_num_threads(1)
    print("| op, with its gradient | PyTorch | MPT | MPT / PyTorch |\n| --- | ---: | ---: | ---: |")
    for name, (shape, op, *extra) in OPS.items():
        if re.search(options.only, name):
            eager, ours = measure(mpt.torch, shape, op, extra, options.rounds)
            print(f"| {name} | {eager:.3f} | {ours:.3f} | {ours / eager:.2f} |", flush=True)


if __name__ == "__main__":
    main()
