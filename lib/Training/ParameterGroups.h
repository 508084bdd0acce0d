//===- ParameterGroups.h - Kinds of parameters by their names -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_PARAMETERGROUPS_H
#define MPT_LIB_TRAINING_PARAMETERGROUPS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Regex.h"

#include <optional>
#include <string>

namespace mpt::detail {

/// The options `kind` and `groups` of a pass: a kind for all parameters, and others for
/// those whose names match a regular expression, of which the first counts.
template <typename Kind>
class ParameterGroups {
public:
  using Parser = std::optional<Kind> (*)(llvm::StringRef);

  /// Reads the options of `pass`. Fails after an error at `module`; `expected` lists the
  /// kinds for it.
  llvm::LogicalResult parse(mlir::ModuleOp module, llvm::StringRef pass,
                            llvm::StringRef kind, llvm::ArrayRef<std::string> groups,
                            Parser parseKind, llvm::StringRef expected) {
    auto parseOne = [&](llvm::StringRef text, Kind &into) -> llvm::LogicalResult {
      std::optional<Kind> parsed = parseKind(text);
      if (!parsed)
        return module.emitError(pass)
               << ": unknown kind '" << text << "'; expected " << expected;
      into = *parsed;
      return mlir::success();
    };
    rules.clear();
    if (failed(parseOne(kind, common)))
      return mlir::failure();
    for (llvm::StringRef group : groups) {
      auto [regex, name] = group.rsplit('=');
      std::string why;
      if (regex.empty() || name.empty() || !llvm::Regex(regex).isValid(why))
        return module.emitError(pass) << ": expected REGEX=KIND in groups, found '"
                                      << group << "'" << (why.empty() ? "" : ": ") << why;
      rules.push_back({regex.str(), common});
      if (failed(parseOne(name, rules.back().kind)))
        return mlir::failure();
    }
    return mlir::success();
  }

  /// The kind of the parameter `name`. Remembers which expressions have matched, and
  /// counted.
  Kind getKind(llvm::StringRef name) {
    Rule *first = nullptr;
    for (Rule &rule : rules)
      if (llvm::Regex(rule.regex).match(name)) {
        rule.matched = true;
        if (!first)
          first = &rule;
      }
    if (!first)
      return common;
    first->counted = true;
    return first->kind;
  }

  /// Whether some parameter may be of this kind.
  bool isUsed(Kind kind) const {
    return common == kind ||
           llvm::any_of(rules, [&](const Rule &rule) { return rule.kind == kind; });
  }

  /// Warns of expressions that have matched no `what`, or only those that others took
  /// before.
  void warnOfUnmatched(mlir::ModuleOp module, llvm::StringRef pass,
                       llvm::StringRef what) const {
    for (const Rule &rule : rules)
      if (!rule.matched)
        mlir::emitWarning(module.getLoc(), pass)
            << ": groups: '" << rule.regex << "' matches the name of no " << what;
      else if (!rule.counted)
        mlir::emitWarning(module.getLoc(), pass)
            << ": groups: '" << rule.regex << "' matches no " << what
            << " that an expression before it does not match; put it first";
  }

private:
  struct Rule {
    std::string regex;
    Kind kind;
    bool matched = false;
    bool counted = false;
  };
  Kind common{};
  llvm::SmallVector<Rule> rules;
};

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_PARAMETERGROUPS_H
