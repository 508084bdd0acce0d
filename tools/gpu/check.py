"""Runs what pack.py packed, on a machine with a GPU, and writes one JSON report.

    check.py [--folder FOLDER] [--report report.json] [--only sincos] [--check] [--ranks] [--time]
             [--torch] [--sanitize] [--no-train] [--time-limit 90] [--part-limit 480] [--stand-in LIBRARY]
             [--cudart FILE] [--cublaslt FILE] [--cudnn FILE] [--nccl FILE]

--check compares each network's step with the oracle's recorded results, runs it again, launch
by launch, for the same bits, and trains it; --ranks exchanges values by NCCL as
one rank, and, where there are two GPUs, runs a step of two, whose bits are those of a step that accumulates;
--time times the larger steps, with a profile of
each; --torch times PyTorch's and JAX's, where Python has them; --sanitize runs small networks under
compute-sanitizer. Without any of these, all but the last run. Each runs in a process of its
own, which ends after --time-limit seconds, or with this one; after --part-limit seconds no more
of a part begin. The report is written before and after each: "running" is what was under way
when it was written last, null at the end. Needs nothing but
Python. Ends with 1 if a comparison failed or was left out for time; times of others that were not
taken do not count.
"""

import argparse
import array
import contextlib
import ctypes
import functools
import glob
import gzip
import hashlib
import json
import math
import os
import random
import re
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

FORMATS = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "I8": "b", "BOOL": "b"}
SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2}
# Of a loss, relative; of a gradient, in norm; of a gradient, along itself. Low precision
# rounds where the oracle does, but sums in another order, which moves some values to the
# next one. A value that comes to the other side of a relu, or of another one of its pool,
# changes all of its gradient: where a share p of the values does, the gradient moves by
# sqrt(p). In low precision p is about a rounding of each layer (one is 2 % of the
# gradient in f16, 6 % in bf16; a U-Net in bf16 on the CPU is 11 % off), in f32 hardly
# one of ten thousand. Such changes have any direction: along the gradient they are far
# smaller (3 % there), where what is missing, or scaled wrong, shows in full.
TOLERANCES = {"f32": (1e-4, 1e-2, 1e-2), "f16": (1e-2, 2.5e-1, 1e-1), "bf16": (3e-2, 2.5e-1, 1e-1)}
# Recipes of 8-bit floats, in whose steps all else is bf16.
RECIPES = ("current", "deepseek", "mxfp8")
TOLERANCES.update(dict.fromkeys(RECIPES, TOLERANCES["bf16"]))
# Of the first loss of a timed step whose logits are close to zero, against that of equal
# probabilities. Of other steps pack.py has computed it, and TOLERANCES holds.
FIRST_LOSS = 0.1
SANITIZED = ("sincos", "gpt")
# How the timed steps are also run: PyTorch's ways, and JAX's in bf16. The fastest ones come first, each for all networks:
# where time runs out, it is the slow ones that are left out.
OTHERS = ("compile", "reduce-overhead", "eager-amp", "jax", "eager-f32")
# What an element of a gradient may be wrong by: sixteen roundings in f32, of which an
# exponential on a GPU makes some; two in a low type, what lies between being f32.
NOISE = {"f32": 2.0 ** -20, "f16": 2.0 ** -10, "bf16": 2.0 ** -7, **dict.fromkeys(RECIPES, 2.0 ** -3)}


def decode(kind, data):
    """Numbers of a safetensors entry."""
    if kind == "BF16":
        words = array.array("H", data)
        return array.array("f", array.array("I", [word << 16 for word in words]).tobytes())
    if kind == "F16":
        return list(struct.unpack(f"<{len(data) // 2}e", data))
    return array.array(FORMATS[kind], data)


@contextlib.contextmanager
def whole(path):
    """Says of which file of the pack it is that it is missing, cut short or damaged."""
    try:
        yield
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError) as error:
        raise Failure(f"{path} cannot be read ({error or type(error).__name__}): carry the folder again") from None


def read_safetensors(path):
    with whole(path):
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            body = file.read()
        found = {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
                 for name, entry in header.items() if name != "__metadata__"}
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        if len(body) < max(ends, default=0):
            raise ValueError(f"{len(body)} bytes of {max(ends)}")
    return found


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("role", ctypes.c_char_p), ("type", ctypes.c_char_p),
                ("rank", ctypes.c_int32), ("dims", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t)]


class Failure(Exception):
    pass


class Runtime:
    """The runtime; without CUDA's libraries, which is enough for programs of the CPU."""
    cudart = cublaslt = cudnn = nccl = standin = None
    uses_cudnn = True

    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.mpt_rt_create.restype = ctypes.c_void_p
        self.library.mpt_rt_last_error.restype = ctypes.c_char_p
        self.library.mpt_rt_cuda_stream.restype = ctypes.c_void_p
        for name in ("arena", "state"):
            getattr(self.library, f"mpt_rt_{name}_bytes").restype = ctypes.c_size_t
        self.library.mpt_rt_notes.restype = ctypes.c_char_p
        self.library.mpt_rt_create_communicator.restype = ctypes.c_void_p
        self.library.mpt_rt_communicator_error.restype = ctypes.c_char_p
        self.library.mpt_rt_get_sent_bytes.restype = ctypes.c_uint64


