"""Optimizers of optax in a step of mpt.jax: parameters and state after some steps equal JAX's in
f64, as closely as JAX's in f32 do, times 8."""
import os
import tempfile
import warnings

import jax
import jax.numpy as jnp
import numpy
import optax

import mpt
import mpt.jax

warnings.filterwarnings("ignore")
random = numpy.random.default_rng(0)
start = {"a": {"w": random.standard_normal((5, 7), "f"), "b": numpy.zeros(7, "f")},
         "c": random.standard_normal((7, 3), "f")}
batches = [(random.standard_normal((16, 5), "f"), random.standard_normal((16, 3), "f"))
           for _ in range(6)]


def loss(params, x, y):
    hidden = jnp.tanh(x @ params["a"]["w"] + params["a"]["b"])
    return jnp.mean((hidden @ params["c"] - y) ** 2)


def flatten(*trees):
    return numpy.concatenate([numpy.asarray(leaf, "float64").ravel()
                              for leaf in jax.tree.leaves(trees)])


def train(make, dtype):
    with jax.enable_x64(dtype == "float64"):
        cast = lambda tree: jax.tree.map(lambda v: jnp.asarray(v, dtype), tree)
        optimizer, params = make(), cast(start)
        state = optimizer.init(params)
        for x, y in batches:
            gradients = jax.grad(loss)(params, *cast((x, y)))
            updates, state = optimizer.update(gradients, state, params)
            params = optax.apply_updates(params, updates)
        return flatten(params, state)


def check(name, make, precision="f32"):
    exact, single = train(make, "float64"), train(make, "float32")
    step = mpt.jax.train_step(loss, start, batches[0], make(), precision)
    for number, batch in enumerate(batches):
        if number == 3:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "state.safetensors")
                step.save(path)
                step.load(path)
        assert step(*batch).did_step
    unit = abs(exact - single).max() + 2.0 ** -23 * abs(exact).max()
    error = abs(flatten(step.params, step.opt_state) - exact).max()
    bound = 8 * unit if precision == "f32" else 0.05 * abs(exact).max()
    print(name, precision, "equal" if error <= bound else f"{error:.3g} above {bound:.3g}")


check("adamw", lambda: optax.adamw(1e-2))
check("lion", lambda: optax.lion(1e-3))
check("rmsprop", lambda: optax.rmsprop(1e-2, momentum=0.9))
check("adafactor", lambda: optax.adafactor(1e-2, min_dim_size_to_factor=4))
check("lamb", lambda: optax.lamb(1e-2))
check("chain", lambda: optax.chain(
    optax.clip_by_global_norm(0.5), optax.adam(optax.warmup_cosine_decay_schedule(0, 1e-2, 2, 10)),
    optax.add_decayed_weights(1e-2)))
check("multi_transform", lambda: optax.multi_transform(
    {"x": optax.adam(1e-2), "y": optax.sgd(1e-1)}, {"a": {"w": "x", "b": "y"}, "c": "y"}))
check("MultiSteps", lambda: optax.MultiSteps(optax.adam(1e-2), 2))
check("muon", lambda: optax.contrib.muon(1e-2))
check("prodigy", lambda: optax.contrib.prodigy())
check("schedule_free", lambda: optax.contrib.schedule_free_adamw(1e-2))
check("lion", lambda: optax.lion(1e-3), "bf16")
check("lamb", lambda: optax.lamb(1e-2), "f16")

# Random numbers of the optimizer are JAX's own: its key is state.
step = mpt.jax.train_step(loss, start, batches[0], optax.noisy_sgd(1e-2, key=jax.random.key(3)))
optimizer = optax.noisy_sgd(1e-2, key=jax.random.key(3))
params = jax.tree.map(jnp.asarray, start)
state = optimizer.init(params)
for batch in batches:
    updates, state = optimizer.update(jax.grad(loss)(params, *batch), state, params)
    params = optax.apply_updates(params, updates)
    step(*batch)
print("noise:", numpy.allclose(flatten(step.params), flatten(params), rtol=1e-5, atol=1e-6))

# A step that overflows changes nothing.
step = mpt.jax.train_step(loss, start, batches[0], optax.lion(1e-3), "f16",
                          loss_scale="dynamic init-scale=1e30")
before = flatten(step.params, step.opt_state)
print("skipped:", not step(*batches[0]).did_step,
      (flatten(step.params, step.opt_state) == before).all())


def refused(what):
    try:
        what()
        print("not refused")
    except mpt.Error as error:
        print("refused:", str(error).splitlines()[0])


refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.polyak_sgd()))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.masked(optax.sgd(0.1), [True])))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.lion(1e-3), lr=0.1))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.lion(1e-3),
                                   optimizer_state="bf16"))
refused(lambda: setattr(step, "lr", 0.1))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], "adam").opt_state)
refused(lambda: mpt.jax.train_step(
    loss, jax.tree.map(lambda v: jnp.asarray(v, "bfloat16"), start), batches[0],
    optax.lion(1e-3)))
