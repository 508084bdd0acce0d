//===- AttentionFormula.cpp - Formula of attention --------------*- C++ -*-===//
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
    } else if (auto sub = getOp<SubOp>(view)) {
      std::optional<double> right = formulas::getNumber(sub.getRhs());
      if (!right)
        return std::nullopt;
      offset -= int64_t(*right);
      view = getOperand(view, 0);
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

/// Adds what `view`, of truth values, is true with to `terms`, up to maxTerms.
static void collectTerms(const View &view, SmallVectorImpl<View> &terms) {
  View truth = skipTruth(view);
  auto both = getOp<AndOp>(truth);
  if (!both || !getElementTypeOrSelf(both.getType()).isInteger(1) ||
      terms.size() + 1 >= maxTerms) {
    terms.push_back(view);
    return;
  }
  for (unsigned side : {0, 1})
    collectTerms(getOperand(truth, side), terms);
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
    View mask = getOperand(scores, 0);
    collectTerms(mask, attention.masks);
    llvm::erase_if(attention.masks, [&](const View &term) {
      return takeCausal(term) || isNumber(term.base, 1);
    });
    // As it was, then.
    if (!attention.causal && !attention.masks.empty())
      attention.masks = {mask};
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
      !llvm::all_of(attention.masks, isOrdered) ||
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
