//===- Autodiff.cpp - Reverse-mode differentiation -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-autodiff`: walks a forward function backwards from its loss and asks
/// each op on a path from a parameter for its vector-Jacobian product.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/ResultNames.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Dialect/MPT/Transforms/UnrollScans.h"
#include "mpt/Training/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mpt {
#define GEN_PASS_DEF_AUTODIFFPASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

void markNever(Operation *op) {
  if (op->getNumResults() != 0)
    op->setAttr(kSaveAttr, StringAttr::get(op->getContext(), "never"));
}

bool isNever(Operation *op) {
  auto save = op->getAttrOfType<StringAttr>(kSaveAttr);
  return save && save.getValue() == "never";
}

Value reshape(OpBuilder &builder, Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  return ReshapeOp::create(builder, value.getLoc(), type, value);
}

/// Makes a scan with `checkpoint_every = n` one over groups of n iterations, whose body
/// is a scan of n iterations that is marked to be recomputed.
LogicalResult groupIterations(ScanOp scan) {
  const int64_t each = *scan.getCheckpointEvery(), count = scan.getTripCount() / each;
  if (failed(checkStaticShapes(scan, "mpt-autodiff")))
    return failure();
  scan.removeCheckpointEveryAttr();
  if (each == 1) {
    for (Operation &op : scan.getBlock().without_terminator())
      markNever(&op);
    return success();
  }
  OpBuilder builder(scan);
  const unsigned carried = scan.getNumCarried();
  // [count * each, ..] as [count, each, ..].
  auto group = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape = {count, each};
    llvm::append_range(shape, tensor.getShape().drop_front());
    return tensor.clone(shape);
  };
  SmallVector<Type> types(scan.getInits().getTypes());
  for (Type type : llvm::drop_begin(scan.getResultTypes(), carried))
    types.push_back(group(type));
  auto inputs = llvm::map_to_vector(scan.getInputs(), [&](Value input) {
    return reshape(builder, input, group(input.getType()).getShape());
  });
  auto groups = ScanOp::create(builder, scan.getLoc(), types, uint64_t(count),
                               scan.getReverse(), scan.getInits(), inputs, IntegerAttr());
  Block &block = groups.getBody().emplaceBlock();
  for (Type type : scan.getInits().getTypes())
    block.addArgument(type, scan.getLoc());
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    block.addArgument(type.clone(type.getShape().drop_front()), scan.getLoc());
  }
  for (unsigned i = 0; i < types.size(); ++i) {
    Value result = groups.getResult(i);
    Value whole =
        i < carried
            ? result
            : reshape(builder, result,
                      cast<RankedTensorType>(scan.getResult(i).getType()).getShape());
    scan.getResult(i).replaceAllUsesWith(whole);
  }
  // The scan itself goes inside.
  auto arguments = block.getArguments();
  scan->moveBefore(&block, block.end());
  scan.getInitsMutable().assign(arguments.take_front(carried));
  scan.getInputsMutable().assign(arguments.drop_front(carried));
  scan.setTripCount(each);
  for (auto [i, type] : llvm::enumerate(types))
    if (i >= carried) {
      auto tensor = cast<RankedTensorType>(type);
      scan.getResult(i).setType(tensor.clone(tensor.getShape().drop_front()));
    }
  markNever(scan);
  builder.setInsertionPointToEnd(&block);
  YieldOp::create(builder, scan.getLoc(), scan.getResults());
  return success();
}

/// Replaces each `mpt.checkpoint` by its body, whose ops are marked to be recomputed
/// rather than saved.
void inlineCheckpoints(func::FuncOp function) {
  SmallVector<CheckpointOp> checkpoints;
  function.walk([&](CheckpointOp op) { checkpoints.push_back(op); });
  for (CheckpointOp checkpoint : checkpoints) {
    Block &body = checkpoint.getBody().front();
    auto yield = cast<YieldOp>(body.getTerminator());
    for (Operation &op : body.without_terminator())
      markNever(&op);
    // What leaves the region is saved.
    for (Value value : yield.getValues())
      if (Operation *op = value.getDefiningOp())
        if (op->getBlock() == &body)
          op->removeAttr(kSaveAttr);
    SmallVector<Value> values(yield.getValues());
    checkpoint->getBlock()->getOperations().splice(checkpoint->getIterator(),
                                                   body.getOperations(), body.begin(),
                                                   std::prev(body.end()));
    checkpoint->replaceAllUsesWith(values);
    checkpoint->erase();
  }
}

