"""What differs between two ranks is an error on both, after which they may go on.
parallel_faults.py exit|late|end|fork|apart: rank 1 leaves, does not answer, does not end, forks
a process, or is at another call."""
import os
import sys
import time

import mpt

ranks = mpt.Ranks.connect(20 if "end" in sys.argv else 600)
if "exit" in sys.argv:
    if ranks.rank:
        sys.exit(1)
    ranks.is_same(0)
    print("came back")
if "fork" in sys.argv:
    if ranks.rank:
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0) == (child, 0)
    same = ranks.is_same(7)
    if ranks.rank == 0:
        print("all ranks go on:", same)
    sys.exit(0)
if "apart" in sys.argv:
    if ranks.rank == 0:
        ranks.is_same(2 ** 63 - 25)
        sys.exit(0)
    try:
        ranks.check_same("text", "text")
    except mpt.Error as error:
        print("refused:", error)
    sys.exit(0)
if "end" in sys.argv:
    time.sleep(600 if ranks.rank else 0)
    sys.exit(0)
if "late" in sys.argv:
    ranks.set_deadline(3)
    if ranks.rank:
        time.sleep(600)
    ranks.is_same(0)
    print("came back")

import torch
from torch import nn

import mpt.torch


def refused(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except mpt.Error as error:
        assert ranks.is_same(hash(tuple(str(error).encode())) & 0xffffffff)
        if ranks.rank == 0:
            print("refused:", error, flush=True)
        return
    raise AssertionError("not refused")


def build(seed=0, **options):
    torch.manual_seed(seed)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    return mpt.torch.TrainStep(model, lambda m, x: m(x).square().mean(), optimizer,
                               torch.zeros(4, 4), parallel="data", threads=1, **options)


refused(build, seed=ranks.rank)
refused(build, clip_norm=1.0 + ranks.rank)
step = build(parallel_timeout=600)
step(torch.ones(4, 4))
refused(step, torch.ones(6 if ranks.rank else 4, 4))
step.lr = 0.1 * (1 + ranks.rank)
refused(step, torch.ones(4, 4))
step.lr = 0.1
if ranks.rank:
    step.load_state_dict({"weight": torch.zeros(2, 4), "bias": torch.ones(2)})
refused(step, torch.ones(4, 4))
same = {"weight": torch.zeros(2, 4), "bias": torch.ones(2)}
step.load_state_dict(same)
if ranks.rank == 0:
    # Writes on rank 0, and waits for no one.
    step.save(sys.argv[1])
result = step(torch.ones(4, 4))
if ranks.rank == 0:
    print("goes on:", result.loss)
