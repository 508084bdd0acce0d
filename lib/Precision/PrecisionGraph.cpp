//===- PrecisionGraph.cpp - Values that must share a precision --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrecisionGraphBuilder.h"

#include "ConstantElements.h"
#include "PrecisionClusters.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <algorithm>
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace mpt;

bool mpt::isOwnCast(Operation *op) {
  if (auto cast = dyn_cast<CastOp>(op))
    return cast.getAutocast();
  return op->getNumOperands() >= 1 && op->getNumResults() == 1 &&
         op->getDiscardableAttrDictionary().contains(kOwnCastAttr);
}

/// True if `number` does not become infinite in `low`, nor zero unless it is.
static bool fitsIn(float number, Type low) {
  // Round to nearest even: what lies in (largest - half a step, ...) rounds to
  // infinity, and up to half the smallest subnormal rounds to zero.
  const bool half = low.isF16();
  const float largest = half ? 65520.0f : 0x1.FFp127f;
  const float smallest = half ? 0x1p-25f : 0x1p-134f;
  float magnitude = std::fabs(number);
  if (!std::isfinite(number))
    return true;
  return magnitude < largest && (magnitude == 0.0f || magnitude > smallest);
}

/// True if `number` rounds to 1 or -1 in `low` and is neither: a decay of 0.999 would be
/// lost, and a bound below 1 would be 1. The limits are half of a step of `low` from 1,
/// and 1 is even.
static bool roundsToOne(float number, Type low) {
  const bool half = low.isF16();
  const float below = half ? 0x1p-12f : 0x1p-9f, above = half ? 0x1p-11f : 0x1p-8f;
  const float distance = std::fabs(number) - 1.0f;
  return distance != 0.0f && distance >= -below && distance <= above;
}

/// True if a number of `elements` becomes infinite in `low`.
static bool overflowsIn(const ConstantElements &elements, Type low) {
  return !elements.all(
      [&](float number) { return fitsIn(number, low) || std::fabs(number) <= 1.0f; });
}

static bool fitsIn(const ConstantElements &elements, Type low) {
  // In a table, a number near 1 is one among others.
  if (elements.isSplat() && roundsToOne(elements.getSplat(), low))
    return false;
  return elements.all([&](float number) { return fitsIn(number, low); });
}

/// True unless `value` is a constant scalar of f32 that does not fit.
static bool fitsIn(Value value, Type low) {
  FloatAttr number;
  return !value.getType().isF32() || !matchPattern(value, m_Constant(&number)) ||
         fitsIn(number.getValue().convertToFloat(), low);
}

/// The constant `value`, which is not a tensor, by the spelling that dialects of
/// numbers share (`torch.constant.float`): no operand, one attribute `value`.
static std::optional<float> getScalarConstant(Value value) {
  if (isa<ShapedType>(value.getType()))
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 0 || op->getNumResults() != 1)
    return std::nullopt;
  auto number = dyn_cast_or_null<FloatAttr>(op->getAttr("value"));
  if (!number)
    return std::nullopt;
  // A double beyond f32 becomes infinite there as well; what a user wrote as infinite
  // stays so.
  const double wide = number.getValueAsDouble();
  if (!std::isfinite(wide))
    return std::nullopt;
  return static_cast<float>(std::clamp(wide, -double(FLT_MAX), double(FLT_MAX)));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

uint32_t PrecisionGraphBuilder::indexOf(Value value) {
  if (auto found = valueIndex.find(value);
      found != valueIndex.end() && found->second != kNone)
    return found->second;
  SmallVector<Value> looked;
  uint32_t found = kNone;
  while (true) {
    auto [entry, isNew] = valueIndex.try_emplace(value, kNone);
    if (entry->second != kNone) {
      found = entry->second;
      break;
    }
    looked.push_back(value);
    // A cycle of casts (in an unregistered op's region) ends here.
    if (!isNew)
      break;
    Operation *op = value.getDefiningOp();
    if (!op || likeGrappler || op->getNumOperands() == 0)
      break;
    if (OpRecord record = policy.lookup(op);
        !record.isCast(op) || (!isOwn(op) && !isEmptyCast(op)))
      break;
    value = op->getOperand(0);
  }
  if (found == kNone)
    found = addValue(value, value.getParentBlock());
  for (Value each : looked)
    valueIndex[each] = found;
  return found;
}

