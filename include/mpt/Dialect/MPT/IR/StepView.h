//===- StepView.h - Arguments and results of a step function -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the attributes of a function's arguments and results say of its step: names,
/// roles, first values, and which result is the next value of which argument. All passes,
/// the host and the program writer read them here.
///
/// The dialect's verifier has checked each attribute by itself. Nothing here demands that
/// it is there: who needs it says so.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_STEPVIEW_H
#define MPT_DIALECT_MPT_IR_STEPVIEW_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "llvm/ADT/DenseMap.h"

namespace mpt {

class StepView {
public:
  struct Argument {
    /// Null if it has none.
    mlir::StringAttr name;
    std::optional<Role> role;
    /// Null if it has none.
    InitAttr init;
    /// How the step keeps a parameter (`mpt.master`); null if nobody has said it.
    mlir::StringAttr master;
    /// The parameter whose low 16 bits this is; null otherwise.
    mlir::StringAttr lowOf;
    /// The result that is its next value.
    std::optional<unsigned> updatedBy;

    bool isState() const { return role && isStateRole(*role); }
    /// Whether the step keeps the parameter in another form than the model.
    bool hasMaster() const { return master && master.getValue() != "none"; }
  };
  struct Result {
    mlir::StringAttr name;
    /// The argument whose next value this is.
    std::optional<unsigned> updates;
  };

  /// Reads the attributes of `function`, which has a body or not. Later changes of the
  /// function do not show.
  explicit StepView(mlir::FunctionOpInterface function);

  llvm::ArrayRef<Argument> getArguments() const { return arguments; }
  llvm::ArrayRef<Result> getResults() const { return results; }
  const Argument &operator[](mlir::BlockArgument argument) const {
    return arguments[argument.getArgNumber()];
  }
  /// The argument or result of that name.
  std::optional<unsigned> findArgument(llvm::StringRef name) const;
  std::optional<unsigned> findResult(llvm::StringRef name) const;

  /// Whether a result is the next value of an argument.
  bool hasUpdates() const;

  /// The role or the name of one argument, and the name of one result, without the rest.
  static std::optional<Role> getRole(mlir::FunctionOpInterface function, unsigned index);
  static mlir::StringAttr getName(mlir::FunctionOpInterface function, unsigned index);
  static mlir::StringAttr getResultName(mlir::FunctionOpInterface function,
                                        unsigned index);
  /// The argument at `value`'s place of its function; without a name or a role if `value`
  /// is not an argument of a function.
  static Argument get(mlir::Value value);
  /// The name, and what a result updates, among the attributes of one argument or result.
  static mlir::StringAttr getName(mlir::DictionaryAttr attributes);
  static mlir::StringAttr getUpdates(mlir::DictionaryAttr attributes);

private:
  static Argument read(mlir::FunctionOpInterface function, unsigned index);

  llvm::SmallVector<Argument> arguments;
  llvm::SmallVector<Result> results;
};

/// The role that `attribute`, a `#mpt.role` or its text, is. nullopt for anything else.
std::optional<Role> readRole(mlir::Attribute attribute);

/// The first value that `attribute`, a `#mpt.init` or a dictionary, is. Emits what is
/// wrong through `emitError` and fails on an unknown kind, a number that is missing,
/// unknown or of the wrong type, and on numbers that define no distribution.
llvm::FailureOr<InitAttr>
readInit(mlir::Attribute attribute,
         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_STEPVIEW_H
