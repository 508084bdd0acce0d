//===- RematAnneal.cpp - Local search over repetitions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Simulated annealing over sets of repetitions. A repetition (stage, node) runs
/// `node` before the first run of node `stage` (number of nodes: before the end);
/// those of one stage run in the graph's order. Every set is a valid plan: a value
/// that is read stays from the latest run of its maker on. So a set says how long
/// each value is alive, and a move changes a few lifetimes. Time is cut into blocks; how
/// far the most memory in a block is over the budget costs a price per byte, which rises
/// while it is and falls while it is not.
///
//===----------------------------------------------------------------------===//

#include "RematStrategies.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mpt;
using namespace mpt::detail;

namespace {

constexpr uint32_t none = ~uint32_t(0);

/// SplitMix64 (Steele, Lea and Flood).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint32_t below(uint32_t count) { return (next() >> 32) * count >> 32; }
  /// In (0, 1].
  double unit() { return double((next() >> 11) + 1) * 0x1p-53; }

private:
  uint64_t state;
};

class Annealer {
public:
  Annealer(const RematGraph &graph, int64_t budget, uint64_t seed);

  void load(const std::vector<uint32_t> &order);
  /// `hot` is the temperature at first, in mean costs of a repetition.
  void run(int64_t work, double hot);
  std::vector<uint32_t> getBest() const;

private:
  /// A run of a node, in a list by time. Slots 0 to the number of nodes are the first
  /// runs and the end.
  struct Slot {
    uint32_t stage, node;
    uint32_t previous, next;
    int64_t memory;
  };
  /// Consecutive stages: the most memory of a slot, less what is added to all.
  struct Block {
    int64_t top, added;
    double price;
  };
  struct Toggle {
    uint32_t stage, node;
    bool isAdded;
  };

  bool isBefore(uint32_t a, uint32_t b) const {
    return slots[a].stage != slots[b].stage ? slots[a].stage < slots[b].stage
                                            : slots[a].node < slots[b].node;
  }
  bool isFirst(uint32_t slot) const { return slot <= end; }
  /// An output that nobody reads takes no memory where its node repeats and can leave
  /// it out.
  bool isPruned(uint32_t slot) const {
    return slot > end && graph.nodes[slots[slot].node].prunesOutputs;
  }
  int64_t excess(int64_t memory) const { return memory > budget ? memory - budget : 0; }
  uint32_t blockOf(uint32_t slot) const { return slots[slot].stage / blockSize; }
  void setTop(Block &block, int64_t top) {
    shift(block, top - block.top);
    block.top = top;
  }
  /// Counts what changes if the most memory in `block` rises `by` so much.
  void shift(const Block &block, int64_t by) {
    int64_t before = excess(block.top + block.added),
            after = excess(block.top + block.added + by);
    if (before == after)
      return;
    penalty += block.price * double(after - before);
    violated += (after > 0) - (before > 0);
  }
  void setPrices(double up, double down);
  void change(uint32_t slot, int64_t by) { changeInBlock(slot, slots[slot].next, by); }
  /// Slots from `from` to before `to`, all of one block.
  void changeInBlock(uint32_t from, uint32_t to, int64_t by) {
    Block &block = blocks[blockOf(from)];
    int64_t top = block.top;
    bool isLost = false;
    for (uint32_t s = from; s != to; s = slots[s].next) {
      isLost |= slots[s].memory == block.top;
      slots[s].memory += by;
      top = std::max(top, slots[s].memory);
      ++walked;
    }
    if (by < 0 && isLost)
      findTop(blockOf(from));
    else
      setTop(block, top);
  }
  void findTop(uint32_t id) {
    uint32_t s = getFirst(id), last = std::min((id + 1) * blockSize - 1, end);
    int64_t top = slots[last].memory;
    for (; s != last; s = slots[s].next) {
      top = std::max(top, slots[s].memory);
      ++walked;
    }
    setTop(blocks[id], top);
  }
  /// The first slot of a block.
  uint32_t getFirst(uint32_t block) const {
    return block == 0 ? 0 : slots[block * blockSize - 1].next;
  }
  /// Slots after `from` to before `to`.
  void changeBetween(uint32_t from, uint32_t to, int64_t by) {
    from = slots[from].next;
    if (from == to)
      return;
    uint32_t first = blockOf(from), last = blockOf(slots[to].previous);
    if (first == last)
      return changeInBlock(from, to, by);
    changeInBlock(from, getFirst(first + 1), by);
    for (uint32_t b = first + 1; b < last; ++b) {
      Block &block = blocks[b];
      shift(block, by);
      block.added += by;
    }
    walked += (last - first) / 4;
    changeInBlock(getFirst(last), to, by);
  }
  /// The repetition of `node` in `stage`, or `none`; `after` is the slot that it
  /// follows.
  uint32_t find(uint32_t stage, uint32_t node, uint32_t &after) const {
    uint32_t at = slots[stage].previous;
    while (at != none && slots[at].stage == stage && slots[at].node > node)
      at = slots[at].previous;
    after = at;
    return at != none && slots[at].stage == stage && slots[at].node == node ? at : none;
  }
  /// Around a moment of a value's: the run that made the instance, its last read so
  /// far (the run, if there is none), and whether it is read later.
  struct Around {
    uint32_t made, last;
    size_t makeAt, readAt;
    bool isReadLater;
  };
  Around lookAround(uint32_t value, uint32_t slot) const;

