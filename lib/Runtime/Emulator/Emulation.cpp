//===- Emulation.cpp - Device kernels run by the CPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A thread of a block runs on a stack of its own until it meets a shuffle or a
/// barrier or returns; when all threads that have to meet have come, they go on. One
/// that returns leaves its stack to the warp's next, so that threads that wait for
/// nobody share one.
///
//===----------------------------------------------------------------------===//

#include "mpt/Runtime/Emulator/Emulation.h"
#include "../CPU/Convert.h"
#include "Fiber.h"
#include "Warpgroups.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

using namespace mpt::rt;

namespace {

constexpr int64_t kWarp = 32;

enum class Wait : uint8_t {
  None,
  Beginning,
  Shuffle,
  Ballot,
  LoadMatrices,
  Multiply,
  WarpBarrier,
  MultiplyAsync,
  /// For others: a phase of a barrier, matmuls, or all threads of the block.
  Phase,
  Multiplies,
  BlockBarrier,
  Done
};

/// What cp.async is to copy.
struct Copy {
  void *to = nullptr;
  const void *from = nullptr;
  int32_t bytes = 0;
};

struct Thread {
  /// What it runs on, from its beginning to its end.
  Fiber *fiber = nullptr;
  Wait waits = Wait::Beginning;
  int32_t word = 0, distance = 0;
  /// Of matrices: a row, and the words of a fragment; or a matmul's operands.
  const void *row = nullptr;
  const int32_t *operands = nullptr;
  int32_t *words = nullptr;
  float *sums = nullptr;
  bool flag = false;
  const mpt_simt_multiply *what = nullptr;
  /// Groups of copies, of which the last one has not ended.
  std::deque<std::vector<Copy>> copies;
};

/// The launch in progress; one at a time.
struct Launch {
  const mpt_simt_kernel *kernel = nullptr;
  void **arguments = nullptr;
  int32_t blockX = 0, blockY = 0;
  std::vector<Thread> threads;
  size_t current = 0;
  FiberOwner scheduler;
  bool hasCopiesAstray = false;
  Warpgroups warpgroups;

