//===- SharedContext.h - One MLIRContext for many runs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// To make a context and to load dialects into it takes longer than most runs of a
/// fuzzer. So runs share one. It is replaced from time to time: its memory only grows,
/// and a pass that forgets to load a dialect fails only where no other run loaded it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_FUZZ_SHAREDCONTEXT_H
#define MPT_TEST_FUZZ_SHAREDCONTEXT_H

#include "TextMutator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include <memory>

namespace mpt::fuzz {

class SharedContext {
public:
  explicit SharedContext(const mlir::DialectRegistry &registry) : registry(registry) {}

  /// The context for the next run: a new one after 32 runs. Nothing of an earlier run may
  /// be alive.
  mlir::MLIRContext &get() {
    if (uses++ % 32 == 0) {
      context = std::make_unique<mlir::MLIRContext>(
          registry, mlir::MLIRContext::Threading::DISABLED);
      context->allowUnregisteredDialects();
    }
    return *context;
  }

  /// `text` in generic form, in which every op has its name, attributes and types in one
  /// place; `text` itself if it does not parse.
  std::string toGenericForm(llvm::StringRef text) {
    if (crashesMLIR(text))
      return text.str();
    mlir::MLIRContext &context = get();
    mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return text.str();
    std::string printed;
    llvm::raw_string_ostream os(printed);
    module->print(os, mlir::OpPrintingFlags().printGenericOpForm());
    return printed;
  }

  /// Both modules as one, in generic form: symbols of `second` get other names where
  /// `text` has them. `text` itself if one of the two does not parse.
  std::string join(llvm::StringRef text, llvm::StringRef second) {
    if (crashesMLIR(text) || crashesMLIR(second))
      return text.str();
    mlir::MLIRContext &context = get();
    mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    auto other = module ? mlir::parseSourceString<mlir::ModuleOp>(second, &context)
                        : mlir::OwningOpRef<mlir::ModuleOp>();
    if (!other)
      return text.str();
    mlir::SymbolTable symbols(*module), others(*other);
    for (auto op : llvm::make_early_inc_range(other->getOps<mlir::SymbolOpInterface>()))
      if (mlir::StringAttr name = op.getNameAttr();
          name && symbols.lookup(name) &&
          mlir::failed(others.renameToUnique(op, {&symbols})))
        return text.str();
    mlir::Block *body = module->getBody();
    body->getOperations().splice(body->end(), other->getBody()->getOperations());
    std::string printed;
    llvm::raw_string_ostream os(printed);
    module->print(os, mlir::OpPrintingFlags().printGenericOpForm());
    return printed;
  }

private:
  const mlir::DialectRegistry &registry;
  std::unique_ptr<mlir::MLIRContext> context;
  size_t uses = 0;
};

} // namespace mpt::fuzz

#endif // MPT_TEST_FUZZ_SHAREDCONTEXT_H
