"""Cases of optimizer state in 8 bits: codes by a search in the code book's table, and
rounding by linear interpolation in it, both in f64."""

import numpy as np

from case import INF, NAN, Case

# How far from the middle of two codes, or from the bits that decide, numbers of these cases
# stay, in distances of codes: the op finds a number's place in f32, up to 2^-14.
MARGIN = 2.0**-13


def code_book(nonnegative):
    """The numbers of the codes 0 to 255, ascending, in f64: the paper's rule."""
    numbers = [0.0, 1.0]
    for decade in range(7):
        parts = 2 ** (decade + 1 if nonnegative else decade)
        middles = 10.0 ** (decade - 6) * (0.1 + 0.9 * (np.arange(parts) + 0.5) / parts)
        numbers += list(middles) + ([] if nonnegative else list(-middles))
    return np.sort(np.array(numbers))


def places(x, book):
    return np.interp(x, book, np.arange(256.0))


def keep_decided(x, book, offset):
    """Numbers of `x` whose code does not depend on the last bits of f32."""
    fraction = (abs(places(x, book) - np.searchsorted(book, 0.0)) + offset) % 1.0
    return x[(fraction > MARGIN) & (fraction < 1 - MARGIN)]


def encode(x, book, offset):
    """Of a magnitude: the sign goes with the code, so rounding is away from or towards zero."""
    zero = np.searchsorted(book, 0.0)
    limit = np.where(x < 0, zero, 255 - zero)
    place = np.floor(np.abs(places(x, book) - zero) + offset)
    # What is not negative, but above zero, gets no zero.
    return zero + np.where(x < 0, -1, 1) * np.clip(place, (x > 0) & (zero == 0), limit)


def as_i8(codes):
    return ("i8", np.asarray(codes).astype(np.uint8).view(np.int8).astype(np.int64))


def flag(nonnegative):
    return "nonnegative" if nonnegative else ""


def block_cases(random, shape, size, nonnegative, drawn):
    book = code_book(nonnegative)
    x = np.float32(random("f32", shape)[1] * 10.0 ** random("f32", shape, -6, 0)[1])
    x = abs(x) if nonnegative else x
    bits = random.rng.integers(0, 65536, shape) if drawn else np.full(shape, 32768)
    count = -(-x.size // size)
    padded = np.zeros(count * size, np.float32)
    padded[: x.size] = abs(x.reshape(-1))
    absmax = padded.reshape(count, size).max(1)
    spread = np.repeat(absmax, size)[: x.size].reshape(shape)
    y = np.float64(x) * np.float64(np.float32(1) / spread)
    zero = np.searchsorted(book, 0.0)
    fraction = (abs(places(y, book) - zero) + bits / 65536) % 1.0
    x = np.where((fraction > MARGIN) & (fraction < 1 - MARGIN) | (abs(x) == spread), x, 0)
    y = np.float64(np.float32(x)) * np.float64(np.float32(1) / spread)
    codes = encode(y, book, bits / 65536)
    inputs = [("f32", np.float32(x))]
    if drawn:
        inputs.append(("i16", np.where(bits >= 32768, bits - 65536, bits)))
    attributes = f"block_size = {size} : i64" + (", nonnegative" if nonnegative else "")
    yield Case("quantize_blockwise", inputs, [as_i8(codes), ("f32", absmax)], attributes, error=0)
    # The table's numbers are f32, and so is the product.
    numbers = book[np.int64(codes)] * spread
    case = Case("dequantize_blockwise", [as_i8(codes), ("f32", absmax)], [("f32", numbers)], attributes)
    case.scale = lambda i, case=case: case.error(i) * 2.0**-24 / 1e-13
    yield case


def optimizer_state_cases(random):
    for nonnegative in (False, True):
        book = code_book(nonnegative)
        codes = np.arange(256)
        case = Case("dynamic_value", [as_i8(codes)], [("f32", book)], flag(nonnegative))
        case.scale = lambda i, case=case: case.error(i) * 2.0**-24 / 1e-13
        yield case
        # The code of each number is its own, and so is that of numbers near it.
        ends = np.array([1.0, 0.0, 2.0, INF, NAN] + ([] if nonnegative else [-1.0, -3.0, -INF]))
        want = np.concatenate([codes, [255, 0 if nonnegative else 127, 255, 255, 255], [] if nonnegative else [0, 0, 0]])
        yield Case("dynamic_code", [("f32", np.float32(np.concatenate([book, ends])))], [as_i8(want)], flag(nonnegative))
        x = np.float32(10.0 ** random("f32", (4000,), -8, 0)[1] * (1 if nonnegative else random.rng.choice([-1, 1], 4000)))
        x = keep_decided(x, book, 0.5)
        nearest = np.argmin(abs(x[:, None] - book), 1)
        if nonnegative:
            nearest = np.maximum(nearest, 1)
        decided = np.sort(abs(x[:, None] - book), 1)
        clear = decided[:, 1] - decided[:, 0] > MARGIN * (decided[:, 0] + decided[:, 1])
        yield Case("dynamic_code", [("f32", x[clear])], [as_i8(nearest[clear])], flag(nonnegative))
        # All offsets: the mean of the codes' numbers is x.
        offsets = np.arange(65536) / 65536
        x = np.float32(0.345)
        place = abs(places(float(x), book) - np.searchsorted(book, 0.0))
        offsets = offsets[abs((place + offsets + 0.5) % 1.0 - 0.5) > MARGIN]
        want = encode(np.full(offsets.shape, float(x)), book, offsets)
        assert abs(book[np.int64(want)].mean() - x) < 1e-5
        yield Case("dynamic_code", [("f32", np.full(offsets.shape, x)), ("f32", offsets)], [as_i8(want)], flag(nonnegative))
        # The ends of the book stay with every offset, also if f32 rounds the sum up.
        offsets = np.array([0, 1, 32768, 65535]) / 65536
        for end, code in [(1.0, 255)] + ([] if nonnegative else [(-1.0, 0)]):
            inputs = [("f32", np.full(4, end)), ("f32", offsets)]
            yield Case("dynamic_code", inputs, [as_i8(np.full(4, code))], flag(nonnegative))
        for drawn in (False, True):
            yield from block_cases(random, (8, 64), 64, nonnegative, drawn)
            yield from block_cases(random, (3, 5, 7), 64, nonnegative, drawn)
            yield from block_cases(random, (10,), 256, nonnegative, drawn)
    # Blocks of zeros, of numbers whose reciprocal is infinite, and with no number.
    x = np.zeros((5, 4), np.float32)
    x[1], x[2], x[3], x[4] = 1e-39, [1e-38, -1.2e-38, 0, 1.2e-38], [1, NAN, 0, 2], [INF, 1, 0, 0]
    codes = np.full((5, 4), 127)
    tiny = np.float32(1.2e-38)
    codes[2] = [np.argmin(abs(code_book(False) - v)) for v in (1e-38 / tiny, -0.99, 0.0, 1.0)]
    codes[3] = [127, 255, 127, 127]
    codes[4] = [255, 127, 127, 127]
    yield Case("quantize_blockwise", [("f32", x)], [as_i8(codes), ("f32", np.float32([0, 1e-39, tiny, NAN, INF]))],
               "block_size = 4 : i64", error=0)
    yield Case("quantize_blockwise", [("f32", np.zeros((0, 3)))], [as_i8(np.zeros((0, 3))), ("f32", np.zeros(0))], "block_size = 4 : i64")
