//===- Passes.td - Passes of MPT -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TRANSFORMS_PASSES_TD
#define MPT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Autodiff and the train step
//===----------------------------------------------------------------------===//

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

def CastParametersPass : Pass<"mpt-cast-parameters", "::mlir::ModuleOp"> {
  let summary = "Store a model's f32 parameters in a low type";
  let description = [{
    Arguments of role `parameter` or `running_stat` become `type`; what reads them reads
    an f32 cast of them, which autocast looks through, and what updates them is rounded
    to `type`. With `keep-batch-norm`, what `mpt.batch_norm` and
    `mpt.batch_norm_inference` read directly stays f32. For a forward function, before
    `--mpt-autodiff`; `--mpt-master-weights` behind `--mpt-train-step` gives the
    parameters f32 masters.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"",
           "Name of the forward function">,
    Option<"type", "type", "std::string", "\"f16\"", "f16 or bf16">,
    Option<"keepBatchNorm", "keep-batch-norm", "bool", "true",
           "Batch norm's scale, offset and statistics stay f32">];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

/// Of `mpt-train-step` and `mpt-learning-rate`.
defvar learningRateOptions = [
  Option<"lrSchedule", "lr-schedule", "std::string", "\"constant\"",
         "The learning rate's course after the warm-up: constant, linear, cosine, step">,
  Option<"warmup", "warmup", "int64_t", "0",
         "Steps over which it rises linearly to lr">,
  Option<"totalSteps", "total-steps", "int64_t", "0",
         "Steps after which linear and cosine have come down">,
  Option<"lrFinal", "lr-final", "double", "0.0",
         "Where linear and cosine end, as a fraction of lr">,
  Option<"lrStep", "lr-step", "int64_t", "0", "Steps between two falls (step)">,
  Option<"lrGamma", "lr-gamma", "double", "0.1", "What each fall multiplies by (step)">];

def TrainStepPass : Pass<"mpt-train-step", "::mlir::ModuleOp"> {
  let summary = "Turn a differentiated function into one training step";
  let description = [{
    Replaces the gradient results by an optimizer: parameters become results
    with `mpt.updates`, optimizer state becomes arguments and results (role
    `optimizer_state`, initialized to zeros), `step` (i64, role
    `optimizer_state`) counts steps taken, `attempt` (role `rng`, i64) counts
    attempts, `lr` is an f32 scalar argument of role `schedule` with
    `mpt.init` from `lr`. `grad_norm` becomes a result with `grad-norm`,
    `clip-norm`, `clip-groups` or `skip-spikes`: the norm before clipping.
    Weight decay applies to parameters of rank 2 and higher with
    `decay=matrices`, to all with `decay=all`; `mpt.decay = false` on an
    argument exempts it. Formulas are those of torch.optim.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"",
           "Name of the differentiated function">,
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "sgd, momentum, adam or adamw">,
    Option<"lr", "lr", "double", "1.0e-3", "Initial learning rate">,
    Option<"momentum", "momentum", "double", "std::numeric_limits<double>::quiet_NaN()",
           "Momentum (momentum: 0.9; sgd: none, above 0 is optimizer=momentum)">,
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
           "Return the global L2 norm of the gradients, also where nothing else needs "
           "it and --mpt-loss-scale does not follow, which returns it too">,
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
           "Steps whose norms give the first mean and variance; none is skipped">,
    Option<"spikePatience", "spike-patience", "int64_t", "10",
           "After so many skipped in a row the next is taken, and begins new statistics">,
    Option<"emaDecay", "ema-decay", "double", "0.0",
           "Keep an exponential moving average of the parameters; 0: none">,
    Option<"emaWarmup", "ema-warmup", "std::string", "\"none\"",
           "none; steps: the decay of step t is at most t / (9 + t); bias-correction: it "
           "weighs all steps as an average of their number would that starts at zero">]
    # learningRateOptions;
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

def LearningRatePass : Pass<"mpt-learning-rate", "::mlir::ModuleOp"> {
  let summary = "Give a training step a learning-rate schedule";
  let description = [{
    What reads the argument `lr` reads `lr` times a factor of the steps taken, computed
    in f64 and rounded to lr's type; the result `learning_rate` is what the step uses.
    Steps are those that the state `step` counts; where a step has none, a state
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

//===----------------------------------------------------------------------===//
// Precision and scaling
//===----------------------------------------------------------------------===//

class PrecisionPass<string arg> : Pass<arg, "::mlir::ModuleOp"> {
  // Policies name its ops.
  let dependentDialects = ["::mpt::MPTDialect"];
  list<Option> policyOptions = [
    Option<"type", "type", "std::string", "\"\"",
           "f16 or bf16; the policy's if it has one, else bf16">,
    Option<"policy", "policy", "std::string", "\"mpt\"",
           "mpt, torch-cuda, torch-cpu, tf-fp16, tf-bf16, apex-O0 to apex-O3, or a file "
           "(*.yaml); see docs/Policies.md">,
    ListOption<"rules", "rules", "std::string",
               "Files with rule tables, which add rows to the built-in ones or "
               "replace them">,
    ListOption<"allow", "allow", "std::string",
               "Ops to run in low precision, moved from where they were">,
    ListOption<"deny", "deny", "std::string", "Ops to keep in f32">,
    ListOption<"infer", "infer", "std::string",
               "Ops to run in low precision between others that do">,
    ListOption<"clear", "clear", "std::string", "Ops that follow their neighbours">,
    ListOption<"stable", "stable", "std::string",
               "Ops with low-precision storage and f32 inside">,
    ListOption<"remove", "remove", "std::string",
               "Ops to take off all lists: they keep their types, and nothing is "
               "decided through them">,
    ListOption<"keep", "keep", "std::string",
               "Regular expressions: ops stay f32 whose location (file:line, name) "
               "or function (@name) matches">,
    Option<"mixedResults", "mixed-results", "bool", "true",
           "Let a product of low operands return f32 where only f32 is read, and "
           "sums in f32 read low operands, where the dialect permits">,
    Option<"keepFirstLast", "keep-first-last", "bool", "false",
           "Keep the products of the first and the last layers in f32">,
    Option<"attentionPV", "attention-pv", "std::string", "\"\"",
           "low or f32: products of attention's probabilities and values">,
    Option<"reductionLimit", "reduction-limit", "int64_t", "-1",
           "Sums of more elements stay f32; 0: none; by default the policy's for f16, "
           "none for bf16">,
    Option<"costGate", "cost-gate", "bool", "true",
           "With a target, leave products in f32 whose casts cost more than they gain">,
    Option<"target", "target", "std::string", "\"\"",
           "Machine to decide for: sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, "
           "cpu-amx or cpu-generic; else what the module's mpt.target says">];
}

/// A pass that plans as autocast does.
class PlanningPass<string arg> : PrecisionPass<arg> {
  list<Option> planOptions = !listconcat(policyOptions, [
    Option<"strategy", "strategy", "std::string", "\"\"",
           "mincut, paint, promote or none; by default the policy's">,
    Option<"checkConstants", "check-constants", "bool", "true",
           "Keep in f32 what reads a constant that the low type cannot hold">,
    Option<"foldConstants", "fold-constants", "bool", "true",
           "Convert constants at compile time, not by casts">,
    Option<"specializeCalls", "specialize-calls", "bool", "false",
           "Let private functions take and return the low type, where all their "
           "calls agree">,
    Option<"profile", "profile", "std::string", "\"\"",
           "File with recorded ranges (mpt-run --ranges): values out of the low "
           "type's range stay f32, with the ops that make and read them">,
    Option<"profileMargin", "profile-margin", "double", "4.0",
           "A value is out of range if this many times its largest recorded "
           "magnitude is">,
    Option<"profileUnderflow", "profile-underflow", "double", "0.05",
           "... or if more than this share of its non-zero elements rounds to zero">]);
}

def AutocastPass : PlanningPass<"mpt-autocast"> {
  let summary = "Run matmuls and what surrounds them in a low-precision type";
  let description = [{
    Decides for each op whether it is f32 or low, then sets element types and
    inserts one shared cast per value and direction. `mincut` (default) chooses,
    of what the classes permit, what needs the fewest bytes of casts; `paint`
    does what TensorFlow's auto_mixed_precision does. Works on any dialect that
    has a rule table or implements PrecisionOpInterface, through loops,
    conditionals and blocks. Interfaces of functions keep their types. Running it
    twice changes nothing.
  }];
  let options = !listconcat(planOptions, [
    Option<"emulate", "emulate", "bool", "false",
           "Compute in f32 between casts that round to the low type">,
    Option<"explain", "explain", "std::string", "\"\"",
           "Regular expression: emit a remark with the reasons at each op whose "
           "name or location matches">,
    Option<"summary", "summary", "std::string", "\"\"",
           "File to write the counts of ops, bytes, casts, reasons and unknown ops "
           "to">,
    Option<"nodeData", "node-data", "std::string", "\"\"",
           "File to write each op's type and reason to, as custom node data of "
           "Model Explorer">]);
  // The casts of most of MLIR's dialects are arith's.
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::arith::ArithDialect"];
}

def PrintPrecisionPlanPass : PlanningPass<"mpt-print-precision-plan"> {
  let summary = "Print what autocast would decide, and change nothing";
  let description = [{
    To standard error, one line for each op (or for what a loop or branch joins) in
    the order of the program: number, op, low or f32, the remark that says why, the
    number of the op that made it so, class and its source, place. Then a line for
    each cast.
  }];
  let options = planOptions;
}

def ExplainPass : PlanningPass<"mpt-explain"> {
  let summary = "Say why ops have the precision that autocast would give them";
  let description = [{
    `--mpt-explain=REGEX`, or `--mpt-explain="match=REGEX ..."` with the options of
    autocast's plan: emits a remark at each op whose name, location or function
    matches, with the chain to the op that decided it and what allowing that op
    would change. The module is not changed.
  }];
  let options = !listconcat(planOptions, [
    Option<"match", "match", "std::string", "\"\"", "The regular expression">]);
}

def AnnotatePrecisionPass : PrecisionPass<"mpt-annotate-precision"> {
  let summary = "Print each op's precision class and its source as attributes";
  let options = policyOptions;
}

def ValidatePrecisionPass : PrecisionPass<"mpt-validate-precision"> {
  let summary = "Check that a module keeps what autocast promises";
  let description = [{
    Changes nothing. Errors, each at its op: a denied op that reads a low value
    from a cast of MPT's; operands and results that must share an element type
    and do not; a product that accumulates below f32; a cast of MPT's that
    converts what another one has just converted, or a value a second time. Give
    it the options that autocast was given.
  }];
  let options = policyOptions;
}

def DumpRulesPass : PrecisionPass<"mpt-dump-rules"> {
  let summary = "Print the rule tables as YAML to standard error";
  let description = [{
    Rows of the dialects that the module holds ops of, or of `dialects`: what the
    policy and the files of `rules` make of the built-in tables, and where each
    row comes from. The text is a table that `rules` reads.
  }];
  let options = !listconcat(policyOptions, [
    ListOption<"dialects", "dialects", "std::string", "Dialects to print">]);
}

def DumpPolicyPass : PrecisionPass<"mpt-dump-policy"> {
  let summary = "Print the effective policy as YAML to standard error";
  let description = [{
    The settings and moves of the policy with its bases and the options, as one
    file that `policy` reads, and where each comes from; then, as comments, the
    class and its origin of every op of the dialects that the module holds ops of,
    or of `dialects`.
  }];
  let options = !listconcat(policyOptions, [
    ListOption<"dialects", "dialects", "std::string", "Dialects to print">]);
}

def PadTensorCoresPass : PrecisionPass<"mpt-pad-tensor-cores"> {
  let summary = "Pad products to sizes that the target's units for them want";
  let description = [{
    `mpt.matmul` and `mpt.linear` with operands of 16 bits or fewer whose contiguous
    dimensions are no multiples of 16 bytes: their operands get zeros and their
    result is cut, where that costs less than it saves on the target; else, and for
    products of other dialects, a `missed` remark says what would suit. The elements
    of the result stay the same.
  }];
  let options = policyOptions;
}

def Fp8Pass : Pass<"mpt-fp8", "::mlir::ModuleOp"> {
  let summary = "Products of a step read 8-bit floats, each tensor with a scale";
  let description = [{
    The matrix products of a step (`mpt.matmul`, `mpt.linear`; not those inside
    attention) read f8E4M3FN and, for gradients, f8E5M2, sum in f32 and return what
    they returned. Each tensor is multiplied by a scale before it is rounded (what is
    too large saturates; NaN and infinities stay none numbers), and the product by the
    inverse scales. A tensor that several products read is quantized once.

    A scale is the format's largest number over the tensor's largest magnitude (amax)
    over 2^`margin`; where amax is zero or not finite the scale stays. `recipe=current`
    takes the amax of the tensor itself. `recipe=delayed` takes that of the last
    `history` steps, the present one included, for the next step: amax and scales are
    state of the step, role `running_stat`, `fp8.amax_history` [tensors, history] and
    `fp8.scale` [tensors], at first 0 and 1. The rule is Transformer Engine's.

    Runs after `--mpt-train-step` and before `--mpt-loss-scale`, which keeps the state
    where a step is skipped.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"", "The step">,
    Option<"recipe", "recipe", "std::string", "\"delayed\"", "delayed or current">,
    Option<"format", "format", "std::string", "\"hybrid\"",
           "hybrid (gradients f8E5M2, all else f8E4M3FN) or e4m3 (all)">,
    Option<"history", "history", "int64_t", "1024", "Steps that delayed looks back">,
    Option<"amax", "amax", "std::string", "\"max\"",
           "max or most_recent: which amax of the history counts">,
    Option<"margin", "margin", "int64_t", "0", "Powers of two left free">,
    Option<"alignment", "alignment", "int64_t", "16",
           "Products whose sizes are no multiples of this keep their types">,
    ListOption<"keep", "keep", "std::string",
               "Regular expressions of op names, locations (file:line, name) or "
               "functions (@name) whose products keep their types">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def InstrumentPass : Pass<"mpt-instrument", "::mlir::ModuleOp"> {
  let summary = "Record the magnitudes of a step's values as further results";
  let description = [{
    For each chosen value adds three results, made of existing ops: its largest
    finite and its smallest non-zero magnitude (`tensor<1xf32>`), and how many of
    its elements reach each of a list of thresholds (`tensor<nxf64>`), from which
    follow the elements that are NaN, infinite, zero, that underflow, become
    subnormal or overflow in the types of `type`, and a histogram of exponents.
    Results carry `mpt.record` with the value's id, op, source location and
    figure. Nothing else of the function changes, nor does any bit of its other
    results; `mpt-run --ranges` merges the records over steps.

    By default all floating results of the ops up to the gradients are recorded,
    but not those of constants and of ops that only move elements (`reshape`,
    `transpose`, `slice`, ...). Values of f16, bf16 and f8 are recorded as they
    are, so a step can be instrumented before or after autocast; gradients under
    a loss scale are recorded scaled.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function to instrument; the module's only one if empty">,
    ListOption<"types", "type", "std::string",
               "Types to count for: f16, bf16, f8E5M2, f8E4M3FN, f32 (default: f16)">,
    ListOption<"values", "values", "std::string",
               "Regular expressions: record instead all ops whose name, location "
               "(file:line, name) or function (@name) matches">,
    Option<"step", "histogram-step", "int64_t", "4",
           "Powers of two per bin of the histogram; 0: no histogram">,
    Option<"low", "histogram-low", "int64_t", "-40",
           "Power of two at which the second bin begins">,
    Option<"high", "histogram-high", "int64_t", "20",
           "Power of two up to which bins go">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def LossScalePass : Pass<"mpt-loss-scale", "::mlir::ModuleOp"> {
  let summary = "Scale the loss, unscale and check the gradients, guard the update";
  let description = [{
    The seed of the backward is multiplied by the scale, every gradient is
    unscaled in f32 and checked once, and the whole state transition happens
    only if all are finite. The scale and what moves it are arguments and results
    (role `loss_scale`): `dynamic` as one of eight libraries does it (`preset`);
    `amax` chooses the greatest power of two with which the largest gradient of the
    last `window` steps stays `margin` times below the largest number of `type`;
    `static` leaves it alone. Adds results `found_inf`, `did_step`, `loss_scale`,
    `grad_norm` (of the gradients that the optimizers read, where the step does not
    return it yet), and where the scale has a floor or a ceiling `loss_scale.at_min`
    and `loss_scale.at_max`. Needs `mpt.grad_seed` and `mpt.gradients`.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"dynamic\"", "dynamic, static or amax">,
    Option<"preset", "preset", "std::string", "\"torch\"",
           "torch, tf, keras, apex, megatron, deepspeed, deepspeed-consecutive, jmp or "
           "paddle; gives the options below, up to hysteresis, that are not given">,
    Option<"initScale", "init-scale", "double", "std::numeric_limits<double>::quiet_NaN()",
           "First scale">,
    Option<"growthFactor", "growth-factor", "double", "std::numeric_limits<double>::quiet_NaN()",
           "Growth factor">,
    Option<"backoffFactor", "backoff-factor", "double", "std::numeric_limits<double>::quiet_NaN()",
           "Backoff factor">,
    Option<"growthInterval", "growth-interval", "int64_t", "std::numeric_limits<int64_t>::min()",
           "Finite steps before the scale grows">,
    Option<"minScale", "min-scale", "double", "std::numeric_limits<double>::quiet_NaN()",
           "The scale does not fall below it; 0: no floor">,
    Option<"maxScale", "max-scale", "double", "std::numeric_limits<double>::quiet_NaN()",
           "The scale does not grow above it; 0: no ceiling">,
    Option<"hysteresis", "hysteresis", "int64_t", "std::numeric_limits<int64_t>::min()",
           "Bad steps until the scale falls (megatron, deepspeed, paddle)">,
    Option<"window", "window", "int64_t", "16", "Steps that amax looks back">,
    Option<"margin", "margin", "double", "16.0",
           "How many times the largest gradient must fit (amax)">,
    Option<"type", "type", "std::string", "\"f16\"",
           "f16, bf16 or f32: what the gradients must fit into (amax)">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def ValidateLossScalePass : Pass<"mpt-validate-loss-scale", "::mlir::ModuleOp"> {
  let summary = "Check that gradients are scaled and unscaled as they must be";
  let description = [{
    Changes nothing. Errors, each at its op: a gradient that is unscaled twice, or by
    another scale than it was scaled by; clipping, or an optimizer, that reads scaled
    gradients; gradients of different scales that are added (a scale that changed
    between micro-batches); a parameter stored in f16 that is updated in f16.
  }];
}

def MasterWeightsPass : Pass<"mpt-master-weights", "::mlir::ModuleOp"> {
  let summary = "Choose what state keeps a parameter between steps";
  let description = [{
    `f32`: parameters stored in f32 are their own masters and are left alone; one
    stored in f16 or bf16 becomes f32 state, cast down once per step. The other
    kinds store the parameter in bf16, whatever the model declares:
    `bf16-stochastic-rounding` rounds the optimizer's f32 result at random, with
    Philox; `bf16-kahan` keeps a bf16 compensation (`<name>.compensation`) of what
    rounding took away; `split16` keeps the 16 lower bits (`<name>.low`), so that
    both are an f32 master. `none` leaves a parameter as it is declared. A
    parameter's `mpt.master` comes before `groups`, these before `kind`. Run
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

def AccumulatePass : Pass<"mpt-accumulate", "::mlir::ModuleOp"> {
  let summary = "Add the gradients of several micro-batches in f32 before one update";
  let description = [{
    Takes a function that `--mpt-autodiff` made for one micro-batch. Afterwards it
    takes `steps` times the rows of data, cuts them, and runs forward and backward
    on each part in turn. Gradients are added in f32 and divided by `steps` at the
    end, so with a loss that is a mean over rows they are those of the whole
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

//===----------------------------------------------------------------------===//
// Planning a step
//===----------------------------------------------------------------------===//

def SpecializePass : Pass<"mpt-specialize", "::mlir::ModuleOp"> {
  let summary = "Give dynamic leading dimensions a size";
  let options = [
    Option<"batch", "batch", "int64_t", "0", "Size of dimension 0">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def FuseEpiloguesPass : Pass<"mpt-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Move bias and activation into `mpt.linear` and `mpt.conv2d`";
  let description = [{
    A bias (an addend with one number per column) and gelu move in if the
    product returns its accumulator unrounded; relu also if it has the rounded
    product's type, since it commutes with rounding. The value in between must
    have no other use. `mpt.matmul` with a bias becomes `mpt.linear`.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def DecomposePass : Pass<"mpt-decompose", "::mlir::ModuleOp"> {
  let summary = "Decompose ops into products, elementwise ops and reductions";
  let description = [{
    Softmax, norms, losses, attention, optimizers, unscaling, clipping and
    their gradients become primitive ops whose intermediates are f32 (f64),
    so that each result is still rounded exactly once. Removes the markers
    `mpt.grad_seed`, `mpt.gradients`, `mpt.stop_gradient`.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def FuseKernelsPass : Pass<"mpt-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "Fuse elementwise ops and reductions into `mpt.kernel`s";
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def AssignSlotsPass : Pass<"mpt-assign-slots", "::mlir::ModuleOp"> {
  let summary = "Turn a fused step into a `mpt.program` with one planned arena";
  let description = [{
    The arena is planned for several orders of the step's kernels and calls; the
    smallest wins (docs/Memory.md).
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function to plan; the module's only one if empty">,
    Option<"target", "target", "std::string", "\"\"",
           "The machine: cpu, or cuda and its chips, as in \"cuda sm_80 sm_90\"">,
    Option<"maxThreads", "max-threads", "int64_t", "2",
           "Most threads that workspaces are planned for">,
    Option<"order", "order", "std::string", "\"best\"",
           "best, keep, early-update, least-peak or depth-first">];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::memref::MemRefDialect"];
}

def MemoryReportPass : Pass<"mpt-memory-report", "::mlir::ModuleOp"> {
  let summary = "Say what a function keeps in memory, when, and why";
  let description = [{
    For each function: bytes of arguments, state, constants and results; the
    temporaries over the ops in order, where they are most, and what is alive there,
    with its size, source line and lifetime; the least and the planned arena. The
    module is not changed.

    A step of the mpt dialect is fused first (a copy of it is), and planned as
    `mpt-plan-step` plans it: `arena` is what the runtime allocates. Functions of
    other dialects, and with `grain=ops` all, are taken op by op in their order.
    docs/Memory.md has the model and the fields of the JSON.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function to report; all with a body if empty">,
    Option<"format", "format", "std::string", "\"text\"", "text, json or html">,
    Option<"output", "output", "std::string", "\"\"",
           "File to write to; standard error if empty">,
    Option<"grain", "grain", "std::string", "\"auto\"",
           "kernels: the kernels and calls of a fused step; ops: the ops as they "
           "are; auto: kernels for a step of the mpt dialect">,
    Option<"compare", "compare", "std::string", "\"\"",
           "A JSON report of before, to be shown beside">,
    Option<"top", "top", "int64_t", "20",
           "Most buffers to list at the peak (text); 0: all">,
    Option<"maxThreads", "max-threads", "int64_t", "2",
           "Most threads that workspaces are planned for">,
    Option<"order", "order", "std::string", "\"best\"",
           "As for mpt-assign-slots (kernels)">,
    Option<"alignment", "alignment", "int64_t", "256",
           "Bytes to which sizes are rounded up (ops)">,
    ListOption<"rules", "rules", "std::string",
               "Files with rule tables, which add rows to the built-in ones">];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

#endif // MPT_TRANSFORMS_PASSES_TD
