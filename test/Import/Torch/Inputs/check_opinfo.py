"""Runs PyTorch's own samples of its ops (`OpInfo`) through MPT, beside PyTorch.

check_opinfo.py BUILD [--samples=N] [--only=REGEX] [--part=I/N]: of each op, N samples in f32
are drawn from PyTorch's list. The last line counts samples that are equal, refused with an
error that says why, refused by torch.export, and different.
"""
import argparse
import collections
import random
import re
import sys
import warnings

import torch
from torch.utils import _pytree as pytree

import check_ops
import mpt.torch
import op_cases
import steps

warnings.filterwarnings("ignore")
# Random numbers, which check_random.py holds to their distributions.
RANDOM = re.compile(r"rand(n|int)?_like|(feature_)?alpha_dropout|^(uniform|exponential|normal)$")


# Ops whose own gradient in PyTorch is wrong, as functions that torch.export makes them of.
FUNCTIONS = {"as_strided_scatter": op_cases.scatter_strided}


class Sample:
    """One sample, in the form of check_ops.Call."""

    def __init__(self, info, sample):
        self.name = info.name + ("." + info.variant_test_name if info.variant_test_name else "")
        self.info = info
        leaves, self.spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.leaves = [l if isinstance(l, torch.Tensor) else (l,) for l in leaves]
        self.tensors = [l.detach().clone() for l in leaves if isinstance(l, torch.Tensor)]

    def __call__(self, tensors):
        rest = iter(tensors)
        leaves = [next(rest) if isinstance(l, torch.Tensor) else l[0] for l in self.leaves]
        input, args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        function = FUNCTIONS.get(self.info.name, self.info)
        result = check_ops.leaves(function(input, *args, **kwargs))
        return [r for r in result if isinstance(r, torch.Tensor)]


def samples_of(info, count):
    try:
        drawn = list(info.sample_inputs("cpu", torch.float32, requires_grad=False))
    except Exception:
        return []
    random.Random(info.name).shuffle(drawn)
    found = []
    for sample in drawn:
        made = Sample(info, sample)
        total = sum(t.numel() for t in made.tensors)
        if made.tensors and 0 < total <= 20000 and all(
                t.dtype in (torch.float32, torch.int64, torch.bool) for t in made.tensors
                ) and not sample.kwargs.get("dropout_p"):
            found.append(made)
    return found[:count]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="1/1")
    options = parser.parse_args()
    from torch.testing._internal.common_methods_invocations import op_db
    steps.use(options.build)
    torch.manual_seed(0)
    listed = {n.split(".")[1] for n in steps.run("mpt-opt", "", "--mpt-torch-ops").split()}
    part, parts = map(int, options.part.split("/"))
    infos = [i for i in op_db if re.search(options.only, i.name)
             and torch.float32 in i.dtypes and "empty" not in i.name
             and not RANDOM.search(i.name)
             and (i.name.split(".")[-1] in listed or i.aten_name in listed)]
    calls = [s for i in infos[part - 1::parts] for s in samples_of(i, options.samples)]
    outcome = collections.Counter()

    def run(group):
        try:
            lines = check_ops.check(group)
            for _, line in lines:
                print(line, flush=True)
            different = len({index for index, _ in lines})
            outcome["different"] += different
            outcome["equal"] += len(group) - different
        except Exception as error:
            if len(group) > 1:
                run(group[:len(group) // 2])
                run(group[len(group) // 2:])
                return
            kind = ("refused" if isinstance(error, steps.Refused) else
                    "not exported" if isinstance(error, mpt.torch.ExportError) else "not run")
            outcome[kind] += 1
            text = " ".join(str(error).split())
            found = re.search(r"mpt dialect: (.*) `mpt-opt", text)
            print(f"{group[0].name}: {kind}: {(found.group(1) if found else text)[:300]}",
                  flush=True)

    for begin in range(0, len(calls), 16):
        run(calls[begin:begin + 16])
    print(f"{len(calls)} samples of {len(infos)} ops: "
          + ", ".join(f"{n} {k}" for k, n in sorted(outcome.items())))
    sys.exit(outcome["different"] != 0)


if __name__ == "__main__":
    main()
