//===- PrecisionPolicy.cpp - Which class each op has -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Policy/PrecisionPolicy.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace mpt;

LogicalResult PrecisionPolicy::add(Location loc, PrecisionClass precisionClass,
                                   ArrayRef<std::string> names) {
  MLIRContext *context = loc.getContext();
  for (const std::string &name : names) {
    std::optional<RegisteredOperationName> known =
        RegisteredOperationName::lookup(name, context);
    if (!known) {
      StringRef nearest;
      unsigned best = 6; // further away than a slip of the finger
      for (RegisteredOperationName candidate : context->getRegisteredOperations()) {
        unsigned distance =
            StringRef(name).edit_distance(candidate.getStringRef(), true, best);
        if (distance < best) {
          best = distance;
          nearest = candidate.getStringRef();
        }
      }
      InFlightDiagnostic diagnostic = emitError(loc) << "there is no op '" << name
                                                     << "' to put on the list '"
                                                     << stringifyPrecisionClass(precisionClass)
                                                     << "'";
      if (!nearest.empty())
        diagnostic << "; did you mean '" << nearest << "'?";
      return diagnostic;
    }
    overrides[*known] = precisionClass;
  }
  return success();
}

std::optional<PrecisionRecord> PrecisionPolicy::lookup(Operation *op,
                                                       Type low) const {
  auto listed = overrides.find(op->getName());
  auto interface = dyn_cast<PrecisionOpInterface>(op);
  if (listed != overrides.end() && interface)
    return PrecisionRecord{listed->second, "list"};
  if (interface)
    return PrecisionRecord{interface.getPrecisionClass(low), "op"};
  return std::nullopt;
}
