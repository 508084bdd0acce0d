//===- BytecodeVersionTest.cpp - Versions of bytecode files -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/BytecodeVersion.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

struct BytecodeVersionTest : public testing::Test {
  BytecodeVersionTest() { context.loadDialect<MPTDialect, func::FuncDialect>(); }

  /// A module as bytecode; of `version` unless it is 0.
  std::string write(uint64_t version) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
        R"(func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
             %y = mpt.gelu %x {approximate = #mpt.gelu<tanh>}
                 : (tensor<4xf32>) -> tensor<4xf32>
             return %y : tensor<4xf32>
           })",
        &context);
    EXPECT_TRUE(module);
    BytecodeWriterConfig config;
    if (version)
      config.setDialectVersion<MPTDialect>(std::make_unique<MPTDialectVersion>(version));
    std::string bytes;
    llvm::raw_string_ostream stream(bytes);
    EXPECT_TRUE(succeeded(writeBytecodeToFile(*module, stream, config)));
    return bytes;
  }

  /// The ops of a module in bytecode, or the first error.
  std::string read(const std::string &bytes) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    auto module = parseSourceString<ModuleOp>(bytes, &context);
    if (!module)
      return message;
    std::string names;
    module->walk(
        [&](Operation *op) { names += op->getName().getStringRef().str() + " "; });
    return names;
  }

  MLIRContext context;
};

TEST_F(BytecodeVersionTest, ReadsTheVersionThatItWrites) {
  EXPECT_EQ(read(write(0)), "mpt.gelu func.return func.func builtin.module ");
}

TEST_F(BytecodeVersionTest, EveryKnownVersionIsRead) {
  for (uint64_t version = 1; version <= MPTDialectVersion::kCurrent; ++version)
    EXPECT_EQ(read(write(version)), "mpt.gelu func.return func.func builtin.module ");
}

TEST_F(BytecodeVersionTest, NamesTheNewerVersionThatItCannotRead) {
  uint64_t newer = MPTDialectVersion::kCurrent + 1;
  std::string message = read(write(newer));
  EXPECT_NE(message.find("expected version 1 to " +
                         std::to_string(MPTDialectVersion::kCurrent) +
                         " of the mpt dialect, found " + std::to_string(newer)),
            std::string::npos)
      << message;
}

} // namespace
