//===- PrecisionPolicy.h - Which class each op has -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One record per op, resolved once: what the op's own attribute says, else the
/// lists, else the rule table (also where the dialect is registered), else the
/// op itself through PrecisionOpInterface, else nothing: an unlisted op keeps
/// its types and nothing is painted through it. Planning, applying, printing and
/// validating read only this record.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_PRECISIONPOLICY_H
#define MPT_PRECISION_PRECISIONPOLICY_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h"
#include "mpt/Precision/ClientProfile.h"
#include "mpt/Precision/OpLists.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mpt {

/// Who said what class an op has.
enum class RuleSource : uint8_t { Attribute, List, Table, Interface, Unlisted };
llvm::StringRef stringifyRuleSource(RuleSource source);

/// How a port of an op (an operand or a result) takes part.
enum class Port : uint8_t {
  /// No tensor of f32 or of the low type.
  None,
  /// f32 if the op runs in f32, low if it runs low.
  Follows,
  /// As Follows, but may also be f32 at no cost where the op runs low (results).
  Wide,
  /// Takes either type as it comes (operands).
  Any,
  /// As Follows, but an f32 value needs no cast: it is rounded inside (operands).
  Loose,
  /// Keeps the type it has.
  Fixed,
};

/// All that is known of an op.
struct OpRecord {
  PrecisionClass precisionClass = PrecisionClass::Fixed;
  RuleSource source = RuleSource::Unlisted;
  /// The op says "f32": never painted, but of its class for its neighbours.
  bool kept = false;
  ResultForm results = ResultForm::Same;
  bool readsAny = false;
  /// Null where the interface answers.
  const OpRule *rule = nullptr;
  /// Computes on elements in a region (ElementRegionOpInterface).
  bool hasElementRegion = false;
  /// Nothing inside that region rounds: all operands and results agree.
  bool onlyMoves = false;
  /// Operands that the region can convert may be f32 where results are low.
  bool readsLoosely = false;

  bool isCast(mlir::Operation *op) const { return rule ? rule->cast : saysCast(op); }
  bool isContraction(mlir::Operation *op) const {
    return rule ? rule->contraction : saysContraction(op);
  }
  OpTyping getTyping() const { return rule ? rule->typing : OpTyping::Uniform; }
  RegionPolicy getRegionPolicy() const {
    return rule ? rule->region : RegionPolicy::Opaque;
  }
  bool isList() const { return rule && rule->list; }
  bool canClone(mlir::Operation *op) const;
  /// False if the op has no low form, or passes on what another one has (a
  /// terminator): lists and attributes do not make it low.
  bool isMovable(mlir::Operation *op) const {
    return !(rule && !rule->movable) && !op->hasTrait<mlir::OpTrait::IsTerminator>();
  }
  /// How operand or result `index` takes part, given that it is a tensor of f32
  /// or of the low type.
  Port getOperandPort(mlir::Operation *op, unsigned index) const {
    if (precisionClass == PrecisionClass::Fixed && !isList())
      return Port::Fixed;
    if (!rule)
      return saysOperandPort(op, index);
    return llvm::is_contained(rule->f32Operands, index) ? Port::Fixed
           : readsAny                                   ? Port::Any
                                                        : Port::Follows;
  }
  Port getResultPort(mlir::Operation *op, unsigned index) const {
    if ((precisionClass == PrecisionClass::Fixed && !isList()) ||
        (rule ? llvm::is_contained(rule->f32Results, index) : saysFixedResult(op, index)))
      return Port::Fixed;
    return results == ResultForm::Wide ? Port::Wide : Port::Follows;
  }

private:
  /// What an op says itself, through its interfaces.
  static bool saysCast(mlir::Operation *op);
  bool saysContraction(mlir::Operation *op) const;
  Port saysOperandPort(mlir::Operation *op, unsigned index) const;
  static bool saysFixedResult(mlir::Operation *op, unsigned index);
};

class PrecisionPolicy {
public:
  /// `policies`: the names that tables may be for (PolicySettings::names).
  explicit PrecisionPolicy(mlir::Type lowType,
                           std::vector<std::string> policies = {"mpt"})
      : low(lowType), rules(std::move(policies)),
        precisionName(mlir::StringAttr::get(lowType.getContext(), kPrecisionAttr)) {}

