//===- CudnnConvolution.h - A plan as cuDNN's descriptors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// cuDNN proposes engine configurations for a graph of one operation; the first that
/// becomes a plan and that MPT can use is the one. All of it is made before anything is
/// recorded; a run is one call.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_CUDNNCONVOLUTION_H
#define MPT_LIB_RUNTIME_CUDA_CUDNNCONVOLUTION_H

#include "CudnnApi.h"
#include "mpt/ProgramABI/CudnnPlan.h"

#include <list>

namespace mpt::rt::cuda {

/// The library's handle, on a stream; or a device that need not be there, for which
/// plans are made but cannot run.
struct CudnnContext {
  CudnnApi api;
  CudnnHandle handle = nullptr;
  CudnnDesc device = nullptr;

  CudnnContext() = default;
  ~CudnnContext();
  CudnnContext(const CudnnContext &) = delete;
  CudnnContext &operator=(const CudnnContext &) = delete;
  /// cuDNN's status; `what` says of what.
  Status create(Stream stream, const char *&what);
  /// Instead of that: the device's properties, as cuDNN 9.8 and newer write them.
  Status describe(const std::string &json, const char *&what);
};

/// Descriptors that go together, the last one first.
class CudnnDescriptors {
public:
  explicit CudnnDescriptors(const CudnnApi &api) : api(&api) {}
  ~CudnnDescriptors();
  CudnnDescriptors(CudnnDescriptors &&other);
  CudnnDescriptors &operator=(CudnnDescriptors &&) = delete;

  Status create(CudnnKind kind, CudnnDesc &made);

  const CudnnApi *api;

private:
  std::vector<CudnnDesc> all;
};

/// Whether a status of cuDNN says that it will not do something, rather than that
/// something has failed.
bool isCudnnRefusal(Status status);

/// What is run for all convolutions of one plan.
class CudnnConvolution {
public:
  explicit CudnnConvolution(const CudnnContext &context)
      : context(context), descriptors(context.api) {}
  ~CudnnConvolution();
  CudnnConvolution(const CudnnConvolution &) = delete;
  CudnnConvolution &operator=(const CudnnConvolution &) = delete;

  /// Returns cuDNN's status if it fails; `what` says of what. If cuDNN refuses, the
  /// status is 0 and `refusal` says why.
  Status create(const CudnnPlan &plan, const char *&what);
  bool hasPlan() const { return executionPlan != nullptr; }

  std::string refusal;
  CudnnDesc executionPlan = nullptr;

private:
  Status makeOperation(const CudnnPlan &plan, const char *&what);
  Status makeTensor(const CudnnTensor &tensor, int64_t id, CudnnDesc &made,
                    const char *&what);
  Status propose(int mode, bool isExact, const char *&what);
  Status tryConfig(CudnnDesc config, bool isExact, const char *&what);
  Status makePlan(CudnnDesc config, const char *&what);

  const CudnnContext &context;
  CudnnDescriptors descriptors;
  CudnnDesc graph = nullptr;
  /// Of the plan.
  std::list<CudnnDescriptors> kept;
  /// Configurations that were proposed, and why they were not taken.
  int64_t proposed = 0, inexact = 0, tooLarge = 0, unfinished = 0;
  Status lastStatus = 0;
};

/// The buffers of one call.
class CudnnVariantPack {
public:
  explicit CudnnVariantPack(const CudnnApi &api) : descriptors(api) {}

  Status create(void *x, void *w, void *y, void *workspace, const char *&what);
  Status run(const CudnnContext &context, const CudnnConvolution &convolution) const {
    return context.api.cudnnBackendExecute(context.handle, convolution.executionPlan,
                                           pack);
  }

private:
  CudnnDescriptors descriptors;
  CudnnDesc pack = nullptr;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_CUDNNCONVOLUTION_H
