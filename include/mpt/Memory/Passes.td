//===- Passes.td - Byte budgets and rematerialization -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PASSES_TD
#define MPT_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def MemoryReportPass : Pass<"mpt-memory-report", "::mlir::ModuleOp"> {
  let summary = "Report what a function keeps in memory, when, and why";
  let description = [{
    Reports for each function the bytes of arguments, state, constants and results; the
    temporaries over the ops in order, their peak, and what is alive there,
    with size, source line and lifetime; the smallest possible and the planned arena. The
    module is not changed.

    A copy of a step of the mpt dialect is fused and planned as
    `mpt-plan-step` does: `arena` is what the runtime allocates. Functions of
    other dialects are reported op by op in their order; `grain=ops` does this for all.
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
           "An earlier JSON report to show for comparison">,
    Option<"top", "top", "int64_t", "20",
           "Most buffers to list at the peak (text); 0: all">,
    Option<"maxThreads", "max-threads", "int64_t", "2",
           "Most threads that workspaces are planned for">,
    Option<"order", "order", "std::string", "\"best\"",
           "As for mpt-assign-buffers (kernels)">,
    Option<"alignment", "alignment", "int64_t", "256",
           "Bytes to which sizes are rounded up (ops)">,
    ListOption<"rules", "rules", "std::string",
               "Files with rule tables, which add rows to the built-in ones">];
  let dependentDialects = ["::mpt::kernel::KernelDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def KeepGathersPass : Pass<"mpt-keep-gathers", "::mlir::ModuleOp"> {
  let summary = "Keep joined parameters for the backward pass where a budget has room";
  let description = [{
    `--mpt-shard-parameters` joins parameters again in the backward pass. This pass drops
    an `mpt.all_gather` that joins what an earlier one joined, if no more than `budget`
    bytes of temporaries are alive while that result is kept. Those that are kept for the
    fewest ops come first. One whose repetition would begin before its last reader takes
    no room, and is kept with any budget. What is alive is estimated before ops are fused,
    which is mostly more than a fused step has. Without a budget, this pass does nothing.
  }];
  let options = [
    Option<"budget", "budget", "std::string", "\"\"",
           "As in mpt-plan-kernels; a function's mpt.memory_budget goes first">];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def DeferGradientsPass : Pass<"mpt-defer-gradients", "::mlir::ModuleOp"> {
  let summary = "Compute gradients where they are read, and check their factors for them";
  let description = [{
    A step with a loss scale is taken if all gradients are finite, so all are kept until
    then. A gradient that is a product of f16 tensors is finite exactly if these are. This
    pass checks the factors instead, and moves the product to the optimizer's update, for
    the gradients that take more bytes than their factors (a minimum cut). The gradient of
    a table to whose rows numbers of any type are added waits, too. The largest of what
    waits is updated last. All other results keep their bits.

    A gradient that is another one, of a matmul's or convolution's weight, times what is
    made of inputs by a few elementwise ops is checked where it is made, and made again of
    the other one for its update, and so is the other one, once for both updates, if its
    factors take fewer bytes. What is made of inputs is made again for the check, too, if
    something else reads it. Clones have `mpt.remat`.

    In place of the norm of all gradients, the check has a bound on it: the norms of the
    factors, multiplied. While the scale is 1 or more, it overflows where the norm does,
    unless the norm of the other gradients is within 0.01 % of the largest f32: numbers of
    f16 are at most 65504. Numbers for tables count with the sum of their squares, which
    may overflow before the table's norm does. A step that clips gradients or skips spikes needs the norm
    itself, and one that reads the flag of mpt.unscale by itself needs all of it: both stay
    as they are, and so do gradients of dynamic shapes. docs/LossScaling.md says more.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def FoldTransposesPass : Pass<"mpt-fold-transposes", "::mlir::ModuleOp"> {
  let summary = "Matmuls and reductions read transposed tensors where they lie";
  let description = [{
    An `mpt.transpose` of the last two dimensions that is read by matmuls alone becomes
    their `transpose_lhs`, `transpose_rhs` or `transpose_weight`, so that no copy is made,
    and none is kept for the backward pass. Results keep their bits. It stays where
    something else reads it, or where it is the left side of a matmul of a batch whose
    right side has none: such a batch is more rows of one matrix.

    An `mpt.reduce` that alone reads an `mpt.transpose` reduces dimensions of what that
    reads, if those that are left keep their order. It adds in another order then.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def FoldScatterAddsPass : Pass<"mpt-fold-scatter-adds", "::mlir::ModuleOp"> {
  let summary = "Rows are added to a gradient where it lies";
  let description = [{
    A table that is read as an embedding and multiplied as the output head gets the sum of
    two gradients: an `mpt.scatter_add` of few rows, and a matmul. So does one that is read
    twice. Here the second one to be made takes the first as its `init`, in whose bytes a
    program lets it add, and no second table is made. Sums are taken in another order then,
    in f32 as before.

    That is done if both are of one type and read by nothing else, if the other one is of a
    matmul, an `mpt.conv2d_filter_grad` or an `mpt.scatter_add`, and if the rows that wait for a
    matmul that comes later are smaller than the table. Ops with `mpt.save` stay as they are.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def PoolBeforeReluPass : Pass<"mpt-pool-before-relu", "::mlir::ModuleOp"> {
  let summary = "Max poolings of ReLUs become ReLUs of max poolings";
  let description = [{
    The largest of a window's numbers, or zero, is the largest of these numbers or zeros,
    bit for bit, and the gradient goes to the same element or is zero. So where a ReLU is
    read by `mpt.max_pool`, `mpt.max_pool_grad` and `mpt.relu_grad` alone, perhaps by other
    shapes, the ReLU and its gradient move to the smaller side of the pooling. What the
    ReLU made, as large as its input, is not kept, and nothing reads the pooling's input
    after its gradient. Ops with `mpt.save` stay as they are.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def MultiplyPatchesPass : Pass<"mpt-multiply-patches", "::mlir::ModuleOp"> {
  let summary = "Convolutions of patches of few channels become matmuls";
  let description = [{
    Where the windows of a convolution are patches (strides as large as the filter, no
    padding, no dilations, no groups), `mpt.conv2d` is `mpt.linear` of all patches,
    [N OH OW, KH KW C], and `mpt.conv2d_filter_grad` is their product with dy. Libraries
    for CPUs pad the filter to 8 or more channels, and add several gradients of it: a patch
    embedding of images of 3 channels takes 3 to 20 times its filter's bytes in workspace.
    So this pass makes matmuls of those of fewer than 16 channels, whose patches are read
    from what x is a transpose of, if it is one. Convolutions of more channels stay: moving
    their patches takes longer than the convolution saves.

    Where images and filter are one point, as in squeeze-and-excitation, the convolution
    and both of its gradients are matmuls too, of any number of channels.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
}

/// A pass that fits functions into memory budgets.
class BudgetPass<string argument> : Pass<argument, "::mlir::ModuleOp"> {
  list<Option> common = [
    Option<"strategy", "strategy", "std::string", "\"auto\"",
           "auto, none, segments, mincut or optimal">,
    Option<"budget", "budget", "std::string", "\"\"",
           "Bytes (4GiB, 512MB, 1000), a part of what is needed without "
           "rematerialization (0.5x, 50%) or min; without a budget, mincut and segments "
           "do what they can, and the others only what mpt.save asks for">,
    Option<"function", "function", "std::string", "\"\"",
           "The function; all with a body if empty">,
    ListOption<"rules", "rules", "std::string",
               "Files with rule tables, which add rows to the built-in ones or "
               "replace them">,
    Option<"effort", "effort", "int64_t", "2000000",
           "Most executions of ops that the planner may simulate">,
    Option<"seed", "seed", "uint64_t", "1", "Seed of the planner's local search">,
    Option<"maxThreads", "max-threads", "int64_t", "2",
           "Most threads that workspaces are planned for">,
    Option<"target", "target", "std::string", "\"\"",
           "What fused steps are planned for, as in mpt-assign-buffers">,
    Option<"order", "order", "std::string", "\"best\"",
           "The order in which a fused step's arena is planned, as for "
           "mpt-assign-buffers; a function's mpt.memory_order goes first">];
  let dependentDialects = ["::mpt::kernel::KernelDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def RematerializePass : BudgetPass<"mpt-rematerialize"> {
  let summary = "Compute values again so that a function fits a memory budget";
  let description = [{
    Clones ops so that fewer bytes of temporaries are alive at once; arguments, constants
    and results do not count. Recomputed values equal the original ones bit for bit.
    Ops with effects, random ops without explicit state and
    collectives are never repeated. Clones carry a unique `mpt.remat`, which keeps
    `--cse` from undoing them. Either the budget is met, or an error says that it
    cannot be (with the op that needs more), or that no plan was found (with the bytes of
    the best). A function with `mpt_kernel.kernel`s is measured by the arena that
    `--mpt-assign-buffers` plans for it, any other by the bytes alive.

    `mpt.save = "must"` on an op keeps its values, `mpt.save = "never"` recomputes them
    in the backward pass. A string attribute `mpt.memory_budget` of a function
    overrides `budget`. docs/Rematerialization.md has the strategies.
  }];
  let options = !listconcat(common, [
    Option<"barrier", "barrier", "std::string", "\"\"",
           "Name of an op that returns its operands and that a foreign compiler does "
           "not see through (stablehlo.optimization_barrier): what clones read goes "
           "through it">,
    Option<"client", "client", "std::string", "\"\"",
           "The compiler that runs the step, which fuses and schedules by itself: "
           "xla-cpu, xla-gpu or iree, or with a barrier generic or torch-mlir; bytes are "
           "estimates of what it allocates">]);
}

def PlanKernelsPass : BudgetPass<"mpt-plan-kernels"> {
  let summary = "Make kernels and library calls of steps, within a memory budget";
  let description = [{
    Decomposes and fuses steps (`--mpt-decompose`, `--mpt-fuse-kernels`), for CPUs after
    `--mpt-defer-gradients`. In training steps for CPUs without a budget and without
    `mpt.save = "never"` the backward pass computes again what its kernels need no memory
    for, where the arena becomes smaller and the estimated time grows by at most a
    twentieth; `strategy=none` does nothing else.

    A step with a budget is fused in two ways: as it is, and with what the strategy
    `mincut` of `--mpt-rematerialize` repeats before fusion, whose clones become part
    of the kernels that read them. `mpt.save = "never"` makes a third. Each is then
    fitted into the budget as `--mpt-rematerialize` does it, measured by the arena that
    `--mpt-assign-buffers` plans, and the fastest that meets the budget takes the step's
    place. A variant that would take a sum in another order is left out, so the bits
    stay the same.

    A function that is fused already is only fitted into its budget.
  }];
  let options = !listconcat(common, [
    Option<"maxUnrolled", "max-unrolled", "int64_t", "16",
           "Most iterations of an mpt.scan that is unrolled; others stay loops">]);
}

#endif // MPT_MEMORY_PASSES_TD
