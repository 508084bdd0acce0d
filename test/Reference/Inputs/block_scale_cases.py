"""Cases of 8-bit floats scaled by blocks, computed in f32 as the ops say."""

import numpy as np

from case import INF, NAN, Case, i64s
from storage import TYPES

LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0}
RULES = ("largest", "power_of_two", "ocp_mx")


def scale_of(amax, rule, format):
    """What mpt.block_scale gives, in f32."""
    amax, largest = np.asarray(amax, np.float32), np.float32(LARGEST[format])
    if rule == "ocp_mx":
        _, exponent = np.frexp(amax.astype(np.float64))
        _, top = np.frexp(np.float64(largest))
        scale = np.ldexp(1.0, np.maximum(exponent - top, -127))
    else:
        scale = np.maximum(amax / largest, np.float32(2.0**-126)).astype(np.float64)
        if rule == "power_of_two":
            fraction, exponent = np.frexp(scale)
            scale = np.ldexp(1.0, np.where(fraction == 0.5, exponent - 1, exponent))
    return np.where(np.isfinite(amax), np.where(amax > 0, scale, 1.0), np.nan).astype(np.float32)


def spread(scales, block, shape):
    """The scale of each element of a tensor of that shape."""
    wide = np.repeat(np.repeat(scales, block[0], -2), block[1], -1)
    return wide[..., : shape[-2], : shape[-1]]


