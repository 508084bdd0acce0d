//===- Collectives.cpp - Calls of several processes -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reductions in the order of ranks: each rank gets the values of its part of a segment
/// from all ranks, reduces them in order, and sends the result to all. Every rank
/// therefore has the same bits, and those of a loop over the ranks' values.
///
//===----------------------------------------------------------------------===//

#include "../Comm/Communicator.h"
#include "Call.h"
#include "Convert.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <type_traits>

using namespace mpt::rt;

namespace {

/// A call of several ranks.
class RankedCall : public Call {
public:
  RankedCall(const Instruction &instruction, int64_t ranks)
      : instruction(instruction), wantedRanks(ranks) {}

  void setCommunicator(mpt_rt_communicator *given) override { communicator = given; }

protected:
  /// Whether there are the ranks that the call is for.
  bool check(std::string &error) const {
    if (wantedRanks == getRankCount())
      return true;
    error = "the call is for " + std::to_string(wantedRanks) + " ranks, found " +
            std::to_string(getRankCount());
    return false;
  }
  int32_t getRank() const { return communicator ? communicator->rank : 0; }
  int32_t getRankCount() const { return communicator ? communicator->ranks : 1; }

  Instruction instruction;
  mpt_rt_communicator *communicator = nullptr;

private:
  int64_t wantedRanks;
};

/// A call that sends messages: at once, or, with `async`, on the communicator's thread.
class Collective : public RankedCall, private Exchange {
public:
  template <typename Attributes>
  Collective(const Attributes &call, const Instruction &instruction)
      : RankedCall(instruction, call.ranks), isAsync(call.async) {}

  void setCommunicator(mpt_rt_communicator *given) final {
    RankedCall::setCommunicator(given);
    // Starts it now and not in a run.
    if (given && isAsync)
      given->getThread();
  }

  bool run(void **given, ThreadTeam &team, std::string &error) final {
    isOnThread = false;
    if (!check(error))
      return false;
    if (!communicator)
      return exchangeAll(given, team, error);
    ExchangeThread *thread =
        isAsync ? communicator->getThread() : communicator->thread.get();
    if (thread && isAsync) {
      buffers = given;
      isOnThread = true;
      thread->start(*this);
      return true;
    }
    const Clock::time_point begin = Clock::now();
    // Ranks meet in the order of the program.
    if (thread)
      thread->finishAll();
    const Clock::time_point own = Clock::now();
    const bool isGood = exchangeAll(given, team, error);
    const Clock::time_point end = Clock::now();
    communicator->ownSeconds += getSeconds(own, end);
    communicator->exposedSeconds += getSeconds(begin, end);
    return isGood;
  }

  bool finish(std::string &error) final {
    if (!isOnThread)
      return true;
    const Clock::time_point begin = Clock::now();
    const bool isGood = communicator->thread->finish(*this, error);
    communicator->exposedSeconds += getSeconds(begin, Clock::now());
    return isGood;
  }

protected:
  /// Does it, in this thread and the team's.
  virtual bool exchangeAll(void **buffers, ThreadTeam &team, std::string &error) = 0;

  /// Exchanges blocks: `send(i)` and `receive(i)` are the messages to and from rank i.
  template <typename Send, typename Receive>
  bool exchangeBlocks(Send &&send, Receive &&receive, std::string &error) {
    if (!communicator)
      return true;
    for (int32_t i = 0; i < communicator->ranks; ++i) {
      communicator->sends[i] = send(i);
      communicator->receives[i] = receive(i);
    }
    return passOn(
        communicator->exchange(communicator->sends.data(), communicator->receives.data()),
        error);
  }
  bool passOn(bool isGood, std::string &error) const {
    if (!isGood)
      error = communicator->error;
    return isGood;
  }

private:
  using Clock = std::chrono::steady_clock;
  static double getSeconds(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
  }

  bool exchange(std::string &error) final { return exchangeAll(buffers, alone, error); }

