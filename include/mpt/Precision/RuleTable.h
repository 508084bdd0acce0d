//===- RuleTable.h - Rows for ops of foreign dialects -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tables in YAML say how ops of dialects that implement no interface (also
/// unregistered ones) may be treated. Some are built in (lib/Precision/Rules, which
/// the build turns into constants of the program), the user's files add rows or
/// replace them.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_RULETABLE_H
#define MPT_PRECISION_RULETABLE_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "mpt/Precision/OpRule.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

namespace mpt {

class RuleTable {
public:
  /// Rows of tables that are for one policy (`policy: mpt`) count only under it,
  /// and under what extends it: `policies` are the present one and its bases.
  explicit RuleTable(std::vector<std::string> policies = {"mpt"})
      : policies(std::move(policies)) {}

  /// The dialects that have a built-in table, in alphabetical order.
  static llvm::SmallVector<llvm::StringRef> getBuiltinDialects();
  /// Adds the built-in rows of `dialect` unless they are there; no effect if
  /// there are none.
  void addBuiltin(llvm::StringRef dialect);
  /// Adds the rows of a file; they replace rows of the same name. Errors, also
  /// those of the text, are emitted with the place in the file.
  llvm::LogicalResult addFile(mlir::Location loc, llvm::StringRef path);
  /// Adds the rows of `yaml`, whose errors name `source`. An op in two rows of one
  /// document is an error.
  llvm::LogicalResult addText(mlir::Location loc, llvm::StringRef yaml,
                              llvm::StringRef source);

  /// The row of `opName`, or null. Stays valid.
  const OpRule *lookup(llvm::StringRef opName) const;
  /// The row of `op`: if its own has a `name-attribute`, the row of that name, should
  /// there be one.
  const OpRule *lookup(mlir::Operation *op) const;
  /// True if `rule` is a row of a user's file that names operands or results by number.
  bool hasWrittenIndices(const OpRule *rule) const {
    return !written.empty() && written.contains(rule);
  }
  /// Calls `visit` with the name of each row, in the order in which they were
  /// added.
  void forEachName(llvm::function_ref<void(llvm::StringRef)> visit) const;
  /// How `dialect` spells casts and constants, or null.
  const DialectSpelling *getSpelling(llvm::StringRef dialect) const;
  /// What the table of `dialect` says of attributes (`keep-if`): an op to which one of
  /// these applies stays as it is, such as one on a device that has no fast arithmetic
  /// of the low type.
  llvm::ArrayRef<RuleSet::KeepIf> getKeepConditions(llvm::StringRef dialect) const;
  /// True if an op of `dialect` whose result a public function returns stays as
  /// it is under TensorFlow's paint (Grappler preserves the nodes fetched).
  bool preservesReturned(llvm::StringRef dialect) const;

  /// How many multiply-adds `opName` does: a MacFormula's text, or "".
  llvm::StringRef getProductFormula(llvm::StringRef opName) const {
    return products.lookup(opName);
  }

  /// What the tables say of `opName`'s memory, or null.
  const MemoryRow *lookupMemory(llvm::StringRef opName) const {
    return memory.lookup(opName);
  }
  /// Those of the name in the `name-attribute` of `op` go first.
  const MemoryRow *lookupMemory(mlir::Operation *op) const;

  /// All rows as YAML, sorted by name, each with its source as a comment.
  void print(llvm::raw_ostream &os) const;

private:
  struct Dialect {
    DialectSpelling spelling;
    bool preserveReturned = false;
    llvm::SmallVector<RuleSet::KeepIf, 1> keepIf;
  };
  /// `op:value` for the value of its `name-attribute`; empty without one.
  std::string getFullName(mlir::Operation *op) const;
  void addSet(const RuleSet &set);
  void addImpliedCasts(llvm::StringRef dialect, llvm::StringRef source);

  std::vector<std::string> policies;
  /// What the rows of the user's tables consist of.
  llvm::BumpPtrAllocator storage;
  std::vector<const RuleSet *> sets;
  llvm::DenseMap<llvm::StringRef, const OpRule *> byName;
  llvm::DenseMap<llvm::StringRef, llvm::StringRef> products;
  llvm::DenseMap<llvm::StringRef, const MemoryRow *> memory;
  llvm::StringMap<Dialect> dialects;
  llvm::StringMap<bool> loaded;
  llvm::SmallPtrSet<const OpRule *, 4> written;
};

} // namespace mpt

#endif // MPT_PRECISION_RULETABLE_H
