//===- DataLoaderTest.cpp - Mini-batches ------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/DataLoader.h"
#include "TestHelpers.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>
#include <set>

using namespace mpt;
using test::message;

namespace {

/// Rows of `width` elements; element j of row i is 100 i + j + offset.
HostTensor rows(int64_t count, int64_t width, double offset = 0,
                ElementType type = ElementType::F32) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(type, {count, width}));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < width; ++j)
      tensor.setElement(i * width + j, 100 * i + j + offset);
  return tensor;
}

DataLoader makeLoader(int64_t count, int64_t batch, uint64_t seed = 7) {
  return llvm::cantFail(DataLoader::create(
      {{"x", rows(count, 3)}, {"y", rows(count, 1, 0.5, ElementType::F64)}}, batch,
      seed));
}

/// Row numbers of the next batch, checking that x and y belong together.
std::vector<int64_t> nextRows(DataLoader &loader) {
  const auto &batch = loader.next();
  const HostTensor &x = *batch.lookup("x"), &y = *batch.lookup("y");
  std::vector<int64_t> result;
  for (int64_t i = 0; i < x.getShape()[0]; ++i) {
    int64_t row = x.getElement(3 * i) / 100;
    for (int64_t j = 0; j < 3; ++j)
      EXPECT_EQ(x.getElement(3 * i + j), 100 * row + j);
    EXPECT_EQ(y.getElement(i), 100 * row + 0.5);
    result.push_back(row);
  }
  return result;
}

/// The first row of the next batch, as 'label' says.
int64_t nextRowOf(DataLoader &loader) {
  return loader.next().lookup("label")->getElement(0) / 100;
}

TEST(ShuffleTest, IsAPermutation) {
  for (int64_t count : {0, 1, 2, 3, 10, 1000})
    for (uint64_t epoch : {0, 1, 5}) {
      std::vector<int64_t> order = shuffledOrder(count, 3, epoch);
      std::vector<int64_t> sorted = order, all(count);
      std::sort(sorted.begin(), sorted.end());
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(sorted, all);
    }
}

TEST(ShuffleTest, DependsOnSeedAndEpoch) {
  EXPECT_EQ(shuffledOrder(100, 1, 2), shuffledOrder(100, 1, 2));
  EXPECT_NE(shuffledOrder(100, 1, 2), shuffledOrder(100, 1, 3));
  EXPECT_NE(shuffledOrder(100, 1, 2), shuffledOrder(100, 2, 2));
}

// All 24 orders of four rows are about equally frequent: chi-squared with 23
// degrees of freedom exceeds 49.7 with probability 0.001.
TEST(ShuffleTest, IsUniform) {
  std::map<std::vector<int64_t>, int> counts;
  const int draws = 24000;
  for (int epoch = 0; epoch < draws; ++epoch)
    ++counts[shuffledOrder(4, 11, epoch)];
  EXPECT_EQ(counts.size(), 24u);
  double chiSquared = 0;
  for (const auto &entry : counts)
    chiSquared += std::pow(entry.second - draws / 24.0, 2) / (draws / 24.0);
  EXPECT_LT(chiSquared, 49.7);
}

TEST(DataLoaderTest, AnEpochVisitsEachRowAtMostOnce) {
  DataLoader loader = makeLoader(103, 10);
  EXPECT_EQ(loader.getBatchesPerEpoch(), 10);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<int64_t> seen;
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(loader.getPosition(), (DataPosition{epoch, i * 10}));
      for (int64_t row : nextRows(loader))
        EXPECT_TRUE(seen.insert(row).second);
    }
    EXPECT_EQ(seen.size(), 100u); // The last three are dropped.
  }
}

TEST(DataLoaderTest, AFullBatchKeepsTheOrder) {
  DataLoader loader = makeLoader(20, 20);
  std::vector<int64_t> all(20);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(nextRows(loader), all);
  EXPECT_EQ(nextRows(loader), all);
  EXPECT_EQ(loader.getPosition(), (DataPosition{2, 0}));
}

TEST(DataLoaderTest, ContinuesFromAnyPosition) {
  DataLoader whole = makeLoader(35, 10);
  std::vector<DataPosition> positions;
  std::vector<std::vector<int64_t>> batches;
  for (int i = 0; i < 10; ++i) {
    positions.push_back(whole.getPosition());
    batches.push_back(nextRows(whole));
  }
  for (int start = 0; start < 10; ++start) {
    DataLoader loader = makeLoader(35, 10);
    llvm::cantFail(loader.setPosition(positions[start]));
    for (int i = start; i < 10; ++i)
      EXPECT_EQ(nextRows(loader), batches[i]);
  }
}

/// Parts one after the other are the batch, and the next batch is the same in all.
TEST(DataLoaderTest, PartsOfABatch) {
  for (int64_t count : {12, 23}) {
    DataLoader whole = makeLoader(count, 12);
    std::vector<DataLoader> parts;
    for (int64_t part = 0; part < 3; ++part) {
      parts.push_back(makeLoader(count, 12));
      ASSERT_FALSE(bool(parts.back().setPart(part, 3)));
    }
    for (int step = 0; step < 4; ++step) {
      std::vector<int64_t> joined;
      for (DataLoader &part : parts) {
        std::vector<int64_t> mine = nextRows(part);
        EXPECT_EQ(mine.size(), 4u);
        joined.insert(joined.end(), mine.begin(), mine.end());
      }
      EXPECT_EQ(joined, nextRows(whole));
      EXPECT_TRUE(parts[2].getPosition() == whole.getPosition());
    }
  }
  DataLoader loader = makeLoader(12, 6);
  EXPECT_EQ(message(loader.setPart(0, 4)),
            "a batch of 6 rows has no part 0 of 4 of equal size");
  EXPECT_EQ(message(loader.setPart(2, 2)),
            "a batch of 6 rows has no part 2 of 2 of equal size");
}

