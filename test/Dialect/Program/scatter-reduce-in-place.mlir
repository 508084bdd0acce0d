// RUN: mpt-opt %s --mpt-plan-step | FileCheck %s
// RUN: mpt-opt %s "--mpt-plan-step=target='cuda sm_90'" | FileCheck %s

// The largest are kept where the table lies, on GPUs, too.
// CHECK: mpt_program.scatter_add ins({{.*}}) init([[T:%.*]] : memref<100x8xf32>) outs([[T]] : memref<100x8xf32>) {{.*}}kind = #mpt.reduce_kind<max>
func.func @step(%i: tensor<400xi32> {mpt.name = "i", mpt.role = "input"},
                %u: tensor<400x8xf32> {mpt.name = "u", mpt.role = "input"},
                %x: tensor<100x8xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<100x8xf32> {mpt.name = "y"}) {
  %t = mpt.neg %x : (tensor<100x8xf32>) -> tensor<100x8xf32>
  %s = mpt.scatter_reduce %i, %u, %t {kind = #mpt.reduce_kind<max>} : (tensor<400xi32>, tensor<400x8xf32>, tensor<100x8xf32>) -> tensor<100x8xf32>
  %y = mpt.mul %s, %s : (tensor<100x8xf32>, tensor<100x8xf32>) -> tensor<100x8xf32>
  return %y : tensor<100x8xf32>
}
