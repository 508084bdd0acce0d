//===- Warpgroups.cpp - Asynchronous instructions of sm_90a ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warpgroups.h"
#include "../CPU/Convert.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace mpt::rt;

/// Of shared addresses, which a matrix's number has 18 bits of.
static constexpr int64_t kWindow = 1 << 18;
/// Where dynamic shared memory begins: no kernel may count on more than 16 bytes.
static constexpr int64_t kBegin = 1024 + 16;

/// Shared memory of the block that runs, at a multiple of its size.
static char *getWindow() {
  static char *window = static_cast<char *>(std::aligned_alloc(kWindow, kWindow));
  return window;
}

void Warpgroups::begin(int64_t threads, int64_t bytes) {
  sharedBytes = bytes;
  usesShared = false;
  fault.clear();
  barriers.clear();
  tiles.clear();
  warps.assign((threads + kWarp - 1) / kWarp, {});
}

std::string Warpgroups::end() {
  if (!fault.empty())
    return fault;
  if (!tiles.empty())
    return "a tile's copy is not waited for";
  for (size_t i = 0; i < warps.size(); ++i) {
    for (const auto &group : warps[i].groups)
      if (!group.empty())
        return "a matmul is not waited for";
    if (warps[i].trace != warps[i / 4 * 4].trace)
      return "the warps of a warpgroup do different matmuls";
  }
  for (const auto &[address, barrier] : barriers)
    if (barrier.bytes != 0)
      return "a barrier has not got the bytes that were announced";
  return "";
}

void *Warpgroups::shared() {
  if (!usesShared) {
    std::memset(getWindow(), 0xff, kWindow);
    usesShared = true;
  }
  return getWindow() + kBegin;
}

char *Warpgroups::find(int64_t address, int64_t bytes) {
  const int64_t offset = address & (kWindow - 1);
  if (offset < kBegin || offset + bytes > kBegin + sharedBytes) {
    fail("an access outside of shared memory");
    return nullptr;
  }
  return getWindow() + offset;
}

//===----------------------------------------------------------------------===//
// Barriers and copies
//===----------------------------------------------------------------------===//

void Warpgroups::initBarrier(int32_t address, int32_t count) {
  if (address % 8 != 0 || count < 1 || !find(address, 8))
    return fail("a barrier of no threads, or that is not at a multiple of 8 bytes");
  barriers[address] = {count, count, 0, 0, false};
}

void Warpgroups::fenceBarriers() {
  for (auto &[address, barrier] : barriers)
    barrier.isFenced = true;
}

Warpgroups::Barrier *Warpgroups::findBarrier(int32_t address) {
  auto found = barriers.find(address);
  if (found != barriers.end())
    return &found->second;
  fail("a barrier that was not made");
  return nullptr;
}

void Warpgroups::endPhase(Barrier &barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.missing = barrier.count;
}

void Warpgroups::arrive(int32_t address, int32_t bytes) {
  Barrier *barrier = findBarrier(address);
  if (!barrier)
    return;
  if (barrier->missing == 0)
    return fail("more threads arrive at a barrier than it waits for");
  --barrier->missing;
  barrier->bytes += bytes;
  endPhase(*barrier);
}

bool Warpgroups::isOver(int32_t address, int32_t parity) {
  Barrier *barrier = findBarrier(address);
  if (parity != 0 && parity != 1)
    fail("a parity that is neither 0 nor 1");
  return barrier && barrier->phase % 2 != parity;
}

static int64_t countBytes(const mpt_simt_tensor_map &map) {
  int64_t bytes = map.element_bytes;
  for (int i = 0; i < map.rank; ++i)
    bytes *= map.box[i];
  return bytes;
}

void Warpgroups::startTile(int32_t to, const void *map, const int32_t *at,
                           int32_t address) {
  Tile tile;
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
    return fail("a tensor map that is not at a multiple of 64 bytes");
  std::memcpy(&tile.map, map, sizeof(tile.map));
  if (tile.map.magic != mpt_simt_tensor_map::kMagic)
    return fail("a tensor map that cuTensorMapEncodeTiled has not made");
  if (tile.map.rank != 4)
    return fail("a tensor map of another rank than 4");
  Barrier *barrier = findBarrier(address);
  if (barrier && !barrier->isFenced)
    return fail("copies do not see a barrier: a fence is missing");
  if (to % 128 != 0)
    return fail("a tile that is not at a multiple of 128 bytes");
  char *place = find(to, countBytes(tile.map));
  if (!barrier || !place)
    return;
  // Who reads it too early, or still reads what it takes the place of, gets NaNs.
  std::memset(place, 0xff, countBytes(tile.map));
  tile.to = to;
  tile.barrier = address;
  std::copy(at, at + tile.map.rank, tile.at.begin());
  tiles.push_back(tile);
}