  size_t warp() const { return current / kWarp; }
  Thread &thread() { return threads[current]; }
  void wait(Wait what) {
    thread().waits = what;
    thread().fiber->suspend(scheduler);
  }
};

Launch *launch = nullptr;
std::mutex launchMutex;
/// Made once, for all launches: a stack's pages are dear to get.
std::vector<std::unique_ptr<Fiber>> fibers;
/// Those that run no thread.
std::vector<Fiber *> idleFibers;

/// Runs one thread after another, for ever.
void runFiber() {
  while (true) {
    Fiber *fiber = launch->thread().fiber;
    launch->kernel->run(launch->arguments);
    Thread &thread = launch->thread();
    thread.waits = Wait::Done;
    launch->hasCopiesAstray |=
        std::any_of(thread.copies.begin(), thread.copies.end(),
                    [](const auto &group) { return !group.empty(); });
    thread.copies.clear();
    size_t next = launch->current + 1;
    if (next % kWarp != 0 && next < launch->threads.size() &&
        launch->threads[next].waits == Wait::Beginning) {
      launch->current = next;
      launch->thread().fiber = fiber;
      continue;
    }
    idleFibers.push_back(fiber);
    fiber->suspend(launch->scheduler);
  }
}

/// Goes on with thread `i` until it waits or is done.
void resumeThread(size_t i) {
  launch->current = i;
  Thread &thread = launch->thread();
  if (thread.waits == Wait::Beginning) {
    if (idleFibers.empty())
      idleFibers.push_back(fibers.emplace_back(std::make_unique<Fiber>(runFiber)).get());
    thread.fiber = idleFibers.back();
    idleFibers.pop_back();
  }
  thread.fiber->resume(launch->scheduler);
}

const mpt_simt_ops emulatorOps = {
    [] { return static_cast<int32_t>(launch->current); },
    [] { return launch->blockX; },
    [] { return launch->blockY; },
    [](int32_t word, int32_t distance) {
      launch->thread().word = word;
      launch->thread().distance = distance;
      launch->wait(Wait::Shuffle);
      return launch->thread().word;
    },
    [] { launch->wait(Wait::BlockBarrier); },
    [] { launch->wait(Wait::WarpBarrier); },
    [](int32_t condition) {
      launch->thread().word = condition;
      launch->wait(Wait::Ballot);
      return launch->thread().word;
    },
    [](const void *row, int32_t isTransposed, int32_t *words) {
      Thread &thread = launch->thread();
      thread.row = row;
      thread.flag = isTransposed;
      thread.words = words;
      launch->wait(Wait::LoadMatrices);
    },
    [](const int32_t *operands, int32_t isBF16, float *sums) {
      Thread &thread = launch->thread();
      thread.operands = operands;
      thread.flag = isBF16;
      thread.sums = sums;
      launch->wait(Wait::Multiply);
    },
    [](void *to, const void *from, int32_t bytes) {
      constexpr int kBytes = 16;
      launch->hasCopiesAstray |= reinterpret_cast<uintptr_t>(to) % kBytes != 0 ||
                                 reinterpret_cast<uintptr_t>(from) % kBytes != 0 ||
                                 bytes < 0 || bytes > kBytes;
      // Who reads it too early, or still reads what it takes the place of, gets NaNs.
      std::memset(to, 0xff, kBytes);
      auto &copies = launch->thread().copies;
      if (copies.empty())
        copies.emplace_back();
      copies.back().push_back({to, from, bytes});
    },
    [] { launch->thread().copies.emplace_back(); },
    [](int32_t groups) {
      auto &copies = launch->thread().copies;
      // One more that has not ended.
      while (copies.size() > static_cast<size_t>(groups) + 1) {
        for (const Copy &copy : copies.front()) {
          char bytes[16] = {};
          std::memcpy(bytes, copy.from, static_cast<size_t>(copy.bytes));
          std::memcpy(copy.to, bytes, sizeof(bytes));
        }
        copies.pop_front();
      }
    },
    [] { return launch->warpgroups.shared(); },
    [](int32_t barrier, int32_t count) {
      launch->warpgroups.initBarrier(barrier, count);
    },
    [] { launch->warpgroups.fenceBarriers(); },
    [](int32_t barrier, int32_t bytes) { launch->warpgroups.arrive(barrier, bytes); },
    [](int32_t barrier, int32_t parity) {
      launch->thread().word = barrier;
      launch->thread().distance = parity;
      launch->wait(Wait::Phase);
    },
    [](int32_t to, const void *map, const int32_t *at, int32_t barrier) {
      launch->warpgroups.startTile(to, map, at, barrier);
    },
    [](const mpt_simt_multiply *what, const int32_t *a, float *sums) {
      Thread &thread = launch->thread();
      thread.what = what;
      thread.operands = a;
      thread.sums = sums;
      launch->wait(Wait::MultiplyAsync);
    },
    [] { launch->warpgroups.fence(launch->warp()); },
    [] {
      // Once for the warp.
      if (launch->current % kWarp == 0)
        launch->warpgroups.endGroup(launch->warp());
    },
    [](int32_t groups) {
      launch->thread().word = groups;
      launch->wait(Wait::Multiplies);
    },
    [](float sum) {
      return launch->warpgroups.take(launch->warp(), launch->current % kWarp, sum);
    },
};

/// ldmatrix.x4 of 8 x 8 matrices of 16 bits: thread i has elements 2 (i % 4) and the
/// next of row i / 4, or, transposed, of column i / 4.
void loadMatrices(Thread *warp) {
  for (int i = 0; i < kWarp; ++i)
    for (int matrix = 0; matrix < 4; ++matrix) {
      uint32_t word = 0;
      for (int half : {0, 1}) {
        int row = i / 4, column = i % 4 * 2 + half;
        if (warp[i].flag)
          std::swap(row, column);
        auto *elements = static_cast<const uint16_t *>(warp[matrix * 8 + row].row);
        word |= static_cast<uint32_t>(elements[column]) << (16 * half);
      }
      warp[i].words[matrix] = static_cast<int32_t>(word);
    }
}

/// mma.m16n8k16, sums of exact products from left to right.
void multiplyMatrices(Thread *warp) {
  uint16_t bitsOfA[16][16], bitsOfB[16][8];
  float a[16][16], b[16][8], sums[16][8];
  auto elementOf = [](int32_t word, int half) {
    return static_cast<uint16_t>(static_cast<uint32_t>(word) >> (16 * half));
  };
  for (int i = 0; i < kWarp; ++i) {
    int group = i / 4, place = i % 4 * 2;
    for (int half : {0, 1}) {
      for (int word = 0; word < 4; ++word)
        bitsOfA[group + word % 2 * 8][place + half + word / 2 * 8] =
            elementOf(warp[i].operands[word], half);
      for (int word = 0; word < 2; ++word)
        bitsOfB[place + half + word * 8][group] =
            elementOf(warp[i].operands[4 + word], half);
      for (int row : {0, 1})
        sums[group + row * 8][place + half] = warp[i].sums[row * 2 + half];
    }
  }
  // All threads run one instruction.
  const DataType type = warp[0].flag ? DataType::BF16 : DataType::F16;
  widen(type, bitsOfA, 0, &a[0][0], 16 * 16);
  widen(type, bitsOfB, 0, &b[0][0], 16 * 8);
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k)
      for (int j = 0; j < 8; ++j)
        sums[i][j] += a[i][k] * b[k][j];
  for (int i = 0; i < kWarp; ++i)
    for (int word = 0; word < 4; ++word)
      warp[i].sums[word] = sums[i / 4 + word / 2 * 8][i % 4 * 2 + word % 2];
}

