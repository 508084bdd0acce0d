//===- FlashAttentionEmitter.cpp - Attention as device functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A block of four warps works on 64 rows, a warp on 16 of them. Matmuls are
/// mma.m16n8k16: of a 16 x 16 matrix A by rows, a 16 x 8 matrix B by columns,
/// and f32 sums, of which a thread (g = lane / 4, t = lane % 4) has
///   A: rows g, g + 8, g, g + 8 of columns 2t, 2t, 2t + 8, 2t + 8, two each;
///   B: rows 2t and 2t + 8, two each, of column g;
///   sums: columns 2t and 2t + 1 of row g, then of row g + 8
/// (PTX ISA, "Matrix Fragments for mma.m16n8k16"). So the sums of two
/// neighbouring 16 x 8 results are, rounded in pairs, the A of a following
/// one. B comes from shared memory by ldmatrix.
///
//===----------------------------------------------------------------------===//

#include "FlashAttentionEmitter.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static constexpr int64_t kRows = 16;
static constexpr double kLog2e = 1.4426950408889634;

namespace {

/// Four registers of sums; A has four words, B two.
using Words = SmallVector<Value, 4>;

/// A matrix of the tensor that a block works on: from `base`, element `first`, with
/// `stride` elements from row to row, of which `limit` (a number) exist.
struct Tensor {
  Value base;
  Index first = 0;
  int64_t stride = 0;
  int64_t limit = 0;
};

class FlashAttentionEmitter {
public:
  FlashAttentionEmitter(GPUFunctionBuilder &code, const AttentionShape &shape)
      : code(code), shape(shape), b(code.b), loc(code.loc), f32(b.getF32Type()),
        i32(b.getI32Type()), width(shape.width), pitch(shape.width + 8), lane(0), warp(0),
        g(0), t(0), maskFirst(0) {
    Index thread = code.thread();
    lane = thread % kWarp;
    warp = thread / kWarp;
    g = lane / 4;
    t = lane % 4;
  }

