//===- DeviceLauncher.h - Launches of functions in a program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_DEVICELAUNCHER_H
#define MPT_LIB_CODEGEN_CUDA_DEVICELAUNCHER_H

#include "GPUFunctionBuilder.h"
#include "mpt/Codegen/CUDA/DeviceKernels.h"
#include "mpt/Dialect/Program/IR/Program.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mpt::detail {

/// The op of `launch` of a function in kDeviceModule. `workspace` may be null.
program::DeviceLaunchOp createDeviceLaunch(mlir::OpBuilder &builder, mlir::Location loc,
                                           const DeviceLaunch &launch,
                                           mlir::ValueRange inputs,
                                           mlir::ValueRange outputs,
                                           mlir::Value workspace = {});

/// Puts launches of device functions into a module's program; the functions go into
/// `gpu.module @mpt_kernels`.
class DeviceLauncher {
public:
  using Emit = llvm::function_ref<void(GPUFunctionBuilder &)>;

  explicit DeviceLauncher(mlir::ModuleOp module)
      : module(module), builder(module.getContext()) {}

  /// Launches a function over `blocks` of `threads` on `inputs` and then `outputs`. It
  /// is emitted once for each `name` and `key`. `isWide`: indices need 64 bits, as
  /// they do where a buffer has 2^31 elements.
  void launch(mlir::Location loc, llvm::StringRef name, const std::string &key,
              int64_t blocks, int64_t threads, bool isWide, mlir::ValueRange inputs,
              mlir::ValueRange outputs, Emit emit);

  /// Emits a function for sm_90a alone that runs instead of the one that `launch` makes
  /// of `name` and `key`, which must have been called. `numbers` say how
  /// (mpt_cuda_variant, from `blocks` on). Its first parameters are `maps` tensor maps.
  void addVariant(mlir::Location loc, llvm::StringRef name, const std::string &key,
                  int64_t threads, int64_t parameters, int64_t maps,
                  llvm::ArrayRef<int64_t> numbers, Emit emit);

  mlir::ModuleOp module;
  /// Where launches go.
  mlir::OpBuilder builder;

private:
  mlir::gpu::GPUModuleOp getDevice();

  llvm::StringMap<DeviceLaunch> launches;
};

/// Memory after a program's arena, for what a call of cuDNN needs besides its workspace:
/// the same for all calls, one at a time.
class CudnnScratch {
public:
  explicit CudnnScratch(program::ProgramOp program)
      : program(program), first(llvm::alignTo(program.getArenaBytes(), 256)) {}
  /// A buffer from byte `at` of it on, and the first byte after that, at a multiple of
  /// 256.
  std::pair<mlir::Value, int64_t> get(mlir::OpBuilder &builder, mlir::Location loc,
                                      mlir::MemRefType type, int64_t at = 0);
  /// Makes room for it.
  void finish();

private:
  program::ProgramOp program;
  int64_t first, bytes = 0;
};

/// Replaces an attention, or its gradient, by launches; with `scratch` by a call of
/// cuDNN, if it has one of this kind, and launches that run where cuDNN does not. With
/// `hasWarpgroups` the program also gets what may run instead on sm_90
/// (WarpgroupAttentionEmitter.h).
mlir::LogicalResult expandAttention(program::AttentionOp op, DeviceLauncher &launcher,
                                    CudnnScratch *scratch, bool hasWarpgroups);
mlir::LogicalResult expandAttention(program::AttentionGradOp op, DeviceLauncher &launcher,
                                    CudnnScratch *scratch, bool hasWarpgroups);
/// Alternatives in the place of `call`, with empty regions.
program::AlternativesOp createAlternatives(mlir::OpBuilder &builder,
                                           mlir::Operation *call);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_DEVICELAUNCHER_H
