//===- RaiseOps.cpp - Ops from their formulas -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-raise-ops`. Formulas.h finds the formulas; here they are replaced. Blocks are
/// read from the end, so that the longest formula is found first.
///
//===----------------------------------------------------------------------===//

#include "Formulas/Formulas.h"

#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"
#include "mpt/Support/Remarks.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include <cmath>

namespace mpt {
#define GEN_PASS_DEF_RAISEOPSPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

namespace {

RankedTensorType getType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Replaces the formulas of one function.
class Raiser {
public:
  explicit Raiser(FunctionOpInterface function)
      : function(function), rewriter(function.getContext()) {}

  void run();

private:
  /// Calls `raise` for each op, from the last to the first.
  void forEachOp(Region &region, llvm::function_ref<void(Operation *)> raise);
  void replace(Operation *root, Value value, StringRef name);

  Value constant(double value, RankedTensorType type);
  Value reshape(Value value, ArrayRef<int64_t> shape);
  Value transpose(Value value, bool enabled);
  /// `labels`, with -1 for those outside [0, numClasses).
  Value ignoreOutOfRange(Value labels, int64_t numClasses);
  /// Remarks on what looks like formulas and is none.
  void explainRest();

  void raiseSoftmax(Operation *op);
  void raiseNorm(Operation *op);
  Value createGroupNorm(const Norm &norm);
  void centerVariance(Operation *op);
  void raiseCrossEntropy(Operation *op);
  void raiseDense(Operation *op);
  void raiseAttention(Operation *op);
  void raiseLSTMCell(Operation *op);

