// TensorFlow's own suite for its automatic mixed precision
// (tensorflow/core/grappler/optimizers/auto_mixed_precision_test.cc):
// its cases for auto_mixed_precision_cpu, where ops in low precision compute in
// float, each operand a cast up of its own and the result cast down.
// Each op has its node's name; operands and results have the type that the suite
// expects, and each line is checked, so that the number of casts is, too. Running
// the pass again changes nothing.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16 emulate=true" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16 emulate=true" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16 emulate=true" | diff %t.once.mlir -

// Simple: 9 casts.
// CHECK-LABEL: func.func @simple(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Sqrt"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c3"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Log"{{.*}}node = "i2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c4"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.SparseMatMul"{{.*}}node = "d2"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c5"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @simple() -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %d1 = "tf.Exp"(%in) {node = "d1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c1 = "tf.Relu"(%d1) {node = "c1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %i1 = "tf.Sqrt"(%c1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c2 = "tf.Relu"(%i1) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%c2, %c2) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c3 = "tf.Relu"(%a1) {node = "c3"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %i2 = "tf.Log"(%c3) {node = "i2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c4 = "tf.Relu"(%i2) {node = "c4"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %d2 = "tf.SparseMatMul"(%c4, %c4) {node = "d2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c5 = "tf.Relu"(%d2) {node = "c5"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%c5) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// MixedFanout: 10 casts.
// CHECK-LABEL: func.func @mixed_fanout(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Add"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @mixed_fanout() -> tensor<32x32xf32> {
  %in1 = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %in2 = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%in1, %in2) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%a1, %in2) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %d1 = "tf.Exp"(%a1) {node = "d1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %i1 = "tf.Add"(%d1, %a2) {node = "i1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%i1) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// What a list holds stays in float; the values are rounded on the way in and out.
// CHECK-LABEL: func.func @list(
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "w"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "r"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"(%{{[0-9a-z#]+}}) {Truncate = false} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @list(%shape: tensor<2xi32>, %n: tensor<i32>, %x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %a = "tf.MatMul"(%x, %x) {node = "a"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %tl = "tf.EmptyTensorList"(%shape, %n) {node = "tl"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %w = "tf.TensorListPushBack"(%tl, %a) {node = "w"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h, %r = "tf.TensorListPopBack"(%w, %shape) {node = "r"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %fetch = "tf.Identity"(%r) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}
