"""8-bit optimizer state against bitsandbytes: its code books, and what codes stand for, bit for bit.

  check_bitsandbytes.py MPT_RUN TD_DIRECTORY WORK_DIRECTORY ENGINE
"""

import sys

import bitsandbytes.functional
import numpy as np
import torch

import check_ops
from case import Case, Random
from optimizer_state_cases import as_i8, flag


def cases():
    random = Random(5)
    for nonnegative in False, True:
        table = bitsandbytes.functional.create_dynamic_map(signed=not nonnegative)
        yield Case("dynamic_value", [as_i8(np.arange(256))], [("f32", np.float64(table.numpy()))], flag(nonnegative), error=0)
        # Its quantization on CPUs is not to the nearest number of its table: it rounds to 16
        # bits first. So codes are compared by what they stand for.
        codes = random.rng.integers(0, 256, (64, 512)).astype(np.uint8)
        absmax = np.float32(10.0 ** random("f32", (128,), -6, 2)[1])
        state = bitsandbytes.functional.QuantState(
            absmax=torch.tensor(absmax), code=table, blocksize=256, dtype=torch.float32)
        x = bitsandbytes.functional.dequantize_blockwise(torch.tensor(codes), state)
        attributes = "block_size = 256 : i64" + (", nonnegative" if nonnegative else "")
        yield Case("dequantize_blockwise", [as_i8(codes), ("f32", absmax)], [("f32", np.float64(x.numpy()))], attributes, error=0)


check_ops.all_cases = lambda: list(cases())
check_ops.check_coverage = lambda directory, cases: None
check_ops.main(*sys.argv[1:])
