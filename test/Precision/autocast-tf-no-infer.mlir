// TensorFlow's own suite for its automatic mixed precision
// (tensorflow/core/grappler/optimizers/auto_mixed_precision_test.cc):
// the case that runs with TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_LEVEL=
// TREAT_INFER_AS_DENY, which denies what the graph has of the infer list.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16 deny=tf.Sqrt,tf.Log" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16 deny=tf.Sqrt,tf.Log" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16 deny=tf.Sqrt,tf.Log" | diff %t.once.mlir -

// NoInferOp: TREAT_INFER_AS_DENY.
// CHECK-LABEL: func.func @no_infer_op(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Sqrt"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c3"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Log"{{.*}}node = "i2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c4"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Log"{{.*}}node = "i3"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @no_infer_op() -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %d1 = "tf.Exp"(%in) {node = "d1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c1 = "tf.Relu"(%d1) {node = "c1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %i1 = "tf.Sqrt"(%c1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c2 = "tf.Relu"(%i1) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%c2, %c2) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c3 = "tf.Relu"(%a1) {node = "c3"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %i2 = "tf.Log"(%c3) {node = "i2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c4 = "tf.Relu"(%i2) {node = "c4"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%c4, %c4) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %i3 = "tf.Log"(%a2) {node = "i3"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%i3) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}
