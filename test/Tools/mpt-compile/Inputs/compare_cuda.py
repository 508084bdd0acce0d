"""Runs a step compiled for the CPU and for GPUs (on the stand-in for CUDA) from the
same random state on the same random inputs, and compares what they make.

  compare_cuda.py LIB_DIR CPU.so CUDA.so STEPS TOLERANCE [EPILOGUE..] [cudnn=none|KIND..|vVERSION] [cublaslt=VERSION] [maps=BYTES[,ENTRYBYTES,FIRST,LAST]] [mapsfail=CODE] [fail=FUNCTION,CODE] [algorithms=COUNT,STATUS,0|1] [tuning=FILE,FACTOR] [memory=MIB] [sm_NN] [exact=F32.so]

After the first step every tensor must agree within TOLERANCE of its largest
element, or of a thousandth (averages of squares: a millionth) of the largest element
of all of its kind: some gradients, as of a bias of keys before a softmax, are nothing
but rounding. Parameters, which Adam moves by the sign of a gradient, are allowed lr
besides.
With exact=F32.so, the same step in f32 on the CPU, each may differ by the distance of the CPU's
half-precision tensor from that in f32, in addition: sums in another order change which ReLUs are 0.
After all steps the losses must agree within TOLERANCE of the first one. Prints the
largest differences found. The stand-in refuses matmuls with the EPILOGUEs (numbers
of cuBLASLt's); how many matmuls run without theirs is printed, too. With cudnn=none
there is no cuDNN; with cudnn=KIND (a cudnnBackendDescriptorType_t) it refuses such
operations, and with cudnn=vVERSION (of cudnnGetVersion) it is that one. How many convolutions it did in a step, and how many not, is printed.
cublaslt=VERSION is that of cublasLtGetVersion. The first COUNT algorithms of every matmul, or
with 1 of those with an epilogue, fail to run with STATUS; with COUNT 0 none is proposed.
With tuning=FILE,FACTOR proposals are measured, FILE keeps the choice, and matmuls with other
epilogues than a bias take FACTOR times as long.
With maps=BYTES copies by tensor maps read so many bytes further on, ENTRYBYTES more for each batch
entry, those of the maps from number FIRST to LAST, and how many launches had
such maps is printed; with mapsfail=CODE they fail with CODE (600: they never end), and so
does each call of FUNCTION with fail. The device is an sm_90 or sm_NN, or an sm_90 that has so many MIB.
"""
import math
import random
import re
import sys

import standin_step
from standin_step import Step, encode

lib_dir, cpu_path, cuda_path, steps, tolerance, *refused = sys.argv[1:]
steps, tolerance = int(steps), float(tolerance)
standin_step.load(lib_dir)
cudnn = shifted = tuning = exact = None
for word in refused:
    kind = word.removeprefix("cudnn=")
    if word.startswith("sm_"):
        standin_step.standin.mpt_standin_set_device(1, *divmod(int(word[3:]), 10), standin_step.ctypes.c_int64(1 << 30))
    elif word.startswith("memory="):
        standin_step.standin.mpt_standin_set_device(
            1, 9, 0, standin_step.ctypes.c_int64(int(word.removeprefix("memory=")) << 20))
    elif word.startswith("cublaslt="):
        standin_step.standin.mpt_standin_set_cublaslt_version(
            standin_step.ctypes.c_int64(int(word.removeprefix("cublaslt="))))
    elif word.startswith("algorithms="):
        count, status, with_epilogue = map(int, word.removeprefix("algorithms=").split(","))
        if count:
            standin_step.standin.mpt_standin_fail_algorithms(count, status, with_epilogue)
        else:
            standin_step.standin.mpt_standin_fail(b"cublasLtMatmulAlgoGetHeuristic", 0, status)
    elif word.startswith("tuning="):
        tuning, factor = word.removeprefix("tuning=").split(",")
        standin_step.standin.mpt_standin_slow_epilogues(standin_step.ctypes.c_double(float(factor)))
    elif word.startswith("maps="):
        shifted = [int(number) for number in word.removeprefix("maps=").split(",")]
        shifted += [0, 1, 1 << 30][len(shifted) - 1:]
        standin_step.standin.mpt_standin_shift_maps(*map(standin_step.ctypes.c_int64, shifted))
    elif word.startswith("exact="):
        exact = Step(word.removeprefix("exact="), False)
    elif word.startswith("mapsfail="):
        standin_step.standin.mpt_standin_fail_maps(int(word.removeprefix("mapsfail=")))
    elif word.startswith("fail="):
        function, code = word.removeprefix("fail=").split(",")
        standin_step.standin.mpt_standin_fail(function.encode(), 0, int(code))
    elif kind == "none":
        cudnn = b"/none/libcudnn.so.9"
    elif kind.startswith("v"):
        standin_step.standin.mpt_standin_set_cudnn_version(standin_step.ctypes.c_int64(int(kind[1:])))
    elif kind != word:
        standin_step.standin.mpt_standin_refuse_convolutions(int(kind))
    else:
        standin_step.standin.mpt_standin_refuse_epilogue(int(word))
