//===- Calls.td - The library calls of a program -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One record per library call. mlir-tblgen makes the op from it. From the same record
/// lib/ProgramABI/generate_calls.py makes the call's number, its struct with named
/// fields, the list of those fields (which the program table's reader and writer walk),
/// the number of buffers it expects, and the conversions between op and struct.
///
/// Arguments come in this order: inputs, outputs, the workspace, attributes. Each
/// optional buffer becomes a field `has_<name>` of the struct, each list of buffers a field
/// `num_<name>`.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_IR_CALLS_TD
#define MPT_DIALECT_PROGRAM_IR_CALLS_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"
include "mpt/Dialect/Program/IR/ProgramBase.td"
include "mpt/Dialect/Program/IR/LibraryCallOpInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

//===----------------------------------------------------------------------===//
// Buffers and attributes of calls
//===----------------------------------------------------------------------===//

def In : Arg<Program_Buffer, "", [MemRead]>;
def OptionalIn : Arg<Optional<Program_Buffer>, "", [MemRead]>;
def VariadicIn : Arg<Variadic<Program_Buffer>, "", [MemRead]>;
def Out : Arg<Program_Buffer, "", [MemWrite]>;
def OptionalOut : Arg<Optional<Program_Buffer>, "", [MemWrite]>;
def VariadicOut : Arg<Variadic<Program_Buffer>, "", [MemWrite]>;
def Workspace : Arg<Optional<Program_Buffer>, "memory that the call may use as it likes",
                    [MemWrite]>;

/// Exactly `n` integers.
class Int64s<int n> : ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<n>]> {
  int count = n;
}

