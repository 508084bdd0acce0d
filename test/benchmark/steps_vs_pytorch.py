"""Time and memory of a training step, MPT against PyTorch and JAX on the CPU.

    steps_vs_pytorch.py BUILD_DIR [--threads 2] [--rounds 5] [--steps 20]
                        [--only sincos,digits,gpt] [--against eager,compile] [--processor-time]
                        [--part 0.7] [--no-bound]

All train networks of docs/examples, or those of networks.py that --only names,
with the same batch and optimizer; PyTorch has the images of the latter in
channels_last. --against names what MPT is compared with: PyTorch's eager mode, its
torch.compile, and jax, which trains the networks of flax_models.py with optax on XLA's CPU, for
those of networks.py; their numbers of parameters are checked to be equal. Its bf16 step has
parameters in f32 and computes in bf16. Beside JAX's times stand the seconds from the model to
the end of its first step. Rounds are interleaved, so that noise of the machine meets all;
the figures are the median and the least over rounds of the round's median time
of a step. Memory of PyTorch is the most that its allocator held at once during
two steps, parameters and optimizer state included; that of MPT is arena plus
state, also of an f32 step under a memory budget. --part adds MPT's steps within this part of
PyTorch's memory, or says why they do not fit. The bound is the sum, over the step's
calls and kernels, of the time that each takes at least: its multiplications and additions at
the rate of a matmul or convolution, or its bytes at that of a copy, as mpt-run --profile
measures both; beside it is what that run's profile says that the step took. --no-bound
leaves both out. With --processor-time, for busy machines, the times are processor time of one
thread: of PyTorch and JAX the least step, of MPT the difference between a run of --steps and one with twice as many
steps more, ten at least. Needs torch, numpy and scikit-learn from PyPI; vit-b16 torchvision, bert-base
transformers, --against=jax jax, flax and optax.
"""

import argparse
import json
import math
import multiprocessing
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "docs", "examples")


