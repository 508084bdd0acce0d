//===- DeferGradients.cpp - Gradients are computed when they are read -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-defer-gradients`. A loss scale must know that all gradients are finite before
/// the first update. A gradient that is a product of f16 tensors is finite exactly if
/// these are: finite numbers of f16 are at most 65,504, so sums of fewer than 2^22
/// products of two of them stay far below the largest f32, and an infinity or NaN makes
/// each sum that it enters infinite or NaN. So the factors are checked in its place,
/// and the product is computed where the optimizer reads it. The same holds for the table
/// of an embedding to whose rows numbers are added, if the sum of their squares is
/// finite, and for the sum of a product and such tables.
///
/// A gradient that is another one times what is made of the step's inputs, as that of a
/// noisy layer's second weight, is checked where it is made, not kept, and made again for
/// its update of the other one. That is kept for its own, or also made again if its
/// factors take fewer bytes. What is made of the inputs is made again for each.
///
/// A factor that is a rounded input, which library calls round as they read it, is
/// rounded again for its check, so that it takes no memory.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/Transforms/FusionPlan.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"
#include "mpt/Memory/Passes.h"
#include "mpt/Memory/Planning/DeferPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

namespace mpt {
#define GEN_PASS_DEF_DEFERGRADIENTSPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// As many bytes as an op takes time to start (docs/Rematerialization.md).
constexpr int64_t kOverhead = 16 * 1024;

/// A product of two f16 tensors, or numbers that are added to the rows of a table.
struct Term {
  /// Two tensors, or the numbers that are added.
  SmallVector<Value, 2> factors;
  /// Of a filter or table: the square of its norm is at most this many times the product
  /// of those of its factors. So (x1^T dy1 + ... + xn^T dyn)^2 is at most n |x|^2 |dy|^2.
  int64_t taps = 1;
  /// How many products an element is the sum of; 0: of a table's numbers.
  int64_t products = 0;
  /// Of a table: the rows.
  Value indices;
};

/// A gradient that is a sum of such terms: of a table that is also an output head, for
/// instance.
struct Product {
  /// Its place among the operands of mpt.unscale.
  unsigned number = 0;
  /// What makes it of the factors, in order.
  SmallVector<Operation *> ops;
  SmallVector<Term, 1> terms;

  /// (a1 + ... + an)^2 is at most n^2 times the largest square.
  int64_t getTaps(const Term &term) const {
    return term.taps * int64_t(terms.size() * terms.size());
  }
};

/// A gradient that is made again for its update.
struct Scaled {
  /// Its place among the operands of mpt.unscale.
  unsigned number = 0;
  /// The other gradient.
  Value base;
  /// What makes it of the other gradient, in order.
  SmallVector<Operation *> ops;

