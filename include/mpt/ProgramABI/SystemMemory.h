//===- SystemMemory.h - What memory a process can have ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Linux hands out more memory than there is and ends a process that uses it. A step
/// writes all of its memory, so MPT asks before it allocates. Needs neither LLVM nor
/// MLIR.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_SYSTEMMEMORY_H
#define MPT_PROGRAMABI_SYSTEMMEMORY_H

#include <cstdint>

namespace mpt::rt {

/// The most bytes that this process can use: the machine's physical memory, without
/// swap, or less where the process's control group (`memory.max`, or
/// `memory.limit_in_bytes` of version 1) or `ulimit -v` or `-d` sets a lower limit. It
/// does not say how much of that is free.
int64_t getSystemMemory();

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_SYSTEMMEMORY_H
