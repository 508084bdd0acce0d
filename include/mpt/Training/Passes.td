//===- Passes.td - From forward functions to training steps -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TRAINING_PASSES_TD
#define MPT_TRAINING_PASSES_TD

include "mlir/Pass/PassBase.td"

/// Of `mpt-train-step` and `mpt-learning-rate`.
defvar learningRateOptions = [
  Option<"lrSchedule", "lr-schedule", "std::string", "\"constant\"",
         "The learning rate's course after the warm-up: constant, linear, cosine, step">,
  Option<"warmup", "warmup", "int64_t", "0",
         "Steps over which it rises linearly to lr">,
  Option<"totalSteps", "total-steps", "int64_t", "0",
         "Steps after which linear and cosine reach their end">,
  Option<"lrFinal", "lr-final", "double", "0.0",
         "Where linear and cosine end, as a fraction of lr">,
  Option<"lrStep", "lr-step", "int64_t", "0", "Steps between two falls (step)">,
  Option<"lrGamma", "lr-gamma", "double", "0.1", "Factor of each fall (step)">];

def AutodiffPass : Pass<"mpt-autodiff", "::mlir::ModuleOp"> {
  let summary = "Append the backward pass to a forward function";
  let description = [{
    Reverse-mode differentiation of the loss (the function's first result, an
    f32 scalar) for every argument whose `mpt.role` is `parameter`. The seed is
    one `mpt.grad_seed`; the gradients go through one `mpt.gradients` op and
    become results named `grad.<parameter>`. Where results carry `mpt.loss`, each
    of them is a loss with a seed and gradients of its own (ops with the attribute
    `mpt.loss`, the result's name; results `grad.<loss>.<parameter>`), so that
    each can have its own loss scale. `mpt.checkpoint` regions are
    inlined and their ops marked. An op with no rule on a path from a parameter
    to the loss is an error that names it.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"",
           "Name of the forward function">];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

def TrainStepPass : Pass<"mpt-train-step", "::mlir::ModuleOp"> {
  let summary = "Turn a differentiated function into one training step";
  let description = [{
    Replaces the gradient results by an optimizer: parameters become results
    with `mpt.updates`, optimizer state becomes arguments and results (role
    `optimizer_state`, initialized to zeros), `step` (i64, role
    `optimizer_state`) counts steps taken, `attempt` (role `rng`, i64) counts
    attempts, `lr` is an f32 scalar argument of role `schedule` with
    `mpt.init` from `lr`; the parameters of each of `lr-groups` have one of their own,
    `lr.group0` and so on. `grad_norm` becomes a result with `grad-norm`,
    `clip-norm`, `clip-groups` or `skip-spikes`: the norm before clipping.
    Weight decay applies to parameters of rank 2 and higher with
    `decay=matrices`, to all with `decay=all`; `mpt.decay = false` on an
    argument exempts it, and `decay-groups` go before both. Formulas are those of torch.optim.

    A function may change a parameter that has a gradient, by a result with `mpt.updates`, as an
    embedding does that limits the norms of its rows. The optimizer updates that value, and its
    result takes the place of this one. Such parameters are f32 or f64.

    With `optimizer=@NAME` a function of the module updates the parameters; it becomes part of
    the step. `mpt.name` tells what its arguments are: a parameter; `grad.NAME`, its gradient
    after clipping, of the parameter's shape; `lr`, or `lr.group0` of `lr-groups`, f32
    scalars; `step`, the i64 number of this step, from 1. All others are state, with `mpt.role`
    `optimizer_state` and perhaps `mpt.init`. Its results have `mpt.updates`; they are the
    next values of all parameters and all state. Parameters are f32 or f64 and whole. Its ops
    run in f32, unless their `mpt.precision` says otherwise. Options of other optimizers,
    weight decay among them, are errors.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"",
           "Name of the differentiated function">,
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "sgd, momentum, adam, adamw, or @NAME, a function of the module">,
    Option<"lr", "lr", "double", "1.0e-3", "Initial learning rate">,
    Option<"momentum", "momentum", "double", "-std::numeric_limits<double>::infinity()",
           "Momentum (not given, printed as -INF: 0.9 of momentum, none of sgd, for which "
           "above 0 is optimizer=momentum)">,
    Option<"nesterov", "nesterov", "bool", "false",
           "Nesterov momentum (momentum, sgd with momentum)">,
    Option<"beta1", "beta1", "double", "0.9", "First decay (adam, adamw)">,
    Option<"beta2", "beta2", "double", "0.999", "Second decay (adam, adamw)">,
    Option<"eps", "eps", "double", "1.0e-8", "Denominator's epsilon">,
    Option<"weightDecay", "weight-decay", "double", "0.0", "Weight decay">,
    Option<"decay", "decay", "std::string", "\"matrices\"",
           "Parameters that decay: matrices or all">,
    Option<"clipNorm", "clip-norm", "double", "0.0",
           "Clip gradients to this global L2 norm; 0: no clipping">,
    Option<"gradNorm", "grad-norm", "bool", "false",
           "Return the global L2 norm of the gradients even if nothing else needs it; "
           "--mpt-loss-scale also returns it">,
    ListOption<"lrGroups", "lr-groups", "std::string",
               "REGEX=RATE: the parameters whose name matches have a learning rate of "
               "their own, which is this at first">,
    ListOption<"decayGroups", "decay-groups", "std::string",
               "REGEX=DECAY: the weight decay of the parameters whose name matches, in "
               "place of weight-decay">,
    ListOption<"clipGroups", "clip-groups", "std::string",
               "REGEX=NORM: clip the gradients of the parameters whose name matches to "
               "this joint L2 norm, before clip-norm">,
    ListOption<"scaleGradients", "scale-gradients", "std::string",
               "REGEX=FACTOR: multiply the gradients of the parameters whose name "
               "matches, before norms are taken">,
    Option<"skipSpikes", "skip-spikes", "double", "0.0",
           "Skip steps whose gradient norm lies more than this many deviations above "
           "its running mean; 0: none">,
    Option<"spikeAlpha", "spike-alpha", "double", "0.97",
           "Weight of the old mean and variance in the new ones">,
    Option<"spikeWarmup", "spike-warmup", "int64_t", "25",
           "Steps that give the first mean and variance; none of them is skipped">,
    Option<"spikePatience", "spike-patience", "int64_t", "10",
           "After so many skipped steps in a row the next is taken, and the statistics "
           "start again">,
    Option<"emaDecay", "ema-decay", "double", "0.0",
           "Keep an exponential moving average of the parameters; 0: none">,
    Option<"emaWarmup", "ema-warmup", "std::string", "\"none\"",
           "none; steps: the decay of step t is at most t / (9 + t); bias-correction: the "
           "average from zero, divided by 1 - decay^t">]
    # learningRateOptions;
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

def LearningRatePass : Pass<"mpt-learning-rate", "::mlir::ModuleOp"> {
  let summary = "Give a training step a learning-rate schedule";
  let description = [{
    Readers of the argument `lr` read `lr` times a factor that depends on the steps taken,
    computed in f64 and rounded to lr's type. The result `learning_rate` is the rate that
    the step uses. The state `step` counts steps; if a step has none, a state
    `lr.step` is added, which advances if the result `did_step` is true or missing.
    `--mpt-train-step` has the same options.

    With t steps taken before this one: while t < warmup the factor is (t + 1) / warmup;
    then, with u = t - warmup and p = min(1, u / (total-steps - warmup)), 1 (`constant`),
    1 + (lr-final - 1) p (`linear`), lr-final + (1 - lr-final) (1 + cos(pi p)) / 2
    (`cosine`), lr-gamma^floor(u / lr-step) (`step`).
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The step; the module's only function if empty">]
    # learningRateOptions;
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

def Fp8Pass : Pass<"mpt-fp8", "::mlir::ModuleOp"> {
  let summary = "Let matmuls of a step read 8-bit floats, with scales for tensors or blocks";
  let description = [{
    The matmuls of a step (`mpt.matmul`, `mpt.linear`; not those inside
    attention) read f8E4M3FN and, for gradients, f8E5M2. They sum in f32, and their
    result types do not change. Each tensor is multiplied by a scale before it is rounded
    (out-of-range values saturate; NaN and infinity stay non-finite), and the result by the
    inverse scales. A tensor that several matmuls read is quantized once.

    A scale is the format's largest number divided by the tensor's largest magnitude (amax)
    and by 2^`margin`; if amax is zero or not finite, the scale stays. `recipe=current`
    takes the amax of the tensor itself. `recipe=delayed` takes that of the last
    `history` steps, including this one, for the next step. Amax and scales are
    state of the step with role `running_stat`: `fp8.amax_history` [tensors, history] and
    `fp8.scale` [tensors], initially 0 and 1. The rule is Transformer Engine's.

    `fast-accumulation=forward` marks the matmuls of the forward pass with
    `fast_accumulation`, `all` those of gradients, too. Tensor cores of Ada and Hopper then
    keep sums in about 14 significant bits and are faster. Transformer Engine does so in the
    forward pass (`use_split_accumulator=False`), PyTorch with
    `torch._scaled_mm(use_fast_accum=True)`; here it is not the default.

    `recipe=deepseek` and `recipe=mxfp8` have a scale for each block of a tensor
    (`mpt.quantize`, `mpt.scaled_matmul`), chosen by the block's own amax, so there is no
    state. All operands are f8E4M3FN. They apply to linear layers: matmuls of an
    activation with a parameter, and the two matmuls of their backward pass.

    `deepseek` (DeepSeek-V3, arXiv 2412.19437, section 3.3) has blocks of 128 by 128 for
    parameters and of 128 elements along K for activations and gradients, and adds sums of
    `promotion` products in f32. The input of a layer is kept for the backward pass in 8
    bits only; the operand of the weight's gradient is made from them. `mxfp8` has
    blocks of 32 elements along K with scales of f8E8M0FNU for all operands, each made
    from the original tensor.

    Run it after `--mpt-train-step` and before `--mpt-loss-scale`, which keeps the state
    of a step that is skipped. Recipes with block scales have no state: run them after
    `--mpt-autocast`, so that what the backward pass keeps is stored as autocast says. They
    read parameters as they are before autocast rounds them.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"", "The step">,
    Option<"recipe", "recipe", "std::string", "\"delayed\"", "delayed or current (a scale for each tensor), deepseek or mxfp8 (for each "
           "block)">,
    Option<"format", "format", "std::string", "\"hybrid\"",
           "hybrid (gradients f8E5M2, all else f8E4M3FN) or e4m3 (all)">,
    Option<"history", "history", "int64_t", "1024", "Steps that delayed looks back">,
    Option<"amax", "amax", "std::string", "\"max\"",
           "max or most_recent: which amax of the history counts">,
    Option<"margin", "margin", "int64_t", "0", "Powers of two left free">,
    Option<"fastAccumulation", "fast-accumulation", "std::string", "\"none\"",
           "none, forward or all: matmuls of delayed and current whose sums may have fewer "
           "bits than f32">,
    Option<"alignment", "alignment", "int64_t", "16",
           "Matmuls whose sizes are not multiples of this keep their types">,
    Option<"scales", "scales", "std::string", "\"power_of_two\"",
           "power_of_two or f32: the scales of deepseek">,
    Option<"promotion", "promotion", "int64_t", "128",
           "Products that deepseek sums before it adds the sum in f32; a multiple of "
           "128, or 0: all">,
    Option<"accumulatorBits", "accumulator-bits", "int64_t", "0",
           "Significant bits of deepseek's and mxfp8's sums, 8 to 18: a model of tensor "
           "cores, 14 of Hopper's; 0: f32">,
    Option<"saved", "saved", "std::string", "\"quantized\"",
           "quantized or original: from which of them deepseek makes the operand of a "
           "weight's gradient">,
    Option<"quantizeHead", "quantize-head", "bool", "false",
           "Let the layer that the loss reads take part with deepseek and mxfp8">,
    Option<"quantizeRouter", "quantize-router", "bool", "false",
           "Let layers take part with deepseek and mxfp8 whose results order or choose, "
           "such as a router's">,
    ListOption<"recompute", "recompute", "std::string",
               "norms and swiglu: what deepseek and mxfp8 compute again in the backward "
               "pass instead of keeping it (mpt.save)">,
    ListOption<"keep", "keep", "std::string",
               "Regular expressions of op names, locations (file:line, name) or "
               "functions (@name) whose matmuls keep their types">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def LossScalePass : Pass<"mpt-loss-scale", "::mlir::ModuleOp"> {
  let summary = "Scale the loss, unscale and check the gradients, guard the update";
  let description = [{
    The seed of the backward pass is multiplied by the scale, every gradient is
    unscaled in f32 and checked once, and state is updated
    only if all are finite. The scale and its counters are arguments and results
    (role `loss_scale`). `dynamic` changes it as one of eight libraries does (`preset`);
    `amax` chooses the greatest power of two with which the largest gradient of the
    last `window` steps stays `margin` times below the largest number of `type`;
    `static` leaves it alone. Adds results `found_inf`, `did_step`, `loss_scale`,
    `grad_norm` (of the gradients that the optimizers read, if the step does not
    return it yet), and, if the scale has a floor or a ceiling, `loss_scale.at_min`
    and `loss_scale.at_max`. Needs `mpt.grad_seed` and `mpt.gradients`. What is done
    with scaled gradients is checked as by `--mpt-validate-loss-scale`.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"dynamic\"", "dynamic, static or amax">,
    Option<"preset", "preset", "std::string", "\"torch\"",
           "torch, tf, keras, apex, megatron, deepspeed, deepspeed-consecutive, jmp or "
           "paddle; sets the options below, up to hysteresis, that are not given (their "
           "printed values, -INF and the least integer, say so)">,
    Option<"initScale", "init-scale", "double", "-std::numeric_limits<double>::infinity()",
           "First scale">,
    Option<"growthFactor", "growth-factor", "double", "-std::numeric_limits<double>::infinity()",
           "Growth factor">,
    Option<"backoffFactor", "backoff-factor", "double", "-std::numeric_limits<double>::infinity()",
           "Backoff factor">,
    Option<"growthInterval", "growth-interval", "int64_t", "std::numeric_limits<int64_t>::min()",
           "Finite steps before the scale grows">,
    Option<"minScale", "min-scale", "double", "-std::numeric_limits<double>::infinity()",
           "The scale does not fall below it; 0: no floor">,
    Option<"maxScale", "max-scale", "double", "-std::numeric_limits<double>::infinity()",
           "The scale does not grow above it; 0: no ceiling">,
    Option<"hysteresis", "hysteresis", "int64_t", "std::numeric_limits<int64_t>::min()",
           "Bad steps until the scale falls (megatron, deepspeed, paddle)">,
    Option<"window", "window", "int64_t", "16",
           "Steps that amax looks back, at most 65536">,
    Option<"margin", "margin", "double", "16.0",
           "How many times the largest gradient must fit (amax)">,
    Option<"type", "type", "std::string", "\"f16\"",
           "f16, bf16 or f32: what the gradients must fit into (amax)">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def ValidateLossScalePass : Pass<"mpt-validate-loss-scale", "::mlir::ModuleOp"> {
  let summary = "Check that gradients are scaled and unscaled as they must be";
  let description = [{
    Changes nothing. It reports at the op: a gradient that is unscaled twice, or by
    another scale than it was scaled by; clipping, or an optimizer, that reads scaled
    gradients; a sum of gradients of different scales (a scale that changed
    between micro-batches); a scaled gradient that is compared with a limit, or given to
    what is not linear; a parameter stored in f16 that is updated in f16. It follows ops
    of the mpt dialect and of StableHLO, and their loops and branches.
  }];
}

def MasterWeightsPass : Pass<"mpt-master-weights", "::mlir::ModuleOp"> {
  let summary = "Choose the state that keeps a parameter between steps";
  let description = [{
    `f32`: parameters stored in f32 are their own masters and are left alone; one
    stored in f16 or bf16 becomes f32 state, cast down once per step. The other
    kinds store the parameter in bf16, whatever the model declares:
    `bf16-stochastic-rounding` rounds the optimizer's f32 result at random, with
    Philox; `bf16-kahan` keeps a bf16 compensation (`<name>.compensation`) for the
    rounding error; `split16` keeps the 16 lower bits (`<name>.low`), so that
    both together are an f32 master. `none` leaves a parameter as it is declared. A
    parameter's `mpt.master` overrides `groups`, and these override `kind`. Run
    after `--mpt-train-step`.
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"f32\"",
           "f32, bf16-stochastic-rounding, bf16-kahan, split16 or none">,
    ListOption<"groups", "groups", "std::string",
               "REGEX=KIND: the kind of parameters whose name matches; the first "
               "that matches counts">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def OptimizerStatePass : Pass<"mpt-optimizer-state", "::mlir::ModuleOp"> {
  let summary = "Choose the types in which optimizers keep their moments";
  let description = [{
    `f32` leaves them as they are. `bf16` stores them in bf16. `block8` stores 8-bit codes
    (`mpt.quantize_blockwise`, Dettmers et al. 2022) and the largest magnitude of each
    block of `block-size` elements (`<name>.absmax`); Adam's second moment has the code
    book without negative numbers. Optimizers compute in f32 with every kind. Moments of
    less than `min-elements` elements stay f32. A regular expression of `groups` that
    matches a parameter's name overrides `kind`.

    `rounding=stochastic` draws bits with Philox, from the step's `seed` and `attempt`.
    `auto` is stochastic for bf16, in which moments otherwise stop to decay: Adam's second
    moment changes by a thousandth of itself, and bf16 numbers are 2^-8 apart. It is
    nearest for block8, whose largest number is f32 and exact. Run after
    `--mpt-train-step`, before or after `--mpt-loss-scale` and `--mpt-master-weights`.
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"f32\"", "f32, bf16 or block8">,
    Option<"rounding", "rounding", "std::string", "\"auto\"",
           "auto, nearest or stochastic">,
    Option<"blockSize", "block-size", "int64_t", "256",
           "Elements of a block of block8: 256, 512, 1024 or 2048">,
    Option<"minElements", "min-elements", "int64_t", "4096",
           "Moments with less elements stay f32">,
    ListOption<"groups", "groups", "std::string",
               "REGEX=KIND: the kind of parameters whose name matches; the first "
               "that matches counts">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def AccumulatePass : Pass<"mpt-accumulate", "::mlir::ModuleOp"> {
  let summary = "Add the gradients of several micro-batches in f32 before one update";
  let description = [{
    The input is a function that `--mpt-autodiff` made for one micro-batch. The result
    takes `steps` times as many rows of data, cuts them, and runs forward and backward
    on each part in turn. Gradients are added in f32 and divided by `steps` at the
    end, so with a loss that is a mean over rows they are the gradients of the whole
    batch. Running statistics go from one micro-batch to the next; micro-batch i
    draws its random numbers as attempt * steps + i. Results: floating scalars
    are means, integers sums, flags are joined by "or", tensors are joined along
    dimension 0. Run before `--mpt-train-step`.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"",
           "Name of the differentiated function">,
    Option<"steps", "steps", "int64_t", "1", "Micro-batches per step">,
    ListOption<"shared", "shared", "std::string",
               "Names of data arguments that every micro-batch reads whole">];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

#endif // MPT_TRAINING_PASSES_TD
