//===- PolicyFile.cpp - A precision policy as data -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PolicyFile.h"
#include "PolicyText.h"
#include "YamlText.h"
#include "mpt/Precision/ClientProfile.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace mlir;
using namespace mpt;

namespace {

struct Builtin {
  StringRef name;
  PolicyText (*make)();
};

// Every *.yaml of lib/Precision/Presets, sorted by name: `builtins`.
#include "BuiltinPolicies.inc"

/// Deeper than anyone nests policies on purpose.
constexpr unsigned kMaxExtends = 8;

/// One policy of a chain, with where it is from.
struct Source {
  PolicyText text;
  /// The directory that its paths start from; empty for built-in ones.
  std::string directory, origin;
};

bool isPath(StringRef name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

FailureOr<Source> readPolicyFile(Location loc, StringRef name, StringRef directory) {
  SmallString<128> path(name);
  if (!directory.empty() && llvm::sys::path::is_relative(path)) {
    path = directory;
    llvm::sys::path::append(path, name);
  }
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &error);
  if (!buffer)
    return mlir::emitError(loc) << "policy: " << error;
  FailureOr<std::vector<PolicyText>> documents =
      readPolicyTexts(loc, buffer->getBuffer(), path);
  if (failed(documents))
    return failure();
  if (documents->size() != 1)
    return mlir::emitError(loc) << path << ": expected one policy, found "
                                << documents->size() << "; it begins with 'policy: NAME'";
  return Source{std::move(documents->front()), llvm::sys::path::parent_path(path).str(),
                path.str().str()};
}

FailureOr<Source> readPolicy(Location loc, StringRef name, StringRef directory) {
  if (isPath(name))
    return readPolicyFile(loc, name, directory);
  auto found =
      llvm::find_if(builtins, [&](const Builtin &each) { return each.name == name; });
  if (found == std::end(builtins))
    return mlir::emitError(loc)
           << "unknown policy '" << name << "'; expected one of "
           << llvm::join(getBuiltinPolicies(), ", ") << ", or a file (*.yaml)";
  return Source{found->make(), "", name.str()};
}

template <typename T>
void set(T &setting, const std::optional<T> &value) {
  setting = value.value_or(setting);
}
void set(std::string &setting, const std::string &value) {
  if (!value.empty())
    setting = value;
}
void set(std::vector<std::string> &setting, const std::vector<std::string> &value) {
  llvm::append_range(setting, value);
}

void apply(const Source &source, unsigned layer, PolicySettings &settings) {
  const PolicyText &text = source.text;
  auto getPlace = [&](unsigned line) {
    return isPath(source.origin)
               ? PolicyPlace{source.origin, line, text.unmatched == "ignore"}
               : PolicyPlace();
  };
  settings.names.insert(settings.names.begin(), text.policy);
  if (text.types)
    settings.types = *text.types;
  PolicyText::forEachKey([&](StringRef, auto field, auto setting, auto...) {
    set(settings.*setting, text.*field);
  });
  for (const MoveText &each : text.moves) {
    PolicyMove move;
    move.precisionClass = *symbolizePrecisionClass(each.precisionClass);
    for (const std::string &op : each.ops)
      move.ops.push_back(each.dialect.empty() ? op : each.dialect + "." + op);
    move.in = each.in;
    move.origin = source.origin;
    move.layer = layer;
    move.place = getPlace(each.line);
    settings.moves.push_back(std::move(move));
  }
  for (const PatternText &each : text.keep)
    settings.keep.push_back({each.text, getPlace(each.line)});
  for (const std::string &path : text.rules) {
    SmallString<128> resolved(path);
    if (llvm::sys::path::is_relative(path)) {
      resolved = source.directory;
      llvm::sys::path::append(resolved, path);
    }
    settings.rules.push_back(resolved.str().str());
  }
}

} // namespace

SmallVector<StringRef> mpt::getBuiltinPolicies() {
  return llvm::map_to_vector(builtins, [](const Builtin &each) { return each.name; });
}

