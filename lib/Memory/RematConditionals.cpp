//===- RematConditionals.cpp - Repeated ops in conditionals -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematConditionals.h"

#include "ForeignOps.h"

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
    SmallVector<SmallVector<Operation *>> bodies;
    for (auto [i, group] : llvm::enumerate(groups))
      bodies.push_back(
          findBody(group, i + 1 < groups.size() ? groups[i + 1].front() : nullptr));
    for (ArrayRef<Operation *> body : bodies)
      wrap(body);
  }

private:
  SmallVector<Operation *> findBody(const RematGroup &group, Operation *next);
  /// What the backward pass made last of what `body` reads.
  Value findLatest(ArrayRef<Operation *> body);
  void wrap(ArrayRef<Operation *> body);

  Block &block;
  ArrayRef<RematGroup> groups;
  const RuleTable &rules;
};

SmallVector<Operation *> Isolator::findBody(const RematGroup &group, Operation *next) {
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
  return body;
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

void Isolator::wrap(ArrayRef<Operation *> body) {
  Value latest = findLatest(body);
  if (!latest)
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
  // A branch's result for what is not computed must be a tensor.
  if (llvm::any_of(results, [](Value value) {
        auto tensor = dyn_cast<RankedTensorType>(value.getType());
        return !tensor || !tensor.hasStaticShape() ||
               !tensor.getElementType().isIntOrFloat();
      }))
    return;
  ForeignBuilder maker(body.front());
  Value predicate = makePredicate(maker, latest);
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
