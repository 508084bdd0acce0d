//===- WidenTemporaries.cpp - Temporaries of kernels stay f32 -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-widen-temporaries`, see WideTemporaries.h and WideSums.h.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Dialect/Kernel/Transforms/WideSums.h"
#include "mpt/Dialect/Kernel/Transforms/WideTemporaries.h"
#include "mpt/Support/Remarks.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mpt {
#define GEN_PASS_DEF_WIDENTEMPORARIESPASS
#include "mpt/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct WidenTemporariesPass : mpt::impl::WidenTemporariesPassBase<WidenTemporariesPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      function->walk([&](Block *block) {
        SmallVector<Operation *> temporaries = findWideTemporaries(*block);
        for (WideSum &sum : findWideSums(*block))
          if (!llvm::is_contained(temporaries, sum.sum))
            widenForSums(sum, function);
        for (Operation *op : temporaries)
          widen(op, function);
      });
  }

private:
  /// The next sums read f32, all else what is rounded.
  void widenForSums(WideSum &wide, FunctionOpInterface function) {
    Value result = wide.sum.getResult();
    Type narrow = result.getType();
    widen(wide.sum, function);
    OpBuilder builder(wide.sum.getContext());
    builder.setInsertionPointAfter(wide.sum);
    Value rounded = CastOp::create(builder, wide.sum.getLoc(), narrow, result);
    result.replaceUsesWithIf(rounded, [&](OpOperand &use) {
      return use.getOwner() != rounded.getDefiningOp() &&
             !llvm::is_contained(wide.next, use.getOwner());
    });
  }

  void widen(Operation *op, FunctionOpInterface function) {
    Value result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    emitRemark(RemarkId::KeptWide, op->getLoc(), function.getName()) << remark::reason(
        "{0} is not rounded to {1}", op->getName().getStringRef(), type.getElementType());
    result.setType(type.clone(Float32Type::get(op->getContext())));
  }
};

} // namespace
