"""Networks of real size as MLIR, to be timed: networks.py NAME > NAME.mlir.

    mnist          two convolutions of 32 and 64 filters on 28x28, max pooling, two dense layers
    resnet18-32    He et al. 2016 as in torchvision, on 32x32 images; also -224
    resnet50-32    the same with bottlenecks, strided in their 3x3 convolution; also -224
    densenet121-32 Huang et al. 2017 as in torchvision: each layer reads all before it
    mobilenet-v3   Howard et al. 2019, small, as in torchvision, on 224x224 images: depthwise
                   convolutions, squeeze and excitation, hardswish; without dropout
    gpt256         GPT-2 with 4 layers of width 256, 4 heads, 256 tokens of 8192, the head tied
                   to the table of tokens
    gpt2           GPT-2 124M: 12 layers of width 768, 512 tokens of 50257
    bert-base      Devlin et al. 2019 as in transformers, without dropout: 128 tokens of 30522,
                   a pooler, two classes
    vit-b16        Dosovitskiy et al. 2021 as in torchvision, on 224x224 images
    llama-1b       the shape of TinyLlama 1.1B: 22 layers of width 2048, 32 heads of which 8
                   share one of keys, rotated positions, 2048 tokens of 32000
    lstm512        two layers of 512, over 64 steps of 512 numbers
    unet64         the U-Net of docs/examples/unet, 32 wide and 3 levels deep, on 64x64
    mlp            784 to 1024 to 1024 to 10, ReLU

Images have 1 (mnist, unet64) or 3 channels; there are 10 (mnist, lstm512, mlp), 4 (unet64) or
1000 classes. Dimension 0 of the batch is open: mpt-run --batch=N, or mpt-specialize.
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


def densenet(net, size, growth=32, blocks=(6, 12, 24, 16)):
    images, labels = net.input("x", (None, size, size, 3)), net.target("y", (None,))
    x = norm_relu(net, net.conv(images, "stem", 64, kernel=7, stride=2), "stem_norm")
    x = max_pool(net, x, 3, 2, 1)
    for stage, count in enumerate(blocks):
        if stage:
            x = net.conv(norm_relu(net, x, f"t{stage}_norm"), f"t{stage}", x.shape[-1] // 2, kernel=1)
            n, height, width, c = x.shape
            x = net.op("avg_pool", [x], ((n, height // 2, width // 2, c), "f32"),
                       attributes=f"window = {network.array([2] * 2)}, "
                                  f"strides = {network.array([2] * 2)}")
        parts = [x]
        for i in range(count):
            name = f"s{stage}l{i}"
            y = net.concat(parts, 3) if i else x
            y = net.conv(norm_relu(net, y, name + "_norm0"), name + "_conv0", 4 * growth, kernel=1)
            parts.append(net.conv(norm_relu(net, y, name + "_norm1"), name + "_conv1", growth))
        x = net.concat(parts, 3)
    x = net.reduce(norm_relu(net, x, "last_norm"), "mean", 1, 2)
    return {"loss": net.cross_entropy(net.linear(x, "head", 1000), labels)}


def hardsigmoid(net, x):
    x = net.pointwise("add", x, net.constant(3.0))
    x = net.pointwise("minimum", net.pointwise("maximum", x, net.constant(0.0)), net.constant(6.0))
    return net.pointwise("div", x, net.constant(6.0))


def hardswish(net, x):
    return net.pointwise("mul", x, hardsigmoid(net, x))


def depthwise(net, x, name, kernel, stride):
    n, height, width, c = x.shape
    filters = net.parameter(name + "_w", (kernel, kernel, 1, c), network.kaiming_normal(kernel**2))
    pad = kernel // 2
    size = [(length + 2 * pad - kernel) // stride + 1 for length in (height, width)]
    return net.op("conv2d", [x, filters], ((n, *size, c), "f32"),
                  attributes=f"strides = {network.array([stride] * 2)}, "
                             f"padding = {network.array([pad] * 4)}, groups = {c} : i64")


def squeeze_excite(net, x, name):
    c = x.shape[-1]
    # To a multiple of 8, and at least 0.9 of a quarter.
    squeezed = max(8, (c // 4 + 4) // 8 * 8)
    squeezed += 8 if squeezed < 0.9 * (c // 4) else 0
    y = net.linear(net.reduce(x, "mean", 1, 2), name + "_squeeze", squeezed)
    y = hardsigmoid(net, net.linear(net.pointwise("relu", y), name + "_excite", c))
    return net.pointwise("mul", x, net.reshape(y, None, 1, 1, c))


def mobilenet(net, size):
    images, labels = net.input("x", (None, size, size, 3)), net.target("y", (None,))
    x = hardswish(net, net.batch_norm(net.conv(images, "stem", 16, stride=2), "stem_norm"))

    def relu(net, x):
        return net.pointwise("relu", x)

    blocks = ((3, 16, 16, True, relu, 2), (3, 72, 24, False, relu, 2), (3, 88, 24, False, relu, 1),
              (5, 96, 40, True, hardswish, 2), (5, 240, 40, True, hardswish, 1),
              (5, 240, 40, True, hardswish, 1), (5, 120, 48, True, hardswish, 1),
              (5, 144, 48, True, hardswish, 1), (5, 288, 96, True, hardswish, 2),
              (5, 576, 96, True, hardswish, 1), (5, 576, 96, True, hardswish, 1))
    for i, (kernel, expanded, width, excites, activate, stride) in enumerate(blocks):
        name, y = f"b{i}", x
        if expanded != x.shape[-1]:
            y = net.batch_norm(net.conv(y, name + "_up", expanded, kernel=1), name + "_up_norm")
            y = activate(net, y)
        y = net.batch_norm(depthwise(net, y, name + "_deep", kernel, stride), name + "_deep_norm")
        y = activate(net, y)
        if excites:
            y = squeeze_excite(net, y, name)
        y = net.batch_norm(net.conv(y, name + "_down", width, kernel=1), name + "_down_norm")
        x = net.pointwise("add", y, x) if stride == 1 and x.shape[-1] == width else y
    x = hardswish(net, net.batch_norm(net.conv(x, "last", 576, kernel=1), "last_norm"))
    x = hardswish(net, net.linear(net.reduce(x, "mean", 1, 2), "wide", 1024))
    return {"loss": net.cross_entropy(net.linear(x, "head", 1000), labels)}


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


def gpt(net, layers=4, width=256, heads=4, context=256, vocabulary=8192, positions=256):
    tokens, labels = net.input("x", (None, context), "i32"), net.target("y", (None, context))
    table = net.parameter("tokens", (vocabulary, width), network.normal(0.02))
    places = net.parameter("positions", (positions, width), network.normal(0.02))
    if positions != context:
        places = net.slice(places, 0, 0, context)

    def linear(x, name, outputs, deviation=0.02):
        return net.linear(x, name, outputs, network.normal(deviation), network.ZEROS)

    residual = 0.02 / math.sqrt(2 * layers)
    x = net.pointwise("add", net.gather(table, tokens), places)
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


def dense(net, x, name, outputs):
    return net.linear(x, name, outputs, network.normal(0.02), network.ZEROS)


def first(net, x):
    """The first of each sequence's vectors."""
    return net.reshape(net.slice(x, 1, 0, 1), None, x.shape[-1])


