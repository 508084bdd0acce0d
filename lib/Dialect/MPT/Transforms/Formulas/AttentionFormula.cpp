//===- AttentionFormula.cpp - Formula of attention --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"

#include "mpt/Dialect/MPT/IR/StepView.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

namespace {
/// Along dimension `dim` of what reads it, the index plus `offset`.
struct Index {
  int64_t dim, offset;
};
} // namespace

/// Indices and offsets up to this are exact in f32.
static constexpr int64_t largestIndex = 1 << 22;

/// A type in which sums of indices are exact.
static bool holdsIndices(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  auto integer = dyn_cast<IntegerType>(element);
  return integer ? integer.getWidth() >= 32 : element.isF32() || element.isF64();
}

/// The whole number that all elements of `value` are.
static std::optional<int64_t> getOffset(Value value) {
  std::optional<double> number = formulas::getNumber(value);
  if (!number || !(std::abs(*number) <= double(largestIndex)) ||
      std::trunc(*number) != *number)
    return std::nullopt;
  return int64_t(*number);
}

static std::optional<Index> getIndex(View view) {
  int64_t offset = 0;
  for (unsigned depth = 0; depth < maxDepth; ++depth) {
    if (!holdsIndices(view.base) || std::abs(offset) > largestIndex)
      return std::nullopt;
    if (getOp<CastOp>(view)) {
      view = getOperand(view, 0);
    } else if (auto add = getOp<AddOp>(view)) {
      std::optional<int64_t> left = getOffset(add.getLhs());
      std::optional<int64_t> right = getOffset(add.getRhs());
      if (!left && !right)
        return std::nullopt;
      offset += left ? *left : *right;
      view = getOperand(view, left ? 1 : 0);
    } else if (auto sub = getOp<SubOp>(view)) {
      std::optional<int64_t> right = getOffset(sub.getRhs());
      if (!right)
        return std::nullopt;
      offset -= *right;
      view = getOperand(view, 0);
    } else {
      break;
    }
  }
  auto iota = getOp<IotaOp>(view);
  if (!iota || view.dims[iota.getAxis()] < 0 || !holdsIndices(iota) ||
      getShape(iota)[iota.getAxis()] > largestIndex || std::abs(offset) > largestIndex)
    return std::nullopt;
  return Index{view.dims[iota.getAxis()], offset};
}

/// True for a conversion whose result is 0 where `cast` reads 0, and nowhere else.
static bool keepsZeros(CastOp cast) {
  auto from = dyn_cast<IntegerType>(getElementTypeOrSelf(cast.getX().getType()));
  Type to = getElementTypeOrSelf(cast.getY().getType());
  return from && (isa<FloatType>(to) || (isa<IntegerType>(to) &&
                                         to.getIntOrFloatBitWidth() >= from.getWidth()));
}

