//===- Reductions.cpp - Torch's reductions, softmax, argmax, topk -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Operand 0 as elements of `element`, and dimensions and keepdim as torch has them;
/// where the tensor is [N, H, W, C] and loses only H and W, it stays so.
namespace {
struct Reduced {
  Value x;
  Shape axes;
  bool keepDims;
};
} // namespace

static Reduced readReduction(Lowering &l, Type element, unsigned dims, unsigned keep) {
  Tensor stored = l.getStored(0);
  int64_t rank = getRank(stored.value);
  Reduced reduced{{}, l.dimensions(dims, rank), l.flag(keep)};
  if (stored.channelsLast && reduced.axes == Shape({2, 3})) {
    l.channelsLast = reduced.keepDims; // Without, [N, C] is what is left.
    reduced.axes = {1, 2};
    reduced.x = l.cast(stored.value, element);
  } else {
    reduced.x = l.get(0, element);
  }
  return reduced;
}

static Value reduceBy(Lowering &l, ReduceKind kind, const Reduced &r) {
  return l.reduce(kind, r.x, r.axes, r.keepDims);
}

/// sum, mean, amax and amin; `dims` and `keep` are operands, or past the end.
static std::function<void(Lowering &)> reduction(ReduceKind kind, unsigned dims,
                                                 unsigned keep) {
  return [=](Lowering &l) {
    l.set(reduceBy(l, kind, readReduction(l, l.resultElement(), dims, keep)));
  };
}

constexpr unsigned absent = 99;

static Value meanOf(Lowering &l, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  return l.reduce(ReduceKind::Mean, x, axes, keepDims);
}

/// The variance with `correction`, and the mean if asked for.
static Value variance(Lowering &l, Reduced &r, double correction, Value *mean = nullptr) {
  Value center = meanOf(l, r.x, r.axes, true);
  int64_t count = 1;
  for (int64_t axis : r.axes) {
    if (!l.require(!ShapedType::isDynamic(getShape(r.x)[axis]), "a variance over an open "
                                                                "dimension"))
      return r.x;
    count *= getShape(r.x)[axis];
  }
  Value squares = l.square(l.sub(r.x, center));
  double divisor = std::max(0.0, static_cast<double>(count) - correction);
  if (mean)
    *mean = meanOf(l, r.x, r.axes, r.keepDims);
  if (divisor == count)
    return meanOf(l, squares, r.axes, r.keepDims);
  return l.mul(l.reduce(ReduceKind::Sum, squares, r.axes, r.keepDims),
               divisor ? 1 / divisor : std::numeric_limits<double>::infinity());
}

/// The square root, with the gradient 0 at 0.
static Value rootOf(Lowering &l, Value x) {
  Value zero = l.compare(ComparePredicate::EQ, x, 0.0);
  Value root = l.unary<SqrtOp>(l.where(zero, l.number(x, 1), x));
  return l.where(zero, l.number(x, 0), root);
}

/// x to the power of p, and `atZero`, with a gradient of 0, where x is 0.
static Value powerOf(Lowering &l, Value x, double p, double atZero) {
  Value zero = l.compare(ComparePredicate::EQ, x, 0.0),
        base = l.where(zero, l.number(x, 1), x);
  return l.where(zero, l.number(x, atZero), l.binary<PowOp>(base, l.number(x, p)));
}

/// var and std. Forms: (unbiased), (dim, unbiased, keepdim), (dim, correction, keepdim).
static std::function<void(Lowering &)> deviation(bool root, bool withMean, int form) {
  return [=](Lowering &l) {
    Reduced r = form == 0 ? readReduction(l, l.resultElement(), absent, absent)
                          : readReduction(l, l.resultElement(), 1, 3);
    double correction = form == 0   ? l.flag(1, true)
                        : form == 1 ? l.flag(2, true)
                                    : l.number(2, 1);
    Value mean;
    Value value = variance(l, r, correction, withMean ? &mean : nullptr);
    l.set(root ? rootOf(l, value) : value);
    if (withMean)
      l.set(mean, 1);
  };
}

