//===- MPTOpsCollectives.td - Exchanges between ranks -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The collectives of MPI (MPI Forum, MPI 3.1, chapter 5) and NCCL, on values. MLIR's shard
// dialect has them as well, on a grid whose axes have no names and with no say in the
// order of sums or in what travels.
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTOPSCOLLECTIVES_TD
#define MPT_DIALECT_MPT_IR_MPTOPSCOLLECTIVES_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

def MPT_Communication : Resource<"::mpt::CommunicationResource">;

let opDocGroup = MPT_CollectiveDocs in {

/// Gradients are in CollectiveOps.cpp.
class MPT_CollectiveOp<string mnemonic, string precisionClass = "Deny">
    : MPT_TensorOp<mnemonic, precisionClass, precisionClass, [MPT_Differentiable],
                   [MemoryEffects<[MemRead<MPT_Communication>,
                                   MemWrite<MPT_Communication>]>]> {
  let fixedOperands = !if(!eq(precisionClass, "Clear"), "false", "true");
  let fixedResults = fixedOperands;
  let hasVerifier = 1;
}

def MPT_AllReduceOp : MPT_CollectiveOp<"all_reduce"> {
  let summary = "sum, mean, largest or smallest of all ranks' values, on every rank";
  let otherNames = [
    OtherName<"torch.distributed.all_reduce">, OtherName<"psum">,
    OtherName<"pmean", "with `kind = #mpt.collective_kind<mean>`">,
    OtherName<"allreduce">];
  let description = [{
    Each result has, on every rank along `axis`, the combination of the operand's values on
    all ranks. With x0, x1, .. on ranks 0, 1, .. and `order` `rank`, `sum` is
    ((x0 + x1) + x2) + .. in f32 (f64 if an operand or result is), rounded after each
    addition; `mean` divides that by the number of ranks and rounds once more, as
    `mpt.accumulate` does for micro-batches. The result is rounded to its type at the end.
    `library` leaves the order to the library that exchanges the values (MPI or NCCL); with
    n ranks the result differs from the exact sum by at most (n - 1) units roundoff of f32,
    times the sum of magnitudes. Integers are added modulo 2^width. `max` and `min` are NaN
    if a value is NaN. `any` is for i1: true if it is true on some rank.

    `wire` is the type in which floats travel: each value is rounded to it before it is
    sent, and the combination before it is sent back; in between, it is f32. By default
    values travel in the operand's type and the combination in the result's, so that
    nothing more is rounded.

    Several operands are one exchange, a bucket; they are combined one by one.

    Gradient: of `sum` the sum, of `mean` the mean of the result's gradients on all ranks;
    the others have none.

    Example:

    ```mlir
    module attributes {mpt.mesh = #mpt.mesh<data = 4>} {
      func.func @mean(%a: tensor<8x4xf32>, %b: tensor<4xf16>)
          -> (tensor<8x4xf32>, tensor<4xf32>) {
        %m:2 = mpt.all_reduce %a, %b {axis = "data", kind = #mpt.collective_kind<mean>}
            : (tensor<8x4xf32>, tensor<4xf16>) -> (tensor<8x4xf32>, tensor<4xf32>)
        return %m#0, %m#1 : tensor<8x4xf32>, tensor<4xf32>
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_Tensor>, "one or more tensors of any shape">:$inputs,
    Arg<StrAttr, "an axis of the module's mesh">:$axis,
    Arg<DefaultValuedAttr<MPT_CollectiveKind, "CollectiveKind::Sum">,
        "`mean` for floats, `any` for i1 alone">:$kind,
    Arg<DefaultValuedAttr<MPT_CollectiveOrder, "CollectiveOrder::Rank">,
        "of additions">:$order,
    Arg<OptionalAttr<TypeAttr>,
        "f32, bf16 or f16: the type that travels, of floats">:$wire);
  let results = (outs
    Res<Variadic<MPT_Tensor>, "the operands' shapes; floats of any type">:$outputs);
}

def MPT_ReduceScatterOp : MPT_CollectiveOp<"reduce_scatter"> {
  let summary = "sum or mean of all ranks' values, cut between the ranks";
  let otherNames = [
    OtherName<"torch.distributed.reduce_scatter_tensor">, OtherName<"psum_scatter">];
  let description = [{
    With n ranks along `axis`, dimension 0 of the combination that `mpt.all_reduce` makes is
    cut into n equal parts, and rank r has part r. `kind` is `sum` or `mean`; `order` and
    `wire` are those of `mpt.all_reduce`, but the combination is not sent, and so not
    rounded to `wire`.

    Gradient: the gradients of all parts joined (`mpt.all_gather`), of `mean` divided by n.

    Example:

    ```mlir
    module attributes {mpt.mesh = #mpt.mesh<data = 4>} {
      func.func @part(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
        %y = mpt.reduce_scatter %x {axis = "data"} : (tensor<8x4xf32>) -> tensor<2x4xf32>
        return %y : tensor<2x4xf32>
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_FloatTensor>,
        "one or more of [n R, ..], with n ranks along `axis`">:$inputs,
    Arg<StrAttr, "an axis of the module's mesh">:$axis,
    Arg<DefaultValuedAttr<MPT_CollectiveKind, "CollectiveKind::Sum">,
        "`sum` or `mean`">:$kind,
    Arg<DefaultValuedAttr<MPT_CollectiveOrder, "CollectiveOrder::Rank">,
        "of additions">:$order,
    Arg<OptionalAttr<TypeAttr>, "f32, bf16 or f16: the type that travels">:$wire);
  let results = (outs
    Res<Variadic<MPT_FloatTensor>, "[R, ..] of each; of any float type">:$outputs);
}

def MPT_AllGatherOp : MPT_CollectiveOp<"all_gather", "Clear"> {
  let summary = "all ranks' values joined along dimension 0, on every rank";
  let otherNames = [
    OtherName<"torch.distributed.all_gather_into_tensor">, OtherName<"all_gather">,
    OtherName<"allgather">];
  let description = [{
    Rows r R to (r + 1) R - 1 of a result are the operand's rows on rank r along `axis`.

    Gradient: rank r's part of the sum of the result's gradients on all ranks
    (`mpt.reduce_scatter`).

    Example:

    ```mlir
    module attributes {mpt.mesh = #mpt.mesh<data = 4>} {
      func.func @join(%x: tensor<2x4xf32>, %t: tensor<2xi32>)
          -> (tensor<8x4xf32>, tensor<8xi32>) {
        %y:2 = mpt.all_gather %x, %t {axis = "data"}
            : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<8x4xf32>, tensor<8xi32>)
        return %y#0, %y#1 : tensor<8x4xf32>, tensor<8xi32>
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_Tensor>, "one or more of [R, ..]">:$inputs,
    Arg<StrAttr, "an axis of the module's mesh">:$axis);
  let results = (outs
    Res<Variadic<MPT_Tensor>,
        "[n R, ..] of each, with n ranks along `axis`, the operand's element type">:$outputs);
}

def MPT_AllToAllOp : MPT_CollectiveOp<"all_to_all", "Clear"> {
  let summary = "a part of each rank's values for each rank";
  let otherNames = [
    OtherName<"torch.distributed.all_to_all_single">, OtherName<"all_to_all">,
    OtherName<"alltoall">];
  let description = [{
    With n ranks along `axis`, dimension 0 is cut into n equal parts. Part s of a result on
    rank r is part r of the operand on rank s.

    Gradient: the same of the result's gradient, which brings each part back.

    Example:

    ```mlir
    module attributes {mpt.mesh = #mpt.mesh<data = 4>} {
      func.func @exchange(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
        %y = mpt.all_to_all %x {axis = "data"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
        return %y : tensor<8x4xf32>
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_Tensor>,
        "one or more of [n R, ..], with n ranks along `axis`">:$inputs,
    Arg<StrAttr, "an axis of the module's mesh">:$axis);
  let results = (outs
    Res<Variadic<MPT_Tensor>, "the operands' types">:$outputs);
}

def MPT_BroadcastFromOp : MPT_CollectiveOp<"broadcast_from"> {
  let summary = "one rank's values, on every rank";
  let otherNames = [
    OtherName<"torch.distributed.broadcast">, OtherName<"bcast">];
  let description = [{
    Each result has, on every rank along `axis`, the operand's value on rank `root`.
    (`mpt.broadcast` repeats a value along dimensions.)

    Gradient: on rank `root` the sum of the result's gradients on all ranks, on the others
    zero.

    Example:

    ```mlir
    module attributes {mpt.mesh = #mpt.mesh<data = 4>} {
      func.func @first(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
        %y = mpt.broadcast_from %x {axis = "data", root = 0 : i64}
            : (tensor<2x4xf32>) -> tensor<2x4xf32>
        return %y : tensor<2x4xf32>
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<MPT_Tensor>, "one or more tensors of any shape">:$inputs,
    Arg<StrAttr, "an axis of the module's mesh">:$axis,
    Arg<I64Attr, "in [0, n), with n ranks along `axis`">:$root);
  let results = (outs
    Res<Variadic<MPT_Tensor>, "the operands' types">:$outputs);
}

def MPT_RankOp : MPT_TensorOp<"rank", "Clear", "Clear"> {
  let summary = "the number of this rank along an axis";
  let otherNames = [
    OtherName<"torch.distributed.get_rank">, OtherName<"axis_index">];
  let description = [{
    From 0 to n - 1, with n ranks along `axis`. It is the same in every step.

    Example:

    ```mlir
    module attributes {mpt.mesh = #mpt.mesh<data = 4>} {
      func.func @number() -> tensor<i64> {
        %r = mpt.rank {axis = "data"} : () -> tensor<i64>
        return %r : tensor<i64>
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<StrAttr, "an axis of the module's mesh">:$axis);
  let results = (outs
    Res<0DTensorOf<[I64]>, "scalar">:$number);
  let hasVerifier = 1;
}

} // MPT_CollectiveDocs

#endif // MPT_DIALECT_MPT_IR_MPTOPSCOLLECTIVES_TD
