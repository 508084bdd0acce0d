"""Cases of elementwise ops, shape ops and randomness."""

import math

import numpy as np

from block_scale_cases import block_scale_cases, gemm_scale_cases, scaled_matmul_cases
from case import INF, NAN, Case, Random, f64, i64s
from nn_cases import nn_cases
from matmul_cases import contraction_cases
from optimizer_state_cases import optimizer_state_cases
from storage import TYPES
from training_cases import training_cases

FLOATS = ["f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2"]
erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x * erfc(-x / np.sqrt(2)) / 2


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def slope(f, x):
    """The derivative by a complex step would need analytic f; a sixth-order
    difference errs by 1e-12 here."""
    h = 2e-3
    return (
        45 * (f(x + h) - f(x - h)) - 9 * (f(x + 2 * h) - f(x - 2 * h)) + (f(x + 3 * h) - f(x - 3 * h))
    ) / (60 * h)


def unary_cases(random):
    functions = {
        "neg": (np.negative, -2, 2),
        "abs": (np.abs, -2, 2),
        "exp": (np.exp, -4, 4),
        "log": (np.log, 0.1, 9),
        "log1p": (np.log1p, -0.9, 9),
        "sqrt": (np.sqrt, 0, 9),
        "rsqrt": (lambda x: x**-0.5, 0.1, 9),
        "reciprocal": (lambda x: 1 / x, 0.1, 9),
        "tanh": (np.tanh, -3, 3),
        "sigmoid": (sigmoid, -5, 5),
        "erf": (erf, -3, 3),
        "sin": (np.sin, -7, 7),
        "cos": (np.cos, -7, 7),
        "relu": (lambda x: np.maximum(x, 0), -2, 2),
        "silu": (lambda x: x * sigmoid(x), -5, 5),
        "softplus": (lambda x: np.logaddexp(0, x), -9, 9),
        "sign": (np.sign, -2, 2),
        "floor": (np.floor, -9, 9),
    }
    for name, (f, low, high) in functions.items():
        for type in FLOATS:
            x = random(type, (3, 7), low, high)
            # sin and cos near their zeros and log near 1 keep an absolute error.
            error = 8 + 0 * x[1] if name in ("sin", "cos", "log", "erf", "tanh") else 8
            yield Case(name, [x], [(type, f(x[1]))], error=error)
        # Wider and narrower than the operand.
        x = random("bf16", (5,), low, high)
        yield Case(name, [x], [("f32", f(x[1]))], error=8 + 8 * abs(f(x[1])))
        x = random("f32", (5,), low, high)
        yield Case(name, [x], [("f16", f(x[1]))], error=8 + 8 * abs(f(x[1])))
    for type in FLOATS:
        x = random(type, (3, 7), -3, 3)
        # Cancellation in 1 + erf: absolute in x.
        error = 8 * abs(x[1])
        yield Case("gelu", [x], [(type, gelu(x[1]))], error=error)
        yield Case("gelu", [x], [(type, gelu_tanh(x[1]))], "approximate = #mpt.gelu<tanh>", error=error)
    special = ("f32", np.array([NAN, INF, -INF, 0.0, -0.0, 1.0]))
    for name, want in {
        "relu": [NAN, INF, 0, 0, 0, 1],
        "neg": [NAN, -INF, INF, 0, 0, -1],
        "exp": [NAN, INF, 0, 1, 1, math.e],
        "abs": [NAN, INF, INF, 0, 0, 1],
        "reciprocal": [NAN, 0, 0, INF, -INF, 1],
        "log1p": [NAN, INF, NAN, 0, 0, math.log(2)],
        "softplus": [NAN, INF, 0, math.log(2), math.log(2), math.log1p(math.e)],
        "sign": [NAN, 1, -1, 0, 0, 1],
    }.items():
        yield Case(name, [special], [("f32", np.array(want))])
    yield Case("log", [("f32", np.array([0.0, -1.0, INF]))], [("f32", np.array([-INF, NAN, INF]))])
    # Where 1 + x is 1, and at the ends.
    x = [2.0**-33, -(2.0**-33), 2.0**-24, 2.0**-23, 2.0**127]
    yield Case("log1p", [("f32", np.array(x))], [("f32", np.log1p(x))])
    yield Case("log1p", [("f32", np.array([-1.0, -2.0]))], [("f32", np.array([-INF, NAN]))])
    x = ("f32", np.array([-80.0, -17.0, 17.0, 100.0, 2.0**127, -(2.0**127)]))
    yield Case("softplus", [x], [("f32", np.logaddexp(0, x[1]))])
    yield Case("is_finite", [special], [("i1", np.array([0, 0, 0, 1, 1, 1]))])
    yield Case("not", [("i1", np.array([0, 1]))], [("i1", np.array([1, 0]))])


