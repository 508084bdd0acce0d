//===- CrossEntropyFormula.cpp - Formula of cross-entropy -------*- C++ -*-===//
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

/// As `skipReshapes`; also through choices that constants decide, row 0 of a table of one
/// row, and NaN where a label is out of range.
static Value skipToPicked(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      value = reshape.getX();
    } else if (auto where = dyn_cast<WhereOp>(op)) {
      std::optional<double> condition = formulas::getNumber(where.getCondition());
      std::optional<double> otherwise = formulas::getNumber(where.getOnFalse());
      if (where.getOnTrue().getType() != value.getType())
        break;
      if (condition != 1.0 && !(otherwise && std::isnan(*otherwise)))
        break;
      value = where.getOnTrue();
    } else if (auto gather = dyn_cast<GatherOp>(op)) {
      if (getRank(gather.getTable()) < 1 || getShape(gather.getTable())[0] != 1 ||
          formulas::getNumber(gather.getIndices()) != 0.0)
        break;
      int64_t rows = 1;
      for (int64_t size : getShape(gather.getIndices()))
        rows *= size;
      if (rows != 1)
        break;
      value = gather.getTable();
    } else {
      break;
    }
  }
  return value;
}

namespace {
/// An element of each row of `table`.
struct Picked {
  Value table, labels;
};
} // namespace

/// The number that a term of a position multiplies the iota of dimension `dim` by.
static bool isRowOffset(Value value, ArrayRef<int64_t> rows, int64_t width,
                        SmallVectorImpl<bool> &found) {
  double factor = 1;
  View view = getView(value, rows.size());
  if (auto mul = getOp<MulOp>(view)) {
    std::optional<double> number = formulas::getNumber(mul.getRhs());
    if (!number)
      return false;
    factor = *number;
    view = getOperand(view, 0);
  }
  auto iota = getOp<IotaOp>(view);
  if (!iota)
    return false;
  int64_t dim = view.dims[iota.getAxis()];
  if (dim < 0 || dim >= int64_t(rows.size()) || found[dim])
    return false;
  for (int64_t size : rows.drop_front(dim + 1))
    width *= size;
  found[dim] = true;
  return factor == double(width);
}

/// The element of each row of a table whose position in the row is a label.
static std::optional<Picked> getPicked(Value value, NearMiss *why = nullptr) {
  auto gather = skipToPicked(value).getDefiningOp<GatherOp>();
  auto missLabel = [&](const Twine &reason) {
    return miss(why, "mpt.cross_entropy", reason);
  };
  if (!gather || getRank(gather.getTable()) != 1)
    return std::nullopt;
  auto flat = gather.getTable().getDefiningOp<ReshapeOp>();
  if (!flat || getRank(flat.getX()) < 1)
    return std::nullopt;
  Value table = flat.getX();
  int64_t width = getShape(table).back();
  ArrayRef<int64_t> shape = getShape(gather.getIndices());
  // One index for each row, however the rows are shaped.
  int64_t numRows = 1, numIndices = 1;
  for (int64_t size : getShape(table).drop_back())
    numRows *= size;
  for (int64_t size : shape)
    numIndices *= size;
  if (numRows != numIndices)
    return missLabel("there is not one label for each row of logits");
  // label + iota width + ..
  SmallVector<bool> found(shape.size());
  for (auto [index, size] : llvm::enumerate(shape))
    found[index] = size == 1;
  Value label;
  SmallVector<Value> left = {gather.getIndices()};
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (auto add = next.getDefiningOp<AddOp>()) {
      left.append({add.getLhs(), add.getRhs()});
      continue;
    }
    if (isRowOffset(next, shape, width, found))
      continue;
    if (label || getShape(next) != shape)
      return missLabel("what is read is not one element of each row, at its label");
    label = next;
  }
  if (!label || !llvm::all_of(found, [](bool is) { return is; }))
    return missLabel("what is read is not one element of each row, at its label");
  // Labels are kept within the row.
  auto min = skipReshapes(label).getDefiningOp<MinimumOp>();
  if (!min || !isNumber(min.getRhs(), double(width - 1)))
    return missLabel("a label may be one of the next row");
  auto max = skipReshapes(min.getLhs()).getDefiningOp<MaximumOp>();
  if (!max || !isNumber(max.getRhs(), 0))
    return missLabel("a label may be one of the row before");
  return Picked{table, max.getLhs()};
}

