//===- MathToLibdevice.cpp - Calls of CUDA's math library -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-math-to-libdevice`. NVPTX has no code for LLVM's intrinsics of these
/// functions, and ends the process on them. Upstream's patterns
/// (populateLibDeviceConversionPatterns) also call libdevice for sqrt, rsqrt and abs,
/// which NVPTX has instructions for, and would change the code of every kernel that has
/// them.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

namespace mpt {
#define GEN_PASS_DEF_MATHTOLIBDEVICEPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

/// Libdevice's name of the f64 function; "" for ops that LLVM has code for.
static std::optional<StringRef> nameOf(Operation *op) {
  return llvm::StringSwitch<std::optional<StringRef>>(op->getName().stripDialect())
      .Cases({"absf", "absi", "ceil", "clampf", "copysign", "ctlz", "ctpop", "cttz",
              "floor", "fma", "isfinite", "isinf", "isnan", "isnormal", "roundeven",
              "rsqrt", "sqrt", "trunc"},
             "")
      .Case("acos", "__nv_acos")
      .Case("acosh", "__nv_acosh")
      .Case("asin", "__nv_asin")
      .Case("asinh", "__nv_asinh")
      .Case("atan", "__nv_atan")
      .Case("atan2", "__nv_atan2")
      .Case("atanh", "__nv_atanh")
      .Case("cbrt", "__nv_cbrt")
      .Case("cos", "__nv_cos")
      .Case("cosh", "__nv_cosh")
      .Case("erf", "__nv_erf")
      .Case("erfc", "__nv_erfc")
      .Case("exp", "__nv_exp")
      .Case("exp2", "__nv_exp2")
      .Case("expm1", "__nv_expm1")
      .Case("log", "__nv_log")
      .Case("log10", "__nv_log10")
      .Case("log1p", "__nv_log1p")
      .Case("log2", "__nv_log2")
      .Case("powf", "__nv_pow")
      .Case("round", "__nv_round")
      .Case("sin", "__nv_sin")
      .Case("sinh", "__nv_sinh")
      .Case("tan", "__nv_tan")
      .Case("tanh", "__nv_tanh")
      .Default(std::nullopt);
}

namespace {

struct MathToLibdevicePass : mpt::impl::MathToLibdevicePassBase<MathToLibdevicePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> calls;
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (!isa_and_nonnull<math::MathDialect>(op->getDialect()))
        return WalkResult::advance();
      std::optional<StringRef> name = nameOf(op);
      Type type = getElementTypeOrSelf(op->getResult(0).getType());
      bool isCall = name && !name->empty();
      if (!name || (isCall && !type.isF32() && !type.isF64())) {
        op->emitError("'") << op->getName() << "' of " << type << " has no code for GPUs";
        return WalkResult::interrupt();
      }
      if (isCall)
        calls.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (Operation *op : calls)
      replace(op, *nameOf(op));
  }

private:
  LLVM::LLVMFuncOp declare(StringRef name, Type type, unsigned operands) {
    if (auto found = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name))
      return found;
    OpBuilder builder = OpBuilder::atBlockBegin(&getOperation().getBodyRegion().front());
    SmallVector<Type> parameters(operands, type);
    return LLVM::LLVMFuncOp::create(builder, getOperation().getLoc(), name,
                                    LLVM::LLVMFunctionType::get(type, parameters));
  }

  void replace(Operation *op, StringRef name) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
    std::string symbol = (name + (element.isF32() ? "f" : "")).str();
    LLVM::LLVMFuncOp callee = declare(symbol, element, op->getNumOperands());
    auto call = [&](ValueRange operands) {
      return LLVM::CallOp::create(b, loc, callee, operands).getResult();
    };
    auto vector = dyn_cast<VectorType>(type);
    Value value;
    if (vector) {
      SmallVector<Value> lanes;
      for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
        SmallVector<Value> operands;
        for (Value operand : op->getOperands())
          operands.push_back(vector::ExtractOp::create(b, loc, operand, lane));
        lanes.push_back(call(operands));
      }
      value = vector::FromElementsOp::create(b, loc, vector, lanes);
    } else {
      value = call(op->getOperands());
    }
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
};

} // namespace
