"""Functions of JAX, whose lowering has the ops of StableHLO that MPT converts.

A case is (function, arguments). Numbers are drawn from a seed.
"""
import itertools

import jax
import jax.numpy as jnp
import numpy
from jax import lax


class Draw:
    def __init__(self, seed):
        self.rng = numpy.random.default_rng(seed)

    def f(self, *shape):
        return self.rng.normal(size=shape).astype(numpy.float32)

    def i(self, high, *shape, low=0, dtype=numpy.int32):
        return self.rng.integers(low, high, size=shape).astype(dtype)

    def b(self, *shape):
        return self.rng.random(shape) < 0.5


def conv(spec, **options):
    return lambda x, w: lax.conv_general_dilated(
        x, w, dimension_numbers=spec, **{"window_strides": (1,) * (x.ndim - 2),
                                         "padding": "SAME", **options})


def gradients(function):
    """The gradients of a sum of squares for all arguments."""
    return lambda *xs: jax.grad(lambda ys: (function(*ys) ** 2).sum())(xs)


def window(operation, start, sizes, strides, padding, **options):
    return lambda x: lax.reduce_window(x, numpy.array(start, x.dtype), operation, sizes,
                                       strides, padding, **options)


def any_gather(rng):
    """A shape, slice sizes, the shape of the indices and dimension numbers of a gather."""
    rank = int(rng.integers(1, 5))
    shape = rng.integers(2, 6, size=rank)
    dims = rng.permutation(rank)
    batching = sorted(dims[:rng.integers(0, min(2, rank - 1) + 1)].tolist())
    others = [n for n in range(rank) if n not in batching]
    mapped = rng.permutation(others)[:rng.integers(1, len(others) + 1)].tolist()
    sizes = [int(rng.integers(1, n + 1)) for n in shape]
    collapsed = sorted(n for n in others if rng.random() < 0.4)
    for n in batching + collapsed:
        sizes[n] = 1
    indices = [int(n) for n in rng.integers(1, 4, size=rng.integers(0, 3))]
    where = rng.permutation(len(indices) + len(batching))[:len(batching)]
    for n, place in sorted(zip(batching, where), key=lambda pair: pair[1]):
        indices.insert(int(place), int(shape[n]))
    places = [int(place) for _, place in sorted(zip(batching, where))]
    count = rank - len(batching) - len(collapsed)
    offset = sorted(rng.permutation(count + len(indices))[:count].tolist())
    numbers = lax.GatherDimensionNumbers(tuple(offset), tuple(collapsed), tuple(mapped),
                                         tuple(batching), tuple(places))
    return tuple(shape.tolist()), tuple(sizes), (*indices, len(mapped)), numbers


