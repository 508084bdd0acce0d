//===- mpt-compile.cpp - Ahead-of-time compilation -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Tools/MPTCompileMain.h"

int main(int argc, char **argv) { return mpt::mptCompileMain(argc, argv); }
