//===- InterpreterTest.cpp - What is not one op's formula -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rounding, calls, kernels, errors and that every op has an evaluator. Ops'
/// formulas are held to NumPy in test/Reference.
///
//===----------------------------------------------------------------------===//

#include "ReferenceTestSupport.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::test;

namespace {

using Numbers = std::vector<std::vector<double>>;
constexpr double kInf = std::numeric_limits<double>::infinity();

class InterpreterTest : public ModelTest {};

TEST_F(InterpreterTest, EveryTensorOpHasAnEvaluator) {
  // What back ends consume, and terminators.
  const llvm::StringRef dialects[] = {"mpt", "mpt_kernel"};
  const llvm::StringRef others[] = {"mpt_kernel.func", "mpt_kernel.yield", "mpt.yield"};
  unsigned count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (!llvm::is_contained(dialects, name.getDialectNamespace()) ||
        llvm::is_contained(others, name.getStringRef()))
      continue;
    ++count;
    EXPECT_TRUE(reference::isInterpreted(name.getStringRef()))
        << name.getStringRef().str();
  }
  EXPECT_GT(count, 80u);
}

TEST_F(InterpreterTest, RoundsToNearestEven) {
  Builder b(&context);
  auto round = [](double value, FloatType type) {
    return reference::roundToType(value, type);
  };
  // bf16 has 8 significant bits: at 1 its unit is 2^-7.
  FloatType bf16 = b.getBF16Type();
  EXPECT_EQ(round(1.0 + std::ldexp(1.0, -8), bf16), 1.0);
  EXPECT_EQ(round(1.0 + 3 * std::ldexp(1.0, -8), bf16), 1.0 + std::ldexp(1.0, -6));
  EXPECT_EQ(round(1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40), bf16),
            1.0 + std::ldexp(1.0, -7));
  // f16 overflows from 65520 and its smallest subnormal is 2^-24.
  FloatType f16 = b.getF16Type();
  EXPECT_EQ(round(65519.99, f16), 65504.0);
  EXPECT_EQ(round(65520.0, f16), kInf);
  EXPECT_EQ(round(std::ldexp(1.0, -25), f16), 0.0);
  EXPECT_EQ(round(std::ldexp(1.5, -25), f16), std::ldexp(1.0, -24));
  // f8E4M3FN ends at 448 and has no infinity; f8E5M2 ends at 57344.
  FloatType f8e4 = Float8E4M3FNType::get(&context);
  EXPECT_EQ(round(463.0, f8e4), 448.0);
  EXPECT_TRUE(std::isnan(round(500.0, f8e4)));
  EXPECT_EQ(round(-1.0625, f8e4), -1.0);
  FloatType f8e5 = Float8E5M2Type::get(&context);
  EXPECT_EQ(round(61439.0, f8e5), 57344.0);
  EXPECT_EQ(round(61440.0, f8e5), kInf);
  // f32 over its largest number.
  FloatType f32 = b.getF32Type();
  EXPECT_EQ(round(3.5e38, f32), kInf);
  EXPECT_EQ(round(-1e300, f32), -kInf);
  EXPECT_EQ(round(1.0 + std::ldexp(1.0, -24), f32), 1.0);
  EXPECT_TRUE(std::isnan(round(NAN, f32)));
}

TEST_F(InterpreterTest, RoundsEachResultOnceOrNever) {
  llvm::StringRef text = R"(
    func.func @f(%x: tensor<1xbf16>) -> (tensor<1xbf16>, tensor<1xf32>) {
      %y = mpt.mul %x, %x : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xbf16>
      %z = mpt.mul %x, %x : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xf32>
      return %y, %z : tensor<1xbf16>, tensor<1xf32>
    })";
  // The square of 1 + u is 1 + 2u + u^2.
  double u = std::ldexp(1.0, -7), x = 1.0 + u;
  EXPECT_EQ(run(text, {{x}}), (Numbers{{1.0 + 2.0 * u}, {x * x}}));
  // The argument is rounded too.
  EXPECT_EQ(run(text, {{1.0 + u / 4}}), (Numbers{{1.0}, {1.0}}));
  double third = 1.0 / 3.0;
  EXPECT_EQ(run(text, {{third}}, Mode::Float64),
            (Numbers{{third * third}, {third * third}}));
}

