//===- SafetensorsIO.h - Tensors in .safetensors files ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Hugging Face's safetensors format: eight bytes of header length, a JSON
/// header, packed little-endian data. Holds every element type of HostTensor.
/// The whole layout is checked before any data is read.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_SAFETENSORSIO_H
#define MPT_HOST_SAFETENSORSIO_H

#include "mpt/Host/HostTensor.h"
#include "mpt/Support/FileIO.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace mpt {

/// An open file whose header has been checked.
class SafetensorsFile {
public:
  struct Entry {
    ElementType type = ElementType::F32;
    std::vector<int64_t> shape;
    /// Position in the file.
    uint64_t offset = 0;
  };

  /// Errors start with the path and say what was expected and found.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);

  /// Header entries by name.
  const std::map<std::string, Entry> &getEntries() const { return entries; }
  /// The texts of `__metadata__`.
  const std::map<std::string, std::string> &getMetadata() const { return metadata; }
  /// Reads tensor `name`; an empty name means the only one.
  llvm::Expected<HostTensor> read(llvm::StringRef name) const;

private:
  explicit SafetensorsFile(InputFile file) : file(std::move(file)) {}
  llvm::Error parseHeader(llvm::StringRef text, uint64_t dataOffset);

  InputFile file;
  std::map<std::string, Entry> entries;
  std::map<std::string, std::string> metadata;
};

/// Writes `tensors` (by name) and `metadata` atomically. Tensors are laid out
/// by falling element size, then name, and start at a multiple of 8 bytes, as
/// the reference implementation does; equal content gives equal files.
llvm::Error writeSafetensors(llvm::StringRef path,
                             const std::map<std::string, HostTensor> &tensors,
                             const std::map<std::string, std::string> &metadata = {});

} // namespace mpt

#endif // MPT_HOST_SAFETENSORSIO_H
