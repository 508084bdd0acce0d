//===- DenseFormula.cpp - Formula of a dense layer --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

/// A matmul with a matrix, or a convolution, without a bias.
static bool takesBias(Operation *op) {
  if (auto matmul = dyn_cast_or_null<MatmulOp>(op))
    return !matmul.getTransposeLhs() && getRank(matmul.getLhs()) >= 2 &&
           getRank(matmul.getRhs()) == 2;
  auto conv = dyn_cast_or_null<Conv2DOp>(op);
  return conv && !conv.getBias() && conv.getEpilogue() == Epilogue::None;
}

std::optional<Dense> formulas::matchDense(Operation *root, NearMiss *why) {
  auto add = dyn_cast<AddOp>(root);
  if (!add || !isStaticFloat(add.getResult()))
    return std::nullopt;
  auto type = cast<RankedTensorType>(add.getType());
  for (auto [x, bias] :
       {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    Operation *contraction = skipReshapes(x).getDefiningOp();
    // What is as large as the result is no bias.
    bool isSmall =
        cast<RankedTensorType>(bias.getType()).getNumElements() < type.getNumElements();
    const char *name =
        isa_and_present<Conv2DOp>(contraction) ? "mpt.conv2d" : "mpt.linear";
    if (auto matmul = dyn_cast_or_null<MatmulOp>(contraction);
        matmul && getRank(matmul.getRhs()) > 2 && isSmall && x.getType() == type)
      return miss(why, name, "each batch has a matrix of its own");
    if (!takesBias(contraction) || x.getType() != type ||
        getRank(bias) > type.getRank() ||
        cast<RankedTensorType>(contraction->getResult(0).getType()).getElementType() !=
            type.getElementType())
      continue;
    // The last dimensions are the columns, each with a bias.
    int64_t columns = getShape(contraction->getResult(0)).back(), found = 1;
    int64_t first = type.getRank();
    while (first > 0 && found < columns)
      found *= type.getDimSize(--first);
    int64_t offset = type.getRank() - getRank(bias);
    bool fits = found == columns;
    for (int64_t dim : llvm::seq(type.getRank())) {
      int64_t size = dim < offset ? 1 : getShape(bias)[dim - offset];
      fits = fits && size == (dim < first ? 1 : type.getDimSize(dim));
    }
    if (!fits) {
      if (isSmall)
        (void)miss(why, name, "what is added is not one number for each column");
      continue;
    }
    for (Value value = x; fits; value = value.getDefiningOp()->getOperand(0)) {
      fits = value.hasOneUse();
      if (value.getDefiningOp() == contraction)
        break;
    }
    if (fits)
      return Dense{contraction, bias};
    (void)miss(why, name, "others read the result without its bias");
  }
  return std::nullopt;
}
