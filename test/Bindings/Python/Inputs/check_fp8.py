"""TrainStep(fp8=) and train_step(fp8=, optimizer_state=): check_fp8.py FOLDER"""
import os
import sys
import warnings

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy
import torch
from torch import nn
from torch.nn import functional as F

import mpt
import mpt.jax
import mpt.torch

folder, = sys.argv[1:]
torch.manual_seed(0)
x, y = torch.randn(32, 128), torch.randint(0, 10, (32,))


def make_model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10))


def make(fp8, precision="f32"):
    model = make_model()
    return mpt.torch.TrainStep(model, lambda model, x, y: F.cross_entropy(model(x), y),
                               torch.optim.AdamW(model.parameters(), lr=1e-3), (x, y),
                               precision=precision, fp8=fp8, threads=1)


def train(step, steps):
    return [float(step(x, y).loss) for _ in range(steps)]


def quantize(value, rows, columns):
    """Blocks of E4M3 with the smallest power of two that keeps their largest number in range."""
    height, width = value.shape
    blocks = value.double().reshape(height // rows, rows, width // columns, columns)
    scale = torch.exp2(torch.ceil(torch.log2(blocks.abs().amax((1, 3), keepdim=True) / 448)))
    return ((blocks / scale).float().to(torch.float8_e4m3fn).double() * scale).reshape(value.shape)


# The first loss in f64: the hidden layer reads 8 bits, the head does not.
model = make_model()
hidden = quantize(x, 1, 128) @ quantize(model[0].weight, 128, 128).T + model[0].bias.double()
logits = F.relu(hidden) @ model[2].weight.double().T + model[2].bias.double()
expected, plain = F.cross_entropy(logits, y).item(), train(make(None), 1)[0]
found = train(make("deepseek"), 1)[0]
print("deepseek:", abs(found - expected) < 2e-6, "rounds:", abs(plain - expected) > 1e-4)

for recipe in ("delayed history=16", "current", "deepseek", "mxfp8"):
    for precision in ("f32", "bf16", "f16"):
        losses, like = train(make(recipe, precision), 20), train(make(None, precision), 20)
        print(recipe, precision, "trains:", losses[-1] < 0.5 * losses[0],
              abs(losses[-1] - like[-1]) < 0.05)
    path = os.path.join(folder, "step.safetensors")
    first, rest = make(recipe), make(recipe)
    begun = train(first, 3)
    first.save(path)
    rest.load(path)
    print(recipe, "resumed:", begun + train(rest, 3) == train(make(recipe), 6),
          "other rows:", float(rest(x[:16], y[:16]).loss) > 0)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    make("deepseek keep=nowhere")
print("warned:", [str(w.message) for w in caught])


def loss(params, x, y):
    logits = jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()


params = {"w1": model[0].weight.detach().numpy().T, "b1": model[0].bias.detach().numpy(),
          "w2": model[2].weight.detach().numpy().T, "b2": model[2].bias.detach().numpy()}


def make_jax(**options):
    return mpt.jax.train_step(loss, params, (x.numpy(), y.numpy().astype("i")), **options)


def train_jax(step, steps):
    return [float(step(x.numpy(), y.numpy().astype("i")).loss) for _ in range(steps)]


print("jax:", abs(train_jax(make_jax(fp8="deepseek"), 1)[0] - expected) < 2e-6)
narrow, wide = make_jax(optimizer_state="block8"), make_jax()
near = max(abs(a - b) for a, b in zip(train_jax(narrow, 10), train_jax(wide, 10)))
print("jax block8:", narrow.state_bytes < 0.55 * wide.state_bytes, near < 0.02)

for wrong in ("int8", "", 5, "deepseek history=4", "deepseek nope=3", "delayed recipe=current",
              "deepseek keep=("):
    try:
        make(wrong)
        print("NOT REFUSED")
    except mpt.Error as error:
        print("refused:", str(error).splitlines()[0])
try:
    make_jax(optimizer_state=["block8"])
    print("NOT REFUSED")
except mpt.Error as error:
    print("refused:", error)
