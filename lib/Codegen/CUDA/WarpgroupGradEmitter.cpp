//===- WarpgroupGradEmitter.cpp - Attention's gradients by wgmma -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// With p the probabilities, which are computed again from the log-sum-exp, and s the
/// gradients of scores, p (dy v - dy result), the query's gradient is s k, those of key
/// and value are s^T q and p^T dy. A warpgroup keeps the sums of 64 queries, or keys,
/// while it goes over tiles of the others: scores and dy v (or their transposes) come out
/// of matmuls with queries (keys) as rows, so that p and s, rounded, are the left
/// operands of the next ones where they are, in registers. FlashAttention-3 adds up the
/// query's gradient in the same pass as the others', atomically, or block after block;
/// here it has a pass of its own, which computes scores and dy v again.
///
/// A tile's second matmul runs while p is computed from the result of its first one, and
/// the sums of the value's gradient are added to while s is.
///
//===----------------------------------------------------------------------===//

#include "WarpgroupKernel.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static bool isPair(const RowStrides &at) {
  return (at.batch | at.head | at.row | at.first) % 2 == 0;
}

/// What blocks of `plan.rows()` rows of `rows` take, with maps of `x` and `y`.
static std::optional<WarpgroupGradPlan> finish(WarpgroupGradPlan plan, int64_t matrices,
                                               int64_t rows, int64_t ownBytes,
                                               int64_t width, int64_t valueWidth) {
  plan.blocks = matrices * llvm::divideCeil(rows, plan.rows());
  plan.threads = kWarpgroup * (1 + plan.consumers);
  // Barriers, and what is left out before the first multiple of 1024 bytes.
  plan.sharedBytes = ownBytes +
                     plan.stages * countTileBytes(plan.tile, width + valueWidth) + 1024 +
                     1024;
  if (plan.blocks > 0x7fffffff || plan.sharedBytes > kMostBlockBytes)
    return std::nullopt;
  return plan;
}

std::optional<WarpgroupGradPlan>
mpt::detail::planWarpgroupQueryGradient(const AttentionShape &shape) {
  // Words of two elements of the query, dy and the result are read by threads.
  if (!planWarpgroupAttention(shape) || !isPair(shape.query) || !isPair(shape.dy) ||
      !isPair(shape.dquery))
    return std::nullopt;
  WarpgroupGradPlan plan;
  const int64_t entries = shape.batch / shape.heads;
  auto key =
      planTensorMap(shape.key, shape.width, shape.keys, shape.groups, entries, plan.tile);
  auto value = planTensorMap(shape.value, shape.valueWidth, shape.keys, shape.groups,
                             entries, plan.tile);
  if (!key || !value)
    return std::nullopt;
  plan.x = *key;
  plan.y = *value;
  return finish(plan, shape.batch, shape.queries, /*ownBytes=*/0, shape.width,
                shape.valueWidth);
}

std::optional<WarpgroupGradPlan>
mpt::detail::planWarpgroupKeyGradients(const AttentionShape &shape) {
  if (!planWarpgroupAttention(shape) || !isPair(shape.dkey) || !isPair(shape.dvalue))
    return std::nullopt;
  WarpgroupGradPlan plan;
  const int64_t entries = shape.batch / shape.heads;
  auto query = planTensorMap(shape.query, shape.width, shape.queries, shape.heads,
                             entries, plan.tile);
  auto dy = planTensorMap(shape.dy, shape.valueWidth, shape.queries, shape.heads, entries,
                          plan.tile);
  if (!query || !dy)
    return std::nullopt;
  plan.x = *query;
  plan.y = *dy;
  int64_t ownBytes = 0;
  if (shape.width + shape.valueWidth > 128) {
    auto key = planTensorMap(shape.key, shape.width, shape.keys, shape.groups, entries,
                             plan.tile);
    auto value = planTensorMap(shape.value, shape.valueWidth, shape.keys, shape.groups,
                               entries, plan.tile);
    if (!key || !value)
      return std::nullopt;
    plan.own = {*key, *value};
    ownBytes = countTileBytes(plan.rows(), shape.width + shape.valueWidth);
  }
  return finish(plan, shape.batch / shape.sharing(), shape.keys, ownBytes, shape.width,
                shape.valueWidth);
}

