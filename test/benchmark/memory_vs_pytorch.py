"""Peak memory of a training step, MPT beside PyTorch on the CPU.

    PYTHONPATH=BUILD_DIR/python memory_vs_pytorch.py [--only NAMES] [--precisions f32,bf16,f16]
        [--budget SIZE] [--part 0.7]

Networks are those of torch_networks, and timm's as timm/NAME (timm/vit_tiny_patch16_224). The
optimizer is AdamW. MPT's bytes are the arena, the state and the parameters; PyTorch's the most that
torch.profiler sees allocated in the second step, with the parameters, in a process of its own. --part adds what parts of PyTorch's bytes the state,
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

from torch_networks import NETWORKS, make

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


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
