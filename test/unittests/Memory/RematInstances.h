//===- RematInstances.h - Public graphs for rematerialization -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The networks of Checkmate (Jain et al., MLSys 2020), made from their layers'
/// public shapes under its cost model for the "FLOPs platform", and a GPT.
///
/// A layer is one node of 4 bytes per output element. Its backward node, the gradient of
/// that output, reads the output, the outputs of its readers and their backward nodes, is
/// as large and costs twice as much, as where Checkmate takes a graph from Keras
/// (dfgraph_from_keras). 8 bytes per parameter are fixed.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_UNITTESTS_MEMORY_REMATINSTANCES_H
#define MPT_TEST_UNITTESTS_MEMORY_REMATINSTANCES_H

#include "mpt/Memory/Planning/RematGraph.h"

namespace mpt::test {

/// A network for images, layer by layer.
class LayerNet {
public:
  struct Tensor {
    int64_t height, width, channels;
    int64_t size() const { return height * width * channels; }
  };
  struct Layer {
    std::vector<int> inputs; // -1: the image
    Tensor out;
    int64_t cost;
  };

  LayerNet(int64_t height, int64_t width) : image{height, width, 3} {}

  Tensor get(int layer) const { return layer < 0 ? image : layers[layer].out; }
  int add(std::vector<int> inputs, Tensor out, int64_t cost, int64_t newParams = 0) {
    layers.push_back({std::move(inputs), out, cost});
    params += newParams;
    return layers.size() - 1;
  }
  int conv(int x, int64_t channels, int64_t kernel, int64_t stride = 1,
           bool bias = true) {
    Tensor in = get(x);
    Tensor out{(in.height + stride - 1) / stride, (in.width + stride - 1) / stride,
               channels};
    return add({x}, out, kernel * kernel * in.channels * out.size(),
               kernel * kernel * in.channels * channels + (bias ? channels : 0));
  }
  /// A convolution without padding.
  int convValid(int x, int64_t channels, int64_t kernel, int64_t stride, bool bias) {
    Tensor in = get(x);
    Tensor out{(in.height - kernel) / stride + 1, (in.width - kernel) / stride + 1,
               channels};
    return add({x}, out, kernel * kernel * in.channels * out.size(),
               kernel * kernel * in.channels * channels + (bias ? channels : 0));
  }
  int depthwise(int x, int64_t kernel, int64_t stride) {
    Tensor in = get(x);
    Tensor out{stride == 1 ? in.height : (in.height - kernel) / stride + 1,
               stride == 1 ? in.width : (in.width - kernel) / stride + 1, in.channels};
    return add({x}, out, kernel * kernel * out.size(), kernel * kernel * in.channels);
  }
  int pad(int x, int64_t rows, int64_t columns) {
    Tensor in = get(x);
    return add({x}, {in.height + rows, in.width + columns, in.channels}, 0);
  }
  int batchNorm(int x) {
    return add({x}, get(x), 4 * get(x).size(), 4 * get(x).channels);
  }
  int relu(int x) { return add({x}, get(x), get(x).size()); }
  int sum(int x, int y) { return add({x, y}, get(x), 2 * get(x).size()); }
  int maxPool(int x, int64_t window, int64_t stride) {
    Tensor in = get(x);
    return add({x},
               {(in.height - window) / stride + 1, (in.width - window) / stride + 1,
                in.channels},
               0);
  }
  int globalPool(int x) { return add({x}, {1, 1, get(x).channels}, 0); }
  int flatten(int x) { return add({x}, {1, 1, get(x).size()}, 0); }
  int dense(int x, int64_t channels) {
    int64_t in = get(x).size();
    return add({x}, {1, 1, channels}, in * channels, in * channels + channels);
  }
  int upsample(int x) {
    Tensor in = get(x);
    return add({x}, {2 * in.height, 2 * in.width, in.channels}, 4 * in.size());
  }
  int concat(int x, int y) {
    Tensor a = get(x), b = get(y);
    return add({x, y}, {a.height, a.width, a.channels + b.channels}, 0);
  }

  RematGraph build(int64_t batch) const;

  Tensor image;
  std::vector<Layer> layers;
  int64_t params = 0;
};

LayerNet makeVGG(bool is19);
LayerNet makeMobileNet();
LayerNet makeResNet50();
LayerNet makeUNet();

/// A training step of `layers` transformer layers of width 1024, 16 heads, 1024
/// positions, batch 8: 39 nodes per layer, or 40 where adding attention's mask is an op
/// of its own and not part of the softmax.
RematGraph makeGPT(uint32_t layers, bool addsMask = false);

/// A graph with a forward and a backward half at random; bytes and costs small.
RematGraph makeRandomGraph(uint32_t nodes, uint32_t seed);

/// The least cost within `budget` by trying everything, -1 if nothing does: for at
/// most 12 values.
int64_t searchEverything(const RematGraph &graph, int64_t budget);

/// Runs `order` as a machine would, buffer by buffer, and returns the most bytes held
/// at once; -1 if it cannot be run. Shares no code with the planner.
int64_t simulate(const RematGraph &graph, const std::vector<uint32_t> &order,
                 int64_t &cost);

} // namespace mpt::test

#endif // MPT_TEST_UNITTESTS_MEMORY_REMATINSTANCES_H