cpu, cuda = Step(cpu_path, False), Step(cuda_path, True, cudnn, tuning=tuning)
random.seed(5)
lr, given = 0.001, {}
for tensor in cpu.tensors:
    kind, role, name = tensor.type.decode(), tensor.role.decode(), tensor.name.decode()
    if role == "output":
        continue
    dims = [tensor.dims[d] for d in range(tensor.rank)]
    count = math.prod(dims)
    if role == "parameter":
        scale = 1 / math.sqrt(math.prod(dims[:-1])) if len(dims) > 1 else 0.1
        values = [random.uniform(-scale, scale) for _ in range(count)]
    elif role in ("input", "target"):
        values = ([random.uniform(-1, 1) for _ in range(count)] if kind[0] in "fb"
                  else [random.randrange(4) for _ in range(count)])
    elif name == "lr":
        values = [lr]
    elif name == "loss_scale":
        values = [1024.0]
    else:
        values = [0] * count
    data = encode(kind, values)
    cpu.give(tensor, data)
    cuda.give(tensor, data)
    given[role, name] = values
if exact:
    for tensor in exact.tensors:
        key = tensor.role.decode(), tensor.name.decode()
        if key[0] != "output":
            exact.give(tensor, encode(tensor.type.decode(), given[key]))
    exact.run()

worst = {}
first = None
for step in range(steps):
    cpu.run()
    cuda.run()
    a, b = cpu.read(), cuda.read()
    if step == 0:
        first = a
        unrounded = exact.read() if exact else {}
        moved = 0
        sizes = {key: max(map(abs, values), default=0) for key, values in a.items()}
        kinds = {}
        for key, largest in sizes.items():
            kind = key[1].split(".")[-1]
            kinds[kind] = max(kinds.get(kind, 0), largest)
        for key, largest in sizes.items():
            kind = key[1].split(".")[-1]
            scale = max(largest, kinds[kind] * (1e-6 if kind.endswith("_sq") else 1e-3))
            difference = max((abs(x - y) for x, y in zip(a[key], b[key])), default=0)
            # A square is off by twice as much, in parts of itself.
            allowed = (2 if kind.endswith("_sq") else 1) * tolerance * scale
            allowed += 2 * lr if key[0] == "parameter" else 0
            if exact and key in unrounded:
                allowed += max(abs(x - y) for x, y in zip(a[key], unrounded[key]))
            assert difference <= allowed, (key, difference, allowed)
            moved += key[1].endswith("exp_avg") and largest > 0
            if scale and key[0] != "parameter":
                worst[key[1]] = difference / scale
        assert moved >= 2, "no gradients"
    x, y = a["output", "loss"][0], b["output", "loss"][0]
    start = first["output", "loss"][0]
    assert abs(x - y) <= tolerance * start, (step, x, y)
    print("loss %d %.7g %.7g" % (step, x, y))
assert y < start, "the loss has not gone down"
notes = standin_step.runtime.mpt_rt_notes(cuda.rt).decode()
print("%d matmuls without their epilogue" % notes.count("without the epilogue"))
executed = standin_step.standin.mpt_standin_calls(b"cudnnBackendExecute")
# The first step goes call by call, the second is recorded.
others = sum(map(int, re.findall(r"it and (\d+) others run without cuDNN", notes)))
print("%d convolutions by cuDNN, %d without" % (executed // 2, notes.count("without cuDNN") + others))
if shifted is not None:
    # Two more check what each computes.
    print("%d launches with tensor maps" % standin_step.standin.mpt_standin_map_launches(b""))
print(notes, end="")
assert standin_step.standin.cudaGetLastError() == 0
standin_step.check_use([cpu, cuda], launches=steps - 1)
name = max(worst, key=worst.get)
print("largest difference after one step: %.3g of %s" % (worst[name], name))
