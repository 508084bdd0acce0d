//===- DeviceQuantize.cpp - 8-bit operands of matmuls on a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A block of 256 threads takes 128 rows and 128 columns of the matrix, a thread 8 of
/// either, in registers: it is read once, in vectors of 8. 16 threads share 8 rows, and a
/// warp has two such groups. Maxima of rows are taken by a butterfly, those of columns by
/// an exchange between the groups of a warp and then through shared memory, through which
/// the transposed 8-bit floats go, too. The order of nothing matters: maxima are exact.
/// With one scale for the tensor each number is converted once, for both orientations.
///
//===----------------------------------------------------------------------===//

#include "DeviceCalls.h"
#include "GPUFunctionBuilder.h"
#include "mpt/Dialect/MPT/IR/ScalarBuilder.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/GemmScales.h"

#include "../Common/EightBitFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// Rows and columns of a block, and of a thread; threads that share rows, and warps.
constexpr int64_t kTile = 128, kPatch = 8, kThreads = 256, kRowThreads = kTile / kPatch,
                  kWarps = kThreads / kWarp;

/// One orientation of the result: its rows, the elements of each, and its buffers.
struct Orientation {
  Value q, scales;
  Type format, scaleType;
  int64_t outer, k;
};

class QuantizeEmitter {
public:
  QuantizeEmitter(const rt::GemmQuantizeCall &call, const CallSite &site,
                  GPUFunctionBuilder &code)
      : call(call), site(site), code(code), b(code.b), loc(code.loc),
        rows(site.ref(0).dims[0]), columns(site.ref(0).dims[1]), f32(b.getF32Type()),
        i32(b.getI32Type()), wide(VectorType::get({kPatch}, f32)),
        bits(VectorType::get({kPatch}, i32)) {}

  void emit();

private:
  bool isSquare() const { return call.block[0] == kTile; }
  /// Whether all numbers have one scale, the factor.
  bool isTensor() const { return call.scaling == rt::GemmScaling::None; }
  /// Whether two numbers of four bits share a byte.
  bool isPacked() const { return call.scaling == rt::GemmScaling::Vec16UE4M3; }
  Value bitcast(Type type, Value value) {
    return arith::BitcastOp::create(b, loc, type, value);
  }
  Value larger(Value x, Value y) { return arith::MaxUIOp::create(b, loc, x, y); }
  Value largerOfOther(Value x, int64_t distance) {
    return larger(x, code.exchange(x, distance));
  }
  Value extract(Value vector, int64_t lane) {
    return vector::ExtractOp::create(b, loc, vector, lane);
  }
  Value build(Type element, ArrayRef<Value> lanes) {
    return vector::FromElementsOp::create(b, loc, VectorType::get({kPatch}, element),
                                          lanes);
  }
  Value spread(Value number) { return vector::BroadcastOp::create(b, loc, wide, number); }
  /// Of the numbers that are made.
  Type getFormat(const Orientation &side) {
    return isPacked() ? Type(Float4E2M1FNType::get(b.getContext())) : side.format;
  }
  /// `amax` bits of this thread, or 0 if its numbers are not in the matrix.
  Value insideOnly(Value most) {
    return arith::SelectOp::create(b, loc, isInside, most, code.constant(i32, 0));
  }

  Index findScale(Index o, Index block, int64_t outer, int64_t k);
  Value loadNumbers(Index at);
  Value scaleTensor(Value x, Value magnitude, Type format);
  void load();
  void storeAmax(Value buffer);
  Value reduceRow(int64_t i);
  Value reduceColumns();
  Value reduceTile(Value most);
  Value getScale(Value amaxBits, const Orientation &side);
  Value divide(Value x, Value scales);
  Value convert(ArrayRef<Value> numbers, Type format);
  void storeScales(const Orientation &side, ArrayRef<Value> scales, bool isColumn);
  Value pack(Value halves);
  void storeRows(const Orientation &side, ArrayRef<Value> patch);
  void storeColumns(const Orientation &side, ArrayRef<Value> patch);