/// Reads through conversions of truth values to numbers and back, and through negations,
/// each of which flips `negated`.
static View skipTruth(View view, bool &negated) {
  for (unsigned depth = 0; depth < maxDepth; ++depth) {
    auto compare = getOp<CompareOp>(view);
    auto where = getOp<WhereOp>(view);
    const bool isZeroTest = compare && isNumber(compare.getRhs(), 0) &&
                            (compare.getPredicate() == ComparePredicate::NE ||
                             compare.getPredicate() == ComparePredicate::EQ);
    auto chooses = [&](double onTrue, double onFalse) {
      return where && isNumber(where.getOnTrue(), onTrue) &&
             isNumber(where.getOnFalse(), onFalse);
    };
    auto cast = getOp<CastOp>(view);
    // Of other integers it is 0 at -1.
    const bool isNot =
        getOp<NotOp>(view) && getElementTypeOrSelf(view.base.getType()).isInteger(1);
    if (isNot || chooses(0, 1) ||
        (isZeroTest && compare.getPredicate() == ComparePredicate::EQ))
      negated = !negated;
    else if (!(cast && keepsZeros(cast)) && !isZeroTest && !chooses(1, 0))
      break;
    view = getOperand(view, 0);
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

/// True for a constant that is not 0 (if `negated`, 0) where dim 3 is not above dim 2,
/// plus `late`.
static bool isCausalConstant(const View &view, int64_t late, bool negated) {
  DenseElementsAttr elements;
  auto dims = llvm::filter_to_vector(view.dims, [](int64_t dim) { return dim != -1; });
  if (ArrayRef(dims) != ArrayRef<int64_t>{2, 3} ||
      !matchPattern(view.base, m_Constant(&elements)) || elements.isSplat())
    return false;
  int64_t columns = getShape(view.base)[llvm::find(view.dims, 3) - view.dims.begin()];
  auto check = [&](auto values, auto isZero) {
    for (auto [index, value] : llvm::enumerate(values))
      if ((isZero(value) != negated) ==
          (int64_t(index) % columns <= int64_t(index) / columns + late))
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

/// The predicate that holds where `predicate` does not, of integers.
static ComparePredicate invert(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return ComparePredicate::NE;
  case ComparePredicate::NE:
    return ComparePredicate::EQ;
  case ComparePredicate::LT:
    return ComparePredicate::GE;
  case ComparePredicate::LE:
    return ComparePredicate::GT;
  case ComparePredicate::GT:
    return ComparePredicate::LE;
  case ComparePredicate::GE:
    break;
  }
  return ComparePredicate::LT;
}

/// True if `mask` shows keys where position dim 3 is not above dim 2, plus `late`
/// positions.
static bool isCausal(const Attention::Mask &mask, int64_t late) {
  bool negated = mask.hides;
  View view = skipTruth(mask.view, negated);
  if (isCausalConstant(view, late, negated))
    return true;
  auto compare = getOp<CompareOp>(view);
  if (!compare)
    return false;
  std::optional<Index> a = getIndex(getOperand(view, 0));
  std::optional<Index> b = getIndex(getOperand(view, 1));
  if (!a || !b)
    return false;
  ComparePredicate predicate =
      negated ? invert(compare.getPredicate()) : compare.getPredicate();
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

/// True if `mask` hides nothing: a constant, or positions that are not below 0.
static bool showsAll(const Attention::Mask &mask) {
  if (isNumber(mask.view.base, mask.hides ? 0 : 1))
    return true;
  bool negated = mask.hides;
  View view = skipTruth(mask.view, negated);
  auto compare = getOp<CompareOp>(view);
  if (!compare || negated || compare.getPredicate() != ComparePredicate::GE)
    return false;
  std::optional<Index> index = getIndex(getOperand(view, 0));
  std::optional<double> least = formulas::getNumber(compare.getRhs());
  return index && least && double(index->offset) >= *least;
}

/// Adds the masks that show what all of `mask` shows to `terms`, up to maxTerms.
static void collectTerms(const Attention::Mask &mask,
                         SmallVectorImpl<Attention::Mask> &terms) {
  bool hides = mask.hides;
  View truth = skipTruth(mask.view, hides);
  // What hides by one or the other shows what neither hides.
  const bool isSplit = hides ? bool(getOp<OrOp>(truth)) : bool(getOp<AndOp>(truth));
  if (!isSplit || !getElementTypeOrSelf(truth.base.getType()).isInteger(1) ||
      terms.size() + 1 >= maxTerms) {
    terms.push_back(mask);
    return;
  }
  for (unsigned side : {0, 1})
    collectTerms({getOperand(truth, side), hides}, terms);
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

/// Reads through casts between floats.
static View skipFloatCasts(View view) {
  while (auto cast = getOp<CastOp>(view)) {
    if (!isStaticFloat(cast.getX()))
      break;
    view = getOperand(view, 0);
  }
  return view;
}

/// The matmul that `view` is scores of: with sums, masks and scales after it.
static bool isOfMatmul(View view, unsigned depth = 6) {
  double scale = 1;
  view = takeScale(view, scale);
  if (getOp<MatmulOp>(view))
    return true;
  if (depth == 0)
    return false;
  if (getOp<WhereOp>(view))
    return isOfMatmul(getOperand(view, 1), depth - 1) ||
           isOfMatmul(getOperand(view, 2), depth - 1);
  return getOp<AddOp>(view) && (isOfMatmul(getOperand(view, 0), depth - 1) ||
                                isOfMatmul(getOperand(view, 1), depth - 1));
}

/// Added to scores, and with others added to that, numbers up to this hide them for good:
/// a sum with any score is equal to them.
static constexpr double largestAddedMask = -1e30;

/// True unless all numbers in the formula of `value`, which is added to scores, are seen,
/// and nearer to 0 than those that hide. Parameters and what contractions and norms
/// compute are as near as scores are.
static bool mayHide(Value value) {
  SmallVector<Value> waiting = {value};
  llvm::SmallDenseSet<Value> seen = {value};
  while (!waiting.empty()) {
    Value next = waiting.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op) {
      if (StepView::get(next).role != Role::Parameter)
        return true;
      continue;
    }
    if (isa<ConstantOp>(op)) {
      DenseElementsAttr elements;
      if (!matchPattern(next, m_Constant(&elements)))
        return true;
      auto isSmall = [](double number) { return std::abs(number) < 1e9; };
      auto areSmall = [&](auto values, auto convert) {
        return llvm::all_of(values,
                            [&](const auto &each) { return isSmall(convert(each)); });
      };
      const bool small =
          isa<FloatType>(elements.getElementType())
              ? areSmall(elements.getValues<APFloat>(),
                         [](const APFloat &each) { return each.convertToDouble(); })
              : isa<IntegerType>(elements.getElementType()) &&
                    areSmall(elements.getValues<APInt>(), [](const APInt &each) {
                      return each.roundToDouble(/*isSigned=*/true);
                    });
      if (!small)
        return true;
      continue;
    }
    if (isa<LogOp>(op) || op->getNumRegions() != 0 || seen.size() > 256)
      return true;
    if (!isa<ElementwiseOpInterface, ReshapeOp, TransposeOp, BroadcastOp, SliceOp,
             ConcatOp, GatherOp, ReduceOp>(op))
      continue;
    // Conditions and places are no numbers that are added.
    const bool isOfIntegers =
        isa<CastOp>(op) || !isa<FloatType>(getElementTypeOrSelf(next.getType()));
    for (Value operand : op->getOperands())
      if ((isOfIntegers || isa<FloatType>(getElementTypeOrSelf(operand.getType()))) &&
          !getElementTypeOrSelf(operand.getType()).isInteger(1) &&
          seen.insert(operand).second)
        waiting.push_back(operand);
  }
  return false;
}

/// Each dimension of `value` is the same of [B, H, T, S], the last ones if it has fewer.
static bool isLast(const View &view, Value value) {
  if (view.base != value)
    return false;
  for (auto [index, dim] : llvm::enumerate(view.dims))
    if (dim != -1 && dim != int64_t(index) + 4 - getRank(value))
      return false;
  return true;
}

/// Nothing else reads `result`, nor what moves and converts it up to `value`.
static bool isReadOnce(Value value, Value result) {
  for (; value != result; value = value.getDefiningOp()->getOperand(0)) {
    if (!value.hasOneUse())
      return false;
    if (!isa_and_present<CastOp, ReshapeOp, TransposeOp, BroadcastOp, DropoutOp>(
            value.getDefiningOp()))
      break;
  }
  return result.hasOneUse();
}

/// The softmax that a matmul reads as probabilities [B, H, T, S] or [H, T, S], and their
/// dropout, if there is one.
static View getProbabilities(Value operand, DropoutOp &dropout) {
  const Value read = operand;
  View view = getView(operand, 4);
  if (auto cast = getOp<CastOp>(view); cast && isStaticFloat(cast.getX()))
    view = getOperand(view, 0);
  dropout = view.base.getDefiningOp<DropoutOp>();
  if (dropout) {
    // Its random numbers follow its shape.
    if (view.base != dropout.getY() || !dropout.getMask().use_empty() ||
        !dropout.getY().hasOneUse() || getRank(dropout.getY()) != getRank(operand) ||
        !isLast(view, dropout.getY()))
      return {};
    view = getView(dropout.getX(), 4);
    operand = dropout.getX();
    if (auto cast = getOp<CastOp>(view); cast && isStaticFloat(cast.getX()))
      view = getOperand(view, 0);
  }
  auto softmax = getOp<SoftmaxOp>(view);
  // Probabilities that others read have to be computed in any case.
  if (!softmax || !isReadOnce(read, softmax.getResult()) || !isOrdered(view) ||
      view.dims.back() != 3 ||
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

/// Of [B, H, ., .], or of [H, ., .], as one batch.
static bool isOfHeads(MatmulOp matmul) {
  const int64_t rank = getRank(matmul.getLhs());
  return (rank == 3 || rank == 4) && getRank(matmul.getRhs()) == rank;
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
      return miss(why, "mpt.attention", "probabilities are changed after their softmax");
    // A head of a classifier.
    if (getRank(softmax.getResult()) < 3)
      continue;
    if (!isOfHeads(root))
      return miss(why, "mpt.attention",
                  llvm::formatv("its matmul has operands of {0} and {1} dimensions, "
                                "expected 3 or 4: batch, heads, rows and columns",
                                getRank(root.getLhs()), getRank(root.getRhs()))
                      .str());
    if (!isReadOnce(operand, softmax.getResult()))
      return miss(why, "mpt.attention", "others read the probabilities");
    return miss(why, "mpt.attention", "the matmul does not sum over the keys");
  }
  return std::nullopt;
}

std::optional<Attention> formulas::matchAttention(MatmulOp root, NearMiss *why) {
  if (!isStaticFloat(root.getResult()))
    return std::nullopt;
  if (!isOfHeads(root))
    return missProbabilities(root, why);
  Attention attention;
  View scores = root.getTransposeLhs()
                    ? View()
                    : getProbabilities(root.getLhs(), attention.dropout);
  ArrayRef<int64_t> shape = getShape(root.getLhs());
  attention.value = root.getRhs();
  attention.transposeValue = root.getTransposeRhs();
  if (!scores.base) {
    // v^T p^T = (p v)^T.
    scores = root.getTransposeRhs() ? getProbabilities(root.getRhs(), attention.dropout)
                                    : View();
    shape = getShape(root.getRhs());
    attention.value = root.getLhs();
    attention.transposeValue = !root.getTransposeLhs();
    attention.transposeResult = true;
  }
  if (!scores.base)
    return missProbabilities(root, why);
  scores = getOperand(scores, 0);
  int64_t late = shape.back() - shape[shape.size() - 2];
  bool isMasked = false;
  auto takeMask = [&](Attention::Mask mask, double hidden) {
    isMasked = true;
    attention.hidden = hidden;
    collectTerms(mask, attention.masks);
    llvm::erase_if(attention.masks, [&](const Attention::Mask &term) {
      const bool is = late >= 0 && isCausal(term, late);
      attention.causal = attention.causal || is;
      return is || showsAll(term);
    });
    // As it was, then.
    if (!attention.causal && !attention.masks.empty())
      attention.masks = {mask};
  };
  // The number that a choice has where it hides, and whether it does that where its
  // condition is true.
  auto getHidden = [&](const View &where) -> std::optional<std::pair<double, bool>> {
    for (bool hides : {false, true})
      if (std::optional<double> number =
              formulas::getNumber(getOperand(where, hides ? 1 : 2).base);
          number && *number <= -1e9)
        return std::pair(*number, hides);
    return std::nullopt;
  };
  for (unsigned depth = 0; depth < maxTerms; ++depth) {
    scores = skipFloatCasts(scores);
    if (getOp<WhereOp>(scores) && !isMasked) {
      auto hidden = getHidden(scores);
      if (!hidden || (!attention.biases.empty() && hidden->first > largestAddedMask)) {
        std::optional<double> other = formulas::getNumber(getOperand(scores, 2).base);
        return miss(why, "mpt.attention",
                    "what is masked becomes " + (other ? spell(*other) : "other values") +
                        ", expected a number of at most -1e9");
      }
      takeMask({getOperand(scores, 0), hidden->second}, hidden->first);
      if (!attention.biases.empty() && !attention.masks.empty() &&
          std::isfinite(hidden->first))
        return miss(why, "mpt.attention",
                    "what is added to masked scores has a gradient where all is masked");
      scores = getOperand(scores, hidden->second ? 2 : 1);
      continue;
    }
    if (!getOp<AddOp>(scores))
      break;
    unsigned index = isOfMatmul(getOperand(scores, 0)) ? 0 : 1;
    View bias = getOperand(scores, 1 - index);
    // 0 where the mask shows.
    View choice = skipFloatCasts(bias);
    auto hidden = getOp<WhereOp>(choice) ? getHidden(choice) : std::nullopt;
    if (hidden && !isMasked && hidden->first <= largestAddedMask &&
        isNumber(getOperand(choice, hidden->second ? 2 : 1).base, 0))
      takeMask({getOperand(choice, 0), hidden->second}, hidden->first);
    else
      attention.biases.push_back(isOrdered(bias) ? bias
                                                 : getRawOperand(scores, 1 - index));
    scores = getOperand(scores, index);
  }
  scores = takeScale(scores, attention.scale);
  auto matmul = getOp<MatmulOp>(scores);
  if (!matmul || !isOfHeads(matmul) || !isLast(scores, matmul) ||
      getShape(matmul) != shape ||
      !llvm::all_of(attention.masks,
                    [](const Attention::Mask &mask) { return isOrdered(mask.view); }) ||
      !llvm::all_of(attention.biases, isOrdered))
    return miss(why, "mpt.attention",
                matmul
                    ? "expected scores [batch, heads, queries, keys], and masks and what "
                      "is added with these dimensions in their order"
                    : "expected scores that are a matmul, multiplied by numbers, with "
                      "values added and one mask");
  attention.query = matmul.getLhs();
  attention.transposeQuery = matmul.getTransposeLhs();
  attention.key = matmul.getRhs();
  attention.transposeKey = !matmul.getTransposeRhs();
  for (const View &bias : attention.biases)
    if (getElementTypeOrSelf(bias.base.getType()) !=
        getElementTypeOrSelf(attention.biases.front().base.getType()))
      return miss(why, "mpt.attention", "what is added is not of one type");
  // Otherwise a row that sees only what is as low would see what is hidden.
  if ((attention.causal || !attention.masks.empty()) && std::isfinite(attention.hidden) &&
      llvm::any_of(attention.biases, [](const View &bias) { return mayHide(bias.base); }))
    return miss(why, "mpt.attention",
                "what is masked becomes " + spell(attention.hidden) +
                    ", and what is added may be as low");
  Type element = cast<RankedTensorType>(attention.query.getType()).getElementType();
  for (Value value : {attention.key, attention.value, Value(root.getResult())})
    if (cast<RankedTensorType>(value.getType()).getElementType() != element)
      return miss(why, "mpt.attention", "queries, keys and values are not of one type");
  return attention;
}
