//===- MPTOpsGemm.td - Matmuls of GPU libraries -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#ifndef MPT_DIALECT_MPT_IR_MPTOPSGEMM_TD
#define MPT_DIALECT_MPT_IR_MPTOPSGEMM_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

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

    Example:

    ```mlir
    %y, %saved = mpt.gemm %x, %w bias(%b)
        {epilogue = #mpt.epilogue<relu>, resultSegmentSizes = array<i32: 1, 1, 0>}
        : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>)
        -> (tensor<4x16xf32>, tensor<4x16xi8>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[M, K], or [K, M] with `transpose_lhs`">:$lhs,
    Arg<MPT_FloatTensor, "[K, N], or [N, K] with `transpose_rhs`">:$rhs,
    Arg<Optional<MPT_FloatTensor>, "[N]; forward">:$bias,
    Arg<Optional<MPT_Tensor>,
        "`saved` of the forward matmul; [M, N] for GELU, i8 [M, N padded to 128 / 8] "
        "for ReLU; backward">:$aux,
    Arg<Optional<MPT_FloatTensor>,
        "[M, N], of the result's type; without an activation">:$addend,
    Arg<UnitAttr, "lhs is transposed">:$transpose_lhs,
    Arg<UnitAttr, "rhs is transposed">:$transpose_rhs,
    Arg<DefaultValuedAttr<MPT_Epilogue, "::mpt::Epilogue::None">,
        "activation, forward or backward">:$epilogue);
  let results = (outs
    Res<MPT_FloatTensor, "[M, N]">:$result,
    Res<Optional<MPT_Tensor>,
        "[M, N] for GELU, i8 [M, N padded to 128 / 8] for ReLU; forward">:$saved,
    Res<Optional<MPT_FloatTensor>, "[N]; backward or without an activation">:$bias_grad);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` `(` $bias^ `)`)? (`aux` `(` $aux^ `)`)?
    (`add` `(` $addend^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

} // MPT_ProgramDocs

#endif // MPT_DIALECT_MPT_IR_MPTOPSGEMM_TD
