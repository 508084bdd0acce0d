//===- Passes.td - From mpt to StableHLO -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_EXPORT_STABLEHLO_PASSES_TD
#define MPT_EXPORT_STABLEHLO_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertToStableHLOPass : Pass<"mpt-convert-to-stablehlo", "::mlir::ModuleOp"> {
  let summary = "Convert a step of the mpt dialect to StableHLO";
  let description = [{
    Converts one function, a forward loss or a whole training step, to StableHLO and CHLO
    in MLIR's generic form, which XLA and IREE read. `--allow-unregistered-dialect` lets
    mpt-opt hold their ops. Shapes must be static. The function becomes @main; other
    functions are erased.

    **Numbers.** Ops are decomposed as `--mpt-decompose` does, without unrolling loops.
    Elementwise ops compute in f32 (f64) and convert once to the result's type, as the ops
    say. Matmuls, convolutions and sums of narrow operands widen them first, and so return
    f32, which is converted once; with `client=xla-gpu` matmuls and convolutions read the
    narrow operands themselves. Random bits are those of MPT. The compiler must keep
    conversions between types: XLA does with
    `XLA_FLAGS=--xla_allow_excess_precision=false`.

    **Differences.** Sums run in another order. An index that is out of range is clamped in
    `mpt.gather` and its row left out in `mpt.scatter_add`, where MPT's own back ends
    stop with an error; `mpt.check_indices` checks nothing.

    **Interface.** Arguments and results keep their order and types. The name of an
    argument is its location (`--mlir-print-debuginfo` prints it), and that of a result
    `jax.result_info`. An argument that a result updates has `tf.aliasing_output`, so that
    it is donated, unless `donate=false`. Attributes of mpt are removed.

    What has no counterpart is one error with a note for each such op.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "Name of the function; needed if the module has several">,
    Option<"client", "client", "::mpt::StableHLOClient",
           "::mpt::StableHLOClient::Generic", "The compiler that reads the result",
           [{::llvm::cl::values(
             clEnumValN(::mpt::StableHLOClient::Generic, "generic",
                        "any: matmuls and convolutions read f32"),
             clEnumValN(::mpt::StableHLOClient::XLACPU, "xla-cpu", "as generic"),
             clEnumValN(::mpt::StableHLOClient::XLAGPU, "xla-gpu",
                        "matmuls and convolutions read narrow types, and return f32"),
             clEnumValN(::mpt::StableHLOClient::IREE, "iree", "as generic"))}]>,
    Option<"donate", "donate", "bool", "true",
           "Let results take the memory of the arguments that they update">
  ];
  let statistics = [
    Statistic<"numOps", "ops-converted", "Number of ops converted">
  ];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::func::FuncDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // MPT_EXPORT_STABLEHLO_PASSES_TD
