//===- TextMutator.h - Changes to a module's text that often parse -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Works on lines and on words in them: ops get other names, operands and types;
/// lines are doubled, dropped, moved and given attributes. Most of it is still a
/// module, where single bytes would leave none.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_FUZZ_TEXTMUTATOR_H
#define MPT_TEST_FUZZ_TEXTMUTATOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <random>
#include <string>
#include <vector>

namespace mpt {

/// Whether `text` has words that MLIR's own parser does not survive, whatever program it
/// is in.
bool crashesMLIR(llvm::StringRef text);

class TextMutator {
public:
  /// `ops` are names that ops may get in addition to those of other dialects.
  TextMutator(llvm::StringRef text, std::minstd_rand &random,
              llvm::ArrayRef<std::string> ops = {});

  void mutate();
  std::string getText() const;

private:
  /// A place in a line.
  struct Word {
    size_t line, begin, size;
  };
  size_t draw(size_t count) { return random() % count; }
  template <typename List>
  llvm::StringRef pick(const List &list) {
    return list[draw(std::size(list))];
  }
  llvm::StringRef get(Word word) const {
    return llvm::StringRef(lines[word.line]).substr(word.begin, word.size);
  }
  void replace(Word word, llvm::StringRef by);
  /// Words that begin with `prefix`, of the characters that names have.
  std::vector<Word> find(llvm::StringRef prefix, bool types = false) const;

  void changeElement();
  void changeType();
  void changeOperand();
  void changeName();
  void changeInteger();
  void addAttribute();
  void doubleLine();

  std::vector<std::string> lines;
  std::minstd_rand &random;
  llvm::ArrayRef<std::string> ops;
};

} // namespace mpt

#endif // MPT_TEST_FUZZ_TEXTMUTATOR_H
