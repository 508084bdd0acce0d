//===- ConvertToStableHLO.cpp - A step in StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-convert-to-stablehlo`: decomposes the step, then one walk over it. Elementwise
/// ops are converted by what they compute, others by the table of `populate*`.
///
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "Widenings.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Export/StableHLO/Passes.h"
#include "mpt/Support/ForeignCalls.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mpt {
#define GEN_PASS_DEF_CONVERTTOSTABLEHLOPASS
#include "mpt/Export/StableHLO/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

static constexpr StringLiteral passName = "mpt-convert-to-stablehlo";

static const Table &getTable() {
  static const Table table = [] {
    Table table;
    populatePointwise(table);
    populateShapes(table);
    populateReductions(table);
    populateWindows(table);
    populateConvolution(table);
    populateLinalg(table);
    populateIndexing(table);
    populateRandom(table);
    populateLoops(table);
    return table;
  }();
  return table;
}

void mpt::tostablehlo::convertBlock(Graph &graph, Block &block, OpBuilder &builder) {
  for (Operation &op : block.without_terminator()) {
    ++graph.numOps;
    // A step of JAX, of which mpt made a part.
    if (llvm::is_contained({"stablehlo", "chlo"}, op.getName().getDialectNamespace())) {
      builder.clone(op, graph.values);
      continue;
    }
    Emitter emitter(graph, builder, &op);
    bool isRefused = false;
    if (const Table::Conversion *conversion =
            getTable().find(op.getName().getStringRef()))
      (*conversion)(emitter);
    else if (isa<ElementwiseOpInterface>(op))
      convertElementwise(emitter);
    else
      isRefused = true;
    if (!isRefused && emitter.getRefusal().empty())
      continue;
    graph.refused.emplace_back(&op, emitter.getRefusal());
    // What reads the results is checked, too.
    for (Value result : op.getResults())
      graph.values.map(
          result, UnrealizedConversionCastOp::create(
                      builder, op.getLoc(), TypeRange(result.getType()), ValueRange())
                      .getResult(0));
  }
}

/// Bias and activation of a linear layer or a convolution as ops on its unrounded sum.
template <typename Op>
static void splitEpilogue(Op op) {
  Epilogue epilogue = op.getEpilogue();
  Value bias = op.getBias();
  if (!bias && epilogue == Epilogue::None)
    return;
  auto type = cast<RankedTensorType>(op.getType());
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  bool isF64 = element.isF64() || type.getElementType().isF64() ||
               (op.getAccType() && op.getAccType()->isF64());
  auto wide = type.clone(isF64 ? Type(builder.getF64Type()) : builder.getF32Type());
  Value sum = op.getResult();
  Operation *user = nullptr;
  auto typeOf = [&](bool isLast) { return isLast ? type : wide; };
  if (bias) {
    auto add = AddOp::create(builder, op.getLoc(), typeOf(epilogue == Epilogue::None),
                             sum, bias);
    user = add;
    sum = add;
  }
  if (epilogue == Epilogue::Relu)
    sum = ReluOp::create(builder, op.getLoc(), type, sum);
  else if (epilogue == Epilogue::Gelu)
    sum = GeluOp::create(builder, op.getLoc(), type, sum, GeluApproximation::Tanh);
  SmallPtrSet<Operation *, 2> own = {user ? user : sum.getDefiningOp()};
  op.getResult().replaceAllUsesExcept(sum, own);
  op.getResult().setType(wide);
  op.getBiasMutable().clear();
  op.setEpilogue(Epilogue::None);
}

/// The location of argument `index`: its name, at the place where it was.
static Location getNamedLocation(func::FuncOp function, unsigned index) {
  Location loc = function.getArgument(index).getLoc();
  if (StringAttr name = StepView::getName(function, index))
    return NameLoc::get(name, loc);
  return loc;
}

/// Attributes of arguments and results: those of mpt go.
static void convertInterface(func::FuncOp source, func::FuncOp target, bool donate) {
  Builder builder(source.getContext());
  auto keep = [&](DictionaryAttr attributes) {
    NamedAttrList kept;
    for (NamedAttribute attribute :
         attributes ? attributes.getValue() : ArrayRef<NamedAttribute>())
      if (!attribute.getName().getValue().starts_with("mpt."))
        kept.push_back(attribute);
    return kept;
  };
  StepView view(source);
  for (auto [index, argument] : llvm::enumerate(view.getArguments())) {
    NamedAttrList attributes = keep(source.getArgAttrDict(index));
    if (donate && argument.updatedBy &&
        source.getArgumentTypes()[index] == source.getResultTypes()[*argument.updatedBy])
      attributes.set("tf.aliasing_output",
                     builder.getI32IntegerAttr(*argument.updatedBy));
    target.setArgAttrs(index, attributes);
  }
  for (auto [index, result] : llvm::enumerate(view.getResults())) {
    NamedAttrList attributes = keep(source.getResultAttrDict(index));
    if (result.name)
      attributes.set("jax.result_info", result.name);
    target.setResultAttrs(index, attributes.getDictionary(source.getContext()));
  }
}

