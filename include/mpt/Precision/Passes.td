//===- Passes.td - Passes of mixed precision -*- tablegen -*-===//
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
           "f16 or bf16 (default: the policy's if it has one, otherwise bf16)">,
    Option<"policy", "policy", "std::string", "\"mpt\"",
           "mpt, torch-cuda, torch-cpu, tf-fp16, tf-bf16, apex-O0 to apex-O3, or a file "
           "(*.yaml); see docs/Policies.md">,
    ListOption<"rules", "rules", "std::string",
               "Files with rule tables, which add rows to the built-in ones or "
               "replace them">,
    ListOption<"allow", "allow", "std::string",
               "Ops to run in low precision, taken off other lists">,
    ListOption<"deny", "deny", "std::string", "Ops to keep in f32">,
    ListOption<"infer", "infer", "std::string",
               "Ops to run in low precision between others that do">,
    ListOption<"clear", "clear", "std::string", "Ops that follow their neighbours">,
    ListOption<"stable", "stable", "std::string",
               "Ops with low-precision storage and f32 inside">,
    ListOption<"remove", "remove", "std::string",
               "Ops to take off all lists: they keep their types, and paint does "
               "not spread through them">,
    ListOption<"keep", "keep", "std::string",
               "Regular expressions: ops whose location (file:line, name) "
               "or function (@name) matches stay f32">,
    Option<"client", "client", "std::string", "\"\"",
           "Compiler that reads the result: generic, iree, torch-mlir, xla-cpu or "
           "xla-gpu; sets mixed-results and keeps in f32 what it would sum too coarsely">,
    Option<"wire", "wire", "std::string", "\"\"",
           "What collectives that add between devices read and return: f32 (default), or "
           "the low type, in which the compiler that runs them may add, too">,
    Option<"mixedResults", "mixed-results", "std::string", "\"\"",
           "all (default): a contraction of low operands returns f32 if only f32 ops "
           "read it, and f32 sums read low operands, if the dialect permits; matmuls: "
           "every contraction returns f32, and no sum reads what it does not return; "
           "none: no op has two types. true and false mean all and none">,
    Option<"keepFirstLast", "keep-first-last", "bool", "false",
           "Keep the contractions of the first and the last layers in f32">,
    Option<"attentionPV", "attention-pv", "std::string", "\"\"",
           "low or f32: contractions of attention's probabilities and values">,
    Option<"reductionLimit", "reduction-limit", "int64_t", "-1",
           "Sums of more elements stay f32; 0: none; by default the policy's for f16, "
           "none for bf16">,
    Option<"costGate", "cost-gate", "bool", "true",
           "With a target, leave contractions in f32 whose casts cost more than they gain">,
    Option<"target", "target", "std::string", "\"\"",
           "Machine to decide for: sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, "
           "cpu-amx or cpu-generic (default: the module's mpt.target)">];
}

/// A pass that plans as autocast does.
class PlanningPass<string arg> : PrecisionPass<arg> {
  list<Option> planOptions = !listconcat(policyOptions, [
    Option<"strategy", "strategy", "std::string", "\"\"",
           "mincut, paint, promote or none; by default the policy's">,
    Option<"checkConstants", "check-constants", "bool", "true",
           "Keep ops in f32 that read a constant which the low type cannot hold">,
    Option<"foldConstants", "fold-constants", "bool", "true",
           "Convert constants at compile time, not by casts">,
    Option<"specializeCalls", "specialize-calls", "bool", "false",
           "Let private functions take and return the low type if all their "
           "calls agree">,
    Option<"profile", "profile", "std::string", "\"\"",
           "File with recorded ranges (mpt-run --ranges): values out of the low "
           "type's range stay f32, with the ops that make and read them">,
    Option<"profileMargin", "profile-margin", "double", "4.0",
           "A value is out of range if its largest recorded magnitude times "
           "this is">,
    Option<"profileUnderflow", "profile-underflow", "double", "0.05",
           "... or if more than this share of its non-zero elements rounds to zero">]);
}

