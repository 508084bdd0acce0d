//===- RematConditionals.cpp - Repeated ops in conditionals -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematConditionals.h"

#include "ForeignOps.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// Tensors whose first element's bits can be had.
bool hasBits(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() > 0 &&
         tensor.getElementType().isIntOrFloat() &&
         llvm::is_contained({8u, 16u, 32u, 64u}, tensor.getElementTypeBitWidth());
}

/// True, from the bits of the first element of `value`.
Value makePredicate(ForeignBuilder &make, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  if (type.getRank() > 0) {
    SmallVector<int64_t> zeros(type.getRank(), 0), ones(type.getRank(), 1);
    value = make.make("slice", value, type.clone(ones),
                      {make.getIntegers("limit_indices", ones),
                       make.getIntegers("start_indices", zeros),
                       make.getIntegers("strides", ones)});
    value = make.make("reshape", value, RankedTensorType::get({}, element));
  }
  const unsigned width = element.getIntOrFloatBitWidth();
  Type bits = value.getType();
  if (!isa<IntegerType>(element)) {
    bits = RankedTensorType::get({}, make.builder.getIntegerType(width));
    value = make.make("bitcast_convert", value, bits);
  }
  // A number of `width` bits has at most so many ones.
  Value ones = make.make("popcnt", value, bits), most = make.makeInteger(bits, width);
  MLIRContext *context = make.builder.getContext();
  auto direction = OpaqueAttr::get(StringAttr::get(context, "stablehlo"),
                                   "comparison_direction LE", NoneType::get(context));
  return make.make("compare", {ones, most},
                   RankedTensorType::get({}, make.builder.getI1Type()),
                   make.builder.getNamedAttr("comparison_direction", direction));
}

class Isolator {
public:
  Isolator(func::FuncOp function, ArrayRef<RematGroup> groups, const RuleTable &rules)
      : block(function.getBody().front()), groups(groups), rules(rules) {}

  void run() {
    // Ends are found before anything moves; each group ends before the next begins.
    SmallVector<Body> bodies;
    for (auto [i, group] : llvm::enumerate(groups))
      bodies.push_back(
          findBody(group, i + 1 < groups.size() ? groups[i + 1].front() : nullptr));
    ArrayRef<Value> left;
    for (const Body &body : bodies) {
      wrap(body, left);
      left = body.left;
    }
  }

private:
  /// A group's ops that go inside, and results of convolutions that are left out, which
  /// end before the next group begins.
  struct Body {
    SmallVector<Operation *> ops;
    SmallVector<Value> left;
    /// With those that are left out.
    SmallVector<Operation *> all;
  };
  Body findBody(const RematGroup &group, Operation *next);
  /// Takes the backward pass's convolutions and what follows from them out of `body`.
  static void leaveOutConvolutions(SmallVectorImpl<Operation *> &body,
                                   const DenseSet<Operation *> &clones,
                                   SmallVectorImpl<Value> &left);
  /// What the backward pass made last of what `body` reads.
  Value findLatest(ArrayRef<Operation *> body);
  /// Computes results that XLA would fuse again after `body`, from values that it stores.
  /// Those take their place in `results`.
  void derive(SmallVectorImpl<Operation *> &body, llvm::SetVector<Value> &results);
  /// Puts the group's ops into a conditional, which also waits for `before`: the
  /// convolutions that the group before it left out.
  void wrap(const Body &group, ArrayRef<Value> before);

  Block &block;
  ArrayRef<RematGroup> groups;
  const RuleTable &rules;
};

Isolator::Body Isolator::findBody(const RematGroup &group, Operation *next) {
  DenseSet<Operation *> clones(group.begin(), group.end());
  SmallVector<Operation *> body;
  size_t end = 0;
  for (Operation *op = group.front(); op != next && op != block.getTerminator();
       op = op->getNextNode()) {
    const bool isClone = clones.contains(op);
    if (!isClone && !isRepeatable(op, rules) && op->getNumOperands() > 0)
      break;
    body.push_back(op);
    bool reads = isClone;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        reads |= clones.contains(operand.getDefiningOp());
    });
    if (reads)
      end = body.size();
  }
  body.truncate(end);
  Body result;
  result.all = body;
  leaveOutConvolutions(body, clones, result.left);
  result.ops = std::move(body);
  return result;
}

void Isolator::leaveOutConvolutions(SmallVectorImpl<Operation *> &body,
                                    const DenseSet<Operation *> &clones,
                                    SmallVectorImpl<Value> &left) {
  DenseSet<Operation *> outside;
  llvm::erase_if(body, [&](Operation *op) {
    bool isConvolution = false, leaves = false;
    op->walk([&](Operation *inner) {
      isConvolution |= !clones.contains(op) &&
                       inner->getName().getStringRef() == "stablehlo.convolution";
      for (Value operand : inner->getOperands())
        leaves |= outside.contains(operand.getDefiningOp());
    });
    leaves |= isConvolution;
    if (leaves)
      outside.insert(op);
    if (isConvolution)
      llvm::append_range(left, op->getResults());
    return leaves;
  });
}

Value Isolator::findLatest(ArrayRef<Operation *> body) {
  DenseSet<Operation *> inside(body.begin(), body.end());
  Value latest;
  for (Operation *op : body)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        if (!hasBits(operand.getType()) ||
            (maker && (maker->getBlock() != &block || inside.contains(maker) ||
                       maker->getNumOperands() == 0)) ||
            (!maker && operand.getParentBlock() != &block))
          continue;
        Operation *best = latest ? latest.getDefiningOp() : nullptr;
        if (!latest || (maker && (!best || best->isBeforeInBlock(maker))))
          latest = operand;
      }
    });
  return latest;
}

