"""Optimizers of optax in a step of mpt.jax: parameters and state after some steps equal JAX's in
f64, as closely as JAX's in f32 do, times 8."""
import inspect
import os
import pickle
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
        # SAM's update takes no more arguments, whatever its type says.
        takes_more = any(p.kind == p.VAR_KEYWORD for p in
                         inspect.signature(optimizer.update).parameters.values())
        state = optimizer.init(params)
        for x, y in batches:
            value, gradients = jax.value_and_grad(loss)(params, *cast((x, y)))
            more = {"value": value, "grad": gradients} if takes_more else {}
            updates, state = optimizer.update(gradients, state, params, **more)
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
check("apply_if_finite", lambda: optax.apply_if_finite(optax.adam(1e-2), 3))
check("masked", lambda: optax.masked(optax.adam(1e-2), {"a": {"w": True, "b": False}, "c": True}))
check("inject_hyperparams", lambda: optax.inject_hyperparams(optax.adamw)(
    learning_rate=optax.cosine_decay_schedule(1e-2, 6), weight_decay=0.1))
check("ema", lambda: optax.chain(optax.sgd(1e-2), optax.ema(0.9)))
check("sam", lambda: optax.contrib.sam(
    optax.sgd(1e-2), optax.chain(optax.contrib.normalize(), optax.sgd(0.05)), sync_period=2))

# Their updates read the loss, and gradients before others changed them.
check("polyak", lambda: optax.polyak_sgd())
check("plateau", lambda: optax.chain(
    optax.adam(1e-2), optax.contrib.reduce_on_plateau(patience=1, factor=0.5, atol=100.0)))
check("momo", lambda: optax.contrib.momo_adam())
check("lbfgs", lambda: optax.lbfgs(0.05, linesearch=None))
check("accumulated", lambda: optax.MultiSteps(optax.polyak_sgd(), 2))
check("condition", lambda: optax.conditionally_transform(
    optax.sgd(0.1), lambda _, value, **more: value < 4, forward_extra_args=True))


def by_own_names():
    def update(gradients, state, params, *, value):
        return jax.tree.map(lambda g: -0.01 * value * g, gradients), state

    return optax.GradientTransformation(lambda params: (), update)


def by_other_names():
    return optax.GradientTransformationExtraArgs(
        lambda params: (), lambda gradients, state, params, **more: (
            jax.tree.map(lambda g: -0.01 * more["value"] * g, more["grad"]), state))


steps = [mpt.jax.train_step(loss, start, batches[0], make())
         for make in (by_own_names, by_other_names)]
for batch in batches:
    for step in steps:
        step(*batch)
print("names:", (flatten(steps[0].params) == flatten(steps[1].params)).all(),
      abs(flatten(steps[0].params) - flatten(start)).max() > 1e-3)
# The loss has no scale.
check("polyak", lambda: optax.polyak_sgd(), "f16")
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

# JAX's state goes on in a step.
make = lambda: optax.chain(optax.add_noise(0.1, 0.55, jax.random.key(0)), optax.adam(1e-2))
optimizer, params = make(), jax.tree.map(jnp.asarray, start)
state, kept = optimizer.init(params), None
for number, batch in enumerate(batches):
    if number == 3:
        key, adam = state
        kept = params, pickle.dumps(adam), key
    updates, state = optimizer.update(jax.grad(loss)(params, *batch), state, params)
    params = optax.apply_updates(params, updates)
step = mpt.jax.train_step(loss, kept[0], batches[0], make())
step.opt_state = kept[2], pickle.loads(kept[1])
for batch in batches[3:]:
    step(*batch)
print("resumed:", numpy.allclose(flatten(step.params, step.opt_state[1]),
                                 flatten(params, state[1]), rtol=1e-5, atol=1e-6),
      jax.random.key_data(step.opt_state[0].rng_key).tolist()
      == jax.random.key_data(state[0].rng_key).tolist())

