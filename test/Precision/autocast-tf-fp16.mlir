// TensorFlow's own suite for its automatic mixed precision
// (tensorflow/core/grappler/optimizers/auto_mixed_precision_test.cc): its float16 cases but those on loops, lists
// and single ops, and some of their neighbours.
// Each op has its node's name; operands and results have the type that the suite
// expects, and each line is checked, so that the number of casts is, too. Running
// the pass again changes nothing.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" | diff %t.once.mlir -

// NoOp: without an allowed op nothing changes.
// CHECK-LABEL: func.func @no_op(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Sqrt"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @no_op() -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %d1 = "tf.Exp"(%in) {node = "d1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c1 = "tf.Relu"(%d1) {node = "c1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %i1 = "tf.Sqrt"(%c1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c2 = "tf.Relu"(%i1) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%c2) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// AlreadyF16: what is low stays as it is.
// CHECK-LABEL: func.func @already_f16(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}node = "cst1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}node = "cst2"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @already_f16() -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<1.000000e+00> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %cst1 = "tf.Cast"(%in) {node = "cst1"} : (tensor<32x32xf32>) -> tensor<32x32xf16>
  %a1 = "tf.MatMul"(%cst1, %cst1) {node = "a1"} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
  %c1 = "tf.Relu"(%a1) {node = "c1"} : (tensor<32x32xf16>) -> tensor<32x32xf16>
  %cst2 = "tf.Cast"(%c1) {node = "cst2"} : (tensor<32x32xf16>) -> tensor<32x32xf32>
  %c2 = "tf.Relu"(%cst2) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%c2) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// Simple: low are c2, a1 and c3; SparseMatMul is on no list and ends all paths.
// CHECK-LABEL: func.func @simple(
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

// BidirectionalClearChain: paint goes up c1, across c3, to c2 and down c4; the
// input is cast once.
// CHECK-LABEL: func.func @bidirectional_clear_chain(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.ShapeN"{{.*}}node = "c3"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> (tensor<2xi32>, tensor<2xi32>)
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c4"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @bidirectional_clear_chain() -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %c1 = "tf.Relu"(%in) {node = "c1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c2 = "tf.Relu"(%in) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%c1, %c1) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c3, %c3b = "tf.ShapeN"(%c1, %c2) {node = "c3"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<2xi32>, tensor<2xi32>)
  %c4 = "tf.Relu"(%c2) {node = "c4"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch1 = "tf.Identity"(%a1) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch2 = "tf.Identity"(%c4) {node = "fetch2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch1, %fetch2 : tensor<32x32xf32>, tensor<32x32xf32>
}

// PreserveFetches: a1, c2 and c3 are returned, and so stay as they are.
// CHECK-LABEL: func.func @preserve_fetches(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Sqrt"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c3"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c4"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @preserve_fetches() -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%in, %in) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c1 = "tf.Relu"(%a1) {node = "c1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %i1 = "tf.Sqrt"(%c1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %d1 = "tf.Exp"(%i1) {node = "d1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c2 = "tf.Relu"(%d1) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%c2, %c2) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c3 = "tf.Relu"(%a2) {node = "c3"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %d2 = "tf.Exp"(%c3) {node = "d2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %c4 = "tf.Relu"(%d2) {node = "c4"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %a1, %c2, %c3 : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>
}

