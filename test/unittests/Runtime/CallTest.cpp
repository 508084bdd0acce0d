//===- CallTest.cpp - The plain library calls -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"

#include "Transpose.h"
#include "mpt/Support/Philox.h"
#include <map>

using namespace mpt::rt;

namespace {

constexpr DataType F64 = DataType::F64, F32 = DataType::F32, F16 = DataType::F16,
                   BF16 = DataType::BF16, I64 = DataType::I64, I32 = DataType::I32;

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

struct Pool {
  int64_t images, height, width, channels, windowH, windowW, strideH, strideW;
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool countPad = false;

  int64_t outHeight() const { return (height + top + bottom - windowH) / strideH + 1; }
  int64_t outWidth() const { return (width + left + right - windowW) / strideW + 1; }
  std::vector<int64_t> xDims() const { return {images, height, width, channels}; }
  std::vector<int64_t> yDims() const {
    return {images, outHeight(), outWidth(), channels};
  }
  template <typename Call>
  Call call() const {
    Call made;
    made.window = {windowH, windowW};
    made.strides = {strideH, strideW};
    made.padding = {top, bottom, left, right};
    if constexpr (std::is_same_v<Call, AvgPoolCall> ||
                  std::is_same_v<Call, AvgPoolGradCall>)
      made.countIncludePad = countPad;
    return made;
  }
  /// The elements of x under each element of y, in row-major order.
  std::vector<std::vector<int64_t>> windows() const {
    std::vector<std::vector<int64_t>> result;
    for (int64_t n = 0; n < images; ++n)
      for (int64_t i = 0; i < outHeight(); ++i)
        for (int64_t j = 0; j < outWidth(); ++j)
          for (int64_t c = 0; c < channels; ++c) {
            result.emplace_back();
            for (int64_t p = 0; p < windowH; ++p)
              for (int64_t q = 0; q < windowW; ++q) {
                int64_t row = i * strideH - top + p, column = j * strideW - left + q;
                if (row >= 0 && row < height && column >= 0 && column < width)
                  result.back().push_back(
                      ((n * height + row) * width + column) * channels + c);
              }
          }
    return result;
  }
};

/// The gradient of a max pooling where x lies, where the plan allows that.
void checkInPlace(const Pool &pool, const Tensor &dy, const Tensor &x, const Tensor &dx) {
  Instruction call =
      makeInstruction(pool.call<MaxPoolGradCall>(), {dy.ref, x.ref}, dx.ref);
  const bool isInPlace =
      pool.windowH <= pool.strideH && pool.windowW <= pool.strideW && pool.top == 0;
  ASSERT_EQ(mayOverwrite(call, 0, 1), isInPlace);
  ASSERT_FALSE(mayOverwrite(call, 0, 0));
  if (!isInPlace)
    return;
  for (int threads : {1, 3}) {
    Tensor both = castTensor(x, x.ref.type);
    std::string error;
    std::unique_ptr<Call> made = makeCall(call, threads, error, hasFastBF16());
    ASSERT_TRUE(made) << error;
    void *buffers[] = {const_cast<void *>(dy.data()), both.data(), both.data(), nullptr};
    OneThread one;
    ThreadTeam team(threads);
    ASSERT_TRUE(made->run(buffers, team, error)) << error;
    EXPECT_TRUE(both.isIntact());
    EXPECT_TRUE(both.bytes() == dx.bytes()) << threads;
  }
}

void checkPool(const Pool &pool, DataType type) {
  Tensor x = randomTensor(type, pool.xDims(), 1),
         dy = randomTensor(type, pool.yDims(), 2);
  // Equal values, so that the first has to win.
  for (int64_t i = 0; i < x.count(); i += 3)
    x.set(i, 0.5);
  Tensor y(type, pool.yDims()), dx(type, pool.xDims());
  auto windows = pool.windows();
  std::vector<int64_t> largest(windows.size());
  for (size_t i = 0; i < windows.size(); ++i) {
    largest[i] = windows[i][0];
    for (int64_t at : windows[i])
      if (x[at] > x[largest[i]])
        largest[i] = at;
  }
  ASSERT_EQ(runCall(pool.call<MaxPoolCall>(), {&x}, y), "");
  for (size_t i = 0; i < windows.size(); ++i)
    ASSERT_EQ(y[i], x[largest[i]]);
  ASSERT_EQ(runCall(pool.call<MaxPoolGradCall>(), {&dy, &x}, dx), "");
  std::vector<double> expected(x.count()), size(x.count());
  for (size_t i = 0; i < windows.size(); ++i) {
    expected[largest[i]] += dy[i];
    size[largest[i]] += std::fabs(dy[i]);
  }
  double terms = pool.windowH * pool.windowW;
  for (int64_t i = 0; i < x.count(); ++i) {
    double bound = gammaOf(terms) * size[i];
    ASSERT_NEAR(dx[i], expected[i],
                bound + roundingError(type, std::fabs(expected[i]) + bound));
  }
  checkInPlace(pool, dy, x, dx);

  auto divisor = [&](size_t i) {
    return pool.countPad ? terms : static_cast<double>(windows[i].size());
  };
  ASSERT_EQ(runCall(pool.call<AvgPoolCall>(), {&x}, y), "");
  for (size_t i = 0; i < windows.size(); ++i) {
    double sum = 0, sizes = 0;
    for (int64_t at : windows[i]) {
      sum += x[at] / divisor(i);
      sizes += std::fabs(x[at]) / divisor(i);
    }
    double bound = gammaOf(terms + 1) * sizes;
    ASSERT_NEAR(y[i], sum, bound + roundingError(type, std::fabs(sum) + bound));
  }
  ASSERT_EQ(runCall(pool.call<AvgPoolGradCall>(), {&dy}, dx), "");
  expected.assign(x.count(), 0);
  size.assign(x.count(), 0);
  for (size_t i = 0; i < windows.size(); ++i)
    for (int64_t at : windows[i]) {
      expected[at] += dy[i] / divisor(i);
      size[at] += std::fabs(dy[i]) / divisor(i);
    }
  for (int64_t i = 0; i < x.count(); ++i) {
    double bound = gammaOf(terms + 1) * size[i];
    ASSERT_NEAR(dx[i], expected[i],
                bound + roundingError(type, std::fabs(expected[i]) + bound));
  }
}

TEST(PoolTest, AgainstSums) {
  for (DataType type : {F32, F16, BF16}) {
    checkPool({2, 6, 8, 3, 2, 2, 2, 2}, type);
    checkPool({2, 7, 5, 3, 3, 2, 2, 1, 1, 1, 0, 1}, type);
    checkPool({2, 7, 5, 3, 3, 3, 2, 2, 1, 1, 1, 1, true}, type);
    checkPool({1, 5, 5, 2, 5, 5, 1, 1}, type);
  }
}

/// Channels around the sixteen of a vector; windows that overlap, leave gaps or end
/// early; one point, rows of several bands, and bands of several images.
TEST(PoolTest, Shapes) {
  for (DataType type : {F32, BF16, F16, F64}) {
    for (int64_t channels : {1, 15, 16, 17, 33, 64}) {
      checkPool({2, 6, 7, channels, 2, 2, 2, 2}, type);
      checkPool({1, 7, 6, channels, 3, 3, 2, 2, 1, 1, 1, 1}, type);
    }
    checkPool({1, 8, 9, 20, 2, 2, 3, 4}, type);
    checkPool({1, 9, 8, 20, 2, 3, 3, 3, 1, 0, 0, 1}, type);
    checkPool({2, 150, 9, 60, 3, 2, 4, 2}, type);
    checkPool({2, 6, 6, 40, 3, 1, 1, 1, 2, 1, 0, 0, true}, type);
    checkPool({1, 4, 4, 16, 4, 4, 1, 1, 3, 3, 2, 1}, type);
    checkPool({3, 1, 1, 5, 1, 1, 1, 1}, type);
    checkPool({2, 40, 31, 100, 3, 3, 2, 2, 1, 1, 1, 1}, type);
    checkPool({2, 40, 31, 100, 2, 2, 2, 2}, type);
  }
  checkPool({2, 6, 8, 18, 3, 2, 2, 1, 1, 1, 0, 1}, DataType::F8E5M2);
}

/// Each thread needs a place for the sums of a narrow dx.
TEST(PoolTest, Plans) {
  auto plan = [](const Pool &pool, DataType type) {
    BufferRef x, y;
    x.type = y.type = type;
    x.dims = pool.xDims(), y.dims = pool.yDims();
    Instruction call = makeInstruction(pool.call<MaxPoolGradCall>(), {y, x}, x);
    EXPECT_EQ(getCallWorkspace(call, 3), 3 * planPool(call).threadBytes);
    return planPool(call);
  };
  Pool overlapping{2, 112, 112, 64, 3, 3, 2, 2, 1, 1, 1, 1},
      apart{2, 16, 16, 8, 2, 2, 2, 2};
  EXPECT_EQ(plan(overlapping, F32).rows, 10);
  EXPECT_EQ(plan(overlapping, F32).bands, 1);
  EXPECT_EQ(plan(overlapping, F32).threadBytes, 0);
  EXPECT_EQ(plan(overlapping, BF16).threadBytes, 10 * 112 * 64 * 4);
  EXPECT_EQ(plan(apart, BF16).rows, 16);
  EXPECT_EQ(plan(apart, BF16).bands, 32);
  EXPECT_EQ(plan(apart, BF16).threadBytes, 0);
}

/// The code for each set of vector instructions that this CPU has gives the same bits.
TEST(PoolTest, VectorSets) {
  auto check = [](const LibraryCall &libraryCall,
                  const std::vector<const Tensor *> &inputs, Tensor &output) {
    std::vector<BufferRef> refs;
    std::vector<void *> buffers;
    for (const Tensor *input : inputs) {
      refs.push_back(input->ref);
      buffers.push_back(const_cast<void *>(input->data()));
    }
    Instruction call = makeInstruction(libraryCall, refs, output.ref);
    addScratch(call, 1);
    Tensor scratch(DataType::I8, {call.hasScratch ? call.refs.back().count() : 0});
    buffers.push_back(output.data());
    buffers.push_back(scratch.data());
    ThreadTeam team(1);
    std::vector<char> first;
    for (VectorSet set : {VectorSet::Plain, VectorSet::AVX2, VectorSet::AVX512}) {
      if (set > getVectorSet())
        continue;
      std::memset(output.data(), 0x7f, output.ref.bytes());
      std::visit(Overloaded{[&](const MaxPoolCall &pool) {
                              runPool(pool, call, buffers.data(), team, set);
                            },
                            [&](const MaxPoolGradCall &pool) {
                              runPool(pool, call, buffers.data(), team, set);
                            },
                            [&](const AvgPoolCall &pool) {
                              runPool(pool, call, buffers.data(), team, set);
                            },
                            [&](const AvgPoolGradCall &pool) {
                              runPool(pool, call, buffers.data(), team, set);
                            },
                            [](const auto &) { ADD_FAILURE() << "not a pooling"; }},
                 libraryCall);
      if (first.empty())
        first = output.bytes();
      EXPECT_TRUE(first == output.bytes()) << static_cast<int>(set);
      EXPECT_TRUE(output.isIntact() && scratch.isIntact());
    }
  };
  for (DataType type : {F32, BF16, F16, F64})
    for (int64_t channels : {5, 16, 37})
      for (int64_t stride : {1, 2}) {
        Pool pool{2, 9, 8, channels, 3, 2, stride, stride, 1, 0, 0, 1};
        Tensor x = randomTensor(type, pool.xDims(), 1, -3, 3),
               dy = randomTensor(type, pool.yDims(), 2), y(type, pool.yDims()),
               dx(type, pool.xDims());
        for (int64_t i = 0; i < x.count(); i += 7)
          x.set(i, i % 2 ? -INFINITY : NAN);
        check(pool.call<MaxPoolCall>(), {&x}, y);
        check(pool.call<MaxPoolGradCall>(), {&dy, &x}, dx);
        check(pool.call<AvgPoolCall>(), {&x}, y);
        check(pool.call<AvgPoolGradCall>(), {&dy}, dx);
      }
}

/// An image of one type and gradients of another.
TEST(PoolTest, MixedTypes) {
  Pool pool{2, 7, 6, 19, 3, 3, 2, 2, 1, 1, 1, 1};
  for (DataType other : {BF16, F64}) {
    Tensor x = randomTensor(F32, pool.xDims(), 1),
           dy = randomTensor(other, pool.yDims(), 2);
    Tensor sameDy(F32, pool.yDims()), dx(F32, pool.xDims()), expected(F32, pool.xDims());
    for (int64_t i = 0; i < dy.count(); ++i) {
      dy.set(i, std::round(dy[i] * 64)); // so that sums are exact
      sameDy.set(i, dy[i]);
    }
    ASSERT_EQ(runCall(pool.call<MaxPoolGradCall>(), {&dy, &x}, dx), "");
    ASSERT_EQ(runCall(pool.call<MaxPoolGradCall>(), {&sameDy, &x}, expected), "");
    EXPECT_TRUE(dx.bytes() == expected.bytes());
  }
}

TEST(PoolTest, NaNIsLargest) {
  Tensor x(F32, {1, 2, 2, 1}), y(F32, {1, 1, 1, 1}), dy(F32, {1, 1, 1, 1}),
      dx(F32, {1, 2, 2, 1});
  x.set(0, 1), x.set(1, NAN), x.set(2, INFINITY), x.set(3, NAN);
  dy.set(0, 3);
  Pool pool{1, 2, 2, 1, 2, 2, 2, 2};
  ASSERT_EQ(runCall(pool.call<MaxPoolCall>(), {&x}, y), "");
  EXPECT_TRUE(std::isnan(y[0]));
  ASSERT_EQ(runCall(pool.call<MaxPoolGradCall>(), {&dy, &x}, dx), "");
  EXPECT_EQ(dx[0] + dx[2] + dx[3], 0);
  EXPECT_EQ(dx[1], 3);
}

TEST(PoolTest, Misfits) {
  Pool pool{2, 6, 8, 3, 2, 2, 2, 2};
  auto error = [&](const AvgPoolCall &call, std::vector<int64_t> yDims,
                   DataType type = F32) {
    Tensor x(type, pool.xDims()), y(type, yDims);
    return runCall(call, {&x}, y);
  };
  auto good = pool.call<AvgPoolCall>();
  std::string range = "a window, a stride or a padding is out of range";
  std::string misfit = "the operands of a pooling do not fit together";
  EXPECT_EQ(error(good, pool.yDims()), "");
  EXPECT_EQ(error({{0, 2}, {2, 2}}, pool.yDims()), range);
  EXPECT_EQ(error({{2, 2}, {0, 2}}, pool.yDims()), range);
  EXPECT_EQ(error({{2, 2}, {2, 2}, {0, -1, 0, 0}}, pool.yDims()), range);
  EXPECT_EQ(error(good, {3, 3, 4, 3}), misfit);
  EXPECT_EQ(error(good, {2, 3, 4, 4}), misfit);
  EXPECT_EQ(error(good, {2, 3, 12}), "pooling needs floats of rank 4");
  EXPECT_EQ(error(good, pool.yDims(), I32), "pooling needs floats of rank 4");
}

//===----------------------------------------------------------------------===//
// Gather and scatter_add
//===----------------------------------------------------------------------===//

template <typename T>
Tensor indices(DataType type, std::vector<int64_t> dims, std::vector<T> values) {
  Tensor tensor(type, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(i, values[i]);
  return tensor;
}

TEST(GatherTest, TakesRows) {
  for (DataType type : {F32, F16, DataType::F8E5M2, F64, I64})
    for (DataType index : {I32, I64}) {
      Tensor table = randomTensor(type, {7, 3, 2}, 1, -100, 100);
      Tensor at = indices(index, {2, 3}, std::vector<int>{6, 0, 3, 3, 1, 6});
      Tensor rows(type, {2, 3, 3, 2});
      ASSERT_EQ(runCall(GatherCall(), {&table, &at}, rows), "");
      for (int64_t i = 0; i < 6; ++i)
        for (int64_t c = 0; c < 6; ++c)
          ASSERT_EQ(rows[i * 6 + c], table[static_cast<int64_t>(at[i]) * 6 + c]);
    }
}

TEST(GatherTest, IndexOutside) {
  Tensor table = randomTensor(F32, {7, 2}, 1), rows(F32, {3, 2});
  Tensor high = indices(I32, {3}, std::vector<int>{6, 0, 7});
  EXPECT_EQ(runCall(GatherCall(), {&table, &high}, rows),
            "index 7 at position 2 is outside [0, 7)");
  Tensor low = indices(I64, {3}, std::vector<int>{6, -1, 0});
  EXPECT_EQ(runCall(GatherCall(), {&table, &low}, rows),
            "index -1 at position 1 is outside [0, 7)");
  Tensor updates = randomTensor(F32, {3, 2}, 1), sums(F32, {7, 2});
  EXPECT_EQ(runCall(ScatterAddCall(), {&high, &updates}, sums),
            "index 7 at position 2 is outside [0, 7)");
}

TEST(GatherTest, Misfits) {
  Tensor table(F32, {7, 2}), at(I32, {3}), rows(F32, {3, 2}), more(F32, {4, 2}),
      half(F16, {3, 2}), floats(F32, {3}), none(F32, {0, 2}), flat(F32, {});
  std::string misfit = "the operands of a gather do not fit together";
  EXPECT_EQ(runCall(GatherCall(), {&table, &at}, more), misfit);
  EXPECT_EQ(runCall(GatherCall(), {&table, &at}, half), misfit);
  EXPECT_EQ(runCall(GatherCall(), {&table, &floats}, rows), misfit);
  EXPECT_EQ(runCall(GatherCall(), {&none, &at}, rows), misfit);
  EXPECT_EQ(runCall(GatherCall(), {&flat, &at}, rows), misfit);
  EXPECT_EQ(runCall(GatherCall(), {&table}, rows),
            "'gather' needs 2 inputs and 1 outputs, found 1 and 1");
  misfit = "the operands of a scatter_add do not fit together";
  EXPECT_EQ(runCall(ScatterAddCall(), {&at, &more}, table), misfit);
  EXPECT_EQ(runCall(ScatterAddCall(), {&floats, &rows}, table), misfit);
  ScatterAddCall added;
  added.hasInit = true;
  Tensor narrow(F16, {7, 2}), turned(F32, {2, 7});
  EXPECT_EQ(runCall(added, {&at, &rows, &narrow}, table), misfit);
  EXPECT_EQ(runCall(added, {&at, &rows, &turned}, table), misfit);
  Tensor wide(F64, {7, 2}), wideRows(F64, {3, 2});
  const std::string ofF64 =
      "a scatter_add adds up f32, f16 or bf16, not f64; cast to f32";
  EXPECT_EQ(runCall(ScatterAddCall(), {&at, &wideRows}, wide), ofF64);
  EXPECT_EQ(runCall(ScatterAddCall(), {&at, &rows}, wide), ofF64);
  EXPECT_EQ(runCall(added, {&at, &rows}, table),
            "'scatter_add' needs 3 inputs and 1 outputs, found 2 and 1");
  added.kind = ReduceKind::Mean;
  EXPECT_EQ(runCall(added, {&at, &rows, &table}, table), misfit);
  ScatterAddCall largest; // of what?
  largest.kind = ReduceKind::Max;
  EXPECT_EQ(runCall(largest, {&at, &rows}, table), misfit);
}

TEST(ScatterAddTest, NoRows) {
  Tensor none(I32, {0}), updates(F32, {0, 3}), table(F32, {0, 3}), empty(F32, {2, 0}),
      point(F32, {0, 0});
  Tensor some = indices(I32, {2}, std::vector<int>{0, 1});
  EXPECT_EQ(runCall(ScatterAddCall(), {&none, &updates}, table), "");
  EXPECT_EQ(runCall(ScatterAddCall(), {&some, &empty}, point),
            "index 0 at position 0 is outside [0, 0)");
}

TEST(ScatterAddTest, AgainstSums) {
  for (DataType updatesType : {F32, F16, BF16})
    for (DataType type : {F32, updatesType})
      for (int64_t width : {1, 5, 16, 39, 1100}) {
        // Rows that are widened together, one row, and parts of one row.
        const int64_t count = width < 100 ? 300 : 50;
        Tensor at(width == 16 ? I64 : I32, {count}),
            updates = randomTensor(updatesType, {count, width}, 2);
        std::mt19937 rng(3);
        for (int64_t i = 0; i < count; ++i)
          at.set(i, rng() % 4 + (i % 2 ? 0 : 2)); // row 6 gets nothing
        Tensor table(type, {7, width});
        ASSERT_EQ(runCall(ScatterAddCall(), {&at, &updates}, table), "");
        std::vector<double> sums(table.count()), sizes(table.count());
        for (int64_t i = 0; i < count; ++i)
          for (int64_t c = 0; c < width; ++c) {
            auto target = static_cast<int64_t>(at[i]) * width + c;
            sums[target] += updates[i * width + c];
            sizes[target] += std::fabs(updates[i * width + c]);
          }
        for (int64_t i = 0; i < table.count(); ++i) {
          double bound = gammaOf(count) * sizes[i];
          ASSERT_NEAR(table[i], sums[i],
                      bound + roundingError(type, std::fabs(sums[i]) + bound));
        }
      }
}

/// Each vector width and its rest, a NaN in `init` and one in the updates.
TEST(ScatterAddTest, ExtremesAndProducts) {
  for (ReduceKind kind : {ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod})
    for (DataType type : {F32, F16, BF16})
      for (int64_t width : {1, 5, 16, 39, 1100}) {
        const int64_t count = 60;
        Tensor at(width == 16 ? I64 : I32, {count}),
            updates = randomTensor(type, {count, width}, 2, -2, 2),
            init = randomTensor(type, {7, width}, 4, -2, 2), table(type, {7, width});
        for (int64_t i = 0; i < count; ++i)
          at.set(i, i % 5 + (i % 2 ? 0 : 2));
        updates.set(9 * width, std::nan(""));
        init.set(3 * width + width - 1, std::nan(""));
        ScatterAddCall call;
        call.hasInit = true;
        call.kind = kind;
        ASSERT_EQ(runCall(call, {&at, &updates, &init}, table), "");
        std::vector<double> want(table.count()), factors(table.count());
        for (int64_t i = 0; i < table.count(); ++i)
          want[i] = init[i];
        for (int64_t i = 0; i < count; ++i)
          for (int64_t c = 0; c < width; ++c) {
            double &now = want[static_cast<int64_t>(at[i]) * width + c];
            const double next = updates[i * width + c];
            ++factors[static_cast<int64_t>(at[i]) * width + c];
            if (kind == ReduceKind::Prod || std::isnan(now) || std::isnan(next))
              now *= next;
            else
              now = kind == ReduceKind::Max ? std::max(now, next) : std::min(now, next);
          }
        int64_t numbers = 0;
        for (int64_t i = 0; i < table.count(); ++i) {
          ASSERT_EQ(std::isnan(table[i]), std::isnan(want[i])) << i;
          if (std::isnan(want[i]))
            continue;
          ++numbers;
          const double size = std::fabs(want[i]), bound = gammaOf(factors[i]) * size;
          ASSERT_NEAR(table[i], want[i],
                      kind == ReduceKind::Prod ? bound + roundingError(type, size + bound)
                                               : 0);
        }
        ASSERT_EQ(numbers, table.count() - 2);
      }
}

/// In a buffer of its own and where `init` lies, with the same bits; each sum against
/// f64.
TEST(ScatterAddTest, AddsToInit) {
  ScatterAddCall added;
  added.hasInit = true;
  for (DataType type : {F32, F16, BF16})
    for (int64_t width : {1, 5, 200}) {
      // 400 x 200 are filled by two tasks.
      const int64_t rows = 400, count = 50;
      Tensor at(I32, {count}), updates = randomTensor(type, {count, width}, 2),
                               init = randomTensor(type, {rows, width}, 4);
      std::mt19937 rng(3);
      for (int64_t i = 0; i < count; ++i)
        at.set(i, rng() % 4);
      Tensor table(type, {rows, width});
      ASSERT_EQ(runCall(added, {&at, &updates, &init}, table), "");
      std::vector<double> sums(table.count()), sizes(table.count());
      for (int64_t i = 0; i < table.count(); ++i) {
        sums[i] = init[i];
        sizes[i] = std::fabs(init[i]);
      }
      for (int64_t i = 0; i < count; ++i)
        for (int64_t c = 0; c < width; ++c) {
          const int64_t target = static_cast<int64_t>(at[i]) * width + c;
          sums[target] += updates[i * width + c];
          sizes[target] += std::fabs(updates[i * width + c]);
        }
      for (int64_t i = 0; i < table.count(); ++i) {
        double bound = gammaOf(count + 1) * sizes[i];
        ASSERT_NEAR(table[i], sums[i],
                    bound + roundingError(type, std::fabs(sums[i]) + bound));
      }
      Instruction call =
          makeInstruction(added, {at.ref, updates.ref, init.ref}, table.ref);
      ASSERT_TRUE(mayOverwrite(call, 0, 2));
      ASSERT_FALSE(mayOverwrite(call, 0, 1));
      for (int threads : {1, 3}) {
        Tensor both = castTensor(init, type);
        Instruction whole = call;
        addScratch(whole, threads);
        Tensor workspace(DataType::I8,
                         {whole.hasScratch ? whole.refs.back().count() : 0});
        std::string error;
        std::unique_ptr<Call> made = makeCall(whole, threads, error, hasFastBF16());
        ASSERT_TRUE(made) << error;
        void *buffers[] = {at.data(), updates.data(), both.data(), both.data(),
                           workspace.data()};
        OneThread one;
        ThreadTeam team(threads);
        ASSERT_TRUE(made->run(buffers, team, error)) << error;
        EXPECT_TRUE(both.isIntact());
        EXPECT_TRUE(both.bytes() == table.bytes()) << threads;
      }
    }
  Tensor at(I32, {3}), updates(F32, {3, 2}), table(F32, {7, 2});
  const Instruction plain =
      makeInstruction(ScatterAddCall(), {at.ref, updates.ref}, table.ref);
  for (uint32_t input : {0, 1, 2})
    EXPECT_FALSE(mayOverwrite(plain, 0, input));
}

//===----------------------------------------------------------------------===//
// Copy and fill
//===----------------------------------------------------------------------===//

TEST(CopyTest, Transposes) {
  for (DataType type : {F32, F16, DataType::F8E4M3FN, F64}) {
    Tensor x = randomTensor(type, {3, 4, 5}, 1), y(type, {5, 3, 4});
    // y[k, i, j] = x[i, j, k]
    ASSERT_EQ(runCall(CopyCall{{5, 3, 4}, 0, {1, 20, 5}, 0, {12, 4, 1}}, {&x}, y), "");
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 5; ++k)
          ASSERT_EQ(y[k * 12 + i * 4 + j], x[i * 20 + j * 5 + k]);
  }
}

TEST(CopyTest, TransposesInTilesAndPieces) {
  // [2, 83, 301], with 16 times 16 in a tile, 64 times 256 in a block, and edges.
  const int64_t n = 2, rows = 83, columns = 301;
  for (DataType type : {F32, F16, DataType::BF16, DataType::F8E4M3FN, F64}) {
    Tensor x = randomTensor(type, {n, rows, columns}, 1), y(type, {n, columns, rows});
    ASSERT_EQ(runCall(CopyCall{{n, columns, rows},
                               0,
                               {rows * columns, 1, columns},
                               0,
                               {rows * columns, rows, 1}},
                      {&x}, y),
              "");
    // Every second column of every third row, from the last row on.
    Tensor z(type, {n, 150, 28});
    ASSERT_EQ(runCall(CopyCall{{n, 150, 28},
                               82 * columns + 1,
                               {rows * columns, 2, -3 * columns},
                               0,
                               {150 * 28, 28, 1}},
                      {&x}, z),
              "");
    // A column of the target is left as it is.
    Tensor w(type, {n, columns, rows + 1});
    ASSERT_EQ(runCall(CopyCall{{n, columns, rows},
                               0,
                               {rows * columns, 1, columns},
                               1,
                               {(rows + 1) * columns, rows + 1, 1}},
                      {&x}, w),
              "");
    for (int64_t b = 0; b < n; ++b)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          const double expected = x[(b * rows + r) * columns + c];
          ASSERT_EQ(y[(b * columns + c) * rows + r], expected);
          ASSERT_EQ(w[(b * columns + c) * (rows + 1) + r + 1], expected);
          if ((82 - r) % 3 == 0 && c % 2 == 1)
            ASSERT_EQ(z[(b * 150 + c / 2) * 28 + (82 - r) / 3], expected);
        }
    // runCall fills results with these bytes.
    for (int64_t i = 0; i < n * columns; ++i)
      for (int64_t byte = 0; byte < mpt::rt::getSize(type); ++byte)
        ASSERT_EQ(static_cast<const char *>(
                      w.data())[i * (rows + 1) * mpt::rt::getSize(type) + byte],
                  0x7f);
  }
  // Longer rows than a task takes.
  Tensor x = randomTensor(F32, {3, 40000}, 1), y(F32, {3, 40000});
  ASSERT_EQ(runCall(CopyCall{{3, 40000}, 0, {40000, 1}, 0, {40000, 1}}, {&x}, y), "");
  for (int64_t i = 0; i < 120000; ++i)
    ASSERT_EQ(y[i], x[i]);
}

