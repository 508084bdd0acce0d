//===- ExchangeThread.cpp - Exchanges beside a step -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExchangeThread.h"

#include <chrono>
#include <csignal>
#include <unistd.h>

using namespace mpt::rt;

ExchangeThread::ExchangeThread() : process(getpid()) {
  // Signals are for the host's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto run = [](void *data) -> void * {
    static_cast<ExchangeThread *>(data)->work();
    return nullptr;
  };
  isStarted = pthread_create(&thread, nullptr, run, this) == 0;
  if (isStarted)
    pthread_setname_np(thread, "mpt-exchange");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ExchangeThread::~ExchangeThread() {
  if (!isStarted || process != getpid())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stops = true;
  }
  hasWork.notify_all();
  pthread_join(thread, nullptr);
}

void ExchangeThread::work() {
  using Clock = std::chrono::steady_clock;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    hasWork.wait(lock, [&] { return stops || first; });
    if (stops)
      return;
    Exchange &exchange = *first;
    first = exchange.next;
    isBusy = true;
    lock.unlock();
    const Clock::time_point begin = Clock::now();
    const bool isGood = exchange.exchange(exchange.error);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    lock.lock();
    exchange.isGood = isGood;
    exchange.isOver = true;
    isBusy = false;
    busySeconds += seconds;
    hasEnded.notify_all();
  }
}

void ExchangeThread::start(Exchange &exchange) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    exchange.next = nullptr;
    exchange.isOver = false;
    (first ? last->next : first) = &exchange;
    last = &exchange;
  }
  hasWork.notify_one();
}

bool ExchangeThread::finish(Exchange &exchange, std::string &error) {
  std::unique_lock<std::mutex> lock(mutex);
  hasEnded.wait(lock, [&] { return exchange.isOver; });
  if (!exchange.isGood)
    error = exchange.error;
  return exchange.isGood;
}

void ExchangeThread::finishAll() {
  std::unique_lock<std::mutex> lock(mutex);
  hasEnded.wait(lock, [&] { return !first && !isBusy; });
}

bool ExchangeThread::drop() {
  std::unique_lock<std::mutex> lock(mutex);
  const bool hadAny = first || isBusy;
  first = nullptr;
  hasEnded.wait(lock, [&] { return !isBusy; });
  return hadAny;
}

double ExchangeThread::getBusySeconds() {
  std::lock_guard<std::mutex> lock(mutex);
  return busySeconds;
}