  void forward();
  void queryGradient();
  void keyGradients();

private:
  /// The queries' matrix of head `batch` in parameter `number`.
  Tensor makeQueries(unsigned number, const RowStrides &strides, Index batch) {
    return {code.parameter(number),
            batch / shape.heads * strides.batch + batch % shape.heads * strides.head,
            strides.row, shape.queries};
  }
  /// The keys' or values' matrix that head `batch` reads.
  Tensor makeKeys(unsigned number, const RowStrides &strides, Index batch) {
    return {code.parameter(number),
            batch / shape.heads * strides.batch +
                batch % shape.heads / shape.sharing() * strides.head,
            strides.row, shape.keys};
  }
  /// Takes the mask of a batch, if there is one, which follows the function's `inputs`
  /// other inputs, and returns the number of its first output.
  unsigned setMask(unsigned inputs, Index batch) {
    if (shape.maskStrides.empty())
      return inputs;
    mask = code.parameter(inputs);
    maskFirst = batch / shape.heads * shape.maskStrides[0] +
                batch % shape.heads * shape.maskStrides[1];
    return inputs + 1;
  }
  Value number(double value) { return code.constant(f32, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value max(Value x, Value y) { return arith::MaxNumFOp::create(b, loc, x, y); }
  Value both(Value x, Value y) {
    return !x ? y : !y ? x : arith::AndIOp::create(b, loc, x, y).getResult();
  }
  Value choose(Value condition, Value x, Value y) {
    return condition ? arith::SelectOp::create(b, loc, condition, x, y).getResult() : x;
  }
  /// e^(x - most), for `shift` = -most log2(e): 0 where that is below 2^-126.
  Value power(Value x, Value shift) {
    return exp2(math::FmaOp::create(b, loc, x, number(kLog2e), shift));
  }
  Value getShift(Value most) { return mul(most, number(-kLog2e)); }
  Value exp2(Value x) {
    return LLVM::CallIntrinsicOp::create(
               b, loc, f32, b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), x)
        .getResult(0);
  }
  /// Over the four threads that share a row of sums.
  Value overQuad(Value x, bool isMax) {
    for (int64_t distance : {1, 2}) {
      Value other = code.exchange(x, distance);
      x = isMax ? max(x, other) : add(x, other);
    }
    return x;
  }

  /// Two f32 as a word of two elements, rounded, and back.
  Value pack(Value low, Value high);
  std::pair<Value, Value> unpack(Value word);
  Value scaled(Value word);
  Value loadWord(Value base, Index at) {
    return LLVM::BitcastOp::create(b, loc, i32, code.load(base, shape.type, at, 2));
  }
  void storePair(Value low, Value high, Value base, Index at) {
    auto memory = VectorType::get({2}, b.getI16Type());
    code.store(LLVM::BitcastOp::create(b, loc, memory, pack(low, high)), base, shape.type,
               at, 2);
  }

  /// A of rows `row` + g and `row` + g + 8 (of the tensor, the last one if
  /// there are fewer) and columns [k, k + 16).
  Words loadA(const Tensor &tensor, Index row, int64_t k);
  /// The sums of two neighbouring 16 x 8 tiles as an A operand.
  Words makeA(ArrayRef<Words> sums, int64_t k) {
    const Words &x = sums[2 * k], &y = sums[2 * k + 1];
    return {pack(x[0], x[1]), pack(x[2], x[3]), pack(y[0], y[1]), pack(y[2], y[3])};
  }
  /// Two Bs side by side, four words, from a tile in shared memory: of columns
  /// [n, n + 16) of the matmul's result and rows [k, k + 16). `isTransposed`: the tile
  /// has the result's rows as its rows.
  Words loadB(Value tile, int64_t k, int64_t n, bool isTransposed);
  Words multiply(const Words &a, Value b0, Value b1, const Words &sums);
  /// sums[n] += a B for all `tiles` of columns, B from `tile` at rows [k, k +
  /// 16).
  void multiplyRow(SmallVectorImpl<Words> &sums, const Words &a, Value tile, int64_t k,
                   bool isTransposed) {
    for (int64_t n = 0; n < static_cast<int64_t>(sums.size()); n += 2) {
      Words words = loadB(tile, k * 16, n * 8, isTransposed);
      sums[n] = multiply(a, words[0], words[1], sums[n]);
      sums[n + 1] = multiply(a, words[2], words[3], sums[n + 1]);
    }
  }
  SmallVector<Words> zeros(int64_t tiles) {
    return SmallVector<Words>(tiles, Words(4, number(0)));
  }
  /// Rows [first, first + count) of a tensor into shared memory, with zeros
  /// after its last row.
  void loadTile(const Tensor &tensor, Index first, int64_t count, Value tile,
                bool isScaled);
  /// Whether key `key` is seen by query `query`; null if every one is. Without
  /// `onDiagonal` the query comes after the key.
  Value isVisible(Index query, Index key, bool checksQuery, bool onDiagonal);
  /// The keys, a multiple of `step`, before which all queries from `first` on see all.
  Index countSeen(Index first, int64_t step) {
    return (first + (shape.keys - shape.queries + 1)) / step * step;
  }

  /// What `add` makes of `carried` for one tile of keys after the other up to `end`, for
  /// queries from `first` on.
  using AddTile = llvm::function_ref<SmallVector<Value>(Index, ValueRange, bool)>;
  SmallVector<Value> overKeys(Index first, Index end, int64_t step,
                              SmallVector<Value> carried, AddTile add);

  /// The shifts and dots of a query and the next one, of the last ones past the end.
  std::pair<std::array<Value, 2>, std::array<Value, 2>> loadPairs(Index batch,
                                                                  Index query);

  static SmallVector<Value> flatten(ArrayRef<Words> sums) {
    SmallVector<Value> values;
    for (const Words &words : sums)
      values.append(words.begin(), words.end());
    return values;
  }
  static SmallVector<Words> unflatten(ValueRange values) {
    SmallVector<Words> sums;
    for (size_t i = 0; i + 4 <= values.size(); i += 4)
      sums.push_back(Words{values[i], values[i + 1], values[i + 2], values[i + 3]});
    return sums;
  }
  /// Rows of sums times `factors` (of rows g and g + 8) into a tensor, where
  /// they exist.
  void storeRows(ArrayRef<Words> sums, Value low, Value high, const Tensor &tensor,
                 Index row);

  GPUFunctionBuilder &code;
  const AttentionShape &shape;
  OpBuilder &b;
  Location loc;
  Type f32, i32;
  int64_t width, pitch;
  Index lane, warp, g, t;
  Value mask;
  /// The element of the mask for the batch's first query and key.
  Index maskFirst;
};

} // namespace

Value FlashAttentionEmitter::pack(Value low, Value high) {
  auto wide = VectorType::get({2}, f32);
  Value pair = vector::FromElementsOp::create(b, loc, wide, ValueRange{low, high});
  pair = arith::TruncFOp::create(b, loc, wide.clone(shape.type), pair);
  return LLVM::BitcastOp::create(b, loc, i32, pair);
}

std::pair<Value, Value> FlashAttentionEmitter::unpack(Value word) {
  auto narrow = VectorType::get({2}, shape.type);
  Value pair = LLVM::BitcastOp::create(b, loc, narrow, word);
  pair = arith::ExtFOp::create(b, loc, narrow.clone(f32), pair);
  return {vector::ExtractOp::create(b, loc, pair, int64_t(0)),
          vector::ExtractOp::create(b, loc, pair, int64_t(1))};
}

/// As mpt.attention says: the query is scaled and rounded before the matmul.
Value FlashAttentionEmitter::scaled(Value word) {
  auto [low, high] = unpack(word);
  Value scale = number(shape.scale);
  return pack(mul(low, scale), mul(high, scale));
}

Words FlashAttentionEmitter::loadA(const Tensor &tensor, Index row, int64_t k) {
  Index last(tensor.limit - 1);
  Index upper = smaller(row + g, last), lower = smaller(row + g + 8, last);
  Index column = t * 2 + k;
  Words words;
  for (int64_t half : {0, 8})
    for (Index at : {upper, lower})
      words.push_back(
          loadWord(tensor.base, tensor.first + at * tensor.stride + column + half));
  return words;
}

Words FlashAttentionEmitter::loadB(Value tile, int64_t k, int64_t n, bool isTransposed) {
  // Thread 8 m + r names row r of matrix m: k's halves first, then n's.
  Index matrix = lane / 8, row = lane % 8;
  Index kHalf = matrix % 2 * 8, nHalf = matrix / 2 * 8;
  Index at = isTransposed ? (kHalf + k + row) * pitch + nHalf + n
                          : (nHalf + n + row) * pitch + kHalf + k;
  Value offset = code.get(at);
  Value address = LLVM::GEPOp::create(b, loc, tile.getType(), b.getI16Type(), tile,
                                      ArrayRef<LLVM::GEPArg>{offset});
  SmallVector<Type> types(4, i32);
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value loaded = NVVM::LdMatrixOp::create(
      b, loc, type, address, /*num=*/4,
      isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
  Words words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(LLVM::ExtractValueOp::create(b, loc, loaded, i));
  return words;
}

Words FlashAttentionEmitter::multiply(const Words &a, Value b0, Value b1,
                                      const Words &sums) {
  SmallVector<Value> operands(a.begin(), a.end());
  operands.append({b0, b1});
  auto element = NVVM::MMATypes::bf16;
  if (shape.type.isF16()) {
    element = NVVM::MMATypes::f16;
    for (Value &operand : operands)
      operand =
          LLVM::BitcastOp::create(b, loc, VectorType::get({2}, shape.type), operand);
  }
  ValueRange multiplicands = operands;
  SmallVector<Type> types(4, f32);
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value result = NVVM::MmaOp::create(
      b, loc, type, multiplicands.take_front(4), multiplicands.drop_front(4),
      ValueRange(sums), /*shape=*/{16, 8, 16}, /*b1Op=*/std::nullopt,
      /*intOverflow=*/std::nullopt, std::array{element, element},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  Words words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(LLVM::ExtractValueOp::create(b, loc, result, i));
  return words;
}

void FlashAttentionEmitter::loadTile(const Tensor &tensor, Index first, int64_t count,
                                     Value tile, bool isScaled) {
  int64_t frames = width / 8;
  for (int64_t i = 0; i < count * frames; i += kAttentionThreads) {
    Index frame = code.thread() + i;
    auto copy = [&] {
      Index row = frame / frames, column = frame % frames * 8;
      Index from = first + row;
      Value exists = code.isLess(from, tensor.limit);
      from = smaller(from, tensor.limit - 1);
      Value bits = code.load(tensor.base, shape.type,
                             tensor.first + from * tensor.stride + column, 8);
      Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(bits.getType()));
      bits = choose(exists, bits, zero);
      if (isScaled) {
        auto narrow = VectorType::get({8}, shape.type);
        Value elements = arith::BitcastOp::create(b, loc, narrow, bits);
        Value wide = arith::ExtFOp::create(b, loc, narrow.clone(f32), elements);
        wide = mul(wide, code.constant(narrow.clone(f32), shape.scale));
        elements = arith::TruncFOp::create(b, loc, narrow, wide);
        bits = arith::BitcastOp::create(b, loc, bits.getType(), elements);
      }
      code.store(bits, tile, shape.type, row * pitch + column, 8);
    };
    if (i + kAttentionThreads <= count * frames)
      copy();
    else
      code.ifThen(code.isLess(frame, count * frames), copy);
  }
}

Value FlashAttentionEmitter::isVisible(Index query, Index key, bool checksQuery,
                                       bool onDiagonal) {
  Value visible;
  if (shape.keys % AttentionShape::kTile != 0)
    visible = code.isLess(key, shape.keys);
  if (checksQuery && shape.queries % AttentionShape::kTile != 0)
    visible = both(visible, code.isLess(query, shape.queries));
  if (onDiagonal)
    visible = both(visible, code.isLess(key, query + (shape.keys - shape.queries + 1)));
  if (!mask)
    return visible;
  Index at = maskFirst + smaller(query, shape.queries - 1) * shape.maskStrides[2] +
             smaller(key, shape.keys - 1) * shape.maskStrides[3];
  Value bit = code.load(mask, b.getI1Type(), at);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(bit.getType()));
  return both(visible,
              arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit, zero));
}

