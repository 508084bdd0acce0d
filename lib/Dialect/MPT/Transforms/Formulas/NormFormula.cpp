//===- NormFormula.cpp - Formulas of norms ----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

/// x if `value` is x^2.
static Value getRoot(Value value) {
  if (auto mul = value.getDefiningOp<MulOp>(); mul && mul.getLhs() == mul.getRhs())
    return mul.getLhs();
  if (auto pow = value.getDefiningOp<PowOp>(); pow && isNumber(pow.getRhs(), 2))
    return pow.getLhs();
  return Value();
}

namespace {

/// The last dimension of the root is that of `groups` groups of `size` channels of the x
/// that statistics are of. Views count dimensions as x does; `joint` is the root's last
/// one.
struct Grouping {
  int64_t rootRank, groups, size;

  int64_t getGroupDim() const { return rootRank - 1; }
  int64_t getChannelDim() const { return rootRank; }
  bool operator==(const Grouping &other) const {
    return rootRank == other.rootRank && groups == other.groups && size == other.size;
  }
  int64_t getJoint() const {
    return size == 1 ? getGroupDim() : groups == 1 ? getChannelDim() : rootRank + 1;
  }
};

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
  /// With a grouping the x that statistics are of is a reshape of what the root reads.
  NormReader(Value y, Variance variance, const Grouping *grouping);

  std::optional<Sum> read(const View &view, unsigned depth = maxDepth);
  /// The vector's shape as the root reads it, if it has its dimensions in their order.
  std::optional<SmallVector<int64_t>> getShapeInRoot(Value vector) const;

  /// Ops on the way whose results are as large as x.
  SmallVector<Operation *> large;

private:
  bool isVector(const View &view);

  Value y;
  Variance variance;
  const Grouping *grouping;
  View whole;
  SmallVector<View, 2> vectors;
};

} // namespace

/// Reads a value for each group through its copies for the channels of the group.
static View ungroup(const View &view, const Grouping *grouping) {
  auto reshape = getOp<ReshapeOp>(view);
  if (!grouping || !reshape || !reshape.getX().getDefiningOp<BroadcastOp>())
    return view;
  SmallVector<int64_t> sizes, dims;
  for (auto [size, dim] : llvm::zip_equal(getShape(view.base), view.dims)) {
    if (dim == grouping->getJoint()) {
      sizes.append({grouping->groups, grouping->size});
      dims.append({grouping->getGroupDim(), grouping->getChannelDim()});
    } else if (size != 1) {
      sizes.push_back(size);
      dims.push_back(dim);
    }
  }
  ArrayRef<int64_t> from = getShape(reshape.getX());
  if (dropUnits(from) != sizes)
    return view;
  View result{reshape.getX(), {}};
  unsigned next = 0;
  for (int64_t size : from)
    result.dims.push_back(size == 1 ? -1 : dims[next++]);
  return strip(result);
}

static View getOperand(const View &view, unsigned index, const Grouping *grouping) {
  return ungroup(formulas::getOperand(view, index), grouping);
}

static View getRootView(Value y, const Grouping *grouping) {
  View view = getView(y, getRank(y));
  if (grouping)
    for (int64_t &dim : view.dims)
      if (dim == grouping->rootRank - 1)
        dim = grouping->getJoint();
  return ungroup(view, grouping);
}

/// How `x` splits the last dimension of the root, whose other dimensions it has.
static std::optional<Grouping> getGrouping(Value y, Value x) {
  auto reshape = x.getDefiningOp<ReshapeOp>();
  if (!reshape || reshape.getX().getType() != y.getType() ||
      getRank(x) != getRank(y) + 1 || getShape(x).drop_back(2) != getShape(y).drop_back())
    return std::nullopt;
  ArrayRef<int64_t> split = getShape(x).take_back(2);
  return Grouping{getRank(y), split[0], split[1]};
}

