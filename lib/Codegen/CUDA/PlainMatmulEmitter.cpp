//===- PlainMatmulEmitter.cpp - Matmuls that cuBLASLt cannot run -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainMatmulEmitter.h"
#include "GPUFunctionBuilder.h"

#include "../Common/EightBitFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

constexpr int64_t kTile = rt::kPlainMatmulTile, kThreads = rt::kPlainMatmulThreads;
/// Values of k in shared memory, and results of a thread along each side.
constexpr int64_t kDepth = 16, kLanes = 4;
/// From one k to the next in shared memory: vectors stay aligned, and neighbouring k are
/// in other banks.
constexpr int64_t kPitch = kTile + kLanes;
static_assert(kTile / kLanes * (kTile / kLanes) == kThreads);

Type elementOf(OpBuilder &b, rt::DataType type) {
  switch (type) {
  case rt::DataType::F16:
    return b.getF16Type();
  case rt::DataType::BF16:
    return b.getBF16Type();
  case rt::DataType::F8E4M3FN:
    return Float8E4M3FNType::get(b.getContext());
  case rt::DataType::F8E5M2:
    return Float8E5M2Type::get(b.getContext());
  case rt::DataType::I8:
    return Float4E2M1FNType::get(b.getContext());
  default:
    return b.getF32Type();
  }
}

/// op(A) by its rows or op(B) by its columns: `outer` of them, K elements each.
struct Operand {
  Type element;
  Value base, scales;
  Index begin = 0, outer = 0, stride = 0, step = 0;
  rt::GemmScaling scaling = rt::GemmScaling::None;
};

class MatmulEmitter {
public:
  MatmulEmitter(OpBuilder &device, Location loc, const rt::GemmPlan &plan, StringRef name)
      : plan(plan), pointers(plan.isScaled() ? 6 : 4),
        code(device, loc, name, pointers, kThreads, /*isWide=*/true,
             rt::PlainMatmul::kNumbers) {}
  void emit();

private:
  Index number(rt::PlainMatmul::Number which) {
    return {code, code.parameter(pointers + which)};
  }
  Index divideUp(Index x, int64_t y) { return (x + (y - 1)) / y; }
  /// The scale of row or column `at` in the block of `k`; any where there is no such row.
  Value loadScale(const Operand &operand, Index at, Index k);
  /// Element `at` of the operand. Two of four bits share a byte, the first in its lower
  /// bits.
  Value loadElement(const Operand &operand, Index at);
  /// The elements [first, first + kTile) x [k, k + kDepth), zeros where there are none.
  void stage(const Operand &operand, Index first, Index k, Value shared);
  /// What the values [begin, end) of k add to this thread's sums: a vector of rows for
  /// each column.
  SmallVector<Value> add(Index begin, Index end, ValueRange sums);

  const rt::GemmPlan &plan;
  unsigned pointers;
  GPUFunctionBuilder code;
  OpBuilder &b = code.b;
  Location loc = code.loc;
  /// Of products and sums, and of those of a column.
  Type type, vector;
  Operand x, y;
  /// Of the block's and of the thread's results.
  Index firstRow = 0, firstColumn = 0, row = 0, column = 0;
  Value sharedA, sharedB;
};

Value MatmulEmitter::loadScale(const Operand &operand, Index at, Index k) {
  at = code.select(code.isLess(at, operand.outer), at, 0);
  const int64_t length = rt::getScaleLength(operand.scaling);
  Index block = k / length, blocks = divideUp(number(rt::PlainMatmul::K), length);
  // As rt::findScale has it.
  if (operand.scaling == rt::GemmScaling::Vec128F32)
    return code.load(operand.scales, type, block * operand.outer + at);
  if (operand.scaling == rt::GemmScaling::Block128F32)
    return code.load(operand.scales, type, at / 128 * (divideUp(blocks, 4) * 4) + block);
  Index tile = at / 128 * divideUp(blocks, 4) + block / 4;
  Index place = tile * 512 + at % 32 * 16 + at % 128 / 32 * 4 + block % 4;
  if (operand.scaling == rt::GemmScaling::Vec16UE4M3)
    return code.loadNumber(operand.scales, Float8E4M3FNType::get(b.getContext()), place);
  Value exponent = code.load(operand.scales, b.getI8Type(), place);
  exponent = arith::ExtUIOp::create(b, loc, b.getI32Type(), exponent);
  auto unless = [&](int64_t special, int64_t bits, Value otherwise) -> Value {
    Value isSpecial = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, exponent,
                                            code.get32(special));
    return arith::SelectOp::create(b, loc, isSpecial, code.get32(bits), otherwise);
  };
  // 2^(exponent - 127): 0 is a subnormal number, 255 NaN.
  Value bits = arith::ShLIOp::create(b, loc, exponent, code.get32(23));
  return arith::BitcastOp::create(b, loc, type,
                                  unless(255, 0x7fc00000, unless(0, 0x00400000, bits)));
}

Value MatmulEmitter::loadElement(const Operand &operand, Index at) {
  if (!isa<Float4E2M1FNType>(operand.element))
    return code.loadNumber(operand.base, operand.element, at);
  Type byte = b.getI8Type();
  Value pair = code.load(operand.base, byte, at / 2);
  Value shift = arith::TruncIOp::create(b, loc, byte, code.get(at % 2 * 4));
  Value half =
      arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, pair, shift),
                            arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(15)));
  return extendEightBitFloat(b, loc, half, operand.element);
}

