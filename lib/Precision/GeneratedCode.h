//===- GeneratedCode.h - C++ that the build makes of YAML files -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the tools of the build that read YAML files and write C++ share. Errors go to
/// stderr.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_GENERATEDCODE_H
#define MPT_LIB_PRECISION_GENERATEDCODE_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

namespace mpt {

/// `text` as a literal of C++.
inline std::string quoteCpp(llvm::StringRef text) {
  std::string quoted;
  llvm::raw_string_ostream stream(quoted);
  stream << '"';
  llvm::printEscapedString(text, stream);
  stream << '"';
  return quoted;
}

/// The field for the key of a YAML file: its name in camel case.
inline std::string toFieldName(llvm::StringRef key) {
  std::string name = key.str();
  llvm::replace(name, '-', '_');
  return llvm::convertToCamelFromSnakeCase(name);
}

/// The file's text, or null after an error.
inline std::unique_ptr<llvm::MemoryBuffer> readInput(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (buffer)
    return std::move(*buffer);
  llvm::errs() << path << ": " << buffer.getError().message() << "\n";
  return nullptr;
}

/// A file that stays if `keep` is called, or null after an error.
inline std::unique_ptr<llvm::ToolOutputFile> openOutput(llvm::StringRef path) {
  std::error_code error;
  auto file = std::make_unique<llvm::ToolOutputFile>(path, error, llvm::sys::fs::OF_Text);
  if (!error)
    return file;
  llvm::errs() << path << ": " << error.message() << "\n";
  return nullptr;
}

} // namespace mpt

#endif // MPT_LIB_PRECISION_GENERATEDCODE_H