uint32_t PrecisionGraphBuilder::addValue(Value value, Block *block) {
  const Type type = value.getType();
  ValueNode &node = graph.values.emplace_back();
  node.value = value;
  node.isLow = isLow(value);
  node.elements = types.getNumElements(type);
  node.isList = types.isList(type) || types.isUntypedList(type);
  node.loopDepth = getLoopDepth(block);
  return graph.values.size() - 1;
}

/// What the tensors of an untyped list are: those that it was made of. Null if
/// that is not known, or they differ.
FloatType PrecisionGraphBuilder::getListed(Value list) {
  auto [entry, isNew] = listed.try_emplace(list, FloatType());
  Operation *op = list.getDefiningOp();
  if (!isNew || !op || !policy.lookup(op).isList())
    return entry->second;
  FloatType found;
  for (Type type : op->getOperandTypes()) {
    FloatType element = types.getFloat(type);
    if (ElementTypes::isUntypedTensor(type) || types.isUntypedList(type) ||
        (element && found && element != found))
      return {};
    if (element)
      found = element;
  }
  return listed[list] = found;
}

/// True if all lists that `op` takes and makes say of what they are.
bool PrecisionGraphBuilder::isListKnown(Operation *op) {
  auto isKnown = [&](Value value) {
    Type type = value.getType();
    return !types.isOpenList(type) && (!types.isUntypedList(type) || getListed(value));
  };
  return llvm::all_of(op->getOperands(), isKnown) &&
         llvm::all_of(op->getResults(), isKnown);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// True if `value` is made outside the regions of `op`.
static bool isOutside(Value value, Operation *op) {
  return !op->isProperAncestor(value.getParentBlock()->getParentOp()) &&
         value.getParentBlock()->getParentOp() != op;
}

/// How many loops `region` lies in. Asks each op around it once.
uint8_t PrecisionGraphBuilder::getLoopDepth(Region *region) {
  SmallVector<Region *> unknown;
  uint8_t depth = 0;
  for (; region; region = region->getParentRegion()) {
    auto found = loopDepth.find(region);
    if (found != loopDepth.end()) {
      depth = found->second;
      break;
    }
    unknown.push_back(region);
  }
  for (Region *each : llvm::reverse(unknown)) {
    Operation *op = each->getParentOp();
    if (depth < 4 && op && policy.lookup(op).getRegionPolicy() == RegionPolicy::Carry)
      ++depth;
    loopDepth[each] = depth;
  }
  return depth;
}

WalkResult PrecisionGraphBuilder::visit(Operation *op) {
  const OpRecord record = policy.lookup(op);
  const bool isCast = record.isCast(op);
  if (isCast && isOwn(op)) {
    if (likeGrappler)
      fixUses(op);
    else
      graph.ownCasts.push_back(op);
    return WalkResult::advance();
  }
  if (isCast && isEmptyCast(op)) {
    graph.emptyCasts.push_back(op);
    return WalkResult::advance();
  }
  ElementsAttr constant;
  if (isConstant(op, policy.getRules(), &constant)) {
    visitConstant(op, constant);
    return WalkResult::advance();
  }
  if (isCast && op->getNumOperands() >= 1 && op->getNumResults() == 1) {
    visitCast(op, record);
    return WalkResult::advance();
  }
  RegionPolicy region = record.getRegionPolicy();
  const bool combines = region == RegionPolicy::Combiner;
  const bool ownsRegions = combines || record.hasElementRegion;
  // What a functional loop or call passes is joined with its functions, if at all.
  const bool calls = record.rule && !record.rule->callees.empty();
  if (!calls && (region == RegionPolicy::Carry || region == RegionPolicy::Branches))
    joinRegions(op, record);
  if (op->getNumSuccessors() != 0)
    joinBranches(op);
  if (record.source == RuleSource::Unlisted)
    visitBarrier(op);
  // What a list holds is known, or the list stays as it is.
  const bool tied = record.isList() && isListKnown(op);
  if ((record.isList() ? !tied : record.precisionClass == PrecisionClass::Fixed) ||
      calls || (op->getNumRegions() != 0 && !ownsRegions) ||
      (combines && record.precisionClass != PrecisionClass::Deny && !isConvertible(op)))
    fixUses(op);
  else if (record.getTyping() == OpTyping::Positional)
    visitPositional(op, record);
  else if (!visitClonable(op, record))
    visitUniform(op, record);
  if (!ownsRegions)
    return WalkResult::advance();
  // What is inside belongs to the op; what it captures keeps its type.
  op->walk([&](Operation *inner) {
    if (inner == op)
      return;
    for (OpOperand &operand : inner->getOpOperands())
      if (isCandidate(operand.get()) && isOutside(operand.get(), op))
        addUse(operand, kNone);
  });
  return WalkResult::skip();
}

void PrecisionGraphBuilder::fixUses(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isCandidate(operand.get()) && !isJoined.contains(&operand))
      addUse(operand, kNone);
}

