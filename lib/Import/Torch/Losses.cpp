//===- Losses.cpp - Torch's losses -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

/// torch's number for the reduction of a loss.
enum class Reduction { None = 0, Mean = 1, Sum = 2 };

static Reduction readReduction(Lowering &l, unsigned index) {
  int64_t kind = l.integer(index, 1);
  l.require(kind >= 0 && kind <= 2, "an unknown reduction");
  return static_cast<Reduction>(kind);
}

static Shape allAxes(Value x) {
  return llvm::to_vector(llvm::seq<int64_t>(0, getRank(x)));
}

/// Sums or averages the losses of elements, in f32 for narrower types.
static void reduceLoss(Lowering &l, Value losses, Reduction reduction) {
  if (reduction == Reduction::None)
    return l.set(losses);
  if (getRank(losses) == 0)
    return l.set(losses);
  l.set(l.reduce(reduction == Reduction::Mean ? ReduceKind::Mean : ReduceKind::Sum,
                 losses, allAxes(losses)));
}

/// A loss of elements of prediction and target; the reduction is operand `reduction`.
static std::function<void(Lowering &)>
elementLoss(unsigned reduction, Value (*loss)(Lowering &, Value, Value)) {
  return [=](Lowering &l) {
    Type element = l.resultElement();
    Value x = l.get(0, element), y = l.get(1, element);
    reduceLoss(l, loss(l, x, y), readReduction(l, reduction));
  };
}

static void mseLoss(Lowering &l) {
  Type element = l.resultElement();
  Value x = l.get(0, element), y = l.get(1, element);
  Reduction reduction = readReduction(l, 2);
  Type sums = element.isF64() ? element : l.builder.getF32Type();
  if (reduction == Reduction::None || getShape(x) != getShape(y))
    return reduceLoss(l, l.square(l.sub(x, y)), reduction);
  l.set(MSELossOp::create(l.builder, l.loc, RankedTensorType::get({}, sums), x, y,
                          reduction == Reduction::Mean ? LossReduction::Mean
                                                       : LossReduction::Sum));
}

/// Huber's: `inner` of the difference where it is below `delta`, else `outer`.
static void huber(Lowering &l, double delta, bool divided) {
  Type element = l.resultElement();
  Value distance = l.abs(l.sub(l.get(0, element), l.get(1, element)));
  Reduction reduction = readReduction(l, 2);
  if (delta == 0)
    return reduceLoss(l, distance, reduction);
  Value near = l.mul(l.square(distance), 0.5),
        far = l.mul(l.add(distance, -0.5 * delta), delta);
  Value loss = l.where(l.compare(ComparePredicate::LT, distance, delta), near, far);
  reduceLoss(l, divided ? l.mul(loss, 1 / delta) : loss, reduction);
}

static void binaryCrossEntropyWithLogits(Lowering &l) {
  Type element = l.resultElement();
  Value x = l.get(0, element), y = l.get(1, element);
  // (1 - y) x + (1 + (weight - 1) y) log(1 + e^-x)
  Value tail = l.unary<SoftplusOp>(l.neg(x));
  if (!l.isNone(3))
    tail = l.mul(tail, l.add(l.mul(y, l.add(l.get(3, element), -1.0)), 1.0));
  Value loss = l.add(l.mul(l.sub(l.number(y, 1), y), x), tail);
  if (!l.isNone(2))
    loss = l.mul(loss, l.get(2, element));
  reduceLoss(l, loss, readReduction(l, 4));
}

static void binaryCrossEntropy(Lowering &l) {
  Type element = l.resultElement();
  Value p = l.get(0, element), y = l.get(1, element);
  // torch's logarithms are at least -100. Where their derivative would be infinite, as
  // that of a sigmoid that is rounded to 0 or 1, there is none.
  auto bounded = [&](Value x, bool complement) {
    auto logarithm = [&](Value x) {
      return complement ? l.unary<Log1pOp>(l.neg(x)) : l.unary<LogOp>(x);
    };
    Value inside = complement ? l.compare(ComparePredicate::LT, x, 1.0)
                              : l.compare(ComparePredicate::GT, x, 1e-38);
    Value least =
        l.binary<MaximumOp>(logarithm(l.unary<StopGradientOp>(x)), l.number(x, -100));
    return l.where(inside, logarithm(l.where(inside, x, l.number(x, 0.5))), least);
  };
  Value other = l.sub(l.number(y, 1), y);
  Value loss = l.neg(l.add(l.mul(y, bounded(p, false)), l.mul(other, bounded(p, true))));
  if (!l.isNone(2))
    loss = l.mul(loss, l.get(2, element));
  reduceLoss(l, loss, readReduction(l, 3));
}

