# Follows the scales of 8-bit floats step by step, after Transformer Engine's rule, with
# NumPy alone; 8-bit floats are looked up among all their values.
#   check_fp8.py A.npy B.npy FACTOR RECIPE AMAX HISTORY MARGIN CHECKPOINT...
# Step t multiplies A by k (1 at first, then times FACTOR) and computes A B^T; checkpoint
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
assert E4M3[-1] == 448


def quantize(x, scale):
    """The nearest 8-bit float (the even one of two) of each element, as f64."""
    with numpy.errstate(over="ignore", invalid="ignore"):
        scaled = (x * scale).astype(f32).astype(float)
    magnitude = numpy.minimum(abs(scaled), E4M3[-1])
    above = numpy.minimum(numpy.searchsorted(E4M3, magnitude), len(E4M3) - 1)
    below = numpy.maximum(above - 1, 0)
    low, high = magnitude - E4M3[below], E4M3[above] - magnitude
    index = numpy.where((low < high) | ((low == high) & (below % 2 == 0)), below, above)
    result = numpy.copysign(E4M3[index], scaled)
    return numpy.where(numpy.isfinite(x), result, numpy.nan)


def choose_scale(amax, old, margin):
    with numpy.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = f32(f32(448) / amax) * f32(2.0**-margin)
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
        used = [choose_scale(each, f32(1), margin) for each in amax]
    else:
        used = scales.copy()
    q = [quantize(tensor, scale) for tensor, scale in zip(tensors, used)]
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
        scales = numpy.array([choose_scale(each, old, margin)
                              for each, old in zip(chosen, scales)], f32)
        assert (state["fp8.amax_history"] == history).all(), (step, state, history)
        assert (state["fp8.scale"] == scales).all(), (step, state["fp8.scale"], scales)
    else:
        assert "fp8.scale" not in state
    with numpy.errstate(over="ignore"):
        k = f32(k * factor)
print("steps", len(sys.argv) - 8, "infinite" if seen_infinite else "finite")
