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

let opDocGroup = MPT_ShapeDocs in {

def MPT_ConstantOp : MPT_TensorOp<"constant", "Clear", "Clear",
    [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "constant tensor";
  let otherNames = [
    OtherName<"torch.tensor">, OtherName<"torch.full">, OtherName<"torch.zeros">,
    OtherName<"torch.ones">, OtherName<"torch.zeros_like">, OtherName<"torch.ones_like">,
    OtherName<"torch.full_like">, OtherName<"const">, OtherName<"literal">,
    OtherName<"scalar">];
  let description = [{
    A tensor that is known when the graph is compiled. `dense<0.5>` gives all
    elements one value.

    Example:

    ```mlir
    %c = mpt.constant dense<1.0> : tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<ElementsAttr, "`dense<...>` of the result's type">:$value);
  let results = (outs
    Res<MPT_Tensor, "the value's shape">:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def MPT_IotaOp : MPT_TensorOp<"iota", "Clear", "Clear"> {
  let summary = "index of each element along an axis";
  let otherNames = [
    OtherName<"torch.arange", "for 0, 1, ..; scale and shift it with `mpt.mul` and `mpt.add`">,
    OtherName<"range">];
  let description = [{
    Element [.., i, ..] is i, where i is the position along `axis`. Integers
    must hold the largest index; floats round it.

    Example:

    ```mlir
    %i = mpt.iota {axis = 1 : i64} : () -> tensor<4x8xi32>
    ```
  }];
  let arguments = (ins
    Arg<I64Attr, "in [0, rank)">:$axis);
  let results = (outs
    Res<MPT_Tensor, "any shape of static sizes">:$result);
  let assemblyFormat = "attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def MPT_CastOp : MPT_TensorOp<"cast", "Clear", "Clear",
    [MPT_Elementwise, MPT_Differentiable, DeclareOpInterfaceMethods<CastOpInterface>]> {
  let summary = "conversion between element types";
  let otherNames = [
    OtherName<"Tensor.to">, OtherName<"Tensor.type">, OtherName<"Tensor.float">,
    OtherName<"Tensor.half">, OtherName<"Tensor.bfloat16">, OtherName<"Tensor.double">,
    OtherName<"Tensor.int">, OtherName<"Tensor.long">, OtherName<"Tensor.bool">,
    OtherName<"convert">, OtherName<"convert_element_type">, OtherName<"astype">,
    OtherName<"to_dtype">];
  let description = [{
    Float to float rounds to nearest, ties to even; overflow gives an infinity
    (for f8E4M3FN, which has none, NaN; for f4E2M1FN, which has neither, 6 or -6, and NaN
    gives 6). Integer to float rounds to nearest
    even. Float to integer truncates; numbers out of range become the nearest
    integer, and NaN becomes 0. i1 counts as 0 or 1; to i1, everything but zero becomes
    1.

    Example:

    ```mlir
    %y = mpt.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins
    Arg<MPT_StoredTensor, "any shape">:$x,
    Arg<UnitAttr, "marks a cast that MPT made, which alone MPT may fold away">:$autocast);
  let results = (outs
    Res<MPT_CastTensor, "x's shape, any element type">:$y);
  let fixedOperands = "true";
  let fixedResults = "true";
  let elementCast = "true";
  let hasVerifier = 1;
  let hasFolder = 1;
  let scalarWidens = 0;
  let scalar = [{ return b.cast(x, getTensor(getY()).getElementType()); }];
  let gradients = ["dy"];
}

def MPT_BitcastOp : MPT_TensorOp<"bitcast", "Clear", "Clear", [MPT_Elementwise]> {
  let summary = "the same bits as another element type of the same width";
  let otherNames = [OtherName<"bitcast_convert">, OtherName<"bitcast_convert_type">];
  let description = [{
    Element i of y has the bits of element i of x. Floats have the bits of their
    IEEE format (bf16: the upper half of f32). NaNs keep their payloads where the
    machine does. It has no gradient.

    Example:

    ```mlir
    %y = mpt.bitcast %x : (tensor<4xi32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_BitsTensor, "any shape">:$x);
  let results = (outs
    Res<MPT_BitsTensor, "x's shape, an element type of the same width">:$y);
  let fixedOperands = "true";
  let fixedResults = "true";
  let hasVerifier = 1;
  let hasFolder = 1;
  let scalarWidens = 0;
  let scalar = [{ return b.bitcast(x, getTensor(getY()).getElementType()); }];
}

def MPT_ReshapeOp : MPT_TensorOp<"reshape", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "the same elements, row-major, in another shape";
  let otherNames = [
    OtherName<"torch.reshape">, OtherName<"Tensor.view">, OtherName<"torch.flatten">,
    OtherName<"nn.Flatten">, OtherName<"torch.unflatten">, OtherName<"torch.squeeze">,
    OtherName<"torch.unsqueeze">, OtherName<"torch.ravel">, OtherName<"expand_dims">];
  let description = [{
    The result's type gives the shape, which has as many elements as x.

    Example:

    ```mlir
    %y = mpt.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_Tensor, "any shape">:$x);
  let results = (outs
    Res<MPT_Tensor, "any shape of as many elements, x's element type">:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
  let gradients = ["b.reshape(dy, getTensor(getX()).getShape())"];
}

def MPT_TransposeOp : MPT_InferredOp<"transpose", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "permutation of dimensions";
  let otherNames = [
    OtherName<"torch.permute">,
    OtherName<"torch.transpose", "with the whole `permutation`, not two dimensions">,
    OtherName<"torch.t", "with `permutation = array<i64: 1, 0>`">,
    OtherName<"Tensor.T", "with `permutation = array<i64: 1, 0>`">,
    OtherName<"torch.movedim">, OtherName<"torch.swapaxes">, OtherName<"torch.swapdims">];
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of x.

    Example:

    ```mlir
    %y = mpt.transpose %x {permutation = array<i64: 0, 2, 1>}
        : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_Tensor, "any shape">:$x,
    Arg<DenseI64ArrayAttr, "each dimension of x once">:$permutation);
  let results = (outs
    Res<MPT_Tensor, "x's shape, permuted">:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
  let gradient = [{
    SmallVector<int64_t> inverse(getPermutation().size());
    for (auto [i, dim] : llvm::enumerate(getPermutation()))
      inverse[dim] = i;
    operandGrads[0] = b.make<TransposeOp>(dy, inverse);
    return success();
  }];
}

def MPT_BroadcastOp : MPT_TensorOp<"broadcast", "Clear", "Clear",
                                   [MPT_Fusible, MPT_Differentiable]> {
  let summary = "repetition along dimensions of size 1";
  let otherNames = [
    OtherName<"torch.broadcast_to">, OtherName<"Tensor.expand">,
    OtherName<"Tensor.expand_as">,
    OtherName<"torch.tile", "where a dimension has size 1, else `mpt.concat`">,
    OtherName<"Tensor.repeat", "where a dimension has size 1, else `mpt.concat`">,
    OtherName<"broadcast_in_dim">];
  let description = [{
    As NumPy's broadcast_to: shapes are aligned at the last dimension, and sizes
    of x are 1 or those of the result, whose type gives the shape. Elementwise
    ops broadcast by themselves.

    Example:

    ```mlir
    %y = mpt.broadcast %x : (tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_Tensor, "sizes 1 or those of the result">:$x);
  let results = (outs
    Res<MPT_Tensor, "any shape, x's element type">:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
  let scalarWidens = 0;
  let scalar = [{ return b.round(x); }];
  let gradients = ["dy"];
}

def MPT_SliceOp : MPT_InferredOp<"slice", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "strided box of a tensor";
  let otherNames = [
    OtherName<"torch.narrow">,
    OtherName<"torch.chunk", "once for each part">,
    OtherName<"torch.split", "once for each part">,
    OtherName<"torch.unbind", "once for each part, then `mpt.reshape`">,
    OtherName<"Tensor.__getitem__">, OtherName<"strided_slice">, OtherName<"crop">,
    OtherName<"index">];
  let description = [{
    Dimension i of the result has `sizes[i]` elements: x's `offsets[i] + k
    strides[i]` for k = 0, 1, ..

    Example:

    ```mlir
    %y = mpt.slice %x {offsets = array<i64: 0, 2>, sizes = array<i64: 4, 3>,
        strides = array<i64: 1, 2>} : (tensor<4x8xf32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_Tensor, "any shape">:$x,
    Arg<DenseI64ArrayAttr, "first index of each dimension">:$offsets,
    Arg<DenseI64ArrayAttr,
        "size of each dimension of the result; -1, with offset 0 and stride 1, takes "
        "the whole of a dimension">:$sizes,
    Arg<DenseI64ArrayAttr, "step of each dimension, at least 1">:$strides);
  let results = (outs
    Res<MPT_Tensor, "`sizes`">:$y);
  let gradient = [{
    if (failed(requireStaticShapes(*this, getX())))
      return failure();
    SmallVector<int64_t> high, interior;
    for (int64_t i = 0; i < getTensor(getX()).getRank(); ++i) {
      // The type's, since `sizes` may say -1.
      int64_t size = getTensor(getY()).getDimSize(i);
      int64_t covered = size > 0 ? (size - 1) * getStrides()[i] + 1 : 0;
      high.push_back(getTensor(getX()).getDimSize(i) - getOffsets()[i] - covered);
      interior.push_back(getStrides()[i] - 1);
    }
    bool dense = llvm::all_of(interior, [](int64_t gap) { return gap == 0; });
    auto array = [&](ArrayRef<int64_t> numbers) {
      return builder.getDenseI64ArrayAttr(numbers);
    };
  }];
  let gradients = [
    "b.make<PadOp>(dy, array(getOffsets()), array(high), "
    "dense ? DenseI64ArrayAttr() : array(interior), builder.getF64FloatAttr(0.0))"];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def MPT_ConcatOp : MPT_InferredOp<"concat", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "concatenation along one dimension";
  let otherNames = [
    OtherName<"torch.cat">, OtherName<"torch.concat">, OtherName<"torch.concatenate">,
    OtherName<"torch.stack",
             "after `mpt.reshape` of each operand to size 1 along the new dimension">,
    OtherName<"torch.hstack", "with `axis = 1 : i64`">,
    OtherName<"torch.vstack", "with `axis = 0 : i64`">, OtherName<"append">];
  let description = [{
    The operands have equal sizes in all other dimensions. They are floats, or
    have one integer type.

    Example:

    ```mlir
    %y = mpt.concat %a, %b {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x10xf32>
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_Tensor>,
        "one or more tensors of equal sizes, except along `axis`">:$inputs,
    Arg<I64Attr, "in [0, rank)">:$axis);
  let results = (outs
    Res<MPT_Tensor, "the sizes along `axis` added up">:$y);
  let gradient = [{
    if (failed(requireStaticShapes(*this, getInputs())))
      return failure();
    int64_t position = 0;
    for (auto [i, input] : llvm::enumerate(getInputs())) {
      auto type = getTensor(input);
      SmallVector<int64_t> offsets(type.getRank(), 0), strides(type.getRank(), 1);
      offsets[getAxis()] = position;
      position += type.getDimSize(getAxis());
      if (needed[i])
        operandGrads[i] =
            b.cast(b.make<SliceOp>(dy, offsets, type.getShape(), strides), type);
    }
    return success();
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_PadOp : MPT_InferredOp<"pad", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "padding with one value";
  let otherNames = [
    OtherName<"F.pad", "in the mode `constant`; `low` and `high` begin with the first dimension">,
    OtherName<"nn.ZeroPad2d", "in the layout NHWC">,
    OtherName<"nn.ConstantPad2d", "in the layout NHWC">];
  let description = [{
    Adds elements before, after and between those of x: the transpose of
    `mpt.slice`.

    Example:

    ```mlir
    %y = mpt.pad %x {low = array<i64: 0, 1>, high = array<i64: 0, 1>, value = 0.0 : f64}
        : (tensor<4x8xf32>) -> tensor<4x10xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_Tensor, "any shape">:$x,
    Arg<DenseI64ArrayAttr, "number of elements before each dimension, at least 0">:$low,
    Arg<DenseI64ArrayAttr, "number of elements after each dimension, at least 0">:$high,
    Arg<OptionalAttr<DenseI64ArrayAttr>,
        "number of elements between neighbors; by default 0">:$interior,
    Arg<DefaultValuedAttr<F64Attr, "0.0">, "the value of new elements">:$value);
  let results = (outs
    Res<MPT_Tensor, "low + size + (size - 1) interior + high in each dimension">:$y);
  let gradient = [{
    if (failed(requireStaticShapes(*this, getX())))
      return failure();
    SmallVector<int64_t> strides(getTensor(getX()).getRank(), 1);
    if (getInterior())
      for (auto [stride, gap] : llvm::zip(strides, *getInterior()))
        stride += gap;
  }];
  let gradients = [
    "b.make<SliceOp>(dy, getLow(), getTensor(getX()).getShape(), strides)"];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MPT_GatherOp : MPT_InferredOp<"gather", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "rows of a table (embedding lookup)";
  let otherNames = [
    OtherName<"F.embedding">, OtherName<"nn.Embedding">,
    OtherName<"torch.index_select", "along dimension 0">,
    OtherName<"torch.take", "of a table of rank 1">,
    OtherName<"torch.gather", "for whole rows; there is no op for one index per element">,
    OtherName<"lookup">, OtherName<"embedding_lookup">];
  let description = [{
    y[i.., c..] = table[indices[i..], c..]. An index outside [0, V) is an error
    when the program runs.

    Example:

    ```mlir
    %y = mpt.gather %table, %ids : (tensor<100x8xf32>, tensor<4x16xi32>) -> tensor<4x16x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_Tensor, "[V, C..]">:$table,
    Arg<MPT_IndexTensor, "[I..]">:$indices);
  let results = (outs
    Res<MPT_Tensor, "[I.., C..], the table's element type">:$y);
  let inferTypes = [{
    auto table = getTensor(adaptor.getTable());
    if (table.getRank() < 1)
      return emitOptionalError(location,
                               "expected a table of rank 1 or more, "
                               "found ",
                               table);
    Shape shape(getTensor(adaptor.getIndices()).getShape());
    shape.append(table.getShape().drop_front().begin(), table.getShape().end());
    types.push_back(table.clone(shape));
    return success();
  }];
  let hasVerifier = 1;
  let gradients = ["b.make<ScatterAddOp>(getTable().getType(), getIndices(), dy, Value())"];
}

def MPT_CheckIndicesOp : MPT_InferredOp<"check_indices", "Clear", "Clear", [MPT_InPlace]> {
  let summary = "indices that are known to be in range";
  let description = [{
    Returns its operand. An index that is neither in [0, `size`) nor
    `ignore_index` is an error when the program runs.

    Example:

    ```mlir
    %i = mpt.check_indices %t {size = 10 : i64, ignore_index = -100 : i64}
        : (tensor<4xi32>) -> tensor<4xi32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_IndexTensor, "any shape">:$indices,
    Arg<I64Attr, "number of valid indices">:$size,
    Arg<OptionalAttr<I64Attr>,
        "an index that is valid, too; by default none">:$ignore_index);
  let results = (outs
    Res<MPT_IndexTensor, "the operand's shape">:$checked);
  let hasVerifier = 1;
  let inferTypes = MPT_LikeFirst.body;
}

def MPT_ScatterAddOp : MPT_TensorOp<"scatter_add", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "sum of rows into a table (gradient of `mpt.gather`)";
  let otherNames = [
    OtherName<"torch.index_add", "along dimension 0">,
    OtherName<"torch.scatter_add", "of whole rows">, OtherName<"segment_sum">,
    OtherName<"scatter">];
  let description = [{
    table[indices[i..], c..] += updates[i.., c..] in row-major order of i, beginning
    with `init` or zeros, summed in f32 and rounded once. An index outside [0, V) is an
    error when the program runs.

    Example:

    ```mlir
    %dt = mpt.scatter_add %ids, %dy : (tensor<4x16xi32>, tensor<4x16x8xf32>) -> tensor<100x8xf32>
    // Of a table that is the output head's matrix, too.
    %sum = mpt.scatter_add %ids, %dy, %dhead
        : (tensor<4x16xi32>, tensor<4x16x8xf32>, tensor<100x8xf32>) -> tensor<100x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_IndexTensor, "[I..]">:$indices,
    Arg<MPT_FloatTensor, "[I.., C..]">:$updates,
    Arg<Optional<MPT_FloatTensor>,
        "what rows are added to, of the table's type; by default zeros">:$init);
  let results = (outs
    Res<MPT_FloatTensor, "[V, C..]; the type gives V">:$table);
  let hasVerifier = 1;
  let gradients = ["", "b.make<GatherOp>(dy, getIndices())", "dy"];
}

def MPT_ScatterReduceOp
    : MPT_TensorOp<"scatter_reduce", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "maximum, minimum or product of rows in a table";
  let otherNames = [
    OtherName<"torch.index_reduce", "along dimension 0">,
    OtherName<"torch.scatter_reduce", "of whole rows">,
    OtherName<"segment_max", "with `kind = #mpt.reduce_kind<max>`">,
    OtherName<"segment_min", "with `kind = #mpt.reduce_kind<min>`">,
    OtherName<"segment_prod", "with `kind = #mpt.reduce_kind<prod>`">,
    OtherName<"scatter_max", "with `kind = #mpt.reduce_kind<max>`">];
  let description = [{
    table[indices[i..], c..] = max(table[indices[i..], c..], updates[i.., c..]), or the
    minimum or the product of both, in row-major order of i, beginning with `init`,
    computed in f32 and rounded once. The maximum or minimum with a NaN is NaN. An index
    outside [0, V) is an error when the program runs.

    The gradient of a maximum or minimum goes in equal parts to all that equal it, `init`
    too. That of a product is the product of the other factors.

    Example:

    ```mlir
    // The largest of each node's edges.
    %m = mpt.scatter_reduce %node, %score, %lowest {kind = #mpt.reduce_kind<max>}
        : (tensor<90xi32>, tensor<90x4xf32>, tensor<20x4xf32>) -> tensor<20x4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_IndexTensor, "[I..]">:$indices,
    Arg<MPT_FloatTensor, "[I.., C..]">:$updates,
    Arg<MPT_FloatTensor, "what rows are combined with, of the table's type">:$init,
    Arg<MPT_ReduceKind, "max, min or prod">:$kind);
  let results = (outs
    Res<MPT_FloatTensor, "[V, C..], of the updates' element type">:$table);
  let hasVerifier = 1;
}

} // MPT_ShapeDocs

#endif // MPT_DIALECT_MPT_IR_MPTOPSSHAPE_TD
