//===- StepEngine.cpp - The interface of engines ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StepEngine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpt;

StepEngine::~StepEngine() = default;

char BadIndexError::ID = 0;

void BadIndexError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code BadIndexError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}
