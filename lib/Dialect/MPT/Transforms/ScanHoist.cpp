//===- ScanHoist.cpp - What need not run in a loop --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/ScanHoist.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t getBytes(Value value) {
  auto type = typeOf(value);
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Whether rematerialization has a say in where `op` runs.
static bool isMarked(Operation *op) {
  return op->hasAttr(kRematAttr) || op->hasAttr(kSaveAttr);
}

bool mpt::detail::isBatchable(Operation *op, llvm::function_ref<bool(Value)> varies) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      isMarked(op))
    return false;
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  if (!llvm::all_of(op->getOperandTypes(), isStatic) ||
      !isStatic(op->getResult(0).getType()))
    return false;
  const int64_t rank = typeOf(op->getResult(0)).getRank();
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return varies(matmul.getLhs()) && !varies(matmul.getRhs()) &&
           !matmul.getTransposeLhs() && typeOf(matmul.getRhs()).getRank() == 2;
  if (auto linear = dyn_cast<LinearOp>(op))
    return varies(linear.getX()) && !varies(linear.getWeight()) &&
           (!linear.getBias() || !varies(linear.getBias()));
  // Shapes are aligned at the last dimension.
  if (isa<ElementwiseOpInterface>(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !varies(operand) || typeOf(operand).getRank() == rank;
    });
  return isa<ReshapeOp, TransposeOp, SliceOp, ConcatOp>(op) &&
         llvm::all_of(op->getOperands(), varies);
}

bool mpt::detail::isSummable(ScanOp scan, Value value, llvm::SetVector<Value> &read) {
  Operation *op = value.getDefiningOp();
  Block *body = &scan.getBlock();
  if (!op || op->getBlock() != body || !value.hasOneUse() || isMarked(op))
    return false;
  auto isInside = [&](Value operand) {
    if (operand.getParentBlock() != body || operand.getDefiningOp<ConstantOp>())
      return false;
    read.insert(operand);
    return true;
  };
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return matmul.getTransposeLhs() && !matmul.getTransposeRhs() &&
           typeOf(matmul.getLhs()).getRank() == 2 && isInside(matmul.getLhs()) &&
           isInside(matmul.getRhs());
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReduceKind::Sum && !reduce.getKeepDims() &&
           isInside(reduce.getX());
  if (auto add = dyn_cast<AddOp>(op))
    return add.getLhs().getType() == add.getRhs().getType() &&
           isSummable(scan, add.getLhs(), read) && isSummable(scan, add.getRhs(), read);
  // A cast to 8 bits also saturates, which a sum of all iterations would not.
  auto isWide = [](Value operand) {
    auto type = dyn_cast<FloatType>(getElementTypeOrSelf(operand));
    return type && type.getWidth() >= 16;
  };
  if (auto round = dyn_cast<CastOp>(op))
    return isWide(round.getX()) && isWide(round.getY()) &&
           isSummable(scan, round.getX(), read);
  return isa<TransposeOp, ReshapeOp>(op) && isSummable(scan, op->getOperand(0), read);
}

namespace {

class Planner {
public:
  Planner(ScanOp scan)
      : scan(scan), body(scan.getBlock()), carried(scan.getNumCarried()) {}

  ScanHoist run(bool onlyAfter);

private:
  /// Whether `value` is the same in each iteration.
  bool isInvariant(Value value) {
    return value.getParentBlock() != &body || value.getDefiningOp<ConstantOp>();
  }
  bool isSlice(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body && argument.getArgNumber() >= carried;
  }
  ValueRange getStacked() { return scan.getYield().getValues().drop_front(carried); }
  /// The ops of `set` in the order of the body.
  llvm::SetVector<Operation *> sort(const DenseSet<Operation *> &set);
  /// Whether all ops of the body that read `value`, other than those in `without`, run
  /// before `last` is there, whatever the order.
  bool isReadBefore(Value value, Value last, const DenseSet<Operation *> &without);

