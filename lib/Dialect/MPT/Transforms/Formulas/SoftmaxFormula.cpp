//===- SoftmaxFormula.cpp - Formula of softmax ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

/// What `view` is the maximum of over the last of `rank` dimensions.
static View getMaximized(const View &view, int64_t rank) {
  auto reduce = getOp<ReduceOp>(view);
  if (!reduce || reduce.getKind() != ReduceKind::Max || reduce.getAxes().size() != 1)
    return {};
  View source{reduce.getX(), {}};
  unsigned next = 0;
  for (auto [dim, size] : llvm::enumerate(getShape(reduce.getX()))) {
    bool isAxis = reduce.getAxes()[0] == int64_t(dim);
    int64_t place = isAxis && !reduce.getKeepDims() ? -1 : view.dims[next++];
    source.dims.push_back(isAxis ? rank - 1 : place);
    if (size == 1)
      source.dims.back() = -1;
  }
  return strip(source);
}

/// The maximum of `x` over the last dimension, or what makes it finite.
static bool isLastMax(View view, Value x) {
  if (auto stop = getOp<StopGradientOp>(view))
    view = getOperand(view, 0);
  if (auto where = getOp<WhereOp>(view)) {
    auto finite = where.getCondition().getDefiningOp<IsFiniteOp>();
    if (!finite || finite.getX() != where.getOnTrue() || !isNumber(where.getOnFalse(), 0))
      return false;
    view = getOperand(view, 1);
    if (auto stop = getOp<StopGradientOp>(view))
      view = getOperand(view, 0);
  }
  return getMaximized(view, getRank(x)) == getView(x, getRank(x));
}

/// x if `value` is x - max x over the last dimension.
static Value getShifted(Value value) {
  auto sub = value.getDefiningOp<SubOp>();
  if (!sub || sub.getLhs().getType() != value.getType() ||
      !isLastMax(getView(sub.getRhs(), getRank(value)), sub.getLhs()))
    return Value();
  return sub.getLhs();
}

/// The e^x whose sums over the last dimension `view` is, where x has `rank`.
static ExpOp getSumOfExp(const View &view, int64_t rank) {
  std::optional<Reduced> sum = getReduced(view, ReduceKind::Sum);
  if (!sum || getRank(sum->x) != rank || sum->axes.size() != 1 ||
      sum->axes[0] != rank - 1)
    return {};
  return sum->x.getDefiningOp<ExpOp>();
}

static View skipAbs(View view) { return getOp<AbsOp>(view) ? getOperand(view, 0) : view; }

Value formulas::getLogSumExp(const View &view, int64_t rank) {
  View log = view, max;
  if (getOp<AddOp>(view)) {
    log = getOperand(view, 0);
    max = getOperand(view, 1);
    if (!getOp<LogOp>(log))
      std::swap(log, max);
  }
  if (!getOp<LogOp>(log))
    return Value();
  ExpOp exp = getSumOfExp(skipAbs(getOperand(log, 0)), rank);
  // Where others read e^x, as gradients do, it is computed in any case.
  if (!exp || !exp.getResult().hasOneUse())
    return Value();
  if (!max.base)
    return exp.getX();
  Value x = getShifted(exp.getX());
  return x && isLastMax(max, x) ? x : Value();
}

/// Why `rhs`, the divisor of an e^x, is not its sum over the last dimension. Nothing if
/// it is no sum of e^x at all.
static std::nullopt_t missSum(const View &rhs, ExpOp exp, int64_t rank, const char *op,
                              NearMiss *why) {
  auto sum = getOp<ReduceOp>(rhs);
  auto summed = sum ? sum.getX().getDefiningOp<ExpOp>() : ExpOp();
  if (!summed || sum.getKind() != ReduceKind::Sum)
    return std::nullopt;
  if (exp && summed != exp)
    return miss(why, op, "the sum is that of other exponentials");
  if (sum.getAxes().size() != 1 || sum.getAxes()[0] != rank - 1)
    return miss(why, op,
                "the sum is over dimensions " + listDims(sum.getAxes()) +
                    ", expected the last alone");
  if (!exp && !summed.getResult().hasOneUse())
    return miss(why, op, "others read the exponentials");
  return miss(why, op, "the sum is not read as that of its own row");
}

std::optional<Softmax> formulas::matchSoftmax(Operation *root, NearMiss *why) {
  if (!isa<DivOp, MulOp, SubOp>(root) || !isStaticFloat(root->getResult(0)))
    return std::nullopt;
  Value y = root->getResult(0);
  int64_t rank = getRank(y);
  if (rank == 0 || root->getOperand(0).getType() != y.getType())
    return std::nullopt;
  View rhs = getView(root->getOperand(1), rank);
  if (isa<SubOp>(root)) {
    // x - log(sum e^x); x may be shifted.
    Value x = root->getOperand(0);
    Value found = getLogSumExp(rhs, rank);
    if (!found && getOp<LogOp>(rhs))
      return missSum(skipAbs(getOperand(rhs, 0)), {}, rank, "mpt.log_softmax", why);
    if (found && found != x)
      return miss(why, "mpt.log_softmax", "the sum is that of other exponentials");
    if (!found)
      return std::nullopt;
    Value source = getShifted(x);
    return Softmax{source ? source : x, /*log=*/true};
  }
  auto exp = root->getOperand(0).getDefiningOp<ExpOp>();
  if (!exp)
    return std::nullopt;
  if (isa<MulOp>(root)) {
    if (getOp<ReciprocalOp>(rhs))
      rhs = getOperand(rhs, 0);
    else if (auto div = getOp<DivOp>(rhs); div && isNumber(div.getLhs(), 1))
      rhs = getOperand(rhs, 1);
    else
      return std::nullopt;
  }
  if (getSumOfExp(rhs, rank) != exp)
    return missSum(rhs, exp, rank, "mpt.softmax", why);
  // Where e^x is read by others it has to be kept in any case.
  if (!isReadOnlyBy(exp, {root, rhs.base.getDefiningOp()}))
    return miss(why, "mpt.softmax", "others read the exponentials");
  Value x = getShifted(exp.getX());
  return Softmax{x ? x : exp.getX(), /*log=*/false};
}
