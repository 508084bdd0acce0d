"""Compares functions of JAX, converted and compiled by MPT, with XLA.

check_ops.py BUILD [--seed=N] [--part=I/N] [--only=REGEX]: many functions go into one
program; those called "x64 .." have numbers of 64 bits. The last line counts them; a
difference or a refusal is a line of its own.
"""
import argparse
import re
import zlib

import jax
import numpy

import op_cases
import programs

GROUP = 24


def check(group):
    """The names of `group` whose results differ, with what is wrong."""
    flat, counts = [], []
    for function, arguments in group.values():
        flat += arguments
        counts.append(len(arguments))

    def together(*values):
        values, results = list(values), []
        for (function, _), count in zip(group.values(), counts):
            results.append(jax.tree.leaves(function(*values[:count])))
            del values[:count]
        return results

    expected = [[numpy.asarray(x) for x in results] for results in jax.jit(together)(*flat)]
    text = programs.lower(together, *flat)
    found = programs.Program(programs.convert(text))(*flat)
    for name, wanted in zip(group, expected):
        mine, found = found[:len(wanted)], found[len(wanted):]
        for index, (a, b) in enumerate(zip(mine, wanted)):
            a = a.view(b.dtype) if b.dtype.kind == "u" else a
            exact = b.dtype.kind != "f"
            gap = programs.difference(a, b)
            if not gap <= (0 if exact else 3e-6):
                yield f"{name}: result {index} differs by {gap:.1e}"
                if a.size < 20:
                    yield f"  found {a.tolist()}\n  expected {b.tolist()}"


def report(group):
    """Prints the differences, and returns their number."""
    try:
        lines = list(check(group))
    except programs.Refused:
        lines = []
        for name, case in group.items():  # one by one, to say which
            try:
                lines += check({name: case})
            except programs.Refused as refused:
                lines.append(f"{name}: refused: {str(refused)[:600]}")
    for line in lines:
        print(line, flush=True)
    return sum(not line.startswith("  ") for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    programs.use(arguments.build)
    part, parts = map(int, arguments.part.split("/"))
    cases = {name: case for name, case in op_cases.cases(op_cases.Draw(arguments.seed)).items()
             if re.search(arguments.only, name)
             and zlib.crc32(name.encode()) % parts == part % parts}
    differences = 0
    for wide in False, True:
        names = [name for name in cases if name.startswith("x64 ") == wide]
        jax.config.update("jax_enable_x64", wide)
        for start in range(0, len(names), GROUP):
            differences += report({name: cases[name] for name in names[start:start + GROUP]})
    print(f"{len(cases)} functions, {differences} differences")


main()
