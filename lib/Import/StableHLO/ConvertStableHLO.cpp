//===- ConvertStableHLO.cpp - StableHLO in the mpt dialect ------ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-convert-stablehlo`: one walk over each function. Ops are converted in order by
/// the table of `populate*`.
///
//===----------------------------------------------------------------------===//

#include "InlineCalls.h"
#include "Lowering.h"
#include "StepInterface.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"
#include "mpt/Import/StableHLO/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

namespace mpt {
#define GEN_PASS_DEF_CONVERTSTABLEHLOPASS
#include "mpt/Import/StableHLO/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

static const Table &getTable() {
  static const Table table = [] {
    Table table;
    populatePointwise(table);
    populateRandom(table);
    populateShapes(table);
    populateReductions(table);
    populateWindows(table);
    populateConvolution(table);
    populateLinalg(table);
    populateMatrixFactorizations(table);
    populateIndexing(table);
    populateSorting(table);
    populateLoops(table);
    populateComplex(table);
    return table;
  }();
  return table;
}

SmallVector<StringRef> mpt::getStableHLOOps() { return getTable().getNames(); }

static bool isStableHLO(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "stablehlo" || dialect == "chlo";
}

/// The foreign function that a `stablehlo.custom_call` calls; "" of other ops.
static StringRef getCallTarget(Operation *op) {
  auto target = isOp(op, "custom_call")
                    ? dyn_cast_or_null<StringAttr>(getAttribute(op, "call_target_name"))
                    : StringAttr();
  return target ? target.getValue() : StringRef();
}

/// Remembers that `op` has no counterpart, and gives its results values of the right
/// types, so that what reads them is checked, too.
static void refuse(Graph &graph, Operation *op, StringRef reason, OpBuilder &builder) {
  StringRef name = op->getName().getStringRef();
  if (StringRef target = getCallTarget(op); !target.empty())
    name = StringAttr::get(op->getContext(), name + " @" + target).getValue();
  graph.refusals.add(name, reason, op->getLoc());
  auto makeUp = [&](RankedTensorType type) {
    return UnrealizedConversionCastOp::create(builder, op->getLoc(), TypeRange(type),
                                              ValueRange())
        .getResult(0);
  };
  for (Value result : op->getResults())
    if (RankedTensorType type = convertPartType(result.getType()))
      for (Part part : getParts(result))
        graph.of(part)[result] = makeUp(type);
}

/// Why an op that StableHLO has is not in the table.
static StringRef getReason(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name.starts_with("stablehlo.dynamic_") || name == "stablehlo.real_dynamic_slice" ||
      name == "stablehlo.set_dimension_size")
    return "a shape that is known only when the program runs";
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"stablehlo.all_reduce", "stablehlo.all_gather", "stablehlo.reduce_scatter",
              "stablehlo.all_to_all", "stablehlo.collective_broadcast",
              "stablehlo.collective_permute", "stablehlo.partition_id",
              "stablehlo.replica_id", "sdy.manual_computation"},
             "a step of several devices; lower it for one")
      .Cases({"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv",
              "stablehlo.after_all", "stablehlo.create_token"},
             "data that passes between host and device while the step runs")
      .Cases({"stablehlo.uniform_quantize", "stablehlo.uniform_dequantize"},
             "quantized types")
      .Cases({"stablehlo.tuple", "stablehlo.get_tuple_element"}, "tuples")
      .Case("stablehlo.custom_call", "a function of XLA's or your own; write it with ops")
      .Case("stablehlo.rng", "random numbers of a generator that XLA chooses")
      .Default("");
}

/// Ops that say where values lie, and leave them as they are.
static bool isAnnotation(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  // The latter in what TensorFlow gives.
  if (llvm::is_contained({"sdy.sharding_constraint", "mhlo.copy"},
                         op->getName().getStringRef()))
    return true;
  return llvm::is_contained({"Sharding", "annotate_device_placement"}, getCallTarget(op));
}

/// Copies an op of the mpt dialect: marks of a step, and what a loss scale has added.
static void copyOp(Graph &graph, Operation *op, OpBuilder &builder) {
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value value = graph.values.lookup(operand);
    if (!value || value.getType() != operand.getType())
      return refuse(graph, op, "an operand of another type", builder);
    mapping.map(operand, value);
  }
  Operation *copy = builder.clone(*op, mapping);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
    graph.values[from] = to;
}

