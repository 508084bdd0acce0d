// A conditional scan becomes a loop that reads a truth value before each iteration.
// RUN: mpt-opt %s --mpt-plan-step --split-input-file | FileCheck %s
// GPUs compute branches, taken or not, and have other such loops.
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_90'" --split-input-file | FileCheck %s --check-prefix=CUDA

// A branch: its condition does not change, and what it carries begins where it stays.
// CHECK-LABEL: mpt_program.program @branch
//   CHECK-DAG:   %[[P:.*]] = mpt_program.buffer <input> 0 {name = "p"
//   CHECK-DAG:   %[[X:.*]] = mpt_program.buffer <input> 1 {name = "x"
//   CHECK-DAG:   %[[Y:.*]] = mpt_program.buffer <output> 0 {name = "y"}
//       CHECK:   mpt_program.copy ins(%[[X]] : memref<64x64xf32>) outs(%[[Y]] : memref<64x64xf32>)
//       CHECK:   mpt_program.loop 1 while %[[P]] : memref<i1> {
//  CHECK-NEXT:     mpt_program.matmul
//       CHECK:   }
// CUDA-LABEL: mpt_program.program @branch
//   CUDA-NOT:   mpt_program.loop
//       CUDA:   mpt_program.matmul
//   CUDA-NOT:   mpt_program.loop
func.func @branch(%p: tensor<i1> {mpt.name = "p", mpt.role = "input"}, %x: tensor<64x64xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<64x64xf32> {mpt.name = "y"}) {
  %r:2 = mpt.scan conditional 1 carry(%p, %x : tensor<i1>, tensor<64x64xf32>) {
  ^bb0(%c: tensor<i1>, %v: tensor<64x64xf32>):
    %m = mpt.matmul %v, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    mpt.yield %c, %m : tensor<i1>, tensor<64x64xf32>
  } : tensor<i1>, tensor<64x64xf32>
  return %r#1 : tensor<64x64xf32>
}

// -----

// A loop whose condition each iteration writes, in a loop.
// CHECK-LABEL: mpt_program.program @loop
//       CHECK:   %[[C:.*]] = mpt_program.buffer <arena> {{[0-9]+}} : memref<i1>
//       CHECK:   mpt_program.loop 20 {
//       CHECK:     mpt_program.loop 4294967296 while %[[C]] : memref<i1> {
//       CHECK:       outs({{.*}}%[[C]]{{.*}})
// CUDA-LABEL: mpt_program.program @loop
//       CUDA:   mpt_program.loop 20 {
//       CUDA:     mpt_program.loop 4294967296 while %{{.*}} : memref<i1> {
func.func @loop(%x: tensor<f32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "y"}) {
  %one = mpt.constant dense<1.0> : tensor<f32>
  %half = mpt.constant dense<0.5> : tensor<f32>
  %r = mpt.scan 20 carry(%x : tensor<f32>) {
  ^bb0(%v: tensor<f32>):
    %n = mpt.add %v, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %g = mpt.compare %n, %one {predicate = #mpt.predicate<gt>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %q:2 = mpt.scan conditional 4294967296 carry(%g, %n : tensor<i1>, tensor<f32>) {
    ^bb1(%c: tensor<i1>, %u: tensor<f32>):
      %h = mpt.mul %u, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %m = mpt.compare %h, %one {predicate = #mpt.predicate<gt>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      mpt.yield %m, %h : tensor<i1>, tensor<f32>
    } : tensor<i1>, tensor<f32>
    mpt.yield %q#1 : tensor<f32>
  } : tensor<f32>
  return %r : tensor<f32>
}
