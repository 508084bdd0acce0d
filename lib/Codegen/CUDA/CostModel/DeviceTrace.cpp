//===- DeviceTrace.cpp - What a launch of device code executes --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/DeviceTrace.h"
#include "PtxCode.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>

using namespace mpt;
using namespace mpt::detail;

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

static unsigned getBucket(double distance) {
  return distance < 1 ? 0 : std::min(255u, unsigned(4 * std::log2(distance)));
}
void ReuseDistances::add(uint64_t distance, double count) {
  bytes[getBucket(double(distance))] += count;
}
void ReuseDistances::add(const ReuseDistances &other, double weight) {
  for (auto [mine, theirs] : llvm::zip_equal(bytes, other.bytes))
    mine += weight * theirs;
}
double ReuseDistances::getBeyond(double distance) const {
  double sum = 0;
  for (unsigned i = getBucket(distance) + 1; i < bytes.size(); ++i)
    sum += bytes[i];
  return sum;
}

//===----------------------------------------------------------------------===//
// A warp
//===----------------------------------------------------------------------===//

namespace {

constexpr unsigned kLanes = 32;
constexpr uint64_t kSector = 32;
/// Loads that a thread has under way where ptxas has unrolled a loop (seen in the machine
/// code of column sums).
constexpr double kLoadsUnderWay = 14;

using Lanes = std::array<uint64_t, kLanes>;

uint64_t hash(uint64_t value) {
  // SplitMix64.
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}
uint64_t cut(uint64_t value, unsigned size) {
  return size >= 8 ? value : value & ((uint64_t(1) << (8 * size)) - 1);
}
int64_t extend(uint64_t value, unsigned size) {
  unsigned shift = 64 - 8 * std::min(size, 8u);
  return int64_t(value << shift) >> shift;
}

/// Sectors of one buffer that a warp accesses for the first time.
struct FirstAccesses {
  double all = 0, seenByOthers = 0, seenByNone = 0;
};

/// What all warps that are executed share.
struct GridState {
  const PtxModule &module;
  const PtxKernel &kernel;
  const TraceLaunch &launch;
  /// Iterations of a loop that ptxas runs at once.
  double unrolling = 1;
  /// Sectors that any warp has read or written.
  llvm::DenseSet<uint64_t> loaded, stored;
};

/// One warp with its registers; lanes that diverge meet again where their ways join.
class Warp {
public:
  Warp(GridState &grid, std::vector<uint8_t> &shared, uint64_t blockX, uint64_t blockY,
       unsigned number);

  bool isDone() const { return stack.empty(); }
  /// Runs up to a barrier, the end, or until `budget` is spent.
  void run(uint64_t &budget);

  LaunchTrace trace;
  std::vector<FirstAccesses> firstLoads, firstStores;

private:
  struct Path {
    unsigned at, join;
    uint32_t lanes;
  };
  struct Touch {
    uint64_t any = 0, store = 0;
  };

  void execute(const PtxInstruction &instruction, uint32_t lanes);
  void branch(const PtxInstruction &instruction, uint32_t lanes, uint32_t taken);
  void accessGlobal(const PtxInstruction &instruction, uint32_t lanes, unsigned bytes,
                    bool isStore);
  void accessShared(const PtxInstruction &instruction, uint32_t lanes, unsigned bytes);
  uint64_t loadByte(uint64_t address) const;
  uint64_t loadNumber(const PtxInstruction &instruction, uint64_t address) const;
  template <typename Body>
  void compute(const PtxInstruction &instruction, uint32_t lanes, Body body);

  GridState &grid;
  std::vector<uint8_t> &shared;
  std::vector<Lanes> registers;
  llvm::SmallVector<Path> stack;
  llvm::DenseMap<uint64_t, Touch> touched;
  /// Bytes that were accessed so far.
  uint64_t clock = kSector;
};

} // namespace

