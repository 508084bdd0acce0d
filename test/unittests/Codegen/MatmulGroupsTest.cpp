//===- MatmulGroupsTest.cpp - Which matmuls become one ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/MatmulGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

/// One byte a second and no gaps; and gaps alone.
constexpr JoinRates kBytes = {1.0, 0.0}, kNodes = {1e30, 1.0};

class MatmulGroups : public ::testing::Test {
protected:
  MatmulGroups() { context.loadDialect<func::FuncDialect, MPTDialect>(); }

  /// A function of x [1024, 256], b and c [256, 128], d [128, 256], their gradients p, q
  /// [1024, 128], and more [1024, 256], with `body`.
  Block *parse(const std::string &body) {
    module =
        parseSourceString<ModuleOp>(
            R"(module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
      func.func @f(%x: tensor<1024x256xbf16>, %b: tensor<256x128xbf16>, %c: tensor<256x128xbf16>,
                   %d: tensor<128x256xbf16>, %p0: tensor<1024x128xbf16>, %q0: tensor<1024x128xbf16>,
                   %more: tensor<1024x256xbf16>, %wide: tensor<256x128xf32>) {
        %p = mpt.exp %p0 : (tensor<1024x128xbf16>) -> tensor<1024x128xbf16>
        %q = mpt.exp %q0 : (tensor<1024x128xbf16>) -> tensor<1024x128xbf16>
    )" + body + "return } }",
            &context);
    return module ? &(*module->getOps<func::FuncOp>().begin()).getBody().front()
                  : nullptr;
  }
  /// Parses `body`, and decides on its first run.
  FailureOr<MatmulGroup> decide(const std::string &body, ArrayRef<JoinRates> rates,
                                bool isShared = false) {
    Block *block = parse(body);
    if (!block)
      return failure();
    auto runs = findMatmulRuns(*block);
    if (runs.empty()) {
      ADD_FAILURE() << "no run";
      return failure();
    }
    why.clear();
    return decideOnMatmuls(runs.front(), rates, isShared, why);
  }

  static std::string forward(const std::string &result, const std::string &weight,
                             const std::string &type = "256x128xbf16") {
    return "%" + result + " = mpt.matmul %x, %" + weight +
           " : (tensor<1024x256xbf16>, tensor<" + type + ">) -> tensor<1024x128xbf16>\n";
  }
  static std::string inputGrad(const std::string &result, const std::string &dy,
                               const std::string &weight) {
    return "%" + result + " = mpt.matmul %" + dy + ", %" + weight +
           " {transpose_rhs} : (tensor<1024x128xbf16>, tensor<256x128xbf16>) -> "
           "tensor<1024x256xbf16>\n";
  }
  static std::string weightGrad(const std::string &result, const std::string &dy) {
    return "%" + result + " = mpt.matmul %x, %" + dy +
           " {transpose_lhs} : (tensor<1024x256xbf16>, tensor<1024x128xbf16>) -> "
           "tensor<256x128xf32>\n";
  }
  static std::string add(const std::string &result, const std::string &a,
                         const std::string &b) {
    return "%" + result + " = mpt.add %" + a + ", %" + b +
           " : (tensor<1024x256xbf16>, tensor<1024x256xbf16>) -> tensor<1024x256xbf16>\n";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string why;
  /// Forward, and all gradients but their sum.
  const std::string two = forward("y", "b") + forward("z", "c") +
                          inputGrad("gb", "p", "b") + weightGrad("db", "p") +
                          inputGrad("gc", "q", "c") + weightGrad("dc", "q");
};

TEST_F(MatmulGroups, RunsShareTheirLeftOperand) {
  Block *block = parse(forward("y", "b") + forward("z", "c"));
  ASSERT_TRUE(block);
  auto runs = findMatmulRuns(*block);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs.front().size(), 2u);
  // Another matmul between them; fewer than 64 columns; a left operand of its own.
  for (const std::string &body : std::initializer_list<std::string>{
           forward("y", "b") + inputGrad("g", "p", "b") + forward("z", "c"),
           "%u = mpt.slice %b {offsets = array<i64: 0, 0>, sizes = array<i64: 256, 32>, "
           "strides = "
           "array<i64: 1, 1>} : (tensor<256x128xbf16>) -> tensor<256x32xbf16>\n"
           "%y = mpt.matmul %x, %u : (tensor<1024x256xbf16>, tensor<256x32xbf16>) -> "
           "tensor<1024x32xbf16>\n"
           "%z = mpt.matmul %x, %u : (tensor<1024x256xbf16>, tensor<256x32xbf16>) -> "
           "tensor<1024x32xbf16>\n",
           forward("y", "b") + "%z = mpt.matmul %more, %c : (tensor<1024x256xbf16>, "
                               "tensor<256x128xbf16>) -> tensor<1024x128xbf16>\n"}) {
    block = parse(body);
    ASSERT_TRUE(block);
    EXPECT_TRUE(findMatmulRuns(*block).empty()) << body;
  }
}

