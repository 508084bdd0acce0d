//===- KernelEmitter.cpp - A kernel as loops over vectors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "EightBitFloats.h"
#include "RowValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Elements between two indices of each dimension.
static SmallVector<int64_t> getStrides(ShapedType type) {
  // The verifier has checked that a buffer has strides, and no offset.
  auto buffer = dyn_cast<MemRefType>(type);
  return buffer ? buffer.getStridesAndOffset().first : computeStrides(type.getShape());
}

static KernelBuffer describe(ShapedType type, AffineMap map, size_t rank) {
  KernelBuffer buffer;
  buffer.element = type.getElementType();
  buffer.strides.assign(rank, 0);
  for (auto [i, stride] : llvm::enumerate(getStrides(type))) {
    // The verifier has checked that the map is linear.
    FailureOr<SmallVector<int64_t>> linear =
        kernel::getLinearCoefficients(map.getResult(i), rank);
    if (succeeded(linear)) {
      for (size_t d = 0; d < rank; ++d)
        buffer.strides[d] += (*linear)[d] * stride;
      buffer.offset += linear->back() * stride;
    }
  }
  return buffer;
}

KernelEmitter::KernelEmitter(kernel::FuncOp kernel, bool hasManyRegisters)
    : kernel(kernel), info(kernel), body(kernel.getBody().front()), loc(kernel.getLoc()),
      domain(kernel.getDomain()),
      tasks(getKernelTasks(kernel.getDomain(), kernel.getChunkRows())),
      rowsPerTask(kernel.getChunkRows()), hasManyRegisters(hasManyRegisters) {
  auto add = [&](TypeRange types, ArrayAttr maps) {
    for (auto [type, map] : llvm::zip(types, maps))
      buffers.push_back(describe(cast<ShapedType>(type),
                                 cast<AffineMapAttr>(map).getValue(), domain.size()));
  };
  add(kernel.getFunctionType().getInputs(), kernel.getOperandMaps());
  add(kernel.getFunctionType().getResults(), kernel.getResultMaps());
  mergeDimensions();
  findUniformValues();
  rows = getKernelRows(domain);
  columns = getKernelColumns(domain);
  lanes = std::min<int64_t>(kLanes, llvm::PowerOf2Ceil(std::max<int64_t>(columns, 1)));
  for (Operation &op : body.without_terminator()) {
    unsigned level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, levels.lookup(operand));
    if (isa<kernel::RowReduceOp>(op))
      mostLevels = std::max(mostLevels, ++level);
    for (Value result : op.getResults())
      levels[result] = level;
  }
  countsColumns =
      llvm::any_of(body.getOps<kernel::IndexOp>(), [&](kernel::IndexOp index) {
        return index.getDim() + 1 == domain.size() && index.getType().isInteger(32);
      });
  keptValues = chooseRowValues(
      body, [&](Value value) { return isFull(value); }, levels, mostLevels,
      llvm::alignTo(columns, lanes));
}

void KernelEmitter::mergeDimensions() {
  // An index names a dimension of the domain as it is.
  if (!body.getOps<kernel::IndexOp>().empty())
    return;
  auto merge = [&](SmallVectorImpl<int64_t> &sizes, MutableArrayRef<KernelBuffer> places,
                   size_t dim) {
    int64_t outer = sizes[dim], inner = sizes[dim + 1];
    for (const KernelBuffer &buffer : places)
      if (outer != 1 && inner != 1 &&
          buffer.strides[dim] != buffer.strides[dim + 1] * inner)
        return false;
    for (KernelBuffer &buffer : places) {
      if (inner == 1)
        buffer.strides[dim + 1] = buffer.strides[dim];
      buffer.strides.erase(buffer.strides.begin() + dim);
    }
    sizes[dim + 1] = outer * inner;
    sizes.erase(sizes.begin() + dim);
    return true;
  };
  // Rows are taken in the same order whatever dimensions they come from.
  for (size_t dim = domain.size() < 3 ? 0 : domain.size() - 2; dim-- > 0;)
    (void)merge(domain, buffers, dim);
  if (kernel.getKind() != kernel::KernelKind::Pointwise)
    return;
  // Points depend on no others: rows may grow as long as each task has some.
  while (domain.size() > 1) {
    SmallVector<int64_t> sizes = domain;
    SmallVector<KernelBuffer> places = buffers;
    if (!merge(sizes, places, domain.size() - 2))
      break;
    if (sizes.size() > 1 && getKernelRows(sizes) < tasks)
      break;
    domain = std::move(sizes);
    buffers = std::move(places);
  }
  rowsPerTask = llvm::divideCeil(getKernelRows(domain), tasks);
}

void KernelEmitter::findUniformValues() {
  bool isPointwise = kernel.getKind() == kernel::KernelKind::Pointwise;
  for (BlockArgument argument : body.getArguments())
    if (isPointwise ? buffers[argument.getArgNumber()].columnStride() == 0
                    : info.isRowUniform(argument))
      rowUniform.insert(argument);
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults())
      if (isPointwise && !isa<kernel::IndexOp>(op)
              ? llvm::all_of(op.getOperands(), [&](Value v) { return isRowUniform(v); })
              : info.isRowUniform(result))
        rowUniform.insert(result);
}

LogicalResult KernelEmitter::check() {
  auto isKnown = [](Type type) {
    return type.isF32() || type.isF64() || type.isF16() || type.isBF16() ||
           isEightBitFloat(type) || type.isInteger(1) || type.isInteger(8) ||
           type.isInteger(16) || type.isInteger(32) || type.isInteger(64);
  };
  for (const KernelBuffer &buffer : buffers)
    if (!isKnown(buffer.element))
      return kernel.emitError("the code generator cannot store ")
             << buffer.element << "; convert it with mpt.cast before";
  for (Operation &op : body.without_terminator()) {
    if (isa<kernel::RowReduceOp, kernel::ColumnReduceOp, kernel::IndexOp>(op)) {
      if (isa<kernel::RowReduceOp>(op) && info.isAfterColumns(op.getResult(0)))
        return op.emitError("cannot reduce a row of what depends on a column "
                            "reduction; split the kernel there");
      continue;
    }
    if (op.getNumRegions() != 0 || op.getNumResults() != 1 ||
        !isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      return op.emitError("cannot be in a kernel's body: only arith and math ops "
                          "of one result can");
    Type result = op.getResult(0).getType();
    if (!isKnown(result))
      return op.emitError("the code generator cannot compute ") << result;
    // Eight-bit floats are only moved and converted.
    bool isMove = isa<arith::ConstantOp, arith::SelectOp, arith::TruncFOp, arith::ExtFOp,
                      arith::SIToFPOp, arith::UIToFPOp>(op);
    bool hasEightBits =
        isEightBitFloat(result) || llvm::any_of(op.getOperandTypes(), isEightBitFloat);
    if (hasEightBits && !isMove)
      return op.emitError("8-bit floats can only be moved and converted; "
                          "compute in f32");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value KernelEmitter::getFirstColumns(OpBuilder &b) {
  SmallVector<int32_t> first =
      llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(lanes)));
  auto type = VectorType::get({lanes}, b.getI32Type());
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(first)));
}

Value KernelEmitter::getColumnStep(OpBuilder &b, int64_t step) {
  auto type = VectorType::get({lanes}, b.getI32Type());
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, static_cast<int32_t>(step)));
}

KernelEmitter::Frame KernelEmitter::makeFrame(OpBuilder &b, Frame &rowFrame,
                                              Value column) {
  Frame frame;
  frame.builder = &b;
  frame.lanes = lanes;
  frame.column = column;
  frame.outer = &rowFrame;
  return frame;
}

