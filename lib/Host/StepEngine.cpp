//===- StepEngine.cpp - Something that runs a function ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StepEngine.h"

using namespace mpt;

StepEngine::~StepEngine() = default;
