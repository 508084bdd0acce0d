"""Data of the BERT-style encoder: make_data.py FOLDER.

The source of Python's standard library as words, numbers and marks, of which the 1021
commonest have numbers from 3 on; 2 is any other, 1 the mask, 0 a line's end. Rows of
48 tokens, x; of each row 7 are to be found (Devlin et al. 2019: 80 % of them masked,
10 % replaced at random, 10 % left), and their places hold the token in y, all others
-100. A tenth is held out as test_*. Needs numpy.
"""

import collections
import os
import re
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpt"))
import make_data as gpt

CONTEXT, VOCABULARY, HIDDEN = 48, 1024, 7
END, MASK, OTHER, FIRST = 0, 1, 2, 3


def main(folder):
    os.makedirs(folder, exist_ok=True)
    text = "".join("\n" if code == 95 else chr(code + 32) for code in gpt.read_text())
    tokens = re.findall(r"\n|[A-Za-z_]+|[0-9]+|[^\sA-Za-z_0-9]", re.sub(r"\s*\n\s*", "\n", text))
    counts = collections.Counter(token for token in tokens if token != "\n")
    common = sorted(counts, key=lambda token: (-counts[token], token))[:VOCABULARY - FIRST]
    numbers = {token: FIRST + i for i, token in enumerate(common)}
    numbers["\n"] = END
    codes = numpy.asarray([numbers.get(token, OTHER) for token in tokens], numpy.int32)
    x = codes[:len(codes) // CONTEXT * CONTEXT].reshape(-1, CONTEXT).copy()
    y = numpy.full_like(x, -100)
    random = numpy.random.RandomState(0)
    for row, labels in zip(x, y):
        places = random.permutation(CONTEXT)[:HIDDEN]
        labels[places] = row[places]
        draw = random.uniform(size=HIDDEN)
        row[places] = numpy.where(draw < 0.8, MASK, numpy.where(
            draw < 0.9, random.randint(FIRST, VOCABULARY, HIDDEN), row[places]))
    cut = len(x) - len(x) // 10
    for name, part in (("", slice(0, cut)), ("test_", slice(cut, None))):
        numpy.save(os.path.join(folder, name + "x.npy"), x[part])
        numpy.save(os.path.join(folder, name + "y.npy"), y[part])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py FOLDER")
    main(sys.argv[1])