  void add(uint32_t stage, uint32_t node);
  void remove(uint32_t slot);
  void addLogged(uint32_t stage, uint32_t node) {
    add(stage, node);
    log.push_back({stage, node, true});
  }
  void removeLogged(uint32_t slot) {
    log.push_back({slots[slot].stage, slots[slot].node, false});
    remove(slot);
  }
  void undo();

  /// Adds one recomputation. Each operand whose lifetime this would extend is also
  /// recomputed, with probability `closure` / 8.
  bool addClosed(uint32_t stage, uint32_t node, uint32_t closure);
  /// Removes a repetition, and what is then made for nothing.
  void removeClosed(uint32_t slot);
  bool moveAdd();
  bool moveRemove();
  bool moveShift();
  bool isUseless(uint32_t slot) const;
  bool isPinned(uint32_t slot) const {
    return graph.nodes[slots[slot].node].save == RematSave::Never;
  }

  const RematGraph &graph;
  int64_t budget;
  uint32_t end, blockSize;
  std::vector<Block> blocks;
  Random random;
  std::vector<Slot> slots;
  std::vector<uint32_t> freeSlots;
  /// Repetitions, and where each slot is among them.
  std::vector<uint32_t> repetitions, repetitionAt;
  /// Per value its makers and readers by time.
  std::vector<std::vector<uint32_t>> makes, reads;
  /// Values that may be dropped.
  std::vector<uint32_t> droppable;
  int64_t cost = 0, walked = 0;
  /// Blocks over the budget.
  int64_t violated = 0;
  double penalty = 0;
  /// Prices fall no lower, and penalties of a block rise no higher.
  double least = 0, most = 0;
  std::vector<Toggle> log;
  std::vector<uint32_t> stack, makers;
  int64_t bestCost = std::numeric_limits<int64_t>::max();
  std::vector<std::pair<uint32_t, uint32_t>> best;
};

Annealer::Annealer(const RematGraph &graph, int64_t budget, uint64_t seed)
    : graph(graph), budget(budget), end(graph.nodes.size()), random(seed),
      makes(graph.values.size()), reads(graph.values.size()) {
  slots.resize(end + 1);
  for (uint32_t i = 0; i <= end; ++i) {
    slots[i] = {i, i, i ? i - 1 : none, i < end ? i + 1 : none, graph.fixedBytes};
    if (i == end)
      continue;
    slots[i].memory += graph.nodes[i].workspace;
    for (uint32_t value : graph.nodes[i].outputs)
      makes[value] = {i};
    for (uint32_t value : graph.nodes[i].inputs)
      reads[value].push_back(i);
  }
  std::vector<int64_t> changes(end + 2, 0);
  for (uint32_t value = 0; value < graph.values.size(); ++value) {
    if (graph.values[value].leaves)
      reads[value].push_back(end);
    uint32_t made = graph.values[value].node;
    changes[made] += graph.values[value].bytes;
    changes[(reads[value].empty() ? made : reads[value].back()) + 1] -=
        graph.values[value].bytes;
    if (graph.nodes[made].repeats() && graph.values[value].bytes > 0 &&
        !reads[value].empty() && reads[value].back() > made + 1)
      droppable.push_back(value);
  }
  int64_t live = 0;
  for (uint32_t i = 0; i <= end; ++i) {
    live += changes[i];
    slots[i].memory += live;
  }
  blockSize = std::max(1u, uint32_t(std::sqrt(double(end)) * 0.25));
  blocks.assign(end / blockSize + 1, Block{0, 0, 0});
  for (uint32_t i = 0; i <= end; ++i)
    blocks[i / blockSize].top = std::max(blocks[i / blockSize].top, slots[i].memory);
  for (const Block &block : blocks)
    violated += block.top > budget;
  repetitionAt.assign(end + 1, none);
}

