//===- RulesFuzzer.cpp - Damaged rule tables -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WordMutator.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mpt/Precision/RuleTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::fuzz;

/// Keys and values that OpRule.h does not list.
static const StringRef otherWords[] = {"dialect",
                                       "extends",
                                       "policy",
                                       "cast",
                                       "constant",
                                       "op",
                                       "up",
                                       "attributes",
                                       "value",
                                       "form",
                                       "preserve-returned",
                                       "keep-if",
                                       "attribute",
                                       "contains",
                                       "rules",
                                       "ops",
                                       "class",
                                       "class-f16",
                                       "class-bf16",
                                       "results",
                                       "reads",
                                       "products",
                                       "macs",
                                       "memory",
                                       "result",
                                       "repeatable",
                                       "fixed",
                                       "any",
                                       "true",
                                       "false",
                                       "0",
                                       "1",
                                       "-1",
                                       "16777216",
                                       "18446744073709551615",
                                       "stablehlo",
                                       "tf",
                                       "onnx",
                                       "torch",
                                       "acme",
                                       "r0*o0[1]",
                                       "o0[a:b]",
                                       "all(x)",
                                       "einsum(e)",
                                       "maps(m)",
                                       "add"};

/// The keys of tables and their values.
static ArrayRef<StringRef> getTableWords() {
  static const SmallVector<StringRef> words = [] {
    SmallVector<StringRef> words(std::begin(otherWords), std::end(otherWords));
    for (ArrayRef<StringRef> values :
         {getWords(PrecisionClass()), getWords(ResultForm()), getWords(ResultMemory())})
      llvm::append_range(words, values);
    OpRule::forEachKey([&](StringRef key, auto field) {
      words.push_back(key);
      using Value = std::decay_t<decltype(OpRule().*field)>;
      if constexpr (std::is_enum_v<Value>)
        llvm::append_range(words, getWords(Value()));
    });
    llvm::erase(words, "");
    return words;
  }();
  return words;
}
static const StringRef lines[] = {
    "dialect: acme",
    "extends: stablehlo",
    "policy: mpt",
    "cast: {op: acme.cast}",
    "cast: {op: convert, up: up, attributes: \"{a = 1 : i64}\"}",
    "constant: {op: const, value: value}",
    "keep-if:",
    "- {attribute: a, contains: \"x\"}",
    "rules:",
    "- {ops: [exp, log], class: deny}",
    "- {ops: [dot], class: allow, results: wide}",
    "- {ops: [add], class: infer, typing: positional, f32-operands: [1, 2]}",
    "- {ops: [loop], region: carry, first-carried: [0, 0, 0]}",
    "- {ops: [red], region: combiner, combiners: [{ops: [max], class: infer}]}",
    "- {ops: [sqrt], class: infer, class-if-nonpositive: deny, sign: same}",
    "- {ops: [scan], scan-inputs: num_inputs, absent-operands: [1]}",
    "- {ops: [read], variable: read, scalars: fixed, clone: true}",
    "- {ops: [pass], variable: pass, movable: false}",
    "products:",
    "- {ops: [dot], macs: \"r0 * o0[1]\"}",
    "memory:",
    "- {ops: [view], result: view}",
    "---",
    "# x"};

/// A table that was read prints as one that reads and prints the same.
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
  RuleTable table;
  if (failed(table.addText(loc, text, "input.yaml"))) {
    if (errors == 0)
      reportFinding("a table is refused without an error");
    return isNew ? 0 : -1;
  }
  auto print = [](const RuleTable &from) {
    std::string printed;
    llvm::raw_string_ostream os(printed);
    from.print(os);
    return printed;
  };
  std::string printed = print(table);
  bool isPlanted = false;
  size_t rows = 0;
  for (StringRef line : llvm::split(printed, '\n'))
    if (line.ends_with("# input.yaml")) {
      recordMessage(line);
      ++rows;
      isPlanted |= line.contains("scan-inputs") && line.contains("class-if-nonpositive");
    }
  recordFeature(std::to_string(std::min<size_t>(rows, 8)));
  checkPlantedBug(isPlanted);
  // A table may be empty.
  if (printed.empty())
    return 0;
  RuleTable again;
  if (failed(again.addText(loc, printed, "printed.yaml")))
    reportFinding("a printed table is refused: " + last, printed);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  if (draw(random, 6) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  StringRef text(reinterpret_cast<char *>(data), size);
  return replaceInput(mutateWords(text, getTableWords(), lines, random), data, size,
                      maxSize);
}
