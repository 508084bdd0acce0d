//===- DepthwiseFilterGrad.cpp - Of one channel a group -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Filter gradients of depthwise convolutions, in which oneDNN multiplies a tenth as
/// fast as in others. Channels lie in the lanes. A task takes 16 channels of a chunk of
/// images. For each row of dy and each row of the filter it adds the products of some
/// taps in registers along the row, then to the task's sums, which are added in the
/// order of the chunks. Rows of x are widened once, with zeros where the padding is.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "Parallel.h"
#include "VectorMath.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <array>

using namespace mpt::rt;

namespace {

/// Points of a row, 16 channels of each.
struct Row {
  const float *data;
  /// From one point to the next.
  int64_t step;
};

/// Some taps of a row of a filter: sums[tap] += sum over i < count of dy[i] times
/// x[i stride + tap dilation].
struct RowSums {
  Row x, dy;
  int64_t count, stride, dilation, taps;
  float *sums;
};

template <int taps, int unroll>
MPT_INLINE void addTaps(const RowSums &row, int64_t first) {
  const int64_t step = row.stride * row.x.step, tapStep = row.dilation * row.x.step;
  const float *x = row.x.data + first * tapStep, *dy = row.dy.data;
  // Several chains of additions, so that none waits for another.
  Vector totals[unroll][taps] = {};
#pragma clang loop unroll(disable)
  for (int64_t i = 0; i < row.count; i += unroll) {
#pragma clang loop unroll(full)
    for (int u = 0; u < unroll; ++u) {
      if (u > 0 && i + u >= row.count)
        break;
      Vector gradient, point;
      load(dy + (i + u) * row.dy.step, gradient);
#pragma clang loop unroll(full)
      for (int tap = 0; tap < taps; ++tap) {
        load(x + (i + u) * step + tap * tapStep, point);
        totals[u][tap] += gradient * point;
      }
    }
  }
#pragma clang loop unroll(full)
  for (int tap = 0; tap < taps; ++tap) {
    Vector sum;
    float *to = row.sums + (first + tap) * kLanes;
    load(to, sum);
#pragma clang loop unroll(full)
    for (int u = 0; u < unroll; ++u)
      sum += totals[u][tap];
    store(to, sum);
  }
}

/// All taps, five or three at a time and then one; without `unroll` one by one.
template <int unroll>
MPT_INLINE void addRow(const RowSums &row) {
  int64_t first = 0;
  if constexpr (unroll > 0) {
    for (; first + 5 <= row.taps; first += 5)
      addTaps<5, unroll>(row, first);
    for (; first + 3 <= row.taps; first += 3)
      addTaps<3, unroll>(row, first);
  }
  for (; first < row.taps; ++first)
    addTaps<1, unroll ? 2 * unroll : 1>(row, first);
}

/// Widens 16 channels of `count` points, `step` apart in `data` from element `index` on.
/// f16 is converted here only where `hasHalf`.
template <bool hasHalf>
MPT_INLINE void widenPoints(DataType type, const void *data, int64_t index, int64_t step,
                            int64_t count, int64_t lanes, float *target) {
  using Bits = uint16_t __attribute__((vector_size(32)));
  if (lanes == kLanes && type == DataType::F32) {
    for (int64_t i = 0; i < count; ++i) {
      __builtin_prefetch(static_cast<const float *>(data) + index + (i + count) * step);
      Vector point;
      load(static_cast<const float *>(data) + index + i * step, point);
      store(target + i * kLanes, point);
    }
    return;
  }
  if (lanes == kLanes && type == DataType::BF16) {
    for (int64_t i = 0; i < count; ++i) {
      __builtin_prefetch(static_cast<const uint16_t *>(data) + index +
                         (i + count) * step);
      Bits bits;
      __builtin_memcpy(&bits, static_cast<const uint16_t *>(data) + index + i * step,
                       sizeof(bits));
      const Integers wide = __builtin_convertvector(bits, Integers) << 16;
      __builtin_memcpy(target + i * kLanes, &wide, sizeof(wide));
    }
    return;
  }
  if constexpr (hasHalf) {
    if (lanes == kLanes && type == DataType::F16) {
      using Halves = _Float16 __attribute__((vector_size(32)));
      for (int64_t i = 0; i < count; ++i) {
        Halves halves;
        __builtin_memcpy(&halves, static_cast<const uint16_t *>(data) + index + i * step,
                         sizeof(halves));
        store(target + i * kLanes, __builtin_convertvector(halves, Vector));
      }
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    widen(type, data, index + i * step, target + i * kLanes, lanes);
    std::fill(target + i * kLanes + lanes, target + (i + 1) * kLanes, 0.0f);
  }
}

struct Kernels {
  void (*addRow)(const RowSums &);
  void (*widenPoints)(DataType, const void *, int64_t, int64_t, int64_t, int64_t,
                      float *);
};

#define MPT_KERNELS(name, unroll, hasHalf, ...)                                          \
  __VA_ARGS__ void addRow##name(const RowSums &row) { addRow<unroll>(row); }             \
  __VA_ARGS__ void widenPoints##name(DataType type, const void *data, int64_t index,     \
                                     int64_t step, int64_t count, int64_t lanes,         \
                                     float *target) {                                    \
    widenPoints<hasHalf>(type, data, index, step, count, lanes, target);                 \
  }                                                                                      \
  constexpr Kernels kernels##name = {addRow##name, widenPoints##name};

#if defined(__x86_64__)
// For processors before AVX2, as small code.
MPT_KERNELS(Plain, 0, false, __attribute__((cold)))
MPT_KERNELS(AVX2, 1, true, __attribute__((target("avx2,f16c,fma"))))
MPT_KERNELS(AVX512, 2, true,
            __attribute__((target("avx2,f16c,fma,avx512f,avx512bw,avx512dq,avx512vl"))))
#else
MPT_KERNELS(Plain, 0, false)
#endif
#undef MPT_KERNELS

const Kernels &getKernels(VectorSet set) {
#if defined(__x86_64__)
  static const bool multipliesAndAdds = __builtin_cpu_supports("fma");
  if (set == VectorSet::AVX512)
    return kernelsAVX512;
  if (set == VectorSet::AVX2 && multipliesAndAdds)
    return kernelsAVX2;
#endif
  return kernelsPlain;
}

class DepthwiseFilterGrad : public Call {
public:
  DepthwiseFilterGrad(const Instruction &instruction, int64_t threads, VectorSet set)
      : attributes(*getConv(instruction)), plan(planConv(instruction, threads)),
        x(instruction.refs[attributes.x]), y(instruction.refs[attributes.y]),
        result(instruction.refs[attributes.filter]),
        filter(attributes.getFilterSizes(result.dims)), kernels(getKernels(set)) {}

