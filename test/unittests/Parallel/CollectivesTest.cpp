//===- CollectivesTest.cpp - All ranks in the oracle ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the oracle makes of collectives, against numbers by hand, and their gradients
/// against differences of the sum of all ranks' losses.
///
//===----------------------------------------------------------------------===//

#include "ReferenceTestSupport.h"
#include "mlir/Pass/PassManager.h"
#include "mpt/Training/Passes.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::test;

namespace {

/// By rank, then by result.
using Numbers = std::vector<std::vector<std::vector<double>>>;

class CollectivesTest : public ModelTest {
protected:
  std::vector<std::vector<Tensor>> makeArguments(func::FuncOp function,
                                                 const Numbers &arguments) {
    std::vector<std::vector<Tensor>> tensors;
    for (const auto &own : arguments) {
      tensors.emplace_back();
      for (auto [type, values] : llvm::zip_equal(function.getArgumentTypes(), own))
        tensors.back().push_back(makeTensor(type, values));
    }
    return tensors;
  }

  /// Results of @f of `text` on every rank; empty after an error.
  Numbers runRanks(llvm::StringRef text, const Numbers &arguments) {
    auto module = parse(text);
    auto function = module ? module->lookupSymbol<func::FuncOp>("f") : nullptr;
    if (!function) {
      ADD_FAILURE() << "no function @f: " << errors;
      return {};
    }
    auto results = reference::interpretRanks(function, makeArguments(function, arguments),
                                             Mode::Storage);
    Numbers numbers;
    if (failed(results))
      return numbers;
    for (auto &own : *results) {
      numbers.emplace_back();
      for (Tensor &result : own) {
        if (!result.isFloat())
          result.floats.assign(result.ints.begin(), result.ints.end());
        numbers.back().push_back(result.floats);
      }
    }
    return numbers;
  }

  void checkGradient(llvm::StringRef body, llvm::StringRef type);
};

TEST_F(CollectivesTest, SumsInTheOrderOfRanks) {
  // In f32, (2^24 + 1) + 1 is 2^24, and 1 + 1 + 2^24 is more.
  llvm::StringRef text = R"(
    module attributes {mpt.mesh = #mpt.mesh<data = 3>} {
      func.func @f(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
        %s = mpt.all_reduce %x {axis = "data"} : (tensor<f32>) -> tensor<f32>
        %m = mpt.all_reduce %x {axis = "data", kind = #mpt.collective_kind<mean>}
            : (tensor<f32>) -> tensor<f32>
        return %s, %m : tensor<f32>, tensor<f32>
      }
    })";
  const double big = 16777216;
  const auto third = [](double sum) { return static_cast<double>(float(sum) / 3.0f); };
  EXPECT_EQ(runRanks(text, {{{big}}, {{1}}, {{1}}}), Numbers(3, {{big}, {third(big)}}));
  EXPECT_EQ(runRanks(text, {{{1}}, {{1}}, {{big}}}),
            Numbers(3, {{big + 2}, {third(big + 2)}}));
}

TEST_F(CollectivesTest, WidensBeforeItAdds) {
  // 2048 + 1 is 2048 in f16.
  llvm::StringRef text = R"(
    module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
      func.func @f(%x: tensor<1xf16>) -> (tensor<1xf32>, tensor<1xf16>) {
        %a = mpt.all_reduce %x {axis = "data"} : (tensor<1xf16>) -> tensor<1xf32>
        %b = mpt.all_reduce %x {axis = "data"} : (tensor<1xf16>) -> tensor<1xf16>
        return %a, %b : tensor<1xf32>, tensor<1xf16>
      }
    })";
  EXPECT_EQ(runRanks(text, {{{2048}}, {{1}}}), Numbers(2, {{2049}, {2048}}));
}

TEST_F(CollectivesTest, RoundsToWhatTravels) {
  // bf16 has 8 bits: 257 becomes 256, and so does the sum 256 + 1.
  llvm::StringRef text = R"(
    module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
      func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<1xf32>) {
        %a = mpt.all_reduce %x {axis = "data", wire = bf16} : (tensor<2xf32>) -> tensor<2xf32>
        %b = mpt.reduce_scatter %x {axis = "data", wire = bf16} : (tensor<2xf32>) -> tensor<1xf32>
        return %a, %b : tensor<2xf32>, tensor<1xf32>
      }
    })";
  // A part of a reduce_scatter does not travel.
  EXPECT_EQ(runRanks(text, {{{257, 256}}, {{0, 1}}}),
            (Numbers{{{256, 256}, {256}}, {{256, 256}, {257}}}));
}

