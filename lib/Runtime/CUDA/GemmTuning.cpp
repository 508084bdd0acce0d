//===- GemmTuning.cpp - Algorithms by measuring -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmTuning.h"

#include <algorithm>
#include <iterator>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// Launches between two events, and how often they are measured.
static constexpr int kLaunches = 5, kRounds = 3;

GemmTuner::~GemmTuner() {
  for (Event event : events)
    if (event)
      api.cudaEventDestroy(event);
  if (stream)
    api.cudaStreamDestroy(stream);
}

bool GemmTuner::check(Error code, const std::string &what, std::string &error) {
  if (code == kSuccess)
    return true;
  const char *why = api.cudaGetErrorString(code);
  error = what + ": " + (why ? why : "unknown error") + " (CUDA error " +
          std::to_string(code) + ")";
  return false;
}

bool GemmTuner::open(const std::string &cudart, const std::string &cublasLt,
                     std::string &error) {
  if (!api.load(cudart, cublasLt, error))
    return false;
  if (!api.withoutCublasLt.empty()) {
    error = api.withoutCublasLt;
    return false;
  }
  int count = 0, major = 0, minor = 0;
  if (!check(api.cudaGetDeviceCount(&count), "no GPU can be used", error) ||
      !check(api.cudaSetDevice(0), "no GPU can be used", error) ||
      !check(api.cudaDeviceGetAttribute(&major, kAttributeMajor, 0), "the GPU", error) ||
      !check(api.cudaDeviceGetAttribute(&minor, kAttributeMinor, 0), "the GPU", error) ||
      !check(api.cudaDeviceGetAttribute(&multiprocessors, kAttributeMultiprocessors, 0),
             "the GPU", error) ||
      !check(api.cudaStreamCreateWithFlags(&stream, kNonBlocking), "a stream", error))
    return false;
  for (Event &event : events)
    if (!check(api.cudaEventCreateWithFlags(&event, 0), "an event", error))
      return false;
  architecture = major * 10 + minor;
  version = api.cublasLtGetVersion();
  const char *what = nullptr;
  if (Status status = context.create(what)) {
    error = std::string(what) + ": cuBLASLt " + describeCublasLtStatus(status);
    return false;
  }
  return true;
}

bool GemmTuner::measure(const CublasLtMatmul &matmul, const CublasLtAlgo &algo,
                        char *const buffers[], double &microseconds, std::string &error) {
  auto launch = [&](int times) {
    Status status = 0;
    for (int i = 0; i < times && status == 0; ++i)
      status = matmul.run(context, algo, buffers[0], buffers[1], buffers[2], buffers[2],
                          buffers[5], kGemmWorkspaceBytes, stream);
    return status;
  };
  microseconds = -1;
  // What refuses to run is not chosen.
  if (launch(1) != 0)
    return true;
  for (int round = 0; round < kRounds; ++round) {
    float milliseconds = 0;
    if (!check(api.cudaEventRecord(events[0], stream), "measuring", error))
      return false;
    if (launch(kLaunches) != 0)
      return true;
    if (!check(api.cudaEventRecord(events[1], stream), "measuring", error) ||
        !check(api.cudaEventSynchronize(events[1]), "measuring", error) ||
        !check(api.cudaEventElapsedTime(&milliseconds, events[0], events[1]), "measuring",
               error))
      return false;
    double found = milliseconds * 1000.0 / kLaunches;
    microseconds = microseconds < 0 ? found : std::min(microseconds, found);
  }
  return true;
}

/// `bytes` of numbers of `type` between -1 and 1: what is multiplied decides
/// how much power is drawn, and so the clock.
static std::string randomNumbers(DataType type, size_t bytes) {
  std::string data(bytes, '\0');
  uint32_t state = 12345;
  size_t width = getSize(type);
  for (size_t i = 0; i + width <= bytes; i += width) {
    state = state * 1664525u + 1013904223u;
    uint32_t random = state >> 8;
    // The exponent of 0.5 to 1, and random sign and mantissa.
    uint64_t bits = 0;
    switch (type) {
    case DataType::F64:
      bits = (0x3feull << 52) | (uint64_t(random) << 24) | uint64_t(random & 1) << 63;
      break;
    case DataType::F32:
      bits = 0x3f000000u | (random & 0x7fffff) | (random >> 23) << 31;
      break;
    case DataType::BF16:
      bits = 0x3f00u | (random & 0x7f) | ((random >> 7) & 1) << 15;
      break;
    case DataType::F16:
      bits = 0x3800u | (random & 0x3ff) | ((random >> 10) & 1) << 15;
      break;
    case DataType::F8E4M3FN:
      bits = 0x30u | (random & 7) | ((random >> 3) & 1) << 7;
      break;
    default:
      bits = 0x38u | (random & 3) | ((random >> 2) & 1) << 7;
      break;
    }
    std::memcpy(&data[i], &bits, width);
  }
  return data;
}

