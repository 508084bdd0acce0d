"""One timed training step of JAX: jax_models.py MODEL MODE BATCH ROUNDS DEVICE.

The networks of torch_models.py, with the same shapes, and AdamW, in one jitted function whose
state is donated. Parameters are f32; MODE is what the layers are computed in, bf16 or f32.
Prints a JSON line: the median over ROUNDS of a step's milliseconds on the host's clock, and
the mean of that many steps one after the other.
"""

import functools
import json
import os
import statistics
import sys
import time

# The allocator takes memory as it is needed: whether a batch fits does not depend on a share.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy
from jax import lax


class Parameters:
    """What a model asks for, by name: of given values, or the first ones."""

    def __init__(self, values=None, kind=jnp.float32):
        self.values, self.made, self.kind = values, {}, kind

    def __call__(self, name, shape, scale):
        if self.values is not None:
            return self.values[name].astype(self.kind)
        # A scale that is an integer is the value itself.
        random = numpy.random.default_rng(len(self.made))
        self.made[name] = (numpy.full(shape, scale, "f") if isinstance(scale, int) else
                           scale * random.standard_normal(shape, "f"))
        return jnp.asarray(self.made[name], self.kind)


def linear(p, name, x, width):
    inner = x.shape[-1]
    return x @ p(name + ".w", (inner, width), inner ** -0.5) + p(name + ".b", (width,), 0)


def cross_entropy(logits, labels):
    chosen = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(chosen, labels[..., None], -1).mean()


def sincos(p, key, x, sin, cos):
    for i in range(3):
        x = jax.nn.relu(linear(p, f"trunk{i}", x, 150))
    total = 0
    for i, target in enumerate((sin, cos)):
        y = linear(p, f"out{i}", jax.nn.relu(linear(p, f"head{i}", x, 150)), 1)
        total += jnp.square(y.astype(jnp.float32) - target).mean()
    return total


def norm(p, name, x):
    y = x.astype(jnp.float32)
    y = (y - y.mean(-1, keepdims=True)) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
    width = x.shape[-1:]
    return y.astype(x.dtype) * p(name + ".w", width, 1) + p(name + ".b", width, 0)


