//===- StandInBlas.cpp - cuBLASLt without a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/Convert.h"
#include "StandInState.h"

#include <algorithm>
#include <cmath>

using namespace mpt::standin;

extern "C" {

Status cublasLtCreate(LtHandle *handle) {
  MPT_BEGIN_OUTSIDE("cublasLtCreate");
  *handle = make("cuBLASLt handle", new int(0));
  return 0;
}
Status cublasLtDestroy(LtHandle handle) {
  MPT_BEGIN_OUTSIDE("cublasLtDestroy");
  return destroy<int>(call, handle, "cuBLASLt handle");
}
Status cublasLtMatmulDescCreate(LtDesc *desc, int compute, int scale) {
  MPT_BEGIN("cublasLtMatmulDescCreate");
  auto *made = new DescState;
  made->compute = compute;
  made->scale = scale;
  *desc = make("product", made);
  return 0;
}
Status cublasLtMatmulDescDestroy(LtDesc desc) {
  MPT_BEGIN("cublasLtMatmulDescDestroy");
  return destroy<DescState>(call, desc, "product");
}
Status cublasLtMatmulDescSetAttribute(LtDesc desc, int attribute, const void *value,
                                      size_t bytes) {
  MPT_BEGIN("cublasLtMatmulDescSetAttribute");
  auto *target = get<DescState>(call, desc, "product");
  if (!target)
    return kLtInvalid;
  auto set = [&](auto &field) {
    if (bytes != sizeof(field))
      return call.breach("attribute " + std::to_string(attribute) + " has another size",
                         kLtInvalid);
    std::memcpy(&field, value, bytes);
    return 0;
  };
  switch (attribute) {
  case kDescTransA: return set(target->transA);
  case kDescTransB: return set(target->transB);
  case kDescEpilogue: return set(target->epilogue);
  case kDescBiasPointer: return set(target->bias);
  case kDescBiasType: return set(target->biasType);
  default: return call.breach("an attribute that is not known here", kLtInvalid);
  }
}
Status cublasLtMatrixLayoutCreate(LtLayout *layout, int type, uint64_t rows,
                                  uint64_t columns, int64_t ld) {
  MPT_BEGIN("cublasLtMatrixLayoutCreate");
  auto *made = new LayoutState;
  made->type = type;
  made->rows = rows;
  made->columns = columns;
  made->ld = ld;
  *layout = make("layout", made);
  return 0;
}
Status cublasLtMatrixLayoutDestroy(LtLayout layout) {
  MPT_BEGIN("cublasLtMatrixLayoutDestroy");
  return destroy<LayoutState>(call, layout, "layout");
}
Status cublasLtMatrixLayoutSetAttribute(LtLayout layout, int attribute, const void *value,
                                        size_t bytes) {
  MPT_BEGIN("cublasLtMatrixLayoutSetAttribute");
  auto *target = get<LayoutState>(call, layout, "layout");
  if (!target)
    return kLtInvalid;
  if (attribute == kLayoutBatchCount && bytes == sizeof(target->batch))
    std::memcpy(&target->batch, value, bytes);
  else if (attribute == kLayoutBatchStride && bytes == sizeof(target->stride))
    std::memcpy(&target->stride, value, bytes);
  else
    return call.breach("an attribute that is not known here", kLtInvalid);
  return 0;
}
Status cublasLtMatmulPreferenceCreate(LtPreference *preference) {
  MPT_BEGIN("cublasLtMatmulPreferenceCreate");
  *preference = make("preference", new PreferenceState);
  return 0;
}
Status cublasLtMatmulPreferenceDestroy(LtPreference preference) {
  MPT_BEGIN("cublasLtMatmulPreferenceDestroy");
  return destroy<PreferenceState>(call, preference, "preference");
}
Status cublasLtMatmulPreferenceSetAttribute(LtPreference preference, int attribute,
                                            const void *value, size_t bytes) {
  MPT_BEGIN("cublasLtMatmulPreferenceSetAttribute");
  auto *target = get<PreferenceState>(call, preference, "preference");
  if (!target)
    return kLtInvalid;
  if (attribute == kPreferenceWorkspace && bytes == sizeof(target->workspace))
    std::memcpy(&target->workspace, value, bytes);
  else if (attribute == kPreferenceReductions && bytes == sizeof(target->reductions))
    std::memcpy(&target->reductions, value, bytes);
  else
    return call.breach("an attribute that is not known here", kLtInvalid);
  return 0;
}
} // extern "C"

