//===- FormulaParts.cpp - What formulas have in common ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

ArrayRef<int64_t> formulas::getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
int64_t formulas::getRank(Value value) { return getShape(value).size(); }
bool formulas::isStaticFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && isa<FloatType>(type.getElementType());
}

/// True if `number` is `wanted` as a constant of f32 spells it.
bool formulas::isNear(double number, double wanted) {
  return std::abs(number - wanted) <= 0x1p-20 * std::abs(wanted);
}

std::nullopt_t formulas::miss(NearMiss *why, const char *op, const Twine &reason) {
  if (why)
    *why = {op, reason.str()};
  return std::nullopt;
}

std::string formulas::spell(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

std::string formulas::listDims(ArrayRef<int64_t> dims) {
  return llvm::formatv("[{0:$[, ]}]", llvm::make_range(dims.begin(), dims.end()));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static std::optional<double> getNumber(Value value, unsigned depth) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements))) {
    if (!elements.isSplat())
      return std::nullopt;
    if (isa<FloatType>(elements.getElementType()))
      return elements.getSplatValue<APFloat>().convertToDouble();
    auto integer = dyn_cast<IntegerType>(elements.getElementType());
    if (!integer || integer.getWidth() > 64)
      return std::nullopt;
    APInt number = elements.getSplatValue<APInt>();
    return integer.getWidth() == 1 ? double(number.getZExtValue())
                                   : double(number.getSExtValue());
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || op->getNumRegions() != 0)
    return std::nullopt;
  auto get = [&](unsigned index) { return getNumber(op->getOperand(index), depth - 1); };
  if (isa<BroadcastOp, ReshapeOp, StopGradientOp, TransposeOp>(op))
    return get(0);
  if (isa<CastOp>(op)) {
    std::optional<double> number = get(0);
    bool toFloat = isa<FloatType>(type.getElementType());
    return number && (toFloat || *number == 0 || *number == 1) ? number : std::nullopt;
  }
  if (auto where = dyn_cast<WhereOp>(op)) {
    std::optional<double> condition = get(0);
    return condition ? get(*condition != 0 ? 1 : 2) : std::nullopt;
  }
  if (isa<SqrtOp>(op)) {
    std::optional<double> number = get(0);
    return number && *number >= 0 ? std::optional(std::sqrt(*number)) : std::nullopt;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReduceKind::Min || reduce.getKind() == ReduceKind::Max
               ? get(0)
               : std::nullopt;
  bool isFloat = isa<FloatType>(type.getElementType());
  bool isTruth = type.getElementType().isInteger(1);
  if (op->getNumOperands() != 2 ||
      !(isa<CompareOp>(op) || (isTruth && isa<AndOp, OrOp>(op)) ||
        (isFloat && isa<AddOp, SubOp, MulOp, DivOp>(op))))
    return std::nullopt;
  std::optional<double> a = get(0), b = get(1);
  // One of the two decides.
  if (isTruth && isa<AndOp, OrOp>(op)) {
    const double decides = isa<OrOp>(op);
    if ((a && *a == decides) || (b && *b == decides))
      return decides;
    return a && b ? std::optional(1 - decides) : std::nullopt;
  }
  if (!a || !b)
    return std::nullopt;
  if (auto compare = dyn_cast<CompareOp>(op)) {
    switch (compare.getPredicate()) {
    case ComparePredicate::EQ:
      return *a == *b;
    case ComparePredicate::NE:
      return *a != *b;
    case ComparePredicate::LT:
      return *a < *b;
    case ComparePredicate::LE:
      return *a <= *b;
    case ComparePredicate::GT:
      return *a > *b;
    case ComparePredicate::GE:
      return *a >= *b;
    }
    return std::nullopt;
  }
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](AddOp) { return *a + *b; })
      .Case([&](SubOp) { return *a - *b; })
      .Case([&](MulOp) { return *a * *b; })
      .Case([&](DivOp) { return *a / *b; })
      .Default(std::nullopt);
}

std::optional<double> formulas::getNumber(Value value) {
  return ::getNumber(value, maxDepth);
}