/// The p-norm over the axes.
static void norm(Lowering &l, double p, Reduced r) {
  Value x = l.abs(r.x);
  if (p == 2)
    return l.set(rootOf(l, l.reduce(ReduceKind::Sum, l.square(r.x), r.axes, r.keepDims)));
  if (p == 1)
    return l.set(l.reduce(ReduceKind::Sum, x, r.axes, r.keepDims));
  if (p == infinity || p == -infinity)
    return l.set(
        l.reduce(p > 0 ? ReduceKind::Max : ReduceKind::Min, x, r.axes, r.keepDims));
  if (p == 0) {
    Value counted = l.cast(l.compare(ComparePredicate::NE, x, 0.0), getElement(x));
    return l.set(l.reduce(ReduceKind::Sum, counted, r.axes, r.keepDims));
  }
  Value powers = powerOf(l, x, p, p > 0 ? 0 : infinity);
  Value total = l.reduce(ReduceKind::Sum, powers, r.axes, r.keepDims);
  l.set(powerOf(l, total, 1 / p, p > 0 ? 0 : infinity));
}

constexpr llvm::StringLiteral kMatrixNorms =
    "a norm of singular values; of matrices there are \"fro\", 1, -1, inf and -inf";

/// The norm of matrices that torch calls 1, -1, inf or -inf: the largest or smallest sum
/// of magnitudes of a column or a row. `first` and `second` are the dimensions of the
/// rows and the columns, and the ones that go.
static void matrixNorm(Lowering &l, double order, int64_t first, int64_t second,
                       bool keepDims) {
  if (!l.require(std::abs(order) == 1 || std::abs(order) == infinity, kMatrixNorms))
    return;
  Value x = l.abs(l.get(0, l.resultElement()));
  const bool ofColumns = std::abs(order) == 1;
  Value sums = l.reduce(ReduceKind::Sum, x, {ofColumns ? first : second}, true);
  Value found = l.reduce(order > 0 ? ReduceKind::Max : ReduceKind::Min, sums,
                         {ofColumns ? second : first}, true);
  l.set(keepDims ? found : l.reshape(found, l.resultType().getShape()));
}

/// linalg.norm of an order, a number or none, in operand 1 and dimensions in operand 2.
/// Two dimensions with an order have the norm of a matrix, all others that of a vector.
static void normOfOrder(Lowering &l) {
  const int64_t rank = getRank(l.getStored(0).value);
  Shape dims = l.isNone(2) ? llvm::to_vector(llvm::seq<int64_t>(0, rank)) : l.integers(2);
  const double order = l.number(1, 2);
  if (l.isNone(1) || dims.size() != 2)
    return norm(l, order, readReduction(l, l.resultElement(), 2, 3));
  for (int64_t &dim : dims)
    if (!l.require(dim >= -rank && dim < rank, "a dimension that is not there"))
      return;
    else if (dim < 0)
      dim += rank;
  matrixNorm(l, order, dims[0], dims[1], l.flag(3));
}

/// Euclidean distances of each row of x [..., P, M] to each row of y [..., R, M], from
/// |x|^2 + |y|^2 - 2 x . y. The matmul stays in f32 under autocast, as the difference
/// would lose what half precision rounds.
static Value distancesByMatmul(Lowering &l, Value x, Value y) {
  int64_t rank = getRank(x);
  Value product = l.matmul(x, y, /*transposeA=*/false, /*transposeB=*/true);
  product.getDefiningOp()->setAttr(kPrecisionAttr, l.builder.getStringAttr("f32"));
  Value ofX = l.reduceLast(ReduceKind::Sum, l.square(x), /*keepDims=*/true);
  Shape row(getShape(y));
  row.back() = 1;
  std::swap(row[rank - 2], row[rank - 1]);
  Value ofY = l.reshape(l.reduceLast(ReduceKind::Sum, l.square(y)), row);
  Value square = l.sub(l.add(ofX, ofY), l.mul(product, 2.0));
  // Rounding may leave a number below zero. Where it leaves none above, the gradient is
  // zero.
  Value isNear = l.binary<AndOp>(l.compare(ComparePredicate::LE, square, 0.0),
                                 l.compare(ComparePredicate::EQ, square, square));
  Value root = l.unary<SqrtOp>(l.where(isNear, l.number(square, 1), square));
  return l.where(isNear, l.number(square, 0), root);
}

