//===- MPTOpsShape.td - Constants, casts and ops that move elements -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTOPSSHAPE_TD
#define MPT_DIALECT_MPT_IR_MPTOPSSHAPE_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"
include "mlir/Interfaces/CastInterfaces.td"

def MPT_ConstantOp : MPT_TensorOp<"constant", "Clear", "Clear",
    [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a compile-time tensor";
  let description = [{
    Example:

    ```mlir
    %c = mpt.constant dense<1.0> : tensor<4xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs MPT_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def MPT_IotaOp : MPT_TensorOp<"iota", "Clear", "Clear"> {
  let summary = "each element's index along `axis`";
  let description = [{
    Example:

    ```mlir
    %i = mpt.iota {axis = 1 : i64} : () -> tensor<4x8xi32>
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs MPT_Tensor:$result);
  let assemblyFormat = "attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def MPT_CastOp : MPT_TensorOp<"cast", "Clear", "Clear",
    [MPT_Differentiable, DeclareOpInterfaceMethods<CastOpInterface>]> {
  let summary = "conversion between element types";
  let description = [{
    Float to float rounds to nearest even; overflow gives an infinity (for
    f8E4M3FN, which has none, NaN). Integer to float rounds to nearest even,
    float to integer truncates (saturating, NaN to 0). i1 counts as 0 or 1; to
    i1, everything but zero becomes 1.
    `autocast` marks casts that MPT made, which alone it may fold away.

    Example:

    ```mlir
    %y = mpt.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins MPT_Tensor:$x, UnitAttr:$autocast);
  let results = (outs MPT_Tensor:$y);
  let fixedOperands = "true";
  let fixedResults = "true";
  let elementCast = "true";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_ReshapeOp : MPT_TensorOp<"reshape", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "the same elements, row-major, in another shape";
  let description = [{
    Example:

    ```mlir
    %y = mpt.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
    ```
  }];
  let arguments = (ins MPT_Tensor:$x);
  let results = (outs MPT_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_TransposeOp : MPT_InferredOp<"transpose", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "permutes dimensions";
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of x.

    Example:

    ```mlir
    %y = mpt.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
    ```
  }];
  let arguments = (ins MPT_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs MPT_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_BroadcastOp : MPT_TensorOp<"broadcast", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "repeats along dimensions of size 1, as NumPy's broadcast_to";
  let description = [{
    Example:

    ```mlir
    %y = mpt.broadcast %x : (tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins MPT_Tensor:$x);
  let results = (outs MPT_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_SliceOp : MPT_InferredOp<"slice", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "a strided box of a tensor";
  let description = [{
    Result dimension i has `sizes[i]` elements, x's `offsets[i] + k strides[i]`.

    Example:

    ```mlir
    %y = mpt.slice %x {offsets = array<i64: 0, 2>, sizes = array<i64: 4, 3>, strides = array<i64: 1, 2>} : (tensor<4x8xf32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins MPT_Tensor:$x, DenseI64ArrayAttr:$offsets,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides);
  let results = (outs MPT_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_ConcatOp : MPT_InferredOp<"concat", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "joins tensors along one dimension";
  let description = [{
    Example:

    ```mlir
    %y = mpt.concat %a, %b {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x10xf32>
    ```
  }];
  let arguments = (ins Variadic<MPT_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs MPT_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_PadOp : MPT_InferredOp<"pad", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "adds elements of one value around (and between) x's";
  let description = [{
    `low` and `high` elements (>= 0) before and after, `interior` (default 0)
    between neighbours, of value `value`: the transpose of `mpt.slice`.

    Example:

    ```mlir
    %y = mpt.pad %x {low = array<i64: 0, 1>, high = array<i64: 0, 1>, value = 0.0 : f64} : (tensor<4x8xf32>) -> tensor<4x10xf32>
    ```
  }];
  let arguments = (ins MPT_Tensor:$x, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high,
                       OptionalAttr<DenseI64ArrayAttr>:$interior,
                       DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs MPT_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_GatherOp : MPT_InferredOp<"gather", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "rows of a table (embedding lookup)";
  let description = [{
    table is [V, C..], indices [I..], the result [I.., C..]. An index outside
    [0, V) is an error when the program runs.

    Example:

    ```mlir
    %y = mpt.gather %table, %ids : (tensor<100x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8xf32>
    ```
  }];
  let arguments = (ins MPT_Tensor:$table, MPT_IndexTensor:$indices);
  let results = (outs MPT_Tensor:$y);
  let hasVerifier = 1;
}

def MPT_CheckIndicesOp : MPT_InferredOp<"check_indices", "Clear", "Clear"> {
  let summary = "indices that are known to be in range";
  let description = [{
    Returns its operand. An index that is neither in [0, `size`) nor
    `ignore_index` is an error when the program runs.

    Example:

    ```mlir
    %i = mpt.check_indices %t {size = 10 : i64, ignore_index = -100 : i64} : (tensor<4xi32>) -> tensor<4xi32>
    ```
  }];
  let arguments = (ins MPT_IndexTensor:$indices, I64Attr:$size,
                       OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs MPT_IndexTensor:$checked);
  let hasVerifier = 1;
}

def MPT_ScatterAddOp : MPT_TensorOp<"scatter_add", "Clear", "Clear"> {
  let summary = "sums rows into a table of zeros (gradient of `mpt.gather`)";
  let description = [{
    result[indices[i]] += updates[i] in order of i, in f32, rounded once.

    Example:

    ```mlir
    %dt = mpt.scatter_add %ids, %dy : (tensor<4x16xi32>, tensor<4x16x8xf32>) -> tensor<100x8xf32>
    ```
  }];
  let arguments = (ins MPT_IndexTensor:$indices, MPT_FloatTensor:$updates);
  let results = (outs MPT_FloatTensor:$table);
  let hasVerifier = 1;
}

#endif // MPT_DIALECT_MPT_IR_MPTOPSSHAPE_TD