def CastParametersPass : Pass<"mpt-cast-parameters", "::mlir::ModuleOp"> {
  let summary = "Store a model's f32 parameters in a low type";
  let description = [{
    Arguments of role `parameter` or `running_stat` become `type`. Their readers read
    an f32 cast of them, which autocast looks through, and their new values are rounded
    to `type`. With `keep-batch-norm`, arguments that `mpt.batch_norm` and
    `mpt.batch_norm_inference` read directly stay f32. For a forward function, before
    `--mpt-autodiff`. To give the parameters f32 masters, run `--mpt-master-weights`
    after `--mpt-train-step`.
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
  let summary = "Run matmuls and the ops around them in a low-precision type";
  let description = [{
    Decides for each op whether it is f32 or low, then sets element types and
    inserts one shared cast per value and direction. Of the choices that the classes
    permit, `mincut` (default) takes the one whose casts move the fewest bytes; `paint`
    decides as TensorFlow's auto_mixed_precision. Works on any dialect that
    has a rule table or implements PrecisionOpInterface, through loops,
    conditionals and blocks. Function types do not change. Running it
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
    Prints to standard error one line for each op (or for the values that a loop or
    branch joins) in the order of the program: number, op, low or f32, the remark that
    says why, the number of the op that decided it, class and its source, place. Then a
    line for each cast.
  }];
  let options = planOptions;
}

def ExplainPass : PlanningPass<"mpt-explain"> {
  let summary = "Say why ops have the precision that autocast would give them";
  let description = [{
    `--mpt-explain=REGEX`, or `--mpt-explain="match=REGEX ..."` with the options of
    autocast's plan, emits a remark at each op whose name, location or function
    matches, with the chain to the op that decided its precision and what allowing that
    op would change. The module is not changed.
  }];
  let options = !listconcat(planOptions, [
    Option<"match", "match", "std::string", "\"\"", "The regular expression">]);
}

def AnnotatePrecisionPass : PrecisionPass<"mpt-annotate-precision"> {
  let summary = "Write each op's precision class and its source as attributes";
  let options = policyOptions;
}

def ValidatePrecisionPass : PrecisionPass<"mpt-validate-precision"> {
  let summary = "Check that a module keeps what autocast promises";
  let description = [{
    Changes nothing. It reports at the op: a denied op that reads a low value
    from one of MPT's casts; operands and results that must share an element type
    and do not; a contraction that accumulates in less than f32; one of MPT's casts that
    converts the result of another, or a value a second time. Give
    it the options that autocast was given.
  }];
  let options = policyOptions;
}

def DumpRulesPass : PrecisionPass<"mpt-dump-rules"> {
  let summary = "Print the rule tables as YAML to standard error";
  let description = [{
    Prints the rows of the dialects in the module, or of `dialects`: the built-in tables
    as the policy and the files of `rules` change them, and where each
    row comes from. `rules` can read the text as a table.
  }];
  let options = !listconcat(policyOptions, [
    ListOption<"dialects", "dialects", "std::string", "Dialects to print">]);
}

def DumpPolicyPass : PrecisionPass<"mpt-dump-policy"> {
  let summary = "Print the effective policy as YAML to standard error";
  let description = [{
    Prints the settings and moves of the policy, of the policies that it extends and of the
    options, as one file that `policy` can read, and where each comes from. Then, as
    comments, the class and its origin of every op of the dialects in the module,
    or of `dialects`.
  }];
  let options = !listconcat(policyOptions, [
    ListOption<"dialects", "dialects", "std::string", "Dialects to print">]);
}

def PadTensorCoresPass : PrecisionPass<"mpt-pad-tensor-cores"> {
  let summary = "Pad matmuls to sizes that suit the target's tensor cores";
  let description = [{
    Works on `mpt.matmul` and `mpt.linear` with operands of 16 bits or fewer whose
    contiguous dimensions are not multiples of 16 bytes. Pads the operands with zeros and
    cuts the result, if that costs less than it saves on the target. Otherwise, and for
    ops of other dialects, a `missed` remark says which sizes would suit. The elements
    of the result stay the same.
  }];
  let options = policyOptions;
}

def InstrumentPass : Pass<"mpt-instrument", "::mlir::ModuleOp"> {
  let summary = "Record the magnitudes of a step's values as further results";
  let description = [{
    Adds three results for each chosen value, computed by existing ops: its largest
    finite and its smallest non-zero magnitude (`tensor<1xf32>`), and how many of
    its elements reach each of a list of thresholds (`tensor<nxf64>`). From these
    follow the counts of elements that are NaN, infinite or zero, or that underflow,
    become subnormal or overflow in the types of `type`, and a histogram of exponents.
    Results carry `mpt.record` with the value's id, op, source location and
    figure. Nothing else in the function changes, and no bit of its other
    results; `mpt-run --ranges` merges the records over steps.

    By default all floating results of the ops up to the gradients are recorded,
    except those of constants and of ops that only move elements (`reshape`,
    `transpose`, `slice`, ...). Values of f16, bf16 and f8 are recorded as they
    are, so a step can be instrumented before or after autocast. Under
    a loss scale, scaled gradients are recorded.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function to instrument; the module's only one if empty">,
    ListOption<"types", "type", "std::string",
               "Types to count for: f16, bf16, f8E5M2, f8E4M3FN, f32 (default: f16)">,
    ListOption<"values", "values", "std::string",
               "Regular expressions: record the ops whose name, location "
               "(file:line, name) or function (@name) matches, instead of the default">,
    Option<"step", "histogram-step", "int64_t", "4",
           "Powers of two per bin of the histogram; 0: no histogram">,
    Option<"low", "histogram-low", "int64_t", "-40",
           "Power of two at which the second bin begins">,
    Option<"high", "histogram-high", "int64_t", "20",
           "Power of two up to which bins go">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

#endif // MPT_PRECISION_PASSES_TD
