"""Data of the tabular network: make_data.py FOLDER.

Python's table of Unicode characters: what has a name, without the letters and
ideographs whose names are computed. Seven columns of categories, `x`, and four of
numbers, `v`; the general category (Lu, Sm, Nd, ...) is the class to find, `y`. The
categories of all columns share one table of embeddings, as in DLRM: those of a column
begin where the last column's end. A fifth is held out as test_*. Needs numpy.
"""

import collections
import os
import sys
import unicodedata

import numpy

COMPUTED = ("CJK ", "HANGUL SYLLABLE", "TANGUT ", "NUSHU CHARACTER", "KHITAN SMALL",
            "EGYPTIAN HIEROGLYPH", "ANATOLIAN HIEROGLYPH", "BAMUM LETTER", "CUNEIFORM SIGN",
            "VARIATION SELECTOR")
# The commonest values of a column have categories of their own, the others share one.
SIZES = {"first word": 200, "last word": 300, "direction": 24, "width": 8, "combining": 20,
         "mirrored": 2, "decomposition": 20}
TABLE, CLASSES = sum(SIZES.values()) + len(SIZES), 30


def read_rows():
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        name = unicodedata.name(char, "")
        if not name or name.startswith(COMPUTED):
            continue
        words = name.replace("-", " ").split()
        tag = unicodedata.decomposition(char).split(" ")[0]
        yield ((words[0], words[-1], unicodedata.bidirectional(char),
                unicodedata.east_asian_width(char), unicodedata.combining(char),
                unicodedata.mirrored(char), tag if tag.startswith("<") else bool(tag)),
               (numpy.log2(code + 1), len(words), len(name), len(char.upper())),
               unicodedata.category(char))


def encode(values, size, offset):
    """Numbers from `offset` on, the commonest value first; `size` + offset for the rest."""
    counts = collections.Counter(map(str, values))
    ranks = {value: i for i, (value, _) in enumerate(
        sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:size])}
    return [offset + ranks.get(str(value), size) for value in values]


def main(folder):
    os.makedirs(folder, exist_ok=True)
    categories, numbers, classes = zip(*read_rows())
    columns, offset = [], 0
    for values, size in zip(zip(*categories), SIZES.values()):
        columns.append(encode(values, size, offset))
        offset += size + 1
    v = numpy.asarray(numbers, numpy.float64)
    v = (v - v.mean(0)) / (v.std(0) + 1e-9)
    data = {"x": numpy.asarray(columns, numpy.int32).T, "v": v.astype(numpy.float32),
            "y": numpy.asarray(encode(classes, CLASSES - 1, 0), numpy.int32)}
    order = numpy.random.RandomState(0).permutation(len(v))
    held_out = len(v) // 5
    for name, values in data.items():
        numpy.save(os.path.join(folder, f"test_{name}.npy"), values[order[:held_out]])
        numpy.save(os.path.join(folder, name + ".npy"), values[order[held_out:]])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py FOLDER")
    main(sys.argv[1])
