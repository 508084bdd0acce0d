//===- FilterGradMatmul.cpp - Filter gradients as matmuls ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Filter gradients of small images, where oneDNN's convolutions spend their time on
/// rows of a few points: for each tap of the filter, the transposed points of x that it
/// reads times the points of dy that it writes. A task makes a block of input and output
/// channels of a tap. Points beyond the image's edge take no part. For filters [O, C, KH,
/// KW] the matmul makes the transposed block, so that output channels are its rows.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "OneDnn.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

using namespace mpt::rt;

namespace {

int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

class FilterGradMatmul : public Call {
public:
  bool prepare(const Instruction &instruction, int64_t threads, bool fastBF16) {
    attributes = *getConv(instruction);
    plan = planConv(instruction, threads);
    x = instruction.refs[attributes.x];
    y = instruction.refs[attributes.y];
    const BufferRef &result = instruction.refs[attributes.filter];
    resultType = result.type;
    filter = attributes.getFilterSizes(result.dims);
    operands = getMatmulType(getRounded(x.type, attributes.xRounding), y.type, fastBF16);
    for (int axis : {0, 1})
      for (int64_t tap = 0; tap < filter[axis]; ++tap)
        ranges[axis].push_back(getRange(axis, tap, x.dims[1 + axis], y.dims[1 + axis]));
    if (prepareMatmuls(threads))
      return true;
    operands = DataType::F32;
    return prepareMatmuls(threads);
  }

  bool run(void **buffers, ThreadTeam &team, std::string &error) override {
    failed = false;
    const int64_t taps = filter[0] * filter[1], in = filter[2], out = filter[3];
    const int64_t inBlocks = (in + plan.inBlock - 1) / plan.inBlock,
                  outBlocks = (out + plan.outBlock - 1) / plan.outBlock;
    auto *wide = static_cast<char *>(buffers[attributes.filter + 1]);
    char *scratch = wide + plan.filterBytes;
    const bool isApart = attributes.isOIHW && taps > 1;
    void *target = isApart ? wide : buffers[attributes.filter];
    const DataType type = isApart ? DataType::F32 : resultType;
    parallelFor(taps * inBlocks * outBlocks, team, [&](int64_t task, int thread) {
      alignas(64) char stack[ConvPlan::stackBytes];
      const int64_t outFirst = task % outBlocks * plan.outBlock,
                    inFirst = task / outBlocks % inBlocks * plan.inBlock,
                    tap = task / outBlocks / inBlocks;
      runTask(buffers, tap, {inFirst, std::min(plan.inBlock, in - inFirst)},
              {outFirst, std::min(plan.outBlock, out - outFirst)},
              plan.getArea(scratch, stack, thread), thread, target, type);
    });
    if (isApart)
      parallelFor((in * out + block - 1) / block, team, [&](int64_t task, int) {
        joinTaps(reinterpret_cast<float *>(wide), buffers[attributes.filter],
                 task * block);
      });
    if (failed)
      error = "oneDNN could not run a filter gradient";
    return !failed;
  }

private:
  /// Pairs of channels of a task that brings their taps together: few enough that the
  /// result stays in the first cache from tap to tap.
  static constexpr int64_t block = 512;

  struct Range {
    int64_t first, count;
  };

  /// The points of dy along an axis that a tap writes from a point within x.
  Range getRange(int axis, int64_t tap, int64_t size, int64_t points) const {
    Range range{0, 0};
    for (int64_t point = 0; point < points; ++point) {
      const int64_t read = getRead(axis, tap, point);
      if (read < 0 || read >= size)
        continue;
      if (range.count++ == 0)
        range.first = point;
    }
    return range;
  }
  int64_t getRead(int axis, int64_t tap, int64_t point) const {
    return point * attributes.strides[axis] - attributes.padding[2 * axis] +
           tap * attributes.dilations[axis];
  }

  bool prepareMatmuls(int64_t threads) {
    matmuls.clear();
    const int64_t in = filter[2], out = filter[3];
    const int64_t last = x.dims[0] - (plan.chunks - 1) * plan.chunk;
    for (const Range &rows : ranges[0])
      for (const Range &columns : ranges[1])
        for (int64_t images : {plan.chunk, last})
          for (int64_t m : {plan.inBlock, in % plan.inBlock})
            for (int64_t n : {plan.outBlock, out % plan.outBlock}) {
              const int64_t k = images * rows.count * columns.count;
              if (k * m * n > 0 && !(attributes.isOIHW ? prepareMatmul(n, m, k, threads)
                                                       : prepareMatmul(m, n, k, threads)))
                return false;
            }
    return true;
  }
  bool prepareMatmul(int64_t m, int64_t n, int64_t k, int64_t threads) {
    if (findMatmul(m, n, k))
      return true;
    matmuls.push_back({m, n, k, std::make_unique<Primitive>()});
    Primitive &primitive = *matmuls.back().primitive;
    dnnl_memory_desc_t lhs, rhs, result;
    dnnl_matmul_desc_t desc;
    return makeDesc(lhs, {m, k}, {1, m}, operands) &&
           makeDesc(rhs, {k, n}, {n, 1}, operands) && makeDesc(result, {m, n}, {n, 1}) &&
           dnnl_matmul_desc_init(&desc, &lhs, &rhs, nullptr, &result) == dnnl_success &&
           primitive.init(&desc, nullptr) &&
           (operands == DataType::F32 || !primitive.isReference()) &&
           primitive.setArguments(
               {{DNNL_ARG_SRC, lhs}, {DNNL_ARG_WEIGHTS, rhs}, {DNNL_ARG_DST, result}},
               threads);
  }

