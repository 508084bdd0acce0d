//===- Pool.cpp - Poolings and their gradients -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Max and average pooling, NHWC. Channels are adjacent, so all loops run over vectors
/// of channels, widened to f32 (f64 if a buffer is f64). The same source is compiled
/// for plain x86-64, AVX2 and AVX-512, with the same bits. Ties go to the first element
/// of a window; a NaN wins.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#define MPT_INLINE inline __attribute__((always_inline))
#define MPT_ALWAYS __attribute__((always_inline))

using namespace mpt::rt;

namespace {

//===----------------------------------------------------------------------===//
// Vectors of elements
//===----------------------------------------------------------------------===//

/// `lanes` numbers; compilers split it where registers are narrower.
template <typename Number, int64_t lanes>
using Vector = Number __attribute__((vector_size(lanes * sizeof(Number))));
/// Integers as wide as the numbers: the type of comparisons, where -1 means true.
template <typename Number>
using Integer = std::conditional_t<sizeof(Number) == 8, int64_t, int32_t>;

/// Elements that are stored as they are computed, `lanes` at a time.
template <typename N, int64_t lanes>
struct PlainElements {
  using Number = N;
  static constexpr int64_t kLanes = lanes;
  N *data;

  PlainElements(DataType, void *data) : data(static_cast<N *>(data)) {}
  int64_t getBytes() const { return sizeof(N); }
  void fillZeros(int64_t at, int64_t count) const { std::fill_n(data + at, count, N(0)); }
  MPT_INLINE void load(int64_t at, int64_t count, Vector<N, lanes> &out) const {
    if (count == lanes) {
      __builtin_memcpy(&out, data + at, sizeof(out));
      return;
    }
    out = Vector<N, lanes>{};
    for (int64_t i = 0; i < count; ++i)
      out[i] = data[at + i];
  }
  MPT_INLINE void store(int64_t at, int64_t count, const Vector<N, lanes> &in) const {
    if (count == lanes) {
      __builtin_memcpy(data + at, &in, sizeof(in));
      return;
    }
    for (int64_t i = 0; i < count; ++i)
      data[at + i] = in[i];
  }
};

/// Reads and writes 16 halves at a time, of which `count` lie in memory.
struct HalfElements {
  using Number = float;
  static constexpr int64_t kLanes = 16;
  using Halves = uint16_t __attribute__((vector_size(32)));
  uint16_t *data;

  HalfElements(DataType, void *data) : data(static_cast<uint16_t *>(data)) {}
  int64_t getBytes() const { return 2; }
  void fillZeros(int64_t at, int64_t count) const {
    std::fill_n(data + at, count, uint16_t(0));
  }
  MPT_INLINE void loadHalves(int64_t at, int64_t count, Halves &out) const {
    if (count == 16) {
      __builtin_memcpy(&out, data + at, 32);
      return;
    }
    out = Halves{};
    for (int64_t i = 0; i < count; ++i)
      out[i] = data[at + i];
  }
  MPT_INLINE void storeHalves(int64_t at, int64_t count, const Halves &in) const {
    if (count == 16) {
      __builtin_memcpy(data + at, &in, 32);
      return;
    }
    for (int64_t i = 0; i < count; ++i)
      data[at + i] = in[i];
  }
};

struct BF16Elements : HalfElements {
  using HalfElements::HalfElements;
  using Bits = Vector<uint32_t, 16>;

  MPT_INLINE void load(int64_t at, int64_t count, Vector<float, 16> &out) const {
    Halves halves;
    loadHalves(at, count, halves);
    Bits bits = __builtin_convertvector(halves, Bits) << 16;
    __builtin_memcpy(&out, &bits, 64);
  }
  MPT_INLINE void store(int64_t at, int64_t count, const Vector<float, 16> &in) const {
    Bits bits;
    __builtin_memcpy(&bits, &in, 64);
    Bits rounded = bits + 0x7fff + (bits >> 16 & 1);
    Bits halves = (in == in ? rounded : bits | 0x400000) >> 16; // a NaN becomes quiet
    storeHalves(at, count, __builtin_convertvector(halves, Halves));
  }
};

/// By the processor's conversions. Without them AnyElements are as fast, and smaller.
struct F16Elements : HalfElements {
  using HalfElements::HalfElements;
  using Floats16 = _Float16 __attribute__((vector_size(32)));

