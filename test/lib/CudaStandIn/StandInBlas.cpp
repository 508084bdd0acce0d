//===- StandInBlas.cpp - cuBLASLt without a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/CPU/Convert.h"
#include "StandInState.h"

#include <algorithm>
#include <climits>
#include <cmath>

using namespace mpt::standin;

extern "C" {

void mpt_standin_set_cublaslt_version(int64_t version) { state.blasVersion = version; }
size_t cublasLtGetVersion() { return state.blasVersion; }
Status cublasLtCreate(CublasLtHandle *handle) {
  MPT_BEGIN_OUTSIDE("cublasLtCreate");
  *handle = make("cuBLASLt handle", new int(0));
  return 0;
}
Status cublasLtDestroy(CublasLtHandle handle) {
  MPT_BEGIN_OUTSIDE("cublasLtDestroy");
  return destroy<int>(call, handle, "cuBLASLt handle");
}
Status cublasLtMatmulDescCreate(CublasLtDesc *desc, int compute, int scale) {
  MPT_BEGIN("cublasLtMatmulDescCreate");
  auto *made = new DescState;
  made->compute = compute;
  made->scale = scale;
  *desc = make("matmul", made);
  return 0;
}
Status cublasLtMatmulDescDestroy(CublasLtDesc desc) {
  MPT_BEGIN("cublasLtMatmulDescDestroy");
  return destroy<DescState>(call, desc, "matmul");
}
Status cublasLtMatmulDescSetAttribute(CublasLtDesc desc, int attribute, const void *value,
                                      size_t bytes) {
  MPT_BEGIN("cublasLtMatmulDescSetAttribute");
  auto *target = get<DescState>(call, desc, "matmul");
  if (!target)
    return kCublasLtInvalid;
  auto set = [&](auto &field) {
    if (bytes != sizeof(field))
      return call.breach("attribute " + std::to_string(attribute) + " has another size",
                         kCublasLtInvalid);
    std::memcpy(&field, value, bytes);
    return 0;
  };
  switch (attribute) {
  case kDescTransA:
    return set(target->transA);
  case kDescTransB:
    return set(target->transB);
  case kDescEpilogue:
    return set(target->epilogue);
  case kDescBiasPointer:
    return set(target->bias);
  case kDescBiasType:
    return set(target->biasType);
  case kDescAuxPointer:
    return set(target->aux);
  case kDescAuxLd:
    return set(target->auxLd);
  case kDescScalesA:
    return set(target->scalesA);
  case kDescScalesB:
    return set(target->scalesB);
  case kDescFastAccumulation:
    return set(target->fastAccumulation);
  case kDescScaleModeA:
    return set(target->scaleModeA);
  case kDescScaleModeB:
    return set(target->scaleModeB);
  default:
    return call.breach("an attribute that is not known here", kCublasLtInvalid);
  }
}
Status cublasLtMatrixLayoutCreate(CublasLtLayout *layout, int type, uint64_t rows,
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
Status cublasLtMatrixLayoutDestroy(CublasLtLayout layout) {
  MPT_BEGIN("cublasLtMatrixLayoutDestroy");
  return destroy<LayoutState>(call, layout, "layout");
}
Status cublasLtMatrixLayoutSetAttribute(CublasLtLayout layout, int attribute,
                                        const void *value, size_t bytes) {
  MPT_BEGIN("cublasLtMatrixLayoutSetAttribute");
  auto *target = get<LayoutState>(call, layout, "layout");
  if (!target)
    return kCublasLtInvalid;
  if (attribute == kLayoutBatchCount && bytes == sizeof(target->batch))
    std::memcpy(&target->batch, value, bytes);
  else if (attribute == kLayoutBatchStride && bytes == sizeof(target->stride))
    std::memcpy(&target->stride, value, bytes);
  else
    return call.breach("an attribute that is not known here", kCublasLtInvalid);
  return 0;
}
Status cublasLtMatmulPreferenceCreate(CublasLtPreference *preference) {
  MPT_BEGIN("cublasLtMatmulPreferenceCreate");
  *preference = make("preference", new PreferenceState);
  return 0;
}
Status cublasLtMatmulPreferenceDestroy(CublasLtPreference preference) {
  MPT_BEGIN("cublasLtMatmulPreferenceDestroy");
  return destroy<PreferenceState>(call, preference, "preference");
}
Status cublasLtMatmulPreferenceSetAttribute(CublasLtPreference preference, int attribute,
                                            const void *value, size_t bytes) {
  MPT_BEGIN("cublasLtMatmulPreferenceSetAttribute");
  auto *target = get<PreferenceState>(call, preference, "preference");
  if (!target)
    return kCublasLtInvalid;
  if (attribute == kPreferenceWorkspace && bytes == sizeof(target->workspace))
    std::memcpy(&target->workspace, value, bytes);
  else if (attribute == kPreferenceReductions && bytes == sizeof(target->reductions))
    std::memcpy(&target->reductions, value, bytes);
  else if (attribute >= kPreferenceAlignmentA && attribute < kPreferenceAlignmentA + 4 &&
           bytes == sizeof(uint32_t))
    std::memcpy(&target->alignments[attribute - kPreferenceAlignmentA], value, bytes);
  else
    return call.breach("an attribute that is not known here", kCublasLtInvalid);
  return 0;
}
} // extern "C"

namespace {

DataType typeOf(int type) {
  switch (type) {
  case 0:
    return DataType::F32;
  case 1:
    return DataType::F64;
  case 2:
    return DataType::F16;
  case 14:
    return DataType::BF16;
  case 28:
    return DataType::F8E4M3FN;
  case 29:
    return DataType::F8E5M2;
  case 33:
    // Two numbers of f4E2M1FN.
    return DataType::I8;
  default:
    return DataType::I1;
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
  plan.auxLd = desc.auxLd;
  plan.scalingA = static_cast<GemmScaling>(desc.scaleModeA);
  plan.scalingB = static_cast<GemmScaling>(desc.scaleModeB);
  plan.fastAccumulation = desc.fastAccumulation != 0;
  return plan;
}

double readElement(DataType type, const void *data, int64_t i) {
  return type == DataType::F64 ? static_cast<const double *>(data)[i]
                               : toF32(type, data, i);
}

/// A matrix of a batch as op() of it lies by rows, in f32.
std::vector<float> widen(const GemmMatrix &matrix, const void *data, int64_t batch,
                         bool byColumns) {
  auto read = [&](int64_t at) -> float {
    if (matrix.type != DataType::I8)
      return toF32(matrix.type, data, at);
    const int bits = static_cast<const uint8_t *>(data)[at / 2] >> at % 2 * 4;
    const float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return bits & 8 ? -magnitudes[bits & 7] : magnitudes[bits & 7];
  };
  std::vector<float> wide(matrix.rows * matrix.columns);
  for (int64_t j = 0; j < matrix.columns; ++j)
    for (int64_t i = 0; i < matrix.rows; ++i)
      wide[byColumns ? j * matrix.rows + i : i * matrix.columns + j] =
          read(batch * matrix.stride + j * matrix.ld + i);
  return wide;
}

float gelu(float x) {
  return 0.5f * x * (1 + std::tanh(0.7978845608028654f * (x + 0.044715f * x * x * x)));
}
float geluSlope(float x) {
  float inner = 0.7978845608028654f * (x + 0.044715f * x * x * x), t = std::tanh(inner);
  float slope = 0.7978845608028654f * (1 + 3 * 0.044715f * x * x);
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * slope;
}

/// What an epilogue makes of the sum for element (i, j) of D.
float finish(const GemmPlan &plan, float value, const void *bias, void *aux, int64_t i,
             int64_t j) {
  auto epilogue = plan.epilogue;
  bool isGradient = epilogue == GemmEpilogue::DRelu || epilogue == GemmEpilogue::DGelu ||
                    epilogue == GemmEpilogue::DReluBGrad ||
                    epilogue == GemmEpilogue::DGeluBGrad ||
                    epilogue == GemmEpilogue::BGradA || epilogue == GemmEpilogue::BGradB;
  if (usesBias(epilogue) && !isGradient)
    value += toF32(plan.bias, bias, i);
  int64_t at = j * plan.auxLd + i;
  auto *bits = static_cast<unsigned char *>(aux);
  switch (epilogue) {
  case GemmEpilogue::ReluAux:
  case GemmEpilogue::ReluAuxBias:
    bits[at / 8] = (bits[at / 8] & ~(1 << at % 8)) | (value > 0) << at % 8;
    return value > 0 || value != value ? value : 0;
  case GemmEpilogue::Relu:
  case GemmEpilogue::ReluBias:
    return value > 0 || value != value ? value : 0;
  case GemmEpilogue::GeluAux:
  case GemmEpilogue::GeluAuxBias:
    fromF32(plan.d.type, aux, at, value);
    return gelu(value);
  case GemmEpilogue::Gelu:
  case GemmEpilogue::GeluBias:
    return gelu(value);
  case GemmEpilogue::DRelu:
  case GemmEpilogue::DReluBGrad:
    return bits[at / 8] >> at % 8 & 1 ? value : 0;
  case GemmEpilogue::DGelu:
  case GemmEpilogue::DGeluBGrad:
    return value * geluSlope(toF32(plan.d.type, aux, at));
  default:
    return value;
  }
}

/// The scale of each of op(A)'s rows, or op(B)'s columns, for each block of K.
std::vector<float> readScales(GemmScaling scaling, const void *data, int64_t outer,
                              int64_t k) {
  const int64_t length = getScaleLength(scaling), blocks = (k + length - 1) / length;
  std::vector<float> scales(outer * blocks);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t at = findScale(scaling, outer, k, o, block);
      float &scale = scales[o * blocks + block];
      if (scaling != GemmScaling::Vec32UE8M0) {
        scale = toF32(getScaleType(scaling), data, at);
        continue;
      }
      const int exponent = static_cast<const uint8_t *>(data)[at];
      scale = exponent == 255 ? NAN : std::ldexp(1.0f, exponent - 127);
    }
  return scales;
}

/// Whether what fills up tiles of scales is zeros, as the library asks for.
bool isFilledUp(GemmScaling scaling, const void *data, int64_t outer, int64_t k) {
  const int64_t length = getScaleLength(scaling);
  if (length == 128)
    return true;
  std::vector<char> isUsed(countScales(scaling, outer, k), 0);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t block = 0; block * length < k; ++block)
      isUsed[findScale(scaling, outer, k, o, block)] = 1;
  for (size_t i = 0; i < isUsed.size(); ++i)
    if (!isUsed[i] && static_cast<const uint8_t *>(data)[i] != 0)
      return false;
  return true;
}

/// A matmul whose operands have scales. With blocks of 128 the sum of each is rounded to
/// f32, then scaled, and added to those before; with shorter ones scaled numbers are
/// multiplied, and their sum is rounded once. The library's own sums are not known to the
/// bit; these are those that mpt.scaled_matmul defines.
void multiplyScaled(const GemmPlan &plan, const void *a, const void *b,
                    const void *scalesA, const void *scalesB, const void *bias, void *d,
                    double alpha, double beta) {
  // Both by rows of k: A is transposed, B lies by columns, where chips want that.
  std::vector<float> x = widen(plan.a, a, 0, /*byColumns=*/plan.transposeA);
  std::vector<float> y = widen(plan.b, b, 0, /*byColumns=*/!plan.transposeB);
  std::vector<float> sx = readScales(plan.scalingA, scalesA, plan.m, plan.k);
  std::vector<float> sy = readScales(plan.scalingB, scalesB, plan.n, plan.k);
  const int64_t length = getScaleLength(plan.scalingA);
  const int64_t blocks = (plan.k + length - 1) / length;
  const bool isExact = length < 128;
  for (int64_t j = 0; j < plan.n; ++j)
    for (int64_t i = 0; i < plan.m; ++i) {
      double sum = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        const float scaleX = sx[i * blocks + block], scaleY = sy[j * blocks + block];
        const float *left = &x[i * plan.k], *right = &y[j * plan.k];
        const int64_t begin = block * length, end = std::min(plan.k, begin + length);
        double partial = 0;
        for (int64_t k = begin; k < end; ++k)
          if (isExact)
            sum += double(left[k] * scaleX) * double(right[k] * scaleY);
          else
            partial += double(left[k]) * right[k];
        if (!isExact)
          sum = static_cast<float>(sum) + static_cast<float>(partial) * (scaleX * scaleY);
      }
      const int64_t at = j * plan.d.ld + i;
      float value = static_cast<float>(alpha) * static_cast<float>(sum);
      if (beta != 0)
        value += static_cast<float>(beta) * toF32(plan.d.type, d, at);
      fromF32(plan.d.type, d, at, finish(plan, value, bias, nullptr, i, j));
    }
}

