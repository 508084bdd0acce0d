"""Formulas that --mpt-raise-ops finds, as libraries spell them.

formulas.py NAME: generic StableHLO. formulas.py check BUILD [NAME...]: the op is found, and
its value and gradients are those of XLA. formulas.py near BUILD: what libraries write that is no
op; a remark says why, and value and gradients are XLA's, too. formulas.py table: which library's
spellings of an op are checked.
"""
import os
import re
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


def haiku(make, *inputs, **options):
    """`make(hk)` gives a module of dm-haiku, or a function of one."""
    import haiku as hk
    module = hk.transform_with_state(lambda *x: make(hk)(*x, **options))
    params, state = module.init(jax.random.key(0), *inputs)

    def loss(params, *inputs):
        return weigh(module.apply(params, state, jax.random.key(1), *inputs)[0])

    return loss, jax.tree.map(lambda p: p + data(*p.shape) * 0.1, params), inputs


def haiku_attention(x, dropout=0.0):
    """Attention as in dm-haiku's transformer example, with a causal mask."""
    def make(hk):
        init = hk.initializers.VarianceScaling(1.0)
        layer = hk.MultiHeadAttention(4, 4, model_size=16, w_init=init)
        return lambda x: layer(x, x, x, mask=jnp.tril(jnp.ones((1, 1) + x.shape[1:2] * 2)))
    return haiku(make, x)


def padded_attention(params, x, lengths):
    """Keys after each sequence's end, and with them all queries of an empty one, are hidden."""
    q, k, v = (jnp.einsum("btc,chd->bthd", x, params[name]) for name in "qkv")
    seen = jnp.arange(x.shape[1])[None] < lengths[:, None]
    return weigh(jax.nn.dot_product_attention(q, k, v, mask=seen[:, None, None, :]))


def masked_attention(mask=lambda seen: None, **options):
    """`mask` of the keys that are seen: of the second sequence, all but the first three. Its
    first queries see none, if what comes later is hidden."""
    def loss(params, x):
        q, k, v = (jnp.einsum("btc,chd->bthd", x, params[name]) for name in "qkv")
        seen = jnp.arange(x.shape[1])[None] >= jnp.array([[0], [3]])
        function = options.get("function", jax.nn.dot_product_attention)
        rest = {name: value for name, value in options.items() if name != "function"}
        return weigh(function(q, k, v, mask=mask(seen), **rest))
    return plain(loss, weights(q=(16, 4, 4), k=(16, 4, 4), v=(16, 4, 4)), data(*WORDS))


def linen_padded_mask(seen):
    masks = linen_modules()
    return masks.combine_masks(masks.make_causal_mask(seen), masks.make_attention_mask(seen, seen))


def tril_mask(seen):
    return jnp.tril(jnp.ones((seen.shape[1],) * 2, bool)) & seen[:, None, None]


def log_softmax_loss(params, x, y):
    logp = jax.nn.log_softmax(x @ params["w"])
    return -jnp.take_along_axis(logp, y[:, None], 1).mean()


def optax_loss(params, x, y):
    import optax
    return optax.softmax_cross_entropy_with_integer_labels(x @ params["w"], y).mean()


def one_hot_loss(params, x, y):
    import optax
    labels = jax.nn.one_hot(y, params["w"].shape[1])
    return optax.softmax_cross_entropy(x @ params["w"], labels).mean()


def summed_one_hot_loss(params, x, y):
    """As in dm-haiku's examples; labels out of range count nothing."""
    logits = x @ params["w"]
    labels = jax.nn.one_hot(y, logits.shape[-1])
    return -jnp.sum(labels * jax.nn.log_softmax(logits)) / labels.shape[0]


def dropped():
    """A dense layer and dropout, whose keys are part of the program."""
    nn = linen_modules()

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            drop = nn.Dropout(0.25, deterministic=False)
            return drop(nn.Dense(8)(x), rng=jax.random.key(1))

    return Net()


def keras_dropout(params, x):
    import keras
    return weigh(keras.random.dropout(x @ params["w"], 0.25, seed=1))


def random_mask(x, factor):
    mask = jax.random.bernoulli(jax.random.key(1), 0.75, x.shape)
    return jnp.where(mask, x * factor, 0) if factor != 1 else jnp.where(mask, x, 0)


def quick_gelu(params, x):
    y = x @ params["w"]
    return weigh(y * jax.nn.sigmoid(1.702 * y))


def unbiased_group_norm(params, x):
    groups = x.reshape(*x.shape[:-1], 2, -1)
    mean = groups.mean((1, 2, 4), keepdims=True)
    variance = groups.var((1, 2, 4), keepdims=True, ddof=1)
    y = (groups - mean) * jax.lax.rsqrt(variance + 1e-5)
    return weigh(y.reshape(x.shape) * params["g"])


