"""Cases of matmuls, convolutions, attention and pooling."""

import math

import numpy as np

from case import NAN, Case, f64, i64s, relaxed

TYPES = ("f64", "f32", "bf16", "f16")
erf = np.vectorize(math.erf, otypes=[float])
EPILOGUES = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


def matmul_cases(random):
    for type in TYPES + ("f8E4M3FN",):
        for tl in (False, True):
            for tr in (False, True):
                flags = ", ".join(f for f, on in (("transpose_lhs", tl), ("transpose_rhs", tr)) if on)
                for batch, shared in ((), False), ((3,), False), ((2, 3), False), ((2, 3), True):
                    a = random(type, batch + ((7, 5) if tl else (5, 7)))
                    b = random(type, (() if shared else batch) + ((4, 7) if tr else (7, 4)))
                    l = np.swapaxes(a[1], -1, -2) if tl else a[1]
                    r = np.swapaxes(b[1], -1, -2) if tr else b[1]
                    error = 7 * (abs(l) @ abs(r))
                    yield Case("matmul", [a, b], [(type, l @ r)], flags, error=error)
    a, b = random("bf16", (5, 300)), random("bf16", (300, 4))
    yield Case("matmul", [a, b], [("f32", a[1] @ b[1])], error=300 * (abs(a[1]) @ abs(b[1])))
    a, b = random("bf16", (5, 8)), random("f32", (8, 4))
    yield Case("matmul", [a, b], [("f32", a[1] @ b[1])], error=8 * (abs(a[1]) @ abs(b[1])))


    # Sums of nothing.
    for type in TYPES:
        a, b = random(type, (3, 5, 0)), random(type, (3, 0, 4))
        yield Case("matmul", [a, b], [(type, np.zeros((3, 5, 4)))])


def linear_cases(random):
    x, w, b = random("bf16", (5, 0)), random("bf16", (0, 4)), random("f32", (4,))
    want = np.tile(np.maximum(b[1], 0), (5, 1))
    yield Case("linear", [x, w, b], [("bf16", want)], "epilogue = #mpt.epilogue<relu>")
    for type in TYPES:
        for name, f in EPILOGUES.items():
            attribute = f"epilogue = #mpt.epilogue<{name}>"
            for shape in (6, 7), (2, 3, 7):
                x, w, b = random(type, shape), random(type, (7, 4)), random("f32" if type != "f64" else type, (4,))
                # The epilogues' slopes are at most 1.13.
                terms = abs(x[1]) @ abs(w[1])
                yield Case("linear", [x, w], [(type, f(x[1] @ w[1]))], attribute, error=16 * terms)
                yield Case("linear", [x, w, b], [(type, f(x[1] @ w[1] + b[1]))], attribute, error=16 * (terms + abs(b[1])))
                transposed = (type, w[1].T)
                yield Case("linear", [x, transposed, b], [(type, f(x[1] @ w[1] + b[1]))],
                           attribute + ", transpose_weight", error=16 * (terms + abs(b[1])))


