//===- StandInDnn.h - Descriptors of the stand-in for cuDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_LIB_CUDASTANDINDNN_H
#define MPT_TEST_LIB_CUDASTANDINDNN_H

#include "../../../lib/Runtime/CUDA/CudnnApi.h"
#include "StandInState.h"

#include <functional>

namespace mpt::standin {

/// A descriptor: bytes by attribute.
struct CudnnState {
  CudnnKind kind = CudnnKind::Tensor;
  bool isFinal = false;
  /// Of an engine or its configuration, and the graph that it is for.
  int engine = 0;
  CudnnState *graph = nullptr;

  bool has(CudnnAttribute attribute) const { return values.count(attribute) != 0; }
  void set(CudnnAttribute attribute, const void *data, size_t bytes) {
    auto *begin = static_cast<const char *>(data);
    values[attribute].assign(begin, begin + bytes);
  }
  template <typename T>
  std::vector<T> get(CudnnAttribute attribute) const {
    const std::vector<char> &bytes = values.at(attribute);
    std::vector<T> found(bytes.size() / sizeof(T));
    std::memcpy(found.data(), bytes.data(), bytes.size());
    return found;
  }

private:
  std::map<CudnnAttribute, std::vector<char>> values;
};

struct CudnnTensorState {
  DataType type = DataType::F32;
  std::vector<int64_t> dims, strides;
  int64_t id = 0, alignment = 1;
  /// Only inside a kernel; a number of the host's.
  bool isVirtual = false, isNumber = false;
};

/// The operation of a graph.
struct CudnnOperation {
  CudnnKind kind = CudnnKind::ConvolutionForward;
  CudnnTensorState x, w, y;
  std::vector<int64_t> strides, padBefore, padAfter, dilations;
};

CudnnTensorState tensorOf(const CudnnState &desc);
CudnnOperation operationOf(const CudnnState &graph);

/// Carries it out, in f32; operands of f32 are cut to TF32 if `cuts`.
void convolve(const CudnnOperation &op, bool cuts, void *x, void *w, void *y);

/// The operations of a graph, in order.
std::vector<const CudnnState *> operationsOf(const CudnnState &graph);
/// Whether a graph is of elementwise operations, matmuls, reductions and reshapes.
bool isFused(const CudnnState &graph);
/// What is wrong with such a graph, or null.
const char *checkFused(const CudnnState &graph);
/// The tensors of such a graph that lie in memory.
std::vector<CudnnTensorState> buffersOf(const CudnnState &graph);
/// Carries it out, one operation after the other, in f32; every tensor is rounded to
/// its type. `find` gives the memory of a tensor.
void runFused(const CudnnState &graph,
              const std::function<void *(const CudnnTensorState &)> &find);

} // namespace mpt::standin

#endif // MPT_TEST_LIB_CUDASTANDINDNN_H
