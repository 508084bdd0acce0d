//===- Linalg.cpp - dot_general of StableHLO -------------------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

static int64_t countOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= shape[dim];
  return count;
}

namespace {
/// One operand as [batch.., M, K] or [batch.., K, M].
struct Matrix {
  Value value;
  bool contractedFirst = false;
};
} // namespace

/// `x` with its batch dimensions first, then the two groups, each as one dimension. The
/// group that comes first in memory comes first, so that moves are left to the matmul.
static Matrix toMatrix(Lowering &l, Value x, Shape batch, Shape kept, Shape contracted) {
  // What is transposed before is read where it lies.
  while (auto transpose = x.getDefiningOp<TransposeOp>()) {
    for (Shape *dims : {&batch, &kept, &contracted})
      for (int64_t &dim : *dims)
        dim = transpose.getPermutation()[dim];
    x = transpose.getX();
  }
  Matrix m;
  auto permuted = [&](bool contractedFirst) {
    Shape order(batch);
    llvm::append_range(order, contractedFirst ? contracted : kept);
    llvm::append_range(order, contractedFirst ? kept : contracted);
    return order;
  };
  auto isIdentity = [](ArrayRef<int64_t> order) {
    return llvm::equal(order, llvm::seq<int64_t>(0, order.size()));
  };
  m.contractedFirst = !isIdentity(permuted(false)) &&
                      (isIdentity(permuted(true)) ||
                       (!kept.empty() && !contracted.empty() &&
                        contracted.front() < kept.front() && batch.empty()));
  ArrayRef<int64_t> shape = getShape(x);
  Shape sizes;
  for (int64_t dim : batch)
    sizes.push_back(shape[dim]);
  int64_t m0 = countOf(shape, kept), k = countOf(shape, contracted);
  sizes.push_back(m.contractedFirst ? k : m0);
  sizes.push_back(m.contractedFirst ? m0 : k);
  m.value = l.reshape(l.transpose(x, permuted(m.contractedFirst)), sizes);
  return m;
}

/// Integers have no matmul: products and their sum.
static Value multiplyAndSum(Lowering &l, const Matrix &a, const Matrix &b, Type element) {
  auto rowsOf = [&](const Matrix &m) {
    if (!m.contractedFirst)
      return m.value;
    Shape order = llvm::to_vector(llvm::seq<int64_t>(0, getRank(m.value)));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return l.transpose(m.value, order);
  };
  Value x = l.cast(rowsOf(a), element), y = l.cast(rowsOf(b), element);
  Shape left(getShape(x)), right(getShape(y));
  left.insert(left.end() - 1, 1);
  right.insert(right.end() - 2, 1);
  return l.reduceLast(ReduceKind::Sum, l.mul(l.reshape(x, left), l.reshape(y, right)));
}

static void dotGeneral(Lowering &l, Shape batchA, Shape batchB, Shape contractA,
                       Shape contractB) {
  Value a = l.get(0), b = l.get(1);
  RankedTensorType type = l.resultType();
  if (!l.refusal.empty())
    return;
  bool fits = batchA.size() == batchB.size() && contractA.size() == contractB.size();
  auto check = [&](ArrayRef<int64_t> dimsA, ArrayRef<int64_t> dimsB) {
    for (auto [i, j] : llvm::zip(dimsA, dimsB))
      fits = fits && i >= 0 && i < getRank(a) && j >= 0 && j < getRank(b) &&
             getShape(a)[i] == getShape(b)[j];
  };
  check(batchA, batchB);
  check(contractA, contractB);
  if (!l.require(fits, "dimensions that do not fit"))
    return;
  // Contracted dimensions in the order of an operand that then need not be moved.
  auto sortBy = [](Shape &keys, Shape &others) {
    SmallVector<std::pair<int64_t, int64_t>> pairs;
    for (auto [key, other] : llvm::zip_equal(keys, others))
      pairs.push_back({key, other});
    llvm::sort(pairs);
    for (auto [i, pair] : llvm::enumerate(pairs))
      std::tie(keys[i], others[i]) = pair;
  };
  sortBy(contractA, contractB);
  auto keptOf = [](Value x, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracted) {
    Shape kept;
    for (int64_t dim : llvm::seq<int64_t>(0, getRank(x)))
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contracted, dim))
        kept.push_back(dim);
    return kept;
  };
  Shape keptA = keptOf(a, batchA, contractA), keptB = keptOf(b, batchB, contractB);
  Matrix left = toMatrix(l, a, batchA, keptA, contractA),
         right = toMatrix(l, b, batchB, keptB, contractB);
  Value y;
  if (isa<FloatType>(getElement(a)) && isa<FloatType>(getElement(b)) &&
      isa<FloatType>(type.getElementType())) {
    // [B, M, K] x [B, K, N]. A right operand [N, K] is transposed.
    Shape shape(getShape(left.value).drop_back(2));
    shape.push_back(countOf(getShape(a), keptA));
    shape.push_back(countOf(getShape(b), keptB));
    y = MatmulOp::create(
        l.builder, l.loc, RankedTensorType::get(shape, type.getElementType()), left.value,
        right.value, left.contractedFirst, !right.contractedFirst, TypeAttr());
    // As JAX marks matmuls that decide about the precision of a result.
    auto precision = dyn_cast_or_null<ArrayAttr>(l.attribute("precision_config"));
    if (precision && llvm::any_of(precision, [](Attribute of) {
          return getText(of).contains("HIGHEST");
        }))
      y.getDefiningOp()->setAttr(kPrecisionAttr, l.builder.getStringAttr("f32"));
  } else {
    if (!l.require(isa<IntegerType>(type.getElementType()) &&
                       !type.getElementType().isInteger(1) && !l.isUnsigned(0) &&
                       !l.isUnsigned(1),
                   "a matmul of these element types"))
      return;
    y = multiplyAndSum(l, left, right, type.getElementType());
  }
  l.set(l.reshape(y, type.getShape()));
}

void mpt::stablehlo::populateLinalg(Table &t) {
  t.add({"stablehlo.dot_general"}, [](Lowering &l) {
    StringRef name = "dot_dimension_numbers";
    dotGeneral(l, l.list(name, "lhs_batching_dimensions"),
               l.list(name, "rhs_batching_dimensions"),
               l.list(name, "lhs_contracting_dimensions"),
               l.list(name, "rhs_contracting_dimensions"));
  });
  t.add({"stablehlo.dot"},
        [](Lowering &l) { dotGeneral(l, {}, {}, {getRank(l.get(0)) - 1}, {0}); });
}
