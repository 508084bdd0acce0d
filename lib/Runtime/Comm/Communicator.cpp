//===- Communicator.cpp - The other ranks -----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"
#include "WaitClock.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace mpt::rt;

/// Seconds that a rank is waited for unless the host says otherwise.
static constexpr double kDefaultDeadline = 60;
/// Seconds that ranks have at least to answer a roll call.
static constexpr double kRollCall = 5;
/// Seconds that one may be stopped: someone may only have suspended all ranks for a
/// while.
static constexpr double kLongestStop = 30;
/// Seconds that a rank may have ended while others, not it, are waited for: what it has
/// sent to them before may still arrive.
static constexpr double kLongestEnd = 2;
/// Most bytes of a message: transports may count them in an int.
static constexpr size_t kMostBytes = size_t(1) << 30;
/// Bytes of a host's name as ranks tell each other.
static constexpr size_t kHostBytes = 256;
static constexpr int32_t kMostRanks = 1 << 16;

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

std::string mpt_rt_communicator::describeRank(int32_t other) const {
  if (other < 0)
    return "another rank";
  std::string text = "rank " + std::to_string(other);
  if (other >= 0 && other < static_cast<int32_t>(hosts.size()) && !hosts[other].empty())
    text += " (on " + hosts[other] + ")";
  return text;
}

bool mpt_rt_communicator::failExchange(std::string message) {
  hasFailed = true;
  error = std::move(message);
  return false;
}

bool mpt_rt_communicator::failLost(int32_t lost) {
  int32_t first = report.agreeOnLost(lost);
  // Who failed to send a message may have taken one for lost that lives, this one among
  // them.
  const bool isHere =
      first >= 0 && first < neighbors.size() && neighbors.get(first).number != 0;
  if (first == rank || (isHere && neighbors.find(first) != ProcessState::Ended))
    first = lost;
  return failExchange(describeRank(first) +
                      " has ended: its process is gone; start all ranks again");
}

/// As few digits as say it: "60", "0.5".
static std::string describeSeconds(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text;
}

bool mpt_rt_communicator::checkNeighbors(int32_t missing, double seconds) {
  // Of a reduction of the transport's nobody knows who is late.
  const int32_t first = missing < 0 ? 0 : missing;
  const int32_t end = missing < 0 ? neighbors.size() : missing + 1;
  // Others may wait for one that this rank does not need.
  const int32_t ended = neighbors.findEnded(rank);
  if (ended != endedRank)
    endedSince = seconds;
  // Found twice: between the looks, what it sent before has arrived.
  else if (ended >= 0 &&
           ((ended >= first && ended < end) || seconds - endedSince > kLongestEnd))
    return failLost(ended);
  endedRank = ended;
  bool isStopped = false;
  for (int32_t i = first; i < end; ++i) {
    if (i == rank || neighbors.find(i) != ProcessState::Stopped)
      continue;
    isStopped = true;
    if (stoppedSince < 0)
      stoppedSince = seconds;
    if (seconds - stoppedSince > kLongestStop)
      return failExchange(describeRank(i) + " is stopped, for " +
                          describeSeconds(kLongestStop) +
                          " s already: continue it earlier (kill -CONT), or start all "
                          "ranks again");
  }
  if (!isStopped)
    stoppedSince = -1;
  return true;
}

bool mpt_rt_communicator::wait(void *request) {
  WaitClock clock;
  beginWait();
  for (;;) {
    int32_t done = 0, missing = -1;
    if (transport.test(transport.data, request, &done, &missing)) {
      // It may have ended because another rank has.
      if (missing >= 0 && report.agreeOnLost(missing) != missing)
        return failLost(missing);
      return failExchange("the messages to or from " + describeRank(missing) +
                          " fail: " + transport.describe(transport.data));
    }
    if (done)
      return true;
    if (isCancelled)
      return failExchange("the step that exchanged values has failed");
    const double seconds = clock.getSeconds();
    if (waited + seconds > deadline)
      return failExchange(
          describeRank(missing) + " has not answered for " + describeSeconds(deadline) +
          " s: it has ended, stands still or takes longer than that for its part of a "
          "step; start all ranks again, with a longer deadline if it is only slow");
    if (clock.isCheckDue(seconds) && !checkNeighbors(missing, seconds))
      return false;
    WaitClock::rest(seconds);
  }
}

bool mpt_rt_communicator::callRoll(double seconds) {
  if (hasFailed)
    return false;
  waited = std::max(std::min(seconds, deadline - kRollCall), 0.0);
  const char mine = 0;
  std::string answers(ranks, '\0');
  const bool isComplete = gather(&mine, sizeof(mine), answers.data());
  waited = 0;
  return isComplete;
}

bool mpt_rt_communicator::exchangePieces(const mpt_rt_message *send,
                                         const mpt_rt_message *receive) {
  void *request = nullptr;
  if (transport.post(transport.data, send, receive, &request))
    return failExchange(std::string("messages cannot be sent: ") +
                        transport.describe(transport.data));
  for (int32_t i = 0; i < ranks; ++i)
    if (i != rank)
      sentBytes += send[i].bytes;
  return wait(request);
}