def bert(net, layers=12, width=768, heads=12, context=128, vocabulary=30522, positions=512):
    tokens, labels = net.input("x", (None, context), "i32"), net.target("y", (None,))
    words, places, kinds = (net.parameter(name, (size, width), network.normal(0.02))
                            for name, size in (("words", vocabulary), ("positions", positions),
                                               ("kinds", 2)))
    # All tokens are of the first kind.
    x = net.pointwise("add", net.gather(words, tokens), net.slice(kinds, 0, 0, 1))
    x = net.pointwise("add", x, net.slice(places, 0, 0, context))
    x = net.layer_norm(x, "first")
    for layer in range(layers):
        name = f"l{layer}"
        parts = [dense(net, x, f"{name}_{part}", width) for part in "qkv"]
        y = dense(net, net.attention(*parts, heads), name + "_out", width)
        x = net.layer_norm(net.pointwise("add", x, y), name + "_n0")
        y = net.pointwise("gelu", dense(net, x, name + "_up", 4 * width))
        y = dense(net, y, name + "_down", width)
        x = net.layer_norm(net.pointwise("add", x, y), name + "_n1")
    x = net.pointwise("tanh", dense(net, first(net, x), "pooler", width))
    return {"loss": net.cross_entropy(dense(net, x, "head", 2), labels)}


def vit(net, layers=12, width=768, heads=12, size=224, patch=16):
    images, labels = net.input("x", (None, size, size, 3)), net.target("y", (None,))
    side = size // patch
    filters = net.parameter("patch_w", (patch, patch, 3, width), network.normal(0.02))
    x = net.op("conv2d", [images, filters, net.parameter("patch_b", (width,), network.ZEROS)],
               ((None, side, side, width), "f32"),
               attributes=f"strides = {network.array([patch] * 2)}")
    x = net.reshape(x, None, side * side, width)
    token = net.op("broadcast", [net.parameter("token", (1, 1, width), network.ZEROS)],
                   ((None, 1, width), "f32"))
    x = net.concat([token, x], 1)
    x = net.pointwise("add", x, net.parameter("positions", (side * side + 1, width),
                                              network.normal(0.02)))
    for layer in range(layers):
        name = f"l{layer}"
        y = dense(net, net.layer_norm(x, name + "_n0"), name + "_qkv", 3 * width)
        y = net.attention(*[net.slice(y, 2, i * width, width) for i in range(3)], heads)
        x = net.pointwise("add", x, dense(net, y, name + "_out", width))
        y = dense(net, net.layer_norm(x, name + "_n1"), name + "_up", 4 * width)
        x = net.pointwise("add", x, dense(net, net.pointwise("gelu", y), name + "_down", width))
    x = first(net, net.layer_norm(x, "last"))
    return {"loss": net.cross_entropy(dense(net, x, "head", 1000), labels)}