TEST_F(MatmulGroups, FindsGradientsAndTheirSum) {
  auto group = decide(two + add("s", "more", "gb") + add("t", "s", "gc"), {});
  ASSERT_TRUE(succeeded(group)) << why;
  EXPECT_FALSE(group->transposed);
  ASSERT_EQ(group->members.size(), 2u);
  for (GroupedMatmul &member : group->members) {
    ASSERT_TRUE(member.inputGrad && member.weightGrad);
    EXPECT_FALSE(member.biasGrad);
    EXPECT_EQ(member.inputGrad.getRhs(), member.weight);
    EXPECT_EQ(member.inputGrad.getLhs(), member.dy);
    EXPECT_EQ(member.weightGrad.getRhs(), member.dy);
  }
  auto sum = group->inputGrad.getDefiningOp<AddOp>();
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum.getRhs(), group->members[1].inputGrad.getResult());
  ASSERT_EQ(group->others.size(), 1u);
  EXPECT_TRUE(isa<BlockArgument>(group->others.front()));
  // Both dys are there before the matmuls, and the joined matmul is where the first one
  // was.
  EXPECT_EQ(group->firstAfterDys, group->members[1].op);
  EXPECT_TRUE(group->afterGradients.empty());
}

TEST_F(MatmulGroups, CountsBytes) {
  const std::string body = two + add("t", "gb", "gc");
  auto group = decide(body, kBytes);
  ASSERT_TRUE(succeeded(group)) << why;
  // One gradient of the input is not written and read again; both weights are copied.
  EXPECT_EQ(group->saved, 2.0 * 1024 * 256 * 2);
  EXPECT_EQ(group->spent, 2 * 2.0 * 256 * 128 * 2);
  // All chips must gain: three matmuls fewer, and a launch for each copy of a weight and
  // for each update of a part.
  EXPECT_TRUE(failed(decide(body, {kBytes, kNodes})));
  EXPECT_EQ(why, "one matmul would save 3000000.0 us and cost 4000000.0 us");
}

TEST_F(MatmulGroups, CastsAreWrittenInPlace) {
  // Without gradients, of weights that are casts and rows of the joined one.
  auto group = decide("%e = mpt.transpose %wide {permutation = array<i64: 1, 0>} : "
                      "(tensor<256x128xf32>) -> tensor<128x256xf32>\n"
                      "%f = mpt.cast %e : (tensor<128x256xf32>) -> tensor<128x256xbf16>\n"
                      "%g = mpt.cast %e : (tensor<128x256xf32>) -> tensor<128x256xbf16>\n"
                      "%y = mpt.matmul %x, %f {transpose_rhs} : (tensor<1024x256xbf16>, "
                      "tensor<128x256xbf16>) -> tensor<1024x128xbf16>\n"
                      "%z = mpt.matmul %x, %g {transpose_rhs} : (tensor<1024x256xbf16>, "
                      "tensor<128x256xbf16>) -> tensor<1024x128xbf16>\n",
                      kNodes);
  ASSERT_TRUE(succeeded(group)) << why;
  EXPECT_TRUE(group->transposed);
  EXPECT_FALSE(group->inputGrad);
  EXPECT_EQ(group->saved, 1);
  EXPECT_EQ(group->spent, 0);
}

TEST_F(MatmulGroups, SaysWhyNot) {
  const std::pair<std::string, std::string> cases[] = {
      {forward("y", "b") + forward("z", "b"), "two of them have one weight"},
      {two, "the gradients of their input are not added up"},
      {two + add("s", "gb", "more") + add("t", "gc", "more"),
       "the gradients of their input are not added up"},
      {forward("y", "b") + forward("z", "c") + inputGrad("gb", "p", "b"),
       "only some of them have a gradient of their input"},
      {forward("y", "b") + forward("z", "c") + inputGrad("gb", "p", "b") +
           weightGrad("db", "p") + inputGrad("gc", "q", "c") + add("t", "gb", "gc"),
       "only some of their weights are trained"},
      {two + weightGrad("more_db", "p") + add("t", "gb", "gc"),
       "a weight has two gradients"},
      {two + inputGrad("again", "p", "b") + add("t", "gb", "gc"),
       "a weight is read by other matmuls, too"},
      {forward("y", "b") + forward("z", "c") + inputGrad("gb", "p", "b") +
           inputGrad("gc", "p", "c") + add("t", "gb", "gc"),
       "two of them have one gradient"},
  };
  for (const auto &[body, expected] : cases) {
    EXPECT_TRUE(failed(decide(body, kBytes))) << body;
    EXPECT_EQ(why, expected) << body;
  }
}

