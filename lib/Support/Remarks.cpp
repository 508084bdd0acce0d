//===- Remarks.cpp - Remarks with stable names -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/Remarks.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

using namespace mlir;
using namespace mpt;

#include "mpt/Support/RemarkEnum.cpp.inc"

namespace {
using llvm::ArrayRef;
#define GET_RemarkTable_DECL
#define GET_RemarkTable_IMPL
#include "mpt/Support/RemarkTable.inc"
} // namespace

const RemarkInfo &mpt::getRemarkInfo(RemarkId id) {
  // Both come from one catalogue: there is a row for each.
  return *lookupRemark(uint8_t(id));
}

remark::detail::InFlightRemark mpt::emitRemark(RemarkId id, Location loc,
                                               StringRef function) {
  if (!loc->getContext()->getRemarkEngine())
    return {};
  const RemarkInfo &info = getRemarkInfo(id);
  auto options =
      remark::RemarkOpts::name(info.name).category(info.category).function(function);
  StringRef kind = info.kind;
  if (kind == "passed")
    return remark::passed(loc, options);
  if (kind == "missed")
    return remark::missed(loc, options);
  if (kind == "failure")
    return remark::failed(loc, options);
  return remark::analysis(loc, options);
}
