//===- NumpyIO.cpp - Tensors in .npy and .npz files -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An array is read from a `Source`: a plain file, or a zip member through
/// libzip, which inflates it and checks its CRC.
///
//===----------------------------------------------------------------------===//

#include "mpt/Host/NumpyIO.h"
#include "mpt/Support/FileIO.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <zip.h>

using namespace mpt;

static constexpr llvm::StringLiteral kMagic("\x93NUMPY");

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

namespace {
struct Header {
  ElementType type = ElementType::F32;
  bool swapBytes = false;
  bool fortranOrder = false;
  llvm::SmallVector<int64_t, 4> shape;
};

/// Parses the Python literal {'descr': '<f4', 'fortran_order': False, 'shape':
/// (3, 4), } that describes an array.
class HeaderParser {
public:
  explicit HeaderParser(llvm::StringRef text) : rest(text.trim()) {}

  /// Error messages lack the path.
  llvm::Expected<Header> parse() {
    if (!consume("{"))
      return fail("'{'");
    while (!consume("}")) {
      std::string key;
      if (!parseString(key))
        return fail("a quoted key");
      if (!consume(":"))
        return fail("':'");
      if (llvm::Error error = parseValue(key))
        return std::move(error);
      if (!consume(",") && !rest.starts_with("}"))
        return fail("',' or '}'");
    }
    if (!rest.empty())
      return fail("the end of the header");
    if (!hasDescr || !hasOrder || !hasShape)
      return llvm::createStringError(
          "malformed header: expected keys 'descr', 'fortran_order' and "
          "'shape'");
    return header;
  }

private:
  llvm::Error fail(llvm::StringRef expected) {
    return llvm::createStringError("malformed header: expected " + expected +
                                   ", found '" + printable(rest.take_front(16)) + "'");
  }
  static std::string printable(llvm::StringRef text) {
    std::string result = text.str();
    for (char &c : result)
      if (!llvm::isPrint(c))
        c = '?';
    return result;
  }
  bool consume(llvm::StringRef token) {
    rest = rest.ltrim();
    if (!rest.consume_front(token))
      return false;
    rest = rest.ltrim();
    return true;
  }
  bool parseString(std::string &value) {
    rest = rest.ltrim();
    if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
      return false;
    size_t end = rest.find(rest[0], 1);
    if (end == llvm::StringRef::npos)
      return false;
    value = rest.slice(1, end).str();
    rest = rest.drop_front(end + 1);
    return true;
  }
  llvm::Error parseValue(llvm::StringRef key) {
    if (key == "descr") {
      hasDescr = true;
      std::string descr;
      if (!parseString(descr))
        return llvm::createStringError(
            "unsupported dtype: expected a plain number type, found a "
            "structured one");
      return parseDescr(descr);
    }
    if (key == "fortran_order") {
      hasOrder = true;
      header.fortranOrder = rest.starts_with("True");
      if (!consume("True") && !consume("False"))
        return fail("True or False");
      return llvm::Error::success();
    }
    if (key == "shape") {
      hasShape = true;
      return parseShape();
    }
    return llvm::createStringError("malformed header: unknown key '" + printable(key) +
                                   "'");
  }
  llvm::Error parseDescr(llvm::StringRef descr) {
    llvm::StringRef kind = descr;
    header.swapBytes = kind.consume_front(">");
    if (!header.swapBytes && !kind.consume_front("<") && !kind.consume_front("|"))
      kind.consume_front("=");
    auto type = llvm::StringSwitch<std::optional<ElementType>>(kind)
                    .Case("f8", ElementType::F64)
                    .Case("f4", ElementType::F32)
                    .Case("f2", ElementType::F16)
                    .Case("i8", ElementType::I64)
                    .Case("i4", ElementType::I32)
                    .Case("i2", ElementType::I16)
                    .Case("i1", ElementType::I8)
                    .Case("u1", ElementType::U8)
                    .Case("b1", ElementType::I1)
                    .Default(std::nullopt);
    if (!type)
      return llvm::createStringError(
          "unsupported dtype: expected one of f2 f4 f8 i1 i2 i4 i8 u1 b1, "
          "found '" +
          printable(descr) + "'" +
          (kind.starts_with("V") ? " (bfloat16 needs a .safetensors file)" : ""));
    header.type = *type;
    return llvm::Error::success();
  }
  llvm::Error parseShape() {
    if (!consume("("))
      return fail("'('");
    while (!consume(")")) {
      int64_t size;
      if (rest.consumeInteger(10, size) || size < 0)
        return fail("a size");
      consume("L"); // Written by Python 2.
      header.shape.push_back(size);
      if (!consume(",") && !rest.starts_with(")"))
        return fail("',' or ')'");
    }
    return llvm::Error::success();
  }

