"""Compares what check_parallel.py wrote, bit for bit. same_training.py FILE FILE.."""
import sys

import torch
from torch.utils import _pytree


def flatten(path):
    leaves, tree = _pytree.tree_flatten(torch.load(path, weights_only=False))
    return [v.numpy().tobytes() if isinstance(v, torch.Tensor) else repr(v)
            for v in leaves], tree


expected, tree = flatten(sys.argv[1])
for path in sys.argv[2:]:
    found, other = flatten(path)
    assert tree == other, path
    print(path.rsplit("/")[-1], len(found), "values,",
          sum(a != b for a, b in zip(expected, found)), "differ")
