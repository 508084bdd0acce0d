//===- BytecodeVersion.h - Version of the dialect in bytecode -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bytecode files say which version of the mpt dialect wrote them, so that a
/// program that is too old for a file says so instead of misreading it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_BYTECODEVERSION_H
#define MPT_DIALECT_MPT_IR_BYTECODEVERSION_H

#include "mlir/Bytecode/BytecodeImplementation.h"

#include <cstdint>

namespace mpt {

/// The version that is written (unless the writer's configuration names one)
/// and the newest that can be read. It goes up by one with every change of the
/// ops or attributes that an older reader would take for something else.
struct MPTDialectVersion : public mlir::DialectVersion {
  static constexpr uint64_t kCurrent = 1;

  explicit MPTDialectVersion(uint64_t number = kCurrent) : number(number) {}

  uint64_t number;
};

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_BYTECODEVERSION_H
