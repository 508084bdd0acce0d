//===- EmulatedKernels.h - Device kernels compiled for the CPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_EMULATEDKERNELS_H
#define MPT_CODEGEN_CUDA_EMULATEDKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mpt {

/// The kernels of `device` (in the LLVM dialect, as mpt-kernels-to-gpu with
/// format=llvm leaves it) for the CPU, exported as `mpt_simt_module` (see
/// mpt/Runtime/Emulator/Emulation.h). The code of a thread is that which goes to NVPTX;
/// what is asked of the GPU becomes calls of the emulator, and libdevice's
/// functions those of libm. Target and data layout are left to the caller.
llvm::Expected<std::unique_ptr<llvm::Module>>
emulateKernels(mlir::gpu::GPUModuleOp device, llvm::LLVMContext &context);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_EMULATEDKERNELS_H
