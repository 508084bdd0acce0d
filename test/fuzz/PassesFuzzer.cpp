//===- PassesFuzzer.cpp - Modules that nobody wrote, through every pass -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An input is a line with a pass pipeline as a comment, then the text of a module:
///
///   // mpt-autodiff,mpt-train-step{optimizer=sgd}
///   func.func @loss(...)
///
/// Seeds are the RUN lines of the tests with the modules below them, so that every
/// pass runs with every option that a test gives it, and every test's module through
/// a pass that its test does not run (fuzz-seeds.py). Of a module that MLIR accepts, a
/// pipeline must not crash, must make what verifies, and must make the same of it
/// twice; or it must fail with an error.
///
//===----------------------------------------------------------------------===//

#include "FuzzTarget.h"
#include "SharedContext.h"
#include "TextMutator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/InitAll.h"
#include "mpt/Precision/ExternalModels/ExternalModels.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::fuzz;

static const DialectRegistry &getRegistry() {
  static const DialectRegistry *registry = [] {
    auto *made = new DialectRegistry;
    mlir::registerAllDialects(*made);
    mpt::registerAllDialects(*made);
    registerPrecisionExternalModels(*made);
    registerTransformsPasses();
    registerAllPasses();
    return made;
  }();
  return *registry;
}

/// The pipeline of the first line, and the module below it.
static std::pair<StringRef, StringRef> splitInput(StringRef text) {
  auto [line, module] = text.split('\n');
  if (!line.consume_front("// "))
    return {"", text};
  return {line.trim(), module};
}

static void recordOps(ModuleOp module) {
  module.walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    std::string around = name.str();
    auto add = [&](Type type) {
      Type element = getElementTypeOrSelf(type);
      around += element.isF32()                       ? 'f'
                : element.isF16() || element.isBF16() ? 'h'
                : element == type                     ? '-'
                                                      : 'o';
    };
    llvm::for_each(op->getOperandTypes(), add);
    around += '>';
    llvm::for_each(op->getResultTypes(), add);
    recordFeature(around);
  });
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

/// Passes print reports to stdout and stderr; a fuzzer's log has no room for them.
static void silence() {
  static bool once = [] {
    if (!std::freopen("/dev/null", "w", stdout))
      return false;
    return true;
  }();
  (void)once;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 1 << 16)
    return -1;
  silence();
  // The parser wants a zero at the end.
  std::string input(reinterpret_cast<const char *>(data), size);
  auto [pipeline, text] = splitInput(input);
  // Paths of files are not for a fuzzer to make up.
  if (pipeline.empty() || pipeline.contains('/') || crashesMLIR(text))
    return -1;
  static SharedContext shared(getRegistry());
  MLIRContext &context = shared.get();
  unsigned errors = 0;
  std::string last;
  bool isParsed = false, isNew = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (isParsed)
      isNew |= recordMessage(diagnostic.str());
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return;
    ++errors;
    last = diagnostic.str();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return -1;
  isParsed = true;
  // Of modules, so that the passes run on this one and not on modules in it.
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(true);
  std::string ignored;
  llvm::raw_string_ostream os(ignored);
  if (failed(parsePassPipeline(pipeline, pm, os)))
    return -1;
  auto fail = [&, pipeline = pipeline](StringRef what) {
    reportFinding(what, ("mpt-opt --allow-unregistered-dialect --pass-pipeline='builtin."
                         "module(" +
                         pipeline + ")'\n" + StringRef(input))
                            .str());
  };
  // Blocks that nothing reaches may use what comes after them, which MLIR's clone does
  // not find in the copy: that is another module.
  OwningOpRef<ModuleOp> copy(module->clone());
  std::string before = print(*module);
  if (failed(verify(*copy)) || print(*copy) != before)
    return -1;
  errors = 0;
  if (failed(pm.run(*module))) {
    if (errors == 0)
      fail("fails without an error");
    if (StringRef(last).contains("failed to verify") ||
        StringRef(last).contains("does not dominate"))
      fail("makes what does not verify: " + last);
    return isNew ? 0 : -1;
  }
  recordFeature(pipeline);
  recordOps(*module);
  if (failed(pm.run(*copy)))
    fail("fails on what it did: " + last);
  if (print(*copy) != print(*module))
    fail("makes another module of it the second time");
  // A change, which shows that passes ran, and f64 where no seed has it: in a kernel that
  // a pass made, or of rank three.
  bool hasPlanted = false;
  module->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        hasPlanted |= tensor.getElementType().isF64() &&
                      (tensor.getRank() >= 3 ||
                       isa_and_nonnull<kernel::KernelDialect>(op->getDialect()));
  });
  checkPlantedBug(hasPlanted && print(*module) != before);
  return 0;
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

/// Ops of MPT, in generic form's quotes.
static ArrayRef<std::string> getOpNames() {
  static const auto *names = [] {
    MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
    context.loadDialect<MPTDialect>();
    auto *made = new std::vector<std::string>;
    for (RegisteredOperationName name : context.getRegisteredOperations())
      if (name.getDialectNamespace() == "mpt")
        made->push_back(name.getStringRef().str());
    return made;
  }();
  return *names;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  std::string input(reinterpret_cast<char *>(data), size);
  auto [pipeline, module] = splitInput(input);
  std::string passes = pipeline.str(), text = module.str();
  if (draw(random, 50) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  static SharedContext shared(getRegistry());
  if (draw(random, 8) == 0)
    text = shared.toGenericForm(text);
  mpt::TextMutator mutator(text, random, getOpNames());
  for (size_t steps = 1 + draw(random, 3); steps > 0; --steps)
    mutator.mutate();
  return replaceInput("// " + passes + "\n" + mutator.getText(), data, size, maxSize);
}

/// The pipeline of one, or of both, and the module of the other, often changed.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                                            const uint8_t *data2, size_t size2,
                                            uint8_t *out, size_t maxSize, unsigned seed) {
  Random random(seed + 1);
  auto [first, module] = splitInput({reinterpret_cast<const char *>(data1), size1});
  StringRef second = splitInput({reinterpret_cast<const char *>(data2), size2}).first;
  std::string passes =
      draw(random, 2) && first.size() < 200 ? (first + "," + second).str() : second.str();
  mpt::TextMutator mutator(module, random, getOpNames());
  if (draw(random, 4) != 0)
    mutator.mutate();
  return replaceInput("// " + passes + "\n" + mutator.getText(), out, 0, maxSize);
}
