"""TrainStep on a GPU, here MPT's stand-in for CUDA: check_cuda.py FOLDER LIBRARY"""
import ctypes
import os
import pathlib
import pickle
import sys
import tempfile
import types
import unittest.mock
import warnings

import numpy
import torch
from torch.nn import functional as F

import mpt
import mpt.torch

folder, library = sys.argv[1:]
CUDA = {"cudart": library, "cublaslt": library, "emulated_kernels": True}


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32),
                ("dtype", DataType), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]


class DeviceArray:
    """An array in the memory of the stand-in, as another library would hand it on."""

    def __init__(self, values, device=0):
        self.cuda, self.device = ctypes.CDLL(library), device
        self.shape, self.kind = values.shape, values.dtype.kind
        self.bits, self.bytes = 8 * values.dtype.itemsize, values.nbytes
        self.kept, self.dtype = [], torch.from_numpy(values).dtype
        self.memory, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.cuda.cudaMalloc(ctypes.byref(self.memory), ctypes.c_size_t(self.bytes)) == 0
        assert self.cuda.cudaStreamCreateWithFlags(ctypes.byref(self.stream), 1) == 0
        self.fill(values)

    def fill(self, values):
        assert self.cuda.cudaMemcpyAsync(self.memory, ctypes.c_void_p(values.ctypes.data),
                                         ctypes.c_size_t(self.bytes), 1, self.stream) == 0

    def __dlpack_device__(self):
        return 2, self.device  # kDLCUDA

    def __dlpack__(self, **_):
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        code = {"f": 2, "i": 0}[self.kind]
        managed = Managed(Tensor(self.memory, Device(2, self.device), len(self.shape),
                                 DataType(code, self.bits, 1), shape, None, 0), None, None)
        # Who imports it may keep it for long.
        self.kept.append((managed, shape))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                       ctypes.c_void_p]
        return new(ctypes.addressof(managed), b"dltensor", None)


def make(device, **options):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(),
                                torch.nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    return mpt.torch.TrainStep(model, lambda model, x, y: F.cross_entropy(model(x), y),
                               optimizer=optimizer, example=(x, y), precision="bf16",
                               device=device, **options)


def refused(tried, *arguments, **named):
    try:
        tried(*arguments, **named)
    except mpt.Error as error:
        print("refused:", str(error).splitlines()[0])
    else:
        print("NOT REFUSED")


torch.manual_seed(1)
x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))
cpu, gpu = make("cpu"), make("cuda", cuda=CUDA)
print("target:", gpu._first.program.target)
on_cpu = [cpu(x, y).loss for _ in range(5)]
on_gpu = [gpu(x, y).loss for _ in range(5)]
print("close:", all(abs(a - b) < 0.02 * abs(a) for a, b in zip(on_cpu, on_gpu)))
print("learns:", on_gpu[-1] < on_gpu[0])

# The result of a step is read while the next one runs: nothing waits for the stream of the steps,
# also where a scheduler changes the rate, and for two events a step (inputs and results). Who does
# not look at a result gets the same, and the last one when it is asked for.
def calls(name):
    count = ctypes.CDLL(library).mpt_standin_calls
    count.restype = ctypes.c_int64
    return count(name.encode())


EVENTS, STREAMS = "cudaEventSynchronize", "cudaStreamSynchronize"
turn = make("cuda", cuda=CUDA)
late = make("cuda", cuda=CUDA)
results, counts, in_turn = [], [], []
for step in range(8):
    turn.lr = late.lr = 0.01 / (1 + step)
    in_turn.append(turn(x, y).loss)
    before = calls(EVENTS), calls(STREAMS)
    results.append(late(x, y))
    counts.append((calls(EVENTS) - before[0], calls(STREAMS) - before[1]))
