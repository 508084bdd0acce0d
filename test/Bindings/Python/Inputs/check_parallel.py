"""Trains with TrainStep(parallel="data") under mpirun or torchrun, or the same global batches in
one process that accumulates; writes losses and state. With LIBRARY, a stand-in for CUDA and NCCL,
on GPUs. OPTIMIZER is a class of torch.optim.
check_parallel.py RANKS FILE [KIND [PRECISION [LIBRARY [OPTIMIZER]]]]"""
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

import mpt
import mpt.torch

RANKS, PATH = int(sys.argv[1]), sys.argv[2]
KIND = sys.argv[3] if len(sys.argv) > 3 else "data"
PRECISION = sys.argv[4] if len(sys.argv) > 4 else "f16"
LIBRARY = sys.argv[5] if len(sys.argv) > 5 else None
OPTIMIZER = sys.argv[6] if len(sys.argv) > 6 else "AdamW"
ALONE = "OMPI_COMM_WORLD_SIZE" not in os.environ and "WORLD_SIZE" not in os.environ


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.25)
        self.last = nn.Linear(16, 4)

    def forward(self, x):
        return self.last(self.drop(F.relu(self.norm(self.first(x)))))


def loss(model, x, y):
    scores = model(x)
    return {"loss": F.cross_entropy(scores, y), "right": (scores.argmax(1) == y).sum(),
            "best": scores.argmax(1)}


def part(batch, rank):
    """A rank's rows of a global batch."""
    return [t.chunk(RANKS)[rank].contiguous() for t in batch]


torch.manual_seed(0)
model = Net()
rows = [12 * RANKS] * 4 + [6 * RANKS]
batches = [(torch.randn(n, 8), torch.randint(0, 4, (n,))) for n in rows]
optimizer = getattr(torch.optim, OPTIMIZER)(model.parameters(), 0.01)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
mode = {"accumulate": RANKS} if ALONE else {"parallel": KIND, "parallel_timeout": 600}
if LIBRARY:
    mode["device"] = "cuda"
    mode["cuda"] = {"cudart": LIBRARY, "cublaslt": LIBRARY, "nccl": LIBRARY,
                    "emulated_kernels": True}
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("RANK", 0)))
step = mpt.torch.TrainStep(
    model, loss, optimizer, batches[0] if ALONE else part(batches[0], rank),
    precision=PRECISION, clip_norm=1.0, seed=3, threads=1,
    loss_scale="dynamic init-scale=1048576" if PRECISION == "f16" else None, **mode)
assert step.rank == rank and step.num_ranks == (1 if ALONE else RANKS)
results = []
for batch in batches:
    result = step(*(batch if ALONE else part(batch, step.rank)))
    results.append([result.loss, result.grad_norm, result.did_step, result.loss_scale,
                    int(result["right"]), result["best"].tolist()])
    schedule.step()
state = {k: v for k, v in step.state_dict().items()}
moments = step.optimizer_state_dict()["state"]
if KIND == "data":
    outputs = step.evaluator(lambda m, x: m(x))(batches[0][0])
else:
    step.sync_to(model)
    outputs = model.state_dict()["first.weight"]
    if not ALONE:
        for refused in (lambda: step.evaluator(lambda m, x: m(x)), lambda: step.export(PATH)):
            try:
                refused()
                raise AssertionError("expected a refusal")
            except mpt.Error as error:
                assert "no process has all" in str(error), error
step.save(PATH + ".safetensors")
torch.save([results, state, moments, outputs], f"{PATH}.{rank}.pt")
if not ALONE:
    # All ranks read what rank 0 has written, once it has.
    ready = mpt.Ranks.connect()
    assert ready.is_same(1)
    step.load(PATH + ".safetensors")
    again = step(*part(batches[0], step.rank))
    assert again.did_step
skipped = sum(not r[2] for r in results)
if rank == 0:
    print(f"{step.num_ranks} ranks, {PRECISION}: {len(results)} steps, {skipped} skipped, "
          f"loss {results[0][0]:.3f} to {results[-1][0]:.3f}")
