// What each compiler that reads the result gets.
//
// DEFINE: %{autocast} = mpt-opt --allow-unregistered-dialect --mpt-autocast
// RUN: rm -rf %t && split-file %s %t
// RUN: %{autocast}="type=bf16" %t/stablehlo.mlir -o %t/all.mlir
// RUN: FileCheck %s --check-prefix=ALL < %t/all.mlir
// RUN: %{autocast}="type=bf16 mixed-results=all" %t/stablehlo.mlir | diff %t/all.mlir -
// RUN: %{autocast}="type=bf16 mixed-results=true" %t/stablehlo.mlir | diff %t/all.mlir -
// RUN: %{autocast}="type=bf16 client=generic" %t/stablehlo.mlir | diff %t/all.mlir -
// RUN: %{autocast}="type=bf16 client=xla-gpu" %t/stablehlo.mlir | diff %t/all.mlir -
// RUN: %{autocast}="type=bf16 client=iree" %t/stablehlo.mlir -o %t/matmuls.mlir
// RUN: FileCheck %s --check-prefix=MATMULS < %t/matmuls.mlir
// RUN: %{autocast}="type=bf16 client=iree" %t/matmuls.mlir | diff %t/matmuls.mlir -
// RUN: %{autocast}="type=bf16 mixed-results=matmuls" %t/stablehlo.mlir | diff %t/matmuls.mlir -
// RUN: %{autocast}="type=bf16 client=torch-mlir" %t/stablehlo.mlir | diff %t/matmuls.mlir -
// RUN: %{autocast}="type=bf16 mixed-results=none" %t/stablehlo.mlir -o %t/none.mlir
// RUN: FileCheck %s --check-prefix=NONE < %t/none.mlir
// RUN: %{autocast}="type=bf16 mixed-results=false" %t/stablehlo.mlir | diff %t/none.mlir -
// RUN: %{autocast}="type=bf16 client=xla-cpu" %t/stablehlo.mlir | diff %t/none.mlir -
//
// The option goes before the client's profile, and the policy may permit less.
// RUN: %{autocast}="type=bf16 client=xla-cpu mixed-results=all" %t/stablehlo.mlir | diff %t/all.mlir -
// RUN: %{autocast}="type=bf16 policy=%t/policy.yaml" %t/stablehlo.mlir | diff %t/matmuls.mlir -
// RUN: %{autocast}="type=bf16 policy=%t/policy.yaml client=xla-cpu" %t/stablehlo.mlir | diff %t/none.mlir -
// RUN: mpt-opt %t/mpt.mlir --mpt-dump-policy="policy=%t/policy.yaml" -o /dev/null 2>&1 | FileCheck %s --check-prefix=DUMP
// DUMP: mixed-results: matmuls
//
// ALL: %[[A:.*]] = "stablehlo.dot"({{.*}} -> tensor<8x4xbf16>
// ALL: "stablehlo.reduce"(%[[A]], {{.*}}) <
// ALL: }) : (tensor<8x4xbf16>, tensor<f32>) -> tensor<8xf32>
// ALL: "stablehlo.dot"(%[[A]], {{.*}} -> tensor<8x4xf32>
//
// MATMULS: %[[A:.*]] = "stablehlo.dot"({{.*}} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xf32>
// MATMULS: "stablehlo.convert"(%[[A]]) {mpt.autocast} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// MATMULS: "stablehlo.reduce"(%[[A]], {{.*}}) <
// MATMULS: }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
// MATMULS: "stablehlo.dot"({{.*}} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xf32>
//
// NONE: %[[A:.*]] = "stablehlo.dot"({{.*}} -> tensor<8x4xbf16>
// NONE: %[[U:.*]] = "stablehlo.convert"(%[[A]]) {mpt.autocast} : (tensor<8x4xbf16>) -> tensor<8x4xf32>
// NONE: "stablehlo.reduce"(%[[U]], {{.*}}) <
// NONE: "stablehlo.dot"(%[[A]], {{.*}} -> tensor<8x4xbf16>
//
// torch-mlir's lowering sums in the type that it reads; PyTorch's kernels, and softmax
// in torch-mlir, do not.
// RUN: %{autocast}="type=bf16" %t/torch.mlir | FileCheck %s --check-prefix=TORCH
// RUN: %{autocast}="type=bf16 client=torch-mlir" %t/torch.mlir | FileCheck %s --check-prefix=TORCH-MLIR
// RUN: %{autocast}="type=bf16 client=torch-mlir infer=torch.aten.sum.dim_IntList" %t/torch.mlir | FileCheck %s --check-prefix=TORCH
// RUN: %{autocast}="type=bf16 client=torch-mlir explain=sum summary=%t/summary" %t/torch.mlir 2>&1 | FileCheck %s --check-prefix=WHY
// TORCH: "torch.aten.sum.dim_IntList"({{.*}}bf16>
// TORCH-MLIR: "torch.aten._softmax"({{.*}}bf16>
// TORCH-MLIR: "torch.aten.sum.dim_IntList"({{.*}}-> !torch.vtensor<[8,1],f32>
// WHY: aten.sum.dim_IntList
//
// MPT's own ops, and ops that say in a region how they sum.
// RUN: mpt-opt --mpt-autocast="type=bf16 client=iree" %t/mpt.mlir | FileCheck %s --check-prefix=MPT
// MPT: mpt.matmul {{.*}} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
// MPT-NEXT: mpt.cast {{.*}} -> tensor<4x4xbf16>
// MPT-NEXT: mpt.matmul {{.*}} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
// RUN: mpt-opt --mpt-autocast="type=bf16" %t/linalg.mlir -o %t/linalg-all.mlir
// RUN: FileCheck %s --check-prefix=LINALG < %t/linalg-all.mlir
// RUN: mpt-opt --mpt-autocast="type=bf16 client=torch-mlir" %t/linalg.mlir | diff %t/linalg-all.mlir -
// LINALG: linalg.matmul ins({{.*}}bf16>) outs({{.*}}f32>)
//
// RUN: not %{autocast}="client=tensorrt" %t/mpt.mlir 2>&1 | FileCheck %s --check-prefix=CLIENT
// RUN: not %{autocast}="mixed-results=products" %t/mpt.mlir 2>&1 | FileCheck %s --check-prefix=MIXED
// CLIENT: error: mpt-autocast: unknown client 'tensorrt'; expected one of generic, iree, torch-mlir, xla-cpu, xla-gpu
// MIXED: error: mpt-autocast: unknown mixed-results 'products'; expected all, matmuls or none

