//===- Loops.cpp - while, if and case of StableHLO -------------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A `while` whose condition depends on counters alone runs a number of times that is
/// found by running the counters. It becomes `mpt.scan`, any other a conditional one that
/// carries all that changes. Of the former,
///
/// - what the body leaves as it is, is used from above;
/// - a counter is a constant tensor with one number for each iteration;
/// - a tensor of which iteration i reads slice i (or the i-th from the end) is an input;
/// - a tensor of which each iteration writes such a slice, and does nothing else with it,
///   is a stacked result;
/// - everything else is carried.
///
/// A complex tensor is two of these, its parts.
///
/// A few iterations on integers alone, such as the rounds of a random number generator,
/// are written out: what depends on counters is constant there.
///
/// Branches that take long become conditional scans of one iteration. Others are
/// computed, taken or not.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "ScalarRegion.h"

#include "mlir/Transforms/RegionUtils.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;
using importer::Complex;

/// A loop of more iterations is one whose number is not known.
static constexpr int64_t maxTrips = 1 << 20;
/// More than a loop will run.
static constexpr int64_t endlessTrips = int64_t(1) << 32;

namespace {
enum class Use { Carried, Invariant, Counter, Stacked };

/// In which iteration a slice is read or written: the i-th, or the i-th from the end.
enum class Order { Forward, Backward, Other };

/// A part of operand, argument or result `index`.
struct PartOf {
  unsigned index;
  Part part;
};

class WhileConverter {
public:
  explicit WhileConverter(Lowering &l)
      : l(l), condition(l.op->getRegion(0).front()), body(l.op->getRegion(1).front()),
        uses(body.getNumArguments(), Use::Carried) {}

  void run();

private:
  /// Finds the counters and how often the loop runs. False if that is not constant, or
  /// after a refusal.
  bool runCounters();
  void runConditional(ArrayRef<Complex> operands);
  void classify();
  Order orderOf(Value index) const;
  /// The order in which `op` slices dimension 0, of size `trips`, one slice at a time;
  /// indices are operands `from`, ...
  Order orderOf(Operation *op, unsigned from, ArrayRef<int64_t> shape,
                ArrayRef<int64_t> sizes) const;
  Value yielded(unsigned i) { return body.back().getOperand(i); }
  Value reverseRows(Value x);
  bool isWrittenOut() const;
  void writeOut(SmallVector<Value> values);

  Lowering &l;
  Block &condition, &body;
  SmallVector<Use> uses;
  int64_t trips = 0;
  /// For each counter its numbers, one for each iteration and the last.
  llvm::MapVector<unsigned, SmallVector<int64_t>> counters;
  /// Values of the body that depend on counters alone are found through these.
  mutable SmallVector<IntegerEvaluator> iterations;
  mutable llvm::DenseMap<Value, Order> orders;
};
} // namespace

static Value getPart(Complex z, Part part) {
  return part == Part::Real ? z.real : z.imaginary;
}

