// An index that is the same along each row, expanded from [E, 1], scatters whole rows.
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch | FileCheck %s

// CHECK-LABEL: func.func @rows(
// CHECK-NOT: mpt.check_indices
// CHECK: mpt.scatter_add %{{.*}}, %{{.*}} : (tensor<6xi64>, tensor<6x3xf32>) -> tensor<4x3xf32>
// CHECK: return
func.func @rows(%x: !torch.vtensor<[4,3],f32>, %i: !torch.vtensor<[6,1],si64>, %s: !torch.vtensor<[6,3],f32>) -> !torch.vtensor<[4,3],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %all = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %3 = "torch.constant.int"() {value = 3 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %sizes = "torch.prim.ListConstruct"(%all, %3) : (!torch.int, !torch.int) -> !torch.list<int>
  %e = "torch.aten.expand"(%i, %sizes, %no) : (!torch.vtensor<[6,1],si64>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[6,3],si64>
  %y = "torch.aten.scatter_add"(%x, %0, %e, %s) : (!torch.vtensor<[4,3],f32>, !torch.int, !torch.vtensor<[6,3],si64>, !torch.vtensor<[6,3],f32>) -> !torch.vtensor<[4,3],f32>
  return %y : !torch.vtensor<[4,3],f32>
}

// Not for rows of x that are longer, nor along another dimension.
// CHECK-LABEL: func.func @parts(
// CHECK-COUNT-2: mpt.scatter_add {{.*}} -> tensor<20xf32>
// CHECK: return
func.func @parts(%x: !torch.vtensor<[4,5],f32>, %i: !torch.vtensor<[4,1],si64>, %s: !torch.vtensor<[4,5],f32>) -> !torch.vtensor<[4,5],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %all = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %3 = "torch.constant.int"() {value = 3 : i64} : () -> !torch.int
  %5 = "torch.constant.int"() {value = 5 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %sizes = "torch.prim.ListConstruct"(%all, %3) : (!torch.int, !torch.int) -> !torch.list<int>
  %short = "torch.aten.expand"(%i, %sizes, %no) : (!torch.vtensor<[4,1],si64>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[4,3],si64>
  %y = "torch.aten.scatter_add"(%x, %0, %short, %s) : (!torch.vtensor<[4,5],f32>, !torch.int, !torch.vtensor<[4,3],si64>, !torch.vtensor<[4,5],f32>) -> !torch.vtensor<[4,5],f32>
  %whole = "torch.prim.ListConstruct"(%all, %5) : (!torch.int, !torch.int) -> !torch.list<int>
  %e = "torch.aten.expand"(%i, %whole, %no) : (!torch.vtensor<[4,1],si64>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[4,5],si64>
  %z = "torch.aten.scatter_add"(%y, %1, %e, %s) : (!torch.vtensor<[4,5],f32>, !torch.int, !torch.vtensor<[4,5],si64>, !torch.vtensor<[4,5],f32>) -> !torch.vtensor<[4,5],f32>
  return %z : !torch.vtensor<[4,5],f32>
}

// The largest of whole rows to each of 100 places.
// CHECK-LABEL: func.func @largest(
// CHECK: mpt.scatter_reduce %{{.*}}, %{{.*}}, %{{.*}} {kind = #mpt.reduce_kind<max>} : (tensor<320xi64>, tensor<320x3xf32>, tensor<100x3xf32>) -> tensor<100x3xf32>
// CHECK: return
func.func @largest(%x: !torch.vtensor<[100,3],f32>, %i: !torch.vtensor<[320,1],si64>, %s: !torch.vtensor<[320,3],f32>) -> !torch.vtensor<[100,3],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %all = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %3 = "torch.constant.int"() {value = 3 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %amax = "torch.constant.str"() {value = "amax"} : () -> !torch.str
  %sizes = "torch.prim.ListConstruct"(%all, %3) : (!torch.int, !torch.int) -> !torch.list<int>
  %e = "torch.aten.expand"(%i, %sizes, %no) : (!torch.vtensor<[320,1],si64>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[320,3],si64>
  %y = "torch.aten.scatter_reduce.two"(%x, %0, %e, %s, %amax, %no) : (!torch.vtensor<[100,3],f32>, !torch.int, !torch.vtensor<[320,3],si64>, !torch.vtensor<[320,3],f32>, !torch.str, !torch.bool) -> !torch.vtensor<[100,3],f32>
  return %y : !torch.vtensor<[100,3],f32>
}

// Elements with an index each are rows of one element.
// CHECK-LABEL: func.func @elements(
// CHECK: mpt.scatter_reduce {{.*}} : (tensor<960xi64>, tensor<960xf32>, tensor<300xf32>) -> tensor<300xf32>
// CHECK: return
func.func @elements(%x: !torch.vtensor<[100,3],f32>, %e: !torch.vtensor<[320,3],si64>, %s: !torch.vtensor<[320,3],f32>) -> !torch.vtensor<[100,3],f32> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %amax = "torch.constant.str"() {value = "amax"} : () -> !torch.str
  %y = "torch.aten.scatter_reduce.two"(%x, %0, %e, %s, %amax, %no) : (!torch.vtensor<[100,3],f32>, !torch.int, !torch.vtensor<[320,3],si64>, !torch.vtensor<[320,3],f32>, !torch.str, !torch.bool) -> !torch.vtensor<[100,3],f32>
  return %y : !torch.vtensor<[100,3],f32>
}

// Integers are compared.
// CHECK-LABEL: func.func @integers(
// CHECK-NOT: mpt.scatter_reduce
// CHECK: mpt.reduce %{{.*}} {{.*}}kind = #mpt.reduce_kind<max>
// CHECK: return
func.func @integers(%x: !torch.vtensor<[100,3],si64>, %e: !torch.vtensor<[320,3],si64>, %s: !torch.vtensor<[320,3],si64>) -> !torch.vtensor<[100,3],si64> {
  %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %amax = "torch.constant.str"() {value = "amax"} : () -> !torch.str
  %y = "torch.aten.scatter_reduce.two"(%x, %0, %e, %s, %amax, %no) : (!torch.vtensor<[100,3],si64>, !torch.int, !torch.vtensor<[320,3],si64>, !torch.vtensor<[320,3],si64>, !torch.str, !torch.bool) -> !torch.vtensor<[100,3],si64>
  return %y : !torch.vtensor<[100,3],si64>
}