  MPT_INLINE void load(int64_t at, int64_t count, Vector<float, 16> &out) const {
    Halves halves;
    loadHalves(at, count, halves);
    Floats16 values;
    __builtin_memcpy(&values, &halves, 32);
    out = __builtin_convertvector(values, Vector<float, 16>);
  }
  MPT_INLINE void store(int64_t at, int64_t count, const Vector<float, 16> &in) const {
    Floats16 values = __builtin_convertvector(in, Floats16);
    Halves halves;
    __builtin_memcpy(&halves, &values, 32);
    storeHalves(at, count, halves);
  }
};

/// Elements of any type, one after another, so in the narrowest vectors, for which code
/// is smallest. f64, which is for checks, has no other code.
template <typename N>
struct AnyElements {
  using Number = N;
  static constexpr int64_t kLanes = 2;
  DataType type;
  void *data;

  AnyElements(DataType type, void *data) : type(type), data(data) {}
  int64_t getBytes() const { return getSize(type); }
  void fillZeros(int64_t at, int64_t count) const {
    std::memset(static_cast<char *>(data) + at * getSize(type), 0, count * getSize(type));
  }
  void load(int64_t at, int64_t count, Vector<N, kLanes> &out) const {
    out = Vector<N, kLanes>{};
    for (int64_t i = 0; i < count; ++i)
      out[i] = type == DataType::F64 ? static_cast<N>(static_cast<double *>(data)[at + i])
                                     : toF32(type, data, at + i);
  }
  void store(int64_t at, int64_t count, const Vector<N, kLanes> &in) const {
    for (int64_t i = 0; i < count; ++i) {
      if (type == DataType::F64)
        static_cast<double *>(data)[at + i] = in[i];
      else
        fromF32(type, data, at + i, static_cast<float>(in[i]));
    }
  }
};

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// One axis: windows of `size` points every `stride`, the first at -`before`.
struct Axis {
  int64_t points, windows, size, stride, before;

  int64_t begin(int64_t window) const {
    return std::max<int64_t>(window * stride - before, 0);
  }
  int64_t end(int64_t window) const {
    return std::min(window * stride - before + size, points);
  }
  /// Whether no window reaches beyond the image.
  bool isInside() const { return before == 0 && (windows - 1) * stride + size <= points; }
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
  /// Bytes of an image that the second-level cache does not hold beside others.
  static constexpr int64_t largeImage = 1 << 20;

  /// Asks for the rows of x that the windows below window (i, j) are the first to read,
  /// of the columns by which it moves on, where images are large. The processor does not
  /// see where windows go. Elements have `size` bytes.
  MPT_INLINE void prefetchBelow(const void *x, int64_t size, int64_t image, int64_t i,
                                int64_t j) const {
    if (rows.points * columns.points * channels * size >= largeImage)
      prefetchRows(x, size, image, i, j);
  }
  __attribute__((noinline)) void prefetchRows(const void *x, int64_t size, int64_t image,
                                              int64_t i, int64_t j) const {
    if (i + 1 >= rows.windows)
      return;
    const int64_t first = std::min(j * columns.stride, columns.points);
    const int64_t last = std::min(first + columns.stride, columns.points);
    for (int64_t row = rows.end(i); row < rows.end(i + 1); ++row) {
      auto *at = static_cast<const char *>(x) + xAt(image, row, first, 0) * size;
      for (const char *end = at + (last - first) * channels * size; at < end; at += 64)
        __builtin_prefetch(at, /*rw=*/0, /*locality=*/2);
    }
  }
  int64_t divisor(int64_t i, int64_t j) const {
    if (countsPadding)
      return rows.size * columns.size;
    return std::max<int64_t>(1, (rows.end(i) - rows.begin(i)) *
                                    (columns.end(j) - columns.begin(j)));
  }
  /// That of all windows; 0 if they differ.
  int64_t commonDivisor() const {
    return countsPadding || (rows.isInside() && columns.isInside()) ? divisor(0, 0) : 0;
  }
};

/// The points of x in a window: where the first channel of the first lies, how many there
/// are, and how far apart. Loops take copies of it, and of what they read and write:
/// stores of vectors may be to any object of which others know the address.
struct Window {
  int64_t first, height, width, rowStep, step;

  Window(const Pool &pool, int64_t image, int64_t top, int64_t bottom, int64_t left,
         int64_t right)
      : first(pool.xAt(image, top, left, 0)), height(bottom - top), width(right - left),
        rowStep(pool.columns.points * pool.channels), step(pool.channels) {}
  Window(const Pool &pool, int64_t image, int64_t i, int64_t j)
      : Window(pool, image, pool.rows.begin(i), pool.rows.end(i), pool.columns.begin(j),
               pool.columns.end(j)) {}

