//===- Passes.td - From StableHLO to mpt -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_STABLEHLO_PASSES_TD
#define MPT_IMPORT_STABLEHLO_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertStableHLOPass : Pass<"mpt-convert-stablehlo", "::mlir::ModuleOp"> {
  let summary = "Convert StableHLO and CHLO to the mpt dialect";
  let description = [{
    Converts public functions whose ops are StableHLO's and CHLO's, in MLIR's generic form, as
    JAX and TensorFlow print them (`--allow-unregistered-dialect` reads them). Shapes must
    be known. Calls of other functions are inlined, and composites are replaced by their
    decomposition: one named `mpt.checkpoint` by an `mpt.checkpoint` of it, which the
    backward pass computes again. `mpt-opt --mpt-stablehlo-ops` lists the ops.

    **Types.** Tensors keep their shapes and element types; unsigned integers become
    signless ones of the same width. 2- and 4-bit integers and 8-bit floats that mpt does
    not have are refused. A complex tensor becomes two real ones, its parts, and Fourier
    transforms become matmuls with constants; arguments and results must be real.

    **Loops.** A `stablehlo.while` runs a constant number of times or is refused. It
    becomes `mpt.scan`: what the body reads slice by slice is its input, what it writes
    slice by slice is stacked, what it does not change is used from above.

    **Interface.** Arguments and results keep their order, shapes and attributes. An
    argument without `mpt.name` gets the name of its location (`params['w']` becomes
    `params.w`), or that of the result that updates it (from `jax.result_info`), or `argN`.
    An argument without `mpt.role` becomes a `parameter` if `parameters` says so, else
    `optimizer_state` if a result updates it, else an `input`. A result updates the argument
    that says so by `tf.aliasing_output`, that has the same type and `jax.buffer_donor`, or
    that `state` pairs it with. The first other result that is a floating-point scalar is
    named `loss`; a function @main that has it and updates nothing becomes @loss, which
    `--mpt-autodiff` differentiates.

    Ops of the mpt dialect without regions are kept: the marks of `--mpt-mark-stablehlo-step`,
    and what `--mpt-loss-scale` adds.

    What has no counterpart is one error that lists all such ops, with their number,
    places, and the reason.
  }];
  let options = [
    Option<"parameters", "parameters", "std::string", "\"params\"",
           "The parameters: how many of the first arguments, or the first part of their "
           "names">,
    Option<"state", "state", "unsigned", "0",
           "Of a whole training step: how many of the first arguments are state, whose "
           "next values are the first results">
  ];
  let statistics = [
    Statistic<"numOps", "ops-converted", "Number of ops converted">
  ];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

def MarkStableHLOStepPass : Pass<"mpt-mark-stablehlo-step", "::mlir::ModuleOp"> {
  let summary = "Find the seed and the gradients of a step that JAX differentiated";
  let description = [{
    A step of JAX says by two composites what `--mpt-loss-scale` must know
    (`mpt.jax.grad_seed`, `mpt.jax.gradients`): `mpt.grad_seed` passes on the gradient of the
    loss, where the backward pass begins, and `mpt.gradients` the gradients of all
    parameters, before anything reads them. They become `mpt.grad_seed` and
    `mpt.gradients`, which calls a gradient NAME if the function returns it as a result with
    the `mpt.name` grad.NAME, so that `--mpt-train-step` finds its parameter. Arguments and results get names, roles and updates as
    `--mpt-convert-stablehlo` gives them. All other ops stay StableHLO.

    `--mpt-convert-to-stablehlo` makes StableHLO of what `--mpt-loss-scale` adds;
    `--mpt-convert-stablehlo` brings the whole step into the mpt dialect.
  }];
  let options = [
    Option<"parameters", "parameters", "std::string", "\"params\"",
           "The parameters, as for mpt-convert-stablehlo">,
    Option<"state", "state", "unsigned", "0",
           "How many of the first arguments are state, whose next values are the first "
           "results, as for mpt-convert-stablehlo">
  ];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

#endif // MPT_IMPORT_STABLEHLO_PASSES_TD
