//===- my-compiler.cpp - Someone else's compiler ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parses the program given as the first argument, runs MPT's autocast on it
/// and prints the result: what a compiler that links MPT's passes does.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Precision/Passes.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: my-compiler FILE.mlir\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  registry.insert<mpt::MPTDialect, mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  mlir::PassManager passes(&context);
  mpt::AutocastPassOptions options;
  options.type = "bf16";
  passes.addPass(mpt::createAutocastPass(options));
  if (failed(passes.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
