//===- MatmulPanels.cpp - Layouts that oneDNN multiplies best -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulPanels.h"
#include "Convert.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <cstring>

using namespace mpt::rt;

static constexpr int64_t block = 8;

static int64_t roundUp(int64_t size) { return (size + block - 1) / block * block; }

bool mpt::rt::isBlockedRhs(const dnnl_memory_desc_t &desc, int64_t k, int64_t n) {
  const dnnl_blocking_desc_t &layout = desc.format_desc.blocking;
  return desc.format_kind == dnnl_blocked && desc.data_type == dnnl_f32 &&
         desc.ndims == 4 && desc.offset0 == 0 && desc.extra.flags == 0 &&
         layout.inner_nblks == 2 && layout.inner_blks[0] == block &&
         layout.inner_blks[1] == block && layout.inner_idxs[0] == 1 &&
         layout.inner_idxs[1] == 0 && layout.strides[0] == roundUp(k) * block &&
         layout.strides[1] == block * block && desc.padded_dims[0] == roundUp(n) &&
         desc.padded_dims[1] == roundUp(k);
}

/// Row `index` as floats, or null for the zeros beyond the last. A widened row is put
/// where row `slot` of `buffer` is.
static const float *getRow(const StoredRows &stored, int64_t index, float *buffer,
                           int64_t slot) {
  if (index >= stored.rows)
    return nullptr;
  int64_t first = stored.first + index * stored.lead;
  if (stored.type == DataType::F32 && stored.rounding == Rounding::None)
    return static_cast<const float *>(stored.data) + first;
  buffer += slot * stored.length;
  widen(stored.type, stored.rounding, stored.data, first, buffer, stored.length);
  return buffer;
}

void mpt::rt::packBlocks(const StoredRows &rhs, bool isTransposed, int64_t begin,
                         int64_t end, float *target, float *buffer) {
  const int64_t length = rhs.length;
  // From one block of columns to the next.
  const int64_t columnBlock = roundUp(isTransposed ? length : rhs.rows) * block;
  for (int64_t index = begin; index < end; index += block) {
    const float *row[block];
    for (int64_t i = 0; i < block; ++i)
      row[i] = getRow(rhs, index + i, buffer, i);
    if (isTransposed) {
      // Eight columns of the right side: one block of columns.
      float *to = target + index / block * columnBlock;
      if (row[block - 1])
        for (int64_t i = 0; i < length; ++i, to += block)
          for (int64_t j = 0; j < block; ++j)
            to[j] = row[j][i];
      else
        for (int64_t i = 0; i < length; ++i, to += block)
          for (int64_t j = 0; j < block; ++j)
            to[j] = row[j] ? row[j][i] : 0.0f;
      std::fill_n(to, (roundUp(length) - length) * block, 0.0f);
      continue;
    }
    float *to = target + index * block;
    for (int64_t column = 0; column < length; column += block, to += columnBlock)
      for (int64_t i = 0; i < block; ++i) {
        int64_t count = row[i] ? std::min(block, length - column) : 0;
        if (count == block) {
          std::memcpy(to + i * block, row[i] + column, block * sizeof(float));
          continue;
        }
        for (int64_t j = 0; j < block; ++j)
          to[i * block + j] = j < count ? row[i][column + j] : 0.0f;
      }
  }
}

/// Rows of a block of pairs, and most columns of one.
static constexpr int64_t pairedRows = 32, mostPairedColumns = 64;

int64_t mpt::rt::getPairedColumns(const dnnl_memory_desc_t &desc) {
  const dnnl_blocking_desc_t &layout = desc.format_desc.blocking;
  const int64_t columns = layout.inner_blks[1];
  const bool isPaired =
      desc.format_kind == dnnl_blocked && desc.data_type == dnnl_bf16 &&
      desc.ndims == 2 && desc.offset0 == 0 && desc.extra.flags == 0 &&
      layout.inner_nblks == 3 && layout.inner_blks[0] == pairedRows / 2 &&
      layout.inner_blks[2] == 2 && layout.inner_idxs[0] == 0 &&
      layout.inner_idxs[1] == 1 && layout.inner_idxs[2] == 0 && columns > 0 &&
      columns <= mostPairedColumns && layout.strides[0] == pairedRows * columns &&
      layout.strides[1] == desc.padded_dims[0] * columns;
  return isPaired ? columns : 0;
}

void mpt::rt::packPairs(const StoredRows &rhs, int64_t block, uint16_t *target) {
  const int64_t pairs = (rhs.rows + pairedRows - 1) / pairedRows * (pairedRows / 2);
  uint16_t rounded[2][mostPairedColumns];
  for (int64_t column = 0; column < rhs.length; column += block) {
    const int64_t count = std::min(block, rhs.length - column);
    for (int64_t pair = 0; pair < pairs; ++pair, target += 2 * block) {
      const uint16_t *row[2];
      for (int64_t i = 0; i < 2; ++i) {
        const int64_t index = 2 * pair + i, from = rhs.first + index * rhs.lead + column;
        row[i] = rounded[i];
        if (index >= rhs.rows)
          std::fill_n(rounded[i], count, uint16_t(0));
        else if (rhs.type == DataType::BF16)
          row[i] = static_cast<const uint16_t *>(rhs.data) + from;
        else if (isF8(rhs.type))
          widenF8ToBF16(rhs.type, rhs.data, from, rounded[i], count);
        else
          narrow(DataType::BF16, static_cast<const float *>(rhs.data) + from, rounded[i],
                 0, count);
      }
      for (int64_t i = 0; i < count; ++i) {
        target[2 * i] = row[0][i];
        target[2 * i + 1] = row[1][i];
      }
      std::fill_n(target + 2 * count, 2 * (block - count), uint16_t(0));
    }
  }
}

void mpt::rt::transpose(const StoredRows &matrix, float *target, float *buffer) {
  for (int64_t index = 0; index < matrix.rows; index += block) {
    const int64_t count = std::min(block, matrix.rows - index);
    const float *row[block];
    for (int64_t i = 0; i < count; ++i)
      row[i] = getRow(matrix, index + i, buffer, i);
    float *to = target + index;
    for (int64_t i = 0; i < matrix.length; ++i, to += matrix.rows)
      for (int64_t j = 0; j < count; ++j)
        to[j] = row[j][i];
  }
}
