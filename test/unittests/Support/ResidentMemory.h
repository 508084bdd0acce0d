//===- ResidentMemory.h - What this process has in memory -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_SUPPORT_RESIDENTMEMORY_H
#define MPT_UNITTESTS_SUPPORT_RESIDENTMEMORY_H

#include <cstdint>
#include <fstream>
#include <unistd.h>

namespace mpt {

/// Bytes of this process that are in memory; 0 where the system does not tell.
inline int64_t getResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

} // namespace mpt

#endif // MPT_UNITTESTS_SUPPORT_RESIDENTMEMORY_H
