//===- TransposedRows.cpp - Rows read and written where they lie -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransposedRows.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Longer rows do not stay in the first-level cache where each lane has one.
static constexpr int64_t mostColumns = 256;
/// Fewer neighbours do not fill a vector.
static constexpr int64_t leastNeighbours = 16;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static TransposeOp getTransposeBefore(Value operand) {
  while (auto reshape = operand.getDefiningOp<ReshapeOp>())
    operand = reshape.getX();
  return operand.getDefiningOp<TransposeOp>();
}

/// The transpose that alone reads `result`, perhaps by another shape.
static TransposeOp getTransposeAfter(Value result,
                                     function_ref<bool(Operation *)> isMember) {
  Operation *reader = nullptr;
  for (Operation *user : result.getUsers()) {
    if (isMember(user))
      continue;
    if (reader && reader != user)
      return nullptr;
    reader = user;
  }
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(reader))
    reader = reshape->hasOneUse() ? *reshape->getUsers().begin() : nullptr;
  return dyn_cast_or_null<TransposeOp>(reader);
}

/// `access` over a domain whose first dimension became those of `rows`; nothing if it has
/// that dimension otherwise than as a whole.
static std::optional<KernelAccess> splitRows(const KernelAccess &access, int64_t size,
                                             ArrayRef<int64_t> rows) {
  MLIRContext *context = access.map.getContext();
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs;
  for (auto [i, expr] : llvm::enumerate(access.map.getResults())) {
    const int64_t extent = access.type.getDimSize(i);
    if (!expr.isFunctionOfDim(0)) {
      shape.push_back(extent);
      exprs.push_back(expr.shiftDims(2, rows.size() - 1, 1));
      continue;
    }
    if (!isa<AffineDimExpr>(expr) || extent != size)
      return std::nullopt;
    for (auto [number, count] : llvm::enumerate(rows)) {
      shape.push_back(count);
      exprs.push_back(getAffineDimExpr(number, context));
    }
  }
  return KernelAccess{access.type.clone(shape),
                      AffineMap::get(rows.size() + 1, 0, exprs, context)};
}

std::optional<TransposedRows>
mpt::detail::findTransposedRows(const KernelDomain &domain, ArrayRef<Value> operands,
                                ArrayRef<Value> results,
                                function_ref<bool(Operation *)> isMember) {
  const size_t rank = domain.sizes.size();
  if (!domain.reduces || rank < 2 || domain.sizes.back() < 2 ||
      domain.sizes.back() > mostColumns ||
      llvm::any_of(domain.accesses,
                   [](const KernelAccess &access) { return !access.strides.empty(); }))
    return std::nullopt;
  const unsigned last = rank - 1;
  // The transposes, by access; null for what does not vary along a row.
  SmallVector<TransposeOp> transposes;
  SmallVector<int64_t> rows;
  for (auto [i, access] : llvm::enumerate(domain.accesses)) {
    transposes.push_back(nullptr);
    if (!access.map.isFunctionOfDim(last))
      continue;
    const bool isOperand = i < operands.size();
    // A vector of weights along a row.
    if (isOperand && access.map.getNumResults() == 1)
      continue;
    TransposeOp transpose =
        isOperand ? getTransposeBefore(operands[i])
                  : getTransposeAfter(results[i - operands.size()], isMember);
    if (!access.map.isIdentity() || !transpose ||
        !transpose->getDiscardableAttrs().empty())
      return std::nullopt;
    // Of the shape whose last dimension is the row.
    ArrayRef<int64_t> shape =
        typeOf(isOperand ? transpose.getResult() : transpose.getX()).getShape();
    if (shape.empty() || shape.back() != domain.sizes.back() ||
        (!rows.empty() && ArrayRef(rows) != shape.drop_back()))
      return std::nullopt;
    rows.assign(shape.begin(), shape.end() - 1);
    transposes.back() = transpose;
  }
  if (rows.empty())
    return std::nullopt;
  TransposedRows found{
      domain, SmallVector<Value>(operands), SmallVector<Value>(results), {}};
  if (ArrayRef(rows) != ArrayRef(domain.sizes).drop_back()) {
    // The kernel has these dimensions as one.
    if (rank != 2 || domain.indexed[0] || llvm::product_of(rows) != domain.sizes[0])
      return std::nullopt;
    for (KernelAccess &access : found.domain.accesses) {
      std::optional<KernelAccess> split = splitRows(access, domain.sizes[0], rows);
      if (!split)
        return std::nullopt;
      access = *split;
    }
    found.domain.sizes.assign(rows);
    found.domain.sizes.push_back(domain.sizes.back());
    const bool isIndexed = domain.indexed[1];
    found.domain.indexed.assign(rows.size(), false);
    found.domain.indexed.push_back(isIndexed);
  }
  MLIRContext *context = domain.accesses.front().map.getContext();
  for (auto [i, transpose] : llvm::enumerate(transposes)) {
    if (!transpose)
      continue;
    const bool isOperand = i < operands.size();
    // Dimension d of the tensor that lies in memory is the `places[d]`-th of the domain.
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    SmallVector<int64_t> places(permutation);
    if (isOperand)
      for (auto [to, from] : llvm::enumerate(permutation))
        places[from] = to;
    Value memory = isOperand ? transpose.getX() : transpose.getResult();
    if (places.back() != static_cast<int64_t>(rows.size()) - 1)
      return std::nullopt;
    SmallVector<AffineExpr> exprs;
    for (int64_t place : places)
      exprs.push_back(getAffineDimExpr(place, context));
    found.domain.accesses[i] = {typeOf(memory),
                                AffineMap::get(rows.size() + 1, 0, exprs, context)};
    if (isOperand) {
      found.operands[i] = memory;
    } else {
      found.results[i - operands.size()] = memory;
      found.replaced.push_back(transpose);
    }
  }
  // Dimensions that stay one after the other everywhere are joined.
  KernelDomain joined = found.domain;
  (void)joined.simplify();
  if (joined.sizes.size() < 2 || joined.sizes[joined.sizes.size() - 2] < leastNeighbours)
    return std::nullopt;
  return found;
}