class CudaRuntime(Runtime):
    def __init__(self, folder, options):
        super().__init__(os.path.join(folder, "libMPTRuntimeCuda.so"))
        self.cudart, self.cublaslt, self.cudnn = options.cudart, options.cublaslt, options.cudnn
        self.nccl = options.stand_in or options.nccl or find_library("nccl", (2,))
        self.uses_cudnn = not options.without_cudnn
        if options.stand_in:
            self.standin = ctypes.CDLL(options.stand_in, mode=ctypes.RTLD_GLOBAL)
            self.standin.mpt_standin_breach.restype = ctypes.c_char_p
            self.cudart = self.cublaslt = self.cudnn = options.stand_in
        elif not self.cudart:
            self.cudart, self.cublaslt, cudnn = find_libraries()
            self.cudnn = self.cudnn or cudnn


def find_libraries():
    """CUDA's libraries, by name if the loader finds them, else where PyPI's wheels and
    the toolkit have them."""
    return [find_library(name, versions)
            for name, versions in (("cudart", (13, 12)), ("cublasLt", (13, 12)), ("cudnn", (9,)))]


def find_library(name, versions):
    places = [path for base in sys.path + ["/opt/torch/.venv/lib/python3*/site-packages"] if base
              for path in glob.glob(os.path.join(base, "nvidia", "*", "lib"))]
    places += ["/usr/local/cuda/lib64"]

    def loads(file):
        try:
            ctypes.CDLL(file)
            return True
        except OSError:
            return False
    named = [f"lib{name}.so.{version}" for version in versions]
    files = [file for place in places for pattern in named for file in glob.glob(os.path.join(place, pattern))]
    return next((file for file in files + named if loads(file)), "")


@functools.cache
def get_folder():
    """Where this process unpacks programs; it goes with the process."""
    return tempfile.TemporaryDirectory(prefix="gpu-check-", ignore_cleanup_errors=True)


@functools.cache
def unpack(path):
    """The program that `path` has packed. There is one file of each: the runtime keeps beside it which algorithms it
    has measured to be the fastest, and all runs of this process take these."""
    target = os.path.join(get_folder().name, os.path.basename(path)[:-len(".gz")])
    with whole(path), gzip.open(path) as packed, open(target, "wb") as file:
        shutil.copyfileobj(packed, file)
    return target


class Program:
    """One open program."""

    def __init__(self, runtime, path, communicator=None, device=0, tunes=True):
        self.runtime, self.rt = runtime, ctypes.c_void_p(runtime.library.mpt_rt_create(1))
        self.bound = {}
        if path.endswith(".gz"):
            path = unpack(path)
        self.path = path
        call = runtime.library.mpt_rt_set_cuda_libraries
        self.try_(call(self.rt, (runtime.cudart or "").encode(), (runtime.cublaslt or "").encode()))
        # What there is not, a program does without.
        cudnn = runtime.cudnn if runtime.uses_cudnn else "/none/libcudnn.so.9"
        self.try_(runtime.library.mpt_rt_set_cudnn_library(self.rt, (cudnn or "").encode()))
        self.try_(runtime.library.mpt_rt_set_nccl_library(self.rt, (runtime.nccl or "").encode()))
        self.try_(runtime.library.mpt_rt_set_cuda_device(self.rt, device))
        self.try_(runtime.library.mpt_rt_set_communicator(self.rt, ctypes.c_void_p(communicator)))
        self.try_(runtime.library.mpt_rt_set_tuning(self.rt, int(tunes), None))
        self.try_(runtime.library.mpt_rt_open(self.rt, path.encode()))
        if runtime.standin:
            self.module = ctypes.CDLL(path)
            kernels = ctypes.addressof(ctypes.c_char.in_dll(self.module, "mpt_simt_module"))
            runtime.standin.mpt_standin_set_kernels(ctypes.c_void_p(kernels))
        self.tensors = {}
        for i in range(runtime.library.mpt_rt_num_tensors(self.rt)):
            tensor = Tensor()
            runtime.library.mpt_rt_get_tensor(self.rt, i, ctypes.byref(tensor))
            self.tensors[tensor.role.decode() == "output", tensor.name.decode()] = tensor

    def try_(self, status):
        if status:
            text = self.runtime.library.mpt_rt_last_error(self.rt).decode()
            if self.runtime.standin:
                text += " " + self.runtime.standin.mpt_standin_breach().decode()
            raise Failure(text.strip())

    def write(self, name, data):
        self.try_(self.runtime.library.mpt_rt_write(self.rt, name.encode(), bytes(data), ctypes.c_size_t(len(data))))

    def bind(self, name, data):
        self.bound[name] = ctypes.create_string_buffer(bytes(data), len(data))
        self.try_(self.runtime.library.mpt_rt_bind(self.rt, name.encode(), self.bound[name], ctypes.c_size_t(len(data))))

    def run(self):
        self.try_(self.runtime.library.mpt_rt_run(self.rt))

    def read(self, name, output=False):
        tensor = self.tensors[output, name]
        buffer = ctypes.create_string_buffer(tensor.bytes)
        call = self.runtime.library.mpt_rt_read_output if output else self.runtime.library.mpt_rt_read
        self.try_(call(self.rt, name.encode(), buffer, ctypes.c_size_t(tensor.bytes)))
        return buffer.raw

    def loss(self):
        kind = self.tensors[True, "loss"].type.decode().upper()
        return float(decode(kind, self.read("loss", output=True))[0])

    def bytes(self):
        return {name: getattr(self.runtime.library, f"mpt_rt_{name}_bytes")(self.rt) for name in ("arena", "state")}

    def refusals(self):
        """What cuDNN did not do, where it was asked."""
        notes = self.runtime.library.mpt_rt_notes(self.rt).decode().splitlines()
        # One note may tell of all.
        found = [(note, 1 + int(count or 0)) for note in notes
                 for count in re.findall(r"; it(?: runs| and (\d+) others run) without cuDNN$", note)]
        return {"without_cudnn": sum(count for _, count in found), "without_cudnn_first": found[0][0]} if found else {}

    def chosen(self):
        """What measuring has chosen, and the lines of the file that keeps it: number, count, ns, ns of the first, plan."""
        notes = self.runtime.library.mpt_rt_notes(self.rt).decode().splitlines()
        found = {"measured": [note for note in notes if " plans were " in note]}
        if os.path.exists(self.path + ".tuning"):
            with open(self.path + ".tuning") as file:
                found["tuning"] = file.read().splitlines()[1:]
        return found

    def profile(self):
        """What the last step ran: the number of each instruction, what it is, its place and its milliseconds."""
        what, where, ms = ctypes.c_char_p(), ctypes.c_char_p(), ctypes.c_double()
        found, library = [], self.runtime.library
        while library.mpt_rt_get_profile(self.rt, len(found), ctypes.byref(what), ctypes.byref(where), ctypes.byref(ms)) == 0:
            number = library.mpt_rt_get_profile_instruction(self.rt, len(found))
            found.append({"number": number, "call": what.value.decode(), "source": where.value.decode(), "ms": ms.value})
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runtime.library.mpt_rt_destroy(self.rt)