TEST(CopyTest, PartsOfRows) {
  // Rows of words and their rests, in tasks that end between two blocks of rows; what
  // follows each row is left as it is.
  for (DataType type : {DataType::F8E4M3FN, DataType::BF16, F32, F64})
    for (int64_t n : {2, 3, 5, 7, 8, 9, 17, 33, 130}) {
      const int64_t blocks = n == 9 ? 90 : 3, rows = n == 9 ? 41 : 5;
      Tensor x = randomTensor(type, {blocks, rows + 1, n + 3}, 1),
             y(type, {blocks, rows, n + 2});
      ASSERT_EQ(runCall(CopyCall{{blocks, rows, n},
                                 n + 4,
                                 {(rows + 1) * (n + 3), n + 3, 1},
                                 0,
                                 {rows * (n + 2), n + 2, 1}},
                        {&x}, y),
                "");
      const int64_t size = mpt::rt::getSize(type);
      for (int64_t b = 0; b < blocks; ++b)
        for (int64_t r = 0; r < rows; ++r) {
          const int64_t to = (b * rows + r) * (n + 2);
          for (int64_t c = 0; c < n; ++c)
            ASSERT_EQ(y[to + c], x[(b * (rows + 1) + r + 1) * (n + 3) + c + 1])
                << n << " " << b << " " << r << " " << c;
          // runCall fills results with these bytes.
          for (int64_t byte = n * size; byte < (n + 2) * size; ++byte)
            ASSERT_EQ(static_cast<const char *>(y.data())[to * size + byte], 0x7f);
        }
    }
}