SmallVector<Value> FlashAttentionEmitter::overKeys(Index first, Index end, int64_t step,
                                                   SmallVector<Value> carried,
                                                   AddTile add) {
  auto loop = [&](Index from, Index to, bool onDiagonal) {
    carried = code.loop(from, to, step, carried, [&](Index start, ValueRange values) {
      return add(start, values, onDiagonal);
    });
  };
  if (!shape.isCausal) {
    loop(0, end, /*onDiagonal=*/false);
    return carried;
  }
  Index seen = smaller(countSeen(first, step), end);
  loop(0, seen, /*onDiagonal=*/false);
  loop(seen, end, /*onDiagonal=*/true);
  return carried;
}

std::pair<std::array<Value, 2>, std::array<Value, 2>>
FlashAttentionEmitter::loadPairs(Index batch, Index query) {
  std::array<Value, 2> shift, dot;
  // Neighbours are one access where rows have an even number of them.
  const bool isPair = shape.queries % 2 == 0;
  auto load = [&](unsigned number, std::array<Value, 2> &values) {
    if (isPair) {
      Index at = batch * shape.queries + smaller(query, shape.queries - 2);
      Value pair = code.load(code.parameter(number), f32, at, 2);
      for (int64_t i : {0, 1})
        values[i] = vector::ExtractOp::create(b, loc, pair, i);
      return;
    }
    for (int64_t i : {0, 1})
      values[i] =
          code.load(code.parameter(number), f32,
                    batch * shape.queries + smaller(query + i, shape.queries - 1));
  };
  load(4, shift);
  load(5, dot);
  for (Value &value : shift)
    value = getShift(value);
  return {shift, dot};
}

