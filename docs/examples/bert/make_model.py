"""Writes a BERT-style encoder as MLIR: make_model.py > bert.mlir.

Devlin et al. 2019: embeddings of tokens and positions, normalized; blocks of
attention in both directions and two dense layers with GELU, each behind a residual sum
that is normalized (post-norm); a head that guesses the masked tokens with the
embeddings' transpose. Dropout of 0.1 where BERT has it, attention's own left out.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import network

# As make_data.py writes them: words of a row, different words, words to be found of a row.
CONTEXT, VOCABULARY, HIDDEN = 12, 512, 2
NORMAL = network.normal(0.02)


class Encoder:
    def __init__(self, net, width):
        self.net, self.width, self.dropouts = net, width, 0
        if net.training:
            self.random = [net.argument(name, (), "i64", "rng", network.ZEROS)
                           for name in ("seed", "attempt")]
            net.updates.append(("seed", self.random[0]))

    def dropout(self, x):
        if not self.net.training:
            return x
        self.dropouts += 1
        return self.net.op("dropout", [x, *self.random], (x.shape, "f32"), (x.shape, "i1"),
                           attributes=f"rate = 0.1 : f64, stream = {self.dropouts} : i64")[0]

    def dense(self, x, name, outputs):
        return self.net.linear(x, name, outputs, weight=NORMAL, bias=network.ZEROS)

    def block(self, x, name, heads):
        net = self.net
        q, k, v = (self.dense(x, f"{name}_{part}", self.width) for part in "qkv")
        y = self.dense(net.attention(q, k, v, heads), name + "_out", self.width)
        x = net.layer_norm(net.pointwise("add", x, self.dropout(y)), name + "_n0")
        y = net.pointwise("gelu", self.dense(x, name + "_up", 4 * self.width))
        y = self.dropout(self.dense(y, name + "_down", self.width))
        return net.layer_norm(net.pointwise("add", x, y), name + "_n1")


def forward(net, layers=2, width=64, heads=4):
    encoder = Encoder(net, width)
    tokens = net.input("x", (None, CONTEXT), "i32")
    labels = net.target("y", (None, CONTEXT))
    table = net.parameter("tokens", (VOCABULARY, width), NORMAL)
    x = net.pointwise("add", net.gather(table, tokens), net.parameter("positions", (CONTEXT, width), NORMAL))
    x = encoder.dropout(net.layer_norm(x, "first"))
    for layer in range(layers):
        x = encoder.block(x, f"l{layer}", heads)
    x = net.layer_norm(net.pointwise("gelu", encoder.dense(x, "head", width)), "head_norm")
    logits = net.op("matmul", [x, table], ((None, CONTEXT, VOCABULARY), "f32"), attributes="transpose_rhs")
    logits = net.pointwise("add", logits, net.parameter("head_bias", (VOCABULARY,), network.ZEROS))
    loss = net.cross_entropy(logits, labels, attributes="ignore_index = -100 : i64")
    # Each row has as many tokens to be found; no guess equals -100.
    found = net.reduce(net.hits(logits, labels), "mean", 0, 1)
    return net.results(loss, accuracy=net.pointwise("mul", found, net.constant(CONTEXT / HIDDEN)))


if __name__ == "__main__":
    network.print_module("A BERT-style encoder; written by make_model.py.", forward)
