//===- TextMutator.cpp - Changes to a module's text that often parse -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextMutator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpt;
using llvm::StringRef;

static const StringRef elements[] = {"f32", "f16", "bf16", "f64", "i32", "i1", "f32"};
static const StringRef types[] = {"tensor<4x4xf32>",
                                  "tensor<4x4xf16>",
                                  "tensor<*xf32>",
                                  "tensor<?x4xf32>",
                                  "tensor<f32>",
                                  "vector<4x4xf32>",
                                  "f32",
                                  "memref<4x4xf32>",
                                  "tuple<tensor<2xf32>>",
                                  "tensor<0xf32>",
                                  "!torch.vtensor<[4,4],f32>",
                                  "!torch.list<vtensor>",
                                  "!torch.list<vtensor<[4,4],f32>>",
                                  "tensor<!tf_type.variant<tensor<4xf32>>>",
                                  "tensor<!tf_type.variant>",
                                  "none",
                                  "tensor<4x4xi32>",
                                  "complex<f32>"};
static const StringRef names[] = {"stablehlo.add",
                                  "stablehlo.dot_general",
                                  "stablehlo.exponential",
                                  "stablehlo.convert",
                                  "stablehlo.while",
                                  "stablehlo.reduce",
                                  "stablehlo.constant",
                                  "stablehlo.select",
                                  "stablehlo.case",
                                  "stablehlo.return",
                                  "stablehlo.sort",
                                  "stablehlo.optimization_barrier",
                                  "stablehlo.broadcast_in_dim",
                                  "stablehlo.custom_call",
                                  "tf.MatMul",
                                  "tf.Cast",
                                  "tf.Const",
                                  "tf.IdentityN",
                                  "tf.While",
                                  "tf.TensorListSetItem",
                                  "tf.NextIteration",
                                  "tf.Merge",
                                  "tf.FusedBatchNormV3",
                                  "torch.aten.mm",
                                  "torch.aten.cat",
                                  "torch.prim.ListConstruct",
                                  "torch.prim.ListUnpack",
                                  "torch.prim.Loop",
                                  "torch.prim.Loop.condition",
                                  "torch.prim.If",
                                  "torch.aten.to.dtype",
                                  "onnx.MatMul",
                                  "onnx.Loop",
                                  "onnx.Scan",
                                  "onnx.If",
                                  "onnx.Yield",
                                  "onnx.Cast",
                                  "tosa.matmul",
                                  "acme.unknown",
                                  "mhlo.dot"};
static const StringRef attributes[] = {"mpt.autocast", "mpt.precision = \"low\"",
                                       "mpt.precision = \"f32\"",
                                       "num_scan_inputs = 1 : si64", "callee = @f"};

bool mpt::crashesMLIR(StringRef text) {
  for (StringRef words : {"array<index", "array<none", "array<complex", "array<vector",
                          "array<tensor", "array<!", "array<memref", "array<tuple"})
    if (text.contains(words))
      return true;
  // As many results are made as a number of one asks for.
  for (StringRef rest = text.split('#').second; !rest.empty();
       rest = rest.split('#').second)
    if (rest.take_while(llvm::isDigit).size() > 6)
      return true;
  return false;
}

TextMutator::TextMutator(StringRef text, std::minstd_rand &random,
                         llvm::ArrayRef<std::string> ops)
    : random(random), ops(ops) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    lines.push_back(line.str());
    text = rest;
  }
  if (lines.empty())
    lines.emplace_back();
}

std::string TextMutator::getText() const { return llvm::join(lines, "\n") + "\n"; }

void TextMutator::replace(Word word, StringRef by) {
  lines[word.line].replace(word.begin, word.size, by.str());
}

std::vector<TextMutator::Word> TextMutator::find(StringRef prefix, bool types) const {
  std::vector<Word> words;
  for (size_t line = 0; line < lines.size(); ++line) {
    StringRef text = lines[line];
    for (size_t at = text.find(prefix); at != StringRef::npos;
         at = text.find(prefix, at + 1)) {
      if (at != 0 && llvm::isAlnum(text[at - 1]) && llvm::isAlpha(prefix.front()))
        continue;
      size_t end = at + prefix.size();
      unsigned depth = prefix.ends_with("<") ? 1 : 0;
      while (end < text.size() &&
             (depth != 0 || llvm::isAlnum(text[end]) || text[end] == '_' ||
              text[end] == '.' || text[end] == '#' || (types && text[end] == '<'))) {
        depth += text[end] == '<';
        if (text[end] == '>' && depth != 0)
          --depth;
        ++end;
        if (depth == 0 && text[end - 1] == '>')
          break;
      }
      words.push_back({line, at, end - at});
    }
  }
  return words;
}

