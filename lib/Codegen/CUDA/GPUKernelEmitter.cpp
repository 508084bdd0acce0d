//===- GPUKernelEmitter.cpp - A kernel as threads of a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUKernelEmitter.h"

#include "LaunchTable.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <utility>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Address spaces of NVPTX.
static constexpr unsigned kGlobal = 1, kShared = 3;

/// More warps than these hand their sums to a butterfly.
static constexpr int64_t kMostWarpsInOrder = 8;

/// Of a frame that has one column, wherever that is.
static constexpr unsigned kOneColumn = ~0U;

/// What a vector of `lanes` elements starts at a multiple of. All buffers do at one
/// of 64 bytes; more than 16 are of use to no access.
static unsigned alignmentOf(Type element, int64_t lanes) {
  return std::min<int64_t>(16, bytesOf(element) * std::max<int64_t>(lanes, 1));
}

//===----------------------------------------------------------------------===//
// Small values
//===----------------------------------------------------------------------===//

Value GPUKernelEmitter::constant32(OpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value GPUKernelEmitter::widen(OpBuilder &b, Value value) {
  return value.getType().isInteger(64)
             ? value
             : arith::ExtUIOp::create(b, loc, b.getI64Type(), value).getResult();
}

Value GPUKernelEmitter::both(OpBuilder &b, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AndIOp::create(b, loc, x, y);
}

Value GPUKernelEmitter::isBelow(OpBuilder &b, Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value GPUKernelEmitter::loadFrom(Value pointer, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  // Lanes that do not exist read others' elements.
  Type type = vectorOf(storageOf(element), frame.lanes);
  unsigned alignment = alignmentOf(element, frame.lanes);
  return fromStorage(b, LLVM::LoadOp::create(b, loc, type, pointer, alignment), element);
}

void GPUKernelEmitter::storeTo(Value pointer, Value value, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  value = toStorage(b, value, element);
  unsigned alignment = alignmentOf(element, frame.lanes);
  Value guard = frame.lanes == 0 ? isFirst : frame.mask;
  OpBuilder inner = b;
  if (guard)
    inner = scf::IfOp::create(b, loc, guard).getThenBodyBuilder();
  LLVM::StoreOp::create(inner, loc, value, pointer, alignment);
}

Value GPUKernelEmitter::load(unsigned operand, Frame &frame) {
  OpBuilder &b = *frame.builder;
  const KernelBuffer &buffer = buffers[operand];
  if (isPacked && !isCombining && frame.lanes != 0 && frame.number != kOneColumn &&
      isKeptPacked(operand)) {
    Value words = loadPacked(operand, frame);
    Type memory = vectorOf(storageOf(buffer.element), frame.lanes);
    return fromStorage(b, LLVM::BitcastOp::create(b, loc, memory, words), buffer.element);
  }
  Value pointer = pointerTo(operand, frame);
  if (frame.lanes <= 1 || buffer.columnStride() == 1)
    return loadFrom(pointer, buffer.element, frame);
  Type memory = storageOf(buffer.element);
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < frame.lanes; ++lane) {
    Value at = LLVM::GEPOp::create(
        b, loc, pointer.getType(), memory, pointer,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(lane * buffer.columnStride())});
    elements.push_back(LLVM::LoadOp::create(b, loc, memory, at, bytesOf(buffer.element)));
  }
  Value vector = vector::FromElementsOp::create(
      b, loc, cast<VectorType>(vectorOf(memory, frame.lanes)), elements);
  return fromStorage(b, vector, buffer.element);
}

bool GPUKernelEmitter::isKeptPacked(unsigned operand) const {
  const KernelBuffer &buffer = buffers[operand];
  // What all rows share is in the first-level cache.
  return buffer.columnStride() == 1 && lanes * bytesOf(buffer.element) % 4 == 0 &&
         llvm::any_of(ArrayRef(buffer.strides).drop_back(),
                      [](int64_t stride) { return stride != 0; });
}

Value GPUKernelEmitter::hide(OpBuilder &b, Value word) {
  return LLVM::InlineAsmOp::create(b, loc, TypeRange(b.getI32Type()), ValueRange(word),
                                   "", "=r,0", /*has_side_effects=*/true,
                                   /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

Value GPUKernelEmitter::loadPacked(unsigned operand, Frame &frame) {
  OpBuilder &b = *frame.builder;
  Type i32 = b.getI32Type();
  const KernelBuffer &buffer = buffers[operand];
  auto type = VectorType::get({frame.lanes * bytesOf(buffer.element) / 4}, i32);
  auto [kept, isNew] = packedWords.try_emplace({frame.number, operand});
  if (isNew)
    return kept->second = LLVM::LoadOp::create(b, loc, type, pointerTo(operand, frame),
                                               alignmentOf(buffer.element, frame.lanes));
  Value words = kept->second, result = LLVM::PoisonOp::create(b, loc, type);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value at = constant32(b, i);
    Value word = hide(b, LLVM::ExtractElementOp::create(b, loc, words, at));
    result = LLVM::InsertElementOp::create(b, loc, result, word, at);
  }
  return kept->second = result;
}

void GPUKernelEmitter::store(unsigned result, Value value, Frame &frame) {
  OpBuilder &b = *frame.builder;
  unsigned index = body.getNumArguments() + result;
  const KernelBuffer &buffer = buffers[index];
  Value pointer = pointerTo(index, frame);
  if (frame.lanes <= 1 || buffer.columnStride() == 1)
    return storeTo(pointer, value, buffer.element, frame);
  value = toStorage(b, value, buffer.element);
  Type memory = storageOf(buffer.element);
  OpBuilder inner = b;
  if (frame.mask)
    inner = scf::IfOp::create(b, loc, frame.mask).getThenBodyBuilder();
  for (int64_t lane = 0; lane < frame.lanes; ++lane) {
    Value at = LLVM::GEPOp::create(
        inner, loc, pointer.getType(), memory, pointer,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(lane * buffer.columnStride())});
    Value element = vector::ExtractOp::create(inner, loc, value, lane);
    LLVM::StoreOp::create(inner, loc, element, at, bytesOf(buffer.element));
  }
}

Value GPUKernelEmitter::sharedPointer(OpBuilder &b, Type element, Value index) {
  auto type = LLVM::LLVMPointerType::get(b.getContext(), kShared);
  Value base = LLVM::AddressOfOp::create(b, loc, shared);
  return LLVM::GEPOp::create(b, loc, type, element, base, ArrayRef<LLVM::GEPArg>{index});
}

//===----------------------------------------------------------------------===//
// Between threads
//===----------------------------------------------------------------------===//

void GPUKernelEmitter::barrier(OpBuilder &b) { NVVM::Barrier0Op::create(b, loc); }

void GPUKernelEmitter::beforeSharedStores(OpBuilder &b) {
  if (isCombining || (!onlyColumn && groupThreads > kWarp))
    barrier(b);
  else if (!onlyColumn)
    NVVM::SyncWarpOp::create(b, loc, constant32(b, -1));
}

Value GPUKernelEmitter::shuffle(OpBuilder &b, Value value, int64_t distance) {
  Type type = value.getType();
  auto exchange = [&](Value word) -> Value {
    return NVVM::ShflOp::create(b, loc, word.getType(), constant32(b, -1), word,
                                constant32(b, distance), constant32(b, kWarp - 1),
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  if (type.getIntOrFloatBitWidth() == 32)
    return exchange(value);
  // In two halves.
  Type i64 = b.getI64Type(), i32 = b.getI32Type();
  Value bits = type == i64 ? value : arith::BitcastOp::create(b, loc, i64, value);
  Value shift = constant(b, 32);
  Value low = exchange(arith::TruncIOp::create(b, loc, i32, bits));
  Value high = exchange(
      arith::TruncIOp::create(b, loc, i32, arith::ShRUIOp::create(b, loc, bits, shift)));
  bits = arith::OrIOp::create(
      b, loc, arith::ExtUIOp::create(b, loc, i64, low),
      arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, i64, high), shift));
  return type == i64 ? bits : arith::BitcastOp::create(b, loc, type, bits).getResult();
}