namespace {

DataType typeOf(int type) {
  switch (type) {
  case 0: return DataType::F32;
  case 1: return DataType::F64;
  case 2: return DataType::F16;
  case 14: return DataType::BF16;
  case 28: return DataType::F8E4M3FN;
  case 29: return DataType::F8E5M2;
  default: return DataType::I8;
  }
}

/// What the descriptors ask for, as a plan.
GemmPlan planOf(const DescState &desc, const LayoutState &a, const LayoutState &b,
                const LayoutState &d) {
  auto matrix = [](const LayoutState &layout) {
    return GemmMatrix{typeOf(layout.type), static_cast<int64_t>(layout.rows),
                      static_cast<int64_t>(layout.columns), layout.ld, layout.stride};
  };
  GemmPlan plan;
  plan.m = d.rows;
  plan.n = d.columns;
  plan.k = desc.transA ? a.rows : a.columns;
  plan.batch = d.batch;
  plan.transposeA = desc.transA;
  plan.transposeB = desc.transB;
  plan.a = matrix(a);
  plan.b = matrix(b);
  plan.d = matrix(d);
  plan.compute = static_cast<GemmCompute>(desc.compute);
  plan.epilogue = static_cast<GemmEpilogue>(desc.epilogue);
  // Without the attribute a bias has the result's type.
  plan.bias = desc.biasType < 0 ? plan.d.type : typeOf(desc.biasType);
  return plan;
}

double readElement(DataType type, const void *data, int64_t i) {
  return type == DataType::F64 ? static_cast<const double *>(data)[i]
                               : toF32(type, data, i);
}

/// By cuBLASLt's definition; sums of f32 products go left to right in f32.
void multiply(const GemmPlan &plan, const void *a, const void *b, const void *bias, void *d,
              double alpha, double beta) {
  for (int64_t batch = 0; batch < plan.batch; ++batch)
    for (int64_t j = 0; j < plan.n; ++j)
      for (int64_t i = 0; i < plan.m; ++i) {
        double wide = 0;
        float sum = 0;
        for (int64_t k = 0; k < plan.k; ++k) {
          int64_t atA = plan.transposeA ? i * plan.a.ld + k : k * plan.a.ld + i;
          int64_t atB = plan.transposeB ? k * plan.b.ld + j : j * plan.b.ld + k;
          double x = readElement(plan.a.type, a, batch * plan.a.stride + atA);
          double y = readElement(plan.b.type, b, batch * plan.b.stride + atB);
          wide += x * y;
          sum = std::fma(static_cast<float>(x), static_cast<float>(y), sum);
        }
        int64_t at = batch * plan.d.stride + j * plan.d.ld + i;
        if (plan.d.type == DataType::F64) {
          auto *out = static_cast<double *>(d) + at;
          *out = alpha * wide + (beta != 0 ? beta * *out : 0);
          continue;
        }
        float value = static_cast<float>(alpha) * sum;
        if (beta != 0)
          value += static_cast<float>(beta) * toF32(plan.d.type, d, at);
        if (usesBias(plan.epilogue))
          value += toF32(plan.bias, bias, i);
        switch (plan.epilogue) {
        case GemmEpilogue::Relu:
        case GemmEpilogue::ReluBias:
          value = value > 0 || value != value ? value : 0;
          break;
        case GemmEpilogue::Gelu:
        case GemmEpilogue::GeluBias:
          value = 0.5f * value *
                  (1 + std::tanh(0.7978845608028654f *
                                 (value + 0.044715f * value * value * value)));
          break;
        default:
          break;
        }
        fromF32(plan.d.type, d, at, value);
      }
}

} // namespace

