"""Networks of dm-haiku, equinox, and distrax with chex train on MPT as in JAX.

    check_jax_libraries.py haiku|equinox|distrax

Each network takes three steps of SGD in f32, bf16 and f16. Losses, the state that the loss
changes, and what the parameters have moved by are held to JAX in f64. The bound: to round
parameters and batch to bf16 moves the oracle's result by some distance. MPT rounds two
operands and the result of each matmul on the longest path, forward and backward, each by a
share of that distance that is the type's unit roundoff over bf16's. What is drawn in a loss
is drawn in another way in f64, and is held to JAX in f32.
"""
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy
import optax

import mpt.jax

RATE, STEPS = 0.05, 3
UNIT = {"f32": 2.0**-24, "bf16": 2.0**-9, "f16": 2.0**-12}
random = numpy.random.default_rng(0)


def numbers(*shape):
    return random.normal(size=shape).astype("f")


def labels(count, *shape):
    return random.integers(count, size=shape).astype("i")


def floats(tree, convert):
    return jax.tree.map(lambda x: convert(numpy.asarray(x))
                        if jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating) else x, tree)


def plain(tree):
    leaves = [numpy.asarray(x, "d").ravel() for x in jax.tree.leaves(tree)]
    return numpy.concatenate(leaves) if leaves else numpy.zeros(0)


def train(loss, params, state, batch):
    """Losses, the change of the parameters and the state, by JAX."""
    @jax.jit
    def step(params, state):
        (value, state), gradients = jax.value_and_grad(loss, has_aux=True)(params, state, *batch)
        return jax.tree.map(lambda p, g: p - RATE * g, params, gradients), state, value

    first, losses = plain(params), []
    for _ in range(STEPS):
        params, state, value = step(params, state)
        losses.append(float(value))
    return numpy.array(losses), plain(params) - first, plain(state)


def check(name, loss, params, batch, state=None, matmuls=0):
    """loss(params, state, *batch) gives (scalar, new state). matmuls: how many are on the
    longest path; 0: the loss draws numbers, and all is held to JAX in f32."""
    has_state = state is not None
    state = {} if state is None else state
    given = loss if has_state else lambda params, *batch: loss(params, {}, *batch)[0]
    if matmuls:
        with jax.enable_x64(True):
            widen = lambda tree: floats(tree, lambda x: x.astype("d"))
            cut = lambda tree: floats(tree, lambda x: x.astype(ml_dtypes.bfloat16).astype("d"))
            expected = train(loss, widen(params), widen(state), widen(batch))
            rounded = train(loss, cut(params), widen(state), cut(batch))
        distances = [numpy.linalg.norm(a - b) for a, b in zip(rounded, expected)]
    else:
        expected = train(loss, params, state, batch)
    for precision in UNIT if matmuls else ("f32",):
        step = mpt.jax.train_step(given, params, batch, "sgd", precision, lr=RATE,
                                  state=state if has_state else None,
                                  loss_scale=1024.0 if precision == "f16" else None)
        results = [step(*batch) for _ in range(STEPS)]
        assert all(result.did_step for result in results)
        found = (numpy.array([result.loss for result in results]),
                 plain(step.params) - plain(params), plain(step.state if has_state else {}))
        words = []
        for i, (mine, theirs) in enumerate(zip(found, expected)):
            gap = numpy.linalg.norm(mine - theirs)
            if matmuls:
                # Parameters and state themselves have 24 bits.
                share = UNIT[precision] / UNIT["bf16"]
                bound = 2 * 3 * matmuls * share * distances[i] + STEPS * UNIT["f32"] * (
                    numpy.linalg.norm(plain(params)) if i == 1 else numpy.linalg.norm(theirs))
            else:
                bound = 1e-5 * numpy.linalg.norm(theirs)
            words.append("equal" if gap <= bound else f"DIFFER {gap:.1e} {bound:.1e}")
        print(f"{name} {precision}:", *words)


