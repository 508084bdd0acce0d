//===- Interrupts.cpp - Signals that ask a tool to end ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/Interrupts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Signals.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <unistd.h>

using namespace mpt;

// A signal handler has no other place for its state.
static std::atomic<const char *> installedFor{nullptr};
static std::atomic<int> deferrals{0}, deferred{0}, child{0};
static std::atomic<time_t> deferredAt{0};

/// Calls what is safe in a signal handler, and no more.
[[noreturn]] static void end(int signal) {
  if (int pid = child)
    ::kill(pid, SIGTERM);
  llvm::sys::RunInterruptHandlers();
  const char *parts[] = {installedFor.load(), ": interrupted\n"};
  for (const char *part : parts)
    if (::write(STDERR_FILENO, part, std::strlen(part)) < 0)
      break;
  ::_exit(128 + signal);
}

static void handle(int signal) {
  const int savedErrno = errno;
  if (deferrals.load() == 0)
    end(signal);
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  int none = 0;
  if (deferred.compare_exchange_strong(none, signal))
    deferredAt = now.tv_sec;
  else if (signal == SIGINT && none == SIGINT && now.tv_sec > deferredAt + 1)
    end(signal);
  errno = savedErrno;
}

void mpt::installInterruptHandlers(const char *tool) {
  const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {}, inherited[std::size(signals)];
  for (auto [signal, old] : llvm::zip_equal(signals, inherited))
    ::sigaction(signal, nullptr, &old);
  // LLVM installs handlers of its own with the first file to remove. They have to
  // come first.
  llvm::sys::SetInterruptFunction(nullptr);
  installedFor = tool;
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int signal : signals)
    sigaddset(&action.sa_mask, signal);
  for (auto [signal, old] : llvm::zip_equal(signals, inherited))
    ::sigaction(signal, old.sa_handler == SIG_IGN ? &old : &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

DeferInterrupts::DeferInterrupts() { ++deferrals; }
DeferInterrupts::~DeferInterrupts() { --deferrals; }

int mpt::getDeferredInterrupt() { return deferred; }

void mpt::removeOnInterrupt(llvm::StringRef path) {
  if (installedFor.load())
    llvm::sys::RemoveFileOnSignal(path);
}

void mpt::keepOnInterrupt(llvm::StringRef path) {
  if (installedFor.load())
    llvm::sys::DontRemoveFileOnSignal(path);
}

void mpt::endOnInterrupt(int pid) { child = pid; }