TEST_F(CollectivesTest, OtherKinds) {
  llvm::StringRef text = R"(
    module attributes {mpt.mesh = #mpt.mesh<data = 3>} {
      func.func @f(%x: tensor<2xf32>, %i: tensor<i8>, %c: tensor<2xi1>)
          -> (tensor<2xf32>, tensor<2xf32>, tensor<i8>, tensor<i8>, tensor<2xi1>) {
        %0 = mpt.all_reduce %x {axis = "data", kind = #mpt.collective_kind<max>} : (tensor<2xf32>) -> tensor<2xf32>
        %1 = mpt.all_reduce %x {axis = "data", kind = #mpt.collective_kind<min>} : (tensor<2xf32>) -> tensor<2xf32>
        %2 = mpt.all_reduce %i {axis = "data"} : (tensor<i8>) -> tensor<i8>
        %3 = mpt.all_reduce %i {axis = "data", kind = #mpt.collective_kind<min>} : (tensor<i8>) -> tensor<i8>
        %4 = mpt.all_reduce %c {axis = "data", kind = #mpt.collective_kind<any>} : (tensor<2xi1>) -> tensor<2xi1>
        return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<i8>, tensor<i8>, tensor<2xi1>
      }
    })";
  // Integers wrap.
  EXPECT_EQ(runRanks(text, {{{1, 5}, {100}, {0, 0}},
                            {{3, -2}, {100}, {0, 1}},
                            {{2, 0}, {-7}, {0, 1}}}),
            Numbers(3, {{3, 5}, {1, -2}, {-63}, {-7}, {0, 1}}));
  auto numbers = runRanks(
      text, {{{1, NAN}, {0}, {0, 0}}, {{3, 1}, {0}, {0, 0}}, {{2, 1}, {0}, {0, 0}}});
  ASSERT_EQ(numbers.size(), 3u);
  for (const auto &own : numbers) {
    EXPECT_TRUE(std::isnan(own[0][1]));
    EXPECT_TRUE(std::isnan(own[1][1]));
  }
}

TEST_F(CollectivesTest, MovesRows) {
  llvm::StringRef text = R"(
    module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
      func.func @f(%x: tensor<2x2xf32>, %i: tensor<1xi32>)
          -> (tensor<4x2xf32>, tensor<2xi32>, tensor<1x2xf32>, tensor<1xi32>, tensor<i64>,
              tensor<2x2xf32>) {
        %0:2 = mpt.all_gather %x, %i {axis = "data"}
            : (tensor<2x2xf32>, tensor<1xi32>) -> (tensor<4x2xf32>, tensor<2xi32>)
        %1 = mpt.reduce_scatter %x {axis = "data", kind = #mpt.collective_kind<mean>}
            : (tensor<2x2xf32>) -> tensor<1x2xf32>
        %2 = mpt.broadcast_from %i {axis = "data", root = 1 : i64} : (tensor<1xi32>) -> tensor<1xi32>
        %3 = mpt.rank {axis = "data"} : () -> tensor<i64>
        %4 = mpt.all_to_all %x {axis = "data"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
        return %0#0, %0#1, %1, %2, %3, %4 : tensor<4x2xf32>, tensor<2xi32>, tensor<1x2xf32>, tensor<1xi32>, tensor<i64>, tensor<2x2xf32>
      }
    })";
  EXPECT_EQ(
      runRanks(text, {{{1, 2, 3, 4}, {7}}, {{5, 6, 7, 8}, {9}}}),
      (Numbers{{{1, 2, 3, 4, 5, 6, 7, 8}, {7, 9}, {3, 4}, {9}, {0}, {1, 2, 5, 6}},
               {{1, 2, 3, 4, 5, 6, 7, 8}, {7, 9}, {5, 6}, {9}, {1}, {3, 4, 7, 8}}}));
}

TEST_F(CollectivesTest, MeetAlongOneAxis) {
  // Ranks 0, 1, 2 are those of model with data = 0, then come 3, 4, 5.
  llvm::StringRef text = R"(
    module attributes {mpt.mesh = #mpt.mesh<data = 2, model = 3>} {
      func.func @f(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i64>, tensor<i64>) {
        %0 = mpt.all_reduce %x {axis = "data"} : (tensor<i32>) -> tensor<i32>
        %1 = mpt.all_reduce %x {axis = "model"} : (tensor<i32>) -> tensor<i32>
        %2 = mpt.rank {axis = "data"} : () -> tensor<i64>
        %3 = mpt.rank {axis = "model"} : () -> tensor<i64>
        return %0, %1, %2, %3 : tensor<i32>, tensor<i32>, tensor<i64>, tensor<i64>
      }
    })";
  EXPECT_EQ(runRanks(text, {{{1}}, {{2}}, {{4}}, {{8}}, {{16}}, {{32}}}),
            (Numbers{{{9}, {7}, {0}, {0}},
                     {{18}, {7}, {0}, {1}},
                     {{36}, {7}, {0}, {2}},
                     {{9}, {56}, {1}, {0}},
                     {{18}, {56}, {1}, {1}},
                     {{36}, {56}, {1}, {2}}}));
}

TEST_F(CollectivesTest, Errors) {
  llvm::StringRef text = R"(
    module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
      func.func @f(%x: tensor<f32>) -> tensor<f32> {
        %s = mpt.all_reduce %x {axis = "data"} : (tensor<f32>) -> tensor<f32>
        return %s : tensor<f32>
      }
    })";
  EXPECT_TRUE(runRanks(text, {{{1}}}).empty());
  EXPECT_NE(errors.find("expected arguments for each of the 2 ranks of the mesh, found "
                        "those of 1"),
            std::string::npos)
      << errors;
  errors.clear();
  EXPECT_TRUE(run(text, {{1}}).empty());
  EXPECT_NE(errors.find("ranks meet here, and one of them runs alone"), std::string::npos)
      << errors;
}