  /// What the other gradient is multiplied by.
  OpOperand &getFactor() const {
    Operation *mul = ops.back();
    return mul->getOpOperand(mul->getOperand(0) == base ? 1 : 0);
  }
};

/// A step whose update waits for the check of its gradients, and reads them for nothing
/// else before that.
struct CheckedStep {
  GradientsOp marker;
  UnscaleOp unscale;
  ClipByGlobalNormOp norm;
  /// The check that reads the norm.
  AllFiniteOp check;
};

std::optional<CheckedStep> findCheckedStep(Block &block) {
  auto markers = llvm::to_vector(block.getOps<GradientsOp>());
  auto unscales = llvm::to_vector(block.getOps<UnscaleOp>());
  if (markers.size() != 1 || unscales.size() != 1)
    return std::nullopt;
  CheckedStep step = {markers.front(), unscales.front(), nullptr, nullptr};
  // Nothing but mpt.unscale may read what is marked.
  for (Operation *user : step.marker->getUsers())
    if (user != step.unscale)
      return std::nullopt;
  for (Operation *user : step.unscale->getUsers())
    if (auto norm = dyn_cast<ClipByGlobalNormOp>(user)) {
      if (step.norm && step.norm != norm)
        return std::nullopt;
      step.norm = norm;
    }
  if (!step.norm || std::isfinite(step.norm.getMaxNorm().convertToDouble()) ||
      !getElementTypeOrSelf(step.norm.getNorm()).isF32() ||
      step.norm.getGradients() != step.unscale.getUnscaled())
    return std::nullopt;
  for (Value clipped : step.norm.getClipped())
    if (!clipped.use_empty())
      return std::nullopt;
  // The step may return it, too.
  for (Operation *user : step.norm.getNorm().getUsers()) {
    auto check = dyn_cast<AllFiniteOp>(user);
    if (check && !step.check && check->getBlock() == &block)
      step.check = check;
    else if (user != block.getTerminator())
      return std::nullopt;
  }
  if (!step.check)
    return std::nullopt;
  // The flag of what is left to check says nothing without the check of the norm.
  for (Operation *user : step.unscale.getAllFinite().getUsers())
    if (!isa<AndOp>(user) ||
        !llvm::is_contained(user->getOperands(), step.check.getResult()))
      return std::nullopt;
  return step;
}

/// Whether each of `size` points is read by one of `outputs` sums of `taps` terms, and
/// each sum reads one.
std::pair<bool, bool> findCoverage(int64_t size, int64_t outputs, int64_t taps,
                                   int64_t stride, int64_t dilation, int64_t before) {
  llvm::BitVector read(size);
  bool eachReads = true;
  for (int64_t output = 0; output < outputs; ++output) {
    bool reads = false;
    for (int64_t tap = 0; tap < taps; ++tap)
      if (const int64_t at = output * stride + tap * dilation - before;
          at >= 0 && at < size) {
        read.set(at);
        reads = true;
      }
    eachReads &= reads;
  }
  return {read.all(), eachReads};
}

bool isF16(Value value) { return getElementTypeOrSelf(value).isF16(); }

bool isStatic(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape();
}

int64_t getNumElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

int64_t getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * int64_t(type.getElementTypeBitWidth() / 8);
}

/// The cast of an argument that `value` is, or is reshaped from, if library calls round
/// it as they read it; null for others.
CastOp findRoundedArgument(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  auto cast = value.getDefiningOp<CastOp>();
  return cast && (isRoundedOnRead(cast) || isRoundedIfRenamed(cast)) ? cast : CastOp();
}

/// Bytes that `factor` takes if it is kept. Arguments are there throughout.
int64_t getKeptBytes(Value factor) {
  return isa<BlockArgument>(factor) || findRoundedArgument(factor) ? 0 : getBytes(factor);
}

/// The first number that tells a clone in `function` from equal ops.
int64_t getNextClone(Operation *function) {
  int64_t next = 0;
  function->walk([&](Operation *op) {
    if (auto number = op->getAttrOfType<IntegerAttr>(kRematAttr))
      next = std::max(next, number.getInt() + 1);
  });
  return next;
}

/// Adds the terms of `value`, and what makes it of their factors, to `product`. `covered`
/// gets the factors all of whose elements are in `value`. False if it cannot wait.
bool addTerms(Value value, Product &product, llvm::SmallDenseSet<Value> &covered);

/// The same of numbers that are added to a table.
bool addTable(ScatterAddOp scatter, Product &product,
              llvm::SmallDenseSet<Value> &covered) {
  Value updates = scatter.getUpdates();
  if (!isStatic(updates) || !isStatic(scatter.getIndices()) ||
      getNumElements(updates) == 0 || !getElementTypeOrSelf(scatter.getTable()).isF32())
    return false;
  if (scatter.getInit() && !addTerms(scatter.getInit(), product, covered))
    return false;
  Term term;
  // Each number is added to one row, so all are in the table. If the sum of their squares
  // is finite, so are the rows' sums.
  term.factors = {updates};
  term.indices = scatter.getIndices();
  term.taps = getNumElements(scatter.getIndices());
  // Blocks that are added to fewer, such as the weights of experts: of their factors.
  auto blocks = updates.getDefiningOp<MatmulOp>();
  if (blocks && blocks->hasOneUse() && isF16(blocks.getLhs()) && isF16(blocks.getRhs()) &&
      getNumElements(updates) > getNumElements(scatter.getTable())) {
    if (!addTerms(updates, product, covered))
      return false;
    product.terms.back().indices = term.indices;
    product.terms.back().taps = term.taps;
    product.terms.back().products *= term.taps;
  } else {
    covered.insert(updates);
    product.terms.push_back(std::move(term));
  }
  product.ops.push_back(scatter);
  return true;
}

