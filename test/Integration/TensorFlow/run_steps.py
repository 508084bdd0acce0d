"""Steps of TensorFlow that keras_steps.py exported, on MPT, and back.

    run_steps.py BUILD FOLDER NAME..

Prints StableHLO in generic form by jaxlib, converts and compiles it with MPT, and compares
losses and the last state with TensorFlow's. The same step is turned into StableHLO again
and run by XLA. Writes MPT's state to NAME.back.npz for `keras_steps.py take`.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../Import/StableHLO/Inputs"))
import programs  # before jax
import jax
import numpy
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir


def generic(text):
    with mlir.make_ir_context(), ir.Location.unknown():
        return ir.Module.parse(text).operation.get_asm(print_generic_op_form=True)


def train(name, folder):
    saved = numpy.load(f"{folder}/{name}.npz")
    text = generic(open(f"{folder}/{name}.mlir", encoding="utf-8").read())
    converted = programs.convert(text)
    mine = programs.Program(converted)
    theirs = programs.XLA(programs.run(
        "mpt-opt", converted, "-", "--allow-unregistered-dialect",
        "--mpt-convert-to-stablehlo=donate=false"))
    count = sum(key.startswith("first") for key in saved)
    first = [saved[f"first{i}"] for i in range(count)]
    expected = saved["losses"]

    def run(program):
        state, losses = list(first), []
        for number in range(len(expected) + 1):
            last = list(state)
            results = program(saved[f"x{number}"], saved[f"y{number}"], *state)
            for result, value in zip(mine.results, results):
                if result in mine.updates:
                    place = mine.arguments.index(mine.updates[result]) - 2
                    state[place] = numpy.asarray(value).reshape(first[place].shape)
                elif result == "loss":
                    losses.append(float(value))
        return losses, last

    for what, program in ("MPT", mine), ("XLA with MPT's StableHLO", theirs):
        losses, last = run(program)
        worst = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
        state = max(programs.difference(value, saved[f"last{i}"])
                    for i, value in enumerate(last) if value.dtype.kind == "f")
        print(f"{name}, {what}: losses of {len(expected)} steps "
              f"{'equal' if worst < 1e-4 else 'DIFFER'} ({worst:.1e}), "
              f"{expected[0]:.3f} to {expected[-1]:.3f}, state {state:.1e}")
        if program is mine:
            numpy.savez(f"{folder}/{name}.back.npz", loss=losses[-1], number=len(expected),
                        **{f"last{i}": value for i, value in enumerate(last)})


if __name__ == "__main__":
    build, folder, *names = sys.argv[1:]
    jax.config.update("jax_enable_x64", True)  # counters are i64
    programs.use(build)
    for each in names:
        train(each, folder)
