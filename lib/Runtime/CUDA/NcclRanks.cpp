//===- NcclRanks.cpp - Exchanges between GPUs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclRanks.h"
#include "../Comm/WaitClock.h"
#include "DeviceState.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/Runtime/Runtime.h"

#include <algorithm>
#include <cstring>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// Returns from the calling function if `expression` fails.
#define MPT_TRY(expression)                                                              \
  if (int status = (expression))                                                         \
  return status

namespace {

/// What travels: elements of a type that NCCL has, or their bytes.
struct Elements {
  NcclType type;
  int64_t factor;
};
Elements getElements(DataType type) {
  switch (type) {
  case DataType::F64:
    return {NcclType::F64, 1};
  case DataType::F32:
    return {NcclType::F32, 1};
  case DataType::F16:
    return {NcclType::F16, 1};
  case DataType::BF16:
    return {NcclType::BF16, 1};
  case DataType::I64:
    return {NcclType::I64, 1};
  case DataType::I32:
    return {NcclType::I32, 1};
  case DataType::I8:
    return {NcclType::I8, 1};
  default:
    return {NcclType::U8, getSize(type)};
  }
}

NcclOp getOp(ReduceKind kind) {
  return kind == ReduceKind::Max   ? NcclOp::Max
         : kind == ReduceKind::Min ? NcclOp::Min
                                   : NcclOp::Sum;
}

} // namespace

bool mpt::rt::cuda::isExchange(const Instruction &instruction) {
  return instruction.isCall() && getRanks(*instruction.call) > 0 &&
         !instruction.getCall<RankCall>();
}

uint64_t mpt::rt::cuda::getSentBytes(const Instruction &call, int32_t rank) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < call.numInputs; ++i)
    bytes += call.refs[i].bytes();
  const auto count = static_cast<uint64_t>(getRanks(*call.call));
  if (const auto *broadcast = call.getCall<BroadcastCall>())
    return rank == broadcast->root ? bytes * (count - 1) : 0;
  if (call.getCall<AllGatherCall>())
    return bytes * (count - 1);
  // As many as a reduction needs that sends no byte in vain; an exchange of parts keeps
  // one, as a scatter does.
  return (call.getCall<AllReduceCall>() ? 2 : 1) * bytes * (count - 1) / count;
}

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

int NcclRanks::connect(const std::string &library, int device, std::string problem,
                       std::string &error) {
  struct Introduction {
    NcclUniqueId id;
    int32_t version;
    /// Where the GPU is in its machine: processes may know it by different numbers.
    char bus[32];
    char problem[512];
  };
  Introduction mine = {};
  if (problem.empty() &&
      checkCode(cuda, cuda.cudaDeviceGetPCIBusId(mine.bus, sizeof(mine.bus), device),
                "the GPU", error))
    problem = error;
  if (problem.empty() && api.load(library, problem)) {
    mine.version = api.version;
    if (ranks.rank == 0)
      if (NcclResult result = api.ncclGetUniqueId(&mine.id))
        problem = std::string("NCCL makes no unique id: ") +
                  api.ncclGetErrorString(result) + " (" + api.ncclGetLastError(nullptr) +
                  ")";
  }
  std::strncpy(mine.problem, problem.c_str(), sizeof(mine.problem) - 1);
  std::vector<Introduction> all(ranks.ranks);
  if (!ranks.gather(&mine, sizeof(mine), all.data())) {
    error = ranks.error;
    return MPT_RT_COMMUNICATION_FAILED;
  }
  auto describe = [&](int32_t rank) {
    return "rank " + std::to_string(rank) + " (on " + ranks.hosts[rank] + ")";
  };
  if (!problem.empty()) {
    error = problem;
    return MPT_RT_UNSUPPORTED;
  }
  for (int32_t i = 0; i < ranks.ranks; ++i) {
    all[i].problem[sizeof(mine.problem) - 1] = all[i].bus[sizeof(mine.bus) - 1] = 0;
    if (all[i].problem[0]) {
      error = describe(i) + ": " + all[i].problem;
      return MPT_RT_UNSUPPORTED;
    }
  }
  for (int32_t i = 1; i < ranks.ranks; ++i) {
    if (all[i].version != all[0].version) {
      error = "all ranks need the same NCCL: expected version " +
              std::to_string(all[0].version) + " as on " + describe(0) + ", found " +
              std::to_string(all[i].version) + " on " + describe(i);
      return MPT_RT_UNSUPPORTED;
    }
    for (int32_t j = 0; j < i; ++j)
      if (std::strcmp(all[i].bus, all[j].bus) == 0 && ranks.hosts[i] == ranks.hosts[j]) {
        error =
            std::string("expected a GPU of its own for each rank, found the GPU at ") +
            all[i].bus + " for both " + describe(j) + " and " + describe(i) +
            "; start at most one rank for each GPU";
        return MPT_RT_UNSUPPORTED;
      }
  }
  NcclConfig config;
  MPT_TRY(check(
      api.ncclCommInitRankConfig(&comm, ranks.ranks, all[0].id, ranks.rank, &config),
      "meeting the other ranks", error));
  MPT_TRY(settle("meeting the other ranks", error));
  MPT_TRY(checkCode(cuda, cuda.cudaStreamCreateWithFlags(&own, kNonBlocking), "a stream",
                    error));
  return checkCode(cuda, cuda.cudaEventCreateWithFlags(&fork, kEventNoTiming), "an event",
                   error);
}