Value GPUKernelEmitter::butterfly(OpBuilder &b, ReduceKind kind, Value value,
                                  int64_t threads) {
  for (int64_t distance = threads / 2; distance > 0; distance /= 2)
    value = combine(b, kind, value, shuffle(b, value, distance));
  return value;
}

/// The f16 or bf16 whose largest or smallest is that of `reduce`, which widens it; null
/// if there is none.
static Value getNarrowSource(kernel::RowReduceOp reduce) {
  if (reduce.getKind() != ReduceKind::Max && reduce.getKind() != ReduceKind::Min)
    return Value();
  auto extension = reduce.getValue().getDefiningOp<arith::ExtFOp>();
  Type type = extension ? extension.getIn().getType() : Type();
  return type && (type.isF16() || type.isBF16()) ? extension.getIn() : Value();
}

Type GPUKernelEmitter::getReducedType(kernel::RowReduceOp reduce) const {
  return getReducedValue(reduce).getType();
}

/// One instruction compares two narrow floats.
Value GPUKernelEmitter::getReducedValue(kernel::RowReduceOp reduce) const {
  Value narrow = lanes % 2 == 0 ? getNarrowSource(reduce) : Value();
  return narrow ? narrow : reduce.getValue();
}

/// Lanes are compared with how far away the column is: one subtraction for all.
Value GPUKernelEmitter::cloneOp(Operation *op, Frame &frame) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  std::optional<Value> place;
  if (compare && frame.lanes > 1 &&
      llvm::is_contained({arith::CmpIPredicate::eq, arith::CmpIPredicate::ne},
                         compare.getPredicate()))
    place = getComparedColumn(compare);
  if (!place || !frame.outer)
    return KernelEmitter::cloneOp(op, frame);
  OpBuilder &b = *frame.builder;
  Value wanted = evaluate(*place, *frame.outer);
  Type type = wanted.getType();
  Value first = type.isInteger(64)
                    ? frame.column
                    : arith::TruncIOp::create(b, loc, type, frame.column).getResult();
  Value distance = vector::BroadcastOp::create(
      b, loc, vectorOf(type, frame.lanes), arith::SubIOp::create(b, loc, wanted, first));
  SmallVector<Attribute> steps;
  for (int64_t lane = 0; lane < frame.lanes; ++lane)
    steps.push_back(b.getIntegerAttr(type, lane));
  Value lanesHere = arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(cast<VectorType>(vectorOf(type, frame.lanes)), steps));
  return arith::CmpIOp::create(b, loc, compare.getPredicate(), distance, lanesHere);
}

/// One load.
Value GPUKernelEmitter::reduceAtOnce(OpBuilder &b, kernel::RowReduceOp reduce,
                                     Frame &rowFrame) {
  std::optional<OneOfRow> one = getOneOfRow(reduce);
  if (!one)
    return Value();
  Value place = evaluate(one->column, rowFrame);
  Type type = place.getType();
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  };
  // Negative ones are large.
  Value exists = isBelow(b, place, number(columns));
  Frame frame;
  frame.builder = &b;
  frame.lanes = 1;
  frame.number = kOneColumn;
  frame.outer = &rowFrame;
  frame.column = widen(b, arith::SelectOp::create(b, loc, exists, place, number(0)));
  Value value = vector::ExtractOp::create(b, loc, evaluate(one->value, frame),
                                          ArrayRef<int64_t>{0});
  return arith::SelectOp::create(b, loc, exists, value,
                                 identity(b, ReduceKind::Sum, value.getType()));
}