// PreserveCPUNodes: the device of a2 keeps it. The suite has i1 in float, where
// pass 4 is for bfloat16 only; TensorFlow 2.21 as released runs it for float16 too
// and makes i1 half (seen with this graph), with as many casts.
// CHECK-LABEL: func.func @preserve_cpu_nodes(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Tanh"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @preserve_cpu_nodes() -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %c1 = "tf.Relu"(%in) {node = "c1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%c1, %c1) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %i1 = "tf.Tanh"(%a1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%i1, %i1) {node = "a2", device = "/job:localhost/replica:0/task:0/device:CPU:0"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c2 = "tf.Relu"(%a2) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%c2) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// A device that is no CPU changes nothing.
// CHECK-LABEL: func.func @other_device(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Relu"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @other_device() -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%in, %in) {node = "a1", device = "/job:localhost/replica:0/task:0/device:GPU:0"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c1 = "tf.Relu"(%a1) {node = "c1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%c1) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// PreserveIdentityAfterVariable: no cast in front of c1, which reads a variable.
// CHECK-LABEL: func.func @preserve_identity_after_variable(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.VariableV2"{{.*}}node = "var1"{{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @preserve_identity_after_variable() -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %var1 = "tf.VariableV2"() {node = "var1"} : () -> tensor<32x32xf32>
  %c1 = "tf.Identity"(%var1) {node = "c1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%in, %c1) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %in2 = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %c2 = "tf.Identity"(%in2) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%in, %c2) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch1 = "tf.Identity"(%a1) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch2 = "tf.Identity"(%a2) {node = "fetch2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch1, %fetch2 : tensor<32x32xf32>, tensor<32x32xf32>
}

// The same with the variable as TensorFlow's dialect has it.
// CHECK-LABEL: func.func @preserve_identity_after_reference(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.VariableV2"{{.*}}node = "var1"{{.*}} : () -> tensor<32x32x!tf_type.f32ref>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "c1"{{.*}} : (tensor<32x32x!tf_type.f32ref>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "c2"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @preserve_identity_after_reference() -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %var1 = "tf.VariableV2"() {node = "var1"} : () -> tensor<32x32x!tf_type.f32ref>
  %c1 = "tf.Identity"(%var1) {node = "c1"} : (tensor<32x32x!tf_type.f32ref>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%in, %c1) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %in2 = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %c2 = "tf.Identity"(%in2) {node = "c2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%in, %c2) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch1 = "tf.Identity"(%a1) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch2 = "tf.Identity"(%a2) {node = "fetch2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch1, %fetch2 : tensor<32x32xf32>, tensor<32x32xf32>
}

