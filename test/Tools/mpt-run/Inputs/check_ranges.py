# Checks a file of recorded ranges against NumPy, in f64, from the very values.
#   check_ranges.py RANGES CHECKPOINT NAME=INDEX...
# State NAME of the checkpoint is the value of line INDEX (from 0).
import json
import math
import struct
import sys

import numpy

# Bits of the mantissa, exponent of the smallest normal number, largest number.
FORMATS = {
    "f32": (23, -126, (2 - 2.0**-23) * 2.0**127),
    "bf16": (7, -126, (2 - 2.0**-7) * 2.0**127),
    "f16": (10, -14, 65504.0),
    "f8E5M2": (2, -14, 57344.0),
    "f8E4M3FN": (3, -6, 448.0),
}


def round_to(values, mantissa, low):
    """Magnitudes rounded to nearest even, without a bound above."""
    exponent = numpy.frexp(values)[1] - 1
    quantum = numpy.ldexp(1.0, numpy.maximum(exponent, low) - mantissa)
    return numpy.rint(values / quantum) * quantum


def read(path, name):
    data = open(path, "rb").read()
    (size,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8:8 + size])[name]
    begin, end = (8 + size + offset for offset in entry["data_offsets"])
    raw = data[begin:end]
    if entry["dtype"] == "BF16":
        bits = numpy.frombuffer(raw, "<u2").astype("<u4") << 16
        return bits.view("<f4").astype(float)
    kind = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}[entry["dtype"]]
    return numpy.frombuffer(raw, kind).astype(float)


lines = [json.loads(line) for line in open(sys.argv[1])]
header, records = lines[0], lines[1:]
assert header["mpt_ranges"] == 1 and header["steps"] == 1, header
for pair in sys.argv[3:]:
    name, index = pair.split("=")
    record = records[int(index)]
    values = abs(read(sys.argv[2], name))
    finite = values[numpy.isfinite(values)]
    some = finite[finite > 0]
    expected = {
        "elements": values.size,
        "nan": int(numpy.isnan(values).sum()),
        "inf": int(numpy.isinf(values).sum()),
        "zero": int((values == 0).sum()),
        "amax": finite.max() if finite.size else 0.0,
    }
    if some.size:
        expected["smallest"] = some.min()
    for format in header["types"]:
        mantissa, low, largest = FORMATS[format]
        rounded = round_to(some, mantissa, low)
        expected[format] = {
            "underflow": int((rounded == 0).sum()),
            "subnormal": int(((rounded > 0) & (rounded < 2.0**low)).sum()),
            "overflow": int((rounded > largest).sum()),
        }
    edges = [0.0] + [2.0**edge for edge in header["edges"]] + [math.inf]
    expected["histogram"] = [
        int(((some >= a) & (some < b)).sum()) for a, b in zip(edges, edges[1:])]
    for key, value in expected.items():
        found = record.get(key)
        if isinstance(value, dict):
            found = {k: v for k, v in found.items() if k in value}
        assert found == value, (pair, key, value, found)
    assert expected["f16"]["underflow"] + expected["f16"]["overflow"] > 0 or index != "0"