TEST(DataLoaderTest, RangesKeepTheOrder) {
  DataLoader loader = makeLoader(25, 10);
  const HostTensor &tail = *loader.getRange(20, 5).lookup("x");
  EXPECT_EQ(tail.describe(), "f32[5, 3]");
  EXPECT_EQ(tail.getElement(0), 2000);
  EXPECT_EQ(*loader.getRange(0, 25).lookup("x"), rows(25, 3));
}

TEST(DataLoaderTest, WholeFieldsAreNotCut) {
  HostTensor mask = rows(4, 4);
  DataLoader loader =
      llvm::cantFail(DataLoader::create({{"x", rows(9, 3)}, {"mask", mask, true}}, 2, 1));
  const auto &batch = loader.next();
  EXPECT_EQ(*batch.lookup("mask"), mask);
  EXPECT_EQ(batch.lookup("x")->describe(), "f32[2, 3]");
  // Without rows there is one batch per epoch.
  DataLoader fixed = llvm::cantFail(DataLoader::create({{"mask", mask, true}}, 2, 1));
  EXPECT_EQ(*fixed.next().lookup("mask"), mask);
  EXPECT_EQ(fixed.getPosition(), (DataPosition{1, 0}));
}

TEST(DataLoaderTest, Errors) {
  // Such a file has a header and no data.
  HostTensor empty =
      llvm::cantFail(HostTensor::create(ElementType::F32, {int64_t(1) << 60, 0}));
  EXPECT_EQ(message(DataLoader::create({{"x", empty}}, 4, 0)),
            "data 'x': the order of 1152921504606846976 rows does not fit in memory; use "
            "fewer rows");
  EXPECT_EQ(message(DataLoader::create({{"x", rows(5, 1)}, {"y", rows(6, 1)}}, 2, 1)),
            "data 'y': expected 5 rows as in 'x', found 6");
  EXPECT_EQ(message(DataLoader::create({{"x", rows(5, 1)}}, 6, 1)),
            "data 'x': expected at least one batch of 6 rows, found 5");
  EXPECT_EQ(message(DataLoader::create({{"x", rows(5, 1)}}, 0, 1)),
            "expected a batch of at least 1 row, found 0");
  EXPECT_EQ(message(DataLoader::create({{"x", HostTensor::scalarI64(3)}}, 1, 1)),
            "data 'x': expected rows along dimension 0, found a scalar");
  DataLoader loader = makeLoader(25, 10);
  EXPECT_EQ(message(loader.setPosition({0, 5})), "no batch of 10 begins at row 5 of 25");
  EXPECT_EQ(message(loader.setPosition({0, 20})),
            "no batch of 10 begins at row 20 of 25");
}

TEST(DataLoaderTest, DescribesWhereAValueStands) {
  HostTensor ids = rows(6, 2, 0, ElementType::I32),
             labels = rows(6, 1, 0, ElementType::I64);
  HostTensor map = rows(3, 2, 5000, ElementType::I32);
  std::vector<DataLoader::Field> fields;
  fields.push_back({"x", rows(6, 1), false, "x.npy"});
  fields.push_back({"ids", std::move(ids), false, "d.npz:ids"});
  fields.push_back({"label", std::move(labels), false, "label.npy"});
  fields.push_back({"map", std::move(map), true, ""});
  DataLoader loader = llvm::cantFail(DataLoader::create(std::move(fields), 2, 7));
  // Before the first batch there is nothing.
  EXPECT_EQ(loader.describeValue(301, 1), "");
  loader.getRange(2, 2);
  EXPECT_EQ(loader.describeValue(301, 3), "'ids' of d.npz:ids, row 3, element 1");
  // Another place, or none: the first that has the value.
  EXPECT_EQ(loader.describeValue(301, 0), "'ids' of d.npz:ids, row 3, element 1");
  EXPECT_EQ(loader.describeValue(301, -1), "'ids' of d.npz:ids, row 3, element 1");
  // Both have the value, in different places of the batch.
  EXPECT_EQ(loader.describeValue(300, 2), "'ids' of d.npz:ids, row 3, element 0");
  EXPECT_EQ(loader.describeValue(300, 1), "'label' of label.npy, row 3");
  // What is given whole has rows of its own; floats are no indices.
  EXPECT_EQ(loader.describeValue(5201, 5), "'map', row 2, element 1");
  EXPECT_EQ(loader.describeValue(0, 0), "");
  EXPECT_EQ(loader.describeValue(301, 1000), "'ids' of d.npz:ids, row 3, element 1");
  // In the epoch's order rows are still those of the file.
  int64_t first = nextRowOf(loader);
  EXPECT_EQ(loader.describeValue(100 * first, 0),
            "'ids' of d.npz:ids, row " + std::to_string(first) + ", element 0");
}

} // namespace
