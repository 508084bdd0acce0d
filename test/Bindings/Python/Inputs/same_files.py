"""Compares tensors of two .safetensors files, bit for bit. same_files.py FILE FILE"""
import sys

from safetensors import safe_open


def read(path):
    with safe_open(path, "pt") as file:
        return {key: (file.get_tensor(key).dtype, file.get_tensor(key).shape,
                      file.get_tensor(key).untyped_storage().tolist()) for key in file.keys()}


first, second = read(sys.argv[1]), read(sys.argv[2])
assert first.keys() == second.keys(), first.keys() ^ second.keys()
print(len(first), "tensors,", sum(first[k] != second[k] for k in first), "differ")
