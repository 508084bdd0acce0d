"""Runs the formulas of docs/FromPyTorch.md and compares them with NumPy.

  check_recipes.py MPT_RUN OPS_JSON WORK_DIRECTORY

OPS_JSON is MPTReference.td as llvm-tblgen dumps it. A formula becomes ops on tensors that
the reference engine interprets. Where the page says shapes in words, shape_recipes.py has
the ops.
"""

import ast
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from shape_recipes import SHAPED
from storage import load, save

SHAPE = (3, 5)
sigmoid = lambda x: 1 / (1 + np.exp(-x))
softplus = lambda x: np.logaddexp(x, 0)
elu = lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x))
smooth_l1 = lambda d: np.mean(np.where(abs(d) < 1, 0.5 * d * d, abs(d) - 0.5))
erfc = np.vectorize(math.erfc)
# By the first name of the recipe: what it should give for the tensors in the formula.
WANTED = {
    "F.relu6": lambda x: np.clip(x, 0, 6),
    "F.leaky_relu": lambda x, slope: np.where(x > 0, x, slope * x),
    "F.prelu": lambda x, weight: np.where(x > 0, x, weight * x),
    "F.elu": elu,
    "F.selu": lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772),
    "F.logsigmoid": lambda x: -softplus(-x),
    "F.mish": lambda x: x * np.tanh(softplus(x)),
    "F.hardtanh": np.clip,
    "F.hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "F.hardswish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "F.softsign": lambda x: x / (1 + abs(x)),
    "F.tanhshrink": lambda x: x - np.tanh(x),
    "F.softmin": lambda x: np.exp(-x) / np.exp(-x).sum(-1, keepdims=True),
    "torch.square": np.square,
    "torch.log2": np.log2,
    "torch.log10": np.log10,
    "torch.exp2": np.exp2,
    "torch.expm1": np.expm1,
    "torch.ceil": np.ceil,
    "torch.trunc": np.trunc,
    "torch.floor_divide": np.floor_divide,
    "torch.remainder": np.remainder,
    "torch.tan": np.tan,
    "torch.erfc": erfc,
    "torch.lerp": lambda x, weight, y: x + weight * (y - x),
    "torch.addcmul": lambda x, value, y, z: x + value * y * z,
    "torch.addcdiv": lambda x, value, y, z: x + value * y / z,
    "torch.isnan": np.isnan,
    "torch.norm": lambda x: np.sqrt(np.sum(x * x)),
    "F.normalize": lambda x: x / np.sqrt(np.sum(x * x)),
    "F.cosine_similarity": lambda x, y: np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y)),
    "F.l1_loss": lambda x, y: np.mean(abs(x - y)),
    "F.binary_cross_entropy_with_logits":
        lambda x, y: -np.mean(y * np.log(sigmoid(x)) + (1 - y) * np.log(1 - sigmoid(x))),
    "F.binary_cross_entropy": lambda x, y: -np.mean(y * np.log(x) + (1 - y) * np.log(1 - x)),
    "F.kl_div": lambda x, y: np.mean(y * (np.log(y) - x)),
    "hinge_loss": lambda x, y: np.mean(np.maximum(0, 1 - x * y)),
}
# Numbers between 0 and 1.
PROBABILITIES = {"F.binary_cross_entropy": "xy", "F.kl_div": "y", "torch.log2": "x", "torch.log10": "x",
                 "F.binary_cross_entropy_with_logits": "y", "F.leaky_relu": ["slope"]}


class Emitter:
    """Writes a formula as ops on tensors; a value is (name, shape, element type)."""

    def __init__(self, arguments):
        self.arguments, self.lines, self.used = arguments, [], set()

    def define(self, text, shape, type):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name, shape, type

    def spell(self, value):
        return "tensor<" + "".join(f"{size}x" for size in value[1]) + value[2] + ">"

    def constant(self, text, type="f32"):
        return self.define(f"mpt.constant dense<{text}> : tensor<{type}>", (), type)

    def number(self, value, type="f32"):
        return self.constant(f"{value:.9e}" if type == "f32" else value, type)

    def op(self, name, *values, shape=None, type=None, attributes=""):
        """The shape is that of elementwise ops unless it is given, and the type the last operand's."""
        self.used.add(name)
        shape = np.broadcast_shapes(*(value[1] for value in values)) if shape is None else tuple(shape)
        type = type or values[-1][2]
        given, types = ", ".join(value[0] for value in values), ", ".join(self.spell(value) for value in values)
        attributes = f" {{{attributes}}}" if attributes else ""
        return self.define(f"mpt.{name} {given}{attributes} : ({types}) -> {self.spell(('', shape, type))}", shape, type)

    def emit(self, node):
        if isinstance(node, ast.Constant):
            return self.number(node.value)
        if isinstance(node, ast.Name):
            return self.arguments[node.id]
        op, words = node.func.id, [word.id for word in node.args if isinstance(word, ast.Name)]
        values, attributes = node.args, []
        if op == "compare":
            values, attributes = node.args[:2], [f"predicate = #mpt.predicate<{words[-1]}>"]
        elif op == "reduce":
            values = node.args[:1]
            axes = ", ".join(str(i) for i in range(len(SHAPE)))
            attributes = [f"kind = #mpt.reduce_kind<{node.args[1].id}>", f"axes = array<i64: {axes}>"]
            attributes += ["keep_dims"] * ("keep_dims" in words)
        values = [self.emit(value) for value in values]
        shape = np.broadcast_shapes(*(value[1] for value in values))
        type = "i1" if op == "compare" else values[-1][2]
        if op == "reduce":
            shape = (1,) * len(SHAPE) if "keep_dims" in words else ()
        return self.op(op, *values, shape=shape, type=type, attributes=", ".join(attributes))


