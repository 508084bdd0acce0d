//===- ModelExplorer.cpp - A plan on the picture of a graph -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/ModelExplorer.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mpt;

/// Calls `visit(op, number)` for the ops of `function` as Model Explorer's MLIR
/// adapter numbers them (translate_helpers.cc): from 0, in the order of the text;
/// what is in regions only for ops of StableHLO that are in no region themselves,
/// and for those of Shardy.
static void numberNodes(Operation *function,
                        llvm::function_ref<void(Operation *op, unsigned number)> visit) {
  unsigned number = 0;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    visit(op, number++);
    StringRef dialect = op->getName().getDialectNamespace();
    const bool shown =
        dialect == "sdy" || (dialect == "stablehlo" && op->getParentOp() == function);
    return shown ? WalkResult::advance() : WalkResult::skip();
  });
}

static StringRef getColor(const PrecisionDecision &decision) {
  if (decision.low)
    return "#a6d96a";
  switch (decision.reason) {
  case PrecisionReason::Denied:
    return "#f46d43";
  case PrecisionReason::BehindDenied:
  case PrecisionReason::ConstantRange:
  case PrecisionReason::ProfileRange:
  case PrecisionReason::ListInF32:
  case PrecisionReason::LoopInF32:
    return "#fdae61";
  default:
    return "#d9d9d9";
  }
}

void mpt::printNodeData(const PrecisionPlan &plan, Operation *root, Type low,
                        llvm::raw_ostream &os) {
  const PrecisionGraph &graph = plan.getGraph();
  std::string lowName;
  llvm::raw_string_ostream(lowName) << low;
  // The op's own vertex, or the first of those that it joins.
  llvm::DenseMap<Operation *, uint32_t> vertexOf;
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v)
    vertexOf.try_emplace(graph.getVertices()[v].op, v);

  llvm::json::OStream json(os, 2);
  json.objectBegin();
  root->walk<WalkOrder::PreOrder>([&](FunctionOpInterface function) {
    if (function.isExternal())
      return WalkResult::skip();
    json.attributeBegin(function.getName());
    json.objectBegin();
    json.attributeBegin("results");
    json.objectBegin();
    numberNodes(function, [&](Operation *op, unsigned number) {
      auto found = vertexOf.find(op);
      if (found == vertexOf.end())
        return;
      const uint32_t v = found->second;
      uint64_t bytes = 0;
      for (uint32_t value : graph.getProduced(v))
        bytes += graph.getValues()[value].elements * (plan.isValueLow(value) ? 2 : 4);
      json.attributeBegin(std::to_string(number));
      json.objectBegin();
      json.attribute("value", (plan.isLow(v) ? lowName : std::string("f32")) + " " +
                                  stringifyRemarkId(plan[v].reason).str());
      json.attribute("bgColor", getColor(plan[v]));
      json.attribute("class",
                     stringifyPrecisionClass(graph.getVertices()[v].precisionClass));
      json.attribute("bytes", bytes);
      json.objectEnd();
      json.attributeEnd();
    });
    json.objectEnd();
    json.attributeEnd();
    json.attribute("showExpandedSummaryOnGroupNode", true);
    json.objectEnd();
    json.attributeEnd();
    return WalkResult::skip();
  });
  json.objectEnd();
  os << "\n";
}