Annealer::Around Annealer::lookAround(uint32_t value, uint32_t slot) const {
  const std::vector<uint32_t> &made = makes[value], &read = reads[value];
  size_t m = made.size();
  while (!isBefore(made[m - 1], slot))
    --m;
  size_t r = std::partition_point(read.begin(), read.end(),
                                  [&](uint32_t s) { return isBefore(s, slot); }) -
             read.begin();
  Around around;
  around.made = made[m - 1];
  around.makeAt = m;
  around.readAt = r;
  around.last = r > 0 && isBefore(around.made, read[r - 1]) ? read[r - 1] : around.made;
  // `slot` itself may be among them.
  size_t later = r, nextMake = m;
  if (later < read.size() && read[later] == slot)
    ++later;
  if (nextMake < made.size() && made[nextMake] == slot)
    ++nextMake;
  around.isReadLater = later < read.size() &&
                       (nextMake == made.size() || isBefore(read[later], made[nextMake]));
  return around;
}

void Annealer::add(uint32_t stage, uint32_t id) {
  uint32_t after;
  find(stage, id, after);
  uint32_t slot;
  if (freeSlots.empty()) {
    slot = slots.size();
    slots.emplace_back();
    repetitionAt.push_back(none);
  } else {
    slot = freeSlots.back();
    freeSlots.pop_back();
  }
  const RematNode &node = graph.nodes[id];
  uint32_t next = slots[after].next;
  // What is alive here: all that is while the next one runs but what that makes. Both
  // are of one block.
  int64_t live = slots[next].memory;
  if (next != end) {
    const RematNode &following = graph.nodes[slots[next].node];
    live -= following.workspace;
    for (uint32_t value : following.outputs) {
      if (isPruned(next)) {
        Around around = lookAround(value, next);
        if (!around.isReadLater)
          continue;
      }
      live -= graph.values[value].bytes;
    }
  }
  slots[slot] = {stage, id, after, next, live};
  slots[after].next = slot;
  slots[next].previous = slot;
  setTop(blocks[stage / blockSize], std::max(blocks[stage / blockSize].top, live));
  change(slot, node.workspace);
  for (uint32_t value : node.outputs) {
    int64_t bytes = graph.values[value].bytes;
    Around around = lookAround(value, slot);
    if (around.isReadLater) {
      changeBetween(around.last, slot, -bytes);
      if (around.last == around.made && isPruned(around.made))
        change(around.made, -bytes);
    } else if (!isPruned(slot)) {
      change(slot, bytes);
    }
    makes[value].insert(makes[value].begin() + around.makeAt, slot);
  }
  for (uint32_t value : node.inputs) {
    int64_t bytes = graph.values[value].bytes;
    Around around = lookAround(value, slot);
    if (!around.isReadLater) {
      changeBetween(around.last, slot, bytes);
      change(slot, bytes);
      if (around.last == around.made && isPruned(around.made))
        change(around.made, bytes);
    }
    reads[value].insert(reads[value].begin() + around.readAt, slot);
  }
  cost += node.cost;
  repetitionAt[slot] = repetitions.size();
  repetitions.push_back(slot);
  walked += 4;
}

