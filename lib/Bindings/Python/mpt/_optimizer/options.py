# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers of PyTorch as options of --mpt-train-step."""
from __future__ import annotations

import operator
import os
import re
import types
from typing import Any, Callable, Collection, Mapping, Optional, Sequence

import torch
import torch.optim.optimizer as _hooks

from mpt._diagnostics import Error

# What a group may hold that changes the update, by what MPT's ops have.
_REFUSED = {"amsgrad": False, "maximize": False, "dampening": 0}
# One value for all groups.
_SHARED = ("betas", "eps", "momentum", "nesterov", "decoupled_weight_decay")
_FIRST_BETA = "betas[0]"
# Packages whose optimizers hold those of others.
_WRAPPERS = ("accelerate", "lightning", "pytorch_lightning")
# Packages whose optimizers call kernels of their own.
_WITH_KERNELS = ("apex", "bitsandbytes", "deepspeed")
_TORCH_FOLDER = os.path.join(os.path.dirname(torch.__file__), "")
# State of one parameter: the name in torch.optim, which is that in MPT after a dot.
_STATE = {torch.optim.SGD: ("momentum_buffer",), torch.optim.Adam: ("exp_avg", "exp_avg_sq"),
          torch.optim.AdamW: ("exp_avg", "exp_avg_sq")}


def unwrap(optimizer):
    """The optimizer in one of accelerate's or Lightning's, whose step() would do more."""
    while type(optimizer).__module__.partition(".")[0] in _WRAPPERS \
            and isinstance(getattr(optimizer, "optimizer", None), torch.optim.Optimizer):
        optimizer = optimizer.optimizer
    return optimizer


def parts_of(optimizer) -> "list[torch.optim.Optimizer]":
    """The optimizers of a list of some, or the one that there is."""
    return getattr(optimizer, "parts", [optimizer])


def name_of(optimizer) -> str:
    return ", ".join(f"{type(part).__module__}.{type(part).__qualname__}"
                     for part in parts_of(optimizer))


def own_step(optimizer: torch.optim.Optimizer) -> "Optional[Callable[..., Any]]":
    """The function that an optimizer has in place of the step of its class. Schedulers put one
    around either that only counts."""
    step = vars(optimizer).get("step")
    is_counted = hasattr(step, "_wrapped_by_lr_sched")
    function = step.__wrapped__ if is_counted else getattr(step, "__func__", step)
    if function is None or function is type(optimizer).step:
        return None
    if not is_counted and getattr(step, "__self__", None) is not optimizer:
        name = f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"
        raise Error(f"optimizer: {name}: its attribute step is no method of it, so that it "
                    "cannot be traced: set optimizer.step = types.MethodType(function, "
                    "optimizer), or derive a class")
    return function


def has_own_counts(optimizer: torch.optim.Optimizer,
                   parameters: "Sequence[Sequence[torch.Tensor]]") -> bool:
    """Whether these parameters have taken different numbers of steps, as one does that was
    frozen at first."""
    states = [optimizer.state.get(p, {}) for group in parameters for p in group]
    counts = {float(state["step"]) if "step" in state else 0.0 for state in states}
    return len(counts) > 1 and all("step" in state for state in states if state)


def scheduled_options(group: "Mapping[str, Any]") -> "dict[str, float]":
    """The numbers of a group, beside lr, that a scheduler changes: those of OneCycleLR and
    CyclicLR, momentum or the first of betas, which is called "betas[0]" here."""
    if "max_momentum" not in group:
        return {}
    if "betas" in group:
        return {_FIRST_BETA: float(group["betas"][0])}
    return {"momentum": float(group["momentum"])} if "momentum" in group else {}


def set_option(group: "dict[str, Any]", key: str, value: Any) -> None:
    """Sets what `scheduled_options` names, or another option."""
    if key == _FIRST_BETA:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group[key] = value