TEST(CopyTest, TransposesOnEachVectorSet) {
  const int64_t rows = 37, columns = 50, lead = 53, targetLead = 41;
  for (int64_t size : {2, 4})
    for (VectorSet set : {VectorSet::Plain, VectorSet::AVX2, VectorSet::AVX512}) {
      if (set > getVectorSet())
        continue;
      std::vector<char> source(rows * lead * size), target(columns * targetLead * size);
      for (size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<char>(i * 7 + i / 251);
      transposeBits({size, source.data(), lead, rows, columns}, target.data(), targetLead,
                    set);
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < targetLead; ++r)
          for (int64_t byte = 0; byte < size; ++byte)
            ASSERT_EQ(target[(c * targetLead + r) * size + byte],
                      r < rows ? source[(r * lead + c) * size + byte] : 0);
    }
}

/// Whole tiles of 8 x 8, tiles that overlap, and matrices with fewer rows or columns;
/// what lies between the rows of the result is left as it is.
TEST(CopyTest, TransposesToFloats) {
  const std::pair<DataType, Rounding> kinds[] = {
      {F32, Rounding::None},  {F32, Rounding::F16},
      {F32, Rounding::BF16},  {F16, Rounding::None},
      {BF16, Rounding::None}, {DataType::F8E4M3FN, Rounding::None}};
  for (auto [type, rounding] : kinds)
    for (int64_t rows : {3, 8, 21, 40})
      for (int64_t columns : {5, 8, 50})
        for (VectorSet set : {VectorSet::Plain, VectorSet::AVX2, VectorSet::AVX512}) {
          if (set > getVectorSet())
            continue;
          const int64_t lead = columns + 3, targetLead = rows + 2;
          Tensor x = randomTensor(type, {rows, lead}, 1);
          if (rounding != Rounding::None)
            setRoundedNumbers(x);
          std::vector<float> target(columns * targetLead, 7.0f);
          transposeToFloats({type, x.data(), 1, lead, rows, columns, rounding},
                            target.data(), targetLead, set);
          for (int64_t c = 0; c < columns; ++c)
            for (int64_t r = 0; r < targetLead; ++r) {
              auto expected = static_cast<float>(r < rows ? x[r * lead + c + 1] : 7.0);
              if (r < rows)
                round(rounding, &expected, &expected, 1, VectorSet::Plain);
              ASSERT_EQ(target[c * targetLead + r], expected)
                  << rows << " " << columns << " " << r << " " << c;
            }
        }
}

