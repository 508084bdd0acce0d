"""What one case of one op is."""

import numpy as np

from storage import TYPES

INF, NAN = np.inf, np.nan


class Case:
    """An op on `inputs` [(type, array)] should give `outputs` [(type, array)].

    Expected arrays are in f64 and not rounded. `error` says by how much compiled
    code may miss each output before it rounds, in units of its arithmetic's unit
    roundoff u (2^-24, or 2^-53 with f64): per output an absolute number or array, or
    an int, which counts in units of the expected value. Formulas of sums: with k terms and |t| their sum of magnitudes, a
    sum in any order errs by at most k u |t| to first order, a product of two
    stored numbers adds u each.
    """

    def __init__(self, op, inputs, outputs, attributes="", syntax=None, error=8):
        self.op, self.inputs, self.outputs = op, inputs, outputs
        self.attributes, self.syntax = attributes, syntax
        errors = error if isinstance(error, list) else [error] * len(outputs)
        self.error = lambda i: self.get_error(errors[i], outputs[i][1])

    @staticmethod
    def get_error(error, want):
        if not isinstance(error, int):
            return error
        return error * np.abs(np.where(np.isfinite(np.asarray(want, float)), want, 0.0))

    def is_wide(self):
        return any(type == "f64" for type, _ in self.inputs + self.outputs)

    def has_float8(self):
        return any(type.startswith("f8") for type, _ in self.inputs + self.outputs)

    def scale(self, i):
        want = np.asarray(self.outputs[i][1], np.float64)
        finite = want[np.isfinite(want)]
        return 1.0 + (np.max(np.abs(finite)) if finite.size else 0.0)

    def describe(self):
        types = ", ".join(t + str(list(np.shape(a))) for t, a in self.inputs)
        return f"mpt.{self.op} {{{self.attributes}}} ({types})"


def relaxed(case, type):
    """Of a case with operands or inner results that f32 rounded, unlike the
    expected result's: their relative error of 2^-24 comes on top."""
    if type == "f32":
        case.scale = lambda i: case.error(i) * 2.0**-24 / 1e-13
    return case


class Random:
    """Inputs that are numbers of their type."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, type, shape, low=-2.0, high=2.0):
        if type.startswith("i"):
            return (type, self.rng.integers(int(low), int(high), shape))
        return (type, TYPES[type].round(self.rng.uniform(low, high, shape)))

    def bools(self, shape):
        return ("i1", self.rng.integers(0, 2, shape))


def i64s(values):
    return "array<i64" + (": " + ", ".join(map(str, values)) if len(values) else "") + ">"


def f64(value):
    return f"{float(value)!r} : f64" if np.isfinite(value) else "0x7FF0000000000000 : f64"
