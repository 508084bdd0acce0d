"""Runs every tensor op in XLA, as StableHLO, and compares the results with NumPy.

  check_export.py BUILD [OP...]

The cases are those of the reference engine and the CPU's compiled code.
"""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "Reference/Inputs"), str(ROOT / "Import/StableHLO/Inputs")]

import programs
from check_ops import build, compare
from op_cases import all_cases

programs.jax.config.update("jax_enable_x64", True)
TYPES = dict(programs.TYPES, f8E4M3FN=ml_dtypes.float8_e4m3fn, f8E5M2=ml_dtypes.float8_e5m2)
# Made by planning for a GPU, which is after conversion.
NOT_CONVERTED = {"gemm"}


def is_fused(case):
    return "fused" in case.attributes


def check(cases):
    """Complaints about the results of one module."""
    text, state = build(cases)
    module = programs.run("mpt-opt", text, "-", "--allow-unregistered-dialect",
                          "--mpt-convert-to-stablehlo=donate=false")
    leaves = [np.asarray(array).astype(TYPES[type]) for type, array in state.values()]
    found = iter(programs.XLA(module)(*leaves))
    problems = []
    for case in cases:
        outputs = []
        for type, _ in case.outputs:
            got = next(found)
            outputs.append(got if type.startswith("i") else got.astype(np.float64))
        problems += compare(case, outputs, "cpu")
    return problems


def main(folder, *only):
    programs.use(folder)
    cases = [case for case in all_cases() if case.op not in NOT_CONVERTED and not is_fused(case)
             and (not only or case.op in only)]
    problems = []
    # XLA's time grows faster than a module.
    for first in range(0, len(cases), 25):
        problems += check(cases[first:first + 25])
    for problem in problems:
        print(problem)
    ops = len({case.op for case in cases})
    print(f"XLA: {len(cases)} cases of {ops} ops, {len(problems)} wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
