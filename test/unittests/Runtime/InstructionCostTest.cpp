//===- InstructionCostTest.cpp - Work that an instruction does --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/InstructionCost.h"
#include "TestHelpers.h"

using namespace mpt::rt;

namespace {

BufferRef makeBuffer(DataType type, std::vector<int64_t> dims) {
  BufferRef buffer;
  buffer.type = type;
  buffer.dims = std::move(dims);
  return buffer;
}

TEST(InstructionCost, Matmul) {
  const BufferRef lhs = makeBuffer(DataType::BF16, {2, 3, 4}),
                  rhs = makeBuffer(DataType::F32, {2, 4, 5}),
                  out = makeBuffer(DataType::F32, {2, 3, 5});
  InstructionCost cost = getCost(makeInstruction(matmul(), {lhs, rhs}, out));
  EXPECT_EQ(cost.flops, 2 * 2 * 3 * 4 * 5);
  EXPECT_EQ(cost.type, DataType::BF16);
  EXPECT_EQ(cost.bytes, 24 * 2 + 40 * 4 + 30 * 4);
}

TEST(InstructionCost, ConvolutionsInAllThreeDirections) {
  // 4 groups of 2 channels into 3.
  const BufferRef x = makeBuffer(DataType::F16, {2, 5, 5, 8}),
                  filter = makeBuffer(DataType::F16, {3, 3, 2, 12}),
                  y = makeBuffer(DataType::F32, {2, 3, 3, 12});
  auto setUp = [](auto call) {
    call.strides = call.dilations = {1, 1};
    call.groups = 4;
    return call;
  };
  const double flops = 2.0 * (2 * 3 * 3 * 12) * (3 * 3 * 2);
  InstructionCost forward = getCost(makeInstruction(setUp(Conv2DCall()), {x, filter}, y));
  EXPECT_EQ(forward.flops, flops);
  EXPECT_EQ(forward.type, DataType::F16);
  EXPECT_EQ(forward.bytes, 400 * 2 + 216 * 2 + 216 * 4);
  EXPECT_EQ(getCost(makeInstruction(setUp(Conv2DInputGradCall()), {y, filter}, x)).flops,
            flops);
  InstructionCost gradient = getCost(makeInstruction(
      setUp(Conv2DFilterGradCall()), {makeBuffer(DataType::F32, x.dims), y}, filter));
  EXPECT_EQ(gradient.type, DataType::F32);
  EXPECT_EQ(gradient.flops, flops);
}

/// Counted one by one: with padding, strides, dilations, and filters larger than images.
TEST(InstructionCost, TapsInThePaddingDoNotCount) {
  for (int64_t size : {1, 2, 5})
    for (int64_t taps : {1, 3, 4})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t low : {0, 1, 3})
            for (int64_t high : {0, 2}) {
              const int64_t room = size + low + high - (taps - 1) * dilation - 1;
              if (room < 0)
                continue;
              const int64_t points = room / stride + 1;
              double pairs = 0;
              for (int64_t point = 0; point < points; ++point)
                for (int64_t tap = 0; tap < taps; ++tap) {
                  const int64_t at = point * stride - low + tap * dilation;
                  pairs += at >= 0 && at < size;
                }
              Conv2DCall call;
              call.strides = {stride, 1};
              call.dilations = {dilation, 1};
              call.padding = {low, high, 0, 0};
              const BufferRef x = makeBuffer(DataType::F32, {2, size, 7, 3}),
                              filter = makeBuffer(DataType::F32, {taps, 1, 3, 4}),
                              y = makeBuffer(DataType::F32, {2, points, 7, 4});
              EXPECT_EQ(getCost(makeInstruction(call, {x, filter}, y)).flops,
                        2.0 * 2 * 7 * 3 * 4 * pairs)
                  << size << " " << taps << " " << stride << " " << dilation << " " << low
                  << " " << high;
            }
}

TEST(InstructionCost, BytesOfWhatIsRead) {
  const BufferRef table = makeBuffer(DataType::F32, {1000, 4}),
                  indices = makeBuffer(DataType::I32, {3}),
                  rows = makeBuffer(DataType::F32, {3, 4});
  // Of the table three rows.
  EXPECT_EQ(getCost(makeInstruction(GatherCall(), {table, indices}, rows)).bytes,
            48 + 12 + 48);
  EXPECT_EQ(getCost(makeInstruction(GatherCall(), {table, indices}, rows)).flops, 0);
  // Scratch memory does not count.
  Instruction kernel = makeInstruction(std::nullopt, {rows, rows}, rows);
  kernel.hasScratch = true;
  kernel.refs.push_back(table);
  EXPECT_EQ(getCost(kernel).bytes, 3 * 48);
}

/// Partial sums are added by a kernel of its own, which has the same buffers.
TEST(InstructionCost, TheSecondStageOfAKernelReadsItsPartialSumsAlone) {
  Instruction first;
  first.kernel = 3;
  first.tasks = 4;
  first.numInputs = first.numOutputs = 1;
  first.hasScratch = true;
  for (int64_t count : {1000, 1, 16}) {
    BufferRef ref;
    ref.space = SpaceId::Arena;
    ref.type = DataType::F32;
    ref.offset = 64 * static_cast<int64_t>(first.refs.size());
    ref.dims = {count};
    first.refs.push_back(ref);
  }
  Instruction second = first, other = first;
  second.kernel = 4;
  second.tasks = 1;
  // One that only looks like it: another buffer.
  other.kernel = 5;
  other.tasks = 1;
  other.refs[0].offset = 4096;
  Program program;
  program.instructions = {first, second, other};
  EXPECT_EQ(getCost(program, 0).bytes, 4 * 1001);
  EXPECT_EQ(getCost(program, 1).bytes, 0);
  EXPECT_EQ(getCost(program, 2).bytes, 4 * 1001);
}

} // namespace