void PrecisionGraphBuilder::visitConstant(Operation *op, ElementsAttr value) {
  if (!isCandidate(op->getResult(0).getType()))
    return;
  ValueNode &node = graph.values[indexOf(op->getResult(0))];
  node.maybeOurs = true;
  if (node.isLow)
    return;
  // What is not in the module is cast when it runs.
  const ConstantElements elements(value);
  if (!elements && !isa_and_nonnull<DenseFPElementsAttr>(value))
    return;
  if (options.foldConstants)
    node.producer = Producer::Constant;
  if (!elements)
    return;
  node.fitsLow = fitsIn(elements, low);
  node.overflows = !node.fitsLow && overflowsIn(elements, low);
  node.losesLittle = !node.fitsLow && !node.overflows && !elements.isSplat() &&
                     elements.losesLittle(cast<FloatType>(low));
}

void PrecisionGraphBuilder::visitCast(Operation *op, const OpRecord &record) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  // Not every cast may read what is as wide as its result (arith.truncf).
  // Between the low type and another narrow one the way is through f32, which holds
  // both; what the user rounds to bf16 is not rounded to f16 before.
  const bool asGrappler = likeGrappler && op->getName().getDialectNamespace() == "tf";
  auto isOtherNarrow = [&](Type type) {
    FloatType element = types.getFloat(type);
    return element && element != low && element.getWidth() < 32 && !asGrappler;
  };
  if (isCandidate(from)) {
    // Grappler leaves the type that a user's cast reads.
    if (likeGrappler || (record.rule && !record.readsAny) || isOtherNarrow(to))
      addUse(op->getOpOperand(0), kNone);
    else
      graph.values[indexOf(op->getOperand(0))].readAny = true;
  }
  if (!isCandidate(to))
    return;
  uint32_t index = indexOf(op->getResult(0));
  ValueNode &node = graph.values[index];
  // Where an operand or attribute names the type too, the cast stays.
  const DialectSpelling *spelling =
      policy.getRules().getSpelling(op->getName().getDialectNamespace());
  const bool fromOther =
      !isa<FloatType>(getElementTypeOrSelf(from)) && !types.getFloat(from);
  node.maybeOurs = fromOther;
  if ((fromOther || (likeGrappler && !isOtherNarrow(from))) && !node.isLow &&
      !(spelling && spelling->namesType()))
    node.producer = Producer::Cast;
  else if (isLow(from) && !node.isLow)
    node.lowSource = op->getOperand(0);
}

bool PrecisionGraphBuilder::visitClonable(Operation *op, const OpRecord &record) {
  if (!record.canClone(op) || record.kept || !isCandidate(op->getResult(0).getType()) ||
      isLow(op->getResult(0).getType()))
    return false;
  // What needs no tensor (tensor.empty) is as good as a constant.
  bool any = record.rule, fits = true, overflows = false, losesLittle = true;
  for (Value operand : op->getOperands()) {
    const bool scalarFits = fitsIn(operand, low);
    fits &= scalarFits;
    losesLittle &= scalarFits;
    if (!isCandidate(operand))
      continue;
    const ValueNode &node = graph.values[indexOf(operand)];
    if (node.producer != Producer::Constant)
      return false;
    any = true;
    fits &= node.fitsLow;
    overflows |= node.overflows;
    losesLittle &= node.fitsLow || node.losesLittle;
  }
  if (!any)
    return false;
  ValueNode &node = graph.values[indexOf(op->getResult(0))];
  node.producer = Producer::Constant;
  node.fitsLow = fits;
  node.overflows = overflows;
  node.losesLittle = !fits && losesLittle;
  return true;
}

