//===- JsonMutator.h - Changes to JSON values -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_FUZZ_JSONMUTATOR_H
#define MPT_TEST_FUZZ_JSONMUTATOR_H

#include "FuzzTarget.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

namespace mpt::fuzz {

/// Changes one place in `value`: another number, text, list or object, one more or
/// one less. `words` are keys and texts that mean something.
void mutateJson(llvm::json::Value &value, llvm::ArrayRef<llvm::StringRef> words,
                Random &random);

} // namespace mpt::fuzz

#endif // MPT_TEST_FUZZ_JSONMUTATOR_H
