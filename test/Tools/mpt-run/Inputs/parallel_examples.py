"""Trains examples in several processes, and in one that accumulates; prints which bits differ.

  parallel_examples.py EXAMPLES LAUNCHER...

EXAMPLES is docs/examples. LAUNCHER starts processes: mpirun and its options. Runs in the current
folder.
"""
import os
import subprocess
import sys

from safetensors.numpy import load_file

# Ranks, the batch of all of them, inputs, the precision and other options.
RUNS = {
    "lstm": (2, 64, "xy", "f32", []),
    "gpt": (4, 16, "xy", "bf16", []),
    "bert": (2, 64, "xy", "f16", ["--memory-budget=0.9x", "--loss-scale=dynamic init-scale=16777216"]),
    "resnet": (2, 64, "xy", "f16", []),
    "unet": (4, 16, "xy", "f32", []),
    "tabular": (3, 96, "xvy", "bf16", ["--optimizer=adamw clip-norm=1 ema-decay=0.9"]),
}


def main():
    examples, launcher = sys.argv[1], sys.argv[2:]
    for name, (ranks, batch, inputs, precision, options) in RUNS.items():
        os.makedirs(name, exist_ok=True)
        subprocess.run([sys.executable, f"{examples}/{name}/make_data.py", name], check=True,
                       stdout=subprocess.DEVNULL)
        prefix = "train_" if os.path.exists(f"{name}/train_x.npy") else ""
        command = ["mpt-run", f"{examples}/{name}/{name}.mlir", "--function=loss", "--threads=1",
                   f"--batch={batch}", "--steps=3", "--seed=2", "--lr=0.001", "--progress=none",
                   f"--precision={precision}", *options]
        for key in inputs:
            command += ["--data", f"{key}={name}/{prefix}{key}.npy"]
        one, many = f"{name}/one.safetensors", f"{name}/many.safetensors"
        table = subprocess.run([*command, f"--accumulate={ranks}", f"--checkpoint={one}"],
                               check=True, capture_output=True, text=True).stdout
        skipped = int(table.split()[-1])
        subprocess.run([*launcher, "-n", str(ranks), *command, "--parallel=data",
                        f"--checkpoint={many}"], check=True, stdout=subprocess.DEVNULL)
        first, second = load_file(one), load_file(many)
        assert first.keys() == second.keys(), set(first) ^ set(second)
        differ = [key for key in first if first[key].tobytes() != second[key].tobytes()]
        print(f"{name}, {ranks} ranks, {precision}: {len(first)} tensors, "
              f"{skipped} steps skipped, {len(differ)} differ", *differ[:5], flush=True)


if __name__ == "__main__":
    main()
