"""Writes the character GPT as MLIR: make_model.py > gpt.mlir.

A pre-norm decoder as GPT-2: learned positions, causal attention, GELU, a last
norm and a projection to the vocabulary. Initial values are nanoGPT's: normal
with deviation 0.02, for projections into the residual stream over
sqrt(2 layers).
"""

import argparse
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import network


def forward(net, layers, width, heads, context, vocabulary):
    residual = 0.02 / math.sqrt(2 * layers)

    def linear(x, name, outputs, deviation=0.02):
        return net.linear(x, name, outputs, weight=network.normal(deviation), bias=network.ZEROS)

    tokens = net.input("x", (None, context), "i32")
    labels = net.target("y", (None, context))
    table = net.parameter("tokens", (vocabulary, width), network.normal(0.02))
    positions = net.parameter("positions", (context, width), network.normal(0.02))
    x = net.pointwise("add", net.gather(table, tokens), positions)
    for layer in range(layers):
        name = f"l{layer}"
        y = net.layer_norm(x, name + "_n0")
        y = net.attention(*(linear(y, f"{name}_{part}", width) for part in "qkv"), heads, causal=True)
        x = net.pointwise("add", x, linear(y, name + "_proj", width, residual))
        y = linear(net.layer_norm(x, name + "_n1"), name + "_up", 4 * width)
        y = net.pointwise("gelu", y, attributes="approximate = #mpt.gelu<tanh>")
        x = net.pointwise("add", x, linear(y, name + "_down", width, residual))
    logits = linear(net.layer_norm(x, "last"), "head", vocabulary)
    return net.results(net.cross_entropy(logits, labels),
                       accuracy=net.reduce(net.hits(logits, labels), "mean", 0, 1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--vocabulary", type=int, default=96)
    sizes = vars(parser.parse_args())
    network.print_module("A character GPT; written by make_model.py.",
                         lambda net: forward(net, **sizes))