class Differentiator {
public:
  explicit Differentiator(func::FuncOp function)
      : function(function), block(function.getBody().front()),
        builder(function.getContext()) {}

  LogicalResult run();

private:
  /// Marks every value in `block` that depends on a parameter and can carry a gradient.
  void findActive(Block &block);
  /// Finds what depends on parameters.
  void findActive();
  void findActive(ScanOp scan);
  /// Marks `to` if `from` is marked; true if it was not.
  bool passActive(Value from, Value to);
  /// The results that are losses, by number: those with `mpt.loss`, else the first.
  FailureOr<SmallVector<unsigned>> findLosses();
  /// Appends the backward pass of `loss`.
  LogicalResult differentiateLoss(Value loss);
  /// Appends the markers of all gradients, and returns these from the function.
  LogicalResult addMarkers(ArrayRef<unsigned> losses);
  FailureOr<Value> makeZeros(BlockArgument parameter, StringRef name);
  LogicalResult differentiate(Operation *op);
  LogicalResult differentiate(ScanOp scan);
  /// Gives ops of the backward pass in `backward`, which read what the body of `scan`
  /// computes, slices of stacked inputs or what they compute again. Adds these inputs to
  /// `inputs` and returns `scan`, or what now takes its place to return them.
  ScanOp passResiduals(ScanOp scan, Block &backward, SmallVectorImpl<Value> &inputs);
  /// `scan`, or what takes its place, such that it yields `yielded`, which begins with
  /// what it yields now. A scan that is to be recomputed runs again instead.
  ScanOp returnFrom(ScanOp scan, ArrayRef<Value> yielded);
  void markClones(Operation *root);
  /// A constant of zeros that sums leave out.
  FailureOr<Value> makeZeros(Operation *op, Type type);
  void accumulate(Value value, Value gradient);
  bool isActive(Value value) const { return active.contains(value); }
  /// True if a region of `op` uses an active value from above.
  bool capturesActive(Operation *op) const;

  func::FuncOp function;
  Block &block;
  OpBuilder builder;
  SmallVector<BlockArgument> parameters;
  DenseSet<Value> active;
  /// Makes clones unique (`mpt.remat`).
  int64_t nextClone = 0;
  DenseMap<Value, Value> gradients;
  /// Of each loss: its seed, and its gradients of `parameters`, null where there is none.
  SmallVector<GradSeedOp> seeds;
  SmallVector<SmallVector<Value>> parameterGradients;
};

bool Differentiator::passActive(Value from, Value to) {
  return isActive(from) && isa<FloatType>(getElementTypeOrSelf(to.getType())) &&
         active.insert(to).second;
}

void Differentiator::findActive() {
  active.clear();
  active.insert(parameters.begin(), parameters.end());
  findActive(block);
}

void Differentiator::findActive(ScanOp scan) {
  Block &body = scan.getBlock();
  ValueRange yielded = scan.getYield().getValues();
  for (auto [operand, argument] :
       llvm::zip_equal(scan->getOperands(), body.getArguments()))
    passActive(operand, argument);
  // What one iteration makes of a parameter the next one carries.
  for (bool changed = true; changed;) {
    findActive(body);
    changed = false;
    for (unsigned i = 0; i < scan.getNumCarried(); ++i)
      changed |= passActive(yielded[i], body.getArgument(i));
  }
  for (auto [value, result] : llvm::zip_equal(yielded, scan.getResults()))
    passActive(value, result);
}

void Differentiator::findActive(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto scan = dyn_cast<ScanOp>(op)) {
      findActive(scan);
      continue;
    }
    bool dependsOnParameter =
        llvm::any_of(op.getOperands(), [&](Value v) { return isActive(v); }) ||
        capturesActive(&op);
    if (isa<StopGradientOp>(op) || !dependsOnParameter)
      continue;
    for (Value result : op.getResults())
      if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
        active.insert(result);
  }
}

