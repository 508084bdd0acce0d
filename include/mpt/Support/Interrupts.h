//===- Interrupts.h - Signals that ask a tool to end ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// SIGINT, SIGTERM and SIGHUP in the tools. A process that has nothing to lose
/// ends at once, also in the middle of a compilation; one that has state to save
/// defers them and asks now and then.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_INTERRUPTS_H
#define MPT_SUPPORT_INTERRUPTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mpt {

/// From here on SIGINT, SIGTERM and SIGHUP end the process: files given to
/// `removeOnInterrupt` are removed, "<tool>: interrupted" goes to standard error,
/// and the exit status is 128 plus the signal's number. A signal that is ignored
/// (SIGHUP under nohup) stays ignored. SIGPIPE and SIGXFSZ are ignored from now
/// on: a write to a closed pipe or beyond a limit fails instead. For programs, not
/// libraries, before anything else of LLVM that handles signals; `tool` is kept.
void installInterruptHandlers(const char *tool);

/// What a signal that ends one of several processes means.
struct InterruptReason {
  /// Goes to standard error; null: nothing, because another process says it.
  const char *line = nullptr;
  /// Another process is lost, and this one ends as after an error.
  bool isFailure = false;
};

/// From here on `explain` says what goes to standard error when a signal ends the
/// process. It is called in the signal handler. `isDeferred`: the process does not end
/// yet; if the reason is a failure, the line is printed all the same, and files given to
/// `removeOnInterrupt` are removed, since a launcher may end this process soon. Null:
/// nothing goes to standard error.
void explainInterrupts(InterruptReason (*explain)(bool isDeferred));

/// While one of these lives, the signals are only noted. A second SIGINT that
/// comes two seconds or more after the first ends the process all the same (sooner,
/// it may be one Ctrl-C that arrives twice). The others may repeat: batch systems,
/// timeout(1) and terminals that close send them twice.
class DeferInterrupts {
public:
  DeferInterrupts();
  ~DeferInterrupts();
  DeferInterrupts(const DeferInterrupts &) = delete;
  DeferInterrupts &operator=(const DeferInterrupts &) = delete;
};

/// The first signal that came while signals were deferred, or 0.
int getDeferredInterrupt();

/// Opens `path` for writing, with `flags` of open(2) in addition. A pipe that nobody
/// reads is an error: open(2) would wait for its reader, and deferred signals do not
/// end that. Writes to the descriptor wait as usual.
llvm::Expected<int> openForWriting(llvm::StringRef path, int flags = 0);

/// Has `path` removed if a signal ends the process as above, until
/// `keepOnInterrupt`. Holds 16 paths at a time; more are not removed.
void removeOnInterrupt(llvm::StringRef path);
void keepOnInterrupt(llvm::StringRef path);

/// Has the child process `pid` ended by SIGTERM too if a signal ends this one; 0:
/// no child any more. One at a time.
void endOnInterrupt(int pid);

} // namespace mpt

#endif // MPT_SUPPORT_INTERRUPTS_H