bool PrecisionGraphBuilder::isReturned(Operation *op) {
  for (Operation *user : op->getUsers())
    if (user->hasTrait<OpTrait::ReturnLike>())
      if (auto function = dyn_cast_or_null<FunctionOpInterface>(user->getParentOp());
          function && !function.isPrivate())
        return true;
  return false;
}

/// True for types other than f32 that an op may hold and that none of our casts fits:
/// another narrow float type or a quantized one, or a tensor that does not say what it
/// holds.
bool PrecisionGraphBuilder::isOfAnotherType(Type type) {
  if (ElementTypes::isUntypedTensor(type))
    return true;
  if (FloatType element = types.getFloat(type))
    return element != low && element.getWidth() < 32;
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped &&
         !isa<FloatType, IntegerType, IndexType, ComplexType>(shaped.getElementType());
}

PrecisionGraphBuilder::PortFacts PrecisionGraphBuilder::getFacts(Value value, Port port) {
  FloatType element = getElement(value);
  return {port, isF32OrLow(element), element == low};
}

void PrecisionGraphBuilder::visitUniform(Operation *op, const OpRecord &record) {
  Vertex vertex;
  vertex.op = op;
  vertex.precisionClass = record.precisionClass;
  vertex.source = record.source;
  vertex.contraction = record.isContraction(op);
  vertex.kept =
      record.kept ||
      (likeGrappler && isReturned(op) &&
       policy.getRules().preservesReturned(op->getName().getDialectNamespace()));
  vertex.recurrent = record.rule && record.rule->recurrent;
  vertex.hasTypedParts = op->getNumRegions() != 0 || record.hasElementRegion ||
                         (record.rule && !(record.rule->elementAttributes.empty() &&
                                           record.rule->lowName.empty()));
  vertex.readsVariable = record.rule && record.rule->variable != VariableRole::None &&
                         policy.readsVariable(op);
  bool takesPart = false, isMixed = false;
  SmallVector<PortFacts, 8> operands, results;
  auto look = [&](Value value, PortFacts facts) {
    if (facts.port != Port::Fixed && facts.port != Port::Any) {
      takesPart |= facts.isCandidate;
      vertex.pinned |= facts.isLow && facts.port != Port::Loose;
      // What is a candidate is of no other type.
      isMixed |= !facts.isCandidate && isOfAnotherType(value.getType());
    }
    return facts;
  };
  MutableArrayRef<OpOperand> uses = op->getOpOperands();
  for (unsigned i = 0; i < uses.size(); ++i) {
    const Value operand = uses[i].get();
    operands.push_back(look(operand, getFacts(operand, record.getOperandPort(op, i))));
  }
  const unsigned numResults = op->getNumResults();
  for (unsigned i = 0; i < numResults; ++i) {
    const Value result = op->getResult(i);
    results.push_back(look(result, getFacts(result, record.getResultPort(op, i))));
  }
  // A user may do in low precision what we would not.
  if (!takesPart || (isMixed && !likeGrappler) ||
      (vertex.pinned && (likeGrappler || record.precisionClass == PrecisionClass::Deny)))
    return fixUses(op);
  if (vertex.precisionClass == PrecisionClass::Infer ||
      vertex.precisionClass == PrecisionClass::Clear)
    for (unsigned i = 0; i < uses.size(); ++i)
      if (std::optional<float> number =
              operands[i].isCandidate ? std::nullopt : getScalarConstant(uses[i].get());
          number && !fitsIn(*number, low)) {
        vertex.unfitScalar = true;
        vertex.infiniteScalar |= std::fabs(*number) > 1.0f;
      }
  uint32_t index = addVertex(vertex);
  for (unsigned i = 0; i < uses.size(); ++i) {
    OpOperand &operand = uses[i];
    const PortFacts facts = operands[i];
    if (!facts.isCandidate)
      continue;
    if (facts.port == Port::Loose)
      addUse(operand, index, /*loose=*/true);
    else if (facts.port == Port::Any)
      graph.values[indexOf(operand.get())].readAny = true;
    else if (facts.port == Port::Fixed || (vertex.pinned && !facts.isLow))
      addUse(operand, kNone);
    else
      addUse(operand, index);
  }
  for (unsigned i = 0; i < numResults; ++i) {
    const PortFacts facts = results[i];
    if (!facts.isCandidate || facts.port == Port::Fixed)
      continue;
    setProducer(op->getResult(i), op, index, facts.port == Port::Wide && !vertex.pinned,
                record.results == ResultForm::F32 || vertex.pinned);
  }
}