bool Differentiator::capturesActive(Operation *op) const {
  bool captures = false;
  for (Region &region : op->getRegions())
    visitUsedValuesDefinedAbove(
        region, region, [&](OpOperand *use) { captures |= isActive(use->get()); });
  return captures;
}

void Differentiator::accumulate(Value value, Value gradient) {
  Value &sum = gradients[value];
  sum = sum ? AddOp::create(builder, gradient.getLoc(), value.getType(), sum, gradient)
                  .getResult()
            : gradient;
}

LogicalResult Differentiator::differentiate(Operation *op) {
  SmallVector<Value> resultGrads;
  for (Value result : op->getResults())
    resultGrads.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGrads, [](Value gradient) { return gradient; }))
    return success();
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(isActive(operand));
  if (llvm::none_of(needed, [](bool need) { return need; }) && !capturesActive(op))
    return success();
  if (auto scan = dyn_cast<ScanOp>(op))
    return differentiate(scan);
  auto rule = dyn_cast<DifferentiableOpInterface>(op);
  if (!rule) {
    InFlightDiagnostic diagnostic = op->emitError("'")
                                    << op->getName()
                                    << "' is on a path from a parameter to the loss but "
                                       "has no gradient rule";
    if (op->getNumRegions() > 0)
      diagnostic << "; unroll or inline it first";
    else if (op->getName().getStringRef() == "func.call")
      diagnostic << "; inline the call first (--inline)";
    else
      diagnostic << "; cut the path with mpt.stop_gradient if it needs none";
    return diagnostic;
  }
  SmallVector<Value> operandGrads(op->getNumOperands());
  // Where a rule reads only some results' gradients, the first may be missing.
  Block *block = builder.getInsertionBlock();
  Block::iterator at = builder.getInsertionPoint();
  Operation *last = at == block->begin() ? nullptr : &*std::prev(at);
  if (failed(rule.buildGradients(builder, resultGrads, needed, operandGrads)))
    return failure();
  // The matmuls of a gradient stay in f32 with the op.
  auto precision = op->getAttrOfType<StringAttr>(kPrecisionAttr);
  if (precision && precision.getValue() == "f32")
    for (Operation &made :
         llvm::make_range(last ? std::next(last->getIterator()) : block->begin(), at)) {
      auto policy = dyn_cast<PrecisionOpInterface>(made);
      if (policy &&
          policy.getPrecisionClass(builder.getBF16Type()) == PrecisionClass::Allow)
        made.setAttr(kPrecisionAttr, precision);
    }
  for (auto [operand, gradient, need] :
       llvm::zip_equal(op->getOperands(), operandGrads, needed)) {
    if (!need || !gradient)
      continue;
    if (gradient.getType() != operand.getType()) {
      auto type = cast<RankedTensorType>(operand.getType());
      if (cast<ShapedType>(gradient.getType()).getShape() != type.getShape())
        gradient = ReshapeOp::create(builder, op->getLoc(),
                                     type.clone(getElementTypeOrSelf(gradient.getType())),
                                     gradient);
      if (gradient.getType() != type)
        gradient = CastOp::create(builder, op->getLoc(), type, gradient);
    }
    accumulate(operand, gradient);
  }
  return success();
}

FailureOr<Value> Differentiator::makeZeros(Operation *op, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (!tensor.hasStaticShape())
    return op->emitError("mpt-autodiff: expected static shapes, found ")
           << type << "; run --mpt-specialize first";
  // x + -0 is x, also where x is -0.
  return ConstantOp::create(
             builder, op->getLoc(), type,
             DenseElementsAttr::get(tensor,
                                    builder.getFloatAttr(tensor.getElementType(), -0.0)))
      .getResult();
}

