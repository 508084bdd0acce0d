//===- WordMutator.h - Changes to YAML and the like, word by word -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_FUZZ_WORDMUTATOR_H
#define MPT_TEST_FUZZ_WORDMUTATOR_H

#include "FuzzTarget.h"
#include "llvm/ADT/ArrayRef.h"

namespace mpt::fuzz {

/// Replaces words of `text` by one another or by one of `words`, copies keys with their
/// values from one mapping `{key: value}` to another, and doubles, drops and moves lines;
/// `lines` are whole lines that mean something.
std::string mutateWords(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> words,
                        llvm::ArrayRef<llvm::StringRef> lines, Random &random);

/// `text` with some lines of `other`, often in the place of the line with the same key.
std::string crossWords(llvm::StringRef text, llvm::StringRef other, Random &random);

} // namespace mpt::fuzz

#endif // MPT_TEST_FUZZ_WORDMUTATOR_H