bool addTerms(Value value, Product &product, llvm::SmallDenseSet<Value> &covered) {
  constexpr size_t mostOps = 32;
  Operation *op = value.getDefiningOp();
  // A gradient without elements shows nothing of its factors.
  if (!op || !isStatic(value) || getNumElements(value) == 0 ||
      !getElementTypeOrSelf(value).isF32() || product.ops.size() > mostOps)
    return false;
  if (isa<ReshapeOp, TransposeOp>(op)) {
    const bool waits = addTerms(op->getOperand(0), product, covered);
    product.ops.push_back(op);
    return waits;
  }
  if (auto add = dyn_cast<AddOp>(op)) {
    if (add.getLhs().getType() != add.getType() ||
        add.getRhs().getType() != add.getType())
      return false;
    // Both sides tell what they cover.
    const bool left = addTerms(add.getLhs(), product, covered),
               right = addTerms(add.getRhs(), product, covered);
    product.ops.push_back(op);
    return left && right;
  }
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return addTable(scatter, product, covered);
  if (!isa<MatmulOp, Conv2DFilterGradOp>(op))
    return false;
  Term term;
  term.factors = op->getOperands().take_front(2);
  if (!llvm::all_of(term.factors, isStatic))
    return false;
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    auto lhs = cast<RankedTensorType>(matmul.getLhs().getType());
    term.products = lhs.getDimSize(lhs.getRank() - (matmul.getTransposeLhs() ? 2 : 1));
    covered.insert_range(term.factors);
  } else {
    auto conv = cast<Conv2DFilterGradOp>(op);
    auto x = cast<RankedTensorType>(conv.getX().getType());
    auto dy = cast<RankedTensorType>(conv.getDy().getType());
    auto filter = cast<RankedTensorType>(conv.getType());
    bool readsX = true, readsDy = true;
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t taps = filter.getDimSize(axis + (conv.getOihw() ? 2 : 0));
      auto [all, each] = findCoverage(
          x.getDimSize(1 + axis), dy.getDimSize(1 + axis), taps, conv.getStrides()[axis],
          conv.getDilations()[axis], conv.getPadding()[2 * axis]);
      readsX &= all;
      readsDy &= each;
      term.taps *= taps;
    }
    term.products = dy.getDimSize(0) * dy.getDimSize(1) * dy.getDimSize(2);
    if (readsX)
      covered.insert(conv.getX());
    if (readsDy)
      covered.insert(conv.getDy());
  }
  const bool waits = llvm::all_of(term.factors, isF16);
  product.ops.push_back(op);
  product.terms.push_back(std::move(term));
  return waits;
}

/// Of one gradient; `covered` gets the factors all of whose elements are in it.
std::optional<Product> findProduct(unsigned number, Value gradient,
                                   llvm::SmallDenseSet<Value> &covered) {
  Product product;
  product.number = number;
  const bool waits = addTerms(gradient, product, covered);
  if (!waits || !llvm::all_of(product.ops, [](Operation *op) { return op->hasOneUse(); }))
    return std::nullopt;
  // Sums of few products do not overflow. A second product would be made beside the
  // first, while what is added to a table is added in place.
  unsigned products = 0;
  for (const Term &term : product.terms) {
    if (term.products >= int64_t(1) << 22)
      return std::nullopt;
    products += term.products != 0;
  }
  if (products > 1)
    return std::nullopt;
  return product;
}