  void findBefore();
  /// The value that the loop reads instead of `root`: what follows from it alone and is
  /// no larger.
  Value extend(Value root, SmallVectorImpl<Operation *> &ops);
  /// A stacked result that takes the place of the stack of `input`, which only the loop
  /// reads.
  std::optional<unsigned> findResultFor(Value input);

  void findAfter();
  struct Leaving {
    DenseSet<Operation *> ops;
    SmallVector<CarriedSum> sums;
    llvm::SetVector<Value> read;
  };
  std::optional<CarriedSum> findSum(unsigned number, llvm::SetVector<Value> &read);
  /// The ops that leave with `root`, whose values only they and stacked results read.
  bool follow(Operation *root, DenseSet<Operation *> &ops);
  /// What the loop must stack for `leaving`, if the memory for it is there.
  std::optional<llvm::SetVector<Value>> stack(const Leaving &leaving);

  ScanOp scan;
  Block &body;
  unsigned carried;
  ScanHoist hoist;
  DenseSet<Value> early;
  DenseSet<unsigned> takenResults;
};

} // namespace

llvm::SetVector<Operation *> Planner::sort(const DenseSet<Operation *> &set) {
  llvm::SetVector<Operation *> sorted;
  for (Operation &op : body)
    if (set.contains(&op))
      sorted.insert(&op);
  return sorted;
}

bool Planner::isReadBefore(Value value, Value last,
                           const DenseSet<Operation *> &without) {
  Operation *end = last.getDefiningOp();
  if (!end || end->getBlock() != &body)
    return false;
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &body; };
  if (failed(getBackwardSlice(end, &slice, options)))
    return false;
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    Operation *at = body.findAncestorOpInBlock(*user);
    // An elementwise op writes each point after it has read it.
    return without.contains(at) ||
           (at == end ? isa<ElementwiseOpInterface>(end) &&
                            typeOf(value).getShape() == typeOf(last).getShape()
                      : slice.contains(at));
  });
}

//===----------------------------------------------------------------------===//
// Before the loop
//===----------------------------------------------------------------------===//

Value Planner::extend(Value root, SmallVectorImpl<Operation *> &ops) {
  while (root.hasOneUse()) {
    Operation *user = *root.getUsers().begin();
    if (user->getBlock() != &body || user->getNumResults() != 1 ||
        !early.contains(user->getResult(0)) || isa<MatmulOp, LinearOp>(user) ||
        getBytes(user->getResult(0)) > getBytes(root))
      break;
    ops.push_back(user);
    root = user->getResult(0);
  }
  return root;
}

std::optional<unsigned> Planner::findResultFor(Value input) {
  for (auto [i, value] : llvm::enumerate(getStacked())) {
    Value result = scan.getResult(carried + i);
    if (takenResults.contains(i) || getBytes(value) != getBytes(input) ||
        result.use_empty() ||
        // What leaves the step lies elsewhere.
        llvm::any_of(
            result.getUsers(),
            [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }) ||
        !isReadBefore(input, value, {}))
      continue;
    return i;
  }
  return std::nullopt;
}

