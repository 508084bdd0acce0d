//===- PolicyFuzzer.cpp - Damaged policies -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WordMutator.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mpt/Precision/PolicyFile.h"
#include "mpt/Precision/PrecisionPolicy.h"
#include "mpt/Precision/RuleTable.h"
#include "llvm/ADT/StringExtras.h"
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace mlir;
using namespace mpt;
using namespace mpt::fuzz;

static const StringRef words[] = {"policy",
                                  "extends",
                                  "types",
                                  "strategy",
                                  "mixed-results",
                                  "check-constants",
                                  "fold-constants",
                                  "cast-arguments",
                                  "keep-first-last",
                                  "f16-reduction-limit",
                                  "bf16-reduction-limit",
                                  "attention-pv",
                                  "target",
                                  "cost-gate",
                                  "probabilities",
                                  "attention",
                                  "keep",
                                  "unmatched",
                                  "rules",
                                  "moves",
                                  "class",
                                  "in",
                                  "ops",
                                  "dialect",
                                  "mpt",
                                  "apex-O1",
                                  "torch-cuda",
                                  "tf-bf16",
                                  "allow",
                                  "deny",
                                  "infer",
                                  "clear",
                                  "stable",
                                  "fixed",
                                  "paint",
                                  "promote",
                                  "min-cut",
                                  "f16",
                                  "bf16",
                                  "f32",
                                  "true",
                                  "false",
                                  "ignore",
                                  "0",
                                  "1",
                                  "64",
                                  "-1",
                                  "18446744073709551615",
                                  "mpt.*",
                                  "a[b-",
                                  "(",
                                  "stablehlo.dot"};
static const StringRef lines[] = {"policy: mine",
                                  "extends: mpt",
                                  "types: [f16, bf16]",
                                  "strategy: promote",
                                  "mixed-results: none",
                                  "mixed-results: matmuls",
                                  "check-constants: true",
                                  "fold-constants: false",
                                  "cast-arguments: true",
                                  "keep-first-last: true",
                                  "f16-reduction-limit: 64",
                                  "bf16-reduction-limit: 0",
                                  "attention-pv: f32",
                                  "target: h100",
                                  "cost-gate: false",
                                  "probabilities: [mpt.softmax]",
                                  "attention: [mpt.attention]",
                                  "keep: ['loss', \"x.*\"]",
                                  "unmatched: ignore",
                                  "rules: []",
                                  "moves:",
                                  "- class: deny",
                                  "  ops: [mpt.exp]",
                                  "  in: 'net.mlir:1'",
                                  "  dialect: mpt",
                                  "- {class: allow, ops: ['mpt.*']}",
                                  "- {class: deny, in: 'net.mlir:1', ops: [mpt.exp]}",
                                  "---",
                                  "# x"};

/// A policy has a file's name: one file, written again for each input.
static std::string writePolicy(StringRef text) {
  static const std::string path =
      (std::filesystem::temp_directory_path() /
       ("mpt-policy-fuzz-" + std::to_string(::getpid()) + ".yaml"))
          .string();
  std::ofstream(path, std::ios::binary) << text.str();
  return path;
}

/// A policy that was loaded prints as one that loads and prints the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef text(reinterpret_cast<const char *>(data), size);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  unsigned errors = 0;
  bool isNew = false;
  std::string last;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    last = diagnostic.str();
    isNew |= recordMessage(last);
  });
  Location loc = UnknownLoc::get(&context);
  std::string path = writePolicy(text);
  llvm::FailureOr<PolicySettings> settings = loadPolicy(loc, path);
  std::filesystem::remove(path);
  if (failed(settings)) {
    if (errors == 0)
      reportFinding("a policy is refused without an error");
    return isNew ? 0 : -1;
  }
  auto print = [](const PolicySettings &from) {
    std::string printed;
    llvm::raw_string_ostream os(printed);
    printPolicy(from, os);
    return printed;
  };
  std::string printed = print(*settings);
  path = writePolicy(printed);
  llvm::FailureOr<PolicySettings> again = loadPolicy(loc, path);
  std::filesystem::remove(path);
  if (failed(again))
    reportFinding("a printed policy is refused: " + last, printed);
  recordFeature(std::to_string(settings->moves.size()) + settings->strategy);
  // What is set, in all of its combinations; names and patterns are anything.
  std::string together;
  for (StringRef line : llvm::split(printed, '\n'))
    if (line.contains('\''))
      recordMessage(line);
    else
      together += line;
  recordFeature(together);
  // What autocast does with it, up to the graph.
  PrecisionPolicy policy(Float16Type::get(&context), settings->names);
  for (const PolicyMove &move : settings->moves)
    (void)policy.add(loc, move);
  (void)policy.keep(loc, settings->keep);
  checkPlantedBug(settings->keepFirstLast && settings->strategy == "promote");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  if (draw(random, 6) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  StringRef text(reinterpret_cast<char *>(data), size);
  return replaceInput(mutateWords(text, words, lines, random), data, size, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                                            const uint8_t *data2, size_t size2,
                                            uint8_t *out, size_t maxSize, unsigned seed) {
  Random random(seed + 1);
  StringRef text(reinterpret_cast<const char *>(data1), size1);
  StringRef other(reinterpret_cast<const char *>(data2), size2);
  return replaceInput(crossWords(text, other, random), out, 0, maxSize);
}