  const rt::GemmQuantizeCall &call;
  const CallSite &site;
  GPUFunctionBuilder &code;
  OpBuilder &b;
  Location loc;
  const int64_t rows, columns;
  Type f32, i32;
  VectorType wide, bits;
  /// Of this thread: its number, that of its group of rows, and its place in the group;
  /// its first row and column, and whether they are in the matrix.
  Index thread = 0, group = 0, place = 0, row = 0, column = 0;
  Value isInside;
  /// The thread's rows, and the bits of their magnitudes; with one scale for the tensor
  /// their 8-bit floats.
  SmallVector<Value> numbers, magnitudes, bytes;
  /// The bits of the largest magnitude of each of the thread's columns as they are read.
  Value amax;
};

} // namespace

/// As rt::findScale.
Index QuantizeEmitter::findScale(Index o, Index block, int64_t outer, int64_t k) {
  const int64_t blocks = llvm::divideCeil(k, rt::getScaleLength(call.scaling));
  switch (call.scaling) {
  case rt::GemmScaling::Vec128F32:
    return block * outer + o;
  case rt::GemmScaling::Block128F32:
    return o / kTile * static_cast<int64_t>(llvm::alignTo(blocks, 4)) + block;
  default:
    break;
  }
  Index tile = o / kTile * static_cast<int64_t>(llvm::divideCeil(blocks, 4)) + block / 4;
  return tile * (4 * kTile) + o % 32 * 16 + o % kTile / 32 * 4 + block % 4;
}

/// Eight numbers of the matrix, in f32. All chips whose library has scales of blocks
/// convert pairs of f8E4M3FN to f16, which holds them.
Value QuantizeEmitter::loadNumbers(Index at) {
  Type format = site.elements[0];
  if (!isa<Float8E4M3FNType>(format))
    return code.loadNumber(code.parameter(0), format, at, kPatch);
  Value packed = code.load(code.parameter(0), format, at, kPatch);
  SmallVector<Value> lanes;
  for (int64_t i = 0; i < kPatch; i += 2) {
    Value pair = vector::ExtractStridedSliceOp::create(
        b, loc, packed, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{2}, ArrayRef<int64_t>{1});
    Value halves = NVVM::ConvertF8x2ToF16x2Op::create(
        b, loc, VectorType::get({2}, b.getF16Type()), pair, /*relu=*/false, format);
    for (int64_t lane = 0; lane < 2; ++lane)
      lanes.push_back(arith::ExtFOp::create(b, loc, f32, extract(halves, lane)));
  }
  return build(f32, lanes);
}

/// Numbers of one scale, which are `x` times the factor, as `format` has them: what is
/// finite saturates. `magnitude` has the bits of |x|.
Value QuantizeEmitter::scaleTensor(Value x, Value magnitude, Type format) {
  Value number = x;
  if (call.hasFactor)
    number = arith::MulFOp::create(b, loc, x,
                                   spread(code.load(code.parameter(1), f32, Index(0))));
  auto compare = [&](arith::CmpIPredicate predicate) -> Value {
    Value infinity = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(bits, b.getI32IntegerAttr(0x7f800000)));
    return arith::CmpIOp::create(b, loc, predicate, magnitude, infinity);
  };
  // NaN stays, with infinity where the format has none.
  const bool hasInfinity = isa<Float8E5M2Type>(format);
  Value nan = code.constant(wide, std::numeric_limits<double>::quiet_NaN());
  Value isOther =
      compare(hasInfinity ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::uge);
  number = arith::SelectOp::create(b, loc, isOther, nan, number);
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < kPatch; ++lane)
    lanes.push_back(extract(number, lane));
  Value made = convert(lanes, format);
  if (!hasInfinity)
    return made;
  // The instruction makes a number of it.
  auto narrow = VectorType::get({kPatch}, b.getI8Type());
  Value shift = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(bits, b.getI32IntegerAttr(24)));
  Value sign = arith::TruncIOp::create(
      b, loc, narrow, arith::ShRUIOp::create(b, loc, bitcast(bits, x), shift));
  // 0x7f800000 has the bits of an infinity of f8E5M2 at its top, but for one.
  Value mask = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(narrow, b.getI8IntegerAttr(-4)));
  Value infinity = arith::AndIOp::create(b, loc, sign, mask);
  return arith::SelectOp::create(b, loc, compare(arith::CmpIPredicate::eq), infinity,
                                 made);
}

