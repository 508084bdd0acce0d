//===- NumpyIO.h - Tensors in .npy and .npz files ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// NumPy's array format, versions 1.0 to 3.0 (NEP 1), alone or as members of a
/// zip archive. Big-endian and Fortran-ordered arrays are converted; object
/// arrays and dtypes that HostTensor does not have are refused.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_NUMPYIO_H
#define MPT_HOST_NUMPYIO_H

#include "mpt/Host/HostTensor.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mpt {

/// Reads the array of a .npy file. Errors start with the path and say what was
/// expected and found.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path);

/// Reads array `member` (without ".npy") of a .npz file, stored or deflated. An
/// empty `member` means the only one.
llvm::Expected<HostTensor> readNpz(llvm::StringRef path, llvm::StringRef member);

/// The arrays of a .npz file, in its order.
llvm::Expected<std::vector<std::string>> listNpz(llvm::StringRef path);

/// Writes `tensor` as version 1.0, atomically. Fails for bf16 and f8, which
/// NumPy lacks.
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace mpt

#endif // MPT_HOST_NUMPYIO_H
