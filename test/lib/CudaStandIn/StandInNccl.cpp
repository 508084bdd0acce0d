//===- StandInNccl.cpp - NCCL without GPUs ----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks are processes of this machine. Each has a socket to rank 0, which compares what
/// all of them call, computes the results and sends them back. NCCL's rules are kept: all
/// ranks make the same calls in the same order, with the same counts, types, operations
/// and roots, and receive what another sends to them, in its order; groups are begun and
/// ended in pairs; no two ranks have one GPU; communicator and stream belong to this
/// thread's GPU; buffers lie on it, and are one or apart as each call wants it; a
/// communicator that does not block is not used before its last call is made; graphs are
/// destroyed before their communicator. Sums are made from the last rank to the first, so
/// that who relies on an order is found out.
///
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/CPU/Convert.h"
#include "../../../lib/Runtime/CUDA/NcclApi.h"
#include "StandInState.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace mpt::standin;

namespace {

/// Seconds that ranks wait for each other.
double getPatience() {
  const char *text = std::getenv("MPT_STANDIN_NCCL_PATIENCE");
  return text ? std::atof(text) : 60;
}

enum class Kind { AllReduce, ReduceScatter, AllGather, Broadcast, Send, Receive };

struct Operation {
  Kind kind;
  const char *send;
  char *receive;
  size_t count;
  NcclType type;
  NcclOp op;
  /// Of a broadcast; whom one sends to or receives from.
  int root;

