"""A GPT of 12 layers whose vocabulary outweighs them, and a batch: small_gpt.py FOLDER > FILE."""
import os
import sys

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..")
sys.path[:0] = [os.path.join(ROOT, "test", "benchmark"), os.path.join(ROOT, "docs", "examples")]
import network
import networks

random = np.random.default_rng(0)
for name in ("x", "y"):
    np.save(os.path.join(sys.argv[1], name + ".npy"), random.integers(0, 3142, (1, 32), np.int32))
network.print_function("loss", lambda net: networks.gpt(net, 12, 48, 3, 32, 3142, 32), True)
