//===- OpReference.cpp - The reference of the ops ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/OpReference.h"

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;

namespace {
/// What other libraries call an op or a formula of ops.
struct OtherName {
  /// As `normalize` makes it.
  StringLiteral key;
  /// "`mpt.reduce` with `kind = #mpt.reduce_kind<mean>`".
  StringLiteral spelling;
};
} // namespace

static constexpr OpReference opReferences[] = {
#define GET_OP_REFERENCES
#include "mpt/Dialect/MPT/IR/OpReference.inc"
#undef GET_OP_REFERENCES
};

static constexpr OtherName otherNames[] = {
#define GET_OTHER_NAMES
#include "mpt/Dialect/MPT/IR/OpReference.inc"
#undef GET_OTHER_NAMES
};

ArrayRef<OpReference> mpt::getOpReferences() { return opReferences; }

const OpReference *mpt::findOpReference(StringRef name) {
  name.consume_front("mpt.");
  const OpReference *found =
      llvm::find_if(opReferences, [&](const OpReference &op) { return op.name == name; });
  return found == std::end(opReferences) ? nullptr : found;
}

/// The last component, in lower case and without underscores: `nn.LayerNorm`,
/// `layernorm` and `layer_norm` are one name.
static std::string normalize(StringRef name) {
  std::string key;
  for (char c : name.substr(name.rfind('.') + 1))
    if (c != '_')
      key += llvm::toLower(c);
  return key;
}

std::string mpt::suggestOp(StringRef name) {
  std::string key = normalize(name);
  // The fewest edits so far; more than a third of the letters is too far.
  unsigned nearest = key.size() / 3 + 1;
  std::string suggestion;
  auto consider = [&](StringRef candidate, auto describe) {
    unsigned distance = StringRef(key).edit_distance(
        candidate, /*AllowReplacements=*/true, /*MaxEditDistance=*/nearest);
    if (distance >= nearest)
      return;
    nearest = distance;
    suggestion = describe(/*isSame=*/distance == 0);
  };
  for (const OpReference &op : opReferences)
    consider(normalize(op.name),
             [&](bool) { return ("did you mean `mpt." + op.name + "`?").str(); });
  for (const OtherName &other : otherNames)
    consider(other.key, [&](bool isSame) {
      std::string guess = isSame ? "" : ("did you mean " + other.key + "? ").str();
      return (guess + "in mpt it is " + other.spelling).str();
    });
  return suggestion.empty() ? "`mpt-opt --mpt-ops` lists all ops" : suggestion;
}

//===----------------------------------------------------------------------===//
// Errors for unknown ops
//===----------------------------------------------------------------------===//

static ParseResult refuseUnknownOp(OpAsmParser &parser, OperationState &state) {
  // The parser puts "custom op 'mpt.mean' " before it.
  return parser.emitError(parser.getNameLoc(), "is unknown; ")
         << suggestOp(state.name.getStringRef());
}

std::optional<Dialect::ParseOpHook>
MPTDialect::getParseOperationHook(StringRef opName) const {
  // MLIR asks for ops without an assembly format, and all of mpt's have one.
  return ParseOpHook(refuseUnknownOp);
}

void mpt::registerUnknownOpSuggestions(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MPTDialect *) {
    context->getDiagEngine().registerHandler([](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      // The verifier's own words (mlir/lib/IR/Verifier.cpp).
      std::string message = diagnostic.str();
      StringRef text = message;
      if (text.consume_front("unregistered operation 'mpt.")) {
        auto [name, rest] = text.split('\'');
        if (rest == " found in dialect ('mpt') that does not allow unknown operations")
          diagnostic << "; " << suggestOp(name);
      }
      return failure();
    });
  });
}
