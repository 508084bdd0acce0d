"""mpt.torch.TrainStep apart from its numbers: check_train_step.py FOLDER BIN"""
import copy
import io
import os
import subprocess
import sys
import time
import warnings

import numpy
import torch
from torch import nn
from torch.nn import functional as F

import mpt
import mpt.torch

folder, tools = sys.argv[1:]


class Net(nn.Module):
    """Tied and frozen weights, batch normalization that stays in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.norm = nn.BatchNorm1d(8)
        self.fixed = nn.BatchNorm1d(8).eval()
        self.frozen = nn.Linear(8, 8)
        self.frozen.requires_grad_(False)
        self.head = nn.Linear(8, 12, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        h = self.norm(self.embed(x))
        return self.head(torch.softmax(self.frozen(self.fixed(h)), -1))


def loss(model, x, y):
    z = model(x)
    return {"loss": F.cross_entropy(z, y), "right": (z.argmax(-1) == y).sum()}


def make(rows=16, seed=0):
    torch.manual_seed(seed)
    model = Net().train()
    model.fixed.eval()
    x = torch.randint(0, 12, (rows,))
    return model, x, (x + 1) % 12


def refused(tried, *arguments, **named):
    try:
        tried(*arguments, **named)
    except (mpt.Error, mpt.torch.ExportError) as error:
        print("refused:", str(error).splitlines()[0])
        return
    print("NOT REFUSED")


def adam(model, **options):
    return torch.optim.Adam(model.parameters(), 1e-2, **options)


def equal(a, b):
    return list(a) == list(b) and all(torch.equal(a[k], b[k]) for k in a)


def other_models(path):
    """Checkpoints of a model with other rows or micro-batches go on, of others none do, though
    the same ops compute with the same state."""
    x = torch.randn(4, 6, 8, generator=torch.Generator().manual_seed(0))

    def build(heads=2, dim=-1, rows=4, **options):
        def attend(model, x):
            q, k, v = model(x).view(x.shape[0], 6, 3, heads, -1).permute(2, 0, 3, 1, 4)
            return ((q @ k.transpose(-1, -2)).softmax(dim) @ v).square().mean()
        torch.manual_seed(0)
        model = nn.Linear(8, 24)
        return mpt.torch.TrainStep(model, attend, torch.optim.SGD(model.parameters(), 0.1),
                                   x[:rows], **options)

    build().save(path)
    for options in {"accumulate": 2}, {"rows": 1}, {"heads": 4}, {"dim": -2}, {"ema": 0.9}:
        try:
            build(**options).load(path)
            print(*options, "goes on")
        except mpt.Error as error:
            print(*options, "refused:", str(error)[len(path) + 2:])

    # A loss that depends on its rows goes on as it is, and as no other.
    def uneven(model, x):
        return model(x).square().mean() * (2 if x.shape[0] > 3 else 1)

    def build_uneven(rows):
        model = nn.Linear(8, 24)
        return mpt.torch.TrainStep(model, uneven, torch.optim.SGD(model.parameters(), 0.1),
                                   x[:rows])
    build_uneven(4).save(path)
    build_uneven(4).load(path)
    refused(build_uneven(3).load, path)


def reference(model, batches, optimizer):
    for x, y in batches:
        optimizer.zero_grad()
        loss(model, x, y)["loss"].backward()
        optimizer.step()
    return model


def changes_twice(model, x, y):
    with torch.no_grad():
        mean = model.running_mean.mul_(0.5)
    mean += x.mean(0)
    return (model(x) * mean).mean()


def main():
    model, x, y = make()
    mirror = copy.deepcopy(model)
    optimizer = adam(model)
    step = mpt.torch.TrainStep(model, loss, optimizer=optimizer, example=(x, y))
    result = step(x, y)
    print("outputs:", sorted(result.outputs), result["right"].dtype, result)

    # Another shape trains the same state; numpy arrays are taken, too.
    step(x[:6], y[:6])
    step(x.numpy(), y.numpy())
    other = adam(mirror)
    reference(mirror, [(x, y), (x[:6], y[:6]), (x, y)], other)
    state = step.state_dict()
    print("state:", list(state) == list(mirror.state_dict()),
          all(torch.allclose(state[k], v, atol=1e-5) for k, v in mirror.state_dict().items()),
          int(state["norm.num_batches_tracked"]))
    print("tied, fixed, frozen:", torch.equal(state["embed.weight"], state["head.weight"]),
          torch.equal(state["fixed.running_mean"], model.fixed.running_mean),
          torch.equal(state["frozen.weight"], model.frozen.weight))
    names = {t.name for t in step._first.program.tensors}
    print("no state of frozen ones:", "frozen.weight" in names,
          "frozen.weight.exp_avg" in names, "grad.frozen.weight" in names)
    print(model.load_state_dict(state))

    # The optimizer's state goes to PyTorch's optimizer, and from it.
    optimizer.load_state_dict(step.optimizer_state_dict())
    reference(mirror, [(x, y)], other)
    reference(model, [(x, y)], optimizer)
    print("optimizer's state:", all(torch.allclose(a, b, atol=1e-5) for a, b in
                                    zip(model.parameters(), mirror.parameters())))
    resumed = mpt.torch.TrainStep(model, loss, optimizer=optimizer, example=(x, y))
    resumed(x, y)
    reference(mirror, [(x, y)], other)
    print("taken over:", torch.allclose(resumed.state_dict()["embed.weight"],
                                        mirror.embed.weight, atol=1e-5))

    # A checkpoint goes on with the same bits, whatever the rate at first and the budget.
    path = os.path.join(folder, "run.safetensors")
    step.load_state_dict(model.state_dict())  # PyTorch has trained it.
    step(x, y)
    step.save(path)
    after = [step(x, y) and step.state_dict() for _ in range(2)][-1]
    fresh, _, _ = make(seed=5)
    again = mpt.torch.TrainStep(fresh, loss, example=(x, y), memory_budget="0.9x",
                                optimizer=torch.optim.Adam(fresh.parameters(), 0.5))
    again.lr = 1e-2
    again.load(path)
    again(x, y), again(x, y)
    print("resumed:", equal(again.state_dict(), after))
    again.load_state_dict(mirror.state_dict())
    print("loaded:", equal(again.state_dict(), dict(mirror.state_dict())))
    other_models(os.path.join(folder, "attention.safetensors"))

    # Evaluation is of the present state, in evaluation mode, at any batch size.
    predict = step.evaluator(lambda model, x: (model(x), {"best": model(x).argmax(-1)}))
    step.sync_to(mirror)
    mirror.eval()
    for rows in (16, 3):
        scores, best = predict(x[:rows])
        with torch.no_grad():
            expected = mirror(x[:rows])
        print("evaluated:", torch.allclose(scores, expected, atol=1e-5),
              torch.equal(best["best"], expected.argmax(-1)))
    step(x, y)
    print("follows:", not torch.equal(predict(x)[0], scores), model.training)

    # Averages of the parameters.
    model, x, y = make()
    step = mpt.torch.TrainStep(model, loss, optimizer=adam(model), example=(x, y), ema=0.9)
    average = torch.optim.swa_utils.AveragedModel(
        mirror, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    for _ in range(3):
        step(x, y)
        step.sync_to(mirror)
        average.update_parameters(mirror)
    averaged = step.ema_state_dict()
    print("averages:", torch.allclose(averaged["embed.weight"], average.module.embed.weight,
                                      atol=1e-6),
          torch.equal(averaged["frozen.weight"], model.frozen.weight))
    mirror.load_state_dict(averaged)
    mirror.eval()
    print("evaluated:", torch.allclose(
        step.evaluator(lambda m, x: m(x), weights="ema")(x), mirror(x), atol=1e-5))

    # Micro-batches: the mean of the parts' gradients.
    model, x, y = make()
    plain = nn.Sequential(nn.Linear(4, 3))
    parts = copy.deepcopy(plain)
    a, b = torch.randn(12, 4), torch.randn(12, 3)

    def square(model, a, b):
        return F.mse_loss(model(a), b)

    whole, cut = (mpt.torch.TrainStep(m, square, optimizer=torch.optim.SGD(m.parameters(), 0.1),
                                      example=(a, b), accumulate=k)
                  for m, k in ((plain, 1), (parts, 3)))
    r, s = whole(a, b), cut(a, b)
    print("accumulated:", numpy.isclose(r.loss, s.loss, rtol=1e-5), all(
        torch.allclose(p, q, atol=1e-6)
        for p, q in zip(whole.state_dict().values(), cut.state_dict().values())))
    refused(cut, a[:10], b[:10])

    # A model in 16 bits trains with masters in f32.
    half = copy.deepcopy(plain).bfloat16()
    low, labels = a.bfloat16(), b.bfloat16()
    narrow = mpt.torch.TrainStep(half, lambda m, a, b: F.mse_loss(m(a).float(), b.float()),
                                 optimizer=torch.optim.SGD(half.parameters(), 0.1),
                                 example=(low, labels))
    narrow(low, labels)
    narrow.sync_to(half)
    kept = next(t.type for t in narrow._first.program.tensors if t.name == "0.weight")
    print("bf16:", half[0].weight.dtype, kept,
          torch.equal(narrow.evaluator(lambda m, a: m(a))(low), half(low)))

    # By name, as transformers' collators give them.
    named = mpt.torch.TrainStep(plain, lambda m, inputs, labels: F.mse_loss(m(inputs), labels),
                                optimizer=torch.optim.SGD(plain.parameters(), 0.1),
                                example={"inputs": a, "labels": b})
    print("named:", named(labels=b, inputs=a).loss > named({"inputs": a, "labels": b}).loss)
    refused(named, inputs=a)
    refused(whole, a=a, b=b)

    # Learning rates are PyTorch's, of each group.
    optimizer = torch.optim.SGD([{"params": [plain[0].weight]},
                                 {"params": [plain[0].bias], "lr": 0.0}], 0.5)
    step = mpt.torch.TrainStep(plain, square, optimizer=optimizer, example=(a, b))
    before = step.state_dict()
    step(a, b)
    print("rates:", step.lr, torch.equal(before["0.bias"], step.state_dict()["0.bias"]),
          torch.equal(before["0.weight"], step.state_dict()["0.weight"]))
    step.lr = 0.25
    step(a, b)
    print("set:", [g["lr"] for g in optimizer.param_groups],
          torch.equal(before["0.bias"], step.state_dict()["0.bias"]))

    # A bar with the last loss. Batches come through as they are.
    bar = io.StringIO()
    for i, batch in enumerate(step.progress([(a, b)] * 3, file=bar, mininterval=0, desc="epoch 1")):
        assert batch[0] is a
        if i < 2:
            result = step(*batch)
    print("progress:", "epoch 1: 100%" in bar.getvalue(), f"loss={result.loss:.4g}" in bar.getvalue())

    # The Python part of a call, in time of this thread.
    alone = mpt.torch.TrainStep(plain, square, optimizer=torch.optim.AdamW(plain.parameters()),
                                example=(a, b), threads=1)

    def cost(function):
        start = time.thread_time()
        for _ in range(200):
            function()
        return (time.thread_time() - start) / 200

    overhead = min(cost(lambda: alone(a, b)) for _ in range(9)) \
        - min(cost(alone._first.program.run) for _ in range(9))
    print("less than 50 us a call:", overhead < 50e-6)
    print(f"{overhead * 1e6:.1f} us a call", file=sys.stderr)

    # Programs are cached, the oldest gives way.
    few = mpt.torch.TrainStep(plain, square, optimizer=torch.optim.SGD(plain.parameters(), 0.1),
                              example=(a, b), max_programs=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for rows in (12, 6, 12, 3, 12):
            few(a[:rows], b[:rows])
    print("programs:", len(few._programs), [str(w.message)[:60] for w in caught
                                            if "max_programs" in str(w.message)])

    # Files for mpt-run.
    program = whole.export(os.path.join(folder, "step.so"))
    numpy.save(os.path.join(folder, "a.npy"), a.numpy())
    numpy.save(os.path.join(folder, "b.npy"), b.numpy())
    done = subprocess.run(
        [os.path.join(tools, "mpt-run"), program, "--steps=2",
         f"--data=a={folder}/a.npy", f"--data=b={folder}/b.npy", "--lr=0.1",
         f"--checkpoint={folder}/out.safetensors"], capture_output=True, text=True)
    from_run = mpt.Program.open(program)
    print("exported:", done.returncode, done.stderr[-300:] if done.returncode else "",
          from_run.load(os.path.join(folder, "out.safetensors"))["attempt"])
    whole(a, b), whole(a, b)
    print("as mpt-run:", numpy.array_equal(numpy.asarray(from_run.read("0.weight")),
                                           whole.state_dict()["0.weight"].numpy()))

    # Reports.
    model, x, y = make()
    low = mpt.torch.TrainStep(model, loss, optimizer=adam(model), example=(x, y),
                              precision="bf16", memory_budget="0.9x")
    text = low.explain("softmax")
    print("explained:", len(text) > 0, "check_train_step.py:" in str(text),
          text._repr_html_().startswith("<table>"),
          str(low.explain("none of these")) == "no op whose name, function or place matches "
          "'none of these'")
    report = low.memory_report()
    print("memory:", str(report).splitlines()[0][:60], sorted(report.data)[:2],
          report._repr_html_()[:15])

    # Where steps spend their time: the steps in the block, of the shape of which there are most.
    before = low.state_dict()
    with low.profile() as profile:
        low(x[:2], y[:2])
        for _ in range(3):
            low(x, y)
    low(x, y)
    times = [entry["ms"] for entry in profile.data["instructions"]]
    print("profile:", str(profile).splitlines()[0].split(":")[0], profile.data["steps"],
          "check_train_step.py:" in profile.text, min(times) >= 0,
          abs(sum(times) - profile.data["ms"]) < 1e-6 * profile.data["ms"],
          profile.html[:15], profile._repr_html_()[:7])
    print("trained on:", any(not torch.equal(a, b) for a, b in zip(before.values(),
                                                                 low.state_dict().values())))
    # Of a shape that first comes after profile(), and once more by the same context.
    profile = low.profile()
    low(x[:3], y[:3])
    with profile:
        low(x[:3], y[:3])
    found = [profile.data["steps"]]
    with profile:
        low(x[:3], y[:3])
        low(x[:3], y[:3])
    print("again:", *found, profile.data["steps"], "keeps", len(profile._programs))
    with low.profile() as profile:
        pass
    try:
        print(profile)
    except mpt.Error as error:
        print("nothing:", error)

    # Errors.
    def build(optimizer=None, net=model, function=loss, example=(x, y), **options):
        return mpt.torch.TrainStep(net, function, optimizer=optimizer or adam(net),
                                   example=example, **options)

    # Without a budget, what costs no time is computed again already.
    print("budget:", build(precision="bf16", memory_budget="min").arena_bytes
          < build(precision="bf16").arena_bytes)

    # A loop of recurrent layers within a budget: the same numbers in fewer bytes, but for the
    # order in which the gradients of 40 iterations are added.
    rows, classes = torch.randn(40, 2, 4), torch.randint(0, 6, (2,))

    def recurrent(budget):
        torch.manual_seed(0)
        lstm = nn.LSTM(4, 6)
        step = build(adam(lstm), lstm, lambda m, x, y: F.cross_entropy(m(x)[0][-1], y),
                     (rows, classes), memory_budget=budget)
        results = [step(rows, classes) for _ in range(2)]
        return [(r.loss, r.grad_norm) for r in results], step.arena_bytes

    (losses, whole), (again, half) = recurrent(None), recurrent("0.5x")
    print("loop:", numpy.allclose(losses, again, rtol=1e-5, atol=0), half <= whole // 2)
    try:
        recurrent("1000")
    except mpt.Error as error:
        print(str(error).splitlines()[-1])
    refused(step, a[:0], b[:0])
    refused(build, net=copy.deepcopy(model).double())
    refused(build, 0.1)
    refused(build, net=model.forward, optimizer=adam(model))
    refused(build, function=nn.CrossEntropyLoss())
    refused(build, memory_budget=1000)
    refused(build, adam(copy.deepcopy(model)))
    refused(build, torch.optim.SGD(model.frozen.parameters(), 0.1))
    refused(build, precision="fp16")
    refused(build, loss_scale="big")
    refused(build, parallel="model")
    refused(build, parallel="data", parallel_timeout=0)
    refused(build, parallel="data")
    refused(build, accumulate=0)
    refused(build, max_programs=0)
    refused(build, seed="one")
    refused(build, memory_budget="lots")
    refused(build, device="tpu")
    refused(build, example=("text", y))
    refused(build, example=())
    refused(build, net=plain, function=square, example=(a.double(), b))
    try:
        build(net=plain, function=square, example=(a.double(), b))
    except mpt.Error as error:
        print("doubles:", str(error).splitlines()[-1])
    refused(build, function=lambda m, x, y: {"cost": m(x).sum()})
    refused(build, function=lambda m, x, y: m(x))
    refused(build, function=lambda m, x, y: m(x).sum() if m(x).sum() > 0 else m(x).mean())
    refused(build, function=lambda m, x, y: torch.i0(m(x)).sum())
    refused(build, net=torch.nn.BatchNorm1d(4), function=changes_twice, example=(a, b))
    refused(build, function=lambda m, x, y: {"loss": m(x).sum(), "more": {"y": m(x).mean()}})
    refused(step, a.double(), b)
    refused(step, a.to("meta"), b)
    refused(step, a.to_sparse(), b)
    refused(step, a[0], b)
    refused(step, a)
    refused(step, [1.0], b)
    refused(step, a.double().numpy(), b)
    refused(setattr, step, "lr", float("nan"))
    refused(setattr, step, "lr", -0.1)
    rate, step.optimizer.param_groups[0]["lr"] = step.lr, "fast"
    refused(step, a, b)
    step.lr = rate
    refused(step.evaluator(lambda m, x: m(x)), [1.0])
    refused(step.explain, "add")
    refused(step.ema_state_dict)
    refused(step.evaluator, len, weights="ema")
    refused(step.load_state_dict, {"0.weight": a})
    refused(step.load_state_dict, {"0.weight": a, "0.bias": b})
    refused(step.load, path)
    cycle = torch.optim.SGD(plain.parameters(), 0.1, momentum=0.9)
    cycling = build(cycle, plain, square, (a, b))
    torch.optim.lr_scheduler.OneCycleLR(cycle, 0.1, total_steps=10)
    refused(cycling, a, b)
    cycle.add_param_group({"params": [nn.Parameter(a)]})
    refused(cycling, a, b)

    cycling.close()
    refused(cycling, a, b)
    print("supports:", bool(mpt.torch.supports(model, (x,))),
          mpt.torch.supports(plain, a))
    print(mpt.torch.supports(Bessel(), (a,)))
    refused(mpt.torch.supports, plain)
    plain.example_input_array = a
    print("supports:", mpt.torch.supports(plain))

    # Losses of 16 bits, and a device as PyTorch has them.
    for dtype in torch.bfloat16, torch.float16:
        half = nn.Linear(4, 3).to(dtype)
        with torch.no_grad():
            expected = square(half, a.to(dtype), b.to(dtype)).item()
        seen = build(torch.optim.SGD(half.parameters(), 0.1), half, square,
                     (a.to(dtype), b.to(dtype)), device=torch.device("cpu"))(
                         a.to(dtype), b.to(dtype)).loss
        print("half:", abs(seen / expected - 1) < 0.02)

    # State that is called as the arguments of the loss are.
    scaled = Scaled()
    mirror = copy.deepcopy(scaled)
    optimizer = torch.optim.SGD(scaled.parameters(), 0.1)

    def far(model, x, y):
        return (model(x) - y).square().mean()
    batch = torch.randn(3, 4), torch.randn(3, 4)
    step = mpt.torch.TrainStep(scaled, far, optimizer=optimizer, example=batch)
    step(*batch)
    other = torch.optim.SGD(mirror.parameters(), 0.1)
    far(mirror, *batch).backward()
    other.step()
    print("names that meet:", torch.allclose(step.state_dict()["x"], mirror.x),
          list(step.state_dict()))
    layouts()
    rows_past_groups()
    byte_images()


def rows_past_groups():
    """What lies past the last group of a grouped matmul reaches neither its result nor the
    gradient of its matrices, be it NaN."""
    ends = torch.tensor([40, 80, 80, 120, 160, 200, 201, 250], dtype=torch.int32)
    rows = torch.randn(300, 16).bfloat16()
    rows[250:] = float("nan")

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(8, 16, 8).bfloat16().float())

        def forward(self, x, ends):
            return torch._grouped_mm(x, self.w.bfloat16(), offs=ends).float()

    model = Experts()
    step = mpt.torch.TrainStep(model, lambda model, x, ends: model(x, ends).square().sum(),
                               torch.optim.SGD(model.parameters(), 0.1), example=(rows, ends))
    result = step(rows, ends)
    w = model.w.detach().double().requires_grad_()
    parts = [rows[begin:end].double() @ w[e]
             for e, (begin, end) in enumerate(zip([0, *ends.tolist()], ends.tolist()))]
    expected = torch.cat(parts).square().sum()
    expected.backward()
    # Results and their gradients are rounded to bf16.
    print("rows past groups:", abs(result.loss / expected.item() - 1) < 2**-6,
          abs(result.grad_norm / w.grad.norm().item() - 1) < 2**-6)


def byte_images():
    """Images of uint8 train as in PyTorch, where the loss converts them; arithmetic in uint8,
    which wraps, is refused."""
    images = torch.randint(0, 256, (4, 6, 6, 3), dtype=torch.uint8)

    def far(model, x):
        x = x.permute(0, 3, 1, 2)[:, [2, 1, 0]].flip(3)
        return model(torch.where(x > 200, 1.0, x / 255)).square().mean()

    model = nn.Conv2d(3, 2, 3)
    mirror = copy.deepcopy(model)
    step = mpt.torch.TrainStep(model, far, torch.optim.SGD(model.parameters(), 0.1), images)
    other = torch.optim.SGD(mirror.parameters(), 0.1)
    for batch in images, images.numpy(), images[:3]:
        expected = far(mirror, torch.as_tensor(batch))
        other.zero_grad()
        expected.backward()
        other.step()
        found = step(batch).loss
        print("bytes:", abs(found / expected.item() - 1) < 1e-5)
    evaluate = step.evaluator(lambda model, x: x.permute(0, 3, 1, 2).float().mean((1, 2, 3)))
    print("bytes:", torch.allclose(evaluate(images), images.float().mean((1, 2, 3))))
    refused(step, images.float())
    refused(mpt.torch.TrainStep, model, lambda model, x: model((x + 1).float()).mean(),
            torch.optim.SGD(model.parameters(), 0.1), images.permute(0, 3, 1, 2))


def layouts():
    """Batches that are not contiguous train as their copies do: images in channels_last, expanded
    and transposed tensors, arrays of numpy that run backwards; as example, batch and argument of
    an evaluator."""
    images = torch.randn(4, 3, 6, 6).to(memory_format=torch.channels_last)
    shift = torch.randn(3, 1, 1).expand(4, 3, 6, 6)

    def build(x, y):
        torch.manual_seed(0)
        model = nn.Conv2d(3, 2, 3)
        return mpt.torch.TrainStep(
            model, lambda model, x, y: (model(x) * model(y)).square().mean(),
            torch.optim.SGD(model.parameters(), 0.1), example=(x, y))

    def losses(step, *batches):
        return [step(*batch).loss for batch in batches] + [step.lr]

    batches = [(images, shift), (images.transpose(2, 3), images.flip(0)),
               (images[:, :, ::2], shift[:, :, ::2])]
    copies = [[t.contiguous() for t in batch] for batch in batches]
    expected = losses(build(*copies[0]), *copies)
    step = build(images, shift)
    print("layouts:", losses(step, *batches) == expected, images.is_contiguous())
    backwards = images.numpy()[::-1, :, :, ::-1]
    step, other = build(backwards, shift), build(backwards.copy(), shift.contiguous())
    print("layouts:", losses(step, (backwards, shift)) == losses(other, (backwards.copy(), copies[0][1])))
    evaluate = step.evaluator(lambda model, x: model(x))
    print("layouts:", torch.equal(evaluate(images), evaluate(images.contiguous())),
          torch.equal(evaluate(backwards), evaluate(backwards.copy())))


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.ones(4))
        self.register_buffer("y", torch.full((4,), 0.5))

    def forward(self, values):
        return values * self.x + self.y


class Bessel(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return torch.i0(self.inner(x))


if __name__ == "__main__":
    main()
