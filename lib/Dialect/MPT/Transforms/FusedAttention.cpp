//===- FusedAttention.cpp - Attention that a GPU does as a whole -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/FusedAttention.h"

#include "mpt/Support/Remarks.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpt;

std::string mpt::explainUnfusedAttention(Operation *op) {
  auto grad = dyn_cast<AttentionGradOp>(op);
  auto attention = dyn_cast<AttentionOp>(op);
  if (!grad && !attention)
    return "not an attention";
  Value query = grad ? grad.getQuery() : attention.getQuery();
  Value key = grad ? grad.getKey() : attention.getKey();
  Value value = grad ? grad.getValue() : attention.getValue();
  Value lse = grad ? grad.getLogSumExp() : attention.getLogSumExp();
  Value mask = grad ? grad.getMask() : attention.getMask();
  if (grad ? grad.getBias() : attention.getBias())
    return "it has a bias";
  if (grad ? grad.getDropout() : attention.getDropout())
    return "it has dropout";
  auto say = [](const auto &...parts) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    (stream << ... << parts);
    return text;
  };
  auto type = dyn_cast<RankedTensorType>(query.getType());
  if (!type || !(type.getElementType().isF16() || type.getElementType().isBF16()))
    return say("the query is ", query.getType(),
               "; it takes f16 and bf16, as autocast makes them");
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value tensor : values) {
      auto other = dyn_cast<RankedTensorType>(tensor.getType());
      if (!other || !other.hasStaticShape() || other.getNumElements() == 0)
        return say(tensor.getType(), " has no static shape, or no elements");
      if (tensor == mask)
        continue;
      Type wanted =
          tensor == lse ? Float32Type::get(op->getContext()) : type.getElementType();
      if (other.getElementType() != wanted)
        return say(other, " with a query of ", type.getElementType());
    }
  if (value.getType() != key.getType())
    return say("the key is ", key.getType(), ", the value ", value.getType());
  if (int64_t groups = cast<RankedTensorType>(key.getType()).getDimSize(1);
      groups != type.getDimSize(1))
    return say("keys and values have ", groups, " heads, queries ", type.getDimSize(1));
  int64_t width = type.getShape().back();
  if (width < 32 || width > 128 || width % 16 != 0)
    return say("the head size is ", width, "; it takes multiples of 16 from 32 to 128");
  return "";
}

void mpt::markFusedAttention(Operation *root) {
  auto mark = [](auto op) {
    std::string why = explainUnfusedAttention(op);
    if (why.empty()) {
      op.setFused(true);
      return;
    }
    auto function = op->template getParentOfType<FunctionOpInterface>();
    emitRemark(RemarkId::AttentionDecomposed, op->getLoc(),
               function ? function.getName() : StringRef())
        << remark::reason("{0}", why);
  };
  root->walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op).Case<AttentionOp, AttentionGradOp>(mark);
  });
}
