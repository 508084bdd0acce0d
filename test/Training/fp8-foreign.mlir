// A step that another framework differentiated has no seed. Its layers tell: what is multiplied with
// a parameter summed over its other dimension is a gradient.
// RUN: mpt-opt %s --mpt-fp8="recipe=deepseek function=step" --remarks-filter=mpt.fp8 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=KEPT < %t

// The layer that the loss reads keeps its types, with its gradients.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<128x256xf32>
// CHECK-SAME: %[[V:[a-z0-9]*]]: tensor<256x256xf32>
// CHECK-DAG: mpt.quantize %[[W]] {block = array<i64: 128, 128>
// CHECK-DAG: mpt.quantize %[[V]] {block = array<i64: 128, 128>
// CHECK: mpt.scaled_matmul
// CHECK-SAME: tensor<64x256xf32>
// CHECK: mpt.scaled_matmul
// CHECK: mpt.matmul {{.*}} -> tensor<64x16xf32>
// CHECK: mpt.matmul {{.*}} -> tensor<16x256xf32>
// CHECK: mpt.matmul {{.*}} -> tensor<64x256xf32>
// The second layer's, in the order that JAX writes: the gradient comes first, and is transposed.
// CHECK: mpt.scaled_matmul {{.*}}lhs_block = array<i64: 128, 1>{{.*}}rhs_block = array<i64: 128, 1>{{.*}} -> tensor<256x256xf32>
// CHECK: mpt.scaled_matmul {{.*}}lhs_block = array<i64: 1, 128>{{.*}}rhs_block = array<i64: 128, 128>{{.*}} -> tensor<64x256xf32>
// CHECK: mpt.scaled_matmul {{.*}}lhs_block = array<i64: 128, 1>{{.*}} -> tensor<256x128xf32>
// KEPT: a loss reads its result; quantize-head lets it take part
// KEPT: the layer whose gradient it computes keeps its types
// KEPT: the layer whose gradient it computes keeps its types
func.func @step(%w: tensor<128x256xf32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<256x256xf32> {mpt.name = "v", mpt.role = "parameter"},
                %h: tensor<256x16xf32> {mpt.name = "h", mpt.role = "parameter"},
                %x: tensor<64x128xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<128x256xf32> {mpt.name = "w.next", mpt.updates = "w"},
        tensor<256x256xf32> {mpt.name = "v.next", mpt.updates = "v"},
        tensor<256x16xf32> {mpt.name = "h.next", mpt.updates = "h"}) {
  %a = mpt.matmul %x, %w : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
  %b = mpt.matmul %a, %v : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %y = mpt.matmul %b, %h : (tensor<64x256xf32>, tensor<256x16xf32>) -> tensor<64x16xf32>
  %g = mpt.tanh %y : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %dh = mpt.matmul %g, %b {transpose_lhs} : (tensor<64x16xf32>, tensor<64x256xf32>) -> tensor<16x256xf32>
  %dht = mpt.transpose %dh {permutation = array<i64: 1, 0>} : (tensor<16x256xf32>) -> tensor<256x16xf32>
  %db = mpt.matmul %g, %h {transpose_rhs} : (tensor<64x16xf32>, tensor<256x16xf32>) -> tensor<64x256xf32>
  %dv = mpt.matmul %db, %a {transpose_lhs} : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
  %dvt = mpt.transpose %dv {permutation = array<i64: 1, 0>} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %da = mpt.matmul %db, %v {transpose_rhs} : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %dw = mpt.matmul %da, %x {transpose_lhs} : (tensor<64x256xf32>, tensor<64x128xf32>) -> tensor<256x128xf32>
  %dwt = mpt.transpose %dw {permutation = array<i64: 1, 0>} : (tensor<256x128xf32>) -> tensor<128x256xf32>
  %nw = mpt.sub %w, %dwt : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
  %nv = mpt.sub %v, %dvt : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %nh = mpt.sub %h, %dht : (tensor<256x16xf32>, tensor<256x16xf32>) -> tensor<256x16xf32>
  return %nw, %nv, %nh : tensor<128x256xf32>, tensor<256x256xf32>, tensor<256x16xf32>
}
