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
#include "mpt/InitAll.h"
#include "mpt/Precision/ExternalModels/ExternalModels.h"
#include "mpt/Support/Version.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

/// libLLVM gives every program that links it the options of all its code
/// generators. They stay usable; --help-hidden lists them.
static void hideOptionsOfLLVM() {
  for (auto [name, option] : llvm::cl::getRegisteredOptions())
    if (!name.starts_with("help") && name != "version")
      option->setHiddenFlag(llvm::cl::Hidden);
}

/// Prints what --mpt-ops asks for: a line for each op, or one op's entry.
static int printOps(llvm::StringRef name) {
  if (name.empty()) {
    for (const mpt::OpReference &op : mpt::getOpReferences())
      llvm::outs() << llvm::formatv("mpt.{0,-22} {1}\n", op.name, op.summary);
    return 0;
  }
  const mpt::OpReference *op = mpt::findOpReference(name);
  if (!op) {
    llvm::WithColor::error(llvm::errs(), "mpt-opt")
        << "unknown op '" << name << "'; " << mpt::suggestOp(name) << "\n";
    return 1;
  }
  llvm::outs() << "mpt." << op->name << ": " << op->summary << "\n\n" << op->text << "\n";
  return 0;
}

int main(int argc, char **argv) {
  hideOptionsOfLLVM();
  llvm::cl::opt<std::string> ops(
      "mpt-ops", llvm::cl::ValueOptional, llvm::cl::value_desc("name"),
      llvm::cl::desc("List the ops of the mpt dialect, or print what there is to know "
                     "about one"));
  llvm::cl::opt<bool> torchOps(
      "mpt-torch-ops",
      llvm::cl::desc("List PyTorch's ops that --mpt-convert-torch converts"));
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
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "MPT: mixed-precision training passes\n", registry);
  // `--mpt-ops NAME` gives the name as the input file.
  if (ops.getNumOccurrences())
    return printOps(ops.empty() && input != "-" ? input : ops);
  if (torchOps) {
    for (llvm::StringRef name : mpt::getTorchOps())
      llvm::outs() << name << "\n";
    return 0;
  }
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
