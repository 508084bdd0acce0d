//===- DeviceReductions.cpp - Reductions of calls on a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCalls.h"
#include "GPUFunctionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Blocks that keep a large GPU busy (an H200 has 132 processors).
static constexpr int64_t kManyBlocks = 264;

static Value combine(GPUFunctionBuilder &code, ReduceKind kind, Value x, Value y) {
  OpBuilder &b = code.b;
  bool isInteger = isa<IntegerType>(getElementTypeOrSelf(x.getType()));
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return isInteger ? arith::AddIOp::create(b, code.loc, x, y).getResult()
                     : arith::AddFOp::create(b, code.loc, x, y).getResult();
  case ReduceKind::Max:
    return isInteger ? arith::MaxSIOp::create(b, code.loc, x, y).getResult()
                     : arith::MaximumFOp::create(b, code.loc, x, y).getResult();
  case ReduceKind::Min:
    return isInteger ? arith::MinSIOp::create(b, code.loc, x, y).getResult()
                     : arith::MinimumFOp::create(b, code.loc, x, y).getResult();
  case ReduceKind::Prod:
    break;
  }
  return isInteger ? arith::MulIOp::create(b, code.loc, x, y).getResult()
                   : arith::MulFOp::create(b, code.loc, x, y).getResult();
}

static Value identity(GPUFunctionBuilder &code, ReduceKind kind, Type type) {
  bool isInteger = isa<IntegerType>(getElementTypeOrSelf(type));
  bool isMax = kind == ReduceKind::Max;
  if (isMax || kind == ReduceKind::Min) {
    if (!isInteger) {
      double infinity = std::numeric_limits<double>::infinity();
      return code.constant(type, isMax ? -infinity : infinity);
    }
    int64_t most =
        isMax ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    TypedAttr number = code.b.getI64IntegerAttr(most);
    if (auto vector = dyn_cast<VectorType>(type))
      number = DenseElementsAttr::get(vector, Attribute(number));
    return arith::ConstantOp::create(code.b, code.loc, number);
  }
  return code.constant(type, kind == ReduceKind::Prod ? 1 : 0);
}

namespace {

/// Dimensions of one class, outermost first, as a list of places.
struct Axes {
  SmallVector<int64_t> sizes, strides;

  int64_t count() const {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    return product;
  }
  /// Makes `lanes` neighbours of the last dimension one place.
  void groupLanes(int64_t lanes) {
    if (lanes == 1)
      return;
    sizes.back() /= lanes;
    strides.back() *= lanes;
  }
  Index offsetOf(Index place) const {
    Index offset = 0;
    for (size_t i = sizes.size(); i-- > 0;) {
      offset = offset + (i == 0 ? place : place % sizes[i]) * strides[i];
      place = place / sizes[i];
    }
    return offset;
  }
};

/// A reduction over some axes, in slices of what is reduced if the results alone
/// do not make enough blocks.
class Reduction {
public:
  Reduction(const rt::ReduceCall &call, const CallSite &site);
  DeviceCall emit();

private:
  void emitRows(GPUFunctionBuilder &code);
  void emitColumns(GPUFunctionBuilder &code);
  void emitSlices(GPUFunctionBuilder &code);
  Value finish(GPUFunctionBuilder &code, Value value);
  /// The slice of the block: its first place of `total` and the end.
  std::pair<Index, Index> sliceOf(GPUFunctionBuilder &code, int64_t total);
  void storeResult(GPUFunctionBuilder &code, Value value, Index out, int64_t width);

  const CallSite &site;
  ReduceKind kind;
  Type from, to;
  Axes kept, reduced;
  int64_t outs, length, lanes = 1, slices = 1;
  bool isRows;
  /// Threads that share a result, of rows.
  int64_t groupThreads = kWarp;
};

} // namespace

static constexpr int64_t kThreads = 256;