def _scheduled_sgd(optimizer: torch.optim.Optimizer) -> None:
    """A step of SGD whose momentum is a tensor. PyTorch's asks whether it is 0."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            change = -parameter.grad if group["maximize"] else parameter.grad
            change = change + group["weight_decay"] * parameter
            state = optimizer.state[parameter]
            if state.get("momentum_buffer") is not None:
                mean = state["momentum_buffer"] * group["momentum"] \
                    + (1 - group["dampening"]) * change
            else:
                mean = change.clone()
            state["momentum_buffer"] = mean
            change = change + group["momentum"] * mean if group["nesterov"] else mean
            parameter.sub_(group["lr"] * change)


def run_step(optimizer: torch.optim.Optimizer) -> None:
    """`step` without PyTorch's hooks for profilers around it."""
    if type(optimizer) is torch.optim.SGD and own_step(optimizer) is None and any(
            isinstance(group["momentum"], torch.Tensor) for group in optimizer.param_groups):
        with torch.no_grad():
            _scheduled_sgd(optimizer)
        return
    step = own_step(optimizer) or type(optimizer).step
    while hasattr(step, "__wrapped__") and step.__code__.co_filename.startswith(_TORCH_FOLDER):
        step = step.__wrapped__
    with torch.no_grad():
        step(optimizer)