def activation_grad_cases(random):
    for type in ("f64", "f32", "bf16", "f16"):
        dy, x = random(type, (3, 5)), random(type, (3, 5))
        g, v = dy[1], x[1]
        y = (type, TYPES[type].round(np.tanh(v)))
        magnitude = 8 * abs(g) * (1 + abs(v))
        yield Case("tanh_grad", [dy, y], [(type, g * (1 - y[1] ** 2))], error=8 * abs(g))
        y = (type, TYPES[type].round(sigmoid(v)))
        yield Case("sigmoid_grad", [dy, y], [(type, g * (y[1] - y[1] ** 2))])
        yield Case("relu_grad", [dy, x], [(type, np.where(v > 0, g, 0))])
        silu = slope(lambda t: t * sigmoid(t), v)
        yield Case("silu_grad", [dy, x], [(type, g * silu)], error=magnitude + 1e-11 * 2**53)
        for attribute, f in ("", gelu), ("approximate = #mpt.gelu<tanh>", gelu_tanh):
            error = 4 * magnitude + 1e-11 * 2**53
            yield Case("gelu_grad", [dy, x], [(type, g * slope(f, v))], attribute, error=error)


def binary_cases(random):
    functions = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "pow": np.power,
    }
    shapes = [((3, 4), (3, 4)), ((3, 4), (4,)), ((), (3, 4)), ((2, 1, 4), (3, 1)), ((1,), (2, 3)), ((0, 3), (3,))]
    mixed = [("f32", "bf16", "f32"), ("bf16", "f16", "bf16"), ("f64", "f32", "f64"), ("f8E4M3FN", "f8E5M2", "f16")]
    for name, f in functions.items():
        low = 0.25 if name in ("div", "pow") else -2.0
        for a, b in shapes:
            x, y = random("f32", a, low), random("f32", b, low)
            yield Case(name, [x, y], [("f32", f(x[1], y[1]))])
        for a, b, c in mixed + [(t, t, t) for t in FLOATS]:
            x, y = random(a, (3, 4), low), random(b, (4,), low)
            yield Case(name, [x, y], [(c, f(x[1], y[1]))])
    x, y = ("f32", np.array([NAN, 1.0, NAN, 2.0])), ("f32", np.array([0.0, NAN, NAN, 3.0]))
    yield Case("maximum", [x, y], [("f32", np.array([NAN, NAN, NAN, 3]))])
    yield Case("minimum", [x, y], [("f32", np.array([NAN, NAN, NAN, 2]))])
    x, y = ("i32", np.array([7, -7, 7, -8, -(2**31)])), ("i32", np.array([2, 2, -2, 0, -1]))
    yield Case("div", [x, y], [("i32", np.array([3, -3, -3, 0, -(2**31)]))])
    for type in ("i8", "i16", "i32", "i64"):
        x, y = random(type, (3, 4), -60, 60), random(type, (4,), -60, 60)
        width = TYPES[type].width
        for name in ("add", "sub", "mul", "maximum", "minimum"):
            exact = functions[name](x[1], y[1])
            wrapped = (exact + 2 ** (width - 1)) % 2**width - 2 ** (width - 1) if width < 64 else exact
            yield Case(name, [x, y], [(type, wrapped)])
    # NumPy's comparisons are false with NaN, but !=.
    comparisons = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    x = ("f32", np.array([[1.0], [2.0], [NAN]]))
    y = ("bf16", np.array([1.0, 1.5, NAN, INF]))
    m, n = random("i32", (20,), -2, 3), random("i32", (20,), -2, 3)
    p, q = ("i1", np.array([0, 0, 1, 1])), ("i1", np.array([0, 1, 0, 1]))
    for predicate, f in comparisons.items():
        for a, b in (x, y), (m, n), (p, q):
            want = getattr(np, f)(a[1], b[1])
            yield Case("compare", [a, b], [("i1", want)], f"predicate = #mpt.predicate<{predicate}>")
    yield Case("and", [p, q], [("i1", p[1] & q[1])])
    yield Case("or", [p, q], [("i1", p[1] | q[1])])
    yield Case("xor", [p, q], [("i1", p[1] ^ q[1])])
    c, a, b = random.bools((3, 1)), random("f32", (3, 4)), random("f32", ())
    yield Case("where", [c, a, b], [("f32", np.where(c[1], a[1], b[1]))])
    c, a, b = random.bools((2, 3, 4)), random("bf16", (4,)), random("f32", (3, 1))
    yield Case("where", [c, a, b], [("f16", np.where(c[1], a[1], b[1]))])
    c, a, b = random.bools((5,)), random("i32", (5,), -9, 9), random("i32", (5,), -9, 9)
    yield Case("where", [c, a, b], [("i32", np.where(c[1], a[1], b[1]))])
    yield Case("where", [("i1", np.array([1, 0])), ("f32", np.array([1, NAN])), ("f32", np.array([NAN, 2]))],
               [("f32", np.array([1.0, 2.0]))])