Reduction::Reduction(const rt::ReduceCall &call, const CallSite &site)
    : site(site), kind(static_cast<ReduceKind>(call.kind)), from(site.elements[0]),
      to(site.elements[1]) {
  const rt::BufferRef &x = site.ref(0);
  int64_t stride = x.count();
  bool wasReduced = false, isFirst = true;
  for (auto [d, size] : llvm::enumerate(x.dims)) {
    stride = size ? stride / size : 0;
    if (size == 1)
      continue;
    bool isReduced = llvm::is_contained(call.axes, static_cast<int64_t>(d));
    Axes &target = isReduced ? reduced : kept;
    if (!isFirst && isReduced == wasReduced) {
      target.sizes.back() *= size;
      target.strides.back() = stride;
    } else {
      target.sizes.push_back(size);
      target.strides.push_back(stride);
    }
    wasReduced = isReduced;
    isFirst = false;
  }
  outs = kept.count();
  length = reduced.count();
  isRows = kept.sizes.empty() || (!reduced.sizes.empty() && reduced.strides.back() == 1);
  Axes &inner = isRows ? reduced : kept;
  if (!inner.sizes.empty())
    lanes = std::min<int64_t>(8, lanesFor(from, inner.sizes.back()));
  inner.groupLanes(lanes);
  int64_t blocks;
  if (isRows) {
    groupThreads =
        std::clamp<int64_t>(llvm::PowerOf2Ceil(reduced.count()), kWarp, kThreads);
    blocks = llvm::divideCeil(outs, kThreads / groupThreads);
  } else {
    blocks = llvm::divideCeil(kept.count(), kWarp);
  }
  int64_t least = isRows ? 2048 : 64;
  if (blocks < kManyBlocks)
    slices = std::clamp<int64_t>(llvm::divideCeil(kManyBlocks, blocks), 1,
                                 std::max<int64_t>(length / least, 1));
}

Value Reduction::finish(GPUFunctionBuilder &code, Value value) {
  if (kind != ReduceKind::Mean)
    return value;
  if (isa<IntegerType>(getElementTypeOrSelf(value.getType())))
    return arith::DivSIOp::create(code.b, code.loc, value,
                                  code.constant(value.getType(), length));
  return arith::DivFOp::create(code.b, code.loc, value,
                               code.constant(value.getType(), length));
}

std::pair<Index, Index> Reduction::sliceOf(GPUFunctionBuilder &code, int64_t total) {
  if (slices == 1)
    return {0, total};
  int64_t each = llvm::divideCeil(total, slices);
  Index begin = code.blockY() * each;
  return {begin, smaller(begin + each, total)};
}

void Reduction::storeResult(GPUFunctionBuilder &code, Value value, Index out,
                            int64_t width) {
  if (slices == 1)
    return code.storeNumber(finish(code, value), code.parameter(1), to, out, width);
  Type number = code.numberType(from);
  code.store(value, code.parameter(2), number, code.blockY() * outs + out, width);
}

