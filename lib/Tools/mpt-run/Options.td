//===- Options.td - Command line of mpt-run -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

class F<string name, OptionGroup group, string help>
    : Flag<["--"], name>, Group<group>, HelpText<help>;

/// --name=VALUE, and --name VALUE.
multiclass Eq<string name, OptionGroup group, string meta, string help> {
  def NAME : Joined<["--"], name # "=">, Group<group>, HelpText<help>,
             MetaVarName<meta>;
  def NAME # _separate : Separate<["--"], name>, Alias<!cast<Joined>(NAME)>;
}

def g_model : OptionGroup<"model">, HelpText<"MODEL">;
def g_device : OptionGroup<"device">, HelpText<"DEVICE">;
def g_data : OptionGroup<"data">, HelpText<"DATA">;
def g_training : OptionGroup<"training">, HelpText<"TRAINING">;
def g_output : OptionGroup<"output">, HelpText<"OUTPUT">;
def g_other : OptionGroup<"other">, HelpText<"OTHER">;

defm function : Eq<"function", g_model, "NAME",
  "Function to train: a loss or a whole step (default: the only one, or loss)">;
defm precision : Eq<"precision", g_model, "LIST",
  "f32, f16 or bf16; a list with --compare; 'f16:static init-scale=1024' sets its "
  "own --loss-scale (default: f32)">;
defm optimizer : Eq<"optimizer", g_model, "TEXT",
  "sgd, momentum, adam, adamw or @NAME, a function of the model's module, then options of mpt-train-step such as "
  "'weight-decay=0.1 clip-norm=1' (default: adamw)">;
defm loss_scale : Eq<"loss-scale", g_model, "TEXT",
  "dynamic, static, amax or none, then options of mpt-loss-scale such as "
  "'init-scale=1024' (default: dynamic for f16, otherwise none)">;
defm fp8 : Eq<"fp8", g_model, "TEXT",
  "delayed, current, deepseek or mxfp8: matmuls of 8-bit floats, then options of mpt-fp8 "
  "such as 'keep=router' (default: none)">;
defm optimizer_state : Eq<"optimizer-state", g_model, "TEXT",
  "f32, bf16 or block8 (8 bits, scaled by blocks), then options of mpt-optimizer-state "
  "such as 'groups=embed=f32' (default: f32)">;
defm master_weights : Eq<"master-weights", g_model, "TEXT",
  "f32, bf16-stochastic-rounding, bf16-kahan, split16 or none, then options of "
  "mpt-master-weights such as 'groups=bias=f32' (default: f32)">;
defm accumulate : Eq<"accumulate", g_training, "K",
  "Cut each batch into K micro-batches and add their gradients in f32">;
defm autocast : Eq<"autocast", g_model, "TEXT",
  "Options of mpt-autocast such as 'profile=ranges.jsonl keep=head', with "
  "--precision=f16 or bf16">;
defm apex : Eq<"apex", g_model, "TEXT",
  "O0, O1, O2 or O3, then options of mpt-apex such as 'loss-scale=128', instead of "
  "--precision, --loss-scale and --autocast">;
defm memory_budget : Eq<"memory-budget", g_model, "SIZE",
  "Fit the step's arena into 512MB, 4GiB, 0.5x (of what it takes with nothing "
  "recomputed) or min, by recomputing values">;
defm memory_limit : Eq<"memory-limit", g_model, "SIZE",
  "Refuse a step that needs more memory than 512MB, 4GiB, .. (default: what this "
  "process can have)">;
defm memory_order : Eq<"memory-order", g_model, "NAME",
  "Order of the step's kernels and calls: keep, early-update, least-peak, depth-first, "
  "or best, with the smallest arena (default: best)">;
defm pipeline : Eq<"pipeline", g_model, "TEXT",
  "Passes that make the step, instead of those that the options above choose">;
defm engine : Eq<"engine", g_model, "NAME",
  "compiled (also called cpu), reference or reference-f64 (interpreted op by op, to "
  "check results) (default: compiled)">;
defm threads : Eq<"threads", g_model, "N",
  "Threads of the compiled engine on the CPU (default: one per core)">;
defm device : Eq<"device", g_device, "NAME",
  "Where the step runs: cpu, cuda or cuda:N, the GPU of that number (default: cpu, or "
  "what a program was compiled for)">;
defm cudart : Eq<"cudart", g_device, "FILE",
  "The CUDA runtime library (default: the one that the loader finds)">;
defm cublaslt : Eq<"cublaslt", g_device, "FILE",
  "The cuBLASLt library (default: the one that the loader finds)">;
defm cudnn : Eq<"cudnn", g_device, "FILE",
  "The cuDNN library, for programs that call it (default: the one that the loader finds)">;
defm nccl : Eq<"nccl", g_device, "FILE",
  "With --parallel, the NCCL library (default: the one that the loader finds)">;
def no_tune : F<"no-tune", g_device,
  "Run cuBLASLt's matmuls with the algorithms that it guesses to be the fastest; do not "
  "measure them before the first step">;
defm tuning_file : Eq<"tuning-file", g_device, "FILE",
  "Where the choice among measured algorithms is kept (default: the program's name with "
  ".tuning; of a model that is compiled for this run a file of the user's cache, in "
  "mpt/tuning of $XDG_CACHE_HOME or ~/.cache)">;
defm graph_branches : Eq<"graph-branches", g_device, "N",
  "On a GPU: most branches of a step's CUDA graph that run at once, 1 to 3 (default: 3; a "
  "step has several only where they are expected to be faster)">;