LogicalResult Differentiator::differentiate(ScanOp scan) {
  const Location loc = scan.getLoc();
  if (scan.getConditional())
    return scan.emitOpError(
        "is on a path from a parameter to the loss, and runs until a "
        "value is false, so that its iterations have no gradient; write a "
        "loop that runs a constant number of times, end the gradient before "
        "it (mpt.stop_gradient), or in mpt.jax give gradients=\"jax\"");
  Block &body = scan.getBlock();
  const unsigned carried = scan.getNumCarried();
  SetVector<Value> captured;
  visitUsedValuesDefinedAbove(scan.getBody(), scan.getBody(), [&](OpOperand *use) {
    if (isActive(use->get()))
      captured.insert(use->get());
  });
  // What the backward pass carries are the gradients of what the forward pass carries,
  // and the sums for values from above, which go on: the order of a sum is that of the
  // same iterations one after the other.
  SmallVector<Value> inits, inputs;
  SmallVector<BlockArgument> carriedArguments;
  for (BlockArgument argument : body.getArguments().take_front(carried)) {
    if (!isActive(argument))
      continue;
    carriedArguments.push_back(argument);
    Value gradient = gradients.lookup(scan.getResult(argument.getArgNumber()));
    FailureOr<Value> first = gradient ? gradient : makeZeros(scan, argument.getType());
    if (failed(first))
      return failure();
    inits.push_back(*first);
  }
  for (Value value : captured) {
    Value sum = gradients.lookup(value);
    FailureOr<Value> first = sum ? sum : makeZeros(scan, value.getType());
    if (failed(first))
      return failure();
    inits.push_back(*first);
  }
  Region region;
  Block &backward = region.emplaceBlock();
  for (Value init : inits)
    backward.addArgument(init.getType(), loc);
  DenseMap<Value, Value> outside = std::move(gradients);
  gradients.clear();
  OpBuilder::InsertPoint place = builder.saveInsertionPoint();
  builder.setInsertionPointToEnd(&backward);
  ValueRange yielded = scan.getYield().getValues();
  for (auto [k, value] : llvm::enumerate(captured))
    gradients[value] = backward.getArgument(carriedArguments.size() + k);
  for (auto [k, argument] : llvm::enumerate(carriedArguments))
    if (Value next = yielded[argument.getArgNumber()]; isActive(next))
      accumulate(next, backward.getArgument(k));
  for (unsigned i = carried; i < scan.getNumResults(); ++i)
    if (Value gradient = outside.lookup(scan.getResult(i))) {
      inputs.push_back(gradient);
      accumulate(yielded[i], backward.addArgument(yielded[i].getType(), loc));
    }
  SmallVector<Operation *> forward;
  for (Operation &op : body.without_terminator())
    forward.push_back(&op);
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op)))
      return failure();

  SmallVector<Value> results;
  for (BlockArgument argument : carriedArguments) {
    Value gradient = gradients.lookup(argument);
    FailureOr<Value> next = gradient ? gradient : makeZeros(scan, argument.getType());
    if (failed(next))
      return failure();
    results.push_back(*next);
  }
  for (Value value : captured)
    results.push_back(gradients.lookup(value));
  SmallVector<unsigned> inputNumbers;
  for (auto [k, input] : llvm::enumerate(scan.getInputs()))
    if (Value gradient = gradients.lookup(body.getArgument(carried + k));
        gradient && isActive(input)) {
      results.push_back(gradient);
      inputNumbers.push_back(k);
    }
  YieldOp::create(builder, loc, results);
  gradients = std::move(outside);
  builder.restoreInsertionPoint(place);

  scan = passResiduals(scan, backward, inputs);
  SmallVector<Type> types;
  for (auto [i, result] : llvm::enumerate(results)) {
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (i >= inits.size())
      shape.insert(shape.begin(), scan.getTripCount());
    types.push_back(type.clone(shape));
  }
  auto made = ScanOp::create(builder, loc, types, scan.getTripCount(), !scan.getReverse(),
                             inits, inputs, IntegerAttr());
  made.getBody().takeBody(region);
  for (auto [k, value] : llvm::enumerate(captured))
    gradients[value] = made.getResult(carriedArguments.size() + k);
  for (auto [k, argument] : llvm::enumerate(carriedArguments))
    if (Value init = scan.getInits()[argument.getArgNumber()]; isActive(init))
      accumulate(init, made.getResult(k));
  for (auto [k, number] : llvm::enumerate(inputNumbers))
    accumulate(scan.getInputs()[number], made.getResult(inits.size() + k));
  return success();
}

