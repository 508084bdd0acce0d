//===- ConvMatmul.cpp - Convolutions of few points as matmuls --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Convolutions of images of few points, and their input gradients: a direct convolution
/// multiplies one row of an image by the filter at a time, padding included. Here each
/// point of the result is a matmul whose rows are images: the points that it reads times
/// their taps of the filter, added tap by tap. Taps that only meet padding take no part.
/// A task makes one point of a chunk of images.
///
/// A filter [KH, KW, C, O] is multiplied as it is stored if it has the right type, with
/// the taps of a row of the filter side by side as one matmul. Of others the taps that
/// are read are copied, those of [O, C, KH, KW] as [KH, KW, O, C].
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "OneDnn.h"
#include "Parallel.h"
#include "Transpose.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

using namespace mpt::rt;

namespace {

class ConvMatmul : public Call {
public:
  bool prepare(const Instruction &instruction, int64_t threads, bool fastBF16) {
    attributes = *getConv(instruction);
    plan = planConv(instruction, threads);
    const bool isForward = attributes.kind == CallId::Conv2D;
    operand = instruction.refs[0];
    operandRounding = isForward ? attributes.xRounding : Rounding::None;
    result = instruction.refs[instruction.numInputs];
    resultIndex = instruction.numInputs;
    filter = instruction.refs[1];
    sizes = attributes.getFilterSizes(filter.dims);
    if (attributes.hasBias) {
      bias = instruction.refs[2];
      biasRow.resize(bias.count());
    }
    in = operand.dims[3];
    out = result.dims[3];
    isSeparated = attributes.isOIHW && sizes[0] * sizes[1] > 1;
    listRuns();
    operands = getMatmulType(getRounded(operand.type, operandRounding),
                             getRounded(filter.type, attributes.rounding), fastBF16);
    if (prepareMatmuls(threads))
      return true;
    operands = DataType::F32;
    return prepareMatmuls(threads);
  }

  bool run(void **buffers, ThreadTeam &team, std::string &error) override {
    failed = false;
    auto *scratch = static_cast<char *>(buffers[resultIndex + 1]);
    const char *taps = getTaps(buffers[1], scratch, team);
    char *areas = scratch + plan.filterBytes;
    if (attributes.hasBias)
      widen(bias.type, buffers[2], 0, biasRow.data(), biasRow.size());
    const int64_t points = result.dims[1] * result.dims[2];
    parallelFor(points * plan.chunks, team, [&](int64_t task, int thread) {
      alignas(64) char stack[ConvPlan::stackBytes];
      runTask(buffers, taps, task / plan.chunks, task % plan.chunks * plan.chunk,
              plan.getArea(areas, stack, thread), thread);
    });
    if (failed)
      error = "oneDNN could not run a convolution";
    return !failed;
  }

private:
  /// Numbers of a filter that a task copies at a time.
  static constexpr int64_t pieceElements = 4096;

  /// `span` taps side by side from `tap` on, and the points, side by side, that they read
  /// of the operand.
  struct Run {
    int64_t point, tap, span;
  };
  struct Matmul {
    int64_t images, span;
    bool adds;
    std::unique_ptr<Primitive> primitive;
  };

  /// What each point of the result reads.
  void listRuns() {
    const int64_t width = operand.dims[2];
    for (int64_t row = 0; row < result.dims[1]; ++row)
      for (int64_t column = 0; column < result.dims[2]; ++column) {
        std::vector<Run> &list = runs.emplace_back();
        for (int64_t tapY = 0; tapY < sizes[0]; ++tapY)
          for (int64_t tapX = 0; tapX < sizes[1]; ++tapX) {
            const int64_t readY = getRead(0, row, tapY), readX = getRead(1, column, tapX);
            if (readY < 0 || readX < 0)
              continue;
            const Run next = {readY * width + readX, tapY * sizes[1] + tapX, 1};
            if (!list.empty() && tapX > 0 && list.back().span < plan.pointTaps &&
                list.back().tap + list.back().span == next.tap &&
                list.back().point + list.back().span == next.point)
              ++list.back().span;
            else
              list.push_back(next);
            usedTaps.push_back(next.tap);
          }
      }
    std::sort(usedTaps.begin(), usedTaps.end());
    usedTaps.erase(std::unique(usedTaps.begin(), usedTaps.end()), usedTaps.end());
  }
  /// Where the taps from `tap` on begin.
  int64_t getPlace(int64_t tap) const {
    if (!isCopied)
      return tap;
    return std::lower_bound(usedTaps.begin(), usedTaps.end(), tap) - usedTaps.begin();
  }
  /// The place of the operand along an axis that `place` of the result reads through a
  /// tap; -1 if there is none.
  int64_t getRead(int axis, int64_t place, int64_t tap) const {
    const int64_t step = attributes.strides[axis], low = attributes.padding[2 * axis],
                  shift = tap * attributes.dilations[axis];
    int64_t read;
    if (attributes.kind == CallId::Conv2D) {
      read = place * step - low + shift;
    } else {
      const int64_t spread = place + low - shift;
      if (spread < 0 || spread % step != 0)
        return -1;
      read = spread / step;
    }
    return read < operand.dims[1 + axis] ? std::max<int64_t>(read, -1) : -1;
  }