def copy_optimizer(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """A copy with the same attributes. `copy.copy` would keep those alone that a checkpoint
    has."""
    copied = object.__new__(type(optimizer))
    copied.__dict__.update(optimizer.__dict__)
    copied.__dict__.pop("step", None)
    if (function := own_step(optimizer)) is not None:
        copied.step = types.MethodType(function, copied)
    return copied


class OptimizerList(torch.optim.Optimizer):
    """Several optimizers, each of parameters of its own, as one: its groups are theirs."""

    def __init__(self, parts: "Sequence[torch.optim.Optimizer]"):
        for index, part in enumerate(parts):
            if not isinstance(part, torch.optim.Optimizer):
                raise Error(f"optimizer[{index}]: expected a torch.optim.Optimizer, found "
                            f"{type(part).__name__}")
        if not parts:
            raise Error("optimizer: expected one or more, found an empty list")
        try:
            super().__init__([group for part in parts for group in part.param_groups], {})
        except ValueError as error:
            raise Error(f"optimizer: {error}") from error
        self.parts = list(parts)
        for part in parts:
            self.state.update(part.state)

    def step(self, closure=None):
        start = 0
        for part in self.parts:
            copied = copy_optimizer(part)
            copied.param_groups = self.param_groups[start:start + len(part.param_groups)]
            copied.state = self.state
            run_step(copied)
            start += len(copied.param_groups)

    def collect(self) -> None:
        """Takes groups and state that the optimizers have got since, by load_state_dict()."""
        self.param_groups[:] = [group for part in self.parts for group in part.param_groups]
        self.state.clear()
        for part in self.parts:
            self.state.update(part.state)

    def split(self, state: "Mapping[str, Any]") -> "list[dict[str, Any]]":
        """`state`, which `state_dict()` is, for each of the optimizers."""
        result, group, first = [], 0, 0
        for part in self.parts:
            groups = state["param_groups"][group:group + len(part.param_groups)]
            count = sum(len(g["params"]) for g in groups)
            result.append({
                "state": {i - first: state["state"][i] for i in range(first, first + count)
                          if i in state["state"]},
                "param_groups": [{**g, "params": [i - first for i in g["params"]]}
                                 for g in groups]})
            group, first = group + len(groups), first + count
        return result

    def load_state_dict(self, state_dict) -> None:
        if len(state_dict) != len(self.parts):
            raise Error(f"the optimizers' state: expected a list of {len(self.parts)}, found "
                        f"{len(state_dict)}")
        for part, state in zip(self.parts, state_dict):
            part.load_state_dict(state)
        self.collect()
        for part in self.parts:
            part.state.clear()


def _freeze(value):
    """`value` as it is now, to be compared later."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), tuple(value.detach().flatten().tolist())
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(v) for v in value)
    if isinstance(value, dict):
        return tuple((k, _freeze(v)) for k, v in value.items())
    return value


class OptimizerReader:
    """What MPT does in place of `optimizer.step()`.

    `groups` holds for each of `param_groups` the names of its parameters that train.
    `traced` is a TracedOptimizer where MPT has no op that does the same, else None.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, names: "Mapping[int, str]",
                 trained: "Collection[str]"):
        self.optimizer = optimizer
        self.groups: "list[list[str]]" = []
        parameters: "list[list[torch.Tensor]]" = []
        for index, group in enumerate(optimizer.param_groups):
            members = []
            for parameter in group["params"]:
                if id(parameter) not in names:
                    raise Error(
                        f"optimizer.param_groups[{index}]: a parameter of shape "
                        f"{list(parameter.shape)} is none of the model's; make the "
                        "optimizer from model.parameters()")
                if parameter.requires_grad and names[id(parameter)] in trained:
                    members.append(parameter)
            parameters.append(members)
            self.groups.append([names[id(p)] for p in members])
        for index, group in enumerate(optimizer.param_groups):
            if not isinstance(group.get("lr"), (int, float, torch.Tensor)):
                raise Error(f"optimizer.param_groups[{index}]: expected a number as lr, found "
                            f"{group.get('lr')!r}" + (
                                "; give it one, as Adafactor(.., lr=1e-3, relative_step=False)"
                                if group.get("lr") is None else ""))
        for part in self._parts:
            if type(part).__module__.partition(".")[0] in _WITH_KERNELS:
                raise Error(
                    f"optimizer: {name_of(part)}: its step is a kernel of its package, which no step "
                    "can contain: take that of torch.optim or timm.optim, and TrainStep's "
                    "optimizer_state=\"block8\" for moments of 8 bits")
        if not any(self.groups):
            raise Error("optimizer: expected parameters with requires_grad that the loss depends "
                        "on, found none")
        self.traced = None
        self._check_hooks()
        self._own_steps = list(map(own_step, self._parts))
        if not self._has_op() or has_own_counts(optimizer, parameters):
            from mpt._optimizer.traced import TracedOptimizer
            self.traced = TracedOptimizer(optimizer, parameters, self.groups, self.rate_names())
        # Options as they are now; schedulers add others.
        self._options = [set(g) - {"params", "lr", "initial_lr"} for g in optimizer.param_groups]
        self._parameters = [list(g["params"]) for g in optimizer.param_groups]
        self.compiled = [self._constants(i) for i in range(len(optimizer.param_groups))]

    def _has_op(self) -> bool:
        """Whether MPT has an op for such an optimizer with these options."""
        groups = self.optimizer.param_groups
        return type(self.optimizer) in _STATE and not any(self._own_steps) \
            and not any(map(scheduled_options, groups)) and all(
            all(group.get(option, value) == value for option, value in _REFUSED.items())
            and all(group.get(option) == groups[0].get(option) for option in _SHARED)
            for group in groups)

    def _constants(self, index: int) -> "tuple":
        """What is compiled into a step."""
        group = self.optimizer.param_groups[index]
        if self.traced:
            changed = {*self.state_of_group(index), *self.traced.scheduled[index]}
            return tuple((key, _freeze(group.get(key)[1:] if key == "betas"
                                       and _FIRST_BETA in changed else group.get(key)))
                         for key in sorted(self._options[index]) if key not in changed)
        return (group["weight_decay"], group.get("momentum"), group.get("betas"),
                group.get("eps"), group.get("nesterov"))

    @property
    def _parts(self) -> "Sequence[torch.optim.Optimizer]":
        return getattr(self.optimizer, "parts", [self.optimizer])

    def _check_hooks(self) -> None:
        for part in self._parts:
            # Classes that hold another optimizer may have none of these.
            if any(getattr(part, f"_optimizer_step_{which}_hooks", None)
                   for which in ("pre", "post")):
                raise Error(f"optimizer: {type(part).__module__}.{type(part).__qualname__}: it has "
                            "hooks of its step, which a compiled step does not call; remove them")
        if _hooks._global_optimizer_pre_hooks or _hooks._global_optimizer_post_hooks:
            raise Error("optimizer: there are hooks of all optimizers' steps, which a compiled "
                        "step does not call; remove them")

    def first_value(self, name: str, like) -> torch.Tensor:
        """Of state before the first step."""
        return self.traced.first[name] if self.traced else torch.zeros(tuple(like.shape))

    @property
    def is_first(self) -> str:
        """The state that says whether the next step is the first one."""
        return self.traced.IS_FIRST if self.traced else ""

    def check_constants(self) -> None:
        """Raises if what is compiled in has changed since."""
        self._check_hooks()
        if list(map(own_step, self._parts)) != self._own_steps:
            raise Error("optimizer: its attribute step has changed since the step was made, which "
                        "is compiled; make a new TrainStep, after step.sync_to(model)")
        if len(self.optimizer.param_groups) != len(self.compiled):
            raise Error(
                f"optimizer.param_groups: expected the {len(self.compiled)} that the step was "
                f"made with, found {len(self.optimizer.param_groups)}; make a new TrainStep, "
                "after step.sync_to(model)")
        for index, group in enumerate(self.optimizer.param_groups):
            own, now = self._parameters[index], group["params"]
            if len(own) != len(now) or not all(map(operator.is_, own, now)):
                raise Error(
                    f"optimizer.param_groups[{index}]: its parameters have changed since the step "
                    "was made; make a new TrainStep, after step.sync_to(model)")
        for index in range(len(self.compiled)):
            if self._constants(index) != self.compiled[index]:
                what = "all options but lr" if self.traced else \
                    "weight_decay, momentum, betas, eps and nesterov"
                raise Error(
                    f"optimizer.param_groups[{index}]: {what} are compiled into the step, and "
                    "one of them has changed; only lr may, and the momentum of OneCycleLR and "
                    "CyclicLR if the scheduler is made before the step")

    def state_of(self, parameter: str) -> "dict[str, tuple[str, type]]":
        """By the key in `optimizer.state`: the name of a parameter's state, and the type of
        what stands there. The count of steps is "step"."""
        if self.traced:
            return self.traced.keys[parameter]
        kind = type(self.optimizer)
        if kind is torch.optim.SGD and not self.optimizer.param_groups[0]["momentum"]:
            return {}
        names = {key: (f"{parameter}.{key}", torch.Tensor) for key in _STATE[kind]}
        return names if kind is torch.optim.SGD else {**names, "step": ("step", torch.Tensor)}

    def state_of_group(self, index: int) -> "dict[str, tuple[str, type]]":
        """The same for what a step changes in one of `param_groups`."""
        return self.traced.group_keys[index] if self.traced else {}

    def scheduled(self) -> "list[tuple[str, float]]":
        """Names of state that holds what schedulers change beside rates, and its values."""
        if not self.traced or not any(self.traced.scheduled):
            return []
        values = []
        for group, names in zip(self.optimizer.param_groups, self.traced.scheduled):
            now = scheduled_options(group)
            values += [(name, now[key]) for key, name in names.items()]
        return values

    def rate_names(self) -> "list[str]":
        """The state that holds each group's learning rate; empty for groups without
        parameters."""
        names, count = [], 0
        first = next(i for i, members in enumerate(self.groups) if members)
        for index, members in enumerate(self.groups):
            if index == first:
                names.append("lr")
            elif members:
                names.append(f"lr.group{count}")
                count += 1
            else:
                names.append("")
        return names

    def pattern(self, index: int) -> str:
        """A regular expression for the parameters of a group."""
        return "^(" + "|".join(_escape(name) for name in self.groups[index]) + ")$"

    def patterns(self) -> "list[str]":
        """Those of the groups after the first."""
        used = [i for i, members in enumerate(self.groups) if members]
        return [self.pattern(i) for i in used[1:]]

    def pass_options(self) -> "list[str]":
        """Options of --mpt-train-step."""
        groups = self.optimizer.param_groups
        used = [i for i, members in enumerate(self.groups) if members]
        first = groups[used[0]]
        kind = type(self.optimizer)
        if self.traced:
            rates = [f"{self.pattern(i)}={float(groups[i]['lr'])!r}" for i in used[1:]]
            return [f"optimizer=@{self.traced.FUNCTION}", f"lr={float(first['lr'])!r}",
                    *(["lr-groups=" + ",".join(rates)] if rates else [])]
        if kind is torch.optim.SGD:
            options = ["optimizer=sgd"]
            if first["momentum"]:
                options.append(f"momentum={float(first['momentum'])!r}")
            if first["nesterov"]:
                options.append("nesterov=true")
        else:
            decoupled = kind is torch.optim.AdamW or first.get("decoupled_weight_decay")
            beta1, beta2 = (float(b) for b in first["betas"])
            options = [f"optimizer={'adamw' if decoupled else 'adam'}", f"beta1={beta1!r}",
                       f"beta2={beta2!r}", f"eps={float(first['eps'])!r}"]
        options.append(f"lr={float(first['lr'])!r}")
        options += [f"weight-decay={float(first['weight_decay'])!r}", "decay=all"]
        rates, decays = [], []
        for index in used[1:]:
            pattern = self.pattern(index)
            rates.append(f"{pattern}={float(groups[index]['lr'])!r}")
            if groups[index]["weight_decay"] != first["weight_decay"]:
                decays.append(f"{pattern}={float(groups[index]['weight_decay'])!r}")
        if rates:
            options.append("lr-groups=" + ",".join(rates))
        if decays:
            options.append("decay-groups=" + ",".join(decays))
        return options


def _escape(name: str) -> str:
    """`name` as a regular expression without backslashes, which options would eat."""
    return re.sub(r"([.^$*+?(){}|\\\[\]])", r"[\1]", name)