void Annealer::remove(uint32_t slot) {
  const RematNode &node = graph.nodes[slots[slot].node];
  for (uint32_t value : node.inputs) {
    int64_t bytes = graph.values[value].bytes;
    Around around = lookAround(value, slot);
    reads[value].erase(reads[value].begin() + around.readAt);
    if (around.isReadLater)
      continue;
    changeBetween(around.last, slot, -bytes);
    if (around.last == around.made && isPruned(around.made))
      change(around.made, -bytes);
  }
  for (uint32_t value : node.outputs) {
    int64_t bytes = graph.values[value].bytes;
    Around around = lookAround(value, slot);
    makes[value].erase(makes[value].begin() + around.makeAt);
    if (!around.isReadLater)
      continue;
    changeBetween(around.last, slot, bytes);
    if (around.last == around.made && isPruned(around.made))
      change(around.made, bytes);
  }
  slots[slots[slot].previous].next = slots[slot].next;
  slots[slots[slot].next].previous = slots[slot].previous;
  if (slots[slot].memory == blocks[blockOf(slot)].top)
    findTop(blockOf(slot));
  cost -= node.cost;
  uint32_t at = repetitionAt[slot];
  repetitions[at] = repetitions.back();
  repetitionAt[repetitions[at]] = at;
  repetitions.pop_back();
  freeSlots.push_back(slot);
  walked += 4;
}

void Annealer::undo() {
  while (!log.empty()) {
    Toggle toggle = log.back();
    log.pop_back();
    if (toggle.isAdded) {
      uint32_t after;
      remove(find(toggle.stage, toggle.node, after));
    } else {
      add(toggle.stage, toggle.node);
    }
  }
}

bool Annealer::addClosed(uint32_t stage, uint32_t id, uint32_t closure) {
  stack.assign(1, id);
  bool isAdded = false;
  while (!stack.empty()) {
    uint32_t node = stack.back(), after;
    stack.pop_back();
    if (node >= stage || find(stage, node, after) != none || log.size() > 64)
      continue;
    addLogged(stage, node);
    isAdded = true;
    uint32_t slot = find(stage, node, after);
    for (uint32_t value : graph.nodes[node].inputs) {
      uint32_t maker = graph.values[value].node;
      if (!graph.nodes[maker].repeats() || random.below(8) >= closure)
        continue;
      Around around = lookAround(value, slot);
      if (!around.isReadLater && slots[around.last].stage < stage &&
          slots[around.last].next != slot)
        stack.push_back(maker);
    }
  }
  return isAdded;
}

bool Annealer::isUseless(uint32_t slot) const {
  for (uint32_t value : graph.nodes[slots[slot].node].outputs)
    if (lookAround(value, slot).isReadLater)
      return false;
  return true;
}

void Annealer::removeClosed(uint32_t slot) {
  stack.assign(1, slot);
  while (!stack.empty()) {
    uint32_t at = stack.back();
    stack.pop_back();
    makers.clear();
    for (uint32_t value : graph.nodes[slots[at].node].inputs)
      makers.push_back(lookAround(value, at).made);
    removeLogged(at);
    std::sort(makers.begin(), makers.end());
    makers.erase(std::unique(makers.begin(), makers.end()), makers.end());
    for (uint32_t maker : makers)
      if (!isFirst(maker) && !isPinned(maker) && isUseless(maker) &&
          std::find(stack.begin(), stack.end(), maker) == stack.end())
        stack.push_back(maker);
  }
}

bool Annealer::moveAdd() {
  uint32_t value = droppable[random.below(droppable.size())];
  const std::vector<uint32_t> &read = reads[value];
  uint32_t stage = slots[read[random.below(read.size())]].stage;
  constexpr uint32_t closures[] = {0, 4, 7, 8};
  return addClosed(stage, graph.values[value].node, closures[random.below(4)]);
}

bool Annealer::moveRemove() {
  if (repetitions.empty())
    return false;
  uint32_t slot = repetitions[random.below(repetitions.size())];
  if (isPinned(slot))
    return false;
  removeClosed(slot);
  return true;
}

