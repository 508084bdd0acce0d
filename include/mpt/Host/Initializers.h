//===- Initializers.h - Seeded first values of state ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_INITIALIZERS_H
#define MPT_HOST_INITIALIZERS_H

#include "mpt/Host/HostTensor.h"
#include "mpt/Support/StepABI.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mpt {

/// Fills `tensor`, which keeps its type and shape, with the values that
/// ProgramABI/InitialValues.h describes; they are computed in double and rounded once to
/// the tensor's type, by up to `threads` threads. Fails on numbers that define no
/// distribution (a fan of zero, low > high, a negative deviation, NaN), and on a random
/// kind for an integer tensor.
llvm::Error initializeTensor(HostTensor &tensor, const InitSpec &spec, uint64_t seed,
                             llvm::StringRef name, int64_t threads = 1);

} // namespace mpt

#endif // MPT_HOST_INITIALIZERS_H
