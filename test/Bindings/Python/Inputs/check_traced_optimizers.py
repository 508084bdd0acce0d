"""Optimizers without an op of MPT, whose step is traced: parameters and state after some steps
equal PyTorch's in f64, as closely as PyTorch's in f32 do, times 8."""
import copy
import math
import os
import tempfile
import warnings

import torch
from torch import nn, optim
from torch.nn import functional as F

import mpt
import mpt.torch

warnings.filterwarnings("ignore")
STEPS, CHANGE = 6, 3


class Lion(optim.Optimizer):
    """Chen et al. 2023, as many write it: the state comes with the first step."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                average, (beta1, beta2) = state["exp_avg"], group["betas"]
                update = average.clone().mul_(beta1).add(p.grad, alpha=1 - beta1).sign_()
                p.add_(update, alpha=-group["lr"])
                average.mul_(beta2).add_(p.grad, alpha=1 - beta2)


class Counting(optim.Optimizer):
    """Numbers of Python: a count, math.sqrt of it, max, an average in the group, and state that
    begins as the first gradient."""

    def __init__(self, params, lr=1e-2):
        super().__init__(params, {"lr": lr, "size": 0.0})
        self.least = 0.01

    def step(self, closure=None):
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if "count" not in state:
                        state["count"] = 0
                        state["before"] = p.grad.clone()
                    state["count"] += 1
                    correction = math.sqrt(1 - 0.9 ** state["count"])
                    size = max(self.least, p.grad.norm().item())
                    group["size"] = 0.5 * group["size"] + 0.5 * size
                    p.sub_((p.grad + state["before"]) / (correction * (1 + group["size"])),
                           alpha=group["lr"])
                    state["before"] = 0.5 * state["before"] + 0.5 * p.grad


class Derived(optim.Adamax):
    """With a constant of its own, and attributes of parameters."""

    def __init__(self, params, lr):
        super().__init__(params, lr)
        self.scale = torch.tensor(0.5)

    def step(self, closure=None):
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    p.grad.mul_(self.scale * getattr(p, "gradient_scale", 1.0))
        return super().step()


class Peak(optim.Optimizer):
    """A number that changes now and then."""

    def __init__(self, params, lr=1e-2):
        super().__init__(params, {"lr": lr, "peak": 100.0})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                group["peak"] = max(group["peak"], p.grad.abs().sum().item() * 1e3)
                p.sub_(p.grad / group["peak"], alpha=100 * group["lr"])


class ByPlace(optim.Optimizer):
    """Tells parameters of one shape apart, by attributes, places and their number."""

    def __init__(self, params, lr=1e-2):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for i, p in enumerate(group["params"]):
                scale = self.scale(i, p, len(group["params"]))
                p.sub_(p.grad, alpha=group["lr"] * scale)

    def scale(self, i, p, count):
        return (i + 1) / count


class ById(ByPlace):
    def __init__(self, params, lr=1e-2):
        super().__init__(params, lr)
        listed = self.param_groups[0]["params"]
        self.fast = {id(p) for p in listed[::2]}
        self.rates = {id(p): 1.0 + i for i, p in enumerate(listed)}

    def scale(self, i, p, count):
        return self.rates[id(p)] * (2 if id(p) in self.fast else 1)


class ByKey(ByPlace):
    def __init__(self, params, lr=1e-2):
        super().__init__(params, lr)
        self.rates = {p: 1.0 + i for i, p in enumerate(self.param_groups[0]["params"])}

    def scale(self, i, p, count):
        return self.rates[p]


class ByAttribute(ByPlace):
    def scale(self, i, p, count):
        return p.rate


def plain():
    """Layers of one shape."""
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(5, 5) for _ in range(3)), nn.Linear(5, 1))


def alike():
    model = plain()
    for i, parameter in enumerate(model.parameters()):
        parameter.rate = 1.0 + i
    return model


class OfEach(optim.Optimizer):
    """Calls `update` for each parameter."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                self.update(p, self.state[p], group["lr"])


class Deciding(OfEach):
    """Decisions for each parameter by values of its own, as of AdamP and NovoGrad."""

    def update(self, p, state, lr):
        if not state:
            state["size"] = torch.zeros((), dtype=p.dtype)
        size = p.grad.norm()
        if state["size"] == 0:
            state["size"].copy_(size)
        else:
            state["size"].mul_(0.9).add_(0.1 * size)
        update = p.grad / state["size"]
        if update.sum() > 0.1:
            update = update * 0.5 + 0.01
        p.sub_(update, alpha=lr)