// The same through Enter, which the suite has not: ent1 leads from a variable into
// a loop, ent2 does not.
// CHECK-LABEL: func.func @enter_after_variable(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.VariableV2"{{.*}}node = "var1"{{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Enter"{{.*}}node = "ent1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Enter"{{.*}}node = "ent2"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @enter_after_variable(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %var1 = "tf.VariableV2"() {node = "var1"} : () -> tensor<32x32xf32>
  %c1 = "tf.Identity"(%var1) {node = "c1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %ent1 = "tf.Enter"(%c1) {node = "ent1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %ent2 = "tf.Enter"(%x) {node = "ent2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%ent1, %ent2) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%a1) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// FusedBatchNorm: the first version has one type for all; the second keeps its
// statistics in float.
// CHECK-LABEL: func.func @fused_batch_norm(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<3x3x16x16xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<3x3x16x16xf32>) -> tensor<3x3x16x16xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<16xf32>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<16xf32>
// CHECK-NEXT: "tf.Placeholder"{{.*}}node = "mean"{{.*}} : () -> tensor<0xf32>
// CHECK-NEXT: "tf.Placeholder"{{.*}}node = "variance"{{.*}} : () -> tensor<0xf32>
// CHECK-NEXT: "tf.Conv2D"{{.*}}node = "a1"{{.*}} : (tensor<8x56x56x16xf16>, tensor<3x3x16x16xf16>) -> tensor<8x56x56x16xf16>
// CHECK-NEXT: "tf.FusedBatchNormV2"{{.*}}node = "fbn1"{{.*}} : (tensor<8x56x56x16xf16>, tensor<16xf32>, tensor<16xf32>, tensor<0xf32>, tensor<0xf32>) -> (tensor<8x56x56x16xf16>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK-NEXT: "tf.FusedBatchNormGradV2"{{.*}}node = "bng1"{{.*}} : (tensor<8x56x56x16xf16>, tensor<8x56x56x16xf16>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x56x56x16xf16>, tensor<16xf32>, tensor<16xf32>, tensor<0xf32>, tensor<0xf32>)
// CHECK-NEXT: "tf.Add"{{.*}}node = "i1"{{.*}} : (tensor<8x56x56x16xf16>, tensor<8x56x56x16xf16>) -> tensor<8x56x56x16xf16>
// CHECK-NEXT: "tf.Conv2D"{{.*}}node = "a2"{{.*}} : (tensor<8x56x56x16xf16>, tensor<3x3x16x16xf16>) -> tensor<8x56x56x16xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<8x56x56x16xf16>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: return
func.func @fused_batch_norm() -> tensor<8x56x56x16xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<8x56x56x16xf32>} : () -> tensor<8x56x56x16xf32>
  %w = "tf.Const"() {value = dense<2.000000e+00> : tensor<3x3x16x16xf32>} : () -> tensor<3x3x16x16xf32>
  %scale = "tf.Const"() {value = dense<3.000000e+00> : tensor<16xf32>} : () -> tensor<16xf32>
  %offset = "tf.Const"() {value = dense<4.000000e+00> : tensor<16xf32>} : () -> tensor<16xf32>
  %mean = "tf.Placeholder"() {node = "mean"} : () -> tensor<0xf32>
  %variance = "tf.Placeholder"() {node = "variance"} : () -> tensor<0xf32>
  %a1 = "tf.Conv2D"(%in, %w) {node = "a1"} : (tensor<8x56x56x16xf32>, tensor<3x3x16x16xf32>) -> tensor<8x56x56x16xf32>
  %fbn1, %m, %v, %rs1, %rs2 = "tf.FusedBatchNorm"(%a1, %scale, %offset, %mean, %variance) {node = "fbn1"} : (tensor<8x56x56x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<0xf32>, tensor<0xf32>) -> (tensor<8x56x56x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %bng1, %g1, %g2, %g3, %g4 = "tf.FusedBatchNormGrad"(%fbn1, %a1, %scale, %rs1, %rs2) {node = "bng1"} : (tensor<8x56x56x16xf32>, tensor<8x56x56x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x56x56x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<0xf32>, tensor<0xf32>)
  %i1 = "tf.Add"(%fbn1, %bng1) {node = "i1"} : (tensor<8x56x56x16xf32>, tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
  %a2 = "tf.Conv2D"(%i1, %w) {node = "a2"} : (tensor<8x56x56x16xf32>, tensor<3x3x16x16xf32>) -> tensor<8x56x56x16xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
  return %fetch : tensor<8x56x56x16xf32>
}

// In float it keeps its name.
// CHECK-LABEL: func.func @fused_batch_norm_f32(
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d1"{{.*}} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: "tf.FusedBatchNorm"{{.*}}node = "fbn1"{{.*}} : (tensor<8x56x56x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x56x56x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
// CHECK-NEXT: return
func.func @fused_batch_norm_f32(%x: tensor<8x56x56x16xf32>, %s: tensor<16xf32>) -> tensor<8x56x56x16xf32> {
  %d1 = "tf.Exp"(%x) {node = "d1"} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
  %fbn1, %m, %v, %rs1, %rs2 = "tf.FusedBatchNorm"(%d1, %s, %s, %s, %s) {node = "fbn1"} : (tensor<8x56x56x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x56x56x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %fetch = "tf.Identity"(%fbn1) {node = "fetch"} : (tensor<8x56x56x16xf32>) -> tensor<8x56x56x16xf32>
  return %fetch : tensor<8x56x56x16xf32>
}

// RepeatedAndListTypeAttrs
// CHECK-LABEL: func.func @repeated_and_list_type_attrs(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.IdentityN"{{.*}}node = "c1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf16>) -> (tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf16>)
// CHECK-NEXT: "tf.AddN"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @repeated_and_list_type_attrs() -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%in, %in) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c1, %c1b, %c1c = "tf.IdentityN"(%a1, %a1, %a1) {node = "c1"} : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>)
  %i1 = "tf.AddN"(%c1, %c1b, %c1c) {node = "i1"} : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%i1, %i1) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// ExistingCast: the cast makes half itself.
// CHECK-LABEL: func.func @existing_cast(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xi1>
// CHECK-NEXT: "tf.Cast"{{.*}}node = "cst1"{{.*}} : (tensor<32x32xi1>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @existing_cast() -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<true> : tensor<32x32xi1>} : () -> tensor<32x32xi1>
  %cst1 = "tf.Cast"(%in) {node = "cst1"} : (tensor<32x32xi1>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%cst1, %cst1) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%a1) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// A user's cast reads the type that it reads, and is not in the suite.
// CHECK-LABEL: func.func @cast_of_low(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}node = "cst1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xi32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch2"{{.*}} : (tensor<32x32xi32>) -> tensor<32x32xi32>
// CHECK-NEXT: return
func.func @cast_of_low(%x: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xi32>) {
  %a1 = "tf.MatMul"(%x, %x) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %cst1 = "tf.Cast"(%a1) {node = "cst1"} : (tensor<32x32xf32>) -> tensor<32x32xi32>
  %fetch1 = "tf.Identity"(%a1) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch2 = "tf.Identity"(%cst1) {node = "fetch2"} : (tensor<32x32xi32>) -> tensor<32x32xi32>
  return %fetch1, %fetch2 : tensor<32x32xf32>, tensor<32x32xi32>
}

// One from half that only low ops read makes half, though it does nothing then.
// CHECK-LABEL: func.func @wide_cast_all_low(
// CHECK-NEXT: "tf.Cast"{{.*}}node = "cst1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @wide_cast_all_low(%x: tensor<32x32xf16>) -> tensor<32x32xf32> {
  %cst1 = "tf.Cast"(%x) {node = "cst1"} : (tensor<32x32xf16>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%cst1, %cst1) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch = "tf.Identity"(%a1) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// With another reader it stays.
// CHECK-LABEL: func.func @wide_cast_mixed(
// CHECK-NEXT: "tf.Cast"{{.*}}node = "cst1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @wide_cast_mixed(%x: tensor<32x32xf16>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %cst1 = "tf.Cast"(%x) {node = "cst1"} : (tensor<32x32xf16>) -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%cst1, %cst1) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %d1 = "tf.Exp"(%cst1) {node = "d1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch1 = "tf.Identity"(%a1) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch2 = "tf.Identity"(%d1) {node = "fetch2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch1, %fetch2 : tensor<32x32xf32>, tensor<32x32xf32>
}

// BatchMatMul, with cuDNN as new as the lists are for.
// CHECK-LABEL: func.func @batch_matmul(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<64x32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<64x32x32xf32>) -> tensor<64x32x32xf16>
// CHECK-NEXT: "tf.BatchMatMul"{{.*}}node = "a1"{{.*}} : (tensor<64x32x32xf16>, tensor<64x32x32xf16>) -> tensor<64x32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<64x32x32xf16>) -> tensor<64x32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<64x32x32xf32>) -> tensor<64x32x32xf32>
// CHECK-NEXT: return
func.func @batch_matmul() -> tensor<64x32x32xf32> {
  %in = "tf.Const"() {value = dense<0.0303030312> : tensor<64x32x32xf32>} : () -> tensor<64x32x32xf32>
  %a1 = "tf.BatchMatMul"(%in, %in) {node = "a1"} : (tensor<64x32x32xf32>, tensor<64x32x32xf32>) -> tensor<64x32x32xf32>
  %fetch = "tf.Identity"(%a1) {node = "fetch"} : (tensor<64x32x32xf32>) -> tensor<64x32x32xf32>
  return %fetch : tensor<64x32x32xf32>
}
