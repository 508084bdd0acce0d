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
#include <type_traits>

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
  alignas(64) char maps[std::extent_v<decltype(mpt_cuda_variant::maps)>][kMapBytes];
  std::vector<void *> arguments;
  for (uint64_t i = 0; i < variant.num_maps; ++i) {
    const mpt_cuda_tensor_map &map = variant.maps[i];
    uint32_t box[4], steps[4] = {1, 1, 1, 1};
    std::copy(std::begin(map.box), std::end(map.box), box);
    if (encode(maps[i], variant.is_bf16 ? kMapBF16 : kMapF16, 4, buffers[map.buffer],
               map.sizes, map.strides, box, steps, /*interleave=*/0, kMapSwizzle128,
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

/// Element `i` of what is compared.
static float elementOf(const std::vector<char> &bytes, uint64_t i, bool isF32,
                       bool isBF16) {
  float number;
  uint16_t bits;
  if (isF32) {
    std::memcpy(&number, bytes.data() + i * 4, 4);
    return number;
  }
  std::memcpy(&bits, bytes.data() + i * 2, 2);
  return widen(bits, isBF16);
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
  constexpr int kParts = 48;
  const bool isBF16 = variant.is_bf16 != 0;
  uint32_t random = 12345;
  // Until the copies have ended.
  std::vector<std::vector<char>> inputs(variant.num_made);
  for (uint64_t i = 0; i < variant.num_made; ++i) {
    const mpt_cuda_made &made = variant.made[i];
    const size_t bytes = made.is_f32 ? 4 : 2;
    inputs[i].resize(made.elements * bytes);
    for (uint64_t j = 0; j < made.elements; ++j) {
      random = random * 1664525u + 1013904223u;
      const auto part = static_cast<float>((random >> 16) % (kParts + 1));
      const float number = static_cast<float>(made.from) +
                           static_cast<float>(made.to - made.from) * part / kParts;
      const uint16_t bits = made.is_f32 ? 0 : narrow(number, isBF16);
      std::memcpy(inputs[i].data() + j * bytes,
                  made.is_f32 ? static_cast<const void *>(&number) : &bits, bytes);
    }
    attempt(api.cudaMemcpyAsync(buffers[made.buffer], inputs[i].data(), inputs[i].size(),
                                HostToDevice, stream));
  }
  // Of the kernel, and twice of the variant.
  constexpr size_t kCompared = std::extent_v<decltype(mpt_cuda_variant::compared)>;
  std::vector<char> results[3][kCompared];
  std::vector<void *> places = buffers, arguments;
  for (void *&place : places)
    arguments.push_back(&place);
  for (auto &mine : results) {
    for (size_t i = 0; i < kCompared; ++i) {
      const mpt_cuda_compared &result = variant.compared[i];
      mine[i].resize(result.elements * (result.is_f32 ? 4 : 2));
      // What is not written is not a number.
      attempt(api.cudaMemsetAsync(places[result.buffer], 0xff, mine[i].size(), stream));
    }
    attempt(&mine == results
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
    for (size_t i = 0; i < kCompared; ++i)
      attempt(api.cudaMemcpyAsync(mine[i].data(), places[variant.compared[i].buffer],
                                  mine[i].size(), DeviceToHost, stream));
    code = api.cudaStreamSynchronize(stream);
    if (code || !why.empty())
      return why;
  }
  for (size_t i = 0; i < kCompared; ++i) {
    const mpt_cuda_compared &result = variant.compared[i];
    const uint64_t rows = variant.checked_entries * result.heads * result.rows;
    for (uint64_t at = 0; at < rows * result.width; ++at) {
      const uint64_t row = at / result.width, head = row / result.rows;
      const uint64_t place = head / result.heads * result.entry_stride +
                             head % result.heads * result.head_stride +
                             row % result.rows * result.row_stride + at % result.width;
      const float x = elementOf(results[0][i], place, result.is_f32 != 0, isBF16),
                  y = elementOf(results[1][i], place, result.is_f32 != 0, isBF16);
      const float most = static_cast<float>(result.absolute) +
                         static_cast<float>(result.relative) * std::fabs(x);
      if (x != y && !(std::fabs(x - y) <= most))
        return "it differs on this GPU: element " + std::to_string(at % result.width) +
               " of row " + std::to_string(row) + " of buffer " +
               std::to_string(result.buffer) + " is " + std::to_string(y) + " and not " +
               std::to_string(x);
    }
    if (results[1][i] != results[2][i])
      return "it computes something else when it runs again";
  }
  return "";
}
