//===- JITEngineTest.cpp - The compiled engine and its errors ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/JITEngine.h"
#include "TestHelpers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Host/RuntimeEngine.h"
#include "mpt/Host/StateValues.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;
using test::message;

namespace {

/// w += x, in f32; loss = sum of x.
const char *const kStep = R"(
func.func @step(
    %w: tensor<3xf32> {mpt.name = "w", mpt.role = "parameter"},
    %x: tensor<3xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"},
        tensor<3xf32> {mpt.name = "w", mpt.updates = "w"}) {
  %next = mpt.add %w, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>}
      : (tensor<3xf32>) -> tensor<f32>
  return %loss, %next : tensor<f32>, tensor<3xf32>
})";

class JITEngineTest : public ::testing::Test {
protected:
  JITEngineTest() {
    context.loadDialect<func::FuncDialect, MPTDialect, math::MathDialect>();
    // An error is for the caller: none may be printed.
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      printed += diagnostic.str();
      return success();
    });
  }
  ~JITEngineTest() override { EXPECT_EQ(printed, ""); }

  llvm::Expected<std::unique_ptr<StepEngine>>
  create(llvm::StringRef text, llvm::StringRef name = "step", JITOptions options = {}) {
    auto module = parseSourceString<ModuleOp>(text, &context, "step.mlir");
    if (!module)
      return llvm::createStringError("cannot parse: " + printed);
    return createJITEngine(std::move(module), name, options);
  }
  std::string error(llvm::StringRef text, llvm::StringRef name = "step") {
    return message(create(text, name));
  }
  static HostTensor vector(std::initializer_list<double> values,
                           ElementType type = ElementType::F32) {
    HostTensor tensor =
        llvm::cantFail(HostTensor::create(type, {static_cast<int64_t>(values.size())}));
    int64_t i = 0;
    for (double value : values)
      tensor.setElement(i++, value);
    return tensor;
  }

  MLIRContext context;
  std::string printed;
};

TEST_F(JITEngineTest, Runs) {
  for (int threads : {1, 3}) {
    JITOptions options;
    options.threads = threads;
    options.profile = true;
    auto engine = create(kStep, "step", options);
    ASSERT_EQ(message(engine.takeError()), "success");
    EXPECT_EQ((*engine)->getArguments().size(), 2u);
    EXPECT_GE((*engine)->stateBytes(), 12u);
    HostTensor x = vector({1, 2, 3.5});
    ASSERT_EQ(message((*engine)->writeState("w", vector({10, 20, 30}))), "success");
    for (int run = 1; run <= 2; ++run) {
      auto outputs = (*engine)->run({{"x", &x}});
      ASSERT_EQ(message(outputs.takeError()), "success");
      EXPECT_EQ(outputs->size(), 1u);
      EXPECT_EQ(outputs->lookup("loss").getElement(0), 6.5);
      auto w = (*engine)->readState("w");
      ASSERT_EQ(message(w.takeError()), "success");
      EXPECT_EQ(w->getElement(2), 30 + 3.5 * run);
    }
    EXPECT_FALSE((*engine)->profile().empty());
  }
}

/// Kernels of one kind and several widths share a function. Each gives the bits that it
/// gives in a step of its own, where it has the function for itself.
TEST_F(JITEngineTest, KernelsOfManyWidths) {
  constexpr int64_t kRows = 70;
  auto make = [](llvm::ArrayRef<int64_t> widths) {
    std::string arguments, results, body, values, types;
    for (int64_t width : widths) {
      const std::string comma = arguments.empty() ? "" : ", ", n = std::to_string(width),
                        x = "tensor<" + std::to_string(kRows) + "x" + n + "xf32>",
                        row = "tensor<" + n + "xf32>";
      arguments += comma + "%x" + n + ": " + x + " {mpt.name = \"x" + n +
                   "\", mpt.role = \"input\"}";
      results += comma + x + " {mpt.name = \"y" + n + "\"}, " + row + " {mpt.name = \"s" +
                 n + "\"}, " + x + " {mpt.name = \"z" + n + "\"}";
      body += "%y" + n + " = mpt.softmax %x" + n + " : (" + x + ") -> " + x + "\n%s" + n +
              " = mpt.reduce %x" + n +
              " {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (" + x + ") -> " +
              row + "\n%z" + n + " = mpt.exp %x" + n + " : (" + x + ") -> " + x + "\n";
      values += comma + "%y" + n + ", %s" + n + ", %z" + n;
      types += comma + x + ", " + row + ", " + x;
    }
    return "func.func @step(" + arguments + ") -> (" + results + ") {\n" + body +
           "return " + values + " : " + types + "\n}";
  };
  const int64_t widths[] = {144, 272, 512, 1040};
  llvm::StringMap<HostTensor> inputs;
  for (int64_t width : widths) {
    HostTensor x = llvm::cantFail(HostTensor::create(ElementType::F32, {kRows, width}));
    for (int64_t i = 0; i < kRows * width; ++i)
      x.setElement(i, static_cast<double>(i * 7919 % 2003) / 1000 - 1);
    inputs.try_emplace("x" + std::to_string(width), std::move(x));
  }
  auto run = [&](llvm::ArrayRef<int64_t> some, int threads) {
    JITOptions options;
    options.threads = threads;
    auto engine = create(make(some), "step", options);
    EXPECT_EQ(message(engine.takeError()), "success");
    llvm::StringMap<const HostTensor *> data;
    for (int64_t width : some) {
      const std::string name = "x" + std::to_string(width);
      data[name] = &inputs.find(name)->second;
    }
    auto outputs = (*engine)->run(data);
    EXPECT_EQ(message(outputs.takeError()), "success");
    return std::move(*outputs);
  };
  for (int threads : {1, 2}) {
    auto together = run(widths, threads);
    for (int64_t width : widths) {
      auto alone = run(width, threads);
      EXPECT_EQ(alone.size(), 3u);
      for (const auto &[name, values] : alone) {
        const HostTensor &others = together.find(name)->second;
        ASSERT_EQ(others.getNumElements(), values.getNumElements());
        for (int64_t i = 0; i < values.getNumElements(); ++i)
          ASSERT_EQ(others.getElement(i), values.getElement(i)) << name.str() << " " << i;
      }
    }
  }
}

