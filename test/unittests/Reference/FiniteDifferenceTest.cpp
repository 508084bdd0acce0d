//===- FiniteDifferenceTest.cpp - Gradients against differences -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For every differentiable op: loss = sum(y * w) with y from the op and fixed
/// weights w; what --mpt-autodiff makes of it, evaluated in f64, against
/// differences of the loss itself.
///
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "ReferenceTestSupport.h"
#include "mlir/Pass/PassManager.h"
#include "mpt/Training/Passes.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::test;

namespace {

/// `count` distinct values over [low, high] (multiples of the golden ratio modulo
/// 1 keep apart), moved from zero, where several ops have a corner.
std::vector<double> spread(size_t count, double low, double high, size_t start) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    double whole;
    double position = std::modf((start + i + 1) * 0.6180339887498949, &whole);
    double value = low + (high - low) * position;
    values.push_back(std::abs(value) < 0.02 ? value + 0.05 : value);
  }
  return values;
}

std::string getAxes(llvm::StringRef type) {
  std::string axes;
  for (size_t i = 0, rank = type.count('x'); i < rank; ++i)
    axes += (i ? ", " : ": ") + std::to_string(i);
  return "array<i64" + axes + ">";
}

std::string describeArgument(const GradientArgument &argument) {
  return "%" + argument.name + ": tensor<" + argument.type + "> {mpt.name = \"" +
         argument.name + "\", mpt.role = \"" +
         (argument.fixed.empty() ? "parameter" : "input") + "\"}";
}

std::string buildLoss(const GradientCase &test) {
  std::string arguments;
  for (const GradientArgument &argument : test.arguments)
    arguments += describeArgument(argument) + ", ";
  std::string y = "tensor<" + test.type + ">";
  std::string wide = "tensor<" +
                     (llvm::StringRef(test.type).contains('x')
                          ? llvm::StringRef(test.type).rsplit('x').first.str() + "x"
                          : "") +
                     "f64>";
  // A mesh of one rank, for collectives; of several, see CollectivesTest.
  return "module attributes {mpt.mesh = #mpt.mesh<data = 1>} {\nfunc.func @loss(" +
         arguments + "%weights: " + wide +
         " {mpt.name = \"weights\", mpt.role = \"input\"}) -> (tensor<f64> "
         "{mpt.name = \"loss\"}) {\n" +
         test.body + "\n%weighted = mpt.mul %y, %weights : (" + y + ", " + wide +
         ") -> " + wide +
         "\n%loss = mpt.reduce %weighted {kind = #mpt.reduce_kind<sum>, axes = " +
         getAxes(test.type) + "} : (" + wide +
         ") -> tensor<f64>\nreturn %loss : tensor<f64>\n}\n}";
}

class FiniteDifferenceTest : public ModelTest {
protected:
  /// Emits failures that name the case.
  void check(const GradientCase &test);
};