class SinCos(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.ModuleList([nn.Linear(1, 150), nn.Linear(150, 150), nn.Linear(150, 150)])
        self.heads = nn.ModuleList(
            [nn.Sequential(nn.Linear(150, 150), nn.ReLU(), nn.Linear(150, 1)) for _ in range(2)]
        )

    def forward(self, x, sin, cos):
        for layer in self.trunk:
            x = F.relu(layer(x))
        return F.mse_loss(self.heads[0](x).float(), sin) + F.mse_loss(self.heads[1](x).float(), cos)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.c0, self.c1 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.d0, self.d1 = nn.Linear(128, 64), nn.Linear(64, 10)

    def forward(self, x, y):
        x = F.max_pool2d(F.relu(self.c0(x)), 2)
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = self.d1(F.relu(self.d0(x.flatten(1))))
        return F.cross_entropy(x.float(), y)


class Block(nn.Module):
    def __init__(self, c, heads):
        super().__init__()
        self.heads = heads
        self.n0, self.n1 = nn.LayerNorm(c), nn.LayerNorm(c)
        self.qkv, self.proj = nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.up, self.down = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            p.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            for p in self.qkv(self.n0(x)).split(c, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.n1(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, layers=4, c=128, heads=4, context=64, vocabulary=96):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, c), nn.Embedding(context, c)
        self.blocks = nn.ModuleList([Block(c, heads) for _ in range(layers)])
        self.last, self.head = nn.LayerNorm(c), nn.Linear(c, vocabulary)

    def forward(self, x, y):
        h = self.tokens(x) + self.positions.weight
        for block in self.blocks:
            h = block(h)
        logits = self.head(self.last(h))
        return F.cross_entropy(logits.flatten(0, 1).float(), y.flatten())


class Residual(nn.Module):
    """Of torchvision's ResNets: two 3x3 convolutions, or a bottleneck of four times the width."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        shapes = ([(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
                  if bottleneck else [(inputs, width, 3, stride), (width, width, 3, 1)])
        layers = []
        for i, (a, b, kernel, step) in enumerate(shapes):
            layers += [nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False), nn.BatchNorm2d(b)]
            if i + 1 < len(shapes):
                layers.append(nn.ReLU())
        self.main = nn.Sequential(*layers)
        self.short = nn.Identity() if inputs == outputs and stride == 1 else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.main(x) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, blocks, bottleneck):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                  nn.MaxPool2d(3, 2, 1)]
        inputs = 64
        for stage, count in enumerate(blocks):
            for i in range(count):
                layers.append(Residual(inputs, 64 << stage, 2 if stage and i == 0 else 1, bottleneck))
                inputs = (64 << stage) * (4 if bottleneck else 1)
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(inputs, 1000)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(x).mean((2, 3))).float(), y)


class Mnist(nn.Module):
    def __init__(self):
        super().__init__()
        self.c0, self.c1 = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)
        self.d0, self.d1 = nn.Linear(7 * 7 * 64, 128), nn.Linear(128, 10)

    def forward(self, x, y):
        x = F.max_pool2d(F.relu(self.c0(x)), 2)
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        return F.cross_entropy(self.d1(F.relu(self.d0(x.flatten(1)))).float(), y)


class TiedGPT(GPT):
    def __init__(self, layers=4, c=256, heads=4, context=256, vocabulary=8192):
        super().__init__(layers, c, heads, context, vocabulary)
        self.head = nn.Linear(c, vocabulary, bias=False)
        self.head.weight = self.tokens.weight


class Classifier(nn.Module):
    """A model whose results, or whose `logits`, are scores of classes."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        scores = self.model(x)
        return F.cross_entropy(getattr(scores, "logits", scores).float(), y)


def bert():
    import transformers
    return Classifier(transformers.BertForSequenceClassification(transformers.BertConfig(
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)))


def vit():
    import torchvision
    return Classifier(torchvision.models.vit_b_16())


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.LSTM(512, 512, 2, batch_first=True), nn.Linear(512, 10)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


class UNet(nn.Module):
    """That of docs/examples/unet."""

    def __init__(self, width=32, levels=3):
        super().__init__()
        self.down, self.up, self.merge = (nn.ModuleList() for _ in range(3))
        inputs = 1
        for level in range(levels):
            self.down.append(self.convolutions(inputs, width << level))
            inputs = width << level
            self.up.append(nn.ConvTranspose2d(2 * inputs, inputs, 2, 2))
            self.merge.append(self.convolutions(2 * inputs, inputs))
        self.bottom = self.convolutions(inputs, 2 * inputs)
        self.head = nn.Conv2d(width, 4, 1)

    @staticmethod
    def convolutions(inputs, outputs):
        layers = []
        for _ in range(2):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                       nn.BatchNorm2d(outputs), nn.ReLU()]
            inputs = outputs
        return nn.Sequential(*layers)

    def forward(self, x):
        skipped = []
        for down in self.down:
            skipped.append(down(x))
            x = F.max_pool2d(skipped[-1], 2)
        x = self.bottom(x)
        for up, merge, before in reversed(list(zip(self.up, self.merge, skipped))):
            x = merge(torch.cat([up(x), before], 1))
        return self.head(x)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.01, fused=True)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.1, fused=True)


CASES = {
    "sincos": dict(
        model=SinCos,
        batch=lambda: (torch.randn(20000, 1), torch.randn(20000, 1), torch.randn(20000, 1)),
        optimizer=adam,
        clip=None,
        options=["--optimizer=adam", "--lr=0.01"],
        budget="0.8x",
        data=lambda d: [f"x={d}/x.npy", f"sin={d}/sin.npy", f"cos={d}/cos.npy"],
    ),
    "digits": dict(
        model=Digits,
        batch=lambda: (torch.randn(64, 1, 8, 8), torch.randint(0, 10, (64,))),
        optimizer=adam,
        clip=None,
        options=["--optimizer=adam", "--lr=0.002", "--batch=64", "--function=loss"],
        budget="0.8x",
        data=lambda d: [f"x={d}/train_x.npy", f"y={d}/train_y.npy"],
    ),
    "gpt": dict(
        model=GPT,
        batch=lambda: (torch.randint(0, 96, (16, 64)), torch.randint(0, 96, (16, 64))),
        optimizer=adamw,
        clip=1.0,
        options=["--optimizer=adamw weight-decay=0.1 clip-norm=1", "--lr=1e-3", "--batch=16"],
        budget="0.6x",
        data=lambda d: [f"x={d}/x.npy", f"y={d}/y.npy"],
    ),
}


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, fused=True)