bool mpt_rt_communicator::exchange(const mpt_rt_message *send,
                                   const mpt_rt_message *receive) {
  if (hasFailed)
    return false;
  if (send[rank].data != receive[rank].data && receive[rank].bytes > 0)
    std::memcpy(receive[rank].data, send[rank].data, receive[rank].bytes);
  if (ranks == 1)
    return true;
  size_t most = 0;
  for (int32_t i = 0; i < ranks; ++i)
    if (i != rank)
      most = std::max({most, send[i].bytes, receive[i].bytes});
  if (most <= kMostBytes)
    return exchangePieces(send, receive);
  for (size_t at = 0; at < most; at += kMostBytes) {
    auto cut = [&](const mpt_rt_message &message) {
      const size_t left = message.bytes > at ? message.bytes - at : 0;
      return mpt_rt_message{static_cast<char *>(message.data) + (left ? at : 0),
                            std::min(left, kMostBytes)};
    };
    std::transform(send, send + ranks, sendPieces.begin(), cut);
    std::transform(receive, receive + ranks, receivePieces.begin(), cut);
    if (!exchangePieces(sendPieces.data(), receivePieces.data()))
      return false;
  }
  return true;
}

bool mpt_rt_communicator::gather(const void *data, size_t bytes, void *all) {
  for (int32_t i = 0; i < ranks; ++i) {
    sends[i] = {const_cast<void *>(data), bytes};
    receives[i] = {static_cast<char *>(all) + i * bytes, bytes};
  }
  return exchange(sends.data(), receives.data());
}

bool mpt_rt_communicator::allReduce(const void *values, void *sums, size_t count,
                                    bool isDouble) {
  if (hasFailed)
    return false;
  void *request = nullptr;
  if (transport.all_reduce(transport.data, values, sums, count, isDouble, &request))
    return failExchange(std::string("numbers cannot be added over the ranks: ") +
                        transport.describe(transport.data));
  // As many as a reduction needs that sends no byte in vain.
  const uint64_t bytes = count * (isDouble ? 8 : 4);
  sentBytes += 2 * bytes * (ranks - 1) / ranks;
  return wait(request);
}

ExchangeThread *mpt_rt_communicator::getThread() {
  if (!hasAskedForThread && isConnected && ranks > 1 && transport.any_thread) {
    thread = std::make_unique<ExchangeThread>();
    if (!thread->isRunning())
      thread.reset();
  }
  hasAskedForThread |= isConnected;
  return thread.get();
}

void mpt_rt_communicator::cancel() {
  if (!thread)
    return;
  isCancelled = true;
  // The other ranks would take the next exchange for one that was dropped.
  if (thread->drop() && !hasFailed)
    failExchange("the step that exchanged values has failed");
  isCancelled = false;
}

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

int mpt_rt_communicator::connect(const mpt_rt_transport &given) {
  std::memcpy(&transport, &given, std::min(given.struct_bytes, sizeof(transport)));
  isConnected = true;
  rank = given.rank;
  ranks = given.ranks;
  for (auto *messages : {&sends, &receives, &sendPieces, &receivePieces})
    messages->resize(ranks);
  struct Introduction {
    char host[kHostBytes];
    ProcessId process;
    int64_t report;
  };
  std::vector<Introduction> all(ranks);
  Introduction own = {};
  if (given.host)
    std::strncpy(own.host, given.host, kHostBytes - 1);
  own.process = getOwnProcess();
  own.report = report.getDescriptor();
  hosts.assign(ranks, "");
  if (!gather(&own, sizeof(own), all.data())) {
    close();
    return MPT_RT_COMMUNICATION_FAILED;
  }
  std::vector<ProcessId> processes;
  for (int32_t i = 0; i < ranks; ++i) {
    all[i].host[kHostBytes - 1] = 0;
    hosts[i] = all[i].host;
    processes.push_back(all[i].process);
  }
  neighbors.set(std::move(processes));
  if (const int32_t first = neighbors.findFirst(); first >= 0)
    report.join(neighbors.get(first), static_cast<int32_t>(all[first].report));
  return MPT_RT_OK;
}

void mpt_rt_communicator::abort(int32_t status) {
  hasFailed = true;
  if (isConnected)
    transport.abort(transport.data, status);
  std::_Exit(status);
}

void mpt_rt_communicator::close() {
  if (!isConnected)
    return;
  isConnected = false;
  thread.reset();
  transport.close(transport.data, hasFailed);
}

//===----------------------------------------------------------------------===//
// The C ABI
//===----------------------------------------------------------------------===//

static bool isDeadline(double seconds) { return seconds > 0 && seconds < 1e9; }

mpt_rt_communicator *mpt_rt_create_communicator(double deadline) {
  return new (std::nothrow)
      mpt_rt_communicator(isDeadline(deadline) ? deadline : kDefaultDeadline);
}