/// A sum as Hopper's tensor cores keep it with fast accumulation (DeepSeek-V3, arXiv
/// 2412.19437, section 3.5.2): 32 products and the sum so far are cut to 14 bits below
/// the largest of their exponents, towards minus infinity, and added.
float sumFast(const float *x, int64_t stepX, const float *y, int64_t count) {
  float sum = 0;
  for (int64_t begin = 0; begin < count; begin += 32) {
    const int64_t end = std::min(count, begin + 32);
    int largest = sum == 0 ? INT_MIN : std::ilogb(sum);
    bool isFinite = std::isfinite(sum);
    for (int64_t k = begin; k < end; ++k) {
      const float product = x[k * stepX] * y[k];
      isFinite = isFinite && std::isfinite(product);
      if (product != 0 && std::isfinite(product))
        largest = std::max(largest, std::ilogb(product));
    }
    double total = 0;
    auto add = [&](float term) {
      total += isFinite && largest != INT_MIN
                   ? std::ldexp(std::floor(std::ldexp(double(term), 13 - largest)),
                                largest - 13)
                   : double(term);
    };
    add(sum);
    for (int64_t k = begin; k < end; ++k)
      add(x[k * stepX] * y[k]);
    sum = static_cast<float>(total);
  }
  return sum;
}