SmallVector<Value> KernelEmitter::forVectors(
    OpBuilder &b, Frame &rowFrame, Value begin, Value end, ValueRange init,
    function_ref<SmallVector<Value>(Frame &, ValueRange)> emitBody) {
  SmallVector<Value> carried(init);
  const bool carriesColumns = countsColumns && !flatBegin;
  Value step;
  if (carriesColumns) {
    carried.push_back(getFirstColumns(b));
    step = getColumnStep(b, lanes);
  }
  auto loop = scf::ForOp::create(b, loc, begin, end, constant(b, lanes), carried);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Frame frame = makeFrame(inner, rowFrame, loop.getInductionVar());
  ValueRange before = loop.getRegionIterArgs();
  if (carriesColumns)
    frame.columnNumbers = before.back();
  SmallVector<Value> next = emitBody(frame, before.take_front(init.size()));
  if (carriesColumns)
    next.push_back(arith::AddIOp::create(inner, loc, before.back(), step));
  if (!carried.empty())
    scf::YieldOp::create(inner, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults().take_front(init.size()));
}

SmallVector<Value> KernelEmitter::forColumns(
    OpBuilder &b, Frame &rowFrame, ValueRange init,
    function_ref<SmallVector<Value>(Frame &, ValueRange)> emitBody) {
  int64_t whole = columns / lanes * lanes;
  SmallVector<Value> carried(init);
  if (whole > 0)
    carried = forVectors(b, rowFrame, flatBegin ? flatBegin : constant(b, 0),
                         flatEnd ? flatEnd : constant(b, whole), init, emitBody);
  if (whole < columns) {
    SmallVector<bool> exists(lanes);
    for (int64_t lane = 0; lane < lanes; ++lane)
      exists[lane] = whole + lane < columns;
    // In a flat kernel only one task has it (and no values are carried).
    OpBuilder inner = b;
    if (flatTail)
      inner = scf::IfOp::create(b, loc, flatTail).getThenBodyBuilder();
    Frame frame = makeFrame(inner, rowFrame, constant(inner, whole));
    frame.mask = arith::ConstantOp::create(
        inner, loc,
        DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()),
                               ArrayRef<bool>(exists)));
    carried = emitBody(frame, carried);
  }
  return carried;
}

/// Whether `op` takes one instruction for a vector, or few whose values 32 registers hold
/// for four vectors.
static bool isShort(Operation *op) {
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (type.getIntOrFloatBitWidth() > 32)
      return false;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::MulSIExtendedOp, arith::MulUIExtendedOp>(op))
    return false;
  return !isa<math::MathDialect>(op->getDialect()) ||
         isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp,
             math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op);
}

/// Whether `op` becomes a polynomial, a long chain of ops that each need the one before.
static bool isChain(Operation *op) {
  return getElementTypeOrSelf(op->getResult(0).getType()).isF32() &&
         isa<math::ErfOp, math::ExpOp, math::LogOp, math::TanhOp>(op);
}

int64_t KernelEmitter::getLongLanes() {
  if (!hasManyRegisters || !isForVectors() || !walksAlongRows() || lanes != kLanes)
    return 0;
  // What is read or written one by one gains nothing.
  if (!tables.empty() || llvm::any_of(buffers, [&](const KernelBuffer &buffer) {
        return laneStride(buffer) > 1 || laneStride(buffer) < 0;
      }))
    return 0;
  bool hasChain = false;
  for (Operation &op : body.without_terminator()) {
    if (isa<kernel::ColumnReduceOp, kernel::RowReduceOp>(op) || !isFull(op.getResult(0)))
      continue;
    if (isChain(&op))
      hasChain = true;
    else if (!isShort(&op))
      return 0;
  }
  auto yield = cast<kernel::YieldOp>(body.getTerminator());
  const bool roundsToBF16 = llvm::any_of(yield.getValues(), [&](Value value) {
    return value.getType().isBF16() && isFull(value) &&
           value.getDefiningOp<arith::TruncFOp>();
  });
  for (int64_t count : {4, 2})
    if (columns >= count * lanes && (hasChain || (roundsToBF16 && count == 2)))
      return count * lanes;
  return 0;
}

SmallVector<Value> KernelEmitter::forLongColumns(
    OpBuilder &b, Frame &rowFrame, ValueRange init,
    function_ref<SmallVector<Value>(Frame &, ValueRange)> emitBody) {
  SmallVector<Value> carried(init);
  llvm::SaveAndRestore first(flatBegin), last(flatEnd);
  const bool isWholeRow = !flatBegin;
  int64_t done = 0;
  for (int64_t step = getLongLanes(); step > lanes; step /= 2) {
    // Of a flat kernel's task less than one of the longest vectors is left.
    const int64_t covered = done + (columns - done) / step * step;
    if (covered == done || (done > 0 && !isWholeRow))
      continue;
    Value begin = flatBegin ? flatBegin : constant(b, 0), end = constant(b, covered);
    if (!isWholeRow) {
      Value count = arith::SubIOp::create(b, loc, flatEnd, flatBegin);
      Value rest = arith::RemUIOp::create(b, loc, count, constant(b, step));
      end = arith::SubIOp::create(b, loc, flatEnd, rest);
    }
    {
      llvm::SaveAndRestore width(lanes, step);
      carried = forVectors(b, rowFrame, begin, end, carried, emitBody);
    }
    // What is left: shorter vectors, and the masked tail.
    flatBegin = end;
    if (isWholeRow)
      flatEnd = constant(b, columns / lanes * lanes);
    done = covered;
  }
  return forColumns(b, rowFrame, carried, emitBody);
}

Type KernelEmitter::getReducedType(kernel::RowReduceOp reduce) const {
  Type type = reduce.getType();
  const bool isMagnitude = type.isF32() && reduce.getKind() == ReduceKind::Max &&
                           reduce.getValue().getDefiningOp<math::AbsFOp>();
  return isMagnitude && isForVectors() ? IntegerType::get(type.getContext(), 32) : type;
}

std::optional<KernelEmitter::HalfExtreme>
KernelEmitter::getHalfExtreme(kernel::RowReduceOp reduce) const {
  auto extension = reduce.getValue().getDefiningOp<arith::ExtFOp>();
  if (!isForVectors() || !extension ||
      (reduce.getKind() != ReduceKind::Max && reduce.getKind() != ReduceKind::Min))
    return std::nullopt;
  Type type = extension.getIn().getType();
  auto halves = dyn_cast<BlockArgument>(extension.getIn());
  if (!halves || !isFull(halves) || (!type.isF16() && !type.isBF16()))
    return std::nullopt;
  return HalfExtreme{HalfKeys(cast<FloatType>(type), reduce.getKind()), halves};
}

std::optional<Value> KernelEmitter::getComparedColumn(arith::CmpIOp op) {
  Value place = op.getRhs();
  auto index = op.getLhs().getDefiningOp<kernel::IndexOp>();
  if (!index) {
    index = place.getDefiningOp<kernel::IndexOp>();
    place = op.getLhs();
  }
  if (!index || index.getDim() + 1 != domain.size() || !isRowUniform(place) ||
      info.isAfterColumns(place))
    return std::nullopt;
  return place;
}

std::optional<KernelEmitter::OneOfRow>
KernelEmitter::getOneOfRow(kernel::RowReduceOp reduce) {
  auto select = reduce.getValue().getDefiningOp<arith::SelectOp>();
  if (reduce.getKind() != ReduceKind::Sum || !select ||
      !(matchPattern(select.getFalseValue(), m_PosZeroFloat()) ||
        matchPattern(select.getFalseValue(), m_Zero())))
    return std::nullopt;
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return std::nullopt;
  std::optional<Value> column = getComparedColumn(compare);
  if (!column)
    return std::nullopt;
  return OneOfRow{*column, select.getTrueValue()};
}

