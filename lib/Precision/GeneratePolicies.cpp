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

static std::string quoteAll(ArrayRef<std::string> words) {
  return "{" +
         llvm::join(llvm::map_range(words, [](StringRef word) { return quoteCpp(word); }),
                    ", ") +
         "}";
}

/// The policy's name and a function that makes `text`, field by field.
static void print(llvm::raw_ostream &os, const PolicyText &text) {
  auto set = [&](StringRef field, StringRef value) {
    if (!value.empty())
      os << "     made." << field << " = " << quoteCpp(value) << ";\n";
  };
  auto setList = [&](StringRef field, ArrayRef<std::string> values) {
    if (!values.empty())
      os << "     made." << field << " = " << quoteAll(values) << ";\n";
  };
  auto setFlag = [&](StringRef field, std::optional<bool> value) {
    if (value)
      os << "     made." << field << " = " << (*value ? "true" : "false") << ";\n";
  };
  auto setCount = [&](StringRef field, std::optional<uint64_t> value) {
    if (value)
      os << "     made." << field << " = " << *value << ";\n";
  };
  os << "    {" << quoteCpp(text.policy) << ", [] {\n     PolicyText made;\n";
  set("policy", text.policy);
  set("extends", text.extends);
  set("strategy", text.strategy);
  set("attentionPV", text.attentionPV);
  set("target", text.target);
  setList("types", text.types.value_or(std::vector<std::string>()));
  for (const PatternText &each : text.keep)
    os << "     made.keep.push_back({" << quoteCpp(each.text) << "});\n";
  setList("rules", text.rules);
  setList("probabilities", text.probabilities);
  setList("attention", text.attention);
  set("unmatched", text.unmatched);
  setFlag("mixedResults", text.mixedResults);
  setFlag("checkConstants", text.checkConstants);
  setFlag("foldConstants", text.foldConstants);
  setFlag("castArguments", text.castArguments);
  setFlag("keepFirstLast", text.keepFirstLast);
  setFlag("costGate", text.costGate);
  setCount("f16ReductionLimit", text.f16ReductionLimit);
  setCount("bf16ReductionLimit", text.bf16ReductionLimit);
  for (const MoveText &each : text.moves)
    os << "     made.moves.push_back({" << quoteCpp(each.precisionClass) << ", "
       << quoteCpp(each.dialect) << ", " << quoteCpp(each.in) << ", "
       << quoteAll(each.ops) << "});\n";
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
