# Kills ranks of a job at random moments, and starts it again.
#   parallel_stress.py --mpirun="mpirun --oversubscribe" DIRECTORY
#       [--kills=50] [--seed=1] [--ranks=3] [--kinds=data,zero2] [--mpt-run=PATH]
#
# A kill is SIGKILL to one rank, in every third run while a checkpoint is written. The job
# has to end within a minute, with one line of mpt-run's that names the rank and its host
# (before the ranks know each other, with mpirun's); the next start resumes. The run that
# gets to the end must leave the bytes of one process that accumulates and was never
# ended, and no other file.
import argparse
import json
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("directory", type=pathlib.Path)
parser.add_argument("--mpirun", required=True)
parser.add_argument("--mpt-run", default="mpt-run")
parser.add_argument("--kills", type=int, default=50)
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--ranks", type=int, default=3)
parser.add_argument("--kinds", default="data,zero2")
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
rng = random.Random(args.seed)
inputs = pathlib.Path(__file__).resolve().parent
args.directory.mkdir(parents=True, exist_ok=True)
subprocess.run([sys.executable, inputs / "make_data.py", args.directory], check=True)
os.chdir(args.directory)
kinds = args.kinds.split(",")


def command(name, *more):
    return [args.mpt_run, inputs / "fit.mlir", "--data", "x=x.npy", "--data", "y=y.npy",
            "--precision=f16", "--loss-scale=dynamic growth-interval=4",
            "--optimizer=adam clip-norm=1", "--lr=0.05", f"--batch={2 * args.ranks}",
            f"--steps={args.steps}", "--checkpoint-every=3", "--resume", "--progress=none",
            "--threads=1", f"--checkpoint={name}.safetensors", f"--metrics={name}.jsonl",
            *more]


def start(name, kind):
    return subprocess.Popen(
        [*shlex.split(args.mpirun), "-n", str(args.ranks),
         *command(name, f"--parallel={kind}", "--parallel-timeout=40")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def find_ranks(job):
    """The processes of mpt-run that the job has started, by rank."""
    ranks = {}
    for child in pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split():
        try:
            environment = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            name = os.path.basename(os.readlink(f"/proc/{child}/exe"))
        except OSError:
            continue
        for entry in environment:
            key, _, value = entry.partition(b"=")
            if key == b"OMPI_COMM_WORLD_RANK" and name == os.path.basename(args.mpt_run):
                ranks[int(value)] = int(child)
    return ranks


def count_records():
    try:
        return pathlib.Path("killed.jsonl").read_text().count("\n")
    except FileNotFoundError:
        return 0


def find_unfinished():
    """Temporary files of checkpoints."""
    return {path for path in os.listdir(".") if path.startswith("killed.") and ".tmp-" in path}


def read_state(name):
    """Tensors, put together from shards, and metrics."""
    from safetensors import safe_open
    import numpy
    with safe_open(name + ".safetensors", "np") as file:
        metadata = file.metadata()
        tensors = {key: file.get_tensor(key) for key in file.keys()}
    parts = {}
    for rank in range(int(metadata.get("mpt.shards", 0))):
        with safe_open(metadata[f"mpt.shard.{rank}"], "np") as file:
            for key in file.keys():
                tensor, begin = re.fullmatch(r"(.*)\[(\d+):\d+\]", key).groups()
                parts.setdefault(tensor, {})[int(begin)] = file.get_tensor(key)
    for tensor, pieces in parts.items():
        shape = [int(n) for n in metadata[f"mpt.shape.{tensor}"].split("x") if n]
        tensors[tensor] = numpy.concatenate([pieces[k] for k in sorted(pieces)]).reshape(shape)
    records = [json.loads(line) for line in pathlib.Path(name + ".jsonl").read_text().splitlines()]
    for record in records:
        record.pop("ms", None)
    return {key: (value.shape, value.tobytes()) for key, value in tensors.items()}, records


def check_end(what):
    state, records = read_state("killed")
    assert state == whole[0], f"{what}: other state"
    assert records == whole[1], f"{what}: other metrics"
    left = sorted(path for path in os.listdir(".") if path.startswith("killed."))
    expected = [r"killed\.jsonl", r"killed\.safetensors"]
    if len(left) > 2:
        expected += [rf"killed\.safetensors\.step{args.steps}b?\.rank{r}-of-{args.ranks}"
                     for r in range(args.ranks)]
    assert len(left) == len(expected) and all(map(re.fullmatch, expected, left)), left


def remove():
    for path in os.listdir("."):
        if path.startswith("killed."):
            os.unlink(path)


subprocess.run(command("whole", f"--accumulate={args.ranks}"), check=True,
               stdout=subprocess.DEVNULL)
whole = read_state("whole")
remove()
begin = time.time()
assert start("killed", kinds[0]).wait(timeout=300) == 0
duration = time.time() - begin
check_end("in peace")
remove()

host = os.uname().nodename
killed = dict.fromkeys(("before training", "in training", "in a checkpoint"), 0)
ended, alone, longest = 0, 0, 0.0
for turn in range(args.kills * 20):
    if sum(killed.values()) == args.kills:
        break
    kind = rng.choice(kinds)
    # What a killed run has left does not count.
    before, old = count_records(), find_unfinished()
    job = start("killed", kind)
    aims = turn % 3 == 2
    deadline = time.time() + rng.uniform(0, 1.1 * duration)
    while time.time() < deadline and job.poll() is None:
        time.sleep(0.001)
    # The next checkpoint, if there is one.
    while aims and job.poll() is None and not find_unfinished() - old:
        time.sleep(0.0002)
    victim = rng.randrange(args.ranks)
    moment = None
    if job.poll() is None:
        pid = find_ranks(job).get(victim)
        if pid:
            # A resumed run first removes records of steps after its checkpoint.
            writes = bool(find_unfinished() - old)
            trains = writes or count_records() > before
            moment = ("in a checkpoint" if writes else
                      "in training" if trains else "before training")
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                moment = None
    begin = time.time()
    error = job.communicate(timeout=300)[1]
    took = time.time() - begin
    if job.returncode == 0:
        # Nobody was killed, or after the last step.
        check_end("after kills")
        remove()
        ended += 1
        continue
    assert moment, error
    longest = max(longest, took)
    assert took < 60, f"ended after {took:.1f} s"
    killed[moment] += 1
    lines = [line for line in error.splitlines() if line.startswith(("mpt-run:", "mpt:"))]
    # After the last step nothing is lost, and ranks only wait for each other's end.
    trains &= count_records() < args.steps
    by_mpirun = f"process rank {victim} with PID [0-9]+ on node {host} exited on signal 9"
    if lines or trains:
        expected = f"mpt-run: rank {victim} (on {host}) has ended"
        assert len(lines) == 1 and lines[0].startswith(expected), (moment, lines, error)
    else:
        assert re.search(by_mpirun, error), error
        alone += 1
assert sum(killed.values()) == args.kills, f"only {killed}"
assert start("killed", kinds[-1]).wait(timeout=300) == 0
check_end("after kills")
print(", ".join(f"{count} kills {moment}" for moment, count in killed.items()),
      f"({alone} named by mpirun alone) and {ended + 1} ends as one run;",
      f"the others ended within {longest:.1f} s")