  bool isMessage() const { return kind == Kind::Send || kind == Kind::Receive; }
};

struct CommState {
  int rank = 0, ranks = 1, device = 0;
  /// Rank 0 has one to each other, the others one to rank 0.
  std::vector<int> sockets;
  uint64_t calls = 0;
  NcclResult failed = kNcclSuccess;
  /// The last call is not made yet: as NCCL says once after each.
  bool isUnderWay = false, isFinalized = false;
  std::string lastError;
  /// As long as there is a graph with a call of this.
  std::shared_ptr<int> users = std::make_shared<int>(0);
  ~CommState() {
    for (int socket : sockets)
      if (socket >= 0)
        ::close(socket);
  }
};

/// Where rank 0 listens, by the unique id.
std::map<std::string, int> listeners;
thread_local int groupDepth = 0;
thread_local std::vector<std::pair<CommState *, Operation>> grouped;
thread_local Stream groupStream = nullptr;

const char *getName(NcclType type) {
  static const char *const names[] = {"i8",  "u8",  "i32", "u32", "i64",
                                      "u64", "f16", "f32", "f64", "bf16"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(names) ? names[index] : "?";
}
size_t getBytes(NcclType type) {
  static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  const auto index = static_cast<size_t>(type);
  return index < std::size(sizes) ? sizes[index] : 0;
}
std::string describe(const Operation &operation) {
  static const char *const kinds[] = {"all_reduce", "reduce_scatter", "all_gather",
                                      "broadcast",  "send",           "receive"};
  static const char *const ops[] = {"sum", "prod", "max", "min", "avg"};
  std::string text = kinds[static_cast<int>(operation.kind)];
  text += " of " + std::to_string(operation.count) + " " + getName(operation.type);
  if (operation.kind == Kind::Broadcast)
    text += " from " + std::to_string(operation.root);
  else if (operation.isMessage())
    text += (operation.kind == Kind::Send ? " to " : " from ") +
            std::to_string(operation.root);
  else if (operation.kind != Kind::AllGather)
    text += std::string(" by ") + ops[static_cast<int>(operation.op)];
  return text;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

enum class Outcome { Good, Gone, Late };

Outcome transfer(int socket, void *data, size_t bytes, bool isSend,
                 std::chrono::steady_clock::time_point end) {
  for (size_t at = 0; at < bytes;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd file = {socket, static_cast<short>(isSend ? POLLOUT : POLLIN), 0};
    if (left.count() <= 0 || ::poll(&file, 1, static_cast<int>(left.count())) <= 0)
      return Outcome::Late;
    char *place = static_cast<char *>(data) + at;
    const ssize_t moved =
        isSend ? ::send(socket, place, bytes - at, MSG_NOSIGNAL | MSG_DONTWAIT)
               : ::recv(socket, place, bytes - at, MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (moved <= 0)
      return Outcome::Gone;
    at += static_cast<size_t>(moved);
  }
  return Outcome::Good;
}

/// A text with its length before it.
Outcome sendText(int socket, const std::string &text,
                 std::chrono::steady_clock::time_point end) {
  uint64_t length = text.size();
  std::string all(reinterpret_cast<char *>(&length), sizeof(length));
  all += text;
  return transfer(socket, all.data(), all.size(), true, end);
}
Outcome receiveText(int socket, std::string &text,
                    std::chrono::steady_clock::time_point end) {
  uint64_t length = 0;
  Outcome outcome = transfer(socket, &length, sizeof(length), false, end);
  if (outcome != Outcome::Good)
    return outcome;
  text.resize(length);
  return transfer(socket, text.data(), length, false, end);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

template <typename T>
T combine(NcclOp op, T a, T b) {
  return op == NcclOp::Sum    ? static_cast<T>(a + b)
         : op == NcclOp::Prod ? static_cast<T>(a * b)
         : op == NcclOp::Max  ? std::max(a, b)
                              : std::min(a, b);
}

/// Element `index` of `target` = it and that of `source`.
template <typename T>
void combineAll(NcclOp op, char *target, const char *source, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, target + i * sizeof(T), sizeof(T));
    std::memcpy(&b, source + i * sizeof(T), sizeof(T));
    a = combine(op, a, b);
    std::memcpy(target + i * sizeof(T), &a, sizeof(T));
  }
}
void combineNarrow(DataType type, NcclOp op, char *target, const char *source,
                   size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float a, b;
    widen(type, target, static_cast<int64_t>(i), &a, 1);
    widen(type, source, static_cast<int64_t>(i), &b, 1);
    // NCCL rounds each sum to the type.
    a = combine(op, a, b);
    narrow(type, &a, target, static_cast<int64_t>(i), 1);
  }
}
void reduce(NcclType type, NcclOp op, char *target, const char *source, size_t count) {
  switch (type) {
  case NcclType::I8:
    return combineAll<int8_t>(op, target, source, count);
  case NcclType::U8:
    return combineAll<uint8_t>(op, target, source, count);
  case NcclType::I32:
    return combineAll<int32_t>(op, target, source, count);
  case NcclType::U32:
    return combineAll<uint32_t>(op, target, source, count);
  case NcclType::I64:
    return combineAll<int64_t>(op, target, source, count);
  case NcclType::U64:
    return combineAll<uint64_t>(op, target, source, count);
  case NcclType::F32:
    return combineAll<float>(op, target, source, count);
  case NcclType::F64:
    return combineAll<double>(op, target, source, count);
  case NcclType::F16:
    return combineNarrow(DataType::F16, op, target, source, count);
  case NcclType::BF16:
    return combineNarrow(DataType::BF16, op, target, source, count);
  }
}

size_t getSentBytes(const Operation &operation, int ranks) {
  const size_t bytes = operation.count * getBytes(operation.type);
  return operation.kind == Kind::ReduceScatter ? bytes * ranks
         : operation.kind == Kind::Receive     ? 0
                                               : bytes;
}
size_t getReceivedBytes(const Operation &operation, int ranks) {
  const size_t bytes = operation.count * getBytes(operation.type);
  return operation.kind == Kind::AllGather ? bytes * ranks
         : operation.kind == Kind::Send    ? 0
                                           : bytes;
}

/// What rank `rank` receives, `sent` being what each sends.
std::string compute(const Operation &operation, const std::vector<std::string> &sent,
                    int rank) {
  const size_t bytes = operation.count * getBytes(operation.type);
  if (operation.kind == Kind::Broadcast)
    return sent[operation.root];
  std::string result;
  if (operation.kind == Kind::AllGather) {
    for (const std::string &part : sent)
      result += part;
    return result;
  }
  const size_t from = operation.kind == Kind::ReduceScatter ? bytes * rank : 0;
  for (size_t i = sent.size(); i-- > 0;)
    if (result.empty())
      result = sent[i].substr(from, bytes);
    else
      reduce(operation.type, operation.op, result.data(), sent[i].data() + from,
             operation.count);
  return result;
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

void hang(CommState &comm, Outcome outcome, const std::string &text) {
  state.hangs = true;
  if (outcome == Outcome::Late)
    return; // As on a device: nothing tells.
  comm.failed = outcome == Outcome::Gone ? kNcclRemoteError : kNcclInvalidUsage;
  comm.lastError = text;
}

/// A group of a rank's, and what it sends.
struct Group {
  uint64_t call = 0;
  std::vector<Operation> operations;
  std::string data;

  std::string write() const {
    return std::string(reinterpret_cast<const char *>(&call), sizeof(call)) +
           std::string(reinterpret_cast<const char *>(operations.data()),
                       operations.size() * sizeof(Operation));
  }
  void read(const std::string &text) {
    std::memcpy(&call, text.data(), sizeof(call));
    operations.resize((text.size() - sizeof(call)) / sizeof(Operation));
    std::memcpy(static_cast<void *>(operations.data()), text.data() + sizeof(call),
                operations.size() * sizeof(Operation));
  }
  std::string describe(bool withMessages) const {
    std::string text = "call " + std::to_string(call) + ":";
    const char *separator = " ";
    for (const Operation &operation : operations)
      if (withMessages || !operation.isMessage()) {
        text += separator + ::describe(operation);
        separator = ", ";
      }
    return text;
  }
  /// What operation `index` sends.
  std::string getSent(size_t index, int ranks) const {
    size_t at = 0;
    for (size_t i = 0; i < index; ++i)
      at += getSentBytes(operations[i], ranks);
    return data.substr(at, getSentBytes(operations[index], ranks));
  }
  /// The numbers of the messages of this kind to or from `peer`; or, if `peer` is -1, of
  /// what is no message.
  std::vector<size_t> find(Kind kind, int peer) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < operations.size(); ++i)
      if (peer < 0 ? !operations[i].isMessage()
                   : operations[i].kind == kind && operations[i].root == peer)
        found.push_back(i);
    return found;
  }
};

/// What makes a group of all ranks that never ends; "" if it does.
std::string findMismatch(const std::vector<Group> &groups) {
  const int ranks = static_cast<int>(groups.size());
  auto differ = [&](int a, int b) {
    return "ranks differ: rank " + std::to_string(a) + ": " + groups[a].describe(true) +
           "; rank " + std::to_string(b) + ": " + groups[b].describe(true);
  };
  for (int i = 1; i < ranks; ++i)
    if (groups[i].describe(false) != groups[0].describe(false))
      return differ(0, i);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      const std::vector<size_t> sends = groups[from].find(Kind::Send, to),
                                receives = groups[to].find(Kind::Receive, from);
      bool fits = sends.size() == receives.size();
      for (size_t i = 0; fits && i < sends.size(); ++i) {
        const Operation &send = groups[from].operations[sends[i]],
                        &receive = groups[to].operations[receives[i]];
        fits = send.count == receive.count && send.type == receive.type;
      }
      if (!fits)
        return differ(from, to);
    }
  return "";
}

