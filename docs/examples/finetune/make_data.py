"""Data of the fine-tuning example: make_data.py FOLDER.

Descriptions of Debian's packages, from the lists that `apt-get update` keeps. A WordPiece
tokenizer is trained on them. FOLDER gets the tokenizer and arrays of token numbers:

  text.npy                        the descriptions' text, cut into rows of 64 tokens
  train_x.npy, train_y.npy        the first lines of 30 descriptions from each of ten
                                  sections, 24 tokens each, and their sections' numbers
  test_x.npy, test_y.npy          100 others from each, which text.npy leaves out
"""

import argparse
import os
import random
import re
import subprocess

import numpy
import tokenizers
import transformers

# Sections that a subject defines. Others, such as python, can be told by one word.
SECTIONS = ["admin", "games", "graphics", "mail", "math", "net", "science", "sound", "text",
            "web"]
TRAIN, TEST = 30, 100


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def read_lists(kind):
    """The fields of each entry in apt's lists of that kind."""
    files = run("apt-get", "-o", "Acquire::Languages=en", "indextargets", "--format",
                "$(FILENAME)", f"Created-By: {kind}").split()
    if files:
        for entry in run("/usr/lib/apt/apt-helper", "cat-file", *files).split("\n\n"):
            yield dict(re.findall(r"^([\w-]+): (.*(?:\n .*)*)", entry, re.M))


def read_packages():
    """(first line of the description, all of it, section) of each package, in a fixed order."""
    descriptions = {entry["Description-md5"]: entry["Description-en"]
                    for entry in read_lists("Translations") if "Description-en" in entry}
    packages = {}
    for entry in read_lists("Packages"):
        if "Section" in entry and "Description" in entry:
            line = entry["Description"].split("\n")[0]
            text = descriptions.get(entry.get("Description-md5"), entry["Description"])
            packages[line] = text.replace("\n .\n", "\n"), entry["Section"].split("/")[-1]
    return [(line, *rest) for line, rest in sorted(packages.items())]


def train_tokenizer(texts, size):
    tokenizer = tokenizers.BertWordPieceTokenizer()
    tokenizer.train_from_iterator(texts, vocab_size=size, show_progress=False)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._tokenizer, unk_token="[UNK]", sep_token="[SEP]",
        pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int, help="at most so many rows of text.npy")
    arguments = parser.parse_args()

    packages = read_packages()
    random.Random(0).shuffle(packages)
    by_section = {section: [] for section in SECTIONS}
    for line, _, section in packages:
        if section in by_section:
            by_section[section].append(line)
    for section, lines in by_section.items():
        if len(lines) < TRAIN + TEST:
            raise SystemExit(f"make_data.py: expected {TRAIN + TEST} packages in section "
                             f"{section}, found {len(lines)}; run `apt-get update` as root, "
                             "with Debian's main archive")
    test = {line for lines in by_section.values() for line in lines[:TEST]}
    texts = [text for line, text, _ in packages if line not in test]
    tokenizer = train_tokenizer(texts, 4096)

    os.makedirs(arguments.folder, exist_ok=True)
    tokenizer.save_pretrained(os.path.join(arguments.folder, "tokenizer"))

    def save(name, array):
        numpy.save(os.path.join(arguments.folder, name), numpy.array(array, numpy.int64))
        print(f"{name}: {len(array)} rows")

    # A long text makes several rows.
    save("text", tokenizer(texts, padding="max_length", truncation=True, max_length=64,
                           return_overflowing_tokens=True)["input_ids"][:arguments.rows])
    for name, begin, end in (("test", 0, TEST), ("train", TEST, TEST + TRAIN)):
        lines = [line for lines in by_section.values() for line in lines[begin:end]]
        save(name + "_x", tokenizer(lines, padding="max_length", truncation=True,
                                    max_length=24)["input_ids"])
        save(name + "_y", [label for label in range(len(SECTIONS)) for _ in range(begin, end)])


if __name__ == "__main__":
    main()
