"""Training steps in JAX: step(state, batch) -> (state, loss), every float f32.

A step is TrainStep(initial state by seed, batch by seed and number, step).
The data are seeded and made here; each task can be learnt well above chance in
a hundred steps, so that a wrong step shows.
"""

import math
from dataclasses import dataclass
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax


@dataclass
class TrainStep:
    state: Callable[[int], Any]  # seed -> state
    batch: Callable[[int, int], Any]  # seed, number of the step -> batch
    step: Callable[[Any, Any], Any]  # (state, batch) -> (state, loss)


def dense(rng, rows, columns):
    weights = rng.normal(size=(rows, columns)) * math.sqrt(2.0 / rows)
    return {"w": weights.astype(np.float32), "b": np.zeros(columns, np.float32)}


def linear(p, x):
    return x @ p["w"] + p["b"]


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def with_optimizer(optimizer, loss):
    """step for a loss of (parameters, batch), by optax."""

    def step(state, batch):
        parameters, slots = state
        value, gradients = jax.value_and_grad(loss)(parameters, batch)
        updates, slots = optimizer.update(gradients, slots, parameters)
        return (optax.apply_updates(parameters, updates), slots), value

    return step


def templates(classes, shape):
    """What tells the classes of image tasks apart; the same for every seed."""
    return np.random.default_rng(7).normal(size=(classes,) + shape).astype(np.float32)


def image_batch(shape, classes, count, noise):
    def batch(seed, number):
        rng = np.random.default_rng([seed, number])
        labels = rng.integers(classes, size=count).astype(np.int32)
        images = templates(classes, shape)[labels] + noise * rng.normal(size=(count,) + shape)
        return {"x": images.astype(np.float32), "y": labels}

    return batch


def mlp():
    """Two tanh layers learn (sin, cos); hand-written Adam."""

    def initial(seed):
        rng = np.random.default_rng(seed)
        p = [dense(rng, 1, 64), dense(rng, 64, 64), dense(rng, 64, 2)]
        zeros = jax.tree.map(np.zeros_like, p)
        return {"p": p, "m": zeros, "v": zeros, "t": np.float32(0)}

    def batch(seed, number):
        x = np.random.default_rng([seed, number]).uniform(-3, 3, size=(256, 1))
        y = np.concatenate([np.sin(x), np.cos(x)], axis=1)
        return {"x": x.astype(np.float32), "y": y.astype(np.float32)}

    def loss(p, batch):
        h = jnp.tanh(linear(p[0], batch["x"]))
        h = jnp.tanh(linear(p[1], h))
        return jnp.mean((linear(p[2], h) - batch["y"]) ** 2)

    def step(state, batch):
        value, g = jax.value_and_grad(loss)(state["p"], batch)
        t = state["t"] + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["v"], g)
        rate = 3e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        p = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), state["p"], m, v)
        return {"p": p, "m": m, "v": v, "t": t}, value

    return TrainStep(initial, batch, step)


def cnn():
    """Two convolutions with batch norm and running statistics; SGD with momentum."""
    channels = (8, 16)

    def initial(seed):
        rng = np.random.default_rng(seed)
        p, running, before = {}, {}, 1
        for i, after in enumerate(channels):
            kernel = rng.normal(size=(3, 3, before, after)) * math.sqrt(2.0 / (9 * before))
            p[f"conv{i}"] = {"w": kernel.astype(np.float32), "gamma": np.ones(after, np.float32),
                             "beta": np.zeros(after, np.float32)}
            running[f"conv{i}"] = {"mean": np.zeros(after, np.float32),
                                   "variance": np.ones(after, np.float32)}
            before = after
        p["head"] = dense(rng, 3 * 3 * before, 10)
        return p, running, jax.tree.map(np.zeros_like, p)

    def loss(p, running, batch):
        h, statistics = batch["x"], {}
        for name in sorted(running):
            h = lax.conv_general_dilated(h, p[name]["w"], (1, 1), "SAME",
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
            mean, variance = h.mean((0, 1, 2)), h.var((0, 1, 2))
            statistics[name] = {
                "mean": 0.9 * running[name]["mean"] + 0.1 * mean,
                "variance": 0.9 * running[name]["variance"] + 0.1 * variance}
            h = (h - mean) * lax.rsqrt(variance + 1e-5) * p[name]["gamma"] + p[name]["beta"]
            h = lax.reduce_window(jax.nn.relu(h), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                                  "VALID")
        logits = linear(p["head"], h.reshape(h.shape[0], -1))
        return cross_entropy(logits, batch["y"]), statistics

    def step(state, batch):
        p, running, momentum = state
        (value, running), g = jax.value_and_grad(loss, has_aux=True)(p, running, batch)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, g)
        return (jax.tree.map(lambda p, m: p - 0.01 * m, p, momentum), running, momentum), value

    return TrainStep(initial, image_batch((12, 12, 1), 10, 32, 2.0), step)