TEST(CopyTest, BackwardsBroadcastAndScalar) {
  Tensor x = randomTensor(F32, {6}, 1), y(F32, {2, 6}), one(F32, {});
  // From the end, twice.
  ASSERT_EQ(runCall(CopyCall{{2, 6}, 5, {0, -1}, 0, {6, 1}}, {&x}, y), "");
  for (int i = 0; i < 12; ++i)
    ASSERT_EQ(y[i], x[5 - i % 6]);
  ASSERT_EQ(runCall(CopyCall{{}, 4, {}, 0, {}}, {&x}, one), "");
  EXPECT_EQ(one[0], x[4]);
}

TEST(CopyTest, Misfits) {
  Tensor x(F32, {6}), y(F32, {6}), half(F16, {6});
  std::string outside = "a copy reaches outside its buffers";
  auto error = [&](const CopyCall &copy) { return runCall(copy, {&x}, y); };
  EXPECT_EQ(error({{6}, 0, {1}, 0, {1}}), "");
  EXPECT_EQ(error({{7}, 0, {1}, 0, {1}}), outside);
  EXPECT_EQ(error({{6}, 1, {1}, 0, {1}}), outside);
  EXPECT_EQ(error({{6}, 0, {1}, 1, {1}}), outside);
  EXPECT_EQ(error({{6}, 0, {-1}, 0, {1}}), outside);
  EXPECT_EQ(error({{6}, 4, {-1}, 0, {1}}), outside);
  EXPECT_EQ(error({{int64_t(1) << 62}, 0, {8}, 0, {1}}), outside);
  EXPECT_EQ(error({{2}, INT64_MAX, {1}, 0, {1}}), outside);
  EXPECT_EQ(error({{-1}, 0, {1}, 0, {1}}), "a copied size is negative");
  std::string strides =
      "a copy needs a source and a target stride for each of at most 64 "
      "sizes";
  EXPECT_EQ(error({{6}, 0, {1}, 0, {}}), strides);
  EXPECT_EQ(error({{6}, 0, {}, 0, {1}}), strides);
  std::vector<int64_t> many(65, 1);
  EXPECT_EQ(error({many, 0, many, 0, many}), strides);
  EXPECT_EQ(runCall(plainCopy(6), {&x}, half), "a copy does not convert elements");
}

