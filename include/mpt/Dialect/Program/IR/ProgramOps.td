//===- ProgramOps.td - The ops of planned programs -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_IR_PROGRAMOPS_TD
#define MPT_DIALECT_PROGRAM_IR_PROGRAMOPS_TD

include "mpt/Dialect/Program/IR/Calls.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

//===----------------------------------------------------------------------===//
// Programs, buffers, launches
//===----------------------------------------------------------------------===//

def Program_ProgramOp : Op<Program_Dialect, "program", [MPT_NoUnownedAttributes,
    IsolatedFromAbove, Symbol, SingleBlock, NoTerminator]> {
  let summary = "one planned step: buffers, launches, calls and loops in order";
  let description = [{
    What back ends consume. `arena_bytes`, `state_bytes` and `output_bytes` are
    the sizes of the blocks that the runtime allocates once; no launch or call
    allocates tensor memory. `target` is the machine it was planned for and
    `max_threads` the most threads its workspaces allow.

    `tuned_matmuls` are algorithms of cuBLASLt that were measured: eight words each, by
    the key that the runtime looks them up with (`mpt_cuda_tuned` in
    `mpt/ProgramABI/CudaProgram.h`).

    Example:

    ```mlir
    mpt_program.program @step attributes {
        target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 128 : i64,
        state_bytes = 128 : i64, output_bytes = 64 : i64} {
      %x = mpt_program.buffer <input> 0 {name = "x", role = #mpt.role<input>} : memref<4x8xf32>
      %w = mpt_program.buffer <state> 0 {name = "w", role = #mpt.role<parameter>} : memref<8x4xf32>
      %y = mpt_program.buffer <arena> 0 : memref<4x4xf32>
      mpt_program.matmul ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%y : memref<4x4xf32>)
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, MPT_Target:$target,
                       I64Attr:$max_threads, I64Attr:$arena_bytes,
                       I64Attr:$state_bytes, I64Attr:$output_bytes,
                       OptionalAttr<DictionaryAttr>:$tuned_matmuls);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Program_BufferOp : Op<Program_Dialect, "buffer", [MPT_NoUnownedAttributes,
    HasParent<"ProgramOp">]> {
  let summary = "bytes of a space, seen as a row-major buffer";
  let description = [{
    `offset` is in bytes within the space (for `input`, the input's number;
    64-byte aligned elsewhere unless it views another buffer). Several buffers may
    view the same bytes. State, inputs and outputs carry a `name`. State and inputs
    carry a `role`, and `init` where they have a first value. `low_of` names the
    parameter whose low 16 bits a state buffer holds. A `constant` buffer carries
    `value`.

    A buffer that is used in loops may move: in iteration i of the loops around its use,
    the outermost first, it lies `strides` * i bytes further on. A stride may be negative.
    `start` is where a buffer begins within an input or a constant, in bytes. All places
    that it moves to lie within its space. A buffer with strides or a start has no name
    and need not be 64-byte aligned, only aligned to its elements.

    Buffers are packed. Only attention on GPUs, and its launches, also take one whose type
    has strides, in elements, of which the last is 1: a transposed view of another buffer.

    Example:

    ```mlir
    %0 = mpt_program.buffer <arena> 64 : memref<4x8xf32>
    // One row after the other, from the last of 100 to the first.
    %1 = mpt_program.buffer <input> 0 start 3168 strides [-32] : memref<8xf32>
    // The heads of [B, T, H, D] as [B, H, T, D].
    %2 = mpt_program.buffer <arena> 128
        : memref<1x2x4x8xbf16, strided<[64, 8, 16, 1]>>
    ```
  }];
  let arguments = (ins Program_Space:$space, I64Attr:$offset,
                       DefaultValuedAttr<I64Attr, "0">:$start,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides,
                       OptionalAttr<StrAttr>:$name, OptionalAttr<MPT_Role>:$role,
                       OptionalAttr<MPT_Init>:$init, OptionalAttr<StrAttr>:$low_of,
                       OptionalAttr<ElementsAttr>:$value);
  let results = (outs Program_Buffer:$buffer);
  let builders = [
    /// A buffer that the host does not know by name.
    OpBuilder<(ins "::mlir::MemRefType":$type, "::mpt::program::Space":$space, "int64_t":$offset,
                   CArg<"::mlir::ElementsAttr", "{}">:$value, CArg<"int64_t", "0">:$start,
                   CArg<"::llvm::ArrayRef<int64_t>", "{}">:$strides), [{
      build($_builder, $_state, type, space, offset, start, strides, ::mlir::StringAttr(),
            ::mpt::RoleAttr(), ::mpt::InitAttr(), ::mlir::StringAttr(), value);
    }]>
  ];
  let assemblyFormat = [{
    $space $offset (`start` $start^)? (`strides` $strides^)? attr-dict `:` type($buffer)
  }];
  let hasVerifier = 1;
}

def Program_LaunchOp : Op<Program_Dialect, "launch", [MPT_NoUnownedAttributes,
    AttrSizedOperandSegments, ParentOneOf<["ProgramOp", "LoopOp"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel over its tasks";
  let description = [{
    `tasks` = ceil(rows / chunk_rows). `partials` is present for `column`
    kernels. A result may share its bytes with an operand of the same map.

    Example:

    ```mlir
    mpt_kernel.func <pointwise> @double domain [4, 8] chunk_rows 2
        maps [affine_map<(d0, d1) -> (d0, d1)>] -> [affine_map<(d0, d1) -> (d0, d1)>]
        : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%e: f32):
      %s = arith.addf %e, %e : f32
      mpt_kernel.yield %s : f32
    }
    mpt_program.program @step attributes {
        target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 128 : i64,
        state_bytes = 0 : i64, output_bytes = 0 : i64} {
      %x = mpt_program.buffer <arena> 0 : memref<4x8xf32>
      mpt_program.launch @double ins(%x : memref<4x8xf32>) outs(%x : memref<4x8xf32>) tasks 2
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       Arg<Variadic<Program_Buffer>, "", [MemRead]>:$inputs,
                       Arg<Variadic<Program_Buffer>, "", [MemWrite]>:$outputs,
                       Arg<Optional<Program_Buffer>, "", [MemRead, MemWrite]>:$partials,
                       I64Attr:$tasks);
  let assemblyFormat = [{
    $kernel `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` $outputs `:`
    type($outputs) `)` (`partials` `(` $partials^ `:` type($partials) `)`)?
    `tasks` $tasks attr-dict
  }];
}

