"""Steps of imported models compared with the same networks in the mpt dialect.

    PYTHONPATH=BUILD_DIR/python imported_vs_written.py [--source torch|flax]
        [--only mlp,lstm512] [--precision f32] [--threads 2] [--rounds 5] [--no-time]
        [--pytorch eager,compile] [--processor-time]

For networks of networks.py: the bytes of the arena, of the state, and the median and least ms
of a step, in turns, with AdamW. --no-time plans and compiles alone. --pytorch adds PyTorch's own
step in f32, with fused AdamW, images in channels_last, and torch.compile if asked for. With
--processor-time, for busy machines, times are those that one thread had the processor. Needs
numpy, and torch, torchvision and transformers (torch_models.py) or jax, flax, optax and safetensors
(flax_models.py) from PyPI.
"""

import argparse
import contextlib
import importlib
import io
import statistics
import tempfile
import time

import numpy

import mpt
import networks
from networks import network

STEP = ("mpt-autodiff,mpt-train-step{optimizer=adamw grad-norm=true},mpt-master-weights,"
        "mpt-validate-loss-scale")


class Step:
    def __init__(self, text, passes, precision, batch, threads, weights=None):
        module = mpt.Module(text)
        passes += "," + STEP
        if precision != "f32":
            passes += f",mpt-autocast{{type={precision}}}"
        module.run(passes)
        self.program = module.program("loss", threads=threads)
        with tempfile.TemporaryDirectory() as folder:
            path = ""
            if weights:
                path = f"{folder}/weights.safetensors"
                weights.save(f"{folder}/loss.mlir", path)
            self.program.initialize(seed=0, file=path)
        inputs = [t for t in self.program.tensors if t.role in ("input", "target")]
        for tensor, array in zip(inputs, batch, strict=True):
            if array.shape != tensor.shape:  # images
                array = numpy.ascontiguousarray(array.transpose(0, 2, 3, 1))
            self.program.bind(tensor.name, array.astype(
                {"f32": numpy.float32, "i32": numpy.int32, "i64": numpy.int64}[tensor.type]))
        self.times = []

    def run(self):
        self.program.run()

    @property
    def sizes(self):
        return f"{self.program.arena_bytes / 1e6:9.2f} {self.program.state_bytes / 1e6:9.2f}"


class TorchStep:
    """PyTorch's own step."""
    sizes = f"{'':9} {'':9}"

    def __init__(self, model, loss, batch, compiled):
        import torch
        if batch[0].dim() == 4:
            model = model.to(memory_format=torch.channels_last)
            batch = (batch[0].contiguous(memory_format=torch.channels_last), *batch[1:])
        self.batch, self.optimizer = batch, torch.optim.AdamW(model.parameters(), fused=True)
        self.loss = torch.compile(lambda *values: loss(model, *values)) if compiled else (
            lambda *values: loss(model, *values))
        self.times = []

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(*self.batch).backward()
        self.optimizer.step()


def measure(step, count, clock):
    times = []
    for _ in range(count):
        start = clock()
        step.run()
        times.append(1e3 * (clock() - start))
    step.times.append(statistics.median(times))


def write(name):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        network.print_function("loss", networks.NETWORKS[name], True)
    return text.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="torch", choices=["torch", "flax"])
    parser.add_argument("--only", default="")
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16", "f16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--pytorch", default="")
    parser.add_argument("--processor-time", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.processor_time else time.perf_counter
    if options.processor_time:
        options.threads = 1
    if options.pytorch:
        import torch
        torch.set_num_threads(options.threads)
    models = importlib.import_module(f"{options.source}_models")
    print("network       of         arena MB  state MB  median ms  least ms")
    for name in options.only.split(",") if options.only else models.MODELS:
        text, batch, weights = models.load(name)
        steps = {
            options.source: Step(text, models.PASSES, options.precision, batch, options.threads,
                                 weights),
            "mpt": Step(write(name), f"mpt-specialize{{batch={len(batch[0])}}}",
                        options.precision, batch, options.threads)}
        for kind in options.pytorch.split(",") if options.pytorch else []:
            model, loss, values = models.MODELS[name]()
            steps[kind] = TorchStep(model.train(), loss, values, kind == "compile")
        if not options.no_time:
            for step in steps.values():
                measure(step, 2, clock)
                step.times.clear()
            for _ in range(options.rounds):
                for step in steps.values():
                    measure(step, options.steps, clock)
        for of, step in steps.items():
            times = (f"{statistics.median(step.times):10.2f} {min(step.times):9.2f}"
                     if step.times else "")
            print(f"{name:13} {of:9} {step.sizes} {times}", flush=True)


if __name__ == "__main__":
    main()
