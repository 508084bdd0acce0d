//===- NcclRanks.h - Exchanges between GPUs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The collectives of a program for GPUs: calls of NCCL on a stream of their own, which
/// events fork from the stream of the step and join with it, also while that is recorded
/// as a graph. The communicator of the host's processes carries NCCL's unique id, and
/// tells which rank is missing when an exchange does not end.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_NCCLRANKS_H
#define MPT_LIB_RUNTIME_CUDA_NCCLRANKS_H

#include "../Comm/Communicator.h"
#include "NcclApi.h"
#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt::rt::cuda {

/// Whether `instruction` is an exchange between ranks (rt::checkCudaCall says which NCCL
/// does).
bool isExchange(const Instruction &instruction);
/// Bytes that `rank` hands to NCCL for other ranks in one such call.
uint64_t getSentBytes(const Instruction &call, int32_t rank);

class NcclRanks {
public:
  NcclRanks(const Api &cuda, mpt_rt_communicator &ranks) : cuda(cuda), ranks(ranks) {}
  ~NcclRanks();
  NcclRanks(const NcclRanks &) = delete;
  NcclRanks &operator=(const NcclRanks &) = delete;

  // Each returns an mpt_rt_status; `error` says more.

  /// Meets the other ranks, each with a GPU of its own: `device` is this rank's, and the
  /// thread's. All ranks call this, even if `problem`, which a rank that cannot take part
  /// sets, is not empty.
  int connect(const std::string &library, int device, std::string problem,
              std::string &error);

  struct Exchange {
    const Instruction *call;
    void *const *buffers;
  };
  /// Enqueues `exchanges`, none of which reads what another writes, as one group, after
  /// what is in `stream`; `done` is then recorded.
  int begin(const std::vector<Exchange> &exchanges, Stream stream, Event done,
            std::string &error);
  /// Lets `stream` wait for `done`.
  int join(Stream stream, Event done, std::string &error);
  /// The host waits for all that is in `stream`, or was there when `event` was recorded.
  /// After a failure, or when the deadline has passed, the communicator is aborted, so
  /// that nothing on the device waits for other ranks any more.
  int waitForStream(Stream stream, std::string &error);
  int waitForEvent(Event event, std::string &error);

  /// Leaves what cannot be given back once the driver has gone.
  void abandon() { comm = nullptr; }

private:
  int check(NcclResult result, const std::string &what, std::string &error);
  int waitUntil(Error (*query)(void *), void *object, std::string &error);
  /// Waits until calls that have begun are made.
  int settle(const std::string &what, std::string &error);
  /// Ends all exchanges, and finds out whose fault it is, after a wait of `seconds`.
  int abort(const std::string &what, std::string &error, double seconds = 0);
  NcclResult call(const Exchange &exchange);

  const Api &cuda;
  NcclApi api;
  mpt_rt_communicator &ranks;
  NcclComm comm = nullptr;
  Stream own = nullptr;
  Event fork = nullptr;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_NCCLRANKS_H