bool GemmTuner::tune(const GemmPlan &plan, int most, TunedGemm &result,
                     std::string &error) {
  result = TunedGemm();
  result.key = keyOf(plan);
  auto bytesOf = [&](const GemmMatrix &matrix) {
    return ((plan.batch - 1) * matrix.stride + matrix.ld * matrix.columns) *
           getSize(matrix.type);
  };
  // Scales are zeros: what time a matmul takes does not depend on them.
  auto scaleBytes = [&](GemmScaling scaling, int64_t outer) {
    return plan.isScaled() ? countScales(scaling, outer, plan.k) * 4 : 0;
  };
  // A, B, D, bias, second matrix, workspace, scales of A and B.
  const int64_t sizes[] = {bytesOf(plan.a),
                           bytesOf(plan.b),
                           bytesOf(plan.d),
                           usesBias(plan.epilogue) ? std::max(plan.m, plan.n) * 8 : 0,
                           usesAux(plan.epilogue) ? plan.auxLd * plan.n * 4 : 0,
                           kGemmWorkspaceBytes,
                           scaleBytes(plan.scalingA, plan.m),
                           scaleBytes(plan.scalingB, plan.n)};
  constexpr size_t count = std::size(sizes);
  int64_t total = 0;
  for (int64_t size : sizes)
    total += (size + 255) / 256 * 256;
  void *block = nullptr;
  if (!check(api.cudaMalloc(&block, total), "memory of the GPU", error))
    return false;
  struct Free {
    Api &api;
    void *block;
    ~Free() { api.cudaFree(block); }
  } release{api, block};
  char *buffers[count], *end = static_cast<char *>(block);
  for (size_t i = 0; i < count; ++i) {
    buffers[i] = end;
    end += (sizes[i] + 255) / 256 * 256;
  }
  if (!check(api.cudaMemsetAsync(block, 0, total, stream), "clearing", error))
    return false;
  for (int i : {0, 1}) {
    std::string data = randomNumbers(i ? plan.b.type : plan.a.type,
                                     std::min<int64_t>(sizes[i], 4 << 20));
    for (int64_t at = 0; at < sizes[i]; at += static_cast<int64_t>(data.size()))
      if (!check(api.cudaMemcpyAsync(
                     buffers[i] + at, data.data(),
                     std::min(static_cast<int64_t>(data.size()), sizes[i] - at),
                     HostToDevice, stream),
                 "copying", error))
        return false;
    if (!check(api.cudaStreamSynchronize(stream), "copying", error))
      return false;
  }
  CublasLtMatmul matmul(api);
  const char *what = nullptr;
  if (Status status =
          matmul.create(plan, {buffers[3], buffers[4], buffers[6], buffers[7]}, what)) {
    error = std::string(what) + ": cuBLASLt " + describeCublasLtStatus(status);
    return false;
  }
  std::vector<CublasLtHeuristic> found;
  // The algorithm must do for the plan's matrices wherever they lie.
  constexpr auto least = static_cast<uint32_t>(kGemmOperandAlignment);
  Status status = matmul.propose(context, most, found, {{least, least, least, least}});
  if (found.empty()) {
    error = "cuBLASLt has no algorithm for " + describeGemmPlan(plan) + " (" +
            describeCublasLtStatus(status) + ")";
    return false;
  }
  result.candidates = static_cast<int>(found.size());
  result.microseconds = -1;
  for (int i = 0; i < result.candidates; ++i) {
    double microseconds = -1;
    if (!measure(matmul, found[i].algo, buffers, microseconds, error))
      return false;
    if (microseconds < 0)
      continue;
    if (i == 0)
      result.firstMicroseconds = microseconds;
    if (result.microseconds < 0 || microseconds < result.microseconds) {
      result.microseconds = microseconds;
      result.algo = found[i].algo;
      result.chosen = i;
    }
  }
  if (result.microseconds < 0) {
    error = "no algorithm that cuBLASLt proposes for " + describeGemmPlan(plan) + " runs";
    return false;
  }
  return check(api.cudaStreamSynchronize(stream), "measuring", error);
}
