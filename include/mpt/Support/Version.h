//===- Version.h - The version of MPT -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_VERSION_H
#define MPT_SUPPORT_VERSION_H

namespace mpt {

/// Written into programs and checkpoints.
inline constexpr const char *kVersion = "0.1.0";

/// Of the contract for mpt-opt as a filter (docs/Filter.md). Raise it with a change that
/// those who rely on that page notice.
inline constexpr int kFilterVersion = 1;

} // namespace mpt

#endif // MPT_SUPPORT_VERSION_H