print("waits:", counts[3:])
print("known:", [r._read is None for r in results])
print("the last one:", pickle.loads(pickle.dumps(results[-1])).loss == in_turn[-1],
      results[-1]._read is None, "loss=" in repr(results[-1]), hasattr(results[-1], "other"))
print("the same:", [r.loss for r in results] == in_turn, len(set(in_turn)))

# Batches that lie on the GPU are copied there before the call returns.
other = make("cuda:0", cuda=CUDA)
arrays = DeviceArray(x.numpy()), DeviceArray(y.numpy())
from_gpu = []
for _ in range(5):
    from_gpu.append(other(*arrays).loss)
    arrays[0].fill(numpy.zeros((8, 16), "f"))
    arrays[0].fill(x.numpy())
print("from the GPU:", from_gpu == on_gpu)
print("mixed:", other(x, arrays[1]).loss == gpu(x, y).loss)

# Programs that run in a stream of the caller's read what the work before them there has left, and
# nothing that comes after. Where one of two streams waits for the other, the stand-in does the work
# of the first (`is_late`), or of the program, only when something waits for it.
def in_stream(program, steps, is_late):
    cuda = arrays[0].cuda
    first, own, event = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    for stream in (first, own):
        assert cuda.cudaStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
    assert cuda.cudaEventCreateWithFlags(ctypes.byref(event), 2) == 0
    program.set_stream(own.value)
    program.bind("x", arrays[0])
    program.bind("y", arrays[1])
    keep = [x.numpy(), numpy.full((8, 16), 1e6, "f")]
    losses = []
    for _ in range(steps):
        if is_late:
            assert cuda.cudaEventRecord(event, first) == 0
            assert cuda.cudaStreamWaitEvent(own, event, 0) == 0
        for index, values in enumerate(keep):
            if index == 1:
                program.run()
            assert cuda.cudaMemcpyAsync(arrays[0].memory, ctypes.c_void_p(values.ctypes.data),
                                        ctypes.c_size_t(values.nbytes), 1, own) == 0
        losses.append(float(numpy.asarray(program.read("loss"))))
    assert cuda.cudaStreamSynchronize(own) == 0
    arrays[0].fill(x.numpy())
    return losses


for is_late in (True, False):
    streamed = make("cuda", cuda=CUDA)
    streamed._write_rate(0, streamed.lr)
    print("in a stream:", in_stream(streamed._first.program, 5, is_late) == on_gpu)

# What a program has made is handed on where it lies.
view = streamed._first.program.view("loss")
print("view:", view.__dlpack_device__())
address = ctypes.c_void_p()
copy = ctypes.c_float()
capsule = view.__dlpack__()
get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
managed = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(Managed)).contents
stream = ctypes.c_void_p()
assert arrays[0].cuda.cudaStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
assert arrays[0].cuda.cudaMemcpyAsync(ctypes.byref(copy), ctypes.c_void_p(managed.tensor.data),
                                      ctypes.c_size_t(4), 2, stream) == 0
print("the loss:", copy.value == on_gpu[-1])
refused(make("cuda", cuda=CUDA)._first.program.view, "loss")

# What a driver refuses is told, and what runs instead.
arrays[0].cuda.mpt_standin_refuse_machine_code(200)
older = make("cuda", cuda=CUDA)
print("notes:", repr(older.notes), older(x, y).loss == on_gpu[0], older.notes.strip())
arrays[0].cuda.mpt_standin_refuse_machine_code(0)
quiet = make("cuda", cuda={**CUDA, "tune": False})
print("no notes:", repr(quiet.notes), repr(cpu.notes))

# Measured steps are those of a graph: the same bits, launch by launch.
with gpu.profile() as profile:
    measured = [gpu(x, y).loss for _ in range(2)]
print("profile:", measured == [other(x, y).loss for _ in range(2)], gpu(x, y).loss == other(x, y).loss,
      profile.data["steps"], len(profile.data["instructions"]) > 0)