void Planner::findBefore() {
  auto varies = [&](Value value) { return !isInvariant(value); };
  for (BlockArgument argument : body.getArguments().drop_front(carried))
    early.insert(argument);
  for (Operation &op : body.without_terminator())
    if (!isa<ConstantOp>(op) && op.getNumOperands() > 0 &&
        llvm::all_of(op.getOperands(),
                     [&](Value v) { return isInvariant(v) || early.contains(v); }) &&
        llvm::any_of(op.getOperands(), [&](Value v) { return early.contains(v); }) &&
        isBatchable(&op, varies))
      early.insert(op.getResult(0));

  // The last first: what only it reads goes with it.
  DenseSet<Operation *> before;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!isa<MatmulOp, LinearOp>(op) || !early.contains(op.getResult(0)) ||
        before.contains(&op))
      continue;
    SmallVector<Operation *> ops = {&op};
    Value input = extend(op.getResult(0), ops);
    // From slices and values from above to it.
    llvm::SetVector<Operation *> cone;
    BackwardSliceOptions options;
    options.omitBlockArguments = true;
    options.filter = [&](Operation *other) {
      return other->getBlock() == &body && !isa<ConstantOp>(other);
    };
    bool fits = succeeded(getBackwardSlice(input, &cone, options));
    int64_t bytes = 0;
    for (Operation *other : cone)
      if (other != input.getDefiningOp())
        bytes += getBytes(other->getResult(0));
    // Whatever is stacked on the way.
    fits &= bytes <= getBytes(input) + getBytes(op.getResult(0));
    std::optional<unsigned> place = fits ? findResultFor(input) : std::nullopt;
    if (!place)
      continue;
    takenResults.insert(*place);
    hoist.inputs.insert(input);
    before.insert_range(cone);
    before.insert(input.getDefiningOp());
  }
  hoist.before = sort(before);
}

//===----------------------------------------------------------------------===//
// After the loop
//===----------------------------------------------------------------------===//

std::optional<CarriedSum> Planner::findSum(unsigned number,
                                           llvm::SetVector<Value> &read) {
  CarriedSum sum{number, {}};
  Value total = body.getArgument(number);
  Operation *yield = scan.getYield();
  while (total.hasOneUse()) {
    OpOperand &use = *total.getUses().begin();
    if (use.getOwner() == yield) {
      if (use.getOperandNumber() != number || sum.addends.empty())
        return std::nullopt;
      return sum;
    }
    auto add = dyn_cast<AddOp>(use.getOwner());
    if (!add || add->getBlock() != &body || add.getType() != total.getType() ||
        !isa<FloatType>(typeOf(total).getElementType()) || isMarked(add))
      return std::nullopt;
    Value addend = add->getOperand(1 - use.getOperandNumber());
    if (typeOf(addend).getShape() != typeOf(total).getShape() ||
        !isSummable(scan, addend, read))
      return std::nullopt;
    sum.addends.push_back(addend);
    total = add.getResult();
  }
  return std::nullopt;
}

bool Planner::follow(Operation *root, DenseSet<Operation *> &ops) {
  if (ops.contains(root))
    return true;
  if (hoist.before.contains(root) ||
      !isBatchable(root, [&](Value value) { return !isInvariant(value); }))
    return false;
  for (OpOperand &use : root->getUses()) {
    if (use.getOwner() == scan.getYield()) {
      if (use.getOperandNumber() < carried)
        return false;
    } else if (use.getOwner()->getBlock() != &body || !follow(use.getOwner(), ops)) {
      return false;
    }
  }
  ops.insert(root);
  return !root->use_empty();
}

