//===- ReportToken.cpp - One rank of a machine reports ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportToken.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mpt::rt;

ReportToken::Shared *ReportToken::map(int descriptor) {
  void *memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  // Of zeros, as it begins.
  return memory == MAP_FAILED ? nullptr : static_cast<Shared *>(memory);
}

ReportToken::ReportToken() {
  descriptor = ::memfd_create("mpt-report", MFD_CLOEXEC);
  if (descriptor < 0)
    return;
  Shared *mapped =
      ::ftruncate(descriptor, sizeof(Shared)) == 0 ? map(descriptor) : nullptr;
  if (!mapped) {
    // Others would map bytes that are not there.
    ::close(descriptor);
    descriptor = -1;
    return;
  }
  shared = mapped;
}

void ReportToken::join(const ProcessId &process, int32_t other) {
  if (process.number == ::getpid() || process.number <= 0 || other < 0)
    return;
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%lld/fd/%d",
                static_cast<long long>(process.number), other);
  // A process that has failed may have a file of its own under this number.
  char target[32] = {};
  static constexpr char kName[] = "/memfd:mpt-report";
  if (::readlink(path, target, sizeof(target) - 1) < 0 ||
      std::strncmp(target, kName, sizeof(kName) - 1) != 0)
    return;
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return;
  if (Shared *mapped = map(file)) {
    if (shared != &own)
      ::munmap(shared, sizeof(Shared));
    shared = mapped;
  }
  ::close(file);
}

ReportToken::~ReportToken() {
  if (shared != &own)
    ::munmap(shared, sizeof(Shared));
  if (descriptor >= 0)
    ::close(descriptor);
}