/// Whether all that reads gradient `number`, but for its norm, runs after the check.
bool waits(CheckedStep step, unsigned number) {
  return llvm::all_of(
      step.unscale.getUnscaled()[number].getUsers(), [&](Operation *user) {
        return user == step.norm || (user->getBlock() == step.check->getBlock() &&
                                     step.check->isBeforeInBlock(user));
      });
}

/// The products that can wait: all elements of their factors are in gradients, so that
/// an infinite one skips the step in either case.
SmallVector<Product> findProducts(CheckedStep step) {
  llvm::SmallDenseSet<Value> covered;
  SmallVector<Product> products;
  for (auto [number, gradient] : llvm::enumerate(step.unscale.getGradients())) {
    if (gradient.getDefiningOp() != step.marker)
      continue;
    Value marked = step.marker.getInputs()[cast<OpResult>(gradient).getResultNumber()];
    std::optional<Product> product = findProduct(number, marked, covered);
    if (product && waits(step, number) && gradient.hasOneUse())
      products.push_back(std::move(*product));
  }
  llvm::erase_if(products, [&](const Product &product) {
    return !llvm::all_of(product.terms, [&](const Term &term) {
      return llvm::all_of(term.factors,
                          [&](Value factor) { return covered.contains(factor); });
    });
  });
  return products;
}

/// Adds the ops that make `value` of inputs, which are there throughout and stay what
/// they are, to `ops`, operands first. False if it is made of something else, or by many
/// ops.
bool addOpsFromInputs(Value value, llvm::SetVector<Operation *> &ops) {
  constexpr size_t mostOps = 16;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function &&
           StepView::getRole(function, argument.getArgNumber()) == Role::Input;
  }
  Operation *op = value.getDefiningOp();
  if (!isa<BroadcastOp, CastOp, ConstantOp, MulOp, NegOp, ReshapeOp, SliceOp,
           TransposeOp>(op))
    return false;
  if (ops.contains(op))
    return true;
  for (Value operand : op->getOperands())
    if (!addOpsFromInputs(operand, ops))
      return false;
  ops.insert(op);
  return ops.size() <= mostOps;
}

/// The gradients that are another one, of a matmul or convolution, times what is made of
/// inputs.
SmallVector<Scaled> findScaled(CheckedStep step) {
  SmallVector<Scaled> found;
  const ValueRange marked = step.marker.getInputs();
  for (auto [number, gradient] : llvm::enumerate(step.unscale.getGradients())) {
    if (gradient.getDefiningOp() != step.marker || !gradient.hasOneUse() ||
        !waits(step, number))
      continue;
    auto mul = marked[cast<OpResult>(gradient).getResultNumber()].getDefiningOp<MulOp>();
    auto type = mul ? dyn_cast<RankedTensorType>(mul.getType()) : nullptr;
    if (!type || !type.hasStaticShape() || !mul->hasOneUse() ||
        getBytes(mul) <= kOverhead)
      continue;
    for (unsigned side : {0, 1}) {
      Value base = mul->getOperand(side);
      llvm::SetVector<Operation *> ops;
      if (!isa_and_nonnull<MatmulOp, Conv2DFilterGradOp>(base.getDefiningOp()) ||
          base.getType() != mul.getType() || !llvm::is_contained(marked, base) ||
          !addOpsFromInputs(mul->getOperand(1 - side), ops))
        continue;
      Scaled &scaled = found.emplace_back();
      scaled.number = number;
      scaled.base = base;
      scaled.ops = ops.takeVector();
      scaled.ops.push_back(mul);
      break;
    }
  }
  return found;
}

/// The first reader of an unscaled gradient, or `end`.
Operation *findReader(UnscaleOp unscale, unsigned number, Operation *norm,
                      Operation *end) {
  Operation *reader = end;
  for (Operation *user : unscale.getUnscaled()[number].getUsers())
    if (user != norm && user->isBeforeInBlock(reader))
      reader = user;
  return reader;
}

