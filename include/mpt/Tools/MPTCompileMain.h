//===- MPTCompileMain.h - Ahead-of-time compilation -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TOOLS_MPTCOMPILEMAIN_H
#define MPT_TOOLS_MPTCOMPILEMAIN_H

namespace mpt {

/// The whole of mpt-compile; returns the exit status.
int mptCompileMain(int argc, char **argv);

} // namespace mpt

#endif // MPT_TOOLS_MPTCOMPILEMAIN_H
