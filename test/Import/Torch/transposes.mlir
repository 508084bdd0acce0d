// Two transposes that only elementwise ops lie between become one or none.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch | FileCheck %s

// CHECK-LABEL: func.func @undone(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3x5xf32>
// CHECK-NEXT: %[[R:.*]] = mpt.relu %[[X]] : (tensor<2x3x5xf32>)
// CHECK-NEXT: %[[E:.*]] = mpt.exp %[[R]] : (tensor<2x3x5xf32>)
// CHECK-NEXT: return %[[E]]
func.func @undone(%x: !torch.vtensor<[2,3,5],f32>) -> !torch.vtensor<[2,3,5],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %swap = "torch.prim.ListConstruct"(%0, %2, %1) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.aten.permute"(%x, %swap) : (!torch.vtensor<[2,3,5],f32>, !torch.list<int>) -> !torch.vtensor<[2,5,3],f32>
  %r = "torch.aten.relu"(%p) : (!torch.vtensor<[2,5,3],f32>) -> !torch.vtensor<[2,5,3],f32>
  %e = "torch.aten.exp"(%r) : (!torch.vtensor<[2,5,3],f32>) -> !torch.vtensor<[2,5,3],f32>
  %q = "torch.aten.permute"(%e, %swap) : (!torch.vtensor<[2,5,3],f32>, !torch.list<int>) -> !torch.vtensor<[2,3,5],f32>
  return %q : !torch.vtensor<[2,3,5],f32>
}

// CHECK-LABEL: func.func @one(
// CHECK-NEXT: %[[T:.*]] = mpt.transpose %{{.*}} {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x5xf32>) -> tensor<3x5x2xf32>
// CHECK-NEXT: %[[R:.*]] = mpt.relu %[[T]] : (tensor<3x5x2xf32>)
// CHECK-NEXT: return %[[R]]
func.func @one(%x: !torch.vtensor<[2,3,5],f32>) -> !torch.vtensor<[3,5,2],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %swap = "torch.prim.ListConstruct"(%0, %2, %1) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %turn = "torch.prim.ListConstruct"(%2, %1, %0) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.aten.permute"(%x, %swap) : (!torch.vtensor<[2,3,5],f32>, !torch.list<int>) -> !torch.vtensor<[2,5,3],f32>
  %r = "torch.aten.relu"(%p) : (!torch.vtensor<[2,5,3],f32>) -> !torch.vtensor<[2,5,3],f32>
  %q = "torch.aten.permute"(%r, %turn) : (!torch.vtensor<[2,5,3],f32>, !torch.list<int>) -> !torch.vtensor<[3,5,2],f32>
  return %q : !torch.vtensor<[3,5,2],f32>
}