def llama(net, layers=22, width=2048, heads=32, groups=4, inner=5632, context=2048,
          vocabulary=32000):
    start, size = network.normal(0.02), width // heads
    tokens = net.input("x", (None, context), "i32")
    labels = net.target("y", (None, context))
    # Cosines and sines of a head's positions, which the host makes.
    angles = [net.input(part, (context, 1, size // 2)) for part in ("cos", "sin")]
    x = net.gather(net.parameter("tokens", (vocabulary, width), start), tokens)

    def linear(x, name, outputs):
        weight = net.parameter(name, (x.shape[-1], outputs), start)
        return net.op("linear", [x, weight], (x.shape[:-1] + (outputs,), "f32"))

    def norm(x, name):
        gamma = net.parameter(name, x.shape[-1:], network.ONES)
        return net.op("rms_norm", [x, gamma], (x.shape, "f32"), (x.shape[:-1], "f32"))[0]

    def rotate(x):
        a, b = (net.slice(x, 3, i * size // 2, size // 2) for i in (0, 1))
        cos, sin = angles
        product = lambda u, v: net.pointwise("mul", u, v)
        return net.concat([net.pointwise("sub", product(a, cos), product(b, sin)),
                           net.pointwise("add", product(b, cos), product(a, sin))], 3)

    for layer in range(layers):
        name = f"l{layer}"
        y = norm(x, name + "_n0")
        q, k, v = (net.reshape(linear(y, f"{name}_{part}", count * size), None, context, count, size)
                   for part, count in (("q", heads), ("k", groups), ("v", groups)))
        q, k, v = (net.transpose(part, 0, 2, 1, 3) for part in (rotate(q), rotate(k), v))
        y = net.op("attention", [q, k, v], (q.shape, "f32"), (q.shape[:-1], "f32"),
                   attributes="causal")[0]
        y = net.reshape(net.transpose(y, 0, 2, 1, 3), None, context, width)
        x = net.pointwise("add", x, linear(y, name + "_out", width))
        y = norm(x, name + "_n1")
        y = net.pointwise("mul", net.pointwise("silu", linear(y, name + "_gate", inner)),
                          linear(y, name + "_up", inner))
        x = net.pointwise("add", x, linear(y, name + "_down", width))
    return {"loss": net.cross_entropy(linear(norm(x, "last"), "head", vocabulary), labels)}


def lstm(net, layers=2, width=512, steps=64):
    x, labels = net.input("x", (None, steps, width)), net.target("y", (None,))
    start = network.kaiming_uniform(width)
    x = net.transpose(x, 1, 0, 2)
    for layer in range(layers):
        w, u = (net.parameter(f"l{layer}_{part}", (width, 4 * width), start) for part in "wu")
        b = net.parameter(f"l{layer}_b", (4 * width,), start)
        zero = net.op("broadcast", [net.constant(0.0, (1, width))], ((None, width), "f32"))

        def cell(state, inputs):
            h, c, _ = net.op("lstm_cell", [*inputs, *state, w, u, b], (zero.shape, "f32"),
                             (zero.shape, "f32"), ((None, 4 * width), "f32"))
            return [h, c], [h]
        (h, _), (x,) = net.scan([zero, zero], [x], cell)
    return {"loss": net.cross_entropy(net.linear(h, "head", 10), labels)}


def unet(net, width=32, levels=3, size=64):
    sys.path.insert(0, os.path.join(ROOT, "docs", "examples", "unet"))
    import make_model
    make_model.SIZE = size
    return make_model.forward(net, width, levels)


def mlp(net):
    x, labels = net.input("x", (None, 784)), net.target("y", (None,))
    for i in range(2):
        x = net.pointwise("relu", net.linear(x, f"d{i}", 1024))
    return {"loss": net.cross_entropy(net.linear(x, "head", 10), labels)}


NETWORKS = {
    "mnist": mnist, "gpt256": gpt, "bert-base": bert, "vit-b16": vit, "lstm512": lstm,
    "llama-1b": llama,
    "unet64": unet, "mlp": mlp,
    "densenet121-32": lambda net: densenet(net, 32),
    "mobilenet-v3": lambda net: mobilenet(net, 224),
    "gpt2": lambda net: gpt(net, 12, 768, 12, 512, 50257, 1024),
}
for size in (32, 224):
    NETWORKS[f"resnet18-{size}"] = lambda net, size=size: resnet(net, basic, (2, 2, 2, 2), size)
    NETWORKS[f"resnet50-{size}"] = lambda net, size=size: resnet(net, bottleneck, (3, 4, 6, 3), size)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in NETWORKS:
        sys.exit(__doc__)
    print(f"// Written by networks.py {sys.argv[1]}.")
    network.print_function("loss", NETWORKS[sys.argv[1]], True)
