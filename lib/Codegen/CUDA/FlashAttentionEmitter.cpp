//===- FlashAttentionEmitter.cpp - Attention as device functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A block of four warps works on 64 rows, a warp on 16 of them, or forward on twice as
/// many: what a warp loads from shared memory is then used twice. Matmuls are
/// mma.m16n8k16: of a 16 x 16 matrix A by rows, a 16 x 8 matrix B by columns,
/// and f32 sums, of which a thread (g = lane / 4, t = lane % 4) has
///   A: rows g, g + 8, g, g + 8 of columns 2t, 2t, 2t + 8, 2t + 8, two each;
///   B: rows 2t and 2t + 8, two each, of column g;
///   sums: columns 2t and 2t + 1 of row g, then of row g + 8
/// (PTX ISA, "Matrix Fragments for mma.m16n8k16"). So the sums of two
/// neighbouring 16 x 8 results are, rounded in pairs, the A of a following
/// one. B comes from shared memory by ldmatrix. Head sizes that are not multiples of 16
/// are filled with zeros there and in registers.
///
/// Tiles of keys and values, or of queries and dy, are in shared memory twice: while a
/// block computes with one, the next is copied (cp.async) into the other.
///
/// Dropout draws the words of `mpt.random_mask` again in each function: a block of
/// threads draws a tile's, a bit an element, into shared memory.
///
//===----------------------------------------------------------------------===//

#include "FlashAttentionEmitter.h"
#include "DevicePhilox.h"
#include "mpt/Support/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static constexpr int64_t kRows = 16;
static constexpr double kLog2e = 1.4426950408889634;
/// Scores may exceed the maximum that exponentials are taken relative to by this many
/// powers of two before sums are rescaled (FlashAttention-4 has the same bound), so that
/// exponentials are at most 256.
static constexpr double kMostGrowth = 8;
/// Most columns of the operands of matmuls that registers keep besides sums, each of
/// which counts twice: four are a register.
static constexpr int64_t kMostKept = 768;
/// Shared memory of a block that needs no attribute of its function.
static constexpr int64_t kMostSharedBytes = 48 << 10;

namespace {

/// Four registers of sums; A has four words, B two.
using Words = SmallVector<Value, 4>;

/// A matrix of the tensor that a block works on: from `base`, element `first`, with
/// `stride` elements from row to row, of which `limit` (a number) exist, each of
/// `columns`. At multiples of `access` elements, as many are read at once.
struct Tensor {
  Value base;
  Index first = 0;
  int64_t stride = 0, limit = 0, columns = 0, access = 1;
};

/// Rows in shared memory, `pitch` elements from each other, from element `first` +
/// `offset` on. A second tile, if there is one, follows after `elements`.
struct Tile {
  Value memory;
  int64_t pitch = 0, elements = 0, offset = 0;
  Index first = 0;
  Tile skip(int64_t rows) const {
    Tile tile = *this;
    tile.offset += rows * pitch;
    return tile;
  }
};

class FlashAttentionEmitter {
public:
  FlashAttentionEmitter(GPUFunctionBuilder &code, const AttentionShape &shape)
      : code(code), shape(shape), b(code.b), loc(code.loc), f32(b.getF32Type()),
        i32(b.getI32Type()), width(shape.paddedWidth()),
        valueWidth(shape.paddedValueWidth()), lane(0), warp(0), g(0), t(0), maskFirst(0),
        biasFirst(0), keptFirst(0) {
    Index thread = code.thread();
    lane = thread % kWarp;
    warp = thread / kWarp;
    g = lane / 4;
    t = lane % 4;
  }

  void forward();
  void queryGradient();
  void keyGradients(bool ofKey, bool ofValue);
  void biasGradient();

private:
  Tensor makeTensor(unsigned number, const RowStrides &strides, Index first, int64_t rows,
                    int64_t columns) {
    auto bits = static_cast<uint64_t>(columns | strides.batch | strides.head |
                                      strides.row | strides.first | 8);
    return {code.parameter(number),
            first,
            strides.row,
            rows,
            columns,
            int64_t(1) << llvm::countr_zero(bits)};
  }
  /// The queries' matrix of head `batch` in parameter `number`.
  Tensor makeQueries(unsigned number, const RowStrides &strides, Index batch,
                     int64_t columns) {
    Index first =
        batch / shape.heads * strides.batch + batch % shape.heads * strides.head;
    return makeTensor(number, strides, first, shape.queries, columns);
  }
  /// The keys' or values' matrix that head `batch` reads.
  Tensor makeKeys(unsigned number, const RowStrides &strides, Index batch,
                  int64_t columns) {
    Index first = batch / shape.heads * strides.batch +
                  batch % shape.heads / shape.sharing() * strides.head;
    return makeTensor(number, strides, first, shape.keys, columns);
  }
  /// Shared memory, which begins at multiples of 64 bytes.
  Value share(int64_t bytes) {
    sharedBytes += llvm::alignTo(bytes, 64);
    return code.shared(bytes);
  }
  /// Tiles of `rows` rows of queries or keys, and of dy or values, side by side: a thread
  /// names elements of both by one register.
  std::pair<Tile, Tile> makeTiles(int64_t rows) {
    const int64_t elements = rows * pitchOf(width), others = rows * pitchOf(valueWidth);
    Value memory = share((elements + others) * 2 * stages());
    return {{memory, pitchOf(width), elements},
            {memory, pitchOf(valueWidth), others, elements * stages()}};
  }
  /// An odd number of 16 bytes, for ldmatrix.
  static int64_t pitchOf(int64_t columns) { return columns + 8; }
  int64_t stages() const { return copies ? 2 : 1; }
  /// Copies tiles of `rows` rows of `x` and `y` ahead if these lie at multiples of 16
  /// bytes and shared memory holds two of each, with two tiles' bits of dropout for
  /// `queries` queries.
  void setCopies(const Tensor &x, const Tensor &y, int64_t rows, int64_t queries) {
    const int64_t bytes = 2 * rows * (pitchOf(width) + pitchOf(valueWidth)) +
                          (shape.dropout ? queries * kKeptBytes : 0);
    copies = x.access == 8 && y.access == 8 && 2 * bytes <= kMostSharedBytes;
  }
  /// Takes mask, bias, seed and attempt, which follow the function's `inputs` other
  /// inputs, and returns the number of its first output. `rows` and `keys` are those of a
  /// tile.
  unsigned setOptions(unsigned inputs, int64_t rows, int64_t keys) {
    if (shape.hasMask())
      mask = code.parameter(inputs++);
    if (shape.hasBias())
      bias = code.parameter(inputs++);
    if (!shape.dropout)
      return inputs;
    Value seed = code.load(code.parameter(inputs), b.getI64Type(), 0);
    Value attempt = code.load(code.parameter(inputs + 1), b.getI64Type(), 0);
    philox.emplace(code, seed, attempt, static_cast<uint32_t>(shape.stream));
    tileRows = rows;
    tileKeys = keys;
    kept = share(rows * kKeptBytes * stages());
    return inputs + 2;
  }
  /// What is added and hidden is that of head `batch`.
  void setHead(Index batch) {
    Index entry = batch / shape.heads, head = batch % shape.heads;
    if (shape.hasMask())
      maskFirst = entry * shape.maskStrides[0] + head * shape.maskStrides[1];
    if (shape.hasBias())
      biasFirst = entry * shape.biasStrides[0] + head * shape.biasStrides[1];
  }
  /// Without what takes more registers.
  bool isPlain() const { return !shape.hasBias() && !shape.dropout; }
  /// What dropout multiplies kept probabilities by.
  double keptFactor() const { return shape.dropout ? 1 / (1 - *shape.dropout) : 1; }
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
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  /// Whether scores are scaled when powers are computed, so that the largest is found
  /// before.
  bool scalesPowers() const { return !shape.hasBias() && shape.scale > 0; }
  /// A score as `power` takes it, with what is added.
  Value finishScore(Value x, Value added) {
    Value scale = number(shape.scale);
    return added ? fma(x, scale, added) : scalesPowers() ? x : mul(x, scale);
  }
  /// e^(x - most), for `reference` of `most`: 0 where that is below 2^-126.
  Value power(Value x, Value reference) {
    // A bias may be the lowest number, which times log2(e) is infinite.
    return exp2(bias ? mul(sub(x, reference), number(kLog2e))
                     : fma(x, number(getPowerFactor()), reference));
  }
  double getPowerFactor() const { return scalesPowers() ? kLog2e * shape.scale : kLog2e; }
  Value getReference(Value most) {
    return bias ? most : mul(most, number(-getPowerFactor()));
  }
  /// Of a row's log-sum-exp, which is -inf where it sees nothing.
  Value getSumsReference(Value sums) {
    if (!bias)
      return mul(sums, number(-kLog2e));
    Value isFinite =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, sums, lowest());
    return choose(isFinite, sums, number(0));
  }
  Value lowest() { return number(std::numeric_limits<float>::lowest()); }
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

