# Ends runs at random moments and starts two at once on one checkpoint.
#   stress.py --mpt-run=PATH DIRECTORY [--kills=6] [--doubles=8] [--seed=1]
#
# A kill ends a run by SIGKILL, SIGTERM, SIGHUP or SIGINT; the next one resumes. The
# run that gets to the end must leave the bytes of a run that was never ended. A
# double starts the same command twice: the second refuses or takes over after the
# first, and the files are again those of one run. All the time the checkpoint is
# whole or absent.
import argparse
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("directory", type=pathlib.Path)
parser.add_argument("--mpt-run", default="mpt-run")
parser.add_argument("--kills", type=int, default=6)
parser.add_argument("--doubles", type=int, default=8)
parser.add_argument("--steps", type=int, default=600)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
rng = random.Random(args.seed)
inputs = pathlib.Path(__file__).resolve().parent
args.directory.mkdir(parents=True, exist_ok=True)
subprocess.run([sys.executable, inputs / "make_data.py", args.directory], check=True)
os.chdir(args.directory)

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]


def start(name):
    """A run on NAME.safetensors and NAME.jsonl."""
    def restore():
        # Whatever this script was started with.
        for one in SIGNALS[1:]:
            signal.signal(one, signal.SIG_DFL)
    return subprocess.Popen(
        [args.mpt_run, inputs / "fit.mlir", "--data", "x=x.npy", "--data", "y=y.npy",
         "--eval-function=loss", "--eval-data", "x=xe.npy", "--eval-data", "y=ye.npy",
         "--eval-batch=3", "--eval-every=11", "--precision=f16",
         "--loss-scale=dynamic growth-interval=4", "--optimizer=adam", "--lr=0.05",
         "--batch=7", f"--steps={args.steps}", "--checkpoint-every=3", "--resume",
         "--progress=none", "--threads=1", f"--checkpoint={name}.safetensors",
         f"--metrics={name}.jsonl"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=restore)


def finish(process):
    error = process.communicate(timeout=300)[1]
    return process.returncode, error


def check_whole(path):
    """The sizes in the header are those of the file, if there is one."""
    try:
        data = pathlib.Path(path).read_bytes()
    except FileNotFoundError:
        return
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__")
    end = max(entry["data_offsets"][1] for entry in header.values())
    assert len(data) == 8 + length + end, f"{path} is cut off"


def read_result(name):
    lines = pathlib.Path(name + ".jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        record.pop("ms", None)
    return pathlib.Path(name + ".safetensors").read_bytes(), records


def remove(name):
    for suffix in (".safetensors", ".jsonl"):
        pathlib.Path(name + suffix).unlink(missing_ok=True)


def check_end(name, what):
    """The files are those of a run in peace, and nothing else is left."""
    state, records = read_result(name)
    assert state == whole[0], f"{what}: other state"
    assert records == whole[1], f"{what}: other metrics"
    left = [path for path in os.listdir(".") if path.startswith(name + ".")]
    assert sorted(left) == [name + ".jsonl", name + ".safetensors"], left


remove("whole")
begin = time.time()
assert finish(start("whole")) == (0, "")
duration = time.time() - begin
whole = read_result("whole")

# Kills.
remove("killed")
killed = dict.fromkeys(SIGNALS, 0)
ended = 0
# A run that is never ended in time would go on for ever.
for _ in range(args.kills * 20):
    if sum(killed.values()) == args.kills:
        break
    process = start("killed")
    # Most moments are in the start, where a run spends most of its time.
    deadline = time.time() + rng.uniform(0, 1.1 * duration)
    while time.time() < deadline and process.poll() is None:
        check_whole("killed.safetensors")
        time.sleep(0.001)
    number = SIGNALS[rng.randrange(len(SIGNALS))]
    if process.poll() is None:
        process.send_signal(number)
    status, error = finish(process)
    if status == 0:
        check_end("killed", "after kills")
        remove("killed")
        ended += 1
        continue
    killed[number] += 1
    check_whole("killed.safetensors")
    if number == signal.SIGKILL:
        assert status == -number, (status, error)
    else:
        # Before main there is no handler yet.
        assert status in (128 + number, -number), (number, status, error)
        assert status < 0 or error.startswith("mpt-run: interrupted"), error
assert sum(killed.values()) == args.kills, f"only {killed}"
status, error = finish(start("killed"))
assert status == 0, error
check_end("killed", "after kills")

# Doubles.
refused = 0
for double in range(args.doubles):
    remove("twice")
    pair = []
    for _ in range(2):
        pair.append(start("twice"))
        time.sleep(rng.choice([0, rng.uniform(0, 0.05), rng.uniform(0, duration)]))
    while any(process.poll() is None for process in pair):
        check_whole("twice.safetensors")
        time.sleep(0.001)
    results = [finish(process) for process in pair]
    for status, error in results:
        assert status == 0 or (status == 1 and "in use by another run" in error), error
    assert any(status == 0 for status, _ in results), results
    refused += sum(status == 1 for status, _ in results)
    check_end("twice", f"double {double}")
assert refused > 0 or args.doubles < 4
print(", ".join(f"{count} {number.name}" for number, count in killed.items()),
      f"and {ended + 1} ends as one run;",
      f"{args.doubles} doubles, {refused} refused")