NcclRanks::~NcclRanks() {
  std::string ignored;
  if (comm) {
    // Other ranks end as well, or not at all.
    const bool isOver = !ranks.hasFailed && !waitForStream(own, ignored) &&
                        !check(api.ncclCommFinalize(comm), "ending", ignored) &&
                        !settle("ending", ignored);
    if (comm)
      isOver ? api.ncclCommDestroy(comm) : api.ncclCommAbort(comm);
  }
  if (fork)
    cuda.cudaEventDestroy(fork);
  if (own)
    cuda.cudaStreamDestroy(own);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

int NcclRanks::abort(const std::string &what, std::string &error, double seconds) {
  if (comm)
    api.ncclCommAbort(comm);
  comm = nullptr;
  if (ranks.hasFailed) {
    error = ranks.error;
    return MPT_RT_COMMUNICATION_FAILED;
  }
  // Who is well answers once it has noticed. That may take a while: it may still read
  // data for its step.
  error = ranks.callRoll(seconds) ? what + "; start all ranks again" : ranks.error;
  ranks.hasFailed = true;
  ranks.error = error;
  return MPT_RT_COMMUNICATION_FAILED;
}

int NcclRanks::check(NcclResult result, const std::string &what, std::string &error) {
  if (result == kNcclSuccess || result == kNcclInProgress)
    return MPT_RT_OK;
  const char *last = comm ? api.ncclGetLastError(comm) : nullptr;
  std::string why = what + ": NCCL: " + api.ncclGetErrorString(result);
  if (last && *last)
    why += std::string(" (") + last + ")";
  return abort(why, error);
}

int NcclRanks::settle(const std::string &what, std::string &error) {
  WaitClock clock;
  ranks.beginWait();
  for (;;) {
    NcclResult state = kNcclSuccess;
    MPT_TRY(check(api.ncclCommGetAsyncError(comm, &state), what, error));
    MPT_TRY(check(state, what, error));
    if (state == kNcclSuccess)
      return MPT_RT_OK;
    const double seconds = clock.getSeconds();
    if (seconds > ranks.deadline)
      return abort(what + ": NCCL has not done this within " +
                       std::to_string(static_cast<int64_t>(ranks.deadline)) + " s",
                   error, seconds);
    if (clock.isCheckDue(seconds) && !ranks.checkAll(seconds))
      return abort(what, error);
    WaitClock::rest(seconds);
  }
}

int NcclRanks::waitForStream(Stream stream, std::string &error) {
  return waitUntil(cuda.cudaStreamQuery, stream, error);
}

int NcclRanks::waitForEvent(Event event, std::string &error) {
  return waitUntil(cuda.cudaEventQuery, event, error);
}

int NcclRanks::waitUntil(Error (*query)(void *), void *object, std::string &error) {
  if (!comm)
    return abort("exchanges between ranks have failed", error);
  WaitClock clock;
  ranks.beginWait();
  for (;;) {
    const Error code = query(object);
    if (code != kNotReady)
      return checkCode(cuda, code, "the step failed", error);
    NcclResult state = kNcclSuccess;
    MPT_TRY(check(api.ncclCommGetAsyncError(comm, &state), "an exchange", error));
    MPT_TRY(check(state, "an exchange", error));
    const double seconds = clock.getSeconds();
    if (seconds > ranks.deadline)
      return abort("a step with exchanges has not ended within " +
                       std::to_string(static_cast<int64_t>(ranks.deadline)) +
                       " s, though all ranks answer; with a longer deadline, if steps "
                       "take so long",
                   error, seconds);
    if (clock.isCheckDue(seconds) && !ranks.checkAll(seconds))
      return abort("an exchange", error);
    WaitClock::rest(seconds);
  }
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

NcclResult NcclRanks::call(const Exchange &exchange) {
  const Instruction &call = *exchange.call;
  const Elements elements = getElements(call.refs[0].type);
  auto getCount = [&](uint32_t buffer) {
    return static_cast<size_t>(call.refs[buffer].count() * elements.factor);
  };
  void *const *buffers = exchange.buffers;
  if (const auto *reduce = call.getCall<AllReduceCall>()) {
    for (uint32_t i = 0; i < call.numInputs; ++i)
      if (getCount(i) > 0)
        if (NcclResult result =
                api.ncclAllReduce(buffers[i], buffers[call.numInputs + i], getCount(i),
                                  elements.type, getOp(reduce->kind), comm, own);
            result != kNcclSuccess && result != kNcclInProgress)
          return result;
    return kNcclSuccess;
  }
  if (getCount(0) == 0)
    return kNcclSuccess;
  if (const auto *scatter = call.getCall<ReduceScatterCall>())
    return api.ncclReduceScatter(buffers[0], buffers[1], getCount(1), elements.type,
                                 getOp(scatter->kind), comm, own);
  if (const auto *broadcast = call.getCall<BroadcastCall>())
    return api.ncclBroadcast(buffers[0], buffers[1], getCount(0), elements.type,
                             static_cast<int>(broadcast->root), comm, own);
  if (call.getCall<AllToAllCall>()) {
    const size_t part = getCount(0) / ranks.ranks;
    const size_t bytes = call.refs[0].bytes() / ranks.ranks;
    NcclResult result = kNcclSuccess;
    for (int rank = 0; rank < ranks.ranks; ++rank) {
      const char *from = static_cast<char *>(buffers[0]) + rank * bytes;
      char *to = static_cast<char *>(buffers[1]) + rank * bytes;
      for (const NcclResult made :
           {api.ncclSend(from, part, elements.type, rank, comm, own),
            api.ncclRecv(to, part, elements.type, rank, comm, own)})
        if (made != kNcclSuccess && made != kNcclInProgress && result == kNcclSuccess)
          result = made;
    }
    return result;
  }
  return api.ncclAllGather(buffers[0], buffers[1], getCount(0), elements.type, comm, own);
}

int NcclRanks::begin(const std::vector<Exchange> &exchanges, Stream stream, Event done,
                     std::string &error) {
  const std::string &what = exchanges.front().call->location;
  if (!comm)
    return abort("exchanges between ranks have failed", error);
  MPT_TRY(checkCode(cuda, cuda.cudaEventRecord(fork, stream), what, error));
  MPT_TRY(checkCode(cuda, cuda.cudaStreamWaitEvent(own, fork, 0), what, error));
  MPT_TRY(check(api.ncclGroupStart(), what, error));
  NcclResult result = kNcclSuccess;
  for (const Exchange &exchange : exchanges) {
    result = call(exchange);
    if (result != kNcclSuccess && result != kNcclInProgress)
      break;
  }
  // A group that stayed open would keep back the calls that end the communicator.
  const NcclResult ended = api.ncclGroupEnd();
  MPT_TRY(check(result, what, error));
  MPT_TRY(check(ended, what, error));
  MPT_TRY(settle(what, error));
  return checkCode(cuda, cuda.cudaEventRecord(done, own), what, error);
}

int NcclRanks::join(Stream stream, Event done, std::string &error) {
  return checkCode(cuda, cuda.cudaStreamWaitEvent(stream, done, 0),
                   "waiting for an exchange", error);
}
