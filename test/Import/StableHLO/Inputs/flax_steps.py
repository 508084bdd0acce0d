"""Whole training steps of flax and optax: name -> TrainStep, as in train_steps.py.

Each takes a network, a loss and a chain of optax from those that people train with.
"""
import os
import sys

import jax
import jax.numpy as jnp
import numpy
import optax
from flax import linen as nn
from flax import nnx

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../Integration/JAX"))
from train_steps import TrainStep

entropy = optax.softmax_cross_entropy_with_integer_labels


def images(size, classes, count):
    def batch(seed, number):
        rng = numpy.random.default_rng([seed, number])
        y = rng.integers(classes, size=count).astype("i")
        x = rng.normal(size=(count, size, size, 3)) + y[:, None, None, None] - classes / 2
        return {"x": x.astype("f"), "y": y}
    return batch


def tokens(vocabulary, length, count):
    def batch(seed, number):
        rng = numpy.random.default_rng([seed, number])
        start, step = rng.integers(vocabulary, size=(2, count, 1))
        return {"x": ((start + step * numpy.arange(length + 1)) % vocabulary).astype("i")}
    return batch


def sequences(length, width, classes, count):
    def batch(seed, number):
        rng = numpy.random.default_rng([seed, number])
        y = rng.integers(classes, size=count).astype("i")
        x = rng.normal(size=(count, length, width)) + 0.3 * y[:, None, None]
        return {"x": x.astype("f"), "y": y,
                "n": rng.integers(1, length + 1, size=count).astype("i")}
    return batch


def trained(network, loss, optimizer, batch, key=False, **options):
    """The step of a linen network. `loss(apply, batch, key)`, where `apply(x..)` runs the
    network; its other collections (batch_stats) are state, too."""
    def state(seed):
        first = batch(seed, 0)["x"]
        variables = network.init({"params": jax.random.key(seed), "dropout": jax.random.key(1),
                                  "sample": jax.random.key(2)}, first, **options)
        parameters = variables.pop("params")
        return (parameters, variables, optimizer.init(parameters),
                jax.random.PRNGKey(seed + 3))

    def step(state, batch):
        parameters, rest, slots, random = state
        random, now = jax.random.split(random)

        def value(p):
            changed = []

            def apply(*inputs, **more):
                y, new = network.apply(
                    {"params": p, **rest}, *inputs, mutable=list(rest),
                    rngs={"dropout": now, "sample": jax.random.fold_in(now, 1)},
                    **options, **more)
                changed.append(new)
                return y

            return loss(apply, batch), changed[-1]

        (number, rest), gradients = jax.value_and_grad(value, has_aux=True)(parameters)
        updates, slots = optimizer.update(gradients, slots, parameters)
        return (optax.apply_updates(parameters, updates), rest, slots, random), number

    return TrainStep(state, batch, step)


def classify(apply, batch):
    return entropy(apply(batch["x"]), batch["y"]).mean()


def resnet():
    """Batch statistics, dropout, SGD with Nesterov's momentum, weight decay, warm-up."""
    class Block(nn.Module):
        features: int
        strides: int

        @nn.compact
        def __call__(self, x):
            norm = lambda name, **o: nn.BatchNorm(use_running_average=False, momentum=0.9, name=name, **o)
            y = nn.relu(norm("a")(nn.Conv(self.features, (3, 3), (self.strides,) * 2,
                                          use_bias=False)(x)))
            y = norm("b", scale_init=nn.initializers.zeros)(
                nn.Conv(self.features, (3, 3), use_bias=False)(y))
            if x.shape != y.shape:
                x = norm("c")(nn.Conv(self.features, (1, 1), (self.strides,) * 2,
                                      use_bias=False)(x))
            return nn.relu(x + y)

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(8, (7, 7), (2, 2), padding=[(3, 3), (3, 3)], use_bias=False)(x)
            x = nn.relu(nn.BatchNorm(use_running_average=False)(x))
            x = nn.max_pool(x, (3, 3), (2, 2), padding="SAME")
            x = Block(16, 2)(Block(8, 1)(x))
            x = nn.Dropout(0.2, deterministic=False)(x.mean((1, 2)))
            return nn.Dense(5)(x)

    rate = optax.warmup_cosine_decay_schedule(0.0, 0.05, 4, 30)
    return trained(Network(), classify, optax.chain(
        optax.add_decayed_weights(1e-4, mask=lambda p: jax.tree.map(lambda a: a.ndim > 1, p)),
        optax.sgd(rate, momentum=0.9, nesterov=True)), images(32, 5, 8))


