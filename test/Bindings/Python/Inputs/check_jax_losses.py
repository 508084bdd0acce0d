"""Losses of JAX: check_jax_losses.py

One step of SGD with the rate 1 moves parameters by the gradient. In f32 it equals JAX's in f64 as
closely as JAX's in f32 does, times 8, and half a unit in the last place of what was moved."""
import functools
import warnings

import jax
import jax.numpy as jnp
import numpy

import mpt
import mpt.jax

warnings.filterwarnings("ignore")
random = numpy.random.default_rng(0)


def normal(*shape):
    return random.standard_normal(shape).astype("f")


def flatten(tree):
    return numpy.concatenate([numpy.asarray(leaf, "float64").ravel()
                              for leaf in jax.tree.leaves(tree)])


oracle = {}


def differentiate(loss, params, batch, dtype):
    """Computed once for each loss, which is checked with the same numbers in each precision."""
    key = loss, dtype
    if key not in oracle:
        with jax.enable_x64(dtype == "float64"):
            cast = lambda tree: jax.tree.map(
                lambda v: jnp.asarray(v, dtype if v.dtype.kind == "f" else None), tree)
            oracle[key] = flatten(jax.jit(jax.grad(loss))(cast(params), *cast(batch)))
    return oracle[key]


def check(name, loss, params, batch, precision="f32", bound=0.05, **options):
    """bound: of a gradient in 16 bits, relative to its norm."""
    exact = differentiate(loss, params, batch, "float64")
    step = mpt.jax.train_step(loss, params, batch, "sgd", precision, lr=1.0, **options)
    before = flatten(step.params)
    assert step(*batch).did_step
    after = flatten(step.params)
    error, norm = (numpy.linalg.norm(x) for x in (before - after - exact, exact))
    if precision == "f32":
        single = differentiate(loss, params, batch, "float32")
        limit = 8 * numpy.linalg.norm(single - exact) + 2.0 ** -23 * (
            numpy.linalg.norm(after) + norm)
    else:
        limit = bound * norm
    print(name, precision, "equal" if error <= limit else f"{error:.3g} above {limit:.3g}")


# Losses that read gradients of convolutions and of max pooling.
def critic(params, x):
    layout = ("NHWC", "HWIO", "NHWC")
    h = jax.lax.conv_general_dilated(x, params["a"], (2, 1), "SAME", dimension_numbers=layout)
    h = jax.lax.reduce_window(jnp.tanh(h), -jnp.inf, jax.lax.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME")
    h = jax.lax.conv_general_dilated(h, params["b"], (1, 1), "SAME", dimension_numbers=layout,
                                     rhs_dilation=(1, 2), feature_group_count=2)
    return jnp.mean(jax.nn.softplus(h), (1, 2)) @ params["c"]


def learn_to_learn(params, x):
    inner = lambda params: jnp.mean(critic(params, x) ** 2)
    moved = jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(inner)(params))
    return inner(moved)


def penalty(params, x):
    gradient = jax.grad(lambda x: critic(params, x).sum())(x)
    return jnp.mean((jnp.sqrt(jnp.sum(gradient ** 2, (1, 2, 3))) - 1) ** 2)


weights = {"a": normal(3, 3, 3, 6) * 0.3, "b": normal(3, 3, 3, 4) * 0.3, "c": normal(4, 1)}
images = (normal(2, 8, 8, 3),)
for precision in ("f32", "bf16", "f16"):
    # Gradients of gradients are large, so that the first scale would be too.
    check("learning to learn", learn_to_learn, weights, images, precision, loss_scale=1.0)
    check("penalty of gradients", penalty, weights, images, precision, loss_scale=1.0)


# Rules that do more with gradients than to multiply them: they see no loss scale.
@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def clip(x, limit):
    return x


clip.defvjp(lambda x, limit: (x, None), lambda limit, _, g: (jnp.clip(g, -limit, limit),))


@jax.custom_vjp
def normalize(tree):
    return tree


normalize.defvjp(lambda tree: (tree, None), lambda _, gradients: (
    jax.tree.map(lambda g: g / (1 + jnp.linalg.norm(g)), gradients),))


@jax.custom_vjp
def double(x, factor):
    return x * factor


double.defvjp(lambda x, factor: (x.value * factor.value, factor.value),
              lambda factor, g: (jnp.clip(g * factor, -0.1, 0.1), None), symbolic_zeros=True)


@jax.custom_vjp
def matmul(x, w):
    return x @ w