static void klDivergence(Lowering &l) {
  Type element = l.resultElement();
  Value x = l.get(0, element), y = l.get(1, element);
  Value loss;
  if (l.flag(3)) {
    loss = l.mul(l.unary<ExpOp>(y), l.sub(y, x));
  } else {
    Value positive = l.compare(ComparePredicate::GT, y, 0.0);
    Value logarithm = l.unary<LogOp>(l.where(positive, y, l.number(y, 1)));
    loss = l.sub(l.mul(y, logarithm), l.mul(y, x));
  }
  reduceLoss(l, loss, readReduction(l, 2));
}

/// Rows [.., C] of operand 0, whose classes are dimension 1 (0 for a vector).
static Value getClassesLast(Lowering &l) {
  Tensor stored = l.getStored(0);
  if (stored.channelsLast)
    return stored.value;
  int64_t rank = getRank(stored.value);
  if (!l.require(rank >= 1, "classes of a scalar"))
    return l.constant(0, l.builder.getF32Type(), {1});
  return rank == 1 ? stored.value : l.moveToLast(stored.value, 1);
}

/// Minus the sum over classes of logarithms [.., C] times targets that are numbers of
/// classes. `weight` and `smoothing` as in torch.
static void negativeLogLikelihood(Lowering &l, Value logarithms, Value labels,
                                  Value weight, Reduction reduction, int64_t ignored,
                                  double smoothing) {
  int64_t classes = getShape(logarithms).back();
  if (!l.require(getShape(labels) == getShape(logarithms).drop_back(),
                 "labels of another shape"))
    return;
  Value checked = CheckIndicesOp::create(l.builder, l.loc, labels.getType(), labels,
                                         l.builder.getI64IntegerAttr(classes),
                                         l.builder.getI64IntegerAttr(ignored));
  Value counted = l.compare(ComparePredicate::NE, checked, static_cast<double>(ignored));
  Type element = getElement(logarithms);
  Value rows = l.cast(counted, element);
  Shape column(getShape(labels));
  column.push_back(1);
  Value chosen = l.binary<AndOp>(l.oneHot(checked, classes), l.reshape(counted, column));
  Value weighted = weight ? l.mul(logarithms, l.cast(weight, element)) : logarithms;
  Value zero = l.number(logarithms, 0);
  Value loss = l.neg(l.reduceLast(ReduceKind::Sum, l.where(chosen, weighted, zero)));
  if (smoothing > 0) {
    Value all = l.neg(l.reduceLast(ReduceKind::Sum,
                                   l.where(l.reshape(counted, column), weighted, zero)));
    loss = l.add(l.mul(loss, 1 - smoothing), l.mul(all, smoothing / classes));
  }
  if (reduction == Reduction::None)
    return l.set(loss);
  Value total = l.reduce(ReduceKind::Sum, loss, allAxes(loss));
  if (reduction == Reduction::Sum)
    return l.set(total);
  Value weights = rows;
  if (weight)
    weights =
        l.reduceLast(ReduceKind::Sum, l.where(chosen, l.cast(weight, element), zero));
  l.set(l.div(total, l.reduce(ReduceKind::Sum, weights, allAxes(weights))));
}