  FunctionOpInterface function;
  IRRewriter rewriter;
  Location loc = rewriter.getUnknownLoc();
};

} // namespace

void Raiser::forEachOp(Region &region, llvm::function_ref<void(Operation *)> raise) {
  for (Block &block : region) {
    SmallVector<Operation *> ops = llvm::to_vector(llvm::make_pointer_range(block));
    for (Operation *op : llvm::reverse(ops)) {
      for (Region &inner : op->getRegions())
        forEachOp(inner, raise);
      rewriter.setInsertionPoint(op);
      loc = op->getLoc();
      raise(op);
    }
  }
}

void Raiser::replace(Operation *root, Value value, StringRef name) {
  emitRemark(RemarkId::Raised, root->getLoc(), function.getName())
      << remark::reason("{0}", name);
  // The op itself goes with the dead ones.
  rewriter.replaceAllUsesWith(root->getResult(0), value);
}

Value Raiser::constant(double value, RankedTensorType type) {
  return ConstantOp::create(
      rewriter, loc,
      DenseElementsAttr::get(type, rewriter.getFloatAttr(type.getElementType(), value)));
}

Value Raiser::reshape(Value value, ArrayRef<int64_t> shape) {
  while (auto before = value.getDefiningOp<ReshapeOp>())
    value = before.getX();
  return getType(value).getShape() == shape
             ? value
             : ReshapeOp::create(rewriter, loc, getType(value).clone(shape), value);
}

Value Raiser::transpose(Value value, bool enabled) {
  if (!enabled)
    return value;
  return rewriter.createOrFold<TransposeOp>(loc, value, ArrayRef<int64_t>{0, 1, 3, 2});
}

void Raiser::raiseSoftmax(Operation *op) {
  std::optional<Softmax> found = matchSoftmax(op);
  if (!found)
    return;
  if (found->log)
    replace(op, LogSoftmaxOp::create(rewriter, loc, found->x), "mpt.log_softmax");
  else
    replace(op, SoftmaxOp::create(rewriter, loc, found->x), "mpt.softmax");
}

void Raiser::raiseNorm(Operation *op) {
  std::optional<Norm> found = matchNorm(op);
  if (!found)
    return;
  rewriter.setInsertionPoint(found->root);
  loc = found->root->getLoc();
  if (found->kind == Norm::Kind::Group)
    return replace(found->root, createGroupNorm(*found), "mpt.layer_norm");
  RankedTensorType type = getType(found->x);
  auto vector = type.clone(type.getShape().take_back());
  Value gamma =
      found->gamma ? reshape(found->gamma, vector.getShape()) : constant(1, vector);
  FloatAttr eps = rewriter.getF64FloatAttr(found->eps);
  if (found->kind == Norm::Kind::RMS) {
    replace(found->root, RMSNormOp::create(rewriter, loc, found->x, gamma, eps).getY(),
            "mpt.rms_norm");
    return;
  }
  Value beta =
      found->beta ? reshape(found->beta, vector.getShape()) : constant(0, vector);
  if (found->kind == Norm::Kind::Layer) {
    replace(found->root,
            LayerNormOp::create(rewriter, loc, found->x, gamma, beta, eps).getY(),
            "mpt.layer_norm");
    return;
  }
  // Running statistics are ops of their own.
  auto statistics = vector.clone(type.getElementType().isF64() ? type.getElementType()
                                                               : rewriter.getF32Type());
  Value zeros = constant(0, statistics);
  replace(found->root,
          BatchNormOp::create(rewriter, loc, found->x, gamma, beta, zeros, zeros, eps,
                              rewriter.getF64FloatAttr(1))
              .getY(),
          "mpt.batch_norm");
}

/// A layer norm, each row of which is a group.
Value Raiser::createGroupNorm(const Norm &norm) {
  RankedTensorType type = getType(norm.x);
  SmallVector<int64_t> order, shape;
  for (int64_t dim : llvm::seq(type.getRank()))
    if (!llvm::is_contained(norm.axes, dim))
      order.push_back(dim);
  llvm::append_range(order, norm.axes);
  int64_t count = 1;
  for (int64_t dim : norm.axes)
    count *= type.getDimSize(dim);
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  auto move = [&](Value value, ArrayRef<int64_t> permutation) -> Value {
    return isIdentityPermutation(permutation)
               ? value
               : TransposeOp::create(rewriter, loc, value, permutation);
  };
  Value rows = reshape(move(norm.x, order), {type.getNumElements() / count, count});
  auto vector = type.clone(ArrayRef(count));
  Value y = LayerNormOp::create(rewriter, loc, rows, constant(1, vector),
                                constant(0, vector), rewriter.getF64FloatAttr(norm.eps))
                .getY();
  y = move(reshape(y, shape), invertPermutationVector(order));
  y = reshape(y, getType(norm.root->getResult(0)).getShape());
  if (norm.gamma)
    y = MulOp::create(rewriter, loc, y, reshape(norm.gamma, norm.gammaShape));
  if (norm.beta)
    y = AddOp::create(rewriter, loc, y, reshape(norm.beta, norm.betaShape));
  return y;
}

Value Raiser::ignoreOutOfRange(Value labels, int64_t numClasses) {
  RankedTensorType type = getType(labels);
  auto scalar = [&](int64_t number) {
    return ConstantOp::create(
        rewriter, loc,
        DenseElementsAttr::get(
            RankedTensorType::get({}, type.getElementType()),
            ArrayRef<Attribute>(rewriter.getIntegerAttr(type.getElementType(), number))));
  };
  Value isLabel = AndOp::create(
      rewriter, loc,
      CompareOp::create(rewriter, loc, labels, scalar(0), ComparePredicate::GE),
      CompareOp::create(rewriter, loc, labels, scalar(numClasses), ComparePredicate::LT));
  return WhereOp::create(rewriter, loc, type, isLabel, labels, scalar(-1));
}

/// In 16 bits nothing may be left of the difference, or less than 0.
void Raiser::centerVariance(Operation *op) {
  std::optional<VarianceByDifference> found = matchVarianceByDifference(op);
  if (!found)
    return;
  auto sum = cast<ReduceOp>(found->meanOfSquares.front());
  SmallVector<int64_t> shape(getType(found->x).getShape());
  for (int64_t axis : sum.getAxes())
    shape[axis] = 1;
  Value centered = SubOp::create(rewriter, loc, found->x, reshape(found->mean, shape));
  Value squares = MulOp::create(rewriter, loc, centered, centered);
  IRMapping mapping;
  if (WhereOp choice = found->choice) {
    mapping.map(choice.getOnTrue(), squares);
    squares = rewriter.clone(*choice, mapping)->getResult(0);
  }
  mapping.map(sum.getX(), squares);
  for (Operation *each : found->meanOfSquares)
    rewriter.clone(*each, mapping);
  replace(op, mapping.lookup(op->getOperand(0)), "the mean of (x - mean)^2");
}

void Raiser::raiseCrossEntropy(Operation *op) {
  std::optional<CrossEntropy> found = matchCrossEntropy(op);
  if (!found)
    return;
  rewriter.setInsertionPoint(found->root);
  loc = found->root->getLoc();
  ArrayRef<int64_t> rows = getType(found->logits).getShape().drop_back();
  double count = 1;
  for (int64_t size : rows)
    count *= double(size);
  auto reduction = LossReduction::Sum;
  Value labels = reshape(found->labels, rows);
  IntegerAttr ignored;
  if (found->isOneHot) {
    labels = ignoreOutOfRange(labels, getType(found->logits).getShape().back());
    ignored = rewriter.getI64IntegerAttr(-1);
  } else if (std::abs(found->factor * count - 1) < 0x1p-20) {
    reduction = LossReduction::Mean;
    found->factor = 1;
  }
  Value loss = CrossEntropyOp::create(rewriter, loc, found->logits, labels, reduction,
                                      llvm::APFloat(0.0), ignored)
                   .getLoss();
  Type type = found->root->getResult(0).getType();
  if (loss.getType() != type)
    loss = CastOp::create(rewriter, loc, type, loss);
  if (found->factor != 1)
    loss =
        MulOp::create(rewriter, loc, type, loss, constant(found->factor, getType(loss)));
  replace(found->root, loss, "mpt.cross_entropy");
}

void Raiser::raiseDense(Operation *op) {
  std::optional<Dense> found = matchDense(op);
  if (!found)
    return;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value result = found->contraction->getResult(0);
  Value bias = reshape(found->bias, getType(result).getShape().take_back());
  if (auto conv = dyn_cast<Conv2DOp>(found->contraction)) {
    auto copy = cast<Conv2DOp>(rewriter.clone(*conv));
    copy.getBiasMutable().assign(bias);
    replace(op, reshape(copy.getResult(), type.getShape()), "mpt.conv2d");
    return;
  }
  auto matmul = cast<MatmulOp>(found->contraction);
  // x before its leading dimensions were joined.
  Value x = matmul.getLhs();
  while (auto joined = x.getDefiningOp<ReshapeOp>()) {
    RankedTensorType source = getType(joined.getX());
    if (source.getRank() < 2 || source.getShape().back() != getType(x).getShape().back())
      break;
    x = joined.getX();
  }
  SmallVector<int64_t> shape(getType(x).getShape());
  shape.back() = getType(result).getShape().back();
  Value dense = LinearOp::create(rewriter, loc, getType(result).clone(shape), x,
                                 matmul.getRhs(), bias, Epilogue::None,
                                 matmul.getAccTypeAttr(), matmul.getTransposeRhs());
  replace(op, reshape(dense, type.getShape()), "mpt.linear");
}

void Raiser::raiseAttention(Operation *op) {
  auto root = dyn_cast<MatmulOp>(op);
  std::optional<Attention> found = root ? matchAttention(root) : std::nullopt;
  if (!found)
    return;
  // Numbers that queries and keys are multiplied by before they are moved.
  auto takeScale = [&](Value value) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    Value scaled = transpose ? transpose.getX() : value;
    Operation *scale = scaled.getDefiningOp();
    if (!scale || !isa<MulOp, DivOp>(scale) ||
        scale->getOperand(0).getType() != scaled.getType())
      return value;
    std::optional<double> number = getNumber(scale->getOperand(1));
    if (!number || !std::isfinite(*number) || *number == 0)
      return value;
    found->scale *= isa<DivOp>(scale) ? 1 / *number : *number;
    Value x = scale->getOperand(0);
    return transpose
               ? rewriter.createOrFold<TransposeOp>(loc, x, transpose.getPermutation())
               : x;
  };
  // Heads alone are those of one batch.
  auto addBatch = [&](Value heads) {
    SmallVector<int64_t> shape(getType(heads).getShape());
    shape.insert(shape.begin(), 4 - shape.size(), 1);
    return reshape(heads, shape);
  };
  Value query = transpose(addBatch(takeScale(found->query)), found->transposeQuery);
  Value key = transpose(addBatch(takeScale(found->key)), found->transposeKey);
  Value value = transpose(addBatch(found->value), found->transposeValue);
  auto toRank4 = [&](const View &view) {
    if (!view.base)
      return Value();
    SmallVector<int64_t> shape(4, 1);
    for (auto [size, dim] : llvm::zip_equal(getType(view.base).getShape(), view.dims))
      if (dim != -1)
        shape[dim] = size;
    return reshape(view.base, shape);
  };
  Value mask, bias;
  for (const View &term : found->biases) {
    Value next = toRank4(term);
    if (bias) {
      SmallVector<int64_t> shape;
      for (auto [a, b] :
           llvm::zip_equal(getType(bias).getShape(), getType(next).getShape()))
        shape.push_back(std::max(a, b));
      next = AddOp::create(rewriter, loc, getType(bias).clone(shape), bias, next);
    }
    bias = next;
  }
  for (const Attention::Mask &term : found->masks) {
    Value next = toRank4(term.view);
    if (term.hides)
      next = NotOp::create(rewriter, loc, next);
    mask = mask ? AndOp::create(rewriter, loc, mask, next).getResult() : next;
  }
  // Where a row sees nothing, softmax of equal numbers is not 0, as mpt.attention's is.
  // It is the same everywhere.
  const bool isUniform = mask && std::isfinite(found->hidden);
  Value any;
  if (isUniform) {
    Value seen = mask;
    if (found->causal) {
      const int64_t rows = getType(query).getDimSize(2),
                    keys = getType(key).getDimSize(2);
      auto number = [&](ArrayRef<int64_t> shape) {
        return RankedTensorType::get(shape, rewriter.getI32Type());
      };
      Value row = IotaOp::create(rewriter, loc, number({1, 1, rows, 1}), 2);
      Value column = IotaOp::create(rewriter, loc, number({1, 1, 1, keys}), 3);
      Value last = AddOp::create(
          rewriter, loc, row.getType(), row,
          ConstantOp::create(rewriter, loc,
                             DenseElementsAttr::get(number({}), int32_t(keys - rows))));
      Value causal = CompareOp::create(
          rewriter, loc, RankedTensorType::get({1, 1, rows, keys}, rewriter.getI1Type()),
          last, column,
          ComparePredicateAttr::get(rewriter.getContext(), ComparePredicate::GE));
      seen = AndOp::create(rewriter, loc, mask, causal);
    }
    RankedTensorType type = getType(seen);
    any = ReduceOp::create(
        rewriter, loc,
        CastOp::create(rewriter, loc, type.clone(rewriter.getI32Type()), seen),
        ReduceKind::Max, ArrayRef<int64_t>{3}, /*keep_dims=*/true,
        /*acc_type=*/TypeAttr());
    any = CastOp::create(rewriter, loc, getType(any).clone(type.getElementType()), any);
  }
  // With the mask alone such a row sees everything, with a query of zeros.
  const bool isOpened = isUniform && !found->causal && !bias;
  if (isOpened) {
    mask = OrOp::create(rewriter, loc, mask, NotOp::create(rewriter, loc, any));
    query = WhereOp::create(
        rewriter, loc, query.getType(), any, query,
        constant(0, RankedTensorType::get({}, getType(query).getElementType())));
  }
  DropoutOp dropout = found->dropout;
  auto attention = AttentionOp::create(
      rewriter, loc, query, key, value, mask, bias, dropout ? dropout.getSeed() : Value(),
      dropout ? dropout.getAttempt() : Value(), found->causal,
      rewriter.getF64FloatAttr(found->scale),
      dropout ? dropout.getRateAttr() : FloatAttr(),
      dropout ? dropout.getStreamAttr() : IntegerAttr(), root.getAccTypeAttr());
  Value output = attention.getResult();
  // Else it is 0, and becomes the mean of all values.
  if (isUniform && !isOpened)
    output = WhereOp::create(rewriter, loc, output.getType(), any, output,
                             ReduceOp::create(rewriter, loc, value, ReduceKind::Mean,
                                              ArrayRef<int64_t>{2}, /*keep_dims=*/true,
                                              /*acc_type=*/TypeAttr()));
  Value result = transpose(output, found->transposeResult);
  RankedTensorType type = getType(root.getResult());
  replace(op, reshape(result, type.getShape()), "mpt.attention");
  // Transposes that follow join.
  if (!found->transposeResult || type.getRank() != 4)
    return;
  for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
    if (auto next = dyn_cast<TransposeOp>(user)) {
      rewriter.setInsertionPoint(next);
      SmallVector<int64_t> permutation;
      for (int64_t dim : next.getPermutation())
        permutation.push_back(dim < 2 ? dim : 5 - dim);
      rewriter.replaceOpWithNewOp<TransposeOp>(next, output, permutation);
    }
}

