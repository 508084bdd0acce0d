//===- GradientCases.h - A function for every differentiable op -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_REFERENCE_GRADIENTCASES_H
#define MPT_UNITTESTS_REFERENCE_GRADIENTCASES_H

#include <string>
#include <vector>

namespace mpt::test {

/// An argument of a case: `%name: tensor<type>`.
struct GradientArgument {
  std::string name;
  std::string type;
  /// Values of a parameter are spread over [low, high], all distinct and none
  /// close to zero.
  double low = -2.0, high = 2.0;
  /// Values of an argument that is not differentiated for.
  std::vector<double> fixed = {};
};

/// A smooth function around its arguments' values that ends in a scalar.
struct GradientCase {
  /// The op it is about, as "mpt.relu".
  std::string op;
  std::vector<GradientArgument> arguments;
  /// Ops that define %y.
  std::string body;
  /// %y's type, as "4x8xf64".
  std::string type;
};

std::vector<GradientCase> getGradientCases();

} // namespace mpt::test

#endif // MPT_UNITTESTS_REFERENCE_GRADIENTCASES_H
