//===- MPTOpsNN.td - Reductions, norms, pooling, losses -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTOPSNN_TD
#define MPT_DIALECT_MPT_IR_MPTOPSNN_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

/// x's type, and what `more` appends for `x`, a RankedTensorType of rank 1 or more.
class MPT_NormTypes<string more, string name = "x"> : MPT_Types<[{
  auto x = getTensor(adaptor.getX());
  if (failed(checkHasRows(location, x, "}] # name # [{")))
    return failure();
  types.push_back(x);
}] # more # "return success();">;
def MPT_SoftmaxTypes : MPT_NormTypes<"", "an operand">;
def MPT_SoftmaxGradTypes : MPT_Types<[{
  auto dy = getTensor(adaptor.getDy()), y = getTensor(adaptor.getY());
  if (dy.getRank() < 1 || !shapesAgree(dy.getShape(), y.getShape()))
    return emitOptionalError(
        location, "expected operands of one shape of rank 1 or more, found ", dy, " and ", y);
  types.push_back(dy);
  return success();
}]>;
def MPT_PoolTypes : MPT_Types<[{
  FailureOr<RankedTensorType> type =
      inferPool(location, getTensor(adaptor.getX()), adaptor.getWindow(),
                adaptor.getStrides(), adaptor.getPadding());
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}]>;

