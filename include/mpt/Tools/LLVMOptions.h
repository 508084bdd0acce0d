//===- LLVMOptions.h - Options that libLLVM brings --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TOOLS_LLVMOPTIONS_H
#define MPT_TOOLS_LLVMOPTIONS_H

#include "mpt/Support/Version.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace mpt {

/// libLLVM gives every program that links it the options of all its code generators.
/// They stay usable, but only --help-hidden lists them. Call it before the program's own
/// options are registered. --version also prints MPT's.
inline void hideLLVMOptions() {
  for (auto [name, option] : llvm::cl::getRegisteredOptions())
    if (!name.starts_with("help") && name != "version")
      option->setHiddenFlag(llvm::cl::Hidden);
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "MPT version " << kVersion << "\n"; });
}

} // namespace mpt

#endif // MPT_TOOLS_LLVMOPTIONS_H
