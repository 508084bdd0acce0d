//===- OrderHeuristic.cpp - Orders of ops that need less memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/OrderHeuristic.h"

#include "llvm/ADT/STLExtras.h"
#include <numeric>
#include <set>

using namespace mpt;
using llvm::SmallVector;
using llvm::StringRef;

StringRef mpt::stringifyOrderHeuristic(OrderHeuristic order) {
  switch (order) {
  case OrderHeuristic::Keep:
    return "keep";
  case OrderHeuristic::EarlyUpdate:
    return "early-update";
  case OrderHeuristic::LeastPeak:
    return "least-peak";
  case OrderHeuristic::DepthFirst:
    return "depth-first";
  }
  return "";
}

std::optional<OrderHeuristic> mpt::symbolizeOrderHeuristic(StringRef text) {
  for (OrderHeuristic order : allOrderHeuristics)
    if (text == stringifyOrderHeuristic(order))
      return order;
  return std::nullopt;
}

namespace {

/// What runs beside the rest begins as soon as it can, and is waited for when nothing
/// else is left to do.
class Background {
public:
  explicit Background(const MemoryGraph &graph) : waits(graph.ops.size(), false) {
    for (const MemoryOp &op : graph.ops) {
      begins.push_back(op.until >= 0);
      if (op.until >= 0)
        waits[op.until] = true;
    }
  }
  /// Takes `op`, which is ready, if it is one of these.
  bool add(unsigned op) {
    if (begins[op])
      early.insert(op);
    else if (waits[op])
      late.insert(op);
    return begins[op] || waits[op];
  }
  /// The op to run next if there is other work or not; nullopt: of the other work.
  std::optional<unsigned> take(bool hasOther) {
    std::set<unsigned> &from = early.empty() ? late : early;
    if (from.empty() || (early.empty() && hasOther))
      return std::nullopt;
    const unsigned op = *from.begin();
    from.erase(from.begin());
    return op;
  }
  bool isEmpty() const { return early.empty() && late.empty(); }
  bool contains(unsigned op) const { return begins[op] || waits[op]; }

private:
  SmallVector<bool> begins, waits;
  std::set<unsigned> early, late;
};

/// Runs a graph op by op and keeps the books.
class Scheduler {
public:
  explicit Scheduler(const MemoryGraph &graph) : graph(graph) {
    const unsigned n = graph.ops.size();
    successors.resize(n);
    waiting.resize(n);
    ran.assign(n, false);
    for (unsigned op = 0; op < n; ++op) {
      SmallVector<unsigned> before = graph.getPredecessors(op);
      waiting[op] = before.size();
      for (unsigned other : before)
        successors[other].push_back(op);
      made.push_back(0);
      for (unsigned output : graph.ops[op].outputs)
        if (graph.buffers[output].inArena())
          made[op] += graph.buffers[output].bytes;
    }
    freed.assign(n, 0);
    for (const MemoryBuffer &buffer : graph.buffers) {
      readers.push_back(buffer.users.size());
      readerSum.push_back(
          std::accumulate(buffer.users.begin(), buffer.users.end(), uint64_t(0)));
      if (mayDie(buffer) && buffer.users.size() == 1)
        freed[buffer.users.front()] += buffer.bytes;
      // What nothing reads dies with the op that made it.
      if (mayDie(buffer) && buffer.users.empty() && buffer.producer >= 0)
        freed[buffer.producer] += buffer.bytes;
      if (buffer.inArena() && buffer.producer < 0)
        live += buffer.bytes;
    }
  }

