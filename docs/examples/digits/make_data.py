"""Data of the digits network: make_data.py FOLDER.

scikit-learn's bundled handwritten digits (1,797 images of 8x8), scaled to
[0, 1]; a fixed fifth is held out. Needs numpy and scikit-learn.
"""

import os
import sys

import numpy
from sklearn.datasets import load_digits


def main(folder):
    os.makedirs(folder, exist_ok=True)
    digits = load_digits()
    order = numpy.random.RandomState(0).permutation(len(digits.target))
    x = (digits.images[order] / 16.0).astype(numpy.float32)[..., None]
    y = digits.target[order].astype(numpy.int32)
    held_out = len(y) // 5
    for name, part in (("test", slice(0, held_out)), ("train", slice(held_out, None))):
        numpy.save(os.path.join(folder, name + "_x.npy"), x[part])
        numpy.save(os.path.join(folder, name + "_y.npy"), y[part])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py FOLDER")
    main(sys.argv[1])
