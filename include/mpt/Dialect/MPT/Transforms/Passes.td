//===- Passes.td - Passes on tensor ops of any step -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_PASSES_TD
#define MPT_DIALECT_MPT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

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
    matmul or convolution returns its accumulator unrounded; relu also if it has the
    rounded result's type, since it commutes with rounding. The value in between must
    have no other use. `mpt.matmul` with a bias becomes `mpt.linear`.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def RaiseActivationsPass : Pass<"mpt-raise-activations", "::mlir::ModuleOp"> {
  let summary = "Find GELU and SiLU in their formulas";
  let description = [{
    x 1/2 (1 + erf(x / sqrt(2))) and x 1/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    become `mpt.gelu`, x sigmoid(x) becomes `mpt.silu` and 1 / (1 + e^-x) `mpt.sigmoid`,
    whatever the order and grouping of the products. An op keeps x alone for its gradient where the formula keeps each value
    in between. Numbers must be those of the formula to the precision of the element type
    (2^-20 for f32 and f64). The result is rounded once instead of after each op of the
    formula.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def RaiseOpsPass : Pass<"mpt-raise-ops", "::mlir::ModuleOp"> {
  let summary = "Find softmax, norms, losses, attention and other ops in their formulas";
  let description = [{
    In addition to what `--mpt-raise-activations` finds:

    - e^(x - m) / sum e^(x - m) and x - m - log(sum e^(x - m)) over the last dimension become
      `mpt.softmax` and `mpt.log_softmax`; m is the maximum of x or left out;
    - (x - mean) rstd gamma + beta becomes `mpt.layer_norm` over the last dimension and
      `mpt.batch_norm` over all others, and x rstd gamma `mpt.rms_norm`, in any grouping of
      the sums and products, with the variance as the mean of (x - mean)^2 or as that of
      x^2 minus mean^2; over other dimensions without the first, as in group and instance
      norms (Wu and He 2018; Ulyanov et al. 2016), each group becomes a row of a
      `mpt.layer_norm`, which gamma and beta follow;
    - where no norm is found, mean x^2 - (mean x)^2 becomes the mean of (x - mean x)^2, also of
      the elements that a mask shows: in 16 bits nothing may be left of the difference;
    - the sum or mean over rows of log(sum e^x) - x[label] becomes `mpt.cross_entropy`, which
      refuses labels that are out of range when the program runs, where the formula gives NaN;
      so does that of log-softmax times one-hot labels, where a label out of range counts
      nothing;
    - a matmul or convolution and its bias become `mpt.linear` and `mpt.conv2d`;
    - softmax(scale q k^T) v becomes `mpt.attention`, with its causal mask, masks that set
      scores to -1e9 or less, and what is added to the scores;
    - sigmoid(z_o) tanh(c) with c = sigmoid(z_f) c' + sigmoid(z_i) tanh(z_g) becomes
      `mpt.lstm_cell`, if the z are the quarters of x W + h U + b in the order i, f, g, o.

    Formulas over other dimensions, with large intermediate values that other ops read, or with
    other numbers stay as they are. Ops keep less for their gradients than formulas do, and
    round once. The remark `mpt.raise.raised` names each op that was found, and
    `mpt.raise.not-raised` what looks like a formula and why it is none.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def DecomposePass : Pass<"mpt-decompose", "::mlir::ModuleOp"> {
  let summary = "Decompose ops into matmuls, elementwise ops and reductions";
  let description = [{
    Softmax, norms, losses, attention, optimizers, unscaling, clipping and
    their gradients become primitive ops whose intermediates are f32 (f64),
    so that each result is still rounded exactly once. Removes the markers
    `mpt.grad_seed`, `mpt.gradients`, `mpt.stop_gradient`. Unrolls `mpt.scan` of few
    iterations first, as `--mpt-unroll-scan` does.
  }];
  let options = [
    Option<"maxUnrolled", "max-unrolled", "int64_t", "16",
           "Most iterations of an mpt.scan that is unrolled; others stay loops">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def UnrollScanPass : Pass<"mpt-unroll-scan", "::mlir::ModuleOp"> {
  let summary = "Replace `mpt.scan` by its iterations, one after the other";
  let description = [{
    A slice of a stacked result that another scan reads is the value itself, so that the
    forward and the backward pass of a recurrent layer become what they are without a
    scan. Other inputs are sliced and other stacked results concatenated. An error if
    2^20 ops or more would be made.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def SelectBranchesPass : Pass<"mpt-select-branches", "::mlir::ModuleOp"> {
  let summary = "Compute branches whether they are taken or not";
  let description = [{
    Replaces each `mpt.scan conditional 1` by its body, whose results are chosen by
    `mpt.where`, as programs for GPUs need it. No gradient flows out of a branch that is
    not taken, and nothing is hidden of what it does: an index that is out of range is an
    error. Conditional scans of more iterations stay.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def HoistFromScansPass : Pass<"mpt-hoist-from-scans", "::mlir::ModuleOp"> {
  let summary = "Move matmuls out of `mpt.scan`, to all iterations at once";
  let description = [{
    A matmul of small rows in each iteration becomes one of all rows:

    - of slices of an input with a value from above: before the loop, which reads slices of
      the result (the input's part of a recurrent cell);
    - whose result is only stacked: after the loop (the gradient of the input);
    - whose result is only added to a carried value: after the loop, over what the loop
      stacks (the gradient of a weight, which is then not read and written in each
      iteration). So is a sum of stacked values (that of a bias).

    What is cast, moved or added on the way goes with it. The sums of gradients then run in
    another order, with one rounding at the end. A value that has to be stacked for that
    takes the place of another stack that each iteration reads or writes for the last time,
    or is no larger than what the loop no longer carries: else the matmul stays. So does
    what is marked to be computed again (`mpt.save`, `mpt.remat`), and what reads only
    inputs if the function repeats parts of iterations, so that they have the same bits.
    LSTM cells in scans become matmuls and gates.
  }];
  let options = [
    Option<"maxUnrolled", "max-unrolled", "int64_t", "16",
           "Scans of at most so many iterations stay as they are: planning unrolls them">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def WidenScanWeightsPass : Pass<"mpt-widen-scan-weights", "::mlir::ModuleOp"> {
  let summary = "Widen weights of f16 and bf16 once for all iterations of an `mpt.scan`";
  let description = [{
    On a CPU a matmul of few rows takes less time than bringing its weight into the layout
    or the type in which it is multiplied, which each iteration of a recurrent layer does
    again. A weight that the loop does not change, of a matmul or `mpt.linear` of at most
    `max-rows` rows, becomes an f32 copy before the loop. Its numbers are the same;
    sums of f32 may run in another order than those of pairs of bf16.

    The copies of a loop take no more bytes than its stacked tensors of f16 and bf16 save
    beside f32. Nothing is widened in a function that repeats parts of iterations
    (`mpt.remat`), so that these have the same bits.
  }];
  let options = [
    Option<"maxRows", "max-rows", "int64_t", "16",
           "Matmuls of more rows read weights as they are">,
    Option<"maxUnrolled", "max-unrolled", "int64_t", "16",
           "Scans of at most so many iterations stay as they are: planning unrolls them">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def FuseAttentionPass : Pass<"mpt-fuse-attention", "::mlir::ModuleOp"> {
  let summary = "Keep attention that the CPU's runtime carries out as a whole";
  let description = [{
    Sets `fused` on `mpt.attention` and `mpt.attention_grad`, so that they become calls of
    the program instead of matmuls and kernels. The matrix of scores is then never in
    memory. The remark mpt.cpu.attention-decomposed names what stays as it is, and why:
    element types, unknown shapes, or so few scores that kernels are faster.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

#endif // MPT_DIALECT_MPT_TRANSFORMS_PASSES_TD
