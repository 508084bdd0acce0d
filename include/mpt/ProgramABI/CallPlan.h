//===- CallPlan.h - How a library call is cut and what it needs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The cuts of a library call into tasks and the workspace it uses: functions
/// of shapes, types and the most threads alone. The planner reserves what they
/// say, the runtime runs by them; so the bits do not depend on how many threads
/// there are, and no call allocates tensor memory.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_CALLPLAN_H
#define MPT_PROGRAMABI_CALLPLAN_H

#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt::rt {

/// A matmul of `batch` matrices, M x K by K x N.
struct MatmulShape {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  /// rhs is one matrix for the whole batch.
  bool sharedRhs = false;
  bool transposeLhs = false, transposeRhs = false;
  /// As they are multiplied.
  DataType lhs = DataType::F32, rhs = DataType::F32, out = DataType::F32;
  /// Of a left side of f32 that is rounded to `lhs` while it is read, and of a right one.
  Rounding lhsRounding = Rounding::None, rounding = Rounding::None;
};

inline bool isF8(DataType type) {
  return type == DataType::F8E4M3FN || type == DataType::F8E5M2;
}

/// The type in which an operand stored as `type` is multiplied.
inline DataType getRounded(DataType type, Rounding rounding) {
  return rounding == Rounding::None  ? type
         : rounding == Rounding::F16 ? DataType::F16
                                     : DataType::BF16;
}

/// How a matmul is run. Either rows are cut in chunks of `rowChunk`, or, for a
/// long sum into a small result (weight gradients), the sum in chunks of
/// `sumChunk` whose partial results are added in order.
struct MatmulPlan {
  int64_t rowChunk = 0;
  int64_t sumChunk = 0;
  /// Where not 0, columns are cut, too: a task brings this many columns of the right side
  /// into its thread's panel and multiplies `rowGroup` rows by it, chunk by chunk.
  int64_t columnChunk = 0, columnChunks = 1, rowGroup = 0, rowGroups = 1;
  /// Terms of each sum that such a task adds at a time, so that panels are wide though
  /// sums are long, or take little memory. A result of f32 holds what is added so far;
  /// for others the panels do (`keepsSums`), of one chunk of rows. All by default. Of a
  /// chunk of a sum there is room for so many terms in the panels, and the partial result
  /// holds what is added so far.
  int64_t depth = 0;
  bool keepsSums = false;
  /// Bytes of the columns in a thread's panels.
  int64_t columnBytes = 0;
  /// Row chunks (per matrix of the batch) or sum chunks.
  int64_t chunks = 1;
  /// What there is room for where the left side is not transposed, and some CPUs take:
  /// a right side in blocks of 8 x 8, if that is at most a quarter of the other tensors,
  /// or a left side that is transposed, panel by panel.
  bool blocksRhs = false, turnsLhs = false;
  /// A side of which a chunk is some columns of the stored matrix: its rows lie apart,
  /// and for whose panel there is room: some CPUs want one even where nothing is widened.
  bool gathersLhs = false, gathersRhs = false;
  /// Whether a task, about square, has copies of its rows and of its columns.
  bool packsBoth = false;
  /// Bytes of a right side copied as f32, 0 if it is read in place. There are
  /// `rhsCopies`, or, where that is 0, one for each thread.
  int64_t rhsBytes = 0, rhsCopies = 1;
  /// Bytes of one thread's panels, and of a partial result. Of these there are
  /// partialResults(threads): the sum of the first ones, to which others are added in
  /// order, as many at a time as there are threads.
  int64_t threadBytes = 0, partialBytes = 0;
  /// Panels of a thread that are no larger lie on its stack, not in the workspace: beside
  /// the tensors of a small network they would be large, and what halves save is less.
  static constexpr int64_t stackBytes = 32768;

