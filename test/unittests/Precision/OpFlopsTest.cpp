//===- OpFlopsTest.cpp - Formulas of the tables against loops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/OpFlops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Precision/MacFormula.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

struct Case {
  /// A function's first line of text that matters: an op on its arguments.
  const char *op;
  /// Multiply-adds: the product of the lengths of all loops around them.
  uint64_t macs;
};

const Case cases[] = {
    // Matrices, transposed or not; batches.
    {R"("tf.MatMul"(%0, %1) {transpose_b = true} : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>)",
     3 * 5 * 7},
    {R"("tf.BatchMatMulV2"(%0, %1) : (tensor<2x4x3x5xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x3x7xf32>)",
     2 * 4 * 3 * 5 * 7},
    {R"("tf.Einsum"(%0, %1) {equation = "abc,cde->abde"} : (tensor<2x3x5xf32>, tensor<5x7x11xf32>) -> tensor<2x3x7x11xf32>)",
     2 * 3 * 5 * 7 * 11},
    {R"("tf.Einsum"(%0, %1) {equation = "...ab,bc->...ac"} : (tensor<2x4x3x5xf32>, tensor<5x7xf32>) -> tensor<2x4x3x7xf32>)",
     2 * 4 * 3 * 5 * 7},
    {R"("stablehlo.dot"(%0, %1) : (tensor<3x5xf32>, tensor<5x7xf32>) -> tensor<3x7xf32>)",
     3 * 5 * 7},
    {R"("stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1, 3], rhs_contracting_dimensions = [2, 1]>} : (tensor<2x5x3x11xf32>, tensor<2x11x5x7xf32>) -> tensor<2x3x7xf32>)",
     2 * 3 * 5 * 7 * 11},
    {R"("mhlo.dot_general"(%0, %1) {dot_dimension_numbers = #mhlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x7xf32>) -> tensor<3x7xf32>)",
     3 * 5 * 7},
    {R"("onnx.Gemm"(%0, %1) {transB = 1 : si64} : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>)",
     3 * 5 * 7},
    {R"("torch.aten.linear"(%0, %1) : (!torch.vtensor<[2,3,5],f32>, !torch.vtensor<[7,5],f32>) -> !torch.vtensor<[2,3,7],f32>)",
     2 * 3 * 5 * 7},
    {R"("torch.aten.addmm"(%0, %1, %2) : (!torch.vtensor<[7],f32>, !torch.vtensor<[3,5],f32>, !torch.vtensor<[5,7],f32>) -> !torch.vtensor<[3,7],f32>)",
     3 * 5 * 7},
    {R"(mpt.matmul %0, %1 {transpose_lhs} : (tensor<2x5x3xf32>, tensor<2x5x7xf32>) -> tensor<2x3x7xf32>)",
     2 * 3 * 5 * 7},
    {R"(linalg.matmul ins(%0, %1 : tensor<3x5xf32>, tensor<5x7xf32>) outs(%2 : tensor<3x7xf32>) -> tensor<3x7xf32>)",
     3 * 5 * 7},
    {R"(linalg.batch_matmul ins(%0, %1 : tensor<2x3x5xf32>, tensor<2x5x7xf32>) outs(%2 : tensor<2x3x7xf32>) -> tensor<2x3x7xf32>)",
     2 * 3 * 5 * 7},
    // Convolutions: batch 2, 8x8 to 8x8, 3 to 5 channels, filter 3x3.
    {R"("tf.Conv2D"(%0, %1) : (tensor<2x8x8x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x8x8x5xf32>)",
     2 * 8 * 8 * 5 * 3 * 3 * 3},
    {R"("tf.Conv2DBackpropInput"(%0, %1, %2) : (tensor<4xi32>, tensor<3x3x3x5xf32>, tensor<2x8x8x5xf32>) -> tensor<2x8x8x3xf32>)",
     2 * 8 * 8 * 5 * 3 * 3 * 3},
    {R"("tf.Conv2DBackpropFilter"(%0, %1, %2) : (tensor<2x8x8x3xf32>, tensor<4xi32>, tensor<2x8x8x5xf32>) -> tensor<3x3x3x5xf32>)",
     2 * 8 * 8 * 5 * 3 * 3 * 3},
    {R"("tf.DepthwiseConv2dNative"(%0, %1) : (tensor<2x8x8x3xf32>, tensor<3x3x3x2xf32>) -> tensor<2x8x8x6xf32>)",
     2 * 8 * 8 * 6 * 3 * 3},
    {R"("torch.aten.convolution"(%0, %1) : (!torch.vtensor<[2,4,8,8],f32>, !torch.vtensor<[6,2,3,3],f32>) -> !torch.vtensor<[2,6,8,8],f32>)",
     2 * 8 * 8 * 6 * 2 * 3 * 3},
    {R"("torch.aten.convolution_backward"(%0, %1, %2) : (!torch.vtensor<[2,6,8,8],f32>, !torch.vtensor<[2,4,8,8],f32>, !torch.vtensor<[6,4,3,3],f32>) -> !torch.vtensor<[2,4,8,8],f32>)",
     2 * (2 * 8 * 8 * 6 * 4 * 3 * 3)},
    {R"("stablehlo.convolution"(%0, %1) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, lhs_dilation = array<i64: 1, 1>} : (tensor<2x8x8x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x8x8x5xf32>)",
     2 * 8 * 8 * 5 * 3 * 3 * 3},
    // Its filter's gradient: the batch is contracted.
    {R"("stablehlo.convolution"(%0, %1) {dimension_numbers = #stablehlo.conv<[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]>, lhs_dilation = array<i64: 1, 1>} : (tensor<2x8x8x3xf32>, tensor<2x8x8x5xf32>) -> tensor<3x3x3x5xf32>)",
     2 * 8 * 8 * 5 * 3 * 3 * 3},
    // Its input's gradient where it has strides of 2 (4x4 results): three quarters
    // of what it reads are zeros that were put in.
    {R"("stablehlo.convolution"(%0, %1) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]>, lhs_dilation = array<i64: 2, 2>} : (tensor<2x4x4x5xf32>, tensor<3x3x3x5xf32>) -> tensor<2x8x8x3xf32>)",
     2 * 4 * 4 * 5 * 3 * 3 * 3},
    {R"("onnx.Conv"(%0, %1) : (tensor<2x3x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<2x5x8x8xf32>)",
     2 * 8 * 8 * 5 * 3 * 3 * 3},
    {R"("onnx.ConvTranspose"(%0, %1) : (tensor<2x5x4x4xf32>, tensor<5x3x3x3xf32>) -> tensor<2x3x8x8xf32>)",
     2 * 4 * 4 * 5 * 3 * 3 * 3},
    {R"("tosa.depthwise_conv2d"(%0, %1) : (tensor<2x8x8x3xf32>, tensor<3x3x3x2xf32>) -> tensor<2x8x8x6xf32>)",
     2 * 8 * 8 * 6 * 3 * 3},
    {R"("tosa.transpose_conv2d"(%0, %1) : (tensor<2x4x4x5xf32>, tensor<3x3x3x5xf32>) -> tensor<2x8x8x3xf32>)",
     2 * 4 * 4 * 5 * 3 * 3 * 3},
    {R"(mpt.conv2d_filter_grad %0, %1 {padding = array<i64: 1, 1, 1, 1>} : (tensor<2x8x8x3xf32>, tensor<2x8x8x5xf32>) -> tensor<3x3x3x5xf32>)",
     2 * 8 * 8 * 5 * 3 * 3 * 3},
    // The same with filters [O, C, KH, KW], and in groups.
    {R"(mpt.conv2d_filter_grad %0, %1 {padding = array<i64: 1, 1, 1, 1>, oihw} : (tensor<2x8x8x3xf32>, tensor<2x8x8x5xf32>) -> tensor<5x3x3x3xf32>)",
     2 * 8 * 8 * 5 * 3 * 3 * 3},
    {R"(mpt.conv2d %0, %1 {padding = array<i64: 1, 1, 1, 1>, oihw} : (tensor<2x8x8x3xf32>, tensor<5x3x3x3xf32>) -> tensor<2x8x8x5xf32>)",
     2 * 8 * 8 * 5 * 3 * 3 * 3},
    {R"(mpt.conv2d_input_grad %0, %1 {padding = array<i64: 1, 1, 1, 1>, groups = 2 : i64, oihw} : (tensor<2x8x8x6xf32>, tensor<6x2x3x3xf32>) -> tensor<2x8x8x4xf32>)",
     2 * 8 * 8 * 6 * 3 * 3 * 2},
    // Attention: scores (T x S x D) and their product with the values (T x S x E).
    {R"(mpt.attention %0, %1, %2 : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x6xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x4x3xf32>))",
     2 * 4 * 3 * 5 * (8 + 6)},
    {R"(mpt.attention_grad %0, %1, %2, %3, %4, %5 : (tensor<2x4x3x6xf32>, tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3xf32>) -> (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x6xf32>))",
     2 * 4 * 3 * 5 * (3 * 8 + 2 * 6)},
    {R"("mpt.lstm_cell"(%0, %1, %2, %3, %4) : (tensor<2x3xf32>, tensor<2x5xf32>, tensor<2x5xf32>, tensor<3x20xf32>, tensor<5x20xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x20xf32>))",
     2 * 20 * (3 + 5)},
};

