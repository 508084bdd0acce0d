"""Takes sums between matmuls through torch-mlir, mpt-opt and IREE, with and without the
profile of torch-mlir, and compares the results with PyTorch's.

usage: sums_through_torch_mlir.py --mpt-opt=PATH --work=DIR

Each line names a client and says whether all results are within 2 % of PyTorch's f32. The
numbers are small integers and powers of two, so that bf16 holds all of them but the sums.
"""
import argparse
import pathlib
import sys

import torch
from torch_mlir import fx

from through_torch_mlir import evaluate, lower_by_torch_mlir, run


class Model(torch.nn.Module):
    """Sum and mean of 20,000 ones, each of which two matmuls read."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(4))

    def forward(self, x):
        ones = x @ self.weight
        total = ones.sum(0, keepdim=True) @ self.weight
        mean = ones.mean(0, keepdim=True) @ self.weight
        return torch.cat([total, mean])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    options = parser.parse_args()
    model, x = Model(), torch.ones(20000, 4)
    with torch.no_grad():
        expected = model(x)
    before = options.work / "before.mlir"
    module = fx.export_and_import(model, x, output_type="raw")
    before.write_text(module.operation.get_asm(print_generic_op_form=True))
    for client in ("generic", "torch-mlir"):
        after = options.work / f"{client}.mlir"
        run([options.mpt_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic",
             f"--mpt-autocast=type=bf16 client={client}", before, "-o", after])
        lower_by_torch_mlir(after, f"{after}.linalg")
        found = evaluate(f"{after}.linalg", x)
        error = ((found - expected).abs() / expected).max().item()
        print(f"{client}: {'equal' if error <= 0.02 else f'wrong, by {error:.2f}'}")


sys.exit(main())
