"""Compares torch's ops, converted and compiled by MPT, with PyTorch: values and gradients.

check_ops.py BUILD [--seed=N] [--part=I/N] [--only=REGEX]: many calls go into one program.
The last line counts calls; a difference or a refusal is a line of its own. `--names` lists
the converted ops that no call covers.
"""
import argparse
import re
import sys
import warnings

import numpy
import torch

import mpt.torch
import op_cases
import steps

warnings.filterwarnings("ignore")
GROUP = 24
NO_GRADIENT = {"floor_divide", "floor_divide.Scalar", "copy", "native_channel_shuffle",
               "scatter.reduce", "scatter.value_reduce"}  # none in PyTorch


def find(name):
    op, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, op), overload or "default")


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


class Call:
    """One drawn call of an op."""

    def __init__(self, name, make, seed):
        self.name = name
        self.op = find(name)
        self.draw = op_cases.Draw(f"{seed} {name}")
        self.tensors, self.function = make(self.draw)
        self.state = self.draw.random.getstate()

    def __call__(self, tensors):
        self.draw.random.setstate(self.state)  # Each call draws the same.
        if self.name in NO_GRADIENT:
            tensors = [t.detach() for t in tensors]
        return leaves(self.function(self.op, *tensors))


class Calls(torch.nn.Module):
    """Some calls: their floats are parameters, their other tensors are data."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls
        self.zero = torch.nn.Parameter(torch.zeros(()))
        for index, call in enumerate(calls):
            for position, tensor in enumerate(call.tensors):
                if tensor.is_floating_point():
                    self.register_parameter(f"p{index}_{position}",
                                            torch.nn.Parameter(tensor.clone()))

    def data(self):
        return [t for call in self.calls for t in call.tensors if not t.is_floating_point()]

    def results(self, data):
        data = iter(data)
        for index, call in enumerate(self.calls):
            yield index, call([
                getattr(self, f"p{index}_{position}") if tensor.is_floating_point()
                else next(data) for position, tensor in enumerate(call.tensors)])


def loss_of(model, *batch):
    """The sum of all results of floats, weighted by what comes after the data."""
    count = len(model.data())
    weights = iter(batch[count:])
    total, named = model.zero * 1, {}
    for index, results in model.results(batch[:count]):
        for position, result in enumerate(results):
            named[f"r{index}_{position}"] = result
            if result.is_floating_point():
                weight = next(weights)
                total = total + (result.to(weight.dtype) * weight).sum()
    return {"loss": total, **named}


def check(calls):
    """(number of the call, line) for what differs; raises steps.Refused."""
    model = Calls(calls)
    data = model.data()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        weights = [torch.rand(r.shape, generator=generator) + 0.5
                   for _, results in model.results(data) for r in results
                   if r.is_floating_point()]
    batch = tuple(data + weights)
    exported = mpt.torch.export(model, loss_of, batch,
                                names=[f"b{i}" for i in range(len(batch))])
    program = steps.open_step(exported, "--mpt-autodiff")
    program.run(steps.batch_names(exported, batch))
    exact = Calls(calls).double()
    theirs, reference = loss_of(model, *batch), loss_of(exact, *steps.to_double(batch))
    theirs["loss"].backward()
    reference["loss"].backward()
    lines = []

    def compare(index, what, mine, a, b):
        call = calls[index]
        mine, a = numpy.asarray(mine), steps.to_numpy(a)
        if a.dtype.kind != "f":
            if not numpy.array_equal(mine, a):
                lines.append((index, f"{call.name}: {what} differs: {mine.ravel()[:6]}, "
                                     f"PyTorch {a.ravel()[:6]}"))
            return
        b = steps.to_numpy(b).astype(numpy.float64)
        finite = numpy.isfinite(b)
        if not numpy.array_equal(mine[~finite], a[~finite], equal_nan=True):
            lines.append((index, f"{call.name}: {what}: other infinities or NaN"))
        # Where f64 has a number and PyTorch in f32 has none, something overflows on the way, and
        # what comes of it depends on the order.
        finite &= numpy.isfinite(a)
        error, allowed = steps.measure(mine[finite], a[finite], b[finite])
        allowed = 8 * allowed + 3e-6 * float(numpy.linalg.norm(b[finite])) + 1e-6
        if not error <= allowed:
            lines.append((index, f"{call.name}: {what} differs by {error:.2e}, allowed "
                                 f"{allowed:.2e}; shapes "
                                 f"{[list(t.shape) for t in call.tensors]}"))

    narrow = {torch.float16, torch.bfloat16}
    for name, value in theirs.items():
        if name == "loss" or value.dtype in narrow:
            continue
        index = int(name[1:].split("_")[0])
        compare(index, f"result {name}", program.read(name), value, reference[name])
    exacts = dict(exact.named_parameters())
    for name, parameter in model.named_parameters():
        if name == "zero":
            continue
        # Where PyTorch's is None the program has none either, or zeros of a value that reads
        # only the operand's shape.
        if parameter.grad is None and name not in exported.trained:
            continue
        theirs, exact = (torch.zeros_like(p) if p.grad is None else p.grad
                         for p in (parameter, exacts[name]))
        compare(int(name[1:].split("_")[0]), f"gradient of operand {name.split('_')[1]}",
                program.read("grad." + name), theirs, exact)
    return lines


def check_all(calls, report):
    """Halves a group that is refused, until the call is found."""
    try:
        for _, line in check(calls):
            report(line)
    except (steps.Refused, mpt.torch.ExportError, RuntimeError, KeyError) as error:
        if len(calls) == 1:
            text = " ".join(str(error).split())
            found = re.search(r"error: .*", text)
            report(f"{calls[0].name}: {(found.group() if found else text)[:400]}; shapes "
                   f"{[list(t.shape) for t in calls[0].tensors]}")
        else:
            check_all(calls[:len(calls) // 2], report)
            check_all(calls[len(calls) // 2:], report)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", default="")
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args()
    steps.use(options.build)
    torch.set_num_threads(1)
    if options.names:
        listed = {n[len("aten."):] for n in steps.run("mpt-opt", "", "--mpt-torch-ops").split()}
        for name in sorted(listed - {name for name, _ in op_cases.CASES} - op_cases.UNCALLED):
            print(name)
        return
    part, parts = map(int, options.part.split("/"))
    cases = [c for i, c in enumerate(op_cases.CASES)
             if re.search(options.only, c[0]) and i % parts == part - 1]
    calls = [Call(name, make, f"{options.seed} {i}") for i, (name, make) in enumerate(cases)]
    lines = []
    for begin in range(0, len(calls), GROUP):
        check_all(calls[begin:begin + GROUP], lambda line: (lines.append(line),
                                                            print(line, flush=True)))
    print(f"{len(calls)} calls of {len({c.name for c in calls})} ops, "
          f"{len(lines)} differences")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
