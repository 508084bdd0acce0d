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

let opDocGroup = MPT_StepDocs in {

class MPT_StateOp<string mnemonic, list<Trait> traits = []>
    : MPT_InferredOp<mnemonic, "Deny", "Deny", traits>;

def MPT_StopGradientOp : MPT_InferredOp<"stop_gradient", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "identity that stops gradients";
  let opDocGroup = MPT_StructureDocs;
  let otherNames = [OtherName<"Tensor.detach">, OtherName<"torch.no_grad">];
  let description = [{
    Returns its operand. `--mpt-autodiff` treats the result as a constant.

    Example:

    ```mlir
    %y = mpt.stop_gradient %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_Tensor, "any shape">:$x);
  let results = (outs
    Res<MPT_Tensor, "x's shape">:$y);
  let gradients = [""];
  let inferTypes = MPT_LikeFirst.body;
}

def MPT_GradSeedOp : MPT_TensorOp<"grad_seed", "Deny", "Deny"> {
  let summary = "gradient of the loss with respect to itself: 1";
  let description = [{
    `--mpt-autodiff` makes one in each function. `--mpt-loss-scale` multiplies
    it by the loss scale.

    Example:

    ```mlir
    %s = mpt.grad_seed : () -> tensor<f32>
    ```
  }];
  let results = (outs
    Res<MPT_FloatTensor, "scalar, of the loss's type">:$seed);
  let assemblyFormat = "attr-dict `:` functional-type(operands, results)";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_GradientsOp : MPT_InferredOp<"gradients", "Clear", "Clear"> {
  let summary = "marks the gradients of all parameters";
  let otherNames = [
    OtherName<"Tensor.backward", "made by `--mpt-autodiff`">,
    OtherName<"torch.autograd.grad", "made by `--mpt-autodiff`">,
    OtherName<"grad", "made by `--mpt-autodiff`">,
    OtherName<"value_and_grad", "made by `--mpt-autodiff`">];
  let description = [{
    Returns its operands. `--mpt-autodiff` makes one in each function; operand i
    is the gradient of parameter `names[i]` and has its type. `--mpt-loss-scale`
    unscales its results, and planning removes it.

    Example:

    ```mlir
    %g:2 = mpt.gradients %dw, %db {names = ["w", "b"]}
        : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_FloatTensor>, "one gradient for each parameter">:$inputs,
    Arg<StrArrayAttr, "the parameters' names, distinct">:$names);
  let results = (outs
    Res<Variadic<MPT_FloatTensor>, "the operands' shapes">:$outputs);
  let fixedOperands = "true";
  let fixedResults = "true";
  let inferTypes = [{
    llvm::append_range(types, adaptor.getInputs().getTypes());
    return success();
  }];
  let hasVerifier = 1;
}

def MPT_ScaleLossOp : MPT_StateOp<"scale_loss"> {
  let summary = "loss, or gradient seed, times the loss scale";
  let otherNames = [OtherName<"amp.GradScaler.scale", "made by `--mpt-loss-scale`">];
  let description = [{
    scaled = loss scale, rounded to the result's type. Made by
    `--mpt-loss-scale`.

    Example:

    ```mlir
    %y = mpt.scale_loss %seed, %scale : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "any shape">:$loss,
    Arg<MPT_FloatTensor, "scalar; an argument with the role `loss_scale`">:$scale);
  let results = (outs
    Res<MPT_FloatTensor, "the loss's shape">:$scaled);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
  let inferTypes = MPT_LikeFirst.body;
}

def MPT_UnscaleOp : MPT_StateOp<"unscale", [MPT_InPlace]> {
  let summary = "gradients divided by the loss scale, and a check that all are finite";
  let otherNames = [OtherName<"amp.GradScaler.unscale_", "made by `--mpt-loss-scale`">];
  let description = [{
    unscaled[i] = gradients[i] times 1 / scale, in f32 (f64 for f64); the
    reciprocal is rounded to f32, as in PyTorch's GradScaler. `all_finite` is
    false if any element of any of them is an infinity or NaN. Made by
    `--mpt-loss-scale`.

    Example:

    ```mlir
    %g0, %g1, %ok = mpt.unscale %a, %b, %scale
        : (tensor<4xf16>, tensor<2xf32>, tensor<f32>)
        -> (tensor<4xf32>, tensor<2xf32>, tensor<i1>)
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_FloatTensor>, "tensors of any shape">:$gradients,
    Arg<MPT_FloatTensor, "scalar; an argument with the role `loss_scale`">:$scale);
  let results = (outs
    Res<Variadic<MPT_FloatTensor>, "the gradients' shapes, f32 or f64">:$unscaled,
    Res<0DTensorOf<[I1]>, "scalar">:$all_finite);
  let fixedOperands = "true";
  let fixedResults = "true";
  let inferTypes = [{
    for (Value gradient : adaptor.getGradients()) {
      auto type = getTensor(gradient);
      types.push_back(type.clone(getStatisticType(type.getElementType())));
    }
    types.push_back(RankedTensorType::get({}, IntegerType::get(context, 1)));
    return success();
  }];
  let hasVerifier = 1;
}

def MPT_AllFiniteOp : MPT_StateOp<"all_finite"> {
  let summary = "true if all elements of all operands are finite";
  let description = [{
    The result is false if any element of any operand is an infinity or NaN.

    Example:

    ```mlir
    %ok = mpt.all_finite %a, %b : (tensor<4xf32>, tensor<2xf16>) -> tensor<i1>
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_FloatTensor>, "tensors of any shape">:$inputs);
  let results = (outs
    Res<0DTensorOf<[I1]>, "scalar">:$finite);
  let fixedOperands = "true";
  let inferTypes = [{
    types.push_back(RankedTensorType::get({}, IntegerType::get(context, 1)));
    return success();
  }];
}

def MPT_UpdateLossScaleOp : MPT_StateOp<"update_loss_scale"> {
  let summary = "next dynamic loss scale, as PyTorch's GradScaler.update";
  let otherNames = [OtherName<"amp.GradScaler.update", "made by `--mpt-loss-scale`">];
  let description = [{
    If the gradients are not finite: scale *= backoff_factor, tracker = 0. If
    they are: tracker += 1, and when it reaches growth_interval,
    scale *= growth_factor (if that is finite in f32) and tracker = 0. The
    defaults are GradScaler's. Made by `--mpt-loss-scale`.

    Example:

    ```mlir
    %s, %t = mpt.update_loss_scale %scale, %tracker, %ok
        : (tensor<f32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "scalar">:$scale,
    Arg<0DTensorOf<[I32]>,
        "scalar; number of good steps since the scale changed">:$tracker,
    Arg<0DTensorOf<[I1]>, "scalar">:$all_finite,
    Arg<DefaultValuedAttr<F64Attr, "2.0">, "above 1">:$growth_factor,
    Arg<DefaultValuedAttr<F64Attr, "0.5">, "in (0, 1)">:$backoff_factor,
    Arg<DefaultValuedAttr<I64Attr, "2000">,
        "number of good steps, at least 1">:$growth_interval);
  let results = (outs
    Res<MPT_FloatTensor, "scalar">:$new_scale,
    Res<0DTensorOf<[I32]>, "scalar">:$new_tracker);
  let fixedOperands = "true";
  let fixedResults = "true";
  let inferTypes = MPT_TypesOf<["Scale", "Tracker"]>.body;
  let hasVerifier = 1;
}

def MPT_ClipByGlobalNormOp : MPT_StateOp<"clip_by_global_norm", [MPT_InPlace]> {
  let summary = "gradients scaled so that their joint L2 norm is at most max_norm";
  let otherNames = [
    OtherName<"nn.utils.clip_grad_norm_", "made by `--mpt-train-step=clip-norm=..`">];
  let description = [{
    All gradients are multiplied by min(1, max_norm / (norm + 1e-6)), as in
    torch.nn.utils.clip_grad_norm_. Made by `--mpt-train-step=clip-norm=..`.

    Example:

    ```mlir
    %g0, %g1, %norm = mpt.clip_by_global_norm %a, %b {max_norm = 1.0 : f64}
        : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<f32>)
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_FloatTensor>, "tensors of any shape">:$gradients,
    Arg<F64Attr, "above 0">:$max_norm);
  let results = (outs
    Res<Variadic<MPT_FloatTensor>, "the gradients' shapes">:$clipped,
    Res<0DTensorOf<[F32, F64]>, "scalar; the norm before clipping">:$norm);
  let fixedOperands = "true";
  let fixedResults = "true";
  let inferTypes = [{
    Type norm = Float32Type::get(context);
    for (Value gradient : adaptor.getGradients()) {
      types.push_back(gradient.getType());
      if (getTensor(gradient).getElementType().isF64())
        norm = Float64Type::get(context);
    }
    types.push_back(RankedTensorType::get({}, norm));
    return success();
  }];
  let hasVerifier = 1;
}

def MPT_SelectStateOp : MPT_StateOp<"select_state", [MPT_InPlace]> {
  let summary = "new state if the step is taken, else the old state";
  let description = [{
    The result is `updated` if the predicate is true, else `old`, bit for bit.

    Example:

    ```mlir
    %s = mpt.select_state %ok, %new, %old
        : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<0DTensorOf<[I1]>, "scalar">:$predicate,
    Arg<MPT_Tensor, "any shape">:$updated,
    Arg<MPT_Tensor, "the type of `updated`">:$old);
  let results = (outs
    Res<MPT_Tensor, "the type of `updated`">:$result);
  let fixedOperands = "true";
  let fixedResults = "true";
  let inferTypes = MPT_TypesOf<["Old"]>.body;
  let hasVerifier = 1;
}

class MPT_OptimizerOp<string mnemonic, list<Trait> traits = []>
    : MPT_StateOp<mnemonic, !listconcat([MPT_InPlace], traits)> {
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_SGDOp : MPT_OptimizerOp<"sgd", [AttrSizedOperandSegments]> {
  let summary = "stochastic gradient descent, as torch.optim.SGD";
  let otherNames = [OtherName<"optim.SGD", "made by `--mpt-train-step=optimizer=sgd`">];
  let description = [{
    g = gradient + weight_decay p. With a momentum buffer b: b = momentum
    b + (1 - dampening) g, then g = nesterov ? g + momentum b : b. p -= lr g. A
    buffer of zeros and dampening 0 equal PyTorch's first step. Computed in f32
    (f64 for f64). Made by `--mpt-train-step=optimizer=sgd` or `momentum`.

    Example:

    ```mlir
    %p1, %b1 = mpt.sgd param(%p) grad(%g) lr(%lr) momentum(%b) {momentum = 0.9 : f64}
        : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "any shape">:$param,
    Arg<MPT_FloatTensor, "the parameter's shape">:$gradient,
    Arg<MPT_FloatTensor,
        "scalar; the learning rate, an argument with the role `schedule`">:$lr,
    Arg<Optional<MPT_FloatTensor>, "the parameter's shape">:$momentum_buffer,
    Arg<Optional<0DTensorOf<[I1]>>, "scalar; if false, nothing changes">:$predicate,
    Arg<DefaultValuedAttr<F64Attr, "0.0">,
        "at least 0; above 0 it needs the buffer">:$momentum,
    Arg<DefaultValuedAttr<F64Attr, "0.0">, "in [0, 1]">:$dampening,
    Arg<DefaultValuedAttr<F64Attr, "0.0">, "at least 0">:$weight_decay,
    Arg<UnitAttr,
        "Nesterov's momentum; needs momentum above 0 and dampening 0">:$nesterov);
  let results = (outs
    Res<MPT_FloatTensor, "the parameter's shape">:$new_param,
    Res<Optional<MPT_FloatTensor>,
        "the parameter's shape; if the buffer is an operand">:$new_momentum_buffer);
  let assemblyFormat = [{
    `param` `(` $param `)` `grad` `(` $gradient `)` `lr` `(` $lr `)`
    (`momentum` `(` $momentum_buffer^ `)`)? (`if` `(` $predicate^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let inferTypes = [{
    types.push_back(adaptor.getParam().getType());
    if (adaptor.getMomentumBuffer())
      types.push_back(adaptor.getMomentumBuffer().getType());
    return success();
  }];
}

class MPT_AdamLikeOp<string mnemonic, string decay> : MPT_OptimizerOp<mnemonic> {
  let description = [{
    m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; p -= lr /
    (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps), where t = `step`.
    Weight decay: }] # decay # [{. Computed in f32 (f64 for f64) with the formulas
    of torch.optim (Kingma and Ba 2015, Loshchilov and Hutter 2019). Made by
    `--mpt-train-step=optimizer=}] # mnemonic # [{`.

    Example:

    ```mlir
    %p1, %m1, %v1 = mpt.}] # mnemonic # [{ param(%p) grad(%g) lr(%lr) moments(%m, %v) step(%t)
        {beta1 = 0.9 : f64, beta2 = 0.999 : f64}
        : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>,
        tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "any shape">:$param,
    Arg<MPT_FloatTensor, "the parameter's shape">:$gradient,
    Arg<MPT_FloatTensor,
        "scalar; the learning rate, an argument with the role `schedule`">:$lr,
    Arg<MPT_FloatTensor, "the parameter's shape; m">:$exp_avg,
    Arg<MPT_FloatTensor, "the parameter's shape; v">:$exp_avg_sq,
    Arg<0DTensorOf<[I64]>, "scalar; 1 in the first step">:$step,
    Arg<Optional<0DTensorOf<[I1]>>, "scalar; if false, nothing changes">:$predicate,
    Arg<DefaultValuedAttr<F64Attr, "0.9">, "in [0, 1)">:$beta1,
    Arg<DefaultValuedAttr<F64Attr, "0.999">, "in [0, 1)">:$beta2,
    Arg<DefaultValuedAttr<F64Attr, "1.0e-8">, "at least 0">:$eps,
    Arg<DefaultValuedAttr<F64Attr, "0.0">, "at least 0">:$weight_decay);
  let results = (outs
    Res<MPT_FloatTensor, "the parameter's shape">:$new_param,
    Res<MPT_FloatTensor, "the parameter's shape">:$new_exp_avg,
    Res<MPT_FloatTensor, "the parameter's shape">:$new_exp_avg_sq);
  let assemblyFormat = [{
    `param` `(` $param `)` `grad` `(` $gradient `)` `lr` `(` $lr `)`
    `moments` `(` $exp_avg `,` $exp_avg_sq `)` `step` `(` $step `)`
    (`if` `(` $predicate^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let inferTypes = MPT_TypesOf<["Param", "ExpAvg", "ExpAvgSq"]>.body;
}
def MPT_AdamOp : MPT_AdamLikeOp<"adam", "g = gradient + weight_decay p, before the moments"> {
  let summary = "Adam, as torch.optim.Adam";
  let otherNames = [OtherName<"optim.Adam", "made by `--mpt-train-step=optimizer=adam`">];
}
def MPT_AdamWOp : MPT_AdamLikeOp<
    "adamw", "p *= 1 - lr weight_decay, before the update; g = gradient"> {
  let summary = "Adam with decoupled weight decay, as torch.optim.AdamW";
  let otherNames = [
    OtherName<"optim.AdamW", "made by `--mpt-train-step=optimizer=adamw`">];
}

//===----------------------------------------------------------------------===//
// Accumulation, and parameters stored in 16 bits
//===----------------------------------------------------------------------===//

def MPT_AccumulateOp : MPT_StateOp<"accumulate", [MPT_Fusible]> {
  let summary = "sum of gradients of any float type in f32";
  let otherNames = [OtherName<"gradient_accumulation", "made by `--mpt-accumulate`">];
  let description = [{
    result = (sum + gradient) / divisor in f32 (f64 if the sum is), rounded
    after each of the two. `--mpt-accumulate` makes one for each micro-batch
    after the first; the last divides. No precision pass makes the sum narrower.

    Example:

    ```mlir
    %s = mpt.accumulate %sum, %g {divisor = 4 : i64}
        : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[F32, F64]>, "any shape">:$sum,
    Arg<MPT_FloatTensor, "the sum's shape">:$gradient,
    Arg<DefaultValuedAttr<I64Attr, "1">, "at least 1">:$divisor);
  let results = (outs
    Res<RankedTensorOf<[F32, F64]>, "the sum's shape">:$result);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
  let scalar = [{
    Value total = b.add(sum, gradient);
    return getDivisor() > 1 ? b.div(total, b.number(getDivisor())) : total;
  }];
  let inferTypes = MPT_LikeFirst.body;
}

/// `element` builds the results' element type from `context`.
class MPT_HalvesOp<string mnemonic, string element>
    : MPT_StateOp<mnemonic, [MPT_Fusible]> {
  let fixedOperands = "true";
  let fixedResults = "true";
  let inferTypes = [{
    types.push_back(getTensor(adaptor.getOperands()[0])
                        .clone(}] # element # [{));
    return success();
  }];
  let scalarWidens = 0;
}

def MPT_JoinHalvesOp : MPT_HalvesOp<"join_halves", "Float32Type::get(context)"> {
  let summary = "f32 numbers from two halves of 16 bits";
  let description = [{
    The bits of the result are those of `high` times 2^16 plus `low`, a signed
    number, modulo 2^32. With `mpt.high_half` and `mpt.low_half` it maps all f32
    bit patterns one to one. Made by `--mpt-master-weights`.

    Example:

    ```mlir
    %x = mpt.join_halves %high, %low : (tensor<4xbf16>, tensor<4xi16>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[BF16]>, "any shape">:$high,
    Arg<RankedTensorOf<[I16]>, "high's shape">:$low);
  let results = (outs
    Res<RankedTensorOf<[F32]>, "high's shape">:$x);
  let hasVerifier = 1;
  let hasFolder = 1;
  let scalar = [{ return b.joinHalves(high, low); }];
}

def MPT_HighHalfOp : MPT_HalvesOp<"high_half", "BFloat16Type::get(context)"> {
  let summary = "f32 rounded to bf16 so that 16 more bits restore it";
  let description = [{
    Rounds to nearest, ties away from zero: the upper half of the bits plus
    2^15. A magnitude that rounds above the largest bf16 becomes an infinity,
    and NaN may become any pattern; `mpt.join_halves` restores these, too.

    Example:

    ```mlir
    %high = mpt.high_half %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[F32]>, "any shape">:$x);
  let results = (outs
    Res<RankedTensorOf<[BF16]>, "x's shape">:$high);
  let hasFolder = 1;
  let scalar = [{ return b.highHalf(x); }];
}

def MPT_LowHalfOp : MPT_HalvesOp<"low_half", "IntegerType::get(context, 16)"> {
  let summary = "lower 16 bits of f32 numbers";
  let description = [{
    The bits of x modulo 2^16, from which `mpt.join_halves` restores x.

    Example:

    ```mlir
    %low = mpt.low_half %x : (tensor<4xf32>) -> tensor<4xi16>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[F32]>, "any shape">:$x);
  let results = (outs
    Res<RankedTensorOf<[I16]>, "x's shape">:$low);
  let hasFolder = 1;
  let scalar = [{ return b.lowHalf(x); }];
}

def MPT_RoundingErrorOp : MPT_HalvesOp<"rounding_error", "BFloat16Type::get(context)"> {
  let summary = "what rounding f32 to bf16 takes away, in bf16";
  let description = [{
    x minus (x rounded to bf16), which f32 holds exactly, rounded to bf16; both
    to nearest, ties to even. It is the compensation that Kahan's summation
    carries to the next step (Zamirai et al. 2020, "Revisiting BFloat16
    training").

    Example:

    ```mlir
    %c = mpt.rounding_error %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[F32]>, "any shape">:$x);
  let results = (outs
    Res<RankedTensorOf<[BF16]>, "x's shape">:$error);
  let scalar = [{ return b.roundingError(x); }];
}

def MPT_AddCompensationOp : MPT_HalvesOp<"add_compensation", "Float32Type::get(context)"> {
  let summary = "bf16 number plus its compensation, in f32";
  let description = [{
    x = param + compensation, which is what `mpt.rounding_error` took away in
    the step before.

    Example:

    ```mlir
    %x = mpt.add_compensation %p, %c : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[BF16]>, "any shape">:$param,
    Arg<RankedTensorOf<[BF16]>, "the parameter's shape">:$compensation);
  let results = (outs
    Res<RankedTensorOf<[F32]>, "the parameter's shape">:$x);
  let hasVerifier = 1;
  let scalar = [{ return b.addCompensation(param, compensation); }];
}

def MPT_RandomBitsOp : MPT_TensorOp<"random_bits", "Deny", "Deny", [InferTypeOpAdaptor]> {
  let summary = "16 random bits for each element";
  let description = [{
    Element i (row-major) has half i mod 2 (the lower first) of lane (i mod 8) /
    2 of Philox4x32-10 with key (seed, `stream`) and counter (attempt, i / 8)
    (Salmon et al. 2011; the word layout is in mpt/Support/Philox.h). The same
    operands give the same bits on every machine.

    Example:

    ```mlir
    %b = mpt.random_bits %seed, %attempt {stream = 3 : i64, shape = array<i64: 4, 8>}
        : (tensor<i64>, tensor<i64>) -> tensor<4x8xi16>
    ```
  }];
  let arguments = (ins
    Arg<0DTensorOf<[I64]>,
        "scalar; the run's seed, an argument with the role `rng`">:$seed,
    Arg<0DTensorOf<[I64]>,
        "scalar; the number of steps tried, an argument with the role `rng`">:$attempt,
    Arg<I64Attr, "number that no other random op of the function has">:$stream,
    Arg<DenseI64ArrayAttr, "the result's shape">:$shape);
  let results = (outs
    Res<RankedTensorOf<[I16]>, "`shape`">:$bits);
  let fixedOperands = "true";
  let fixedResults = "true";
  let inferTypes = [{
    return inferRandom(location, adaptor.getShape(), IntegerType::get(context, 16), types);
  }];
}

def MPT_StochasticRoundOp : MPT_HalvesOp<"stochastic_round", "BFloat16Type::get(context)"> {
  let summary = "f32 to one of the two nearest bf16, by 16 random bits";
  let description = [{
    Adds `bits`, taken as a number from 0 to 65535, to the bits of x, and keeps
    the upper half. Of the two neighbors in bf16, the result is the one further
    from zero with probability (distance to the nearer to zero) / (distance
    between both), so that the mean is x. Numbers that bf16 holds stay, with any
    bits. The neighbor above the largest number is infinity; infinities and NaN
    are converted.

    Example:

    ```mlir
    %y = mpt.stochastic_round %x, %bits : (tensor<4xf32>, tensor<4xi16>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[F32]>, "any shape">:$x,
    Arg<RankedTensorOf<[I16]>, "x's shape">:$bits);
  let results = (outs
    Res<RankedTensorOf<[BF16]>, "x's shape">:$y);
  let hasVerifier = 1;
  let scalar = [{ return b.roundStochastically(x, bits); }];
}

//===----------------------------------------------------------------------===//
// State in 8 bits
//===----------------------------------------------------------------------===//

def MPT_DynamicCodeOp : MPT_StateOp<"dynamic_code", [MPT_Fusible]> {
  let summary = "8-bit codes of numbers in [-1, 1], elementwise";
  let otherNames = [OtherName<"dQuantize">];
  let description = [{
    The code book is the dynamic tree of Dettmers et al. 2022 ("8-bit optimizers via
    block-wise quantization", arXiv 2110.02861, section 1.2), as bitsandbytes has it. It
    holds 0, 1, and for each decade (10^(i-7), 10^(i-6)], i = 0 .. 6, the middles of N
    equal parts: N = 2^i, and the same numbers negated, or with `nonnegative` N = 2^(i+1)
    and nothing negated. The codes are 0 to 255 in ascending order of the numbers, so 0 is
    code 127, or 0 with `nonnegative`; the i8 holds these bits.

    Without `offset` the code is that of the number that is nearest, up to 2^-14 of the
    distance between two.

    With `offset` it is one of the two neighbors. The place v of a magnitude is that of its
    number among the code book's, linear in between: an integer at each of them. It is
    computed in f32, up to 2^-14. The code is that of the number at floor(v + offset), with
    x's sign, whose mean is x up to 2^-14 of their distance for a random offset in [0, 1).

    Magnitudes above 1 and NaN count as 1; below -0.993 the code is the lowest. With
    `nonnegative` only zero gets the code of zero, and smaller numbers get the next one: a
    second moment of zero would make a step as large as its first ones (Li et al. 2023,
    arXiv 2309.01507, section 4.1).

    Numbers of lower decades are multiplied by a power of ten first. Within a decade of N
    parts w = |x| N / (0.9 10^(i-6)) - N / 9 goes from 0 to N, and the number is the one at
    N + floor(w). Below w = 0.2 the last of the decade before is nearer (in the first decade
    zero, below w = 0.25 - N / 18), and from w = N - 0.25 of the last decade 1 is. v is
    N + w - 0.5. To the first number of a decade (w < 0.5) v rises from that before it, at
    w = -0.1, or for the first decade from zero, and after the last (w > N - 0.5) to that of
    the next, or to 1. Up to the last number these lines bend down only, so v is the lowest
    of three. The oracle's code (lib/Reference/OptimizerState.cpp) says how each step is
    rounded.

    Example:

    ```mlir
    %c = mpt.dynamic_code %x : (tensor<4x256xf32>) -> tensor<4x256xi8>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[F32]>, "any shape">:$x,
    Arg<Optional<RankedTensorOf<[F32]>>, "x's shape; in [0, 1)">:$offset,
    Arg<UnitAttr, "x is not negative, and the code book has no negative "
                  "numbers">:$nonnegative);
  let results = (outs
    Res<RankedTensorOf<[I8]>, "x's shape">:$code);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
  let inferTypes = [{
    types.push_back(getTensor(adaptor.getX()).clone(IntegerType::get(context, 8)));
    return success();
  }];
  let scalar = [{ return b.dynamicCode(x, offset, getNonnegative()); }];
}

def MPT_DynamicValueOp : MPT_StateOp<"dynamic_value", [MPT_Fusible]> {
  let summary = "numbers in [-1, 1] of 8-bit codes, elementwise";
  let otherNames = [OtherName<"create_dynamic_map", "the table of all numbers">];
  let description = [{
    The number of each code of `mpt.dynamic_code`, with the bits that bitsandbytes' table
    has: d = 1 - 0.1 in f32; b(t) is 0.1 + d t for t below 0.5 and 1 - d (1 - t) from there
    on, each rounded once to f32; the j-th number of a decade is
    10^(i-6) (b(j / N) + b((j + 1) / N)) / 2.

    Example:

    ```mlir
    %x = mpt.dynamic_value %c : (tensor<4x256xi8>) -> tensor<4x256xf32>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[I8]>, "any shape; the bits of 0 to 255">:$code,
    Arg<UnitAttr, "as in `mpt.dynamic_code`">:$nonnegative);
  let results = (outs
    Res<RankedTensorOf<[F32]>, "code's shape">:$x);
  let fixedResults = "true";
  let inferTypes = [{
    types.push_back(getTensor(adaptor.getCode()).clone(Float32Type::get(context)));
    return success();
  }];
  let scalar = [{ return b.dynamicValue(code, getNonnegative()); }];
}

def MPT_QuantizeBlockwiseOp : MPT_StateOp<"quantize_blockwise"> {
  let summary = "8-bit codes and the largest magnitude of each block";
  let otherNames = [OtherName<"quantize_blockwise", "with a dynamic code book">];
  let description = [{
    x's elements, in row-major order, are cut into blocks of `block_size`; the last may be
    smaller. absmax is each block's largest magnitude, and the codes are
    `mpt.dynamic_code` of x times 1 / absmax, both rounded to f32. A block whose absmax is
    less than 2^-126 has the code of zero throughout. A NaN or an infinity in a block
    makes its absmax one.

    Without `bits` numbers are rounded to the nearest, with `bits` to one of two at random:
    the offset of `mpt.dynamic_code` is then bits / 65536, with bits from 0 to 65535. Made by
    `--mpt-optimizer-state`.

    Example:

    ```mlir
    %c, %a = mpt.quantize_blockwise %m {block_size = 256 : i64}
        : (tensor<64x100xf32>) -> (tensor<64x100xi8>, tensor<25xf32>)
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[F32]>, "any shape">:$x,
    Arg<Optional<RankedTensorOf<[I16]>>, "x's shape; random">:$bits,
    Arg<I64Attr, "elements of a block, at least 1">:$block_size,
    Arg<UnitAttr, "as in `mpt.dynamic_code`">:$nonnegative);
  let results = (outs
    Res<RankedTensorOf<[I8]>, "x's shape">:$codes,
    Res<RankedTensorOf<[F32]>, "[elements / `block_size`], rounded up">:$absmax);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
}

def MPT_DequantizeBlockwiseOp : MPT_StateOp<"dequantize_blockwise"> {
  let summary = "numbers that 8-bit codes and the largest magnitudes of blocks stand for";
  let otherNames = [OtherName<"dequantize_blockwise", "with a dynamic code book">];
  let description = [{
    x = `mpt.dynamic_value` of the code times its block's absmax, rounded to f32. Made by
    `--mpt-optimizer-state`.

    Example:

    ```mlir
    %m = mpt.dequantize_blockwise %c, %a {block_size = 256 : i64}
        : (tensor<64x100xi8>, tensor<25xf32>) -> tensor<64x100xf32>
    ```
  }];
  let arguments = (ins
    Arg<RankedTensorOf<[I8]>, "any shape">:$codes,
    Arg<RankedTensorOf<[F32]>, "[elements / `block_size`], rounded up">:$absmax,
    Arg<I64Attr, "elements of a block, at least 1">:$block_size,
    Arg<UnitAttr, "as in `mpt.dynamic_code`">:$nonnegative);
  let results = (outs
    Res<RankedTensorOf<[F32]>, "the codes' shape">:$x);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
  let inferTypes = [{
    types.push_back(getTensor(adaptor.getCodes()).clone(Float32Type::get(context)));
    return success();
  }];
}

} // MPT_StepDocs

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

let opDocGroup = MPT_StructureDocs in {

def MPT_BarrierOp : MPT_InferredOp<"barrier", "Clear", "Clear", [MPT_Differentiable],
                                   /*purity=*/[AlwaysSpeculatable]> {
  let summary = "identity that nothing is merged or moved across";
  let otherNames = [OtherName<"optimization_barrier">];
  let description = [{
    Returns its operands. It stops common-subexpression elimination from undoing
    a recomputation. So that equal barriers are not merged either, each counts
    as making new values (an allocation, for MLIR's side effects). One without
    uses is dropped.

    Example:

    ```mlir
    %y = mpt.barrier %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_StoredTensor>, "tensors of any shape">:$inputs);
  let results = (outs
    Res<Variadic<MPT_StoredTensor>, "the operands' shapes", [MemAlloc]>:$outputs);
  let gradient = [{
    for (auto [i, resultGrad] : llvm::enumerate(resultGrads))
      if (needed[i])
        operandGrads[i] = resultGrad;
    return success();
  }];
  let inferTypes = [{
    llvm::append_range(types, adaptor.getInputs().getTypes());
    return success();
  }];
}

def MPT_CheckpointOp : MPT_Op<"checkpoint", [RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "region whose values the backward pass recomputes";
  let otherNames = [OtherName<"torch.utils.checkpoint.checkpoint">, OtherName<"remat">];
  let description = [{
    Gradient checkpointing as in torch.utils.checkpoint. `--mpt-autodiff`
    inlines the region and marks its ops `mpt.save = "never"`. The body has one block
    without arguments, may use values from above, and ends in `mpt.yield`.

    Example:

    ```mlir
    %y = mpt.checkpoint {
      %a = mpt.relu %x : (tensor<4xf32>) -> tensor<4xf32>
      mpt.yield %a : tensor<4xf32>
    } : tensor<4xf32>
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let results = (outs
    Res<Variadic<MPT_Tensor>, "what the body yields">:$outputs);
  let assemblyFormat = "$body attr-dict (`:` type($outputs)^)?";
  let hasVerifier = 1;
}

def MPT_YieldOp : MPT_Op<"yield", [Pure, Terminator,
    ParentOneOf<["CheckpointOp", "ScanOp"]>]> {
  let summary = "end of the body of `mpt.checkpoint` or `mpt.scan`";
  let description = [{
    What `mpt.checkpoint` yields are its results. What `mpt.scan` yields are the next
    values of what it carries, then one slice of each stacked result.

    Example:

    ```mlir
    %y = mpt.checkpoint {
      %a = mpt.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
      mpt.yield %a : tensor<4xf32>
    } : tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_Tensor>, "what the body gives">:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins)>];
}

} // MPT_StructureDocs

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

let opDocGroup = MPT_LoopDocs in {

def MPT_ScanOp : MPT_Op<"scan", [RecursiveMemoryEffects, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "loop over dimension 0 of its inputs that carries values";
  let otherNames = [
    OtherName<"nn.RNN", "once for each layer and direction">,
    OtherName<"for_loop">, OtherName<"fori_loop">, OtherName<"dynamic_rnn">];
  let description = [{
    Runs the body `trip_count` times, as `jax.lax.scan` does:

        c = inits
        for i in 0 .. trip_count - 1 (trip_count - 1 .. 0 with `reverse`):
            c, ys[i] = body(c, inputs[i])

    The arguments of the body are what is carried, with the types of `inits`, then a slice
    of each input: its type without dimension 0, which is `trip_count`. The body ends in
    `mpt.yield` of the next values of what is carried, of the same types, then one slice of
    each stacked result. The results are the last carried values, then the slices, stacked
    along a new dimension 0: slice i comes from the iteration that read slice i of the
    inputs, also with `reverse`. The body may use values from above; they are the same in
    each iteration. So is what `mpt.dropout` draws, unless `attempt` or the seed
    depends on an input or a carried value.

    `--mpt-autodiff` makes a second scan in the opposite direction. It reads what it needs
    of the forward pass as stacked inputs, which the first scan returns in addition, and
    adds up the gradients of values from above in what it carries. Inside, `mpt.checkpoint`
    regions are computed again. With `checkpoint_every = n` only the carried values of every
    n-th iteration are kept, and each group of n iterations is computed again before
    its backward pass; n divides `trip_count`.

    A `conditional` scan ends before the first iteration in which the first carried value,
    a `tensor<i1>`, is false, and so runs up to `trip_count` times: one of 1 is a branch,
    which is taken or not. It has no inputs and no stacked results, and its carried values
    are then those that there are.
    `--mpt-autodiff` makes a branch that gradients flow through a choice between what its
    body computes and what came in, and so does planning for a GPU with each.
    The others have no gradient, as `jax.lax.while_loop`.

    Mixed precision gives a carried value one type throughout, and a stacked result the type
    of its slices. Casts of values from above stay outside.

    Planning unrolls scans of few iterations (`--mpt-unroll-scan`). Others are loops in the
    program.

    Example:

    ```mlir
    %sum, %sums = mpt.scan 5 carry(%zero : tensor<4xf32>) over(%xs : tensor<5x4xf32>) {
    ^bb0(%c: tensor<4xf32>, %x: tensor<4xf32>):
      %next = mpt.add %c, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      mpt.yield %next, %next : tensor<4xf32>, tensor<4xf32>
    } : tensor<4xf32>, tensor<5x4xf32>
    ```

    A branch, and a loop that halves `%x` until its sum is below a limit:

    ```mlir
    %p:2 = mpt.scan conditional 1 carry(%flag, %x : tensor<i1>, tensor<4xf32>) {
    ^bb0(%c: tensor<i1>, %v: tensor<4xf32>):
      %next = mpt.exp %v : (tensor<4xf32>) -> tensor<4xf32>
      mpt.yield %c, %next : tensor<i1>, tensor<4xf32>
    } : tensor<i1>, tensor<4xf32>
    %q:2 = mpt.scan conditional 100 carry(%flag, %x : tensor<i1>, tensor<4xf32>) {
    ^bb0(%c: tensor<i1>, %v: tensor<4xf32>):
      %next = mpt.mul %v, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %sum = mpt.reduce %next {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
      %more = mpt.compare %sum, %limit {predicate = #mpt.predicate<ge>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      mpt.yield %more, %next : tensor<i1>, tensor<4xf32>
    } : tensor<i1>, tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<ConfinedAttr<I64Attr, [IntPositive]>,
        "how often the body runs, at most if `conditional`">:$trip_count,
    Arg<UnitAttr, "from the last slice to the first">:$reverse,
    Arg<Variadic<MPT_Tensor>, "first values of what is carried">:$inits,
    Arg<Variadic<MPT_Tensor>, "[`trip_count`, ..]; read slice by slice">:$inputs,
    Arg<OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>,
        "a divisor of `trip_count`: the backward pass keeps what is carried into every "
        "n-th iteration and computes the others again; by default it keeps all that it "
        "reads">:$checkpoint_every,
    Arg<UnitAttr, "ends before the iteration in which the first carried value is "
        "false">:$conditional);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs
    Res<Variadic<MPT_Tensor>,
        "the last carried values, then [`trip_count`, ..] for each further value that the "
        "body yields">:$outputs);
  let assemblyFormat = [{
    (`conditional` $conditional^)? $trip_count (`reverse` $reverse^)? (`carry` `(` $inits^ `:` type($inits) `)`)?
    (`over` `(` $inputs^ `:` type($inputs) `)`)? $body attr-dict (`:` type($outputs)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many of the body's arguments, of what it yields and of the results are
    /// carried; they come first.
    unsigned getNumCarried() { return getInits().size(); }
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// The body's terminator; null in a body that is not verified.
    ::mpt::YieldOp getYield();
    /// Iteration `i`'s slice of inputs and stacked results, for i from 0.
    int64_t getIndex(int64_t i) { return getReverse() ? getTripCount() - 1 - i : i; }
  }];
}

} // MPT_LoopDocs

#endif // MPT_DIALECT_MPT_IR_MPTOPSTRAINING_TD