void FlashAttentionEmitter::storeRows(ArrayRef<Words> sums, Value low, Value high,
                                      const Tensor &tensor, Index row) {
  for (int64_t half : {0, 1}) {
    Index at = row + g + 8 * half;
    Value factor = half ? high : low;
    code.ifThen(code.isLess(at, tensor.limit), [&] {
      for (auto [n, words] : llvm::enumerate(sums)) {
        Value x = words[2 * half], y = words[2 * half + 1];
        if (factor) {
          x = mul(x, factor);
          y = mul(y, factor);
        }
        storePair(x, y, tensor.base,
                  tensor.first + at * tensor.stride + t * 2 +
                      static_cast<int64_t>(n) * 8);
      }
    });
  }
}

void FlashAttentionEmitter::forward() {
  if (width <= 64)
    code.wantBlocksAtOnce(4);
  constexpr int64_t tile = AttentionShape::kTile;
  int64_t tiles = (shape.queries + tile - 1) / tile;
  Index block = code.blockX(), batch = block / tiles;
  // Under a causal mask the last rows take longest: they start first.
  Index first = (Index(tiles - 1) - block % tiles) * tile, row = first + warp * kRows;
  Tensor query = makeQueries(0, shape.query, batch);
  Tensor key = makeKeys(1, shape.key, batch);
  Tensor value = makeKeys(2, shape.value, batch);
  unsigned output = setMask(3, batch);
  Tensor result = makeQueries(output, shape.result, batch);
  Value keyTile = code.shared(tile * pitch * 2),
        valueTile = code.shared(tile * pitch * 2);
  SmallVector<Words> q;
  for (int64_t k = 0; k < width; k += 16) {
    q.push_back(loadA(query, row, k));
    for (Value &word : q.back())
      word = scaled(word);
  }
  Value none = number(-std::numeric_limits<double>::infinity());
  // The largest score so far and the sum of powers, of rows g and g + 8. A mask may
  // hide a whole tile, and the difference of two infinities is not a number.
  Value lowest = mask ? number(std::numeric_limits<float>::lowest()) : none;
  SmallVector<Value> carried = {lowest, lowest, number(0), number(0)};
  carried.append(flatten(zeros(width / 8)));
  Index end(shape.keys);
  if (shape.isCausal)
    end = smaller(end, first + (tile + shape.keys - shape.queries));
  auto add64Keys = [&](Index start, ValueRange values, bool onDiagonal) {
    code.barrier();
    loadTile(key, start, tile, keyTile, false);
    loadTile(value, start, tile, valueTile, false);
    code.barrier();
    SmallVector<Words> scores = zeros(tile / 8);
    for (int64_t k = 0; k < width / 16; ++k)
      multiplyRow(scores, q[k], keyTile, k, /*isTransposed=*/false);
    SmallVector<Value> most = {values[0], values[1]};
    for (int64_t n = 0; n < tile / 8; ++n)
      for (int64_t i = 0; i < 4; ++i) {
        Value visible = isVisible(row + g + i / 2 * 8, start + t * 2 + (n * 8 + i % 2),
                                  /*checksQuery=*/false, onDiagonal);
        scores[n][i] = choose(visible, scores[n][i], none);
        most[i / 2] = max(most[i / 2], scores[n][i]);
      }
    SmallVector<Value> sums = {values[2], values[3]}, shrink(2), shift(2);
    for (int64_t half : {0, 1}) {
      most[half] = overQuad(most[half], /*isMax=*/true);
      shift[half] = getShift(most[half]);
      // Times log2(e) it would be infinite.
      if (mask)
        shift[half] = choose(
            arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, most[half], lowest),
            number(0), shift[half]);
      shrink[half] = power(values[half], shift[half]);
      sums[half] = mul(sums[half], shrink[half]);
    }
    for (Words &words : scores)
      for (int64_t i = 0; i < 4; ++i) {
        words[i] = power(words[i], shift[i / 2]);
        sums[i / 2] = add(sums[i / 2], words[i]);
      }
    SmallVector<Words> outputs = unflatten(values.drop_front(4));
    for (Words &words : outputs)
      for (int64_t i = 0; i < 4; ++i)
        words[i] = mul(words[i], shrink[i / 2]);
    for (int64_t k = 0; k < tile / 16; ++k)
      multiplyRow(outputs, makeA(scores, k), valueTile, k,
                  /*isTransposed=*/true);
    SmallVector<Value> next = {most[0], most[1], sums[0], sums[1]};
    next.append(flatten(outputs));
    return next;
  };
  carried = overKeys(first, end, tile, carried, add64Keys);
  SmallVector<Value> factors;
  for (int64_t half : {0, 1}) {
    Value sum = overQuad(carried[2 + half], /*isMax=*/false);
    Value divisor = sum;
    if (mask)
      divisor =
          choose(arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, number(0)),
                 number(1), sum);
    factors.push_back(arith::DivFOp::create(b, loc, number(1), divisor));
    Index at = row + g + 8 * half;
    Value stores = both(code.isLess(at, shape.queries), code.isEqual(t, 0));
    Value lse = add(carried[half], math::LogOp::create(b, loc, sum));
    code.ifThen(stores, [&] {
      code.store(lse, code.parameter(output + 1), f32, batch * shape.queries + at);
    });
  }
  storeRows(unflatten(ValueRange(carried).drop_front(4)), factors[0], factors[1], result,
            row);
}