  /// Calls body(at) with where channel `c` of each point lies.
  template <typename Body>
  MPT_INLINE void forPoints(int64_t c, Body &&body) const {
    for (int64_t row = first + c, last = row + height * rowStep; row < last;
         row += rowStep)
      for (int64_t at = row, end = row + width * step; at < end; at += step)
        body(at);
  }
};

//===----------------------------------------------------------------------===//
// Tasks: some rows of an image of the result
//===----------------------------------------------------------------------===//

template <bool isMax, typename Elements>
struct Forward {
  using Number = typename Elements::Number;
  static constexpr int64_t kLanes = Elements::kLanes;
  static constexpr bool kIsWide = isMax;
  const Pool &pool;
  Elements x, y;

  int64_t getRows() const { return pool.rows.windows; }
  MPT_INLINE void run(int64_t image, int64_t begin, int64_t end, int) const {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < pool.columns.windows; ++j) {
        pool.prefetchBelow(x.data, x.getBytes(), image, i, j);
        runWindow(Window(pool, image, i, j), pool.yAt(image, i, j, 0),
                  isMax ? 1 : static_cast<Number>(pool.divisor(i, j)), x, y);
      }
  }

private:
  MPT_INLINE static void runWindow(const Window window, int64_t yAt, Number divisor,
                                   const Elements x, const Elements y) {
    const int64_t channels = window.step;
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes)
      runChannels(window, yAt, divisor, x, y, c, kLanes);
    if (c == channels)
      return;
    // What is computed again gets the same value.
    if (channels >= kLanes)
      runChannels(window, yAt, divisor, x, y, channels - kLanes, kLanes);
    else
      runChannels(window, yAt, divisor, x, y, c, channels - c);
  }
  MPT_INLINE static void runChannels(const Window &window, int64_t yAt, Number divisor,
                                     const Elements &x, const Elements &y, int64_t c,
                                     int64_t count) {
    Vector<Number, kLanes> result =
        isMax ? Vector<Number, kLanes>{} - std::numeric_limits<Number>::infinity()
              : Vector<Number, kLanes>{};
    window.forPoints(c, [&](int64_t at) MPT_ALWAYS {
      Vector<Number, kLanes> value;
      x.load(at, count, value);
      if constexpr (isMax) {
        result = (~(value <= result) & (result == result)) ? value : result;
      } else {
        result += value;
      }
    });
    if constexpr (!isMax)
      result /= divisor;
    y.store(yAt + c, count, result);
  }
};

/// Every window gives its gradient to its first largest element, in the order of the
/// windows; one that reaches into the rows of two tasks is searched by both. Where
/// windows overlap, gradients are added in f32 (f64): in dx, or, if that is narrower, in
/// the thread's part of the workspace.
template <bool overlaps, typename Elements>
struct MaxGrad {
  using Number = typename Elements::Number;
  static constexpr int64_t kLanes = Elements::kLanes;
  static constexpr bool kIsWide = true;
  using Target =
      std::conditional_t<overlaps, PlainElements<Number, Elements::kLanes>, Elements>;
  /// Whether sums may be in the workspace. They are if there is one.
  static constexpr bool mayCopy = !std::is_same_v<Elements, Target>;
  const Pool &pool;
  Elements dy, x, dx;
  char *workspace;
  int64_t threadBytes;

  /// The rows of a task, and where the gradient of element 0 of dx would be.
  struct Band {
    int64_t begin, end;
    Target target;
    int64_t origin;
  };

