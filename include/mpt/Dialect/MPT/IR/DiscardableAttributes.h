//===- DiscardableAttributes.h - Notes on ops and arguments -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The discardable attributes of the dialect. The list is closed: the dialect's
/// verifier refuses any other attribute with the prefix `mpt.`, one in the wrong
/// place and one of the wrong type, and an mpt op refuses attributes without a
/// prefix that are not its own. Attributes of other dialects stay allowed. To add
/// one, add its name here and a row to the table in
/// lib/Dialect/MPT/IR/DiscardableAttributes.cpp. Ops of mpt_program carry none: what a
/// program says, its ops' own attributes and regions say.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_DISCARDABLEATTRIBUTES_H
#define MPT_DIALECT_MPT_IR_DISCARDABLEATTRIBUTES_H

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mpt {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Attributes of arguments and results of a step function.
inline constexpr llvm::StringLiteral kNameAttr = "mpt.name";
inline constexpr llvm::StringLiteral kRoleAttr = "mpt.role";
inline constexpr llvm::StringLiteral kInitAttr = "mpt.init";
inline constexpr llvm::StringLiteral kUpdatesAttr = "mpt.updates";
/// On a parameter: how it is kept between steps (docs/MasterWeights.md).
inline constexpr llvm::StringLiteral kMasterAttr = "mpt.master";
/// On state: the parameter whose low 16 bits it holds.
inline constexpr llvm::StringLiteral kLowOfAttr = "mpt.low_of";
/// On an argument: what this rank holds of which tensors (Shards.h).
inline constexpr llvm::StringLiteral kShardsAttr = "mpt.shards";
/// On a parameter: false exempts it from weight decay.
inline constexpr llvm::StringLiteral kDecayAttr = "mpt.decay";
/// On a result of a forward function: it is a loss, differentiated for itself. On
/// `mpt.grad_seed` and `mpt.gradients`: the name of that loss.
inline constexpr llvm::StringLiteral kLossAttr = "mpt.loss";

/// On an op, before all else that decides its precision: "f32" keeps the op as it
/// is, "low" puts it on the allow list.
inline constexpr llvm::StringLiteral kPrecisionAttr = "mpt.precision";
/// On an op (unit): part of an optimizer that is a function. Of a parameter it reads what
/// master weights keep.
inline constexpr llvm::StringLiteral kOptimizerAttr = "mpt.optimizer";
/// On ops: the list that a policy puts them on, and what decided it.
inline constexpr llvm::StringLiteral kPrecisionClassAttr = "mpt.precision_class";
inline constexpr llvm::StringLiteral kPrecisionSourceAttr = "mpt.precision_source";
/// Marks a cast that autocast made; only those may be folded.
inline constexpr llvm::StringLiteral kOwnCastAttr = "mpt.autocast";
/// Marks a module whose casts come from a plan among all that paint makes low
/// (PrecisionPlan.h), for a second run: what each cast cost in addition to its bytes, an
/// i64.
inline constexpr llvm::StringLiteral kPaintedOverheadAttr =
    "mpt.autocast_painted_overhead";
/// On a module: the name of the target of all its functions.
inline constexpr llvm::StringLiteral kTargetAttr = "mpt.target";
/// On a module: the ranks that run its functions, a `#mpt.mesh`.
inline constexpr llvm::StringLiteral kMeshAttr = "mpt.mesh";

/// On ops that `--mpt-instrument` made (unit), and on results that hold records: a
/// dictionary with `id`, `op`, `location`, `result`, `type`, `elements`, `phase`,
/// `figure` and, for the gradient of a parameter, `parameter`.
inline constexpr llvm::StringLiteral kRecordAttr = "mpt.record";
/// On instrumented functions: a dictionary with `types` and `edges`.
inline constexpr llvm::StringLiteral kRecordsAttr = "mpt.records";

/// On a function: its own memory budget, which goes before the option.
inline constexpr llvm::StringLiteral kBudgetAttr = "mpt.memory_budget";
/// On a function: the order of its ops ("best" or that of a OrderHeuristic), which goes
/// before options of passes.
inline constexpr llvm::StringLiteral kMemoryOrderAttr = "mpt.memory_order";
/// On an op: "must" keeps its values for the backward pass, "never" computes them again.
inline constexpr llvm::StringLiteral kSaveAttr = "mpt.save";
/// The attribute that makes each clone unique.
inline constexpr llvm::StringLiteral kRematAttr = "mpt.remat";
/// Within a pass: readers of `mpt.grad_seed`, and a number for each reduction.
inline constexpr llvm::StringLiteral kBackwardAttr = "mpt.backward";
inline constexpr llvm::StringLiteral kSumAttr = "mpt.sum";

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

/// Where an attribute may stand.
enum class AttributePlace { Argument, Result, Op };

/// One place of a discardable attribute of the dialect.
struct DiscardableAttribute {
  llvm::StringLiteral name;
  AttributePlace place;
  /// The ops that it may stand on, if `place` is Op; none: all but functions and
  /// modules.
  llvm::ArrayRef<llvm::StringLiteral> ops;
  /// Whether the value is one that its readers understand.
  bool (*isValid)(mlir::Attribute value);
  /// What `isValid` accepts, as diagnostics name it.
  llvm::StringLiteral expected;
  /// The pass or tool that reads it.
  llvm::StringLiteral owner;
};

/// All discardable attributes of the dialect. A name that may stand in places of
/// different kinds, or has another type there, has several entries.
llvm::ArrayRef<DiscardableAttribute> getDiscardableAttributes();

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_DISCARDABLEATTRIBUTES_H
