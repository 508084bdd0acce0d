//===- SimpleCalls.cpp - Library calls that are plain loops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Avx512.h"
#include "Call.h"
#include "Convert.h"
#include "Parallel.h"
#include "Transpose.h"
#include "VectorMath.h"
#include "VectorSet.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/Support/Philox.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

using namespace mpt::rt;

namespace {

int64_t readIndex(const BufferRef &ref, const void *data, int64_t i) {
  return ref.type == DataType::I64 ? static_cast<const int64_t *>(data)[i]
                                   : static_cast<const int32_t *>(data)[i];
}

/// The indices of a call, and what they may be: [0, size) and `ignored`.
struct IndexRange {
  uint32_t buffer;
  int64_t size;
  std::optional<int64_t> ignored;
};

std::optional<IndexRange> getIndexRange(const GatherCall &, const Instruction &call) {
  return IndexRange{1, call.refs[0].dims[0], std::nullopt};
}
std::optional<IndexRange> getIndexRange(const ScatterAddCall &, const Instruction &call) {
  return IndexRange{0, call.refs[call.numInputs].dims[0], std::nullopt};
}
std::optional<IndexRange> getIndexRange(const CheckIndicesCall &check,
                                        const Instruction &) {
  return IndexRange{0, check.size, check.ignoreIndex};
}
/// Calls without indices.
template <typename Attributes>
std::optional<IndexRange> getIndexRange(const Attributes &, const Instruction &) {
  return std::nullopt;
}

std::optional<BadIndex> findBadIndex(const IndexRange &range, const BufferRef &ref,
                                     const void *data) {
  for (int64_t i = 0, count = ref.count(); i < count; ++i) {
    int64_t index = readIndex(ref, data, i);
    if ((index < 0 || index >= range.size) && index != range.ignored)
      return BadIndex{index, i};
  }
  return std::nullopt;
}

void runCall(const GatherCall &, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  const BufferRef &table = call.refs[0], &indices = call.refs[1];
  int64_t row = table.dims[0] ? table.bytes() / table.dims[0] : 0;
  auto *source = static_cast<const char *>(buffers[0]);
  auto *target = static_cast<char *>(buffers[2]);
  int64_t count = indices.count(),
          perTask = std::max<int64_t>(1, 65536 / std::max<int64_t>(row, 1));
  parallelFor((count + perTask - 1) / perTask, team, [&](int64_t task, int) {
    const int64_t end = std::min(count, (task + 1) * perTask);
    auto copy = [&](auto size) {
      for (int64_t i = task * perTask; i < end; ++i)
        std::memcpy(target + i * size, source + readIndex(indices, buffers[1], i) * size,
                    size);
    };
    // Single elements are moved, not copied by a function.
    if (row == 4)
      copy(std::integral_constant<int64_t, 4>());
    else if (row == 8)
      copy(std::integral_constant<int64_t, 8>());
    else
      copy(row);
  });
}

/// Rows of `width` floats, of which the first is that of index `first`, the last that
/// before index `end`; `stride` apart, as are the rows of the table.
struct ScatteredRows {
  ReduceKind kind;
  float *table;
  const float *values;
  int64_t stride, width, first, end;
};

/// Of numbers or vectors. The maximum or minimum with a NaN is NaN.
template <typename T>
MPT_INLINE T combine(ReduceKind kind, T x, T y) {
  switch (kind) {
  case ReduceKind::Max:
    return ((y > x) | (y != y)) ? y : x;
  case ReduceKind::Min:
    return ((y < x) | (y != y)) ? y : x;
  case ReduceKind::Prod:
    return x * y;
  default:
    return x + y;
  }
}

/// Combines each row with that of its index, in order.
MPT_INLINE void scatterRows(const BufferRef &indices, const void *at,
                            const ScatteredRows &r) {
  constexpr int64_t lanes = 16;
  using Floats = float __attribute__((vector_size(4 * lanes)));
  const float *value = r.values;
  if (r.stride == 1) {
    for (int64_t i = r.first; i < r.end; ++i) {
      float &number = r.table[readIndex(indices, at, i)];
      number = combine(r.kind, number, *value++);
    }
    return;
  }
  for (int64_t i = r.first; i < r.end; ++i, value += r.stride) {
    float *row = r.table + readIndex(indices, at, i) * r.stride;
    int64_t c = 0;
    for (; c + lanes <= r.width; c += lanes) {
      Floats read, old;
      std::memcpy(&read, value + c, sizeof(read));
      std::memcpy(&old, row + c, sizeof(old));
      old = combine(r.kind, old, read);
      std::memcpy(row + c, &old, sizeof(old));
    }
    for (; c < r.width; ++c)
      row[c] = combine(r.kind, row[c], value[c]);
  }
}

#if defined(__x86_64__)
MPT_AVX512 void scatterRowsAVX512(const BufferRef &indices, const void *at,
                                  const ScatteredRows &rows) {
  scatterRows(indices, at, rows);
}
#endif

void scatterAtIndices(const BufferRef &indices, const void *at,
                      const ScatteredRows &rows) {
#if defined(__x86_64__)
  if (getVectorSet() == VectorSet::AVX512)
    return scatterRowsAVX512(indices, at, rows);
#endif
  scatterRows(indices, at, rows);
}

void runCall(const ScatterAddCall &scatter, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  const uint32_t out = call.numInputs;
  const BufferRef &indices = call.refs[0], &updates = call.refs[1],
                  &table = call.refs[out];
  bool isWide = table.type == DataType::F32;
  auto *sums = static_cast<float *>(buffers[isWide ? out : out + 1]);
  int64_t row = table.dims[0] ? table.count() / table.dims[0] : 0;
  int64_t count = indices.count();
  const int64_t elements = table.count(), perPiece = 65536;
  const int64_t pieces = (elements + perPiece - 1) / perPiece;
  const bool hasInit = out > 2, isThere = hasInit && buffers[2] == sums;
  parallelFor(isThere ? 0 : pieces, team, [&](int64_t piece, int) {
    const int64_t first = piece * perPiece, length = std::min(perPiece, elements - first);
    if (hasInit)
      widen(table.type, buffers[2], first, sums + first, length);
    else
      std::fill_n(sums + first, length, 0.0f);
  });
  // Tasks own columns, so every sum is in the order of the indices.
  const int64_t perTask = std::max<int64_t>(16, (row + team.size() - 1) / team.size());
  parallelFor((row + perTask - 1) / perTask, team, [&](int64_t task, int) {
    const int64_t first = task * perTask, width = std::min(perTask, row - first);
    if (updates.type == DataType::F32)
      return scatterAtIndices(indices, buffers[0],
                              {scatter.kind, sums + first,
                               static_cast<const float *>(buffers[1]) + first, row, width,
                               0, count});
    // Others are widened before: as many rows as fit, or a part of one.
    float piece[1024];
    const int64_t length = std::min<int64_t>(width, 1024);
    const int64_t rows = length == row ? 1024 / row : 1;
    for (int64_t i = 0; i < count; i += rows) {
      const int64_t end = std::min(count, i + rows);
      for (int64_t at = 0; at < width; at += length) {
        const int64_t taken = std::min(length, width - at);
        widen(updates.type, buffers[1], i * row + first + at, piece, (end - i) * taken);
        scatterAtIndices(indices, buffers[0],
                         {scatter.kind, sums + first + at, piece, row, taken, i, end});
      }
    }
  });
  if (isWide)
    return;
  parallelFor(pieces, team, [&](int64_t piece, int) {
    const int64_t first = piece * perPiece;
    narrow(table.type, sums + first, buffers[out], first,
           std::min(perPiece, elements - first));
  });
}

/// Calls body with an unsigned integer of `size` bytes, as all element types have.
template <typename Body>
void withBits(int64_t size, Body &&body) {
  switch (size) {
  case 1:
    return body(uint8_t());
  case 2:
    return body(uint16_t());
  case 4:
    return body(uint32_t());
  default:
    return body(uint64_t());
  }
}

/// The dimensions of a copy without those of size 1; neighbors that lie as one in both
/// places are one.
struct CopyDims {
  explicit CopyDims(const CopyCall &copy) {
    for (size_t d = 0; d < copy.sizes.size(); ++d) {
      const int64_t size = copy.sizes[d], src = copy.srcStrides[d],
                    dst = copy.dstStrides[d];
      if (size == 1)
        continue;
      if (rank > 0 && from[rank - 1] == src * size && to[rank - 1] == dst * size)
        sizes[--rank] *= size;
      else
        sizes[rank] = size;
      from[rank] = src;
      to[rank++] = dst;
    }
  }
  void remove(int64_t dim) {
    --rank;
    for (int64_t d = dim; d < rank; ++d) {
      sizes[d] = sizes[d + 1];
      from[d] = from[d + 1];
      to[d] = to[d + 1];
    }
  }
  /// The number of places, and where the one of `index` is read and written.
  int64_t count() const {
    int64_t product = 1;
    for (int64_t d = 0; d < rank; ++d)
      product *= sizes[d];
    return product;
  }
  std::pair<int64_t, int64_t> getPlaces(int64_t index) const {
    int64_t source = 0, target = 0;
    for (int64_t d = rank - 1; d >= 0; --d) {
      source += index % sizes[d] * from[d];
      target += index % sizes[d] * to[d];
      index /= sizes[d];
    }
    return {source, target};
  }

