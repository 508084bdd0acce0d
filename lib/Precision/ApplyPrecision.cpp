//===- ApplyPrecision.cpp - Types and casts as a plan says -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/ApplyPrecision.h"

#include "CastSpelling.h"
#include "ConstantElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Interfaces/ElementRegionOpInterface.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace mpt;

namespace {

using Producer = PrecisionGraph::Producer;

/// The spelling of one dialect's casts; null: `mpt.cast`.
struct CastMaker {
  const DialectSpelling *spelling = nullptr;

  /// Whether a cast may have operands of `type`. MLIR's and MPT's own are verified;
  /// others are of dialects that MLIR does not know.
  bool takes(Type type) const {
    if (!spelling)
      return isa<RankedTensorType>(type);
    if (spelling->castOp.starts_with("arith."))
      return isa<RankedTensorType, VectorType>(type);
    return !spelling->castOp.starts_with("tosa.") || isa<TensorType>(type);
  }
};

class Applier {
public:
  Applier(const PrecisionPlan &plan, const PrecisionPolicy &policy,
          ApplyPrecisionOptions options)
      : plan(plan), graph(plan.getGraph()), policy(policy), low(policy.getLowType()),
        f32(Float32Type::get(low.getContext())), options(options) {}

  FailureOr<AppliedPrecision> run();

private:
  struct Rewrite {
    OpOperand *operand;
    uint32_t value;
    bool wantsLow;
  };

  bool folds(uint32_t value) const {
    return graph.getValues()[value].producer == Producer::Constant;
  }
  /// The maker of casts of `value` for `reader`, or nullopt if there is none.
  std::optional<CastMaker> findMaker(Value value, Operation *reader);
  /// The maker of casts in the dialect of `op`.
  std::optional<CastMaker> lookupMaker(Operation *op);
  void findFallbacks();
  LogicalResult checkMakers();
  void findRewrites();
  void setTypes();
  void convertAttributes(Operation *op);
  void setFunctionTypes();
  void convertRegions(Operation *op);
  void convertElementRegions();
  Value getAs(const Rewrite &rewrite);
  Value getLowConstant(Value value);
  Value convertConstant(Operation *op);
  void eraseDead();
  void rename();
  void emulate();
  const OpRule *findRule(Operation *op) {
    auto [entry, isNew] = rules.try_emplace(op->getName(), nullptr);
    if (isNew)
      entry->second = policy.getRules().lookup(op->getName().getStringRef());
    const OpRule *rule = entry->second;
    return rule && !rule->nameAttribute.empty() ? policy.getRules().lookup(op) : rule;
  }
  /// `type` with elements of the low type, or of f32.
  Type cloneType(Type type, bool toLow) {
    auto [entry, isNew] = clones[toLow].try_emplace(type);
    if (isNew)
      entry->second = ElementTypes::clone(type, toLow ? low : f32);
    return entry->second;
  }
  /// Low by the plan, but f32 between casts. Not what has regions.
  bool isEmulated(uint32_t v) const {
    return options.emulate && plan.isLow(v) && !graph.getVertices()[v].pinned &&
           !graph.getVertices()[v].isJoin &&
           graph.getVertices()[v].op->getNumRegions() == 0;
  }

  const PrecisionPlan &plan;
  const PrecisionGraph &graph;
  const PrecisionPolicy &policy;
  Type low, f32;
  ApplyPrecisionOptions options;
  AppliedPrecision applied;
  std::vector<Rewrite> rewrites;
  std::vector<bool> isLow;
  /// Casts by value, to the low type and back.
  DenseMap<uint32_t, Value> casts[2];
  DenseMap<Value, Value> lowConstants;
  llvm::SetVector<Operation *> maybeDead;
  /// For values between ops without a spelling: those of the module's other ops, in
  /// order.
  SmallVector<CastMaker> fallbacks;
  CastBuilder castBuilder;
  /// Ops that compute on elements whose types have changed.
  llvm::SetVector<Operation *> elementOps;
  ElementTypes types;
  DenseMap<OperationName, const OpRule *> rules;
  DenseMap<OperationName, std::optional<CastMaker>> makers;
  DenseMap<Type, Type> clones[2];
};

std::optional<CastMaker> Applier::lookupMaker(Operation *op) {
  auto [entry, isNew] = makers.try_emplace(op->getName(), std::nullopt);
  if (isNew) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == MPTDialect::getDialectNamespace())
      entry->second = CastMaker{};
    else if (const DialectSpelling *spelling = policy.getRules().getSpelling(dialect))
      entry->second = CastMaker{spelling};
  }
  return entry->second;
}

