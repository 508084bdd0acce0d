//===- RematLoops.cpp - What loops keep for the backward pass ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematLoops.h"

#include "ForeignOps.h"
#include "mpt/Dialect/MPT/Transforms/RematMarks.h"
#include "mpt/Memory/RematFunction.h"
#include "mpt/Precision/OpFlops.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// The integer of a constant without dimensions.
std::optional<int64_t> getInteger(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isForeignOp(op, "constant"))
    return std::nullopt;
  auto elements = op->getAttrOfType<DenseIntElementsAttr>("value");
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  return (*elements.value_begin<APInt>()).getSExtValue();
}

bool hasWord(Operation *op, StringRef attribute, StringRef word) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(op->getAttr(attribute));
  return opaque && opaque.getAttrData().split(' ').second == word;
}

/// stablehlo.while.
class Loop {
public:
  explicit Loop(Operation *op) : op(op) {}

  static bool isLoop(Operation *op) {
    return isForeignOp(op, "while") && op->getNumRegions() == 2 &&
           op->getRegion(0).hasOneBlock() && op->getRegion(1).hasOneBlock() &&
           op->getNumOperands() == op->getNumResults() &&
           op->getRegion(1).getNumArguments() == op->getNumOperands() &&
           op->getRegion(0).getNumArguments() == op->getNumOperands() &&
           op->getRegion(1).front().back().getNumOperands() == op->getNumOperands();
  }

  Block &condition() const { return op->getRegion(0).front(); }
  Block &body() const { return op->getRegion(1).front(); }
  Value getArgument(unsigned i) const { return body().getArgument(i); }
  Value getYielded(unsigned i) const { return body().back().getOperand(i); }
  unsigned size() const { return op->getNumOperands(); }
  bool isInvariant(unsigned i) const { return getYielded(i) == getArgument(i); }

  /// Runs `trips` times, with argument `counter` counting up from 0.
  bool countTrips() {
    Operation *compare = condition().back().getOperand(0).getDefiningOp();
    if (!isForeignOp(compare, "compare") ||
        !hasWord(compare, "comparison_direction", "LT"))
      return false;
    auto counted = dyn_cast<BlockArgument>(compare->getOperand(0));
    std::optional<int64_t> limit = getInteger(compare->getOperand(1));
    if (!counted || counted.getOwner() != &condition() || !limit || *limit < 1)
      return false;
    counter = counted.getArgNumber();
    Operation *step = getYielded(counter).getDefiningOp();
    if (!isForeignOp(step, "add") || step->getOperand(0) != getArgument(counter) ||
        getInteger(step->getOperand(1)) != 1 || getInteger(op->getOperand(counter)) != 0)
      return false;
    trips = *limit;
    return true;
  }

  /// Puts the loop in place of itself with `inits` added, which stay what they are, and
  /// without what `dropped` names; results of these have no uses.
  void rebuild(ArrayRef<Value> inits, const llvm::BitVector &dropped);

  Operation *op;
  unsigned counter = 0;
  int64_t trips = 0;
};

void Loop::rebuild(ArrayRef<Value> inits, const llvm::BitVector &dropped) {
  const unsigned before = size();
  OperationState state(op->getLoc(), op->getName());
  SmallVector<unsigned> kept;
  for (unsigned i = 0; i < before; ++i)
    if (i >= dropped.size() || !dropped.test(i)) {
      kept.push_back(i);
      state.operands.push_back(op->getOperand(i));
    }
  state.addOperands(inits);
  for (Value init : state.operands)
    state.addTypes(init.getType());
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  for (Region &region : op->getRegions()) {
    Block &block = region.front();
    for (Value init : inits)
      block.addArgument(init.getType(), op->getLoc());
    if (region.getRegionNumber() == 1)
      for (unsigned i = 0; i < inits.size(); ++i)
        block.back().insertOperands(block.back().getNumOperands(),
                                    block.getArgument(before + i));
    for (unsigned i = before; i-- > 0;)
      if (i < dropped.size() && dropped.test(i)) {
        if (region.getRegionNumber() == 1)
          block.back().eraseOperand(i);
        block.eraseArgument(i);
      }
    state.addRegion()->takeBody(region);
  }
  Operation *made = OpBuilder(op).create(state);
  for (auto [i, from] : llvm::enumerate(kept))
    op->getResult(from).replaceAllUsesWith(made->getResult(i));
  op->erase();
  op = made;
}