def add_image_case(name, model, batch, size, channels, classes):
    """A network of networks.py on random images."""

    def images():
        x = torch.randn(batch, channels, size, size).to(memory_format=torch.channels_last)
        return x, torch.randint(0, classes, (batch,))

    CASES[name] = dict(
        model=lambda: model().to(memory_format=torch.channels_last), batch=images,
        optimizer=sgd, clip=None,
        options=["--optimizer=sgd momentum=0.9", "--lr=0.01", f"--batch={batch}"],
        arrays=lambda random: dict(
            x=random.standard_normal((batch, size, size, channels), dtype=np.float32),
            y=random.integers(0, classes, batch, dtype=np.int32)))


add_image_case("mnist", Mnist, 64, 28, 1, 10)
for size, batches in ((32, (64, 32)), (224, (8, 8))):
    add_image_case(f"resnet18-{size}", lambda: ResNet((2, 2, 2, 2), False), batches[0], size, 3, 1000)
    add_image_case(f"resnet50-{size}", lambda: ResNet((3, 4, 6, 3), True), batches[1], size, 3, 1000)
add_image_case("vit-b16", vit, 4, 224, 3, 1000)
add_image_case("unet64", lambda: Classifier(UNet()), 16, 64, 1, 4)


def add_token_case(name, model, batch, context, vocabulary, labels=None):
    """A network of networks.py on random tokens, with one of `labels` each or the next ones."""
    shape = (batch, context) if labels is None else (batch,)
    classes = labels or vocabulary
    CASES[name] = dict(
        model=model, optimizer=adamw, clip=None,
        batch=lambda: (torch.randint(0, vocabulary, (batch, context)),
                       torch.randint(0, classes, shape)),
        options=["--optimizer=adamw weight-decay=0.1", "--lr=1e-3", f"--batch={batch}"],
        arrays=lambda random: dict(
            x=random.integers(0, vocabulary, (batch, context), dtype=np.int32),
            y=random.integers(0, classes, shape, dtype=np.int32)))


add_token_case("gpt256", TiedGPT, 4, 256, 8192)
add_token_case("gpt2", lambda: TiedGPT(12, 768, 12, 512, 50257), 1, 512, 50257)
add_token_case("bert-base", bert, 4, 128, 30522, 2)
CASES["vit-b16"].update(optimizer=adamw, options=CASES["bert-base"]["options"])
CASES["unet64"].update(
    batch=lambda: (torch.randn(16, 1, 64, 64).to(memory_format=torch.channels_last),
                   torch.randint(0, 4, (16, 64, 64))),
    arrays=lambda random: dict(x=random.standard_normal((16, 64, 64, 1), dtype=np.float32),
                               y=random.integers(0, 4, (16, 64, 64), dtype=np.int32)))
CASES["lstm512"] = dict(
    model=lambda: Classifier(LSTM()), optimizer=sgd, clip=None,
    batch=lambda: (torch.randn(64, 64, 512), torch.randint(0, 10, (64,))),
    options=["--optimizer=sgd momentum=0.9", "--lr=0.01", "--batch=64"],
    arrays=lambda random: dict(x=random.standard_normal((64, 64, 512), dtype=np.float32),
                               y=random.integers(0, 10, 64, dtype=np.int32)))


