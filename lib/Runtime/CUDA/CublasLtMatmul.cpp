//===- CublasLtMatmul.cpp - A plan as cuBLASLt's descriptors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLtMatmul.h"

#include <algorithm>
#include <utility>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

#define MPT_LT_TRY(name, expression)                                                     \
  if (Status status = (what = name, (expression)))                                       \
  return status

CublasLtContext::~CublasLtContext() {
  if (preference)
    api.cublasLtMatmulPreferenceDestroy(preference);
  if (handle)
    api.cublasLtDestroy(handle);
}

Status CublasLtContext::create(const char *&what) {
  MPT_LT_TRY("cuBLASLt", api.cublasLtCreate(&handle));
  MPT_LT_TRY("cuBLASLt", api.cublasLtMatmulPreferenceCreate(&preference));
  auto bytes = static_cast<uint64_t>(kGemmWorkspaceBytes);
  MPT_LT_TRY("the workspace",
             api.cublasLtMatmulPreferenceSetAttribute(preference, kPreferenceWorkspace,
                                                      &bytes, sizeof(bytes)));
  // Parts of a sum are not rounded to the result's type in between.
  uint32_t reductions = kReductionsInPlace | kReductionsComputeType;
  MPT_LT_TRY("the reductions",
             api.cublasLtMatmulPreferenceSetAttribute(preference, kPreferenceReductions,
                                                      &reductions, sizeof(reductions)));
  return 0;
}

CublasLtMatmul::~CublasLtMatmul() {
  for (CublasLtLayout layout : {a, b, d})
    if (layout)
      api->cublasLtMatrixLayoutDestroy(layout);
  if (desc)
    api->cublasLtMatmulDescDestroy(desc);
}

CublasLtMatmul::CublasLtMatmul(CublasLtMatmul &&other)
    : algo(other.algo), hasAlgo(other.hasAlgo), others(std::move(other.others)),
      api(other.api), desc(std::exchange(other.desc, nullptr)),
      a(std::exchange(other.a, nullptr)), b(std::exchange(other.b, nullptr)),
      d(std::exchange(other.d, nullptr)), isDouble(other.isDouble), alpha(other.alpha),
      beta(other.beta) {}

std::string mpt::rt::cuda::describeCublasLtStatus(Status status) {
  const char *name = [&] {
    switch (status) {
    case 1:
      return ", not initialized: the driver may be too old";
    case 3:
      return ", no memory left for it";
    case 7:
      return ", an invalid value";
    case 8:
      return ", the GPU lacks a feature";
    case 13:
      return ", it failed on the GPU";
    case 14:
      return ", an internal error";
    case 15:
      return ", not supported";
    default:
      return "";
    }
  }();
  return "status " + std::to_string(status) + name;
}

int mpt::rt::cuda::cudaType(DataType type) {
  switch (type) {
  case DataType::F64:
    return 1;
  case DataType::F16:
    return 2;
  case DataType::BF16:
    return 14;
  case DataType::F8E4M3FN:
    return 28;
  case DataType::F8E5M2:
    return 29;
  case DataType::I8:
    // Two numbers of f4E2M1FN.
    return 33;
  default:
    return 0;
  }
}

Status CublasLtMatmul::move(const CublasLtPointers &pointers, const char *&what) {
  auto set = [&](int attribute, const void *pointer) {
    return api->cublasLtMatmulDescSetAttribute(desc, attribute, &pointer,
                                               sizeof(pointer));
  };
  if (pointers.bias)
    MPT_LT_TRY("a bias", set(kDescBiasPointer, pointers.bias));
  if (pointers.aux)
    MPT_LT_TRY("a second matrix", set(kDescAuxPointer, pointers.aux));
  if (pointers.scalesA)
    MPT_LT_TRY("scales", set(kDescScalesA, pointers.scalesA));
  if (pointers.scalesB)
    MPT_LT_TRY("scales", set(kDescScalesB, pointers.scalesB));
  return 0;
}

