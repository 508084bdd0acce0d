//===- MPTOpsTraining.td - Gradients, loss scale, optimizers, structure -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTOPSTRAINING_TD
#define MPT_DIALECT_MPT_IR_MPTOPSTRAINING_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

class MPT_StateOp<string mnemonic, list<Trait> traits = []>
    : MPT_InferredOp<mnemonic, "Deny", "Deny", traits>;

def MPT_StopGradientOp : MPT_InferredOp<"stop_gradient", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "its operand; no gradient passes";
  let description = [{
    Example:

    ```mlir
    %y = mpt.stop_gradient %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins MPT_Tensor:$x);
  let results = (outs MPT_Tensor:$y);
}

def MPT_GradSeedOp : MPT_TensorOp<"grad_seed", "Deny", "Deny"> {
  let summary = "gradient of the loss for itself: 1, where a loss scale goes in";
  let description = [{
    Made by `--mpt-autodiff`, one per function; `--mpt-loss-scale` multiplies it.

    Example:

    ```mlir
    %s = mpt.grad_seed : () -> tensor<f32>
    ```
  }];
  let results = (outs MPT_FloatTensor:$seed);
  let assemblyFormat = "attr-dict `:` functional-type(operands, results)";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_GradientsOp : MPT_InferredOp<"gradients", "Clear", "Clear"> {
  let summary = "marks the gradients of all parameters; returns its operands";
  let description = [{
    Made by `--mpt-autodiff`, one per function; operand i is the gradient of
    parameter `names[i]` and has its type. `--mpt-loss-scale` unscales its
    results; planning removes it.

    Example:

    ```mlir
    %g:2 = mpt.gradients %dw, %db {names = ["w", "b"]} : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
    ```
  }];
  let arguments = (ins Variadic<MPT_FloatTensor>:$inputs, StrArrayAttr:$names);
  let results = (outs Variadic<MPT_FloatTensor>:$outputs);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_ScaleLossOp : MPT_StateOp<"scale_loss"> {
  let summary = "loss (or gradient seed) times the loss scale";
  let description = [{
    Example:

    ```mlir
    %y = mpt.scale_loss %seed, %scale : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$loss, MPT_FloatTensor:$scale);
  let results = (outs MPT_FloatTensor:$scaled);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_UnscaleOp : MPT_StateOp<"unscale"> {
  let summary = "f32 gradients divided by the loss scale, and one finite check";
  let description = [{
    Result i is the f32 value of input i times 1/scale (the reciprocal rounded
    to f32, as PyTorch's GradScaler). `all_finite` (scalar i1) is false if any
    element of any input times 1/scale is an infinity or NaN.

    Example:

    ```mlir
    %g0, %g1, %ok = mpt.unscale %a, %b, %scale : (tensor<4xf16>, tensor<2xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<i1>)
    ```
  }];
  let arguments = (ins Variadic<MPT_FloatTensor>:$gradients, MPT_FloatTensor:$scale);
  let results = (outs Variadic<MPT_FloatTensor>:$unscaled, 0DTensorOf<[I1]>:$all_finite);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_AllFiniteOp : MPT_StateOp<"all_finite"> {
  let summary = "scalar true if no element of any operand is infinite or NaN";
  let description = [{
    Example:

    ```mlir
    %ok = mpt.all_finite %a, %b : (tensor<4xf32>, tensor<2xf16>) -> tensor<i1>
    ```
  }];
  let arguments = (ins Variadic<MPT_FloatTensor>:$inputs);
  let results = (outs 0DTensorOf<[I1]>:$finite);
  let fixedOperands = "true";
}

def MPT_UpdateLossScaleOp : MPT_StateOp<"update_loss_scale"> {
  let summary = "dynamic loss scale as PyTorch's GradScaler.update";
  let description = [{
    Not finite: scale *= backoff_factor, tracker = 0. Finite: tracker + 1; when
    it reaches growth_interval, scale *= growth_factor if the product is finite
    in f32, and tracker = 0. Defaults are GradScaler's.

    Example:

    ```mlir
    %s, %t = mpt.update_loss_scale %scale, %tracker, %ok : (tensor<f32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$scale, 0DTensorOf<[I32]>:$tracker,
                       0DTensorOf<[I1]>:$all_finite,
    DefaultValuedAttr<F64Attr, "2.0">:$growth_factor,
    DefaultValuedAttr<F64Attr, "0.5">:$backoff_factor,
    DefaultValuedAttr<I64Attr, "2000">:$growth_interval);
  let results = (outs MPT_FloatTensor:$new_scale, 0DTensorOf<[I32]>:$new_tracker);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_ClipByGlobalNormOp : MPT_StateOp<"clip_by_global_norm"> {
  let summary = "scales all gradients so that their joint L2 norm is at most max_norm";
  let description = [{
    Factor min(1, max_norm / (norm + 1e-6)) as torch.nn.utils.clip_grad_norm_;
    the norm before clipping (f32) is the last result.

    Example:

    ```mlir
    %g0, %g1, %norm = mpt.clip_by_global_norm %a, %b {max_norm = 1.0 : f64} : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<f32>)
    ```
  }];
  let arguments = (ins Variadic<MPT_FloatTensor>:$gradients, F64Attr:$max_norm);
  let results = (outs Variadic<MPT_FloatTensor>:$clipped, 0DTensorOf<[F32, F64]>:$norm);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_SelectStateOp : MPT_StateOp<"select_state"> {
  let summary = "the new state if the step is taken, else the old, bit for bit";
  let description = [{
    Example:

    ```mlir
    %s = mpt.select_state %ok, %new, %old : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins 0DTensorOf<[I1]>:$predicate, MPT_Tensor:$updated, MPT_Tensor:$old);
  let results = (outs MPT_Tensor:$result);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

class MPT_OptimizerOp<string mnemonic, list<Trait> traits = []>
    : MPT_StateOp<mnemonic, traits> {
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_SGDOp : MPT_OptimizerOp<"sgd", [AttrSizedOperandSegments]> {
  let summary = "stochastic gradient descent, as torch.optim.SGD";
  let description = [{
    g += weight_decay p; with a momentum buffer: b = momentum b + (1 -
    dampening) g, g = nesterov ? g + momentum b : b; p -= lr g. A zero buffer
    and dampening 0 equal PyTorch's first step. With `predicate` false nothing
    changes. Computed in f32.

    Example:

    ```mlir
    %p1, %b1 = mpt.sgd param(%p) grad(%g) lr(%lr) momentum(%b) {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$param, MPT_FloatTensor:$gradient,
                       MPT_FloatTensor:$lr, Optional<MPT_FloatTensor>:$momentum_buffer,
                       Optional<0DTensorOf<[I1]>>:$predicate,
    DefaultValuedAttr<F64Attr, "0.0">:$momentum,
    DefaultValuedAttr<F64Attr, "0.0">:$dampening,
    DefaultValuedAttr<F64Attr, "0.0">:$weight_decay, UnitAttr:$nesterov);
  let results = (outs MPT_FloatTensor:$new_param,
                      Optional<MPT_FloatTensor>:$new_momentum_buffer);
  let assemblyFormat = [{
    `param` `(` $param `)` `grad` `(` $gradient `)` `lr` `(` $lr `)`
    (`momentum` `(` $momentum_buffer^ `)`)? (`if` `(` $predicate^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

class MPT_AdamLikeOp<string mnemonic, string decay> : MPT_OptimizerOp<mnemonic> {
  let description = [{
    m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; p -= lr /
    (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps), t = `step` (i64
    scalar, 1 on the first step). Weight decay: }] # decay # [{. With
    `predicate` false nothing changes. Computed in f32 (Kingma and Ba 2015,
    Loshchilov and Hutter 2019; formulas of torch.optim).

    Example:

    ```mlir
    %p1, %m1, %v1 = mpt.}] # mnemonic # [{ param(%p) grad(%g) lr(%lr) moments(%m, %v) step(%t) {beta1 = 0.9 : f64, beta2 = 0.999 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$param, MPT_FloatTensor:$gradient,
                       MPT_FloatTensor:$lr, MPT_FloatTensor:$exp_avg,
                       MPT_FloatTensor:$exp_avg_sq, 0DTensorOf<[I64]>:$step,
                       Optional<0DTensorOf<[I1]>>:$predicate,
    DefaultValuedAttr<F64Attr, "0.9">:$beta1,
    DefaultValuedAttr<F64Attr, "0.999">:$beta2,
    DefaultValuedAttr<F64Attr, "1.0e-8">:$eps,
    DefaultValuedAttr<F64Attr, "0.0">:$weight_decay);
  let results = (outs MPT_FloatTensor:$new_param, MPT_FloatTensor:$new_exp_avg,
                      MPT_FloatTensor:$new_exp_avg_sq);
  let assemblyFormat = [{
    `param` `(` $param `)` `grad` `(` $gradient `)` `lr` `(` $lr `)`
    `moments` `(` $exp_avg `,` $exp_avg_sq `)` `step` `(` $step `)`
    (`if` `(` $predicate^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}
def MPT_AdamOp : MPT_AdamLikeOp<"adam", "g += weight_decay p before all else"> {
  let summary = "Adam, as torch.optim.Adam";
}
def MPT_AdamWOp : MPT_AdamLikeOp<"adamw", "p *= 1 - lr weight_decay first"> {
  let summary = "Adam with decoupled weight decay, as torch.optim.AdamW";
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def MPT_BarrierOp : MPT_InferredOp<"barrier", "Clear", "Clear", [MPT_Differentiable],
                                   /*purity=*/[AlwaysSpeculatable]> {
  let summary = "returns its operands; nothing is merged or moved across";
  let description = [{
    Stops common-subexpression elimination from undoing a recomputation. So that
    equal barriers are not merged either, each counts as making new values (an
    allocation, for MLIR's side effects); one without uses is dropped.

    Example:

    ```mlir
    %y = mpt.barrier %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<MPT_Tensor>:$inputs);
  let results = (outs Res<Variadic<MPT_Tensor>, "", [MemAlloc]>:$outputs);
}

def MPT_CheckpointOp : MPT_Op<"checkpoint", [RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a region whose values the backward pass recomputes";
  let description = [{
    Gradient checkpointing as torch.utils.checkpoint: `--mpt-autodiff` inlines
    the region and marks its ops `mpt.region` and `mpt.save = "never"`. Values
    from above may be used inside.

    Example:

    ```mlir
    %y = mpt.checkpoint {
      %a = mpt.relu %x : (tensor<4xf32>) -> tensor<4xf32>
      mpt.yield %a : tensor<4xf32>
    } : tensor<4xf32>
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<MPT_Tensor>:$outputs);
  let assemblyFormat = "$body attr-dict (`:` type($outputs)^)?";
  let hasVerifier = 1;
}

def MPT_YieldOp : MPT_Op<"yield", [Pure, Terminator,
    ParentOneOf<["CheckpointOp", "KernelOp", "KernelFuncOp"]>]> {
  let summary = "ends a `mpt.checkpoint` or kernel body";
  let description = [{
    Example:

    ```mlir
    %y = mpt.checkpoint {
      %a = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
      mpt.yield %a : tensor<4xf32>
    } : tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins)>];
}

#endif // MPT_DIALECT_MPT_IR_MPTOPSTRAINING_TD