/// The number of the gradient `base`, of which others are made, if it can be made again
/// and its factors take fewer bytes than it.
std::optional<unsigned> findCheaperBase(CheckedStep step, Value base,
                                        ArrayRef<Scaled> scaled) {
  Operation *op = base.getDefiningOp();
  int64_t bytes = kOverhead;
  for (Value factor : op->getOperands()) {
    if (!isStatic(factor))
      return std::nullopt;
    bytes += getKeptBytes(factor);
  }
  if (bytes >= getBytes(base))
    return std::nullopt;
  for (Operation *user : base.getUsers())
    if (user != step.marker && llvm::none_of(scaled, [&](const Scaled &each) {
          return each.ops.back() == user && each.base == base;
        }))
      return std::nullopt;
  std::optional<unsigned> found;
  for (auto [number, gradient] : llvm::enumerate(step.unscale.getGradients())) {
    if (gradient.getDefiningOp() != step.marker ||
        step.marker.getInputs()[cast<OpResult>(gradient).getResultNumber()] != base)
      continue;
    if (found || !gradient.hasOneUse() || !waits(step, number))
      return std::nullopt;
    found = number;
  }
  return found;
}

/// Makes gradients again before they are read for updates.
void makeAgain(CheckedStep step, ArrayRef<Scaled> scaled) {
  OpBuilder builder(step.unscale);
  Operation *end = step.check->getBlock()->getTerminator();
  int64_t clones = getNextClone(step.check->getParentOp());
  auto clone = [&](ArrayRef<Operation *> ops, IRMapping &mapping) {
    Operation *last = nullptr;
    for (Operation *op : ops) {
      last = builder.clone(*op, mapping);
      last->setAttr(kRematAttr, builder.getI64IntegerAttr(clones++));
    }
    return last->getResult(0);
  };
  auto unscaleAgain = [&](unsigned number, Value again) {
    Value unscaled = step.unscale.getUnscaled()[number];
    auto made =
        UnscaleOp::create(builder, step.unscale.getLoc(),
                          {unscaled.getType(), step.unscale.getAllFinite().getType()},
                          again, step.unscale.getScale());
    unscaled.replaceUsesWithIf(made.getUnscaled().front(), [&](OpOperand &use) {
      return use.getOwner() != step.norm;
    });
  };
  auto findUpdate = [&](unsigned number) {
    return findReader(step.unscale, number, step.norm, end);
  };
  IRMapping bases;
  for (const Scaled &each : scaled) {
    std::optional<unsigned> number = bases.contains(each.base)
                                         ? std::nullopt
                                         : findCheaperBase(step, each.base, scaled);
    if (!number)
      continue;
    // One for all that are made of it.
    Operation *first = findUpdate(*number);
    for (const Scaled &other : scaled)
      if (Operation *reader = findUpdate(other.number);
          other.base == each.base && reader->isBeforeInBlock(first))
        first = reader;
    builder.setInsertionPoint(first);
    unscaleAgain(*number, clone(each.base.getDefiningOp(), bases));
  }
  for (const Scaled &each : scaled) {
    builder.setInsertionPoint(findUpdate(each.number));
    IRMapping mapping = bases;
    unscaleAgain(each.number, clone(each.ops, mapping));
  }
  // What else reads the factor, as the forward pass does, need not keep it for the check.
  for (const Scaled &each : scaled) {
    OpOperand &factor = each.getFactor();
    if (isa<BlockArgument>(factor.get()) || factor.get().hasOneUse())
      continue;
    builder.setInsertionPoint(each.ops.back());
    IRMapping mapping;
    factor.set(clone(ArrayRef(each.ops).drop_back(), mapping));
  }
}

