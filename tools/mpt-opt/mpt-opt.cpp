//===- mpt-opt.cpp - The optimizer driver -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "mpt/Precision/ExternalModels/ExternalModels.h"
#include "mpt/InitAll.h"
#include "mpt/Support/Version.h"

#include "llvm/Support/CommandLine.h"

/// libLLVM gives every program that links it the options of all its code
/// generators. They stay usable; --help-hidden lists them.
static void hideOptionsOfLLVM() {
  for (auto [name, option] : llvm::cl::getRegisteredOptions())
    if (!name.starts_with("help") && name != "version")
      option->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char **argv) {
  hideOptionsOfLLVM();
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "MPT version " << mpt::kVersion << "\n"; });
  mlir::DialectRegistry registry;
  // Everything parses; of the passes, those that go with MPT's. mlir-opt has the
  // others, and loads MPT as a plugin.
  mlir::registerAllDialects(registry);
  mpt::registerAllDialects(registry);
  mpt::registerPrecisionExternalModels(registry);
  mlir::registerTransformsPasses();
  mpt::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "MPT: mixed-precision training passes\n", registry));
}