def signed(bits, width):
    """Numbers from 0 to 2^width - 1 in two's complement."""
    return np.array([int(b) - (2**width if int(b) >> (width - 1) else 0) for b in bits.ravel()]).reshape(bits.shape)


def bit_cases(random):
    for type in ("i8", "i16", "i32", "i64"):
        width = TYPES[type].width
        top = 2 ** (width - 1)
        x = (type, np.array([[0, 1, -1, top - 1], [-top, 5, -6, 90]]))
        y = (type, np.array([3, -1, -top, 77]))
        bits = np.array([[int(v) % 2**width for v in row] for row in x[1]], dtype=object)
        yield Case("and", [x, y], [(type, x[1] & y[1])])
        yield Case("or", [x, y], [(type, x[1] | y[1])])
        yield Case("xor", [x, y], [(type, x[1] ^ y[1])])
        yield Case("not", [x], [(type, ~x[1])])
        count = np.vectorize(lambda v: v.bit_count(), otypes=[int])
        yield Case("population_count", [x], [(type, count(bits))])
        zeros = np.vectorize(lambda v: width - v.bit_length(), otypes=[int])
        yield Case("count_leading_zeros", [x], [(type, zeros(bits))])
        # From the width on, and negative amounts, which are large ones.
        for n in (0, 1, 3, width - 1, width, width + 1, top - 1, -1, -top):
            amount = n % 2**width
            left = np.vectorize(lambda v: (v << min(amount, width)) % 2**width, otypes=[object])
            right = np.vectorize(lambda v: v >> min(amount, width), otypes=[object])
            n = (type, np.array(n))
            yield Case("shift_left", [x, n], [(type, signed(left(bits), width))])
            yield Case("shift_right_logical", [x, n], [(type, signed(right(bits), width))])
            yield Case("shift_right_arithmetic", [x, n], [(type, right(x[1].astype(object)).astype(int))])
    n = ("i32", np.array([[0], [31], [32]]))
    yield Case("shift_left", [("i32", np.array([1, -2])), n], [("i32", np.array([[1, -2], [-(2**31), 0], [0, 0]]))])
    for float, integer in (("f64", "i64"), ("f32", "i32"), ("f16", "i16"), ("bf16", "i16")):
        x = (float, TYPES[float].round(np.array([0.0, 1.0, -1.5, 1 / 3, 1e-5, -3e4, INF, -INF])))
        bits = np.frombuffer(TYPES[float].encode(x[1]), f"<i{TYPES[integer].width // 8}")
        yield Case("bitcast", [x], [(integer, bits)])
        yield Case("bitcast", [(integer, bits)], [x])