FailureOr<PolicySettings> mpt::loadPolicy(Location loc, StringRef name) {
  SmallVector<Source, 2> chain;
  std::string next = name.str(), directory;
  // What a file names is wrong in that file.
  auto setPlace = [&](const Source &source) {
    if (isPath(source.origin))
      loc = FileLineColLoc::get(loc.getContext(), source.origin, 1, 1);
  };
  while (!next.empty()) {
    if (chain.size() == kMaxExtends)
      return mlir::emitError(loc) << "policy '" << name << "' extends itself, or "
                                  << "through more than " << kMaxExtends << " others";
    FailureOr<Source> source = readPolicy(loc, next, directory);
    if (failed(source))
      return failure();
    next = source->text.extends;
    directory = source->directory;
    setPlace(*source);
    // A file that names no base adds to the default.
    if (next.empty() && isPath(source->origin))
      next = "mpt";
    chain.push_back(std::move(*source));
  }
  PolicySettings settings;
  unsigned layer = 0;
  for (const Source &source : llvm::reverse(chain))
    apply(source, layer++, settings);
  settings.mixedResults =
      stringifyMixedResults(*symbolizeMixedResults(settings.mixedResults));
  if (isPath(chain.front().origin))
    settings.file = chain.front().origin;
  return settings;
}

/// `text` in YAML's single quotes, in which only they are special, unless it has
/// characters that only double quotes can hold.
static std::string quote(StringRef text) {
  if (!llvm::all_of(text, llvm::isPrint))
    return quoteYaml(text);
  std::string quoted = "'";
  for (char letter : text)
    quoted += letter == '\'' ? "''" : std::string(1, letter);
  return quoted + "'";
}

static std::string spell(bool value) { return value ? "true" : "false"; }
static std::string spell(uint64_t value) { return std::to_string(value); }
static std::string spell(ArrayRef<std::string> items) {
  return "[" + llvm::join(llvm::map_range(items, quote), ", ") + "]";
}
static std::string spell(const std::string &text) { return quote(text); }
/// One of the words that a key has.
template <typename... Words>
static std::string spell(const std::string &word, Words...) {
  return word;
}

void mpt::printPolicy(const PolicySettings &settings, llvm::raw_ostream &os) {
  os << "policy: " << quote(settings.names.front()) << "\n";
  // Its tables may be for a policy that it extends; the moves are all below.
  os << "extends: " << settings.names.back() << "\n";
  os << "types: [" << llvm::join(settings.types, ", ") << "]\n";
  PolicyText::forEachKey([&](StringRef key, auto, auto setting, auto... words) {
    const auto &value = settings.*setting;
    // Without a target there are no rates to weigh casts with.
    if (key == "cost-gate" && settings.target.empty())
      return;
    if constexpr (!std::is_arithmetic_v<std::decay_t<decltype(value)>>)
      if (value.empty())
        return;
    os << key << ": " << spell(value, words...) << "\n";
  });
  std::vector<std::string> keep;
  for (const KeepPattern &each : settings.keep)
    keep.push_back(each.text);
  if (!keep.empty())
    os << "keep: " << spell(keep) << "\n";
  if (llvm::any_of(settings.keep,
                   [](const KeepPattern &each) { return each.place.mayMiss; }) ||
      llvm::any_of(settings.moves,
                   [](const PolicyMove &each) { return each.place.mayMiss; }))
    os << "unmatched: ignore\n";
  if (!settings.rules.empty())
    os << "rules: " << spell(settings.rules) << "\n";
  // Of a name that several layers move, the last counts, also a pattern of a later one;
  // here all are one layer.
  std::map<std::pair<StringRef, StringRef>, const PolicyMove *> last;
  for (const PolicyMove &move : settings.moves)
    for (const std::string &op : move.ops)
      last[{move.in, op}] = &move;
  auto isCovered = [&](const PolicyMove &move, StringRef op) {
    return llvm::any_of(settings.moves, [&](const PolicyMove &later) {
      return later.layer > move.layer && later.in == move.in &&
             llvm::any_of(later.ops, [&](StringRef text) {
               if (!text.contains('*'))
                 return false;
               llvm::Expected<llvm::GlobPattern> pattern =
                   llvm::GlobPattern::create(text);
               if (pattern)
                 return pattern->match(op);
               llvm::consumeError(pattern.takeError());
               return false;
             });
    });
  };
  bool first = true;
  for (const PolicyMove &move : settings.moves) {
    std::vector<StringRef> ops;
    for (const std::string &op : move.ops)
      if (last[{move.in, op}] == &move && !isCovered(move, op))
        ops.push_back(op);
    if (ops.empty())
      continue;
    if (first)
      os << "moves:\n";
    first = false;
    os << "- class: " << stringifyPrecisionClass(move.precisionClass) << " # "
       << move.origin << "\n";
    if (!move.in.empty())
      os << "  in: " << quote(move.in) << "\n";
    os << "  ops: [";
    llvm::interleaveComma(ops, os, [&](StringRef op) { os << quote(op); });
    os << "]\n";
  }
}