/// How a value for each group becomes one for each channel before its root is taken.
static std::optional<Grouping> getGrouping(Value y, Operation *rsqrt) {
  View view = getView(rsqrt->getResult(0), getRank(rsqrt->getResult(0)));
  for (unsigned depth = 0; depth < maxDepth && view.base.getDefiningOp(); ++depth) {
    Operation *op = view.base.getDefiningOp();
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      ArrayRef<int64_t> from = getShape(reshape.getX());
      if (from.size() < 2 || getRank(y) < 2)
        return std::nullopt;
      Grouping grouping{getRank(y), from[from.size() - 2], from.back()};
      if (grouping.groups == 1 || grouping.size == 1 ||
          grouping.groups * grouping.size != getShape(y).back() ||
          getShape(reshape).back() != getShape(y).back())
        return std::nullopt;
      return grouping;
    }
    if (!isa<RsqrtOp, SqrtOp, PowOp, AddOp, MaximumOp, ReluOp>(op))
      break;
    bool second = op->getNumOperands() == 2 && formulas::getNumber(op->getOperand(0));
    view = formulas::getOperand(view, second ? 1 : 0);
  }
  return std::nullopt;
}

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
static std::optional<Variance> getRootedVariance(const View &view,
                                                 const Grouping *grouping) {
  if (!isa_and_present<RsqrtOp, SqrtOp, PowOp>(view.base.getDefiningOp()))
    return std::nullopt;
  View sum = getOperand(view, 0, grouping);
  double eps = 0;
  if (auto add = getOp<AddOp>(sum)) {
    std::optional<double> left = formulas::getNumber(add.getLhs());
    std::optional<double> right = formulas::getNumber(add.getRhs());
    if (!left && !right)
      return std::nullopt;
    eps = left ? *left : *right;
    sum = getOperand(sum, left ? 1 : 0, grouping);
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

NormReader::NormReader(Value y, Variance variance, const Grouping *grouping)
    : y(y), variance(std::move(variance)), grouping(grouping) {
  Value x = this->variance.x;
  whole = grouping ? getRootView(x.getDefiningOp()->getOperand(0), grouping)
                   : getView(x, getRank(x));
}

/// Parameters along the last dimension; where x has groups, along all but the first.
bool NormReader::isVector(const View &view) {
  const int64_t rank = getRank(variance.x), last = rank - 1;
  const bool overLast = variance.axes == ArrayRef(last);
  const bool overOthers = variance.axes == llvm::to_vector(llvm::seq<int64_t>(last));
  auto isLast = [&](int64_t dim) {
    return overLast || overOthers ? dim == last : dim > 0;
  };
  if (!llvm::all_of(view.dims, [&](int64_t dim) { return dim == -1 || isLast(dim); }) ||
      !llvm::any_of(view.dims, isLast) || isComputedFrom(view.base, variance.x))
    return false;
  if (!llvm::is_contained(vectors, view))
    vectors.push_back(view);
  return true;
}

std::optional<SmallVector<int64_t>> NormReader::getShapeInRoot(Value vector) const {
  SmallVector<int64_t> shape(getRank(y), 1);
  int64_t before = -1;
  auto isVector = [&](const View &view) { return view.base == vector; };
  const auto *view = llvm::find_if(vectors, isVector);
  if (view == vectors.end() || llvm::count_if(vectors, isVector) != 1)
    return std::nullopt;
  for (auto [size, dim] : llvm::zip_equal(getShape(vector), view->dims)) {
    if (dim == -1)
      continue;
    const int64_t inRoot = grouping && dim == grouping->getJoint() ? getRank(y) - 1 : dim;
    if (inRoot <= before || inRoot >= getRank(y) || size != getShape(y)[inRoot])
      return std::nullopt;
    shape[inRoot] = size;
    before = inRoot;
  }
  return shape;
}

std::optional<Sum> NormReader::read(const View &view, unsigned depth) {
  if (view == whole)
    return Sum{Term{1, 1, 0, 0, {}}};
  if (std::optional<double> number = formulas::getNumber(view.base))
    return *number == 0 ? Sum{} : Sum{Term{*number, 0, 0, 0, {}}};
  if (variance.hasMean && isMeanOf(view, variance))
    return Sum{Term{1, 0, 1, 0, {}}};
  if (isRsqrt(view) && getRootedVariance(view, grouping) == variance)
    return Sum{Term{1, 0, 0, 1, {}}};
  if (isVector(view))
    return Sum{Term{1, 0, 0, 0, {view.base}}};
  Operation *op = view.base.getDefiningOp();
  if (!op || depth == 0 || !isa<AddOp, SubOp, MulOp, DivOp, NegOp, ReciprocalOp>(op))
    return std::nullopt;
  if (view.base.getType() == y.getType())
    large.push_back(op);
  auto isRoot = [&](const View &divisor) {
    return isSqrt(divisor) && getRootedVariance(divisor, grouping) == variance;
  };
  View first = getOperand(view, 0, grouping);
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
  View second = getOperand(view, 1, grouping);
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
                                       const Grouping *grouping, NearMiss *why) {
  Value y = root->getResult(0), x = variance.x;
  int64_t last = getRank(x) - 1;
  bool overLast = !grouping && variance.axes.size() == 1 && variance.axes[0] == last;
  bool overOthers = !grouping && int64_t(variance.axes.size()) == last && last > 0 &&
                    !llvm::is_contained(variance.axes, last);
  bool overGroups = !overLast && !overOthers && variance.hasMean &&
                    !llvm::is_contained(variance.axes, 0) &&
                    countReduced({x, variance.axes}) > 1;
  const char *name = !variance.hasMean ? "mpt.rms_norm"
                     : overOthers      ? "mpt.batch_norm"
                                       : "mpt.layer_norm";
  if (!overGroups && ((!overLast && !overOthers) || (overOthers && !variance.hasMean) ||
                      getShape(y).back() == 1))
    return miss(why, name,
                "the mean is over dimensions " + listDims(variance.axes) +
                    ", expected the last alone" +
                    (variance.hasMean ? ", all others, or some without the first" : ""));
  NormReader reader(y, variance, grouping);
  std::optional<Sum> sum = reader.read(getRootView(y, grouping));
  auto missForm = [&] {
    return miss(why, name,
                overGroups
                    ? "expected (x - mean) rstd gamma + beta of the x that the variance "
                      "is of, with gamma and beta along channels"
                : variance.hasMean
                    ? "expected (x - mean) rstd gamma + beta of the x that the variance "
                      "is of, with gamma and beta along the last dimension"
                    : "expected x rstd gamma of the x that the mean of squares is of, "
                      "with gamma along the last dimension");
  };
  if (!sum)
    return missForm();
  Norm norm;
  norm.kind = overGroups          ? Norm::Kind::Group
              : !variance.hasMean ? Norm::Kind::RMS
              : overLast          ? Norm::Kind::Layer
                                  : Norm::Kind::Batch;
  norm.x = x;
  norm.axes = variance.axes;
  norm.eps = variance.eps;
  norm.root = root;
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
  if (overGroups)
    for (auto [vector, shape] :
         {std::pair(norm.gamma, &norm.gammaShape), std::pair(norm.beta, &norm.betaShape)})
      if (vector) {
        std::optional<SmallVector<int64_t>> found = reader.getShapeInRoot(vector);
        if (!found)
          return missForm();
        *shape = std::move(*found);
      }
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
    if (auto where = dyn_cast<WhereOp>(op)) {
      std::optional<double> condition = formulas::getNumber(where.getCondition());
      if (!condition)
        break;
      value = *condition != 0 ? where.getOnTrue() : where.getOnFalse();
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

/// The square root as the root reads it.
static std::optional<Variance> findVariance(Value y, Operation *rsqrt,
                                            const Grouping *grouping) {
  SmallVector<View> left = {getRootView(y, grouping)};
  for (unsigned steps = 0; !left.empty() && steps < 64; ++steps) {
    View next = left.pop_back_val();
    Operation *op = next.base.getDefiningOp();
    if (op == rsqrt) {
      if (std::optional<Variance> variance = getRootedVariance(next, grouping))
        return variance;
    } else if (op && isa<AddOp, SubOp, MulOp, DivOp, NegOp, ReciprocalOp>(op)) {
      for (unsigned i : llvm::seq(op->getNumOperands()))
        left.push_back(getOperand(next, i, grouping));
    }
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
    Value y = root->getResult(0);
    std::optional<Grouping> grouping = getGrouping(y, rsqrt);
    std::optional<Variance> variance =
        findVariance(y, rsqrt, grouping ? &*grouping : nullptr);
    if (!variance)
      continue;
    if (variance->x.getType() == y.getType()) {
      grouping.reset();
    } else {
      grouping = getGrouping(y, variance->x);
      variance = grouping ? findVariance(y, rsqrt, &*grouping) : std::nullopt;
      if (!variance || !(getGrouping(y, variance->x) == grouping))
        continue;
    }
    // The first reason after all ops of the formula are read is the best.
    NearMiss here;
    if (std::optional<Norm> norm = matchNormAt(
            root, *variance, grouping ? &*grouping : nullptr, why ? &here : nullptr))
      return norm;
    if (why && (why->op.empty() || !StringRef(here.reason).starts_with("expected")))
      *why = here;
  }
  return why && why->op.empty() ? missVariance(rsqrt, why) : std::nullopt;
}

namespace {
/// factor sum(x) / divisor, with dimensions of size 1 added or dropped on the way.
struct ScaledSum {
  ReduceOp sum;
  double factor = 1;
  Value divisor;
  /// From the sum on.
  SmallVector<Operation *> ops;
};
} // namespace

static std::optional<ScaledSum> getScaledSum(Value value) {
  ScaledSum found;
  for (unsigned depth = 0; depth < maxDepth; ++depth) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    found.ops.insert(found.ops.begin(), op);
    if ((found.sum = dyn_cast<ReduceOp>(op)))
      return found;
    const bool second =
        isa<MulOp>(op) && formulas::getNumber(op->getOperand(0)).has_value();
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      if (dropUnits(getShape(value)) != dropUnits(getShape(reshape.getX())))
        return std::nullopt;
    } else if (isa<MulOp, DivOp>(op)) {
      Value other = op->getOperand(second ? 0 : 1);
      std::optional<double> number = formulas::getNumber(other);
      if (number)
        found.factor *= isa<DivOp>(op) ? 1 / *number : *number;
      else if (isa<MulOp>(op) || found.divisor)
        return std::nullopt;
      else
        found.divisor = other;
    } else {
      return std::nullopt;
    }
    Value next = op->getOperand(second ? 1 : 0);
    // A factor or divisor may not repeat the sums.
    if (isa<MulOp, DivOp>(op) && getShape(next) != getShape(value))
      return std::nullopt;
    value = next;
  }
  return std::nullopt;
}

/// What `value` repeats along dimensions of size 1.
static Value skipBroadcasts(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  return value;
}

/// `count` is the number of elements of `like`'s operand that `mask` shows in each sum.
static bool isCountOf(Value count, Value mask, ReduceOp like) {
  // Truth values are counted as integers or as floats.
  auto skipCasts = [](Value value) {
    while (auto cast = value.getDefiningOp<CastOp>())
      value = cast.getX();
    return value;
  };
  auto sum = skipCasts(skipReshapes(count)).getDefiningOp<ReduceOp>();
  if (!sum || sum.getKind() != ReduceKind::Sum || sum.getAxes() != like.getAxes() ||
      getShape(sum.getX()) != getShape(like.getX()) ||
      getElementTypeOrSelf(sum.getX()).getIntOrFloatBitWidth() < 32)
    return false;
  Value counted = skipCasts(sum.getX());
  return skipBroadcasts(counted) == skipBroadcasts(mask) &&
         getElementTypeOrSelf(counted).isInteger(1) &&
         getRank(skipBroadcasts(mask)) == getRank(like.getX());
}

std::optional<VarianceByDifference> formulas::matchVarianceByDifference(Operation *root) {
  auto sub = dyn_cast<SubOp>(root);
  if (!sub || !isStaticFloat(sub) || sub.getLhs().getType() != sub.getRhs().getType())
    return std::nullopt;
  Value mean = getRoot(sub.getRhs());
  std::optional<ScaledSum> squares = getScaledSum(sub.getLhs());
  std::optional<ScaledSum> sum = mean ? getScaledSum(mean) : std::nullopt;
  if (!squares || !sum || squares->sum.getKind() != sum->sum.getKind() ||
      squares->sum.getAxes() != sum->sum.getAxes() ||
      !isNear(squares->factor, sum->factor))
    return std::nullopt;
  Value ofSquares = squares->sum.getX(), x = sum->sum.getX();
  VarianceByDifference found{x, mean, WhereOp(), squares->ops};
  const bool isSum = squares->sum.getKind() == ReduceKind::Sum;
  if (getRoot(ofSquares) == x) {
    const double count =
        isSum ? countReduced({x, SmallVector<int64_t>(squares->sum.getAxes())}) : 1;
    if (squares->divisor || sum->divisor ||
        !(isSum || squares->sum.getKind() == ReduceKind::Mean) ||
        !isNear(squares->factor * count, 1))
      return std::nullopt;
    return found;
  }
  found.choice = ofSquares.getDefiningOp<WhereOp>();
  auto choice = x.getDefiningOp<WhereOp>();
  if (!found.choice || !choice || !isSum || squares->factor != 1 || !squares->divisor ||
      !sum->divisor ||
      skipBroadcasts(found.choice.getCondition()) !=
          skipBroadcasts(choice.getCondition()) ||
      !isNumber(found.choice.getOnFalse(), 0) || !isNumber(choice.getOnFalse(), 0) ||
      getRoot(found.choice.getOnTrue()) != choice.getOnTrue() ||
      choice.getOnTrue().getType() != x.getType() ||
      !isCountOf(squares->divisor, choice.getCondition(), squares->sum) ||
      !isCountOf(sum->divisor, choice.getCondition(), squares->sum))
    return std::nullopt;
  found.x = choice.getOnTrue();
  return found;
}
