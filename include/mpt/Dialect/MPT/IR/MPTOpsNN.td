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

def MPT_ReduceOp : MPT_InferredOp<"reduce", "Deny", "Stable", [MPT_Differentiable]> {
  let summary = "sum, mean, max, min or product over axes";
  let description = [{
    Reduces the distinct dimensions `axes` in `acc_type`; they stay as size 1
    with `keep_dims`. Max and min return NaN if an element is NaN and need at
    least one element.

    Example:

    ```mlir
    %y = mpt.reduce %x {kind = #mpt.reduce_kind<sum>, axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins MPT_Tensor:$x, MPT_ReduceKind:$kind,
                       DenseI64ArrayAttr:$axes, UnitAttr:$keep_dims,
                       OptionalAttr<TypeAttr>:$acc_type);
  let results = (outs MPT_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_ArgmaxOp : MPT_InferredOp<"argmax", "Clear", "Clear"> {
  let summary = "index of the largest element along the last axis (the first of equals)";
  let description = [{
    NaN counts as largest. Indices are i32 or i64.

    Example:

    ```mlir
    %i = mpt.argmax %x : (tensor<4x8xf32>) -> tensor<4xi32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x);
  let results = (outs MPT_IndexTensor:$y);
  let extraClassDefinition = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                            ::mlir::TypeRange actual) {
      return ::mpt::detail::areCompatibleIndices(inferred, actual);
    }
  }];
}

class MPT_SoftmaxLikeOp<string mnemonic, list<Trait> traits = []>
    : MPT_InferredOp<mnemonic, "Stable", "Stable", traits>;