matmul.defvjp(lambda x, w: (x @ w, (x, w)), lambda kept, g: (g @ kept[1].T, kept[0].T @ g))

@jax.custom_vjp
def clip_twice(x):
    return clip(2 * x, 0.05)


clip_twice.defvjp(lambda x: jax.vjp(lambda x: clip(2 * x, 0.05), x),
                  lambda pull_back, g: (jnp.clip(pull_back(g)[0], -0.08, 0.08),))


def inner(function):
    """The gradient of a loss within the loss, which has no loss scale."""
    return lambda x, w: jax.grad(lambda x: jnp.sum(jnp.sin(function(x, w)) ** 2))(x)


rows = {"x": normal(6, 5), "w": normal(5, 5) * 0.4}
cell = lambda w: lambda h, x: (clip(jnp.tanh(h @ w + x), limit=0.1), h)
for name, function in {
        "clipped": lambda x, w: clip(x @ w, 0.1) ** 2,
        "clipped in a scan": lambda x, w: jax.lax.scan(cell(w), x[0], x)[1],
        "clipped in a checkpoint": lambda x, w: jax.checkpoint(
            lambda x: jnp.sin(clip(x @ w, 0.1) @ w))(x),
        "clipped in a scan of checkpoints": lambda x, w: jax.lax.scan(
            jax.checkpoint(cell(w)), x[0], x)[1],
        "clipped in a branch": lambda x, w: jax.lax.cond(
            x.sum() > 0, lambda x: clip(x @ w, 0.1) ** 2, lambda x: clip(x, 0.2) ** 3, x),
        "clipped rows": lambda x, w: jax.vmap(lambda x: clip(x @ w, 0.1) ** 2)(x),
        "normalized": lambda x, w: normalize({"a": x @ w, "b": x})["a"] * x,
        "symbolic zeros": lambda x, w: double(x @ w, 2) ** 2,
        "clipped twice": lambda x, w: clip_twice(x @ w) ** 2,
        "clipped twice in a checkpoint": jax.checkpoint(lambda x, w: clip_twice(x @ w) @ w),
        "clipped in a gradient": inner(lambda x, w: clip(x @ w, 0.1)),
        "clipped gradient": lambda x, w: clip(inner(jnp.matmul)(x, w), 0.1),
        "clipped beside a gradient": lambda x, w: inner(lambda y, w: y * clip(x @ w, 0.1))(x, w),
        "multiplied": lambda x, w: matmul(clip(matmul(x, w), 0.1), w)}.items():
    check(name, lambda p, function=function: jnp.sum(jnp.sin(function(p["x"], p["w"]))), rows, (),
          "f16", gradients="jax", loss_scale=1024.0)
# JAX keeps what it has traced: without the scale by JAX, and with that of another step.
traced = jax.jit(lambda x, w: clip(x @ w, 0.001) ** 2)
traced_loss = lambda p: jnp.sum(jnp.sin(traced(p["x"], p["w"])))
jax.grad(traced_loss)(rows)
for _ in range(2):
    check("clipped where traced before", traced_loss, rows, (), "f16", gradients="jax",
          loss_scale=1024.0)
in_jit = lambda p: jnp.sum(inner(jax.jit(lambda x, w: clip(x @ w, 0.1)))(p["x"], p["w"]))
check("clipped in a jit of a gradient", in_jit, rows, (), "f16", gradients="jax", loss_scale="none")
try:
    mpt.jax.train_step(in_jit, rows, (), "sgd", "f16", lr=1.0, gradients="jax")
except mpt.Error as error:
    print("refused:", error)
# A scale that is infinite in f16, and gradients that are nearly 0 there without it.
check("clipped to small numbers", lambda p, x: jnp.sum(clip(x @ p["w"], 1e-6) * x),
      {"w": numpy.zeros((5, 5), "f")}, (normal(6, 5),), "f16", gradients="jax", bound=0.005,
      loss_scale=65536.0)

# Words of the user: what is in f32 has f32's errors, and what is not has not.
from jax.experimental.xla_metadata import set_xla_metadata


def exact(p, x):
    with set_xla_metadata(**{"mpt.precision": "f32"}):
        return jnp.mean(jnp.tanh(x @ p["w"]) ** 2)


check("in f32", exact, {"w": rows["w"]}, (rows["x"],), "bf16", bound=1e-6)
check("in bf16", lambda p, x: jnp.mean(jnp.tanh(x @ p["w"]) ** 2), {"w": rows["w"]}, (rows["x"],),
      "bf16", bound=1e-6)