def gemm_cases(random):
    """What cuBLASLt computes, but for the bits that ReLU saves."""
    gelu = EPILOGUES["gelu_tanh"]

    def slope(x):
        k = np.sqrt(2 / np.pi)
        t = np.tanh(k * (x + 0.044715 * x**3))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)

    for type in TYPES:
        for tl in (False, True):
            for tr in (False, True):
                flags = "".join(f + ", " for f, on in (("transpose_lhs", tl), ("transpose_rhs", tr)) if on)
                activation = flags + "epilogue = #mpt.epilogue<gelu_tanh>, "
                x = random(type, (7, 5) if tl else (5, 7))
                w = random(type, (4, 7) if tr else (7, 4))
                b, aux = random(type, (4,)), random(type, (5, 4))
                right = w[1].T if tr else w[1]
                s = (x[1].T if tl else x[1]) @ right
                # Forward, backward, and a sum with rhs summed for a bias.
                for syntax, given, attributes, segments, wanted in (
                    ("{}, {} bias({}) {attributes}", b, activation, "1, 1, 0", [gelu(s + b[1]), s + b[1]]),
                    ("{}, {} {attributes}", None, activation, "1, 1, 0", [gelu(s), s]),
                    ("{}, {} aux({}) {attributes}", aux, activation, "1, 0, 1", [s * slope(aux[1]), (s * slope(aux[1])).sum(0)]),
                    ("{}, {} add({}) {attributes}", aux, flags, "1, 0, 0", [s + aux[1]]),
                    ("{}, {} {attributes}", None, flags, "1, 0, 1", [s, right.sum(0)]),
                ):
                    yield Case("gemm", [x, w] + [given] * (given is not None), [(type, want) for want in wanted],
                               f"{attributes}resultSegmentSizes = array<i32: {segments}>", syntax)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_cases(random):
    # torch.nn.LSTMCell with weights transposed and biases added. The gates' slopes
    # are at most 1 (tanh) and 1/4; z's terms err by the sum's length, c' by
    # those of its factors, and each function by some roundings of its own.
    for type in TYPES:
        s = "f64" if type == "f64" else "f32"
        x, h, c = random(type, (3, 5)), random(type, (3, 2)), random(s, (3, 2))
        w, u, b = random(type, (5, 8)), random(type, (2, 8)), random(s, (8,))
        for bias in True, False:
            z = x[1] @ w[1] + h[1] @ u[1] + (b[1] if bias else 0)
            i, f, g, o = np.split(z, 4, axis=1)
            i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
            new_c = f * c[1] + i * g
            gates = np.concatenate([i, f, g, o], 1)
            terms = 9 * (abs(x[1]) @ abs(w[1]) + abs(h[1]) @ abs(u[1]) + abs(b[1])) + 16
            ti, tf, tg, to = np.split(terms, 4, axis=1)
            c_error = tf * abs(c[1]) + ti + tg + 4 * (1 + abs(c[1]))
            for weights, attribute in ((w, u), ""), (((type, w[1].T), (type, u[1].T)), "transpose_weights"):
                yield Case("lstm_cell", [x, h, c, *weights] + [b] * bias,
                           [(type, o * np.tanh(new_c)), (s, new_c), (type, gates)], attribute,
                           error=[to + c_error + 16, c_error, terms])


