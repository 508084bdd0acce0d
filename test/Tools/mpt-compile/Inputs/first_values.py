# Writes x.npy [40, 4] and y.npy [40, 1], with Python's standard library alone.
import random
import struct

random.seed(5)


def write(name, columns):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (40, %d), }" % columns
    header = header.ljust(117) + "\n"
    values = [random.gauss(0, 1) for _ in range(40 * columns)]
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%df" % len(values), *values))


write("x.npy", 4)
write("y.npy", 1)