void Reduction::emitRows(GPUFunctionBuilder &code) {
  OpBuilder &b = code.b;
  int64_t perBlock = kThreads / groupThreads;
  Index inGroup = code.thread() % groupThreads;
  Index out = code.blockX() * perBlock + code.thread() / groupThreads;
  Index place = smaller(out, outs - 1);
  Index base = kept.offsetOf(place);
  auto [begin, end] = sliceOf(code, reduced.count());
  int64_t width = lanes == 1 ? 0 : lanes;
  Type type = code.numberType(from, width);
  Value start = identity(code, kind, type);
  auto sums = code.loop(begin + inGroup, end, groupThreads, start,
                        [&](Index r, ValueRange carried) -> SmallVector<Value> {
                          Index at = base + reduced.offsetOf(r);
                          Value value =
                              code.loadNumber(code.parameter(0), from, at, width);
                          return {combine(code, kind, carried[0], value)};
                        });
  Value sum = sums[0];
  if (width != 0) {
    Value folded = vector::ExtractOp::create(b, code.loc, sums[0], 0);
    for (int64_t lane = 1; lane < lanes; ++lane)
      folded = combine(code, kind, folded,
                       vector::ExtractOp::create(b, code.loc, sums[0], lane));
    sum = folded;
  }
  for (int64_t distance = kWarp / 2; distance > 0; distance /= 2)
    sum = combine(code, kind, sum, code.exchange(sum, distance));
  if (groupThreads > kWarp) {
    Value words = code.shared(8 * kThreads / kWarp);
    Type number = sum.getType();
    Index warp = code.thread() / kWarp;
    code.ifThen(code.isEqual(code.thread() % kWarp, 0),
                [&] { code.store(sum, words, number, warp); });
    code.barrier();
    Index first = code.thread() / groupThreads * (groupThreads / kWarp);
    sum = code.load(words, number, first);
    for (int64_t i = 1; i < groupThreads / kWarp; ++i)
      sum = combine(code, kind, sum, code.load(words, number, first + i));
  }
  Value writes = code.isEqual(inGroup, 0);
  if (outs % perBlock != 0)
    writes = arith::AndIOp::create(b, code.loc, writes, code.isLess(out, outs));
  code.ifThen(writes, [&] { storeResult(code, sum, out, 0); });
}

void Reduction::emitColumns(GPUFunctionBuilder &code) {
  OpBuilder &b = code.b;
  int64_t vectors = kept.count(), groups = kThreads / kWarp;
  int64_t width = lanes == 1 ? 0 : lanes;
  Index lane = code.thread() % kWarp, group = code.thread() / kWarp;
  Index out = code.blockX() * kWarp + lane;
  Index base = kept.offsetOf(smaller(out, vectors - 1));
  auto [begin, end] = sliceOf(code, length);
  Type type = code.numberType(from, width);
  Value start = identity(code, kind, type);
  auto sums = code.loop(begin + group, end, groups, start,
                        [&](Index r, ValueRange carried) -> SmallVector<Value> {
                          Index at = base + reduced.offsetOf(r);
                          Value value =
                              code.loadNumber(code.parameter(0), from, at, width);
                          return {combine(code, kind, carried[0], value)};
                        });
  Type number = code.numberType(from);
  Value words = code.shared(kThreads * lanes * bytesOf(number));
  code.store(sums[0], words, number, code.thread() * lanes, width);
  code.barrier();
  Value writes = code.isEqual(group, 0);
  if (vectors % kWarp != 0)
    writes = arith::AndIOp::create(b, code.loc, writes, code.isLess(out, vectors));
  code.ifThen(writes, [&] {
    Value sum = sums[0];
    for (int64_t i = 1; i < groups; ++i)
      sum = combine(code, kind, sum,
                    code.load(words, number, (lane + i * kWarp) * lanes, width));
    storeResult(code, sum, out * lanes, width);
  });
}

void Reduction::emitSlices(GPUFunctionBuilder &code) {
  Index out = code.globalThread();
  Type number = code.numberType(from);
  code.ifThen(code.isLess(out, outs), [&] {
    auto sums = code.loop(0, slices, 1, identity(code, kind, number),
                          [&](Index slice, ValueRange carried) -> SmallVector<Value> {
                            Value value =
                                code.load(code.parameter(2), number, slice * outs + out);
                            return {combine(code, kind, carried[0], value)};
                          });
    code.storeNumber(finish(code, sums[0]), code.parameter(1), to, out);
  });
}

