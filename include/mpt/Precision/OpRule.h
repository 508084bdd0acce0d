//===- OpRule.h - How autocast may treat an op, as data -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One row of a rule table: everything that planning, applying and validating
/// precision know of an op that cannot say it itself (through
/// PrecisionOpInterface). docs/RuleTables.md describes the YAML.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_OPRULE_H
#define MPT_PRECISION_OPRULE_H

#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h"
#include "llvm/ADT/ArrayRef.h"

namespace mpt {

/// Which f32 operands and results have one element type.
enum class OpTyping : uint8_t {
  /// All of them.
  Uniform,
  /// Operand i and result i, each pair by itself (identity of several tensors).
  Positional,
};

/// What a result is when the operands are low.
enum class ResultForm : uint8_t {
  /// Low, as the operands.
  Same,
  /// Low or f32, at no cost (a matmul returns its accumulator).
  Wide,
  /// f32.
  F32,
};

/// What an op's regions mean.
enum class RegionPolicy : uint8_t {
  /// Unknown: block arguments and what terminators return keep their types; the
  /// ops inside are planned like all others.
  Opaque,
  /// Scalar code on elements of the operands (`reduce`): converted with the op.
  Combiner,
  /// A loop: operand i, block argument i of every region, operand i of every
  /// terminator that returns as many values as there are results, and result i
  /// are one variable. See also `firstCarried` and `scanInputs`.
  Carry,
  /// A conditional: operand i of every terminator is result i.
  Branches,
};

/// What a row says of the sign of an op's result.
enum class ResultSign : uint8_t {
  Any,
  /// Never below zero.
  NonNegative,
  /// The sign of operand 0, or its opposite.
  Same,
  Opposite,
  /// The product of the operands' signs; a value times itself is not negative.
  Product,
};

/// How an op stands to variables whose storage is read when it runs
/// (TensorFlow's reference variables). A cast in between would read them at
/// another time, so paint does not spread to what reads them.
enum class VariableRole : uint8_t {
  None,
  /// Is the variable.
  Source,
  /// Reads a variable if that is its first operand.
  Read,
  /// Brings what such a reader makes into a loop.
  Pass,
};

/// Which ops a row is for, by their bare floats.
enum class ScalarPolicy : uint8_t {
  Any,
  /// Ops without bare float operands or results. A bare float keeps its type and would
  /// dictate the vector's element type (a scalar broadcast to a vector).
  Fixed,
};

/// A row is plain data that points to what somebody else keeps: a RuleTable, or
/// the program itself, which holds the built-in tables. A key of the YAML is a field
/// and its line in `forEachKey`; reading, printing and C++ for the build follow.
struct OpRule {
  PrecisionClass f16 = PrecisionClass::Fixed;
  PrecisionClass bf16 = PrecisionClass::Fixed;
  /// The class where operand 0 is never above zero, unless it is `Fixed`: the
  /// exponential of such a number is at most 1, and an error of x * u in its
  /// operand x, u being the unit roundoff, is one of at most 0.37 u in it, since
  /// |x| exp(x) has its maximum 1/e there.
  PrecisionClass classIfNonpositive = PrecisionClass::Fixed;
  ResultSign sign = ResultSign::Any;
  OpTyping typing = OpTyping::Uniform;
  ResultForm results = ResultForm::Same;
  /// Operands may be f32 or low, whatever the results are.
  bool readsAny = false;
  /// These keep their type.
  llvm::ArrayRef<unsigned> f32Operands, f32Results;
  /// Applies only to ops whose operands with these indices are `none`: an optional
  /// result type, which would dictate the result's (torch).
  llvm::ArrayRef<unsigned> absentOperands;
  /// False: the op has no low form, so no list and no attribute can make it low.
  bool movable = true;
  ScalarPolicy scalars = ScalarPolicy::Any;
  /// Float attributes that have the element type of the operands (tosa).
  llvm::ArrayRef<llvm::StringRef> elementAttributes;
  RegionPolicy region = RegionPolicy::Opaque;
  /// For loops: the indices of the operand, block argument and operand of the
  /// terminator that belong to result 0, if those are not all 0 (a trip count comes
  /// first).
  llvm::ArrayRef<unsigned> firstCarried;
  /// For loops: the integer attribute that says how many of the last operands are
  /// read slice by slice: they are block arguments, but no results.
  llvm::StringRef scanInputs;
  /// Rows for ops whose regions hold nothing but these ops; first match wins.
  struct Combiner {
    llvm::ArrayRef<llvm::StringRef> ops;
    PrecisionClass f16 = PrecisionClass::Fixed, bf16 = PrecisionClass::Fixed;
    ResultForm results = ResultForm::Same;
    bool readsAny = false;
  };
  llvm::ArrayRef<Combiner> combiners;
  /// Attributes that name functions of the module to which the operands are
  /// passed and which return the results (`body` of a functional loop).
  llvm::ArrayRef<llvm::StringRef> callees;
  /// No side effects and the same results each time: may be removed or cloned.
  bool pure = true;
  /// Made from constants it is cheaper to compute twice than to cast.
  bool clone = false;
  /// Takes or makes lists of tensors, by handles (TensorFlow) or as they are
  /// (torch), which all that uses a list must agree on; an op that is on no other
  /// list is low if the rest is.
  bool list = false;
  /// Its result is carried around a loop without a cast: its readers have its type.
  bool recurrent = false;
  VariableRole variable = VariableRole::None;
  /// What the op is called once it runs low, with the dialect; empty if that is
  /// its name. For unregistered ops.
  llvm::StringRef lowName;
  /// Converts element types: a cast that the user wrote.
  bool cast = false;
  /// Multiplies and accumulates (matmul, convolution).
  bool contraction = false;
  /// The string attribute that says which op it really is (a composite's `name`): rows
  /// of `op:value` go before this one.
  llvm::StringRef nameAttribute;
  /// Where the row comes from: "stablehlo.yaml", or the user's file.
  llvm::StringRef source;