def open_with_state(runtime, folder, entry):
    program = Program(runtime, os.path.join(folder, entry["program"]))
    first = {}
    for name in entry["init"]:
        first.update(read_safetensors(os.path.join(folder, name)))
    for name, (_, _, data) in first.items():
        program.write(name, data)
    return program, first


def batches(folder, entry):
    """The batches of the network's data, each as name -> bytes."""
    data = read_safetensors(os.path.join(folder, entry["network"] + ".data.safetensors"))
    rows, batch = next(iter(data.values()))[1][0], entry["batch"]
    return [{name[5:]: body[len(body) // rows * i:len(body) // rows * (i + batch)]
             for name, (_, _, body) in data.items()} for i in range(0, rows - batch + 1, batch)]


def norm(values):
    return math.sqrt(sum(x * x for x in values))


def compare_gradients(found, oracle, precision):
    """The largest error of a gradient, as a share of what is allowed, and of which.

    Errors are measured against the larger of the oracle's gradient and its noise.
    Some biases have no gradient: softmax and norms of batches take away what a bias of
    keys, or one ahead of a norm, adds to all of a row or column. Theirs is the rounding
    of what they sum up, the gradient dy of their layer's output, and differs altogether.
    Where each element of dy is wrong by e, their sum is by about e |dy|. The gradient of
    the layer's weights, x^T dy, sums the same rows times the layer's inputs x, so that
    it is about |dy| times the norm of a row of x, 1 or more, as long as rows differ (were
    they all alike, it would be rounding, too). So the gradient of a bias may always be
    e |x^T dy| off. All others have no noise.
    """
    _, bound, bound_along = TOLERANCES[precision]
    worst, of = 0.0, None
    for name, values in oracle.items():
        size = norm(values)
        weights = oracle.get(re.sub(r"_b\.exp_avg$", "_w.exp_avg", name))
        noise = NOISE[precision] * norm(weights) if weights else 0.0
        scale = max(size, noise / bound) or 1.0
        differences = [x - y for x, y in zip(found[name], values)]
        along = abs(sum(d * y for d, y in zip(differences, values))) / (size or 1.0)
        error = max(norm(differences) / scale / bound, along / scale / bound_along)
        if math.isnan(error):
            return error, name
        if of is None or error > worst:
            worst, of = error, name
    return worst, of


def check(runtime, folder, entry, steps):
    """The step against the oracle: gradients of the first step, losses of all.

    Gradients show in the first moments. After the first step these are nothing but
    gradients, of parameters that are the same for both. Later ones are not comparable:
    Adam moves a parameter by the sign of a gradient, however small, so that rounding
    becomes a difference of 2 lr, and grows. What is wrong with an update, or with state
    from step to step, shows in the losses.
    """
    after = read_safetensors(os.path.join(folder, f"{entry['network']}.{entry['precision']}.after.safetensors.gz"))
    oracle = {name: decode(kind, data) for name, (kind, _, data) in after.items()}
    first_batch = batches(folder, entry)[0]

    def run(launches):
        """Losses, first moments after the first step, all state after the last, and notes."""
        program, first = open_with_state(runtime, folder, entry)
        with program:
            runtime.library.mpt_rt_set_profiling(program.rt, int(launches))
            for name, data in first_batch.items():
                program.bind(name, data)
            losses = []
            for _ in range(steps):
                program.run()
                losses.append(program.loss())
                if len(losses) == 1:
                    moments = {name: program.read(name) for name in after}
            return losses, moments, {name: program.read(name) for name in first}, {**program.bytes(),
                                                                                   **program.refusals()}

    losses, moments, state, more = run(launches=False)
    loss_bound = TOLERANCES[entry["precision"]][0]
    errors = [abs(x - y) / max(abs(y), 1e-6) for x, y in zip(losses, entry["losses"])]
    error, of = compare_gradients({name: decode(after[name][0], data) for name, data in moments.items()}, oracle,
                                  entry["precision"])
    # As a graph from the second step on, then launch by launch. The second program takes the algorithms that the
    # first one has measured: others may sum in another order.
    again = run(launches=True)
    other = next((name for name in state if state[name] != again[2][name]), None)
    # Comparisons with NaN are false.
    return {"losses": losses, "oracle": entry["losses"], "loss_error": max(errors), "loss_bound": loss_bound,
            "gradient_error": error, "gradient_of": of, "other_bits": other,
            "passed": all(e <= loss_bound for e in errors) and error <= 1 and other is None
                      and any(map(norm, oracle.values())), **more}


def train(runtime, folder, entry, most):
    program, _ = open_with_state(runtime, folder, entry)
    data = batches(folder, entry)
    wanted = entry["train"]
    steps = min(wanted["steps"], most)
    losses = []
    with program:
        for step in range(steps):
            for name, rows in data[step % len(data)].items():
                program.bind(name, rows)
            program.run()
            losses.append(program.loss())
    last = sum(losses[-6:]) / len(losses[-6:])
    # As far as the CPU, up to a fifth of its way; fewer steps only have to be numbers.
    allowed = wanted["last"] + 0.2 * (wanted["first"] - wanted["last"]) if steps == wanted["steps"] else math.inf
    return {"steps": steps, "first": losses[0], "last": last, "cpu_last": wanted["last"],
            "passed": bool(last <= allowed and math.isfinite(last))}


def run_ranks(runtime, folder, entry, way):
    """Three steps of `way`; a rank is one of the job that the environment names. Losses and state."""
    library, communicator, rank, ranks = runtime.library, None, 0, 1
    if way != "accumulated":
        communicator = library.mpt_rt_create_communicator(ctypes.c_double(60))
        if library.mpt_rt_connect_torchrun(ctypes.c_void_p(communicator)):
            raise Failure(library.mpt_rt_communicator_error(ctypes.c_void_p(communicator)).decode())
        rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    rows = {name[5:]: body for name, (_, _, body) in
            read_safetensors(os.path.join(folder, "ranks.data.safetensors")).items()}
    state = read_safetensors(os.path.join(folder, "ranks.init.safetensors.gz"))
    losses = []
    # Matmuls of a rank and of the step that accumulates differ, and so may what is measured to be the fastest.
    with Program(runtime, os.path.join(folder, entry["programs"][way]), communicator, rank, tunes=False) as program:
        state = {name: value for name, value in state.items() if (False, name) in program.tensors}
        for name, (_, _, data) in state.items():
            program.write(name, data)
        for name, data in rows.items():
            if (False, name) in program.tensors:
                # The rows of a step that accumulates; a rank has its part.
                size = program.tensors[False, name].bytes
                program.bind(name, data[size * rank:size * (rank + 1)])
        numbers = decode("F32", rows["exchanged"])
        for _ in range(3):
            program.run()
            losses.append(program.loss())
        digest = hashlib.sha256(b"".join(program.read(name) for name in sorted(state))).hexdigest()
        notes = program.bytes()
    sent = library.mpt_rt_get_sent_bytes(ctypes.c_void_p(communicator)) if communicator else 0
    if communicator:
        library.mpt_rt_destroy_communicator(ctypes.c_void_p(communicator))
    return {"losses": losses, "mean": sum(numbers) / len(numbers), "state": digest, "sent_bytes": sent, "rank": rank, "ranks": ranks, **notes}


class Events:
    """CUDA's events on the runtime's stream."""

    def __init__(self, runtime, program):
        self.cudart = ctypes.CDLL(runtime.cudart)
        self.stream = ctypes.c_void_p(runtime.library.mpt_rt_cuda_stream(program.rt))
        self.events = [ctypes.c_void_p() for _ in range(2)]
        for event in self.events:
            self.try_(self.cudart.cudaEventCreate(ctypes.byref(event)))

    def try_(self, code):
        if code:
            raise Failure(f"events of CUDA: error {code}")

    def measure(self, work):
        self.try_(self.cudart.cudaEventRecord(self.events[0], self.stream))
        work()
        self.try_(self.cudart.cudaEventRecord(self.events[1], self.stream))
        self.try_(self.cudart.cudaEventSynchronize(self.events[1]))
        found = ctypes.c_float()
        self.try_(self.cudart.cudaEventElapsedTime(ctypes.byref(found), *self.events))
        return found.value


def make_bytes(role, kind, shape, init, numbers, limit):
    """First values by the step's initializers, from a short random pattern."""
    count = math.prod(shape)
    if kind in ("i32", "i64"):
        # Tokens and labels below the smallest table that the timed networks have.
        value = 0 if init in (None, "zeros") and role not in ("input", "target") else None
        numbers_ = [random.randrange(limit) if value is None else value for _ in range(min(count, 4096))]
        return (array.array("i" if kind == "i32" else "q", numbers_).tobytes() * (count // len(numbers_) + 1))[:count * SIZES[kind]]
    if init == "ones":
        values = [1.0]
    elif init == "constant":
        values = [numbers["value"]]
    elif init in (None, "zeros") and role not in ("input", "target"):
        values = [0.0]
    else:
        scale = numbers.get("std") or (1 / numbers["fan_in"]) ** 0.5 if numbers else 1.0
        # A length that shapes are no multiple of, so that rows differ.
        values = [random.gauss(0, scale) for _ in range(65521)]
    if kind == "bf16":
        data = b"".join(struct.pack("<f", value)[2:] for value in values)
    elif kind == "f16":
        data = struct.pack(f"<{len(values)}e", *values)
    elif kind in ("i1", "i8"):
        data = bytes(len(values))
    else:
        data = array.array("d" if kind == "f64" else "f", values).tobytes()
    size = SIZES.get(kind, 1) * count
    return (data * (size // len(data) + 1))[:size]


def give(program, entry):
    """Gives a program what a timed step starts from: also one that has only some of its arguments."""
    random.seed(1)
    for name, role, kind, shape, init, numbers in entry["arguments"]:
        data = make_bytes(role, kind, shape, init, numbers, 10 if entry["network"] == "resnet50" else 1000)
        if (False, name) in program.tensors:
            (program.bind if role in ("input", "target") else program.write)(name, data)


def check_first_loss(entry, first):
    """What is wrong with the first loss; None: nothing is known to be."""
    if entry.get("first_loss"):
        expected, bound, source = entry["first_loss"], TOLERANCES[entry["precision"]][0], "what the CPU computes in f32"
    elif entry.get("classes"):
        expected, bound, source = math.log(entry["classes"]), FIRST_LOSS, f"ln {entry['classes']}"
    else:
        return None
    # Comparisons with NaN are false.
    if abs(first / expected - 1) <= bound:
        return None
    return f"expected a first loss within {100 * bound:g} % of {expected:.6g}, {source}, found {first:.6g}"


def tell(found):
    """What is known so far: it stays in the report if this process has to be ended."""
    print("\n" + json.dumps(found), flush=True)


def find_gpu_name():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True,
                              text=True).stdout.lower()
    except OSError:
        return ""


def add_estimates(launches, folder, entry):
    """Puts beside what was measured what `mpt-compile --report` estimates, if the pack has that."""
    if not entry.get("estimate"):
        return
    path = os.path.join(folder, entry["estimate"])
    with whole(path), gzip.open(path, "rt") as file:
        estimates = json.load(file)
    name = find_gpu_name()
    for one in launches:
        known = estimates.get(str(one["number"]))
        if known:
            gpu = next((gpu for gpu in known["on"] if gpu in name), next(iter(known["on"])))
            ms, bound = known["on"][gpu]
            one.update(estimated_ms=ms, estimated_on=gpu, bound=bound, bytes=known["bytes"], flops=known["flops"],
                       kernel=known["kernel"])


def add_up(launches, key):
    """The launches of each key, the longest first: how many, milliseconds, estimated and measured."""
    groups = {}
    for one in launches:
        group = groups.setdefault(key(one), {"name": "", "count": 0, "ms": 0.0, "estimated_ms": 0.0})
        group["count"] += 1
        group["ms"] += one["ms"]
        group["estimated_ms"] += one.get("estimated_ms", 0.0)
        group["name"] = group["name"] or one["call"]
    return sorted(groups.values(), key=lambda group: -group["ms"])


def print_launches(launches, most=12):
    """Tables of kinds, and of the launches that take longest, equal ones added up."""
    def show(title, groups):
        total = sum(one["ms"] for one in launches)
        print(f"  {title:44} count       ms estimated  times     %")
        for group in groups:
            times = f"{group['ms'] / group['estimated_ms']:6.2f}" if group["estimated_ms"] else "     -"
            print(f"  {group['name'][:44]:44} {group['count']:5} {group['ms']:8.3f}  {group['estimated_ms']:8.3f} {times} "
                  f"{100 * group['ms'] / total if total else 0:5.1f}")

    show("kind", add_up(launches, lambda one: one["call"]))
    alike = {}
    for one in launches:
        alike.setdefault((one["call"], one.get("kernel"), one.get("bytes"), one.get("flops")), []).append(one)
    groups = []
    for same in alike.values():
        group, = add_up(same, lambda one: None)
        place = re.sub(r".*/", "", same[0]["source"])
        groups.append({**group, "name": f"{same[0].get('kernel') or same[0]['call']} {place}"})
    show("launch", sorted(groups, key=lambda group: -group["ms"])[:most])
    sys.stdout.flush()


def time_step(runtime, folder, entry, most, seconds):
    """Times as many steps as take about `seconds`, but `most` at most and 5 at least, one by one and then together."""
    begun = time.monotonic()
    with Program(runtime, os.path.join(folder, entry["program"])) as program:
        give(program, entry)
        ready = time.monotonic()
        program.run()
        first = program.loss()
        # Reading the program and making data; measuring algorithms, building cuDNN's plans and the first step.
        found = {"ready_s": round(ready - begun, 2), "first_step_s": round(time.monotonic() - ready, 2)}
        tell(found)
        program.run()
        # As PyTorch's, whose data are on the device.
        runtime.library.mpt_rt_keep_inputs(program.rt, 1)
        if runtime.standin:
            measure = lambda work: (lambda start: (work(), 1000 * (time.perf_counter() - start))[1])(time.perf_counter())
        else:
            measure = Events(runtime, program).measure
        # Slow steps are not warmed up for long.
        warm = [measure(program.run)]
        while len(warm) < 4 and sum(warm) < 100:
            warm.append(measure(program.run))
        rounds = max(min(5, most), min(most, int(1000 * seconds / 2 / max(min(warm), 1e-3))))
        times = [measure(program.run) for _ in range(rounds)]
        found = {"ms": statistics.median(times), "fastest_ms": min(times), "rounds": rounds, **found}
        tell(found)
        found["together_ms"] = measure(lambda: [program.run() for _ in range(rounds)]) / rounds
        last = program.loss()
        found.update(loss=[first, last], **program.bytes(), **program.refusals(), **program.chosen())
        tell(found)
        runtime.library.mpt_rt_set_profiling(program.rt, 1)
        profiles = []
        # Of slow steps once.
        for _ in range(3 if rounds == most else 1):
            program.run()
            profiles.append(program.profile())
        launches = [{**same[0], "ms": statistics.median(one["ms"] for one in same)} for same in zip(*profiles)]
        add_estimates(launches, folder, entry)
        found.update(kinds=add_up(launches, lambda one: one["call"]), instructions=launches)
    wrong = check_first_loss(entry, first)
    if not wrong and not (math.isfinite(last) and last < first):
        wrong = f"the loss on one batch went from {first} to {last}: it should fall"
    return {"passed": wrong is None, **({"error": wrong} if wrong else {}), **found}


def run_child(command, limit, environment=None):
    """The last line that `command` writes, as JSON. It and what it starts end after `limit` seconds."""
    return wait_for(start_child(command, environment), limit)


def end_with_parent(parent, watcher):
    # PR_SET_PDEATHSIG: whatever ends this process. What this child will have started by then, the watcher ends, which
    # hears of its group before there is anything.
    os.write(watcher, f"+{os.getpid()}\n".encode())
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    # It may have ended already.
    if os.getppid() != parent:
        os._exit(1)


# Reads which process groups there are, and ends them when nobody writes any more.
WATCHER = """
import contextlib, os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
"""


@functools.cache
def get_watcher():
    """The end of a pipe to a process that outlives this one, however that ends."""
    return subprocess.Popen([sys.executable, "-c", WATCHER], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            text=True, bufsize=1, start_new_session=True).stdin


def start_child(command, environment=None):
    # What it leaves when it is killed goes with its folder.
    folder = tempfile.TemporaryDirectory(prefix="gpu-check-", ignore_cleanup_errors=True)
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                             env={**os.environ, **(environment or {}), "TMPDIR": folder.name},
                             preexec_fn=functools.partial(end_with_parent, os.getpid(), get_watcher().fileno()))
    child.folder = folder
    return child


def kill(child):
    """Ends it and what it has started, and returns what it wrote. None if the device's driver does not let it go."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    try:
        return child.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        return None


def read_result(out):
    """What a child has told last; nothing if that is no JSON."""
    with contextlib.suppress(IndexError, ValueError):
        found = json.loads(out.splitlines()[-1])
        return found if isinstance(found, dict) else {}
    return {}


def wait_for(child, limit):
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        out = kill(child)
        more = f", and process {child.pid} cannot be ended: restart the machine" if out is None else ""
        return {"passed": False, "error": f"it took more than {limit:g} s{more}", **read_result(out or "")}
    finally:
        if child.returncode is None:
            kill(child)
        child.folder.cleanup()
        get_watcher().write(f"-{child.pid}\n")
    found = read_result(out)
    if child.returncode == 0 and found:
        return found
    last = (err.strip().splitlines() or out.strip().splitlines() or ["no message"])[-1][:300]
    status = child.returncode if child.returncode >= 0 else signal.Signals(-child.returncode).name
    return {"passed": False, "error": f"ended with {status}: {last}", **found}


def find_chip(runtime):
    """The GPU's, as in sm_90."""
    if not runtime.cudart:
        raise Failure("there is no libcudart: install CUDA or PyTorch's wheels, or name it (--cudart=FILE)")
    cudart, value, digits = ctypes.CDLL(runtime.cudart), ctypes.c_int(), ""
    # cudaDevAttrComputeCapabilityMajor and Minor.
    for attribute in (75, 76):
        status = cudart.cudaDeviceGetAttribute(ctypes.byref(value), attribute, 0)
        if status:
            raise Failure(f"cudaDeviceGetAttribute returned {status}")
        digits += str(value.value)
    return "sm_" + digits


def fits(chip, chips):
    """Whether a program for `chips` runs on `chip`: one of the same generation, and no older. The
    scales of blocks that one generation has, the next has not."""
    number = lambda name: int(re.sub(r"\D", "", name))
    return any(number(chip) // 10 == number(other) // 10 and number(chip) >= number(other) for other in chips)


def run_one(runtime, folder, manifest, options):
    """A single check, in this process."""
    kind, index = options.one.split(":")
    entry = manifest[kind if kind in ("time", "ranks") else "check"][int(index)]
    try:
        if "chips" in entry and not fits(chip := find_chip(runtime), entry["chips"]):
            return print("\n" + json.dumps({"other_chip": chip}))
        found = (run_ranks(runtime, folder, entry, options.way) if kind == "ranks" else
                 check(runtime, folder, entry, manifest["steps"]) if kind == "check" else
                 train(runtime, folder, entry, options.train_steps) if kind == "train" else
                 time_step(runtime, folder, entry, options.rounds, options.round_seconds))
        breach = runtime.standin and runtime.standin.mpt_standin_breach().decode()
        if breach:
            raise Failure(breach)
    except Failure as failure:
        found = {"passed": False, "error": str(failure)}
    print("\n" + json.dumps(found))


def count_gpus(options):
    if options.stand_in:
        return int(os.environ.get("MPT_STANDIN_DEVICES", 1))
    try:
        listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True)
    except OSError:
        return 1
    # Parts of a GPU (MIG) are indented.
    count = sum(line.startswith("GPU ") for line in listed.stdout.splitlines())
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return count if visible is None else min(count, sum(map(bool, visible.split(","))))


def compare_ranks(command, ranks, way, limit):
    """Ranks, each a process, against one process that accumulates; of one rank, against a mean."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    job = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
           "TORCHELASTIC_USE_AGENT_STORE": "False"}
    children = [start_child(command(way), {**job, "RANK": str(rank)}) for rank in range(ranks)]
    found = [wait_for(one, limit) for one in children]
    failed = next((one for one in found if "error" in one), None)
    if failed:
        return failed
    result = {"losses": found[0]["losses"], "sent_bytes": found[0]["sent_bytes"]}
    if ranks == 1:
        return {**result, "passed": all(abs(loss - found[0]["mean"]) < 1e-6 for loss in found[0]["losses"])}
    alone = run_child(command("accumulated"), limit)
    if "error" in alone:
        return alone
    same = all(one["losses"] == alone["losses"] and one["state"] == alone["state"] for one in found)
    return {**result, "accumulated": alone["losses"], "passed": same}


def time_other(folder, label, options, begins, add):
    """Times PyTorch's step or JAX's, with half the rows where there is no memory for all, while `begins` lets it."""
    script, mode = ("jax_models.py", "bf16") if label["torch"] == "jax" else ("torch_models.py", label["torch"])
    batch = label["batch"]
    while begins({**label, "batch": batch}):
        # In a process of its own: what it leaves on the device goes.
        found = run_child([sys.executable, os.path.join(folder, script), label["network"], mode, str(batch),
                           str(options.rounds), options.torch_device], max(options.time_limit, 150),
                          {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
        found.pop("passed", None)
        add({**label, "batch": batch}, found)
        if batch < 2 or not re.search("out of memory|OutOfMemory|RESOURCE_EXHAUSTED", found.get("error", "")):
            return
        batch //= 2


def find_sanitizer():
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--report", default="gpu-report.json")
    parser.add_argument("--only", default="")
    for part, does in (("check", "compare with the oracle, and train"), ("ranks", "exchange by NCCL"), ("time", "time the larger steps"),
                       ("torch", "time PyTorch's and JAX's"), ("sanitize", "run compute-sanitizer")):
        parser.add_argument(f"--{part}", action="store_true", help=does)
    parser.add_argument("--no-train", action="store_true")
    parser.add_argument("--time-limit", type=float, default=90, help="seconds for each; PyTorch has 150 at least")
    parser.add_argument("--part-limit", type=float, default=480, help="seconds after which no more checks of a part begin")
    parser.add_argument("--rounds", type=int, default=30, help="most steps of which the median is taken")
    parser.add_argument("--round-seconds", type=float, default=8,
                        help="seconds for them: of slow steps there are fewer, but 5 at least")
    parser.add_argument("--train-steps", type=int, default=1 << 30)
    parser.add_argument("--stand-in", default="", help="libMPTCudaStandIn.so, to run without a GPU")
    parser.add_argument("--cudart", default="")
    parser.add_argument("--cublaslt", default="")
    parser.add_argument("--cudnn", default="")
    parser.add_argument("--nccl", default="")
    parser.add_argument("--sanitizer", default="", help="compute-sanitizer, if it is not on the path")
    parser.add_argument("--torch-device", default="cuda")
    # What a child does: a kind and the number of its entry.
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    parser.add_argument("--way", default="", help=argparse.SUPPRESS)
    parser.add_argument("--without-cudnn", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    path = os.path.join(folder, "manifest.json")
    try:
        with whole(path), open(path) as file:
            manifest = json.load(file)
            names = {entry["network"] for kind in ("check", "ranks", "time") for entry in manifest[kind]}
        path = os.path.join(folder, "libMPTRuntimeCuda.so")
        with whole(path):
            if (size := os.path.getsize(path)) != manifest["runtime_bytes"]:
                raise ValueError(f"{size} bytes of {manifest['runtime_bytes']}")
    except Failure as failure:
        sys.exit(f"gpu-check: {failure}")
    if options.one:
        try:
            runtime = CudaRuntime(folder, options)
        except OSError as error:  # A library that was named.
            return print("\n" + json.dumps({"passed": False, "error": str(error)}))
        return run_one(runtime, folder, manifest, options)
    # Children end, and the report says what ran.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    parts = [part for part in ("check", "ranks", "time", "torch", "sanitize") if getattr(options, part)]
    parts = parts or ["check", "ranks", "time", "torch"]
    only = set(filter(None, options.only.split(",")))
    if only - names:
        sys.exit(f"gpu-check: there is no network {', '.join(sorted(only - names))} here: expected some of {', '.join(sorted(names))}")
    report = {"machine": describe(options), "parts": parts, "running": None, "check": [], "train": [], "ranks": [],
              "time": [], "sanitize": []}
    begun = {}

    def write():
        with open(options.report + ".part", "w") as file:
            json.dump(report, file, indent=1)
        os.replace(options.report + ".part", options.report)

    try:
        write()
    except OSError as error:
        sys.exit(f"gpu-check: the report cannot be written: {error}")

    def begins(part, kind, label):
        """Whether there is time for another one. Else it counts as failed, nobody having looked, but for what would
        only have been measured."""
        since = time.monotonic() - begun.setdefault(part, time.monotonic())
        if since > options.part_limit:
            add(kind, label, {**({} if part == "torch" else {"passed": False}),
                              "error": f"left out: --{part} has taken more than --part-limit={options.part_limit:g} s"})
            return False
        report["running"] = {"part": part, **label}
        write()
        return True

    def add(kind, label, found):
        report["running"] = None
        report[kind].append({**label, **found})
        shown = {key: found[key] for key in dict.fromkeys(("passed", *found)) if key in found}
        words = [label["network"], *(str(label[key]) for key in ("torch", "precision", "attention", "convolutions", "tool", "ranks") if key in label)]
        words += label.get("chips", [])
        if "torch" in label:
            words.insert(1, "torch")
        print(f"{kind} {' '.join(words)}: " + json.dumps(shown)[:240], flush=True)
        if "instructions" in found:
            print_launches(found["instructions"])
        write()

    def child(kind, index, *more):
        own = [f"--folder={folder}", f"--one={kind}:{index}", f"--rounds={options.rounds}",
               f"--round-seconds={options.round_seconds}", f"--train-steps={options.train_steps}", f"--stand-in={options.stand_in}", f"--cudart={options.cudart}",
               f"--cublaslt={options.cublaslt}", f"--cudnn={options.cudnn}", f"--nccl={options.nccl}"]
        return [sys.executable, os.path.abspath(__file__), *own, *more]

    def attempt(kind, index, entry):
        """With cuDNN, if the program calls it, and without."""
        for way in ((["cudnn", "gemm"] if kind != "train" else ["cudnn"]) if entry.get("cudnn") else [None]):
            label = {key: entry[key] for key in ("network", "precision", "attention", "chips", "batch") if key in entry}
            if way:
                label["convolutions"] = way
            more = ["--without-cudnn"] if way == "gemm" else []
            if not entry.get("program"):
                add(kind, label, {"skipped": entry["why"]})
            elif begins("time" if kind == "time" else "check", kind, label):
                add(kind, label, run_child(child(kind, index, *more), options.time_limit))

    def chosen(kind):
        return [(index, entry) for index, entry in enumerate(manifest[kind]) if not only or entry["network"] in only]

    if "check" in parts:
        for index, entry in chosen("check"):
            attempt("check", index, entry)
            if not options.no_train:
                attempt("train", index, entry)
    if "ranks" in parts:
        for index, entry in chosen("ranks"):
            label = {key: entry[key] for key in ("network", "precision", "batch")}
            if not entry["programs"]:
                add("ranks", label, {"skipped": entry["why"]})
                continue
            for ranks, way in ((1, "one"), (2, "two")):
                if not (options.stand_in or options.nccl or find_library("nccl", (2,))):
                    add("ranks", {**label, "ranks": ranks}, {"skipped": "there is no NCCL (--nccl=FILE)"})
                    continue
                if ranks > count_gpus(options):
                    add("ranks", {**label, "ranks": ranks}, {"skipped": f"there are no {ranks} GPUs"})
                    continue
                if not begins("ranks", "ranks", {**label, "ranks": ranks}):
                    continue
                add("ranks", {**label, "ranks": ranks},
                    compare_ranks(lambda way: child("ranks", index, f"--way={way}"), ranks, way, options.time_limit))
    if "time" in parts:
        for index, entry in chosen("time"):
            attempt("time", index, entry)
    if "torch" in parts:
        networks = {entry["network"]: entry["batch"] for _, entry in chosen("time")}
        for mode in OTHERS:
            for name, batch in networks.items():
                label = {"network": name, "torch": mode, "batch": batch}
                time_other(folder, label, options, lambda label: begins("torch", "time", label),
                           lambda label, found: add("time", label, found))
    if "sanitize" in parts:
        sanitizer = options.sanitizer or find_sanitizer()
        for index, entry in chosen("check"):
            if entry["network"] not in SANITIZED or entry["precision"] != "bf16" or not entry.get("program"):
                continue
            for tool in ("memcheck", "racecheck"):
                label = {"network": entry["network"], "precision": entry["precision"], "tool": tool}
                if not sanitizer:
                    add("sanitize", label, {"skipped": "there is no compute-sanitizer on the path or in /usr/local/cuda"})
                    continue
                if not begins("sanitize", "sanitize", label):
                    continue
                add("sanitize", label, run_child([sanitizer, f"--tool={tool}", "--error-exitcode=9", "--log-file=/dev/stderr",
                                                  *child("train", index, "--train-steps=2")], max(options.time_limit, 300)))
    compare(report)
    failed = [entry for kind in ("check", "train", "ranks", "time", "sanitize") for entry in report[kind]
              if entry.get("passed") is False]
    report["failed"], report["running"] = len(failed), None
    write()
    passed = sum(entry.get("passed") is True for kind in ("check", "train", "ranks", "sanitize") for entry in report[kind])
    skipped = (sum("skipped" in entry for entry in report["check"])
               + sum("ranks" not in entry for entry in report["ranks"]))
    print(f"gpu-check: {passed} passed, {len(failed)} failed, {skipped} networks not compiled; {options.report}")
    sys.exit(1 if failed else 0)


def compare(report):
    """How many times as fast as PyTorch's ways, and as our own f32."""
    times = {}
    for entry in report["time"]:
        if "ms" in entry and "error" not in entry:
            # With cuDNN and without, the faster one counts.
            key = entry["network"], entry.get("torch") or entry["precision"]
            # Of a row: PyTorch may have had no memory for as many.
            times[key] = min(times.get(key, math.inf), entry["ms"] / entry["batch"])
    report["speedups"] = [
        {"network": network, "precision": precision, "against": other, "times": times[network, other] / ms}
        for (network, precision), ms in times.items() if precision in ("f16", "bf16", "f32")
        for other in (*OTHERS, "f32")
        if (network, other) in times and other != precision]


def describe(options):
    found = {"python": sys.version.split()[0], "stand_in": bool(options.stand_in)}
    if not options.stand_in:
        given = {"cudart": options.cudart, "cublasLt": options.cublaslt, "cudnn": options.cudnn, "nccl": options.nccl}
        versions = {"cudnn": (9,), "nccl": (2,)}
        # "": there is none.
        found["libraries"] = {name: file or find_library(name, versions.get(name, (13, 12))) for name, file in given.items()}
    try:
        text = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm",
                               "--format=csv,noheader"], capture_output=True, text=True).stdout
        found["gpu"] = text.strip().splitlines()
    except OSError:
        found["gpu"] = []
    return found


if __name__ == "__main__":
    main()
