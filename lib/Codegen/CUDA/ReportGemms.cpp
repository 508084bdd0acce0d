//===- ReportGemms.cpp - Matmuls that run without tensor cores -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-report-gemms`: a remark for each matmul of a program that cuBLASLt does
/// without tensor cores, or only with its slower kernels.
///
//===----------------------------------------------------------------------===//

#include "../Common/ChipName.h"

#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/ProgramABI/GemmPlan.h"
#include "mpt/Support/Remarks.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace mpt {
#define GEN_PASS_DEF_REPORTGEMMSPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// What tensor cores' kernels load at once, and so want rows to be multiples of; buffers
/// always are.
constexpr int64_t kLoadBytes = 16;

struct ReportGemmsPass : mpt::impl::ReportGemmsPassBase<ReportGemmsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!mpt::detail::hasKernelsOrProgram(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no kernel and no program");
    if (!getContext().getRemarkEngine())
      return;
    for (auto program : getOperation().getOps<program::ProgramOp>()) {
      // The chunks of one convolution are matmuls with the same location.
      llvm::StringSet<> reported;
      WalkResult result = program.walk<WalkOrder::PreOrder>([&](Operation *op) {
        // Not what runs where a library refuses a call.
        auto alternatives = dyn_cast<program::AlternativesOp>(op);
        auto call = dyn_cast<program::MatmulOp>(
            alternatives ? alternatives.getPreferredCall().getOperation() : op);
        if (call && failed(report(program, call, reported)))
          return WalkResult::interrupt();
        return alternatives ? WalkResult::skip() : WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }

private:
  LogicalResult report(program::ProgramOp program, program::MatmulOp call,
                       llvm::StringSet<> &reported) {
    FailureOr<rt::Instruction> matmul = encodeCall(call);
    if (failed(matmul))
      return failure();
    rt::GemmPlan plan;
    std::string why;
    if (!rt::makeGemmPlan(*matmul, /*allowTF32=*/false, plan, why))
      return call.emitError(why);
    auto say = [&](RemarkId id, const std::string &reason, StringRef hint) {
      std::string key;
      llvm::raw_string_ostream(key)
          << call.getLoc() << " " << uint64_t(id) << " " << reason;
      if (!reported.insert(key).second)
        return;
      auto remark = emitRemark(id, call.getLoc(), program.getSymName());
      remark << remark::reason("{0}", reason);
      if (!hint.empty())
        remark << remark::detail::Remark::Arg("Suggestion", hint);
    };
    std::string shape = llvm::formatv("{0} x {1} x {2}", plan.n, plan.m, plan.k);
    for (StringAttr chip : program.getTarget().getChips()) {
      std::optional<int64_t> architecture = parseChipName(chip.getValue());
      if (architecture &&
          !rt::checkGemmPlan(plan, static_cast<int>(*architecture), why) &&
          rt::isPlainMatmul(*matmul)) {
        say(RemarkId::TensorCoresOff,
            shape + ": cuBLASLt cannot do it on " + chip.getValue().str() + " (" + why +
                "); MPT's own function runs, which is many times slower",
            "");
        return success();
      }
    }
    if (plan.fastAccumulation) {
      SmallVector<StringRef> fast;
      for (StringAttr chip : program.getTarget().getChips())
        if (std::optional<int64_t> sm = parseChipName(chip.getValue());
            sm && *sm >= 89 && *sm < 100)
          fast.push_back(chip.getValue());
      say(RemarkId::FastAccumulation,
          shape + (fast.empty() ? ": it has no effect on these chips"
                                : ": on " + llvm::join(fast, ", ")),
          "");
    }
    if (plan.a.type == rt::DataType::F32 && plan.compute == rt::GemmCompute::F32) {
      say(RemarkId::TensorCoresOff, shape + " of f32, summed exactly",
          getRemarkInfo(RemarkId::TensorCoresOff).hint);
      return success();
    }
    for (auto [name, matrix] : {std::pair("left", &plan.b), std::pair("right", &plan.a),
                                std::pair("result", &plan.d)})
      if (matrix->ld * rt::getSize(matrix->type) % kLoadBytes != 0) {
        say(RemarkId::TensorCoresShape,
            llvm::formatv("{0}: rows of the {1} have {2} elements, {3} bytes", shape,
                          name, matrix->ld, matrix->ld * rt::getSize(matrix->type)),
            getRemarkInfo(RemarkId::TensorCoresShape).hint);
        break;
      }
    return success();
  }
};

} // namespace
