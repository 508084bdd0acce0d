//===- StepSignatureTest.cpp - The step ABI ---------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StepSignature.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Host/DataFiles.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

class StepSignatureTest : public ::testing::Test {
protected:
  StepSignatureTest() {
    context.loadDialect<MPTDialect, func::FuncDialect>();
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      error = diagnostic.str();
      return success();
    });
  }
  FailureOr<StepSignature> read(llvm::StringRef text) {
    error.clear();
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return failure();
    return readStepSignature(*module->getOps<func::FuncOp>().begin());
  }
  /// The error for a declaration "func.func private @f(...)".
  std::string getError(llvm::StringRef signature) {
    std::string text = "func.func private @f" + signature.str();
    EXPECT_TRUE(failed(read(text)));
    return error;
  }
  /// The error for an f32[2] parameter with `init`.
  std::string getInitError(llvm::StringRef init) {
    std::string text =
        getError("(tensor<2xf32> {mpt.name = \"w\", mpt.role = \"parameter\", "
                 "mpt.init = " +
                 init.str() + "})");
    llvm::StringRef rest(text);
    rest.consume_front("argument 0 of @f: ");
    return rest.str();
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string error;
};

TEST_F(StepSignatureTest, ReadsEverything) {
  auto signature = read(R"(
    func.func private @f(
      tensor<2x3xf32> {mpt.name = "w", mpt.role = "parameter",
                       mpt.init = {kind = "kaiming_uniform", fan_in = 3}},
      tensor<i64> {mpt.name = "seed", mpt.role = "rng"},
      tensor<?x8x8xbf16> {mpt.name = "x", mpt.role = "input"},
      tensor<?xi32> {mpt.name = "y", mpt.role = "target"})
      -> (tensor<f32> {mpt.name = "loss"},
          tensor<2x3xf32> {mpt.name = "w.new", mpt.updates = "w"}))");
  ASSERT_TRUE(succeeded(signature)) << error;
  ASSERT_EQ(signature->arguments.size(), 4u);
  const TensorInfo &w = signature->arguments[0], &x = signature->arguments[2];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.role, Role::Parameter);
  EXPECT_EQ(w.shape, std::vector<int64_t>({2, 3}));
  ASSERT_TRUE(w.init.has_value());
  EXPECT_EQ(w.init->kind, InitKind::KaimingUniform);
  EXPECT_EQ(w.init->numbers[0], 3);
  EXPECT_EQ(x.type, ElementType::BF16);
  EXPECT_EQ(x.shape, std::vector<int64_t>({kDynamicSize, 8, 8}));
  EXPECT_FALSE(x.init.has_value());
  ASSERT_EQ(signature->results.size(), 2u);
  EXPECT_EQ(signature->results[0].updates, "");
  EXPECT_EQ(signature->results[1].updates, "w");
  EXPECT_TRUE(signature->isStep());
  EXPECT_TRUE(signature->isDynamic());
}

TEST_F(StepSignatureTest, EveryRoleAndInitializer) {
  for (int role = 0; role <= int(Role::Target); ++role)
    EXPECT_TRUE(succeeded(
        read("func.func private @f(tensor<f32> {mpt.name = \"a\", mpt.role = \"" +
             std::string(stringifyRole(Role(role))) + "\"})")));
  for (const char *init : {"{kind = \"zeros\"}", "{kind = \"ones\"}",
                           "{kind = \"constant\", value = 65536.0 : f64}",
                           "{kind = \"constant\", value = 3}",
                           "{kind = \"uniform\", low = -1.0, high = 1.0 : f32}",
                           "{kind = \"normal\", mean = 0.0, std = 0.02}",
                           "{kind = \"trunc_normal\", mean = 0.0, std = 0.02}",
                           "{kind = \"xavier_uniform\", fan_in = 3, fan_out = 4}"})
    EXPECT_TRUE(
        succeeded(read(std::string("func.func private @f(tensor<2xf32> {mpt.name = "
                                   "\"a\", mpt.role = \"parameter\", mpt.init = ") +
                       init + "})")))
        << error;
}