/// A module with a function whose body is `op` on arguments of the types that the
/// op's text has.
OwningOpRef<ModuleOp> parse(StringRef op, MLIRContext *context) {
  auto [before, types] = op.contains(" ins(") ? op.split(" ins(") : op.rsplit(" : (");
  SmallVector<StringRef> listed;
  std::string arguments;
  unsigned next = 0;
  auto add = [&](StringRef text) {
    // At commas that are in no brackets.
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size() && (text[i] == '<' || text[i] == '['))
        ++depth;
      if (i < text.size() && (text[i] == '>' || text[i] == ']'))
        --depth;
      if (i != text.size() && (text[i] != ',' || depth != 0))
        continue;
      arguments += (next ? ", %" : "%") + std::to_string(next) + ": " +
                   text.slice(begin, i).trim().str();
      ++next;
      begin = i + 1;
    }
  };
  if (op.contains(" ins(")) {
    add(types.split(" : ").second.split(')').first);
    add(types.split("outs(").second.split(" : ").second.split(')').first);
  } else {
    add(types.split(") -> ").first);
  }
  std::string results;
  StringRef made = op.rsplit("-> ").second;
  const unsigned count = made.starts_with("(") ? 1 + made.count(">, ") : 1;
  if (count > 1)
    results = ":" + std::to_string(count);
  std::string text = "func.func @f(" + arguments + ") {\n  %r" + results + " = " +
                     op.str() + "\n  return\n}\n";
  return parseSourceString<ModuleOp>(text, context);
}

