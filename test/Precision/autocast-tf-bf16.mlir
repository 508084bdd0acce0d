// TensorFlow's own suite for its automatic mixed precision
// (tensorflow/core/grappler/optimizers/auto_mixed_precision_test.cc): its bfloat16 cases.
// Each op has its node's name; operands and results have the type that the suite
// expects, and each line is checked, so that the number of casts is, too. Running
// the pass again changes nothing.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-bf16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-bf16" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="policy=tf-bf16" | diff %t.once.mlir -

// AlreadyBf16: what is low stays as it is.
// CHECK-LABEL: func.func @already_bf16(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}node = "cst1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.Cast"{{.*}}node = "cst2"{{.*}} : (tensor<32x32xbf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @already_bf16() -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<1.000000e+00> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %cst1 = "tf.Cast"(%in) {node = "cst1"} : (tensor<32x32xf32>) -> tensor<32x32xbf16>
  %a1 = "tf.MatMul"(%cst1, %cst1) {node = "a1"} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
  %c1 = "tf.Relu"(%a1) {node = "c1"} : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
  %cst2 = "tf.Cast"(%c1) {node = "cst2"} : (tensor<32x32xbf16>) -> tensor<32x32xf32>
  %c2 = "tf.Relu"(%cst2) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%c2) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// Simple: Log has c3 in front of it, which is painted only after pass 4.
// CHECK-LABEL: func.func @simple(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Sqrt"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c2"{{.*}} : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c3"{{.*}} : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xbf16>) -> tensor<32x32xf32>
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

// TensorListSetGet: the list that a contraction writes to is low, with all that was
// written; the other one is not. TensorListResize passes the list on.
// CHECK-LABEL: func.func @tensor_list_set_get(
// CHECK-NEXT: "tf.TensorListReserve"{{.*}}node = "tl1"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xbf16>>>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.TensorListSetItem"{{.*}}node = "tl1w1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xbf16>>>, tensor<i32>, tensor<32x32xbf16>) -> tensor<!tf_type.variant<tensor<32x32xbf16>>>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.TensorListSetItem"{{.*}}node = "tl1w2"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xbf16>>>, tensor<i32>, tensor<32x32xbf16>) -> tensor<!tf_type.variant<tensor<32x32xbf16>>>
// CHECK-NEXT: "tf.TensorListResize"{{.*}}node = "tl1rs"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xbf16>>>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xbf16>>>
// CHECK-NEXT: "tf.TensorListGetItem"{{.*}}node = "tl1r1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xbf16>>>, tensor<i32>, tensor<2xi32>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.Mul"{{.*}}node = "i1"{{.*}} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.TensorListSetItem"{{.*}}node = "tl1w3"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xbf16>>>, tensor<i32>, tensor<32x32xbf16>) -> tensor<!tf_type.variant<tensor<32x32xbf16>>>
// CHECK-NEXT: "tf.TensorListGetItem"{{.*}}node = "tl1r2"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xbf16>>>, tensor<i32>, tensor<2xi32>) -> tensor<32x32xbf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xbf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.TensorListReserve"{{.*}}node = "tl2"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.TensorListSetItem"{{.*}}node = "tl2w1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.TensorListGetItem"{{.*}}node = "tl2r1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>, tensor<2xi32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @tensor_list_set_get(%shape: tensor<2xi32>, %n: tensor<i32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %tl1 = "tf.TensorListReserve"(%shape, %n) {node = "tl1"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %tl1w1 = "tf.TensorListSetItem"(%tl1, %n, %in) {node = "tl1w1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %a1 = "tf.MatMul"(%in, %in) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %tl1w2 = "tf.TensorListSetItem"(%tl1, %n, %a1) {node = "tl1w2"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl1rs = "tf.TensorListResize"(%tl1w2, %n) {node = "tl1rs"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl1r1 = "tf.TensorListGetItem"(%tl1rs, %n, %shape) {node = "tl1r1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>, tensor<2xi32>) -> tensor<32x32xf32>
  %i1 = "tf.Mul"(%tl1r1, %tl1r1) {node = "i1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%i1, %i1) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %tl1w3 = "tf.TensorListSetItem"(%tl1, %n, %a2) {node = "tl1w3"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl1r2 = "tf.TensorListGetItem"(%tl1w3, %n, %shape) {node = "tl1r2"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>, tensor<2xi32>) -> tensor<32x32xf32>
  %tl2 = "tf.TensorListReserve"(%shape, %n) {node = "tl2"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl2w1 = "tf.TensorListSetItem"(%tl2, %n, %in) {node = "tl2w1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl2r1 = "tf.TensorListGetItem"(%tl2w1, %n, %shape) {node = "tl2r1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<i32>, tensor<2xi32>) -> tensor<32x32xf32>
  %fetch1 = "tf.Identity"(%tl1r2) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch2 = "tf.Identity"(%tl2r1) {node = "fetch2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch1, %fetch2 : tensor<32x32xf32>, tensor<32x32xf32>
}

// InferFollowUpStreamAllow: BiasAdd follows a low op, without a low one behind it.
// CHECK-LABEL: func.func @infer_follow_upstream_allow(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xbf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<3x3x16x16xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<3x3x16x16xf32>) -> tensor<3x3x16x16xbf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<16xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<16xf32>) -> tensor<16xbf16>
// CHECK-NEXT: "tf.Conv2D"{{.*}}node = "a1"{{.*}} : (tensor<8x56x56x16xbf16>, tensor<3x3x16x16xbf16>) -> tensor<8x56x56x16xbf16>
// CHECK-NEXT: "tf.BiasAdd"{{.*}}node = "i1"{{.*}} : (tensor<8x56x56x16xbf16>, tensor<16xbf16>) -> tensor<8x56x56x16xbf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<8x56x56x16xbf16>) -> tensor<8x56x56x16xbf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<8x56x56x16xbf16>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: return
func.func @infer_follow_upstream_allow() -> tensor<8x56x56x16xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<8x56x56x16xf32>} : () -> tensor<8x56x56x16xf32>
  %w = "tf.Const"() {value = dense<2.000000e+00> : tensor<3x3x16x16xf32>} : () -> tensor<3x3x16x16xf32>
  %bias = "tf.Const"() {value = dense<1.000000e+00> : tensor<16xf32>} : () -> tensor<16xf32>
  %a1 = "tf.Conv2D"(%in, %w) {node = "a1"} : (tensor<8x56x56x16xf32>, tensor<3x3x16x16xf32>) -> tensor<8x56x56x16xf32>
  %i1 = "tf.BiasAdd"(%a1, %bias) {node = "i1"} : (tensor<8x56x56x16xf32>, tensor<16xf32>) -> tensor<8x56x56x16xf32>
  %c1 = "tf.Relu"(%i1) {node = "c1"} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
  %fetch = "tf.Identity"(%c1) {node = "fetch"} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
  return %fetch : tensor<8x56x56x16xf32>
}

