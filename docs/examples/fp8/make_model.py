"""Writes a dense layer's training step with products of 8 bits: make_model.py > fp8.mlir.

y = x w, and the two products of its gradient, as NVIDIA's Transformer Engine computes
them with one scale per tensor: x and w in f8E4M3FN, the gradient of y in f8E5M2, sums
in f32. Under `--recipe=delayed` a scale follows the largest magnitudes of the last
`--history` steps, which are state of the step; under `current` it follows the tensor
itself. SGD on the f32 master of w. All state has a name: what a step wrote can be read
from a checkpoint.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import network

LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0}
LARGEST_F32 = 3.4028234663852886e38


class Quantizer:
    def __init__(self, net, recipe, history, margin, algorithm):
        self.net, self.recipe, self.history = net, recipe, history
        self.margin, self.algorithm = margin, algorithm

    def keep(self, name, value):
        """Makes `value` state, so that it can be read."""
        self.net.argument(name, value.shape, value.element, "running_stat", network.ZEROS)
        self.net.updates.append((name, value))

    def scale(self, amax, largest, otherwise):
        """largest / amax / 2^margin; `otherwise` where amax is 0, infinite or NaN."""
        net = self.net
        scale = net.pointwise("div", net.constant(largest), amax)
        scale = net.pointwise("div", scale, net.constant(2.0 ** self.margin))
        # Where amax is tiny the division gives infinity.
        scale = net.pointwise("minimum", scale, net.constant(LARGEST_F32))
        usable = net.op("and", [net.compare("gt", amax, net.constant(0.0)),
                                net.op("is_finite", [amax], ((), "i1"))], ((), "i1"))
        return net.op("where", [usable, scale, otherwise], ((), "f32"))

    def quantize(self, x, name, element):
        """x times its scale, saturated, rounded to `element`; and the scale."""
        net, n = self.net, self.history
        amax = net.reduce(net.pointwise("abs", x), "max", *range(len(x.shape)))
        if self.recipe == "current":
            scale = self.scale(amax, LARGEST[element], net.constant(1.0))
            self.keep(name + ".scale", scale)
        else:
            scale = net.argument(name + ".scale", (), "f32", "running_stat", network.ONES)
            old = net.argument(name + ".amax_history", (n,), "f32", "running_stat", network.ZEROS)
            now = net.reshape(amax, 1)
            record = net.concat([now, net.slice(old, 0, 1, n - 1)], 0)
            used = net.reduce(record, "max", 0) if self.algorithm == "max" else amax
            net.updates.append((name + ".scale", self.scale(used, LARGEST[element], scale)))
            # Entry 0 is the present step's; the others turn by one place.
            turned = [net.constant(0.0, (1,)), now]
            if n > 2:
                turned.insert(1, net.slice(record, 0, 2, n - 2))
            net.updates.append((name + ".amax_history", net.concat(turned, 0)))
        bound = net.constant(LARGEST[element])
        scaled = net.pointwise("minimum", net.pointwise("mul", x, scale), bound)
        scaled = net.pointwise("maximum", scaled, net.constant(-LARGEST[element]))
        narrow = net.cast(scaled, element)
        self.keep(name + ".f8", narrow)
        return narrow, scale

    def product(self, a, b, shape, attributes=""):
        """The product of two quantized tensors, in f32, without their scales."""
        net = self.net
        y = net.op("matmul", [a[0], b[0]], (shape, "f32"), attributes=attributes)
        # One after the other: the product of the scales may be no f32.
        for _, scale in (a, b):
            y = net.pointwise("div", y, scale)
        return y


def forward(net, rows, inputs, outputs, **recipe):
    x = net.input("x", (rows, inputs))
    t = net.target("t", (rows, outputs), "f32")
    w = net.parameter("w", (inputs, outputs), network.normal(0.5))
    quantizer = Quantizer(net, **recipe)
    xq = quantizer.quantize(x, "x8", "f8E4M3FN")
    wq = quantizer.quantize(w, "w8", "f8E4M3FN")
    y = quantizer.product(xq, wq, (rows, outputs))
    loss = net.op("mse_loss", [y, t], ((), "f32"))
    dy = net.pointwise("mul", net.pointwise("sub", y, t), net.constant(2.0 / (rows * outputs)))
    dyq = quantizer.quantize(dy, "dy8", "f8E5M2")
    dw = quantizer.product(xq, dyq, (inputs, outputs), "transpose_lhs")
    dx = quantizer.product(dyq, wq, (rows, inputs), "transpose_rhs")
    for name, value in (("y", y), ("dy", dy), ("dw", dw), ("dx", dx)):
        quantizer.keep(name, value)
    step = net.pointwise("mul", dw, net.argument("lr", (), "f32", "schedule",
                                                 "{kind = \"constant\", value = 0.1 : f64}"))
    net.updates.append(("w", net.pointwise("sub", w, step)))
    return {"loss": loss}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", choices=["delayed", "current"], default="delayed")
    parser.add_argument("--history", type=int, default=16)
    parser.add_argument("--margin", type=int, default=0)
    parser.add_argument("--algorithm", choices=["max", "most_recent"], default="max")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--inputs", type=int, default=48)
    parser.add_argument("--outputs", type=int, default=32)
    options = vars(parser.parse_args())
    if options["history"] < 2:
        parser.error("--history: expected at least 2 steps")
    print("// A dense layer's training step with 8-bit products; written by make_model.py.")
    network.print_function("step", lambda net: forward(net, **options), True)