void Raiser::raiseLSTMCell(Operation *op) {
  std::optional<LSTMCell> found = matchLSTMCell(op);
  if (!found)
    return;
  // W and U are both transposed, or both are not.
  bool transposed[2];
  Value weights[2], bias;
  Operation *sums[] = {found->input, found->hidden};
  for (auto [index, dense] : llvm::enumerate(sums)) {
    weights[index] = dense->getOperand(1);
    if (auto linear = dyn_cast<LinearOp>(dense)) {
      transposed[index] = linear.getTransposeWeight();
      if (Value next = linear.getBias())
        bias = bias ? AddOp::create(rewriter, loc, bias, next).getResult() : next;
    } else {
      transposed[index] = cast<MatmulOp>(dense).getTransposeRhs();
    }
  }
  if (transposed[0] != transposed[1])
    return;
  auto cell = LSTMCellOp::create(
      rewriter, loc,
      TypeRange{op->getResult(0).getType(), found->newC.getType(),
                found->input->getResult(0).getType()},
      found->input->getOperand(0), found->hidden->getOperand(0), found->c, weights[0],
      weights[1], bias, /*acc_type=*/TypeAttr(), transposed[0]);
  // The new cell state is computed before new_h; its other readers come after.
  Value newC = found->newC;
  rewriter.replaceUsesWithIf(newC, cell.getNewC(), [&](OpOperand &use) {
    Operation *reader = cell->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return reader && cell->isBeforeInBlock(reader);
  });
  replace(op, cell.getNewH(), "mpt.lstm_cell");
}

