//===- ReductionsToGathers.cpp - Reductions in the order of ranks -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-reductions-to-gathers`: replaces reductions that NCCL would round or order in
/// another way than mpt.all_reduce and mpt.reduce_scatter define by exchanges and
/// additions on each rank.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <tuple>

namespace mpt {
#define GEN_PASS_DEF_REDUCTIONSTOGATHERSPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Fewer bytes are sent to all ranks at once, in one exchange and not two.
constexpr int64_t kLeastExchanged = 4096;
/// Tensors of as many bytes are exchanged where they lie; smaller ones are joined first.
constexpr int64_t kLeastAlone = int64_t(1) << 20;

/// One reduction of several tensors.
template <typename Op>
class Rewriter {
public:
  Rewriter(Op op, int64_t ranks) : op(op), ranks(ranks), builder(op) {}

  void run() {
    if (isForLibrary())
      return keepSums();
    if constexpr (std::is_same_v<Op, ReduceScatterOp>)
      exchangeParts();
    else
      reduceAll();
    op.erase();
  }

private:
  /// What NCCL gives the bits that any order may give: sums of f32 and of f64 that travel
  /// as they are.
  bool isForLibrary() {
    return op.getOrder() == CollectiveOrder::Library && !op.getWire() && isSum() &&
           llvm::all_of(op->getOperandTypes(),
                        [&](Type type) {
                          Type element = getElementTypeOrSelf(type);
                          return element == getElementTypeOrSelf(op.getInputs()[0]) &&
                                 (element.isF32() || element.isF64());
                        }) &&
           llvm::all_of(op->getResultTypes(), [&](Type type) {
             return getElementTypeOrSelf(type) == getElementTypeOrSelf(op.getInputs()[0]);
           });
  }
  bool isSum() {
    return op.getKind() == CollectiveKind::Sum || op.getKind() == CollectiveKind::Mean;
  }

  /// The division is the same everywhere.
  void keepSums() {
    if (op.getKind() == CollectiveKind::Sum)
      return;
    op.setKind(CollectiveKind::Sum);
    builder.setInsertionPointAfter(op);
    for (Value output : op.getOutputs()) {
      mpt::detail::DecomposeBuilder b(builder, op.getLoc(), output);
      Value mean = b.div(output, static_cast<double>(ranks));
      output.replaceAllUsesExcept(mean, mean.getDefiningOp());
    }
  }

  Value convert(Value value, Type element) {
    auto type = typeOf(value);
    if (!element || type.getElementType() == element)
      return value;
    return CastOp::create(builder, op.getLoc(), type.clone(element), value,
                          /*autocast=*/false);
  }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    auto type = typeOf(value);
    return type.getShape() == shape
               ? value
               : Value(ReshapeOp::create(builder, op.getLoc(), type.clone(shape), value));
  }
  /// `count` rows of `value` from `first` on.
  Value takeRows(Value value, int64_t first, int64_t count) {
    auto type = typeOf(value);
    SmallVector<int64_t> shape(type.getShape()), offsets(type.getRank(), 0),
        ones(type.getRank(), 1);
    offsets.front() = first;
    shape.front() = count;
    return SliceOp::create(builder, op.getLoc(), type.clone(shape), value, offsets, shape,
                           ones);
  }

  /// What each operand travels as, and what the sums are made in: f32, or f64 if an
  /// operand or result is. Integers have their own type.
  Type getSent(unsigned i) {
    return op.getWire().value_or(getElementTypeOrSelf(op.getInputs()[i]));
  }
  Type getWorking(unsigned i) {
    Type result = getElementTypeOrSelf(op.getOutputs()[i]);
    if (!isa<FloatType>(result))
      return result;
    const bool isWide = result.isF64() || getElementTypeOrSelf(op.getInputs()[i]).isF64();
    return isWide ? Type(builder.getF64Type()) : Type(builder.getF32Type());
  }

  /// Where what waits for the exchange goes: before the first reader, so that this one
  /// runs beside what lies between, and, if it is exchanged again, before the next
  /// exchange.
  void setInsertionPointLate(bool isExchangedAgain) {
    Block *block = op->getBlock();
    Operation *at = block->getTerminator();
    for (Operation *user : op->getUsers()) {
      Operation *reader = block->findAncestorOpInBlock(*user);
      if (reader && reader->isBeforeInBlock(at))
        at = reader;
    }
    if (isExchangedAgain)
      for (Operation *next = op->getNextNode(); next != at; next = next->getNextNode())
        if (isCollective(next)) {
          at = next;
          break;
        }
    builder.setInsertionPoint(at);
  }

