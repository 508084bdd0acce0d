"""Data of the sin/cos network: make_data.py FOLDER.

20,000 points in [-2 pi, 2 pi], shuffled, with targets sin x and cos x plus
uniform noise of +-0.01, as x.npy, sin.npy and cos.npy. The same every time.
"""

import math
import os
import random
import struct
import sys

POINTS = 20000


def write_npy(path, values):
    """A float32 .npy of shape [len(values), 1]."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 1), }" % len(values)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + struct.pack("<%df" % len(values), *values))


def main(folder):
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(0)
    x = [2 * math.pi * (2 * i / (POINTS - 1) - 1) for i in range(POINTS)]
    rng.shuffle(x)
    write_npy(os.path.join(folder, "x.npy"), x)
    for name, function in (("sin", math.sin), ("cos", math.cos)):
        noisy = [function(value) + rng.uniform(-0.01, 0.01) for value in x]
        write_npy(os.path.join(folder, name + ".npy"), noisy)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py FOLDER")
    main(sys.argv[1])
