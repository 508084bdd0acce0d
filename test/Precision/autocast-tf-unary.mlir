// TensorFlow's own suite for its automatic mixed precision
// (tensorflow/core/grappler/optimizers/auto_mixed_precision_test.cc):
// each op of the infer list with one operand between two contractions.
// Each op has its node's name; operands and results have the type that the suite
// expects, and each line is checked, so that the number of casts is, too. Running
// the pass again changes nothing.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" | diff %t.once.mlir -

// EluOp
// CHECK-LABEL: func.func @elu(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Elu"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @elu(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Elu"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// ErfOp
// CHECK-LABEL: func.func @erf(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Erf"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @erf(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Erf"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// ErfcOp
// CHECK-LABEL: func.func @erfc(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Erfc"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @erfc(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Erfc"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// InvOp
// CHECK-LABEL: func.func @inv(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Inv"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @inv(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Inv"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// LogOp
// CHECK-LABEL: func.func @log(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Log"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @log(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Log"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// Log1pOp
// CHECK-LABEL: func.func @log1p(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Log1p"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @log1p(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Log1p"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// LogSoftmaxOp
// CHECK-LABEL: func.func @logsoftmax(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.LogSoftmax"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @logsoftmax(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.LogSoftmax"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// ReciprocalOp
// CHECK-LABEL: func.func @reciprocal(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Reciprocal"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @reciprocal(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Reciprocal"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// SigmoidOp
// CHECK-LABEL: func.func @sigmoid(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Sigmoid"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @sigmoid(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Sigmoid"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// SoftmaxOp
// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Softmax"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @softmax(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Softmax"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// SoftplusOp
// CHECK-LABEL: func.func @softplus(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Softplus"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @softplus(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Softplus"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// SqrtOp
// CHECK-LABEL: func.func @sqrt(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Sqrt"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @sqrt(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Sqrt"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}

// TanhOp
// CHECK-LABEL: func.func @tanh(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Tanh"{{.*}}node = "i1"{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<128x128xf16>) -> tensor<128x128xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT: return
func.func @tanh(%in: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %eye = "tf.Const"() {value = dense<1.000000e+00> : tensor<128x128xf32>} : () -> tensor<128x128xf32>
  %a1 = "tf.MatMul"(%in, %eye) {node = "a1"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %i1 = "tf.Tanh"(%a1) {node = "i1"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %a2 = "tf.MatMul"(%i1, %eye) {node = "a2"} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %fetch = "tf.Identity"(%a2) {node = "fetch"} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %fetch : tensor<128x128xf32>
}