/// What rank `rank` receives in a group of all ranks.
std::string computeGroup(const std::vector<Group> &groups, int rank) {
  const int ranks = static_cast<int>(groups.size());
  std::string result;
  std::vector<size_t> received(ranks, 0);
  size_t collective = 0;
  for (const Operation &operation : groups[rank].operations) {
    if (operation.kind == Kind::Send)
      continue;
    if (operation.kind == Kind::Receive) {
      const Group &sender = groups[operation.root];
      const size_t number = received[operation.root]++;
      result += sender.getSent(sender.find(Kind::Send, rank)[number], ranks);
      continue;
    }
    std::vector<std::string> parts;
    for (const Group &group : groups)
      parts.push_back(group.getSent(group.find(Kind::Send, -1)[collective], ranks));
    ++collective;
    result += compute(operation, parts, rank);
  }
  return result;
}

/// Makes `operations` of one group, together with the other ranks.
Error run(CommState &comm, const std::vector<Operation> &operations) {
  if (comm.failed != kNcclSuccess)
    return kSuccess;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(getPatience()));
  Group group = {++comm.calls, operations, ""};
  for (const Operation &operation : operations)
    if (const size_t bytes = getSentBytes(operation, comm.ranks))
      group.data.append(operation.send, bytes);
  std::string received, why;
  Outcome outcome = Outcome::Good;
  if (comm.rank != 0) {
    std::string verdict;
    outcome = sendText(comm.sockets[0], group.write(), end);
    if (outcome == Outcome::Good)
      outcome = sendText(comm.sockets[0], group.data, end);
    if (outcome == Outcome::Good)
      outcome = receiveText(comm.sockets[0], verdict, end);
    if (outcome == Outcome::Good && verdict.empty())
      outcome = receiveText(comm.sockets[0], received, end);
    if (outcome != Outcome::Good || !verdict.empty()) {
      hang(comm, outcome, verdict.empty() ? "rank 0 has ended" : verdict);
      return kSuccess;
    }
  } else {
    std::vector<Group> groups(comm.ranks);
    groups[0] = group;
    std::string gone;
    for (int i = 1; i < comm.ranks && outcome == Outcome::Good; ++i) {
      std::string header;
      outcome = receiveText(comm.sockets[i], header, end);
      if (outcome == Outcome::Good)
        outcome = receiveText(comm.sockets[i], groups[i].data, end);
      if (outcome == Outcome::Good)
        groups[i].read(header);
      else
        gone = "rank " + std::to_string(i) + " has ended";
    }
    if (outcome != Outcome::Good) {
      hang(comm, outcome, gone);
      return kSuccess;
    }
    why = findMismatch(groups);
    for (int i = 0; i < comm.ranks; ++i) {
      const std::string result = why.empty() ? computeGroup(groups, i) : "";
      if (i == 0) {
        received = result;
        continue;
      }
      // Who does not take it is found out by the next call.
      sendText(comm.sockets[i], why, end);
      if (why.empty())
        sendText(comm.sockets[i], result, end);
    }
    if (!why.empty()) {
      hang(comm, Outcome::Good, why);
      return kSuccess;
    }
  }
  size_t at = 0;
  for (const Operation &operation : operations) {
    const size_t bytes = getReceivedBytes(operation, comm.ranks);
    if (bytes > 0)
      std::memcpy(operation.receive, received.data() + at, bytes);
    at += bytes;
  }
  return kSuccess;
}