std::optional<CastMaker> Applier::findMaker(Value value, Operation *reader) {
  for (Operation *op : {value.getDefiningOp(), reader})
    if (op)
      if (std::optional<CastMaker> maker = lookupMaker(op);
          maker && maker->takes(value.getType()))
        return maker;
  // A loop or a return has none; another op of the module does.
  auto found = llvm::find_if(
      fallbacks, [&](const CastMaker &maker) { return maker.takes(value.getType()); });
  return found == fallbacks.end() ? std::nullopt : std::optional<CastMaker>(*found);
}

void Applier::findFallbacks() {
  llvm::SmallDenseSet<const DialectSpelling *> seen;
  for (const PrecisionGraph::Vertex &vertex : graph.getVertices())
    if (std::optional<CastMaker> maker = lookupMaker(vertex.op);
        maker && seen.insert(maker->spelling).second)
      fallbacks.push_back(*maker);
}

void Applier::findRewrites() {
  // Without casts that were there before, an operand is the value that the graph has,
  // and is touched only if that changes.
  const bool isDirect = graph.getOwnCasts().empty() && graph.getEmptyCasts().empty();
  for (uint32_t value = 0; value < graph.getValues().size(); ++value) {
    const PrecisionGraph::ValueNode &node = graph.getValues()[value];
    for (const PrecisionGraph::Use &use : graph.getUses(value)) {
      bool wantsLow = plan.wantsLow(use);
      if (use.vertex == PrecisionGraph::kNone)
        wantsLow =
            isDirect ? node.isLow : types.getFloat(use.operand->get().getType()) == low;
      // A list is what it is made as; its type may not even say it.
      if (node.isList)
        wantsLow = isLow[value];
      if (use.loose) {
        elementOps.insert(use.operand->getOwner());
        if (!wantsLow || (!folds(value) && !node.lowSource))
          wantsLow = isLow[value];
      }
      if (!isDirect || wantsLow != isLow[value] || options.emulate)
        rewrites.push_back({use.operand, value, wantsLow});
    }
  }
}

LogicalResult Applier::checkMakers() {
  for (const Rewrite &rewrite : rewrites) {
    if (rewrite.wantsLow == isLow[rewrite.value] ||
        (rewrite.wantsLow && folds(rewrite.value)))
      continue;
    Operation *reader = rewrite.operand->getOwner();
    Value value = graph.getValues()[rewrite.value].value;
    if (findMaker(value, reader))
      continue;
    if (!fallbacks.empty())
      return reader->emitError()
             << "expected a ranked tensor where '" << reader->getName()
             << "' needs a cast, found " << value.getType()
             << "; infer shapes before autocast, or keep the ops around it in f32 by "
                "'mpt.precision'";
    return reader->emitError() << "no rule table says how '"
                               << reader->getName().getDialectNamespace()
                               << "' casts element types; add a table with 'dialect: "
                               << reader->getName().getDialectNamespace()
                               << "' and 'cast: {op: ...}' by the option 'rules'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void Applier::setTypes() {
  for (uint32_t value = 0; value < graph.getValues().size(); ++value) {
    const PrecisionGraph::ValueNode &node = graph.getValues()[value];
    if (isLow[value] && !node.isLow)
      if (Type type = cloneType(node.value.getType(), /*toLow=*/true)) {
        Value made = node.value;
        made.setType(type);
      }
  }
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    if (!vertex.hasTypedParts || !plan.isLow(v) || vertex.pinned || vertex.isJoin)
      continue;
    if (!isEmulated(v))
      convertAttributes(vertex.op);
    if (isa<ElementRegionOpInterface>(vertex.op))
      elementOps.insert(vertex.op);
    else if (vertex.op->getNumRegions() != 0)
      convertRegions(vertex.op);
  }
}

