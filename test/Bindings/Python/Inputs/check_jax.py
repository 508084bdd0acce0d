"""mpt.jax: losses of flax networks trained by MPT, and JAX's own steps in mixed precision."""
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ["JAX_PLATFORMS"] = "cpu"
# Two devices; each convert rounds.
os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") +
                           " --xla_allow_excess_precision=false "
                           "--xla_force_host_platform_device_count=2")

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy
import optax

import mpt.jax


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(8, (3, 3))(x))
        x = nn.BatchNorm(use_running_average=False)(x)
        return nn.Dense(10)(x.reshape(x.shape[0], -1))


rng = numpy.random.default_rng(0)
x = rng.normal(size=(16, 8, 8, 1)).astype("f")
y = rng.integers(10, size=16).astype("i")
net = Net()
variables = jax.jit(net.init)(jax.random.key(0), x)
params, state = variables["params"], {"batch_stats": variables["batch_stats"]}


def loss(params, state, x, y):
    logits, new = net.apply({"params": params, **state}, x, mutable=["batch_stats"])
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), dict(new)


rate = optax.cosine_decay_schedule(1e-2, 10)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.01))


def whole(params, moments, state, x, y):
    (value, state), gradients = jax.value_and_grad(loss, has_aux=True)(params, state, x, y)
    updates, moments = optimizer.update(gradients, moments, params)
    return optax.apply_updates(params, updates), moments, state, value


def train(step, steps=5):
    """Losses and the last state of a step of JAX."""
    held = jax.tree.map(jnp.array, (params, jax.jit(optimizer.init)(params), state))
    losses = []
    for _ in range(steps):
        before = held
        *held, value = step(*held, x, y)
        losses.append(float(value))
    return losses, held, before