void MatmulEmitter::stage(const Operand &operand, Index first, Index k, Value shared) {
  // Neighbouring threads read what lies side by side.
  Value isAlong = code.isEqual(operand.stride, 1);
  Value zero = code.constant(type, 0);
  for (int64_t round = 0; round < kTile * kDepth / kThreads; ++round) {
    Index i = code.thread() + round * kThreads;
    Index place = code.select(isAlong, i % kTile, i / kDepth);
    Index depth = code.select(isAlong, i / kTile, i % kDepth);
    Index at = first + place, step = k + depth;
    Value exists = arith::AndIOp::create(b, loc, code.isLess(at, operand.outer),
                                         code.isLess(step, number(rt::PlainMatmul::K)));
    at = code.select(exists, at, 0);
    step = code.select(exists, step, 0);
    Value value =
        loadElement(operand, operand.begin + at * operand.stride + step * operand.step);
    value = arith::SelectOp::create(b, loc, exists, value, zero);
    code.store(value, shared, type, depth * kPitch + place);
  }
}

SmallVector<Value> MatmulEmitter::add(Index begin, Index end, ValueRange sums) {
  return code.loop(begin, end, kDepth, sums, [&](Index k, ValueRange before) {
    // Others may still read what was there.
    code.barrier();
    stage(x, firstRow, k, sharedA);
    stage(y, firstColumn, k, sharedB);
    code.barrier();
    auto body = [&](Index depth, ValueRange carried) {
      Value left = code.load(sharedA, type, depth * kPitch + row, kLanes);
      Value right = code.load(sharedB, type, depth * kPitch + column, kLanes);
      SmallVector<Value> next;
      for (int64_t j = 0; j < kLanes; ++j) {
        Value factor = vector::BroadcastOp::create(
            b, loc, vector, vector::ExtractOp::create(b, loc, right, j));
        Value product = arith::MulFOp::create(b, loc, left, factor);
        next.push_back(arith::AddFOp::create(b, loc, product, carried[j]));
      }
      return next;
    };
    // With a constant number of turns it would be unrolled, to several times the code.
    return code.loop(0, smaller(end - k, kDepth), 1, before, body);
  });
}

void MatmulEmitter::emit() {
  using Number = rt::PlainMatmul::Number;
  Type elementD = elementOf(b, plan.d.type);
  type = code.numberType(elementD);
  vector = code.numberType(elementD, kLanes);
  Index m = number(Number::M), n = number(Number::N), depth = number(Number::K);
  Index tilesM = divideUp(m, kTile), tiles = tilesM * divideUp(n, kTile);
  Index batch = code.blockX() / tiles, tile = code.blockX() % tiles;
  firstRow = tile % tilesM * kTile;
  firstColumn = tile / tilesM * kTile;
  row = code.thread() % (kTile / kLanes) * kLanes;
  column = code.thread() / (kTile / kLanes) * kLanes;
  x = {elementOf(b, plan.a.type),
       code.parameter(0),
       Value(),
       batch * number(Number::BatchA),
       m,
       number(Number::RowA),
       number(Number::StepA),
       plan.scalingA};
  y = {elementOf(b, plan.b.type),
       code.parameter(1),
       Value(),
       batch * number(Number::BatchB),
       n,
       number(Number::ColumnB),
       number(Number::StepB),
       plan.scalingB};
  const int64_t sharedBytes = kDepth * kPitch * bytesOf(type);
  sharedA = code.shared(sharedBytes);
  sharedB = code.shared(sharedBytes);
  const SmallVector<Value> zeros(kLanes, code.constant(vector, 0));
  SmallVector<Value> sums;
  if (!plan.isScaled()) {
    sums = add(0, depth, zeros);
  } else {
    // The sums of each block are scaled by both its scales.
    x.scales = code.parameter(4);
    y.scales = code.parameter(5);
    const int64_t length = rt::getScaleLength(plan.scalingA);
    sums = code.loop(0, depth, length, zeros, [&](Index k, ValueRange before) {
      SmallVector<Value> next, rows;
      SmallVector<Value> partial = add(k, smaller(k + length, depth), zeros);
      for (int64_t i = 0; i < kLanes; ++i)
        rows.push_back(loadScale(x, firstRow + row + i, k));
      Value left = vector::FromElementsOp::create(b, loc, vector, rows);
      for (int64_t j = 0; j < kLanes; ++j) {
        Value right = vector::BroadcastOp::create(
            b, loc, vector, loadScale(y, firstColumn + column + j, k));
        Value scaled = arith::MulFOp::create(b, loc, partial[j],
                                             arith::MulFOp::create(b, loc, left, right));
        next.push_back(arith::AddFOp::create(b, loc, before[j], scaled));
      }
      return next;
    });
  }
  Value adds = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                     code.get(number(Number::Adds)), code.get64(0));
  for (int64_t j = 0; j < kLanes; ++j)
    for (int64_t i = 0; i < kLanes; ++i) {
      Index atRow = firstRow + row + i, atColumn = firstColumn + column + j;
      Value exists =
          arith::AndIOp::create(b, loc, code.isLess(atRow, m), code.isLess(atColumn, n));
      code.ifThen(exists, [&] {
        Index at =
            batch * number(Number::BatchD) + atColumn * number(Number::LdD) + atRow;
        Value sum = vector::ExtractOp::create(b, loc, sums[j], i);
        Value more = arith::AddFOp::create(
            b, loc, sum, code.loadNumber(code.parameter(2), elementD, at));
        code.storeNumber(arith::SelectOp::create(b, loc, adds, more, sum),
                         code.parameter(3), elementD, at);
      });
    }
  code.finish();
}

} // namespace

void mpt::detail::emitPlainMatmul(OpBuilder &device, Location loc,
                                  const rt::GemmPlan &plan, StringRef name) {
  MatmulEmitter(device, loc, plan, name).emit();
}
