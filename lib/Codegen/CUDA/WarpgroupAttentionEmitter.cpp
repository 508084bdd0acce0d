//===- WarpgroupAttentionEmitter.cpp - Attention by wgmma ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The first warpgroup of a block gives its registers away, and one of its warps copies
/// the queries, and the keys and values tile by tile, two of each ahead. Each of the
/// others multiplies 64 queries with a tile of keys while the probabilities of the tile
/// before are multiplied with its values; softmax runs beside the second matmul.
///
/// Tiles are taken from the last to the first, so that those with keys that not all
/// queries see come first. In shared memory a tile is panels of 64 columns: rows of 128
/// bytes with TMA's swizzle, which the descriptors of matmuls name.
///
/// Of sums of 64 rows thread (warp, g = lane / 4, t = lane % 4) has, from number 4 n on,
/// columns 8 n + 2 t and the next of row 16 warp + g, then of row 16 warp + g + 8;
/// rounded in pairs, those of 16 columns are the operand A of a following matmul (PTX
/// ISA, "Register Fragments for wgmma.mma_async.m64nNk16").
///
//===----------------------------------------------------------------------===//

#include "WarpgroupAttentionEmitter.h"
#include "WarpgroupInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static constexpr double kLog2e = 1.4426950408889634;
/// Queries of a warpgroup.
static constexpr int64_t kRows = 64;
/// Columns of a panel.
static constexpr int64_t kPanel = 64;
/// A block may have 227 KiB of shared memory.
static constexpr int64_t kMostShared = 227 << 10;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

std::optional<TensorMapPlan> mpt::detail::planTensorMap(const RowStrides &strides,
                                                        int64_t width, int64_t rows,
                                                        int64_t heads, int64_t entries,
                                                        int64_t boxRows) {
  if (strides.first % 8 != 0)
    return std::nullopt;
  struct Dim {
    int64_t size, stride;
    int kind;
  };
  SmallVector<Dim> dims = {
      {rows, strides.row, 0}, {heads, strides.head, 1}, {entries, strides.batch, 2}};
  // Where there is one only, its stride says nothing.
  llvm::stable_sort(dims, [](const Dim &a, const Dim &b) {
    if ((a.size == 1) != (b.size == 1))
      return b.size == 1;
    return a.size > 1 && a.stride < b.stride;
  });
  TensorMapPlan plan;
  plan.sizes[0] = width;
  plan.box = {std::min(width, kPanel), 1, 1, 1};
  int64_t before = 2, span = width * 2;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t stride = dim.size == 1 ? llvm::alignTo(span, std::max<int64_t>(before, 16))
                                   : dim.stride * 2;
    if (stride % 16 != 0 || stride < span || (i > 0 && stride % before != 0) ||
        stride >= int64_t(1) << 40 || dim.size > int64_t(1) << 31)
      return std::nullopt;
    plan.sizes[i + 1] = dim.size;
    plan.strides[i] = stride;
    (dim.kind == 0 ? plan.row : dim.kind == 1 ? plan.head : plan.entry) = i + 1;
    before = stride;
    span = stride * dim.size;
  }
  plan.box[plan.row] = boxRows;
  return plan;
}

static int64_t countTileBytes(int64_t rows, int64_t width) { return rows * width * 2; }

