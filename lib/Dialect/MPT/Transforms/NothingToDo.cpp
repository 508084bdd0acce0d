//===- NothingToDo.cpp - A pass that finds nothing to do says so -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"

#include "../IR/StepAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;
using namespace mpt;

/// Whether `module` holds an op of a dialect whose name `isMeant`.
static bool hasOpsOf(ModuleOp module, llvm::function_ref<bool(StringRef)> isMeant) {
  return module
      .walk([&](Operation *op) {
        return isMeant(op->getName().getDialectNamespace()) ? WalkResult::interrupt()
                                                            : WalkResult::advance();
      })
      .wasInterrupted();
}

bool mpt::detail::hasOpsOfMPT(ModuleOp module) {
  return hasOpsOf(module, [](StringRef dialect) {
    return dialect == "mpt" || dialect.starts_with("mpt_");
  });
}

bool mpt::detail::hasKernelsOrProgram(ModuleOp module) {
  return hasOpsOf(module, [](StringRef dialect) { return dialect.starts_with("mpt_"); });
}

void mpt::detail::warnOfNothingToDo(ModuleOp module, StringRef pass,
                                    const Twine &missing) {
  std::set<std::string> dialects;
  module.walk([&](Operation *op) {
    if (!isa_and_nonnull<BuiltinDialect, func::FuncDialect>(op->getDialect()))
      dialects.insert("'" + op->getName().getDialectNamespace().str() + "'");
  });
  auto functions = module.getOps<FunctionOpInterface>();
  if (dialects.empty() && llvm::any_of(functions, [](FunctionOpInterface each) {
        return !each.isExternal();
      }))
    return;
  InFlightDiagnostic warning = mlir::emitWarning(
      functions.empty() ? getModuleLocation(module) : (*functions.begin()).getLoc());
  warning << pass << ": found nothing to do: ";
  if (dialects.empty())
    warning << (functions.empty() ? "this module is empty"
                                  : "this module holds declarations alone");
  else
    warning << "there is " << missing << " in this module, which holds ops of "
            << llvm::join(dialects, ", ");
}

void mpt::detail::warnOfMisspelledAttributes(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa_and_nonnull<MPTDialect>(op->getDialect()))
      return;
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      if (StringRef meant = findMisspelledPrefix(attribute, AttributePlace::Op);
          !meant.empty())
        mlir::emitWarning(op->getLoc())
            << "unknown attribute '" << attribute.getName().getValue() << "' on "
            << op->getName() << "; did you mean '" << meant << "'?";
  });
}
