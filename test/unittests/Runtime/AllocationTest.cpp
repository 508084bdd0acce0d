//===- AllocationTest.cpp - Steps take no tensor memory ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts what mpt_rt_run asks malloc for, in all libraries of the process.
/// oneDNN keeps its books on the heap while a primitive runs: 1 KiB is allowed
/// for each execution, and all of it must be given back. Its product for CPUs
/// without AVX-512 takes a panel of 16 KiB, whatever the shape, unless the left side
/// is transposed, and that for CPUs with AVX-512 takes panels wherever the rows of a
/// matrix lie apart: no call may run either.
///
//===----------------------------------------------------------------------===//

#include "../Support/ResidentMemory.h"
#include "ProgramBuilder.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

namespace {
std::atomic<bool> counting{false};
std::atomic<int64_t> allocatedBytes{0}, allocations{0}, frees{0};

void countAllocation(const volatile void *address, size_t bytes) {
  if (counting && address) {
    allocatedBytes += bytes;
    ++allocations;
  }
}
void countFree(const volatile void *address) {
  if (counting && address)
    ++frees;
}
} // namespace

#ifdef HAS_ASAN
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *,
                                                                  size_t),
                                                         void (*)(const volatile void *));
static int installed =
    __sanitizer_install_malloc_and_free_hooks(countAllocation, countFree);
#else
// In place of glibc's, also for the shared libraries.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t bytes) {
  void *address = __libc_malloc(bytes);
  countAllocation(address, bytes);
  return address;
}
void *calloc(size_t count, size_t bytes) {
  void *address = __libc_calloc(count, bytes);
  countAllocation(address, count * bytes);
  return address;
}
void *realloc(void *old, size_t bytes) {
  countFree(old);
  void *address = __libc_realloc(old, bytes);
  countAllocation(address, bytes);
  return address;
}
void *memalign(size_t alignment, size_t bytes) {
  void *address = __libc_memalign(alignment, bytes);
  countAllocation(address, bytes);
  return address;
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result ? 0 : 12; // ENOMEM
}
void free(void *address) {
  countFree(address);
  __libc_free(address);
}
}
#endif

using namespace mpt::rt;

