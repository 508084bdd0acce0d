//===- StepViewTest.cpp - Arguments and results of a step function -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

struct StepViewTest : ::testing::Test {
  StepViewTest() { context.loadDialect<MPTDialect, func::FuncDialect>(); }

  StepView read(StringRef signature) {
    module =
        parseSourceString<ModuleOp>(("func.func private @f" + signature).str(), &context);
    EXPECT_TRUE(module);
    return StepView(*module->getOps<func::FuncOp>().begin());
  }
  /// The diagnostic for an argument with `attributes`.
  std::string getError(StringRef attributes) {
    std::string error;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      error += diagnostic.str();
      return success();
    });
    EXPECT_FALSE(parseSourceString<ModuleOp>(
        ("func.func private @f(tensor<2xf32> {" + attributes + "})").str(), &context));
    return error;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(StepViewTest, BothFormsAreEqual) {
  StepView step = read(R"((
      tensor<2xf32> {mpt.name = "a", mpt.role = "parameter",
                     mpt.init = {kind = "normal", mean = 0.5, std = 2}},
      tensor<2xf32> {mpt.name = "b", mpt.role = #mpt.role<parameter>,
                     mpt.init = #mpt.init<normal {mean = 0.5 : f64, std = 2 : i64}>}))");
  const StepView::Argument &text = step.getArguments()[0],
                           &typed = step.getArguments()[1];
  EXPECT_EQ(text.role, Role::Parameter);
  EXPECT_EQ(typed.role, Role::Parameter);
  // (0.5 is an f64 in either form.)
  EXPECT_EQ(text.init, typed.init);
  InitSpec spec = typed.init.getSpec();
  EXPECT_EQ(spec.kind, InitKind::Normal);
  EXPECT_EQ(spec.numbers[0], 0.5);
  EXPECT_EQ(spec.numbers[1], 2);
  EXPECT_TRUE(typed.isState());
}

TEST_F(StepViewTest, UpdatesPairArgumentsAndResults) {
  StepView step = read(R"((
      tensor<f32> {mpt.name = "x", mpt.role = "input"},
      tensor<bf16> {mpt.name = "w", mpt.role = "parameter", mpt.master = "split16"},
      tensor<i16> {mpt.name = "w.low", mpt.role = "optimizer_state", mpt.low_of = "w"},
      tensor<f32>) -> (tensor<f32> {mpt.name = "loss"},
                       tensor<bf16> {mpt.name = "w_new", mpt.updates = "w"}))");
  EXPECT_EQ(step.findArgument("w"), 1u);
  EXPECT_EQ(step.findArgument("w_new"), std::nullopt);
  EXPECT_EQ(step.findResult("w_new"), 1u);
  EXPECT_EQ(step.getArguments()[1].updatedBy, 1u);
  EXPECT_EQ(step.getResults()[1].updates, 1u);
  EXPECT_EQ(step.getResults()[0].updates, std::nullopt);
  EXPECT_FALSE(step.getArguments()[0].isState());
  EXPECT_TRUE(step.getArguments()[1].hasMaster());
  EXPECT_EQ(step.getArguments()[2].lowOf, step.getArguments()[1].name);
  // What says nothing has nothing.
  const StepView::Argument &bare = step.getArguments()[3];
  EXPECT_FALSE(bare.name || bare.role || bare.init || bare.lowOf || bare.hasMaster());
  EXPECT_FALSE(bare.isState());
}

TEST_F(StepViewTest, EveryRoleAndKindHasBothForms) {
  for (std::string_view name : kRoleNames)
    EXPECT_EQ(read("(tensor<f32> {mpt.role = #mpt.role<" + std::string(name) + ">})")
                  .getArguments()[0]
                  .role,
              parseRole(name));
  for (const InitKindNames &kind : kInitKindNames) {
    std::string numbers;
    for (std::string_view number : kind.numbers)
      if (!number.empty())
        numbers += (numbers.empty() ? "" : ", ") + std::string(number) + " = 3 : i64";
    std::string name(kind.name), typed = "#mpt.init<" + name;
    typed += numbers.empty() ? ">" : " {" + numbers + "}>";
    std::string text =
        "{kind = \"" + name + "\"" + (numbers.empty() ? "" : ", ") + numbers + "}";
    StepView step = read("(tensor<f32> {mpt.init = " + typed +
                         "}, tensor<f32> {mpt.init = " + text + "})");
    ASSERT_TRUE(step.getArguments()[0].init) << name;
    EXPECT_EQ(step.getArguments()[0].init, step.getArguments()[1].init);
    EXPECT_EQ(step.getArguments()[0].init.getSpec().kind, *parseInitKind(name));
  }
}

TEST_F(StepViewTest, Errors) {
  // MLIR adds which parameter of the attribute it is.
  auto startsWith = [&](StringRef attributes, StringRef expected) {
    EXPECT_EQ(StringRef(getError(attributes)).take_front(expected.size()), expected);
  };
  startsWith("mpt.role = #mpt.role<weight>",
             "expected one of parameter, optimizer_state, running_stat, loss_scale, rng, "
             "schedule, input, target; found weight");
  startsWith("mpt.init = #mpt.init<he>",
             "expected one of zeros, ones, constant, uniform, "
             "normal, trunc_normal, kaiming_uniform, xavier_uniform; found he");
  EXPECT_EQ(getError("mpt.init = #mpt.init<normal {mean = 0.0 : f64}>"),
            "expected the number 'std' in 'mpt.init' of kind 'normal', found none");
  EXPECT_EQ(getError("mpt.init = {kind = \"normal\", mean = 0.0, std = -1.0}"),
            "expected a finite mean and std >= 0 in 'mpt.init' of kind 'normal', found "
            "{mean = 0.000000e+00 : f64, std = -1.000000e+00 : f64}");
}

TEST_F(StepViewTest, RandomValuesAreForFloats) {
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error += diagnostic.str();
    return success();
  });
  EXPECT_FALSE(parseSourceString<ModuleOp>("func.func private @f(tensor<2xi32> {mpt.init "
                                           "= #mpt.init<uniform {low = 0, high = 1}>})",
                                           &context));
  EXPECT_EQ(error, "expected a float tensor for 'mpt.init' of kind 'uniform', found "
                   "'tensor<2xi32>'");
}

} // namespace
