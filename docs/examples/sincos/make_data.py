#!/usr/bin/env python3
"""Writes the data of sincos.mlir: x.npy, sin.npy and cos.npy.

  make_data.py DIRECTORY

20,000 points of [-2 pi, 2 pi] in random order; the targets are sin x and cos x
plus uniform noise of at most 0.01. Needs nothing but Python.
"""
import array
import math
import pathlib
import random
import struct
import sys

COUNT = 20000


def write_npy(path, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 1), }" % len(values)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = array.array("f", values)
    if sys.byteorder == "big":
        data.byteswap()
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                     header.encode() + data.tobytes())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    x = [-2 * math.pi + 4 * math.pi * i / (COUNT - 1) for i in range(COUNT)]
    rng.shuffle(x)
    write_npy(directory / "x.npy", x)
    write_npy(directory / "sin.npy", [math.sin(v) + rng.uniform(-0.01, 0.01) for v in x])
    write_npy(directory / "cos.npy", [math.cos(v) + rng.uniform(-0.01, 0.01) for v in x])


if __name__ == "__main__":
    main()
