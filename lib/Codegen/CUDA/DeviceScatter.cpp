//===- DeviceScatter.cpp - Rows combined by index on a GPU ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The gradient of an embedding, without atomics: a block owns some rows of the
/// table and reads all indices, the next ones while it looks at some. Those that name
/// its rows it puts in a list, in their order. When that has grown long, it adds what
/// they name to sums in shared memory. Maxima, minima and products are combined as sums
/// are. Tables of few rows have several blocks a row, each
/// over a slice of the indices, whose sums a second function adds in order.
///
//===----------------------------------------------------------------------===//

#include "DeviceCalls.h"
#include "GPUFunctionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Threads of a block; warps; and sums of a block, in bytes.
static constexpr int64_t kThreads = 128, kWarps = kThreads / kWarp, kSumBytes = 32 << 10;
/// Indices that a thread reads at once: a block waits for each such chunk. Many only
/// where there are several chunks.
static constexpr int64_t kLeastReads = 4, kMostReads = 16, kLeastChunks = 4;
/// Blocks that keep a large GPU busy.
static constexpr int64_t kManyBlocks = 264;
/// Updates that are read before they are added.
static constexpr int64_t kAhead = 8;

namespace {

class ScatterAdd {
public:
  ScatterAdd(const rt::ScatterAddCall &call, const CallSite &site);
  DeviceCall emit();

private:
  void emitBlock(GPUFunctionBuilder &code);
  /// This thread's indices of the chunk at `base`.
  SmallVector<Value> loadIndices(GPUFunctionBuilder &code, Index base);
  /// Appends those of `loaded` that name this block's rows to the list of `listed`;
  /// returns how many it has then.
  Index emitList(GPUFunctionBuilder &code, ValueRange loaded, Index base, Index end,
                 Index firstRow, Index listed);
  void emitAdd(GPUFunctionBuilder &code, Index listed);
  void emitStore(GPUFunctionBuilder &code, Index firstRow);
  /// `init` from element `at` on, as a sum.
  Value loadInit(GPUFunctionBuilder &code, Index at);
  void emitSlices(GPUFunctionBuilder &code);
  Value combine(GPUFunctionBuilder &code, Value x, Value y);
  /// What changes nothing in `combine`.
  Value getNeutral(GPUFunctionBuilder &code);

  const CallSite &site;
  rt::ReduceKind kind;
  bool hasInit;
  /// The number of the parameter that is the table. `init` is the one before.
  int64_t out;
  Type indexElement, from, to, number;
  int64_t size, row, count, lanes;
  /// Vectors of a row; threads along it, groups of them, blocks along it.
  int64_t vectors, columnThreads = kThreads, groups, columnBlocks;
  int64_t blockRows, slices;
  int64_t reads, chunk;
  /// What a list may hold while it grows on.
  int64_t waiting;

  // Of the function being emitted.
  Value sums, positions, owners, counts;
  Index column = 0, group = 0;
};

} // namespace

ScatterAdd::ScatterAdd(const rt::ScatterAddCall &call, const CallSite &site)
    : site(site), kind(call.kind), hasInit(call.hasInit), out(call.numInputs()),
      indexElement(site.elements[0]), from(site.elements[1]), to(site.elements[out]) {
  const rt::BufferRef &table = site.ref(out);
  number = to.isF64() ? to : Type(Float32Type::get(site.device.getContext()));
  size = table.dims[0];
  row = size ? table.count() / size : 0;
  count = site.ref(0).count();
  // Lists of wide indices leave no shared memory for more.
  reads = !site.isWide() && count >= kLeastChunks * kThreads * kMostReads ? kMostReads
                                                                          : kLeastReads;
  chunk = kThreads * reads;
  waiting = chunk / 4;
  lanes = std::min<int64_t>({4, lanesFor(from, row), lanesFor(to, row)});
  vectors = row / lanes;
  // As many threads along a row as leave few without work.
  while (columnThreads > 1 &&
         static_cast<int64_t>(llvm::alignTo(vectors, columnThreads)) - vectors >
             vectors / 8)
    columnThreads /= 2;
  groups = kThreads / columnThreads;
  columnBlocks = llvm::divideCeil(std::max<int64_t>(vectors, 1), columnThreads);
  int64_t most = kSumBytes / (columnThreads * lanes * bytesOf(number));
  blockRows = std::clamp<int64_t>(
      llvm::bit_floor<uint64_t>(std::max<int64_t>(size / kManyBlocks, 1)), 1, most);
  int64_t blocks = llvm::divideCeil(std::max<int64_t>(size, 1), blockRows) * columnBlocks;
  slices = std::clamp<int64_t>(llvm::divideCeil(kManyBlocks, blocks), 1,
                               std::max<int64_t>(count / (4 * chunk), 1));
}

