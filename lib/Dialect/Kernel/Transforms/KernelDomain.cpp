//===- KernelDomain.cpp - The loops a kernel runs over -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelDomain.h"

#include "mlir/IR/AffineExpr.h"
#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Points of a task: enough to pay for handing it to a thread.
static constexpr int64_t pointsPerTask = 32768;
/// A column kernel has a block of partial sums for each task.
static constexpr int64_t mostColumnTasks = 64;
/// Rows of flat memory are at most this long and at least `shortestRow`.
static constexpr int64_t longestRow = 4096;
static constexpr int64_t shortestRow = 64;

/// The tensor dimension that is indexed by domain dimension `dim` alone, from 0
/// to the tensor's end; -1 if `dim` is not used; failure for any other use.
static FailureOr<int64_t> findPlainUse(const KernelAccess &access, unsigned dim,
                                       int64_t size) {
  int64_t use = -1;
  for (auto [i, expr] : llvm::enumerate(access.map.getResults())) {
    if (!expr.isFunctionOfDim(dim))
      continue;
    auto plain = dyn_cast<AffineDimExpr>(expr);
    if (!plain || use >= 0 || access.type.getDimSize(i) != size)
      return failure();
    use = i;
  }
  return use;
}

/// The access after domain dimensions `dim` and `dim + 1` became one.
static KernelAccess joinDims(const KernelAccess &access, unsigned dim, unsigned rank) {
  MLIRContext *context = access.map.getContext();
  SmallVector<AffineExpr> renumbered;
  for (unsigned i = 0; i < rank; ++i)
    renumbered.push_back(getAffineDimExpr(i <= dim ? i : i - 1, context));
  SmallVector<int64_t> shape, strides;
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < access.map.getNumResults(); ++i) {
    AffineExpr expr = access.map.getResult(i);
    int64_t size = access.type.getDimSize(i);
    auto plain = dyn_cast<AffineDimExpr>(expr);
    if (plain && plain.getPosition() == dim && i + 1 < access.map.getNumResults()) {
      size *= access.type.getDimSize(++i);
    }
    shape.push_back(size);
    if (!access.strides.empty())
      strides.push_back(access.strides[i]);
    exprs.push_back(expr.replaceDims(renumbered));
  }
  return {access.type.clone(shape), AffineMap::get(rank - 1, 0, exprs, context), strides};
}

/// The access without domain dimension `dim`, which has one point, and without
/// tensor dimensions that have one element.
static KernelAccess dropUnits(const KernelAccess &access, std::optional<unsigned> dim,
                              unsigned rank) {
  MLIRContext *context = access.map.getContext();
  SmallVector<AffineExpr> renumbered;
  for (unsigned i = 0; i < rank; ++i)
    renumbered.push_back(dim == i
                             ? getAffineConstantExpr(0, context)
                             : getAffineDimExpr(dim && *dim < i ? i - 1 : i, context));
  SmallVector<int64_t> shape, strides;
  SmallVector<AffineExpr> exprs;
  for (auto [i, expr] : llvm::enumerate(access.map.getResults())) {
    AffineExpr rest =
        simplifyAffineExpr(expr.replaceDims(renumbered), rank - dim.has_value(), 0);
    if (access.type.getDimSize(i) == 1 && isa<AffineConstantExpr>(rest))
      continue;
    shape.push_back(access.type.getDimSize(i));
    if (!access.strides.empty())
      strides.push_back(access.strides[i]);
    exprs.push_back(rest);
  }
  return {access.type.clone(shape),
          AffineMap::get(rank - dim.has_value(), 0, exprs, context), strides};
}

