//===- Refusals.h - Ops that cannot be imported ---------------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_COMMON_REFUSALS_H
#define MPT_IMPORT_COMMON_REFUSALS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <string>

namespace mpt::importer {

/// The ops of a function that have no counterpart in the mpt dialect, by name and reason.
class Refusals {
public:
  /// `name` must outlive the refusals.
  void add(llvm::StringRef name, llvm::StringRef reason, mlir::Location loc) {
    refusals[{name, reason.str()}].push_back(loc);
  }
  bool empty() const { return refusals.empty(); }
  /// One error for all: how often each op occurs, why it cannot be converted, and where
  /// (five places of each). `remedy` is its last line. Succeeds if there is none.
  llvm::LogicalResult report(mlir::func::FuncOp function, llvm::StringRef pass,
                             llvm::StringRef remedy) const;

private:
  using Key = std::pair<llvm::StringRef, std::string>;
  llvm::MapVector<Key, llvm::SmallVector<mlir::Location>, std::map<Key, unsigned>>
      refusals;
};

} // namespace mpt::importer

#endif // MPT_IMPORT_COMMON_REFUSALS_H