Value GPUKernelEmitter::finishRowReduction(OpBuilder &b, ReduceKind kind, Value vector) {
  Value value = foldLanes(b, kind, vector);
  value = butterfly(b, kind, value, std::min(groupThreads, kWarp));
  if (groupThreads <= kWarp)
    return value;
  // What the warps have, in order.
  Type type = value.getType();
  Value warp = arith::DivUIOp::create(b, loc, thread, constant32(b, kWarp));
  Value lane = arith::RemUIOp::create(b, loc, thread, constant32(b, kWarp));
  Value isFirstLane =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, constant32(b, 0));
  barrier(b);
  OpBuilder first = scf::IfOp::create(b, loc, isFirstLane).getThenBodyBuilder();
  LLVM::StoreOp::create(first, loc, value, sharedPointer(first, type, warp));
  barrier(b);
  int64_t warps = groupThreads / kWarp;
  if (warps > kMostWarpsInOrder) {
    Value at = arith::RemUIOp::create(b, loc, lane, constant32(b, warps));
    value = LLVM::LoadOp::create(b, loc, type, sharedPointer(b, type, at));
    return butterfly(b, kind, value, warps);
  }
  Value base = arith::MulIOp::create(b, loc, group, constant32(b, warps));
  for (int64_t i = 0; i < warps; ++i) {
    Value at = arith::AddIOp::create(b, loc, base, constant32(b, i));
    Value part = LLVM::LoadOp::create(b, loc, type, sharedPointer(b, type, at));
    value = i == 0 ? part : combine(b, kind, value, part);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

KernelEmitter::Frame GPUKernelEmitter::makeFrame(OpBuilder &b, Frame *rowFrame,
                                                 unsigned number, Value vector) {
  Frame frame;
  frame.builder = &b;
  frame.outer = rowFrame;
  frame.number = number;
  frame.lanes = isCombining ? 1 : lanes;
  int64_t count = isCombining ? columns : vectors;
  int64_t covered =
      isCombining ? combineBlocks * combineThreads
                  : columnBlocks * groupThreads * std::max<int64_t>(framesPerThread, 1);
  bool isLoop = isCombining ? covered < count : framesPerThread == 0;
  // Threads after the last column read that column too, and store nothing.
  bool isWhole = isLoop ? count % (isCombining ? combineThreads : groupThreads) == 0
                        : covered == count;
  Value last = constant32(b, count - 1);
  frame.mask = isCombining ? combineMask : rowMask;
  if (!isWhole) {
    frame.mask = both(b, isBelow(b, vector, constant32(b, count)), frame.mask);
    vector = arith::MinUIOp::create(b, loc, vector, last);
  }
  frame.column = widen(b, vector);
  if (frame.lanes != 1)
    frame.column = arith::MulIOp::create(b, loc, frame.column, constant(b, frame.lanes));
  return frame;
}

SmallVector<Value> GPUKernelEmitter::walk(OpBuilder &b, Frame &rowFrame, ValueRange init,
                                          ColumnsBody body) {
  // Whole turns of a loop, and what is left.
  const int64_t perTurn = groupThreads * framesAtOnce;
  const int64_t whole = vectors / perTurn * perTurn;
  SmallVector<Value> carried(init);
  auto emitFrames = [&](OpBuilder &inner, Value first, int64_t count) {
    SmallVector<Frame> now;
    for (int64_t i = 0; i < count; ++i) {
      Frame &frame = now.emplace_back();
      frame.builder = &inner;
      frame.outer = &rowFrame;
      frame.lanes = lanes;
      Value vector =
          arith::AddIOp::create(inner, loc, first, constant32(inner, i * groupThreads));
      frame.column =
          arith::MulIOp::create(inner, loc, widen(inner, vector), constant(inner, lanes));
    }
    // Loads first: stores may be to the same bytes for all that LLVM knows. Those that
    // this walk does not need are removed.
    for (Frame &frame : now)
      for (BlockArgument argument : this->body.getArguments())
        if (isInRow && isFull(argument) &&
            buffers[argument.getArgNumber()].columnStride() != 0)
          (void)evaluate(argument, frame);
    for (Frame &frame : now)
      carried = body(frame, carried);
  };
  auto emitWhole = [&] {
    if (whole == 0)
      return;
    auto loop = scf::ForOp::create(b, loc, constant32(b, 0), constant32(b, whole),
                                   constant32(b, perTurn), carried);
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    Value first = loop.getInductionVar();
    if (isBackward)
      first =
          arith::SubIOp::create(inner, loc, constant32(inner, whole - perTurn), first);
    carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    emitFrames(inner, arith::AddIOp::create(inner, loc, first, inGroup), framesAtOnce);
    if (!init.empty())
      scf::YieldOp::create(inner, loc, carried);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  };
  const int64_t rest = (vectors - whole) / groupThreads, last = vectors % groupThreads;
  auto emitRest = [&] {
    if (rest != 0)
      emitFrames(b, arith::AddIOp::create(b, loc, inGroup, constant32(b, whole)), rest);
  };
  auto emitLast = [&] {
    if (last == 0)
      return;
    auto branch = scf::IfOp::create(b, loc, ValueRange(carried).getTypes(),
                                    isBelow(b, inGroup, constant32(b, last)),
                                    /*addThenBlock=*/true, /*addElseBlock=*/true);
    SmallVector<Value> before = carried;
    OpBuilder inner = OpBuilder::atBlockBegin(branch.thenBlock());
    emitFrames(
        inner,
        arith::AddIOp::create(inner, loc, inGroup, constant32(inner, vectors - last)), 1);
    scf::YieldOp::create(inner, loc, carried);
    OpBuilder other = OpBuilder::atBlockBegin(branch.elseBlock());
    scf::YieldOp::create(other, loc, before);
    carried.assign(branch.getResults().begin(), branch.getResults().end());
  };
  if (isBackward) {
    emitLast();
    emitRest();
    emitWhole();
  } else {
    emitWhole();
    emitRest();
    emitLast();
  }
  isBackward = !isBackward;
  return carried;
}

void GPUKernelEmitter::prefetchRow(OpBuilder &b, Value row) {
  setRow(b, row);
  const int64_t kept = framesPerThread == 0 ? framesAtOnce : framesPerThread;
  for (int64_t i = 0; i < kept; ++i) {
    Value vector =
        i == 0 ? inGroup
               : arith::AddIOp::create(b, loc, inGroup, constant32(b, i * groupThreads))
                     .getResult();
    if (columnBlocks * kept * groupThreads > vectors)
      vector = arith::MinUIOp::create(b, loc, vector, constant32(b, vectors - 1));
    Frame frame;
    frame.builder = &b;
    frame.lanes = lanes;
    frame.column =
        arith::MulIOp::create(b, loc, widen(b, vector), constant(b, frame.lanes));
    for (unsigned operand = 0; operand < body.getNumArguments(); ++operand) {
      const KernelBuffer &buffer = buffers[operand];
      if (buffer.columnStride() == 1 && buffer.strides.front() != 0)
        // LLVM has it for a newer PTX only.
        LLVM::InlineAsmOp::create(b, loc, TypeRange(), pointerTo(operand, frame),
                                  "prefetch.global.L2 [$0];", "l",
                                  /*has_side_effects=*/true, /*is_align_stack=*/false,
                                  LLVM::tailcallkind::TailCallKind::None,
                                  LLVM::AsmDialectAttr(), ArrayAttr());
    }
  }
}

SmallVector<Value> GPUKernelEmitter::forColumns(OpBuilder &b, Frame &rowFrame,
                                                ValueRange init, ColumnsBody body) {
  int64_t kept = framesPerThread, count = vectors, step = groupThreads;
  Value start = inGroup;
  if (isCombining) {
    kept = combineBlocks * combineThreads >= columns;
    count = columns;
    step = combineThreads;
  }
  SmallVector<Value> carried(init);
  if (kept == 0 && !isCombining)
    return walk(b, rowFrame, init, body);
  if (kept == 0) {
    auto loop = scf::ForOp::create(b, loc, constant32(b, 0), constant32(b, count),
                                   constant32(b, step), carried);
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    Value vector = arith::AddIOp::create(inner, loc, loop.getInductionVar(), start);
    Frame frame = makeFrame(inner, &rowFrame, 0, vector);
    SmallVector<Value> next = body(frame, loop.getRegionIterArgs());
    if (!init.empty())
      scf::YieldOp::create(inner, loc, next);
    return SmallVector<Value>(loop.getResults());
  }
  if (frames.empty() && onlyColumn) {
    Frame frame;
    frame.builder = &b;
    frame.lanes = lanes;
    frame.column = onlyColumn;
    frame.outer = &rowFrame;
    frame.values = sharedValues;
    frames.push_back(frame);
  }
  if (isPacked && !isCombining) {
    frames.clear();
    start = hide(b, start);
  }
  for (int64_t i = frames.size(); i < kept; ++i) {
    Value vector = start;
    if (i != 0)
      vector = arith::AddIOp::create(b, loc, vector, constant32(b, i * step));
    frames.push_back(makeFrame(b, &rowFrame, i, vector));
  }
  for (Frame &frame : frames)
    carried = body(frame, carried);
  return carried;
}

void GPUKernelEmitter::accumulate(const ColumnPartials &part, Value task, Frame &frame) {
  bool isFull = frame.lanes != 0;
  if (isFull && framesPerThread == 0)
    return KernelEmitter::accumulate(part, task, frame);
  OpBuilder &b = *frame.builder;
  kernel::ColumnReduceOp reduce = part.op;
  Value value = evaluate(reduce.getValue(), frame);
  if (rowMask)
    value = arith::SelectOp::create(b, loc, rowMask, value,
                                    identity(b, reduce.getKind(), value.getType()));
  size_t index = &part - info.getColumnPartials().data();
  Value &sum = sums[index][isFull ? frame.number : 0];
  sum = combine(b, reduce.getKind(), sum, value);
}

void GPUKernelEmitter::storeSums(OpBuilder &b, const ColumnPartials &part, Value task,
                                 ArrayRef<Value> values) {
  kernel::ColumnReduceOp reduce = part.op;
  Type element = reduce.getType();
  bool isFullPart = isFull(reduce.getValue());
  Value isFirstGroup = groups == 1
                           ? Value()
                           : arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                                   group, constant32(b, 0));
  rowMask = Value();
  for (auto [number, sum] : llvm::enumerate(values)) {
    Value value = sum;
    Frame frame;
    if (isFullPart) {
      Value vector =
          arith::AddIOp::create(b, loc, inGroup, constant32(b, number * groupThreads));
      frame = makeFrame(b, nullptr, number, vector);
    } else {
      frame.builder = &b;
      frame.lanes = 0;
    }
    if (groups > 1) {
      int64_t width = isFullPart ? lanes : 1;
      unsigned alignment = alignmentOf(element, width);
      auto place = [&](OpBuilder &at, Value index) {
        return sharedPointer(at, vectorOf(element, isFullPart ? lanes : 0), index);
      };
      barrier(b);
      LLVM::StoreOp::create(b, loc, value, place(b, thread), alignment);
      barrier(b);
      for (int64_t i = 1; i < groups; ++i) {
        Value at =
            arith::AddIOp::create(b, loc, inBlockRow, constant32(b, i * groupThreads));
        Value other =
            LLVM::LoadOp::create(b, loc, value.getType(), place(b, at), alignment);
        value = combine(b, reduce.getKind(), value, other);
      }
    }
    // Of the first group alone are these the sums in order.
    Value guard = both(b, isFirstGroup, isFullPart ? frame.mask : isFirst);
    Value pointer = partialPointer(b, part, task, frame.column);
    OpBuilder inner = b;
    if (guard)
      inner = scf::IfOp::create(b, loc, guard).getThenBodyBuilder();
    LLVM::StoreOp::create(inner, loc, value, pointer,
                          alignmentOf(element, isFullPart ? lanes : 1));
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void GPUKernelEmitter::emitPointwise(OpBuilder &b) {
  bool flat = isFlat();
  int64_t tail = flat ? columns % lanes : 0;
  int64_t total = countPoints();
  int64_t threads = getLaunches().front().threads;
  bool isWide = total > 0x7fffffff;
  Value first = isWide ? widen(b, block) : block;
  Value at = isWide ? widen(b, thread) : thread;
  auto number = [&](OpBuilder &builder, int64_t value) {
    return isWide ? constant(builder, value) : constant32(builder, value);
  };
  at = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, first, number(b, threads)), at);
  auto emitAt = [&](OpBuilder &inner, Value row, Value column) {
    frames.clear();
    onlyColumn = column;
    emitRow(inner, row, constant(inner, 0));
  };
  auto ifBelow = [&](OpBuilder &builder, int64_t bound, bool hasElse) {
    return scf::IfOp::create(builder, loc, isBelow(builder, at, number(builder, bound)),
                             hasElse);
  };
  if (!flat) {
    OpBuilder inner = ifBelow(b, total, false).getThenBodyBuilder();
    if (rowsPerThread > 1)
      return emitSharingRows(inner, widen(inner, at));
    Value perRow = number(inner, vectors);
    Value row = arith::DivUIOp::create(inner, loc, at, perRow);
    Value vector = arith::RemUIOp::create(inner, loc, at, perRow);
    emitAt(
        inner, widen(inner, row),
        arith::MulIOp::create(inner, loc, widen(inner, vector), constant(inner, lanes)));
    return;
  }
  auto whole = ifBelow(b, vectors, tail != 0);
  OpBuilder inner = whole.getThenBodyBuilder();
  emitAt(inner, constant(inner, 0),
         arith::MulIOp::create(inner, loc, widen(inner, at), constant(inner, lanes)));
  if (tail == 0)
    return;
  OpBuilder rest = whole.getElseBodyBuilder();
  OpBuilder one = ifBelow(rest, total, false).getThenBodyBuilder();
  // vectors * lanes + (at - vectors).
  Value column = arith::AddIOp::create(one, loc, widen(one, at),
                                       constant(one, vectors * lanes - vectors));
  int64_t saved = std::exchange(lanes, 1);
  emitAt(one, constant(one, 0), column);
  lanes = saved;
}

