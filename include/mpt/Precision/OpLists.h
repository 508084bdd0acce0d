//===- OpLists.h - Ops that a policy puts on lists -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The moves of a policy, by op. Of two moves of one op the one for the smaller
/// place counts (a move with `in` before one without), then the one of the higher
/// layer (options before files, files before what they extend), then a name
/// before a pattern, then the later one.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_OPLISTS_H
#define MPT_PRECISION_OPLISTS_H

#include "mpt/Precision/PolicyFile.h"
#include "mpt/Precision/RuleTable.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Regex.h"

#include <deque>

namespace mpt {

class OpLists {
public:
  struct Entry {
    PrecisionClass precisionClass;
    unsigned layer;
    bool byPattern;
    llvm::StringRef origin;
  };

  /// Adds `move`. A name is known if its dialect is registered and has such an op,
  /// or if a table has it (`rules` loads the built-in ones that are asked for); for
  /// another one, emits an error at `loc` that names the nearest. Warns where two
  /// moves of one layer put one op on different lists. Ops of a dialect that is
  /// registered but not loaded, of which the module can hold none, are let pass.
  llvm::LogicalResult add(mlir::Location loc, const PolicyMove &move, RuleTable &rules);

  /// The entry that counts for `op`, or null.
  const Entry *lookup(mlir::Operation *op) const;

  /// Calls `visit` with each `in` of a file that matches no op of `module`, once.
  void forEachUnmatched(
      mlir::Operation *module,
      llvm::function_ref<void(llvm::StringRef in, const PolicyPlace &)> visit) const;

  using Entries = llvm::MapVector<mlir::OperationName, Entry>;
  /// Calls `visit` with each place (empty: everywhere) and its entries.
  void forEach(llvm::function_ref<void(llvm::StringRef in, const Entries &)> visit) const;

private:
  struct Place {
    std::string text;
    llvm::Regex pattern;
    Entries entries;
    /// Of the first move that names it.
    PolicyPlace place;
    /// An op was looked up that is there.
    mutable bool matched = false;
  };
  void put(mlir::Location loc, Entries &entries, mlir::OperationName name, Entry entry);

  Entries everywhere;
  std::deque<Place> places;
  std::deque<std::string> origins;
};

/// What a user may call the place of `op` by: its name, the files, lines and
/// names of its location, and its function.
std::string describePlace(mlir::Operation *op);

} // namespace mpt

#endif // MPT_PRECISION_OPLISTS_H
