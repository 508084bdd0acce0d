// RUN: mpt-opt %s --mpt-decompose | FileCheck %s

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {

// Calls have no reduction of 8-bit floats, nor of f32 to f64.
// CHECK-LABEL: func.func @types
// CHECK-DAG: %[[A:.*]] = mpt.cast %arg0 : (tensor<4xf8E5M2>) -> tensor<4xf32>
// CHECK-DAG: %[[B:.*]] = mpt.cast %arg1 : (tensor<4xf32>) -> tensor<4xf64>
// CHECK: %[[S:.*]]:3 = mpt.all_reduce %[[A]], %[[B]], %arg2 {axis = "data", kind = #mpt.collective_kind<mean>, order = #mpt.collective_order<library>} : (tensor<4xf32>, tensor<4xf64>, tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>)
// CHECK: %[[R:.*]] = mpt.cast %[[S]]#0 : (tensor<4xf32>) -> tensor<4xf8E5M2>
// CHECK: %[[P:.*]] = mpt.reduce_scatter %{{.*}} {axis = "data", wire = f16} : (tensor<4xf32>) -> tensor<2xf32>
// CHECK: mpt.cast %[[P]] : (tensor<2xf32>) -> tensor<2xf8E5M2>
func.func @types(%a: tensor<4xf8E5M2>, %b: tensor<4xf32>, %c: tensor<4xf16>)
    -> (tensor<4xf8E5M2>, tensor<4xf64>, tensor<4xf32>, tensor<2xf8E5M2>) {
  %0:3 = mpt.all_reduce %a, %b, %c {axis = "data", kind = #mpt.collective_kind<mean>, order = #mpt.collective_order<library>}
      : (tensor<4xf8E5M2>, tensor<4xf32>, tensor<4xf16>) -> (tensor<4xf8E5M2>, tensor<4xf64>, tensor<4xf32>)
  %1 = mpt.reduce_scatter %a {axis = "data", wire = f16} : (tensor<4xf8E5M2>) -> tensor<2xf8E5M2>
  return %0#0, %0#1, %0#2, %1 : tensor<4xf8E5M2>, tensor<4xf64>, tensor<4xf32>, tensor<2xf8E5M2>
}

// CHECK-LABEL: func.func @kept
// CHECK-NOT: mpt.cast
// CHECK: mpt.all_reduce %arg0, %arg1, %arg2 {axis = "data"} :
// CHECK: mpt.all_reduce %arg0 {axis = "data", wire = bf16} :
// CHECK-NOT: mpt.cast
// CHECK: return
func.func @kept(%a: tensor<4xf16>, %b: tensor<4xi32>, %c: tensor<f64>)
    -> (tensor<4xf32>, tensor<4xi32>, tensor<f64>, tensor<4xf16>) {
  %0:3 = mpt.all_reduce %a, %b, %c {axis = "data"} : (tensor<4xf16>, tensor<4xi32>, tensor<f64>) -> (tensor<4xf32>, tensor<4xi32>, tensor<f64>)
  %1 = mpt.all_reduce %a {axis = "data", wire = bf16} : (tensor<4xf16>) -> tensor<4xf16>
  return %0#0, %0#1, %0#2, %1 : tensor<4xf32>, tensor<4xi32>, tensor<f64>, tensor<4xf16>
}

}