DeviceCall Reduction::emit() {
  DeviceCall result;
  DeviceLaunch launch;
  launch.function = site.name;
  launch.threads = kThreads;
  launch.blocks[0] = isRows ? llvm::divideCeil(outs, kThreads / groupThreads)
                            : llvm::divideCeil(kept.count(), kWarp);
  launch.blocks[1] = slices;
  {
    GPUFunctionBuilder code(site.device, site.loc, site.name, slices == 1 ? 2 : 3,
                            kThreads, site.isWide());
    isRows ? emitRows(code) : emitColumns(code);
    code.finish();
  }
  result.launches.push_back(launch);
  if (slices == 1)
    return result;
  CallSite second = site;
  second.name += "_combine";
  DeviceLaunch combining = launchFor(second, outs);
  GPUFunctionBuilder code(site.device, site.loc, second.name, 3, combining.threads,
                          site.isWide());
  emitSlices(code);
  code.finish();
  result.launches.push_back(combining);
  result.scratchBytes = slices * outs * 8;
  return result;
}

DeviceCall mpt::detail::emitCall(const rt::ReduceCall &call, const CallSite &site) {
  // Nothing to make.
  if (site.ref(1).count() == 0)
    return {};
  return Reduction(call, site).emit();
}

DeviceCall mpt::detail::emitCall(const rt::ArgmaxCall &, const CallSite &site) {
  int64_t length = site.ref(0).dims.back(), rows = site.ref(1).count();
  DeviceCall result;
  if (rows == 0 || length == 0)
    return result;
  // A warp a row.
  DeviceLaunch launch = launchFor(site, rows * kWarp);
  GPUFunctionBuilder code(site.device, site.loc, site.name, 2, launch.threads,
                          site.isWide());
  OpBuilder &b = code.b;
  Index at = code.globalThread(), row = at / kWarp, lane = at % kWarp;
  Index base = smaller(row, rows - 1) * length;
  Type number = code.numberType(site.elements[0]);
  auto both = [&](Value x, Value y) -> Value {
    return arith::AndIOp::create(b, code.loc, x, y);
  };
  auto either = [&](Value x, Value y) -> Value {
    return arith::OrIOp::create(b, code.loc, x, y);
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpFOp::create(b, code.loc, predicate, x, y);
  };
  // The larger, NaN being largest; of equals the first.
  auto better = [&](Value x, Value i, Value y, Value j) -> SmallVector<Value> {
    Value xIsNaN = compare(arith::CmpFPredicate::UNO, x, x);
    Value yIsNumber = compare(arith::CmpFPredicate::ORD, y, y);
    Value yIsNaN = compare(arith::CmpFPredicate::UNO, y, y);
    Value wins =
        both(yIsNumber, either(compare(arith::CmpFPredicate::OGT, x, y), xIsNaN));
    Value ties = either(compare(arith::CmpFPredicate::OEQ, x, y), both(xIsNaN, yIsNaN));
    Value isFirst = arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::slt, i, j);
    Value takes = either(wins, both(ties, isFirst));
    Value value = arith::SelectOp::create(b, code.loc, takes, x, y);
    return {value, arith::SelectOp::create(b, code.loc, takes, i, j)};
  };
  Value least = code.constant(number, -std::numeric_limits<double>::infinity());
  auto best = code.loop(
      lane, length, kWarp, {least, code.get(length)}, [&](Index i, ValueRange carried) {
        Value value = code.loadNumber(code.parameter(0), site.elements[0], base + i);
        return better(value, code.get(i), carried[0], carried[1]);
      });
  for (int64_t distance = kWarp / 2; distance > 0; distance /= 2) {
    Value value = code.exchange(best[0], distance);
    best = better(value, code.exchange(best[1], distance), best[0], best[1]);
  }
  Value writes = both(code.isEqual(lane, 0), code.isLess(row, rows));
  code.ifThen(writes, [&] {
    Value index = best[1];
    Type to = site.elements[1];
    if (to != index.getType())
      index = to.isInteger(64)
                  ? arith::ExtUIOp::create(b, code.loc, to, index).getResult()
                  : arith::TruncIOp::create(b, code.loc, to, index).getResult();
    code.store(index, code.parameter(1), to, row);
  });
  code.finish();
  result.launches.push_back(launch);
  return result;
}