/// The rows of thread `at` (i64), which counts vectors, then the dimensions after
/// `sharedDim`, the indices of a tile that are done at once, tiles, and the dimensions
/// before.
void GPUKernelEmitter::emitSharingRows(OpBuilder &b, Value at) {
  auto takeIndex = [&](int64_t size) {
    Value bound = constant(b, size);
    Value index = arith::RemUIOp::create(b, loc, at, bound);
    at = arith::DivUIOp::create(b, loc, at, bound);
    return index;
  };
  frames.clear();
  onlyColumn = arith::MulIOp::create(b, loc, takeIndex(vectors), constant(b, lanes));
  rowIndices.assign(domain.size() - 1, Value());
  for (size_t dim = rowIndices.size(); --dim > sharedDim;)
    rowIndices[dim] = takeIndex(domain[dim]);
  Value inTile = takeIndex(rowsAtOnce);
  const int64_t perTile = rowsPerThread * rowsAtOnce, size = domain[sharedDim];
  Value first = arith::AddIOp::create(
      b, loc, inTile,
      arith::MulIOp::create(b, loc, takeIndex(tiles), constant(b, perTile)));
  for (size_t dim = sharedDim; dim-- > 0;)
    rowIndices[dim] = dim == 0 ? at : takeIndex(domain[dim]);
  // What the rows share does not depend on which of them it is.
  rowIndices[sharedDim] = first;
  Frame rowFrame, frame;
  rowFrame.builder = frame.builder = &b;
  frame.lanes = lanes;
  frame.column = onlyColumn;
  frame.outer = &rowFrame;
  for (Value value : findSharedValues(sharedDim))
    sharedValues[value] = evaluate(value, frame);
  Value end = arith::AddIOp::create(b, loc, first, constant(b, perTile));
  if (size % perTile != 0)
    end = arith::MinUIOp::create(b, loc, end, constant(b, size));
  auto loop = scf::ForOp::create(b, loc, first, end, constant(b, rowsAtOnce));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  rowIndices[sharedDim] = loop.getInductionVar();
  emitRowAtIndices(inner, constant(inner, 0));
  sharedValues.clear();
}

void GPUKernelEmitter::emitRows(OpBuilder &b) {
  Value row = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, block, constant32(b, groups)), group);
  rowMask = Value();
  if (rows % groups != 0) {
    rowMask = isBelow(b, row, constant32(b, rows));
    row = arith::MinUIOp::create(b, loc, row, constant32(b, rows - 1));
  }
  isFirst = both(
      b,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, inGroup, constant32(b, 0)),
      rowMask);
  frames.clear();
  packedWords.clear();
  isInRow = true;
  isBackward = false;
  emitRow(b, widen(b, row), constant(b, 0));
  isInRow = false;
}

void GPUKernelEmitter::emitColumns(OpBuilder &b) {
  inBlockRow = inGroup;
  if (columnBlocks > 1) {
    Value side = NVVM::BlockIdYOp::create(b, loc, b.getI32Type());
    inGroup = arith::AddIOp::create(
        b, loc, inGroup,
        arith::MulIOp::create(b, loc, side, constant32(b, groupThreads)));
  }
  // Of one task all loops have lengths that are known.
  emitTask(b, tasks == 1 ? constant(b, 0) : widen(b, block));
}

void GPUKernelEmitter::emitTask(OpBuilder &b, Value task) {
  ArrayRef<ColumnPartials> parts = info.getColumnPartials();
  Value inRow =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, inGroup, constant32(b, 0));
  SmallVector<Value> init;
  SmallVector<size_t> counts;
  rowMask = Value();
  for (const ColumnPartials &part : parts) {
    kernel::ColumnReduceOp reduce = part.op;
    bool full = isFull(reduce.getValue());
    counts.push_back(full ? framesPerThread : 1);
    Value start =
        identity(b, reduce.getKind(), vectorOf(reduce.getType(), full ? lanes : 0));
    init.append(counts.back(), start);
    if (counts.back() != 0)
      continue;
    Frame none;
    none.builder = &b;
    forColumns(b, none, {}, [&](Frame &frame, ValueRange) {
      OpBuilder &inner = *frame.builder;
      storeTo(partialPointer(inner, part, task, frame.column),
              identity(inner, reduce.getKind(), start.getType()), reduce.getType(),
              frame);
      return SmallVector<Value>();
    });
  }
  Value first = arith::MulIOp::create(b, loc, task, constant(b, rowsPerTask));
  Value last = arith::MinSIOp::create(
      b, loc, arith::AddIOp::create(b, loc, first, constant(b, rowsPerTask)),
      constant(b, rows));
  // All groups go round equally often: they meet at barriers.
  Value end =
      groups == 1
          ? last
          : arith::AddIOp::create(b, loc, first, constant(b, rowsPerTask)).getResult();
  auto loop = scf::ForOp::create(b, loc, first, end, constant(b, groups), init);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value row = loop.getInductionVar();
  if (groups > 1) {
    row = arith::AddIOp::create(inner, loc, row, widen(inner, group));
    rowMask = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt, row, last);
    row = arith::MinSIOp::create(inner, loc, row, constant(inner, rows - 1));
  }
  isFirst = both(inner, inRow, rowMask);
  // While this row is computed, the next one comes from memory.
  if (domain.size() == 2 && rowsPerTask > groups) {
    Value next = arith::AddIOp::create(inner, loc, row, constant(inner, groups));
    prefetchRow(inner,
                arith::MinSIOp::create(inner, loc, next, constant(inner, rows - 1)));
  }
  sums.clear();
  unsigned next = 0;
  for (size_t count : counts) {
    auto arguments = loop.getRegionIterArgs().slice(next, count);
    sums.emplace_back(arguments.begin(), arguments.end());
    next += count;
  }
  frames.clear();
  packedWords.clear();
  isInRow = true;
  isBackward = false;
  emitRow(inner, row, task);
  isInRow = false;
  SmallVector<Value> yielded;
  for (ArrayRef<Value> partSums : sums)
    yielded.append(partSums.begin(), partSums.end());
  if (!init.empty())
    scf::YieldOp::create(inner, loc, yielded);
  isFirst = inRow;
  next = 0;
  for (auto [part, count] : llvm::zip_equal(parts, counts)) {
    SmallVector<Value> values(loop.getResults().slice(next, count));
    next += count;
    storeSums(b, part, task, values);
  }
}

