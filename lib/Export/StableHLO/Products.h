//===- Products.h - Operands of matmuls and convolutions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_EXPORT_STABLEHLO_PRODUCTS_H
#define MPT_LIB_EXPORT_STABLEHLO_PRODUCTS_H

#include "Emitter.h"

#include <optional>

namespace mpt::tostablehlo {

/// The type of the sums. Operands get it, too, unless the client reads narrow ones.
mlir::Type widenFactors(Emitter &emitter, mlir::Value &lhs, mlir::Value &rhs,
                        std::optional<mlir::Type> accumulator);

} // namespace mpt::tostablehlo

#endif // MPT_LIB_EXPORT_STABLEHLO_PRODUCTS_H
