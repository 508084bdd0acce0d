//===- DataFiles.h - Data sets for a function's inputs ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From `name=file` on a command line to checked tensors for the inputs and
/// targets of a function.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_DATAFILES_H
#define MPT_HOST_DATAFILES_H

#include "mpt/Host/DataLoader.h"
#include "mpt/Host/StepEngine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mpt {

/// name=file.npy, name=file.npz[:member] or name=file.safetensors[:tensor].
struct DataSpec {
  std::string name, path, member;
  /// path[:member], for messages.
  std::string getSource() const { return member.empty() ? path : path + ":" + member; }
};

/// `option` ("--data") is named in errors.
llvm::Expected<DataSpec> parseDataSpec(llvm::StringRef option, llvm::StringRef text);

/// Reads the tensor of `spec`. Errors start with the file's path.
llvm::Expected<HostTensor> readDataFile(const DataSpec &spec);

/// A size that a function leaves open (`?`) in `TensorInfo::shape`.
constexpr int64_t kDynamicSize = -1;

struct BoundData {
  std::vector<DataLoader::Field> fields;
  /// Rows per batch: `requested`, else the function's, else all rows; 0 if all
  /// fields are whole.
  int64_t batch = 0;
};

/// Reads the file of every input and target among `arguments` and checks it:
/// each has exactly one, types agree, all dimensions but the first agree, the
/// rows agree, and floats are finite. Only dimension 0 of an argument may be
/// `kDynamicSize`. `requestedBatch` is 0 if the user gave none.
///
/// Data of exactly an argument's static shape is passed whole to every step if
/// `whole` names it, if nothing is read by rows, if its first dimension is not the
/// batch, or if other arguments leave the batch open and this one, an input, does
/// not. Else its rows are one batch.
llvm::Expected<BoundData> bindData(llvm::ArrayRef<TensorInfo> arguments,
                                   llvm::StringRef option, llvm::ArrayRef<DataSpec> specs,
                                   int64_t requestedBatch,
                                   llvm::ArrayRef<std::string> whole = {});

/// The candidate closest in spelling to `name`, or "" if none is close.
std::string findNearest(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

} // namespace mpt

#endif // MPT_HOST_DATAFILES_H
