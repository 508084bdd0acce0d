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
/// queries see come first.
///
//===----------------------------------------------------------------------===//

#include "WarpgroupKernel.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

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
  if (shape.width + shape.valueWidth <= 128) {
    plan.blocksAtOnce = 2;
    plan.keyTile = 64;
    plan.stages = 4;
  }
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
  plan.threads = kWarpgroup * (plan.consumers + (plan.blocksAtOnce == 1));
  // Barriers, and what is left out before the first multiple of 1024 bytes.
  plan.sharedBytes = countTileBytes(plan.queryTile(), shape.width) +
                     plan.stages * (countTileBytes(plan.keyTile, shape.width) +
                                    countTileBytes(plan.keyTile, shape.valueWidth)) +
                     1024 + 1024;
  if (plan.blocks > 0x7fffffff || plan.sharedBytes > kMostBlockBytes)
    return std::nullopt;
  return plan;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {

class WarpgroupAttentionEmitter : WarpgroupKernel {
public:
  WarpgroupAttentionEmitter(GPUFunctionBuilder &code, const AttentionShape &shape,
                            const WarpgroupAttentionPlan &plan)
      : WarpgroupKernel(code, shape), plan(plan) {}

  void emit();

private:
  /// Of a thread's two rows: the largest score so far and the sum of powers.
  struct Softmax {
    Value most[2], sum[2], shrink[2];
  };

  /// Whether no warp does nothing but copy.
  bool copiesAhead() const { return plan.blocksAtOnce > 1; }
  /// Copies the block's queries, or a tile of keys and values when its place is free. One
  /// warp waits, and its first thread copies.
  void copyQueries();
  void copyKeys(Index tile, bool waits = true);
  /// If so, the first warp copies the tile that is needed after `tile` and
  /// the next one, into the place of the one before the last.
  void copyAhead(Index tile);
  void consume(Index group);
  /// Hides what queries do not see of keys from `start` on.
  void hide(Sums &scores, Index start, bool ofLastTile);
  /// Makes probabilities, rounded and in pairs, of `scores`, and goes on with `state`.
  SmallVector<Value> addScores(const Sums &scores, Softmax &state, bool mayHide);
  void store(const Sums &outputs, const Softmax &state);

  /// Tiles are numbered as they are taken.
  Index startOf(Index tile) { return (tiles - 1 - tile) * plan.keyTile; }

  /// Tiles that are on their way where the first warp copies.
  static constexpr int64_t kAhead = 2;
  const WarpgroupAttentionPlan &plan;
  Index queries = 0;
  /// The block's first query, its head, and how many tiles of keys it takes, `masked` of
  /// which are not seen by all of its queries.
  Index first = 0, batch = 0, tiles = 0, masked = 1;
  /// Of a warpgroup's threads: the first of its two rows.
  Index myRow = 0;
};

} // namespace

void WarpgroupAttentionEmitter::emit() {
  code.wantBlocksAtOnce(static_cast<int32_t>(plan.blocksAtOnce));
  queries = gpu.shared();
  setTiles({1, &plan.key, shape.width}, {2, &plan.value, shape.valueWidth}, plan.keyTile,
           plan.stages, queries + countTileBytes(plan.queryTile(), shape.width));
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
  initBarriers(/*readsOnce=*/true, /*freesBoth=*/copiesAhead(), /*arrivals=*/1,
               plan.consumers, /*maps=*/3);
  code.barrier();
  if (copiesAhead()) {
    consume(thread / kWarpgroup);
    return;
  }
  code.ifThen(code.isLess(thread, kWarpgroup), [&] {
    // ptxas reserves as many for each thread of a block of 384 as 168; what is given away
    // here the others take.
    gpu.setRegisters(24, /*grows=*/false);
    code.ifThen(code.isLess(thread, kWarp), [&] {
      copyQueries();
      code.loop(0, tiles, 1, {}, [&](Index tile, ValueRange) {
        copyKeys(tile);
        return SmallVector<Value>();
      });
    });
  });
  code.ifThen(code.isLess(kWarpgroup - 1, thread), [&] {
    gpu.setRegisters(240, /*grows=*/true);
    consume(thread / kWarpgroup - 1);
  });
}

void WarpgroupAttentionEmitter::copyQueries() {
  code.ifThen(code.isEqual(code.lane(), 0), [&] {
    gpu.arriveWithBytes(barriers, countTileBytes(plan.queryTile(), shape.width));
    copyTile({0, &plan.query, shape.width}, queries, barriers, plan.queryTile(), first,
             batch % shape.heads, batch / shape.heads);
  });
}