  Primitive *findMatmul(int64_t m, int64_t n, int64_t k) const {
    for (const Matmul &matmul : matmuls)
      if (matmul.m == m && matmul.n == n && matmul.k == k)
        return matmul.primitive.get();
    return nullptr;
  }

  /// [KH, KW, O, C] as [O, C, KH, KW], a block of pairs of channels from `first` on.
  void joinTaps(const float *source, void *target, int64_t first) const {
    const int64_t taps = filter[0] * filter[1], pairs = filter[2] * filter[3],
                  end = std::min(first + block, pairs);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const float *from = source + tap * pairs;
      if (resultType == DataType::F32)
        for (int64_t i = first; i < end; ++i)
          static_cast<float *>(target)[i * taps + tap] = from[i];
      else
        for (int64_t i = first; i < end; ++i)
          fromF32(resultType, target, i * taps + tap, from[i]);
    }
  }

  void runTask(void **buffers, int64_t tap, Range in, Range out, char *area, int thread,
               void *target, DataType type) {
    const int64_t tapY = tap / filter[1], tapX = tap % filter[1];
    const Range rows = ranges[0][tapY], columns = ranges[1][tapX];
    const int64_t points = rows.count * columns.count;
    const int64_t images = x.dims[0], count = in.count * out.count;
    char *inPanel = area, *outPanel = inPanel + plan.threadInBytes;
    auto *sum = reinterpret_cast<float *>(outPanel + plan.threadOutBytes);
    // The channels of the block's rows and of its columns.
    const bool byOut = attributes.isOIHW;
    const Range down = byOut ? out : in, across = byOut ? in : out;
    const int64_t allDown = filter[byOut ? 3 : 2], allAcross = filter[byOut ? 2 : 3];
    char *lhs = byOut ? outPanel : inPanel, *rhs = byOut ? inPanel : outPanel;
    float *part = sum + alignUp(4 * plan.inBlock * plan.outBlock) / 4;
    if (points == 0)
      std::fill_n(sum, count, 0.0f);
    for (int64_t first = 0; points > 0 && first < images; first += plan.chunk) {
      const int64_t size = std::min(plan.chunk, images - first);
      int64_t k = 0;
      for (int64_t image = first; image < first + size; ++image)
        for (int64_t row = rows.first; row < rows.first + rows.count; ++row)
          for (int64_t column = columns.first; column < columns.first + columns.count;
               ++column, ++k) {
            const int64_t readY = getRead(0, tapY, row), readX = getRead(1, tapX, column);
            copyPoint(x, attributes.xRounding, buffers[attributes.x],
                      (image * x.dims[1] + readY) * x.dims[2] + readX, in, inPanel, k);
            copyPoint(y, Rounding::None, buffers[attributes.y],
                      (image * y.dims[1] + row) * y.dims[2] + column, out, outPanel, k);
          }
      float *to = first == 0 ? sum : part;
      if (!findMatmul(down.count, across.count, k)->run({lhs, rhs, to}, thread))
        failed = true;
      for (int64_t i = 0; first > 0 && i < count; ++i)
        sum[i] += part[i];
    }
    for (int64_t i = 0; i < down.count; ++i)
      narrow(type, sum + i * across.count, target,
             (tap * allDown + down.first + i) * allAcross + across.first, across.count);
  }
  /// Some channels of a point as row `k` of a panel.
  void copyPoint(const BufferRef &ref, Rounding rounding, const void *source,
                 int64_t point, Range channels, char *panel, int64_t k) const {
    const int64_t size = getSize(operands), from = point * ref.dims[3] + channels.first;
    char *to = panel + k * channels.count * size;
    if (ref.type == operands && rounding == Rounding::None)
      std::memcpy(to, static_cast<const char *>(source) + from * size,
                  channels.count * size);
    else if (operands == DataType::BF16)
      narrow(operands, static_cast<const float *>(source) + from, to, 0, channels.count);
    else
      widen(ref.type, rounding, source, from, reinterpret_cast<float *>(to),
            channels.count);
  }

  BufferRef x, y;
  DataType resultType = DataType::F32;
  ConvCall attributes;
  ConvPlan plan;
  DataType operands = DataType::F32;
  /// Height, width, inputs and outputs.
  std::array<int64_t, 4> filter;
  /// By axis and tap.
  std::vector<Range> ranges[2];
  struct Matmul {
    /// Rows, columns and summed points.
    int64_t m, n, k;
    std::unique_ptr<Primitive> primitive;
  };
  std::vector<Matmul> matmuls;
  std::atomic<bool> failed{false};
};

} // namespace

std::unique_ptr<Call> mpt::rt::makeFilterGradMatmul(const Instruction &instruction,
                                                    int64_t maxThreads, bool fastBF16,
                                                    std::string &error) {
  auto call = std::make_unique<FilterGradMatmul>();
  if (call->prepare(instruction, maxThreads, fastBF16))
    return call;
  error = "oneDNN has no matmuls for this filter gradient";
  return nullptr;
}
