//===- ConvertTorch.cpp - PyTorch's graphs in the mpt dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// \file
/// `--mpt-convert-torch`: one walk over each function. Ops are converted in order by the
/// table of `populate*`; values keep the layout in which they were made.

#include "Lowering.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"
#include "mpt/Import/Common/Refusals.h"
#include "mpt/Import/Common/Transposes.h"
#include "mpt/Import/Torch/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mpt {
#define GEN_PASS_DEF_CONVERTTORCHPASS
#include "mpt/Import/Torch/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

static const Table &getTable() {
  static const Table table = [] {
    Table table;
    populatePointwise(table);
    populateReductions(table);
    populateShapes(table);
    populateIndexing(table);
    populateRandom(table);
    populateVolumes(table);
    populateLinalg(table);
    populateMatrixFactorizations(table);
    populateWindows(table);
    populateResizing(table);
    populateNormalization(table);
    populateRecurrent(table);
    populateLosses(table);
    populateFourier(table);
    populateComplex(table);
    return table;
  }();
  return table;
}

SmallVector<StringRef> mpt::getTorchOps() {
  SmallVector<StringRef> names = llvm::to_vector(getTable().get().keys());
  llvm::sort(names);
  return names;
}

static bool isTorch(Operation *op) {
  return op->getName().getDialectNamespace() == "torch";
}
static bool isTorch(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  return opaque && opaque.getDialectNamespace() == "torch";
}

/// "aten.relu_" is "aten.relu" on its first operand. Returns whether it was.
static bool stripInPlace(std::string &name) {
  size_t dot = name.find('.', name.find('.') + 1);
  size_t end = dot == std::string::npos ? name.size() : dot;
  if (name[end - 1] != '_' || StringRef(name).take_front(end).ends_with("__"))
    return false;
  name.erase(end - 1, 1);
  return true;
}

namespace {

/// Converts one function.
class Converter {
public:
  explicit Converter(func::FuncOp source) : source(source) {}

  LogicalResult run();

private:
  LogicalResult convertSignature();
  void convertBlock(Block &block, OpBuilder &builder);
  void convertOp(Operation *op, OpBuilder &builder);
  void convertCheckpoint(Operation *op, OpBuilder &builder);
  LogicalResult convertReturn(func::ReturnOp op, OpBuilder &builder);
  /// Remembers that `op` has no counterpart, and gives its results values of the right
  /// types, so that what reads them is checked, too.
  void refuse(Operation *op, StringRef reason, OpBuilder &builder);
  void makeUpResults(Operation *op, OpBuilder &builder);
  /// Whether an operand of `op`, or an item of one that is a list, has a shape or is a
  /// number that no op gives, as one of open shape is refused.
  bool readsUnsettled(Operation *op);

  func::FuncOp source;
  llvm::DenseSet<Value> unsettled;
  Graph graph;
  importer::Refusals refusals;
};

} // namespace

LogicalResult Converter::convertSignature() {
  SmallVector<Type> inputs, results;
  auto convert = [&](Type type, Location loc, const Twine &what) -> Type {
    if (!isTorch(type))
      return type;
    RankedTensorType tensor = convertTensorType(type);
    if (!tensor) {
      emitError(loc) << "mpt-convert-torch: " << what << " of @" << source.getSymName()
                     << ": expected a tensor of known shape with elements of f64, f32, "
                        "f16, bf16, si64, si32, si16, si8, i1 or complex ones, found "
                     << type;
      return {};
    }
    if (!isa<ComplexType>(tensor.getElementType()))
      return tensor;
    // Real and imaginary parts in a last dimension.
    Shape shape(tensor.getShape());
    shape.push_back(2);
    return getPartType(tensor).clone(shape);
  };
  for (auto [index, argument] : llvm::enumerate(source.getArguments()))
    if (Type type =
            convert(argument.getType(), argument.getLoc(), "argument " + Twine(index)))
      inputs.push_back(type);
    else
      return failure();
  for (auto [index, type] : llvm::enumerate(source.getResultTypes())) {
    Type result = convert(type, source.getLoc(), "result " + Twine(index));
    if (!result)
      return failure();
    if (isTorch(type) && isa<ComplexType>(convertTensorType(type).getElementType()))
      return source.emitError("mpt-convert-torch: result ")
             << index << " of @" << source.getSymName()
             << ": expected a real tensor, found " << type
             << "; return torch.view_as_real() of it, and leave complex state as it is";
    results.push_back(result);
  }
  OpBuilder builder(source);
  graph.function =
      func::FuncOp::create(builder, source.getLoc(), source.getSymName(),
                           FunctionType::get(source.getContext(), inputs, results));
  graph.function->setDiscardableAttrs(source->getDiscardableAttrDictionary());
  graph.function.setVisibility(source.getVisibility());
  graph.function.setAllArgAttrs(source.getAllArgAttrs());
  graph.function.setAllResultAttrs(source.getAllResultAttrs());
  Block *entry = graph.function.addEntryBlock();
  for (auto [from, to] : llvm::zip_equal(source.getArguments(), entry->getArguments())) {
    to.setLoc(from.getLoc());
    if (!isa<RankedTensorType>(to.getType()))
      continue;
    graph.tensors[from] = {to};
    RankedTensorType tensor = convertTensorType(from.getType());
    if (!tensor || !isa<ComplexType>(tensor.getElementType()))
      continue;
    OpBuilder atEntry = OpBuilder::atBlockEnd(entry);
    importer::ImportBuilder parts(atEntry, from.getLoc());
    importer::Complex z = importer::fromPairs(parts, to);
    graph.tensors[from] = {z.real, false, z.imaginary};
  }
  return success();
}

