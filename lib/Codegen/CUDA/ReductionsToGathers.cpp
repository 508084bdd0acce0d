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
/// another way than mpt.all_reduce and mpt.reduce_scatter define by an all_gather and
/// additions on each rank.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"

#include "mlir/IR/TypeUtilities.h"

namespace mpt {
#define GEN_PASS_DEF_REDUCTIONSTOGATHERSPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// One reduction of several tensors.
template <typename Op>
class Rewriter {
public:
  Rewriter(Op op, int64_t ranks) : op(op), ranks(ranks), builder(op) {}

  void run() {
    if (isForLibrary())
      return keepSums();
    SmallVector<Value> parts;
    SmallVector<Type> types;
    for (Value input : op.getInputs()) {
      Value sent = convert(input, op.getWire().value_or(Type()));
      auto type = typeOf(sent);
      if (type.getRank() == 0) {
        type = type.clone({1});
        sent = ReshapeOp::create(builder, op.getLoc(), type, sent);
      }
      SmallVector<int64_t> shape(type.getShape());
      shape.front() *= ranks;
      parts.push_back(sent);
      types.push_back(type.clone(shape));
    }
    auto all = AllGatherOp::create(builder, op.getLoc(), types, parts, op.getAxisAttr());
    for (auto [gathered, part, output] :
         llvm::zip_equal(all.getOutputs(), parts, op.getOutputs()))
      output.replaceAllUsesWith(reduce(gathered, typeOf(part), output));
    op.erase();
  }

private:
  /// What NCCL gives the bits that any order may give: sums of f32 and of f64 that travel
  /// as they are.
  bool isForLibrary() {
    return op.getOrder() == CollectiveOrder::Library && !op.getWire() &&
           (op.getKind() == CollectiveKind::Sum ||
            op.getKind() == CollectiveKind::Mean) &&
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

  /// Rank `rank`'s values of the joined ones, `part` of each rank.
  Value select(Value gathered, RankedTensorType part, int64_t rank) {
    SmallVector<int64_t> offsets(part.getRank(), 0), ones(part.getRank(), 1);
    offsets.front() = rank * part.getDimSize(0);
    return SliceOp::create(builder, op.getLoc(), part, gathered, offsets, part.getShape(),
                           ones);
  }

  Value reduce(Value gathered, RankedTensorType part, Value output) {
    auto result = typeOf(output);
    if constexpr (std::is_same_v<Op, ReduceScatterOp>) {
      gathered = cut(gathered, part);
      part = typeOf(gathered).clone(result.getShape());
    }
    // Floats are combined in f32, or f64 if an operand or result is.
    Type working = result.getElementType();
    if (isa<FloatType>(working)) {
      const bool isWide =
          working.isF64() ||
          getElementTypeOrSelf(op.getInputs()[cast<OpResult>(output).getResultNumber()])
              .isF64();
      working = isWide ? Type(builder.getF64Type()) : Type(builder.getF32Type());
    }
    Value total;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Value next = convert(select(gathered, part, rank), working);
      total = total ? combine(total, next) : next;
    }
    if (op.getKind() == CollectiveKind::Mean) {
      mpt::detail::DecomposeBuilder b(builder, op.getLoc(), working);
      total = b.div(total, static_cast<double>(ranks));
    }
    // What is reduced also travels, unless each rank keeps its part.
    if (op.getWire() && std::is_same_v<Op, AllReduceOp>)
      total = convert(total, *op.getWire());
    total = convert(total, result.getElementType());
    return total.getType() == result
               ? total
               : Value(ReshapeOp::create(builder, op.getLoc(), result, total));
  }

  /// Of the joined tensors of all ranks, the parts that are for this one, one after the
  /// other.
  Value cut(Value gathered, RankedTensorType part) {
    const Location loc = op.getLoc();
    SmallVector<int64_t> shape(part.getShape());
    shape.front() /= ranks;
    SmallVector<int64_t> rows = {ranks * ranks};
    llvm::append_range(rows, shape);
    Value table = ReshapeOp::create(builder, loc, part.clone(rows), gathered).getResult();
    const Type i64 = builder.getI64Type();
    auto scalar = RankedTensorType::get({}, i64);
    auto indices = RankedTensorType::get({ranks}, i64);
    SmallVector<int64_t> firsts;
    for (int64_t i = 0; i < ranks; ++i)
      firsts.push_back(i * ranks);
    Value first = ConstantOp::create(builder, loc, indices,
                                     DenseElementsAttr::get(indices, ArrayRef(firsts)));
    Value own = RankOp::create(builder, loc, scalar, op.getAxisAttr());
    Value places = AddOp::create(builder, loc, indices, first, own);
    rows.front() = ranks;
    Value chosen = GatherOp::create(builder, loc, part.clone(rows), table, places);
    shape.front() *= ranks;
    return ReshapeOp::create(builder, loc, part.clone(shape), chosen);
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
      return AddOp::create(builder, loc, type, total, next);
    }
    llvm_unreachable("a kind of collective");
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