/// Of steps with micro-batches and exchanges.
TEST_F(MatmulGroups, MicroBatchesShareWeights) {
  // A second micro-batch reads the weights, too: its x is `more`.
  auto other = [](std::string text) {
    for (size_t at; (at = text.find("%x,")) != std::string::npos;)
      text.replace(at, 2, "%more");
    return text;
  };
  const std::string body =
      two + add("t", "gb", "gc") +
      "%r = mpt.exp %q0 : (tensor<1024x128xbf16>) -> tensor<1024x128xbf16>\n"
      "%s = mpt.exp %p0 : (tensor<1024x128xbf16>) -> tensor<1024x128xbf16>\n" +
      other(forward("y2", "b") + forward("z2", "c") + inputGrad("gb2", "r", "b") +
            weightGrad("db2", "r") + inputGrad("gc2", "s", "c") +
            weightGrad("dc2", "s")) +
      add("t2", "gb2", "gc2");
  EXPECT_TRUE(failed(decide(body, kBytes)));
  auto group = decide(body, kBytes, /*isShared=*/true);
  ASSERT_TRUE(succeeded(group)) << why;
  EXPECT_TRUE(group->joinsWeightGrads);
  for (GroupedMatmul &member : group->members) {
    EXPECT_EQ(member.weightGrad.getRhs(), member.dy);
  }
  auto runs = findMatmulRuns(*group->members.front().op->getBlock());
  auto second = llvm::find_if(runs, [&](auto &run) {
    return isa<BlockArgument>(run.front()->getOperand(0)) &&
           run.front()->getOperand(0) != group->x && run.front() != group->members[0].op;
  });
  ASSERT_NE(second, runs.end());
  auto next = decideOnMatmuls(*second, kBytes, /*isShared=*/true, why);
  ASSERT_TRUE(succeeded(next)) << why;
  EXPECT_EQ(next->members[0].dy.getDefiningOp()->getOperand(0),
            group->members[1].dy.getDefiningOp()->getOperand(0));
  // Forward passes alone have nothing to sum.
  EXPECT_TRUE(
      failed(decide(forward("y", "b") + forward("z", "c"), {}, /*isShared=*/true)));
  EXPECT_EQ(why, "a step with micro-batches or exchanges needs no sum of gradients of "
                 "their input, or does not train their weights");
}

TEST_F(MatmulGroups, ExchangesReadGradientsEarly) {
  // dc's dy is not known yet where db is read by what cannot move.
  const std::string late =
      "%r = mpt.exp %q : (tensor<1024x128xbf16>) -> tensor<1024x128xbf16>\n";
  const std::string body = forward("y", "b") + forward("z", "c") +
                           inputGrad("gb", "p", "b") + weightGrad("db", "p") +
                           "%all = mpt.all_reduce %db {axis = \"data\"} : "
                           "(tensor<256x128xf32>) -> tensor<256x128xf32>\n" +
                           late + inputGrad("gc", "r", "c") + weightGrad("dc", "r") +
                           add("t", "gb", "gc");
  EXPECT_TRUE(failed(decide(body, kBytes)));
  EXPECT_EQ(why, "a gradient is read before all are known");
  auto group = decide(body, kBytes, /*isShared=*/true);
  ASSERT_TRUE(succeeded(group)) << why;
  EXPECT_FALSE(group->joinsWeightGrads);
  EXPECT_TRUE(group->afterGradients.empty());
}

TEST_F(MatmulGroups, WeightsThatAreGatheredAgain) {
  const std::string gathered = R"(
    %g:2 = mpt.all_gather %wide, %wide {axis = "data"} : (tensor<256x128xf32>, tensor<256x128xf32>) -> (tensor<512x128xf32>, tensor<512x128xf32>)
    %h = mpt.all_gather %wide {axis = "data"} : (tensor<256x128xf32>) -> tensor<512x128xf32>
    %s = mpt.slice %g#1 {offsets = array<i64: 0, 0>, sizes = array<i64: 256, 128>, strides = array<i64: 1, 1>} : (tensor<512x128xf32>) -> tensor<256x128xf32>
    %t = mpt.slice %h {offsets = array<i64: 0, 0>, sizes = array<i64: 256, 128>, strides = array<i64: 1, 1>} : (tensor<512x128xf32>) -> tensor<256x128xf32>
    %u = mpt.slice %h {offsets = array<i64: 1, 0>, sizes = array<i64: 256, 128>, strides = array<i64: 1, 1>} : (tensor<512x128xf32>) -> tensor<256x128xf32>
  )";
  Block *block = parse(gathered);
  ASSERT_TRUE(block);
  SmallVector<Value> slices;
  for (auto slice : block->getOps<SliceOp>())
    slices.push_back(slice.getResult());
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_TRUE(isSameWeight(slices[0], slices[1]));
  EXPECT_FALSE(isSameWeight(slices[0], slices[2]));
  EXPECT_TRUE(isSameWeight(slices[2], slices[2]));
  EXPECT_FALSE(isSameWeight(slices[0], block->getArgument(7)));
}

} // namespace