Value KernelEmitter::reduceAtOnce(OpBuilder &b, kernel::RowReduceOp reduce,
                                  Frame &rowFrame) {
  std::optional<OneOfRow> one = getOneOfRow(reduce);
  if (!one || !walksAlongRows())
    return Value();
  Value column = evaluate(one->column, rowFrame);
  Type type = column.getType();
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  };
  // Negative ones are large.
  Value exists =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, column, number(columns));
  Value place = arith::SelectOp::create(b, loc, exists, column, number(0));
  if (!type.isInteger(64))
    place = arith::ExtUIOp::create(b, loc, b.getI64Type(), place);
  Frame frame;
  frame.builder = &b;
  frame.lanes = 1;
  frame.column = place;
  frame.outer = &rowFrame;
  Value value = vector::ExtractOp::create(b, loc, evaluate(one->value, frame),
                                          ArrayRef<int64_t>{0});
  return arith::SelectOp::create(b, loc, exists, value,
                                 identity(b, ReduceKind::Sum, value.getType()));
}

void KernelEmitter::emitRowReductions(OpBuilder &b, Frame &rowFrame, unsigned level) {
  SmallVector<kernel::RowReduceOp> reductions;
  bool anyAtOnce = false;
  for (auto reduce : body.getOps<kernel::RowReduceOp>()) {
    if (levels.lookup(reduce) != level || info.isAfterColumns(reduce))
      continue;
    if (Value value = reduceAtOnce(b, reduce, rowFrame)) {
      rowFrame.values[reduce] = value;
      anyAtOnce = true;
      continue;
    }
    // Of a value that is the same for the whole row: still one for each point.
    reductions.push_back(reduce);
  }
  if (reductions.empty()) {
    // Other threads may store where this one has read; reductions wait for all of them.
    if (anyAtOnce)
      beforeSharedStores(b);
    return;
  }
  SmallVector<std::pair<Value, Value>> kept;
  if (isForVectors())
    for (Operation &op : body.without_terminator())
      for (Value value : op.getResults())
        if (auto found = keptValues.find(value);
            found != keptValues.end() && found->second == level)
          kept.push_back(
              {value, allocate(b, storageOf(value.getType()), getKeptElements())});
  // As many bytes of halves as of f32. The order of what is compared changes no bit.
  const bool isOfHalves =
      kept.empty() && walksAlongRows() && lanes == kLanes &&
      llvm::all_of(reductions, [&](kernel::RowReduceOp reduce) {
        std::optional<HalfExtreme> extreme = getHalfExtreme(reduce);
        return extreme && laneStride(buffers[extreme->halves.getArgNumber()]) == 1;
      });
  llvm::SaveAndRestore width(lanes, isOfHalves ? 2 * kLanes : lanes);
  SmallVector<Value> init;
  for (kernel::RowReduceOp reduce : reductions) {
    if (getHalfExtreme(reduce)) {
      init.push_back(identity(b, reduce.getKind(), vectorOf(b.getI16Type(), lanes)));
      continue;
    }
    Type type = getReducedType(reduce);
    const bool isBits = isa<IntegerType>(type) && isa<FloatType>(reduce.getType());
    Value start =
        identity(b, reduce.getKind(), vectorOf(isBits ? reduce.getType() : type, lanes));
    if (isBits)
      start = arith::BitcastOp::create(b, loc, vectorOf(type, lanes), start);
    init.push_back(start);
  }
  // After the reductions, for each extreme of floats, which lanes have met a NaN: so the
  // next extreme waits for one comparison alone.
  SmallVector<bool> tracksNaN;
  for (auto [reduce, start] : llvm::zip_equal(reductions, ArrayRef(init))) {
    const bool isExtreme =
        reduce.getKind() == ReduceKind::Max || reduce.getKind() == ReduceKind::Min;
    tracksNaN.push_back(isForVectors() && isExtreme &&
                        isa<FloatType>(getElementTypeOrSelf(start.getType())));
  }
  const size_t count = reductions.size();
  reducedKinds.clear();
  for (kernel::RowReduceOp reduce : reductions)
    reducedKinds.push_back(reduce.getKind());
  for (bool tracks : tracksNaN)
    if (tracks)
      init.push_back(arith::ConstantOp::create(
          b, loc,
          DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()), false)));
  SmallVector<Value> sums =
      forLongColumns(b, rowFrame, init, [&](Frame &frame, ValueRange carried) {
        SmallVector<Value> next, flags;
        ValueRange flagsBefore = carried.drop_front(count);

        for (auto [reduce, sum, tracks] :
             llvm::zip_equal(reductions, carried.take_front(count), tracksNaN)) {
          OpBuilder &inner = *frame.builder;
          Value value;
          if (std::optional<HalfExtreme> extreme = getHalfExtreme(reduce)) {
            Value halves = evaluate(extreme->halves, frame);
            value = extreme->keys.encode(
                inner, toStorage(inner, halves, extreme->halves.getType()));
          } else {
            value = evaluate(getReducedValue(reduce), frame);
          }
          Type element = getElementTypeOrSelf(sum.getType());
          auto vector = dyn_cast<VectorType>(value.getType());
          if (getElementTypeOrSelf(value.getType()) != element)
            value = arith::BitcastOp::create(
                inner, loc, vector ? vector.clone(element) : element, value);
          if (frame.mask)
            value = arith::SelectOp::create(
                inner, loc, frame.mask, value,
                identity(inner, reduce.getKind(), value.getType()));
          // The vectors of a longer one come one after the other.
          SmallVector<Value> parts = {value};
          auto shape = dyn_cast<VectorType>(sum.getType());
          if (vector && shape && vector.getNumElements() > shape.getNumElements()) {
            parts.clear();
            const int64_t length = shape.getNumElements();
            for (int64_t first = 0; first < vector.getNumElements(); first += length)
              parts.push_back(vector::ExtractStridedSliceOp::create(inner, loc, value,
                                                                    first, length, 1));
          }
          Value total = sum, flag = tracks ? flagsBefore[flags.size()] : Value();
          const auto wins = reduce.getKind() == ReduceKind::Max
                                ? arith::CmpFPredicate::OGT
                                : arith::CmpFPredicate::OLT;
          for (Value part : parts) {
            if (!tracks) {
              total = combine(inner, reduce.getKind(), total, part);
              continue;
            }
            Value isBetter = arith::CmpFOp::create(inner, loc, wins, part, total);
            total = arith::SelectOp::create(inner, loc, isBetter, part, total);
            Value isNaN =
                arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::UNO, part, part);
            flag = arith::OrIOp::create(inner, loc, flag, isNaN);
          }
          next.push_back(total);
          if (tracks)
            flags.push_back(flag);
        }
        llvm::append_range(next, flags);
        for (auto [value, row] : kept) {
          Value vector = evaluate(value, frame);
          // There is room for whole vectors. A processor cannot hand what a few lanes
          // have stored to a load of all: the load would wait until it is in the cache.
          llvm::SaveAndRestore all(frame.mask, Value());
          storeTo(keptPlace(row, value.getType(), frame), vector, value.getType(), frame);
        }
        if (level > 1 && level == mostLevels)
          prefetchNextRow(frame);
        return next;
      });
  keptRows.insert(kept.begin(), kept.end());
  size_t flag = count;
  for (auto [i, tracks] : llvm::enumerate(tracksNaN)) {
    if (!tracks)
      continue;
    auto type = cast<VectorType>(sums[i].getType());
    Value nan = arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(
            type,
            APFloat::getNaN(cast<FloatType>(type.getElementType()).getFloatSemantics())));
    sums[i] = arith::SelectOp::create(b, loc, sums[flag++], nan, sums[i]);
  }
  sums.truncate(count);
  for (auto [reduce, sum] : llvm::zip_equal(reductions, sums)) {
    Type element = getElementTypeOrSelf(sum.getType());
    if (isa<FloatType>(element) &&
        element.getIntOrFloatBitWidth() < reduce.getType().getIntOrFloatBitWidth())
      sum = arith::ExtFOp::create(
          b, loc, cast<VectorType>(sum.getType()).clone(reduce.getType()), sum);
    Value value = finishRowReduction(b, reduce.getKind(), sum);
    if (std::optional<HalfExtreme> extreme = getHalfExtreme(reduce)) {
      value = fromStorage(b, extreme->keys.decode(b, value), extreme->halves.getType());
      auto vector = dyn_cast<VectorType>(value.getType());
      value = arith::ExtFOp::create(
          b, loc, vector ? Type(vector.clone(reduce.getType())) : reduce.getType(),
          value);
    }
    if (getElementTypeOrSelf(value) != reduce.getType()) {
      auto vector = dyn_cast<VectorType>(value.getType());
      value = arith::BitcastOp::create(
          b, loc, vector ? vector.clone(reduce.getType()) : reduce.getType(), value);
    }
    if (reduce.getKind() == ReduceKind::Mean)
      value = scale(b, value, columns);
    rowFrame.values[reduce] = value;
  }
}

