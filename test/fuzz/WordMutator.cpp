//===- WordMutator.cpp - Changes to YAML and the like, word by word -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WordMutator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <vector>

using namespace mpt::fuzz;
using llvm::StringRef;

static bool isWord(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.';
}

/// The parts between the outermost braces of `line`: "a: 1" and "b: [2, 3]" of
/// "- {a: 1, b: [2, 3]}".
static llvm::SmallVector<StringRef> splitMapping(StringRef line) {
  llvm::SmallVector<StringRef> parts;
  size_t start = line.find('{');
  unsigned depth = 0;
  for (size_t at = start; at < line.size(); ++at) {
    depth += line[at] == '{' || line[at] == '[';
    depth -= depth != 0 && (line[at] == '}' || line[at] == ']');
    if (depth != 0 && (depth != 1 || line[at] != ','))
      continue;
    parts.push_back(line.slice(start + 1, at).trim());
    start = at;
    if (depth == 0)
      break;
  }
  return parts;
}

/// Puts `whole` in the place of the line with its key, if there is one: keys are there
/// once. Most often; else anywhere.
static void putLine(std::vector<std::string> &made, StringRef whole, Random &random) {
  StringRef key = whole.split(':').first;
  auto same = llvm::find_if(made, [&](StringRef each) {
    return each.starts_with(key) && each.drop_front(key.size()).starts_with(":");
  });
  if (same != made.end() && draw(random, 4) != 0)
    *same = whole.str();
  else
    made.insert(made.begin() + draw(random, made.size() + 1), whole.str());
}

std::string mpt::fuzz::crossWords(StringRef text, StringRef other, Random &random) {
  llvm::SmallVector<StringRef> split, lines;
  text.split(split, '\n', -1, /*KeepEmpty=*/false);
  other.split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::vector<std::string> made(split.begin(), split.end());
  if (!lines.empty())
    for (size_t count = 1 + draw(random, 4); count > 0; --count)
      putLine(made, pick(random, lines), random);
  return llvm::join(made, "\n") + "\n";
}

std::string mpt::fuzz::mutateWords(StringRef text, llvm::ArrayRef<StringRef> words,
                                   llvm::ArrayRef<StringRef> lines, Random &random) {
  llvm::SmallVector<StringRef> split;
  text.split(split, '\n', -1, /*KeepEmpty=*/false);
  std::vector<std::string> made(split.begin(), split.end());
  for (size_t steps = 1 + draw(random, 3); steps > 0; --steps) {
    if (made.empty())
      made.emplace_back(pick(random, lines));
    size_t line = draw(random, made.size());
    switch (draw(random, 10)) {
    case 8:
    case 9: {
      // A key and its value from another mapping, for one that lacks it.
      llvm::SmallVector<size_t> mappings;
      for (size_t i = 0; i < made.size(); ++i)
        if (made[i].find('{') != std::string::npos)
          mappings.push_back(i);
      if (mappings.empty())
        continue;
      std::string &into = made[pick(random, mappings)];
      std::string from = draw(random, 2) ? pick(random, lines).str() : pick(random, made);
      llvm::SmallVector<StringRef> parts = splitMapping(from), own = splitMapping(into);
      llvm::erase_if(parts, [&](StringRef part) {
        return llvm::any_of(own, [&](StringRef each) {
          return each.split(':').first == part.split(':').first;
        });
      });
      if (!parts.empty())
        into.insert(into.find('{') + 1, pick(random, parts).str() + ", ");
      continue;
    }
    case 0:
      made.insert(made.begin() + line, made[line]);
      continue;
    case 1:
      made.erase(made.begin() + line);
      continue;
    case 2:
      std::swap(made[line], made[draw(random, made.size())]);
      continue;
    case 3:
    case 4:
      putLine(made, pick(random, lines), random);
      continue;
    default:
      break;
    }
    std::string &old = made[line];
    llvm::SmallVector<std::pair<size_t, size_t>> found;
    for (size_t i = 0; i < old.size(); ++i)
      if (isWord(old[i]) && (i == 0 || !isWord(old[i - 1])))
        found.push_back({i, StringRef(old).drop_front(i).take_while(isWord).size()});
    if (found.empty())
      continue;
    auto [at, size] = pick(random, found);
    std::string by = pick(random, words).str();
    if (draw(random, 3) == 0) {
      auto [otherAt, otherSize] = pick(random, found);
      by = old.substr(otherAt, otherSize);
    }
    old.replace(at, size, by);
  }
  return llvm::join(made, "\n") + "\n";
}