void GPUKernelEmitter::emitShared(OpBuilder &moduleBuilder, const Twine &name) {
  if (sharedBytes <= 0)
    return;
  auto words = LLVM::LLVMArrayType::get(moduleBuilder.getI64Type(),
                                        llvm::divideCeil(sharedBytes, 8));
  shared = LLVM::GlobalOp::create(moduleBuilder, loc, words, /*isConstant=*/false,
                                  LLVM::Linkage::Internal, name.str(), Attribute(),
                                  /*alignment=*/64, kShared);
}

void GPUKernelEmitter::emitBlock(OpBuilder &b, unsigned stage, ValueRange bufferPointers,
                                 Value partialPointer, Value blockX) {
  pointers.assign(bufferPointers.begin(), bufferPointers.end());
  partials = partialPointer;
  block = blockX;
  thread = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
  isFirst = rowMask = onlyColumn = Value();
  if (kernel.getKind() == kernel::KernelKind::Pointwise)
    return emitPointwise(b);
  if (stage == 1)
    return emitCombineStage(b);
  Value width = constant32(b, groupThreads);
  group = arith::DivUIOp::create(b, loc, thread, width);
  inGroup = arith::RemUIOp::create(b, loc, thread, width);
  if (kernel.getKind() == kernel::KernelKind::Row)
    return emitRows(b);
  emitColumns(b);
  if (!hasOneStage)
    return;
  // What all threads of the block have stored.
  barrier(b);
  emitCombineStage(b);
}

void GPUKernelEmitter::emit(OpBuilder &moduleBuilder) {
  MLIRContext *context = moduleBuilder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context, kGlobal);
  SmallVector<DeviceLaunch> launches = getLaunches();
  bool hasPartials = kernel.getKind() == kernel::KernelKind::Column;
  SmallVector<Type> parameters(buffers.size() + hasPartials, pointer);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), parameters);
  emitShared(moduleBuilder, kernel.getSymName() + "_shared");
  for (auto [stage, launch] : llvm::enumerate(launches)) {
    auto function = LLVM::LLVMFuncOp::create(moduleBuilder, loc, launch.function, type);
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                      moduleBuilder.getUnitAttr());
    function->setAttr(
        NVVM::NVVMDialect::getMaxntidAttrName(),
        moduleBuilder.getDenseI32ArrayAttr({static_cast<int32_t>(launch.threads)}));
    if (stage == 0 && blocksAtOnce != 0)
      function->setAttr(
          NVVM::NVVMDialect::getMinctasmAttrName(),
          moduleBuilder.getI32IntegerAttr(static_cast<int32_t>(blocksAtOnce)));
    Block *entry = function.addEntryBlock(moduleBuilder);
    OpBuilder b = OpBuilder::atBlockEnd(entry);
    emitBlock(b, stage, entry->getArguments().take_front(buffers.size()),
              hasPartials ? Value(entry->getArguments().back()) : Value(),
              NVVM::BlockIdXOp::create(b, loc, b.getI32Type()));
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }
}

//===----------------------------------------------------------------------===//
// Mapping to threads
//
// The half of the GPU's kernel emitter that decides: lanes, groups of threads,
// blocks. GPUKernelEmitter.cpp writes the code.
//===----------------------------------------------------------------------===//

/// Threads of a block. More would leave too few registers to a thread.
static constexpr int64_t kBlock = 256;
/// Vectors of a row, and values in them, that a thread keeps in registers.
static constexpr int64_t kMostFrames = 4, kMostKeptValues = 96;

/// Threads that share a long row, and the most words of it and of columns' sums that one
/// keeps: less than half of the registers that it can have.
static constexpr std::pair<int64_t, int64_t> kPackedRows[] = {
    {256, 48}, {512, 48}, {1024, 28}};

/// Threads that share a still longer row, which they read again for each reduction;
/// blocks of them that share a multiprocessor, so that one loads while another computes;
/// words that a thread loads before it works on them, and the vectors that these are at
/// most.
static constexpr int64_t kRereading = 512, kRereadingAtOnce = 2, kMostWordsAtOnce = 16,
                         kMostFramesAtOnce = 4;

/// Rows of a pointwise kernel that a thread takes at most, registers that it keeps what
/// they share in, and blocks that are left: four for each of an H200's 132 processors.
static constexpr int64_t kMostRows = 16, kMostSharedWords = 64, kLeastBlocks = 528;

/// Warps that share the tasks of a column kernel's second stage, if there are so many
/// tasks. More than the least number share them where each still has eight or more, which
/// it reads one after the other.
static constexpr int64_t kLeastCombineGroups = 8, kMostCombineGroups = 32;

GPUKernelEmitter::GPUKernelEmitter(kernel::FuncOp kernel, bool isBatched)
    : KernelEmitter(kernel), isBatched(isBatched) {
  hasRowReductions = !body.getOps<kernel::RowReduceOp>().empty();
  chooseLanes();
  chooseGroups();
}

void GPUKernelEmitter::chooseLanes() {
  int64_t narrowest = 16;
  for (const KernelBuffer &buffer : buffers)
    if (buffer.columnStride() == 1)
      narrowest = std::min(narrowest, bytesOf(buffer.element));
  lanes = std::min<int64_t>(std::min<int64_t>(8, 16 / narrowest),
                            llvm::bit_floor<uint64_t>(std::max<int64_t>(columns, 1)));
  // Every vector starts at a multiple of its size. A flat kernel's tail is done
  // by the element.
  auto isAligned = [&] {
    if (!isFlat() && columns % lanes != 0)
      return false;
    for (const KernelBuffer &buffer : buffers) {
      if (buffer.columnStride() != 1)
        continue;
      if (buffer.offset % lanes != 0)
        return false;
      for (size_t d = 0; d + 1 < domain.size(); ++d)
        if (domain[d] != 1 && buffer.strides[d] % lanes != 0)
          return false;
    }
    return true;
  };
  while (lanes > 1 && !isAligned())
    lanes /= 2;
  vectors = columns / lanes;
}

