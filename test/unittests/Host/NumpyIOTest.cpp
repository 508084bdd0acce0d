//===- NumpyIOTest.cpp - .npy and .npz --------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/NumpyIO.h"
#include "TestHelpers.h"
#include "gtest/gtest.h"
#include <zip.h>

using namespace mpt;
using test::message;
using namespace std::string_literals;

namespace {

/// A .npy file as NEP 1 describes it, written independently of writeNpy.
std::string npy(llvm::StringRef dict, llvm::StringRef data, char major = 1) {
  std::string header = dict.str() + "\n";
  std::string file = "\x93NUMPY"s + major + '\0';
  file += char(header.size() & 255);
  file += char(header.size() >> 8);
  if (major > 1)
    file += "\0\0"s;
  return file + header + data.str();
}

class NumpyIOTest : public ::testing::Test {
protected:
  std::string write(llvm::StringRef bytes) {
    test::writeBytes(path, bytes);
    return path;
  }
  std::string error(llvm::StringRef bytes) {
    std::string text = message(readNpy(write(bytes)));
    llvm::StringRef rest(text);
    EXPECT_TRUE(rest.consume_front(path + ": ")) << text;
    return rest.str();
  }
  test::TemporaryDirectory directory;
  std::string path = directory.path("a.npy");
};

const char *const kTwoFloats =
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
const std::string kTwoFloatsData = "\0\0\x80\x3f\0\0\x20\xc0"s; // 1, -2.5

TEST_F(NumpyIOTest, EveryTypeRoundTrips) {
  for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16,
                           ElementType::I64, ElementType::I32, ElementType::I16,
                           ElementType::I8, ElementType::U8, ElementType::I1})
    for (llvm::SmallVector<int64_t> shape :
         {llvm::SmallVector<int64_t>{}, {3}, {2, 3}, {0, 4}}) {
      HostTensor tensor = llvm::cantFail(HostTensor::create(type, shape));
      for (int64_t i = 0; i < tensor.getNumElements(); ++i)
        tensor.setElement(i, i + 1);
      llvm::cantFail(writeNpy(path, tensor));
      EXPECT_EQ(llvm::cantFail(readNpy(path)), tensor) << tensor.describe();
      // NEP 1: the data starts at a multiple of 64.
      EXPECT_EQ((test::readBytes(path).size() - tensor.getByteSize()) % 64, 0u);
    }
}

TEST_F(NumpyIOTest, ReadsAllFormatVersions) {
  for (char major : {1, 2, 3}) {
    HostTensor tensor =
        llvm::cantFail(readNpy(write(npy(kTwoFloats, kTwoFloatsData, major))));
    EXPECT_EQ(tensor.describe(), "f32[2]");
    EXPECT_EQ(tensor.getElement(0), 1);
    EXPECT_EQ(tensor.getElement(1), -2.5);
  }
}

TEST_F(NumpyIOTest, SwapsBigEndian) {
  HostTensor tensor = llvm::cantFail(
      readNpy(write(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }",
                        "\0\0\1\2\xff\xff\xff\xfe"s))));
  EXPECT_EQ(tensor.getElement(0), 258);
  EXPECT_EQ(tensor.getElement(1), -2);
}

TEST_F(NumpyIOTest, ReordersFortranOrder) {
  // [[[1, 3, 5], [2, 4, 6]]] stored first index fastest.
  HostTensor tensor = llvm::cantFail(readNpy(write(npy(
      "{'descr': '|u1', 'fortran_order': True, 'shape': (1, 2, 3), }", "\1\2\3\4\5\6"))));
  const double expected[] = {1, 3, 5, 2, 4, 6};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(tensor.getElement(i), expected[i]);
}

TEST_F(NumpyIOTest, AnyKeyOrderAndSpacing) {
  HostTensor tensor = llvm::cantFail(readNpy(write(npy(
      "{ \"shape\":( 2 , ) ,'fortran_order':False,'descr' : '<f4'}  ", kTwoFloatsData))));
  EXPECT_EQ(tensor.describe(), "f32[2]");
}