TEST(FillTest, EveryType) {
  for (DataType type : {F64, F32, F16, BF16, DataType::F8E4M3FN, DataType::F8E5M2, I64,
                        I32, DataType::I8, DataType::I1}) {
    Tensor y(type, {3, 5});
    ASSERT_EQ(runCall(FillCall{1.0}, {}, y), "");
    for (int64_t i = 0; i < 15; ++i)
      ASSERT_EQ(y[i], 1.0);
  }
  Tensor y(F16, {3});
  ASSERT_EQ(runCall(FillCall{1e9}, {}, y), "");
  EXPECT_EQ(y[2], INFINITY);
}

//===----------------------------------------------------------------------===//
// Reduce, argmax and random_mask
//===----------------------------------------------------------------------===//

/// Sums and the like of `xDims`, three sizes, against those of single elements.
static void checkReductions(DataType type, const std::vector<int64_t> &xDims) {
  const int64_t count = xDims[0] * xDims[1] * xDims[2];
  for (const std::vector<int64_t> &axes :
       {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}, {}}) {
    std::vector<int64_t> yDims;
    for (int64_t d = 0; d < 3; ++d)
      if (std::find(axes.begin(), axes.end(), d) == axes.end())
        yDims.push_back(xDims[d]);
    Tensor x = randomTensor(type, xDims, 1);
    for (int64_t kind : {0, 1, 2, 3, 4}) {
      Tensor y(type, yDims);
      ASSERT_EQ(runCall(ReduceCall{static_cast<ReduceKind>(kind), axes}, {&x}, y), "");
      std::vector<std::vector<double>> groups(y.count());
      for (int64_t i = 0; i < count; ++i) {
        int64_t at[3] = {i / (xDims[1] * xDims[2]), i / xDims[2] % xDims[1],
                         i % xDims[2]},
                target = 0;
        for (int64_t d = 0; d < 3; ++d)
          if (std::find(axes.begin(), axes.end(), d) == axes.end())
            target = target * xDims[d] + at[d];
        groups[target].push_back(x[i]);
      }
      for (int64_t i = 0; i < y.count(); ++i) {
        double sum = 0, size = 0, product = 1, low = INFINITY, high = -INFINITY;
        for (double value : groups[i]) {
          sum += value;
          size += std::fabs(value);
          product *= value;
          low = std::min(low, value);
          high = std::max(high, value);
        }
        double n = static_cast<double>(groups[i].size());
        double expected[] = {sum, sum / n, high, low, product};
        double errors[] = {gammaOf(n) * size, gammaOf(n + 1) * size / n, 0, 0,
                           gammaOf(n) * std::fabs(product)};
        double bound = errors[kind];
        ASSERT_NEAR(y[i], expected[kind],
                    bound + roundingError(type, std::fabs(expected[kind]) + bound))
            << kind;
      }
    }
  }
}

