//===- AttentionBiasEmitter.h - What cuDNN's attention adds -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// cuDNN's attention adds a bias and knows no mask. So a mask, with the bias that there
/// may be, becomes one f32 bias. Where it hides a key it is -2e38, and at least -1e38
/// elsewhere: by these a row that sees nothing is told from one whose biases are just
/// low, without -inf, of which cuDNN's graph would make NaN, and times log2(e) both are
/// finite.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_ATTENTIONBIASEMITTER_H
#define MPT_LIB_CODEGEN_CUDA_ATTENTIONBIASEMITTER_H

#include "FlashAttentionEmitter.h"

namespace mpt::detail {

/// The sizes of what is added for mask and bias: those of both.
llvm::SmallVector<int64_t, 4> getAddedSizes(const AttentionShape &shape);

/// mask, bias (those that there are), log-sum-exp -> what is added, packed, of
/// getAddedSizes; log-sum-exp with +inf for -inf, of which powers are 0. Without
/// `ofGradient` there is no log-sum-exp. A thread an element.
void emitAddedBias(GPUFunctionBuilder &code, const AttentionShape &shape,
                   bool ofGradient);
/// result, log-sum-exp: in rows that see nothing zeros and -inf. A warp a row.
void emitHiddenRows(GPUFunctionBuilder &code, const AttentionShape &shape);
/// A packed bias's gradient of the query's type -> the same of the bias's type. A thread
/// an element.
void emitWidenedBias(GPUFunctionBuilder &code, const AttentionShape &shape);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_ATTENTIONBIASEMITTER_H
