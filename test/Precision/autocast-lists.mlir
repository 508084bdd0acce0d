// Lists of tensors and loops of single ops under the default strategy. No cast may
// stand on a handle or between NextIteration and Merge.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16" | FileCheck %s
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16" -o %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=f16" | diff %t.once.mlir -
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16 explain=PushBack" 2>&1 | FileCheck %s --check-prefix=WHY

// A list between two contractions is low.
// CHECK-LABEL: func.func @between(
// CHECK: "tf.EmptyTensorList"{{.*}} -> tensor<!tf_type.variant<tensor<8x8xf16>>>
// CHECK: "tf.TensorListPushBack"{{.*}} : (tensor<!tf_type.variant<tensor<8x8xf16>>>, tensor<8x8xf16>) -> tensor<!tf_type.variant<tensor<8x8xf16>>>
// CHECK-NEXT: "tf.TensorListPopBack"{{.*}} -> (tensor<!tf_type.variant<tensor<8x8xf16>>>, tensor<8x8xf16>)
// CHECK-NEXT: "tf.MatMul"{{.*}} : (tensor<8x8xf16>, tensor<8x8xf16>)
func.func @between(%x: tensor<8x8xf32>, %shape: tensor<2xi32>, %n: tensor<i32>) -> tensor<8x8xf32> {
  %list = "tf.EmptyTensorList"(%shape, %n) : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<8x8xf32>>>
  %a = "tf.MatMul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %w = "tf.TensorListPushBack"(%list, %a) : (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<8x8xf32>) -> tensor<!tf_type.variant<tensor<8x8xf32>>>
  %h, %r = "tf.TensorListPopBack"(%w, %shape) : (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<8x8xf32>)
  %b = "tf.MatMul"(%r, %r) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

// The handle is returned: others work on the list.
// WHY: remark: 'tf.TensorListPushBack' {{.*}}f32{{.*}}works on a list that an op in f32 or one out of sight works on
// CHECK-LABEL: func.func @escapes(
// CHECK: "tf.MatMul"{{.*}}f16
// CHECK: "tf.TensorListPushBack"{{.*}} : (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<8x8xf32>) -> tensor<!tf_type.variant<tensor<8x8xf32>>>
func.func @escapes(%x: tensor<8x8xf32>, %shape: tensor<2xi32>, %n: tensor<i32>) -> tensor<!tf_type.variant<tensor<8x8xf32>>> {
  %list = "tf.EmptyTensorList"(%shape, %n) : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<8x8xf32>>>
  %a = "tf.MatMul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %w = "tf.TensorListPushBack"(%list, %a) : (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<8x8xf32>) -> tensor<!tf_type.variant<tensor<8x8xf32>>>
  return %w : tensor<!tf_type.variant<tensor<8x8xf32>>>
}

// Carried by a loop with a region.
// CHECK-LABEL: func.func @carried(
// CHECK: "tf.EmptyTensorList"{{.*}} -> tensor<!tf_type.variant<tensor<8x8xf16>>>
// CHECK: "tf.WhileRegion"
// CHECK: ^bb0(%{{.*}}: tensor<!tf_type.variant<tensor<8x8xf16>>>, %{{.*}}: tensor<i1>):
// CHECK: ^bb0(%{{.*}}: tensor<!tf_type.variant<tensor<8x8xf16>>>, %{{.*}}: tensor<i1>):
// CHECK: "tf.TensorListPushBack"{{.*}} -> tensor<!tf_type.variant<tensor<8x8xf16>>>
// CHECK: -> (tensor<!tf_type.variant<tensor<8x8xf16>>>, tensor<i1>)
// CHECK: "tf.TensorListPopBack"{{.*}} -> (tensor<!tf_type.variant<tensor<8x8xf16>>>, tensor<8x8xf16>)
func.func @carried(%x: tensor<8x8xf32>, %shape: tensor<2xi32>, %n: tensor<i32>, %go: tensor<i1>) -> tensor<8x8xf32> {
  %list = "tf.EmptyTensorList"(%shape, %n) : (tensor<2xi32>, tensor<i32>) -> tensor<!tf_type.variant<tensor<8x8xf32>>>
  %l:2 = "tf.WhileRegion"(%list, %go) ({
  ^bb0(%c: tensor<!tf_type.variant<tensor<8x8xf32>>>, %k: tensor<i1>):
    "tf.Yield"(%k) : (tensor<i1>) -> ()
  }, {
  ^bb0(%c: tensor<!tf_type.variant<tensor<8x8xf32>>>, %k: tensor<i1>):
    %a = "tf.MatMul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %w = "tf.TensorListPushBack"(%c, %a) : (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<8x8xf32>) -> tensor<!tf_type.variant<tensor<8x8xf32>>>
    "tf.Yield"(%w, %k) : (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<i1>) -> ()
  }) : (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<i1>) -> (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<i1>)
  %h, %r = "tf.TensorListPopBack"(%l#0, %shape) : (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<2xi32>) -> (tensor<!tf_type.variant<tensor<8x8xf32>>>, tensor<8x8xf32>)
  %b = "tf.MatMul"(%r, %r) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

// What goes round is read by a Merge that an op in f32 made so.
// CHECK-LABEL: func.func @recurrent(
// CHECK: "tf.Merge"{{.*}} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<i32>)
// CHECK: "tf.MatMul"{{.*}} : (tensor<8x8xf16>, tensor<8x8xf16>)
// CHECK: "tf.NextIteration"{{.*}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
func.func @recurrent(%x: tensor<8x8xf32>, %p: tensor<i1>) -> tensor<8x8xf32> {
  %r = "tf_executor.graph"() ({
    %d = "tf.Exp"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %e = "tf.Enter"(%d) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %m, %i = "tf.Merge"(%e, %next) : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<i32>)
    %s:2 = "tf.Switch"(%m, %p) : (tensor<8x8xf32>, tensor<i1>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    %q = "tf.Sqrt"(%s#1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a = "tf.MatMul"(%q, %q) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %c = "tf.Relu"(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %next = "tf.NextIteration"(%c) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %o = "tf.Exit"(%s#0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "tf_executor.fetch"(%o) : (tensor<8x8xf32>) -> ()
  }) : () -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Without that op all of the loop is low.
// CHECK-LABEL: func.func @recurrent_low(
// CHECK: "tf.Merge"{{.*}} : (tensor<8x8xf16>, tensor<8x8xf16>) -> (tensor<8x8xf16>, tensor<i32>)
// CHECK: "tf.NextIteration"{{.*}} : (tensor<8x8xf16>) -> tensor<8x8xf16>
func.func @recurrent_low(%x: tensor<8x8xf32>, %p: tensor<i1>) -> tensor<8x8xf32> {
  %r = "tf_executor.graph"() ({
    %e = "tf.Enter"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %m, %i = "tf.Merge"(%e, %next) : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<i32>)
    %s:2 = "tf.Switch"(%m, %p) : (tensor<8x8xf32>, tensor<i1>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    %a = "tf.MatMul"(%s#1, %s#1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %next = "tf.NextIteration"(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %o = "tf.Exit"(%s#0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "tf_executor.fetch"(%o) : (tensor<8x8xf32>) -> ()
  }) : () -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
