//===- DataLoader.h - Mini-batches of rows ----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Cuts data sets into batches along dimension 0. The order of an epoch is a
/// function of the seed and the epoch's number alone, so that a run can go on
/// from (epoch, index) without a history.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_DATALOADER_H
#define MPT_HOST_DATALOADER_H

#include "mpt/Host/HostTensor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mpt {

/// Where a pass over the data stands: `index` rows of the epoch are used up.
struct DataPosition {
  uint64_t epoch = 0;
  int64_t index = 0;
  bool operator==(const DataPosition &other) const {
    return epoch == other.epoch && index == other.index;
  }
};

/// A permutation of 0 .. count - 1 (Fisher and Yates' shuffle, Philox words of
/// `kShuffleStream` with the epoch as the draw).
std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed, uint64_t epoch);

class DataLoader {
public:
  /// One tensor of the data set.
  struct Field {
    std::string name;
    HostTensor data;
    /// Passed as it is to every batch (a mask, a table) instead of by rows.
    bool whole = false;
    /// The file that it is from, for messages; "": none.
    std::string source;
  };

  /// Batches of `batch` rows. Fails if fields differ in their number of rows,
  /// if a field that is not whole has rank 0, or if there are fewer rows than
  /// `batch`. Without fields by rows every batch is the same.
  static llvm::Expected<DataLoader> create(std::vector<Field> fields, int64_t batch,
                                           uint64_t seed);

  int64_t getNumRows() const { return rows; }
  int64_t getBatch() const { return batch; }
  /// The last, short batch of an epoch is dropped.
  int64_t getBatchesPerEpoch() const { return batch ? rows / batch : 1; }

  /// The next training batch by name, valid until the next call. Rows come in
  /// the epoch's shuffled order; a batch of all rows keeps the file's order,
  /// since then only the order of summation could change.
  const llvm::StringMap<const HostTensor *> &next();

  /// From now on `next` gives part `part` of `parts` of each batch: the rows of that
  /// micro-batch, in the order of the batch. Which batches there are stays the same.
  /// Fails unless `parts` divides the batch.
  llvm::Error setPart(int64_t part, int64_t parts);

  const DataPosition &getPosition() const { return position; }
  /// Fails if no batch begins there.
  llvm::Error setPosition(const DataPosition &position);

  /// Rows first .. first + count - 1 in the file's order, for evaluation, valid
  /// until the next call.
  const llvm::StringMap<const HostTensor *> &getRange(int64_t first, int64_t count);

  /// Where the integer `value` stands in the batch that was given last, or in the one
  /// before it (`ago` 1): "'x' of ids.npy, row 812, element 3", with the row (from 0) of
  /// the file and, if rows have several elements, the element of the row. Of several
  /// places those at `position` of a batch's tensor go first. "" if it stands nowhere.
  std::string describeValue(int64_t value, int64_t position, int ago = 0) const;

private:
  DataLoader() = default;
  void gather(llvm::ArrayRef<int64_t> order);

  std::vector<Field> fields;
  std::vector<HostTensor> buffers;
  llvm::StringMap<const HostTensor *> views;
  int64_t rows = 0, batch = 0;
  int64_t part = 0, parts = 1;
  uint64_t seed = 0;
  DataPosition position;
  /// The epoch that `order` belongs to.
  uint64_t orderEpoch = ~uint64_t(0);
  std::vector<int64_t> order;
  /// The rows of the batch that was given last, and of the one before.
  std::vector<int64_t> current, previous;
};

} // namespace mpt

#endif // MPT_HOST_DATALOADER_H
