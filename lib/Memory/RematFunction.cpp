//===- RematFunction.cpp - A function as a rematerialization graph -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/RematFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/Kernel/Transforms/FusionPlan.h"
#include "mpt/Dialect/MPT/Transforms/JoinedParts.h"
#include "mpt/Precision/OpFlops.h"
#include "mpt/Support/ElementCount.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;

namespace {

constexpr int64_t alignment = 64;

/// Bytes of a value; nullopt if countBytes does not count it. A value that is not a
/// tensor takes none.
std::optional<int64_t> getBytes(Type type) {
  auto tensor = dyn_cast<ShapedType>(type);
  if (!tensor)
    return 0;
  if (!tensor.hasRank())
    return std::nullopt;
  Type element = tensor.getElementType();
  int64_t bits = 64;
  if (element.isIntOrFloat())
    bits = element.getIntOrFloatBitWidth();
  else if (auto complex = dyn_cast<ComplexType>(element))
    bits = complex.getElementType().isIntOrFloat()
               ? 2 * complex.getElementType().getIntOrFloatBitWidth()
               : 128;
  std::optional<int64_t> bytes = countBytes(tensor.getShape(), bits);
  if (!bytes)
    return std::nullopt;
  return int64_t(llvm::alignTo(*bytes, alignment));
}

/// A value from nothing, in a form that is there throughout: `constant` of any
/// dialect.
bool isConstant(Operation *op) {
  return op->getNumOperands() == 0 && op->getNumResults() == 1 &&
         op->getNumRegions() == 0 &&
         (op->hasTrait<OpTrait::ConstantLike>() ||
          op->getAttrOfType<ElementsAttr>("value"));
}

/// True if each float of `from` is one of `to`, which takes more bits.
bool isWider(Type from, Type to) {
  auto narrow = dyn_cast<FloatType>(from), wide = dyn_cast<FloatType>(to);
  return narrow && wide && narrow.getWidth() < wide.getWidth() &&
         llvm::APFloat::isRepresentableBy(narrow.getFloatSemantics(),
                                          wide.getFloatSemantics());
}

/// A kernel that does nothing else.
bool onlyWidens(kernel::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (body.getNumArguments() != 1 || kernel.getOperandMaps() != kernel.getResultMaps())
    return false;
  auto widening = dyn_cast<arith::ExtFOp>(body.front());
  Operation *yield = body.getTerminator();
  return widening && widening->getNextNode() == yield &&
         widening.getIn() == body.getArgument(0) &&
         yield->getOperand(0) == widening.getResult();
}

/// A cast of any dialect, as its rule table spells it.
bool isCast(Operation *op, const RuleTable &rules) {
  StringRef name = op->getName().getStringRef();
  const OpRule *rule = rules.lookup(op);
  const DialectSpelling *spelling =
      rules.getSpelling(op->getName().getDialectNamespace());
  return isa<CastOp>(op) || (rule && rule->cast) ||
         (spelling && (name == spelling->castOp || name == spelling->castUpOp));
}

/// True if `op` turns floats into those of a type that has all of them and takes more
/// bits.
bool isExactWidening(Operation *op, const RuleTable &rules) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return false;
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!from || !to || from.getShape() != to.getShape() ||
      !isWider(from.getElementType(), to.getElementType()))
    return false;
  auto kernel = dyn_cast<kernel::KernelOp>(op);
  return kernel ? onlyWidens(kernel) : isCast(op, rules);
}

/// Instructions for an element of a function such as exp, and of another op.
constexpr double functionWeight = 32, simpleWeight = 0.5;

/// Whether `op` computes such a function.
bool isFunction(Operation *op) {
  return isa<ExpOp, LogOp, Log1pOp, TanhOp, SigmoidOp, ErfOp, SinOp, CosOp, PowOp, SiluOp,
             GeluOp, SoftplusOp>(op);
}

class Describer {
public:
  Describer(Block &block, const RematFunctionOptions &options)
      : block(block), options(options), rules(*options.rules) {}

  FailureOr<RematFunction> run() {
    isFused = llvm::any_of(block, llvm::IsaPred<kernel::KernelOp>);
    for (Operation &op : block.without_terminator())
      if (failed(visit(&op)))
        return failure();
    for (Value returned : block.getTerminator()->getOperands()) {
      auto it = result.numbers.find(result.getOwner(returned));
      if (it == result.numbers.end())
        continue;
      RematValue &value = result.graph.values[it->second];
      value.leaves = true;
      value.bytes = 0;
    }
    if (backward)
      result.graph.backward = *backward;
    else
      guessBackward(result.graph);
    for (auto [node, op] : llvm::zip_equal(result.graph.nodes, result.ops))
      setRepeatCost(op, node);
    return std::move(result);
  }

private:
  LogicalResult visit(Operation *op);
  void setCost(Operation *op, RematNode &node, int64_t read, int64_t made);
  /// Whether the kernels that read `op` in the backward pass can compute it themselves.
  bool isAbsorbed(Operation *op);
  /// Describes how `node`, of `op`, would run once more in the backward pass.
  void setRepeatCost(Operation *op, RematNode &node);
  /// What one iteration costs.
  double getIterationCost(ScanOp scan);

