//===- InitialValues.h - Seeded first values of state -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the kinds of `mpt.init` compute. An element depends on the seed, the tensor's key
/// and the element's row-major position only: not on the order of arguments, other
/// tensors, threads or the CPU (random bits from Philox, no libm).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_INITIALVALUES_H
#define MPT_PROGRAMABI_INITIALVALUES_H

#include "mpt/ProgramABI/ProgramFormat.h"
#include "mpt/Support/StepABI.h"

namespace mpt::rt {

/// Computes elements [first, first + count) of a tensor in double. `key` is the XXH3 hash
/// of the tensor's name (64 bits, seed 0). `spec` must meet its requirement.
void drawInitialValues(const InitSpec &spec, uint64_t key, uint64_t seed, int64_t first,
                       int64_t count, double *values);

/// Stores `count` numbers as elements of `type` in `data`, each rounded once: floats to
/// nearest even, with subnormals; integers to nearest even too, saturating, and 0 for
/// NaN; i1 is 1 for what is not 0.
void encodeElements(DataType type, const double *values, int64_t count, void *data);

/// Splits f32 numbers into bf16 and the 16 bits that are left: as a signed number, which
/// added to the other bits gives the f32 number.
void splitHalves(const float *wide, int64_t count, uint16_t *high, uint16_t *low);

/// The standard normal quantile, for 0 < p < 1. Relative error about 1e-15
/// (Wichura 1988, algorithm AS 241, PPND16).
double normalQuantile(double p);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_INITIALVALUES_H
