//===- EmulatedPtx.h - The inline PTX that the emulator knows --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_EMULATEDPTX_H
#define MPT_LIB_CODEGEN_CUDA_EMULATEDPTX_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mpt::detail {

/// What a piece of inline PTX, as WarpgroupInstructions.h writes it, does.
struct EmulatedPtx {
  enum Kind {
    /// What the emulator does without.
    Nothing,
    InitBarrier,
    FenceBarriers,
    Arrive,
    ArriveWithBytes,
    WaitBarrier,
    StartTile,
    Multiply,
    FenceRegisters,
    EndMultiplies,
    WaitForMultiplies,
    Take,
  };
  Kind kind = Nothing;
  /// Groups of matmuls that may go on, or a matmul's columns.
  unsigned number = 0;
  bool isBF16 = false, isAInRegisters = false, transposesA = false, transposesB = false,
       adds = false;
};

/// Nullopt for any other text.
std::optional<EmulatedPtx> parseEmulatedPtx(llvm::StringRef text);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_EMULATEDPTX_H
