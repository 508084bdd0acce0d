//===- YamlText.h - YAML with errors that name their place -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_POLICY_YAMLTEXT_H
#define MPT_LIB_POLICY_YAMLTEXT_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLTraits.h"

namespace mpt {

/// What YAML errors are reported with: where in the module, and what the text is
/// ("rule table").
struct YamlContext {
  mlir::Location loc;
  llvm::StringRef what;
};

/// Emits what the YAML reader found at its place in the text.
inline void emitYamlError(const llvm::SMDiagnostic &diagnostic, void *opaque) {
  const auto &context = *static_cast<YamlContext *>(opaque);
  mlir::emitError(mlir::FileLineColLoc::get(
      context.loc.getContext(), diagnostic.getFilename(), diagnostic.getLineNo(),
      diagnostic.getColumnNo() + 1))
      << context.what << ": " << diagnostic.getMessage();
}

/// How deep brackets may nest in a file: LLVM's reader is recursive.
inline constexpr unsigned kMaxYamlDepth = 64;

/// The documents of `yaml`, or failure after errors that name `source`.
template <typename Document>
llvm::FailureOr<std::vector<Document>> readYaml(YamlContext context,
                                                llvm::StringRef yaml,
                                                llvm::StringRef source) {
  unsigned depth = 0;
  for (char letter : yaml) {
    depth += letter == '[' || letter == '{';
    depth -= depth != 0 && (letter == ']' || letter == '}');
    if (depth > kMaxYamlDepth) {
      mlir::emitError(context.loc) << context.what << ": " << source
                                   << ": brackets are nested deeper than "
                                   << kMaxYamlDepth;
      return llvm::failure();
    }
  }
  llvm::yaml::Input input(llvm::MemoryBufferRef(yaml, source), nullptr, emitYamlError,
                          &context);
  std::vector<Document> documents;
  input >> documents;
  if (input.error())
    return llvm::failure();
  return documents;
}

/// One of `choices`, or an error of the text.
inline void mapChoice(llvm::yaml::IO &io, const char *key, std::string &value,
                      llvm::ArrayRef<llvm::StringRef> choices) {
  io.mapOptional(key, value);
  if (value.empty() || llvm::is_contained(choices, value))
    return;
  io.setError("unknown " + llvm::Twine(key) + " '" + value + "'; expected one of " +
              llvm::join(choices, ", "));
}

inline constexpr llvm::StringRef kClassNames[] = {"allow", "deny",   "infer",
                                                  "clear", "stable", "fixed"};

} // namespace mpt

#endif // MPT_LIB_POLICY_YAMLTEXT_H
