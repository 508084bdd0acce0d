//===- TensorCorePadding.cpp - Sizes that tensor cores want -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/TensorCorePadding.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;

std::optional<MatmulPadding> mpt::planPadding(const MatmulSizes &shape,
                                              const TargetDescription &target) {
  const unsigned bits = shape.lhsType.getIntOrFloatBitWidth();
  if (!target.hasUnits(shape.lhsType) || bits < 8)
    return std::nullopt;
  const int64_t multiple = std::max<int64_t>(target.alignment * 8 / bits, 1);
  auto align = [&](int64_t size) {
    return static_cast<int64_t>(llvm::alignTo(size, multiple));
  };
  // Contiguous: K or M of lhs, N or K of rhs, N of the result.
  MatmulPadding padding{shape.m, align(shape.n), shape.k};
  if (shape.transposeLhs)
    padding.m = align(shape.m);
  if (!shape.transposeLhs || shape.transposeRhs)
    padding.k = align(shape.k);
  const bool padsM = padding.m != shape.m, padsN = padding.n != shape.n,
             padsK = padding.k != shape.k;
  if (!padsM && !padsN && !padsK)
    return std::nullopt;

  const double macs = double(shape.lhsBatch) * shape.m * shape.n * shape.k;
  const double padded = double(shape.lhsBatch) * padding.m * padding.n * padding.k;
  padding.saved =
      1e6 * (2 * macs / (target.f32 * 1e12) - 2 * padded / target.getRate(shape.lhsType));
  // Each copy reads one matrix and writes the other.
  auto copy = [&](bool needed, double from, double to, unsigned elementBits) {
    if (needed)
      padding.cost +=
          target.launch + 1e6 * (from + to) * elementBits / 8 / (target.bandwidth * 1e9);
  };
  copy(padsM || padsK, double(shape.lhsBatch) * shape.m * shape.k,
       double(shape.lhsBatch) * padding.m * padding.k, bits);
  copy(padsK || padsN, double(shape.rhsBatch) * shape.k * shape.n,
       double(shape.rhsBatch) * padding.k * padding.n, bits);
  copy(padsM || padsN, double(shape.lhsBatch) * shape.m * shape.n,
       double(shape.lhsBatch) * padding.m * padding.n,
       shape.resultType.getIntOrFloatBitWidth());
  return padding;
}