/// State that begins as zeros is not written before the first step, but again after it,
/// and after whatever else the host may have changed it by.
TEST_F(JITEngineTest, ZerosAreWrittenAgain) {
  std::string text = kStep;
  const std::string role = "mpt.role = \"parameter\"";
  text.insert(text.find(role) + role.size(), ", mpt.init = {kind = \"zeros\"}");
  auto engine = create(text);
  ASSERT_EQ(message(engine.takeError()), "success");
  auto &step = static_cast<RuntimeEngine &>(**engine);
  HostTensor x = vector({1, 2, 3.5});
  auto first = [&] {
    EXPECT_EQ(message(initializeState(step, 0, {}, "")), "success");
    auto w = step.readState("w");
    EXPECT_EQ(message(w.takeError()), "success");
    return w->getElement(2);
  };
  EXPECT_TRUE(step.isUntouched());
  EXPECT_EQ(first(), 0);
  EXPECT_TRUE(step.isUntouched());
  ASSERT_EQ(message(step.run({{"x", &x}})), "success");
  EXPECT_EQ(step.readState("w")->getElement(2), 3.5);
  EXPECT_FALSE(step.isUntouched());
  EXPECT_EQ(first(), 0);

  auto other = create(text);
  ASSERT_EQ(message(other.takeError()), "success");
  auto &written = static_cast<RuntimeEngine &>(**other);
  ASSERT_EQ(message(written.writeState("w", x)), "success");
  ASSERT_EQ(message(initializeState(written, 0, {}, "")), "success");
  EXPECT_EQ(written.readState("w")->getElement(2), 0);

  auto third = create(text);
  ASSERT_EQ(message(third.takeError()), "success");
  auto &seen = static_cast<RuntimeEngine &>(**third);
  auto data = seen.getData(0);
  ASSERT_EQ(message(data.takeError()), "success");
  static_cast<float *>(*data)[2] = 7;
  ASSERT_EQ(message(initializeState(seen, 0, {}, "")), "success");
  EXPECT_EQ(seen.readState("w")->getElement(2), 0);
}

TEST_F(JITEngineTest, WrongTensors) {
  auto engine = create(kStep);
  ASSERT_EQ(message(engine.takeError()), "success");
  StepEngine &step = **engine;
  HostTensor good = vector({1, 2, 3}), longer = vector({1, 2, 3, 4}),
             half = vector({1, 2, 3}, ElementType::F16);
  EXPECT_EQ(message(step.run({})), "input 'x' is missing");
  EXPECT_EQ(message(step.run({{"x", &longer}})),
            "input 'x': expected f32[3], found f32[4]");
  EXPECT_EQ(message(step.run({{"x", &half}})),
            "input 'x': expected f32[3], found f16[3]");
  EXPECT_EQ(message(step.readState("x")), "there is no state named 'x'");
  EXPECT_EQ(message(step.writeState("v", good)), "there is no state named 'v'");
  EXPECT_EQ(message(step.writeState("w", longer)),
            "state 'w': expected f32[3], found f32[4]");
  EXPECT_EQ(message(step.writeState("w", half)),
            "state 'w': expected f32[3], found f16[3]");
  // Nothing of that has changed anything.
  EXPECT_EQ(step.readState("w")->getElement(0), 0);
  EXPECT_EQ(message(step.run({{"x", &good}})),
            "the step failed: state without a value: 'w'; before the first run call "
            "mpt_rt_initialize, or mpt_rt_write for state without mpt.init");
  EXPECT_EQ(message(step.writeState("w", good)), "success");
  EXPECT_EQ(message(step.run({{"x", &good}})), "success");
}