ScanOp Differentiator::passResiduals(ScanOp scan, Block &backward,
                                     SmallVectorImpl<Value> &inputs) {
  // The block stays where a scan takes the place of another.
  Block *forward = &scan.getBlock();
  auto isForward = [&](Value value) { return value.getParentBlock() == forward; };
  SetVector<Value> read;
  auto addOperands = [&](Operation *root) {
    root->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (isForward(operand))
          read.insert(operand);
    });
  };
  for (Operation &op : backward)
    addOperands(&op);
  const unsigned carried = scan.getNumCarried();
  SmallVector<Value> yielded(scan.getYield().getValues());
  auto isYielded = [&](Value value) {
    return llvm::is_contained(ArrayRef(yielded).drop_front(carried), value);
  };
  // What is computed again is marked, or takes no time.
  SetVector<Operation *> repeated;
  for (Operation &op : llvm::reverse(scan.getBlock().without_terminator())) {
    if (!llvm::any_of(op.getResults(), [&](Value v) { return read.contains(v); }) ||
        llvm::all_of(op.getResults(),
                     [&](Value v) { return !read.contains(v) || isYielded(v); }))
      continue;
    if (!isNever(&op) && !op.hasTrait<OpTrait::ConstantLike>() &&
        !isa<ReshapeOp, BroadcastOp>(op))
      continue;
    repeated.insert(&op);
    addOperands(&op);
  }

  IRMapping mapping;
  // The numbers of an input and of the result that it is.
  SmallVector<std::pair<unsigned, unsigned>> residuals;
  for (Value value : read) {
    Operation *op = value.getDefiningOp();
    if (op && repeated.contains(op) && !isYielded(value))
      continue;
    BlockArgument slice = backward.addArgument(value.getType(), scan.getLoc());
    mapping.map(value, slice);
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getArgNumber() >= carried) {
      inputs.push_back(scan.getInputs()[argument.getArgNumber() - carried]);
      continue;
    }
    auto *found = std::find(yielded.begin() + carried, yielded.end(), value);
    residuals.push_back({static_cast<unsigned>(inputs.size()),
                         static_cast<unsigned>(found - yielded.begin())});
    if (found == yielded.end())
      yielded.push_back(value);
    inputs.push_back(Value());
  }
  OpBuilder::InsertionGuard guard(builder);
  ScanOp whole = residuals.empty() ? scan : returnFrom(scan, yielded);
  for (auto [input, result] : residuals)
    inputs[input] = whole.getResult(result);
  builder.setInsertionPointToStart(&backward);
  for (Operation *op : llvm::reverse(repeated)) {
    Operation *clone = builder.clone(*op, mapping);
    if (isNever(op))
      markClones(clone);
  }
  for (Operation &op :
       llvm::make_range(std::next(backward.begin(), repeated.size()), backward.end()))
    op.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (isForward(operand.get()))
          operand.set(mapping.lookup(operand.get()));
    });
  return whole;
}

void Differentiator::markClones(Operation *root) {
  root->walk([&](Operation *op) {
    op->removeAttr(kSaveAttr);
    if (!op->hasTrait<OpTrait::ConstantLike>() && op->getNumResults() != 0)
      op->setAttr(kRematAttr, builder.getI64IntegerAttr(nextClone++));
  });
}

