//===- GatherPlan.cpp - When sharded parameters are joined ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Parallel/GatherPlan.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>

using namespace mpt;

llvm::SmallVector<unsigned> mpt::planUnits(llvm::ArrayRef<UnitParameter> parameters,
                                           int64_t unitBytes) {
  llvm::SmallVector<unsigned> units;
  unsigned unit = 0;
  int64_t taken = 0;
  for (size_t begin = 0, end = 0; begin < parameters.size(); begin = end) {
    int64_t size = 0;
    for (; end < parameters.size() &&
           parameters[end].position == parameters[begin].position;
         ++end)
      size += parameters[end].bytes;
    if (taken > 0 && taken >= unitBytes / 2 && size > unitBytes - taken) {
      ++unit;
      taken = 0;
    }
    taken += size;
    units.append(end - begin, unit);
  }
  return units;
}

int64_t mpt::getDefaultUnitBytes(int64_t totalBytes) {
  return std::clamp<int64_t>(totalBytes / 16, 1, 25 << 20);
}

llvm::SmallVector<UnitVisit> mpt::planGathers(llvm::ArrayRef<UnitRead> reads,
                                              llvm::ArrayRef<int64_t> bytes,
                                              int64_t prefetch, int64_t keptBytes) {
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, reads.size()));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return reads[a].position < reads[b].position;
  });

  llvm::SmallVector<UnitVisit> visits;
  // The visits of this pass, and the last ones of each unit.
  llvm::DenseMap<unsigned, unsigned> open, last;
  // What follows a visit of the same unit: (the one before, the one after).
  llvm::SmallVector<std::pair<unsigned, unsigned>> pairs;
  PassKind pass = PassKind::Any;
  for (unsigned number : order) {
    const UnitRead &read = reads[number];
    if (read.pass != PassKind::Any && read.pass != pass) {
      if (pass != PassKind::Any)
        open.clear();
      pass = read.pass;
    }
    auto [it, isNew] = open.try_emplace(read.unit, visits.size());
    if (isNew) {
      auto [before, isFirst] = last.try_emplace(read.unit, visits.size());
      if (!isFirst) {
        pairs.push_back({before->second, unsigned(visits.size())});
        before->second = visits.size();
      }
      visits.push_back({read.unit, read.position, read.position, read.position, -1, {}});
    }
    visits[it->second].end = read.position;
    visits[it->second].reads.push_back(number);
  }

  // How many bytes are kept while each visit begins.
  llvm::SmallVector<int64_t> kept(visits.size(), 0);
  llvm::stable_sort(
      pairs, [](auto a, auto b) { return a.second - a.first < b.second - b.first; });
  for (auto [before, after] : pairs) {
    // Joined again while the first copy is read, a unit would be there twice. Reading
    // that copy takes no room and no exchange.
    if (visits[after - std::min<int64_t>(prefetch, after)].begin <= visits[before].end) {
      visits[after].kept = before;
      continue;
    }
    const int64_t size = bytes[visits[after].unit];
    auto between = llvm::MutableArrayRef(kept).slice(before, after - before);
    if (llvm::any_of(between, [&](int64_t other) { return size > keptBytes - other; }))
      continue;
    for (int64_t &other : between)
      other += size;
    visits[after].kept = before;
  }

  for (unsigned i = 0; i < visits.size(); ++i) {
    UnitVisit &visit = visits[i];
    if (visit.kept >= 0) {
      // The one that joined what a chain of visits reads.
      if (visits[visit.kept].kept >= 0)
        visit.kept = visits[visit.kept].kept;
      continue;
    }
    visit.gather = visits[i - std::min<int64_t>(prefetch, i)].begin;
  }
  return visits;
}