# State, evaluation, files.
same = [torch.equal(a, b) for a, b in zip(gpu.state_dict().values(),
                                          other.state_dict().values())]
print("state:", all(same))
predict = gpu.evaluator(lambda model, x: model(x).argmax(-1))
print("evaluated:", predict(x).shape, torch.equal(predict(x), predict(arrays[0])))
path = gpu.export(os.path.join(folder, "step.so"))
opened = mpt.Program.open(path, device="cuda", cuda=CUDA)
opened.bind("x", x)
opened.bind("y", arrays[1])
opened.run()
print("exported:", opened.target, float(numpy.asarray(opened.read("loss"))) == gpu(x, y).loss)
gpu.save(os.path.join(folder, "gpu.safetensors"))
print("saved:", os.path.exists(os.path.join(folder, "gpu.safetensors")))

# Batches of other shapes train the same state; of such programs max_programs stay.
turns = [8, 4, 8, 5, 4]
some_cpu, some_gpu = make("cpu"), make("cuda", cuda=CUDA, max_programs=2)
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    losses = [(some_cpu(x[:n], y[:n]).loss, some_gpu(x[:n], y[:n]).loss) for n in turns]
print("shapes:", all(abs(a - b) < 0.02 * abs(a) for a, b in losses), len(some_gpu._programs),
      sum("max_programs=2" in str(w.message) for w in found))
print("one state:", all(torch.allclose(a, b, atol=2e-3) for a, b in zip(
    some_cpu.state_dict().values(), some_gpu.state_dict().values())),
    int(some_gpu._read("step")) == len(turns))
# Of one shape only, the bits are those of the program that was made first.
first, second = make("cuda", cuda=CUDA), make("cuda", cuda=CUDA)
second(x[:4], y[:4])
first.load_state_dict(second.state_dict())
first.load_optimizer_state_dict(second.optimizer_state_dict())
print("goes on:", first(x, y).loss == second(x, y).loss)

# A tensor of another GPU is refused before its stream is taken.
class DeviceTensor(DeviceArray):
    is_cuda = True

    def detach(self):
        return self


class Recorded:
    def __init__(self, program):
        self.bind, self.streams = program.bind, []
        self.set_stream = self.streams.append


recorded = Recorded(other._first.program)
with unittest.mock.patch("torch.cuda.current_stream",
                         lambda _: types.SimpleNamespace(cuda_stream=7)):
    refused(other._bind_device, recorded, "x", DeviceTensor(x.numpy(), device=1))
    print("streams:", recorded.streams)
    other._bind_device(recorded, "x", DeviceTensor(x.numpy()))
    print("streams:", recorded.streams)
refused(other, DeviceArray(x.numpy(), device=1), y)
refused(cpu, arrays[0], y)
refused(gpu, DeviceArray(x.double().numpy()), y)
refused(gpu, x.to("meta"), y)
refused(cpu._first.program.set_stream, 0)
refused(make, "cuda:7", cuda=CUDA)
refused(make, "cuda", cuda={"cudart": "/none.so"})
refused(make, "cuda", cuda={"cuda": "12"})
refused(make, "cuda", cuda={**CUDA, "graph_branches": True})
refused(make, "cuda", cuda={**CUDA, "graph_branches": 4})
losses = {}
for branches in (1, 2, 3):
    trained = make("cuda", cuda={**CUDA, "graph_branches": branches})
    losses[branches] = [float(trained(x, y).loss) for _ in range(3)]
print("branches:", [losses[branches] == losses[3] for branches in losses])

# What was measured of cuBLASLt's algorithms is kept in the user's cache.
def measured(**cuda):
    with (tempfile.TemporaryDirectory() as cache,
          unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=cache)):
        assert make("cuda", cuda={**CUDA, **cuda})(x, y).loss > 0
        return [path.suffix for path in pathlib.Path(cache).rglob("*.*")]


print("measured:", measured(), measured(tune=False))
