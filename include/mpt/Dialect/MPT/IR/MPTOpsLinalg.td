//===- MPTOpsLinalg.td - Products, convolutions, attention -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTOPSLINALG_TD
#define MPT_DIALECT_MPT_IR_MPTOPSLINALG_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

def MPT_MatmulOp : MPT_InferredOp<"matmul", "Allow", "Allow", [MPT_Differentiable]> {
  let wideResults = "true";
  let summary = "matrix product, with leading batch dimensions";
  let description = [{
    lhs is [batch.., M, K] ([batch.., K, M] with `transpose_lhs`), rhs
    [batch.., K, N] ([batch.., N, K] with `transpose_rhs`) with the same batch
    dimensions, or of rank 2 and shared by the batch. Products are exact,
    summed in `acc_type`, rounded once.

    Example:

    ```mlir
    %y = mpt.matmul %a, %b {transpose_rhs} : (tensor<2x4x8xbf16>, tensor<2x16x8xbf16>) -> tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$lhs, MPT_FloatTensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
                       OptionalAttr<TypeAttr>:$acc_type);
  let results = (outs MPT_FloatTensor:$result);
  let hasVerifier = 1;
}

def MPT_LinearOp : MPT_InferredOp<"linear", "Allow", "Allow", [MPT_Differentiable]> {
  let wideResults = "true";
  let summary = "dense layer: epilogue(x @ weight + bias), rounded once";
  let description = [{
    x is [.., in], weight [in, out], bias [out] if present. The sum, the bias
    and the epilogue are computed in `acc_type` and rounded once, whatever
    executes them: this op defines what a fused GEMM epilogue means.

    Example:

    ```mlir
    %y = mpt.linear %x, %w, %b {epilogue = #mpt.epilogue<relu>} : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, MPT_FloatTensor:$weight,
                       Optional<MPT_FloatTensor>:$bias,
    DefaultValuedAttr<MPT_Epilogue, "::mpt::Epilogue::None">:$epilogue,
                       OptionalAttr<TypeAttr>:$acc_type);
  let results = (outs MPT_FloatTensor:$result);
  let fixedOperands = "index == 2";
  let hasVerifier = 1;
}

def MPT_Conv2DOp : MPT_InferredOp<"conv2d", "Allow", "Allow", [MPT_Differentiable]> {
  let wideResults = "true";
  let summary = "2-d convolution, NHWC by HWIO";
  let description = [{
    x is [N, H, W, C], filter [KH, KW, C / groups, O], optional bias [O], result
    [N, OH, OW, O] with OH = (H + lo + hi - dilation (KH - 1) - 1) / stride + 1.
    `strides` and `dilations` are [h, w], `padding` is [h lo, h hi, w lo, w hi].
    Summed with bias and epilogue in `acc_type`, rounded once.

    Example:

    ```mlir
    %y = mpt.conv2d %x, %f {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<2x8x8x16xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, MPT_FloatTensor:$filter,
                       Optional<MPT_FloatTensor>:$bias,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$strides,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$groups,
    DefaultValuedAttr<MPT_Epilogue, "::mpt::Epilogue::None">:$epilogue,
                       OptionalAttr<TypeAttr>:$acc_type);
  let results = (outs MPT_FloatTensor:$result);
  let fixedOperands = "index == 2";
  let hasVerifier = 1;
}

class MPT_ConvGradOp<string mnemonic> : MPT_TensorOp<mnemonic, "Allow", "Allow"> {
  let wideResults = "true";
  dag windowArgs = (ins
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$strides,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$groups,
    OptionalAttr<TypeAttr>:$acc_type);
  let results = (outs MPT_FloatTensor:$result);
  let hasVerifier = 1;
}

def MPT_Conv2DInputGradOp : MPT_ConvGradOp<"conv2d_input_grad"> {
  let summary = "gradient of `mpt.conv2d` for its input";
  let description = [{
    dy [N, OH, OW, O] and filter give dx [N, H, W, C], the result's shape.

    Example:

    ```mlir
    %dx = mpt.conv2d_input_grad %dy, %f {padding = array<i64: 1, 1, 1, 1>} : (tensor<2x8x8x16xf32>, tensor<3x3x3x16xf32>) -> tensor<2x8x8x3xf32>
    ```
  }];
  let arguments = !con((ins MPT_FloatTensor:$dy, MPT_FloatTensor:$filter), windowArgs);
}

def MPT_Conv2DFilterGradOp : MPT_ConvGradOp<"conv2d_filter_grad"> {
  let summary = "gradient of `mpt.conv2d` for its filter";
  let description = [{
    x [N, H, W, C] and dy [N, OH, OW, O] give [KH, KW, C / groups, O], the
    result's shape.

    Example:

    ```mlir
    %df = mpt.conv2d_filter_grad %x, %dy {padding = array<i64: 1, 1, 1, 1>} : (tensor<2x8x8x3xf32>, tensor<2x8x8x16xf32>) -> tensor<3x3x3x16xf32>
    ```
  }];
  let arguments = !con((ins MPT_FloatTensor:$x, MPT_FloatTensor:$dy), windowArgs);
}

def MPT_AttentionOp : MPT_InferredOp<"attention", "Allow", "Allow", [MPT_Differentiable]> {
  let summary = "scaled dot-product attention";
  let description = [{
    query is [B, H, T, D], key [B, H, S, D], value [B, H, S, E]; the result is
    [B, H, T, E] = softmax(scale * query @ key^T) @ value. The query is scaled,
    and rounded to its type, before the product. `causal` hides positions
    s > t + S - T and needs S >= T. `mask`, if present, is [B, H, T, S] with any
    size 1 where it is the same for all, and hides positions where it is false
    (PyTorch's boolean attn_mask); it has no gradient. A row that sees no
    position is zeros, its log_sum_exp -inf, and its gradients are zeros.
    Softmax statistics are f32; probabilities are rounded to value's type
    before the second product. `scale` defaults to 1 / sqrt(D). `log_sum_exp`
    [B, H, T] is saved for the gradient.

    Example:

    ```mlir
    %y, %lse = mpt.attention %q, %k, %v {causal} : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
    // Padding: the same positions for all heads and queries of a sequence.
    %z, %lse2 = mpt.attention %q, %k, %v, %isWord : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$query, MPT_FloatTensor:$key,
                       MPT_FloatTensor:$value, Optional<MPT_BoolTensor>:$mask,
                       UnitAttr:$causal, OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<TypeAttr>:$acc_type);
  let results = (outs MPT_FloatTensor:$result, MPT_FloatTensor:$log_sum_exp);
  let fixedResults = "index == 1";
  let hasVerifier = 1;
}

def MPT_AttentionGradOp : MPT_InferredOp<"attention_grad", "Allow", "Allow"> {
  let summary = "gradient of `mpt.attention`";
  let description = [{
    Recomputes the probabilities from query, key and the saved log-sum-exp
    (FlashAttention, Dao et al. 2022), rounded as there; so is the gradient of
    the scores, to value's type. Results have the operands' shapes.

    Example:

    ```mlir
    %dq, %dk, %dv = mpt.attention_grad %dy, %q, %k, %v, %y, %lse {causal} : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$query,
                       MPT_FloatTensor:$key, MPT_FloatTensor:$value,
                       MPT_FloatTensor:$result, MPT_FloatTensor:$log_sum_exp,
                       Optional<MPT_BoolTensor>:$mask, UnitAttr:$causal, OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<TypeAttr>:$acc_type);
  let results = (outs MPT_FloatTensor:$dquery, MPT_FloatTensor:$dkey,
                      MPT_FloatTensor:$dvalue);
  let fixedOperands = "index == 5";
  let hasVerifier = 1;
}

def MPT_LSTMCellOp : MPT_InferredOp<"lstm_cell", "Allow", "Allow", [MPT_Differentiable]> {
  let summary = "one time step of a long short-term memory cell";
  let description = [{
    As torch.nn.LSTMCell (Hochreiter and Schmidhuber 1997, with forget gate):
    the columns of z = x @ weight_ih + h @ weight_hh + bias are, in this order,
    those of the gates i, f, g and o, H each;

        i, f, o = sigmoid(z_i), sigmoid(z_f), sigmoid(z_o);  g = tanh(z_g)
        new_c = f c + i g;  new_h = o tanh(new_c)

    x is [B, I], h and c are [B, H], weight_ih [I, 4H] and weight_hh [H, 4H]
    (PyTorch's transposed), bias [4H] if present (the sum of PyTorch's two). z is
    summed in `acc_type`; all is computed in f32 and each result rounded once,
    new_h from the new_c that is not yet rounded. `gates` [B, 4H] holds i, f, g
    and o for the gradient. The cell state c keeps its type in mixed precision:
    it is a sum over time.

    Example:

    ```mlir
    %h1, %c1, %gates = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<4x8xbf16>, tensor<4x16xbf16>, tensor<4x16xf32>, tensor<8x64xbf16>, tensor<16x64xbf16>, tensor<64xf32>) -> (tensor<4x16xbf16>, tensor<4x16xf32>, tensor<4x64xbf16>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, MPT_FloatTensor:$h, MPT_FloatTensor:$c,
                       MPT_FloatTensor:$weight_ih, MPT_FloatTensor:$weight_hh,
                       Optional<MPT_FloatTensor>:$bias,
                       OptionalAttr<TypeAttr>:$acc_type);
  let results = (outs MPT_FloatTensor:$new_h, MPT_FloatTensor:$new_c,
                      MPT_FloatTensor:$gates);
  let fixedOperands = "index == 2 || index == 5";
  let fixedResults = "index == 1";
  let hasVerifier = 1;
}

#endif // MPT_DIALECT_MPT_IR_MPTOPSLINALG_TD
