//===- SafetensorsIOTest.cpp - .safetensors ---------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/SafetensorsIO.h"
#include "TestHelpers.h"
#include "gtest/gtest.h"

using namespace mpt;
using test::message;
using namespace std::string_literals;

namespace {

/// A file as the format's description lays it out, written independently.
std::string file(llvm::StringRef header, llvm::StringRef data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += char(uint64_t(header.size()) >> (8 * i));
  return bytes + header.str() + data.str();
}

class SafetensorsIOTest : public ::testing::Test {
protected:
  std::string write(llvm::StringRef bytes) {
    test::writeBytes(path, bytes);
    return path;
  }
  std::string error(llvm::StringRef bytes) {
    std::string text = message(SafetensorsFile::open(write(bytes)));
    llvm::StringRef rest(text);
    EXPECT_TRUE(rest.consume_front(path + ": ")) << text;
    return rest.str();
  }
  test::TemporaryDirectory directory;
  std::string path = directory.path("a.safetensors");
};

TEST_F(SafetensorsIOTest, EverythingRoundTrips) {
  std::map<std::string, HostTensor> tensors;
  for (int i = 0; i <= int(ElementType::I1); ++i) {
    HostTensor tensor = llvm::cantFail(HostTensor::create(ElementType(i), {2, 3}));
    for (int64_t j = 0; j < 6; ++j)
      tensor.setElement(j, j);
    tensors[stringifyElementType(ElementType(i)).str()] = tensor;
  }
  tensors["scalar \"quoted\" \xc3\xa9"] = HostTensor::scalarI64(-5);
  tensors["empty"] = llvm::cantFail(HostTensor::create(ElementType::F16, {0}));
  std::map<std::string, std::string> metadata = {{"step", "12"}, {"a", "\n\""}};
  llvm::cantFail(writeSafetensors(path, tensors, metadata));

  auto opened = SafetensorsFile::open(path);
  ASSERT_EQ(bool(opened), true) << llvm::toString(opened.takeError());
  EXPECT_EQ(opened->getMetadata(), metadata);
  EXPECT_EQ(opened->getEntries().size(), tensors.size());
  for (const auto &[name, tensor] : tensors)
    EXPECT_EQ(llvm::cantFail(opened->read(name)), tensor) << name;
  // Aligned data, and the same bytes for the same content.
  for (const auto &[name, entry] : opened->getEntries())
    EXPECT_EQ(entry.offset % getElementSize(entry.type), 0u) << name;
  std::string first = test::readBytes(path);
  llvm::cantFail(writeSafetensors(path, tensors, metadata));
  EXPECT_EQ(test::readBytes(path), first);
  EXPECT_EQ(directory.list(), "a.safetensors");
}

TEST_F(SafetensorsIOTest, ReadsTheDocumentedLayout) {
  auto opened = SafetensorsFile::open(
      write(file(R"({"b":{"dtype":"I16","shape":[2],"data_offsets":[4,8]},)"
                 R"("a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}  )",
                 "\x80\x3f\0\xc0\1\0\xff\xff"s)));
  ASSERT_EQ(bool(opened), true) << llvm::toString(opened.takeError());
  HostTensor a = llvm::cantFail(opened->read("a"));
  EXPECT_EQ(a.describe(), "bf16[1, 2]");
  EXPECT_EQ(a.getElement(0), 1);
  EXPECT_EQ(a.getElement(1), -2);
  HostTensor b = llvm::cantFail(opened->read("b"));
  EXPECT_EQ(b.getElement(0), 1);
  EXPECT_EQ(b.getElement(1), -1);
  EXPECT_EQ(message(opened->read("c")), path + ": expected tensor 'c', found a, b");
  EXPECT_EQ(message(opened->read("")),
            path + ": expected one tensor or a name as in " + path + ":name, found a, b");
}

TEST_F(SafetensorsIOTest, TheOnlyTensorNeedsNoName) {
  llvm::cantFail(
      writeSafetensors(path, {{"x", HostTensor::scalar(ElementType::F32, 3)}}));
  auto opened = llvm::cantFail(SafetensorsFile::open(path));
  EXPECT_EQ(llvm::cantFail(opened.read("")).getElement(0), 3);
}

TEST_F(SafetensorsIOTest, SizeErrors) {
  EXPECT_EQ(message(SafetensorsFile::open(directory.path("none"))),
            directory.path("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(error("abc"), "expected a .safetensors file of at least 8 bytes, found 3");
  EXPECT_EQ(error("what is this file?"),
            "expected a .safetensors file, whose header has at most 100000000 "
            "bytes, found " +
                std::to_string(0x2073692074616877)); // "what is "
  EXPECT_EQ(error(file("{}", "").substr(0, 9)),
            "truncated: expected a header of 2 bytes, found 1");
  std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(error(file(header, "1234567")),
            "truncated: expected " + std::to_string(header.size() + 16) +
                " bytes, found " + std::to_string(header.size() + 15));
  EXPECT_EQ(error(file(header, "123456789")),
            "too long: expected " + std::to_string(header.size() + 16) +
                " bytes, found " + std::to_string(header.size() + 17));
}

TEST_F(SafetensorsIOTest, HeaderErrors) {
  EXPECT_EQ(error(file("[]", "")), "malformed header: expected a JSON object");
  EXPECT_NE(error(file("{\"a\":", "")).find("malformed header: "), std::string::npos);
  EXPECT_EQ(error(file(std::string(100000, '['), "")),
            "malformed header: nested too deeply");
  EXPECT_EQ(error(file(R"({"a":3})", "")),
            "malformed header: expected an object for 'a'");
  EXPECT_EQ(error(file(R"({"__metadata__":{"a":3}})", "")),
            "malformed header: expected a string for metadata 'a'");
  EXPECT_EQ(error(file(R"({"a":{"dtype":"F32"}})", "")),
            "malformed header: expected dtype, shape and two data_offsets for "
            "'a'");
  EXPECT_EQ(
      error(file(R"({"a":{"dtype":"U64","shape":[],"data_offsets":[0,8]}})", "12345678")),
      "malformed header: unsupported dtype 'U64' of 'a'");
  EXPECT_EQ(error(file(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})", "")),
            "malformed header: expected sizes of at least 0 in the shape of "
            "'a'");
  EXPECT_EQ(error(file(R"({"a":{"dtype":"U8","shape":[],"data_offsets":[1,0]}})", "")),
            "malformed header: expected 0 <= begin <= end in the data_offsets "
            "of 'a'");
  EXPECT_EQ(error(file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", "1")),
            "malformed header: expected 2 bytes for 'a' of type u8[2], found 1");
  EXPECT_EQ(error(file(R"({"a":{"dtype":"F64","shape":[4611686018427387904,4],)"
                       R"("data_offsets":[0,0]}})",
                       "")),
            "malformed header: expected 2^63 or more bytes for 'a' of type "
            "f64[4611686018427387904, 4], found 0");
}

TEST_F(SafetensorsIOTest, NoGapsAndNoOverlaps) {
  EXPECT_EQ(error(file(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "12")),
            "malformed header: expected 'a' at data offset 0, found 1");
  EXPECT_EQ(error(file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                       "123")),
            "malformed header: expected 'b' at data offset 2, found 1");
}

} // namespace