extern "C" {

Status cublasLtMatmulAlgoGetHeuristic(LtHandle handle, LtDesc desc, LtLayout a, LtLayout b,
                                      LtLayout c, LtLayout d, LtPreference preference,
                                      int requested, LtHeuristic *results, int *count) {
  MPT_BEGIN_OUTSIDE("cublasLtMatmulAlgoGetHeuristic");
  *count = 0;
  auto *product = get<DescState>(call, desc, "product");
  auto *x = get<LayoutState>(call, a, "layout"), *y = get<LayoutState>(call, b, "layout"),
       *z = get<LayoutState>(call, d, "layout");
  auto *wishes = get<PreferenceState>(call, preference, "preference");
  if (!product || !x || !y || !z || !wishes || c != d || requested < 1 ||
      !get<int>(call, handle, "cuBLASLt handle"))
    return kLtInvalid;
  std::string why;
  GemmPlan plan = planOf(*product, *x, *y, *z);
  if (!checkGemmPlan(plan, state.major * 10 + state.minor, why)) {
    call.breach(why, 0);
    return kNotSupported;
  }
  bool isDouble = plan.d.type == DataType::F64;
  if (product->scale != (isDouble ? 1 : 0))
    return call.breach("the scales' type does not go with the product", kLtInvalid);
  if (x->batch != y->batch || x->batch != z->batch)
    return call.breach("the batches differ", kLtInvalid);
  *results = LtHeuristic();
  // The algorithm knows what it is for.
  results->algo.data[0] = reinterpret_cast<uintptr_t>(product);
  results->workspaceSize = std::min<uint64_t>(wishes->workspace, 1 << 20);
  results->algo.data[1] = results->workspaceSize;
  *count = 1;
  return 0;
}

Status cublasLtMatmul(LtHandle handle, LtDesc desc, const void *alpha, const void *a,
                      LtLayout layoutA, const void *b, LtLayout layoutB, const void *beta,
                      const void *c, LtLayout, void *d, LtLayout layoutD,
                      const LtAlgo *algo, void *workspace, size_t workspaceBytes,
                      Stream stream) {
  MPT_BEGIN("cublasLtMatmul");
  auto *product = get<DescState>(call, desc, "product");
  auto *x = get<LayoutState>(call, layoutA, "layout"),
       *y = get<LayoutState>(call, layoutB, "layout"),
       *z = get<LayoutState>(call, layoutD, "layout");
  if (!product || !x || !y || !z || !get<int>(call, handle, "cuBLASLt handle"))
    return kLtInvalid;
  GemmPlan plan = planOf(*product, *x, *y, *z);
  if (!algo || algo->data[0] != reinterpret_cast<uintptr_t>(product) ||
      workspaceBytes < algo->data[1])
    return call.breach("the algorithm is another product's or lacks workspace", kLtInvalid);
  auto fits = [&](const void *data, const GemmMatrix &matrix) {
    int64_t elements = (plan.batch - 1) * matrix.stride + (matrix.columns - 1) * matrix.ld +
                       matrix.rows;
    return reinterpret_cast<uintptr_t>(data) % kGemmOperandAlignment == 0 &&
           isOnDevice(data, elements * getSize(matrix.type));
  };
  if (c != d || !fits(a, plan.a) || !fits(b, plan.b) || !fits(d, plan.d))
    return call.breach("an operand lies outside the device's allocations or is not "
                       "aligned",
                       kLtInvalid);
  if (usesBias(plan.epilogue) &&
      (!isOnDevice(product->bias, plan.m * getSize(plan.bias)) ||
       reinterpret_cast<uintptr_t>(product->bias) % kGemmOperandAlignment))
    return call.breach("the bias lies outside the device's allocations", kLtInvalid);
  if (!isOnDevice(workspace, static_cast<int64_t>(workspaceBytes)) ||
      reinterpret_cast<uintptr_t>(workspace) % kGemmWorkspaceAlignment)
    return call.breach("the workspace is not aligned or not on the device", kLtInvalid);
  // alpha and beta are the host's, read now.
  bool isDouble = plan.d.type == DataType::F64;
  double scaleA = isDouble ? *static_cast<const double *>(alpha)
                           : *static_cast<const float *>(alpha);
  double scaleD =
      isDouble ? *static_cast<const double *>(beta) : *static_cast<const float *>(beta);
  const void *bias = product->bias;
  return submit(call, stream, [=]() -> Error {
    multiply(plan, a, b, bias, d, scaleA, scaleD);
    // What the library leaves there is of no use to anybody.
    std::memset(workspace, 0xa5, std::min<size_t>(workspaceBytes, 4096));
    return kSuccess;
  });
}
} // extern "C"
