//===- ThreadTransport.h - Ranks that are threads ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_RUNTIME_THREADTRANSPORT_H
#define MPT_UNITTESTS_RUNTIME_THREADTRANSPORT_H

#include "mpt/Runtime/Runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mpt::rt {

/// Carries messages between threads of this process, each of which is a rank.
class ThreadRanks {
public:
  explicit ThreadRanks(int ranks) : ranks(ranks), boxes(ranks * ranks), ends(ranks) {
    for (int rank = 0; rank < ranks; ++rank)
      ends[rank] = {this, rank, "host" + std::to_string(rank), {}};
  }

  /// Runs `body` in a thread for each rank that it does not leave out, with a connected
  /// communicator.
  void run(const std::function<void(int rank, mpt_rt_communicator *)> &body,
           double deadline = 60) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        mpt_rt_communicator *communicator = mpt_rt_create_communicator(deadline);
        const mpt_rt_transport transport = describe(rank);
        if (mpt_rt_connect(communicator, &transport) == MPT_RT_OK)
          body(rank, communicator);
        else
          ++failures;
        mpt_rt_destroy_communicator(communicator);
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  mpt_rt_transport describe(int rank) {
    mpt_rt_transport transport = {};
    transport.struct_bytes = sizeof(transport);
    transport.data = &ends[rank];
    transport.rank = rank;
    transport.ranks = ranks;
    transport.host = ends[rank].host.c_str();
    transport.post = [](void *data, const mpt_rt_message *send,
                        const mpt_rt_message *receive, void **request) {
      auto *end = static_cast<End *>(data);
      return end->group->post(*end, send, receive, request);
    };
    transport.test = [](void *data, void *request, int32_t *done, int32_t *missing) {
      auto *end = static_cast<End *>(data);
      return end->group->test(*end, *static_cast<Request *>(request), *done, *missing);
    };
    transport.describe = [](void *) { return "the cable is cut"; };
    transport.abort = [](void *, int32_t) {};
    transport.close = [](void *data, int32_t failed) {
      auto *end = static_cast<End *>(data);
      ++end->group->closed;
      end->group->closedAfterFailure += failed;
    };
    transport.any_thread = anyThread;
    if (addsNumbers)
      transport.all_reduce = [](void *data, const void *values, void *sums, size_t count,
                                int32_t isDouble, void **request) {
        auto *end = static_cast<End *>(data);
        return end->group->allReduce(*end, values, sums, count, isDouble != 0, request);
      };
    return transport;
  }

  /// Whether exchanges may have a thread of their own, and whether the transport adds
  /// numbers (from the last rank to the first).
  bool anyThread = true, addsNumbers = false;
  /// A link: seconds that a message takes, and bytes that a rank sends in a second.
  double latency = 0, bandwidth = INFINITY;

  /// From this number of posts of a rank on, they fail.
  std::atomic<int> postsUntilFailure{1 << 30};
  std::atomic<int> failures{0}, closed{0}, closedAfterFailure{0};
  /// How many reductions the transport was asked for.
  std::atomic<int> reductions{0};

private:
  struct End {
    ThreadRanks *group;
    int rank;
    std::string host;
    /// When the last message has left.
    std::chrono::steady_clock::time_point isFree = {};
  };
  using Clock = std::chrono::steady_clock;
  struct Request {
    std::vector<mpt_rt_message> receive;
    std::vector<bool> isThere;
    /// Of a reduction: all ranks' values, which are added in the end.
    std::vector<char> values;
    double *doubles = nullptr;
    float *floats = nullptr;
  };
  struct Message {
    std::vector<char> bytes;
    Clock::time_point arrives;
  };

  int post(End &end, const mpt_rt_message *send, const mpt_rt_message *receive,
           void **request) {
    if (--postsUntilFailure < 0)
      return 1;
    std::lock_guard<std::mutex> lock(mutex);
    auto made = std::make_unique<Request>();
    made->receive.assign(receive, receive + ranks);
    made->isThere.assign(ranks, false);
    for (int i = 0; i < ranks; ++i) {
      auto *bytes = static_cast<const char *>(send[i].data);
      if (i == end.rank || send[i].bytes == 0)
        continue;
      auto last = std::max(Clock::now(), end.isFree);
      auto toTicks = [](double seconds) {
        return std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(seconds));
      };
      end.isFree = last + toTicks(send[i].bytes / bandwidth);
      boxes[end.rank * ranks + i].push_back(
          {std::vector<char>(bytes, bytes + send[i].bytes),
           end.isFree + toTicks(latency)});
    }
    *request = made.release();
    return 0;
  }

  int test(End &end, Request &request, int32_t &done, int32_t &missing) {
    std::lock_guard<std::mutex> lock(mutex);
    for (int i = 0; i < ranks; ++i) {
      if (i == end.rank || request.receive[i].bytes == 0 || request.isThere[i])
        continue;
      auto &box = boxes[i * ranks + end.rank];
      if (box.empty() || box.front().arrives > Clock::now()) {
        missing = i;
        return 0;
      }
      const std::vector<char> &bytes = box.front().bytes;
      if (bytes.size() != request.receive[i].bytes)
        return 1;
      std::copy(bytes.begin(), bytes.end(), static_cast<char *>(request.receive[i].data));
      box.pop_front();
      request.isThere[i] = true;
    }
    if (request.doubles)
      addBackward(request, request.doubles);
    if (request.floats)
      addBackward(request, request.floats);
    done = 1;
    delete &request;
    return 0;
  }

  template <typename T>
  void addBackward(const Request &request, T *sums) {
    const size_t count = request.values.size() / ranks / sizeof(T);
    const T *values = reinterpret_cast<const T *>(request.values.data());
    for (size_t i = 0; i < count; ++i) {
      sums[i] = values[(ranks - 1) * count + i];
      for (int rank = ranks - 1; rank-- > 0;)
        sums[i] += values[rank * count + i];
    }
  }

  int allReduce(End &end, const void *values, void *sums, size_t count, bool isDouble,
                void **request) {
    const size_t bytes = count * (isDouble ? sizeof(double) : sizeof(float));
    std::vector<char> all(ranks * bytes);
    auto *own = static_cast<const char *>(values);
    std::copy(own, own + bytes, all.begin() + end.rank * bytes);
    std::vector<mpt_rt_message> send(ranks, {const_cast<char *>(own), bytes}), receive;
    for (int i = 0; i < ranks; ++i)
      receive.push_back({all.data() + i * bytes, bytes});
    ++reductions;
    if (post(end, send.data(), receive.data(), request))
      return 1;
    auto &made = *static_cast<Request *>(*request);
    made.values = std::move(all);
    if (isDouble)
      made.doubles = static_cast<double *>(sums);
    else
      made.floats = static_cast<float *>(sums);
    return 0;
  }

  int ranks;
  std::mutex mutex;
  /// Messages from rank i to rank j at i * ranks + j.
  std::vector<std::deque<Message>> boxes;
  std::vector<End> ends;
};

} // namespace mpt::rt

#endif // MPT_UNITTESTS_RUNTIME_THREADTRANSPORT_H
