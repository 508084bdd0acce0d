//===- Error.cpp - Errors of the C API --------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpt::capi;

static ErrorObject *unwrap(MptError error) {
  return static_cast<ErrorObject *>(error.ptr);
}

MptError mpt::capi::fail(const llvm::Twine &text) {
  auto *error = new ErrorObject;
  error->text = text.str();
  ErrorObject::Message &message = error->messages.emplace_back();
  message.text = error->text;
  llvm::SmallVector<llvm::StringRef> parts;
  int64_t line, column;
  if (llvm::Regex("^([^:\n]+):([0-9]+):([0-9]+): ").match(error->text, &parts) &&
      !parts[2].getAsInteger(10, line) && !parts[3].getAsInteger(10, column)) {
    message.file = parts[1].str();
    message.line = line;
    message.column = column;
    message.text = error->text.substr(parts[0].size());
  }
  return {error};
}

MptError mpt::capi::fail(llvm::Error error) {
  return fail(llvm::toString(std::move(error)));
}

llvm::Expected<DeviceName> mpt::capi::parseDevice(llvm::StringRef text) {
  llvm::StringRef number = text;
  DeviceName name;
  name.isCuda = number.consume_front("cuda");
  name.hasIndex = name.isCuda && number.consume_front(":");
  if (name.isCuda ? (name.hasIndex ? number.getAsInteger(10, name.index) || name.index < 0
                                   : !number.empty())
                  : text != "cpu")
    return llvm::createStringError("expected the device cpu, cuda or cuda:N, found '" +
                                   text + "'");
  return name;
}

CollectErrors::CollectErrors(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
          return mlir::failure();
        add(diagnostic, MlirDiagnosticError);
        // That of the whole op that MLIR adds is for people who debug a pass.
        for (const mlir::Diagnostic &note : diagnostic.getNotes())
          if (!llvm::StringRef(note.str()).starts_with("see current operation"))
            add(note, MlirDiagnosticNote);
        return mlir::success();
      }) {}

void CollectErrors::add(const mlir::Diagnostic &diagnostic,
                        MlirDiagnosticSeverity severity) {
  ErrorObject::Message &message = messages.emplace_back();
  message.severity = severity;
  message.text = diagnostic.str();
  if (auto place = mlir::LocationAttr(diagnostic.getLocation())
                       .findInstanceOf<mlir::FileLineColLoc>()) {
    message.file = place.getFilename().getValue().str();
    message.line = place.getLine();
    message.column = place.getColumn();
  }
}

MptError CollectErrors::take(const llvm::Twine &otherwise) {
  if (messages.empty())
    return fail(otherwise);
  auto *error = new ErrorObject;
  const ErrorObject::Message &first = messages.front();
  llvm::raw_string_ostream os(error->text);
  if (first.line > 0)
    os << first.file << ':' << first.line << ':' << first.column << ": ";
  os << first.text;
  error->messages = std::move(messages);
  return {error};
}

MptError CollectErrors::take(llvm::Error error) {
  MptError result = fail(std::move(error));
  if (!messages.empty())
    unwrap(result)->messages = std::move(messages);
  return result;
}

void mptErrorDestroy(MptError error) { delete unwrap(error); }

static MlirStringRef wrapText(const std::string &text) {
  return mlirStringRefCreate(text.c_str(), text.size());
}

MlirStringRef mptErrorGetText(MptError error) {
  return error.ptr ? wrapText(unwrap(error)->text) : mlirStringRefCreate("", 0);
}

intptr_t mptErrorGetNumDiagnostics(MptError error) {
  return error.ptr ? static_cast<intptr_t>(unwrap(error)->messages.size()) : 0;
}

MptDiagnostic mptErrorGetDiagnostic(MptError error, intptr_t index) {
  MlirStringRef none = mlirStringRefCreate("", 0);
  if (index < 0 || index >= mptErrorGetNumDiagnostics(error))
    return {MlirDiagnosticError, none, 0, 0, none};
  const ErrorObject::Message &message = unwrap(error)->messages[index];
  return {message.severity, wrapText(message.file), message.line, message.column,
          wrapText(message.text)};
}
