"""Runs a program of calls compiled for the CPU and for GPUs (on the stand-in for
CUDA) on the same inputs. Inputs are multiples of 1/8 so small that no sum of them is
rounded, so whatever the order, results must be equal.

  compare_calls.py LIB_DIR CPU.so CUDA.so
"""
import math
import random
import sys

import standin_step
from standin_step import Step, encode, decode

lib_dir, cpu_path, cuda_path = sys.argv[1:]
standin_step.load(lib_dir)
cpu, cuda = Step(cpu_path, False), Step(cuda_path, True)
random.seed(3)
for tensor in cpu.tensors:
    kind, role, name = tensor.type.decode(), tensor.role.decode(), tensor.name.decode()
    if role != "input":
        continue
    prefix = name.split("_")[0]
    count = math.prod(tensor.dims[d] for d in range(tensor.rank))
    if prefix[0] == "i":
        values = [random.randrange(int(prefix[1:])) for _ in range(count)]
    elif prefix == "p":
        values = [random.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0]) for _ in range(count)]
    else:
        values = [random.randrange(-16, 16) / 8 for _ in range(count)]
        if prefix == "n":
            values = [random.choice([math.nan, math.inf, -math.inf])
                      if random.random() < 0.03 else v for v in values]
    data = encode(kind, values)
    cpu.give(tensor, data)
    cuda.give(tensor, data)
for run in range(2):
    cpu.run()
    cuda.run()
    a, b = cpu.read(), cuda.read()
    for key in a:
        for i, (x, y) in enumerate(zip(a[key], b[key])):
            assert x == y or (x != x and y != y), (key, i, x, y)
standin_step.check_use([cpu, cuda], launches=1)
print("%d calls are equal" % len(a))