void Raiser::run() {
  Region &body = function.getFunctionBody();
  auto clean = [&] { (void)runRegionDCE(rewriter, function->getRegions()); };
  forEachOp(body, [&](Operation *op) {
    raiseSoftmax(op);
    raiseNorm(op);
  });
  clean();
  forEachOp(body, [&](Operation *op) {
    raiseAttention(op);
    raiseCrossEntropy(op);
    raiseDense(op);
    centerVariance(op);
  });
  clean();
  forEachOp(body, [&](Operation *op) { raiseLSTMCell(op); });
  clean();
  if (function->getContext()->getRemarkEngine())
    explainRest();
}

void Raiser::explainRest() {
  forEachOp(function.getFunctionBody(), [&](Operation *op) {
    NearMiss why;
    auto isFound = [&](const auto &formula) { return formula || !why.op.empty(); };
    auto matmul = dyn_cast<MatmulOp>(op);
    if (!isFound(matchSoftmax(op, &why)) && !isFound(matchNorm(op, &why)) &&
        !isFound(matchCrossEntropy(op, &why)) && !isFound(matchDense(op, &why)) &&
        !isFound(matchLSTMCell(op, &why)) &&
        !(matmul && isFound(matchAttention(matmul, &why))))
      why = explainActivation(op);
    if (why.op.empty())
      why = explainDropout(op);
    if (why.op.empty())
      why = explainGather(op);
    if (!why.op.empty())
      emitRemark(RemarkId::NotRaised, op->getLoc(), function.getName())
          << remark::reason("{0}: {1}", why.op, why.reason);
  });
}

void mpt::raiseOps(FunctionOpInterface function) {
  // Constants stay as they are.
  RewritePatternSet patterns(function.getContext());
  populateRaiseActivationsPatterns(patterns);
  GreedyRewriteConfig config;
  config.enableFolding(false).enableConstantCSE(false).setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  (void)applyPatternsGreedily(function, std::move(patterns), config);
  Raiser(function).run();
}

namespace {
struct RaiseOpsPass : mpt::impl::RaiseOpsPassBase<RaiseOpsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!mpt::detail::hasOpsOfMPT(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no op of the mpt dialect");
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!function.isExternal())
        raiseOps(function);
  }
};
} // namespace