  bool isAsync, isOnThread = false;
  void **buffers = nullptr;
  /// The communicator's thread has no others.
  ThreadTeam alone{1};
};

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Elements that a task packs, reduces or unpacks.
constexpr int64_t kTaskElements = 16384;
/// Elements that are reduced together, on the stack.
constexpr int64_t kTogether = 512;

/// The next value of a reduction.
template <typename T>
T combine(ReduceKind kind, T total, T value) {
  if (kind == ReduceKind::Sum || kind == ReduceKind::Mean) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(total) + static_cast<uint64_t>(value));
    else
      return total + value;
  }
  if constexpr (!std::is_integral_v<T>)
    if (value != value || total != total)
      return static_cast<T>(NAN);
  return kind == ReduceKind::Max ? std::max(total, value) : std::min(total, value);
}

/// `count` elements from `index` on as numbers of the type that they are reduced in.
void load(DataType type, const void *data, int64_t index, float *values, int64_t count) {
  widen(type, data, index, values, count);
}
void load(DataType, const void *data, int64_t index, double *values, int64_t count) {
  std::memcpy(values, static_cast<const double *>(data) + index, count * sizeof(double));
}
void load(DataType type, const void *data, int64_t index, int64_t *values,
          int64_t count) {
  const int64_t size = getSize(type), unused = 64 - 8 * size;
  const char *from = static_cast<const char *>(data) + index * size;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, from + i * size, size);
    values[i] =
        type == DataType::I1 ? bits != 0 : static_cast<int64_t>(bits << unused) >> unused;
  }
}

void store(DataType type, const float *values, void *data, int64_t index, int64_t count) {
  narrow(type, values, data, index, count);
}
void store(DataType, const double *values, void *data, int64_t index, int64_t count) {
  std::memcpy(static_cast<double *>(data) + index, values, count * sizeof(double));
}
void store(DataType type, const int64_t *values, void *data, int64_t index,
           int64_t count) {
  const int64_t size = getSize(type);
  char *to = static_cast<char *>(data) + index * size;
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * size, values + i, size);
}

int64_t countTasks(int64_t elements) {
  return (elements + kTaskElements - 1) / kTaskElements;
}

/// all_reduce and reduce_scatter.
class Reduction : public Collective {
public:
  template <typename Attributes>
  Reduction(const Attributes &call, const Instruction &instruction)
      : Collective(call, instruction), isInAnyOrder(call.order == SumOrder::Library) {
    planReduction(instruction, plan);
    int64_t begin = 0;
    for (uint32_t i = 0; i < instruction.numInputs; ++i) {
      begins.push_back(begin);
      begin += instruction.refs[i].count();
    }
    begins.push_back(begin);
  }

protected:
  bool exchangeAll(void **buffers, ThreadTeam &team, std::string &error) override;

private:
  /// Whether the transport adds the numbers.
  bool isForLibrary() const {
    return isInAnyOrder && communicator && communicator->hasAllReduce() &&
           plan.ranks > 1 && plan.elements > 0 && !plan.isScatter &&
           plan.wire == plan.back &&
           (plan.wire == DataType::F32 || plan.wire == DataType::F64) &&
           (plan.kind == ReduceKind::Sum || plan.kind == ReduceKind::Mean);
  }
  /// The same, where the transport adds.
  bool reduceInLibrary(void **buffers, ThreadTeam &team, std::string &error);

  /// Calls body(tensor, its first element, count, offset in [begin, end)) for the pieces
  /// of tensors that elements [begin, end) of all of them are.
  template <typename Body>
  void forEachPiece(int64_t begin, int64_t end, Body &&body) const;
  /// Elements [begin, begin + count) of the inputs, as they travel, to `target`.
  void pack(void **buffers, int64_t begin, int64_t count, char *target,
            ThreadTeam &team) const;
  /// Elements of the results, as they are in `source`.
  void unpack(void **buffers, int64_t begin, int64_t count, const char *source,
              ThreadTeam &team) const;
  /// Reduces `count` values of each rank, `stride` bytes apart in `received`, but those
  /// of this rank in `own`, into `target` from its element `first` on.
  void reduce(const char *own, const char *received, int64_t stride, int64_t count,
              void *target, int64_t first, ThreadTeam &team) const;
  template <typename T>
  void reduceTo(const char *own, const char *received, int64_t stride, int64_t count,
                void *target, int64_t first, ThreadTeam &team) const;

