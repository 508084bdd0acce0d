//===- StandInDnn.h - Descriptors of the stand-in for cuDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_LIB_CUDASTANDINDNN_H
#define MPT_TEST_LIB_CUDASTANDINDNN_H

#include "../../../lib/Runtime/CUDA/DnnApi.h"
#include "StandInState.h"

namespace mpt::standin {

/// A descriptor: bytes by attribute.
struct DnnState {
  DnnKind kind = DnnKind::Tensor;
  bool isFinal = false;
  /// Of an engine or its configuration, and the graph that it is for.
  int engine = 0;
  DnnState *graph = nullptr;

  bool has(DnnAttribute attribute) const { return values.count(attribute) != 0; }
  void set(DnnAttribute attribute, const void *data, size_t bytes) {
    auto *begin = static_cast<const char *>(data);
    values[attribute].assign(begin, begin + bytes);
  }
  template <typename T>
  std::vector<T> get(DnnAttribute attribute) const {
    const std::vector<char> &bytes = values.at(attribute);
    std::vector<T> found(bytes.size() / sizeof(T));
    std::memcpy(found.data(), bytes.data(), bytes.size());
    return found;
  }

private:
  std::map<DnnAttribute, std::vector<char>> values;
};

struct DnnTensorState {
  DataType type = DataType::F32;
  std::vector<int64_t> dims, strides;
  int64_t id = 0, alignment = 1;
};

/// The operation of a graph.
struct DnnOperation {
  DnnKind kind = DnnKind::ConvolutionForward;
  DnnTensorState x, w, y;
  std::vector<int64_t> strides, padBefore, padBehind, dilations;
};

DnnTensorState tensorOf(const DnnState &desc);
DnnOperation operationOf(const DnnState &graph);

/// Carries it out, in f32; operands of f32 are cut to TF32 if `cuts`.
void convolve(const DnnOperation &op, bool cuts, void *x, void *w, void *y);

} // namespace mpt::standin

#endif // MPT_TEST_LIB_CUDASTANDINDNN_H
