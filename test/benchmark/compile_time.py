"""How mpt-opt's time grows with the number of ops.

    compile_time.py BUILD_DIR [--ops 12500,25000,50000,100000]

Runs --mpt-mixed-precision and --mpt-plan-step on a residual network of layer
norm, linear and GELU blocks whose training step has about that many ops, and
prints seconds, ops of the step, and microseconds per op.
"""

import argparse
import os
import subprocess
import tempfile
import time

ROWS, WIDTH = 8, 16
BLOCK_OPS = 86  # of a training step, decomposed, per block; only to choose the depth


def model(blocks):
    x = f"{ROWS}x{WIDTH}xf32"
    arguments, body = [], []
    for i in range(blocks):
        for name, shape in (("g", WIDTH), ("b", WIDTH), ("w", f"{WIDTH}x{WIDTH}"), ("c", WIDTH)):
            arguments.append(f'%{name}{i}: tensor<{shape}xf32> {{mpt.name = "{name}{i}", '
                             'mpt.role = "parameter", mpt.init = {kind = "zeros"}}')
        body.append(f"""\
  %n{i}, %m{i}, %r{i} = mpt.layer_norm %x{i}, %g{i}, %b{i} : (tensor<{x}>, tensor<{WIDTH}xf32>, tensor<{WIDTH}xf32>) -> (tensor<{x}>, tensor<{ROWS}xf32>, tensor<{ROWS}xf32>)
  %l{i} = mpt.linear %n{i}, %w{i}, %c{i} : (tensor<{x}>, tensor<{WIDTH}x{WIDTH}xf32>, tensor<{WIDTH}xf32>) -> tensor<{x}>
  %h{i} = mpt.gelu %l{i} {{approximate = #mpt.gelu<tanh>}} : (tensor<{x}>) -> tensor<{x}>
  %x{i + 1} = mpt.add %x{i}, %h{i} : (tensor<{x}>, tensor<{x}>) -> tensor<{x}>""")
    arguments.append(f'%x0: tensor<{x}> {{mpt.name = "x", mpt.role = "input"}}')
    arguments.append(f'%t: tensor<{x}> {{mpt.name = "t", mpt.role = "target"}}')
    return (f"func.func @loss({', '.join(arguments)}) -> (tensor<f32> {{mpt.name = \"loss\"}}) {{\n"
            + "\n".join(body)
            + f"\n  %loss = mpt.mse_loss %x{blocks}, %t : (tensor<{x}>, tensor<{x}>) -> tensor<f32>\n"
            "  return %loss : tensor<f32>\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--ops", default="12500,25000,50000,100000")
    options = parser.parse_args()
    mpt_opt = os.path.join(options.build, "bin", "mpt-opt")
    print("blocks     ops  to mixed precision  plan  total s  us/op")
    with tempfile.TemporaryDirectory() as folder:
        source, step = os.path.join(folder, "model.mlir"), os.path.join(folder, "step.mlir")
        for ops in map(int, options.ops.split(",")):
            blocks = max(1, ops // BLOCK_OPS)
            with open(source, "w") as file:
                file.write(model(blocks))
            # What the training step counts: its ops before decomposition, and
            # after, which is what the planner works on.
            subprocess.run([mpt_opt, source, "--mpt-mixed-precision=type=bf16", "--mpt-decompose",
                            "-o", step], check=True)
            with open(step) as file:
                count = sum(1 for line in file if " = " in line and line.startswith("    "))
            seconds = []
            for passes in (["--mpt-mixed-precision=type=bf16"],
                           ["--mpt-mixed-precision=type=bf16", "--mpt-plan-step"]):
                start = time.perf_counter()
                subprocess.run([mpt_opt, source, *passes, "-o", os.devnull], check=True)
                seconds.append(time.perf_counter() - start)
            print(f"{blocks:6} {count:7} {seconds[0]:19.2f} {seconds[1] - seconds[0]:5.2f} "
                  f"{seconds[1]:8.2f} {1e6 * seconds[1] / count:6.1f}", flush=True)


if __name__ == "__main__":
    main()
