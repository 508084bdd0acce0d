//===- Communicator.h - The other ranks -------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Messages between ranks over any transport, with a deadline.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_COMM_COMMUNICATOR_H
#define MPT_LIB_RUNTIME_COMM_COMMUNICATOR_H

#include "ExchangeThread.h"
#include "Neighbors.h"
#include "ReportToken.h"
#include "mpt/Runtime/Runtime.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

/// A rank's view of all ranks. After a failure every exchange fails.
struct mpt_rt_communicator {
  explicit mpt_rt_communicator(double deadline) : deadline(deadline) {}
  ~mpt_rt_communicator() { close(); }
  mpt_rt_communicator(const mpt_rt_communicator &) = delete;
  mpt_rt_communicator &operator=(const mpt_rt_communicator &) = delete;

  /// Takes `transport` and learns the hosts of all ranks. Returns a status.
  int connect(const mpt_rt_transport &transport);

  /// Sends send[i] to rank i and receives receive[i] from it, for all ranks i; what this
  /// rank sends to itself is copied, unless it lies there. Rank i receives as many bytes
  /// from this one as are sent to it. False, with `error` set, if a rank does not answer
  /// in time. Allocates nothing.
  bool exchange(const mpt_rt_message *send, const mpt_rt_message *receive);

  /// `data` of all ranks, in order. Allocates nothing.
  bool gather(const void *data, size_t bytes, void *all);

  /// Whether the transport adds numbers by itself.
  bool hasAllReduce() const { return transport.all_reduce != nullptr; }
  /// Sums over all ranks, in an order that the transport chooses. Allocates nothing.
  bool allReduce(const void *values, void *sums, size_t count, bool isDouble);

  /// The thread that exchanges run on beside the rest of a step; null if the transport
  /// does not permit one, or the system has no more. Made when it is first asked for.
  mpt::rt::ExchangeThread *getThread();
  /// Ends what is under way: it fails.
  void cancel();

  /// Room for an exchange of the caller's.
  std::vector<mpt_rt_message> sends, receives;

  /// Forgets what an earlier wait saw of other ranks.
  void beginWait() {
    stoppedSince = -1;
    endedRank = -1;
  }
  /// For waits that are not for a message: false, with `error` set, if another rank has
  /// ended or is stopped for long. `seconds` since the wait began.
  bool checkAll(double seconds) { return checkNeighbors(-1, seconds); }
  /// After a failure elsewhere, which all ranks notice: hears from each of them. False,
  /// with `error` set, if one does not answer: within the deadline, of which `waited`
  /// seconds are over, but for a few seconds at least.
  bool callRoll(double waited);

  std::string error;
  int32_t rank = 0, ranks = 1;
  /// Of all ranks.
  std::vector<std::string> hosts;
  double deadline;
  uint64_t sentBytes = 0;
  /// Of exchanges that did not run on the thread, and of waiting for those that did.
  double ownSeconds = 0, exposedSeconds = 0;
  /// Of all exchanges.
  double getSeconds() const {
    return ownSeconds + (thread ? thread->getBusySeconds() : 0);
  }
  bool isConnected = false, hasFailed = false;

  int fail(int status, std::string message) {
    error = std::move(message);
    return status;
  }
  void abort(int32_t status);

  /// The first rank of this machine whose process has ended; -1: none. Like the next, for
  /// signal handlers, too.
  int32_t findLostRank() {
    const int32_t ended = neighbors.findEnded(rank);
    return ended < 0 ? ended : report.agreeOnLost(ended);
  }
  /// True for one rank of this machine: it reports why all of them end.
  bool takeReport() { return report.take(); }

private:
  bool exchangePieces(const mpt_rt_message *send, const mpt_rt_message *receive);
  bool wait(void *request);
  /// False, with `error` set, if `missing`, or some rank (-1), will not answer: it has
  /// ended, or is stopped for long. Called again and again in a wait.
  bool checkNeighbors(int32_t missing, double seconds);
  bool failExchange(std::string message);
  bool failLost(int32_t lost);
  /// "rank 2 (on node7)".
  std::string describeRank(int32_t rank) const;
  void close();

  mpt_rt_transport transport = {};
  std::vector<mpt_rt_message> sendPieces, receivePieces;
  mpt::rt::Neighbors neighbors;
  mpt::rt::ReportToken report;
  /// The rank that the last check of this wait has found ended, and when the first one
  /// did; -1: none.
  int32_t endedRank = -1;
  double endedSince = -1;
  /// Of the deadline, seconds that are over when a wait begins.
  double waited = 0;
  /// When in this wait a rank was first seen stopped; -1: none is.
  double stoppedSince = -1;
  std::atomic<bool> isCancelled{false};
  bool hasAskedForThread = false;

public:
  /// What getThread has made. Last: it uses the rest.
  std::unique_ptr<mpt::rt::ExchangeThread> thread;
};

namespace mpt::rt {

/// The transport of OpenMPI's libmpi, by path or name ("": where the loader finds it).
/// Returns a status, and with it what is wrong in `error`. If MPI itself waits for other
/// ranks for longer than `deadline`, or 20 s if that is more, the process ends.
int createMpiTransport(const std::string &library, mpt_rt_transport &transport,
                       double deadline, std::string &error);

/// TCP connections between the processes that torchrun started: see
/// mpt_rt_connect_torchrun. Returns a status, and with it what is wrong in `error`.
int createSocketTransport(mpt_rt_transport &transport, double deadline,
                          std::string &error);

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_COMM_COMMUNICATOR_H
