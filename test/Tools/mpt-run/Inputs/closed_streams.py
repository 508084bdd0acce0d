# Standard streams that are closed, or that nobody reads, do not cost the checkpoint.
#   closed_streams.py DIRECTORY COMMAND...
import os
import pathlib
import subprocess
import sys

os.chdir(sys.argv[1])
command = sys.argv[2:] + ["--progress=lines", "--log-every=1"]


def run(name, out=subprocess.PIPE, error=subprocess.PIPE, closed=()):
    """Runs on NAME.safetensors and checks that it has the state of all steps."""
    def close():
        for descriptor in closed:
            os.close(descriptor)
    result = subprocess.run(
        command + [f"--checkpoint={name}.safetensors", "--checkpoint-every=2",
                   f"--metrics={name}.jsonl"],
        stdout=out, stderr=error, text=True, preexec_fn=close)
    state = pathlib.Path(name + ".safetensors").read_bytes()
    if name != "open":
        assert state == pathlib.Path("open.safetensors").read_bytes(), name
        with open("open.jsonl") as one, open(name + ".jsonl") as other:
            strip = lambda line: line.split(', "ms"')[0]
            assert list(map(strip, one)) == list(map(strip, other)), name
    return result


def broken_pipe():
    read, write = os.pipe()
    os.close(read)
    return write


LOST = "mpt-run: standard error: cannot write: %s; progress and warnings are lost\n"
FAILED = "mpt-run: standard output: cannot write: %s\n"
result = run("open")
assert result.returncode == 0 and "cannot write" not in result.stdout + result.stderr
full = os.open("/dev/full", os.O_WRONLY)
for name, why, streams in [
        ("pipe", "Broken pipe", dict(error=broken_pipe())),
        ("full", "No space left on device", dict(error=full)),
        ("closed", "Bad file descriptor", dict(closed=[2]))]:
    result = run("error-" + name, **streams)
    assert result.returncode == 0, name
    assert result.stdout.endswith(LOST % why), result.stdout
for name, why, streams in [
        ("pipe", "Broken pipe", dict(out=broken_pipe())),
        ("full", "No space left on device", dict(out=full)),
        ("closed", "Bad file descriptor", dict(closed=[1]))]:
    result = run("out-" + name, **streams)
    assert result.returncode == 1, name
    assert result.stderr.endswith(FAILED % why), result.stderr
assert run("both-pipe", broken_pipe(), broken_pipe()).returncode == 1
assert run("both-closed", closed=[1, 2]).returncode == 1
assert run("all-closed", closed=[0, 1, 2]).returncode == 1
print("whole")
