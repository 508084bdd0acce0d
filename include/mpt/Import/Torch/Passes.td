//===- Passes.td - From PyTorch's graphs to mpt -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_TORCH_PASSES_TD
#define MPT_IMPORT_TORCH_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTorchPass : Pass<"mpt-convert-torch", "::mlir::ModuleOp"> {
  let summary = "Convert PyTorch's ops to the mpt dialect";
  let description = [{
    Converts functions over `!torch.vtensor` whose ops are `torch.aten.*`, in MLIR's
    generic form, as `python -m mpt.export` and torch-mlir print them
    (`--allow-unregistered-dialect` reads them). Shapes and element types must be known;
    dimension 0 may be open. `mpt-opt --mpt-torch-ops` lists the ops.

    Arguments and results keep their order, shapes and `mpt.*` attributes. Convolutions,
    pooling and batch normalization of images become ops over [N, H, W, C]: the layout
    stays with the values between them, and transposes remain where the graph looks at
    dimensions and at the function's edge. Filters keep PyTorch's layout (`oihw`).
    Ops that draw random numbers add two arguments of role `rng`, `seed` and `attempt`. A
    batch normalization that changes its running statistics in place adds results with
    `mpt.updates`.

    A complex tensor becomes two real ones, its parts, and an argument that is complex a
    real one with the parts in a last dimension of 2; Fourier transforms become matmuls
    with constants. A result must not be complex.

    In-place ops (`torch.aten.relu_`) are taken for their functional form; one on a view,
    or on a value that has views, is refused. What has no counterpart is one error that
    lists all such ops, with their number, places, and the reason.
  }];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

#endif // MPT_IMPORT_TORCH_PASSES_TD
