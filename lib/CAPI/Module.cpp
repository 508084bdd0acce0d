//===- Module.cpp - From text to a compiled step ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt-c/Module.h"
#include "Common.h"
#include "mpt-c/Registration.h"
#include "mpt/InitAll.h"
#include "mpt/Support/ForeignBytecode.h"
#include "mpt/Support/ForeignCalls.h"
#include "mpt/Support/Version.h"
#include "mpt/Tools/CompileStep.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/ScopeExit.h"
#include <mutex>

using namespace mpt::capi;

void mptRegisterAllDialects(MlirDialectRegistry registry) {
  if (mlirDialectRegistryIsNull(registry))
    return;
  mpt::registerAllDialects(*unwrap(registry));
  mpt::registerCompileDialects(*unwrap(registry));
}

void mptRegisterAllPasses(void) {
  static std::once_flag once;
  std::call_once(once, [] {
    mpt::registerAllPasses();
    mlir::registerTransformsPasses();
  });
}

MlirStringRef mptGetVersion(void) {
  return mlirStringRefCreateFromCString(mpt::kVersion);
}

MptError mptModuleParse(MlirContext context, MlirStringRef text, MlirStringRef name,
                        MlirModule *module) {
  if (mlirContextIsNull(context) || !module)
    return fail("mptModuleParse: expected a context and a place for the module");
  CollectErrors errors(unwrap(context));
  const bool hasCalls = mpt::mayHaveCalls(unwrapText(text));
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(
      unwrapText(text),
      mlir::ParserConfig(unwrap(context), /*verifyAfterParse=*/!hasCalls),
      unwrapText(name));
  if (parsed && hasCalls)
    mpt::inlineForeignCalls(*parsed);
  if (!parsed || (hasCalls && mlir::failed(mlir::verify(*parsed))))
    return errors.take(unwrapText(name) + ": cannot parse");
  if (mlir::isBytecode({unwrapText(text), unwrapText(name)}) &&
      mlir::failed(mpt::checkForeignProperties(*parsed)))
    return errors.take(unwrapText(name) + ": cannot read its bytecode");
  *module = wrap(parsed.release());
  return success();
}

/// Adds the passes of `text`, with or without builtin.module around them.
static mlir::LogicalResult parsePipeline(llvm::StringRef text, mlir::PassManager &manager,
                                         llvm::raw_ostream &os) {
  if (!text.trim().starts_with("builtin.module("))
    return mlir::parsePassPipeline(text, manager, os);
  auto parsed = mlir::parsePassPipeline(text, os);
  if (mlir::failed(parsed))
    return mlir::failure();
  static_cast<mlir::OpPassManager &>(manager) = std::move(*parsed);
  return mlir::success();
}

MptError mptModuleRunPipeline(MlirModule module, MlirStringRef pipeline) {
  if (mlirModuleIsNull(module))
    return fail("mptModuleRunPipeline: expected a module");
  mlir::ModuleOp op = unwrap(module);
  CollectErrors errors(op.getContext());
  mlir::PassManager manager(op.getContext(), mlir::ModuleOp::getOperationName());
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (mlir::failed(parsePipeline(unwrapText(pipeline), manager, os))) {
    // The parser shows the text and points into it on further lines.
    llvm::StringRef reason = llvm::StringRef(problem).split('\n').first;
    for (llvm::StringRef prefix : {"error: ", "<Pass-Options-Parser>: "})
      if (reason.contains(prefix))
        reason = reason.split(prefix).second;
    return errors.take(
        "the pipeline '" + unwrapText(pipeline) +
        "': " + (reason.empty() ? "the value of an option cannot be read" : reason));
  }
  if (mlir::failed(manager.run(op)))
    return errors.take("the pipeline '" + unwrapText(pipeline) + "' failed");
  return success();
}

MptError mptModuleCompile(MlirModule module, intptr_t numOptions,
                          const MlirStringRef *options, MlirStringRef path) {
  if (mlirModuleIsNull(module) || numOptions < 0 || (numOptions && !options))
    return fail("mptModuleCompile: expected a module and options");
  if (unwrapText(path).empty())
    return fail("mptModuleCompile: expected the path of the file to write");
  std::vector<std::string> texts;
  for (intptr_t i = 0; i < numOptions; ++i)
    texts.push_back(unwrapText(options[i]).str());
  std::vector<const char *> arguments;
  for (const std::string &text : texts)
    arguments.push_back(text.c_str());
  auto parsed = mpt::parseCompileOptionList(arguments);
  if (!parsed)
    return fail(parsed.takeError());
  mlir::MLIRContext *context = unwrap(module).getContext();
  CollectErrors errors(context);
  const bool hasRemarks = parsed->missedRemarks || !parsed->remarksFilter.empty();
  if (hasRemarks)
    if (llvm::Error error = mpt::emitRemarks(*context, *parsed, ""))
      return fail(std::move(error));
  llvm::scope_exit stopRemarks([&] {
    if (hasRemarks)
      context->setRemarkEngine(nullptr);
  });
  mlir::OwningOpRef<mlir::ModuleOp> copy = unwrap(module).clone();
  if (llvm::Error error = mpt::compileStep(*copy, *parsed, unwrapText(path)))
    return errors.take(std::move(error));
  return success();
}