void PrecisionGraphBuilder::visitPositional(Operation *op, const OpRecord &record) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    if (!isCandidate(operand.get()))
      continue;
    if (i >= op->getNumResults() ||
        op->getResult(i).getType() != operand.get().getType()) {
      addUse(operand, kNone);
      continue;
    }
    Vertex vertex;
    vertex.op = op;
    vertex.precisionClass = record.precisionClass;
    vertex.source = record.source;
    vertex.kept = record.kept;
    vertex.isJoin = true;
    vertex.pinned = isLow(operand.get());
    uint32_t index = addVertex(vertex);
    addUse(operand, index);
    setProducer(op->getResult(i), op, index, false, false);
  }
}

void PrecisionGraphBuilder::visitBarrier(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || isa<FunctionOpInterface>(op))
    return;
  auto isTensor = [&](Type type) { return isCandidate(type); };
  if (llvm::any_of(op->getOperandTypes(), isTensor) ||
      llvm::any_of(op->getResultTypes(), isTensor)) {
    PrecisionGraph::Unlisted &entry = graph.unlisted[op->getName()];
    if (entry.count++ == 0)
      entry.first = op;
  }
}

/// True if all that the regions of `op` compute can be done in the low type.
bool PrecisionGraphBuilder::isConvertible(Operation *op) {
  WalkResult result = op->walk([&](Operation *inner) {
    if (inner == op || isConstant(inner, policy.getRules()))
      return WalkResult::advance();
    auto isTensor = [&](Type type) { return isCandidate(type); };
    if (llvm::any_of(inner->getOperands(), [&](Value value) {
          return isTensor(value.getType()) && isOutside(value, op);
        }))
      return WalkResult::interrupt();
    if (inner == &inner->getBlock()->back() ||
        (llvm::none_of(inner->getOperandTypes(), isTensor) &&
         llvm::none_of(inner->getResultTypes(), isTensor)))
      return WalkResult::advance();
    OpRecord record = policy.lookup(inner);
    const bool follows = inner->getNumRegions() == 0 && record.rule &&
                         !record.isCast(inner) && record.rule->f32Operands.empty() &&
                         record.rule->f32Results.empty() &&
                         record.precisionClass != PrecisionClass::Fixed &&
                         record.precisionClass != PrecisionClass::Deny;
    return follows ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void PrecisionGraphBuilder::index() {
  auto count = [](std::vector<uint32_t> &begin, size_t size) {
    begin.assign(size + 1, 0);
  };
  auto accumulate = [](std::vector<uint32_t> &begin) {
    for (size_t i = 1; i < begin.size(); ++i)
      begin[i] += begin[i - 1];
  };
  // Uses by value, in the order in which they were found.
  count(graph.useBegin, graph.values.size());
  count(graph.consumedBegin, graph.vertices.size());
  count(graph.producedBegin, graph.vertices.size());
  for (const FoundUse &found : uses) {
    ++graph.useBegin[found.value + 1];
    if (found.use.vertex != kNone)
      ++graph.consumedBegin[found.use.vertex + 1];
  }
  accumulate(graph.useBegin);
  graph.uses.resize(uses.size());
  std::vector<uint32_t> next(graph.useBegin.begin(), graph.useBegin.end() - 1);
  for (const FoundUse &found : uses)
    graph.uses[next[found.value]++] = found.use;

  for (const ValueNode &node : graph.values)
    if (node.producer == Producer::Vertex)
      ++graph.producedBegin[node.vertex + 1];
  accumulate(graph.consumedBegin);
  accumulate(graph.producedBegin);
  graph.consumed.resize(graph.consumedBegin.back());
  graph.produced.resize(graph.producedBegin.back());
  next.assign(graph.consumedBegin.begin(), graph.consumedBegin.end() - 1);
  for (uint32_t value = 0; value < graph.values.size(); ++value)
    for (const PrecisionGraph::Use &use : graph.getUses(value))
      if (use.vertex != kNone)
        graph.consumed[next[use.vertex]++] = value;
  next.assign(graph.producedBegin.begin(), graph.producedBegin.end() - 1);
  for (auto [i, node] : llvm::enumerate(graph.values))
    if (node.producer == Producer::Vertex)
      graph.produced[next[node.vertex]++] = i;

  // What follows from these, since plans ask for it often.
  graph.inputs.reserve(graph.consumed.size());
  graph.outputs.reserve(graph.consumed.size());
  graph.inputsBegin.reserve(graph.vertices.size() + 1);
  graph.outputsBegin.reserve(graph.vertices.size() + 1);
  for (uint32_t v = 0; v < graph.vertices.size(); ++v) {
    graph.inputsBegin.push_back(graph.inputs.size());
    graph.outputsBegin.push_back(graph.outputs.size());
    for (uint32_t value : graph.getConsumed(v))
      if (graph.values[value].producer == Producer::Vertex)
        graph.inputs.push_back(graph.values[value].vertex);
    for (uint32_t value : graph.getProduced(v))
      for (const PrecisionGraph::Use &use : graph.getUses(value))
        if (use.vertex != kNone)
          graph.outputs.push_back(use.vertex);
  }
  graph.inputsBegin.push_back(graph.inputs.size());
  graph.outputsBegin.push_back(graph.outputs.size());
}

/// Sums of f16: other sums are not denied.
void PrecisionGraphBuilder::findSums() {
  std::vector<bool> isSum(graph.vertices.size());
  for (auto [v, vertex] : llvm::enumerate(graph.vertices)) {
    auto reduce = vertex.isJoin ? nullptr : dyn_cast<ReduceOp>(vertex.op);
    isSum[v] =
        reduce && vertex.precisionClass == PrecisionClass::Deny &&
        (reduce.getKind() == ReduceKind::Sum || reduce.getKind() == ReduceKind::Mean);
  }
  auto adds = [&](const PrecisionGraph::Use &use) {
    return use.vertex != kNone && isSum[use.vertex];
  };
  for (auto [v, vertex] : llvm::enumerate(graph.vertices))
    vertex.feedsSums = !vertex.isJoin && isa<MulOp>(vertex.op) &&
                       llvm::all_of(graph.getProduced(v), [&](uint32_t value) {
                         ArrayRef<PrecisionGraph::Use> uses = graph.getUses(value);
                         return !uses.empty() && llvm::all_of(uses, adds);
                       });
  for (PrecisionGraph::Use &use : graph.uses)
    use.summed =
        adds(use) || (use.vertex != kNone && graph.vertices[use.vertex].feedsSums);
}

void PrecisionGraphBuilder::build(Operation *root) {
  if (options.specializeCalls)
    joinCalls(root);
  root->walk<WalkOrder::PreOrder>([&](Operation *op) { return visit(op); });
  finishJoins();
  index();
  findSums();
  graph.clusters = findClusters(graph);
}

PrecisionGraph::PrecisionGraph(Operation *root, PrecisionPolicy &policy,
                               Options options) {
  if (auto overhead = root->getAttrOfType<IntegerAttr>(kPaintedOverheadAttr);
      overhead && overhead.getType().isInteger(64) && overhead.getInt() >= 0)
    paintedOverhead = overhead.getInt();
  PrecisionGraphBuilder(*this, policy, options).build(root);
}

//===----------------------------------------------------------------------===//
// Values that are one variable
//
// What loops carry, what conditionals and branches pass on, and what calls pass to
// functions whose types may change: operands that flow into a value have its
// precision.
//===----------------------------------------------------------------------===//

void PrecisionGraphBuilder::join(OpOperand &operand, Value value) {
  // Shapes may be less known on one side.
  Type from = operand.get().getType(), to = value.getType();
  if (!isCandidate(value) || getElement(operand.get()) != getElement(value) ||
      types.isList(from) != types.isList(to) ||
      types.isUntypedList(from) != types.isUntypedList(to))
    return;
  uint32_t into = indexOf(value);
  isJoined.insert(&operand);
  joinedUses.push_back({&operand, into});
}

void PrecisionGraphBuilder::joinRegions(Operation *op, const OpRecord &record) {
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    RegionBranchSuccessorMapping mapping;
    branch.getSuccessorOperandInputMapping(mapping);
    auto joinOperands = [&](Operation *from) {
      for (OpOperand &operand : from->getOpOperands()) {
        auto found = mapping.find(&operand);
        if (found == mapping.end())
          continue;
        for (Value value : found->second)
          join(operand, value);
      }
    };
    joinOperands(op);
    for (Region &each : op->getRegions())
      for (Block &block : each)
        if (!block.empty())
          joinOperands(&block.back());
    return;
  }
  // A body that ends in an op that computes passes nothing on that we know.
  for (Region &each : op->getRegions())
    for (Block &block : each) {
      if (block.empty())
        continue;
      const OpRecord last = policy.lookup(&block.back());
      if (last.source != RuleSource::Unlisted &&
          last.precisionClass != PrecisionClass::Fixed)
        return;
    }
  const bool carries = record.getRegionPolicy() == RegionPolicy::Carry;
  // Where what belongs to result 0 begins: in operands, arguments, and yields.
  unsigned first[3] = {0, 0, 0};
  llvm::copy(record.rule->firstCarried.take_front(3), first);
  int64_t carried = int64_t(op->getNumOperands()) - first[0];
  if (StringRef name = record.rule->scanInputs; !name.empty()) {
    auto scanned = op->getAttrOfType<IntegerAttr>(name);
    if (!scanned || scanned.getValue().getSignificantBits() > 32)
      return;
    carried -= scanned.getValue().getSExtValue();
  }
  // Slices of its inputs are block arguments, but no results.
  if (auto scan = dyn_cast<ScanOp>(op))
    carried = scan.getNumCarried();
  // Each value that a loop carries is a result.
  if (carries &&
      (carried < 0 || carried > op->getNumOperands() || carried > op->getNumResults()))
    return;
  MutableArrayRef<OpOperand> operands;
  if (first[0] <= op->getNumOperands())
    operands = op->getOpOperands().drop_front(first[0]);
  auto joinArguments = [&](MutableArrayRef<OpOperand> from, Block &block) {
    if (first[1] <= block.getNumArguments())
      for (auto [operand, argument] :
           llvm::zip(from, block.getArguments().drop_front(first[1])))
        join(operand, argument);
  };
  for (Region &each : op->getRegions())
    for (Block &block : each) {
      if (carries && block.isEntryBlock())
        joinArguments(operands, block);
      if (block.empty())
        continue;
      Operation &last = block.back();
      if (last.getNumOperands() != op->getNumResults() + first[2])
        continue;
      MutableArrayRef<OpOperand> yielded = last.getOpOperands().drop_front(first[2]);
      for (auto [operand, result] : llvm::zip(yielded, op->getResults()))
        join(operand, result);
      if (carries)
        joinArguments(yielded.take_front(carried), each.front());
    }
  if (carries)
    for (auto [operand, result] :
         llvm::zip(operands.take_front(carried), op->getResults()))
      join(operand, result);
}

void PrecisionGraphBuilder::joinBranches(Operation *terminator) {
  auto branch = dyn_cast<BranchOpInterface>(terminator);
  if (!branch)
    return;
  for (unsigned i = 0; i < terminator->getNumSuccessors(); ++i) {
    SuccessorOperands operands = branch.getSuccessorOperands(i);
    Block *block = terminator->getSuccessor(i);
    unsigned made = operands.getProducedOperandCount();
    for (unsigned j = made; j < operands.size(); ++j)
      join(terminator->getOpOperand(operands.getOperandIndex(j)), block->getArgument(j));
  }
}

/// Joins calls with the private functions that they name.
void PrecisionGraphBuilder::joinCalls(Operation *root) {
  struct Callee {
    std::vector<Operation *> calls;
    unsigned references = 0;
  };
  llvm::MapVector<Operation *, Callee> callees;
  SymbolTableCollection tables;
  root->walk([&](Operation *op) {
    auto add = [&](SymbolRefAttr symbol) {
      Operation *callee = tables.lookupNearestSymbolFrom(op, symbol);
      if (auto function = dyn_cast_or_null<FunctionOpInterface>(callee);
          function && !function.isExternal() && function.isPrivate() &&
          function.getNumArguments() == op->getNumOperands() &&
          (callees[callee].calls.empty() || callees[callee].calls.back() != op))
        callees[callee].calls.push_back(op);
    };
    if (auto call = dyn_cast<CallOpInterface>(op)) {
      if (auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
        add(symbol);
    } else if (OpRecord record = policy.lookup(op); record.rule) {
      for (StringRef name : record.rule->callees)
        if (auto symbol = op->getAttrOfType<SymbolRefAttr>(name))
          add(symbol);
    }
  });
  if (callees.empty())
    return;
  // Every mention of a function must be one of those calls. By name, since MLIR
  // finds no use, and no function, from inside an op that may be a symbol table of
  // its own: one with one region, of a dialect that it does not know.
  DenseMap<StringAttr, SmallVector<Operation *, 1>> byName;
  DenseSet<std::pair<Operation *, Operation *>> known;
  for (auto &[op, callee] : callees) {
    byName[SymbolTable::getSymbolName(op)].push_back(op);
    for (Operation *call : callee.calls)
      known.insert({call, op});
  }
  root->walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](SymbolRefAttr symbol) {
      auto named = byName.find(symbol.getLeafReference());
      if (named == byName.end())
        return;
      for (Operation *callee : named->second)
        if (!known.contains({op, callee}))
          ++callees[callee].references;
    });
  });
  // All functions of one call change together, or none.
  auto getCallees = [&](Operation *call) {
    SmallVector<Operation *> found;
    if (isa<CallOpInterface>(call))
      return found;
    for (StringRef name : policy.lookup(call).rule->callees)
      if (auto symbol = call->getAttrOfType<SymbolRefAttr>(name))
        found.push_back(tables.lookupNearestSymbolFrom(call, symbol));
    return found;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, callee] : callees) {
      if (callee.references != 0)
        continue;
      for (Operation *call : callee.calls)
        for (Operation *other : getCallees(call)) {
          auto found = callees.find(other);
          if (found == callees.end() || found->second.references != 0)
            ++callee.references;
        }
      changed |= callee.references != 0;
    }
  }
  for (auto &[op, callee] : callees) {
    if (callee.references != 0)
      continue;
    graph.specializedCalls.insert(graph.specializedCalls.end(), callee.calls.begin(),
                                  callee.calls.end());
    graph.specialized.push_back(op);
    auto function = cast<FunctionOpInterface>(op);
    for (Operation *call : callee.calls) {
      for (auto [operand, argument] :
           llvm::zip(call->getOpOperands(), function.getArguments()))
        join(operand, argument);
      for (Block &block : function.getFunctionBody()) {
        Operation *last = block.empty() ? nullptr : &block.back();
        if (!last || !last->hasTrait<OpTrait::ReturnLike>())
          continue;
        if (last->getNumOperands() == call->getNumResults())
          for (auto [operand, result] :
               llvm::zip(last->getOpOperands(), call->getResults()))
            join(operand, result);
        // A loop passes on what its body returns.
        OpRecord record = policy.lookup(call);
        if (record.getRegionPolicy() == RegionPolicy::Carry &&
            last->getNumOperands() == function.getNumArguments()) {
          for (auto [operand, argument] :
               llvm::zip(last->getOpOperands(), function.getArguments()))
            join(operand, argument);
          for (auto [operand, result] :
               llvm::zip(call->getOpOperands(), call->getResults()))
            join(operand, result);
        }
      }
    }
  }
}