  bool prepareMatmuls(int64_t threads) {
    matmuls.clear();
    isCopied =
        isSeparated || filter.type != operands || attributes.rounding != Rounding::None;
    const int64_t last = operand.dims[0] - (plan.chunks - 1) * plan.chunk;
    for (const std::vector<Run> &list : runs)
      for (size_t i = 0; i < list.size(); ++i)
        for (int64_t images : {plan.chunk, last})
          if (!prepareMatmul(images, list[i].span, /*adds=*/i > 0, threads))
            return false;
    return true;
  }
  bool prepareMatmul(int64_t m, int64_t span, bool adds, int64_t threads) {
    if (findMatmul(m, span, adds))
      return true;
    matmuls.push_back({m, span, adds, std::make_unique<Primitive>()});
    Primitive &primitive = *matmuls.back().primitive;
    const int64_t k = span * in;
    // Of [C, O] as stored, or [O, C]: the operand's channels are either.
    const bool isForward = attributes.kind == CallId::Conv2D;
    const bool isTransposed = isForward == attributes.isOIHW;
    dnnl_memory_desc_t lhs, rhs, sum;
    dnnl_matmul_desc_t desc;
    return makeDesc(lhs, {m, k}, {k, 1}, operands) &&
           makeDesc(rhs, {k, out},
                    isTransposed ? std::vector<int64_t>{1, k}
                                 : std::vector<int64_t>{out, 1},
                    operands) &&
           makeDesc(sum, {m, out}, {out, 1}) &&
           dnnl_matmul_desc_init(&desc, &lhs, &rhs, nullptr, &sum) == dnnl_success &&
           primitive.init(&desc, nullptr, adds) &&
           (operands == DataType::F32 || !primitive.isReference()) &&
           primitive.setArguments(
               {{DNNL_ARG_SRC, lhs}, {DNNL_ARG_WEIGHTS, rhs}, {DNNL_ARG_DST, sum}},
               threads);
  }
  Primitive *findMatmul(int64_t images, int64_t span, bool adds) const {
    for (const Matmul &matmul : matmuls)
      if (matmul.images == images && matmul.span == span && matmul.adds == adds)
        return matmul.primitive.get();
    return nullptr;
  }

  /// The taps in the type that is multiplied: the filter as it is stored, or those that
  /// are read, one after another, in `copy`.
  const char *getTaps(const void *stored, char *copy, ThreadTeam &team) const {
    if (!isCopied)
      return static_cast<const char *>(stored);
    const int64_t pairs = in * out, block = isSeparated ? getPiecePairs() : pieceElements,
                  blocks = (pairs + block - 1) / block;
    parallelFor(blocks, team, [&](int64_t task, int) {
      const int64_t first = task * block, count = std::min(block, pairs - first);
      if (isSeparated)
        return separateTaps(stored, first, count, copy);
      for (size_t i = 0; i < usedTaps.size(); ++i)
        convert(stored, usedTaps[i] * pairs + first, copy, i * pairs + first, count);
    });
    return copy;
  }
  /// `count` pairs of channels of [O, C, KH, KW], from `first` on, by way of the stack:
  /// the taps from the first to the last that is read become rows.
  void separateTaps(const void *stored, int64_t first, int64_t count, char *copy) const {
    alignas(64) char piece[pieceElements * 4];
    const int64_t taps = sizes[0] * sizes[1], size = getSize(filter.type),
                  firstTap = usedTaps.front(), range = usedTaps.back() - firstTap + 1;
    transposeBits({size,
                   static_cast<const char *>(stored) + (first * taps + firstTap) * size,
                   taps, count, range},
                  piece, count);
    for (size_t i = 0; i < usedTaps.size(); ++i)
      convert(piece, (usedTaps[i] - firstTap) * count, copy, i * in * out + first, count);
  }
  int64_t getPiecePairs() const {
    const int64_t range = usedTaps.back() - usedTaps.front() + 1;
    return std::max<int64_t>(pieceElements / range / 16 * 16, 1);
  }
  /// `count` numbers of the filter in the type that is multiplied.
  void convert(const void *source, int64_t from, char *target, int64_t to,
               int64_t count) const {
    const int64_t size = getSize(operands);
    if (filter.type == operands && attributes.rounding == Rounding::None)
      std::memcpy(target + to * size, static_cast<const char *>(source) + from * size,
                  count * size);
    else if (operands == DataType::BF16)
      narrow(operands, static_cast<const float *>(source) + from, target, to, count);
    else
      widen(filter.type, attributes.rounding, source, from,
            reinterpret_cast<float *>(target) + to, count);
  }

