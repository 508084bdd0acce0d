//===- mpt-opt.cpp - The optimizer driver -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "mpt/Dialect/MPT/IR/OpReference.h"
#include "mpt/Import/StableHLO/Passes.h"
#include "mpt/Import/Torch/Passes.h"
#include "mpt/InitAll.h"
#include "mpt/Precision/ExternalModels/ExternalModels.h"
#include "mpt/Support/ForeignBytecode.h"
#include "mpt/Support/ForeignCalls.h"
#include "mpt/Tools/LLVMOptions.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

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

namespace {
/// Runs the passes that the user asked for on a module from or for bytecode.
struct BytecodePass : PassWrapper<BytecodePass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BytecodePass)

  BytecodePass(OpPassManager passes, bool reads, bool writes)
      : passes(std::move(passes)), reads(reads), writes(writes) {}
  llvm::StringRef getName() const override { return "bytecode"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
  }
  void runOnOperation() override {
    if ((reads && failed(mpt::checkForeignProperties(getOperation()))) ||
        failed(runPipeline(passes, getOperation())) ||
        (writes && failed(mpt::moveForeignProperties(getOperation()))))
      signalPassFailure();
  }

  OpPassManager passes;
  bool reads, writes;
};
/// Makes what was parsed without verification what the user's passes may see.
struct ForeignCallsPass : PassWrapper<ForeignCallsPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ForeignCallsPass)

  llvm::StringRef getName() const override { return "foreign-calls"; }
  void runOnOperation() override {
    mpt::inlineForeignCalls(getOperation());
    if (failed(verify(getOperation())))
      signalPassFailure();
  }
};
} // namespace

/// What to do about input that only StableHLO's own tools can read; "" for other input.
static const char *explainStableHLO(llvm::MemoryBufferRef input) {
  llvm::StringRef text = input.getBuffer();
  // After the magic number and the version, bytecode names what wrote it.
  if (isBytecode(input))
    return text.drop_front(5).starts_with("StableHLO_")
               ? "expected MLIR's generic form, found a portable artifact of StableHLO; "
                 "`python -m mpt.jax FILE` prints it, as does jaxlib.mlir.dialects."
                 "stablehlo.deserialize_portable_artifact(context, bytes).operation."
                 "get_asm(print_generic_op_form=True)"
               : "";
  return text.contains("= stablehlo.") || text.contains("= vhlo.")
             ? "expected MLIR's generic form, found StableHLO's own syntax; `python -m "
               "mpt.jax FILE` prints it, as does jax.jit(f).lower(..).compiler_ir("
               "\"stablehlo\").operation.get_asm(print_generic_op_form=True)"
             : "";
}

/// As MlirOptMain, with ops of other compilers in bytecode.
static LogicalResult optimize(int argc, char **argv, const std::string &input,
                              const std::string &output, DialectRegistry &registry) {
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  // From a terminal, MlirOptMain says that it waits.
  if (config.shouldShowDialects() || config.shouldListPasses() ||
      (input == "-" && llvm::sys::Process::StandardInIsUserInput()))
    return MlirOptMain(argc, argv, input, output, registry);

  llvm::InitLLVM init(argc, argv);
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> read = openInputFile(input, &problem);
  std::unique_ptr<llvm::ToolOutputFile> written =
      read ? openOutputFile(output, &problem) : nullptr;
  if (!written) {
    llvm::errs() << problem << "\n";
    return failure();
  }
  const bool reads = isBytecode(read->getMemBufferRef());
  const bool hasCalls =
      config.shouldVerifyOnParsing() && mpt::mayHaveCalls(read->getBuffer());
  const llvm::StringRef remedy = explainStableHLO(read->getMemBufferRef());
  if (hasCalls)
    config.verifyOnParsing(false);
  if (reads || hasCalls || config.shouldEmitBytecode())
    config.setPassPipelineSetupFn([user = config, reads, hasCalls](PassManager &passes) {
      if (hasCalls)
        passes.addPass(std::make_unique<ForeignCallsPass>());
      if (!reads && !user.shouldEmitBytecode())
        return user.setupPassPipeline(passes);
      PassManager asked(passes.getContext(), passes.getOpAnchorName(),
                        passes.getNesting());
      if (failed(user.setupPassPipeline(asked)))
        return failure();
      passes.addPass(
          std::make_unique<BytecodePass>(asked, reads, user.shouldEmitBytecode()));
      return success();
    });
  if (failed(MlirOptMain(written->os(), std::move(read), registry, config))) {
    if (!remedy.empty())
      llvm::errs() << (input == "-" ? "<stdin>" : input) << ": error: " << remedy << "\n";
    return failure();
  }
  written->keep();
  return success();
}

int main(int argc, char **argv) {
  mpt::hideLLVMOptions();
  llvm::cl::opt<std::string> ops(
      "mpt-ops", llvm::cl::ValueOptional, llvm::cl::value_desc("name"),
      llvm::cl::desc("List the ops of the mpt dialect, or print what there is to know "
                     "about one"));
  llvm::cl::opt<bool> torchOps(
      "mpt-torch-ops",
      llvm::cl::desc("List PyTorch's ops that --mpt-convert-torch converts"));
  llvm::cl::opt<bool> stablehloOps(
      "mpt-stablehlo-ops",
      llvm::cl::desc("List StableHLO's ops that --mpt-convert-stablehlo converts"));
  llvm::cl::opt<bool> filterVersion(
      "mpt-filter-version",
      llvm::cl::desc("Print the version of the contract for mpt-opt as a filter"));
  llvm::cl::AddExtraVersionPrinter([](llvm::raw_ostream &os) {
    os << "MPT filter contract " << mpt::kFilterVersion << "\n";
  });
  DialectRegistry registry;
  // Everything parses; of the passes, those that go with MPT's. mlir-opt has the
  // others, and loads MPT as a plugin.
  registerAllDialects(registry);
  mpt::registerAllDialects(registry);
  mpt::registerPrecisionExternalModels(registry);
  registerTransformsPasses();
  mpt::registerAllPasses();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "MPT: mixed-precision training passes\n", registry);
  // `--mpt-ops NAME` gives the name as the input file.
  if (ops.getNumOccurrences())
    return printOps(ops.empty() && input != "-" ? input : ops);
  if (torchOps || stablehloOps) {
    for (llvm::StringRef name : torchOps ? mpt::getTorchOps() : mpt::getStableHLOOps())
      llvm::outs() << name << "\n";
    return 0;
  }
  if (filterVersion) {
    llvm::outs() << mpt::kFilterVersion << "\n";
    return 0;
  }
  return asMainReturnCode(optimize(argc, argv, input, output, registry));
}
