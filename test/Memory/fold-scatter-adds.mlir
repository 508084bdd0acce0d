// RUN: mpt-opt %s --mpt-fold-scatter-adds --split-input-file | FileCheck %s

// A table that is the head's matrix, too, on either side of the sum.
// CHECK-LABEL: @tied
// CHECK: [[H:%.*]] = mpt.matmul %arg2, %arg3 {transpose_lhs}
// CHECK-NEXT: [[S:%.*]] = mpt.scatter_add %arg0, %arg1, [[H]] : (tensor<4xi32>, tensor<4x8xbf16>, tensor<100x8xf32>) -> tensor<100x8xf32>
// CHECK-NEXT: [[T:%.*]] = mpt.matmul %arg2, %arg3 {transpose_lhs}
// CHECK-NEXT: [[U:%.*]] = mpt.scatter_add %arg0, %arg1, [[T]]
// CHECK-NEXT: return [[S]], [[U]]
func.func @tied(%i: tensor<4xi32>, %u: tensor<4x8xbf16>, %x: tensor<4x100xf32>, %dy: tensor<4x8xf32>) -> (tensor<100x8xf32>, tensor<100x8xf32>) {
  %h = mpt.matmul %x, %dy {transpose_lhs} : (tensor<4x100xf32>, tensor<4x8xf32>) -> tensor<100x8xf32>
  %s = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x8xbf16>) -> tensor<100x8xf32>
  %0 = mpt.add %h, %s : (tensor<100x8xf32>, tensor<100x8xf32>) -> tensor<100x8xf32>
  // The matmul comes later, and waits less.
  %t = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x8xbf16>) -> tensor<100x8xf32>
  %k = mpt.matmul %x, %dy {transpose_lhs} : (tensor<4x100xf32>, tensor<4x8xf32>) -> tensor<100x8xf32>
  %1 = mpt.add %t, %k : (tensor<100x8xf32>, tensor<100x8xf32>) -> tensor<100x8xf32>
  return %0, %1 : tensor<100x8xf32>, tensor<100x8xf32>
}

// -----

// A table that is read three times.
// CHECK-LABEL: @thrice
// CHECK: [[A:%.*]] = mpt.scatter_add %arg0, %arg1 :
// CHECK-NEXT: [[B:%.*]] = mpt.scatter_add %arg0, %arg2, [[A]] :
// CHECK-NEXT: [[C:%.*]] = mpt.scatter_add %arg0, %arg1, [[B]] :
// CHECK-NEXT: return [[C]]
func.func @thrice(%i: tensor<4xi32>, %u: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<9x8xf32> {
  %a = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %b = mpt.scatter_add %i, %v : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %0 = mpt.add %a, %b : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %c = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %1 = mpt.add %0, %c : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
}

// -----

// Nothing else may read what is added to, or the table, and kernels that take no memory
// are not made to.
// CHECK-LABEL: @read_elsewhere
// CHECK-NOT: mpt.scatter_add {{.*}}, {{.*}}, {{.*}} : (
// CHECK: return
func.func @read_elsewhere(%i: tensor<4xi32>, %u: tensor<4x8xf32>, %x: tensor<4x9xf32>, %w: tensor<9x8xf32>) -> (tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>) {
  %h = mpt.matmul %x, %u {transpose_lhs} : (tensor<4x9xf32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %a = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %0 = mpt.add %h, %a : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %k = mpt.matmul %x, %u {transpose_lhs} : (tensor<4x9xf32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %b = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %1 = mpt.add %k, %b : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %c = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %d = mpt.mul %w, %w : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %2 = mpt.add %c, %d : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %e = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %3 = mpt.add %e, %w : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %h, %0, %b, %1, %2, %3 : tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>
}

// -----

// Rows that are larger than the table do not wait for a matmul, sums of another type are
// not added to, and what is marked stays.
// CHECK-LABEL: @others
// CHECK-NOT: mpt.scatter_add {{.*}}, {{.*}}, {{.*}} : (
// CHECK: return
func.func @others(%i: tensor<40xi32>, %u: tensor<40x8xf32>, %x: tensor<40x9xf32>) -> (tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>) {
  %a = mpt.scatter_add %i, %u : (tensor<40xi32>, tensor<40x8xf32>) -> tensor<9x8xf32>
  %h = mpt.matmul %x, %u {transpose_lhs} : (tensor<40x9xf32>, tensor<40x8xf32>) -> tensor<9x8xf32>
  %0 = mpt.add %h, %a : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %k = mpt.matmul %x, %u {transpose_lhs} : (tensor<40x9xf32>, tensor<40x8xf32>) -> tensor<9x8xf32>
  %b = mpt.scatter_add %i, %u : (tensor<40xi32>, tensor<40x8xf32>) -> tensor<9x8xbf16>
  %1 = mpt.add %k, %b : (tensor<9x8xf32>, tensor<9x8xbf16>) -> tensor<9x8xf32>
  %l = mpt.matmul %x, %u {transpose_lhs, mpt.save = "must"} : (tensor<40x9xf32>, tensor<40x8xf32>) -> tensor<9x8xf32>
  %c = mpt.scatter_add %i, %u : (tensor<40xi32>, tensor<40x8xf32>) -> tensor<9x8xf32>
  %2 = mpt.add %l, %c : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %0, %1, %2 : tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>
}
