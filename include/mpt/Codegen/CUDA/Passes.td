//===- Passes.td - Kernels and calls for NVIDIA GPUs -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_PASSES_TD
#define MPT_CODEGEN_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertCallsToGPUPass : Pass<"mpt-convert-calls-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn a program's convolutions and attention into matmuls and launches";
  let description = [{
    Convolutions and attention become `mpt_program.device_launch`es of functions in
    `gpu.module @mpt_kernels`, and matmuls that cuBLASLt does. A 1x1 convolution that moves
    by one is a matmul; others are done for some output positions at a time
    (mpt/ProgramABI/CudaCallPlan.h).

    What a library may refuse on the machine where the program runs becomes
    `mpt_program.alternatives`: a matmul with an epilogue, with `cudnn` a convolution that
    is more than a matmul, and with `cudnn-attention` or `cudnn-plain-attention` attention without dropout, which if
    it is causal has as many queries as keys (mpt/ProgramABI/CudnnPlan.h).

    To run before `mpt-convert-kernels-to-gpu`.
  }];
  let options = [
    Option<"f32Matmuls", "f32-matmuls", "std::string", [{"exact"}],
           "What matmuls of f32 are summed as: exact, tf32 (operands cut to 10 bits of "
           "mantissa) or bf16x9 (nine matmuls of bf16, f32's accuracy)">,
    Option<"cudnn", "cudnn", "bool", "false",
           "Convolutions by cuDNN where there is one">,
    Option<"cudnnWide", "cudnn-wide", "bool", "false",
           "With `cudnn`, also those of f16 or bf16 into f32 that have less than 32 GFLOP; "
           "cuDNN compiles each before the first step">,
    Option<"cudnnAttention", "cudnn-attention", "bool", "false",
           "Attention without dropout by cuDNN where there is one">,
    Option<"cudnnPlainAttention", "cudnn-plain-attention", "bool", "false",
           "The same of attention without mask and bias that has 16 million scores or more, "
           "if all chips are sm_90 or newer">,
    Option<"warpgroupAttention", "warpgroup-attention", "bool", "false",
           "For sm_90, attention and its gradients by wgmma and TMA beside the functions "
           "that all chips have; which run is decided when the program is loaded">,
  ];
  let dependentDialects = ["::mpt::program::ProgramDialect",
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def ConvertKernelsToGPUPass : Pass<"mpt-convert-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn each `mpt_kernel.func` into functions of a `gpu.module`";
  let description = [{
    All kernels go into `gpu.module @mpt_kernels` as `llvm.func`s with the
    attribute `nvvm.kernel`, whose parameters are the buffers. How many threads
    run which points follows from the kernel alone (mpt/Codegen/CUDA/
    DeviceKernels.h). Threads read and write up to 16 bytes of the narrowest
    buffer at once; a row's sums go through lanes, warps and blocks in a fixed
    order.

    In a program, calls that no library carries out become functions too, launches of
    kernels that differ only in size become one if their memory accesses do not conflict,
    and all launches become `mpt_program.device_launch`es.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string",
      "Architectures to compile for, as ptxas names them (sm_80, sm_90, ...)">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def SpreadKernelsPass : Pass<"mpt-spread-kernels", "::mlir::ModuleOp"> {
  let summary = "Cut column kernels into tasks for the blocks of a GPU";
  let description = [{
    Sets `chunk_rows` of `column` kernels so that there are about four tasks for
    each multiprocessor of an H200, or two rows for each group of a block's threads. Rows
    so few that a group has at most eight become one task, which needs no second launch.
    The number, and with it the order of every sum, follows from shapes.
  }];
}

def MathToInstructionsPass : Pass<"mpt-math-to-instructions", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Use a GPU's instructions for maxima, sums of products, exponentials and erf";
  let description = [{
    Maxima and minima of f32, and of pairs of f16 or bf16, become LLVM's intrinsics, which
    are one instruction each from sm_80 on and change no result. Pairs of bf16 are widened
    to f32 as the halves of a word.

    With `math=fast` a sum or difference of a product that nothing else reads becomes an
    FMA, which rounds once instead of twice, and exp of f32 becomes ex2.approx.ftz: its
    result differs by at most 2^-22 + |x| 2^-23 of itself, and is 0 below 2^-126. erf of
    f32 becomes two polynomials of half the instructions, which with an exact exp are off
    by at most 1.2 units in the last place.
  }];
  let options = [
    Option<"math", "math", "std::string", [{"fast"}], "exact or fast">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def MathToLibdevicePass : Pass<"mpt-math-to-libdevice", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Call CUDA's libdevice for math functions that LLVM has no code for";
  let description = [{
    Handles the functions that `mpt-approximate-math` leaves: pow, the functions of f64,
    and rarer ones, lane by lane, with upstream's patterns. Ops that NVPTX has
    instructions for stay (docs/Rationale/GPU.md).
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
    "::mlir::vector::VectorDialect"];
}

def SerializeKernelsPass : Pass<"mpt-serialize-kernels", "::mlir::ModuleOp"> {
  let summary = "Compile each `gpu.module` to PTX or machine code";
  let description = [{
    Replaces a `gpu.module` by a `gpu.binary` with an object for each of its
    targets: LLVM writes PTX (`format=isa`), the toolkit's ptxas machine code
    (`format=cubin`).
  }];
  let options = [
    Option<"format", "format", "std::string", [{"cubin"}], "isa, cubin or cubin+isa">,
    Option<"toolkit", "toolkit", "std::string", [{""}],
      "The CUDA toolkit's folder (default: that of the ptxas on the path, otherwise "
      "/usr/local/cuda)">,
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"];
}

def JoinMatmulsPass : Pass<"mpt-join-matmuls", "::mlir::ModuleOp"> {
  let summary = "Make matmuls that share their left operand one";
  let description = [{
    Layers that read one tensor (query, key and value; a gate and what it gates) become
    one matmul over their weights next to each other, and so do the gradients of these
    weights and that of the tensor, if a step has them:

    - y_i = x w_i + b_i become slices of x [w_1 .. w_n] + [b_1 .. b_n];
    - the sum of all dy_i w_i^T becomes [dy_1 .. dy_n] [w_1 .. w_n]^T, which adds up
      everything in f32 and rounds it once;
    - dw_i = x^T dy_i become slices of x^T [dy_1 .. dy_n], and so do the biases'.

    Only what takes less time by the rates of all of `chip` (mpt/Codegen/CUDA/
    MatmulGroups.h). Before and after, sums of zero-padded tensors that do not overlap
    become `mpt.concat`, and slices that are reshaped become slices of a reshape, which
    kernels and attention read in place (mpt/Codegen/CUDA/SlicesInPlace.h).

    Parameters, their gradients and their state stay separate. In functions with
    micro-batches (`mpt.accumulate`) or exchanges between ranks, what is joined follows from
    what all of these have in common: ranks keep the bits of a step that accumulates,
    whether they share parameters, cut them or gather them again. Sums over micro-batches
    are those of the joined gradients. Bodies of `mpt.scan`, and matmuls of 8-bit floats,
    stay as they are.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string", "Architectures (sm_80, sm_90, ...)">,
  ];
  let dependentDialects = ["::mpt::MPTDialect"];
}
def FuseGemmEpiloguesPass : Pass<"mpt-fuse-gemm-epilogues", "::mlir::ModuleOp"> {
  let summary = "Make gradients epilogues of cuBLASLt matmuls";
  let description = [{
    Turns a matmul into `mpt.gemm`, together with one of these:

    - its ReLU or tanh GELU, if the gradient of that can use what the matmul saves;
    - the gradient of a ReLU or tanh GELU that reads it, and the sum of that over rows
      (a bias's gradient) if it has the matmul's type;
    - the sum over rows of the gradient from which it computes a weight's gradient, if
      that gradient does not come from a kernel;
    - for a micro-batch's gradient of a weight, the sum over the micro-batches before.

    Does only what cuBLASLt supports on all of `chip`. GELU is fused only if all are sm_90
    or sm_100: elsewhere cuBLASLt runs a separate kernel for it after the matmul. Unless
    `always` is set, only those become epilogues that by the rates of all chips take no
    longer than launches of kernels (`chooseEpilogue`, mpt/Codegen/CUDA/CostModel.h). The
    result of a matmul is not rounded before its GELU or GELU's gradient: one rounding less.
    Bodies of `mpt.scan` stay as they are.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string", "Architectures (sm_80, sm_90, ...)">,
    Option<"always", "always", "bool", "false",
           "All that cuBLASLt has, whether they are faster or not">,
  ];
}

def LegalizeForGPUPass : Pass<"mpt-legalize-for-gpu", "::mlir::ModuleOp"> {
  let summary = "Prepare matmuls and attention of a step for GPUs";
  let description = [{
    Matmuls that cuBLASLt can only do with an f32 result on one of `chip` get that and a
    cast (mpt/Codegen/CUDA/WidenMatmuls.h). Attention that device functions support is
    marked, so that it is not decomposed; the remark mpt.cuda.attention-decomposed names
    the rest. Matmuls of 8-bit floats get operands whose last dimension is summed, unless
    all of `chip` are sm_100 or newer; scales of blocks that one of them does not have are
    an error. Casts to 8 bits by one scale, and transposes of 8-bit matrices, become
    `mpt.gemm_quantize` (mpt/Codegen/CUDA/TensorCasts.h). Batch norms of f16 and bf16 read
    their input once for mean and variance (mpt/Codegen/CUDA/BatchStatistics.h). Filters
    [O, C / groups, KH, KW] (`oihw`) are transposed, and so are their
    gradients. `mpt.scan` of few iterations is unrolled before.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string", "Architectures (sm_80, sm_90, ...)">,
    Option<"lowBiases", "low-biases", "bool", "false",
           "Round biases of f16 and bf16 matmuls to their type instead">,
    Option<"fusedAttention", "fused-attention", "bool", "true",
           "Mark attention; without it all attention is decomposed">,
    Option<"maxUnrolled", "max-unrolled", "int64_t", "16",
           "Most iterations of an mpt.scan that is unrolled; others stay loops">,
    Option<"bothOrientations", "both-orientations", "bool", "true",
           "Make an 8-bit tensor and its transpose at once; without it, and in a function "
           "with a 'mpt.memory_budget', the transpose is made where it is read, which "
           "takes less memory">,
  ];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def ReductionsToGathersPass
    : Pass<"mpt-reductions-to-gathers", "::mlir::ModuleOp"> {
  let summary = "Exchange what NCCL does not reduce in the order of the ranks, and reduce it here";
  let description = [{
    NCCL adds in an order of its own, in the type that travels, and does not pass on NaN in
    a maximum. So each rank gets a part of what is reduced from all (`mpt.all_to_all`), adds
    it in the order of the ranks, in f32, and the parts are joined (`mpt.all_gather`), if the
    op is an `mpt.all_reduce`. The bits are those of the op's definition. On n ranks
    2 (n - 1) / n of the bytes travel, (n - 1) / n for `mpt.reduce_scatter`, as with NCCL's
    own sum. Additions are made right before the next exchange or the first reader, so that
    the exchange may run beside other work. Tensors below 1 MiB, or of a number of elements
    that n does not divide, are one tensor on the way.

    Less than 4 KiB, integers, maxima and the like are sent to all ranks at once.

    Sums and means of f32 and f64 with `order` `library` that travel as they are stay sums
    that NCCL makes; a mean is divided after.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def ReportGemmsPass : Pass<"mpt-report-gemms", "::mlir::ModuleOp"> {
  let summary = "Report matmuls of a program that do not run on tensor cores";
  let description = [{
    Emits a remark for each f32 matmul that is summed exactly, and for each matmul with rows
    that are not multiples of 16 bytes; and for each matmul that cuBLASLt cannot do on one of
    the chips, so that a function of the program does it.
  }];
}

#endif // MPT_CODEGEN_CUDA_PASSES_TD