/// Converts what a checkpoint, of a composite, has in its region.
static void convertCheckpoint(Graph &graph, CheckpointOp source, OpBuilder &builder) {
  SmallVector<Type> types;
  for (Value result : source.getResults())
    types.append(getParts(result).size(), convertPartType(result.getType()));
  if (llvm::is_contained(types, Type()))
    return refuse(graph, source, "expected results of known shape and type", builder);
  auto checkpoint = CheckpointOp::create(builder, source.getLoc(), types);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&checkpoint.getBody());
  Block &body = source.getBody().front();
  convertBlock(graph, body, builder);
  SmallVector<Value> values;
  for (Value value : body.back().getOperands())
    for (Part part : getParts(value))
      values.push_back(graph.of(part).lookup(value));
  if (!llvm::all_of(values, [](Value value) { return bool(value); }) ||
      ValueRange(values).getTypes() != TypeRange(types)) {
    builder.setInsertionPoint(checkpoint);
    refuse(graph, source, "expected its region to yield the results", builder);
    return checkpoint.erase();
  }
  YieldOp::create(builder, source.getLoc(), values);
  auto output = checkpoint.getResults().begin();
  for (Value result : source.getResults())
    for (Part part : getParts(result))
      graph.of(part)[result] = *output++;
}

/// What `op` became, all after `last`, has the precision that it names:
/// jax.experimental.xla_metadata puts words of the user on ops.
static void setPrecision(Operation *op, Operation *last, OpBuilder &builder) {
  auto words =
      dyn_cast_or_null<DictionaryAttr>(getAttribute(op, "mhlo.frontend_attributes"));
  Attribute precision = words ? words.get(kPrecisionAttr) : Attribute();
  if (!precision)
    return;
  Block *block = builder.getInsertionBlock();
  auto begin = last ? std::next(last->getIterator()) : block->begin();
  for (Operation &made : llvm::make_range(begin, builder.getInsertionPoint()))
    if (made.getNumRegions() == 0 && !isa<ConstantOp>(made))
      made.setAttr(kPrecisionAttr, precision);
}

void mpt::stablehlo::convertBlock(Graph &graph, Block &block, OpBuilder &builder) {
  for (Operation &op : llvm::drop_end(block)) {
    if (graph.skipped.contains(&op))
      continue;
    ++graph.numOps;
    if (isAnnotation(&op)) {
      for (Part part : getParts(op.getOperand(0)))
        if (Value value = graph.of(part).lookup(op.getOperand(0)))
          graph.of(part)[op.getResult(0)] = value;
      continue;
    }
    if (auto checkpoint = dyn_cast<CheckpointOp>(op)) {
      convertCheckpoint(graph, checkpoint, builder);
      continue;
    }
    if (isa_and_nonnull<MPTDialect>(op.getDialect()) && op.getNumRegions() == 0) {
      copyOp(graph, &op, builder);
      continue;
    }
    Lowering lowering(graph, builder, &op);
    const StringRef target = getCallTarget(&op);
    const std::string name =
        target.empty() ? op.getName().getStringRef().str() : ("@" + target).str();
    const bool isComplex = lowering.isComplex();
    const Table::Conversion *conversion =
        isComplex ? getTable().findComplex(name) : getTable().find(name);
    if (!conversion) {
      const bool isOfParts = isComplex && getTable().find(name);
      refuse(graph, &op,
             isOfParts ? "complex numbers; write it with jnp.real and jnp.imag"
                       : getReason(&op),
             builder);
      continue;
    }
    Operation *last = builder.getBlock()->empty() ? nullptr : &builder.getBlock()->back();
    (*conversion)(lowering);
    // What loops and branches contain is converted on its own.
    if (isComplex &&
        !llvm::is_contained({"stablehlo.while", "stablehlo.if", "stablehlo.case"}, name))
      importer::keepArithmeticInF32(lowering, last);
    setPrecision(&op, last, builder);
    if (!lowering.refusal.empty())
      refuse(graph, &op, lowering.refusal, builder);
  }
}