//--- policy.yaml
policy: mine
mixed-results: matmuls
//--- stablehlo.mlir
func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> (tensor<8xf32>, tensor<8x4xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %a = "stablehlo.dot"(%x, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %s = "stablehlo.reduce"(%a, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%r) : (tensor<f32>) -> ()
  }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %b = "stablehlo.dot"(%a, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c = "stablehlo.exponential"(%b) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %s, %c : tensor<8xf32>, tensor<8x4xf32>
}
//--- torch.mlir
func.func @f(%x: !torch.vtensor<[8,4],f32>, %w: !torch.vtensor<[4,4],f32>) -> (!torch.vtensor<[8,4],f32>, !torch.vtensor<[8,1],f32>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %false = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %dims = "torch.prim.ListConstruct"(%one) : (!torch.int) -> !torch.list<int>
  %a = "torch.aten.mm"(%x, %w) : (!torch.vtensor<[8,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[8,4],f32>
  %p = "torch.aten._softmax"(%a, %one, %false) : (!torch.vtensor<[8,4],f32>, !torch.int, !torch.bool) -> !torch.vtensor<[8,4],f32>
  %b = "torch.aten.mm"(%p, %w) : (!torch.vtensor<[8,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[8,4],f32>
  %s = "torch.aten.sum.dim_IntList"(%b, %dims, %true, %none) : (!torch.vtensor<[8,4],f32>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[8,1],f32>
  %d = "torch.aten.mul.Tensor"(%b, %s) : (!torch.vtensor<[8,4],f32>, !torch.vtensor<[8,1],f32>) -> !torch.vtensor<[8,4],f32>
  %e = "torch.aten.mm"(%d, %w) : (!torch.vtensor<[8,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[8,4],f32>
  return %e, %s : !torch.vtensor<[8,4],f32>, !torch.vtensor<[8,1],f32>
}
//--- mpt.mlir
func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = mpt.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = mpt.matmul %a, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = mpt.exp %b : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}
//--- linalg.mlir
func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %o: tensor<4x4xf32>, %v: tensor<4xf32>) -> tensor<4xf32> {
  %a = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = linalg.reduce ins(%a : tensor<4x4xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
    (%p: f32, %q: f32) {
      %r = arith.addf %p, %q : f32
      linalg.yield %r : f32
    }
  return %s : tensor<4xf32>
}