Value mpt::torch::passGradient(Lowering &l, Value x, Value where) {
  Value none = l.number(x, 0);
  Value finite = l.where(l.compare(ComparePredicate::LT, l.abs(x), infinity), x, none);
  Value chosen = l.where(where, finite, none);
  return l.sub(chosen, l.unary<StopGradientOp>(chosen));
}

/// Distances of each row of x to each row of y: of differences where PyTorch multiplies
/// no matrices, so that rows that are equal have a distance of 0 and no gradient.
static void distancesOfPairs(Lowering &l) {
  Value x = l.get(0, l.resultElement()), y = l.get(1, l.resultElement());
  const double p = l.number(2, 2);
  if (!l.require(p == 0 || p == 1 || p == 2 || p == infinity,
                 "a norm other than 0, 1, 2 and infinity"))
    return;
  Shape rows(getShape(x)), columns(getShape(y));
  if (!l.require(rows.size() >= 2 && columns.size() >= 2, "operands of this rank"))
    return;
  // PyTorch's compute modes: by a matmul where there are more than 25 rows, always,
  // never.
  constexpr int64_t mostRows = 25;
  const int64_t mode = l.integer(3, 0);
  const bool isLarge = *(rows.end() - 2) > mostRows || *(columns.end() - 2) > mostRows;
  if (p == 2 && (mode == 1 || (mode == 0 && isLarge)) && rows.size() == columns.size() &&
      llvm::equal(ArrayRef(rows).drop_back(2), ArrayRef(columns).drop_back(2)) &&
      getType(x).hasStaticShape() && getType(y).hasStaticShape() &&
      rows.back() == columns.back() && rows.back() > 0)
    return l.set(distancesByMatmul(l, x, y));
  rows.insert(rows.end() - 1, 1);
  columns.insert(columns.end() - 2, 1);
  Value difference = l.sub(l.reshape(x, rows), l.reshape(y, columns));
  if (p != infinity)
    return norm(l, p, {difference, {getRank(difference) - 1}, /*keepDims=*/false});
  // Each difference that is as large has all of the gradient.
  difference = l.abs(difference);
  Value largest =
      l.unary<StopGradientOp>(l.reduceLast(ReduceKind::Max, difference, true));
  Value equal = l.compare(ComparePredicate::EQ, difference, largest);
  Value found = l.add(
      largest, l.reduceLast(ReduceKind::Sum, passGradient(l, difference, equal), true));
  l.set(l.reshape(found, l.resultType().getShape()));
}

static void logSumExp(Lowering &l) {
  Reduced r = readReduction(l, l.resultElement(), 1, 2);
  Value largest = l.reduce(ReduceKind::Max, r.x, r.axes, true);
  Value finite = l.compare(ComparePredicate::LT, l.abs(largest), infinity);
  Value shift = l.unary<StopGradientOp>(l.where(finite, largest, l.number(largest, 0)));
  Value total =
      l.reduce(ReduceKind::Sum, l.unary<ExpOp>(l.sub(r.x, shift)), r.axes, true);
  Value value = l.add(l.unary<LogOp>(total), shift);
  l.set(l.reshape(value, getShape(l.reduce(ReduceKind::Max, r.x, r.axes, r.keepDims))));
}

