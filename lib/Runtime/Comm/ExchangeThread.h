//===- ExchangeThread.h - Exchanges beside a step ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The thread that exchanges values with other ranks while a step goes on. Exchanges run
/// one after the other, in the order in which they were started, which is the same on all
/// ranks: so ranks always meet at the same one.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_COMM_EXCHANGETHREAD_H
#define MPT_LIB_RUNTIME_COMM_EXCHANGETHREAD_H

#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <string>

namespace mpt::rt {

/// What the thread runs.
class Exchange {
public:
  virtual ~Exchange() = default;

protected:
  /// On failure returns false and sets `error`.
  virtual bool exchange(std::string &error) = 0;

private:
  friend class ExchangeThread;
  Exchange *next = nullptr;
  bool isOver = false, isGood = false;
  std::string error;
};

/// The constructor starts the thread, the destructor ends it. One other thread uses it.
class ExchangeThread {
public:
  ExchangeThread();
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread &) = delete;
  ExchangeThread &operator=(const ExchangeThread &) = delete;

  /// False if the system has no more threads.
  bool isRunning() const { return isStarted; }

  /// Runs `exchange` after those that were started before. It must live until `finish` or
  /// `drop`. Allocates nothing.
  void start(Exchange &exchange);
  /// Waits for `exchange`. On failure returns false and sets `error`. Allocates nothing.
  bool finish(Exchange &exchange, std::string &error);
  /// Waits for all that were started.
  void finishAll();
  /// Forgets all that has not begun, and waits for what has. Returns whether there was
  /// any.
  bool drop();
  /// Seconds that exchanges took so far.
  double getBusySeconds();

private:
  void work();

  std::mutex mutex;
  std::condition_variable hasWork, hasEnded;
  Exchange *first = nullptr, *last = nullptr;
  /// Whether one runs, which is no longer in the list.
  bool isBusy = false, stops = false, isStarted = false;
  double busySeconds = 0;
  pthread_t thread = {};
  /// The process that started it: others, made by fork(), do not have it.
  int process;
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_COMM_EXCHANGETHREAD_H
