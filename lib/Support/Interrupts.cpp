//===- Interrupts.cpp - Signals that ask a tool to end ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/Interrupts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Signals.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>

using namespace mpt;

// A signal handler has no other place for its state.
static std::atomic<const char *> installedFor{nullptr};
static std::atomic<InterruptReason (*)(bool isDeferred)> explanation{nullptr};
static std::atomic<int> deferrals{0}, deferred{0}, child{0};
static std::atomic<time_t> deferredAt{0};
/// Paths to remove. LLVM's list of them grows with every file that it ever had, and a
/// run may write very many checkpoints.
static std::atomic<char *> files[16];
/// Held by the two functions that change them; the handler cannot wait for it.
static std::mutex filesMutex;

// What these call is safe in a signal handler.

static void print(const char *text) {
  if (text && ::write(STDERR_FILENO, text, std::strlen(text)) < 0)
    return;
}

static void removeFiles() {
  // Not freed: another thread may be reading it, and this one may be in malloc.
  for (std::atomic<char *> &file : files)
    if (const char *path = file.exchange(nullptr))
      ::unlink(path);
}

[[noreturn]] static void end(int signal) {
  if (int pid = child)
    ::kill(pid, SIGTERM);
  removeFiles();
  // What LLVM's own writers have open.
  llvm::sys::RunInterruptHandlers();
  InterruptReason reason;
  if (auto explain = explanation.load()) {
    reason = explain(/*isDeferred=*/false);
    print(reason.line);
  } else if (const char *tool = installedFor.load()) {
    print(tool);
    print(": interrupted\n");
  }
  ::_exit(reason.isFailure ? 1 : 128 + signal);
}

static void handle(int signal) {
  const int savedErrno = errno;
  if (deferrals.load() == 0)
    end(signal);
  if (auto explain = explanation.load())
    if (const InterruptReason reason = explain(/*isDeferred=*/true); reason.isFailure) {
      removeFiles();
      print(reason.line);
    }
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  int none = 0;
  if (deferred.compare_exchange_strong(none, signal))
    deferredAt = now.tv_sec;
  else if (signal == SIGINT && now.tv_sec > deferredAt + 1)
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

void mpt::explainInterrupts(InterruptReason (*explain)(bool isDeferred)) {
  static constexpr auto nothing = [](bool) { return InterruptReason(); };
  explanation = explain ? explain : +nothing;
}

DeferInterrupts::DeferInterrupts() { ++deferrals; }
DeferInterrupts::~DeferInterrupts() { --deferrals; }

int mpt::getDeferredInterrupt() { return deferred; }

llvm::Expected<int> mpt::openForWriting(llvm::StringRef path, int flags) {
  int descriptor = llvm::sys::RetryAfterSignal(
      -1, ::open, path.str().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | flags, 0666);
  if (descriptor < 0)
    return llvm::createStringError(path + ": cannot write: " +
                                   (errno == ENXIO
                                        ? "nobody reads this pipe; start its reader first"
                                        : llvm::sys::StrError(errno)));
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return descriptor;
}

void mpt::removeOnInterrupt(llvm::StringRef path) {
  std::lock_guard<std::mutex> lock(filesMutex);
  char *copy = ::strndup(path.data(), path.size());
  for (std::atomic<char *> &file : files) {
    char *none = nullptr;
    if (file.compare_exchange_strong(none, copy))
      return;
  }
  std::free(copy);
}

void mpt::keepOnInterrupt(llvm::StringRef path) {
  std::lock_guard<std::mutex> lock(filesMutex);
  for (std::atomic<char *> &file : files) {
    char *found = file.load();
    if (found && path == found && file.compare_exchange_strong(found, nullptr))
      return std::free(found);
  }
}

void mpt::endOnInterrupt(int pid) { child = pid; }