def cross_entropy(logits, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def of_haiku():
    import haiku as hk

    def residual(x):
        x = hk.Conv2D(8, 3, with_bias=False)(x)
        y = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(x, is_training=True))
        x = x + hk.Conv2D(8, 3, stride=1, with_bias=False)(y)
        return hk.Linear(5)(jnp.mean(jax.nn.relu(x), (1, 2)))

    net = hk.without_apply_rng(hk.transform_with_state(residual))
    x, y = numbers(8, 8, 8, 3), labels(5, 8)
    params, state = jax.jit(net.init)(jax.random.key(0), x)

    def loss(params, state, x, y):
        logits, state = net.apply(params, state, x)
        return cross_entropy(logits, y), state

    check("residual", loss, params, (x, y), state, matmuls=3)

    def unrolled(x):
        core = hk.DeepRNN([hk.LSTM(12), jnp.tanh, hk.GRU(12)])
        y, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return hk.nets.MLP([16, 4])(hk.LayerNorm(-1, True, True)(y))

    recurrent = hk.without_apply_rng(hk.transform(unrolled))
    x, y = numbers(6, 8, 5), labels(4, 6, 8)
    check("recurrent", lambda params, state, x, y: (cross_entropy(recurrent.apply(params, x), y),
                                                    state),
          jax.jit(recurrent.init)(jax.random.key(0), x), (x, y), matmuls=6 * 3 + 2)

    dropped = hk.transform(lambda x: hk.Linear(3)(
        hk.dropout(hk.next_rng_key(), 0.25, jax.nn.relu(hk.Linear(16)(x)))))
    x, key = numbers(8, 5), jax.random.PRNGKey(1)
    check("dropout", lambda params, state, key, x, y: (
        jnp.mean((dropped.apply(params, key, x) - y)**2), state),
          jax.jit(dropped.init)(key, x), (key, x, numbers(8, 3)))


def of_equinox():
    import equinox as eqx

    class Net(eqx.Module):
        conv: eqx.nn.Conv2d
        norm: eqx.nn.BatchNorm
        pool: eqx.nn.MaxPool2d
        last: eqx.nn.Linear

        def __init__(self, key):
            keys = jax.random.split(key, 2)
            self.conv = eqx.nn.Conv2d(1, 6, 3, use_bias=False, key=keys[0])
            self.norm = eqx.nn.BatchNorm(6, axis_name="batch", mode="ema")
            self.pool = eqx.nn.MaxPool2d(2, 2)
            self.last = eqx.nn.Linear(54, 5, key=keys[1])

        def __call__(self, x, state):
            x, state = self.norm(self.conv(x), state)
            return self.last(jnp.ravel(self.pool(jax.nn.relu(x)))), state

    net, state = eqx.nn.make_with_state(Net)(jax.random.key(0))
    params, rest = eqx.partition(net, eqx.is_inexact_array)

    def loss(params, state, x, y):
        net = eqx.combine(params, rest)
        logits, state = jax.vmap(net, axis_name="batch", in_axes=(0, None),
                                 out_axes=(0, None))(x, state)
        return cross_entropy(logits, y), state

    check("CNN", loss, params, (numbers(16, 1, 8, 8), labels(5, 16)), state, matmuls=2)

    class Reader(eqx.Module):
        embed: eqx.nn.Embedding
        attention: eqx.nn.MultiheadAttention
        norm: eqx.nn.LayerNorm
        cell: eqx.nn.GRUCell
        last: eqx.nn.MLP

        def __init__(self, key):
            keys = jax.random.split(key, 4)
            self.embed = eqx.nn.Embedding(20, 8, key=keys[0])
            self.attention = eqx.nn.MultiheadAttention(2, 8, key=keys[1])
            self.norm = eqx.nn.LayerNorm(8)
            self.cell = eqx.nn.GRUCell(8, 12, key=keys[2])
            self.last = eqx.nn.MLP(12, 4, 16, 1, activation=jax.nn.gelu, key=keys[3])

        def __call__(self, ids):
            x = jax.vmap(self.embed)(ids)
            mask = jnp.tril(jnp.ones((ids.size, ids.size), bool))
            x = jax.vmap(self.norm)(x + self.attention(x, x, x, mask=mask))
            h, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(12, x.dtype), x)
            return self.last(h)

    params, fixed = eqx.partition(Reader(jax.random.key(1)), eqx.is_inexact_array)
    check("reader", lambda params, state, ids, y: (
        cross_entropy(jax.vmap(eqx.combine(params, fixed))(ids), y), state),
          params, (labels(20, 8, 6), labels(4, 8)), matmuls=4 + 6 + 2)

    dropped = eqx.nn.Sequential([eqx.nn.Linear(5, 16, key=jax.random.key(0)),
                                 eqx.nn.Lambda(jax.nn.relu), eqx.nn.Dropout(0.25)])
    params, others = eqx.partition(dropped, eqx.is_inexact_array)
    check("dropout", lambda params, state, x, y, key: (
        jnp.mean((jax.vmap(eqx.combine(params, others))(
            x, key=jax.random.split(key, len(x))) - y)**2), state),
          params, (numbers(8, 5), numbers(8, 16), jax.random.key(2)))