/// Bytes of rows that are fetched from memory while the row before is computed: a shorter
/// one is soon followed by its successor, which the processor fetches by itself, and two
/// longer ones with what is kept do not fit the second-level cache.
static constexpr int64_t leastPrefetchedBytes = 16384, mostPrefetchedBytes = 262144;
static constexpr int64_t cacheLine = 64;

void KernelEmitter::prefetchNextRow(Frame &frame) {
  OpBuilder &b = *frame.builder;
  if (!isForVectors() || frame.mask || rowIndices.empty())
    return;
  for (unsigned operand = 0; operand < body.getNumArguments(); ++operand) {
    const KernelBuffer &buffer = buffers[operand];
    const int64_t width = storageOf(buffer.element).getIntOrFloatBitWidth() / 8;
    const int64_t bytes = columns * width;
    if (buffer.columnStride() != 1 || buffer.strides[rowIndices.size() - 1] < columns ||
        bytes < leastPrefetchedBytes || bytes > mostPrefetchedBytes)
      continue;
    // Beyond the last row lies what another task reads, or nothing: no fault either way.
    for (int64_t first = 0; first < frame.lanes; first += cacheLine / width) {
      Value next = elementOf(b, pointerTo(operand, frame), buffer.element,
                             constant(b, buffer.strides[rowIndices.size() - 1] + first));
      LLVM::Prefetch::create(b, loc, next, /*rw=*/0, /*hint=*/2, /*cache=*/1);
    }
  }
}

void KernelEmitter::accumulate(const ColumnPartials &part, Value task, Frame &frame) {
  OpBuilder &b = *frame.builder;
  kernel::ColumnReduceOp reduce = part.op;
  Value pointer = blockSums.count(reduce) ? blockPointer(b, part, frame.column)
                                          : partialPointer(b, part, task, frame.column);
  Value old = loadFrom(pointer, reduce.getType(), frame);
  Value sum = combine(b, reduce.getKind(), old, evaluate(reduce.getValue(), frame));
  storeTo(pointer, sum, reduce.getType(), frame);
}

void KernelEmitter::setRow(OpBuilder &b, Value row) {
  rowIndices.assign(domain.empty() ? 0 : domain.size() - 1, Value());
  Value rest = row;
  for (size_t i = rowIndices.size(); i-- > 0;) {
    if (i == 0) {
      rowIndices[i] = rest;
      break;
    }
    Value size = constant(b, domain[i]);
    rowIndices[i] = arith::RemUIOp::create(b, loc, rest, size);
    rest = arith::DivUIOp::create(b, loc, rest, size);
  }
}

void KernelEmitter::emitRow(OpBuilder &b, Value row, Value task) {
  setRow(b, row);
  emitRowAtIndices(b, task);
}

KernelEmitter::Frame KernelEmitter::makeRowFrame(OpBuilder &b) {
  Frame frame;
  frame.builder = &b;
  return frame;
}

void KernelEmitter::emitRowAtIndices(OpBuilder &b, Value task) {
  Frame rowFrame = makeRowFrame(b);
  // Scalars that the loops need are computed before them.
  auto evaluateUniform = [&](unsigned level) {
    for (Operation &op : body.without_terminator()) {
      if (isa<kernel::RowReduceOp, kernel::ColumnReduceOp>(op))
        continue;
      for (Value operand : op.getOperands())
        if (isa<BlockArgument>(operand) && isRowUniform(operand))
          (void)evaluate(operand, rowFrame);
      Value result = op.getResult(0);
      if (isRowUniform(result) && !info.isAfterColumns(result) &&
          levels.lookup(result) <= level && !isa<arith::ConstantOp>(op))
        (void)evaluate(result, rowFrame);
    }
    for (Value value : cast<kernel::YieldOp>(body.getTerminator()).getValues())
      if (isa<BlockArgument>(value) && isRowUniform(value))
        (void)evaluate(value, rowFrame);
    for (Operation &op : body.without_terminator())
      if (isa<kernel::RowReduceOp, kernel::ColumnReduceOp>(op))
        for (Value operand : op.getOperands())
          if (isa<BlockArgument>(operand) && isRowUniform(operand))
            (void)evaluate(operand, rowFrame);
  };
  evaluateUniform(0);
  for (unsigned level = 1; level <= mostLevels; ++level) {
    emitRowReductions(b, rowFrame, level);
    evaluateUniform(level);
  }

  auto yield = cast<kernel::YieldOp>(body.getTerminator());
  bool anyFull = false;
  for (Value value : yield.getValues())
    anyFull |= isFull(value);
  for (const ColumnPartials &part : info.getColumnPartials())
    anyFull |= isFull(kernel::ColumnReduceOp(part.op).getValue());
  if (anyFull)
    forLongColumns(b, rowFrame, {}, [&](Frame &frame, ValueRange) {
      // All loads of a point before its stores: a result may share its bytes with an
      // operand.
      for (Value value : yield.getValues())
        if (isFull(value))
          (void)evaluate(value, frame);
      for (const ColumnPartials &part : info.getColumnPartials())
        if (isFull(kernel::ColumnReduceOp(part.op).getValue()))
          (void)evaluate(kernel::ColumnReduceOp(part.op).getValue(), frame);
      for (const ColumnPartials &part : info.getColumnPartials())
        if (isFull(kernel::ColumnReduceOp(part.op).getValue()))
          accumulate(part, task, frame);
      for (auto [i, value] : llvm::enumerate(yield.getValues()))
        if (isFull(value))
          store(i, evaluate(value, frame), frame);
      return SmallVector<Value>();
    });
  for (const ColumnPartials &part : info.getColumnPartials())
    if (!isFull(kernel::ColumnReduceOp(part.op).getValue()))
      accumulate(part, task, rowFrame);
  if (llvm::any_of(yield.getValues(), [&](Value value) {
        return isRowUniform(value) && !info.isAfterColumns(value);
      }))
    beforeSharedStores(b);
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (isRowUniform(value) && !info.isAfterColumns(value)) {
      // A value that is the same along a row may still have a full result.
      if (buffers[body.getNumArguments() + i].columnStride() == 0) {
        store(i, evaluate(value, rowFrame), rowFrame);
        continue;
      }
      forColumns(b, rowFrame, {}, [&, i = i, value = value](Frame &frame, ValueRange) {
        store(i, evaluate(value, frame), frame);
        return SmallVector<Value>();
      });
    }
  keptRows.clear();
}

