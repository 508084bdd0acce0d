"""A network of flax nnx with batch norm and dropout trains on MPT as in JAX:
the same losses, parameters and state."""
import warnings

import jax
import jax.numpy as jnp
import numpy
import optax

import mpt.jax

warnings.filterwarnings("ignore")
random = numpy.random.default_rng(0)
batches = [(random.standard_normal((16, 5)).astype("f"), random.standard_normal((16, 3)).astype("f"))
           for _ in range(4)]


def flatten(tree):
    plain = jax.tree.map(lambda x: jax.random.key_data(x)
                         if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x, tree)
    return numpy.concatenate([numpy.asarray(leaf, "float64").ravel()
                              for leaf in jax.tree.leaves(plain)])


def report(name, expected, found):
    print(name, *("equal" if numpy.allclose(a, b, rtol=2e-5, atol=2e-6) else abs(a - b).max()
                  for a, b in zip(expected, found)))


def of_nnx():
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(5, 32, rngs=rngs)
            self.norm = nnx.BatchNorm(32, rngs=rngs)
            self.drop = nnx.Dropout(0.2, rngs=rngs)
            self.last = nnx.Linear(32, 3, rngs=rngs)

        def __call__(self, x):
            return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))

    net = Net(nnx.Rngs(0))
    graph, params, rest = nnx.split(net, nnx.Param, ...)

    def loss(params, rest, x, y):
        net = nnx.merge(graph, params, rest, copy=True)
        value = optax.l2_loss(net(x), y).mean()
        return value, nnx.split(net, nnx.Param, ...)[2]

    step = mpt.jax.train_step(loss, params, batches[0], optax.sgd(0.1, momentum=0.9), state=rest)
    found = [step(*batch).loss for batch in batches]
    optimizer = nnx.Optimizer(net, optax.sgd(0.1, momentum=0.9), wrt=nnx.Param)

    @nnx.jit
    def train(net, optimizer, x, y):
        value, gradients = nnx.value_and_grad(lambda net: optax.l2_loss(net(x), y).mean())(net)
        optimizer.update(net, gradients)
        return value

    expected = [train(net, optimizer, *batch) for batch in batches]
    _, params, rest = nnx.split(net, nnx.Param, ...)
    report("nnx:", (expected, flatten(params), flatten(rest)),
           (found, flatten(step.params), flatten(step.state)))
    nnx.update(net, step.params, step.state)
    print("back:", numpy.array_equal(net.norm.mean[...], step.state["norm"]["mean"][...]))


of_nnx()