  bool isInAnyOrder;
  ReductionPlan plan;
  /// Where each input begins in the row of all, and where they end.
  std::vector<int64_t> begins;
};

template <typename Body>
void Reduction::forEachPiece(int64_t begin, int64_t end, Body &&body) const {
  size_t tensor =
      std::upper_bound(begins.begin(), begins.end(), begin) - begins.begin() - 1;
  for (int64_t at = begin; at < end; ++tensor) {
    const int64_t stop = std::min(end, begins[tensor + 1]);
    if (stop > at)
      body(tensor, at - begins[tensor], stop - at, at - begin);
    at = std::max(at, stop);
  }
}

/// `count` elements of `type` to those of `targetType`, from these indices on.
static void convert(DataType type, const void *source, int64_t index, DataType targetType,
                    char *target, int64_t targetIndex, int64_t count) {
  const int64_t size = getSize(type);
  if (type == targetType) {
    std::memcpy(target + targetIndex * size,
                static_cast<const char *>(source) + index * size, count * size);
    return;
  }
  float values[kTogether];
  for (int64_t at = 0; at < count; at += kTogether) {
    const int64_t length = std::min(kTogether, count - at);
    widen(type, source, index + at, values, length);
    narrow(targetType, values, target, targetIndex + at, length);
  }
}

void Reduction::pack(void **buffers, int64_t begin, int64_t count, char *target,
                     ThreadTeam &team) const {
  parallelFor(countTasks(count), team, [&](int64_t task, int) {
    const int64_t from = task * kTaskElements, to = std::min(count, from + kTaskElements);
    forEachPiece(begin + from, begin + to,
                 [&](size_t tensor, int64_t first, int64_t length, int64_t offset) {
                   convert(plan.type, buffers[tensor], first, plan.wire, target,
                           from + offset, length);
                 });
  });
}

void Reduction::unpack(void **buffers, int64_t begin, int64_t count, const char *source,
                       ThreadTeam &team) const {
  parallelFor(countTasks(count), team, [&](int64_t task, int) {
    const int64_t from = task * kTaskElements, to = std::min(count, from + kTaskElements);
    forEachPiece(
        begin + from, begin + to,
        [&](size_t tensor, int64_t first, int64_t length, int64_t offset) {
          auto *result = static_cast<char *>(buffers[instruction.numInputs + tensor]);
          convert(plan.back, source, from + offset, plan.result, result, first, length);
        });
  });
}

template <typename T>
void Reduction::reduceTo(const char *own, const char *received, int64_t stride,
                         int64_t count, void *target, int64_t first,
                         ThreadTeam &team) const {
  const int32_t rank = getRank();
  parallelFor(countTasks(count), team, [&](int64_t task, int) {
    const int64_t end = std::min(count, (task + 1) * kTaskElements);
    for (int64_t at = task * kTaskElements; at < end; at += kTogether) {
      const int64_t length = std::min(kTogether, end - at);
      T totals[kTogether], values[kTogether];
      for (int64_t i = 0; i < plan.ranks; ++i) {
        const char *from = i == rank ? own : received + i * stride;
        load(plan.wire, from, at, i == 0 ? totals : values, length);
        for (int64_t c = 0; i > 0 && c < length; ++c)
          totals[c] = combine(plan.kind, totals[c], values[c]);
      }
      if constexpr (!std::is_integral_v<T>)
        if (plan.kind == ReduceKind::Mean && plan.ranks > 1)
          for (int64_t c = 0; c < length; ++c)
            totals[c] /= static_cast<T>(plan.ranks);
      store(plan.back, totals, target, first + at, length);
    }
  });
}

void Reduction::reduce(const char *own, const char *received, int64_t stride,
                       int64_t count, void *target, int64_t first,
                       ThreadTeam &team) const {
  if (plan.type == DataType::F64)
    reduceTo<double>(own, received, stride, count, target, first, team);
  else if (plan.type > DataType::F8E5M2)
    reduceTo<int64_t>(own, received, stride, count, target, first, team);
  else
    reduceTo<float>(own, received, stride, count, target, first, team);
}

