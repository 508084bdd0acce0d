//===- AutocastFuzzer.cpp - Modules that nobody wrote, through autocast -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A libFuzzer target. An input is one byte that chooses options, then the text of
/// a module. Of the texts that MLIR accepts, autocast must not crash, must make
/// what verifies and keep the types of functions, and must change nothing when run
/// once more; or it must fail with an error.
///
//===----------------------------------------------------------------------===//

#include "FuzzTarget.h"
#include "SharedContext.h"
#include "TextMutator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Precision/ExternalModels/ExternalModels.h"
#include "mpt/Precision/Passes.h"
#include <map>

using namespace mlir;

static const DialectRegistry &getRegistry() {
  static const DialectRegistry *registry = [] {
    auto *made = new DialectRegistry;
    mlir::registerAllDialects(*made);
    made->insert<mpt::MPTDialect>();
    mpt::registerPrecisionExternalModels(*made);
    mpt::registerAutocastPass();
    return made;
  }();
  return *registry;
}

static bool hasBit(uint8_t choice, unsigned bit) { return (choice >> bit) & 1; }

static std::string chooseOptions(uint8_t choice) {
  if ((choice & 0xf0) == 0xf0)
    return hasBit(choice, 0) ? "policy=tf-fp16" : "policy=tf-bf16";
  std::string options = hasBit(choice, 0) ? "type=f16" : "type=bf16";
  if (hasBit(choice, 1))
    options += " strategy=paint";
  if (hasBit(choice, 2))
    options += " specialize-calls=true";
  if (hasBit(choice, 3))
    options += hasBit(choice, 0) ? " mixed-results=none" : " client=iree";
  if (hasBit(choice, 4))
    options += " fold-constants=false";
  return options;
}

/// What callers from outside rely on.
static std::string describeInterfaces(ModuleOp module, bool specialize) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.walk([&](FunctionOpInterface function) {
    if (!specialize || !function.isPrivate())
      os << function.getName() << ": " << function.getFunctionType() << "\n";
  });
  return text;
}

[[noreturn]] static void fail(StringRef what, StringRef options, StringRef text) {
  mpt::fuzz::reportFinding(
      what,
      ("mpt-opt --allow-unregistered-dialect --mpt-autocast=\"" + options + "\"\n" + text)
          .str());
}

static void recordOps(ModuleOp module, uint8_t choice) {
  module.walk([&](Operation *op) {
    std::string around = op->getName().getStringRef().str() + char('0' + (choice & 3));
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
    mpt::fuzz::recordFeature(around);
    for (Value operand : op->getOperands()) {
      Operation *made = operand.getDefiningOp();
      mpt::fuzz::recordFeature((op->getName().getStringRef() + "<-" +
                                (made ? made->getName().getStringRef() : "argument"))
                                   .str());
    }
  });
}

/// Of each dialect, the first small module that had it.
static std::map<std::string, std::string> &getExamples() {
  static std::map<std::string, std::string> examples;
  return examples;
}

static void rememberExample(ModuleOp module, StringRef text) {
  if (text.size() <= 4000)
    module.walk([&](Operation *op) {
      if (getExamples().size() < 64)
        getExamples().try_emplace(op->getName().getDialectNamespace().str(), text.str());
    });
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2 || size > 1 << 16)
    return -1;
  std::string options = chooseOptions(data[0]);
  const bool specialize = options.find("specialize") != std::string::npos;
  // The parser wants a zero at the end.
  std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (mpt::crashesMLIR(text))
    return -1;
  static mpt::fuzz::SharedContext shared(getRegistry());
  MLIRContext &context = shared.get();
  unsigned errors = 0;
  std::string last;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      ++errors;
      last = diagnostic.str();
    }
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return -1;
  rememberExample(*module, text);
  std::string interfaces = describeInterfaces(*module, specialize);
  // Of modules, so that autocast runs on this one and not on modules in it.
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(false);
  if (failed(parsePassPipeline("mpt-autocast{" + options + "}", pm, llvm::errs())))
    fail("the options do not parse", options, text);
  errors = 0;
  if (failed(pm.run(*module))) {
    if (errors == 0)
      fail("fails without an error", options, text);
    return 0;
  }
  recordOps(*module, data[0]);
  // A cast, which shows that autocast ran, in a module of dialects that no seed mixes.
  bool hasCast = false, hasStableHLO = false, hasTosa = false;
  module->walk([&](Operation *op) {
    hasCast |= op->hasAttr(mpt::kOwnCastAttr);
    hasStableHLO |= op->getName().getDialectNamespace() == "stablehlo";
    hasTosa |= op->getName().getDialectNamespace() == "tosa";
  });
  mpt::fuzz::checkPlantedBug(hasCast && hasStableHLO && hasTosa);
  if (failed(verify(*module)))
    fail("makes what does not verify: " + last, options, text);
  if (describeInterfaces(*module, specialize) != interfaces)
    fail("changes the type of a function", options, text);
  auto print = [&] {
    std::string printed;
    llvm::raw_string_ostream os(printed);
    module->print(os);
    return printed;
  };
  std::string once = print();
  if (failed(pm.run(*module)))
    fail("fails on what it made", options, text);
  if (print() != once)
    fail("changes what it made", options, text);
  return 0;
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

static mpt::fuzz::SharedContext &getSharedContext() {
  static mpt::fuzz::SharedContext shared(getRegistry());
  return shared;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  std::minstd_rand random(seed + 1);
  if (size < 2 || random() % 50 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string input(reinterpret_cast<char *>(data), size);
  if (random() % 4 == 0)
    input[0] = random() & 0xff;
  std::string module = input.substr(1);
  // With the functions of another module: dialects meet in one, and words of each in the
  // other's functions.
  if (size_t choice = random() % 8; choice == 0) {
    module = getSharedContext().toGenericForm(module);
  } else if (choice <= 2 && size <= 4000 && !getExamples().empty()) {
    auto example = std::next(getExamples().begin(), random() % getExamples().size());
    module = getSharedContext().join(module, example->second);
  }
  mpt::TextMutator mutator(module, random);
  for (unsigned steps = 1 + random() % 3; steps != 0; --steps)
    mutator.mutate();
  return mpt::fuzz::replaceInput(input[0] + mutator.getText(), data, size, maxSize);
}
