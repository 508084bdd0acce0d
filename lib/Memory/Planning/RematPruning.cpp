//===- RematPruning.cpp - Repetitions that are not needed -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematStrategies.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace mpt;
using namespace mpt::detail;

namespace {

constexpr uint32_t none = ~uint32_t(0);

/// Numbers along a line: add to a range, maximum of a range.
class RangeMax {
public:
  explicit RangeMax(uint32_t count) {
    while (size < count)
      size *= 2;
    top.assign(2 * size, 0);
    added.assign(2 * size, 0);
  }
  /// Takes what is added from each place on.
  void assign(const std::vector<int64_t> &changes) {
    int64_t sum = 0;
    for (size_t i = 0; i < changes.size() && i < size; ++i)
      top[size + i] = sum += changes[i];
    for (uint32_t node = size - 1; node > 0; --node)
      top[node] = std::max(top[2 * node], top[2 * node + 1]);
  }
  void add(uint32_t begin, uint32_t end, int64_t amount) {
    for (uint32_t l = begin + size, r = end + size; l < r; l /= 2, r /= 2) {
      if (l & 1)
        apply(l++, amount);
      if (r & 1)
        apply(--r, amount);
    }
    pull(begin + size);
    if (end > begin)
      pull(end - 1 + size);
  }
  int64_t getMax(uint32_t begin, uint32_t end) const {
    int64_t best = 0;
    for (uint32_t l = begin + size, r = end + size; l < r; l /= 2, r /= 2) {
      if (l & 1)
        best = std::max(best, above(l++));
      if (r & 1)
        best = std::max(best, above(--r));
    }
    return best;
  }

private:
  void apply(uint32_t node, int64_t amount) {
    top[node] += amount;
    added[node] += amount;
  }
  void pull(uint32_t node) {
    for (node /= 2; node > 0; node /= 2)
      top[node] = std::max(top[2 * node], top[2 * node + 1]) + added[node];
  }
  int64_t above(uint32_t node) const {
    int64_t value = top[node];
    for (node /= 2; node > 0; node /= 2)
      value += added[node];
    return value;
  }
  uint32_t size = 1;
  std::vector<int64_t> top, added;
};

/// An instance of a value.
struct Instance {
  uint32_t value, made;
  /// Positions that read it, in order; the length of the order for the end.
  llvm::SmallVector<uint32_t, 4> reads;
  /// Instance of the same value before and after.
  uint32_t previous = none, next = none;
  uint32_t getEnd() const { return reads.empty() ? made : reads.back(); }
};

class Dropper {
public:
  Dropper(const RematIndex &index, const std::vector<uint32_t> &order, int64_t budget)
      : graph(index.graph), order(order), budget(budget), memory(order.size() + 1),
        removed(order.size(), false) {}

  std::vector<uint32_t> run();

private:
  void build();
  bool isRemovable(uint32_t position);
  void remove(uint32_t position);
  /// Bytes of `instance` added to or taken from the memory along its life.
  void count(const Instance &instance, int64_t sign) {
    if (takesMemory(instance))
      memory.add(instance.made, instance.getEnd() + 1,
                 sign * graph.values[instance.value].bytes);
  }
  bool takesMemory(const Instance &instance) const {
    return !instance.reads.empty() || !repeats[instance.made] ||
           !graph.nodes[order[instance.made]].prunesOutputs;
  }
  bool isNeeded(uint32_t position) {
    return !repeats[position] || llvmAny(made[position]);
  }
  bool llvmAny(llvm::ArrayRef<uint32_t> ids) {
    return std::any_of(ids.begin(), ids.end(),
                       [&](uint32_t id) { return !instances[id].reads.empty(); });
  }