def attend(p, name, x, heads, causal):
    b, t, c = x.shape
    q, k, v = (linear(p, f"{name}.{part}", x, c).reshape(b, t, heads, c // heads) for part in "qkv")
    # cuDNN's takes 16 bits alone.
    fused = jax.default_backend() == "gpu" and x.dtype == jnp.bfloat16
    y = jax.nn.dot_product_attention(q, k, v, is_causal=causal, implementation="cudnn" if fused else None)
    return linear(p, f"{name}.proj", y.reshape(b, t, c), c)


def transformer(p, key, x, y, vocabulary, causal, layers=12, width=768, heads=12):
    def drop(value):
        nonlocal key
        key, own = jax.random.split(key)
        return jnp.where(jax.random.bernoulli(own, 0.9, value.shape), value / 0.9, 0).astype(value.dtype)

    x = p("tokens", (vocabulary, width), 0.02)[x] + p("positions", (x.shape[1], width), 0.02)
    for i in range(layers):
        n0, n1 = functools.partial(norm, p, f"{i}.n0"), functools.partial(norm, p, f"{i}.n1")
        mlp = lambda z: linear(p, f"{i}.down", jax.nn.gelu(linear(p, f"{i}.up", z, 4 * width), approximate=causal), width)
        if causal:  # Norms come first, as in GPT-2.
            x = x + attend(p, str(i), n0(x), heads, True)
            x = x + mlp(n1(x))
        else:
            x = n0(x + drop(attend(p, str(i), x, heads, False)))
            x = n1(x + drop(mlp(x)))
    return cross_entropy(linear(p, "head", norm(p, "norm", x), vocabulary), y)


def convolve(p, name, x, channels, size, stride):
    fan = x.shape[-1] * size * size
    return lax.conv_general_dilated(x, p(name, (size, size, x.shape[-1], channels), (2 / fan) ** 0.5),
                                    (stride, stride), [(size // 2, size // 2)] * 2,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(p, name, x):
    y = x.astype(jnp.float32)
    mean = y.mean((0, 1, 2))
    y = (y - mean) * lax.rsqrt(jnp.square(y).mean((0, 1, 2)) - jnp.square(mean) + 1e-5)
    width = x.shape[-1:]
    return y.astype(x.dtype) * p(name + ".w", width, 1) + p(name + ".b", width, 0)


def resnet50(p, key, x, y):
    x = jax.nn.relu(batch_norm(p, "norm", convolve(p, "stem", x.astype(p.kind), 64, 7, 2)))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                          [(0, 0), (1, 1), (1, 1), (0, 0)])
    for stage, (count, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for i in range(count):
            name, stride, z = f"{stage}.{i}", 2 if stage and i == 0 else 1, x
            for part, (channels, size, step) in enumerate(((width, 1, 1), (width, 3, stride), (4 * width, 1, 1))):
                z = batch_norm(p, f"{name}.n{part}", convolve(p, f"{name}.c{part}", z, channels, size, step))
                z = jax.nn.relu(z) if part < 2 else z
            if i == 0:
                x = batch_norm(p, f"{name}.ns", convolve(p, f"{name}.cs", x, 4 * width, 1, stride))
            x = jax.nn.relu(z + x)
    return cross_entropy(linear(p, "head", x.mean((1, 2)), 1000), y)


def tokens(context):
    return lambda key, batch: [jax.random.randint(key, (batch, context), 0, 1000)] * 2


def images(key, batch):
    return [jax.random.normal(key, (batch, 224, 224, 3)), jax.random.randint(key, (batch,), 0, 10)]


MODELS = {"sincos": (sincos, lambda key, batch: [jax.random.normal(key, (batch, 1))] * 3),
          "gpt2": (functools.partial(transformer, vocabulary=50304, causal=True), tokens(1024)),
          "bert_base": (functools.partial(transformer, vocabulary=30528, causal=False), tokens(512)),
          "resnet50": (resnet50, images)}


def main(name, mode, batch, rounds, device):
    if device == "cuda" and jax.default_backend() != "gpu":
        sys.exit(f"JAX {jax.__version__} sees no GPU")
    if name not in MODELS:
        sys.exit(f"{name} is not written for JAX")
    model, make = MODELS[name]
    kind = {"bf16": jnp.bfloat16, "f32": jnp.float32}[mode]
    key = jax.random.PRNGKey(1)
    data = make(key, batch)

    made = Parameters()
    jax.eval_shape(lambda *data: model(made, key, *data), *data)
    values = jax.tree.map(jnp.asarray, made.made)

    def loss_of(values, key, data):
        cast = [d.astype(kind) if d.dtype == jnp.float32 and name == "sincos" and i == 0 else d for i, d in enumerate(data)]
        return model(Parameters(values, kind), key, *cast)

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state, data):
        values, m, v, count = state
        count = count + 1
        loss, grads = jax.value_and_grad(loss_of)(values, jax.random.fold_in(key, count), data)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
        a, b = 1 - 0.9 ** count, 1 - 0.999 ** count
        values = jax.tree.map(lambda w, m, v: w * (1 - 1e-4 * 0.01) - 1e-4 * (m / a) / (jnp.sqrt(v / b) + 1e-8), values, m, v)
        return (values, m, v, count), loss

    state = values, jax.tree.map(jnp.zeros_like, values), jax.tree.map(jnp.zeros_like, values), jnp.int32(0)
    for i in range(5):
        state, loss = step(state, data)
        first_loss = float(loss) if i == 0 else first_loss
    jax.block_until_ready(state)
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        state, loss = step(state, data)
        jax.block_until_ready(state)
        times.append(1000 * (time.perf_counter() - begin))
    begin = time.perf_counter()
    for _ in range(rounds):
        state, loss = step(state, data)
    jax.block_until_ready(state)
    found = {"ms": statistics.median(times), "fastest_ms": min(times),
             "together_ms": 1000 * (time.perf_counter() - begin) / rounds, "jax_version": jax.__version__,
             "loss": [first_loss, float(loss)], "device": jax.devices()[0].device_kind}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
