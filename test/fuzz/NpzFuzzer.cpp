//===- NpzFuzzer.cpp - Damaged .npz files -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NpyMutator.h"
#include "mpt/Host/NumpyIO.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Compression.h"
#include <vector>
#include <zip.h>

using namespace mpt;
using namespace mpt::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MemoryFile file(data, size);
  llvm::Expected<std::vector<std::string>> names = listNpz(file.getPath());
  if (!names) {
    recordMessage(llvm::toString(names.takeError()));
    return 0;
  }
  bool hasBytes = false;
  names->push_back("");
  for (const std::string &name : llvm::ArrayRef(*names).take_front(16)) {
    llvm::Expected<HostTensor> tensor = readNpz(file.getPath(), name);
    if (!tensor) {
      recordMessage(llvm::toString(tensor.takeError()));
      continue;
    }
    recordFeature(std::to_string(names->size()) + tensor->describe());
    hasBytes |= tensor->getElementType() == ElementType::U8 && tensor->getRank() > 0;
  }
  checkPlantedBug(names->size() > 2 && hasBytes);
  return 0;
}

namespace {
struct Member {
  std::string name, bytes;
};
} // namespace

static std::vector<Member> readMembers(llvm::StringRef file) {
  std::vector<Member> members;
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source = zip_source_buffer_create(file.data(), file.size(), 0, &error);
  zip_t *archive = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : nullptr;
  if (!archive) {
    if (source)
      zip_source_free(source);
    zip_error_fini(&error);
    return members;
  }
  for (zip_int64_t i = 0, e = std::min<zip_int64_t>(zip_get_num_entries(archive, 0), 8);
       i < e; ++i) {
    const char *name = zip_get_name(archive, i, 0);
    zip_file_t *member = zip_fopen_index(archive, i, 0);
    if (!member)
      continue;
    std::string bytes(4096, '\0');
    zip_int64_t got = zip_fread(member, bytes.data(), bytes.size());
    bytes.resize(std::max<zip_int64_t>(got, 0));
    members.push_back({name ? name : "", std::move(bytes)});
    zip_fclose(member);
  }
  zip_discard(archive);
  zip_error_fini(&error);
  return members;
}

/// An archive by hand, so that it can be wrong in one place.
static std::string writeArchive(const std::vector<Member> &members, Random &random) {
  std::string out, directory;
  auto put = [](std::string &to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      to += static_cast<char>(value >> 8 * i);
  };
  for (const Member &member : members) {
    uint32_t crc = llvm::crc32(llvm::arrayRefFromStringRef(member.bytes));
    uint64_t unpacked = member.bytes.size();
    std::string packed = member.bytes;
    unsigned method = 0;
    if (draw(random, 3) == 0 && llvm::compression::zlib::isAvailable()) {
      llvm::SmallVector<uint8_t> wrapped;
      llvm::compression::zlib::compress(llvm::arrayRefFromStringRef(member.bytes),
                                        wrapped);
      // Deflate is zlib without its header of 2 bytes and checksum of 4.
      packed.assign(wrapped.begin() + 2, wrapped.end() - 4);
      method = 8;
    }
    if (draw(random, 12) == 0)
      crc ^= 1;
    if (draw(random, 12) == 0)
      unpacked = random();
    uint64_t at = out.size();
    auto describe = [&](std::string &to) {
      put(to, 20, 2);
      put(to, 0, 2);
      put(to, method, 2);
      put(to, 0, 4);
      put(to, crc, 4);
      put(to, packed.size(), 4);
      put(to, unpacked, 4);
      put(to, member.name.size(), 2);
      put(to, 0, 2);
    };
    put(out, 0x04034b50, 4);
    describe(out);
    out += member.name + packed;
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    describe(directory);
    directory.append(2 + 2 + 2 + 4, '\0');
    put(directory, at, 4);
    directory += member.name;
  }
  uint64_t at = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, members.size(), 2);
  put(out, members.size(), 2);
  put(out, directory.size(), 4);
  put(out, at, 4);
  put(out, 0, 2);
  return out;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  if (draw(random, 3) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::vector<Member> members =
      readMembers(llvm::StringRef(reinterpret_cast<char *>(data), size));
  if (members.empty())
    members.push_back({"a.npy", mutateNpy("", random)});
  Member &member = pick(random, members);
  switch (draw(random, 5)) {
  case 0:
    member.name = std::string(1, 'a' + draw(random, 4)) + (draw(random, 4) ? ".npy" : "");
    break;
  case 1:
    members.push_back({std::string(1, 'a' + draw(random, 8)) + ".npy",
                       mutateNpy(member.bytes, random)});
    break;
  case 2:
    if (members.size() > 1)
      members.erase(members.begin() + draw(random, members.size()));
    break;
  default:
    member.bytes = mutateNpy(member.bytes, random);
  }
  return replaceInput(writeArchive(members, random), data, size, maxSize);
}
