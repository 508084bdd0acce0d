"""Data of the BERT-style encoder: make_data.py FOLDER.

The names of characters in Python's table of Unicode, word by word: those of 4 to 12
words, without the ones that are computed. The 509 commonest words have numbers from 3
on; 2 is any other, 1 the mask, 0 what fills a row of 12 up, x. Of each row 2 words are
to be found (as in Devlin et al. 2019, 80 % of them masked, 10 % replaced at random,
10 % left), and their places hold the word in y, all others -100. A tenth of the names
is held out as test_*. Needs numpy.

Prints the loss of guessing by the words' frequencies alone, and by their frequencies at
each place of a name: what is below that was learned from the words around.
"""

import collections
import os
import sys
import unicodedata

import numpy

# Names that hold a number, or come from a table of syllables.
COMPUTED = ("CJK ", "HANGUL SYLLABLE", "TANGUT ", "NUSHU CHARACTER", "KHITAN SMALL",
            "EGYPTIAN HIEROGLYPH", "ANATOLIAN HIEROGLYPH", "BAMUM LETTER")
SHORTEST, CONTEXT, VOCABULARY, HIDDEN = 4, 12, 512, 2
END, MASK, OTHER, FIRST = 0, 1, 2, 3


def read_names():
    for code in range(sys.maxunicode + 1):
        name = unicodedata.name(chr(code), "")
        words = name.replace("-", " ").split()
        if SHORTEST <= len(words) <= CONTEXT and not name.startswith(COMPUTED):
            yield words


def entropy(labels):
    shares = numpy.unique(labels, return_counts=True)[1] / len(labels)
    return -numpy.sum(shares * numpy.log(shares))


def main(folder):
    os.makedirs(folder, exist_ok=True)
    names = list(read_names())
    counts = collections.Counter(word for name in names for word in name)
    common = sorted(counts, key=lambda word: (-counts[word], word))[:VOCABULARY - FIRST]
    numbers = {word: FIRST + i for i, word in enumerate(common)}
    x = numpy.full((len(names), CONTEXT), END, numpy.int32)
    y = numpy.full_like(x, -100)
    random = numpy.random.RandomState(0)
    for row, labels, name in zip(x, y, names):
        row[:len(name)] = [numbers.get(word, OTHER) for word in name]
        places = random.permutation(len(name))[:HIDDEN]
        labels[places] = row[places]
        draw = random.uniform(size=HIDDEN)
        row[places] = numpy.where(draw < 0.8, MASK, numpy.where(
            draw < 0.9, random.randint(FIRST, VOCABULARY, HIDDEN), row[places]))
    order = random.permutation(len(x))
    held_out = len(x) // 10
    for part, rows in (("test_", order[:held_out]), ("", order[held_out:])):
        numpy.save(os.path.join(folder, part + "x.npy"), x[rows])
        numpy.save(os.path.join(folder, part + "y.npy"), y[rows])
    places = [column[column >= 0] for column in y.T]
    by_place = sum(entropy(column) * len(column) for column in places) / (HIDDEN * len(y))
    print(f"{len(x)} names; by frequency {entropy(y[y >= 0]):.2f}, by place {by_place:.2f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_data.py FOLDER")
    main(sys.argv[1])