static void crossEntropy(Lowering &l) {
  Value logits = getClassesLast(l), target = l.get(1);
  Value weight = l.isNone(2) ? Value() : l.get(2);
  Reduction reduction = readReduction(l, 3);
  int64_t ignored = l.integer(4, -100);
  double smoothing = l.number(5, 0);
  if (!l.refusal.empty())
    return;
  Type element = getElement(logits);
  int64_t classes = getShape(logits).back();
  if (!l.require(!ShapedType::isDynamic(classes), "an open number of classes"))
    return;
  Type sums = element.isF64() ? element : l.builder.getF32Type();
  if (isa<FloatType>(getElement(target))) {
    // Probabilities, in the order of the logits.
    Value p = l.cast(getRank(target) == 1 ? target : l.moveToLast(target, 1), sums);
    Value logarithms = l.unary<LogSoftmaxOp>(l.cast(logits, sums));
    if (smoothing > 0)
      p = l.add(l.mul(p, 1 - smoothing), smoothing / classes);
    Value product = l.mul(logarithms, p);
    if (weight)
      product = l.mul(product, l.cast(weight, sums));
    return reduceLoss(l, l.neg(l.reduceLast(ReduceKind::Sum, product)), reduction);
  }
  if (!getElement(target).isInteger(32) && !getElement(target).isInteger(64))
    target = l.cast(target, l.builder.getI64Type());
  if (weight || reduction == Reduction::None)
    return negativeLogLikelihood(l, l.unary<LogSoftmaxOp>(l.cast(logits, sums)), target,
                                 weight, reduction, ignored, smoothing);
  if (!l.require(getShape(target) == getShape(logits).drop_back(),
                 "labels of another shape"))
    return;
  auto loss = CrossEntropyOp::create(
      l.builder, l.loc, RankedTensorType::get({}, sums),
      RankedTensorType::get(getShape(target), sums), logits, target,
      LossReductionAttr::get(l.builder.getContext(), reduction == Reduction::Mean
                                                         ? LossReduction::Mean
                                                         : LossReduction::Sum),
      l.f64(smoothing), l.builder.getI64IntegerAttr(ignored));
  l.set(loss.getLoss());
}

static void nllLoss(Lowering &l) {
  Value logarithms = getClassesLast(l), target = l.get(1);
  if (!l.require(l.op->getNumResults() < 2 || l.op->getResult(1).use_empty(),
                 "the sum of weights"))
    return;
  if (l.refusal.empty())
    negativeLogLikelihood(l, logarithms, target, l.isNone(2) ? Value() : l.get(2),
                          readReduction(l, 3), l.integer(4, -100), 0);
}

/// a.b / max(|a| |b|, eps), over a dimension, as torch bounds each norm.
static void cosineSimilarity(Lowering &l) {
  Type element = l.resultElement();
  Value a = l.get(0, element), b = l.get(1, element);
  RankedTensorType type = l.broadcastType({a, b}, element);
  a = l.broadcast(a, type.getShape());
  b = l.broadcast(b, type.getShape());
  int64_t dim = l.dimension(2, type.getRank());
  double eps = l.number(3, 1e-8);
  if (!l.require(type.getRank() > 0, "scalars"))
    return;
  auto dot = [&](Value x, Value y) {
    return l.reduce(ReduceKind::Sum, l.mul(x, y), {dim});
  };
  auto norm = [&](Value x) {
    Value squares = dot(x, x);
    Value small = l.compare(ComparePredicate::LE, squares, eps * eps);
    Value root = l.unary<SqrtOp>(l.where(small, l.number(x, 1), squares));
    return l.where(small, l.number(x, eps), root);
  };
  l.set(l.div(dot(a, b), l.mul(norm(a), norm(b))));
}

/// max(0, x), where the gradient at 0 is 0.
static Value hinge(Lowering &l, Value x) { return l.unary<ReluOp>(x); }

/// The p-norm of `difference` + eps over the last dimension, with the gradient 0 at 0.
static Value distanceLast(Lowering &l, Value difference, double p, double eps,
                          bool keep) {
  if (!l.require(getRank(difference) >= 1, "scalars") ||
      !l.require(p == 1 || p == 2, "a norm other than 1 and 2"))
    return difference;
  Value x = l.add(difference, eps);
  if (p == 1)
    return l.reduceLast(ReduceKind::Sum, l.abs(x), keep);
  Value squares = l.reduceLast(ReduceKind::Sum, l.square(x), keep);
  Value zero = l.compare(ComparePredicate::EQ, squares, 0.0);
  Value root = l.unary<SqrtOp>(l.where(zero, l.number(squares, 1), squares));
  return l.where(zero, l.number(squares, 0), root);
}

