"""Steps of imported PyTorch models compared with the same networks in the mpt dialect.

    PYTHONPATH=BUILD_DIR/python imported_vs_written.py [--only mlp,lstm512] [--precision f32]
        [--threads 2] [--rounds 5] [--no-time]

For networks of networks.py: the bytes of the arena, of the state, and the median and least ms
of a step, in turns, with AdamW. --no-time plans and compiles alone. Needs torch,
torchvision, transformers and numpy from PyPI.
"""

import argparse
import contextlib
import io
import statistics
import tempfile
import time

import numpy
import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional as F

import mpt
import mpt.torch
import networks
from networks import network

STEP = ("mpt-autodiff,mpt-train-step{optimizer=adamw grad-norm=true},mpt-master-weights,"
        "mpt-validate-loss-scale")


def classify(model, x, y):
    return F.cross_entropy(model(x), y)


def images(size, batch):
    return torch.randn(batch, 3, size, size), torch.randint(0, 1000, (batch,))


def gpt(layers, width, heads, context, vocabulary, positions, batch):
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=layers, n_embd=width, n_head=heads, n_positions=positions, vocab_size=vocabulary,
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, use_cache=False))

    def loss(model, x, y):
        return F.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())
    tokens = (torch.randint(0, vocabulary, (batch, context)) for _ in range(2))
    return model, loss, tuple(tokens)


def bert():
    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    return (model, lambda model, x, y: F.cross_entropy(model(x).logits, y),
            (torch.randint(0, 30522, (4, 128)), torch.randint(0, 2, (4,))))


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(512, 512, 2, batch_first=True)
        self.head = nn.Linear(512, 10)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


def mlp():
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                         nn.Linear(1024, 10))


MODELS = {
    "mlp": lambda: (mlp(), classify, (torch.randn(64, 784), torch.randint(0, 10, (64,)))),
    "lstm512": lambda: (LSTM(), classify,
                        (torch.randn(64, 64, 512), torch.randint(0, 10, (64,)))),
    "gpt256": lambda: gpt(4, 256, 4, 256, 8192, 256, 4),
    "resnet50-32": lambda: (torchvision.models.resnet50(), classify, images(32, 32)),
    "resnet18-32": lambda: (torchvision.models.resnet18(), classify, images(32, 64)),
    "densenet121-32": lambda: (torchvision.models.densenet121(), classify, images(32, 32)),
    "mobilenet-v3": lambda: (torchvision.models.mobilenet_v3_small(dropout=0.0), classify,
                             images(224, 8)),
    "vit-b16": lambda: (torchvision.models.vit_b_16(), classify, images(224, 4)),
    "bert-base": bert,
    "gpt2": lambda: gpt(12, 768, 12, 512, 50257, 1024, 1),
}


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
            if tuple(array.shape) != tensor.shape:  # images
                array = array.permute(0, 2, 3, 1).contiguous()
            self.program.bind(tensor.name, array.numpy().astype(
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
    parser.add_argument("--only", default=",".join(MODELS))
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16", "f16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--no-time", action="store_true")
    options = parser.parse_args()
    print("network       of         arena MB  state MB  median ms  least ms")
    for name in options.only.split(","):
        torch.manual_seed(0)
        model, loss, batch = MODELS[name]()
        exported = mpt.torch.export(model.train(), loss, batch)
        steps = {
            "PyTorch": Step(exported.text, "mpt-convert-torch,canonicalize,cse",
                            options.precision, batch, options.threads, exported),
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