  PrecisionClass getClass(mlir::Type low) const { return low.isF16() ? f16 : bf16; }

  /// Calls `visit(key, &OpRule::field)` for each key but `ops`, `class`, `results` and
  /// `reads` (which combiners have, too), in the order in which rows print. The field
  /// has the key's name in camel case.
  template <typename Visit>
  static void forEachKey(Visit &&visit) {
    visit("class-if-nonpositive", &OpRule::classIfNonpositive);
    visit("sign", &OpRule::sign);
    visit("typing", &OpRule::typing);
    visit("f32-operands", &OpRule::f32Operands);
    visit("f32-results", &OpRule::f32Results);
    visit("absent-operands", &OpRule::absentOperands);
    visit("scalars", &OpRule::scalars);
    visit("element-attributes", &OpRule::elementAttributes);
    visit("region", &OpRule::region);
    visit("first-carried", &OpRule::firstCarried);
    visit("scan-inputs", &OpRule::scanInputs);
    visit("combiners", &OpRule::combiners);
    visit("callees", &OpRule::callees);
    visit("pure", &OpRule::pure);
    visit("clone", &OpRule::clone);
    visit("cast", &OpRule::cast);
    visit("contraction", &OpRule::contraction);
    visit("list", &OpRule::list);
    visit("recurrent", &OpRule::recurrent);
    visit("movable", &OpRule::movable);
    visit("variable", &OpRule::variable);
    visit("low-name", &OpRule::lowName);
    visit("name-attribute", &OpRule::nameAttribute);
  }
};

/// How a dialect spells what autocast inserts.
struct DialectSpelling {
  /// Op that converts element types, operand to result, and the one that widens
  /// if that is another; attributes, as MLIR text, that every cast gets
  /// (`{Truncate = false}`).
  llvm::StringRef castOp, castUpOp, castAttributes;
  /// Op that makes constants and the attribute that holds the value.
  llvm::StringRef constantOp, constantValue;
  /// For dialects that name the target type by an integer operand (torch): the
  /// form `torch`, `onnx` (type attribute `to`) or empty.
  llvm::StringRef castForm;