/// The labels, one for each of `rows`, of which `value`, as a product with [rows.., V]
/// reads it, is the one-hot form: 1 where a position is the label, else 0.
static Value getOneHotLabels(Value value, ArrayRef<int64_t> rows) {
  int64_t rank = rows.size() + 1;
  View view = getView(value, rank);
  if (auto cast = getOp<CastOp>(view)) {
    view = getOperand(view, 0);
  } else if (auto where = getOp<WhereOp>(view);
             where && isNumber(where.getOnTrue(), 1) && isNumber(where.getOnFalse(), 0)) {
    view = getOperand(view, 0);
  }
  auto compare = getOp<CompareOp>(view);
  if (!compare || compare.getPredicate() != ComparePredicate::EQ)
    return Value();
  for (unsigned side : {0u, 1u}) {
    View classes = getOperand(view, side), labels = getOperand(view, 1 - side);
    auto iota = getOp<IotaOp>(classes);
    auto type = cast<RankedTensorType>(labels.base.getType());
    if (!iota || classes.dims[iota.getAxis()] != rank - 1 ||
        !isa<IntegerType>(type.getElementType()) ||
        type.getElementType() != cast<RankedTensorType>(iota.getType()).getElementType())
      continue;
    // One for each row, in the rows' order.
    int64_t next = 0, numLabels = 1, numRows = 1;
    for (auto [size, dim] : llvm::zip_equal(type.getShape(), labels.dims)) {
      if (dim != -1 && (dim < next || dim == rank - 1))
        return Value();
      next = dim == -1 ? next : dim + 1;
      numLabels *= size;
    }
    for (int64_t size : rows)
      numRows *= size;
    return numLabels == numRows ? labels.base : Value();
  }
  return Value();
}

namespace {
/// Rows of log-softmax times one-hot labels, perhaps negated.
struct OneHot {
  LogSoftmaxOp log;
  Value labels;
  double sign;
};
} // namespace

/// `mul` as such rows.
static std::optional<OneHot> getOneHot(MulOp mul, NearMiss *why) {
  for (unsigned side : {0u, 1u}) {
    Value table = mul ? mul->getOperand(side) : Value();
    auto neg = table ? table.getDefiningOp<NegOp>() : NegOp();
    auto log = neg     ? neg.getX().getDefiningOp<LogSoftmaxOp>()
               : table ? table.getDefiningOp<LogSoftmaxOp>()
                       : LogSoftmaxOp();
    if (!log || log.getResult().getType() != mul.getType())
      continue;
    Value labels =
        getOneHotLabels(mul->getOperand(1 - side), getShape(mul.getResult()).drop_back());
    if (!labels)
      return miss(why, "mpt.cross_entropy",
                  "labels are neither integers nor their one-hot form: they may be "
                  "smoothed, or probabilities");
    if (!log.getResult().hasOneUse() || !table.hasOneUse())
      return miss(why, "mpt.cross_entropy", "others read the log-softmax");
    return OneHot{log, labels, neg ? -1.0 : 1.0};
  }
  return std::nullopt;
}

/// True if `value` is computed from losses of rows.
static bool isOfLosses(Value value, unsigned depth = 4) {
  value = skipReshapes(value);
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (skipToPicked(value).getDefiningOp<GatherOp>())
    return getPicked(value).has_value();
  if (getOneHot(dyn_cast<MulOp>(op), nullptr))
    return true;
  return isa<MulOp, WhereOp, NegOp, DivOp, SubOp, ReduceOp, CastOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isOfLosses(operand, depth - 1); });
}