void FlashAttentionEmitter::queryGradient() {
  constexpr int64_t tile = AttentionShape::kTile;
  // Fewer keys at once where sums and operands leave fewer registers.
  int64_t step = width > 64 ? 32 : tile;
  int64_t tiles = (shape.queries + tile - 1) / tile;
  Index block = code.blockX(), batch = block / tiles;
  Index first = (Index(tiles - 1) - block % tiles) * tile, row = first + warp * kRows;
  Tensor dy = makeQueries(0, shape.dy, batch);
  Tensor query = makeQueries(1, shape.query, batch);
  Tensor key = makeKeys(2, shape.key, batch);
  Tensor value = makeKeys(3, shape.value, batch);
  unsigned output = setMask(6, batch);
  Tensor result = makeQueries(output, shape.dquery, batch);
  Value keyTile = code.shared(step * pitch * 2),
        valueTile = code.shared(step * pitch * 2);
  SmallVector<Words> q, d;
  for (int64_t k = 0; k < width; k += 16) {
    q.push_back(loadA(query, row, k));
    for (Value &word : q.back())
      word = scaled(word);
    d.push_back(loadA(dy, row, k));
  }
  SmallVector<Value> shift, dot;
  for (int64_t half : {0, 1}) {
    Index at = batch * shape.queries + smaller(row + g + 8 * half, shape.queries - 1);
    shift.push_back(getShift(code.load(code.parameter(4), f32, at)));
    dot.push_back(code.load(code.parameter(5), f32, at));
  }
  Index end(shape.keys);
  if (shape.isCausal)
    end = smaller(end, first + (tile + shape.keys - shape.queries));
  SmallVector<Value> carried = flatten(zeros(width / 8));
  auto addKeys = [&](Index start, ValueRange values, bool onDiagonal) {
    code.barrier();
    loadTile(key, start, step, keyTile, false);
    loadTile(value, start, step, valueTile, false);
    code.barrier();
    SmallVector<Words> scores = zeros(step / 8), slopes = zeros(step / 8);
    for (int64_t k = 0; k < width / 16; ++k) {
      multiplyRow(scores, q[k], keyTile, k, /*isTransposed=*/false);
      multiplyRow(slopes, d[k], valueTile, k, /*isTransposed=*/false);
    }
    for (int64_t n = 0; n < step / 8; ++n)
      for (int64_t i = 0; i < 4; ++i) {
        Value p = power(scores[n][i], shift[i / 2]);
        Value visible = isVisible(row + g + i / 2 * 8, start + t * 2 + (n * 8 + i % 2),
                                  /*checksQuery=*/false, onDiagonal);
        p = choose(visible, p, number(0));
        scores[n][i] = mul(p, sub(slopes[n][i], dot[i / 2]));
      }
    SmallVector<Words> sums = unflatten(values);
    for (int64_t k = 0; k < step / 16; ++k)
      multiplyRow(sums, makeA(scores, k), keyTile, k,
                  /*isTransposed=*/true);
    return flatten(sums);
  };
  carried = overKeys(first, end, step, carried, addKeys);
  Value scale = number(shape.scale);
  storeRows(unflatten(carried), scale, scale, result, row);
}