Status CublasLtMatmul::create(const GemmPlan &plan, const CublasLtPointers &pointers,
                              const char *&what) {
  isDouble = plan.compute == GemmCompute::F64;
  alpha = plan.alpha;
  beta = plan.beta;
  int scaleType = cudaType(isDouble ? DataType::F64 : DataType::F32);
  MPT_LT_TRY("a matmul", api->cublasLtMatmulDescCreate(
                             &desc, static_cast<int>(plan.compute), scaleType));
  auto set = [&](int attribute, const auto &value) {
    return api->cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof(value));
  };
  MPT_LT_TRY("a matmul's attribute", set(kDescTransA, int32_t(plan.transposeA)));
  MPT_LT_TRY("a matmul's attribute", set(kDescTransB, int32_t(plan.transposeB)));
  MPT_LT_TRY("a matmul's attribute",
             set(kDescEpilogue, static_cast<uint32_t>(plan.epilogue)));
  if (usesBias(plan.epilogue)) {
    MPT_LT_TRY("a bias", set(kDescBiasPointer, pointers.bias));
    MPT_LT_TRY("a bias", set(kDescBiasType, int32_t(cudaType(plan.bias))));
  }
  if (usesAux(plan.epilogue)) {
    // Bits, or numbers of the result's type.
    MPT_LT_TRY("a second matrix", set(kDescAuxPointer, pointers.aux));
    MPT_LT_TRY("a second matrix", set(kDescAuxLd, plan.auxLd));
  }
  if (plan.isScaled()) {
    MPT_LT_TRY("scales", set(kDescScalesA, pointers.scalesA));
    MPT_LT_TRY("scales", set(kDescScalesB, pointers.scalesB));
    MPT_LT_TRY("scales", set(kDescScaleModeA, static_cast<int32_t>(plan.scalingA)));
    MPT_LT_TRY("scales", set(kDescScaleModeB, static_cast<int32_t>(plan.scalingB)));
  }
  if (plan.fastAccumulation)
    MPT_LT_TRY("a matmul's attribute", set(kDescFastAccumulation, int8_t(1)));
  auto layout = [&](CublasLtLayout &made, const GemmMatrix &matrix) -> Status {
    MPT_LT_TRY("a matrix",
               api->cublasLtMatrixLayoutCreate(&made, cudaType(matrix.type), matrix.rows,
                                               matrix.columns, matrix.ld));
    if (plan.batch == 1)
      return 0;
    auto count = static_cast<int32_t>(plan.batch);
    MPT_LT_TRY("a batch", api->cublasLtMatrixLayoutSetAttribute(made, kLayoutBatchCount,
                                                                &count, sizeof(count)));
    return api->cublasLtMatrixLayoutSetAttribute(made, kLayoutBatchStride, &matrix.stride,
                                                 sizeof(matrix.stride));
  };
  if (Status status = layout(a, plan.a))
    return status;
  if (Status status = layout(b, plan.b))
    return status;
  return layout(d, plan.d);
}

bool mpt::rt::cuda::isRefusedAlgorithm(Status status) {
  // An invalid value, a feature that the GPU lacks, an internal error, not supported.
  return status == 7 || status == 8 || status == 14 || status == 15;
}

Status CublasLtMatmul::propose(const CublasLtContext &context, int most,
                               std::vector<CublasLtHeuristic> &found,
                               const CublasLtAlignments &alignments) const {
  found.clear();
  for (int i = 0; i < 4; ++i)
    if (Status status = api->cublasLtMatmulPreferenceSetAttribute(
            context.preference, kPreferenceAlignmentA + i, &alignments.bytes[i],
            sizeof(uint32_t)))
      return status;
  found.assign(most, CublasLtHeuristic());
  int count = 0;
  Status status = api->cublasLtMatmulAlgoGetHeuristic(
      context.handle, desc, a, b, d, d, context.preference, most, found.data(), &count);
  found.resize(status == 0 && count > 0 ? count : 0);
  found.erase(std::remove_if(
                  found.begin(), found.end(),
                  [](const CublasLtHeuristic &proposal) { return proposal.state != 0; }),
              found.end());
  return status;
}

Status CublasLtMatmul::run(const CublasLtContext &context, const CublasLtAlgo &chosen,
                           const void *matrixA, const void *matrixB, const void *addend,
                           void *result, void *workspace, int64_t workspaceBytes,
                           Stream stream) const {
  float narrowAlpha = static_cast<float>(alpha), narrowBeta = static_cast<float>(beta);
  const void *scales[] = {&narrowAlpha, &narrowBeta};
  if (isDouble) {
    scales[0] = &alpha;
    scales[1] = &beta;
  }
  return api->cublasLtMatmul(context.handle, desc, scales[0], matrixA, a, matrixB, b,
                             scales[1], addend, d, result, d, &chosen, workspace,
                             static_cast<size_t>(workspaceBytes), stream);
}

void CublasLtMatmul::take(const std::vector<CublasLtHeuristic> &found) {
  hasAlgo = !found.empty();
  others.clear();
  for (const CublasLtHeuristic &proposal : found)
    others.push_back(proposal.algo);
  takeNext();
}

bool CublasLtMatmul::takeNext() {
  if (others.empty())
    return false;
  algo = others.front();
  others.erase(others.begin());
  return true;
}

std::string mpt::rt::cuda::tuningKey(size_t version, int architecture,
                                     int multiprocessors, const GemmPlan &plan) {
  return "cublaslt " + std::to_string(version) + "; sm_" + std::to_string(architecture) +
         " with " + std::to_string(multiprocessors) + " multiprocessors; " +
         describeGemmPlan(plan);
}
