// RUN: mpt-opt %s --mpt-fuse-kernels --split-input-file | FileCheck %s

// Numbers of two tables to which rows were added are not computed with numbers that come before: the
// update, which reads those, would wait for both tables.

// CHECK-LABEL: func.func @tables
// CHECK: [[P:%.*]]:2 = mpt_kernel.kernel <pointwise>(%arg0, %arg1) domain [1]
// CHECK: [[S:%.*]] = mpt.scatter_add
// CHECK: [[T:%.*]] = mpt.scatter_add
// CHECK: [[TT:%.*]] = mpt_kernel.kernel <column>([[T]]) domain [256, 64]
// CHECK: mpt_kernel.kernel <column>([[S]], [[TT]], [[P]]#0) domain [512, 64]
// CHECK: mpt_kernel.kernel <pointwise>({{.*}}, [[P]]#0) domain [4096]
// CHECK: return
func.func @tables(%a: tensor<f32>, %b: tensor<f32>, %w: tensor<64x64xf32>, %i: tensor<8xi64>, %x: tensor<8x64xf32>, %y: tensor<8x64xf32>)
    -> (tensor<64x64xf32>, tensor<f32>, tensor<f32>, tensor<512x64xf32>, tensor<256x64xf32>) {
  %p = mpt.mul %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %q = mpt.add %p, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %u = mpt.mul %w, %p : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %s = mpt.scatter_add %i, %x : (tensor<8xi64>, tensor<8x64xf32>) -> tensor<512x64xf32>
  %ss = mpt.reduce %s {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<512x64xf32>) -> tensor<f32>
  %t = mpt.scatter_add %i, %y : (tensor<8xi64>, tensor<8x64xf32>) -> tensor<256x64xf32>
  %tt = mpt.reduce %t {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<256x64xf32>) -> tensor<f32>
  %n = mpt.add %ss, %tt : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %m = mpt.mul %n, %p : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %u, %q, %m, %s, %t : tensor<64x64xf32>, tensor<f32>, tensor<f32>, tensor<512x64xf32>, tensor<256x64xf32>
}

// -----

// Without a table in between they are one kernel, which is started once.

// CHECK-LABEL: func.func @no_table
// CHECK: mpt_kernel.kernel <column>{{.*}} domain [256, 64]
// CHECK: [[SUM:%.*]] = mpt_kernel.kernel <column>{{.*}} domain [512, 64]
// CHECK: [[P:%.*]]:3 = mpt_kernel.kernel <pointwise>(%arg0, %arg1, [[SUM]]) domain [1]
// CHECK: mpt_kernel.kernel <pointwise>({{.*}}, [[P]]#0) domain [4096]
// CHECK: return
func.func @no_table(%a: tensor<f32>, %b: tensor<f32>, %w: tensor<64x64xf32>, %x: tensor<512x64xf32>, %y: tensor<256x64xf32>)
    -> (tensor<64x64xf32>, tensor<f32>, tensor<f32>) {
  %p = mpt.mul %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %q = mpt.add %p, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %u = mpt.mul %w, %p : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %ss = mpt.reduce %x {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<512x64xf32>) -> tensor<f32>
  %tt = mpt.reduce %y {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<256x64xf32>) -> tensor<f32>
  %n = mpt.add %ss, %tt : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %m = mpt.mul %n, %p : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %u, %q, %m : tensor<64x64xf32>, tensor<f32>, tensor<f32>
}
