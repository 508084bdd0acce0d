//===- Passes.td - Steps of many ranks -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PARALLEL_PASSES_TD
#define MPT_PARALLEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScaleReportPass : Pass<"mpt-scale-report", "::mlir::ModuleOp"> {
  let summary = "Predict a planned step on any number of ranks";
  let description = [{
    For each `mpt_program.program` of several ranks and each number of `ranks`: bytes of
    memory of a rank, bytes that it sends in a step over each link, the time of its
    exchanges and how much of it the step's own work does not hide, and the efficiency,
    which is the time that a rank computes divided by the step's. Clocks are simulated
    along the program's own schedule, with its overlap. Memory and traffic of ZeRO's three
    stages are computed by formula. The module is not changed.

    How long instructions compute is measured (`profile`) or estimated from their
    arithmetic and bytes. docs/Parallel.md has the model.
  }];
  let options = [
    ListOption<"ranks", "ranks", "int64_t", "Numbers of ranks (8,64,1024,16384)">,
    Option<"link", "link", "std::string", "\"1:50\"",
           "Between machines: GB/s:us of latency[:us that a message costs its sender]; "
           "all ranks of a machine share it">,
    Option<"ranksPerMachine", "ranks-per-machine", "int64_t", "1", "Ranks of a machine">,
    Option<"localLink", "local-link", "std::string", "\"5:1\"",
           "As link, between ranks of one machine">,
    Option<"profile", "profile", "std::string", "\"\"",
           "What mpt-run --profile-json measured of this program; else gflops and memory">,
    Option<"gflops", "gflops", "double", "100",
           "10^9 operations a second of a rank's matmuls and convolutions">,
    Option<"memory", "memory", "double", "10",
           "10^9 bytes a second that a rank reads and writes">,
    Option<"format", "format", "std::string", "\"text\"", "text, json or html">,
    Option<"output", "output", "std::string", "\"\"",
           "File to write to; standard error if empty">];
}