void KernelEmitter::emitTask(OpBuilder &b, Value task) {
  for (const ColumnPartials &part : info.getColumnPartials()) {
    kernel::ColumnReduceOp reduce = part.op;
    auto loop = scf::ForOp::create(b, loc, constant(b, 0), constant(b, part.columns),
                                   constant(b, 1));
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    Value pointer = partialPointer(inner, part, task, loop.getInductionVar());
    LLVM::StoreOp::create(inner, loc, identity(inner, reduce.getKind(), reduce.getType()),
                          pointer);
  }
  Value chunk = constant(b, rowsPerTask);
  Value first = arith::MulIOp::create(b, loc, task, chunk);
  Value last = arith::MinSIOp::create(b, loc, arith::AddIOp::create(b, loc, first, chunk),
                                      constant(b, rows));
  const int64_t rowsPerBlock = info.getRowsPerBlock();
  blockSums.clear();
  for (const ColumnPartials &part : info.getColumnPartials()) {
    kernel::ColumnReduceOp reduce = part.op;
    bool isSum =
        reduce.getKind() == ReduceKind::Sum || reduce.getKind() == ReduceKind::Mean;
    if (rowsPerBlock == 0 || !isSum || !isa<FloatType>(reduce.getType()))
      continue;
    blockSums[reduce] = allocate(b, reduce.getType(), part.columns);
  }
  // Larger rows may leave the last tasks without any: no iteration then.
  if (blockSums.empty())
    return emitRowRange(b, first, last, task);
  auto blocks = scf::ForOp::create(b, loc, first, last, constant(b, rowsPerBlock));
  OpBuilder inner = OpBuilder::atBlockBegin(blocks.getBody());
  auto forBlockSums = [&](function_ref<void(const ColumnPartials &, Frame &)> emitSum) {
    for (const ColumnPartials &part : info.getColumnPartials())
      if (blockSums.count(part.op))
        forSums(inner, part, [&](Frame &frame) { emitSum(part, frame); });
  };
  forBlockSums([&](const ColumnPartials &part, Frame &frame) {
    kernel::ColumnReduceOp reduce = part.op;
    OpBuilder &builder = *frame.builder;
    storeTo(blockPointer(builder, part, frame.column),
            identity(builder, reduce.getKind(), vectorOf(reduce.getType(), frame.lanes)),
            reduce.getType(), frame);
  });
  Value begin = blocks.getInductionVar();
  Value end = arith::MinSIOp::create(
      inner, loc, arith::AddIOp::create(inner, loc, begin, constant(inner, rowsPerBlock)),
      last);
  emitRowRange(inner, begin, end, task);
  forBlockSums([&](const ColumnPartials &part, Frame &frame) {
    kernel::ColumnReduceOp reduce = part.op;
    OpBuilder &builder = *frame.builder;
    Value total = partialPointer(builder, part, task, frame.column);
    Value sum = combine(
        builder, reduce.getKind(), loadFrom(total, reduce.getType(), frame),
        loadFrom(blockPointer(builder, part, frame.column), reduce.getType(), frame));
    storeTo(total, sum, reduce.getType(), frame);
  });
}

