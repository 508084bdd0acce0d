//===- DeviceCalls.h - Library calls as functions of a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a GPU's libraries do not do: gather and its gradient, pooling, copies,
/// reductions, random numbers. Each becomes one or two device functions, which
/// equal calls share. The order of every sum follows from shapes.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_DEVICECALLS_H
#define MPT_LIB_CODEGEN_CUDA_DEVICECALLS_H

#include "mpt/Codegen/CUDA/DeviceKernels.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/Program/IR/Program.h"
#include "mpt/ProgramABI/ProgramFormat.h"

#include "llvm/ADT/StringSet.h"
#include <map>

namespace mpt::detail {

/// What carries out a call: launches in order, over the call's inputs, outputs and,
/// if there is any, scratch memory.
struct DeviceCall {
  /// A library does it.
  bool isForLibrary = false;
  /// None if there is nothing to do.
  llvm::SmallVector<DeviceLaunch> launches;
  int64_t scratchBytes = 0;
};

/// Emits calls into a gpu.module.
class DeviceCallEmitter {
public:
  explicit DeviceCallEmitter(mlir::OpBuilder device) : device(device) {}

  /// The functions of `call`. Fails, with a diagnostic, if it cannot be done.
  mlir::FailureOr<DeviceCall> emit(program::LibraryCallOpInterface call);
  /// All launches, once each.
  llvm::ArrayRef<DeviceLaunch> getLaunches() const { return launches; }

private:
  /// The function for a matmul that cuBLASLt cannot run, once for each kind.
  void emitPlainMatmul(const rt::Instruction &matmul, mlir::Location loc);

  mlir::OpBuilder device;
  std::map<std::string, DeviceCall> emitted;
  llvm::StringSet<> plainMatmuls;
  llvm::SmallVector<DeviceLaunch> launches;
};

/// The kernel that does a copy or fill: an elementwise one over flat buffers, at `b`.
/// Null if `call` is neither, or has nothing to do.
kernel::FuncOp createMoveKernel(mlir::OpBuilder &b, mlir::Location loc,
                                llvm::StringRef name, const rt::Instruction &call,
                                llvm::ArrayRef<mlir::Type> elements);
/// What two calls have in common that the same functions carry out.
std::string keyOf(const rt::Instruction &call);

/// What the emitters of single calls work on.
struct CallSite {
  mlir::OpBuilder &device;
  mlir::Location loc;
  /// With the buffers' types and shapes; their places are of no meaning.
  const rt::Instruction &call;
  llvm::ArrayRef<mlir::Type> elements;
  /// Of the first function; further ones append to it.
  std::string name;

  const rt::BufferRef &ref(unsigned i) const { return call.refs[i]; }
  /// Whether a buffer is so large that indices need 64 bits.
  bool isWide() const;
};

/// Most lanes of `element`, up to 16 bytes of it, of which `counts` are multiples.
int64_t lanesFor(mlir::Type element, llvm::ArrayRef<int64_t> counts);
/// A launch of one thread for each of `total` pieces of work.
DeviceLaunch launchFor(const CallSite &site, int64_t total, int64_t threads = 256);

// One overload per call that a GPU's libraries do not do.
DeviceCall emitCall(const rt::CopyCall &call, const CallSite &site);
DeviceCall emitCall(const rt::FillCall &call, const CallSite &site);
DeviceCall emitCall(const rt::GatherCall &call, const CallSite &site);
DeviceCall emitCall(const rt::ScatterAddCall &call, const CallSite &site);
DeviceCall emitCall(const rt::CheckIndicesCall &call, const CallSite &site);
DeviceCall emitCall(const rt::RandomMaskCall &call, const CallSite &site);
DeviceCall emitCall(const rt::RandomBitsCall &call, const CallSite &site);
DeviceCall emitCall(const rt::MaxPoolCall &call, const CallSite &site);
DeviceCall emitCall(const rt::MaxPoolGradCall &call, const CallSite &site);
DeviceCall emitCall(const rt::AvgPoolCall &call, const CallSite &site);
DeviceCall emitCall(const rt::AvgPoolGradCall &call, const CallSite &site);
DeviceCall emitCall(const rt::ReduceCall &call, const CallSite &site);
DeviceCall emitCall(const rt::ArgmaxCall &call, const CallSite &site);
DeviceCall emitCall(const rt::GemmQuantizeCall &call, const CallSite &site);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_DEVICECALLS_H
