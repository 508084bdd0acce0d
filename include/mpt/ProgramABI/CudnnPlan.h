//===- CudnnPlan.h - A convolution as a call of cuDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What cuDNN is asked for, as data, and what of a program runs with it or instead of
/// it. Needs neither CUDA nor LLVM.
///
/// Activations are NHWC, filters KRSC: what NVIDIA documents for tensor cores. MPT's
/// filters are HWIO, so launches next to the call transpose them. The buffer that the
/// call names has the dimensions of the HWIO filter.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_CUDNNPLAN_H
#define MPT_PROGRAMABI_CUDNNPLAN_H

#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt::rt {

/// Whether `instruction` is a convolution, or a gradient of one, that cuDNN is asked for.
bool isCudnnCall(const Instruction &instruction);

/// Images as N, C, H, W, filters as K, C of a group, R, S; strides in elements.
struct CudnnTensor {
  DataType type = DataType::F32;
  int64_t dims[4] = {}, strides[4] = {};
};

/// y = x * w, or the gradient of x or of w; sums are f32.
struct CudnnPlan {
  CallId kind = CallId::Conv2D;
  CudnnTensor x, w, y;
  /// Along the height and the width.
  int64_t strides[2] = {1, 1}, padBefore[2] = {}, padAfter[2] = {}, dilations[2] = {1, 1};
  bool allowTF32 = false;
};

/// The plan of a convolution that checkCall takes. False, with `error` set, if cuDNN has
/// none of its types.
bool makeCudnnPlan(const Instruction &call, CudnnPlan &plan, std::string &error);

/// One line for people and tests: "x=bf16[4x3x9x8] ..", dimensions as cuDNN has them.
std::string describeCudnnPlan(const CudnnPlan &plan);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_CUDNNPLAN_H
