//===- InterpretedEngineTest.cpp - Engines around evaluators ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/InterpretedEngine.h"
#include "TestHelpers.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;
using test::message;

namespace {

const char *const kStep = R"(
  func.func private @step(
    tensor<f32> {mpt.name = "w", mpt.role = "parameter"},
    tensor<2xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "w", mpt.updates = "w"},
        tensor<f32> {mpt.name = "loss"}))";

class InterpretedEngineTest : public ::testing::Test {
protected:
  InterpretedEngineTest() {
    context.allowUnregisteredDialects();
    context.loadDialect<func::FuncDialect>();
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      error = diagnostic.str();
      return success();
    });
  }
  llvm::FailureOr<std::unique_ptr<StepEngine>> create(llvm::StringRef text,
                                                      llvm::StringRef name = "step") {
    return InterpretedEngine::create(
        parseSourceString<ModuleOp>(text, &context), name,
        [](func::FuncOp, llvm::ArrayRef<const HostTensor *> arguments)
            -> llvm::Expected<std::vector<HostTensor>> {
          // w += x0 / 3 and loss = x1, both in f64.
          double w = arguments[0]->getElement(0);
          double x0 = arguments[1]->getElement(0);
          if (x0 < 0)
            return llvm::createStringError("negative");
          return std::vector<HostTensor>{
              HostTensor::scalar(ElementType::F64, w + x0 / 3),
              HostTensor::scalar(ElementType::F64, arguments[1]->getElement(1))};
        });
  }
  MLIRContext context;
  std::string error;
};

TEST_F(InterpretedEngineTest, KeepsStateInTheEvaluatorsType) {
  auto engine = create(kStep);
  ASSERT_TRUE(succeeded(engine)) << error;
  llvm::cantFail((*engine)->writeState("w", HostTensor::scalar(ElementType::F32, 1)));
  HostTensor x = llvm::cantFail(HostTensor::create(ElementType::F32, {2}));
  x.setElement(0, 1);
  x.setElement(1, 7);
  llvm::StringMap<const HostTensor *> inputs;
  inputs["x"] = &x;
  for (int i = 0; i < 3; ++i) {
    auto outputs = llvm::cantFail((*engine)->run(inputs));
    EXPECT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs["loss"].getElement(0), 7);
  }
  // The state stays f64 (8 bytes) and is rounded when it is read.
  EXPECT_EQ(llvm::cantFail((*engine)->readState("w")).describe(), "f32[]");
  EXPECT_EQ(llvm::cantFail((*engine)->readState("w")).getElement(0), 2);
  EXPECT_EQ((*engine)->stateBytes(), 8u);

  x.setElement(0, -1);
  EXPECT_EQ(message((*engine)->run(inputs)), "negative");
  EXPECT_EQ(llvm::cantFail((*engine)->readState("w")).getElement(0), 2);
}

TEST_F(InterpretedEngineTest, Errors) {
  auto engine = create(kStep);
  ASSERT_TRUE(succeeded(engine)) << error;
  EXPECT_EQ(message((*engine)->readState("x")), "no state 'x'");
  EXPECT_EQ(message((*engine)->writeState("w", HostTensor::scalarI64(1))),
            "expected 'w' to be f32[], found i64[]");
  EXPECT_EQ(message((*engine)->run({})), "'w' has no value");

  EXPECT_TRUE(failed(create(kStep, "loss")));
  EXPECT_EQ(error, "expected a function @loss");
  EXPECT_TRUE(failed(create("func.func private @step(tensor<?xf32> {mpt.name = "
                            "\"x\", mpt.role = \"input\"})")));
  EXPECT_EQ(error, "expected static shapes; --mpt-specialize sets an open dimension 0");
}

} // namespace
