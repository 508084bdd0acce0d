//===- ScatteredExtremes.h - The largest of what is scattered ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scatters that keep the largest or the smallest number that they bring to a place, for
/// importers. The mpt dialect has only those that add.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_COMMON_SCATTEREDEXTREMES_H
#define MPT_IMPORT_COMMON_SCATTEREDEXTREMES_H

#include "mpt/Import/Common/ImportBuilder.h"

namespace mpt::importer {

/// The largest (or smallest) of x and of what `source` brings to the flat `position`s of
/// x, i64 and in range, in time that does not grow with the places: the bits of the keys
/// are found by fours, from the highest down. Each place has a count for each of sixteen
/// digits, of those of its numbers that have the largest digits so far. NaN is above and
/// below all. Gradients go to all equal ones in equal parts. `source` has as many
/// elements as `position`; its floats, and those of x, have at most 32 bits. Without
/// `includeSelf`, x is what a place has to which nothing is brought.
mlir::Value findScattered(ImportBuilder &l, bool largest, mlir::Value x,
                          mlir::Value position, mlir::Value source, bool includeSelf);

/// The same where whole rows are scattered: `source` is [E, ..], `rows` [E], i64 and in
/// range, names the row of x, [N, ..], of any float type. The rows of each place are
/// brought together by sorting `rows`, B to a block, and the N + E / B blocks that there
/// are at most are reduced each, then those of a place in log2 steps. So what is moved is
/// rows. B is 8 if a place has fewer than 16 rows on average, else 16.
mlir::Value findScatteredRows(ImportBuilder &l, bool largest, mlir::Value x,
                              mlir::Value rows, mlir::Value source, bool includeSelf);

} // namespace mpt::importer

#endif // MPT_IMPORT_COMMON_SCATTEREDEXTREMES_H
