//===- DropoutFormula.cpp - Why dropout stays a formula ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"

#include "llvm/ADT/SmallPtrSet.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

/// True if elementwise ops and moves make `value` of bits that are numbers by a bitcast.
static bool isRandom(Value value) {
  SmallVector<Value> left = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!left.empty() && seen.size() < 32) {
    Operation *op = left.pop_back_val().getDefiningOp();
    if (!op || op->getNumRegions() != 0 || !seen.insert(op).second)
      continue;
    if (isa<BitcastOp>(op))
      return true;
    llvm::append_range(left, op->getOperands());
  }
  return false;
}

/// The number that `value` multiplies something else by.
static std::optional<double> getFactor(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return std::nullopt;
  if (auto mul = dyn_cast<MulOp>(op)) {
    std::optional<double> left = formulas::getNumber(mul.getLhs());
    return left ? left : formulas::getNumber(mul.getRhs());
  }
  if (auto div = dyn_cast<DivOp>(op))
    if (std::optional<double> number = formulas::getNumber(div.getRhs()))
      return 1 / *number;
  return std::nullopt;
}

/// The part that is kept, where `mask` is where random numbers are below it.
static std::optional<double> getKept(const View &mask) {
  auto compare = getOp<CompareOp>(mask);
  if (!compare || compare.getPredicate() != ComparePredicate::LT ||
      !isRandom(compare.getLhs()))
    return std::nullopt;
  std::optional<double> kept = formulas::getNumber(compare.getRhs());
  return kept && *kept > 0 && *kept < 1 ? kept : std::nullopt;
}

NearMiss formulas::explainDropout(Operation *root) {
  NearMiss why;
  std::optional<double> kept, factor;
  if (!isa<WhereOp, MulOp>(root) || !isStaticFloat(root->getResult(0)))
    return why;
  const int64_t rank = getRank(root->getResult(0));
  if (auto where = dyn_cast<WhereOp>(root)) {
    if (!isNumber(where.getOnFalse(), 0))
      return why;
    kept = getKept(getView(where.getCondition(), rank));
    factor = getFactor(where.getOnTrue());
  } else {
    for (Value operand : root->getOperands()) {
      View mask = getView(operand, rank);
      if (!kept && getOp<CastOp>(mask))
        kept = getKept(getOperand(mask, 0));
    }
    if (root->hasOneUse())
      factor = getFactor(*root->user_begin()->result_begin());
  }
  if (!kept)
    return why;
  if (factor && std::abs(*factor * *kept - 1) <= 0x1p-20)
    miss(&why, "mpt.dropout",
         "the mask is made of the program's own random bits, which are kept as they are");
  else
    miss(&why, "mpt.dropout",
         "what is kept is multiplied by " + (factor ? spell(*factor) : "no number") +
             ", expected " + spell(1 / *kept));
  return why;
}
