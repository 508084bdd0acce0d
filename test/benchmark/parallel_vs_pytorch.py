"""Steps of several processes, MPT against PyTorch's DDP and FSDP over gloo.

    parallel_vs_pytorch.py [--only gpt256,resnet18-32] [--ranks 2] [--steps 6] [--rounds 3]
                           [--modes mpt-data,mpt-zero2,ddp,fsdp] [--precision f32]

Networks are those of torch_models.py; each process has a batch of its own and one thread, AdamW
updates in f32. All modes take turns, in processes of their own. Of each the least step counts,
as time on the clock and as processor time of the rank that needs more: on a machine with other
work the second is what can be compared. DDP's images are in channels_last. Needs MPT's
Python package, torch, torchvision, transformers and mpirun.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

MODES = ["mpt-data", "mpt-zero2", "ddp", "fsdp"]


def make_steps(mode, name, precision):
    """A function that does a step and returns its loss, and this process's rank."""
    import torch
    import torch_models
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, loss, batch = torch_models.MODELS[name]()
    model.train()
    make_optimizer = lambda m: torch.optim.AdamW(m.parameters(), 1e-4)
    if mode.startswith("mpt-"):
        import mpt.torch
        step = mpt.torch.TrainStep(model, loss, make_optimizer(model), batch, threads=1,
                                   precision=precision, parallel=mode.removeprefix("mpt-"),
                                   parallel_timeout=600)
        return lambda: step(*batch).loss, step.rank
    import torch.distributed as dist
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", rank=rank, world_size=size)
    # FSDP refuses parameters in that layout.
    if batch[0].dim() == 4 and mode == "ddp":
        model = model.to(memory_format=torch.channels_last)
        batch = (batch[0].contiguous(memory_format=torch.channels_last), *batch[1:])
    if mode == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        mesh = init_device_mesh("cpu", (size,))
        blocks = [m for m in model.modules() if type(m).__name__ in ("GPT2Block", "BasicBlock")]
        for module in [*blocks, model]:
            fully_shard(module, mesh=mesh)
    optimizer = make_optimizer(model)
    kind = {"f32": None, "bf16": torch.bfloat16}[precision]

    def step():
        with torch.autocast("cpu", dtype=kind, enabled=kind is not None):
            value = loss(model, *batch)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        return float(value.detach())
    return step, rank


def work(mode, name, precision, steps, path):
    step, rank = make_steps(mode, name, precision)
    for _ in range(2):
        step()
    rows = []
    for _ in range(steps):
        wall, used = time.perf_counter(), time.process_time()
        value = step()
        rows.append((time.perf_counter() - wall, time.process_time() - used))
    with open(f"{path}.{rank}", "w") as file:
        json.dump({"rows": rows, "loss": float(value)}, file)


def start(mode, args, name, path):
    command = [sys.executable, os.path.abspath(__file__), "--worker", mode, path,
               "--only", name, "--precision", args.precision, "--steps", str(args.steps)]
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=str(20000 + os.getpid() % 20000))
    if mode.startswith("mpt-"):
        subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(args.ranks),
                        *command], check=True, env=environment)
    else:
        environment["WORLD_SIZE"] = str(args.ranks)
        processes = [subprocess.Popen(command, env=dict(environment, RANK=str(rank)))
                     for rank in range(args.ranks)]
        if any([process.wait() for process in processes]):
            raise SystemExit(f"{mode} failed")
    results = []
    for rank in range(args.ranks):
        with open(f"{path}.{rank}") as file:
            results.append(json.load(file))
    wall = max(min(row[0] for row in result["rows"]) for result in results)
    used = max(min(row[1] for row in result["rows"]) for result in results)
    return 1e3 * wall, 1e3 * used, results[0]["loss"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="gpt256,resnet18-32")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker[0], args.only, args.precision, args.steps, args.worker[1])
        return
    modes = args.modes.split(",")
    print("| network | mode | ms a step | processor ms a step | loss after |\n"
          "| --- | --- | ---: | ---: | ---: |")
    for name in args.only.split(","):
        best = {}
        with tempfile.TemporaryDirectory() as directory:
            for _ in range(args.rounds):
                for mode in modes:
                    new = start(mode, args, name, os.path.join(directory, mode))
                    old = best.get(mode, new)
                    best[mode] = (min(old[0], new[0]), min(old[1], new[1]), new[2])
        for mode in modes:
            wall, used, value = best[mode]
            print(f"| {name} | {mode} | {wall:.0f} | {used:.0f} | {value:.4f} |", flush=True)


if __name__ == "__main__":
    main()