/// Minus the logarithm of the probability that classes of the time steps, of which equal
/// neighbors count once and blanks not at all, spell the targets (Graves et al. 2006).
/// Operands: logarithms of probabilities [T, N, C], targets [N, S], lengths of both [N],
/// the blank. What comes after a length does not count.
static void ctcLoss(Lowering &l) {
  Type element = l.resultElement(), i64 = l.builder.getI64Type();
  Type f32 = element.isF64() ? element : l.builder.getF32Type();
  Value x = l.get(0), targets = l.get(1), inputLengths = l.get(2),
        targetLengths = l.get(3);
  int64_t blank = l.integer(4);
  if (!l.refusal.empty() || !l.require(getRank(x) == 3, "probabilities without a batch"))
    return;
  const int64_t steps = getShape(x)[0], batch = getShape(x)[1];
  if (getRank(targets) == 1 && batch == 1)
    targets = l.reshape(targets, {1, getShape(targets)[0]});
  if (!l.require(getRank(targets) == 2 && getShape(targets)[0] == batch,
                 "targets one after another; pass them as [N, S], padded") ||
      !l.require(llvm::equal(getShape(inputLengths), ArrayRef({batch})) &&
                     llvm::equal(getShape(targetLengths), ArrayRef({batch})),
                 "lengths of these shapes") ||
      !l.require(getType(x).hasStaticShape() && getType(targets).hasStaticShape() &&
                     steps > 0 && getShape(targets)[1] > 0,
                 "a sequence that is empty or of open length") ||
      !l.require(l.op->getNumResults() < 2 || l.op->getResult(1).use_empty(),
                 "the sums of all paths"))
    return;
  // Far below the logarithm of any probability; its sums and differences are finite.
  constexpr double never = -1e30;
  x = l.cast(x, f32);
  targets = l.cast(targets, i64);
  targetLengths = l.reshape(l.cast(targetLengths, i64), {batch, 1});
  // blank, target, blank, .., target, blank.
  const int64_t size = getShape(targets)[1], places = 2 * size + 1;
  // Positions of elements do not show an index outside of its row.
  auto check = [&](Value indices, int64_t bound) -> Value {
    return CheckIndicesOp::create(l.builder, l.loc, indices.getType(), indices,
                                  l.builder.getI64IntegerAttr(bound), IntegerAttr());
  };
  Value isTarget =
      l.compare(ComparePredicate::LT, l.iota({batch, size}, 1, i64), targetLengths);
  targets =
      check(l.where(isTarget, targets, l.number(targets, blank)), getShape(x).back());
  targets = l.reshape(targets, {batch, size, 1});
  Value blanks = l.constant(blank, i64, {batch, size, 1});
  Value spelled = l.concat({l.reshape(l.concat({blanks, targets}, 2), {batch, 2 * size}),
                            l.constant(blank, i64, {batch, 1})},
                           1);
  // Different targets may follow each other without a blank between them.
  Value before = l.concat(
      {l.constant(blank, i64, {batch, 2}), l.slice(spelled, 1, 0, places - 2)}, 1);
  Value penalty = l.where(l.compare(ComparePredicate::NE, spelled, before),
                          l.number(x, 0), l.number(x, never));
  Value emissions = l.takeLast(
      x, l.broadcast(l.reshape(spelled, {1, batch, places}), {steps, batch, places}));
  // Of a probability of 0, too.
  emissions = l.binary<MaximumOp>(emissions, l.number(x, never));
  // Before the first step a path is at the first blank.
  Value start =
      l.where(l.compare(ComparePredicate::EQ, l.iota({batch, places}, 1, i64), 0.0),
              l.number(x, 0), l.number(x, never));
  auto scan = ScanOp::create(l.builder, l.loc, {start.getType(), emissions.getType()},
                             uint64_t(steps), false, start, emissions, IntegerAttr());
  Block &body = scan.getBody().emplaceBlock();
  Value stay = body.addArgument(start.getType(), l.loc);
  Value emission = body.addArgument(start.getType(), l.loc);
  {
    OpBuilder::InsertionGuard guard(l.builder);
    l.builder.setInsertionPointToStart(&body);
    auto move = [&](int64_t by) {
      return l.pad(l.slice(stay, 1, 0, places - by), {0, by}, {0, 0}, never);
    };
    Value next = move(1), skip = l.add(move(2), penalty);
    Value most = l.unary<StopGradientOp>(
        l.binary<MaximumOp>(l.binary<MaximumOp>(stay, next), skip));
    auto relative = [&](Value path) { return l.unary<ExpOp>(l.sub(path, most)); };
    Value sum = l.add(l.add(relative(stay), relative(next)), relative(skip));
    Value sums = l.add(l.add(most, l.unary<LogOp>(sum)), emission);
    YieldOp::create(l.builder, l.loc, {sums, sums});
  }
  // Of the last time step, the last target and the blank after it.
  Value row = l.add(l.mul(l.add(l.cast(inputLengths, i64), -1.0), double(batch)),
                    l.iota({batch}, 0, i64));
  Value last =
      l.gather(l.reshape(scan.getResults().back(), {steps * batch, places}), row);
  Value blankAfter = check(l.mul(targetLengths, 2.0), places);
  Value lastTarget = l.binary<MaximumOp>(l.add(blankAfter, -1.0), l.number(targets, 0));
  Value ends = l.takeLast(last, l.concat({blankAfter, lastTarget}, 1));
  // Without a target both are the first blank.
  Value isEnd = l.concat({l.constant(1, l.builder.getI1Type(), {batch, 1}),
                          l.compare(ComparePredicate::GT, targetLengths, 0.0)},
                         1);
  ends = l.where(isEnd, ends, l.number(ends, never));
  Value most = l.unary<StopGradientOp>(l.reduceLast(ReduceKind::Max, ends, true));
  Value sum = l.reduceLast(ReduceKind::Sum, l.unary<ExpOp>(l.sub(ends, most)), true);
  Value loss = l.neg(l.reshape(l.add(most, l.unary<LogOp>(sum)), {batch}));
  Value isNever = l.compare(ComparePredicate::GT, loss, -never / 2);
  l.set(l.cast(
      l.where(isNever, l.number(loss, std::numeric_limits<double>::infinity()), loss),
      element));
}

