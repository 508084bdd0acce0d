//===- PlannedFor.cpp - What a step is planned for -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/Transforms/PlannedFor.h"

using namespace mlir;
using namespace mpt;

StringAttr mpt::getPlannedFor(Operation *function) {
  if (auto planned = function->getAttrOfType<StringAttr>(kPlannedForAttr))
    return planned;
  auto module = function->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<StringAttr>(kPlannedForAttr) : StringAttr();
}

PlannedFor::PlannedFor(ModuleOp module, StringRef target)
    : module(module), before(module->getAttr(kPlannedForAttr)) {
  if (!target.empty())
    module->setAttr(kPlannedForAttr, StringAttr::get(module.getContext(), target));
}

PlannedFor::~PlannedFor() {
  if (before)
    module->setAttr(kPlannedForAttr, before);
  else
    module->removeAttr(kPlannedForAttr);
}