def emit_formula(formula, arguments):
    emitter = Emitter(arguments)
    return emitter, emitter.emit(ast.parse(formula, mode="eval").body)


def emit_shaped(name, recipe, arguments):
    """Also checks that the ops are those that the page names."""
    emitter = Emitter(arguments)
    result = SHAPED[name][1](emitter, *arguments.values())
    formula = set(re.findall(r"(\w+)\(|iota", recipe["formula"]))
    named = set(re.findall(r"\w+", recipe["formula"] + " " + recipe["note"]))
    # What gives the inputs of these their values.
    makers = {"torch.isinf": {"log", "maximum"}}.get(name, set())
    assert formula - {""} <= emitter.used and emitter.used - makers <= named | {"reshape", "iotas", "iota"}, (
        name, emitter.used, named)
    return emitter, result


def main(mpt_run, records, work):
    work = Path(work)
    work.mkdir(parents=True, exist_ok=True)
    with open(records, encoding="utf-8") as file:
        records = json.load(file)
    recipes = [records[name] for name in records["!instanceof"]["MPT_Recipe"]]
    recipes = {recipe["names"][0]: recipe for recipe in recipes if recipe["formula"]}
    missing = set(recipes) - set(WANTED) - set(SHAPED)
    assert not missing, missing
    rng, state, arguments, results, body, returned, wanted = np.random.default_rng(7), {}, [], [], [], [], {}
    for number, name in enumerate(recipes):
        recipe, values, tensors = recipes[name], {}, {}
        if name in SHAPED:
            values, _, function = SHAPED[name]
        else:
            function = WANTED[name]
            words = {word.id for call in ast.walk(ast.parse(recipe["formula"], mode="eval")) if isinstance(call, ast.Call)
                     for word in call.args if isinstance(word, ast.Name)}
            for word in [word for word in function_arguments(function, name) if word in words]:
                low = 0.05 if word in PROBABILITIES.get(name, "") else -7.0
                values[word] = rng.uniform(low, 0.95 if low > 0 else 7.0, SHAPE).astype(np.float32)
            if {"low", "high"} <= set(values):
                values["low"], values["high"] = np.full(SHAPE, -2, np.float32), np.full(SHAPE, 3, np.float32)
        for word, array in values.items():
            key, type = f"c{number}_{word}", "i32" if array.dtype == np.int32 else "f32"
            state[key] = (type, array)
            tensors[word] = (f"%{key}", array.shape, type)
            shape = "".join(f"{size}x" for size in array.shape)
            arguments.append(f'%{key}: tensor<{shape}{type}> {{mpt.name = "{key}", mpt.role = "optimizer_state"}}')
        emitter, result = (emit_shaped(name, recipe, tensors) if name in SHAPED
                           else emit_formula(recipe["formula"], tensors))
        body += [re.sub(r"%v(?=\d)", f"%c{number}v", line) for line in emitter.lines]
        spelled, out = emitter.spell(result), f"c{number}_out"
        want = np.asarray(function(*[array.astype(np.float64) for array in values.values()]))
        assert want.shape == tuple(result[1]), (name, want.shape, result)
        state[out] = (result[2], np.zeros(want.shape))
        arguments.append(f'%{out}: {spelled} {{mpt.name = "{out}", mpt.role = "optimizer_state"}}')
        results.append(f'{spelled} {{mpt.name = "new_{out}", mpt.updates = "{out}"}}')
        returned.append((result[0].replace("%v", f"%c{number}v"), spelled))
        wanted[name] = (out, want)
    body.append("  %loss = mpt.constant dense<0.0> : tensor<f32>")
    results.append('tensor<f32> {mpt.name = "loss"}')
    returned.append(("%loss", "tensor<f32>"))
    (work / "step.mlir").write_text(
        "func.func @step(" + ",\n    ".join(arguments) + ")\n    -> (" + ",\n    ".join(results) + ") {\n"
        + "\n".join(body) + "\n  return " + ", ".join(value for value, _ in returned) + " : "
        + ", ".join(type for _, type in returned) + "\n}\n")
    save(work / "init.safetensors", state)
    subprocess.run([mpt_run, "step.mlir", "--init=init.safetensors", "--steps=1", "--checkpoint=out.safetensors",
                    "--progress=none", "--engine=reference"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    found, wrong = load(work / "out.safetensors"), 0
    for name, (out, want) in wanted.items():
        # Some forms lose digits by cancellation, as the page says of them.
        if not np.allclose(found[out], want, rtol=2e-5, atol=2e-5):
            print(f"{name}: {recipes[name]['formula']} gives {found[out]}, want {want}")
            wrong += 1
    print(f"{len(wanted)} formulas, {wrong} wrong")
    return 1 if wrong else 0


def function_arguments(function, name):
    """The tensors of a recipe in the order of the function's arguments."""
    known = {"F.hardtanh": ["x", "low", "high"], "torch.floor_divide": "xy", "torch.remainder": "xy"}
    code = getattr(function, "__code__", None)
    return known.get(name) or (code.co_varnames[: code.co_argcount] if code else ["x"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