void KernelEmitter::emitRowRange(OpBuilder &b, Value first, Value last, Value task) {
  auto loop = scf::ForOp::create(b, loc, first, last, constant(b, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  emitRow(inner, loop.getInductionVar(), task);
}

void KernelEmitter::forSums(OpBuilder &b, const ColumnPartials &part,
                            function_ref<void(Frame &)> emitSum) {
  Frame scalarFrame;
  scalarFrame.builder = &b;
  if (!isFull(kernel::ColumnReduceOp(part.op).getValue()))
    return emitSum(scalarFrame);
  forColumns(b, scalarFrame, {}, [&](Frame &frame, ValueRange) {
    emitSum(frame);
    return SmallVector<Value>();
  });
}

Value KernelEmitter::allocate(OpBuilder &b, Type element, int64_t count) {
  Block &entry = b.getBlock()->getParentOp()->getParentOfType<func::FuncOp>().front();
  OpBuilder top = OpBuilder::atBlockBegin(&entry);
  return LLVM::AllocaOp::create(top, loc, LLVM::LLVMPointerType::get(b.getContext()),
                                element, constant(top, count), /*alignment=*/64);
}

Value KernelEmitter::elementOf(OpBuilder &b, Value row, Type element, Value column) {
  return LLVM::GEPOp::create(b, loc, row.getType(), storageOf(element), row,
                             ArrayRef<LLVM::GEPArg>{column});
}

Value KernelEmitter::blockPointer(OpBuilder &b, const ColumnPartials &part,
                                  Value column) {
  kernel::ColumnReduceOp reduce = part.op;
  if (!column)
    return blockSums.lookup(reduce);
  return elementOf(b, blockSums.lookup(reduce), reduce.getType(), column);
}

void KernelEmitter::emitFlat(OpBuilder &b, Value begin, Value end) {
  int64_t whole = columns / lanes * lanes;
  int64_t perTask = llvm::alignTo(llvm::divideCeil(columns, tasks), lanes);
  auto bound = [&](Value task) -> Value {
    return arith::MinSIOp::create(
        b, loc, arith::MulIOp::create(b, loc, task, constant(b, perTask)),
        constant(b, whole));
  };
  flatBegin = bound(begin);
  flatEnd = bound(end);
  flatTail =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, end, constant(b, tasks));
  emitRow(b, constant(b, 0), constant(b, 0));
  flatBegin = flatEnd = flatTail = Value();
}

void KernelEmitter::sumTasks(const ColumnPartials &part, Frame &frame) {
  OpBuilder &b = *frame.builder;
  kernel::ColumnReduceOp reduce = part.op;
  Value start = identity(b, reduce.getKind(), vectorOf(reduce.getType(), frame.lanes));
  auto loop = scf::ForOp::create(b, loc, constant(b, 0), constant(b, tasks),
                                 constant(b, 1), ValueRange{start});
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  frame.builder = &inner;
  Value pointer = partialPointer(inner, part, loop.getInductionVar(), frame.column);
  Value value = loadFrom(pointer, reduce.getType(), frame);
  Value sum = combine(inner, reduce.getKind(), loop.getRegionIterArg(0), value);
  scf::YieldOp::create(inner, loc, sum);
  frame.builder = &b;
  Value result = loop.getResult(0);
  if (reduce.getKind() == ReduceKind::Mean)
    result = scale(b, result, rows);
  frame.values[reduce] = result;
}

void KernelEmitter::emitCombine(OpBuilder &b) {
  // What is read here does not vary with the row: the first one will do.
  rowIndices.assign(domain.empty() ? 0 : domain.size() - 1, Value());
  Frame scalarFrame;
  scalarFrame.builder = &b;
  for (const ColumnPartials &part : info.getColumnPartials())
    if (part.columns == 1 && isRowUniform(kernel::ColumnReduceOp(part.op).getResult()))
      sumTasks(part, scalarFrame);
  // A result may take the place of what this stage reads: all scalars are read and
  // computed before anything is stored.
  // Also those that are read by way of values of columns: each loop over columns needs
  // them.
  SmallVector<Value> read;
  for (Operation &op : body.without_terminator()) {
    if (!info.isAfterColumns(op.getResult(0)))
      continue;
    if (!isa<kernel::ColumnReduceOp>(op))
      llvm::append_range(read, op.getOperands());
    if (isRowUniform(op.getResult(0)))
      (void)evaluate(op.getResult(0), scalarFrame);
  }
  llvm::DenseSet<Value> seen;
  while (!read.empty()) {
    Value value = read.pop_back_val();
    if (!seen.insert(value).second || info.isAfterColumns(value))
      continue;
    if (isRowUniform(value))
      (void)evaluate(value, scalarFrame);
    else if (Operation *op = value.getDefiningOp())
      llvm::append_range(read, op->getOperands());
  }
  auto yield = cast<kernel::YieldOp>(body.getTerminator());
  // One number for all columns (a reduced constant) may still be stored for each.
  auto isStoredOnce = [&](unsigned i, Value value) {
    return isRowUniform(value) && buffers[body.getNumArguments() + i].columnStride() == 0;
  };
  bool anyColumns = false, anyOnce = false;
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (info.isAfterColumns(value))
      (isStoredOnce(i, value) ? anyOnce : anyColumns) = true;
  if (anyOnce)
    beforeSharedStores(b);
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (info.isAfterColumns(value) && isStoredOnce(i, value))
      store(i, evaluate(value, scalarFrame), scalarFrame);
  if (!anyColumns)
    return;
  forColumns(b, scalarFrame, {}, [&](Frame &frame, ValueRange) {
    for (const ColumnPartials &part : info.getColumnPartials())
      if (!isRowUniform(kernel::ColumnReduceOp(part.op).getResult()))
        sumTasks(part, frame);
    SmallVector<std::pair<unsigned, Value>> stores;
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      if (info.isAfterColumns(value) && !isStoredOnce(i, value))
        stores.push_back({i, evaluate(value, frame)});
    for (auto [i, value] : stores)
      store(i, value, frame);
    return SmallVector<Value>();
  });
}

void KernelEmitter::emitTables(ModuleOp module) {
  tables = findByteTables(body);
  if (tables.empty())
    return;
  static constexpr StringLiteral prefix = "mpt_byte_table_";
  // Kernels share those that are equal.
  unsigned count = 0;
  for (auto global : module.getOps<LLVM::GlobalOp>())
    if (global.getSymName().starts_with(prefix)) {
      tableGlobals[global.getValueOrNull()] = global;
      ++count;
    }
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  // In the order of the body.
  for (Operation &op : body.without_terminator()) {
    auto table = tables.find(op.getNumResults() == 1 ? op.getResult(0) : Value());
    if (table == tables.end())
      continue;
    DenseElementsAttr numbers = table->second.numbers;
    LLVM::GlobalOp &global = tableGlobals[numbers];
    if (!global)
      global = LLVM::GlobalOp::create(
          b, loc, LLVM::LLVMArrayType::get(b.getF32Type(), numbers.getNumElements()),
          /*isConstant=*/true, LLVM::Linkage::Internal, (prefix + Twine(count++)).str(),
          numbers, /*alignment=*/64);
  }
}

void KernelEmitter::emit(OpBuilder &moduleBuilder) {
  MLIRContext *context = moduleBuilder.getContext();
  emitTables(kernel->getParentOfType<ModuleOp>());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = moduleBuilder.getI64Type();
  auto emitFunction = [&](const Twine &name,
                          function_ref<void(OpBuilder &, Value, Value)> emitBody) {
    auto function =
        func::FuncOp::create(moduleBuilder, loc, name.str(),
                             moduleBuilder.getFunctionType({pointer, i64, i64}, {}));
    Block *entry = function.addEntryBlock();
    OpBuilder b = OpBuilder::atBlockEnd(entry);
    pointers.clear();
    for (size_t i = 0; i <= buffers.size(); ++i) {
      bool isPartials = i == buffers.size();
      if (isPartials && info.getColumnPartials().empty())
        break;
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, entry->getArgument(0),
                                       ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      Value base = LLVM::LoadOp::create(b, loc, pointer, slot);
      if (isPartials)
        partials = base;
      else
        pointers.push_back(base);
    }
    emitBody(b, entry->getArgument(1), entry->getArgument(2));
    func::ReturnOp::create(b, loc);
  };
  emitFunction(kernel.getSymName(), [&](OpBuilder &b, Value begin, Value end) {
    if (isFlat())
      return emitFlat(b, begin, end);
    auto loop = scf::ForOp::create(b, loc, begin, end, constant(b, 1));
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    emitTask(inner, loop.getInductionVar());
  });
  if (kernel.getKind() == kernel::KernelKind::Column)
    emitFunction(kernel.getSymName() + "_combine",
                 [&](OpBuilder &b, Value, Value) { emitCombine(b); });
}

//===----------------------------------------------------------------------===//
// Values: memory, the body's ops, reductions
//
// The half of the kernel emitter that makes values: loads and stores, the ops
// of the body on vectors of any width, and combining of partial reductions.
// KernelEmitter.cpp has the loops around them.
//===----------------------------------------------------------------------===//

Value KernelEmitter::constant(OpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Type KernelEmitter::vectorOf(Type element, int64_t width) {
  if (isEightBitFloat(element))
    element = IntegerType::get(element.getContext(), 8);
  return width == 0 ? element : Type(VectorType::get({width}, element));
}

Type mpt::detail::storageOf(Type element) {
  if (element.isInteger(1) || isEightBitFloat(element))
    return IntegerType::get(element.getContext(), 8);
  if (element.isF16() || element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return element;
}

Value KernelEmitter::fromStorage(OpBuilder &b, Value value, Type element) {
  Type type = value.getType();
  if (element.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (element.isF16() || element.isBF16()) {
    auto vector = dyn_cast<VectorType>(type);
    return arith::BitcastOp::create(b, loc, vector ? vector.clone(element) : element,
                                    value);
  }
  return value;
}

Value KernelEmitter::toStorage(OpBuilder &b, Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  Type type = vector ? vector.clone(storageOf(element)) : storageOf(element);
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, type, value);
  if (element.isF16() || element.isBF16())
    return arith::BitcastOp::create(b, loc, type, value);
  return value;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelEmitter::pointerTo(unsigned index, Frame &frame) {
  OpBuilder &b = *frame.builder;
  const KernelBuffer &buffer = buffers[index];
  Value offset = constant(b, buffer.offset);
  auto addTerm = [&](Value at, int64_t stride) {
    if (stride == 0 || !at)
      return;
    Value term =
        stride == 1 ? at : arith::MulIOp::create(b, loc, at, constant(b, stride));
    offset = arith::AddIOp::create(b, loc, offset, term);
  };
  for (auto [i, at] : llvm::enumerate(rowIndices))
    addTerm(at, buffer.strides[i]);
  if (frame.lanes)
    addTerm(frame.column, buffer.columnStride());
  Type memory = storageOf(buffer.element);
  return LLVM::GEPOp::create(b, loc, pointers[index].getType(), memory, pointers[index],
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// How many lanes `mask` has if it is a constant and these are the first ones.
static std::optional<int64_t> countFirstLanes(Value mask) {
  DenseElementsAttr lanes;
  if (!matchPattern(mask, m_Constant(&lanes)))
    return std::nullopt;
  const int64_t count = llvm::count(lanes.getValues<bool>(), true);
  const bool areFirst =
      llvm::all_of(llvm::enumerate(lanes.getValues<bool>()), [&](auto lane) {
        return lane.value() == (lane.index() < size_t(count));
      });
  return areFirst ? std::optional(count) : std::nullopt;
}

/// Calls `body(first, lanes)` for the `count` first lanes of a vector, in whole vectors
/// of fewer lanes.
static void forParts(int64_t count, function_ref<void(int64_t, int64_t)> body) {
  int64_t first = 0;
  for (int64_t lanes = llvm::bit_floor(uint64_t(count)); lanes > 0; lanes /= 2)
    if (count & lanes) {
      body(first, lanes);
      first += lanes;
    }
}

Value KernelEmitter::loadFrom(Value pointer, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  Type memory = storageOf(element);
  const unsigned width = memory.getIntOrFloatBitWidth(), alignment = width / 8;
  Type type = vectorOf(memory, frame.lanes);
  Value value;
  if (!frame.mask) {
    value = LLVM::LoadOp::create(b, loc, type, pointer, alignment);
    return fromStorage(b, value, element);
  }
  value = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  const std::optional<int64_t> count =
      width < 32 && !hasManyRegisters ? countFirstLanes(frame.mask) : std::nullopt;
  if (count)
    // Without AVX-512 there are no masks for lanes of 8 and 16 bits: LLVM would load them
    // one by one.
    forParts(*count, [&](int64_t first, int64_t lanes) {
      Value place =
          LLVM::GEPOp::create(b, loc, pointer.getType(), memory, pointer,
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(first)});
      Value part =
          LLVM::LoadOp::create(b, loc, vectorOf(memory, lanes), place, alignment);
      value = vector::InsertStridedSliceOp::create(b, loc, part, value, first, 1);
    });
  else
    value = LLVM::MaskedLoadOp::create(b, loc, type, pointer, frame.mask, value,
                                       b.getI32IntegerAttr(alignment), UnitAttr());
  return fromStorage(b, value, element);
}

void KernelEmitter::storeTo(Value pointer, Value value, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  value = toStorage(b, value, element);
  const unsigned width = storageOf(element).getIntOrFloatBitWidth(),
                 alignment = width / 8;
  if (!frame.mask) {
    LLVM::StoreOp::create(b, loc, value, pointer, alignment);
    return;
  }
  const std::optional<int64_t> count = countFirstLanes(frame.mask);
  if (!count) {
    LLVM::MaskedStoreOp::create(b, loc, value, pointer, frame.mask, alignment);
    return;
  }
  // The rest of a row in whole vectors of fewer lanes. A processor takes a store with a
  // mask for one of all lanes: where a kernel writes what it reads, the next row's first
  // load, which begins in them, would wait until the store is in the cache.
  const Type bits = b.getIntegerType(width);
  value = vector::BitCastOp::create(b, loc, vectorOf(bits, frame.lanes), value);
  forParts(*count, [&](int64_t first, int64_t lanes) {
    Value part = vector::ExtractStridedSliceOp::create(b, loc, value, first, lanes, 1);
    Value place =
        LLVM::GEPOp::create(b, loc, pointer.getType(), bits, pointer,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(first)});
    LLVM::StoreOp::create(b, loc, part, place, alignment);
  });
}

std::pair<Value, Value> KernelEmitter::lanePointers(unsigned index, Frame &frame) {
  OpBuilder &b = *frame.builder;
  const KernelBuffer &buffer = buffers[index];
  Value pointer = pointerTo(index, frame);
  SmallVector<int64_t> steps;
  for (int64_t lane = 0; lane < frame.lanes; ++lane)
    steps.push_back(lane * laneStride(buffer));
  auto type = VectorType::get({frame.lanes}, b.getI64Type());
  Value offsets = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(steps)));
  Value lanePointers = LLVM::GEPOp::create(
      b, loc, VectorType::get({frame.lanes}, pointer.getType()),
      storageOf(buffer.element), pointer, ArrayRef<LLVM::GEPArg>{offsets});
  Value mask = frame.mask;
  if (!mask)
    mask = arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(VectorType::get({frame.lanes}, b.getI1Type()), true));
  return {lanePointers, mask};
}

Value KernelEmitter::load(unsigned operand, Frame &frame) {
  OpBuilder &b = *frame.builder;
  const KernelBuffer &buffer = buffers[operand];
  if (frame.lanes == 0 || laneStride(buffer) == 1)
    return loadFrom(pointerTo(operand, frame), buffer.element, frame);
  auto [pointers, mask] = lanePointers(operand, frame);
  Type memory = storageOf(buffer.element);
  Type loaded = vectorOf(memory, frame.lanes);
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(loaded));
  Value value = LLVM::masked_gather::create(
      b, loc, loaded, pointers, mask, zeros,
      b.getI32IntegerAttr(memory.getIntOrFloatBitWidth() / 8));
  return fromStorage(b, value, buffer.element);
}

