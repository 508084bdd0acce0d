//===- WidenTemporaries.cpp - Temporaries of kernels stay f32 -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-widen-temporaries`, see WideTemporaries.h.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/Transforms/Passes.h"
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
        for (Operation *op : findWideTemporaries(*block))
          widen(op, function);
      });
  }

private:
  void widen(Operation *op, FunctionOpInterface function) {
    Value result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    emitRemark(RemarkId::KeptWide, op->getLoc(), function.getName()) << remark::reason(
        "{0} is not rounded to {1}", op->getName().getStringRef(), type.getElementType());
    result.setType(type.clone(Float32Type::get(op->getContext())));
  }
};

} // namespace