  const RematGraph &graph;
  const std::vector<uint32_t> &order;
  int64_t budget;
  RangeMax memory;
  std::vector<bool> removed, repeats;
  std::vector<Instance> instances;
  /// Instances made and read at each position.
  std::vector<llvm::SmallVector<uint32_t, 4>> made, read;
  /// Where the backward pass begins, with what is repeated for its first node.
  uint32_t backward = none;
};

void Dropper::build() {
  std::vector<uint32_t> latest(graph.values.size(), none);
  std::vector<bool> ran(graph.nodes.size(), false);
  std::vector<int64_t> changes(order.size() + 2, 0);
  uint32_t forwardEnd = 0;
  made.resize(order.size());
  read.resize(order.size());
  repeats.resize(order.size());
  for (uint32_t position = 0; position < order.size(); ++position) {
    const RematNode &node = graph.nodes[order[position]];
    repeats[position] = ran[order[position]];
    ran[order[position]] = true;
    if (!repeats[position]) {
      if (order[position] == graph.backward)
        backward = forwardEnd;
      forwardEnd = position + 1;
    }
    for (uint32_t value : node.inputs) {
      instances[latest[value]].reads.push_back(position);
      read[position].push_back(latest[value]);
    }
    for (uint32_t value : node.outputs) {
      uint32_t id = instances.size();
      instances.push_back({value, position, {}, latest[value], none});
      if (latest[value] != none)
        instances[latest[value]].next = id;
      latest[value] = id;
      made[position].push_back(id);
    }
    changes[position] += graph.fixedBytes + node.workspace;
    changes[position + 1] -= graph.fixedBytes + node.workspace;
  }
  for (uint32_t value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].leaves)
      instances[latest[value]].reads.push_back(order.size());
  for (const Instance &instance : instances)
    if (takesMemory(instance)) {
      changes[instance.made] += graph.values[instance.value].bytes;
      changes[instance.getEnd() + 1] -= graph.values[instance.value].bytes;
    }
  memory.assign(changes);
}

bool Dropper::isRemovable(uint32_t position) {
  const RematNode &node = graph.nodes[order[position]];
  // Outputs that are kept instead must not be too much where they are together.
  uint32_t begin = position;
  int64_t bytes = 0;
  for (uint32_t id : made[position]) {
    const Instance &instance = instances[id];
    if (instance.reads.empty())
      continue;
    const Instance &before = instances[instance.previous];
    if (node.save == RematSave::Never && before.getEnd() < backward &&
        position >= backward)
      return false;
    begin = std::min(begin, before.getEnd() + 1);
    bytes += graph.values[instance.value].bytes;
    if (memory.getMax(before.getEnd() + 1, position) +
            graph.values[instance.value].bytes >
        budget)
      return false;
  }
  // Several at once: a sufficient test, then.
  return made[position].size() == 1 || memory.getMax(begin, position) + bytes <= budget;
}

void Dropper::remove(uint32_t first) {
  std::vector<uint32_t> positions = {first};
  while (!positions.empty()) {
    uint32_t position = positions.back();
    positions.pop_back();
    if (removed[position])
      continue;
    removed[position] = true;
    for (uint32_t id : made[position]) {
      Instance &instance = instances[id];
      Instance &before = instances[instance.previous];
      count(instance, -1);
      count(before, -1);
      before.reads.insert(before.reads.end(), instance.reads.begin(),
                          instance.reads.end());
      for (uint32_t reader : instance.reads)
        if (reader < order.size())
          std::replace(read[reader].begin(), read[reader].end(), id, instance.previous);
      instance.reads.clear();
      before.next = instance.next;
      if (instance.next != none)
        instances[instance.next].previous = instance.previous;
      count(before, 1);
    }
    memory.add(position, position + 1, -graph.nodes[order[position]].workspace);
    for (uint32_t id : read[position]) {
      Instance &instance = instances[id];
      count(instance, -1);
      auto at = std::lower_bound(instance.reads.begin(), instance.reads.end(), position);
      if (at != instance.reads.end() && *at == position)
        instance.reads.erase(at);
      count(instance, 1);
      if (!removed[instance.made] && !isNeeded(instance.made))
        positions.push_back(instance.made);
    }
  }
}

std::vector<uint32_t> Dropper::run() {
  build();
  std::vector<uint32_t> candidates;
  for (uint32_t position = 0; position < order.size(); ++position)
    if (repeats[position]) {
      if (isNeeded(position))
        candidates.push_back(position);
      else
        remove(position);
    }
  std::stable_sort(candidates.begin(), candidates.end(), [&](uint32_t a, uint32_t b) {
    return graph.nodes[order[a]].cost > graph.nodes[order[b]].cost;
  });
  for (uint32_t position : candidates)
    if (!removed[position] && isRemovable(position))
      remove(position);
  std::vector<uint32_t> result;
  for (uint32_t position = 0; position < order.size(); ++position)
    if (!removed[position])
      result.push_back(order[position]);
  return result;
}

} // namespace

std::vector<uint32_t> detail::dropRepetitions(const RematIndex &index,
                                              const std::vector<uint32_t> &order,
                                              int64_t budget) {
  if (order.size() == index.graph.nodes.size())
    return order;
  return Dropper(index, order, budget).run();
}
