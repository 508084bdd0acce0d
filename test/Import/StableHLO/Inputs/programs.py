"""Functions of JAX as programs of MPT, and modules of StableHLO as programs of XLA.

MPT's side is mpt-opt, mpt-compile and the C ABI.
"""
import ctypes
import os
import re
import subprocess
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Each convert rounds.
os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "")
                           + " --xla_allow_excess_precision=false")

import jax
import ml_dtypes
import numpy
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

TYPES = {"f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16,
         "bf16": ml_dtypes.bfloat16, "i64": numpy.int64, "i32": numpy.int32,
         "i16": numpy.int16, "i8": numpy.int8, "i1": numpy.bool_}
runtime = None
tools = None


def use(build):
    """Tools and runtime of the build folder `build`."""
    global runtime, tools
    tools = os.path.join(build, "bin")
    runtime = ctypes.CDLL(os.path.join(build, "lib", "libMPTRuntime.so"))
    runtime.mpt_rt_create.restype = ctypes.c_void_p
    runtime.mpt_rt_last_error.restype = ctypes.c_char_p


class Refused(Exception):
    """A tool's message."""


def run(tool, text, *options):
    done = subprocess.run([os.path.join(tools, tool), *options], input=text, text=True,
                          capture_output=True)
    if done.returncode:
        raise Refused(done.stderr or f"{tool}: exit status {done.returncode}")
    return done.stdout


def lower(function, *arguments, **options):
    """The generic StableHLO that JAX lowers a function to."""
    module = jax.jit(function, keep_unused=True, **options).lower(*arguments).compiler_ir(
        "stablehlo")
    return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)


def convert(text, *passes, options=""):
    name = "--mpt-convert-stablehlo" + (f"={options}" if options else "")
    return run("mpt-opt", text, "-", "--allow-unregistered-dialect", name,
               "--canonicalize", "--cse", *passes)


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("role", ctypes.c_char_p),
                ("type", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t)]


class Program:
    """A compiled function of the mpt dialect."""

    def __init__(self, text, threads=2):
        signature = re.search(r"func\.func @.*", text)[0].split(") -> ")
        self.arguments = re.findall(r'mpt\.name = "([^"]*)"', signature[0])
        self.results = re.findall(r'mpt\.name = "([^"]*)"', signature[-1])
        self.updates = dict(re.findall(r'mpt\.name = "([^"]*)", mpt\.updates = "([^"]*)"',
                                       signature[-1]))
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "step.mlir")
            path = os.path.join(folder, "step.so")
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            run("mpt-compile", "", source, "-o", path)
            self.context = ctypes.c_void_p(runtime.mpt_rt_create(threads))
            self.call("open", path.encode())
        self.tensors = {}
        for index in range(runtime.mpt_rt_num_tensors(self.context)):
            tensor = Tensor()
            runtime.mpt_rt_get_tensor(self.context, index, ctypes.byref(tensor))
            self.tensors[tensor.name.decode()] = (
                tensor.role.decode(), tensor.type.decode(),
                tuple(tensor.dims[i] for i in range(tensor.rank)))

    def __del__(self):
        if getattr(self, "context", None):
            runtime.mpt_rt_destroy(self.context)

    def call(self, name, *arguments):
        if getattr(runtime, "mpt_rt_" + name)(self.context, *arguments):
            raise Refused(runtime.mpt_rt_last_error(self.context).decode())

    def write(self, name, value):
        if name not in self.tensors:  # what the function does not read
            return
        role, type, shape = self.tensors[name]
        value = self.spell(value, type)
        assert value.shape == shape, (name, value.shape, shape)
        kind = "bind" if role in ("input", "target") else "write"
        self.held = getattr(self, "held", {})
        self.held[name] = value
        self.call(kind, name.encode(), value.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(value.nbytes))

    @staticmethod
    def spell(value, type):
        """Unsigned integers are signless ones with the same bits."""
        value = numpy.asarray(value)
        if value.dtype.kind == "u":
            value = value.view(TYPES[type])
        return numpy.ascontiguousarray(value.astype(TYPES[type])).reshape(value.shape)

    def read(self, name):
        role, type, shape = self.tensors[name]
        value = numpy.empty(shape, TYPES[type])
        self.call("read_output" if role == "output" else "read", name.encode(),
                  value.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(value.nbytes))
        return value

    def __call__(self, *leaves):
        """The results for these arguments, in the function's order."""
        for name, value in zip(self.arguments, leaves, strict=True):
            self.write(name, value)
        self.call("run")
        return [self.read(self.updates.get(name, name)) for name in self.results]


class XLA:
    """A module of StableHLO that XLA compiles for the CPU."""

    def __init__(self, text):
        with mlir.make_ir_context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            device = jax.devices("cpu")[0]
            self.executable = device.client.compile_and_load(
                module, xla_client.DeviceList((device,)), xla_client.CompileOptions())

    def __call__(self, *leaves):
        results = self.executable.execute_sharded([jax.device_put(leaf) for leaf in leaves])
        return [numpy.asarray(shards[0])
                for shards in results.disassemble_into_single_device_arrays()]


def difference(mine, theirs):
    """The norm of the difference, relative to that of theirs; 0 for equal infinities."""
    mine, theirs = (numpy.asarray(x).astype(numpy.float64) for x in (mine, theirs))
    same = (mine == theirs) | (numpy.isnan(mine) & numpy.isnan(theirs))
    gap = numpy.where(same, 0, numpy.where(same, 0, mine) - numpy.where(same, 0, theirs))
    scale = numpy.linalg.norm(numpy.where(same, 0, theirs)) or numpy.linalg.norm(
        numpy.where(numpy.isfinite(theirs), theirs, 0))
    return float(numpy.linalg.norm(gap) / (scale if scale > 0 else 1.0))