/// A conditional scan that carries `inits`, of which the first is the condition. `body`
/// makes the next values from those there are. Null after a refusal.
static ScanOp makeConditional(Lowering &l, int64_t trips, ValueRange inits,
                              llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
  auto scan = ScanOp::create(l.builder, l.loc, inits.getTypes(),
                             l.builder.getI64IntegerAttr(trips), /*reverse=*/UnitAttr(),
                             inits, /*inputs=*/ValueRange(),
                             /*checkpoint_every=*/IntegerAttr(), l.builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(l.builder);
  Block *block = l.builder.createBlock(&scan.getBody(), {}, inits.getTypes(),
                                       SmallVector<Location>(inits.size(), l.loc));
  SmallVector<Value> next = body(block->getArguments());
  YieldOp::create(l.builder, l.loc, next);
  return l.refusal.empty() ? scan : ScanOp();
}

bool WhileConverter::runCounters() {
  // First values that are constants; then those whose next values are known, too.
  IntegerEvaluator outside(l.graph.integers);
  SmallVector<unsigned> candidates;
  for (unsigned i : llvm::seq(0u, body.getNumArguments()))
    if (outside.evaluate(l.op->getOperand(i)))
      candidates.push_back(i);
  for (bool changed = true; changed;) {
    changed = false;
    IntegerEvaluator all(l.graph.integers);
    for (unsigned i : candidates)
      all.set(body.getArgument(i), *outside.evaluate(l.op->getOperand(i)));
    SmallVector<unsigned> kept = llvm::filter_to_vector(
        candidates, [&](unsigned i) { return all.evaluate(yielded(i)).has_value(); });
    changed = kept.size() != candidates.size();
    candidates = std::move(kept);
  }
  SmallVector<int64_t> numbers;
  for (unsigned i : candidates)
    numbers.push_back(*outside.evaluate(l.op->getOperand(i)));
  for (;; ++trips) {
    IntegerEvaluator test(l.graph.integers), iteration(l.graph.integers);
    for (auto [i, number] : llvm::zip_equal(candidates, numbers)) {
      test.set(condition.getArgument(i), number);
      iteration.set(body.getArgument(i), number);
      counters[i].push_back(number);
    }
    // What is not a counter may still bound the loop, if it does not change.
    for (unsigned i : llvm::seq(0u, body.getNumArguments()))
      if (yielded(i) == body.getArgument(i))
        if (std::optional<int64_t> number = outside.evaluate(l.op->getOperand(i)))
          test.set(condition.getArgument(i), *number);
    std::optional<int64_t> goesOn = test.evaluate(condition.back().getOperand(0));
    if (!goesOn || trips == maxTrips)
      return false;
    if (!*goesOn) {
      // What comes later may count to there, as the backward pass of TensorFlow's loops.
      for (auto [i, number] : llvm::zip_equal(candidates, numbers))
        l.graph.integers[l.op->getResult(i)] = number;
      return true;
    }
    SmallVector<int64_t> next;
    for (unsigned i : candidates) {
      std::optional<int64_t> number = iteration.evaluate(yielded(i));
      if (!l.require(number.has_value(), "a counter whose next value is not known"))
        return false;
      next.push_back(*number);
    }
    numbers = std::move(next);
    iterations.push_back(std::move(iteration));
  }
}

Order WhileConverter::orderOf(Value index) const {
  auto [found, isNew] = orders.try_emplace(index, Order::Other);
  if (!isNew)
    return found->second;
  bool forward = true, backward = true;
  for (int64_t i = 0; i < trips && (forward || backward); ++i) {
    std::optional<int64_t> number = iterations[i].evaluate(index);
    forward = forward && number == i;
    backward = backward && number == trips - 1 - i;
  }
  Order order = forward ? Order::Forward : backward ? Order::Backward : Order::Other;
  return orders[index] = order;
}

Order WhileConverter::orderOf(Operation *op, unsigned from, ArrayRef<int64_t> shape,
                              ArrayRef<int64_t> sizes) const {
  if (shape.empty() || shape[0] != trips || sizes.size() != shape.size() ||
      sizes[0] != 1 || shape.drop_front() != sizes.drop_front() ||
      op->getNumOperands() != from + shape.size())
    return Order::Other;
  return orderOf(op->getOperand(from));
}

void WhileConverter::classify() {
  for (unsigned i : llvm::seq(0u, body.getNumArguments())) {
    Value argument = body.getArgument(i), next = yielded(i);
    if (next == argument) {
      uses[i] = Use::Invariant;
    } else if (counters.contains(i)) {
      uses[i] = Use::Counter;
    } else if (Operation *update = next.getDefiningOp();
               isOp(update, "dynamic_update_slice") && update->getNumOperands() >= 3 &&
               update->getOperand(0) == argument && argument.hasOneUse() &&
               next.hasOneUse()) {
      RankedTensorType type = convertPartType(argument.getType()),
                       slice = convertPartType(update->getOperand(1).getType());
      if (type && slice &&
          orderOf(update, 2, type.getShape(), slice.getShape()) != Order::Other)
        uses[i] = Use::Stacked;
    }
  }
}

Value WhileConverter::reverseRows(Value x) { return l.reverseDimension(x, 0); }

bool WhileConverter::isWrittenOut() const {
  constexpr int64_t maxWrittenTrips = 8, maxOps = 128;
  auto isInteger = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<IntegerType>(tensor.getElementType());
  };
  return trips <= maxWrittenTrips && llvm::range_size(body) <= maxOps &&
         llvm::all_of(body.getArgumentTypes(), isInteger) &&
         llvm::none_of(body, [](Operation &op) { return op.getNumRegions() > 0; });
}