def distance(a, b):
    """The largest difference of two trees' leaves, each divided by that leaf's size."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    pairs = zip(*(map(numpy.asarray, jax.tree.leaves(tree)) for tree in (a, b)))
    return max(float(numpy.linalg.norm(p - q) / (numpy.linalg.norm(q) + 1e-3)) for p, q in pairs)


def verdict(value, bound):
    return "equal" if value < bound else f"DIFFER {value:.1e}"


def train_step():
    expected, (theirs, _, their_state), _ = train(jax.jit(whole))
    gradient = jax.jit(jax.grad(loss, has_aux=True))(params, state, x, y)[0]
    norm = float(jax.jit(optax.global_norm)(gradient))
    for precision, bound in ("f32", 1e-3), ("bf16", 0.05), ("f16", 0.02):
        step = mpt.jax.train_step(loss, params, (x, y), "adamw weight-decay=0.01", precision,
                                  state=state, lr=rate, clip_norm=1.0)
        results = [step(x, y) for _ in range(5)]
        gap = numpy.max(numpy.abs(numpy.subtract([r.loss for r in results], expected)))
        print(f"{precision}: losses {verdict(gap, bound)}, parameters "
              f"{verdict(distance(step.params, theirs), 20 * bound)}, statistics "
              f"{verdict(distance(step.state, their_state), bound)}")
        assert all(r.did_step for r in results) and abs(step.lr - float(rate(5))) < 1e-9
        assert abs(results[0].grad_norm - norm) < bound * norm, (results[0].grad_norm, norm)
    # Another shape, the files, and the reports.
    assert step(x[:8], y[:8]).loss > 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.safetensors")
        step.save(path)
        file = step.export(os.path.join(folder, "step.so"))
        later = step(x, y).loss
        step.load(path)
        print("saved and loaded:", step(x, y).loss == later)
        program = mpt.Program.open(file)
        program.initialize()
        program.bind("x", x), program.bind("y", y)
        # The file has the rate of the step that came next.
        program.run()
        print("as a file:", memoryview(program.read("loss"))[()] == later)
    print("explains:", len(step.explain("convolution|conv2d|dot|matmul")) > 0,
          "reports:", "arena" in str(step.memory_report()))
    with step.profile() as profile:
        step(x, y)
    print("profiled:", profile.data["steps"], len(profile.data["instructions"]) > 0)

    # A dictionary of results, names for the batch, what no parameter is.
    def named(params, image, label):
        logits = image.reshape(len(image), -1) @ params["w"]
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, label)
        return losses.mean(), {"accuracy": (logits.argmax(1) == label).mean(), "losses": losses}

    weights = {"w": numpy.zeros((64, 10), "f"), "unused": numpy.ones(3, "f")}
    step = mpt.jax.train_step(named, weights, {"image": x, "label": y}, "sgd", lr=0.5)
    result = step(label=y, image=x)
    expected, outputs = named(weights, x, y)
    print("by name:", abs(result.loss - expected) < 1e-5, result["losses"].shape,
          abs(float(result["accuracy"]) - float(outputs["accuracy"])) < 1e-6,
          numpy.array_equal(step.params["unused"], weights["unused"]))
    step.lr = 0.0
    before = step.params["w"]
    step({"image": x, "label": y})
    print("lr:", step.lr, numpy.array_equal(before, step.params["w"]))

    # Parameters and batches of 16 bits; NumPy's numbers of 64 bits are JAX's of 32.
    def narrow(params, x, y):
        logits = (x.reshape(len(x), -1) @ params["w"]).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    for type in jnp.bfloat16, jnp.float16, numpy.float64:
        weights = {"w": numpy.asarray(rng.normal(size=(64, 10)) / 8, type)}
        batch = (numpy.asarray(x, type), y.astype("int64"))
        step = mpt.jax.train_step(narrow, weights, batch, "sgd", lr=0.1)
        # bf16 has 8 bits: XLA may round each logit in another place.
        bound = 2e-2 if type is jnp.bfloat16 else 1e-3
        print(step.params["w"].dtype, abs(step(*batch).loss - narrow(weights, *batch)) < bound)

    # Losses and results of 16 bits.
    rows = numpy.arange(12, dtype="f").reshape(4, 3) - 4
    for dtype in jnp.bfloat16, jnp.float16:
        def low(params, x):
            z = (x @ params["w"]).astype(dtype)
            return (z * z).mean(), {"z": z, "positive": z > 0}

        weights = {"w": numpy.full((3, 2), 0.5, "f")}
        step = mpt.jax.train_step(low, weights, {"x": rows}, "sgd", lr=0.1)
        expected, outputs = low(weights, rows)
        result = step(x=rows)
        print("half:", result.loss == float(expected), result["z"].dtype,
              all(numpy.array_equal(result[n], outputs[n]) for n in outputs))

    # What jax.checkpoint says is computed again, what its policy says is kept. The parameters
    # are one array.
    from jax.ad_checkpoint import checkpoint_name

    def blocks(remat):
        def block(x, w):
            y = checkpoint_name(jnp.tanh(jax.nn.relu(x @ w)), "y")
            return jnp.tanh(checkpoint_name(jnp.sin(y * 2), "z")) + x, None

        def loss(params, x):
            return (jax.lax.scan(remat(block), x, params)[0] ** 2).mean()
        return loss

    layers = rng.normal(size=(8, 32, 32)).astype("f") / 6
    rows = rng.normal(size=(256, 32)).astype("f")
    policies = jax.checkpoint_policies
    names = dict(offload_src="device", offload_dst="pinned_host")
    plain, *steps = [mpt.jax.train_step(blocks(remat), layers, (rows,), "sgd") for remat in (
        lambda f: f, jax.checkpoint, *(functools.partial(jax.checkpoint, policy=policy) for policy in (
            policies.nothing_saveable, policies.everything_saveable, policies.dots_saveable,
            policies.save_only_these_names("y"), policies.save_any_names_but_these("y"),
            policies.save_and_offload_only_these_names(
                names_which_can_be_saved=["z"], names_which_can_be_offloaded=["y"], **names))))]
    kept = [(step.arena_bytes - steps[0].arena_bytes) / rows.nbytes for step in steps]
    norms = [float(step(rows).grad_norm) for step in (plain, *steps)]
    print("checkpoint:", steps[0].arena_bytes < 0.7 * plain.arena_bytes, kept[1] == 0,
          steps[2].arena_bytes == plain.arena_bytes, [6.5 <= n <= 8 for n in kept[3:]],
          numpy.ptp(norms) < 1e-5 * norms[0])
    around = jax.checkpoint(blocks(lambda f: f), policy=policies.dots_saveable)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mpt.jax.train_step(around, layers, (rows,), "sgd")
    print("a policy around a loop:", *{str(w.message) for w in caught})

    # A budget for temporary values: other memory, the same numbers.
    def deep(params, x):
        for w in params:
            x = jnp.tanh(x @ w)
        return (x ** 2).mean()

    layers = [rng.normal(size=(64, 64)).astype("f") / 8 for _ in range(8)]
    rows = rng.normal(size=(256, 64)).astype("f")
    steps = [mpt.jax.train_step(deep, layers, (rows,), "sgd", memory_budget=budget)
             for budget in (None, "0.6x", "min")]
    arenas = [step.arena_bytes for step in steps]
    print("budget:", arenas[1] <= 0.6 * arenas[0], arenas[2] < arenas[1],
          len({step(rows).loss for step in steps}) == 1)

    # Random keys in the state come back as keys, also those of other generators.
    def noisy(params, state, x):
        key, used = jax.random.split(state["key"])
        mask = jax.random.bernoulli(used, 0.5, (64,))
        return ((x @ params[0]) * mask).mean(), {"key": key}

    for kind in "threefry2x32", "rbg":
        key = jax.random.key(3, impl=kind)
        step = mpt.jax.train_step(noisy, layers[:1], (rows,), "sgd", state={"key": key}, lr=0.0)
        found = [step(rows).loss for _ in range(2)]
        first, held = noisy(layers[:1], {"key": key}, rows)
        second, held = noisy(layers[:1], held, rows)
        print("key:", numpy.allclose(found, [first, second], atol=1e-6),
              step.state["key"].dtype, bool((step.state["key"] == held["key"]).all()))


def autocast():
    expected, theirs, _ = train(jax.jit(whole))
    for type, bound in ("bf16", 0.05), ("f16", 0.02):
        low = mpt.jax.autocast(jax.jit(whole, donate_argnums=(0, 1, 2)), type)
        losses, held, before = train(low)
        gap = numpy.max(numpy.abs(numpy.subtract(losses, expected)))
        kinds = {leaf.dtype.name for leaf in jax.tree.leaves(held)}
        given = (params, optimizer.init(params), state, x, y)
        text = jax.jit(lambda *leaves: low(*leaves)).lower(*given).as_text()
        contractions = [line for line in text.splitlines()
                        if "stablehlo.dot_general" in line or "stablehlo.convolution" in line]
        name = {"bf16": "xbf16>", "f16": "xf16>"}[type]
        donated = all(leaf.is_deleted() for leaf in jax.tree.leaves(before))
        print(f"{type}: losses {verdict(gap, bound)}, differ in bits {losses != expected}, types "
              f"{sorted(kinds)}, low {all(name in line for line in contractions)}, donated {donated}")
    mesh = jax.make_mesh((2,), ("d",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    result = mpt.jax.autocast(lambda x: jnp.tanh(x @ jnp.ones((4, 6))))(
        jax.device_put(jnp.ones((8, 4)), spread))
    print("sharded:", result.sharding.is_equivalent_to(spread, 2))
    # Arguments that are not placed go where the function wants them, as with jax.jit.
    columns = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "d"))
    whole_rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    product = jax.jit(lambda unused, w, x: {"y": jnp.tanh(x["x"] @ w)},
                      in_shardings=(None, columns, whole_rows), out_shardings=columns)
    given = numpy.ones(3, "f"), numpy.ones((4, 6), "f"), {"x": numpy.ones((8, 4), "f"), "no": None}
    low = mpt.jax.autocast(product)
    for place in numpy.asarray, jnp.asarray:
        result = low(*jax.tree.map(place, given))["y"]
        print("placed:", result.sharding.is_equivalent_to(columns, 2), abs(float(numpy.asarray(result)[0, 0]) - 1) < 0.01)
    placed = given[0], jax.device_put(given[1], columns), given[2]
    print("placed:", low(*placed)["y"].sharding.is_equivalent_to(columns, 2))
    key = jax.random.key(0)

    def dropout(key, x):
        return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0) @ jnp.ones((8, 2))

    ones = jnp.ones((4, 8))
    print("random numbers:", numpy.array_equal(mpt.jax.autocast(dropout)(key, ones),
                                               dropout(key, ones)))


def derivatives():
    """Where gradients end, and marks for a loss scale and by name, as docs/JAX.md,
    docs/LossScaling.md and docs/RuleTables.md have them."""
    inputs = x.reshape(16, -1)
    weights = {"w": numpy.asarray(rng.normal(size=(64, 10)) / 8, "f"),
               "v": numpy.asarray(rng.normal(size=(64, 1)) / 8, "f")}

    def actor_critic(params, x, y):
        logits, value = x @ params["w"], (x @ params["v"])[:, 0]

        def discount(total, reward):  # in a loop, too
            return jax.lax.stop_gradient(total) * 0.9 + reward, total

        reward = jax.lax.scan(discount, value.sum(), value)[1] + jnp.sin(x.sum(1))
        advantage = jax.lax.stop_gradient(reward - value)
        chosen = -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)[:, 0]
        return (chosen * advantage).mean() + ((reward - value) ** 2).mean()

    step = mpt.jax.train_step(actor_critic, weights, (inputs, y), "sgd", lr=0.1)
    theirs, gradient = weights, jax.jit(jax.grad(actor_critic))
    for _ in range(3):
        step(inputs, y)
        theirs = jax.tree.map(lambda p, g: p - 0.1 * g, theirs, gradient(theirs, inputs, y))
    print("stopped:", verdict(distance(step.params, theirs), 1e-5))

    # A norm that stays whole for others, and a step with marks.
    norm = jax.lax.composite(lambda x: x / jnp.linalg.norm(x), name="acme.norm")

    def marked(params, x, y):
        def loss(params):
            logits = x @ params["w"]
            return mpt.jax.grad_seed(
                optax.softmax_cross_entropy_with_integer_labels(logits, y).mean())

        value, gradients = jax.value_and_grad(loss)(params)
        gradients = mpt.jax.gradients(gradients)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)
        return params, value, norm(x @ params["w"])

    weights = {"w": weights["w"]}
    low = mpt.jax.autocast(marked, "bf16")
    text = jax.jit(lambda *leaves: low(*leaves)).lower(weights, inputs, y).as_text()
    print("composites:", [f'"{name}"' in text for name in
                          ("acme.norm", "mpt.grad_seed", "mpt.gradients")])
    mine, theirs = low(weights, inputs, y), marked(weights, inputs, y)
    print("marks change nothing:", verdict(abs(float(mine[1] - theirs[1])), 0.02),
          verdict(distance(mine[0], theirs[0]), 0.02))
    module = mpt.Module(jax.jit(marked, donate_argnums=0).lower(weights, inputs, y).compiler_ir(
        "stablehlo").operation.get_asm(print_generic_op_form=True), "step")
    module.run("mpt-mark-stablehlo-step,mpt-loss-scale{init-scale=1024},"
               "mpt-autocast{type=f16 client=xla-cpu},mpt-convert-to-stablehlo{function=main}")
    scaled = str(module)
    # On MPT, the scale before or after the conversion; a step with too large a scale is skipped.
    text = jax.jit(marked, donate_argnums=0).lower(weights, inputs, y).compiler_ir(
        "stablehlo").operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
    scale = "mpt-loss-scale{init-scale=1073741824 backoff-factor=0.00000095367431640625}"
    for order in "mpt-convert-stablehlo," + scale, scale + ",mpt-convert-stablehlo":
        module = mpt.Module(text, "main")
        module.run(f"mpt-mark-stablehlo-step,{order},mpt-validate-loss-scale,mpt-autocast{{type=f16}}")
        program = module.program("main")
        program.write("params.w", weights["w"])
        program.bind("x", inputs), program.bind("y", y)
        theirs, found = weights, []
        for number in range(4):
            program.run()
            found.append(bool(memoryview(program.read("did_step"))[()]))
            if number:  # The first one is skipped.
                theirs = marked(theirs, inputs, y)[0]
        print("scaled on MPT:", found, float(memoryview(program.read("loss_scale"))[()]) == 2.0 ** 10,
              verdict(distance({"w": jnp.asarray(program.read("params.w"))}, theirs), 5e-3))
    from optax.losses import _classification
    rule = _classification.weighted_logsoftmax
    step = mpt.jax.train_step(lambda p, x: -rule(p["w"] * x, x).sum(), {"w": numpy.ones(4, "f")},
                              (numpy.ones((2, 4), "f"),))
    print("of optax.losses:", isinstance(rule, jax.custom_jvp),
          verdict(abs(float(step(numpy.ones((2, 4), "f")).loss) - 8 * numpy.log(4)), 1e-4))
    rules()
    print("scaled:", "= mpt." not in scaled, "xf16>" in scaled, "@norm" in scaled or "acme.norm" in scaled)


def rules():
    """Functions whose derivatives are those of rules, of JAX and of the loss."""
    reverse = jax.custom_vjp(lambda x, scale: x)
    reverse.defvjp(lambda x, scale: (x, scale), lambda scale, g: (-scale * g, jnp.zeros_like(scale)))
    sign = jax.custom_vjp(jnp.sign)
    sign.defvjp(lambda x: (jnp.sign(x), x), lambda x, g: (jnp.where(jnp.abs(x) < 1, g, 0),))
    rounded = jax.custom_jvp(lambda x: jnp.round(x))
    rounded.defjvp(lambda primals, tangents: (rounded(*primals), 2 * tangents[0]))
    # Of matmuls, with an argument that is no array, an integer, and a result that is one.
    multiply = jax.custom_vjp(lambda count, x, w, n: (x @ w * count, n + 1), nondiff_argnums=(0,))
    multiply.defvjp(lambda count, x, w, n: (multiply(count, x, w, n), (x, w)),
                    lambda count, saved, g: (g[0] @ saved[1].T, saved[0].T @ g[0] / count, None))
    # Infinite numbers that nothing multiplies by 0.
    softmax = jax.custom_jvp(lambda x: jax.nn.softmax(x))
    softmax.defjvp(lambda primals, tangents: (
        (p := softmax(*primals)), p * (tangents[0] - (p * tangents[0]).sum(-1, keepdims=True))))

    def root(w, x):
        return jax.lax.custom_root(
            lambda z: z ** 3 + z - jnp.tanh(x @ w).sum(), 0.5,
            lambda f, z: jax.lax.fori_loop(0, 20, lambda i, z: z - f(z) / (3 * z * z + 1), z),
            lambda g, y: y / g(1.0)) ** 2

    def scanned(w, x):
        layer = lambda carry, _: (jax.checkpoint(lambda x: rounded(x @ w * 8) / 8)(carry), None)
        return (jax.lax.scan(layer, x, None, length=3)[0] ** 2).mean()

    singular = rng.normal(size=(4, 4)).astype("f")
    singular[3] = singular[0]
    cases = {
        "reversed": lambda w, x: (reverse(jnp.tanh(x @ w), 0.3) ** 2).mean(),
        "straight": lambda w, x: ((sign(x @ w) - x) ** 2).mean(),
        "matmuls": lambda w, x: (jnp.sin(multiply(1.5, x, w, 3)[0]) * multiply(2, x, w, 3)[1]).mean(),
        "of examples": lambda w, x: (jax.vmap(lambda x: reverse(jnp.tanh(x @ w), 0.3))(x) ** 3).mean(),
        "infinite": lambda w, x: ((softmax(jnp.where(jnp.tril(jnp.ones((6, 6), bool)), x @ w @ x.T, -jnp.inf))
                                   @ x) ** 2).mean(),
        "in a loop": scanned, "implicit": root,
        "determinant": lambda w, x: jnp.linalg.det(w) + (jnp.tanh(x @ w) ** 2).mean(),
        "simplex": lambda w, x: (optax.projections.projection_simplex(x[0] @ w * 0.1) ** 2).sum()}
    batch = rng.normal(size=(6, 4)).astype("f")
    for name, loss in cases.items():
        step = mpt.jax.train_step(loss, singular, (batch,), "sgd", lr=0.01)
        theirs, least, differentiate = singular, 0, jax.jit(jax.value_and_grad(loss))
        for _ in range(3):
            expected, gradient = differentiate(theirs, batch)
            theirs = theirs - numpy.float32(0.01) * gradient
            least = max(least, abs(float(step(batch).loss) - float(expected)) / abs(float(expected)))
        moved = numpy.linalg.norm(theirs - singular)
        print(f"{name}:", verdict(least, 1e-5),
              verdict(numpy.linalg.norm(step.params - theirs) / moved, 1e-4), moved > 0)


def generic():
    """Each form that jaxlib reads becomes the same program."""
    import jax.export

    # A call of a private function.
    half = jax.jit(lambda x: x / 2)

    def f(weights, inputs):
        return jax.nn.softmax(half(inputs) @ weights).sum() + jax.lax.top_k(inputs, 2)[0].sum()

    arguments = numpy.ones((4, 5), "f"), numpy.ones((3, 4), "f")
    text = jax.jit(f).lower(*arguments).as_text()
    artifact = jax.export.export(jax.jit(f))(*arguments).mlir_module_serialized
    with tempfile.TemporaryDirectory() as folder:
        for name, source in (("text", text), ("artifact", artifact)):
            path = pathlib.Path(folder, name)
            path.write_bytes(source if isinstance(source, bytes) else source.encode())
            found = mpt.jax.generic(source)
            run = subprocess.run([sys.executable, "-m", "mpt.jax", path], text=True,
                                 capture_output=True, check=True)
            module = mpt.Module(found, "main")
            module.run("mpt-convert-stablehlo")
            print(name, found == mpt.jax.generic(path) == mpt.jax.generic(str(path)),
                  run.stdout == found + "\n", "mpt.softmax" in str(module))
            run = subprocess.run([sys.executable, "-m", "mpt.jax", "--inline", path], text=True,
                                 capture_output=True, check=True)
            print("inlined:", "func.call" in found, "func.call" in run.stdout,
                  run.stdout.count('"func.func"'))
        mpt._stablehlo.MOST_INLINED = 1 << 10  # A million takes ten seconds.
        again = "func.func @main() {\n call @main() : () -> ()\n return\n}\n"
        for text in (again, again.replace("main", "f")):
            try:
                mpt.jax.generic(text, inline=True)
            except mpt.Error as error:
                print(error)
        path.write_bytes(artifact[:60])
        run = subprocess.run([sys.executable, "-m", "mpt.jax", path], text=True, capture_output=True)
        print("cut:", run.returncode, "artifact: jaxlib cannot read it" in run.stderr)
    for arguments in (["nowhere"], []):
        run = subprocess.run([sys.executable, "-m", "mpt.jax", *arguments], text=True,
                             capture_output=True)
        print(run.returncode, run.stderr.splitlines()[-1])


def errors():
    def fails(what):
        try:
            what()
            print("NO ERROR")
        except (mpt.Error, ValueError) as error:
            print(str(error).splitlines()[0])

    batch = (x, y)
    fails(lambda: mpt.jax.train_step(loss, params, batch, optimizer, state=state, lr=0.1))
    fails(lambda: mpt.jax.train_step(loss, params, batch, "lion", state=state))
    fails(lambda: mpt.jax.train_step(loss, params, batch, precision="f8", state=state))
    fails(lambda: mpt.jax.train_step(loss, params, batch, max_programs=0, state=state))
    fails(lambda: mpt.jax.train_step(loss, params, batch, memory_budget=0.5, state=state))
    fails(lambda: mpt.jax.train_step(loss, params, batch, memory_budget="half", state=state))
    fails(lambda: mpt.jax.train_step(loss, {}, batch, state=state))
    fails(lambda: mpt.jax.train_step(loss, {"w": numpy.ones(3, "i")}, batch, state=state))
    fails(lambda: mpt.jax.train_step(lambda p, x, y: x, params, batch))
    fails(lambda: mpt.jax.train_step(lambda p, x, y: (x.sum(), 3), params, batch))
    fails(lambda: mpt.jax.train_step(lambda p, s, x, y: x.sum(), params, batch, state=state))
    fails(lambda: mpt.jax.train_step(lambda p, s, x, y: (x.sum(), {}), params, batch, state=state))
    fails(lambda: mpt.jax.train_step(
        lambda p, x, y: jnp.tanh(jnp.fft.fft(x + p["w"])).real.sum(), {"w": numpy.ones(1, "f")}, batch))
    step = mpt.jax.train_step(loss, params, batch, state=state)
    fails(lambda: step(x))
    fails(lambda: step(x, y, y=y))
    fails(lambda: step(x, y.astype("f")))
    fails(lambda: step.explain())
    fails(lambda: step.ema_params)
    named = mpt.jax.train_step(loss, params, {"x": x, "y": y}, state=state)
    fails(lambda: named(x=x))
    fails(lambda: mpt.jax.autocast(whole, "f8"))
    fails(lambda: mpt.jax.autocast(jax.jit(lambda x, n: x * n, static_argnums=1))(x, 3))
    fails(lambda: mpt.jax.autocast(lambda x: (jax.debug.print("{}", x), x @ x.T)[1])(jnp.ones((4, 4))))
    # Rules that no function has as its derivative.
    def rule(backward):
        @jax.custom_vjp
        def ruled(x):
            return x

        ruled.defvjp(lambda x: (x, x), backward)
        return ruled

    for ruled in (rule(lambda x, g: (jnp.clip(g, -1, 1),)), rule(lambda x, g: (g + 0.1 * x,)),
                  rule(lambda x, g: (jax.jit(lambda x, g: jnp.where(x > 0, g, x))(x, g),)),
                  rule(lambda x, g: (g / jnp.linalg.norm(g),))):
        fails(lambda: mpt.jax.train_step(
            lambda p, x, y: (jax.nn.relu(ruled(p["w"])) * x).sum(), {"w": numpy.ones(1, "f")}, batch))
    fails(lambda: mpt.jax.grad_seed(jnp.ones(3)))
    # A JAX that has other insides than MPT knows.
    from jax.interpreters import mlir
    parameters = mlir.LoweringParameters
    del mlir.LoweringParameters
    fails(lambda: mpt.jax.train_step(loss, params, batch, state=state))
    mlir.LoweringParameters = parameters
    fails(lambda: jax.grad(mpt.jax.autocast(lambda x: (x @ x.T).sum()))(jnp.ones((4, 4))))


{"train_step": train_step, "autocast": autocast, "derivatives": derivatives,
 "generic": generic, "errors": errors}[sys.argv[1]]()
