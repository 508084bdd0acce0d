//===- BytecodeVersion.cpp - Version of the dialect in bytecode -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/BytecodeVersion.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

using namespace mlir;
using namespace mpt;

namespace {
struct MPTBytecodeInterface : public BytecodeDialectInterface {
  explicit MPTBytecodeInterface(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    uint64_t number = MPTDialectVersion::kCurrent;
    FailureOr<const DialectVersion *> wanted = writer.getDialectVersion<MPTDialect>();
    if (succeeded(wanted))
      number = static_cast<const MPTDialectVersion *>(*wanted)->number;
    writer.writeVarInt(number);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t number = 0;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number >= 1 && number <= MPTDialectVersion::kCurrent)
      return std::make_unique<MPTDialectVersion>(number);
    reader.emitError("expected version 1 to ")
        << MPTDialectVersion::kCurrent << " of the mpt dialect, found " << number
        << "; read the file with the MPT that wrote it, or write it as text";
    return nullptr;
  }
};
} // namespace

void MPTDialect::addBytecodeInterface() { addInterfaces<MPTBytecodeInterface>(); }