  /// Whether a thread's panels lie on its stack.
  bool usesStack() const { return threadBytes <= stackBytes; }
  /// Where the panels begin.
  int64_t allRhsBytes(int64_t maxThreads) const {
    return rhsBytes * (rhsCopies ? rhsCopies : maxThreads);
  }
  int64_t partialResults(int64_t threads) const {
    return threads < chunks ? threads + 1 : chunks;
  }
  int64_t workspaceBytes(int64_t maxThreads) const {
    return allRhsBytes(maxThreads) + (usesStack() ? 0 : threadBytes * maxThreads) +
           partialBytes * partialResults(maxThreads);
  }
};
MatmulPlan planMatmul(const MatmulShape &shape);

/// Whether the buffers and attributes of a call (with or without its workspace)
/// fit together, so that running it stays inside them; if not, `error` says why.
bool checkCall(const Instruction &call, std::string &error);

/// Whether a matmul has buffers that only GPUs support, in addition to operands, bias and
/// result.
inline bool usesMoreBuffers(const MatmulCall &call) {
  return call.hasAux || call.hasAddend || call.hasSaved || call.hasBiasGrad ||
         call.hasLhsScales || call.hasRhsScales;
}
/// Whether only a GPU can do a matmul as it is asked for.
inline bool isForGpu(const MatmulCall &call) {
  return usesMoreBuffers(call) || call.accumulate || call.f32Matmuls != F32Matmuls::Exact;
}

/// A convolution or one of its gradients; which buffers of the instruction are the image,
/// the filter and the result of the forward direction.
struct ConvCall {
  CallId kind = CallId::Conv2D;
  std::array<int64_t, 2> strides, dilations;
  std::array<int64_t, 4> padding;
  int64_t groups = 1;
  Epilogue epilogue = Epilogue::None;
  bool hasBias = false, isForCudnn = false, allowTF32 = false;
  /// Of an image of f32, while it is read, and of a filter.
  Rounding xRounding = Rounding::None, rounding = Rounding::None;
  /// Whether the filter is [O, C / groups, KH, KW].
  bool isOIHW = false;
  uint32_t x = 0, filter = 1, y = 2;

  /// The sizes [KH, KW, C / groups, O] of a filter with four dimensions `dims`.
  std::array<int64_t, 4> getFilterSizes(const std::vector<int64_t> &dims) const {
    if (isOIHW)
      return {dims[2], dims[3], dims[1], dims[0]};
    return {dims[0], dims[1], dims[2], dims[3]};
  }
};
/// Nullopt for any other instruction.
std::optional<ConvCall> getConv(const Instruction &instruction);

/// The shape of a matmul; false if `instruction` is none or its buffers do not fit
/// together.
bool getMatmulShape(const Instruction &instruction, MatmulShape &shape);