void PrecisionGraphBuilder::finishJoins() {
  llvm::EquivalenceClasses<uint32_t> classes;
  // A use joins the values it flows into: the same operand may appear twice.
  DenseMap<OpOperand *, uint32_t> first;
  for (const JoinedUse &use : joinedUses) {
    classes.insert(use.into);
    auto [entry, isNew] = first.try_emplace(use.operand, use.into);
    if (!isNew)
      classes.unionSets(entry->second, use.into);
  }
  DenseMap<uint32_t, uint32_t> vertexOfClass;
  DenseSet<OpOperand *> added;
  for (const JoinedUse &use : joinedUses) {
    uint32_t leader = classes.getLeaderValue(use.into);
    auto [entry, isNew] = vertexOfClass.try_emplace(leader, kNone);
    if (isNew) {
      Vertex vertex;
      vertex.op = use.operand->getOwner();
      vertex.precisionClass = PrecisionClass::Clear;
      vertex.source = RuleSource::Table;
      vertex.isJoin = true;
      entry->second = addVertex(vertex);
    }
    uint32_t vertex = entry->second;
    ValueNode &node = graph.values[use.into];
    graph.vertices[vertex].pinned |= node.isLow;
    node.producer = Producer::Vertex;
    node.vertex = vertex;
    if (added.insert(use.operand).second)
      addUse(*use.operand, vertex);
  }
}
