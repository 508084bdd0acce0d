# Holds what the fp8 example wrote to a second implementation, step by step:
#   check_fp8.py data FOLDER STEPS            writes x-K.npy and t-K.npy
#   check_fp8.py check ROUNDING RECIPE ALGORITHM HISTORY MARGIN STEPS ENGINE
# Numbers of 8 bits, scales, histories, gradients given y, and the update given dw are
# compared bit for bit, products with their bound. ROUNDING is `own` (nearest of all 256
# numbers) or `ml_dtypes`.
import json
import struct
import sys

import numpy

ROWS, INPUTS, OUTPUTS, LR = 64, 48, 32, numpy.float32(0.1)
# Of x, step by step: growing beyond what the history knows, falling, zero, huge.
FACTORS = [1, 1, 8, 64, 1, 1e-3, 1e-3, 0, 1, 1e-42, 0.5e38]
LARGEST = {"e4m3": numpy.float32(448), "e5m2": numpy.float32(57344)}
EPSILON = 2.0 ** -24


def table(kind):
    """The numbers of codes 0 to 127, by the formats' definition (OCP OFP8, 2023)."""
    bits, bias = (3, 7) if kind == "e4m3" else (2, 15)
    numbers = []
    for code in range(128):
        exponent, mantissa = code >> bits, code & ((1 << bits) - 1)
        numbers.append((mantissa + (exponent > 0) * 2.0 ** bits) * 2.0 ** (max(exponent, 1) - bias - bits))
    last = 127 if kind == "e4m3" else 124  # NaN; infinity and NaN
    return numpy.asarray(numbers[:last])


def encode(values, kind, rounding):
    """Codes of saturated f32 values."""
    if rounding == "ml_dtypes":
        import ml_dtypes
        narrow = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}[kind]
        return values.astype(narrow).view(numpy.uint8)
    numbers = table(kind)
    distance = abs(numbers - abs(values.astype(numpy.float64))[..., None])
    # Of two that are equally near, the even code.
    code = (distance + (numpy.arange(len(numbers)) % 2) * 1e-300).argmin(-1)
    tie = (distance == distance.min(-1, keepdims=True)).sum(-1) == 2
    code = numpy.where(tie & (code % 2 == 1), code + 1, code)
    return (code | (numpy.signbit(values) << 7)).astype(numpy.uint8)


def decode(codes, kind):
    numbers = numpy.concatenate([table(kind), [numpy.nan] * 4])
    return numpy.where(codes > 127, -1, 1) * numbers[codes & 127]


def tensors(path):
    types = {"F32": "<f4", "I64": "<i8", "F8_E4M3": "u1", "F8_E5M2": "u1"}
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = numpy.frombuffer(data[8 + length + begin:8 + length + end],
                                           types[entry["dtype"]]).reshape(entry["shape"])
    return found


def next_scale(amax, largest, otherwise, margin):
    """transformer_engine.pytorch.fp8, _default_sf_compute, in f32."""
    with numpy.errstate(divide="ignore", over="ignore"):
        scale = largest / amax / numpy.float32(2.0 ** margin)
    if not (amax > 0 and numpy.isfinite(amax)):
        return otherwise
    return numpy.finfo(numpy.float32).max if numpy.isinf(scale) else scale


def same(what, found, expected):
    found, expected = numpy.asarray(found), numpy.asarray(expected)
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes(), (what, found, expected)


def check_product(what, found, a, b, scales):
    with numpy.errstate(over="ignore"):
        exact = a @ b / scales[0] / scales[1]
        size = abs(a) @ abs(b) / scales[0] / scales[1]
    # A sum of as many products, then two divisions; the last may give no normal number.
    bound = 1.01 * (a.shape[1] + 2) * EPSILON * size + 2.0 ** -149
    # Also after the first division.
    most = numpy.maximum(abs(exact) + bound, 1.01 * abs(a @ b / scales[0]))
    fits = most < numpy.finfo(numpy.float32).max
    assert (abs(found - exact) <= bound)[fits].all(), (what, abs(found - exact)[fits].max())
    assert fits.all() or numpy.isinf(found[~fits]).any(), what


def check(rounding, recipe, algorithm, history, margin, steps, engine):
    saturated, kept = 0, 0
    before = None
    for step in range(1, steps + 1):
        after = tensors(f"{engine}-{step}.safetensors")
        x, t = numpy.load(f"x-{step}.npy"), numpy.load(f"t-{step}.npy")
        values, scales = {}, {}
        for name, kind, value in (("x8", "e4m3", x), ("w8", "e4m3", before and before["w"]),
                                  ("dy8", "e5m2", after["dy"])):
            largest = LARGEST[kind]
            values[name] = decode(after[name + ".f8"], kind)
            if value is None:  # The first w is not known.
                scales[name] = after[name + ".scale"] if recipe == "current" else numpy.float32(1)
                continue
            amax = abs(value).max()
            if recipe == "current":
                scale = next_scale(amax, largest, numpy.float32(1), margin)
                same(name + ".scale", after[name + ".scale"], numpy.float32(scale))
            else:
                scale = before[name + ".scale"] if before else numpy.float32(1)
                old = before[name + ".amax_history"] if before else numpy.zeros(history, "<f4")
                record = numpy.concatenate([[amax], old[1:]]).astype("<f4")
                used = record.max() if algorithm == "max" else amax
                new = next_scale(used, largest, scale, margin)
                kept += new == scale
                same(name + ".scale", after[name + ".scale"], numpy.float32(new))
                record = numpy.roll(record, -1)
                record[0] = 0
                same(name + ".amax_history", after[name + ".amax_history"], record)
            scales[name] = scale
            with numpy.errstate(over="ignore"):
                scaled = value * scale
            saturated += (abs(scaled) > largest).any()
            clipped = numpy.clip(scaled, -largest, largest)
            same(name + ".f8", after[name + ".f8"], encode(clipped, kind, rounding))
        check_product("y", after["y"], values["x8"], values["w8"], (scales["x8"], scales["w8"]))
        check_product("dw", after["dw"], values["x8"].T, values["dy8"], (scales["x8"], scales["dy8"]))
        check_product("dx", after["dx"], values["dy8"], values["w8"].T, (scales["dy8"], scales["w8"]))
        same("dy", after["dy"], (after["y"] - t) * numpy.float32(2 / (ROWS * OUTPUTS)))
        if before:
            same("w", after["w"], before["w"] - after["dw"] * LR)
        before = after
    # What the data are made to do.
    assert recipe == "current" or saturated >= (3 if steps == len(FACTORS) else 1), saturated
    assert recipe == "current" or steps < len(FACTORS) or kept >= 1


if sys.argv[1] == "data":
    random = numpy.random.RandomState(0)
    w = random.randn(INPUTS, OUTPUTS)
    for step in range(1, int(sys.argv[3]) + 1):
        x = random.randn(ROWS, INPUTS)
        t = x @ w
        x = x / abs(x).max() * 4 * FACTORS[step - 1]
        numpy.save(f"{sys.argv[2]}/x-{step}.npy", x.astype(numpy.float32))
        numpy.save(f"{sys.argv[2]}/t-{step}.npy", t.astype(numpy.float32))
else:
    rounding, recipe, algorithm, history, margin, steps, engine = sys.argv[2:]
    check(rounding, recipe, algorithm, int(history), int(margin), int(steps), engine)