bool Reduction::reduceInLibrary(void **buffers, ThreadTeam &team, std::string &error) {
  const bool isDouble = plan.wire == DataType::F64;
  char *sent =
      static_cast<char *>(buffers[instruction.numInputs + instruction.numOutputs]);
  char *reduced = sent + 2 * plan.wireBytes();
  // A rank that does not come has a name here, and none in the library.
  auto nothing = [&](int64_t) { return mpt_rt_message{sent, 1}; };
  auto from = [&](int64_t i) {
    return mpt_rt_message{sent + (i == getRank() ? 0 : 64 + i), 1};
  };
  if (!exchangeBlocks(nothing, from, error))
    return false;
  for (int64_t at = 0; at < plan.elements;) {
    const int64_t count = std::min(plan.elements - at, plan.ranks * plan.part);
    pack(buffers, at, count, sent, team);
    if (!passOn(communicator->allReduce(sent, reduced, count, isDouble), error))
      return false;
    if (plan.kind == ReduceKind::Mean)
      parallelFor(countTasks(count), team, [&](int64_t task, int) {
        const int64_t end = std::min(count, (task + 1) * kTaskElements);
        for (int64_t i = task * kTaskElements; i < end; ++i)
          if (isDouble)
            reinterpret_cast<double *>(reduced)[i] /= static_cast<double>(plan.ranks);
          else
            reinterpret_cast<float *>(reduced)[i] /= static_cast<float>(plan.ranks);
      });
    unpack(buffers, at, count, reduced, team);
    at += count;
  }
  return true;
}