/// Enqueues what was grouped.
NcclResult launch(Call &call) {
  std::vector<std::pair<CommState *, Operation>> all = std::move(grouped);
  grouped.clear();
  if (all.empty())
    return kNcclSuccess;
  CommState &comm = *all.front().first;
  std::vector<Operation> operations;
  for (auto &[one, operation] : all) {
    if (one != &comm)
      return call.breach("a group with calls of several communicators",
                         kNcclInvalidUsage);
    operations.push_back(operation);
  }
  auto users = comm.users;
  if (submit(call, groupStream,
             [&comm, operations, users] { return run(comm, operations); }))
    return kNcclUnhandledCudaError;
  comm.isUnderWay = true;
  return kNcclInProgress;
}

CommState *getComm(Call &call, NcclComm comm) {
  auto *found = get<CommState>(call, comm, "NCCL communicator");
  if (!found)
    return nullptr;
  if (found->isUnderWay) {
    call.breach("the last call of the communicator, which does not block, was not waited "
                "for (ncclCommGetAsyncError)",
                0);
    return nullptr;
  }
  if (found->device == currentDevice)
    return found;
  call.breach("a communicator of GPU " + std::to_string(found->device) + " while GPU " +
                  std::to_string(currentDevice) + " is this thread's",
              0);
  return nullptr;
}

