//===- WordMutator.cpp - Changes to YAML and the like, word by word -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WordMutator.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <vector>

using namespace mpt::fuzz;
using llvm::StringRef;

static bool isWord(char c) { return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.'; }

std::string mpt::fuzz::mutateWords(StringRef text, llvm::ArrayRef<StringRef> words,
                                   llvm::ArrayRef<StringRef> lines, Random &random) {
  llvm::SmallVector<StringRef> split;
  text.split(split, '\n', -1, /*KeepEmpty=*/false);
  std::vector<std::string> made(split.begin(), split.end());
  for (size_t steps = 1 + draw(random, 3); steps > 0; --steps) {
    if (made.empty())
      made.emplace_back(pick(random, lines));
    size_t line = draw(random, made.size());
    switch (draw(random, 8)) {
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
      made.insert(made.begin() + draw(random, made.size() + 1), pick(random, lines).str());
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
