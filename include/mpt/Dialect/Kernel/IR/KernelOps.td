//===- KernelOps.td - The ops of kernels -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_KERNEL_IR_KERNELOPS_TD
#define MPT_DIALECT_KERNEL_IR_KERNELOPS_TD

include "mpt/Dialect/Kernel/IR/KernelBase.td"
include "mpt/Dialect/MPT/IR/MPTBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Kernel_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kernel_Dialect, mnemonic, !listconcat([MPT_NoUnownedAttributes], traits)>;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

defvar kernelSemantics = [{
    The body runs once for every point of `domain` (static sizes, row-major; the
    last dimension is the row's inner one). It has one scalar argument per
    operand, of the operand's element type: the element at the index that
    `operand_maps` gives for the point. Maps are affine with constants (slices)
    and without divisions; a dimension that a map leaves out is broadcast. The
    values of `mpt_kernel.yield` are stored through `result_maps`. Arithmetic is
    explicit: `arith` and `math` ops on f32 (or f64) and integers, `arith.extf`
    and `arith.truncf` where a tensor-level value was widened or rounded, so
    fusing never changes a bit.

    Kinds: `pointwise` has no reductions. `row` may hold `mpt_kernel.row_reduce`: the
    result is the same for all points of a row and may be used by any later op,
    further reductions among them. `column` may hold both, and
    `mpt_kernel.column_reduce`, which sums over all rows; what depends on one is
    computed once at the end and may use only constants, other column
    reductions and operands that vary with the last dimension at most.

    `chunk_rows` rows (points of all dimensions but the last) form one task.
    It is chosen from the shape alone, and so is the order of every reduction:
    the bits do not depend on the number of threads.
}];

def Kernel_KernelOp : Kernel_Op<"kernel", [Pure, IsolatedFromAbove,
    SingleBlock]> {
  let summary = "fused elementwise and reduction kernel on tensors";
  let description = kernelSemantics # [{
    Example:

    ```mlir
    %y = mpt_kernel.kernel <pointwise>(%x, %b) domain [4, 8] chunk_rows 4
        maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>]
            -> [affine_map<(d0, d1) -> (d0, d1)>]
        : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
    ^bb0(%e: f32, %f: f32):
      %s = arith.addf %e, %f : f32
      mpt_kernel.yield %s : f32
    }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_StoredTensor>, "tensors of static shape">:$inputs,
    Arg<Kernel_Kind, "`pointwise`, `row` or `column`">:$kind,
    Arg<DenseI64ArrayAttr, "the domain's static sizes">:$domain,
    Arg<I64Attr, "rows for each task, at least 1">:$chunk_rows,
    Arg<AffineMapArrayAttr,
        "one map for each operand, from a point to an index">:$operand_maps,
    Arg<AffineMapArrayAttr,
        "one map for each result, from a point to an index">:$result_maps);
  let results = (outs
    Res<Variadic<MPT_StoredTensor>, "tensors of static shape">:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind `(` $inputs `)` `domain` $domain `chunk_rows` $chunk_rows
    `maps` $operand_maps `->` $result_maps
    attr-dict `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
}

def Kernel_FuncOp : Kernel_Op<"func", [IsolatedFromAbove, Symbol,
    SingleBlock]> {
  let summary = "kernel of a program; identical kernels are built once";
  let description = kernelSemantics # [{
    `function_type` gives the tensor types of operands and results, which fix
    the strides (row-major, packed). A result that is a part of a larger tensor has a
    memref type with strides instead, without an offset. Lowered to
    `void fn(void **buffers, int64_t begin, int64_t end)` over tasks, buffers
    being operands, results, and for `column` the partials as KernelInfo
    (mpt/Dialect/Kernel/Transforms/KernelInfo.h) lays them out; and a second function
    `<name>_combine` of one task.

    A result's buffer may be an operand's if their maps are equal: at every
    point all loads come before the stores, and no store of a row comes before
    the last reduction over that row.

    Example:

    ```mlir
    mpt_kernel.func <pointwise> @add_bias domain [4, 8] chunk_rows 4
        maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>]
            -> [affine_map<(d0, d1) -> (d0, d1)>]
        : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
    ^bb0(%e: f32, %f: f32):
      %s = arith.addf %e, %f : f32
      mpt_kernel.yield %s : f32
    }
    ```
  }];
  let arguments = (ins
    Arg<SymbolNameAttr, "the kernel's symbol">:$sym_name,
    Arg<TypeAttrOf<FunctionType>,
        "tensor types of operands and results, or memref types of results">:$function_type,
    Arg<Kernel_Kind, "`pointwise`, `row` or `column`">:$kind,
    Arg<DenseI64ArrayAttr, "the domain's static sizes">:$domain,
    Arg<I64Attr, "rows for each task, at least 1">:$chunk_rows,
    Arg<AffineMapArrayAttr,
        "one map for each operand, from a point to an index">:$operand_maps,
    Arg<AffineMapArrayAttr,
        "one map for each result, from a point to an index">:$result_maps);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind $sym_name `domain` $domain `chunk_rows` $chunk_rows
    `maps` $operand_maps `->` $result_maps attr-dict `:` $function_type $body
  }];
  let hasVerifier = 1;
}

