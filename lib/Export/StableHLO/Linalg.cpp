//===- Linalg.cpp - Matmuls in StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "Products.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

Type mpt::tostablehlo::widenFactors(Emitter &e, Value &lhs, Value &rhs,
                                    std::optional<Type> accumulator) {
  Type f32 = e.builder.getF32Type();
  bool isF64 = getElement(lhs).isF64() || getElement(rhs).isF64() ||
               (accumulator && accumulator->isF64());
  if (!isF64 && e.graph.readsNarrow && getElement(lhs) == getElement(rhs))
    return f32;
  Type sum = isF64 ? Type(e.builder.getF64Type()) : f32;
  lhs = e.convert(lhs, sum);
  rhs = e.convert(rhs, sum);
  return sum;
}

static std::string spell(StringRef name, ArrayRef<int64_t> dimensions) {
  SmallVector<std::string> words;
  for (int64_t dimension : dimensions)
    words.push_back(std::to_string(dimension));
  return (name + " = [" + llvm::join(words, ", ") + "]").str();
}

/// Sums over one dimension of each operand; the first `batch` dimensions of both are the
/// same.
static Value contract(Emitter &e, Value lhs, Value rhs, int64_t batch, int64_t lhsDim,
                      int64_t rhsDim, std::optional<Type> accumulator) {
  Type sum = widenFactors(e, lhs, rhs, accumulator);
  Shape shape;
  for (int64_t i = 0; i < getRank(lhs); ++i)
    if (i != lhsDim)
      shape.push_back(getShape(lhs)[i]);
  for (int64_t i = batch; i < getRank(rhs); ++i)
    if (i != rhsDim)
      shape.push_back(getShape(rhs)[i]);
  SmallVector<std::string> parts;
  if (batch) {
    Shape dimensions = llvm::to_vector(llvm::seq<int64_t>(0, batch));
    parts.push_back(spell("lhs_batching_dimensions", dimensions));
    parts.push_back(spell("rhs_batching_dimensions", dimensions));
  }
  parts.push_back(spell("lhs_contracting_dimensions", lhsDim));
  parts.push_back(spell("rhs_contracting_dimensions", rhsDim));
  return e.make(
      "dot_general", RankedTensorType::get(shape, sum), {lhs, rhs},
      {e.opaque("dot_dimension_numbers", "dot<" + llvm::join(parts, ", ") + ">"),
       e.precision(lhs, rhs)});
}

static void convertMatmul(MatmulOp op, Emitter &e) {
  Value lhs = e.get(op.getLhs()), rhs = e.get(op.getRhs());
  int64_t batch = getRank(rhs) - 2;
  e.set(contract(e, lhs, rhs, batch, getRank(lhs) - (op.getTransposeLhs() ? 2 : 1),
                 batch + (op.getTransposeRhs() ? 1 : 0), op.getAccType()));
}

/// Without a bias and an activation, which are ops of their own by now.
static void convertLinear(LinearOp op, Emitter &e) {
  Value x = e.get(op.getX());
  e.set(contract(e, x, e.get(op.getWeight()), 0, getRank(x) - 1,
                 op.getTransposeWeight() ? 1 : 0, op.getAccType()));
}

void mpt::tostablehlo::populateLinalg(Table &table) {
  table.add(convertMatmul);
  table.add(convertLinear);
}