/// Lets the threads [begin, end) go on from `what`, which all of them wait for.
void release(size_t begin, size_t end, Wait what) {
  std::vector<Thread> &threads = launch->threads;
  if (what == Wait::Shuffle) {
    int32_t words[kWarp];
    for (size_t i = begin; i < end; ++i)
      words[i - begin] = threads[i].word;
    for (size_t i = begin; i < end; ++i) {
      size_t source = (i - begin) ^ static_cast<size_t>(threads[i].distance);
      // The GPU gives a thread its own word where there is no other.
      if (source < end - begin)
        threads[i].word = words[source];
    }
  }
  if (what == Wait::LoadMatrices && end - begin == kWarp)
    loadMatrices(&threads[begin]);
  if (what == Wait::Multiply && end - begin == kWarp)
    multiplyMatrices(&threads[begin]);
  if (what == Wait::MultiplyAsync && end - begin == kWarp) {
    std::array<Warpgroups::Operands, kWarp> lanes;
    for (size_t i = 0; i < kWarp; ++i)
      lanes[i] = {threads[begin + i].what, threads[begin + i].operands,
                  threads[begin + i].sums};
    launch->warpgroups.multiply(begin / kWarp, lanes);
  }
  if (what == Wait::Multiplies)
    launch->warpgroups.finish(begin / kWarp, threads[begin].word);
  if (what == Wait::Ballot) {
    uint32_t ballot = 0;
    for (size_t i = begin; i < end; ++i)
      ballot |= static_cast<uint32_t>(threads[i].word != 0) << (i - begin);
    for (size_t i = begin; i < end; ++i)
      threads[i].word = static_cast<int32_t>(ballot);
  }
  for (size_t i = begin; i < end; ++i)
    threads[i].waits = Wait::None;
}

/// Whether all threads of the warp from `begin` on wait for one phase that has ended.
bool isPhaseOver(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i)
    if (!launch->warpgroups.isOver(launch->threads[i].word, launch->threads[i].distance))
      return false;
  return true;
}

/// When no thread can go on: lets copies arrive, and otherwise does the matmuls that a
/// warp waits for. Whether something happened.
bool finishLate() {
  std::vector<Thread> &threads = launch->threads;
  bool arrived = false;
  for (const Thread &thread : threads)
    if (thread.waits == Wait::Phase)
      arrived |= launch->warpgroups.deliver(thread.word);
  if (arrived)
    return true;
  for (size_t begin = 0; begin < threads.size(); begin += kWarp)
    if (threads[begin].waits == Wait::Multiplies) {
      release(begin, std::min(begin + kWarp, threads.size()), Wait::Multiplies);
      return true;
    }
  return false;
}