/// Reads 8 rows of 8 columns; some others where the matrix ends.
void QuantizeEmitter::load() {
  Value mask = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(bits, b.getI32IntegerAttr(0x7fffffff)));
  Index first = code.select(isInside, row, 0), from = code.select(isInside, column, 0);
  auto getMagnitude = [&](Value x) -> Value {
    return arith::AndIOp::create(b, loc, bitcast(bits, x), mask);
  };
  const unsigned output = site.call.numInputs;
  for (int64_t i = 0; i < kPatch; ++i) {
    Index at = (first + i) * columns + from;
    const bool isTurned = isTensor() && isEightBitFloat(site.elements[0]);
    if (isTurned)
      bytes.push_back(code.load(code.parameter(0), site.elements[0], at, kPatch));
    if (isTurned && !call.hasAmax)
      continue;
    Value x = loadNumbers(at);
    if (call.rounding != rt::Rounding::None) {
      Type via = call.rounding == rt::Rounding::F16 ? Type(b.getF16Type())
                                                    : Type(b.getBF16Type());
      x = arith::TruncFOp::create(b, loc, VectorType::get({kPatch}, via), x);
      x = arith::ExtFOp::create(b, loc, wide, x);
    }
    if (call.hasScales) {
      // Those of the 8-bit rows.
      Index block = from / rt::getScaleLength(call.scaling);
      Value scale = code.loadNumber(code.parameter(1), site.elements[1],
                                    findScale(first + i, block, rows, columns));
      x = arith::MulFOp::create(b, loc, x, spread(scale));
    }
    Value magnitude = getMagnitude(x);
    amax = i == 0 ? magnitude : larger(amax, magnitude);
    if (isTensor()) {
      if (!isTurned)
        bytes.push_back(scaleTensor(x, magnitude, site.elements[output]));
      continue;
    }
    if (call.hasFactor) {
      x = arith::MulFOp::create(b, loc, x,
                                spread(code.load(code.parameter(1), f32, Index(0))));
      magnitude = getMagnitude(x);
    }
    numbers.push_back(x);
    magnitudes.push_back(magnitude);
  }
}

/// The bits of the largest magnitude of the block in which row `i` of the thread lies.
/// As integers they have the order of numbers, infinity and NaN.
Value QuantizeEmitter::reduceRow(int64_t i) {
  Value most = extract(magnitudes[i], 0);
  for (int64_t lane = 1; lane < kPatch; ++lane)
    most = larger(most, extract(magnitudes[i], lane));
  most = insideOnly(most);
  for (int64_t distance = 1; distance * kPatch < call.block[1]; distance *= 2)
    most = largerOfOther(most, distance);
  return most;
}

/// The same for each of the thread's columns.
Value QuantizeEmitter::reduceColumns() {
  Value most = magnitudes[0];
  for (Value row : ArrayRef(magnitudes).drop_front())
    most = larger(most, row);
  // The warp's other group of rows.
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < kPatch; ++lane)
    lanes.push_back(largerOfOther(insideOnly(extract(most, lane)), kRowThreads));
  most = build(i32, lanes);
  const int64_t warps = call.block[1] / (kTile / kWarps);
  Value shared = code.shared(kWarps * kTile * 4);
  Index warp = thread / kWarp, local = place * kPatch;
  code.ifThen(code.isEqual(group % 2, 0),
              [&] { code.store(most, shared, i32, warp * kTile + local, kPatch); });
  code.barrier();
  Index first = warp / warps * warps;
  for (int64_t i = 0; i < warps; ++i) {
    Value other = code.load(shared, i32, (first + i) * kTile + local, kPatch);
    most = i == 0 ? other : larger(most, other);
  }
  return most;
}

/// The same for all that the block's threads have, of which `all` are this one's.
Value QuantizeEmitter::reduceTile(Value all) {
  Value most = extract(all, 0);
  for (int64_t lane = 1; lane < kPatch; ++lane)
    most = larger(most, extract(all, lane));
  most = insideOnly(most);
  for (int64_t distance = 1; distance < kWarp; distance *= 2)
    most = largerOfOther(most, distance);
  Value shared = code.shared(kWarps * 4);
  code.ifThen(code.isEqual(thread % kWarp, 0),
              [&] { code.store(most, shared, i32, thread / kWarp); });
  code.barrier();
  for (int64_t i = 0; i < kWarps; ++i) {
    Value other = code.load(shared, i32, i);
    most = i == 0 ? other : larger(most, other);
  }
  return most;
}