TEST(ReduceTest, AgainstSums) {
  // Rows that lie side by side or apart, of fewer than 8 numbers and more than 256.
  for (DataType type : {F32, F16, BF16, F64})
    for (const std::vector<int64_t> &dims :
         {std::vector<int64_t>{4, 5, 6}, {3, 2, 301}, {2, 40, 9}})
      checkReductions(type, dims);
}

TEST(ReduceTest, Integers) {
  for (DataType type : {I64, I32, DataType::I8}) {
    Tensor x(type, {3, 4}), y(type, {3});
    for (int64_t i = 0; i < 12; ++i)
      x.set(i, (i * 5) % 7 - 3);
    for (int64_t kind : {0, 2, 3, 4}) {
      ASSERT_EQ(runCall(ReduceCall{static_cast<ReduceKind>(kind), {1}}, {&x}, y), "");
      for (int64_t i = 0; i < 3; ++i) {
        double sum = 0, high = -100, low = 100, product = 1;
        for (int64_t j = 0; j < 4; ++j) {
          double value = x[i * 4 + j];
          sum += value, product *= value;
          high = std::max(high, value), low = std::min(low, value);
        }
        ASSERT_EQ(y[i], kind == 0 ? sum : kind == 2 ? high : kind == 3 ? low : product);
      }
    }
  }
}