  int64_t getRows() const { return pool.rows.points; }
  MPT_INLINE void run(int64_t image, int64_t begin, int64_t end, int thread) const {
    const int64_t first = pool.xAt(image, begin, 0, 0);
    const int64_t size = (end - begin) * pool.columns.points * pool.channels;
    Band band = getBand(begin, end, first, thread);
    if constexpr (overlaps)
      band.target.fillZeros(first - band.origin, size);
    else
      fillGaps(image, begin, end);
    for (int64_t i = pool.rows.firstWindow(begin); i <= pool.rows.lastWindow(end - 1);
         ++i)
      for (int64_t j = 0; j < pool.columns.windows; ++j) {
        pool.prefetchBelow(x.data, x.getBytes(), image, i, j);
        runWindow(band, image, i, j);
      }
    if (mayCopy && workspace) {
      int64_t at = 0;
      for (; at + kLanes <= size; at += kLanes)
        copy(band, at, first, kLanes);
      if (at < size)
        copy(band, at, first, size - at);
    }
  }

private:
  MPT_INLINE Band getBand(int64_t begin, int64_t end, int64_t first, int thread) const {
    if (mayCopy && workspace)
      return {begin, end, Target(DataType::F32, workspace + thread * threadBytes), first};
    if constexpr (mayCopy)
      return {begin, end, Target(DataType::F32, dx.data), 0};
    else
      return {begin, end, dx, 0};
  }
  /// Zeros in dx what is in no window. Each window writes all of its own elements after
  /// it has read them, so that dx may lie where x does.
  void fillGaps(int64_t image, int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; ++row) {
      const bool isIn = pool.rows.firstWindow(row) <= pool.rows.lastWindow(row);
      int64_t next = 0;
      for (int64_t j = 0; isIn && j < pool.columns.windows; ++j) {
        fillColumns(image, row, next, pool.columns.begin(j));
        next = std::max(next, pool.columns.end(j));
      }
      fillColumns(image, row, next, pool.columns.points);
    }
  }
  void fillColumns(int64_t image, int64_t row, int64_t begin, int64_t end) const {
    if (begin < end)
      dx.fillZeros(pool.xAt(image, row, begin, 0), (end - begin) * pool.channels);
  }
  MPT_INLINE void copy(const Band &band, int64_t at, int64_t first, int64_t count) const {
    Vector<Number, kLanes> sum;
    band.target.load(at, count, sum);
    dx.store(first + at, count, sum);
  }
  MPT_INLINE void runWindow(const Band &band, int64_t image, int64_t i, int64_t j) const {
    const int64_t top = pool.rows.begin(i), left = pool.columns.begin(j),
                  right = pool.columns.end(j);
    const int64_t begin = std::max(top, band.begin),
                  end = std::min(pool.rows.end(i), band.end);
    Window written(pool, image, begin, end, left, right);
    written.first -= band.origin;
    runWindow(Window(pool, image, i, j), written, (begin - top) * (right - left),
              pool.yAt(image, i, j, 0), dy, x, band.target);
  }
  /// Elements of a window are numbered in their order; `firstWritten` is the first one of
  /// those in this band.
  MPT_INLINE static void runWindow(const Window window, const Window written,
                                   int64_t firstWritten, int64_t yAt, const Elements dy,
                                   const Elements x, const Target target) {
    const int64_t channels = window.step;
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes)
      runChannels(window, written, firstWritten, yAt, dy, x, target, c, kLanes);
    if (c < channels)
      runChannels(window, written, firstWritten, yAt, dy, x, target, c, channels - c);
  }
  MPT_INLINE static void runChannels(const Window &window, const Window &written,
                                     int64_t firstWritten, int64_t yAt,
                                     const Elements &dy, const Elements &x,
                                     const Target &target, int64_t c, int64_t count) {
    using Places = Vector<Integer<Number>, kLanes>;
    // Nothing is larger than the first one if all are -inf.
    Vector<Number, kLanes> best =
        Vector<Number, kLanes>{} - std::numeric_limits<Number>::infinity();
    Places place = {}, number = {};
    window.forPoints(c, [&](int64_t at) MPT_ALWAYS {
      Vector<Number, kLanes> value;
      x.load(at, count, value);
      Places wins = ~(value <= best) & (best == best);
      best = wins ? value : best;
      place = wins ? number : place;
      number += 1;
    });
    Vector<Number, kLanes> gradient, zeros = {};
    dy.load(yAt + c, count, gradient);
    number = Places{} + static_cast<Integer<Number>>(firstWritten);
    written.forPoints(c, [&](int64_t at) MPT_ALWAYS {
      Vector<Number, kLanes> sum = place == number ? gradient : zeros;
      if constexpr (overlaps) {
        Vector<Number, kLanes> before;
        target.load(at, count, before);
        sum += before;
      }
      target.store(at, count, sum);
      number += 1;
    });
  }
};

/// Each element sums over the windows that hold it, in their order.
template <typename Elements>
struct AvgGrad {
  using Number = typename Elements::Number;
  static constexpr int64_t kLanes = Elements::kLanes;
  static constexpr bool kIsWide = false;
  const Pool &pool;
  Elements dy, dx;