  /// By which `op` raises what is alive, if it runs now.
  int64_t getChange(unsigned op) const { return made[op] - freed[op]; }
  /// The most that is alive while `op` runs, if it runs now.
  int64_t getPeak(unsigned op) const {
    int64_t bytes = live + made[op] + graph.ops[op].workspace;
    SmallVector<unsigned, 4> used;
    for (auto [output, input] : graph.ops[op].inPlace) {
      if (readers[input] != 1 || !mayDie(graph.buffers[input]) ||
          !graph.buffers[output].inArena() || llvm::is_contained(used, input) ||
          llvm::is_contained(used, output))
        continue;
      used.append({input, output});
      bytes -= graph.buffers[output].bytes;
    }
    return bytes;
  }
  bool isReady(unsigned op) const { return waiting[op] == 0; }
  /// Whether `op` takes and makes single numbers alone, beside what is there throughout.
  bool isScalar(unsigned op) const {
    auto isSmall = [&](unsigned buffer) {
      return !graph.buffers[buffer].inArena() ||
             graph.buffers[buffer].bytes <= graph.alignment;
    };
    return graph.ops[op].workspace == 0 && llvm::all_of(graph.ops[op].inputs, isSmall) &&
           llvm::all_of(graph.ops[op].outputs, isSmall);
  }
  /// The ops that are still to read `buffer`, if all of them are ready and what is alive
  /// shrinks once they all have run; else none. Buffers of many readers are left alone.
  SmallVector<unsigned, 4> getShrinkingReaders(unsigned buffer) const {
    constexpr int64_t mostReaders = 8;
    SmallVector<unsigned, 4> left;
    if (readers[buffer] > mostReaders || !mayDie(graph.buffers[buffer]))
      return left;
    int64_t change = -graph.buffers[buffer].bytes;
    for (unsigned op : graph.buffers[buffer].users) {
      if (ran[op])
        continue;
      if (!isReady(op))
        return {};
      left.push_back(op);
      change += getChange(op);
    }
    if (change >= 0)
      left.clear();
    return left;
  }

  /// Runs `op`. Calls `after` with each op that becomes ready, and `before` and
  /// `after` with each ready one whose getChange changes, around that.
  template <typename Before, typename After>
  void run(unsigned op, Before &&before, After &&after) {
    order.push_back(op);
    ran[op] = true;
    live += getChange(op);
    for (unsigned input : graph.ops[op].inputs) {
      const MemoryBuffer &buffer = graph.buffers[input];
      --readers[input];
      readerSum[input] -= op;
      if (readers[input] != 1 || !mayDie(buffer))
        continue;
      const unsigned last = readerSum[input];
      const bool ready = isReady(last);
      if (ready)
        before(last);
      freed[last] += buffer.bytes;
      if (ready)
        after(last);
    }
    for (unsigned next : successors[op])
      if (--waiting[next] == 0)
        after(next);
  }

  const MemoryGraph &graph;
  SmallVector<unsigned> order;
  int64_t live = 0;
  SmallVector<int64_t> made;

private:
  static bool mayDie(const MemoryBuffer &buffer) {
    return buffer.inArena() && !buffer.returned;
  }

