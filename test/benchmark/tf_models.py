"""Training graphs for tf_graphs.py: loss and gradients in TensorFlow's raw ops.

Each model is a Model: the parameters' shapes, the inputs' shapes and types, and
a function (parameters, inputs) -> loss. Layers are spelled as TensorFlow code
of the time of its mixed-precision pass spells them: layer norm over
tf.nn.moments, batch norm as FusedBatchNormV3, dropout by tf.nn.dropout, weight
decay by tf.nn.l2_loss, embeddings by tf.gather.
"""

import math
from dataclasses import dataclass
from typing import Callable

import tensorflow as tf

F32, I32 = tf.float32, tf.int32


@dataclass
class Model:
    parameters: dict  # name -> shape
    inputs: dict  # name -> (shape, type)
    loss: Callable  # (dict, dict) -> scalar tensor


def dense(x, p, name):
    return tf.nn.bias_add(tf.matmul(x, p[name + "_w"]), p[name + "_b"])


def dense_parameters(name, rows, columns):
    return {name + "_w": (rows, columns), name + "_b": (columns,)}


def layer_norm(x, p, name):
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, p[name + "_beta"], p[name + "_gamma"], 1e-5)


def gelu(x, form):
    if form == "erf":
        return 0.5 * x * (1.0 + tf.math.erf(x / math.sqrt(2.0)))
    return 0.5 * x * (1.0 + tf.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * tf.pow(x, 3))))


def cross_entropy(logits, labels):
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def weight_decay(p, scale):
    matrices = [value for value in p.values() if len(value.shape) > 1]
    return scale * tf.add_n([tf.nn.l2_loss(value) for value in matrices])


def sincos_mlp():
    p = {**dense_parameters("p0", 1, 150), **dense_parameters("p1", 150, 150),
         **dense_parameters("p2", 150, 2)}

    def loss(p, x):
        h = tf.tanh(dense(x["x"], p, "p0"))
        h = tf.tanh(dense(h, p, "p1"))
        return tf.reduce_mean(tf.square(dense(h, p, "p2") - x["y"]))

    return Model(p, {"x": ((20000, 1), F32), "y": ((20000, 2), F32)}, loss)


def mnist_cnn(batch=64):
    p = {"c0_w": (3, 3, 1, 32), "c0_b": (32,), "c1_w": (3, 3, 32, 64), "c1_b": (64,),
         **dense_parameters("d0", 3136, 128), **dense_parameters("d1", 128, 10)}

    def loss(p, x):
        h = x["x"]
        for name in ("c0", "c1"):
            h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(h, p[name + "_w"], 1, "SAME"),
                                          p[name + "_b"]))
            h = tf.nn.max_pool2d(h, 2, 2, "SAME")
        h = tf.nn.relu(dense(tf.reshape(h, [batch, 3136]), p, "d0"))
        return cross_entropy(dense(h, p, "d1"), x["y"])

    return Model(p, {"x": ((batch, 28, 28, 1), F32), "y": ((batch,), I32)}, loss)


def resnet(blocks, bottleneck, size, batch, classes, decay=1e-4):
    """ResNet v1 as published; below 64 pixels with a 3x3 stem and no pooling."""
    p, layout = {}, []  # layout: what the loss walks

    def conv(name, kernel, channels_in, channels):
        p[name + "_w"] = (kernel, kernel, channels_in, channels)
        p[name + "_gamma"] = p[name + "_beta"] = (channels,)

    small = size < 64
    conv("stem", 3 if small else 7, 3, 64)
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        out = width * 4 if bottleneck else width
        for block in range(count):
            name = f"s{stage}b{block}"
            stride = 2 if stage and block == 0 else 1
            steps = ([("a", 1, width, 1), ("b", 3, width, stride), ("c", 1, out, 1)]
                     if bottleneck else [("a", 3, width, stride), ("b", 3, out, 1)])
            before = channels
            for suffix, kernel, filters, _ in steps:
                conv(name + suffix, kernel, before, filters)
                before = filters
            if stride != 1 or channels != out:
                conv(name + "p", 1, channels, out)
            layout.append((name, stride, steps, stride != 1 or channels != out))
            channels = out
    p.update(dense_parameters("head", channels, classes))

    def loss(p, x):
        def conv_norm(h, name, stride):
            h = tf.nn.conv2d(h, p[name + "_w"], stride, "SAME")
            return tf.raw_ops.FusedBatchNormV3(
                x=h, scale=p[name + "_gamma"], offset=p[name + "_beta"], mean=tf.zeros([0]),
                variance=tf.zeros([0]), epsilon=1e-5, is_training=True).y

        h = tf.nn.relu(conv_norm(x["x"], "stem", 1 if small else 2))
        if not small:
            h = tf.nn.max_pool2d(h, 3, 2, "SAME")
        for name, stride, steps, project in layout:
            shortcut = conv_norm(h, name + "p", stride) if project else h
            for i, (suffix, _, _, step_stride) in enumerate(steps):
                h = conv_norm(h, name + suffix, step_stride)
                if i + 1 < len(steps):
                    h = tf.nn.relu(h)
            h = tf.nn.relu(h + shortcut)
        logits = dense(tf.reduce_mean(h, axis=[1, 2]), p, "head")
        return cross_entropy(logits, x["y"]) + weight_decay(p, decay)

    return Model(p, {"x": ((batch, size, size, 3), F32), "y": ((batch,), I32)}, loss)


