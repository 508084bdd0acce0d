"""Data of the U-Net: make_data.py FOLDER.

Grey images of 32x32 with two to four discs, squares and crosses of random size,
place and brightness over a brightness gradient and noise, x; each place's class, y:
0 background, 1 disc, 2 square, 3 cross. 960 images, and 240 held out as test_x,
test_y. The same every time. Needs numpy.
"""

import os
import sys

import numpy

SIZE = 32


def make_image(random):
    rows, columns = numpy.mgrid[:SIZE, :SIZE]
    slope = random.uniform(-0.5, 0.5, 2)
    image = (slope[0] * rows + slope[1] * columns) / SIZE
    label = numpy.zeros((SIZE, SIZE), numpy.int32)
    for _ in range(random.randint(2, 5)):
        kind, radius = random.randint(1, 4), random.uniform(3, 6)
        y, x = random.uniform(4, SIZE - 4, 2)
        down, right = abs(rows - y), abs(columns - x)
        if kind == 1:
            inside = down ** 2 + right ** 2 <= radius ** 2
        elif kind == 2:
            inside = (down <= 0.8 * radius) & (right <= 0.8 * radius)
        else:
            inside = (numpy.minimum(down, right) <= 0.3 * radius) & (numpy.maximum(down, right) <= radius)
        image[inside] = random.uniform(0.6, 1.4) * random.choice([-1, 1])
        label[inside] = kind
    return image + random.normal(0, 0.2, image.shape), label


def main(folder):
    os.makedirs(folder, exist_ok=True)
    random = numpy.random.RandomState(0)
    images, labels = zip(*(make_image(random) for _ in range(1200)))
    x = numpy.asarray(images, numpy.float32)[..., None]
    y = numpy.asarray(labels, numpy.int32)
    for name, part in (("test_", slice(0, 240)), ("", slice(240, None))):
        numpy.save(os.path.join(folder, name + "x.npy"), x[part])
        numpy.save(os.path.join(folder, name + "y.npy"), y[part])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py FOLDER")
    main(sys.argv[1])
