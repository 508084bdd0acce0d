//===- TrainStepAids.cpp - What practice adds to a training step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Groups of parameters by name, what is done to their gradients, and averages of
/// weights.
///
//===----------------------------------------------------------------------===//

#include "TrainStepAids.h"
#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Precision/PrecisionPolicy.h"
#include "mpt/Support/NumberToString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

void KeepsPrecision::notifyOperationInserted(Operation *op,
                                             OpBuilder::InsertPoint previous) {
  if (!isa<ConstantOp>(op))
    op->setAttr(kPrecisionAttr, StringAttr::get(op->getContext(), "f32"));
  if (before)
    before->notifyOperationInserted(op, previous);
}

FailureOr<SmallVector<ParameterGroup>>
mpt::detail::matchParameters(Operation *op, StringRef option, ArrayRef<std::string> texts,
                             ArrayRef<StringRef> names) {
  SmallVector<ParameterGroup> groups;
  SmallVector<bool> taken(names.size(), false);
  for (StringRef text : texts) {
    auto [pattern, number] = text.rsplit('=');
    ParameterGroup group;
    if (number.getAsDouble(group.number) || !(group.number > 0) ||
        !std::isfinite(group.number))
      return op->emitError("mpt-train-step: ")
             << option << ": expected REGEX=NUMBER with a finite number above 0, found '"
             << text << "'";
    llvm::Regex regex(pattern);
    std::string problem;
    if (!regex.isValid(problem))
      return op->emitError("mpt-train-step: ")
             << option << ": '" << pattern << "' is no regular expression: " << problem;
    for (auto [i, name] : llvm::enumerate(names))
      if (!taken[i] && regex.match(name)) {
        taken[i] = true;
        group.members.push_back(i);
      }
    if (group.members.empty()) {
      InFlightDiagnostic error =
          op->emitError("mpt-train-step: ")
          << option << ": '" << pattern
          << "' matches no parameter that an earlier one has not taken";
      error.attachNote(op->getLoc()) << "the parameters are " << llvm::join(names, ", ");
      return error;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

/// `gradient`'s type with elements of at least f32.
static RankedTensorType getWideType(Value gradient) {
  auto type = DecomposeBuilder::typeOf(gradient);
  return type.clone(getAccumulatorType(std::nullopt, type.getElementType()));
}

Value mpt::detail::addGradients(OpBuilder &builder, Location loc, Value a, Value b) {
  KeepsPrecision keeps(builder);
  return DecomposeBuilder(builder, loc, getWideType(a).getElementType()).add(a, b);
}

Value mpt::detail::scaleGradient(OpBuilder &builder, Location loc, Value gradient,
                                 double factor) {
  KeepsPrecision keeps(builder);
  DecomposeBuilder b(builder, loc, DecomposeBuilder::typeOf(gradient).getElementType());
  return b.mul(gradient, factor);
}

Value mpt::detail::clipGradients(OpBuilder &builder, Location loc,
                                 MutableArrayRef<Value> gradients, double limit) {
  SmallVector<Type> types;
  for (Value gradient : gradients)
    types.push_back(getWideType(gradient));
  Type norm = RankedTensorType::get({}, builder.getF32Type());
  for (Value gradient : gradients)
    if (DecomposeBuilder::typeOf(gradient).getElementType().isF64())
      norm = RankedTensorType::get({}, builder.getF64Type());
  types.push_back(norm);
  auto clip = ClipByGlobalNormOp::create(builder, loc, types, ValueRange(gradients),
                                         builder.getF64FloatAttr(limit));
  if (std::isfinite(limit))
    llvm::copy(clip.getClipped(), gradients.begin());
  return clip.getNorm();
}

Value mpt::detail::buildEmaWeight(OpBuilder &builder, Location loc, double decay,
                                  EmaWarmup warmup, Value step) {
  KeepsPrecision keeps(builder);
  DecomposeBuilder b(builder, loc, builder.getF64Type());
  Value t = b.widen(step);
  Value one = b.scalar(1.0);
  Value weight = b.scalar(1.0 - decay);
  if (warmup == EmaWarmup::Steps) {
    // 1 - t / (9 + t)
    Value atStart = b.div(b.scalar(9.0), b.add(t, 9.0));
    weight = MaximumOp::create(builder, loc, weight, atStart);
  } else if (warmup == EmaWarmup::BiasCorrection) {
    // The corrected average is itself a moving one: its decay is
    // d (1 - d^(t-1)) / (1 - d^t).
    Value power = PowOp::create(builder, loc, b.scalar(decay), t);
    weight = b.div(weight, b.sub(one, power));
  }
  return b.where(b.compare(t, one, ComparePredicate::LE), one, weight);
}

Value mpt::detail::updateEma(OpBuilder &builder, Location loc, Value average, Value value,
                             Value weight) {
  KeepsPrecision keeps(builder);
  DecomposeBuilder b(builder, loc, DecomposeBuilder::typeOf(average).getElementType());
  Value w = b.round(weight, RankedTensorType::get({}, b.element));
  Value difference = b.sub(value, average);
  Value isSmall = b.compare(w, b.scalar(0.5), ComparePredicate::LT);
  Value near = b.add(average, b.mul(difference, w));
  Value far = b.sub(value, b.mul(difference, b.sub(b.scalar(1.0), w)));
  return b.where(isSmall, near, far);
}
