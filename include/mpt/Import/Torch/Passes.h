//===- Passes.h - From PyTorch's graphs to mpt -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_TORCH_PASSES_H
#define MPT_IMPORT_TORCH_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Import/Torch/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Import/Torch/Passes.h.inc"

/// The ops that `--mpt-convert-torch` knows, such as "aten.add.Tensor", sorted. In-place
/// forms are not listed.
llvm::SmallVector<llvm::StringRef> getTorchOps();

} // namespace mpt

#endif // MPT_IMPORT_TORCH_PASSES_H