  SmallVector<SmallVector<unsigned, 4>> successors;
  SmallVector<unsigned> waiting;
  SmallVector<bool> ran;
  /// Per op: bytes that die with it if it runs now.
  SmallVector<int64_t> freed;
  /// Per buffer: how many ops are still to read it, and the sum of their numbers.
  SmallVector<unsigned> readers;
  SmallVector<uint64_t> readerSum;
};

/// With `together`, readers of a buffer that free more than they make together run at
/// once, and so do ops on single numbers.
SmallVector<unsigned> orderEarlyUpdate(const MemoryGraph &graph, bool together) {
  Scheduler scheduler(graph);
  Background background(graph);
  std::set<unsigned> ready, shrinking;
  auto add = [&](unsigned op) {
    if (background.add(op))
      return;
    ready.insert(op);
    // Updates may wait for a number, such as the one of the step.
    if (scheduler.getChange(op) < 0 || (together && scheduler.isScalar(op)))
      shrinking.insert(op);
    if (!together || shrinking.count(op))
      return;
    // A gradient dies with its update once its norm is taken, whichever comes first.
    for (unsigned input : graph.ops[op].inputs)
      for (unsigned reader : scheduler.getShrinkingReaders(input))
        if (!background.contains(reader))
          shrinking.insert(reader);
  };
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    if (scheduler.isReady(op))
      add(op);
  while (!ready.empty() || !background.isEmpty()) {
    if (std::optional<unsigned> op = background.take(!ready.empty())) {
      scheduler.run(*op, [](unsigned) {}, add);
      continue;
    }
    const unsigned op = shrinking.empty() ? *ready.begin() : *shrinking.begin();
    ready.erase(op);
    shrinking.erase(op);
    scheduler.run(op, [](unsigned) {}, add);
  }
  return std::move(scheduler.order);
}

SmallVector<unsigned> orderLeastPeak(const MemoryGraph &graph) {
  Scheduler scheduler(graph);
  Background background(graph);
  // Ready ops by what they leave, and by what they need.
  std::set<std::pair<int64_t, unsigned>> byChange, byNeed;
  auto need = [&](unsigned op) { return scheduler.made[op] + graph.ops[op].workspace; };
  auto add = [&](unsigned op) {
    if (background.add(op))
      return;
    byChange.insert({scheduler.getChange(op), op});
    byNeed.insert({need(op), op});
  };
  auto remove = [&](unsigned op) {
    if (background.contains(op))
      return;
    byChange.erase({scheduler.getChange(op), op});
    byNeed.erase({need(op), op});
  };
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    if (scheduler.isReady(op))
      add(op);
  int64_t peak = 0;
  // How many ops that would raise the peak are passed over before the one that
  // needs least is taken: keeps the whole near-linear.
  constexpr unsigned patience = 64;
  while (!byNeed.empty() || !background.isEmpty()) {
    if (std::optional<unsigned> op = background.take(!byNeed.empty())) {
      peak = std::max(peak, scheduler.getPeak(*op));
      scheduler.run(*op, remove, add);
      continue;
    }
    unsigned chosen = byNeed.begin()->second, seen = 0;
    for (auto [change, op] : byChange) {
      if (scheduler.getPeak(op) <= peak) {
        chosen = op;
        break;
      }
      if (++seen == patience)
        break;
    }
    peak = std::max(peak, scheduler.getPeak(chosen));
    remove(chosen);
    scheduler.run(chosen, remove, add);
  }
  return std::move(scheduler.order);
}

SmallVector<unsigned> orderDepthFirst(const MemoryGraph &graph) {
  const unsigned n = graph.ops.size();
  SmallVector<bool> hasSuccessor(n, false), seen(n, false);
  SmallVector<SmallVector<unsigned>> before(n);
  for (unsigned op = 0; op < n; ++op) {
    before[op] = graph.getPredecessors(op);
    SmallVector<std::pair<int64_t, unsigned>> keys;
    for (unsigned other : before[op]) {
      hasSuccessor[other] = true;
      int64_t bytes = 0;
      for (unsigned output : graph.ops[other].outputs)
        bytes += graph.buffers[output].inArena() ? graph.buffers[output].bytes : 0;
      keys.push_back({-bytes, other});
    }
    llvm::sort(keys);
    before[op].clear();
    for (auto [bytes, other] : keys)
      before[op].push_back(other);
  }
  SmallVector<unsigned> order;
  SmallVector<std::pair<unsigned, unsigned>> stack; // op, next of its predecessors
  for (unsigned sink = 0; sink < n; ++sink) {
    if (hasSuccessor[sink])
      continue;
    stack.push_back({sink, 0});
    seen[sink] = true;
    while (!stack.empty()) {
      auto &[op, next] = stack.back();
      if (next == before[op].size()) {
        order.push_back(op);
        stack.pop_back();
        continue;
      }
      const unsigned other = before[op][next++];
      if (!seen[other]) {
        seen[other] = true;
        stack.push_back({other, 0});
      }
    }
  }
  return order;
}

} // namespace

SmallVector<unsigned> mpt::orderOps(const MemoryGraph &graph, OrderHeuristic order) {
  switch (order) {
  case OrderHeuristic::Keep:
    break;
  case OrderHeuristic::EarlyUpdate: {
    SmallVector<unsigned> one = orderEarlyUpdate(graph, /*together=*/false),
                          together = orderEarlyUpdate(graph, /*together=*/true);
    return profileMemory(graph, one).peak < profileMemory(graph, together).peak
               ? one
               : together;
  }
  case OrderHeuristic::LeastPeak:
    return orderLeastPeak(graph);
  case OrderHeuristic::DepthFirst:
    return orderDepthFirst(graph);
  }
  SmallVector<unsigned> kept(graph.ops.size());
  std::iota(kept.begin(), kept.end(), 0);
  return kept;
}
