//===- SafetensorsIO.cpp - Tensors in .safetensors files --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/SafetensorsIO.h"
#include "mpt/Support/ParseJSON.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpt;

/// The reference implementation's limit.
static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

static llvm::StringRef getDtype(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return "F64";
  case ElementType::F32:
    return "F32";
  case ElementType::F16:
    return "F16";
  case ElementType::BF16:
    return "BF16";
  case ElementType::F8E4M3FN:
    return "F8_E4M3";
  case ElementType::F8E5M2:
    return "F8_E5M2";
  case ElementType::I64:
    return "I64";
  case ElementType::I32:
    return "I32";
  case ElementType::I16:
    return "I16";
  case ElementType::I8:
    return "I8";
  case ElementType::U8:
    return "U8";
  case ElementType::I1:
    return "BOOL";
  }
  return "invalid";
}

static std::optional<ElementType> parseDtype(llvm::StringRef name) {
  for (int i = 0; i <= static_cast<int>(ElementType::I1); ++i)
    if (getDtype(static_cast<ElementType>(i)) == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Bytes of an entry, or nothing if they do not fit in 63 bits.
static std::optional<uint64_t> getByteSize(const SafetensorsFile::Entry &entry) {
  int64_t bytes = getElementSize(entry.type);
  bool overflow = false;
  for (int64_t size : entry.shape)
    overflow |= size < 0 || llvm::MulOverflow(bytes, size, bytes) != 0;
  if (overflow)
    return std::nullopt;
  return bytes;
}

llvm::Error SafetensorsFile::parseHeader(llvm::StringRef text, uint64_t dataOffset) {
  auto fail = [&](const llvm::Twine &message) {
    return createFileMessage(file.getPath(), "malformed header: " + message);
  };
  llvm::Expected<llvm::json::Value> json = parseJSON(text);
  if (!json)
    return fail(llvm::toString(json.takeError()));
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return fail("expected a JSON object");

  struct Range {
    uint64_t begin, end;
    std::string name;
  };
  std::vector<Range> ranges;
  for (const auto &[key, value] : *object) {
    std::string name = key.str();
    const llvm::json::Object *fields = value.getAsObject();
    if (!fields)
      return fail("expected an object for '" + name + "'");
    if (name == "__metadata__") {
      for (const auto &[field, content] : *fields) {
        auto string = content.getAsString();
        if (!string)
          return fail("expected a string for metadata '" + field.str() + "'");
        metadata[field.str()] = string->str();
      }
      continue;
    }
    auto dtype = fields->getString("dtype");
    const llvm::json::Array *shape = fields->getArray("shape");
    const llvm::json::Array *offsets = fields->getArray("data_offsets");
    if (!dtype || !shape || !offsets || offsets->size() != 2)
      return fail("expected dtype, shape and two data_offsets for '" + name + "'");
    Entry entry;
    auto type = parseDtype(*dtype);
    if (!type)
      return fail("unsupported dtype '" + *dtype + "' of '" + name + "'");
    entry.type = *type;
    for (const llvm::json::Value &item : *shape) {
      auto size = item.getAsInteger();
      if (!size || *size < 0)
        return fail("expected sizes of at least 0 in the shape of '" + name + "'");
      entry.shape.push_back(*size);
    }
    auto begin = (*offsets)[0].getAsInteger(), end = (*offsets)[1].getAsInteger();
    if (!begin || !end || *begin < 0 || *end < *begin)
      return fail("expected 0 <= begin <= end in the data_offsets of '" + name + "'");
    auto bytes = getByteSize(entry);
    if (!bytes || *bytes != static_cast<uint64_t>(*end - *begin))
      return fail("expected " +
                  (bytes ? std::to_string(*bytes) : std::string("2^63 or more")) +
                  " bytes for '" + name + "' of type " +
                  describeTensorType(entry.type, entry.shape) + ", found " +
                  llvm::Twine(*end - *begin));
    entry.offset = dataOffset + *begin;
    ranges.push_back({static_cast<uint64_t>(*begin), static_cast<uint64_t>(*end), name});
    entries[name] = std::move(entry);
  }

  // The format allows neither gaps nor overlaps.
  llvm::sort(ranges, [](const Range &a, const Range &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t position = 0;
  for (const Range &range : ranges) {
    if (range.begin != position)
      return fail("expected '" + range.name + "' at data offset " +
                  llvm::Twine(position) + ", found " + llvm::Twine(range.begin));
    position = range.end;
  }
  if (dataOffset + position != file.getSize())
    return createFileMessage(
        file.getPath(),
        llvm::Twine(dataOffset + position > file.getSize() ? "truncated" : "too long") +
            ": expected " + llvm::Twine(dataOffset + position) + " bytes, found " +
            llvm::Twine(file.getSize()));
  return llvm::Error::success();
}

llvm::Expected<SafetensorsFile> SafetensorsFile::open(llvm::StringRef path) {
  auto input = InputFile::open(path);
  if (!input)
    return input.takeError();
  SafetensorsFile result(std::move(*input));
  const InputFile &file = result.file;
  if (file.getSize() < 8)
    return createFileMessage(path, "expected a .safetensors file of at least 8 "
                                   "bytes, found " +
                                       llvm::Twine(file.getSize()));
  char prefix[8];
  if (llvm::Error error = file.read(0, prefix, 8))
    return std::move(error);
  uint64_t length = llvm::support::endian::read64le(prefix);
  if (length > kMaxHeaderBytes)
    return createFileMessage(path, "expected a .safetensors file, whose header "
                                   "has at most " +
                                       llvm::Twine(kMaxHeaderBytes) + " bytes, found " +
                                       llvm::Twine(length));
  if (length > file.getSize() - 8)
    return createFileMessage(path, "truncated: expected a header of " +
                                       llvm::Twine(length) + " bytes, found " +
                                       llvm::Twine(file.getSize() - 8));
  std::string text(length, '\0');
  if (llvm::Error error = file.read(8, text.data(), length))
    return std::move(error);
  if (llvm::Error error = result.parseHeader(text, 8 + length))
    return std::move(error);
  return std::move(result);
}

llvm::Expected<HostTensor> SafetensorsFile::read(llvm::StringRef name) const {
  auto it =
      name.empty() && entries.size() == 1 ? entries.begin() : entries.find(name.str());
  if (it == entries.end()) {
    std::string found;
    for (const auto &entry : entries)
      found += (found.empty() ? "" : ", ") + entry.first;
    return createFileMessage(file.getPath(),
                             (name.empty() ? "expected one tensor or a name as in " +
                                                 file.getPath().str() + ":name"
                                           : "expected tensor '" + name.str() + "'") +
                                 ", found " + (found.empty() ? "none" : found));
  }
  auto tensor = HostTensor::create(it->second.type, it->second.shape);
  if (!tensor)
    return createFileMessage(file.getPath(), llvm::toString(tensor.takeError()));
  if (llvm::Error error =
          file.read(it->second.offset, tensor->getData(), tensor->getByteSize()))
    return std::move(error);
  if (it->second.type == ElementType::I1)
    for (uint8_t &byte : tensor->getBytes())
      byte = byte != 0;
  return tensor;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

llvm::Error mpt::writeSafetensors(llvm::StringRef path,
                                  const std::map<std::string, HostTensor> &tensors,
                                  const std::map<std::string, std::string> &metadata) {
  std::vector<const std::pair<const std::string, HostTensor> *> order;
  for (const auto &entry : tensors)
    order.push_back(&entry);
  llvm::sort(order, [](const auto *a, const auto *b) {
    size_t left = getElementSize(a->second.getElementType());
    size_t right = getElementSize(b->second.getElementType());
    return left != right ? left > right : a->first < b->first;
  });

  llvm::json::Object header;
  if (!metadata.empty()) {
    llvm::json::Object texts;
    for (const auto &[key, value] : metadata)
      texts[key] = value;
    header["__metadata__"] = std::move(texts);
  }
  int64_t offset = 0;
  for (const auto *entry : order) {
    const HostTensor &tensor = entry->second;
    int64_t end = offset + static_cast<int64_t>(tensor.getByteSize());
    header[entry->first] =
        llvm::json::Object{{"dtype", getDtype(tensor.getElementType())},
                           {"shape", llvm::json::Array(tensor.getShape())},
                           {"data_offsets", llvm::json::Array{offset, end}}};
    offset = end;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(header));
  text.append(llvm::alignTo(text.size(), 8) - text.size(), ' ');

  return writeFileAtomically(path, [&](ByteSink &sink) -> llvm::Error {
    char prefix[8];
    llvm::support::endian::write64le(prefix, text.size());
    if (llvm::Error error = sink.append(prefix, 8))
      return error;
    if (llvm::Error error = sink.append(text))
      return error;
    for (const auto *entry : order)
      if (llvm::Error error =
              sink.append(entry->second.getData(), entry->second.getByteSize()))
        return error;
    return llvm::Error::success();
  });
}
