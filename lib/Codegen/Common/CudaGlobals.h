//===- CudaGlobals.h - What a program for GPUs exports -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_COMMON_CUDAGLOBALS_H
#define MPT_LIB_CODEGEN_COMMON_CUDAGLOBALS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mpt/Dialect/Program/IR/Program.h"

namespace mpt {

/// A function of a program's kernel table.
struct KernelEntry {
  std::string name;
  /// On a GPU: the first launch of it.
  program::DeviceLaunchOp launch;
};

/// Collects the architectures that `module`'s kernels are compiled for (90 for sm_90).
/// Fails, with a diagnostic, if an object is for something else.
mlir::LogicalResult getArchitectures(mlir::ModuleOp module,
                                     llvm::SmallVectorImpl<int64_t> &architectures);

/// Fails, with a diagnostic, if the function is not in a `gpu.binary`.
mlir::LogicalResult checkCompiled(const KernelEntry &kernel);

/// The mpt_cuda_desc of `program` and of the `gpu.binary` that holds `kernels`, which is
/// removed.
mlir::LLVM::GlobalOp emitCudaGlobals(program::ProgramOp program,
                                     llvm::ArrayRef<KernelEntry> kernels);

} // namespace mpt

#endif // MPT_LIB_CODEGEN_COMMON_CUDAGLOBALS_H