  /// Two f32 as a word of two elements, rounded.
  Value pack(Value low, Value high);
  /// Elements `column` and `column` + 1 of a row. `known` is `column` rounded down to a
  /// multiple of 8.
  Value loadWord(const Tensor &tensor, Index row, Index column, int64_t known);
  void storePair(Value low, Value high, const Tensor &tensor, Index row, Index column,
                 int64_t known);

  /// A of rows `row` + g and `row` + g + 8 (of the tensor, the last one if
  /// there are fewer) and columns [k, k + 16).
  Words loadA(const Tensor &tensor, Index row, int64_t k);
  /// The same of the first 16 rows of a tile in shared memory.
  Words loadA(const Tile &tile, int64_t k);
  /// The operands A of 16 rows: registers hold the first ones, shared memory the `shared`
  /// ones after them, and the tensor the others.
  struct Operands {
    Tensor tensor;
    Index row = 0;
    SmallVector<Words> kept;
    Tile tile;
    int64_t shared = 0;
  };
  Words get(const Operands &operands, int64_t k) {
    const int64_t count = operands.kept.size();
    return k < count                     ? operands.kept[k]
           : k < count + operands.shared ? loadA(operands.tile, (k - count) * 16)
                                         : loadA(operands.tensor, operands.row, k * 16);
  }
  /// Those of `parts` times 16 rows of each warp, of the block's from row `first` on.
  /// Shared memory has its ones when the first tile of a loop has been taken whose copies
  /// start after this.
  SmallVector<Operands> loadOperands(const Tensor &tensor, Index first, int64_t parts,
                                     int64_t kept, int64_t shared = 0);
  /// How many operands of 64 rows fit the shared memory that is left.
  int64_t countShared() const {
    const int64_t columns =
        (kMostSharedBytes - sharedBytes) / (2 * AttentionShape::kTile);
    return std::max<int64_t>(columns - pitchOf(0), 0) / 16;
  }
  /// The sums of two neighbouring 16 x 8 tiles as an A operand.
  Words makeA(ArrayRef<Words> sums, int64_t k) {
    const Words &x = sums[2 * k], &y = sums[2 * k + 1];
    return {pack(x[0], x[1]), pack(x[2], x[3]), pack(y[0], y[1]), pack(y[2], y[3])};
  }
  /// Two Bs side by side, four words, from a tile in shared memory: of columns
  /// [n, n + 16) of the matmul's result and rows [k, k + 16). `isTransposed`: the tile
  /// has the result's rows as its rows.
  Words loadB(const Tile &tile, int64_t k, int64_t n, bool isTransposed);
  /// The four matrices of 8 x 8 from row `row` and column `column` on. `rowsFirst`: the
  /// second one has the next rows.
  Words loadMatrices(const Tile &tile, int64_t row, int64_t column, bool isTransposed,
                     bool rowsFirst);
  Words multiply(const Words &a, Value b0, Value b1, const Words &sums);
  /// sums[n] and sums[n + 1] += a B.
  void multiplyPair(MutableArrayRef<Words> sums, int64_t n, const Words &a,
                    const Words &b) {
    sums[n] = multiply(a, b[0], b[1], sums[n]);
    sums[n + 1] = multiply(a, b[2], b[3], sums[n + 1]);
  }
  SmallVector<Words> zeros(int64_t tiles) {
    return SmallVector<Words>(tiles, Words(4, number(0)));
  }
  /// Rows [first, first + count) of a tensor into shared memory, with zeros
  /// after its last row and column.
  void loadTile(const Tensor &tensor, Index first, int64_t count, const Tile &tile);
  /// Calls `copy` with the number of each frame of eight elements of a tile of `count`
  /// rows that this thread copies.
  void forEachFrame(int64_t count, int64_t columns, llvm::function_ref<void(Index)> copy);
  /// Starts to copy such rows.
  void startTile(const Tensor &tensor, Index first, int64_t count, const Tile &tile);
  /// Of two tensors x and y that a loop goes over in tiles of `step` rows.
  struct Tiles {
    Tensor x, y;
    Tile xTile, yTile;
    int64_t step = 0;
  };
  /// Before a loop from row `start` on.
  void startTiles(const Tiles &tiles, Index start) {
    if (!copies)
      return;
    startTile(tiles.x, start, tiles.step, stageOf(tiles.xTile, start, tiles.step));
    startTile(tiles.y, start, tiles.step, stageOf(tiles.yTile, start, tiles.step));
    code.endCopies();
  }
  /// In it: x and y from row `start` on. The loop ends before row `end`. `draw` makes
  /// what else is of these rows in shared memory.
  std::pair<Tile, Tile> takeTiles(const Tiles &tiles, Index start, Index end,
                                  llvm::function_ref<void()> draw);
  Tile stageOf(Tile tile, Index start, int64_t step) {
    if (copies)
      tile.first = start / step % 2 * tile.elements;
    return tile;
  }
  /// Elements [column, column + 8) of row `row`, zeros where it has none.
  Value loadFrame(const Tensor &tensor, Index row, Index column, int64_t columns);

  /// The bits of dropout for a tile from query `query` of head `batch` and key `key` on
  /// into shared memory.
  void drawKept(Index batch, Index query, Index key);
  /// The bit in shared memory that is the tile's first in a row, for query `query`.
  Index firstKept(Index batch, Index query) {
    return (batch * shape.queries + query) % 4 * (shape.keys % 4) % 4;
  }
  /// Bits 8 n and 8 n + 1, across the words, of a row of the tile, which is that of
  /// `query`, are those of keys 8 n + 2 t and the next one.
  SmallVector<Value> loadKept(Index row, Index batch, Index query);
  Value isKept(ArrayRef<Value> words, int64_t n, int64_t column) {
    return testBit(words[n / 4], code.get32(n % 4 * 8 + column));
  }
  /// Whether keys warp kRows + g and the eighth after it are kept.
  std::array<Value, 2> loadKeptKeys(Index row, Index batch, Index query);
  Value testBit(Value word, Value bit) {
    Value shifted = arith::ShRUIOp::create(b, loc, word, bit);
    return arith::TruncIOp::create(b, loc, b.getI1Type(), shifted);
  }
  Value extend(Index x) {
    Value value = code.get(x);
    return value.getType() == b.getI64Type()
               ? value
               : arith::ExtUIOp::create(b, loc, b.getI64Type(), value).getResult();
  }

  /// What is added to the scores of a query for key `key` and the next one.
  std::array<Value, 2> loadBiases(Index query, Index key);
  Value loadBias(Index query, Index key) {
    return code.loadNumber(bias, shape.biasType,
                           biasFirst +
                               smaller(query, shape.queries - 1) * shape.biasStrides[2] +
                               smaller(key, shape.keys - 1) * shape.biasStrides[3]);
  }
  /// Whether key `key` + `keyPlus` is seen by query `query` + `queryPlus`; null if every
  /// one is. Without `onDiagonal` the query comes after the key. What is not a number is
  /// computed once for many.
  Value isVisible(Index query, int64_t queryPlus, Index key, int64_t keyPlus,
                  bool checksQuery, bool onDiagonal);
  /// Whether one of the warp's queries, the last of which is `last`, sees key `key`.
  /// Tiles that it does not see are left out where registers hold the operands; where
  /// these come from global memory, ptxas would spill hundreds of words around the
  /// branch.
  Value isSeen(Index key, Index last) {
    return code.isLess(key, last + (shape.keys - shape.queries + 1));
  }
  /// The keys, a multiple of `step`, before which all queries from `first` on see all.
  Index countSeen(Index first, int64_t step) {
    return (first + (shape.keys - shape.queries + 1)) / step * step;
  }

  /// Finishes a query's scores of two neighbouring keys, which are `half` of `scores`.
  void finishScores(Words &scores, int64_t half, Index query, Index key) {
    std::array<Value, 2> added;
    if (bias)
      added = loadBiases(query, key);
    for (int64_t i : {0, 1})
      scores[2 * half + i] = finishScore(scores[2 * half + i], added[i]);
  }

  /// Takes dy, query, key and value of head `batch`, of a gradient.
  void loadGradientInputs(Index batch);
  /// Of 16 queries: the log-sum-exp as `power` takes it, and the sum of dy times the
  /// result, of rows g and g + 8; operands of matmuls where registers keep them.
  struct QueryRows {
    Index row = 0;
    /// Its place among the block's.
    Index place = 0;
    SmallVector<Value> reference, dot;
    /// With a bias: what has been summed of their powers, or the inverse of all of it.
    SmallVector<Value> sum, factor;
    Operands query, dy;
  };
  QueryRows loadRows(Index batch, Index first, Operands query, Operands dy);
  /// Sets the sums of dy times the result, and the factors.
  void loadDots(QueryRows &rows, Index batch);
  void computeDots(QueryRows &rows, const Tensor &result);
  /// The gradients of the scores of each of `rows` for `step` keys from `start` on, which
  /// are in the tiles.
  SmallVector<SmallVector<Words>>
  getScoreGradients(MutableArrayRef<QueryRows> rows, Index batch, Index start,
                    int64_t step, const Tile &keyTile, const Tile &valueTile,
                    bool onDiagonal, bool checksQuery = false);