def cases(d):
    """name -> (function, arguments)"""
    found = {}

    def add(name, function, *arguments):
        found[name] = (function, arguments)

    x, y = d.f(3, 5), d.f(3, 5)
    positive = numpy.abs(x) + 0.1
    # Elementwise.
    for name in ("exp", "tanh", "sin", "cos", "floor", "ceil", "sign", "abs", "negative",
                 "square", "expm1", "cbrt", "round", "isfinite", "tan"):
        add(name, getattr(jnp, name), x * 2)
    for name in ("log", "log1p", "sqrt", "reciprocal"):
        add(name, getattr(jnp, name), positive)
    add("rsqrt", lax.rsqrt, positive)
    for name in ("sinh", "cosh", "arctan", "arcsinh"):
        add(name, getattr(jnp, name), x * 2)
        add(f"{name} gradient", gradients(getattr(jnp, name)), x)
    for name in ("arcsin", "arccos", "arctanh"):
        add(name, getattr(jnp, name), jnp.tanh(x))
    add("arccosh", jnp.arccosh, positive + 1)
    add("arctan2", jnp.arctan2, x, y)
    add("lgamma", lax.lgamma, positive * 5)
    add("digamma", lax.digamma, positive * 5)
    add("nextafter", jnp.nextafter,
        numpy.array([0, 0, 1, 1, -1, -1, 3, numpy.inf, -0.0, numpy.nan, 1e-45], "f"),
        numpy.array([1, -1, 2, 0, 0, -2, 3, 0, 0.0, 0, 0], "f"))
    add("logistic", jax.nn.sigmoid, x * 4)
    add("erf", lax.erf, x)
    add("erfc", lax.erfc, numpy.linspace(-5, 5, 41, dtype="f"))
    add("erf_inv", lax.erf_inv, numpy.linspace(-1, 1, 41, dtype="f"))
    add("round_away", lambda a: lax.round(a), numpy.array([-2.5, -1.5, -.5, .5, 1.5, 2.4], "f"))
    add("round_even", jnp.round, numpy.array([-2.5, -1.5, -.5, .5, 1.5, 2.4], "f"))
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        add(name, getattr(jnp, name), x, y)
    add("power", jnp.power, positive, y)
    for exponent in (2, 3, 0.5, -1.0, -2, 1.5):
        add(f"power {exponent}", lambda a, e=exponent: a ** e, positive)
    add("fmod", lax.rem, x * 5, y)
    add("remainder", jnp.remainder, x * 5, y)
    add("clip", lambda a: jnp.clip(a, -0.5, 0.5), x)
    add("clamp", lax.clamp, numpy.float32(-.5), x, numpy.float32(.5))
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        add(name, getattr(jnp, name), numpy.round(x), numpy.round(y))
    add("where", jnp.where, d.b(3, 5), x, y)
    add("where bool", jnp.where, d.b(3, 5), d.b(3, 5), d.b(3, 5))
    add("where scalar", lambda c, a, b: lax.select(c, a, b), numpy.bool_(True), x, y)
    for name in ("logical_and", "logical_or", "logical_xor"):
        add(name, getattr(jnp, name), d.b(3, 5), d.b(3, 5))
    add("logical_not", jnp.logical_not, d.b(3, 5))
    # Integers.
    i, j = d.i(50, 3, 5, low=-50), d.i(9, 3, 5, low=1) * numpy.where(d.b(3, 5), 1, -1).astype("i")
    for name in ("add", "subtract", "multiply", "maximum", "minimum", "floor_divide",
                 "remainder", "less", "abs", "negative", "sign"):
        function = getattr(jnp, name)
        add(f"int {name}", function, *((i,) if name in ("abs", "negative", "sign") else (i, j)))
    add("int div", lax.div, i, j)
    add("int rem", lax.rem, i, j)
    add("int power", jnp.power, i, d.i(7, 3, 5))
    u = d.rng.integers(0, 2 ** 32, size=(3, 5), dtype=numpy.uint32)
    v = d.rng.integers(1, 2 ** 32, size=(3, 5), dtype=numpy.uint32)
    for name in ("add", "multiply", "maximum", "minimum", "less", "greater_equal"):
        add(f"uint {name}", getattr(jnp, name), u, v)
    add("uint div", lax.div, u, v >> 20)
    add("uint rem", lax.rem, u, v)
    for name in ("max", "min", "argmax", "argmin", "sort", "argsort", "sign"):
        add(f"uint {name}", lambda a, f=getattr(jnp, name): f(a) if f is jnp.sign else f(a, 1), u)
    add("uint clip", lambda a: lax.clamp(numpy.uint32(5), a, numpy.uint32(2 ** 31 + 7)), u)
    add("uint to float", lambda a: a.astype(jnp.float32), u)
    add("float to uint", lambda a: a.astype(jnp.uint32), numpy.abs(x) * 1e9)
    far = [-5, -.5, 3.7, 200, 300, 6e4, 3e9, -3e9, 5e9, 1e20, numpy.nan, numpy.inf, -numpy.inf]
    for to in jnp.uint8, jnp.uint16, jnp.uint32:
        for count, given in (len(far), numpy.float32), (6, numpy.float16):
            add(f"{given.__name__} out of range of {to.__name__}", lambda a, to=to: a.astype(to),
                numpy.array(far[:count] + far[-3:], given))
    add("float to int", lambda a: a.astype(jnp.int32), x * 100)
    add("int to float", lambda a: a.astype(jnp.float32), i)
    add("int to bool", lambda a: a.astype(jnp.bool_), i // 30)
    add("bool to float", lambda a: a.astype(jnp.float32), d.b(4))
    add("int8", lambda a: (a.astype(jnp.int8) * 5).astype(jnp.int32), i)
    add("bf16", lambda a: (a.astype(jnp.bfloat16) * 3).astype(jnp.float32), x)
    add("reduce_precision", lambda a: lax.reduce_precision(a, 8, 7), x)
    # Halves, what is too large, subnormal, infinite or no number.
    edges = numpy.concatenate([d.f(40) * 2.0 ** d.i(40, 40, low=-40), numpy.arange(-9, 9) / 8, [
        0, 6e-8, 6e-5, 6.1e-5, 6.2e-5, 65519, 65520, 1e30, numpy.inf, -numpy.inf, numpy.nan]])
    for exponent, mantissa in ((5, 10), (4, 3), (5, 2), (8, 3), (2, 20), (1, 0), (3, 23), (8, 23)):
        add(f"reduce_precision to {exponent} and {mantissa} bits",
            lambda a, e=exponent, m=mantissa: lax.reduce_precision(a, e, m), edges.astype("f"))
        add(f"reduce_precision of f16 to {exponent} and {mantissa} bits",
            lambda a, e=exponent, m=mantissa: lax.reduce_precision(a, e, m),
            edges.astype(numpy.float16))
    # JAX leaves a call in these bodies.
    larger = lambda a, b: jnp.where(jnp.abs(a) > jnp.abs(b), a, b)
    add("reduce that calls", lambda a: lax.reduce(a, jnp.float32(0), larger, (1,)), x)
    add("reduce_window that calls", lambda a: lax.reduce_window(
        a, jnp.float32(0), larger, (1, 3), (1, 2), "SAME"), x)
    # Bits.
    amounts = d.i(40, 3, 5)
    for name, a, b in (("int", i, j), ("uint", u, v), ("bool", d.b(3, 5), d.b(3, 5))):
        for operation in ("bitwise_and", "bitwise_or", "bitwise_xor"):
            add(f"{name} {operation}", getattr(jnp, operation), a, b)
            add(f"{name} {operation} of rows",
                lambda c, f=getattr(lax, "reduce_" + operation.split("_")[1]): f(c, (0,)), a)
        add(f"{name} bitwise_not", jnp.bitwise_not, a)
    for name, a, n in (("int", i, amounts), ("uint", u, amounts.astype("u4")),
                       ("int8", i.astype("i1"), amounts.astype("i1")),
                       ("uint16", u.astype("u2"), amounts.astype("u2"))):
        for operation in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
            add(f"{name} {operation}", getattr(lax, operation), a, n)
        add(f"{name} population_count", lax.population_count, a)
        add(f"{name} clz", lax.clz, a)
    for name, a, to in (("float to int", x, "i4"), ("int to float", x.view("i4"), "f4"),
                        ("float to bytes", x, "u1"), ("bytes to float", x.view("u1").reshape(3, 5, 4), "f4"),
                        ("half to int", x.astype("f2"), "u2"), ("uint to int", u, "i4"),
                        ("uint to halves", x.astype("f2").view("u2")[:, :4].copy().view("u4"), "f2")):
        add(f"bitcast {name}", lambda b, t=to: lax.bitcast_convert_type(b, jnp.dtype(t)), a)
    add("bitcast bfloat16", lambda a: lax.bitcast_convert_type(a.astype(jnp.bfloat16), jnp.int16), x)
    add("fast inverse root", lambda a: lax.bitcast_convert_type(
        0x5f3759df - (lax.bitcast_convert_type(a, jnp.int32) >> 1), jnp.float32), positive)
    # 64 bits, which JAX has with enable_x64.
    p, q = (d.rng.integers(0, 2 ** 64, size=(3, 40), dtype=numpy.uint64) >> d.rng.integers(
        0, 60, size=(3, 40)).astype("u8") for _ in range(2))
    q |= numpy.uint64(1)
    add("x64 uint div", lax.div, p, q)
    add("x64 uint rem", lax.rem, p, q)
    add("x64 uint less", jnp.less, p, q)
    add("x64 uint max", lambda a: a.max(1), p)
    add("x64 uint to float", lambda a: a.astype(jnp.float32), p)
    add("x64 uint to double", lambda a: a.astype(jnp.float64), p)
    add("x64 float to uint", lambda a: a.astype(jnp.uint64),
        numpy.array([0.5, 1e9, 2.0 ** 63, 1.7e19, 9.3e18]))
    add("x64 bitcast", lambda a: lax.bitcast_convert_type(a, jnp.uint32), p)
    add("x64 bitcast back", lambda a: lax.bitcast_convert_type(a, jnp.float64),
        d.rng.normal(size=(3, 5)).view("u4").reshape(3, 5, 2))
    # Random numbers: the bits of a key.
    key = d.rng.integers(0, 2 ** 32, size=2, dtype=numpy.uint32)
    random = jax.random

    def draw(name, function, implementation="threefry2x32", bits=key):
        add(f"random {name}", lambda k: function(random.wrap_key_data(k, impl=implementation)), bits)

    draw("split", lambda k: random.key_data(random.split(k, 3)))
    draw("fold_in", lambda k: random.key_data(random.fold_in(k, 7)))
    add("random key", lambda n: random.key_data(random.key(n)), numpy.int32(-5))
    for dtype in ("uint8", "uint16", "uint32"):
        draw(f"bits {dtype}", lambda k, t=dtype: random.bits(k, (3, 5), t))
        draw(f"rbg bits {dtype}", lambda k, t=dtype: random.bits(k, (3, 5), t), "rbg",
             numpy.tile(key, 2))
    draw("uniform", lambda k: random.uniform(k, (3, 5), minval=-2, maxval=3))
    draw("normal", lambda k: random.normal(k, (3, 5)))
    draw("bernoulli", lambda k: random.bernoulli(k, 0.3, (3, 5)))
    draw("randint", lambda k: random.randint(k, (3, 5), -7, 50))
    draw("categorical", lambda k: random.categorical(k, x))
    draw("permutation", lambda k: random.permutation(k, 12))
    draw("choice", lambda k: random.choice(k, 9, (4,)))
    draw("exponential", lambda k: random.exponential(k, (7,)))
    draw("rbg split", lambda k: random.key_data(random.split(k)), "rbg", numpy.tile(key, 2))
    draw("rbg uniform", lambda k: random.uniform(k, (7, 3)), "rbg", numpy.tile(key, 2))
    for algorithm in ("DEFAULT", "PHILOX", "THREE_FRY"):
        for shape in ((3, 5), (4, 6), (7,), ()):
            add(f"rng_bit_generator {algorithm} {shape}", lambda k, s=shape, a=algorithm:
                lax.rng_bit_generator(k, s, algorithm=getattr(lax.RandomAlgorithm, "RNG_" + a)),
                d.rng.integers(0, 2 ** 32, size=4, dtype=numpy.uint32))
            add(f"x64 rng_bit_generator {algorithm} {shape}", lambda k, s=shape, a=algorithm:
                lax.rng_bit_generator(k, s, jnp.uint64,
                                      getattr(lax.RandomAlgorithm, "RNG_" + a)),
                d.rng.integers(0, 2 ** 64, size=2, dtype=numpy.uint64))
    # The counter's lower half runs over.
    add("x64 rng_bit_generator carry", lambda k: lax.rng_bit_generator(
        k, (9,), algorithm=lax.RandomAlgorithm.RNG_PHILOX),
        numpy.array([7, 2 ** 64 - 1], numpy.uint64))
    # Shapes.
    add("broadcast", lambda a: jnp.broadcast_to(a[:, None, :], (3, 4, 5)) * 1, x)
    add("broadcast_in_dim", lambda a: lax.broadcast_in_dim(a, (2, 3, 5, 1), (1, 2)), x)
    add("outer", lambda a, b: a[:, None] * b[None, :], d.f(3), d.f(4))
    add("reshape", lambda a: a.reshape(5, 3), x)
    add("transpose", lambda a: a.transpose(2, 0, 1), d.f(2, 3, 4))
    add("slice", lambda a: a[1:, ::2], x)
    add("concatenate", lambda a, b: jnp.concatenate([a, b, a[:1]]), x, y)
    add("stack", lambda a, b: jnp.stack([a, b], 1), x, y)
    add("flip", lambda a: jnp.flip(a, (0, 2)), d.f(3, 2, 12))
    add("iota", lambda a: a + jnp.arange(5, dtype=jnp.float32), x)
    add("tril", lambda a: jnp.tril(a), x)
    for low, high, interior in ((1, 2, 0), (-1, 2, 0), (0, -2, 2), (2, -1, 1), (-2, -1, 0)):
        add(f"pad {low} {high} {interior}", lambda a, n=numpy.float32(.5), c=(low, high, interior):
            lax.pad(a, n, [(0, 0, 0), c]), x)
    add("pad by a value", lambda a, n: lax.pad(a, n, [(1, 0, 0), (0, 1, 1)]), x, d.f())
    add("pad integers", lambda a: jnp.pad(a, 1, constant_values=7), i)
    add("roll", lambda a: jnp.roll(a, 2, 1), x)
    # Matmuls.
    for spec in ("ij,jk->ik", "ij,kj->ik", "ji,jk->ki", "bij,bjk->bik", "bij,bkj->bki",
                 "bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", "btd,dhk->bthk",
                 "bthk,hkd->btd", "btd,bte->de", "i,i->", "i,j->ij", "ij,j->i", "abc,cab->",
                 "abcd,acde->abe", "ij,ij->ij", "ij,ik->ijk"):
        sizes = dict(zip("abcdehijkqt", (2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7)))
        left, right = spec.split("->")[0].split(",")
        add(f"einsum {spec}", lambda a, b, s=spec: jnp.einsum(s, a, b),
            d.f(*[sizes[c] for c in left]), d.f(*[sizes[c] for c in right]))
    add("int matmul", jnp.matmul, i, d.i(9, 5, 4))
    add("bf16 matmul to f32", lambda a, b: jnp.matmul(
        a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32),
        x, d.f(5, 4))
    # Reductions.
    t = d.f(3, 4, 5)
    for name in ("sum", "max", "min", "prod", "mean", "var", "argmax", "argmin"):
        for axis in (0, 1, 2):
            add(f"{name} {axis}", lambda a, f=getattr(jnp, name), n=axis: f(a, n), t)
    add("sum all", jnp.sum, t)
    add("sum 0 2", lambda a: a.sum((0, 2)), t)
    add("any", lambda a: jnp.any(a, 1), d.b(3, 5))
    add("all", lambda a: jnp.all(a, 0), d.b(3, 5))
    add("int sum", lambda a: a.sum(1), i)
    add("int max", lambda a: a.max(1), i)
    add("int argmax", lambda a: jnp.argmax(a, 1), i)
    add("argmax of ties", lambda a: jnp.argmax(jnp.round(a), 1), t)
    def softer(a, b):
        return jnp.maximum(a, b) + jnp.log1p(jnp.exp(-jnp.abs(a - b)))

    def further(a, b):
        """The number further from 0, its position, and the sum."""
        first = jnp.abs(a[0]) >= jnp.abs(b[0])
        return lax.select(first, a[0], b[0]), lax.select(first, a[1], b[1]), a[2] + b[2]

    for axes in ((0,), (2,), (0, 2), (0, 1, 2)):
        add(f"reduce by a function {axes}", lambda a, n=axes: lax.reduce(
            a, numpy.float32(-jnp.inf), softer, n), t)
        add(f"reduce three by a function {axes}", lambda a, n=axes: lax.reduce(
            (a, lax.broadcasted_iota(jnp.int32, a.shape, 1), a),
            (numpy.float32(0), numpy.int32(-1), numpy.float32(0)), further, n), t)
    add("sum from a number", lambda a, n: lax.reduce(a, n, lax.add, (0,)), x, d.f())
    add("logsumexp", lambda a: jax.nn.logsumexp(a, 1), x)
    # Windows.
    image = d.f(2, 9, 8, 3)
    for sizes, strides, padding in (((2, 2), (2, 2), "VALID"), ((3, 3), (2, 2), "SAME"),
                                    ((3, 2), (1, 2), "SAME"), ((3, 3), (1, 1), "VALID")):
        full = (1,) + sizes + (1,), (1,) + strides + (1,), padding
        add(f"max_pool {sizes} {strides} {padding}", window(lax.max, -numpy.inf, *full), image)
        add(f"sum_pool {sizes} {strides} {padding}", window(lax.add, 0, *full), image)
        add(f"max_pool gradient {sizes} {strides} {padding}",
            gradients(window(lax.max, -numpy.inf, *full)), image)
        add(f"sum_pool gradient {sizes} {strides} {padding}",
            gradients(window(lax.add, 0, *full)), image)
    add("max_pool of channels first", window(lax.max, -numpy.inf, (1, 1, 2, 3), (1, 1, 2, 1),
                                             "SAME"), d.f(2, 3, 8, 7))
    add("max_pool over 3", window(lax.max, -numpy.inf, (1, 2, 2, 3, 1), (1, 2, 1, 1, 1),
                                  "SAME"), d.f(1, 4, 5, 6, 2))
    add("min_pool", window(lax.min, numpy.inf, (2, 3), (1, 2), "SAME"), x)
    add("min_pool gradient", gradients(window(lax.min, numpy.inf, (2, 3), (1, 2), "SAME")), x)
    add("max_pool over 3 gradient", gradients(window(
        lax.max, -numpy.inf, (1, 2, 2, 3, 1), (1, 2, 1, 1, 1), "SAME")), numpy.round(d.f(1, 4, 5, 6, 2) * 2))
    add("min_pool over 3 gradient", gradients(window(
        lax.min, numpy.inf, (2, 2, 3), (1, 2, 1), "SAME")), numpy.round(d.f(4, 5, 6) * 2))
    add("max_pool of padding gradient", gradients(window(
        lax.max, -numpy.inf, (2, 2), (2, 1), ((2, 3), (1, 4)))), x)
    for name, start in (("max", 0), ("min", 2 ** 32 - 1)):
        add(f"uint {name}_pool", window(getattr(lax, name), start, (2, 3), (1, 2), "SAME"), u)
        add(f"uint cum{name}", lambda a, f=getattr(lax, "cum" + name): f(a, axis=1), u)
    add("uint8 max_pool", window(lax.max, 0, (2, 2), (1, 1), "VALID"), u.astype("u1"))
    add("int min_pool", window(lax.min, 2 ** 31 - 1, (2, 2), (1, 1), "SAME"), i)
    add("window from a number", lambda a, n: lax.reduce_window(
        a, n, lax.add, (2, 3), (1, 2), ((1, 0), (2, 1))), x, d.f())
    add("window by a function", lambda a: lax.reduce_window(
        a, numpy.float32(-jnp.inf), softer, (2, 3), (1, 2), "SAME"), x)
    add("cumlogsumexp", lambda a: lax.cumlogsumexp(a, axis=1), d.f(3, 13))
    add("product window", window(lax.mul, 1, (2, 3), (1, 1), "VALID"), x)
    add("dilated window", window(lax.max, -numpy.inf, (1, 3), (1, 1), "VALID",
                                 window_dilation=(1, 2), base_dilation=(2, 1)), x)
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        add(name, lambda a, f=getattr(lax, name): f(a, axis=1), d.f(3, 13))
    add("reverse cumsum", lambda a: lax.cumsum(a, axis=0, reverse=True), d.f(11, 2))
    add("int cumsum", lambda a: jnp.cumsum(a, 1), i)
    # Convolutions, their gradients and transposes.
    nhwc = ("NHWC", "HWIO", "NHWC")
    for name, spec, shape, filter, options in (
            ("plain", nhwc, (2, 7, 6, 3), (3, 3, 3, 4), {}),
            ("valid", nhwc, (2, 7, 6, 3), (3, 2, 3, 4), {"padding": "VALID"}),
            ("strided", nhwc, (2, 7, 6, 3), (3, 3, 3, 4), {"window_strides": (2, 2)}),
            ("strided even", nhwc, (2, 8, 8, 3), (2, 2, 3, 4), {"window_strides": (2, 2)}),
            ("strided 1x1", nhwc, (2, 8, 7, 3), (1, 1, 3, 4), {"window_strides": (2, 2)}),
            ("patches", nhwc, (2, 8, 8, 3), (4, 4, 3, 6),
             {"window_strides": (4, 4), "padding": "VALID"}),
            ("dilated", nhwc, (2, 9, 9, 3), (3, 3, 3, 4), {"rhs_dilation": (2, 2)}),
            ("dilated strided", nhwc, (2, 9, 9, 3), (3, 2, 3, 4),
             {"rhs_dilation": (2, 1), "window_strides": (2, 1)}),
            ("grouped", nhwc, (2, 7, 6, 4), (3, 3, 2, 6), {"feature_group_count": 2}),
            ("depthwise", nhwc, (2, 7, 6, 4), (3, 3, 1, 8),
             {"feature_group_count": 4, "window_strides": (2, 1)}),
            ("channels first", ("NCHW", "OIHW", "NCHW"), (2, 3, 7, 6), (4, 3, 3, 3), {}),
            ("odd layouts", ("CNWH", "WIOH", "HCNW"), (3, 2, 7, 6), (3, 3, 4, 2), {}),
            ("padded", nhwc, (2, 5, 5, 2), (3, 3, 2, 3), {"padding": ((3, 0), (1, 4))}),
            ("cropped", nhwc, (2, 9, 9, 2), (3, 3, 2, 3), {"padding": ((-1, 0), (1, -2))}),
            ("spread", nhwc, (2, 4, 4, 2), (3, 3, 2, 3),
             {"lhs_dilation": (2, 2), "padding": ((1, 2), (2, 1))}),
            ("1d", ("NWC", "WIO", "NWC"), (2, 9, 3), (3, 3, 4), {}),
            ("1d strided dilated", ("NWC", "WIO", "NWC"), (2, 9, 3), (3, 3, 4),
             {"window_strides": (2,), "rhs_dilation": (2,)}),
            ("3d", ("NDHWC", "DHWIO", "NDHWC"), (1, 4, 5, 4, 2), (2, 3, 3, 2, 3), {}),
            ("3d strided", ("NCDHW", "OIDHW", "NCDHW"), (1, 2, 5, 5, 4), (3, 2, 3, 2, 3),
             {"window_strides": (2, 1, 2)})):
        function = conv(spec, **options)
        add(f"conv {name}", function, d.f(*shape), d.f(*filter))
        add(f"conv {name} gradients", gradients(function), d.f(*shape), d.f(*filter))
    add("conv_transpose", lambda a, w: lax.conv_transpose(a, w, (2, 2), "SAME"),
        d.f(2, 4, 4, 3), d.f(3, 3, 3, 4))
    add("conv of groups of the batch", conv(nhwc, batch_group_count=2), d.f(4, 5, 5, 3),
        d.f(3, 3, 3, 4))
    # Indices.
    table, ids = d.f(7, 4), d.i(7, 2, 3)
    add("take rows", lambda a, n: a[n], table, ids)
    add("take clipped", lambda a, n: jnp.take(a, n, 0, mode="clip"), table, d.i(12, 5, low=-3))
    add("take filled", lambda a, n: jnp.take(a, n, 0, mode="fill"), table, d.i(12, 5, low=-3))
    add("take columns", lambda a, n: a[:, n], table, d.i(4, 3))
    add("take pairs", lambda a, n, m: a[n, m], table, d.i(7, 5), d.i(4, 5))
    add("take_along_axis", lambda a, n: jnp.take_along_axis(a, n, 1), table, d.i(4, 7, 2))
    add("take negative", lambda a, n: a[n], table, d.i(7, 5, low=-7))
    add("gather windows", lambda a, n: jax.vmap(
        lambda k: lax.dynamic_slice(a, (k, 1), (2, 3)))(n), table, d.i(7, 4))
    add("vmapped slices", jax.vmap(lambda a, k: lax.dynamic_slice(a, (k,), (3,))),
        d.f(4, 8), d.i(8, 4))
    add("take gradient", lambda a, n: jax.grad(lambda b: (b[n] ** 2).sum())(a), table, ids)
    add("take_along_axis gradient", lambda a, n: jax.grad(
        lambda b: (jnp.take_along_axis(b, n, 1) ** 2).sum())(a), table, d.i(4, 7, 2))
    add("columns gradient", lambda a, n: jax.grad(lambda b: (b[:, n] ** 3).sum())(a), table,
        d.i(4, 3))
    add("scatter add", lambda a, n, b: a.at[n].add(b), table, d.i(7, 5), d.f(5, 4))
    add("scatter add out of range", lambda a, n, b: a.at[n].add(b, mode="drop"), table,
        d.i(12, 5, low=-3), d.f(5, 4))
    add("scatter set", lambda a, n, b: a.at[n].set(b, unique_indices=True), table,
        d.rng.permutation(7)[:5].astype("i"), d.f(5, 4))
    add("scatter set pairs", lambda a, n, m, b: a.at[n, m].set(b), table,
        numpy.arange(5, dtype="i"), d.i(4, 5), d.f(5))
    add("scatter max", lambda a, n, b: a.at[n].max(b), table, d.i(7, 9), d.f(9, 4))
    add("scatter multiply", lambda a, n, b: a.at[n].multiply(b), table, d.i(7, 9), d.f(9, 4))
    add("scatter int add", lambda a, n: a.at[n].add(3), d.i(9, 7), d.i(7, 9))
    add("scatter bool", lambda a, n: a.at[n].set(True), d.b(7), d.i(7, 3))
    add("scatter window", lambda a, b: a.at[2:4, 1:3].set(b), table, d.f(2, 2))
    # Indices of any dimension numbers, inside and outside of the tensor.
    for number, (operand, slices, indices, numbers) in enumerate(
            any_gather(d.rng) for _ in range(24)):
        x_, mode = d.f(*operand), ("clip", "fill")[number % 2]
        dtype = (numpy.int32, numpy.uint32, numpy.int8, numpy.uint8)[number % 4]
        low = -2 if numpy.issubdtype(dtype, numpy.signedinteger) else 0
        ids_ = d.i(max(operand) + 2, *indices, low=low, dtype=dtype)
        add(f"any gather {number}", lambda a, n, g=numbers, k=slices, m=mode: lax.gather(
            a, n, g, k, mode=m), x_, ids_)
        scattered = lax.ScatterDimensionNumbers(
            numbers.offset_dims, numbers.collapsed_slice_dims, numbers.start_index_map,
            numbers.operand_batching_dims, numbers.start_indices_batching_dims)
        shape_ = jax.eval_shape(lambda a, n: lax.gather(a, n, numbers, slices), x_, ids_).shape
        for body, update, name in (
                (lax.scatter, d.f(*shape_), "set"), (lax.scatter_add, d.f(*shape_), "add"),
                (lax.scatter_max, d.f(*shape_), "max"), (lax.scatter_mul, d.f(*shape_), "mul"),
                (lax.scatter, d.i(2 ** 31 - 1, *shape_, low=-2 ** 31), "int set"),
                (lax.scatter_min, d.i(9, *shape_).astype("u4") * 477218588, "uint min"),
                (lax.scatter_max, d.i(9, *shape_).astype("u1") * 30, "uint8 max"),
                (lax.scatter_add, d.i(99, *shape_), "int add"))[number % 2::2]:
            base = (x_ if update.dtype == numpy.float32 else
                    d.i(9, *operand).astype(update.dtype))
            add(f"any scatter {name} {number}", lambda a, n, b, f=body, g=scattered, m=mode: f(
                a, n, b, g, mode=m), base, ids_, update)
        if number % 3 == 0:
            add(f"any gather gradients {number}", lambda a, n, g=numbers, k=slices, m=mode: jax.grad(
                lambda c: (lax.gather(c, n, g, k, mode=m, fill_value=0) ** 2).sum())(a), x_, ids_)
            add(f"any scatter gradients {number}", lambda a, n, b, g=scattered: jax.grad(
                lambda c: (lax.scatter_add(c[0], n, c[1], g, mode="drop") ** 3).sum())((a, b)),
                x_, ids_, d.f(*shape_))
    for name, shape_, count in (("few", (40, 3), 9), ("many", (5, 3), 40)):
        for what, update in (("float", d.f(count, 3)), ("int", d.i(2 ** 31 - 1, count, 3)),
                             ("bool", d.b(count, 3)), ("uint8", d.i(255, count, 3).astype("u1"))):
            for operation in ("set", "max", "multiply", "add")[:2 if what == "bool" else 4]:
                base = update[numpy.arange(shape_[0]) % count]
                add(f"scatter {operation} {what} {name}", lambda a, n, b, o=operation: getattr(
                    a.at[n], o)(b), base, d.i(shape_[0], count), update)
    add("scatter of a function", lambda a, n: a.at[n].apply(lambda v: v * 2 + 1), table, d.i(7, 5))
    add("scatter of a function to unequal rows", lambda a, n: a.at[n].apply(
        jnp.tanh, unique_indices=True), table, d.rng.permutation(7)[:5].astype("i"))
    add("scatter power", lambda a, n: a.at[n].power(2.0), table, d.i(7, 5))
    add("segment_max", lambda a, n: jax.ops.segment_max(a, n, num_segments=9), d.f(20, 3), d.i(7, 20))
    # Of more than 32 updates, and as many rows, some out of range, without updates or of NaN.
    many, ids = numpy.round(d.f(90, 3), 1), d.i(70, 90, low=-3)
    add("segment_prod of many segments", lambda a, n: jax.ops.segment_prod(a, n, num_segments=60),
        many, ids)
    add("scatter multiply to many rows", lambda a, n, b: a.at[n].multiply(b, mode="drop"),
        d.f(120, 3), ids, many)
    for name in "max", "min":
        add(f"scatter {name} to many rows", lambda a, n, b, m=name: getattr(
            a.at[n], m)(b, mode="drop"), numpy.round(d.f(60, 3), 1), ids, many)
        add(f"segment_{name} of many segments", lambda a, n, m=name: getattr(
            jax.ops, f"segment_{m}")(a, n, num_segments=60), many, ids)
        add(f"segment_{name} of NaN", lambda a, n, m=name: getattr(
            jax.ops, f"segment_{m}")(jnp.where(a > 2, jnp.nan, a / 0.0 * 0.5 + a), n,
                                     num_segments=60), many, ids)
    add("segment_min of uint", lambda a, n: jax.ops.segment_min(a, n, num_segments=9),
        d.i(99, 20).astype("u4"), d.i(7, 20))
    add("segment_prod", lambda a, n: jax.ops.segment_prod(a, n, num_segments=9), d.f(20, 3), d.i(7, 20))
    add("bincount", lambda n: jnp.bincount(n, length=7), d.i(7, 20))
    add("one_hot", lambda n: jax.nn.one_hot(n, 7), ids)
    add("dynamic_slice", lambda a, n: lax.dynamic_slice(a, (n, 1), (3, 2)), table, d.i(9, low=-2))
    add("dynamic_update_slice", lambda a, b, n: lax.dynamic_update_slice(a, b, (n, n - 1)),
        table, d.f(3, 2), d.i(5))
    add("dynamic_update_slice of a row", lambda a, b, n: lax.dynamic_update_slice(
        a, b, (n, 0)), table, d.f(1, 4), d.i(5))
    # Sorting.
    add("sort", lambda a: jnp.sort(a, 1), t)
    add("sort descending", lambda a: jnp.sort(a, 0, descending=True), t)
    add("argsort", lambda a: jnp.argsort(jnp.round(a * 2), 2), t)
    add("int sort", lambda a: jnp.sort(a, 1), i)
    add("sort by two keys", lambda a, b, c: lax.sort((a, b, c), num_keys=2), d.i(3, 3, 9),
        d.i(4, 3, 9).astype("f"), d.f(3, 9))
    add("lexsort", lambda a, b: jnp.lexsort((a, b)), d.i(4, 20), numpy.round(d.f(20)))
    add("unique", lambda a: jnp.unique(a, size=9, fill_value=-1), d.i(7, 20))
    add("searchsorted", lambda a, b: jnp.searchsorted(a, b), numpy.sort(d.f(9)), d.f(3, 5))
    for method in ("scan_unrolled", "sort", "compare_all"):
        add(f"searchsorted by {method}", lambda a, b, m=method: jnp.searchsorted(
            a, b, side="right", method=m), numpy.sort(d.f(9)), d.f(3, 5))
    add("digitize", lambda a: jnp.digitize(a, jnp.linspace(-1, 1, 5)), x)
    add("percentile", lambda a: jnp.percentile(a, 37, axis=1), t)
    add("quantile", lambda a: jnp.quantile(a, jnp.array([.1, .5]), axis=0), t)
    add("nanmedian", lambda a: jnp.nanmedian(a, axis=1), numpy.where(d.b(3, 4, 5), t, numpy.nan))
    add("histogram", lambda a: jnp.histogram(a, bins=7, range=(-2, 2))[0], t)
    add("interp", lambda a: jnp.interp(a, jnp.linspace(-1, 1, 7), jnp.linspace(-1, 1, 7) ** 2), x)
    add("partition", lambda a: jnp.partition(a, 2, axis=1)[:, :2].sum(1), t)
    add("top_k", lambda a: lax.top_k(a, 3), t)
    many = numpy.concatenate([numpy.round(d.f(2, 1200) * 20), [[numpy.inf], [numpy.nan]]], 1).astype("f")
    add("sort of many", lambda a: (jnp.sort(a, 1), jnp.argsort(a, 1)), many)
    add("sort of many, descending", lambda a: jnp.argsort(a, 1, descending=True), many)
    add("sort of many uint", lambda a: (jnp.sort(a), jnp.argsort(a)),
        d.rng.integers(0, 2 ** 32, size=1500, dtype=numpy.uint32) % 777)
    add("top_k of many", lambda a: lax.top_k(a, 5), many)
    add("top_k of many int", lambda a: lax.top_k(a, 4), d.i(300, 2, 3000, low=-300))
    add("top_k gradient", lambda a: jax.grad(lambda b: (lax.top_k(b, 3)[0] ** 2).sum())(a), many[:1])
    three = d.i(50, 1500), d.i(9, 1500).astype("f"), d.f(1500)
    add("sort of many by two keys", lambda a, b, c: lax.sort((a, b, c), num_keys=2), *three)
    add("lexsort of many", lambda a, b, c: jnp.lexsort((c > 0, b, a)), *three)
    wide = d.rng.integers(-2 ** 62, 2 ** 62, size=(2, 1100))
    wide[:, 7:900:3] = wide[:, :1]
    add("x64 sort of many", lambda a: (jnp.sort(a), jnp.argsort(a, descending=True)), wide)
    add("x64 sort of many uint", lambda a: jnp.argsort(a.astype(jnp.uint64)), wide)
    add("x64 sort of many doubles", lambda a: (jnp.sort(a), jnp.argsort(a, descending=True)),
        numpy.where(d.rng.random(1300) < 0.01, numpy.nan, d.rng.normal(size=1300)))
    draw("permutation of many", lambda k: random.permutation(k, 9000))
    add("median", lambda a: jnp.median(a, 1), t)
    # Loops and branches.
    add("scan", lambda a, w: lax.scan(
        lambda c, v: (jnp.tanh(c @ w + v), c.sum()), jnp.zeros((2, 4)), a), d.f(6, 2, 4), d.f(4, 4))
    add("reverse scan", lambda a: lax.scan(
        lambda c, v: (c * 0.5 + v, c + v), jnp.zeros(4), a, reverse=True), d.f(6, 4))
    add("scan gradients", lambda a, w: jax.grad(lambda b, u: (lax.scan(
        lambda c, v: (jnp.tanh(c @ u + v), c.sum()), jnp.zeros((2, 4)), b)[1] ** 2).sum(),
        (0, 1))(a, w), d.f(6, 2, 4), d.f(4, 4))
    add("fori_loop", lambda a: lax.fori_loop(0, 5, lambda n, c: c * 0.9 + n, a), x)
    add("fori_loop that slices", lambda a: lax.fori_loop(
        1, 4, lambda n, c: c.at[n].set(c[n - 1] * 2), a), table)
    add("nested scans", lambda a: lax.scan(lambda c, r: (
        lax.scan(lambda e, s: (e + s, e * s), c, r)), jnp.zeros(()), a), d.f(3, 4))
    add("while of a constant", lambda a: lax.while_loop(
        lambda s: s[0] < 7, lambda s: (s[0] + 2, s[1] * 1.5), (0, a)), x)
    add("scan of one", lambda a: lax.scan(lambda c, v: (c + v, c), jnp.zeros(4), a), d.f(1, 4))
    add("cond", lambda c, a: lax.cond(c, jnp.sin, jnp.cos, a), numpy.bool_(False), x)
    add("switch", lambda n, a: lax.switch(n, [jnp.sin, jnp.cos, jnp.tanh], a), d.i(5), x)
    # As long as values say so, and branches that take long.
    add("while of values", lambda a: lax.while_loop(
        lambda s: (jnp.abs(s[0]).sum() > 1) & (s[1] < 40), lambda s: (s[0] * 0.7, s[1] + 1), (a, 0)), x)
    add("while that does not run", lambda a: lax.while_loop(
        lambda s: jnp.isnan(s).any(), lambda s: s + 1, a), x)
    add("fori_loop of a value", lambda n, a: lax.fori_loop(
        0, n, lambda i, c: jnp.sin(c) + i, a), numpy.int32(3), x)
    add("while of examples", jax.vmap(lambda a: lax.while_loop(
        lambda s: s > 0.1, lambda s: s * 0.5, a)), d.f(8))
    add("while in a scan", lambda a: lax.scan(lambda c, v: (lax.while_loop(
        lambda s: jnp.abs(s) > 0.1, lambda s: s * 0.5, c + v), c), jnp.zeros(()), a), d.f(20))
    for taken in (False, True):
        add(f"long branch {taken}", lambda c, a: lax.cond(
            c, lambda a: jnp.linalg.inv(a @ a.T / 48 + 2 * jnp.eye(48)), jnp.cos, a),
            numpy.bool_(taken), d.f(48, 48))
    for branch in range(3):
        add(f"long switch {branch}", lambda n, a: lax.switch(
            n, [lambda a: (a @ a, 0), lambda a: (a, 1), lambda a: (a.T @ a, 2)], a),
            numpy.int32(branch), d.f(48, 48))
    add("long branch in a scan", lambda a, w: lax.scan(lambda c, v: (
        lax.cond(v > 0, lambda c: jnp.tanh(w @ c), lambda c: c * 0.5, c), (c * c).sum()),
        jnp.ones((48, 48)), a), d.f(20), d.f(48, 48) * 0.1)
    add("gammainc", lambda a, b: jax.scipy.special.gammainc(jnp.exp(a), jnp.exp(b)), d.f(40), d.f(40))
    add("map", lambda a: lax.map(lambda v: jnp.sort(v), a), x)
    add("remat", lambda a: jax.grad(lambda b: jax.checkpoint(
        lambda c: jnp.sin(jnp.sin(c)))(b).sum())(a), x)
    add("associative_scan", lambda a: lax.associative_scan(jnp.multiply, a, axis=1), d.f(3, 8))
    # Layers.
    add("softmax", jax.nn.softmax, x)
    add("log_softmax", jax.nn.log_softmax, x)
    for name in ("gelu", "silu", "relu", "elu", "softplus", "leaky_relu", "relu6", "selu",
                 "hard_swish", "mish"):
        add(name, getattr(jax.nn, name), x * 3)
    add("gelu exact", lambda a: jax.nn.gelu(a, approximate=False), x * 3)
    add("attention", lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
        d.f(2, 6, 2, 4), d.f(2, 6, 2, 4), d.f(2, 6, 2, 4))
    # Complex numbers, of which the parts go in and come out.
    def add_complex(name, function, *shapes, start=0.0):
        parts = [d.f(*shape) + start for shape in shapes for _ in range(2)]

        def of_parts(*parts):
            result = function(*(lax.complex(a, b) for a, b in zip(parts[::2], parts[1::2])))
            return (result.real, result.imag) if jnp.iscomplexobj(result) else result
        add(name, of_parts, *parts)
        # Of a sum of squares that weighs each.
        add(f"{name} gradient", lambda *parts: jax.grad(lambda xs: sum(
            jnp.sum(y ** 2 * jnp.sin(jnp.arange(1.0, 1 + y.size).reshape(y.shape) + n))
            for n, y in enumerate(jax.tree.leaves(of_parts(*xs)))))(parts), *parts)

    for name in ("add", "subtract", "multiply", "divide"):
        add_complex(f"complex {name}", getattr(jnp, name), (3, 5), (3, 5), start=2.0)
    for name in ("negative", "exp", "abs", "angle", "conj", "square", "log", "sqrt"):
        add_complex(f"complex {name}", getattr(jnp, name), (3, 5), start=2.0)
    for power in 0, 3, 0.5, -1.5, 1 - 2j:
        add_complex(f"complex power {power}", lambda z, p=power: z ** p, (3, 5), start=2.0)
    # An exponent for each element, and what is 0.
    add_complex("complex powers", lambda z: z[:, None] ** jnp.arange(4), (3,), start=2.0)
    zeros = numpy.float32([0, 0, 1, -4, -4, 0]), numpy.float32([0, -0.0, 0, 0, -0.0, -2])
    add("complex power of 0", lambda a, b: [(z.real, z.imag) for z in (
        lax.complex(a, b) ** 0.5, lax.complex(a, b) ** 0.0, jnp.sqrt(lax.complex(a, b + 0)))],
        *zeros)
    add("complex angle of 0", lambda a, b: (
        jnp.angle(lax.complex(a, b)), jnp.arctan2(a, b), jnp.arctan2(b, a)), *zeros)
    add("complex equal", lambda a, b: (lax.complex(a, b) == lax.complex(b, a),
                                       lax.complex(a, b) != lax.complex(a, -b)),
        numpy.float32([1, 2, 3, 0]), numpy.float32([1, 3, 3, 0]))
    add_complex("complex matmul", jnp.matmul, (3, 4), (4, 5))
    add_complex("complex einsum", lambda a, b: jnp.einsum("bixy,ioxy->boxy", a, b),
                (2, 3, 4, 2), (3, 5, 4, 2))
    add_complex("complex moves", lambda z: jnp.concatenate(
        [z.T[::2], jnp.pad(z, 1)[:3, :3], jnp.flip(z)[:, :3] * (1 - 2j)]), (3, 5))
    add_complex("complex sum", lambda z: jnp.sum(z, 1) + jnp.mean(z), (3, 5))
    for size in 1, 2, 7:
        add_complex(f"complex prod {size}", lambda z: jnp.prod(z, 0), (size, 3))
    add_complex("complex cumsum", lambda z: jnp.cumsum(z, 0), (7, 3))
    add_complex("complex add at", lambda z, w: z.at[jnp.array([1, 1, 2])].add(w), (4, 5), (3, 5))
    add_complex("complex where", lambda z: jnp.where(z.real > 2, z, 1j), (3, 5), start=2.0)
    add_complex("complex update", lambda z, w: z.at[1:3, :2].set(w), (4, 5), (2, 2))
    add_complex("complex take", lambda z: z[jnp.array([2, 0, 2])], (4, 5))
    for shape in ((1, 1), (5, 5), (2, 3, 8, 8), (70, 70)):
        m = d.f(*shape)
        size = shape[-1]
        m = (m @ m.swapaxes(-1, -2) / size + numpy.eye(size)).astype("f")
        b = d.f(*shape[:-1], 3)
        add(f"cholesky {shape}", lambda a: (jnp.linalg.cholesky(a), jnp.linalg.cholesky(
            a, upper=True)), m)
        add(f"lu {shape}", lax.linalg.lu, m[..., ::-1].copy())
        add(f"slogdet {shape}", jnp.linalg.slogdet, m[..., ::-1].copy())
        add(f"solve {shape}", lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a)), m, b)
        for left, lower, turned, unit in itertools.product((False, True), repeat=4):
            add(f"triangular_solve {shape} {left} {lower} {turned} {unit}",
                lambda a, b, left=left, lower=lower, turned=turned, unit=unit:
                lax.linalg.triangular_solve(a, b if left else b.mT, left_side=left, lower=lower,
                                            transpose_a=turned, unit_diagonal=unit), m, b)
        # Of eigenvectors and singular vectors only what their signs do not change.
        def rebuilt(a):
            values, vectors = jnp.linalg.eigh(a)
            return values, (vectors * jnp.exp(-values)[..., None, :]) @ vectors.mT
        add(f"eigh {shape}", rebuilt, m)
        add(f"eigh upper {shape}", lambda a: lax.linalg.eigh(
            a, lower=False, symmetrize_input=False)[1], (numpy.triu(m) - numpy.tril(m, -1)))
    for shape in (1, 1), (5, 3), (3, 5), (2, 3, 6, 4), (70, 40):
        m = d.f(*shape)
        add(f"qr {shape}", jnp.linalg.qr, m)
        add(f"qr complete {shape}", lambda a: jnp.linalg.qr(a, mode="complete"), m)
        add(f"svd {shape}", lambda a: (
            (usv := jnp.linalg.svd(a, full_matrices=False))[1], (usv[0] * usv[1][..., None, :]) @ usv[2],
            usv[0] @ usv[2], jnp.linalg.svd(a, compute_uv=False)), m)
    m = d.f(5, 4)
    m[:, 1], m[2:, 2] = m[:, 0], 0
    add("qr of dependent columns", lambda a: jnp.matmul(*jnp.linalg.qr(a)), m)
    add("svd of dependent columns", lambda a: jnp.linalg.svd(a, full_matrices=False)[1], m)
    add("eigh of equal values", lambda a: jnp.linalg.eigh(a), numpy.eye(6, dtype="f") * 2)
    add("complex of real", lambda a: (a + 0j).imag + (a * 1j).imag, x)
    # A loop over what is complex, with slices and results of each step, also backwards.
    add_complex("complex scan", lambda w, z: lax.scan(
        lambda c, v: (c * w + v, c.imag * v), 0 * w, z)[1], (5,), (4, 5))
    add_complex("complex reverse scan", lambda w, z: lax.scan(
        lambda c, v: (c * w + v, c * v), w, z, reverse=True)[1], (5,), (4, 5))
    add_complex("complex carry", lambda w: lax.fori_loop(
        0, 12, lambda _, c: c * w + 1j, w), (5,))
    add_complex("complex cond", lambda w, z: lax.cond(
        w.real.sum() > 0, lambda w: w * z, lambda w: w.conj(), w), (5,), (5,))
    add_complex("complex associative_scan", lambda a, b: lax.associative_scan(
        lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b))[1], (7, 3), (7, 3))
    for name in ("fft", "ifft"):
        for size in (8, 15, 131, 240):
            add_complex(f"complex {name} {size}", getattr(jnp.fft, name), (2, size))
    for size in (9, 16, 150):
        add_complex(f"complex irfft {size}", lambda z, n=size: jnp.fft.irfft(z, n=n),
                    (2, size // 2 + 1))
        add(f"complex rfft {size}", lambda a: (jnp.fft.rfft(a).real, jnp.fft.rfft(a).imag),
            d.f(2, size))
        add(f"complex rfft gradient {size}", gradients(
            lambda a: jnp.abs(jnp.fft.rfft(a, norm="ortho"))), d.f(2, size))
    add_complex("complex fftn", lambda z: jnp.fft.fftn(z, axes=(0, 2)), (3, 4, 5))
    add_complex("complex irfftn", lambda z: jnp.fft.irfftn(z, s=(4, 6), axes=(1, 2)), (3, 4, 4))
    add("complex rfft2", lambda a: (jnp.fft.rfft2(a).real, jnp.fft.rfft2(a).imag), d.f(2, 6, 9))
    add_complex("complex fftshift", jnp.fft.fftshift, (3, 5))
    return found
