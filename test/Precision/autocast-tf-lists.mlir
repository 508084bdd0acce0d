// TensorFlow's own suite for its automatic mixed precision
// (tensorflow/core/grappler/optimizers/auto_mixed_precision_test.cc):
// tensor lists, whose handles cannot be cast.
// Each op has its node's name; operands and results have the type that the suite
// expects, and each line is checked, so that the number of casts is, too. Running
// the pass again changes nothing.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" | diff %t.once.mlir -

// TensorListSetGet: the list that a contraction writes to is low, with all that was
// written; the other one is not. TensorListResize passes the list on.
// CHECK-LABEL: func.func @tensor_list_set_get(
// CHECK-NEXT: "tf.TensorListReserve"{{.*}}node = "tl1"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.TensorListSetItem"{{.*}}node = "tl1w1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<i32>, tensor<32x32xf16>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.TensorListSetItem"{{.*}}node = "tl1w2"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<i32>, tensor<32x32xf16>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.TensorListResize"{{.*}}node = "tl1rs"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.TensorListGetItem"{{.*}}node = "tl1r1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<i32>, tensor<2xi32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Tanh"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.TensorListSetItem"{{.*}}node = "tl1w3"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<i32>, tensor<32x32xf16>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.TensorListGetItem"{{.*}}node = "tl1r2"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<i32>, tensor<2xi32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
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
  %i1 = "tf.Tanh"(%tl1r1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
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

// TensorListPushPop
// CHECK-LABEL: func.func @tensor_list_push_pop(
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl1"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "tl1w1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<32x32xf16>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "tl1w2"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<32x32xf16>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "tl1r1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<32x32xf16>)
// CHECK-NEXT: "tf.Tanh"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "tl1w3"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<32x32xf16>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "tl1r2"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<32x32xf16>)
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl2"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "tl2w1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "tl2r1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch2"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @tensor_list_push_pop(%shape: tensor<2xi32>, %n: tensor<i32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %tl1 = "tf.EmptyTensorList"(%shape, %n) {node = "tl1"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %tl1w1 = "tf.TensorListPushBack"(%tl1, %in) {node = "tl1w1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %a1 = "tf.MatMul"(%in, %in) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %tl1w2 = "tf.TensorListPushBack"(%tl1w1, %a1) {node = "tl1w2"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h1, %tl1r1 = "tf.TensorListPopBack"(%tl1w2, %shape) {node = "tl1r1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %i1 = "tf.Tanh"(%tl1r1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%i1, %i1) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %tl1w3 = "tf.TensorListPushBack"(%tl1, %a2) {node = "tl1w3"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h2, %tl1r2 = "tf.TensorListPopBack"(%tl1w3, %shape) {node = "tl1r2"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %tl2 = "tf.EmptyTensorList"(%shape, %n) {node = "tl2"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl2w1 = "tf.TensorListPushBack"(%tl2, %in) {node = "tl2w1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h3, %tl2r1 = "tf.TensorListPopBack"(%tl2w1, %shape) {node = "tl2r1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %fetch1 = "tf.Identity"(%tl1r2) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch2 = "tf.Identity"(%tl2r1) {node = "fetch2"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch1, %fetch2 : tensor<32x32xf32>, tensor<32x32xf32>
}

// TensorListFromTensor: the list tl2 is low, and forces tl2w1, which nobody reads.
// CHECK-LABEL: func.func @tensor_list_from_tensor(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32xf32>) -> tensor<32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.TensorListFromTensor"{{.*}}node = "tl1"{{.*}} : (tensor<32x32xf16>, tensor<1xi32>) -> tensor<!tf_type.variant<tensor<32xf16>>>
// CHECK-NEXT: "tf.TensorListStack"{{.*}}node = "tl1r1"{{.*}} : (tensor<!tf_type.variant<tensor<32xf16>>>, tensor<1xi32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Tanh"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.TensorListFromTensor"{{.*}}node = "tl2"{{.*}} : (tensor<32x32xf16>, tensor<1xi32>) -> tensor<!tf_type.variant<tensor<32xf16>>>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "tl2w1"{{.*}} : (tensor<!tf_type.variant<tensor<32xf16>>>, tensor<32xf16>) -> tensor<!tf_type.variant<tensor<32xf16>>>
// CHECK-NEXT: return
func.func @tensor_list_from_tensor(%shape: tensor<1xi32>) -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %row = "tf.Const"() {value = dense<3.125000e-02> : tensor<32xf32>} : () -> tensor<32xf32>
  %a1 = "tf.MatMul"(%in, %in) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %tl1 = "tf.TensorListFromTensor"(%a1, %shape) {node = "tl1"} : (tensor<32x32xf32>, tensor<1xi32>) -> tensor<!tf_type.variant<tensor<32xf32>>>
  %tl1r1 = "tf.TensorListStack"(%tl1, %shape) {node = "tl1r1"} : (tensor<!tf_type.variant<tensor<32xf32>>>, tensor<1xi32>) -> tensor<32x32xf32>
  %i1 = "tf.Tanh"(%tl1r1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%i1, %i1) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch1 = "tf.Identity"(%a2) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %tl2 = "tf.TensorListFromTensor"(%a1, %shape) {node = "tl2"} : (tensor<32x32xf32>, tensor<1xi32>) -> tensor<!tf_type.variant<tensor<32xf32>>>
  %tl2w1 = "tf.TensorListPushBack"(%tl2, %row) {node = "tl2w1"} : (tensor<!tf_type.variant<tensor<32xf32>>>, tensor<32xf32>) -> tensor<!tf_type.variant<tensor<32xf32>>>
  return %fetch1 : tensor<32x32xf32>
}

// TensorListPushBackBatchAndConcatLists: handles go through Pack, Split and Reshape.
// CHECK-LABEL: func.func @tensor_list_push_back_batch_and_concat_lists(
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl1"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl2"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Pack"{{.*}}node = "tl1_tl2"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<!tf_type.variant<tensor<32x32xf16>>>) -> tensor<2x!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.Pack"{{.*}}node = "a1_a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<2x32x32xf16>
// CHECK-NEXT: "tf.TensorListPushBackBatch"{{.*}}node = "tl12w1"{{.*}} : (tensor<2x!tf_type.variant<tensor<32x32xf16>>>, tensor<2x32x32xf16>) -> tensor<2x!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.Split"{{.*}}node = "o0"{{.*}} : (tensor<i32>, tensor<2x!tf_type.variant<tensor<32x32xf16>>>) -> (tensor<1x!tf_type.variant<tensor<32x32xf16>>>, tensor<1x!tf_type.variant<tensor<32x32xf16>>>)
// CHECK-NEXT: "tf.Reshape"{{.*}}node = "h0"{{.*}} : (tensor<1x!tf_type.variant<tensor<32x32xf16>>>, tensor<0xi32>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.Reshape"{{.*}}node = "h1"{{.*}} : (tensor<1x!tf_type.variant<tensor<32x32xf16>>>, tensor<0xi32>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.TensorListConcatLists"{{.*}}node = "tl3"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<!tf_type.variant<tensor<32x32xf16>>>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "tl3r1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<32x32xf16>)
// CHECK-NEXT: "tf.Tanh"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @tensor_list_push_back_batch_and_concat_lists(%shape: tensor<2xi32>, %n: tensor<i32>, %none: tensor<0xi32>) -> tensor<32x32xf32> {
  %tl1 = "tf.EmptyTensorList"(%shape, %n) {node = "tl1"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl2 = "tf.EmptyTensorList"(%shape, %n) {node = "tl2"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%in, %in) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %tl1_tl2 = "tf.Pack"(%tl1, %tl2) {node = "tl1_tl2"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<!tf_type.variant<tensor<32x32xf32>>>) -> tensor<2x!tf_type.variant<tensor<32x32xf32>>>
  %a1_a1 = "tf.Pack"(%a1, %a1) {node = "a1_a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<2x32x32xf32>
  %tl12w1 = "tf.TensorListPushBackBatch"(%tl1_tl2, %a1_a1) {node = "tl12w1"} : (tensor<2x!tf_type.variant<tensor<32x32xf32>>>, tensor<2x32x32xf32>) -> tensor<2x!tf_type.variant<tensor<32x32xf32>>>
  %o0, %o1 = "tf.Split"(%n, %tl12w1) {node = "o0"} : (tensor<i32>, tensor<2x!tf_type.variant<tensor<32x32xf32>>>) -> (tensor<1x!tf_type.variant<tensor<32x32xf32>>>, tensor<1x!tf_type.variant<tensor<32x32xf32>>>)
  %h0 = "tf.Reshape"(%o0, %none) {node = "h0"} : (tensor<1x!tf_type.variant<tensor<32x32xf32>>>, tensor<0xi32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h1 = "tf.Reshape"(%o1, %none) {node = "h1"} : (tensor<1x!tf_type.variant<tensor<32x32xf32>>>, tensor<0xi32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl3 = "tf.TensorListConcatLists"(%h0, %h1) {node = "tl3"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<!tf_type.variant<tensor<32x32xf32>>>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h, %tl3r1 = "tf.TensorListPopBack"(%tl3, %shape) {node = "tl3r1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %i1 = "tf.Tanh"(%tl3r1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a2 = "tf.MatMul"(%i1, %i1) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch1 = "tf.Identity"(%a2) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch1 : tensor<32x32xf32>
}

// TensorListThroughFunction: tl1 goes through a function that works on it and stays
// in float, tl2 is low.
// CHECK-LABEL: func.func @tensor_list_through_function(
// CHECK-NEXT: "tf.Const"(){{.*}} : () -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a1"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Tanh"{{.*}}node = "i1"{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl1"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "tl1w1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.PartitionedCall"{{.*}}node = "call"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "tl1r1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl2"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "tl2w1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<32x32xf16>) -> tensor<!tf_type.variant<tensor<32x32xf16>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "tl2r1"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf16>>>, tensor<32x32xf16>)
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a2"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch1"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @tensor_list_through_function(%shape: tensor<2xi32>, %n: tensor<i32>) -> tensor<32x32xf32> {
  %in = "tf.Const"() {value = dense<3.125000e-02> : tensor<32x32xf32>} : () -> tensor<32x32xf32>
  %a1 = "tf.MatMul"(%in, %in) {node = "a1"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %i1 = "tf.Tanh"(%a1) {node = "i1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %tl1 = "tf.EmptyTensorList"(%shape, %n) {node = "tl1"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl1w1 = "tf.TensorListPushBack"(%tl1, %i1) {node = "tl1w1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %f1, %f2 = "tf.PartitionedCall"(%tl1w1, %i1) {node = "call", f = @Func1} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %h1, %tl1r1 = "tf.TensorListPopBack"(%f1, %shape) {node = "tl1r1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %tl2 = "tf.EmptyTensorList"(%shape, %n) {node = "tl2"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %tl2w1 = "tf.TensorListPushBack"(%tl2, %i1) {node = "tl2w1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h2, %tl2r1 = "tf.TensorListPopBack"(%tl2w1, %shape) {node = "tl2r1"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %a2 = "tf.MatMul"(%tl1r1, %tl2r1) {node = "a2"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %fetch1 = "tf.Identity"(%a2) {node = "fetch1"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch1 : tensor<32x32xf32>
}

// Its own contraction does not reach the list either, which comes from outside.
// CHECK-LABEL: func.func @Func1(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Const"{{.*}}node = "shape"{{.*}} : () -> tensor<2xi32>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "w"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "r"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.SparseMatMul"{{.*}}node = "s"{{.*}} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "oh"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.Identity"{{.*}}node = "y"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @Func1(%ihandle: tensor<!tf_type.variant<tensor<32x32xf32>>>, %x: tensor<32x32xf32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) {
  %shape = "tf.Const"() {node = "shape", value = dense<32> : tensor<2xi32>} : () -> tensor<2xi32>
  %w = "tf.TensorListPushBack"(%ihandle, %x) {node = "w"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h, %r = "tf.TensorListPopBack"(%w, %shape) {node = "r"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %a = "tf.MatMul"(%x, %x) {node = "a"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %s = "tf.SparseMatMul"(%r, %a) {node = "s"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %oh = "tf.Identity"(%h) {node = "oh"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %y = "tf.Identity"(%s) {node = "y"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %oh, %y : tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>
}

// A list that a denied op writes to and a contraction reads from is in float as a whole.
// CHECK-LABEL: func.func @denied_list(
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.Exp"{{.*}}node = "d"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "w"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "r"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
// CHECK-NEXT: "tf.Tanh"{{.*}}node = "i"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "w2"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "r2"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @denied_list(%shape: tensor<2xi32>, %n: tensor<i32>, %x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %tl = "tf.EmptyTensorList"(%shape, %n) {node = "tl"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %d = "tf.Exp"(%x) {node = "d"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %w = "tf.TensorListPushBack"(%tl, %d) {node = "w"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h, %r = "tf.TensorListPopBack"(%w, %shape) {node = "r"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %i = "tf.Tanh"(%r) {node = "i"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %a = "tf.MatMul"(%i, %i) {node = "a"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %w2 = "tf.TensorListPushBack"(%tl, %a) {node = "w2"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>) -> tensor<!tf_type.variant<tensor<32x32xf32>>>
  %h2, %r2 = "tf.TensorListPopBack"(%w2, %shape) {node = "r2"} : (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xf32>>>, tensor<32x32xf32>)
  %fetch = "tf.Identity"(%r2) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// A handle that does not say what the list holds.
// CHECK-LABEL: func.func @untyped_list(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "w"{{.*}} : (tensor<!tf_type.variant>, tensor<32x32xf32>) -> tensor<!tf_type.variant>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "r"{{.*}} : (tensor<!tf_type.variant>, tensor<2xi32>) -> (tensor<!tf_type.variant>, tensor<32x32xf32>)
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @untyped_list(%shape: tensor<2xi32>, %n: tensor<i32>, %x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %tl = "tf.EmptyTensorList"(%shape, %n) {node = "tl"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant>
  %a = "tf.MatMul"(%x, %x) {node = "a"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %w = "tf.TensorListPushBack"(%tl, %a) {node = "w"} : (tensor<!tf_type.variant>, tensor<32x32xf32>) -> tensor<!tf_type.variant>
  %h, %r = "tf.TensorListPopBack"(%w, %shape) {node = "r"} : (tensor<!tf_type.variant>, tensor<2xi32>) -> (tensor<!tf_type.variant>, tensor<32x32xf32>)
  %fetch = "tf.Identity"(%r) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}

// One of integers is none of ours, though it comes from what is painted.
// CHECK-LABEL: func.func @integer_list(
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.EmptyTensorList"{{.*}}node = "tl"{{.*}} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xi32>>>
// CHECK-NEXT: "tf.MatMul"{{.*}}node = "a"{{.*}} : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
// CHECK-NEXT: "tf.Cast"{{.*}}mpt.autocast{{.*}} : (tensor<32x32xf16>) -> tensor<32x32xf32>
// CHECK-NEXT: "tf.Cast"{{.*}}node = "k"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xi32>
// CHECK-NEXT: "tf.TensorListPushBack"{{.*}}node = "w"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xi32>>>, tensor<32x32xi32>) -> tensor<!tf_type.variant<tensor<32x32xi32>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}}node = "r"{{.*}} : (tensor<!tf_type.variant<tensor<32x32xi32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xi32>>>, tensor<32x32xi32>)
// CHECK-NEXT: "tf.Identity"{{.*}}node = "fetch"{{.*}} : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: return
func.func @integer_list(%shape: tensor<2xi32>, %n: tensor<i32>, %x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %tl = "tf.EmptyTensorList"(%shape, %n) {node = "tl"} : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<32x32xi32>>>
  %a = "tf.MatMul"(%x, %x) {node = "a"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %k = "tf.Cast"(%a) {node = "k"} : (tensor<32x32xf32>) -> tensor<32x32xi32>
  %w = "tf.TensorListPushBack"(%tl, %k) {node = "w"} : (tensor<!tf_type.variant<tensor<32x32xi32>>>, tensor<32x32xi32>) -> tensor<!tf_type.variant<tensor<32x32xi32>>>
  %h, %r = "tf.TensorListPopBack"(%w, %shape) {node = "r"} : (tensor<!tf_type.variant<tensor<32x32xi32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<32x32xi32>>>, tensor<32x32xi32>)
  %fetch = "tf.Identity"(%a) {node = "fetch"} : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %fetch : tensor<32x32xf32>
}
