"""The formulas of docs/FromPyTorch.md whose shapes the page says in words, written out.

SHAPED has for each: the inputs, a function that emits the ops, and what they should give.
check_recipes.py runs them, and checks that the ops are those of the formula and its note.
"""

import numpy as np

rng = np.random.default_rng(11)
sigmoid = lambda x: 1 / (1 + np.exp(-x))


def draw(*shape, low=-2.0, high=2.0):
    return rng.uniform(low, high, shape).astype(np.float32)


def axes(*numbers):
    return f"axes = array<i64: {', '.join(map(str, numbers))}>"


def reduce(e, kind, x, *over, keep=True):
    shape = [1 if i in over else size for i, size in enumerate(x[1]) if keep or i not in over]
    words = [f"kind = #mpt.reduce_kind<{kind}>", axes(*over)] + ["keep_dims"] * keep
    return e.op("reduce", x, shape=shape, attributes=", ".join(words))


def compare(e, predicate, x, y):
    return e.op("compare", x, y, type="i1", attributes=f"predicate = #mpt.predicate<{predicate}>")


def iota(e, shape, axis):
    return e.op("iota", shape=shape, type="i32", attributes=f"axis = {axis} : i64")


def reshape(e, x, *shape):
    return e.op("reshape", x, shape=shape)


def cut(e, x, offsets, sizes):
    ones = ", ".join("1" for _ in sizes)
    text = ", ".join(f"{name} = array<i64: {', '.join(map(str, values))}>"
                     for name, values in (("offsets", offsets), ("sizes", sizes)))
    return e.op("slice", x, shape=sizes, attributes=f"{text}, strides = array<i64: {ones}>")


def variance(e, x):
    d = e.op("sub", x, reduce(e, "mean", x, 0, 1))
    return e.op("div", reduce(e, "sum", e.op("mul", d, d), 0, 1, keep=False), e.number(x[1][0] * x[1][1] - 1))


def smooth_l1(e, x, y):
    d = e.op("abs", e.op("sub", x, y))
    square = e.op("mul", e.number(0.5), e.op("mul", d, d))
    return reduce(e, "mean", e.op("where", compare(e, "lt", d, e.number(1)), square, e.op("sub", d, e.number(0.5))),
                  0, 1, keep=False)


def logsumexp(e, x):
    m = reduce(e, "max", x, 1)
    return e.op("add", m, e.op("log", reduce(e, "sum", e.op("exp", e.op("sub", x, m)), 1)))


def any_or_all(kind):
    def build(e, x):
        truth = e.op("cast", compare(e, "gt", x, e.number(1.5)), type="i8")
        return compare(e, "ne", reduce(e, kind, truth, 1, keep=False), e.number(0, "i8"))
    return build


def cumsum(e, x):
    size = x[1][-1]
    before = compare(e, "le", iota(e, (size, size), 0), iota(e, (size, size), 1))
    return e.op("matmul", x, e.op("cast", before, type="f32"), shape=x[1])


def group_norm(e, x, gamma, beta):
    grouped = reshape(e, x, 2, 2, 3, 3, 2)
    d = e.op("sub", grouped, reduce(e, "mean", grouped, 1, 2, 4))
    spread = reduce(e, "mean", e.op("mul", d, d), 1, 2, 4)
    return e.op("add", e.op("mul", e.op("mul", d, e.op("rsqrt", e.op("add", spread, e.number(1e-5)))), gamma), beta)


def want_group_norm(x, gamma, beta):
    grouped = x.reshape(2, 2, 3, 3, 2)
    d = grouped - grouped.mean((1, 2, 4), keepdims=True)
    return d / np.sqrt((d * d).mean((1, 2, 4), keepdims=True) + 1e-5) * gamma + beta


def bilinear(e, x, weight, y):
    inner = reshape(e, e.op("matmul", x, weight, shape=(3, 10)), 3, 2, 5)
    return reduce(e, "sum", e.op("mul", inner, reshape(e, y, 3, 1, 5)), 2, keep=False)


def rnn(e, x, weight_ih, bias, h, weight_hh):
    hidden = e.op("matmul", h, weight_hh, shape=h[1])
    return e.op("tanh", e.op("add", e.op("linear", x, weight_ih, bias, shape=h[1]), hidden))


def gru(e, x, h, wr, ur, wz, uz, wn, un):
    product = lambda a, b: e.op("linear", a, b, shape=h[1])
    gate = lambda w, u: e.op("sigmoid", e.op("add", product(x, w), product(h, u)))
    r, z = gate(wr, ur), gate(wz, uz)
    n = e.op("tanh", e.op("add", product(x, wn), e.op("mul", r, product(h, un))))
    return e.op("add", e.op("mul", e.op("sub", e.number(1), z), n), e.op("mul", z, h))


def want_gru(x, h, wr, ur, wz, uz, wn, un):
    r, z = sigmoid(x @ wr + h @ ur), sigmoid(x @ wz + h @ uz)
    return (1 - z) * np.tanh(x @ wn + r * (h @ un)) + z * h


def tril(e, x):
    keep = compare(e, "ge", iota(e, x[1], 0), iota(e, x[1], 1))
    return e.op("where", keep, x, e.number(0), shape=x[1], type="f32")