  mlir::Type getLowType() const { return low; }
  RuleTable &getRules() { return rules; }
  const RuleTable &getRules() const { return rules; }

  /// Puts ops on a list; see OpLists.
  llvm::LogicalResult add(mlir::Location loc, const PolicyMove &move) {
    return lists.add(loc, move, rules);
  }
  const OpLists &getLists() const { return lists; }
  /// Keeps all ops in f32 whose location (file:line, name) or function matches
  /// one of `patterns`. Emits an error at `loc` for an invalid regular expression.
  llvm::LogicalResult keep(mlir::Location loc, llvm::ArrayRef<KeepPattern> patterns);
  /// Warns of what cannot have been meant, once all ops of `module` were looked up:
  /// patterns of places (`keep`, `in`) that match no op, and operands and results
  /// that rows of the user's tables name and no op has. Messages begin with `pass`.
  void warnOfUnused(mlir::Operation *module, llvm::StringRef pass) const;
  /// Takes mixed forms out of records. `None`: contractions return the type that they
  /// read, and no op reads either type; `Matmuls`: contractions return f32, and of the
  /// other ops only those that say in a region how they sum (linalg) read either type.
  void setMixedResults(MixedResults mixed) { mixedResults = mixed; }

  /// The record of `op`. Loads the built-in table of the op's dialect. Emits an
  /// error, once, if the op's attribute is neither "f32" nor "low".
  OpRecord lookup(mlir::Operation *op);
  /// True after such an error.
  bool hadErrors() const { return !reported.empty(); }
  /// True if `op` reads a variable whose storage changes while the graph runs.
  bool readsVariable(mlir::Operation *op);

private:
  /// What ops of one name share.
  struct NameFacts {
    /// What is known of each, if it says nothing itself.
    OpRecord record;
    /// The rest depends on the op, see refine.
    bool varies = false;
    /// The table's `keep-if`: an attribute, and what its text contains.
    llvm::SmallVector<std::pair<mlir::StringAttr, llvm::StringRef>, 0> keepIf;
  };
  const NameFacts &getFacts(mlir::Operation *op);
  const OpRule *findRule(mlir::Operation *op);
  void refine(mlir::Operation *op, OpRecord &record);
  void refineByRegion(mlir::Operation *op, OpRecord &record);
  /// 1 if no element of `value` is below zero, -1 if none is above, 0 if that is
  /// not known from the few ops before it.
  int getSign(mlir::Value value, unsigned steps = 8);

  bool isInKeptScope(mlir::Operation *op);

  mlir::Type low;
  RuleTable rules;
  /// kPrecisionAttr.
  mlir::StringAttr precisionName;
  struct KeptScope {
    KeepPattern keep;
    llvm::Regex pattern;
    bool matched = false;
  };
  std::vector<KeptScope> keptScopes;
  MixedResults mixedResults = MixedResults::All;
  OpLists lists;
  llvm::SmallPtrSet<mlir::Operation *, 1> reported;
  /// By op name: the row, or null if there is none.
  llvm::DenseMap<mlir::OperationName, const OpRule *> ruleCache;
  llvm::DenseMap<mlir::OperationName, std::unique_ptr<NameFacts>> factsOf;
  /// Of ops that have a row by another name than their own (RuleTable::lookup).
  llvm::DenseMap<const OpRule *, std::unique_ptr<NameFacts>> factsOfRow;
  /// Rows of the user's that name operands and results by number, and the op of each
  /// that had most of them.
  llvm::MapVector<const OpRule *, std::pair<mlir::Operation *, mlir::Operation *>>
      indexed;
};

/// True if `op` makes a constant: a constant-like op, or the one that its
/// dialect's table names. The value is in `*value` then.
bool isConstant(mlir::Operation *op, const RuleTable &rules,
                mlir::ElementsAttr *value = nullptr);

} // namespace mpt

#endif // MPT_PRECISION_PRECISIONPOLICY_H