/// The optional group of an assembly format that holds the buffer `name`.
class Group<string name> {
  string format = "(`" # name # "` `(` $" # name # "^ `:` type($" # name # ") `)`)?";
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// A library call. `id` is its number in the table of a program and never changes.
class Program_CallOp<string mnemonic, int id, list<Trait> traits = []>
    : Op<Program_Dialect, mnemonic, !listconcat([MPT_NoUnownedAttributes], traits, [
        ParentOneOf<["ProgramOp", "LoopOp", "AlternativesOp"]>, DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<LibraryCallOpInterface>])> {
  int wireId = id;
  /// Buffers of the assembly format.
  string inputs = "";
  string outputs = "`outs` `(` $result `:` type($result) `)`";
  let assemblyFormat = inputs # " " # outputs # " " # Group<"workspace">.format # " attr-dict";
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
}

class OneInput<string x> {
  string format = "`ins` `(` $" # x # " `:` type($" # x # ") `)`";
}
class TwoInputs<string x, string y> {
  string format = "`ins` `(` $" # x # " `,` $" # y # " `:` type($" # x # ") `,` type($" #
                  y # ") `)`";
}

/// A convolution or one of its gradients. `strides` and `dilations` are [h, w], `padding`
/// is [h low, h high, w low, w high]. x is NHWC, the filter HWIO, or OIHW with `oihw`,
/// which only CPUs support.
/// With `cudnn` the call is one of cuDNN, stands in `mpt_program.alternatives`, and the
/// filter's bytes are in cuDNN's layout, KRSC; with `allow_tf32` cuDNN may cut operands
/// of f32 to TF32.
class Program_ConvOp<string mnemonic, int id, dag buffers, dag more = (ins),
                     list<Trait> traits = []> : Program_CallOp<mnemonic, id, traits> {
  let arguments = !con(buffers, (ins
    DefaultValuedAttr<Int64s<2>, "{1, 1}">:$strides,
    DefaultValuedAttr<Int64s<4>, "{0, 0, 0, 0}">:$padding,
    DefaultValuedAttr<Int64s<2>, "{1, 1}">:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$groups, UnitAttr:$oihw), more, (ins
    UnitAttr:$cudnn, UnitAttr:$allow_tf32));
}

/// `window` and `strides` are [h, w], `padding` is [h low, h high, w low, w high].
class Program_PoolOp<string mnemonic, int id, dag buffers, dag more = (ins)>
    : Program_CallOp<mnemonic, id> {
  let arguments = !con(buffers, (ins Int64s<2>:$window, Int64s<2>:$strides,
    DefaultValuedAttr<Int64s<4>, "{0, 0, 0, 0}">:$padding), more);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

def Program_MatmulOp : Program_CallOp<"matmul", 0, [AttrSizedOperandSegments]> {
  let summary = "matmul with an epilogue";
  let description = [{
    result = epilogue(lhs rhs + bias), with lhs [batch.., M, K], rhs [batch.., K, N] or
    [K, N], bias [N]. Products are exact, sums f32, and the result is rounded once.
    With `rounding` rhs is f32, and its elements are rounded to f16 or bf16 (to nearest
    even) before they are multiplied, as `mpt.cast` would; with `lhs_rounding` those of
    lhs are. Only CPUs support that.

    Only GPUs support the rest. `aux` is what the activation saved in the forward pass: the
    result is multiplied by the activation's gradient. `saved` is what this activation
    saves. `bias_grad` is the gradient summed over rows. `addend` is added to the result.
    With `accumulate` the result is added to what its buffer held before. `f32_matmuls`
    says how f32 operands are multiplied. Operands of 8 bits may have the scales of their
    blocks, `lhs_scales` and `rhs_scales`, as `mpt.gemm` has them. With
    `fast_accumulation` sums of two 8-bit operands without such scales may have fewer bits
    than f32, as `mpt.matmul` says. CPUs sum in f32 all the same.

    Example:

    ```mlir
    mpt_program.matmul ins(%a, %b : memref<4x8xf32>, memref<16x8xf32>)
        outs(%c : memref<4x16xf32>) workspace(%w : memref<64xi8>) {transpose_rhs}
    ```
  }];
  let arguments = (ins In:$lhs, In:$rhs, OptionalIn:$bias, OptionalIn:$aux,
    OptionalIn:$addend, OptionalIn:$lhs_scales, OptionalIn:$rhs_scales, Out:$result,
    OptionalOut:$saved, OptionalOut:$bias_grad,
    Workspace:$workspace, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
    DefaultValuedAttr<MPT_Epilogue, "::mpt::Epilogue::None">:$epilogue,
    UnitAttr:$accumulate,
    DefaultValuedAttr<Program_F32Matmuls, "::mpt::program::F32Matmuls::Exact">
      :$f32_matmuls,
    DefaultValuedAttr<Program_Rounding, "::mpt::program::Rounding::None">:$lhs_rounding,
    DefaultValuedAttr<Program_Rounding, "::mpt::program::Rounding::None">:$rounding,
    DefaultValuedAttr<MPT_GemmScaling, "::mpt::GemmScaling::None">:$lhs_scaling,
    DefaultValuedAttr<MPT_GemmScaling, "::mpt::GemmScaling::None">:$rhs_scaling,
    UnitAttr:$fast_accumulation);
  let inputs = TwoInputs<"lhs", "rhs">.format # Group<"bias">.format # Group<"aux">.format #
               Group<"addend">.format # Group<"lhs_scales">.format #
               Group<"rhs_scales">.format;
  let outputs = "`outs` `(` $result `:` type($result) `)`" # Group<"saved">.format #
                Group<"bias_grad">.format;
}

def Program_Conv2DOp : Program_ConvOp<"conv2d", 1,
    (ins In:$x, In:$filter, OptionalIn:$bias, Out:$result, Workspace:$workspace),
    (ins DefaultValuedAttr<MPT_Epilogue, "::mpt::Epilogue::None">:$epilogue,
      DefaultValuedAttr<Program_Rounding, "::mpt::program::Rounding::None">:$x_rounding,
      DefaultValuedAttr<Program_Rounding, "::mpt::program::Rounding::None">:$rounding),
    [AttrSizedOperandSegments]> {
  let summary = "a convolution with an epilogue";
  let description = [{
    result = epilogue(conv(x, filter) + bias), rounded once. With `rounding` the filter is
    f32 and rounded before it is multiplied, as the right side of `mpt_program.matmul`;
    with `x_rounding` x is.

    Example:

    ```mlir
    mpt_program.conv2d ins(%x, %f : memref<2x8x8x3xf32>, memref<3x3x3x16xf32>)
        outs(%y : memref<2x8x8x16xf32>) {padding = array<i64: 1, 1, 1, 1>}
    ```
  }];
  let inputs = TwoInputs<"x", "filter">.format # Group<"bias">.format;
}

def Program_Conv2DInputGradOp : Program_ConvOp<"conv2d_input_grad", 2,
    (ins In:$dy, In:$filter, Out:$result, Workspace:$workspace),
    (ins DefaultValuedAttr<Program_Rounding, "::mpt::program::Rounding::None">:$rounding)> {
  let summary = "the gradient of a convolution's input";
  let description = [{
    `rounding` is that of `mpt_program.conv2d`.

    Example:

    ```mlir
    mpt_program.conv2d_input_grad ins(%dy, %f : memref<2x8x8x16xf32>,
        memref<3x3x3x16xf32>) outs(%dx : memref<2x8x8x3xf32>)
        {padding = array<i64: 1, 1, 1, 1>}
    ```
  }];
  let inputs = TwoInputs<"dy", "filter">.format;
}

def Program_Conv2DFilterGradOp : Program_ConvOp<"conv2d_filter_grad", 3,
    (ins In:$x, In:$dy, Out:$result, Workspace:$workspace),
    (ins DefaultValuedAttr<Program_Rounding, "::mpt::program::Rounding::None">:$x_rounding)> {
  let summary = "the gradient of a convolution's filter";
  let description = [{
    `x_rounding` is that of `mpt_program.conv2d`.

    Example:

    ```mlir
    mpt_program.conv2d_filter_grad ins(%x, %dy : memref<2x8x8x3xf32>,
        memref<2x8x8x16xf32>) outs(%df : memref<3x3x3x16xf32>)
        {padding = array<i64: 1, 1, 1, 1>}
    ```
  }];
  let inputs = TwoInputs<"x", "dy">.format;
}

def Program_MaxPoolOp : Program_PoolOp<"max_pool", 4,
    (ins In:$x, Out:$result, Workspace:$workspace)> {
  let summary = "the largest element of each window";
  let description = [{
    Example:

    ```mlir
    mpt_program.max_pool ins(%x : memref<2x8x8x3xf32>) outs(%y : memref<2x4x4x3xf32>)
        {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
    ```
  }];
  let inputs = OneInput<"x">.format;
}

def Program_MaxPoolGradOp : Program_PoolOp<"max_pool_grad", 5,
    (ins In:$dy, In:$x, Out:$result, Workspace:$workspace)> {
  let summary = "the gradient of max_pool's input";
  let description = [{
    The first of a window's largest elements takes the window's gradient.

    Example:

    ```mlir
    mpt_program.max_pool_grad ins(%y, %x : memref<2x4x4x3xf32>, memref<2x8x8x3xf32>)
        outs(%dx : memref<2x8x8x3xf32>)
        {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
    ```
  }];
  let inputs = TwoInputs<"dy", "x">.format;
}

def Program_AvgPoolOp : Program_PoolOp<"avg_pool", 6,
    (ins In:$x, Out:$result, Workspace:$workspace), (ins UnitAttr:$count_include_pad)> {
  let summary = "the mean of each window";
  let description = [{
    With `count_include_pad` the sum is divided by the size of the whole window, else by
    the number of its elements that lie in x.

    Example:

    ```mlir
    mpt_program.avg_pool ins(%x : memref<2x8x8x3xf32>) outs(%y : memref<2x4x4x3xf32>)
        {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
    ```
  }];
  let inputs = OneInput<"x">.format;
}

def Program_AvgPoolGradOp : Program_PoolOp<"avg_pool_grad", 7,
    (ins In:$dy, Out:$result, Workspace:$workspace), (ins UnitAttr:$count_include_pad)> {
  let summary = "the gradient of avg_pool's input";
  let description = [{
    Example:

    ```mlir
    mpt_program.avg_pool_grad ins(%y : memref<2x4x4x3xf32>)
        outs(%dx : memref<2x8x8x3xf32>)
        {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
    ```
  }];
  let inputs = OneInput<"dy">.format;
}

def Program_GatherOp : Program_CallOp<"gather", 8> {
  let summary = "rows of a table";
  let description = [{
    Row i of the result is row indices[i] of the table [V, C..]. An index outside [0, V)
    is an error when the program runs.

    Example:

    ```mlir
    mpt_program.gather ins(%t, %i : memref<10x4xf32>, memref<6xi32>) outs(%y : memref<6x4xf32>)
    ```
  }];
  let arguments = (ins In:$table, In:$indices, Out:$result, Workspace:$workspace);
  let inputs = TwoInputs<"table", "indices">.format;
}

def Program_ScatterAddOp : Program_CallOp<"scatter_add", 9, [AttrSizedOperandSegments]> {
  let summary = "rows added to a table";
  let description = [{
    Row i of the updates is added to row indices[i] of the result, in order, in f32. The
    result begins as `init`, whose bytes it may take, or as zeros. With another `kind`,
    which needs `init`, row indices[i] becomes the maximum, minimum or product of both; the
    maximum or minimum with a NaN is NaN.

    Example:

    ```mlir
    mpt_program.scatter_add ins(%i, %u : memref<6xi32>, memref<6x4xf32>) outs(%t : memref<10x4xf32>)
    ```
  }];
  let arguments = (ins In:$indices, In:$updates, OptionalIn:$init, Out:$result,
    Workspace:$workspace, DefaultValuedAttr<MPT_ReduceKind, "::mpt::ReduceKind::Sum">:$kind);
  let inputs = TwoInputs<"indices", "updates">.format # Group<"init">.format;
}

def Program_CopyOp : Program_CallOp<"copy", 10> {
  let summary = "a strided copy";
  let description = [{
    result[dst_offset + i dst_strides] = x[src_offset + i src_strides] for all i below
    `sizes`. Offsets and strides count elements.

    Example:

    ```mlir
    mpt_program.copy ins(%x : memref<4x8xf32>) outs(%y : memref<8x4xf32>)
        {sizes = array<i64: 8, 4>, src_strides = array<i64: 1, 8>,
        dst_strides = array<i64: 4, 1>}
    ```
  }];
  let arguments = (ins In:$x, Out:$result, Workspace:$workspace,
    DenseI64ArrayAttr:$sizes,
    DefaultValuedAttr<I64Attr, "0">:$src_offset, DenseI64ArrayAttr:$src_strides,
    DefaultValuedAttr<I64Attr, "0">:$dst_offset, DenseI64ArrayAttr:$dst_strides);
  let inputs = OneInput<"x">.format;
}

def Program_FillOp : Program_CallOp<"fill", 11> {
  let summary = "one value everywhere";
  let description = [{
    The value is rounded to the element type, or cut to an integer.

    Example:

    ```mlir
    mpt_program.fill outs(%y : memref<4x8xf32>) {value = 1.0 : f64}
    ```
  }];
  let arguments = (ins Out:$result, Workspace:$workspace, F64Attr:$value);
}

def Program_ReduceOp : Program_CallOp<"reduce", 12> {
  let summary = "a reduction over axes";
  let description = [{
    Sums of floats are f32 (f64 for f64) and rounded once. A NaN is the largest and the
    smallest.

    Example:

    ```mlir
    mpt_program.reduce ins(%x : memref<4x8xf32>) outs(%y : memref<8xf32>)
        {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>}
    ```
  }];
  let arguments = (ins In:$x, Out:$result, Workspace:$workspace, MPT_ReduceKind:$kind,
                       DenseI64ArrayAttr:$axes);
  let inputs = OneInput<"x">.format;
}

def Program_ArgmaxOp : Program_CallOp<"argmax", 13> {
  let summary = "the index of the largest element along the last dimension";
  let description = [{
    The first of equal ones; a NaN counts as the largest.

    Example:

    ```mlir
    mpt_program.argmax ins(%x : memref<4x8xf32>) outs(%i : memref<4xi32>)
    ```
  }];
  let arguments = (ins In:$x, Out:$result, Workspace:$workspace);
  let inputs = OneInput<"x">.format;
}

def Program_RandomMaskOp : Program_CallOp<"random_mask", 14> {
  let summary = "a mask that keeps each element with probability 1 - rate";
  let description = [{
    Philox4x32-10 with key (seed, stream) and counter (attempt, element), as
    `mpt.random_mask` defines it. Seed and attempt are one i64 each.

    Example:

    ```mlir
    mpt_program.random_mask ins(%seed, %attempt : memref<i64>, memref<i64>)
        outs(%m : memref<4x8xi1>) {stream = 3 : i64, rate = 0.1 : f64}
    ```
  }];
  let arguments = (ins In:$seed, In:$attempt, Out:$result, Workspace:$workspace,
                       I64Attr:$stream, F64Attr:$rate);
  let inputs = TwoInputs<"seed", "attempt">.format;
}

def Program_CheckIndicesOp : Program_CallOp<"check_indices", 15> {
  let summary = "indices, if each is in range or ignored";
  let description = [{
    Copies x. An index outside [0, size) that is not `ignore_index` is an error when the
    program runs.

    Example:

    ```mlir
    mpt_program.check_indices ins(%x : memref<4xi32>) outs(%y : memref<4xi32>)
        {size = 10 : i64, ignore_index = -100 : i64}
    ```
  }];
  let arguments = (ins In:$x, Out:$result, Workspace:$workspace, I64Attr:$size,
                       OptionalAttr<I64Attr>:$ignore_index);
  let inputs = OneInput<"x">.format;
}

def Program_RandomBitsOp : Program_CallOp<"random_bits", 16> {
  let summary = "16 random bits per element";
  let description = [{
    Philox4x32-10 as in `mpt.random_bits`. Seed and attempt are one i64 each.

    Example:

    ```mlir
    mpt_program.random_bits ins(%seed, %attempt : memref<i64>, memref<i64>)
        outs(%b : memref<4x8xi16>) {stream = 3 : i64}
    ```
  }];
  let arguments = (ins In:$seed, In:$attempt, Out:$result, Workspace:$workspace,
                       I64Attr:$stream);
  let inputs = TwoInputs<"seed", "attempt">.format;
}

def Program_GemmQuantizeOp
    : Program_CallOp<"gemm_quantize", 25, [AttrSizedOperandSegments]> {
  let summary = "8-bit operands of matmuls, both ways round";
  let description = [{
    As `mpt.gemm_quantize`, with `rounding` for its `via`. x is a matrix. Only GPUs support
    it, with a device function.

    Example:

    ```mlir
    mpt_program.gemm_quantize ins(%x : memref<256x384xbf16>)
        row(%q : memref<256x384xf8E4M3FN>) row_scales(%s : memref<768xf32>)
        column(%t : memref<384x256xf8E4M3FN>) column_scales(%u : memref<768xf32>)
        {block = array<i64: 1, 128>, scaling = #mpt.gemm_scaling<vec128_32f>}
    ```
  }];
  let arguments = (ins In:$x, OptionalIn:$scales, OptionalIn:$factor,
    OptionalOut:$row, OptionalOut:$row_scales, OptionalOut:$column, OptionalOut:$column_scales,
    OptionalOut:$amax, Workspace:$workspace, Int64s<2>:$block,
    MPT_GemmScaling:$scaling,
    DefaultValuedAttr<MPT_ScaleRule, "::mpt::ScaleRule::PowerOfTwo">:$rule,
    DefaultValuedAttr<Program_Rounding, "::mpt::program::Rounding::None">:$rounding);
  let inputs = OneInput<"x">.format # Group<"scales">.format # Group<"factor">.format;
  let outputs = Group<"row">.format # Group<"row_scales">.format # Group<"column">.format #
                Group<"column_scales">.format # Group<"amax">.format;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// `scale` multiplies the query. `seed`, `attempt`, `dropout` and `stream` are those of
/// `mpt.attention`; without dropout there are no seed and attempt.
class Program_AttentionBase<string mnemonic, int id, dag buffers>
    : Program_CallOp<mnemonic, id, [AttrSizedOperandSegments]> {
  let arguments = !con(buffers, (ins UnitAttr:$causal, F64Attr:$scale,
    DefaultValuedAttr<F64Attr, "0.0">:$dropout,
    DefaultValuedAttr<I64Attr, "0">:$stream));
  string options = Group<"mask">.format # Group<"bias">.format # Group<"seed">.format #
                   Group<"attempt">.format;
}

def Program_AttentionOp : Program_AttentionBase<"attention", 17,
    (ins In:$query, In:$key, In:$value, OptionalIn:$mask, OptionalIn:$bias,
     OptionalIn:$seed, OptionalIn:$attempt, Out:$result, Out:$log_sum_exp,
     Workspace:$workspace)> {
  let summary = "attention without its matrix of scores in memory";
  let description = [{
    As `mpt.attention`, for blocks of queries and keys, with the softmax's statistics
    updated from block to block (Dao et al. 2022). Sums are f32. Probabilities are rounded
    before they are divided by their sum (GPUs) or not at all (CPUs). On GPUs, device
    functions replace the op.

    Example:

    ```mlir
    mpt_program.attention ins(%q, %k, %v : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>,
        memref<2x4x16x32xf16>) outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>)
        {causal, scale = 0.125 : f64}
    ```
  }];
  let inputs = "`ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` " #
               "type($value) `)` " # options;
  let outputs = "`outs` `(` $result `,` $log_sum_exp `:` type($result) `,` " #
                "type($log_sum_exp) `)`";
}

def Program_AttentionGradOp : Program_AttentionBase<"attention_grad", 18,
    (ins In:$dy, In:$query, In:$key, In:$value, In:$result, In:$log_sum_exp,
     OptionalIn:$mask, OptionalIn:$bias, OptionalIn:$seed, OptionalIn:$attempt,
     Out:$dquery, Out:$dkey, Out:$dvalue, OptionalOut:$dbias, Workspace:$workspace)> {
  let summary = "the gradient of attention";
  let description = [{
    As `mpt.attention_grad`. Computes the probabilities of a block again from query, key and
    log_sum_exp.

    Example:

    ```mlir
    mpt_program.attention_grad ins(%dy, %q, %k, %v, %y, %lse : memref<2x4x16x32xf16>,
        memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>,
        memref<2x4x16x32xf16>, memref<2x4x16xf32>)
        outs(%dq, %dk, %dv : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>,
        memref<2x4x16x32xf16>) workspace(%w : memref<512xi8>)
        {causal, scale = 0.125 : f64}
    ```
  }];
  let inputs = "`ins` `(` $dy `,` $query `,` $key `,` $value `,` $result `,` " #
               "$log_sum_exp `:` type($dy) `,` type($query) `,` type($key) `,` " #
               "type($value) `,` type($result) `,` type($log_sum_exp) `)` " # options;
  let outputs = "`outs` `(` $dquery `,` $dkey `,` $dvalue `:` type($dquery) `,` " #
                "type($dkey) `,` type($dvalue) `)` " # Group<"dbias">.format;
}

/// Attention as a call of cuDNN, without dropout. `sizes` are the batch's, of heads of
/// queries and of keys, queries, keys, and elements of a head. `row_strides` has, for each
/// buffer in order but log_sum_exp and the bias, the elements from one batch entry, head
/// and row to the next; the elements of a row lie side by side. The bias is a packed f32
/// buffer [batch, heads, queries, keys], any size 1 where it is the same for all. Stands
/// in `mpt_program.alternatives`; only GPUs support it.
class Program_CudnnAttentionBase<string mnemonic, int id, dag buffers, int strides>
    : Program_CallOp<mnemonic, id, [AttrSizedOperandSegments]> {
  let arguments = !con(buffers, (ins Int64s<6>:$sizes, Int64s<strides>:$row_strides,
    UnitAttr:$causal, F64Attr:$scale));
}

def Program_CudnnAttentionOp : Program_CudnnAttentionBase<"cudnn_attention", 26,
    (ins In:$query, In:$key, In:$value, OptionalIn:$bias, Out:$result, Out:$log_sum_exp,
     Workspace:$workspace), 12> {
  let summary = "cuDNN's attention";
  let description = [{
    As `mpt_program.attention`, but scores are scaled in f32 after the matmul, and
    probabilities are rounded before they are multiplied. With `causal` there are as many
    queries as keys. A bias of -inf for all that a query sees makes its row NaN.

    Example:

    ```mlir
    mpt_program.cudnn_attention ins(%q, %k, %v : memref<2x4x16x32xf16>,
        memref<2x4x16x32xf16>, memref<2x4x16x32xf16>)
        outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>)
        {causal, row_strides = array<i64: 2048, 512, 32, 2048, 512, 32, 2048, 512, 32,
        2048, 512, 32>, scale = 0.125 : f64, sizes = array<i64: 2, 4, 4, 16, 16, 32>}
    ```
  }];
  let inputs = "`ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` " #
               "type($value) `)` " # Group<"bias">.format;
  let outputs = "`outs` `(` $result `,` $log_sum_exp `:` type($result) `,` " #
                "type($log_sum_exp) `)`";
}

def Program_CudnnAttentionGradOp : Program_CudnnAttentionBase<"cudnn_attention_grad", 27,
    (ins In:$dy, In:$query, In:$key, In:$value, In:$result, In:$log_sum_exp,
     OptionalIn:$bias, Out:$dquery, Out:$dkey, Out:$dvalue, OptionalOut:$dbias,
     Workspace:$workspace), 24> {
  let summary = "the gradient of attention by cuDNN";
  let description = [{
    The workspace holds an f32 for each query of each head. The bias's gradient, a packed
    buffer of the query's type, is for biases that have all queries and keys.

    Example:

    ```mlir
    mpt_program.cudnn_attention_grad ins(%dy, %q, %k, %v, %y, %lse
        : memref<1x1x16x32xf16>, memref<1x1x16x32xf16>, memref<1x1x16x32xf16>,
        memref<1x1x16x32xf16>, memref<1x1x16x32xf16>, memref<1x1x16xf32>)
        outs(%dq, %dk, %dv : memref<1x1x16x32xf16>, memref<1x1x16x32xf16>,
        memref<1x1x16x32xf16>) workspace(%w : memref<64xi8>)
        {row_strides = array<i64: 512, 512, 32, 512, 512, 32, 512, 512, 32, 512, 512, 32,
        512, 512, 32, 512, 512, 32, 512, 512, 32, 512, 512, 32>, scale = 0.125 : f64,
        sizes = array<i64: 1, 1, 1, 16, 16, 32>}
    ```
  }];
  let inputs = "`ins` `(` $dy `,` $query `,` $key `,` $value `,` $result `,` " #
               "$log_sum_exp `:` type($dy) `,` type($query) `,` type($key) `,` " #
               "type($value) `,` type($result) `,` type($log_sum_exp) `)` " #
               Group<"bias">.format;
  let outputs = "`outs` `(` $dquery `,` $dkey `,` $dvalue `:` type($dquery) `,` " #
                "type($dkey) `,` type($dvalue) `)` " # Group<"dbias">.format;
}

//===----------------------------------------------------------------------===//
// Calls of several processes
//===----------------------------------------------------------------------===//

// The program runs in `ranks` processes, numbered from 0. All of them run the same calls
// in the same order. With `ranks` = 1 nothing is exchanged. Only CPUs support these calls.
//
// `kind` is sum, mean, max or min. The values of floats of at most 32 bits are reduced in
// f32, those of other types in their own. With `order` = rank the sum is
// ((x0 + x1) + x2) + .., rounded after each addition; the mean is that sum divided by the
// number of ranks, rounded again: as mpt.accumulate of the same values, bit for bit. With
// `order` = library what carries the messages may choose another order. A NaN is the
// largest and the smallest value. Integers take no mean; i1 takes max (any) and min (all).
//
// Each rank sends each other rank the part that this one reduces, and gets the reduced
// part back. Values travel in their own type, what is reduced in the type of the result.
// With `rounding` both travel in f16 or bf16 instead, and are rounded to it before, also
// what a rank has itself, so that all ranks have the same bits; in between they are f32.
// Where what travels there and back is of one size, this is 2 (ranks - 1) / ranks of the
// tensors' bytes.

def Program_AllReduceOp : Program_CallOp<"all_reduce", 19, [AttrSizedOperandSegments]> {
  let summary = "tensors reduced over all ranks";
  let description = [{
    sums[i] is xs[i] reduced over the ranks, for all i: one exchange for a list (a bucket)
    of tensors, which may lie anywhere. All xs have one element type, and all sums one: the
    xs's type or, of f32, f16 and bf16, another of these three. sums[i] has the shape of
    xs[i] and may be the same buffer. The workspace does not grow with the tensors.

    With `async` this call, like the other exchanges, only begins: what it exchanges runs
    beside the calls and launches that follow. Until the `mpt_program.wait` with the same
    buffers, nobody else writes xs or reads or writes the results. Exchanges run one after
    the other, in the order of the calls, and are waited for in that order. None is in a
    loop.

    Example:

    ```mlir
    mpt_program.all_reduce ins(%g, %h : memref<4x8xbf16>, memref<8xbf16>)
        outs(%s, %t : memref<4x8xf32>, memref<8xf32>) workspace(%w : memref<512xi8>)
        {kind = #mpt.reduce_kind<mean>, ranks = 4 : i64}
    ```
  }];
  let arguments = (ins VariadicIn:$xs, VariadicOut:$sums, Workspace:$workspace,
    MPT_ReduceKind:$kind,
    DefaultValuedAttr<Program_SumOrder, "::mpt::program::SumOrder::Rank">:$order,
    DefaultValuedAttr<Program_Rounding, "::mpt::program::Rounding::None">:$rounding,
    I64Attr:$ranks, UnitAttr:$async);
  let inputs = "`ins` `(` $xs `:` type($xs) `)`";
  let outputs = "`outs` `(` $sums `:` type($sums) `)`";
}

def Program_ReduceScatterOp : Program_CallOp<"reduce_scatter", 20> {
  let summary = "a tensor reduced over all ranks, a part for each";
  let description = [{
    x has `ranks` times as many elements as the result: rank r gets elements
    [r n, (r + 1) n) of the reduced x, with n those of the result. Types are those of
    `mpt_program.all_reduce`. What is reduced does not travel, and is not rounded to
    `rounding`.

    Example:

    ```mlir
    mpt_program.reduce_scatter ins(%x : memref<8x4xf32>) outs(%y : memref<2x4xf32>)
        workspace(%w : memref<256xi8>) {kind = #mpt.reduce_kind<sum>, ranks = 4 : i64}
    ```
  }];
  let arguments = (ins In:$x, Out:$result, Workspace:$workspace, MPT_ReduceKind:$kind,
    DefaultValuedAttr<Program_SumOrder, "::mpt::program::SumOrder::Rank">:$order,
    DefaultValuedAttr<Program_Rounding, "::mpt::program::Rounding::None">:$rounding,
    I64Attr:$ranks, UnitAttr:$async);
  let inputs = OneInput<"x">.format;
}

def Program_AllGatherOp : Program_CallOp<"all_gather", 21> {
  let summary = "the tensors of all ranks, one after the other";
  let description = [{
    Elements [r n, (r + 1) n) of the result are the n elements of rank r's x. Any type.

    Example:

    ```mlir
    mpt_program.all_gather ins(%x : memref<2x4xf32>) outs(%y : memref<8x4xf32>)
        {ranks = 4 : i64}
    ```
  }];
  let arguments = (ins In:$x, Out:$result, Workspace:$workspace, I64Attr:$ranks,
    UnitAttr:$async);
  let inputs = OneInput<"x">.format;
}

def Program_BroadcastOp : Program_CallOp<"broadcast", 22> {
  let summary = "the tensor of one rank, for all";
  let description = [{
    The result is x of rank `root`. x of other ranks is not read. Any type.

    Example:

    ```mlir
    mpt_program.broadcast ins(%x : memref<2x4xf32>) outs(%y : memref<2x4xf32>)
        {ranks = 4 : i64, root = 0 : i64}
    ```
  }];
  let arguments = (ins In:$x, Out:$result, Workspace:$workspace, I64Attr:$root,
    I64Attr:$ranks, UnitAttr:$async);
  let inputs = OneInput<"x">.format;
}

def Program_RankOp : Program_CallOp<"rank", 23> {
  let summary = "the number of the process that runs the program";
  let description = [{
    One i64 or i32 in [0, ranks).

    Example:

    ```mlir
    mpt_program.rank outs(%r : memref<i64>) {ranks = 4 : i64}
    ```
  }];
  let arguments = (ins Out:$result, Workspace:$workspace, I64Attr:$ranks);
}

def Program_WaitOp : Program_CallOp<"wait", 24, [AttrSizedOperandSegments]> {
  let summary = "the end of an exchange that runs beside other calls";
  let description = [{
    Returns when the exchange has ended that a call with `async` began: the first that
    nobody has waited for. It has the buffers of that call, which are free again.

    Example:

    ```mlir
    mpt_program.all_reduce ins(%g : memref<8xf32>) outs(%s : memref<8xf32>)
        workspace(%w : memref<256xi8>)
        {async, kind = #mpt.reduce_kind<mean>, ranks = 4 : i64}
    mpt_program.wait ins(%g : memref<8xf32>) outs(%s : memref<8xf32>)
        workspace(%w : memref<256xi8>)
    ```
  }];
  let arguments = (ins VariadicIn:$xs, VariadicOut:$results, Workspace:$workspace);
  let inputs = "`ins` `(` $xs `:` type($xs) `)`";
  let outputs = "`outs` `(` $results `:` type($results) `)`";
}

def Program_AllToAllOp : Program_CallOp<"all_to_all", 28> {
  let summary = "a part of each rank's tensor for each rank";
  let description = [{
    With n the elements of x divided by `ranks`, elements [s n, (s + 1) n) of the result on rank r are
    elements [r n, (r + 1) n) of rank s's x. Any type.

    Example:

    ```mlir
    mpt_program.all_to_all ins(%x : memref<8x4xf32>) outs(%y : memref<8x4xf32>)
        {ranks = 4 : i64}
    ```
  }];
  let arguments = (ins In:$x, Out:$result, Workspace:$workspace, I64Attr:$ranks,
    UnitAttr:$async);
  let inputs = OneInput<"x">.format;
}

#endif // MPT_DIALECT_PROGRAM_IR_CALLS_TD