TEST_F(InterpreterTest, IntegersWrap) {
  EXPECT_EQ(run(R"(
    func.func @f(%x: tensor<3xi8>, %y: tensor<3xi8>)
        -> (tensor<3xi8>, tensor<3xi8>, tensor<3xi8>) {
      %s = mpt.add %x, %y : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
      %p = mpt.mul %x, %y : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
      %q = mpt.div %x, %y : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
      return %s, %p, %q : tensor<3xi8>, tensor<3xi8>, tensor<3xi8>
    })",
                {{127, -128, 7}, {1, -1, 0}}),
            (Numbers{{-128, 127, 7}, {127, -128, 0}, {127, -128, 0}}));
}

TEST_F(InterpreterTest, CallsAndCheckpoints) {
  EXPECT_EQ(run(R"(
    func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = mpt.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %y : tensor<2xf32>
    }
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %z = mpt.checkpoint {
        %a = mpt.mul %y, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        mpt.yield %a : tensor<2xf32>
      } : tensor<2xf32>
      return %z : tensor<2xf32>
    })",
                {{1, 3}}),
            (Numbers{{2, 18}}));
}

TEST_F(InterpreterTest, Scans) {
  // c = c w + x[i], and what c was before; from the first slice, then from the last. Both
  // w and what is made of it above are read in each iteration.
  llvm::StringRef text = R"(
    func.func @f(%c: tensor<1xf32>, %x: tensor<3x1xf32>, %w: tensor<1xf32>)
        -> (tensor<1xf32>, tensor<3x1xf32>) {
      %v = mpt.add %w, %w : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
      %a:2 = mpt.scan 3 DIRECTION carry(%c : tensor<1xf32>) over(%x : tensor<3x1xf32>) {
      ^bb0(%h: tensor<1xf32>, %e: tensor<1xf32>):
        %s = mpt.sub %v, %w : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
        %p = mpt.mul %h, %s : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
        %n = mpt.add %p, %e : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
        mpt.yield %n, %h : tensor<1xf32>, tensor<1xf32>
      } : tensor<1xf32>, tensor<3x1xf32>
      return %a#0, %a#1 : tensor<1xf32>, tensor<3x1xf32>
    })";
  auto [before, after] = text.split("DIRECTION");
  EXPECT_EQ(run((before + after).str(), {{1}, {3, 5, 7}, {2}}),
            (Numbers{{37}, {1, 5, 15}}));
  EXPECT_EQ(run((before + "reverse" + after).str(), {{1}, {3, 5, 7}, {2}}),
            (Numbers{{49}, {23, 9, 1}}));
}

TEST_F(InterpreterTest, ScansInScans) {
  // Three times two iterations, each with slices of its own; integers are carried too.
  EXPECT_EQ(run(R"(
    func.func @f(%c: tensor<i32>, %x: tensor<3x2xi32>) -> (tensor<i32>, tensor<3x2xi32>) {
      %a:2 = mpt.scan 3 carry(%c : tensor<i32>) over(%x : tensor<3x2xi32>) {
      ^bb0(%h: tensor<i32>, %row: tensor<2xi32>):
        %b:2 = mpt.scan 2 carry(%h : tensor<i32>) over(%row : tensor<2xi32>) {
        ^bb0(%g: tensor<i32>, %e: tensor<i32>):
          %m = mpt.mul %c, %e : (tensor<i32>, tensor<i32>) -> tensor<i32>
          %n = mpt.add %g, %m : (tensor<i32>, tensor<i32>) -> tensor<i32>
          mpt.yield %n, %n : tensor<i32>, tensor<i32>
        } : tensor<i32>, tensor<2xi32>
        mpt.yield %b#0, %b#1 : tensor<i32>, tensor<2xi32>
      } : tensor<i32>, tensor<3x2xi32>
      return %a#0, %a#1 : tensor<i32>, tensor<3x2xi32>
    })",
                {{10}, {1, 2, 3, 4, 5, 6}}),
            (Numbers{{220}, {20, 40, 70, 110, 160, 220}}));
}