//===----------------------------------------------------------------------===//
// The kernels
//===----------------------------------------------------------------------===//

namespace {

class WarpgroupGradEmitter : WarpgroupKernel {
public:
  WarpgroupGradEmitter(GPUFunctionBuilder &code, const AttentionShape &shape,
                       const WarpgroupGradPlan &plan)
      : WarpgroupKernel(code, shape), plan(plan), offset(shape.keys - shape.queries) {}

  void queryGradient();
  void keyGradients();

private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  double factor() const { return kLog2e * shape.scale; }
  /// e^(score - log-sum-exp), for `reference` of the latter.
  Value power(Value score, Value reference) {
    return exp2(fma(score, number(factor()), reference));
  }
  /// Row and column of number `i` of sums, from the thread's first row and column on.
  static int64_t rowOf(size_t i) { return i % 4 / 2 * 8; }
  static int64_t columnOf(size_t i) {
    return static_cast<int64_t>(i) / 4 * 8 + static_cast<int64_t>(i) % 2;
  }
  /// Runs `produce` in one warp and `consume` in the warpgroups that compute.
  void split(GPUFunctionBuilder::Body produce, GPUFunctionBuilder::Body consume);

  const WarpgroupGradPlan &plan;
  /// A query sees the keys up to its number plus this.
  const int64_t offset;
  /// Of a warpgroup's threads: its number, its first row, and this thread's.
  Index group = 0, groupRow = 0, myRow = 0;
};

} // namespace

void WarpgroupGradEmitter::split(GPUFunctionBuilder::Body produce,
                                 GPUFunctionBuilder::Body consume) {
  Index thread = code.thread();
  code.barrier();
  code.ifThen(code.isLess(thread, kWarpgroup), [&] {
    // As forward: what is given away the others take.
    gpu.setRegisters(24, /*grows=*/false);
    code.ifThen(code.isLess(thread, kWarp), produce);
  });
  code.ifThen(code.isLess(kWarpgroup - 1, thread), [&] {
    gpu.setRegisters(240, /*grows=*/true);
    consume();
  });
}