/// The scale, in f32, as the scalar code of mpt.block_scale has it.
Value QuantizeEmitter::getScale(Value amaxBits, const Orientation &side) {
  Block holder;
  auto tensor = RankedTensorType::get({}, f32);
  OpBuilder outside(b.getContext());
  outside.setInsertionPointToEnd(&holder);
  auto op = BlockScaleOp::create(
      outside, loc, tensor.clone(side.scaleType), holder.addArgument(tensor, loc),
      TypeAttr::get(getFormat(side)),
      ScaleRuleAttr::get(b.getContext(), static_cast<ScaleRule>(call.rule)));
  Value scale = ScalarBuilder(b, op).blockScale(bitcast(f32, amaxBits), op.getRule(),
                                                op.getFormat());
  // Others are powers of two, which their types hold.
  if (!isPacked())
    return scale;
  return extendEightBitFloat(
      b, loc, truncateToEightBitFloat(b, loc, scale, side.scaleType), side.scaleType);
}

/// `x` divided by `scales`, f32, one for each lane.
Value QuantizeEmitter::divide(Value x, Value scales) {
  if (call.rule == rt::ScaleRule::Largest)
    return arith::DivFOp::create(b, loc, x, scales);
  // What is a power of two has an exact inverse. A NaN stays one.
  Value inverses;
  if (call.rule == rt::ScaleRule::PowerOfTwo) {
    // From 2^-126 to 2^119, or NaN: the exponent is negated.
    auto integer = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(
          b, loc, DenseElementsAttr::get(bits, b.getI32IntegerAttr(value)));
    };
    Value scaleBits = bitcast(bits, scales);
    Value isNumber = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, scaleBits,
                                           integer(0x7f800000));
    Value negated = arith::SubIOp::create(b, loc, integer(0x7f000000), scaleBits);
    inverses =
        bitcast(wide, arith::SelectOp::create(b, loc, isNumber, negated, scaleBits));
  } else {
    inverses = arith::DivFOp::create(b, loc, code.constant(wide, 1), scales);
  }
  return arith::MulFOp::create(b, loc, x, inverses);
}

/// Eight 8-bit floats, or of four bits; what is too large becomes the largest.
Value QuantizeEmitter::convert(ArrayRef<Value> numbers, Type format) {
  auto bytes = VectorType::get({kPatch}, b.getI8Type());
  if (isa<Float8E4M3FNType, Float8E5M2Type>(format)) {
    // All chips whose library has 8-bit floats convert pairs.
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < kPatch; i += 2)
      pairs.push_back(NVVM::ConvertF32x2ToF8x2Op::create(
          b, loc, b.getI16Type(), numbers[i + 1], numbers[i], NVVM::FPRoundingMode::RN,
          NVVM::SaturationMode::SATFINITE, /*relu=*/false, format));
    Value packed = vector::FromElementsOp::create(
        b, loc, VectorType::get({kPatch / 2}, b.getI16Type()), pairs);
    return vector::BitCastOp::create(b, loc, bytes, packed);
  }
  const double largest =
      llvm::APFloat::getLargest(cast<FloatType>(format).getFloatSemantics())
          .convertToDouble();
  Value x = build(f32, numbers);
  x = arith::MinimumFOp::create(b, loc, x, code.constant(wide, largest));
  x = arith::MaximumFOp::create(b, loc, x, code.constant(wide, -largest));
  return truncateToEightBitFloat(b, loc, x, format);
}