// InferFollowUpStreamDeny: BiasAdd follows a denied op.
// CHECK-LABEL: func.func @infer_follow_upstream_deny(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<16xf32>
// CHECK-NEXT: "tf.Pow"{{.*}}node = "d1"{{.*}} : (tensor<8x56x56x16xf32>, tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.BiasAdd"{{.*}}node = "i1"{{.*}} : (tensor<8x56x56x16xf32>, tensor<16xf32>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: return
func.func @infer_follow_upstream_deny() -> tensor<8x56x56x16xf32> {
  %in1 = "tf.Const"() {value = dense<3.125000e-02> : tensor<8x56x56x16xf32>} : () -> tensor<8x56x56x16xf32>
  %in2 = "tf.Const"() {value = dense<3.125000e-02> : tensor<8x56x56x16xf32>} : () -> tensor<8x56x56x16xf32>
  %bias = "tf.Const"() {value = dense<1.000000e+00> : tensor<16xf32>} : () -> tensor<16xf32>
  %d1 = "tf.Pow"(%in1, %in2) {node = "d1"} : (tensor<8x56x56x16xf32>, tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
  %i1 = "tf.BiasAdd"(%d1, %bias) {node = "i1"} : (tensor<8x56x56x16xf32>, tensor<16xf32>) -> tensor<8x56x56x16xf32>
  %c1 = "tf.Relu"(%i1) {node = "c1"} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
  %fetch = "tf.Identity"(%c1) {node = "fetch"} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
  return %fetch : tensor<8x56x56x16xf32>
}
