# Writes x.npy [16, 8, 8, 1] of f32 and y.npy [16] of i32, with Python's standard library.
import random
import struct

random.seed(3)


def write(name, type, shape, code, values):
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (type, shape)
    header = header.ljust(117) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (len(values), code), *values))


write("x.npy", "f4", "(16, 8, 8, 1)", "f", [random.random() for _ in range(16 * 64)])
write("y.npy", "i4", "(16,)", "i", [i % 10 for i in range(16)])