Warp::Warp(GridState &grid, std::vector<uint8_t> &shared, uint64_t blockX,
           uint64_t blockY, unsigned number)
    : grid(grid), shared(shared), registers(grid.kernel.numRegisters, Lanes{}) {
  for (auto [place, value] : grid.kernel.constants)
    registers[place].fill(value);
  for (const auto &[place, text] : grid.kernel.specials)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      llvm::StringRef name = text;
      uint64_t thread = number * kLanes + lane;
      registers[place][lane] = name == "%tid.x"       ? thread
                               : name == "%ctaid.x"   ? blockX
                               : name == "%ctaid.y"   ? blockY
                               : name == "%ntid.x"    ? grid.launch.threads
                               : name == "%nctaid.x"  ? grid.launch.blocks[0]
                               : name == "%nctaid.y"  ? grid.launch.blocks[1]
                               : name == "%laneid"    ? lane
                               : name.ends_with(".y") ? uint64_t(name.starts_with("%nt"))
                                                      : 0;
    }
  uint64_t threads = std::min<uint64_t>(grid.launch.threads - number * kLanes, kLanes);
  uint32_t lanes = threads >= kLanes ? ~uint32_t(0) : (uint32_t(1) << threads) - 1;
  stack.push_back({0, unsigned(grid.kernel.blocks.size()), lanes});
  firstLoads.resize(grid.launch.buffers.size() + 1);
  firstStores.resize(grid.launch.buffers.size() + 1);
}

template <typename Body>
void Warp::compute(const PtxInstruction &instruction, uint32_t lanes, Body body) {
  const auto &sources = instruction.sources;
  static const Lanes zeros = {};
  auto get = [&](unsigned i) -> const Lanes & {
    return i < sources.size() ? registers[sources[i]] : zeros;
  };
  // The result may be one of them: lanes do not mix.
  const Lanes &a = get(0), &b = get(1), &c = get(2);
  if (instruction.results.empty())
    return;
  Lanes &result = registers[instruction.results.front()];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (lanes >> lane & 1)
      result[lane] = cut(body(a[lane], b[lane], c[lane]), instruction.size);
}

uint64_t Warp::loadByte(uint64_t address) const {
  const std::string &constants = grid.module.constants;
  if (address >= kConstantBase && address - kConstantBase < constants.size())
    return uint8_t(constants[address - kConstantBase]);
  if (address >= kSharedBase && address - kSharedBase < shared.size())
    return shared[address - kSharedBase];
  return 0;
}

uint64_t Warp::loadNumber(const PtxInstruction &instruction, uint64_t address) const {
  bool isKnown = address >= kSharedBase;
  if (!isKnown)
    return grid.launch.bound && instruction.size >= 4 ? hash(address) % grid.launch.bound
                                                      : 0;
  uint64_t value = 0;
  for (unsigned byte = 0; byte < instruction.size; ++byte)
    value |= loadByte(address + byte) << (8 * byte);
  return value;
}

/// The number of the smallest buffer that the sector at `address` is part of, or how many
/// there are.
static unsigned findBuffer(llvm::ArrayRef<TraceBuffer> buffers, uint64_t address) {
  unsigned best = buffers.size();
  for (auto [i, buffer] : llvm::enumerate(buffers))
    if (address + kSector > buffer.address && address < buffer.address + buffer.bytes &&
        (best == buffers.size() || buffer.bytes < buffers[best].bytes))
      best = i;
  return best;
}

void Warp::accessGlobal(const PtxInstruction &instruction, uint32_t lanes, unsigned bytes,
                        bool isStore) {
  const Lanes &base = registers[instruction.sources.front()];
  llvm::SmallVector<uint64_t, 64> sectors;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    uint64_t address = base[lane] + instruction.offset;
    for (uint64_t sector = address / kSector; sector <= (address + bytes - 1) / kSector;
         ++sector)
      if (sectors.empty() || sectors.back() != sector)
        sectors.push_back(sector);
  }
  if (!llvm::is_sorted(sectors))
    llvm::sort(sectors);
  sectors.erase(llvm::unique(sectors), sectors.end());
  if (sectors.empty())
    return;
  if (isStore)
    trace.storeBytes += double(bytes) * llvm::popcount(lanes);
  else
    trace.loadBytes += double(sectors.size() * kSector);
  unsigned buffer = grid.launch.buffers.size();
  for (uint64_t sector : sectors) {
    Touch &touch = touched[sector];
    uint64_t before = isStore ? touch.store : touch.any;
    if (before) {
      (isStore ? trace.restores : trace.reloads).add(clock - before, kSector);
    } else {
      // Lanes access one buffer.
      if (buffer == grid.launch.buffers.size())
        buffer = findBuffer(grid.launch.buffers, sector * kSector);
      FirstAccesses &first = (isStore ? firstStores : firstLoads)[buffer];
      bool isNew = (isStore ? grid.stored : grid.loaded).insert(sector).second;
      first.all += kSector;
      (isNew ? first.seenByNone : first.seenByOthers) += kSector;
    }
    touch.any = clock;
    if (isStore)
      touch.store = clock;
    clock += kSector;
  }
}