/// Stores one scale for each of the thread's rows, or columns. Tiles of f8E8M0FNU are
/// filled up with zeros.
void QuantizeEmitter::storeScales(const Orientation &side, ArrayRef<Value> scales,
                                  bool isColumn) {
  Index outer = isColumn ? column : row, along = isColumn ? row : column;
  // Threads along K that have the same scales.
  Index part = isColumn ? group : place;
  if (call.scaling == rt::GemmScaling::Vec128F32) {
    Value isFirst = arith::AndIOp::create(b, loc, code.isEqual(part, 0), isInside);
    code.ifThen(isFirst, [&] {
      code.store(build(f32, scales), side.scales, f32,
                 findScale(outer, along / kTile, side.outer, side.k), kPatch);
    });
    return;
  }
  if (call.scaling == rt::GemmScaling::Block128F32) {
    const int64_t blocks = llvm::divideCeil(side.k, kTile);
    code.ifThen(code.isEqual(thread, 0), [&] {
      Index block = along / kTile;
      code.store(scales[0], side.scales, f32,
                 findScale(outer, block, side.outer, side.k));
      const int64_t padded = llvm::alignTo(blocks, 4);
      if (padded == blocks)
        return;
      code.ifThen(code.isEqual(block, blocks - 1), [&] {
        for (int64_t i = blocks; i < padded; ++i)
          code.store(code.constant(f32, 0), side.scales, f32,
                     findScale(outer, i, side.outer, side.k));
      });
    });
    return;
  }
  const int64_t length = rt::getScaleLength(call.scaling);
  Value isFirst = code.isEqual(part % (length / kPatch), 0);
  // A block of threads may reach beyond the last tile.
  const int64_t blocks = llvm::alignTo(llvm::divideCeil(side.k, length), 4);
  if (isPacked())
    isFirst = arith::AndIOp::create(b, loc, isFirst, code.isLess(along / length, blocks));
  code.ifThen(isFirst, [&] {
    Value zero = code.constant(b.getI8Type(), 0);
    for (auto [i, scale] : llvm::enumerate(scales)) {
      Value stored = truncateToEightBitFloat(b, loc, scale, side.scaleType);
      stored = arith::SelectOp::create(b, loc, isInside, stored, zero);
      code.store(
          stored, side.scales, side.scaleType,
          findScale(outer + static_cast<int64_t>(i), along / length, side.outer, side.k));
    }
  });
}

/// Of eight numbers of four bits, each in a byte, four bytes: the first of two in the
/// lower bits.
Value QuantizeEmitter::pack(Value halves) {
  SmallVector<Value> lanes;
  for (int64_t i = 0; i < kPatch; i += 2) {
    Value four = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(4));
    Value high = arith::ShLIOp::create(b, loc, extract(halves, i + 1), four);
    lanes.push_back(arith::OrIOp::create(b, loc, extract(halves, i), high));
  }
  return vector::FromElementsOp::create(
      b, loc, VectorType::get({kPatch / 2}, b.getI8Type()), lanes);
}

/// Stores the thread's rows, `patch`.
void QuantizeEmitter::storeRows(const Orientation &side, ArrayRef<Value> patch) {
  code.ifThen(isInside, [&] {
    for (auto [i, x] : llvm::enumerate(patch)) {
      Index at = (row + static_cast<int64_t>(i)) * columns + column;
      if (isPacked())
        code.store(pack(x), side.q, side.format, at / 2, kPatch / 2);
      else
        code.store(x, side.q, side.format, at, kPatch);
    }
  });
}

/// Stores the thread's columns, `patch`.
void QuantizeEmitter::storeColumns(const Orientation &side, ArrayRef<Value> patch) {
  // 16 words of 8 rows for each column; which is which is mixed, so that the threads of
  // a group, whose columns are 8 apart, meet in no bank of the memory.
  const int64_t wordBytes = isPacked() ? kPatch / 2 : kPatch;
  Type word = b.getIntegerType(8 * wordBytes);
  auto words = VectorType::get({1}, word);
  Value shared = code.shared(kTile * kTile / kPatch * wordBytes);
  auto mix = [&](Index chunk, Index eighth) -> Index {
    return {code, arith::XOrIOp::create(b, loc, code.get(chunk), code.get(eighth))};
  };
  Index chunk = mix(group, place);
  for (auto [lane, x] : llvm::enumerate(patch)) {
    Value packed = vector::BitCastOp::create(b, loc, words, isPacked() ? pack(x) : x);
    code.store(extract(packed, 0), shared, word,
               (place * kPatch + static_cast<int64_t>(lane)) * (kTile / kPatch) + chunk);
  }
  code.barrier();
  Index firstRow = row - group * kPatch, firstColumn = column - place * kPatch;
  for (int64_t i = 0; i < kPatch; ++i) {
    Index piece = thread + i * kThreads;
    Index local = piece / kRowThreads, at = piece % kRowThreads;
    Value x = code.load(shared, word, local * (kTile / kPatch) + mix(at, local / kPatch));
    Index to = firstColumn + local, from = firstRow + at * kPatch;
    Value isThere =
        arith::AndIOp::create(b, loc, code.isLess(to, columns), code.isLess(from, rows));
    code.ifThen(isThere, [&] {
      Value one = vector::BroadcastOp::create(b, loc, words, x);
      Value lanes = vector::BitCastOp::create(
          b, loc, VectorType::get({wordBytes}, b.getI8Type()), one);
      code.store(lanes, side.q, side.format, (to * rows + from) / (kPatch / wordBytes),
                 wordBytes);
    });
  }
}

