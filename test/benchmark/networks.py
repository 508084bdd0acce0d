"""Networks of real size as MLIR, to be timed: networks.py NAME > NAME.mlir.

    mnist          two convolutions of 32 and 64 filters on 28x28, max pooling, two dense layers
    resnet18-32    He et al. 2016 as in torchvision, on 32x32 images; also -224
    resnet50-32    the same with bottlenecks, strided in their 3x3 convolution; also -224
    gpt256         GPT-2 with 4 layers of width 256, 4 heads, 256 tokens of 8192, the head tied
                   to the table of tokens

Images have 1 (mnist) or 3 channels; all but the GPT end in 10 (mnist) or 1000 classes.
"""

import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "docs", "examples"))
import network


def max_pool(net, x, window, stride, pad):
    n, height, width, c = x.shape
    size = [(length + 2 * pad - window) // stride + 1 for length in (height, width)]
    return net.op("max_pool", [x], ((n, *size, c), "f32"),
                  attributes=f"window = {network.array([window] * 2)}, strides = "
                             f"{network.array([stride] * 2)}, padding = {network.array([pad] * 4)}")


def norm_relu(net, x, name):
    return net.pointwise("relu", net.batch_norm(x, name))


def basic(net, x, name, width, stride):
    y = norm_relu(net, net.conv(x, name + "_conv0", width, stride=stride), name + "_norm0")
    y = net.batch_norm(net.conv(y, name + "_conv1", width), name + "_norm1")
    return shortcut(net, x, y, name, width, stride)


def bottleneck(net, x, name, width, stride):
    y = norm_relu(net, net.conv(x, name + "_conv0", width, kernel=1), name + "_norm0")
    y = norm_relu(net, net.conv(y, name + "_conv1", width, stride=stride), name + "_norm1")
    y = net.batch_norm(net.conv(y, name + "_conv2", 4 * width, kernel=1), name + "_norm2")
    return shortcut(net, x, y, name, 4 * width, stride)


def shortcut(net, x, y, name, width, stride):
    if x.shape[-1] != width or stride != 1:
        x = net.batch_norm(net.conv(x, name + "_short", width, kernel=1, stride=stride),
                           name + "_short_norm")
    return net.pointwise("relu", net.pointwise("add", y, x))


def resnet(net, block, blocks, size):
    images, labels = net.input("x", (None, size, size, 3)), net.target("y", (None,))
    x = norm_relu(net, net.conv(images, "stem", 64, kernel=7, stride=2), "stem_norm")
    x = max_pool(net, x, 3, 2, 1)
    for stage, count in enumerate(blocks):
        for i in range(count):
            x = block(net, x, f"s{stage}b{i}", 64 << stage, 2 if stage and i == 0 else 1)
    logits = net.linear(net.reduce(x, "mean", 1, 2), "head", 1000)
    return {"loss": net.cross_entropy(logits, labels)}


def mnist(net):
    x, labels = net.input("x", (None, 28, 28, 1)), net.target("y", (None,))
    for i, width in enumerate((32, 64)):
        c = x.shape[-1]
        operands = [x, net.parameter(f"c{i}_w", (3, 3, c, width), network.kaiming_uniform(9 * c)),
                    net.parameter(f"c{i}_b", (width,), network.kaiming_uniform(9 * c))]
        x = net.op("conv2d", operands, (x.shape[:3] + (width,), "f32"),
                   attributes=f"padding = {network.array([1] * 4)}")
        x = max_pool(net, net.pointwise("relu", x), 2, 2, 0)
    x = net.reshape(x, None, 7 * 7 * 64)
    x = net.pointwise("relu", net.linear(x, "d0", 128))
    return {"loss": net.cross_entropy(net.linear(x, "d1", 10), labels)}


def gpt(net, layers=4, width=256, heads=4, context=256, vocabulary=8192):
    tokens, labels = net.input("x", (None, context), "i32"), net.target("y", (None, context))
    table = net.parameter("tokens", (vocabulary, width), network.normal(0.02))
    positions = net.parameter("positions", (context, width), network.normal(0.02))

    def linear(x, name, outputs, deviation=0.02):
        return net.linear(x, name, outputs, network.normal(deviation), network.ZEROS)

    residual = 0.02 / math.sqrt(2 * layers)
    x = net.pointwise("add", net.gather(table, tokens), positions)
    for layer in range(layers):
        name = f"l{layer}"
        y = linear(net.layer_norm(x, name + "_n0"), name + "_qkv", 3 * width)
        parts = [net.slice(y, 2, i * width, width) for i in range(3)]
        y = net.attention(*parts, heads, causal=True)
        x = net.pointwise("add", x, linear(y, name + "_proj", width, residual))
        y = linear(net.layer_norm(x, name + "_n1"), name + "_up", 4 * width)
        y = net.pointwise("gelu", y, attributes="approximate = #mpt.gelu<tanh>")
        x = net.pointwise("add", x, linear(y, name + "_down", width, residual))
    x = net.layer_norm(x, "last")
    logits = net.op("matmul", [x, table], ((None, context, vocabulary), "f32"),
                    attributes="transpose_rhs")
    return {"loss": net.cross_entropy(logits, labels)}


NETWORKS = {"mnist": mnist, "gpt256": gpt}
for size in (32, 224):
    NETWORKS[f"resnet18-{size}"] = lambda net, size=size: resnet(net, basic, (2, 2, 2, 2), size)
    NETWORKS[f"resnet50-{size}"] = lambda net, size=size: resnet(net, bottleneck, (3, 4, 6, 3), size)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in NETWORKS:
        sys.exit(__doc__)
    print(f"// Written by networks.py {sys.argv[1]}.")
    network.print_function("loss", NETWORKS[sys.argv[1]], True)