TEST_F(NumpyIOTest, BooleansBecomeZeroOrOne) {
  HostTensor tensor = llvm::cantFail(readNpy(write(
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\0\1\x80"s))));
  EXPECT_EQ(tensor.getBytes()[2], 1);
}

TEST_F(NumpyIOTest, Errors) {
  EXPECT_EQ(message(readNpy(directory.path("none.npy"))),
            directory.path("none.npy") + ": cannot open: No such file or directory");
  EXPECT_EQ(message(readNpy(directory.path())),
            directory.path() + ": expected a file, found a directory");
  EXPECT_EQ(error(""), "expected a .npy file of at least 10 bytes, found 0");
  EXPECT_EQ(error("hello, world"), "expected a .npy file, which starts with \\x93NUMPY");
  EXPECT_EQ(error(npy(kTwoFloats, kTwoFloatsData, 7)),
            "expected .npy format 1.0, 2.0 or 3.0, found 7.0");
  EXPECT_EQ(error(npy(kTwoFloats, "").substr(0, 20)),
            "truncated: expected a header of 58 bytes, found 10");
  // Before memory for it is taken.
  EXPECT_EQ(error(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
            "expected a header of at most 65536 bytes, found 4294967295");
  EXPECT_EQ(error(npy(kTwoFloats, "abc")),
            "truncated: expected 8 bytes of data for f32[2], found 3");
  EXPECT_EQ(error(npy(kTwoFloats, kTwoFloatsData + "x")),
            "too long: expected 8 bytes of data for f32[2], found 9");
  EXPECT_EQ(error(npy("{'descr': '<f8', 'fortran_order': False, 'shape': "
                      "(4294967296, 4294967296), }",
                      "")),
            "truncated: expected more than 2^63 bytes of data for f64[4294967296, "
            "4294967296], found 0");
  EXPECT_EQ(error(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (), }", "")),
            "unsupported dtype: expected one of f2 f4 f8 i1 i2 i4 i8 u1 b1, "
            "found '<c8'");
  EXPECT_EQ(error(npy("{'descr': '<V2', 'fortran_order': False, 'shape': (), }", "")),
            "unsupported dtype: expected one of f2 f4 f8 i1 i2 i4 i8 u1 b1, "
            "found '<V2' (bfloat16 needs a .safetensors file)");
  EXPECT_EQ(error(npy("{'descr': [('a', '<f4')], 'fortran_order': False, "
                      "'shape': (), }",
                      "")),
            "unsupported dtype: expected a plain number type, found a "
            "structured one");
}

TEST_F(NumpyIOTest, MalformedHeaders) {
  EXPECT_EQ(error(npy("[1]", "")), "malformed header: expected '{', found '[1]'");
  EXPECT_EQ(error(npy("{'descr': '<f4'}", "")),
            "malformed header: expected keys 'descr', 'fortran_order' and "
            "'shape'");
  EXPECT_EQ(error(npy("{'descr': '<f4'", "")),
            "malformed header: expected ',' or '}', found ''");
  EXPECT_EQ(error(npy("{'descr' '<f4'}", "")),
            "malformed header: expected ':', found ''<f4'}'");
  EXPECT_EQ(error(npy("{descr: '<f4'}", "")),
            "malformed header: expected a quoted key, found 'descr: '<f4'}'");
  EXPECT_EQ(error(npy("{'fortran_order': 3}", "")),
            "malformed header: expected True or False, found '3}'");
  EXPECT_EQ(error(npy("{'shape': 3}", "")), "malformed header: expected '(', found '3}'");
  EXPECT_EQ(error(npy("{'shape': (-3,)}", "")),
            "malformed header: expected a size, found ',)}'");
  EXPECT_EQ(error(npy("{'shape': (3;)}", "")),
            "malformed header: expected ',' or ')', found ';)}'");
  EXPECT_EQ(error(npy("{'size': 3}", "")), "malformed header: unknown key 'size'");
  EXPECT_EQ(error(npy("{'shape': ()} x", "")),
            "malformed header: expected the end of the header, found 'x'");
}

TEST_F(NumpyIOTest, WriteErrors) {
  HostTensor tensor = HostTensor::scalar(ElementType::BF16, 1);
  EXPECT_EQ(message(writeNpy(path, tensor)),
            path + ": cannot write bf16[]: NumPy has no such type; use a "
                   ".safetensors file");
  EXPECT_EQ(directory.list(), "");
}

//===----------------------------------------------------------------------===//
// .npz
//===----------------------------------------------------------------------===//

class NpzTest : public NumpyIOTest {
protected:
  void add(llvm::StringRef name, const std::string &bytes, bool deflate) {
    entries.push_back({name.str(), bytes, deflate});
  }
  std::string writeArchive() {
    int code;
    zip_t *archive = zip_open(archivePath.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    for (const Entry &entry : entries) {
      zip_source_t *source =
          zip_source_buffer(archive, entry.bytes.data(), entry.bytes.size(), 0);
      zip_int64_t index = zip_file_add(archive, entry.name.c_str(), source, 0);
      zip_set_file_compression(archive, index,
                               entry.deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    }
    EXPECT_EQ(zip_close(archive), 0);
    return archivePath;
  }
  struct Entry {
    std::string name, bytes;
    bool deflate;
  };
  std::vector<Entry> entries;
  std::string archivePath = directory.path("a.npz");
};

TEST_F(NpzTest, StoredAndDeflated) {
  std::string bytes = npy(kTwoFloats, kTwoFloatsData);
  add("x.npy", bytes, false);
  add("y.npy", bytes, true);
  writeArchive();
  EXPECT_EQ(llvm::cantFail(listNpz(archivePath)), std::vector<std::string>({"x", "y"}));
  HostTensor direct = llvm::cantFail(readNpy(write(bytes)));
  EXPECT_EQ(llvm::cantFail(readNpz(archivePath, "x")), direct);
  EXPECT_EQ(llvm::cantFail(readNpz(archivePath, "y")), direct);
  EXPECT_EQ(message(readNpz(archivePath, "z")),
            archivePath + ": expected array 'z', found x, y");
  EXPECT_EQ(message(readNpz(archivePath, "")),
            archivePath + ": expected one array or a name as in " + archivePath +
                ":name, found x, y");
}

TEST_F(NpzTest, TheOnlyArrayNeedsNoName) {
  add("x.npy", npy(kTwoFloats, kTwoFloatsData), true);
  add("readme.txt", "no array", false);
  EXPECT_EQ(llvm::cantFail(readNpz(writeArchive(), "")).describe(), "f32[2]");
}

TEST_F(NpzTest, Errors) {
  test::writeBytes(archivePath, "not a zip archive");
  EXPECT_EQ(message(readNpz(archivePath, "x")),
            archivePath + ": expected a .npz file (a zip archive): Not a zip archive");
  EXPECT_EQ(message(readNpz(directory.path("none.npz"), "x")),
            directory.path("none.npz") + ": cannot open: No such file or directory");
  add("x.npy", npy(kTwoFloats, "abc"), true);
  add("empty.npy", "", false);
  writeArchive();
  EXPECT_EQ(message(readNpz(archivePath, "x")),
            archivePath + ":x: truncated: expected 8 bytes of data for f32[2], found 3");
  EXPECT_EQ(message(readNpz(archivePath, "empty")),
            archivePath + ":empty: expected a .npy file of at least 10 bytes, found 0");
}

TEST_F(NpzTest, DetectsCorruptData) {
  add("x.npy", npy(kTwoFloats, kTwoFloatsData), false);
  writeArchive();
  std::string bytes = test::readBytes(archivePath);
  size_t data = bytes.find(kTwoFloatsData);
  ASSERT_NE(data, std::string::npos);
  bytes[data + 2] ^= 1;
  test::writeBytes(archivePath, bytes);
  EXPECT_EQ(message(readNpz(archivePath, "x")),
            archivePath + ":x: cannot read: CRC error");
  test::writeBytes(archivePath, llvm::StringRef(bytes).take_front(bytes.size() / 2));
  EXPECT_EQ(message(readNpz(archivePath, "x")),
            archivePath + ": expected a .npz file (a zip archive): Not a zip archive");
}

} // namespace
