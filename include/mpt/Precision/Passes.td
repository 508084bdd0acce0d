//===- Passes.td - Which values are low -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_PASSES_TD
#define MPT_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

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

#endif // MPT_PRECISION_PASSES_TD