/// By cuBLASLt's definition; sums of f32 products go left to right in f32.
void multiply(const GemmPlan &plan, const void *a, const void *b, void *bias, void *aux,
              void *d, double alpha, double beta) {
  bool sumsRows = plan.epilogue == GemmEpilogue::DReluBGrad ||
                  plan.epilogue == GemmEpilogue::DGeluBGrad;
  std::vector<float> rowSums(plan.m, 0);
  for (int64_t batch = 0; batch < plan.batch; ++batch) {
    if (plan.d.type == DataType::F64) {
      for (int64_t j = 0; j < plan.n; ++j)
        for (int64_t i = 0; i < plan.m; ++i) {
          double wide = 0;
          for (int64_t k = 0; k < plan.k; ++k) {
            int64_t atA = plan.transposeA ? i * plan.a.ld + k : k * plan.a.ld + i;
            int64_t atB = plan.transposeB ? k * plan.b.ld + j : j * plan.b.ld + k;
            wide += readElement(plan.a.type, a, batch * plan.a.stride + atA) *
                    readElement(plan.b.type, b, batch * plan.b.stride + atB);
          }
          auto *out =
              static_cast<double *>(d) + batch * plan.d.stride + j * plan.d.ld + i;
          *out = alpha * wide + (beta != 0 ? beta * *out : 0);
        }
      continue;
    }
    // op(A) as k rows of m, op(B) as n rows of k.
    std::vector<float> x = widen(plan.a, a, batch, /*byColumns=*/!plan.transposeA);
    std::vector<float> y = widen(plan.b, b, batch, /*byColumns=*/!plan.transposeB);
    std::vector<float> sums(plan.m);
    for (int64_t j = 0; j < plan.n; ++j) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (int64_t k = 0; k < plan.k; ++k) {
        float factor = y[j * plan.k + k];
        const float *row = &x[k * plan.m];
        for (int64_t i = 0; i < plan.m; ++i)
          sums[i] += row[i] * factor;
      }
      // These have an effect on Ada and Hopper alone.
      if (plan.fastAccumulation && state.major < 10)
        for (int64_t i = 0; i < plan.m; ++i)
          sums[i] = sumFast(&x[i], plan.m, &y[j * plan.k], plan.k);
      for (int64_t i = 0; i < plan.m; ++i) {
        int64_t at = batch * plan.d.stride + j * plan.d.ld + i;
        float value = static_cast<float>(alpha) * sums[i];
        if (beta != 0)
          value += static_cast<float>(beta) * toF32(plan.d.type, d, at);
        value = finish(plan, value, bias, aux, i, j);
        rowSums[i] += value;
        fromF32(plan.d.type, d, at, value);
      }
    }
    if (plan.epilogue == GemmEpilogue::BGradA || plan.epilogue == GemmEpilogue::BGradB) {
      // Sums of op(A)'s rows, or of op(B)'s columns, over k.
      bool isA = plan.epilogue == GemmEpilogue::BGradA;
      for (int64_t i = 0; i < (isA ? plan.m : plan.n); ++i) {
        float sum = 0;
        for (int64_t k = 0; k < plan.k; ++k)
          sum += isA ? x[k * plan.m + i] : y[i * plan.k + k];
        fromF32(plan.bias, bias, i, sum);
      }
    }
  }
  for (int64_t i = 0; sumsRows && i < plan.m; ++i)
    fromF32(plan.bias, bias, i, rowSums[i]);
}

