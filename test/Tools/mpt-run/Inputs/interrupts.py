# Signals in a compilation and in training.
#   interrupts.py DIRECTORY
import os
import pathlib
import signal
import subprocess
import sys
import time

inputs = pathlib.Path(__file__).resolve().parent
os.chdir(sys.argv[1])
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def start(command, ignored=()):
    def dispose():
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN if one in ignored else signal.SIG_DFL)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, preexec_fn=dispose)


def wait_for(condition, process):
    deadline = time.time() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.time() < deadline
        time.sleep(0.005)


# So many layers that compiling takes seconds.
count = 900
hidden, weights = "tensor<?x8xf32>", "tensor<8x8xf32>"
layers = "\n".join(
    f"  %s{i} = mpt.matmul %h{i}, %w{i} : ({hidden}, {weights}) -> {hidden}\n"
    f"  %h{i + 1} = mpt.tanh %s{i} : ({hidden}) -> {hidden}" for i in range(count))
parameters = ", ".join(
    f'%w{i}: tensor<8x8xf32> {{mpt.name = "w{i}", mpt.role = "parameter", '
    'mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}}' for i in range(count))
pathlib.Path("deep.mlir").write_text(f"""func.func @loss({parameters},
    %h0: tensor<?x8xf32> {{mpt.name = "x", mpt.role = "input"}})
    -> (tensor<f32> {{mpt.name = "loss"}}) {{
{layers}
  %loss = mpt.mse_loss %h{count}, %h0 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}}
""")
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), }"
header += " " * (-(len(header) + 11) % 64) + "\n"
pathlib.Path("deep.npy").write_bytes(
    b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() +
    b"\0" * 128)
lock = pathlib.Path("deep.safetensors.mpt-lock")
begin = time.time()
subprocess.run(["mpt-run", "deep.mlir", "--data", "x=deep.npy", "--steps=1"], check=True,
               capture_output=True)
whole = time.time() - begin
for number in SIGNALS:
    process = start(["mpt-run", "deep.mlir", "--data", "x=deep.npy", "--steps=1",
                     "--checkpoint=deep.safetensors", "--metrics=deep.jsonl"])
    wait_for(lock.exists, process)
    time.sleep(0.3 * whole)
    process.send_signal(number)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (
        128 + number, "", "mpt-run: interrupted\n"), (process.returncode, out, error)
    left = sorted(name for name in os.listdir(".") if name.startswith("deep."))
    assert left == ["deep.mlir", "deep.npy"], left
print("compilation: ended")

# The compiler of programs, and what it links from. The signal comes at several times.
os.mkdir("tmp")
subprocess.run(["mpt-opt", "deep.mlir", "--mpt-specialize=batch=4", "--mpt-autodiff",
                "--mpt-train-step=optimizer=sgd", "-o", "step.mlir"], check=True)
os.environ["TMPDIR"] = os.path.abspath("tmp")
begin = time.time()
subprocess.run(["mpt-compile", "step.mlir", "-o", "step.so"], check=True)
whole = time.time() - begin
os.remove("step.so")
for number, part in zip(SIGNALS, [0.2, 0.4, 0.6]):
    delay = part * whole
    process = start(["mpt-compile", "step.mlir", "-o", "step.so"])
    time.sleep(delay)
    process.send_signal(number)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, error) in [
        (128 + number, "mpt-compile: interrupted\n"), (-number, "")], (
            process.returncode, error)
    assert not os.path.exists("step.so") and not os.listdir("tmp"), os.listdir("tmp")

subprocess.run(["mpt-opt", inputs / "fit.mlir", "--mpt-specialize=batch=4",
                "--mpt-autodiff", "--mpt-train-step=optimizer=sgd", "-o", "small.mlir"],
               check=True)
# While the linker runs. It may be too quick to be seen, so this is tried again.
for _ in range(20):
    pathlib.Path("step.so").unlink(missing_ok=True)
    process = start(["mpt-compile", "small.mlir", "-o", "step.so"])
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    child = ""
    while process.poll() is None and not child:
        child = children.read_text()
    if child:
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    while child and os.path.exists(f"/proc/{child.strip()}/exe"):
        time.sleep(0.01)
    assert not os.listdir("tmp"), os.listdir("tmp")
    if child and process.returncode == 128 + signal.SIGTERM:
        break
else:
    raise AssertionError("the linker was never seen")
assert not os.path.exists("step.so")
print("mpt-compile: ended")

fit = ["mpt-run", inputs / "fit.mlir", "--data", "x=x.npy", "--data", "y=y.npy",
       "--optimizer=adam", "--batch=7", "--steps=100000000", "--metrics=m.jsonl",
       "--checkpoint=c.safetensors", "--progress=none"]
metrics, checkpoint = pathlib.Path("m.jsonl"), pathlib.Path("c.safetensors")


def train(ignored=()):
    for path in (metrics, checkpoint):
        path.unlink(missing_ok=True)
    process = start(fit, ignored)
    wait_for(lambda: metrics.exists() and metrics.stat().st_size > 0, process)
    return process


def check_saved(process, number):
    out, error = process.communicate(timeout=120)
    assert process.returncode == 128 + number, (process.returncode, error)
    assert error == ("mpt-run: interrupted; the state is in c.safetensors, go on with "
                     "--resume\n"), error
    assert checkpoint.exists() and "f32" in out
    checkpoint.unlink()


for number in SIGNALS:
    process = train()
    process.send_signal(number)
    check_saved(process, number)
# timeout(1) sends its signal twice, a terminal that closes SIGHUP; and the same
# Ctrl-C may come through a wrapper, too.
for number in SIGNALS:
    process = train()
    for again in (number, number, signal.SIGHUP, number):
        process.send_signal(again)
    out, error = process.communicate(timeout=120)
    # Which of two that wait is delivered first is not determined.
    assert process.returncode in (128 + number, 128 + signal.SIGHUP), process.returncode
    assert checkpoint.exists()
# Under nohup.
process = train(ignored=(signal.SIGHUP,))
process.send_signal(signal.SIGHUP)
size = metrics.stat().st_size
wait_for(lambda: metrics.stat().st_size > size + 1000, process)
process.send_signal(signal.SIGTERM)
check_saved(process, signal.SIGTERM)
print("training: saved")
