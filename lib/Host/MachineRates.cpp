//===- MachineRates.cpp - What this machine does at most --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/MachineRates.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/Runtime/Runtime.h"
#include "mpt/Support/Version.h"
#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <memory>
#include <thread>

using namespace mpt;
using namespace mpt::rt;

/// Rows and columns of the matmuls: large enough for the peak, and 11 ms at 200 GFLOP/s.
static constexpr int64_t kSize = 1024;
/// Images of a convolution of 3 x 3, their size and channels: 2.8 ms at 200 GFLOP/s.
static constexpr int64_t kImages = 8, kImageSize = 14, kChannels = 192;
/// Bytes that are copied: more than lies in most caches.
static constexpr int64_t kCopied = int64_t(64) << 20;
/// The fastest of so many runs counts.
static constexpr int kRuns = 5;

/// A matmul and a convolution of each type, then a copy.
static Program makeProgram(llvm::ArrayRef<DataType> types, int64_t threads) {
  Program program;
  program.name = "machine-rates";
  program.target = "x86_64";
  program.version = kVersion;
  program.maxThreads = threads;
  auto place = [&](DataType type, std::vector<int64_t> dims) {
    BufferRef buffer;
    buffer.type = type;
    buffer.dims = std::move(dims);
    buffer.offset = program.arenaBytes;
    program.arenaBytes += (buffer.bytes() + 63) / 64 * 64;
    return buffer;
  };
  auto call = [&](LibraryCall what, std::vector<BufferRef> refs) {
    Instruction instruction;
    instruction.call = std::move(what);
    instruction.numInputs = refs.size() - 1;
    instruction.numOutputs = 1;
    instruction.refs = std::move(refs);
    if (int64_t bytes = getCallWorkspace(instruction, threads)) {
      instruction.hasScratch = true;
      instruction.refs.push_back(place(DataType::I8, {bytes}));
    }
    program.instructions.push_back(std::move(instruction));
  };
  Conv2DCall conv;
  conv.strides = conv.dilations = {1, 1};
  conv.padding = {1, 1, 1, 1};
  const std::vector<int64_t> image = {kImages, kImageSize, kImageSize, kChannels};
  for (DataType type : types) {
    call(conv, {place(type, image), place(type, {3, 3, kChannels, kChannels}),
                place(type, image)});
    call(MatmulCall(), {place(type, {kSize, kSize}), place(type, {kSize, kSize}),
                        place(DataType::F32, {kSize, kSize})});
  }
  CopyCall copy;
  copy.sizes = {kCopied / 4};
  copy.srcStrides = copy.dstStrides = {1};
  call(copy, {place(DataType::F32, {kCopied / 4}), place(DataType::F32, {kCopied / 4})});
  return program;
}

std::optional<MachineRates> mpt::measureMachineRates(int threads) {
  std::unique_ptr<mpt_rt_context, decltype(&mpt_rt_destroy)> context(
      mpt_rt_create(threads), mpt_rt_destroy);
  if (!context)
    return std::nullopt;
  const DataType types[] = {DataType::F32, DataType::BF16, DataType::F16};
  int64_t most = threads > 0 ? threads : std::thread::hardware_concurrency();
  most = std::clamp<int64_t>(most, 1, kMaxProgramThreads);
  const std::string table = writeProgram(makeProgram(types, most));
  mpt_program_desc desc = {};
  desc.magic = kProgramMagic;
  desc.format_version = kFormatVersion;
  desc.table = reinterpret_cast<const uint8_t *>(table.data());
  desc.table_size = table.size();
  if (mpt_rt_open_desc(context.get(), &desc))
    return std::nullopt;
  mpt_rt_set_profiling(context.get(), 1);
  MachineRates rates;
  for (int run = 0; run < kRuns; ++run) {
    if (mpt_rt_run(context.get()))
      return std::nullopt;
    const char *what, *location, *type;
    double milliseconds, flops, bytes;
    for (int32_t i = 0;
         mpt_rt_get_profile(context.get(), i, &what, &location, &milliseconds) == 0 &&
         mpt_rt_get_cost(context.get(), i, &flops, &type, &bytes) == 0;
         ++i) {
      if (milliseconds <= 0)
        continue;
      double &best = flops > 0 ? rates.flops[type] : rates.bytes;
      best = std::max(best, (flops > 0 ? flops : bytes) * 1e3 / milliseconds);
    }
  }
  return rates;
}