SmallVector<Product> chooseDeferred(CheckedStep step) {
  SmallVector<Product> products = findProducts(step);
  llvm::MapVector<Value, unsigned> factors;
  SmallVector<int64_t> factorBytes;
  SmallVector<DeferCandidate> candidates;
  for (const Product &product : products) {
    DeferCandidate &candidate = candidates.emplace_back();
    candidate.bytes = getBytes(product.ops.back()->getResult(0));
    SmallVector<Value> kept;
    for (const Term &term : product.terms) {
      llvm::append_range(kept, term.factors);
      if (term.indices)
        kept.push_back(term.indices);
    }
    for (Value factor : kept) {
      auto [it, isNew] = factors.insert({factor, factors.size()});
      if (isNew)
        factorBytes.push_back(getKeptBytes(factor));
      candidate.factors.push_back(it->second);
    }
  }
  SmallVector<Product> deferred;
  for (unsigned number : planDeferred(candidates, factorBytes, kOverhead))
    deferred.push_back(std::move(products[number]));
  return deferred;
}

/// The sum of the squares of `values`, each found where that is made.
Value addSquares(DecomposeBuilder &b, ArrayRef<Value> values) {
  Value total;
  for (Value value : values) {
    Value sum;
    {
      OpBuilder::InsertionGuard guard(b.builder);
      if (CastOp cast = findRoundedArgument(value)) {
        b.builder.setInsertionPointAfter(cast);
        Operation *again = b.builder.clone(*cast);
        again->setAttr(kRematAttr,
                       b.builder.getI64IntegerAttr(getNextClone(cast->getParentOp())));
        value = again->getResult(0);
      }
      b.builder.setInsertionPointAfterValue(value);
      Value rows = b.widen(b.asRows(value));
      sum = b.reduceAll(ReduceKind::Sum, b.reduceRow(ReduceKind::Sum, b.mul(rows, rows)));
    }
    total = total ? b.add(total, sum) : sum;
  }
  return total;
}

/// The sum of the squares of a gradient, as mpt.clip_by_global_norm finds it.
Value addSquaresOfBlocks(DecomposeBuilder &b, Value gradient) {
  const int64_t count = DecomposeBuilder::typeOf(gradient).getNumElements();
  return addBlocks(b, sumSquaresOfBlocks(b, gradient, getGradientRow(count)));
}

