//===- JsonMutator.cpp - Changes to JSON values -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutator.h"

using namespace mpt::fuzz;
namespace json = llvm::json;

static json::Value makeValue(llvm::ArrayRef<llvm::StringRef> words, Random &random) {
  switch (draw(random, 10)) {
  case 0:
    return nullptr;
  case 1:
    return draw(random, 2) == 0;
  case 2:
    return json::Array{int64_t(draw(random, 5)), int64_t(draw(random, 5))};
  case 3:
    return json::Object{};
  case 4:
    return 0.5 * draw(random, 5) - 1;
  case 5:
    return static_cast<int64_t>((uint64_t(1) << draw(random, 64)) - draw(random, 2));
  case 6:
    return 1e300;
  case 7:
    return std::to_string(draw(random, 9));
  case 8:
    return int64_t(draw(random, 9));
  default:
    return pick(random, words).str();
  }
}

void mpt::fuzz::mutateJson(json::Value &value, llvm::ArrayRef<llvm::StringRef> words,
                           Random &random) {
  // Down to some place.
  if (json::Object *object = value.getAsObject(); object && draw(random, 8) != 0) {
    if (object->empty() || draw(random, 10) == 0) {
      (*object)[pick(random, words)] = makeValue(words, random);
      return;
    }
    auto at = object->begin();
    std::advance(at, draw(random, object->size()));
    switch (draw(random, 12)) {
    case 0:
      object->erase(at);
      return;
    case 1: {
      json::Value copy = at->second;
      (*object)[pick(random, words)] = std::move(copy);
      return;
    }
    default:
      mutateJson(at->second, words, random);
      return;
    }
  }
  if (json::Array *array = value.getAsArray(); array && draw(random, 6) != 0) {
    size_t at = draw(random, array->size() + 1);
    if (at == array->size() || draw(random, 6) == 0)
      array->insert(array->begin() + at, makeValue(words, random));
    else if (draw(random, 5) == 0)
      array->erase(array->begin() + at);
    else
      mutateJson((*array)[at], words, random);
    return;
  }
  value = makeValue(words, random);
}
