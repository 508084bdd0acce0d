//===- Options.td - Command line of mpt-compile -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

/// --name=VALUE, and --name VALUE; also with one dash, as clang has -mcpu.
multiclass Eq<string name, string meta, string help> {
  def NAME : Joined<["--", "-"], name # "=">, HelpText<help>, MetaVarName<meta>;
  def NAME # _separate : Separate<["--", "-"], name>, Alias<!cast<Joined>(NAME)>;
}

def o : JoinedOrSeparate<["-"], "o">, MetaVarName<"FILE">,
  HelpText<"The shared library or object file to write">;
defm emit : Eq<"emit", "KIND",
  "What to write: library (a shared library) or object (an object file, to be linked "
  "into a program with libMPTRuntimeStatic.a; default: library)">;
defm symbol : Eq<"symbol", "NAME",
  "With --emit=object: the program's name in C (default: mpt_program)">;
defm state : Eq<"state", "FILE",
  "Values that the step's state begins with, which become part of the program: a "
  "checkpoint of this step, or tensors by name in another .safetensors file">;
defm max_page_size : Eq<"max-page-size", "BYTES",
  "Align the library's segments for memory pages of up to this size, such as 16384">;
defm function : Eq<"function", "NAME",
  "The function to compile (default: the only one, or loss)">;
defm target : Eq<"target", "NAME", "What to compile for: cpu or cuda (default: cpu)">;
defm chip : Eq<"chip", "CHIP",
  "With --target=cuda: a GPU to compile for, such as sm_90; may be given again">;
defm cuda_toolkit : Eq<"cuda-toolkit", "DIR",
  "The CUDA toolkit's folder (default: that of the ptxas on the path, otherwise "
  "/usr/local/cuda)">;
def emulated_kernels : Flag<["--"], "emulated-kernels">,
  HelpText<"With --target=cuda: also compile the kernels for the CPU, to run on "
           "the stand-in for CUDA of MPT's tests">;
defm f32_matmuls : Eq<"f32-matmuls", "KIND",
  "With --target=cuda: how f32 matmuls are summed: exact, tf32 or bf16x9 "
  "(default: exact)">;
defm gpu_math : Eq<"gpu-math", "KIND",
  "With --target=cuda: the arithmetic of kernels: fast (FMA, ex2.approx) or exact (the "
  "CPU's) (default: fast)">;
def low_biases : Flag<["--"], "low-biases">,
  HelpText<"With --target=cuda: round f32 biases of f16 and bf16 matmuls to their "
           "type, as PyTorch's autocast does, instead of writing the result in f32">;
defm attention : Eq<"attention", "KIND",
  "With --target=cuda: fused (functions of MPT, f16 and bf16, head sizes up to 256), cudnn "
  "(the same by cuDNN 9 where there is no dropout and the machine that runs the step has "
  "it, otherwise fused), auto (cudnn for large attention without mask and bias, if all chips "
  "are sm_90 or newer, otherwise fused) or decomposed into matmuls and kernels (default: "
  "auto)">;
defm attention_variant : Eq<"attention-variant", "KIND",
  "With --target=cuda: mma (fused attention as for all chips) or auto (with --chip=sm_90 "
  "beside it attention and its gradients by wgmma and TMA, without mask, bias and dropout "
  "and with heads of 64 or 128; a GPU runs each that then computes the same; default: mma)">;
defm epilogues : Eq<"epilogues", "KIND",
  "With --target=cuda: saving (activations that save what their gradients need, and "
  "gradients as epilogues, if cuBLASLt has them), faster (those of them that take no longer "
  "by the chips' rates) or plain (bias and activation only; default: faster)">;
defm shared_operands : Eq<"shared-operands", "KIND",
  "With --target=cuda: matmuls that share their left operand joined into one, where that is "
  "faster by the chips' rates, or separate (default: joined)">;
defm convolutions : Eq<"convolutions", "KIND",
  "With --target=cuda: cudnn (cuDNN 9 if the machine that runs the step has it, otherwise "
  "matmuls), auto (the same, but matmuls for those of f16 or bf16 into f32 that have less "
  "than 32 GFLOP) or gemm (matmuls of cuBLASLt; default: auto)">;
defm autotune : Eq<"autotune", "FILE",
  "With --target=cuda: measure cuBLASLt's algorithms for the step's matmuls on this "
  "machine's GPU, keep the fastest in this JSON file, and use what it holds; "
  "without a GPU the file is only used">;
defm cudart : Eq<"cudart", "FILE",
  "With --autotune: the CUDA runtime library (default: the one that the loader finds)">;
defm cublaslt : Eq<"cublaslt", "FILE",
  "With --autotune: the cuBLASLt library (default: the one that the loader finds)">;
def remarks : Flag<["--"], "remarks">,
  HelpText<"Report missed fusions and matmuls that do not use tensor cores, with reasons">;
defm remarks_filter : Eq<"remarks-filter", "REGEX",
  "Print all remarks of matching categories, including what was done; mpt-opt has the same option">;
defm report : Eq<"report", "FILE",
  "With --target=cuda: estimate what each launch and call of a step costs, and write a "
  "table of it to this file: text, or JSON (.json) or a page (.html) by its name; also of a "
  "program that is compiled already, which then is the input (.so), without -o">;
defm report_chip : Eq<"report-chip", "NAME",
  "With --report: the GPU to estimate for: a100, h100, h200 or b200 (default: that of "
  "the first --chip, or of a program's first machine code)">;
defm report_tuning : Eq<"report-tuning", "FILE",
  "With --report: what a GPU has chosen by measuring (step.so.tuning); matmuls that it runs "
  "without their epilogue, and calls that it runs without cuDNN, are estimated like that">;
defm report_measured : Eq<"report-measured", "FILE",
  "With --report: the times that a GPU has taken, beside the estimates: JSON that "
  "mpt-run --profile-json, or an entry of gpu-check.sh's report, has of this program">;
defm remarks_output_file : Eq<"remarks-output-file", "FILE",
  "With one of these: write the remarks to this file, as LLVM's YAML">;
defm mcpu : Eq<"mcpu", "CPU",
  "The CPU to generate code for, as clang's -mcpu (default: native)">;
defm mtriple : Eq<"mtriple", "TRIPLE",
  "The machine to generate code for, such as aarch64-linux-gnu (default: this one)">;
defm max_threads : Eq<"max-threads", "N",
  "Most threads that workspaces are planned for (default: 8)">;
def help : Flag<["--", "-"], "help">, HelpText<"Print this text">;
def : Flag<["-"], "h">, Alias<help>;
def version : Flag<["--", "-"], "version">, HelpText<"Print the version">;
