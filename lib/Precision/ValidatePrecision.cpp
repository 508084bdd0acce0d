//===- ValidatePrecision.cpp - Check what autocast promises -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the same records as the planner, but nothing of its decisions: an
/// independent check of a module, also of one that others made.
///
//===----------------------------------------------------------------------===//

#include "mpt/Precision/Passes.h"
#include "mpt/Precision/PolicyOptions.h"
#include "mpt/Precision/PrecisionGraph.h"

namespace mpt {
#define GEN_PASS_DEF_VALIDATEPRECISIONPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

class Validator {
public:
  explicit Validator(PrecisionPolicy &policy)
      : policy(policy), low(policy.getLowType()) {}

  LogicalResult check(Operation *op) {
    if (isOwnCast(op))
      return checkCast(op);
    OpRecord record = policy.lookup(op);
    if (record.source == RuleSource::Unlisted || record.isCast(op))
      return success();
    LogicalResult result = checkAccumulator(op, record);
    if (record.precisionClass == PrecisionClass::Deny && failed(checkDenied(op, record)))
      result = failure();
    // A registered op's own verifier knows better what it may mix.
    if (!op->isRegistered() && failed(checkTypes(op, record)))
      result = failure();
    return result;
  }

private:
  LogicalResult checkCast(Operation *op) {
    Value source = op->getOperand(0);
    Operation *made = source.getDefiningOp();
    if (made && isOwnCast(made))
      return op->emitError("mpt-validate-precision: this cast converts what another "
                           "cast of MPT's has just converted");
    Type to = op->getResult(0).getType();
    if (!casts.insert({source, to}).second)
      return op->emitError("mpt-validate-precision: this value is cast to ")
             << to << " a second time; one cast serves all readers";
    return success();
  }

  LogicalResult checkDenied(Operation *op, const OpRecord &record) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *made = operand.get().getDefiningOp();
      if (record.getOperandPort(op, operand.getOperandNumber()) == Port::Follows &&
          types.getFloat(operand.get().getType()) == low && made && isOwnCast(made))
        return op->emitError("mpt-validate-precision: '")
               << op->getName() << "' is denied for " << low << ", but operand "
               << operand.getOperandNumber() << " was cast to it";
    }
    return success();
  }

  LogicalResult checkAccumulator(Operation *op, const OpRecord &record) {
    if (!record.isContraction(op))
      return success();
    if (auto type = op->getAttrOfType<TypeAttr>("acc_type"))
      if (auto element = dyn_cast<FloatType>(type.getValue());
          element && element.getWidth() < 32)
        return op->emitError("mpt-validate-precision: '")
               << op->getName() << "' accumulates in " << element
               << "; contractions accumulate in f32";
    return success();
  }

  /// The floats in `value`: of a list whose type does not say it
  /// (`!torch.list<vtensor>`), those that its maker put there, if they are of one type.
  FloatType getElement(Value value) {
    Operation *maker = value.getDefiningOp();
    if (!types.isUntypedList(value.getType()) || !maker || !policy.lookup(maker).isList())
      return types.getFloat(value.getType());
    FloatType found;
    for (Type type : maker->getOperandTypes())
      if (FloatType element = types.getFloat(type)) {
        if (found && element != found)
          return {};
        found = element;
      }
    return found;
  }

  LogicalResult checkTypes(Operation *op, const OpRecord &record) {
    if (record.getTyping() == OpTyping::Positional ||
        record.getRegionPolicy() == RegionPolicy::Carry ||
        record.getRegionPolicy() == RegionPolicy::Branches)
      return success();
    Type agreed;
    // What the user mixed as the op permits is meaning, also where we would not.
    const bool mayMix =
        record.rule && record.rule->results != ResultForm::Same &&
        llvm::none_of(op->getOperands(), [](Value operand) {
          return operand.getDefiningOp() && isOwnCast(operand.getDefiningOp());
        });
    auto look = [&](Value value, Port port, bool isResult, unsigned index) {
      FloatType element = getElement(value);
      if (!element || (!element.isF32() && element != low) ||
          (port != Port::Follows && port != Port::Wide))
        return success();
      if (!agreed)
        agreed = element;
      // A contraction of low operands may return f32, but not the other way round.
      if (element == agreed || (isResult && element.isF32() &&
                                (port == Port::Wide || record.readsAny || mayMix ||
                                 record.results == ResultForm::F32)))
        return success();
      return LogicalResult(op->emitError("mpt-validate-precision: '")
                           << op->getName() << "' has operands of " << agreed << ", but "
                           << (isResult ? "result " : "operand ") << index << " is of "
                           << element);
    };
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (failed(look(operand, record.getOperandPort(op, i), false, i)))
        return failure();
    for (auto [i, value] : llvm::enumerate(op->getResults()))
      if (failed(look(value, record.getResultPort(op, i), true, i)))
        return failure();
    return success();
  }

  PrecisionPolicy &policy;
  Type low;
  ElementTypes types;
  DenseSet<std::pair<Value, Type>> casts;
};

struct ValidatePrecisionPass
    : PolicyPass<mpt::impl::ValidatePrecisionPassBase<ValidatePrecisionPass>> {
  using PolicyPass::PolicyPass;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<PolicyAndSettings> chosen = makePolicy(module);
    if (!chosen)
      return signalPassFailure();
    Validator validator(chosen->policy);
    bool valid = true;
    module.walk([&](Operation *op) { valid &= succeeded(validator.check(op)); });
    if (!valid)
      signalPassFailure();
    warnOfUnknownOps(module, getArgument(), chosen->policy);
    markAllAnalysesPreserved();
  }
};

} // namespace
