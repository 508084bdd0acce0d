"""Losses of JAX with loops that end when a value says so, branches that take long, functions
that JAX computes by such loops, and gradients of JAX: parameters after some steps equal JAX's in
f64, as closely as JAX's in f32 do, times 8. Random numbers are those of f32, so those steps are
compared with f32."""
import warnings

import jax
import jax.numpy as jnp
import numpy
import optax
from jax.experimental.ode import odeint

import mpt
import mpt.jax

warnings.filterwarnings("ignore")
random = numpy.random.default_rng(0)


def normal(*shape):
    return random.standard_normal(shape).astype("f")


start = {"w": normal(5, 64) * 0.3, "m": normal(64, 64) * 0.05, "o": normal(64, 3) * 0.3}
# The first number chooses the branch: both are taken.
batches = [(numpy.abs(normal(16, 5)) * (1 if step % 2 else -1), normal(16, 3)) for step in range(4)]


def flatten(tree):
    return numpy.concatenate([numpy.asarray(leaf, "float64").ravel()
                              for leaf in jax.tree.leaves(tree)])


def train(loss, dtype):
    with jax.enable_x64(dtype == "float64"):
        cast = lambda tree: jax.tree.map(
            lambda v: jnp.asarray(v, dtype if v.dtype.kind == "f" else None), tree)
        params, optimizer = cast(start), optax.sgd(0.05)
        state = optimizer.init(params)
        step = jax.jit(jax.value_and_grad(loss))
        losses = []
        for batch in batches:
            value, gradients = step(params, *cast(batch))
            updates, state = optimizer.update(gradients, state)
            params = optax.apply_updates(params, updates)
            losses.append(float(value))
        return numpy.append(flatten(params), losses)


def check(name, loss, is_random=False, precision="f32", **options):
    single = train(loss, "float32")
    exact = single if is_random else train(loss, "float64")
    step = mpt.jax.train_step(loss, start, batches[0], optax.sgd(0.05), precision, **options)
    results = [step(*batch) for batch in batches]
    found = numpy.append(flatten(step.params), [r.loss for r in results])
    moved = abs(exact[:-len(batches)] - flatten(start)).max()
    unit = abs(exact - single).max() + 2.0 ** -22 * abs(exact).max()
    bound = 8 * unit if precision == "f32" else 0.02 * moved
    error = abs(found - exact).max() if precision == "f32" else abs(
        flatten(step.params) - exact[:-len(batches)]).max()
    assert moved > 1e-4, (name, moved)
    print(name, "equal" if error <= bound else f"{error:.3g} above {bound:.3g}")


def forward(p, x):
    return jnp.tanh(x @ p["w"]) @ p["o"]


def solve(p, x, y):
    """A fixed point, of which the gradient is taken at its last step."""
    f = lambda z: jnp.tanh(z @ p["m"] + x @ p["w"])
    z = jax.lax.while_loop(
        lambda s: (jnp.abs(s[0] - s[1]).max() > 1e-3) & (s[2] < 50),
        lambda s: (f(s[0]), s[0], s[2] + 1), (jnp.zeros_like(x @ p["w"]), x @ p["w"] + 1, 0))[0]
    return jnp.mean((f(jax.lax.stop_gradient(z)) @ p["o"] - y) ** 2)


def count(p, x, y):
    """As many iterations as the batch says."""
    x = jax.lax.fori_loop(0, jnp.int32(jnp.abs(x[0, 0]) * 4) + 1, lambda i, h: jnp.sin(h), x)
    return jnp.mean((forward(p, x) - y) ** 2)


def branch(p, x, y):
    return jax.lax.cond(
        x[0, 0] > 0, lambda: jnp.mean((jnp.tanh(x @ p["w"] @ p["m"] @ p["m"]) @ p["o"] - y) ** 2),
        lambda: jnp.mean(jnp.abs(x @ p["w"] @ p["m"])))


def target(p, x, y):
    """A branch that no gradient flows through, in a scan."""
    def body(c, v):
        new = jax.lax.cond(v[0] > 0, lambda c: jnp.tanh(c @ p["m"] @ p["m"]), lambda c: c * 0.5, c)
        return jax.lax.stop_gradient(new), None

    c = jax.lax.scan(body, x @ p["w"], jnp.concatenate([x, -x]))[0]
    return jnp.mean(((x @ p["w"] + c) @ p["o"] - y) ** 2)


