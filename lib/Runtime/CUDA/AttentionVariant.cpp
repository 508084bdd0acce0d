//===- AttentionVariant.cpp - Attention by what sm_90a has alone -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionVariant.h"
#include "../Comm/WaitClock.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

static float widen(uint16_t bits, bool isBF16) {
  const float sign = bits >> 15 ? -1 : 1;
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (!isBF16)
    return exponent == 31
               ? NAN
               : sign *
                     std::ldexp(static_cast<float>(exponent ? fraction | 1024 : fraction),
                                std::max(exponent, 1) - 25);
  const uint32_t word = static_cast<uint32_t>(bits) << 16;
  float number;
  std::memcpy(&number, &word, sizeof(number));
  return number;
}

/// Towards 0, of a number that is no subnormal one.
static uint16_t narrow(float number, bool isBF16) {
  uint32_t word;
  std::memcpy(&word, &number, sizeof(word));
  if (isBF16 || number == 0)
    return static_cast<uint16_t>(word >> 16);
  return static_cast<uint16_t>((word >> 16 & 0x8000) + ((word & 0x7fffffff) >> 13) -
                               (112 << 10));
}

void AttentionVariants::load(int architecture, std::string &why) {
  if (desc.num_variants == 0)
    return;
  if (architecture != 90) {
    why = "it is for sm_90, and this GPU is an sm_" + std::to_string(architecture);
    return;
  }
  Error code = kNoKernelImageForDevice;
  // Machine code comes before PTX.
  for (uint64_t i = 0; i < desc.num_images && code != kSuccess; ++i)
    if (desc.images[i].is_specific)
      code = api.cudaLibraryLoadData(&library, desc.images[i].data, nullptr, nullptr, 0,
                                     nullptr, nullptr, 0);
  if (code != kSuccess) {
    (void)api.cudaGetLastError();
    library = nullptr;
    why = std::string("the driver refuses the code for sm_90a: ") +
          api.cudaGetErrorString(code);
    return;
  }
  void *function = nullptr;
  int found = 0;
  if (api.cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, 0,
                                           &found) ||
      !function) {
    (void)api.cudaGetLastError();
    why = "the driver has no cuTensorMapEncodeTiled";
    return;
  }
  encode = reinterpret_cast<EncodeTiled>(function);
  kernels.resize(desc.num_variants);
  for (uint64_t i = 0; i < desc.num_variants; ++i) {
    const mpt_cuda_variant &variant = desc.variants[i];
    code = api.cudaLibraryGetKernel(&kernels[i], library, variant.name);
    if (code == kSuccess)
      code = api.cudaFuncSetAttribute(kernels[i], kMostSharedAttribute,
                                      static_cast<int>(variant.shared_bytes));
    if (code != kSuccess) {
      why = std::string(variant.name) + ": " + api.cudaGetErrorString(code);
      (void)api.cudaGetLastError();
      kernels.clear();
      return;
    }
  }
}

bool AttentionVariants::isEmpty() const {
  return std::all_of(kernels.begin(), kernels.end(), [](Kernel k) { return !k; });
}

const mpt_cuda_variant *AttentionVariants::find(uint64_t kernel) const {
  for (size_t i = 0; i < kernels.size(); ++i)
    if (kernels[i] && desc.variants[i].kernel == kernel)
      return &desc.variants[i];
  return nullptr;
}

void AttentionVariants::drop(const mpt_cuda_variant &variant) {
  kernels[&variant - desc.variants] = nullptr;
}

Error AttentionVariants::launch(const mpt_cuda_variant &variant,
                                std::vector<void *> buffers, bool isCheck,
                                Stream stream) const {
  alignas(64) char maps[3][kMapBytes];
  std::vector<void *> arguments;
  for (int i = 0; i < 3; ++i) {
    const mpt_cuda_tensor_map &map = variant.maps[i];
    uint32_t box[4], steps[4] = {1, 1, 1, 1};
    std::copy(std::begin(map.box), std::end(map.box), box);
    if (encode(maps[i], variant.is_bf16 ? kMapBF16 : kMapF16, 4, buffers[i], map.sizes,
               map.strides, box, steps, /*interleave=*/0, kMapSwizzle128,
               kMapPromotion256, /*fill=*/0))
      return kInvalidValue;
    arguments.push_back(maps[i]);
  }
  for (void *&buffer : buffers)
    arguments.push_back(&buffer);
  const uint64_t blocks = isCheck ? variant.checked_blocks : variant.blocks;
  // Parameters are copied when this returns.
  return api.cudaLaunchKernel(kernels[&variant - desc.variants],
                              {static_cast<unsigned>(blocks), 1, 1},
                              {static_cast<unsigned>(variant.threads), 1, 1},
                              arguments.data(), variant.shared_bytes, stream);
}