void Warp::accessShared(const PtxInstruction &instruction, uint32_t lanes,
                        unsigned bytes) {
  // 32 banks of 4 bytes; lanes take turns so that each turn moves at most 128 bytes.
  const Lanes &base = registers[instruction.sources.front()];
  unsigned together = std::min(kLanes, 128 / std::max(bytes, 4u));
  for (unsigned begin = 0; begin < kLanes; begin += together) {
    std::array<llvm::SmallVector<uint64_t, 2>, 32> banks;
    size_t most = 0;
    for (unsigned lane = begin; lane < begin + together; ++lane) {
      if (!(lanes >> lane & 1))
        continue;
      uint64_t word = (base[lane] + instruction.offset) / 4;
      for (unsigned i = 0; i < std::max(1u, bytes / 4); ++i, ++word) {
        auto &bank = banks[word % 32];
        if (!llvm::is_contained(bank, word))
          bank.push_back(word);
        most = std::max(most, bank.size());
      }
    }
    trace.sharedWavefronts += double(most);
  }
}

void Warp::execute(const PtxInstruction &instruction, uint32_t lanes) {
  const auto &in = instruction;
  auto wide = [&](uint64_t value) {
    return in.fromSigned ? uint64_t(extend(value, in.from)) : cut(value, in.from);
  };
  switch (in.op) {
  case PtxOp::Nothing:
  case PtxOp::TileCopy:
  case PtxOp::Branch:
  case PtxOp::Return:
  case PtxOp::Barrier:
    return;
  case PtxOp::Float:
  case PtxOp::Multiply:
    for (int result : in.results)
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if (lanes >> lane & 1)
          registers[result][lane] = 0;
    return;
  case PtxOp::Move:
    return compute(in, lanes, [](uint64_t a, uint64_t, uint64_t) { return a; });
  case PtxOp::Pack: {
    Lanes packed = {};
    for (auto [i, source] : llvm::enumerate(in.sources))
      for (unsigned lane = 0; lane < kLanes; ++lane)
        packed[lane] |= cut(registers[source][lane], in.from) << (8 * in.from * i);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (lanes >> lane & 1)
        registers[in.results.front()][lane] = packed[lane];
    return;
  }
  case PtxOp::Unpack: {
    if (in.sources.empty())
      return;
    const Lanes packed = registers[in.sources.front()];
    for (auto [i, result] : llvm::enumerate(in.results))
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if (lanes >> lane & 1)
          registers[result][lane] = cut(packed[lane] >> (8 * in.from * i), in.from);
    return;
  }
  case PtxOp::Add:
    return compute(in, lanes, [](uint64_t a, uint64_t b, uint64_t) { return a + b; });
  case PtxOp::Sub:
    return compute(in, lanes, [](uint64_t a, uint64_t b, uint64_t) { return a - b; });
  case PtxOp::Mul:
    return compute(in, lanes,
                   [&](uint64_t a, uint64_t b, uint64_t) { return wide(a) * wide(b); });
  case PtxOp::Mad:
    return compute(in, lanes, [&](uint64_t a, uint64_t b, uint64_t c) {
      return wide(a) * wide(b) + c;
    });
  case PtxOp::MulHigh:
    return compute(in, lanes, [&](uint64_t a, uint64_t b, uint64_t) {
      __int128 product = in.isSigned ? __int128(int64_t(wide(a))) * int64_t(wide(b))
                                     : __int128((unsigned __int128)(wide(a)) * wide(b));
      return uint64_t((unsigned __int128)(product) >> (8 * in.size));
    });
  case PtxOp::Div:
  case PtxOp::Rem:
    return compute(in, lanes, [&](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
      a = wide(a), b = wide(b);
      if (b == 0)
        return 0;
      if (in.isSigned && int64_t(b) == -1)
        return in.op == PtxOp::Div ? 0 - a : 0;
      if (in.isSigned)
        return in.op == PtxOp::Div ? int64_t(a) / int64_t(b) : int64_t(a) % int64_t(b);
      return in.op == PtxOp::Div ? a / b : a % b;
    });
  case PtxOp::Min:
  case PtxOp::Max:
    return compute(in, lanes, [&](uint64_t a, uint64_t b, uint64_t) {
      bool isLess = in.isSigned ? int64_t(wide(a)) < int64_t(wide(b)) : wide(a) < wide(b);
      return isLess == (in.op == PtxOp::Min) ? a : b;
    });
  case PtxOp::Neg:
    return compute(in, lanes, [](uint64_t a, uint64_t, uint64_t) { return 0 - a; });
  case PtxOp::Abs:
    return compute(in, lanes, [&](uint64_t a, uint64_t, uint64_t) {
      return extend(a, in.size) < 0 ? 0 - a : a;
    });
  case PtxOp::And:
    return compute(in, lanes, [](uint64_t a, uint64_t b, uint64_t) { return a & b; });
  case PtxOp::Or:
    return compute(in, lanes, [](uint64_t a, uint64_t b, uint64_t) { return a | b; });
  case PtxOp::Xor:
    return compute(in, lanes, [](uint64_t a, uint64_t b, uint64_t) { return a ^ b; });
  case PtxOp::Not:
    // Of a predicate only the lowest bit counts.
    return compute(in, lanes, [&](uint64_t a, uint64_t, uint64_t) {
      return in.size == 1 ? uint64_t(!(a & 1)) : ~a;
    });
  case PtxOp::ShiftLeft:
    return compute(in, lanes, [&](uint64_t a, uint64_t b, uint64_t) {
      b = uint32_t(b);
      return b >= 8u * in.size ? 0 : a << b;
    });
  case PtxOp::ShiftRight:
    return compute(in, lanes, [&](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
      uint64_t last = 8u * in.size - 1;
      b = uint32_t(b);
      if (in.isSigned)
        return extend(a, in.size) >> std::min(b, last);
      return b > last ? 0 : cut(a, in.size) >> b;
    });
  case PtxOp::Extract:
    return compute(in, lanes, [&](uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
      uint64_t bits = 8u * in.size;
      b &= 255, c &= 255;
      if (b >= bits || c == 0)
        return 0;
      uint64_t value = cut(a, in.size) >> b;
      return c >= 64 ? value : value & ((uint64_t(1) << c) - 1);
    });
  case PtxOp::CountBits:
    return compute(in, lanes, [&](uint64_t a, uint64_t, uint64_t) {
      return uint64_t(llvm::popcount(cut(a, in.size)));
    });
  case PtxOp::LeadingZeros:
    return compute(in, lanes, [&](uint64_t a, uint64_t, uint64_t) {
      return uint64_t(llvm::countl_zero(cut(a, in.size)) - (64 - 8 * in.size));
    });
  case PtxOp::Compare:
    return compute(in, lanes, [&](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
      // Sizes are those of the operands.
      int64_t sa = extend(a, in.size), sb = extend(b, in.size);
      uint64_t ua = cut(a, in.size), ub = cut(b, in.size);
      bool less = in.isSigned ? sa < sb : ua < ub, equal = ua == ub;
      switch (in.comparison) {
      case 0:
        return equal;
      case 1:
        return !equal;
      case 2:
        return less;
      case 3:
        return less || equal;
      case 4:
        return !less && !equal;
      default:
        return !less;
      }
    });
  case PtxOp::Select:
    return compute(in, lanes,
                   [](uint64_t a, uint64_t b, uint64_t c) { return c & 1 ? a : b; });
  case PtxOp::Convert:
    return compute(in, lanes, [&](uint64_t a, uint64_t, uint64_t) { return wide(a); });
  case PtxOp::LoadParameter: {
    const auto &buffers = grid.launch.buffers;
    uint64_t number = in.offset;
    // One more than there are buffers is the record of bad indices.
    registers[in.results.front()].fill(number < buffers.size() ? buffers[number].address
                                                               : uint64_t(1) << 50);
    return;
  }
  case PtxOp::Load: {
    unsigned bytes = in.size * in.results.size();
    const Lanes base = registers[in.sources.front()];
    bool isShared = in.space == PtxSpace::Shared;
    if (in.space == PtxSpace::Global || in.space == PtxSpace::Generic)
      accessGlobal(in, lanes, bytes, /*isStore=*/false);
    else if (isShared)
      accessShared(in, lanes, bytes);
    for (auto [i, result] : llvm::enumerate(in.results))
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if (lanes >> lane & 1)
          registers[result][lane] = loadNumber(in, base[lane] + in.offset + i * in.size);
    return;
  }
  case PtxOp::Store: {
    unsigned values = in.sources.size() - 1, bytes = in.size * values;
    if (in.space == PtxSpace::Global || in.space == PtxSpace::Generic)
      return accessGlobal(in, lanes, bytes, /*isStore=*/true);
    if (in.space != PtxSpace::Shared)
      return;
    accessShared(in, lanes, bytes);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!(lanes >> lane & 1))
        continue;
      uint64_t place = registers[in.sources[0]][lane] + in.offset - kSharedBase;
      for (unsigned i = 0; i < bytes; ++i)
        if (place + i < shared.size())
          shared[place + i] =
              registers[in.sources[1 + i / in.size]][lane] >> (8 * (i % in.size));
    }
    return;
  }
  case PtxOp::Copy:
    if (in.space == PtxSpace::Global)
      return accessGlobal(in, lanes, 16, /*isStore=*/false);
    return accessShared(in, lanes, 16);
  case PtxOp::Atomic:
    accessGlobal(in, lanes, in.size, /*isStore=*/false);
    accessGlobal(in, lanes, in.size, /*isStore=*/true);
    return;
  case PtxOp::Matrices:
    // Each lane names a row of 16 bytes.
    accessShared(in, lanes, 16);
    for (int result : in.results)
      registers[result].fill(0);
    return;
  case PtxOp::Shuffle: {
    const Lanes from = registers[in.sources[0]], distance = registers[in.sources[1]];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (lanes >> lane & 1)
        registers[in.results.front()][lane] = from[(lane ^ distance[lane]) % kLanes];
    return;
  }
  case PtxOp::Ballot: {
    uint64_t bits = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (lanes >> lane & registers[in.sources[0]][lane] & 1)
        bits |= uint64_t(1) << lane;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (lanes >> lane & 1)
        registers[in.results.front()][lane] = bits;
    return;
  }
  }
}