class Kernel_ReduceOp<string mnemonic>
    : Kernel_Op<mnemonic, [Pure, SameOperandsAndResultType,
                        ParentOneOf<["KernelOp", "FuncOp"]>]> {
  let arguments = (ins
    Arg<MPT_ReduceKind, "what is computed">:$kind,
    Arg<AnyTypeOf<[F32, F64, I32, I64]>, "scalar">:$value);
  let results = (outs
    Res<AnyTypeOf<[F32, F64, I32, I64]>, "scalar">:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value)";
}
def Kernel_RowReduceOp : Kernel_ReduceOp<"row_reduce"> {
  let summary = "reduces over the last dimension of a kernel's domain";
  let description = [{
    `mean` divides by the row's length. Order: W lanes (element i goes to lane i
    mod W), then a fixed tree over the lanes; W depends on the target alone.

    Example:

    ```mlir
    %y = mpt_kernel.kernel <row>(%x) domain [4, 8] chunk_rows 4
        maps [affine_map<(d0, d1) -> (d0, d1)>] -> [affine_map<(d0, d1) -> (d0, d1)>]
        : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%e: f32):
      %max = mpt_kernel.row_reduce <max> %e : f32
      %d = arith.subf %e, %max : f32
      mpt_kernel.yield %d : f32
    }
    ```
  }];
}
def Kernel_ColumnReduceOp : Kernel_ReduceOp<"column_reduce"> {
  let summary = "reduces over the rows of a kernel's domain";
  let description = [{
    The result varies with the last dimension as the operand does; a row-uniform
    operand (of `mpt_kernel.row_reduce`) gives one number. Rows are summed in order
    within a task, then tasks in order. `mean` divides by the number of rows.

    Example:

    ```mlir
    %y = mpt_kernel.kernel <column>(%x) domain [4, 8] chunk_rows 4
        maps [affine_map<(d0, d1) -> (d0, d1)>] -> [affine_map<(d0, d1) -> (d1)>]
        : (tensor<4x8xf32>) -> tensor<8xf32> {
    ^bb0(%e: f32):
      %sum = mpt_kernel.column_reduce <sum> %e : f32
      mpt_kernel.yield %sum : f32
    }
    ```
  }];
}
def Kernel_IndexOp : Kernel_Op<"index", [Pure,
    ParentOneOf<["KernelOp", "FuncOp"]>]> {
  let summary = "index of the point along one dimension of a kernel's domain";
  let description = [{
    The result is the point's index along dimension `dim`, from 0.

    Example:

    ```mlir
    %y = mpt_kernel.kernel <pointwise>() domain [4, 8] chunk_rows 4
        maps [] -> [affine_map<(d0, d1) -> (d0, d1)>] : () -> tensor<4x8xi32> {
      %i = mpt_kernel.index 1 : i32
      mpt_kernel.yield %i : i32
    }
    ```
  }];
  let arguments = (ins
    Arg<I64Attr, "a dimension of the domain">:$dim);
  let results = (outs
    Res<AnyTypeOf<[I32, I64]>, "scalar">:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
}

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator,
    ParentOneOf<["KernelOp", "FuncOp"]>]> {
  let summary = "ends a kernel's body with the elements that it stores";
  let description = [{
    One scalar for each result of the kernel, of the result's element type.

    Example:

    ```mlir
    %y = mpt_kernel.kernel <pointwise>(%x) domain [4] chunk_rows 1
        maps [affine_map<(d0) -> (d0)>] -> [affine_map<(d0) -> (d0)>]
        : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%e: f32):
      mpt_kernel.yield %e : f32
    }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<AnyTypeOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2,
                             F8E8M0FNU, F4E2M1FN, I1, I8, I16, I32, I64]>>,
        "scalars">:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // MPT_DIALECT_KERNEL_IR_KERNELOPS_TD
