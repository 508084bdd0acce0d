"""Trains the examples in several processes and, with --accumulate, in one.

  parallel_examples.py DIRECTORY --mpirun="mpirun --oversubscribe" [--mpt-run=PATH]
      [--examples=gpt,lstm] [--kinds=data,zero1,zero2,zero3] [--ranks=2,3,4]
      [--precisions=f32,bf16,f16] [--remat]

Both run the same global batches. After all steps but one of several processes, one process
resumes from their checkpoint. All numbers of each step have to be the same, and with them the
state. The loss scale of f16 begins too large, so that steps are skipped. --remat plans the
steps of several processes for the fewest bytes. sincos, whose batch cannot be cut, is left out.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
# Data of each input, rows for each process, and options.
EXAMPLES = {
    "bert": ("x=x.npy y=y.npy", 2, "--optimizer=adamw clip-norm=1"),
    "digits": ("x=train_x.npy y=train_y.npy", 4, "--optimizer=adamw"),
    "gpt": ("x=x.npy y=y.npy", 1, "--optimizer=adamw clip-norm=1"),
    "lstm": ("x=x.npy y=y.npy", 2, "--optimizer=adamw clip-norm=1"),
    "resnet": ("x=train_x.npy y=train_y.npy", 2, "--optimizer=sgd momentum=0.9"),
    "tabular": ("x=x.npy v=v.npy y=y.npy", 8, "--optimizer=adamw"),
    "unet": ("x=x.npy y=y.npy", 1, "--optimizer=adamw"),
}
STEPS = 5

parser = argparse.ArgumentParser()
parser.add_argument("directory", type=pathlib.Path)
parser.add_argument("--mpirun", required=True)
parser.add_argument("--mpt-run", default="mpt-run")
parser.add_argument("--examples", default=",".join(EXAMPLES))
parser.add_argument("--kinds", default="data,zero1,zero2,zero3")
parser.add_argument("--ranks", default="2,3,4")
parser.add_argument("--precisions", default="f32,bf16,f16")
parser.add_argument("--remat", action="store_true")
args = parser.parse_args()


def read(path):
    return [{key: value for key, value in json.loads(line).items() if key != "ms"}
            for line in path.read_text().splitlines()]


def train(folder, name, ranks, precision, metrics, steps, *more, launcher=()):
    data, rows, optimizer = EXAMPLES[name]
    command = [*launcher, args.mpt_run, str(ROOT / f"docs/examples/{name}/{name}.mlir"),
               *(f"--data={each}" for each in data.split()), f"--batch={rows * ranks}",
               f"--steps={steps}", "--lr=0.01", optimizer, "--threads=1", "--progress=none",
               f"--precision={precision}", f"--metrics={metrics}", "--function=loss", *more]
    if precision == "f16":
        # 2^34, and 2^24 after the first skipped step.
        command.append("--loss-scale=dynamic init-scale=17179869184 "
                       "backoff-factor=0.0009765625 growth-interval=100")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")


def check(name, ranks, precision):
    """How many kinds have the numbers of one process."""
    folder = args.directory / name
    label = f"{name}-{ranks}-{precision}"
    one = f"{label}.jsonl"
    train(folder, name, ranks, precision, one, STEPS + 1, f"--accumulate={ranks}")
    expected, equal = read(folder / one), 0
    skipped = sum(not line.get("did_step", True) for line in expected)
    for kind in args.kinds.split(","):
        metrics, checkpoint = f"{label}-{kind}.jsonl", f"{label}-{kind}.safetensors"
        (folder / metrics).unlink(missing_ok=True)
        budget = ["--memory-budget=min"] if args.remat else []
        train(folder, name, ranks, precision, metrics, STEPS, f"--parallel={kind}",
              f"--checkpoint={checkpoint}", *budget,
              launcher=[*shlex.split(args.mpirun), "-n", str(ranks)])
        train(folder, name, ranks, precision, metrics, STEPS + 1, f"--accumulate={ranks}",
              f"--checkpoint={checkpoint}", "--resume")
        found = read(folder / metrics)
        same = found == expected and (precision != "f16" or 0 < skipped < STEPS)
        equal += same
        print(f"{name}, {ranks} ranks, {precision}, {kind}: "
              f"{f'equal ({skipped} skipped)' if same else f'DIFFER: {found}, {expected}'}",
              flush=True)
    return equal


def main():
    equal = cases = 0
    for name in args.examples.split(","):
        subprocess.run([sys.executable, ROOT / f"docs/examples/{name}/make_data.py",
                        args.directory / name], check=True, capture_output=True)
        for ranks in map(int, args.ranks.split(",")):
            for precision in args.precisions.split(","):
                equal += check(name, ranks, precision)
                cases += len(args.kinds.split(","))
    print(f"{equal} of {cases} are equal")
    sys.exit(equal != cases)


main()