  /// What `add` makes of `carried` for one tile of keys after the other up to `end`, for
  /// queries from `first` on.
  using AddTile = llvm::function_ref<SmallVector<Value>(Index, ValueRange, bool)>;
  SmallVector<Value> overKeys(Index first, Index end, int64_t step,
                              SmallVector<Value> carried, AddTile add);

  /// Of a query and the next one, the last ones past the end; factors with a bias.
  struct Pairs {
    std::array<Value, 2> reference, dot, factor;
  };
  Pairs loadPairs(Index batch, Index query);
  /// Where the factors begin, which come after the dots.
  Index factorsAt() { return Index(shape.batch * shape.queries); }

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
  /// Rows of sums times `low` and `high` (of rows g and g + 8) into a tensor, where
  /// they exist. What it computes places from is read at the end of a function: registers
  /// would hold them in its loops.
  void storeRows(ArrayRef<Words> sums, Value low, Value high, const Tensor &tensor,
                 Index row);

  GPUFunctionBuilder &code;
  const AttentionShape &shape;
  OpBuilder &b;
  Location loc;
  Type f32, i32;
  /// Padded.
  int64_t width, valueWidth;
  Index lane, warp, g, t;
  Tensor query, key, value, dy;
  Value mask, bias;
  /// The elements for the head's first query and key.
  Index maskFirst, biasFirst;
  std::optional<DevicePhilox> philox;
  /// A tile's bits of dropout, kKeptBytes a row, for `tileRows` queries and `tileKeys`
  /// keys.
  static constexpr int64_t kKeptBytes = 12;
  Value kept;
  Index keptFirst;
  int64_t sharedBytes = 0;
  /// Whether tiles are copied while others are used.
  bool copies = false;
  int64_t tileRows = 0, tileKeys = 0;
};

} // namespace

Value FlashAttentionEmitter::pack(Value low, Value high) {
  auto wide = VectorType::get({2}, f32);
  Value pair = vector::FromElementsOp::create(b, loc, wide, ValueRange{low, high});
  pair = arith::TruncFOp::create(b, loc, wide.clone(shape.type), pair);
  return LLVM::BitcastOp::create(b, loc, i32, pair);
}

Value FlashAttentionEmitter::loadWord(const Tensor &tensor, Index row, Index column,
                                      int64_t known) {
  if (known >= tensor.columns)
    return code.get32(0);
  const bool isWhole = known + 8 <= tensor.columns;
  Index first = tensor.first + row * tensor.stride;
  if (tensor.access > 1) {
    Index at = isWhole ? column : smaller(column, tensor.columns - 2);
    Value word = LLVM::BitcastOp::create(
        b, loc, i32, code.load(tensor.base, shape.type, first + at, 2));
    return isWhole ? word
                   : choose(code.isLess(column, tensor.columns), word, code.get32(0));
  }
  SmallVector<Value> elements;
  for (int64_t i : {0, 1}) {
    Index at = isWhole ? column + i : smaller(column + i, tensor.columns - 1);
    Value element = code.load(tensor.base, shape.type, first + at);
    if (!isWhole)
      element = choose(code.isLess(column + i, tensor.columns), element,
                       code.constant(element.getType(), 0));
    elements.push_back(element);
  }
  auto pair = VectorType::get({2}, elements[0].getType());
  return LLVM::BitcastOp::create(b, loc, i32,
                                 vector::FromElementsOp::create(b, loc, pair, elements));
}

void FlashAttentionEmitter::storePair(Value low, Value high, const Tensor &tensor,
                                      Index row, Index column, int64_t known) {
  if (known >= tensor.columns)
    return;
  auto memory = VectorType::get({2}, b.getI16Type());
  Value bits = LLVM::BitcastOp::create(b, loc, memory, pack(low, high));
  Index at = tensor.first + row * tensor.stride + column;
  auto ifExists = [&](Index last, GPUFunctionBuilder::Body store) {
    if (known + 8 <= tensor.columns)
      return store();
    code.ifThen(code.isLess(last, tensor.columns), store);
  };
  if (tensor.access > 1)
    return ifExists(column, [&] { code.store(bits, tensor.base, shape.type, at, 2); });
  for (int64_t i : {0, 1})
    ifExists(column + i, [&] {
      code.store(vector::ExtractOp::create(b, loc, bits, i), tensor.base, shape.type,
                 at + i);
    });
}

Words FlashAttentionEmitter::loadA(const Tensor &tensor, Index row, int64_t k) {
  Index last(tensor.limit - 1);
  Index upper = smaller(row + g, last), lower = smaller(row + g + 8, last);
  Words words;
  for (int64_t half : {0, 8})
    for (Index at : {upper, lower})
      words.push_back(loadWord(tensor, at, t * 2 + (k + half), k + half));
  return words;
}

SmallVector<FlashAttentionEmitter::Operands>
FlashAttentionEmitter::loadOperands(const Tensor &tensor, Index first, int64_t parts,
                                    int64_t kept, int64_t shared) {
  const int64_t rows = parts * AttentionShape::kTile;
  Tile tile;
  if (shared > 0) {
    tile.pitch = pitchOf(shared * 16);
    tile.memory = share(rows * tile.pitch * 2);
    Tensor rest = tensor;
    rest.first = rest.first + kept * 16;
    rest.columns = std::min(rest.columns - kept * 16, shared * 16);
    if (copies && rest.access == 8)
      startTile(rest, first, rows, tile);
    else
      loadTile(rest, first, rows, tile);
    tile.first = warp * (kRows * parts * tile.pitch);
  }
  SmallVector<Operands> all;
  for (int64_t part = 0; part < parts; ++part) {
    Operands each{tensor, first + warp * (kRows * parts) + part * kRows, {}, {}, shared};
    for (int64_t k = 0; k < kept; ++k)
      each.kept.push_back(loadA(tensor, each.row, k * 16));
    each.tile = tile.skip(part * kRows);
    all.push_back(std::move(each));
  }
  return all;
}

Words FlashAttentionEmitter::loadB(const Tile &tile, int64_t k, int64_t n,
                                   bool isTransposed) {
  return isTransposed ? loadMatrices(tile, k, n, isTransposed, /*rowsFirst=*/true)
                      : loadMatrices(tile, n, k, isTransposed, /*rowsFirst=*/false);
}

Words FlashAttentionEmitter::loadA(const Tile &tile, int64_t k) {
  return loadMatrices(tile, 0, k, /*isTransposed=*/false, /*rowsFirst=*/true);
}

Words FlashAttentionEmitter::loadMatrices(const Tile &tile, int64_t row, int64_t column,
                                          bool isTransposed, bool rowsFirst) {
  // Thread 8 m + r names row r of matrix m. What does not change in a loop is added
  // first, and numbers last, which are part of the instruction.
  Index second = lane / 8 % 2 * 8, third = lane / 16 * 8;
  Index mine = ((rowsFirst ? second : third) + lane % 8) * tile.pitch +
               (rowsFirst ? third : second);
  Value address = tile.memory;
  for (Index offset : {mine, tile.first, Index(tile.offset + row * tile.pitch + column)})
    address = LLVM::GEPOp::create(b, loc, tile.memory.getType(), b.getI16Type(), address,
                                  ArrayRef<LLVM::GEPArg>{code.get(offset)});
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

Value FlashAttentionEmitter::loadFrame(const Tensor &tensor, Index row, Index column,
                                       int64_t columns) {
  Value exists = code.isLess(row, tensor.limit);
  Index first = tensor.first + smaller(row, tensor.limit - 1) * tensor.stride;
  SmallVector<Value> elements;
  const int64_t access = tensor.access;
  for (int64_t i = 0; i < 8; i += access) {
    Index at = column + i;
    Value isInside = exists;
    if (columns != tensor.columns) {
      isInside = both(exists, code.isLess(at, tensor.columns));
      at = smaller(at, tensor.columns - access);
    }
    Value bits = code.load(tensor.base, shape.type, first + at, access == 1 ? 0 : access);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(bits.getType()));
    bits = choose(isInside, bits, zero);
    if (access == 8)
      return bits;
    if (access == 1)
      elements.push_back(bits);
    else
      for (int64_t j = 0; j < access; ++j)
        elements.push_back(vector::ExtractOp::create(b, loc, bits, j));
  }
  return vector::FromElementsOp::create(b, loc, VectorType::get({8}, b.getI16Type()),
                                        elements);
}