/// A tensor of which each iteration of a loop writes its slice.
struct Stack {
  /// Its number in the first and in the second loop.
  unsigned written = 0, read = 0;
  /// What an iteration writes, and how the second loop reads it.
  Operation *update = nullptr;
  SmallVector<Operation *> slices;

  Value getSlice() const { return update->getOperand(1); }
};

class LoopPair {
public:
  LoopPair(Loop first, LoopRemat level, RuleTable &rules)
      : first(first), second(nullptr), level(level), rules(rules) {}

  unsigned run();
  Operation *getLast() const { return first.op; }

private:
  bool findStacks();
  bool matchRead(Stack &stack);
  /// Whether `value` of an iteration follows from what is kept, and may be computed
  /// again; adds the carried values that this begins with.
  bool canRepeat(Value value, llvm::SetVector<unsigned> &carried) const;
  bool isDear(Operation *op) const {
    return Loop::isLoop(op) || countFlops(op, rules, /*isContraction=*/false).has_value();
  }
  /// The stack whose slices are what iterations begin with as argument `i`, or null.
  const Stack *findCarriedStack(unsigned i) const;
  void choose();
  void rewrite();
  Value repeat(Value value, IRMapping &mapping, OpBuilder &builder);

  Loop first, second;
  LoopRemat level;
  RuleTable &rules;
  /// Where the second loop's iterations are in the first's.
  Value position;
  SmallVector<Stack> stacks;
  /// Of `stacks`: those that go.
  llvm::BitVector dropped;
  /// What iterations begin with and is not stacked yet.
  llvm::SetVector<unsigned> missing;
};

/// `update` and its likes write, or read, one slice of dimension 0 at `index`.
bool isSlice(Operation *op, unsigned firstIndex, Type slice, Type whole, Value &index) {
  auto part = dyn_cast<RankedTensorType>(slice), all = dyn_cast<RankedTensorType>(whole);
  if (!part || !all || !all.hasStaticShape() || all.getRank() < 1 ||
      part.getRank() != all.getRank() || part.getDimSize(0) != 1 ||
      part.getShape().drop_front() != all.getShape().drop_front() ||
      op->getNumOperands() != firstIndex + all.getRank())
    return false;
  for (unsigned i = firstIndex + 1; i < op->getNumOperands(); ++i)
    if (getInteger(op->getOperand(i)) != 0)
      return false;
  index = op->getOperand(firstIndex);
  return true;
}

bool LoopPair::matchRead(Stack &stack) {
  Value result = first.op->getResult(stack.written);
  if (!result.hasOneUse())
    return false;
  OpOperand &use = *result.use_begin();
  Operation *reader = use.getOwner();
  if (!Loop::isLoop(reader) || reader->getBlock() != first.op->getBlock() ||
      (second.op && second.op != reader))
    return false;
  Loop loop(reader);
  stack.read = use.getOperandNumber();
  if (!loop.isInvariant(stack.read) || !reader->getResult(stack.read).use_empty() ||
      !loop.condition().getArgument(stack.read).use_empty())
    return false;
  Value argument = loop.getArgument(stack.read), index = position;
  for (OpOperand &each : argument.getUses()) {
    Operation *slice = each.getOwner();
    if (slice == &loop.body().back())
      continue;
    Value at;
    if (!isForeignOp(slice, "dynamic_slice") || slice->getBlock() != &loop.body() ||
        each.getOperandNumber() != 0 ||
        !isSlice(slice, 1, slice->getResult(0).getType(), argument.getType(), at) ||
        (index && index != at))
      return false;
    index = at;
    stack.slices.push_back(slice);
  }
  if (stack.slices.empty())
    return false;
  position = index;
  second = loop;
  return true;
}

bool LoopPair::findStacks() {
  if (!first.countTrips())
    return false;
  for (unsigned i = 0; i < first.size(); ++i) {
    Stack stack;
    stack.written = i;
    Value argument = first.getArgument(i), index;
    Operation *update = first.getYielded(i).getDefiningOp();
    if (i == first.counter || !isForeignOp(update, "dynamic_update_slice") ||
        update->getBlock() != &first.body() || update->getOperand(0) != argument ||
        !argument.hasOneUse() || !update->getResult(0).hasOneUse() ||
        !first.condition().getArgument(i).use_empty() ||
        !isSlice(update, 2, update->getOperand(1).getType(), argument.getType(), index) ||
        index != first.getArgument(first.counter) ||
        cast<RankedTensorType>(argument.getType()).getDimSize(0) != first.trips)
      continue;
    stack.update = update;
    if (matchRead(stack))
      stacks.push_back(std::move(stack));
  }
  llvm::sort(stacks, [](const Stack &a, const Stack &b) {
    return a.update->isBeforeInBlock(b.update);
  });
  return !stacks.empty() &&
         position.getType() == first.getArgument(first.counter).getType();
}

