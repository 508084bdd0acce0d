// Weights in resources are converted when the pass runs, as dense ones are.
//
// DEFINE: %{autocast} = mpt-opt --allow-unregistered-dialect --mpt-autocast
// RUN: rm -rf %t && split-file %s %t
// RUN: %{autocast}="type=bf16" %t/weights.mlir -o %t/once.mlir
// RUN: FileCheck %s < %t/once.mlir
// RUN: %{autocast}="type=bf16" %t/once.mlir | diff %t/once.mlir -
// RUN: %{autocast}="type=f16" %t/weights.mlir | FileCheck %s --check-prefix=HALF
// RUN: %{autocast}="type=bf16" --emit-bytecode %t/weights.mlir | mpt-opt --allow-unregistered-dialect | FileCheck %s
// RUN: %{autocast}="type=bf16 fold-constants=false" %t/weights.mlir | FileCheck %s --check-prefix=CAST
//
// 1, 2, 3 and 1.00390625, which rounds to 1. Another reader
// keeps the weights in f32.
// CHECK-LABEL: func.func @torch
// CHECK: "torch.vtensor.literal"() {{.*}}dense<{{[[][[]}}1.000000e+00, 2.000000e+00], [3.000000e+00, 1.000000e+00]]> : tensor<2x2xbf16>
// CHECK-NEXT: "torch.aten.mm"
// CHECK-LABEL: func.func @stablehlo
// CHECK: stablehlo.constant{{.*}}dense_resource<w> : tensor<2x2xf32>
// CHECK: stablehlo.constant{{.*}}dense<{{[[][[]}}1.000000e+00, 2.000000e+00], [3.000000e+00, 1.000000e+00]]> : tensor<2x2xbf16>
// CHECK-LABEL: func.func @linalg
// CHECK: arith.constant dense<{{[[][[]}}1.000000e+00, 2.000000e+00], [3.000000e+00, 1.000000e+00]]> : tensor<2x2xbf16>
// CHECK: dialect_resources
// CHECK: w: "0x040000000000803F00000040000040400080803F"
//
// f16 holds all four.
// HALF: dense<{{[[][[]}}1.000000e+00, 2.000000e+00], [3.000000e+00, 1.003910e+00]]> : tensor<2x2xf16>
//
// CAST: arith.truncf
// CAST-NOT: dense<
//
// A number that the low type cannot hold keeps its reader in f32.
// RUN: %{autocast}="type=f16" %t/large.mlir | FileCheck %s --check-prefix=LARGE
// LARGE: "stablehlo.add"({{.*}}) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
//
// 1e-9, which is zero in f16, is less than what rounding takes from 3: a matmul may read the
// weights, an addition may not, nor a matmul weights of which the largest is 2^-14 or that are
// all 1e-9.
// RUN: %{autocast}="type=f16" %t/small.mlir 2>&1 | FileCheck %s --check-prefix=SMALL --implicit-check-not=warning
// RUN: %{autocast}="type=f16 check-constants=false" %t/small.mlir 2>&1 | FileCheck %s --check-prefix=SMALL-WARN
// SMALL-LABEL: func.func @weights
// SMALL: dense<{{[[][[]}}0.000000e+00, 5.000000e-01], [2.000000e+00, 3.000000e+00]]> : tensor<2x2xf16>
// SMALL: "stablehlo.dot"({{.*}}) : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf32>
// SMALL-LABEL: func.func @transposed
// SMALL: "stablehlo.dot"({{.*}}) : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf32>
// SMALL-LABEL: func.func @added
// SMALL: "stablehlo.add"({{.*}}) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// SMALL-LABEL: func.func @tiny
// SMALL: "stablehlo.dot"({{.*}}) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// SMALL: "stablehlo.dot"({{.*}}) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// SMALL-WARN-COUNT-2: warning: a number of this constant becomes zero in 'f16'
//
// A resource of one number is that number: 0.999 is 1 in bf16, so what reads it stays f32.
// RUN: %{autocast}="type=bf16" %t/decay.mlir | FileCheck %s --check-prefix=DECAY
// DECAY: "stablehlo.multiply"({{.*}}) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
//
// Without data, or with data of another size, it is cast when it runs, and a remark says so.
// RUN: %{autocast}="type=bf16" --remarks-filter="mpt[.]autocast" %t/elided.mlir -o %t/elided-low.mlir 2>&1 | FileCheck %s --check-prefix=ELIDED
// RUN: FileCheck %s --check-prefix=ELIDED-CAST < %t/elided-low.mlir
// ELIDED: mpt.autocast.constant-cast{{.*}}Reason="the module does not hold the data of its resource"
// ELIDED-CAST: arith.truncf
// RUN: %{autocast}="type=bf16" --remarks-filter="mpt[.]autocast" %t/short.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: mpt.autocast.constant-cast{{.*}}Reason="the data of its resource has not the size or alignment of its type"
// RUN: %{autocast}="type=bf16 fold-constants=false" --remarks-filter="mpt[.]autocast" %t/weights.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE --allow-empty
// NONE-NOT: constant-cast

