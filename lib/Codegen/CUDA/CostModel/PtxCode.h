//===- PtxCode.h - PTX as data ----------------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernels of a PTX file (PTX ISA 8), with their registers numbered and their
/// branches resolved: what DeviceTrace.cpp executes.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_COSTMODEL_PTXCODE_H
#define MPT_LIB_CODEGEN_CUDA_COSTMODEL_PTXCODE_H

#include "mpt/Codegen/CUDA/DeviceTrace.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

namespace mpt::detail {

/// What an instruction does to integers and to control. Float is all arithmetic of
/// floats, whose values are not computed.
enum class PtxOp {
  Float,
  Move,
  Pack,
  Unpack,
  Add,
  Sub,
  Mul,
  MulHigh,
  Mad,
  Div,
  Rem,
  Min,
  Max,
  Neg,
  Abs,
  And,
  Or,
  Xor,
  Not,
  ShiftLeft,
  ShiftRight,
  Extract,
  CountBits,
  LeadingZeros,
  Compare,
  Select,
  Convert,
  LoadParameter,
  Load,
  Store,
  /// Of a tile by a tensor map.
  TileCopy,
  /// Of 16 bytes without registers: a read from global or a write to shared memory.
  Copy,
  Atomic,
  Matrices,
  Multiply,
  Shuffle,
  Ballot,
  Barrier,
  Branch,
  Return,
  Nothing
};

enum class PtxSpace { Generic, Global, Shared, Constant, Local };

struct PtxInstruction {
  PtxOp op = PtxOp::Nothing;
  /// Bytes of an element of the result (of what is compared or stored), and of what a
  /// conversion or wide multiplication reads.
  uint8_t size = 4, from = 4;
  bool isSigned = false, fromSigned = false;
  /// Of Multiply: whether a warpgroup does it (wgmma), a quarter each warp.
  bool isWarpgroup = false;
  /// Compare: eq, ne, lt, le, gt, ge.
  uint8_t comparison = 0;
  PtxSpace space = PtxSpace::Generic;
  /// Registers that are written and read. An address is sources[0] and `offset`.
  llvm::SmallVector<int, 4> results, sources;
  int64_t offset = 0;
  /// The register that it depends on, or -1.
  int predicate = -1;
  bool isNegated = false;
  /// Of a branch: an instruction.
  unsigned target = 0;
  LaunchTrace::Unit unit = LaunchTrace::Integer;
  /// Machine instructions that it becomes, those of its unit, and operations of a thread.
  double issue = 1, onUnit = 1, flops = 0;
};

/// Straight-line code: instructions [begin, end).
struct PtxBlock {
  unsigned begin = 0, end = 0;
  llvm::SmallVector<unsigned, 2> successors;
  /// The block where all ways from here meet again, or the number of blocks: none.
  unsigned join = 0;
  /// Loads from global memory, and how many of them wait for each other.
  unsigned loads = 0, chain = 0;
  bool isLoop = false;
};

struct PtxKernel {
  std::string name;
  std::vector<PtxInstruction> instructions;
  std::vector<PtxBlock> blocks;
  /// By instruction.
  std::vector<unsigned> blockOf;
  unsigned numRegisters = 0;
  /// Registers that hold one number, and those of the thread's place in the grid.
  std::vector<std::pair<int, uint64_t>> constants;
  std::vector<std::pair<int, std::string>> specials;
  uint64_t sharedBytes = 0;
  unsigned loads = 0;
  bool hasBallot = false;
  /// Some warps bring what others multiply.
  bool hasRoles = false;
};

/// Where shared memory and tables lie in the addresses that kernels compute with.
constexpr uint64_t kSharedBase = uint64_t(1) << 60, kConstantBase = uint64_t(2) << 60,
                   kLocalBase = uint64_t(3) << 60;

struct PtxModule {
  llvm::StringMap<PtxKernel> kernels;
  /// Tables, one after the other from kConstantBase.
  std::string constants;
  std::vector<std::string> unknown;
};

llvm::Expected<PtxModule> parsePtx(llvm::StringRef text);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_COSTMODEL_PTXCODE_H