void defer(CheckedStep step, ArrayRef<Product> deferred) {
  UnscaleOp unscale = step.unscale;
  OpBuilder builder(unscale);
  const Location loc = unscale.getLoc();
  DecomposeBuilder b(builder, loc, builder.getF32Type());
  llvm::SetVector<Value> lefts, rights;
  llvm::MapVector<Value, int64_t> rows;
  int64_t taps = 1;
  const unsigned count = unscale.getUnscaled().size();
  SmallVector<const Product *> products(count, nullptr);
  for (const Product &product : deferred) {
    products[product.number] = &product;
    for (const Term &term : product.terms) {
      const int64_t most = product.getTaps(term);
      if (term.factors.size() == 1) {
        int64_t &added = rows[term.factors[0]];
        added = std::max(added, most);
        continue;
      }
      lefts.insert(term.factors[0]);
      rights.insert(term.factors[1]);
      taps = std::max(taps, most);
    }
  }

  // The other gradients are unscaled and checked where all were.
  SmallVector<Value> others;
  SmallVector<Type> types;
  for (unsigned i = 0; i < count; ++i)
    if (!products[i]) {
      others.push_back(unscale.getGradients()[i]);
      types.push_back(unscale.getUnscaled()[i].getType());
    }
  const Type flag = unscale.getAllFinite().getType();
  types.push_back(flag);
  auto checked = UnscaleOp::create(builder, loc, types, others, unscale.getScale());
  unscale.getAllFinite().replaceAllUsesWith(checked.getAllFinite());
  SmallVector<Value> gradients(count), sums(count);
  for (unsigned i = 0, other = 0; i < count; ++i)
    if (!products[i])
      gradients[i] = checked.getUnscaled()[other++];

  // |x^T dy| <= |x| |dy| (Cauchy and Schwarz), for each tap of a filter. The factors are
  // for rounding, of sums of up to 2^22 products and of the sum of the squares.
  builder.setInsertionPoint(step.check);
  Value inverse = b.div(b.scalar(1.0), unscale.getScale());
  Value bound;
  if (!lefts.empty()) {
    Value left = b.mul(addSquares(b, lefts.getArrayRef()), inverse);
    Value right = b.mul(addSquares(b, rights.getArrayRef()), inverse);
    bound = b.mul(b.mul(left, right), 4.0 * taps);
  }
  // (a1 + ... + an)^2 <= n (a1^2 + ... + an^2).
  for (auto &[value, most] : rows) {
    Value sum = b.mul(b.mul(addSquares(b, value), inverse), inverse);
    sum = b.mul(sum, 4.0 * most);
    bound = bound ? b.add(bound, sum) : sum;
  }
  Value ofOthers;
  for (unsigned i = 0; i < count; ++i)
    if (!products[i]) {
      sums[i] = addSquaresOfBlocks(b, gradients[i]);
      ofOthers = ofOthers ? b.add(ofOthers, sums[i]) : sums[i];
    }
  if (ofOthers)
    bound = b.add(bound, b.mul(ofOthers, 1.0001));
  step.norm.getNorm().replaceUsesWithIf(
      bound, [&](OpOperand &use) { return use.getOwner() == step.check; });

  // Products are made for their first reader, and their squares added there. The largest
  // come last, since their factors take less than they do: those of others are gone then.
  Operation *end = step.check->getBlock()->getTerminator();
  SmallVector<unsigned> bySize;
  for (unsigned i = 0; i < count; ++i)
    if (products[i])
      bySize.push_back(i);
  llvm::stable_sort(bySize, [&](unsigned left, unsigned right) {
    auto elements = [&](unsigned i) {
      return DecomposeBuilder::typeOf(unscale.getUnscaled()[i]).getNumElements();
    };
    return elements(left) < elements(right);
  });
  for (unsigned i : bySize) {
    Operation *reader = findReader(unscale, i, step.norm, end);
    // An update, if nothing but the return needs it.
    if (reader != end &&
        llvm::all_of(reader->getUsers(), [&](Operation *user) { return user == end; }))
      reader->moveBefore(end);
    for (Operation *op : products[i]->ops)
      op->moveBefore(reader);
    builder.setInsertionPoint(reader);
    auto made =
        UnscaleOp::create(builder, loc, {unscale.getUnscaled()[i].getType(), flag},
                          products[i]->ops.back()->getResult(0), unscale.getScale());
    gradients[i] = made.getUnscaled().front();
    sums[i] = addSquaresOfBlocks(b, gradients[i]);
  }
  for (auto [old, gradient] : llvm::zip_equal(unscale.getUnscaled(), gradients))
    old.replaceUsesWithIf(gradient,
                          [&](OpOperand &use) { return use.getOwner() != step.norm; });
  // In the order of mpt.clip_by_global_norm.
  builder.setInsertionPoint(end);
  Value total = sums.front();
  for (Value sum : llvm::drop_begin(sums))
    total = b.add(total, sum);
  step.norm.getNorm().replaceAllUsesWith(b.sqrt(total));
  step.norm.erase();
  unscale.erase();
  for (auto [marked, input] :
       llvm::zip_equal(step.marker.getOutputs(), step.marker.getInputs()))
    marked.replaceAllUsesWith(input);
  step.marker.erase();
}

struct DeferGradientsPass : mpt::impl::DeferGradientsPassBase<DeferGradientsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isDeclaration() || !function.getBody().hasOneBlock())
        continue;
      std::optional<CheckedStep> step = findCheckedStep(function.getBody().front());
      if (!step)
        continue;
      SmallVector<Product> deferred = chooseDeferred(*step);
      makeAgain(*step, findScaled(*step));
      if (!deferred.empty())
        defer(*step, deferred);
    }
  }
};

} // namespace
