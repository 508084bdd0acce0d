//===- DataLoader.cpp - Mini-batches of rows --------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/DataLoader.h"
#include "mpt/ProgramABI/SystemMemory.h"
#include "mpt/Support/Philox.h"
#include "llvm/ADT/Twine.h"
#include <cstring>
#include <numeric>

using namespace mpt;

/// floor(word * bound / 2^64): a number below `bound`. A value's probability is
/// off by less than bound / 2^64 of itself.
static uint64_t scaleDown(uint64_t word, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(word) * bound) >> 64);
}

std::vector<int64_t> mpt::shuffledOrder(int64_t count, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::array<uint32_t, 4> words = {};
  for (int64_t i = count - 1, draw = 0; i > 0; --i, ++draw) {
    if (draw % 2 == 0)
      words = philoxBlock(seed, kShuffleStream, epoch, draw / 2);
    size_t lane = draw % 2 * 2;
    uint64_t word = words[lane] | static_cast<uint64_t>(words[lane + 1]) << 32;
    std::swap(order[i], order[scaleDown(word, i + 1)]);
  }
  return order;
}

llvm::Expected<DataLoader> DataLoader::create(std::vector<Field> fields, int64_t batch,
                                              uint64_t seed) {
  DataLoader loader;
  const Field *first = nullptr;
  for (const Field &field : fields) {
    if (field.whole)
      continue;
    if (field.data.getRank() == 0)
      return llvm::createStringError("data '" + field.name +
                                     "': expected rows along dimension 0, "
                                     "found a scalar");
    int64_t rows = field.data.getShape()[0];
    if (first && rows != loader.rows)
      return llvm::createStringError("data '" + field.name + "': expected " +
                                     llvm::Twine(loader.rows) + " rows as in '" +
                                     first->name + "', found " + llvm::Twine(rows));
    loader.rows = rows;
    if (!first)
      first = &field;
  }
  // Shuffling takes eight bytes a row, and rows without elements take none in a file.
  if (loader.rows > rt::getSystemMemory() / 8)
    return llvm::createStringError("data '" + first->name + "': the order of " +
                                   llvm::Twine(loader.rows) +
                                   " rows does not fit in memory; use fewer rows");
  if (!first)
    batch = 0;
  else if (batch <= 0)
    return llvm::createStringError("expected a batch of at least 1 row, found " +
                                   llvm::Twine(batch));
  else if (loader.rows < batch)
    return llvm::createStringError(
        "data '" + first->name + "': expected at least one batch of " +
        llvm::Twine(batch) + " rows, found " + llvm::Twine(loader.rows));
  loader.batch = batch;
  loader.seed = seed;
  loader.fields = std::move(fields);
  loader.buffers.resize(loader.fields.size());
  return std::move(loader);
}

llvm::Error DataLoader::setPosition(const DataPosition &value) {
  int64_t end = getBatchesPerEpoch() * batch;
  if (value.index < 0 || (batch ? value.index % batch != 0 : value.index != 0) ||
      (value.index != 0 && value.index >= end))
    return llvm::createStringError("no batch of " + llvm::Twine(batch) +
                                   " begins at row " + llvm::Twine(value.index) + " of " +
                                   llvm::Twine(rows));
  position = value;
  return llvm::Error::success();
}

llvm::Error DataLoader::setPart(int64_t newPart, int64_t newParts) {
  if (newParts < 1 || newPart < 0 || newPart >= newParts || batch % newParts != 0)
    return llvm::createStringError("a batch of " + llvm::Twine(batch) +
                                   " rows has no part " + llvm::Twine(newPart) + " of " +
                                   llvm::Twine(newParts) + " of equal size");
  part = newPart;
  parts = newParts;
  return llvm::Error::success();
}

/// Fills the buffers with the rows named by `order` and points `views` at them.
void DataLoader::gather(llvm::ArrayRef<int64_t> order) {
  views.clear();
  std::swap(previous, current);
  current.assign(order.begin(), order.end());
  int64_t count = order.size();
  for (auto [field, buffer] : llvm::zip_equal(fields, buffers)) {
    if (field.whole || (count == rows && llvm::is_sorted(order))) {
      views[field.name] = &field.data;
      continue;
    }
    llvm::SmallVector<int64_t, 4> shape(field.data.getShape());
    shape[0] = count;
    if (buffer.getShape() != llvm::ArrayRef<int64_t>(shape))
      // Smaller than the data, which is in memory already.
      buffer = llvm::cantFail(HostTensor::create(field.data.getElementType(), shape));
    size_t rowBytes = field.data.getByteSize() / rows;
    const uint8_t *in = field.data.getBytes().data();
    uint8_t *out = buffer.getBytes().data();
    for (auto [slot, row] : llvm::enumerate(order))
      std::memcpy(out + slot * rowBytes, in + row * rowBytes, rowBytes);
    views[field.name] = &buffer;
  }
}

std::string DataLoader::describeValue(int64_t value, int64_t position, int ago) const {
  const std::vector<int64_t> &rowsThen = ago ? previous : current;
  std::string anywhere;
  for (const Field &field : fields) {
    const HostTensor &tensor = field.data;
    ElementType type = tensor.getElementType();
    const int64_t all = tensor.getNumElements();
    if (views.empty() || all == 0 ||
        (type != ElementType::I64 && type != ElementType::I32))
      continue;
    const int64_t width = tensor.getRank() == 0 ? 1 : all / tensor.getShape()[0];
    const int64_t count =
        field.whole ? all : width * static_cast<int64_t>(rowsThen.size());
    auto getRow = [&](int64_t i) {
      return field.whole ? i / width : rowsThen[i / width];
    };
    auto get = [&](int64_t i) {
      i = getRow(i) * width + i % width;
      if (type == ElementType::I32)
        return static_cast<int64_t>(tensor.getElement(i));
      int64_t element;
      std::memcpy(&element, tensor.getBytes().data() + i * sizeof(element),
                  sizeof(element));
      return element;
    };
    auto describe = [&](int64_t i) {
      std::string text = "'" + field.name + "'";
      if (!field.source.empty())
        text += " of " + field.source;
      if (tensor.getRank() == 0)
        return text;
      text += ", row " + std::to_string(getRow(i));
      return width == 1 ? text : text + ", element " + std::to_string(i % width);
    };
    if (position >= 0 && position < count && get(position) == value)
      return describe(position);
    for (int64_t i = 0; i < count && anywhere.empty(); ++i)
      if (get(i) == value)
        anywhere = describe(i);
  }
  return anywhere;
}

const llvm::StringMap<const HostTensor *> &DataLoader::next() {
  if (orderEpoch != position.epoch) {
    if (batch == rows) {
      order.resize(rows);
      std::iota(order.begin(), order.end(), 0);
    } else {
      order = shuffledOrder(rows, seed, position.epoch);
    }
    orderEpoch = position.epoch;
  }
  gather(
      llvm::ArrayRef(order).slice(position.index + batch / parts * part, batch / parts));
  position.index += batch;
  if (position.index + batch > rows || batch == 0)
    position = {position.epoch + 1, 0};
  return views;
}

const llvm::StringMap<const HostTensor *> &DataLoader::getRange(int64_t first,
                                                                int64_t count) {
  std::vector<int64_t> range(count);
  std::iota(range.begin(), range.end(), first);
  gather(range);
  return views;
}