bool formulas::isNumber(Value value, double wanted) {
  std::optional<double> number = formulas::getNumber(value);
  return number && *number == wanted;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

SmallVector<int64_t> formulas::dropUnits(ArrayRef<int64_t> shape) {
  return llvm::filter_to_vector(shape, [](int64_t size) { return size != 1; });
}

View formulas::strip(View view) {
  while (Operation *op = view.base.getDefiningOp()) {
    if (!isa<RankedTensorType>(view.base.getType()) ||
        !cast<RankedTensorType>(view.base.getType()).hasStaticShape())
      break;
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      ArrayRef<int64_t> from = getShape(reshape.getX()), to = getShape(reshape.getY());
      if (dropUnits(from) != dropUnits(to))
        break;
      SmallVector<int64_t> left;
      for (auto [size, dim] : llvm::zip_equal(to, view.dims))
        if (size != 1)
          left.push_back(dim);
      view.dims.clear();
      unsigned next = 0;
      for (int64_t size : from)
        view.dims.push_back(size == 1 ? -1 : left[next++]);
      view.base = reshape.getX();
      continue;
    }
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      SmallVector<int64_t, 4> dims(view.dims.size());
      for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
        dims[from] = view.dims[to];
      view = {transpose.getX(), dims};
      continue;
    }
    Value next;
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      next = broadcast.getX();
    } else if (auto where = dyn_cast<WhereOp>(op)) {
      if (std::optional<double> condition = formulas::getNumber(where.getCondition()))
        next = *condition != 0 ? where.getOnTrue() : where.getOnFalse();
    } else if (auto max = dyn_cast<MaximumOp>(op)) {
      if (isNumber(max.getRhs(), -INFINITY))
        next = max.getLhs();
      else if (isNumber(max.getLhs(), -INFINITY))
        next = max.getRhs();
    } else if (isa<AndOp, OrOp>(op) && getElementTypeOrSelf(view.base).isInteger(1)) {
      const double neutral = isa<AndOp>(op) ? 1 : 0;
      if (isNumber(op->getOperand(1), neutral))
        next = op->getOperand(0);
      else if (isNumber(op->getOperand(0), neutral))
        next = op->getOperand(1);
    }
    if (!next)
      break;
    view = {next, SmallVector<int64_t, 4>(ArrayRef(view.dims).take_back(getRank(next)))};
    for (auto [size, dim] : llvm::zip_equal(getShape(next), view.dims))
      if (size == 1)
        dim = -1;
  }
  return view;
}

View formulas::getView(Value value, int64_t rank) {
  View view{value, {}};
  for (auto [index, size] : llvm::enumerate(getShape(value)))
    view.dims.push_back(size == 1 ? -1 : int64_t(index) + rank - getRank(value));
  return strip(view);
}

View formulas::getRawOperand(const View &view, unsigned index) {
  Value operand = view.base.getDefiningOp()->getOperand(index);
  View result{operand,
              SmallVector<int64_t, 4>(ArrayRef(view.dims).take_back(getRank(operand)))};
  for (auto [size, dim] : llvm::zip_equal(getShape(operand), result.dims))
    if (size == 1)
      dim = -1;
  return result;
}

View formulas::getOperand(const View &view, unsigned index) {
  return strip(getRawOperand(view, index));
}

bool formulas::isWhole(const View &view, Value value) {
  if (view.base != value)
    return false;
  for (auto [index, dim] : llvm::enumerate(view.dims))
    if (dim != -1 && dim != int64_t(index))
      return false;
  return true;
}

std::optional<Reduced> formulas::getReduced(const View &view, ReduceKind kind) {
  auto reduce = getOp<ReduceOp>(view);
  if (!reduce || reduce.getKind() != kind)
    return std::nullopt;
  SmallVector<int64_t> axes(reduce.getAxes());
  llvm::sort(axes);
  unsigned next = 0;
  for (int64_t dim : llvm::seq(getRank(reduce.getX()))) {
    bool gone = llvm::is_contained(axes, dim);
    if (gone && !reduce.getKeepDims())
      continue;
    int64_t found = view.dims[next++];
    if (!gone && found != -1 && found != dim)
      return std::nullopt;
  }
  return Reduced{reduce.getX(), axes};
}

int64_t formulas::countReduced(const Reduced &reduced) {
  int64_t count = 1;
  for (int64_t axis : reduced.axes)
    count *= getShape(reduced.x)[axis];
  return count;
}

std::optional<Reduced> formulas::getMean(View view) {
  double factor = 1;
  for (unsigned depth = 0; depth < maxDepth; ++depth) {
    if (auto div = getOp<DivOp>(view)) {
      std::optional<double> number = formulas::getNumber(div.getRhs());
      if (!number)
        return std::nullopt;
      factor /= *number;
      view = getOperand(view, 0);
    } else if (auto mul = getOp<MulOp>(view)) {
      std::optional<double> left = formulas::getNumber(mul.getLhs());
      std::optional<double> right = formulas::getNumber(mul.getRhs());
      if (!left && !right)
        return std::nullopt;
      factor *= left ? *left : *right;
      view = getOperand(view, left ? 1 : 0);
    } else {
      break;
    }
  }
  if (std::optional<Reduced> mean = getReduced(view, ReduceKind::Mean))
    return factor == 1 ? mean : std::nullopt;
  std::optional<Reduced> sum = getReduced(view, ReduceKind::Sum);
  if (!sum || !isNear(factor * countReduced(*sum), 1))
    return std::nullopt;
  return sum;
}

bool formulas::isReadOnlyBy(Operation *op, ArrayRef<Operation *> readers) {
  return llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return llvm::is_contained(readers, user); });
}

Value formulas::skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}