def transformer(layers, width, heads, length, batch, vocabulary, causal, gelu_form, dropout=0.1,
                decay=0.0, segments=0, matrices="2d"):
    """A decoder (causal, pre-norm) or an encoder (post-norm, masked LM head).

    matrices: "2d" flattens tokens to rows before each linear, as BERT's own
    code does; "einsum" keeps three dimensions.
    """
    p = {"embed": (vocabulary, width), "position": (length, width)}
    if segments:
        p["segment"] = (segments, width)
        p.update(e_gamma=(width,), e_beta=(width,))
    for i in range(layers):
        for name in ("n0", "n1"):
            p[f"l{i}{name}_gamma"] = p[f"l{i}{name}_beta"] = (width,)
        for name, rows, columns in (("q", width, width), ("k", width, width), ("v", width, width),
                                    ("o", width, width), ("f", width, 4 * width),
                                    ("g", 4 * width, width)):
            p.update(dense_parameters(f"l{i}{name}", rows, columns))
    p.update(f_gamma=(width,), f_beta=(width,))
    if causal:
        p["head_w"] = (width, vocabulary)
    else:
        p.update(dense_parameters("t", width, width))
        p["head_b"] = (vocabulary,)
    depth = width // heads

    def linear(x, p, name):
        if matrices == "einsum":
            return tf.einsum("btd,df->btf", x, p[name + "_w"]) + p[name + "_b"]
        return dense(x, p, name)

    def drop(x):
        return tf.nn.dropout(x, dropout) if dropout else x

    def split(x):
        return tf.transpose(tf.reshape(x, [batch, length, heads, depth]), [0, 2, 1, 3])

    def attention(x, p, name, mask):
        q, k, v = (split(linear(x, p, name + which)) for which in "qkv")
        scores = tf.matmul(q, k, transpose_b=True) * (1.0 / math.sqrt(depth)) + mask
        context = tf.matmul(drop(tf.nn.softmax(scores)), v)
        shape = [batch, length, width] if matrices == "einsum" else [batch * length, width]
        return linear(tf.reshape(tf.transpose(context, [0, 2, 1, 3]), shape), p, name + "o")

    def feed_forward(x, p, name):
        return linear(gelu(linear(x, p, name + "f"), gelu_form), p, name + "g")

    def loss(p, x):
        h = tf.gather(p["embed"], x["tokens"]) + p["position"]
        if segments:
            h = h + tf.gather(p["segment"], x["segment"])
        if causal:
            mask = (1.0 - tf.linalg.band_part(tf.ones([length, length]), -1, 0)) * -1e4
        else:
            mask = (1.0 - tf.cast(x["mask"], F32))[:, None, None, :] * -1e4
            h = layer_norm(h, p, "e") if segments else h
        h = drop(h)
        if matrices == "2d":
            h = tf.reshape(h, [batch * length, width])
        for i in range(layers):
            name = f"l{i}"
            if causal:
                h = h + drop(attention(layer_norm(h, p, name + "n0"), p, name, mask))
                h = h + drop(feed_forward(layer_norm(h, p, name + "n1"), p, name))
            else:
                h = layer_norm(h + drop(attention(h, p, name, mask)), p, name + "n0")
                h = layer_norm(h + drop(feed_forward(h, p, name)), p, name + "n1")
        h = tf.reshape(h, [batch * length, width])
        if causal:
            logits = tf.matmul(layer_norm(h, p, "f"), p["head_w"])
        else:
            h = layer_norm(gelu(dense(h, p, "t"), gelu_form), p, "f")
            logits = tf.nn.bias_add(tf.matmul(h, p["embed"], transpose_b=True), p["head_b"])
        total = cross_entropy(logits, tf.reshape(x["labels"], [batch * length]))
        return total + weight_decay(p, decay) if decay else total

    tokens = ((batch, length), I32)
    inputs = {"tokens": tokens, "labels": tokens}
    if segments:
        inputs["segment"] = tokens
    if not causal:
        inputs["mask"] = tokens
    return Model(p, inputs, loss)


MODELS = {
    "sincos_mlp": sincos_mlp,
    "mnist_cnn": mnist_cnn,
    "resnet18": lambda: resnet((2, 2, 2, 2), False, 32, 64, 10),
    "resnet50": lambda: resnet((3, 4, 6, 3), True, 64, 16, 100),
    "bert_small": lambda: transformer(4, 256, 4, 128, 8, 8192, False, "erf", segments=2,
                                      decay=1e-4),
    "gpt_small": lambda: transformer(4, 256, 4, 256, 4, 8192, True, "tanh"),
}