def MPT_SoftmaxOp : MPT_SoftmaxLikeOp<"softmax", [MPT_Differentiable]> {
  let summary = "softmax over the last axis, f32 inside";
  let description = [{
    y = e^(x - max) / sum e^(x - max), rounded once.

    Example:

    ```mlir
    %y = mpt.softmax %x : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x);
  let results = (outs MPT_FloatTensor:$y);
}

def MPT_SoftmaxGradOp : MPT_SoftmaxLikeOp<"softmax_grad"> {
  let summary = "gradient of `mpt.softmax`: y (dy - sum(dy y))";
  let description = [{
    Example:

    ```mlir
    %dx = mpt.softmax_grad %dy, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$y);
  let results = (outs MPT_FloatTensor:$dx);
}

def MPT_LogSoftmaxOp : MPT_SoftmaxLikeOp<"log_softmax", [MPT_Differentiable]> {
  let summary = "x - log(sum e^x) over the last axis, f32 inside";
  let description = [{
    Example:

    ```mlir
    %y = mpt.log_softmax %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x);
  let results = (outs MPT_FloatTensor:$y);
}

def MPT_LogSoftmaxGradOp : MPT_SoftmaxLikeOp<"log_softmax_grad"> {
  let summary = "gradient of `mpt.log_softmax`: dy - e^y sum(dy)";
  let description = [{
    Example:

    ```mlir
    %dx = mpt.log_softmax_grad %dy, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$y);
  let results = (outs MPT_FloatTensor:$dx);
}

def MPT_LayerNormOp : MPT_InferredOp<"layer_norm", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "layer normalization over the last axis, f32 inside";
  let description = [{
    y = (x - mean) rstd gamma + beta with rstd = 1/sqrt(var + eps), biased
    variance; x is [.., C], gamma and beta [C], mean and rstd [..].

    Example:

    ```mlir
    %y, %mean, %rstd = mpt.layer_norm %x, %gamma, %beta {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, MPT_FloatTensor:$gamma,
                       MPT_FloatTensor:$beta, DefaultValuedAttr<F64Attr, "1.0e-5">:$eps);
  let results = (outs MPT_FloatTensor:$y, MPT_FloatTensor:$mean, MPT_FloatTensor:$rstd);
  let fixedOperands = "index != 0";
  let fixedResults = "index != 0";
  let hasVerifier = 1;
}

def MPT_LayerNormGradOp : MPT_InferredOp<"layer_norm_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.layer_norm`";
  let description = [{
    Example:

    ```mlir
    %dx, %dg, %db = mpt.layer_norm_grad %dy, %x, %gamma, %mean, %rstd : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$x, MPT_FloatTensor:$gamma,
                       MPT_FloatTensor:$mean, MPT_FloatTensor:$rstd);
  let results = (outs MPT_FloatTensor:$dx, MPT_FloatTensor:$dgamma, MPT_FloatTensor:$dbeta);
  let fixedOperands = "index >= 2";
  let fixedResults = "index != 0";
  let hasVerifier = 1;
}

def MPT_RMSNormOp : MPT_InferredOp<"rms_norm", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "root-mean-square normalization over the last axis, f32 inside";
  let description = [{
    y = x rstd gamma with rstd = 1/sqrt(mean(x^2) + eps) (Zhang and Sennrich 2019).

    Example:

    ```mlir
    %y, %rstd = mpt.rms_norm %x, %gamma {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, MPT_FloatTensor:$gamma,
                       DefaultValuedAttr<F64Attr, "1.0e-5">:$eps);
  let results = (outs MPT_FloatTensor:$y, MPT_FloatTensor:$rstd);
  let fixedOperands = "index != 0";
  let fixedResults = "index != 0";
  let hasVerifier = 1;
}

def MPT_RMSNormGradOp : MPT_InferredOp<"rms_norm_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.rms_norm`";
  let description = [{
    Example:

    ```mlir
    %dx, %dg = mpt.rms_norm_grad %dy, %x, %gamma, %rstd : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$x,
                       MPT_FloatTensor:$gamma, MPT_FloatTensor:$rstd);
  let results = (outs MPT_FloatTensor:$dx, MPT_FloatTensor:$dgamma);
  let fixedOperands = "index >= 2";
  let fixedResults = "index != 0";
  let hasVerifier = 1;
}

def MPT_BatchNormOp : MPT_InferredOp<"batch_norm", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "batch normalization (training) over all but the last axis";
  let description = [{
    y = (x - mean) rstd gamma + beta with the batch's mean and biased variance
    per channel C. new_mean = (1 - momentum) running_mean + momentum mean;
    new_var likewise with the unbiased variance (PyTorch's convention).

    Example:

    ```mlir
    %y, %nm, %nv, %m, %r = mpt.batch_norm %x, %gamma, %beta, %rm, %rv {eps = 1.0e-5 : f64, momentum = 0.1 : f64} : (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, MPT_FloatTensor:$gamma,
                       MPT_FloatTensor:$beta, MPT_FloatTensor:$running_mean,
                       MPT_FloatTensor:$running_var,
                       DefaultValuedAttr<F64Attr, "1.0e-5">:$eps,
                       DefaultValuedAttr<F64Attr, "0.1">:$momentum);
  let results = (outs MPT_FloatTensor:$y, MPT_FloatTensor:$new_mean,
                      MPT_FloatTensor:$new_var, MPT_FloatTensor:$mean,
                      MPT_FloatTensor:$rstd);
  let fixedOperands = "index != 0";
  let fixedResults = "index != 0";
  let hasVerifier = 1;
}

def MPT_BatchNormGradOp : MPT_InferredOp<"batch_norm_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.batch_norm`";
  let description = [{
    Example:

    ```mlir
    %dx, %dg, %db = mpt.batch_norm_grad %dy, %x, %gamma, %mean, %rstd : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$x, MPT_FloatTensor:$gamma,
                       MPT_FloatTensor:$mean, MPT_FloatTensor:$rstd);
  let results = (outs MPT_FloatTensor:$dx, MPT_FloatTensor:$dgamma, MPT_FloatTensor:$dbeta);
  let fixedOperands = "index >= 2";
  let fixedResults = "index != 0";
  let hasVerifier = 1;
}

def MPT_BatchNormInferenceOp : MPT_InferredOp<"batch_norm_inference", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "batch normalization with given statistics";
  let description = [{
    y = (x - mean) gamma / sqrt(var + eps) + beta.

    Example:

    ```mlir
    %y = mpt.batch_norm_inference %x, %gamma, %beta, %mean, %var {eps = 1.0e-5 : f64} : (tensor<2x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x4x8xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, MPT_FloatTensor:$gamma,
                       MPT_FloatTensor:$beta, MPT_FloatTensor:$mean,
                       MPT_FloatTensor:$var, DefaultValuedAttr<F64Attr, "1.0e-5">:$eps);
  let results = (outs MPT_FloatTensor:$y);
  let fixedOperands = "index != 0";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

def MPT_MaxPoolOp : MPT_InferredOp<"max_pool", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "2-d max pooling, NHWC";
  let description = [{
    `window` and `strides` are [h, w], `padding` [h lo, h hi, w lo, w hi];
    padded elements never win. NaN wins.

    Example:

    ```mlir
    %y = mpt.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x8x8x3xf32>) -> tensor<2x4x4x3xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, DenseI64ArrayAttr:$window,
    DenseI64ArrayAttr:$strides,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding);
  let results = (outs MPT_FloatTensor:$y);
  let hasVerifier = 1;
}

def MPT_MaxPoolGradOp : MPT_InferredOp<"max_pool_grad", "Clear", "Clear"> {
  let summary = "gradient of `mpt.max_pool`";
  let description = [{
    Each dy goes to the first largest element (row-major) of its window in x;
    sums in f32, rounded once.

    Example:

    ```mlir
    %dx = mpt.max_pool_grad %dy, %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x4x4x3xf32>, tensor<2x8x8x3xf32>) -> tensor<2x8x8x3xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$x,
    DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding);
  let results = (outs MPT_FloatTensor:$dx);
  let hasVerifier = 1;
}

def MPT_AvgPoolOp : MPT_InferredOp<"avg_pool", "Infer", "Infer", [MPT_Differentiable]> {
  let summary = "2-d average pooling, NHWC, f32 inside";
  let description = [{
    `count_include_pad` divides by the whole window, else by the elements that
    lie in x.

    Example:

    ```mlir
    %y = mpt.avg_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x8x8x3xf32>) -> tensor<2x4x4x3xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, DenseI64ArrayAttr:$window,
    DenseI64ArrayAttr:$strides,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding,
    UnitAttr:$count_include_pad);
  let results = (outs MPT_FloatTensor:$y);
  let hasVerifier = 1;
}

def MPT_AvgPoolGradOp : MPT_TensorOp<"avg_pool_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.avg_pool`; the result's shape is the input's";
  let description = [{
    Example:

    ```mlir
    %dx = mpt.avg_pool_grad %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x4x4x3xf32>) -> tensor<2x8x8x3xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, DenseI64ArrayAttr:$window,
    DenseI64ArrayAttr:$strides,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding,
    UnitAttr:$count_include_pad);
  let results = (outs MPT_FloatTensor:$dx);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

def MPT_CrossEntropyOp : MPT_InferredOp<"cross_entropy", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "softmax cross-entropy of logits and integer labels, f32 inside";
  let description = [{
    logits [.., V], labels [..]. A row's loss is lse - (1 - s) x[label] -
    s mean(x) with s = `label_smoothing`. Rows with label `ignore_index` count
    neither in the sum nor in the mean. The loss and `log_sum_exp` [..] are f32.
    Any other label outside [0, V) is an error when the program runs.

    Example:

    ```mlir
    %loss, %lse = mpt.cross_entropy %x, %t : (tensor<4x10xbf16>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$logits, MPT_IndexTensor:$labels,
    DefaultValuedAttr<MPT_LossReduction, "::mpt::LossReduction::Mean">:$reduction,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing,
    OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs MPT_FloatTensor:$loss, MPT_FloatTensor:$log_sum_exp);
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_CrossEntropyGradOp : MPT_InferredOp<"cross_entropy_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.cross_entropy` for the logits";
  let description = [{
    dloss (e^(x - lse) - target) per row, over the number of rows for `mean`.

    Example:

    ```mlir
    %dx = mpt.cross_entropy_grad %dloss, %x, %t, %lse : (tensor<f32>, tensor<4x10xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x10xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dloss, MPT_FloatTensor:$logits,
    MPT_IndexTensor:$labels, MPT_FloatTensor:$log_sum_exp,
    DefaultValuedAttr<MPT_LossReduction, "::mpt::LossReduction::Mean">:$reduction,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing,
    OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs MPT_FloatTensor:$dlogits);
  let fixedOperands = "index != 1";
  let hasVerifier = 1;
}

def MPT_MSELossOp : MPT_InferredOp<"mse_loss", "Stable", "Stable", [MPT_Differentiable]> {
  let summary = "mean (or sum) of squared differences, f32 inside";
  let description = [{
    Example:

    ```mlir
    %loss = mpt.mse_loss %p, %t : (tensor<4x1xbf16>, tensor<4x1xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$prediction, MPT_FloatTensor:$target,
    DefaultValuedAttr<MPT_LossReduction, "::mpt::LossReduction::Mean">:$reduction);
  let results = (outs MPT_FloatTensor:$loss);
  let fixedOperands = "index == 1";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_MSELossGradOp : MPT_InferredOp<"mse_loss_grad", "Stable", "Stable"> {
  let summary = "gradient of `mpt.mse_loss` for the prediction";
  let description = [{
    2 dloss (prediction - target), over the number of elements for `mean`.

    Example:

    ```mlir
    %dp = mpt.mse_loss_grad %dloss, %p, %t : (tensor<f32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dloss, MPT_FloatTensor:$prediction,
                       MPT_FloatTensor:$target,
    DefaultValuedAttr<MPT_LossReduction, "::mpt::LossReduction::Mean">:$reduction);
  let results = (outs MPT_FloatTensor:$dprediction);
  let fixedOperands = "index != 1";
  let hasVerifier = 1;
}

#endif // MPT_DIALECT_MPT_IR_MPTOPSNN_TD