std::optional<WarpgroupAttentionPlan>
mpt::detail::planWarpgroupAttention(const AttentionShape &shape) {
  auto isSize = [](int64_t width) { return width == 64 || width == 128; };
  if (!shape.isSupported() || !isSize(shape.width) || !isSize(shape.valueWidth) ||
      shape.hasMask() || shape.hasBias() || shape.dropout || shape.isWide() ||
      !(shape.scale > 0) || (shape.isCausal && shape.keys < shape.queries) ||
      ((shape.result.batch | shape.result.head | shape.result.row | shape.result.first) %
       2) != 0)
    return std::nullopt;
  WarpgroupAttentionPlan plan;
  const int64_t entries = shape.batch / shape.heads;
  auto query = planTensorMap(shape.query, shape.width, shape.queries, shape.heads,
                             entries, plan.queryTile());
  auto key = planTensorMap(shape.key, shape.width, shape.keys, shape.groups, entries,
                           plan.keyTile);
  auto value = planTensorMap(shape.value, shape.valueWidth, shape.keys, shape.groups,
                             entries, plan.keyTile);
  if (!query || !key || !value)
    return std::nullopt;
  plan.query = *query;
  plan.key = *key;
  plan.value = *value;
  plan.blocks = shape.batch * llvm::divideCeil(shape.queries, plan.queryTile());
  plan.threads = kWarpgroup * (1 + plan.consumers);
  // Barriers, and what is left out before the first multiple of 1024 bytes.
  plan.sharedBytes = countTileBytes(plan.queryTile(), shape.width) +
                     plan.stages * (countTileBytes(plan.keyTile, shape.width) +
                                    countTileBytes(plan.keyTile, shape.valueWidth)) +
                     1024 + 1024;
  if (plan.blocks > 0x7fffffff || plan.sharedBytes > kMostShared)
    return std::nullopt;
  return plan;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {

class WarpgroupAttentionEmitter {
public:
  WarpgroupAttentionEmitter(GPUFunctionBuilder &code, const AttentionShape &shape,
                            const WarpgroupAttentionPlan &plan)
      : code(code), shape(shape), plan(plan), gpu(code), b(code.b), loc(code.loc),
        f32(b.getF32Type()) {}

  void emit();

private:
  using Sums = SmallVector<Value>;
  /// Of a thread's two rows: the largest score so far and the sum of powers.
  struct Softmax {
    Value most[2], sum[2], shrink[2];
  };

  void produce();
  void consume();
  /// Copies a tile of `rows` rows from row `first` on.
  void copyTile(unsigned map, const TensorMapPlan &tensor, Index to, Index barrier,
                int64_t rows, Index first, Index head, Index entry);
  /// Starts the scores of the warpgroup's queries and the keys of `stage`.
  Sums startScores(Index stage);
  /// Starts outputs += probabilities times the values of `stage`.
  Sums startOutputs(ArrayRef<Value> probabilities, Index stage, const Sums &outputs);
  /// Hides what queries do not see of keys from `start` on.
  void hide(Sums &scores, Index start, bool ofLastTile);
  /// Makes probabilities, rounded and in pairs, of `scores`, and goes on with `state`.
  SmallVector<Value> addScores(const Sums &scores, Softmax &state, bool mayHide);
  void store(const Sums &outputs, const Softmax &state);

  Value number(double value) { return code.constant(f32, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value max(Value x, Value y) { return arith::MaxNumFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value both(Value x, Value y) {
    return !x ? y : arith::AndIOp::create(b, loc, x, y).getResult();
  }
  Value exp2(Value x) {
    return LLVM::CallIntrinsicOp::create(
               b, loc, f32, b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), x)
        .getResult(0);
  }
  Value overQuad(Value x, bool isMax) {
    for (int64_t distance : {1, 2}) {
      Value other = code.exchange(x, distance);
      x = isMax ? max(x, other) : add(x, other);
    }
    return x;
  }
  Value pack(Value low, Value high) {
    auto wide = VectorType::get({2}, f32);
    Value pair = vector::FromElementsOp::create(b, loc, wide, ValueRange{low, high});
    pair = arith::TruncFOp::create(b, loc, wide.clone(shape.type), pair);
    return LLVM::BitcastOp::create(b, loc, b.getI32Type(), pair);
  }
  Value infinity() { return number(-std::numeric_limits<double>::infinity()); }

  Index stageOf(Index tile) { return tile % plan.stages; }
  Index parityOf(Index tile) { return tile / plan.stages % 2; }
  /// Barriers: of the queries, then, of each stage, whether keys and values are there,
  /// and whether they are not needed any more.
  enum Barrier { Keys, Values, KeysFree, ValuesFree };
  Index barrierOf(Barrier kind, Index stage) {
    return barriers + 8 + (stage * 4 + kind) * 8;
  }
  int64_t keyBytes() const { return countTileBytes(plan.keyTile, shape.width); }
  int64_t valueBytes() const { return countTileBytes(plan.keyTile, shape.valueWidth); }
  Index keysAt(Index stage) { return keys + stage * keyBytes(); }
  Index valuesAt(Index stage) { return values + stage * valueBytes(); }
  /// Tiles are numbered as they are taken.
  Index startOf(Index tile) { return (tiles - 1 - tile) * plan.keyTile; }

  GPUFunctionBuilder &code;
  const AttentionShape &shape;
  const WarpgroupAttentionPlan &plan;
  WarpgroupInstructions gpu;
  OpBuilder &b;
  Location loc;
  Type f32;
  Index queries = 0, keys = 0, values = 0, barriers = 0;
  /// The block's first query, its head, and how many tiles of keys it takes, `masked` of
  /// which are not seen by all of its queries.
  Index first = 0, batch = 0, tiles = 0, masked = 1;
  /// Of a warpgroup's threads: the first of its two rows.
  Index group = 0, lane = 0, warp = 0, myRow = 0;
};

} // namespace

void WarpgroupAttentionEmitter::emit() {
  code.wantBlocksAtOnce(1);
  queries = gpu.shared();
  keys = queries + countTileBytes(plan.queryTile(), shape.width);
  values = keys + plan.stages * keyBytes();
  barriers = values + plan.stages * valueBytes();
  const int64_t blocksOfHead = llvm::divideCeil(shape.queries, plan.queryTile());
  Index block = code.blockX();
  batch = block / blocksOfHead;
  // Under a causal mask the last rows take longest: they start first.
  first = (Index(blocksOfHead - 1) - block % blocksOfHead) * plan.queryTile();
  Index end = shape.keys;
  if (shape.isCausal)
    end = smaller(end, first + (plan.queryTile() + shape.keys - shape.queries));
  // A loop of known length would be unrolled, which takes more registers.
  tiles = gpu.conceal((end + (plan.keyTile - 1)) / plan.keyTile);
  if (shape.isCausal) {
    Index whole = (first + (shape.keys - shape.queries + 1)) / plan.keyTile;
    masked = larger(tiles - smaller(whole, tiles), 1);
  }
  Index thread = code.thread();
  code.ifThen(code.isEqual(thread, 0), [&] {
    gpu.initBarrier(barriers, 1);
    for (int64_t stage = 0; stage < plan.stages; ++stage) {
      gpu.initBarrier(barrierOf(Keys, stage), 1);
      gpu.initBarrier(barrierOf(Values, stage), 1);
      // A thread of each warp says so.
      gpu.initBarrier(barrierOf(KeysFree, stage), plan.consumers * 4);
      gpu.initBarrier(barrierOf(ValuesFree, stage), plan.consumers * 4);
    }
    gpu.fenceBarriers();
    for (unsigned map : {0, 1, 2})
      gpu.prefetchMap(code.map(map));
  });
  code.barrier();
  code.ifThen(code.isLess(thread, kWarpgroup), [&] { produce(); });
  code.ifThen(code.isLess(kWarpgroup - 1, thread), [&] { consume(); });
}

void WarpgroupAttentionEmitter::copyTile(unsigned map, const TensorMapPlan &tensor,
                                         Index to, Index barrier, int64_t rows,
                                         Index firstRow, Index head, Index entry) {
  for (int64_t column = 0; column < tensor.sizes[0]; column += kPanel) {
    std::array<Index, 4> at = {column, 0, 0, 0};
    at[tensor.row] = firstRow;
    at[tensor.head] = head;
    at[tensor.entry] = entry;
    gpu.startCopy(code.map(map), to + column / kPanel * rows * kPanelBytes, barrier, at);
  }
}

void WarpgroupAttentionEmitter::produce() {
  // ptxas reserves as many for each thread of a block of 384 as 168; what is given away
  // here the others take.
  gpu.setRegisters(24, /*grows=*/false);
  Index thread = code.thread();
  Index head = batch % shape.heads, entry = batch / shape.heads,
        group = head / shape.sharing();
  code.ifThen(code.isLess(thread, kWarp), [&] {
    Value isFirst = code.isEqual(code.lane(), 0);
    code.ifThen(isFirst, [&] {
      gpu.arriveWithBytes(barriers, countTileBytes(plan.queryTile(), shape.width));
      copyTile(0, plan.query, queries, barriers, plan.queryTile(), first, head, entry);
    });
    code.loop(0, tiles, 1, {}, [&](Index tile, ValueRange) {
      Index stage = stageOf(tile), start = startOf(tile);
      // At first all places are free: a barrier's phase before its first one has ended.
      Index parity = Index(1) - parityOf(tile);
      gpu.wait(barrierOf(KeysFree, stage), parity);
      code.ifThen(isFirst, [&] {
        gpu.arriveWithBytes(barrierOf(Keys, stage), keyBytes());
        copyTile(1, plan.key, keysAt(stage), barrierOf(Keys, stage), plan.keyTile, start,
                 group, entry);
      });
      gpu.wait(barrierOf(ValuesFree, stage), parity);
      code.ifThen(isFirst, [&] {
        gpu.arriveWithBytes(barrierOf(Values, stage), valueBytes());
        copyTile(2, plan.value, valuesAt(stage), barrierOf(Values, stage), plan.keyTile,
                 start, group, entry);
      });
      return SmallVector<Value>();
    });
  });
}

WarpgroupAttentionEmitter::Sums WarpgroupAttentionEmitter::startScores(Index stage) {
  const int64_t queryPanel = plan.queryTile() * kPanelBytes,
                keyPanel = plan.keyTile * kPanelBytes;
  Value q = gpu.describe({queries + group * (kRows * kPanelBytes), queryPanel},
                         /*isTransposed=*/false);
  Value k = gpu.describe({keysAt(stage), keyPanel}, /*isTransposed=*/false);
  Sums sums;
  for (int64_t column = 0; column < shape.width; column += 16) {
    const int64_t panel = column / kPanel, bytes = column % kPanel * 2;
    Value a = gpu.advance(q, panel * queryPanel + bytes);
    sums = gpu.multiply(shape.type, plan.keyTile, a,
                        gpu.advance(k, panel * keyPanel + bytes),
                        /*isTransposedB=*/false, sums);
  }
  return sums;
}

WarpgroupAttentionEmitter::Sums
WarpgroupAttentionEmitter::startOutputs(ArrayRef<Value> probabilities, Index stage,
                                        const Sums &outputs) {
  Value v = gpu.describe({valuesAt(stage), plan.keyTile * kPanelBytes},
                         /*isTransposed=*/true);
  Sums sums = outputs;
  for (int64_t key = 0; key < plan.keyTile; key += 16)
    sums = gpu.multiply(shape.type, shape.valueWidth, probabilities.slice(key / 4, 4),
                        gpu.advance(v, key * kPanelBytes), /*isTransposedB=*/true, sums);
  return sums;
}

void WarpgroupAttentionEmitter::hide(Sums &scores, Index start, bool ofLastTile) {
  const bool mayEnd = ofLastTile && shape.keys % plan.keyTile != 0;
  if (!mayEnd && !shape.isCausal)
    return;
  Index key = start + lane % 4 * 2;
  Index distance = key - myRow;
  for (auto [i, score] : llvm::enumerate(scores)) {
    const int64_t column = static_cast<int64_t>(i) / 4 * 8 + static_cast<int64_t>(i) % 2;
    const int64_t row = i % 4 / 2 * 8;
    Value visible;
    if (mayEnd)
      visible = code.isLess(key, shape.keys - column);
    if (shape.isCausal)
      visible = both(
          visible, code.isLess(distance, shape.keys - shape.queries + 1 + row - column));
    score = choose(visible, score, infinity());
  }
}

SmallVector<Value> WarpgroupAttentionEmitter::addScores(const Sums &scores,
                                                        Softmax &state, bool mayHide) {
  const double factor = kLog2e * shape.scale;
  Value reference[2];
  for (int half : {0, 1}) {
    Value most = state.most[half];
    for (size_t i = 2 * half; i < scores.size(); i += 4)
      most = max(max(most, scores[i]), scores[i + 1]);
    most = overQuad(most, /*isMax=*/true);
    reference[half] = mul(most, number(-factor));
    // Of a row that sees nothing yet; the difference of two infinities is not a number.
    if (mayHide)
      reference[half] = choose(
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, most, infinity()),
          number(0), reference[half]);
    state.shrink[half] = exp2(fma(state.most[half], number(factor), reference[half]));
    state.sum[half] = mul(state.sum[half], state.shrink[half]);
    state.most[half] = most;
  }
  Sums powers;
  for (auto [i, score] : llvm::enumerate(scores)) {
    const size_t half = i % 4 / 2;
    powers.push_back(exp2(fma(score, number(factor), reference[half])));
    state.sum[half] = add(state.sum[half], powers.back());
  }
  SmallVector<Value> packed;
  for (size_t i = 0; i < powers.size(); i += 2)
    packed.push_back(pack(powers[i], powers[i + 1]));
  return packed;
}

void WarpgroupAttentionEmitter::consume() {
  gpu.setRegisters(240, /*grows=*/true);
  Index thread = code.thread();
  group = thread / kWarpgroup - 1;
  lane = code.lane();
  warp = thread / kWarp % 4;
  myRow = first + group * kRows + warp * 16 + lane / 4;
  Value saysSo = code.isEqual(lane, 0);
  auto release = [&](Barrier kind, Index stage) {
    code.ifThen(saysSo, [&] { gpu.arrive(barrierOf(kind, stage)); });
  };
  gpu.wait(barriers, 0);
  gpu.wait(barrierOf(Keys, 0), 0);
  gpu.fence();
  Sums scores = startScores(0);
  gpu.commit();
  gpu.waitForGroups(0);
  scores = gpu.take(scores);
  release(KeysFree, 0);
  Softmax state;
  for (int half : {0, 1}) {
    state.most[half] = infinity();
    state.sum[half] = number(0);
  }
  hide(scores, startOf(0), /*ofLastTile=*/true);
  SmallVector<Value> probabilities = addScores(scores, state, /*mayHide=*/true);
  Sums outputs(shape.valueWidth / 2, number(0));

  SmallVector<Value> carried;
  auto carry = [&] {
    carried = {state.most[0], state.most[1], state.sum[0], state.sum[1]};
    llvm::append_range(carried, outputs);
    llvm::append_range(carried, probabilities);
  };
  auto takeCarried = [&](ValueRange all) {
    for (int half : {0, 1}) {
      state.most[half] = all[half];
      state.sum[half] = all[2 + half];
    }
    outputs.assign(all.begin() + 4, all.begin() + 4 + outputs.size());
    probabilities.assign(all.begin() + 4 + outputs.size(), all.end());
  };
  auto addTiles = [&](Index from, Index to, bool isMasked) {
    carry();
    carried = code.loop(from, to, 1, carried, [&](Index tile, ValueRange all) {
      takeCarried(all);
      Index stage = stageOf(tile), before = stageOf(tile - 1);
      gpu.wait(barrierOf(Keys, stage), parityOf(tile));
      gpu.fence();
      Sums started = startScores(stage);
      gpu.commit();
      gpu.wait(barrierOf(Values, before), parityOf(tile - 1));
      gpu.fence();
      outputs = startOutputs(probabilities, before, outputs);
      gpu.commit();
      gpu.waitForGroups(1);
      Sums scores = gpu.take(started);
      release(KeysFree, stage);
      if (isMasked)
        hide(scores, startOf(tile), /*ofLastTile=*/false);
      probabilities = addScores(scores, state, isMasked);
      gpu.waitForGroups(0);
      outputs = gpu.take(outputs);
      release(ValuesFree, before);
      for (auto [i, output] : llvm::enumerate(outputs))
        output = mul(output, state.shrink[i % 4 / 2]);
      carry();
      return carried;
    });
    takeCarried(carried);
  };
  if (shape.isCausal)
    addTiles(1, masked, /*isMasked=*/true);
  addTiles(masked, tiles, /*isMasked=*/false);

  Index last = tiles - 1;
  gpu.wait(barrierOf(Values, stageOf(last)), parityOf(last));
  gpu.fence();
  outputs = startOutputs(probabilities, stageOf(last), outputs);
  gpu.commit();
  gpu.waitForGroups(0);
  store(gpu.take(outputs), state);
}

void WarpgroupAttentionEmitter::store(const Sums &outputs, const Softmax &state) {
  Index head = batch % shape.heads, entry = batch / shape.heads;
  Index place = entry * shape.result.batch + head * shape.result.head;
  Index column = lane % 4 * 2;
  auto memory = VectorType::get({2}, b.getI16Type());
  for (int half : {0, 1}) {
    Index row = myRow + 8 * half;
    Value exists = code.isLess(row, shape.queries);
    Value sum = overQuad(state.sum[half], /*isMax=*/false);
    Value factor = arith::DivFOp::create(b, loc, number(1), sum);
    Value lse =
        fma(state.most[half], number(shape.scale), math::LogOp::create(b, loc, sum));
    code.ifThen(both(exists, code.isEqual(lane % 4, 0)), [&] {
      code.store(lse, code.parameter(4), f32, batch * shape.queries + row);
    });
    code.ifThen(exists, [&] {
      Index at = place + row * shape.result.row + column;
      for (size_t i = 2 * half; i < outputs.size(); i += 4) {
        Value bits = LLVM::BitcastOp::create(
            b, loc, memory, pack(mul(outputs[i], factor), mul(outputs[i + 1], factor)));
        code.store(bits, code.parameter(3), shape.type,
                   at + static_cast<int64_t>(i) / 4 * 8, 2);
      }
    });
  }
}

void mpt::detail::emitWarpgroupAttention(GPUFunctionBuilder &code,
                                         const AttentionShape &shape,
                                         const WarpgroupAttentionPlan &plan) {
  WarpgroupAttentionEmitter(code, shape, plan).emit();
}