SmallVector<int64_t> KernelDomain::dropUnitDims() {
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  for (unsigned dim = 0; dim < sizes.size();) {
    bool isLast = dim + 1 == sizes.size();
    if (sizes[dim] != 1 || indexed[dim] || sizes.size() == 1 || (reduces && isLast)) {
      ++dim;
      continue;
    }
    for (KernelAccess &access : accesses)
      access = dropUnits(access, dim, sizes.size());
    sizes.erase(sizes.begin() + dim);
    indexed.erase(indexed.begin() + dim);
    for (int64_t &number : numbers)
      if (number > static_cast<int64_t>(dim))
        --number;
  }
  for (KernelAccess &access : accesses)
    access = dropUnits(access, std::nullopt, sizes.size());
  // At a single point all dimensions of one element are alike, so that a result finds
  // the operand whose place it can take.
  if (!reduces && sizes.size() == 1 && sizes[0] == 1)
    for (KernelAccess &access : accesses) {
      access = dropUnits(access, 0, 1);
      access.map = AffineMap::get(1, 0, access.map.getResults(), access.map.getContext());
    }
  return numbers;
}

SmallVector<int64_t> KernelDomain::simplify() {
  // mpt.reshape does not take them.
  if (llvm::any_of(accesses, [](const KernelAccess &access) {
        return isa<Float4E2M1FNType, Float8E8M0FNUType>(access.type.getElementType());
      }))
    return llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  SmallVector<int64_t> numbers = dropUnitDims();
  // With reductions the last dimension is the row.
  auto last = [&] { return sizes.size() - (reduces ? 1 : 0); };
  for (unsigned dim = 0; dim + 1 < last();) {
    bool joins = !indexed[dim] && !indexed[dim + 1];
    for (const KernelAccess &access : accesses) {
      FailureOr<int64_t> a = findPlainUse(access, dim, sizes[dim]);
      FailureOr<int64_t> b = findPlainUse(access, dim + 1, sizes[dim + 1]);
      if (failed(a) || failed(b) || (*a < 0) != (*b < 0) || (*a >= 0 && *b != *a + 1))
        joins = false;
      else if (*a >= 0 && !access.strides.empty() &&
               access.strides[*a] != access.strides[*b] * access.type.getDimSize(*b))
        joins = false;
    }
    if (!joins) {
      ++dim;
      continue;
    }
    for (KernelAccess &access : accesses)
      access = joinDims(access, dim, sizes.size());
    sizes[dim] *= sizes[dim + 1];
    sizes.erase(sizes.begin() + dim + 1);
    indexed.erase(indexed.begin() + dim + 1);
    for (int64_t &number : numbers)
      if (number > static_cast<int64_t>(dim))
        --number;
  }

  // Flat memory: rows of a good length instead of one long row.
  if (reduces || sizes.size() != 1 || indexed[0] || sizes[0] <= longestRow)
    return numbers;
  int64_t columns = 1;
  for (int64_t i = shortestRow; i <= longestRow; ++i)
    if (sizes[0] % i == 0)
      columns = i;
  if (columns == 1)
    return numbers;
  for (const KernelAccess &access : accesses)
    if (failed(findPlainUse(access, 0, sizes[0])))
      return numbers;
  MLIRContext *context = accesses.front().map.getContext();
  for (KernelAccess &access : accesses) {
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> exprs;
    for (auto [i, expr] : llvm::enumerate(access.map.getResults())) {
      if (expr.isFunctionOfDim(0)) {
        shape.push_back(sizes[0] / columns);
        shape.push_back(columns);
        exprs.push_back(getAffineDimExpr(0, context));
        exprs.push_back(getAffineDimExpr(1, context));
      } else {
        shape.push_back(access.type.getDimSize(i));
        exprs.push_back(expr);
      }
    }
    access = {access.type.clone(shape), AffineMap::get(2, 0, exprs, context)};
  }
  sizes = {sizes[0] / columns, columns};
  indexed.push_back(false);
  return numbers;
}

int64_t KernelDomain::getChunkRows(bool hasColumns) const {
  int64_t rows = getKernelRows(sizes);
  int64_t columns = std::max<int64_t>(getKernelColumns(sizes), 1);
  int64_t chunk = std::max<int64_t>(1, pointsPerTask / columns);
  if (hasColumns)
    chunk = std::max<int64_t>(chunk, llvm::divideCeil(rows, mostColumnTasks));
  return std::clamp<int64_t>(chunk, 1, std::max<int64_t>(rows, 1));
}
