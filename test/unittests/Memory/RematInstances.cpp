//===- RematInstances.cpp - Public graphs for rematerialization -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematInstances.h"

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <set>

using namespace mpt;
using namespace mpt::test;

RematGraph LayerNet::build(int64_t batch) const {
  RematGraph graph;
  graph.fixedBytes = 2 * 4 * params;
  std::vector<uint32_t> forward, gradient(layers.size());
  std::vector<std::vector<int>> readers(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    RematNode node;
    for (int input : layers[i].inputs)
      if (input >= 0) {
        node.inputs.push_back(forward[input]);
        readers[input].push_back(i);
      }
    node.cost = layers[i].cost * batch;
    node.isFree = layers[i].cost <= 4 * layers[i].out.size();
    forward.push_back(
        graph.addValue(graph.addNode(node), 4 * layers[i].out.size() * batch));
  }
  RematNode loss;
  loss.inputs = {forward.back()};
  graph.backward = graph.addNode(loss);
  uint32_t lossValue = graph.addValue(graph.backward, 4 * batch);
  for (size_t i = layers.size(); i-- > 0;) {
    RematNode node;
    int64_t bytes = 4 * layers[i].out.size() * batch;
    node.inputs.push_back(forward[i]);
    for (int reader : readers[i])
      node.inputs.push_back(forward[reader]);
    for (int reader : readers[i])
      node.inputs.push_back(gradient[reader]);
    if (readers[i].empty())
      node.inputs.push_back(lossValue);
    node.cost = 2 * layers[i].cost * batch;
    gradient[i] = graph.addValue(graph.addNode(node), bytes);
  }
  return graph;
}

LayerNet test::makeVGG(bool is19) {
  LayerNet net(224, 224);
  int x = -1;
  int repeats[] = {2, 2, is19 ? 4 : 3, is19 ? 4 : 3, is19 ? 4 : 3};
  int64_t channels[] = {64, 128, 256, 512, 512};
  for (int block = 0; block < 5; ++block) {
    for (int i = 0; i < repeats[block]; ++i)
      x = net.conv(x, channels[block], 3);
    x = net.maxPool(x, 2, 2);
  }
  x = net.flatten(x);
  x = net.dense(x, 4096);
  x = net.dense(x, 4096);
  net.dense(x, 1000);
  return net;
}