class Together(optim.Optimizer):
    """One decision by all parameters, which changes them all."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr, "limit": 0.5, "step": 0})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group["step"] += 1
            for p in group["params"]:
                if group["step"] == 1:  # The same question for each, as of Xie et al., 2022.
                    p.mul_(0.9)
            total = sum(p.grad.square().sum() for p in group["params"])
            if total > group["limit"] or total < 1e-3:
                for p in group["params"]:
                    p.grad.mul_(0.5 / total.sqrt())
            for p in group["params"]:
                p.sub_(p.grad, alpha=group["lr"])


class Later(OfEach):
    """Another step from the fourth on."""

    def update(self, p, state, lr):
        state["step"] = state.get("step", 0) + 1
        p.sub_(p.grad, alpha=lr)
        if state["step"] > 4:
            p.mul_(0.9)


class BySize(OfEach):
    """Large matrices have state of their own, as in Jordan et al.'s Muon."""

    def update(self, p, state, lr):
        update = p.grad
        if p.numel() > 20:
            rows = state.setdefault("rows", torch.zeros(len(p), dtype=p.dtype))
            rows.add_(p.grad.square().sum(1))
            update = update / (rows.sqrt() + 1)[:, None]
        p.sub_(update, alpha=lr)


class Stateless(OfEach):
    """Taniguchi et al., 2024: its first step is the one that finds no state."""

    def update(self, p, state, lr):
        is_first = len(state) == 0
        if is_first:
            state["square"] = torch.zeros_like(p)
            state["mean"] = torch.zeros_like(p)
        if not is_first:
            p.mul_(1 - 0.1 * lr)
            state["mean"].lerp_(p.grad / state["square"].sqrt().clamp(min=1e-6), 0.1)
            p.sub_(state["mean"], alpha=lr)
        state["square"].mul_(0.9).addcmul_(p.grad, p.grad)