def mixer():
    """MLP-Mixer with Lion and clipping by the global norm."""
    class Mlp(nn.Module):
        width: int

        @nn.compact
        def __call__(self, x):
            return nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(self.width)(x)))

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(16, (4, 4), (4, 4), padding="VALID")(x)
            x = x.reshape(x.shape[0], -1, 16)
            for _ in range(2):
                y = nn.LayerNorm()(x).swapaxes(1, 2)
                x = x + Mlp(32)(y).swapaxes(1, 2)
                x = x + Mlp(32)(nn.LayerNorm()(x))
            return nn.Dense(5)(nn.LayerNorm()(x).mean(1))

    return trained(Network(), classify, optax.chain(
        optax.clip_by_global_norm(1.0), optax.lion(1e-3, weight_decay=0.01)), images(16, 5, 8))


def scanned_lstm():
    """Two layers of nn.scan over LSTM cells, one backward; lengths select the last state;
    adafactor."""
    class Network(nn.Module):
        @nn.compact
        def __call__(self, x, n):
            cell = nn.scan(nn.LSTMCell, variable_broadcast="params",
                           split_rngs={"params": False}, in_axes=1, out_axes=1)
            forward = nn.LSTMCell(16, parent=None)
            carry = forward.initialize_carry(jax.random.key(0), x[:, 0].shape)
            _, x = cell(16)(carry, x)
            x = nn.Bidirectional(nn.RNN(nn.GRUCell(8)), nn.RNN(nn.GRUCell(8)))(
                x, seq_lengths=n)
            last = jnp.take_along_axis(x, (n - 1)[:, None, None], 1)[:, 0]
            return nn.Dense(3)(last)

    step = trained(Network(), lambda apply, b: entropy(apply(b["x"], b["n"]), b["y"]).mean(),
                   optax.adafactor(1e-2, min_dim_size_to_factor=8), sequences(7, 5, 3, 6))
    first = step.state

    def state(seed):
        b = sequences(7, 5, 3, 6)(seed, 0)
        parameters = Network().init(jax.random.key(seed), b["x"], b["n"])["params"]
        return (parameters, {}, optax.adafactor(1e-2, min_dim_size_to_factor=8).init(parameters),
                jax.random.PRNGKey(0))
    return TrainStep(state, step.batch, step.step)


