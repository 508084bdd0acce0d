//===- SyncBatchNormTest.cpp - Batch norm over all ranks --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A step of N ranks with synchronized batch norm is that of one process with the whole
/// batch. In f64, which the oracle rounds nothing in, only the order of sums differs.
///
//===----------------------------------------------------------------------===//

#include "ReferenceTestSupport.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Parallel/Passes.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Support/Philox.h"
#include "mpt/Training/Passes.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::test;

namespace {

/// Two batch norms, one after the other, running statistics and a counter, for `rows`
/// rows of far from zero mean, so that the formula for the variance matters.
std::string makeModel(int64_t rows) {
  const std::string n = std::to_string(rows), h = "tensor<" + n + "x6xf32>",
                    c = "tensor<6xf32>";
  auto norm = [&](const std::string &k, const std::string &x) {
    return "%y" + k + ", %nm" + k + ", %nv" + k + ", %m" + k + ", %r" + k +
           " = mpt.batch_norm " + x + ", %g, %b, %rm" + k + ", %rv" + k +
           " {momentum = 0.1 : f64} : (" + h + ", " + c + ", " + c + ", " + c + ", " + c +
           ") -> (" + h + ", " + c + ", " + c + ", " + c + ", " + c + ")\n";
  };
  std::string text = "func.func @loss(";
  auto argument = [&](const std::string &name, const std::string &type,
                      const std::string &role) {
    text += "%" + name + ": " + type + " {mpt.name = \"" + name + "\", mpt.role = \"" +
            role + "\"}, ";
  };
  argument("w", "tensor<4x6xf32>", "parameter");
  argument("v", "tensor<6x6xf32>", "parameter");
  argument("g", c, "parameter");
  argument("b", c, "parameter");
  for (std::string k : {"0", "1"}) {
    argument("rm" + k, c, "running_stat");
    argument("rv" + k, c, "running_stat");
  }
  argument("n", "tensor<i64>", "running_stat");
  text += "%x: tensor<" + n + "x4xf32> {mpt.name = \"x\", mpt.role = \"input\"}) -> (" +
          "tensor<f32> {mpt.name = \"loss\"}";
  for (std::string k : {"rm0", "rv0", "rm1", "rv1"})
    text += ", " + c + " {mpt.name = \"" + k + "\", mpt.updates = \"" + k + "\"}";
  text += ", tensor<i64> {mpt.name = \"n\", mpt.updates = \"n\"}) {\n";
  text += "%a = mpt.matmul %x, %w : (tensor<" + n + "x4xf32>, tensor<4x6xf32>) -> " + h +
          "\n" + norm("0", "%a") + "%t = mpt.tanh %y0 : (" + h + ") -> " + h +
          "\n%d = mpt.matmul %t, %v : (" + h + ", tensor<6x6xf32>) -> " + h + "\n" +
          norm("1", "%d") + "%e = mpt.gelu %y1 : (" + h + ") -> " + h +
          "\n%q = mpt.mul %e, %e : (" + h + ", " + h + ") -> " + h +
          "\n%l = mpt.reduce %q {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} "
          ": (" +
          h + ") -> tensor<f32>\n%one = mpt.constant dense<1> : tensor<i64>\n" +
          "%n1 = mpt.add %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>\n" +
          "return %l, %nm0, %nv0, %nm1, %nv1, %n1 : tensor<f32>, " + c + ", " + c + ", " +
          c + ", " + c + ", tensor<i64>\n}";
  return text;
}

class SyncBatchNormTest : public ModelTest {
protected:
  SyncBatchNormTest() {
    static bool registered = [] {
      registerMPTDialectTransformsPasses();
      registerMPTParallelPasses();
      registerMPTPrecisionPasses();
      registerMPTTrainingPasses();
      registerCSEPass();
      return true;
    }();
    (void)registered;
  }

  /// In Float64 all of the model is f64, its constants, too.
  OwningOpRef<ModuleOp> load(int64_t rows, const std::string &passes,
                             Mode mode = Mode::Storage) {
    std::string text = makeModel(rows);
    for (size_t at = 0;
         mode == Mode::Float64 && (at = text.find("f32", at)) != text.npos;)
      text.replace(at, 3, "f64");
    auto module = parse(text);
    PassManager manager(&context);
    if (!module || failed(parsePassPipeline(passes, manager)) ||
        failed(manager.run(*module))) {
      ADD_FAILURE() << passes << ": " << errors;
      return nullptr;
    }
    return module;
  }

