//===- MPTOpsGemm.td - Matmuls of GPU libraries -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#ifndef MPT_DIALECT_MPT_IR_MPTOPSGEMM_TD
#define MPT_DIALECT_MPT_IR_MPTOPSGEMM_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

/// i8 holds two numbers of f4E2M1FN.
def MPT_GemmTensor : RankedTensorOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2, I8]>;
def MPT_PackedTensor : RankedTensorOf<[F8E4M3FN, F8E5M2, I8]>;

let opDocGroup = MPT_ProgramDocs in {

def MPT_GemmOp : MPT_TensorOp<"gemm", "Allow", "Allow",
                              [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let wideResults = "true";
  let summary = "matmul that saves, or uses, what its activation's gradient needs";
  let description = [{
    One call of cuBLASLt with an epilogue that no other op has. `--mpt-fuse-gemm-epilogues`
    makes it in steps that are planned for GPUs. It is not meant to be written by hand. With s =
    lhs @ rhs + bias, summed in f32:

    - Forward (`saved` is a result): result = epilogue(s). For GELU, `saved` is s in
      the result's type. For ReLU, it has one bit for each element that says whether s
      is positive. Its rows are padded to 128 bits, in an order that is private to the
      library.
    - Backward (`aux` is given, the `saved` of the forward matmul): result = s
      epilogue'(aux). `bias_grad`, if present, is the result's sum over rows.
    - Without an activation: result = s + addend, rounded once (cuBLASLt's beta = 1: a
      weight's gradient is added to that of earlier micro-batches). `bias_grad`, if
      present, is rhs summed over K.

    Operands of 8 bits may have scales: `lhs_scales` and `rhs_scales`, as
    `mpt.gemm_quantize` makes them for `lhs_scaling` and `rhs_scaling`. Both operands then
    have K as their last dimension (`transpose_rhs` alone), and the sum is that of
    `mpt.scaled_matmul` with such blocks: with blocks of 128 along K and f32 scales, of one
    segment for each block; with the others of one segment for all of K. There is neither
    an activation nor a bias. With `vec16_ue4m3` operands are i8 and half as wide: each
    byte has two numbers of f4E2M1FN, the first in its lower bits.

    Example:

    ```mlir
    %y, %saved = mpt.gemm %x, %w bias(%b)
        {epilogue = #mpt.epilogue<relu>, resultSegmentSizes = array<i32: 1, 1, 0>}
        : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>)
        -> (tensor<4x16xf32>, tensor<4x16xi8>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_GemmTensor, "[M, K], or [K, M] with `transpose_lhs`">:$lhs,
    Arg<MPT_GemmTensor, "[K, N], or [N, K] with `transpose_rhs`">:$rhs,
    Arg<Optional<MPT_FloatTensor>, "[N]; forward">:$bias,
    Arg<Optional<MPT_Tensor>,
        "`saved` of the forward matmul; [M, N] for GELU, i8 [M, N padded to 128 / 8] "
        "for ReLU; backward">:$aux,
    Arg<Optional<MPT_FloatTensor>,
        "[M, N], of the result's type; without an activation">:$addend,
    Arg<Optional<MPT_ScaleTensor>, "one dimension; scales of lhs">:$lhs_scales,
    Arg<Optional<MPT_ScaleTensor>, "one dimension; scales of rhs">:$rhs_scales,
    Arg<UnitAttr, "lhs is transposed">:$transpose_lhs,
    Arg<UnitAttr, "rhs is transposed">:$transpose_rhs,
    Arg<DefaultValuedAttr<MPT_Epilogue, "::mpt::Epilogue::None">,
        "activation, forward or backward">:$epilogue,
    Arg<DefaultValuedAttr<MPT_GemmScaling, "::mpt::GemmScaling::None">,
        "what `lhs_scales` are">:$lhs_scaling,
    Arg<DefaultValuedAttr<MPT_GemmScaling, "::mpt::GemmScaling::None">,
        "what `rhs_scales` are">:$rhs_scaling);
  let results = (outs
    Res<MPT_FloatTensor, "[M, N]">:$result,
    Res<Optional<MPT_Tensor>,
        "[M, N] for GELU, i8 [M, N padded to 128 / 8] for ReLU; forward">:$saved,
    Res<Optional<MPT_FloatTensor>, "[N]; backward or without an activation">:$bias_grad);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` `(` $bias^ `)`)? (`aux` `(` $aux^ `)`)?
    (`add` `(` $addend^ `)`)? (`lhs_scales` `(` $lhs_scales^ `)`)?
    (`rhs_scales` `(` $rhs_scales^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def MPT_GemmQuantizeOp : MPT_TensorOp<"gemm_quantize", "Stable", "Stable",
                                      [AttrSizedOperandSegments,
                                       AttrSizedResultSegments]> {
  let summary = "8-bit operands of matmuls of GPU libraries, both ways round";
  let description = [{
    `--mpt-legalize-for-gpu` makes it of `mpt.quantize`, for matmuls of `mpt.gemm`, and of
    casts to 8 bits that are read in both orientations. Matmuls want K as the last
    dimension of their operands, and scales in a layout of cuBLASLt's. It is not meant to
    be written by hand. It reads x once.

    - `row` and `row_scales`: x in blocks of `block`, which are its elements along the rows
      and along K. K is x's last dimension.
    - `column` and `column_scales`: the same of x transposed, so K is x's first dimension.

    - `amax`: the largest magnitude of each 128 x 128 elements of x, or NaN if one is, the
      tiles by rows. Their maximum is that of x, in any order.

    8-bit floats and scales are those of `mpt.quantize`. x may be 8 bits wide itself, with
    `scales` as those of `row`: the numbers are then those of `mpt.dequantize`. With `via`
    x is rounded to that type first. `factor` multiplies x, rounded to f32, before it is
    cut into blocks. With `none` as scaling and a block of [0, 0] it is the only scale: what
    is finite then saturates, and infinities and NaN stay. With neither factor nor `via` x
    of 8 bits is turned as it is.

    The scales of O rows and K columns, with L = K / 128 rounded up, lie by `scaling`:

    - `vec128_32f`: f32, of blocks of 1 x 128. That of row o and block l of K is number
      l O + o of L O.
    - `blk128x128_32f`: f32, of blocks of 128 x 128. It is number o / 128 times (L rounded
      up to a multiple of 4) + l.
    - `vec16_ue4m3`: f8E4M3FN, of blocks of 1 x 16, with the rule `largest`. q is i8 of half
      as many columns: two numbers of f4E2M1FN in each byte, the first in its lower bits.
      Tiles have 128 rows and 64 columns, and are those of `vec32_ue8m0` otherwise.
    - `vec32_ue8m0`: f8E8M0FNU, of blocks of 1 x 32, or of 1 x 128 and 128 x 128, with the
      scale of each several times. Each 128 rows and 128 columns have a tile of 512, by rows,
      where that of row o and block l of K (of 32 each) is number o % 32 * 16 +
      o % 128 / 32 * 4 + l % 4.

    What is there in addition for a size that is rounded up has the bits 0. O and K are
    multiples of 16, and with `vec16_ue4m3` of 32.

    Example:

    ```mlir
    %q, %s, %t, %u = mpt.gemm_quantize %x {block = array<i64: 1, 128>,
        scaling = #mpt.gemm_scaling<vec128_32f>, resultSegmentSizes = array<i32: 1, 1, 1, 1, 0>}
        : (tensor<256x384xbf16>) -> (tensor<256x384xf8E4M3FN>, tensor<768xf32>,
        tensor<384x256xf8E4M3FN>, tensor<768xf32>)
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[F32, F16, BF16, F8E4M3FN, F8E5M2]>, "[R, C]">:$x,
    Arg<Optional<MPT_ScaleTensor>, "one dimension; where x is 8 bits wide">:$scales,
    Arg<Optional<RankedTensorOf<[F32]>>, "one number">:$factor,
    Arg<DenseI64ArrayAttr, "rows and elements along K of a block">:$block,
    Arg<MPT_GemmScaling, "layout of the scales">:$scaling,
    Arg<DefaultValuedAttr<MPT_ScaleRule, "::mpt::ScaleRule::PowerOfTwo">,
        "as in `mpt.block_scale`">:$rule,
    Arg<OptionalAttr<TypeAttr>, "f16 or bf16, narrower than x">:$via);
  let results = (outs
    Res<Optional<MPT_PackedTensor>, "[R, C]">:$row,
    Res<Optional<MPT_ScaleTensor>, "one dimension">:$row_scales,
    Res<Optional<MPT_PackedTensor>, "[C, R]">:$column,
    Res<Optional<MPT_ScaleTensor>, "one dimension">:$column_scales,
    Res<Optional<RankedTensorOf<[F32]>>, "[R / 128, C / 128], rounded up">:$amax);
  let fixedOperands = "true";
  let fixedResults = "true";
  let assemblyFormat = [{
    $x (`scales` `(` $scales^ `)`)? (`factor` `(` $factor^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

} // MPT_ProgramDocs

#endif // MPT_DIALECT_MPT_IR_MPTOPSGEMM_TD