def lstm():
    """An LSTM by lax.scan reads numbers and tells the class of their first three."""
    width, length = 32, 12
    optimizer = optax.adam(1e-2)

    def initial(seed):
        rng = np.random.default_rng(seed)
        p = {"cell": dense(rng, 1 + width, 4 * width), "head": dense(rng, width, 8)}
        p["cell"]["w"] *= np.float32(0.5)
        return p, optimizer.init(p)

    def batch(seed, number):
        x = np.random.default_rng([seed, number]).normal(size=(64, length, 1))
        y = (x[:, :3, 0] > 0) @ np.array([1, 2, 4])
        return {"x": x.astype(np.float32), "y": y.astype(np.int32)}

    def loss(p, batch):
        def cell(carry, x):
            c, h = carry
            i, f, g, o = jnp.split(linear(p["cell"], jnp.concatenate([x, h], axis=-1)), 4, axis=-1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (c, jax.nn.sigmoid(o) * jnp.tanh(c)), None

        zeros = jnp.zeros((batch["x"].shape[0], width))
        (_, h), _ = lax.scan(cell, (zeros, zeros), batch["x"].swapaxes(0, 1))
        return cross_entropy(linear(p["head"], h), batch["y"])

    return TrainStep(initial, batch, with_optimizer(optimizer, loss))


def gpt():
    """A decoder by lax.scan over its layers, on sequences of a Markov chain; AdamW, clipped."""
    layers, width, heads, length, vocabulary = 2, 32, 2, 16, 24
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3, weight_decay=0.01))
    follows = np.random.default_rng(7).integers(vocabulary, size=(vocabulary, 3))

    def initial(seed):
        rng = np.random.default_rng(seed)

        def stacked(rows, columns):
            parts = [dense(rng, rows, columns) for _ in range(layers)]
            return jax.tree.map(lambda *values: 0.5 * np.stack(values), *parts)

        norm = {"g": np.ones((layers, width), np.float32), "b": np.zeros((layers, width), np.float32)}
        p = {"embed": (0.1 * rng.normal(size=(vocabulary, width))).astype(np.float32),
             "position": (0.1 * rng.normal(size=(length, width))).astype(np.float32),
             "blocks": {"norm0": norm, "norm1": norm, "qkv": stacked(width, 3 * width),
                        "out": stacked(width, width), "up": stacked(width, 4 * width),
                        "down": stacked(4 * width, width)},
             "head": dense(rng, width, vocabulary)}
        return p, optimizer.init(p)

    def batch(seed, number):
        rng = np.random.default_rng([seed, number])
        tokens = [rng.integers(vocabulary, size=8)]
        for _ in range(length):
            tokens.append(follows[tokens[-1], rng.choice(3, size=8, p=[0.7, 0.2, 0.1])])
        return {"tokens": np.stack(tokens, axis=1).astype(np.int32)}

    def normalize(p, x):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * p["g"] + p["b"]

    def block(h, p):
        count = h.shape[0]
        q, k, v = (part.reshape(count, length, heads, -1) for part in
                   jnp.split(linear(p["qkv"], normalize(p["norm0"], h)), 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width // heads)
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores,
                           jnp.finfo(jnp.float32).min)
        context = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
        h = h + linear(p["out"], context.reshape(count, length, width))
        return h + linear(p["down"], jax.nn.gelu(linear(p["up"], normalize(p["norm1"], h)))), None

    def loss(p, batch):
        tokens = batch["tokens"]
        h = p["embed"][tokens[:, :-1]] + p["position"]
        h, _ = lax.scan(block, h, p["blocks"])
        return cross_entropy(linear(p["head"], h), tokens[:, 1:])

    return TrainStep(initial, batch, with_optimizer(optimizer, loss))


def residual(layers, width, classes):
    """Parameters and forward function of a residual network of GELU blocks."""

    def initial(seed):
        rng = np.random.default_rng(seed)
        blocks = [{"up": dense(rng, width, 2 * width), "down": dense(rng, 2 * width, width)}
                  for _ in range(layers)]
        for block in blocks:
            block["down"]["w"] *= np.float32(0.3)
        head = dense(rng, width, classes)
        head["w"] *= np.float32(0.1)
        return {"in": dense(rng, 64, width), "blocks": blocks, "head": head}

    def block(p, h):
        return h + linear(p["down"], jax.nn.gelu(linear(p["up"], h), approximate=False))

    return initial, block


def checkpoint():
    """Residual blocks under jax.checkpoint; Adam."""
    optimizer = optax.adam(1e-3)
    parameters, block = residual(3, 48, 10)

    def initial(seed):
        p = parameters(seed)
        return p, optimizer.init(p)

    def loss(p, batch):
        h = linear(p["in"], batch["x"])
        for part in p["blocks"]:
            h = jax.checkpoint(block)(part, h)
        return cross_entropy(linear(p["head"], h), batch["y"])

    return TrainStep(initial, image_batch((64,), 10, 64, 3.0), with_optimizer(optimizer, loss))


def dropout():
    """Dropout from a threefry key that the state carries; Adam."""
    optimizer = optax.adam(1e-3)
    parameters, block = residual(2, 48, 10)

    def initial(seed):
        p = parameters(seed)
        return p, optimizer.init(p), np.array([0, seed], np.uint32)

    def loss(p, batch, key):
        h = linear(p["in"], batch["x"])
        for part in p["blocks"]:
            key, own = jax.random.split(key)
            h = block(part, h)
            h = jnp.where(jax.random.bernoulli(own, 0.9, h.shape), h / 0.9, 0.0)
        return cross_entropy(linear(p["head"], h), batch["y"])

    def step(state, batch):
        p, slots, key = state
        key, own = jax.random.split(key)
        value, g = jax.value_and_grad(loss)(p, batch, own)
        updates, slots = optimizer.update(g, slots, p)
        return (optax.apply_updates(p, updates), slots, key), value

    return TrainStep(initial, image_batch((64,), 10, 64, 3.0), step)


STEPS = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "gpt": gpt, "checkpoint": checkpoint,
         "dropout": dropout}