def prepare(name, build):
    """Writes what mpt-run reads; returns the module's file and its data."""
    data = os.path.join(build, "benchmark", name)
    if "arrays" not in CASES[name]:
        subprocess.run([sys.executable, os.path.join(EXAMPLES, name, "make_data.py"), data], check=True)
        return os.path.join(EXAMPLES, name, name + ".mlir"), CASES[name]["data"](data)
    os.makedirs(data, exist_ok=True)
    module = os.path.join(data, name + ".mlir")
    with open(module, "w") as file:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "networks.py")
        subprocess.run([sys.executable, script, name], check=True, stdout=file)
    items = []
    for key, array in CASES[name]["arrays"](np.random.default_rng(0)).items():
        np.save(os.path.join(data, key + ".npy"), array)
        items.append(f"{key}={data}/{key}.npy")
    return module, items


def time_steps(step, steps, processor_time=False):
    """Milliseconds of a step: the least processor time, or the median elapsed time."""
    clock = time.process_time if processor_time else time.perf_counter
    times = []
    for _ in range(steps):
        start = clock()
        step()
        times.append(clock() - start)
    return 1e3 * (min(times) if processor_time else statistics.median(times))


class TorchStep:
    """One training step of PyTorch as a function without arguments."""

    def __init__(self, case, precision, compiled):
        torch.manual_seed(0)
        self.model = case["model"]()
        self.optimizer = case["optimizer"](self.model.parameters())
        self.batch, self.clip = case["batch"](), case["clip"]
        self.low = {"bf16": torch.bfloat16, "f16": torch.float16}.get(precision)
        self.forward = torch.compile(self.model) if compiled else self.model

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=self.low or torch.bfloat16, enabled=self.low is not None):
            loss = self.forward(*self.batch)
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        return loss.item()

    def state_bytes(self):
        """Parameters, their optimizer's state and the buffers that training updates."""
        state = [*self.model.parameters(), *self.model.buffers()]
        for values in self.optimizer.state.values():
            state += [value for value in values.values() if torch.is_tensor(value)]
        return sum(value.nbytes for value in state)


def jax_step(name, precision, module):
    """One training step of JAX, as TorchStep is one of PyTorch, of as many parameters as the module."""
    import flax_models
    import jax.numpy
    import optax
    optimizer = {adamw: optax.adamw(1e-3, weight_decay=0.1),
                 sgd: optax.sgd(0.01, momentum=0.9)}[CASES[name]["optimizer"]]
    low = {"f32": jax.numpy.float32, "bf16": jax.numpy.bfloat16}[precision]
    step = flax_models.Step(name, low, optimizer)
    with open(module) as file:
        shapes = re.findall(r'tensor<([0-9x]*)f32> {mpt.name = "[^"]*", mpt.role = "parameter"',
                            file.read())
    parameters = sum(math.prod(map(int, shape.split("x")[:-1])) for shape in shapes)
    if step.parameters != parameters:
        sys.exit(f"{name} has {parameters} parameters, but {step.parameters} in flax")
    if precision == "f32":
        print(f"{name:13} {parameters} parameters", flush=True)
    return step


def torch_peak_bytes(name, precision):
    """The most bytes that PyTorch's CPU allocator held during two steps.

    Runs in a process of its own: frees of what was there before would count.
    """
    case = CASES[name]
    with torch.profiler.profile(profile_memory=True) as profile:
        step = TorchStep(case, precision, compiled=False)
        step(), step()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    return max(e["args"]["Total Allocated"] for e in events if e.get("name") == "[memory]")


def mpt_run(build, case, files, precision, threads, steps, budget=None, profile=None):
    module, data = files
    command = [os.path.join(build, "bin", "mpt-run"), module]
    for item in data:
        command += ["--data", item]
    command += case["options"]
    command += [f"--precision={precision}", f"--threads={threads}", f"--steps={steps}",
                "--progress=none"]
    if budget:
        command.append(f"--memory-budget={budget}")
    if profile:
        command.append(f"--profile-json={profile}")
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr.strip())
    row = re.search(rf"^{precision} +(\d+) +(\S+) +(\S+) +(\d+)", result.stdout, re.M)
    return float(row[3]), int(row[4])


