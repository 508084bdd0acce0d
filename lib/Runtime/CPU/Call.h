//===- Call.h - A library call that is ready to run -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_CALL_H
#define MPT_LIB_RUNTIME_CPU_CALL_H

#include "../Common/BadIndex.h"
#include "VectorSet.h"
#include "mpt/ProgramABI/ProgramFormat.h"

#include <memory>
#include <optional>
#include <string>

struct mpt_rt_communicator;

namespace mpt::rt {

class ThreadTeam;

/// A call prepared when its program is opened. Running it allocates no tensor
/// memory.
class Call {
public:
  virtual ~Call() = default;
  /// `buffers` as in the instruction; the team has at most the threads that the call was
  /// made for. On failure returns false and sets
  /// `error`.
  virtual bool run(void **buffers, ThreadTeam &team, std::string &error) = 0;

  /// The ranks that a call of several processes exchanges data with; null: none.
  virtual void setCommunicator(mpt_rt_communicator *) {}
  /// Of a call that only begins (`async`): waits for its end. On failure returns false
  /// and sets `error`.
  virtual bool finish(std::string &) { return true; }
  /// Of a call that waits: the one that began.
  virtual void setBegun(Call *) {}

  /// Of the last run, if that is why it failed.
  std::optional<BadIndex> badIndex;
};

/// Whether oneDNN multiplies bf16 faster than f32 on this machine.
bool hasFastBF16();

/// Prepares `instruction`; null with `error` set if checkCall fails, its
/// workspace is too small or this build cannot run it. With `fastBF16` bf16 is
/// multiplied as it is wherever oneDNN can, else widened.
std::unique_ptr<Call> makeCall(const Instruction &instruction, int64_t maxThreads,
                               std::string &error, bool fastBF16 = hasFastBF16());

/// These take instructions that have been checked.
std::unique_ptr<Call> makeMatmul(const Instruction &instruction, int64_t maxThreads,
                                 bool fastBF16, std::string &error);
/// ... of a matmul of f64.
std::unique_ptr<Call> makeDoubleMatmul(const Instruction &instruction);
/// ... of a matmul of any size, by oneDNN; only in builds with it.
std::unique_ptr<Call> makeLibraryMatmul(const Instruction &instruction,
                                        int64_t maxThreads, bool fastBF16,
                                        std::string &error);
/// Of a matmul that a library would need longer to start, or to bring into its layouts,
/// than to multiply; null if `instruction` is not that small, or this CPU has no code for
/// it.
std::unique_ptr<Call> makeSmallMatmul(const Instruction &instruction, bool fastBF16);
/// Of matmuls of a batch that are multiplied sixteen at a time; null if there are few of
/// them or they are not tiny, or this CPU has no code for it.
std::unique_ptr<Call> makeBatchMatmul(const Instruction &instruction);
std::unique_ptr<Call> makeConv(const Instruction &instruction, int64_t maxThreads,
                               bool fastBF16, std::string &error);
/// Of a filter gradient that planConv makes a matmul of.
std::unique_ptr<Call> makeConvMatmul(const Instruction &instruction, int64_t maxThreads,
                                     bool fastBF16, std::string &error);
std::unique_ptr<Call> makeFilterGradMatmul(const Instruction &instruction,
                                           int64_t maxThreads, bool fastBF16,
                                           std::string &error);
/// Of the filter gradient of a depthwise convolution.
std::unique_ptr<Call> makeDepthwiseFilterGrad(const Instruction &instruction,
                                              int64_t maxThreads,
                                              VectorSet set = getVectorSet());
/// Calls of several processes.
std::unique_ptr<Call> makeCollective(const AllReduceCall &call,
                                     const Instruction &instruction);
std::unique_ptr<Call> makeCollective(const ReduceScatterCall &call,
                                     const Instruction &instruction);
std::unique_ptr<Call> makeCollective(const AllGatherCall &call,
                                     const Instruction &instruction);
std::unique_ptr<Call> makeCollective(const AllToAllCall &call,
                                     const Instruction &instruction);
std::unique_ptr<Call> makeCollective(const BroadcastCall &call,
                                     const Instruction &instruction);
std::unique_ptr<Call> makeCollective(const RankCall &call,
                                     const Instruction &instruction);
std::unique_ptr<Call> makeCollective(const WaitCall &call,
                                     const Instruction &instruction);

/// Poolings and their gradients, with the same bits in each set: (x) -> y, (dy, x) -> dx,
/// (x) -> y, (dy) -> dx.
void runPool(const MaxPoolCall &pool, const Instruction &instruction, void **buffers,
             ThreadTeam &team, VectorSet set = getVectorSet());
void runPool(const MaxPoolGradCall &pool, const Instruction &instruction, void **buffers,
             ThreadTeam &team, VectorSet set = getVectorSet());
void runPool(const AvgPoolCall &pool, const Instruction &instruction, void **buffers,
             ThreadTeam &team, VectorSet set = getVectorSet());
void runPool(const AvgPoolGradCall &pool, const Instruction &instruction, void **buffers,
             ThreadTeam &team, VectorSet set = getVectorSet());

/// Whether code for AVX-512 multiplies bf16 faster than f32: where oneDNN does, with
/// instructions for it, on AMD's CPUs.
bool prefersPairMatmul();

/// Attention and its gradient. With `pairs` code for AVX-512 multiplies bf16 as it is,
/// else it is widened.
void runAttention(const Instruction &instruction, void **buffers, ThreadTeam &team,
                  VectorSet set = getVectorSet(), bool pairs = prefersPairMatmul());

/// bias and epilogue on a row of sums.
void finishRow(float *row, const float *bias, int64_t count, Epilogue epilogue);

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_CALL_H
