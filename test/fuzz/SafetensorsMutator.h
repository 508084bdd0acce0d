//===- SafetensorsMutator.h - Changes to .safetensors files that often read -*- C++
//-*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_FUZZ_SAFETENSORSMUTATOR_H
#define MPT_TEST_FUZZ_SAFETENSORSMUTATOR_H

#include "FuzzTarget.h"
#include "llvm/ADT/ArrayRef.h"

namespace mpt::fuzz {

/// Changes a place of the header of `file`; most times the offsets and the size of the
/// file are made to agree with it again. `words` as in mutateJson.
std::string mutateSafetensors(llvm::StringRef file, llvm::ArrayRef<llvm::StringRef> words,
                              Random &random);

} // namespace mpt::fuzz

#endif // MPT_TEST_FUZZ_SAFETENSORSMUTATOR_H
