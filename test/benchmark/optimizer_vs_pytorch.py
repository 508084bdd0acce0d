"""AdamW with a loss scale over GPT-2 small's parameters: MPT, PyTorch and a plain copy.

    optimizer_vs_pytorch.py BUILD_DIR [--threads 2] [--rounds 7] [--layers 12]
                            [--vocabulary 50257] [--master f32]

What a step does after the backward pass: gradients (f32, scaled) are unscaled and
checked (and by MPT measured: `grad_norm`), all parameters are updated by AdamW if they
are finite, the scale moves. PyTorch does it with torch.optim.AdamW(fused=True) and
torch.amp.GradScaler. The copy moves as
many bytes as an update must: 4 per parameter to check its gradient; 4 for the gradient
again, 2 * 8 for both moments and 2 * 4 for the parameter to update it. The three take
turns; each figure is the median over rounds. Needs torch and numpy from PyPI.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

# Threads that wait for work must not take the other library's cores.
if os.environ.get("OMP_WAIT_POLICY") != "passive":
    os.environ["OMP_WAIT_POLICY"] = "passive"
    os.execv(sys.executable, [sys.executable] + sys.argv)

import torch  # noqa: E402


def get_shapes(layers, vocabulary, c=768):
    """GPT-2's parameters: embeddings, blocks, the last norm; 124,439,808 in all."""
    shapes = [(vocabulary, c), (1024, c)]
    for _ in range(layers):
        shapes += [(c,), (c,), (c, 3 * c), (3 * c,), (c, c), (c,), (c,), (c,)]
        shapes += [(c, 4 * c), (4 * c,), (4 * c, c), (c,)]
    return shapes + [(c,), (c,)]


def spell(shape, type="f32"):
    return "tensor<" + "".join(f"{size}x" for size in shape) + type + ">"


def write_step(shapes, path, decay=0.1):
    """A step function whose gradients are inputs, as text."""
    arguments, results, returned, body = [], [], [], []

    def state(name, type, role):
        arguments.append(f'%{name}: {type} {{mpt.name = "{name}", mpt.role = "{role}"}}')

    def result(value, type, name, updates=True):
        returned.append((value, type))
        results.append(f'{type} {{mpt.name = "{name}"' + (f', mpt.updates = "{name}"' if updates else "") + "}")

    scalar, count, flag, i32 = "tensor<f32>", "tensor<i64>", "tensor<i1>", "tensor<i32>"
    for name, type in ("lr", scalar), ("scale", scalar), ("tracker", i32), ("step", count):
        state(name, type, {"lr": "schedule", "step": "optimizer_state"}.get(name, "loss_scale"))
    gradients = ", ".join(f"%g{i}" for i in range(len(shapes)))
    types = ", ".join(spell(shape) for shape in shapes)
    outputs = ", ".join(f"%u{i}" for i in range(len(shapes)))
    body.append(f"{outputs}, %ok = mpt.unscale {gradients}, %scale : ({types}, {scalar}) -> ({types}, {flag})")
    # As --mpt-loss-scale measures what nothing clips.
    names, unscaled = (", ".join(f"%{x}{i}" for i in range(len(shapes))) for x in "cu")
    body.append(f"{names}, %norm = mpt.clip_by_global_norm {unscaled} {{max_norm = 0x7FF0000000000000 : f64}} : "
                f"({types}) -> ({types}, {scalar})")
    body.append(f"%one = mpt.constant dense<1> : {count}")
    body.append(f"%next = mpt.add %step, %one : ({count}, {count}) -> {count}")
    for i, shape in enumerate(shapes):
        type = spell(shape)
        state(f"w{i}", type, "parameter")
        state(f"m{i}", type, "optimizer_state")
        state(f"v{i}", type, "optimizer_state")
        state(f"g{i}", type, "input")
        body.append(
            f"%nw{i}, %nm{i}, %nv{i} = mpt.adamw param(%w{i}) grad(%u{i}) lr(%lr) moments(%m{i}, %v{i}) step(%next) if(%ok) "
            f"{{weight_decay = {decay} : f64}} : ({type}, {type}, {scalar}, {type}, {type}, {count}, {flag}) -> ({type}, {type}, {type})")
        for name in "w", "m", "v":
            result(f"%n{name}{i}", type, f"{name}{i}")
    body.append(f"%taken = mpt.select_state %ok, %next, %step : ({flag}, {count}, {count}) -> {count}")
    body.append(f"%ns, %nt = mpt.update_loss_scale %scale, %tracker, %ok : ({scalar}, {i32}, {flag}) -> ({scalar}, {i32})")
    result("%taken", count, "step")
    result("%ns", scalar, "scale")
    result("%nt", i32, "tracker")
    result("%ok", flag, "did_step", updates=False)
    result("%norm", scalar, "grad_norm", updates=False)
    with open(path, "w") as file:
        file.write(f"func.func @step({', '.join(arguments)})\n    -> ({', '.join(results)}) {{\n  ")
        file.write("\n  ".join(body))
        file.write(f"\n  return {', '.join(v for v, _ in returned)} : {', '.join(t for _, t in returned)}\n}}\n")


