//===- FloatFormats.cpp - What a floating-point format can hold -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/FloatFormats.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace mpt;
using llvm::APFloat;

static APFloat roundTo(float number, const llvm::fltSemantics &semantics) {
  APFloat rounded(number);
  bool losesInfo;
  rounded.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded;
}

/// The smallest f32 above zero for which `holds` does, which holds from there on.
/// Magnitudes are ordered as their bits are.
template <typename Predicate>
static float findFirst(Predicate holds) {
  uint32_t low = 1, high = 0x7F800000;
  auto toFloat = [](uint32_t bits) {
    return APFloat(APFloat::IEEEsingle(), llvm::APInt(32, bits)).convertToFloat();
  };
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (holds(toFloat(middle)))
      high = middle;
    else
      low = middle + 1;
  }
  return toFloat(low);
}

static FloatFormat makeFormat(llvm::StringRef name, const llvm::fltSemantics &semantics) {
  auto toDouble = [](APFloat number) {
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToDouble();
  };
  FloatFormat format;
  format.name = name;
  format.largest = toDouble(APFloat::getLargest(semantics));
  APFloat normal = APFloat::getSmallestNormalized(semantics);
  format.smallestNormal = toDouble(normal);
  format.smallest = toDouble(APFloat::getSmallest(semantics));
  format.nonZeroFrom =
      findFirst([&](float x) { return !roundTo(x, semantics).isZero(); });
  format.normalFrom = findFirst([&](float x) {
    APFloat rounded = roundTo(x, semantics);
    return !rounded.isFinite() || rounded.compare(normal) != APFloat::cmpLessThan;
  });
  format.overflowFrom =
      findFirst([&](float x) { return !roundTo(x, semantics).isFinite(); });
  return format;
}

llvm::ArrayRef<FloatFormat> mpt::getFloatFormats() {
  static const FloatFormat formats[] = {
      makeFormat("f32", APFloat::IEEEsingle()), makeFormat("bf16", APFloat::BFloat()),
      makeFormat("f16", APFloat::IEEEhalf()), makeFormat("f8E5M2", APFloat::Float8E5M2()),
      makeFormat("f8E4M3FN", APFloat::Float8E4M3FN())};
  return formats;
}

const FloatFormat *mpt::findFloatFormat(llvm::StringRef name) {
  auto found = llvm::find_if(
      getFloatFormats(), [&](const FloatFormat &format) { return format.name == name; });
  return found == getFloatFormats().end() ? nullptr : found;
}

std::optional<BlockFormat> mpt::findBlockFormat(llvm::StringRef name) {
  auto [type, text] = name.split('/');
  const FloatFormat *element =
      type == "f8E4M3FN" || type == "f8E5M2" ? findFloatFormat(type) : nullptr;
  int64_t length;
  if (!element || text.getAsInteger(10, length) || length < 2 || length > 4096)
    return std::nullopt;
  return BlockFormat{element, length};
}

bool mpt::isRangeFormat(llvm::StringRef name) {
  return findFloatFormat(name) || findBlockFormat(name);
}

RangeThresholds::RangeThresholds(llvm::ArrayRef<std::string> formats,
                                 llvm::ArrayRef<int64_t> edges) {
  thresholds = {0.0f, std::numeric_limits<float>::denorm_min(),
                std::numeric_limits<float>::infinity()};
  for (const std::string &name : formats)
    if (const FloatFormat *format = findFloatFormat(name))
      thresholds.insert(thresholds.end(),
                        {format->nonZeroFrom, format->normalFrom, format->overflowFrom});
  for (int64_t edge : edges)
    thresholds.push_back(std::ldexp(1.0f, static_cast<int>(edge)));
  llvm::sort(thresholds);
  thresholds.erase(llvm::unique(thresholds), thresholds.end());
}

size_t RangeThresholds::indexOf(float threshold) const {
  return llvm::lower_bound(thresholds, threshold) - thresholds.begin();
}