# Variances as differences, of means that are larger than the deviations: in a masked norm, and
# in a gradient that the loss reads.
def mean(x, mask, axes):
    return jnp.sum(jnp.where(mask, x, 0), axes) / jnp.sum(jnp.broadcast_to(mask, x.shape), axes)


def masked_norm(params, x, mask):
    h = x @ params["w"]
    center = mean(h, mask, 0)
    variance = mean(h * h, mask, 0) - center * center
    return jnp.mean(jnp.tanh((h - center) * jax.lax.rsqrt(variance + 1e-5) @ params["o"]) ** 2)


def norm_penalty(params, x):
    def critic(x):
        h = x @ params["w"]
        center = h.mean(1, keepdims=True)
        variance = (h * h).mean(1, keepdims=True) - center * center
        return jnp.sum(jnp.tanh((h - center) * jax.lax.rsqrt(variance + 1e-5) @ params["o"]))

    return jnp.mean(jax.grad(critic)(x) ** 2)


layers = {"w": numpy.eye(8, dtype="f") + 0.1 * normal(8, 8), "o": normal(8, 3)}
rows = normal(64, 8) + 3
mask = random.integers(0, 3, (64, 1)) > 0
for precision in ("f32", "bf16", "f16"):
    check("masked norm", masked_norm, layers, (rows, mask), precision, bound=0.1)
    check("penalty through a norm", norm_penalty, layers, (rows,), precision, bound=0.1,
          loss_scale=1.0)


# A jit whose rule calls it.
@jax.jit
@jax.custom_jvp
def twice(x):
    return 2 * jnp.sin(x)


twice.__wrapped__.defjvp(lambda primals, tangents: (
    twice(*primals), 3 * jnp.cos(primals[0]) * twice(*primals) * tangents[0]))


# Rules that read the batch, which is outside of them.
def reads_batch(is_vjp):
    def loss(params, x):
        function = (jax.custom_vjp if is_vjp else jax.custom_jvp)(jnp.cos)
        if is_vjp:
            function.defvjp(lambda p: (jnp.cos(p), None), lambda _, g: (x * g,))
        else:
            function.defjvp(lambda primals, tangents: (jnp.cos(primals[0]), x * tangents[0]))
        return function(params["x"]).sum()

    try:
        mpt.jax.train_step(loss, {"x": normal(3)}, (normal(3),))
        print("not refused")
    except mpt.Error as error:
        print("refused:", error)


reads_batch(False)
reads_batch(True)

# Functions that are computed as others.
special = jax.scipy.special
solve = jax.lax.linalg.tridiagonal_solve
for name, function in {
        "slope of digamma": lambda x: jax.grad(lambda x: special.digamma(x * x + 0.3).sum())(x),
        "polygamma": lambda x: special.polygamma(jnp.array([0, 3, 2, 1, 4]), x * x + 0.5),
        "zeta": lambda x: special.zeta(2.5, x * x + 0.5) + jnp.where(
            jnp.isnan(special.zeta(0.5, x * x + 0.5)), x, 0),
        "erf_inv": lambda x: special.erfinv(jnp.tanh(x)),
        # Their functions choose, iterate or move bits: only their rules have a derivative.
        "ldexp": lambda x: jnp.ldexp(x, 2),
        "expn": lambda x: special.expn(2, x * x + 0.5),
        "xlogy": lambda x: special.xlogy(jnp.where(x > 0, x, 0), 0.5),
        "i1": lambda x: special.i1(6 * x) * jnp.exp(-jnp.abs(6 * x)),
        "i1 of large numbers": lambda x: special.i1e(9 + 20 * x * x),
        "rule that calls": lambda x: twice(x),
        "tridiagonal": lambda x: solve(x[:2] * 0.1, 3 + x[1:3] * 0.3, x[2:] * 0.3,
                                       jnp.stack([x.T, 2 * x.T]))}.items():
    loss, point = lambda p, function=function: jnp.sum(jnp.sin(function(p["x"]))), normal(4, 5)
    for gradients in ("mpt", "jax"):
        check(f"{name} ({gradients})", loss, {"x": point}, (), gradients=gradients)
try:
    mpt.jax.train_step(lambda p: solve(p, p, p, p[:, None], perturb_singular=True).sum(),
                       numpy.ones(4, "f"), ())
    print("not refused")
except mpt.Error as error:
    print("refused:", str(error).splitlines()[0])
