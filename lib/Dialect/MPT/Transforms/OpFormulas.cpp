//===- OpFormulas.cpp - Formulas of ops -------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpFormulas.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

/// Formulas have no deeper expressions and no more terms.
static constexpr unsigned maxDepth = 12;
static constexpr size_t maxTerms = 8;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
static int64_t getRank(Value value) { return getShape(value).size(); }
static bool isStaticFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && isa<FloatType>(type.getElementType());
}

/// True if `number` is `wanted` as a constant of f32 spells it.
static bool isNear(double number, double wanted) {
  return std::abs(number - wanted) <= 0x1p-20 * std::abs(wanted);
}

/// Says why what looks like a formula is none.
static std::nullopt_t miss(NearMiss *why, const char *op, const Twine &reason) {
  if (why)
    *why = {op, reason.str()};
  return std::nullopt;
}

static std::string spell(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

static std::string listDims(ArrayRef<int64_t> dims) {
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
  if (isa<BroadcastOp, ReshapeOp, TransposeOp>(op))
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
  if (op->getNumOperands() != 2 || !(isa<CompareOp>(op) || (isTruth && isa<AndOp>(op)) ||
                                     (isFloat && isa<AddOp, SubOp, MulOp, DivOp>(op))))
    return std::nullopt;
  std::optional<double> a = get(0), b = get(1);
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
      .Case([&](AndOp) { return double(*a != 0 && *b != 0); })
      .Case([&](AddOp) { return *a + *b; })
      .Case([&](SubOp) { return *a - *b; })
      .Case([&](MulOp) { return *a * *b; })
      .Case([&](DivOp) { return *a / *b; })
      .Default(std::nullopt);
}

std::optional<double> formulas::getNumber(Value value) {
  return ::getNumber(value, maxDepth);
}

static bool isNumber(Value value, double wanted) {
  std::optional<double> number = formulas::getNumber(value);
  return number && *number == wanted;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> dropUnits(ArrayRef<int64_t> shape) {
  return llvm::filter_to_vector(shape, [](int64_t size) { return size != 1; });
}

/// Reads through moves, and through choices and maxima that constants decide.
static View strip(View view) {
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

/// Operand `index` of the elementwise op that computes `view`.
static View getOperand(const View &view, unsigned index) {
  Value operand = view.base.getDefiningOp()->getOperand(index);
  View result{operand,
              SmallVector<int64_t, 4>(ArrayRef(view.dims).take_back(getRank(operand)))};
  for (auto [size, dim] : llvm::zip_equal(getShape(operand), result.dims))
    if (size == 1)
      dim = -1;
  return strip(result);
}

template <typename Op>
static Op getOp(const View &view) {
  return view.base.getDefiningOp<Op>();
}

/// Each dimension of `value` is the same dimension of what reads it.
static bool isWhole(const View &view, Value value) {
  if (view.base != value)
    return false;
  for (auto [index, dim] : llvm::enumerate(view.dims))
    if (dim != -1 && dim != int64_t(index))
      return false;
  return true;
}

/// x if `value` is x^2.
static Value getRoot(Value value) {
  if (auto mul = value.getDefiningOp<MulOp>(); mul && mul.getLhs() == mul.getRhs())
    return mul.getLhs();
  if (auto pow = value.getDefiningOp<PowOp>(); pow && isNumber(pow.getRhs(), 2))
    return pow.getLhs();
  return Value();
}

namespace {
/// A reduction of `x`. The dimensions that are left are those of what reads it.
struct Reduced {
  Value x;
  SmallVector<int64_t> axes;
};
} // namespace

static std::optional<Reduced> getReduced(const View &view, ReduceKind kind) {
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

static int64_t countReduced(const Reduced &reduced) {
  int64_t count = 1;
  for (int64_t axis : reduced.axes)
    count *= getShape(reduced.x)[axis];
  return count;
}

static std::optional<Reduced> getMean(View view) {
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

/// All that read `op`'s result are among `readers`.
static bool isReadOnlyBy(Operation *op, ArrayRef<Operation *> readers) {
  return llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return llvm::is_contained(readers, user); });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

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

/// x if `view` is log(sum e^x) over the last dimension of x, which has `rank`.
static Value getLogSumExp(const View &view, int64_t rank) {
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

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

namespace {

/// What 1 / sqrt(variance + eps) is computed from.
struct Variance {
  Value x;
  SmallVector<int64_t> axes;
  bool hasMean;
  double eps;

  bool operator==(const Variance &other) const {
    return x == other.x && axes == other.axes && hasMean == other.hasMean &&
           eps == other.eps;
  }
};

/// A term of a sum: a number times x, mean, rstd, to such powers, and vectors.
struct Term {
  double number = 1;
  unsigned xs = 0, means = 0, rstds = 0;
  SmallVector<Value, 1> vectors;
};
using Sum = SmallVector<Term, 3>;

/// Writes the values of a norm as sums of products.
class NormReader {
public:
  NormReader(Value y, Variance variance) : y(y), variance(std::move(variance)) {}

  std::optional<Sum> read(const View &view, unsigned depth = maxDepth);

  /// Ops on the way whose results are as large as x.
  SmallVector<Operation *> large;

private:
  bool isVector(const View &view);

  Value y;
  Variance variance;
};

} // namespace

static bool isMeanOf(const View &view, const Variance &variance) {
  std::optional<Reduced> mean = getMean(view);
  return mean && mean->x == variance.x && mean->axes == variance.axes;
}

/// The variance, without what is added to it.
static std::optional<Variance> getVariance(View view) {
  if (getOp<ReluOp>(view))
    view = getOperand(view, 0);
  if (auto max = getOp<MaximumOp>(view)) {
    if (isNumber(max.getRhs(), 0))
      view = getOperand(view, 0);
    else if (isNumber(max.getLhs(), 0))
      view = getOperand(view, 1);
  }
  if (getOp<SubOp>(view)) {
    std::optional<Reduced> squares = getMean(getOperand(view, 0));
    View mean = getOperand(view, 1);
    if (!squares || !getRoot(squares->x) || !getRoot(mean.base))
      return std::nullopt;
    Variance variance{getRoot(squares->x), squares->axes, /*hasMean=*/true, 0};
    if (!isMeanOf(getOperand(mean, 0), variance))
      return std::nullopt;
    return variance;
  }
  std::optional<Reduced> squares = getMean(view);
  Value x = squares ? getRoot(squares->x) : Value();
  if (!x)
    return std::nullopt;
  Variance variance{x, squares->axes, /*hasMean=*/false, 0};
  if (auto sub = x.getDefiningOp<SubOp>()) {
    Variance centered{sub.getLhs(), squares->axes, /*hasMean=*/true, 0};
    if (sub.getLhs().getType() == x.getType() &&
        isMeanOf(getView(sub.getRhs(), getRank(x)), centered))
      return centered;
  }
  return variance;
}

/// What `op`, a square root or its inverse, is taken of.
static std::optional<Variance> getRootedVariance(const View &view) {
  if (!isa_and_present<RsqrtOp, SqrtOp, PowOp>(view.base.getDefiningOp()))
    return std::nullopt;
  View sum = getOperand(view, 0);
  double eps = 0;
  if (auto add = getOp<AddOp>(sum)) {
    std::optional<double> left = formulas::getNumber(add.getLhs());
    std::optional<double> right = formulas::getNumber(add.getRhs());
    if (!left && !right)
      return std::nullopt;
    eps = left ? *left : *right;
    sum = getOperand(sum, left ? 1 : 0);
  }
  std::optional<Variance> variance = getVariance(sum);
  if (!variance || !(eps >= 0))
    return std::nullopt;
  variance->eps = eps;
  return variance;
}

static bool isRsqrt(const View &view) {
  auto pow = getOp<PowOp>(view);
  return getOp<RsqrtOp>(view) || (pow && isNumber(pow.getRhs(), -0.5));
}
static bool isSqrt(const View &view) {
  auto pow = getOp<PowOp>(view);
  return getOp<SqrtOp>(view) || (pow && isNumber(pow.getRhs(), 0.5));
}

/// True if `value` is computed from `source` in few steps.
static bool isComputedFrom(Value value, Value source, unsigned depth = maxDepth) {
  if (value == source)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isComputedFrom(operand, source, depth - 1);
  });
}

/// Parameters along the last dimension.
bool NormReader::isVector(const View &view) {
  int64_t last = getRank(y) - 1;
  if (!llvm::all_of(view.dims, [&](int64_t dim) { return dim == -1 || dim == last; }) ||
      !llvm::is_contained(view.dims, last))
    return false;
  return !isComputedFrom(view.base, variance.x);
}

std::optional<Sum> NormReader::read(const View &view, unsigned depth) {
  if (isWhole(view, variance.x))
    return Sum{Term{1, 1, 0, 0, {}}};
  if (std::optional<double> number = formulas::getNumber(view.base))
    return *number == 0 ? Sum{} : Sum{Term{*number, 0, 0, 0, {}}};
  if (variance.hasMean && isMeanOf(view, variance))
    return Sum{Term{1, 0, 1, 0, {}}};
  if (isRsqrt(view) && getRootedVariance(view) == variance)
    return Sum{Term{1, 0, 0, 1, {}}};
  if (isVector(view))
    return Sum{Term{1, 0, 0, 0, {view.base}}};
  Operation *op = view.base.getDefiningOp();
  if (!op || depth == 0 || !isa<AddOp, SubOp, MulOp, DivOp, NegOp, ReciprocalOp>(op))
    return std::nullopt;
  if (view.base.getType() == y.getType())
    large.push_back(op);
  auto isRoot = [&](const View &divisor) {
    return isSqrt(divisor) && getRootedVariance(divisor) == variance;
  };
  View first = getOperand(view, 0);
  if (isa<ReciprocalOp>(op)) {
    if (!isRoot(first))
      return std::nullopt;
    return Sum{Term{1, 0, 0, 1, {}}};
  }
  std::optional<Sum> left = read(first, depth - 1);
  if (!left)
    return std::nullopt;
  if (isa<NegOp>(op)) {
    for (Term &term : *left)
      term.number = -term.number;
    return left;
  }
  View second = getOperand(view, 1);
  if (isa<DivOp>(op)) {
    std::optional<double> number = formulas::getNumber(second.base);
    if (!number && !isRoot(second))
      return std::nullopt;
    for (Term &term : *left)
      if (number)
        term.number /= *number;
      else
        ++term.rstds;
    return left;
  }
  std::optional<Sum> right = read(second, depth - 1);
  if (!right || left->size() * right->size() > maxTerms)
    return std::nullopt;
  if (isa<MulOp>(op)) {
    Sum product;
    for (const Term &a : *left)
      for (const Term &b : *right) {
        Term term{a.number * b.number, a.xs + b.xs, a.means + b.means, a.rstds + b.rstds,
                  a.vectors};
        llvm::append_range(term.vectors, b.vectors);
        product.push_back(term);
      }
    return product;
  }
  for (Term term : *right) {
    if (isa<SubOp>(op))
      term.number = -term.number;
    left->push_back(term);
  }
  return left;
}

/// The norm that `root` is the end of, where `variance` is that of the formula.
static std::optional<Norm> matchNormAt(Operation *root, const Variance &variance,
                                       NearMiss *why) {
  Value y = root->getResult(0);
  int64_t last = getRank(y) - 1;
  bool overLast = variance.axes.size() == 1 && variance.axes[0] == last;
  bool overOthers = int64_t(variance.axes.size()) == last && last > 0 &&
                    !llvm::is_contained(variance.axes, last);
  const char *name = !variance.hasMean ? "mpt.rms_norm"
                     : overOthers      ? "mpt.batch_norm"
                                       : "mpt.layer_norm";
  if ((!overLast && !overOthers) || (overOthers && !variance.hasMean) ||
      getShape(y)[last] == 1)
    return miss(why, name,
                "the mean is over dimensions " + listDims(variance.axes) +
                    ", expected the last alone" +
                    (variance.hasMean ? ", or all others" : ""));
  NormReader reader(y, variance);
  std::optional<Sum> sum = reader.read(getView(y, last + 1));
  auto missForm = [&] {
    return miss(why, name,
                variance.hasMean
                    ? "expected (x - mean) rstd gamma + beta of the x that the variance "
                      "is of, with gamma and beta along the last dimension"
                    : "expected x rstd gamma of the x that the mean of squares is of, "
                      "with gamma along the last dimension");
  };
  if (!sum)
    return missForm();
  Norm norm{variance.hasMean ? overLast ? Norm::Kind::Layer : Norm::Kind::Batch
                             : Norm::Kind::RMS,
            variance.x,
            Value(),
            Value(),
            variance.eps,
            root};
  std::optional<Term> scaled, shifted, beta;
  for (const Term &term : *sum) {
    std::optional<Term> *place = nullptr;
    if (term.vectors.size() > 1)
      return missForm();
    if (term.rstds == 1 && term.xs == 1 && term.means == 0 && term.number == 1)
      place = &scaled;
    else if (term.rstds == 1 && term.xs == 0 && term.means == 1 && term.number == -1)
      place = &shifted;
    else if (term.rstds == 0 && term.xs == 0 && term.means == 0 && term.number == 1 &&
             term.vectors.size() == 1)
      place = &beta;
    if (!place || *place)
      return missForm();
    *place = term;
  }
  if (!scaled || shifted.has_value() != variance.hasMean ||
      (shifted && shifted->vectors != scaled->vectors) || (beta && !variance.hasMean))
    return missForm();
  if (!scaled->vectors.empty())
    norm.gamma = scaled->vectors.front();
  if (beta)
    norm.beta = beta->vectors.front();
  // Large values that others read have to be kept in any case.
  SmallVector<Operation *> readers = reader.large;
  for (Operation *op : reader.large)
    for (Operation *user : op->getUsers())
      if (user->getNumResults() == 1 && getRoot(user->getResult(0)) == op->getResult(0))
        readers.push_back(user);
  for (Operation *op : reader.large)
    if (op != root && !isReadOnlyBy(op, readers))
      return miss(why, name, "others read a value in between that is as large as x");
  return norm;
}

/// Says why what `rsqrt` is taken of is no variance, if it is a sum of squares over some
/// dimensions, multiplied by a number.
static std::nullopt_t missVariance(Operation *rsqrt, NearMiss *why) {
  Value value = rsqrt->getOperand(0);
  double factor = 1;
  for (unsigned depth = 0; why && depth < maxDepth; ++depth) {
    Operation *op = value.getDefiningOp();
    if (!op)
      break;
    if (auto sum = dyn_cast<ReduceOp>(op)) {
      Value x = getRoot(sum.getX());
      double count =
          double(countReduced({sum.getX(), SmallVector<int64_t>(sum.getAxes())}));
      if (x && sum.getKind() == ReduceKind::Sum && factor != 1)
        return miss(
            why, x.getDefiningOp<SubOp>() ? "mpt.layer_norm" : "mpt.rms_norm",
            llvm::formatv("the sum of {0} squares is divided by {1}, not by their "
                          "number",
                          spell(count), spell(1 / factor))
                .str());
      break;
    }
    if (isa<ReshapeOp, BroadcastOp, ReluOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    if (!isa<AddOp, MaximumOp, MulOp, DivOp>(op))
      break;
    std::optional<double> left = formulas::getNumber(op->getOperand(0));
    std::optional<double> right = formulas::getNumber(op->getOperand(1));
    if ((!left && !right) || (isa<DivOp>(op) && !right))
      break;
    if (isa<MulOp>(op))
      factor *= left ? *left : *right;
    else if (isa<DivOp>(op))
      factor /= *right;
    value = op->getOperand(right ? 0 : 1);
  }
  return std::nullopt;
}

std::optional<Norm> formulas::matchNorm(Operation *rsqrt, NearMiss *why) {
  if (!isa<RsqrtOp, SqrtOp, PowOp>(rsqrt) || !isStaticFloat(rsqrt->getResult(0)))
    return std::nullopt;
  // Ops that follow in few steps.
  SmallVector<Operation *> reached = {rsqrt};
  llvm::SmallPtrSet<Operation *, 16> seen;
  for (size_t i = 0; i < reached.size() && reached.size() < 64; ++i)
    for (Operation *user : reached[i]->getUsers())
      if (user->getBlock() == rsqrt->getBlock() &&
          isa<AddOp, SubOp, MulOp, DivOp, NegOp, ReciprocalOp, BroadcastOp, ReshapeOp,
              TransposeOp>(user) &&
          seen.insert(user).second)
        reached.push_back(user);
  llvm::sort(reached, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *root : reached) {
    if (!isa<AddOp, SubOp, MulOp, DivOp>(root) || !isStaticFloat(root->getResult(0)))
      continue;
    // The square root as the root reads it.
    int64_t rank = getRank(root->getResult(0));
    SmallVector<View> left = {getView(root->getResult(0), rank)};
    std::optional<Variance> variance;
    for (unsigned steps = 0; !left.empty() && !variance && steps < 64; ++steps) {
      View next = left.pop_back_val();
      Operation *op = next.base.getDefiningOp();
      if (op == rsqrt)
        variance = getRootedVariance(next);
      else if (op && isa<AddOp, SubOp, MulOp, DivOp, NegOp, ReciprocalOp>(op))
        for (unsigned i : llvm::seq(op->getNumOperands()))
          left.push_back(getOperand(next, i));
    }
    if (!variance || variance->x.getType() != root->getResult(0).getType())
      continue;
    // The first reason after all ops of the formula are read is the best.
    NearMiss here;
    if (std::optional<Norm> norm = matchNormAt(root, *variance, why ? &here : nullptr))
      return norm;
    if (why && (why->op.empty() || !StringRef(here.reason).starts_with("expected")))
      *why = here;
  }
  return why && why->op.empty() ? missVariance(rsqrt, why) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Cross-entropy
//===----------------------------------------------------------------------===//

/// Reads through reshapes.
static Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

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

//===----------------------------------------------------------------------===//
// Dense layers
//===----------------------------------------------------------------------===//

/// A matmul with a matrix, or a convolution, without a bias.
static bool takesBias(Operation *op) {
  if (auto matmul = dyn_cast_or_null<MatmulOp>(op))
    return !matmul.getTransposeLhs() && getRank(matmul.getLhs()) >= 2 &&
           getRank(matmul.getRhs()) == 2;
  auto conv = dyn_cast_or_null<Conv2DOp>(op);
  return conv && !conv.getBias() && conv.getEpilogue() == Epilogue::None;
}

std::optional<Dense> formulas::matchDense(Operation *root, NearMiss *why) {
  auto add = dyn_cast<AddOp>(root);
  if (!add || !isStaticFloat(add.getResult()))
    return std::nullopt;
  auto type = cast<RankedTensorType>(add.getType());
  for (auto [x, bias] :
       {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    Operation *contraction = skipReshapes(x).getDefiningOp();
    // What is as large as the result is no bias.
    bool isSmall =
        cast<RankedTensorType>(bias.getType()).getNumElements() < type.getNumElements();
    const char *name =
        isa_and_present<Conv2DOp>(contraction) ? "mpt.conv2d" : "mpt.linear";
    if (auto matmul = dyn_cast_or_null<MatmulOp>(contraction);
        matmul && getRank(matmul.getRhs()) > 2 && isSmall && x.getType() == type)
      return miss(why, name, "each batch has a matrix of its own");
    if (!takesBias(contraction) || x.getType() != type ||
        getRank(bias) > type.getRank() ||
        cast<RankedTensorType>(contraction->getResult(0).getType()).getElementType() !=
            type.getElementType())
      continue;
    // The last dimensions are the columns, each with a bias.
    int64_t columns = getShape(contraction->getResult(0)).back(), found = 1;
    int64_t first = type.getRank();
    while (first > 0 && found < columns)
      found *= type.getDimSize(--first);
    int64_t offset = type.getRank() - getRank(bias);
    bool fits = found == columns;
    for (int64_t dim : llvm::seq(type.getRank())) {
      int64_t size = dim < offset ? 1 : getShape(bias)[dim - offset];
      fits = fits && size == (dim < first ? 1 : type.getDimSize(dim));
    }
    if (!fits) {
      if (isSmall)
        (void)miss(why, name, "what is added is not one number for each column");
      continue;
    }
    for (Value value = x; fits; value = value.getDefiningOp()->getOperand(0)) {
      fits = value.hasOneUse();
      if (value.getDefiningOp() == contraction)
        break;
    }
    if (fits)
      return Dense{contraction, bias};
    (void)miss(why, name, "others read the result without its bias");
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// Along dimension `dim` of what reads it, the index plus `offset`.
struct Index {
  int64_t dim, offset;
};
} // namespace

static std::optional<Index> getIndex(View view) {
  int64_t offset = 0;
  for (unsigned depth = 0; depth < maxDepth; ++depth) {
    if (getOp<CastOp>(view)) {
      view = getOperand(view, 0);
    } else if (auto add = getOp<AddOp>(view)) {
      std::optional<double> left = formulas::getNumber(add.getLhs());
      std::optional<double> right = formulas::getNumber(add.getRhs());
      if (!left && !right)
        return std::nullopt;
      offset += int64_t(left ? *left : *right);
      view = getOperand(view, left ? 1 : 0);
    } else {
      break;
    }
  }
  auto iota = getOp<IotaOp>(view);
  if (!iota || view.dims[iota.getAxis()] < 0)
    return std::nullopt;
  return Index{view.dims[iota.getAxis()], offset};
}

/// Reads through conversions of truth values to numbers and back.
static View skipTruth(View view) {
  for (unsigned depth = 0; depth < maxDepth; ++depth) {
    if (getOp<CastOp>(view)) {
      view = getOperand(view, 0);
    } else if (auto compare = getOp<CompareOp>(view);
               compare && compare.getPredicate() == ComparePredicate::NE &&
               isNumber(compare.getRhs(), 0)) {
      view = getOperand(view, 0);
    } else if (auto where = getOp<WhereOp>(view); where &&
                                                  isNumber(where.getOnTrue(), 1) &&
                                                  isNumber(where.getOnFalse(), 0)) {
      view = getOperand(view, 0);
    } else {
      break;
    }
  }
  return view;
}

/// The dimensions keep their order.
static bool isOrdered(const View &view) {
  int64_t last = -1;
  for (int64_t dim : view.dims) {
    if (dim != -1 && dim <= last)
      return false;
    last = std::max(last, dim);
  }
  return true;
}

/// True for a constant that is not 0 where dim 3 is not above dim 2, plus `late`.
static bool isCausalConstant(const View &view, int64_t late) {
  DenseElementsAttr elements;
  auto dims = llvm::filter_to_vector(view.dims, [](int64_t dim) { return dim != -1; });
  if (ArrayRef(dims) != ArrayRef<int64_t>{2, 3} ||
      !matchPattern(view.base, m_Constant(&elements)) || elements.isSplat())
    return false;
  int64_t columns = getShape(view.base)[llvm::find(view.dims, 3) - view.dims.begin()];
  auto check = [&](auto values, auto isZero) {
    for (auto [index, value] : llvm::enumerate(values))
      if (isZero(value) == (int64_t(index) % columns <= int64_t(index) / columns + late))
        return false;
    return true;
  };
  if (isa<FloatType>(elements.getElementType()))
    return check(elements.getValues<APFloat>(),
                 [](const APFloat &value) { return value.isZero(); });
  return isa<IntegerType>(elements.getElementType()) &&
         check(elements.getValues<APInt>(),
               [](const APInt &value) { return value.isZero(); });
}

/// True where position dim 3 is not above dim 2, plus `late` positions.
static bool isCausal(View view, int64_t late) {
  view = skipTruth(view);
  if (isCausalConstant(view, late))
    return true;
  auto compare = getOp<CompareOp>(view);
  if (!compare)
    return false;
  std::optional<Index> a = getIndex(getOperand(view, 0));
  std::optional<Index> b = getIndex(getOperand(view, 1));
  if (!a || !b)
    return false;
  ComparePredicate predicate = compare.getPredicate();
  if (predicate == ComparePredicate::LE || predicate == ComparePredicate::LT) {
    std::swap(a, b);
    predicate =
        predicate == ComparePredicate::LE ? ComparePredicate::GE : ComparePredicate::GT;
  }
  int64_t offset = a->offset - b->offset;
  if (predicate == ComparePredicate::GT)
    --offset;
  else if (predicate != ComparePredicate::GE)
    return false;
  return a->dim == 2 && b->dim == 3 && offset == late;
}

/// Reads through casts between floats and through multiplications by numbers, which go
/// into `scale`.
static View takeScale(View view, double &scale) {
  for (unsigned depth = 0; depth < maxDepth; ++depth) {
    Operation *op = view.base.getDefiningOp();
    if (auto cast = dyn_cast_or_null<CastOp>(op); cast && isStaticFloat(cast.getX())) {
      view = getOperand(view, 0);
      continue;
    }
    if (!isa_and_present<MulOp, DivOp>(op))
      break;
    std::optional<double> number = formulas::getNumber(op->getOperand(1));
    unsigned other = 0;
    if (!number && isa<MulOp>(op)) {
      number = formulas::getNumber(op->getOperand(0));
      other = 1;
    }
    if (!number || !std::isfinite(*number) || *number == 0)
      break;
    scale = isa<DivOp>(op) ? scale / *number : scale * *number;
    view = getOperand(view, other);
  }
  return view;
}

/// The softmax that a matmul of rank 4 reads as probabilities [B, H, T, S].
static View getProbabilities(Value operand) {
  View view = getView(operand, 4);
  if (auto cast = getOp<CastOp>(view); cast && isStaticFloat(cast.getX()))
    view = getOperand(view, 0);
  auto softmax = getOp<SoftmaxOp>(view);
  // Probabilities that others read have to be computed in any case.
  if (!softmax || !softmax.getResult().hasOneUse() || !operand.hasOneUse() ||
      !isOrdered(view) || view.dims.back() != 3 ||
      dropUnits(getShape(softmax.getResult())) != dropUnits(getShape(operand)))
    return {};
  return view;
}

/// True if `value` is computed from a softmax in few elementwise steps.
static bool isOfSoftmax(Value value, unsigned depth = 6) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  return isa<SoftmaxOp>(op) ||
         (isa<CastOp, MulOp, DivOp, WhereOp, ReshapeOp, TransposeOp, DropoutOp>(op) &&
          llvm::any_of(op->getOperands(),
                       [&](Value operand) { return isOfSoftmax(operand, depth - 1); }));
}

/// Why probabilities that `root` reads are not those of an attention.
static std::nullopt_t missProbabilities(MatmulOp root, NearMiss *why) {
  for (Value operand : {root.getLhs(), root.getRhs()}) {
    if (!why || !isOfSoftmax(operand))
      continue;
    View view = getView(operand, getRank(operand));
    if (getOp<CastOp>(view))
      view = getOperand(view, 0);
    auto softmax = getOp<SoftmaxOp>(view);
    if (!softmax)
      return miss(why, "mpt.attention",
                  "probabilities are changed after their softmax, as dropout does");
    // A head of a classifier.
    if (getRank(softmax.getResult()) < 3)
      continue;
    if (getRank(root.getLhs()) != 4 || getRank(root.getRhs()) != 4)
      return miss(why, "mpt.attention",
                  llvm::formatv("its matmul has operands of {0} and {1} dimensions, "
                                "expected 4: batch, heads, rows and columns",
                                getRank(root.getLhs()), getRank(root.getRhs()))
                      .str());
    if (!softmax.getResult().hasOneUse() || !operand.hasOneUse())
      return miss(why, "mpt.attention", "others read the probabilities");
    return miss(why, "mpt.attention", "the matmul does not sum over the keys");
  }
  return std::nullopt;
}

std::optional<Attention> formulas::matchAttention(MatmulOp root, NearMiss *why) {
  if (!isStaticFloat(root.getResult()))
    return std::nullopt;
  if (getRank(root.getLhs()) != 4 || getRank(root.getRhs()) != 4)
    return missProbabilities(root, why);
  Attention attention;
  View scores = root.getTransposeLhs() ? View() : getProbabilities(root.getLhs());
  ArrayRef<int64_t> shape = getShape(root.getLhs());
  attention.value = root.getRhs();
  attention.transposeValue = root.getTransposeRhs();
  if (!scores.base) {
    // v^T p^T = (p v)^T.
    scores = root.getTransposeRhs() ? getProbabilities(root.getRhs()) : View();
    shape = getShape(root.getRhs());
    attention.value = root.getLhs();
    attention.transposeValue = !root.getTransposeLhs();
    attention.transposeResult = true;
  }
  if (!scores.base)
    return missProbabilities(root, why);
  scores = getOperand(scores, 0);
  int64_t late = shape[3] - shape[2];
  auto takeCausal = [&](const View &view) {
    bool is = late >= 0 && isCausal(view, late);
    attention.causal = attention.causal || is;
    return is;
  };
  if (getOp<WhereOp>(scores)) {
    std::optional<double> hidden = formulas::getNumber(getOperand(scores, 2).base);
    if (!hidden || !(*hidden <= -1e9))
      return miss(why, "mpt.attention",
                  "what is masked becomes " + (hidden ? spell(*hidden) : "other values") +
                      ", expected a number of at most -1e9");
    attention.hidden = *hidden;
    View mask = getOperand(scores, 0), truth = skipTruth(mask);
    attention.mask = mask;
    auto both = getOp<AndOp>(truth);
    bool isLogical = both && getElementTypeOrSelf(both.getType()).isInteger(1);
    if (takeCausal(mask))
      attention.mask = {};
    else if (isLogical && takeCausal(getOperand(truth, 0)))
      attention.mask = getOperand(truth, 1);
    else if (isLogical && takeCausal(getOperand(truth, 1)))
      attention.mask = getOperand(truth, 0);
    scores = getOperand(scores, 1);
  }
  auto isMatmul = [](View view) {
    double scale = 1;
    return bool(getOp<MatmulOp>(takeScale(view, scale)));
  };
  if (getOp<AddOp>(scores)) {
    unsigned index = isMatmul(getOperand(scores, 0)) ? 0 : 1;
    attention.bias = getOperand(scores, 1 - index);
    scores = getOperand(scores, index);
  }
  scores = takeScale(scores, attention.scale);
  auto matmul = getOp<MatmulOp>(scores);
  if (!matmul || getRank(matmul.getLhs()) != 4 || getRank(matmul.getRhs()) != 4 ||
      !isWhole(scores, matmul) || getShape(matmul) != shape ||
      (attention.mask.base && !isOrdered(attention.mask)) ||
      (attention.bias.base && !isOrdered(attention.bias)))
    return miss(why, "mpt.attention",
                matmul
                    ? "expected scores [batch, heads, queries, keys], and masks and what "
                      "is added with these dimensions in their order"
                    : "expected scores that are a matmul, multiplied by numbers, with at "
                      "most one value added and then one mask");
  attention.query = matmul.getLhs();
  attention.transposeQuery = matmul.getTransposeLhs();
  attention.key = matmul.getRhs();
  attention.transposeKey = !matmul.getTransposeRhs();
  Type element = cast<RankedTensorType>(attention.query.getType()).getElementType();
  for (Value value : {attention.key, attention.value, Value(root.getResult())})
    if (cast<RankedTensorType>(value.getType()).getElementType() != element)
      return miss(why, "mpt.attention", "queries, keys and values are not of one type");
  return attention;
}

//===----------------------------------------------------------------------===//
// LSTM cells
//===----------------------------------------------------------------------===//

namespace {
/// Columns of one or of the sum of two tensors [B, 4H].
struct Gate {
  Value first, second;
  int64_t begin;
};
} // namespace

static std::optional<Gate> getGate(Value z) {
  auto takeSlice = [&](Value value, int64_t &begin) {
    auto slice = value.getDefiningOp<SliceOp>();
    if (!slice || getRank(value) != 2 || slice.getOffsets()[0] != 0 ||
        getShape(slice.getX())[0] != getShape(value)[0] ||
        getShape(slice.getX())[1] != 4 * getShape(value)[1] ||
        llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; }))
      return Value();
    begin = slice.getOffsets()[1];
    return Value(slice.getX());
  };
  Gate gate;
  if (Value sum = takeSlice(z, gate.begin)) {
    auto add = sum.getDefiningOp<AddOp>();
    if (!add)
      return std::nullopt;
    gate.first = add.getLhs();
    gate.second = add.getRhs();
    return gate;
  }
  auto add = z.getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  int64_t begin = 0;
  gate.first = takeSlice(add.getLhs(), gate.begin);
  gate.second = takeSlice(add.getRhs(), begin);
  if (!gate.first || !gate.second || begin != gate.begin)
    return std::nullopt;
  return gate;
}

std::optional<LSTMCell> formulas::matchLSTMCell(Operation *root, NearMiss *why) {
  auto newH = dyn_cast<MulOp>(root);
  if (!newH || !isStaticFloat(newH.getResult()) || getRank(newH.getResult()) != 2)
    return std::nullopt;
  // The factors of a product, first that which `is` wants.
  auto split = [](MulOp mul, auto is) -> std::pair<Value, Value> {
    if (!mul)
      return {};
    if (is(mul.getLhs()))
      return {mul.getLhs(), mul.getRhs()};
    if (is(mul.getRhs()))
      return {mul.getRhs(), mul.getLhs()};
    return {};
  };
  auto isTanh = [](Value value) { return bool(value.getDefiningOp<TanhOp>()); };
  auto isSigmoid = [](Value value) { return bool(value.getDefiningOp<SigmoidOp>()); };
  auto argument = [](Value value) { return value.getDefiningOp()->getOperand(0); };
  auto [tanhC, sigmoidO] = split(newH, isTanh);
  if (!tanhC || !isSigmoid(sigmoidO))
    return std::nullopt;
  Value newC = argument(tanhC);
  auto sum = newC.getDefiningOp<AddOp>();
  if (!sum)
    return std::nullopt;
  auto left = sum.getLhs().getDefiningOp<MulOp>();
  auto right = sum.getRhs().getDefiningOp<MulOp>();
  auto [tanhG, sigmoidI] = split(right, isTanh);
  if (!tanhG || !isSigmoid(sigmoidI)) {
    std::swap(left, right);
    std::tie(tanhG, sigmoidI) = split(right, isTanh);
  }
  if (!left || !tanhG || !isSigmoid(sigmoidI))
    return std::nullopt;
  auto [sigmoidF, c] = split(left, isSigmoid);
  if (!sigmoidF || c.getType() != newC.getType() || newC.getType() != newH.getType())
    return std::nullopt;
  int64_t width = getShape(newC)[1];
  LSTMCell cell{nullptr, nullptr, c, newC};
  Value first, second;
  Value gates[] = {sigmoidI, sigmoidF, tanhG, sigmoidO};
  for (auto [index, gate] : llvm::enumerate(gates)) {
    std::optional<Gate> found = getGate(argument(gate));
    // Gates that others read, as gradients do, have to be computed in any case.
    if (!found || (index && (found->first != first || found->second != second)))
      return miss(why, "mpt.lstm_cell",
                  "gates are not the quarters of one sum x W + h U + bias");
    if (!gate.hasOneUse())
      return miss(why, "mpt.lstm_cell", "others read a gate");
    if (found->begin != int64_t(index) * width)
      return miss(why, "mpt.lstm_cell",
                  "gates are not in the order input, forget, cell, output");
    first = found->first;
    second = found->second;
  }
  auto isDense = [&](Operation *op) {
    auto linear = dyn_cast_or_null<LinearOp>(op);
    auto matmul = dyn_cast_or_null<MatmulOp>(op);
    if (linear && linear.getEpilogue() == Epilogue::None)
      return getRank(linear.getX()) == 2;
    return matmul && !matmul.getTransposeLhs() && getRank(matmul.getLhs()) == 2;
  };
  cell.input = first.getDefiningOp();
  cell.hidden = second.getDefiningOp();
  if (!isDense(cell.input) || !isDense(cell.hidden))
    return miss(why, "mpt.lstm_cell",
                "gates are not the quarters of one sum x W + h U + bias");
  auto getColumns = [](Operation *op) { return getShape(op->getOperand(0))[1]; };
  // The hidden state has as many columns as the cell's.
  if (getColumns(cell.hidden) != width ||
      (getColumns(cell.input) == width && isa<BlockArgument>(cell.input->getOperand(0))))
    std::swap(cell.input, cell.hidden);
  if (getColumns(cell.hidden) != width)
    return std::nullopt;
  return cell;
}
