//===- ForeignCalls.cpp - Calls in ops of other compilers ------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/ForeignCalls.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;

static constexpr unsigned maxDepth = 128;
/// Ops that are cloned before calls are left: functions that each call the next twice
/// double with every one.
static constexpr size_t maxClonedOps = size_t(1) << 20;

bool mpt::mayHaveCalls(llvm::StringRef text) {
  return text.contains("func.call") || text.contains("call @");
}

/// An op that MLIR takes for a possible symbol table.
static bool mayBeSymbolTable(Operation *op) {
  return op->getNumRegions() == 1 && !op->getDialect();
}

void mpt::inlineForeignCalls(Operation *root) {
  if (root->getNumRegions() != 1 || !root->hasTrait<OpTrait::SymbolTable>())
    return;
  // An inlined body, and the one, by its index, that it was called from.
  struct Inlined {
    Block *body;
    int caller;
    unsigned depth;
  };
  SmallVector<Inlined> inlined;
  SmallVector<std::pair<CallOpInterface, int>> calls;
  size_t numCloned = 0;
  auto collect = [&](Operation *op, int caller) {
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      numCloned += caller >= 0;
      if (inner->hasTrait<OpTrait::SymbolTable>())
        return WalkResult::skip(); // Its calls name its own functions.
      if (auto call = dyn_cast<CallOpInterface>(inner))
        calls.push_back({call, caller});
      return WalkResult::advance();
    });
  };
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!mayBeSymbolTable(op))
      return WalkResult::advance();
    collect(op, -1);
    return WalkResult::skip();
  });
  llvm::DenseMap<Attribute, Block *> bodies;
  auto findBody = [&](CallOpInterface call) -> Block * {
    auto name = dyn_cast_if_present<FlatSymbolRefAttr>(
        dyn_cast_if_present<SymbolRefAttr>(call.getCallableForCallee()));
    if (!name)
      return nullptr;
    auto [entry, isNew] = bodies.try_emplace(name, nullptr);
    if (isNew) {
      auto callee = dyn_cast_if_present<CallableOpInterface>(
          SymbolTable::lookupSymbolIn(root, name.getAttr()));
      Region *region = callee ? callee.getCallableRegion() : nullptr;
      if (region && region->hasOneBlock() && !region->front().empty())
        entry->second = &region->front();
    }
    return entry->second;
  };
  // The names that ops which may be symbol tables define.
  llvm::DenseMap<Operation *, llvm::DenseSet<StringAttr>> defined;
  auto isDefinedInside = [&](CallOpInterface call) {
    auto name = dyn_cast_if_present<SymbolRefAttr>(call.getCallableForCallee());
    for (Operation *op = call->getParentOp(); name && op != root;
         op = op->getParentOp()) {
      if (!mayBeSymbolTable(op))
        continue;
      auto [entry, isNew] = defined.try_emplace(op);
      if (isNew)
        for (Operation &inner : op->getRegion(0).getOps())
          if (auto symbol =
                  inner.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
            entry->second.insert(symbol);
      if (entry->second.contains(name.getRootReference()))
        return true;
    }
    return false;
  };
  auto isRecursive = [&](CallOpInterface call, Block *body, int caller) {
    for (; caller >= 0; caller = inlined[caller].caller)
      if (inlined[caller].body == body)
        return true;
    return body->getParent()->isAncestor(call->getParentRegion());
  };
  while (!calls.empty() && numCloned < maxClonedOps) {
    auto [call, caller] = calls.pop_back_val();
    Block *body = isDefinedInside(call) ? nullptr : findBody(call);
    unsigned depth = caller >= 0 ? inlined[caller].depth + 1 : 0;
    if (!body || depth == maxDepth || isRecursive(call, body, caller))
      continue;
    Operation &last = body->back();
    if (!last.hasTrait<OpTrait::IsTerminator>() ||
        call.getArgOperands().getTypes() != body->getArgumentTypes() ||
        call->getResultTypes() != last.getOperandTypes())
      continue;
    IRMapping mapping;
    mapping.map(body->getArguments(), call.getArgOperands());
    OpBuilder builder(call);
    inlined.push_back({body, caller, depth});
    for (Operation &op : body->without_terminator())
      collect(builder.clone(op, mapping), static_cast<int>(inlined.size()) - 1);
    for (auto [result, value] : llvm::zip_equal(call->getResults(), last.getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call->erase();
  }
}

void mpt::walkSymbols(Operation *op, llvm::function_ref<void(SymbolRefAttr)> visit) {
  op->getAttrDictionary().walk(visit);
  if (Attribute properties =
          op->isRegistered() ? Attribute() : op->getPropertiesAsAttribute())
    properties.walk(visit);
}