def gru_nnx():
    """nnx: a GRU over time with an embedding, AdamW with a mask and gradient clipping by
    value."""
    class Network(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(11, 16, rngs=rngs)
            self.rnn = nnx.RNN(nnx.GRUCell(16, 16, rngs=rngs))
            self.out = nnx.Linear(16, 11, rngs=rngs)

        def __call__(self, x):
            return self.out(self.rnn(self.embed(x)))

    graph, first = nnx.split(Network(nnx.Rngs(0)))
    optimizer = optax.chain(optax.clip(0.1), optax.adamw(3e-3, mask=lambda p: jax.tree.map(
        lambda a: a.ndim > 1, p)))
    pure = nnx.to_pure_dict(first.filter(nnx.Param))
    other = nnx.to_pure_dict(first.filter(nnx.Not(nnx.Param)))

    def step(state, batch):
        parameters, slots = state

        def loss(p):
            whole = nnx.State.merge(nnx.State(p), nnx.State(other)) if other else nnx.State(p)
            network = nnx.merge(graph, whole)
            return entropy(network(batch["x"][:, :-1]), batch["x"][:, 1:]).mean()

        value, gradients = jax.value_and_grad(loss)(parameters)
        updates, slots = optimizer.update(gradients, slots, parameters)
        return (optax.apply_updates(parameters, updates), slots), value

    return TrainStep(lambda seed: (pure, optimizer.init(pure)), tokens(11, 8, 6), step)


def remat_gpt():
    """nn.scan over layers of nn.remat, dropout in attention, tied head, label smoothing,
    LAMB."""
    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x, _):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(
                4, dropout_rate=0.1, deterministic=False)(y, mask=nn.make_causal_mask(y[..., 0]))
            y = nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))
            return x + nn.Dropout(0.1, deterministic=False)(y), None

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            embed = nn.Embed(17, 32)
            h = embed(x) + nn.Embed(12, 32)(jnp.arange(x.shape[1]))
            layers = nn.scan(nn.remat(Layer), variable_axes={"params": 0},
                             split_rngs={"params": True, "dropout": True}, length=3)
            h, _ = layers()(h, None)
            return embed.attend(nn.LayerNorm()(h))

    def loss(apply, batch):
        x, y = batch["x"][:, :-1], batch["x"][:, 1:]
        labels = optax.smooth_labels(jax.nn.one_hot(y, 17), 0.1)
        return optax.softmax_cross_entropy(apply(x), labels).mean()

    network = Network()
    step = trained(network, loss, optax.lamb(1e-2), tokens(17, 12, 4))

    def state(seed):
        parameters = network.init({"params": jax.random.key(seed), "dropout": jax.random.key(1)},
                                  step.batch(seed, 0)["x"][:, :-1])["params"]
        return (parameters, {}, optax.lamb(1e-2).init(parameters), jax.random.PRNGKey(0))
    return TrainStep(state, step.batch, step.step)


def vae():
    """A convolutional VAE: transposed convolutions, a sampled latent, an EMA of parameters."""
    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.relu(nn.Conv(8, (3, 3), (2, 2))(x))
            h = nn.relu(nn.Conv(16, (3, 3), (2, 2))(h)).reshape(x.shape[0], -1)
            mean, log_var = nn.Dense(6)(h), nn.Dense(6)(h)
            z = mean + jnp.exp(0.5 * log_var) * jax.random.normal(self.make_rng("sample"),
                                                                  mean.shape)
            h = nn.relu(nn.Dense(4 * 4 * 16)(z)).reshape(-1, 4, 4, 16)
            h = nn.relu(nn.ConvTranspose(8, (3, 3), (2, 2))(h))
            return nn.ConvTranspose(3, (3, 3), (2, 2))(h), mean, log_var

    def loss(apply, batch):
        x = jax.nn.sigmoid(batch["x"])
        y, mean, log_var = apply(x)
        divergence = -0.5 * (1 + log_var - mean ** 2 - jnp.exp(log_var)).sum(-1)
        return (optax.sigmoid_binary_cross_entropy(y, x).sum((1, 2, 3)) + divergence).mean()

    return trained(Network(), loss, optax.chain(optax.adam(1e-3), optax.ema(0.9)),
                   images(16, 4, 6))