  int64_t getRows() const { return pool.rows.points; }
  MPT_INLINE void run(int64_t image, int64_t begin, int64_t end, int) const {
    const Axis columns = pool.columns;
    for (int64_t row = begin; row < end; ++row) {
      Windows windows(pool, image, row);
      for (int64_t column = 0; column < columns.points; ++column) {
        // Those that hold the column.
        while (windows.left < columns.windows && columns.end(windows.left) <= column)
          ++windows.left;
        while (windows.right < columns.windows && columns.begin(windows.right) <= column)
          ++windows.right;
        runPoint(pool, windows, pool.xAt(image, row, column, 0), dy, dx);
      }
    }
  }

private:
  /// Windows that hold a point, and where the first channel of the first of them, in
  /// column 0, lies in dy.
  struct Windows {
    int64_t top, height, first, rowStep, step, divisor, left = 0, right = 0;

    Windows(const Pool &pool, int64_t image, int64_t row)
        : top(pool.rows.firstWindow(row)), height(pool.rows.lastWindow(row) + 1 - top),
          first(pool.yAt(image, top, 0, 0)),
          rowStep(pool.columns.windows * pool.channels), step(pool.channels),
          divisor(pool.commonDivisor()) {}
  };
  MPT_INLINE static void runPoint(const Pool &pool, const Windows windows, int64_t at,
                                  const Elements dy, const Elements dx) {
    const int64_t channels = windows.step;
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes)
      addWindows(pool, windows, at, dy, dx, c, kLanes);
    if (c == channels)
      return;
    // What is computed again gets the same value.
    if (channels >= kLanes)
      addWindows(pool, windows, at, dy, dx, channels - kLanes, kLanes);
    else
      addWindows(pool, windows, at, dy, dx, c, channels - c);
  }
  MPT_INLINE static void addWindows(const Pool &pool, const Windows &windows, int64_t at,
                                    const Elements &dy, const Elements &dx, int64_t c,
                                    int64_t count) {
    Vector<Number, kLanes> sum = {};
    for (int64_t i = 0; i < windows.height; ++i)
      for (int64_t j = windows.left; j < windows.right; ++j) {
        Vector<Number, kLanes> gradient;
        dy.load(windows.first + i * windows.rowStep + j * windows.step + c, count,
                gradient);
        const int64_t divisor =
            windows.divisor > 0 ? windows.divisor : pool.divisor(windows.top + i, j);
        sum += gradient / static_cast<Number>(divisor);
      }
    dx.store(at + c, count, sum);
  }
};

//===----------------------------------------------------------------------===//
// Which code runs
//===----------------------------------------------------------------------===//

// x86-64 has it for processors before AVX2, as small code.
#if defined(__x86_64__) && __has_attribute(minsize)
#define MPT_PLAIN __attribute__((cold, minsize))
#elif defined(__x86_64__)
#define MPT_PLAIN __attribute__((cold))
#else
#define MPT_PLAIN
#endif

/// Runs a task on some rows of an image.
using RunRows = void (*)(const void *task, int64_t image, int64_t begin, int64_t end,
                         int thread);

