//===- ProgramOps.td - The ops of planned programs -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_IR_PROGRAMOPS_TD
#define MPT_DIALECT_PROGRAM_IR_PROGRAMOPS_TD

include "mpt/Dialect/Program/IR/Calls.td"

//===----------------------------------------------------------------------===//
// Attention, until device functions do it
//===----------------------------------------------------------------------===//

/// Device functions replace the ops; the program's table does not know them.
class Program_AttentionBase<string mnemonic, list<Trait> traits = []>
    : Op<Program_Dialect, mnemonic, !listconcat(traits, [DestinationStyleOpInterface])> {
  dag attributes = (ins UnitAttr:$causal, OptionalAttr<F64Attr>:$scale);
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
}

def Program_AttentionOp : Program_AttentionBase<"attention"> {
  let summary = "`mpt.attention` on buffers, done by one device function";
  let description = [{
    Example:

    ```mlir
    mpt_program.attention ins(%q, %k, %v : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>) outs(%y, %lse : memref<2x4x16x32xf16>, memref<2x4x16xf32>) {causal}
    ```
  }];
  let arguments = !con((ins In:$query, In:$key, In:$value, OptionalIn:$mask, Out:$result,
                            Out:$log_sum_exp), attributes);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    `outs` `(` $result `,` $log_sum_exp `:` type($result) `,` type($log_sum_exp) `)` attr-dict
  }];
}

def Program_AttentionGradOp
    : Program_AttentionBase<"attention_grad", [AttrSizedOperandSegments]> {
  let summary = "`mpt.attention_grad` on buffers, done by device functions";
  let description = [{
    The workspace holds one f32 per row of the query.

    Example:

    ```mlir
    mpt_program.attention_grad ins(%dy, %q, %k, %v, %y, %lse : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16xf32>) outs(%dq, %dk, %dv : memref<2x4x16x32xf16>, memref<2x4x16x32xf16>, memref<2x4x16x32xf16>) workspace(%w : memref<512xi8>) {causal}
    ```
  }];
  let arguments = !con((ins In:$dy, In:$query, In:$key, In:$value, In:$result,
                            In:$log_sum_exp, OptionalIn:$mask, Out:$dquery, Out:$dkey,
                            Out:$dvalue, Workspace:$workspace), attributes);
  let assemblyFormat = [{
    `ins` `(` $dy `,` $query `,` $key `,` $value `,` $result `,` $log_sum_exp `:` type($dy)
    `,` type($query) `,` type($key) `,` type($value) `,` type($result) `,`
    type($log_sum_exp) `)` (`mask` `(` $mask^ `:` type($mask) `)`)?
    `outs` `(` $dquery `,` $dkey `,` $dvalue `:` type($dquery) `,` type($dkey) `,`
    type($dvalue) `)` (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict
  }];
}

#endif // MPT_DIALECT_PROGRAM_IR_PROGRAMOPS_TD