/// Attributes that must have the element type of the operands.
void Applier::convertAttributes(Operation *op) {
  const OpRule *rule = findRule(op);
  if (!rule)
    return;
  for (StringRef name : rule->elementAttributes)
    if (auto number = op->getAttrOfType<FloatAttr>(name))
      op->setAttr(name, FloatAttr::get(low, number.getValueAsDouble()));
}

/// Makes the regions fit what is around them by now.
void Applier::convertElementRegions() {
  // Of the ops that read either type, those that read what has become low.
  for (uint32_t value = 0; value < graph.getValues().size(); ++value) {
    const PrecisionGraph::ValueNode &node = graph.getValues()[value];
    if (node.readAny && isLow[value] && !node.isLow)
      for (Operation *user : Value(node.value).getUsers())
        elementOps.insert(user);
  }
  for (Operation *op : elementOps)
    if (auto interface = dyn_cast<ElementRegionOpInterface>(op))
      interface.convertElementRegion();
}

/// A list of the operands' element types, which some calls bear (`T` of tf.While).
static void setListedTypes(Operation *call, ElementTypes &types, Type low) {
  for (NamedAttribute attribute : llvm::to_vector(call->getAttrs())) {
    auto list = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!list || list.size() != call->getNumOperands())
      continue;
    SmallVector<Attribute> listed(list.begin(), list.end());
    for (auto [each, operand] : llvm::zip(listed, call->getOperands()))
      if (auto type = dyn_cast<TypeAttr>(each);
          type && type.getValue().isF32() && types.getFloat(operand.getType()) == low)
        each = TypeAttr::get(low);
    call->setAttr(attribute.getName(), ArrayAttr::get(call->getContext(), listed));
  }
}

/// The functions' types follow from their bodies.
void Applier::setFunctionTypes() {
  for (Operation *call : graph.getSpecializedCalls())
    setListedTypes(call, types, low);
  for (Operation *op : graph.getSpecialized()) {
    auto function = cast<FunctionOpInterface>(op);
    TypeRange results = function.getResultTypes();
    for (Block &block : function.getFunctionBody())
      if (!block.empty() && block.back().hasTrait<OpTrait::ReturnLike>())
        results = block.back().getOperandTypes();
    function.setType(
        function.cloneTypeWith(function.getFunctionBody().getArgumentTypes(), results));
  }
}

/// Everything inside computes in the low type.
void Applier::convertRegions(Operation *op) {
  auto convert = [&](Value value) {
    if (types.isF32(value.getType()))
      if (Type type = ElementTypes::clone(value.getType(), low))
        value.setType(type);
  };
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (Value argument : block.getArguments())
        convert(argument);
      for (Operation &inner : llvm::make_early_inc_range(block)) {
        if (isConstant(&inner, policy.getRules())) {
          if (Value converted = convertConstant(&inner)) {
            inner.getResult(0).replaceAllUsesWith(converted);
            inner.erase();
          }
          continue;
        }
        for (Value result : inner.getResults())
          convert(result);
      }
    }
}

//===----------------------------------------------------------------------===//
// Casts and constants
//===----------------------------------------------------------------------===//

/// A copy of the constant `op`, in the low type; null if it is of another type. Warns
/// of numbers that do not survive.
Value Applier::convertConstant(Operation *op) {
  ElementsAttr elements;
  isConstant(op, policy.getRules(), &elements);
  const ConstantElements numbers(elements);
  Type type = ElementTypes::clone(op->getResult(0).getType(), low);
  if (!numbers || !type)
    return {};
  const llvm::fltSemantics &semantics = cast<FloatType>(low).getFloatSemantics();
  bool overflows = false, vanishes = false;
  numbers.all([&](float number) {
    llvm::APFloat rounded(number);
    bool losesInfo;
    rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    overflows |= rounded.isInfinity() && std::isfinite(number);
    vanishes |= rounded.isZero() && number != 0;
    return !overflows || !vanishes;
  });
  ElementsAttr converted = numbers.convert(cast<FloatType>(low));
  if (overflows)
    op->emitWarning("a number of this constant becomes infinite in ")
        << low << "; check-constants=true keeps what reads it in f32";
  if (vanishes && (numbers.isSplat() || !numbers.losesLittle(cast<FloatType>(low))))
    op->emitWarning("a number of this constant becomes zero in ")
        << low << "; check-constants=true keeps what reads it in f32";
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *copy = builder.clone(*op);
  if (op->isRegistered()) {
    for (NamedAttribute attribute : op->getAttrDictionary())
      if (attribute.getValue() == elements)
        copy->setAttr(attribute.getName(), converted);
  } else {
    copy->setAttr(
        policy.getRules().getSpelling(op->getName().getDialectNamespace())->constantValue,
        converted);
  }
  copy->getResult(0).setType(type);
  ++applied.constants;
  return copy->getResult(0);
}

