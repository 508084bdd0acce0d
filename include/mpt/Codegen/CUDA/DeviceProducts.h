//===- DeviceProducts.h - Products and attention on a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_DEVICEPRODUCTS_H
#define MPT_CODEGEN_CUDA_DEVICEPRODUCTS_H

#include "mpt/Codegen/CUDA/DeviceKernels.h"

#include "mlir/Pass/Pass.h"
#include <memory>

namespace mpt {

/// The `gpu.module` that all device functions of a program are in.
inline constexpr llvm::StringLiteral kDeviceModule = "mpt_kernels";

/// Adds `launch` to the module's kLaunchesAttr.
void addDeviceLaunch(mlir::Operation *device, const DeviceLaunch &launch);

/// A program's convolutions and fused attention as products and launches of functions in
/// @mpt_kernels; to run before mpt-convert-kernels-to-gpu. A 1x1 convolution that moves
/// by one is a product; others are done for some output positions at a time
/// (mpt/ProgramABI/CudaCallPlan.h). `f32Products` says what products of f32 are summed
/// as: exact, tf32 (operands cut to 10 bits of mantissa) or bf16x9 (nine products of
/// bf16, f32's accuracy). `useCudnn` puts calls of cuDNN before convolutions that are more
/// than a product (mpt/ProgramABI/CudnnPlan.h). mpt-opt does not know the pass: mpt-compile
/// runs it.
std::unique_ptr<mlir::Pass> createConvertProductsToGPUPass(std::string f32Products,
                                                           bool useCudnn);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_DEVICEPRODUCTS_H
