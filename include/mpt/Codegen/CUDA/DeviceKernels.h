//===- DeviceKernels.h - The launches of a kernel ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The launches of a kernel on a GPU, a function of the kernel alone: code
/// generator and program agree on it, and the order of every sum follows from
/// shapes.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_DEVICEKERNELS_H
#define MPT_CODEGEN_CUDA_DEVICEKERNELS_H

#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include <string>

namespace mpt {

/// The `gpu.module` that all device functions of a program are in.
inline constexpr llvm::StringLiteral kDeviceModule = "mpt_kernels";

/// One launch: a function over `blocks[0]` x `blocks[1]` blocks of `threads`
/// threads. Its parameters are pointers to the kernel's operands, results and,
/// for column kernels, partial sums.
struct DeviceLaunch {
  std::string function;
  int64_t blocks[2] = {1, 1};
  int64_t threads = 32;
  /// What indices that it reads must be below, or 0. Such a function has one
  /// parameter more, the record of indices that are not (mpt/ProgramABI/CudaProgram.h).
  int64_t bound = 0;
};

/// Of a `gpu.module` and the `gpu.binary` that it becomes: a dictionary that has, for
/// some functions, the numbers of an `mpt_cuda_variant` (mpt/ProgramABI/CudaProgram.h).
/// The functions that run instead are compiled for sm_90a alone.
inline constexpr llvm::StringLiteral kVariantsAttr = "mpt_program.variants";
/// Null: none.
inline mlir::DictionaryAttr getVariants(mlir::Operation *device) {
  return device->getAttrOfType<mlir::DictionaryAttr>(kVariantsAttr);
}
inline void setVariants(mlir::Operation *device, mlir::DictionaryAttr variants) {
  device->setAttr(kVariantsAttr, variants);
}
/// What runs instead of `function`.
inline std::string getVariantName(llvm::StringRef function) {
  return (function + "_wgmma").str();
}

/// The launches of `kernel`, in order: one, or two for column kernels.
llvm::SmallVector<DeviceLaunch> getDeviceLaunches(kernel::FuncOp kernel);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_DEVICEKERNELS_H