bool Annealer::moveShift() {
  if (repetitions.empty())
    return false;
  uint32_t slot = repetitions[random.below(repetitions.size())];
  if (isPinned(slot))
    return false;
  uint32_t node = slots[slot].node, stage = slots[slot].stage;
  uint32_t to = stage;
  if (random.below(2)) {
    const std::vector<uint32_t> &outputs = graph.nodes[node].outputs;
    const std::vector<uint32_t> &read = reads[outputs[random.below(outputs.size())]];
    if (read.empty())
      return false;
    to = slots[read[random.below(read.size())]].stage;
  } else {
    to = stage + random.below(9) - 4;
  }
  if (to == stage || to > end || to <= node)
    return false;
  removeClosed(slot);
  constexpr uint32_t closures[] = {0, 4, 7, 8};
  addClosed(to, node, closures[random.below(4)]);
  return true;
}

void Annealer::load(const std::vector<uint32_t> &order) {
  uint32_t stage = 0;
  std::vector<uint32_t> waiting;
  auto flush = [&] {
    for (uint32_t node : waiting) {
      uint32_t after;
      if (find(stage, node, after) == none)
        add(stage, node);
    }
    waiting.clear();
  };
  for (uint32_t node : order) {
    if (node == stage) {
      flush();
      ++stage;
    } else {
      waiting.push_back(node);
    }
  }
  flush();
}

void Annealer::setPrices(double up, double down) {
  penalty = 0;
  for (Block &block : blocks) {
    int64_t over = excess(block.top + block.added);
    if (over == 0)
      block.price = std::max(block.price * down, least);
    else if (block.price * double(over) < most)
      block.price *= up;
    penalty += block.price * double(over);
  }
  walked += blocks.size() / 4;
}

void Annealer::run(int64_t work, double hot) {
  if (droppable.empty())
    return;
  double total = 0, bytes = 0;
  for (uint32_t value : droppable) {
    total += graph.nodes[graph.values[value].node].cost;
    bytes += double(graph.values[value].bytes) *
             (reads[value].back() - graph.values[value].node);
  }
  double mean = total / double(droppable.size());
  const double cold = mean * 0.002;
  hot *= mean;
  least = 0.1 * total / bytes;
  most = 1000 * hot;
  for (Block &block : blocks)
    block.price = 10 * total / bytes;
  setPrices(1, 1);
  uint64_t moves = 0;
  int64_t stop = walked + work, begin = walked;
  double temperature = hot;
  while (walked < stop) {
    if (moves++ % 128 == 0) {
      double part = double(walked - begin) / double(work);
      temperature = hot * std::pow(cold / hot, part);
      setPrices(1.02, 0.99);
    }
    ++walked;
    int64_t costBefore = cost;
    double penaltyBefore = penalty;
    log.clear();
    uint32_t kind = random.below(8);
    bool isMove = kind < 3   ? moveAdd()
                  : kind < 5 ? moveRemove()
                  : kind < 7 ? moveShift()
                             : (moveRemove() && moveAdd());
    if (!isMove && log.empty())
      continue;
    double worse = double(cost - costBefore) + (penalty - penaltyBefore);
    if (worse > 0 && worse > -temperature * std::log(random.unit())) {
      undo();
      continue;
    }
    if (violated == 0 && cost < bestCost) {
      bestCost = cost;
      best.clear();
      for (uint32_t slot : repetitions)
        best.push_back({slots[slot].stage, slots[slot].node});
    }
  }
}

std::vector<uint32_t> Annealer::getBest() const {

  if (bestCost == std::numeric_limits<int64_t>::max())
    return {};
  std::vector<std::pair<uint32_t, uint32_t>> sorted = best;
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> order;
  size_t at = 0;
  for (uint32_t stage = 0; stage <= end; ++stage) {
    for (; at < sorted.size() && sorted[at].first == stage; ++at)
      order.push_back(sorted[at].second);
    if (stage < end)
      order.push_back(stage);
  }
  return order;
}

} // namespace

std::vector<uint32_t> detail::annealOrder(const RematIndex &index,
                                          const std::vector<uint32_t> &start,
                                          int64_t budget,
                                          const AnnealParameters &parameters) {
  Annealer annealer(index.graph, budget, parameters.seed);
  annealer.load(start);
  annealer.run(parameters.work, parameters.hot);
  return annealer.getBest();
}
