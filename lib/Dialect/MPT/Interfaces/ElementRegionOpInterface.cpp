//===- ElementRegionOpInterface.cpp - Scalar code in a region -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Interfaces/ElementRegionOpInterface.h"

#include "mpt/Dialect/MPT/Interfaces/ElementRegionOpInterface.cpp.inc"