/// `multiply`, or of many columns and of much that is summed some parts alone
/// (mpt_standin_set_parts). What a window of the sums adds goes through D's type.
void multiplyParts(const GemmPlan &plan, const void *a, const void *b, void *bias,
                   void *aux, void *d, double alpha, double beta) {
  constexpr int64_t many = 1 << 14;
  if (state.parts == 0 || plan.batch != 1 || plan.epilogue != GemmEpilogue::Default)
    return multiply(plan, a, b, bias, aux, d, alpha, beta);
  auto windows = [&](int64_t count, bool mayCut) {
    return mpt::rt::getWindows(count, mayCut && count >= many ? state.parts : 0);
  };
  auto at = [](const void *data, const GemmMatrix &matrix, int64_t row, int64_t column) {
    return static_cast<const char *>(data) +
           (column * matrix.ld + row) * getSize(matrix.type);
  };
  // Where nothing is cut along the columns it is along the sums.
  const bool cutsColumns = plan.n >= many;
  for (auto [first, last] : windows(plan.n, cutsColumns)) {
    double more = beta;
    for (auto [begin, end] : windows(plan.k, !cutsColumns)) {
      GemmPlan part = plan;
      part.n = part.d.columns = last - first;
      part.k = end - begin;
      (part.transposeA ? part.a.rows : part.a.columns) = part.k;
      (part.transposeB ? part.b.columns : part.b.rows) = part.k;
      (part.transposeB ? part.b.rows : part.b.columns) = part.n;
      multiply(part, plan.transposeA ? at(a, plan.a, begin, 0) : at(a, plan.a, 0, begin),
               plan.transposeB ? at(b, plan.b, first, begin)
                               : at(b, plan.b, begin, first),
               bias, aux, const_cast<char *>(at(d, plan.d, 0, first)), alpha, more);
      more = 1;
    }
  }
}

