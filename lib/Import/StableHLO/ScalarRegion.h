//===- ScalarRegion.h - What regions of StableHLO compute ------ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_IMPORT_STABLEHLO_SCALARREGION_H
#define MPT_LIB_IMPORT_STABLEHLO_SCALARREGION_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpt::stablehlo {

/// The results of a block over scalars for these arguments, in f64; truth values are 0
/// and
/// 1. Nothing if it has an op that is not known here. Recognizes bodies by what they
/// compute.
std::optional<llvm::SmallVector<double>>
evaluateScalars(mlir::Block &block, llvm::ArrayRef<double> arguments);

/// Evaluates scalars of integers, which are known for some values.
class IntegerEvaluator {
public:
  using Numbers = llvm::DenseMap<mlir::Value, int64_t>;

  /// `outer`, which must outlive this, has more known values.
  explicit IntegerEvaluator(const Numbers &outer) : outer(&outer) {}

  void set(mlir::Value value, int64_t number) { known[value] = number; }
  /// Nothing if `value` depends on something that is not known, or on an op that is not
  /// one of integer arithmetic. Numbers wrap around as those of the value's type.
  std::optional<int64_t> evaluate(mlir::Value value);

private:
  const Numbers *outer;
  Numbers known;
};

} // namespace mpt::stablehlo

#endif // MPT_LIB_IMPORT_STABLEHLO_SCALARREGION_H
