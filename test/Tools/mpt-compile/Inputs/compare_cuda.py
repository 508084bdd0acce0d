"""Runs a step compiled for the CPU and for GPUs (on the stand-in for CUDA) from the
same random state on the same random inputs, and compares what they make.

  compare_cuda.py LIB_DIR CPU.so CUDA.so STEPS TOLERANCE

After the first step every tensor must agree within TOLERANCE of its largest
element; parameters, which Adam moves by the sign of a gradient, within lr besides.
After all steps the losses must agree within TOLERANCE of the first one. Prints the
largest differences found.
"""
import ctypes
import math
import random
import struct
import sys

lib_dir, cpu_path, cuda_path, steps, tolerance = sys.argv[1:]
steps, tolerance = int(steps), float(tolerance)
runtime = ctypes.CDLL(lib_dir + "/libMPTRuntime.so")
standin = ctypes.CDLL(lib_dir + "/libMPTCudaStandIn.so", mode=ctypes.RTLD_GLOBAL)
runtime.mpt_rt_create.restype = ctypes.c_void_p
runtime.mpt_rt_last_error.restype = ctypes.c_char_p
standin.mpt_standin_breach.restype = ctypes.c_char_p
standin.mpt_standin_alive.restype = ctypes.c_int64
standin.mpt_standin_calls.restype = ctypes.c_int64


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("role", ctypes.c_char_p),
                ("type", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t)]


FORMATS = {"f64": "d", "f32": "f", "f16": "e", "i64": "q", "i32": "i", "i8": "b", "i1": "?"}


def encode(kind, values):
    if kind == "bf16":
        return b"".join(struct.pack("<f", v)[2:] for v in values)
    return struct.pack("<%d%s" % (len(values), FORMATS[kind]), *values)


def decode(kind, data):
    if kind == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    form = FORMATS[kind]
    return list(struct.unpack("<%d%s" % (len(data) // struct.calcsize(form), form), data))


class Step:
    def __init__(self, path, cuda):
        self.rt = ctypes.c_void_p(runtime.mpt_rt_create(2))
        if cuda:
            name = (lib_dir + "/libMPTCudaStandIn.so").encode()
            self.check(runtime.mpt_rt_set_cuda_libraries(self.rt, name, name))
        self.check(runtime.mpt_rt_open(self.rt, path.encode()))
        self.tensors = []
        for i in range(runtime.mpt_rt_num_tensors(self.rt)):
            tensor = Tensor()
            runtime.mpt_rt_get_tensor(self.rt, i, ctypes.byref(tensor))
            self.tensors.append(tensor)
        self.bound = []

    def check(self, status):
        if status:
            sys.exit("%s: %s %s" % (status, runtime.mpt_rt_last_error(self.rt).decode(),
                                    standin.mpt_standin_breach().decode()))

    def give(self, tensor, data):
        is_input = tensor.role in (b"input", b"target")
        buffer = ctypes.create_string_buffer(data, len(data))
        self.bound.append(buffer)
        call = runtime.mpt_rt_bind if is_input else runtime.mpt_rt_write
        self.check(call(self.rt, tensor.name, buffer, ctypes.c_size_t(len(data))))

    def read(self):
        found = {}
        for tensor in self.tensors:
            if tensor.role in (b"input", b"target"):
                continue
            buffer = ctypes.create_string_buffer(tensor.bytes)
            call = runtime.mpt_rt_read_output if tensor.role == b"output" else runtime.mpt_rt_read
            self.check(call(self.rt, tensor.name, buffer, ctypes.c_size_t(tensor.bytes)))
            found[tensor.role.decode(), tensor.name.decode()] = decode(
                tensor.type.decode(), buffer.raw)
        return found


cpu, cuda = Step(cpu_path, False), Step(cuda_path, True)
module = ctypes.CDLL(cuda_path)
standin.mpt_standin_set_kernels(ctypes.c_void_p(
    ctypes.addressof(ctypes.c_char.in_dll(module, "mpt_simt_module"))))
random.seed(5)
lr = 0.001
for tensor in cpu.tensors:
    kind, role, name = tensor.type.decode(), tensor.role.decode(), tensor.name.decode()
    if role == "output":
        continue
    dims = [tensor.dims[d] for d in range(tensor.rank)]
    count = math.prod(dims)
    if role == "parameter":
        scale = 1 / math.sqrt(dims[0]) if len(dims) > 1 else 0.1
        values = [random.uniform(-scale, scale) for _ in range(count)]
    elif role in ("input", "target"):
        values = ([random.uniform(-1, 1) for _ in range(count)] if kind[0] in "fb"
                  else [random.randrange(10) for _ in range(count)])
    elif name == "lr":
        values = [lr]
    elif name == "loss_scale":
        values = [1024.0]
    else:
        values = [0] * count
    data = encode(kind, values)
    cpu.give(tensor, data)
    cuda.give(tensor, data)

worst = {}
first = None
for step in range(steps):
    cpu.check(runtime.mpt_rt_run(cpu.rt))
    cuda.check(runtime.mpt_rt_run(cuda.rt))
    a, b = cpu.read(), cuda.read()
    if step == 0:
        first = a
        moved = 0
        for key in a:
            largest = max(map(abs, a[key]), default=0)
            difference = max((abs(x - y) for x, y in zip(a[key], b[key])), default=0)
            allowed = tolerance * largest + (2 * lr if key[0] == "parameter" else 0)
            assert difference <= allowed, (key, difference, allowed)
            moved += key[1].endswith("exp_avg") and largest > 0
            if largest and key[0] != "parameter":
                worst[key[1]] = difference / largest
        assert moved >= 2, "no gradients"
    x, y = a["output", "loss"][0], b["output", "loss"][0]
    start = first["output", "loss"][0]
    assert abs(x - y) <= tolerance * start, (step, x, y)
    print("loss %d %.7g %.7g" % (step, x, y))
assert y < start, "the loss has not gone down"
assert standin.mpt_standin_breach() == b"", standin.mpt_standin_breach()
assert standin.mpt_standin_calls(b"cudaGraphLaunch") == steps - 1
name = max(worst, key=worst.get)
print("largest difference after one step: %.3g of %s" % (worst[name], name))
for step in (cpu, cuda):
    runtime.mpt_rt_destroy(step.rt)
assert standin.mpt_standin_alive() == 0
