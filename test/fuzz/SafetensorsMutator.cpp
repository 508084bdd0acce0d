//===- SafetensorsMutator.cpp - Changes to .safetensors files that often read -*- C++
//-*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SafetensorsMutator.h"

#include "JsonMutator.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpt::fuzz;
using llvm::StringRef;
namespace json = llvm::json;

static int64_t getSize(StringRef type) {
  if (type == "BOOL" || type == "I8" || type == "U8" || type.starts_with("F8"))
    return 1;
  return type.ends_with("64") ? 8 : type.ends_with("32") ? 4 : 2;
}

/// Packs the tensors in the order of the header. Returns the bytes of all.
static int64_t layOut(json::Object &header) {
  int64_t end = 0;
  for (auto &[name, value] : header) {
    json::Object *entry = value.getAsObject();
    if (!entry || name == "__metadata__")
      continue;
    int64_t bytes = getSize(entry->getString("dtype").value_or(""));
    if (json::Array *shape = entry->getArray("shape"))
      for (const json::Value &size : *shape)
        if (__builtin_mul_overflow(bytes, size.getAsInteger().value_or(1), &bytes))
          return end;
    if (bytes < 0 || bytes > 8192)
      return end;
    (*entry)["data_offsets"] = json::Array{end, end + bytes};
    end += bytes;
  }
  return end;
}

std::string mpt::fuzz::mutateSafetensors(StringRef file, llvm::ArrayRef<StringRef> words,
                                         Random &random) {
  json::Value header = json::Object{};
  if (file.size() > 8) {
    uint64_t length = llvm::support::endian::read64le(file.data());
    StringRef text = file.substr(8, length);
    if (text.count('[') + text.count('{') < 1000) {
      if (auto parsed = json::parse(text); parsed && parsed->getAsObject())
        header = std::move(*parsed);
      else if (!parsed)
        llvm::consumeError(parsed.takeError());
    }
  }
  for (size_t steps = 1 + draw(random, 3); steps > 0; --steps) {
    json::Object *object = header.getAsObject();
    if (object && draw(random, 5) == 0)
      (*object)[std::string(1, 'a' + draw(random, 6))] =
          json::Object{{"dtype", pick(random, words)},
                       {"shape", json::Array{int64_t(draw(random, 3)), 2}},
                       {"data_offsets", json::Array{0, 0}}};
    else
      mutateJson(header, words, random);
  }
  int64_t bytes = 16;
  if (json::Object *object = header.getAsObject(); object && draw(random, 8) != 0)
    bytes = layOut(*object);
  if (draw(random, 10) == 0)
    bytes += draw(random, 3);
  std::string text;
  llvm::raw_string_ostream(text) << header;
  std::string made(8, '\0');
  llvm::support::endian::write64le(made.data(),
                                   draw(random, 20) ? text.size() : uint64_t(random()));
  made += text;
  for (int64_t i = 0; i < bytes; ++i)
    made += static_cast<char>(random());
  return made;
}
