# Writes data sets with Python's standard library alone.
#   make_data.py DIRECTORY
# fit.mlir: x.npy [40, 2] and y.npy [40, 1] with y = 3 x0 - 2 x1 + 1, held-out
# xe.npy and ye.npy [10, ...], and broken variants of x.npy, .npz and
# .safetensors.
import io
import json
import pathlib
import random
import struct
import sys
import zipfile

directory = pathlib.Path(sys.argv[1])
directory.mkdir(parents=True, exist_ok=True)


def npy(values, shape, descr="<f4", code="f"):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (
        descr, "".join("%d, " % size for size in shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
            header.encode() + struct.pack("<%d%s" % (len(values), code), *values))


def npz(members, method):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, member in members.items():
            archive.writestr(name + ".npy", member)
    return data.getvalue()


def safetensors(values, shape):
    header = json.dumps({"x": {"dtype": "F32", "shape": shape,
                               "data_offsets": [0, 4 * len(values)]}}).encode()
    return (struct.pack("<Q", len(header)) + header +
            struct.pack("<%df" % len(values), *values))


def write(name, data):
    (directory / name).write_bytes(data)


rng = random.Random(1)
points = [(rng.uniform(-1, 1), rng.uniform(-1, 1)) for _ in range(50)]
x = [coordinate for point in points for coordinate in point]
y = [3 * a - 2 * b + 1 for a, b in points]
write("x.npy", npy(x[:80], (40, 2)))
write("y.npy", npy(y[:40], (40, 1)))
write("xe.npy", npy(x[80:], (10, 2)))
write("ye.npy", npy(y[40:], (10, 1)))

write("double.npy", npy(x[:80], (40, 2), "<f8", "d"))
write("wide.npy", npy(x[:90], (30, 3)))
write("short.npy", npy(x[:60], (30, 2)))
write("nan.npy", npy(x[:60] + [float("nan")] + x[61:80], (40, 2)))
write("truncated.npy", npy(x[:80], (40, 2))[:-5])
write("text.npy", b"this is not an array\n")

archive = npz({"x": npy(x[:80], (40, 2))}, zipfile.ZIP_STORED)
write("cut.npz", archive[:len(archive) // 2])
start = archive.index(b"\x93NUMPY")
write("flipped.npz", archive[:start + 200] + bytes([archive[start + 200] ^ 1]) +
      archive[start + 201:])
write("inside.npz", npz({"x": npy(x[:80], (40, 2))[:-5]}, zipfile.ZIP_DEFLATED))
tensor = safetensors(x[:80], [40, 2])
write("cut.safetensors", tensor[:-7])
write("header.safetensors", tensor[:30])
write("length.safetensors", tensor[:5])
write("nan.safetensors", safetensors(x[:79] + [float("inf")], [40, 2]))
