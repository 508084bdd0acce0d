//===- CudnnPlan.h - What cuDNN is asked for -*- C++ -*-===//
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

#include <utility>

namespace mpt::rt {

/// Whether `instruction` is a convolution, attention, or a gradient of one of them, that
/// cuDNN is asked for.
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

  /// Whether the operands are f16 or bf16, and the result is f32.
  bool isWide() const;
  /// What is offered to a plan of cuDNN: a copy of each tensor in another layout, its
  /// channels filled up to a multiple of 8, as tensor cores want them.
  int64_t workspaceBytes() const;
};

/// The plan of a convolution that checkCall takes. False, with `error` set, if cuDNN has
/// none of its types.
bool makeCudnnPlan(const Instruction &call, CudnnPlan &plan, std::string &error);

/// One line for people and tests: "x=bf16[4x3x9x8] ..", dimensions as cuDNN has them.
std::string describeCudnnPlan(const CudnnPlan &plan);

/// result = softmax(scale query key^T + bias) value, or the gradients, of tensors [batch,
/// heads, rows, width] of one type, f16 or bf16, with sums in f32. Keys and values have
/// `groups` heads. Causal attention has as many keys as queries. The bias is f32, its
/// gradient of the query's type; both are packed.
struct CudnnAttentionPlan {
  bool isGrad = false, causal = false, hasBias = false, hasBiasGrad = false;
  DataType type = DataType::F16;
  int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0, width = 0;
  double scale = 1;
  /// Elements from one batch entry, head and row to the next, of the call's buffers in
  /// their order, without log_sum_exp: 4, or 8 of the gradient.
  struct RowStrides {
    int64_t batch = 0, head = 0, row = 0;
  };
  RowStrides strides[8];
  /// [batch, heads, queries, keys], any 1 where the bias is the same for all.
  int64_t biasSizes[4] = {1, 1, 1, 1};

  /// Which of the call's buffers has strides[i], and which log_sum_exp and the bias are;
  /// the bias's gradient and the workspace come last.
  int numberOf(int i) const { return i < (isGrad ? 5 : 3) ? i : i + isGrad + hasBias; }
  int sumsNumber() const { return isGrad ? 5 : 4 + hasBias; }
  int biasNumber() const { return isGrad ? 6 : 3; }
  int lastNumber() const { return 8 + hasBias + hasBiasGrad; }

  int64_t rows() const { return batch * heads * queries; }
  /// Whether strides[i] are those of a key, a value or their gradients.
  bool isOfKeys(int i) const {
    const int tensor = i - isGrad;
    return tensor == 1 || tensor == 2 || i > 5;
  }
  /// What is offered to a plan of cuDNN. Of a deterministic gradient cuDNN 9.19 keeps the
  /// slopes of all scores there, rows filled up, and gradients of each head of queries
  /// where these share heads of keys.
  int64_t workspaceBytes() const;
  /// Where a batch entry and a head of queries begin in a buffer of the call, in bytes;
  /// the head is the first of those that share one of keys.
  int64_t offsetOf(int buffer, int64_t entry, int64_t head) const;
};

/// Attention as equal parts that cuDNN does one after the other: of the batch, or of the
/// heads of one of its entries.
struct CudnnAttentionParts {
  /// Of each.
  CudnnAttentionPlan plan;
  /// The first batch entry and head of each.
  std::vector<std::pair<int64_t, int64_t>> begins;
  /// What is offered to each: what `plan` says, at most what parts are cut for, or all
  /// gradients in f32 if that is more.
  int64_t workspaceBytes = 0;
};

/// What slopes of scores may take before a gradient is cut.
inline constexpr int64_t kAttentionScoreBytes = 256 << 20;

/// As few parts as need at most `scoreBytes` each besides the workspace of any call; the
/// smallest if none are that small. Forward, and where the gradient of a bias is summed
/// over what would be cut, there is one.
CudnnAttentionParts cutCudnnPlan(const CudnnAttentionPlan &plan,
                                 int64_t scoreBytes = kAttentionScoreBytes);

/// False if `call` is none, or its inputs and outputs do not hold what it says.
bool makeCudnnAttentionPlan(const Instruction &call, CudnnAttentionPlan &plan);

/// "attention bf16 batch=64 heads=12 groups=12 queries=1024 ..".
std::string describeCudnnPlan(const CudnnAttentionPlan &plan);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_CUDNNPLAN_H