TEST(ReduceTest, NaNSpreads) {
  Tensor x(F32, {3}), y(F32, {});
  x.set(0, 1), x.set(1, NAN), x.set(2, 2);
  for (int64_t kind : {0, 1, 2, 3, 4}) {
    ASSERT_EQ(runCall(ReduceCall{static_cast<ReduceKind>(kind), {0}}, {&x}, y), "");
    EXPECT_TRUE(std::isnan(y[0])) << kind;
  }
  // In the first, a middle and the last row, in vectors of any width and in what is left.
  constexpr int64_t rows = 5, columns = 32 + 8 + 3;
  for (DataType type : {F32, F16, BF16, F64})
    for (int64_t row : {0, 2, 4})
      for (int64_t column : {0, 31, 32, 42})
        for (int64_t kind : {2, 3}) {
          Tensor rowsOfX(type, {rows, columns}), extremes(type, {columns});
          for (int64_t i = 0; i < rows * columns; ++i)
            rowsOfX.set(i, i % columns == 7 ? (kind == 2 ? -INFINITY : INFINITY)
                                            : static_cast<double>(i / columns - 2));
          rowsOfX.set(row * columns + column, NAN);
          ASSERT_EQ(runCall(ReduceCall{static_cast<ReduceKind>(kind), {0}}, {&rowsOfX},
                            extremes),
                    "");
          for (int64_t c = 0; c < columns; ++c) {
            if (c == column)
              EXPECT_TRUE(std::isnan(extremes[c])) << row << " " << kind;
            else if (c == 7)
              EXPECT_EQ(extremes[c], kind == 2 ? -INFINITY : INFINITY);
            else
              EXPECT_EQ(extremes[c], kind == 2 ? 2 : -2) << c;
          }
        }
}

TEST(ReduceTest, Misfits) {
  Tensor x(F32, {3, 4}), y(F32, {3}), whole(I32, {3});
  std::string misfit = "the operands of a reduction do not fit together";
  auto sum = [](std::vector<int64_t> axes) { return ReduceCall{ReduceKind::Sum, axes}; };
  EXPECT_EQ(runCall(sum({0}), {&x}, y), misfit);
  EXPECT_EQ(runCall(sum({}), {&x}, y), misfit);
  EXPECT_EQ(runCall(sum({2}), {&x}, y), "a reduced axis does not exist");
  EXPECT_EQ(runCall(sum({-1}), {&x}, y), "a reduced axis does not exist");
  EXPECT_EQ(runCall(sum({1}), {&x}, whole), "a reduction mixes floats and integers");
}

TEST(ReduceTest, IntegersInRuns) {
  // Results side by side, more than are taken together, and runs longer than that.
  for (DataType type : {I64, I32})
    for (const std::vector<int64_t> &axes :
         {std::vector<int64_t>{0}, {1}, {2}, {1, 2}, {0, 2}, {0, 1, 2}}) {
      const int64_t dims[] = {3, 5, 301};
      Tensor x(type, {3, 5, 301});
      for (int64_t i = 0; i < 3 * 5 * 301; ++i)
        x.set(i, (i * 37) % 1009 - 500);
      std::vector<int64_t> shape, strides;
      for (int64_t d = 0, stride; d < 3; ++d) {
        const bool isReduced = std::find(axes.begin(), axes.end(), d) != axes.end();
        stride = 1;
        for (int64_t e = d + 1; e < 3; ++e)
          if (std::find(axes.begin(), axes.end(), e) == axes.end())
            stride *= dims[e];
        strides.push_back(isReduced ? 0 : stride);
        if (!isReduced)
          shape.push_back(dims[d]);
      }
      Tensor y(type, shape);
      for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min}) {
        ASSERT_EQ(runCall(ReduceCall{kind, axes}, {&x}, y), "");
        std::map<int64_t, double> expected;
        for (int64_t i = 0; i < 3 * 5 * 301; ++i) {
          const int64_t at = i / (5 * 301) * strides[0] + i / 301 % 5 * strides[1] +
                             i % 301 * strides[2];
          auto [found, isFirst] = expected.try_emplace(at, x[i]);
          if (isFirst)
            continue;
          double &value = found->second;
          value = kind == ReduceKind::Sum   ? value + x[i]
                  : kind == ReduceKind::Max ? std::max(value, x[i])
                                            : std::min(value, x[i]);
        }
        for (auto [at, value] : expected)
          ASSERT_EQ(y[at], value) << at;
      }
    }
}