def group_rms_norm(params, x):
    groups = x.reshape(*x.shape[:-1], 2, -1)
    y = groups * jax.lax.rsqrt((groups**2).mean((1, 2, 4), keepdims=True) + 1e-5)
    return weigh(y.reshape(x.shape) * params["g"])


def smoothed_loss(params, x, y):
    import optax
    labels = optax.smooth_labels(jax.nn.one_hot(y, params["w"].shape[1]), 0.1)
    return optax.softmax_cross_entropy(x @ params["w"], labels).mean()


def masked_loss(params, x, y):
    import optax
    rows = optax.softmax_cross_entropy_with_integer_labels(x @ params["w"], y)
    return jnp.where(y > 0, rows, 0).mean()


def keras_loss(name):
    def loss(params, x, y):
        import keras
        if name == "CategoricalCrossentropy":
            y = keras.ops.one_hot(y, params["w"].shape[1])
        return getattr(keras.losses, name)(from_logits=True)(y, x @ params["w"])

    return loss


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


def dropped_attention(x):
    module = linen_modules().MultiHeadDotProductAttention(4, dropout_rate=0.25)
    params = module.init(jax.random.key(0), x, deterministic=True)

    def loss(params, x):
        return weigh(module.apply(params, x, deterministic=False,
                                  rngs={"dropout": jax.random.key(1)}))

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


OPS = ("group_norm", "instance_norm", "layer_norm", "rms_norm", "batch_norm", "attention", "cross_entropy", "gelu",
       "lstm_cell", "log_softmax", "softmax", "silu", "relu", "linear", "gather")
