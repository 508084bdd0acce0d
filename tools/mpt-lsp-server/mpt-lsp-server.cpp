//===- mpt-lsp-server.cpp - The language server for editors -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mpt/InitAll.h"
#include "mpt/Tools/LLVMOptions.h"

int main(int argc, char **argv) {
  mpt::hideLLVMOptions();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mpt::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
