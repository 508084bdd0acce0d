//===- MPTOpsBlockScale.td - 8-bit floats scaled by blocks -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTOPSBLOCKSCALE_TD
#define MPT_DIALECT_MPT_IR_MPTOPSBLOCKSCALE_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

/// f4E2M1FN is multiplied by mpt.scaled_matmul alone.
def MPT_BlockTensor : RankedTensorOf<[F8E4M3FN, F8E5M2, F4E2M1FN]>;
def MPT_QuantizableTensor : RankedTensorOf<[F32, F16, BF16]>;

let opDocGroup = MPT_BlockScaleDocs in {

def MPT_BlockScaleOp : MPT_InferredOp<"block_scale", "Deny", "Deny", [MPT_Elementwise]> {
  let summary = "scale of a block for its largest magnitude, elementwise";
  let otherNames = [OtherName<"compute_scale">, OtherName<"float_to_e8m0">];
  let description = [{
    The factor by which `mpt.dequantize` multiplies the elements of a block whose largest
    magnitude is `amax`. M is the largest number of `format` (448 for f8E4M3FN, 57344 for
    f8E5M2, 6 for f4E2M1FN), and 2^E the largest power of two in it (E is 8, 15 and 2).
    With `rule`

    - `largest`: amax / M, at least 2^-126, the smallest normal f32;
    - `power_of_two`: the smallest power of two that is not smaller than the f32 number
      amax / M, at least 2^-126;
    - `ocp_mx`: 2^(floor(log2 amax) - E), at least 2^-127, as in the OCP Microscaling (MX)
      specification 1.0, section 6.3. Elements above M times the scale saturate.

    An amax of zero gives 1. If amax is not finite, the scale is NaN, so the whole block
    reads as NaN (the specification leaves such blocks open). A scale of f8E8M0FNU is a
    power of two between 2^-127 and 2^127, or NaN (0xFF). A scale of f8E4M3FN is that of
    `largest`, rounded to nearest even, but at least 2^-9 and at most 448, the numbers that
    the type has: NVFP4 scales the tensor first, so that its scales lie in between.

    Example:

    ```mlir
    %s = mpt.block_scale %amax {format = f8E4M3FN, rule = #mpt.scale_rule<power_of_two>}
        : (tensor<4x2xf32>) -> tensor<4x2xf8E8M0FNU>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[F32]>, "any shape; not negative">:$amax,
    Arg<TypeAttr, "f8E4M3FN, f8E5M2 or f4E2M1FN: the elements' type">:$format,
    Arg<DefaultValuedAttr<MPT_ScaleRule, "::mpt::ScaleRule::Largest">,
        "how the scale follows from amax">:$rule);
  let results = (outs
    Res<MPT_ScaleTensor,
        "amax's shape; f32, for powers of two f8E8M0FNU, or for `largest` "
        "f8E4M3FN">:$scale);
  let fixedOperands = "true";
  let fixedResults = "true";
  let inferTypes = MPT_LikeFirst.body;
  let scalar = [{ return b.blockScale(amax, getRule(), getFormat()); }];
  let hasVerifier = 1;
}

def MPT_QuantizeOp : MPT_InferredOp<"quantize", "Stable", "Stable"> {
  let summary = "8-bit floats with one scale for each block";
  let otherNames = [
    OtherName<"quantize_blockwise">, OtherName<"per_token_cast_to_fp8">,
    OtherName<"per_block_cast_to_fp8">];
  let description = [{
    The last two dimensions of x are cut into blocks of `block` rows and columns, from the
    first element on; the last block of a dimension may be smaller. Each block has the
    scale that `mpt.block_scale` gives for its largest magnitude, and

        q = round(min(max(x / scale, -M), M))

    where M is the largest number of q's type. The division is rounded to f32, the rest
    to nearest even. A block with a NaN or an infinity is NaN as a whole; f4E2M1FN has no
    NaN, so there its scale alone is. Common blocks are [1, 128] for activations and
    gradients and [128, 128] for weights (DeepSeek-V3, arXiv 2412.19437, section 3.3),
    [1, 32] and [32, 1] with scales of f8E8M0FNU (MXFP8, and with f4E2M1FN MXFP4), and
    [1, 16] of f4E2M1FN with scales of f8E4M3FN (NVFP4, whose factor of the whole tensor
    is a multiplication before).

    Example:

    ```mlir
    %q, %s = mpt.quantize %x {block = array<i64: 1, 128>}
        : (tensor<16x300xf32>) -> (tensor<16x300xf8E4M3FN>, tensor<16x3xf32>)
    %p, %t = mpt.quantize %x {block = array<i64: 1, 32>, rule = #mpt.scale_rule<ocp_mx>}
        : (tensor<16x300xf32>) -> (tensor<16x300xf8E4M3FN>, tensor<16x10xf8E8M0FNU>)
    %n, %u = mpt.quantize %x {block = array<i64: 1, 16>}
        : (tensor<16x300xf32>) -> (tensor<16x300xf4E2M1FN>, tensor<16x19xf8E4M3FN>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_QuantizableTensor, "[.., R, C]">:$x,
    Arg<DenseI64ArrayAttr, "rows and columns of a block">:$block,
    Arg<DefaultValuedAttr<MPT_ScaleRule, "::mpt::ScaleRule::Largest">,
        "as in `mpt.block_scale`">:$rule);
  let results = (outs
    Res<MPT_BlockTensor, "x's shape; f8E4M3FN by default, or f8E5M2 or f4E2M1FN">:$q,
    Res<MPT_ScaleTensor,
        "[.., R / rows, C / columns], rounded up; f32, for powers of two f8E8M0FNU, or "
        "for `largest` f8E4M3FN">:$scales);
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_DequantizeOp : MPT_InferredOp<"dequantize", "Deny", "Deny"> {
  let summary = "numbers that 8-bit floats and the scales of their blocks stand for";
  let description = [{
    y = q * scale, with the scale of q's block, computed in f32 and rounded once to the
    result's type. If scales are powers of two, the product is exact unless it is smaller
    than 2^-126.

    Example:

    ```mlir
    %y = mpt.dequantize %q, %s {block = array<i64: 1, 128>}
        : (tensor<16x300xf8E4M3FN>, tensor<16x3xf32>) -> tensor<16x300xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_BlockTensor, "[.., R, C]">:$q,
    Arg<MPT_ScaleTensor, "[.., R / rows, C / columns], rounded up">:$scales,
    Arg<DenseI64ArrayAttr, "rows and columns of a block">:$block);
  let results = (outs
    Res<MPT_QuantizableTensor, "q's shape; f32 by default">:$y);
  let fixedOperands = "true";
  let hasVerifier = 1;
}

def MPT_ScaledMatmulOp : MPT_InferredOp<"scaled_matmul", "Allow", "Allow"> {
  let wideResults = "true";
  let summary = "matmul of 8-bit floats whose blocks have scales";
  let otherNames = [
    OtherName<"torch._scaled_mm", "with the scales of `mpt.quantize`">,
    OtherName<"fp8_gemm">];
  let description = [{
    result = (lhs * its scales) @ (rhs * its scales). K is cut into segments of
    `promotion` elements from the first on; the last may be smaller. The sum of each
    segment is an f32 number. They are added in f32, in ascending order of K:

        result = t_0 + t_1 + ..,    t_j = s_j * (sum of a * b over segment j)

    An operand whose scale is the same for all of a segment gives a = q, and its scale is
    a factor of s_j. Otherwise a is q * scale, rounded to f32. s_j (the product of the
    scales), t_j and each sum are rounded to f32, and the result once to its type. The
    order of sums inside a segment is up to the implementation. `promotion = 0` makes one
    segment of K.

    A segment must consist of whole blocks, or lie in one block, of either operand. Hopper's
    tensor cores keep about 14 bits of a sum of 8-bit floats; with `promotion = 128` no
    more than 128 products are added that way (DeepSeek-V3, section 3.3.2).

    `accumulator_bits` models such sums, for experiments: it is slow, and the same on
    every machine. A segment's sum then grows by 32 products at a time. These and the sum
    so far are aligned to the largest exponent among them and cut to that many bits,
    towards minus infinity, before they are added (DeepSeek-V3, section 3.5.2, which gives
    14 bits for Hopper).

    Example:

    ```mlir
    // A weight [out, in] in blocks of 128 by 128.
    %y = mpt.scaled_matmul %x, %sx, %w, %sw {lhs_block = array<i64: 1, 128>,
        rhs_block = array<i64: 128, 128>, transpose_rhs}
        : (tensor<16x256xf8E4M3FN>, tensor<16x2xf32>, tensor<384x256xf8E4M3FN>,
        tensor<3x2xf32>) -> tensor<16x384xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_BlockTensor, "[M, K], or [K, M] with `transpose_lhs`">:$lhs,
    Arg<MPT_ScaleTensor, "lhs's scales, in the order of its dimensions">:$lhs_scales,
    Arg<MPT_BlockTensor, "[K, N], or [N, K] with `transpose_rhs`">:$rhs,
    Arg<MPT_ScaleTensor, "rhs's scales, in the order of its dimensions">:$rhs_scales,
    Arg<DenseI64ArrayAttr, "rows and columns of a block of lhs, as it is stored">:$lhs_block,
    Arg<DenseI64ArrayAttr, "rows and columns of a block of rhs, as it is stored">:$rhs_block,
    Arg<UnitAttr, "lhs is transposed">:$transpose_lhs,
    Arg<UnitAttr, "rhs is transposed">:$transpose_rhs,
    Arg<DefaultValuedAttr<I64Attr, "128">,
        "elements of K that are summed before the sum is scaled and added; 0: "
        "all">:$promotion,
    Arg<DefaultValuedAttr<I64Attr, "0">,
        "significant bits of what is added in a segment, 8 to 18; 0: f32">
      :$accumulator_bits);
  let results = (outs
    Res<MPT_FloatTensor, "[M, N]; f32 by default">:$result);
  let fixedOperands = "true";
  let moreDeclarations = [{
    /// The number of products that are summed for each element.
    int64_t getSumSize();
    /// The elements of K in a segment; all of K if `promotion` is 0.
    int64_t getSegmentSize();
  }];
  let hasVerifier = 1;
}

} // MPT_BlockScaleDocs

#endif // MPT_DIALECT_MPT_IR_MPTOPSBLOCKSCALE_TD
