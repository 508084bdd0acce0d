"""Several threads against one while other processes want the cores, too.

    busy_machine.py BUILD [--rounds N] [--steps N] [--threads N] [--neighbours N]
                    [--mpt-run FILE..] [--pytorch] [NETWORK..]

Starts a busy loop pinned to each core (--neighbours: on each of the first N; 0: none), then
trains the networks of docs/examples with one thread and with several in turns, and
prints the times of the steps and their ratio: medians and fastest of the rounds. Each
--mpt-run is measured in the same turns (default: the build's). With --pytorch steps with
--threads threads are timed with the neighbours running and with the neighbours stopped, in
turns, of MPT and of PyTorch (steps_vs_pytorch.py): what a neighbour costs each. Needs numpy
and scikit-learn for digits.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
NETWORKS = {
    "sincos": ["--data=x=x.npy", "--data=sin=sin.npy", "--data=cos=cos.npy", "--optimizer=adam"],
    "digits": ["--function=loss", "--data=x=train_x.npy", "--data=y=train_y.npy", "--batch=32",
               "--optimizer=adamw"],
}


def train(tool, network, folder, threads, steps):
    """Milliseconds of the steps but the first two."""
    metrics = os.path.join(folder, "metrics.jsonl")
    subprocess.run([tool, os.path.join(EXAMPLES, network, network + ".mlir"), *NETWORKS[network], "--lr=0.001",
                    f"--steps={steps + 2}", f"--threads={threads}", "--progress=none", f"--metrics={metrics}"],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with open(metrics) as file:
        times = [json.loads(line)["ms"] for line in file]
    os.remove(metrics)
    return sum(times[2:])


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build")
parser.add_argument("networks", nargs="*", default=["sincos", "digits"])
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--steps", type=int, default=0, help="default: 10 of sincos, 300 of digits")
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--neighbours", type=int, default=os.cpu_count())
parser.add_argument("--mpt-run", nargs="*")
parser.add_argument("--pytorch", action="store_true")
# NETWORK.. may follow options.
options = parser.parse_intermixed_args()
tools = options.mpt_run or [os.path.join(options.build, "bin", "mpt-run")]



def compare_with_pytorch(network, tool, folder, steps):
    """Prints the milliseconds of a step alone and beside the neighbours, and their ratio."""
    import torch
    import steps_vs_pytorch
    torch.set_num_threads(options.threads)
    step = steps_vs_pytorch.TorchStep(steps_vs_pytorch.CASES[network], "f32", compiled=False)
    steps_vs_pytorch.time_steps(step, 3)
    run = {"MPT": lambda: train(os.path.abspath(tool), network, folder, options.threads, steps) / steps,
           "PyTorch": lambda: steps_vs_pytorch.time_steps(step, steps)}
    found = {}
    for _ in range(options.rounds):
        for state, number in ("alone", signal.SIGSTOP), ("beside", signal.SIGCONT):
            for neighbour in neighbours:
                neighbour.send_signal(number)
            for who, measure in run.items():
                found.setdefault((who, state), []).append(measure())
    for who in run:
        alone, beside = (statistics.median(found[who, state]) for state in ("alone", "beside"))
        print(f"{network} {who} median ms a step: alone {alone:.3f}, beside {len(neighbours)} busy "
              f"{beside:.3f}, ratio {beside / alone:.2f}", flush=True)


# The neighbours end with this.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
neighbours = [subprocess.Popen(["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"])
              for core in range(options.neighbours)]
try:
    for network in options.networks:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, os.path.join(EXAMPLES, network, "make_data.py"), folder], check=True,
                           stdout=subprocess.DEVNULL)
            steps = options.steps or {"sincos": 10, "digits": 300}[network]
            if options.pytorch:
                compare_with_pytorch(network, tools[0], folder, steps)
                continue
            found = {}
            for _ in range(options.rounds):
                for tool in tools:
                    for threads in (1, options.threads):
                        time = train(os.path.abspath(tool), network, folder, threads, steps)
                        found.setdefault((tool, threads), []).append(time / steps)
            for tool in tools:
                one, more = found[tool, 1], found[tool, options.threads]
                for name, pick in ("median", statistics.median), ("fastest", min):
                    print(f"{network} {tool} {name} ms a step: 1 thread {pick(one):.3f}, {options.threads} threads "
                          f"{pick(more):.3f}, ratio {pick(more) / pick(one):.2f}", flush=True)
finally:
    for neighbour in neighbours:
        neighbour.kill()