def eye(e, x):
    same = compare(e, "eq", iota(e, (4, 4), 0), iota(e, (4, 4), 1))
    return e.op("cast", same, type="f32")


def one_hot(e, labels):
    return e.op("cast", compare(e, "eq", reshape(e, labels, 4, 1), iota(e, (6,), 0)), type="f32")


def roll(e, x):
    return e.op("concat", cut(e, x, (0, 3), (3, 2)), cut(e, x, (0, 0), (3, 3)), shape=x[1],
                attributes="axis = 1 : i64")


def upsample(e, x):
    wide = e.op("broadcast", reshape(e, x, 2, 3, 1, 2, 1, 4), shape=(2, 3, 2, 2, 2, 4))
    return reshape(e, wide, 2, 6, 4, 4)


def pixel_shuffle(e, x):
    # PyTorch's channels are [C, 2, 2], and come first.
    parts = e.op("transpose", reshape(e, x, 2, 3, 2, 4, 2, 2), shape=(2, 3, 2, 2, 2, 4),
                 attributes="permutation = array<i64: 0, 1, 4, 2, 5, 3>")
    return reshape(e, parts, 2, 6, 4, 4)


def want_pixel_shuffle(x):
    return x.reshape(2, 3, 2, 4, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 6, 4, 4)


X = draw(3, 5)
SHAPED = {
    "F.glu": ({"x": draw(3, 8)}, lambda e, x: e.op("mul", cut(e, x, (0, 0), (3, 4)),
                                                   e.op("sigmoid", cut(e, x, (0, 4), (3, 4)))),
              lambda x: x[:, :4] * sigmoid(x[:, 4:])),
    "torch.isinf": ({"x": X}, lambda e, x: compare(e, "eq", e.op("abs", e.op("log", e.op("maximum", x, e.number(0)))),
                                                   e.constant("0x7F800000")), lambda x: x <= 0),
    "torch.var": ({"x": X}, variance, lambda x: x.var(ddof=1)),
    "torch.std": ({"x": X}, lambda e, x: e.op("sqrt", variance(e, x)), lambda x: x.std(ddof=1)),
    "torch.logsumexp": ({"x": X}, logsumexp, lambda x: np.log(np.exp(x).sum(1, keepdims=True))),
    "torch.any": ({"x": X}, any_or_all("max"), lambda x: (x > 1.5).any(1)),
    "torch.all": ({"x": X + 1.8}, any_or_all("min"), lambda x: (x > 1.5).all(1)),
    "torch.argmin": ({"x": X}, lambda e, x: e.op("argmax", e.op("neg", x), shape=(3,), type="i32"),
                     lambda x: x.argmin(1)),
    "torch.cumsum": ({"x": X}, cumsum, lambda x: x.cumsum(1)),
    "F.group_norm": ({"x": draw(2, 2, 3, 6), "gamma": draw(3, 2), "beta": draw(3, 2)}, group_norm, want_group_norm),
    "torch.outer": ({"x": draw(3), "y": draw(4)},
                    lambda e, x, y: e.op("mul", reshape(e, x, 3, 1), reshape(e, y, 1, 4)), np.outer),
    "torch.baddbmm": ({"x": draw(2, 3, 4), "y": draw(2, 4, 5), "z": draw(2, 3, 5)},
                      lambda e, x, y, z: e.op("add", e.op("matmul", x, y, shape=z[1]), z),
                      lambda x, y, z: x @ y + z),
    "F.bilinear": ({"x": draw(3, 4), "weight": draw(4, 10), "y": draw(3, 5)}, bilinear,
                   lambda x, weight, y: np.einsum("ni,ioj,nj->no", x, weight.reshape(4, 2, 5), y)),
    "nn.RNNCell": ({"x": draw(3, 4), "weight_ih": draw(4, 5), "bias": draw(5), "h": draw(3, 5),
                    "weight_hh": draw(5, 5)}, rnn,
                   lambda x, weight_ih, bias, h, weight_hh: np.tanh(x @ weight_ih + bias + h @ weight_hh)),
    "nn.GRUCell": ({"x": draw(3, 4), "h": draw(3, 5),
                    **{f"{kind}{gate}": draw(4 if kind == "w" else 5, 5) for gate in "rzn" for kind in "wu"}},
                   gru, want_gru),
    "F.smooth_l1_loss": ({"x": X, "y": draw(3, 5)}, smooth_l1, lambda x, y: np.mean(
        np.where(abs(x - y) < 1, 0.5 * (x - y) ** 2, abs(x - y) - 0.5))),
    "F.one_hot": ({"labels": np.array([3, 0, 5, 1], np.int32)}, one_hot, lambda labels: np.eye(6)[labels.astype(int)]),
    "torch.tril": ({"x": draw(4, 6)}, tril, np.tril),
    "torch.eye": ({"x": draw(1)}, eye, lambda x: np.eye(4)),
    "torch.roll": ({"x": X}, roll, lambda x: np.roll(x, 2, 1)),
    "F.interpolate": ({"x": draw(2, 3, 2, 4)}, upsample, lambda x: x.repeat(2, 1).repeat(2, 2)),
    "F.pixel_shuffle": ({"x": draw(2, 3, 2, 16)}, pixel_shuffle, want_pixel_shuffle),
}
