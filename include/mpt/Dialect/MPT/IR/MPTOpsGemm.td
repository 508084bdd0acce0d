//===- MPTOpsGemm.td - Products of GPU libraries -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#ifndef MPT_DIALECT_MPT_IR_MPTOPSGEMM_TD
#define MPT_DIALECT_MPT_IR_MPTOPSGEMM_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

def MPT_GemmOp : MPT_TensorOp<"gemm", "Allow", "Allow",
                              [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let wideResults = "true";
  let summary = "product that saves or uses what its activation needs backward";
  let description = [{
    One call of cuBLASLt with an epilogue that no other op has; for steps that are
    planned for GPUs. lhs is [M, K] ([K, M] with `transpose_lhs`), rhs [K, N] ([N, K]
    with `transpose_rhs`), result [M, N]. With s = lhs @ rhs + bias, summed in f32:

    - forward (`saved` is a result): result = activation(s). `saved` is s itself for
      GELU, in the result's type, and whether s is positive for ReLU: one bit an
      element, rows padded to 128 bits, in an order that only the library knows.
    - backward (`aux` is given, a `saved`): result = s * activation'(aux). `bias_grad`
      [N], if it is there, is its sum over rows.
    - no activation: result = s, plus `addend` if it is there, which is added before
      the one rounding and has the result's type (beta = 1: a weight's gradient on top
      of that of the micro-batches before). `bias_grad` [N] is rhs summed over K.

    Example:

    ```mlir
    %y, %saved = mpt.gemm %x, %w bias(%b) {epilogue = #mpt.epilogue<relu>, resultSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x16xi8>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$lhs, MPT_FloatTensor:$rhs,
                       Optional<MPT_FloatTensor>:$bias, Optional<MPT_Tensor>:$aux,
                       Optional<MPT_FloatTensor>:$addend,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
    DefaultValuedAttr<MPT_Epilogue, "::mpt::Epilogue::None">:$epilogue);
  let results = (outs MPT_FloatTensor:$result, Optional<MPT_Tensor>:$saved,
                      Optional<MPT_FloatTensor>:$bias_grad);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` `(` $bias^ `)`)? (`aux` `(` $aux^ `)`)?
    (`add` `(` $addend^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // MPT_DIALECT_MPT_IR_MPTOPSGEMM_TD