bool Reduction::exchangeAll(void **buffers, ThreadTeam &team, std::string &error) {
  if (isForLibrary())
    return reduceInLibrary(buffers, team, error);
  const int64_t ranks = plan.ranks, rank = getRank(), wire = getSize(plan.wire),
                size = getSize(plan.back);
  char *sent =
      static_cast<char *>(buffers[instruction.numInputs + instruction.numOutputs]);
  char *received = sent + plan.wireBytes(), *reduced = received + plan.wireBytes();
  for (int64_t at = 0; at < plan.elements;) {
    const int64_t left = plan.elements - at, part = plan.getPart(left),
                  stride = part * wire;
    // Elements of rank i's part: the last ones of an all_reduce may have fewer.
    auto count = [&](int64_t i) {
      return plan.isScatter ? part : std::clamp<int64_t>(left - i * part, 0, part);
    };
    if (plan.isScatter)
      for (int64_t i = 0; i < ranks; ++i)
        pack(buffers, i * plan.elements + at, part, sent + i * stride, team);
    else
      pack(buffers, at, std::min(left, ranks * part), sent, team);
    auto messageTo = [&](int64_t i) {
      return mpt_rt_message{sent + i * stride, size_t(count(i) * wire)};
    };
    auto messageFrom = [&](int64_t i) {
      return i == rank
                 ? messageTo(i)
                 : mpt_rt_message{received + i * stride, size_t(count(rank) * wire)};
    };
    if (!exchangeBlocks(messageTo, messageFrom, error))
      return false;
    const char *own = sent + rank * stride;
    if (plan.isScatter) {
      reduce(own, received, stride, part, buffers[1], at, team);
      at += part;
      continue;
    }
    reduce(own, received, stride, count(rank), reduced, rank * part, team);
    auto partOf = [&](int64_t i) {
      return mpt_rt_message{reduced + i * part * size, size_t(count(i) * size)};
    };
    if (!exchangeBlocks([&](int64_t) { return partOf(rank); }, partOf, error))
      return false;
    const int64_t done = std::min(left, ranks * part);
    unpack(buffers, at, done, reduced, team);
    at += done;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

class AllGather : public Collective {
public:
  AllGather(const AllGatherCall &call, const Instruction &instruction)
      : Collective(call, instruction) {}

protected:
  bool exchangeAll(void **buffers, ThreadTeam &, std::string &error) override {
    const size_t bytes = instruction.refs[0].bytes();
    if (bytes > 0)
      std::memcpy(static_cast<char *>(buffers[1]) + getRank() * bytes, buffers[0], bytes);
    auto block = [&](int64_t i) {
      return mpt_rt_message{static_cast<char *>(buffers[1]) + i * bytes, bytes};
    };
    return exchangeBlocks([&](int64_t) { return block(getRank()); }, block, error);
  }
};

class AllToAll : public Collective {
public:
  AllToAll(const AllToAllCall &call, const Instruction &instruction)
      : Collective(call, instruction), ranks(call.ranks) {}

protected:
  bool exchangeAll(void **buffers, ThreadTeam &, std::string &error) override {
    const size_t bytes = instruction.refs[0].bytes() / ranks;
    auto part = [&](int buffer, int64_t i) {
      return static_cast<char *>(buffers[buffer]) + i * bytes;
    };
    const int64_t own = getRank();
    if (bytes > 0)
      std::memcpy(part(1, own), part(0, own), bytes);
    return exchangeBlocks([&](int64_t i) { return mpt_rt_message{part(0, i), bytes}; },
                          [&](int64_t i) { return mpt_rt_message{part(1, i), bytes}; },
                          error);
  }

private:
  int64_t ranks;
};

class Broadcast : public Collective {
public:
  Broadcast(const BroadcastCall &call, const Instruction &instruction)
      : Collective(call, instruction), call(call) {}

protected:
  bool exchangeAll(void **buffers, ThreadTeam &, std::string &error) override {
    const size_t bytes = instruction.refs[0].bytes();
    const bool isRoot = getRank() == call.root;
    if (isRoot && bytes > 0)
      std::memcpy(buffers[1], buffers[0], bytes);
    auto message = [&](bool isUnderWay) {
      return mpt_rt_message{buffers[1], isUnderWay ? bytes : 0};
    };
    return exchangeBlocks([&](int64_t i) { return message(isRoot && i != call.root); },
                          [&](int64_t i) { return message(!isRoot && i == call.root); },
                          error);
  }

private:
  BroadcastCall call;
};

class Rank : public RankedCall {
public:
  Rank(const RankCall &call, const Instruction &instruction)
      : RankedCall(instruction, call.ranks) {}
  bool run(void **buffers, ThreadTeam &, std::string &error) override {
    if (!check(error))
      return false;
    const int64_t rank = getRank();
    store(instruction.refs[0].type, &rank, buffers[0], 0, 1);
    return true;
  }
};

class Wait : public Call {
public:
  bool run(void **, ThreadTeam &, std::string &error) override {
    return begun->finish(error);
  }
  void setBegun(Call *call) override { begun = call; }

private:
  Call *begun = nullptr;
};

} // namespace

std::unique_ptr<Call> mpt::rt::makeCollective(const AllReduceCall &call,
                                              const Instruction &instruction) {
  return std::make_unique<Reduction>(call, instruction);
}
std::unique_ptr<Call> mpt::rt::makeCollective(const ReduceScatterCall &call,
                                              const Instruction &instruction) {
  return std::make_unique<Reduction>(call, instruction);
}
std::unique_ptr<Call> mpt::rt::makeCollective(const AllGatherCall &call,
                                              const Instruction &instruction) {
  return std::make_unique<AllGather>(call, instruction);
}
std::unique_ptr<Call> mpt::rt::makeCollective(const AllToAllCall &call,
                                              const Instruction &instruction) {
  return std::make_unique<AllToAll>(call, instruction);
}
std::unique_ptr<Call> mpt::rt::makeCollective(const BroadcastCall &call,
                                              const Instruction &instruction) {
  return std::make_unique<Broadcast>(call, instruction);
}
std::unique_ptr<Call> mpt::rt::makeCollective(const RankCall &call,
                                              const Instruction &instruction) {
  return std::make_unique<Rank>(call, instruction);
}
std::unique_ptr<Call> mpt::rt::makeCollective(const WaitCall &, const Instruction &) {
  return std::make_unique<Wait>();
}