def quantize(x, block, rule, format):
    """(q, scales); q is not yet rounded to its type."""
    x = np.asarray(x, np.float32)
    (rows, columns), (height, width) = block, x.shape[-2:]
    p, q = -(-height // rows), -(-width // columns)
    padded = np.zeros(x.shape[:-2] + (p * rows, q * columns), np.float32)
    padded[..., :height, :width] = abs(x)
    amax = padded.reshape(x.shape[:-2] + (p, rows, q, columns)).max((-3, -1), initial=0)
    scales = scale_of(np.where(np.isfinite(amax), amax, np.nan), rule, format)
    scaled = x / spread(scales, block, x.shape)
    return np.clip(scaled, -LARGEST[format], LARGEST[format]), scales


def name(rule):
    return f"rule = #mpt.scale_rule<{rule}>"


def wild(random, shape):
    """Numbers of many magnitudes, some zero."""
    x = random("f32", shape)[1] * np.exp2(random("f32", shape)[1] * 12)
    return np.float32(np.where(random.bools(shape)[1], x, 0) if np.size(x) else x)


def block_scale_cases(random):
    amax = np.float32([0, 1, 2, 3, 448, 449, 447.99, 256, 511, 57344, 6e4, 3e38, 1e-38, 2.0**-120,
                       2.0**-126, 1e-44, 1.75 * 2.0**-118, 1.76 * 2.0**-118, INF, NAN])
    for format in LARGEST:
        for rule in RULES:
            yield Case("block_scale", [("f32", amax)], [("f32", scale_of(amax, rule, format))],
                       f"format = {format}, {name(rule)}", error=0)
    blocks = (1, 4), (4, 1), (4, 4), (1, 1), (3, 5), (1, 128), (128, 128)
    special = wild(random, (9, 11))
    special[0, 0], special[4, 5], special[8] = NAN, -INF, 0
    inputs = [wild(random, (8, 12)), wild(random, (2, 3, 5, 7)), special]
    for format in LARGEST:
        for rule in RULES:
            for block in blocks if format == "f8E4M3FN" else ((1, 4), (3, 5)):
                for x in inputs:
                    q, scales = quantize(x, block, rule, format)
                    attributes = f"block = {i64s(list(block))}"
                    yield Case("quantize", [("f32", x)], [(format, q), ("f32", scales)],
                               attributes + ", " + name(rule), error=0)
                    q = TYPES[format].round(q)
                    y = np.float32(q) * spread(scales, block, x.shape)
                    yield Case("dequantize", [(format, q), ("f32", scales)], [("f32", y)], attributes, error=0)
    for type in "bf16", "f16":
        x = TYPES[type].round(random(type, (6, 10))[1])
        q, scales = quantize(x, (1, 4), "power_of_two", "f8E4M3FN")
        yield Case("quantize", [(type, x)], [("f8E4M3FN", q), ("f32", scales)],
                   "block = array<i64: 1, 4>, " + name("power_of_two"), error=0)
        q = TYPES["f8E4M3FN"].round(q)
        y = np.float32(q) * spread(scales, (1, 4), x.shape)
        yield Case("dequantize", [("f8E4M3FN", q), ("f32", scales)], [(type, y)], "block = array<i64: 1, 4>", error=0)
    # Stored scales of f8E4M3FN: rounded, and between the ends of the type.
    e4m3 = TYPES["f8E4M3FN"]
    x = wild(random, (6, 40)) * np.float32(300)
    _, scales = quantize(x, (1, 16), "largest", "f8E4M3FN")
    scales = np.where(abs(np.pad(x, ((0, 0), (0, 8)))).reshape(6, 3, 16).max(2) > 0,
                      e4m3.round(np.clip(np.float64(scales), 2.0**-9, 448)), 1)
    q = np.clip(x / spread(np.float32(scales), (1, 16), x.shape), -448, 448)
    yield Case("quantize", [("f32", x)], [("f8E4M3FN", q), ("f8E4M3FN", scales)], "block = array<i64: 1, 16>", error=0)
    y = np.float32(e4m3.round(q)) * spread(np.float32(scales), (1, 16), x.shape)
    yield Case("dequantize", [("f8E4M3FN", e4m3.round(q)), ("f8E4M3FN", scales)], [("f32", y)], "block = array<i64: 1, 16>", error=0)
    amax = np.float32([0, 1, 1e-4, 447, 3e5, 1e6, 100.3])
    want = np.where(amax > 0, e4m3.round(np.clip(np.float64(amax / np.float32(448)), 2.0**-9, 448)), 1)
    yield Case("block_scale", [("f32", amax)], [("f8E4M3FN", want)], "format = f8E4M3FN", error=0)
    for shape in (0, 8), (8, 0):
        x = np.zeros(shape, np.float32)
        q, scales = quantize(x, (4, 4), "largest", "f8E4M3FN")
        yield Case("quantize", [("f32", x)], [("f8E4M3FN", q), ("f32", scales)], "block = array<i64: 4, 4>", error=0)


def scaled_matmul_cases(random):
    def operand(rows, columns, block, format):
        shape = (-(-rows // block[0]), -(-columns // block[1]))
        return random(format, (rows, columns)), ("f32", np.float32(np.exp2(random("f32", shape)[1] * 4)))

    m, k, n = 5, 11, 7
    for tl in (False, True):
        for tr in (False, True):
            for lhs, rhs, promotion in (
                ((1, 4), (4, 4), 4), ((1, 4), (1, 4), 4), ((1, 2), (4, 4), 4), ((1, 2), (1, 2), 4), ((1, 8), (8, 8), 4),
                ((1, 4), (4, 4), 0), ((1, 16), (3, 16), 0), ((1, 16), (3, 16), 16), ((1, 1), (1, 1), 1),
            ):
                # The second number of a block lies along K.
                lhs_block, rhs_block = lhs[:: -1 if tl else 1], rhs[:: 1 if tr else -1]
                a, sa = operand(*((k, m) if tl else (m, k)), lhs_block, "f8E4M3FN")
                b, sb = operand(*((n, k) if tr else (k, n)), rhs_block, "f8E5M2" if promotion == 1 else "f8E4M3FN")
                left = a[1] * spread(sa[1], lhs_block, a[1].shape).astype(np.float64)
                right = b[1] * spread(sb[1], rhs_block, b[1].shape).astype(np.float64)
                left, right = left.T if tl else left, right.T if tr else right
                flags = "".join(f", {f}" for f, on in (("transpose_lhs", tl), ("transpose_rhs", tr)) if on)
                attributes = (f"lhs_block = {i64s(list(lhs_block))}, rhs_block = {i64s(list(rhs_block))}, "
                              f"promotion = {promotion} : i64{flags}")
                case = Case("scaled_matmul", [a, sa, b, sb], [("f32", left @ right)], attributes,
                            error=(k + 4) * (abs(left) @ abs(right)))
                # The reference rounds each segment's sum.
                case.scale = lambda i, case=case: case.error(i) * 2.0**-24 / 1e-13
                yield case
    # Sums in ascending order of K lose the one; the exact sum, or another order, has it.
    ones, signs = ("f8E4M3FN", np.ones((1, 3))), ("f8E4M3FN", np.array([[1.0], [1.0], [-1.0]]))
    scales, units = ("f32", np.float32([[2.0**25, 1, 2.0**25]])), ("f32", np.ones((3, 1), np.float32))
    attributes = "lhs_block = array<i64: 1, 1>, rhs_block = array<i64: 1, 1>, promotion = 1 : i64"
    yield Case("scaled_matmul", [ones, scales, signs, units], [("f32", np.zeros((1, 1)))], attributes, error=0)
    a, b = ("f8E4M3FN", np.zeros((3, 0))), ("f8E4M3FN", np.zeros((0, 4)))
    sa, sb = ("f32", np.zeros((3, 0), np.float32)), ("f32", np.zeros((0, 4), np.float32))
    yield Case("scaled_matmul", [a, sa, b, sb], [("f32", np.zeros((3, 4)))],
               "lhs_block = array<i64: 1, 2>, rhs_block = array<i64: 2, 1>", error=0)


def lay_out(scales, scaling):
    """Scales of blocks as cuBLASLt wants them."""
    if scaling == "vec128_32f":
        return np.ascontiguousarray(scales.T).ravel()
    return np.pad(scales, ((0, 0), (0, -scales.shape[1] % 4))).ravel()


def tile_scales(scales):
    """Scales of blocks in tiles of 128 rows and 4 blocks, filled up with zeros."""
    rows, blocks = (-(-size // step) * step for size, step in zip(scales.shape, (128, 4)))
    padded = np.zeros((rows, blocks))
    padded[:scales.shape[0], :scales.shape[1]] = scales
    return padded.reshape(rows // 128, 4, 32, blocks // 4, 4).transpose(0, 3, 2, 1, 4).ravel()


def amax_of_tiles(x):
    return np.float32([[np.abs(x[i:i + 128, j:j + 128]).max() for j in range(0, x.shape[1], 128)]
                       for i in range(0, x.shape[0], 128)])


def gemm_tensor_cases(random):
    """One scale for a tensor; and numbers of four bits, two in a byte."""
    x = wild(random, (144, 272))
    x[3, 5], x[130, 7], x[2, 200] = np.inf, -np.inf, np.nan
    for format, largest in ("f8E4M3FN", 448.0), ("f8E5M2", 57344.0):
        for via in None, "bf16":
            numbers = TYPES[via].round(x) if via else x
            with np.errstate(invalid="ignore", over="ignore"):
                q = np.clip(np.float32(np.float32(numbers) * np.float32(3.7)), -largest, largest)
            q = np.where(np.isfinite(numbers), q, numbers)
            wanted = [(format, q), (format, np.ascontiguousarray(q.T)), ("f32", amax_of_tiles(numbers))]
            yield Case("gemm_quantize", [("f32", x), ("f32", np.float32(3.7))], wanted,
                       "block = array<i64: 0, 0>, scaling = #mpt.gemm_scaling<none>, resultSegmentSizes = "
                       "array<i32: 1, 0, 1, 0, 1>" + (f", via = {via}" if via else ""),
                       "{} factor({}) {attributes}", error=0)
    turned = TYPES["f8E5M2"].round(wild(random, (32, 48)))
    yield Case("gemm_quantize", [("f8E5M2", turned)], [("f8E5M2", np.ascontiguousarray(turned.T))],
               "block = array<i64: 0, 0>, scaling = #mpt.gemm_scaling<none>, resultSegmentSizes = array<i32: 0, 0, 1, 0, 0>",
               "{} {attributes}", error=0)
    # The factor 1/4 changes no digit.
    x = wild(random, (160, 96))
    x[5], x[7] = 0, 1e-6
    ties = np.float32([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
    wanted = []
    for one in np.float32(x / 4), np.ascontiguousarray(np.float32(x.T / 4)):
        amax = abs(one).reshape(one.shape[0], -1, 16).max(2)
        scales = TYPES["f8E4M3FN"].round(np.clip(np.float64(amax / np.float32(6)), 2.0**-9, 448))
        scales = np.where(amax > 0, scales, 1)
        scaled = one / spread(np.float32(scales), (1, 16), one.shape)
        codes = np.searchsorted(ties, abs(scaled))
        # Of two numbers as near, the even one.
        codes += (codes % 2 == 1) & (abs(scaled) == ties[np.minimum(codes, 6)])
        codes |= np.signbit(scaled) * 8
        packed = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8).astype(np.int8)
        wanted += [("i8", packed), ("f8E4M3FN", tile_scales(scales))]
    attributes = "block = array<i64: 1, 16>, scaling = #mpt.gemm_scaling<vec16_ue4m3>, rule = #mpt.scale_rule<largest>, "
    yield Case("gemm_quantize", [("f32", x), ("f32", np.float32(0.25))], wanted,
               attributes + "resultSegmentSizes = array<i32: 1, 1, 1, 1, 0>", "{} factor({}) {attributes}", error=0)


def gemm_scale_cases(random):
    """Operands of cuBLASLt's matmuls, both ways round, and the matmuls."""
    rounded = TYPES["f8E4M3FN"].round
    for scaling, block in ("vec128_32f", (1, 128)), ("blk128x128_32f", (128, 128)):
        for rule in "power_of_two", "largest":
            attributes = f"block = {i64s(list(block))}, scaling = #mpt.gemm_scaling<{scaling}>, {name(rule)}"

            def sides(x):
                made = []
                for one in (x, np.ascontiguousarray(x.T)):
                    q, scales = quantize(one, block, rule, "f8E4M3FN")
                    made += [("f8E4M3FN", q), ("f32", lay_out(scales, scaling))]
                return made

            x = wild(random, (48, 272))
            both = sides(x)
            for segments, wanted in ("1, 1, 1, 1, 0", both), ("1, 1, 0, 0, 0", both[:2]), ("0, 0, 1, 1, 0", both[2:]):
                yield Case("gemm_quantize", [("f32", x)], wanted,
                           f"{attributes}, resultSegmentSizes = array<i32: {segments}>", "{} {attributes}", error=0)
            # From 8-bit rows.
            q, scales = quantize(x, block, rule, "f8E4M3FN")
            q = rounded(q)
            numbers = np.float32(q) * spread(scales, block, q.shape)
            yield Case("gemm_quantize", [("f8E4M3FN", q), ("f32", lay_out(scales, scaling))], sides(numbers)[2:],
                       f"{attributes}, resultSegmentSizes = array<i32: 0, 0, 1, 1, 0>", "{} scales({}) {attributes}", error=0)
            # By 1x128 blocks, as cuBLASLt has no square by square.
            w = wild(random, (32, 272))
            p, others = quantize(w, (1, 128), rule, "f8E4M3FN")
            p = rounded(p)
            right = np.float32(p) * spread(others, (1, 128), p.shape).astype(np.float64)
            left = np.float32(q) * spread(scales, block, q.shape).astype(np.float64)
            case = Case("gemm", [("f8E4M3FN", q), ("f8E4M3FN", p), ("f32", lay_out(scales, scaling)),
                                 ("f32", lay_out(others, "vec128_32f"))], [("f32", left @ right.T)],
                        f"lhs_scaling = #mpt.gemm_scaling<{scaling}>, rhs_scaling = #mpt.gemm_scaling<vec128_32f>, "
                        "transpose_rhs, resultSegmentSizes = array<i32: 1, 0, 0>",
                        "{}, {} lhs_scales({}) rhs_scales({}) {attributes}",
                        error=(272 + 4) * (abs(left) @ abs(right.T)))
            case.scale = lambda i, case=case: case.error(i) * 2.0**-24 / 1e-13
            yield case
