"""Time of attention and its gradient on the CPU, MPT beside PyTorch.

    attention.py BUILD_DIR [--mpt-run NAME=PATH ...] [--rounds 3] [--sizes 64,128,256,512,1024]
                 [--widths 64] [--heads 12] [--precisions f32,bf16,f16] [--forms plain,causal,masked]

A step has queries, keys and values of so many heads and positions as parameters, which SGD
updates; its loss is a sum of squares. Each cell is processor time of one thread in ms a
step, the least of rounds in turns: of MPT half the difference between runs of n and 3n
steps, of PyTorch (scaled_dot_product_attention of tensors in that type, that are cast from f32)
the least of n. --mpt-run adds other builds, such as one whose kFewestScores is larger
(lib/Dialect/MPT/Transforms/FusedAttention.cpp), which decomposes attention.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time

import numpy as np
import torch

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def write_module(path, heads, size, width, form):
    tensor, mask = f"tensor<1x{heads}x{size}x{width}xf32>", f"tensor<1x1x1x{size}xf32>"
    arguments = [f'%{name}: {tensor} {{mpt.name = "{name}", mpt.role = "parameter", mpt.init = '
                 '{kind = "normal", mean = 0.0 : f64, std = 1.0 : f64}}' for name in "qkv"]
    arguments.append(f'%y: {tensor} {{mpt.name = "y", mpt.role = "input"}}')
    operands, types, lines = "%q, %k, %v", [tensor] * 3, []
    if form == "masked":
        # The last eighth is padding.
        seen = ", ".join(str(i < size - size // 8).lower() for i in range(size))
        flags = mask.replace("f32", "i1")
        lines.append(f"%seen = mpt.constant dense<[[[[{seen}]]]]> : {flags}")
        operands, types = operands + ", %seen", [*types, flags]
    lines += [f"%z, %lse = mpt.attention {operands}{' {causal}' if form == 'causal' else ''}",
              f"    : ({', '.join(types)}) -> ({tensor}, tensor<1x{heads}x{size}xf32>)",
              "%loss = mpt.mse_loss %z, %y {reduction = #mpt.loss_reduction<sum>}",
              f"    : ({tensor}, {tensor}) -> tensor<f32>", "return %loss : tensor<f32>"]
    with open(path, "w") as file:
        file.write(f"func.func @loss({', '.join(arguments)}) -> (tensor<f32> "
                   '{mpt.name = "loss"}) {\n  ' + "\n  ".join(lines) + "\n}\n")


def mpt_time(program, folder, precision, steps):
    totals = []
    for count in (steps, 3 * steps):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program, f"{folder}/model.mlir", f"--data=y={folder}/y.npy", "--batch=1",
                        "--optimizer=sgd", "--lr=1e-6", f"--precision={precision}",
                        f"--steps={count}", "--threads=1", "--progress=none",
                        "--loss-scale=none"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        totals.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1e3 * (totals[1] - totals[0]) / (2 * steps)


def torch_time(heads, size, width, form, precision, steps):
    shape = (1, heads, size, width)
    parameters = [torch.randn(shape, requires_grad=True) for _ in range(3)]
    optimizer, target = torch.optim.SGD(parameters, lr=1e-6, fused=True), torch.randn(shape)
    mask = (torch.arange(size) < size - size // 8).view(1, 1, 1, size)
    times = []
    for _ in range(steps):
        start = time.process_time()
        optimizer.zero_grad(set_to_none=True)
        low = [parameter.to(TYPES[precision]) for parameter in parameters]
        result = torch.nn.functional.scaled_dot_product_attention(
            *low, attn_mask=mask if form == "masked" else None, is_causal=form == "causal")
        torch.nn.functional.mse_loss(result.float(), target, reduction="sum").backward()
        optimizer.step()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--mpt-run", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", default="64,128,256,512,1024")
    parser.add_argument("--widths", default="64")
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--precisions", default="f32,bf16,f16")
    parser.add_argument("--forms", default="plain,causal,masked")
    options = parser.parse_args()
    torch.set_num_threads(1)
    programs = {"mpt": os.path.join(options.build, "bin", "mpt-run")}
    programs.update(item.split("=", 1) for item in options.mpt_run)
    print("T    D   form   type " + "".join(f"{name:>9}" for name in [*programs, "torch"]))
    for size in map(int, options.sizes.split(",")):
        for width in map(int, options.widths.split(",")):
            # About as long for each size.
            steps = max(3, 240 * 128 * 128 * 64 // (size * size * width * 4))
            for form in options.forms.split(","):
                with tempfile.TemporaryDirectory() as folder:
                    write_module(f"{folder}/model.mlir", options.heads, size, width, form)
                    target = np.random.default_rng(0).standard_normal((1, options.heads, size, width))
                    np.save(f"{folder}/y.npy", target.astype(np.float32))
                    for precision in options.precisions.split(","):
                        times = {}
                        for _ in range(options.rounds):
                            for name, program in programs.items():
                                times.setdefault(name, []).append(
                                    mpt_time(program, folder, precision, steps))
                            times.setdefault("torch", []).append(
                                torch_time(options.heads, size, width, form, precision, steps))
                        print(f"{size:4} {width:3} {form:6} {precision:4} "
                              + "".join(f"{min(t):9.3f}" for t in times.values()), flush=True)


if __name__ == "__main__":
    main()