void Warp::branch(const PtxInstruction &in, uint32_t lanes, uint32_t taken) {
  const PtxKernel &kernel = grid.kernel;
  Path &top = stack.back();
  unsigned next = top.at + 1;
  if (taken == lanes) {
    top.at = in.target;
    return;
  }
  if (taken == 0) {
    top.at = next;
    return;
  }
  unsigned block = kernel.blockOf[top.at], join = kernel.blocks[block].join;
  // All lanes go on where the ways meet, each part alone up to there.
  if (join == kernel.blocks.size())
    stack.pop_back();
  else
    top.at = kernel.blocks[join].begin;
  stack.push_back({next, join, lanes & ~taken});
  stack.push_back({in.target, join, taken});
}

void Warp::run(uint64_t &budget) {
  const PtxKernel &kernel = grid.kernel;
  while (!stack.empty()) {
    Path &top = stack.back();
    unsigned block = kernel.blockOf[top.at];
    if (top.lanes == 0 || (top.join == block && kernel.blocks[block].begin == top.at)) {
      stack.pop_back();
      continue;
    }
    if (budget == 0)
      return;
    --budget;
    const PtxInstruction &in = kernel.instructions[top.at];
    uint32_t lanes = top.lanes;
    if (kernel.blocks[block].begin == top.at && kernel.blocks[block].chain) {
      const PtxBlock &straight = kernel.blocks[block];
      double unrolled = 1;
      if (straight.isLoop)
        unrolled = std::clamp(kLoadsUnderWay / straight.loads, 1.0, grid.unrolling);
      trace.waits += straight.chain / unrolled;
    }
    trace.instructions += in.issue;
    trace.byUnit[in.unit] += in.onUnit;
    uint32_t chosen = lanes;
    if (in.predicate >= 0) {
      chosen = 0;
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if ((lanes >> lane & 1) &&
            (registers[in.predicate][lane] & 1) != unsigned(in.isNegated))
          chosen |= uint32_t(1) << lane;
    }
    double threads = llvm::popcount(chosen);
    if (in.op == PtxOp::Multiply) {
      trace.tensorFlops += in.flops;
      trace.warpgroupFlops += in.isWarpgroup ? in.flops : 0;
    } else if (in.op == PtxOp::TileCopy)
      ++trace.tiles;
    else if (in.unit == LaunchTrace::Special)
      trace.specialOps += in.onUnit * threads;
    else if (in.unit == LaunchTrace::Double)
      trace.doubleFlops += in.flops * threads;
    else
      trace.floatFlops += in.flops * threads;
    if (in.op == PtxOp::Branch) {
      branch(in, lanes, chosen);
      continue;
    }
    if (in.op == PtxOp::Return) {
      ++top.at;
      for (Path &path : stack)
        path.lanes &= ~chosen;
      continue;
    }
    if (chosen)
      execute(in, chosen);
    ++top.at;
    if (in.op == PtxOp::Barrier)
      return;
  }
}

