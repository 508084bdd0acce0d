//===- Widenings.h - One widening of each narrow value ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A narrow value is often widened in several places: directly by elementwise ops, and
/// after transposes and reshapes by matmuls. IREE 3.13 moves conversions to where shape
/// ops begin, merges them after that, and then moves a shape op across the merged
/// conversion without changing what else reads it, which leaves operands of unlike
/// shapes. Widening is exact and commutes with shape ops, so that one conversion says the
/// same.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_EXPORT_STABLEHLO_WIDENINGS_H
#define MPT_LIB_EXPORT_STABLEHLO_WIDENINGS_H

#include "mlir/IR/Region.h"

namespace mpt::tostablehlo {

/// Merges the conversions of a float to one wider type in each block of `region`: those
/// of one value, and those of its transposes and reshapes that nothing else reads, which
/// then happen in the wider type.
void mergeWidenings(mlir::Region &region);

} // namespace mpt::tostablehlo

#endif // MPT_LIB_EXPORT_STABLEHLO_WIDENINGS_H