class OpFlopsTest : public ::testing::Test {
protected:
  OpFlopsTest() {
    context.loadDialect<func::FuncDialect, linalg::LinalgDialect, MPTDialect>();
    context.allowUnregisteredDialects();
  }
  std::optional<OpFlops> count(StringRef op, bool isContraction = true) {
    OwningOpRef<ModuleOp> module = parse(op, &context);
    EXPECT_TRUE(module) << op.str();
    if (!module)
      return std::nullopt;
    auto function = *module->getOps<func::FuncOp>().begin();
    Operation *found = &function.getBody().front().front();
    RuleTable rules;
    rules.addBuiltin(found->getName().getDialectNamespace());
    return countFlops(found, rules, isContraction);
  }
  MLIRContext context;
};

TEST_F(OpFlopsTest, FormulasCountTheLoops) {
  for (const Case &each : cases) {
    std::optional<OpFlops> found = count(each.op);
    ASSERT_TRUE(found) << each.op;
    EXPECT_FALSE(found->isEstimate) << each.op;
    EXPECT_EQ(found->flops, 2 * each.macs) << each.op;
  }
}

TEST_F(OpFlopsTest, EstimatesWhatNoTableKnows) {
  const char *op =
      R"("acme.product"(%0, %1) : (tensor<3x5xf32>, tensor<5x7xf32>) -> tensor<3x7xf32>)";
  std::optional<OpFlops> found = count(op);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->isEstimate);
  EXPECT_EQ(found->flops, 2u * 3 * 5 * 7);
  EXPECT_FALSE(count(op, /*isContraction=*/false));
  // A formula that reads what is not there.
  found = count(
      R"("tf.Einsum"(%0, %1) : (tensor<3x5xf32>, tensor<5x7xf32>) -> tensor<3x7xf32>)");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->isEstimate);
}

TEST(MacFormula, RefusesWhatIsNone) {
  std::string error;
  for (const char *text : {"", "r0 *", "x0", "o0[", "o0[1", "o0[a]", "o0[a:]", "r", "1 2",
                           "einsum(", "sum(a)", "r0 + ", "o0[1,]"}) {
    error.clear();
    EXPECT_FALSE(MacFormula::parse(text, error)) << text;
    EXPECT_NE(error, "") << text;
  }
  EXPECT_TRUE(MacFormula::parse(" 2*r0 / o1[ -1, 0] + all(a) ", error)) << error;
}

} // namespace