void TextMutator::changeElement() {
  std::vector<StringRef> present;
  for (StringRef element : elements)
    if (llvm::any_of(lines, [&](StringRef line) { return line.contains(element); }))
      present.push_back(element);
  if (present.empty())
    return;
  StringRef from = pick(present), to = pick(elements);
  // All of the module or of a line, so that its types still agree, or one.
  const bool everywhere = draw(2) == 0, all = everywhere || draw(2) == 0;
  size_t start = draw(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string &line = lines[(start + i) % lines.size()];
    size_t at = line.find(from.str());
    if (at == std::string::npos)
      continue;
    do {
      line.replace(at, from.size(), to.str());
      at = line.find(from.str(), at + to.size());
    } while (all && at != std::string::npos);
    if (!everywhere)
      return;
  }
}

void TextMutator::changeType() {
  std::vector<Word> found;
  for (StringRef prefix : {"tensor<", "vector<", "memref<", "!torch.", "!tf_type."})
    for (Word word : find(prefix, /*types=*/true))
      found.push_back(word);
  if (found.empty())
    return;
  Word word = found[draw(found.size())];
  std::string by = draw(2) ? pick(types).str() : get(found[draw(found.size())]).str();
  if (draw(2) == 0)
    return replace(word, by);
  // The same type in all of a function is most often still one program.
  std::string old = get(word).str();
  for (Word each : llvm::reverse(found))
    if (get(each) == old)
      replace(each, by);
}

void TextMutator::changeOperand() {
  std::vector<Word> found = find("%");
  if (found.empty())
    return;
  Word word = found[draw(found.size())];
  // Near it, what is used is often of the same type, and defined.
  size_t other = draw(found.size());
  if (draw(3) != 0) {
    std::vector<size_t> near;
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i].line <= word.line && found[i].line + 6 > word.line)
        near.push_back(i);
    other = near[draw(near.size())];
  }
  replace(word, get(found[other]).str());
}

void TextMutator::changeName() {
  std::vector<Word> found = find("\"");
  llvm::erase_if(found, [&](Word word) { return !get(word).contains('.'); });
  // Ops of MPT in their own form.
  if (!ops.empty() && (found.empty() || draw(2)))
    found = find("mpt.");
  if (found.empty())
    return;
  Word word = found[draw(found.size())];
  std::string by = get(found[draw(found.size())]).str();
  if (draw(2)) {
    by = get(word).starts_with("\"") ? "\"" : "";
    by += ops.empty() || draw(3) == 0 ? pick(names).str() : ops[draw(ops.size())];
  }
  replace(word, by);
}

void TextMutator::changeInteger() {
  std::vector<Word> found;
  for (char digit = '0'; digit <= '9'; ++digit)
    for (Word word : find(std::string(1, digit)))
      if (word.begin == 0 || !llvm::isAlnum(lines[word.line][word.begin - 1]))
        found.push_back({word.line, word.begin, 1});
  if (found.empty())
    return;
  static const StringRef odd[] = {"-1",   "7",          "64",
                                  "1000", "2147483648", "9223372036854775807"};
  replace(found[draw(found.size())], draw(8) ? std::to_string(draw(5)) : pick(odd).str());
}

void TextMutator::addAttribute() {
  std::string &line = lines[draw(lines.size())];
  StringRef attribute = pick(attributes);
  if (size_t brace = line.find("{"); brace != std::string::npos && draw(2)) {
    line.insert(brace + 1, attribute.str() + ", ");
    return;
  }
  if (size_t colon = line.find(") : "); colon != std::string::npos)
    line.insert(colon + 1, " {" + attribute.str() + "}");
}

void TextMutator::doubleLine() {
  size_t from = draw(lines.size());
  std::string line = lines[from];
  // The copy's result gets a name of its own.
  size_t equals = line.find(" = ");
  size_t percent = line.find('%');
  if (percent != std::string::npos && percent < equals)
    line.insert(percent + 1, "n" + std::to_string(draw(1000)));
  lines.insert(lines.begin() + from + 1, line);
}

void TextMutator::mutate() {
  switch (draw(12)) {
  case 0:
  case 1:
    return changeElement();
  case 2:
    return changeType();
  case 3:
  case 4:
  case 5:
    return changeOperand();
  case 6:
  case 7:
  case 8:
    return changeName();
  case 9:
    return draw(2) ? addAttribute() : changeInteger();
  case 10:
    return doubleLine();
  default:
    break;
  }
  size_t line = draw(lines.size());
  if (draw(2))
    std::swap(lines[line], lines[draw(lines.size())]);
  else if (lines.size() > 1)
    lines.erase(lines.begin() + line);
}
