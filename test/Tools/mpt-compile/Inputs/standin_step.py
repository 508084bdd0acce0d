"""Programs run through the C ABI, those for GPUs on the stand-in for CUDA."""
import ctypes
import math
import os
import struct
import sys

runtime = standin = None


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("role", ctypes.c_char_p),
                ("type", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t)]


FORMATS = {"f64": "d", "f32": "f", "f16": "e", "i64": "q", "i32": "i", "i16": "h", "i8": "b",
           "i1": "?"}


def load(lib_dir):
    global runtime, standin
    runtime = ctypes.CDLL(lib_dir + "/libMPTRuntime.so")
    standin = ctypes.CDLL(lib_dir + "/libMPTCudaStandIn.so", mode=ctypes.RTLD_GLOBAL)
    standin.path = (lib_dir + "/libMPTCudaStandIn.so").encode()
    runtime.mpt_rt_create.restype = ctypes.c_void_p
    runtime.mpt_rt_last_error.restype = ctypes.c_char_p
    runtime.mpt_rt_notes.restype = ctypes.c_char_p
    standin.mpt_standin_breach.restype = ctypes.c_char_p
    standin.mpt_standin_alive.restype = ctypes.c_int64
    standin.mpt_standin_calls.restype = ctypes.c_int64
    standin.mpt_standin_map_launches.restype = ctypes.c_int64


def upper_half(kind, value):
    """f8E5M2 is the upper byte of f16, bf16 that of f32."""
    data = struct.pack("<f" if kind == "bf16" else "<e", value)
    return data[len(data) // 2:]


def encode(kind, values):
    if kind in ("bf16", "f8E5M2"):
        return b"".join(upper_half(kind, v) for v in values)
    if kind == "f8E4M3FN":
        # Multiples of 1/8 in [-2, 2).
        def bits(v):
            if v == 0:
                return 0
            fraction, exponent = math.frexp(abs(v))
            return (128 if v < 0 else 0) | (exponent + 6) << 3 | int(fraction * 16) - 8
        return bytes(bits(v) for v in values)
    return struct.pack("<%d%s" % (len(values), FORMATS[kind]), *values)


def decode(kind, data):
    if kind == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    if kind == "f8E5M2":
        return [struct.unpack("<e", bytes([0, byte]))[0] for byte in data]
    if kind == "f8E4M3FN":
        return list(data)
    form = FORMATS[kind]
    return list(struct.unpack("<%d%s" % (len(data) // struct.calcsize(form), form), data))


class Step:
    def __init__(self, path, cuda, cudnn=None, blas=None, tuning=None):
        """`blas`: the name of another cuBLASLt; b"" is the one that the loader finds. `tuning`: the
        file that keeps what is measured."""
        self.rt = ctypes.c_void_p(runtime.mpt_rt_create(2))
        if cuda:
            self.check(runtime.mpt_rt_set_cuda_libraries(self.rt, standin.path,
                                                         standin.path if blas is None else blas))
            self.check(runtime.mpt_rt_set_cudnn_library(self.rt, cudnn or standin.path))
            # Runs that measure are counted as the step's matmuls.
            self.check(runtime.mpt_rt_set_tuning(self.rt, int(bool(tuning)), tuning and tuning.encode()))
        self.check(runtime.mpt_rt_open(self.rt, path.encode()))
        if cuda:
            self.module = ctypes.CDLL(os.path.abspath(path))
            standin.mpt_standin_set_kernels(ctypes.c_void_p(
                ctypes.addressof(ctypes.c_char.in_dll(self.module, "mpt_simt_module"))))
        self.tensors = []
        for i in range(runtime.mpt_rt_num_tensors(self.rt)):
            tensor = Tensor()
            runtime.mpt_rt_get_tensor(self.rt, i, ctypes.byref(tensor))
            self.tensors.append(tensor)
        self.bound = {}

    def check(self, status):
        if status:
            sys.exit("%s: %s %s" % (status, runtime.mpt_rt_last_error(self.rt).decode(),
                                    standin.mpt_standin_breach().decode()))

    def give(self, tensor, data):
        is_input = tensor.role in (b"input", b"target")
        buffer = ctypes.create_string_buffer(data, len(data))
        if is_input:
            self.bound[tensor.name] = buffer
        call = runtime.mpt_rt_bind if is_input else runtime.mpt_rt_write
        self.check(call(self.rt, tensor.name, buffer, ctypes.c_size_t(len(data))))

    def run(self):
        self.check(runtime.mpt_rt_run(self.rt))

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


def check_use(steps, launches):
    """No rule of CUDA was broken, `launches` graphs ran, and nothing is left."""
    assert standin.mpt_standin_breach() == b"", standin.mpt_standin_breach()
    assert standin.mpt_standin_calls(b"cudaGraphLaunch") == launches
    for step in steps:
        runtime.mpt_rt_destroy(step.rt)
    assert standin.mpt_standin_alive() == 0
