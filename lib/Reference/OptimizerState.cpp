//===- OptimizerState.cpp - Optimizer state in 8 bits -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Numbers come from a table of the code book, and codes from the f32 formula of
/// mpt.dynamic_code, each of whose steps is a C++ float here. Where nothing is rounded
/// (Mode::Float64) the steps are the same: codes are storage.
///
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <cmath>
#include <limits>
#include <optional>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

namespace {

/// The code book: 256 numbers in ascending order.
std::array<float, 256> makeTable(bool nonnegative) {
  std::array<float, 256> table;
  const float tenth = 0.1f, rest = 1.0f - tenth;
  // `count` + 1 numbers from 0.1 to 1, each rounded once.
  auto getBound = [&](int i, int count) {
    const double step = static_cast<double>(rest) / count;
    return static_cast<float>(2 * i < count ? tenth + step * i : 1 - step * (count - i));
  };
  const int zero = nonnegative ? 0 : 127;
  table[zero] = 0;
  int next = 1;
  for (int decade = 0; decade < 7; ++decade) {
    const int count = 1 << (nonnegative ? decade + 1 : decade);
    const float power = static_cast<float>(std::pow(10.0, decade - 6));
    for (int i = 0; i < count; ++i, ++next) {
      const float middle = (getBound(i, count) + getBound(i + 1, count)) / 2;
      table[zero + next] = power * middle;
      if (!nonnegative)
        table[zero - next] = -table[zero + next];
    }
  }
  table[255] = 1;
  return table;
}

const std::array<float, 256> &getTable(bool nonnegative) {
  static const std::array<float, 256> tables[] = {makeTable(false), makeTable(true)};
  return tables[nonnegative];
}

/// The code of `x`, in [0, 255]: to the nearest without `offset`.
int64_t encode(float x, std::optional<float> offset, bool nonnegative) {
  const int lowest = nonnegative ? 2 : 1, top = lowest << 7;
  const float most = top / 2;
  const float given = nonnegative ? std::fabs(x) : x;
  const float limited = given < 1 ? given : 1.0f;
  const float magnitude = std::fabs(limited);
  float moved = magnitude, parts = most;
  const bool isLater = magnitude >= 1e-6f;
  if (moved < 1e-4f) {
    moved *= 1e4f;
    parts /= 16;
  }
  if (moved < 1e-2f) {
    moved *= 1e2f;
    parts /= 4;
  }
  if (isLater && moved < 1e-1f) {
    moved *= 10;
    parts /= 2;
  }
  const float inverse = 1 / 0.9;
  const float at =
      std::fma(moved, inverse, static_cast<float>(1 - std::ldexp(1.0, -23) - inverse));
  const float within = parts * at;
  const double steepest = 2 * most / 0.9;
  float place;
  if (!offset) {
    const double start = isLater ? 0.2 : 0.25 - lowest / 18.0;
    place = parts +
            std::fmin(within, std::fma(within, 2.5f, static_cast<float>(-2.5 * start)));
    if (!nonnegative)
      place = std::fmin(place, top - 0.5f);
    place = std::fmax(place, std::fma(limited, static_cast<float>(steepest),
                                      static_cast<float>(top + 0.5 - steepest)));
  } else {
    const float own = within - 0.5f;
    // From the number before the decade, or from zero, never below its place.
    const double rise =
        isLater ? 1 / 0.6 : (1 - std::ldexp(1.0, -20)) / (0.5 + lowest / 9.0);
    const float before = own * static_cast<float>(rise);
    const float next = std::fma(std::fma(parts, 2.0f, own), static_cast<float>(1.0 / 3),
                                static_cast<float>(-2.0 / 3));
    place = std::fmin(std::fmin(own, before), next) + parts;
    if (!nonnegative)
      place = std::fmin(place, top - 1);
    place = std::fmax(place, std::fma(limited, static_cast<float>(steepest),
                                      static_cast<float>(top - steepest)));
    place += *offset;
  }
  if (nonnegative && magnitude > 0)
    place = std::fmax(place, static_cast<float>(lowest));
  const auto index = std::min(static_cast<int64_t>(place), static_cast<int64_t>(top));
  return nonnegative ? index - 1 : limited < 0 ? 127 - index : 127 + index;
}

LogicalResult evaluateDynamicCode(DynamicCodeOp op, Frame &frame) {
  const std::vector<double> &x = frame.floats(op.getX());
  std::vector<int64_t> codes(x.size());
  for (auto [i, code] : llvm::enumerate(codes))
    code = encode(x[i],
                  op.getOffset() ? std::optional<float>(frame.floats(op.getOffset())[i])
                                 : std::nullopt,
                  op.getNonnegative());
  frame.set(op.getCode(), std::move(codes));
  return success();
}

/// The numbers of i8 codes.
std::vector<double> decode(const std::vector<int64_t> &codes, bool nonnegative) {
  std::vector<double> x;
  for (int64_t code : codes)
    x.push_back(getTable(nonnegative)[code & 255]);
  return x;
}

LogicalResult evaluateDynamicValue(DynamicValueOp op, Frame &frame) {
  frame.set(op.getX(), decode(frame.ints(op.getCode()), op.getNonnegative()));
  return success();
}

LogicalResult evaluateQuantizeBlockwise(QuantizeBlockwiseOp op, Frame &frame) {
  const std::vector<double> &x = frame.floats(op.getX());
  const int64_t size = op.getBlockSize();
  std::vector<int64_t> codes(x.size());
  std::vector<double> absmax(llvm::divideCeil(x.size(), size), 0.0);
  for (auto [i, number] : llvm::enumerate(x)) {
    double &largest = absmax[i / size];
    if (std::isnan(number) || std::fabs(number) > largest)
      largest = std::fabs(number);
  }
  for (auto [i, code] : llvm::enumerate(codes)) {
    const auto largest = static_cast<float>(absmax[i / size]);
    const float factor =
        largest >= std::numeric_limits<float>::min() ? 1 / largest : 0.0f;
    std::optional<float> offset;
    if (op.getBits())
      offset = static_cast<float>((frame.ints(op.getBits())[i] & 0xFFFF) / 65536.0);
    code = encode(static_cast<float>(x[i]) * factor, offset, op.getNonnegative());
  }
  frame.set(op.getCodes(), std::move(codes));
  frame.set(op.getAbsmax(), std::move(absmax));
  return success();
}

LogicalResult evaluateDequantizeBlockwise(DequantizeBlockwiseOp op, Frame &frame) {
  std::vector<double> x = decode(frame.ints(op.getCodes()), op.getNonnegative());
  const std::vector<double> &absmax = frame.floats(op.getAbsmax());
  for (auto [i, number] : llvm::enumerate(x))
    number *= absmax[i / op.getBlockSize()];
  frame.set(op.getX(), std::move(x));
  return success();
}

} // namespace

void mpt::reference::addOptimizerState(OpTable &table) {
  table.add<DynamicCodeOp>(evaluateDynamicCode);
  table.add<DynamicValueOp>(evaluateDynamicValue);
  table.add<QuantizeBlockwiseOp>(evaluateQuantizeBlockwise);
  table.add<DequantizeBlockwiseOp>(evaluateDequantizeBlockwise);
}
