//===- GatherFormula.cpp - Lookups that read more than rows -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

/// True if each row of `value` has a one where a counter equals an integer of the row.
static bool isOneHot(Value value) {
  value = skipReshapes(value);
  View truth = getView(value, getRank(value));
  if (!getOp<CastOp>(truth))
    return false;
  truth = getOperand(truth, 0);
  auto compare = getOp<CompareOp>(truth);
  if (!compare || compare.getPredicate() != ComparePredicate::EQ)
    return false;
  return llvm::any_of(llvm::seq(2u), [&](unsigned index) {
    View counter = getOperand(truth, index);
    auto iota = getOp<IotaOp>(counter);
    return iota && counter.dims[iota.getAxis()] == getRank(value) - 1;
  });
}

NearMiss formulas::explainGather(Operation *root) {
  NearMiss why;
  if (auto gather = dyn_cast<GatherOp>(root)) {
    auto transpose = skipReshapes(gather.getTable()).getDefiningOp<TransposeOp>();
    if (transpose && transpose.getPermutation()[0] != 0)
      miss(&why, "mpt.gather",
           "places are chosen along dimension " + Twine(transpose.getPermutation()[0]) +
               " of the table, expected rows: the table is transposed first");
  } else if (auto matmul = dyn_cast<MatmulOp>(root)) {
    auto type = dyn_cast<RankedTensorType>(matmul.getLhs().getType());
    if (type && type.hasStaticShape() && !matmul.getTransposeLhs() &&
        isOneHot(matmul.getLhs()))
      miss(&why, "mpt.gather",
           "the table is multiplied by one-hot rows, expected a choice of rows");
  }
  return why;
}
