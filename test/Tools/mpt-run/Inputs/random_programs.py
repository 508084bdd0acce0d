# Compiled programs against the interpreter: random functions of pointwise ops,
# reductions, moves, products and norms with all kinds of broadcasting.
#   random_programs.py FIRST LAST: functions made of the seeds FIRST to LAST - 1, each
#     once as it is and once as a loss whose parameters take two steps of SGD
#   random_programs.py FILE.mlir...: these functions
# All values end as state, so a checkpoint holds them. Sums may differ in their order and
# exp and its kind in the last digits: 2e-5 of the largest magnitude, 1e-4 with gradients,
# or a few steps of the narrowest type that a value went through.
import json
import random
import re
import struct
import subprocess
import sys

import numpy


def tensor(shape, element="f32"):
    return "tensor<%s%s>" % ("".join("%dx" % size for size in shape), element)


def broadcast(a, b):
    rank = max(len(a), len(b))
    shape = []
    for p, q in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b):
        if p != q and 1 not in (p, q):
            return None
        shape.append(max(p, q))
    return tuple(shape)


class Function:
    """Arguments and ops with what they make: name, shape, element type."""

    def __init__(self, seed):
        self.random = r = random.Random(seed)
        a, b, c = r.choice([1, 3, 4, 8, 17]), r.choice([2, 5, 16, 33, 64]), r.choice([1, 4, 20])
        self.shapes = [(a, b), (b,), (), (a, c, b), (a, 1), (1, b), (c, b)]
        self.arguments = [("%%i%d" % i, r.choice(self.shapes)) for i in range(r.randint(3, 6))]
        self.values = [(name, shape, "f32") for name, shape in self.arguments]
        self.lines = []
        kinds = ["binary"] * 3 + ["unary"] * 2 + ["reduce"] * 2 + [
            "reshape", "transpose", "slice", "concat", "matmul", "softmax", "norm", "where",
            "cast", "broadcast", "constant"]
        for _ in range(16):
            getattr(self, r.choice(kinds))()

    def pick(self, accepts=lambda shape, element: True):
        found = [value for value in self.values if accepts(*value[1:])]
        recent = self.random.random() < 0.7
        return self.random.choice(found[-10:] if recent else found) if found else None

    def add(self, op, operands, shape, element, attributes=""):
        name = "%%v%d" % len(self.lines)
        self.lines.append("%s = mpt.%s %s%s : (%s) -> %s" % (
            name, op, ", ".join(each[0] for each in operands), attributes,
            ", ".join(tensor(*each[1:]) for each in operands), tensor(shape, element)))
        self.values.append((name, tuple(shape), element))

    def binary(self):
        a = self.pick()
        b = self.pick(lambda shape, element: element == a[2] and broadcast(shape, a[1]) is not None)
        self.add(self.random.choice(["add", "sub", "mul", "maximum", "minimum"]), [a, b],
                 broadcast(a[1], b[1]), a[2])

    def unary(self):
        a = self.pick()
        self.add(self.random.choice(["tanh", "abs", "neg", "relu", "sigmoid", "sin"]), [a], *a[1:])

    def reduce(self):
        if not (a := self.pick(lambda shape, element: shape)):
            return
        axes = sorted(self.random.sample(range(len(a[1])), self.random.randint(1, len(a[1]))))
        keep = self.random.random() < 0.4
        shape = [1 if i in axes else size for i, size in enumerate(a[1]) if keep or i not in axes]
        self.add("reduce", [a], shape, a[2], " {kind = #mpt.reduce_kind<%s>, axes = array<i64: %s>%s}"
                 % (self.random.choice(["sum", "max", "min", "mean"]),
                    ", ".join(map(str, axes)), ", keep_dims" if keep else ""))

    def reshape(self):
        a = self.pick()
        count = int(numpy.prod(a[1]))
        shapes = [(count,), (1, count), (count, 1), a[1] + (1,)] + [
            (p, count // p) for p in range(2, 9) if count % p == 0] + [()] * (count == 1)
        self.add("reshape", [a], self.random.choice(shapes), a[2])

    def transpose(self):
        if not (a := self.pick(lambda shape, element: len(shape) > 1)):
            return
        order = self.random.sample(range(len(a[1])), len(a[1]))
        self.add("transpose", [a], [a[1][i] for i in order], a[2],
                 " {permutation = array<i64: %s>}" % ", ".join(map(str, order)))

    def slice(self):
        if not (a := self.pick(lambda shape, element: shape)):
            return
        strides = [self.random.choice([1, 1, 2]) for _ in a[1]]
        offsets = [self.random.randrange(size) for size in a[1]]
        sizes = [self.random.randint(1, (size - offset - 1) // stride + 1)
                 for size, offset, stride in zip(a[1], offsets, strides)]
        self.add("slice", [a], sizes, a[2], " {%s}" % ", ".join(
            "%s = array<i64: %s>" % (name, ", ".join(map(str, numbers)))
            for name, numbers in (("offsets", offsets), ("sizes", sizes), ("strides", strides))))

    def concat(self):
        if not (a := self.pick(lambda shape, element: shape)):
            return
        axis = self.random.randrange(len(a[1]))
        cut = lambda shape: shape[:axis] + shape[axis + 1:]
        b = self.pick(lambda shape, element: element == a[2] and len(shape) == len(a[1])
                      and cut(shape) == cut(a[1]))
        self.add("concat", [a, b], a[1][:axis] + (a[1][axis] + b[1][axis],) + a[1][axis + 1:],
                 a[2], " {axis = %d : i64}" % axis)

    def matmul(self):
        left, right = self.random.random() < 0.3, self.random.random() < 0.5
        if not (a := self.pick(lambda shape, element: len(shape) >= 2)):
            return
        if not (b := self.pick(lambda shape, element: len(shape) == 2 and element == a[2] and
                               shape[1 if right else 0] == a[1][-2 if left else -1])):
            return
        flags = ["transpose_lhs"] * left + ["transpose_rhs"] * right
        self.add("matmul", [a, b], a[1][:-2] + (a[1][-1 if left else -2], b[1][0 if right else 1]),
                 a[2], " {%s}" % ", ".join(flags) if flags else "")

    def softmax(self):
        if a := self.pick(lambda shape, element: shape):
            self.add(self.random.choice(["softmax", "log_softmax"]), [a], *a[1:])

    def norm(self):
        if not (a := self.pick(lambda shape, element: len(shape) > 1 and element == "f32")):
            return
        if not (gamma := self.pick(lambda shape, element: element == "f32" and shape == a[1][-1:])):
            return
        name = "%%v%d" % len(self.lines)
        self.lines.append("%s:2 = mpt.rms_norm %s, %s {eps = 1.0e-2 : f64} : (%s, %s) -> (%s, %s)" % (
            name, a[0], gamma[0], tensor(a[1]), tensor(gamma[1]), tensor(a[1]), tensor(a[1][:-1])))
        self.values.append((name + "#0", a[1], "f32"))

    def where(self):
        a = self.pick()
        # Only arguments are compared: they are the same to the last bit.
        given = [each for each in self.arguments if broadcast(each[1], a[1]) == a[1]]
        if not given:
            return
        chosen = self.random.choice(given)
        name = "%%v%d" % len(self.lines)
        self.lines.append("%s = mpt.compare %s, %%zero {predicate = #mpt.predicate<gt>} : (%s, tensor<f32>) -> %s"
                          % (name, chosen[0], tensor(chosen[1]), tensor(chosen[1], "i1")))
        b = self.pick(lambda shape, element: element == a[2] and broadcast(shape, a[1]) == a[1])
        self.add("where", [(name, chosen[1], "i1"), a, b], *a[1:])

    def cast(self):
        a, element = self.pick(), self.random.choice(["f32", "bf16", "f16"])
        if a[2] != element:
            self.add("cast", [a], a[1], element)

    def broadcast(self):
        a, shape = self.pick(), self.random.choice(self.shapes)
        if len(shape) >= len(a[1]) and broadcast(a[1], shape) == shape:
            self.add("broadcast", [a], shape, a[2])

    def constant(self):
        shape = self.random.choice(self.shapes)
        name = "%%v%d" % len(self.lines)
        self.lines.append("%s = mpt.constant dense<%g> : %s"
                          % (name, self.random.uniform(-2, 2), tensor(shape)))
        self.values.append((name, shape, "f32"))

    def get_results(self):
        """What nothing reads, and three values besides."""
        text = "\n".join(self.lines)
        made = [value for value in self.values if value[0].startswith("%v")]
        unread = [value for value in made
                  if len(re.findall(re.escape(value[0].split("#")[0]) + r"\b", text)) == 1]
        return list(dict.fromkeys(unread + self.random.sample(made, min(3, len(made)))))

    def print(self, arguments, results, returned, lines):
        state = ['%s: %s {mpt.name = "%s", mpt.role = "parameter", mpt.init = {kind = "normal", '
                 'mean = 0.0 : f64, std = 1.0 : f64}}' % (name, tensor(shape), name[1:])
                 for name, shape in self.arguments]
        data = ['%x: tensor<1xf32> {mpt.name = "x", mpt.role = "input"}']
        body = ["%zero = mpt.constant dense<0.0> : tensor<f32>"] + lines + [
            "return " + ", ".join(each[0] for each in returned) + " : "
            + ", ".join(tensor(*each[1:]) for each in returned)]
        return "func.func @loss(%s) -> (%s) {\n  %s\n}\n" % (
            ",\n    ".join(state + arguments + data), ",\n    ".join(results), "\n  ".join(body))

    def as_step(self):
        results = self.get_results()
        return self.print(
            ['%%o%d: %s {mpt.name = "o%d", mpt.role = "running_stat", mpt.init = {kind = "zeros"}}'
             % (i, tensor(*value[1:]), i) for i, value in enumerate(results)],
            ['tensor<f32> {mpt.name = "loss"}'] +
            ['%s {mpt.name = "r%d", mpt.updates = "o%d"}' % (tensor(*value[1:]), i, i)
             for i, value in enumerate(results)],
            [("%zero", (), "f32")] + results, self.lines)

    def as_loss(self):
        lines, total = list(self.lines), "%zero"
        for i, (name, shape, element) in enumerate(self.get_results()):
            if element != "f32":
                lines.append("%%c%d = mpt.cast %s : (%s) -> %s"
                             % (i, name, tensor(shape, element), tensor(shape)))
                name = "%%c%d" % i
            lines.append("%%t%d = mpt.tanh %s : (%s) -> %s" % (i, name, tensor(shape), tensor(shape)))
            name = "%%t%d" % i
            if shape:
                lines.append("%%m%d = mpt.reduce %s {kind = #mpt.reduce_kind<mean>, axes = array<i64: %s>} : (%s) -> tensor<f32>"
                             % (i, name, ", ".join(map(str, range(len(shape)))), tensor(shape)))
                name = "%%m%d" % i
            lines.append("%%a%d = mpt.add %s, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>"
                         % (i, total, name))
            total = "%%a%d" % i
        return self.print([], ['tensor<f32> {mpt.name = "loss"}'], [(total, (), "f32")], lines)


def read(path):
    data = open(path, "rb").read()
    (size,) = struct.unpack("<Q", data[:8])
    found = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        kinds = {"BF16": "<u2", "F16": "<f2", "F32": "<f4"}
        if name == "__metadata__" or entry["dtype"] not in kinds:
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = numpy.frombuffer(data[begin:end], kinds[entry["dtype"]])
        if entry["dtype"] == "BF16":
            values = (values.astype("<u4") << 16).view("<f4")
        found[name] = values.astype(float)
    return found


def check(label, text):
    open("random.mlir", "w").write(text)
    states = []
    optimizer = [] if "mpt.updates" in text else ["--optimizer=sgd", "--lr=0.5"]
    for engine in ("cpu", "reference"):
        subprocess.run(["mpt-run", "random.mlir", "--data", "x=x.npy", "--steps=2",
                        "--engine=" + engine, "--progress=none", "--checkpoint=" + engine]
                       + optimizer, check=True, stdout=subprocess.DEVNULL)
        states.append(read(engine))
    tolerance = 5e-2 if "bf16" in text else 1e-2 if "xf16" in text or "<f16>" in text else \
        1e-4 if "mpt.updates" not in text else 2e-5
    for name, expected in states[1].items():
        found = states[0][name]
        finite = numpy.isfinite(expected)
        assert (numpy.isnan(found) == numpy.isnan(expected)).all(), (label, name)
        assert (found == expected)[~finite & ~numpy.isnan(expected)].all(), (label, name)
        largest = max([1.0, *abs(expected[finite])])
        worst = max([0.0, *abs(found - expected)[finite]])
        assert worst <= tolerance * largest, (label, name, worst, largest, text)


numpy.save("x.npy", numpy.zeros(1, "f4"))
if sys.argv[1].isdigit():
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        check((seed, "step"), Function(seed).as_step())
        check((seed, "loss"), Function(seed).as_loss())
    print("functions:", int(sys.argv[2]) - int(sys.argv[1]))
else:
    for path in sys.argv[1:]:
        check(path, open(path).read())
    print("files:", len(sys.argv) - 1)