NcclResult enqueue(Call &call, Kind kind, const void *send, void *receive, size_t count,
                   NcclType type, NcclOp op, int root, NcclComm handle, Stream stream) {
  CommState *comm = getComm(call, handle);
  if (!comm)
    return kNcclInvalidArgument;
  if (comm->isFinalized)
    return call.breach("the communicator was finalized", kNcclInvalidUsage);
  const Operation operation = {kind,
                               static_cast<const char *>(send),
                               static_cast<char *>(receive),
                               count,
                               type,
                               op,
                               root};
  const size_t bytes = getBytes(type);
  if (bytes == 0 || static_cast<int>(op) < 0 || static_cast<int>(op) > 4 || root < 0 ||
      root >= comm->ranks)
    return call.breach("no such type, operation or root", kNcclInvalidArgument);
  if (op == NcclOp::Avg)
    return call.breach("means are not known here", kNcclInvalidArgument);
  const size_t sent = getSentBytes(operation, comm->ranks),
               received = getReceivedBytes(operation, comm->ranks);
  if ((sent > 0 && !isOnDevice(send, static_cast<int64_t>(sent))) ||
      (received > 0 && !isOnDevice(receive, static_cast<int64_t>(received))))
    return call.breach("a buffer reaches outside the device's allocations",
                       kNcclInvalidArgument);
  if (reinterpret_cast<uintptr_t>(send) % bytes ||
      reinterpret_cast<uintptr_t>(receive) % bytes)
    return call.breach("a buffer is not aligned to its elements", kNcclInvalidArgument);
  // In place, or apart.
  const size_t own = comm->rank * count * bytes;
  const char *inPlace =
      kind == Kind::AllGather ? operation.receive + own : operation.receive;
  const char *from = kind == Kind::ReduceScatter ? operation.send + own : operation.send;
  if (operation.send < operation.receive + received &&
      operation.receive < operation.send + sent && from != inPlace)
    return call.breach("the buffers of '" + describe(operation) +
                           "' overlap, and it is not in place",
                       kNcclInvalidArgument);
  if (operation.isMessage() && groupDepth == 0 && root == comm->rank)
    return call.breach("a message to itself outside a group never ends",
                       kNcclInvalidUsage);
  if (!getStream(call, stream))
    return kNcclInvalidArgument;
  if (groupDepth > 0 && !grouped.empty() && groupStream != stream)
    return call.breach("a group in several streams", kNcclInvalidUsage);
  groupStream = stream;
  grouped.push_back({comm, operation});
  return groupDepth > 0 ? kNcclSuccess : launch(call);
}

} // namespace

extern "C" {

NcclResult ncclGetVersion(int *version) {
  MPT_BEGIN("ncclGetVersion");
  *version = 23007;
  return kNcclSuccess;
}

const char *ncclGetErrorString(NcclResult result) {
  static const char *const texts[] = {
      "no error",
      "unhandled cuda error",
      "unhandled system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote process exited or there was a network error",
      "NCCL operation in progress"};
  return result >= 0 && result < 8 ? texts[result] : "unknown result code";
}

const char *ncclGetLastError(NcclComm comm) {
  auto found = state.objects.find(comm);
  if (found != state.objects.end() && found->second == "NCCL communicator")
    if (auto *known = static_cast<CommState *>(comm); !known->lastError.empty())
      return known->lastError.c_str();
  return state.breach.c_str();
}

NcclResult ncclGetUniqueId(NcclUniqueId *id) {
  MPT_BEGIN("ncclGetUniqueId");
  static int made = 0;
  *id = {};
  std::snprintf(id->internal, sizeof(id->internal), "mpt-standin-nccl-%d-%d", getpid(),
                made++);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, id->internal, sizeof(address.sun_path) - 1);
  if (::bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) ||
      ::listen(listener, 64))
    return 2; // ncclSystemError
  listeners[id->internal] = listener;
  return kNcclSuccess;
}