/// `body` computes %y of `type` from %x, 4 numbers, which differ between 2 ranks.
void CollectivesTest::checkGradient(llvm::StringRef body, llvm::StringRef type) {
  const std::string tensor = ("tensor<" + type + ">").str();
  const std::string text =
      "module attributes {mpt.mesh = #mpt.mesh<data = 2>} {\n"
      "func.func @loss(%x: tensor<4xf64> {mpt.name = \"x\", mpt.role = \"parameter\"}, "
      "%w: " +
      tensor +
      " {mpt.name = \"w\", mpt.role = \"input\"}) -> (tensor<f64> {mpt.name = "
      "\"loss\"}) {\n" +
      body.str() + "\n%s = mpt.tanh %y : (" + tensor + ") -> " + tensor +
      "\n%p = mpt.mul %s, %w : (" + tensor + ", " + tensor + ") -> " + tensor +
      "\n%l = mpt.reduce %p {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (" +
      tensor + ") -> tensor<f64>\nreturn %l : tensor<f64>\n}\n}";
  SCOPED_TRACE(text);
  auto forward = parse(text), both = parse(text);
  ASSERT_TRUE(forward && both) << errors;
  PassManager manager(&context);
  manager.addPass(createAutodiffPass());
  ASSERT_TRUE(succeeded(manager.run(*both))) << errors;
  auto loss = forward->lookupSymbol<func::FuncOp>("loss");
  auto gradient = both->lookupSymbol<func::FuncOp>("loss");
  const auto count = cast<RankedTensorType>(loss.getArgumentTypes()[1]).getNumElements();
  Numbers arguments(2);
  for (int rank = 0; rank < 2; ++rank) {
    arguments[rank].push_back({0.3 + rank, -0.2, 0.5 * rank, 0.1});
    arguments[rank].emplace_back();
    for (int64_t i = 0; i < count; ++i)
      arguments[rank].back().push_back(1.0 + 0.5 * i - 0.7 * rank);
  }
  auto results = reference::interpretRanks(gradient, makeArguments(gradient, arguments),
                                           Mode::Float64);
  ASSERT_TRUE(succeeded(results)) << errors;
  // Of the sum of what all ranks return.
  auto evaluate = [&] {
    auto losses =
        reference::interpretRanks(loss, makeArguments(loss, arguments), Mode::Float64);
    return succeeded(losses) ? (*losses)[0][0].floats[0] + (*losses)[1][0].floats[0]
                             : NAN;
  };
  constexpr double h = 1e-4;
  for (int rank = 0; rank < 2; ++rank)
    for (int i = 0; i < 4; ++i) {
      double &x = arguments[rank][0][i];
      const double old = x;
      x = old + h;
      const double above = evaluate();
      x = old - h;
      const double below = evaluate();
      x = old;
      EXPECT_NEAR((*results)[rank][1].floats[i], (above - below) / (2 * h), 1e-7)
          << "rank " << rank << ", element " << i;
    }
}

TEST_F(CollectivesTest, Gradients) {
  const std::string own = " : (tensor<4xf64>) -> tensor<4xf64>";
  for (const char *kind : {"sum", "mean"}) {
    const std::string attributes =
        std::string("{axis = \"data\", kind = #mpt.collective_kind<") + kind + ">}";
    checkGradient("%y = mpt.all_reduce %x " + attributes + own, "4xf64");
    checkGradient("%y = mpt.reduce_scatter %x " + attributes +
                      " : (tensor<4xf64>) -> tensor<2xf64>",
                  "2xf64");
  }
  checkGradient("%y = mpt.all_gather %x {axis = \"data\"} : (tensor<4xf64>) -> "
                "tensor<8xf64>",
                "8xf64");
  checkGradient("%y = mpt.all_to_all %x {axis = \"data\"}" + own, "4xf64");
  checkGradient("%y = mpt.broadcast_from %x {axis = \"data\", root = 1 : i64}" + own,
                "4xf64");
  // One result of two has a gradient.
  checkGradient("%y, %z = mpt.all_reduce %x, %x {axis = \"data\"} : (tensor<4xf64>, "
                "tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)",
                "4xf64");
}

} // namespace