Value ScatterAdd::combine(GPUFunctionBuilder &code, Value x, Value y) {
  switch (kind) {
  case rt::ReduceKind::Max:
    return arith::MaximumFOp::create(code.b, code.loc, x, y);
  case rt::ReduceKind::Min:
    return arith::MinimumFOp::create(code.b, code.loc, x, y);
  case rt::ReduceKind::Prod:
    return arith::MulFOp::create(code.b, code.loc, x, y);
  default:
    return arith::AddFOp::create(code.b, code.loc, x, y);
  }
}

Value ScatterAdd::getNeutral(GPUFunctionBuilder &code) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Type type = lanes == 1 ? number : Type(VectorType::get({lanes}, number));
  return code.constant(type, kind == rt::ReduceKind::Max    ? -infinity
                             : kind == rt::ReduceKind::Min  ? infinity
                             : kind == rt::ReduceKind::Prod ? 1
                                                            : 0);
}

SmallVector<Value> ScatterAdd::loadIndices(GPUFunctionBuilder &code, Index base) {
  // A thread's indices lie next to each other. All are loaded at once: after a branch a
  // load would wait for the one before.
  const bool isWhole = count % chunk == 0;
  const Index first = base + code.thread() * reads;
  const int64_t width = isWhole ? lanesFor(indexElement, reads) : 1;
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < reads; i += width) {
    Index place = isWhole ? first + i : smaller(first + i, count - 1);
    Value words =
        code.load(code.parameter(0), indexElement, place, width == 1 ? 0 : width);
    if (width == 1)
      loaded.push_back(words);
    for (int64_t word = 0; width > 1 && word < width; ++word)
      loaded.push_back(vector::ExtractOp::create(code.b, code.loc, words, word));
  }
  return loaded;
}

Index ScatterAdd::emitList(GPUFunctionBuilder &code, ValueRange loaded, Index base,
                           Index end, Index firstRow, Index listed) {
  OpBuilder &b = code.b;
  Type i32 = b.getI32Type();
  Index warp = code.thread() / kWarp;
  Value lane = arith::RemUIOp::create(
      b, code.loc, NVVM::ThreadIdXOp::create(b, code.loc, i32), code.get32(kWarp));
  Value bit = arith::ShLIOp::create(b, code.loc, code.get32(1), lane);
  Value below = arith::SubIOp::create(b, code.loc, bit, code.get32(1));
  const bool isWhole = count % chunk == 0;
  const Index first = base + code.thread() * reads;
  auto isInside = [&](Value index) -> Value {
    return arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::ult, index,
                                 code.constant(index.getType(), size));
  };
  auto both = [&](Value x, Value y) -> Value {
    return arith::AndIOp::create(b, code.loc, x, y);
  };
  // One block reports.
  code.ifThen(code.isEqual(code.blockX() + code.blockY() / slices, 0), [&] {
    for (auto [i, index] : llvm::enumerate(loaded)) {
      Index position = first + static_cast<int64_t>(i);
      Value outside = arith::XOrIOp::create(b, code.loc, isInside(index),
                                            code.constant(b.getI1Type(), 1));
      if (!isWhole)
        outside = both(outside, code.isLess(position, end));
      code.ifThen(outside, [&] {
        code.fault(code.parameter(slices == 1 ? out + 1 : out + 2), position, index);
      });
    }
  });
  SmallVector<Value> mine, rows;
  Value found = code.get32(0), earlier = code.get32(0), any;
  for (auto [i, index] : llvm::enumerate(loaded)) {
    Index ofBlock = code.fromInteger(index) - firstRow;
    Value isMine = arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::ult,
                                         code.get(ofBlock), code.get(blockRows));
    // Rows beyond the table are not stored. Of wide indices half may have been cut off.
    if (index.getType() != code.indexType())
      isMine = both(isMine, isInside(index));
    if (!isWhole)
      isMine = both(isMine, code.isLess(first + static_cast<int64_t>(i), end));
    mine.push_back(isMine);
    rows.push_back(code.get(ofBlock));
    any = any ? Value(arith::OrIOp::create(b, code.loc, any, isMine)) : isMine;
  }
  // Most warps find nothing.
  Value isFound = arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::ne,
                                        code.ballot(any), code.get32(0));
  SmallVector<Value> ranks = code.ifThen(isFound, {found, earlier}, [&] {
    Value all = code.get32(0), before = code.get32(0);
    for (Value isMine : mine) {
      Value ballot = code.ballot(isMine);
      auto add = [&](Value sum, Value bits) -> Value {
        return arith::AddIOp::create(b, code.loc, sum,
                                     LLVM::CtPopOp::create(b, code.loc, bits));
      };
      all = add(all, ballot);
      before = add(before, both(ballot, below));
    }
    return SmallVector<Value>{all, before};
  });
  // What was added has been read from the list, and the last chunk's counts.
  code.barrier();
  code.ifThen(
      arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::eq, lane, code.get32(0)),
      [&] { code.store(ranks[0], counts, i32, warp); });
  code.barrier();
  // In the order of positions: warp by warp, lane by lane, read by read.
  Index start = 0;
  for (int64_t w = 0; w < kWarps; ++w) {
    start = w == 0 ? listed : code.select(code.isEqual(warp, w), listed, start);
    listed = listed + code.fromInteger(code.load(counts, i32, w));
  }
  code.ifThen(any, [&] {
    Index slot = start + code.fromInteger(ranks[1]);
    for (auto [i, isMine] : llvm::enumerate(mine)) {
      code.ifThen(isMine, [&, i = i] {
        code.store(code.get(first + static_cast<int64_t>(i)), positions, code.indexType(),
                   slot);
        code.store(arith::TruncIOp::create(b, code.loc, b.getI16Type(), rows[i]), owners,
                   b.getI16Type(), slot);
      });
      slot = code.select(isMine, slot + 1, slot);
    }
  });
  code.barrier();
  return listed;
}