template <typename Task>
MPT_PLAIN void runPlain(const void *task, int64_t image, int64_t begin, int64_t end,
                        int thread) {
  static_cast<const Task *>(task)->run(image, begin, end, thread);
}
#if defined(__x86_64__)
template <typename Task>
__attribute__((target("avx2,f16c"))) void
runAVX2(const void *task, int64_t image, int64_t begin, int64_t end, int thread) {
  static_cast<const Task *>(task)->run(image, begin, end, thread);
}
template <typename Task>
__attribute__((target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl"))) void
runAVX512(const void *task, int64_t image, int64_t begin, int64_t end, int thread) {
  static_cast<const Task *>(task)->run(image, begin, end, thread);
}
#endif

/// Runs all bands of all images.
void runBands(RunRows run, const void *task, int64_t images, int64_t rows,
              const PoolPlan &plan, ThreadTeam &team) {
  const int64_t bands = (rows + plan.rows - 1) / plan.rows, all = images * bands;
  parallelFor((all + plan.bands - 1) / plan.bands, team, [&](int64_t index, int thread) {
    for (int64_t band = index * plan.bands;
         band < std::min(all, (index + 1) * plan.bands); ++band) {
      const int64_t begin = band % bands * plan.rows;
      run(task, band / bands, begin, std::min(begin + plan.rows, rows), thread);
    }
  });
}

template <typename Task>
void runTasks(const Task &task, const PoolPlan &plan, VectorSet set, ThreadTeam &team) {
  RunRows run;
#if defined(__x86_64__)
  // Elements that are converted one by one gain nothing.
  if constexpr (Task::kLanes != 16)
    run = runPlain<Task>;
  else if constexpr (Task::kIsWide)
    run = set == VectorSet::AVX512 ? runAVX512<Task> : runAVX2<Task>;
  else
    run = runAVX2<Task>;
#else
  run = runPlain<Task>;
#endif
  runBands(run, &task, task.pool.images, task.getRows(), plan, team);
}

/// Calls body(elements) with an object of the class that reads and writes all buffers of
/// `call`.
template <typename Body>
void withElements(const Instruction &call, VectorSet set, Body &&body) {
  const DataType type = call.refs[0].type;
  bool isOne = true, hasDoubles = false;
  for (uint32_t i = 0; i <= call.numInputs; ++i) {
    isOne &= call.refs[i].type == type;
    hasDoubles |= call.refs[i].type == DataType::F64;
  }
#if defined(__x86_64__)
  // Four lanes are a register before AVX2.
  if (isOne && type == DataType::F32 && set == VectorSet::Plain)
    return body(PlainElements<float, 4>(type, nullptr));
#endif
  if (isOne && type == DataType::F32)
    return body(PlainElements<float, 16>(type, nullptr));
#if defined(__x86_64__)
  // Processors before AVX2 convert elements of 16 bits one by one.
  if (isOne && type == DataType::BF16 && set != VectorSet::Plain)
    return body(BF16Elements(type, nullptr));
  if (isOne && type == DataType::F16 && set != VectorSet::Plain)
    return body(F16Elements(type, nullptr));
#else
  if (isOne && type == DataType::BF16)
    return body(BF16Elements(type, nullptr));
#endif
  if (hasDoubles)
    return body(AnyElements<double>(type, nullptr));
  return body(AnyElements<float>(type, nullptr));
}

template <typename PoolCall>
void runAs(const PoolCall &attributes, const Instruction &call, void **buffers,
           VectorSet set, ThreadTeam &team) {
  constexpr bool isMaxGrad = std::is_same_v<PoolCall, MaxPoolGradCall>;
  constexpr bool isGrad = isMaxGrad || std::is_same_v<PoolCall, AvgPoolGradCall>;
  const BufferRef &in = call.refs[0], &out = call.refs[call.numInputs];
  const Pool pool(isGrad ? out : in, isGrad ? in : out, attributes);
  const PoolPlan plan = planPool(call);
  withElements(call, set, [&](auto empty) {
    using Elements = decltype(empty);
    const Elements from(in.type, buffers[0]), to(out.type, buffers[call.numInputs]);
    if constexpr (isMaxGrad) {
      const Elements x(call.refs[1].type, buffers[1]);
      auto *sums = call.hasScratch ? static_cast<char *>(buffers[3]) : nullptr;
      if (plan.overlaps)
        runTasks(MaxGrad<true, Elements>{pool, from, x, to, sums, plan.threadBytes}, plan,
                 set, team);
      else
        runTasks(MaxGrad<false, Elements>{pool, from, x, to, nullptr, 0}, plan, set,
                 team);
    } else if constexpr (isGrad) {
      runTasks(AvgGrad<Elements>{pool, from, to}, plan, set, team);
    } else {
      runTasks(Forward<std::is_same_v<PoolCall, MaxPoolCall>, Elements>{pool, from, to},
               plan, set, team);
    }
  });
}

} // namespace

void mpt::rt::runPool(const MaxPoolCall &pool, const Instruction &call, void **buffers,
                      ThreadTeam &team, VectorSet set) {
  runAs(pool, call, buffers, set, team);
}
void mpt::rt::runPool(const MaxPoolGradCall &pool, const Instruction &call,
                      void **buffers, ThreadTeam &team, VectorSet set) {
  runAs(pool, call, buffers, set, team);
}
void mpt::rt::runPool(const AvgPoolCall &pool, const Instruction &call, void **buffers,
                      ThreadTeam &team, VectorSet set) {
  runAs(pool, call, buffers, set, team);
}
void mpt::rt::runPool(const AvgPoolGradCall &pool, const Instruction &call,
                      void **buffers, ThreadTeam &team, VectorSet set) {
  runAs(pool, call, buffers, set, team);
}
