"""Writes a U-Net as MLIR: make_model.py > unet.mlir.

Ronneberger et al. 2015, two levels deep: on the way down two convolutions and a
pooling per level, on the way up a transposed convolution of 2x2 with stride 2, the
level's own activations beside it, two convolutions; batch normalization after each
convolution.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import network

SIZE, CLASSES = 32, 4


def convolutions(net, x, name, width):
    for i in range(2):
        x = net.conv(x, f"{name}_conv{i}", width)
        x = net.pointwise("relu", net.batch_norm(x, f"{name}_norm{i}"))
    return x


def up(net, x, name, width):
    """A transposed convolution whose windows do not overlap: a dense layer that gives
    each place its 2x2 block, and the blocks moved to where they belong."""
    n, height, w, _ = x.shape
    x = net.linear(x, name, 4 * width)
    x = net.transpose(net.reshape(x, n, height, w, 2, 2, width), 0, 1, 3, 2, 4, 5)
    return net.reshape(x, n, 2 * height, 2 * w, width)


def forward(net, width=8, levels=2):
    images = net.input("x", (None, SIZE, SIZE, 1))
    labels = net.target("y", (None, SIZE, SIZE))
    x, skipped = images, []
    for level in range(levels):
        x = convolutions(net, x, f"down{level}", width << level)
        skipped.append(x)
        x = net.max_pool(x)
    x = convolutions(net, x, "bottom", width << levels)
    for level in reversed(range(levels)):
        x = up(net, x, f"up{level}", width << level)
        x = convolutions(net, net.concat([x, skipped[level]], 3), f"merge{level}", width << level)
    logits = net.linear(x, "head", CLASSES)
    loss = net.cross_entropy(logits, labels)
    if net.training:
        return net.results(loss)
    # Of the places that are or are called an object, those that are called right.
    hits = net.hits(logits, labels)
    found = net.op("argmax", [logits], (labels.shape, "i32"))
    zero = net.constant(0, (), "i32")
    background = net.op("and", [net.compare("eq", found, zero), net.compare("eq", labels, zero)],
                        (labels.shape, "i1"))
    objects = net.cast(net.op("not", [background], (labels.shape, "i1")))
    right = net.reduce(net.pointwise("mul", hits, objects), "sum", 1, 2)
    overlap = net.pointwise("div", right, net.reduce(objects, "sum", 1, 2))
    return net.results(loss, accuracy=net.reduce(hits, "mean", 0, 1, 2),
                       overlap=net.reduce(overlap, "mean", 0))


if __name__ == "__main__":
    network.print_module("A U-Net for 32x32 images; written by make_model.py.", forward)