void WhileConverter::writeOut(SmallVector<Value> values) {
  for (int64_t trip : llvm::seq(trips)) {
    for (auto [i, value] : llvm::enumerate(values)) {
      auto known = counters.find(i);
      l.graph.values[body.getArgument(i)] =
          known == counters.end()
              ? value
              : l.constants({known->second[trip]}, getElement(value), getShape(value));
    }
    convertBlock(l.graph, body, l.builder);
    for (auto [i, value] : llvm::enumerate(values)) {
      Value next = l.graph.values.lookup(yielded(i));
      if (!l.require(next && next.getType() == value.getType(),
                     "a body whose values do not fit"))
        return;
      value = next;
    }
  }
  for (auto [i, value] : llvm::enumerate(values))
    l.set(value, i);
}

void WhileConverter::runConditional(ArrayRef<Complex> operands) {
  SmallVector<PartOf> carried;
  for (unsigned i : llvm::seq(0u, body.getNumArguments()))
    if (yielded(i) != body.getArgument(i))
      for (Part part : getParts(body.getArgument(i)))
        carried.push_back({i, part});
  // The arguments of a block are what is carried now, and what does not change.
  auto convert = [&](Block &block, ValueRange now) {
    for (auto [i, operand] : llvm::enumerate(operands))
      for (Part part : getParts(body.getArgument(i)))
        l.graph.of(part)[block.getArgument(i)] = getPart(operand, part);
    for (auto [value, place] : llvm::zip_equal(now, carried))
      l.graph.of(place.part)[block.getArgument(place.index)] = value;
    convertBlock(l.graph, block, l.builder);
  };
  auto test = [&](ValueRange now) {
    convert(condition, now);
    Value goesOn = l.graph.values.lookup(condition.back().getOperand(0));
    l.require(goesOn && getRank(goesOn) == 0 && getElement(goesOn).isInteger(1),
              "a condition that is no truth value");
    return goesOn;
  };
  auto inits = llvm::map_to_vector(
      carried, [&](PartOf place) { return getPart(operands[place.index], place.part); });
  Value first = test(inits);
  if (!l.refusal.empty())
    return;
  inits.insert(inits.begin(), first);
  auto scan = makeConditional(l, endlessTrips, inits, [&](ValueRange now) {
    convert(body, now.drop_front());
    auto next = llvm::map_to_vector(carried, [&](PartOf place) {
      return l.graph.of(place.part).lookup(yielded(place.index));
    });
    for (auto [value, init] : llvm::zip_equal(next, ArrayRef(inits).drop_front()))
      if (!l.require(value && value.getType() == init.getType(),
                     "a body whose values do not fit"))
        return next;
    if (Value goesOn = test(next))
      next.insert(next.begin(), goesOn);
    return next;
  });
  if (!scan)
    return;
  for (auto [i, operand] : llvm::enumerate(operands))
    if (yielded(i) == body.getArgument(i))
      for (Part part : getParts(body.getArgument(i)))
        l.set(getPart(operand, part), i, part);
  for (auto [place, value] : llvm::zip_equal(carried, scan.getResults().drop_front()))
    l.set(value, place.index, place.part);
}