void KernelEmitter::store(unsigned result, Value value, Frame &frame) {
  OpBuilder &b = *frame.builder;
  unsigned index = body.getNumArguments() + result;
  const KernelBuffer &buffer = buffers[index];
  if (frame.lanes == 0 || laneStride(buffer) == 1 || columns == 1)
    return storeTo(pointerTo(index, frame), value, buffer.element, frame);
  value = toStorage(b, value, buffer.element);
  unsigned alignment = storageOf(buffer.element).getIntOrFloatBitWidth() / 8;
  auto [pointers, mask] = lanePointers(index, frame);
  LLVM::masked_scatter::create(b, loc, value, pointers, mask,
                               b.getI32IntegerAttr(alignment));
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Value KernelEmitter::convertFloat(OpBuilder &b, Value value, Type from, Type to) {
  // By way of f32, which holds the narrower types; f64 so that it rounds once.
  unsigned width = to.getIntOrFloatBitWidth();
  if (isEightBitFloat(from)) {
    value = extendEightBitFloat(b, loc, value, from);
    from = b.getF32Type();
  } else if (from.isF64() && width < 32) {
    value = roundToOddF32(b, loc, value);
    from = b.getF32Type();
  }
  auto vector = dyn_cast<VectorType>(value.getType());
  auto convert = [&](Type element) {
    Type type = vector ? Type(vector.clone(element)) : element;
    if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
      value = arith::ExtFOp::create(b, loc, type, value);
    else if (from != element)
      value = arith::TruncFOp::create(b, loc, type, value);
  };
  if (!isEightBitFloat(to)) {
    convert(to);
    return value;
  }
  convert(b.getF32Type());
  return truncateToEightBitFloat(b, loc, value, to);
}

Value KernelEmitter::indexOf(unsigned dim, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  if (dim + 1 < domain.size()) {
    Value at = rowIndices[dim];
    if (!element.isInteger(64))
      at = arith::TruncIOp::create(b, loc, element, at);
    return at;
  }
  if (element.isInteger(32) && frame.columnNumbers)
    return frame.columnNumbers;
  auto type = VectorType::get({frame.lanes}, b.getI64Type());
  SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, frame.lanes));
  Value lane = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(steps)));
  Value at = arith::AddIOp::create(
      b, loc, vector::BroadcastOp::create(b, loc, type, frame.column), lane);
  if (!element.isInteger(64))
    at = arith::TruncIOp::create(b, loc, vectorOf(element, frame.lanes), at);
  return at;
}

Value KernelEmitter::cloneOp(Operation *op, Frame &frame) {
  OpBuilder &b = *frame.builder;
  Type element = op->getResult(0).getType();
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = constantOp.getValue();
    if (isEightBitFloat(element))
      value = b.getIntegerAttr(b.getI8Type(),
                               cast<FloatAttr>(value).getValue().bitcastToAPInt());
    if (frame.lanes != 0)
      value = DenseElementsAttr::get(VectorType::get({frame.lanes}, value.getType()),
                                     Attribute(value));
    return arith::ConstantOp::create(b, loc, value);
  }
  if (auto index = dyn_cast<kernel::IndexOp>(op))
    return indexOf(index.getDim(), element, frame);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(evaluate(operand, frame));
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return convertFloat(b, operands.front(), op->getOperand(0).getType(), element);
  // As bits: on processors without these types LLVM widens a choice of scalars and
  // narrows it by a library that may not be there.
  if (isa<arith::SelectOp>(op) && (element.isF16() || element.isBF16())) {
    Value chosen =
        arith::SelectOp::create(b, loc, operands[0], toStorage(b, operands[1], element),
                                toStorage(b, operands[2], element));
    return fromStorage(b, chosen, element);
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op) && element.getIntOrFloatBitWidth() < 32) {
    // f64 holds all integers that these types can tell apart.
    OperationState state(op->getLoc(), op->getName(), operands,
                         {vectorOf(b.getF64Type(), frame.lanes)});
    return convertFloat(b, b.create(state)->getResult(0), b.getF64Type(), element);
  }
  OperationState state(op->getLoc(), op->getName(), operands,
                       {vectorOf(element, frame.lanes)},
                       op->getAttrDictionary().getValue());
  return b.create(state)->getResult(0);
}

