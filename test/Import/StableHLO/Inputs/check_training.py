"""Trains networks of JAX in MPT and in XLA from the same state and batches.

check_training.py BUILD [--steps=N] [--whole=NAME...] [--loss=NAME...]:

- whole: the training step with optax, of train_steps.py or flax_steps.py, lowered by JAX
  with its state donated, runs as it is.
- loss: the forward function alone; MPT derives the gradients (`--mpt-autodiff`), which are
  compared with those of jax.grad, and the optimizer (`--mpt-train-step`) trains it.

A line for each network says whether losses and values are equal within rounding.
"""
import argparse
import os
import sys

import programs  # before jax
import jax
import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../Integration/JAX"))

import networks
import train_steps


def is_key(leaf):
    return jax.dtypes.issubdtype(getattr(leaf, "dtype", numpy.float32), jax.dtypes.prng_key)


def find_step(name):
    if name in train_steps.STEPS:
        return train_steps.STEPS[name]()
    import flax_steps  # needs flax
    return flax_steps.STEPS[name]()


def whole(name, steps):
    step = find_step(name)
    state, batch = jax.jit(lambda: step.state(0))(), step.batch(0, 0)
    leaves, tree = jax.tree.flatten(state)
    keys = [is_key(leaf) for leaf in leaves]

    def bare(values):
        return [jax.random.key_data(v) if key else v for v, key in zip(values, keys)]

    leaves = [numpy.asarray(leaf) for leaf in bare(leaves)]
    parts, batch_tree = jax.tree.flatten(batch)

    def flat(*values):
        state = [jax.random.wrap_key_data(v) if key else v for v, key in zip(values, keys)]
        new, loss = step.step(jax.tree.unflatten(tree, state),
                              jax.tree.unflatten(batch_tree, values[len(leaves):]))
        return (*bare(jax.tree.leaves(new)), loss)

    donated = tuple(range(len(leaves)))
    text = programs.lower(flat, *leaves, *parts, donate_argnums=donated)
    mine, theirs = programs.Program(programs.convert(text)), jax.jit(flat)
    left, right, worst = leaves, leaves, 0.0
    for number in range(steps):
        parts = jax.tree.leaves(step.batch(0, number))
        *left, loss = mine(*left, *parts)
        *right, expected = theirs(*right, *parts)
        worst = max(worst, programs.difference(loss, expected))
    print(f"{name}: losses of {steps} steps {'equal' if worst < 1e-4 else 'DIFFER'} "
          f"({worst:.1e}), last {float(loss):.4f}", flush=True)


def loss(name, steps):
    function, parameters, batch = networks.NETWORKS[name]()
    text = programs.lower(function, parameters, *batch)
    values = jax.tree.leaves(parameters)
    gradients = programs.Program(programs.convert(text, "--mpt-autodiff"))
    found = dict(zip(gradients.results, gradients(*values, *jax.tree.leaves(batch))))
    update = jax.jit(jax.value_and_grad(function))
    expected, theirs = update(parameters, *batch)
    worst = programs.difference(found["loss"], expected)
    norm = numpy.sqrt(sum(numpy.sum(numpy.square(g, dtype="d"))
                          for g in jax.tree.leaves(theirs)))
    mean = norm / len(values) ** 0.5
    for argument, gradient in zip(gradients.arguments, jax.tree.leaves(theirs)):
        gap = numpy.linalg.norm(found["grad." + argument].astype("d") -
                                numpy.asarray(gradient, "d"))
        worst = max(worst, gap / (numpy.linalg.norm(gradient) + 0.01 * mean))
    # SGD, to compare values: AdamW divides by what may be rounding.
    rate = 0.01
    step = programs.Program(programs.convert(
        text, "--mpt-autodiff", "--mpt-train-step=optimizer=sgd"))
    for argument, value in zip(gradients.arguments, values):
        step.write(argument, value)
    for argument in step.tensors:
        if step.tensors[argument][0] == "schedule":
            step.write(argument, numpy.float32(rate))
    trained, trace = parameters, 0.0
    for _ in range(steps):
        for argument, value in zip(gradients.arguments[len(values):], jax.tree.leaves(batch)):
            step.write(argument, value)
        step.call("run")
        expected, theirs = update(trained, *batch)
        trace = max(trace, programs.difference(step.read("loss"), expected))
        trained = jax.tree.map(lambda p, g: p - rate * g, trained, theirs)
    print(f"{name}: gradients {'equal' if worst < 1e-3 else 'DIFFER'} ({worst:.1e}), losses of "
          f"{steps} steps {'equal' if trace < 1e-3 else 'DIFFER'} ({trace:.1e})", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--whole", nargs="*", default=[])
    parser.add_argument("--loss", nargs="*", default=[])
    arguments = parser.parse_args()
    programs.use(arguments.build)
    for names, check in (arguments.whole, whole), (arguments.loss, loss):
        for name in names:
            try:
                check(name, arguments.steps)
            except programs.Refused as refused:
                print(f"{name}: refused: {str(refused)[:1500]}", flush=True)


main()
