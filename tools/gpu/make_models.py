"""Larger networks as MLIR, to be timed: make_models.py bert_base|resnet50 > MODEL.mlir.

The shapes and ops of torch_models.py: BERT-base's encoder with a full head (Devlin et
al. 2019; 512 tokens), and ResNet-50 (He et al. 2016; the stride in the 3x3 convolution,
224x224 images).
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "examples"))
import network


def bert_base(net, layers=12, width=768, heads=12, context=512, vocabulary=30528):
    normal, drops = network.normal(0.02), []

    def linear(x, name, outputs):
        return net.linear(x, name, outputs, weight=normal, bias=network.ZEROS)

    def dropout(x):
        if not net.training:
            return x
        drops.append(x)
        return net.op("dropout", [x, *random], (x.shape, "f32"), (x.shape, "i1"),
                      attributes=f"rate = 0.1 : f64, stream = {len(drops)} : i64")[0]

    if net.training:
        random = [net.argument(name, (), "i64", "rng", network.ZEROS) for name in ("seed", "attempt")]
        net.updates.append(("seed", random[0]))
    tokens = net.input("x", (None, context), "i32")
    labels = net.target("y", (None, context))
    table = net.parameter("tokens", (vocabulary, width), normal)
    x = net.pointwise("add", net.gather(table, tokens), net.parameter("positions", (context, width), normal))
    for layer in range(layers):
        name = f"l{layer}"
        y = net.attention(*(linear(x, f"{name}_{part}", width) for part in "qkv"), heads)
        x = net.layer_norm(net.pointwise("add", x, dropout(linear(y, name + "_proj", width))), name + "_n0")
        y = net.pointwise("gelu", linear(x, name + "_up", 4 * width))
        x = net.layer_norm(net.pointwise("add", x, dropout(linear(y, name + "_down", width))), name + "_n1")
    logits = linear(net.layer_norm(x, "last"), "head", vocabulary)
    return net.results(net.cross_entropy(logits, labels))


def resnet50(net):
    def normed(x, name, outputs, kernel=1, stride=1):
        return net.batch_norm(net.conv(x, name, outputs, kernel, stride), name + "_norm")

    images = net.input("x", (None, 224, 224, 3))
    labels = net.target("y", (None,))
    x = net.pointwise("relu", normed(images, "stem", 64, 7, 2))
    n, height, width, c = x.shape
    x = net.op("max_pool", [x], ((n, height // 2, width // 2, c), "f32"),
               attributes=f"window = {network.array([3, 3])}, strides = {network.array([2, 2])}, "
                          f"padding = {network.array([1, 1, 1, 1])}")
    for stage, (count, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for i in range(count):
            name, stride = f"s{stage}b{i}", 2 if stage and i == 0 else 1
            y = net.pointwise("relu", normed(x, name + "_a", width))
            y = net.pointwise("relu", normed(y, name + "_b", width, 3, stride))
            y = normed(y, name + "_c", 4 * width)
            if i == 0:
                x = normed(x, name + "_short", 4 * width, 1, stride)
            x = net.pointwise("relu", net.pointwise("add", y, x))
    logits = net.linear(net.reduce(x, "mean", 1, 2), "head", 1000)
    return net.results(net.cross_entropy(logits, labels))


if __name__ == "__main__":
    network.print_function("loss", {"bert_base": bert_base, "resnet50": resnet50}[sys.argv[1]], True)
