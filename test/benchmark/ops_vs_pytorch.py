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
