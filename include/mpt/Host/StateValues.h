//===- StateValues.h - First and present values of state --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `mpt-run` puts into a step's state and reads from it, where a step may
/// keep a parameter in another form than the model declares (`mpt.master`,
/// `mpt.low_of`).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_STATEVALUES_H
#define MPT_HOST_STATEVALUES_H

#include "mpt/Host/StepEngine.h"
#include <map>
#include <string>

namespace mpt {

/// Gives every state argument its first value: from `values` by name (their
/// source is named in errors), else the seed for the rng argument `seed`, else
/// `mpt.init`, else zeros for rng and optimizer state. Fails for other state
/// without `mpt.init`, for values that fit no state, and for floats that are not
/// finite. A parameter with `mpt.master` takes values of any float type, rounded to
/// nearest, if its type can hold them; if its lower halves are state too, f32 values
/// and `mpt.init` fill both exactly.
llvm::Error initializeState(StepEngine &engine, uint64_t seed,
                            const std::map<std::string, HostTensor> &values,
                            llvm::StringRef source);

/// Writes `values` alone, by the rules of `initializeState`.
llvm::Error writeStateValues(StepEngine &engine,
                             const std::map<std::string, HostTensor> &values,
                             llvm::StringRef source);

/// State `wanted.name` of `engine`. A parameter with `mpt.master` comes as
/// `wanted.type`: joined, if the state has its lower halves, and rounded to nearest.
llvm::Expected<HostTensor> readParameter(const StepEngine &engine,
                                         const TensorInfo &wanted);

/// The f32 numbers whose bits are those of `high` (bf16) times 2^16 plus `low`
/// (i16), as `mpt.join_halves` has them.
llvm::Expected<HostTensor> joinHalves(const HostTensor &high, const HostTensor &low);
/// The inverse, as `mpt.high_half` and `mpt.low_half`: (high, low).
llvm::Expected<std::pair<HostTensor, HostTensor>> splitHalves(const HostTensor &wide);

} // namespace mpt

#endif // MPT_HOST_STATEVALUES_H