std::string AttentionVariants::check(const mpt_cuda_variant &variant, Kernel kernel,
                                     uint64_t threads, const std::vector<void *> &buffers,
                                     Stream stream, Error &code) const {
  std::string why;
  auto attempt = [&](Error next) {
    if (next == kSuccess || !why.empty())
      return;
    why = std::string("CUDA refuses it: ") + api.cudaGetErrorString(next);
    (void)api.cudaGetLastError();
  };
  // Scores have a standard deviation of about 2 (`largest`): a few keys decide, and what
  // is read in the wrong place shows. Operands may share memory, so all have one range.
  constexpr int kParts = 24;
  const bool isBF16 = variant.is_bf16 != 0;
  const auto largest = static_cast<float>(variant.largest);
  uint32_t random = 12345;
  std::vector<uint16_t> inputs[3];
  for (int i = 0; i < 3; ++i) {
    inputs[i].resize(variant.checked_elements[i]);
    for (uint16_t &number : inputs[i]) {
      random = random * 1664525u + 1013904223u;
      const auto part = static_cast<int>((random >> 16) % (2 * kParts + 1)) - kParts;
      number = narrow(largest * static_cast<float>(part) / kParts, isBF16);
    }
    attempt(api.cudaMemcpyAsync(buffers[i], inputs[i].data(), inputs[i].size() * 2,
                                HostToDevice, stream));
  }
  // Of the kernel, and twice of the variant.
  std::vector<uint16_t> results[3];
  std::vector<float> sums[3];
  const uint64_t rows = variant.checked_entries * variant.heads * variant.queries;
  std::vector<void *> places = buffers, arguments;
  for (void *&place : places)
    arguments.push_back(&place);
  for (int which = 0; which < 3; ++which) {
    results[which].resize(variant.checked_elements[3]);
    sums[which].resize(rows);
    const size_t bytes = results[which].size() * 2;
    // What is not written is not a number.
    attempt(api.cudaMemsetAsync(places[3], 0xff, bytes, stream));
    attempt(api.cudaMemsetAsync(places[4], 0xff, rows * 4, stream));
    attempt(which == 0
                ? api.cudaLaunchKernel(
                      kernel,
                      {static_cast<unsigned>(variant.kernel_checked_blocks), 1, 1},
                      {static_cast<unsigned>(threads), 1, 1}, arguments.data(), 0, stream)
                : launch(variant, places, /*isCheck=*/true, stream));
    // Copies to the host would wait for them, and without end.
    WaitClock clock;
    while ((code = api.cudaStreamQuery(stream)) == kNotReady &&
           clock.getSeconds() < kMostSeconds)
      WaitClock::rest(clock.getSeconds());
    (void)api.cudaGetLastError();
    if (code)
      return why;
    attempt(api.cudaMemcpyAsync(results[which].data(), places[3], bytes, DeviceToHost,
                                stream));
    attempt(api.cudaMemcpyAsync(sums[which].data(), places[4], rows * 4, DeviceToHost,
                                stream));
    code = api.cudaStreamSynchronize(stream);
    if (code || !why.empty())
      return why;
  }
  // Each rounds probabilities, whose sum is 1, and results, all of numbers up to
  // `largest`; the rest is f32.
  const float bound = largest * ((isBF16 ? 0x1p-6f : 0x1p-9f) + 0x1p-11f);
  auto differ = [&](float x, float y, float most, const char *what, uint64_t row) {
    if (std::fabs(x - y) <= most)
      return false;
    why = std::string("it differs on this GPU: ") + what + " of row " +
          std::to_string(row) + " is " + std::to_string(y) + " and not " +
          std::to_string(x);
    return true;
  };
  for (uint64_t row = 0; row < rows; ++row) {
    if (differ(sums[0][row], sums[1][row], 0x1p-10f * (1 + std::fabs(sums[0][row])),
               "the log-sum-exp", row))
      return why;
    const uint64_t head = row / variant.queries;
    const uint64_t first = head / variant.heads * variant.entry_stride +
                           head % variant.heads * variant.head_stride +
                           row % variant.queries * variant.row_stride;
    for (uint64_t i = 0; i < variant.width; ++i)
      if (differ(widen(results[0][first + i], isBF16),
                 widen(results[1][first + i], isBF16), bound, "an element", row))
        return why;
  }
  if (results[1] != results[2] ||
      std::memcmp(sums[1].data(), sums[2].data(), rows * 4) != 0)
    return "it computes something else when it runs again";
  return "";
}