IMAGES, ROWS, WORDS = (2, 4, 4, 8), (4, 8), (2, 6, 16)
CASES = {
    "linen_layer_norm": lambda: linen(linen_modules().LayerNorm(), data(*ROWS)),
    "nnx_layer_norm": lambda: nnx(
        lambda rngs: nnx_modules().LayerNorm(8, use_fast_variance=False, rngs=rngs), data(*ROWS)),
    "haiku_layer_norm": lambda: haiku(lambda hk: hk.LayerNorm(-1, True, True), data(*ROWS)),
    "keras_layer_norm": lambda: keras(keras_layers().LayerNormalization(), data(*ROWS)),
    "linen_rms_norm": lambda: linen(linen_modules().RMSNorm(), data(*ROWS)),
    "nnx_rms_norm": lambda: nnx(lambda rngs: nnx_modules().RMSNorm(8, rngs=rngs), data(*ROWS)),
    "haiku_rms_norm": lambda: haiku(lambda hk: hk.RMSNorm(-1), data(*ROWS)),
    "keras_rms_norm": lambda: keras(keras_layers().RMSNormalization(), data(*ROWS)),
    "linen_batch_norm": lambda: linen(
        linen_modules().BatchNorm(use_running_average=False), data(*IMAGES)),
    "nnx_batch_norm": lambda: nnx(
        lambda rngs: nnx_modules().BatchNorm(8, use_running_average=False, rngs=rngs),
        data(*IMAGES)),
    "haiku_batch_norm": lambda: haiku(lambda hk: hk.BatchNorm(True, True, 0.9), data(*IMAGES),
                                      is_training=True),
    "keras_batch_norm": lambda: keras(keras_layers().BatchNormalization(), data(*IMAGES),
                                      training=True),
    "linen_group_norm": lambda: linen(linen_modules().GroupNorm(2), data(*IMAGES)),
    "nnx_group_norm": lambda: nnx(
        lambda rngs: nnx_modules().GroupNorm(8, 4, rngs=rngs), data(*IMAGES)),
    "haiku_group_norm": lambda: haiku(lambda hk: hk.GroupNorm(2), data(*IMAGES)),
    "keras_group_norm": lambda: keras(keras_layers().GroupNormalization(2), data(*IMAGES)),
    "linen_tokens_group_norm": lambda: linen(linen_modules().GroupNorm(4), data(*WORDS)),
    "linen_one_group_norm": lambda: linen(linen_modules().GroupNorm(1), data(*IMAGES)),
    "linen_channel_group_norm": lambda: linen(linen_modules().GroupNorm(8), data(*IMAGES)),
    "keras_first_group_norm": lambda: keras(
        keras_layers().GroupNormalization(2, axis=1), data(*IMAGES)),
    "linen_instance_norm": lambda: linen(linen_modules().InstanceNorm(), data(*IMAGES)),
    "haiku_instance_norm": lambda: haiku(lambda hk: hk.InstanceNorm(True, True), data(*IMAGES)),
    "haiku_places_layer_norm": lambda: haiku(
        lambda hk: hk.LayerNorm(slice(1, None), True, True), data(*IMAGES)),
    "linen_attention": lambda: causal(data(*WORDS)),
    "nnx_attention": lambda: nnx(
        lambda rngs: nnx_modules().MultiHeadAttention(4, 16, decode=False, rngs=rngs),
        data(*WORDS)),
    "haiku_attention": lambda: haiku_attention(data(*WORDS)),
    "jax_padded_attention": lambda: plain(
        padded_attention, weights(q=(16, 4, 4), k=(16, 4, 4), v=(16, 4, 4)), data(*WORDS),
        numpy.array([4, 0], "i")),
    "keras_attention": lambda: keras(keras_layers().MultiHeadAttention(4, 4), data(*WORDS),
                                     data(*WORDS)),
    "keras_causal_attention": lambda: keras(
        keras_layers().MultiHeadAttention(4, 4), data(*WORDS), data(*WORDS),
        use_causal_mask=True),
    "jax_causal_attention": lambda: masked_attention(is_causal=True),
    "jax_padded_causal_attention": lambda: masked_attention(
        lambda seen: seen[:, None, None], is_causal=True),
    "jax_tril_causal_attention": lambda: masked_attention(tril_mask),
    "linen_padded_causal_attention": lambda: masked_attention(
        linen_padded_mask, function=linen_modules().dot_product_attention),
    "optax_cross_entropy": lambda: plain(optax_loss, weights(w=(8, 5)), data(*ROWS),
                                         labels(5, 4)),
    "jax_cross_entropy": lambda: plain(log_softmax_loss, weights(w=(8, 5)), data(*ROWS),
                                       labels(5, 4)),
    "linen_tokens_cross_entropy": lambda: tokens_loss(labels(11, 2, 6)),
    "keras_sparse_cross_entropy": lambda: plain(
        keras_loss("SparseCategoricalCrossentropy"), weights(w=(8, 5)), data(*ROWS), labels(5, 4)),
    "keras_one_hot_cross_entropy": lambda: plain(
        keras_loss("CategoricalCrossentropy"), weights(w=(8, 5)), data(*ROWS), labels(5, 4)),
    "optax_one_hot_cross_entropy": lambda: plain(one_hot_loss, weights(w=(8, 5)), data(*ROWS),
                                                 labels(5, 4)),
    "jax_one_hot_cross_entropy": lambda: plain(
        summed_one_hot_loss, weights(w=(8, 5)), data(*ROWS), numpy.array([4, -1, 0, 5], "i")),
    "linen_softmax": lambda: linen(linen_modules().Sequential(
        [linen_modules().Dense(8), linen_modules().softmax]), data(*ROWS)),
    "haiku_softmax": lambda: haiku(
        lambda hk: hk.Sequential([hk.Linear(8), jax.nn.softmax]), data(*ROWS)),
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
    "haiku_linear": lambda: haiku(lambda hk: hk.Linear(5), data(*ROWS)),
    "linen_gather": lambda: linen(linen_modules().Embed(11, 16), labels(11, 2, 6)),
    "keras_gather": lambda: keras(keras_layers().Embedding(11, 16), labels(11, 2, 6)),
    "haiku_gather": lambda: haiku(lambda hk: hk.Embed(11, 16), labels(11, 2, 6)),
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
    "linen_erf_gelu": lambda: linen(linen_modules().Sequential(
        [linen_modules().Dense(8), lambda x: linen_modules().gelu(x, approximate=False)]),
        data(*ROWS)),
}
DROPPED = "mpt.dropout: the mask is made of the program's own random bits"
# What is no op, and the beginning of the remark.
NEAR = {
    "jax_group_norm": (lambda: plain(unbiased_group_norm, weights(g=(8,)), data(*IMAGES)),
                       "mpt.layer_norm: the sum of 64 squares is divided by 63"),
    "jax_group_rms_norm": (lambda: plain(group_rms_norm, weights(g=(8,)), data(*IMAGES)),
                           "mpt.rms_norm: the mean is over dimensions [1, 2, 4]"),
    "jax_columns": (lambda: plain(lambda params, i: weigh(jnp.take(params["w"], i, axis=1)),
                                  weights(w=(16, 11)), labels(11, 2, 6)),
                    "mpt.gather: places are chosen along dimension 1 of the table"),
    "jax_one_hot": (lambda: plain(lambda params, i: weigh(jax.nn.one_hot(i, 11) @ params["w"]),
                                  weights(w=(11, 16)), labels(11, 2, 6)),
                    "mpt.gather: the table is multiplied by one-hot rows"),
    "linen_dropout": (lambda: linen(dropped(), data(*ROWS)), DROPPED),
    "haiku_dropout": (lambda: haiku(lambda hk: lambda x: hk.dropout(
        hk.next_rng_key(), 0.25, hk.Linear(8)(x)), data(*ROWS)), DROPPED),
    "keras_dropout": (lambda: plain(keras_dropout, weights(w=(8, 5)), data(*ROWS)), DROPPED),
    "jax_unscaled_dropout": (lambda: plain(
        lambda params, x: weigh(random_mask(x @ params["w"], 1.0)), weights(w=(8, 5)), data(*ROWS)),
        "mpt.dropout: what is kept is multiplied by no number, expected 1.33333"),
    "jax_wrong_dropout": (lambda: plain(
        lambda params, x: weigh(random_mask(x @ params["w"], 2.0)), weights(w=(8, 5)), data(*ROWS)),
        "mpt.dropout: what is kept is multiplied by 2, expected 1.33333"),
    "jax_softmax": (lambda: plain(
        lambda params, x: weigh(jax.nn.softmax(x @ params["w"], axis=0)), weights(w=(8, 5)), data(*ROWS)),
        "mpt.softmax: the sum is over dimensions [0]"),
    "linen_dropped_attention": (lambda: dropped_attention(data(*WORDS)),
                                "mpt.attention: probabilities"),
    "optax_smoothed_loss": (lambda: plain(smoothed_loss, weights(w=(8, 5)), data(*ROWS),
                                          labels(5, 4)), "mpt.cross_entropy: labels"),
    "optax_masked_loss": (lambda: plain(masked_loss, weights(w=(8, 5)), data(*ROWS),
                                        labels(5, 4)), "mpt.cross_entropy: losses"),
    "haiku_lstm": (lambda: haiku(lambda hk: lambda x: hk.dynamic_unroll(
        hk.LSTM(8), x, hk.LSTM(8, "start").initial_state(2))[0], data(3, 2, 6)), "mpt.lstm_cell"),
    "keras_lstm": (lambda: keras(keras_layers().LSTM(8, unroll=True), data(2, 3, 6)),
                   "mpt.lstm_cell: gates are not the quarters"),
    "jax_quick_gelu": (lambda: plain(quick_gelu, weights(w=(8, 5)), data(*ROWS)), "mpt.silu"),
}


