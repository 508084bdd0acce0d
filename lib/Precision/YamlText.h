//===- YamlText.h - YAML with errors that name their place -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_YAMLTEXT_H
#define MPT_LIB_PRECISION_YAMLTEXT_H

#include "YamlDepth.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include "llvm/Support/YAMLTraits.h"

namespace mpt {

/// What YAML errors are reported with: where in the module, what the text is ("rule
/// table"), and the key whose value is being read.
struct YamlContext {
  mlir::Location loc;
  llvm::StringRef what;
  /// For what readers keep of the text.
  llvm::BumpPtrAllocator *storage = nullptr;
  llvm::StringRef text = {}, key = {};
  /// Of the value that is wrong.
  std::string message = {};
  bool hasError = false;

  static YamlContext &of(llvm::yaml::IO &io) {
    return *static_cast<YamlContext *>(io.getContext());
  }
};

/// Emits what the YAML reader found at its place in the text.
inline void emitYamlError(const llvm::SMDiagnostic &diagnostic, void *opaque) {
  auto &context = *static_cast<YamlContext *>(opaque);
  context.hasError = true;
  // LLVM's words for what stands where something else was expected.
  llvm::StringRef message =
      llvm::StringSwitch<llvm::StringRef>(diagnostic.getMessage())
          .Case("unexpected scalar", "expected a single value")
          .Case("not a sequence", "expected a list: [...]")
          .Case("not a mapping", "expected keys and their values: {key: value}")
          .Default(diagnostic.getMessage());
  mlir::InFlightDiagnostic error = mlir::emitError(
      mlir::FileLineColLoc::get(context.loc.getContext(), diagnostic.getFilename(),
                                diagnostic.getLineNo(), diagnostic.getColumnNo() + 1));
  error << context.what << ": ";
  // A missing or unknown key is not an error of a value.
  if (!context.key.empty() && !message.contains(" key '"))
    error << context.key << ": ";
  error << message;
}

/// The documents of `yaml`, or failure after errors that name `source`.
template <typename Document>
llvm::FailureOr<std::vector<Document>> readYaml(YamlContext context, llvm::StringRef yaml,
                                                llvm::StringRef source) {
  if (!isShallowYaml(yaml)) {
    mlir::emitError(context.loc)
        << context.what << ": " << source << ": lists or mappings are nested deeper than "
        << kMaxYamlDepth;
    return llvm::failure();
  }
  // LLVM's reader takes other bytes within quotes and comments.
  if (size_t place = 0; !llvm::json::isUTF8(yaml, &place)) {
    size_t line = 1 + yaml.take_front(place).count('\n');
    mlir::emitError(mlir::FileLineColLoc::get(context.loc.getContext(), source, line, 1))
        << context.what << ": the text is not UTF-8; save it in that encoding";
    return llvm::failure();
  }
  context.text = yaml;
  llvm::yaml::Input input(llvm::MemoryBufferRef(yaml, source), &context, emitYamlError,
                          &context);
  std::vector<Document> documents;
  input >> documents;
  if (!input.error())
    return documents;
  // LLVM's reader stops at some texts, such as the directive of a document, in silence.
  if (!context.hasError)
    mlir::emitError(mlir::FileLineColLoc::get(context.loc.getContext(), source, 1, 1))
        << context.what << ": the text is no YAML that MPT reads; expected lines of "
        << "'key: value'";
  return llvm::failure();
}

/// `text` in double quotes, as YAML reads it back.
inline std::string quoteYaml(llvm::StringRef text) {
  return '"' + llvm::yaml::escape(text, /*EscapePrintable=*/false) + '"';
}
/// `text` as YAML reads it back: without quotes if it is a plain name.
inline std::string printYaml(llvm::StringRef text) {
  bool isPlain = !text.empty() && llvm::all_of(text, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.';
  });
  return isPlain ? text.str() : quoteYaml(text);
}

/// The line, from 1, of what is being read.
inline unsigned getYamlLine(llvm::yaml::IO &io) {
  const llvm::yaml::Node *node = static_cast<llvm::yaml::Input &>(io).getCurrentNode();
  llvm::StringRef text = YamlContext::of(io).text;
  return text.take_front(node->getSourceRange().Start.getPointer() - text.begin())
             .count('\n') +
         1;
}

