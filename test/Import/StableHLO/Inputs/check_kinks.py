"""Gradients of losses of JAX where a function has a kink, or reads what is out of range: MPT's
are those of jax.grad, but for OWN.

    check_kinks.py BUILD

Others at 0: `abs`, which jax.grad gives 1, and the formula of a cross-entropy that has it.
"""
import sys

import programs  # before jax
import jax
import jax.numpy as jnp
import numpy
import optax

Y = numpy.array([0, 1, 1, 0, 1, 0, 0.25, 0], "f")


def written(x):
    return jnp.maximum(x, 0) - x * Y + jnp.log1p(jnp.exp(-jnp.abs(x)))


FUNCTIONS = {
    "softplus": jax.nn.softplus,
    "log_sigmoid": jax.nn.log_sigmoid,
    "logaddexp": lambda x: jnp.logaddexp(x, 0.0),
    "logaddexp of two": lambda x: jnp.logaddexp(x, -x),
    "optax": lambda x: optax.sigmoid_binary_cross_entropy(x, Y),
    "relu": jax.nn.relu,
    "two relus": lambda x: jax.nn.relu(jnp.reshape(jax.nn.relu(x), (2, 4)) - 1).reshape(8),
    "relu in vmap": jax.vmap(jax.nn.relu),
    "relu in checkpoint": jax.checkpoint(lambda x: jax.nn.relu(x) * x + jax.nn.relu(x)),
    "relu beside softplus": lambda x: jax.nn.relu(x) + jax.nn.softplus(x),
    "relu6": lambda x: jax.nn.relu6(x - (x == 6)),
    "maximum": lambda x: jnp.maximum(0, x),
    "clip": lambda x: jnp.clip(x, 0, 6),
    "hinge": lambda x: optax.hinge_loss(x, 2 * Y - 1),
    "leaky_relu": jax.nn.leaky_relu,
    "elu": jax.nn.elu,
    # Branches that are not taken divide by 0.
    "guarded cond": lambda x: jax.lax.cond(x[0] > 0, lambda: x / x[0], lambda: 3 * x),
    "guarded switch": lambda x: jax.lax.switch(
        x[3].astype(int), [lambda: jnp.log(x * 0), lambda: 3 * x, lambda: jnp.sqrt(x * 0)]),
    "last of a switch": lambda x: jax.lax.switch(
        x[5].astype(int), [lambda: jnp.log(x * 0), lambda: 3 * x]),
    "relu in scan": lambda x: jax.lax.scan(lambda c, z: (jax.nn.relu(c + z), c), x, x[None])[0],
}

# Eight numbers of x, some out of range.
FAR = numpy.array([0, 9, 7, -20, -1, 8, 3, 3], "i")
FUNCTIONS |= {
    "window out of range": lambda x: jax.vmap(
        lambda i: jax.lax.dynamic_slice(x, (i,), (3,)))(jnp.asarray(FAR)).sum(1),
    "clipped index": lambda x: jnp.take(x, FAR, mode="clip"),
    "wrapped index": lambda x: jnp.take(x, FAR, mode="wrap"),
    "filled index": lambda x: jnp.nan_to_num(jnp.take(x, FAR, mode="fill")),
}


# Functions and derivatives.
OWN = {
    "written": (written, lambda x: jax.nn.sigmoid(x) - Y),
    "abs": (jnp.abs, jnp.sign),
    # The module of x[i] is that of take(mode="clip").
    "index out of range": (lambda x: x[jnp.asarray(FAR)],
                           lambda x: numpy.array([1 + 4, 0, 0, 7 + 8, 0, 0, 0, 2 + 3 + 5 + 6])
                           / numpy.arange(1, 9)),
    "relu6 at 6": (jax.nn.relu6, lambda x: (0 < x) * 1.0 - 0.5 * (x == 6)),
}


def main():
    programs.use(sys.argv[1])
    x = numpy.array([0, 0, -0.0, 1, -1, 6, 0.5, 0], "f")
    for name in (*FUNCTIONS, *OWN):
        function, derivative = OWN.get(name) or (FUNCTIONS[name], None)

        def loss(params, weights):
            return (function(params["x"]) * weights).sum()

        weights = numpy.arange(1, 9, dtype="f")
        text = programs.lower(loss, {"x": x}, weights)
        program = programs.Program(programs.convert(text, "--mpt-autodiff"))
        found = dict(zip(program.results, program(x, weights)))["grad.params.x"]
        expected = numpy.asarray(jax.grad(loss)({"x": x}, weights)["x"])
        if derivative:
            expected = derivative(x) * weights
        same = numpy.allclose(found, expected, rtol=1e-6, atol=1e-6)
        print(f"{name}: {'equal' if same else f'DIFFERS: {found}, expected {expected}'}")

    # Logistic regression from zeros.
    inputs = numpy.linspace(-1, 2, 40, dtype="f").reshape(8, 5)

    def regression(params, inputs):
        logits = inputs @ params["w"] + params["b"]
        return optax.sigmoid_binary_cross_entropy(logits, Y).mean()

    params = {"b": numpy.zeros((), "f"), "w": numpy.zeros(5, "f")}
    program = programs.Program(programs.convert(programs.lower(regression, params, inputs),
                                                "--mpt-autodiff"))
    found = dict(zip(program.results, program(*jax.tree.leaves(params), inputs)))
    expected = jax.grad(regression)(params, inputs)
    same = all(numpy.allclose(found["grad.params." + name], expected[name], rtol=1e-5) and
               numpy.any(expected[name]) for name in params)
    print(f"regression from zeros: {'equal' if same else 'DIFFERS'}")


main()