/// Whether any, or all, of the elements are unequal to zero.
static std::function<void(Lowering &)> logicalReduction(bool all, unsigned dims,
                                                        unsigned keep) {
  return [=](Lowering &l) {
    Reduced r = readReduction(l, getElement(l.getStored(0).value), dims, keep);
    r.x = l.cast(l.cast(r.x, l.builder.getI1Type()), l.builder.getI32Type());
    Value value = reduceBy(l, all ? ReduceKind::Min : ReduceKind::Max, r);
    l.set(l.compare(ComparePredicate::NE, value, 0.0));
  };
}

/// The index of the largest or smallest element along `dim`, the first of equal ones.
static Value argument(Lowering &l, Value last, bool smallest, Type element) {
  Value x = last;
  if (!isa<FloatType>(getElement(x)))
    x = l.cast(x, l.builder.getF64Type());
  if (smallest)
    x = l.unary<NegOp>(x);
  return ArgmaxOp::create(l.builder, l.loc,
                          RankedTensorType::get(getShape(x).drop_back(), element), x);
}

static std::function<void(Lowering &)> argExtreme(bool smallest) {
  return [=](Lowering &l) {
    Value x = l.get(0);
    Type element = l.resultElement();
    if (l.isNone(1)) {
      Value flat = l.reshape(x, {getType(x).getNumElements()});
      return l.set(
          l.reshape(argument(l, flat, smallest, element), l.resultType().getShape()));
    }
    if (getRank(x) == 0)
      return l.set(l.constant(0, element));
    Value last = l.moveToLast(x, l.dimension(1, getRank(x)));
    l.set(l.reshape(argument(l, last, smallest, element), l.resultType().getShape()));
  };
}

/// The chosen element of the last dimension: the gradient goes to it alone.
static Value pick(Lowering &l, Value last, Value index) {
  Value chosen = l.oneHot(index, getShape(last).back());
  return l.reduceLast(ReduceKind::Sum, l.where(chosen, last, l.number(last, 0)));
}

/// Values and indices along a dimension.
static std::function<void(Lowering &)> extremeAlong(bool smallest) {
  return [=](Lowering &l) {
    Value x = l.get(0);
    Type element = l.resultType(1).getElementType();
    if (getRank(x) == 0) {
      l.set(x);
      return l.set(l.constant(0, element), 1);
    }
    Value last = l.moveToLast(x, l.dimension(1, getRank(x)));
    Value index = argument(l, last, smallest, element);
    l.set(l.reshape(pick(l, last, index), l.resultType(0).getShape()), 0);
    l.set(l.reshape(index, l.resultType(1).getShape()), 1);
  };
}

static void topk(Lowering &l) {
  Value x = l.get(0);
  int64_t k = l.integer(1), dim = l.dimension(2, getRank(x));
  bool largest = l.flag(3, true);
  Type element = l.resultType(1).getElementType();
  if (!l.require(getRank(x) > 0 && getType(x).hasStaticShape(),
                 "a number, or an open dimension"))
    return;
  Value last = l.moveToLast(x, dim);
  if (!l.require(k >= 0 && k <= getShape(last).back(),
                 "more elements than there are, or a negative number"))
    return;
  Value indices = l.extremeIndices(last, k, largest);
  if (!l.refusal.empty())
    return;
  l.set(l.moveFromLast(l.takeLast(last, indices), dim));
  l.set(l.moveFromLast(l.cast(indices, element), dim), 1);
}

/// Sums of the elements of the last dimension up to each: a matmul with a triangle of
/// ones, or what a triangle leaves of the elements where no library multiplies matrices
/// of the type. Integers are exact in any order: each step doubles how far they reach.
static Value sumUpTo(Lowering &l, Value last) {
  Type element = getElement(last);
  if (!isa<FloatType>(element))
    return scanLast(l, last, 0, [&](Value a, Value b) { return l.add(a, b); });
  Shape shape(getShape(last));
  const int64_t size = shape.back();
  Value rows = l.iota({size, size}, 0, l.builder.getI32Type());
  Value columns = l.iota({size, size}, 1, l.builder.getI32Type());
  Value sums;
  if (!element.isF64()) {
    Value triangle = l.cast(l.compare(ComparePredicate::LE, rows, columns), element);
    sums = l.matmul(getRank(last) == 1 ? l.reshape(last, {1, size}) : last, triangle);
  } else {
    // [.., 1, size] where column <= row.
    Shape wide(shape);
    wide.insert(wide.end() - 1, 1);
    Value seen = l.compare(ComparePredicate::LE, columns, rows);
    sums = l.reduceLast(ReduceKind::Sum,
                        l.where(seen, l.reshape(last, wide), l.number(last, 0)));
  }
  return l.reshape(sums, shape);
}