def DataParallelPass : Pass<"mpt-data-parallel", "::mlir::ModuleOp"> {
  let summary = "Average the gradients of many ranks, which train on data of their own";
  let description = [{
    The input is a function that `--mpt-autodiff` made for one micro-batch, or
    `--mpt-accumulate` for several. In the result, each of `size` ranks runs that on data of
    its own, and the step is that of the whole batch: rank r has micro-batch r. The module
    gets the attribute `mpt.mesh`.

    - Gradients are averaged over the ranks by `mpt.all_reduce`, in f32 for narrower types.
      They go in buckets, in the order in which they are computed; a bucket is exchanged
      as soon as its last gradient is there.
    - Results: floating scalars are means, integers sums, flags are joined by "or", tensors
      are joined along dimension 0. What does not depend on data stays as it is.
    - State that one micro-batch hands to the next, such as running statistics: what each
      rank adds to it is exchanged, and every rank applies all of it in the order of the
      ranks. State that other results or gradients read is an error.
    - With `batch-norm=synchronized`, `mpt.batch_norm` and its gradient use the statistics
      of all ranks' rows. State that depends on no rank's own data, such as the running
      statistics then, is updated once and not once for each rank: the step is that of one
      process with the whole batch.
    - Rank r draws its random numbers as attempt * size + r.

    With `order=rank` and no `wire` these are, bit for bit, the gradients, results and state
    of `--mpt-accumulate=steps=SIZE` in one process. All are equal on all ranks, so whatever
    a step decides by them (clipping, loss scale, a step that is skipped) is decided alike.
    Run before `--mpt-train-step`. `size=1` changes nothing.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"",
           "Name of the differentiated function">,
    Option<"axis", "axis", "std::string", "\"data\"", "The axis of the mesh">,
    Option<"size", "size", "int64_t", "1", "Ranks along the axis">,
    Option<"bucketBytes", "bucket-bytes", "int64_t", "26214400",
           "Gradients of up to so many bytes are one exchange; a larger gradient is one by "
           "itself">,
    Option<"order", "order", "std::string", "\"rank\"",
           "The order in which ranks are added: rank, or library: what MPI or NCCL choose">,
    Option<"batchNorm", "batch-norm", "std::string", "\"own\"",
           "What mpt.batch_norm normalizes with: own, the statistics of a rank's own rows, "
           "or synchronized, those of all ranks' rows">,
    Option<"wire", "wire", "std::string", "\"\"",
           "f32, bf16 or f16: the type in which gradients travel; by default their own">,
    ListOption<"shared", "shared", "std::string",
               "Names of data arguments that are the same on every rank">];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

def ShardOptimizerPass : Pass<"mpt-shard-optimizer", "::mlir::ModuleOp"> {
  let summary = "Cut parameters and the state of their optimizer between ranks";
  let description = [{
    ZeRO, stages 1 and 2 (Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward
    Training Trillion Parameter Models"). The input is what `--mpt-data-parallel` made. In
    the result each rank holds flat ranges of the parameters, its shards, and so do all
    passes that add state for a parameter: masters, moments, averages. Each shard is an
    argument of its own, a parameter of one dimension, and `mpt.shards` says which ranges
    of which parameters it is.

    - Parameters of one bucket that are alike (element type, weight decay, master, and
      whether matmuls alone read them) are cut together, at multiples of 4,096 of their
      elements. All ranks have shards of one size.
    - The step begins with shards; `mpt.all_gather` joins them before the first op that
      reads one of the parameters. What autocast reads in half precision alone travels in
      half precision (`--mpt-decompose`).
    - Gradients are averaged and cut by `mpt.reduce_scatter`. With `stage=2` that happens
      where `--mpt-data-parallel` averaged them, so that no rank keeps all of them; with
      `stage=1` after the backward pass.

    Norms and checks that later passes add cover the shards of all ranks. The bits of
    losses, parameters and state are those of `--mpt-data-parallel` alone. Run before
    `--mpt-train-step`. An optimizer that is a function must update each element of a
    parameter by itself; otherwise that pass fails, and names the op that reads more.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"",
           "Name of the differentiated function">,
    Option<"stage", "stage", "int64_t", "2",
           "1: gradients are kept whole until the backward pass has ended; 2: each bucket "
           "is cut as soon as it is there">,
    ListOption<"groups", "groups", "std::string",
               "Regular expressions; parameters that different ones match are not cut "
               "together, so that options of --mpt-train-step can tell them apart">,
    Option<"optimizer", "optimizer", "std::string", "\"\"",
           "The function @NAME that --mpt-train-step takes as its optimizer, if it is one: "
           "parameters that it updates in different ways are not cut together">];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

def JoinAfterUpdatePass : Pass<"mpt-join-after-update", "::mlir::ModuleOp"> {
  let summary = "Parameters that ranks join as they are stay joined between steps";
  let description = [{
    After `--mpt-shard-optimizer` a step joins shards before it reads parameters, and a rank
    keeps its shard beside what is joined. Where what is joined is read as it is (in f32
    without autocast), this pass makes it the state: each rank updates its own part of a
    copy of all parameters, and joins the new parts at the end of the step. State of n
    ranks with AdamW then takes 4 + 8 / n bytes a parameter, in place of 12 / n and 4 while
    the step runs. `mpt.shards` says `joined` of such an argument.

    What is read in half precision alone stays cut, and so does what is joined more than
    once (`--mpt-shard-parameters`). Bits and what travels stay the same. Run after
    `--mpt-autocast`, before `--mpt-plan-step`; `mpt-run` and `TrainStep` do so.
  }];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

def ShardParametersPass : Pass<"mpt-shard-parameters", "::mlir::ModuleOp"> {
  let summary = "Cut parameters between ranks, and join each only while it is needed";
  let description = [{
    ZeRO, stage 3 (Rajbhandari et al. 2020). As `--mpt-shard-optimizer`, but no rank keeps
    whole parameters for longer than it needs them.

    - Parameters that are first read one after the other are units of up to `unit-bytes`. A
      unit is joined (`mpt.all_gather`) in the forward pass and again in the backward pass,
      and dropped after the last op that reads it there. With micro-batches
      (`--mpt-accumulate`) each has both passes. A unit that would be joined again before
      it is dropped is kept.
    - A unit is joined while the unit `prefetch` places before it is computed with.
    - With `keep-bytes`, some units are kept from the forward to the backward pass: those
      that are needed again soonest.
    - The gradients of a unit are averaged and cut as soon as the last of them is there.
      `--mpt-data-parallel` must average all of them over the same axis; its buckets are
      ignored.
    - A parameter that divides evenly into blocks of 4,096 elements on each rank is cut by
      itself, so that it is read where the exchange leaves it.

    Rematerialization does not repeat exchanges. The bits of losses, parameters and state
    are those of `--mpt-data-parallel` alone. Run before `--mpt-train-step`.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"loss\"",
           "Name of the differentiated function">,
    Option<"unitBytes", "unit-bytes", "int64_t", "0",
           "Parameters of up to so many bytes are joined together; 0: a sixteenth of all, "
           "at most 25 MiB">,
    Option<"prefetch", "prefetch", "int64_t", "1",
           "How many units ahead one is joined; 0: right before its first reader">,
    Option<"keepBytes", "keep-bytes", "int64_t", "0",
           "Joined parameters of up to so many bytes, in the function's types, are kept "
           "for the backward pass; -1: all">,
    ListOption<"groups", "groups", "std::string",
               "As in --mpt-shard-optimizer">,
    Option<"optimizer", "optimizer", "std::string", "\"\"",
           "As in --mpt-shard-optimizer">];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect"];
}

#endif // MPT_PARALLEL_PASSES_TD