Value KernelEmitter::lookUp(const ByteTable &table, Frame &frame) {
  OpBuilder &b = *frame.builder;
  Type i8 = b.getI8Type(), f32 = b.getF32Type();
  LLVM::GlobalOp global = tableGlobals.lookup(table.numbers);
  Value numbers = LLVM::AddressOfOp::create(b, loc, global);
  const unsigned operand = table.byte.getArgNumber();
  // The bytes are loaded one by one where they are: taking a vector apart costs more.
  const bool isLoaded =
      !frame.mask && !isRowUniform(table.byte) && laneStride(buffers[operand]) == 1;
  Value bytes = isLoaded ? pointerTo(operand, frame) : evaluate(table.byte, frame);
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < frame.lanes; ++lane) {
    Value byte;
    if (isLoaded) {
      Value pointer =
          LLVM::GEPOp::create(b, loc, bytes.getType(), i8, bytes,
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(lane)});
      byte = LLVM::LoadOp::create(b, loc, i8, pointer, /*alignment=*/1);
    } else {
      byte = vector::ExtractOp::create(b, loc, bytes, lane);
    }
    Value index = arith::ExtUIOp::create(b, loc, b.getI64Type(), byte);
    Value pointer = LLVM::GEPOp::create(b, loc, numbers.getType(), f32, numbers,
                                        ArrayRef<LLVM::GEPArg>{index});
    lanes.push_back(LLVM::LoadOp::create(b, loc, f32, pointer, /*alignment=*/4));
  }
  return vector::FromElementsOp::create(b, loc, vectorOf(f32, frame.lanes), lanes);
}

Value KernelEmitter::repeat(Value rowValue, Frame &frame) {
  return vector::BroadcastOp::create(*frame.builder, loc,
                                     vectorOf(rowValue.getType(), frame.lanes), rowValue);
}

Value KernelEmitter::keptPlace(Value row, Type element, Frame &frame) {
  return elementOf(*frame.builder, row, element, frame.column);
}

Value KernelEmitter::evaluate(Value value, Frame &frame) {
  if (Value known = frame.values.lookup(value))
    return known;
  // Scalars are computed once a row and repeated in the vectors
  // (constants are made where they are used).
  bool isScalarHere = frame.lanes == 0;
  auto comesFromRow = [&](Value candidate) {
    return !isScalarHere && frame.outer && isRowUniform(candidate) &&
           !candidate.getDefiningOp<arith::ConstantOp>();
  };
  if (comesFromRow(value)) {
    Value repeated = repeat(evaluate(value, *frame.outer), frame);
    return frame.values[value] = repeated;
  }
  // The operands of one op at a time, without recursion over long chains.
  SmallVector<Value> stack = {value};
  while (!stack.empty()) {
    Value next = stack.back();
    if (frame.values.count(next)) {
      stack.pop_back();
      continue;
    }
    if (next != value && comesFromRow(next)) {
      (void)evaluate(next, frame);
      stack.pop_back();
      continue;
    }
    if (Value row = isScalarHere ? Value() : keptRows.lookup(next)) {
      llvm::SaveAndRestore all(frame.mask, Value());
      frame.values[next] =
          loadFrom(keptPlace(row, next.getType(), frame), next.getType(), frame);
      stack.pop_back();
      continue;
    }
    if (auto table = tables.find(next); table != tables.end() && !isScalarHere) {
      frame.values[next] = lookUp(table->second, frame);
      stack.pop_back();
      continue;
    }
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      frame.values[next] = load(argument.getArgNumber(), frame);
      stack.pop_back();
      continue;
    }
    Operation *op = next.getDefiningOp();
    bool ready = true;
    for (Value operand : op->getOperands())
      if (!frame.values.count(operand)) {
        stack.push_back(operand);
        ready = false;
      }
    if (!ready)
      continue;
    frame.values[next] = cloneOp(op, frame);
    stack.pop_back();
  }
  return frame.values[value];
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value KernelEmitter::identity(OpBuilder &b, ReduceKind kind, Type type) {
  Type element = getElementTypeOrSelf(type);
  Attribute value;
  if (auto floatType = dyn_cast<FloatType>(element)) {
    double number = kind == ReduceKind::Prod  ? 1.0
                    : kind == ReduceKind::Max ? -std::numeric_limits<double>::infinity()
                    : kind == ReduceKind::Min ? std::numeric_limits<double>::infinity()
                                              : 0.0;
    value = b.getFloatAttr(floatType, number);
  } else {
    unsigned width = element.getIntOrFloatBitWidth();
    llvm::APInt number(width, kind == ReduceKind::Prod ? 1 : 0);
    if (kind == ReduceKind::Max)
      number = llvm::APInt::getSignedMinValue(width);
    if (kind == ReduceKind::Min)
      number = llvm::APInt::getSignedMaxValue(width);
    value = b.getIntegerAttr(element, number);
  }
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(value));
}

Value KernelEmitter::combine(OpBuilder &b, ReduceKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return isFloat ? arith::AddFOp::create(b, loc, x, y).getResult()
                   : arith::AddIOp::create(b, loc, x, y).getResult();
  case ReduceKind::Prod:
    return isFloat ? arith::MulFOp::create(b, loc, x, y).getResult()
                   : arith::MulIOp::create(b, loc, x, y).getResult();
  case ReduceKind::Max:
    return isFloat ? arith::MaximumFOp::create(b, loc, x, y).getResult()
                   : arith::MaxSIOp::create(b, loc, x, y).getResult();
  case ReduceKind::Min:
    break;
  }
  return isFloat ? arith::MinimumFOp::create(b, loc, x, y).getResult()
                 : arith::MinSIOp::create(b, loc, x, y).getResult();
}

Value KernelEmitter::foldLanes(OpBuilder &b, ReduceKind kind, Value value) {
  auto type = cast<VectorType>(value.getType());
  // Halves onto each other: a fixed tree.
  for (int64_t width = type.getDimSize(0); width > 1; width /= 2) {
    Value low = vector::ExtractStridedSliceOp::create(b, loc, value, ArrayRef<int64_t>{0},
                                                      ArrayRef<int64_t>{width / 2},
                                                      ArrayRef<int64_t>{1});
    Value high = vector::ExtractStridedSliceOp::create(
        b, loc, value, ArrayRef<int64_t>{width / 2}, ArrayRef<int64_t>{width / 2},
        ArrayRef<int64_t>{1});
    value = combine(b, kind, low, high);
  }
  return vector::ExtractOp::create(b, loc, value, ArrayRef<int64_t>{0});
}

Value KernelEmitter::scale(OpBuilder &b, Value value, int64_t count) {
  Type type = value.getType();
  Attribute factor =
      b.getFloatAttr(getElementTypeOrSelf(type), 1.0 / static_cast<double>(count));
  if (auto vector = dyn_cast<VectorType>(type))
    factor = DenseElementsAttr::get(vector, factor);
  return arith::MulFOp::create(
      b, loc, value, arith::ConstantOp::create(b, loc, cast<TypedAttr>(factor)));
}

Value KernelEmitter::partialPointer(OpBuilder &b, const ColumnPartials &part, Value task,
                                    Value column) {
  Type element = kernel::ColumnReduceOp(part.op).getType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value at = arith::MulIOp::create(b, loc, task, constant(b, part.columns));
  if (column)
    at = arith::AddIOp::create(b, loc, at, column);
  at = arith::AddIOp::create(b, loc, at, constant(b, part.offset / bytes));
  return LLVM::GEPOp::create(b, loc, partials.getType(), element, partials,
                             ArrayRef<LLVM::GEPArg>{at});
}