void GPUKernelEmitter::chooseGroups() {
  if (kernel.getKind() == kernel::KernelKind::Pointwise)
    return chooseSharedDim();
  int64_t kept = 0;
  for (BlockArgument argument : body.getArguments())
    kept += !isRowUniform(argument);
  bool storesRows = false;
  auto yield = cast<kernel::YieldOp>(body.getTerminator());
  for (Value value : yield.getValues())
    storesRows |= isRowUniform(value) && !info.isAfterColumns(value);
  if (kernel.getKind() == kernel::KernelKind::Column && !hasRowReductions &&
      !storesRows) {
    // Columns are independent.
    groupThreads = std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
    columnBlocks = llvm::divideCeil(vectors, groupThreads);
  } else if (vectors <= kWarp * kMostFrames) {
    groupThreads = std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
    framesPerThread = llvm::divideCeil(vectors, groupThreads);
  } else {
    groupThreads = std::min(kBlock, static_cast<int64_t>(llvm::alignTo(
                                        llvm::divideCeil(vectors, kMostFrames), kWarp)));
    framesPerThread = llvm::divideCeil(vectors, groupThreads);
  }
  int64_t fullSums = llvm::count_if(info.getColumnPartials(), [&](const auto &part) {
    return isFull(kernel::ColumnReduceOp(part.op).getValue());
  });
  int64_t values = std::max<int64_t>(kept, 1) + fullSums;
  if (framesPerThread > kMostFrames ||
      (framesPerThread > 1 && framesPerThread * lanes * values > kMostKeptValues))
    chooseLongRows(fullSums);
  bool isColumn = kernel.getKind() == kernel::KernelKind::Column;
  groups =
      std::max<int64_t>(1, (isColumn || isBatched ? kBlock : kBlock / 2) / groupThreads);
  // Sums in memory have one writer.
  if (framesPerThread == 0)
    groups = 1;
  if (groupThreads * groups < kWarp)
    groups = kWarp / groupThreads;
  if (groupThreads > kWarp)
    sharedBytes = 8 * groups * groupThreads / kWarp;
  for (const ColumnPartials &part : info.getColumnPartials())
    if (groups > 1)
      sharedBytes =
          std::max(sharedBytes, groups * groupThreads * lanes *
                                    bytesOf(kernel::ColumnReduceOp(part.op).getType()));
  if (isColumn)
    chooseCombine();
}

SmallVector<Value> GPUKernelEmitter::findSharedValues(size_t dim) {
  DenseSet<Value> shared;
  SmallVector<Value> needed;
  for (BlockArgument argument : body.getArguments())
    if (buffers[argument.getArgNumber()].strides[dim] == 0)
      shared.insert(argument);
  for (Operation &op : body.without_terminator()) {
    auto index = dyn_cast<kernel::IndexOp>(op);
    if (index ? index.getDim() != dim
              : llvm::all_of(op.getOperands(),
                             [&](Value operand) { return shared.contains(operand); }))
      shared.insert(op.getResult(0));
  }
  auto addNeeded = [&](Value value) {
    if (!value.getDefiningOp<arith::ConstantOp>() &&
        llvm::any_of(value.getUsers(), [&](Operation *user) {
          return user->getNumResults() == 0 || !shared.contains(user->getResult(0));
        }))
      needed.push_back(value);
  };
  for (Value argument : body.getArguments())
    if (shared.contains(argument))
      addNeeded(argument);
  for (Operation &op : body.without_terminator())
    if (shared.contains(op.getResult(0)))
      addNeeded(op.getResult(0));
  return needed;
}

/// A row of bf16 reads, with each 16 bytes of its own, 32 of every f32 vector that all
/// rows share. These are in a cache, but its rate is not twice that of memory. Threads
/// that take several rows load them once.
void GPUKernelEmitter::chooseSharedDim() {
  if (isFlat() || domain.size() < 2 || rows <= 1)
    return;
  int64_t shared = 0;
  for (size_t dim = 0; dim + 1 < domain.size(); ++dim) {
    int64_t bytes = 0;
    for (BlockArgument argument : body.getArguments()) {
      const KernelBuffer &buffer = buffers[argument.getArgNumber()];
      if (buffer.strides[dim] == 0 && buffer.columnStride() != 0)
        bytes += lanes * bytesOf(buffer.element);
    }
    int64_t words = 0;
    for (Value value : findSharedValues(dim))
      words +=
          isRowUniform(value) ? 1 : llvm::divideCeil(lanes * bytesOf(value.getType()), 4);
    if (domain[dim] > 1 && bytes > 0 && bytes >= shared && words <= kMostSharedWords) {
      shared = bytes;
      sharedDim = dim;
    }
  }
  int64_t own = -shared;
  for (const KernelBuffer &buffer : buffers)
    if (buffer.columnStride() != 0)
      own += lanes * bytesOf(buffer.element);
  // Until what rows share is a quarter of the rest.
  const int64_t size = domain[sharedDim];
  while (rowsPerThread < kMostRows && 2 * rowsPerThread <= size &&
         4 * shared > rowsPerThread * own &&
         rows * vectors >= 2 * rowsPerThread * kLeastBlocks * kBlock)
    rowsPerThread *= 2;
  if (rowsPerThread == 1)
    return;
  int64_t inner = vectors;
  for (size_t dim = sharedDim + 1; dim + 1 < domain.size(); ++dim)
    inner *= domain[dim];
  rowsAtOnce =
      std::clamp<int64_t>(kBlock / inner, 1, llvm::divideCeil(size, rowsPerThread));
  tiles = llvm::divideCeil(size, rowsPerThread * rowsAtOnce);
}

int64_t GPUKernelEmitter::countPoints() {
  if (isFlat())
    return vectors + columns % lanes;
  return rowsPerThread == 1 ? rows * vectors
                            : rows / domain[sharedDim] * tiles * rowsAtOnce * vectors;
}