bool LoopPair::canRepeat(Value value, llvm::SetVector<unsigned> &carried) const {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  bool isFirst = true;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    // Another stack holds it.
    if (!isFirst && llvm::any_of(llvm::enumerate(stacks), [&](auto each) {
          return !dropped.test(each.index()) && each.value().getSlice() == next;
        }))
      continue;
    isFirst = false;
    if (auto argument = dyn_cast<BlockArgument>(next);
        argument && argument.getOwner() == &first.body()) {
      unsigned i = argument.getArgNumber();
      if (i != first.counter && !first.isInvariant(i))
        carried.insert(i);
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (!op || op->getBlock() != &first.body())
      continue;
    if (!isRepeatable(op, rules) || (level == LoopRemat::Free && isDear(op)))
      return false;
    llvm::append_range(work, op->getOperands());
    op->walk([&](Operation *inner) {
      if (inner != op)
        for (Value operand : inner->getOperands())
          if (operand.getParentBlock() == &first.body())
            work.push_back(operand);
    });
  }
  return true;
}

const Stack *LoopPair::findCarriedStack(unsigned i) const {
  for (const Stack &stack : stacks) {
    Operation *shape = stack.getSlice().getDefiningOp();
    if ((isForeignOp(shape, "reshape") || isForeignOp(shape, "broadcast_in_dim")) &&
        shape->getOperand(0) == first.getArgument(i))
      return &stack;
  }
  return nullptr;
}

/// Bytes of one slice.
int64_t countSlice(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() *
         (tensor.getElementType().isIntOrFloat()
              ? llvm::divideCeil(tensor.getElementTypeBitWidth(), 8)
              : 16);
}

void LoopPair::choose() {
  dropped.resize(stacks.size());
  if (level == LoopRemat::All)
    dropped.set();
  llvm::SetVector<unsigned> carried;
  for (auto [i, stack] : llvm::enumerate(stacks)) {
    llvm::SetVector<unsigned> needed;
    dropped.set(i);
    // A tensor that an iteration adds to, or is not one, cannot be stacked.
    bool can =
        canRepeat(stack.getSlice(), needed) && llvm::all_of(needed, [&](unsigned at) {
          auto type = dyn_cast<RankedTensorType>(first.getArgument(at).getType());
          return type && type.hasStaticShape() &&
                 llvm::none_of(stacks,
                               [&](const Stack &other) { return other.written == at; });
        });
    if (!can)
      dropped.reset(i);
    else
      carried.insert(needed.begin(), needed.end());
  }
  int64_t saved = 0;
  for (unsigned i : carried) {
    if (const Stack *stack = findCarriedStack(i))
      dropped.reset(stack - stacks.data());
    else {
      missing.insert(i);
      saved -= countSlice(first.getArgument(i).getType());
    }
  }
  for (unsigned i : dropped.set_bits())
    saved += countSlice(stacks[i].getSlice().getType());
  if (saved <= 0)
    dropped.reset();
}

Value LoopPair::repeat(Value value, IRMapping &mapping, OpBuilder &builder) {
  SmallVector<Operation *> stack;
  auto push = [&](Value from) {
    if (mapping.contains(from))
      return;
    Operation *op = from.getDefiningOp();
    if (op && op->getBlock() == &first.body())
      stack.push_back(op);
  };
  push(value);
  while (!stack.empty()) {
    Operation *op = stack.back();
    size_t size = stack.size();
    if (!mapping.contains(op->getResult(0))) {
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          push(operand);
      });
      if (stack.size() > size)
        continue;
      Operation *clone = builder.clone(*op, mapping);
      clone->setAttr(kRematAttr, builder.getI64IntegerAttr(mapping.getValueMap().size()));
    }
    stack.pop_back();
  }
  return mapping.lookupOrDefault(value);
}