  llvm::StringRef rest;
  Header header;
  bool hasDescr = false, hasOrder = false, hasShape = false;
};

/// The bytes of one .npy file, read front to back.
class Source {
public:
  virtual ~Source() = default;
  /// How the source is called in messages.
  virtual std::string getName() const = 0;
  virtual uint64_t getSize() const = 0;
  virtual llvm::Error readNext(void *data, size_t count) = 0;
  llvm::Error fail(const llvm::Twine &message) const {
    return createFileMessage(getName(), message);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// The data
//===----------------------------------------------------------------------===//

static void reverseElements(HostTensor &tensor) {
  size_t size = getElementSize(tensor.getElementType());
  uint8_t *data = tensor.getBytes().data();
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
    std::reverse(data + i * size, data + (i + 1) * size);
}

/// Column-major `tensor`, whose shape is already right, in row-major order.
static llvm::Expected<HostTensor> toRowMajor(const HostTensor &tensor) {
  auto result = HostTensor::create(tensor.getElementType(), tensor.getShape());
  if (!result)
    return result;
  size_t size = getElementSize(tensor.getElementType());
  int64_t rank = tensor.getRank();
  llvm::SmallVector<int64_t, 4> index(rank, 0), stride(rank, 1);
  for (int64_t d = 1; d < rank; ++d)
    stride[d] = stride[d - 1] * tensor.getShape()[d - 1];
  const uint8_t *in = tensor.getBytes().data();
  uint8_t *out = result->getBytes().data();
  int64_t offset = 0;
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    std::memcpy(out + i * size, in + offset * size, size);
    for (int64_t d = rank - 1; d >= 0; --d) {
      offset += stride[d];
      if (++index[d] < tensor.getShape()[d])
        break;
      offset -= index[d] * stride[d];
      index[d] = 0;
    }
  }
  return result;
}

/// What the shape of an array and its type can take, with room to spare. NumPy reads
/// headers of at most 10,000 bytes.
static constexpr uint64_t kMaxHeaderBytes = 65536;

static llvm::Expected<HostTensor> readArray(Source &source) {
  uint8_t prefix[12];
  if (source.getSize() < 10)
    return source.fail("expected a .npy file of at least 10 bytes, found " +
                       llvm::Twine(source.getSize()));
  if (llvm::Error error = source.readNext(prefix, 8))
    return std::move(error);
  if (llvm::StringRef(reinterpret_cast<char *>(prefix), 6) != kMagic)
    return source.fail("expected a .npy file, which starts with \\x93NUMPY");
  unsigned major = prefix[6], minor = prefix[7];
  if (major < 1 || major > 3 || minor != 0)
    return source.fail("expected .npy format 1.0, 2.0 or 3.0, found " +
                       llvm::Twine(major) + "." + llvm::Twine(minor));
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (llvm::Error error = source.readNext(prefix, lengthBytes))
    return std::move(error);
  uint64_t length = major == 1 ? llvm::support::endian::read16le(prefix)
                               : llvm::support::endian::read32le(prefix);
  if (length > kMaxHeaderBytes)
    return source.fail("expected a header of at most " + llvm::Twine(kMaxHeaderBytes) +
                       " bytes, found " + llvm::Twine(length));
  uint64_t dataOffset = 8 + lengthBytes + length;
  if (dataOffset > source.getSize())
    return source.fail("truncated: expected a header of " + llvm::Twine(length) +
                       " bytes, found " +
                       llvm::Twine(source.getSize() - 8 - lengthBytes));
  std::string text(length, '\0');
  if (llvm::Error error = source.readNext(text.data(), length))
    return std::move(error);
  llvm::Expected<Header> header = HeaderParser(text).parse();
  if (!header)
    return source.fail(llvm::toString(header.takeError()));

  // Compare with the file's size before allocating: a corrupt header must not
  // ask for terabytes.
  uint64_t available = source.getSize() - dataOffset;
  int64_t needed = getElementSize(header->type);
  bool overflow = false;
  for (int64_t size : header->shape)
    overflow |= llvm::MulOverflow(needed, size, needed) != 0;
  if (overflow || static_cast<uint64_t>(needed) != available)
    return source.fail(
        llvm::Twine(!overflow && static_cast<uint64_t>(needed) < available
                        ? "too long"
                        : "truncated") +
        ": expected " +
        (overflow ? std::string("more than 2^63") : std::to_string(needed)) +
        " bytes of data for " + describeTensorType(header->type, header->shape) +
        ", found " + llvm::Twine(available));
  auto tensor = HostTensor::create(header->type, header->shape);
  if (!tensor)
    return source.fail(llvm::toString(tensor.takeError()));
  if (llvm::Error error = source.readNext(tensor->getData(), tensor->getByteSize()))
    return std::move(error);
  if (header->swapBytes)
    reverseElements(*tensor);
  if (header->type == ElementType::I1)
    for (uint8_t &byte : tensor->getBytes())
      byte = byte != 0;
  if (header->fortranOrder && tensor->getRank() > 1)
    return toRowMajor(*tensor);
  return tensor;
}

//===----------------------------------------------------------------------===//
// .npy
//===----------------------------------------------------------------------===//

namespace {
class FileSource : public Source {
public:
  explicit FileSource(const InputFile &file) : file(file) {}
  std::string getName() const override { return file.getPath().str(); }
  uint64_t getSize() const override { return file.getSize(); }
  llvm::Error readNext(void *data, size_t count) override {
    llvm::Error error = file.read(offset, data, count);
    offset += count;
    return error;
  }

private:
  const InputFile &file;
  uint64_t offset = 0;
};
} // namespace

llvm::Expected<HostTensor> mpt::readNpy(llvm::StringRef path) {
  auto file = InputFile::open(path);
  if (!file)
    return file.takeError();
  FileSource source(*file);
  return readArray(source);
}

llvm::Error mpt::writeNpy(llvm::StringRef path, const HostTensor &tensor) {
  const char *descr = nullptr;
  switch (tensor.getElementType()) {
  case ElementType::F64:
    descr = "<f8";
    break;
  case ElementType::F32:
    descr = "<f4";
    break;
  case ElementType::F16:
    descr = "<f2";
    break;
  case ElementType::I64:
    descr = "<i8";
    break;
  case ElementType::I32:
    descr = "<i4";
    break;
  case ElementType::I16:
    descr = "<i2";
    break;
  case ElementType::I8:
    descr = "|i1";
    break;
  case ElementType::U8:
    descr = "|u1";
    break;
  case ElementType::I1:
    descr = "|b1";
    break;
  case ElementType::BF16:
  case ElementType::F8E4M3FN:
  case ElementType::F8E5M2:
    return createFileMessage(path,
                             "cannot write " + tensor.describe() +
                                 ": NumPy has no such type; use a .safetensors file");
  }
  std::string header = "{'descr': '";
  header += descr;
  header += "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.getShape())
    header += std::to_string(size) + ", ";
  header += "), }";
  // Magic, version, length, header and a newline fill a multiple of 64 bytes.
  header.append(llvm::alignTo(10 + header.size() + 1, 64) - 11 - header.size(), ' ');
  header += '\n';
  return writeFileAtomically(path, [&](ByteSink &sink) -> llvm::Error {
    char prefix[4] = {1, 0};
    llvm::support::endian::write16le(prefix + 2, header.size());
    if (llvm::Error error = sink.append(kMagic))
      return error;
    if (llvm::Error error = sink.append(prefix, 4))
      return error;
    if (llvm::Error error = sink.append(header))
      return error;
    return sink.append(tensor.getData(), tensor.getByteSize());
  });
}

//===----------------------------------------------------------------------===//
// .npz
//===----------------------------------------------------------------------===//

namespace {
class ZipSource : public Source {
public:
  ZipSource(std::string name, zip_file_t *file, uint64_t size)
      : name(std::move(name)), file(file), size(size) {}
  std::string getName() const override { return name; }
  uint64_t getSize() const override { return size; }
  llvm::Error readNext(void *data, size_t count) override {
    char *out = static_cast<char *>(data);
    while (count > 0) {
      zip_int64_t got = zip_fread(file, out, count);
      if (got < 0)
        return fail(llvm::Twine("cannot read: ") +
                    zip_error_strerror(zip_file_get_error(file)));
      if (got == 0)
        return fail("truncated: " + llvm::Twine(count) + " bytes are missing");
      out += got;
      count -= got;
    }
    return llvm::Error::success();
  }
  /// libzip compares the CRC when it meets the end.
  llvm::Error finish() {
    char extra;
    zip_int64_t got = zip_fread(file, &extra, 1);
    if (got < 0)
      return fail(llvm::Twine("cannot read: ") +
                  zip_error_strerror(zip_file_get_error(file)));
    if (got > 0)
      return fail("damaged: expected " + llvm::Twine(size) + " bytes, found more");
    return llvm::Error::success();
  }

private:
  std::string name;
  zip_file_t *file;
  uint64_t size;
};
} // namespace

static llvm::Expected<zip_t *> openArchive(llvm::StringRef path) {
  // libzip calls a missing file and a directory by unclear names.
  auto file = InputFile::open(path);
  if (!file)
    return file.takeError();
  int code = 0;
  zip_t *archive = zip_open(path.str().c_str(), ZIP_RDONLY, &code);
  if (archive)
    return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return createFileMessage(path, "expected a .npz file (a zip archive): " + text);
}

/// Fails if the member can not have the size that the archive claims for it: memory is
/// taken for that size. Empty if it can.
static std::string checkClaimedSize(const zip_stat_t &status, uint64_t fileSize) {
  // A block of deflate says at most 258 bytes in two bits.
  constexpr uint64_t kMostOfDeflate = 1032;
  constexpr uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((status.valid & wanted) != wanted)
    return "damaged: the archive does not say its size";
  const bool isStored = status.comp_method == ZIP_CM_STORE;
  if (!isStored && status.comp_method != ZIP_CM_DEFLATE)
    return "expected an array that is stored or deflated, as NumPy writes it, found "
           "compression method " +
           std::to_string(status.comp_method);
  if (status.comp_size <= fileSize &&
      (isStored ? status.size == status.comp_size
                : status.size / kMostOfDeflate <= status.comp_size))
    return "";
  return "damaged: " + std::to_string(status.size) + " bytes cannot be in " +
         std::to_string(status.comp_size) + (isStored ? " stored" : " deflated") +
         " ones of a file of " + std::to_string(fileSize);
}

static std::vector<std::string> listArrays(zip_t *archive) {
  std::vector<std::string> names;
  for (zip_int64_t i = 0, e = zip_get_num_entries(archive, 0); i < e; ++i)
    if (const char *name = zip_get_name(archive, i, 0)) {
      llvm::StringRef stem(name);
      if (stem.consume_back(".npy"))
        names.push_back(stem.str());
    }
  return names;
}

llvm::Expected<std::vector<std::string>> mpt::listNpz(llvm::StringRef path) {
  auto archive = openArchive(path);
  if (!archive)
    return archive.takeError();
  std::vector<std::string> names = listArrays(*archive);
  zip_discard(*archive);
  return names;
}

llvm::Expected<HostTensor> mpt::readNpz(llvm::StringRef path, llvm::StringRef member) {
  auto archive = openArchive(path);
  if (!archive)
    return archive.takeError();
  llvm::scope_exit close([&] { zip_discard(*archive); });

  std::vector<std::string> names = listArrays(*archive);
  std::string found = llvm::join(names, ", ");
  if (found.empty())
    found = "none";
  std::string name = member.str();
  if (member.empty()) {
    if (names.size() != 1)
      return createFileMessage(path, "expected one array or a name as in " + path +
                                         ":name, found " + found);
    name = names.front();
  } else if (!llvm::is_contained(names, name)) {
    return createFileMessage(path, "expected array '" + name + "', found " + found);
  }

  std::string entry = name + ".npy", shown = path.str() + ":" + name;
  zip_stat_t status;
  zip_stat_init(&status);
  zip_file_t *file = nullptr;
  if (zip_stat(*archive, entry.c_str(), 0, &status) == 0) {
    auto whole = InputFile::open(path);
    if (!whole)
      return whole.takeError();
    if (std::string damage = checkClaimedSize(status, whole->getSize()); !damage.empty())
      return createFileMessage(shown, damage);
    file = zip_fopen(*archive, entry.c_str(), 0);
  }
  if (!file)
    return createFileMessage(shown,
                             llvm::Twine("cannot read: ") + zip_strerror(*archive));
  llvm::scope_exit closeFile([&] { zip_fclose(file); });
  ZipSource source(shown, file, status.size);
  auto tensor = readArray(source);
  if (tensor)
    if (llvm::Error error = source.finish())
      return std::move(error);
  return tensor;
}