void GPUKernelEmitter::chooseCombine() {
  bool storesColumns = false, storesScalars = false;
  auto yield = cast<kernel::YieldOp>(body.getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (info.isAfterColumns(value)) {
      bool isOnce =
          isRowUniform(value) && buffers[body.getNumArguments() + i].columnStride() == 0;
      (isOnce ? storesScalars : storesColumns) = true;
    }
  // A scalar that one block stores may take the place of one that all blocks read.
  bool sharesScalars =
      storesColumns && storesScalars && llvm::any_of(body.getArguments(), [&](auto it) {
        return llvm::all_of(buffers[it.getArgNumber()].strides,
                            [](int64_t stride) { return stride == 0; });
      });
  // Blocks side by side have the sums of their own columns alone.
  hasOneStage =
      tasks == 1 && (columnBlocks == 1 || !storesScalars) &&
      llvm::all_of(info.getColumnPartials(), [&](const auto &part) {
        return columnBlocks == 1 || isFull(kernel::ColumnReduceOp(part.op).getValue());
      });
  if (hasOneStage) {
    combineBlocks = columnBlocks;
    combineThreads = columnBlocks == 1 ? groupThreads * groups : groupThreads * lanes;
    return;
  }
  combineThreads = kWarp;
  if (storesColumns) {
    combineThreads = std::min(
        sharesScalars ? kBlock : kBlock / 2,
        static_cast<int64_t>(llvm::alignTo(std::max<int64_t>(columns, 1), kWarp)));
    if (!sharesScalars) {
      if (tasks >= kLeastCombineGroups) {
        combineThreads = kWarp;
        combineGroups =
            std::clamp(static_cast<int64_t>(llvm::bit_floor<uint64_t>(tasks / 8)),
                       kLeastCombineGroups, kMostCombineGroups);
        sharedBytes = std::max(sharedBytes, 8 * combineThreads * combineGroups);
      }
      combineBlocks = llvm::divideCeil(columns, combineThreads);
    }
  }
}

/// Rows of which a thread cannot keep all values of several vectors.
void GPUKernelEmitter::chooseLongRows(int64_t fullSums) {
  if (vectors <= kBlock) {
    groupThreads = llvm::alignTo(vectors, kWarp);
    framesPerThread = 1;
    return;
  }
  int64_t words = fullSums * lanes;
  for (BlockArgument argument : body.getArguments())
    if (isKeptPacked(argument.getArgNumber()))
      words += lanes * bytesOf(buffers[argument.getArgNumber()].element) / 4;
  for (auto [threads, mostWords] : kPackedRows) {
    int64_t frames = llvm::divideCeil(vectors, threads);
    if (words == 0 || frames * words > mostWords)
      continue;
    // One block of so many threads and registers has a multiprocessor to itself.
    if (fullSums == 0 && threads > kBlock)
      break;
    groupThreads = threads;
    framesPerThread = frames;
    isPacked = true;
    return;
  }
  framesPerThread = 0;
  groupThreads = kBlock;
  if (vectors >= 2 * kRereading) {
    groupThreads = kRereading;
    blocksAtOnce = kRereadingAtOnce;
  }
  framesAtOnce = std::clamp<int64_t>(kMostWordsAtOnce / std::max<int64_t>(words, 1), 1,
                                     kMostFramesAtOnce);
}

SmallVector<DeviceLaunch> GPUKernelEmitter::getLaunches() {
  DeviceLaunch launch;
  launch.function = kernel.getSymName().str();
  switch (kernel.getKind()) {
  case kernel::KernelKind::Pointwise: {
    int64_t total = countPoints();
    launch.threads = std::min(
        kBlock, static_cast<int64_t>(llvm::alignTo(std::max<int64_t>(total, 1), kWarp)));
    launch.blocks[0] = std::max<int64_t>(1, llvm::divideCeil(total, launch.threads));
    return {launch};
  }
  case kernel::KernelKind::Row:
    launch.threads = groupThreads * groups;
    launch.blocks[0] = std::max<int64_t>(1, llvm::divideCeil(rows, groups));
    return {launch};
  case kernel::KernelKind::Column:
    break;
  }
  launch.threads = groupThreads * groups;
  launch.blocks[0] = tasks;
  launch.blocks[1] = columnBlocks;
  if (hasOneStage)
    return {launch};
  DeviceLaunch second;
  second.function = launch.function + "_combine";
  second.blocks[0] = combineBlocks;
  second.threads = combineThreads * combineGroups;
  return {launch, second};
}

LogicalResult GPUKernelEmitter::check() {
  if (failed(KernelEmitter::check()))
    return failure();
  if (rows * columns <= 0)
    return kernel.emitError("a kernel over no points cannot be launched");
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (kernel.getKind() != kernel::KernelKind::Pointwise &&
      (rows > most || columns > most))
    return kernel.emitError("rows and columns of a reduction must be below 2^31 each");
  for (const DeviceLaunch &launch : getLaunches())
    if (launch.blocks[0] > most || launch.blocks[1] > 0xffff)
      return kernel.emitError("the domain is too large for a launch: ")
             << launch.blocks[0] << " x " << launch.blocks[1] << " blocks";
  for (Operation &op : body.without_terminator())
    if (isa<math::MathDialect>(op.getDialect())) {
      Type type = op.getResult(0).getType();
      if (!type.isF32() && !type.isF64() && !type.isInteger())
        return op.emitError("math functions run in f32 and f64 on a GPU, found ") << type;
    }
  return success();
}

SmallVector<DeviceLaunch> mpt::getDeviceLaunches(kernel::FuncOp kernel) {
  return GPUKernelEmitter(kernel).getLaunches();
}

//===----------------------------------------------------------------------===//
// The second stage of column kernels
//
// Adds what the tasks have left: a warp's threads have a column each, and groups of
// warps share the tasks.
//===----------------------------------------------------------------------===//

/// The sum of a column over all tasks: every group takes some, in turns; then the
/// groups' sums, in order. All groups have the result.
void GPUKernelEmitter::sumTasksInGroups(const ColumnPartials &part, Frame &frame) {
  OpBuilder &b = *frame.builder;
  kernel::ColumnReduceOp reduce = part.op;
  ReduceKind kind = reduce.getKind();
  Value start = identity(b, kind, vectorOf(reduce.getType(), frame.lanes));
  int64_t turns = llvm::divideCeil(tasks, combineGroups);
  Value first = widen(b, group);
  auto loop = scf::ForOp::create(b, loc, constant(b, 0), constant(b, turns),
                                 constant(b, 1), ValueRange{start});
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Frame turn = frame;
  turn.builder = &inner;
  Value task =
      arith::AddIOp::create(inner, loc,
                            arith::MulIOp::create(inner, loc, loop.getInductionVar(),
                                                  constant(inner, combineGroups)),
                            first);
  Value exists;
  if (tasks % combineGroups != 0) {
    exists = isBelow(inner, task, constant(inner, tasks));
    task = arith::MinUIOp::create(inner, loc, task, constant(inner, tasks - 1));
  }
  Value value =
      loadFrom(partialPointer(inner, part, task, frame.column), reduce.getType(), turn);
  if (exists)
    value = arith::SelectOp::create(inner, loc, exists, value,
                                    identity(inner, kind, value.getType()));
  scf::YieldOp::create(inner, loc, combine(inner, kind, loop.getRegionIterArg(0), value));
  value = loop.getResult(0);
  Type type = value.getType();
  barrier(b);
  LLVM::StoreOp::create(b, loc, value, sharedPointer(b, type, thread));
  barrier(b);
  for (int64_t i = 0; i < combineGroups; ++i) {
    Value at =
        arith::AddIOp::create(b, loc, inBlockRow, constant32(b, i * combineThreads));
    Value other = LLVM::LoadOp::create(b, loc, type, sharedPointer(b, type, at));
    value = i == 0 ? other : combine(b, kind, value, other);
  }
  if (kind == ReduceKind::Mean)
    value = scale(b, value, rows);
  frame.values[reduce] = value;
}

void GPUKernelEmitter::sumTasks(const ColumnPartials &part, Frame &frame) {
  if (frame.lanes != 0)
    return combineGroups > 1 ? sumTasksInGroups(part, frame)
                             : KernelEmitter::sumTasks(part, frame);
  // A warp shares the tasks.
  OpBuilder &b = *frame.builder;
  kernel::ColumnReduceOp reduce = part.op;
  Value lane = widen(b, arith::RemUIOp::create(b, loc, thread, constant32(b, kWarp)));
  Value start = identity(b, reduce.getKind(), reduce.getType());
  auto loop = scf::ForOp::create(b, loc, lane, constant(b, tasks), constant(b, kWarp),
                                 ValueRange{start});
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value pointer = partialPointer(inner, part, loop.getInductionVar(), Value());
  Value value = LLVM::LoadOp::create(inner, loc, reduce.getType(), pointer);
  scf::YieldOp::create(inner, loc,
                       combine(inner, reduce.getKind(), loop.getRegionIterArg(0), value));
  Value result = butterfly(b, reduce.getKind(), loop.getResult(0), kWarp);
  if (reduce.getKind() == ReduceKind::Mean)
    result = scale(b, result, rows);
  frame.values[reduce] = result;
}

void GPUKernelEmitter::emitCombineStage(OpBuilder &b) {
  isCombining = true;
  rowMask = Value();
  frames.clear();
  onlyColumn = Value();
  inBlockRow = thread;
  combineMask = Value();
  if (combineGroups > 1) {
    inBlockRow = arith::RemUIOp::create(b, loc, thread, constant32(b, combineThreads));
    group = arith::DivUIOp::create(b, loc, thread, constant32(b, combineThreads));
    combineMask =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, group, constant32(b, 0));
  }
  if (hasOneStage && combineBlocks > 1)
    combineMask = isBelow(b, thread, constant32(b, combineThreads));
  inGroup = inBlockRow;
  if (combineBlocks > 1) {
    Value side = hasOneStage ? NVVM::BlockIdYOp::create(b, loc, b.getI32Type()) : block;
    inGroup = arith::AddIOp::create(
        b, loc, inBlockRow,
        arith::MulIOp::create(b, loc, side, constant32(b, combineThreads)));
  }
  isFirst = both(
      b,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, inGroup, constant32(b, 0)),
      combineMask);
  emitCombine(b);
  isCombining = false;
}

