"""Writes a residual network as MLIR: make_model.py > resnet.mlir.

ResNet-20 of He et al. 2016, section 4.2: a convolution, three stages of three
blocks of two convolutions each, the mean over all places, one dense layer; batch
normalization after each convolution. Strided 1x1 convolutions where a stage
begins. The last gamma of each block starts at 0, so that it starts as the
identity (Goyal et al. 2017).
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import network


def block(net, x, name, width, stride):
    y = net.conv(x, name + "_conv0", width, stride=stride)
    y = net.pointwise("relu", net.batch_norm(y, name + "_norm0"))
    y = net.conv(y, name + "_conv1", width)
    y = net.batch_norm(y, name + "_norm1", gamma=network.ZEROS)
    if stride != 1:
        x = net.batch_norm(net.conv(x, name + "_short", width, kernel=1, stride=stride), name + "_norm2")
    return net.pointwise("relu", net.pointwise("add", y, x))


def forward(net, blocks=3):
    images = net.input("x", (None, 8, 8, 1))
    labels = net.target("y", (None,))
    x = net.pointwise("relu", net.batch_norm(net.conv(images, "stem", 16), "stem_norm"))
    for stage, width in enumerate((16, 32, 64)):
        for i in range(blocks):
            x = block(net, x, f"s{stage}b{i}", width, 2 if stage and i == 0 else 1)
    logits = net.linear(net.reduce(x, "mean", 1, 2), "head", 10)
    return net.results(net.cross_entropy(logits, labels),
                       accuracy=net.reduce(net.hits(logits, labels), "mean", 0))


if __name__ == "__main__":
    network.print_module("ResNet-20 for 8x8 images; written by make_model.py.", forward)