TEST_F(InterpreterTest, ConditionalScansEndEarly) {
  // A branch, and a loop that adds x until the sum is no longer below a limit.
  llvm::StringRef text = R"(
    func.func @f(%p: tensor<i1>, %x: tensor<f32>, %limit: tensor<f32>)
        -> (tensor<f32>, tensor<f32>, tensor<i32>) {
      %a:2 = mpt.scan conditional 1 carry(%p, %x : tensor<i1>, tensor<f32>) {
      ^bb0(%c: tensor<i1>, %v: tensor<f32>):
        %n = mpt.neg %v : (tensor<f32>) -> tensor<f32>
        mpt.yield %c, %n : tensor<i1>, tensor<f32>
      } : tensor<i1>, tensor<f32>
      %zero = mpt.constant dense<0> : tensor<i32>
      %one = mpt.constant dense<1> : tensor<i32>
      %b:3 = mpt.scan conditional 5 carry(%p, %x, %zero : tensor<i1>, tensor<f32>, tensor<i32>) {
      ^bb0(%c: tensor<i1>, %v: tensor<f32>, %i: tensor<i32>):
        %s = mpt.add %v, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
        %k = mpt.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
        %more = mpt.compare %s, %limit {predicate = #mpt.predicate<lt>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
        mpt.yield %more, %s, %k : tensor<i1>, tensor<f32>, tensor<i32>
      } : tensor<i1>, tensor<f32>, tensor<i32>
      return %a#1, %b#1, %b#2 : tensor<f32>, tensor<f32>, tensor<i32>
    })";
  EXPECT_EQ(run(text.str(), {{1}, {3}, {10}}), (Numbers{{-3}, {12}, {3}}));
  EXPECT_EQ(run(text.str(), {{0}, {3}, {10}}), (Numbers{{3}, {3}, {0}}));
  EXPECT_EQ(run(text.str(), {{1}, {3}, {100}}), (Numbers{{-3}, {18}, {5}}));
}

TEST_F(InterpreterTest, KernelsRunOpByOp) {
  // Rows: y = x - mean(x), rounded to bf16 inside; columns: sums of squares.
  EXPECT_EQ(run(R"(
    func.func @f(%x: tensor<2x4xf32>, %b: tensor<6xf32>)
        -> (tensor<2x4xf32>, tensor<4xf32>) {
      %y, %s = "mpt_kernel.kernel"(%x, %b) <{kind = #mpt_kernel.kind<column>,
          domain = array<i64: 2, 4>, chunk_rows = 1 : i64,
          operand_maps = [affine_map<(d0, d1) -> (d0, d1)>,
                          affine_map<(d0, d1) -> (d1 + 2)>],
          result_maps = [affine_map<(d0, d1) -> (d0, d1)>,
                         affine_map<(d0, d1) -> (d1)>]}> ({
      ^bb0(%e: f32, %c: f32):
        %m = mpt_kernel.row_reduce <mean> %e : f32
        %d = arith.subf %e, %m : f32
        %t = arith.truncf %d : f32 to bf16
        %w = arith.extf %t : bf16 to f32
        %z = arith.addf %w, %c : f32
        %q = arith.mulf %e, %e : f32
        %r = mpt_kernel.column_reduce <sum> %q : f32
        mpt_kernel.yield %z, %r : f32, f32
      }) : (tensor<2x4xf32>, tensor<6xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
      return %y, %s : tensor<2x4xf32>, tensor<4xf32>
    })",
                {{1, 2, 3, 6, 0, 0, 0, 4}, {9, 9, 1, 2, 3, 4}}),
            (Numbers{{-1, 1, 3, 7, 0, 1, 2, 7}, {1, 4, 9, 52}}))
      << errors;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(InterpreterTest, ReportsAnUnknownOp) {
  EXPECT_TRUE(run(R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = math.cbrt %x : tensor<2xf32>
      return %y : tensor<2xf32>
    })",
                  {{1, 8}})
                  .empty());
  EXPECT_NE(errors.find("'math.cbrt' op cannot be interpreted"), std::string::npos)
      << errors;
}