//===----------------------------------------------------------------------===//
// Many launches as one
//
// An optimizer has the same kernel for every parameter, of its own size. One
// function does all: a table says which blocks work on which parameter and where
// its buffers lie (as multi_tensor_apply of NVIDIA's Apex does at run time). Where
// launches are small, the table also says which of several kernels a block runs.
//===----------------------------------------------------------------------===//

static constexpr int64_t kThreads = 256;

std::optional<std::string> GPUKernelEmitter::getGroupKey() {
  // Rows of parts of larger tensors have a length that all members share.
  const bool hasRows = kernel.getKind() == kernel::KernelKind::Pointwise &&
                       domain.size() == 2 && columns % lanes == 0;
  // A thread that takes several rows saves more than a launch takes.
  if (!(isFlat() || hasRows) || rowsPerThread > 1 || columns <= 0 ||
      rows > 0x7fff0000 / columns || !body.getOps<kernel::IndexOp>().empty())
    return std::nullopt;
  std::string key;
  llvm::raw_string_ostream os(key);
  if (hasRows)
    os << columns << " columns;";
  // A single point finds its elements whatever their strides are.
  const bool isPoint = isFlat() && columns == 1;
  if (isPoint)
    os << "point;";
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    bool isResult = i >= body.getNumArguments();
    // The table says where the first element lies, for vectors.
    if (buffer.offset * bytesOf(buffer.element) % 16 != 0)
      return std::nullopt;
    if (!isPoint &&
        (buffer.columnStride() > 1 || (isResult && buffer.columnStride() != 1)))
      return std::nullopt;
    os << buffer.element << " " << (isPoint ? 0 : buffer.columnStride()) << ";";
    if (hasRows)
      os << buffer.strides.front() << ";";
  }
  // The body, its values by number.
  DenseMap<Value, unsigned> numbers;
  auto number = [&](Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  };
  for (BlockArgument argument : body.getArguments())
    number(argument);
  for (Operation &op : body) {
    os << "\n" << op.getName() << op.getAttrDictionary();
    for (Value operand : op.getOperands())
      os << " " << number(operand);
    for (Value result : op.getResults())
      os << " " << number(result) << ":" << result.getType();
  }
  return key;
}

int64_t GPUKernelEmitter::getGroupBlocks(int64_t elements) const {
  return llvm::divideCeil(elements / lanes + elements % lanes, kThreads);
}

void GPUKernelEmitter::emitMember(OpBuilder &b, ValueRange memberPointers, Value inMember,
                                  Value elements) {
  thread = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
  isFirst = rowMask = onlyColumn = partials = Value();
  pointers.assign(memberPointers.begin(), memberPointers.end());
  for (KernelBuffer &buffer : buffers)
    buffer.offset = 0;
  Value at = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, inMember, constant32(b, kThreads)), thread);
  Value whole = arith::DivUIOp::create(b, loc, elements, constant32(b, lanes));
  Value tail = arith::RemUIOp::create(b, loc, elements, constant32(b, lanes));
  auto emitAt = [&](OpBuilder &inner, Value column, Value row = Value()) {
    frames.clear();
    onlyColumn = column;
    emitRow(inner, row ? row : constant(inner, 0), constant(inner, 0));
  };
  if (!isFlat()) {
    OpBuilder inner =
        scf::IfOp::create(b, loc, isBelow(b, at, whole), false).getThenBodyBuilder();
    Value perRow = constant32(inner, vectors);
    Value row = arith::DivUIOp::create(inner, loc, at, perRow);
    Value vector = arith::RemUIOp::create(inner, loc, at, perRow);
    emitAt(
        inner,
        arith::MulIOp::create(inner, loc, widen(inner, vector), constant(inner, lanes)),
        widen(inner, row));
    return;
  }
  auto branch =
      scf::IfOp::create(b, loc, isBelow(b, at, whole), /*withElseRegion=*/lanes > 1);
  OpBuilder vector = branch.getThenBodyBuilder();
  emitAt(vector,
         arith::MulIOp::create(vector, loc, widen(vector, at), constant(vector, lanes)));
  if (lanes == 1)
    return;
  OpBuilder rest = branch.getElseBodyBuilder();
  Value past = arith::SubIOp::create(rest, loc, at, whole);
  OpBuilder one =
      scf::IfOp::create(rest, loc, isBelow(rest, past, tail), false).getThenBodyBuilder();
  Value first = arith::MulIOp::create(one, loc, whole, constant32(one, lanes));
  Value column = arith::AddIOp::create(one, loc, first, past);
  int64_t saved = std::exchange(lanes, 1);
  emitAt(one, widen(one, column));
  lanes = saved;
}

DeviceLaunch GPUKernelEmitter::emitGroup(OpBuilder &moduleBuilder, StringRef name,
                                         ArrayRef<Member> members,
                                         ArrayRef<GroupPart> parts, unsigned parameters) {
  MLIRContext *context = moduleBuilder.getContext();
  const Location loc = parts.front().emitter->loc;
  auto pointer = LLVM::LLVMPointerType::get(context, kGlobal);
  DeviceLaunch launch;
  launch.function = name.str();
  launch.threads = kThreads;
  // First block, elements, offsets, and, of several parts, which one.
  const bool isMixed = parts.size() > 1;
  size_t buffers = 0;
  for (const GroupPart &part : parts)
    buffers = std::max(buffers, part.parameters.size());
  int64_t partField = 2 + static_cast<int64_t>(buffers), blocks = 0;
  SmallVector<int64_t> table;
  for (const Member &member : members) {
    size_t end = table.size() + partField;
    table.append({blocks, member.elements});
    table.append(member.offsets);
    table.resize(end, 0);
    if (isMixed)
      table.push_back(member.part);
    blocks += parts[member.part].emitter->getGroupBlocks(member.elements);
  }
  launch.blocks[0] = blocks;
  Type i32 = moduleBuilder.getI32Type();
  LaunchTable lookup(moduleBuilder, loc, name, table, partField + isMixed);

  SmallVector<Type> types(parameters, pointer);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto function = LLVM::LLVMFuncOp::create(moduleBuilder, loc, launch.function, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    moduleBuilder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    moduleBuilder.getDenseI32ArrayAttr({static_cast<int32_t>(kThreads)}));
  Block *entry = function.addEntryBlock(moduleBuilder);
  OpBuilder b = OpBuilder::atBlockEnd(entry);
  Value block = NVVM::BlockIdXOp::create(b, loc, i32);
  lookup.find(b, block);
  auto narrow = [&](Value wide) -> Value {
    return arith::TruncIOp::create(b, loc, i32, wide);
  };
  Value inMember = arith::SubIOp::create(b, loc, block, narrow(lookup.read(b, 0)));
  Value elements = narrow(lookup.read(b, 1));
  Value chosen = isMixed ? narrow(lookup.read(b, partField)) : Value();
  for (auto [number, part] : llvm::enumerate(parts)) {
    OpBuilder inner = b;
    if (isMixed) {
      Value isThis = arith::CmpIOp::create(
          b, loc, arith::CmpIPredicate::eq, chosen,
          arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(number)));
      inner = scf::IfOp::create(b, loc, isThis).getThenBodyBuilder();
    }
    SmallVector<Value> pointers;
    for (auto [i, parameter] : llvm::enumerate(part.parameters))
      pointers.push_back(LLVM::GEPOp::create(
          inner, loc, pointer, inner.getI8Type(), entry->getArgument(parameter),
          ArrayRef<LLVM::GEPArg>{lookup.read(inner, 2 + static_cast<int64_t>(i))}));
    part.emitter->emitMember(inner, pointers, inMember, elements);
  }
  LLVM::ReturnOp::create(b, loc, ValueRange());
  return launch;
}