void FlashAttentionEmitter::keyGradients() {
  if (width <= 64)
    code.wantBlocksAtOnce(3);
  constexpr int64_t tile = AttentionShape::kTile;
  bool keeps = width <= 64;
  int64_t step = keeps ? tile : width > 80 ? 16 : 32;
  int64_t tiles = (shape.keys + tile - 1) / tile;
  // The first of the heads that share the block's keys.
  Index block = code.blockX(), keyBatch = block / tiles * shape.sharing();
  Index first = block % tiles * tile, row = first + warp * kRows;
  Tensor key = makeKeys(2, shape.key, keyBatch);
  Tensor value = makeKeys(3, shape.value, keyBatch);
  const unsigned output = shape.maskStrides.empty() ? 6 : 7;
  Value queryTile = code.shared(step * pitch * 2), dyTile = code.shared(step * pitch * 2);
  SmallVector<Words> keptKeys, keptValues;
  if (keeps)
    for (int64_t k = 0; k < width; k += 16) {
      keptKeys.push_back(loadA(key, row, k));
      keptValues.push_back(loadA(value, row, k));
    }
  Index begin(0), afterDiagonal(0);
  // Queries before `begin` see no key of the block, those from `afterDiagonal` on all.
  if (shape.isCausal) {
    Index offset(shape.keys - shape.queries);
    begin = larger(first - offset, 0) / step * step;
    afterDiagonal =
        smaller((larger(first - offset + (tile - 1), 0) + (step - 1)) / step * step,
                shape.queries);
  }
  SmallVector<Value> carried = flatten(zeros(width / 8));
  carried.append(flatten(zeros(width / 8)));
  // Of the head that is added.
  Index batch(0);
  Tensor dy, query;
  auto addQueries = [&](Index start, ValueRange values, bool onDiagonal) {
    code.barrier();
    loadTile(query, start, step, queryTile, true);
    loadTile(dy, start, step, dyTile, false);
    code.barrier();
    // Transposed: rows are keys, columns queries.
    SmallVector<Words> scores = zeros(step / 8), slopes = zeros(step / 8);
    for (int64_t k = 0; k < width / 16; ++k) {
      multiplyRow(scores, keeps ? keptKeys[k] : loadA(key, row, k * 16), queryTile, k,
                  /*isTransposed=*/false);
      multiplyRow(slopes, keeps ? keptValues[k] : loadA(value, row, k * 16), dyTile, k,
                  /*isTransposed=*/false);
    }
    for (int64_t n = 0; n < step / 8; ++n) {
      auto [shift, dot] = loadPairs(batch, start + t * 2 + n * 8);
      for (int64_t column : {0, 1}) {
        Index at = start + t * 2 + (n * 8 + column);
        Value myShift = shift[column], myDot = dot[column];
        for (int64_t half : {0, 1}) {
          int64_t i = 2 * half + column;
          Value p = power(scores[n][i], myShift);
          Value visible =
              isVisible(at, row + g + 8 * half, /*checksQuery=*/true, onDiagonal);
          p = choose(visible, p, number(0));
          scores[n][i] = p;
          slopes[n][i] = mul(p, sub(slopes[n][i], myDot));
        }
      }
    }
    size_t count = width / 2;
    SmallVector<Words> dkey = unflatten(values.take_front(count)),
                       dvalue = unflatten(values.drop_front(count));
    for (int64_t k = 0; k < step / 16; ++k) {
      multiplyRow(dvalue, makeA(scores, k), dyTile, k,
                  /*isTransposed=*/true);
      multiplyRow(dkey, makeA(slopes, k), queryTile, k,
                  /*isTransposed=*/true);
    }
    SmallVector<Value> next = flatten(dkey);
    next.append(flatten(dvalue));
    return next;
  };
  auto addHead = [&](Index head, ValueRange values) {
    batch = keyBatch + head;
    dy = makeQueries(0, shape.dy, batch);
    query = makeQueries(1, shape.query, batch);
    setMask(6, batch);
    SmallVector<Value> sums(values);
    auto overQueries = [&](Index from, Index to, bool onDiagonal) {
      sums = code.loop(from, to, step, sums, [&](Index start, ValueRange values) {
        return addQueries(start, values, onDiagonal);
      });
    };
    if (shape.isCausal)
      overQueries(begin, afterDiagonal, /*onDiagonal=*/true);
    overQueries(afterDiagonal, shape.queries, /*onDiagonal=*/false);
    return sums;
  };
  carried = shape.sharing() == 1 ? addHead(Index(0), carried)
                                 : code.loop(0, shape.sharing(), 1, carried, addHead);
  size_t count = width / 2;
  ValueRange sums(carried);
  storeRows(unflatten(sums.take_front(count)), Value(), Value(),
            makeKeys(output, shape.dkey, keyBatch), row);
  storeRows(unflatten(sums.drop_front(count)), Value(), Value(),
            makeKeys(output + 1, shape.dvalue, keyBatch), row);
}