//===----------------------------------------------------------------------===//
// A launch
//===----------------------------------------------------------------------===//

struct DeviceCode::Impl {
  PtxModule module;
};

DeviceCode::DeviceCode(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
DeviceCode::DeviceCode(DeviceCode &&) = default;
DeviceCode::~DeviceCode() = default;

llvm::Expected<DeviceCode> DeviceCode::parse(llvm::StringRef ptx) {
  auto module = parsePtx(ptx);
  if (!module)
    return module.takeError();
  return DeviceCode(std::make_unique<Impl>(Impl{std::move(*module)}));
}

llvm::ArrayRef<std::string> DeviceCode::getUnknownOpcodes() const {
  return impl->module.unknown;
}

/// Adds `weight` times what one warp has done.
static void add(LaunchTrace &sum, const LaunchTrace &warp, double weight) {
  sum.instructions += weight * warp.instructions;
  sum.warpgroupFlops += weight * warp.warpgroupFlops;
  sum.tiles += weight * warp.tiles;
  for (unsigned i = 0; i < LaunchTrace::kUnits; ++i)
    sum.byUnit[i] += weight * warp.byUnit[i];
  sum.floatFlops += weight * warp.floatFlops;
  sum.doubleFlops += weight * warp.doubleFlops;
  sum.tensorFlops += weight * warp.tensorFlops;
  sum.specialOps += weight * warp.specialOps;
  sum.sharedWavefronts += weight * warp.sharedWavefronts;
  sum.loadBytes += weight * warp.loadBytes;
  sum.storeBytes += weight * warp.storeBytes;
  sum.reloads.add(warp.reloads, weight);
  sum.restores.add(warp.restores, weight);
  sum.waits = std::max(sum.waits, warp.waits);
  sum.longest = std::max(sum.longest, warp.instructions);
}

namespace {
/// First accesses of all warps to one buffer, estimated from those of some.
struct Uniques {
  double weighted = 0, laterAll = 0, laterSeen = 0, seenByNone = 0;

  void add(const FirstAccesses &first, double weight, bool isFirstWarp) {
    weighted += weight * first.all;
    seenByNone += first.seenByNone;
    if (!isFirstWarp) {
      laterAll += weight * first.all;
      laterSeen += weight * first.seenByOthers;
    }
  }
  double get(double bytes) const {
    double shared = laterAll > 0 ? laterSeen / laterAll : 0;
    return std::min(std::max(weighted * (1 - shared), seenByNone), bytes);
  }
};
} // namespace

llvm::Expected<LaunchTrace> DeviceCode::trace(const TraceLaunch &launch,
                                              const CubinKernel *cubin,
                                              uint64_t budget) const {
  auto found = impl->module.kernels.find(launch.function);
  if (found == impl->module.kernels.end())
    return llvm::createStringError("the PTX has no kernel '" + launch.function + "'");
  const PtxKernel &kernel = found->getValue();
  const uint64_t blocks = launch.blocks[0] * launch.blocks[1];
  const uint64_t warps = (launch.threads + kLanes - 1) / kLanes;
  LaunchTrace sum;
  sum.warps = double(blocks * warps);
  if (blocks == 0 || warps == 0)
    return sum;
  GridState grid{impl->module, kernel, launch, 1, {}, {}};
  if (cubin && kernel.loads)
    grid.unrolling = std::max(1.0, double(cubin->globalLoads) / kernel.loads);

  // Blocks that are spread evenly over the grid in any prefix of their list. Of a block
  // the first warp, which often does more at the end, and another one; all if there are
  // few, if they do different things, or if warps tell each other where to store.
  constexpr uint64_t kMostBlocks = 128, kFewWarps = 64;
  constexpr double kGolden = 0.6180339887498949;
  const bool wantsAll =
      kernel.hasBallot || kernel.hasRoles || warps <= 2 || blocks * warps <= kFewWarps;
  const uint64_t most = std::min(blocks, kMostBlocks);
  const uint64_t whole = budget;
  std::vector<std::pair<LaunchTrace, double>> done;
  std::vector<Uniques> loads(launch.buffers.size() + 1), stores(loads.size());
  uint64_t taken = 0;
  llvm::DenseSet<uint64_t> chosen;
  std::vector<std::tuple<std::unique_ptr<Warp>, double>> finished;
  for (; taken < most; ++taken) {
    // Another block costs about what each of those before did.
    if (taken >= 2 && (whole - budget) / taken > budget)
      break;
    uint64_t block = taken;
    if (blocks > kMostBlocks) {
      block = uint64_t(std::fmod(0.5 + double(taken) * kGolden, 1.0) * double(blocks));
      // Kernels tell blocks apart by their numbers modulo some power of two: each
      // remainder has its turn.
      uint64_t close = block / kMostBlocks * kMostBlocks + taken;
      block = close < blocks ? close : block;
    }
    std::vector<uint8_t> shared(kernel.sharedBytes);
    std::vector<std::pair<Warp, double>> here;
    uint64_t x = block % launch.blocks[0], y = block / launch.blocks[0];
    if (wantsAll) {
      for (uint64_t warp = 0; warp < warps; ++warp)
        here.emplace_back(Warp(grid, shared, x, y, warp), 1);
    } else {
      uint64_t other = 1 + hash(taken) % (warps - 1);
      here.emplace_back(Warp(grid, shared, x, y, 0), 1);
      here.emplace_back(Warp(grid, shared, x, y, other), double(warps - 1));
    }
    bool runs = true;
    while (runs && budget) {
      runs = false;
      for (auto &[warp, weight] : here)
        if (!warp.isDone()) {
          warp.run(budget);
          runs = true;
        }
    }
    for (auto &[warp, weight] : here) {
      sum.isCut |= !warp.isDone();
      bool isFirst = sum.executed++ == 0;
      for (unsigned i = 0; i < loads.size(); ++i) {
        loads[i].add(warp.firstLoads[i], weight, isFirst);
        stores[i].add(warp.firstStores[i], weight, isFirst);
      }
      done.push_back({std::move(warp.trace), weight});
    }
  }
  const double scale = double(blocks) / double(taken);
  for (auto &[trace, weight] : done)
    add(sum, trace, weight * scale);
  for (unsigned i = 0; i < loads.size(); ++i) {
    double bytes = i < launch.buffers.size() ? double(launch.buffers[i].bytes)
                                             : std::numeric_limits<double>::max();
    loads[i].weighted *= scale;
    stores[i].weighted *= scale;
    sum.uniqueLoads += loads[i].get(bytes);
    sum.uniqueStores += stores[i].get(bytes);
  }
  return sum;
}