/// The function in the mpt dialect, without its body; null after an error.
static func::FuncOp convertSignature(func::FuncOp source) {
  SmallVector<Type> inputs, results;
  auto convert = [&](Type type, Location loc, const Twine &what,
                     SmallVectorImpl<Type> &types) -> LogicalResult {
    RankedTensorType tensor = convertTensorType(type);
    if (!tensor && convertPartType(type))
      return emitError(loc)
             << "mpt-convert-stablehlo: " << what << " of @" << source.getSymName()
             << ": expected real numbers, found " << type
             << "; pass the parts, which jax.lax.complex joins, and return "
                "jnp.real and jnp.imag";
    if (!tensor)
      return emitError(loc)
             << "mpt-convert-stablehlo: " << what << " of @" << source.getSymName()
             << ": expected a tensor of known shape with elements of f64, "
                "f32, f16, bf16, f8E4M3FN, f8E5M2, or integers of 1, 8, 16, "
                "32 or 64 bits, found "
             << type;
    types.push_back(tensor);
    return success();
  };
  for (auto [index, argument] : llvm::enumerate(source.getArguments()))
    if (failed(convert(argument.getType(), argument.getLoc(), "argument " + Twine(index),
                       inputs)))
      return {};
  for (auto [index, type] : llvm::enumerate(source.getResultTypes()))
    if (failed(convert(type, source.getLoc(), "result " + Twine(index), results)))
      return {};
  OpBuilder builder(source);
  auto function =
      func::FuncOp::create(builder, source.getLoc(), source.getSymName(),
                           FunctionType::get(source.getContext(), inputs, results));
  function->setDiscardableAttrs(source->getDiscardableAttrDictionary());
  function.setVisibility(source.getVisibility());
  function.setAllArgAttrs(source.getAllArgAttrs());
  function.setAllResultAttrs(source.getAllResultAttrs());
  Block *entry = function.addEntryBlock();
  for (auto [from, to] : llvm::zip_equal(source.getArguments(), entry->getArguments()))
    to.setLoc(from.getLoc());
  return function;
}

/// Erases ops whose results nothing reads. No op of StableHLO that is converted has
/// another effect; calls of foreign functions may.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isStableHLO(&op) && op.getNumResults() && op.use_empty() &&
        !isOp(&op, "custom_call")) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDeadOps(inner);
  }
}

/// Constants of the dialect arith, which torch-mlir writes, become StableHLO's.
static void takeConstants(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (op->getName().getStringRef() != "arith.constant" ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      return;
    OpBuilder builder(op);
    OperationState state(op->getLoc(), "stablehlo.constant");
    state.addTypes(op->getResultTypes());
    state.addAttribute("value", getAttribute(op, "value"));
    op->replaceAllUsesWith(builder.create(state));
    op->erase();
  });
}

/// Counters of loops that are only counted.
static void dropUnusedInputs(func::FuncOp function) {
  function.walk([](ScanOp scan) {
    unsigned first = scan.getNumCarried();
    for (unsigned i = scan.getInputs().size(); i-- > 0;)
      if (scan.getBlock().getArgument(first + i).use_empty()) {
        scan.getBlock().eraseArgument(first + i);
        scan.getInputsMutable().erase(i);
      }
  });
}

/// What is the same in all iterations of a loop is computed once, as XLA does: cells of
/// flax join their weights in each time step.
static void hoistInvariants(func::FuncOp function) {
  function.walk([](ScanOp scan) {
    // A branch that is not taken computes nothing.
    if (scan.getConditional() && scan.getTripCount() == 1)
      return;
    moveLoopInvariantCode(
        &scan.getBody(),
        [&](Value value, Region *) {
          return !scan.getBody().isAncestor(value.getParentRegion());
        },
        [](Operation *, Region *) { return true; },
        [&](Operation *op, Region *) { op->moveBefore(scan); });
  });
}

/// JAX names modules jit_NAME.
static bool isMadeByJAX(ModuleOp module) {
  return module.getSymName() && module.getSymName()->starts_with("jit_");
}

/// Marks the maxima of `jax.nn.relu` and `relu6`, which JAX calls as @relu, @relu_0, ..
static void markRelus(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    auto [name, number] = function.getSymName().split('_');
    if (!function.isPrivate() || (name != "relu" && name != "relu6") ||
        !llvm::all_of(number, llvm::isDigit))
      continue;
    function.walk([](Operation *op) {
      if (isOp(op, "maximum"))
        op->setDiscardableAttr(kReluAttr, UnitAttr::get(op->getContext()));
    });
  }
}

