"""What runs of attention forward where cuDNN and MPT's functions are measured, on the stand-in.

  attention_choice.py LIB_DIR CUDA.so TUNING_FILE WGMMA MMA

WGMMA and MMA: the microseconds that a launch of attention by either takes.
"""
import re
import sys

import standin_step
from standin_step import Step

lib_dir, path, tuning, wgmma, mma = sys.argv[1:]
standin_step.load(lib_dir)
standin = standin_step.standin
module = open(path, "rb").read()
names = {found.decode() for found in re.findall(rb"mpt_attention_[0-9]+(?:_wgmma)?", module)}
for name in names:
    time = wgmma if name.endswith("_wgmma") else mma
    standin.mpt_standin_set_launch_time(name.encode(), standin_step.ctypes.c_double(float(time)))
step = Step(path, True, tuning=tuning)
for tensor in step.tensors:
    if tensor.role in (b"input", b"target", b"parameter"):
        step.give(tensor, bytes(tensor.bytes))
step.run()


def count():
    return (sum(standin.mpt_standin_map_launches(name.encode()) for name in names if name.endswith("_wgmma")),
            standin.mpt_standin_calls(b"cudnnBackendExecute"))


maps, executed = count()
standin_step.runtime.mpt_rt_set_profiling(step.rt, 1)
step.run()
now = count()
print("wgmma: %s, cuDNN: %s" % (now[0] > maps, now[1] > executed))
assert standin.mpt_standin_breach() == b"", standin.mpt_standin_breach()
