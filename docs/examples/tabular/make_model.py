"""Writes a network for tables as MLIR: make_model.py > tabular.mlir.

Each category has an embedding; those of a row, beside its numbers, go through two
dense layers with batch normalization (Guo and Berkhahn 2016).
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import network

# As make_data.py writes them.
TABLE, COLUMNS, NUMBERS, CLASSES = 581, 7, 4, 30


def forward(net, embedding=16, hidden=(128, 64)):
    categories = net.input("x", (None, COLUMNS), "i32")
    numbers = net.input("v", (None, NUMBERS))
    labels = net.target("y", (None,))
    table = net.parameter("embeddings", (TABLE, embedding), network.normal(0.1))
    x = net.reshape(net.gather(table, categories), None, COLUMNS * embedding)
    x = net.concat([x, net.batch_norm(numbers, "numbers_norm")], 1)
    for i, width in enumerate(hidden):
        x = net.linear(x, f"d{i}", width, epilogue="relu")
        x = net.batch_norm(x, f"d{i}_norm")
    logits = net.linear(x, "head", CLASSES)
    return net.results(net.cross_entropy(logits, labels),
                       accuracy=net.reduce(net.hits(logits, labels), "mean", 0))


if __name__ == "__main__":
    network.print_module("Embeddings and dense layers for a table; written by make_model.py.", forward)
