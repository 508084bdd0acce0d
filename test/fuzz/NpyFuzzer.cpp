//===- NpyFuzzer.cpp - Damaged .npy files -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NpyMutator.h"
#include "mpt/Host/NumpyIO.h"

using namespace mpt;
using namespace mpt::fuzz;

/// An array that was read is written and read again: the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MemoryFile file(data, size);
  llvm::Expected<HostTensor> tensor = readNpy(file.getPath());
  if (!tensor) {
    std::string message = llvm::toString(tensor.takeError());
    if (message.find(file.getPath().str()) == std::string::npos)
      reportFinding("an error does not name the file: " + message);
    recordMessage(message);
    return 0;
  }
  recordFeature(tensor->describe());
  TemporaryFile copy;
  if (llvm::Error error = writeNpy(copy.getPath(), *tensor))
    reportFinding("cannot write what was read: " + llvm::toString(std::move(error)));
  llvm::Expected<HostTensor> again = readNpy(copy.getPath());
  if (!again)
    reportFinding("cannot read what was written: " + llvm::toString(again.takeError()));
  if (again->describe() != tensor->describe() || again->getBytes() != tensor->getBytes())
    reportFinding("what was written reads as another array");
  checkPlantedBug(tensor->getElementType() == ElementType::I16 &&
                  tensor->getRank() == 5 && tensor->getNumElements() > 1);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  if (draw(random, 3) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string made =
      mutateNpy(llvm::StringRef(reinterpret_cast<char *>(data), size), random);
  return replaceInput(made, data, size, maxSize);
}
