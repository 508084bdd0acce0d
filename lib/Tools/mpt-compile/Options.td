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
  HelpText<"The shared library to write">;
defm function : Eq<"function", "NAME",
  "The function to compile (default: the only one, else loss)">;
defm target : Eq<"target", "NAME", "What to compile for: cpu or cuda (default: cpu)">;
defm chip : Eq<"chip", "CHIP",
  "With --target=cuda: a GPU to compile for, as sm_90; may be given again">;
defm cuda_toolkit : Eq<"cuda-toolkit", "DIR",
  "The CUDA toolkit's folder (default: that of the ptxas on the path, else "
  "/usr/local/cuda)">;
def emulated_kernels : Flag<["--"], "emulated-kernels">,
  HelpText<"With --target=cuda: compile the kernels for the CPU, too, for a run on "
           "the stand-in for CUDA that MPT's tests have">;
defm mcpu : Eq<"mcpu", "CPU",
  "The CPU to generate code for, as clang's -mcpu (default: native)">;
defm max_threads : Eq<"max-threads", "N",
  "Most threads that workspaces are planned for (default: 8)">;
def help : Flag<["--", "-"], "help">, HelpText<"Print this text">;
def : Flag<["-"], "h">, Alias<help>;
def version : Flag<["--", "-"], "version">, HelpText<"Print the version">;