def positive(p, x):
    return jax.nn.softplus(forward(p, x)) + 0.5


def sampled(sample):
    def loss(p, x, y):
        key = jax.random.fold_in(jax.random.key(0), jnp.int32(jnp.abs(x[0, 0]) * 1000))
        return jnp.mean((sample(key, positive(p, x)).astype(x.dtype) - y) ** 2)
    return loss


special = jax.scipy.special
check("fixed point", solve)
check("count", count)
check("branch", branch)
check("target", target)
check("target in bf16", target, precision="bf16")
check("gammainc of a", lambda p, x, y: jnp.mean(special.gammainc(positive(p, x), jnp.abs(y))))
check("gammaincc of x", lambda p, x, y: jnp.mean(special.gammaincc(jnp.abs(y) + 1, positive(p, x))))
check("betainc of x", lambda p, x, y: jnp.mean(
    special.betainc(2.0, 3.0, jax.nn.sigmoid(forward(p, x)))))
check("gamma", sampled(lambda key, a: jax.random.gamma(key, a)), True)
check("beta", sampled(lambda key, a: jax.random.beta(key, a, 2.0)), True)
check("dirichlet", sampled(lambda key, a: jax.random.dirichlet(key, a)), True)
check("poisson", sampled(lambda key, a: a * jax.random.poisson(key, 3.0, a.shape)), True)
check("binomial", sampled(lambda key, a: a * jax.random.binomial(key, 10, 0.3, a.shape)), True)
check("approx_max_k", lambda p, x, y: jnp.mean(
    jax.lax.approx_max_k(forward(p, x), 2, reduction_dimension=0)[0] ** 2)
    - jnp.mean(jax.lax.approx_min_k(forward(p, x), 2)[0]))


@jax.custom_vjp
def clip(x):
    return x


clip.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1e-3, 1e-3),))


def clipped(p, x, y):
    return jnp.mean((clip(jnp.tanh(x @ p["w"])) @ p["o"] - y) ** 2)


def flow(p, x, y):
    h = odeint(lambda h, t, m: jnp.tanh(h @ m), x @ p["w"], jnp.asarray([0.0, 1.0], x.dtype),
               p["m"], rtol=1e-3, atol=1e-3)[-1]
    return jnp.mean((h @ p["o"] - y) ** 2)


check("clipped", clipped, gradients="jax")
check("exp1", lambda p, x, y: jnp.mean(special.exp1(positive(p, x))), gradients="jax")
check("conjugate gradients", lambda p, x, y: jnp.mean(jax.scipy.sparse.linalg.cg(
    lambda v: p["m"].T @ (p["m"] @ v) + v, x[0] @ p["w"])[0] ** 2), gradients="jax")
check("clipped in f16", clipped, precision="f16", gradients="jax")
check("branch of JAX", branch, gradients="jax")
check("flow", flow, True, gradients="jax")

# A step with a state, and a loss scale that overflows first.
state = {"mean": numpy.zeros(64, "f")}


def stateful(p, s, x, y):
    h = clip(x @ p["w"])
    new = {"mean": 0.9 * s["mean"] + 0.1 * jax.lax.stop_gradient(h.mean(0))}
    return jnp.mean(((h - new["mean"]) @ p["o"] - y) ** 2), new


steps = [mpt.jax.train_step(stateful, start, batches[0], "adamw", "f16", state=state, lr=1e-2,
                            gradients="jax", loss_scale=scale)
         for scale in ("dynamic init-scale=1e30", "dynamic init-scale=1024")]
print("scaled:", steps[0](*batches[0]).did_step)
print("state:", *(steps[1](*batch).did_step for batch in batches),
      abs(flatten(steps[1].state)).max() > 0.01)


def refused(what):
    try:
        what()
        print("not refused")
    except (mpt.Error, ValueError) as error:
        print("refused:", str(error).splitlines()[0])


refused(lambda: mpt.jax.train_step(clipped, start, batches[0]))
refused(lambda: mpt.jax.train_step(clipped, start, batches[0], gradients="optax"))
looped = lambda p, x, y: jnp.mean(jax.lax.while_loop(
    lambda h: jnp.abs(h).max() > 1, lambda h: h * 0.5, x @ p["w"]) @ p["o"])
refused(lambda: mpt.jax.train_step(looped, start, batches[0]))
refused(lambda: mpt.jax.train_step(looped, start, batches[0], gradients="jax"))