def Program_DeviceLaunchOp : Op<Program_Dialect, "device_launch", [MPT_NoUnownedAttributes,
    AttrSizedOperandSegments, ParentOneOf<["ProgramOp", "LoopOp", "AlternativesOp"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a function of a GPU over a grid";
  let description = [{
    `function` is a kernel of a `gpu.module`, or of the `gpu.binary` that this becomes. It
    runs on `blocks` [x, y] blocks of `threads` threads. Its parameters are pointers to
    the inputs, the outputs and the workspace, in this order. It may read its outputs.

    With a `bound` above 0 it reads indices that must be below it, and has one parameter
    more: the record of indices that are not (`mpt/ProgramABI/CudaProgram.h`).

    All launches of one function have the same grid and bound.

    Example:

    ```mlir
    gpu.module @mpt_kernels {
      llvm.func @double(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
        llvm.return
      }
    }
    mpt_program.program @step attributes {
        target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
        arena_bytes = 128 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
      %x = mpt_program.buffer <arena> 0 : memref<4x8xf32>
      mpt_program.device_launch @mpt_kernels::@double blocks [1, 1] threads 32
          ins(%x : memref<4x8xf32>) outs(%x : memref<4x8xf32>)
    }
    ```
  }];
  let arguments = (ins SymbolRefAttr:$function, Int64s<2>:$blocks, I64Attr:$threads,
                       Arg<Variadic<Program_Buffer>, "", [MemRead]>:$inputs,
                       Arg<Variadic<Program_Buffer>, "", [MemRead, MemWrite]>:$outputs,
                       Arg<Optional<Program_Buffer>, "", [MemRead, MemWrite]>:$workspace,
                       DefaultValuedAttr<I64Attr, "0">:$bound);
  let assemblyFormat = [{
    $function `blocks` $blocks `threads` $threads
    `ins` `(` ($inputs^ `:` type($inputs))? `)`
    `outs` `(` ($outputs^ `:` type($outputs))? `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

def Program_LoopOp : Op<Program_Dialect, "loop", [MPT_NoUnownedAttributes,
    ParentOneOf<["ProgramOp", "LoopOp"]>, RecursiveMemoryEffects, NoTerminator,
    NoRegionArguments, SingleBlock]> {
  let summary = "runs launches and calls several times";
  let description = [{
    Runs its body `count` times. Buffers are declared outside, and those with `strides`
    move from one iteration to the next; all others are the same memory in each. Loops may
    be nested. With `while`, a loop ends before the first iteration in which this buffer
    holds false; its body may write to it.

    Example: the sums of the first rows of a matrix.

    ```mlir
    mpt_kernel.func <pointwise> @add domain [8] chunk_rows 1
        maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
          -> [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]
        : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      mpt_kernel.yield %s, %s : f32, f32
    }
    mpt_program.program @step attributes {
        target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 64 : i64,
        state_bytes = 0 : i64, output_bytes = 3200 : i64} {
      %x = mpt_program.buffer <input> 0 {name = "x", role = #mpt.role<input>} : memref<100x8xf32>
      %y = mpt_program.buffer <output> 0 {name = "y"} : memref<100x8xf32>
      %sum = mpt_program.buffer <arena> 0 : memref<8xf32>
      %row = mpt_program.buffer <input> 0 strides [32] : memref<8xf32>
      %result = mpt_program.buffer <output> 0 strides [32] : memref<8xf32>
      mpt_program.fill outs(%sum : memref<8xf32>) {value = 0.0 : f64}
      mpt_program.loop 100 {
        mpt_program.launch @add ins(%row, %sum : memref<8xf32>, memref<8xf32>)
            outs(%sum, %result : memref<8xf32>, memref<8xf32>) tasks 1
      }
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$count,
                       Arg<Optional<Program_Condition>, "", [MemRead]>:$condition);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $count (`while` $condition^ `:` type($condition))? $body attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What depends on the libraries of the machine
//===----------------------------------------------------------------------===//

def Program_AlternativesOp : Op<Program_Dialect, "alternatives", [MPT_NoUnownedAttributes,
    ParentOneOf<["ProgramOp", "LoopOp", "AlternativesOp"]>, RecursiveMemoryEffects, NoTerminator,
    NoRegionArguments, SingleBlock]> {
  let summary = "a library call, and what runs where the library refuses it";
  let description = [{
    When a program is opened, the runtime asks the library whether it does the one call of
    the first region. If it does, the first region runs, else the second. Both write the
    same buffers. There are two kinds:

    - A convolution of cuDNN (`cudnn`), with the launches that prepare its operands and
      finish its result. The second region does the whole convolution without cuDNN.
    - A matmul of cuBLASLt with an epilogue, alone. The second region begins with the same
      matmul without its epilogue; the launches after it do what the epilogue does.

    Regions hold calls, launches on a device and, in the second region of a convolution,
    alternatives of matmuls. Buffers are declared outside.

    Example:

    ```mlir
    gpu.module @mpt_kernels {
      llvm.func @relu(%y: !llvm.ptr<1>) attributes {nvvm.kernel} {
        llvm.return
      }
    }
    mpt_program.program @step attributes {
        target = #mpt.target<cuda, [sm_90]>, max_threads = 1 : i64,
        arena_bytes = 640 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
      %x = mpt_program.buffer <arena> 0 : memref<4x8xf32>
      %w = mpt_program.buffer <arena> 128 : memref<8x8xf32>
      %y = mpt_program.buffer <arena> 512 : memref<4x8xf32>
      mpt_program.alternatives {
        mpt_program.matmul ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>)
            outs(%y : memref<4x8xf32>) {epilogue = #mpt.epilogue<relu>}
      } else {
        mpt_program.matmul ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%y : memref<4x8xf32>)
        mpt_program.device_launch @mpt_kernels::@relu blocks [1, 1] threads 32 ins()
            outs(%y : memref<4x8xf32>)
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$preferred, SizedRegion<1>:$fallback);
  let assemblyFormat = "$preferred `else` $fallback attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The library call of the first region.
    LibraryCallOpInterface getPreferredCall();
    /// The matmul without epilogue that the second region begins with; null for a
    /// convolution.
    MatmulOp getPlainMatmul();
  }];
}

#endif // MPT_DIALECT_PROGRAM_IR_PROGRAMOPS_TD
