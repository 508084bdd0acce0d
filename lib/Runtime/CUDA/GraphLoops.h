//===- GraphLoops.h - Loops in CUDA graphs ----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loops that end when a value on the device is false, as conditional nodes of a CUDA
/// graph ("while"): the GPU decides whether an iteration follows. A kernel of one
/// thread reads the value before the node and at the end of each iteration.
///
/// Recording goes on in one stream. Where a loop begins, the capture ends, the node is
/// added to what it has recorded, and the next capture records the node's body; where the
/// loop ends, one more goes on after the node.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_GRAPHLOOPS_H
#define MPT_LIB_RUNTIME_CUDA_GRAPHLOOPS_H

#include "CudaApi.h"

namespace mpt::rt::cuda {

class GraphLoops {
public:
  /// Bytes of the device's memory that count a loop's iterations.
  static constexpr int64_t kCountBytes = 16;

  explicit GraphLoops(const Api &api) : api(api) {}
  ~GraphLoops();
  GraphLoops(const GraphLoops &) = delete;
  GraphLoops &operator=(const GraphLoops &) = delete;

  /// Loads the kernel. False, with `why` set, if the driver cannot do this.
  bool load(std::string &why);

  /// A loop that is being recorded.
  struct Open {
    Graph around = nullptr;
    GraphNode node = nullptr;
    /// What the kernel reads: the node's handle, the value (a byte), the number of
    /// iterations so far, most iterations, and whether one has just ended.
    uint64_t arguments[5] = {};
  };
  /// Has what `stream`, which is being captured, is given next be the loop's body.
  Error begin(Stream stream, const char *value, char *count, int64_t most, Open &open);
  /// Has what is given next come after the loop.
  Error end(Stream stream, Open &open);
  /// Ends the capture. `recorded` is all of it, even if something has failed.
  Error endCapture(Stream stream, Graph &recorded);

private:
  Error launch(Stream stream, Open &open);
  Error pause(Stream stream);
  Error resume(Stream stream, Graph into, const GraphNode *after);

  const Api &api;
  Library library = nullptr;
  Kernel kernel = nullptr;
  /// What the capture has recorded before its first loop began, and all that follows.
  Graph whole = nullptr;
  bool isPaused = false;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_GRAPHLOOPS_H
