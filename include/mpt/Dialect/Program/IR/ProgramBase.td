//===- ProgramBase.td - The mpt_program dialect -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_IR_PROGRAMBASE_TD
#define MPT_DIALECT_PROGRAM_IR_PROGRAMBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

def Program_Dialect : Dialect {
  let name = "mpt_program";
  let cppNamespace = "::mpt::program";
  let summary = "Planned programs: buffers with addresses, launches and library calls";
  let description = [{
    One step after planning, as back ends consume it: every buffer has a place, every op
    reads and writes buffers, and nothing allocates tensor memory.

    Each library call is an op with typed attributes. Its record in `Calls.td` also
    defines how the call is stored in a program's table
    (`mpt/ProgramABI/ProgramFormat.h`).
  }];
  let dependentDialects = ["::mpt::MPTDialect", "::mpt::kernel::KernelDialect"];
  let useDefaultAttributePrinterParser = 1;
}

/// A packed buffer: a memref of static shape.
def Program_Buffer : MemRefOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2, F8E8M0FNU,
                             F4E2M1FN, I1,
                               I8, I16, I32, I64]>;

/// One truth value.
def Program_Condition : StaticShapeMemRefOf<[I1]>;

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def Program_SpaceEnum : I32EnumAttr<"Space", "where a buffer lives", [
  I32EnumAttrCase<"Arena", 0, "arena">, I32EnumAttrCase<"State", 1, "state">,
  I32EnumAttrCase<"Input", 2, "input">, I32EnumAttrCase<"Output", 3, "output">,
  I32EnumAttrCase<"Constant", 4, "constant">]> {
  let cppNamespace = "::mpt::program";
  let genSpecializedAttr = 0;
}
def Program_Space : EnumAttr<Program_Dialect, Program_SpaceEnum, "space"> {
  let assemblyFormat = "`<` $value `>`";
}

def Program_F32MatmulsEnum : I32EnumAttr<"F32Matmuls",
    "what a matmul of f32 operands into f32 is summed as", [
  I32EnumAttrCase<"Exact", 0, "exact">,
  // Operands are cut to 10 bits of mantissa.
  I32EnumAttrCase<"TF32", 1, "tf32">,
  // Nine matmuls of bf16 parts, with f32's accuracy.
  I32EnumAttrCase<"BF16x9", 2, "bf16x9">]> {
  let cppNamespace = "::mpt::program";
  let genSpecializedAttr = 0;
}
def Program_F32Matmuls : EnumAttr<Program_Dialect, Program_F32MatmulsEnum, "f32_matmuls"> {
  let assemblyFormat = "`<` $value `>`";
}

def Program_RoundingEnum : I32EnumAttr<"Rounding",
    "what a call rounds an operand of f32 to while it reads it", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"F16", 1, "f16">,
  I32EnumAttrCase<"BF16", 2, "bf16">]> {
  let cppNamespace = "::mpt::program";
  let genSpecializedAttr = 0;
}
def Program_Rounding : EnumAttr<Program_Dialect, Program_RoundingEnum, "rounding"> {
  let assemblyFormat = "`<` $value `>`";
}

def Program_SumOrderEnum : I32EnumAttr<"SumOrder",
    "in which order a call reduces the values of ranks", [
  // ((x0 + x1) + x2) + .., the same bits whatever carries the messages.
  I32EnumAttrCase<"Rank", 0, "rank">,
  // As the library that carries the messages likes.
  I32EnumAttrCase<"Library", 1, "library">]> {
  let cppNamespace = "::mpt::program";
  let genSpecializedAttr = 0;
}
def Program_SumOrder : EnumAttr<Program_Dialect, Program_SumOrderEnum, "sum_order"> {
  let assemblyFormat = "`<` $value `>`";
}

#endif // MPT_DIALECT_PROGRAM_IR_PROGRAMBASE_TD