/// How a convolution or one of its gradients is run: tasks are chunks of images and,
/// where filters are large, slices of the channels of the result (of a filter gradient:
/// of output channels).
struct ConvPlan {
  /// Images of a chunk, and how many chunks there are.
  int64_t chunk = 1, chunks = 1;
  int64_t slices = 1;
  /// Whether there is room for operand and result in blocks of 16 channels, with which
  /// some CPUs add the terms of 16 channels apart.
  bool hasBlocks = false;
  /// Rows of a band of an image of f32 with long rows, and bands of an image; 0 if there
  /// is no room for one in blocks of 8 channels, with which some CPUs multiply faster.
  int64_t bandRows = 0, bands = 0;
  /// Partial filter gradients that are there at a time: one a thread, and the sum of
  /// those before, to which they are added in order.
  int64_t sums = 0;
  /// Bytes of operands and results as a whole in another type or in slices.
  int64_t xBytes = 0, filterBytes = 0, yBytes = 0;
  /// Most bytes of a slice of a filter in a layout of oneDNN's choice.
  int64_t packedBytes = 0;
  /// Bytes of a thread's images in another type, and those of the first such tensor.
  int64_t threadBytes = 0, threadInBytes = 0;
  /// Rows that a band of the result (of a filter gradient: of dy) reads.
  int64_t bandReads = 0;
  /// A filter gradient of small images, or with dilations of which at least half of all
  /// products are with padding, is a matmul for each tap of the filter, in blocks
  /// of so many input and output channels; else 0. Bytes of a thread's points of dy.
  int64_t inBlock = 0, outBlock = 0, threadOutBytes = 0;
  /// A convolution of few points, or its input gradient, is a matmul for each point of
  /// the result, if many of its products are with padding, of at most so many taps side
  /// by side at a time; else 0. `threadInBytes` are those of the points that it reads,
  /// the thread's others are sums.
  int64_t pointTaps = 0;
  /// The filter gradient of a depthwise convolution adds in blocks of 16 channels.
  bool isDepthwiseGrad = false;
  /// A convolution, or an input gradient, of images that at most half of the filter's
  /// taps read takes these taps alone: the first, and how many there are, by axis. Bytes
  /// of a copy of them; 0 if all taps are taken.
  std::array<int64_t, 2> firstTap{}, taps{};
  int64_t tapBytes = 0;
  /// The input gradient of a convolution without strides that is depthwise, or has a
  /// large dilation, is the convolution of dy with the taps, copied in reverse order.
  bool isTurned = false;
  /// The filter gradient of long rows is made tap by tap, each as that of a filter of one
  /// point, a chunk being an image.
  bool isByTap = false;

  /// A thread's images that are no larger lie on its stack, not in the workspace: they
  /// would be more than what halves of a small network save.
  static constexpr int64_t stackBytes = MatmulPlan::stackBytes;
  bool usesStack() const { return threadBytes <= stackBytes; }
  /// A thread's area among `areas` in the workspace, or its `stack`.
  char *getArea(char *areas, char *stack, int64_t thread) const {
    return usesStack() ? stack : areas + threadBytes * thread;
  }

  int64_t workspaceBytes(int64_t maxThreads) const {
    return xBytes + filterBytes + yBytes + packedBytes * slices * (sums > 0 ? sums : 1) +
           tapBytes + (usesStack() ? 0 : threadBytes * maxThreads);
  }
};
/// Needs nothing if a dimension is 0 or the buffers do not fit together.
ConvPlan planConv(const Instruction &instruction, int64_t maxThreads);

/// How a pooling or its gradient is run: bands of rows of the result's images.
struct PoolPlan {
  /// Rows of a band, and bands of a task.
  int64_t rows = 1, bands = 1;
  /// Whether an element may be in several windows.
  bool overlaps = false;
  /// Whether dx may lie where x does: no two bands read one window.
  bool isInPlace = false;
  /// Bytes in which a thread adds the gradients of one band, if dx is narrower.
  int64_t threadBytes = 0;
};
PoolPlan planPool(const Instruction &instruction);

/// Whether output `output` of the call `instruction` may be written where input `input`
/// lies if nothing reads that after the call: by CPUs, and of a scatter_add and of a
/// matmul's addend by GPUs. Both are numbers among outputs and among inputs.
bool mayOverwrite(const Instruction &instruction, uint32_t output, uint32_t input);

/// Whether `call` rounds an operand of f32 while it reads it.
bool roundsOperands(LibraryCall call);
/// Lets `call` round operand number `operand`; false if it cannot. A matmul rounds either
/// side, a convolution its image and its filter, their gradients what they read of these.
bool setRounding(LibraryCall &call, uint32_t operand, Rounding rounding);

/// Attention or its gradient: its sizes, and how it is run. A task of the forward pass is
/// a block of queries of a head; one of the gradient is a head of keys, or, where there
/// are few of them, a part of the blocks of queries that read it.
struct AttentionPlan {
  /// Queries of a block, and keys that they meet at a time.
  static constexpr int64_t queryBlock = 64, keyBlock = 64;