void mpt::detail::emitAttention(GPUFunctionBuilder &code, const AttentionShape &shape) {
  FlashAttentionEmitter(code, shape).forward();
}

void mpt::detail::emitQueryGradient(GPUFunctionBuilder &code,
                                    const AttentionShape &shape) {
  FlashAttentionEmitter(code, shape).queryGradient();
}

void mpt::detail::emitKeyGradients(GPUFunctionBuilder &code,
                                   const AttentionShape &shape) {
  FlashAttentionEmitter(code, shape).keyGradients();
}

//===----------------------------------------------------------------------===//
// Row sums of dy times the result
//
// The sums over rows of dy times the result, which are those of the probabilities times
// their gradients: a warp a row.
//===----------------------------------------------------------------------===//

void mpt::detail::emitDots(GPUFunctionBuilder &code, const AttentionShape &shape) {
  Index thread = code.globalThread(), row = thread / kWarp, lane = thread % kWarp;
  Type f32 = code.b.getF32Type();
  // Whole warps stay or leave.
  code.ifThen(code.isLess(row, shape.batch * shape.queries), [&] {
    Index batch = row / shape.queries, query = row % shape.queries;
    auto first = [&](const RowStrides &strides) {
      return batch / shape.heads * strides.batch + batch % shape.heads * strides.head +
             query * strides.row;
    };
    Index dy = first(shape.dy), result = first(shape.result);
    Value sum = code.constant(f32, 0);
    for (int64_t i = 0; i < shape.width; i += kWarp) {
      Index column = smaller(lane + i, shape.width - 1);
      Value x = code.loadNumber(code.parameter(0), shape.type, dy + column);
      Value y = code.loadNumber(code.parameter(1), shape.type, result + column);
      Value product = arith::MulFOp::create(code.b, code.loc, x, y);
      if (i + kWarp > shape.width)
        product =
            arith::SelectOp::create(code.b, code.loc, code.isLess(lane + i, shape.width),
                                    product, code.constant(f32, 0));
      sum = arith::AddFOp::create(code.b, code.loc, sum, product);
    }
    for (int64_t distance = kWarp / 2; distance > 0; distance /= 2)
      sum = arith::AddFOp::create(code.b, code.loc, sum, code.exchange(sum, distance));
    code.ifThen(code.isEqual(lane, 0),
                [&] { code.store(sum, code.parameter(2), f32, row); });
  });
}