void FlashAttentionEmitter::loadTile(const Tensor &tensor, Index first, int64_t count,
                                     const Tile &tile) {
  const int64_t columns = tile.pitch - 8, frames = columns / 8;
  forEachFrame(count, columns, [&](Index frame) {
    Index row = frame / frames, column = frame % frames * 8;
    Value bits = loadFrame(tensor, first + row, column, columns);
    code.store(bits, tile.memory, shape.type, row * tile.pitch + column + tile.offset, 8);
  });
}

void FlashAttentionEmitter::forEachFrame(int64_t count, int64_t columns,
                                         llvm::function_ref<void(Index)> copy) {
  const int64_t all = count * columns / 8;
  for (int64_t i = 0; i < all; i += kAttentionThreads) {
    Index frame = code.thread() + i;
    if (i + kAttentionThreads <= all)
      copy(frame);
    else
      code.ifThen(code.isLess(frame, all), [&] { copy(frame); });
  }
}

void FlashAttentionEmitter::startTile(const Tensor &tensor, Index first, int64_t count,
                                      const Tile &tile) {
  const int64_t columns = tile.pitch - 8, frames = columns / 8;
  // Loops end at the last row at the latest.
  const bool mayEnd = tensor.limit % count != 0, isPadded = columns != tensor.columns;
  auto advance = [&](Value pointer, Index elements) -> Value {
    return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI16Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{code.get(elements)});
  };
  if (!mayEnd && !isPadded && kAttentionThreads % frames == 0 &&
      count * frames % kAttentionThreads == 0) {
    // A thread copies one column of frames: its places differ by numbers.
    const int64_t rows = kAttentionThreads / frames;
    Index row = code.thread() / frames, column = code.thread() % frames * 8;
    Value from = advance(tensor.base, tensor.first + first * tensor.stride +
                                          (row * tensor.stride + column));
    Value to = advance(advance(tile.memory, row * tile.pitch + column), tile.first);
    for (int64_t i = 0; i < count; i += rows)
      code.startCopy(to, tile.offset + i * tile.pitch, from, i * tensor.stride,
                     shape.type);
    return;
  }
  forEachFrame(count, columns, [&](Index frame) {
    Index row = frame / frames, column = frame % frames * 8, from = first + row;
    Value exists;
    if (mayEnd) {
      exists = code.isLess(from, tensor.limit);
      from = smaller(from, tensor.limit - 1);
    }
    Index at = column;
    if (isPadded) {
      exists = both(exists, code.isLess(column, tensor.columns));
      at = smaller(column, tensor.columns - 8);
    }
    code.startCopy(tile.memory, tile.first + row * tile.pitch + column + tile.offset,
                   tensor.base, tensor.first + from * tensor.stride + at, shape.type,
                   exists);
  });
}

std::pair<Tile, Tile> FlashAttentionEmitter::takeTiles(const Tiles &tiles, Index start,
                                                       Index end,
                                                       llvm::function_ref<void()> draw) {
  const int64_t step = tiles.step;
  Tile xTile = stageOf(tiles.xTile, start, step),
       yTile = stageOf(tiles.yTile, start, step);
  if (!copies) {
    code.barrier();
    loadTile(tiles.x, start, step, xTile);
    loadTile(tiles.y, start, step, yTile);
    draw();
    code.barrier();
    return {xTile, yTile};
  }
  code.waitForCopies();
  if (philox)
    keptFirst = start / step % 2 * (tileRows * kKeptBytes);
  draw();
  // All threads have copied their part, and are done with the tiles before.
  code.barrier();
  code.ifThen(code.isLess(start + step, end), [&] { startTiles(tiles, start + step); });
  return {xTile, yTile};
}

void FlashAttentionEmitter::drawKept(Index batch, Index query, Index key) {
  if (!philox)
    return;
  // Rows of elements begin inside of a block of four words if they are no multiples of
  // it.
  const int64_t bytes = tileKeys / 8 + (shape.keys % 4 != 0);
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); };
  for (int64_t i = 0; i < tileRows * bytes; i += kAttentionThreads) {
    Index at = code.thread() + i;
    auto draw = [&] {
      Index row = at / bytes, byte = at % bytes;
      Value element = arith::MulIOp::create(
          b, loc, extend(batch * shape.queries + query + row), code.get64(shape.keys));
      Value block =
          arith::ShRUIOp::create(b, loc, add(element, extend(key)), code.get64(2));
      block = add(block, extend(byte * 2));
      Value bits = code.get32(0);
      Value threshold = code.get32(mpt::dropoutThreshold(*shape.dropout));
      for (int64_t half : {0, 1}) {
        Value number = half ? add(block, code.get64(1)).getResult() : block;
        for (auto [word, drawn] : llvm::enumerate(philox->block(number))) {
          Value stays =
              arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, drawn, threshold);
          Value bit =
              choose(stays, code.get32(int64_t(1) << (4 * half + word)), code.get32(0));
          bits = arith::OrIOp::create(b, loc, bits, bit);
        }
      }
      Type i8 = b.getI8Type();
      code.store(arith::TruncIOp::create(b, loc, i8, bits), kept, i8,
                 keptFirst + row * kKeptBytes + byte);
    };
    if (i + kAttentionThreads <= tileRows * bytes)
      draw();
    else
      code.ifThen(code.isLess(at, tileRows * bytes), draw);
  }
}

SmallVector<Value> FlashAttentionEmitter::loadKept(Index row, Index batch, Index query) {
  SmallVector<Value> words;
  Index shift = firstKept(batch, query) + t * 2;
  for (int64_t i = 0; i < tileKeys / 32; ++i) {
    auto load = [&](int64_t next) {
      return code.load(kept, i32, keptFirst / 4 + row * (kKeptBytes / 4) + (i + next));
    };
    Type i64 = b.getI64Type();
    Value word = arith::ExtUIOp::create(b, loc, i64, load(0));
    if (shape.keys % 4 != 0) {
      Value next = arith::ExtUIOp::create(b, loc, i64, load(1));
      next = arith::ShLIOp::create(b, loc, next, code.get64(32));
      word = arith::OrIOp::create(b, loc, word, next);
    }
    word = arith::ShRUIOp::create(b, loc, word, extend(shift));
    words.push_back(arith::TruncIOp::create(b, loc, i32, word));
  }
  return words;
}

std::array<Value, 2> FlashAttentionEmitter::loadKeptKeys(Index row, Index batch,
                                                         Index query) {
  Index bit = firstKept(batch, query) + warp * kRows + g;
  Value shift = arith::TruncIOp::create(b, loc, i32, extend(bit % 8));
  std::array<Value, 2> result;
  for (int64_t half : {0, 1}) {
    Value byte =
        code.load(kept, b.getI8Type(), keptFirst + row * kKeptBytes + bit / 8 + half);
    result[half] = testBit(arith::ExtUIOp::create(b, loc, i32, byte), shift);
  }
  return result;
}

std::array<Value, 2> FlashAttentionEmitter::loadBiases(Index query, Index key) {
  ArrayRef<int64_t> strides = shape.biasStrides;
  const bool isPair =
      shape.keys % 2 == 0 && strides[3] == 1 && shape.biasPlace % 2 == 0 &&
      llvm::all_of(strides.drop_back(), [](int64_t stride) { return stride % 2 == 0; });
  if (!isPair)
    return {loadBias(query, key), loadBias(query, key + 1)};
  Index at = biasFirst + smaller(query, shape.queries - 1) * strides[2] +
             smaller(key, shape.keys - 2);
  Value pair = code.loadNumber(bias, shape.biasType, at, 2);
  return {vector::ExtractOp::create(b, loc, pair, int64_t(0)),
          vector::ExtractOp::create(b, loc, pair, int64_t(1))};
}

Value FlashAttentionEmitter::isVisible(Index query, int64_t queryPlus, Index key,
                                       int64_t keyPlus, bool checksQuery,
                                       bool onDiagonal) {
  Value visible;
  if (shape.keys % AttentionShape::kTile != 0)
    visible = code.isLess(key, shape.keys - keyPlus);
  if (checksQuery && shape.queries % AttentionShape::kTile != 0)
    visible = both(visible, code.isLess(query, shape.queries - queryPlus));
  if (onDiagonal)
    visible = both(visible, code.isLess(key - query, shape.keys - shape.queries + 1 +
                                                         queryPlus - keyPlus));
  if (!mask)
    return visible;
  Index at = maskFirst +
             smaller(query + queryPlus, shape.queries - 1) * shape.maskStrides[2] +
             smaller(key + keyPlus, shape.keys - 1) * shape.maskStrides[3];
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

FlashAttentionEmitter::Pairs FlashAttentionEmitter::loadPairs(Index batch, Index query) {
  Pairs pairs;
  // Neighbours are one access where rows have an even number of them.
  const bool isPair = shape.queries % 2 == 0;
  auto load = [&](unsigned number, Index base, std::array<Value, 2> &values) {
    if (isPair) {
      Index at = base + batch * shape.queries + smaller(query, shape.queries - 2);
      Value pair = code.load(code.parameter(number), f32, at, 2);
      for (int64_t i : {0, 1})
        values[i] = vector::ExtractOp::create(b, loc, pair, i);
      return;
    }
    for (int64_t i : {0, 1})
      values[i] =
          code.load(code.parameter(number), f32,
                    base + batch * shape.queries + smaller(query + i, shape.queries - 1));
  };
  load(4, 0, pairs.reference);
  load(5, 0, pairs.dot);
  if (bias)
    load(5, factorsAt(), pairs.factor);
  for (Value &value : pairs.reference)
    value = getSumsReference(value);
  return pairs;
}

void FlashAttentionEmitter::storeRows(ArrayRef<Words> sums, Value low, Value high,
                                      const Tensor &tensor, Index row) {
  Index g = code.lane() / 4, t = code.lane() % 4;
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
        const int64_t column = static_cast<int64_t>(n) * 8;
        storePair(x, y, tensor, at, t * 2 + column, column);
      }
    });
  }
}

