//===- KernelsToVector.cpp - Kernels as loops over vectors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-convert-kernels-to-vector`: emits every kernel of the module and
/// removes the `mpt_kernel.func`s.
///
//===----------------------------------------------------------------------===//

#include "RowLanesEmitter.h"
#include "mpt/Codegen/CPU/Passes.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"

#include "mlir/IR/SymbolTable.h"

namespace mpt {
#define GEN_PASS_DEF_CONVERTKERNELSTOVECTORPASS
#include "mpt/Codegen/CPU/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct ConvertKernelsToVectorPass
    : mpt::impl::ConvertKernelsToVectorPassBase<ConvertKernelsToVectorPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!mpt::detail::hasKernelsOrProgram(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no kernel and no program");
    auto kernels = llvm::to_vector(getOperation().getOps<kernel::FuncOp>());
    for (kernel::FuncOp kernel : kernels)
      if (failed(KernelEmitter(kernel).check()))
        return signalPassFailure();
    for (kernel::FuncOp kernel : kernels) {
      // Launches keep naming the kernel; the function takes its name.
      OpBuilder builder(kernel);
      RowLanesEmitter rowLanes(kernel);
      if (rowLanes.isBetter())
        rowLanes.emit(builder);
      else
        KernelEmitter(kernel, /*hasManyRegisters=*/avx512).emit(builder);
      kernel.erase();
    }
  }
};

} // namespace
