"""Trains whole steps of StableHLO in MPT and in XLA from the same state and batches.

check_steps.py BUILD FILE=STATE... [--steps=20]: FILE holds a step whose first STATE
arguments are updated by its first STATE results; its last result is the loss. Prints the
largest relative difference of the losses, and of the state after the last step.
"""
import argparse
import re

import numpy

import programs


def first_values(text, state, seed):
    """Numbers for the arguments of @main, by their names: weights are He's, scales and
    variances ones, biases, means and slots of optimizers zeros."""
    types = re.search(r"function_type = \((.*?)\) ->", text)[1]
    infos = re.findall(r'jax\.result_info = "([^"]*)"', text)
    rng = numpy.random.default_rng(seed)
    values = []
    for index, (shape, element) in enumerate(
            re.findall(r"tensor<((?:\d+x)*)(\w+)>", types)):
        shape = tuple(int(n) for n in shape.split("x")[:-1])
        info = infos[index] if index < min(state, len(infos)) else ""
        if element == "f32":
            value = rng.normal(size=shape)
            if re.search(r"trace|\.mu|\.nu|count|mean|bias|\['b\d*'\]", info):
                value = numpy.zeros(shape)
            elif re.search(r"scale|var|\['g'\]", info):
                value = numpy.ones(shape)
            elif index < state and len(shape) > 1:
                value *= (2 / numpy.prod(shape[:-1])) ** 0.5
            elif index < state:
                value = value / 10 + 1
            values.append(value.astype(numpy.float32))
        elif element == "i1":
            values.append(rng.random(shape) < 0.9)
        else:
            high = 1 if index < state else 2
            values.append(rng.integers(high, size=shape).astype(
                {"i32": numpy.int32, "i64": numpy.int64}[element]))
    return values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    programs.use(arguments.build)
    for item in arguments.files:
        path, _, state = item.rpartition("=")
        state, text = int(state), open(path, encoding="utf-8").read()
        name = path.split("/")[-1].removesuffix(".mlir")
        mine = programs.Program(programs.convert(text, options=f"state={state}"))
        theirs = programs.XLA(text)
        values = first_values(text, state, 0)
        left, right = values[:state], values[:state]
        worst = 0.0
        for step in range(arguments.steps):
            batch = first_values(text, state, step + 1)[state:]
            *left, loss = mine(*left, *batch)
            *right, expected = theirs(*right, *batch)
            worst = max(worst, programs.difference(loss, expected))
            if step == 0:
                first = max(map(programs.difference, left, right))
        last = max(map(programs.difference, left, right))
        print(f"{name}: loss {float(loss):.6g}, XLA's {float(expected):.6g}, "
              f"largest difference {worst:.1e}, state after 1 step {first:.1e}, "
              f"after {arguments.steps} {last:.1e}", flush=True)


if __name__ == "__main__":
    main()