NcclResult ncclCommInitRankConfig(NcclComm *comm, int ranks, NcclUniqueId id, int rank,
                                  NcclConfig *config) {
  MPT_BEGIN_OUTSIDE("ncclCommInitRankConfig");
  if (!config || config->size < sizeof(NcclConfig) ||
      config->magic != NcclConfig().magic || config->version < 21400)
    return call.breach("the configuration was not initialized", kNcclInvalidArgument);
  if (config->blocking != 0)
    return call.breach("communicators that block are not known here",
                       kNcclInvalidArgument);
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return call.breach("no such rank", kNcclInvalidArgument);
  auto made = std::make_unique<CommState>();
  made->rank = rank;
  made->ranks = ranks;
  made->device = currentDevice;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<int64_t>(getPatience() * 1000));
  bool isComplete = true;
  if (rank == 0) {
    auto listener = listeners.find(id.internal);
    if (listener == listeners.end())
      return call.breach("rank 0 has to be who made the unique id", kNcclInvalidArgument);
    made->sockets.assign(ranks, -1);
    std::vector<int> devices(ranks, -1);
    devices[0] = state.devices[currentDevice];
    for (int come = 1; come < ranks && isComplete; ++come) {
      pollfd file = {listener->second, POLLIN, 0};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      isComplete = left.count() > 0 && ::poll(&file, 1, left.count()) > 0;
      if (!isComplete)
        break;
      const int caller = ::accept4(listener->second, nullptr, nullptr, SOCK_CLOEXEC);
      int32_t who[3] = {};
      if (caller < 0 || transfer(caller, who, sizeof(who), false, end) != Outcome::Good) {
        isComplete = false;
        break;
      }
      if (who[1] != ranks || who[0] <= 0 || who[0] >= ranks || made->sockets[who[0]] >= 0)
        return call.breach("ranks differ: rank 0: one of " + std::to_string(ranks) +
                               "; another: rank " + std::to_string(who[0]) + " of " +
                               std::to_string(who[1]),
                           kNcclInvalidUsage);
      made->sockets[who[0]] = caller;
      devices[who[0]] = who[2];
      for (int other = 0; other < ranks; ++other)
        if (other != who[0] && devices[other] == who[2])
          return call.breach("rank " + std::to_string(other) + " and rank " +
                                 std::to_string(who[0]) + " both on GPU " +
                                 std::to_string(who[2]),
                             kNcclInvalidUsage);
    }
    ::close(listener->second);
    listeners.erase(listener);
  } else {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, id.internal, sizeof(address.sun_path) - 1);
    made->sockets = {socket};
    int32_t who[3] = {rank, ranks, state.devices[currentDevice]};
    if (::connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof(address)) ||
        transfer(socket, who, sizeof(who), true, end) != Outcome::Good)
      return kNcclRemoteError;
  }
  made->isUnderWay = true;
  // Else it stays so.
  if (!isComplete)
    made->failed = kNcclInProgress;
  *comm = make("NCCL communicator", made.release());
  return kNcclInProgress;
}

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult *result) {
  MPT_BEGIN("ncclCommGetAsyncError");
  auto *found = get<CommState>(call, comm, "NCCL communicator");
  if (!found)
    return kNcclInvalidArgument;
  *result = found->failed != kNcclSuccess ? found->failed
            : found->isUnderWay           ? kNcclInProgress
                                          : kNcclSuccess;
  if (found->failed == kNcclSuccess)
    found->isUnderWay = false;
  return kNcclSuccess;
}