LayerNet test::makeMobileNet() {
  LayerNet net(224, 224);
  int x = net.pad(-1, 1, 1);
  x = net.relu(net.batchNorm(net.convValid(x, 32, 3, 2, false)));
  struct Block {
    int64_t channels, stride;
  };
  Block blocks[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                    {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
  for (Block block : blocks) {
    if (block.stride == 2)
      x = net.pad(x, 1, 1);
    x = net.relu(net.batchNorm(net.depthwise(x, 3, block.stride)));
    x = net.relu(net.batchNorm(net.conv(x, block.channels, 1, 1, false)));
  }
  x = net.globalPool(x);
  x = net.flatten(x); // reshape
  // Dropout, the last convolution, reshape and activation of Keras' model.
  x = net.add({x}, net.get(x), 0);
  x = net.conv(x, 1000, 1);
  x = net.flatten(x);
  net.add({x}, net.get(x), 0);
  return net;
}

LayerNet test::makeResNet50() {
  LayerNet net(224, 224);
  int x = net.pad(-1, 6, 6);
  x = net.relu(net.batchNorm(net.convValid(x, 64, 7, 2, true)));
  x = net.maxPool(net.pad(x, 2, 2), 3, 2);
  int64_t widths[] = {64, 128, 256, 512};
  int counts[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < counts[stage]; ++i) {
      int64_t stride = stage > 0 && i == 0 ? 2 : 1, width = widths[stage];
      int shortcut = x;
      int y = net.relu(net.batchNorm(net.conv(x, width, 1, stride)));
      y = net.relu(net.batchNorm(net.conv(y, width, 3)));
      y = net.batchNorm(net.conv(y, 4 * width, 1));
      if (i == 0)
        shortcut = net.batchNorm(net.conv(x, 4 * width, 1, stride));
      x = net.relu(net.sum(y, shortcut));
    }
  x = net.globalPool(x);
  net.dense(x, 1000);
  return net;
}

LayerNet test::makeUNet() {
  // vgg_unet of divamgupta/image-segmentation-keras at 416 x 608, whose fifth block
  // nothing reads.
  LayerNet net(416, 608);
  int x = -1;
  int repeats[] = {2, 2, 3, 3};
  int64_t channels[] = {64, 128, 256, 512};
  std::vector<int> levels;
  for (int block = 0; block < 4; ++block) {
    for (int i = 0; i < repeats[block]; ++i)
      x = net.conv(x, channels[block], 3);
    x = net.maxPool(x, 2, 2);
    levels.push_back(x);
  }
  auto block = [&](int x, int64_t channels) {
    x = net.pad(x, 2, 2);
    return net.batchNorm(net.convValid(x, channels, 3, 1, true));
  };
  x = block(levels[3], 512);
  int64_t widths[] = {256, 128, 64};
  for (int i = 0; i < 3; ++i)
    x = block(net.concat(net.upsample(x), levels[2 - i]), widths[i]);
  x = net.conv(x, 19, 3);
  x = net.add({x}, net.get(x), 0); // reshape
  net.add({x}, net.get(x), 0);     // softmax
  return net;
}

RematGraph test::makeGPT(uint32_t layers, bool addsMask) {
  constexpr int64_t rows = 8 * 1024, width = 1024, heads = 16 * 8, positions = 1024;
  constexpr int64_t unit = 2 * rows * width, scores = 2 * heads * positions * positions;
  RematGraph graph;
  auto add = [&](std::vector<uint32_t> inputs, int64_t bytes, int64_t cost, bool isFree) {
    RematNode node;
    node.inputs = std::move(inputs);
    node.cost = cost;
    node.isFree = isFree;
    return graph.addValue(graph.addNode(node), bytes);
  };
  // Multiply-adds of products; 40 per byte moved otherwise (a machine whose
  // products are that much faster than its memory).
  auto product = [&](int64_t k, int64_t n) { return rows * k * n; };
  auto moved = [&](int64_t bytes) { return 40 * bytes; };
  int64_t attention = heads * positions * positions * (width / 16);
  struct Layer {
    uint32_t x, norm1, qkv, scores, probs, context, projected, x1, norm2, up, act, down;
  };
  std::vector<Layer> saved;
  uint32_t x = add({}, unit, moved(unit), true);
  for (uint32_t i = 0; i < layers; ++i) {
    Layer l;
    l.x = x;
    l.norm1 = add({x}, unit, moved(2 * unit), true);
    l.qkv = add({l.norm1}, 3 * unit, product(width, 3 * width), false);
    l.scores = add({l.qkv}, scores, attention, false);
    uint32_t masked =
        addsMask ? add({l.scores}, scores, moved(2 * scores), true) : l.scores;
    l.probs = add({masked}, scores, moved(2 * scores), true);
    l.context = add({l.probs, l.qkv}, unit, attention, false);
    l.projected = add({l.context}, unit, product(width, width), false);
    l.x1 = add({x, l.projected}, unit, moved(3 * unit), true);
    l.norm2 = add({l.x1}, unit, moved(2 * unit), true);
    l.up = add({l.norm2}, 4 * unit, product(width, 4 * width), false);
    l.act = add({l.up}, 4 * unit, moved(8 * unit), true);
    l.down = add({l.act}, unit, product(4 * width, width), false);
    x = add({l.x1, l.down}, unit, moved(3 * unit), true);
    saved.push_back(l);
  }
  graph.backward = graph.nodes.size();
  uint32_t grad = add({x}, unit, moved(2 * unit), false);
  constexpr int64_t weights = 2 * width * width;
  for (uint32_t i = layers; i-- > 0;) {
    const Layer &l = saved[i];
    auto weight = [&](std::vector<uint32_t> inputs, int64_t n, int64_t cost) {
      uint32_t w = add(std::move(inputs), n * weights, cost, false);
      add({w}, 0, moved(3 * n * weights), false); // the update
    };
    uint32_t dAct = add({grad}, 4 * unit, product(width, 4 * width), false);
    weight({grad, l.act}, 4, product(4 * width, width));
    uint32_t dUp = add({dAct, l.up}, 4 * unit, moved(12 * unit), true);
    uint32_t dNorm2 = add({dUp}, unit, product(4 * width, width), false);
    weight({dUp, l.norm2}, 4, product(4 * width, width));
    uint32_t dX1a = add({dNorm2, l.x1}, unit, moved(3 * unit), true);
    uint32_t dScale2 = add({dNorm2, l.x1}, 2 * width, moved(2 * unit), true);
    add({dScale2}, 0, moved(8 * width), false);
    uint32_t dX1 = add({grad, dX1a}, unit, moved(3 * unit), true);
    uint32_t dContext = add({dX1}, unit, product(width, width), false);
    weight({dX1, l.context}, 1, product(width, width));
    uint32_t dProbs = add({dContext, l.qkv}, scores, attention, false);
    uint32_t dV = add({dContext, l.probs}, unit, attention, false);
    uint32_t dScores = add({dProbs, l.probs}, scores, moved(3 * scores), true);
    uint32_t dQ = add({dScores, l.qkv}, unit, attention, false);
    uint32_t dK = add({dScores, l.qkv}, unit, attention, false);
    uint32_t dQKV = add({dQ, dK, dV}, 3 * unit, moved(6 * unit), true);
    uint32_t dNorm1 = add({dQKV}, unit, product(3 * width, width), false);
    weight({dQKV, l.norm1}, 3, product(3 * width, width));
    uint32_t dXa = add({dNorm1, l.x}, unit, moved(3 * unit), true);
    uint32_t dScale1 = add({dNorm1, l.x}, 2 * width, moved(2 * unit), true);
    add({dScale1}, 0, moved(8 * width), false);
    grad = add({dX1, dXa}, unit, moved(3 * unit), true);
  }
  return graph;
}

RematGraph test::makeRandomGraph(uint32_t nodes, uint32_t seed) {
  std::mt19937 engine(seed);
  auto below = [&](uint32_t count) { return uint32_t(engine() % count); };
  RematGraph graph;
  graph.fixedBytes = below(3);
  graph.backward = nodes / 2;
  for (uint32_t i = 0; i < nodes; ++i) {
    RematNode node;
    std::set<uint32_t> inputs;
    if (!graph.values.empty()) {
      inputs.insert(graph.values.size() - 1 -
                    below(std::min<size_t>(2, graph.values.size())));
      if (i >= nodes / 2)
        inputs.insert(below(graph.values.size()));
    }
    node.inputs.assign(inputs.begin(), inputs.end());
    node.cost = below(10);
    node.workspace = below(4) == 0 ? below(4) : 0;
    node.mayRepeat = below(8) != 0;
    node.isFree = node.cost < 4;
    node.prunesOutputs = below(2);
    uint32_t id = graph.addNode(node);
    for (uint32_t k = 1 + (below(4) == 0); k > 0; --k)
      graph.addValue(id, 1 + below(8), below(10) == 0);
  }
  return graph;
}

int64_t test::simulate(const RematGraph &graph, const std::vector<uint32_t> &order,
                       int64_t &cost) {
  // What each position reads: position that made it, by value.
  std::vector<std::map<uint32_t, size_t>> reads(order.size());
  std::map<uint32_t, size_t> latest;
  std::set<uint32_t> ran;
  cost = 0;
  for (size_t at = 0; at < order.size(); ++at) {
    const RematNode &node = graph.nodes.at(order[at]);
    for (uint32_t input : node.inputs) {
      auto it = latest.find(input);
      if (it == latest.end())
        return -1;
      reads[at][input] = it->second;
    }
    if (!ran.insert(order[at]).second &&
        (!node.mayRepeat || node.save == RematSave::Must))
      return -1;
    if (ran.size() <= order[at])
      return -1;
    for (uint32_t output : node.outputs)
      latest[output] = at;
    cost += node.cost;
  }
  if (ran.size() != graph.nodes.size())
    return -1;
  // How often each instance will still be read.
  std::map<std::pair<uint32_t, size_t>, int> pending;
  for (const auto &read : reads)
    for (auto [value, at] : read)
      ++pending[{value, at}];
  for (uint32_t value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].leaves)
      ++pending[{value, latest[value]}];
  int64_t held = graph.fixedBytes, most = held;
  std::set<uint32_t> before;
  for (size_t at = 0; at < order.size(); ++at) {
    const RematNode &node = graph.nodes[order[at]];
    bool isRepeat = !before.insert(order[at]).second;
    std::vector<int64_t> unread;
    for (uint32_t output : node.outputs) {
      bool isRead = pending.count({output, at});
      if (!isRead && isRepeat && node.prunesOutputs)
        continue;
      held += graph.values[output].bytes;
      if (!isRead)
        unread.push_back(graph.values[output].bytes);
    }
    most = std::max(most, held + node.workspace);
    for (int64_t bytes : unread)
      held -= bytes;
    for (auto [value, from] : reads[at])
      if (--pending[{value, from}] == 0)
        held -= graph.values[value].bytes;
  }
  return most;
}

int64_t test::searchEverything(const RematGraph &graph, int64_t budget) {
  // Dijkstra over (nodes that have run, values that are there).
  using State = std::pair<uint32_t, uint32_t>;
  std::map<State, int64_t> best;
  using Entry = std::pair<int64_t, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  auto reach = [&](State state, int64_t cost) {
    auto [it, isNew] = best.insert({state, cost});
    if (!isNew && it->second <= cost)
      return;
    it->second = cost;
    queue.push({cost, state});
  };
  uint32_t leaving = 0;
  for (uint32_t v = 0; v < graph.values.size(); ++v)
    if (graph.values[v].leaves)
      leaving |= 1u << v;
  auto bytesOf = [&](uint32_t set) {
    int64_t bytes = graph.fixedBytes;
    for (uint32_t v = 0; v < graph.values.size(); ++v)
      if (set >> v & 1)
        bytes += graph.values[v].bytes;
    return bytes;
  };
  reach({0, 0}, 0);
  while (!queue.empty()) {
    auto [cost, state] = queue.top();
    queue.pop();
    if (best[state] < cost)
      continue;
    auto [next, there] = state;
    if (next == graph.nodes.size() && (there & leaving) == leaving)
      return cost;
    for (uint32_t v = 0; v < graph.values.size(); ++v)
      if (there >> v & 1)
        reach({next, there & ~(1u << v)}, cost);
    for (uint32_t id = 0; id < graph.nodes.size() && id <= next; ++id) {
      const RematNode &node = graph.nodes[id];
      if (id < next && (!node.mayRepeat || node.save == RematSave::Must))
        continue;
      bool ready = true;
      for (uint32_t input : node.inputs)
        ready &= there >> input & 1;
      if (!ready)
        continue;
      // A repetition may leave out outputs: all choices of them.
      uint32_t outputs = 0;
      for (uint32_t output : node.outputs)
        outputs |= 1u << output;
      for (uint32_t made = outputs; made; made = (made - 1) & outputs) {
        if (made != outputs && (id == next || !node.prunesOutputs))
          continue;
        // Making what is there already takes a second buffer.
        if (bytesOf(there & ~made) + bytesOf(made) - graph.fixedBytes + node.workspace >
            budget)
          continue;
        if (made & there)
          continue;
        reach({next + (id == next), there | made}, cost + node.cost);
      }
    }
  }
  return -1;
}