  Block &block;
  const RematFunctionOptions &options;
  RuleTable &rules;
  /// Whether casts that are not in kernels are rounded on read.
  bool isFused = false;
  RematFunction result;
  std::optional<uint32_t> backward;
};

double Describer::getIterationCost(ScanOp scan) {
  double cost = 0;
  for (Operation &op : scan.getBlock().without_terminator()) {
    if (isConstant(&op))
      continue;
    RematNode node;
    int64_t read = 0, made = 0;
    for (Type type : op.getOperandTypes())
      read += getBytes(type).value_or(0);
    for (Type type : op.getResultTypes())
      made += getBytes(type).value_or(0);
    setCost(&op, node, read, made);
    cost += double(node.cost);
  }
  return cost;
}

void Describer::setCost(Operation *op, RematNode &node, int64_t read, int64_t made) {
  double cost = double(read) + double(made) + node.workspace;
  rules.addBuiltin(op->getName().getDialectNamespace());
  std::optional<OpFlops> flops = countFlops(op, rules, /*isContraction=*/false);
  if (flops)
    cost = std::max(cost, double(flops->flops) / options.flopsPerByte);
  // Inside a kernel nothing is moved, but everything is computed.
  if (auto kernel = dyn_cast<kernel::KernelOp>(op)) {
    double points = 1, weight = 0;
    for (int64_t size : kernel.getDomain())
      points *= double(size);
    for (Operation &inner : kernel.getBody().front())
      weight += inner.getName().getDialectNamespace() == "math" ? 8 : 0.5;
    cost = std::max(cost, points * weight / options.flopsPerByte);
  }
  // All iterations that are known to run.
  if (auto scan = dyn_cast<ScanOp>(op))
    cost = std::max(cost, getIterationCost(scan) *
                              (scan.getConditional() ? 1 : double(scan.getTripCount())));
  node.cost = int64_t(std::min(cost, 1e15)) + options.startCost;
  node.isFree = !flops && !isa<ScanOp>(op) && 4 * made >= read;
}

bool Describer::isAbsorbed(Operation *op) {
  if (!isFusibleElementwise(op) || result.graph.backward >= result.ops.size())
    return false;
  Operation *firstBackward = result.ops[result.graph.backward];
  SmallVector<Operation *> readers(op->getUsers());
  while (!readers.empty()) {
    Operation *reader = readers.pop_back_val();
    if (reader->getBlock() != &block)
      return false;
    if (isa<ReshapeOp>(reader))
      llvm::append_range(readers, reader->getUsers());
    else if (!reader->isBeforeInBlock(firstBackward) && !isa<ReduceOp>(reader) &&
             !isFusibleElementwise(reader))
      return false;
  }
  return true;
}

void Describer::setRepeatCost(Operation *op, RematNode &node) {
  node.isAbsorbed = isAbsorbed(op);
  node.splitsKernels = isHeavyCall(op);
  node.repeatCost = node.cost;
  if (!node.isAbsorbed)
    return;
  double points = 1;
  for (int64_t size : cast<RankedTensorType>(op->getResult(0).getType()).getShape())
    points *= double(size);
  const double weight = isFunction(op) ? functionWeight : simpleWeight;
  node.repeatCost = int64_t(std::min(points * weight / options.flopsPerByte, 1e15));
}

