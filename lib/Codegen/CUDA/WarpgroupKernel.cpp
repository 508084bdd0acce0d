//===- WarpgroupKernel.cpp - What attention by wgmma shares ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupKernel.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

Value WarpgroupKernel::infinity() {
  return number(-std::numeric_limits<double>::infinity());
}

Value WarpgroupKernel::exp2(Value x) {
  return LLVM::CallIntrinsicOp::create(b, loc, f32,
                                       b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), x)
      .getResult(0);
}

Value WarpgroupKernel::overQuad(Value x, bool isMax) {
  for (int64_t distance : {1, 2}) {
    Value other = code.exchange(x, distance);
    x = isMax ? max(x, other) : add(x, other);
  }
  return x;
}

Value WarpgroupKernel::pack(Value low, Value high) {
  auto wide = VectorType::get({2}, f32);
  Value pair = vector::FromElementsOp::create(b, loc, wide, ValueRange{low, high});
  pair = arith::TruncFOp::create(b, loc, wide.clone(shape.type), pair);
  return LLVM::BitcastOp::create(b, loc, b.getI32Type(), pair);
}

SmallVector<Value> WarpgroupKernel::packAll(ArrayRef<Value> sums) {
  SmallVector<Value> packed;
  for (size_t i = 0; i < sums.size(); i += 2)
    packed.push_back(pack(sums[i], sums[i + 1]));
  return packed;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Index WarpgroupKernel::setTiles(const TileTensor &first, const TileTensor &second,
                                int64_t rows, int64_t count, Index memory) {
  x = first;
  y = second;
  tileRows = rows;
  stages = count;
  firstMemory = memory;
  secondMemory = firstMemory + stages * tileBytes(x.width);
  barriers = secondMemory + stages * tileBytes(y.width);
  return barriers + countBarrierBytes(stages);
}

void WarpgroupKernel::initBarriers(bool readsOnce, bool freesBoth, int64_t arrivals,
                                   int64_t consumers, unsigned maps) {
  code.ifThen(code.isEqual(code.thread(), 0), [&] {
    if (readsOnce)
      gpu.initBarrier(barriers, 1);
    for (int64_t stage = 0; stage < stages; ++stage) {
      gpu.initBarrier(barrierOf(First, stage), arrivals);
      gpu.initBarrier(barrierOf(Second, stage), arrivals);
      // A thread of each warp says so.
      gpu.initBarrier(barrierOf(FirstFree, stage), consumers * 4);
      if (!freesBoth)
        gpu.initBarrier(barrierOf(SecondFree, stage), consumers * 4);
    }
    gpu.fenceBarriers();
    for (unsigned map = 0; map < maps; ++map)
      gpu.prefetchMap(code.map(map));
  });
}

void WarpgroupKernel::copyTile(const TileTensor &tensor, Index to, Index barrier,
                               int64_t rows, Index firstRow, Index head, Index entry) {
  const TensorMapPlan &plan = *tensor.plan;
  for (int64_t column = 0; column < plan.sizes[0]; column += kPanel) {
    std::array<Index, 4> at = {column, 0, 0, 0};
    at[plan.row] = firstRow;
    at[plan.head] = head;
    at[plan.entry] = entry;
    gpu.startCopy(code.map(tensor.map), to + column / kPanel * rows * kPanelBytes,
                  barrier, at);
  }
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

WarpgroupKernel::Sums WarpgroupKernel::startScores(const Rows &rows, Index tile,
                                                   int64_t width) {
  const int64_t tilePanel = tileRows * kPanelBytes;
  Value right = gpu.describe({tile, tilePanel}, /*isTransposed=*/false), left;
  if (rows.matrix)
    left = gpu.describe(*rows.matrix, /*isTransposed=*/false);
  Sums sums;
  for (int64_t column = 0; column < width; column += 16) {
    const int64_t panel = column / kPanel, bytes = column % kPanel * 2;
    SmallVector<Value> a;
    if (rows.matrix)
      a = {gpu.advance(left, panel * rows.matrix->panelBytes + bytes)};
    else
      llvm::append_range(a, ArrayRef<Value>(rows.words).slice(column / 4, 4));
    sums = gpu.multiply(shape.type, tileRows, a,
                        gpu.advance(right, panel * tilePanel + bytes),
                        /*isTransposedB=*/false, sums);
  }
  return sums;
}

WarpgroupKernel::Sums WarpgroupKernel::startSums(ArrayRef<Value> a, Index tile,
                                                 int64_t width, const Sums &sums) {
  Value right = gpu.describe({tile, tileRows * kPanelBytes}, /*isTransposed=*/true);
  Sums next = sums;
  for (int64_t row = 0; row < tileRows; row += 16)
    next =
        gpu.multiply(shape.type, width, a.slice(row / 4, 4),
                     gpu.advance(right, row * kPanelBytes), /*isTransposedB=*/true, next);
  return next;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

SmallVector<Value> WarpgroupKernel::loadRows(unsigned number, const RowStrides &strides,
                                             Index place, Index row, int64_t limit,
                                             int64_t width) {
  SmallVector<Value> words;
  Index upper = place + smaller(row, limit - 1) * strides.row + lane % 4 * 2,
        lower = place + smaller(row + 8, limit - 1) * strides.row + lane % 4 * 2;
  for (int64_t column = 0; column < width; column += 8)
    for (Index at : {upper, lower})
      words.push_back(LLVM::BitcastOp::create(
          b, loc, b.getI32Type(),
          code.load(code.parameter(number), shape.type, at + column, 2)));
  return words;
}

void WarpgroupKernel::storeRows(const Sums &sums, ArrayRef<Value> factors,
                                unsigned number, const RowStrides &strides, Index place,
                                Index row, int64_t limit) {
  auto memory = VectorType::get({2}, b.getI16Type());
  for (int64_t half : {0, 1}) {
    Index mine = row + 8 * half;
    code.ifThen(code.isLess(mine, limit), [&] {
      Index at = place + mine * strides.row + lane % 4 * 2;
      for (size_t i = 2 * half; i < sums.size(); i += 4) {
        Value low = sums[i], high = sums[i + 1];
        if (!factors.empty()) {
          low = mul(low, factors[half]);
          high = mul(high, factors[half]);
        }
        code.store(LLVM::BitcastOp::create(b, loc, memory, pack(low, high)),
                   code.parameter(number), shape.type,
                   at + static_cast<int64_t>(i) / 4 * 8, 2);
      }
    });
  }
}