std::optional<llvm::SetVector<Value>> Planner::stack(const Leaving &leaving) {
  // What the loop reads and stacks when they are gone.
  DenseSet<Operation *> gone = leaving.ops;
  auto leave = [&](auto &self, Value value, const llvm::SetVector<Value> &read) -> void {
    if (read.contains(value) || !value.getDefiningOp())
      return;
    gone.insert(value.getDefiningOp());
    for (Value operand : value.getDefiningOp()->getOperands())
      if (!isInvariant(operand))
        self(self, operand, read);
  };
  llvm::SetVector<Value> read = leaving.read;
  int64_t saved = 0;
  for (const CarriedSum &sum : leaving.sums) {
    saved += getBytes(body.getArgument(sum.carried));
    for (Value addend : sum.addends)
      leave(leave, addend, leaving.read);
    Value total = body.getArgument(sum.carried);
    while (*total.getUsers().begin() != scan.getYield()) {
      total = total.getUsers().begin()->getResult(0);
      gone.insert(total.getDefiningOp());
    }
  }
  for (Operation *op : leaving.ops)
    for (Value operand : op->getOperands())
      if (!isInvariant(operand) && !leaving.ops.contains(operand.getDefiningOp()))
        read.insert(operand);

  llvm::SetVector<Value> stacked;
  for (Value value : read) {
    // It would have to be kept until after the loop.
    if (Operation *op = value.getDefiningOp(); op && hoist.before.contains(op))
      return std::nullopt;
    if (!isSlice(value) && !llvm::is_contained(getStacked(), value))
      stacked.insert(value);
  }
  // Each takes the place of what is read for the last time, or counts.
  DenseSet<unsigned> taken;
  int64_t grown = 0;
  for (Value value : stacked) {
    bool found = false;
    for (auto [i, input] : llvm::enumerate(scan.getInputs())) {
      Value slice = body.getArgument(carried + i), owner = input;
      if (taken.contains(i) || read.contains(slice) || getBytes(slice) != getBytes(value))
        continue;
      while (auto reshape = owner.getDefiningOp<ReshapeOp>()) {
        if (!owner.hasOneUse())
          break;
        owner = reshape.getX();
      }
      if (!owner.hasOneUse() || !owner.getDefiningOp() ||
          owner.getDefiningOp<ConstantOp>() || !isReadBefore(slice, value, gone))
        continue;
      taken.insert(i);
      found = true;
      break;
    }
    if (!found)
      grown += getBytes(value) * static_cast<int64_t>(scan.getTripCount());
  }
  if (grown > saved)
    return std::nullopt;
  return stacked;
}

void Planner::findAfter() {
  // Matmuls first: what they read may be all that reductions need.
  SmallVector<Leaving> matmuls, reductions;
  for (unsigned number = 0; number < carried; ++number) {
    Leaving leaving;
    std::optional<CarriedSum> sum = findSum(number, leaving.read);
    if (!sum)
      continue;
    bool isMatmul = false;
    for (Value addend : sum->addends)
      while (Operation *op = addend.getDefiningOp()) {
        isMatmul |= isa<MatmulOp>(op);
        if (!isa<TransposeOp, ReshapeOp, CastOp, AddOp>(op))
          break;
        addend = op->getOperand(0);
      }
    leaving.sums.push_back(std::move(*sum));
    (isMatmul ? matmuls : reductions).push_back(std::move(leaving));
  }
  for (Operation &op : body.without_terminator())
    if (Leaving leaving; isa<MatmulOp, LinearOp>(op) && follow(&op, leaving.ops))
      matmuls.push_back(std::move(leaving));

  auto join = [](const Leaving &a, const Leaving &b) {
    Leaving both = a;
    both.ops.insert_range(b.ops);
    llvm::append_range(both.sums, b.sums);
    both.read.insert_range(b.read);
    return both;
  };
  Leaving all;
  for (const Leaving &leaving : matmuls)
    all = join(all, leaving);
  std::optional<llvm::SetVector<Value>> stacked = stack(all);
  if (!stacked) {
    all = Leaving();
    stacked = stack(all);
    for (const Leaving &leaving : matmuls)
      if (Leaving more = join(all, leaving); auto needed = stack(more)) {
        all = std::move(more);
        stacked = std::move(needed);
      }
  }
  if (all.ops.empty() && all.sums.empty())
    return;
  for (const Leaving &leaving : reductions)
    if (Leaving more = join(all, leaving); auto needed = stack(more))
      if (needed->size() == stacked->size()) {
        all = std::move(more);
        stacked = std::move(needed);
      }
  hoist.after = sort(all.ops);
  hoist.sums = std::move(all.sums);
  hoist.stacked = std::move(*stacked);
}

ScanHoist Planner::run(bool onlyAfter) {
  if (!onlyAfter)
    findBefore();
  findAfter();
  return std::move(hoist);
}

ScanHoist mpt::detail::planScanHoist(ScanOp scan, bool onlyAfter) {
  bool isStatic = llvm::all_of(scan->getOperandTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  });
  if (!isStatic || scan.getConditional() || scan.getCheckpointEvery() || isMarked(scan))
    return {};
  return Planner(scan).run(onlyAfter);
}
