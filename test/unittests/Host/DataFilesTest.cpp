//===- DataFilesTest.cpp - Data sets for inputs -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/DataFiles.h"
#include "TestHelpers.h"
#include "mpt/Host/NumpyIO.h"
#include "mpt/Host/SafetensorsIO.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mpt;
using test::message;

namespace {

std::string parse(llvm::StringRef text) {
  auto spec = parseDataSpec("--data", text);
  return spec ? spec->name + "|" + spec->path + "|" + spec->member
              : llvm::toString(spec.takeError());
}

TEST(DataSpecTest, Parse) {
  EXPECT_EQ(parse("x=a.npy"), "x|a.npy|");
  EXPECT_EQ(parse("x=dir=1/a.npz"), "x|dir=1/a.npz|");
  EXPECT_EQ(parse("x=a.npz:train"), "x|a.npz|train");
  EXPECT_EQ(parse("x=a:b.safetensors:m:n"), "x|a:b.safetensors|m:n");
  EXPECT_EQ(parse("x"), "--data x: expected NAME=FILE");
  EXPECT_EQ(parse("=a.npy"), "--data =a.npy: expected NAME=FILE");
  EXPECT_EQ(parse("x=a.npz:"), "--data x=a.npz:: expected a name after ':'");
  EXPECT_EQ(parse("x=a.csv"), "--data x=a.csv: expected a .npy, .npz or "
                              ".safetensors file, found 'a.csv'");
}

TEST(FindNearestTest, OnlyCloseNames) {
  EXPECT_EQ(findNearest("imgae", {"image", "label"}), "image");
  EXPECT_EQ(findNearest("image", {"label", "mask"}), "");
  EXPECT_EQ(findNearest("x", {}), "");
}

class BindDataTest : public ::testing::Test {
protected:
  void write(llvm::StringRef name, ElementType type, llvm::ArrayRef<int64_t> shape) {
    llvm::cantFail(writeNpy(path(name), llvm::cantFail(HostTensor::create(type, shape))));
  }
  std::string path(llvm::StringRef name) { return directory.path((name + ".npy").str()); }
  DataSpec spec(llvm::StringRef name, llvm::StringRef file) {
    return {name.str(), path(file), ""};
  }
  /// "batch 4: x f32[8, 3], m f32[3] whole", or the error without the
  /// directory's name.
  std::string bind(llvm::ArrayRef<TensorInfo> arguments, llvm::ArrayRef<DataSpec> specs,
                   int64_t batch = 0, llvm::ArrayRef<std::string> whole = {}) {
    auto bound = bindData(arguments, "--data", specs, batch, whole);
    if (!bound) {
      std::string text = llvm::toString(bound.takeError());
      for (size_t at; (at = text.find(directory.path() + "/")) != std::string::npos;)
        text.erase(at, directory.path().size() + 1);
      return text;
    }
    std::string text = "batch " + std::to_string(bound->batch) + ":";
    for (const DataLoader::Field &field : bound->fields)
      text +=
          " " + field.name + " " + field.data.describe() + (field.whole ? " whole" : "");
    return text;
  }
  TensorInfo input(llvm::StringRef name, std::vector<int64_t> shape,
                   ElementType type = ElementType::F32, Role role = Role::Input) {
    return {name.str(), role, type, std::move(shape), std::nullopt};
  }
  test::TemporaryDirectory directory;
};

TEST_F(BindDataTest, ChoosesTheBatch) {
  write("x8", ElementType::F32, {8, 3});
  write("y8", ElementType::I64, {8});
  write("m", ElementType::F32, {3});
  TensorInfo w = input("w", {3}, ElementType::F32, Role::Parameter);
  TensorInfo open = input("x", {kDynamicSize, 3}), fixed = input("x", {4, 3}),
             y = input("y", {kDynamicSize}, ElementType::I64, Role::Target),
             m = input("m", {3});
  std::vector<DataSpec> xy = {spec("x", "x8"), spec("y", "y8")};
  EXPECT_EQ(bind({w, open, y}, xy), "batch 8: x f32[8, 3] y i64[8]");
  EXPECT_EQ(bind({w, open, y}, xy, 2), "batch 2: x f32[8, 3] y i64[8]");
  EXPECT_EQ(bind({fixed, y}, xy), "batch 4: x f32[8, 3] y i64[8]");
  EXPECT_EQ(bind({fixed, y}, xy, 4), "batch 4: x f32[8, 3] y i64[8]");
  EXPECT_EQ(bind({fixed, m}, {spec("x", "x8"), spec("m", "m")}),
            "batch 4: x f32[8, 3] m f32[3] whole");
  EXPECT_EQ(bind({input("x", {8, 3})}, spec("x", "x8")), "batch 0: x f32[8, 3] whole");
  EXPECT_EQ(bind({fixed}, spec("x", "x8"), 2),
            "'x' is f32[4, 3], which fixes the batch to 4; the batch asked for "
            "is 2");
  EXPECT_EQ(bind({fixed, input("y", {2}, ElementType::I64)}, xy),
            "'y' is i64[2], which fixes the batch to 2; 'x' fixes it to 4");
}

// A table may have as many rows as a batch.
TEST_F(BindDataTest, TablesOfTheBatchsSize) {
  write("x8", ElementType::F32, {8, 3});
  write("t4", ElementType::F32, {4, 5});
  TensorInfo open = input("x", {kDynamicSize, 3}), fixed = input("x", {4, 3}),
             table = input("t", {4, 5});
  std::vector<DataSpec> both = {spec("x", "x8"), spec("t", "t4")};
  // The function says which of the two has a batch.
  EXPECT_EQ(bind({open, table}, both, 4), "batch 4: x f32[8, 3] t f32[4, 5] whole");
  EXPECT_EQ(bind({table, open}, both, 4), "batch 4: t f32[4, 5] whole x f32[8, 3]");
  EXPECT_EQ(bind({open, input("t", {8, 3})}, {spec("x", "x8"), spec("t", "x8")}),
            "batch 8: x f32[8, 3] t f32[8, 3] whole");
  // It does not: what is too short may be a mistake, so the user says so.
  EXPECT_EQ(bind({fixed, table}, both),
            "t4.npy: expected 8 rows as in x8.npy, found 4; if every step reads all "
            "of 't', give --whole=t");
  EXPECT_EQ(bind({table, fixed}, both),
            "x8.npy: expected 4 rows as in t4.npy, found 8; if every step reads all "
            "of 't', give --whole=t");
  EXPECT_EQ(bind({fixed, table}, both, 0, {"t"}),
            "batch 4: x f32[8, 3] t f32[4, 5] whole");
  EXPECT_EQ(bind({fixed, table}, both, 0, {"x"}),
            "x8.npy: expected f32[4, 3] for 'x', which --whole names, found f32[8, 3]");
  EXPECT_EQ(bind({open, table}, both, 4, {"x"}),
            "x8.npy: expected f32[?, 3] for 'x', which --whole names, found f32[8, 3]; "
            "an input of --whole has a fixed size");
  // A target is no table unless it is said to be one.
  TensorInfo target = input("t", {4, 5}, ElementType::F32, Role::Target);
  EXPECT_EQ(bind({open, target}, both, 4),
            "t4.npy: expected 8 rows as in x8.npy, found 4; if every step reads all "
            "of 't', give --whole=t");
}

TEST_F(BindDataTest, Names) {
  write("x", ElementType::F32, {8});
  TensorInfo image = input("image", {kDynamicSize}),
             label = input("label", {kDynamicSize});
  EXPECT_EQ(bind({image, label}, spec("image", "x")),
            "missing data for 'label' (f32[?]): give --data label=FILE");
  EXPECT_EQ(bind(image, {spec("image", "x"), spec("lable", "x")}),
            "--data lable: the function has no such input; it has image");
  EXPECT_EQ(bind({image, label}, {spec("image", "x"), spec("lable", "x")}),
            "--data lable: the function has no such input; did you mean "
            "'label'?");
  EXPECT_EQ(bind(image, {spec("image", "x"), spec("image", "x")}),
            "--data image: given twice");
  EXPECT_EQ(bind({}, spec("image", "x")),
            "--data image: the function has no such input; it has none");
}

TEST_F(BindDataTest, TypesAndShapes) {
  write("f64", ElementType::F64, {8, 3});
  write("rank3", ElementType::F32, {8, 3, 1});
  write("wide", ElementType::F32, {8, 4});
  write("scalar", ElementType::F32, {});
  TensorInfo x = input("x", {kDynamicSize, 3});
  EXPECT_EQ(bind(x, spec("x", "f64")),
            "f64.npy: expected f32[?, 3] for 'x', found f64[8, 3]; convert it, "
            "for example with array.astype('float32')");
  EXPECT_EQ(bind(x, spec("x", "rank3")),
            "rank3.npy: expected f32[?, 3] for 'x', found f32[8, 3, 1]");
  EXPECT_EQ(bind(x, spec("x", "wide")),
            "wide.npy: expected f32[?, 3] for 'x', found f32[8, 4]");
  EXPECT_EQ(bind(x, spec("x", "scalar")),
            "scalar.npy: expected f32[?, 3] for 'x', found f32[]");
  EXPECT_EQ(bind(x, spec("x", "none")),
            "none.npy: cannot open: No such file or directory");
  EXPECT_EQ(bind(input("x", {kDynamicSize, 3}, ElementType::BF16), spec("x", "f64")),
            "f64.npy: expected bf16[?, 3] for 'x', found f64[8, 3]");
}

TEST_F(BindDataTest, Rows) {
  write("x8", ElementType::F32, {8});
  write("y9", ElementType::F32, {9});
  write("none", ElementType::F32, {0});
  TensorInfo x = input("x", {kDynamicSize}), y = input("y", {kDynamicSize});
  EXPECT_EQ(bind({x, y}, {spec("x", "x8"), spec("y", "y9")}),
            "y9.npy: expected 8 rows as in x8.npy, found 9");
  EXPECT_EQ(bind(x, spec("x", "x8"), 9),
            "x8.npy: expected at least one batch of 9 rows, found 8");
  EXPECT_EQ(bind(x, spec("x", "none")),
            "none.npy: expected at least one batch of 1 rows, found 0");
}

TEST_F(BindDataTest, NonFiniteData) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(ElementType::F32, {8, 3}));
  tensor.setElement(16, INFINITY);
  llvm::cantFail(writeNpy(path("x"), tensor));
  TensorInfo x = input("x", {kDynamicSize, 3});
  EXPECT_EQ(bind(x, spec("x", "x")),
            "x.npy: expected finite numbers for 'x', found infinity at [5, 1]");
  tensor.setElement(2, std::nan(""));
  llvm::cantFail(
      writeSafetensors(directory.path("x.safetensors"), {{"t", tensor}, {"u", tensor}}));
  DataSpec member{"x", directory.path("x.safetensors"), "t"};
  EXPECT_EQ(bind(x, member), "x.safetensors:t: expected finite numbers for "
                             "'x', found NaN at [0, 2]");
}

} // namespace
