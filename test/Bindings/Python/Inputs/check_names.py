"""Parameters, results and tensors of a batch that are called what a training step calls
things of its own: the step is the same as with other names.

  check_names.py FOLDER BIN_DIR
"""
import os
import subprocess
import sys

import mpt.torch
import numpy as np
import torch
from mpt._names import STEP_NAMES
from torch import nn

folder, bin_dir = sys.argv[1:]
OWN = ["lr", "lr_", "learning_rate", "step", "attempt", "seed", "loss", "grad_norm",
       "is_spike", "did_step", "loss_scale", "found_inf", "__metadata__", "x", "input0",
       "output0", "grad"]
# Of modules, which have parameters.
DOTTED = ["mpt.weight", "fp8.scale"]


class Model(nn.Module):
    def __init__(self, names):
        super().__init__()
        torch.manual_seed(1)
        self.names = names
        for name in names:
            at = self
            *modules, leaf = name.split(".")
            for module in modules:
                if not hasattr(at, module):
                    setattr(at, module, nn.Module())
                at = getattr(at, module)
            at.register_parameter(leaf, nn.Parameter(torch.randn(4)))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count.add_(1)
        values = dict(self.named_parameters())
        for name in self.names:
            x = torch.tanh(x * values[name]) + 0.1 * values[name]
        return x


def train(names, key, argument):
    """The model after three steps, with a result `key` and the batch {argument, y}."""
    model = Model(names)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW([{"params": parameters[:5]},
                                   {"params": parameters[5:], "lr": 0.02}], lr=0.1)

    def loss(model, **batch):
        error = model(batch[argument]) - batch["y"]
        return {"loss": error.square().mean(), key: error.abs().max()}

    torch.manual_seed(2)
    batch = {argument: torch.randn(3, 4), "y": torch.randn(3, 4)}
    step = mpt.torch.TrainStep(model, loss, optimizer, batch, precision="f16",
                               clip_norm=1.0, ema=0.9, threads=1,
                               loss_scale="dynamic min-scale=1")
    for _ in range(3):
        result = step(batch)
    return step, result, list(batch.values())


names = OWN + DOTTED
plain = [f"p{index}" for index in range(len(names))]
step, result, batch = train(names, "grad_norm", "step")
other, expected, _ = train(plain, "worst", "inputs")
print("the step:", repr(result) == repr(expected),
      torch.equal(result["grad_norm"], expected["worst"]))


def compare(found, wanted):
    return [torch.equal(found[a], wanted[b]) for a, b in zip(names, plain)].count(True)


print("state:", compare(step.state_dict(), other.state_dict()), "of", len(names),
      compare(step.ema_state_dict(), other.ema_state_dict()))
print("state of the optimizer:", all(
    torch.equal(a["exp_avg_sq"], b["exp_avg_sq"]) for a, b in
    zip(step.optimizer_state_dict()["state"].values(),
        other.optimizer_state_dict()["state"].values())))
print("evaluated:", torch.equal(step.evaluator(lambda model, x: model(x))(batch[0]),
                                other.evaluator(lambda model, x: model(x))(batch[0])))

# The list of names is that of the passes.
users = {tensor.name for tensor in step._first.program.tensors
         if tensor.name in step._first.exported.weights
         or tensor.name in [*step._first.exported.names, *step._first.exported.results]}
added = {tensor.name for tensor in step._first.program.tensors} - users
print("unknown names:", sorted(
    name for name in added if not STEP_NAMES.fullmatch(name)
    and not any(name.startswith(user + ".") for user in users)))

# What a result may be called.
for key in ("lr", "step", "did_step", "ms", "epoch", "mpt.x", "p0", "count.next", "grad.p0",
            "inputs", "__metadata__", "p0.exp_avg"):
    print(key, list(train(plain[:6], key, "inputs")[1].outputs))

# Nor does a tensor of the batch.
step, result, _ = train(plain[:6], "worst", "p0.exp_avg")
print("batch:", step._first.exported.names,
      repr(result) == repr(train(plain[:6], "worst", "inputs")[1]))

# As files.
os.chdir(folder)
model = Model(names)
exported = mpt.torch.export(model, lambda model, step, y: (model(step) - y).square().mean(),
                            batch)
exported.save("loss.mlir", "loss.safetensors")
print("\n".join(line for line in exported.text.splitlines() if " is called " in line))
with open("converted.mlir", "wb") as file:
    subprocess.run([f"{bin_dir}/mpt-opt", "loss.mlir", "--allow-unregistered-dialect",
                    "--mpt-convert-torch"], stdout=file, check=True)
for name, value in zip(exported.names, batch):
    np.save(f"{name}.npy", value.numpy())
subprocess.run([f"{bin_dir}/mpt-run", "converted.mlir", "--init=loss.safetensors",
                *(f"--data={name}={name}.npy" for name in exported.names),
                "--optimizer=adamw", "--lr=0.1", "--steps=3", "--progress=none",
                "--batch=3", "--checkpoint=run.safetensors"], check=True,
               stdout=subprocess.DEVNULL)
from safetensors.torch import load_file
trained = load_file("run.safetensors")
print("trained by mpt-run:", all(
    name in trained and not torch.equal(trained[name], value.detach())
    for name, value in exported.weights.items()))