/// The factor of `root`, with the numbers that it is multiplied by after.
static Operation *takeFactors(Operation *root, double &factor) {
  while (root->hasOneUse()) {
    Operation *user = *root->getUsers().begin();
    if (!isa<NegOp, DivOp, MulOp>(user) ||
        user->getResult(0).getType() != root->getResult(0).getType())
      break;
    if (isa<NegOp>(user)) {
      factor = -factor;
    } else {
      unsigned other = user->getOperand(0) == root->getResult(0) ? 1 : 0;
      std::optional<double> number = formulas::getNumber(user->getOperand(other));
      if (!number || *number == 0 || (isa<DivOp>(user) && other == 0))
        break;
      factor = isa<DivOp>(user) ? factor / *number : factor * *number;
    }
    root = user;
  }
  return root;
}

std::optional<CrossEntropy> formulas::matchCrossEntropy(Operation *sum, NearMiss *why) {
  auto reduce = dyn_cast<ReduceOp>(sum);
  if (!reduce || !isStaticFloat(reduce.getX()) ||
      (reduce.getKind() != ReduceKind::Sum && reduce.getKind() != ReduceKind::Mean))
    return std::nullopt;
  int64_t rank = getRank(reduce.getX());
  if (int64_t(reduce.getAxes().size()) != rank || getRank(reduce.getY()) != 0)
    return std::nullopt;
  int64_t count = 1;
  for (int64_t size : getShape(reduce.getX()))
    count *= size;
  double factor = reduce.getKind() == ReduceKind::Mean ? 1.0 / double(count) : 1.0;
  Value rows = skipReshapes(reduce.getX());
  if (auto neg = rows.getDefiningOp<NegOp>()) {
    factor = -factor;
    rows = skipReshapes(neg.getX());
  }
  // Of one-hot labels, this may be the sum over classes, too.
  double sign = -factor;
  Value products = rows;
  if (auto classes = rows.getDefiningOp<ReduceOp>();
      classes && classes.getKind() == ReduceKind::Sum && classes.getAxes().size() == 1 &&
      classes.getAxes()[0] == getRank(classes.getX()) - 1)
    products = classes.getX();
  if (auto neg = products.getDefiningOp<NegOp>()) {
    sign = -sign;
    products = neg.getX();
  }
  if (auto mul = products.getDefiningOp<MulOp>())
    if (std::optional<OneHot> oneHot = getOneHot(mul, why)) {
      CrossEntropy loss{oneHot->log.getX(), oneHot->labels, sign * oneHot->sign, reduce};
      loss.isOneHot = true;
      loss.root = takeFactors(reduce, loss.factor);
      return loss;
    }
  std::optional<Picked> picked;
  Value logits;
  if (auto sub = rows.getDefiningOp<SubOp>()) {
    // The dimensions of lse are the rows. The table may be the same logits in another
    // shape.
    Value lse = skipReshapes(sub.getLhs());
    logits = getLogSumExp(getView(lse, getRank(lse)), getRank(lse) + 1);
    picked = getPicked(sub.getRhs(), logits ? why : nullptr);
    if (!picked)
      return std::nullopt;
    if (!logits || skipReshapes(logits) != skipReshapes(picked->table) ||
        getShape(logits).back() != getShape(picked->table).back())
      return std::nullopt;
  } else {
    auto gather = skipToPicked(rows).getDefiningOp<GatherOp>();
    bool isOfLog =
        gather && skipReshapes(gather.getTable()).getDefiningOp<LogSoftmaxOp>();
    picked = getPicked(rows, isOfLog ? why : nullptr);
    auto log = picked ? skipReshapes(picked->table).getDefiningOp<LogSoftmaxOp>()
                      : LogSoftmaxOp();
    if (log && getShape(log.getX()).back() != getShape(picked->table).back())
      log = {};
    if (log && !log.getResult().hasOneUse())
      return miss(why, "mpt.cross_entropy", "others read the log-softmax");
    if (why && !log && isa_and_present<MulOp, WhereOp>(rows.getDefiningOp()) &&
        isOfLosses(rows))
      return miss(why, "mpt.cross_entropy", "losses of rows are weighed or masked");
    if (!log)
      return std::nullopt;
    logits = log.getX();
    factor = -factor;
  }
  int64_t numRows = 1;
  for (int64_t size : getShape(logits).drop_back())
    numRows *= size;
  if (numRows != count)
    return std::nullopt;
  CrossEntropy loss{logits, picked->labels, factor, reduce};
  loss.root = takeFactors(reduce, loss.factor);
  return loss;
}
