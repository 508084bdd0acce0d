"""Runs exported models through MPT's tools and runtime, beside PyTorch.

A model is a PyTorch module, a loss and a batch; MPT's side is mpt.torch.export,
mpt-opt, mpt-compile and the C ABI.
"""
import copy
import ctypes
import os
import re
import subprocess
import tempfile

import numpy
import torch

import mpt.torch

NUMPY = {"f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16, "i64": numpy.int64,
         "i32": numpy.int32, "i16": numpy.int16, "i8": numpy.int8, "i1": numpy.bool_}
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


def convert(text, *passes):
    return run("mpt-opt", text, "-", "--allow-unregistered-dialect", "--mpt-convert-torch",
               "--canonicalize", "--cse", *passes)


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("role", ctypes.c_char_p),
                ("type", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t)]


class Program:
    """A compiled function."""

    def __init__(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "step.mlir")
            path = os.path.join(folder, "step.so")
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            run("mpt-compile", "", source, "-o", path)
            self.context = ctypes.c_void_p(runtime.mpt_rt_create(2))
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
        value = numpy.ascontiguousarray(value)
        self.call("write", name.encode(), value.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(value.nbytes))

    def read(self, name):
        role, type, shape = self.tensors[name]
        value = numpy.empty(shape, NUMPY[type])
        self.call("read_output" if role == "output" else "read", name.encode(),
                  value.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(value.nbytes))
        return value

    def run(self, inputs):
        held = [(n, numpy.ascontiguousarray(v)) for n, v in inputs.items()]
        for name, value in held:
            if name in self.tensors:
                self.call("bind", name.encode(), value.ctypes.data_as(ctypes.c_void_p),
                          ctypes.c_size_t(value.nbytes))
        self.call("run")


def to_numpy(tensor):
    # Some gradients are zeros without memory.
    return tensor.detach().cpu().contiguous().numpy(force=True).copy()


def open_step(exported, *passes):
    """The program of what `passes` make of the exported loss, with PyTorch's values."""
    program = Program(convert(exported.text, *passes))
    for name, value in exported.weights.items():
        if name in program.tensors:
            program.write(name, to_numpy(value))
    return program


def batch_names(exported, batch):
    """The names of inputs and targets, in the order of the batch."""
    names = re.findall(r'mpt.name = "([^"]*)", mpt.role = "(?:input|target)"', exported.text)
    return {name: to_numpy(value) for name, value in zip(names, batch)}


def difference(mine, theirs):
    """The norm of the difference, relative to that of theirs."""
    mine, theirs = mine.astype(numpy.float64), theirs.astype(numpy.float64)
    scale = numpy.linalg.norm(theirs)
    return float(numpy.linalg.norm(mine - theirs) / (scale if scale > 0 else 1.0))


def measure(mine, theirs, exact):
    """(error of mine, error of theirs): norms of differences from `exact`."""
    exact = exact.astype(numpy.float64)
    return (float(numpy.linalg.norm(mine.astype(numpy.float64) - exact)),
            float(numpy.linalg.norm(theirs.astype(numpy.float64) - exact)))


def backward(model, loss, batch):
    """PyTorch's loss and gradients, by name."""
    model.zero_grad()
    value = loss(model, *batch)
    value = value["loss"] if isinstance(value, dict) else value
    value.backward()
    return to_numpy(value), {
        n: to_numpy(p.grad) if p.grad is not None else numpy.zeros(tuple(p.shape), "f")
        for n, p in model.named_parameters() if p.requires_grad}


def to_double(batch):
    return tuple(t.double() if t.is_floating_point() else t for t in batch)


def compare_gradients(model, loss, batch):
    """Loss and gradients of one batch in f32, MPT's and PyTorch's, against PyTorch's in f64.

    Returns (loss, PyTorch's loss, worst ratio of MPT's error to what is allowed, and of
    which tensor, worst error of running statistics). Allowed is 8 times PyTorch's own error
    in f32 plus 1e-6 of the tensor's norm and 1e-6 of the mean norm of the gradients: sums
    in another order differ by as much as either does from the exact one.
    """
    exact = copy.deepcopy(model).double()
    exported = mpt.torch.export(model, loss, batch)
    program = open_step(exported, "--mpt-autodiff")
    program.run(batch_names(exported, batch))
    theirs, gradients = backward(model, loss, batch)
    reference, references = backward(exact, loss, to_double(batch))
    mean = numpy.mean([numpy.linalg.norm(g) for g in references.values()] or [0])
    mine = program.read("loss")
    worst, which = 0.0, ""
    checked = [("loss", mine, theirs, reference)] + [
        (name, program.read("grad." + name), gradients[name], references[name])
        for name in gradients]
    for name, a, b, c in checked:
        error, allowed = measure(a, b, c)
        allowed = 8 * allowed + 1e-6 * float(numpy.linalg.norm(c)) + 1e-6 * float(mean)
        ratio = error / allowed if allowed else float(error > 0)
        if not ratio <= worst:
            worst, which = ratio, f"{name} ({error:.1e} of {numpy.linalg.norm(c):.1e})"
    statistics = 0.0
    buffers = dict(model.named_buffers())
    for name in exported.weights:
        if name in buffers and name in program.tensors:
            statistics = max(statistics, difference(program.read(name),
                                                    to_numpy(buffers[name])))
    return float(mine), float(theirs), worst, which, statistics