TEST_F(StepSignatureTest, SignatureErrors) {
  const char *name = "{mpt.name = \"a\", mpt.role = \"input\"}";
  auto with = [&](const char *type) {
    return getError(std::string("(") + type + " " + name + ")");
  };
  EXPECT_EQ(with("f32"), "argument 0 of @f: expected a ranked tensor of a type "
                         "that the host can hold, found 'f32'");
  EXPECT_EQ(with("tensor<2xcomplex<f32>>"),
            "argument 0 of @f: expected a ranked tensor of a type that the "
            "host can hold, found 'tensor<2xcomplex<f32>>'");
  for (StringRef type : {"tensor<2xf4E2M1FN>", "tensor<2xf8E8M0FNU>"})
    EXPECT_EQ(with(type.data()),
              ("argument 0 of @f: expected a ranked tensor of a type that the host can "
               "hold, found '" +
               type +
               "'; it is a type of values inside of a step: take and give f32, f16 or "
               "bf16, with mpt.quantize and mpt.dequantize between")
                  .str());
  EXPECT_EQ(with("tensor<2x?xf32>"),
            "argument 0 of @f: expected static sizes after dimension 0, found "
            "'tensor<2x?xf32>'");
  EXPECT_EQ(getError("(tensor<f32>)"), "argument 0 of @f: expected a name in mpt.name");
  EXPECT_EQ(getError("() -> tensor<f32>"), "result 0 of @f: expected a name in mpt.name");
  EXPECT_EQ(
      getError("(tensor<f32> {mpt.name = \"a\", mpt.role = \"input\"}, "
               "tensor<f32> {mpt.name = \"a\", mpt.role = \"input\"})"),
      "expected a 'mpt.name' of its own for every argument, found \"a\" on arguments "
      "0 and 1");
  EXPECT_EQ(getError("(tensor<f32> {mpt.name = \"a\"})"),
            "argument 0 of @f: expected mpt.role to be parameter, "
            "optimizer_state, running_stat, loss_scale, rng, schedule, input "
            "or target");
  EXPECT_EQ(getError("(tensor<?xf32> {mpt.name = \"a\", mpt.role = \"parameter\"})"),
            "argument 0 of @f: expected a static shape for a parameter, found "
            "'tensor<?xf32>'");
}

TEST_F(StepSignatureTest, UpdateErrors) {
  const char *argument =
      "(tensor<2xf32> {mpt.name = \"w\", mpt.role = \"parameter\"}) -> ";
  EXPECT_EQ(
      getError(argument + std::string("(tensor<2xf32> {mpt.name = \"n\", mpt.updates = "
                                      "\"v\"})")),
      "expected an argument with the 'mpt.name' \"v\", which result 0 updates, found "
      "none");
  EXPECT_EQ(
      getError(argument + std::string("(tensor<2xf16> {mpt.name = \"n\", mpt.updates = "
                                      "\"w\"})")),
      "expected result 0, which updates \"w\", to be of its type 'tensor<2xf32>', found "
      "'tensor<2xf16>'");
}

TEST_F(StepSignatureTest, InitializerErrors) {
  const std::string form =
      "expected 'mpt.init' to be #mpt.init or a dictionary with 'kind' "
      "one of zeros, ones, constant, uniform, normal, trunc_normal, "
      "kaiming_uniform, xavier_uniform; found ";
  EXPECT_EQ(getInitError("\"zeros\""), form + "\"zeros\"");
  EXPECT_EQ(getInitError("{value = 3.0 : f32}"), form + "{value = 3.000000e+00 : f32}");
  EXPECT_EQ(getInitError("{kind = \"orthogonal\"}"), form + "{kind = \"orthogonal\"}");
  EXPECT_EQ(getInitError("{kind = \"constant\"}"),
            "expected the number 'value' in 'mpt.init' of kind 'constant', found none");
  EXPECT_EQ(
      getInitError("{kind = \"kaiming_uniform\", fan_in = 3.0 : f32}"),
      "expected the integer 'fan_in' in 'mpt.init' of kind 'kaiming_uniform', found "
      "3.000000e+00 : f32");
  EXPECT_EQ(getInitError("{kind = \"zeros\", value = 3.0}"),
            "expected no number in 'mpt.init' of kind 'zeros', found \"value\"");
  EXPECT_EQ(getInitError("{kind = \"kaiming_uniform\", fan_in = 0}"),
            "expected fan_in > 0 in 'mpt.init' of kind 'kaiming_uniform', found "
            "{fan_in = 0 : i64}");
}

} // namespace