void ScatterAdd::emitAdd(GPUFunctionBuilder &code, Index listed) {
  OpBuilder &b = code.b;
  int64_t width = lanes == 1 ? 0 : lanes;
  Index read = smaller(column, vectors - 1) * lanes;
  code.loop(0, listed, kAhead, {}, [&](Index first, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> values, exist;
    SmallVector<Index> rows;
    for (int64_t i = 0; i < kAhead; ++i) {
      exist.push_back(code.isLess(first + i, listed));
      Index slot = smaller(first + i, listed - 1);
      rows.emplace_back(code,
                        arith::ExtUIOp::create(b, code.loc, code.indexType(),
                                               code.load(owners, b.getI16Type(), slot)));
      Index position(code, code.load(positions, code.indexType(), slot));
      values.push_back(
          code.loadNumber(code.parameter(1), from, position * row + read, width));
    }
    for (int64_t i = 0; i < kAhead; ++i) {
      Value adds = exist[i];
      if (groups > 1)
        adds = arith::AndIOp::create(b, code.loc, adds,
                                     code.isEqual(rows[i] % groups, group));
      code.ifThen(adds, [&] {
        Index place = (rows[i] * columnThreads + code.thread() % columnThreads) * lanes;
        Value value = values[i], old = code.load(sums, number, place, width);
        if (value.getType() != old.getType())
          value = arith::ExtFOp::create(b, code.loc, old.getType(), value);
        code.store(combine(code, old, value), sums, number, place, width);
      });
    }
    return {};
  });
}

void ScatterAdd::emitStore(GPUFunctionBuilder &code, Index firstRow) {
  int64_t width = lanes == 1 ? 0 : lanes;
  code.ifThen(code.isLess(column, vectors), [&] {
    code.loop(
        group, blockRows, groups, {}, [&](Index r, ValueRange) -> SmallVector<Value> {
          code.ifThen(code.isLess(firstRow + r, size), [&] {
            Index from = (r * columnThreads + code.thread() % columnThreads) * lanes;
            Value sum = code.load(sums, number, from, width);
            Index at = (firstRow + r) * row + column * lanes;
            if (slices == 1)
              code.storeNumber(sum, code.parameter(out), to, at, width);
            else
              code.store(sum, code.parameter(out + 1), number,
                         code.blockY() % slices * (size * row) + at, width);
          });
          return {};
        });
  });
}

Value ScatterAdd::loadInit(GPUFunctionBuilder &code, Index at) {
  return code.loadNumber(code.parameter(2), to, at, lanes == 1 ? 0 : lanes);
}