  void runTask(void **buffers, const char *taps, int64_t point, int64_t first, char *area,
               int thread) {
    const int64_t images = std::min(plan.chunk, operand.dims[0] - first);
    auto *sums = reinterpret_cast<float *>(area + plan.threadInBytes);
    const std::vector<Run> &list = runs[point];
    if (list.empty())
      std::fill_n(sums, images * out, 0.0f);
    for (size_t i = 0; i < list.size(); ++i) {
      char *lhs = getRows(buffers[0], list[i], first, images, area);
      const char *rhs = taps + getPlace(list[i].tap) * in * out * getSize(operands);
      if (!findMatmul(images, list[i].span, i > 0)
               ->run({lhs, const_cast<char *>(rhs), sums}, thread))
        failed = true;
    }
    const int64_t points = result.dims[1] * result.dims[2];
    const float *row = attributes.hasBias ? biasRow.data() : nullptr;
    for (int64_t image = 0; image < images; ++image) {
      float *sum = sums + image * out;
      if (row || attributes.epilogue != Epilogue::None)
        finishRow(sum, row, out, attributes.epilogue);
      narrow(result.type, sum, buffers[resultIndex],
             ((first + image) * points + point) * out, out);
    }
  }
  /// The points of a run in each image, one row an image: where they lie if they are all
  /// that an image has.
  char *getRows(void *source, const Run &run, int64_t first, int64_t images,
                char *panel) const {
    const int64_t points = operand.dims[1] * operand.dims[2], count = run.span * in,
                  size = getSize(operands);
    const bool isStored = operand.type == operands && operandRounding == Rounding::None;
    auto *stored = static_cast<char *>(source);
    if (isStored && points == run.span)
      return stored + first * count * size;
    for (int64_t image = 0; image < images; ++image) {
      const int64_t from = ((first + image) * points + run.point) * in;
      char *to = panel + image * count * size;
      if (isStored)
        std::memcpy(to, stored + from * size, count * size);
      else if (operands == DataType::BF16)
        narrow(operands, static_cast<const float *>(source) + from, to, 0, count);
      else
        widen(operand.type, operandRounding, source, from, reinterpret_cast<float *>(to),
              count);
    }
    return panel;
  }

  /// x or dy, y or dx, and the filter as it is stored.
  BufferRef operand, result, filter, bias;
  Rounding operandRounding = Rounding::None;
  uint32_t resultIndex = 2;
  /// Channels of the operand and of the result.
  int64_t in = 0, out = 0;
  /// Whether each tap has to be brought together, and whether the taps that are read are
  /// copied for that or for their type.
  bool isSeparated = false, isCopied = false;
  ConvCall attributes;
  ConvPlan plan;
  DataType operands = DataType::F32;
  /// Height, width, inputs and outputs of the filter.
  std::array<int64_t, 4> sizes{};
  /// By point of the result.
  std::vector<std::vector<Run>> runs;
  /// In order.
  std::vector<int64_t> usedTaps;
  std::vector<Matmul> matmuls;
  std::vector<float> biasRow;
  std::atomic<bool> failed{false};
};

} // namespace

std::unique_ptr<Call> mpt::rt::makeConvMatmul(const Instruction &instruction,
                                              int64_t maxThreads, bool fastBF16,
                                              std::string &error) {
  auto call = std::make_unique<ConvMatmul>();
  if (call->prepare(instruction, maxThreads, fastBF16))
    return call;
  error = "oneDNN has no matmuls for this convolution";
  return nullptr;
}
