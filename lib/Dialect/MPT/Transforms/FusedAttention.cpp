//===- FusedAttention.cpp - Attention as one call -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/FusedAttention.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

namespace mpt {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

/// The parts of a text, one after another.
template <typename... Parts>
static std::string say(const Parts &...parts) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  (stream << ... << parts);
  return text;
}

/// Most elements of a row of query, key or value.
static constexpr int64_t kMostWidth = 256;

/// Most elements of a row of query and value together for which the gradients of key and
/// value are one function, so that scores are computed three times in all, and most keys
/// for which scores take not much more memory than such rows (docs/CUDA.md).
static constexpr int64_t kMostTogether = 256, kMostKeysInMemory = 2048;

std::string mpt::explainUnfusedOnGPU(Operation *op) {
  auto grad = dyn_cast<AttentionGradOp>(op);
  auto attention = dyn_cast<AttentionOp>(op);
  if (!grad && !attention)
    return "not an attention";
  Value query = grad ? grad.getQuery() : attention.getQuery();
  Value value = grad ? grad.getValue() : attention.getValue();
  Value lse = grad ? grad.getLogSumExp() : attention.getLogSumExp();
  Value bias = grad ? grad.getBias() : attention.getBias();
  Value dbias = grad ? grad.getDbias() : Value();
  auto type = dyn_cast<RankedTensorType>(query.getType());
  if (!type || !(type.getElementType().isF16() || type.getElementType().isBF16()))
    return say("the query is ", query.getType(),
               "; it takes f16 and bf16, as autocast makes them");
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value tensor : values) {
      auto other = dyn_cast<RankedTensorType>(tensor.getType());
      if (!other || !other.hasStaticShape() || other.getNumElements() == 0)
        return say(tensor.getType(), " has no static shape, or no elements");
      Type element = other.getElementType();
      // The mask, the seed and the number of steps tried.
      if (isa<IntegerType>(element))
        continue;
      if (tensor == bias || tensor == dbias) {
        if (element.isF32() || element.isF16() || element.isBF16())
          continue;
        return say("the bias is ", other, "; it takes f32, f16 and bf16");
      }
      Type wanted =
          tensor == lse ? Float32Type::get(op->getContext()) : type.getElementType();
      if (element != wanted)
        return say(other, " with a query of ", type.getElementType());
    }
  for (Value tensor : {query, value})
    if (int64_t width = cast<RankedTensorType>(tensor.getType()).getShape().back();
        width > kMostWidth)
      return say("the head size is ", width, "; it takes sizes up to ", kMostWidth);
  // Matmuls multiply all of the scores, and functions those that a causal mask leaves.
  const bool isCausal = grad ? grad.getCausal() : attention.getCausal();
  const bool drops = grad ? grad.getSeed() != nullptr : attention.getSeed() != nullptr;
  auto valueType = cast<RankedTensorType>(value.getType());
  auto function = op->getParentOfType<FunctionOpInterface>();
  if (!isCausal && !bias && !drops && !(function && function->hasAttr(kBudgetAttr)) &&
      valueType.getDimSize(2) <= kMostKeysInMemory &&
      type.getShape().back() + valueType.getShape().back() > kMostTogether)
    return say("heads of ", type.getShape().back(), " and ", valueType.getShape().back(),
               " elements are faster as matmuls without a causal mask; it takes ",
               kMostTogether, " together then");
  if (dbias && !dbias.use_empty()) {
    ArrayRef<int64_t> sizes = cast<RankedTensorType>(dbias.getType()).getShape();
    auto dy = cast<RankedTensorType>(grad.getDy().getType());
    auto key = cast<RankedTensorType>(grad.getKey().getType());
    if (sizes[2] != dy.getDimSize(2) && sizes[3] != key.getDimSize(2))
      return say("the bias ", dbias.getType(),
                 " has a gradient; it takes one for each query or key then");
  }
  return "";
}

/// Fewest scores of a head, T x S, for which the CPU's call is faster than matmuls and
/// kernels (docs/benchmarks.md), and for which it is if it skips hidden ones.
static constexpr int64_t kFewestScores = 256 * 256, kFewestWithHidden = 128 * 128;

/// Fewest scores of a head where all heads have kManyScores or more: 4 MB in f32, which
/// kernels write and read outside the cache.
static constexpr int64_t kFewestOfMany = 192 * 192, kManyScores = int64_t(1) << 20;