/// `value`, made from constants, made once more in the low type.
Value Applier::getLowConstant(Value value) {
  // Operands first, without recursion: chains may be long.
  SmallVector<Value> stack = {value};
  while (!stack.empty()) {
    Value next = stack.back();
    if (lowConstants.contains(next)) {
      stack.pop_back();
      continue;
    }
    Operation *op = next.getDefiningOp();
    maybeDead.insert(op);
    if (isConstant(op, policy.getRules())) {
      lowConstants[next] = convertConstant(op);
      stack.pop_back();
      continue;
    }
    IRMapping mapping;
    bool ready = true;
    for (Value operand : op->getOperands()) {
      if (!types.isF32(operand.getType()))
        continue;
      auto found = lowConstants.find(operand);
      if (found == lowConstants.end()) {
        stack.push_back(operand);
        ready = false;
      } else {
        mapping.map(operand, found->second);
      }
    }
    if (!ready)
      continue;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op, mapping);
    copy->getResult(0).setType(ElementTypes::clone(next.getType(), low));
    elementOps.insert(copy);
    lowConstants[next] = copy->getResult(0);
    stack.pop_back();
  }
  return lowConstants[value];
}

/// The value in the type that its reader wants.
Value Applier::getAs(const Rewrite &rewrite) {
  const PrecisionGraph::ValueNode &node = graph.getValues()[rewrite.value];
  if (rewrite.wantsLow == isLow[rewrite.value])
    return node.value;
  if (rewrite.wantsLow && folds(rewrite.value))
    return getLowConstant(node.value);
  if (rewrite.wantsLow && node.lowSource)
    return node.lowSource;
  Value &cast = casts[rewrite.wantsLow][rewrite.value];
  if (cast) {
    // A cast from before may have come after this reader.
    if (!graph.getOwnCasts().empty() && rewrite.operand->get() != cast) {
      Operation *op = cast.getDefiningOp();
      if (Operation *made = node.value.getDefiningOp())
        op->moveAfter(made);
      else
        op->moveBefore(&Value(node.value).getParentBlock()->front());
      // Constants that name its type come first.
      for (Value constant : op->getOperands().drop_front())
        if (Operation *made = constant.getDefiningOp();
            made && made->getBlock() == op->getBlock() && op->isBeforeInBlock(made))
          made->moveBefore(op);
    }
    return cast;
  }
  OpBuilder builder(low.getContext());
  builder.setInsertionPointAfterValue(node.value);
  cast = castBuilder.make(builder, node.value.getLoc(),
                          findMaker(node.value, rewrite.operand->getOwner())->spelling,
                          cloneType(node.value.getType(), rewrite.wantsLow), node.value,
                          !rewrite.wantsLow, /*isOwn=*/!options.emulate);
  ++(rewrite.wantsLow ? applied.castsDown : applied.castsUp);
  return cast;
}

/// Of what was there before: constants that only low readers had, and casts.
void Applier::eraseDead() {
  maybeDead.insert(graph.getOwnCasts().begin(), graph.getOwnCasts().end());
  maybeDead.insert(graph.getEmptyCasts().begin(), graph.getEmptyCasts().end());
  while (!maybeDead.empty()) {
    Operation *op = maybeDead.pop_back_val();
    // What ends a block, of a dialect that MLIR does not know, may be its terminator.
    if (!op->use_empty() || op == &op->getBlock()->back())
      continue;
    for (Value operand : op->getOperands())
      if (Operation *made = operand.getDefiningOp())
        if (lowConstants.contains(operand))
          maybeDead.insert(made);
    op->erase();
  }
}