/// The address that shared memory has a byte at: bits that count rows of 128 bytes change
/// those that count pieces of 16 (PTX ISA, "Swizzling Modes").
static int64_t swizzle(int64_t address, int64_t width) {
  const int64_t pieces = width / 16 - 1;
  return width < 32 ? address : address ^ ((address >> 7 & pieces) << 4);
}

void Warpgroups::copy(const Tile &tile) {
  const mpt_simt_tensor_map &map = tile.map;
  const int64_t bytes = map.element_bytes, all = countBytes(map) / bytes;
  for (int64_t i = 0; i < all; ++i) {
    int64_t rest = i;
    const char *from = static_cast<const char *>(map.address);
    bool isInside = true;
    for (int d = 0; d < map.rank; ++d) {
      const int64_t place = tile.at[d] + rest % map.box[d];
      rest /= map.box[d];
      isInside &= place >= 0 && place < map.sizes[d];
      from += place * (d == 0 ? bytes : map.strides[d - 1]);
    }
    char *to =
        getWindow() + (swizzle(tile.to + i * bytes, map.swizzle_bytes) & (kWindow - 1));
    if (isInside)
      std::memcpy(to, from, bytes);
    else
      std::memset(to, 0, bytes);
  }
}

bool Warpgroups::deliver(int32_t address) {
  bool any = false;
  for (size_t i = 0; i < tiles.size();) {
    if (tiles[i].barrier != address) {
      ++i;
      continue;
    }
    copy(tiles[i]);
    Barrier &barrier = barriers[address];
    barrier.bytes -= countBytes(tiles[i].map);
    endPhase(barrier);
    tiles.erase(tiles.begin() + i);
    any = true;
  }
  return any;
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

/// A NaN that names number `number` of the sums `sums`.
static float makeName(uint32_t sums, size_t number) {
  const uint32_t bits = 0x7fc00000 | sums << 7 | static_cast<uint32_t>(number);
  float name;
  std::memcpy(&name, &bits, sizeof(name));
  return name;
}

/// The sums that `name` names; 0 if it is another number.
static uint32_t readName(float name, size_t &number) {
  uint32_t bits;
  std::memcpy(&bits, &name, sizeof(bits));
  number = bits & 0x7f;
  return (bits & 0xffc00000) == 0x7fc00000 ? bits >> 7 & 0x7fff : 0;
}

void Warpgroups::multiply(size_t number, const std::array<Operands, kWarp> &lanes) {
  Warp &warp = warps[number];
  Multiply made;
  made.what = *lanes[0].what;
  const auto count = static_cast<size_t>(made.what.columns / 2);
  for (int lane = 0; lane < kWarp; ++lane) {
    const mpt_simt_multiply &what = *lanes[lane].what;
    if (what.matrix_a != made.what.matrix_a || what.matrix_b != made.what.matrix_b)
      return fail("threads of a warp multiply different matrices");
    if (made.what.is_a_in_registers)
      std::copy_n(lanes[lane].a, 4, made.a[lane]);
  }
  // Sums that an earlier matmul has not finished stay in their place.
  size_t place = 0;
  uint32_t id = made.what.adds ? readName(lanes[0].sums[0], place) : 0;
  auto found = warp.sums.find(id);
  if (id == 0 || place != 0 || found == warp.sums.end() || found->second.pending == 0) {
    if (!warp.isFenced)
      return fail("a matmul uses registers that threads have used: a fence is missing");
    warp.next = warp.next % 0x7fff + 1;
    id = warp.next;
    Sums sums;
    sums.values.resize(count);
    for (size_t i = 0; i < count; ++i)
      for (int lane = 0; lane < kWarp; ++lane)
        sums.values[i][lane] = made.what.adds ? lanes[lane].sums[i] : 0;
    warp.sums[id] = std::move(sums);
    if (warp.sums.size() > 64)
      for (auto old = warp.sums.begin(); old != warp.sums.end();)
        old = old->second.pending == 0 && old->first != id &&
                      (id - old->first) % 0x8000 > 64
                  ? warp.sums.erase(old)
                  : std::next(old);
  } else {
    for (size_t i = 0; i < count; ++i)
      for (int lane = 0; lane < kWarp; ++lane) {
        size_t other;
        if (readName(lanes[lane].sums[i], other) != id || other != i)
          return fail("a matmul adds to sums of another one that are not finished");
      }
  }
  ++warp.sums[id].pending;
  made.sums = id;
  for (int lane = 0; lane < kWarp; ++lane)
    for (size_t i = 0; i < count; ++i)
      lanes[lane].sums[i] = makeName(id, i);
  for (uint64_t part : {static_cast<uint64_t>(made.what.matrix_a),
                        static_cast<uint64_t>(made.what.matrix_b),
                        static_cast<uint64_t>(made.what.columns)})
    warp.trace = (warp.trace ^ part) * 0x100000001b3 + 1;
  if (warp.groups.empty())
    warp.groups.emplace_back();
  warp.groups.back().push_back(made);
}

void Warpgroups::finish(size_t number, int32_t groups) {
  Warp &warp = warps[number];
  // One more that has not ended.
  while (warp.groups.size() > static_cast<size_t>(groups) + 1) {
    for (const Multiply &multiply : warp.groups.front())
      run(number, warp, multiply);
    warp.groups.pop_front();
  }
  warp.isFenced = false;
}

float Warpgroups::take(size_t number, size_t lane, float sum) const {
  size_t place = 0;
  const auto &known = warps[number].sums;
  auto found = known.find(readName(sum, place));
  if (found == known.end() || found->second.pending != 0 ||
      place >= found->second.values.size())
    return sum;
  return found->second.values[place][lane];
}

uint16_t Warpgroups::elementOf(uint64_t matrix, bool isTransposed, int row, int k) {
  // PTX ISA, "Matrix Descriptor Format" and "Canonical Layouts" of wgmma.
  const auto start = static_cast<int64_t>(matrix & 0x3fff) << 4;
  const auto leading = static_cast<int64_t>(matrix >> 16 & 0x3fff) << 4;
  const auto stride = static_cast<int64_t>(matrix >> 32 & 0x3fff) << 4;
  constexpr int64_t widths[] = {16, 128, 64, 32};
  const int64_t width = widths[matrix >> 62];
  if ((matrix & 0x3fffc000c000c000) != 0)
    fail("a matrix's number has bits that must be 0");
  int64_t offset = 0;
  if (!isTransposed) {
    offset = row / 8 * stride + row % 8 * width;
    offset += width == 16 ? k / 8 * leading + k % 8 * 2 : k * 2;
  } else if (width == 16) {
    offset = row / 8 * stride + row % 8 * 2 + k / 8 * leading + k % 8 * width;
  } else {
    offset = row * 2 / width * leading + row * 2 % width + k / 8 * stride + k % 8 * width;
  }
  uint16_t element = 0;
  if (const char *place = find(swizzle(start + offset, width), 2))
    std::memcpy(&element, place, sizeof(element));
  return element;
}

void Warpgroups::run(size_t number, Warp &warp, const Multiply &multiply) {
  const mpt_simt_multiply &what = multiply.what;
  Sums &sums = warp.sums[multiply.sums];
  --sums.pending;
  constexpr size_t kRows = 16, kTerms = 16;
  const auto columns = static_cast<size_t>(what.columns);
  uint16_t bitsOfA[kRows * kTerms];
  // A row for each term.
  std::vector<uint16_t> bitsOfB(kTerms * columns);
  for (int row = 0; row < static_cast<int>(kRows); ++row)
    for (int k = 0; k < static_cast<int>(kTerms); ++k) {
      uint16_t &element = bitsOfA[row * kTerms + k];
      if (!what.is_a_in_registers) {
        element = elementOf(static_cast<uint64_t>(what.matrix_a), what.transposes_a != 0,
                            static_cast<int>(number % 4) * kRows + row, k);
        continue;
      }
      // As those of mma.m16n8k16.
      const int lane = row % 8 * 4 + k % 8 / 2, word = row / 8 + k / 8 * 2;
      element = static_cast<uint16_t>(static_cast<uint32_t>(multiply.a[lane][word]) >>
                                      (k % 2 * 16));
    }
  for (size_t column = 0; column < columns; ++column)
    for (int k = 0; k < static_cast<int>(kTerms); ++k)
      bitsOfB[k * columns + column] =
          elementOf(static_cast<uint64_t>(what.matrix_b), what.transposes_b != 0,
                    static_cast<int>(column), k);
  const DataType type = what.is_bf16 != 0 ? DataType::BF16 : DataType::F16;
  float a[kRows * kTerms];
  std::vector<float> b(bitsOfB.size()), all(kRows * columns);
  widen(type, bitsOfA, 0, a, kRows * kTerms);
  widen(type, bitsOfB.data(), 0, b.data(), static_cast<int64_t>(b.size()));
  // The sum that number `i` of a thread is.
  auto placeOf = [&](size_t i, size_t lane) {
    const size_t row = lane / 4 + i % 4 / 2 * 8;
    return row * columns + i / 4 * 8 + lane % 4 * 2 + i % 2;
  };
  for (size_t i = 0; i < sums.values.size(); ++i)
    for (size_t lane = 0; lane < kWarp; ++lane)
      all[placeOf(i, lane)] = sums.values[i][lane];
  for (size_t row = 0; row < kRows; ++row)
    for (size_t k = 0; k < kTerms; ++k)
      for (size_t column = 0; column < columns; ++column)
        all[row * columns + column] += a[row * kTerms + k] * b[k * columns + column];
  for (size_t i = 0; i < sums.values.size(); ++i)
    for (size_t lane = 0; lane < kWarp; ++lane)
      sums.values[i][lane] = all[placeOf(i, lane)];
}