TEST_F(InterpreterTest, ReportsAnOpenShape) {
  auto module = parse("func.func @f(%x: tensor<?xf32>) { return }");
  auto function = module->lookupSymbol<func::FuncOp>("f");
  Tensor tensor;
  tensor.elementType = Builder(&context).getF32Type();
  tensor.shape = {1};
  tensor.floats = {1.0};
  EXPECT_TRUE(failed(reference::interpret(function, {tensor}, Mode::Storage)));
  EXPECT_NE(errors.find("run --mpt-specialize first"), std::string::npos) << errors;
}

TEST_F(InterpreterTest, ReportsRecursion) {
  EXPECT_TRUE(run(R"(
    func.func @f(%x: tensor<f32>) -> tensor<f32> {
      %y = call @f(%x) : (tensor<f32>) -> tensor<f32>
      return %y : tensor<f32>
    })",
                  {{1}})
                  .empty());
  EXPECT_NE(errors.find("remove the recursion"), std::string::npos) << errors;
}

TEST_F(InterpreterTest, ReportsBranches) {
  EXPECT_TRUE(run(R"(
    func.func @f(%x: tensor<f32>) -> tensor<f32> {
      "func.return"(%x) : (tensor<f32>) -> ()
    ^bb1:
      return %x : tensor<f32>
    })",
                  {{1}})
                  .empty());
  EXPECT_NE(errors.find("expected one block"), std::string::npos) << errors;
}

TEST_F(InterpreterTest, ReportsAnIndexOutOfRange) {
  llvm::StringRef text = R"(
    func.func @f(%t: tensor<3x2xf32>, %i: tensor<2xi32>) -> tensor<2x2xf32> {
      %y = mpt.gather %t, %i : (tensor<3x2xf32>, tensor<2xi32>) -> tensor<2x2xf32>
      return %y : tensor<2x2xf32>
    })";
  EXPECT_TRUE(run(text, {{1, 2, 3, 4, 5, 6}, {0, 3}}).empty());
  EXPECT_NE(errors.find("expected indices in [0, 3), found 3"), std::string::npos)
      << errors;
}

TEST_F(InterpreterTest, ReportsALabelOutOfRange) {
  llvm::StringRef text = R"(
    func.func @f(%x: tensor<2x3xf32>, %t: tensor<2xi32>) -> tensor<f32> {
      %l, %e = mpt.cross_entropy %x, %t {ignore_index = -1 : i64}
          : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
      return %l : tensor<f32>
    })";
  EXPECT_TRUE(run(text, {{1, 2, 3, 4, 5, 6}, {-1, -2}}).empty());
  EXPECT_NE(errors.find("expected labels in [0, 3), found -2"), std::string::npos)
      << errors;
}

TEST_F(InterpreterTest, ReportsAGemmThatSavesBits) {
  llvm::StringRef text = R"(
    func.func @f(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
      %y, %bits = mpt.gemm %x, %x {epilogue = #mpt.epilogue<relu>,
          resultSegmentSizes = array<i32: 1, 1, 0>}
          : (tensor<1x1xf32>, tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<1x16xi8>)
      return %y : tensor<1x1xf32>
    })";
  EXPECT_TRUE(run(text, {{1}}).empty());
  EXPECT_NE(errors.find("interpret the step before --mpt-fuse-gemm-epilogues"),
            std::string::npos)
      << errors;
}

TEST_F(InterpreterTest, ReportsWrongArguments) {
  auto module = parse("func.func @f(%x: tensor<2xf32>) { return }");
  auto function = module->lookupSymbol<func::FuncOp>("f");
  EXPECT_TRUE(failed(reference::interpret(function, {}, Mode::Storage)));
  EXPECT_NE(errors.find("expected 1 arguments, found 0"), std::string::npos);
  Tensor tensor;
  tensor.elementType = Builder(&context).getF32Type();
  tensor.shape = {3};
  tensor.floats = {1, 2, 3};
  EXPECT_TRUE(failed(reference::interpret(function, {tensor}, Mode::Storage)));
  EXPECT_NE(errors.find("argument 0 expected elements of type"), std::string::npos)
      << errors;
}

} // namespace