void ScatterAdd::emitBlock(GPUFunctionBuilder &code) {
  int64_t width = lanes == 1 ? 0 : lanes;
  int64_t sumBytes = blockRows * columnThreads * lanes * bytesOf(number);
  sums = code.shared(sumBytes);
  positions = code.shared((waiting + chunk) * bytesOf(code.indexType()));
  owners = code.shared((waiting + chunk) * 2);
  counts = code.shared(kWarps * 4);
  Index inRow = code.thread() % columnThreads;
  group = code.thread() / columnThreads;
  column = code.blockY() / slices * columnThreads + inRow;
  Index firstRow = code.blockX() * blockRows;
  // Each sum has one thread.
  Value neutral = getNeutral(code);
  code.loop(group, blockRows, groups, {}, [&](Index r, ValueRange) -> SmallVector<Value> {
    Value first = neutral;
    if (hasInit && slices == 1) {
      Index row = smaller(firstRow + r, size - 1), read = smaller(column, vectors - 1);
      first = loadInit(code, row * this->row + read * lanes);
    }
    code.store(first, sums, number, (r * columnThreads + inRow) * lanes, width);
    return {};
  });
  const int64_t chunks = llvm::divideCeil(count, chunk), lastChunk = (chunks - 1) * chunk;
  if (chunks == 0)
    return emitStore(code, firstRow);
  int64_t each = llvm::divideCeil(chunks, slices) * chunk;
  Index begin = slices == 1 ? Index(0) : code.blockY() % slices * each;
  Index end = slices == 1 ? Index(count) : smaller(begin + each, count);
  // How long the list is, and the indices of a chunk.
  SmallVector<Value> init = {code.get(0)};
  llvm::append_range(init, loadIndices(code, smaller(begin, lastChunk)));
  auto rest = code.loop(
      begin, end, chunk, init, [&](Index base, ValueRange now) -> SmallVector<Value> {
        SmallVector<Value> next = loadIndices(code, smaller(base + chunk, lastChunk));
        Index listed = emitList(code, now.drop_front(), base, end, firstRow,
                                Index(code, now.front()));
        auto left = code.ifThen(code.isLess(waiting, listed), code.get(listed),
                                [&]() -> SmallVector<Value> {
                                  emitAdd(code, listed);
                                  return {code.get(0)};
                                });
        next.insert(next.begin(), left.front());
        return next;
      });
  emitAdd(code, Index(code, rest.front()));
  emitStore(code, firstRow);
}

void ScatterAdd::emitSlices(GPUFunctionBuilder &code) {
  int64_t width = lanes == 1 ? 0 : lanes;
  Index at = code.globalThread();
  code.ifThen(code.isLess(at, size * vectors), [&] {
    Value first = hasInit ? loadInit(code, at * lanes) : getNeutral(code);
    auto total = code.loop(
        0, slices, 1, first, [&](Index slice, ValueRange carried) -> SmallVector<Value> {
          Value part = code.load(code.parameter(out + 1), number,
                                 slice * (size * row) + at * lanes, width);
          return {combine(code, carried[0], part)};
        });
    code.storeNumber(total[0], code.parameter(out), to, at * lanes, width);
  });
}

DeviceCall ScatterAdd::emit() {
  DeviceCall result;
  if (size == 0 || row == 0)
    return result;
  DeviceLaunch launch;
  launch.function = site.name;
  launch.threads = kThreads;
  launch.blocks[0] = llvm::divideCeil(size, blockRows);
  launch.blocks[1] = columnBlocks * slices;
  launch.bound = size;
  {
    GPUFunctionBuilder code(site.device, site.loc, site.name,
                            slices == 1 ? out + 2 : out + 3, kThreads, site.isWide());
    emitBlock(code);
    code.finish();
  }
  result.launches.push_back(launch);
  if (slices == 1)
    return result;
  CallSite second = site;
  second.name += "_combine";
  DeviceLaunch combining = launchFor(second, size * vectors);
  GPUFunctionBuilder code(site.device, site.loc, second.name, out + 2, combining.threads,
                          site.isWide());
  emitSlices(code);
  code.finish();
  result.launches.push_back(combining);
  result.scratchBytes = slices * size * row * bytesOf(number);
  return result;
}

DeviceCall mpt::detail::emitCall(const rt::ScatterAddCall &call, const CallSite &site) {
  return ScatterAdd(call, site).emit();
}
