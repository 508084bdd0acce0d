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

#ifndef MPT_POLICY_PRECISIONPOLICY_H
#define MPT_POLICY_PRECISIONPOLICY_H

#include "mpt/Interfaces/PrecisionOpInterface.h"
#include "mpt/Policy/RuleTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Regex.h"

namespace mpt {

/// Op attribute that overrules all: "f32" keeps the op as it is, "low" puts it
/// on the allow list.
inline constexpr llvm::StringLiteral kPrecisionAttr = "mpt.precision";

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

  bool isCast(mlir::Operation *op) const;
  bool isContraction(mlir::Operation *op) const;
  OpTyping getTyping() const { return rule ? rule->typing : OpTyping::Uniform; }
  RegionPolicy getRegionPolicy() const {
    return rule ? rule->region : RegionPolicy::Opaque;
  }
  bool isList() const { return rule && rule->list; }
  bool canClone(mlir::Operation *op) const;
  /// How operand or result `index` takes part, given that it is a tensor of f32
  /// or of the low type.
  Port getOperandPort(mlir::Operation *op, unsigned index) const;
  Port getResultPort(mlir::Operation *op, unsigned index) const;
};

/// A named set of defaults. `mpt` is the default one; the others do what their
/// originals do.
struct PrecisionPreset {
  llvm::StringRef name;
  /// Empty: any low type.
  llvm::StringRef type;
  llvm::StringRef strategy;
  bool mixedResults, checkConstants, foldConstants;
};
llvm::ArrayRef<PrecisionPreset> getPrecisionPresets();

class PrecisionPolicy {
public:
  explicit PrecisionPolicy(mlir::Type lowType, llvm::StringRef preset = "mpt")
      : low(lowType), rules(preset) {}

  mlir::Type getLowType() const { return low; }
  RuleTable &getRules() { return rules; }
  const RuleTable &getRules() const { return rules; }

  /// Puts each op named in `names` ("mpt.exp", "stablehlo.dot_general", or a
  /// pattern with `*` such as "mpt.conv2d*") into `precisionClass`; later calls
  /// move it. A name is known if its dialect is registered and has such an op, or
  /// if a rule table has it; else emits an error at `loc` that names the nearest
  /// one. Of what a pattern covers, ops without a class stay without.
  llvm::LogicalResult add(mlir::Location loc, PrecisionClass precisionClass,
                          llvm::ArrayRef<std::string> names);
  /// Keeps all ops in f32 whose location (file:line, name) or function matches
  /// one of `patterns`. Emits an error at `loc` for what is no regular expression.
  llvm::LogicalResult keep(mlir::Location loc, llvm::ArrayRef<std::string> patterns);
  /// False takes mixed forms out of all records: products return the type that
  /// they read, and nothing reads either type.
  void setMixedResults(bool enable) { mixedResults = enable; }

  /// The record of `op`. Loads the built-in table of the op's dialect.
  OpRecord lookup(mlir::Operation *op);
  /// True if `op` reads a variable whose storage changes while the graph runs.
  bool readsVariable(mlir::Operation *op);

private:
  const OpRule *findRule(mlir::OperationName name);
  void refineByRegion(mlir::Operation *op, OpRecord &record);
  /// 1 if no element of `value` is below zero, -1 if none is above, 0 if that is
  /// not known from the few ops before it.
  int getSign(mlir::Value value, unsigned steps = 8);

  llvm::LogicalResult addPattern(mlir::Location loc, PrecisionClass precisionClass,
                                 llvm::StringRef text);
  bool isInKeptScope(mlir::Operation *op) const;

  mlir::Type low;
  RuleTable rules;
  std::vector<llvm::Regex> keptScopes;
  bool mixedResults = true;
  llvm::MapVector<mlir::OperationName, PrecisionClass> overrides;
  /// By op name: the row, or null if there is none.
  llvm::DenseMap<mlir::OperationName, const OpRule *> ruleCache;
};

/// What a user may call the place of `op` by: its name, the files, lines and
/// names of its location, and its function.
std::string describePlace(mlir::Operation *op);

/// True if `op` makes a constant: a constant-like op, or the one that its
/// dialect's table names. The value is in `*value` then.
bool isConstant(mlir::Operation *op, const RuleTable &rules,
                mlir::ElementsAttr *value = nullptr);

} // namespace mpt

#endif // MPT_POLICY_PRECISIONPOLICY_H