void WarpgroupGradEmitter::queryGradient() {
  code.wantBlocksAtOnce(1);
  setTiles({0, &plan.x, shape.width}, {1, &plan.y, shape.valueWidth}, plan.tile,
           plan.stages, gpu.shared());
  const int64_t blocksOfHead = llvm::divideCeil(shape.queries, plan.rows());
  Index block = code.blockX(), batch = block / blocksOfHead;
  Index head = batch % shape.heads, entry = batch / shape.heads;
  // Under a causal mask the last rows take longest: they start first.
  Index first = (Index(blocksOfHead - 1) - block % blocksOfHead) * plan.rows();
  Index end = shape.keys;
  if (shape.isCausal)
    end = smaller(end, first + (plan.rows() + offset));
  Index tiles = gpu.conceal((end + (plan.tile - 1)) / plan.tile);
  // The last keys come first, which not all queries see.
  auto startOf = [&](Index tile) { return (tiles - 1 - tile) * plan.tile; };
  initBarriers(/*readsOnce=*/false, /*freesBoth=*/true, /*arrivals=*/1, plan.consumers,
               plan.numMaps());

  auto produce = [&] {
    Value isFirst = code.isEqual(code.lane(), 0);
    code.loop(0, tiles, 1, {}, [&](Index tile, ValueRange) {
      waitUntilFree(BothFree, tile);
      auto copy = [&](const TileTensor &tensor, Barrier kind, Index to) {
        code.ifThen(isFirst, [&] {
          Index barrier = barrierOf(kind, stageOf(tile));
          gpu.arriveWithBytes(barrier, tileBytes(tensor.width));
          copyTile(tensor, to, barrier, plan.tile, startOf(tile), head / shape.sharing(),
                   entry);
        });
      };
      copy(x, First, firstAt(stageOf(tile)));
      copy(y, Second, secondAt(stageOf(tile)));
      return SmallVector<Value>();
    });
  };

  auto consume = [&] {
    Index thread = code.thread();
    lane = code.lane();
    groupRow = first + (thread / kWarpgroup - 1) * kWarpgroupRows;
    myRow = groupRow + thread / kWarp % 4 * 16 + lane / 4;
    Rows queries, dys;
    queries.words = loadRows(1, shape.query, placeOf(shape.query, entry, head), myRow,
                             shape.queries, shape.width);
    dys.words = loadRows(0, shape.dy, placeOf(shape.dy, entry, head), myRow,
                         shape.queries, shape.valueWidth);
    SmallVector<Value> results =
        loadRows(5, shape.result, placeOf(shape.result, entry, head), myRow,
                 shape.queries, shape.valueWidth);
    Value reference[2], dots[2];
    auto wide = VectorType::get({2}, f32);
    auto unpack = [&](Value word) {
      Value pair = LLVM::BitcastOp::create(b, loc, wide.clone(shape.type), word);
      return arith::ExtFOp::create(b, loc, wide, pair);
    };
    for (int64_t half : {0, 1}) {
      Index row = myRow + 8 * half;
      Index at = batch * shape.queries + smaller(row, shape.queries - 1);
      reference[half] = mul(code.load(code.parameter(4), f32, at), number(-kLog2e));
      Value sum = number(0);
      for (size_t i = half; i < results.size(); i += 2) {
        Value ofDy = unpack(dys.words[i]), ofResult = unpack(results[i]);
        for (int64_t column : {0, 1})
          sum = fma(vector::ExtractOp::create(b, loc, ofDy, column),
                    vector::ExtractOp::create(b, loc, ofResult, column), sum);
      }
      dots[half] = overQuad(sum, /*isMax=*/false);
      Value stores = both(code.isLess(row, shape.queries), code.isEqual(lane % 4, 0));
      code.ifThen(stores, [&] {
        code.store(dots[half], code.parameter(7), f32, batch * shape.queries + row);
      });
    }

    auto addTile = [&](Index tile, ValueRange values, bool isMasked) {
      Index keys = firstAt(stageOf(tile));
      gpu.fence();
      Sums scores = startScores(queries, keys, shape.width);
      gpu.commit();
      gpu.fence();
      Sums slopes = startScores(dys, secondAt(stageOf(tile)), shape.valueWidth);
      gpu.commit();
      gpu.waitForGroups(1);
      scores = gpu.take(scores);
      Index key = startOf(tile) + lane % 4 * 2, distance = key - myRow;
      for (auto [i, score] : llvm::enumerate(scores)) {
        Value p = power(score, reference[i % 4 / 2]), visible;
        if (isMasked && shape.keys % plan.tile != 0)
          visible = code.isLess(key, shape.keys - columnOf(i));
        if (isMasked && shape.isCausal)
          visible =
              both(visible, code.isLess(distance, offset + 1 + rowOf(i) - columnOf(i)));
        score = choose(visible, p, number(0));
      }
      gpu.waitForGroups(0);
      slopes = gpu.take(slopes);
      for (auto [i, slope] : llvm::enumerate(slopes))
        slope = mul(scores[i], sub(slope, dots[i % 4 / 2]));
      gpu.fence();
      Sums sums = startSums(packAll(slopes), keys, shape.width, Sums(values));
      gpu.commit();
      gpu.waitForGroups(0);
      return SmallVector<Value>(gpu.take(sums));
    };
    SmallVector<Value> sums(shape.width / 2, number(0));
    auto overTiles = [&](Index from, Index to, bool isMasked) {
      sums = code.loop(from, to, 1, sums, [&](Index tile, ValueRange values) {
        waitFor(First, tile);
        waitFor(Second, tile);
        auto add = [&] { return addTile(tile, values, isMasked); };
        SmallVector<Value> next =
            isMasked && shape.isCausal
                ? code.ifThen(
                      code.isLess(startOf(tile), groupRow + (kWarpgroupRows + offset)),
                      values, add)
                : add();
        release(BothFree, tile);
        return next;
      });
    };
    // Those that not all of the warpgroup's queries see, or that end early.
    Index masked = shape.keys % plan.tile != 0 ? 1 : 0;
    if (shape.isCausal) {
      Index whole = (groupRow + (offset + 1)) / plan.tile;
      masked = larger(tiles - smaller(whole, tiles), masked);
    }
    if (!masked.isConstant() || masked.number > 0)
      overTiles(0, masked, /*isMasked=*/true);
    overTiles(masked, tiles, /*isMasked=*/false);
    Value scale = number(shape.scale);
    storeRows(sums, {scale, scale}, 6, shape.dquery, placeOf(shape.dquery, entry, head),
              myRow, shape.queries);
  };
  split(produce, consume);
}

