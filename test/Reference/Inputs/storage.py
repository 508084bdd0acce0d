"""Element types as MLIR names them: rounding, bytes and .safetensors files.

Written from the formats' definitions, without ml_dtypes, to be independent of
LLVM's APFloat.
"""

import json
import struct

import numpy as np


class Float:
    def __init__(self, name, tag, precision, lowest, largest, infinity, size):
        self.name, self.tag, self.size = name, tag, size
        # Significant bits, exponent of the smallest normal number, largest number,
        # what overflow gives.
        self.precision, self.lowest = precision, lowest
        self.largest, self.infinity = largest, infinity

    def ulp(self, x):
        """The distance between neighbours at x."""
        _, exponent = np.frexp(np.abs(np.asarray(x, np.float64)))
        exponent = np.where(np.asarray(x) == 0, self.lowest, exponent - 1)
        return np.ldexp(1.0, np.maximum(exponent, self.lowest) - self.precision + 1)

    def round(self, x):
        x = np.asarray(x, np.float64)
        if self.name == "f64":
            return x
        # What infinity becomes: NaN where the type has none.
        over = np.where(x < 0, -self.infinity, self.infinity)
        finite = np.where(np.isfinite(x), x, 0.0)
        unit = self.ulp(finite)
        # rint rounds ties to even.
        rounded = np.rint(finite / unit) * unit
        rounded = np.where(np.abs(rounded) > self.largest, over, rounded)
        return np.where(np.isfinite(x), rounded, np.where(np.isnan(x), np.nan, over))

    def encode(self, x):
        x = np.asarray(x, np.float64)
        if self.name in ("f64", "f32", "f16"):
            return x.astype({"f64": "<f8", "f32": "<f4", "f16": "<f2"}[self.name]).tobytes()
        if self.name == "bf16":
            bits = self.round(x).astype("<f4").view("<u4") >> 16
            return bits.astype("<u2").tobytes()
        table = self.table()
        return bytes(
            next(i for i, v in enumerate(table) if v == value or (np.isnan(v) and np.isnan(value)))
            for value in self.round(x).ravel()
        )

    def decode(self, data):
        if self.name in ("f64", "f32", "f16"):
            kind = {"f64": "<f8", "f32": "<f4", "f16": "<f2"}[self.name]
            return np.frombuffer(data, kind).astype(np.float64)
        if self.name == "bf16":
            bits = np.frombuffer(data, "<u2").astype("<u4") << 16
            return bits.view("<f4").astype(np.float64)
        return np.array(self.table())[np.frombuffer(data, np.uint8)]

    def table(self):
        """The numbers of an 8-bit type by their bits."""
        mantissa_bits = self.precision - 1
        values = []
        for bits in range(256):
            sign = -1.0 if bits & 128 else 1.0
            exponent, mantissa = (bits & 127) >> mantissa_bits, bits & ((1 << mantissa_bits) - 1)
            top = (1 << (7 - mantissa_bits)) - 1
            fraction = mantissa / (1 << mantissa_bits)
            if self.name == "f8E5M2" and exponent == top:
                value = np.inf if mantissa == 0 else np.nan
            elif self.name == "f8E4M3FN" and exponent == top and mantissa == 7:
                value = np.nan
            elif exponent == 0:
                value = fraction * 2.0**self.lowest
            else:
                value = (1 + fraction) * 2.0 ** (exponent - 1 + self.lowest)
            values.append(sign * value)
        return values


class Int:
    def __init__(self, width):
        self.name, self.width = f"i{width}", width
        self.size = max(width // 8, 1)
        self.tag = "BOOL" if width == 1 else f"I{width}"
        self.numpy = {1: "u1", 8: "i1", 16: "<i2", 32: "<i4", 64: "<i8"}[width]

    def encode(self, x):
        return np.asarray(x).astype(self.numpy).tobytes()

    def decode(self, data):
        return np.frombuffer(data, self.numpy).astype(np.int64)


TYPES = {
    t.name: t
    for t in [
        Float("f64", "F64", 53, -1022, np.finfo(np.float64).max, np.inf, 8),
        Float("f32", "F32", 24, -126, float(np.finfo(np.float32).max), np.inf, 4),
        Float("f16", "F16", 11, -14, 65504.0, np.inf, 2),
        Float("bf16", "BF16", 8, -126, 2.0**128 - 2.0**120, np.inf, 2),
        Float("f8E4M3FN", "F8_E4M3", 4, -6, 448.0, np.nan, 1),
        Float("f8E5M2", "F8_E5M2", 3, -14, 57344.0, np.inf, 1),
        Int(1),
        Int(8),
        Int(16),
        Int(32),
        Int(64),
    ]
}


def spell(type, shape):
    """MLIR's name of a tensor type."""
    return "tensor<" + "".join(f"{size}x" for size in shape) + type + ">"


def save(path, tensors):
    """Writes {name: (type, array)}."""
    header, body = {}, b""
    for name, (type, array) in tensors.items():
        data = TYPES[type].encode(array)
        header[name] = {
            "dtype": TYPES[type].tag,
            "shape": list(np.shape(array)),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def load(path):
    """Reads {name: array}, floats as f64."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    tags = {t.tag: t for t in TYPES.values()}
    tensors = {}
    for name, info in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = info["data_offsets"]
        values = tags[info["dtype"]].decode(data[8 + length + begin : 8 + length + end])
        tensors[name] = values.reshape(info["shape"])
    return tensors


def finite(type, array):
    """The array with 0 where it is NaN or infinite in its type."""
    kind = TYPES[type]
    rounded = kind.round(array) if isinstance(kind, Float) else array
    return np.where(np.isfinite(rounded), array, 0)


def replace(path, tensors):
    """Writes {name: (type, array)} over what a checkpoint holds by these names. It is
    then one of format 1, which has no checksums."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header, data = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    for name, (type, array) in tensors.items():
        begin, end = header[name]["data_offsets"]
        value = TYPES[type].encode(array)
        assert len(value) == end - begin, name
        data[begin:end] = value
    metadata = header["__metadata__"]
    header["__metadata__"] = {key: value for key, value in metadata.items()
                              if not key.startswith("mpt.xxh3")} | {"mpt.checkpoint": "1"}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