void FlashAttentionEmitter::forward() {
  const int64_t widest = std::max(width, valueWidth);
  const int64_t tile = shape.queryTile(), parts = tile / AttentionShape::kTile;
  if (widest <= 64)
    code.wantBlocksAtOnce(parts == 1 && isPlain() ? 4 : 3);
  int64_t tiles = llvm::divideCeil(shape.queries, tile);
  Index block = code.blockX(), batch = block / tiles;
  // Under a causal mask the last rows take longest: they start first.
  Index first = (Index(tiles - 1) - block % tiles) * tile;
  query = makeQueries(0, shape.query, batch, shape.width);
  key = makeKeys(1, shape.key, batch, shape.width);
  value = makeKeys(2, shape.value, batch, shape.valueWidth);
  // Fewer keys at once where sums and operands leave fewer registers, or shared memory
  // has no room for two tiles.
  int64_t step = AttentionShape::kTile;
  setCopies(key, value, step, tile);
  if (!copies || parts == 2)
    setCopies(key, value, step / 2, tile);
  if (copies ? widest > 64 || parts == 2 : widest > 128)
    step /= 2;
  // Two parts' sums and queries leave too few registers.
  const int64_t shared = parts > 1 && width + valueWidth > 112 ? 2 : 0;
  const int64_t kept = width + 2 * valueWidth <= kMostKept ? width / 16 - shared : 0;
  unsigned output = setOptions(3, tile, step);
  setHead(batch);
  Tensor result = makeQueries(output, shape.result, batch, shape.valueWidth);
  auto [keyTiles, valueTiles] = makeTiles(step);
  const Tiles tilesOfKeys = {key, value, keyTiles, valueTiles, step};
  // A warp's rows, 16 of each part.
  auto rowOf = [&](int64_t part) {
    return first + warp * (kRows * parts) + part * kRows;
  };
  const SmallVector<Operands> q = loadOperands(query, first, parts, kept, shared);
  Value none = number(-std::numeric_limits<double>::infinity());
  // Of each part: the largest score so far and the sum of powers, of rows g and g + 8,
  // and the result. A mask or a bias may hide a whole tile, and the difference of two
  // infinities is not a number.
  const bool mayHideRow = mask || bias;
  Value least = mayHideRow ? lowest() : none;
  SmallVector<Value> carried;
  for (int64_t part = 0; part < parts; ++part) {
    carried.append({least, least, number(0), number(0)});
    carried.append(flatten(zeros(valueWidth / 8)));
  }
  const size_t ofPart = carried.size() / parts;
  Index end(shape.keys);
  if (shape.isCausal)
    end = smaller(end, first + (tile + shape.keys - shape.queries));
  startTiles(tilesOfKeys, 0);
  auto addTile = [&](Index start, ValueRange all, bool onDiagonal, const Tile &keyTile,
                     const Tile &valueTile) {
    // Probabilities are packed one part after the other, which takes fewer registers.
    SmallVector<SmallVector<Words>> scores(parts), outputs(parts), packed(parts);
    for (SmallVector<Words> &sums : scores)
      sums = zeros(step / 8);
    for (int64_t k = 0; k < width / 16; ++k) {
      SmallVector<Words> a;
      for (const Operands &each : q)
        a.push_back(get(each, k));
      for (int64_t n = 0; n < step / 8; n += 2) {
        Words words = loadB(keyTile, k * 16, n * 8, /*isTransposed=*/false);
        for (int64_t part = 0; part < parts; ++part)
          multiplyPair(scores[part], n, a[part], words);
      }
    }
    SmallVector<Value> next;
    for (int64_t part = 0; part < parts; ++part) {
      ValueRange values = all.slice(part * ofPart, ofPart);
      Index row = rowOf(part);
      SmallVector<Value> most = {values[0], values[1]};
      for (int64_t n = 0; n < step / 8; ++n)
        for (int64_t half : {0, 1}) {
          Index myQuery = row + g + half * 8, firstKey = start + t * 2 + n * 8;
          finishScores(scores[part][n], half, myQuery, firstKey);
          for (int64_t column : {0, 1}) {
            Value &score = scores[part][n][2 * half + column];
            Value visible = isVisible(row + g, half * 8, start + t * 2, n * 8 + column,
                                      /*checksQuery=*/false, onDiagonal);
            score = choose(visible, score, none);
            most[half] = max(most[half], score);
          }
        }
      // Of a row that powers are taken relative to.
      auto makeReference = [&](Value of) {
        Value reference = getReference(of);
        // Times log2(e) it would be infinite.
        if (mask && !bias)
          reference = choose(
              arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, of, lowest()),
              number(0), reference);
        return reference;
      };
      // What was summed is scaled only where the largest score of one of the warp's rows
      // has grown by so much that powers would be large.
      Value grows;
      for (int64_t half : {0, 1}) {
        most[half] = overQuad(most[half], /*isMax=*/true);
        Value isMuch = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                             sub(most[half], values[half]),
                                             number(kMostGrowth / getPowerFactor()));
        grows = grows ? arith::OrIOp::create(b, loc, grows, isMuch).getResult() : isMuch;
      }
      Value scales = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                           code.ballot(grows), code.get32(0));
      SmallVector<Value> now = code.ifThen(scales, values, [&] {
        SmallVector<Value> scaled = {most[0], most[1]}, shrink(2);
        for (int64_t half : {0, 1}) {
          shrink[half] = power(values[half], makeReference(most[half]));
          scaled.push_back(mul(values[2 + half], shrink[half]));
        }
        for (auto [i, word] : llvm::enumerate(values.drop_front(4)))
          scaled.push_back(mul(word, shrink[i % 4 / 2]));
        return scaled;
      });
      SmallVector<Value> sums = {now[2], now[3]}, reference(2);
      SmallVector<Value> keptWords[2];
      for (int64_t half : {0, 1}) {
        most[half] = now[half];
        reference[half] = makeReference(most[half]);
        if (philox)
          keptWords[half] =
              loadKept(row - first + g + 8 * half, batch, row + g + 8 * half);
      }
      for (auto [n, words] : llvm::enumerate(scores[part]))
        for (int64_t i = 0; i < 4; ++i) {
          words[i] = power(words[i], reference[i / 2]);
          sums[i / 2] = add(sums[i / 2], words[i]);
          if (philox)
            words[i] = choose(isKept(keptWords[i / 2], n, i % 2), words[i], number(0));
        }
      for (int64_t k = 0; k < step / 16; ++k)
        packed[part].push_back(makeA(scores[part], k));
      outputs[part] = unflatten(ValueRange(now).drop_front(4));
      next.append({most[0], most[1], sums[0], sums[1]});
      next.append(ofPart - 4, Value());
    }
    for (int64_t k = 0; k < step / 16; ++k) {
      for (int64_t n = 0; n < valueWidth / 8; n += 2) {
        Words words = loadB(valueTile, k * 16, n * 8, /*isTransposed=*/true);
        for (int64_t part = 0; part < parts; ++part)
          multiplyPair(outputs[part], n, packed[part][k], words);
      }
    }
    for (int64_t part = 0; part < parts; ++part)
      llvm::copy(flatten(outputs[part]), next.begin() + part * ofPart + 4);
    return next;
  };
  auto addKeys = [&](Index start, ValueRange values, bool onDiagonal) {
    auto [keyTile, valueTile] =
        takeTiles(tilesOfKeys, start, end, [&] { drawKept(batch, first, start); });
    auto add = [&, &keyTile = keyTile, &valueTile = valueTile] {
      return addTile(start, values, onDiagonal, keyTile, valueTile);
    };
    return onDiagonal && kept > 0
               ? code.ifThen(isSeen(start, rowOf(parts) - 1), values, add)
               : add();
  };
  carried = overKeys(first, end, step, carried, addKeys);
  for (int64_t part = 0; part < parts; ++part) {
    ValueRange values = ValueRange(carried).slice(part * ofPart, ofPart);
    SmallVector<Value> factors;
    for (int64_t half : {0, 1}) {
      Value sum = overQuad(values[2 + half], /*isMax=*/false);
      Value divisor = sum;
      if (mayHideRow)
        divisor = choose(
            arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, number(0)),
            number(1), sum);
      factors.push_back(arith::DivFOp::create(b, loc, number(keptFactor()), divisor));
      Index at = rowOf(part) + code.lane() / 4 + 8 * half;
      Value stores =
          both(code.isLess(at, shape.queries), code.isEqual(code.lane() % 4, 0));
      Value log = math::LogOp::create(b, loc, sum);
      Value lse = scalesPowers() ? fma(values[half], number(shape.scale), log)
                                 : add(values[half], log);
      code.ifThen(stores, [&] {
        code.store(lse, code.parameter(output + 1), f32, batch * shape.queries + at);
      });
    }
    storeRows(unflatten(values.drop_front(4)), factors[0], factors[1], result,
              rowOf(part));
  }
}