void WarpgroupGradEmitter::keyGradients() {
  code.wantBlocksAtOnce(1);
  const int64_t keyPanels = countTileBytes(kWarpgroupRows, shape.width),
                valuePanels = countTileBytes(kWarpgroupRows, shape.valueWidth);
  Index ownKeys = gpu.shared(), ownValues = ownKeys, memory = ownKeys;
  if (plan.own) {
    ownValues = ownKeys + plan.consumers * keyPanels;
    memory = ownValues + plan.consumers * valuePanels;
  }
  setTiles({0, &plan.x, shape.width}, {1, &plan.y, shape.valueWidth}, plan.tile,
           plan.stages, memory);
  // Of each stage's queries: what powers are taken relative to, and dots.
  Value references = code.shared(plan.stages * plan.tile * 4),
        dots = code.shared(plan.stages * plan.tile * 4);
  const int64_t blocksOfHead = llvm::divideCeil(shape.keys, plan.rows());
  // Under a causal mask the first keys take longest.
  Index block = code.blockX(), keyBatch = block / blocksOfHead,
        first = block % blocksOfHead * plan.rows();
  Index entry = keyBatch / shape.groups, keyHead = keyBatch % shape.groups;
  // Tiles before `begin` see no key of the block.
  Index begin = 0;
  if (shape.isCausal)
    begin = larger(first - offset, 0) / plan.tile;
  Index tiles = gpu.conceal(Index(llvm::divideCeil(shape.queries, plan.tile)) - begin);
  initBarriers(/*readsOnce=*/plan.own.has_value(), /*freesBoth=*/true,
               /*arrivals=*/kWarp, plan.consumers, plan.numMaps());
  // Calls `body` with each of the heads that share the keys, and how many tiles come
  // before its first one.
  auto overHeads =
      [&](SmallVector<Value> carried,
          llvm::function_ref<SmallVector<Value>(Index, Index, ValueRange)> body) {
        Index firstHead = keyHead * shape.sharing();
        if (shape.sharing() == 1)
          return body(firstHead, 0, carried);
        return code.loop(0, shape.sharing(), 1, carried,
                         [&](Index head, ValueRange values) {
                           return body(firstHead + head, head * tiles, values);
                         });
      };

  auto produce = [&] {
    lane = code.lane();
    Value isFirst = code.isEqual(lane, 0), isOther = code.isLess(0, lane);
    if (plan.own)
      code.ifThen(isFirst, [&] {
        gpu.arriveWithBytes(barriers, plan.consumers * (keyPanels + valuePanels));
        for (int64_t i = 0; i < plan.consumers; ++i) {
          Index row = first + i * kWarpgroupRows;
          copyTile({2, &(*plan.own)[0], shape.width}, ownKeys + i * keyPanels, barriers,
                   plan.tile, row, keyHead, entry);
          copyTile({3, &(*plan.own)[1], shape.valueWidth}, ownValues + i * valuePanels,
                   barriers, plan.tile, row, keyHead, entry);
        }
      });
    overHeads({}, [&](Index head, Index before, ValueRange) {
      return code.loop(0, tiles, 1, {}, [&](Index tileOfHead, ValueRange) {
        Index tile = before + tileOfHead, stage = stageOf(tile),
              start = (begin + tileOfHead) * plan.tile,
              rows = (entry * shape.heads + head) * shape.queries;
        waitUntilFree(BothFree, tile);
        auto copy = [&](const TileTensor &tensor, Barrier kind, Index to, unsigned from,
                        Value numbers, double multiplier, double none) {
          // Queries after the last one have no probabilities.
          for (int64_t i = 0; i < plan.tile; i += kWarp) {
            Index row = start + i + lane;
            Value loaded = code.load(code.parameter(from), f32,
                                     rows + smaller(row, shape.queries - 1));
            if (multiplier != 1)
              loaded = mul(loaded, number(multiplier));
            if (shape.queries % plan.tile != 0)
              loaded = choose(code.isLess(row, shape.queries), loaded, number(none));
            code.store(loaded, numbers, f32, stage * plan.tile + i + lane);
          }
          Index barrier = barrierOf(kind, stage);
          code.ifThen(isOther, [&] { gpu.arrive(barrier); });
          code.ifThen(isFirst, [&] {
            gpu.arriveWithBytes(barrier, tileBytes(tensor.width));
            copyTile(tensor, to, barrier, plan.tile, start, head, entry);
          });
        };
        copy(x, First, firstAt(stage), 4, references, -kLog2e, kNone);
        copy(y, Second, secondAt(stage), 5, dots, 1, 0);
        return SmallVector<Value>();
      });
    });
  };

  auto consume = [&] {
    Index thread = code.thread();
    group = thread / kWarpgroup - 1;
    lane = code.lane();
    groupRow = first + group * kWarpgroupRows;
    myRow = groupRow + thread / kWarp % 4 * 16 + lane / 4;
    Rows keys, values;
    if (plan.own) {
      const int64_t panel = kWarpgroupRows * kPanelBytes;
      keys.matrix = PanelMatrix{ownKeys + group * keyPanels, panel};
      values.matrix = PanelMatrix{ownValues + group * valuePanels, panel};
      gpu.wait(barriers, 0);
    } else {
      keys.words = loadRows(2, shape.key, placeOf(shape.key, entry, keyHead), myRow,
                            shape.keys, shape.width);
      values.words = loadRows(3, shape.value, placeOf(shape.value, entry, keyHead), myRow,
                              shape.keys, shape.valueWidth);
    }
    const int64_t keyCount = shape.width / 2;
    // Of the transposed tile's columns, which are queries.
    auto loadPairs = [&](Value from, Index stage) {
      SmallVector<Value> numbers;
      for (int64_t n = 0; n < plan.tile; n += 8) {
        Value pair =
            code.load(from, f32, stage * plan.tile + n + lane % 4 * 2, /*lanes=*/2);
        for (int64_t column : {0, 1})
          numbers.push_back(vector::ExtractOp::create(b, loc, pair, column));
      }
      return numbers;
    };
    auto addTile = [&](Index tile, Index start, ValueRange carried, bool isMasked) {
      Index stage = stageOf(tile), queryTile = firstAt(stage), dyTile = secondAt(stage);
      // Registers would hold the numbers of all parts of a matrix that stays.
      Rows keysHere = keys, valuesHere = values;
      for (Rows *rows : {&keysHere, &valuesHere})
        if (rows->matrix)
          rows->matrix->address = gpu.conceal(rows->matrix->address, /*staysHere=*/true);
      gpu.fence();
      Sums scores = startScores(keysHere, queryTile, shape.width);
      gpu.commit();
      gpu.fence();
      Sums slopes = startScores(valuesHere, dyTile, shape.valueWidth);
      gpu.commit();
      gpu.waitForGroups(1);
      scores = gpu.take(scores);
      SmallVector<Value> reference = loadPairs(references, stage);
      Index distance = myRow - (start + lane % 4 * 2);
      for (auto [i, score] : llvm::enumerate(scores)) {
        Value p = power(score, reference[i / 4 * 2 + i % 2]), visible;
        if (isMasked)
          visible = code.isLess(distance, offset + 1 + columnOf(i) - rowOf(i));
        score = choose(visible, p, number(0));
      }
      gpu.fence();
      Sums ofValue = startSums(packAll(scores), dyTile, shape.valueWidth,
                               Sums(carried.drop_front(keyCount)));
      gpu.commit();
      // Wide heads leave no registers for p, dy v and the operands of a matmul at once.
      gpu.waitForGroups(plan.own ? 0 : 1);
      slopes = gpu.take(slopes);
      if (plan.own)
        ofValue = gpu.take(ofValue);
      SmallVector<Value> dot = loadPairs(dots, stage);
      for (auto [i, slope] : llvm::enumerate(slopes))
        slope = mul(scores[i], sub(slope, dot[i / 4 * 2 + i % 2]));
      gpu.fence();
      Sums ofKey = startSums(packAll(slopes), queryTile, shape.width,
                             Sums(carried.take_front(keyCount)));
      gpu.commit();
      gpu.waitForGroups(0);
      SmallVector<Value> next = gpu.take(ofKey);
      llvm::append_range(next, plan.own ? ofValue : gpu.take(ofValue));
      return next;
    };
    SmallVector<Value> sums(keyCount + shape.valueWidth / 2, number(0));
    sums = overHeads(sums, [&](Index, Index before, ValueRange carried) {
      SmallVector<Value> all(carried);
      auto overTiles = [&](Index from, Index to, bool isMasked) {
        all = code.loop(from, to, 1, all, [&](Index tileOfHead, ValueRange values) {
          Index tile = before + tileOfHead, start = (begin + tileOfHead) * plan.tile;
          waitFor(First, tile);
          waitFor(Second, tile);
          auto add = [&] { return addTile(tile, start, values, isMasked); };
          SmallVector<Value> next =
              isMasked ? code.ifThen(code.isLess(groupRow, start + (plan.tile + offset)),
                                     values, add)
                       : add();
          release(BothFree, tile);
          return next;
        });
      };
      // Those that do not see all of the warpgroup's keys.
      Index masked = 0;
      if (shape.isCausal) {
        Index whole =
            (larger(groupRow + (kWarpgroupRows - 1 - offset), 0) + (plan.tile - 1)) /
            plan.tile;
        masked = smaller(larger(whole - begin, 0), tiles);
        overTiles(0, masked, /*isMasked=*/true);
      }
      overTiles(masked, tiles, /*isMasked=*/false);
      return all;
    });
    Sums ofKey(sums.begin(), sums.begin() + keyCount),
        ofValue(sums.begin() + keyCount, sums.end());
    Value scale = number(shape.scale);
    storeRows(ofKey, {scale, scale}, 6, shape.dkey, placeOf(shape.dkey, entry, keyHead),
              myRow, shape.keys);
    storeRows(ofValue, {}, 7, shape.dvalue, placeOf(shape.dvalue, entry, keyHead), myRow,
              shape.keys);
  };
  split(produce, consume);
}

void mpt::detail::emitWarpgroupQueryGradient(GPUFunctionBuilder &code,
                                             const AttentionShape &shape,
                                             const WarpgroupGradPlan &plan) {
  WarpgroupGradEmitter(code, shape, plan).queryGradient();
}

void mpt::detail::emitWarpgroupKeyGradients(GPUFunctionBuilder &code,
                                            const AttentionShape &shape,
                                            const WarpgroupGradPlan &plan) {
  WarpgroupGradEmitter(code, shape, plan).keyGradients();
}