void Isolator::derive(SmallVectorImpl<Operation *> &body,
                      llvm::SetVector<Value> &results) {
  DenseSet<Operation *> inside(body.begin(), body.end());
  auto getFusion = [&](Operation *op) {
    const MemoryRow *row = rules.lookupMemory(op);
    return row ? row->fusion : LoopFusion::None;
  };
  auto isStored = [&](Value value) {
    Operation *op = value.getDefiningOp();
    LoopFusion fusion = getFusion(op);
    if (op->getNumRegions() ||
        (fusion != LoopFusion::Any && fusion != LoopFusion::Single))
      return true;
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return inside.contains(user) && getFusion(user) == LoopFusion::None;
    });
  };
  llvm::SetVector<Value> stored;
  llvm::MapVector<Value, Value> derived;
  // All of `body` will stand where its first op is.
  OpBuilder builder(body.front()->getContext());
  builder.setInsertionPointAfter(body.front());
  // From the last op to the first: which values the results are derived from.
  DenseSet<Value> needed(results.begin(), results.end());
  for (Operation *op : llvm::reverse(body))
    for (Value result : op->getResults())
      if (needed.contains(result) && !isStored(result))
        for (Value operand : op->getOperands())
          if (inside.contains(operand.getDefiningOp()))
            needed.insert(operand);
  DenseSet<Value> fromStored;
  for (Operation *op : body)
    for (Value result : op->getResults()) {
      if (!needed.contains(result))
        continue;
      bool follows = llvm::any_of(op->getOperands(), [&](Value operand) {
        return stored.contains(operand) || fromStored.contains(operand);
      });
      if (isStored(result) ||
          (op->getNumOperands() > 0 && !follows && results.contains(result))) {
        stored.insert(result);
        continue;
      }
      IRMapping mapping;
      for (Value operand : op->getOperands())
        if (Value other = derived.lookup(operand))
          mapping.map(operand, other);
      Operation *again = builder.clone(*op, mapping);
      derived[result] = again->getResult(cast<OpResult>(result).getResultNumber());
      if (follows)
        fromStored.insert(result);
    }
  for (auto [value, other] : derived) {
    Value(value).replaceUsesWithIf(other, [&](OpOperand &use) {
      Operation *user = block.findAncestorOpInBlock(*use.getOwner());
      return !inside.contains(user) && results.contains(use.get());
    });
  }
  results = std::move(stored);
  // A derived value is computed inside, too, only if an op there reads it.
  SmallVector<Operation *> kept;
  for (Operation *op : llvm::reverse(body)) {
    if (op->use_empty() && isRepeatable(op, rules)) {
      op->erase();
      continue;
    }
    kept.push_back(op);
    for (Value result : op->getResults())
      if (Value other = derived.lookup(result))
        other.getDefiningOp()->removeAttr(kRematAttr);
  }
  body.assign(kept.rbegin(), kept.rend());
}

void Isolator::wrap(const Body &group, ArrayRef<Value> before) {
  SmallVector<Operation *> body = group.ops;
  Value latest = findLatest(group.all);
  if (body.empty() || !latest)
    return;
  DenseSet<Operation *> inside(body.begin(), body.end());
  auto isInside = [&](Operation *op) {
    return inside.contains(block.findAncestorOpInBlock(*op));
  };
  llvm::SetVector<Value> results;
  for (Operation *op : body)
    for (Value result : op->getResults())
      if (!llvm::all_of(result.getUsers(), isInside))
        results.insert(result);
  // The branch that is not taken returns zeros. Any op of `body` may have a result of it
  // once `derive` has chosen what is stored.
  auto hasZeros = [](Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    return tensor && tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat();
  };
  const bool derives = !group.left.empty();
  if (derives ? !llvm::all_of(body,
                              [&](Operation *op) {
                                return llvm::all_of(op->getResults(), hasZeros);
                              })
              : !llvm::all_of(results, hasZeros))
    return;
  if (derives)
    derive(body, results);
  if (results.empty())
    return;
  ForeignBuilder maker(body.front());
  Value predicate = makePredicate(maker, latest);
  for (Value value : before)
    if (hasBits(value.getType()))
      predicate = maker.make("and", {predicate, makePredicate(maker, value)},
                             predicate.getType());
  OperationState state(body.front()->getLoc(), "stablehlo.if");
  state.addOperands(predicate);
  for (Value result : results)
    state.addTypes(result.getType());
  Block *taken = new Block(), *other = new Block();
  state.addRegion()->push_back(taken);
  state.addRegion()->push_back(other);
  Operation *conditional = maker.builder.create(state);
  for (Operation *op : body)
    op->moveBefore(taken, taken->end());
  for (auto [from, to] : llvm::zip_equal(results, conditional->getResults()))
    Value(from).replaceUsesWithIf(to, [&](OpOperand &use) {
      return !conditional->isProperAncestor(use.getOwner());
    });
  auto yield = [&](Block *branch, ValueRange values) {
    OperationState end(conditional->getLoc(), "stablehlo.return");
    end.addOperands(values);
    OpBuilder::atBlockEnd(branch).create(end);
  };
  yield(taken, results.getArrayRef());
  SmallVector<Value> zeros;
  maker.builder.setInsertionPointToEnd(other);
  for (Value result : results)
    zeros.push_back(maker.makeZeros(cast<RankedTensorType>(result.getType())));
  yield(other, zeros);
}

} // namespace

void mpt::detail::isolateInConditionals(func::FuncOp function,
                                        ArrayRef<RematGroup> groups,
                                        const RuleTable &rules) {
  Isolator(function, groups, rules).run();
}