NcclResult ncclCommFinalize(NcclComm comm) {
  MPT_BEGIN_OUTSIDE("ncclCommFinalize");
  CommState *found = getComm(call, comm);
  if (!found)
    return kNcclInvalidArgument;
  found->isFinalized = found->isUnderWay = true;
  return kNcclInProgress;
}

NcclResult ncclCommDestroy(NcclComm comm) {
  MPT_BEGIN_OUTSIDE("ncclCommDestroy");
  CommState *found = getComm(call, comm);
  if (!found)
    return kNcclInvalidArgument;
  if (found->users.use_count() > 1)
    return call.breach("a graph or stream still has calls of the communicator",
                       kNcclInvalidUsage);
  return destroy<CommState>(call, comm, "NCCL communicator") ? kNcclInvalidArgument
                                                             : kNcclSuccess;
}

NcclResult ncclCommAbort(NcclComm comm) {
  MPT_BEGIN("ncclCommAbort");
  auto *found = get<CommState>(call, comm, "NCCL communicator");
  if (!found)
    return kNcclInvalidArgument;
  // Its kernels end. Graphs may still name it.
  for (int &socket : found->sockets)
    if (socket >= 0)
      ::close(std::exchange(socket, -1));
  found->failed = kNcclRemoteError;
  state.objects.erase(comm);
  state.hangs = false;
  return kNcclSuccess;
}

NcclResult ncclGroupStart() {
  MPT_BEGIN("ncclGroupStart");
  ++groupDepth;
  return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
  MPT_BEGIN("ncclGroupEnd");
  if (groupDepth == 0)
    return call.breach("a group ends that was not begun", kNcclInvalidUsage);
  return --groupDepth > 0 ? kNcclSuccess : launch(call);
}

NcclResult ncclAllReduce(const void *send, void *receive, size_t count, NcclType type,
                         NcclOp op, NcclComm comm, Stream stream) {
  MPT_BEGIN("ncclAllReduce");
  return enqueue(call, Kind::AllReduce, send, receive, count, type, op, 0, comm, stream);
}
NcclResult ncclReduceScatter(const void *send, void *receive, size_t count, NcclType type,
                             NcclOp op, NcclComm comm, Stream stream) {
  MPT_BEGIN("ncclReduceScatter");
  return enqueue(call, Kind::ReduceScatter, send, receive, count, type, op, 0, comm,
                 stream);
}
NcclResult ncclAllGather(const void *send, void *receive, size_t count, NcclType type,
                         NcclComm comm, Stream stream) {
  MPT_BEGIN("ncclAllGather");
  return enqueue(call, Kind::AllGather, send, receive, count, type, NcclOp::Sum, 0, comm,
                 stream);
}
NcclResult ncclSend(const void *send, size_t count, NcclType type, int peer,
                    NcclComm comm, Stream stream) {
  MPT_BEGIN("ncclSend");
  return enqueue(call, Kind::Send, send, nullptr, count, type, NcclOp::Sum, peer, comm,
                 stream);
}
NcclResult ncclRecv(void *receive, size_t count, NcclType type, int peer, NcclComm comm,
                    Stream stream) {
  MPT_BEGIN("ncclRecv");
  return enqueue(call, Kind::Receive, nullptr, receive, count, type, NcclOp::Sum, peer,
                 comm, stream);
}
NcclResult ncclBroadcast(const void *send, void *receive, size_t count, NcclType type,
                         int root, NcclComm comm, Stream stream) {
  MPT_BEGIN("ncclBroadcast");
  return enqueue(call, Kind::Broadcast, send, receive, count, type, NcclOp::Sum, root,
                 comm, stream);
}

} // extern "C"
