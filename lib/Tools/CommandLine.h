//===- CommandLine.h - Options that command lines share ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TOOLS_COMMANDLINE_H
#define MPT_LIB_TOOLS_COMMANDLINE_H

#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/Error.h"

namespace mpt {

/// An error for the first option of `args` that the table does not have, with
/// the nearest one that it has.
inline llvm::Error checkKnown(const llvm::opt::OptTable &table,
                              const llvm::opt::InputArgList &args,
                              llvm::opt::OptSpecifier unknown) {
  if (!args.hasArg(unknown))
    return llvm::Error::success();
  std::string text = (*args.filtered(unknown).begin())->getAsString(args), nearest;
  unsigned distance = table.findNearest(text, nearest);
  return llvm::createStringError(
      "unknown option '" + text + "'" +
      (distance <= 3 ? "; did you mean '" + nearest + "'?" : "; --help lists them all"));
}

/// Sets `value` to the last value of the option `id`, if it is there. An empty one is an
/// error: with `--checkpoint=$FILE` and no FILE, nothing would be saved.
inline llvm::Error parseText(const llvm::opt::ArgList &args, llvm::opt::OptSpecifier id,
                             std::string &value) {
  const llvm::opt::Arg *arg = args.getLastArg(id);
  if (!arg)
    return llvm::Error::success();
  value = arg->getValue();
  if (!value.empty())
    return llvm::Error::success();
  return llvm::createStringError(arg->getSpelling().rtrim('=') +
                                 ": expected a value, found an empty one; give one, or "
                                 "leave the option out");
}

} // namespace mpt

#endif // MPT_LIB_TOOLS_COMMANDLINE_H