void FlashAttentionEmitter::loadGradientInputs(Index batch) {
  setHead(batch);
  dy = makeQueries(0, shape.dy, batch, shape.valueWidth);
  query = makeQueries(1, shape.query, batch, shape.width);
  key = makeKeys(2, shape.key, batch, shape.width);
  value = makeKeys(3, shape.value, batch, shape.valueWidth);
}

FlashAttentionEmitter::QueryRows
FlashAttentionEmitter::loadRows(Index batch, Index first, Operands query, Operands dy) {
  QueryRows rows;
  rows.row = query.row;
  rows.place = query.row - first;
  for (int64_t half : {0, 1}) {
    Index at =
        batch * shape.queries + smaller(rows.row + g + 8 * half, shape.queries - 1);
    rows.reference.push_back(getSumsReference(code.load(code.parameter(4), f32, at)));
  }
  rows.query = std::move(query);
  rows.dy = std::move(dy);
  return rows;
}

void FlashAttentionEmitter::loadDots(QueryRows &rows, Index batch) {
  for (int64_t half : {0, 1}) {
    Index at =
        batch * shape.queries + smaller(rows.row + g + 8 * half, shape.queries - 1);
    rows.dot.push_back(code.load(code.parameter(5), f32, at));
    if (bias)
      rows.factor.push_back(code.load(code.parameter(5), f32, factorsAt() + at));
  }
}

void FlashAttentionEmitter::computeDots(QueryRows &rows, const Tensor &result) {
  auto wide = VectorType::get({2}, f32);
  auto unpack = [&](Value word) {
    Value pair = LLVM::BitcastOp::create(b, loc, wide.clone(shape.type), word);
    return arith::ExtFOp::create(b, loc, wide, pair);
  };
  SmallVector<Value> sums(2, number(0));
  for (int64_t k = 0; k < valueWidth / 16; ++k) {
    // Shared memory may not have it yet.
    Words x = k < static_cast<int64_t>(rows.dy.kept.size()) ? rows.dy.kept[k]
                                                            : loadA(dy, rows.row, k * 16);
    Words y = loadA(result, rows.row, k * 16);
    // Of rows g and g + 8 in turn.
    for (int64_t i = 0; i < 4; ++i) {
      Value ofDy = unpack(x[i]), ofResult = unpack(y[i]);
      for (int64_t column : {0, 1})
        sums[i % 2] =
            fma(vector::ExtractOp::create(b, loc, ofDy, column),
                vector::ExtractOp::create(b, loc, ofResult, column), sums[i % 2]);
    }
  }
  for (Value sum : sums)
    rows.dot.push_back(overQuad(sum, /*isMax=*/false));
}

SmallVector<SmallVector<Words>> FlashAttentionEmitter::getScoreGradients(
    MutableArrayRef<QueryRows> rows, Index batch, Index start, int64_t step,
    const Tile &keyTile, const Tile &valueTile, bool onDiagonal, bool checksQuery) {
  SmallVector<SmallVector<Words>> all(rows.size(), zeros(step / 8)), allSlopes = all;
  auto multiplyAll = [&](SmallVector<SmallVector<Words>> &sums, ArrayRef<Words> a,
                         const Tile &tile, int64_t k) {
    for (int64_t n = 0; n < step / 8; n += 2) {
      Words words = loadB(tile, k * 16, n * 8, /*isTransposed=*/false);
      for (size_t part = 0; part < rows.size(); ++part)
        multiplyPair(sums[part], n, a[part], words);
    }
  };
  for (int64_t k = 0; k < std::max(width, valueWidth) / 16; ++k) {
    SmallVector<Words> a, ofDy;
    for (const QueryRows &each : rows) {
      if (k < width / 16)
        a.push_back(get(each.query, k));
      if (k < valueWidth / 16)
        ofDy.push_back(get(each.dy, k));
    }
    if (k < width / 16)
      multiplyAll(all, a, keyTile, k);
    if (k < valueWidth / 16)
      multiplyAll(allSlopes, ofDy, valueTile, k);
  }
  for (auto [each, scores, slopes] : llvm::zip_equal(rows, all, allSlopes))
    for (int64_t half : {0, 1}) {
      Index myQuery = each.row + g + half * 8;
      SmallVector<Value> words;
      if (philox)
        words = loadKept(each.place + g + 8 * half, batch, myQuery);
      for (int64_t n = 0; n < step / 8; ++n) {
        Index firstKey = start + t * 2 + n * 8;
        finishScores(scores[n], half, myQuery, firstKey);
        for (int64_t column : {0, 1}) {
          const int64_t i = 2 * half + column;
          Value p = power(scores[n][i], each.reference[half]);
          Value visible = isVisible(each.row + g, half * 8, start + t * 2, n * 8 + column,
                                    checksQuery, onDiagonal);
          p = choose(visible, p, number(0));
          if (!each.sum.empty())
            each.sum[half] = add(each.sum[half], p);
          else if (!each.factor.empty())
            p = mul(p, each.factor[half]);
          Value slope = slopes[n][i];
          if (philox)
            slope = choose(isKept(words, n, column), mul(slope, number(keptFactor())),
                           number(0));
          scores[n][i] = mul(p, sub(slope, each.dot[half]));
        }
      }
    }
  return all;
}