ScanOp Differentiator::returnFrom(ScanOp scan, ArrayRef<Value> yielded) {
  const bool isRepeated = isNever(scan);
  if (!isRepeated && yielded.size() == scan.getNumResults())
    return scan;
  SmallVector<Type> types(scan.getResultTypes());
  for (Value value : yielded.drop_front(types.size())) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = {static_cast<int64_t>(scan.getTripCount())};
    llvm::append_range(shape, type.getShape());
    types.push_back(type.clone(shape));
  }
  if (!isRepeated)
    builder.setInsertionPoint(scan);
  auto whole =
      ScanOp::create(builder, scan.getLoc(), types, scan.getTripCount(),
                     scan.getReverse(), scan.getInits(), scan.getInputs(), IntegerAttr());
  if (isRepeated) {
    IRMapping mapping;
    scan.getBody().cloneInto(&whole.getBody(), mapping);
    whole.getYield().getValuesMutable().assign(llvm::map_to_vector(
        yielded, [&](Value value) { return mapping.lookupOrDefault(value); }));
    markClones(whole);
    return whole;
  }
  whole->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  whole.getBody().takeBody(scan.getBody());
  whole.getYield().getValuesMutable().assign(yielded);
  for (auto [before, after] : llvm::zip(scan.getResults(), whole.getResults())) {
    if (active.erase(before))
      active.insert(after);
    gradients.erase(before);
    before.replaceAllUsesWith(after);
  }
  scan.erase();
  return whole;
}

FailureOr<SmallVector<unsigned>> Differentiator::findLosses() {
  Operation *terminator = block.getTerminator();
  SmallVector<unsigned> losses;
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
    if (function.getResultAttr(i, kLossAttr))
      losses.push_back(i);
  const bool isMarked = !losses.empty();
  if (!isMarked)
    losses.push_back(0);
  auto isScalarFloat = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0 && isa<FloatType>(tensor.getElementType());
  };
  for (unsigned i : losses) {
    Type type = i < terminator->getNumOperands()
                    ? terminator->getOperand(i).getType()
                    : Type(NoneType::get(function.getContext()));
    if (!isMarked && !isScalarFloat(type))
      return mlir::emitError(getResultLocation(function),
                             "mpt-autodiff: expected the function's first result "
                             "to be the loss, a scalar float tensor; found ")
             << type;
    if (!isScalarFloat(type))
      return mlir::emitError(getResultLocation(function),
                             "mpt-autodiff: expected result ")
             << i << ", which has 'mpt.loss', to be a scalar float tensor; found "
             << type;
    if (isMarked && !StepView::getResultName(function, i))
      return mlir::emitError(getResultLocation(function),
                             "mpt-autodiff: expected a 'mpt.name' on result ")
             << i << ", which has 'mpt.loss'";
  }
  return losses;
}

LogicalResult Differentiator::differentiateLoss(Value loss) {
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator()) {
    if (isa<GradSeedOp>(op))
      break;
    forward.push_back(&op);
  }
  gradients.clear();
  GradSeedOp seed = GradSeedOp::create(builder, loss.getLoc(), loss.getType());
  gradients[loss] = seed;
  seeds.push_back(seed);
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op)))
      return failure();
  SmallVector<Value> &values = parameterGradients.emplace_back();
  for (BlockArgument parameter : parameters)
    values.push_back(gradients.lookup(parameter));
  return success();
}

FailureOr<Value> Differentiator::makeZeros(BlockArgument parameter, StringRef name) {
  mlir::emitWarning(parameter.getLoc(), "mpt-autodiff: parameter '")
      << name << "' does not reach the loss; its gradient is zero";
  auto type = cast<RankedTensorType>(parameter.getType());
  if (!type.hasStaticShape())
    return mlir::emitError(parameter.getLoc(),
                           "mpt-autodiff: expected parameters of static shape, found ")
           << type;
  return ConstantOp::create(builder, function.getLoc(), type,
                            DenseElementsAttr::get(
                                type, builder.getFloatAttr(type.getElementType(), 0.0)))
      .getResult();
}

