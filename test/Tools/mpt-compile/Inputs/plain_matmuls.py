"""Matmuls that cuBLASLt does not do, by the program's own functions, on the stand-in for
CUDA.

  plain_matmuls.py make STEP.mlir [mixed]
  plain_matmuls.py run LIB_DIR CPU.so CUDA.so refuse|fail|none|mixed

cuBLASLt proposes nothing, or what it proposes fails to run, or there is no cuBLASLt, or the
operands' types are none that it takes. All
numbers are multiples of 1/8 so small that no sum is rounded before the result is, so all
bits must be those of the CPU.
"""
import itertools
import math
import random
import sys

# Elements along each side are 1, a tile's, and odd ones around that of tiles and of what is
# in shared memory at a time.
SIZES = [(1, 1, 1), (5, 3, 17), (65, 63, 1), (64, 128, 16), (130, 66, 33)]
TYPES = [("f32", "f32", "f32"), ("bf16", "bf16", "bf16"), ("bf16", "bf16", "f32"),
         ("f16", "f16", "f16"), ("f16", "f16", "f32")]
MIXED = [("f16", "bf16", "f32"), ("bf16", "f16", "f32"), ("f32", "bf16", "f32")]

def make():
    arguments, results, body = [], [], []
    types_of_all = MIXED if sys.argv[3:] else TYPES
    for (kind, other, to), (m, n, k) in itertools.product(types_of_all, SIZES):
        for left, right in itertools.product([False, True], repeat=2):
            # A batch, one right side for all of it, and one matmul.
            for batch, shared in [((), True), ((2, 3), False), ((4,), True)]:
                if batch and (m > 64 or kind == "f16"):
                    continue
                name = str(len(results))
                shapes = [[*batch, *((k, m) if left else (m, k))],
                          [*(() if shared else batch), *((n, k) if right else (k, n))],
                          [*batch, m, n]]
                types = ["tensor<%s>" % "x".join(map(str, [*shape, element]))
                         for shape, element in zip(shapes, [kind, other, to])]
                for side, type in zip("xw", types):
                    arguments.append('%%%s%s: %s {mpt.name = "%s%s", mpt.role = "input"}' %
                                     (side, name, type, side, name))
                flags = [flag for flag, is_set in [("transpose_lhs", left),
                                                   ("transpose_rhs", right)] if is_set]
                body.append("%%y%s = mpt.matmul %%x%s, %%w%s%s : (%s, %s) -> %s" %
                            (name, name, name, " {%s}" % ", ".join(flags) if flags else "",
                             *types))
                results.append('%s {mpt.name = "y%s"}' % (types[2], name))
    names = ", ".join("%%y%d" % i for i in range(len(results)))
    kinds = ", ".join(result.split(" {")[0] for result in results)
    return "\n  ".join(["func.func @step(" + ",\n    ".join(arguments) + ") -> (" +
                        ",\n    ".join(results) + ") {", *body,
                        "return %s : %s" % (names, kinds)]) + "\n}\n"


if sys.argv[1] == "make":
    with open(sys.argv[2], "w") as file:
        file.write(make())
    sys.exit()

import standin_step
from standin_step import Step, encode

lib_dir, cpu_path, cuda_path, how = sys.argv[2:]
standin_step.load(lib_dir)
standin = standin_step.standin
if how == "refuse":
    standin.mpt_standin_fail(b"cublasLtMatmulAlgoGetHeuristic", 0, 15)
elif how == "fail":
    standin.mpt_standin_fail_algorithms(4, 14, 0)
cpu, cuda = Step(cpu_path, False), Step(cuda_path, True, blas=b"" if how == "none" else None)
random.seed(3)
for tensor in cpu.tensors:
    if tensor.role != b"input":
        continue
    count = math.prod(tensor.dims[d] for d in range(tensor.rank))
    data = encode(tensor.type.decode(), [random.randrange(-16, 16) / 8 for _ in range(count)])
    cpu.give(tensor, data)
    cuda.give(tensor, data)
for run in range(2):
    cpu.run()
    cuda.run()
    a, b = cpu.read(), cuda.read()
    for key in a:
        assert a[key] == b[key], (key, [(i, x, y) for i, (x, y) in enumerate(zip(a[key], b[key]))
                                        if x != y][:3])
notes = standin_step.runtime.mpt_rt_notes(cuda.rt).decode().splitlines()
own = [note for note in notes if note.endswith("; MPT's own function runs, which is many times slower")]
standin_step.check_use([cpu, cuda], launches=1)
print("%d matmuls are equal, %d notes of MPT's own functions, as" % (len(a), len(own)))
print(own[0])