void FlashAttentionEmitter::queryGradient() {
  const int64_t tile = shape.queryTile(), parts = tile / AttentionShape::kTile;
  if (parts > 1)
    code.wantBlocksAtOnce(3);
  // Fewer keys at once where sums and operands leave fewer registers.
  const int64_t step = std::max(width, valueWidth) > 64 || parts > 1 ? 32 : 64;
  const int64_t chunk = parts > 1 ? kRows : step;
  int64_t blocks = llvm::divideCeil(shape.queries, tile);
  Index block = code.blockX(), batch = block / blocks;
  Index first = (Index(blocks - 1) - block % blocks) * tile;
  loadGradientInputs(batch);
  setCopies(key, value, step, tile);
  unsigned output = setOptions(6, tile, step);
  Tensor dquery = makeQueries(output, shape.dquery, batch, shape.width);
  auto [keyTiles, valueTiles] = makeTiles(step);
  const Tiles tiles = {key, value, keyTiles, valueTiles, step};
  // Of two parts registers hold the queries, and a quarter of dy; of the widest heads
  // half of the queries.
  const int64_t kept = 3 * width + valueWidth;
  int64_t keptQuery = width / 16, keptDy = valueWidth / 16, shared = 0;
  if (parts > 1) {
    keptDy = 1;
    shared = valueWidth / 16 - 1;
  } else if (kept >= kMostKept) {
    keptQuery = kept > kMostKept ? width / 32 : keptQuery;
    keptDy = 0;
    shared = std::min(countShared(), valueWidth / 16);
  }
  const SmallVector<Operands> queries = loadOperands(query, first, parts, keptQuery);
  const SmallVector<Operands> dys = loadOperands(dy, first, parts, keptDy, shared);
  startTiles(tiles, 0);
  Tensor result = makeQueries(5, shape.result, batch, shape.valueWidth);
  SmallVector<QueryRows, 2> rows;
  for (int64_t part = 0; part < parts; ++part) {
    QueryRows each = loadRows(batch, first, queries[part], dys[part]);
    computeDots(each, result);
    for (int64_t half : {0, 1}) {
      Index at = each.row + g + 8 * half;
      code.ifThen(both(code.isLess(at, shape.queries), code.isEqual(t, 0)), [&] {
        code.store(each.dot[half], code.parameter(output + 1), f32,
                   batch * shape.queries + at);
      });
    }
    rows.push_back(std::move(each));
  }
  Index end(shape.keys);
  if (shape.isCausal)
    end = smaller(end, first + (tile + shape.keys - shape.queries));
  SmallVector<Value> carried = flatten(zeros(parts * width / 8));
  // Beside a bias of -10^9 the log-sum-exp has lost the logarithm of the sum: so powers
  // are summed again.
  if (bias)
    carried.append(2 * parts, number(0));
  auto addTile = [&](Index start, ValueRange values, bool onDiagonal, Tile keyTile,
                     Tile valueTile) {
    SmallVector<Words> sums = unflatten(values);
    for (int64_t part = 0; bias && part < parts; ++part)
      rows[part].sum.assign(
          {values[sums.size() * 4 + 2 * part], values[sums.size() * 4 + 2 * part + 1]});
    for (int64_t i = 0; i < step; i += chunk) {
      // Registers would hold what both chunks read.
      if (i > 0)
        code.warpBarrier();
      SmallVector<SmallVector<Words>> gradients = getScoreGradients(
          rows, batch, start + i, chunk, keyTile, valueTile, onDiagonal);
      for (int64_t k = 0; k < chunk / 16; ++k) {
        SmallVector<Words> a;
        for (ArrayRef<Words> each : gradients)
          a.push_back(makeA(each, k));
        for (int64_t n = 0; n < width / 8; n += 2) {
          Words words = loadB(keyTile, k * 16, n * 8, /*isTransposed=*/true);
          for (int64_t part = 0; part < parts; ++part)
            multiplyPair(sums, part * width / 8 + n, a[part], words);
        }
      }
      keyTile = keyTile.skip(chunk);
      valueTile = valueTile.skip(chunk);
    }
    SmallVector<Value> next = flatten(sums);
    for (const QueryRows &each : rows)
      llvm::append_range(next, each.sum);
    return next;
  };
  auto addKeys = [&](Index start, ValueRange values, bool onDiagonal) {
    auto [keyTile, valueTile] =
        takeTiles(tiles, start, end, [&] { drawKept(batch, first, start); });
    auto add = [&, &keyTile = keyTile, &valueTile = valueTile] {
      return addTile(start, values, onDiagonal, keyTile, valueTile);
    };
    return onDiagonal && kept <= kMostKept
               ? code.ifThen(isSeen(start, rows.back().row + (kRows - 1)), values, add)
               : add();
  };
  carried = overKeys(first, end, step, carried, addKeys);
  SmallVector<Words> sums = unflatten(carried);
  for (auto [part, each] : llvm::enumerate(rows)) {
    SmallVector<Value> scale(2, number(shape.scale));
    for (int64_t half = 0; bias && half < 2; ++half) {
      Value sum = overQuad(carried[sums.size() * 4 + 2 * part + half], /*isMax=*/false);
      Value isZero =
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, number(0));
      Value factor =
          arith::DivFOp::create(b, loc, number(1), choose(isZero, number(1), sum));
      scale[half] = mul(scale[half], factor);
      Index at = each.row + code.lane() / 4 + 8 * half;
      code.ifThen(both(code.isLess(at, shape.queries), code.isEqual(code.lane() % 4, 0)),
                  [&] {
                    code.store(factor, code.parameter(output + 1), f32,
                               factorsAt() + batch * shape.queries + at);
                  });
    }
    storeRows(ArrayRef<Words>(sums).slice(part * width / 8, width / 8), scale[0],
              scale[1], dquery, each.row);
  }
}

void FlashAttentionEmitter::biasGradient() {
  constexpr int64_t tile = AttentionShape::kTile;
  const int64_t step = shape.biasKeys();
  const bool addsQueries = shape.addsBiasQueries(), addsKeys = shape.addsBiasKeys();
  const int64_t offset = shape.keys - shape.queries;
  Index queryTiles(llvm::divideCeil(shape.queries, tile)),
      keyTiles(llvm::divideCeil(shape.keys, step));
  ArrayRef<int64_t> sizes = shape.biasSizes;
  // Of the bias, tiles that are not added up.
  Index ownQueries = addsQueries ? Index(1) : queryTiles,
        ownKeys = addsKeys ? Index(1) : keyTiles;
  Index block = code.blockX(), ownStart = block % ownKeys * step,
        ownFirst = block / ownKeys % ownQueries * tile,
        matrix = block / (ownKeys * ownQueries);
  unsigned output = setOptions(6, tile, step);
  const std::pair<Tile, Tile> places = makeTiles(step);
  // The entries of the batch and the heads that share one bias.
  auto count = [&](int64_t all, int64_t of) { return Index(of == 1 ? all : 1); };
  Index entries = count(shape.batch / shape.heads, sizes[0]),
        heads = count(shape.heads, sizes[1]);
  // The tiles of each of these that are added, which see each other.
  Index begin(0), end(1);
  if (addsQueries) {
    end = queryTiles;
    if (shape.isCausal)
      begin = larger(ownStart - offset, 0) / tile;
  } else if (addsKeys) {
    end = keyTiles;
    if (shape.isCausal)
      end = smaller(end, (ownFirst + (tile - 1 + offset)) / step + 1);
  } else if (shape.isCausal) {
    Value isHidden = code.isLess(ownFirst + (tile - 1 + offset), ownStart);
    entries = code.select(isHidden, 0, entries);
  }
  auto addTile = [&](Index batch, Index number, ValueRange values) {
    Index first = addsQueries ? number * tile : ownFirst,
          start = addsKeys ? number * step : ownStart;
    takeTiles({key, value, places.first, places.second, step}, start, start,
              [&] { drawKept(batch, first, start); });
    auto load = [&](const Tensor &tensor) {
      return loadOperands(tensor, first, /*parts=*/1, /*kept=*/0).front();
    };
    QueryRows rows = loadRows(batch, first, load(query), load(dy));
    loadDots(rows, batch);
    SmallVector<Words> gradients =
        getScoreGradients(MutableArrayRef<QueryRows>(rows), batch, start, step,
                          places.first, places.second,
                          /*onDiagonal=*/shape.isCausal, /*checksQuery=*/addsQueries)
            .front();
    SmallVector<Value> next;
    for (auto [sum, gradient] : llvm::zip_equal(values, flatten(gradients)))
      next.push_back(add(sum, gradient));
    return next;
  };
  auto addHead = [&](Index batch, ValueRange values) {
    loadGradientInputs(batch);
    if (!addsQueries && !addsKeys)
      return addTile(batch, 0, values);
    return code.loop(begin, end, 1, values, [&](Index number, ValueRange inner) {
      return addTile(batch, number, inner);
    });
  };
  SmallVector<Value> carried = code.loop(
      0, entries, 1, flatten(zeros(step / 8)), [&](Index entry, ValueRange values) {
        if (sizes[0] != 1)
          entry = matrix / sizes[1];
        return code.loop(0, heads, 1, values, [&](Index head, ValueRange inner) {
          if (sizes[1] != 1)
            head = matrix % sizes[1];
          return addHead(entry * shape.heads + head, inner);
        });
      });
  SmallVector<Words> sums = unflatten(carried);
  auto store = [&](Value sum, Value exists, Index at) {
    code.ifThen(exists, [&] {
      code.storeNumber(sum, code.parameter(output), shape.biasType, at);
    });
  };
  if (addsKeys) {
    for (int64_t half : {0, 1}) {
      Value sum = number(0);
      for (const Words &words : sums)
        sum = add(sum, add(words[2 * half], words[2 * half + 1]));
      sum = overQuad(sum, /*isMax=*/false);
      Index query = ownFirst + warp * kRows + g + 8 * half;
      store(sum, both(code.isLess(query, shape.queries), code.isEqual(t, 0)),
            matrix * shape.queries + query);
    }
    return;
  }
  if (addsQueries) {
    // Over a warp's rows, and then over the warps.
    Value shared = code.shared(kAttentionThreads / kWarp * step * 4);
    for (auto [n, words] : llvm::enumerate(sums))
      for (int64_t column : {0, 1}) {
        Value sum = add(words[column], words[2 + column]);
        for (int64_t distance : {4, 8, 16})
          sum = add(sum, code.exchange(sum, distance));
        code.ifThen(code.isEqual(g, 0), [&, n = static_cast<int64_t>(n)] {
          code.store(sum, shared, f32, warp * step + t * 2 + (n * 8 + column));
        });
      }
    code.barrier();
    Index thread = code.thread();
    code.ifThen(code.isLess(thread, step), [&] {
      Value sum = number(0);
      for (int64_t i = 0; i < kAttentionThreads / kWarp; ++i)
        sum = add(sum, code.load(shared, f32, thread + i * step));
      store(sum, code.isLess(ownStart + thread, shape.keys),
            matrix * shape.keys + ownStart + thread);
    });
    return;
  }
  for (auto [n, words] : llvm::enumerate(sums))
    for (int64_t i = 0; i < 4; ++i) {
      Index query = ownFirst + warp * kRows + g + i / 2 * 8,
            key = ownStart + t * 2 + (n * 8 + i % 2);
      store(words[i],
            both(code.isLess(query, shape.queries), code.isLess(key, shape.keys)),
            (matrix * shape.queries + query) * shape.keys + key);
    }
}