  /// Arguments of a process whose rows begin at `first`, some way from 0.
  static std::vector<Tensor> getArguments(func::FuncOp function, int64_t first) {
    StepView view(function);
    std::vector<Tensor> arguments;
    for (auto [i, info] : llvm::enumerate(view.getArguments())) {
      auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
      Tensor tensor;
      tensor.elementType = type.getElementType();
      tensor.shape.assign(type.getShape().begin(), type.getShape().end());
      const bool isData = !info.isState();
      const int64_t offset = isData ? first * type.getDimSize(1) : 0;
      for (int64_t at = 0; at < type.getNumElements(); ++at) {
        const uint64_t element = offset + at;
        const uint32_t word =
            philoxBlock(7 + (isData ? 100 : i), 0, 0, element / 4)[element % 4];
        const double value = std::ldexp(word, -31) - 1.0;
        const bool isParameter = info.role == Role::Parameter;
        if (tensor.isFloat())
          tensor.floats.push_back(static_cast<float>(isData        ? 3 + value
                                                     : isParameter ? value
                                                                   : 0.5));
        else
          tensor.ints.push_back(0);
      }
      arguments.push_back(std::move(tensor));
    }
    return arguments;
  }

  /// The largest difference between what ranks and one process return, relative to the
  /// largest magnitude of each tensor.
  double compare(int64_t ranks, int64_t rows, const std::string &after, Mode mode) {
    auto one = load(ranks * rows, "mpt-autodiff," + after, mode);
    auto many = load(rows,
                     "mpt-autodiff,mpt-data-parallel{size=" + std::to_string(ranks) +
                         " batch-norm=synchronized}," + after,
                     mode);
    if (!one || !many)
      return INFINITY;
    auto single = one->lookupSymbol<func::FuncOp>("loss");
    auto parallel = many->lookupSymbol<func::FuncOp>("loss");
    auto want = reference::interpret(single, getArguments(single, 0), mode);
    std::vector<std::vector<Tensor>> arguments;
    for (int64_t rank = 0; rank < ranks; ++rank)
      arguments.push_back(getArguments(parallel, rank * rows));
    auto got = reference::interpretRanks(parallel, arguments, mode);
    if (failed(want) || failed(got)) {
      ADD_FAILURE() << errors;
      return INFINITY;
    }
    double worst = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ((*got)[rank].size(), want->size());
      for (auto [i, expected] : llvm::enumerate(*want)) {
        const Tensor &found = (*got)[rank][i];
        EXPECT_EQ(found.ints, expected.ints);
        double magnitude = 1e-30, difference = 0;
        for (auto [a, b] : llvm::zip_equal(found.floats, expected.floats)) {
          magnitude = std::max(magnitude, std::abs(b));
          difference = std::max(difference, std::abs(a - b));
        }
        worst = std::max(worst, difference / magnitude);
      }
    }
    return worst;
  }
};

/// Sums of at most 6 x 4 terms and some tens of ops, each within 2^-53.
TEST_F(SyncBatchNormTest, IsThatOfTheWholeBatch) {
  for (auto [ranks, rows] : {std::pair<int64_t, int64_t>{2, 2}, {2, 6}, {3, 4}, {5, 1}})
    for (std::string after : {"cse", "mpt-decompose"})
      EXPECT_LT(compare(ranks, rows, after, Mode::Float64), 1e-11)
          << ranks << " ranks of " << rows << ", " << after;
}

/// Decomposed, in f32: each of some tens of ops rounds to within 2^-24 of what it gives,
/// and the norm's 1 / deviation multiplies that by about 10.
TEST_F(SyncBatchNormTest, InF32) {
  for (int64_t ranks : {2, 3})
    EXPECT_LT(compare(ranks, 6, "mpt-train-step{optimizer=momentum lr=0.1},mpt-decompose",
                      Mode::Storage),
              500 * std::ldexp(1, -24));
}

/// Under autocast the statistics stay f32: what differs is the roundings of activations
/// and their gradients to bf16, 2^-9 each.
TEST_F(SyncBatchNormTest, UnderAutocast) {
  EXPECT_LT(compare(2, 6,
                    "mpt-train-step{optimizer=momentum lr=0.1},mpt-autocast{type=bf16},"
                    "mpt-decompose",
                    Mode::Storage),
            100 * std::ldexp(1, -9));
}

/// Without it the statistics are others: the test sees the difference.
TEST_F(SyncBatchNormTest, RanksOfTheirOwnDiffer) {
  auto one = load(12, "mpt-autodiff"),
       many = load(6, "mpt-autodiff,mpt-data-parallel{size=2}");
  auto single = one->lookupSymbol<func::FuncOp>("loss");
  auto parallel = many->lookupSymbol<func::FuncOp>("loss");
  auto want = reference::interpret(single, getArguments(single, 0), Mode::Float64);
  auto got = reference::interpretRanks(
      parallel, {getArguments(parallel, 0), getArguments(parallel, 6)}, Mode::Float64);
  ASSERT_TRUE(succeeded(want) && succeeded(got)) << errors;
  EXPECT_GT(std::abs((*got)[0][0].floats[0] - (*want)[0].floats[0]), 1e-4);
}

} // namespace
