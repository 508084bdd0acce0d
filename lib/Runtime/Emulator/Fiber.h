//===- Fiber.h - A stack of its own for a thread of a kernel -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel's launch has thousands of threads that wait for each other thousands of
/// times, and swapcontext asks the kernel of the system for the signal mask each time.
/// So a fiber begins by ucontext and goes on by _setjmp and _longjmp, as QEMU's
/// coroutines do (util/coroutine-ucontext.c).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_EMULATOR_FIBER_H
#define MPT_LIB_RUNTIME_EMULATOR_FIBER_H

#include <memory>
#include <setjmp.h>
#include <ucontext.h>

namespace mpt::rt {

/// Where whoever resumes fibers waits for them.
struct FiberOwner {
  jmp_buf place;
  ucontext_t context;
};

class Fiber {
public:
  /// `body` runs when first resumed; it must not return.
  explicit Fiber(void (*body)());

  /// Goes on with the fiber until it suspends itself. One at a time.
  void resume(FiberOwner &owner);
  /// Called on the fiber: goes on with its owner.
  void suspend(FiberOwner &owner);

private:
  jmp_buf place;
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool hasBegun = false;
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_EMULATOR_FIBER_H
