"""Writes a character LSTM as MLIR: make_model.py > lstm.mlir.

One cell, unrolled over the characters of a row, guesses each next character (Graves
2013). The state starts at zero; the bias of the forget gate starts at one (Jozefowicz
et al. 2015).
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import network

CONTEXT, VOCABULARY = 32, 96


def forward(net, embedding=64, hidden=128):
    tokens = net.input("x", (None, CONTEXT), "i32")
    labels = net.target("y", (None, CONTEXT))
    table = net.parameter("embeddings", (VOCABULARY, embedding), network.normal(0.1))
    gates = 4 * hidden
    w = net.parameter("cell_w", (embedding, gates), network.kaiming_uniform(hidden))
    u = net.parameter("cell_u", (hidden, gates), network.kaiming_uniform(hidden))
    b = net.parameter("cell_b", (gates,), network.ZEROS)
    # 1 for the forget gate's quarter of the columns.
    forget = net.op("pad", [net.constant(1.0, (hidden,))], ((gates,), "f32"),
                    attributes=f"low = array<i64: {hidden}>, high = array<i64: {2 * hidden}>, "
                               "value = 0.0 : f64")
    b = net.pointwise("add", b, forget)
    x = net.gather(table, tokens)
    h = c = net.op("broadcast", [net.constant(0.0, (1, hidden))], ((None, hidden), "f32"))
    outputs = []
    for t in range(CONTEXT):
        xt = net.reshape(net.slice(x, 1, t, 1), None, embedding)
        h, c, _ = net.op("lstm_cell", [xt, h, c, w, u, b], (h.shape, "f32"), (c.shape, "f32"),
                         ((None, gates), "f32"))
        outputs.append(net.reshape(h, None, 1, hidden))
    logits = net.linear(net.concat(outputs, 1), "head", VOCABULARY)
    return net.results(net.cross_entropy(logits, labels),
                       accuracy=net.reduce(net.hits(logits, labels), "mean", 0, 1))


if __name__ == "__main__":
    network.print_module("A character LSTM; written by make_model.py.", forward)