namespace {

constexpr DataType F32 = DataType::F32, F16 = DataType::F16, BF16 = DataType::BF16;

void kernel(void **buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<float *>(buffers[0])[i] + 1;
}

constexpr int64_t books = 1024;

/// Runs the program of `b` and expects at most `executions` times 1 KiB, all
/// returned.
void expectNoTensorMemory(const ProgramBuilder &b, int64_t executions) {
  Descriptor desc(writeProgram(b.program), {kernel});
  for (int threads : {1, 2, 3}) {
    Context c(threads);
    ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
    std::vector<std::vector<char>> data;
    for (const NamedTensor &tensor : b.program.tensors)
      if (tensor.role == "input") {
        data.emplace_back(tensor.buffer.bytes());
        ASSERT_EQ(mpt_rt_bind(c.rt, tensor.name.c_str(), data.back().data(),
                              data.back().size()),
                  0);
      }
    // The first run starts threads.
    ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
    allocatedBytes = 0, allocations = 0, frees = 0;
    counting = true;
    int status = mpt_rt_run(c.rt);
    counting = false;
    ASSERT_EQ(status, MPT_RT_OK) << c.error();
    EXPECT_LE(allocatedBytes, books * executions) << threads << " threads";
    EXPECT_EQ(allocations, frees) << threads << " threads";
  }
}

/// Primitives that a matmul runs. On CPUs that multiply bf16 each right side is repacked
/// by one more.
int64_t executionsOf(const std::vector<int64_t> &lhs, const std::vector<int64_t> &rhs,
                     DataType type, DataType out, bool transposeLhs = false) {
  MatmulShape shape;
  size_t rank = lhs.size();
  shape.batch = rank == 3 ? lhs[0] : 1;
  shape.m = lhs[rank - (transposeLhs ? 1 : 2)];
  shape.k = lhs[rank - (transposeLhs ? 2 : 1)];
  shape.n = rhs.back();
  shape.sharedRhs = rhs.size() == 2;
  shape.transposeLhs = transposeLhs;
  shape.lhs = shape.rhs = type;
  shape.out = out;
  int64_t repackings = type != BF16 ? 0 : shape.sharedRhs ? 1 : shape.batch;
  return planMatmul(shape).chunks * shape.batch + repackings;
}

/// What the counter is for.
TEST(AllocationTest, CountsAllocations) {
  counting = true;
  allocatedBytes = 0, allocations = 0, frees = 0;
  auto *volatile pointer = new std::vector<char>(5000);
  void *volatile aligned = std::aligned_alloc(64, 640);
  delete pointer;
  std::free(aligned);
  counting = false;
  EXPECT_GE(allocatedBytes, 5640);
  EXPECT_GE(allocations, 3);
  EXPECT_EQ(allocations, frees);
}

TEST(AllocationTest, Matmul) {
  for (DataType type : {F32, F16, BF16}) {
    ProgramBuilder rows;
    rows.call(matmul(false, false, true, Epilogue::Relu),
              {rows.input("x", type, {3, 700, 60}), rows.input("w", type, {60, 50}),
               rows.input("b", type, {50})},
              rows.output("y", type, {3, 700, 50}));
    int64_t executions = executionsOf({3, 700, 60}, {60, 50}, type, type);
    ASSERT_GT(executions, 3);
    expectNoTensorMemory(rows, executions);
    ProgramBuilder sums;
    sums.call(matmul(true),
              {sums.input("x", type, {9001, 20}), sums.input("dy", type, {9001, 10})},
              sums.output("dw", F32, {20, 10}));
    executions = executionsOf({9001, 20}, {9001, 10}, type, F32, true);
    ASSERT_GT(executions, 3);
    expectNoTensorMemory(sums, executions);
    // Fewer rows than a right side in blocks is worth, and one; a long sum whose left
    // side is not transposed; one column; matrix by matrix.
    for (int64_t count : {1, 7, 20}) {
      ProgramBuilder few;
      few.call(matmul(),
               {few.input("x", type, {count, 90}), few.input("w", type, {90, 70})},
               few.output("y", type, {count, 70}));
      expectNoTensorMemory(few, executionsOf({count, 90}, {90, 70}, type, type));
    }
    ProgramBuilder wide;
    wide.call(matmul(),
              {wide.input("x", type, {16, 9001}), wide.input("w", type, {9001, 10})},
              wide.output("y", type, {16, 10}));
    expectNoTensorMemory(wide, executionsOf({16, 9001}, {9001, 10}, type, type));
    // Chunks that are columns of what is stored, on the left and on the right.
    ProgramBuilder columns;
    columns.call(
        matmul(true),
        {columns.input("x", type, {300, 900}), columns.input("w", type, {300, 70})},
        columns.output("y", type, {900, 70}));
    executions = executionsOf({300, 900}, {300, 70}, type, type, true);
    ASSERT_GT(executions, 1);
    expectNoTensorMemory(columns, executions);
    ProgramBuilder both;
    both.call(matmul(false, true),
              {both.input("x", type, {16, 9001}), both.input("w", type, {10, 9001})},
              both.output("y", type, {16, 10}));
    executions = executionsOf({16, 9001}, {9001, 10}, type, type);
    ASSERT_GT(executions, 1);
    expectNoTensorMemory(both, executions);
    ProgramBuilder column;
    column.call(matmul(),
                {column.input("x", type, {900, 60}), column.input("w", type, {60, 1})},
                column.output("y", type, {900, 1}));
    expectNoTensorMemory(column, executionsOf({900, 60}, {60, 1}, type, type));
    for (bool transposeLhs : {false, true})
      for (bool transposeRhs : {false, true}) {
        ProgramBuilder batch;
        batch.call(
            matmul(transposeLhs, transposeRhs),
            {batch.input("q", type, {6, 32, 32}), batch.input("k", type, {6, 32, 32})},
            batch.output("s", type, {6, 32, 32}));
        expectNoTensorMemory(
            batch, executionsOf({6, 32, 32}, {6, 32, 32}, type, type, transposeLhs));
      }
  }
}

TEST(AllocationTest, Convolutions) {
  for (DataType type : {F32, BF16})
    for (CallId id :
         {CallId::Conv2D, CallId::Conv2DInputGrad, CallId::Conv2DFilterGrad}) {
      ProgramBuilder b;
      std::vector<int64_t> image = {20, 9, 9, 16}, filter = {3, 3, 16, 16};
      bool isFilterGrad = id == CallId::Conv2DFilterGrad;
      b.call(
          convolution(id, {1, 1}, {1, 1, 1, 1}),
          {b.input("a", type, image), b.input("b", type, isFilterGrad ? image : filter)},
          b.output("y", type, isFilterGrad ? filter : image));
      // At most 16 tasks, and a repacking.
      expectNoTensorMemory(b, 17);
    }
}

TEST(AllocationTest, PlainCalls) {
  auto one = [](const LibraryCall &call, auto &&inputs, DataType type,
                std::vector<int64_t> dims) {
    ProgramBuilder b;
    std::vector<BufferRef> refs = inputs(b);
    b.call(call, refs, b.output("y", type, dims));
    expectNoTensorMemory(b, 1);
  };
  const std::array<int64_t, 2> two = {2, 2};
  std::vector<int64_t> image = {8, 16, 16, 32}, pooled = {8, 8, 8, 32};
  for (DataType type : {F32, F16}) {
    auto input = [&](const char *name, std::vector<int64_t> dims) {
      return [=](ProgramBuilder &b) { return b.input(name, type, dims); };
    };
    auto whole = input("a", image), part = input("b", pooled);
    one(
        MaxPoolCall{two, two}, [&](auto &b) { return std::vector{whole(b)}; }, type,
        pooled);
    one(
        AvgPoolCall{two, two}, [&](auto &b) { return std::vector{whole(b)}; }, type,
        pooled);
    one(
        MaxPoolGradCall{two, two},
        [&](auto &b) { return std::vector{part(b), whole(b)}; }, type, image);
    one(
        AvgPoolGradCall{two, two}, [&](auto &b) { return std::vector{part(b)}; }, type,
        image);
    auto indices = [](ProgramBuilder &b) { return b.input("i", DataType::I32, {900}); };
    auto table = input("t", {100, 40}), rows = input("r", {900, 40});
    one(GatherCall(), [&](auto &b) { return std::vector{table(b), indices(b)}; }, type,
        {900, 40});
    one(ScatterAddCall(), [&](auto &b) { return std::vector{indices(b), rows(b)}; }, type,
        {100, 40});
    one(CopyCall{{40, 100}, 0, {1, 40}, 0, {100, 1}},
        [&](auto &b) { return std::vector{table(b)}; }, type, {40, 100});
    one(ReduceCall{ReduceKind::Sum, {0}}, [&](auto &b) { return std::vector{table(b)}; },
        type, {40});
    one(ArgmaxCall(), [&](auto &b) { return std::vector{table(b)}; }, DataType::I32,
        {100});
    one(FillCall{2}, [](auto &) { return std::vector<BufferRef>(); }, type, {900});
  }
  one(CheckIndicesCall{1, std::nullopt},
      [](auto &b) { return std::vector{b.input("i", DataType::I32, {900})}; },
      DataType::I32, {900});
  one(RandomMaskCall{1, 0.5},
      [](auto &b) {
        return std::vector{b.input("s", DataType::I64, {}),
                           b.input("n", DataType::I64, {})};
      },
      DataType::I1, {9000});
  one(RandomBitsCall{1},
      [](auto &b) {
        return std::vector{b.input("s", DataType::I64, {}),
                           b.input("n", DataType::I64, {})};
      },
      DataType::I16, {9000});
}

TEST(AllocationTest, Attention) {
  for (DataType type : {F32, F16})
    for (bool isGrad : {false, true}) {
      ProgramBuilder b;
      auto input = [&](const char *name) { return b.input(name, type, {2, 4, 80, 32}); };
      Instruction call;
      AttentionCall forward;
      AttentionGradCall gradient;
      forward.scale = gradient.scale = 0.5;
      call.call = isGrad ? LibraryCall(gradient) : LibraryCall(forward);
      call.refs = {input("q"), input("k"), input("v")};
      BufferRef rows = b.input("rows", F32, {2, 4, 80});
      if (isGrad)
        call.refs.insert(call.refs.end(), {input("dy"), input("y"), rows});
      call.numInputs = call.refs.size();
      call.refs.push_back(b.output("a", type, {2, 4, 80, 32}));
      if (isGrad) {
        call.refs.push_back(b.output("b", type, {2, 4, 80, 32}));
        call.refs.push_back(b.output("c", type, {2, 4, 80, 32}));
      } else {
        call.refs.push_back(b.output("l", F32, {2, 4, 80}));
      }
      call.numOutputs = call.refs.size() - call.numInputs;
      call.hasScratch = true;
      call.refs.push_back(
          b.arena(DataType::I8, {getCallWorkspace(call, b.program.maxThreads)}));
      b.program.instructions.push_back(call);
      expectNoTensorMemory(b, 0);
    }
}

/// Of one rank: what transports take is theirs.
TEST(AllocationTest, Reductions) {
  for (DataType type : {F32, BF16}) {
    ProgramBuilder b;
    AllReduceCall all;
    ReduceScatterCall scatter;
    all.ranks = scatter.ranks = 1;
    all.numXs = all.numSums = 2;
    b.call(all, {b.input("x", type, {90000}), b.input("y", type, {300000})},
           {b.output("a", F32, {90000}), b.output("b", F32, {300000})});
    b.call(scatter, {b.input("z", type, {300000})}, b.output("c", type, {300000}));
    expectNoTensorMemory(b, 0);
  }
}

/// Memory of the step takes none of the machine's before something is written there, and
/// begins as zeros.
TEST(AllocationTest, LargeMemoryIsUntouched) {
  constexpr int64_t bytes = int64_t(256) << 20;
  ProgramBuilder b;
  BufferRef used = b.arena(F32, {bytes / 4});
  used.dims = {5000};
  b.state("w", F32, {bytes / 4});
  BufferRef x = b.input("x", F32, {5000});
  b.launch(5000, {x}, used);
  b.launch(2, {used}, b.output("y", F32, {5000}));
  Descriptor desc(writeProgram(b.program), {kernel});
  Context c(1);
  const int64_t before = mpt::getResidentBytes();
  ASSERT_GT(before, 0);
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  std::vector<float> values(5000, 2), w(bytes / 4, 7);
  const int64_t read = mpt::getResidentBytes();
  ASSERT_EQ(mpt_rt_bind(c.rt, "x", values.data(), values.size() * 4), 0);
  ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
  // `w`, the test's own, is written.
  EXPECT_LT(mpt::getResidentBytes() - before, bytes + bytes / 4);
  EXPECT_GT(read - before, bytes / 2);
  ASSERT_EQ(mpt_rt_read(c.rt, "w", w.data(), bytes), MPT_RT_OK) << c.error();
  EXPECT_EQ(std::count(w.begin(), w.end(), 0.f), bytes / 4);
}

TEST(AllocationTest, Launches) {
  ProgramBuilder b;
  BufferRef x = b.input("x", F32, {5000}), h = b.arena(F32, {5000});
  b.launch(5000, {x}, h);
  b.launch(2, {h}, b.output("y", F32, {5000}));
  expectNoTensorMemory(b, 0);
}

} // namespace