LogicalResult Describer::visit(Operation *op) {
  if (isConstant(op))
    return success();
  if (isa<ReshapeOp, BarrierOp>(op) || (isFused && isRoundedOnRead(op)) ||
      isJoinedPart(op) ||
      (!options.barrier.empty() && op->getName().getStringRef() == options.barrier &&
       op->getOperandTypes() == op->getResultTypes())) {
    for (auto [from, to] : llvm::zip_equal(op->getOperands(), op->getResults()))
      result.owners[to] = result.getOwner(from);
    return success();
  }
  RematNode node;
  if (auto save = op->getAttrOfType<StringAttr>(kSaveAttr))
    node.save = save.getValue() == "must" ? RematSave::Must : RematSave::Never;
  int64_t read = 0, made = 0;
  auto add = [&](Value operand) {
    Value owner = result.getOwner(operand);
    read += getBytes(owner.getType()).value_or(0);
    auto it = result.numbers.find(owner);
    if (it != result.numbers.end() && !llvm::is_contained(node.inputs, it->second))
      node.inputs.push_back(it->second);
  };
  for (Value operand : op->getOperands())
    add(operand);
  // What its regions take from outside.
  op->walk([&](Operation *inner) {
    if (inner != op)
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == op->getBlock())
          add(operand);
  });
  for (Type type : op->getResultTypes()) {
    std::optional<int64_t> bytes = getBytes(type);
    auto shaped = dyn_cast<ShapedType>(type);
    if (!bytes && shaped && shaped.hasStaticShape())
      return op->emitError("a value of more than 2^50 elements or 2^53 bytes cannot be "
                           "planned: ")
             << type;
    if (!bytes)
      return op->emitError("planning memory needs static shapes, but a result is ")
             << type << "; give dynamic dimensions a size first";
    made += *bytes;
  }
  op->walk([&](Operation *inner) {
    rules.addBuiltin(inner->getName().getDialectNamespace());
  });
  node.mayRepeat = op->getNumResults() > 0 && isRepeatable(op, rules);
  node.workspace = options.workspaces.lookup(op);
  node.inPlace = options.inPlace.lookup(op);
  node.prunesOutputs = isa<kernel::KernelOp>(op);
  node.widens = isExactWidening(op, rules);
  setCost(op, node, read, made);
  // Decomposing leaves a constant of the seed, and a mark on what reads it.
  if (!backward && (isa<GradSeedOp>(op) || op->hasAttr(kBackwardAttr)))
    backward = result.graph.nodes.size();
  uint32_t id = result.graph.addNode(std::move(node));
  result.ops.push_back(op);
  for (Value value : op->getResults()) {
    result.numbers[value] = result.graph.addValue(id, *getBytes(value.getType()));
    result.values.push_back(value);
  }
  return success();
}

} // namespace

bool mpt::isRepeatable(Operation *op, const RuleTable &rules) {
  bool repeats = true;
  op->walk([&](Operation *inner) {
    if (inner != op && inner->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    const OpRule *rule = rules.lookup(inner);
    const MemoryRow *row = rules.lookupMemory(inner);
    if ((rule && !rule->pure) || (row && !row->repeatable))
      repeats = false;
    else if (inner->isRegistered())
      repeats = isMemoryEffectFree(inner) ||
                inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
    else
      // Unknown ops may do anything.
      repeats = rule || row;
    return repeats ? WalkResult::advance() : WalkResult::interrupt();
  });
  return repeats;
}

/// What such a compiler does with each node.
static std::vector<FusedNode> describeFusion(const RematFunction &described,
                                             const RuleTable &rules) {
  std::vector<FusedNode> nodes;
  for (Operation *op : described.ops) {
    FusedNode &node = nodes.emplace_back();
    const MemoryRow *row = rules.lookupMemory(op);
    LoopFusion fusion = row                                    ? row->fusion
                        : op->hasTrait<OpTrait::Elementwise>() ? LoopFusion::Any
                                                               : LoopFusion::None;
    node.fusesOperands = fusion != LoopFusion::None;
    node.fusesResult = fusion == LoopFusion::Any || fusion == LoopFusion::Single;
    node.once = fusion == LoopFusion::Single;
    node.renames = row && row->result == ResultMemory::View;
    node.updates = row && row->result == ResultMemory::Update;
  }
  return nodes;
}

FailureOr<RematFunction> mpt::buildRematFunction(func::FuncOp function,
                                                 const RematFunctionOptions &options) {
  return Describer(function.getBody().front(), options).run();
}

/// Bytes that a compiler that fuses needs for what is in `block`.
static FailureOr<int64_t> measureFused(Block &block,
                                       const RematFunctionOptions &options) {
  FailureOr<RematFunction> described = Describer(block, options).run();
  if (failed(described) || failed(fuseRematFunction(*described, options)))
    return failure();
  return measureRemat(described->graph, getPlainOrder(described->graph)).peak;
}

LogicalResult mpt::fuseRematFunction(RematFunction &described,
                                     const RematFunctionOptions &options) {
  std::vector<FusedNode> nodes = describeFusion(described, *options.rules);
  for (auto [id, op] : llvm::enumerate(described.ops))
    // What a reduction does to elements takes no memory.
    if (!nodes[id].fusesOperands)
      for (Region &region : op->getRegions()) {
        if (!region.hasOneBlock())
          continue;
        FailureOr<int64_t> bytes = measureFused(region.front(), options);
        if (failed(bytes))
          return failure();
        int64_t &workspace = described.graph.nodes[id].workspace;
        workspace = std::max(workspace, *bytes);
      }
  described.graph = fuseRematGraph(described.graph, nodes);
  return success();
}
