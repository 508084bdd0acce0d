//===- ConstantElements.h - Constants in the low type -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Constants of f32 that can be converted when the pass runs: `dense` ones and
/// resources (`dense_resource`) whose data is there.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_CONSTANTELEMENTS_H
#define MPT_LIB_PRECISION_CONSTANTELEMENTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

namespace mpt {

/// The numbers of an f32 constant in the text or in a resource.
class ConstantElements {
public:
  explicit ConstantElements(mlir::ElementsAttr elements);

  /// False if they are not known, or not f32.
  explicit operator bool() const { return dense || !numbers.empty(); }
  /// Why not, as a clause.
  llvm::StringRef getObstacle() const { return obstacle; }

  bool isSplat() const {
    return dense ? dense.isSplat() : !numbers.empty() && llvm::all_equal(numbers);
  }
  float getSplat() const {
    return dense ? dense.getSplatValue<float>() : numbers.front();
  }
  bool all(llvm::function_ref<bool(float)> predicate) const;
  /// Whether numbers that `low` rounds to zero are less than what it takes from the
  /// largest: in a sum of products they do not count.
  bool losesLittle(mlir::FloatType low) const;

  /// The same, rounded to `low`; a resource becomes dense.
  mlir::ElementsAttr convert(mlir::FloatType low) const;

private:
  mlir::DenseFPElementsAttr dense;
  mlir::DenseResourceElementsAttr resource;
  llvm::ArrayRef<float> numbers;
  llvm::StringRef obstacle;
};

} // namespace mpt

#endif // MPT_LIB_PRECISION_CONSTANTELEMENTS_H
