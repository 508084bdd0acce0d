//===- RematBeforeFusion.cpp - Repeats ops that fusion absorbs --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematBeforeFusion.h"
#include "RematClones.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"
#include "mpt/Memory/Planning/RematPlan.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static bool isNever(Operation *op) {
  auto save = op->getAttrOfType<StringAttr>(kSaveAttr);
  return save && save.getValue() == "never";
}

bool mpt::detail::hasNeverMarks(func::FuncOp function) {
  return llvm::any_of(function.getOps(), [](Operation &op) { return isNever(&op); });
}

void mpt::detail::markBackward(func::FuncOp function) {
  for (auto seed : function.getOps<GradSeedOp>())
    for (Operation *reader : seed->getUsers())
      // A step may return the seed itself.
      if (reader->getNumResults() > 0)
        reader->setAttr(kBackwardAttr, UnitAttr::get(function.getContext()));
}

void mpt::detail::numberSums(func::FuncOp function) {
  Builder builder(function.getContext());
  int64_t number = 0;
  for (auto reduce : function.getOps<ReduceOp>())
    reduce->setAttr(kSumAttr, builder.getI64IntegerAttr(number++));
}

void mpt::detail::eraseTemporaryMarks(func::FuncOp function) {
  function.walk([](Operation *op) {
    op->removeAttr(kBackwardAttr);
    op->removeAttr(kSumAttr);
  });
}

void mpt::detail::eraseMarks(func::FuncOp function) {
  eraseTemporaryMarks(function);
  for (Operation &op : function.getOps())
    op.removeAttr(kSaveAttr);
}

void mpt::detail::eraseNeverMarks(func::FuncOp function) {
  for (Operation &op : function.getOps())
    if (isNever(&op))
      op.removeAttr(kSaveAttr);
}

FailureOr<SmallVector<RepeatedOp>>
mpt::detail::repeatBeforeFusion(func::FuncOp function, RuleTable &rules,
                                std::vector<uint32_t> &order, bool onlyMarked,
                                double price) {
  RematFunctionOptions options;
  options.rules = &rules;
  FailureOr<RematFunction> described = buildRematFunction(function, options);
  if (failed(described))
    return failure();

  order = planFreeRemat(described->graph, onlyMarked, price);
  SmallVector<bool> ran(described->ops.size(), false);
  SmallVector<RepeatedOp> repeated;
  for (uint32_t node : order) {
    if (ran[node]) {
      int64_t bytes = 0;
      for (uint32_t value : described->graph.nodes[node].outputs)
        bytes += described->graph.values[value].bytes;
      Operation *op = described->ops[node];
      repeated.push_back({op->getLoc(), op->getName().getStringRef(), bytes,
                          described->graph.nodes[node].repeatCost});
    }
    ran[node] = true;
  }
  cloneForRemat(function, *described, order, /*barrier=*/"");
  return repeated;
}

SumOrders mpt::detail::getSumOrders(func::FuncOp function, bool isForGPU) {
  SumOrders orders;
  // Ops that are not kernels are calls, and the order of a call's sum depends on its
  // shape.
  for (auto reduce : function.getOps<ReduceOp>())
    if (auto number = reduce->getAttrOfType<IntegerAttr>(kSumAttr))
      orders[number.getInt()].insert("call");
  for (auto kernel : function.getOps<kernel::KernelOp>()) {
    Block &body = kernel.getBody().front();
    bool hasRows = !body.getOps<kernel::RowReduceOp>().empty();
    const int64_t rowsPerBlock = KernelInfo(kernel).getRowsPerBlock();
    std::map<int64_t, std::string> ways;
    for (Operation &op : body) {
      auto number = op.getAttrOfType<IntegerAttr>(kSumAttr);
      if (!number)
        continue;
      llvm::raw_string_ostream os(ways[number.getInt()]);
      // A row is summed by itself; columns in chunks of rows, one after the other.
      if (isa<kernel::RowReduceOp>(op)) {
        os << "row of " << kernel.getDomain().back() << ";";
        continue;
      }
      os << "columns of ";
      if (isForGPU)
        llvm::interleave(kernel.getDomain(), os, "x");
      else
        os << getKernelRows(kernel.getDomain()) << "x"
           << getKernelColumns(kernel.getDomain());
      os << " by " << kernel.getChunkRows() << " and " << rowsPerBlock
         << (hasRows ? " and rows;" : ";");
    }
    for (auto &[number, way] : ways)
      orders[number].insert(way);
  }
  return orders;
}

std::optional<int64_t> mpt::detail::findOtherSum(const SumOrders &plain,
                                                 const SumOrders &other) {
  std::optional<int64_t> least;
  for (const auto &[number, ways] : plain) {
    auto it = other.find(number);
    bool same = ways.size() == 1 && it != other.end() && it->second == ways;
    if (!same && (!least || number < *least))
      least = number;
  }
  return least;
}
