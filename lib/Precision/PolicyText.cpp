//===- PolicyText.cpp - A policy file as it is written -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyText.h"
#include "YamlText.h"

using namespace mlir;
using namespace mpt;

LLVM_YAML_IS_SEQUENCE_VECTOR(mpt::MoveText)
LLVM_YAML_IS_DOCUMENT_LIST_VECTOR(mpt::PolicyText)

template <>
struct llvm::yaml::ScalarTraits<PatternText> {
  static StringRef input(StringRef text, void *, PatternText &pattern) {
    pattern.text = text.str();
    return "";
  }
  static void output(const PatternText &, void *, llvm::raw_ostream &) {}
  static QuotingType mustQuote(StringRef) { return QuotingType::None; }
};

template <>
struct llvm::yaml::SequenceTraits<std::vector<PatternText>> {
  static size_t size(IO &, std::vector<PatternText> &patterns) { return patterns.size(); }
  static PatternText &element(IO &io, std::vector<PatternText> &patterns, size_t index) {
    if (patterns.size() <= index)
      patterns.resize(index + 1);
    patterns[index].line = mpt::getYamlLine(io);
    return patterns[index];
  }
};

template <>
struct llvm::yaml::MappingTraits<MoveText> {
  static void mapping(IO &io, MoveText &text) {
    mpt::YamlKeyScope scope(io, "");
    text.line = mpt::getYamlLine(io);
    mapRequiredKey(io, "ops", text.ops);
    mapChoice(io, "class", text.precisionClass, kClassNames);
    // Where the ops are missing, that error is enough.
    if (text.precisionClass.empty() && !text.ops.empty())
      io.setError("a move needs a 'class'");
    mapKey(io, "dialect", text.dialect);
    mapKey(io, "in", text.in);
  }
};

template <>
struct llvm::yaml::MappingTraits<PolicyText> {
  static void mapping(IO &io, PolicyText &text) {
    mapRequiredKey(io, "policy", text.policy);
    mapKey(io, "extends", text.extends);
    mapKey(io, "types", text.types);
    if (text.types && text.types->empty() && !io.error())
      io.setError("expected f16, bf16 or both in 'types'");
    for (const std::string &type : text.types.value_or(std::vector<std::string>()))
      if (type != "f16" && type != "bf16")
        io.setError("unknown type '" + Twine(type) + "'; expected f16 or bf16");
    PolicyText::forEachKey([&](const char *key, auto field, auto, auto... words) {
      auto &value = text.*field;
      using Value = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::optional<bool>>)
        mapFlag(io, key, value);
      else if constexpr (std::is_same_v<Value, std::optional<uint64_t>>)
        mapCount(io, key, value);
      else if constexpr (sizeof...(words) != 0)
        mapChoice(io, key, value, {words...});
      else
        mapKey(io, key, value);
    });
    mapKey(io, "moves", text.moves);
    mapKey(io, "keep", text.keep);
    mapChoice(io, "unmatched", text.unmatched, {"warn", "ignore"});
    mapKey(io, "rules", text.rules);
  }
};

FailureOr<std::vector<PolicyText>> mpt::readPolicyTexts(Location loc, StringRef yaml,
                                                        StringRef source) {
  return readYaml<PolicyText>({loc, "policy"}, yaml, source);
}