/// The same in parts: the sums within each, and the sums of the parts before it.
static Value sumUpToInParts(Lowering &l, Value last) {
  constexpr int64_t part = 64;
  const int64_t rank = getRank(last), size = getShape(last).back(),
                parts = llvm::divideCeil(size, part);
  if (parts <= 2)
    return sumUpTo(l, last);
  Shape low(rank, 0), high(rank, 0), shape(getShape(last));
  high.back() = parts * part - size;
  if (high.back())
    last = l.pad(last, low, high, 0);
  shape.back() = parts;
  Shape cut(shape), one(shape);
  cut.push_back(part);
  one.push_back(1);
  Value within = sumUpTo(l, l.reshape(last, cut));
  Value whole = l.reshape(l.slice(within, rank, part - 1, 1), shape);
  Shape first(rank, 0), none(rank, 0);
  first.back() = 1;
  Value before =
      l.pad(l.slice(sumUpToInParts(l, whole), rank - 1, 0, parts - 1), first, none, 0);
  shape.back() = parts * part;
  Value sums = l.reshape(l.add(within, l.reshape(before, one)), shape);
  return high.back() ? l.slice(sums, rank - 1, 0, size) : sums;
}

static void cumsum(Lowering &l) {
  Value x = l.get(0, l.resultElement());
  if (getRank(x) == 0)
    return l.set(x);
  int64_t dim = l.dimension(1, getRank(x)), size = getShape(x)[dim];
  if (l.require(size >= 1, "running sums of none, or of an open dimension"))
    l.set(l.moveFromLast(sumUpToInParts(l, l.moveToLast(x, dim)), dim));
}

Value mpt::torch::scanLast(Lowering &l, Value last, double neutral,
                           function_ref<Value(Value, Value)> combine) {
  int64_t rank = getRank(last), size = getShape(last).back();
  if (!l.require(!ShapedType::isDynamic(size), "a scan of an open dimension"))
    return last;
  for (int64_t reach = 1; reach < size; reach *= 2) {
    Shape low(rank, 0), high(rank, 0);
    low.back() = reach;
    Value earlier = l.pad(l.slice(last, rank - 1, 0, size - reach), low, high, neutral);
    last = combine(earlier, last);
  }
  return last;
}

static std::function<void(Lowering &)> scan(double neutral,
                                            Value (*combine)(Lowering &, Value, Value)) {
  return [=](Lowering &l) {
    Value x = l.get(0, l.resultElement());
    if (!l.require(isa<FloatType>(getElement(x)), "integers") ||
        !l.require(l.op->getNumResults() < 2 || l.op->getResult(1).use_empty(),
                   "indices"))
      return;
    if (getRank(x) == 0)
      return l.set(x);
    int64_t dim = l.dimension(1, getRank(x));
    Value y = scanLast(l, l.moveToLast(x, dim), neutral,
                       [&](Value a, Value b) { return combine(l, a, b); });
    l.set(l.moveFromLast(y, dim));
  };
}

static Value logAddExp(Lowering &l, Value a, Value b) {
  Value larger = l.binary<MaximumOp>(a, b), smaller = l.binary<MinimumOp>(a, b);
  Value none = l.compare(ComparePredicate::EQ, smaller, -infinity);
  Value difference = l.sub(l.where(none, l.number(a, 0), smaller),
                           l.where(none, l.number(a, 0), larger));
  Value more = l.unary<Log1pOp>(l.unary<ExpOp>(difference));
  return l.where(none, larger, l.add(larger, more));
}