  bool run(void **buffers, ThreadTeam &team, std::string &) override {
    const int64_t blocks = (x.dims[3] + kLanes - 1) / kLanes;
    auto *parts = static_cast<float *>(buffers[attributes.filter + 1]);
    char *areas = static_cast<char *>(buffers[attributes.filter + 1]) +
                  plan.packedBytes * std::max<int64_t>(plan.sums, 1);
    const int64_t sumsOfBlock = filter[0] * filter[1] * kLanes;
    parallelFor(plan.chunks * blocks, team, [&](int64_t task, int thread) {
      alignas(64) char stack[ConvPlan::stackBytes];
      auto *area = reinterpret_cast<float *>(plan.getArea(areas, stack, thread));
      const int64_t block = task % blocks, chunk = task / blocks;
      float *sums = plan.chunks == 1 ? area : parts + task * sumsOfBlock;
      std::fill_n(sums, sumsOfBlock, 0.0f);
      const int64_t first = chunk * plan.chunk,
                    end = std::min(first + plan.chunk, x.dims[0]);
      // What is not written is padding.
      std::fill_n(area + sumsOfBlock, plan.threadBytes / 4 - sumsOfBlock, 0.0f);
      for (int64_t image = first; image < end; ++image)
        addImage(buffers, image, block * kLanes, sums, area + sumsOfBlock);
      if (plan.chunks == 1)
        write(sums, block * kLanes, buffers[attributes.filter]);
    });
    if (plan.chunks == 1)
      return true;
    parallelFor(blocks, team, [&](int64_t block, int) {
      float *sums = parts + block * sumsOfBlock;
      for (int64_t chunk = 1; chunk < plan.chunks; ++chunk)
        for (int64_t i = 0; i < sumsOfBlock; ++i)
          sums[i] += parts[(chunk * blocks + block) * sumsOfBlock + i];
      write(sums, block * kLanes, buffers[attributes.filter]);
    });
    return true;
  }

private:
  /// Adds the products of 16 channels of an image. `area` has room for the rows of x that
  /// a row of dy meets, each at its number modulo how many there are, and for one of dy.
  void addImage(void **buffers, int64_t image, int64_t channel, float *sums,
                float *area) const {
    const int64_t channels = x.dims[3], height = x.dims[1], width = x.dims[2],
                  outHeight = y.dims[1], outWidth = y.dims[2],
                  lanes = std::min(kLanes, channels - channel);
    const auto &padding = attributes.padding;
    const auto &dilations = attributes.dilations, &strides = attributes.strides;
    const int64_t rows = (filter[0] - 1) * dilations[0] + 1,
                  padded = padding[2] + width + padding[3];
    float *dyRow = area + rows * padded * kLanes;
    const bool isRead = y.type == DataType::F32 && lanes == kLanes;
    // Rows of x before this one are there.
    int64_t next = 0;
    for (int64_t out = 0; out < outHeight; ++out) {
      const int64_t top = out * strides[0] - padding[0],
                    end = std::min(height, top + rows);
      for (next = std::max(next, top); next < end; ++next) {
        float *points = area + (next % rows * padded + padding[2]) * kLanes;
        kernels.widenPoints(x.type, buffers[attributes.x],
                            (image * height + next) * width * channels + channel,
                            channels, width, lanes, points);
        if (attributes.xRounding != Rounding::None)
          round(attributes.xRounding, points, points, width * kLanes);
      }
      const int64_t index = (image * outHeight + out) * outWidth * channels + channel;
      Row dy{dyRow, kLanes};
      if (isRead)
        dy = {static_cast<const float *>(buffers[attributes.y]) + index, channels};
      else
        kernels.widenPoints(y.type, buffers[attributes.y], index, channels, outWidth,
                            lanes, dyRow);
      for (int64_t tap = 0; tap < filter[0]; ++tap) {
        const int64_t row = top + tap * dilations[0];
        if (row >= 0 && row < height)
          kernels.addRow({{area + row % rows * padded * kLanes, kLanes},
                          dy,
                          outWidth,
                          strides[1],
                          dilations[1],
                          filter[1],
                          sums + tap * filter[1] * kLanes});
      }
    }
  }

  void write(const float *sums, int64_t channel, void *target) const {
    const int64_t channels = x.dims[3], taps = filter[0] * filter[1],
                  lanes = std::min(kLanes, channels - channel);
    for (int64_t tap = 0; tap < taps; ++tap)
      if (!attributes.isOIHW)
        narrow(result.type, sums + tap * kLanes, target, tap * channels + channel, lanes);
      else
        for (int64_t lane = 0; lane < lanes; ++lane)
          fromF32(result.type, target, (channel + lane) * taps + tap,
                  sums[tap * kLanes + lane]);
  }

  ConvCall attributes;
  ConvPlan plan;
  BufferRef x, y, result;
  std::array<int64_t, 4> filter;
  const Kernels &kernels;
};

} // namespace

std::unique_ptr<Call> mpt::rt::makeDepthwiseFilterGrad(const Instruction &instruction,
                                                       int64_t maxThreads,
                                                       VectorSet set) {
  return std::make_unique<DepthwiseFilterGrad>(instruction, maxThreads, set);
}
