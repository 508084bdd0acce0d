"""Writes the character GPT as MLIR: make_model.py > gpt.mlir.

A pre-norm decoder as GPT-2: learned positions, causal attention, GELU, a last
norm and a projection to the vocabulary. Initial values are nanoGPT's: normal
with deviation 0.02, for projections into the residual stream over
sqrt(2 layers). The batch is left open.
"""

import argparse
import math


class Model:
    def __init__(self, layers, width, heads, context, vocabulary):
        self.layers, self.width, self.heads = layers, width, heads
        self.context, self.vocabulary = context, vocabulary
        self.arguments, self.body, self.count = [], [], 0

    def parameter(self, name, shape, init):
        self.arguments.append(
            f'%{name}: tensor<{shape}xf32> {{mpt.name = "{name}", '
            f'mpt.role = "parameter", mpt.init = {init}}}'
        )
        return f"%{name}"

    def op(self, text, operands, results):
        """Adds `text`, on operands of these types; returns the first result."""
        self.count += 1
        names = [f"%v{self.count}_{i}" for i in range(len(results))]
        taken = ", ".join(f"tensor<{t}>" for t in operands)
        given = ", ".join(f"tensor<{t}>" for t in results)
        if len(results) > 1:
            given = f"({given})"
        self.body.append(f"  {', '.join(names)} = {text}\n      : ({taken}) -> {given}")
        return names[0]

    def normal(self, deviation):
        return f'{{kind = "normal", mean = 0.0 : f64, std = {deviation!r} : f64}}'

    def norm(self, x, name):
        c, rows = self.width, f"?x{self.context}"
        gamma = self.parameter(name + "_gamma", c, '{kind = "ones"}')
        beta = self.parameter(name + "_beta", c, '{kind = "zeros"}')
        return self.op(
            f"mpt.layer_norm {x}, {gamma}, {beta}",
            [f"{rows}x{c}xf32", f"{c}xf32", f"{c}xf32"],
            [f"{rows}x{c}xf32", f"{rows}xf32", f"{rows}xf32"],
        )

    def linear(self, x, name, inputs, outputs, deviation=0.02):
        rows = f"?x{self.context}"
        weight = self.parameter(name + "_w", f"{inputs}x{outputs}", self.normal(deviation))
        bias = self.parameter(name + "_b", outputs, '{kind = "zeros"}')
        return self.op(
            f"mpt.linear {x}, {weight}, {bias}",
            [f"{rows}x{inputs}xf32", f"{inputs}x{outputs}xf32", f"{outputs}xf32"],
            [f"{rows}x{outputs}xf32"],
        )

    def attention(self, x, layer):
        t, c, h = self.context, self.width, self.heads
        d = c // h
        heads = []
        for part in "qkv":
            y = self.linear(x, f"l{layer}_{part}", c, c)
            y = self.op(f"mpt.reshape {y}", [f"?x{t}x{c}xf32"], [f"?x{t}x{h}x{d}xf32"])
            heads.append(
                self.op(
                    f"mpt.transpose {y} {{permutation = array<i64: 0, 2, 1, 3>}}",
                    [f"?x{t}x{h}x{d}xf32"],
                    [f"?x{h}x{t}x{d}xf32"],
                )
            )
        y = self.op(
            f"mpt.attention {', '.join(heads)} {{causal}}",
            [f"?x{h}x{t}x{d}xf32"] * 3,
            [f"?x{h}x{t}x{d}xf32", f"?x{h}x{t}xf32"],
        )
        y = self.op(
            f"mpt.transpose {y} {{permutation = array<i64: 0, 2, 1, 3>}}",
            [f"?x{h}x{t}x{d}xf32"],
            [f"?x{t}x{h}x{d}xf32"],
        )
        y = self.op(f"mpt.reshape {y}", [f"?x{t}x{h}x{d}xf32"], [f"?x{t}x{c}xf32"])
        return self.linear(y, f"l{layer}_proj", c, c, self.residual)

    def build(self):
        t, c, v = self.context, self.width, self.vocabulary
        self.residual = 0.02 / math.sqrt(2 * self.layers)
        hidden = f"?x{t}x{c}xf32"
        tokens = self.parameter("tokens", f"{v}x{c}", self.normal(0.02))
        positions = self.parameter("positions", f"{t}x{c}", self.normal(0.02))
        x = self.op(f"mpt.gather {tokens}, %x", [f"{v}x{c}xf32", f"?x{t}xi32"], [hidden])
        x = self.op(f"mpt.add {x}, {positions}", [hidden, f"{t}x{c}xf32"], [hidden])
        for layer in range(self.layers):
            y = self.attention(self.norm(x, f"l{layer}_n0"), layer)
            x = self.op(f"mpt.add {x}, {y}", [hidden] * 2, [hidden])
            y = self.linear(self.norm(x, f"l{layer}_n1"), f"l{layer}_up", c, 4 * c)
            wide = f"?x{t}x{4 * c}xf32"
            y = self.op(f"mpt.gelu {y} {{approximate = #mpt.gelu<tanh>}}", [wide], [wide])
            y = self.linear(y, f"l{layer}_down", 4 * c, c, self.residual)
            x = self.op(f"mpt.add {x}, {y}", [hidden] * 2, [hidden])
        logits = self.linear(self.norm(x, "last"), "head", c, v)
        loss = self.op(
            f"mpt.cross_entropy {logits}, %y",
            [f"?x{t}x{v}xf32", f"?x{t}xi32"],
            ["f32", f"?x{t}xf32"],
        )
        self.arguments.append(f'%x: tensor<?x{t}xi32> {{mpt.name = "x", mpt.role = "input"}}')
        self.arguments.append(f'%y: tensor<?x{t}xi32> {{mpt.name = "y", mpt.role = "target"}}')
        arguments = ",\n    ".join(self.arguments)
        body = "\n".join(self.body)
        return (
            "// A character GPT; written by make_model.py.\n"
            f'func.func @loss(\n    {arguments})\n    -> (tensor<f32> {{mpt.name = "loss"}}) {{\n'
            f"{body}\n  return {loss} : tensor<f32>\n}}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--vocabulary", type=int, default=96)
    options = parser.parse_args()
    print(Model(**vars(options)).build())