def cast_cases(random):
    wild = np.array([0.0, -0.0, 1 / 3, 2.5, -1e-3, 463.9, 464.1, -6e4, 7e4, 1e-7, 3e-8, 1e38, INF, -INF, NAN])
    for a in FLOATS:
        x = (a, TYPES[a].round(wild))
        for b in FLOATS:
            if a != b:
                yield Case("cast", [x], [(b, x[1])])
        finite = TYPES[a].round(np.array([0.0, 1.75, -1.75, 100.5, -100.5, 0.25]))
        for width in (8, 16, 32, 64):
            yield Case("cast", [(a, finite)], [(f"i{width}", np.trunc(finite))])
        yield Case("cast", [(a, finite)], [("i1", finite != 0)])
    x = ("f32", np.array([300.0, -300.0, NAN, INF, -INF]))
    yield Case("cast", [x], [("i8", np.array([127, -128, 0, 127, -128]))])
    yield Case("cast", [x], [("i1", np.array([1, 1, 1, 1, 1]))])
    top = 2**63 - 1
    yield Case("cast", [x], [("i64", np.array([300, -300, 0, top, -top - 1]))])
    n = ("i32", np.array([0, 1, -1, 257, -(2**31), 2**31 - 1, 2**24 + 1, 65519, 65520]))
    for b in FLOATS:
        yield Case("cast", [n], [(b, n[1].astype(float))])
    for width in (8, 16, 64):
        half = 2 ** (width - 1)
        yield Case("cast", [n], [(f"i{width}", (n[1] + half) % (2 * half) - half if width < 64 else n[1])])
    yield Case("cast", [n], [("i1", n[1] != 0)])
    # 2^53 + 1 and a tie of f32 that a double would round first.
    big = ("i64", np.array([2**53 + 1, 2**60 + 2**36 + 1, -(2**60) - 2**36 - 1]))
    yield Case("cast", [big], [("f32", np.array([2.0**53, 2.0**60 + 2.0**37, -(2.0**60) - 2.0**37]))])
    bits = ("i1", np.array([0, 1]))
    for b in ("f32", "bf16", "i8", "i64"):
        yield Case("cast", [bits], [(b, np.array([0, 1]))])


def shape_cases(random):
    yield Case("constant", [], [("f32", np.array([[1.5, -2.0]]))], syntax="dense<[[1.5, -2.0]]> : tensor<1x2xf32>")
    yield Case("constant", [], [("i32", np.array([7, -7]))], syntax="dense<[7, -7]> : tensor<2xi32>")
    yield Case("constant", [], [("bf16", np.full((2, 2), 0.25))], syntax="dense<0.25> : tensor<2x2xbf16>")
    yield Case("constant", [], [("i1", np.array([1, 0]))], syntax="dense<[true, false]> : tensor<2xi1>")
    for type in ("i32", "i64", "f32", "bf16"):
        for axis in (0, 1):
            yield Case("iota", [], [(type, np.indices((3, 4))[axis])], f"axis = {axis} : i64", syntax="{attributes}")
    for type in ("f32", "bf16", "i32", "f64"):
        x = random(type, (2, 3, 4), -9, 9)
        v = x[1]
        yield Case("reshape", [x], [(type, v.reshape(4, 6))])
        yield Case("transpose", [x], [(type, v.transpose(2, 0, 1))], f"permutation = {i64s([2, 0, 1])}")
        yield Case("slice", [x], [(type, v[0:2, 1:3, 0:4:3])],
                   f"offsets = {i64s([0, 1, 0])}, sizes = {i64s([2, 2, 2])}, strides = {i64s([1, 1, 3])}")
        a, b = random(type, (2, 1, 4), -9, 9), random(type, (2, 2, 4), -9, 9)
        yield Case("concat", [x, a, b], [(type, np.concatenate([v, a[1], b[1]], 1))], "axis = 1 : i64")
        yield Case("broadcast", [a], [(type, np.broadcast_to(a[1], (5, 2, 3, 4)))])
        value = 3.0
        want = np.full((2, 6, 11), value)
        want[:, 2:5, 1:9:2] = v
        yield Case("pad", [x], [(type, want)],
                   f"low = {i64s([0, 2, 1])}, high = {i64s([0, 1, 3])}, interior = {i64s([0, 0, 1])}, value = {f64(value)}")
        yield Case("pad", [x], [(type, np.pad(v, ((1, 0), (0, 2), (0, 0))))],
                   f"low = {i64s([1, 0, 0])}, high = {i64s([0, 2, 0])}")
        ids = random("i32", (2, 5), 0, 3)
        table = random(type, (3, 4), -9, 9)
        yield Case("gather", [table, ids], [(type, table[1][ids[1]])])
    ids, table = ("i64", np.array([2, 0])), random("f32", (3,))
    yield Case("gather", [table, ids], [("f32", table[1][ids[1]])])
    ids = random("i32", (4, 6), 0, 5)
    for type in ("f32", "bf16", "f64"):
        updates = random(type, (4, 6, 3))
        want, size, count = np.zeros((7, 3)), np.zeros((7, 3)), np.zeros((7, 3))
        np.add.at(want, ids[1], updates[1])
        np.add.at(size, ids[1], abs(updates[1]))
        np.add.at(count, ids[1], 1)
        yield Case("scatter_add", [ids, updates], [(type, want)], error=count * size)
        # One more term, the first.
        init = random(type, (7, 3))
        yield Case("scatter_add", [ids, updates, init], [(type, want + init[1])],
                   error=(count + 1) * (size + abs(init[1])))
    for type in ("f32", "bf16", "f16", "f64"):
        updates, init = random(type, (4, 6, 3)), random(type, (7, 3))
        updates[1][1, 2, 1] = init[1][3, 0] = np.nan
        for kind, function in ("max", np.maximum), ("min", np.minimum), ("prod", np.multiply):
            want, count = init[1].copy(), np.zeros((7, 3))
            function.at(want, ids[1], updates[1])
            np.add.at(count, ids[1], 1)
            yield Case("scatter_reduce", [ids, updates, init], [(type, want)],
                       f"kind = #mpt.reduce_kind<{kind}>",
                       error=count * np.nan_to_num(abs(want)) if kind == "prod" else 0 * count)
    ids = ("i32", np.array([[0, 3], [-1, 2]]))
    yield Case("check_indices", [ids], [ids], "size = 4 : i64, ignore_index = -1 : i64")
    for op in ("stop_gradient", "barrier"):
        x = random("bf16", (3, 2))
        yield Case(op, [x], [("bf16", x[1])])
    a, b = random("f32", (3,)), random("f16", ())
    yield Case("gradients", [a, b], [a, b], 'names = ["a", "b"]')