class ScheduleFree(optim.Optimizer):
    """Defazio et al., 2024: counts and sums in the groups, and state that begins as the weights."""

    def __init__(self, params, lr):
        super().__init__(params, {
            "lr": lr, "betas": (0.9, 0.99), "k": 0, "warmup_steps": 3, "weight_sum": 0.0,
            "lr_max": -1.0, "train_mode": True, "weight_decay": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            if not group["train_mode"]:
                raise RuntimeError("not in train mode")
            k, (beta1, beta2) = group["k"], group["betas"]
            rise = (k + 1) / group["warmup_steps"] if k < group["warmup_steps"] else 1.0
            correction = 1 - beta2 ** (k + 1)
            lr = group["lr"] * rise
            most = group["lr_max"] = max(lr, group["lr_max"])
            weight = (k + 1) ** 0.5 * most ** 2.0
            total = group["weight_sum"] = group["weight_sum"] + weight
            try:
                part = weight / total
            except ZeroDivisionError:
                part = 0
            for p in group["params"]:
                state = self.state[p]
                if "z" not in state:
                    state["z"] = torch.clone(p)
                    state["exp_avg_sq"] = torch.zeros_like(p)
                square = state["exp_avg_sq"]
                square.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                update = p.grad.div(square.div(correction).sqrt_().add_(1e-8))
                update.add_(p, alpha=group["weight_decay"])
                p.lerp_(end=state["z"], weight=part)
                p.add_(update, alpha=lr * (beta1 * (1 - part) - 1))
                state["z"].sub_(update, alpha=lr)
            group["k"] = k + 1


@torch.compile
def orthogonal(gradient):
    return gradient / (gradient.norm() + 1e-7)


class Compiled(OfEach):
    """A part of its step is compiled, as in Jordan et al.'s Muon."""

    def update(self, p, state, lr):
        p.sub_(orthogonal(p.grad), alpha=lr)


def network():
    """The last layer's bias has one element."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3, bias=False), nn.Tanh(),
                          nn.Linear(3, 1))
    model[0].weight.gradient_scale = 0.1
    return model


def loss(model, x, y):
    return F.mse_loss(model(x), y)


batches = [(torch.randn(16, 5), torch.randn(16, 1)) for _ in range(STEPS)]


def train(make, dtype, network):
    model = network()
    for parameter in model.parameters():  # model.to drops attributes.
        parameter.data = parameter.data.to(dtype)
    optimizer = make(model)
    for number, (x, y) in enumerate(batches):
        if number == CHANGE:
            for group in optimizer.param_groups:
                group["lr"] *= 0.5
        optimizer.zero_grad()
        loss(model, x.to(dtype), y.to(dtype)).backward()
        optimizer.step()
    return model, optimizer.state_dict()


def flatten(parameters, state):
    values = [p.detach().double().flatten() for p in parameters]
    for key in sorted(state["state"]):
        values += [torch.as_tensor(value).double().flatten()
                   for _, value in sorted(state["state"][key].items()) if value is not None]
    return torch.cat(values)


def check(name, make, precision="f32", network=network):
    exact, single = (flatten(model.parameters(), state) for model, state in
                     (train(make, torch.float64, network), train(make, torch.float32, network)))
    model = network()
    optimizer = make(model)
    step = mpt.torch.TrainStep(model, loss, optimizer, batches[0], precision=precision)
    for number, batch in enumerate(batches):
        if number == CHANGE:
            for group in optimizer.param_groups:
                group["lr"] *= 0.5
            # A checkpoint, and the state as the optimizer would have it, change nothing.
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "state.safetensors")
                step.save(path)
                step.load(path)
            step.load_optimizer_state_dict(step.optimizer_state_dict())
        assert step(*batch).did_step
    step.sync_to(model)
    found = flatten(model.parameters(), step.optimizer_state_dict())
    unit = (exact - single).abs().max() + 2 ** -23 * exact.abs().max()
    error = (found - exact).abs().max()
    bound = 8 * unit if precision == "f32" else 0.05 * exact.abs().max()
    print(name, precision, "equal" if error <= bound else f"{error:.3g} above {bound:.3g}")
    return step


check("RMSprop", lambda m: optim.RMSprop(m.parameters(), 1e-2))
check("RMSprop centered", lambda m: optim.RMSprop(m.parameters(), 1e-2, momentum=0.9, centered=True,
                                                  weight_decay=0.1))
check("Adagrad", lambda m: optim.Adagrad(m.parameters(), 1e-2, lr_decay=0.1,
                                         initial_accumulator_value=0.1))
check("Adadelta", lambda m: optim.Adadelta(m.parameters()))
check("Adamax", lambda m: optim.Adamax(m.parameters()))
check("NAdam", lambda m: optim.NAdam(m.parameters(), weight_decay=0.1, decoupled_weight_decay=True))
check("RAdam", lambda m: optim.RAdam(m.parameters()))
check("ASGD", lambda m: optim.ASGD(m.parameters()))
check("Rprop", lambda m: optim.Rprop(m.parameters()))
check("Adafactor", lambda m: optim.Adafactor(m.parameters()))
check("amsgrad", lambda m: optim.AdamW(m.parameters(), amsgrad=True))
check("dampening", lambda m: optim.SGD(m.parameters(), 1e-2, momentum=0.9, dampening=0.1,
                                       maximize=True))
check("groups", lambda m: optim.Adam([
    {"params": list(m[0].parameters()), "betas": (0.8, 0.9)},
    {"params": [*m[2].parameters(), *m[4].parameters()], "lr": 1e-2, "eps": 1e-6}]))
check("Lion", lambda m: Lion(m.parameters(), 1e-3, weight_decay=0.1))
check("Counting", lambda m: Counting(m.parameters()))
check("Derived", lambda m: Derived(m.parameters(), torch.tensor(1e-2)))
check("Peak", lambda m: Peak(m.parameters()))
check("ByPlace", lambda m: ByPlace(m.parameters()), network=alike)
check("ById", lambda m: ById(m.parameters()), network=plain)
check("ByKey", lambda m: ByKey(m.parameters()), network=plain)
check("ByAttribute", lambda m: ByAttribute(m.parameters()), network=alike)
check("Later", lambda m: Later(m.parameters(), 1e-2))
check("Deciding", lambda m: Deciding(m.parameters(), 1e-2))
check("Together", lambda m: Together(m.parameters(), 1e-2))
check("BySize", lambda m: BySize(m.parameters(), 1e-2))
check("Stateless", lambda m: Stateless(m.parameters(), 1e-2))
check("ScheduleFree", lambda m: ScheduleFree(m.parameters(), 1e-2))
with torch.compiler.set_stance("force_eager"):  # No compiler is needed here.
    check("Compiled", lambda m: Compiled(m.parameters(), 1e-2))
check("NAdam", lambda m: optim.NAdam(m.parameters()), "f16")
check("RMSprop", lambda m: optim.RMSprop(m.parameters(), 1e-3, eps=1e-3), "bf16")
# Its matmuls are of bf16, and their sums have another order.
model = network()
step = mpt.torch.TrainStep(model, loss, optim.Muon([model[0].weight, model[2].weight]), batches[0])
text = step._reader.traced.text
print("Muon", "bf16" in text, step(*batches[0]).did_step)


def in_bf16(model):
    for parameter in model.parameters():  # model.to drops attributes.
        parameter.data = parameter.data.bfloat16()
    return model


def check_masters(name, make):
    """Of a model of bfloat16 the optimizer updates f32 masters: by less than bfloat16 holds."""
    low, masters, model = in_bf16(network()), in_bf16(network()).float(), in_bf16(network())
    first = flatten(masters.parameters(), {"state": {}})
    optimizer = make(masters)
    step = mpt.torch.TrainStep(model, loss, make(model), tuple(t.bfloat16() for t in batches[0]))
    for x, y in batches:
        for parameter, master in zip(low.parameters(), masters.parameters()):
            parameter.data = master.data.bfloat16()
            parameter.grad = None
        loss(low, x.bfloat16(), y.bfloat16()).backward()
        for parameter, master in zip(low.parameters(), masters.parameters()):
            master.grad = parameter.grad.float()
        optimizer.step()
        step(x.bfloat16(), y.bfloat16())
    # state_dict() rounds them to the model's type.
    found = flatten([step._read(n) for n, _ in model.named_parameters()], {"state": {}})
    expected = flatten(masters.parameters(), {"state": {}})
    print(name, "masters:", bool((found - expected).norm() < 0.1 * (expected - first).norm()))


check_masters("RMSprop", lambda m: optim.RMSprop(m.parameters(), 1e-4))
check_masters("NAdam", lambda m: optim.NAdam(m.parameters(), 1e-4))

# Several optimizers, with schedulers of their own.
def build(model):
    optimizers = [optim.RMSprop(model[0].parameters(), 1e-2),
                  optim.AdamW([*model[2].parameters(), *model[4].parameters()], 1e-2)]
    return optimizers, [optim.lr_scheduler.ExponentialLR(o, rate)
                        for o, rate in zip(optimizers, (0.5, 0.9))]


model, again = network(), network()
optimizers, schedulers = build(model)
mine, rates = build(again)
step = mpt.torch.TrainStep(again, loss, mine, batches[0])
for x, y in batches:
    model.zero_grad()
    loss(model, x, y).backward()
    step(x, y)
    for each in (*optimizers, *schedulers, *rates):
        each.step()
    step.load_optimizer_state_dict(step.optimizer_state_dict())
step.sync_to(again)
state = step.optimizer_state_dict()
print("several:", all(torch.allclose(a, b, rtol=1e-5, atol=1e-7)
                      for a, b in zip(model.parameters(), again.parameters())),
      all(torch.allclose(v, state[i]["state"][p][k], rtol=1e-5, atol=1e-7)
          for i, o in enumerate(optimizers) for p, s in o.state_dict()["state"].items()
          for k, v in s.items()))

# Steps that overflow change nothing.
model = network()
step = mpt.torch.TrainStep(model, loss, optim.NAdam(model.parameters()), batches[0],
                           precision="f16", loss_scale="dynamic init-scale=1e30")
before = step.state_dict(), step.optimizer_state_dict()
assert not step(*batches[0]).did_step
after = step.state_dict(), step.optimizer_state_dict()
print("skipped:", all(torch.equal(before[0][k], after[0][k]) for k in before[0]),
      all(torch.equal(v, after[1]["state"][i][k]) for i, state in before[1]["state"].items()
          for k, v in state.items()))

# It goes on from the state that the optimizer has, or that is loaded.
def resume(make, is_loaded):
    model, again = network(), network()
    optimizer = make(model)
    for x, y in batches[:3]:
        optimizer.zero_grad()
        loss(model, x, y).backward()
        optimizer.step()
    again.load_state_dict(model.state_dict())
    resumed, state = make(again), copy.deepcopy(optimizer.state_dict())
    if not is_loaded:
        resumed.load_state_dict(state)
    step = mpt.torch.TrainStep(again, loss, resumed, batches[0])
    if is_loaded:
        step.load_optimizer_state_dict(state)
    for x, y in batches[3:]:
        optimizer.zero_grad()
        loss(model, x, y).backward()
        optimizer.step()
        step(x, y)
    step.sync_to(again)
    return all(torch.allclose(a, b, rtol=1e-5, atol=1e-7)
               for a, b in zip(model.parameters(), again.parameters()))


for make in (lambda m: optim.NAdam(m.parameters()),
             lambda m: optim.SGD(m.parameters(), 0.1, momentum=0.9, dampening=0.3)):
    print("resumed:", resume(make, False), resume(make, True))

# The state of an optimizer that has taken no step is that of the beginning.
model = network()
step = mpt.torch.TrainStep(model, loss, optim.ASGD(model.parameters()), batches[0])
before = step.optimizer_state_dict()
step(*batches[0])
step.load_optimizer_state_dict(optim.ASGD(network().parameters()).state_dict())
after = step.optimizer_state_dict()
print("fresh:", all(torch.equal(v, after["state"][i][k]) for i, s in before["state"].items()
                    for k, v in s.items()))

# Tracing leaves random numbers, gradients and the optimizer as they were.
model = network()
torch.manual_seed(7)
random = torch.rand(3)
torch.manual_seed(7)
model[0].weight.grad = torch.ones(7, 5)
optimizer = optim.RMSprop(model.parameters())
mpt.torch.TrainStep(model, loss, optimizer, batches[0])
print("untouched:", torch.equal(torch.rand(3), random), float(model[0].weight.grad.sum()),
      len(optimizer.state))


class AtFirst(Lion):
    """Its first step is another one, which it knows by its count."""

    def step(self, closure=None):
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["step"], state["mean"] = 0, torch.zeros_like(p)
                    state["step"] += 1
                    if state["step"] == 1:
                        state["mean"].copy_(p.grad)
                    elif state["step"] - 1 >= 1:
                        state["mean"].lerp_(p.grad, 0.1)
                        p.sub_(state["mean"], alpha=group["lr"])


# A checkpoint after the second step goes on with the third.
model, again = network(), network()
optimizer = AtFirst(model.parameters(), 0.1)
step = mpt.torch.TrainStep(again, loss, AtFirst(again.parameters(), 0.1), batches[0])
for number, (x, y) in enumerate(batches):
    model.zero_grad()
    loss(model, x, y).backward()
    optimizer.step()
    if number == 2:
        step.sync_to(again)
        loaded = AtFirst(again.parameters(), 0.1)
        loaded.load_state_dict(step.optimizer_state_dict())
        step = mpt.torch.TrainStep(again, loss, loaded, batches[0])
    step(x, y)
step.sync_to(again)
print("at first:", all(torch.allclose(a, b, rtol=1e-5, atol=1e-7)
                       for a, b in zip(model.parameters(), again.parameters())))


# What cannot be traced.
class Hidden(Lion):
    count = 0

    def step(self, closure=None):
        self.count += 1
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad, alpha=1 / self.count)


class Elsewhere(Lion):
    """Updates what it has listed itself."""

    def __init__(self, params):
        super().__init__(params)
        self.all = [p for group in self.param_groups for p in group["params"]]

    def step(self, closure=None):
        self.last = self.all[0].grad.sum().item()


class Restless(Lion):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                for limit in range(8):
                    if p.grad.sum() > limit:
                        p.data.sub_(p.grad)


class Valued(Lion):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                for _ in range(int(p.grad.abs().sum())):
                    p.data.sub_(p.grad)
                p.data.sub_(p.grad)


def refused(make, model=None, **options):
    model = model or network()
    try:
        mpt.torch.TrainStep(model, loss, make(model), batches[0], **options)
        print("not refused")
    except mpt.Error as error:
        print("refused:", error)


class Sharpness(Lion):
    """Foret et al., 2021: two gradients for a step."""

    def step(self, closure=None):
        torch.enable_grad()(closure)()


class Kernel(Lion):
    __module__ = "bitsandbytes.optim.lion"


class Bare(Lion):
    """Holds another, without a call of the base class."""

    def __init__(self, params):
        self.base = Lion(params)
        self.param_groups, self.state = self.base.param_groups, self.base.state
        self.defaults, self.number = self.base.defaults, 0

    def step(self, closure=None):
        self.base.step()
        self.number += 1


def without_rate(m):
    optimizer = Lion(m.parameters())
    optimizer.param_groups[0]["lr"] = None
    return optimizer


for make in (Restless, Sharpness, Kernel, Bare):
    refused(lambda m: make(m.parameters()))
refused(without_rate)
refused(lambda m: Valued(m.parameters()))
refused(lambda m: Hidden(m.parameters()))
refused(lambda m: Elsewhere(m.parameters()))
refused(lambda m: optim.LBFGS(m.parameters()))
refused(lambda m: [optim.RMSprop(m.parameters()), optim.AdamW([m[2].weight])])
refused(lambda m: [optim.RMSprop(m.parameters()), 0.1])
refused(lambda m: optim.RMSprop(m.parameters()), optimizer_state="bf16")


def hooked(m):
    optimizer = optim.RMSprop(m.parameters())
    optimizer.register_step_post_hook(lambda *_: None)
    return optimizer


refused(hooked)
refused(lambda m: optim.RMSprop(m.parameters()), model=network().double())


# A parameter that is frozen at first has taken fewer steps than the others.
def unfreeze(make, dtype=None):
    model = network() if dtype is None else network().to(dtype)
    model[0].weight.requires_grad_(False)
    optimizer = make(model)
    for number, (x, y) in enumerate(batches):
        if number == CHANGE:
            model[0].weight.requires_grad_(True)
            if dtype is None:
                step.sync_to(model)
                optimizer.load_state_dict(step.optimizer_state_dict())
        if dtype is not None:
            optimizer.zero_grad()
            loss(model, x.to(dtype), y.to(dtype)).backward()
            optimizer.step()
            continue
        if number in (0, CHANGE):
            step = mpt.torch.TrainStep(model, loss, optimizer, (x, y))
        step(x, y)
    if dtype is not None:
        return flatten(model.parameters(), optimizer.state_dict())
    step.sync_to(model)
    state = step.optimizer_state_dict()
    step.load_optimizer_state_dict(state)
    again = step.optimizer_state_dict()
    print("counts:", *sorted({float(s["step"]) for s in state["state"].values()}),
          torch.equal(flatten([], state), flatten([], again)))
    return flatten(model.parameters(), state)


for make in (lambda m: optim.AdamW(m.parameters(), 1e-2),
             lambda m: optim.NAdam(m.parameters(), 1e-2),
             lambda m: optim.RMSprop(m.parameters(), 1e-2)):
    exact, single, found = (unfreeze(make, d) for d in (torch.float64, torch.float32, None))
    bound = 8 * ((exact - single).abs().max() + 2 ** -23 * exact.abs().max())
    print("unfrozen:", bool((found - exact).abs().max() <= bound))
model = network()
optimizer = optim.AdamW(model.parameters())
step = mpt.torch.TrainStep(model, loss, optimizer, batches[0])
model[0].weight.grad = None
loss(model, *batches[0]).backward()
model[0].weight.grad = None
optimizer.step()
step.load_state_dict(model.state_dict())
try:
    step(*batches[0])
except mpt.Error as error:
    print("refused:", error)


# State of other types.
class Typed(Lion):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p, dtype=torch.bfloat16)
                    state["count"] = torch.zeros((), dtype=torch.int64)
                state["count"] += 1
                state["mean"].mul_(0.9).add_(p.grad.bfloat16())
                p.sub_(state["mean"].float(), alpha=group["lr"])


model = network()
step = mpt.torch.TrainStep(model, loss, Typed(model.parameters()), batches[0])
step(*batches[0])
state = step.optimizer_state_dict()["state"][0]
print("types:", state["mean"].dtype, state["count"].dtype, int(state["count"]))

model = network()
optimizer = optim.RMSprop(model.parameters(), 1e-2)
step = mpt.torch.TrainStep(model, loss, optimizer, batches[0])
optimizer.param_groups[0]["alpha"] = 0.5
try:
    step(*batches[0])
except mpt.Error as error:
    print("refused:", error)