void WhileConverter::run() {
  unsigned count = body.getNumArguments();
  const bool isCounted = runCounters();
  SmallVector<Complex> operands;
  for (unsigned i : llvm::seq(0u, count))
    operands.push_back(l.getComplex(i));
  if (!l.refusal.empty())
    return;
  if (!isCounted)
    return runConditional(operands);
  if (trips == 0) {
    for (unsigned i : llvm::seq(0u, count))
      for (Part part : getParts(l.op->getResult(i)))
        l.set(getPart(operands[i], part), i, part);
    return;
  }
  if (isWrittenOut())
    return writeOut(l.getAll());
  classify();
  // Slices that are read: of what does not change, or comes from above the loop.
  auto sourceOf = [&](Value tensor, Part part) -> Value {
    if (auto argument = dyn_cast<BlockArgument>(tensor);
        argument && argument.getOwner() == &body)
      return uses[argument.getArgNumber()] == Use::Invariant
                 ? getPart(operands[argument.getArgNumber()], part)
                 : Value();
    if (Operation *op = tensor.getDefiningOp(); op && op->getBlock() == &body)
      return {};
    return l.graph.of(part).lookup(tensor);
  };
  SmallVector<std::pair<Operation *, Order>> reads;
  for (Operation &op : body)
    if (isOp(&op, "dynamic_slice") && op.getNumOperands() > 1)
      if (sourceOf(op.getOperand(0), Part::Real)) {
        RankedTensorType type = convertPartType(op.getOperand(0).getType()),
                         slice = convertPartType(op.getResult(0).getType());
        if (!type || !slice)
          continue;
        Order order = orderOf(&op, 1, type.getShape(), slice.getShape());
        if (order != Order::Other)
          reads.push_back({&op, order});
      }
  // The loop goes the way that most slices go.
  int64_t balance = 0;
  for (auto [op, order] : reads)
    balance += order == Order::Forward ? 1 : -1;
  for (unsigned i : llvm::seq(0u, count))
    if (uses[i] == Use::Stacked)
      balance +=
          orderOf(yielded(i).getDefiningOp()->getOperand(2)) == Order::Forward ? 1 : -1;
  bool reverse = balance < 0 && trips > 1;
  Order natural = reverse ? Order::Backward : Order::Forward;
  auto aligned = [&](Value x, Order order) {
    return order == natural || trips == 1 ? x : reverseRows(x);
  };
  SmallVector<Value> inits, inputs;
  SmallVector<PartOf> carried, stacked;
  for (unsigned i : llvm::seq(0u, count))
    for (Part part : getParts(body.getArgument(i)))
      if (uses[i] == Use::Carried) {
        carried.push_back({i, part});
        inits.push_back(getPart(operands[i], part));
      } else if (uses[i] == Use::Stacked) {
        stacked.push_back({i, part});
      }
  llvm::DenseMap<std::pair<Value, int>, unsigned> inputOf;
  SmallVector<unsigned> readInputs; // for each part of each read
  for (auto [op, order] : reads)
    for (Part part : getParts(op->getOperand(0))) {
      Value source = sourceOf(op->getOperand(0), part);
      auto [found, isNew] =
          inputOf.try_emplace({source, order == natural}, inputs.size());
      if (isNew)
        inputs.push_back(aligned(source, order));
      readInputs.push_back(found->second);
    }
  SmallVector<std::pair<unsigned, unsigned>> counterInputs; // argument, input
  for (auto &[i, numbers] : counters) {
    if (uses[i] != Use::Counter)
      continue;
    counterInputs.push_back({i, inputs.size()});
    SmallVector<int64_t> ordered(ArrayRef(numbers).take_front(trips));
    if (reverse)
      std::reverse(ordered.begin(), ordered.end());
    Shape shape{trips};
    llvm::append_range(shape, getShape(operands[i].real));
    inputs.push_back(l.constants(ordered, getElement(operands[i].real), shape));
  }
  SmallVector<Type> types;
  for (Value init : inits)
    types.push_back(init.getType());
  for (PartOf result : stacked)
    types.push_back(getPart(operands[result.index], result.part).getType());
  if (!l.refusal.empty())
    return;

  auto scan =
      ScanOp::create(l.builder, l.loc, types, l.builder.getI64IntegerAttr(trips),
                     reverse ? l.builder.getUnitAttr() : UnitAttr(), inits, inputs,
                     /*checkpoint_every=*/IntegerAttr(), /*conditional=*/UnitAttr());
  OpBuilder::InsertionGuard guard(l.builder);
  SmallVector<Type> blockTypes;
  for (Value init : inits)
    blockTypes.push_back(init.getType());
  for (Value input : inputs)
    blockTypes.push_back(getType(input).clone(getShape(input).drop_front()));
  Block *block = l.builder.createBlock(&scan.getBody(), {}, blockTypes,
                                       SmallVector<Location>(blockTypes.size(), l.loc));
  auto slice = [&](unsigned input) { return block->getArgument(inits.size() + input); };
  for (auto [position, value] : llvm::enumerate(carried))
    l.graph.of(value.part)[body.getArgument(value.index)] = block->getArgument(position);
  for (unsigned i : llvm::seq(0u, count)) {
    if (uses[i] == Use::Invariant)
      for (Part part : getParts(body.getArgument(i)))
        l.graph.of(part)[body.getArgument(i)] = getPart(operands[i], part);
    // Read by the update alone, which is left out.
    if (uses[i] == Use::Stacked)
      l.graph.skipped.insert(yielded(i).getDefiningOp());
  }
  for (auto [i, input] : counterInputs)
    l.graph.values[body.getArgument(i)] = slice(input);
  ArrayRef<unsigned> nextInput = readInputs;
  for (auto [op, order] : reads) {
    l.graph.skipped.insert(op);
    for (Part part : getParts(op->getResult(0))) {
      l.graph.of(part)[op->getResult(0)] =
          l.reshape(slice(nextInput.front()),
                    convertPartType(op->getResult(0).getType()).getShape());
      nextInput = nextInput.drop_front();
    }
  }
  convertBlock(l.graph, body, l.builder);
  SmallVector<Value> values;
  for (auto [index, part] : carried) {
    Value found = l.graph.of(part).lookup(yielded(index));
    if (l.require(found && found.getType() == getPart(operands[index], part).getType(),
                  "a body whose values do not fit"))
      values.push_back(found);
  }
  for (auto [index, part] : stacked) {
    Value update = yielded(index).getDefiningOp()->getOperand(1);
    Value found = l.graph.of(part).lookup(update);
    if (l.require(bool(found), "a body whose values do not fit"))
      values.push_back(
          l.reshape(found, getShape(getPart(operands[index], part)).drop_front()));
  }
  YieldOp::create(l.builder, l.loc, values);
  l.builder.setInsertionPointAfter(scan);
  if (!l.refusal.empty())
    return;
  for (auto [position, value] : llvm::enumerate(carried))
    l.set(scan.getResult(position), value.index, value.part);
  for (auto [position, value] : llvm::enumerate(stacked))
    if (!l.op->getResult(value.index).use_empty())
      l.set(aligned(scan.getResult(carried.size() + position),
                    orderOf(yielded(value.index).getDefiningOp()->getOperand(2))),
            value.index, value.part);
  for (unsigned i : llvm::seq(0u, count)) {
    if (uses[i] == Use::Invariant)
      for (Part part : getParts(body.getArgument(i)))
        l.set(getPart(operands[i], part), i, part);
    else if (uses[i] == Use::Counter)
      l.set(l.constants({counters[i].back()}, getElement(operands[i].real),
                        getShape(operands[i].real)),
            i);
  }
}

