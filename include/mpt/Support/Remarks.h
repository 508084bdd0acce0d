//===- Remarks.h - Remarks with stable names -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The catalogue (Remarks.td) in C++, and the way from it to MLIR's remark engine.
/// The engine's writers have no lock: emit from passes on modules only.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_REMARKS_H
#define MPT_SUPPORT_REMARKS_H

#include "mlir/IR/Remarks.h"

#include "mpt/Support/RemarkEnum.h.inc"

namespace mpt {

/// A row of the catalogue; its strings live as long as the program.
struct RemarkInfo {
  uint8_t id;
  /// The full name ("mpt.autocast.denied"), its beginning by which remarks are
  /// filtered ("mpt.autocast"), and MLIR's kind in lower case.
  const char *name, *category, *kind;
  /// Why, for people; a format for what to do about it, or ""; documentation.
  const char *text, *hint, *doc;
};

const RemarkInfo &getRemarkInfo(RemarkId id);

/// A remark of that kind, name and category at `loc`, or one that ignores what is
/// written to it if nobody listens. `function` must outlive the context's engine:
/// a symbol's name does.
mlir::remark::detail::InFlightRemark emitRemark(RemarkId id, mlir::Location loc,
                                                llvm::StringRef function);

} // namespace mpt

#endif // MPT_SUPPORT_REMARKS_H