TEST(ArgmaxTest, LongRows) {
  // The largest, or the first NaN, in any of several blocks, the last not full.
  for (DataType type : {F32, F64, BF16})
    for (int64_t place : {0, 1, 127, 128, 200, 299})
      for (bool isNaN : {false, true}) {
        Tensor x(type, {2, 300}), y(I64, {2});
        for (int64_t i = 0; i < 600; ++i)
          x.set(i, i % 7);
        x.set(300 + place, isNaN ? NAN : 9);
        x.set(299 + 300, place == 299 ? x[599] : 9);
        ASSERT_EQ(runCall(ArgmaxCall(), {&x}, y), "");
        ASSERT_EQ(y[0], 6);
        ASSERT_EQ(y[1], place);
      }
}

TEST(ArgmaxTest, FirstOfEqualsAndNaN) {
  for (DataType type : {F32, F16, F64})
    for (DataType index : {I32, I64}) {
      Tensor x(type, {3, 4}), y(index, {3});
      double values[] = {1, 3, 2, 3, -1, NAN, 5, NAN, -2, -2, -2, -2};
      for (int64_t i = 0; i < 12; ++i)
        x.set(i, values[i]);
      ASSERT_EQ(runCall(ArgmaxCall(), {&x}, y), "");
      EXPECT_EQ(y[0], 1);
      EXPECT_EQ(y[1], 1);
      EXPECT_EQ(y[2], 0);
    }
  Tensor x(F32, {3, 4}), few(I32, {2}), floats(F32, {3}), none(F32, {3, 0}), y(I32, {3});
  std::string misfit = "the operands of an argmax do not fit together";
  EXPECT_EQ(runCall(ArgmaxCall(), {&x}, few), misfit);
  EXPECT_EQ(runCall(ArgmaxCall(), {&x}, floats), misfit);
  EXPECT_EQ(runCall(ArgmaxCall(), {&none}, y), misfit);
}

TEST(CheckIndicesTest, Ranges) {
  for (DataType type : {I32, I64}) {
    Tensor x = indices(type, {2, 2}, std::vector<int>{0, 9, -100, 3}), y(type, {2, 2});
    ASSERT_EQ(runCall(CheckIndicesCall{10, -100}, {&x}, y), "");
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(y[i], x[i]);
    EXPECT_EQ(runCall(CheckIndicesCall{10, std::nullopt}, {&x}, y),
              "index -100 at position 2 is outside [0, 10)");
    EXPECT_EQ(runCall(CheckIndicesCall{9, -100}, {&x}, y),
              "index 9 at position 1 is outside [0, 9)");
  }
  Tensor x(I32, {4}), few(I32, {3}), wide(I64, {4}), floats(F32, {4});
  std::string misfit = "the operands of a check_indices do not fit together";
  EXPECT_EQ(runCall(CheckIndicesCall{1, std::nullopt}, {&x}, few), misfit);
  EXPECT_EQ(runCall(CheckIndicesCall{1, std::nullopt}, {&x}, wide), misfit);
  EXPECT_EQ(runCall(CheckIndicesCall{1, std::nullopt}, {&floats}, floats), misfit);
}

TEST(RandomBitsTest, IsPhiloxByLogicalIndex) {
  Tensor seed(I64, {}), attempt(I64, {}), bits(DataType::I16, {3, 13001});
  seed.set(0, 77), attempt.set(0, 5);
  ASSERT_EQ(runCall(RandomBitsCall{9}, {&seed, &attempt}, bits), "");
  double sum = 0;
  for (int64_t i = 0; i < bits.count(); ++i) {
    uint32_t word = mpt::philoxBlock(77, 9, 5, i / 8)[i % 8 / 2];
    auto half = static_cast<uint16_t>(i % 2 ? word >> 16 : word);
    ASSERT_EQ(static_cast<uint16_t>(static_cast<int64_t>(bits[i])), half) << i;
    sum += half;
  }
  // Four standard deviations of the mean of uniform numbers.
  double n = bits.count();
  EXPECT_NEAR(sum / n, 65535 / 2.0, 4 * 65536 / std::sqrt(12 * n));
  std::string wrong = "random bits need an i64 seed, an i64 attempt and an i16 result";
  EXPECT_EQ(runCall(RandomBitsCall{9}, {&seed, &bits}, bits), wrong);
  EXPECT_EQ(runCall(RandomBitsCall{9}, {&seed, &attempt}, seed), wrong);
}

TEST(RandomMaskTest, IsPhiloxByLogicalIndex) {
  Tensor seed(I64, {}), attempt(I64, {}), mask(DataType::I1, {3, 3001});
  seed.set(0, 77), attempt.set(0, 5);
  ASSERT_EQ(runCall(RandomMaskCall{9, 0.25}, {&seed, &attempt}, mask), "");
  int64_t kept = 0;
  for (int64_t i = 0; i < mask.count(); ++i) {
    uint32_t word = mpt::philoxBlock(77, 9, 5, i / 4)[i % 4];
    ASSERT_EQ(mask[i], word >= 0x40000000u);
    kept += mask[i] != 0;
  }
  // Four standard deviations of a binomial.
  double n = mask.count();
  EXPECT_NEAR(kept, 0.75 * n, 4 * std::sqrt(n * 0.25 * 0.75));
  std::string wrong = "a random mask needs an i64 seed, an i64 attempt, a mask of bytes "
                      "and a rate in [0, 1)";
  EXPECT_EQ(runCall(RandomMaskCall{9, 1.0}, {&seed, &attempt}, mask), wrong);
  EXPECT_EQ(runCall(RandomMaskCall{9, NAN}, {&seed, &attempt}, mask), wrong);
  EXPECT_EQ(runCall(RandomMaskCall{9, 0.5}, {&seed, &attempt}, seed), wrong);
}

} // namespace