static bool checkRegions(Lowering &l, unsigned arguments, unsigned results) {
  for (Region &region : l.op->getRegions())
    if (!l.require(region.hasOneBlock() && region.getNumArguments() == arguments &&
                       !region.front().empty() &&
                       region.front().back().getNumOperands() == results,
                   "a region that does not fit the operands"))
      return false;
  return true;
}

static void whileLoop(Lowering &l) {
  unsigned count = l.size();
  if (!l.require(l.op->getNumRegions() == 2 && l.op->getNumResults() == count,
                 "expected two regions and as many results as operands"))
    return;
  for (Region &region : l.op->getRegions())
    if (!l.require(region.hasOneBlock() && region.getNumArguments() == count &&
                       !region.front().empty(),
                   "a region that does not fit the operands"))
      return;
  if (!l.require(l.op->getRegion(0).front().back().getNumOperands() == 1 &&
                     l.op->getRegion(1).front().back().getNumOperands() == count,
                 "a region that does not fit the operands"))
    return;
  WhileConverter(l).run();
}

/// Converts a branch, which is taken if `here` is true. No gradient flows out of a branch
/// that is not taken: it may divide by 0, and 0 times an infinite derivative is NaN.
static void convertBranch(Lowering &l, Region &branch, Value here) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(branch, captured);
  SmallVector<std::tuple<Value, Part, Value>> outside;
  for (Value source : captured)
    for (Part part : getParts(source)) {
      Value value = l.graph.of(part).lookup(source);
      if (!value || !isa<FloatType>(getElement(value)) ||
          value.getDefiningOp<ConstantOp>())
        continue;
      auto guarded = WhereOp::create(l.builder, l.loc, getType(value), here, value,
                                     l.unary<StopGradientOp>(value));
      guarded->setDiscardableAttr(kGuardAttr, l.builder.getUnitAttr());
      outside.push_back({source, part, value});
      l.graph.of(part)[source] = guarded;
    }
  convertBlock(l.graph, branch.front(), l.builder);
  for (auto [source, part, value] : outside)
    l.graph.of(part)[source] = value;
}

/// Whether a branch takes so long that it runs only if it is taken. Estimates of its
/// multiplications and comparisons are enough.
static bool isHeavy(Region &region) {
  auto countElements = [](TypeRange types) {
    double count = 0;
    for (Type type : types)
      if (auto tensor = convertPartType(type); tensor && tensor.hasStaticShape())
        count += static_cast<double>(tensor.getNumElements());
    return count;
  };
  double work = 0;
  region.walk([&](Operation *op) {
    // A matmul of [m, k] and [k, n] has m k n.
    if (isOp(op, "dot_general") || isOp(op, "dot") || isOp(op, "convolution"))
      work += std::sqrt(countElements(op->getOperandTypes()[0]) *
                        countElements(op->getOperandTypes()[1]) *
                        countElements(op->getResultTypes()));
    for (StringRef name : {"while", "custom_call", "sort", "fft", "cholesky",
                           "triangular_solve", "reduce_window", "scatter", "gather"})
      if (isOp(op, name))
        work += 64 * (countElements(op->getOperandTypes()) +
                      countElements(op->getResultTypes()));
  });
  return work >= 1 << 16;
}