void WarpgroupAttentionEmitter::copyKeys(Index tile, bool waits) {
  Index stage = stageOf(tile), group = batch % shape.heads / shape.sharing();
  Value isFirst = code.isEqual(code.lane(), 0);
  if (waits && copiesAhead())
    waitUntilFree(BothFree, tile);
  auto copy = [&](const TileTensor &tensor, Barrier kind, Barrier free, Index to) {
    if (!copiesAhead())
      waitUntilFree(free, tile);
    code.ifThen(isFirst, [&] {
      Index barrier = barrierOf(kind, stage);
      gpu.arriveWithBytes(barrier, tileBytes(tensor.width));
      copyTile(tensor, to, barrier, plan.keyTile, startOf(tile), group,
               batch / shape.heads);
    });
  };
  copy(x, First, FirstFree, firstAt(stage));
  copy(y, Second, SecondFree, secondAt(stage));
}

void WarpgroupAttentionEmitter::copyAhead(Index tile) {
  if (!copiesAhead())
    return;
  Value copies =
      both(code.isLess(code.thread(), kWarp), code.isLess(tile + kAhead, tiles));
  code.ifThen(copies, [&] { copyKeys(tile + kAhead); });
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
  return packAll(powers);
}

void WarpgroupAttentionEmitter::consume(Index group) {
  Index thread = code.thread();
  lane = code.lane();
  myRow = first + group * kWarpgroupRows + thread / kWarp % 4 * 16 + lane / 4;
  Rows mine;
  mine.matrix = PanelMatrix{queries + group * (kWarpgroupRows * kPanelBytes),
                            plan.queryTile() * kPanelBytes};
  auto start = [&](Index tile) {
    waitFor(First, tile);
    gpu.fence();
    Sums started = startScores(mine, firstAt(stageOf(tile)), shape.width);
    gpu.commit();
    return started;
  };
  auto startProducts = [&](ArrayRef<Value> probabilities, Index tile,
                           const Sums &outputs) {
    waitFor(Second, tile);
    gpu.fence();
    Sums started =
        startSums(probabilities, secondAt(stageOf(tile)), shape.valueWidth, outputs);
    gpu.commit();
    return started;
  };
  if (copiesAhead())
    code.ifThen(code.isLess(thread, kWarp), [&] {
      copyQueries();
      // Into places that nothing has used.
      code.loop(0, smaller(tiles, kAhead + 1), 1, {}, [&](Index tile, ValueRange) {
        copyKeys(tile, /*waits=*/false);
        return SmallVector<Value>();
      });
    });
  gpu.wait(barriers, 0);
  Sums scores = start(0);
  gpu.waitForGroups(0);
  scores = gpu.take(scores);
  if (!copiesAhead())
    release(FirstFree, 0);
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
      copyAhead(tile);
      Sums started = start(tile);
      outputs = startProducts(probabilities, tile - 1, outputs);
      gpu.waitForGroups(1);
      Sums scores = gpu.take(started);
      if (!copiesAhead())
        release(FirstFree, tile);
      if (isMasked)
        hide(scores, startOf(tile), /*ofLastTile=*/false);
      probabilities = addScores(scores, state, isMasked);
      gpu.waitForGroups(0);
      outputs = gpu.take(outputs);
      release(copiesAhead() ? BothFree : SecondFree, tile - 1);
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

  outputs = startProducts(probabilities, tiles - 1, outputs);
  gpu.waitForGroups(0);
  store(gpu.take(outputs), state);
}

void WarpgroupAttentionEmitter::store(const Sums &outputs, const Softmax &state) {
  SmallVector<Value> factors;
  for (int half : {0, 1}) {
    Index row = myRow + 8 * half;
    Value sum = overQuad(state.sum[half], /*isMax=*/false);
    factors.push_back(arith::DivFOp::create(b, loc, number(1), sum));
    Value lse =
        fma(state.most[half], number(shape.scale), math::LogOp::create(b, loc, sum));
    Value stores = both(code.isLess(row, shape.queries), code.isEqual(lane % 4, 0));
    code.ifThen(stores, [&] {
      code.store(lse, code.parameter(4), f32, batch * shape.queries + row);
    });
  }
  storeRows(outputs, factors, 3, shape.result,
            placeOf(shape.result, batch / shape.heads, batch % shape.heads), myRow,
            shape.queries);
}

void mpt::detail::emitWarpgroupAttention(GPUFunctionBuilder &code,
                                         const AttentionShape &shape,
                                         const WarpgroupAttentionPlan &plan) {
  WarpgroupAttentionEmitter(code, shape, plan).emit();
}
