# Follows the scales of 8-bit floats step by step, after Transformer Engine's rule, with
# NumPy alone; 8-bit floats are looked up among all their values.
#   check_fp8.py FORMAT A.npy B.npy FACTOR RECIPE AMAX HISTORY MARGIN CHECKPOINT...
# A is quantized to FORMAT (e4m3 or e5m2), B to e4m3. Step t multiplies A by k (1 at first, then times FACTOR) and computes A B^T; checkpoint
# t is the state after it. Scales and history must be equal, products within what f32
# sums may lose.
import json
import struct
import sys

import numpy

f32 = numpy.float32


def values_of(exponent_bits, mantissa_bits, has_infinity):
    bias = 2 ** (exponent_bits - 1) - 1
    top = 2**exponent_bits - 1
    found = []
    for exponent in range(top + 1):
        for mantissa in range(2**mantissa_bits):
            if exponent == top and (has_infinity or mantissa == 2**mantissa_bits - 1):
                continue  # infinity and NaN
            fraction = mantissa / 2**mantissa_bits
            found.append((1 + fraction) * 2.0 ** (exponent - bias) if exponent
                         else fraction * 2.0 ** (1 - bias))
    return numpy.array(found)


E4M3 = values_of(4, 3, False)
E5M2 = values_of(5, 2, True)
assert E4M3[-1] == 448 and E5M2[-1] == 57344


def quantize(x, scale, values):
    """The nearest 8-bit float (the even one of two) of each element, as f64."""
    with numpy.errstate(over="ignore", invalid="ignore"):
        scaled = (x * scale).astype(f32).astype(float)
    magnitude = numpy.minimum(abs(scaled), values[-1])
    above = numpy.minimum(numpy.searchsorted(values, magnitude), len(values) - 1)
    below = numpy.maximum(above - 1, 0)
    low, high = magnitude - values[below], values[above] - magnitude
    index = numpy.where((low < high) | ((low == high) & (below % 2 == 0)), below, above)
    result = numpy.copysign(values[index], scaled)
    return numpy.where(numpy.isfinite(x), result, numpy.nan)


def choose_scale(amax, old, margin, values):
    with numpy.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = f32(f32(values[-1]) / amax) * f32(2.0**-margin)
    if not numpy.isfinite(scale):
        scale = numpy.finfo(f32).max
    return f32(scale if amax > 0 and numpy.isfinite(amax) else old)


def read(path):
    data = open(path, "rb").read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    return {name: numpy.frombuffer(
        data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]],
        "<f4").reshape(entry["shape"])
        for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"}


formats = [{"e4m3": E4M3, "e5m2": E5M2}[sys.argv.pop(1)], E4M3]
a, b = numpy.load(sys.argv[1]), numpy.load(sys.argv[2])
factor, recipe, which = f32(sys.argv[3]), sys.argv[4], sys.argv[5]
length, margin = int(sys.argv[6]), int(sys.argv[7])
history, scales, k = numpy.zeros((2, length), f32), numpy.ones(2, f32), f32(1)
seen_infinite = False
for step, path in enumerate(sys.argv[8:]):
    state = read(path)
    with numpy.errstate(over="ignore", invalid="ignore"):
        tensors = [(a * k).astype(f32), b]
    amax = [abs(tensor).max() for tensor in tensors]
    if recipe == "current":
        used = [choose_scale(each, f32(1), margin, values) for each, values in zip(amax, formats)]
    else:
        used = scales.copy()
    q = [quantize(*each) for each in zip(tensors, used, formats)]
    exact = q[0] @ q[1].T / (float(used[0]) * float(used[1]))
    most = abs(q[0]) @ abs(q[1]).T / (float(used[0]) * float(used[1]))
    bound = (a.shape[1] + 5) * 2.0**-24 * most
    seen_infinite |= not numpy.isfinite(exact).all()
    assert (numpy.isnan(exact) == numpy.isnan(state["y"])).all(), step
    # Close to the largest f32 either side of it is right.
    largest = float(numpy.finfo(f32).max)
    surely = abs(exact) - bound > largest
    assert (state["y"][surely] == numpy.copysign(numpy.inf, exact[surely])).all(), step
    good = abs(exact) + bound < largest
    assert (abs(state["y"] - exact)[good] <= bound[good]).all(), step
    if recipe == "delayed":
        last = numpy.array([each if numpy.isfinite(each) else 0 for each in amax], f32)
        history = numpy.concatenate([last[:, None], history[:, :-1]], axis=1)
        chosen = history.max(axis=1) if which == "max" else last
        scales = numpy.array([choose_scale(each, old, margin, values)
                              for each, old, values in zip(chosen, scales, formats)], f32)
        assert (state["fp8.amax_history"] == history).all(), (step, state, history)
        assert (state["fp8.scale"] == scales).all(), (step, state["fp8.scale"], scales)
    else:
        assert "fp8.scale" not in state
    with numpy.errstate(over="ignore"):
        k = f32(k * factor)
print("steps", len(sys.argv) - 8, "infinite" if seen_infinite else "finite")