/// The index chooses among the results of branches. Those that take long run only if they
/// are taken.
static void branches(Lowering &l) {
  unsigned count = l.op->getNumRegions(), results = l.op->getNumResults();
  Value index = l.get(0);
  if (!l.require(count >= 1 && getRank(index) == 0, "expected a scalar and branches") ||
      !checkRegions(l, 0, results))
    return;
  bool isIf = isOp(l.op, "if");
  if (!l.require(isIf ? count == 2 && getElement(index).isInteger(1)
                      : getElement(index).isInteger(32),
                 isIf ? "expected a truth value and two branches"
                      : "expected an index of 32 bits"))
    return;
  // An index out of range means the last branch.
  SmallVector<Value> taken;
  Value last;
  for (unsigned branch : llvm::seq(0u, count - 1)) {
    Value here =
        isIf ? index
             : l.compare(ComparePredicate::EQ, index, static_cast<double>(branch));
    taken.push_back(here);
    Value other = l.unary<NotOp>(here);
    last = last ? AndOp::create(l.builder, l.loc, last, other) : other;
  }
  taken.push_back(last);
  SmallVector<unsigned> light, heavy;
  for (auto [branch, region] : llvm::enumerate(l.op->getRegions()))
    (taken[branch] && isHeavy(region) ? heavy : light).push_back(branch);
  for (unsigned branch : light) {
    Region &region = l.op->getRegion(branch);
    if (taken[branch])
      convertBranch(l, region, taken[branch]);
    else
      convertBlock(l.graph, region.front(), l.builder);
  }
  SmallVector<PartOf> places;
  for (unsigned result : llvm::seq(0u, results))
    for (Part part : getParts(l.op->getResult(result)))
      places.push_back({result, part});
  auto valueOf = [&](unsigned branch, PartOf place) {
    return l.graph.of(place.part)
        .lookup(l.op->getRegion(branch).front().back().getOperand(place.index));
  };
  // What is chosen so far begins with zeros if all branches take long.
  SmallVector<Value> chosen;
  for (PartOf place : places) {
    RankedTensorType type = l.resultType(place.index);
    Value value;
    if (!light.empty())
      value = valueOf(light.back(), place);
    else if (type && type.hasStaticShape())
      value = l.constant(0.0, type.getElementType(), type.getShape());
    for (unsigned branch : llvm::reverse(ArrayRef(light).drop_back(!light.empty()))) {
      Value other = valueOf(branch, place);
      if (!l.require(value && other && value.getType() == other.getType(),
                     "branches whose results do not fit"))
        return;
      value = l.where(taken[branch], other, value);
    }
    if (!l.require(bool(value), "branches whose results do not fit"))
      return;
    chosen.push_back(value);
  }
  for (unsigned branch : heavy) {
    SmallVector<Value> inits{taken[branch]};
    llvm::append_range(inits, chosen);
    auto scan = makeConditional(l, 1, inits, [&](ValueRange now) {
      convertBlock(l.graph, l.op->getRegion(branch).front(), l.builder);
      SmallVector<Value> next{now.front()};
      for (auto [place, value] : llvm::zip_equal(places, chosen)) {
        next.push_back(valueOf(branch, place));
        if (!l.require(next.back() && next.back().getType() == value.getType(),
                       "branches whose results do not fit"))
          break;
      }
      return next;
    });
    if (!scan)
      return;
    chosen.assign(scan.result_begin() + 1, scan.result_end());
  }
  for (auto [place, value] : llvm::zip_equal(places, chosen))
    l.set(value, place.index, place.part);
}

void mpt::stablehlo::populateLoops(Table &t) {
  t.add({"stablehlo.while"}, whileLoop);
  t.complex({"stablehlo.while"}, whileLoop);
  t.add({"stablehlo.if", "stablehlo.case"}, branches);
  t.complex({"stablehlo.if", "stablehlo.case"}, branches);
}
