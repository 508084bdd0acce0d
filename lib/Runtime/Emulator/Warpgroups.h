//===- Warpgroups.h - Asynchronous instructions of sm_90a ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a block's copies of tiles, barriers in shared memory and matmuls of warpgroups
/// do. Everything happens as late as it may: a copy when a thread waits for its barrier
/// and nothing else can go on, a matmul when its group is waited for. Until then the
/// copy's place holds NaNs, and a matmul's sums are NaNs that name it. So what is not
/// waited for, or overwritten too early, shows in the results.
///
/// What does not show: operands A in registers are copied when a matmul starts, so that
/// they may be overwritten before it is waited for. setmaxnreg and fence.proxy do
/// nothing. Of wgmma.fence it is only known that one has run since the last group of
/// matmuls, not which registers and writes it came after.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_EMULATOR_WARPGROUPS_H
#define MPT_LIB_RUNTIME_EMULATOR_WARPGROUPS_H

#include "mpt/Runtime/Emulator/Emulation.h"

#include <array>
#include <deque>
#include <map>

namespace mpt::rt {

class Warpgroups {
public:
  static constexpr int kWarp = 32;

  /// Starts a block of `threads` threads and so much dynamic shared memory.
  void begin(int64_t threads, int64_t sharedBytes);
  /// What is wrong at its end, or "".
  std::string end();
  /// The first breach of a rule so far, or "".
  const std::string &getFault() const { return fault; }

  void *shared();
  void initBarrier(int32_t barrier, int32_t count);
  void fenceBarriers();
  void arrive(int32_t barrier, int32_t bytes);
  void startTile(int32_t to, const void *map, const int32_t *at, int32_t barrier);
  /// Whether the phase with this parity has ended.
  bool isOver(int32_t barrier, int32_t parity);
  /// Does the copies that arrive at `barrier`; whether there were any.
  bool deliver(int32_t barrier);

  /// What a thread says of a matmul.
  struct Operands {
    const mpt_simt_multiply *what = nullptr;
    const int32_t *a = nullptr;
    float *sums = nullptr;
  };
  void multiply(size_t warp, const std::array<Operands, kWarp> &lanes);
  void fence(size_t warp) { warps[warp].isFenced = true; }
  void endGroup(size_t warp) {
    warps[warp].groups.emplace_back();
    warps[warp].isFenced = false;
  }
  /// Does all groups but the last `groups`.
  void finish(size_t warp, int32_t groups);
  float take(size_t warp, size_t lane, float sum) const;

private:
  struct Barrier {
    int32_t count = 0, missing = 0;
    int64_t bytes = 0, phase = 0;
    bool isFenced = false;
  };
  struct Tile {
    int32_t to = 0, barrier = 0;
    mpt_simt_tensor_map map;
    std::array<int32_t, 5> at{};
  };
  /// A matmul that was started.
  struct Multiply {
    mpt_simt_multiply what;
    int32_t a[kWarp][4] = {};
    uint32_t sums = 0;
  };
  /// Of a thread's sums: what they are, and how many matmuls are still to be added.
  struct Sums {
    std::vector<std::array<float, kWarp>> values;
    int pending = 0;
  };
  struct Warp {
    std::deque<std::vector<Multiply>> groups;
    std::map<uint32_t, Sums> sums;
    uint32_t next = 0;
    bool isFenced = false;
    /// Of all that its warpgroup must do alike.
    uint64_t trace = 0;
  };

  void fail(const std::string &what) {
    if (fault.empty())
      fault = what;
  }
  /// The place of `bytes` in shared memory; null, with a fault, outside of it.
  char *find(int64_t address, int64_t bytes);
  Barrier *findBarrier(int32_t address);
  void endPhase(Barrier &barrier);
  void copy(const Tile &tile);
  void run(size_t number, Warp &warp, const Multiply &multiply);
  /// The bits of an element of a matrix in shared memory.
  uint16_t elementOf(uint64_t matrix, bool isTransposed, int row, int k);

  std::string fault;
  int64_t sharedBytes = 0;
  bool usesShared = false;
  std::map<int32_t, Barrier> barriers;
  std::vector<Tile> tiles;
  std::vector<Warp> warps;
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_EMULATOR_WARPGROUPS_H