  bool isGrad = false, causal = false, hasMask = false, hasBias = false;
  bool hasDropout = false, hasBiasGrad = false;
  double scale = 1, dropout = 0;
  int64_t stream = 0;
  /// Sizes; `groups` are the heads of the keys, `width` is that of queries and keys.
  int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0, width = 0,
          valueWidth = 0;
  /// Tasks of a head of keys in the gradient.
  int64_t parts = 1;
  /// Whether the gradients of keys and values are added in f32 in the workspace, and not
  /// where they belong.
  bool copiesSums = false;
  /// Floats of those gradients of one head of keys, and bytes of a thread's blocks.
  int64_t sumFloats = 0, threadBytes = 0;

  int64_t queryBlocks() const { return (queries + queryBlock - 1) / queryBlock; }
  /// Queries and keys that a thread's blocks have room for: no more than there are, in
  /// whole vectors; and those of blocks that hold either.
  int64_t queryRoom() const { return getRoom(queries, queryBlock); }
  int64_t keyRoom() const { return getRoom(keys, keyBlock); }
  int64_t rowRoom() const { return queryRoom() > keyRoom() ? queryRoom() : keyRoom(); }
  /// Places for sums: one a part, or, where that is enough, one a thread.
  int64_t sumPlaces(int64_t maxThreads) const {
    return !copiesSums ? 0 : parts > 1 ? batch * groups * parts : maxThreads;
  }
  int64_t workspaceBytes(int64_t maxThreads) const {
    return maxThreads * threadBytes + sumPlaces(maxThreads) * sumFloats * 4;
  }

private:
  static int64_t getRoom(int64_t rows, int64_t most) {
    return rows >= most ? most : (rows + 15) / 16 * 16;
  }
};
/// False if `instruction` is no attention or its buffers do not fit together.
bool planAttention(const Instruction &instruction, AttentionPlan &plan);

/// Most processes that run one program.
inline constexpr int64_t kMaxRanks = 1 << 16;

/// In how many processes a program with this call runs; 0 if the call is for one alone.
int64_t getRanks(const LibraryCall &call);

/// Whether `call` is an exchange between ranks that only begins, and makes it one; what
/// is no exchange stays as it is.
bool isAsync(const LibraryCall &call);
void setAsync(LibraryCall &call);

/// A reduction over ranks, and how it is run. Elements are exchanged in segments, of
/// which each rank reduces a part: its own values and what the others sent. The workspace
/// holds a segment's values as they are sent, one part a rank, then those that were
/// received, then, unless each rank keeps its part, the reduced ones.
struct ReductionPlan {
  bool isScatter = false;
  ReduceKind kind = ReduceKind::Sum;
  int64_t ranks = 1;
  /// Of the values, as they travel there, as they travel back, and of the result.
  DataType type = DataType::F32, wire = DataType::F32, back = DataType::F32,
           result = DataType::F32;
  /// Elements of all tensors, or of the result of a reduce_scatter.
  int64_t elements = 0;
  /// Elements of the largest part.
  int64_t part = 0;

  /// Bytes of what is sent or received of one segment, and of what is reduced.
  int64_t wireBytes() const { return alignToLine(ranks * part * getSize(wire)); }
  int64_t resultBytes() const {
    return isScatter ? 0 : alignToLine(ranks * part * getSize(back));
  }
  int64_t workspaceBytes() const { return 2 * wireBytes() + resultBytes(); }
  /// Elements of one rank's part of a segment with `count` elements left.
  int64_t getPart(int64_t count) const {
    const int64_t mine = isScatter ? count : (count + ranks - 1) / ranks;
    return mine < part ? mine : part;
  }

private:
  static int64_t alignToLine(int64_t bytes) { return (bytes + 63) / 64 * 64; }
};
/// False if `instruction` is no such call or has other buffers than it says.
bool planReduction(const Instruction &instruction, ReductionPlan &plan);

/// Bytes that `instruction` (a call without its scratch) may use at most.
int64_t getCallWorkspace(const Instruction &instruction, int64_t maxThreads);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_CALLPLAN_H
