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
// Accumulation, and parameters stored in 16 bits
//===----------------------------------------------------------------------===//

def MPT_AccumulateOp : MPT_StateOp<"accumulate"> {
  let summary = "adds a gradient of any float type to a sum in f32";
  let description = [{
    (sum + gradient) / `divisor`, in f32 (f64 if the sum is), rounded after each
    of the two. Made by `--mpt-accumulate`, one for each micro-batch but the
    first; the last divides. No precision pass makes the sum narrower.

    Example:

    ```mlir
    %s = mpt.accumulate %sum, %g {divisor = 4 : i64} : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32, F64]>:$sum, MPT_FloatTensor:$gradient,
                       DefaultValuedAttr<I64Attr, "1">:$divisor);
  let results = (outs RankedTensorOf<[F32, F64]>:$result);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

class MPT_HalvesOp<string mnemonic> : MPT_StateOp<mnemonic> {
  let fixedOperands = "true";
  let fixedResults = "true";
}

def MPT_JoinHalvesOp : MPT_HalvesOp<"join_halves"> {
  let summary = "the f32 numbers that two halves of 16 bits hold";
  let description = [{
    The bits of the result are the bits of `high` times 2^16 plus `low`, a signed
    number, modulo 2^32. With `mpt.high_half` and `mpt.low_half` it maps all f32
    bit patterns one to one.

    Example:

    ```mlir
    %x = mpt.join_halves %high, %low : (tensor<4xbf16>, tensor<4xi16>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[BF16]>:$high, RankedTensorOf<[I16]>:$low);
  let results = (outs RankedTensorOf<[F32]>:$x);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_HighHalfOp : MPT_HalvesOp<"high_half"> {
  let summary = "f32 rounded to bf16 so that 16 more bits restore it";
  let description = [{
    To nearest, ties away from zero: the upper half of the bits plus 2^15. A
    magnitude that rounds above the largest bf16 becomes an infinity, and NaN may
    become any pattern; `mpt.join_halves` restores these too.

    Example:

    ```mlir
    %high = mpt.high_half %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$x);
  let results = (outs RankedTensorOf<[BF16]>:$high);
  let hasFolder = 1;
}

def MPT_LowHalfOp : MPT_HalvesOp<"low_half"> {
  let summary = "the lower 16 bits of f32 numbers";
  let description = [{
    Example:

    ```mlir
    %low = mpt.low_half %x : (tensor<4xf32>) -> tensor<4xi16>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$x);
  let results = (outs RankedTensorOf<[I16]>:$low);
  let hasFolder = 1;
}

def MPT_RoundingErrorOp : MPT_HalvesOp<"rounding_error"> {
  let summary = "what rounding f32 to bf16 takes away, in bf16";
  let description = [{
    x minus (x rounded to bf16), which f32 holds exactly, rounded to bf16; both to
    nearest, ties to even. It is the compensation that Kahan's summation carries
    to the next step (Zamirai et al. 2020, "Revisiting BFloat16 training").

    Example:

    ```mlir
    %c = mpt.rounding_error %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$x);
  let results = (outs RankedTensorOf<[BF16]>:$error);
}

def MPT_AddCompensationOp : MPT_HalvesOp<"add_compensation"> {
  let summary = "a bf16 number plus its compensation, in f32";
  let description = [{
    Example:

    ```mlir
    %x = mpt.add_compensation %p, %c : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[BF16]>:$param, RankedTensorOf<[BF16]>:$compensation);
  let results = (outs RankedTensorOf<[F32]>:$x);
  let hasVerifier = 1;
}

def MPT_RandomBitsOp : MPT_TensorOp<"random_bits", "Deny", "Deny", [InferTypeOpAdaptor]> {
  let summary = "16 random bits per element from Philox4x32-10";
  let description = [{
    Element i (row-major) has half i mod 2 (the lower first) of lane (i mod 8) / 2
    of Philox4x32-10 with key (seed, `stream`) and counter (attempt, i / 8)
    (Salmon et al. 2011; word layout in mpt/Support/Philox.h). Streams of random
    masks and random bits must differ. The same operands give the same bits on
    every machine.

    Example:

    ```mlir
    %b = mpt.random_bits %seed, %attempt {stream = 3 : i64, shape = array<i64: 4, 8>} : (tensor<i64>, tensor<i64>) -> tensor<4x8xi16>
    ```
  }];
  let arguments = (ins 0DTensorOf<[I64]>:$seed, 0DTensorOf<[I64]>:$attempt,
                       I64Attr:$stream, DenseI64ArrayAttr:$shape);
  let results = (outs RankedTensorOf<[I16]>:$bits);
  let fixedOperands = "true";
  let fixedResults = "true";
}

def MPT_StochasticRoundOp : MPT_HalvesOp<"stochastic_round"> {
  let summary = "f32 to one of the two nearest bf16, by 16 random bits";
  let description = [{
    The upper half of x's bits after `bits`, taken as a number from 0 to 65535, is
    added to them: of the two neighbours the one further from zero with
    probability (distance to the nearer to zero) / (distance between both), so
    that the mean is x. What bf16 holds stays, with any bits. The neighbour above
    the largest number is infinity; infinities and NaN are converted.

    Example:

    ```mlir
    %y = mpt.stochastic_round %x, %bits : (tensor<4xf32>, tensor<4xi16>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$x, RankedTensorOf<[I16]>:$bits);
  let results = (outs RankedTensorOf<[BF16]>:$y);
  let hasVerifier = 1;
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
