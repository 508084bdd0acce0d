//===- NpyMutator.h - Changes to .npy files that often read -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Takes a file of NumPy's format apart, changes type, order or shape, and puts it
/// together again with as many bytes of data as the header asks for, most times.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_FUZZ_NPYMUTATOR_H
#define MPT_TEST_FUZZ_NPYMUTATOR_H

#include "FuzzTarget.h"

namespace mpt::fuzz {

/// Another file like `file`.
std::string mutateNpy(llvm::StringRef file, Random &random);

} // namespace mpt::fuzz

#endif // MPT_TEST_FUZZ_NPYMUTATOR_H