//--- weights.mlir
func.func @torch(%x: !torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32> {
  %w = "torch.vtensor.literal"() <{value = dense_resource<w> : tensor<2x2xf32>}> : () -> !torch.vtensor<[2,2],f32>
  %y = "torch.aten.mm"(%x, %w) : (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32>
  return %y : !torch.vtensor<[2,2],f32>
}
func.func @stablehlo(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = "stablehlo.constant"() <{value = dense_resource<w> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %y = "stablehlo.dot"(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = "stablehlo.exponential"(%w) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %a = "stablehlo.power"(%y, %z) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %a : tensor<2x2xf32>
}
func.func @linalg(%x: tensor<2x2xf32>, %o: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = arith.constant dense_resource<w> : tensor<2x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%o : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F00000040000040400080803F" } } #-}
//--- large.mlir
func.func @f(%x: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = "stablehlo.constant"() <{value = dense_resource<w> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %y = "stablehlo.dot"(%x, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = "stablehlo.add"(%y, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %a = "stablehlo.dot"(%z, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %a : tensor<2x2xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F000080470000807F0000803F" } } #-}
//--- small.mlir
func.func @weights(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = "stablehlo.constant"() <{value = dense_resource<w> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %y = "stablehlo.dot"(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
func.func @transposed(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = "stablehlo.constant"() <{value = dense<[[1.0e-9, 0.5], [2.0, 3.0]]> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %t = "stablehlo.transpose"(%w) <{permutation = array<i64: 1, 0>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = "stablehlo.dot"(%x, %t) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
func.func @added(%x: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = "stablehlo.constant"() <{value = dense_resource<w> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %y = "stablehlo.dot"(%x, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = "stablehlo.add"(%y, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %a = "stablehlo.dot"(%z, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %a : tensor<2x2xf32>
}
func.func @tiny(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = "stablehlo.constant"() <{value = dense_resource<tiny> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %y = "stablehlo.dot"(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %v = "stablehlo.constant"() <{value = dense<1.0e-9> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %z = "stablehlo.dot"(%y, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000005F7089300000003F0000004000004040", tiny: "0x040000005F708930000080380000003800008037" } } #-}
//--- decay.mlir
func.func @f(%x: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = "stablehlo.constant"() <{value = dense_resource<w> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %y = "stablehlo.dot"(%x, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = "stablehlo.multiply"(%y, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %a = "stablehlo.dot"(%z, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %a : tensor<2x2xf32>
}
{-# dialect_resources: { builtin: { w: "0x0400000077BE7F3F77BE7F3F77BE7F3F77BE7F3F" } } #-}
//--- elided.mlir
func.func @f(%x: tensor<2x2xf32>, %o: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = arith.constant dense_resource<__elided__> : tensor<2x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%o : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
//--- short.mlir
func.func @f(%x: tensor<2x2xf32>, %o: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = arith.constant dense_resource<w> : tensor<2x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%o : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F00000040" } } #-}
