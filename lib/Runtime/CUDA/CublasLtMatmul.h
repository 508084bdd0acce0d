//===- CublasLtMatmul.h - A plan as cuBLASLt's descriptors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_CUBLASLTMATMUL_H
#define MPT_LIB_RUNTIME_CUDA_CUBLASLTMATMUL_H

#include "CudaApi.h"
#include "mpt/ProgramABI/GemmPlan.h"

#include <vector>

namespace mpt::rt::cuda {

/// What matmuls share: the library's handle and what is asked of algorithms.
struct CublasLtContext {
  const Api &api;
  CublasLtHandle handle = nullptr;
  CublasLtPreference preference = nullptr;

  explicit CublasLtContext(const Api &api) : api(api) {}
  ~CublasLtContext();
  CublasLtContext(const CublasLtContext &) = delete;
  CublasLtContext &operator=(const CublasLtContext &) = delete;
  /// cuBLASLt's status; `what` says of what.
  Status create(const char *&what);
};

/// Bytes that the addresses of a matmul's matrices are multiples of, at least: powers of
/// two up to 256, which is what cuBLASLt takes for granted where it is not told.
struct CublasLtAlignments {
  /// Of A, B, C and D.
  uint32_t bytes[4] = {256, 256, 256, 256};
};

/// What a matmul reads and writes beside its matrices, as its plan says.
struct CublasLtPointers {
  const void *bias = nullptr, *aux = nullptr, *scalesA = nullptr, *scalesB = nullptr;
};

/// Whether a matmul that fails to run with `status` may run with another algorithm.
bool isRefusedAlgorithm(Status status);

/// One matmul: descriptors and the algorithm.
class CublasLtMatmul {
public:
  explicit CublasLtMatmul(const Api &api) : api(&api) {}
  ~CublasLtMatmul();
  CublasLtMatmul(CublasLtMatmul &&other);
  CublasLtMatmul &operator=(CublasLtMatmul &&) = delete;

  /// Returns cuBLASLt's status; `what` says of what.
  Status create(const GemmPlan &plan, const CublasLtPointers &pointers,
                const char *&what);
  /// Other places of what it uses.
  Status move(const CublasLtPointers &pointers, const char *&what);
  /// Up to `most` algorithms for matrices of such alignments, the best first by
  /// cuBLASLt's guess.
  Status propose(const CublasLtContext &context, int most,
                 std::vector<CublasLtHeuristic> &found,
                 const CublasLtAlignments &alignments = {}) const;
  /// `c` is what beta adds, laid out as `d`, and may be `d`.
  Status run(const CublasLtContext &context, const CublasLtAlgo &algo, const void *a,
             const void *b, const void *c, void *d, void *workspace,
             int64_t workspaceBytes, Stream stream) const;

  /// Has these algorithms, in this order.
  void take(const std::vector<CublasLtHeuristic> &found);
  /// Goes on to the next algorithm; false if there is none.
  bool takeNext();

  /// The one to run with, and those to try where it fails to run, in order.
  CublasLtAlgo algo = {};
  bool hasAlgo = false;
  std::vector<CublasLtAlgo> others;

private:
  const Api *api;
  CublasLtDesc desc = nullptr;
  CublasLtLayout a = nullptr, b = nullptr, d = nullptr;
  bool isDouble = false;
  double alpha = 1, beta = 0;
};

/// "status 15, not supported" (cublasStatus_t).
std::string describeCublasLtStatus(Status status);

/// cudaDataType's code of a type.
int cudaType(DataType type);

/// What a measured algorithm is good for: the same version of cuBLASLt, the
/// same kind of device and the same plan.
std::string tuningKey(size_t version, int architecture, int multiprocessors,
                      const GemmPlan &plan);

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_CUBLASLTMATMUL_H
