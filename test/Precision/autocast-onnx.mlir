// ONNX, by a rule table: casts name their type in an attribute.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-validate-precision="type=f16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=f16" | diff %t.once.mlir -

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// CHECK-LABEL: func.func @mlp(
// CHECK: %[[W:.*]] = "onnx.Cast"(%arg1) {mpt.autocast, saturate = 1 : si64, to = f16} : (tensor<4x4xf32>) -> tensor<4x4xf16>
// CHECK: "onnx.Gemm"(%{{.*}}, %[[W]], %{{.*}}) {{.*}} -> tensor<8x4xf16>
// CHECK: %[[SIX:.*]] = "onnx.Constant"() {value = dense<6.000000e+00> : tensor<f16>} : () -> tensor<f16>
// CHECK: "onnx.Clip"(%{{.*}}, %{{.*}}, %[[SIX]]) : (tensor<8x4xf16>, none, tensor<f16>) -> tensor<8x4xf16>
// CHECK: "onnx.Softmax"({{.*}}) {axis = -1 : si64} : (tensor<8x4xf16>) -> tensor<8x4xf16>
// CHECK: %[[D:.*]] = "onnx.MatMul"({{.*}}, %[[W]]) : {{.*}} -> tensor<8x4xf16>
// CHECK: %[[R:.*]] = "onnx.Cast"(%[[D]]) {mpt.autocast, saturate = 1 : si64, to = f32} : (tensor<8x4xf16>) -> tensor<8x4xf32>
// CHECK: return %[[R]]
func.func @mlp(%x: !x, %w: !w, %b: tensor<4xf32>) -> !x {
  %no = "onnx.NoValue"() {value} : () -> none
  %a = "onnx.Gemm"(%x, %w, %b) {alpha = 1.0 : f32, beta = 1.0 : f32} : (!x, !w, tensor<4xf32>) -> !x
  %r = "onnx.Relu"(%a) : (!x) -> !x
  %six = "onnx.Constant"() {value = dense<6.0> : tensor<f32>} : () -> tensor<f32>
  %k = "onnx.Clip"(%r, %no, %six) : (!x, none, tensor<f32>) -> !x
  %c = "onnx.MatMul"(%k, %w) : (!x, !w) -> !x
  %s = "onnx.Softmax"(%c) {axis = -1 : si64} : (!x) -> !x
  %d = "onnx.MatMul"(%s, %w) : (!x, !w) -> !x
  return %d : !x
}

// What onnxconverter-common blocks is f32. A cast from integers keeps the type that
// its attribute names; one to integers reads what is there.
// CHECK-LABEL: func.func @blocked(
// CHECK: "onnx.Max"({{.*}}) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: %[[F:.*]] = "onnx.Cast"(%arg2) {saturate = 1 : si64, to = f32} : (tensor<8x4xi64>) -> tensor<8x4xf32>
// CHECK: %[[L:.*]] = "onnx.Cast"(%[[F]]) {mpt.autocast, saturate = 1 : si64, to = f16}
// CHECK: %[[D:.*]] = "onnx.MatMul"(%[[L]], {{.*}}) : {{.*}} -> tensor<8x4xf16>
// CHECK: "onnx.Cast"(%[[D]]) {saturate = 1 : si64, to = i32} : (tensor<8x4xf16>) -> tensor<8x4xi32>
func.func @blocked(%x: !x, %w: !w, %i: tensor<8x4xi64>) -> (!x, !x, tensor<8x4xi32>) {
  %a = "onnx.MatMul"(%x, %w) : (!x, !w) -> !x
  %m = "onnx.Max"(%a, %x) : (!x, !x) -> !x
  %c = "onnx.MatMul"(%m, %w) : (!x, !w) -> !x
  %f = "onnx.Cast"(%i) {saturate = 1 : si64, to = f32} : (tensor<8x4xi64>) -> !x
  %d = "onnx.MatMul"(%f, %w) : (!x, !w) -> !x
  %j = "onnx.Cast"(%d) {saturate = 1 : si64, to = i32} : (!x) -> tensor<8x4xi32>
  return %c, %d, %j : !x, !x, tensor<8x4xi32>
}

// The ratio of a dropout and the statistics of a norm have types of their own.
// CHECK-LABEL: func.func @own_types(
// CHECK: "onnx.BatchNormalizationInferenceMode"(%{{.*}}, %arg2, %arg2, %arg2, %arg2) : (tensor<1x4x8x8xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf16>
// CHECK: "onnx.Dropout"(%{{.*}}, %arg3, %arg4) : (tensor<1x4x8x8xf16>, tensor<f32>, tensor<i1>) -> (tensor<1x4x8x8xf16>, tensor<1x4x8x8xi1>)
func.func @own_types(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %v: tensor<4xf32>, %ratio: tensor<f32>, %train: tensor<i1>) -> tensor<1x4x8x8xf32> {
  %no = "onnx.NoValue"() {value} : () -> none
  %a = "onnx.Conv"(%x, %w, %no) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %n = "onnx.BatchNormalizationInferenceMode"(%a, %v, %v, %v, %v) : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %d, %mask = "onnx.Dropout"(%n, %ratio, %train) : (tensor<1x4x8x8xf32>, tensor<f32>, tensor<i1>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xi1>)
  %y = "onnx.Conv"(%d, %w, %no) : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  return %y : tensor<1x4x8x8xf32>
}