/// Errors name `key` while this lives.
class YamlKeyScope {
public:
  YamlKeyScope(llvm::yaml::IO &io, llvm::StringRef key)
      : context(YamlContext::of(io)), outer(context.key) {
    context.key = key;
  }
  ~YamlKeyScope() { context.key = outer; }

private:
  YamlContext &context;
  llvm::StringRef outer;
};

/// mapOptional and mapRequired whose errors name the key.
template <typename T>
void mapKey(llvm::yaml::IO &io, const char *key, T &value) {
  YamlKeyScope scope(io, key);
  io.mapOptional(key, value);
}
template <typename T>
void mapRequiredKey(llvm::yaml::IO &io, const char *key, T &value) {
  YamlKeyScope scope(io, key);
  io.mapRequired(key, value);
}

/// `true` or `false`, and a number that is not negative; errors say what was found.
struct YamlFlag {
  bool value;
};
struct YamlCount {
  uint64_t value;
};

template <typename Flag>
void mapFlag(llvm::yaml::IO &io, const char *key, Flag &value) {
  std::optional<YamlFlag> read;
  mapKey(io, key, read);
  if (read)
    value = read->value;
}
void mapCount(llvm::yaml::IO &io, const char *key, std::optional<uint64_t> &value);
/// Of operands or results.
void mapIndices(llvm::yaml::IO &io, const char *key, std::vector<unsigned> &values);

/// One of `choices`, or an error of the text.
inline void mapChoice(llvm::yaml::IO &io, const char *key, std::string &value,
                      llvm::ArrayRef<llvm::StringRef> choices) {
  mapKey(io, key, value);
  if (value.empty() || llvm::is_contained(choices, value))
    return;
  io.setError("unknown " + llvm::Twine(key) + " '" + value + "'; expected one of " +
              llvm::join(choices, ", "));
}

inline constexpr llvm::StringRef kClassNames[] = {"allow", "deny",   "infer",
                                                  "clear", "stable", "fixed"};

} // namespace mpt

LLVM_YAML_IS_FLOW_SEQUENCE_VECTOR(mpt::YamlCount)

template <>
struct llvm::yaml::ScalarTraits<mpt::YamlFlag> {
  static llvm::StringRef input(llvm::StringRef text, void *opaque, mpt::YamlFlag &flag) {
    if (std::optional<bool> value = llvm::yaml::parseBool(text)) {
      flag.value = *value;
      return "";
    }
    std::string &message = static_cast<mpt::YamlContext *>(opaque)->message;
    message = ("expected true or false, found '" + text + "'").str();
    return message;
  }
  static void output(const mpt::YamlFlag &, void *, llvm::raw_ostream &) {}
  static QuotingType mustQuote(llvm::StringRef) { return QuotingType::None; }
};

template <>
struct llvm::yaml::ScalarTraits<mpt::YamlCount> {
  static llvm::StringRef input(llvm::StringRef text, void *opaque,
                               mpt::YamlCount &count) {
    if (!text.getAsInteger(0, count.value))
      return "";
    std::string &message = static_cast<mpt::YamlContext *>(opaque)->message;
    message = ("expected a number from 0, found '" + text + "'").str();
    return message;
  }
  static void output(const mpt::YamlCount &, void *, llvm::raw_ostream &) {}
  static QuotingType mustQuote(llvm::StringRef) { return QuotingType::None; }
};

inline void mpt::mapCount(llvm::yaml::IO &io, const char *key,
                          std::optional<uint64_t> &value) {
  std::optional<YamlCount> read;
  mapKey(io, key, read);
  if (read)
    value = read->value;
}

inline void mpt::mapIndices(llvm::yaml::IO &io, const char *key,
                            std::vector<unsigned> &values) {
  std::vector<YamlCount> read;
  mapKey(io, key, read);
  for (YamlCount count : read) {
    // More than any op has.
    constexpr uint64_t kMost = 1 << 24;
    if (count.value >= kMost)
      io.setError(llvm::Twine(key) + ": there is no index " + llvm::Twine(count.value));
    values.push_back(std::min(count.value, kMost));
  }
}

#endif // MPT_LIB_PRECISION_YAMLTEXT_H