void Converter::refuse(Operation *op, StringRef reason, OpBuilder &builder) {
  StringRef name = op->getName().getStringRef();
  // What torch-mlir does not know is an op with its name as an attribute.
  if (name == "torch.operator")
    if (auto inner = op->getAttrOfType<StringAttr>("name"))
      name = inner.getValue();
  name.consume_front("torch.");
  refusals.add(name, reason, op->getLoc());
  for (Value result : op->getResults()) {
    RankedTensorType type = convertTensorType(result.getType());
    if (type && !type.hasStaticShape())
      unsettled.insert(result);
  }
  makeUpResults(op, builder);
}

bool Converter::readsUnsettled(Operation *op) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *list = operand.getDefiningOp();
    if (list && list->getName().getStringRef() == "torch.prim.ListConstruct")
      return readsUnsettled(list);
    return unsettled.contains(operand);
  });
}

void Converter::makeUpResults(Operation *op, OpBuilder &builder) {
  auto makeUp = [&](RankedTensorType type) -> Tensor {
    auto makePart = [&] {
      return UnrealizedConversionCastOp::create(
                 builder, op->getLoc(), TypeRange(getPartType(type)), ValueRange())
          .getResult(0);
    };
    Tensor tensor{makePart()};
    if (isa<ComplexType>(type.getElementType()))
      tensor.imaginary = makePart();
    return tensor;
  };
  for (Value result : op->getResults()) {
    if (RankedTensorType type = convertTensorType(result.getType()))
      graph.tensors[result] = makeUp(type);
    else if (isTensorList(result.getType()))
      for (Operation *user : result.getUsers())
        if (user->getName().getStringRef() == "torch.prim.ListUnpack") {
          SmallVector<Tensor> list;
          for (Value part : user->getResults())
            if (RankedTensorType type = convertTensorType(part.getType()))
              list.push_back(makeUp(type));
          graph.lists[result] = list;
        }
  }
}

void Converter::convertCheckpoint(Operation *op, OpBuilder &builder) {
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
    return refuse(op, "expected one region of one block", builder);
  Block &body = op->getRegion(0).front();
  SmallVector<Type> types;
  for (Value result : op->getResults()) {
    RankedTensorType type = convertTensorType(result.getType());
    if (!type)
      return refuse(op, "expected results of known shape and type", builder);
    types.append(isa<ComplexType>(type.getElementType()) ? 2 : 1, getPartType(type));
  }
  auto checkpoint = CheckpointOp::create(builder, op->getLoc(), types);
  builder.createBlock(&checkpoint.getRegion());
  convertBlock(body, builder);
  SmallVector<Value> values;
  Operation *yield = body.empty() ? nullptr : &body.back();
  if (yield && yield->getNumOperands() == op->getNumResults())
    for (unsigned index : llvm::seq<unsigned>(0, op->getNumResults())) {
      Lowering lowering(graph, builder, yield);
      if (!lowering.isTensor(index))
        continue;
      for (Part part : {Part::Real, Part::Imaginary}) {
        lowering.operandPart = [part](unsigned, unsigned) { return part; };
        if (part == Part::Real || lowering.isComplex(index))
          values.push_back(lowering.get(index));
      }
    }
  YieldOp::create(builder, op->getLoc(), values);
  builder.setInsertionPointAfter(checkpoint);
  if (values.size() != types.size() || !llvm::equal(ValueRange(values).getTypes(), types))
    return refuse(op, "expected its region to yield the results", builder);
  auto output = checkpoint.getResults().begin();
  for (Value result : op->getResults()) {
    Tensor tensor{*output++};
    if (isa<ComplexType>(convertTensorType(result.getType()).getElementType()))
      tensor.imaginary = *output++;
    graph.tensors[result] = tensor;
  }
}

