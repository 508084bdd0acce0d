"""Formulas that --mpt-raise-ops finds, as libraries spell them.

formulas.py NAME: generic StableHLO. formulas.py check BUILD [NAME...]: the op is found, and
its value and gradients are those of XLA.
"""
import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
import programs  # before jax
import jax
import jax.numpy as jnp
import numpy


def data(*shape):
    return numpy.random.default_rng(sum(shape)).normal(size=shape).astype("f")


def labels(classes, *shape):
    return numpy.random.default_rng(classes).integers(classes, size=shape).astype("i")


def weigh(y):
    """A loss in which each element of y counts differently."""
    return jnp.sum(y * jnp.sin(jnp.arange(y.size, dtype=y.dtype)).reshape(y.shape))


def linen(module, *inputs, **options):
    variables = module.init(jax.random.key(0), *inputs, **options)
    rest = {name: value for name, value in variables.items() if name != "params"}
    params = jax.tree.map(lambda p: p + data(*p.shape) * 0.1, variables.get("params", {}))

    def loss(params, *inputs):
        y = module.apply({"params": params, **rest}, *inputs, mutable=list(rest), **options)
        return weigh(y[0])

    return loss, params, inputs


def nnx(make, *inputs):
    from flax import nnx
    graph, params, rest = nnx.split(make(nnx.Rngs(0)), nnx.Param, ...)
    rest = nnx.to_pure_dict(rest)
    pure = jax.tree.map(lambda p: p + data(*p.shape) * 0.1, nnx.to_pure_dict(params))

    def loss(params, *inputs):
        return weigh(nnx.merge(graph, nnx.State(params), nnx.State(rest))(*inputs))

    return loss, pure, inputs


def keras(layer, *inputs, **options):
    layer(*inputs, **options)
    values = [variable.value for variable in layer.trainable_variables]
    rest = [variable.value for variable in layer.non_trainable_variables]

    def loss(params, *inputs):
        return weigh(layer.stateless_call(params, rest, *inputs, **options)[0])

    return loss, [numpy.array(v) + data(*v.shape) * 0.1 for v in values], inputs


def plain(function, params, *inputs):
    return function, params, inputs