static std::function<void(Lowering &)> softmaxOf(bool log) {
  return [=](Lowering &l) {
    Type element = l.resultElement();
    Tensor stored = l.getStored(0);
    int64_t dim = l.dimension(1, getRank(stored.value));
    if (stored.channelsLast && dim == 1)
      return l.setChannelsLast(l.softmax(l.cast(stored.value, element), 3, log));
    l.set(l.softmax(l.get(0, element), dim, log));
  };
}

/// How many elements lie in each of `bins` equal parts of [min, max].
static void histogram(Lowering &l) {
  int64_t bins = l.integer(1, 100);
  double low = l.number(2), high = l.number(3);
  Value x = l.get(0);
  if (!l.require(low < high, "bounds that the data gives; pass min and max") ||
      !l.require(bins > 0 && getType(x).hasStaticShape(), "an open dimension"))
    return;
  if (!isa<FloatType>(getElement(x)))
    x = l.cast(x, l.builder.getF32Type());
  x = l.unary<StopGradientOp>(l.reshape(x, {getType(x).getNumElements()}));
  Value inside = l.binary<AndOp>(l.compare(ComparePredicate::GE, x, low),
                                 l.compare(ComparePredicate::LE, x, high));
  Value bin =
      l.div(l.mul(l.add(x, -low), static_cast<double>(bins)), l.number(x, high - low));
  bin = l.unary<FloorOp>(l.where(inside, bin, l.number(bin, -1)));
  double last = static_cast<double>(bins - 1); // has its upper bound, too
  bin = l.where(l.compare(ComparePredicate::GT, bin, last), l.number(bin, last), bin);
  Value hit = l.oneHot(l.cast(bin, l.builder.getI64Type()), bins);
  l.set(l.reduce(ReduceKind::Sum, l.cast(hit, l.resultElement()), {0}));
}

