//===- RangeProfile.cpp - Recorded magnitudes of a step's values -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/RangeProfile.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Precision/PrecisionGraph.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpt;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The first file position or name in `location`; files with or without folder.
static std::string describe(Location location, bool withFolder) {
  std::string text;
  location->walk([&](Location each) {
    if (auto file = dyn_cast<FileLineColLoc>(each)) {
      StringRef path = file.getFilename().getValue();
      llvm::raw_string_ostream(text)
          << (withFolder ? path : llvm::sys::path::filename(path)) << ':'
          << file.getLine() << ':' << file.getColumn();
    } else if (auto name = dyn_cast<NameLoc>(each)) {
      text = name.getName().getValue().str();
    }
    return text.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return text.empty() ? "unknown" : text;
}

std::string mpt::describeLocation(Location location) { return describe(location, true); }

OpNames::OpNames(Operation *function) {
  llvm::StringMap<unsigned> seen;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function || op->getNumResults() == 0 || op->hasAttr(kRecordAttr))
      return;
    StringRef kind = isOwnCast(op) ? "autocast" : op->getName().getStringRef();
    std::string name = (kind + "@" + describe(op->getLoc(), false)).str();
    unsigned number = seen[name]++;
    names[op] = number == 0 ? name : name + "#" + std::to_string(number);
  });
}

std::string mpt::getArgumentName(FunctionOpInterface function, unsigned index) {
  if (StringAttr name = StepView::getName(function, index))
    return ("argument@" + name.getValue()).str();
  return "argument@#" + std::to_string(index);
}

StringRef OpNames::lookup(Operation *op) const {
  auto found = names.find(op);
  return found == names.end() ? StringRef() : StringRef(found->second);
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

static double countFrom(const RangeProfile &profile, const RecordedRange &value,
                        float threshold) {
  RangeThresholds all(profile.formats, profile.edges);
  return value.counts[all.indexOf(threshold)];
}

/// The counts of `format`, if it is one of blocks.
static const RecordedRange::BlockCounts *
findBlocks(const RangeProfile &profile, const RecordedRange &value, StringRef format) {
  if (!findBlockFormat(format))
    return nullptr;
  auto found = llvm::find(profile.formats, format);
  const size_t index = found - profile.formats.begin();
  static const RecordedRange::BlockCounts none;
  return index < value.blocks.size() ? &value.blocks[index] : &none;
}

double RangeProfile::getUnderflow(const RecordedRange &value, StringRef format) const {
  if (const auto *blocks = findBlocks(*this, value, format))
    return blocks->underflow;
  return getNonZero(value) -
         countFrom(*this, value, findFloatFormat(format)->nonZeroFrom);
}

double RangeProfile::getSubnormal(const RecordedRange &value, StringRef format) const {
  if (const auto *blocks = findBlocks(*this, value, format))
    return blocks->subnormal;
  const FloatFormat *found = findFloatFormat(format);
  return countFrom(*this, value, found->nonZeroFrom) -
         countFrom(*this, value, found->normalFrom);
}

double RangeProfile::getOverflow(const RecordedRange &value, StringRef format) const {
  if (findBlockFormat(format))
    return 0;
  return countFrom(*this, value, findFloatFormat(format)->overflowFrom) - getInf(value);
}

std::vector<double> RangeProfile::getHistogram(const RecordedRange &value) const {
  std::vector<double> bins;
  if (edges.empty())
    return bins;
  double above = getNonZero(value);
  for (int64_t edge : edges) {
    double reached = countFrom(*this, value, std::ldexp(1.0f, static_cast<int>(edge)));
    bins.push_back(above - reached);
    above = reached;
  }
  bins.push_back(above - getInf(value));
  return bins;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

bool mpt::isOutOfRange(const RangeProfile &profile, const RecordedRange &value,
                       const FloatFormat &format, const RangeLimits &limits) {
  if (RangeProfile::getInf(value) > 0 || value.amax * limits.margin > format.largest)
    return true;
  return profile.getUnderflow(value, format.name) >
         limits.underflowShare * RangeProfile::getNonZero(value);
}

MatchedRanges mpt::matchRanges(Operation *root, const RangeProfile &profile,
                               const FloatFormat &format, const RangeLimits &limits) {
  // By function, id and result.
  llvm::StringMap<bool> outOfRange;
  auto getKey = [](StringRef function, StringRef id, int64_t result) {
    return (function + "\n" + id + "\n" + Twine(result)).str();
  };
  for (const RecordedRange &value : profile.values)
    outOfRange[getKey(value.function, value.id, value.result)] |=
        isOutOfRange(profile, value, format, limits);
  MatchedRanges matched;
  root->walk<WalkOrder::PreOrder>([&](FunctionOpInterface function) {
    for (BlockArgument argument : function.getArguments()) {
      auto found = outOfRange.find(getKey(
          function.getName(), getArgumentName(function, argument.getArgNumber()), 0));
      if (found != outOfRange.end())
        matched.values[argument] = found->second;
    }
    OpNames names(function);
    function->walk([&](Operation *op) {
      StringRef name = names.lookup(op);
      if (name.empty())
        return;
      for (OpResult result : op->getResults()) {
        auto found =
            outOfRange.find(getKey(function.getName(), name, result.getResultNumber()));
        if (found != outOfRange.end())
          matched.values[result] = found->second;
      }
    });
    return WalkResult::skip();
  });
  return matched;
}