void FiniteDifferenceTest::check(const GradientCase &test) {
  std::string text = buildLoss(test);
  SCOPED_TRACE(text);
  errors.clear();
  OwningOpRef<ModuleOp> forward = parse(text), both = parse(text);
  ASSERT_TRUE(forward && both) << errors;
  PassManager manager(&context);
  manager.addPass(createAutodiffPass());
  ASSERT_TRUE(succeeded(manager.run(*both))) << errors;
  auto lossFunction = forward->lookupSymbol<func::FuncOp>("loss");
  auto gradientFunction = both->lookupSymbol<func::FuncOp>("loss");
  ASSERT_TRUE(lossFunction.getBody()
                  .walk([&](Operation *op) {
                    return op->getName().getStringRef() == test.op
                               ? WalkResult::interrupt()
                               : WalkResult::advance();
                  })
                  .wasInterrupted())
      << "the case has no " << test.op;

  std::vector<Tensor> arguments;
  std::vector<size_t> parameters;
  for (auto [i, type] : llvm::enumerate(lossFunction.getArgumentTypes())) {
    size_t count = cast<RankedTensorType>(type).getNumElements();
    if (i == test.arguments.size()) {
      arguments.push_back(makeTensor(type, spread(count, 0.5, 1.5, 1000)));
      continue;
    }
    const GradientArgument &argument = test.arguments[i];
    if (argument.fixed.empty())
      parameters.push_back(i);
    arguments.push_back(makeTensor(
        type, argument.fixed.empty() ? spread(count, argument.low, argument.high, 17 * i)
                                     : argument.fixed));
  }
  auto results = reference::interpret(gradientFunction, arguments, Mode::Float64);
  ASSERT_TRUE(succeeded(results)) << errors;
  ASSERT_EQ(results->size(), 1 + parameters.size());

  auto evaluate = [&](double &value, double at) {
    double old = value;
    value = at;
    auto loss = reference::interpret(lossFunction, arguments, Mode::Float64);
    value = old;
    return succeeded(loss) ? (*loss)[0].floats[0] : NAN;
  };
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    const std::vector<double> &gradient = (*results)[1 + i].floats;
    std::vector<double> &values = arguments[parameter].floats;
    ASSERT_EQ(gradient.size(), values.size());
    double largest = 1.0;
    for (double value : gradient)
      largest = std::max(largest, std::abs(value));
    for (size_t k = 0; k < values.size(); ++k) {
      // (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h errs by h^4/30 f^(5), about
      // 1e-13 here, and by rounding, about 1e-16 |f| / h = 1e-12.
      constexpr double h = 1e-3;
      double x = values[k];
      double expected =
          (8.0 * (evaluate(values[k], x + h) - evaluate(values[k], x - h)) -
           (evaluate(values[k], x + 2 * h) - evaluate(values[k], x - 2 * h))) /
          (12.0 * h);
      if (test.op == "mpt.stop_gradient")
        expected = 0.0;
      EXPECT_NEAR(gradient[k], expected, 1e-8 * largest)
          << "element " << k << " of " << test.arguments[parameter].name;
    }
  }
}

TEST_F(FiniteDifferenceTest, EveryDifferentiableOp) {
  for (const GradientCase &test : getGradientCases())
    check(test);
}

TEST_F(FiniteDifferenceTest, GradientOfALargestThatIsNaN) {
  // As torch.amax and torch.amin: NaN for all elements that the result is of.
  for (const char *kind : {"max", "min"}) {
    OwningOpRef<ModuleOp> module = parse(
        "func.func @loss(%x: tensor<2x3xf64> {mpt.name = \"x\", mpt.role = "
        "\"parameter\"})"
        " -> (tensor<f64> {mpt.name = \"loss\"}) {\n"
        "%y = mpt.reduce %x {kind = #mpt.reduce_kind<" +
        std::string(kind) +
        ">, axes = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>\n"
        "%loss = mpt.reduce %y {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : "
        "(tensor<2xf64>) -> tensor<f64>\nreturn %loss : tensor<f64>\n}");
    ASSERT_TRUE(module) << errors;
    PassManager manager(&context);
    manager.addPass(createAutodiffPass());
    ASSERT_TRUE(succeeded(manager.run(*module))) << errors;
    auto function = module->lookupSymbol<func::FuncOp>("loss");
    auto results = reference::interpret(
        function, makeTensor(function.getArgumentTypes()[0], {1, NAN, 3, 2, 2, 2}),
        Mode::Float64);
    ASSERT_TRUE(succeeded(results)) << errors;
    const std::vector<double> &gradient = (*results)[1].floats;
    for (int i : {0, 1, 2})
      EXPECT_TRUE(std::isnan(gradient[i])) << kind << " " << i;
    for (int i : {3, 4, 5})
      EXPECT_EQ(gradient[i], 1.0 / 3) << kind << " " << i;
  }
}

TEST_F(FiniteDifferenceTest, EveryDifferentiableOpHasACase) {
  llvm::StringSet<> covered;
  for (const GradientCase &test : getGradientCases())
    covered.insert(test.op);
  unsigned count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (!name.hasInterface<DifferentiableOpInterface>())
      continue;
    ++count;
    EXPECT_TRUE(covered.contains(name.getStringRef()))
        << name.getStringRef().str() << " has no case in GradientCases.cpp";
  }
  EXPECT_GE(count, 50u);
}

} // namespace