def get_bound(build, case, files, precision, threads):
    """Milliseconds that a step takes at least at the rates that the same run measures, and
    what its profile says that it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profile.json")
        mpt_run(build, case, files, precision, threads, 3, profile=path)
        with open(path) as file:
            profile = json.load(file)
    return sum(call["bound_ms"] for call in profile["calls"]), profile["ms"]


def mpt_processor_time(build, case, files, precision, steps, budget=None):
    """Milliseconds of a step on one thread, and the step's bytes."""
    totals, more = [], max(10, 2 * steps)  # what the first step costs differs by several steps
    for count in (steps, steps + more):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _, peak = mpt_run(build, case, files, precision, 1, count, budget)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        totals.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1e3 * (totals[1] - totals[0]) / more, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--only", default="sincos,digits,gpt")
    parser.add_argument("--against", default="eager,compile")
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--part", type=float)
    parser.add_argument("--no-bound", action="store_true")
    options = parser.parse_args()
    if options.processor_time:
        options.threads = 1
    against = options.against.split(",")
    if not set(against) <= {"eager", "compile", "jax"}:
        parser.error("--against takes eager, compile and jax")
    if options.part and "eager" not in against:
        parser.error("--part needs --against=eager")
    if options.threads == 1:
        os.environ["XLA_FLAGS"] = (
            "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads")
    print("network       step                 median ms  least ms       bytes      bound   profiled")
    for name in options.only.split(","):
        case = CASES[name]
        files = prepare(name, options.build)
        contenders = {}
        for precision in ("f32", "bf16"):
            for kind in against:
                if kind == "jax":
                    label = f"jax {precision}"
                    contenders[label] = jax_step(name, precision, files[0])
                else:
                    label = f"torch {precision} {kind}"
                    contenders[label] = TorchStep(case, precision, kind == "compile")
                time_steps(contenders[label], 1 if kind == "jax" else 3)
        times, peaks, refused = {}, {}, {}
        for precision in ("f32", "bf16") if "eager" in against else ():
            with multiprocessing.get_context("spawn").Pool(1) as process:
                peak = process.apply(torch_peak_bytes, (name, precision))
            peaks[f"torch {precision} eager"] = peak
        steps = [(f"mpt {precision}", precision, None) for precision in ("f32", "f16", "bf16")]
        if "budget" in case:
            steps.append((f"mpt f32 in {case['budget']}", "f32", case["budget"]))
        if options.part:
            state = contenders["torch f32 eager"].state_bytes()
            for precision in ("f32", "bf16"):
                total = int(options.part * peaks[f"torch {precision} eager"])
                label = f"mpt {precision} in {options.part}"
                if total > state:
                    steps.append((label, precision, str(total - state)))
                else:
                    refused[label] = f"{state} bytes of state are more than {total}"
        for _ in range(options.rounds):
            for label, step in contenders.items():
                times.setdefault(label, []).append(
                    time_steps(step, options.steps, options.processor_time))
            for label, precision, budget in steps:
                try:
                    if options.processor_time:
                        ms, peaks[label] = mpt_processor_time(
                            options.build, case, files, precision, options.steps, budget)
                    else:
                        ms, peaks[label] = mpt_run(options.build, case, files, precision,
                                                   options.threads, options.steps, budget)
                except RuntimeError as error:
                    refused[label] = str(error)
                    continue
                times.setdefault(label, []).append(ms)
        notes = {label: f"first step after {step.first:.1f} s"
                 for label, step in contenders.items() if label.startswith("jax")}
        for precision in () if options.no_bound else ("f32", "f16", "bf16"):
            bound, ms = get_bound(options.build, case, files, precision, options.threads)
            notes[f"mpt {precision}"] = f"{bound:10.2f} {ms:10.2f}"
        for label, rounds in times.items():
            print(f"{name:13} {label:19} {statistics.median(rounds):10.2f} {min(rounds):9.2f} "
                  f"{peaks.get(label, ''):>11} {notes.get(label, '')}", flush=True)
        for label, error in refused.items():
            print(f"{name:13} {label:19} {error}", flush=True)


if __name__ == "__main__":
    main()