/// Ops called otherwise in low precision. Last, since it makes new ops of those
/// that the graph knows.
void Applier::rename() {
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    if (!vertex.hasTypedParts || !plan.isLow(v) || vertex.pinned || vertex.isJoin ||
        isEmulated(v) || vertex.op->isRegistered())
      continue;
    const OpRule *rule = findRule(vertex.op);
    if (!rule || rule->lowName.empty() || vertex.op->getNumRegions() != 0)
      continue;
    OpBuilder builder(vertex.op);
    OperationState state(vertex.op->getLoc(), rule->lowName, vertex.op->getOperands(),
                         vertex.op->getResultTypes(),
                         vertex.op->getAttrDictionary().getValue(),
                         vertex.op->getSuccessors());
    vertex.op->replaceAllUsesWith(builder.create(state));
    vertex.op->erase();
  }
}

/// Low ops become f32 between casts: each operand up, each result down. Here a
/// cast is what the program means, and none of those that may be folded.
void Applier::emulate() {
  OpBuilder builder(low.getContext());
  auto cast = [&](Value value, Type element, Operation *op) {
    ++(element == low ? applied.castsDown : applied.castsUp);
    return castBuilder.make(builder, op->getLoc(), findMaker(value, op)->spelling,
                            ElementTypes::clone(value.getType(), element), value,
                            element != low, /*isOwn=*/false);
  };
  for (uint32_t value = 0; value < graph.getValues().size(); ++value) {
    Value list = graph.getValues()[value].value;
    if (graph.getValues()[value].isList && isLow[value])
      list.setType(ElementTypes::clone(list.getType(), f32));
  }
  DenseSet<Operation *> emulated;
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v)
    if (isEmulated(v))
      emulated.insert(graph.getVertices()[v].op);
  for (const Rewrite &rewrite : rewrites) {
    Operation *op = rewrite.operand->getOwner();
    if (!rewrite.wantsLow || !emulated.contains(op) ||
        graph.getValues()[rewrite.value].isList)
      continue;
    builder.setInsertionPoint(op);
    rewrite.operand->set(cast(rewrite.operand->get(), f32, op));
  }
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
    if (!isEmulated(v))
      continue;
    Operation *op = graph.getVertices()[v].op;
    // So that it is not done again.
    op->setAttr(kPrecisionAttr, builder.getStringAttr("f32"));
    builder.setInsertionPointAfter(op);
    for (uint32_t value : graph.getProduced(v)) {
      Value result = graph.getValues()[value].value;
      if (!isLow[value] || graph.getValues()[value].isList)
        continue;
      result.setType(ElementTypes::clone(result.getType(), f32));
      if (result.use_empty())
        continue;
      Value rounded = cast(result, low, op);
      result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
    }
  }
}

FailureOr<AppliedPrecision> Applier::run() {
  isLow.resize(graph.getValues().size());
  for (uint32_t value = 0; value < isLow.size(); ++value)
    isLow[value] = plan.isValueLow(value);
  findRewrites();
  findFallbacks();
  if (failed(checkMakers()))
    return failure();
  // Casts that are there serve again.
  DenseMap<Value, uint32_t> indexOf;
  if (!graph.getOwnCasts().empty())
    for (auto [index, node] : llvm::enumerate(graph.getValues()))
      indexOf[node.value] = index;
  for (Operation *cast : graph.getOwnCasts()) {
    auto found = indexOf.find(cast->getOperand(0));
    if (found == indexOf.end())
      continue;
    const bool toLow = types.getFloat(cast->getResult(0).getType()) == low;
    if (toLow != isLow[found->second])
      casts[toLow].try_emplace(found->second, cast->getResult(0));
  }
  setTypes();
  for (const Rewrite &rewrite : rewrites) {
    Value wanted = getAs(rewrite);
    if (wanted && rewrite.operand->get() != wanted)
      rewrite.operand->set(wanted);
  }
  convertElementRegions();
  if (options.emulate)
    emulate();
  setFunctionTypes();
  // Readers that have no part in the plan, too. A cast may read itself in a graph region.
  for (Operation *cast : graph.getEmptyCasts())
    if (Value from = cast->getOperand(0), to = cast->getResult(0);
        from != to && from.getType() == to.getType())
      to.replaceAllUsesWith(from);
  eraseDead();
  rename();
  return applied;
}

} // namespace

FailureOr<AppliedPrecision> mpt::applyPrecision(const PrecisionPlan &plan,
                                                const PrecisionPolicy &policy,
                                                ApplyPrecisionOptions options) {
  return Applier(plan, policy, options).run();
}