  /// The sum or mean, or another combination, of the n parts of `received`, in order.
  Value combineParts(Value received, Type working) {
    const int64_t rows = typeOf(received).getDimSize(0) / ranks;
    Value total;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Value next = convert(takeRows(received, rank * rows, rows), working);
      total = total ? combine(total, next) : next;
    }
    if (op.getKind() == CollectiveKind::Mean) {
      mpt::detail::DecomposeBuilder b(builder, op.getLoc(), working);
      total = b.div(total, static_cast<double>(ranks));
    }
    return total;
  }

  /// Each rank gets the part that is its own from all, and adds it.
  void exchangeParts() {
    SmallVector<Value> sent;
    for (auto [i, input] : llvm::enumerate(op.getInputs()))
      sent.push_back(convert(input, getSent(i)));
    auto exchange = AllToAllOp::create(builder, op.getLoc(), TypeRange(ValueRange(sent)),
                                       sent, op.getAxisAttr());
    setInsertionPointLate(/*isExchangedAgain=*/false);
    for (auto [i, received] : llvm::enumerate(exchange.getOutputs())) {
      Value output = op.getOutputs()[i];
      output.replaceAllUsesWith(
          convert(combineParts(received, getWorking(i)), getElementTypeOrSelf(output)));
    }
  }

  void reduceAll() {
    // Those that are exchanged alike, in order.
    struct Group {
      SmallVector<unsigned> numbers;
      int64_t bytes = 0;
    };
    llvm::MapVector<std::tuple<Type, Type, Type>, Group> groups;
    SmallVector<unsigned> gathered;
    for (unsigned i = 0; i < op.getInputs().size(); ++i) {
      Group &group =
          groups[{getSent(i), getWorking(i), getElementTypeOrSelf(op.getOutputs()[i])}];
      group.numbers.push_back(i);
      group.bytes += countBytes(i);
    }
    SmallVector<ArrayRef<unsigned>> exchanged;
    for (auto &[types, group] : groups) {
      if (isSum() && isa<FloatType>(std::get<1>(types)) && group.bytes >= kLeastExchanged)
        exchanged.push_back(group.numbers);
      else
        gathered.append(group.numbers);
    }
    OpBuilder::InsertionGuard guard(builder);
    for (ArrayRef<unsigned> numbers : exchanged) {
      builder.setInsertionPoint(op);
      exchangeAll(numbers);
    }
    builder.setInsertionPoint(op);
    if (!gathered.empty())
      gatherAll(gathered);
  }
  int64_t countElements(unsigned i) { return typeOf(op.getInputs()[i]).getNumElements(); }
  int64_t countBytes(unsigned i) {
    return countElements(i) * ((getSent(i).getIntOrFloatBitWidth() + 7) / 8);
  }

  /// Tensors `numbers`, of one type: each rank adds a part of them, and the parts are
  /// joined. 2 (n - 1) / n of their bytes travel.
  void exchangeAll(ArrayRef<unsigned> numbers) {
    const Location loc = op.getLoc();
    const Type working = getWorking(numbers.front());
    SmallVector<Value> sent, joined;
    SmallVector<unsigned> alone, rest;
    int64_t total = 0;
    for (unsigned i : numbers) {
      const int64_t count = countElements(i);
      Value flat = reshape(convert(op.getInputs()[i], getSent(i)), count);
      if (count % ranks == 0 && countBytes(i) >= kLeastAlone) {
        alone.push_back(i);
        sent.push_back(flat);
      } else if (count > 0) {
        rest.push_back(i);
        joined.push_back(flat);
        total += count;
      }
    }
    if (!joined.empty()) {
      const int64_t padding = llvm::alignTo(total, ranks) - total;
      auto type = typeOf(joined.front());
      Value all = joined.front();
      if (joined.size() > 1)
        all = ConcatOp::create(builder, loc, type.clone({total}), joined, /*axis=*/0);
      if (padding > 0)
        all = PadOp::create(builder, loc, type.clone({total + padding}), all,
                            builder.getDenseI64ArrayAttr({0}),
                            builder.getDenseI64ArrayAttr({padding}), DenseI64ArrayAttr(),
                            builder.getF64FloatAttr(0.0));
      sent.push_back(all);
    }
    auto exchange = AllToAllOp::create(builder, loc, TypeRange(ValueRange(sent)), sent,
                                       op.getAxisAttr());
    setInsertionPointLate(/*isExchangedAgain=*/true);
    const Type result = getElementTypeOrSelf(op.getOutputs()[numbers.front()]);
    SmallVector<Value> parts;
    SmallVector<Type> types;
    for (Value received : exchange.getOutputs()) {
      // What is reduced also travels.
      Value part =
          convert(combineParts(received, working), op.getWire().value_or(result));
      parts.push_back(part);
      types.push_back(typeOf(part).clone(typeOf(received).getShape()));
    }
    auto all = AllGatherOp::create(builder, loc, types, parts, op.getAxisAttr());
    setInsertionPointLate(/*isExchangedAgain=*/false);
    auto finish = [&](unsigned i, Value flat) {
      Value output = op.getOutputs()[i];
      output.replaceAllUsesWith(
          reshape(convert(flat, result), typeOf(output).getShape()));
    };
    for (auto [i, flat] : llvm::zip(alone, all.getOutputs()))
      finish(i, flat);
    int64_t at = 0;
    for (unsigned i : rest) {
      const int64_t count = countElements(i);
      Value last = all.getOutputs().back();
      finish(i,
             count == typeOf(last).getNumElements() ? last : takeRows(last, at, count));
      at += count;
    }
    for (unsigned i : numbers)
      if (countElements(i) == 0)
        op.getOutputs()[i].replaceAllUsesWith(convert(op.getInputs()[i], result));
  }

  /// Every rank gets what all have, and combines it.
  void gatherAll(ArrayRef<unsigned> numbers) {
    SmallVector<Value> parts;
    SmallVector<Type> types;
    for (unsigned i : numbers) {
      Value sent = convert(op.getInputs()[i], getSent(i));
      if (typeOf(sent).getRank() == 0)
        sent = reshape(sent, 1);
      SmallVector<int64_t> shape(typeOf(sent).getShape());
      shape.front() *= ranks;
      parts.push_back(sent);
      types.push_back(typeOf(sent).clone(shape));
    }
    auto all = AllGatherOp::create(builder, op.getLoc(), types, parts, op.getAxisAttr());
    setInsertionPointLate(/*isExchangedAgain=*/false);
    for (auto [i, gathered] : llvm::zip_equal(numbers, all.getOutputs())) {
      Value output = op.getOutputs()[i];
      Value total = combineParts(gathered, getWorking(i));
      // What is reduced also travels.
      if (op.getWire())
        total = convert(total, *op.getWire());
      output.replaceAllUsesWith(reshape(convert(total, getElementTypeOrSelf(output)),
                                        typeOf(output).getShape()));
    }
  }

  Value combine(Value total, Value next) {
    const Type type = total.getType();
    const Location loc = op.getLoc();
    switch (op.getKind()) {
    case CollectiveKind::Max:
      return MaximumOp::create(builder, loc, type, total, next);
    case CollectiveKind::Min:
      return MinimumOp::create(builder, loc, type, total, next);
    case CollectiveKind::Any:
      return OrOp::create(builder, loc, total, next);
    case CollectiveKind::Sum:
    case CollectiveKind::Mean:
      break;
    }
    return AddOp::create(builder, loc, type, total, next);
  }

  Op op;
  int64_t ranks;
  OpBuilder builder;
};

struct ReductionsToGathersPass
    : mpt::impl::ReductionsToGathersPassBase<ReductionsToGathersPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> reductions;
    getOperation().walk([&](Operation *op) {
      if (isa<AllReduceOp, ReduceScatterOp>(op))
        reductions.push_back(op);
    });
    for (Operation *op : reductions) {
      // Shapes are known when a step is planned, and the verifier has seen the mesh.
      std::optional<int64_t> ranks =
          mpt::getNumRanks(op, op->getAttrOfType<StringAttr>("axis").getValue());
      if (!ranks)
        continue;
      if (llvm::any_of(op->getOperandTypes(), [](Type type) {
            return !cast<RankedTensorType>(type).hasStaticShape();
          })) {
        op->emitError("mpt-reductions-to-gathers: expected static shapes, found ")
            << op->getOperandTypes() << "; run --mpt-specialize first";
        return signalPassFailure();
      }
      if (auto reduce = dyn_cast<AllReduceOp>(op))
        Rewriter<AllReduceOp>(reduce, *ranks).run();
      else
        Rewriter<ReduceScatterOp>(cast<ReduceScatterOp>(op), *ranks).run();
    }
  }
};

} // namespace