class MPTStep:
    def __init__(self, build, shapes, gradients, threads, master, folder):
        text, program = os.path.join(folder, "step.mlir"), os.path.join(folder, "step.so")
        write_step(shapes, text)
        tool = os.path.join(build, "bin", "mpt-opt")
        if master != "f32":
            subprocess.run([tool, text, f"--mpt-master-weights=kind={master}", "-o", text], check=True)
        subprocess.run([os.path.join(build, "bin", "mpt-compile"), text, "-o", program], check=True)
        self.rt = ctypes.CDLL(os.path.join(build, "lib", "libMPTRuntime.so"))
        self.rt.mpt_rt_create.restype = ctypes.c_void_p
        self.rt.mpt_rt_last_error.restype = ctypes.c_char_p
        for name in "state", "arena":
            getattr(self.rt, f"mpt_rt_{name}_bytes").restype = ctypes.c_size_t
        self.context = ctypes.c_void_p(self.rt.mpt_rt_create(threads))
        self.check(self.rt.mpt_rt_open(self.context, program.encode()))
        for i, gradient in enumerate(gradients):
            self.check(self.rt.mpt_rt_bind(self.context, f"g{i}".encode(), ctypes.c_void_p(gradient.data_ptr()),
                                           ctypes.c_size_t(4 * gradient.numel())))
        self.write("lr", torch.tensor(1e-3))
        self.write("scale", torch.tensor(65536.0))
        self.write("tracker", torch.tensor(0, dtype=torch.int32))

    def check(self, status):
        if status:
            raise RuntimeError(self.rt.mpt_rt_last_error(self.context).decode())

    def write(self, name, tensor):
        tensor = tensor.detach()
        self.check(self.rt.mpt_rt_write(self.context, name.encode(), ctypes.c_void_p(tensor.data_ptr()),
                                        ctypes.c_size_t(tensor.numel() * tensor.element_size())))

    def read(self, name, like):
        tensor = torch.empty_like(like)
        self.check(self.rt.mpt_rt_read(self.context, name.encode(), ctypes.c_void_p(tensor.data_ptr()),
                                       ctypes.c_size_t(tensor.numel() * tensor.element_size())))
        return tensor

    def __call__(self):
        self.check(self.rt.mpt_rt_run(self.context))

    def bytes(self):
        return self.rt.mpt_rt_arena_bytes(self.context), self.rt.mpt_rt_state_bytes(self.context)


class TorchStep:
    def __init__(self, shapes, gradients):
        self.parameters = [torch.nn.Parameter(torch.empty(shape)) for shape in shapes]
        for parameter, gradient in zip(self.parameters, gradients):
            parameter.grad = gradient.clone()
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-3, weight_decay=0.1, fused=True)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
        self.scaler.scale(torch.tensor(0.0))  # makes the scale
        self.gradients = gradients

    def __call__(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()


def time_of(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--master", default="f32")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    shapes = get_shapes(options.layers, options.vocabulary)
    gradients = [torch.randn(shape).mul_(65536.0) for shape in shapes]
    weights = [torch.randn(shape).mul_(0.02) for shape in shapes]
    count = sum(weight.numel() for weight in weights)
    print(f"torch {torch.__version__}, {options.threads} threads, {count:,} parameters, masters {options.master}")

    with tempfile.TemporaryDirectory() as folder:
        mpt = MPTStep(options.build, shapes, gradients, options.threads, options.master, folder)
    theirs = TorchStep(shapes, gradients)
    for i, weight in enumerate(weights):
        with torch.no_grad():
            theirs.parameters[i].copy_(weight)
        if options.master == "f32":
            mpt.write(f"w{i}", weight)
    mpt(), theirs()
    if options.master == "f32":
        worst = max((mpt.read(f"w{i}", weight) - theirs.parameters[i].detach()).abs().max().item()
                    for i, weight in enumerate(weights))
        print(f"largest difference of a parameter after one step: {worst:.1e}")
        assert worst < 1e-6
    arena, state = mpt.bytes()
    print(f"MPT: arena {arena:,} bytes, state {state:,} bytes")

    # Read and written bytes of a copy are the bytes that a step moves.
    moved = count * (4 + 4 + 16 + 8)
    source, target = torch.zeros(moved // 8), torch.zeros(moved // 8)
    times = {"copy": [], "MPT": [], "PyTorch": []}
    for _ in range(options.rounds):
        times["copy"].append(time_of(lambda: target.copy_(source)))
        times["MPT"].append(time_of(mpt))
        times["PyTorch"].append(time_of(theirs))
    copy = statistics.median(times["copy"])
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:8} {1e3 * middle:9.1f} ms  {middle / copy:5.2f} copies  {moved / middle / 1e9:5.1f} GB/s")


main()