  static constexpr int64_t mostRank = 64;
  int64_t rank = 0, sizes[mostRank], from[mostRank], to[mostRank];
};

/// A copy of elements of 2 or 4 bytes that is written along its last dimension and read
/// along dimension `dim`: many transposed matrices.
void copyTransposed(CopyDims dims, int64_t dim, int64_t size, const char *source,
                    char *target, ThreadTeam &team) {
  constexpr int64_t mostRows = 64, mostColumns = 256, perTask = 16384;
  const int64_t last = dims.rank - 1, rows = dims.sizes[last], columns = dims.sizes[dim],
                lead = dims.from[last], targetLead = dims.to[dim];
  dims.remove(last);
  dims.remove(dim);
  const int64_t rowBlocks = (rows + mostRows - 1) / mostRows,
                columnBlocks = (columns + mostColumns - 1) / mostColumns,
                blocks = dims.count() * rowBlocks * columnBlocks,
                blocksPerTask =
                    std::max<int64_t>(1, perTask / (std::min(rows, mostRows) *
                                                    std::min(columns, mostColumns)));
  parallelFor((blocks + blocksPerTask - 1) / blocksPerTask, team, [&](int64_t task, int) {
    const int64_t end = std::min(blocks, (task + 1) * blocksPerTask);
    for (int64_t block = task * blocksPerTask; block < end; ++block) {
      const int64_t column = block % columnBlocks * mostColumns,
                    row = block / columnBlocks % rowBlocks * mostRows;
      auto [from, to] = dims.getPlaces(block / columnBlocks / rowBlocks);
      from += row * lead + column;
      to += column * targetLead + row;
      transposeBits({size, source + from * size, lead, std::min(mostRows, rows - row),
                     std::min(mostColumns, columns - column)},
                    target + to * size, targetLead);
    }
  });
}

/// Rows of `bytes` bytes, `fromStep` and `toStep` bytes apart. Short ones are moved in
/// words, of which the last two may overlap: a call of memcpy takes longer.
void copyRows(const char *from, int64_t fromStep, char *to, int64_t toStep, int64_t rows,
              int64_t bytes) {
  auto move = [=](auto width) mutable {
    constexpr int64_t word = decltype(width)::value;
    for (; rows > 0; --rows, from += fromStep, to += toStep) {
#pragma clang loop unroll(disable) vectorize(disable)
      for (int64_t i = 0; i < bytes - word; i += word)
        std::memcpy(to + i, from + i, word);
      std::memcpy(to + bytes - word, from + bytes - word, word);
    }
  };
  if (bytes >= 16 && bytes <= 128)
    return move(std::integral_constant<int64_t, 16>());
  if (bytes >= 4 && bytes < 16)
    return move(std::integral_constant<int64_t, 4>());
  for (; rows > 0; --rows, from += fromStep, to += toStep)
    std::memcpy(to, from, bytes);
}

void runCall(const CopyCall &copy, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  if (std::find(copy.sizes.begin(), copy.sizes.end(), 0) != copy.sizes.end())
    return;
  CopyDims dims(copy);
  const int64_t size = getSize(call.refs[0].type), last = dims.rank - 1;
  auto *source = static_cast<const char *>(buffers[0]) + copy.srcOffset * size;
  auto *target = static_cast<char *>(buffers[1]) + copy.dstOffset * size;
  if (dims.rank == 0) {
    std::memcpy(target, source, size);
    return;
  }
  const int64_t inner = dims.sizes[last], srcStep = dims.from[last],
                dstStep = dims.to[last];
  if (dstStep == 1 && srcStep != 1 && (size == 2 || size == 4))
    for (int64_t d = 0; d < last; ++d)
      if (dims.from[d] == 1)
        return copyTransposed(dims, d, size, source, target, team);
  dims.remove(last);
  // Tasks are whole rows, or pieces of long ones.
  constexpr int64_t mostElements = 16384;
  const int64_t pieces = (inner + mostElements - 1) / mostElements,
                parts = dims.count() * pieces,
                perTask = std::max<int64_t>(1, mostElements / inner);
  // Whole rows that follow each other along one dimension have places one step apart.
  const int64_t next = dims.rank - 1,
                rows = next >= 0 && pieces == 1 ? dims.sizes[next] : 1,
                srcRow = next >= 0 ? dims.from[next] * size : 0,
                dstRow = next >= 0 ? dims.to[next] * size : 0;
  parallelFor((parts + perTask - 1) / perTask, team, [&](int64_t task, int) {
    const int64_t end = std::min(parts, (task + 1) * perTask);
    for (int64_t part = task * perTask, some; part < end; part += some) {
      some = std::min(rows - part % rows, end - part);
      const int64_t first = part % pieces * mostElements,
                    count = std::min(mostElements, inner - first);
      const auto [from, to] = dims.getPlaces(part / pieces);
      const char *s = source + (from + first * srcStep) * size;
      char *t = target + (to + first * dstStep) * size;
      if (srcStep == 1 && dstStep == 1) {
        copyRows(s, srcRow, t, dstRow, some, count * size);
        continue;
      }
      withBits(size, [&](auto bits) {
        for (int64_t row = 0; row < some; ++row, s += srcRow, t += dstRow) {
          auto *from = reinterpret_cast<const decltype(bits) *>(s);
          auto *to = reinterpret_cast<decltype(bits) *>(t);
          for (int64_t i = 0; i < count; ++i)
            to[i * dstStep] = from[i * srcStep];
        }
      });
    }
  });
}

void runCall(const FillCall &fill, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  const BufferRef &out = call.refs[0];
  double value = fill.value;
  int64_t count = out.count(), size = getSize(out.type);
  char element[8] = {};
  if (out.type == DataType::F64) {
    std::memcpy(element, &value, 8);
  } else if (out.type <= DataType::F8E5M2) {
    fromF32(out.type, element, 0, static_cast<float>(value));
  } else {
    auto integer = static_cast<int64_t>(value);
    std::memcpy(element, &integer, size);
  }
  withBits(size, [&](auto bits) {
    std::memcpy(&bits, element, sizeof(bits));
    auto *target = static_cast<decltype(bits) *>(buffers[0]);
    const int64_t perTask = 65536;
    parallelFor((count + perTask - 1) / perTask, team, [&](int64_t task, int) {
      std::fill_n(target + task * perTask, std::min(perTask, count - task * perTask),
                  bits);
    });
  });
}

/// Floats of rows, read as they are stored.
struct FloatRows {
  const float *data;
  template <typename Floats>
  MPT_INLINE void load(int64_t at, Floats &out) const {
    __builtin_memcpy(&out, data + at, sizeof(out));
  }
  float get(int64_t at) const { return data[at]; }
};
/// ..., and halves, widened in registers.
template <DataType type>
struct HalfRows {
  const uint16_t *data;
  template <typename Floats>
  MPT_INLINE void load(int64_t at, Floats &out) const {
    constexpr int64_t width = sizeof(Floats) / 4;
    if constexpr (type == DataType::F16) {
      _Float16 __attribute__((vector_size(2 * width))) halves;
      __builtin_memcpy(&halves, data + at, sizeof(halves));
      out = __builtin_convertvector(halves, Floats);
    } else {
      using Bits = uint32_t __attribute__((vector_size(4 * width)));
      uint16_t __attribute__((vector_size(2 * width))) halves;
      __builtin_memcpy(&halves, data + at, sizeof(halves));
      const Bits bits = __builtin_convertvector(halves, Bits) << 16;
      __builtin_memcpy(&out, &bits, sizeof(out));
    }
  }
  float get(int64_t at) const { return toF32(type, data, at); }
};

/// What is reduced: `rows` rows of `columns` elements, `stride` apart.
struct RowBlock {
  int64_t rows, stride, columns;
};

/// Adds rows to sums in f64, or multiplies products by them, in order.
template <bool isProduct>
struct FoldRows {
  using Total = double;
  template <typename Totals, typename Values>
  MPT_INLINE void operator()(Totals &totals, const Values &values) const {
    Totals wide;
    if constexpr (sizeof(Values) == sizeof(float))
      wide = values;
    else
      wide = __builtin_convertvector(values, Totals);
    totals = isProduct ? totals * wide : totals + wide;
  }
};
/// The larger of rows and totals, of `sign` times their numbers. NaN stays.
struct TakeLargest {
  using Total = float;
  float sign;
  template <typename Values>
  MPT_INLINE void operator()(Values &totals, const Values &values) const {
    const Values read = values * sign;
    totals = ((read > totals) | (read != read)) ? read : totals;
  }
};

template <int64_t width, typename Rows, typename Combine>
MPT_INLINE int64_t combineVectors(const Rows &rows, const RowBlock &block, int64_t c,
                                  const Combine &combine,
                                  typename Combine::Total *totals) {
  using Total = typename Combine::Total;
  using Floats = float __attribute__((vector_size(4 * width)));
  using Totals = Total __attribute__((vector_size(sizeof(Total) * width)));
  for (; c + width <= block.columns; c += width) {
    Totals all;
    __builtin_memcpy(&all, totals + c, sizeof(all));
#pragma clang loop unroll(disable)
    for (int64_t row = 0; row < block.rows; ++row) {
      Floats read;
      rows.load(row * block.stride + c, read);
      combine(all, read);
    }
    __builtin_memcpy(totals + c, &all, sizeof(all));
  }
  return c;
}

template <int64_t width, typename Rows, typename Combine>
MPT_INLINE void combineRows(const Rows &rows, const RowBlock &block,
                            const Combine &combine, typename Combine::Total *totals) {
  int64_t c = combineVectors<width>(rows, block, 0, combine, totals);
  if (width > 8)
    c = combineVectors<8>(rows, block, c, combine, totals);
  for (; c < block.columns; ++c)
#pragma clang loop vectorize(disable) unroll(disable)
    for (int64_t row = 0; row < block.rows; ++row)
      combine(totals[c], rows.get(row * block.stride + c));
}

#if defined(__x86_64__)
template <typename Rows, typename Combine>
MPT_AVX512 void combineRowsAVX512(const Rows &rows, const RowBlock &block,
                                  const Combine &combine,
                                  typename Combine::Total *totals) {
  combineRows<32>(rows, block, combine, totals);
}
template <typename Combine>
__attribute__((target("avx2"))) void
combineRowsAVX2(const FloatRows &rows, const RowBlock &block, const Combine &combine,
                typename Combine::Total *totals) {
  combineRows<8>(rows, block, combine, totals);
}
#endif

template <typename Rows>
bool combineRowsIn(const Rows &rows, const RowBlock &block, ReduceKind kind, void *totals,
                   [[maybe_unused]] VectorSet set) {
  [[maybe_unused]] auto *sums = static_cast<double *>(totals);
  [[maybe_unused]] auto *extremes = static_cast<float *>(totals);
  [[maybe_unused]] const FoldRows<false> add;
  [[maybe_unused]] const TakeLargest take{kind == ReduceKind::Max ? 1.0f : -1.0f};
  const bool isExtreme = kind == ReduceKind::Max || kind == ReduceKind::Min,
             isProduct = kind == ReduceKind::Prod;
#if defined(__x86_64__)
  if (set == VectorSet::AVX512 && !isProduct) {
    isExtreme ? combineRowsAVX512(rows, block, take, extremes)
              : combineRowsAVX512(rows, block, add, sums);
    return true;
  }
#endif
  if constexpr (!std::is_same_v<Rows, FloatRows>) {
    return false;
  } else {
#if defined(__x86_64__)
    if (set == VectorSet::AVX2 && !isProduct)
      isExtreme ? combineRowsAVX2(rows, block, take, extremes)
                : combineRowsAVX2(rows, block, add, sums);
    else
#endif
        if (isProduct)
      combineRows<8>(rows, block, FoldRows<true>{}, sums);
    else if (isExtreme)
      combineRows<8>(rows, block, take, extremes);
    else
      combineRows<8>(rows, block, add, sums);
    return true;
  }
}

/// Combines the rows from element `first` on with `totals`, floats of extremes, which
/// are those of negative numbers for minima, or f64. False: they have to be widened.
bool combineRows(DataType type, const void *data, int64_t first, const RowBlock &block,
                 ReduceKind kind, void *totals, VectorSet set) {
  const auto *halves = static_cast<const uint16_t *>(data) + first;
  switch (type) {
  case DataType::F32:
    return combineRowsIn(FloatRows{static_cast<const float *>(data) + first}, block, kind,
                         totals, set);
  case DataType::BF16:
    return combineRowsIn(HalfRows<DataType::BF16>{halves}, block, kind, totals, set);
  case DataType::F16:
    return combineRowsIn(HalfRows<DataType::F16>{halves}, block, kind, totals, set);
  default:
    return false;
  }
}

/// `count` integers from element `first` on.
__attribute__((noinline)) void readIntegers(const BufferRef &ref, const void *data,
                                            int64_t first, int64_t count, int64_t *wide) {
  auto read = [&](const auto *values) { std::copy_n(values + first, count, wide); };
  switch (getSize(ref.type)) {
  case 1:
    return read(static_cast<const int8_t *>(data));
  case 2:
    return read(static_cast<const int16_t *>(data));
  case 4:
    return read(static_cast<const int32_t *>(data));
  default:
    return read(static_cast<const int64_t *>(data));
  }
}

/// Calls body with how two integers are reduced.
template <typename Body>
void withCombination(ReduceKind kind, Body &&body) {
  switch (kind) {
  case ReduceKind::Prod:
    return body([](int64_t a, int64_t b) { return a * b; });
  case ReduceKind::Max:
    return body([](int64_t a, int64_t b) { return std::max(a, b); });
  case ReduceKind::Min:
    return body([](int64_t a, int64_t b) { return std::min(a, b); });
  default:
    return body([](int64_t a, int64_t b) { return a + b; });
  }
}

void runCall(const ReduceCall &reduce, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  const BufferRef &x = call.refs[0], &y = call.refs[1];
  const ReduceKind kind = reduce.kind;
  int64_t rank = static_cast<int64_t>(x.dims.size());
  std::vector<int64_t> strides(rank, 1);
  for (int64_t d = rank - 1; d > 0; --d)
    strides[d - 1] = strides[d] * x.dims[d];
  std::vector<int64_t> kept, reduced;
  int64_t length = 1;
  for (int64_t d = 0; d < rank; ++d) {
    bool isReduced =
        std::find(reduce.axes.begin(), reduce.axes.end(), d) != reduce.axes.end();
    (isReduced ? reduced : kept).push_back(d);
    if (isReduced)
      length *= x.dims[d];
  }
  auto offsetOf = [&](int64_t index, const std::vector<int64_t> &dims) {
    int64_t offset = 0;
    for (size_t i = dims.size(); i-- > 0;) {
      offset += index % x.dims[dims[i]] * strides[dims[i]];
      index /= x.dims[dims[i]];
    }
    return offset;
  };
  // Neighboring results of a task are computed together, those of floats in f64: it costs
  // nothing, and long sums keep their digits.
  int64_t columns = 1;
  for (int64_t d = rank, left = kept.size(); left > 0 && kept[left - 1] == d - 1;
       --d, --left)
    columns *= x.dims[d - 1];
  constexpr int64_t mostTogether = 256;
  const int64_t perRow = (columns + mostTogether - 1) / mostTogether;
  if (x.type > DataType::F8E5M2) {
    // What is summed lies in runs if the last dimensions are.
    int64_t run = 1;
    for (int64_t d = rank, left = reduced.size(); left > 0 && reduced[left - 1] == d - 1;
         --d, --left)
      run *= x.dims[d - 1];
    const int64_t start = kind == ReduceKind::Prod  ? 1
                          : kind == ReduceKind::Max ? std::numeric_limits<int64_t>::min()
                          : kind == ReduceKind::Min ? std::numeric_limits<int64_t>::max()
                                                    : 0;
    parallelFor(
        columns > 0 ? y.count() / columns * perRow : 0, team, [&](int64_t task, int) {
          const int64_t first = task % perRow * mostTogether,
                        count = std::min(columns - first, mostTogether),
                        out = task / perRow * columns + first, base = offsetOf(out, kept);
          int64_t totals[mostTogether], wide[mostTogether];
          // Those of a run side by side, as the order does not matter.
          const int64_t together =
              run == 1 ? count : std::clamp<int64_t>(run, 1, mostTogether);
          std::fill_n(totals, together, start);
          withCombination(kind, [&](auto combine) {
            for (int64_t i = 0, step; i < length; i += step) {
              step = run == 1 ? 1 : std::min(run - i % run, together);
              const int64_t read = run == 1 ? count : step;
              readIntegers(x, buffers[0], base + offsetOf(i, reduced), read, wide);
#pragma clang loop vectorize(disable) unroll(disable)
              for (int64_t c = 0; c < read; ++c)
                totals[c] = combine(totals[c], wide[c]);
            }
#pragma clang loop vectorize(disable) unroll(disable)
            for (int64_t c = 1; run > 1 && c < together; ++c)
              totals[0] = combine(totals[0], totals[c]);
          });
          for (int64_t c = 0; c < count; ++c)
            std::memcpy(static_cast<char *>(buffers[1]) + (out + c) * getSize(y.type),
                        &totals[c], getSize(y.type));
        });
    return;
  }
  // Rows along the last of the reduced dimensions lie `stride` apart.
  const int64_t steps = reduced.empty() ? 1 : x.dims[reduced.back()],
                stride = reduced.empty() ? 0 : strides[reduced.back()];
  const VectorSet set = getVectorSet();
  const bool isExtreme = kind == ReduceKind::Max || kind == ReduceKind::Min;
  const double start = kind == ReduceKind::Prod ? 1.0
                       : kind == ReduceKind::Max
                           ? -std::numeric_limits<double>::infinity()
                       : kind == ReduceKind::Min ? std::numeric_limits<double>::infinity()
                                                 : 0.0;
  parallelFor(
      columns > 0 ? y.count() / columns * perRow : 0, team, [&](int64_t task, int) {
        int64_t first = task % perRow * mostTogether;
        int64_t count = std::min(columns - first, mostTogether);
        int64_t out = task / perRow * columns + first;
        int64_t base = offsetOf(out, kept);
        double totals[mostTogether];
        float row[mostTogether];
        auto combineDoubles = [&](const double *values) {
#pragma clang loop vectorize(disable) unroll(disable)
          for (int64_t c = 0; c < count; ++c) {
            const double value = values[c];
            double &total = totals[c];
            if (isExtreme)
              total = value != value || total != total ? NAN
                      : kind == ReduceKind::Max        ? std::max(total, value)
                                                       : std::min(total, value);
            else
              total = kind == ReduceKind::Prod ? total * value : total + value;
          }
        };
        float *extremes = reinterpret_cast<float *>(totals);
        const bool isSingle = isExtreme && x.type != DataType::F64;
        if (isSingle)
          std::fill_n(extremes, count, -std::numeric_limits<float>::infinity());
        else
          std::fill_n(totals, count, start);
        for (int64_t i = 0; i < length; i += steps) {
          const int64_t begin = base + offsetOf(i, reduced);
          if (x.type == DataType::F64) {
            for (int64_t j = 0; j < steps; ++j)
              combineDoubles(static_cast<const double *>(buffers[0]) + begin +
                             j * stride);
            continue;
          }
          if (combineRows(x.type, buffers[0], begin, {steps, stride, count}, kind, totals,
                          set))
            continue;
          const int64_t most = stride == count ? mostTogether / count : 1;
          for (int64_t j = 0, rows; j < steps; j += rows) {
            rows = std::min(most, steps - j);
            widen(x.type, buffers[0], begin + j * stride, row, rows * count);
            combineRows(DataType::F32, row, 0, {rows, count, count}, kind, totals, set);
          }
        }
        if (isSingle) {
          const float sign = kind == ReduceKind::Max ? 1.0f : -1.0f;
          for (int64_t c = 0; c < count; ++c)
            row[c] = extremes[c] != extremes[c] ? NAN : sign * extremes[c];
          narrow(y.type, row, buffers[1], out, count);
          return;
        }
        for (int64_t c = 0; kind == ReduceKind::Mean && c < count; ++c)
          totals[c] /= static_cast<double>(length);
        if (y.type == DataType::F64) {
          std::copy_n(totals, count, static_cast<double *>(buffers[1]) + out);
          return;
        }
        for (int64_t c = 0; c < count; ++c)
          row[c] = static_cast<float>(totals[c]);
        narrow(y.type, row, buffers[1], out, count);
      });
}

void runCall(const ArgmaxCall &, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  const BufferRef &x = call.refs[0], &y = call.refs[1];
  const int64_t length = x.dims.back();
  parallelFor(y.count(), team, [&](int64_t row, int) {
    int64_t best = 0;
    constexpr int64_t block = 128;
    // Most blocks hold nothing larger, which vectors tell.
    auto search = [&](auto first, auto &&read) {
      auto largest = first;
      for (int64_t at = 0; at < length && largest == largest; at += block) {
        const int64_t count = std::min(block, length - at);
        const auto *values = read(at, count);
        bool any = false;
        for (int64_t i = 0; i < count; ++i)
          any |= !(values[i] <= largest);
        for (int64_t i = 0; any && i < count; ++i)
          if (largest == largest && !(values[i] <= largest)) {
            largest = values[i];
            best = at + i;
          }
      }
    };
    if (x.type == DataType::F64) {
      const auto *values = static_cast<const double *>(buffers[0]) + row * length;
      search(values[0], [&](int64_t at, int64_t) { return values + at; });
    } else {
      float wide[block];
      search(toF32(x.type, buffers[0], row * length), [&](int64_t at, int64_t count) {
        at += row * length;
        if (x.type == DataType::F32)
          return static_cast<const float *>(buffers[0]) + at;
        widen(x.type, buffers[0], at, wide, count);
        return static_cast<const float *>(wide);
      });
    }
    if (y.type == DataType::I64)
      static_cast<int64_t *>(buffers[1])[row] = best;
    else
      static_cast<int32_t *>(buffers[1])[row] = static_cast<int32_t>(best);
  });
}

void runCall(const RandomMaskCall &random, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  uint64_t seed, attempt;
  std::memcpy(&seed, buffers[0], 8);
  std::memcpy(&attempt, buffers[1], 8);
  uint32_t threshold = mpt::dropoutThreshold(random.rate);
  auto *mask = static_cast<uint8_t *>(buffers[2]);
  int64_t count = call.refs[2].count(), perTask = 4096;
  parallelFor((count + perTask - 1) / perTask, team, [&](int64_t task, int) {
    for (int64_t i = task * perTask; i < std::min(count, (task + 1) * perTask); i += 4) {
      auto words =
          mpt::philoxBlock(seed, static_cast<uint32_t>(random.stream), attempt, i / 4);
      for (int64_t lane = 0; lane < std::min<int64_t>(4, count - i); ++lane)
        mask[i + lane] = words[lane] >= threshold;
    }
  });
}

/// Where 16 random bits for each element come from.
struct RandomBits {
  uint64_t seed, attempt;
  uint32_t stream;
};

/// Draws those of the elements from `begin` on, of which the first starts a block. With
/// fewer lanes compilers unroll loops over them instead of using vectors.
MPT_INLINE void drawBitsTo(const RandomBits &random, int64_t begin, int64_t end,
                           uint16_t *bits) {
  constexpr int lanes = 32;
  constexpr int64_t atOnce = 8 * lanes;
  for (int64_t i = begin; i < end; i += atOnce) {
    uint16_t halves[atOnce];
    mpt::philoxHalves<lanes>(random.seed, random.stream, random.attempt, i / 8, halves);
    std::memcpy(bits + i, halves, 2 * std::min(atOnce, end - i));
  }
}
void drawBitsPlain(const RandomBits &random, int64_t begin, int64_t end, uint16_t *bits) {
  drawBitsTo(random, begin, end, bits);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) void drawBitsAVX2(const RandomBits &random, int64_t begin,
                                                  int64_t end, uint16_t *bits) {
  drawBitsTo(random, begin, end, bits);
}
#endif

void drawBits(const RandomBits &random, int64_t begin, int64_t end, uint16_t *bits) {
#if defined(__x86_64__)
  if (getVectorSet() != VectorSet::Plain)
    return drawBitsAVX2(random, begin, end, bits);
#endif
  drawBitsPlain(random, begin, end, bits);
}

void runCall(const RandomBitsCall &random, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  RandomBits from;
  std::memcpy(&from.seed, buffers[0], 8);
  std::memcpy(&from.attempt, buffers[1], 8);
  from.stream = static_cast<uint32_t>(random.stream);
  auto *bits = static_cast<uint16_t *>(buffers[2]);
  const int64_t count = call.refs[2].count(), perTask = 16384;
  parallelFor((count + perTask - 1) / perTask, team, [&](int64_t task, int) {
    drawBits(from, task * perTask, std::min(count, (task + 1) * perTask), bits);
  });
}

void runCall(const CheckIndicesCall &, const Instruction &call, void **buffers,
             ThreadTeam &) {
  std::memcpy(buffers[1], buffers[0], call.refs[0].bytes());
}

void runCall(const MaxPoolCall &pool, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  runPool(pool, call, buffers, team);
}
void runCall(const MaxPoolGradCall &pool, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  runPool(pool, call, buffers, team);
}
void runCall(const AvgPoolCall &pool, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  runPool(pool, call, buffers, team);
}
void runCall(const AvgPoolGradCall &pool, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  runPool(pool, call, buffers, team);
}

void runCall(const AttentionCall &, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  runAttention(call, buffers, team);
}
void runCall(const AttentionGradCall &, const Instruction &call, void **buffers,
             ThreadTeam &team) {
  runAttention(call, buffers, team);
}

/// A call that is a function of its attributes and buffers.
template <typename Attributes>
class SimpleCall : public Call {
public:
  SimpleCall(const Attributes &attributes, const Instruction &instruction)
      : attributes(attributes), instruction(instruction) {}
  bool run(void **buffers, ThreadTeam &team, std::string &error) override {
    if (std::optional<IndexRange> range = getIndexRange(attributes, instruction)) {
      badIndex =
          findBadIndex(*range, instruction.refs[range->buffer], buffers[range->buffer]);
      if (badIndex) {
        error = badIndex->describe(range->size);
        return false;
      }
    }
    runCall(attributes, instruction, buffers, team);
    return true;
  }

private:
  Attributes attributes;
  Instruction instruction;
};

/// GELU by tanh: x (1 + tanh(u)) / 2 is x / (1 + e^(-2u)).
MPT_INLINE void applyGeluTo(float *row, int64_t count) {
  auto apply = [](float *numbers) __attribute__((always_inline)) {
    Vector x, power;
    load(numbers, x);
    exponential(x * (-1.5957691216057308f - 0.07135481627260025f * (x * x)), power);
    store(numbers, x / (1.0f + power));
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    apply(row + i);
  if (i < count) {
    float rest[kLanes] = {};
    std::copy_n(row + i, count - i, rest);
    apply(rest);
    std::copy_n(rest, count - i, row + i);
  }
}
void applyGeluPlain(float *row, int64_t count) { applyGeluTo(row, count); }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void applyGeluAVX2(float *row, int64_t count) {
  applyGeluTo(row, count);
}
__attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"))) void
applyGeluAVX512(float *row, int64_t count) {
  applyGeluTo(row, count);
}
#endif

void applyGelu(float *row, int64_t count) {
#if defined(__x86_64__)
  static const bool multipliesAndAdds = __builtin_cpu_supports("fma");
  if (getVectorSet() == VectorSet::AVX512)
    return applyGeluAVX512(row, count);
  if (getVectorSet() == VectorSet::AVX2 && multipliesAndAdds)
    return applyGeluAVX2(row, count);
#endif
  applyGeluPlain(row, count);
}

/// Adds a bias, unless it is null, and then takes the ReLU if there is one.
MPT_INLINE void addAndClamp(float *row, const float *bias, int64_t count, bool isRelu) {
  auto clamp = [](float x) { return x > 0.0f || x != x ? x : 0.0f; };
  if (bias && isRelu)
    for (int64_t i = 0; i < count; ++i)
      row[i] = clamp(row[i] + bias[i]);
  else if (bias)
    for (int64_t i = 0; i < count; ++i)
      row[i] += bias[i];
  else if (isRelu)
    for (int64_t i = 0; i < count; ++i)
      row[i] = clamp(row[i]);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) void addAndClampAVX2(float *row, const float *bias,
                                                     int64_t count, bool isRelu) {
  addAndClamp(row, bias, count, isRelu);
}
#endif

} // namespace

void mpt::rt::finishRow(float *row, const float *bias, int64_t count, Epilogue epilogue) {
  const bool isRelu = epilogue == Epilogue::Relu;
#if defined(__x86_64__)
  if (getVectorSet() != VectorSet::Plain)
    addAndClampAVX2(row, bias, count, isRelu);
  else
#endif
    addAndClamp(row, bias, count, isRelu);
  if (epilogue == Epilogue::Gelu)
    applyGelu(row, count);
}

std::unique_ptr<Call> mpt::rt::makeCall(const Instruction &call, int64_t maxThreads,
                                        std::string &error, bool fastBF16) {
  if (!checkCall(call, error))
    return nullptr;
  if (const auto *matmul = call.getCall<MatmulCall>(); matmul && isForGpu(*matmul)) {
    error = "this matmul was planned for a GPU";
    return nullptr;
  }
  if (call.getCall<CudnnAttentionCall>() || call.getCall<CudnnAttentionGradCall>()) {
    error = "this attention was planned for a GPU";
    return nullptr;
  }
  int64_t needed = getCallWorkspace(call, maxThreads);
  int64_t given = call.hasScratch ? call.refs.back().bytes() : 0;
  if (given < needed) {
    error = "the call needs a workspace of " + std::to_string(needed) +
            " bytes but has " + std::to_string(given);
    return nullptr;
  }
  auto convolution = [&](const auto &) {
    return makeConv(call, maxThreads, fastBF16, error);
  };
  return std::visit(
      Overloaded{[&](const MatmulCall &) {
                   return call.refs[0].type == DataType::F64
                              ? makeDoubleMatmul(call)
                              : makeMatmul(call, maxThreads, fastBF16, error);
                 },
                 [&](const Conv2DCall &one) { return convolution(one); },
                 [&](const Conv2DInputGradCall &one) { return convolution(one); },
                 [&](const Conv2DFilterGradCall &one) { return convolution(one); },
                 // Refused above.
                 [&](const CudnnAttentionCall &) { return std::unique_ptr<Call>(); },
                 [&](const CudnnAttentionGradCall &) { return std::unique_ptr<Call>(); },
                 [&](const AllReduceCall &one) { return makeCollective(one, call); },
                 [&](const ReduceScatterCall &one) { return makeCollective(one, call); },
                 [&](const AllGatherCall &one) { return makeCollective(one, call); },
                 [&](const AllToAllCall &one) { return makeCollective(one, call); },
                 [&](const BroadcastCall &one) { return makeCollective(one, call); },
                 [&](const RankCall &one) { return makeCollective(one, call); },
                 [&](const WaitCall &one) { return makeCollective(one, call); },
                 [&](const GemmQuantizeCall &) {
                   error = "this call was planned for a GPU";
                   return std::unique_ptr<Call>();
                 },
                 // Plain loops: a call without a runCall does not compile.
                 [&](const auto &one) -> std::unique_ptr<Call> {
                   using Attributes = std::decay_t<decltype(one)>;
                   return std::make_unique<SimpleCall<Attributes>>(one, call);
                 }},
      *call.call);
}
