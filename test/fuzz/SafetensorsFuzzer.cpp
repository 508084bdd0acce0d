//===- SafetensorsFuzzer.cpp - Damaged .safetensors files -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SafetensorsMutator.h"
#include "mpt/Host/SafetensorsIO.h"

using namespace mpt;
using namespace mpt::fuzz;

static const llvm::StringRef words[] = {
    "F64",          "F32",          "F16", "BF16", "F8_E4M3", "F8_E5M2", "I64",
    "I32",          "I16",          "I8",  "U8",   "BOOL",    "dtype",   "shape",
    "data_offsets", "__metadata__", "a",   "b",    "w"};

/// Tensors that were read are written and read again: the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MemoryFile file(data, size);
  llvm::Expected<SafetensorsFile> opened = SafetensorsFile::open(file.getPath());
  if (!opened) {
    recordMessage(llvm::toString(opened.takeError()));
    return 0;
  }
  std::map<std::string, HostTensor> tensors;
  unsigned empty = 0;
  bool hasMatrix = false;
  for (const auto &[name, entry] : opened->getEntries()) {
    // An empty name asks for the only tensor.
    if (name.empty() && opened->getEntries().size() != 1)
      continue;
    llvm::Expected<HostTensor> tensor = opened->read(name);
    if (!tensor)
      reportFinding("a tensor of a header that was checked cannot be read: " +
                    llvm::toString(tensor.takeError()));
    empty += tensor->getNumElements() == 0;
    hasMatrix |= tensor->getElementType() == ElementType::BF16 && tensor->getRank() == 2;
    recordFeature(std::to_string(opened->getEntries().size()) + tensor->describe());
    tensors[name] = std::move(*tensor);
  }
  checkPlantedBug(empty > 0 && hasMatrix);
  TemporaryFile copy;
  if (llvm::Error error =
          writeSafetensors(copy.getPath(), tensors, opened->getMetadata()))
    reportFinding("cannot write what was read: " + llvm::toString(std::move(error)));
  llvm::Expected<SafetensorsFile> again = SafetensorsFile::open(copy.getPath());
  if (!again)
    reportFinding("cannot read what was written: " + llvm::toString(again.takeError()));
  if (again->getMetadata() != opened->getMetadata())
    reportFinding("what was written has other metadata");
  for (const auto &[name, tensor] : tensors) {
    llvm::Expected<HostTensor> found = again->read(name);
    if (!found)
      reportFinding("cannot read what was written: " + llvm::toString(found.takeError()));
    if (found->describe() != tensor.describe() || found->getBytes() != tensor.getBytes())
      reportFinding("what was written reads as another tensor");
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  if (draw(random, 4) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  llvm::StringRef file(reinterpret_cast<char *>(data), size);
  return replaceInput(mutateSafetensors(file, words, random), data, size, maxSize);
}