/// The list that is operand 0, with both parts of complex tensors.
static SmallVector<Tensor> getWholeList(Lowering &l) {
  auto list = l.graph.lists.find(l.op->getOperand(0));
  return list == l.graph.lists.end() ? l.getList(0) : list->second;
}

/// Whether an operand or a result is complex.
static bool hasComplex(Lowering &l) {
  return llvm::any_of(llvm::seq<unsigned>(0, l.size()),
                      [&](unsigned index) { return l.isComplex(index); }) ||
         llvm::any_of(l.op->getResultTypes(), [](Type type) {
           RankedTensorType tensor = convertTensorType(type);
           return tensor && isa<ComplexType>(tensor.getElementType());
         });
}

void Converter::convertOp(Operation *op, OpBuilder &builder) {
  StringRef full = op->getName().getStringRef();
  // What operands are looked up through.
  if (full.starts_with("torch.constant.") || full == "torch.prim.ListConstruct" ||
      full == "torch.checkpoint.yield")
    return;
  if (full == "torch.checkpoint")
    return convertCheckpoint(op, builder);
  // What follows from a refusal says nothing new.
  if (readsUnsettled(op)) {
    for (Value result : op->getResults()) {
      RankedTensorType type = convertTensorType(result.getType());
      if (!type || !type.hasStaticShape())
        unsettled.insert(result);
    }
    return makeUpResults(op, builder);
  }
  Lowering lowering(graph, builder, op);
  if (full == "torch.prim.ListUnpack") {
    SmallVector<Tensor> list = getWholeList(lowering);
    if (list.size() != op->getNumResults())
      return refuse(op, "expected as many results as the list has tensors", builder);
    for (auto [tensor, result] : llvm::zip_equal(list, op->getResults()))
      graph.tensors[result] = tensor;
    return;
  }
  if (full == "torch.aten.__getitem__.t" && isTensorList(op->getOperand(0).getType())) {
    SmallVector<Tensor> list = getWholeList(lowering);
    int64_t index = lowering.integer(1);
    index += index < 0 ? list.size() : 0;
    if (index < 0 || index >= static_cast<int64_t>(list.size()))
      return refuse(op, "expected an index inside of the list", builder);
    graph.tensors[op->getResult(0)] = list[index];
    return;
  }
  if (full == "torch.vtensor.literal") {
    RankedTensorType type = lowering.resultType();
    ElementsAttr value = lowering.refusal.empty()
                             ? importer::retype(getConstantValue(op), type)
                             : ElementsAttr();
    if (!value)
      return refuse(op, "expected elements of the result's type", builder);
    graph.tensors[op->getResult(0)] = {ConstantOp::create(builder, op->getLoc(), value)};
    return;
  }
  std::string name = full.drop_front(StringRef("torch.").size()).str();
  bool inPlace = stripInPlace(name);
  const Conversion *conversion = getTable().find(name);
  if (!conversion)
    return refuse(op, "", builder);
  if (inPlace && (op->getNumOperands() == 0 || graph.aliased.contains(op->getOperand(0))))
    return refuse(op,
                  "it changes a tensor that has views, or is one; export the graph in "
                  "functional form, as `python -m mpt.export` does",
                  builder);
  if (conversion->view && op->getNumOperands() && op->getNumResults()) {
    graph.aliased.insert(op->getOperand(0));
    graph.aliased.insert(op->getResult(0));
  }
  if (conversion->elementwise)
    lowering.alignLayouts();
  const bool isComplex = hasComplex(lowering);
  const auto &lower = isComplex ? conversion->lowerComplex : conversion->lower;
  if (!lower)
    return refuse(op,
                  isComplex ? "complex numbers; write it with the real and the imaginary "
                              "part, as torch.view_as_real gives them"
                            : "expected complex numbers",
                  builder);
  Operation *last = builder.getBlock()->empty() ? nullptr : &builder.getBlock()->back();
  lower(lowering);
  if (isComplex)
    importer::keepArithmeticInF32(lowering, last);
  if (!lowering.refusal.empty())
    return refuse(op, lowering.refusal, builder);
  // The first operand is what the op made of it from here on.
  if (inPlace && op->getNumResults()) {
    Value changed = op->getOperand(0);
    graph.tensors[changed] = graph.tensors.lookup(op->getResult(0));
    if (isa<BlockArgument>(changed)) {
      if (isComplex)
        return refuse(op, "it changes a complex argument in place", builder);
      graph.updates[changed] = graph.tensors[changed].value;
    }
  }
}

