"""Steps of networks that MPT was not tuned for, MPT beside PyTorch on the CPU.

    PYTHONPATH=BUILD_DIR/python networks_vs_pytorch.py [--only NAMES] [--rounds 2] [--steps 2]

Networks are those of torch_networks, and timm's as timm/NAME. They are trained with AdamW by
PyTorch (eager, images in channels_last, bf16 by autocast) and, imported by mpt.torch.TrainStep, by
MPT. Times are processor time of one thread in ms a step: the least mean, after three steps to warm up,
of rounds in turns, each of STEPS steps or 30 ms, whichever is more. (The clock is too coarse for
single steps of 0.1 ms.) Losses are those of the third step.
"""

import argparse
import time

import torch

import mpt.torch
from torch_networks import NETWORKS, make


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
                begin, count = time.process_time(), 0
                while count < options.steps or time.process_time() - begin < 0.03:
                    step()
                    count += 1
                spent = 1e3 * (time.process_time() - begin) / count
                times[key] = min(times.get(key, spent), spent)
        for precision in ("f32", "bf16", "f16"):
            ours, theirs = times["mpt", precision], times.get(("torch", precision))
            print(f"{name:9} {precision:4} {f'{theirs:9.3f}' if theirs else 9 * ' '} {ours:8.3f}"
                  f" {f'{theirs / ours:14.2f}' if theirs else 14 * ' '}  "
                  + ", ".join(f"{losses[owner, precision]:.4f}" for owner in ("torch", "mpt")
                              if (owner, precision) in losses), flush=True)


if __name__ == "__main__":
    main()
