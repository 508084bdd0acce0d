"""Takes a PyTorch model through torch-mlir, mpt-opt and IREE, and compares the result with
PyTorch's.

usage: through_torch_mlir.py --mpt-opt=PATH --work=DIR

Each line says how the model went through mpt-opt, and the largest relative error of its
output in f32 (without autocast) and in bf16. An f32 error above 1e-5, or a bf16 error
outside of 1e-4 to 2e-2, fails: too small means that nothing ran in bf16.
"""
import argparse
import pathlib
import subprocess
import sys

import iree.compiler
import iree.runtime
import torch
from torch_mlir import fx

BIN = pathlib.Path(sys.executable).parent
TO_TORCH = "builtin.module(torchdynamo-export-to-torch-backend-pipeline)"
TO_LINALG = "builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline)"


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 128)
        self.norm = torch.nn.LayerNorm(128)
        self.second = torch.nn.Linear(128, 10)

    def forward(self, x):
        return torch.softmax(self.second(self.norm(torch.relu(self.first(x)))), -1)


def run(arguments):
    made = subprocess.run([str(each) for each in arguments], capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"{' '.join(map(str, arguments))} failed:\n{made.stderr}")


def lower_by_torch_mlir(source, target):
    run([BIN / "torch-mlir-opt", source, f"--pass-pipeline={TO_TORCH}", "-o", f"{target}.torch"])
    run([BIN / "torch-mlir-opt", f"{target}.torch", f"--pass-pipeline={TO_LINALG}", "-o", target])


def evaluate(path, x):
    program = iree.compiler.compile_file(
        str(path), input_type="auto", target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=generic"])
    module = iree.runtime.load_vm_flatbuffer(program, driver="local-sync")
    return torch.from_numpy(module.main(x.numpy()).to_host().copy())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    options = parser.parse_args()
    autocast = [options.mpt_opt, "--allow-unregistered-dialect",
                "--mpt-autocast=type=bf16 client=torch-mlir"]
    torch.manual_seed(0)
    model, x = Model(), torch.randn(16, 64)
    with torch.no_grad():
        expected = model(x)

    failed = False
    for output, bytecode in (("raw", False), ("raw", True), ("linalg-on-tensors", False)):
        name = f"{output}, {'bytecode' if bytecode else 'text'}"
        module = fx.export_and_import(model, x, output_type=output)
        before, after = options.work / "before.mlir", options.work / "after.mlir"
        if bytecode:
            with open(before, "wb") as file:
                module.operation.write_bytecode(file, desired_version=4)
            run(autocast + [before, "--emit-bytecode", "-o", after])
        else:
            before.write_text(module.operation.get_asm(print_generic_op_form=True))
            run(autocast + [before, "--mlir-print-op-generic", "-o", after])
        errors = []
        for path in (before, after):
            if output == "raw":
                lower_by_torch_mlir(path, f"{path}.linalg")
                path = f"{path}.linalg"
            errors.append(((evaluate(path, x) - expected).abs().max() / expected.max()).item())
        print(f"{name}: f32 {errors[0]:.1e}, bf16 {errors[1]:.1e}")
        failed |= not (errors[0] < 1e-5 and 1e-4 < errors[1] < 2e-2)
    return failed


if __name__ == "__main__":
    sys.exit(main())
