// Linear systems: numbers from elimination have no gradient, one step of refinement has.
// Everything stays in f32.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-torch | FileCheck %s

// Of a triangle of two rows: what is below the diagonal, and the reciprocals of that.
// CHECK-LABEL: func.func @triangle(
// CHECK-SAME: %[[A:[^:]*]]: tensor<2x2xf32>, %[[B:[^:]*]]: tensor<2x3xf32>
// CHECK: %[[A1:.*]] = mpt.reshape %[[A]]
// CHECK: %[[B1:.*]] = mpt.reshape %[[B]]
// CHECK: %[[LOWER:.*]] = mpt.where %{{.*}}, %[[A1]], %{{.*}} {mpt.precision = "f32"}
// CHECK: %[[CONSTANT:.*]] = mpt.stop_gradient %[[LOWER]]
// CHECK: mpt.div
// CHECK-COUNT-2: mpt.matmul {{.*}} {mpt.precision = "f32"} : (tensor<1x1x1xf32>, tensor<1x1x1xf32>)
// CHECK: %[[JOINED:.*]] = mpt.concat {{.*}} -> tensor<1x2x2xf32>
// CHECK: %[[INVERSE:.*]] = mpt.stop_gradient %[[JOINED]]
// CHECK: %[[FIRST:.*]] = mpt.matmul %[[INVERSE]], %[[B1]]
// CHECK: %[[X:.*]] = mpt.stop_gradient %[[FIRST]]
// CHECK: %[[AX:.*]] = mpt.matmul %[[LOWER]], %[[X]]
// CHECK: %[[REST:.*]] = mpt.sub %[[B1]], %[[AX]]
// CHECK: %[[CHANGE:.*]] = mpt.matmul %[[INVERSE]], %[[REST]]
// CHECK: mpt.add %[[X]], %[[CHANGE]]
// CHECK-NOT: mpt.scan
// CHECK: return
func.func @triangle(%a: !torch.vtensor<[2,2],f32>, %b: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> {
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %yes = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %0 = "torch.aten.linalg_solve_triangular"(%a, %b, %no, %yes, %no) : (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,3],f32>, !torch.bool, !torch.bool, !torch.bool) -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}

// 100 rows are blocks of 64 and 36, each a scan over its columns.
// CHECK-LABEL: func.func @blocks(
// CHECK: mpt.scan 64
// CHECK: mpt.sqrt {{.*}} {mpt.precision = "f32"}
// CHECK: mpt.scan 36
// CHECK-NOT: mpt.scan
// CHECK: return
func.func @blocks(%a: !torch.vtensor<[100,100],f32>) -> !torch.vtensor<[100,100],f32> {
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %0 = "torch.aten.linalg_cholesky"(%a, %no) : (!torch.vtensor<[100,100],f32>, !torch.bool) -> !torch.vtensor<[100,100],f32>
  return %0 : !torch.vtensor<[100,100],f32>
}

// Rows are exchanged in one scan; the matrix of a batch stands for all right sides.
// CHECK-LABEL: func.func @pivots(
// CHECK: mpt.scan 3
// CHECK: mpt.argmax
// CHECK-NOT: mpt.scan
// CHECK: mpt.broadcast {{.*}} : (tensor<1x3x3xf64>) -> tensor<5x3x3xf64>
// CHECK: return
func.func @pivots(%a: !torch.vtensor<[3,3],f64>, %b: !torch.vtensor<[5,3,2],f64>) -> !torch.vtensor<[5,3,2],f64> {
  %yes = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %0 = "torch.aten.linalg_solve"(%a, %b, %yes) : (!torch.vtensor<[3,3],f64>, !torch.vtensor<[5,3,2],f64>, !torch.bool) -> !torch.vtensor<[5,3,2],f64>
  return %0 : !torch.vtensor<[5,3,2],f64>
}

// A determinant of any size is the diagonal of U and the rows that were exchanged, from one
// scan.
// CHECK-LABEL: func.func @determinant(
// CHECK: mpt.scan 70
// CHECK-NOT: mpt.scan
// CHECK: mpt.reduce {{.*}} kind = #mpt.reduce_kind<prod>{{.*}} mpt.precision = "f32"} : (tensor<1x70xf32>) -> tensor<1xf32>
// CHECK: return
func.func @determinant(%a: !torch.vtensor<[70,70],f32>) -> !torch.vtensor<[],f32> {
  %0 = "torch.aten.linalg_det"(%a) : (!torch.vtensor<[70,70],f32>) -> !torch.vtensor<[],f32>
  return %0 : !torch.vtensor<[],f32>
}
