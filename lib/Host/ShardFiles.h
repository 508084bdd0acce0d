//===- ShardFiles.h - Files of state that ranks hold together ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A checkpoint's shards: .safetensors files beside it, whose tensor NAME[B:E] has the
/// elements [B, E) of tensor NAME. The metadata of the checkpoint has
///
///     mpt.shards          the number of files
///     mpt.shard.R         the name of file R, in the checkpoint's directory
///     mpt.shard.R.xxh3    the checksum of its header, in which those of its tensors are
///     mpt.shape.NAME      the whole tensor's sizes, as in 128x64
///
/// Names contain the step, so files of the checkpoint before stay until the new one is
/// there.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_HOST_SHARDFILES_H
#define MPT_LIB_HOST_SHARDFILES_H

#include "mpt/Host/Checkpoint.h"
#include "mpt/Host/RankGroup.h"
#include "mpt/Host/SafetensorsIO.h"
#include "mpt/Host/StepEngine.h"

namespace mpt::detail {

using Metadata = std::map<std::string, std::string>;

/// In the metadata: the checksum of all that is not a tensor's value. With a dot and a
/// tensor's name: that of its value.
inline constexpr llvm::StringLiteral kChecksum("mpt.xxh3");

// In Checkpoint.cpp.

/// Writes atomically, with the checksums of tensors and header in the metadata.
llvm::Error writeWithChecksums(llvm::StringRef path,
                               const std::map<std::string, HostTensor> &tensors,
                               Metadata metadata);
llvm::Error checkHeader(const SafetensorsFile &file, llvm::StringRef path);
/// Reads a tensor, and checks it if `isChecked`.
llvm::Expected<HostTensor> readTensor(const SafetensorsFile &file, llvm::StringRef path,
                                      const std::string &name, bool isChecked);

/// This rank's file beside the checkpoint `path` of step `step`; all ranks call it.
llvm::Expected<ShardFile> nameShard(llvm::StringRef path, int64_t step, RankGroup &ranks);
/// Writes `pieces`, this rank's. The result is for joinShards. No rank waits for another.
llvm::Expected<std::string> writeShard(const ShardFile &file,
                                       llvm::ArrayRef<StatePiece> pieces);
/// What the metadata of the checkpoint `path` says of the files of all ranks, each of
/// which brings what it has written. Fails on all ranks if one has failed, or is lost; no
/// file is left of this step then, also of the lost rank's.
llvm::Expected<Metadata>
joinShards(llvm::StringRef path, llvm::Expected<std::string> written, RankGroup &ranks);

/// Adds the tensors in the shards of the checkpoint `file`, read from `path`, that
/// `isWanted` wants to `tensors`. Fails if a file is missing, damaged or another one, or
/// if the pieces of a tensor do not cover it. A file without shards has none.
llvm::Error readShards(const SafetensorsFile &file, llvm::StringRef path,
                       llvm::function_ref<bool(llvm::StringRef)> isWanted,
                       std::map<std::string, HostTensor> &tensors);

} // namespace mpt::detail

#endif // MPT_LIB_HOST_SHARDFILES_H