/// Stores the largest magnitude of the block's numbers.
void QuantizeEmitter::storeAmax(Value buffer) {
  Value most = bitcast(f32, reduceTile(amax));
  code.ifThen(code.isEqual(thread, 0), [&] {
    code.store(most, buffer, f32,
               code.blockY() * static_cast<int64_t>(llvm::divideCeil(columns, kTile)) +
                   code.blockX());
  });
}

void QuantizeEmitter::emit() {
  thread = code.thread();
  group = thread / kRowThreads;
  place = thread % kRowThreads;
  row = code.blockY() * kTile + group * kPatch;
  column = code.blockX() * kTile + place * kPatch;
  isInside =
      arith::AndIOp::create(b, loc, code.isLess(row, rows), code.isLess(column, columns));
  load();
  unsigned next = site.call.numInputs;
  auto take = [&](int64_t outer, int64_t k) {
    Orientation side{
        code.parameter(next), Value(), site.elements[next], Type(), outer, k};
    ++next;
    if (isTensor())
      return side;
    side.scales = code.parameter(next);
    side.scaleType = site.elements[next++];
    return side;
  };
  // A square has one scale, whichever way it is turned.
  Value square;
  if (isSquare()) {
    square = magnitudes[0];
    for (Value row : ArrayRef(magnitudes).drop_front())
      square = larger(square, row);
    square = reduceTile(square);
  }
  auto getLanes = [&](Value x) {
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < kPatch; ++lane)
      lanes.push_back(extract(x, lane));
    return lanes;
  };
  if (call.hasRow) {
    const Orientation side = take(rows, columns);
    SmallVector<Value> scales, patch = bytes;
    for (int64_t i = 0; i < kPatch && !isTensor(); ++i) {
      scales.push_back(isSquare() && i != 0
                           ? scales[0]
                           : getScale(isSquare() ? square : reduceRow(i), side));
    }
    if (!isTensor())
      storeScales(side, scales, /*isColumn=*/false);
    for (auto [i, scale] : llvm::enumerate(scales))
      patch.push_back(
          convert(getLanes(divide(numbers[i], spread(scale))), getFormat(side)));
    storeRows(side, patch);
  }
  if (call.hasColumn) {
    const Orientation side = take(columns, rows);
    SmallVector<Value> patch;
    SmallVector<SmallVector<Value>> lanes;
    if (isTensor()) {
      for (Value x : bytes)
        lanes.push_back(getLanes(x));
    } else {
      SmallVector<Value> scales;
      Value most = isSquare() ? Value() : reduceColumns();
      for (int64_t lane = 0; lane < kPatch; ++lane)
        scales.push_back(isSquare() && lane != 0
                             ? scales[0]
                             : getScale(isSquare() ? square : extract(most, lane), side));
      storeScales(side, scales, /*isColumn=*/true);
      for (Value x : numbers)
        lanes.push_back(getLanes(divide(x, build(f32, scales))));
    }
    for (int64_t lane = 0; lane < kPatch; ++lane) {
      SmallVector<Value> column;
      for (const SmallVector<Value> &x : lanes)
        column.push_back(x[lane]);
      patch.push_back(isTensor() ? build(b.getI8Type(), column)
                                 : convert(column, getFormat(side)));
    }
    storeColumns(side, patch);
  }
  if (call.hasAmax)
    storeAmax(code.parameter(next));
}

DeviceCall mpt::detail::emitCall(const rt::GemmQuantizeCall &call, const CallSite &site) {
  const rt::BufferRef &x = site.ref(0);
  DeviceLaunch launch;
  launch.function = site.name;
  launch.threads = kThreads;
  launch.blocks[0] = llvm::divideCeil(x.dims[1], kTile);
  launch.blocks[1] = llvm::divideCeil(x.dims[0], kTile);
  GPUFunctionBuilder code(site.device, site.loc, site.name,
                          static_cast<int64_t>(site.call.refs.size()), kThreads,
                          site.isWide());
  QuantizeEmitter(call, site, code).emit();
  code.finish();
  DeviceCall result;
  result.launches.push_back(launch);
  return result;
}