void mpt::torch::populateReductions(Table &t) {
  t.add({"histc"}, histogram);
  t.add({"sum"}, reduction(ReduceKind::Sum, absent, absent));
  t.add({"sum.dim_IntList"}, reduction(ReduceKind::Sum, 1, 2));
  t.add({"mean"}, reduction(ReduceKind::Mean, absent, absent));
  t.add({"mean.dim"}, reduction(ReduceKind::Mean, 1, 2));
  t.add({"amax"}, reduction(ReduceKind::Max, 1, 2));
  t.add({"amin"}, reduction(ReduceKind::Min, 1, 2));
  t.add({"max"}, reduction(ReduceKind::Max, absent, absent));
  t.add({"min"}, reduction(ReduceKind::Min, absent, absent));
  t.add({"prod"}, reduction(ReduceKind::Prod, absent, absent));
  t.add({"prod.dim_int"}, reduction(ReduceKind::Prod, 1, 2));
  t.add({"max.dim"}, extremeAlong(false));
  t.add({"min.dim"}, extremeAlong(true));
  t.add({"argmax"}, argExtreme(false));
  t.add({"argmin"}, argExtreme(true));
  t.add({"topk"}, topk);
  t.add({"var"}, deviation(false, false, 0));
  t.add({"var.dim"}, deviation(false, false, 1));
  t.add({"var.correction"}, deviation(false, false, 2));
  t.add({"std"}, deviation(true, false, 0));
  t.add({"std.dim"}, deviation(true, false, 1));
  t.add({"std.correction"}, deviation(true, false, 2));
  t.add({"var_mean"}, deviation(false, true, 0));
  t.add({"var_mean.dim"}, deviation(false, true, 1));
  t.add({"var_mean.correction"}, deviation(false, true, 2));
  t.add({"std_mean"}, deviation(true, true, 0));
  t.add({"std_mean.dim"}, deviation(true, true, 1));
  t.add({"std_mean.correction"}, deviation(true, true, 2));
  t.add({"norm.Scalar"}, [](Lowering &l) {
    norm(l, l.number(1, 2), readReduction(l, l.resultElement(), absent, absent));
  });
  t.add({"norm.ScalarOpt_dim", "linalg_vector_norm"}, [](Lowering &l) {
    norm(l, l.number(1, 2), readReduction(l, l.resultElement(), 2, 3));
  });
  t.add({"linalg_norm", "linalg_matrix_norm"}, normOfOrder);
  t.add({"linalg_norm.ord_str", "linalg_matrix_norm.str_ord"}, [](Lowering &l) {
    if (l.require(l.text(1) == "fro", kMatrixNorms))
      norm(l, 2, readReduction(l, l.resultElement(), 2, 3));
  });
  t.add({"cdist", "_cdist_forward"}, distancesOfPairs);
  t.add({"logsumexp"}, logSumExp);
  t.add({"any"}, logicalReduction(false, absent, absent));
  t.add({"any.dim", "any.dims"}, logicalReduction(false, 1, 2));
  t.add({"all", "_is_all_true"}, logicalReduction(true, absent, absent));
  t.add({"all.dim", "all.dims"}, logicalReduction(true, 1, 2));
  t.add({"count_nonzero", "count_nonzero.dim_IntList"}, [](Lowering &l) {
    Reduced r = readReduction(l, getElement(l.getStored(0).value), 1, absent);
    r.x = l.cast(l.cast(r.x, l.builder.getI1Type()), l.resultElement());
    l.set(reduceBy(l, ReduceKind::Sum, r));
  });
  t.add({"cumsum"}, cumsum);
  t.add({"cumprod"}, scan(1, [](Lowering &l, Value a, Value b) { return l.mul(a, b); }));
  t.add({"logcumsumexp"}, scan(-infinity, logAddExp));
  // The later of equal elements counts, as in torch.
  t.add({"cummax"}, scan(-infinity, [](Lowering &l, Value a, Value b) {
          return l.where(l.compare(ComparePredicate::GT, a, b), a, b);
        }));
  t.add({"cummin"}, scan(infinity, [](Lowering &l, Value a, Value b) {
          return l.where(l.compare(ComparePredicate::LT, a, b), a, b);
        }));
  t.add({"aminmax"}, [](Lowering &l) {
    Reduced r = l.isNone(1) ? readReduction(l, getElement(l.get(0)), absent, absent)
                            : readReduction(l, getElement(l.get(0)), 1, 2);
    l.set(reduceBy(l, ReduceKind::Min, r));
    l.set(reduceBy(l, ReduceKind::Max, r), 1);
  });
  t.add({"nansum", "nanmean"}, [](Lowering &l) {
    Reduced r = readReduction(l, l.resultElement(), 1, 2);
    Value number = l.compare(ComparePredicate::EQ, r.x, r.x);
    Value x = l.where(number, r.x, l.number(r.x, 0));
    Value total = l.reduce(ReduceKind::Sum, x, r.axes, r.keepDims);
    if (!l.op->getName().getStringRef().ends_with("nanmean"))
      return l.set(total);
    l.set(l.div(total, l.reduce(ReduceKind::Sum, l.cast(number, getElement(x)), r.axes,
                                r.keepDims)));
  });
  t.add({"dist"}, [](Lowering &l) {
    Type element = l.resultElement();
    Reduced r;
    r.x = l.sub(l.get(0, element), l.get(1, element));
    r.axes = llvm::to_vector(llvm::seq<int64_t>(0, getRank(r.x)));
    r.keepDims = false;
    norm(l, l.number(2, 2), r);
  });
  t.add({"frobenius_norm.dim"},
        [](Lowering &l) { norm(l, 2, readReduction(l, l.resultElement(), 1, 2)); });
  t.add({"softmax.int", "_softmax"}, softmaxOf(false));
  t.add({"log_softmax.int", "_log_softmax"}, softmaxOf(true));
}