let opDocGroup = MPT_NNDocs in {

def MPT_ReduceOp : MPT_InferredOp<"reduce", "Deny", "Stable", [MPT_Differentiable]> {
  let summary = "sum, mean, maximum, minimum or product over axes";
  let otherNames = [
    OtherName<"torch.sum", "with `kind = #mpt.reduce_kind<sum>`">,
    OtherName<"torch.mean", "with `kind = #mpt.reduce_kind<mean>`">,
    OtherName<"torch.amax", "with `kind = #mpt.reduce_kind<max>`">,
    OtherName<"torch.amin", "with `kind = #mpt.reduce_kind<min>`">,
    OtherName<"torch.prod", "with `kind = #mpt.reduce_kind<prod>`">,
    OtherName<"reduce_sum", "with `kind = #mpt.reduce_kind<sum>`">,
    OtherName<"reduce_mean", "with `kind = #mpt.reduce_kind<mean>`">,
    OtherName<"reduce_max", "with `kind = #mpt.reduce_kind<max>`">,
    OtherName<"reduce_min", "with `kind = #mpt.reduce_kind<min>`">,
    OtherName<"average", "with `kind = #mpt.reduce_kind<mean>`">,
    OtherName<"F.adaptive_avg_pool2d",
             "with `kind = #mpt.reduce_kind<mean>` and `axes = array<i64: 1, 2>`, "
             "for an output of 1 x 1">,
    OtherName<"nn.AdaptiveAvgPool2d",
             "with `kind = #mpt.reduce_kind<mean>` and `axes = array<i64: 1, 2>`, "
             "for an output of 1 x 1">,
    OtherName<"global_average_pooling2d",
             "with `kind = #mpt.reduce_kind<mean>` and `axes = array<i64: 1, 2>`">,
    OtherName<"product", "with `kind = #mpt.reduce_kind<prod>`">];
  let description = [{
    Floats are reduced in `acc_type`, or in f64 where that costs nothing, and
    rounded once to the result's type; integers (not i1) wrap around. `mean` takes
    floats only. `max` and `min` return NaN if an element is NaN, and need at least
    one element. All axes give a scalar, and `axes = array<i64>` reduces nothing.

    Example:

    ```mlir
    %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>}
        : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_Tensor, "any shape">:$x,
    Arg<MPT_ReduceKind, "what is computed">:$kind,
    Arg<DenseI64ArrayAttr,
        "dimensions in [0, rank), each at most once; PyTorch's `dim`">:$axes,
    Arg<UnitAttr, "reduced dimensions stay, with size 1">:$keep_dims,
    Arg<OptionalAttr<TypeAttr>,
        "type in which sums are computed, f32 or f64; by default f32 for narrower "
        "operands, else the operands' type">:$acc_type);
  let results = (outs
    Res<MPT_Tensor, "x's shape without the axes, or with size 1 there">:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_ArgmaxOp : MPT_InferredOp<"argmax", "Clear", "Clear"> {
  let summary = "index of the largest element along the last axis";
  let otherNames = [OtherName<"torch.argmax", "along the last dimension">];
  let description = [{
    The first of equal elements counts, and NaN counts as largest.

    Example:

    ```mlir
    %i = mpt.argmax %x : (tensor<4x8xf32>) -> tensor<4xi32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C] with C at least 1">:$x);
  let results = (outs
    Res<MPT_IndexTensor, "[..]">:$y);
  let compatibility = "areCompatibleIndices";
  let inferTypes = [{
    auto type = getTensor(adaptor.getX());
    if (type.getRank() < 1 || type.getShape().back() == 0)
      return emitOptionalError(location,
                               "expected an operand of rank 1 or more with "
                               "at least one element in a row, found ",
                               type);
    types.push_back(
        RankedTensorType::get(type.getShape().drop_back(), IntegerType::get(context, 32)));
    return success();
  }];
}

class MPT_SoftmaxLikeOp<string mnemonic, list<Trait> traits = []>
    : MPT_InferredOp<mnemonic, "Stable", "Stable", traits>;

def MPT_SoftmaxOp : MPT_SoftmaxLikeOp<"softmax", [MPT_Differentiable]> {
  let summary = "softmax over the last axis";
  let otherNames = [
    OtherName<"torch.softmax", "along the last dimension">,
    OtherName<"F.softmax", "along the last dimension">,
    OtherName<"nn.Softmax", "along the last dimension">];
  let description = [{
    y = e^(x - max) / sum e^(x - max), computed in f32 (f64 for f64) and rounded
    once. For another axis, transpose before and after.

    Example:

    ```mlir
    %y = mpt.softmax %x : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$x);
  let results = (outs
    Res<MPT_FloatTensor, "x's shape">:$y);
  let gradients = ["b.make<SoftmaxGradOp>(dy, getY())"];
  let inferTypes = MPT_SoftmaxTypes.body;
}

def MPT_SoftmaxGradOp : MPT_SoftmaxLikeOp<"softmax_grad"> {
  let summary = "gradient of `mpt.softmax`: y (dy - sum(dy y))";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dx = y (dy - sum(dy y)) with sums over the last axis, computed in f32 (f64
    for f64) and rounded once to the result's type.

    Example:

    ```mlir
    %dx = mpt.softmax_grad %dy, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$dy,
    Arg<MPT_FloatTensor, "dy's shape; the result of `mpt.softmax`">:$y);
  let results = (outs
    Res<MPT_FloatTensor, "dy's shape">:$dx);
  let inferTypes = MPT_SoftmaxGradTypes.body;
}

def MPT_LogSoftmaxOp : MPT_SoftmaxLikeOp<"log_softmax", [MPT_Differentiable]> {
  let summary = "logarithm of softmax over the last axis";
  let otherNames = [
    OtherName<"torch.log_softmax", "along the last dimension">,
    OtherName<"F.log_softmax", "along the last dimension">,
    OtherName<"nn.LogSoftmax", "along the last dimension">];
  let description = [{
    y = x - log(sum e^x), computed in f32 (f64 for f64) and rounded once. Large
    x do not overflow.

    Example:

    ```mlir
    %y = mpt.log_softmax %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$x);
  let results = (outs
    Res<MPT_FloatTensor, "x's shape">:$y);
  let gradients = ["b.make<LogSoftmaxGradOp>(dy, getY())"];
  let inferTypes = MPT_SoftmaxTypes.body;
}

def MPT_LogSoftmaxGradOp : MPT_SoftmaxLikeOp<"log_softmax_grad"> {
  let summary = "gradient of `mpt.log_softmax`: dy - e^y sum(dy)";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dx = dy - e^y sum(dy) with the sum over the last axis, computed in f32 (f64
    for f64) and rounded once to the result's type.

    Example:

    ```mlir
    %dx = mpt.log_softmax_grad %dy, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$dy,
    Arg<MPT_FloatTensor, "dy's shape; the result of `mpt.log_softmax`">:$y);
  let results = (outs
    Res<MPT_FloatTensor, "dy's shape">:$dx);
  let inferTypes = MPT_SoftmaxGradTypes.body;
}

def MPT_LayerNormOp : MPT_InferredOp<"layer_norm", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "layer normalization over the last axis";
  let otherNames = [
    OtherName<"F.layer_norm">, OtherName<"nn.LayerNorm">, OtherName<"layer_normalization">];
  let description = [{
    y = (x - mean) rstd gamma + beta with rstd = 1 / sqrt(var + eps) and the
    biased variance, computed in f32 (f64 for f64) and rounded once.

    Example:

    ```mlir
    %y, %mean, %rstd = mpt.layer_norm %x, %gamma, %beta {eps = 1.0e-5 : f64}
        : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
        -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$x,
    Arg<MPT_FloatTensor, "[C]; PyTorch's `weight`">:$gamma,
    Arg<MPT_FloatTensor, "[C]; PyTorch's `bias`">:$beta,
    Arg<DefaultValuedAttr<F64Attr, "1.0e-5">, "added to the variance, at least 0">:$eps);
  let results = (outs
    Res<MPT_FloatTensor, "[.., C]">:$y,
    Res<MPT_FloatTensor, "[..]; f32 (f64 for f64), saved for the gradient">:$mean,
    Res<MPT_FloatTensor, "[..]; f32 (f64 for f64), saved for the gradient">:$rstd);
  let fixedOperands = "index != 0";
  let fixedResults = "index != 0";
  let inferTypes = MPT_NormTypes<
    "types.append(2, getStatistics(x, x.getShape().drop_back()));">.body;
  let hasVerifier = 1;
  let gradient = [{
    if (failed(requireFirstResult(*this, resultGrads)))
      return failure();
    auto grad = LayerNormGradOp::create(builder, getLoc(), dy, getX(), getGamma(), getMean(),
                                       getRstd());
    llvm::copy(grad->getResults(), operandGrads.begin());
    return success();
  }];
}

def MPT_LayerNormGradOp : MPT_InferredOp<"layer_norm_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.layer_norm`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    Gradients for x, gamma and beta, computed in f32 (f64 for f64) and rounded
    once.

    Example:

    ```mlir
    %dx, %dg, %db = mpt.layer_norm_grad %dy, %x, %gamma, %mean, %rstd
        : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>)
        -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$dy,
    Arg<MPT_FloatTensor, "[.., C]">:$x,
    Arg<MPT_FloatTensor, "[C]">:$gamma,
    Arg<MPT_FloatTensor, "[..]; from `mpt.layer_norm`">:$mean,
    Arg<MPT_FloatTensor, "[..]; from `mpt.layer_norm`">:$rstd);
  let results = (outs
    Res<MPT_FloatTensor, "[.., C]">:$dx,
    Res<MPT_FloatTensor, "[C]">:$dgamma,
    Res<MPT_FloatTensor, "[C]">:$dbeta);
  let fixedOperands = "index >= 2";
  let fixedResults = "index != 0";
  let inferTypes = MPT_NormTypes<"types.append(2, adaptor.getGamma().getType());">.body;
  let hasVerifier = 1;
}

def MPT_RMSNormOp : MPT_InferredOp<"rms_norm", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "root-mean-square normalization over the last axis";
  let otherNames = [
    OtherName<"F.rms_norm", "with `eps` set: PyTorch's default is the epsilon of the type">,
    OtherName<"nn.RMSNorm", "with `eps` set: PyTorch's default is the epsilon of the type">];
  let description = [{
    y = x rstd gamma with rstd = 1 / sqrt(mean(x^2) + eps) (Zhang and Sennrich
    2019), computed in f32 (f64 for f64) and rounded once.

    Example:

    ```mlir
    %y, %rstd = mpt.rms_norm %x, %gamma {eps = 1.0e-5 : f64}
        : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$x,
    Arg<MPT_FloatTensor, "[C]; PyTorch's `weight`">:$gamma,
    Arg<DefaultValuedAttr<F64Attr, "1.0e-5">,
        "added to the mean of squares, at least 0">:$eps);
  let results = (outs
    Res<MPT_FloatTensor, "[.., C]">:$y,
    Res<MPT_FloatTensor, "[..]; f32 (f64 for f64), saved for the gradient">:$rstd);
  let fixedOperands = "index != 0";
  let fixedResults = "index != 0";
  let inferTypes = MPT_NormTypes<
    "types.push_back(getStatistics(x, x.getShape().drop_back()));">.body;
  let hasVerifier = 1;
  let gradient = [{
    if (failed(requireFirstResult(*this, resultGrads)))
      return failure();
    auto grad = RMSNormGradOp::create(builder, getLoc(), dy, getX(), getGamma(), getRstd());
    llvm::copy(grad->getResults(), operandGrads.begin());
    return success();
  }];
}

def MPT_RMSNormGradOp : MPT_InferredOp<"rms_norm_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.rms_norm`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    Gradients for x and gamma, computed in f32 (f64 for f64) and rounded once.

    Example:

    ```mlir
    %dx, %dg = mpt.rms_norm_grad %dy, %x, %gamma, %rstd
        : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>)
        -> (tensor<4x8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$dy,
    Arg<MPT_FloatTensor, "[.., C]">:$x,
    Arg<MPT_FloatTensor, "[C]">:$gamma,
    Arg<MPT_FloatTensor, "[..]; from `mpt.rms_norm`">:$rstd);
  let results = (outs
    Res<MPT_FloatTensor, "[.., C]">:$dx,
    Res<MPT_FloatTensor, "[C]">:$dgamma);
  let fixedOperands = "index >= 2";
  let fixedResults = "index != 0";
  let inferTypes = MPT_NormTypes<"types.push_back(adaptor.getGamma().getType());">.body;
  let hasVerifier = 1;
}

def MPT_BatchNormOp : MPT_InferredOp<"batch_norm", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "batch normalization (training) over all but the last axis";
  let otherNames = [
    OtherName<"F.batch_norm", "with `training=True`; else `mpt.batch_norm_inference`">,
    OtherName<"nn.BatchNorm1d", "with channels last">,
    OtherName<"nn.BatchNorm2d", "in the layout NHWC">,
    OtherName<"nn.BatchNorm3d", "with channels last">, OtherName<"batch_normalization">];
  let description = [{
    y = (x - mean) rstd gamma + beta with the batch's mean and biased variance
    for each channel, computed in f32 (f64 for f64) and rounded once.
    new_mean = (1 - momentum) running_mean + momentum mean; new_var likewise,
    with the unbiased variance. That is PyTorch's convention. In a step, the
    running statistics are arguments with the role `running_stat`, and results
    with `mpt.updates` give their next values.

    Example:

    ```mlir
    %y, %nm, %nv, %m, %r = mpt.batch_norm %x, %gamma, %beta, %rm, %rv
        {eps = 1.0e-5 : f64, momentum = 0.1 : f64}
        : (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
        tensor<8xf32>) -> (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>,
        tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$x,
    Arg<MPT_FloatTensor, "[C]; PyTorch's `weight`">:$gamma,
    Arg<MPT_FloatTensor, "[C]; PyTorch's `bias`">:$beta,
    Arg<MPT_FloatTensor, "[C]">:$running_mean,
    Arg<MPT_FloatTensor, "[C]">:$running_var,
    Arg<DefaultValuedAttr<F64Attr, "1.0e-5">, "added to the variance, at least 0">:$eps,
    Arg<DefaultValuedAttr<F64Attr, "0.1">,
        "weight of the batch in the running statistics, in [0, 1]">:$momentum);
  let results = (outs
    Res<MPT_FloatTensor, "[.., C]">:$y,
    Res<MPT_FloatTensor, "[C]">:$new_mean,
    Res<MPT_FloatTensor, "[C]">:$new_var,
    Res<MPT_FloatTensor, "[C]; the batch's, saved for the gradient">:$mean,
    Res<MPT_FloatTensor, "[C]; the batch's, saved for the gradient">:$rstd);
  let fixedOperands = "index != 0";
  let fixedResults = "index != 0";
  let inferTypes = MPT_NormTypes<
    "types.append(4, getStatistics(x, x.getShape().take_back()));">.body;
  let hasVerifier = 1;
  let gradient = [{
    if (failed(requireFirstResult(*this, resultGrads)))
      return failure();
    auto grad = BatchNormGradOp::create(builder, getLoc(), dy, getX(), getGamma(), getMean(),
                                        getRstd());
    llvm::copy(grad->getResults(), operandGrads.begin());
    return success();
  }];
}

def MPT_BatchNormGradOp : MPT_InferredOp<"batch_norm_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.batch_norm`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    Gradients for x, gamma and beta, computed in f32 (f64 for f64) and rounded
    once.

    Example:

    ```mlir
    %dx, %dg, %db = mpt.batch_norm_grad %dy, %x, %gamma, %mean, %rstd
        : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>,
        tensor<8xf32>) -> (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$dy,
    Arg<MPT_FloatTensor, "[.., C]">:$x,
    Arg<MPT_FloatTensor, "[C]">:$gamma,
    Arg<MPT_FloatTensor, "[C]; the batch's, from `mpt.batch_norm`">:$mean,
    Arg<MPT_FloatTensor, "[C]; the batch's, from `mpt.batch_norm`">:$rstd);
  let results = (outs
    Res<MPT_FloatTensor, "[.., C]">:$dx,
    Res<MPT_FloatTensor, "[C]">:$dgamma,
    Res<MPT_FloatTensor, "[C]">:$dbeta);
  let fixedOperands = "index >= 2";
  let fixedResults = "index != 0";
  let inferTypes = MPT_NormTypes<"types.append(2, adaptor.getGamma().getType());">.body;
  let hasVerifier = 1;
}

def MPT_BatchNormInferenceOp : MPT_InferredOp<"batch_norm_inference", "Stable", "Stable",
                                              [MPT_Differentiable]> {
  let summary = "batch normalization with given statistics";
  let otherNames = [
    OtherName<"F.batch_norm", "with `training=False`">, OtherName<"batch_norm_eval">];
  let description = [{
    y = (x - mean) gamma / sqrt(var + eps) + beta, computed in f32 (f64 for f64)
    and rounded once.

    Example:

    ```mlir
    %y = mpt.batch_norm_inference %x, %gamma, %beta, %mean, %var {eps = 1.0e-5 : f64}
        : (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
        tensor<8xf32>) -> tensor<2x4x4x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., C]">:$x,
    Arg<MPT_FloatTensor, "[C]">:$gamma,
    Arg<MPT_FloatTensor, "[C]">:$beta,
    Arg<MPT_FloatTensor, "[C]">:$mean,
    Arg<MPT_FloatTensor, "[C]">:$var,
    Arg<DefaultValuedAttr<F64Attr, "1.0e-5">, "added to the variance, at least 0">:$eps);
  let results = (outs
    Res<MPT_FloatTensor, "[.., C]">:$y);
  let fixedOperands = "index != 0";
  let gradient = [{
    if (needed[3] || needed[4])
      return emitOpError("has no gradient rule for its statistics; pass them "
                         "through mpt.stop_gradient");
    Value eps = b.scalar(getVar(), getEps().convertToDouble());
    Value rstd = b.make<RsqrtOp>(b.make<AddOp>(getVar(), eps));
  }];
  let gradients = [
    "b.mul(dy, b.mul(getGamma(), rstd))",
    "b.mul(dy, b.mul(b.make<SubOp>(getX(), getMean()), rstd))",
    "dy"];
  let inferTypes = MPT_NormTypes<"">.body;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

def MPT_MaxPoolOp : MPT_InferredOp<"max_pool", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "2-d max pooling, NHWC";
  let otherNames = [
    OtherName<"F.max_pool2d", "in the layout NHWC">,
    OtherName<"nn.MaxPool2d", "in the layout NHWC">,
    OtherName<"F.max_pool1d", "with H = 1">, OtherName<"nn.MaxPool1d", "with H = 1">,
    OtherName<"max_pooling2d">];
  let description = [{
    OH = (H + low + high - window) / stride + 1, rounded down, and OW likewise.
    Padded elements never win, and NaN does.

    Example:

    ```mlir
    %y = mpt.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
        : (tensor<2x8x8x3xf32>) -> tensor<2x4x4x3xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[N, H, W, C]">:$x,
    Arg<DenseI64ArrayAttr, "[h, w], at least 1; PyTorch's `kernel_size`">:$window,
    Arg<DenseI64ArrayAttr,
        "[h, w], at least 1; PyTorch's default is the window">:$strides,
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">,
        "[h low, h high, w low, w high], less than the window">:$padding);
  let results = (outs
    Res<MPT_FloatTensor, "[N, OH, OW, C]">:$y);
  let inferTypes = MPT_PoolTypes.body;
  let hasVerifier = 1;
  let gradients = ["b.make<MaxPoolGradOp>(dy, getX(), getWindow(), getStrides(), "
                   "getPadding())"];
}

def MPT_MaxPoolGradOp : MPT_InferredOp<"max_pool_grad", "Clear", "Clear"> {
  let summary = "gradient of `mpt.max_pool`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    Each element of dy goes to the first largest element (row-major) of its
    window in x. Sums are computed in f32 (f64 for f64) and rounded once.

    Example:

    ```mlir
    %dx = mpt.max_pool_grad %dy, %x {window = array<i64: 2, 2>,
        strides = array<i64: 2, 2>} : (tensor<2x4x4x3xf32>, tensor<2x8x8x3xf32>)
        -> tensor<2x8x8x3xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[N, OH, OW, C]">:$dy,
    Arg<MPT_FloatTensor, "[N, H, W, C]">:$x,
    Arg<DenseI64ArrayAttr, "as in `mpt.max_pool`">:$window,
    Arg<DenseI64ArrayAttr, "as in `mpt.max_pool`">:$strides,
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">,
        "as in `mpt.max_pool`">:$padding);
  let results = (outs
    Res<MPT_FloatTensor, "[N, H, W, C]">:$dx);
  let inferTypes = MPT_TypesOf<["X"]>.body;
  let hasVerifier = 1;
}

def MPT_AvgPoolOp : MPT_InferredOp<"avg_pool", "Infer", "Infer", [MPT_Differentiable]> {
  let summary = "2-d average pooling, NHWC";
  let otherNames = [
    OtherName<"F.avg_pool2d", "in the layout NHWC; PyTorch's default is `count_include_pad`">,
    OtherName<"nn.AvgPool2d", "in the layout NHWC; PyTorch's default is `count_include_pad`">,
    OtherName<"F.avg_pool1d", "with H = 1">, OtherName<"nn.AvgPool1d", "with H = 1">,
    OtherName<"average_pooling2d">, OtherName<"mean_pool">];
  let description = [{
    OH = (H + low + high - window) / stride + 1, rounded down, and OW likewise.
    Sums are computed in f32 (f64 for f64) and rounded once.

    Example:

    ```mlir
    %y = mpt.avg_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
        : (tensor<2x8x8x3xf32>) -> tensor<2x4x4x3xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[N, H, W, C]">:$x,
    Arg<DenseI64ArrayAttr, "[h, w], at least 1; PyTorch's `kernel_size`">:$window,
    Arg<DenseI64ArrayAttr,
        "[h, w], at least 1; PyTorch's default is the window">:$strides,
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">,
        "[h low, h high, w low, w high], less than the window">:$padding,
    Arg<UnitAttr,
        "divides by the whole window; without it, by the number of elements that lie "
        "in x">:$count_include_pad);
  let results = (outs
    Res<MPT_FloatTensor, "[N, OH, OW, C]">:$y);
  let inferTypes = MPT_PoolTypes.body;
  let hasVerifier = 1;
  let gradients = ["b.make<AvgPoolGradOp>(getX().getType(), dy, getWindowAttr(), "
                   "getStridesAttr(), getPaddingAttr(), getCountIncludePadAttr())"];
}

def MPT_AvgPoolGradOp : MPT_TensorOp<"avg_pool_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.avg_pool`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    The result's type is that of the pooled x, whose H and W dy does not
    determine where a stride is above 1.

    Example:

    ```mlir
    %dx = mpt.avg_pool_grad %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
        : (tensor<2x4x4x3xf32>) -> tensor<2x8x8x3xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[N, OH, OW, C]">:$dy,
    Arg<DenseI64ArrayAttr, "as in `mpt.avg_pool`">:$window,
    Arg<DenseI64ArrayAttr, "as in `mpt.avg_pool`">:$strides,
    Arg<DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">,
        "as in `mpt.avg_pool`">:$padding,
    Arg<UnitAttr, "as in `mpt.avg_pool`">:$count_include_pad);
  let results = (outs
    Res<MPT_FloatTensor, "[N, H, W, C]">:$dx);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

def MPT_CrossEntropyOp : MPT_InferredOp<"cross_entropy", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "softmax cross-entropy of logits and integer labels";
  let otherNames = [
    OtherName<"F.cross_entropy",
             "with classes last; set `ignore_index = -100 : i64` for PyTorch's default">,
    OtherName<"nn.CrossEntropyLoss",
             "with classes last; set `ignore_index = -100 : i64` for PyTorch's default">,
    OtherName<"F.nll_loss", "of the logits, without `mpt.log_softmax`">,
    OtherName<"nn.NLLLoss", "of the logits, without `mpt.log_softmax`">,
    OtherName<"softmax_cross_entropy">, OtherName<"sparse_categorical_crossentropy">,
    OtherName<"xent">, OtherName<"softmax_cross_entropy_with_integer_labels">];
  let description = [{
    A row's loss is lse - (1 - s) x[label] - s mean(x), where x are the row's
    logits, lse is the logarithm of the sum of e^x, and s is `label_smoothing`.
    Computed in f32 (f64 for f64). A label outside [0, V) that is not
    `ignore_index` is an error when the program runs.

    Example:

    ```mlir
    %loss, %lse = mpt.cross_entropy %x, %t
        : (tensor<4x10xbf16>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "[.., V]">:$logits,
    Arg<MPT_IndexTensor, "[..]">:$labels,
    Arg<DefaultValuedAttr<MPT_LossReduction, "::mpt::LossReduction::Mean">,
        "how the losses of rows become one number; PyTorch's `reduction`">:$reduction,
    Arg<DefaultValuedAttr<F64Attr, "0.0">,
        "the s of the formula, in [0, 1]">:$label_smoothing,
    Arg<OptionalAttr<I64Attr>,
        "label of rows that count neither in the sum nor in the mean; by default none "
        "(PyTorch: -100)">:$ignore_index);
  let results = (outs
    Res<MPT_FloatTensor, "scalar; f32 (f64 for f64)">:$loss,
    Res<MPT_FloatTensor, "[..]; f32 (f64 for f64), saved for the gradient">:$log_sum_exp);
  let fixedResults = "true";
  let inferTypes = [{
    auto logits = getTensor(adaptor.getLogits());
    if (failed(checkHasRows(location, logits, "logits")))
      return failure();
    types.push_back(getStatistics(logits, {}));
    types.push_back(getStatistics(logits, logits.getShape().drop_back()));
    return success();
  }];
  let hasVerifier = 1;
  let gradient = [{
    if (resultGrads[1])
      return emitOpError("has no gradient rule for its result log_sum_exp");
    operandGrads[0] = b.make<CrossEntropyGradOp>(
        getLogits().getType(), dy, getLogits(), getLabels(), getLogSumExp(),
        getReductionAttr(), getLabelSmoothingAttr(), getIgnoreIndexAttr());
    return success();
  }];
}

def MPT_CrossEntropyGradOp : MPT_InferredOp<"cross_entropy_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.cross_entropy` for the logits";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dlogits = dloss (e^(logits - log_sum_exp) - target) for each row, divided by
    the number of rows that count for `mean`; target is the smoothed one-hot
    label.

    Example:

    ```mlir
    %dx = mpt.cross_entropy_grad %dloss, %x, %t, %lse
        : (tensor<f32>, tensor<4x10xf32>, tensor<4xi32>, tensor<4xf32>)
        -> tensor<4x10xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "scalar; gradient of the loss">:$dloss,
    Arg<MPT_FloatTensor, "[.., V]">:$logits,
    Arg<MPT_IndexTensor, "[..]">:$labels,
    Arg<MPT_FloatTensor, "[..]; from `mpt.cross_entropy`">:$log_sum_exp,
    Arg<DefaultValuedAttr<MPT_LossReduction, "::mpt::LossReduction::Mean">,
        "as in `mpt.cross_entropy`">:$reduction,
    Arg<DefaultValuedAttr<F64Attr, "0.0">, "as in `mpt.cross_entropy`">:$label_smoothing,
    Arg<OptionalAttr<I64Attr>,
        "as in `mpt.cross_entropy`; by default none">:$ignore_index);
  let results = (outs
    Res<MPT_FloatTensor, "[.., V]">:$dlogits);
  let fixedOperands = "index != 1";
  let inferTypes = [{
    auto logits = getTensor(adaptor.getLogits());
    if (failed(checkHasRows(location, logits, "logits")))
      return failure();
    types.push_back(logits);
    return success();
  }];
  let hasVerifier = 1;
}

def MPT_MSELossOp : MPT_InferredOp<"mse_loss", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "mean (or sum) of squared differences";
  let otherNames = [
    OtherName<"F.mse_loss">, OtherName<"nn.MSELoss">, OtherName<"mean_squared_error">,
    OtherName<"l2_loss">];
  let description = [{
    loss = mean((prediction - target)^2), computed in f32 (f64 for f64).

    Example:

    ```mlir
    %loss = mpt.mse_loss %p, %t : (tensor<4x1xbf16>, tensor<4x1xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "any shape">:$prediction,
    Arg<MPT_FloatTensor, "the prediction's shape">:$target,
    Arg<DefaultValuedAttr<MPT_LossReduction, "::mpt::LossReduction::Mean">,
        "how the losses of rows become one number; PyTorch's `reduction`">:$reduction);
  let results = (outs
    Res<MPT_FloatTensor, "scalar; f32 (f64 for f64)">:$loss);
  let fixedOperands = "index == 1";
  let fixedResults = "true";
  let inferTypes = [{
    types.push_back(getStatistics(getTensor(adaptor.getPrediction()), {}));
    return success();
  }];
  let hasVerifier = 1;
  let gradients = [
    "b.make<MSELossGradOp>(getPrediction().getType(), dy, getPrediction(), "
    "getTarget(), getReductionAttr())",
    "b.make<MSELossGradOp>(getTarget().getType(), dy, getTarget(), "
    "getPrediction(), getReductionAttr())"];
}

def MPT_MSELossGradOp : MPT_InferredOp<"mse_loss_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.mse_loss` for the prediction";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dprediction = 2 dloss (prediction - target), divided by the number of
    elements for `mean`.

    Example:

    ```mlir
    %dp = mpt.mse_loss_grad %dloss, %p, %t
        : (tensor<f32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "scalar; gradient of the loss">:$dloss,
    Arg<MPT_FloatTensor, "any shape">:$prediction,
    Arg<MPT_FloatTensor, "the prediction's shape">:$target,
    Arg<DefaultValuedAttr<MPT_LossReduction, "::mpt::LossReduction::Mean">,
        "as in `mpt.mse_loss`">:$reduction);
  let results = (outs
    Res<MPT_FloatTensor, "the prediction's shape">:$dprediction);
  let fixedOperands = "index != 1";
  let inferTypes = MPT_TypesOf<["Prediction"]>.body;
  let hasVerifier = 1;
}

} // MPT_NNDocs

#endif // MPT_DIALECT_MPT_IR_MPTOPSNN_TD