static LogicalResult convertFunction(func::FuncOp source, StringRef parameters,
                                     unsigned state,
                                     llvm::SetVector<Operation *> &inlined,
                                     int64_t &numOps) {
  if (!source.getBody().hasOneBlock())
    return source.emitError("mpt-convert-stablehlo: expected one block, found ")
           << llvm::range_size(source.getBody()) << " in @" << source.getSymName();
  auto terminator = dyn_cast<func::ReturnOp>(source.front().getTerminator());
  if (!terminator)
    return source.emitError("mpt-convert-stablehlo: expected a return");
  if (failed(inlineCalls(source, "mpt-convert-stablehlo", /*composites=*/true, inlined)))
    return failure();
  eraseDeadOps(source.front());
  func::FuncOp function = convertSignature(source);
  if (!function)
    return failure();
  Graph graph;
  graph.isJAX = isMadeByJAX(function->getParentOfType<ModuleOp>());
  for (auto [from, to] : llvm::zip_equal(source.getArguments(), function.getArguments()))
    graph.values[from] = to;
  OpBuilder builder = OpBuilder::atBlockEnd(&function.front());
  convertBlock(graph, source.front(), builder);
  numOps += graph.numOps;
  if (failed(graph.refusals.report(
          source, "mpt-convert-stablehlo",
          "`mpt-opt --mpt-stablehlo-ops` lists the ops that have one")))
    return failure();
  SmallVector<Value> values;
  for (auto [index, operand] : llvm::enumerate(terminator.getOperands())) {
    Value value = graph.values.lookup(operand);
    if (!value || value.getType() != function.getResultTypes()[index])
      return terminator.emitError("mpt-convert-stablehlo: result ")
             << index << ": expected a tensor of known shape and type, found "
             << operand.getType();
    values.push_back(value);
  }
  func::ReturnOp::create(builder, terminator.getLoc(), values);
  if (failed(addStepInterface(function, parameters, state)))
    return failure();
  // Whole steps have updates, which a loss to differentiate has not.
  auto isUpdate = [&](unsigned result) {
    DictionaryAttr attributes = function.getResultAttrDict(result);
    return attributes && StepView::getUpdates(attributes);
  };
  auto results = llvm::seq(0u, function.getNumResults());
  const bool isStep = llvm::any_of(results, isUpdate);
  function.walk([&](WhereOp where) {
    if (!where->removeDiscardableAttr(kGuardAttr) || !isStep)
      return;
    where.replaceAllUsesWith(where.getOnTrue());
    where.erase();
  });
  hoistInvariants(function);
  raiseOps(cast<FunctionOpInterface>(function.getOperation()));
  // Broadcasts that ops do by themselves, and filters that were reversed.
  IRRewriter rewriter(source.getContext());
  (void)runRegionDCE(rewriter, function.getBody());
  dropUnusedInputs(function);
  (void)runRegionDCE(rewriter, function.getBody());
  source.erase();
  auto isLoss = [&](unsigned result) {
    StringAttr name = StepView::getResultName(function, result);
    return name && name.getValue() == "loss";
  };
  if (function.getSymName() == "main" && llvm::any_of(results, isLoss) && !isStep &&
      !SymbolTable::lookupNearestSymbolFrom(
          function, StringAttr::get(function.getContext(), "loss")))
    function.setSymName("loss");
  return success();
}

namespace {
struct ConvertStableHLOPass : mpt::impl::ConvertStableHLOPassBase<ConvertStableHLOPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool portable = false;
    SmallVector<func::FuncOp> functions;
    module.walk([&](Operation *op) {
      portable = portable || op->getName().getDialectNamespace() == "vhlo";
    });
    if (portable) {
      module.emitError(
          "mpt-convert-stablehlo: expected StableHLO, found a portable "
          "artifact (vhlo); `python -m mpt.jax FILE` prints it in generic form, as does "
          "jaxlib.mlir.dialects.stablehlo.deserialize_portable_artifact(context, "
          "bytes).operation.get_asm(print_generic_op_form=True)");
      return signalPassFailure();
    }
    auto isForeign = [](Operation *op) {
      return isStableHLO(op) || isa<func::CallOp>(op) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
    };
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.walk(isForeign).wasInterrupted())
        continue;
      // The bodies of custom calls.
      if (function.getBody().hasOneBlock() && isOp(&function.front().back(), "return"))
        function.setPrivate();
      if (function.isPublic())
        functions.push_back(function);
    }
    if (functions.empty()) {
      module.emitError("mpt-convert-stablehlo: expected a public function of StableHLO's "
                       "ops, found none; print the graph in MLIR's generic form");
      return signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (function.walk(isForeign).wasInterrupted())
        takeConstants(function);
    markRelus(module);
    llvm::SetVector<Operation *> inlined;
    int64_t numConverted = 0;
    for (func::FuncOp function : functions)
      if (failed(convertFunction(function, parameters, state, inlined, numConverted)))
        return signalPassFailure();
    numOps += numConverted;
    // What was called is part of its callers now.
    for (func::FuncOp function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function.isPrivate() &&
          (inlined.contains(function) || function.walk(isForeign).wasInterrupted()))
        function.erase();
    // Constraints on how tensors lie on a mesh of devices are gone.
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (op.getName().getStringRef() == "sdy.mesh")
        op.erase();
  }
};
} // namespace
