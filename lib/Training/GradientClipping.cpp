//===- GradientClipping.cpp - Groups of gradients, scaled and clipped -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientClipping.h"
#include "ShardedGradients.h"
#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"
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
                             ArrayRef<ParameterNames> names, bool allowsZero) {
  SmallVector<ParameterGroup> groups;
  SmallVector<bool> taken(names.size(), false);
  for (StringRef text : texts) {
    auto [pattern, number] = text.rsplit('=');
    ParameterGroup group;
    if (number.getAsDouble(group.number) || !std::isfinite(group.number) ||
        !(allowsZero ? group.number >= 0 : group.number > 0))
      return op->emitError("mpt-train-step: ")
             << option << ": expected REGEX=NUMBER with a finite number "
             << (allowsZero ? "of at least 0" : "above 0") << ", found '" << text << "'";
    llvm::Regex regex(pattern);
    std::string problem;
    if (!regex.isValid(problem))
      return op->emitError("mpt-train-step: ")
             << option << ": '" << pattern
             << "' is not a regular expression: " << problem;
    for (auto [i, parameter] : llvm::enumerate(names)) {
      if (taken[i])
        continue;
      SmallVector<StringRef> matched, others;
      if (parameter.sharded.empty())
        (regex.match(parameter.name) ? matched : others).push_back(parameter.name);
      for (const std::string &name : parameter.sharded)
        (regex.match(name) ? matched : others).push_back(name);
      if (!matched.empty() && !others.empty())
        return op->emitError("mpt-train-step: ")
               << option << ": '" << pattern << "' matches '" << matched.front()
               << "' and not '" << others.front()
               << "', and both are cut together; give groups='" << pattern
               << "' to the pass that cuts them, --mpt-shard-optimizer or "
                  "--mpt-shard-parameters";
      if (others.empty()) {
        taken[i] = true;
        group.members.push_back(i);
      }
    }
    if (group.members.empty()) {
      InFlightDiagnostic error =
          op->emitError("mpt-train-step: ")
          << option << ": '" << pattern
          << "' matches no parameter that an earlier one has not taken";
      SmallVector<StringRef> known;
      for (const ParameterNames &parameter : names) {
        if (parameter.sharded.empty())
          known.push_back(parameter.name);
        llvm::append_range(known, parameter.sharded);
      }
      error.attachNote(op->getLoc()) << "the parameters are " << llvm::join(known, ", ");
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
                                 MutableArrayRef<Value> gradients, double limit,
                                 ArrayRef<ShardLayout> layouts) {
  if (!layouts.empty()) {
    Value norm = getShardedNorm(builder, loc, gradients, layouts);
    if (!std::isfinite(limit))
      return norm;
    KeepsPrecision keeps(builder);
    DecomposeBuilder b(builder, loc, norm);
    Value factor = getClipFactor(b, norm, limit);
    for (Value &gradient : gradients)
      gradient = b.round(b.mul(gradient, factor), getWideType(gradient));
    return norm;
  }
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