TEST_F(JITEngineTest, WrongFunctions) {
  EXPECT_EQ(error(kStep, "other"), "no function @other with a body");
  EXPECT_EQ(error(R"(func.func private @step(tensor<f32>))"),
            "no function @step with a body");
  EXPECT_EQ(error(R"(func.func @step(%x: tensor<f32> {mpt.name = "x"}) { return })"),
            "step.mlir:1:17: argument 0 of @step: expected mpt.role to be parameter, "
            "optimizer_state, running_stat, loss_scale, rng, schedule, input or target");
  EXPECT_EQ(error(R"(
func.func @step(%x: tensor<?xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<?xf32> {mpt.name = "y"}) {
  %y = mpt.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
})"),
            "step.mlir:4:8: mpt-decompose: expected static shapes, found "
            "'tensor<?xf32>'; run --mpt-specialize first");
  std::string foreign = error(R"(
func.func @step(%x: tensor<4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<4xf32> {mpt.name = "y"}) {
  %y = math.exp %x : tensor<4xf32>
  %z = mpt.neg %y : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
})");
  EXPECT_EQ(foreign.find("step.mlir:4:8: "), 0u) << foreign;
  EXPECT_NE(foreign.find("math.exp"), std::string::npos) << foreign;
}

TEST_F(JITEngineTest, CallsThatCannotRun) {
  EXPECT_EQ(error(R"(
func.func @step(%x: tensor<1x3x3x1xf64> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<1x1x1x1xf64> {mpt.name = "y"}) {
  %f = mpt.reshape %x : (tensor<1x3x3x1xf64>) -> tensor<3x3x1x1xf64>
  %y = mpt.conv2d %x, %f : (tensor<1x3x3x1xf64>, tensor<3x3x1x1xf64>) -> tensor<1x1x1x1xf64>
  return %y : tensor<1x1x1x1xf64>
})"),
            "step.mlir:5:8: the library call cannot run: convolutions of this element "
            "type are not supported; use f32, bf16 or f16");
}

TEST_F(JITEngineTest, AStepThatFails) {
  auto engine = create(R"(
func.func @step(
    %table: tensor<5x2xf32> {mpt.name = "table", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %i: tensor<3xi32> {mpt.name = "i", mpt.role = "input"})
    -> (tensor<3x2xf32> {mpt.name = "y"}) {
  %y = mpt.gather %table, %i : (tensor<5x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
})");
  ASSERT_EQ(message(engine.takeError()), "success");
  HostTensor bad = vector({0, 1, 5}, ElementType::I32);
  EXPECT_EQ(message((*engine)->run({{"i", &bad}})),
            "the step failed: step.mlir:6:8: index 5 at position 2 is outside [0, 5)");
  HostTensor good = vector({0, 1, 4}, ElementType::I32);
  EXPECT_EQ(message((*engine)->run({{"i", &good}})), "success");
}

TEST_F(JITEngineTest, ALabelThatIsNoClass) {
  auto engine = create(R"(
func.func @step(
    %w: tensor<3x4xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %t: tensor<3xi32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<3x4xf32> {mpt.name = "g"}) {
  %l, %lse = mpt.cross_entropy %w, %t {ignore_index = -1 : i64} : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  %g = mpt.cross_entropy_grad %l, %w, %t, %lse {ignore_index = -1 : i64} : (tensor<f32>, tensor<3x4xf32>, tensor<3xi32>, tensor<3xf32>) -> tensor<3x4xf32>
  return %l, %g : tensor<f32>, tensor<3x4xf32>
})");
  ASSERT_EQ(message(engine.takeError()), "success");
  HostTensor high = vector({0, 4, -1}, ElementType::I32);
  EXPECT_EQ(message((*engine)->run({{"t", &high}})),
            "the step failed: step.mlir:6:14: index 4 at position 1 is outside [0, 4)");
  HostTensor low = vector({0, 3, -2}, ElementType::I32);
  EXPECT_EQ(message((*engine)->run({{"t", &low}})),
            "the step failed: step.mlir:6:14: index -2 at position 2 is outside [0, 4)");
  HostTensor good = vector({0, 3, -1}, ElementType::I32);
  EXPECT_EQ(message((*engine)->run({{"t", &good}})), "success");
}

TEST_F(JITEngineTest, OtherFunctionsDoNotMatter) {
  auto engine = create(std::string(kStep) + R"(
func.func @other(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
})");
  EXPECT_EQ(message(engine.takeError()), "success");
}

} // namespace