// A causal convolution in channels-last cuts the end off between two transposes.
// CHECK-LABEL: func.func @cut(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x7x3xf32>
// CHECK-NEXT: %[[S:.*]] = mpt.slice %[[X]] {offsets = array<i64: 0, 1, 0>, sizes = array<i64: 2, 5, 3>, strides = array<i64: 1, 1, 1>} : (tensor<2x7x3xf32>) -> tensor<2x5x3xf32>
// CHECK-NEXT: %[[R:.*]] = mpt.relu %[[S]] : (tensor<2x5x3xf32>)
// CHECK-NEXT: %[[P:.*]] = mpt.pad %[[R]] {high = array<i64: 0, 4, 0>, low = array<i64: 0, 2, 0>} : (tensor<2x5x3xf32>) -> tensor<2x11x3xf32>
// CHECK-NEXT: return %[[P]]
func.func @cut(%x: !torch.vtensor<[2,7,3],f32>) -> !torch.vtensor<[2,11,3],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %4 = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %6 = "torch.constant.int"() {value = 6 : i64} : () -> !torch.int
  %zero = "torch.constant.float"() {value = 0.0 : f64} : () -> !torch.float
  %swap = "torch.prim.ListConstruct"(%0, %2, %1) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %sizes = "torch.prim.ListConstruct"(%2, %4) : (!torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.aten.permute"(%x, %swap) : (!torch.vtensor<[2,7,3],f32>, !torch.list<int>) -> !torch.vtensor<[2,3,7],f32>
  %s = "torch.aten.slice.Tensor"(%p, %2, %1, %6, %1) : (!torch.vtensor<[2,3,7],f32>, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.vtensor<[2,3,5],f32>
  %r = "torch.aten.relu"(%s) : (!torch.vtensor<[2,3,5],f32>) -> !torch.vtensor<[2,3,5],f32>
  %w = "torch.aten.constant_pad_nd"(%r, %sizes, %zero) : (!torch.vtensor<[2,3,5],f32>, !torch.list<int>, !torch.float) -> !torch.vtensor<[2,3,11],f32>
  %q = "torch.aten.permute"(%w, %swap) : (!torch.vtensor<[2,3,11],f32>, !torch.list<int>) -> !torch.vtensor<[2,11,3],f32>
  return %q : !torch.vtensor<[2,11,3],f32>
}

// What something else reads stays where it is, and so does what two tensors go into.
// CHECK-LABEL: func.func @read(
// CHECK-NEXT: mpt.transpose
// CHECK-NEXT: mpt.relu %{{.*}} : (tensor<2x5x3xf32>)
// CHECK-NEXT: mpt.transpose
// CHECK-NEXT: mpt.add %{{.*}} : (tensor<2x5x3xf32>, tensor<2x5x3xf32>)
// CHECK-NEXT: mpt.transpose
// CHECK-NEXT: return
func.func @read(%x: !torch.vtensor<[2,3,5],f32>, %y: !torch.vtensor<[2,5,3],f32>)
    -> (!torch.vtensor<[2,5,3],f32>, !torch.vtensor<[2,3,5],f32>, !torch.vtensor<[2,3,5],f32>) {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %swap = "torch.prim.ListConstruct"(%0, %2, %1) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.aten.permute"(%x, %swap) : (!torch.vtensor<[2,3,5],f32>, !torch.list<int>) -> !torch.vtensor<[2,5,3],f32>
  %r = "torch.aten.relu"(%p) : (!torch.vtensor<[2,5,3],f32>) -> !torch.vtensor<[2,5,3],f32>
  %q = "torch.aten.permute"(%r, %swap) : (!torch.vtensor<[2,5,3],f32>, !torch.list<int>) -> !torch.vtensor<[2,3,5],f32>
  %s = "torch.aten.add.Tensor"(%p, %y, %1) : (!torch.vtensor<[2,5,3],f32>, !torch.vtensor<[2,5,3],f32>, !torch.int) -> !torch.vtensor<[2,5,3],f32>
  %t = "torch.aten.permute"(%s, %swap) : (!torch.vtensor<[2,5,3],f32>, !torch.list<int>) -> !torch.vtensor<[2,3,5],f32>
  return %r, %q, %t : !torch.vtensor<[2,5,3],f32>, !torch.vtensor<[2,3,5],f32>, !torch.vtensor<[2,3,5],f32>
}

// A batch norm has statistics of all dimensions but the channels, which stay the last.
// CHECK-LABEL: func.func @norm(
// CHECK-NEXT: %[[Y:[^,]*]], %[[MEAN:[^,]*]], {{.*}} = mpt.batch_norm %arg0, {{.*}} : (tensor<3x2x5x4xf32>,
// CHECK-NEXT: %[[R:.*]] = mpt.relu %[[Y]] : (tensor<3x2x5x4xf32>)
// CHECK-NEXT: return %[[R]], %[[MEAN]]
func.func @norm(%x: !torch.vtensor<[3,2,5,4],f32>, %c: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[3,2,5,4],f32>, !torch.vtensor<[4],f32>) {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %3 = "torch.constant.int"() {value = 3 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %f = "torch.constant.float"() {value = 0.1 : f64} : () -> !torch.float
  %in = "torch.prim.ListConstruct"(%1, %3, %0, %2) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %out = "torch.prim.ListConstruct"(%2, %0, %3, %1) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.aten.permute"(%x, %in) : (!torch.vtensor<[3,2,5,4],f32>, !torch.list<int>) -> !torch.vtensor<[2,4,3,5],f32>
  %n:5 = "torch.aten._native_batch_norm_legit_functional"(%p, %c, %c, %c, %c, %true, %f, %f) : (!torch.vtensor<[2,4,3,5],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.bool, !torch.float, !torch.float) -> (!torch.vtensor<[2,4,3,5],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
  %r = "torch.aten.relu"(%n#0) : (!torch.vtensor<[2,4,3,5],f32>) -> !torch.vtensor<[2,4,3,5],f32>
  %q = "torch.aten.permute"(%r, %out) : (!torch.vtensor<[2,4,3,5],f32>, !torch.list<int>) -> !torch.vtensor<[3,2,5,4],f32>
  return %q, %n#3 : !torch.vtensor<[3,2,5,4],f32>, !torch.vtensor<[4],f32>
}

// Nothing moves where the channels go elsewhere.
// CHECK-LABEL: func.func @channels_first(
// CHECK-NEXT: %[[T:.*]] = mpt.transpose %arg0 {permutation = array<i64: 1, 0, 2, 3>}
// CHECK-NEXT: %[[Y:[^,]*]], {{.*}} = mpt.batch_norm %[[T]], {{.*}} : (tensor<2x3x5x4xf32>,
// CHECK-NEXT: mpt.transpose %[[Y]] {permutation = array<i64: 1, 0, 3, 2>}
func.func @channels_first(%x: !torch.vtensor<[3,2,5,4],f32>, %c: !torch.vtensor<[4],f32>) -> !torch.vtensor<[3,2,4,5],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %3 = "torch.constant.int"() {value = 3 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %f = "torch.constant.float"() {value = 0.1 : f64} : () -> !torch.float
  %in = "torch.prim.ListConstruct"(%1, %3, %0, %2) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %out = "torch.prim.ListConstruct"(%2, %0, %1, %3) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.aten.permute"(%x, %in) : (!torch.vtensor<[3,2,5,4],f32>, !torch.list<int>) -> !torch.vtensor<[2,4,3,5],f32>
  %n:5 = "torch.aten._native_batch_norm_legit_functional"(%p, %c, %c, %c, %c, %true, %f, %f) : (!torch.vtensor<[2,4,3,5],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.bool, !torch.float, !torch.float) -> (!torch.vtensor<[2,4,3,5],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
  %q = "torch.aten.permute"(%n#0, %out) : (!torch.vtensor<[2,4,3,5],f32>, !torch.list<int>) -> !torch.vtensor<[3,2,4,5],f32>
  return %q : !torch.vtensor<[3,2,4,5],f32>
}