def measure(text, loss, params, inputs):
    """How far value and gradients are from XLA's."""
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
    return worst


def verdict(worst):
    return f"{'equal' if worst < 1e-4 else 'DIFFERS'} ({worst:.1e})"


def get_op(name):
    return next(op for op in OPS if name.endswith(op))


def check(name):
    loss, params, inputs = CASES[name]()
    text = programs.lower(loss, params, *inputs)
    op = get_op(name)
    op = {"group_norm": "layer_norm", "instance_norm": "layer_norm"}.get(op, op)
    raised = re.search(rf"mpt\.{op} .*", programs.convert(text))
    is_raised = raised and ("_causal_" not in name or "{causal" in raised[0])
    found = "mpt." + op if is_raised else "NOT RAISED"
    print(f"{name}: {found}, {verdict(measure(text, loss, params, inputs))}", flush=True)


def near(name):
    make, expected = NEAR[name]
    loss, params, inputs = make()
    text = programs.lower(loss, params, *inputs)
    done = programs.subprocess.run(
        [os.path.join(programs.tools, "mpt-opt"), "-", "--allow-unregistered-dialect",
         "--mpt-convert-stablehlo", "--remarks-filter=mpt.raise", "-o", os.devnull],
        input=text, text=True, capture_output=True, check=True)
    reasons = re.findall(r'not-raised .*Reason="([^"]*)', done.stderr)
    reason = next((each for each in reasons if each.startswith(expected)), f"NO REMARK {reasons}")
    print(f"{name}: {reason}, {verdict(measure(text, loss, params, inputs))}", flush=True)


def main():
    if sys.argv[1] in ("check", "near"):
        programs.use(sys.argv[2])
        run, cases = (check, CASES) if sys.argv[1] == "check" else (near, NEAR)
        for name in sys.argv[3:] or cases:
            run(name)
        return
    if sys.argv[1] == "table":
        for op in OPS:
            names = [name for name in CASES if get_op(name) == op]
            print(f"{op}: {', '.join(sorted({name.split('_')[0] for name in names}))}")
        return
    loss, params, inputs = CASES[sys.argv[1]]()
    module = jax.jit(loss, keep_unused=True).lower(params, *inputs).compiler_ir("stablehlo")
    print(module.operation.get_asm(print_generic_op_form=True, use_local_scope=False))


if __name__ == "__main__":
    main()
