//===- OneShape.h - Functions that may stand for one another -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_RUNTIME_ONESHAPE_H
#define MPT_UNITTESTS_RUNTIME_ONESHAPE_H

/// Whether two functions take and return as many values of the same sizes.
template <typename R, typename... A, typename S, typename... B>
constexpr bool haveOneShape(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B))
    return sizeof(R) == sizeof(S) && ((sizeof(A) == sizeof(B)) && ...);
  else
    return false;
}

#endif // MPT_UNITTESTS_RUNTIME_ONESHAPE_H