def of_distrax():
    import chex
    import distrax

    @chex.dataclass(frozen=True)
    class Params:
        encoder: dict
        decoder: dict
        prior: chex.Array

    def dense(n, m):
        return {"w": numbers(n, m) / n**0.5, "b": numbers(m) / 10}

    def apply(layer, x):
        return x @ layer["w"] + layer["b"]

    def bound(params, state, x, noise):
        chex.assert_shape(x, (16, 12))
        chex.assert_equal_shape([params.encoder["b"], params.decoder["w"][:, 0].repeat(2)])
        mean, scale = jnp.split(apply(params.encoder, x), 2, -1)
        posterior = distrax.MultivariateNormalDiag(mean, jax.nn.softplus(scale) + 0.1)
        z = mean + (jax.nn.softplus(scale) + 0.1) * noise
        prior = distrax.MixtureSameFamily(
            distrax.Categorical(logits=params.prior[:, 0]),
            distrax.Independent(distrax.Normal(params.prior[:, 1:5], 1 + params.prior[:, 5:]**2), 1))
        pixels = distrax.Independent(distrax.Bernoulli(apply(params.decoder, z)), 1)
        chex.assert_rank(z, 2)
        return -jnp.mean(pixels.log_prob(x) + prior.log_prob(z) - posterior.log_prob(z)), state

    params = Params(encoder=dense(12, 8), decoder=dense(4, 12), prior=numbers(3, 9))
    x = (random.random((16, 12)) < 0.5).astype("f")
    check("autoencoder", bound, params, (x, numbers(16, 4)), matmuls=2)

    def flow(params, state, x):
        def couple(layer, x):
            return jnp.tanh(apply(layer[1], jnp.tanh(apply(layer[0], x)))).reshape(*x.shape, 2)

        steps = [distrax.MaskedCoupling(
            jnp.arange(6) % 2 == i % 2,
            lambda x, layer=layer: couple(layer, x),
            lambda p: distrax.ScalarAffine(shift=p[..., 0], log_scale=p[..., 1]))
            for i, layer in enumerate(params)]
        base = distrax.MultivariateNormalDiag(jnp.zeros(6, x.dtype), jnp.ones(6, x.dtype))
        return -distrax.Transformed(base, distrax.Inverse(distrax.Chain(steps))).log_prob(
            x).mean(), state

    check("flow", flow, [[dense(6, 8), dense(8, 12)] for _ in range(3)], (numbers(32, 6),),
          matmuls=6)

    def policy(params, state, x, key):
        chosen, log = distrax.Categorical(logits=apply(params, x)).sample_and_log_prob(seed=key)
        return -jnp.mean(jnp.where(chosen > 1, 1.0, -0.5) * log), state

    check("policy", policy, dense(5, 4), (numbers(16, 5), jax.random.key(3)))


{"haiku": of_haiku, "equinox": of_equinox, "distrax": of_distrax}[sys.argv[1]]()
