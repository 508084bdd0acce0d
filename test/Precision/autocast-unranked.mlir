// A cast of arith wants a tensor of MLIR's, of known rank. Another value is cast as another
// dialect of the module casts, and refused where there is none.

// RUN: split-file %s %t
// RUN: mpt-opt %t/other.mlir --allow-unregistered-dialect --mpt-autocast | FileCheck %s
// RUN: mpt-opt %t/foreign.mlir --allow-unregistered-dialect --mpt-autocast | FileCheck %s --check-prefix=FOREIGN
// RUN: not mpt-opt %t/none.mlir --mpt-autocast 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: mpt-opt %t/ranked.mlir --mpt-autocast | FileCheck %s --check-prefix=RANKED

//--- other.mlir
// CHECK-LABEL: func @f
// CHECK-LABEL: func @g
// CHECK-NOT: arith.truncf
// CHECK: "stablehlo.convert"({{.*}}) {mpt.autocast} : (tensor<*xf32>) -> tensor<*xbf16>
// CHECK: scf.for
func.func @f(%x: tensor<*xf32>, %w: tensor<4x4xf32>) -> tensor<*xf32> {
  %a = "stablehlo.dot"(%x, %w) : (tensor<*xf32>, tensor<4x4xf32>) -> tensor<*xf32>
  %t = "stablehlo.tanh"(%a) : (tensor<*xf32>) -> tensor<*xf32>
  %b = "stablehlo.dot"(%t, %w) : (tensor<*xf32>, tensor<4x4xf32>) -> tensor<*xf32>
  return %b : tensor<*xf32>
}
func.func @g(%x: tensor<*xf32>, %w: tensor<4x4xf32>, %n: index) -> tensor<*xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> tensor<*xf32> {
    %a = "stablehlo.dot"(%h, %w) : (tensor<*xf32>, tensor<4x4xf32>) -> tensor<*xf32>
    scf.yield %a : tensor<*xf32>
  }
  return %y : tensor<*xf32>
}

//--- foreign.mlir
// The same for the type of a dialect that MLIR does not know.
// FOREIGN-LABEL: func @g
// FOREIGN-NOT: arith.truncf
// FOREIGN: "stablehlo.convert"({{.*}}) {mpt.autocast} : (!torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],bf16>
// FOREIGN: scf.for
func.func @f(%x: !torch.vtensor<[4,4],f32>, %w: tensor<4x4xf32>) -> !torch.vtensor<[4,4],f32> {
  %a = "stablehlo.dot"(%x, %w) : (!torch.vtensor<[4,4],f32>, tensor<4x4xf32>) -> !torch.vtensor<[4,4],f32>
  %t = "stablehlo.tanh"(%a) : (!torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  %b = "stablehlo.dot"(%t, %w) : (!torch.vtensor<[4,4],f32>, tensor<4x4xf32>) -> !torch.vtensor<[4,4],f32>
  return %b : !torch.vtensor<[4,4],f32>
}
func.func @g(%x: !torch.vtensor<[4,4],f32>, %w: tensor<4x4xf32>, %n: index) -> !torch.vtensor<[4,4],f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> !torch.vtensor<[4,4],f32> {
    %a = "stablehlo.dot"(%h, %w) : (!torch.vtensor<[4,4],f32>, tensor<4x4xf32>) -> !torch.vtensor<[4,4],f32>
    scf.yield %a : !torch.vtensor<[4,4],f32>
  }
  return %y : !torch.vtensor<[4,4],f32>
}

//--- none.mlir
// ERROR: none.mlir:3:8: error: expected a ranked tensor where 'arith.mulf' needs a cast, found 'tensor<*xf32>'; infer shapes before autocast, or keep the ops around it in f32 by 'mpt.precision'
func.func @f(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = arith.mulf %x, %x {mpt.precision = "low"} : tensor<*xf32>
  return %0 : tensor<*xf32>
}

//--- ranked.mlir
// RANKED: arith.truncf {{.*}} : tensor<?xf32> to tensor<?xbf16>
// RANKED: arith.mulf {{.*}} : tensor<?xbf16>
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.mulf %x, %x {mpt.precision = "low"} : tensor<?xf32>
  return %0 : tensor<?xf32>
}