def philox(counter, key):
    """Philox4x32-10, from Salmon et al. 2011."""
    mask = 2**32 - 1
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & mask, (p0 >> 32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


# The known answers of its authors' Random123.
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([2**32 - 1] * 4, [2**32 - 1] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def keep_mask(shape, seed, attempt, stream, rate):
    low = 2**32 - 1
    words = []
    for block in range(math.prod(shape) // 4 + 1):
        words += philox([block, 0, attempt & low, attempt >> 32], [seed & low, stream ^ (seed >> 32)])
    words = np.array(words[: math.prod(shape)], dtype=np.uint64)
    return (words >= math.floor(rate * 2**32)).reshape(shape)


def random_halves(shape, seed, attempt, stream):
    low = 2**32 - 1
    halves = []
    for block in range(math.prod(shape) // 8 + 1):
        for word in philox([block, 0, attempt & low, attempt >> 32], [seed & low, stream ^ (seed >> 32)]):
            halves += [word & 0xFFFF, word >> 16]
    halves = np.array(halves[: math.prod(shape)], dtype=np.int64)
    return np.where(halves >= 2**15, halves - 2**16, halves).reshape(shape)


def random_cases(random):
    for seed, attempt, stream, rate in (5, 9, 3, 0.3), (2**40 + 7, 2**33 + 1, 0, 0.75), (1, 2, 3, 0.0):
        numbers = [("i64", np.array(seed)), ("i64", np.array(attempt))]
        attributes = f"rate = {f64(rate)}, stream = {stream} : i64"
        mask = keep_mask((5, 7), seed, attempt, stream, rate)
        for shape in (5, 7), (3, 51), ():
            bits = ("i16", random_halves(shape, seed, attempt, stream))
            yield Case("random_bits", numbers, [bits], f"stream = {stream} : i64, shape = {i64s(list(shape))}")
        yield Case("random_mask", numbers, [("i1", mask)], attributes + f", shape = {i64s([5, 7])}")
        for type in ("f32", "bf16"):
            x = random(type, (5, 7))
            want = np.where(mask, x[1] / (1 - rate), 0)
            yield Case("dropout", [x] + numbers, [(type, want), ("i1", mask)], attributes)
            yield Case("dropout_grad", [x, ("i1", mask)], [(type, want)], f"rate = {f64(rate)}")


def all_cases():
    random = Random(20240601)
    makers = [unary_cases, activation_grad_cases, binary_cases, bit_cases, cast_cases, shape_cases, random_cases]
    cases = []
    with np.errstate(all="ignore"):
        for maker in makers + [contraction_cases, nn_cases, training_cases, block_scale_cases, scaled_matmul_cases, gemm_scale_cases,
                                optimizer_state_cases]:
            cases += list(maker(random))
    return cases
