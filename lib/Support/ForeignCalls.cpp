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
  SmallVector<std::pair<CallOpInterface, unsigned>> calls;
  auto collect = [&](Operation *op, unsigned depth) {
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      if (inner->hasTrait<OpTrait::SymbolTable>())
        return WalkResult::skip(); // Its calls name its own functions.
      if (auto call = dyn_cast<CallOpInterface>(inner))
        calls.push_back({call, depth});
      return WalkResult::advance();
    });
  };
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!mayBeSymbolTable(op))
      return WalkResult::advance();
    collect(op, 0);
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
  while (!calls.empty()) {
    auto [call, depth] = calls.pop_back_val();
    Block *body = isDefinedInside(call) ? nullptr : findBody(call);
    if (!body || depth == maxDepth)
      continue;
    Operation &last = body->back();
    if (!last.hasTrait<OpTrait::IsTerminator>() ||
        call.getArgOperands().getTypes() != body->getArgumentTypes() ||
        call->getResultTypes() != last.getOperandTypes())
      continue;
    IRMapping mapping;
    mapping.map(body->getArguments(), call.getArgOperands());
    OpBuilder builder(call);
    for (Operation &op : body->without_terminator())
      collect(builder.clone(op, mapping), depth + 1);
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