bool runBlock(std::string &error) {
  std::vector<Thread> &threads = launch->threads;
  for (Thread &thread : threads)
    thread.waits = Wait::Beginning;
  while (true) {
    size_t done = 0, waiting = 0;
    bool moved = false;
    for (size_t begin = 0; begin < threads.size(); begin += kWarp) {
      size_t end = std::min(begin + kWarp, threads.size());
      // A warp goes on until it is done or waits for others.
      while (true) {
        for (size_t i = begin; i < end; ++i)
          if (threads[i].waits == Wait::None || threads[i].waits == Wait::Beginning) {
            resumeThread(i);
            moved = true;
          }
        Wait first = threads[begin].waits;
        for (size_t i = begin; i < end; ++i)
          if (threads[i].waits != first) {
            error = std::string("kernel ") + launch->kernel->name + ": threads " +
                    std::to_string(begin) + " and " + std::to_string(i) +
                    " of a warp wait for different things";
            return false;
          }
        if (const std::string &fault = launch->warpgroups.getFault(); !fault.empty()) {
          error = std::string("kernel ") + launch->kernel->name + ": " + fault;
          return false;
        }
        if (first == Wait::BlockBarrier || first == Wait::Done ||
            first == Wait::Multiplies)
          break;
        if (first == Wait::Phase && !isPhaseOver(begin, end))
          break;
        release(begin, end, first);
      }
      Wait first = threads[begin].waits;
      done += first == Wait::Done ? end - begin : 0;
      waiting += first == Wait::Phase || first == Wait::Multiplies;
    }
    if (done == threads.size()) {
      std::string wrong = launch->warpgroups.end();
      if (!wrong.empty())
        error = std::string("kernel ") + launch->kernel->name + ": " + wrong;
      return wrong.empty();
    }
    if (waiting > 0) {
      if (moved || finishLate())
        continue;
      error = std::string("kernel ") + launch->kernel->name +
              ": a warp waits for a barrier's phase that does not end";
      return false;
    }
    if (done != 0 || !moved) {
      error = std::string("kernel ") + launch->kernel->name +
              ": some threads have left while others wait at a barrier";
      return false;
    }
    release(0, threads.size(), Wait::BlockBarrier);
  }
}

} // namespace

std::vector<std::pair<int64_t, int64_t>> mpt::rt::getWindows(int64_t count,
                                                             int64_t parts) {
  const int64_t width = parts > 0 ? (count + parts - 1) / parts : count;
  if (count <= 4 * width)
    return {{0, count}};
  const int64_t middle = count / 2 - width / 2;
  return {{0, width}, {middle, middle + width}, {count - width, count}};
}

bool mpt::rt::runEmulated(const mpt_simt_module &module, const mpt_simt_kernel &kernel,
                          int64_t blocksX, int64_t blocksY, int64_t threads,
                          void **arguments, std::string &error, int64_t parts,
                          int64_t shared) {
  if (blocksX < 1 || blocksY < 1 || threads < 1 || threads > 1024) {
    error = std::string("kernel ") + kernel.name + ": a launch of " +
            std::to_string(blocksX) + " x " + std::to_string(blocksY) + " blocks of " +
            std::to_string(threads) + " threads";
    return false;
  }
  std::lock_guard<std::mutex> lock(launchMutex);
  Launch present;
  present.kernel = &kernel;
  present.arguments = arguments;
  present.threads.resize(threads);
  launch = &present;
  *module.ops = &emulatorOps;
  bool ok = true;
  for (int64_t y = 0; ok && y < blocksY; ++y)
    for (auto [begin, end] : getWindows(blocksX, parts))
      for (int64_t x = begin; ok && x < end; ++x) {
        present.blockX = static_cast<int32_t>(x);
        present.blockY = static_cast<int32_t>(y);
        present.warpgroups.begin(threads, shared);
        ok = runBlock(error);
        if (ok && present.hasCopiesAstray) {
          ok = false;
          error = std::string("kernel ") + kernel.name +
                  ": a copy to shared memory is not waited for, or not of 16 bytes";
        }
      }
  launch = nullptr;
  // Threads that others have left do not go on.
  if (!ok) {
    idleFibers.clear();
    fibers.clear();
  }
  return ok;
}
