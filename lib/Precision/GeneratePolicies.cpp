//===- GeneratePolicies.cpp - Built-in policies as C++ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A step of the build: writes, for each YAML file named, C++ that makes the same
/// policy. To read the default one whenever autocast runs would take as long as
/// planning several hundred ops.
///
//===----------------------------------------------------------------------===//

#include "GeneratedCode.h"
#include "PolicyText.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mpt;

static std::string spell(bool value) { return value ? "true" : "false"; }
static std::string spell(uint64_t value) { return std::to_string(value); }
static std::string spell(const std::string &text) { return quoteCpp(text); }
static std::string spell(const std::vector<std::string> &words) {
  return "{" + llvm::join(llvm::map_range(words, quoteCpp), ", ") + "}";
}

/// The policy's name and a function that makes `text`, field by field.
static void print(llvm::raw_ostream &os, const PolicyText &text) {
  auto write = [&](StringRef field, const auto &value) {
    if constexpr (!std::is_arithmetic_v<std::decay_t<decltype(value)>>)
      if (value.empty())
        return;
    os << "     made." << field << " = " << spell(value) << ";\n";
  };
  os << "    {" << quoteCpp(text.policy) << ", [] {\n     PolicyText made;\n";
  write("policy", text.policy);
  write("extends", text.extends);
  write("unmatched", text.unmatched);
  write("rules", text.rules);
  if (text.types)
    write("types", *text.types);
  PolicyText::forEachKey([&](StringRef key, auto field, auto...) {
    std::string name = toFieldName(key);
    const auto &value = text.*field;
    if constexpr (std::is_constructible_v<bool, decltype(value)>) {
      if (value)
        write(name, *value);
    } else {
      write(name, value);
    }
  });
  for (const PatternText &each : text.keep)
    os << "     made.keep.push_back({" << quoteCpp(each.text) << "});\n";
  for (const MoveText &each : text.moves)
    os << "     made.moves.push_back({" << quoteCpp(each.precisionClass) << ", "
       << quoteCpp(each.dialect) << ", " << quoteCpp(each.in) << ", " << spell(each.ops)
       << "});\n";
  os << "     return made;\n    }},\n";
}

/// mpt-generate-policies OUTPUT FILE.yaml...
int main(int argc, char **argv) {
  if (argc < 3) {
    llvm::errs() << "expected: " << argv[0] << " OUTPUT FILE.yaml...\n";
    return 1;
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    llvm::errs() << diagnostic.getLocation() << ": " << diagnostic << "\n";
  });
  SmallVector<StringRef> paths(argv + 2, argv + argc);
  llvm::sort(paths);
  std::unique_ptr<llvm::ToolOutputFile> file = openOutput(argv[1]);
  if (!file)
    return 1;
  file->os() << "// Made from the YAML files by GeneratePolicies.cpp.\n"
                "const Builtin builtins[] = {\n";
  for (StringRef path : paths) {
    std::unique_ptr<llvm::MemoryBuffer> buffer = readInput(path);
    if (!buffer)
      return 1;
    FailureOr<std::vector<PolicyText>> read = readPolicyTexts(
        UnknownLoc::get(&context), buffer->getBuffer(), llvm::sys::path::filename(path));
    if (failed(read))
      return 1;
    if (read->size() != 1 || read->front().policy != llvm::sys::path::stem(path)) {
      llvm::errs() << path << ": expected one policy, of the file's name\n";
      return 1;
    }
    print(file->os(), read->front());
  }
  file->os() << "};\n";
  file->keep();
  return 0;
}