void FlashAttentionEmitter::keyGradients(bool ofKey, bool ofValue) {
  const int64_t widest = std::max(width, valueWidth);
  const int64_t tile = shape.keyTile(), parts = tile / AttentionShape::kTile;
  if (widest <= 64 && isPlain())
    code.wantBlocksAtOnce(parts > 1 ? 2 : 3);
  const int64_t summed = ofKey * width + ofValue * valueWidth;
  const bool keeps =
      summed <= 128 || (summed <= AttentionShape::kMostWidth && !(ofKey && ofValue) &&
                        width + ofKey * valueWidth + 2 * summed <= kMostKept);
  const int64_t step = widest > 80 ? 16 : 32;
  const int64_t chunk = parts > 1 ? kRows : step;
  const int64_t tiles = llvm::divideCeil(shape.keys, tile);
  // The first of the heads that share the block's keys.
  Index block = code.blockX(), keyBatch = block / tiles * shape.sharing();
  Index first = block % tiles * tile;
  // A warp's keys, 16 of each part.
  auto rowOf = [&](int64_t part) {
    return first + warp * (kRows * parts) + part * kRows;
  };
  loadGradientInputs(keyBatch);
  setCopies(query, dy, step, step);
  unsigned output = setOptions(6, step, tile);
  const std::pair<Tile, Tile> places = makeTiles(step);
  // Of the head that is added.
  auto getTiles = [&] { return Tiles{query, dy, places.first, places.second, step}; };
  // Two parts' sums and both operands leave too few registers, as the widest heads' do.
  int64_t keptKey = width / 16, keptValue = ofKey ? valueWidth / 16 : 0, shared = 0;
  if (!keeps) {
    keptKey = width / 32;
    keptValue = 0;
    shared = ofKey ? std::min(countShared(), valueWidth / 16) : 0;
  } else if (parts > 1 && width + valueWidth > 112) {
    shared = 2;
    keptValue -= shared;
  }
  const SmallVector<Operands> keys = loadOperands(key, first, parts, keptKey);
  const SmallVector<Operands> values =
      loadOperands(value, first, parts, keptValue, shared);
  Index begin(0), afterDiagonal(0);
  // Queries before `begin` see no key of the block, those from `afterDiagonal` on all.
  if (shape.isCausal) {
    Index offset(shape.keys - shape.queries);
    begin = larger(first - offset, 0) / step * step;
    afterDiagonal =
        smaller((larger(first - offset + (tile - 1), 0) + (step - 1)) / step * step,
                shape.queries);
  }
  // Sums of dkey, one part after the other, and then of dvalue.
  const int64_t keyCount = ofKey ? width / 8 : 0,
                valueCount = ofValue ? valueWidth / 8 : 0;
  SmallVector<Value> carried = flatten(zeros(parts * (keyCount + valueCount)));
  // Of the head that is added.
  Index batch(0);
  auto addChunk = [&](Index start, int64_t i, MutableArrayRef<Words> sums,
                      bool onDiagonal, const Tile &queryTile, const Tile &dyTile) {
    // Transposed: rows are keys, columns queries.
    SmallVector<SmallVector<Words>> all(parts, zeros(chunk / 8)), allSlopes = all;
    // all[part] += a[part] B.
    auto multiplyAll = [&](SmallVectorImpl<SmallVector<Words>> &to,
                           ArrayRef<Operands> rows, const Tile &tile, int64_t k) {
      SmallVector<Words> a;
      for (const Operands &each : rows)
        a.push_back(get(each, k));
      for (int64_t n = 0; n < chunk / 8; n += 2) {
        Words words = loadB(tile, k * 16, n * 8, /*isTransposed=*/false);
        for (int64_t part = 0; part < parts; ++part)
          multiplyPair(to[part], n, a[part], words);
      }
    };
    for (int64_t k = 0; k < widest / 16; ++k) {
      if (k < width / 16)
        multiplyAll(all, keys, queryTile, k);
      if (ofKey && k < valueWidth / 16)
        multiplyAll(allSlopes, values, dyTile, k);
    }
    for (int64_t n = 0; n < chunk / 8; ++n) {
      const Pairs pairs = loadPairs(batch, start + t * 2 + (i + n * 8));
      for (int64_t column : {0, 1}) {
        Index place = t * 2 + (i + n * 8 + column), at = start + place;
        std::array<Value, 2> isKept;
        if (philox)
          isKept = loadKeptKeys(place, batch, at);
        for (int64_t part = 0; part < parts; ++part)
          for (int64_t half : {0, 1}) {
            Value &score = all[part][n][2 * half + column];
            Value &slope = allSlopes[part][n][2 * half + column];
            Index myKey = rowOf(part) + g + 8 * half;
            Value p = power(finishScore(score, bias ? loadBias(at, myKey) : Value()),
                            pairs.reference[column]);
            if (bias)
              p = mul(p, pairs.factor[column]);
            Value visible = isVisible(start + t * 2, i + n * 8 + column, rowOf(part) + g,
                                      8 * half, /*checksQuery=*/true, onDiagonal);
            p = choose(visible, p, number(0));
            score = philox ? choose(isKept[half], p, number(0)) : p;
            if (!ofKey)
              continue;
            if (philox)
              slope = choose(isKept[half], mul(slope, number(keptFactor())), number(0));
            slope = mul(p, sub(slope, pairs.dot[column]));
          }
      }
    }
    // The sums += the transposed chunk times a tile.
    auto addProduct = [&](MutableArrayRef<Words> to, int64_t count,
                          ArrayRef<SmallVector<Words>> from, const Tile &tile) {
      for (int64_t k = 0; k < chunk / 16; ++k) {
        SmallVector<Words> a;
        for (ArrayRef<Words> each : from)
          a.push_back(makeA(each, k));
        for (int64_t n = 0; n < count; n += 2) {
          Words words = loadB(tile, k * 16, n * 8, /*isTransposed=*/true);
          for (int64_t part = 0; part < parts; ++part)
            multiplyPair(to, part * count + n, a[part], words);
        }
      }
    };
    addProduct(sums.drop_front(parts * keyCount), valueCount, all, dyTile);
    addProduct(sums, keyCount, allSlopes, queryTile);
  };
  auto addQueries = [&](Index start, ValueRange values, bool onDiagonal) {
    auto [queryTile, dyTile] = takeTiles(getTiles(), start, shape.queries,
                                         [&] { drawKept(batch, start, first); });
    auto add = [&, queryTile = queryTile, dyTile = dyTile]() mutable {
      SmallVector<Words> sums = unflatten(values);
      for (int64_t i = 0; i < step; i += chunk) {
        if (i > 0)
          code.warpBarrier();
        addChunk(start, i, sums, onDiagonal, queryTile, dyTile);
        queryTile = queryTile.skip(chunk);
        dyTile = dyTile.skip(chunk);
      }
      return flatten(sums);
    };
    return onDiagonal && keeps
               ? code.ifThen(isSeen(rowOf(0), start + (step - 1)), values, add)
               : add();
  };
  auto addHead = [&](Index head, ValueRange values) {
    batch = keyBatch + head;
    loadGradientInputs(batch);
    // The head before is done with both tiles.
    if (copies && shape.sharing() != 1)
      code.barrier();
    startTiles(getTiles(), begin);
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
  SmallVector<Words> sums = unflatten(carried);
  auto store = [&](int64_t from, int64_t count, Value factor, const Tensor &to) {
    for (int64_t part = 0; part < parts; ++part)
      storeRows(ArrayRef<Words>(sums).slice(from + part * count, count), factor, factor,
                to, rowOf(part));
  };
  if (ofKey)
    store(0, keyCount, number(shape.scale),
          makeKeys(output++, shape.dkey, keyBatch, shape.width));
  if (ofValue)
    store(parts * keyCount, valueCount, philox ? number(keptFactor()) : Value(),
          makeKeys(output, shape.dvalue, keyBatch, shape.valueWidth));
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
  FlashAttentionEmitter(code, shape).keyGradients(/*ofKey=*/true, /*ofValue=*/true);
}

void mpt::detail::emitKeyGradient(GPUFunctionBuilder &code, const AttentionShape &shape) {
  FlashAttentionEmitter(code, shape).keyGradients(/*ofKey=*/true, /*ofValue=*/false);
}

void mpt::detail::emitValueGradient(GPUFunctionBuilder &code,
                                    const AttentionShape &shape) {
  FlashAttentionEmitter(code, shape).keyGradients(/*ofKey=*/false, /*ofValue=*/true);
}

void mpt::detail::emitBiasGradient(GPUFunctionBuilder &code,
                                   const AttentionShape &shape) {
  FlashAttentionEmitter(code, shape).biasGradient();
}
