//===- MachineRates.h - What this machine does at most ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_MACHINERATES_H
#define MPT_HOST_MACHINERATES_H

#include "mpt/Host/StepProfile.h"

namespace mpt {

/// Measures the CPU with `threads` threads (0: as many as it has), in about a second and
/// with 150 MB: the fastest of some matmuls of 1024 x 1024 by 1024 x 1024 and
/// convolutions of 3 x 3 in f32, bf16 and f16, and of copies of 64 MB. Nullopt if there
/// is no memory for it.
std::optional<MachineRates> measureMachineRates(int threads);

} // namespace mpt

#endif // MPT_HOST_MACHINERATES_H
