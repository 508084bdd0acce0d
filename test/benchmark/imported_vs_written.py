"""Steps of imported models compared with the same networks in the mpt dialect.

    PYTHONPATH=BUILD_DIR/python imported_vs_written.py [--source torch|flax]
        [--only mlp,lstm512] [--precision f32] [--threads 2] [--rounds 5] [--no-time]

For networks of networks.py: the bytes of the arena, of the state, and the median and least ms
of a step, in turns, with AdamW. --no-time plans and compiles alone. Needs numpy, and torch,
torchvision and transformers (torch_models.py) or jax, flax and optax (flax_models.py) from PyPI.
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

    def time(self, steps):
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            self.program.run()
            times.append(1e3 * (time.perf_counter() - start))
        self.times.append(statistics.median(times))


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
    options = parser.parse_args()
    models = importlib.import_module(f"{options.source}_models")
    print("network       of         arena MB  state MB  median ms  least ms")
    for name in options.only.split(",") if options.only else models.MODELS:
        text, batch, weights = models.load(name)
        steps = {
            options.source: Step(text, models.PASSES, options.precision, batch, options.threads,
                                 weights),
            "mpt": Step(write(name), f"mpt-specialize{{batch={len(batch[0])}}}",
                        options.precision, batch, options.threads)}
        if not options.no_time:
            for step in steps.values():
                step.time(1)
                step.times.clear()
            for _ in range(options.rounds):
                for step in steps.values():
                    step.time(options.steps)
        for of, step in steps.items():
            times = (f"{statistics.median(step.times):10.2f} {min(step.times):9.2f}"
                     if step.times else "")
            print(f"{name:13} {of:9} {step.program.arena_bytes / 1e6:9.2f} "
                  f"{step.program.state_bytes / 1e6:9.2f} {times}", flush=True)


if __name__ == "__main__":
    main()
