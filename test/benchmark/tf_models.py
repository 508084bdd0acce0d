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
    adam: bool = False  # a whole step: results are the loss, new parameters and slots


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
                decay=0.0, segments=0, matrices="2d", masked=-1e4):
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
            mask = (1.0 - tf.linalg.band_part(tf.ones([length, length]), -1, 0)) * masked
        else:
            mask = (1.0 - tf.cast(x["mask"], F32))[:, None, None, :] * masked
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


def lstm(length=16, batch=32, width=128, vocabulary=2000, embedding=64):
    """An LSTM, unrolled, over embedded tokens."""
    p = {"embed": (vocabulary, embedding), **dense_parameters("cell", embedding + width, 4 * width),
         **dense_parameters("head", width, 2)}

    def loss(p, x):
        c = h = tf.zeros([batch, width])
        for token in tf.unstack(tf.gather(p["embed"], x["tokens"]), axis=1):
            i, f, g, o = tf.split(dense(tf.concat([token, h], 1), p, "cell"), 4, axis=1)
            c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
        return cross_entropy(dense(h, p, "head"), x["y"])

    return Model(p, {"tokens": ((batch, length), I32), "y": ((batch,), I32)}, loss)


def mobile_net(batch=32, size=32, classes=10):
    """Depthwise and pointwise convolutions, batch norm, ReLU6, average pooling."""
    widths = (32, 64, 128, 128, 256)
    p = {"stem_w": (3, 3, 3, 32), "stem_gamma": (32,), "stem_beta": (32,)}
    for i, (before, after) in enumerate(zip(widths, widths[1:])):
        p.update({f"d{i}_w": (3, 3, before, 1), f"d{i}_gamma": (before,), f"d{i}_beta": (before,),
                  f"p{i}_w": (1, 1, before, after), f"p{i}_gamma": (after,),
                  f"p{i}_beta": (after,)})
    p.update(dense_parameters("head", widths[-1], classes))

    def loss(p, x):
        def norm(h, name):
            return tf.nn.relu6(tf.raw_ops.FusedBatchNormV3(
                x=h, scale=p[name + "_gamma"], offset=p[name + "_beta"], mean=tf.zeros([0]),
                variance=tf.zeros([0]), epsilon=1e-3, is_training=True).y)

        h = norm(tf.nn.conv2d(x["x"], p["stem_w"], 1, "SAME"), "stem")
        for i in range(len(widths) - 1):
            stride = 1 + i % 2
            h = norm(tf.nn.depthwise_conv2d(h, p[f"d{i}_w"], [1, stride, stride, 1], "SAME"),
                     f"d{i}")
            h = norm(tf.nn.conv2d(h, p[f"p{i}_w"], 1, "SAME"), f"p{i}")
        h = tf.nn.avg_pool2d(h, h.shape[1], 1, "VALID")
        return cross_entropy(dense(tf.squeeze(h, [1, 2]), p, "head"), x["y"])

    return Model(p, {"x": ((batch, size, size, 3), F32), "y": ((batch,), I32)}, loss)


def u_net(batch=8, size=64):
    """Down by strided convolutions, up by transposed ones and by resizing; sigmoid loss."""
    p = {}
    for name, kernel, before, after in (("a", 3, 1, 16), ("b", 3, 16, 32), ("c", 3, 32, 64),
                                        ("d", 3, 64, 64), ("e", 3, 96, 32), ("f", 3, 48, 16),
                                        ("g", 1, 16, 1)):
        p[name + "_w"], p[name + "_b"] = (kernel, kernel, before, after), (after,)
    p["u_w"] = (2, 2, 64, 64)  # height, width, out, in

    def loss(p, x):
        def conv(h, name, stride=1):
            h = tf.nn.conv2d(h, p[name + "_w"], stride, "SAME")
            return tf.nn.bias_add(h, p[name + "_b"])

        a = tf.nn.leaky_relu(conv(x["x"], "a"))
        b = tf.nn.leaky_relu(conv(a, "b", 2))
        h = tf.nn.leaky_relu(conv(tf.nn.leaky_relu(conv(b, "c", 2)), "d"))
        h = tf.nn.conv2d_transpose(h, p["u_w"], [batch, size // 2, size // 2, 64], 2, "SAME")
        h = tf.nn.leaky_relu(conv(tf.concat([h, b], 3), "e"))
        h = tf.raw_ops.ResizeNearestNeighbor(images=h, size=[size, size])
        h = tf.nn.leaky_relu(conv(tf.concat([h, a], 3), "f"))
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
            labels=x["y"], logits=conv(h, "g")))

    image = ((batch, size, size, 1), F32)
    return Model(p, {"x": image, "y": image}, loss)


def recommender(batch=512, tables=8, rows=1000, width=32):
    """Embeddings and a dense tower that meet in their pairwise products, sigmoid loss."""
    p = {f"table{i}": (rows, width) for i in range(tables)}
    p.update({**dense_parameters("b0", 13, 64), **dense_parameters("b1", 64, width),
              **dense_parameters("t0", (tables + 1) ** 2 + width, 128),
              **dense_parameters("t1", 128, 1)})

    def loss(p, x):
        h = tf.nn.relu(dense(tf.nn.relu(dense(tf.math.log1p(x["dense"]), p, "b0")), p, "b1"))
        looked_up = [tf.gather(p[f"table{i}"], x["sparse"][:, i]) for i in range(tables)]
        features = tf.stack([h] + looked_up, axis=1)
        pairs = tf.matmul(features, features, transpose_b=True)
        h = tf.concat([tf.reshape(pairs, [batch, -1]), h], 1)
        logits = dense(tf.nn.relu(dense(h, p, "t0")), p, "t1")
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
            labels=x["y"], logits=logits))

    return Model(p, {"dense": ((batch, 13), F32), "sparse": ((batch, tables), I32),
                     "y": ((batch, 1), F32)}, loss)


def step_of(model):
    model.adam = True
    return model


MODELS = {
    "sincos_mlp": sincos_mlp,
    "mnist_cnn": mnist_cnn,
    "resnet18": lambda: resnet((2, 2, 2, 2), False, 32, 64, 10),
    "resnet50": lambda: resnet((3, 4, 6, 3), True, 64, 16, 100),
    "bert_small": lambda: transformer(4, 256, 4, 128, 8, 8192, False, "erf", segments=2,
                                      decay=1e-4),
    "gpt_small": lambda: transformer(4, 256, 4, 256, 4, 8192, True, "tanh"),
    "gpt_einsum": lambda: transformer(2, 128, 4, 64, 8, 1000, True, "erf", matrices="einsum",
                                      masked=-1e9, decay=1e-4),
    "bert_tanh": lambda: transformer(2, 128, 2, 64, 16, 4000, False, "tanh", dropout=0.0),
    "lstm": lstm,
    "mobile_net": mobile_net,
    "u_net": u_net,
    "recommender": recommender,
    "sincos_adam": lambda: step_of(sincos_mlp()),
    "mnist_adam": lambda: step_of(mnist_cnn()),
    "gpt_adam": lambda: step_of(transformer(2, 128, 4, 64, 8, 1000, True, "tanh")),
}
