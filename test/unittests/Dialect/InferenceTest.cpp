//===- InferenceTest.cpp - Errors of result types from builders -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For ops from a file the verifier comes first, so some errors of inference are
/// met only by programs that build ops.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

struct InferenceTest : public testing::Test {
  InferenceTest() { context.loadDialect<MPTDialect>(); }

  /// The inferred types, or the error, of an `Op` of operands of `types`.
  template <typename Op>
  std::string infer(ArrayRef<StringRef> types, typename Op::Properties properties = {}) {
    Block block;
    Location loc = UnknownLoc::get(&context);
    for (StringRef type : types)
      block.addArgument(parseType(type, &context), loc);
    std::string text;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      text += diagnostic.str();
      return success();
    });
    // Builders and parsers do this before they infer.
    OperationName(Op::getOperationName(), &context)
        .populateDefaultProperties(OpaqueProperties(&properties));
    SmallVector<Type> inferred;
    if (failed(Op::inferReturnTypes(&context, loc, block.getArguments(),
                                    DictionaryAttr::get(&context), &properties, {},
                                    inferred)))
      return text;
    llvm::raw_string_ostream stream(text);
    llvm::interleaveComma(inferred, stream);
    return text;
  }

  MLIRContext context;
};

TEST_F(InferenceTest, Conv2D) {
  EXPECT_EQ(infer<Conv2DOp>({"tensor<8x8x3xf32>", "tensor<3x3x3x4xf32>"}),
            "expected x [N, H, W, C] and filter [KH, KW, C / groups, O], found "
            "'tensor<8x8x3xf32>' and 'tensor<3x3x3x4xf32>'");
  Conv2DOp::Properties properties;
  properties.strides = Builder(&context).getDenseI64ArrayAttr({1});
  EXPECT_EQ(infer<Conv2DOp>({"tensor<1x8x8x3xf32>", "tensor<3x3x3x4xf32>"}, properties),
            "expected 2 strides, 4 paddings and 2 dilations, found 1, 4 and 2");
  EXPECT_EQ(infer<Conv2DOp>({"tensor<1x2x8x3xf32>", "tensor<3x3x3x4xf32>"}),
            "expected a window and a stride of at least 1 that fit the padded size, "
            "found size 2 with padding 0 and 0, window 3, dilation 1, stride 1");
  EXPECT_EQ(infer<Conv2DOp>({"tensor<1x8x?x3xbf16>", "tensor<3x3x3x4xbf16>"}),
            "tensor<1x6x?x4xbf16>");
}

TEST_F(InferenceTest, Attention) {
  AttentionOp::Properties properties;
  properties.operandSegmentSizes = {1, 1, 1, 0, 0, 0, 0};
  EXPECT_EQ(infer<AttentionOp>(
                {"tensor<2x4x8xf32>", "tensor<1x2x4x8xf32>", "tensor<1x2x4x8xf32>"},
                properties),
            "expected query, key and value of rank 4 [B, H, T, D], found "
            "'tensor<2x4x8xf32>', 'tensor<1x2x4x8xf32>' and 'tensor<1x2x4x8xf32>'");
  EXPECT_EQ(infer<AttentionOp>(
                {"tensor<1x2x4x8xbf16>", "tensor<1x2x6x8xbf16>", "tensor<1x2x6x3xbf16>"},
                properties),
            "tensor<1x2x4x3xbf16>, tensor<1x2x4xf32>");
}

TEST_F(InferenceTest, LSTMCell) {
  EXPECT_EQ(infer<LSTMCellOp>({"tensor<8xf32>", "tensor<4x2xf32>", "tensor<4x2xf32>",
                               "tensor<8x8xf32>", "tensor<2x8xf32>"}),
            "expected x [B, I], h [B, H] and weight_ih [I, 4H], found "
            "'tensor<8xf32>', 'tensor<4x2xf32>' and 'tensor<8x8xf32>'");
  EXPECT_EQ(infer<LSTMCellOp>({"tensor<4x8xbf16>", "tensor<?x2xbf16>", "tensor<?x2xf32>",
                               "tensor<8x8xbf16>", "tensor<2x8xbf16>", "tensor<8xf32>"}),
            "tensor<4x2xbf16>, tensor<4x2xf32>, tensor<4x8xbf16>");
}

TEST_F(InferenceTest, Linear) {
  EXPECT_EQ(infer<LinearOp>({"tensor<4xf32>", "tensor<4xf32>"}),
            "expected x of rank 1 or more and weight [in, out], found "
            "'tensor<4xf32>' and 'tensor<4xf32>'");
  EXPECT_EQ(infer<LinearOp>({"tensor<4xf16>", "tensor<4x8xf16>"}), "tensor<8xf16>");
}

TEST_F(InferenceTest, RowsOfScalars) {
  std::string expected = "expected x of rank 1 or more, found 'tensor<f32>'";
  SmallVector<StringRef> scalars(5, "tensor<f32>");
  ArrayRef<StringRef> operands = scalars;
  EXPECT_EQ(infer<LayerNormOp>(operands.take_front(3)), expected);
  EXPECT_EQ(infer<LayerNormGradOp>(operands), expected);
  EXPECT_EQ(infer<RMSNormOp>(operands.take_front(2)), expected);
  EXPECT_EQ(infer<RMSNormGradOp>(operands.take_front(4)), expected);
  EXPECT_EQ(infer<BatchNormOp>(operands), expected);
  EXPECT_EQ(infer<BatchNormGradOp>(operands), expected);
  EXPECT_EQ(infer<BatchNormInferenceOp>(operands), expected);
  EXPECT_EQ(infer<CrossEntropyOp>({"tensor<f32>", "tensor<i32>"}),
            "expected logits of rank 1 or more, found 'tensor<f32>'");
  EXPECT_EQ(infer<CrossEntropyGradOp>(
                {"tensor<f32>", "tensor<f32>", "tensor<i32>", "tensor<f32>"}),
            "expected logits of rank 1 or more, found 'tensor<f32>'");
}

// Statistics and losses are f32 for anything narrower, f64 for f64.
TEST_F(InferenceTest, StatisticTypes) {
  EXPECT_EQ(infer<RMSNormOp>({"tensor<4x8xf16>", "tensor<8xf32>"}),
            "tensor<4x8xf16>, tensor<4xf32>");
  EXPECT_EQ(infer<RMSNormOp>({"tensor<4x8xf64>", "tensor<8xf64>"}),
            "tensor<4x8xf64>, tensor<4xf64>");
  EXPECT_EQ(infer<CrossEntropyOp>({"tensor<4x8xbf16>", "tensor<4xi64>"}),
            "tensor<f32>, tensor<4xf32>");
}

} // namespace