def convolve(x, f, strides, padding, dilations, groups):
    """NHWC by HWIO, one tap at a time over slices of the padded input."""
    x = np.pad(x, ((0, 0), padding[:2], padding[2:], (0, 0)))
    kh, kw, per_group, outputs = f.shape
    oh = (x.shape[1] - dilations[0] * (kh - 1) - 1) // strides[0] + 1
    ow = (x.shape[2] - dilations[1] * (kw - 1) - 1) // strides[1] + 1
    y = np.zeros((x.shape[0], oh, ow, outputs))
    for i in range(kh):
        for j in range(kw):
            top, left = i * dilations[0], j * dilations[1]
            patch = x[:, top : top + (oh - 1) * strides[0] + 1 : strides[0], left : left + (ow - 1) * strides[1] + 1 : strides[1]]
            patch = patch.reshape(*patch.shape[:3], groups, per_group)
            tap = f[i, j].reshape(per_group, groups, outputs // groups)
            y += np.einsum("nhwgc,cgo->nhwgo", patch, tap).reshape(y.shape)
    return y


def adjoint(function, shape, dy):
    """The transpose of a linear function, from its values on a basis."""
    result = np.zeros(math.prod(shape))
    for i in range(result.size):
        unit = np.zeros(result.size)
        unit[i] = 1.0
        result[i] = np.sum(function(unit.reshape(shape)) * dy)
    return result.reshape(shape)


def conv_cases(random):
    windows = [
        # x, filter, strides, padding (h lo, h hi, w lo, w hi), dilations, groups
        ((2, 5, 4, 2), (3, 3, 2, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
        ((1, 6, 7, 4), (2, 3, 2, 4), (2, 1), (1, 0, 0, 2), (2, 2), 2),
        ((1, 6, 6, 1), (2, 2, 1, 2), (3, 3), (0, 0, 0, 0), (1, 1), 1),
        ((2, 3, 3, 3), (1, 1, 3, 5), (1, 1), (0, 0, 0, 0), (1, 1), 1),
        ((2, 6, 4, 3), (3, 2, 3, 4), (3, 2), (0, 0, 0, 0), (1, 1), 1),
        ((1, 5, 5, 3), (3, 3, 1, 3), (1, 2), (1, 1, 1, 1), (1, 1), 3),
    ]
    for type in TYPES:
        for xs, fs, strides, padding, dilations, groups in windows:
            def conv(a, b):
                return convolve(a, b, strides, padding, dilations, groups)

            attributes = (
                f"strides = {i64s(strides)}, padding = {i64s(padding)}, "
                f"dilations = {i64s(dilations)}, groups = {groups} : i64"
            )
            x, f = random(type, xs), random(type, fs)
            y = conv(x[1], f[1])
            terms = conv(abs(x[1]), abs(f[1]))
            k = math.prod(fs[:3]) + 8
            yield Case("conv2d", [x, f], [(type, y)], attributes, error=k * terms)
            oihw, stored = attributes + ", oihw", (type, f[1].transpose(3, 2, 0, 1))
            yield Case("conv2d", [x, stored], [(type, y)], oihw, error=k * terms)
            dy = random(type, y.shape)
            g = dy[1]
            want = adjoint(lambda a: conv(a, f[1]), xs, g)
            error = math.prod(fs[:2]) * fs[3] * adjoint(lambda a: conv(a, abs(f[1])), xs, abs(g))
            yield Case("conv2d_input_grad", [dy, f], [(type, want)], attributes, error=error)
            yield Case("conv2d_input_grad", [dy, stored], [(type, want)], oihw, error=error)
            want = adjoint(lambda b: conv(x[1], b), fs, g)
            error = math.prod(y.shape[:3]) * adjoint(lambda b: conv(abs(x[1]), b), fs, abs(g))
            yield Case("conv2d_filter_grad", [x, dy], [(type, want)], attributes, error=error)
            yield Case("conv2d_filter_grad", [x, dy], [(type, want.transpose(3, 2, 0, 1))], oihw,
                       error=error.transpose(3, 2, 0, 1))
        for name, f in EPILOGUES.items():
            x, w, b = random(type, (1, 4, 4, 2)), random(type, (3, 3, 2, 3)), random("f64" if type == "f64" else "f32", (3,))
            y = convolve(x[1], w[1], (1, 1), (1, 1, 1, 1), (1, 1), 1) + b[1]
            terms = convolve(abs(x[1]), abs(w[1]), (1, 1), (1, 1, 1, 1), (1, 1), 1) + abs(b[1])
            yield Case("conv2d", [x, w, b], [(type, f(y))],
                       f"padding = {i64s([1] * 4)}, epilogue = #mpt.epilogue<{name}>", error=28 * terms)
            # Patches.
            w = random(type, (2, 4, 2, 3))
            y = convolve(x[1], w[1], (2, 4), (0, 0, 0, 0), (1, 1), 1) + b[1]
            terms = convolve(abs(x[1]), abs(w[1]), (2, 4), (0, 0, 0, 0), (1, 1), 1) + abs(b[1])
            yield Case("conv2d", [x, w, b], [(type, f(y))],
                       f"strides = {i64s((2, 4))}, epilogue = #mpt.epilogue<{name}>", error=28 * terms)


def softmax(x):
    p = np.exp(x - x.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def attention_cases(random):
    # Masks of padding (one sequence is nothing else) and of all pairs, with a query
    # that sees nothing.
    padding = np.array([[1, 1, 0, 1, 0], [0] * 5]).reshape(2, 1, 1, 5)
    pairs = np.ones((1, 6, 4, 4), int)
    pairs[0, :, 1, :2] = 0
    pairs[0, 0, 3, 1:] = 0
    for causal, scale, (t, s), mask, groups, biased in (
        (False, None, (3, 5), None, 6, None),
        (True, 0.4, (3, 5), None, 6, None),
        (True, None, (4, 4), None, 6, None),
        (False, 0.4, (3, 5), padding, 6, None),
        (True, None, (4, 4), pairs, 6, None),
        # Heads of keys that two or all of the queries' share, and biases.
        (False, None, (3, 5), None, 3, None),
        (True, None, (4, 4), None, 1, (1, 6, 4, 4)),
        (False, 0.4, (3, 5), padding, 2, (2, 1, 3, 1)),
        (False, None, (3, 5), None, 6, (1, 1, 3, 5)),
    ):
        for type, wide in ("f64", "f64"), ("f32", "f32"):
            heads = 6
            q, k, v = random(type, (2, heads, t, 4)), random(type, (2, groups, s, 4)), random(type, (2, groups, s, 2))
            keys, values = (np.repeat(array[1], heads // groups, 1) for array in (k, v))
            factor = scale if scale is not None else 0.5
            scores = factor * np.einsum("bhtd,bhsd->bhts", q[1], keys)
            bias = []
            if biased:
                bias = [random(wide, biased)]
                if biased == (1, 1, 3, 5):
                    # It hides positions, and all of them from a query.
                    bias[0][1][..., 0, 1:3] = -np.inf
                    bias[0][1][..., 1, :] = -np.inf
                scores = scores + bias[0][1]
            if causal:
                hidden = np.arange(s)[None, :] > np.arange(t)[:, None] + s - t
                scores = np.where(hidden, -np.inf, scores)
            if mask is not None:
                scores = np.where(mask, scores, -np.inf)
            blind = np.isneginf(scores).all(-1, keepdims=True)
            p = np.where(blind, 0, softmax(np.where(blind, 0, scores)))
            y = p @ values
            with np.errstate(divide="ignore"):
                lse = np.log(np.exp(scores).sum(-1))
            seen = [] if mask is None else [("i1", mask)]
            syntax = ", ".join(["{}"] * (3 + len(seen))) + (" bias({})" if bias else "") + " {attributes}"
            attributes = ", ".join((["causal"] if causal else []) + ([f"scale = {f64(scale)}"] if scale else []))
            # A score is 4 terms of at most 2 * 2 * scale < 2, each off by u of the
            # rounded query and 5 u of the sum: 48 u, and so is its exponential,
            # relatively. Probabilities sum to 1 and |v| <= 2.
            case = Case("attention", [q, k, v] + seen + bias, [(type, y), (wide, lse)], attributes, syntax,
                        error=[128 * np.ones_like(y), 64 * np.ones_like(lse)])
            yield relaxed(case, type)
            dy = random(type, y.shape)
            # Through softmax by its Jacobian diag(p) - p p^T.
            dp = np.einsum("bhte,bhse->bhts", dy[1], values)
            jacobian = np.einsum("bhts,su->bhtsu", p, np.eye(s)) - np.einsum("bhts,bhtu->bhtsu", p, p)
            ds = np.einsum("bhtsu,bhts->bhtu", jacobian, dp)
            dq, dk = factor * (ds @ keys), factor * np.einsum("bhts,bhtd->bhsd", ds, q[1])
            dv = np.einsum("bhts,bhte->bhse", p, dy[1])
            dk, dv = (a.reshape(2, groups, heads // groups, s, -1).sum(2) for a in (dk, dv))
            gradients = [(type, dq), (type, dk), (type, dv)]
            if bias:
                axes = tuple(i for i, size in enumerate(biased) if size == 1)
                gradients.append((wide, ds.sum(axes, keepdims=True)))
            saved = [dy, q, k, v, (type, y), (wide, lse)] + seen + bias
            # Heads that share one of keys add up.
            case = Case("attention_grad", saved, gradients, attributes, "{}, {}, {}, " + syntax,
                        error=[1024 * heads // groups * np.ones_like(a[1]) for a in gradients[:3]]
                        + [1024 * 2 * heads * t * np.ones_like(a[1]) for a in gradients[3:]])
            yield relaxed(case, type)


def windows_of(x, window, strides, padding, fill):
    """[.., window] of x, row-major in the window."""
    x = np.pad(x, ((0, 0), padding[:2], padding[2:], (0, 0)), constant_values=fill)
    oh = (x.shape[1] - window[0]) // strides[0] + 1
    ow = (x.shape[2] - window[1]) // strides[1] + 1
    taps = [
        x[:, i : i + (oh - 1) * strides[0] + 1 : strides[0], j : j + (ow - 1) * strides[1] + 1 : strides[1]]
        for i in range(window[0])
        for j in range(window[1])
    ]
    return np.stack(taps, -1)


def pool_cases(random):
    for type in TYPES:
        for window, strides, padding in ((2, 2), (2, 2), (0, 0, 0, 0)), ((3, 2), (1, 2), (1, 2, 1, 1)):
            x = random(type, (2, 5, 4, 3))
            attributes = f"window = {i64s(window)}, strides = {i64s(strides)}, padding = {i64s(padding)}"
            taps = windows_of(x[1], window, strides, padding, -np.inf)
            yield Case("max_pool", [x], [(type, taps.max(-1))], attributes)
            dy = random(type, taps.shape[:-1])
            # Which element of x each tap is.
            numbers = np.arange(x[1].size).reshape(x[1].shape)
            origin = windows_of(numbers, window, strides, padding, -1)
            winner = np.take_along_axis(origin, taps.argmax(-1)[..., None], -1)[..., 0]
            dx, size = np.zeros(x[1].size), np.zeros(x[1].size)
            np.add.at(dx, winner, dy[1])
            np.add.at(size, winner, abs(dy[1]))
            shape = x[1].shape
            yield Case("max_pool_grad", [dy, x], [(type, dx.reshape(shape))], attributes,
                       error=window[0] * window[1] * size.reshape(shape))
            zeros = windows_of(x[1], window, strides, padding, 0.0)
            inside = (origin >= 0).sum(-1)
            for count, divisor in ("", inside), (", count_include_pad", window[0] * window[1]):
                error = 8 * abs(zeros).sum(-1) / divisor
                yield Case("avg_pool", [x], [(type, zeros.sum(-1) / divisor)], attributes + count, error=error)
                share = np.broadcast_to((dy[1] / divisor)[..., None], origin.shape)
                dx, size = np.zeros(x[1].size), np.zeros(x[1].size)
                np.add.at(dx, origin[origin >= 0], share[origin >= 0])
                np.add.at(size, origin[origin >= 0], abs(share[origin >= 0]))
                yield Case("avg_pool_grad", [dy], [(type, dx.reshape(shape))], attributes + count,
                           error=8 * size.reshape(shape))
    # NaN wins, and of equal elements the first.
    x = ("f32", np.array([1.0, NAN, 2.0, 2.0]).reshape(1, 2, 2, 1))
    attributes = f"window = {i64s([2, 2])}, strides = {i64s([1, 1])}"
    yield Case("max_pool", [x], [("f32", np.full((1, 1, 1, 1), NAN))], attributes)
    x, dy = ("f32", np.array([1.0, 2.0, 2.0, 0.0]).reshape(1, 2, 2, 1)), ("f32", np.full((1, 1, 1, 1), 5.0))
    yield Case("max_pool_grad", [dy, x], [("f32", np.array([0.0, 5, 0, 0]).reshape(1, 2, 2, 1))], attributes)


def contraction_cases(random):
    for maker in matmul_cases, linear_cases, gemm_cases, lstm_cases, conv_cases, attention_cases, pool_cases:
        yield from maker(random)
