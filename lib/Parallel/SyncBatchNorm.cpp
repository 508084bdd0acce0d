//===- SyncBatchNorm.cpp - Batch norm over all ranks ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SyncBatchNorm.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

RankedTensorType typeOf(Value value) { return DecomposeBuilder::typeOf(value); }

/// Marks ops that are made while it lives: they compute in f32 (f64), whatever autocast
/// does with those around them.
class KeepPrecision : public OpBuilder::Listener {
public:
  explicit KeepPrecision(OpBuilder &builder) : builder(builder) {
    builder.setListener(this);
  }
  ~KeepPrecision() override { builder.setListener(nullptr); }
  KeepPrecision(const KeepPrecision &) = delete;
  KeepPrecision &operator=(const KeepPrecision &) = delete;

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (!isa<ConstantOp, CastOp, ReshapeOp>(op))
      op->setAttr(kPrecisionAttr, builder.getStringAttr("f32"));
  }

private:
  OpBuilder &builder;
};

/// The statistics of all rows.
struct Statistics {
  Value mean, var, rstd;
};

class Synchronizer {
public:
  Synchronizer(StringAttr axis, int64_t ranks) : axis(axis), ranks(ranks) {}

  void rewrite(BatchNormOp op);

private:
  /// Rows of one rank.
  static double countRows(Value x) {
    auto type = typeOf(x);
    return static_cast<double>(type.getNumElements()) /
           std::max<int64_t>(type.getShape().back(), 1);
  }
  Statistics exchangeStatistics(DecomposeBuilder &b, BatchNormOp op);
  void rewriteGradient(BatchNormGradOp op, const Statistics &all, BatchNormOp norm);

  StringAttr axis;
  int64_t ranks;
};

Statistics Synchronizer::exchangeStatistics(DecomposeBuilder &b, BatchNormOp op) {
  const double rows = countRows(op.getX());
  auto channels = typeOf(op.getGamma()).clone(b.element);
  auto splat = [&](double value) -> Value {
    return ConstantOp::create(
        b.builder, b.loc, channels,
        DenseElementsAttr::get(channels, b.builder.getFloatAttr(b.element, value)));
  };
  Value zeros = splat(0);
  // With a momentum of 1, new statistics are those of the batch.
  auto own = BatchNormOp::create(b.builder, b.loc, op.getX(), splat(1), zeros, zeros,
                                 zeros, op.getEps(), APFloat(1.0));
  Value ownVar = rows > 1 ? b.mul(own.getNewVar(), (rows - 1) / rows) : own.getNewVar();
  const int64_t count = channels.getShape().back();
  auto together = channels.clone({ranks, count});
  auto gathered = AllGatherOp::create(
      b.builder, b.loc, TypeRange{together, together},
      ValueRange{b.reshape(own.getNewMean(), {1, count}), b.reshape(ownVar, {1, count})},
      axis);
  Value means = gathered.getOutputs()[0], vars = gathered.getOutputs()[1];
  Statistics all;
  all.mean = b.reduceColumns(ReduceKind::Mean, means);
  Value apart = b.sub(means, all.mean);
  all.var = b.add(b.reduceColumns(ReduceKind::Mean, vars),
                  b.reduceColumns(ReduceKind::Mean, b.mul(apart, apart)));
  all.rstd = b.rsqrt(b.add(all.var, op.getEps().convertToDouble()));
  return all;
}

void Synchronizer::rewrite(BatchNormOp op) {
  SmallVector<BatchNormGradOp> gradients;
  for (Operation *user : op.getMean().getUsers())
    if (auto grad = dyn_cast<BatchNormGradOp>(user);
        grad && grad.getMean() == op.getMean())
      gradients.push_back(grad);
  OpBuilder builder(op);
  Statistics all;
  {
    KeepPrecision keep(builder);
    DecomposeBuilder b(builder, op.getLoc(), op.getX());
    all = exchangeStatistics(b, op);
    const double rows = ranks * countRows(op.getX());
    const double momentum = op.getMomentum().convertToDouble();
    const double unbiased = rows > 1 ? rows / (rows - 1) : 1.0;
    auto update = [&](Value running, Value value, double weight, Value next) {
      Value sum = b.add(b.mul(running, 1.0 - momentum), b.mul(value, weight));
      next.replaceAllUsesWith(b.round(sum, next.getType()));
    };
    update(op.getRunningMean(), all.mean, momentum, op.getNewMean());
    update(op.getRunningVar(), all.var, momentum * unbiased, op.getNewVar());
  }
  // As precise as the op that it replaces.
  Value y = BatchNormInferenceOp::create(builder, op.getLoc(), op.getX(), op.getGamma(),
                                         op.getBeta(), all.mean, all.var, op.getEps());
  y.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.getY().replaceAllUsesWith(y);
  for (BatchNormGradOp grad : gradients)
    rewriteGradient(grad, all, op);
  auto round = [&](Value value, Value old) {
    old.replaceAllUsesWith(
        DecomposeBuilder(builder, op.getLoc(), op.getX()).round(value, old.getType()));
  };
  round(all.mean, op.getMean());
  round(all.rstd, op.getRstd());
  op.erase();
}

void Synchronizer::rewriteGradient(BatchNormGradOp op, const Statistics &all,
                                   BatchNormOp norm) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  KeepPrecision keep(builder);
  DecomposeBuilder b(builder, op.getLoc(), op.getX());
  // The op has the sums of this rank's rows; its dx is not used.
  op.getMeanMutable().set(all.mean);
  op.getRstdMutable().set(all.rstd);
  Value sums[] = {b.widen(op.getDbeta()), b.widen(op.getDgamma())};
  auto means = AllReduceOp::create(
      builder, op.getLoc(), TypeRange{sums[0].getType(), sums[1].getType()}, sums, axis,
      CollectiveKindAttr::get(builder.getContext(), CollectiveKind::Mean),
      CollectiveOrderAttr::get(builder.getContext(), CollectiveOrder::Rank), TypeAttr());
  const double rows = countRows(op.getX());
  // factor (dy - mean of dy - normal (mean of dy normal)).
  Value factor = b.mul(op.getGamma(), all.rstd);
  Value minus = b.mul(factor, -1.0 / rows);
  Value rest = BatchNormInferenceOp::create(
      builder, op.getLoc(), b.widen(op.getX()), b.mul(means.getOutputs()[1], minus),
      b.mul(means.getOutputs()[0], minus), all.mean, all.var, norm.getEps());
  Value dx = b.add(b.mul(op.getDy(), factor), rest);
  op.getDx().replaceAllUsesWith(b.round(dx, op.getDx().getType()));
}

} // namespace

LogicalResult mpt::detail::synchronizeBatchNorms(func::FuncOp function, StringAttr axis,
                                                 int64_t ranks) {
  SmallVector<BatchNormOp> norms;
  WalkResult inLoop = function.walk([&](BatchNormOp op) {
    norms.push_back(op);
    return op->getParentOp() == function ? WalkResult::advance()
                                         : WalkResult::interrupt();
  });
  if (inLoop.wasInterrupted())
    return norms.back().emitError("mpt-data-parallel: '")
           << norms.back()->getName()
           << "' is in a loop, where ranks cannot exchange its "
           << "statistics; unroll the loop with --mpt-unroll-scan, or leave out "
              "batch-norm";
  if (norms.empty())
    return function.emitError("mpt-data-parallel: expected a function with "
                              "'mpt.batch_norm' for batch-norm=synchronized, found none; "
                              "leave out batch-norm");
  for (BatchNormOp norm : norms)
    Synchronizer(axis, ranks).rewrite(norm);
  return success();
}