void Converter::convertBlock(Block &block, OpBuilder &builder) {
  for (Operation &op : block) {
    if (isTorch(&op))
      convertOp(&op, builder);
    else if (!isa<func::ReturnOp>(op))
      refuse(&op, "expected ops of the dialect torch", builder);
  }
}

LogicalResult Converter::convertReturn(func::ReturnOp op, OpBuilder &builder) {
  SmallVector<Value> values;
  Lowering lowering(graph, builder, op);
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    if (!lowering.isTensor(index))
      return op.emitError("mpt-convert-torch: result ")
             << index << ": expected a tensor, found " << operand.getType();
    values.push_back(lowering.get(index));
  }
  // State that ops changed in place.
  const StepView step(source);
  for (auto [state, value] : graph.updates) {
    auto argument = dyn_cast<BlockArgument>(state);
    unsigned index = argument ? argument.getArgNumber() : 0;
    StringAttr name = argument ? step[argument].name : StringAttr();
    if (!name)
      return op.emitError("mpt-convert-torch: an op changes a tensor in place that is no "
                          "argument with mpt.name");
    if (step.getArguments()[index].updatedBy)
      continue;
    unsigned position = graph.function.getNumResults();
    NamedAttrList attributes;
    attributes.set(kNameAttr, builder.getStringAttr(name.getValue() + ".next"));
    attributes.set(kUpdatesAttr, name);
    (void)graph.function.insertResult(position, value.getType(),
                                      attributes.getDictionary(op.getContext()));
    values.push_back(value);
  }
  func::ReturnOp::create(builder, op.getLoc(), values);
  return success();
}

LogicalResult Converter::run() {
  if (!source.getBody().hasOneBlock())
    return source.emitError("mpt-convert-torch: expected one block, found ")
           << llvm::range_size(source.getBody()) << " in @" << source.getSymName();
  if (failed(convertSignature()))
    return failure();
  OpBuilder builder = OpBuilder::atBlockEnd(&graph.function.front());
  convertBlock(source.front(), builder);
  graph.function->removeDiscardableAttr(kCheckpointScansAttr);
  if (failed(refusals.report(source, "mpt-convert-torch",
                             "`mpt-opt --mpt-torch-ops` lists the ops that have one")))
    return failure();
  auto terminator = dyn_cast<func::ReturnOp>(source.front().getTerminator());
  if (!terminator)
    return source.emitError("mpt-convert-torch: expected a return");
  if (failed(convertReturn(terminator, builder)))
    return failure();
  // What the model spells as formulas.
  raiseOps(cast<FunctionOpInterface>(graph.function.getOperation()));
  // Values of the other layout, masks and the like that nothing reads.
  IRRewriter rewriter(source.getContext());
  (void)runRegionDCE(rewriter, graph.function.getBody());
  joinTransposes(graph.function);
  (void)runRegionDCE(rewriter, graph.function.getBody());
  source.erase();
  return success();
}

namespace {
struct ConvertTorchPass : mpt::impl::ConvertTorchPassBase<ConvertTorchPass> {
  using Base::Base;

  void runOnOperation() override {
    bool found = false;
    for (func::FuncOp function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      bool mine = llvm::any_of(function.getFunctionType().getInputs(),
                               [](Type type) { return isTorch(type); }) ||
                  llvm::any_of(function.getResultTypes(),
                               [](Type type) { return isTorch(type); });
      if (!mine || function.isExternal())
        continue;
      found = true;
      if (failed(Converter(function).run()))
        return signalPassFailure();
    }
    if (!found) {
      getOperation().emitError("mpt-convert-torch: expected a function over "
                               "!torch.vtensor, found none; print the graph in MLIR's "
                               "generic form");
      signalPassFailure();
    }
  }
};
} // namespace
