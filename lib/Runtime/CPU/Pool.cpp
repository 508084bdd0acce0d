//===- Pool.cpp - Poolings and their gradients -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Max and average pooling, NHWC. Channels lie beside each other, so all loops
/// run over blocks of them, widened to f32 (f64 if a buffer is f64). Ties go to
/// the first element of a window; a NaN wins.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "Parallel.h"

#include <algorithm>
#include <limits>
#include <type_traits>

using namespace mpt::rt;

namespace {

/// Channels of a block.
constexpr int64_t kBlock = 64;
/// Elements of a task, at least.
constexpr int64_t kTaskElements = 8192;

void loadBlock(DataType type, const void *data, int64_t at, float *out, int64_t count) {
  widen(type, data, at, out, count);
}
void loadBlock(DataType type, const void *data, int64_t at, double *out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = type == DataType::F64 ? static_cast<const double *>(data)[at + i]
                                   : toF32(type, data, at + i);
}
void storeBlock(DataType type, void *data, int64_t at, const float *in, int64_t count) {
  narrow(type, in, data, at, count);
}
void storeBlock(DataType type, void *data, int64_t at, const double *in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (type == DataType::F64)
      static_cast<double *>(data)[at + i] = in[i];
    else
      fromF32(type, data, at + i, static_cast<float>(in[i]));
  }
}

/// One axis: windows of `size` points every `stride`, the first at -`before`.
struct Axis {
  int64_t points, windows, size, stride, before;

  int64_t begin(int64_t window) const {
    return std::max<int64_t>(window * stride - before, 0);
  }
  int64_t end(int64_t window) const {
    return std::min(window * stride - before + size, points);
  }
  /// The windows that hold `point`.
  int64_t firstWindow(int64_t point) const {
    int64_t from = point + before - size; // of the last window without it
    return from < 0 ? 0 : from / stride + 1;
  }
  int64_t lastWindow(int64_t point) const {
    return std::min((point + before) / stride, windows - 1);
  }
};

struct Pool {
  int64_t images, channels;
  Axis rows, columns;
  bool countsPadding = false;

  template <typename PoolCall>
  Pool(const BufferRef &x, const BufferRef &y, const PoolCall &call)
      : images(x.dims[0]), channels(x.dims[3]),
        rows{x.dims[1], y.dims[1], call.window[0], call.strides[0], call.padding[0]},
        columns{x.dims[2], y.dims[2], call.window[1], call.strides[1], call.padding[2]} {
    if constexpr (std::is_same_v<PoolCall, AvgPoolCall> ||
                  std::is_same_v<PoolCall, AvgPoolGradCall>)
      countsPadding = call.countIncludePad;
  }

  int64_t xAt(int64_t image, int64_t row, int64_t column, int64_t channel) const {
    return ((image * rows.points + row) * columns.points + column) * channels + channel;
  }
  int64_t yAt(int64_t image, int64_t i, int64_t j, int64_t channel) const {
    return ((image * rows.windows + i) * columns.windows + j) * channels + channel;
  }
  int64_t divisor(int64_t i, int64_t j) const {
    if (countsPadding)
      return rows.size * columns.size;
    return std::max<int64_t>(1, (rows.end(i) - rows.begin(i)) *
                                    (columns.end(j) - columns.begin(j)));
  }
  /// Calls body(row, column) for the elements of window (i, j), in order.
  template <typename Body>
  void forWindow(int64_t i, int64_t j, Body &&body) const {
    for (int64_t row = rows.begin(i); row < rows.end(i); ++row)
      for (int64_t column = columns.begin(j); column < columns.end(j); ++column)
        body(row, column);
  }
  /// Calls body(first, count) for blocks of channels.
  template <typename Body>
  void forChannels(Body &&body) const {
    for (int64_t first = 0; first < channels; first += kBlock)
      body(first, std::min(kBlock, channels - first));
  }
};

/// Calls body(i) for i below `count`, which handle `elements` each.
template <typename Body>
void forTasks(int64_t count, int64_t elements, ThreadTeam &team, Body &&body) {
  int64_t perTask = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(elements, 1));
  parallelFor((count + perTask - 1) / perTask, team, [&](int64_t task, int) {
    for (int64_t i = task * perTask; i < std::min(count, (task + 1) * perTask); ++i)
      body(i);
  });
}

/// Whether `value` takes the place of `best`.
template <typename Number>
bool wins(Number value, Number best) {
  return (value > best || value != value) & (best == best);
}