def haiku_layer_norm(params, x):
    """As dm-haiku's LayerNorm, which is not installed."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    inv = params["scale"] * jax.lax.rsqrt(variance + 1e-5)
    return weigh(inv * (x - mean) + params["offset"])


def haiku_rms_norm(params, x):
    mean_squared = jnp.mean(jnp.square(x), axis=[-1], keepdims=True)
    return weigh(x * params["scale"] * jax.lax.rsqrt(mean_squared + 1e-5))


def haiku_batch_norm(params, x):
    mean = jnp.mean(x, axis=(0, 1, 2), keepdims=True)
    variance = jnp.mean(jnp.square(x), axis=(0, 1, 2), keepdims=True) - jnp.square(mean)
    inv = params["scale"] * jax.lax.rsqrt(variance + 1e-5)
    return weigh((x - mean) * inv + params["offset"])


def haiku_attention(params, x):
    """As dm-haiku's MultiHeadAttention in its transformer example."""
    batch, length, width = x.shape

    def heads(name):
        return (x @ params[name]).reshape(batch, length, 4, width // 4)

    logits = jnp.einsum("...thd,...Thd->...htT", heads("query"), heads("key"))
    logits = logits / numpy.sqrt(width // 4).astype("f")
    mask = jnp.tril(jnp.ones((1, 1, length, length)))
    logits = jnp.where(mask, logits, -1e30)
    weights = jax.nn.softmax(logits)
    y = jnp.einsum("...htT,...Thd->...thd", weights, heads("value"))
    return weigh(y.reshape(batch, length, width) @ params["out"])


def padded_attention(params, x, lengths):
    """Keys after each sequence's end, and with them all queries of an empty one, are hidden."""
    q, k, v = (jnp.einsum("btc,chd->bthd", x, params[name]) for name in "qkv")
    seen = jnp.arange(x.shape[1])[None] < lengths[:, None]
    return weigh(jax.nn.dot_product_attention(q, k, v, mask=seen[:, None, None, :]))


def log_softmax_loss(params, x, y):
    logp = jax.nn.log_softmax(x @ params["w"])
    return -jnp.take_along_axis(logp, y[:, None], 1).mean()


def optax_loss(params, x, y):
    import optax
    return optax.softmax_cross_entropy_with_integer_labels(x @ params["w"], y).mean()


def weights(**shapes):
    return {name: data(*shape) for name, shape in shapes.items()}


def unrolled(cell, params, *inputs):
    """The last output of a recurrent cell of flax."""
    def loss(params, x):
        carry = (jnp.zeros((x.shape[0], 8)),) * 2
        for t in range(x.shape[1]):
            carry, y = cell(params, carry, x[:, t])
        return weigh(y)

    return loss, params, inputs


def causal(x):
    nn = linen_modules()
    module = nn.MultiHeadDotProductAttention(4)
    params = module.init(jax.random.key(0), x)

    def loss(params, x):
        return weigh(module.apply(params, x, mask=nn.make_causal_mask(x[..., 0])))

    return loss, params, (x,)


def linen_cell(name):
    cell = getattr(linen_modules(), name)(8)
    x = data(2, 3, 6)
    params = cell.init(jax.random.key(0), (data(2, 8),) * 2, x[:, 0])["params"]
    return unrolled(lambda p, carry, x: cell.apply({"params": p}, carry, x), params, x)


def linen_modules():
    from flax import linen as nn
    return nn


def nnx_modules():
    from flax import nnx
    return nnx


def keras_layers():
    import keras
    return keras.layers


def tokens_loss(ids):
    """A tied head and a loss of each token: the rows of its logits have two dimensions."""
    import optax
    embed = linen_modules().Embed(11, 16)
    params = embed.init(jax.random.key(0), ids)

    def loss(params, ids):
        logits = embed.apply(params, jnp.tanh(embed.apply(params, ids)), method="attend")
        return optax.softmax_cross_entropy_with_integer_labels(logits, ids).mean()

    return plain(loss, params, ids)


def embedded(params, ids):
    return weigh(jnp.tanh(params["table"][ids]))


OPS = ("layer_norm", "rms_norm", "batch_norm", "attention", "cross_entropy", "gelu",
       "lstm_cell", "log_softmax", "softmax", "silu", "relu", "linear", "gather")
IMAGES, ROWS, WORDS = (2, 4, 4, 8), (4, 8), (2, 6, 16)
CASES = {
    "linen_layer_norm": lambda: linen(linen_modules().LayerNorm(), data(*ROWS)),
    "nnx_layer_norm": lambda: nnx(
        lambda rngs: nnx_modules().LayerNorm(8, use_fast_variance=False, rngs=rngs), data(*ROWS)),
    "haiku_layer_norm": lambda: plain(haiku_layer_norm, weights(scale=(8,), offset=(8,)),
                                      data(*ROWS)),
    "keras_layer_norm": lambda: keras(keras_layers().LayerNormalization(), data(*ROWS)),
    "linen_rms_norm": lambda: linen(linen_modules().RMSNorm(), data(*ROWS)),
    "nnx_rms_norm": lambda: nnx(lambda rngs: nnx_modules().RMSNorm(8, rngs=rngs), data(*ROWS)),
    "haiku_rms_norm": lambda: plain(haiku_rms_norm, weights(scale=(8,)), data(*ROWS)),
    "linen_batch_norm": lambda: linen(
        linen_modules().BatchNorm(use_running_average=False), data(*IMAGES)),
    "nnx_batch_norm": lambda: nnx(
        lambda rngs: nnx_modules().BatchNorm(8, use_running_average=False, rngs=rngs),
        data(*IMAGES)),
    "haiku_batch_norm": lambda: plain(haiku_batch_norm, weights(scale=(8,), offset=(8,)),
                                      data(*IMAGES)),
    "keras_batch_norm": lambda: keras(keras_layers().BatchNormalization(), data(*IMAGES),
                                      training=True),
    "linen_attention": lambda: causal(data(*WORDS)),
    "nnx_attention": lambda: nnx(
        lambda rngs: nnx_modules().MultiHeadAttention(4, 16, decode=False, rngs=rngs),
        data(*WORDS)),
    "haiku_attention": lambda: plain(
        haiku_attention, weights(query=(16, 16), key=(16, 16), value=(16, 16), out=(16, 16)),
        data(*WORDS)),
    "jax_padded_attention": lambda: plain(
        padded_attention, weights(q=(16, 4, 4), k=(16, 4, 4), v=(16, 4, 4)), data(*WORDS),
        numpy.array([4, 0], "i")),
    "keras_attention": lambda: keras(keras_layers().MultiHeadAttention(4, 4), data(*WORDS),
                                     data(*WORDS)),
    "optax_cross_entropy": lambda: plain(optax_loss, weights(w=(8, 5)), data(*ROWS),
                                         labels(5, 4)),
    "jax_cross_entropy": lambda: plain(log_softmax_loss, weights(w=(8, 5)), data(*ROWS),
                                       labels(5, 4)),
    "linen_tokens_cross_entropy": lambda: tokens_loss(labels(11, 2, 6)),
    "linen_softmax": lambda: linen(linen_modules().Sequential(
        [linen_modules().Dense(8), linen_modules().softmax]), data(*ROWS)),
    "keras_softmax": lambda: keras(keras_layers().Dense(8, activation="softmax"), data(*ROWS)),
    "nnx_log_softmax": lambda: nnx(lambda rngs: nnx_modules().Sequential(
        nnx_modules().Linear(8, 8, rngs=rngs), nnx_modules().log_softmax), data(*ROWS)),
    "keras_log_softmax": lambda: keras(
        keras_layers().Dense(8, activation="log_softmax"), data(*ROWS)),
    "nnx_silu": lambda: nnx(lambda rngs: nnx_modules().Sequential(
        nnx_modules().Linear(8, 8, rngs=rngs), nnx_modules().silu), data(*ROWS)),
    "keras_silu": lambda: keras(keras_layers().Dense(8, activation="silu"), data(*ROWS)),
    "linen_relu": lambda: linen(linen_modules().Sequential(
        [linen_modules().Dense(8), linen_modules().relu]), data(*ROWS)),
    "keras_relu": lambda: keras(keras_layers().Conv2D(8, 3, activation="relu"), data(*IMAGES)),
    "linen_linear": lambda: linen(linen_modules().Dense(5), data(*WORDS)),
    "nnx_linear": lambda: nnx(
        lambda rngs: nnx_modules().Linear(8, 5, rngs=rngs), data(*ROWS)),
    "keras_linear": lambda: keras(keras_layers().Dense(5), data(*ROWS)),
    "linen_gather": lambda: linen(linen_modules().Embed(11, 16), labels(11, 2, 6)),
    "keras_gather": lambda: keras(keras_layers().Embedding(11, 16), labels(11, 2, 6)),
    "haiku_gather": lambda: plain(embedded, weights(table=(11, 16)), labels(11, 2, 6)),
    "nnx_gelu": lambda: nnx(lambda rngs: nnx_modules().Sequential(
        nnx_modules().Linear(8, 8, rngs=rngs), nnx_modules().gelu), data(*ROWS)),
    "nnx_lstm_cell": lambda: nnx(lambda rngs: nnx_modules().RNN(
        nnx_modules().OptimizedLSTMCell(6, 8, rngs=rngs)), data(2, 3, 6)),
    "linen_lstm_cell": lambda: linen_cell("OptimizedLSTMCell"),
    "linen_rnn_lstm_cell": lambda: linen(
        linen_modules().RNN(linen_modules().OptimizedLSTMCell(8)), data(2, 3, 6)),
    "linen_gelu": lambda: linen(
        linen_modules().Sequential([linen_modules().Dense(8), linen_modules().gelu]),
        data(*ROWS)),
    "keras_gelu": lambda: keras(keras_layers().Dense(8, activation="gelu"), data(*ROWS)),
}


def check(name, build):
    loss, params, inputs = CASES[name]()
    programs.use(build)
    text = programs.lower(loss, params, *inputs)
    op = next(op for op in OPS if name.endswith(op))
    is_raised = f"mpt.{op} " in programs.convert(text)
    mine = programs.Program(programs.convert(text, "--mpt-autodiff"))
    expected, theirs = jax.value_and_grad(loss)(params, *inputs)
    found = dict(zip(mine.results, mine(*jax.tree.leaves(params), *jax.tree.leaves(inputs))))
    worst = programs.difference(found["loss"], expected)
    names = [argument for argument in mine.arguments if argument.startswith("params")]
    theirs = [numpy.asarray(gradient, "d") for gradient in jax.tree.leaves(theirs)]
    # A bias of keys has the gradient 0.
    least = 0.01 * max(numpy.abs(gradient).max() for gradient in theirs)
    for argument, gradient in zip(names, theirs, strict=True):
        gap = numpy.abs(found["grad." + argument].astype("d") - gradient).max()
        worst = max(worst, gap / max(numpy.abs(gradient).max(), least))
    print(f"{name}: {'mpt.' + op if is_raised else 'NOT RAISED'}, "
          f"{'equal' if worst < 1e-4 else 'DIFFERS'} ({worst:.1e})", flush=True)


def main():
    if sys.argv[1] == "check":
        for name in sys.argv[3:] or CASES:
            check(name, sys.argv[2])
        return
    loss, params, inputs = CASES[sys.argv[1]]()
    module = jax.jit(loss, keep_unused=True).lower(params, *inputs).compiler_ir("stablehlo")
    print(module.operation.get_asm(print_generic_op_form=True, use_local_scope=False))


if __name__ == "__main__":
    main()
