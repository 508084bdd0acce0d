"""Losses of JAX: check_jax_losses.py

One step of SGD with the rate 1 moves parameters by the gradient. In f32 it equals JAX's in f64 as
closely as JAX's in f32 does, times 8, and half a unit in the last place of what was moved."""
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


def differentiate(loss, params, batch, dtype):
    with jax.enable_x64(dtype == "float64"):
        cast = lambda tree: jax.tree.map(
            lambda v: jnp.asarray(v, dtype if v.dtype.kind == "f" else None), tree)
        return flatten(jax.grad(loss)(cast(params), *cast(batch)))


def check(name, loss, params, batch, precision="f32", bound=0.05, **options):
    """bound: of a gradient in 16 bits, relative to its norm."""
    exact = differentiate(loss, params, batch, "float64")
    single = differentiate(loss, params, batch, "float32")
    step = mpt.jax.train_step(loss, params, batch, "sgd", precision, lr=1.0, **options)
    before = flatten(step.params)
    assert step(*batch).did_step
    after = flatten(step.params)
    error, norm = (numpy.linalg.norm(x) for x in (before - after - exact, exact))
    if precision == "f32":
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
