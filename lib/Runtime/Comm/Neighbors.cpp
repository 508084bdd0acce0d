//===- Neighbors.cpp - Ranks of the same machine ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Neighbors.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace mpt::rt;

/// Of a process that ends but is no zombie yet (PF_EXITING of the kernel's flags): others
/// may have seen the end of its connections already.
static constexpr unsigned long kExiting = 4;

/// The state, the flags and the start of a process as proc(5) has them, in fields 3, 9
/// and 22; false if there is no such process. Allocates nothing.
static bool readStat(int64_t number, char &state, unsigned long &flags, int64_t &start) {
  char path[64], text[1024];
  std::snprintf(path, sizeof(path), "/proc/%lld/stat", static_cast<long long>(number));
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  const ssize_t length = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  if (length <= 0)
    return false;
  text[length] = 0;
  // The name before, in parentheses, may hold anything.
  const char *at = std::strrchr(text, ')');
  if (!at || at[1] != ' ' || !at[2])
    return false;
  state = at[2];
  flags = 0;
  for (int field = 2; field < 22 && at; ++field) {
    at = std::strchr(at + 1, ' ');
    if (at && field + 1 == 9)
      flags = std::strtoul(at, nullptr, 10);
  }
  if (!at)
    return false;
  start = std::strtoll(at, nullptr, 10);
  return true;
}

ProcessId mpt::rt::getOwnProcess() {
  ProcessId own;
  char state;
  unsigned long flags;
  if (readStat(::getpid(), state, flags, own.start))
    own.number = ::getpid();
  return own;
}

ProcessState mpt::rt::getState(const ProcessId &process) {
  char state = 0;
  unsigned long flags = 0;
  int64_t start = 0;
  if (!readStat(process.number, state, flags, start) || start != process.start ||
      state == 'Z' || state == 'X' || (flags & kExiting))
    return ProcessState::Ended;
  // Not 't', which is a debugger's.
  return state == 'T' ? ProcessState::Stopped : ProcessState::Runs;
}

void Neighbors::set(std::vector<ProcessId> all) {
  processes = std::move(all);
  for (ProcessId &process : processes)
    if (process.number <= 0 || getState(process) == ProcessState::Ended)
      process = {};
}

ProcessState Neighbors::find(int32_t rank) const {
  if (rank < 0 || rank >= size() || processes[rank].number == 0)
    return ProcessState::Runs;
  return getState(processes[rank]);
}

int32_t Neighbors::findEnded(int32_t own) const {
  for (int32_t i = 0; i < size(); ++i)
    if (i != own && find(i) == ProcessState::Ended)
      return i;
  return -1;
}

int32_t Neighbors::findFirst() const {
  for (int32_t i = 0; i < size(); ++i)
    if (processes[i].number != 0)
      return i;
  return -1;
}
