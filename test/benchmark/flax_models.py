"""The networks of networks.py in flax (linen), written as flax's own examples write them.

MODELS: name -> (module of a dtype, inputs, classes). Parameters are in f32, and the module
computes in its dtype. `load` gives the loss of a network in f32, which does not update batch
norm's running statistics; `Step` trains one in JAX as its users do.
"""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy
import optax
import safetensors.numpy
from flax import linen as nn

PASSES = "mpt-convert-stablehlo,canonicalize,cse"
INIT = nn.initializers.normal(0.02)


class Typed(nn.Module):
    dtype: Any = jnp.float32

    def dense(self, width):
        return nn.Dense(width, kernel_init=INIT, dtype=self.dtype)

    def layer_norm(self, x):
        return nn.LayerNorm(dtype=self.dtype)(x)

    def batch_norm(self, x):
        return nn.BatchNorm(use_running_average=False, momentum=0.9, epsilon=1e-5,
                            dtype=self.dtype)(x)

    def conv(self, x, width, kernel=3, stride=1, bias=False):
        return nn.Conv(width, (kernel,) * 2, (stride,) * 2, use_bias=bias, dtype=self.dtype,
                       padding=[(kernel // 2,) * 2] * 2)(x)

    def attention(self, x, heads, mask=None):
        return nn.MultiHeadDotProductAttention(heads, kernel_init=INIT, dtype=self.dtype)(
            x, mask=mask)


class MLP(Typed):
    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.relu(nn.Dense(1024, dtype=self.dtype)(x))
        return nn.Dense(10, dtype=self.dtype)(x)


class MNIST(Typed):
    @nn.compact
    def __call__(self, x):
        for width in (32, 64):
            x = nn.max_pool(nn.relu(self.conv(x, width, bias=True)), (2, 2), (2, 2))
        x = nn.relu(nn.Dense(128, dtype=self.dtype)(x.reshape(x.shape[0], -1)))
        return nn.Dense(10, dtype=self.dtype)(x)


class GPT(Typed):
    layers: int = 4
    width: int = 256
    heads: int = 4
    vocabulary: int = 8192
    positions: int = 256

    @nn.compact
    def __call__(self, tokens):
        table = nn.Embed(self.vocabulary, self.width, embedding_init=INIT, dtype=self.dtype)
        places = self.param("positions", INIT, (self.positions, self.width))
        x = table(tokens) + places[:tokens.shape[1]].astype(self.dtype)
        mask = nn.make_causal_mask(tokens)
        for _ in range(self.layers):
            x = x + self.attention(self.layer_norm(x), self.heads, mask)
            y = nn.gelu(self.dense(4 * self.width)(self.layer_norm(x)))
            x = x + self.dense(self.width)(y)
        return table.attend(self.layer_norm(x))


class BERT(Typed):
    layers: int = 12
    width: int = 768
    heads: int = 12
    vocabulary: int = 30522
    positions: int = 512

    @nn.compact
    def __call__(self, tokens):
        def embed(size, ids):
            return nn.Embed(size, self.width, embedding_init=INIT, dtype=self.dtype)(ids)

        x = embed(self.vocabulary, tokens) + embed(2, jnp.zeros_like(tokens))
        x = x + embed(self.positions, jnp.arange(tokens.shape[1])[None])
        x = self.layer_norm(x)
        for _ in range(self.layers):
            x = self.layer_norm(x + self.attention(x, self.heads))
            y = nn.gelu(self.dense(4 * self.width)(x), approximate=False)
            x = self.layer_norm(x + self.dense(self.width)(y))
        return self.dense(2)(nn.tanh(self.dense(self.width)(x[:, 0])))


class ViT(Typed):
    layers: int = 12
    width: int = 768
    heads: int = 12
    patch: int = 16

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.width, (self.patch,) * 2, (self.patch,) * 2, padding="VALID",
                    kernel_init=INIT, dtype=self.dtype)(x)
        x = x.reshape(x.shape[0], -1, self.width)
        token = self.param("token", nn.initializers.zeros, (1, 1, self.width)).astype(self.dtype)
        x = jnp.concatenate([jnp.tile(token, (x.shape[0], 1, 1)), x], 1)
        x = x + self.param("positions", INIT, (1, x.shape[1], self.width)).astype(self.dtype)
        for _ in range(self.layers):
            x = x + self.attention(self.layer_norm(x), self.heads)
            y = nn.gelu(self.dense(4 * self.width)(self.layer_norm(x)), approximate=False)
            x = x + self.dense(self.width)(y)
        return self.dense(1000)(self.layer_norm(x)[:, 0])


class LSTM(Typed):
    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.RNN(nn.OptimizedLSTMCell(512, dtype=self.dtype))(x)
        return nn.Dense(10, dtype=self.dtype)(x[:, -1])


class ResNet(Typed):
    blocks: tuple = (3, 4, 6, 3)
    bottleneck: bool = True

    @nn.compact
    def __call__(self, x):
        def norm(*arguments):
            return self.batch_norm(self.conv(*arguments))

        x = nn.relu(norm(x, 64, 7, 2))
        x = nn.max_pool(x, (3, 3), (2, 2), padding=((1, 1), (1, 1)))
        for stage, blocks in enumerate(self.blocks):
            width = 64 << stage
            for block in range(blocks):
                stride = 2 if stage and block == 0 else 1
                if self.bottleneck:
                    y = nn.relu(norm(x, width, 1))
                    y = nn.relu(norm(y, width, 3, stride))
                    y = norm(y, 4 * width, 1)
                else:
                    y = norm(nn.relu(norm(x, width, 3, stride)), width)
                if x.shape != y.shape:
                    x = norm(x, y.shape[-1], 1, stride)
                x = nn.relu(x + y)
        return nn.Dense(1000, dtype=self.dtype)(jnp.mean(x, axis=(1, 2)))


class UNet(Typed):
    """Transposed convolutions of 2x2 with stride 2 are dense layers, as in networks.py."""

    width: int = 32
    levels: int = 3

    @nn.compact
    def __call__(self, x):
        def convolutions(x, width):
            for _ in range(2):
                x = nn.relu(self.batch_norm(self.conv(x, width)))
            return x

        skipped = []
        for level in range(self.levels):
            skipped.append(convolutions(x, self.width << level))
            x = nn.max_pool(skipped[-1], (2, 2), (2, 2))
        x = convolutions(x, self.width << self.levels)
        for level in reversed(range(self.levels)):
            n, height, width, _ = x.shape
            outputs = self.width << level
            x = nn.Dense(4 * outputs, dtype=self.dtype)(x)
            x = x.reshape(n, height, width, 2, 2, outputs).transpose(0, 1, 3, 2, 4, 5)
            x = x.reshape(n, 2 * height, 2 * width, outputs)
            x = convolutions(jnp.concatenate([x, skipped[level]], 3), outputs)
        return nn.Dense(4, dtype=self.dtype)(x)


class GAT(Typed):
    """Graph attention with a softmax over the edges of each node, by maxima of segments."""

    edges: int = 10556
    heads: int = 8
    width: int = 8

    @nn.compact
    def __call__(self, x):
        nodes = x.shape[0]
        ids = numpy.random.default_rng(2).integers(nodes, size=(2, self.edges))
        senders, receivers = numpy.concatenate([ids, [numpy.arange(nodes)] * 2], 1).astype("i")
        for heads, width in (self.heads, self.width), (1, 7):
            h = nn.Dense(heads * width, use_bias=False, dtype=self.dtype)(x)
            h = h.reshape(nodes, heads, width)
            ends = [nn.Dense(1, use_bias=False, dtype=self.dtype)(h)[..., 0] for _ in range(2)]
            score = nn.leaky_relu(ends[0][senders] + ends[1][receivers], 0.2)
            largest = jax.ops.segment_max(score, receivers, nodes)
            weight = jnp.exp(score - largest[receivers])
            total = jax.ops.segment_sum(weight, receivers, nodes)
            weight = weight / total[receivers]
            x = jax.ops.segment_sum(weight[..., None] * h[senders], receivers, nodes)
            x = nn.elu(x.reshape(nodes, -1)) if heads > 1 else x[:, 0]
        return x


def trained(model, x, labels):
    """The loss of a model on batches like `x`, with labels below `labels`."""
    variables = model.init(jax.random.key(0), x)
    rest = {name: value for name, value in variables.items() if name != "params"}
    y = targets(model, x, labels)

    def loss(params, x, y):
        logits = model.apply({"params": params, **rest}, x, mutable=list(rest))[0]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return loss, variables["params"], (x, y)


def targets(model, x, labels):
    """One for each token, place or batch row."""
    shape = {GPT: x.shape, UNet: x.shape[:3]}.get(type(model), x.shape[:1])
    return numpy.random.default_rng(0).integers(labels, size=shape).astype("i")


class Step:
    """One training step of JAX, jitted with its state donated, as a function without arguments.

    Parameters, the optimizer's state and the loss are in f32 and batch norm's running
    statistics are updated; the network computes in `dtype`.
    """

    def __init__(self, name, dtype, optimizer):
        start = time.perf_counter()
        make, inputs, labels = MODELS[name]
        model, x = make(dtype), inputs()
        self.batch = jax.device_put((x, targets(model, x, labels)))
        variables = jax.jit(model.init)(jax.random.key(0), x)
        params = variables.pop("params")
        self.parameters = sum(value.size for value in jax.tree.leaves(params))
        self.state = params, variables, jax.jit(optimizer.init)(params)

        def loss(params, rest, x, y):
            logits, rest = model.apply({"params": params, **rest}, x, mutable=list(rest))
            return optax.softmax_cross_entropy_with_integer_labels(
                logits.astype(jnp.float32), y).mean(), rest

        def step(state, x, y):
            params, rest, slots = state
            (value, rest), gradients = jax.value_and_grad(loss, has_aux=True)(params, rest, x, y)
            updates, slots = optimizer.update(gradients, slots, params)
            return (optax.apply_updates(params, updates), rest, slots), value

        self.step = jax.jit(step, donate_argnums=0)
        self()
        # Seconds from the model to the end of the first step, compilation included.
        self.first = time.perf_counter() - start

    def __call__(self):
        self.state, value = self.step(self.state, *self.batch)
        return float(value)


def words(size, *shape):
    return numpy.random.default_rng(1).integers(size, size=shape).astype("i")


def numbers(*shape):
    return numpy.random.default_rng(1).normal(size=shape).astype("f")


MODELS = {
    "mlp": (MLP, lambda: numbers(64, 784), 10),
    "mnist": (MNIST, lambda: numbers(64, 28, 28, 1), 10),
    "gat": (GAT, lambda: numbers(2708, 64), 7),
    "lstm512": (LSTM, lambda: numbers(64, 64, 512), 10),
    "unet64": (UNet, lambda: numbers(16, 64, 64, 1), 4),
    "gpt256": (GPT, lambda: words(8192, 4, 256), 8192),
    "gpt2": (lambda dtype: GPT(dtype, 12, 768, 12, 50257, 1024), lambda: words(50257, 1, 512), 50257),
    "bert-base": (BERT, lambda: words(30522, 4, 128), 2),
    "vit-b16": (ViT, lambda: numbers(4, 224, 224, 3), 1000),
    "resnet18-32": (lambda dtype: ResNet(dtype, (2, 2, 2, 2), False), lambda: numbers(64, 32, 32, 3), 1000),
    "resnet18-224": (lambda dtype: ResNet(dtype, (2, 2, 2, 2), False), lambda: numbers(8, 224, 224, 3), 1000),
    "resnet50-32": (ResNet, lambda: numbers(32, 32, 32, 3), 1000),
    "resnet50-224": (ResNet, lambda: numbers(8, 224, 224, 3), 1000),
}


class Weights:
    """First values of the parameters, by the names that the conversion gives them."""

    def __init__(self, params):
        self.params = params

    def save(self, _, path):
        leaves = jax.tree_util.tree_leaves_with_path(self.params)
        safetensors.numpy.save_file(
            {".".join(["params", *(key.key for key in keys)]): numpy.ascontiguousarray(value)
             for keys, value in leaves}, path)


def loss_of(name):
    """loss(params, x, y) in f32, the parameters, and a batch (x, y)."""
    make, inputs, labels = MODELS[name]
    return trained(make(jnp.float32), inputs(), labels)


def load(name):
    """The loss as text, the batch, and what saves the weights."""
    loss, params, batch = loss_of(name)
    module = jax.jit(loss, keep_unused=True).lower(params, *batch).compiler_ir("stablehlo")
    return (module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True),
            batch, Weights(params))
