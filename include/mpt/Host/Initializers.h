//===- Initializers.h - Seeded first values of state ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schemes of `mpt.init`. A value depends on the seed, the tensor's name
/// and the element's row-major position only: not on the order of arguments,
/// other tensors, threads or the CPU (random bits from Philox, no libm).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_INITIALIZERS_H
#define MPT_HOST_INITIALIZERS_H

#include "mpt/Host/HostTensor.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace mpt {

enum class InitKind : uint8_t {
  /// 0 and 1 everywhere, or `value`.
  Zeros,
  Ones,
  Constant,
  /// U(low, high).
  Uniform,
  /// N(mean, std).
  Normal,
  /// N(mean, std) cut at two standard deviations, as
  /// torch.nn.init.trunc_normal_(a=mean-2std, b=mean+2std).
  TruncNormal,
  /// U(-b, b) with b = 1/sqrt(fanIn): what torch.nn.Linear and Conv2d use for
  /// weight (kaiming_uniform_ with a = sqrt(5)) and bias.
  KaimingUniform,
  /// U(-b, b) with b = sqrt(6/(fanIn + fanOut)) (Glorot and Bengio 2010).
  XavierUniform
};

/// One `mpt.init` attribute. Fields that a kind does not name are ignored.
struct InitSpec {
  InitKind kind = InitKind::Zeros;
  double value = 0;
  double low = 0, high = 1;
  double mean = 0, std = 1;
  int64_t fanIn = 0, fanOut = 0;
};

/// The attribute's spelling ("kaiming_uniform").
llvm::StringRef stringifyInitKind(InitKind kind);
std::optional<InitKind> parseInitKind(llvm::StringRef name);

/// Fails, naming the field, on values that define no distribution (a fan of
/// zero, low > high, a negative deviation, NaN).
llvm::Error verifyInitSpec(const InitSpec &spec);

/// Fills `tensor`, which keeps its type and shape; values are computed in
/// double and rounded once to the tensor's type. Fails as `verifyInitSpec`,
/// and on a random scheme for an integer tensor.
llvm::Error initializeTensor(HostTensor &tensor, const InitSpec &spec,
                             uint64_t seed, llvm::StringRef name);

/// The standard normal quantile, for 0 < p < 1. Relative error about 1e-15
/// (Wichura 1988, algorithm AS 241, PPND16).
double normalQuantile(double p);

} // namespace mpt

#endif // MPT_HOST_INITIALIZERS_H