# The host changes the rate.
make = lambda: optax.inject_hyperparams(optax.adam)(learning_rate=1e-2)
optimizer, params = make(), jax.tree.map(jnp.asarray, start)
state = optimizer.init(params)
step = mpt.jax.train_step(loss, start, batches[0], make())
print("rate:", step.lr)
for number, batch in enumerate(batches):
    rate = 1e-2 / (number + 1)
    state.hyperparams["learning_rate"] = jnp.float32(rate)
    if number < 2:
        step.lr = rate
    elif number < 4:
        step.lr = lambda number: 1e-2 / (number + 1)
    else:
        changed = step.opt_state
        changed.hyperparams["learning_rate"] = jnp.float32(rate)
        step.lr = 1.0
        step.opt_state = changed
    updates, state = optimizer.update(jax.grad(loss)(params, *batch), state, params)
    params = optax.apply_updates(params, updates)
    step(*batch)
print("rates:", numpy.allclose(flatten(step.params, step.opt_state), flatten(params, state),
                               rtol=1e-5, atol=1e-6), step.lr)

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


refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.lbfgs()))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.chain(
    optax.sgd(1.0), optax.scale_by_backtracking_linesearch(5))))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.contrib.sophia(1e-2)))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.masked(optax.sgd(0.1), [True])))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.lion(1e-3), lr=0.1))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.lion(1e-3),
                                   optimizer_state="bf16"))
refused(lambda: setattr(step, "lr", 0.1))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], optax.inject_hyperparams(optax.adam)(
    learning_rate=optax.constant_schedule(0.1))).lr)
before = step.opt_state
refused(lambda: setattr(step, "opt_state", optax.sgd(0.1, momentum=0.9).init(start)))
refused(lambda: setattr(step, "opt_state", jax.tree.map(lambda v: v[..., None], before)))
refused(lambda: setattr(step, "opt_state", jax.tree.map(lambda v: v.astype("float16"), before)))
print("kept:", (flatten(step.opt_state) == flatten(before)).all())
noisy = mpt.jax.train_step(loss, start, batches[0], optax.noisy_sgd(1e-2, key=jax.random.key(3)))
refused(lambda: setattr(noisy, "opt_state", jax.tree.map(
    lambda v: jax.random.key_data(v) if jnp.issubdtype(v.dtype, jax.dtypes.prng_key) else v,
    noisy.opt_state)))
refused(lambda: setattr(mpt.jax.train_step(loss, start, batches[0], "adam"), "opt_state", before))
refused(lambda: mpt.jax.train_step(loss, start, batches[0], "adam").opt_state)

# Numbers are parameters, too.
number = mpt.jax.train_step(lambda p, x, y: ((x @ p["w"] + p["b"] - y) ** 2).mean(),
                            {"w": numpy.ones((5, 3), "f"), "b": 0.5}, batches[0], optax.adam(1e-2))
print("number:", number(*batches[0]).did_step, 0.48 < float(number.params["b"]) < 0.52)

# Of parameters of bfloat16 the optimizer updates f32 masters: by less than bfloat16 holds.
low = jax.tree.map(lambda v: jnp.asarray(v, "bfloat16"), start)
masters = first = jax.tree.map(lambda v: jnp.asarray(v, "float32"), low)
optimizer = optax.rmsprop(1e-4)
state = optimizer.init(masters)
step = mpt.jax.train_step(loss, low, batches[0], optimizer)
for batch in batches:
    gradients = jax.grad(loss)(jax.tree.map(lambda v: jnp.asarray(v, "bfloat16"), masters), *batch)
    changes, state = optimizer.update(jax.tree.map(lambda v: jnp.asarray(v, "float32"), gradients),
                                      state, masters)
    masters = optax.apply_updates(masters, changes)
    step(*batch)
# Its state may come from one of those.
step.opt_state = jax.tree.map(lambda v: jnp.asarray(v, "bfloat16"), step.opt_state)
found = flatten({name: step._read(name) for name in step._names[:step._num_params]})
print("masters:", numpy.linalg.norm(found - flatten(masters))
      < 0.1 * numpy.linalg.norm(flatten(masters) - flatten(first)))