defm cuda_toolkit : Eq<"cuda-toolkit", g_device, "DIR",
  "To compile for a GPU: the CUDA toolkit's folder, as mpt-compile has it">;
defm attention_variant : Eq<"attention-variant", g_device, "KIND",
  "To compile for a GPU: mma, or auto for attention by wgmma where an sm_90 has it, as "
  "mpt-compile has it (default: mma)">;
def emulated_kernels : F<"emulated-kernels", g_device,
  "To compile for a GPU: also for the stand-in for CUDA that MPT's tests have">;
defm init : Eq<"init", g_model, "FILE",
  "First values of state by name, from a .safetensors file">;

defm data : Eq<"data", g_data, "NAME=FILE",
  "Data of an input or target: .npy, .npz[:member] or .safetensors[:tensor]">;
defm whole : Eq<"whole", g_data, "NAME",
  "Every step reads all of this input's data, such as a table, instead of the rows of "
  "its batch; may be given again">;
defm batch : Eq<"batch", g_data, "N",
  "Rows per step (default: the function's, or all)">;
defm eval_function : Eq<"eval-function", g_data, "NAME",
  "Function to evaluate on held-out data">;
defm eval_program : Eq<"eval-program", g_data, "FILE",
  "Compiled function to evaluate on held-out data, for a compiled step">;
defm eval_data : Eq<"eval-data", g_data, "NAME=FILE",
  "Data of an input or target of the evaluation">;
defm eval_every : Eq<"eval-every", g_data, "N",
  "Evaluate every N steps (default: at the end only)">;
defm eval_weights : Eq<"eval-weights", g_data, "KIND",
  "parameters, or ema: their averages, which ema-decay in --optimizer keeps "
  "(default: parameters)">;
defm eval_batch : Eq<"eval-batch", g_data, "N",
  "Rows per evaluation batch (default: as --batch)">;

defm steps : Eq<"steps", g_training, "N", "Steps to train">;
defm epochs : Eq<"epochs", g_training, "N",
  "Passes over the data, instead of --steps">;
defm lr : Eq<"lr", g_training, "X", "Learning rate">;
defm lr_schedule : Eq<"lr-schedule", g_training, "KIND",
  "constant, linear or cosine, down to lr times --lr-final, or step (default: "
  "constant)">;
defm lr_final : Eq<"lr-final", g_training, "X",
  "Last learning rate as a fraction of --lr (default: 0)">;
defm lr_step : Eq<"lr-step", g_training, "N",
  "Steps between two falls of --lr-schedule=step">;
defm lr_gamma : Eq<"lr-gamma", g_training, "X",
  "Factor of each fall (default: 0.1)">;
defm warmup : Eq<"warmup", g_training, "N",
  "Steps over which the learning rate rises to --lr">;
defm parallel : Eq<"parallel", g_training, "KIND",
  "data: each process of 'mpirun -n N mpt-run ..' trains on its part of each batch, and "
  "gradients are averaged (on GPUs by NCCL; torchrun --no-python can start the processes, too); "
  "zero1, zero2, zero3: and each holds and updates a part of the parameters, from zero2 on "
  "also of the gradients; with zero3 parameters are whole only while a step needs them. "
  "Options of --mpt-data-parallel may follow, as in 'data batch-norm=synchronized', with "
  "zero3 also those of --mpt-shard-parameters">;
defm parallel_timeout : Eq<"parallel-timeout", g_training, "SECONDS",
  "With --parallel: end when a process has not answered for so long (default: 60)">;
defm seed : Eq<"seed", g_training, "N",
  "Seed of initial values, shuffles and dropout (default: 0)">;

defm checkpoint : Eq<"checkpoint", g_output, "FILE",
  "Save the whole state to this .safetensors file at the end">;
defm checkpoint_every : Eq<"checkpoint-every", g_output, "N",
  "Also save every N steps">;
def resume : F<"resume", g_output,
  "Go on from --checkpoint if that file exists">;
def resume_from : Joined<["--"], "resume=">, Group<g_output>,
  MetaVarName<"FILE">, HelpText<"Go on from this checkpoint">;
defm metrics : Eq<"metrics", g_output, "FILE",
  "Write a JSON line per step">;
defm tensorboard : Eq<"tensorboard", g_output, "DIR",
  "Write event files for TensorBoard to this directory">;
def compare : F<"compare", g_output,
  "Train once per precision of the list and compare">;
defm plot : Eq<"plot", g_output, "FILE", "Draw the loss curves to an SVG file">;
defm progress : Eq<"progress", g_output, "KIND",
  "bar, lines or none (default: bar on a terminal, otherwise lines)">;
defm log_every : Eq<"log-every", g_output, "N",
  "Steps between lines of progress (default: a tenth of the run)">;
defm ranges : Eq<"ranges", g_output, "FILE",
  "Record the magnitudes of the step's values and write them as JSON lines">;
defm ranges_html : Eq<"ranges-html", g_output, "FILE",
  "... as a page with histograms">;
defm instrument : Eq<"instrument", g_output, "TEXT",
  "Options of mpt-instrument such as 'type=f16,bf16 values=linear' for these two">;
def profile : F<"profile", g_output,
  "Print where steps spend their time, by call and by source">;
defm profile_json : Eq<"profile-json", g_output, "FILE", "Write that as JSON">;
defm profile_html : Eq<"profile-html", g_output, "FILE", "... as a page">;

def dump_pass_pipeline : F<"dump-pass-pipeline", g_output,
  "Print the passes that make the step, as mpt-opt's --pass-pipeline takes them">;

def help : F<"help", g_other, "Print this text">;
def : Flag<["-"], "h">, Alias<help>;
def version : F<"version", g_other, "Print the version">;
