//===- LaunchGroupsTest.cpp - Which launches can be one ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Codegen/CUDA/LaunchGroups.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

class LaunchGroups : public ::testing::Test {
protected:
  LaunchGroups() { context.loadDialect<program::ProgramDialect>(); }

  /// Whether writes to two buffers of f32 of the arena, each given as "OFFSET : TYPE",
  /// may not change places.
  bool conflicts(const std::string &first, const std::string &second) {
    std::string text =
        R"(mpt_program.program @step attributes {target = #mpt.target<cuda, [sm_90]>,
        max_threads = 1 : i64, arena_bytes = 65536 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
    )";
    for (auto [name, buffer] : {std::pair("%a", first), std::pair("%b", second)}) {
      const std::string type = buffer.substr(buffer.find(':') + 1);
      text += std::string(name) + " = mpt_program.buffer <arena> " + buffer + "\n" +
              "mpt_program.launch @kernel ins() outs(" + name + " :" + type +
              ") tasks 1\n";
    }
    // There is no kernel.
    auto module = parseSourceString<ModuleOp>(
        text + "}", ParserConfig(&context, /*verifyAfterParse=*/false));
    if (!module) {
      ADD_FAILURE() << text;
      return false;
    }
    llvm::SmallVector<llvm::SmallVector<mpt::detail::ByteRange>> ranges;
    module->walk(
        [&](program::LaunchOp op) { ranges.push_back(mpt::detail::rangesOf(op)); });
    EXPECT_EQ(ranges.size(), 2u);
    const bool found = mpt::detail::conflict(ranges[0], ranges[1]);
    EXPECT_EQ(mpt::detail::conflict(ranges[1], ranges[0]), found);
    return found;
  }

  MLIRContext context;
};

/// Columns of one matrix of 16 x 64 that lie between each other in memory.
TEST_F(LaunchGroups, OtherColumnsDoNotConflict) {
  const std::string first = "1024 : memref<16x8xf32, strided<[64, 1]>>";
  EXPECT_FALSE(conflicts(first, "1056 : memref<16x8xf32, strided<[64, 1]>>"));
  EXPECT_FALSE(conflicts(first, "1248 : memref<16x8xf32, strided<[64, 1]>>"));
  // Of other rows, and of another width.
  EXPECT_FALSE(conflicts(first, "1312 : memref<4x8xf32, strided<[64, 1]>>"));
  EXPECT_FALSE(conflicts(first, "1056 : memref<16x56xf32, strided<[64, 1]>>"));
  // Half as many elements of twice the size have the same pitch.
  EXPECT_FALSE(conflicts(first, "1056 : memref<16x4xf64, strided<[32, 1]>>"));
}

TEST_F(LaunchGroups, ColumnsThatOverlapConflict) {
  const std::string first = "1024 : memref<16x8xf32, strided<[64, 1]>>";
  EXPECT_TRUE(conflicts(first, first));
  EXPECT_TRUE(conflicts(first, "1052 : memref<16x8xf32, strided<[64, 1]>>"));
  EXPECT_TRUE(conflicts(first, "1308 : memref<4x8xf32, strided<[64, 1]>>"));
  EXPECT_TRUE(conflicts(first, "1024 : memref<16x64xf32>"));
}

TEST_F(LaunchGroups, ColumnsThatWrapConflict) {
  // Columns 60 to 67 of rows of 64 are the first four of the next row, too.
  const std::string wraps = "1264 : memref<8x8xf32, strided<[64, 1]>>";
  EXPECT_TRUE(conflicts("1024 : memref<16x8xf32, strided<[64, 1]>>", wraps));
  EXPECT_TRUE(conflicts("1152 : memref<16x8xf32, strided<[64, 1]>>", wraps));
}

TEST_F(LaunchGroups, OtherPitchesAndRanksConflict) {
  const std::string first = "1024 : memref<16x8xf32, strided<[64, 1]>>";
  EXPECT_TRUE(conflicts(first, "1056 : memref<16x8xf32, strided<[72, 1]>>"));
  EXPECT_TRUE(conflicts(first, "1056 : memref<4x4x8xf32, strided<[256, 64, 1]>>"));
  EXPECT_TRUE(conflicts(first, "1056 : memref<16x4xf32, strided<[64, 2]>>"));
  EXPECT_TRUE(conflicts(first, "1056 : memref<8xf32, strided<[64]>>"));
  EXPECT_TRUE(conflicts(first, "1056 : memref<512xf32>"));
  // Bytes apart never do.
  EXPECT_FALSE(conflicts(first, "8192 : memref<4x4x8xf32, strided<[256, 64, 1]>>"));
}

} // namespace
