//===- Fiber.cpp - A stack of its own for a thread of a kernel -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A checked longjmp refuses to go to a stack that lies above.
#undef _FORTIFY_SOURCE

#include "Fiber.h"

using namespace mpt::rt;

// AddressSanitizer follows stacks by swapcontext, which it intercepts, and not by
// longjmp.
#if defined(__SANITIZE_ADDRESS__)
#define MPT_FIBERS_BY_SWAPCONTEXT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPT_FIBERS_BY_SWAPCONTEXT 1
#endif
#endif

static constexpr size_t kStackBytes = 128 << 10;

Fiber::Fiber(void (*body)()) : stack(new char[kStackBytes]) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, body, 0);
}

#ifdef MPT_FIBERS_BY_SWAPCONTEXT

void Fiber::resume(FiberOwner &owner) { swapcontext(&owner.context, &context); }
void Fiber::suspend(FiberOwner &owner) { swapcontext(&context, &owner.context); }

#else

void Fiber::resume(FiberOwner &owner) {
  if (_setjmp(owner.place))
    return;
  if (hasBegun)
    _longjmp(place, 1);
  hasBegun = true;
  setcontext(&context);
}

void Fiber::suspend(FiberOwner &owner) {
  if (!_setjmp(place))
    _longjmp(owner.place, 1);
}

#endif
