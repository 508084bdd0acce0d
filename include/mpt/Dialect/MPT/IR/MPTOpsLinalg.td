//===- MPTOpsLinalg.td - Matmuls, convolutions, attention -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTOPSLINALG_TD
#define MPT_DIALECT_MPT_IR_MPTOPSLINALG_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

let opDocGroup = MPT_LinalgDocs in {

def MPT_MatmulOp : MPT_InferredOp<"matmul", "Allow", "Allow", [MPT_Differentiable]> {
  let wideResults = "true";
  let summary = "matrix multiplication, with leading batch dimensions";
  let otherNames = [
    OtherName<"torch.matmul">, OtherName<"torch.mm">, OtherName<"torch.bmm">,
    OtherName<"batch_matmul">, OtherName<"torch.mv", "with the vector as [K, 1]">,
    OtherName<"torch.einsum",
             "after `mpt.transpose` and `mpt.reshape` to [batch.., M, K] and [batch.., K, N]">,
    OtherName<"dot_general">, OtherName<"dot">, OtherName<"gemv">,
    OtherName<"matrix_multiply">];
  let description = [{
    result = lhs @ rhs. Products of elements are exact; they are summed in
    `acc_type` and rounded once to the result's type, which may be f32 for
    narrow operands. With `fast_accumulation` a GPU's tensor cores may keep sums of 8-bit
    operands in their own precision, on Hopper about 14 significant bits (DeepSeek-V3, arXiv
    2412.19437, section 3.5.2). Others, and CPUs, sum in `acc_type` all the same.

    Example:

    ```mlir
    %y = mpt.matmul %a, %b {transpose_rhs}
        : (tensor<2x4x8xbf16>, tensor<2x16x8xbf16>) -> tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor,
        "[batch.., M, K], or [batch.., K, M] with `transpose_lhs`">:$lhs,
    Arg<MPT_FloatTensor,
        "[batch.., K, N], or [batch.., N, K] with `transpose_rhs`; the same batch "
        "dimensions as lhs, or none, then shared by the batch">:$rhs,
    Arg<UnitAttr, "lhs is transposed in its last two dimensions">:$transpose_lhs,
    Arg<UnitAttr, "rhs is transposed in its last two dimensions">:$transpose_rhs,
    Arg<OptionalAttr<TypeAttr>,
        "type in which sums are computed, f32 or f64; by default f32 for narrower "
        "operands, else the operands' type">:$acc_type,
    Arg<UnitAttr,
        "sums of 8-bit operands may have fewer bits than `acc_type` (cuBLASLt's "
        "CUBLASLT_MATMUL_DESC_FAST_ACCUM, `use_fast_accum` of PyTorch); both operands "
        "have 8 bits">:$fast_accumulation);
  let results = (outs
    Res<MPT_FloatTensor, "[batch.., M, N]">:$result);
  let hasVerifier = 1;
}

def MPT_LinearOp : MPT_InferredOp<"linear", "Allow", "Allow", [MPT_Differentiable]> {
  let wideResults = "true";
  let summary = "dense layer: x @ weight + bias, then an activation";
  let otherNames = [
    OtherName<"F.linear", "with `transpose_weight`">,
    OtherName<"nn.Linear", "with `transpose_weight`">,
    OtherName<"torch.addmm", "of mat1, mat2 and a bias [out]">, OtherName<"dense">,
    OtherName<"fully_connected">, OtherName<"fc">, OtherName<"affine">];
  let description = [{
    result = epilogue(x @ weight + bias). The sum, the bias and the epilogue are
    computed in `acc_type` and rounded once to the result's type, whatever
    executes them: this op defines what a fused GEMM epilogue means. The weight
    is [in, out], or with `transpose_weight` [out, in] as in PyTorch.

    Example:

    ```mlir
    %y = mpt.linear %x, %w, %b {epilogue = #mpt.epilogue<relu>}
        : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
    // As PyTorch stores the weight.
    %z = mpt.linear %y, %v, %c {transpose_weight}
        : (tensor<4x16xf32>, tensor<2x16xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., in]">:$x,
    Arg<MPT_FloatTensor, "[in, out], or [out, in] with `transpose_weight`">:$weight,
    Arg<Optional<MPT_FloatTensor>, "[out]">:$bias,
    Arg<DefaultValuedAttr<MPT_Epilogue, "::mpt::Epilogue::None">,
        "activation that is applied to the sum">:$epilogue,
    Arg<OptionalAttr<TypeAttr>,
        "type in which sums are computed, f32 or f64; by default f32 for narrower "
        "operands, else the operands' type">:$acc_type,
    Arg<UnitAttr, "the weight is transposed">:$transpose_weight,
    Arg<UnitAttr,
        "sums of 8-bit operands may have fewer bits than `acc_type` (cuBLASLt's "
        "CUBLASLT_MATMUL_DESC_FAST_ACCUM, `use_fast_accum` of PyTorch); both operands "
        "have 8 bits">:$fast_accumulation);
  let results = (outs
    Res<MPT_FloatTensor, "[.., out]">:$result);
  let fixedOperands = "index == 2";
  let gradient = [{
    dy = b.throughEpilogue(*this, getEpilogue(), dy);
    auto weightGrad = [&] {
      Value x = b.flatten(getX()), rows = b.flatten(dy);
      if (getTransposeWeight())
        std::swap(x, rows);
      return b.matmul(getWeight().getType(), x, rows, true, false, getAccTypeAttr());
    };
  }];
  let gradients = [
    "b.matmul(getX().getType(), dy, getWeight(), false, !getTransposeWeight(), "
    "getAccTypeAttr())",
    "weightGrad()",
    "dy"];
  let hasVerifier = 1;
}

def MPT_Conv2DOp : MPT_InferredOp<"conv2d", "Allow", "Allow", [MPT_Differentiable]> {
  let wideResults = "true";
  let summary = "2-d convolution, NHWC by HWIO";
  let otherNames = [
    OtherName<"F.conv2d", "in the layout NHWC, with `oihw`">,
    OtherName<"nn.Conv2d", "in the layout NHWC, with `oihw`">,
    OtherName<"F.conv1d", "with H = 1">, OtherName<"nn.Conv1d", "with H = 1">,
    OtherName<"convolution">, OtherName<"conv">,
    OtherName<"depthwise_conv2d", "with `groups` = C">,
    OtherName<"conv_general_dilated", "in the layouts NHWC and HWIO">];
  let description = [{
    OH = (H + low + high - dilation (KH - 1) - 1) / stride + 1, rounded down,
    and OW likewise. As in PyTorch, the filter is not flipped (a
    cross-correlation). The sum, the bias and the epilogue are computed in
    `acc_type` and rounded once. PyTorch's x [N, C, H, W] is transposed to this
    layout; its filter [O, C / groups, KH, KW] is read as it is with `oihw`.

    Example:

    ```mlir
    %y = mpt.conv2d %x, %f {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>,
        dilations = array<i64: 1, 1>} : (tensor<2x8x8x3xf32>, tensor<3x3x3x16xf32>)
        -> tensor<2x8x8x16xf32>
    // The same with PyTorch's filter.
    %z = mpt.conv2d %x, %g {padding = array<i64: 1, 1, 1, 1>, oihw}
        : (tensor<2x8x8x3xf32>, tensor<16x3x3x3xf32>) -> tensor<2x8x8x16xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[N, H, W, C]">:$x,
    Arg<MPT_FloatTensor,
        "[KH, KW, C / groups, O], or [O, C / groups, KH, KW] with `oihw`">:$filter,
    Arg<Optional<MPT_FloatTensor>, "[O]">:$bias,
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">, "[h, w]">:$strides,
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">,
        "rows and columns of zeros, [h low, h high, w low, w high]; PyTorch's "
        "`padding=(p, q)` is [p, p, q, q]">:$padding,
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">, "[h, w]">:$dilations,
    Arg<DefaultValuedAttr<I64Attr, "1">, "number of groups; divides C and O">:$groups,
    Arg<DefaultValuedAttr<MPT_Epilogue, "::mpt::Epilogue::None">,
        "activation that is applied to the sum">:$epilogue,
    Arg<OptionalAttr<TypeAttr>,
        "type in which sums are computed, f32 or f64; by default f32 for narrower "
        "operands, else the operands' type">:$acc_type,
    Arg<UnitAttr, "the filter is [O, C / groups, KH, KW], as PyTorch's are">:$oihw);
  let results = (outs
    Res<MPT_FloatTensor, "[N, OH, OW, O]">:$result);
  let fixedOperands = "index == 2";
  let gradient = [{ dy = b.throughEpilogue(*this, getEpilogue(), dy); }];
  let gradients = [
    "b.make<Conv2DInputGradOp>(getX().getType(), dy, getFilter(), getStridesAttr(), "
    "getPaddingAttr(), getDilationsAttr(), getGroupsAttr(), getAccTypeAttr(), "
    "getOihwAttr())",
    "b.make<Conv2DFilterGradOp>(getFilter().getType(), getX(), dy, getStridesAttr(), "
    "getPaddingAttr(), getDilationsAttr(), getGroupsAttr(), getAccTypeAttr(), "
    "getOihwAttr())",
    "dy"];
  let hasVerifier = 1;
}

class MPT_ConvGradOp<string mnemonic> : MPT_TensorOp<mnemonic, "Allow", "Allow"> {
  let wideResults = "true";
  dag windowArgs = (ins
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">, "as in `mpt.conv2d`">:$strides,
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">,
        "as in `mpt.conv2d`">:$padding,
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">, "as in `mpt.conv2d`">:$dilations,
    Arg<DefaultValuedAttr<I64Attr, "1">, "as in `mpt.conv2d`">:$groups,
    Arg<OptionalAttr<TypeAttr>,
        "type in which sums are computed, f32 or f64; by default f32 for narrower "
        "operands, else the operands' type">:$acc_type,
    Arg<UnitAttr, "the filter is [O, C / groups, KH, KW], as PyTorch's are">:$oihw);
  let hasVerifier = 1;
}

def MPT_Conv2DInputGradOp : MPT_ConvGradOp<"conv2d_input_grad"> {
  let summary = "gradient of `mpt.conv2d` for its input";
  let otherNames = [
    OtherName<"torch.nn.grad.conv2d_input", "in the layout NHWC, with `oihw`">,
    OtherName<"F.conv_transpose2d", "of x as `dy`, in the layout NHWC, with `oihw`">,
    OtherName<"nn.ConvTranspose2d", "of x as `dy`, in the layout NHWC, with `oihw`">];
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    The result is dx [N, H, W, C]. Its type gives H and W, which dy does not
    determine where a stride is above 1. In a forward function it is a transposed
    convolution, and has gradients for dy and the filter.

    Example:

    ```mlir
    %dx = mpt.conv2d_input_grad %dy, %f {padding = array<i64: 1, 1, 1, 1>}
        : (tensor<2x8x8x16xf32>, tensor<3x3x3x16xf32>) -> tensor<2x8x8x3xf32>
    ```
  }];
  let arguments = !con((ins
    Arg<MPT_FloatTensor, "[N, OH, OW, O]">:$dy,
    Arg<MPT_FloatTensor,
        "[KH, KW, C / groups, O], or [O, C / groups, KH, KW] with `oihw`">:$filter),
    windowArgs);
  let results = (outs
    Res<MPT_FloatTensor, "[N, H, W, C]">:$result);
}

def MPT_Conv2DFilterGradOp : MPT_ConvGradOp<"conv2d_filter_grad"> {
  let summary = "gradient of `mpt.conv2d` for its filter";
  let otherNames = [
    OtherName<"torch.nn.grad.conv2d_weight", "in the layout NHWC, with `oihw`">];
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    The result is the filter's gradient, in the filter's layout. Its type gives
    KH and KW.

    Example:

    ```mlir
    %df = mpt.conv2d_filter_grad %x, %dy {padding = array<i64: 1, 1, 1, 1>}
        : (tensor<2x8x8x3xf32>, tensor<2x8x8x16xf32>) -> tensor<3x3x3x16xf32>
    ```
  }];
  let arguments = !con((ins
    Arg<MPT_FloatTensor, "[N, H, W, C]">:$x,
    Arg<MPT_FloatTensor, "[N, OH, OW, O]">:$dy), windowArgs);
  let results = (outs
    Res<MPT_FloatTensor,
        "[KH, KW, C / groups, O], or [O, C / groups, KH, KW] with `oihw`">:$result);
}

def MPT_AttentionOp : MPT_InferredOp<"attention", "Allow", "Allow",
                                     [MPT_Differentiable, AttrSizedOperandSegments]> {
  let summary = "scaled dot-product attention";
  let otherNames = [
    OtherName<"F.scaled_dot_product_attention">,
    OtherName<"nn.MultiheadAttention",
             "between `mpt.linear`, `mpt.reshape` and `mpt.transpose` to [N, H, T, D]">,
    OtherName<"sdpa">, OtherName<"flash_attention">,
    OtherName<"multi_head_attention",
             "between `mpt.linear`, `mpt.reshape` and `mpt.transpose` to [N, H, T, D]">,
    OtherName<"grouped_query_attention", "keys and values with fewer heads than queries">,
    OtherName<"multi_query_attention", "keys and values with one head">,
    OtherName<"alibi", "its slopes times distances as `bias`">];
  let description = [{
    result = dropout(softmax(scale query @ key^T + bias)) @ value, for each batch
    entry and head. A GPU's fused attention scales the scores, in f32; elsewhere the query
    is scaled, and rounded to its type, before the matmul. For scales that are powers of
    two, as 1 / sqrt(64), both are the same. The bias is added in f32, and softmax statistics are f32; probabilities are rounded
    to value's type before the second matmul. A row that sees no position is zeros, its
    log_sum_exp -inf, and its gradients are zeros. The mask has no gradient; the bias
    has one.

    Keys and values may have G heads, where G divides H: query head h reads head
    h / (H / G) of them (grouped-query attention, Ainslie et al. 2023, and PyTorch's
    `enable_gqa`; with G = 1 multi-query attention, Shazeer 2019).

    With `dropout`, a probability becomes 0 with that rate and is divided by
    1 - `dropout` otherwise. The mask is that of `mpt.random_mask` with the shape
    [B, H, T, S]; the gradient draws it again.

    Example:

    ```mlir
    %y, %lse = mpt.attention %q, %k, %v {causal}
        : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
        -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
    // Padding: the same positions for all heads and queries of a sequence.
    %z, %lse2 = mpt.attention %q, %k, %v, %isWord
        : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>,
        tensor<2x1x1x16xi1>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
    // Two heads of keys and values for four of queries, learned distances, dropout.
    %w, %lse3 = mpt.attention %q, %k2, %v2 bias(%distances) rng(%seed, %attempt)
        {dropout = 0.1 : f64, stream = 3 : i64}
        : (tensor<2x4x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>,
        tensor<1x4x16x16xf32>, tensor<i64>, tensor<i64>)
        -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[B, H, T, D]">:$query,
    Arg<MPT_FloatTensor, "[B, G, S, D]; G divides H">:$key,
    Arg<MPT_FloatTensor, "[B, G, S, E]">:$value,
    Arg<Optional<MPT_BoolTensor>,
        "[B, H, T, S], any size 1 where it is the same for all; false hides a "
        "position (PyTorch's boolean `attn_mask`)">:$mask,
    Arg<Optional<MPT_FloatTensor>,
        "[B, H, T, S], any size 1 where it is the same for all; is added to the scaled "
        "scores (PyTorch's float `attn_mask`) and keeps its type in mixed "
        "precision">:$bias,
    Arg<Optional<0DTensorOf<[I64]>>,
        "scalar; the run's seed, an argument with the role `rng`; with `dropout`">:$seed,
    Arg<Optional<0DTensorOf<[I64]>>,
        "scalar; the number of steps tried, an argument with the role `rng`; with "
        "`dropout`">:$attempt,
    Arg<UnitAttr,
        "query t sees no position s > t + S - T; needs S >= T (PyTorch's `is_causal`)">:$causal,
    Arg<OptionalAttr<F64Attr>, "factor of the scores; by default 1 / sqrt(D)">:$scale,
    Arg<OptionalAttr<F64Attr>,
        "probability that a probability becomes 0, in [0, 1); PyTorch's "
        "`dropout_p`">:$dropout,
    Arg<OptionalAttr<I64Attr>,
        "number that no other random op of the function has; with `dropout`">:$stream,
    Arg<OptionalAttr<TypeAttr>,
        "type in which sums are computed, f32 or f64; by default f32 for narrower "
        "operands, else the operands' type">:$acc_type,
    Arg<UnitAttr, "one call of the program carries it out, so that it is not "
        "decomposed; planning sets it">:$fused);
  let results = (outs
    Res<MPT_FloatTensor, "[B, H, T, E]">:$result,
    Res<MPT_FloatTensor, "[B, H, T]; f32 (f64 for f64), saved for the gradient">:$log_sum_exp);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`,` $mask^)? (`bias` `(` $bias^ `)`)?
    (`rng` `(` $seed^ `,` $attempt `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let fixedOperands = "index >= 3";
  let fixedResults = "index == 1";
  let gradient = [{
    if (resultGrads[1])
      return emitOpError("has no gradient rule for its result log_sum_exp");
    if (!dy)
      return success();
    auto grad = AttentionGradOp::create(
        builder, getLoc(), dy, getQuery(), getKey(), getValue(), getResult(),
        getLogSumExp(), getMask(), getBias(), getSeed(), getAttempt(), getCausalAttr(),
        getScaleAttr(), getDropoutAttr(), getStreamAttr(), getAccTypeAttr(),
        /*fused=*/UnitAttr());
    llvm::copy(grad->getResults().take_front(3), operandGrads.begin());
    if (getBias())
      operandGrads[getODSOperandIndexAndLength(4).first] = grad.getDbias();
    return success();
  }];
  let hasVerifier = 1;
}

def MPT_AttentionGradOp : MPT_InferredOp<"attention_grad", "Allow", "Allow",
                                         [AttrSizedOperandSegments]> {
  let summary = "gradient of `mpt.attention`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    Recomputes the probabilities from query, key and log_sum_exp
    (FlashAttention, Dao et al. 2022), rounded as in `mpt.attention`. The
    gradient of the scores is rounded to value's type, too; that of the bias is its
    sum before it is rounded.

    Example:

    ```mlir
    %dq, %dk, %dv = mpt.attention_grad %dy, %q, %k, %v, %y, %lse {causal}
        : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>,
        tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
        -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[B, H, T, E]; gradient of the result">:$dy,
    Arg<MPT_FloatTensor, "[B, H, T, D]">:$query,
    Arg<MPT_FloatTensor, "[B, G, S, D]">:$key,
    Arg<MPT_FloatTensor, "[B, G, S, E]">:$value,
    Arg<MPT_FloatTensor, "[B, H, T, E]; from `mpt.attention`">:$result,
    Arg<MPT_FloatTensor, "[B, H, T]; from `mpt.attention`">:$log_sum_exp,
    Arg<Optional<MPT_BoolTensor>, "as in `mpt.attention`">:$mask,
    Arg<Optional<MPT_FloatTensor>, "as in `mpt.attention`">:$bias,
    Arg<Optional<0DTensorOf<[I64]>>, "as in `mpt.attention`">:$seed,
    Arg<Optional<0DTensorOf<[I64]>>, "as in `mpt.attention`">:$attempt,
    Arg<UnitAttr, "as in `mpt.attention`">:$causal,
    Arg<OptionalAttr<F64Attr>, "as in `mpt.attention`">:$scale,
    Arg<OptionalAttr<F64Attr>, "as in `mpt.attention`">:$dropout,
    Arg<OptionalAttr<I64Attr>, "as in `mpt.attention`">:$stream,
    Arg<OptionalAttr<TypeAttr>, "as in `mpt.attention`">:$acc_type,
    Arg<UnitAttr, "as in `mpt.attention`">:$fused);
  let results = (outs
    Res<MPT_FloatTensor, "query's shape">:$dquery,
    Res<MPT_FloatTensor, "key's shape">:$dkey,
    Res<MPT_FloatTensor, "value's shape">:$dvalue,
    Res<Optional<MPT_FloatTensor>, "bias's shape; if there is a bias">:$dbias);
  let assemblyFormat = [{
    $dy `,` $query `,` $key `,` $value `,` $result `,` $log_sum_exp (`,` $mask^)?
    (`bias` `(` $bias^ `)`)? (`rng` `(` $seed^ `,` $attempt `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let fixedOperands = "index >= 5";
  let fixedResults = "index == 3";
  let inferTypes = [{
    for (Value operand : {adaptor.getQuery(), adaptor.getKey(), adaptor.getValue()})
      types.push_back(operand.getType());
    if (adaptor.getBias())
      types.push_back(adaptor.getBias().getType());
    return success();
  }];
  let hasVerifier = 1;
}

def MPT_LSTMCellOp : MPT_InferredOp<"lstm_cell", "Allow", "Allow", [MPT_Differentiable]> {
  let summary = "one time step of a long short-term memory cell";
  let otherNames = [
    OtherName<"nn.LSTMCell",
             "with `transpose_weights` and one bias, the sum of PyTorch's two">,
    OtherName<"nn.LSTM", "in an `mpt.scan` over time for each layer and direction">];
  let description = [{
    As torch.nn.LSTMCell (Hochreiter and Schmidhuber 1997, with a forget gate). The
    columns of z = x @ weight_ih + h @ weight_hh + bias are those of the gates i, f, g
    and o, H each, in this order:

        i, f, o = sigmoid(z_i), sigmoid(z_f), sigmoid(z_o);  g = tanh(z_g)
        new_c = f c + i g;  new_h = o tanh(new_c)

    z is summed in `acc_type`. Everything is computed in f32, and each result is
    rounded once; new_h is computed from the unrounded new_c. The cell state c keeps
    its type in mixed precision, because it is a sum over time.

    Example:

    ```mlir
    %h1, %c1, %gates = mpt.lstm_cell %x, %h, %c, %w, %u, %b
        : (tensor<4x8xbf16>, tensor<4x16xbf16>, tensor<4x16xf32>, tensor<8x64xbf16>,
        tensor<16x64xbf16>, tensor<64xf32>)
        -> (tensor<4x16xbf16>, tensor<4x16xf32>, tensor<4x64xbf16>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[B, I]; the step's input">:$x,
    Arg<MPT_FloatTensor, "[B, H]; the hidden state">:$h,
    Arg<MPT_FloatTensor, "[B, H]; the cell state">:$c,
    Arg<MPT_FloatTensor, "[I, 4H], or [4H, I] with `transpose_weights`">:$weight_ih,
    Arg<MPT_FloatTensor, "[H, 4H], or [4H, H] with `transpose_weights`">:$weight_hh,
    Arg<Optional<MPT_FloatTensor>, "[4H]; the sum of PyTorch's two">:$bias,
    Arg<OptionalAttr<TypeAttr>,
        "type in which sums are computed, f32 or f64; by default f32 for narrower "
        "operands, else the operands' type">:$acc_type,
    Arg<UnitAttr, "both weights are transposed, as PyTorch's are">:$transpose_weights);
  let results = (outs
    Res<MPT_FloatTensor, "[B, H]">:$new_h,
    Res<MPT_FloatTensor, "[B, H]">:$new_c,
    Res<MPT_FloatTensor, "[B, 4H]; i, f, g and o, saved for the gradient">:$gates);
  let fixedOperands = "index == 2 || index == 5";
  let fixedResults = "index == 1";
  let hasVerifier = 1;
}

} // MPT_LinalgDocs

#endif // MPT_DIALECT_MPT_IR_MPTOPSLINALG_TD