/// Most scores of a head that are so few that matmuls of them take most of their time to
/// begin.
static constexpr int64_t kMostSmall = 24 * 24;

/// Fewest scores of a head that are kept no longer if they are kTimesOthers as many as
/// queries, keys, values and results have elements: heads are so narrow that the call is
/// about as fast. In f32 it is faster from kTimesOthersOfParts on if neither the rows of
/// scores nor those of queries and values are whole vectors of kVector elements.
static constexpr int64_t kFewestOfNarrow = 128 * 128, kVector = 16;
static constexpr double kTimesOthers = 2, kTimesOthersOfParts = 1.5;

/// Whether the call, whose gradient computes scores a second time, seven matmuls in
/// all where kernels have six, multiplies no more than they do: it skips blocks of keys
/// that all of a block of queries are before.
static bool skipsEnough(int64_t queries, int64_t keys) {
  constexpr int64_t block = 64;
  int64_t scores = 0;
  for (int64_t begin = 0; begin < queries; begin += block) {
    const int64_t end = std::min(begin + block, queries);
    scores += (end - begin) * (keys - queries + end);
  }
  return 7 * scores <= 6 * queries * keys;
}

std::string mpt::explainUnfusedOnCPU(Operation *op) {
  if (!isa<AttentionOp, AttentionGradOp>(op))
    return "not an attention";
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value tensor : values) {
      auto type = dyn_cast<RankedTensorType>(tensor.getType());
      if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
        return say(tensor.getType(), " has no static shape, or no elements");
      Type element = type.getElementType();
      if (!(element.isF32() || element.isF16() || element.isBF16() ||
            isa<IntegerType>(element)))
        return say("it reads or makes ", type, "; it takes f32, f16 and bf16");
    }
  auto explain = [](auto attention) -> std::string {
    if (std::optional<Type> sums = attention.getAccType(); sums && !sums->isF32())
      return say("its sums are ", *sums, ", not f32");
    if (!cast<RankedTensorType>(attention.getLogSumExp().getType())
             .getElementType()
             .isF32())
      return say("its log_sum_exp is ", attention.getLogSumExp().getType());
    auto query = cast<RankedTensorType>(attention.getQuery().getType());
    const int64_t heads = query.getDimSize(0) * query.getDimSize(1);
    const int64_t queries = query.getDimSize(2);
    const int64_t keys =
        cast<RankedTensorType>(attention.getKey().getType()).getDimSize(2);
    const int64_t fewest = attention.getCausal() && skipsEnough(queries, keys)
                               ? kFewestWithHidden
                           : heads * queries * keys >= kManyScores ? kFewestOfMany
                                                                   : kFewestScores;
    const int64_t ofQuery = query.getDimSize(3);
    const int64_t ofValue =
        cast<RankedTensorType>(attention.getValue().getType()).getDimSize(3);
    const int64_t width = ofQuery + ofValue;
    const bool hasParts =
        keys % kVector != 0 && ofQuery % kVector != 0 && ofValue % kVector != 0;
    const double times =
        hasParts && query.getElementType().isF32() ? kTimesOthersOfParts : kTimesOthers;
    const bool isNarrow = queries * keys >= kFewestOfNarrow &&
                          static_cast<double>(queries * keys) >=
                              times * static_cast<double>((queries + keys) * width);
    if (queries * keys < fewest && queries * keys > kMostSmall && !isNarrow)
      return say("a head has ", queries, " x ", keys,
                 " scores; kernels are faster below ", fewest, " scores");
    return "";
  };
  if (auto attention = dyn_cast<AttentionOp>(op))
    return explain(attention);
  return explain(cast<AttentionGradOp>(op));
}

void mpt::markFusedAttention(Operation *root, RemarkId id,
                             function_ref<std::string(Operation *)> explain) {
  auto mark = [&](auto op) {
    std::string why = explain(op);
    if (why.empty()) {
      op.setFused(true);
      return;
    }
    auto function = op->template getParentOfType<FunctionOpInterface>();
    emitRemark(id, op->getLoc(), function ? function.getName() : StringRef())
        << remark::reason("{0}", why);
  };
  root->walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op).Case<AttentionOp, AttentionGradOp>(mark);
  });
}

namespace {

struct FuseAttentionPass : mpt::impl::FuseAttentionPassBase<FuseAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!mpt::detail::hasOpsOfMPT(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no op of the mpt dialect");
    markFusedAttention(getOperation(), RemarkId::AttentionOnCPU, explainUnfusedOnCPU);
  }
};

} // namespace