/// A number that plans with equal descriptions share.
uint64_t shapeOf(const GemmPlan &plan) {
  uint64_t hash = 1469598103934665603u;
  for (unsigned char c : describeGemmPlan(plan))
    hash = (hash ^ c) * 1099511628211u;
  return hash;
}

} // namespace

extern "C" {

Status cublasLtMatmulAlgoGetHeuristic(CublasLtHandle handle, CublasLtDesc desc,
                                      CublasLtLayout a, CublasLtLayout b,
                                      CublasLtLayout c, CublasLtLayout d,
                                      CublasLtPreference preference, int requested,
                                      CublasLtHeuristic *results, int *count) {
  MPT_BEGIN_OUTSIDE("cublasLtMatmulAlgoGetHeuristic");
  *count = 0;
  auto *matmul = get<DescState>(call, desc, "matmul");
  auto *x = get<LayoutState>(call, a, "layout"), *y = get<LayoutState>(call, b, "layout"),
       *z = get<LayoutState>(call, d, "layout");
  auto *wishes = get<PreferenceState>(call, preference, "preference");
  if (!matmul || !x || !y || !z || !wishes || c != d || requested < 1 ||
      !get<int>(call, handle, "cuBLASLt handle"))
    return kCublasLtInvalid;
  std::string why;
  GemmPlan plan = planOf(*matmul, *x, *y, *z);
  if (!checkGemmPlan(plan, state.major * 10 + state.minor, why)) {
    call.breach(why, 0);
    return kNotSupported;
  }
  bool isDouble = plan.d.type == DataType::F64;
  if (matmul->scale != (isDouble ? 1 : 0))
    return call.breach("the scales' type does not go with the matmul", kCublasLtInvalid);
  if (x->batch != y->batch || x->batch != z->batch)
    return call.breach("the batches differ", kCublasLtInvalid);
  if (std::find(state.refused.begin(), state.refused.end(), matmul->epilogue) !=
      state.refused.end())
    return kNotSupported;
  // Four algorithms, which know what they are for; at first the third is the fastest.
  for (int i = 0; i < std::min(requested, 4); ++i) {
    results[i] = CublasLtHeuristic();
    results[i].algo.data[0] = shapeOf(plan);
    results[i].workspaceSize = std::min<uint64_t>(wishes->workspace, 1 << 20);
    results[i].algo.data[1] = results[i].workspaceSize;
    const bool isSlow = usesAux(plan.epilogue) || writesBias(plan.epilogue);
    const double milliseconds =
        state.milliseconds[i] * (isSlow ? state.epilogueFactor : 1);
    std::memcpy(&results[i].algo.data[2], &milliseconds, sizeof(double));
    // What its operands must be aligned to, and its number.
    std::memcpy(&results[i].algo.data[3], wishes->alignments, sizeof(wishes->alignments));
    results[i].algo.data[5] = i;
    *count = i + 1;
  }
  return 0;
}

Status cublasLtMatmul(CublasLtHandle handle, CublasLtDesc desc, const void *alpha,
                      const void *a, CublasLtLayout layoutA, const void *b,
                      CublasLtLayout layoutB, const void *beta, const void *c,
                      CublasLtLayout layoutC, void *d, CublasLtLayout layoutD,
                      const CublasLtAlgo *algo, void *workspace, size_t workspaceBytes,
                      Stream stream) {
  MPT_BEGIN("cublasLtMatmul");
  auto *matmul = get<DescState>(call, desc, "matmul");
  auto *x = get<LayoutState>(call, layoutA, "layout"),
       *y = get<LayoutState>(call, layoutB, "layout"),
       *z = get<LayoutState>(call, layoutD, "layout");
  if (!matmul || !x || !y || !z || !get<int>(call, handle, "cuBLASLt handle"))
    return kCublasLtInvalid;
  GemmPlan plan = planOf(*matmul, *x, *y, *z);
  if (!algo || algo->data[0] != shapeOf(plan) || workspaceBytes < algo->data[1])
    return call.breach("the algorithm is another matmul's or lacks workspace",
                       kCublasLtInvalid);
  if (algo->data[5] < static_cast<uint64_t>(state.failingAlgorithms) &&
      (!state.failsWithEpilogueOnly || plan.epilogue != GemmEpilogue::Default))
    return state.algorithmCode;
  auto fits = [&](const void *data, const GemmMatrix &matrix) {
    int64_t elements =
        (plan.batch - 1) * matrix.stride + (matrix.columns - 1) * matrix.ld + matrix.rows;
    return reinterpret_cast<uintptr_t>(data) % kGemmOperandAlignment == 0 &&
           isOnDevice(data, matrix.type == DataType::I8
                                ? elements / 2
                                : elements * getSize(matrix.type));
  };
  if (!fits(a, plan.a) || !fits(b, plan.b) || !fits(d, plan.d))
    return call.breach("an operand lies outside the device's allocations or is not "
                       "aligned",
                       kCublasLtInvalid);
  // In place, or from a matrix like the result's that does not overlap it.
  int64_t resultBytes = ((plan.batch - 1) * plan.d.stride +
                         (plan.d.columns - 1) * plan.d.ld + plan.d.rows) *
                        getSize(plan.d.type);
  auto at = [](const void *data) { return reinterpret_cast<uintptr_t>(data); };
  bool isApart = at(c) + resultBytes <= at(d) || at(d) + resultBytes <= at(c);
  if (layoutC != layoutD || (c != d && !isApart) || !fits(c, plan.d))
    return call.breach("the matrix that is added does not fit the result",
                       kCublasLtInvalid);
  uint32_t alignments[4];
  std::memcpy(alignments, &algo->data[3], sizeof(alignments));
  const void *matrices[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (alignments[i] == 0 || reinterpret_cast<uintptr_t>(matrices[i]) % alignments[i])
      return call.breach(std::string("matrix ") + "ABCD"[i] +
                             " is not at a multiple of " + std::to_string(alignments[i]) +
                             " bytes, as the algorithm was told",
                         kCublasLtInvalid);
  int64_t biasLength = plan.epilogue == GemmEpilogue::BGradB ? plan.n : plan.m;
  if (usesBias(plan.epilogue) &&
      (!isOnDevice(matmul->bias, biasLength * getSize(plan.bias)) ||
       reinterpret_cast<uintptr_t>(matmul->bias) % kGemmOperandAlignment))
    return call.breach("the bias lies outside the device's allocations",
                       kCublasLtInvalid);
  bool isBits = static_cast<int>(plan.epilogue) & static_cast<int>(GemmEpilogue::Relu);
  isBits |=
      plan.epilogue == GemmEpilogue::DRelu || plan.epilogue == GemmEpilogue::DReluBGrad;
  int64_t auxBytes = plan.auxLd * plan.n;
  auxBytes = isBits ? auxBytes / 8 : auxBytes * getSize(plan.d.type);
  if (usesAux(plan.epilogue) &&
      (!isOnDevice(matmul->aux, auxBytes) ||
       reinterpret_cast<uintptr_t>(matmul->aux) % kGemmOperandAlignment))
    return call.breach(
        "the second matrix lies outside the device's allocations or is not "
        "aligned",
        kCublasLtInvalid);
  const void *scalesA = matmul->scalesA, *scalesB = matmul->scalesB;
  if (!plan.isScaled() && (scalesA || scalesB))
    return call.breach("scales without their mode", kCublasLtInvalid);
  auto areScales = [&](const void *scales, GemmScaling scaling, int64_t outer) {
    return reinterpret_cast<uintptr_t>(scales) % kGemmOperandAlignment == 0 &&
           isOnDevice(scales, countScales(scaling, outer, plan.k) *
                                  getSize(getScaleType(scaling)));
  };
  if (plan.isScaled() && (!areScales(scalesA, plan.scalingA, plan.m) ||
                          !areScales(scalesB, plan.scalingB, plan.n)))
    return call.breach("scales lie outside the device's allocations or are not aligned",
                       kCublasLtInvalid);
  if (!isOnDevice(workspace, static_cast<int64_t>(workspaceBytes)) ||
      reinterpret_cast<uintptr_t>(workspace) % kGemmWorkspaceAlignment)
    return call.breach("the workspace is not aligned or not on the device",
                       kCublasLtInvalid);
  StreamState *target = getStream(call, stream);
  StreamState *capture = !target             ? nullptr
                         : target->origin    ? target->origin
                         : target->capturing ? target
                                             : nullptr;
  if (capture &&
      capture->workspaces.try_emplace(workspace, stream).first->second != stream)
    return call.breach("two branches of a graph share a workspace", kCublasLtInvalid);
  // alpha and beta are the host's, read now.
  bool isDouble = plan.d.type == DataType::F64;
  double scaleA =
      isDouble ? *static_cast<const double *>(alpha) : *static_cast<const float *>(alpha);
  double scaleD =
      isDouble ? *static_cast<const double *>(beta) : *static_cast<const float *>(beta);
  auto *bias = const_cast<void *>(matmul->bias);
  void *aux = matmul->aux;
  double milliseconds = 0;
  std::memcpy(&milliseconds, &algo->data[2], sizeof(double));
  if (plan.fastAccumulation)
    ++state.calls["cublasLtMatmul with fast accumulation"];
  return submit(call, stream, [=]() -> Error {
    state.now += milliseconds;
    if (c != d && scaleD != 0)
      std::memcpy(d, c, resultBytes);
    if (plan.isScaled()) {
      if (!isFilledUp(plan.scalingA, scalesA, plan.m, plan.k) ||
          !isFilledUp(plan.scalingB, scalesB, plan.n, plan.k))
        state.breach = "cublasLtMatmul: what fills up tiles of scales is not zero";
      multiplyScaled(plan, a, b, scalesA, scalesB, bias, d, scaleA, scaleD);
    } else {
      multiplyParts(plan, a, b, bias, aux, d, scaleA, scaleD);
    }
    // What the library leaves there is of no use to anybody.
    std::memset(workspace, 0xa5, std::min<size_t>(workspaceBytes, 4096));
    return kSuccess;
  });
}
} // extern "C"
