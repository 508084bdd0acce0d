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
#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt {

/// Whether a program's target names a GPU ("cuda", "cuda sm_90").
bool isCudaTarget(llvm::StringRef target);

/// Checks that the runtime for GPUs can do every call of `program`, on every
/// architecture that it is compiled for, and that its kernels are compiled.
mlir::LogicalResult checkCudaProgram(program::ProgramOp op, const rt::Program &program,
                                     llvm::ArrayRef<std::string> kernels);

/// The mpt_cuda_desc of the `gpu.binary` that holds `kernels`, which is removed.
mlir::LLVM::GlobalOp emitCudaGlobals(mlir::ModuleOp module,
                                     llvm::ArrayRef<std::string> kernels);

} // namespace mpt

#endif // MPT_LIB_CODEGEN_COMMON_CUDAGLOBALS_H