static LogicalResult report(const Graph &graph, func::FuncOp function) {
  if (graph.refused.empty())
    return success();
  constexpr size_t shown = 20;
  size_t count = graph.refused.size();
  InFlightDiagnostic error = function.emitError(passName)
                             << ": " << count << (count == 1 ? " op" : " ops") << " of @"
                             << function.getSymName() << (count == 1 ? " has" : " have")
                             << " no counterpart in StableHLO; convert the step before "
                                "it is planned, and without ops of other dialects";
  for (const auto &[op, reason] : ArrayRef(graph.refused).take_front(shown)) {
    Diagnostic &note = error.attachNote(op->getLoc()) << op->getName();
    if (!reason.empty())
      note << ": " << reason;
  }
  if (count > shown)
    error.attachNote() << "and " << count - shown << " more";
  return failure();
}

namespace {
struct ConvertToStableHLOPass
    : mpt::impl::ConvertToStableHLOPassBase<ConvertToStableHLOPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(convert(getOperation())))
      signalPassFailure();
  }

  LogicalResult convert(ModuleOp module) {
    if (!module.getContext()->allowsUnregisteredDialects())
      return module.emitError(passName)
             << ": StableHLO's ops are not registered here; run mpt-opt with "
                "--allow-unregistered-dialect";
    func::FuncOp source = mpt::detail::findStepFunction(module, function, passName);
    if (!source || failed(checkTypes(source)))
      return failure();
    // StableHLO that stays as it is keeps what it calls, and composites what they are
    // made of.
    SymbolTable symbols(module);
    llvm::SetVector<Operation *> kept;
    kept.insert(source);
    for (size_t i = 0; i < kept.size(); ++i)
      kept[i]->walk([&](Operation *op) {
        walkSymbols(op, [&](SymbolRefAttr symbol) {
          if (auto callee = symbols.lookup<func::FuncOp>(symbol.getLeafReference()))
            kept.insert(callee);
        });
      });
    for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!kept.contains(other))
        other.erase();
    if (failed(decompose(module)))
      return failure();
    source.walk([](LinearOp op) { splitEpilogue(op); });
    source.walk([](Conv2DOp op) { splitEpilogue(op); });

    OpBuilder builder(source);
    auto target =
        func::FuncOp::create(builder, source.getLoc(), "main", source.getFunctionType());
    Block *entry = target.addEntryBlock();
    Graph graph;
    graph.readsNarrow = client == StableHLOClient::XLAGPU;
    for (auto [index, from, to] :
         llvm::enumerate(source.getArguments(), entry->getArguments())) {
      to.setLoc(getNamedLocation(source, index));
      graph.values.map(from, to);
    }
    builder.setInsertionPointToStart(entry);
    Block &body = source.getBody().front();
    convertBlock(graph, body, builder);
    if (failed(report(graph, source)))
      return failure();
    SmallVector<Value> results;
    for (Value result : body.getTerminator()->getOperands())
      results.push_back(graph.values.lookup(result));
    func::ReturnOp::create(builder, body.getTerminator()->getLoc(), results);
    convertInterface(source, target, donate);
    source.erase();
    mergeWidenings(target.getBody());
    numOps += graph.numOps;
    return success();
  }

  /// Everything is a tensor of known shape.
  LogicalResult checkTypes(func::FuncOp source) {
    auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
    for (Type type :
         llvm::concat<const Type>(source.getArgumentTypes(), source.getResultTypes()))
      if (!isTensor(type))
        return source.emitError(passName)
               << ": expected arguments and results that are ranked tensors, found "
               << type;
    WalkResult result = source.getBody().walk([&](Operation *op) {
      if (failed(mpt::detail::checkStaticShapes(op, passName)))
        return WalkResult::interrupt();
      if (isa_and_nonnull<MPTDialect>(op->getDialect()) ||
          llvm::all_of(op->getResultTypes(), isTensor))
        return WalkResult::advance();
      op->emitError(passName) << ": expected results that are ranked tensors, found "
                              << op->getResultTypes();
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult decompose(ModuleOp module) {
    OpPassManager passes(ModuleOp::getOperationName());
    DecomposePassOptions options;
    options.maxUnrolled = 0;
    passes.addPass(createDecomposePass(options));
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    return runPipeline(passes, module);
  }
};
} // namespace
