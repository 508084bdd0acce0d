// RUN: mpt-opt %s --mpt-plan-step | FileCheck %s
// RUN: mpt-opt %s "--mpt-plan-step=target='cuda sm_90'" | FileCheck %s --check-prefix=CUDA

// Rows are added to the head's gradient where it lies. Steps for GPUs stay two tables and a sum.
// CHECK: [[H:%.*]] = mpt_program.buffer <arena> {{[0-9]+}} : memref<100x8xf32>
// CHECK: mpt_program.matmul {{.*}} outs([[H]] : memref<100x8xf32>)
// CHECK: mpt_program.scatter_add ins({{.*}}) init([[H]] : memref<100x8xf32>) outs([[H]] : memref<100x8xf32>)
// CUDA: mpt_program.scatter_add ins(%{{[^)]*}}) outs(
func.func @step(%i: tensor<4xi32> {mpt.name = "i", mpt.role = "input"},
                %u: tensor<4x8xf32> {mpt.name = "u", mpt.role = "input"},
                %x: tensor<4x100xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<100x8xf32> {mpt.name = "y"}) {
  %h = mpt.matmul %x, %u {transpose_lhs} : (tensor<4x100xf32>, tensor<4x8xf32>) -> tensor<100x8xf32>
  %s = mpt.scatter_add %i, %u : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<100x8xf32>
  %0 = mpt.add %h, %s : (tensor<100x8xf32>, tensor<100x8xf32>) -> tensor<100x8xf32>
  %y = mpt.mul %0, %0 : (tensor<100x8xf32>, tensor<100x8xf32>) -> tensor<100x8xf32>
  return %y : tensor<100x8xf32>
}