void mpt_rt_destroy_communicator(mpt_rt_communicator *communicator) {
  delete communicator;
}

const char *mpt_rt_communicator_error(const mpt_rt_communicator *communicator) {
  return communicator ? communicator->error.c_str() : "no communicator";
}

/// Whether it can be connected.
static int checkFree(mpt_rt_communicator *communicator) {
  if (!communicator)
    return MPT_RT_INVALID_ARGUMENT;
  if (communicator->isConnected || communicator->hasFailed)
    return communicator->fail(MPT_RT_INVALID_ARGUMENT,
                              "this communicator has been connected already");
  return MPT_RT_OK;
}

int mpt_rt_connect_mpi(mpt_rt_communicator *communicator, const char *library) {
  if (int status = checkFree(communicator))
    return status;
  mpt_rt_transport transport = {};
  if (int status = createMpiTransport(library ? library : "", transport,
                                      communicator->deadline, communicator->error))
    return status;
  return communicator->connect(transport);
}

int mpt_rt_connect_torchrun(mpt_rt_communicator *communicator) {
  if (int status = checkFree(communicator))
    return status;
  mpt_rt_transport transport = {};
  if (int status =
          createSocketTransport(transport, communicator->deadline, communicator->error))
    return status;
  return communicator->connect(transport);
}

int mpt_rt_connect(mpt_rt_communicator *communicator, const mpt_rt_transport *transport) {
  if (int status = checkFree(communicator))
    return status;
  // Those of the first version end with `close`.
  if (!transport || (transport->struct_bytes != offsetof(mpt_rt_transport, any_thread) &&
                     transport->struct_bytes != sizeof(mpt_rt_transport)))
    return communicator->fail(MPT_RT_INVALID_ARGUMENT,
                              "no transport, or one of another version of MPT");
  if (!transport->post || !transport->test || !transport->describe || !transport->abort ||
      !transport->close)
    return communicator->fail(MPT_RT_INVALID_ARGUMENT, "the transport lacks functions");
  if (transport->ranks < 1 || transport->ranks > kMostRanks || transport->rank < 0 ||
      transport->rank >= transport->ranks)
    return communicator->fail(MPT_RT_INVALID_ARGUMENT,
                              "the transport is rank " + std::to_string(transport->rank) +
                                  " of " + std::to_string(transport->ranks) +
                                  "; expected 1 to 65536 ranks, numbered from 0");
  return communicator->connect(*transport);
}

int32_t mpt_rt_get_rank(const mpt_rt_communicator *communicator) {
  return communicator ? communicator->rank : 0;
}

int32_t mpt_rt_get_ranks(const mpt_rt_communicator *communicator) {
  return communicator ? communicator->ranks : 1;
}

const char *mpt_rt_get_rank_host(const mpt_rt_communicator *communicator, int32_t rank) {
  if (!communicator || rank < 0 ||
      rank >= static_cast<int32_t>(communicator->hosts.size()))
    return "";
  return communicator->hosts[rank].c_str();
}

int mpt_rt_set_deadline(mpt_rt_communicator *communicator, double deadline) {
  if (!communicator)
    return MPT_RT_INVALID_ARGUMENT;
  if (!isDeadline(deadline))
    return communicator->fail(MPT_RT_INVALID_ARGUMENT,
                              "a deadline is a number of seconds above 0, found " +
                                  std::to_string(deadline));
  communicator->deadline = deadline;
  return MPT_RT_OK;
}

int mpt_rt_gather(mpt_rt_communicator *communicator, const void *data, size_t bytes,
                  void *all) {
  if (!communicator)
    return MPT_RT_INVALID_ARGUMENT;
  if (!communicator->isConnected || (bytes > 0 && (!data || !all)))
    return communicator->fail(MPT_RT_INVALID_ARGUMENT,
                              communicator->isConnected
                                  ? "no data, or no room for that of all ranks"
                                  : "the communicator is not connected");
  return communicator->gather(data, bytes, all) ? MPT_RT_OK : MPT_RT_COMMUNICATION_FAILED;
}

uint64_t mpt_rt_get_sent_bytes(const mpt_rt_communicator *communicator) {
  return communicator ? communicator->sentBytes : 0;
}

void mpt_rt_get_exchange_seconds(const mpt_rt_communicator *communicator, double *total,
                                 double *exposed) {
  if (total)
    *total = communicator ? communicator->getSeconds() : 0;
  if (exposed)
    *exposed = communicator ? communicator->exposedSeconds : 0;
}

int32_t mpt_rt_find_lost_rank(const mpt_rt_communicator *communicator) {
  return communicator ? const_cast<mpt_rt_communicator *>(communicator)->findLostRank()
                      : -1;
}

int32_t mpt_rt_take_report(mpt_rt_communicator *communicator) {
  return !communicator || communicator->takeReport();
}

void mpt_rt_abort(mpt_rt_communicator *communicator, int32_t status) {
  if (communicator)
    communicator->abort(status);
}
