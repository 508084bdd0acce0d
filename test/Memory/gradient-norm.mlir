// RUN: mpt-opt %s --mpt-plan-step | FileCheck %s
// RUN: mpt-opt %s --mpt-memory-report 2>&1 >%t | FileCheck %s --check-prefix=BYTES

// The norm of a gradient whose size is no multiple of 4,096 reads it where it lies: what
// the step computes takes its own 1,280,704 bytes, and a row for the last block.

// CHECK: mpt_program.launch @{{.*}} ins(%{{.*}} : memref<78x4096xf32>) outs(%{{.*}} : memref<78xf32>)
// CHECK: mpt_program.copy ins(%{{.*}} : memref<688xf32>) outs(%{{.*}} : memref<4096xf32>)
// BYTES: arena {{ *}}1,300,160  planned
func.func @step(%x: tensor<20011x16xf32> {mpt.name = "x", mpt.role = "parameter"}, %i: tensor<8xi64>, %rows: tensor<8x16xf32>)
    -> (tensor<20011x16xf32> {mpt.name = "y", mpt.updates = "x"}, tensor<f32> {mpt.name = "norm"}) {
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %g = mpt.scatter_add %i, %rows : (tensor<8xi64>, tensor<8x16xf32>) -> tensor<20011x16xf32>
  %c, %n = mpt.clip_by_global_norm %g {max_norm = 0x7FF0000000000000 : f64} : (tensor<20011x16xf32>) -> (tensor<20011x16xf32>, tensor<f32>)
  %lr = mpt.constant dense<0.1> : tensor<f32>
  %d = mpt.mul %c, %lr : (tensor<20011x16xf32>, tensor<f32>) -> tensor<20011x16xf32>
  %y = mpt.sub %x, %d : (tensor<20011x16xf32>, tensor<20011x16xf32>) -> tensor<20011x16xf32>
  return %y, %n : tensor<20011x16xf32>, tensor<f32>
}
