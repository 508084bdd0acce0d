//===- GemmTuning.h - Algorithms by measuring -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_GEMMTUNING_H
#define MPT_LIB_RUNTIME_CUDA_GEMMTUNING_H

#include "CublasLtMatmul.h"

namespace mpt::rt::cuda {

/// The fastest algorithm of a matmul.
struct TunedGemm {
  std::string key;
  CublasLtAlgo algo = {};
  /// Of this one and of cuBLASLt's first proposal.
  double microseconds = 0, firstMicroseconds = 0;
  int candidates = 0, chosen = 0;
};

/// Where algorithms are measured: the first GPU.
class GemmTuner {
public:
  ~GemmTuner();
  /// False, with `error` set, if there is no GPU or a library is missing.
  bool open(const std::string &cudart, const std::string &cublasLt, std::string &error);
  std::string keyOf(const GemmPlan &plan) const {
    return tuningKey(version, architecture, multiprocessors, plan);
  }
  int getArchitecture() const { return architecture; }
  /// Measures up to `most` of cuBLASLt's proposals for `plan`, on random
  /// numbers.
  bool tune(const GemmPlan &plan, int most, TunedGemm &result, std::string &error);

private:
  bool check(Error code, const std::string &what, std::string &error);
  bool measure(const CublasLtMatmul &matmul, const CublasLtAlgo &algo,
               char *const buffers[], double &microseconds, std::string &error);

  Api api;
  size_t version = 0;
  int architecture = 0, multiprocessors = 0;
  Stream stream = nullptr;
  Event events[2] = {nullptr, nullptr};
  CublasLtContext context{api};
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_GEMMTUNING_H
