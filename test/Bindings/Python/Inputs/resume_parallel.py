"""Trains on global batches of 12 rows from step START, for which it loads FILE, to step END, and
saves it. resume_parallel.py FILE START END KIND [CLIP]: KIND is that of parallel=, or, in one process,
the number of micro-batches. kill: rank 1 is killed while it saves."""
import os
import signal
import sys
import threading

import torch
from torch import nn
from torch.nn import functional as F

import mpt
import mpt.torch

path, start, end, kind = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
clip = float(sys.argv[5]) if len(sys.argv) > 5 else 1.0
alone = kind.isdigit()
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
size = int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 600)
        self.norm = nn.BatchNorm1d(600)
        self.last = nn.Linear(600, 4)

    def forward(self, x):
        return self.last(F.gelu(self.norm(self.first(x))))


torch.manual_seed(0)
model = Net()
batches = [(torch.randn(12, 8), torch.randint(0, 4, (12,))) for _ in range(8)]
batches = [tuple(t.chunk(size)[rank].contiguous() for t in batch) for batch in batches]
mode = ({"accumulate": int(kind)} if alone else
        {"parallel": kind.removeprefix("kill-"), "parallel_timeout": 60})
step = mpt.torch.TrainStep(
    model, lambda m, x, y: F.cross_entropy(m(x), y),
    torch.optim.AdamW(model.parameters(), 0.01), batches[0], precision="bf16",
    clip_norm=clip, seed=3, threads=1, **mode)
if start:
    try:
        step.load(path)
    except mpt.Error as error:
        if rank == 0:
            print("refused:", error)
        sys.exit(0)
for index in range(start, end):
    result = step(*batches[index])
if kind.startswith("kill-"):
    if rank == 1:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
    while True:
        step.save(path)
step.save(path)
if rank == 0:
    print(f"{size} ranks, {kind}: steps {start} to {end}, loss {result.loss if end > start else None}")
