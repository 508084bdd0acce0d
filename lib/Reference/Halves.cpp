//===- Halves.cpp - Parameters kept in 16 bits ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Accumulation, random bits, and the ops that keep a parameter in bf16 with or
/// without 16 more bits. Where nothing is rounded (Mode::Float64) the high half is
/// the number itself and the low half 0.
///
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "mpt/Support/Philox.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

static uint32_t getBits(double value) {
  return llvm::bit_cast<uint32_t>(static_cast<float>(value));
}
static double fromBits(uint32_t bits) { return llvm::bit_cast<float>(bits); }

static LogicalResult evaluateAccumulate(AccumulateOp op, Frame &frame) {
  std::vector<double> sum = frame.floats(op.getSum());
  for (auto [value, gradient] : llvm::zip_equal(sum, frame.floats(op.getGradient())))
    value = frame.round(value + gradient, op.getResult()) /
            static_cast<double>(op.getDivisor());
  frame.set(op.getResult(), std::move(sum));
  return success();
}

static LogicalResult evaluateJoinHalves(JoinHalvesOp op, Frame &frame) {
  std::vector<double> x = frame.floats(op.getHigh());
  for (auto [value, low] : llvm::zip_equal(x, frame.ints(op.getLow())))
    if (low != 0)
      value = fromBits(getBits(value) + static_cast<uint32_t>(low));
  frame.set(op.getX(), std::move(x));
  return success();
}

static LogicalResult evaluateHighHalf(HighHalfOp op, Frame &frame) {
  std::vector<double> high = frame.floats(op.getX());
  if (frame.getMode() == Mode::Storage)
    for (double &value : high)
      value = fromBits((getBits(value) + 0x8000u) & 0xFFFF0000u);
  frame.set(op.getHigh(), std::move(high));
  return success();
}

static LogicalResult evaluateLowHalf(LowHalfOp op, Frame &frame) {
  std::vector<int64_t> low;
  for (double value : frame.floats(op.getX()))
    low.push_back(frame.getMode() == Mode::Storage ? getBits(value) & 0xFFFFu : 0);
  frame.set(op.getLow(), std::move(low));
  return success();
}

static LogicalResult evaluateRoundingError(RoundingErrorOp op, Frame &frame) {
  std::vector<double> error = frame.floats(op.getX());
  for (double &value : error)
    value -= frame.round(value, op.getError());
  frame.set(op.getError(), std::move(error));
  return success();
}

static LogicalResult evaluateAddCompensation(AddCompensationOp op, Frame &frame) {
  std::vector<double> x = frame.floats(op.getParam());
  for (auto [value, compensation] :
       llvm::zip_equal(x, frame.floats(op.getCompensation())))
    value += compensation;
  frame.set(op.getX(), std::move(x));
  return success();
}

static LogicalResult evaluateRandomBits(RandomBitsOp op, Frame &frame) {
  uint64_t seed = frame.ints(op.getSeed())[0];
  uint64_t attempt = frame.ints(op.getAttempt())[0];
  std::vector<int64_t> bits(frame.getSize(op.getBits()));
  for (auto [i, value] : llvm::enumerate(bits))
    value = philoxBlock(seed, static_cast<uint32_t>(op.getStream()), attempt,
                        i / 8)[i % 8 / 2] >>
                (i % 2 * 16) &
            0xFFFFu;
  frame.set(op.getBits(), std::move(bits));
  return success();
}

static LogicalResult evaluateStochasticRound(StochasticRoundOp op, Frame &frame) {
  std::vector<double> y = frame.floats(op.getX());
  if (frame.getMode() == Mode::Storage)
    for (auto [value, bits] : llvm::zip_equal(y, frame.ints(op.getBits())))
      if (std::isfinite(value))
        value = fromBits((getBits(value) + (static_cast<uint32_t>(bits) & 0xFFFFu)) &
                         0xFFFF0000u);
  frame.set(op.getY(), std::move(y));
  return success();
}

void mpt::reference::addHalves(OpTable &table) {
  table.add<AccumulateOp>(evaluateAccumulate);
  table.add<JoinHalvesOp>(evaluateJoinHalves);
  table.add<HighHalfOp>(evaluateHighHalf);
  table.add<LowHalfOp>(evaluateLowHalf);
  table.add<RoundingErrorOp>(evaluateRoundingError);
  table.add<AddCompensationOp>(evaluateAddCompensation);
  table.add<RandomBitsOp>(evaluateRandomBits);
  table.add<StochasticRoundOp>(evaluateStochasticRound);
}
