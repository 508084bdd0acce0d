"""The networks of networks.py in flax (linen): name -> (loss(params, x, y), params, (x, y)).

Written as flax's own examples write them. Batch norm's running statistics are not updated.
"""

import jax
import jax.numpy as jnp
import numpy
import optax
import safetensors.numpy
from flax import linen as nn

PASSES = "mpt-convert-stablehlo,canonicalize,cse"
INIT = nn.initializers.normal(0.02)


def dense(width):
    return nn.Dense(width, kernel_init=INIT)


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.relu(nn.Dense(1024)(x))
        return nn.Dense(10)(x)


class GPT(nn.Module):
    layers: int = 4
    width: int = 256
    heads: int = 4
    vocabulary: int = 8192
    positions: int = 256

    @nn.compact
    def __call__(self, tokens):
        table = nn.Embed(self.vocabulary, self.width, embedding_init=INIT)
        places = self.param("positions", INIT, (self.positions, self.width))
        x = table(tokens) + places[:tokens.shape[1]]
        mask = nn.make_causal_mask(tokens)
        for _ in range(self.layers):
            x = x + nn.MultiHeadDotProductAttention(self.heads, kernel_init=INIT)(
                nn.LayerNorm()(x), mask=mask)
            x = x + dense(self.width)(nn.gelu(dense(4 * self.width)(nn.LayerNorm()(x))))
        return table.attend(nn.LayerNorm()(x))


class BERT(nn.Module):
    layers: int = 12
    width: int = 768
    heads: int = 12
    vocabulary: int = 30522
    positions: int = 512

    @nn.compact
    def __call__(self, tokens):
        def embed(size, ids):
            return nn.Embed(size, self.width, embedding_init=INIT)(ids)

        x = embed(self.vocabulary, tokens) + embed(2, jnp.zeros_like(tokens))
        x = x + embed(self.positions, jnp.arange(tokens.shape[1])[None])
        x = nn.LayerNorm()(x)
        for _ in range(self.layers):
            x = nn.LayerNorm()(
                x + nn.MultiHeadDotProductAttention(self.heads, kernel_init=INIT)(x))
            y = dense(self.width)(nn.gelu(dense(4 * self.width)(x), approximate=False))
            x = nn.LayerNorm()(x + y)
        return dense(2)(nn.tanh(dense(self.width)(x[:, 0])))


class ViT(nn.Module):
    layers: int = 12
    width: int = 768
    heads: int = 12
    patch: int = 16

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.width, (self.patch,) * 2, (self.patch,) * 2, padding="VALID",
                    kernel_init=INIT)(x)
        x = x.reshape(x.shape[0], -1, self.width)
        token = self.param("token", nn.initializers.zeros, (1, 1, self.width))
        x = jnp.concatenate([jnp.tile(token, (x.shape[0], 1, 1)), x], 1)
        x = x + self.param("positions", INIT, (1, x.shape[1], self.width))
        for _ in range(self.layers):
            x = x + nn.MultiHeadDotProductAttention(self.heads, kernel_init=INIT)(
                nn.LayerNorm()(x))
            y = dense(4 * self.width)(nn.LayerNorm()(x))
            x = x + dense(self.width)(nn.gelu(y, approximate=False))
        return dense(1000)(nn.LayerNorm()(x)[:, 0])


class LSTM(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.RNN(nn.OptimizedLSTMCell(512))(x)
        return nn.Dense(10)(x[:, -1])


class ResNet50(nn.Module):
    @nn.compact
    def __call__(self, x):
        def norm(x):
            return nn.BatchNorm(use_running_average=False, momentum=0.9, epsilon=1e-5)(x)

        def conv(x, width, kernel, stride=1):
            return nn.Conv(width, (kernel,) * 2, (stride,) * 2, use_bias=False,
                           padding=[(kernel // 2,) * 2] * 2)(x)

        x = nn.relu(norm(conv(x, 64, 7, 2)))
        x = nn.max_pool(x, (3, 3), (2, 2), padding=((1, 1), (1, 1)))
        for stage, blocks in enumerate((3, 4, 6, 3)):
            width = 64 << stage
            for block in range(blocks):
                stride = 2 if stage and block == 0 else 1
                y = nn.relu(norm(conv(x, width, 1)))
                y = nn.relu(norm(conv(y, width, 3, stride)))
                y = norm(conv(y, 4 * width, 1))
                if x.shape != y.shape:
                    x = norm(conv(x, 4 * width, 1, stride))
                x = nn.relu(x + y)
        return nn.Dense(1000)(jnp.mean(x, axis=(1, 2)))


def trained(model, x, labels):
    """The loss of a model on batches like `x`, with labels below `labels`."""
    rng = numpy.random.default_rng(0)
    variables = model.init(jax.random.key(0), x)
    rest = {name: value for name, value in variables.items() if name != "params"}
    y = rng.integers(labels, size=x.shape if isinstance(model, GPT) else x.shape[0])

    def loss(params, x, y):
        logits = model.apply({"params": params, **rest}, x, mutable=list(rest))[0]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return loss, variables["params"], (x, y.astype("i"))


def words(size, *shape):
    return numpy.random.default_rng(1).integers(size, size=shape).astype("i")


def numbers(*shape):
    return numpy.random.default_rng(1).normal(size=shape).astype("f")


MODELS = {
    "mlp": lambda: trained(MLP(), numbers(64, 784), 10),
    "lstm512": lambda: trained(LSTM(), numbers(64, 64, 512), 10),
    "gpt256": lambda: trained(GPT(), words(8192, 4, 256), 8192),
    "resnet50-32": lambda: trained(ResNet50(), numbers(32, 32, 32, 3), 1000),
    "vit-b16": lambda: trained(ViT(), numbers(4, 224, 224, 3), 1000),
    "bert-base": lambda: trained(BERT(), words(30522, 4, 128), 2),
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


def load(name):
    """The loss as text, the batch, and what saves the weights."""
    loss, params, batch = MODELS[name]()
    module = jax.jit(loss, keep_unused=True).lower(params, *batch).compiler_ir("stablehlo")
    return (module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True),
            batch, Weights(params))