LogicalResult Differentiator::addMarkers(ArrayRef<unsigned> losses) {
  StepEditor editor(function, "mpt-autodiff");
  for (auto [k, result] : llvm::enumerate(losses)) {
    std::string prefix = "grad.";
    StringAttr loss;
    if (function.getResultAttr(result, kLossAttr)) {
      loss = StepView::getResultName(function, result);
      prefix += loss.getValue().str() + ".";
    }
    SmallVector<Value> values;
    SmallVector<Attribute> names;
    for (auto [i, parameter] : llvm::enumerate(parameters)) {
      StringAttr name = StepView::getName(function, parameter.getArgNumber());
      Value gradient = parameterGradients[k][i];
      // What one of several losses does not reach has no gradient of it; what none
      // reaches has zeros, of the first.
      if (!gradient &&
          (k > 0 || llvm::any_of(parameterGradients, [&, at = i](const auto &other) {
             return bool(other[at]);
           })))
        continue;
      if (!gradient) {
        FailureOr<Value> zeros = makeZeros(parameter, name.getValue());
        if (failed(zeros))
          return failure();
        gradient = *zeros;
      }
      values.push_back(gradient);
      names.push_back(name);
    }
    if (values.empty())
      return function.emitError("mpt-autodiff: no parameter reaches the loss ") << loss;
    auto marker = GradientsOp::create(builder, function.getLoc(), values,
                                      builder.getArrayAttr(names));
    if (loss) {
      marker->setAttr(kLossAttr, loss);
      seeds[k]->setAttr(kLossAttr, loss);
    }
    for (auto [name, gradient] : llvm::zip_equal(names, marker.getOutputs()))
      editor.addResult(gradient, prefix + cast<StringAttr>(name).getValue().str());
  }
  return editor.finish();
}

LogicalResult Differentiator::run() {
  FailureOr<SmallVector<unsigned>> losses = findLosses();
  if (failed(losses))
    return failure();
  if (!block.getOps<GradSeedOp>().empty())
    return function.emitError("mpt-autodiff: the function has a mpt.grad_seed: it "
                              "was differentiated before");
  for (BlockArgument argument : function.getArguments()) {
    if (StepView::getRole(function, argument.getArgNumber()) != Role::Parameter)
      continue;
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return mlir::emitError(argument.getLoc(),
                             "mpt-autodiff: expected parameters to be ranked "
                             "tensors of a float type, found argument ")
             << argument.getArgNumber() << " of type " << argument.getType();
    if (!StepView::getName(function, argument.getArgNumber()))
      return mlir::emitError(argument.getLoc(),
                             "mpt-autodiff: expected a 'mpt.name' on every "
                             "parameter, found none on argument ")
             << argument.getArgNumber();
    parameters.push_back(argument);
  }
  if (parameters.empty())
    return function.emitError("mpt-autodiff: expected an argument with mpt.role "
                              "= \"parameter\" to differentiate for, found none; of an "
                              "import, --mpt-convert-stablehlo=parameters=NAME says "
                              "which arguments have it");

  // Here, where the results are the user's own, and not where a tool needs the name.
  warnOfUnnamedResults(function, "mpt-autodiff");

  SmallVector<ScanOp> grouped;
  function.walk([&](Operation *op) {
    if (auto scan = dyn_cast<ScanOp>(op); scan && scan.getCheckpointEvery())
      grouped.push_back(scan);
    if (auto clone = op->getAttrOfType<IntegerAttr>(kRematAttr))
      nextClone = std::max(nextClone, clone.getInt() + 1);
  });
  for (ScanOp scan : grouped)
    if (failed(groupIterations(scan)))
      return failure();
  inlineCheckpoints(function);
  Operation *terminator = block.getTerminator();
  findActive();
  // Branches that gradients flow through are computed, taken or not.
  SmallVector<ScanOp> branches;
  function.walk([&](ScanOp scan) {
    if (scan.getConditional() && scan.getTripCount() == 1 &&
        llvm::any_of(scan.getResults(), [&](Value result) { return isActive(result); }))
      branches.push_back(scan);
  });
  for (ScanOp branch : branches)
    selectBranch(branch, /*isDifferentiated=*/true);
  if (!branches.empty())
    findActive();

  builder.setInsertionPoint(terminator);
  for (unsigned result : *losses)
    if (failed(differentiateLoss(terminator->getOperand(result))))
      return failure();
  // The backward passes of scans recompute what is marked by themselves.
  function.walk([](ScanOp scan) {
    for (Operation &op : scan.getBlock())
      if (isNever(&op))
        op.removeAttr(kSaveAttr);
  });
  return addMarkers(*losses);
}

struct AutodiffPass : mpt::impl::AutodiffPassBase<AutodiffPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp forward = findStepFunction(getOperation(), function, "mpt-autodiff");
    if (!forward || failed(Differentiator(forward).run()))
      signalPassFailure();
  }
};

} // namespace
