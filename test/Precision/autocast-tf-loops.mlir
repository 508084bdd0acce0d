// TensorFlow's own suite for its automatic mixed precision
// (tensorflow/core/grappler/optimizers/auto_mixed_precision_test.cc):
// loops made of single ops, with an edge back that no cast may stand on.
// Each op has its node's name; operands and results have the type that the suite
// expects, and each line is checked, so that the number of casts is, too. Running
// the pass again changes nothing.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" | diff %t.once.mlir -

// RecurrentEdgeColorMismatch: mrg1 is denied, between d1 and i1. That forces nxt1
// and mrg2, though they are next to a1.
// CHECK-LABEL: func.func @recurrent_edge_color_mismatch(
// CHECK-NEXT: "tf_executor.graph"() ({
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Enter"{{.*}}node = "ent1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Merge"{{.*}}node = "mrg1"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<i32>)
// CHECK-NEXT: "tf.Const"{{.*}}node = "con1"{{.*}} : () -> tensor<i1>
// CHECK-NEXT: "tf.Switch"{{.*}}node = "swt1"{{.*}} : (tensor<32x32xf32>, tensor<i1>) -> (tensor<32x32xf32>, tensor<32x32xf32>)
// CHECK-NEXT: "tf.Sqrt"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.NextIteration"{{.*}}node = "nxt1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Exit"{{.*}}node = "ext1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Merge"{{.*}}node = "mrg2"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<i32>)
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf_executor.fetch"(%{{.*}}) : (tensor<32x32xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @recurrent_edge_color_mismatch(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %r = "tf_executor.graph"() ({
    %d1 = "tf.Exp"(%x) {node = "d1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %ent1 = "tf.Enter"(%d1) {node = "ent1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %mrg1, %idx1 = "tf.Merge"(%ent1, %nxt1) {node = "mrg1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<i32>)
    %con1 = "tf.Const"() {node = "con1", value = dense<false> : tensor<i1>} : () -> tensor<i1>
    %swt1, %swt1t = "tf.Switch"(%mrg1, %con1) {node = "swt1"} : (tensor<32x32xf32>, tensor<i1>) -> (tensor<32x32xf32>, tensor<32x32xf32>)
    %i1 = "tf.Sqrt"(%swt1t) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %a1 = "tf.MatMul"(%i1, %i1) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %nxt1 = "tf.NextIteration"(%a1) {node = "nxt1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %ext1 = "tf.Exit"(%swt1) {node = "ext1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %mrg2, %idx2 = "tf.Merge"(%ent1, %nxt1) {node = "mrg2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<i32>)
    %fetch = "tf.Identity"(%ext1) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "tf_executor.fetch"(%fetch) : (tensor<32x32xf32>) -> ()
  }) : () -> tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}

// Without the denied op all of the loop is low.
// CHECK-LABEL: func.func @recurrent_edge(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf_executor.graph"() ({
// CHECK-NEXT: "tf.Enter"{{.*}}node = "ent1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Merge"{{.*}}node = "mrg1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> (tensor<32x32xf16>, tensor<i32>)
// CHECK-NEXT: "tf.Const"{{.*}}node = "con1"{{.*}} : () -> tensor<i1>
// CHECK-NEXT: "tf.Switch"{{.*}}node = "swt1"{{.*}} : (tensor<32x32xf16>, tensor<i1>) -> (tensor<32x32xf16>, tensor<32x32xf16>)
// CHECK-NEXT: "tf.Tanh"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.NextIteration"{{.*}}node = "nxt1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Exit"{{.*}}node = "ext1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Merge"{{.*}}node = "mrg2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> (tensor<32x32xf16>, tensor<i32>)
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf_executor.fetch"(%{{.*}}) : (tensor<32x32xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @recurrent_edge(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %r = "tf_executor.graph"() ({
    %ent1 = "tf.Enter"(%x) {node = "ent1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %mrg1, %idx1 = "tf.Merge"(%ent1, %nxt1) {node = "mrg1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<i32>)
    %con1 = "tf.Const"() {node = "con1", value = dense<false> : tensor<i1>} : () -> tensor<i1>
    %swt1, %swt1t = "tf.Switch"(%mrg1, %con1) {node = "swt1"} : (tensor<32x32xf32>, tensor<i1>) -> (tensor<32x32xf32>, tensor<32x32xf32>)
    %i1 = "tf.Tanh"(%swt1t) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %a1 = "tf.MatMul"(%i1, %i1) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %nxt1 = "tf.NextIteration"(%a1) {node = "nxt1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %ext1 = "tf.Exit"(%swt1) {node = "ext1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %mrg2, %idx2 = "tf.Merge"(%ent1, %nxt1) {node = "mrg2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<i32>)
    %fetch = "tf.Identity"(%ext1) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
    "tf_executor.fetch"(%fetch) : (tensor<32x32xf32>) -> ()
  }) : () -> tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}