def gan():
    """Two losses, two optimizers, spectral norm of the critic."""
    class Generator(nn.Module):
        @nn.compact
        def __call__(self, z):
            h = nn.leaky_relu(nn.GroupNorm(4)(nn.Dense(32)(z)))
            return jnp.tanh(nn.Dense(8)(h))

    class Critic(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.leaky_relu(nn.Dense(32)(x), 0.2))[:, 0]

    g, c = Generator(), Critic()
    first, second = optax.adam(1e-3, b1=0.5), optax.rmsprop(1e-3)

    def state(seed):
        p = g.init(jax.random.key(seed), jnp.zeros((1, 4)))
        q = c.init(jax.random.key(seed + 1), jnp.zeros((1, 8)))
        return p, q, first.init(p), second.init(q), jax.random.PRNGKey(seed)

    def step(state, batch):
        p, q, slots, others, key = state
        key, a, b = jax.random.split(key, 3)
        real = jnp.tanh(batch["x"])

        def critic(q):
            fake = g.apply(p, jax.random.truncated_normal(a, -2, 2, (real.shape[0], 4)))
            mix = jax.random.uniform(b, (real.shape[0], 1))
            penalty = jax.vmap(jax.grad(lambda x: c.apply(q, x[None])[0]))(
                mix * real + (1 - mix) * fake)
            return (jax.nn.softplus(c.apply(q, fake)).mean() +
                    jax.nn.softplus(-c.apply(q, real)).mean() +
                    10 * ((jnp.linalg.norm(penalty, axis=1) - 1) ** 2).mean())

        lost, gradients = jax.value_and_grad(critic)(q)
        updates, others = second.update(gradients, others, q)
        q = optax.apply_updates(q, updates)
        won, gradients = jax.value_and_grad(lambda p: jax.nn.softplus(
            -c.apply(q, g.apply(p, jax.random.normal(b, (real.shape[0], 4))))).mean())(p)
        updates, slots = first.update(gradients, slots, p)
        return (optax.apply_updates(p, updates), q, slots, others, key), lost + won

    def batch(seed, number):
        return {"x": numpy.random.default_rng([seed, number]).normal(size=(16, 8)).astype("f")}
    return TrainStep(state, batch, step)


def accumulated():
    """MultiSteps around apply_if_finite around AdamW with groups of parameters."""
    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.WeightNorm(nn.Dense(16))(x.reshape(x.shape[0], -1))
            return nn.Dense(5)(nn.RMSNorm()(nn.silu(x)))

    groups = optax.multi_transform(
        {"kernel": optax.adamw(1e-2), "other": optax.sgd(1e-2)},
        lambda p: jax.tree_util.tree_map_with_path(
            lambda path, _: "kernel" if path[-1].key == "kernel" else "other", p))
    optimizer = optax.MultiSteps(optax.apply_if_finite(groups, 3), 2).gradient_transformation()
    return trained(Network(), classify, optimizer, images(8, 5, 8))


def segmenter():
    """A U-Net: resizing, group and instance norm, channels' dropout, focal loss, noisy SGD
    with adaptive clipping."""
    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            a = nn.relu(nn.GroupNorm(2)(nn.Conv(8, (3, 3))(x)))
            b = nn.avg_pool(a, (2, 2), (2, 2))
            b = nn.elu(nn.InstanceNorm()(nn.Conv(16, (3, 3), kernel_dilation=2)(b)))
            b = nn.Dropout(0.3, broadcast_dims=(1, 2), deterministic=False)(b)
            b = jax.image.resize(b, (*a.shape[:3], 16), "bilinear")
            c = jax.image.resize(-nn.max_pool(-a, (2, 2), (2, 2)), a.shape, "nearest")
            h = jnp.concatenate([a, b, c], -1)
            h = nn.Conv(16, (3, 3), feature_group_count=4)(h)
            return nn.Conv(1, (1, 1))(nn.swish(h))[..., 0]

    def loss(apply, batch):
        target = (batch["x"].mean(-1) > 0).astype(jnp.float32)
        return optax.sigmoid_focal_loss(apply(batch["x"]), target, alpha=0.6).mean()

    return trained(Network(), loss, optax.chain(
        optax.adaptive_grad_clip(0.05), optax.noisy_sgd(0.1, eta=1e-4, seed=5)), images(8, 4, 4))


