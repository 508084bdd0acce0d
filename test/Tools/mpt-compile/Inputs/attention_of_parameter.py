"""Runs attention-of-parameter.mlir twice on the stand-in for CUDA, and compares the parameter
with what was written.

  attention_of_parameter.py LIB_DIR CUDA.so
"""
import random
import sys

import standin_step
from standin_step import Step, decode, encode

lib_dir, path = sys.argv[1:]
standin_step.load(lib_dir)
step = Step(path, True)
random.seed(1)
for tensor in step.tensors:
    if tensor.role != b"output":
        data = encode("bf16", [random.uniform(-1, 1) for _ in range(tensor.bytes // 2)])
        step.give(tensor, data)
        if tensor.name == b"w":
            before = decode("bf16", data)
step.run()
step.run()
after = step.read()["parameter", "w"]
changed = sum(x != y for x, y in zip(before, after))
assert changed == 0, "%d of %d elements of w have changed" % (changed, len(before))
print("%d launches with tensor maps" % (standin_step.standin.mpt_standin_map_launches(b"")))
print(standin_step.runtime.mpt_rt_notes(step.rt).decode(), end="")
standin_step.check_use([step], launches=1)