  /// True if the cast's target type is spelled in more than its result.
  bool namesType() const { return castForm == "torch" || castForm == "onnx"; }
};

/// The ops of one row, with their dialect: "stablehlo.dot_general".
struct RuleRow {
  llvm::ArrayRef<llvm::StringRef> ops;
  OpRule rule;
};

/// The multiply-adds of ops: a MacFormula's text.
struct ProductRow {
  llvm::ArrayRef<llvm::StringRef> ops;
  llvm::StringRef macs;
};

/// Where the result of an op lies, if the op has one that counts.
enum class ResultMemory : uint8_t {
  /// In memory of its own.
  Own,
  /// In operand i's, for result i, without a copy (`reshape`, a barrier); in
  /// operand 0's for the results that have no operand of their number.
  View,
  /// Each element is made of the operands' elements at the same place, so that the
  /// result may take the memory of an operand that dies.
  Elementwise,
  /// Result i is operand i with some elements changed: it may take its memory if that
  /// dies (`dynamic_update_slice`, the variables of a loop).
  Update,
};

/// Where a compiler that fuses loops computes and stores an op. The words follow XLA
/// (InstructionFusion, CpuInstructionFusion).
enum class LoopFusion : uint8_t {
  /// Its operands and results are stored.
  None,
  /// Operands are computed while it reads them; its results are stored (`reduce`).
  Reader,
  /// As `reader`, and the result is computed in each op that reads it, if all of these
  /// fuse too.
  Any,
  /// As `any`, but the result is stored if several ops read it: it is too expensive to
  /// be computed twice (`exponential`).
  Single,
};

/// The words of the YAML for the values of an enum, in order; empty for a value that no
/// word names.
inline llvm::ArrayRef<llvm::StringRef> getWords(PrecisionClass) {
  static constexpr llvm::StringRef words[] = {"allow", "deny",   "infer",
                                              "clear", "stable", ""};
  return words;
}
inline llvm::ArrayRef<llvm::StringRef> getWords(OpTyping) {
  static constexpr llvm::StringRef words[] = {"uniform", "positional"};
  return words;
}
inline llvm::ArrayRef<llvm::StringRef> getWords(ResultForm) {
  static constexpr llvm::StringRef words[] = {"same", "wide", "f32"};
  return words;
}
inline llvm::ArrayRef<llvm::StringRef> getWords(RegionPolicy) {
  static constexpr llvm::StringRef words[] = {"opaque", "combiner", "carry", "branches"};
  return words;
}
inline llvm::ArrayRef<llvm::StringRef> getWords(ResultSign) {
  static constexpr llvm::StringRef words[] = {"", "nonnegative", "same", "opposite",
                                              "product"};
  return words;
}
inline llvm::ArrayRef<llvm::StringRef> getWords(VariableRole) {
  static constexpr llvm::StringRef words[] = {"", "source", "read", "pass"};
  return words;
}
inline llvm::ArrayRef<llvm::StringRef> getWords(ScalarPolicy) {
  static constexpr llvm::StringRef words[] = {"any", "fixed"};
  return words;
}
inline llvm::ArrayRef<llvm::StringRef> getWords(ResultMemory) {
  static constexpr llvm::StringRef words[] = {"own", "view", "elementwise", "update"};
  return words;
}

inline llvm::ArrayRef<llvm::StringRef> getWords(LoopFusion) {
  static constexpr llvm::StringRef words[] = {"none", "reader", "any", "single"};
  return words;
}

/// What planning memory must know of ops.
struct MemoryRow {
  llvm::ArrayRef<llvm::StringRef> ops;
  ResultMemory result = ResultMemory::Own;
  /// Running it again on the same operands gives the same bits, and nothing else
  /// happens; not so for random numbers with a state elsewhere and for collectives.
  bool repeatable = true;
  /// Only plans for compilers that fuse read it.
  LoopFusion fusion = LoopFusion::None;
};

/// One table: the rows of a dialect, for one policy or all.
struct RuleSet {
  /// Keeps ops that have this string attribute with that text in it, in any case
  /// of letters.
  struct KeepIf {
    llvm::StringRef attribute, contains;
    bool operator==(const KeepIf &other) const {
      return attribute == other.attribute && contains == other.contains;
    }
  };
  llvm::StringRef dialect, policy;
  DialectSpelling spelling;
  bool preserveReturned = false;
  /// All rows are those of another dialect, which the text extends.
  bool inherited = false;
  llvm::ArrayRef<KeepIf> keepIf;
  llvm::ArrayRef<RuleRow> rows;
  llvm::ArrayRef<ProductRow> products;
  llvm::ArrayRef<MemoryRow> memory;
};

} // namespace mpt

#endif // MPT_PRECISION_OPRULE_H
