//===- StepComparisonTest.cpp - Whole steps against the oracle --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loss, gradients and whole steps of the examples' networks, compiled and
/// interpreted, in f32, bf16 and f16. (Single ops are held to elementwise bounds in
/// test/Reference/cpu.test.)
///
/// The bound. Let got be the compiled result, want the oracle's in Storage mode,
/// exact that in Float64 mode. The oracle rounds each of the graph's values once,
/// to its type's unit roundoff u_s: want - exact is what these roundings do to a
/// result on their way through the graph, whatever its conditioning. Compiled
/// code rounds the same values and, inside an op, sums of up to k terms in f32.
/// For a sum of k terms with rounding errors of mean zero the error is at most
/// lambda sqrt(k) u_a sum|a||b| with probability 1 - 2 exp(-lambda^2 / 2) (Higham
/// and Mary, "A new approach to probabilistic rounding error analysis", 2019),
/// u_a = 2^-24. So a compiled value carries at most 1 + lambda sqrt(k) u_a / u_s
/// times the error of the oracle's, and passes it on through the same graph; its
/// distance to the oracle's adds both:
///
///   |got - want| <= (2 + lambda sqrt(k) u_a / u_s) max(|want - exact|, u_s |exact|)
///
/// in the Euclidean norm of each result, lambda = 4 (1 - 7e-4), k the longest sum
/// of the graph and its gradient. The second term of the maximum stands for
/// results of few elements, whose one rounding error may happen to be small.
///
//===----------------------------------------------------------------------===//

#include "ExampleNetworks.h"
#include "mpt/Reference/ReferenceEngine.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::test;

namespace {

class StepComparisonTest : public ExampleNetworkTest {
protected:
  Results interpret(const Network &network, const std::string &passes,
                    reference::Mode mode) {
    auto module = load(network, passes);
    if (!module) {
      ADD_FAILURE() << "the passes " << passes << " failed";
      return {};
    }
    return run(network, createReferenceEngine(std::move(module), "loss", mode));
  }

