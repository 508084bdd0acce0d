//===- NpyMutator.cpp - Changes to .npy files that often read -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NpyMutator.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mpt::fuzz;
using llvm::StringRef;

static const StringRef types[] = {"f8", "f4", "f2", "i8", "i4", "i2", "i1",
                                  "u1", "b1", "u4", "c8", "V2", "O"};
static const StringRef orders[] = {"<", ">", "|", "="};

std::string mpt::fuzz::mutateNpy(StringRef file, Random &random) {
  auto [begin, end] = std::make_pair(file.find('{'), file.find('}'));
  std::string descr = "<f4", order = "False";
  llvm::SmallVector<uint64_t> shape;
  if (begin != StringRef::npos && end != StringRef::npos && begin < end) {
    StringRef header = file.slice(begin, end);
    StringRef text = header.split("'descr'").second.split('\'').second;
    descr = text.split('\'').first.take_front(8).str();
    order = header.contains("True") ? "True" : "False";
    StringRef sizes = header.split('(').second.split(')').first;
    for (StringRef size : llvm::split(sizes, ','))
      if (uint64_t value; !size.trim().getAsInteger(10, value))
        shape.push_back(value);
  }
  switch (draw(random, 6)) {
  case 1:
    order = order == "True" ? "False" : "True";
    break;
  case 2:
    shape.insert(shape.begin() + draw(random, shape.size() + 1), draw(random, 4));
    break;
  case 3:
    if (!shape.empty())
      shape.erase(shape.begin() + draw(random, shape.size()));
    break;
  case 4:
    if (!shape.empty())
      pick(random, shape) =
          draw(random, 16) ? draw(random, 9) : uint64_t(1) << draw(random, 64);
    break;
  default:
    descr = (pick(random, orders) + pick(random, types)).str();
    break;
  }
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': (";
  uint64_t bytes = !descr.empty() && llvm::isDigit(descr.back()) ? descr.back() - '0' : 4;
  for (uint64_t size : shape) {
    header += std::to_string(size) + ", ";
    bytes *= size;
  }
  header += "), }\n";
  const unsigned version = 1 + draw(random, 3);
  std::string made = "\x93NUMPY";
  made += static_cast<char>(version);
  made += '\0';
  for (unsigned i = 0; i < (version == 1 ? 2 : 4); ++i)
    made += static_cast<char>(header.size() >> 8 * i);
  made += header;
  if (draw(random, 8) == 0)
    bytes += draw(random, 3) - 1;
  for (uint64_t i = 0; i < std::min<uint64_t>(bytes, 4096); ++i)
    made += static_cast<char>(random());
  return made;
}
