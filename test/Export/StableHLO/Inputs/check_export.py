"""Runs every tensor op in XLA, as StableHLO, and compares the results with NumPy.

  check_export.py BUILD [--each=N] [--round-trip] [OP...]

The cases are those of the reference engine and the CPU's compiled code; with --each only N of
each op. With --round-trip the StableHLO is not run by XLA: it is converted back, and runs on
MPT's CPU.
"""

import argparse
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "Reference/Inputs"), str(ROOT / "Import/StableHLO/Inputs")]

import programs
from check_ops import build, compare, is_compiled
from op_cases import all_cases

programs.jax.config.update("jax_enable_x64", True)
TYPES = programs.TYPES
TYPES.update(f8E4M3FN=ml_dtypes.float8_e4m3fn, f8E5M2=ml_dtypes.float8_e5m2)
# Made by planning for a GPU, which is after conversion.
NOT_CONVERTED = {"gemm"}


def is_fused(case):
    return "fused" in case.attributes


def pick(cases, count):
    """`count` cases of each op, from the first to the last."""
    groups = {}
    for case in cases:
        groups.setdefault(case.op, []).append(case)
    if not count:
        return cases
    picked = []
    for group in groups.values():
        number = min(count, len(group))
        picked += [group[i * len(group) // number] for i in range(number)]
    return picked


def check(cases, round_trip):
    """Complaints about the results of one module."""
    text, state = build(cases)
    module = programs.run("mpt-opt", text, "-", "--allow-unregistered-dialect",
                          "--mpt-convert-to-stablehlo=donate=false")
    leaves = [np.asarray(array).astype(TYPES[type]) for type, array in state.values()]
    engine = programs.Program(programs.convert(module)) if round_trip else programs.XLA(module)
    found = iter(engine(*leaves))
    problems = []
    for case in cases:
        outputs = []
        for type, _ in case.outputs:
            got = next(found)
            outputs.append(got if type.startswith("i") else got.astype(np.float64))
        problems += compare(case, outputs, "cpu")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--each", type=int, default=0)
    parser.add_argument("--round-trip", action="store_true")
    arguments = parser.parse_intermixed_args()
    programs.use(arguments.build)
    cases = [case for case in all_cases() if case.op not in NOT_CONVERTED and not is_fused(case)
             and (not arguments.ops or case.op in arguments.ops)
             and (not arguments.round_trip or is_compiled(case))]
    cases = pick(cases, arguments.each)
    problems = []
    # XLA's time grows faster than a module.
    for first in range(0, len(cases), 25):
        problems += check(cases[first:first + 25], arguments.round_trip)
    for problem in problems:
        print(problem)
    ops = len({case.op for case in cases})
    print(f"{'MPT' if arguments.round_trip else 'XLA'}: {len(cases)} cases of {ops} ops, "
          f"{len(problems)} wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