  void compareWithCompiled(const Network &network, const std::string &passes,
                           double storageUnit);
  void compareSteps(const Network &network, const std::string &precision,
                    double storageUnit, bool takesStep);
};

double norm(const HostTensor &tensor) {
  double sum = 0.0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    sum += tensor.getElement(i) * tensor.getElement(i);
  return std::sqrt(sum);
}

double distance(const HostTensor &a, const HostTensor &b) {
  double sum = 0.0;
  for (int64_t i = 0; i < a.getNumElements(); ++i) {
    double difference = a.getElement(i) - b.getElement(i);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

double getBound(const Network &network, const HostTensor &want, const HostTensor &exact,
                double storageUnit) {
  const double accumulatorUnit = 0x1p-24, lambda = 4.0;
  double terms = static_cast<double>(network.longestSum);
  double factor = 2.0 + lambda * std::sqrt(terms) * accumulatorUnit / storageUnit;
  return factor * std::max(distance(want, exact), storageUnit * norm(exact));
}

void StepComparisonTest::compareWithCompiled(const Network &network,
                                             const std::string &passes,
                                             double storageUnit) {
  auto module = load(network, passes);
  ASSERT_TRUE(module);
  JITOptions options;
  options.threads = 2;
  Results got = run(network, createJITEngine(std::move(module), "loss", options));
  Results want = interpret(network, passes, reference::Mode::Storage);
  Results exact = interpret(network, passes, reference::Mode::Float64);
  ASSERT_EQ(got.size(), want.size());
  ASSERT_GT(want.size(), 8u);
  for (const auto &entry : want) {
    llvm::StringRef name = entry.first();
    ASSERT_TRUE(got.count(name) && exact.count(name)) << name.str();
    EXPECT_FALSE(got[name].findNonFinite()) << name.str();
    EXPECT_LE(distance(got[name], want[name]),
              getBound(network, want[name], exact[name], storageUnit))
        << network.file << passes << " " << name.str();
  }
}

constexpr double kF32 = 0x1p-24, kBF16 = 0x1p-8, kF16 = 0x1p-11;

TEST_F(StepComparisonTest, SinCosF32) { compareWithCompiled(kSinCos, "", kF32); }
TEST_F(StepComparisonTest, SinCosBF16) {
  compareWithCompiled(kSinCos, ",mpt-autocast{type=bf16}", kBF16);
}
TEST_F(StepComparisonTest, SinCosF16) {
  compareWithCompiled(kSinCos, ",mpt-autocast{type=f16}", kF16);
}
TEST_F(StepComparisonTest, DigitsF32) { compareWithCompiled(kDigits, "", kF32); }
TEST_F(StepComparisonTest, DigitsBF16) {
  compareWithCompiled(kDigits, ",mpt-autocast{type=bf16}", kBF16);
}
TEST_F(StepComparisonTest, DigitsF16) {
  compareWithCompiled(kDigits, ",mpt-autocast{type=f16}", kF16);
}
TEST_F(StepComparisonTest, GPTF32) { compareWithCompiled(kGPT, "", kF32); }
TEST_F(StepComparisonTest, GPTBF16) {
  compareWithCompiled(kGPT, ",mpt-autocast{type=bf16}", kBF16);
}
TEST_F(StepComparisonTest, GPTF16) {
  compareWithCompiled(kGPT, ",mpt-autocast{type=f16}", kF16);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The loss in f64 along the gradient g changes by |g| per unit of length. The
/// central difference errs by h^2 times the third derivative and, where a ReLU or
/// a maximum changes its mind within h, by about h.
TEST_F(StepComparisonTest, WholeGradients) {
  for (const Network &network : {kSinCos, kDigits, kGPT}) {
    auto module = load(network, "");
    ASSERT_TRUE(module);
    auto function = module->lookupSymbol<func::FuncOp>("loss");
    auto signature = readStepSignature(function);
    ASSERT_TRUE(succeeded(signature));
    std::vector<reference::Tensor> arguments;
    for (auto [info, type] :
         llvm::zip_equal(signature->arguments, function.getArgumentTypes())) {
      HostTensor host = makeArgument(network, info);
      reference::Tensor tensor;
      tensor.elementType = getElementTypeOrSelf(type);
      tensor.shape.assign(info.shape.begin(), info.shape.end());
      for (int64_t i = 0; i < host.getNumElements(); ++i)
        if (tensor.isFloat())
          tensor.floats.push_back(host.getElement(i));
        else
          tensor.ints.push_back(static_cast<int64_t>(host.getElement(i)));
      arguments.push_back(std::move(tensor));
    }
    auto evaluate = [&] {
      return *reference::interpret(function, arguments, reference::Mode::Float64);
    };
    // Results are the loss and the parameters' gradients in order.
    std::vector<reference::Tensor> at = evaluate();
    double square = 0.0;
    for (const reference::Tensor &gradient : llvm::drop_begin(at))
      for (double value : gradient.floats)
        square += value * value;
    double length = std::sqrt(square);
    auto move = [&](double distance) {
      size_t next = 1;
      for (auto [info, argument] : llvm::zip_equal(signature->arguments, arguments))
        if (info.role == Role::Parameter) {
          const reference::Tensor &gradient = at[next++];
          for (auto [x, slope] : llvm::zip_equal(argument.floats, gradient.floats))
            x += distance / length * slope;
        }
      EXPECT_EQ(next, at.size());
    };
    constexpr double h = 1e-5;
    move(h);
    double above = evaluate()[0].floats[0];
    move(-2 * h);
    double below = evaluate()[0].floats[0];
    EXPECT_NEAR((above - below) / (2 * h), length, 1e-5 * length) << network.file;
  }
}

//===----------------------------------------------------------------------===//
// Whole steps
//===----------------------------------------------------------------------===//

constexpr double kLearningRate = 0.25;

/// With momentum from a zero buffer the new buffer is the clipped gradient and
/// has a gradient's bound; the new parameter's is the learning rate times that
/// and, as it is f32 itself, one rounding. Counters and the scale agree exactly.
void StepComparisonTest::compareSteps(const Network &network,
                                      const std::string &precision, double storageUnit,
                                      bool takesStep) {
  std::string passes =
      ",mpt-train-step{function=loss optimizer=momentum lr=0.25 clip-norm=0.5}" +
      precision;
  auto module = load(network, passes);
  ASSERT_TRUE(module);
  Results got = run(network, createJITEngine(std::move(module), "loss", {{2, false}}));
  Results want = interpret(network, passes, reference::Mode::Storage);
  Results exact = interpret(network, passes, reference::Mode::Float64);
  ASSERT_EQ(got.size(), want.size());
  const std::string suffix = ".momentum_buffer";
  unsigned buffers = 0;
  for (const auto &entry : want) {
    llvm::StringRef name = entry.first();
    ASSERT_TRUE(got.count(name) && exact.count(name)) << name.str();
    double error = distance(got[name], entry.second);
    std::string buffer = name.str() + suffix;
    if (!takesStep && name.starts_with("state:") && name != "state:loss_scale") {
      // Nothing has changed, so nothing was rounded.
      ++buffers;
      EXPECT_TRUE(got[name] == entry.second) << network.file << " " << name.str();
    } else if (name.ends_with(suffix) || name == "loss" ||
               (name == "grad_norm" && takesStep)) {
      ++buffers;
      EXPECT_LE(error, getBound(network, entry.second, exact[name], storageUnit))
          << network.file << precision << " " << name.str();
      EXPECT_GT(norm(got[name]), 0.0) << name.str();
    } else if (want.count(buffer)) {
      EXPECT_LE(error, kLearningRate * getBound(network, want[buffer], exact[buffer],
                                                storageUnit) +
                           0x1p-23 * norm(entry.second))
          << network.file << precision << " " << name.str();
    } else if (name != "grad_norm") {
      EXPECT_TRUE(got[name] == entry.second)
          << network.file << precision << " " << name.str();
    }
  }
  EXPECT_GT(buffers, 8u);
}

TEST_F(StepComparisonTest, StepsF32) {
  compareSteps(kSinCos, "", kF32, true);
  compareSteps(kDigits, "", kF32, true);
}
TEST_F(StepComparisonTest, StepsBF16) {
  std::string passes = ",mpt-master-weights,mpt-autocast{type=bf16}";
  compareSteps(kSinCos, passes, kBF16, true);
  compareSteps(kDigits, passes, kBF16, true);
}
TEST_F(StepComparisonTest, StepsF16) {
  std::string passes = ",mpt-master-weights,mpt-loss-scale{mode=dynamic "
                       "init-scale=1024},mpt-autocast{type=f16}";
  compareSteps(kSinCos, passes, kF16, true);
  compareSteps(kDigits, passes, kF16, true);
}
/// With a scale that overflows f16 both leave the state alone.
TEST_F(StepComparisonTest, SkippedStepsF16) {
  std::string passes = ",mpt-master-weights,mpt-loss-scale{mode=dynamic "
                       "init-scale=1e30},mpt-autocast{type=f16}";
  compareSteps(kSinCos, passes, kF16, false);
  compareSteps(kDigits, passes, kF16, false);
}

//===----------------------------------------------------------------------===//
// Passes that must not change what is computed
//===----------------------------------------------------------------------===//

/// In Float64 mode decomposed and fused graphs compute the same numbers up to
/// constants that were rounded to f32, and, for gradients that are zero but for
/// rounding (attention does not depend on the keys' bias), the f64 noise of what
/// they sum.
TEST_F(StepComparisonTest, PassesKeepTheFunction) {
  for (const Network &network : {kSinCos, kDigits, kGPT}) {
    Results want = interpret(network, "", reference::Mode::Float64);
    double largest = 0.0;
    for (const auto &entry : want)
      largest = std::max(largest, norm(entry.second));
    for (const char *passes :
         {",mpt-decompose", ",mpt-decompose,mpt-fuse-kernels",
          ",mpt-autocast{type=bf16},mpt-decompose,mpt-fuse-kernels"}) {
      Results got = interpret(network, passes, reference::Mode::Float64);
      ASSERT_EQ(got.size(), want.size());
      for (const auto &entry : want) {
        HostTensor &result = got[entry.first()];
        EXPECT_LE(distance(result, entry.second),
                  1e-6 * norm(entry.second) + 1e-14 * largest)
            << network.file << passes << " " << entry.first().str();
      }
    }
  }
}

/// Fusing decomposed ops keeps every rounding, so every bit.
TEST_F(StepComparisonTest, FusionKeepsTheBits) {
  for (const Network &network : {kSinCos, kDigits})
    for (std::string precision : {"", ",mpt-autocast{type=bf16}"}) {
      std::string passes = precision + ",mpt-decompose";
      Results want = interpret(network, passes, reference::Mode::Storage);
      Results got =
          interpret(network, passes + ",mpt-fuse-kernels", reference::Mode::Storage);
      for (const auto &entry : want)
        EXPECT_EQ(distance(got[entry.first()], entry.second), 0.0)
            << network.file << passes << " " << entry.first().str();
    }
}

} // namespace
