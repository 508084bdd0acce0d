//===- InstructionCost.h - Work that an instruction does --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The arithmetic and the memory traffic of library calls and kernels, from their
/// shapes alone: what a profile divides by the time that was measured.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_INSTRUCTIONCOST_H
#define MPT_PROGRAMABI_INSTRUCTIONCOST_H

#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt::rt {

/// What one run of an instruction costs at least.
struct InstructionCost {
  /// Multiplications and additions of a matmul or convolution, two for each pair of
  /// elements that are multiplied. Taps in the padding do not count. 0 for all else.
  double flops = 0;
  /// The narrower type of the two operands that are multiplied.
  DataType type = DataType::F32;
  /// Bytes of all operands and results, each once: what a machine with large enough
  /// caches reads and writes. Of a table only the rows that are gathered count. Scratch
  /// memory does not count.
  double bytes = 0;
};
InstructionCost getCost(const Instruction &instruction);
/// Bytes of an instruction's buffer that it reads or writes. Of a tensor that cuDNN's
/// attention reads with strides, what lies between its rows does not count.
double getBytes(const Instruction &instruction, size_t buffer);
/// Of one instruction of a program. A kernel whose tasks leave partial sums is two, with
/// the same buffers: the second, which adds them, costs nothing by this count.
InstructionCost getCost(const Program &program, size_t index);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_INSTRUCTIONCOST_H