def mixture():
    """Experts chosen by top_k, sort and scatter; segment sums, a router's loss, adagrad."""
    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Dense(16)(x.reshape(-1, x.shape[-1]))
            gates = jax.nn.softmax(nn.Dense(4)(x))
            weights, chosen = jax.lax.top_k(gates, 2)
            flat = chosen.reshape(-1)
            order = jnp.argsort(flat)
            position = jnp.cumsum(jax.nn.one_hot(flat[order], 4, dtype=jnp.int32), 0)
            place = jnp.take_along_axis(position, flat[order][:, None], 1)[:, 0] - 1
            buffer = jnp.zeros((4, 24, 16)).at[flat[order], place].set(
                x[order // 2], mode="drop")
            kernel = self.param("experts", nn.initializers.lecun_normal(), (4, 16, 16))
            out = nn.relu(jnp.einsum("ecd,edf->ecf", buffer, kernel))
            back = out.at[flat[order], place].get(mode="fill", fill_value=0)
            back = back * weights.reshape(-1)[order][:, None]
            y = jax.ops.segment_sum(back, order // 2, num_segments=x.shape[0])
            load = jnp.bincount(flat, length=4) / flat.size
            return nn.Dense(3)(x + y), 4 * (load * gates.mean(0)).sum()

    def loss(apply, batch):
        y, router = apply(batch["x"])
        y = y.reshape(*batch["x"].shape[:2], -1).mean(1)
        return entropy(y, batch["y"]).mean() + 0.01 * router

    return trained(Network(), loss, optax.adagrad(0.1), sequences(7, 5, 3, 3))


def retrieval():
    """Contrastive: a ranking loss with sort, percentile, searchsorted, roll; adamax and a
    schedule by steps."""
    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.Dense(16)(x.mean(1))
            return h / jnp.linalg.norm(h, axis=-1, keepdims=True)

    def loss(apply, batch):
        h = apply(batch["x"])
        scores = h @ h.T * 5
        labels = jnp.arange(h.shape[0])
        hard = jnp.sort(scores, axis=1)[:, -3:].sum()
        bound = jnp.percentile(scores, 80, axis=1)
        grid = jnp.searchsorted(jnp.linspace(-5, 5, 11), scores)
        margin = jnp.maximum(0, 1 + jnp.roll(scores, 1, 1) - scores).mean()
        extra = optax.huber_loss(bound, 0.5).mean() + 1e-3 * (grid * scores).mean()
        return entropy(scores, labels).mean() + 0.01 * hard + margin + extra

    return trained(Network(), loss, optax.adamax(optax.piecewise_constant_schedule(
        1e-2, {5: 0.5, 10: 0.1})), sequences(7, 5, 3, 6))


def volume():
    """Convolutions over one and three dimensions with groups and dilation, min-pooling,
    nadam."""
    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            v = x.reshape(x.shape[0], 4, 8, 8, 3)
            v = nn.relu(nn.Conv(6, (3, 3, 3), (1, 2, 2), feature_group_count=3)(v))
            v = nn.max_pool(v, (2, 2, 2), (2, 1, 1), padding="SAME")
            s = x.reshape(x.shape[0], 32, 24)
            s = nn.Conv(12, (3,), kernel_dilation=(2,), feature_group_count=4, padding="CAUSAL")(s)
            s = jax.lax.reduce_window(s, jnp.inf, jax.lax.min, (1, 3, 1), (1, 2, 1), "SAME")
            return nn.Dense(5)(jnp.concatenate([v.mean((1, 2, 3)), s.mean(1)], -1))

    return trained(Network(), classify, optax.nadamw(3e-3), images(16, 5, 6))


def looped():
    """fori_loop, while_loop, lax.cond, checkpoint and associative scans: a linear
    state-space model, Yogi."""
    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            a = jax.nn.sigmoid(self.param("decay", nn.initializers.normal(), (16,)))
            u = nn.Dense(16)(x)
            pairs = jnp.broadcast_to(a, u.shape), u
            join = lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1])
            h = jax.lax.associative_scan(join, pairs, axis=1)[1]
            w = self.param("mix", nn.initializers.lecun_normal(), (16, 16))
            h = jax.lax.fori_loop(0, 3, lambda i, v: jnp.tanh(v @ w) + v / (i + 1), h)
            h = jax.checkpoint(lambda v: jnp.sin(v) * jax.lax.cumprod(
                1 + 0.01 * v, axis=1))(h)
            return nn.Dense(3)(h.max(1) + jax.lax.cummax(h, axis=1).mean(1))

    return trained(Network(), classify, optax.yogi(1e-2), sequences(7, 5, 3, 6))


STEPS = {f.__name__: f for f in (
    resnet, mixer, scanned_lstm, gru_nnx, remat_gpt, vae, gan, accumulated, segmenter, mixture,
    retrieval, volume, looped)}
