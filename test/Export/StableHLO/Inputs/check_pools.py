"""Gradients of max pooling in XLA, or in IREE, bit for bit as on MPT's CPU.

  check_pools.py BUILD [--iree]

Windows lie apart, side by side, overlap, and reach into padding. The numbers have many ties,
NaN, and windows in which all are -inf.
"""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "test/Import/StableHLO/Inputs"))

import check_steps
import programs

# Height and width of x, window, strides, padding.
CASES = [
    ((8, 8), (2, 2), (2, 2), (0, 0, 0, 0)),
    ((9, 7), (2, 2), (2, 2), (0, 0, 0, 0)),
    ((8, 8), (2, 2), (3, 3), (0, 0, 0, 0)),
    ((9, 9), (3, 3), (2, 2), (0, 0, 0, 0)),
    ((8, 8), (3, 3), (2, 2), (0, 1, 0, 1)),
    ((8, 8), (2, 2), (1, 1), (0, 0, 0, 0)),
    ((8, 8), (3, 3), (3, 3), (0, 1, 0, 1)),
    ((7, 5), (3, 3), (1, 1), (1, 1, 1, 1)),
    ((8, 6), (3, 2), (2, 1), (2, 0, 1, 0)),
]


def make(size, window, strides, padding):
    out = [(size[i] + padding[2 * i] + padding[2 * i + 1] - window[i]) // strides[i] + 1
           for i in (0, 1)]
    x, dy = (f"tensor<2x{h}x{w}x3xf32>" for h, w in (size, out))
    spell = lambda numbers: f"array<i64: {', '.join(map(str, numbers))}>"
    argument = lambda name, type: f'%{name}: {type} {{mpt.name = "{name}", mpt.role = "input"}}'
    return (2, *size, 3), (2, *out, 3), f"""
func.func @main({argument("dy", dy)}, {argument("x", x)}) -> ({x} {{mpt.name = "dx"}}) {{
  %0 = mpt.max_pool_grad %dy, %x {{window = {spell(window)}, strides = {spell(strides)},
      padding = {spell(padding)}}} : ({dy}, {x}) -> {x}
  return %0 : {x}
}}
"""


def check(case, engine, rng):
    shape, out, text = make(*case)
    x = rng.integers(-2, 3, shape).astype(np.float32)
    x[0, :5, :5, 0] = -np.inf
    x[rng.random(shape) < 0.05] = np.nan
    dy = rng.standard_normal(out).astype(np.float32)
    expected = programs.Program(text)(dy, x)[0]
    found = engine(check_steps.export(text))(dy, x)[0]
    same = np.array_equal(expected, found) and np.count_nonzero(expected) > 0
    print(*case, "equal" if same else "DIFFERS")
    return same


if __name__ == "__main__":
    build, *options = sys.argv[1:]
    programs.use(build)
    engine = check_steps.IREE if "--iree" in options else programs.XLA
    rng = np.random.default_rng(0)
    passed = [check(case, engine, rng) for case in CASES]
    print(f"{sum(passed)} of {len(passed)} gradients are equal")
    sys.exit(not all(passed))
