//===- arena_instances.cpp - Arenas for public instances -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans the instances of google/minimalloc (benchmarks/asplos2024, Apache-2.0; not
/// part of this repository):
///
///     ArenaBenchmark [steps=N] A.1048576.csv...
///
/// A file is a table with the header "buffer,start,end,size"; a buffer is alive from
/// `start` to before `end`. The number in the file's name is the capacity. Every plan
/// is checked by comparing all pairs.
///
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/ArenaPlan.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <cstdio>

using namespace mpt;
using llvm::StringRef;

namespace {

/// False, with a message, if the file is not such a table.
bool read(StringRef path, llvm::SmallVectorImpl<ArenaBuffer> &buffers) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    std::fprintf(stderr, "cannot read %s: %s\n", path.str().c_str(),
                 file.getError().message().c_str());
    return false;
  }
  llvm::SmallVector<StringRef> lines, cells;
  (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  if (lines.empty() || lines.front().trim() != "buffer,start,end,size") {
    std::fprintf(stderr, "%s: expected the header buffer,start,end,size\n",
                 path.str().c_str());
    return false;
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    cells.clear();
    lines[i].trim().split(cells, ',');
    int64_t start, end, size;
    if (cells.size() != 4 || cells[1].getAsInteger(10, start) ||
        cells[2].getAsInteger(10, end) || cells[3].getAsInteger(10, size) ||
        start >= end || size < 0) {
      std::fprintf(stderr, "%s:%zu: expected buffer,start,end,size with start < end\n",
                   path.str().c_str(), i + 1);
      return false;
    }
    buffers.push_back({size, start, end - 1});
  }
  return true;
}

bool isValid(llvm::ArrayRef<ArenaBuffer> buffers, const ArenaPlan &plan) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (plan.offsets[i] < 0 || plan.offsets[i] + buffers[i].bytes > plan.bytes)
      return false;
    for (size_t j = 0; j < i; ++j)
      if (buffers[i].begin <= buffers[j].end && buffers[j].begin <= buffers[i].end &&
          plan.offsets[i] < plan.offsets[j] + buffers[j].bytes &&
          plan.offsets[j] < plan.offsets[i] + buffers[i].bytes)
        return false;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  ArenaOptions options;
  options.alignment = 1;
  options.searchSteps = int64_t(1) << 33;
  bool ok = true;
  std::printf("%-6s %8s %10s %10s %10s %10s %9s\n", "file", "buffers", "capacity",
              "bound", "greedy", "arena", "ms");
  for (int i = 1; i < argc; ++i) {
    StringRef path = argv[i];
    if (path.consume_front("steps=")) {
      if (path.getAsInteger(10, options.searchSteps)) {
        std::fprintf(stderr, "steps= needs a number\n");
        return 1;
      }
      continue;
    }
    llvm::SmallVector<ArenaBuffer> buffers;
    auto [name, rest] = llvm::sys::path::filename(path).split('.');
    if (rest.split('.').first.getAsInteger(10, options.capacity)) {
      std::fprintf(stderr, "%s: expected a name like A.1048576.csv\n", argv[i]);
      return 1;
    }
    if (!read(path, buffers))
      return 1;
    ArenaOptions greedy = options;
    greedy.searchSteps = 0;
    const int64_t greedyBytes = planArena(buffers, greedy).bytes;
    auto start = std::chrono::steady_clock::now();
    ArenaPlan plan = planArena(buffers, options);
    const double ms = std::chrono::duration<double, std::milli>(
                          std::chrono::steady_clock::now() - start)
                          .count();
    const bool valid = isValid(buffers, plan);
    std::printf("%-6s %8zu %10lld %10lld %10lld %10lld %9.1f%s\n", name.str().c_str(),
                buffers.size(), (long long)options.capacity, (long long)plan.lowerBound,
                (long long)greedyBytes, (long long)plan.bytes, ms,
                !valid                          ? "  INVALID"
                : plan.bytes > options.capacity ? "  above the capacity"
                                                : "");
    std::fflush(stdout);
    ok &= valid && plan.bytes <= options.capacity;
  }
  return ok ? 0 : 1;
}