void mpt::torch::populateLosses(Table &t) {
  t.add({"mse_loss"}, mseLoss);
  t.add({"l1_loss"},
        elementLoss(2, [](Lowering &l, Value x, Value y) { return l.abs(l.sub(x, y)); }));
  t.add({"smooth_l1_loss"}, [](Lowering &l) { huber(l, l.number(3, 1), true); });
  t.add({"huber_loss"}, [](Lowering &l) { huber(l, l.number(3, 1), false); });
  t.add({"binary_cross_entropy_with_logits"}, binaryCrossEntropyWithLogits);
  t.add({"binary_cross_entropy"}, binaryCrossEntropy);
  t.add({"kl_div"}, klDivergence);
  t.add({"_ctc_loss.Tensor"}, ctcLoss);
  t.add({"cross_entropy_loss"}, crossEntropy);
  t.add(
      {"nll_loss", "nll_loss_nd", "nll_loss2d", "nll_loss_forward", "nll_loss2d_forward"},
      nllLoss);
  t.add({"soft_margin_loss"}, elementLoss(2, [](Lowering &l, Value x, Value y) {
          return l.unary<SoftplusOp>(l.neg(l.mul(x, y)));
        }));
  t.add({"poisson_nll_loss"}, [](Lowering &l) {
    Type element = l.resultElement();
    Value x = l.get(0, element), y = l.get(1, element);
    bool logged = l.flag(2);
    Value loss = logged ? l.sub(l.unary<ExpOp>(x), l.mul(y, x))
                        : l.sub(x, l.mul(y, l.unary<LogOp>(l.add(x, l.number(4, 1e-8)))));
    if (l.require(!l.flag(3), "Stirling's term (full=True)"))
      reduceLoss(l, loss, readReduction(l, 5));
  });
  t.add({"margin_ranking_loss"}, [](Lowering &l) {
    Type element = l.resultElement();
    Value difference = l.sub(l.get(0, element), l.get(1, element));
    Value loss =
        l.sub(l.number(difference, l.number(3, 0)), l.mul(l.get(2, element), difference));
    reduceLoss(l, hinge(l, loss), readReduction(l, 4));
  });
  t.add({"hinge_embedding_loss"}, [](Lowering &l) {
    Type element = l.resultElement();
    Value x = l.get(0, element), y = l.get(1, element);
    Value far = hinge(l, l.sub(l.number(x, l.number(2, 1)), x));
    Value zero = l.number(x, 0);
    // A target that is neither 1 nor -1 counts as both.
    Value positive = l.where(l.compare(ComparePredicate::NE, y, -1.0), x, zero);
    Value negative = l.where(l.compare(ComparePredicate::NE, y, 1.0), far, zero);
    reduceLoss(l, l.add(positive, negative), readReduction(l, 3));
  });
  t.add({"cosine_similarity"}, cosineSimilarity);
  t.add({"pairwise_distance"}, [](Lowering &l) {
    Type element = l.resultElement();
    Value distance = distanceLast(l, l.sub(l.get(0, element), l.get(1, element)),
                                  l.number(2, 2), l.number(3, 1e-6), l.flag(4));
    l.set(distance);
  });
  t.add({"triplet_margin_loss"}, [](Lowering &l) {
    Value a = l.get(0), p = l.get(1), n = l.get(2);
    double margin = l.number(3, 1), power = l.number(4, 2), eps = l.number(5, 1e-6);
    Value near = distanceLast(l, l.sub(a, p), power, eps, false);
    Value far = distanceLast(l, l.sub(a, n), power, eps, false);
    if (l.flag(6))
      far = l.binary<MinimumOp>(far, distanceLast(l, l.sub(p, n), power, eps, false));
    reduceLoss(l, hinge(l, l.add(l.sub(near, far), margin)), readReduction(l, 7));
  });
  t.add({"cosine_embedding_loss"}, [](Lowering &l) {
    Value a = l.get(0), b = l.get(1), y = l.get(2, getElement(a));
    double margin = l.number(3, 0);
    auto dot = [&](Value x, Value z) {
      return l.reduceLast(ReduceKind::Sum, l.mul(x, z));
    };
    auto norm = [&](Value x) { return l.add(dot(x, x), 1e-12); };
    if (!l.require(getRank(a) >= 1 && getRank(a) == getRank(b), "scalars"))
      return;
    Value cosine = l.mul(dot(a, b), l.unary<RsqrtOp>(l.mul(norm(a), norm(b))));
    Value zero = l.number(cosine, 0);
    Value same = l.sub(l.number(cosine, 1), cosine);
    Value apart = hinge(l, l.add(cosine, -margin));
    Value loss = l.add(l.where(l.compare(ComparePredicate::EQ, y, 1.0), same, zero),
                       l.where(l.compare(ComparePredicate::EQ, y, -1.0), apart, zero));
    reduceLoss(l, loss, readReduction(l, 4));
  });
  t.add({"multi_margin_loss"}, [](Lowering &l) {
    Value x = l.get(0), y = l.get(1);
    double power = l.number(2, 1);
    if (!l.require(getRank(x) == 2 && l.isNone(4), "a vector, or weights") ||
        !l.require(power == 1 || power == 2, "a power other than 1 and 2"))
      return;
    int64_t classes = getShape(x)[1];
    Value chosen = l.oneHot(y, classes);
    Value score =
        l.reduce(ReduceKind::Sum, l.where(chosen, x, l.number(x, 0)), {1}, true);
    Value loss = hinge(l, l.add(l.sub(x, score), l.number(3, 1)));
    loss = l.where(chosen, l.number(x, 0), power == 2 ? l.square(loss) : loss);
    reduceLoss(l, l.reduceLast(ReduceKind::Mean, loss), readReduction(l, 5));
  });
}