template <typename Number, typename PoolCall>
void runPoolAs(const PoolCall &attributes, const Instruction &call, void **buffers,
               ThreadTeam &team) {
  const BufferRef &x = call.refs[0], &y = call.refs[1];
  constexpr bool isMax = std::is_same_v<PoolCall, MaxPoolCall>;
  Pool pool(x, y, attributes);
  int64_t perRow = pool.columns.points * pool.channels;
  forTasks(pool.images * pool.rows.windows, perRow, team, [&](int64_t index) {
    int64_t image = index / pool.rows.windows, i = index % pool.rows.windows;
    Number values[kBlock], result[kBlock];
    for (int64_t j = 0; j < pool.columns.windows; ++j)
      pool.forChannels([&](int64_t first, int64_t count) {
        std::fill_n(result, count,
                    isMax ? -std::numeric_limits<Number>::infinity() : Number(0));
        pool.forWindow(i, j, [&](int64_t row, int64_t column) {
          loadBlock(x.type, buffers[0], pool.xAt(image, row, column, first), values,
                    count);
          if (isMax)
            for (int64_t c = 0; c < count; ++c)
              result[c] = wins(values[c], result[c]) ? values[c] : result[c];
          else
            for (int64_t c = 0; c < count; ++c)
              result[c] += values[c];
        });
        if (!isMax) {
          auto divisor = static_cast<Number>(pool.divisor(i, j));
          for (int64_t c = 0; c < count; ++c)
            result[c] /= divisor;
        }
        storeBlock(y.type, buffers[1], pool.yAt(image, i, j, first), result, count);
      });
  });
}

/// A task owns rows of dx. Each point sums over the windows that hold it, in
/// their order, whatever the number of threads.
template <typename Number, typename PoolCall>
void runPoolGradAs(const PoolCall &attributes, const Instruction &call, void **buffers,
                   ThreadTeam &team) {
  constexpr bool isMax = std::is_same_v<PoolCall, MaxPoolGradCall>;
  const BufferRef &dy = call.refs[0], &dx = call.refs[call.numInputs];
  const BufferRef &x = call.refs[isMax ? 1 : 0];
  Pool pool(dx, dy, attributes);
  int64_t perRow = pool.columns.points * pool.channels;
  forTasks(pool.images * pool.rows.points, perRow, team, [&](int64_t index) {
    int64_t image = index / pool.rows.points, row = index % pool.rows.points;
    Number sum[kBlock], gradient[kBlock], values[kBlock], best[kBlock];
    int32_t isBest[kBlock];
    for (int64_t column = 0; column < pool.columns.points; ++column)
      pool.forChannels([&](int64_t first, int64_t count) {
        std::fill_n(sum, count, Number(0));
        for (int64_t i = pool.rows.firstWindow(row); i <= pool.rows.lastWindow(row); ++i)
          for (int64_t j = pool.columns.firstWindow(column);
               j <= pool.columns.lastWindow(column); ++j) {
            loadBlock(dy.type, buffers[0], pool.yAt(image, i, j, first), gradient, count);
            if (!isMax) {
              auto divisor = static_cast<Number>(pool.divisor(i, j));
              for (int64_t c = 0; c < count; ++c)
                sum[c] += gradient[c] / divisor;
              continue;
            }
            bool isFirst = true;
            pool.forWindow(i, j, [&](int64_t r, int64_t q) {
              int32_t isHere = r == row && q == column;
              loadBlock(x.type, buffers[1], pool.xAt(image, r, q, first), values, count);
              for (int64_t c = 0; c < count; ++c) {
                bool takes = isFirst | wins(values[c], best[c]);
                isBest[c] = takes ? isHere : isBest[c];
                best[c] = takes ? values[c] : best[c];
              }
              isFirst = false;
            });
            for (int64_t c = 0; c < count; ++c)
              sum[c] += isBest[c] ? gradient[c] : Number(0);
          }
        storeBlock(dx.type, buffers[call.numInputs], pool.xAt(image, row, column, first),
                   sum, count);
      });
  });
}

bool hasDoubles(const Instruction &call) {
  return std::any_of(call.refs.begin(), call.refs.end(),
                     [](const BufferRef &ref) { return ref.type == DataType::F64; });
}

template <typename PoolCall>
void runForward(const PoolCall &pool, const Instruction &call, void **buffers,
                ThreadTeam &team) {
  hasDoubles(call) ? runPoolAs<double>(pool, call, buffers, team)
                   : runPoolAs<float>(pool, call, buffers, team);
}

template <typename PoolCall>
void runGrad(const PoolCall &pool, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  hasDoubles(call) ? runPoolGradAs<double>(pool, call, buffers, team)
                   : runPoolGradAs<float>(pool, call, buffers, team);
}

} // namespace

void mpt::rt::runPool(const MaxPoolCall &pool, const Instruction &call, void **buffers,
                      ThreadTeam &team) {
  runForward(pool, call, buffers, team);
}
void mpt::rt::runPool(const MaxPoolGradCall &pool, const Instruction &call,
                      void **buffers, ThreadTeam &team) {
  runGrad(pool, call, buffers, team);
}
void mpt::rt::runPool(const AvgPoolCall &pool, const Instruction &call, void **buffers,
                      ThreadTeam &team) {
  runForward(pool, call, buffers, team);
}
void mpt::rt::runPool(const AvgPoolGradCall &pool, const Instruction &call,
                      void **buffers, ThreadTeam &team) {
  runGrad(pool, call, buffers, team);
}