void LoopPair::rewrite() {
  ForeignBuilder outside(first.op);
  // The first loop stacks what its iterations begin with.
  SmallVector<Value> inits;
  for (unsigned i : missing) {
    auto type = cast<RankedTensorType>(first.getArgument(i).getType());
    SmallVector<int64_t> shape = {first.trips};
    llvm::append_range(shape, type.getShape());
    inits.push_back(outside.makeZeros(type.clone(shape)));
  }
  const unsigned added = first.size();
  first.rebuild(inits, llvm::BitVector());
  for (auto [n, i] : llvm::enumerate(missing)) {
    Value whole = first.getArgument(added + n), value = first.getArgument(i);
    ForeignBuilder inside(&first.body().back());
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = {1};
    llvm::append_range(shape, type.getShape());
    Value row = inside.make("reshape", value, type.clone(shape));
    Value written = inside.makeUpdate(whole, row, first.getArgument(first.counter));
    first.body().back().setOperand(added + n, written);
  }
  // The second loop gets these, and all that stays the same in the first.
  llvm::BitVector unread(second.size());
  SmallVector<Value> more;
  SmallVector<unsigned> invariants;
  for (unsigned i = 0; i < added; ++i)
    if (first.isInvariant(i)) {
      invariants.push_back(i);
      more.push_back(first.op->getOperand(i));
    }
  for (unsigned n = 0; n < missing.size(); ++n)
    more.push_back(first.op->getResult(added + n));
  const unsigned base = second.size();
  second.rebuild(more, unread);
  Operation *at = nullptr;
  for (unsigned i : dropped.set_bits())
    for (Operation *slice : stacks[i].slices)
      if (!at || slice->isBeforeInBlock(at))
        at = slice;
  ForeignBuilder inside(at);
  IRMapping mapping;
  for (auto [n, i] : llvm::enumerate(invariants))
    mapping.map(first.getArgument(i), second.getArgument(base + n));
  // Indices of slices are kept within bounds; arithmetic on them is not.
  mapping.map(first.getArgument(first.counter),
              inside.makeClamp(position, 0, first.trips - 1));
  for (auto [i, stack] : llvm::enumerate(stacks))
    if (!dropped.test(i))
      mapping.map(stack.getSlice(),
                  inside.makeRow(second.getArgument(stack.read), position));
  for (unsigned i = 0; i < first.size(); ++i) {
    if (mapping.contains(first.getArgument(i)))
      continue;
    Value row;
    if (auto found = llvm::find(missing, i); found != missing.end())
      row = inside.makeRow(
          second.getArgument(base + invariants.size() + (found - missing.begin())),
          position);
    else if (const Stack *stack = findCarriedStack(i))
      row = mapping.lookupOrNull(stack->getSlice());
    if (row)
      mapping.map(first.getArgument(i),
                  inside.make("reshape", row, first.getArgument(i).getType()));
  }
  for (unsigned i : dropped.set_bits())
    for (Operation *slice : stacks[i].slices)
      slice->getResult(0).replaceAllUsesWith(
          repeat(stacks[i].getSlice(), mapping, inside.builder));
  for (unsigned i : dropped.set_bits())
    for (Operation *slice : stacks[i].slices)
      slice->erase();
  llvm::BitVector gone(second.size()), unwritten(first.size());
  for (unsigned i : dropped.set_bits()) {
    gone.set(stacks[i].read);
    unwritten.set(stacks[i].written);
  }
  for (unsigned i = base; i < second.size(); ++i)
    if (second.getArgument(i).hasOneUse())
      gone.set(i);
  second.rebuild({}, gone);
  for (unsigned i : dropped.set_bits()) {
    first.body().back().setOperand(stacks[i].written,
                                   first.getArgument(stacks[i].written));
    stacks[i].update->erase();
  }
  first.rebuild({}, unwritten);
}

unsigned LoopPair::run() {
  if (!findStacks())
    return 0;
  choose();
  unsigned count = dropped.count();
  if (count > 0)
    rewrite();
  return count;
}

} // namespace

unsigned mpt::detail::recomputeInLoops(func::FuncOp function, LoopRemat level,
                                       RuleTable &rules) {
  unsigned count = 0;
  if (level == LoopRemat::None)
    return 0;
  SmallVector<Operation *> loops;
  for (Operation &op : function.getBody().front())
    if (Loop::isLoop(&op))
      loops.push_back(&op);
  // A rewrite makes new ops of a loop and of a later one.
  for (Operation *op : llvm::reverse(loops))
    count += LoopPair(Loop(op), level, rules).run();
  return count;
}
